"""What Gunicorn runs: its settings, its worker, and the application of one worker."""

import errno
import gc
import os
import signal
import socket
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import gevent
import gevent.pool
import gevent.socket
from gunicorn import util  # type: ignore[import-untyped]
from gunicorn.glogging import Logger  # type: ignore[import-untyped]
from gunicorn.http.body import LengthReader  # type: ignore[import-untyped]
from gunicorn.http.errors import (  # type: ignore[import-untyped]
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    NoMoreData,
    ParseException,
)
from gunicorn.workers.ggevent import GeventWorker  # type: ignore[import-untyped]

from service.config import Config
from service.running import logs, serve

if TYPE_CHECKING:
    from service.api.dispatch import Application

_config = Config.read(os.environ)
gevent.config.track_greenlet_tree = False  # else each keeps who made it, which nobody asks
_GARBAGE: Final = (20_000, 5, 5)
"""When the collector looks for cycles: a request makes hundreds of objects and hardly a cycle, a replay that is let go
is one of thousands."""
_SILENCE_S: Final = 0.5
"""How long a connection to a worker that stops may be silent before it is closed."""
_PIECE: Final = 65_536
_PACE: Final = 2_048
"""So many more bytes of a body give a second more."""
_LINGER_S: Final = 0.5
_LINGER_READS: Final = 16

bind = f"fd://{os.environ[serve.LISTENER]}" if serve.LISTENER in os.environ else f"{_config.host}:{_config.port}"
workers = _config.workers
worker_class = "service.running.worker.Worker"
worker_connections = 10_000  # live streams are connections, and cheap
keepalive = 75
timeout = 60
graceful_timeout = 5
forwarded_allow_ips = "*" if _config.proxies else "127.0.0.1,::1"  # who may say that it was https
control_socket_disable = True  # it would be put into the home directory
logconfig_dict = logs.library_logging(_config.log_level)


class Log(Logger):  # type: ignore[misc] # Gunicorn has no types
    """Gunicorn's, without a line for each request: there is one already, which knows the route and no address."""

    def access(self, *_: Any) -> None:
        """Of what such a line would say, nothing is put together."""


logger_class = Log


def application() -> "Application":
    """The application of this worker, called after the fork."""
    from service.app import create_app
    from service.bootstrap import bootstrap
    from service.web import pages

    logs.configure(_config.log_level, "web")
    deps = bootstrap(_config)
    app = create_app(deps)
    app.extensions["annals"] = deps
    pages.warm(app)
    gc.collect()
    gc.freeze()  # what is there now stays: it need not be looked through for garbage again and again
    gc.set_threshold(*_GARBAGE)
    return app


def _is_here(reader: Any) -> bool:
    """Did the whole body come with the head of its request? Then to read it is to wait for nobody."""
    whole: bool = isinstance(reader, LengthReader) and reader.length <= reader.unreader.buf.tell()
    return whole


class _Prompt:
    """The body of a request, which must come at a pace: whoever sends it byte by byte holds nobody up for long."""

    def __init__(self, request: Any) -> None:
        self._request, self._body = request, request.body
        self._due = time.monotonic() + _config.patience_s

    def read(self, size: int | None = None) -> bytes:
        """As of any stream.

        :raises service.limits.TooSlow: it did not come in time.
        :raises service.api.problems.Problem: its chunks are none, or it ends before its end.
        """
        return self._timely(self._body.read, size)

    def readline(self, size: int | None = None) -> bytes:
        """The same up to the end of a line."""
        return self._timely(self._body.readline, size)

    def readlines(self, size: int | None = None) -> list[bytes]:
        """The same, in lines."""
        return self.read(size).splitlines(keepends=True)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def _timely(self, read: Any, size: int | None) -> bytes:
        from service.api.problems import Problem  # not before the fork: it knows sockets that gevent has yet to patch
        from service.limits import TooSlow

        self._request.must_close, before = True, self._request.must_close  # unless all comes, and in time
        try:
            with gevent.Timeout(max(0.001, self._due - time.monotonic()), TooSlow()):
                data: bytes = read(size)
        except (ParseException, NoMoreData) as error:  # of a body in chunks
            raise Problem("unreadable") from error
        self._request.must_close = before
        self._due += len(data) / _PACE
        return data


class _Whole:
    """A connection on which the first thing to be sent waits for the second: each packet costs both sides a system
    call, and whoever waits for it a turn of the processor. Who reads nothing for ANNALS_PATIENCE_S is gone."""

    __slots__ = ("_first", "_request", "_sock", "frames", "plain")

    def __init__(self, sock: Any, request: Any, plain: bool) -> None:
        self._sock, self._request = sock, request
        self.plain = plain
        """Is what is sent what goes out, without TLS?"""
        self._first: bytes | None = b""
        self.frames: Generator[bytes] | None = None
        """What is left of a live stream once Gunicorn has done its part."""

    def hand_over(self, frames: Generator[bytes]) -> Iterator[bytes]:
        """The body of a live stream as Gunicorn sends it: its beginning alone. The rest is sent past Gunicorn, which
        would keep all that a request takes for as long as the stream is open; its end is that of the connection."""
        self._request.must_close = True
        with suppress(StopIteration):
            try:
                yield next(frames)
            except GeneratorExit:
                frames.close()
                raise
            self.frames = frames

    def past_server(self) -> Generator[bytes]:
        """Leave Gunicorn's hands, which close what they know: the rest of the stream, to be sent by the caller."""
        assert self.frames is not None
        self._request.body = None  # which knows its request: they would stay until the collector comes
        frames, self.frames, self._request = self.frames, None, None
        known = self._sock
        self._sock = gevent.socket.socket(known.family, known.type, known.proto, fileno=known.detach())
        return frames

    def sendall(self, data: bytes) -> None:
        if self.frames is not None:  # Gunicorn says that the answer is over
            return
        if self._first == b"":
            self._first = data
        elif self._first is None:
            self._send(data)
        else:
            first, self._first = self._first, None
            self._send(first + data)

    def flush(self) -> None:
        """Send what still waits."""
        if self._first:
            first, self._first = self._first, None
            self._send(first)

    def _send(self, data: bytes) -> None:
        self._sock.settimeout(_config.patience_s)
        try:
            for start in range(0, len(data), _PIECE):
                self._sock.sendall(data[start : start + _PIECE] if len(data) > _PIECE else data)
        except TimeoutError as error:
            raise BrokenPipeError(errno.EPIPE, "the client reads nothing") from error
        finally:
            self._sock.settimeout(None)

    def send_now(self, data: bytes) -> int:
        """Send without waiting: how many bytes went out. Only where it is plain, and the head of an answer is out."""
        try:
            sent: int = self._sock._sock.send(data)  # beneath, gevent's sockets never wait
        except BlockingIOError:
            return 0
        return sent

    def sendfile(self, *arguments: Any) -> Any:
        self.flush()
        return self._sock.sendfile(*arguments)

    def shutdown(self, how: int) -> None:
        self._first = None
        self._sock.shutdown(how)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sock, name)


class Worker(GeventWorker):  # type: ignore[misc] # Gunicorn has no types
    """Gunicorn's gevent worker, which when told to stop waits for answers, but not for silent connections."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._clients: dict[Any, Any] = {}
        self._silent: dict[Any, float] = {}
        self._served: set[Any] = set()
        self._streams = gevent.pool.Pool(self.worker_connections)

    def run(self) -> None:
        """Serve until told to stop, and streams to their ends."""
        super().run()
        self._streams.join(self.cfg.graceful_timeout)

    def handle(self, listener: Any, client: Any, addr: Any) -> None:
        """Serve one connection, in a greenlet of its own."""
        greenlet = gevent.getcurrent()
        self._clients[greenlet] = client
        try:
            super().handle(listener, client, addr)
        finally:
            del self._clients[greenlet]
            self._served.discard(greenlet)

    def handle_request(self, listener_name: str, req: Any, sock: Any, addr: Any) -> None:
        """As Gunicorn does it, with the head of the answer in the same packet as the beginning of its body."""
        self._served.add(gevent.getcurrent())
        if not _is_here(req.body.reader):
            req.body = _Prompt(req)
        whole = _Whole(sock, req, not self.cfg.is_ssl)
        try:
            super().handle_request(listener_name, req, whole, addr)
        finally:
            whole.flush()
            if whole.frames is not None:
                self._streams.spawn(self._go_on, whole, whole.past_server(), req.version > (1, 0))

    def _go_on(self, line: _Whole, frames: Generator[bytes], chunked: bool) -> None:
        """Send the rest of a live stream, in a greenlet that keeps nothing else, and end the connection."""
        try:
            for data in frames:
                util.write(line, data, chunked)
            if chunked:
                util.write_chunk(line, b"")
        except OSError:
            pass  # the watcher is gone
        except Exception:
            self.log.exception("Error in a live stream")
        finally:
            frames.close()
            line.close()

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Answer what is no request, or failed outside the application, with a problem, as all else is refused.

        Gunicorn would answer in HTML, and write the line that it could not read, perhaps with a token, into the log.
        """
        from service.api.problems import Problem, render
        from service.api.routing import headers_of
        from service.limits import TooSlow

        if isinstance(exc, TooSlow | Problem):  # what was left over of a body that nobody wanted: the answer is given
            return
        refused = isinstance(exc, ParseException) and not isinstance(
            exc, InvalidResponseHeader | InvalidResponseHeaderName
        )
        if refused:
            self.log.warning("Unreadable request: %s", type(exc).__name__)
        else:
            self.log.error("Error handling a request", exc_info=exc)
        answer = render(Problem("unreadable" if refused else "internal"), "en")
        answer.headers["Connection"] = "close"
        for name, value in headers_of({"REQUEST_METHOD": "POST", "wsgi.url_scheme": "http"}):
            answer.headers[name] = value
        head = f"HTTP/1.1 {answer.status}\r\n{answer.headers}".encode("latin-1")
        with suppress(OSError):  # who sends such things need not wait for the answer
            client.sendall(head + answer.get_data())
            client.shutdown(socket.SHUT_WR)
            client.settimeout(_LINGER_S)
            for _ in range(_LINGER_READS):  # closed with bytes unread, the answer would be lost on its way
                if not client.recv(65_536):
                    break

    @contextmanager
    def timeout_ctx(self) -> Iterator[None]:
        """Around the wait for the next request of a connection; for the first one nobody waits as long."""
        greenlet = gevent.getcurrent()
        self._silent[greenlet] = time.monotonic()
        try:
            seconds = self.cfg.keepalive if greenlet in self._served else _config.patience_s
            with gevent.Timeout(seconds, False):  # type: ignore[arg-type] # its types know no False: nothing is raised
                yield
        finally:
            del self._silent[greenlet]

    def end_streams(self) -> None:
        """Close what would never end by itself: live streams, and connections that are only kept alive.

        From now on every answer says that it is the last of its connection, so a client that goes on asking is not cut
        off; what comes all the same on a connection that is closed here is still read, and answered.
        """
        self.wsgi.extensions["annals"].close()
        while True:  # a connection falls silent when its stream or answer is over
            for greenlet, since in list(self._silent.items()):
                if time.monotonic() - since > _SILENCE_S:
                    with suppress(OSError):  # beneath: gevent's would wake who reads with an error
                        self._clients[greenlet]._sock.shutdown(socket.SHUT_RD)
            gevent.sleep(0.1)


def post_worker_init(worker: Worker) -> None:
    """Watch for the end of this worker, and of the supervisor."""

    def watch() -> None:
        pause = threading.Event()
        while worker.alive:
            pause.wait(0.1)
        worker.end_streams()

    threading.Thread(target=watch, name="end-of-streams", daemon=True).start()
    serve.on_leash(lambda: os.kill(os.getppid(), signal.SIGTERM))


def child_exit(server: Any, worker: Worker) -> None:
    """Take a dead worker's gauges out of the sums."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
