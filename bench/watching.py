"""Watchers: thousands of event streams on one game and over many, what they see how late, and what they cost.

A process of its own holds the streams and notes when each frame comes; it shares the machine with the service, so its
work is in the figures too. An action is sent every so often, as people play, with watchers and without.
"""

import resource
import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Final

from bench import figures
from bench.figures import Figure, beside, percentile, say
from bench.games import Plan, finished
from bench.load import Address, exchange, request
from bench.processes import resident
from bench.servers import Servers, servers

COUNTS: Final = (2_000, 5_000)
GAMES: Final = (1, 500)
ACTIONS: Final = 30
_PAUSE_S: Final = 0.15
_LAST_S: Final = 20.0
_OPENED_AT_ONCE: Final = 64


def measure(counts: Sequence[int] = COUNTS, games: Sequence[int] = GAMES, actions: int = ACTIONS) -> list[Figure]:
    """The figures."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    return [figure for count in counts for over in games for figure in _watched(count, min(over, count), actions)]


def _watched(count: int, over: int, actions: int) -> list[Figure]:
    """A service of its own, because what it keeps in memory is measured."""
    where = "one game" if over == 1 else f"{over} games"
    with ExitStack() as stack:
        running = stack.enter_context(servers(finished(0, 4)[100].data))
        say(f"watching: {over} games are begun")
        each = 3 * actions // min(over, actions) + 3
        plans = [Plan(running, each if number < actions else 1) for number in range(over)]
        acting = plans[: min(over, actions)]
        without = _act(running, acting, actions)
        before = _memory(running)
        ours, theirs = get_context("spawn").Pipe()
        process = get_context("spawn").Process(target=_hold, args=(theirs, running.service), daemon=True)
        process.start()
        stack.callback(process.kill)
        say(f"watching: {count} watchers of {where} come")
        ours.send([(plans[number % over].game, _version(plans[number % over])) for number in range(count)])
        assert ours.recv() == count
        memory = (_memory(running) - before) / count
        say(f"watching: {actions} actions")
        late: list[float] = []
        lasts: list[float] = []
        taken: list[float] = []
        for number in range(actions):
            plan = acting[number % len(acting)]
            version = _version(plan) + 1
            ours.send((plan.game, version, count // over + (number % len(acting) < count % over)))
            asked = plan.take(1)[0]
            sent = time.time()
            exchange(running.service, asked)
            taken.append((time.time() - sent) * 1000)
            plan.version = version
            arrived = ours.recv()
            late += [(at - sent) * 1000 for at in arrived]
            lasts.append((max(arrived) - sent) * 1000)
            time.sleep(_PAUSE_S)
        process.kill()
        process.join()
        time.sleep(1)
        again = _act(running, acting, actions)
    alone = without + again
    told = f"{count:,} watchers of {where}"
    return [
        Figure(f"{told}: from sending an action to the last of its frames, median", figures.middle(lasts), "ms",
               figures.middle(late), "to half of its frames", 60, at_most=True, absolute=True),
        Figure(f"{told}: the same, 99th of 100 frames", percentile(late, 99), "ms"),
        beside(f"{told}: latency of an action of a player there", "ms", [figures.middle(taken)],
               [figures.middle(alone)], "the same without watchers", 1.5, at_most=True),
        Figure(f"{told}: memory of the web processes, each watcher", memory / 1000, "kB", None, "", 20, True, True),
    ]  # fmt: skip


def _act(running: Servers, plans: Sequence[Plan], actions: int) -> list[float]:
    taken: list[float] = []
    for number in range(actions):
        plan = plans[number % len(plans)]
        (asked,), sent = plan.take(1), time.time()
        exchange(running.service, asked)
        taken.append((time.time() - sent) * 1000)
        plan.version += 1
        time.sleep(_PAUSE_S)
    return taken


def _version(plan: Plan) -> int:
    return plan.version


def _memory(running: Servers) -> int:
    return sum(map(resident, running.pids["web"]))


# -- the process of the watchers -------------------------------------------------------------------------------------


def _hold(orders: Connection, address: Address) -> None:
    """Open the streams that are asked for; then say of one frame after the other when it came, to everybody."""
    selector, sockets = selectors.DefaultSelector(), list[tuple[str, socket.socket]]()
    wanted = orders.recv()
    for start in range(0, len(wanted), _OPENED_AT_ONCE):
        opened = [(game, _opened(address, game, after)) for game, after in wanted[start : start + _OPENED_AT_ONCE]]
        for game, sock in opened:
            _until(sock, b"retry: ")
            sock.setblocking(False)
            selector.register(sock, selectors.EVENT_READ, game)
        sockets += opened
    orders.send(len(sockets))
    while True:
        game, version, count = orders.recv()
        mark, arrived = b"id: %d\n" % version, list[float]()
        until = time.monotonic() + _LAST_S
        while len(arrived) < count and time.monotonic() < until:
            for key, _ in selector.select(0.5):
                data = key.fileobj.recv(65_536)  # type: ignore[union-attr]
                if not data:
                    raise RuntimeError("a stream ended")
                if key.data == game and mark in data:
                    arrived.append(time.time())
        if len(arrived) < count:
            raise RuntimeError(f"{len(arrived)} of {count} frames came")
        orders.send(arrived)


def _opened(address: Address, game: str, after: int) -> socket.socket:
    headers: dict[str, Any] = {"Accept": "text/event-stream", "Last-Event-ID": after}
    sock = socket.create_connection(address, timeout=60)
    sock.sendall(request("GET", f"/v1/games/{game}/events", headers))
    return sock


def _until(sock: socket.socket, mark: bytes) -> None:
    seen = b""
    while mark not in seen:
        if not (more := sock.recv(65_536)):
            raise RuntimeError(f"no stream: {seen!r}")
        seen += more
