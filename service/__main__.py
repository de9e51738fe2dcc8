"""The command `annals`, also `python -m service`: first the guard, then everything that imports `events`."""

import sys

from service import guard


def main() -> None:
    """Run the command line. Exits with status 1 and a plain sentence when `events` is not ours."""
    try:
        guard.check()
    except guard.ForeignEvents as error:
        sys.exit(f"annals: {error}")
    from service.cli import main as run

    run()


if __name__ == "__main__":
    main()
