// A dispute on one page: what is disputed, what was said and ruled; who may answer, withdraw, erase or rule does it here.
import { button, by, call, called, choose, element, me, say, toast, words } from "./api.mjs";
import { pair, state, time } from "./cases.mjs";

const { case: id, judge, operator } = document.body.dataset;
const api = `/v1/cases/${id}`;
/** @type {any} */
let game;

/** @param {number | null} seat @param {string} [name] */
const who = (seat, name) => (seat ? called(game.seats[seat - 1]) : name ?? "");

/** How a game ended. @param {string} status @param {any} outcome */
function ended(status, outcome) {
  const won = (outcome?.winners ?? []).map((/** @type {number} */ seat) => say("winner", { name: who(seat) }));
  const scores = outcome ? [say("dispute.scores", { scores: outcome.scores.join(" : ") })] : [];
  return [words[`status.${status}`], ...won, ...scores].join(" · ");
}

/** @param {any} said @param {boolean} asked */
function statement(said, asked) {
  const box = element("div", "", { class: "statement" });
  box.append(element("h4", say(`dispute.by.${said.kind}`, { name: who(said.seat, said.name) })), element("p", time(said.at), { class: "dim" }));
  const missing = said.erased ? words["dispute.erased"] : said.readable ? "" : words["dispute.hidden"];
  box.append(missing ? element("p", missing, { class: "dim" }) : element("blockquote", said.text));
  if (said.holds === false) box.append(element("p", words["dispute.changed"], { class: "wrong" }));
  if (asked && !said.erased && (said.player_id === me || operator)) box.append(button(words.erase, () => erase(said.seq).catch(toast), "quiet"));
  return box;
}

/** @param {any} found */
function show(found) {
  const waits = ["open", "answered"].includes(found.state);
  by("state").textContent = [state(found), say("dispute.at", { time: time(found.opened_at) }), ...(found.state === "open" ? [say("dispute.until", { time: time(found.answer_until) })] : [])].join(" · ");
  by("event").textContent = found.around.find((/** @type {any} */ one) => one.seq === found.event)?.words ?? "";
  const broken = [...(found.event_holds ? [] : [words["dispute.broken"]]), ...(found.grade === "EXACT" ? [] : [words["dispute.unsound"]])];
  by("broken").textContent = broken.join(" ");
  by("broken").hidden = !broken.length;
  by("attached").textContent = found.verdict ? `${words[`verdict.title.${found.verdict.verdict}`] ?? found.verdict.verdict}${found.verdict.code ? ` (${found.verdict.code})` : ""}` : "";
  const heard = found.statements.filter((/** @type {any} */ said) => said.kind !== "ruling");
  by("statements").replaceChildren(...heard.map((/** @type {any} */ said) => statement(said, true)));
  by("pending").replaceChildren(...[["pending", found.to_answer], ["silent", found.silent]].flatMap(([how, seats]) =>
    seats.map((/** @type {number} */ seat) => element("li", say(`dispute.${how}`, { name: who(seat) })))));
  ruling(found);
  known(found);
  const mine = found.to_answer.filter((/** @type {number} */ seat) => me && game.seats[seat - 1].player_id === me);
  by("answer").hidden = !mine.length;
  by("withdraw").hidden = !(waits && me && found.player_id === me);
  by("judge").hidden = !(judge && found.state === "answered");
  by("judge").querySelector("[value=correct]").disabled = found.recorded_status !== "finished";
  document.body.dataset.state = found.state;
}

/** @param {any} found */
function ruling(found) {
  const box = by("ruling"), { ruled } = found;
  if (!ruled) box.replaceChildren(element("p", words[found.closed_as === "withdrawn" ? "case.withdrawn" : "dispute.unruled"], { class: "dim" }));
  else {
    const line = element("p");
    line.append(element("strong", words[`ruling.${ruled.ruling}`]));
    if (ruled.result) line.append(` · ${ended("finished", ruled.result)}`);
    if (ruled.resume) line.append(" · ", say("moment", { number: ruled.resume.version }), " · ", element("a", words["dispute.resumed"], { href: `/games/${ruled.resume.game_id}` }));
    const reasons = found.statements.filter((/** @type {any} */ said) => said.kind === "ruling");
    box.replaceChildren(line, ...reasons.map((/** @type {any} */ said) => statement(said, true)));
  }
  by("recorded").textContent = ended(found.recorded_status, found.recorded_outcome);
  by("counts").textContent = ended(found.effective.status, found.effective.outcome);
}

/** When those who only watch were shown an event. @param {any} one */
function shownAt({ at, watchers_at: shown }) {
  return shown === at ? words["dispute.at-once"] : shown ? time(shown) : words["dispute.never"];
}

/** What is read by which of the API's operations. @type {Record<string, string[]>} */
const READ = {
  position: ["show_state", "show_actions", "show_position", "draw_position", "draw_raster", "show_why", "show_diff", "show_divergence", "show_under"],
  record: ["show_events"],
  replay: ["show_replay", "show_room", "show_moment", "show_webp", "show_gif"],
  luck: ["show_luck", "draw_luck"],
  audit: ["show_audit", "show_verdict", "show_bundle", "show_receipt", "show_open_proof", "show_close_proof"],
  refusals: ["show_refusals"],
  case: ["show_case", "show_dispute", "show_case_events", "show_case_audit", "list_disputes", "annals case show"],
};

/** Who read what, in words: one line for each person and sort. @param {any[]} access */
function readings(access) {
  /** @type {Map<string, {name: string, what: string, times: number, last: string}>} */
  const found = new Map();
  for (const { name, player_id, what, times, last_at: last } of access) {
    const sort = Object.keys(READ).find((one) => READ[one].includes(what)) ?? "game", key = `${player_id} ${sort}`, before = found.get(key);
    found.set(key, { name, what: words[`read.${sort}`], times: times + (before?.times ?? 0), last: before && before.last > last ? before.last : last });
  }
  return [...found.values()];
}

/** @param {any} found */
function known(found) {
  by("around").tBodies[0].replaceChildren(...found.around.map((/** @type {any} */ one) => {
    const row = element("tr", "", one.seq === found.event ? { class: "disputed" } : {}), number = element("td");
    number.append(element("a", String(one.seq), { href: `/games/${found.game_id}/at/${one.seq}` }));
    row.append(number, element("td", one.words), element("td", time(one.at)), element("td", shownAt(one)));
    return row;
  }));
  by("known").replaceChildren(...found.known_by.map((/** @type {any} */ one) => {
    const how = one.event === null ? "dispute.known.not" : one.signed ? "dispute.known.signed" : "dispute.known";
    return element("li", say(how, { name: who(one.seat), number: one.event, time: one.at ? time(one.at) : "" }));
  }));
  list("refusals", found.refusals.map((/** @type {any} */ one) => {
    const row = element("li", time(one.at));
    row.append(element("pre", one.refusal));
    return row;
  }));
  list("access", readings(found.access).map((/** @type {any} */ one) => element("li", say("dispute.access.one", { ...one, time: time(one.last) }))));
}

/** @param {string} name @param {HTMLElement[]} rows */
function list(name, rows) {
  by(name).replaceChildren(...rows);
  by(name).parentElement.hidden = !rows.length;
}

/** Show what became of it, and lead who hears the page there. @param {any} found */
function written(found) {
  show(found);
  by("state").focus();
}

/** @param {number} seq */
async function erase(seq) {
  if (await choose(words["erase.sure"], [words.erase]) !== 0) return;
  await call(`${api}/texts/${seq}`, undefined, { method: "DELETE" });
  written(await call(api));
}

/** @param {string} name @param {(form: any) => Promise<any>} send */
function sends(name, send) {
  by(name).addEventListener("submit", async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const submit = by(name).querySelector("button.main");
    submit.disabled = true;
    try { written(await send(by(name).elements)); } catch (error) { toast(error); } finally { submit.disabled = false; }
  });
}

sends("answer", async (form) => {
  const found = await call(`${api}/answers`, { text: form.text.value });
  form.text.value = "";
  return found;
});
sends("judge", (form) => {
  const ruling = form.ruling.value, scores = [...by("result").querySelectorAll("[name=score]")], won = [...by("result").querySelectorAll("[name=winner]:checked")];
  const result = { winners: won.map((one) => Number(one.value)), scores: scores.map((one) => Number(one.value)) };
  return call(`${api}/ruling`, { ruling, text: form.text.value, ...(ruling === "correct" ? { result } : {}), ...(ruling === "resume" ? { version: Number(form.version.value) } : {}) });
});
by("judge").addEventListener("change", () => {
  const ruling = by("judge").elements.ruling.value;
  by("result").hidden = by("result").disabled = ruling !== "correct";
  by("version").hidden = by("version").control.disabled = ruling !== "resume";
});
by("withdraw").addEventListener("click", async () => {
  try { if (await choose(words["withdraw.sure"], [words.withdraw]) === 0) written(await call(`${api}/withdraw`, {})); } catch (error) { toast(error); }
});
by("print").addEventListener("click", () => print());

try {
  const found = await call(api);
  game = await call(`/v1/games/${found.game_id}`);
  pair(by("pair"), found.game_id, found.event);
  (game.outcome?.scores ?? []).forEach((/** @type {number} */ score, /** @type {number} */ seat) => { by("result").querySelectorAll("[name=score]")[seat].value = String(score); });
  show(found);
} catch (error) { toast(error); }
