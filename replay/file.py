"""Events in a file: ``.annals`` holds the stored bytes of one game, each event behind its length (u32 big endian).

It is what an auditor keeps, and what `Replay.read` opens: nothing but the bytes that were hashed.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from events.codec import EVENT_LIMIT
from events.event import Event, Malformed
from events.log import Damage

SUFFIX = ".annals"


def write(path: Path, events: Iterable[Event]) -> int:
    """Write a game to a file; how many events there were."""
    count = 0
    with path.open("wb") as file:
        for event in events:
            file.write(frame(event.data))
            count += 1
    return count


def frame(data: bytes) -> bytes:
    """The bytes of one event behind their length."""
    return len(data).to_bytes(4, "big") + data


def read(path: Path) -> Iterator[Event | Damage]:
    """The events of a file in order. A `Damage` stands where the bytes are none; a broken length, behind which nobody
    can say what is an event's, ends the reading.

    :raises OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        yield from unpack(file)


def unpack(file: BinaryIO) -> Iterator[Event | Damage]:
    """The events of an open file, as `read` gives them."""
    place = 0
    while head := file.read(4):
        place += 1
        size = int.from_bytes(head, "big")
        if len(head) < 4 or size > EVENT_LIMIT:
            yield Damage(f"{place}-0", f"a length of {size} bytes: the rest of the file is not read")
            return
        data = file.read(size)
        if len(data) < size:
            yield Damage(f"{place}-0", f"the file ends within the event: {len(data)} of {size} bytes")
            return
        try:
            yield Event.read(data)
        except Malformed as error:
            yield Damage(f"{place}-0", f"not an event: {error}", data)
