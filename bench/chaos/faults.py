"""What may break. Each fault is done to a scene under load, and has ended when its function returns."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.chaos import skewed
from bench.chaos.clients import Load
from bench.chaos.proxy import Proxy
from bench.chaos.site import Site, until
from bench.clusters import Cluster, Node, Watched, cluster, watched
from events.embedded import Embedded
from events.log import Unavailable

HOUR_NS: Final = 3_600_000_000_000
DISK_MIB: Final = 32


class CannotBe(Exception):
    """The fault cannot be made here, and why."""


@dataclass
class Scene:
    """Where a fault is done."""

    site: Site
    load: Load
    proxy: Proxy | None = None
    disk: Path | None = None
    """A small file system of its own, with all that the service keeps."""
    clock: Path | None = None
    cluster: Cluster | None = None
    watched: Watched | None = None
    ended: float | None = None
    """When the fault was over, where that was before its function returns."""
    dice: random.Random = field(default_factory=lambda: random.Random(6))

    def hold(self, seconds: float) -> None:
        """Let the fault last."""
        threading.Event().wait(seconds)

    def start_again(self) -> None:
        """What an init system would do next; recovery counts from here."""
        self.ended = time.monotonic()
        self.site.start()


Setting = Callable[[Path, ExitStack], tuple[Site, dict[str, object]]]
"""Makes a site in a folder, and what else its scene has."""


def _plain(folder: Path, stack: ExitStack) -> tuple[Site, dict[str, object]]:
    return Site(folder), {}


def _behind_a_wire(folder: Path, stack: ExitStack) -> tuple[Site, dict[str, object]]:
    server = stack.enter_context(Embedded(folder / "database"))
    proxy = stack.enter_context(Proxy(server.socket).running())
    return Site(folder, proxy.url), {"proxy": proxy}


def _on_a_small_disk(folder: Path, stack: ExitStack) -> tuple[Site, dict[str, object]]:
    site = Site(folder)
    site.data.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m,mode=700", "annals-chaos", str(site.data)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise CannotBe(f"no small disk can be mounted here: {done.stderr.strip()}")
    stack.callback(subprocess.run, ["umount", "--lazy", str(site.data)], check=True)
    return site, {"disk": site.data}


def _with_a_clock(folder: Path, stack: ExitStack) -> tuple[Site, dict[str, object]]:
    clock, hooks = folder / "clock", folder / "hooks"
    clock.write_bytes(bytes(8))
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(Path(skewed.__file__).read_text())
    environment = {"PYTHONPATH": os.pathsep.join([str(hooks), os.getcwd()]), "CHAOS_CLOCK": str(clock)}
    return Site(folder, environment=environment), {"clock": clock}


def _on_a_cluster(folder: Path, stack: ExitStack) -> tuple[Site, dict[str, object]]:
    made = stack.enter_context(cluster())
    return Site(folder, made.url, {"ANNALS_REPLICAS": "1"}), {"cluster": made}


def _with_sentinels(folder: Path, stack: ExitStack) -> tuple[Site, dict[str, object]]:
    made = stack.enter_context(watched())
    return Site(folder, made.url, {"ANNALS_REPLICAS": "1"}), {"watched": made}


@dataclass(frozen=True)
class Fault:
    """One fault. ``rounds``: how often it is done, each time once the clients have recovered."""

    name: str
    about: str
    strike: Callable[[Scene], None]
    rounds: int = 1
    setting: Setting = _plain
    without: tuple[str, ...] = ()
    """Kinds of tables that cannot go on."""


def _worker(scene: Scene) -> None:
    os.kill(scene.dice.choice(scene.site.workers()), signal.SIGKILL)


def _workers(scene: Scene) -> None:
    for pid in scene.site.workers():
        os.kill(pid, signal.SIGKILL)


def _web(scene: Scene) -> None:
    """Gunicorn with all its workers."""
    for pid in (scene.site.master(), *scene.site.workers()):
        os.kill(pid, signal.SIGKILL)


def _supervisor(scene: Scene) -> None:
    """Its children follow; somebody starts it again, as an init system does."""
    os.kill(scene.site.supervisor, signal.SIGKILL)
    assert scene.site.process is not None
    scene.site.process.wait()
    scene.start_again()


def _everything(scene: Scene) -> None:
    scene.site.stop()
    scene.start_again()


def _database(scene: Scene) -> None:
    os.kill(scene.site.database(), signal.SIGKILL)


def _clerk(scene: Scene) -> None:
    os.kill(scene.site.clerk(), signal.SIGKILL)


def _paused(scene: Scene) -> None:
    pid = scene.site.database()
    os.kill(pid, signal.SIGSTOP)
    try:
        scene.hold(8)  # longer than the service waits for an answer
    finally:
        os.kill(pid, signal.SIGCONT)


def _stuck(scene: Scene) -> None:
    """The database stands still; the clerk ends meanwhile, and is started again; then the service is asked to stop."""
    process, database, clerk = scene.site.process, scene.site.database(), scene.site.clerk()
    assert process is not None
    os.kill(database, signal.SIGSTOP)
    try:
        os.kill(clerk, signal.SIGKILL)
        until(lambda: scene.site.clerk() != clerk, "no clerk is started while the database stands still", 20)
        process.send_signal(signal.SIGTERM)
        process.wait(40)
    finally:
        os.kill(database, signal.SIGCONT)
    scene.start_again()


def _master(scene: Scene) -> None:
    """Its replica takes its place. It comes back 4 s later, as a replica: until then nothing of its games can be
    acknowledged, because a replica must have it too."""
    assert scene.cluster is not None
    node = scene.cluster.master_of("{s0}:feed")
    node.kill()
    scene.hold(4)
    node.start()
    until(lambda: scene.cluster is not None and scene.cluster.whole() and scene.cluster.replicated(), "it is not whole")


def _named(scene: Scene) -> None:
    """The same of a single server, whose successor the sentinels name."""
    assert scene.watched is not None
    node = scene.watched.master()
    node.kill()
    scene.hold(4)
    until(lambda: _another(scene.watched, node), "no other master is named")
    scene.watched.follow(node)
    until(scene.watched.replicated, "it is not replicated")


def _another(servers: Watched | None, node: Node) -> bool:
    assert servers is not None
    try:
        return servers.master() is not node
    except Unavailable:
        return False


def _partition(scene: Scene) -> None:
    assert scene.proxy is not None
    scene.proxy.set("silent")
    scene.hold(2)
    scene.proxy.set("deaf")
    scene.hold(7)
    scene.proxy.set("cut")
    scene.hold(2)
    scene.proxy.set("open")


def _flicker(scene: Scene) -> None:
    """Answers are lost, connections cut, again and again."""
    assert scene.proxy is not None
    for _ in range(10):
        scene.proxy.set(scene.dice.choice(("silent", "cut")))
        scene.hold(0.2)
        scene.proxy.set("open")
        scene.hold(0.3)


def _disk(scene: Scene) -> None:
    assert scene.disk is not None
    ballast = scene.disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    scene.hold(6)
    ballast.unlink()


def _clock(scene: Scene) -> None:
    """An hour ahead, then two hours back, then right again: an hour behind what was written meanwhile."""
    assert scene.clock is not None
    for offset in (HOUR_NS, -HOUR_NS, 0):
        with scene.clock.open("r+b") as file:
            file.write(offset.to_bytes(8, "little", signed=True))
        if offset:
            scene.hold(3)


def _rolling(scene: Scene) -> None:
    """As many new workers beside the old ones; once they serve, the old ones are asked to end."""
    old, master = set(scene.site.workers()), scene.site.master()
    for _ in old:
        grown = len(scene.site.workers()) + 1
        os.kill(master, signal.SIGTTIN)
        until(lambda grown=grown: len(scene.site.workers()) >= grown, "no new worker came")  # type: ignore[misc]
    until(lambda: len(scene.site.serving() - old) == len(old), "the new workers do not serve")
    for _ in old:
        left = len(scene.site.workers()) - 1
        os.kill(master, signal.SIGTTOU)
        until(lambda left=left: len(scene.site.workers()) <= left, "no worker ends")  # type: ignore[misc]
    until(lambda: not old & set(scene.site.workers()), "the workers are the old ones")


def _reload(scene: Scene) -> None:
    """Gunicorn ends the old workers while the new ones load; then each worker is asked to end, one after the other."""
    old = set(scene.site.workers())
    os.kill(scene.site.master(), signal.SIGHUP)
    until(lambda: not old & (now := scene.site.serving()) and len(now) >= len(old), "the workers are the old ones")
    for pid in scene.site.workers():
        os.kill(pid, signal.SIGTERM)
        until(lambda pid=pid: len(scene.site.serving() - {pid}) >= len(old), "no new worker came")  # type: ignore[misc]
        until(lambda pid=pid: pid not in scene.site.workers(), "it does not end")  # type: ignore[misc]


def _restart(scene: Scene) -> None:
    """The whole service is asked to stop, and started again."""
    process = scene.site.process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    status = process.wait(60)
    if status != 0:
        raise RuntimeError(f"it stopped with status {status}")
    scene.start_again()


FAULTS: Final[Sequence[Fault]] = (
    Fault("worker", "kill -9 of a worker", _worker, rounds=3),
    Fault("workers", "kill -9 of all workers", _workers, rounds=2),
    Fault("web", "kill -9 of the web server and all workers", _web, rounds=2),
    Fault("clerk", "kill -9 of clerk and sequencer", _clerk, rounds=2),
    Fault("database", "kill -9 of the database", _database, rounds=3),
    Fault("supervisor", "kill -9 of the supervisor, then a start", _supervisor),
    Fault("everything", "kill -9 of everything, then a start", _everything),
    Fault("paused", "the database stands still for 8 s", _paused),
    Fault(
        "partition", "database cut off: answers lost 2 s, all lost 7 s, refused 2 s", _partition, setting=_behind_a_wire
    ),
    Fault("flicker", "database cut off ten times for 0.2 s", _flicker, setting=_behind_a_wire),
    Fault("disk", "the disk is full for 6 s", _disk, setting=_on_a_small_disk),
    # Who watches with a delay waits until the clock has caught up with what was written ahead of it: late, never early.
    Fault(
        "clock",
        "the clock goes an hour ahead, then two back, then one ahead",
        _clock,
        setting=_with_a_clock,
        without=("watched later",),
    ),
    Fault("rolling", "rolling restart of the workers: SIGTTIN, then SIGTTOU", _rolling),
    Fault("reload", "SIGHUP to the web server, then SIGTERM to each worker in turn", _reload),
    Fault(
        "stuck", "the database stands still, the clerk is killed, the service is asked to stop; then a start", _stuck
    ),
    Fault("master", "kill -9 of a cluster's master (3 + 3), back after 4 s", _master, setting=_on_a_cluster),
    Fault("sentinel", "kill -9 of the master that sentinels watch, back after 4 s", _named, setting=_with_sentinels),
    Fault("restart", "SIGTERM to the service, then a start", _restart),
)


@contextmanager
def monitored(site: Site, folder: Path) -> Iterator[Callable[[], str]]:
    """A monitor that remembers the log of games: each call says what is wrong with it, or nothing."""
    memory = folder / "monitor.json"

    def look() -> str:
        command = [sys.executable, "-m", "service", "monitor", site.address, "--memory", str(memory)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}".strip()

    yield look
