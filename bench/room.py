"""``python -m bench.room``: the replay room in Chromium: the first picture, each step of a game of 500 events, weights.

It starts a service of its own and plays a game of 500 events or more into it. A step is timed in the page, from the key
to the DOM that holds the picture (``shown``), and to the next frame after it (``frame``); beside it stands a task that
does nothing, timed the same way, which says how busy the machine is.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench.browser import launched
from bench.servers import Served, served

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
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), "--workers", "1") as service:
        measure(service, asked.steps, asked.pause)


def measure(service: Served, steps: int, pause: int) -> None:
    """Print the figures."""
    from playwright.sync_api import sync_playwright

    server, game = service.address, service.until(lambda: longest(service), 600)
    print(f"game of {game['version']} events, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with sync_playwright() as playwright:
        browser = launched(playwright)
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
                f"{sum(size for size in weight.values() if size > 0) / 1000:.1f} kB in {len(weight)} answers"
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


def longest(service: Served) -> dict[str, Any] | None:
    """The longest finished game of the demo, once there is one of 500 events."""
    game: dict[str, Any] = max(service.finished(), key=lambda one: one["version"], default={"version": 0})
    return game if game["version"] >= 500 else None


if __name__ == "__main__":
    main()
