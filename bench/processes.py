"""What the kernel tells of processes, on Linux."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One process, as /proc shows it."""

    pid: int
    parent: int
    command: str


def started_for(folder: Path) -> list[Process]:
    """Every process but this one whose command names a folder, by whomever it was started."""
    needle, found = os.fsencode(folder.resolve()), list[Process]()
    for one in PROC.iterdir():
        if not one.name.isdigit() or int(one.name) == os.getpid():
            continue
        try:
            command = (one / "cmdline").read_bytes()
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if needle in command:
            found.append(Process(int(one.name), parent, command.replace(b"\0", b" ").decode()))
    return found


def descendants(root: int, word: str) -> list[int]:
    """The children of a process, and theirs, whose command has a word; none where there is no /proc."""
    children: dict[int, list[int]] = {}
    for folder in PROC.iterdir() if PROC.is_dir() else ():
        if folder.name.isdigit() and (stat := _read(folder / "stat")):
            children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(folder.name))
    found, left = list[int](), [root]
    while left:
        left += (below := children.get(left.pop(), []))
        found += [pid for pid in below if word in _read(PROC / str(pid) / "cmdline")]
    return found


def seconds(pid: int) -> float:
    """The processor time of a process so far."""
    stat = _read(PROC / str(pid) / "stat").rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK") if stat else 0.0


def resident(pid: int) -> int:
    """The memory of a process that is its own and in use, in bytes."""
    found = re.search(r"^RssAnon:\s+(\d+) kB", _read(PROC / str(pid) / "status"), re.MULTILINE)
    return 1024 * int(found[1]) if found else 0


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return ""
