"""Browsers other than Chromium: WebKitGTK and Firefox, each by its own protocol, with the commands of WebDriver."""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

PATIENCE_S = 60
HTTP = {"Navigate": "url", "ExecuteScript": "execute/sync", "PerformActions": "actions", "Back": "back"}
KEYS = {"ArrowRight": "\ue014", "Home": "\ue011"}


class Failed(Exception):
    """What the driver says that did not work."""


def until(what: Callable[[], Any], said: str) -> Any:
    """What comes in the end, once it is something."""
    deadline, pause, why = time.monotonic() + PATIENCE_S, threading.Event(), ""
    while time.monotonic() < deadline:
        try:
            if found := what():
                return found
        except (Failed, OSError, httpx.TransportError) as error:  # not up yet; or between two pages
            why = str(error)
        pause.wait(0.02)
    raise AssertionError(f"it never came: {said} {why}")


class Driven:
    """A driven. ``send``: a command of WebDriver and its arguments; answers with its value."""

    def __init__(self, send: Callable[[str, dict[str, Any]], Any]) -> None:
        self.send = send

    def goes(self, address: str) -> None:
        self.send("Navigate", {"url": address})

    def asks(self, script: str, *args: Any) -> Any:
        return self.send("ExecuteScript", {"script": script, "args": list(args)})

    def waits(self, script: str, *args: Any) -> Any:
        return until(lambda: self.asks(script, *args), script)

    def clicks(self, selector: str) -> None:
        """By the pointer, on the middle of what is there to be hit."""
        x, y = self.waits(MIDDLE + "return middle(document.querySelector(arguments[0]))", selector)
        self.points(x, y)

    def points(self, x: float, y: float) -> None:
        move = {"type": "pointerMove", "x": round(x), "y": round(y), "origin": "viewport", "duration": 0}
        press = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": [move, *press]}
        self.send("PerformActions", {"actions": [mouse]})

    def presses(self, key: str) -> None:
        strokes = [{"type": kind, "value": KEYS[key]} for kind in ("keyDown", "keyUp")]
        self.send("PerformActions", {"actions": [{"type": "key", "id": "keys", "actions": strokes}]})

    def settled(self, above: int = 0) -> int:
        """The version once a table shows a later one, and what may be done lies over it."""
        return int(
            self.waits("const at = Number(document.body.dataset.settled); return at > arguments[0] && at", above)
        )


MIDDLE = """
  const middle = one => {
    if (!one || one.disabled) return null;
    one.scrollIntoView({ block: "center", inline: "center" });
    const { left, top, width, height } = one.getBoundingClientRect(), x = left + width / 2, y = top + height / 2;
    return one.contains(document.elementFromPoint(x, y)) ? [x, y] : null;
  };
"""


@contextmanager
def running(command: list[str], **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    null = subprocess.DEVNULL
    process = subprocess.Popen(command, env=os.environ | environment, stdin=null, stdout=null, stderr=null)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


@contextmanager
def webkit(folder: Path) -> Iterator[Driven]:
    """WebKitGTK's small browser by its WebDriver, on a screen that nobody sees."""
    port, shown = free_port(), os.pipe()
    with ExitStack() as stack:
        for end in shown:
            stack.callback(os.close, end)
        os.set_inheritable(shown[1], True)
        command = ["Xvfb", "-displayfd", str(shown[1]), "-screen", "0", "1280x1000x24", "-nolisten", "tcp"]
        screen = subprocess.Popen(command, pass_fds=(shown[1],), stderr=subprocess.DEVNULL)
        stack.callback(screen.wait, PATIENCE_S)
        stack.callback(screen.terminate)
        display = f":{os.read(shown[0], 16).decode().strip()}"
        stack.enter_context(running(["WebKitWebDriver", f"--port={port}"], DISPLAY=display, HOME=str(folder)))
        client = stack.enter_context(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S))
        until(lambda: client.get("/status").is_success, "WebKitWebDriver")

        def value(answer: httpx.Response) -> Any:
            found = answer.json()["value"]
            if answer.is_error:
                raise Failed(f"{found['error']}: {found['message']}")
            return found

        session = f"/session/{value(client.post('/session', json={'capabilities': {}}))['sessionId']}"
        stack.callback(client.delete, session)
        yield Driven(lambda name, args: value(client.post(f"{session}/{HTTP[name]}", json=args)))


@contextmanager
def firefox(folder: Path) -> Iterator[Driven]:
    """Firefox without a screen, by its Marionette: messages are a length, a colon and JSON."""
    port, number = free_port(), iter(range(1, 100_000))
    settings = {
        "marionette.port": port,
        "ui.prefersReducedMotion": 1,
        "datareporting.policy.dataSubmissionEnabled": False,
    }
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()]
    (folder / "user.js").write_text("".join(lines))
    program = shutil.which("firefox-esr") or "firefox"
    command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
    with ExitStack() as stack:
        stack.enter_context(running(command, HOME=str(folder)))
        line = stack.enter_context(until(lambda: socket.create_connection(("127.0.0.1", port), PATIENCE_S), program))
        heard = stack.enter_context(line.makefile("rb"))

        def hear() -> Any:
            size = b""
            while (byte := heard.read(1)) != b":":
                size += byte
            return json.loads(heard.read(int(size)))

        def send(name: str, args: dict[str, Any]) -> Any:
            message = json.dumps([0, next(number), f"WebDriver:{name}", args]).encode()
            line.sendall(b"%d:%s" % (len(message), message))
            _, _, wrong, found = hear()
            if wrong:
                raise Failed(f"{wrong['error']}: {wrong['message']}")
            return found.get("value")

        hear()
        send("NewSession", {})
        yield Driven(send)
