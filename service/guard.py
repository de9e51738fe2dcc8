"""Refuses to start on somebody else's `events`: PyPI's distribution "Events" installs a package of that very name.

pip lets one distribution overwrite another's files without a word, so a stored game would be read by a stranger's
code, or not at all. The check stands here and not in events/, because here it survives; it imports nothing but the
standard library.
"""

import importlib.metadata
import importlib.util
from pathlib import Path


class ForeignEvents(RuntimeError):
    """The module that Python finds under the name `events` is not the one that Annals was installed with."""


def check() -> None:
    """Pass when `events` is ours and whole.

    :raises ForeignEvents: the distribution "Events" is installed, or `events` is another package or lacks its parts
    """
    try:
        foreign = importlib.metadata.distribution("events")
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        raise ForeignEvents(
            f"the distribution {foreign.name} {foreign.version} is installed and overwrites or hides the package "
            f"`events` of Annals: pip uninstall {foreign.name}, then install Annals again"
        )
    ours = Path(__file__).resolve().parents[1] / "events" / "__init__.py"
    spec = importlib.util.find_spec("events")
    found = spec.origin if spec else None
    if found is None or Path(found).resolve() != ours:
        raise ForeignEvents(
            f"`import events` finds {found or 'no package'} where Annals needs its own {ours}: "
            "take the other one off the import path, or install Annals again"
        )
    if not ours.with_name("codec.py").is_file():
        raise ForeignEvents(f"the package `events` at {ours.parent} lacks its codec: install Annals again")
