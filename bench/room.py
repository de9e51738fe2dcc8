"""``python -m bench.room``: the replay room in Chromium: the first picture, each step of a game of 500 events, weights.

It starts a service of its own and plays a game of 500 events or more into it. A step is timed in the page, from the key
to the DOM that holds the picture (``shown``), and to the next frame after it (``frame``); beside it stands a task that
does nothing, timed the same way, which says how busy the machine is.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
STEP = """async (key) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel(); // its message comes when the frame is drawn
    port1.onmessage = () => done(performance.now());
    port2.postMessage(0);
  }));
  await frame();
  const begun = performance.now();
  if (!key) return { shown: 0, frame: await frame() - begun };
  const before = document.body.dataset.shown;
  let shown = 0;
  const seen = new Promise((done) => new MutationObserver((_, watch) => {
    if (document.body.dataset.shown !== before) { watch.disconnect(); shown = performance.now(); done(); }
  }).observe(document.body, { attributes: true, attributeFilter: ["data-shown"] }));
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  await seen;
  return { shown: shown - begun, frame: await frame() - begun };
}"""
FIRST = """() => {
  const { responseEnd, domContentLoadedEventEnd } = performance.getEntriesByType("navigation")[0];
  const painted = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN;
  return { html: responseEnd, painted, ready: domContentLoadedEventEnd, shown: window.ready };
}"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.room", description=__doc__)
    parser.add_argument("--steps", type=int, default=200, help="steps forward, and as many back")
    parser.add_argument("--pause", type=int, default=150, help="milliseconds between two steps, as a person reads")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "said")
        command = [
            sys.executable,
            "-m",
            "service",
            "serve",
            "--port",
            "0",
            "--workers",
            "1",
            "--data",
            folder + "/data",
        ]
        with said.open("w") as out:
            service = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            measure(address(service, said), asked.steps, asked.pause)
        finally:
            service.terminate()
            service.wait(30)


def address(service: "subprocess.Popen[bytes]", said: Path) -> str:
    """Where the service listens, once it does."""
    while "Ctrl-C" not in said.read_text():
        assert service.poll() is None, said.read_text()
        time.sleep(0.1)
    return next(word for word in said.read_text().split() if word.startswith("http://")).rstrip("/")


def measure(server: str, steps: int, pause: int) -> None:
    """Print the figures."""
    from playwright.sync_api import sync_playwright

    game = longest(server)
    print(f"game of {game['version']} events, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        weight: dict[str, int] = {}
        page.on("requestfinished", lambda request: weight.update({request.url: request.sizes()["responseBodySize"]}))
        for round_, path in enumerate(["/replay"] * 4 + ["/at/400"] * 3):
            page.goto("about:blank")
            weight.clear()
            page.goto(f"{server}/games/{game['game_id']}{path}")
            page.wait_for_function("() => document.body.dataset.shown")
            first = page.evaluate(FIRST)
            kept = "" if round_ else " (nothing kept)"
            print(
                f"{path}{kept}: html {first['html']:.0f} ms, first paint, with its picture, {first['painted']:.0f} ms; "
                f"{sum(weight.values()) / 1000:.1f} kB in {len(weight)} answers"
            )
        page.wait_for_timeout(1000)
        cdp = page.context.new_cdp_session(page)
        cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
        for kind in ("event", "happening"):
            page.goto(f"{server}/games/{game['game_id']}/at/250")
            page.wait_for_function("() => document.body.dataset.shown")
            page.select_option("#by", kind)
            page.wait_for_timeout(1000)
            for key in ("ArrowRight", "ArrowLeft", ""):
                times: list[dict[str, float]] = []
                before = spent(cdp)
                for _ in range(steps if key else 50):
                    times.append(page.evaluate(STEP, key))
                    page.wait_for_timeout(pause)
                name = f"step by {kind}, {key}" if key else "nothing done"
                each = {part: (much - before[part]) * 1000 / len(times) for part, much in spent(cdp).items()}
                work = ", ".join(f"{part} {much:.1f}" for part, much in each.items())
                print(f"{name}: {told(times, 'shown')}; {told(times, 'frame')}; processor of the page, ms each: {work}")
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f}")


def spent(cdp: Any) -> dict[str, float]:
    """Seconds of a processor that the page's main thread has used: in all, for scripts, styles and layout."""
    metrics = {one["name"]: one["value"] for one in cdp.send("Performance.getMetrics")["metrics"]}
    return {part: metrics[f"{part}Duration"] for part in ("Task", "Script", "RecalcStyle", "Layout")}


def told(times: list[dict[str, float]], which: str) -> str:
    values = sorted(one[which] for one in times)
    return f"{which} median {statistics.median(values):.1f}, 95th {values[int(len(values) * 0.95)]:.1f} ms"


def longest(server: str) -> dict[str, Any]:
    """The longest finished game of the demo, once there is one of 500 events."""
    while True:
        with urllib.request.urlopen(f"{server}/v1/games?status=finished&limit=100") as answer:
            games = json.load(answer)["games"]
        game: dict[str, Any] = max(games, key=lambda one: one["version"], default={"version": 0})
        if game["version"] >= 500:
            return game
        time.sleep(1)


if __name__ == "__main__":
    main()
