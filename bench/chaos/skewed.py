"""A wall clock that can be set: as `sitecustomize` on the path of a process, it adds what a file says to the time.

The file holds one signed number of nanoseconds, little endian, shared by every process that was started so. The
monotonic clock stays what it is. The product knows nothing of this.
"""

import mmap
import os
import time

if _path := os.environ.get("CHAOS_CLOCK"):
    with open(_path, "rb") as _file:
        _offset = mmap.mmap(_file.fileno(), 8, access=mmap.ACCESS_READ)
    _ns, _s = time.time_ns, time.time

    def _time_ns() -> int:
        return _ns() + int.from_bytes(_offset[:8], "little", signed=True)

    def _time() -> float:
        return _s() + int.from_bytes(_offset[:8], "little", signed=True) / 1e9

    time.time_ns, time.time = _time_ns, _time
