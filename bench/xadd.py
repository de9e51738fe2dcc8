"""The floor under everything: XADD by the service's own client library, under gevent like the service, and no HTTP.

``python -m bench.xadd URL CLIENTS COUNT ENTRY`` prints how many a second.
"""

from gevent import monkey

monkey.patch_all()

import sys  # noqa: E402 # after the patch
import time  # noqa: E402

import gevent  # noqa: E402

from events.redis_client import Wire, connect  # noqa: E402


def main(url: str, clients: str, count: str, entry: str) -> None:
    wire, data = Wire(connect(url)), bytes.fromhex(entry)

    def add(stream: str, times: int) -> None:
        for _ in range(times):
            wire.call(("XADD", stream, "*", "e", data))

    def all_of_them(times: int) -> float:
        begun = time.perf_counter()
        gevent.joinall([gevent.spawn(add, f"xadd:{n}", times) for n in range(int(clients))], raise_error=True)
        return time.perf_counter() - begun

    all_of_them(1)
    print(int(clients) * int(count) / all_of_them(int(count)))


if __name__ == "__main__":
    main(*sys.argv[1:])
