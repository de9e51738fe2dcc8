"""`make fuzz`: the tests that send anything to everything, over and over, each time with another seed.

    python -m tests.fuzz [--minutes 10] [--examples 200]

What fails is printed with its seed, and is the exit status.
"""

import argparse
import os
import secrets
import subprocess
import sys
import time

TESTS = (
    "tests/service/test_fuzz.py",
    "tests/events/test_codec.py",
    "tests/events/test_event.py",
    "tests/events/test_signing.py",
    "tests/events/test_archive.py",
    "tests/audit/test_bundle.py",
    "tests/replay/test_audit.py",
)
"""The API by its description, actions, the codec, events, signed requests, archives, bundles."""


def main() -> int:
    """1 if anything failed."""
    parser = argparse.ArgumentParser(prog="make fuzz")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--examples", type=int, default=200, help="requests to each operation in one round")
    asked = parser.parse_args()
    until, rounds, failed = time.monotonic() + asked.minutes * 60, 0, []
    while time.monotonic() < until:
        for test in TESTS:
            if (left := until - time.monotonic()) <= 0:
                break
            seed = secrets.randbits(32)
            pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            command = [*pytest, f"--hypothesis-seed={seed}", test]
            try:
                run = subprocess.run(
                    command, env=os.environ | {"ANNALS_FUZZ": str(asked.examples)}, timeout=left, check=False
                )
            except subprocess.TimeoutExpired:
                break
            if run.returncode:
                failed.append((test, seed))
        else:
            rounds += 1
    print(f"\n{rounds} whole rounds in {asked.minutes:g} minutes, {len(failed)} failures")
    for test, seed in failed:
        print(f"again: ANNALS_FUZZ={asked.examples} python -m pytest --hypothesis-seed={seed} {test}")
    return min(len(failed), 1)


if __name__ == "__main__":
    sys.exit(main())
