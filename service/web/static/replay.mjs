// The replay room: any position of a game, with nothing told of what comes after it unless that is asked for.
import { by, call, choose, element, me, say, toast, words } from "./api.mjs";
import { Picture } from "./picture.mjs";

const id = document.body.dataset.game;
const api = `/v1/games/${id}`;
const picture = new Picture(by("map"), by("panel"));
const PARTS = ["turn", "level", "fight"];
const FIRST = 1, BASE_MS = 900, LONGEST_MS = 4000; // position 0 is before there was a table: nothing to see

/** Every step of the game; what lies behind `seen` is shown only to who asked for it. @type {any[]} */
let steps = [];
/** @type {any[]} */
let chapters = [];
let at = -1, end = FIRST, seen = FIRST, wanted = 0, drawing = false, timer = 0;

const spoiled = () => by("spoilers").checked;
const reach = () => (spoiled() ? end : seen);

async function load() {
  for (let after = 0; ; ) {
    const page = await call(`${api}/replay?after=${after}&limit=500&spoilers=1`);
    steps.push(...page.steps);
    chapters = page.chapters;
    end = page.length;
    if (page.next === null || page.next <= after) break;
    after = page.next;
  }
}

/** Go to a position: the last one asked for is shown, whatever was asked for in between. @param {number} to */
async function go(to) {
  wanted = Math.max(FIRST, Math.min(end, to));
  if (drawing) return;
  drawing = true;
  try {
    while (at !== wanted) {
      const next = wanted;
      const svg = await call(`${api}/positions/${next}.svg`);
      picture.show(svg, Math.abs(next - at) === 1 && at >= 0);
      at = next;
      seen = Math.max(seen, at);
      tell();
    }
    for (const near of [at + 1, at + 2]) if (near <= end) void call(`${api}/positions/${near}.svg`).catch(() => {}); // kept by the browser
  } catch (error) { stop(); toast(error); } finally { drawing = false; }
}

function tell() {
  const now = steps.filter((step) => step.version === at), rules = new Set(now.map((step) => step.rule).filter(Boolean));
  by("said").textContent = now.map((step) => step.words).join(" ");
  by("cited").replaceChildren(...[...rules].map((rule) => element("a", say("rule", { number: rule }), { href: `${by("cited").dataset.rules}#${rule}` })));
  const scrubber = by("scrubber");
  scrubber.max = String(reach());
  scrubber.value = String(at);
  scrubber.setAttribute("aria-valuetext", say("moment", { number: at }));
  by("number").textContent = spoiled() ? `${at} / ${end}` : String(at);
  history.replaceState(null, "", `/games/${id}/at/${at}`);
  by("forward").disabled = by("run").disabled = at >= end;
  by("back").disabled = by("first").disabled = at <= FIRST;
  by("last").disabled = at >= reach();
  lists();
}

/** Up to which position each list tells. */
let listed = 0;
function lists() {
  const limit = reach();
  for (const [list, all, label] of /** @type {[HTMLElement, any[], string][]} */ ([[by("log"), steps, "words"], [by("chapters"), chapters, "title"]])) {
    if (limit < listed) list.replaceChildren();
    const from = limit < listed ? 0 : listed;
    list.append(...all.filter((one) => one.version > from && one.version <= limit).map((one) => jump(one[label], one.version)));
  }
  listed = limit;
  for (const list of [by("log"), by("chapters")]) {
    const buttons = /** @type {HTMLButtonElement[]} */ ([...list.querySelectorAll("button")]);
    const here = buttons.filter((one) => Number(one.dataset.at) <= at).at(-1);
    const before = list.querySelector("[aria-current]");
    if (here === before) continue;
    before?.removeAttribute("aria-current");
    if (!here) continue;
    here.setAttribute("aria-current", "step");
    list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
  }
}

/** Offer to step by whatever parts the game has. */
function parts() {
  const kinds = new Set(chapters.map((chapter) => chapter.kind));
  by("by").append(...PARTS.filter((kind) => kinds.has(kind)).map((kind) => new Option(words[`by.${kind}`], kind)));
}

/** @param {string} text @param {number} to */
function jump(text, to) {
  const line = element("li"), made = element("button", text, { type: "button", "data-at": String(to) });
  made.addEventListener("click", () => { stop(); go(to); });
  line.append(made);
  return line;
}

/** Where the next stop is, one way or the other. @param {number} way */
function stopAt(way) {
  const kind = by("by").value;
  if (kind === "event") return wanted + way;
  const found = chapters.filter((chapter) => chapter.kind === kind).map((chapter) => chapter.version);
  const next = way > 0 ? found.find((version) => version > wanted) : found.filter((version) => version < wanted).at(-1);
  return next ?? (way > 0 ? end : FIRST);
}

// -- playing ---------------------------------------------------------------------------------------------------------

function stop() {
  clearTimeout(timer);
  timer = 0;
  by("run").textContent = "▶";
  by("run").setAttribute("aria-label", words.run);
}

function run() {
  if (timer) { stop(); return; }
  by("run").textContent = "⏸";
  by("run").setAttribute("aria-label", words.stop);
  const step = async () => {
    await go(stopAt(1));
    if (!timer) return;
    if (at >= end) { stop(); return; }
    timer = window.setTimeout(step, gap());
  };
  timer = window.setTimeout(step, 0);
}

/** How long a position is shown: as long as it was at the table, idle gaps squeezed, or evenly. */
function gap() {
  const speed = by("speed").value;
  if (speed !== "real") return BASE_MS / Number(speed);
  const times = [at, at + 1].map((version) => steps.find((step) => step.version === version)?.at).map((time) => Date.parse(time ?? ""));
  const took = times[1] - times[0];
  return Number.isFinite(took) ? Math.max(200, Math.min(took, LONGEST_MS)) : BASE_MS;
}

by("first").addEventListener("click", () => { stop(); go(FIRST); });
by("back").addEventListener("click", () => { stop(); go(stopAt(-1)); });
by("forward").addEventListener("click", () => { stop(); go(stopAt(1)); });
by("last").addEventListener("click", () => { stop(); go(reach()); });
by("run").addEventListener("click", run);
by("scrubber").addEventListener("input", () => { stop(); go(Number(by("scrubber").value)); });
by("spoilers").addEventListener("change", tell);
by("share").addEventListener("click", async () => {
  const address = `${location.origin}/games/${id}/at/${at}`;
  try { await navigator.clipboard.writeText(address); toast(words.copied); } catch { toast(address); }
});
by("fork")?.addEventListener("click", async () => {
  if (!me) { toast(words["fork.guest"], { href: "/", text: words.lobby }); return; }
  if (await choose(say("fork.sure", { number: at }), [words.fork]) !== 0) return;
  try { location.assign(`/games/${(await call(`${api}/forks`, { version: at })).game_id}`); } catch (error) { toast(error); }
});
document.addEventListener("keydown", (event) => {
  const inside = /** @type {Element} */ (event.target);
  if (event.altKey || event.ctrlKey || event.metaKey || inside.matches("select, input:not([type=range])") || inside.closest("dialog")) return;
  if (event.key === " " && inside.matches("button, a, summary")) return;
  /** @type {Record<string, () => unknown>} */
  const keys = {
    ArrowLeft: () => { stop(); return go(stopAt(-1)); },
    ArrowRight: () => { stop(); return go(stopAt(1)); },
    Home: () => { stop(); return go(FIRST); },
    End: () => { stop(); return go(reach()); },
    " ": run,
  };
  const does = keys[event.key];
  if (does) { event.preventDefault(); does(); }
});

try {
  await load();
  parts();
  const asked = document.body.dataset.at;
  seen = Math.max(FIRST, Math.min(end, Number(asked ?? FIRST)));
  const begins = steps.find((step) => step.happening)?.version ?? FIRST; // the first position with a map
  await go(asked === undefined ? begins : seen);
} catch (error) { toast(error); }
