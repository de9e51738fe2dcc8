// The replay room: any position of a game. It asks for nothing that lies behind the position shown.
import { by, call, drawing, element, say, toast, words } from "./api.mjs";

const id = document.body.dataset.game, game = `/v1/games/${id}`;
const scrubber = by("scrubber");
let at = Number(document.body.dataset.at), end = 0, wanted = at, working = false, timer = 0;

/** @param {number} to */
async function go(to) {
  wanted = Math.max(0, Math.min(end, to));
  if (working) return;
  working = true;
  try {
    do { at = wanted; await draw(at); } while (wanted !== at);
  } catch (error) { stop(); toast(error); }
  working = false;
}

/** @param {number} here */
async function draw(here) {
  const after = Math.max(0, here - 100);
  const [svg, page] = await Promise.all([call(`${game}/positions/${here}.svg`), call(`${game}/replay?at=${here}&after=${after}`)]);
  by("picture").replaceChildren(drawing(svg));
  scrubber.value = String(here);
  scrubber.setAttribute("aria-valuetext", say("moment", { number: here }));
  history.replaceState(null, "", `/games/${id}/at/${here}`);
  by("status").textContent = [say("moment", { number: here }), page.steps.at(-1)?.words].filter(Boolean).join(" · ");
  by("log").start = after + 1;
  by("log").replaceChildren(...page.steps.map((/** @type {any} */ step, /** @type {number} */ number) => jump(step.words, after + number + 1)));
  by("log").scrollTop = by("log").scrollHeight;
  by("chapters").replaceChildren(...page.chapters.map((/** @type {any} */ one) => jump(one.words ?? one.title ?? one.kind, one.at ?? one.version ?? one.start)));
}

/** @param {string} text @param {number} to */
function jump(text, to) {
  const line = document.createElement("li"), button = element("button", text);
  button.addEventListener("click", () => go(to));
  line.append(button);
  return line;
}

function stop() {
  clearInterval(timer);
  timer = 0;
  by("run").textContent = words.run;
}
function run() {
  if (timer) { stop(); return; }
  by("run").textContent = words.stop;
  timer = window.setInterval(() => { if (wanted >= end) stop(); else if (!working) go(at + 1); }, 700);
}

by("first").addEventListener("click", () => go(0));
by("back").addEventListener("click", () => go(wanted - 1));
by("forward").addEventListener("click", () => go(wanted + 1));
by("run").addEventListener("click", run);
scrubber.addEventListener("input", () => go(Number(scrubber.value)));
document.addEventListener("keydown", (event) => {
  const inside = /** @type {Element} */ (event.target);
  if (inside.matches("input:not([type=range]), select") || (event.key === " " && inside.matches("button, a"))) return;
  /** @type {Record<string, () => void>} */
  const keys = { ArrowLeft: () => go(wanted - 1), ArrowRight: () => go(wanted + 1), Home: () => go(0), End: () => go(end), " ": run };
  const does = keys[event.key];
  if (does) { event.preventDefault(); does(); }
});

try {
  end = (await call(game)).version;
  scrubber.max = String(end);
  await go(at);
} catch (error) { toast(error); }
