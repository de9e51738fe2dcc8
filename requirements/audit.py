"""Is a known weakness in what is installed? Asks the advisories of OSV about every pinned version, in one question.

    python requirements/audit.py [FILE ...]

Exit status 1 where one is found. Where nobody answers it says that nothing was audited, and that is no failure: a
check must not depend on the network. ANNALS_ADVISORIES names another service of the same form.
"""

import json
import os
import re
import sys
import urllib.error
import urllib.request
from pathlib import Path

ADVISORIES = "https://api.osv.dev/v1/querybatch"
PATIENCE_S = 10.0
ACCEPTED: dict[str, str] = {}
"""Advisories that do not concern this project: id, and why not."""
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[\w,-]+\])?==([^\s;\\]+)", re.MULTILINE)


def pinned(files: list[Path]) -> list[tuple[str, str]]:
    """(name, version) of every distribution in lock files, each once."""
    return sorted({(name.lower(), version) for file in files for name, version in _PIN.findall(file.read_text())})


def known(pins: list[tuple[str, str]], address: str) -> dict[tuple[str, str], list[str]]:
    """The ids of advisories for each pin that has some.

    :raises OSError: nobody answers.
    :raises ValueError: the answer is none, or not to all that was asked.
    """
    queries = [{"package": {"name": name, "ecosystem": "PyPI"}, "version": version} for name, version in pins]
    request = urllib.request.Request(  # noqa: S310 # the address is the operator's
        address, json.dumps({"queries": queries}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
        told = json.load(answer)
    results = told.get("results") if isinstance(told, dict) else None
    if not isinstance(results, list) or len(results) != len(pins):
        raise ValueError("not an answer to what was asked")
    found = {}
    for pin, result in zip(pins, results, strict=True):
        if ids := [one["id"] for one in (result or {}).get("vulns", []) if one["id"] not in ACCEPTED]:
            found[pin] = ids
    return found


def main(arguments: list[str]) -> int:
    """The exit status; what there is to say is printed."""
    files = [Path(one) for one in arguments] or sorted(Path(__file__).parent.glob("*.txt"))
    pins = pinned(files)
    try:
        found = known(pins, os.environ.get("ANNALS_ADVISORIES", ADVISORIES))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        print(f"Dependencies NOT AUDITED: no advisory database ({error}). {len(pins)} versions are pinned by hash.")
        return 0
    for (name, version), ids in found.items():
        print(f"{name} {version} has a known weakness: {', '.join(ids)}")
    print(f"Dependencies audited: {len(pins)} pinned versions, {len(found)} with a known weakness.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
