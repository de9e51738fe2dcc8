// The replay room: any position of a game, with nothing told of what comes after it unless that is asked for.
import { by, call, choose, element, language, me, say, toast, words } from "./api.mjs";
import { Picture, read } from "./picture.mjs";

const { game: id, at: asked, begins } = document.body.dataset;
const api = `/v1/games/${id}`;
const picture = new Picture(by("map"), by("panel"));
const FIRST = 1, BASE_MS = 900, LONGEST_MS = 4000; // position 0 is before there was a table: nothing to see
const AHEAD = 12, STRETCH = 16, MOST = 500, KEPT = 40, ADDRESS_MS = 350;

/** The steps of each event that was told of, by version. @type {Map<number, any[]>} */
const told = new Map();
/** From which event on everything was told, and up to which. */
let from = 1, upto = 0;
/** The last event, once it is known; shown only to who asked for what comes later. */
let last = Infinity;
/** @type {any[]} */
let chapters = [];
/** @type {any[]} */
let moments = [];
/** Where we are: after event `at`, of whose happenings `part` are told; `way`: which way we came. */
let at = -1, part = 0, seen = FIRST, drawing = false, timer = 0, way = 1;
let wanted = { at: FIRST, part: Infinity };

const spoiled = () => by("spoilers").checked;
const reach = () => (spoiled() && last < Infinity ? last : seen);
const stepping = () => by("by").value;
/** @param {number} version */
const parts = (version) => told.get(version)?.length || 1;

// -- what is told ----------------------------------------------------------------------------------------------------

/** @type {Promise<unknown>} */
let loading = Promise.resolve();
/** Load after event `after` at most `limit` events. @param {number} after @param {number} limit @param {boolean} [all] */
async function load(after, limit, all = false) {
  const page = await call(`${api}/replay?after=${after}&limit=${limit}${all ? "&spoilers=1" : ""}`);
  for (const step of page.steps) told.set(step.version, [...(step.index === 1 ? [] : told.get(step.version) ?? []), step]);
  const until = Math.min(after + limit, all ? page.length : page.position);
  if (all) last = page.length;
  else if (until < after + limit) last = until;
  if (after <= upto && until > upto) upto = until;
  if (after < from) from = after + 1;
  if (all || page.position >= upto) ({ chapters, moments } = page);
}

/** Know what is told up to an event, and a little more; one request at a time. @param {number} version */
function know(version) {
  loading = loading.catch(() => {}).then(async () => {
    while (upto < version && upto < last) await load(upto, Math.max(STRETCH, Math.min(version - upto, MOST)));
  });
  return loading;
}

/** What came before the first event that was told of: for the narration, when there is time. */
async function before() {
  while (from > 1) {
    const after = Math.max(0, from - 1 - MOST), limit = from - 1 - after;
    await load(after, limit);
    relist();
  }
}

let whole = false;
/** Know everything, for who wants to know what comes later. */
function all() {
  loading = loading.catch(() => {}).then(async () => {
    while (upto < last || last === Infinity) await load(upto, MOST, true);
    if (!whole) await load(last - 1, 1, true);
    whole = true;
  });
  return loading;
}

/** As far as one may go. */
async function end() {
  if (spoiled()) await all();
  return go(reach());
}

// -- pictures --------------------------------------------------------------------------------------------------------

/** Pictures that were read, the least lately used first. @type {Map<string, Promise<SVGSVGElement>>} */
const pictures = new Map();
/** @param {number} version @param {number} some How many happenings are told. */
function drawn(version, some) {
  const key = `${version}.svg${some < parts(version) ? `?step=${some}` : ""}`;
  let found = pictures.get(key);
  if (found) pictures.delete(key);
  else {
    found = call(`${api}/positions/${key}`).then(read);
    found.catch(() => pictures.delete(key));
  }
  pictures.set(key, found);
  if (pictures.size > KEPT) pictures.delete([...pictures.keys()][0]);
  return found;
}

/** Have at hand what is likely to be asked for next: further that way. */
function foresee() {
  for (const [direction, far] of [[way, 4], [-way, 1]]) {
    for (let i = 0, next = { at, part }; i < far; i++) {
      next = neighbour(next, direction);
      if (next.at < FIRST || next.at > Math.min(upto, last)) break;
      void drawn(next.at, next.part).catch(() => {});
    }
  }
  if (upto - at < AHEAD && upto < last) void know(at + STRETCH).catch(() => {});
}

// -- going -----------------------------------------------------------------------------------------------------------

/** Go to a position: the last one asked for is shown, whatever was asked for in between. @param {number} to @param {number} [some] */
async function go(to, some = Infinity) {
  wanted = { at: Math.max(FIRST, Math.min(last, to)), part: some };
  if (drawing) return;
  drawing = true;
  try {
    while (at !== wanted.at || part !== Math.min(wanted.part, parts(wanted.at))) {
      let next = wanted;
      if (next.at > upto && upto < last) {
        await know(next.at + AHEAD);
        next.at = Math.min(next.at, last);
      }
      const all = parts(next.at), told = Math.min(next.part, all), svg = await drawn(next.at, told);
      if (next !== wanted) continue;
      way = next.at < at ? -1 : 1;
      const single = at > 0 && Math.abs(next.at - at) <= 1;
      picture.show(svg, single, single ? named(next.at, told) : []);
      [at, part] = [next.at, told];
      seen = Math.max(seen, at);
      tell();
    }
  } catch (error) { stop(); toast(error); } finally { drawing = false; }
}

/** The ids of what a happening names, where one is told at a time. @param {number} version @param {number} some @returns {string[]} */
function named(version, some) {
  if (stepping() !== "happening") return [];
  const step = told.get(version)?.[some - 1], found = new Set();
  /** @param {unknown} what */
  const look = (what) => {
    if (typeof what === "string") found.add(/^-?\d+,-?\d+$/.test(what) ? `tile-${what.replace(",", "-")}` : what);
    else if (what && typeof what === "object") for (const [key, value] of Object.entries(what)) { look(key); look(value); }
  };
  look(step?.happening);
  if (step?.seat) found.add(`panel-${step.seat}`);
  return [...found].filter((one) => /^(tile|die|party|dungeon|temp|panel)-/.test(one));
}

/** The stop beside a position, by the smallest steps. @param {{at: number, part: number}} one @param {number} way */
function neighbour(one, way) {
  if (stepping() === "happening") {
    const some = Math.min(one.part, parts(one.at)) + way;
    if (some >= 1 && some <= parts(one.at)) return { at: one.at, part: some };
    if (way > 0) return { at: one.at + 1, part: 1 };
  }
  return { at: one.at + way, part: Infinity };
}

/** Where the next stop is, one way or the other. @param {number} way */
async function step(way) {
  const kind = stepping();
  if (kind === "event" || kind === "happening") {
    const next = neighbour(wanted, way);
    return next.at > last || next.at < FIRST ? undefined : go(next.at, next.part);
  }
  const stops = () => chapters.filter((chapter) => chapter.kind === kind).map((chapter) => chapter.version);
  if (way < 0) return go(stops().filter((version) => version < wanted.at).at(-1) ?? FIRST);
  let next;
  while ((next = stops().find((version) => version > wanted.at)) === undefined && upto < last) await know(upto + STRETCH);
  return go(next ?? last);
}

// -- telling ---------------------------------------------------------------------------------------------------------

function tell() {
  const steps = told.get(at) ?? [], one = stepping() === "happening" ? steps.slice(part - 1, part) : steps.slice(0, part);
  by("said").textContent = one.map((step) => step.words).join(" ");
  const rules = new Set(one.map((step) => step.rule).filter(Boolean));
  by("cited").replaceChildren(...[...rules].map((rule) => element("a", say("rule", { number: rule }), { href: `${by("cited").dataset.rules}#${rule}` })));
  const scrubber = by("scrubber"), done = part === parts(at);
  scrubber.max = String(reach());
  scrubber.value = String(at);
  scrubber.setAttribute("aria-valuetext", say("moment", { number: at }));
  by("number").textContent = (spoiled() && last < Infinity ? `${at} / ${last}` : String(at)) + (done ? "" : ` · ${part}`);
  by("when").textContent = when();
  by("forward").disabled = by("run").disabled = at >= last && done;
  by("back").disabled = by("first").disabled = at <= FIRST;
  by("last").disabled = at >= reach() && done;
  addressed();
  document.body.dataset.shown = done ? String(at) : `${at}.${part}`;
  clearTimeout(after);
  after = window.setTimeout(afterwards, 0);
}

let naming = 0;
/** The address names the position, now and then: Safari throws where it is changed more than a hundred times in ten or thirty seconds. */
function addressed() {
  const address = `/games/${id}/at/${at}`;
  if (naming || location.pathname + location.search === address) return;
  history.replaceState(null, "", address);
  naming = window.setTimeout(() => { naming = 0; addressed(); }, ADDRESS_MS);
}

let after = 0;
/** What can wait until the picture is seen. */
function afterwards() {
  foresee();
  by("dispute").href = `/games/${id}/audit?event=${at}`;
  lists();
  clearTimeout(fortune);
  if (by("luck").open) fortune = window.setTimeout(luck, 600);
}

let fortune = 0;
/** The luck of every seat, as far as may be told. */
function luck() {
  const address = `${api}/luck.svg?at=${reach()}&lang=${language}`, shown = by("luck").querySelector("img");
  if (shown) shown.src = address;
  else by("luck").append(element("img", "", { src: address, alt: words.luck }));
}

/** When it was played, and what was left out of the waiting. */
function when() {
  const [then, now] = [at - 1, at].map((version) => Date.parse(told.get(version)?.[0]?.at ?? ""));
  if (!Number.isFinite(now)) return "";
  const minutes = Math.round((now - then) / 60_000);
  const unit = minutes < 120 ? [minutes, "minute"] : minutes < 2880 ? [Math.round(minutes / 60), "hour"] : [Math.round(minutes / 1440), "day"];
  const gap = minutes >= 1 ? say("later", { time: new Intl.NumberFormat(language, { style: "unit", unit: String(unit[1]), unitDisplay: "long" }).format(Number(unit[0])) }) : "";
  return [new Date(now).toLocaleTimeString(language), gap].filter(Boolean).join(" · ");
}

/** @typedef {{version: number, part: number, button: HTMLButtonElement}} Line */
/** The narration, as far as it may be told. @type {Line[]} */
let log = [];
/** Up to which event the narration tells. */
let listed = 0;

function relist() {
  log = [];
  listed = 0;
  by("log").replaceChildren();
  lists();
}

function lists() {
  const limit = Math.min(reach(), upto);
  if (limit < listed) return relist();
  if (limit > listed) {
    const fresh = [];
    for (let version = Math.max(listed + 1, from); version <= limit; version++) {
      for (const step of told.get(version) ?? []) fresh.push(jump(step.words, version, step.index));
    }
    log.push(...fresh);
    by("log").append(...fresh.map((line) => line.button.parentElement ?? line.button));
    listed = limit;
  }
  here(by("log"), log);
  for (const [list, all] of /** @type {[HTMLElement, any[]][]} */ ([[by("chapters"), chapters], [by("moments"), moments]])) {
    const open = list.dataset.whole !== undefined || spoiled();
    const may = open ? all : all.filter((one) => one.version <= seen);
    const rows = /** @type {any} */ (list);
    if (rows.told !== may.length + String(open)) {
      rows.lines = may.map((one) => jump(one.title, one.version, Infinity));
      list.replaceChildren(...rows.lines.map((/** @type {Line} */ line) => line.button.parentElement));
      rows.told = may.length + String(open);
    }
    here(list, rows.lines ?? []);
  }
}

/** Let a list show where we are. @param {HTMLElement} list @param {Line[]} all */
function here(list, all) {
  let low = 0, high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1, line = all[middle];
    if (line.version < at || (line.version === at && (line.part <= part || line.part === Infinity))) low = middle + 1; else high = middle;
  }
  const now = all[low - 1]?.button, was = list.querySelector("[aria-current]");
  if (now === was) return;
  was?.removeAttribute("aria-current");
  if (!now) return;
  now.setAttribute("aria-current", "step");
  list.scrollTop = now.offsetTop - list.offsetTop - list.clientHeight / 2;
}

/** @param {string} text @param {number} to @param {number} some @returns {Line} */
function jump(text, to, some) {
  const line = element("li"), button = element("button", text, { type: "button", "data-at": String(to) });
  button.addEventListener("click", () => { stop(); go(to, stepping() === "happening" ? some : Infinity); });
  line.append(button);
  return { version: to, part: some, button };
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
  const play = async () => {
    await step(1);
    if (!timer) return;
    if (at >= last && part === parts(at)) { stop(); return; }
    timer = window.setTimeout(play, gap());
  };
  timer = window.setTimeout(play, 0);
}

/** How long a position is shown: as long as it was at the table, idle gaps squeezed, or evenly. */
function gap() {
  const speed = by("speed").value;
  if (speed !== "real") return BASE_MS / Number(speed);
  if (part < parts(at)) return BASE_MS;
  const times = [at, at + 1].map((version) => Date.parse(told.get(version)?.[0]?.at ?? ""));
  const took = times[1] - times[0];
  return Number.isFinite(took) ? Math.max(200, Math.min(took, LONGEST_MS)) : BASE_MS;
}

by("first").addEventListener("click", () => { stop(); go(FIRST); });
by("back").addEventListener("click", () => { stop(); step(-1); });
by("forward").addEventListener("click", () => { stop(); step(1); });
by("last").addEventListener("click", () => { stop(); end().catch(toast); });
by("run").addEventListener("click", run);
by("by").addEventListener("change", tell);
by("scrubber").addEventListener("input", () => { stop(); go(Number(by("scrubber").value)); });
by("spoilers").addEventListener("change", async () => {
  try { if (spoiled()) await all(); tell(); } catch (error) { toast(error); }
});
by("luck").addEventListener("toggle", () => { if (by("luck").open) luck(); });
by("all-moments")?.addEventListener("click", async () => {
  try {
    ({ moments } = await call(`${api}/replay?limit=1&spoilers=1`));
    by("moments").dataset.whole = "";
    by("all-moments").hidden = true;
    lists();
  } catch (error) { toast(error); }
});
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
    ArrowLeft: () => { stop(); return step(-1); },
    ArrowRight: () => { stop(); return step(1); },
    Home: () => { stop(); return go(FIRST); },
    End: () => { stop(); end().catch(toast); },
    " ": run,
  };
  const does = keys[event.key];
  if (does) { event.preventDefault(); does(); }
});

try {
  const shown = Math.max(FIRST, Number(asked ?? begins)), there = /** @type {SVGSVGElement | null} */ (by("map").querySelector("svg"));
  if (there) { // the page came with its picture
    picture.show(there, false);
    at = seen = shown;
    part = Infinity;
  }
  from = Math.max(0, shown - AHEAD) + 1;
  upto = from - 1;
  wanted = { at: shown, part: Infinity };
  await know(shown + AHEAD);
  if (there) {
    part = parts(at);
    tell();
  } else await go(shown);
  await before();
  lists();
} catch (error) { toast(error); }
