// The table: the picture with its targets, whose turn it is, what happened, as it happens.
import { button, by, call, called, calm, choose, element, language, me, newKey, pause, persist, say, term, toast, words, Refused } from "./api.mjs";
import { Builder } from "./build.mjs";
import { Keeper } from "./keeper.mjs";
import { Picture } from "./picture.mjs";

const id = document.body.dataset.game;
const api = `/v1/games/${id}`;
const creator = document.body.dataset.creator === "1";
const picture = new Picture(by("map"), by("panel")), keeper = new Keeper(id ?? "");
const builder = new Builder({ forms: by("forms"), picked: by("picked"), quick: by("quick") }, picture, (action) => act(action));
const TOLD = 80, PACE_MS = 430, JUMP = 12, CHECK_MS = 1000, LOOK_MS = 10_000;

/** @type {any} */
let game;
/** What may be done now. @type {any} */
let may = { seat: null, actions: [], choices: [], refused: [] };
let shown = -1, newest = 0, told = 0;
let working = false, busy = false;

/** @param {boolean} lost */
const tellLost = (lost) => { by("lost").hidden = !lost; };
const mine = () => game.seats.filter((/** @type {any} */ seat) => me && seat.player_id === me && !seat.bot).map((/** @type {any} */ seat) => seat.seat);

// -- showing ---------------------------------------------------------------------------------------------------------

/** Show what is newer than what is shown, a step at a time, then lay over it what may be done. */
async function catchUp() {
  if (working) return;
  working = true;
  try {
    do {
      while (shown < newest) {
        const jump = shown < 0 || calm || document.hidden || newest - shown > JUMP;
        await draw(jump ? newest : shown + 1);
        if (!jump && shown < newest) await pause(PACE_MS);
      }
      await settle();
    } while (shown < newest);
  } catch (error) {
    toast(error);
  } finally {
    working = false;
  }
}

/** @param {number} version */
async function draw(version) {
  const svg = await persist(() => call(`${api}/positions/${version}.svg`), tellLost);
  const focused = document.activeElement?.id ?? "";
  const inside = by("map").contains(document.activeElement) || by("panel").contains(document.activeElement);
  picture.show(svg, shown >= 0);
  shown = version;
  delete document.body.dataset.settled;
  if (inside) { refocus = focused; by("map").focus({ preventScroll: true }); }
}
let refocus = "";

async function settle() {
  game = await persist(() => call(api), tellLost);
  const playing = game.status === "playing" && mine().length > 0;
  may = playing ? await persist(() => call(`${api}/actions`), tellLost) : { seat: null, actions: [], choices: [], refused: [], version: game.version };
  newest = Math.max(newest, game.version, may.version);
  if (shown < newest) return;
  if (await vouched()) return;
  lay();
  tell();
  if (refocus) picture.find(refocus)?.focus({ preventScroll: true });
  refocus = "";
  check();
  document.body.dataset.settled = String(shown); // all that is to be seen is shown, and what may be done lies over it
}

/** What a seat that signs does by itself: reveal its link, vouch for the end. Was something done? */
async function vouched() {
  const own = mine();
  await keeper.resume(game, own);
  /** @type {[string, "reveal" | "signoff", number[]][]} */
  const due = [["reveal", "reveal", game.to_reveal], ["signoff", "signoff", game.to_sign_off]];
  for (const [path, kind, seats] of due) {
    const number = own.find((/** @type {number} */ seat) => seats.includes(seat) && keeper.signs(seat) && !keeper.lacks(seat));
    if (number === undefined || !turn(kind, seats.indexOf(number))) continue;
    try {
      newest = Math.max(newest, (await call(`${api}/${path}`, await keeper.signed(number, kind))).version);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 412) throw error;
      newest = Math.max(newest, error.problem.version); // another seat was faster: sign anew
    }
    return true;
  }
  return false;
}

const PATIENCE_MS = 1500;
let asked = "", patient = "";
/** Seats sign one after the other, so that none is stale; who waits for one that is away goes on after a while.
 * @param {string} kind @param {number} place */
function turn(kind, place) {
  const now = `${kind} ${game.version}`;
  if (!place || patient === now) return true;
  if (asked !== now) setTimeout(() => { patient = now; catchUp(); }, PATIENCE_MS * place);
  asked = now;
  return false;
}

let checking = 0;
/** What this browser checked, told a little later, of several events at once: nothing waits for it. */
function check() {
  checking ||= window.setTimeout(() => {
    checking = 0;
    keeper.mark().then((mark) => by("checked").replaceChildren(mark)).catch(() => {}); // the connection is lost: the next event asks again
  }, CHECK_MS);
}

/** Lay over the picture what may be done or picked, and what is refused with its reason. */
function lay() {
  builder.show(may);
  /** @type {Map<string, any[]>} */
  const targets = new Map();
  for (const one of may.actions) if (!builder.holds(one.target)) targets.set(one.target, [...(targets.get(one.target) ?? []), one]);
  /** What stands on a tile that may be clicked lets the pointer through: the tile then offers both. @param {string} target */
  const lies = (target) => targets.get(picture.under(target) ?? "");
  /** @type {Map<string, any[]>} */
  const both = new Map(targets);
  for (const [target, offers] of targets) {
    const tile = picture.under(target) ?? "";
    if (targets.has(tile)) both.set(tile, [...(both.get(tile) ?? []), ...offers]);
  }
  for (const [target, offers] of both) {
    const own = targets.get(target) ?? offers;
    picture.target(target, own.map((one) => one.label).join(" / "), true, () => offered(offers), Boolean(lies(target)));
  }
  for (const one of may.refused) {
    if (!targets.has(one.target) && !builder.holds(one.target)) picture.target(one.target, one.message, false, () => refuse(one), Boolean(lies(one.target)));
  }
  by("actions").replaceChildren(...may.actions.map((/** @type {any} */ one) => button(one.label, () => act(one.action))));
}

/** @param {any[]} offers */
async function offered(offers) {
  const which = offers.length === 1 ? 0 : await choose(words["choose-one"], offers.map((one) => one.label));
  if (which !== undefined) await act(offers[which].action);
}

/** @param {any} one */
function refuse(one) {
  toast(one.message, one.rule ? { href: `/rules/${game.ruleset}#${one.rule}`, text: say("rule", { number: one.rule }) } : undefined);
}

// -- saying ----------------------------------------------------------------------------------------------------------

function tell() {
  const moves = picture.find("moves")?.querySelector("title")?.textContent ?? "";
  const acting = game.to_act[0];
  const next = may.actions.find((/** @type {any} */ one) => one.target === "next");
  const later = may.refused.find((/** @type {any} */ one) => one.target === "next");
  const buttons = [];
  let status = "", hint = "";
  if (game.status === "open") status = game.to_reveal.length ? words["keys.revealing"] : words.waiting;
  else if (game.status === "playing" && may.actions.length) {
    status = say("your-turn", { name: called(game.seats[may.seat - 1]) });
    hint = next ? moves : [moves, later ? say("next.later", { why: later.message }) : ""].filter(Boolean).join(" · ");
    if (next) buttons.push(button(`${next.label} ▸`, () => act(next.action), "main"));
    if (keeper.lacks(may.seat)) {
      hint = words["keys.missing"];
      buttons.push(link(words["keys.enter"], `/players/${me}`), button(words["keys.give-up"], () => giveUp(may.seat)));
    }
    else if (!next && !later) buttons.push(...plain().map((one, _, all) => button(one.label, () => act(one.action), all.length === 1 && !may.choices.length ? "main" : "")));
  } else if (game.status === "playing") {
    status = acting ? say("turn-of", { name: called(game.seats[acting - 1]) }) : "";
    hint = mine().length ? "" : words.watch;
  } else {
    status = [words[`status.${game.status}`], ...(game.outcome?.winners ?? []).map((/** @type {number} */ seat) => say("winner", { name: called(game.seats[seat - 1]) }))].join(" · ");
    if (game.outcome?.facts.rank) status += ` · ${term(`rank-${game.outcome.facts.rank}`)}`;
    buttons.push(link(words.replay, `/games/${id}/replay`), link(words.audit, `/games/${id}/audit`), link(words.again, "/"));
  }
  by("status").textContent = status;
  by("hint").textContent = hint;
  by("buttons").replaceChildren(...buttons);
  document.title = `${may.actions.length && game.status === "playing" ? "● " : ""}${status} · ${term(game.ruleset.split("@")[0])}`;
  clock();
  seats();
  stand();
  const seat = mine()[0];
  by("leave").replaceChildren(...(game.status === "playing" && seat ? [button(words.resign, () => resign(may.seat ?? seat), "quiet")] : []));
}

/** What a ruling made of a game, and whether a dispute pauses it, to be compared. @param {any} of */
const standing = (of) => JSON.stringify([of.effective, of.paused_by]);
let stands = "";
/** The page came with what stood then; it may change. */
function stand() {
  const before = stands, { effective: counts, paused_by: paused } = game;
  stands = standing(game);
  if (!before || before === stands) return;
  const lines = [];
  if (counts.ruling) {
    const line = element("p", "", { class: "ruled" }), won = (counts.outcome?.winners ?? []).map((/** @type {number} */ seat) => say("winner", { name: called(game.seats[seat - 1]) }));
    line.append(element("strong", words[`effective.${counts.ruling}`]), won.length ? ` · ${won.join(", ")}` : "", " · ", element("a", words["effective.case"], { href: `/cases/${counts.case_id}` }));
    if (counts.resumed_as) line.append(" · ", element("a", words["dispute.resumed"], { href: `/games/${counts.resumed_as}` }));
    lines.push(line);
  }
  if (paused) {
    const line = element("p", "", { class: "ruled" });
    line.append(element("a", words["effective.paused"], { href: `/cases/${paused}` }));
    lines.push(line);
  }
  by("standing").replaceChildren(...lines);
}

/** Disputes and rulings are no events of the game: ask, and show it anew where something changed. */
async function look() {
  if (document.hidden || working || busy || by("dialog").open) return;
  try {
    const now = await call(api);
    if (standing(now) === stands) return;
    newest = Math.max(newest, now.version);
    shown = Math.min(shown, newest - 1);
    await catchUp();
  } catch { /* the connection is lost, and the stream says so */ }
}

// What a game without a Next offers whole: actions that name nothing.
/** @returns {any[]} */
const plain = () => may.actions.filter((/** @type {any} */ one) => Object.keys(one.action).length === 1);

/** @param {string} text @param {string} href */
const link = (text, href) => element("a", text, { href, class: "button" });

/** @param {any} event */
function log(event) {
  if (event.seq <= told) return;
  told = event.seq;
  if (!event.narration) return;
  const line = element("li", "", mine().includes(event.seat) ? { class: "mine" } : {});
  line.append(element("a", String(event.seq), { href: `/games/${id}/at/${event.seq}`, "aria-label": say("moment", { number: event.seq }) }), event.narration);
  const list = by("log");
  list.append(line);
  while (list.children.length > 400) list.firstElementChild.remove();
  list.scrollTop = list.scrollHeight;
}

// -- the clock of a turn ---------------------------------------------------------------------------------------------

let ticking = 0;
function clock() {
  clearInterval(ticking);
  const seconds = game.options.turn_seconds;
  if (game.status !== "playing" || !seconds) return;
  const due = Date.parse(game.updated_at) + seconds * 1000;
  const waits = element("span", "", { class: "dim" });
  by("buttons").append(waits);
  const tick = () => {
    const left = Math.ceil((due - Date.now()) / 1000);
    waits.textContent = left > 0 ? say("clock", { seconds: left }) : words["clock.over"];
    if (left > 0) return;
    clearInterval(ticking);
    if (mine().length && !may.actions.length) by("buttons").append(button(words.claim, () => doing(() => call(`${api}/timeout`, {}))));
  };
  tick();
  ticking = window.setInterval(tick, 1000);
}

// -- acting ----------------------------------------------------------------------------------------------------------

/** @param {any} action */
function act(action) {
  const key = newKey(), { seat, version } = may;
  if (keeper.signs(seat)) {
    /** @type {any} */
    let sent; // signed once: the same bytes again get the same answer
    return doing(async () => call(`${api}/actions`, sent ??= await keeper.signed(seat, "act", action)), true);
  }
  return doing(() => call(`${api}/actions?seat=${seat}`, { action, expected_version: version }, { headers: { "Idempotency-Key": key } }), true);
}

/** @param {() => Promise<any>} what @param {boolean} [again] May it be sent again where no answer came? */
async function doing(what, again) {
  if (busy) return;
  busy = true;
  document.body.classList.add("busy");
  try {
    const done = again ? await persist(what, tellLost) : await what();
    if (done?.version) newest = Math.max(newest, done.version);
  } catch (error) {
    if (error instanceof Refused && error.problem.version) newest = Math.max(newest, error.problem.version);
    const rule = error instanceof Refused ? error.problem.rule : "";
    toast(error, rule ? { href: `/rules/${game.ruleset}#${rule}`, text: say("rule", { number: rule }) } : undefined);
  } finally {
    busy = false;
    document.body.classList.remove("busy");
  }
  await catchUp();
}

/** @param {number} seat */
async function resign(seat) {
  if (await choose(words["resign.sure"], [words.resign]) !== 0) return;
  await doing(async () => call(`${api}/seats/${seat}/resign`, keeper.signs(seat) ? await keeper.signed(seat, "resign") : undefined, { method: "POST" }));
}

/** The key of a seat is lost: it plays on unsigned. @param {number} seat */
async function giveUp(seat) {
  if (await choose(words["keys.sure"], [words["keys.give-up"]]) === 0) await doing(() => call(`${api}/seats/${seat}/custody`, undefined, { method: "POST" }));
}

document.addEventListener("keydown", (event) => {
  const inside = /** @type {Element} */ (event.target);
  if (event.altKey || event.ctrlKey || event.metaKey || inside.matches("input, select, textarea, #log") || inside.closest("dialog")) return;
  const where = picture.beside(may.seat, event.key);
  if (!where?.matches(".target, .refused-target")) return;
  event.preventDefault();
  where.dispatchEvent(new MouseEvent("click", { bubbles: true }));
});

// -- before the start ------------------------------------------------------------------------------------------------

/** @type {any} */
let about;
let seated = "";
async function seats() {
  const box = by("seats");
  box.hidden = game.status !== "open";
  const now = JSON.stringify(game.seats);
  if (box.hidden || now === seated) return; // nothing new: what somebody is typing there stays
  seated = now;
  about ??= await call(`/v1/rulesets/${game.ruleset}`);
  const list = element("ul");
  const free = game.seats.filter((/** @type {any} */ seat) => !seat.player_id);
  for (const seat of game.seats) {
    const row = element("li");
    row.append(element("span", `${seat.seat}. ${called(seat)}`));
    const leave = () => doing(() => call(`${api}/seats/${seat.seat}`, undefined, { method: "DELETE" }));
    if (seat.player_id && ((seat.player_id === me && !seat.bot) || (seat.bot && creator))) row.append(button(words.leave, leave, "quiet"));
    list.append(row);
  }
  const parts = [element("h2", words["seats.title"]), list];
  if (free.length) parts.push(sitting());
  if (creator && !free.length) parts.push(button(words.start, () => doing(() => call(`${api}/start`, {})), "main"));
  else if (!free.length) parts.push(element("p", words["start.waits"], { class: "dim" }));
  if (free.length) parts.push(element("p", words.invite, { class: "dim" }), shared());
  box.replaceChildren(...parts);
}

const free = () => game.seats.find((/** @type {any} */ seat) => !seat.player_id)?.seat;

function sitting() {
  const bar = element("div", "", { class: "bar" });
  const field = Object.entries(Object.values(about.choice.$defs ?? {})[0]?.properties ?? {}).find(([, schema]) => /** @type {any} */ (schema).enum);
  const wish = element("select", "", { "aria-label": field ? words[`choice.${field[0]}`] ?? field[0] : "" });
  if (field) {
    const taken = game.seats.map((/** @type {any} */ seat) => seat.hero);
    wish.append(new Option(say("any", { what: words[`choice.${field[0]}`] ?? field[0] }), ""));
    for (const name of /** @type {any} */ (field[1]).enum) if (!taken.includes(name)) wish.append(new Option(term(name), name));
    bar.append(wish);
  }
  const chosen = () => (field && wish.value ? { [field[0]]: wish.value } : {});
  const keep = element("input", "", { type: "checkbox", name: "keep" }), kept = element("label", "", { class: "check" });
  kept.append(keep, words["keys.keep"]);
  if (me) {
    const sit = () => (keep.checked ? keeper.join(free(), chosen()) : call(`${api}/seats`, chosen()));
    bar.append(button(mine().length ? words["sit.again"] : words.sit, () => doing(sit), "main"), kept);
  }
  else bar.append(link(words["sit.guest"], "/"));
  if (creator) {
    for (const bot of about.bots) {
      for (const level of bot.levels) {
        bar.append(button(say("bot.add", { name: say("bot", { name: bot.name, level }) }), () => doing(() => call(`${api}/seats`, { bot: bot.name, level, ...chosen() }))));
      }
    }
  }
  if (!me) {
    const typed = /** @type {HTMLInputElement | null} */ (document.querySelector("#seats input[maxlength]"));
    const name = element("input", "", { maxlength: "40", placeholder: words["name.example"], "aria-label": words.name, autocomplete: "nickname", value: typed?.value ?? "" });
    const enter = button(words.sit, async () => {
      try {
        await call("/session", { name: name.value.trim() });
        const own = keep.checked ? { keep: [{ seat: free(), choice: chosen() }] } : { choice: chosen() };
        sessionStorage.setItem("sit", JSON.stringify({ game: id, ...own }));
        location.reload();
      } catch (error) { toast(error); }
    }, "main");
    bar.replaceChildren(...(field ? [wish] : []), name, enter, kept);
  }
  return bar;
}

function shared() {
  const bar = element("div", "", { class: "bar" });
  const address = element("input", "", { readonly: "", value: location.origin + location.pathname, "aria-label": words.share });
  bar.append(address, button(words.copy, async () => {
    address.select();
    await navigator.clipboard?.writeText(address.value);
    toast(words.copied);
  }));
  return bar;
}

// -- live ------------------------------------------------------------------------------------------------------------

/** What was told before the page was opened: packed, as a stream is not. */
async function earlier() {
  const { events } = await persist(() => call(`${api}/events?after=${told}&limit=${TOLD}`), tellLost);
  events.forEach(hear);
  if (shown < newest) catchUp(); // the answer was long in coming: the stream goes on behind it
}

/** @param {any} event */
function hear(event) {
  log(event);
  newest = Math.max(newest, event.seq);
}

/** @type {EventSource | undefined} */
let heard;
/** @param {number} after */
function listen(after) {
  heard?.close();
  const stream = heard = new EventSource(`${api}/events?after=${after}&lang=${language}`);
  stream.onopen = () => tellLost(false);
  stream.onmessage = (message) => {
    hear(JSON.parse(message.data));
    catchUp();
  };
  stream.addEventListener("end", () => { stream.close(); catchUp(); });
  stream.onerror = () => {
    tellLost(true);
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => { if (stream === heard) listen(told); }, 1500); // refused, not only cut off
  };
}

try {
  game = await call(api);
  newest = game.version;
  const wish = sessionStorage.getItem("sit");
  if (wish && me && game.status === "open") {
    sessionStorage.removeItem("sit");
    const { game: where, choice, keep = [], start } = JSON.parse(wish);
    if (where === id && choice) await doing(() => call(`${api}/seats`, choice));
    if (where === id) for (const one of keep) await doing(() => keeper.join(one.seat, one.choice));
    if (where === id && start) await doing(() => call(`${api}/start`, {}));
  }
  told = Math.max(0, newest - TOLD);
  await Promise.all([catchUp(), earlier()]);
  listen(told);
  addEventListener("pagehide", () => heard?.close());
  addEventListener("pageshow", ({ persisted }) => { if (persisted) listen(told); }); // who comes back may get the page as it was left
  setInterval(look, LOOK_MS);
  document.addEventListener("visibilitychange", look);
} catch (error) {
  toast(error);
}
