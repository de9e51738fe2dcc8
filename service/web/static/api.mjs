// The public API as the pages call it: the cookie goes along by itself, the CSRF header is added here.
import { keepNote } from "./notes.mjs";

export const language = document.documentElement.lang;
/** @type {Record<string, string>} */
export const words = (await import(`./words-${language}.mjs`)).default;
export const me = document.body.dataset.me ?? "";
export const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector("meta[name=csrf]"));
let csrf = meta?.content ?? "";

const plural = new Intl.PluralRules(language);

/** A message with its facts: `{count}`, and `{count:game|games}` for the form that goes with the number.
 * @param {string} name @param {Record<string, string | number>} [facts] */
export const say = (name, facts = {}) =>
  (words[name] ?? name).replace(/\{(\w+)(?::([^|{}]*)\|([^|{}]*))?\}/g, (_, key, one, many) =>
    (one === undefined ? String(facts[key] ?? "") : plural.select(Number(facts[key])) === "one" ? one : many));

/** The name of a game, a hero, ... @param {string | null | undefined} id */
export const term = (id) => (id ? words[`term.${id}`] ?? id : "");

/** @param {string} id @returns {any} */
export const by = (id) => document.getElementById(id);

export const newKey = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;

/** @param {number} ms @returns {Promise<void>} */
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** What the API refused: the message is for people, `problem` its answer. */
export class Refused extends Error {
  /** @param {any} problem @param {number} status @param {number} after When to ask again, in seconds. */
  constructor(problem, status, after) {
    super(problem?.message ?? problem?.detail ?? problem?.title ?? words.failed);
    this.problem = problem ?? {};
    this.status = status;
    this.after = after;
  }
}

/**
 * @param {string} path
 * @param {any} [body] Absent: it is read.
 * @param {{method?: string, headers?: Record<string, string>}} [how]
 * @returns {Promise<any>}
 */
export async function call(path, body, { method, headers } = {}) {
  const address = `${path}${path.includes("?") ? "&" : "?"}lang=${language}`;
  const reads = body === undefined && !method;
  const answer = await fetch(address, reads ? {} : {
    method: method ?? "POST",
    body: body === undefined ? null : JSON.stringify(body),
    headers: { "Content-Type": "application/json", ...(csrf ? { "X-CSRF-Token": csrf } : {}), ...headers },
  });
  const json = (answer.headers.get("Content-Type") ?? "").includes("json");
  const told = json ? await answer.json() : await answer.text();
  if (!reads) keepNote(told?.receipt ?? told?.refusal);
  if (!answer.ok) throw new Refused(json ? told : null, answer.status, Number(answer.headers.get("Retry-After")));
  return told;
}

/** The same, tried again while no answer comes or it says "later": only for what has an Idempotency-Key, or changes nothing.
 * @param {() => Promise<any>} what @param {(lost: boolean) => void} tell @returns {Promise<any>} */
export async function persist(what, tell) {
  for (let tries = 0; ; tries++) {
    try {
      const answer = await what();
      if (tries) tell(false);
      return answer;
    } catch (error) {
      const refused = error instanceof Refused ? error : null, later = refused?.status === 429;
      if (tries === 30 || (refused && !later && refused.status !== 503)) throw error;
      if (!later) tell(true);
      await pause(Math.max(Math.min(250 * 2 ** tries, 4000), later ? 1000 * (refused?.after || 1) : 0));
    }
  }
}

/** Become a player in this browser, if it is none yet. @param {string} name */
export async function enter(name) {
  if (!csrf) csrf = (await call("/session", { name })).csrf;
}

let fading = 0;
/** A short message. @param {unknown} what @param {{href: string, text: string}} [link] */
export function toast(what, link) {
  const box = by("toast");
  box.textContent = what instanceof TypeError ? words.lost : what instanceof Error ? what.message : String(what);
  if (link) box.append(" ", element("a", link.text, { href: link.href }));
  box.hidden = false;
  clearTimeout(fading);
  fading = window.setTimeout(() => { box.hidden = true; }, 7000);
}

/** @param {string} tag @param {string} [text] @param {Record<string, string>} [attributes] @returns {any} */
export function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

/** @param {string} text @param {() => unknown} what @param {string} [look] @returns {HTMLButtonElement} */
export function button(text, what, look = "") {
  const made = element("button", text, { type: "button", class: look });
  made.addEventListener("click", what);
  return made;
}

/** A form can be sent again by who comes back to it: browsers keep the page as it was left, or what was disabled in it.
 * @param {HTMLFormElement} form */
export function sendable(form) {
  const submit = /** @type {HTMLButtonElement} */ (form.querySelector("button.main"));
  submit.disabled = false;
  addEventListener("pageshow", ({ persisted }) => { if (persisted) submit.disabled = false; });
  return submit;
}

/** Let one of several be chosen; undefined: none. @param {string} title @param {string[]} labels @returns {Promise<number | undefined>} */
export function choose(title, labels) {
  const dialog = /** @type {HTMLDialogElement} */ (by("dialog"));
  by("dialog-title").textContent = title;
  dialog.querySelector(".choices")?.replaceChildren(
    ...labels.map((label, number) => element("button", label, { value: String(number) })));
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => done(dialog.returnValue === "" ? undefined : Number(dialog.returnValue)), { once: true });
  });
}

/** Who sits there, as people say it. @param {any} seat */
export function called(seat) {
  if (!seat?.player_id) return words["seat.free"];
  const who = seat.bot ? say("bot", { name: seat.bot.name, level: seat.bot.level }) : seat.name || say("seat", { number: seat.seat });
  return seat.hero ? `${term(seat.hero)} (${who})` : who;
}

/** A game in a list. @param {any} game */
export function card(game) {
  const row = element("li", "", { class: "game" });
  const open = game.status === "open" || game.status === "playing";
  const link = element("a", "", { href: `/games/${game.game_id}${open ? "" : "/replay"}` });
  const who = element("ul", "", { class: "who" });
  const counts = game.effective ?? game, won = counts.outcome?.winners ?? [];
  for (const seat of game.seats) who.append(element("li", called(seat), won.includes(seat.seat) ? { class: "won" } : {}));
  const when = new Date(game.updated_at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
  const state = game.status === "playing" && game.seats.some((/** @type {any} */ seat) => seat.player_id === me && game.to_act.includes(seat.seat))
    ? words["your-turn-short"] : words[counts.ruling ? `effective.${counts.ruling}` : `status.${game.status}`];
  link.append(who, element("span", `${term(game.ruleset.split("@")[0])} · ${state} · ${when}`, { class: "dim" }));
  row.append(link);
  return row;
}

/** Fill a list of games, a page at a time. @param {HTMLElement} list @param {string} query @param {HTMLButtonElement | null} [more] */
export async function games(list, query, more) {
  let cursor = "";
  const page = async () => {
    const { games: rows, next } = await call(`/v1/games?${query}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    if (!cursor) list.replaceChildren();
    list.append(...rows.map(card));
    if (!list.children.length) list.append(element("li", words.none, { class: "dim" }));
    cursor = next ?? "";
    if (more) more.hidden = !cursor;
    return rows;
  };
  more?.addEventListener("click", () => page().catch(toast));
  return page();
}
