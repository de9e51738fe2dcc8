"""What Gunicorn runs: its settings, and the application of one worker."""

import os
import signal
import threading
from typing import TYPE_CHECKING, Any

from service import logs, serve
from service.config import Config

if TYPE_CHECKING:
    from flask import Flask

_config = Config.read(os.environ)

bind = f"fd://{os.environ[serve.LISTENER]}" if serve.LISTENER in os.environ else f"{_config.host}:{_config.port}"
workers = _config.workers
worker_class = "gevent"
worker_connections = 10_000  # live streams are connections, and cheap
keepalive = 75
timeout = 60
graceful_timeout = 5
forwarded_allow_ips = "127.0.0.1,::1"
control_socket_disable = True  # it would be put into the home directory
logconfig_dict = logs.library_logging(_config.log_level)


def application() -> "Flask":
    """The application of this worker, called after the fork."""
    from service.app import create_app
    from service.bootstrap import bootstrap

    logs.configure(_config.log_level, "web")
    deps = bootstrap(_config)
    app = create_app(deps)
    app.extensions["annals"] = deps
    return app


def post_worker_init(worker: Any) -> None:
    """End the live streams when the worker is told to stop, or nobody's request would ever be the last."""
    deps = worker.wsgi.extensions["annals"]

    def watch() -> None:
        pause = threading.Event()
        while worker.alive:
            pause.wait(0.1)
        deps.close()

    threading.Thread(target=watch, name="end-of-streams", daemon=True).start()
    serve.on_leash(lambda: os.kill(os.getppid(), signal.SIGTERM))


def child_exit(server: Any, worker: Any) -> None:
    """Take a dead worker's gauges out of the sums."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
