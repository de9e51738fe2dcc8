"""`annals serve`: one process that starts the database, the web server and the clerk, and sees to it that they run.

    annals serve ── embedded Valkey        (unless REDIS_URL names a server; in a session of its own)
                 ├─ gunicorn ── workers    (gevent; the listening socket is ours, so a restart refuses nobody)
                 └─ annals clerk

A child that dies is started again; when this process dies, even by kill -9, the children see their leash (the end of
a pipe) go, and follow. `--ephemeral` has no children: database, clerk and a threaded web server share this process,
because a database in memory cannot be shared with a fork.
"""

import errno
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from service.config import Config

if TYPE_CHECKING:
    import redis

    from events.embedded import Database

LEASH: Final = "ANNALS_LEASH"
"""File descriptor of the pipe whose other end the supervisor holds (set for its children only)."""
LISTENER: Final = "ANNALS_LISTENER"
"""File descriptor of the listening socket (set for Gunicorn only)."""
_TEND_S: Final = 0.2
_BUSY_S: Final = 8.0
"""How long a start waits for a port that is busy."""
_START_S: Final = 60.0
_STOP_S: Final = 10.0
_HANGS_S: Final = 5.0
"""How long the database may give no answer before that is told."""
_HEALTHY_S: Final = 10.0
_MOST_PAUSE_S: Final = 5.0
_GIVE_UP: Final = 5


class CannotServe(Exception):
    """The service does not come up; the message says why and what to do."""


def serve(config: Config) -> None:
    """Run until SIGINT or SIGTERM, then stop everything that was started.

    :raises CannotServe: it does not come up.
    """
    with _listen(config.host, config.port) as listener, _stop_signals() as stopping:
        address = _address(listener)
        if config.ephemeral:
            with tempfile.TemporaryDirectory(prefix="annals-log-") as folder:
                here = replace(config, log_dir=config.log_dir or folder)
                _serve_here(here, listener, address, stopping)
        else:
            _supervise(config, listener, address, stopping)


# -- one process for everything --------------------------------------------------------------------------------------


def _serve_here(config: Config, listener: socket.socket, address: str, stopping: threading.Event) -> None:
    from werkzeug.serving import make_server

    from service.app import create_app
    from service.bootstrap import bootstrap
    from service.clerk import Clerk
    from service.proofs.sequencer import sequencer_of
    from service.running import demo, logs

    logs.configure(config.log_level, "serve")
    deps = bootstrap(config)
    app = create_app(deps)
    clerk = Clerk(deps)
    _prepare(deps.redis, config, stopping)
    if config.demo:
        threading.Thread(target=demo.keep, args=(deps,), name="demo", daemon=True).start()
    host, port = listener.getsockname()[:2]
    server = make_server(host, port, app, threaded=True, fd=listener.fileno())
    threads = [
        threading.Thread(target=clerk.run, name="clerk", daemon=True),
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="web", daemon=True),
    ]
    if (sequencer := sequencer_of(deps)) is not None:
        threads.append(threading.Thread(target=sequencer.run, args=(stopping,), name="sequencer", daemon=True))
    for thread in threads:
        thread.start()
    _greet(address, config, lambda: all(thread.is_alive() for thread in threads), stopping)
    while not stopping.wait(_TEND_S):
        if not all(thread.is_alive() for thread in threads):
            raise CannotServe("a part of the service ended; see its log above")
    deps.close()
    clerk.stop()
    server.shutdown()
    for thread in threads:
        thread.join(_STOP_S)


# -- a process each --------------------------------------------------------------------------------------------------


class Child:
    """A process that is started again when it dies, after a pause that grows while it keeps dying."""

    def __init__(
        self, name: str, command: list[str], environment: Mapping[str, str], descriptors: tuple[int, ...]
    ) -> None:
        self.name, self._command, self._environment, self._descriptors = name, command, environment, descriptors
        self.process: subprocess.Popen[bytes] | None = None
        self.deaths = 0
        self._started = self._due = 0.0

    def start(self) -> None:
        """Start it now."""
        self._started = time.monotonic()
        self.process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            pass_fds=self._descriptors,
            start_new_session=True,  # Ctrl-C goes to the supervisor alone, which stops them in order
        )

    def tend(self) -> None:
        """Start it again if it died."""
        if self.process is not None:
            status = self.process.poll()
            if status is None:
                if time.monotonic() - self._started > _HEALTHY_S:
                    self.deaths = 0
                return
            self.process = None
            self.deaths += 1
            pause = min(_TEND_S * 2 ** (self.deaths - 1), _MOST_PAUSE_S)
            self._due = time.monotonic() + pause
            _tell(f"{self.name} ended ({_reason(status)}); starting it again in {pause:.1f} s")
        if time.monotonic() >= self._due:
            self.start()

    def stop(self, deadline: float) -> None:
        """Wait for the end that was asked for; at ``deadline`` (monotonic seconds) it is killed, with its children."""
        if self.process is None:
            return
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            _tell(f"{self.name} did not stop in time: killed")
        with suppress(ProcessLookupError):  # its session is its own, and nobody may stay behind in it
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> None:
        """Ask it to end."""
        if self.process is not None:
            self.process.terminate()


def _supervise(config: Config, listener: socket.socket, address: str, stopping: threading.Event) -> None:
    from events.embedded import ServerFailed, open_database

    with ExitStack() as cleanup:
        fsync = "always" if config.durability == "none" else config.durability
        try:
            database = open_database(config.data, config.redis_url or None, fsync=fsync)
        except (ServerFailed, OSError, ValueError) as error:
            raise CannotServe(str(error)) from error
        cleanup.callback(_let_go, database)
        if not _prepare(database.client, config, stopping):
            return
        url = config.redis_url if database.server is None else database.server.url
        metrics = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="annals-metrics-"))
        leash, hold = os.pipe()
        for end in (leash, hold):
            cleanup.callback(os.close, end)
        environment = child_environment(replace(config, redis_url=url)) | {
            "PROMETHEUS_MULTIPROC_DIR": metrics,
            LEASH: str(leash),
            LISTENER: str(listener.fileno()),
        }
        python, data = [sys.executable, "-m"], str(config.data.resolve())  # so that a list of processes tells whose
        worker = "service.running.worker"
        web = [*python, "gunicorn", "--config", f"python:{worker}", "--name", data, f"{worker}:application()"]
        children = [
            Child("the web server", web, environment, (leash, listener.fileno())),
            Child("the clerk", [*python, "service", "clerk", "--data", data], environment, (leash,)),
        ]
        cleanup.callback(_stop, children)
        for child in children:
            child.start()

        cleanup.enter_context(_keeping(database))

        def tend() -> bool:
            for child in children:
                child.tend()
            return all(child.deaths < _GIVE_UP for child in children)

        _greet(address, config, tend, stopping)
        while not stopping.wait(_TEND_S):
            tend()
        _tell("stopping")


@contextmanager
def _keeping(database: "Database") -> Iterator[None]:
    """Start an embedded database again whenever it ends, for a block. In a thread: one that hangs takes its time."""
    from events.embedded import ServerFailed

    if database.server is None:
        yield
        return
    over = threading.Event()

    def look() -> None:
        told = ""
        while not over.wait(_TEND_S):
            try:
                started = database.ensure(_HANGS_S)
            except (ServerFailed, OSError) as error:
                if str(error) != told:
                    _tell(f"the database does not come up: {error}")
                told = str(error)
                continue
            if started or told:
                _tell("the database had ended; it runs again" if started else "the database answers again")
            told = ""

    thread = threading.Thread(target=look, name="database", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()  # else it would start what is about to be stopped


def _let_go(database: "Database") -> None:
    """
    :raises CannotServe: an embedded database does not stop.
    """
    from events.embedded import ServerFailed

    try:
        database.close(_STOP_S)
    except ServerFailed as error:
        raise CannotServe(f"the database is left running: {error}") from error


def _stop(children: list[Child]) -> None:
    deadline = time.monotonic() + _STOP_S
    for child in children:
        child.terminate()
    for child in children:
        child.stop(deadline)


def child_environment(config: Config) -> dict[str, str]:
    """This process's environment, with the settings that children must share spelled out."""
    return dict(os.environ) | {
        setting.metadata["variable"]: _text(getattr(config, setting.name)) for setting in fields(config)
    }


def _text(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def on_leash(then: Callable[[], None]) -> None:
    """In a child: call ``then`` once the supervisor is gone. Works with plain threads and under gevent."""
    import select

    if (number := os.environ.get(LEASH)) is None:
        return

    def watch() -> None:
        select.select([int(number)], [], [])  # nothing is ever written: readable means that the other end is closed
        then()

    threading.Thread(target=watch, name="leash", daemon=True).start()


def _prepare(client: "redis.Redis", config: Config, stopping: threading.Event) -> bool:
    """Wait for the database; an empty one gets keys and the demo, decided here, before anybody can write to it.

    False: it was time to stop before it answered.

    :raises CannotServe: it does not answer within a minute, or the keys of its games are missing.
    """
    from events.log import Unavailable
    from events.redis_log import RedisLog
    from service.running import demo

    deadline = time.monotonic() + _START_S
    while True:
        try:
            empty = all(end == "0" for end in RedisLog(client).feed_ends().values())
            if not config.ephemeral:
                _keys(client, config, empty)
            if config.demo and empty:
                client.set(demo.STATE, "loading", nx=True)
        except Unavailable as error:
            if time.monotonic() > deadline:
                raise CannotServe(f"the database does not answer: {error}") from error
        else:
            return True
        if stopping.wait(_TEND_S):
            return False


def _keys(client: "redis.Redis", config: Config, empty: bool) -> None:
    """See to it that the keys are there. They are made for an empty database only, never in the place of lost ones.

    :raises CannotServe: one is missing or cannot be used.
    """
    from service.keys import BadKeyring, Keyring
    from service.proofs.signing_keys import SigningKeys

    try:
        if config.keys:
            Keyring.parse(config.keys)
        else:
            if not empty and not os.path.lexists(config.keyring_path):
                raise CannotServe(
                    f"the database holds games, and their keyring is not at {config.keyring_path}: put it back there, "
                    "or name it with ANNALS_KEYS_FILE. If it is lost for good: annals keys --new, and then "
                    "annals void key-lost"
                )
            Keyring.create(config.keyring_path)
        signing = SigningKeys.find(config)
        if signing is None and (signed := SigningKeys.known(client)):
            raise CannotServe(
                f"receipts were signed by {', '.join(signed)}, and no receipts key is in {config.key_folder}: put it "
                "back there, or set ANNALS_RECEIPTS_KEY. If it is lost for good: annals keys --new"
            )
        SigningKeys.create(config).remember(client)
    except (BadKeyring, OSError) as error:
        raise CannotServe(str(error)) from error


# -- what both share -------------------------------------------------------------------------------------------------


@contextmanager
def _listen(host: str, port: int) -> Iterator[socket.socket]:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotServe(f"cannot listen on {host}: {error}") from error
    with listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        deadline, told = time.monotonic() + _BUSY_S, False
        while True:
            try:
                listener.bind(address)
                listener.listen(2_048)
                break
            except OSError as error:
                # Workers of a service that was killed hold the port until they have seen that it is gone.
                if error.errno == errno.EADDRINUSE and time.monotonic() < deadline:
                    if not told:
                        _tell(f"port {port} is busy; waiting up to {_BUSY_S:.0f} s for it")
                        told = True
                    time.sleep(_TEND_S)
                    continue
                raise CannotServe(
                    f"port {port} on {host} is not to be had ({error.strerror}): "
                    f"try --port {port + 1}, or --port 0 for any"
                ) from error
        yield listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 # nothing listens there
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"


@contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    stopping = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: stopping.set()) for number in numbers}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _greet(address: str, config: Config, tend: Callable[[], bool], stopping: threading.Event) -> None:
    """Wait until `/readyz` says yes, then say what there is to open.

    :raises CannotServe: it did not within a minute, or its processes keep dying.
    """
    import urllib.error
    import urllib.request

    deadline = time.monotonic() + _START_S
    answer = "no answer"
    while not stopping.wait(0.05):
        if not tend():
            raise CannotServe("a process of the service keeps ending; its log above says why")
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=2):  # noqa: S310 # our own
                break
        except urllib.error.HTTPError as error:
            answer = error.read(1_000).decode(errors="replace")
        except OSError as error:
            answer = str(error)
        if time.monotonic() > deadline:
            raise CannotServe(f"not ready after {_START_S:.0f} s: {answer}")
    else:
        return
    kept = "in memory: gone when you stop it" if config.ephemeral else f"kept in {_shown(config)}"
    _say(
        f"""
Annals is ready. Its games are {kept}.

  open    {address}/           play, watch and replay in the browser
          {address}/docs       the API, for people
          {address}/v1/games   the games: finished ones to step through, one being played now

  try     curl '{address}/v1/games?status=playing'
          curl {address}/v1/library
          curl -X POST {address}/v1/players -H 'Content-Type: application/json' -d '{{"name": "Ada"}}'

  play    {_command()} play --server {address} --new donjon --name Ada --bots

Ctrl-C stops all of it."""
    )


def _command() -> str:
    """How a person calls this command: as it was called, where its name alone does not find it."""
    called = Path(sys.argv[0])
    if called.name != "annals" or shutil.which("annals") == str(called.resolve()):
        return "annals"
    return shlex.quote(str(called))


def _shown(config: Config) -> str:
    return "the database of REDIS_URL" if config.redis_url else f"{Path(config.data).resolve()}"


def _reason(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _say(text: str) -> None:
    print(text, flush=True)


def _tell(text: str) -> None:
    print(f"annals: {text}", file=sys.stderr, flush=True)


# -- the clerk's process ---------------------------------------------------------------------------------------------


def run_clerk(config: Config) -> None:
    """The process `annals clerk`: a clerk, beside it sequencer and archiver, until SIGTERM or its supervisor's end."""
    from service.bootstrap import bootstrap
    from service.clerk import Clerk
    from service.keeping.archiver import archiver_of
    from service.proofs.sequencer import sequencer_of
    from service.running import demo, logs

    logs.configure(config.log_level, "clerk")
    clerk, stopping = Clerk(deps := bootstrap(config)), threading.Event()

    def stop(*_: object) -> None:
        stopping.set()
        clerk.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    on_leash(stop)
    if (sequencer := sequencer_of(deps)) is not None:
        threading.Thread(target=sequencer.run, args=(stopping,), name="sequencer").start()
    if (archiver := archiver_of(deps)) is not None:
        threading.Thread(target=archiver.run, args=(stopping,), name="archiver").start()
    if config.demo:
        threading.Thread(target=demo.keep, args=(deps,), name="demo", daemon=True).start()
    clerk.run()
