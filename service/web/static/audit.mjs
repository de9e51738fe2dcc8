// The audit: what the server's check of the record found, each part in words; and the same by the second verifier, here.
import { by, call, element, say, sendable, toast, words } from "./api.mjs";
import { line, pair } from "./cases.mjs";

const id = document.body.dataset.game;
const LOOK = /** @type {Record<string, string>} */ ({ VERIFIED: "verified", "VERIFIED WITH LIMITS": "verified", REFUTED: "refuted" });

/** @param {number} event */
const moment = (event) => element("a", say("moment", { number: event }), { href: `/games/${id}/at/${event}` });

/** The rules of the game, as the page links to them. @param {string} rule */
const paragraph = (rule) => element("a", say("rule", { number: rule }), { href: `${document.querySelector(".tabs [href^='/rules/']")?.getAttribute("href")}#${rule}` });

/** @param {string} result */
const named = (result) => words[`result.${result}`] ?? result;

/** What was found; beside it, where it is given, what the server found. @param {any} found @param {any} [theirs] */
function show(found, theirs) {
  const head = element("h2", found.words, { class: `verdict ${LOOK[found.verdict] ?? ""}` });
  const said = element("p", [say("audit.events", { count: found.events }), words[`verdict.${found.verdict}`]].filter(Boolean).join(" "));
  by("verdict").replaceChildren(head, said);
  /** @param {any} check */
  const other = (check) => theirs?.checks.find((/** @type {any} */ one) => one.id === check.id && one.result !== check.result);
  if (theirs) {
    const count = found.checks.length, same = count - found.checks.filter(other).length;
    by("verdict").append(element("p", say("audit.beside", { verdict: theirs.words, count, same }), { id: "theirs" }));
  }
  if (found.event !== null) by("verdict").append(moment(found.event));
  by("checks").replaceChildren(...found.checks.map((/** @type {any} */ check) => {
    const row = element("li", "", { class: "card" });
    row.append(element("span", named(check.result), { class: `result ${check.result}` }), element("strong", check.name), element("p", check.said));
    const differs = other(check);
    if (differs) row.querySelector("strong").append(" ", element("span", say("audit.theirs", { result: named(differs.result) }), { class: `result ${differs.result}` }));
    if (check.detail) {
      const exactly = element("details");
      exactly.append(element("summary", words["audit.exactly"]), element("p", check.detail, { lang: "en", class: "dim" }));
      row.append(exactly);
    }
    row.append(element("p", `docs/${check.section}`, { class: "dim section" }));
    const cited = [check.event === null ? null : moment(check.event), check.rule ? paragraph(check.rule) : null].filter((one) => one !== null);
    if (cited.length) { const links = element("p", "", { class: "tabs" }); links.append(...cited); row.append(links); }
    return row;
  }));
  by("limits").hidden = !found.limits.length;
  by("limits").querySelector("ul").replaceChildren(...found.limits.map((/** @type {any} */ one) => element("li", one.text)));
}

/** @param {string} path @returns {Promise<Uint8Array<ArrayBuffer> | null>} null: the server has none */
async function bytes(path) {
  const answer = await fetch(path);
  if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
  if (answer.status === 404) return null;
  throw new Error(words.failed);
}

const sentences = JSON.parse(document.body.dataset.said ?? "{}");
/** What a check found, in the words of the server's. @param {{id: string, result: string, code: string | null}} check */
const sentence = ({ id, result, code }) => {
  const plain = `${id}.${result.toLowerCase().replace(" ", "-")}`;
  return sentences[`${plain}.${code}`] ?? sentences[plain] ?? "";
};

/** The second verifier's verdict, in the words of the first. @param {any} theirs */
async function here(theirs) {
  const { able, verify } = await import("./verify.mjs"), [file] = by("policy").files;
  if (!await able()) throw new Error(words["keys.unable"]);
  const bundle = await bytes(`/v1/games/${id}/bundle`);
  if (!bundle) throw new Error(words.failed);
  const policy = file ? new Uint8Array(await file.arrayBuffer()) : await bytes("/v1/log/policy");
  const found = await verify(bundle, { policy });
  /** @param {any} list @param {string} id */
  const same = (list, id) => list.find((/** @type {any} */ one) => one.id === id);
  const own = file ? [] : [same(theirs.limits, "own-policy")].filter(Boolean);
  show({
    ...found,
    words: words[`verdict.title.${found.verdict}`],
    checks: found.checks.map((check) => ({ ...check, name: same(theirs.checks, check.id)?.name ?? check.id, said: sentence(check) })),
    limits: [...found.limits.map((one) => ({ text: same(theirs.limits, one.id)?.text ?? words[`limit.${one.id}`] ?? one.id })), ...own],
  }, theirs);
  by("about").textContent = words["audit.found-here"];
  by("about").scrollIntoView();
  by("verdict").dataset.by = "verify.mjs";
}

// -- disputes --------------------------------------------------------------------------------------------------------

/** @type {any} */
const form = by("dispute");
let drawn = 0;
/** Show what the number stands for. */
async function disputed() {
  const event = Number(form.elements.event.value);
  if (!form.elements.event.validity.valid || !event || event === drawn) return;
  drawn = event;
  pair(by("pair"), id ?? "", event);
  const { steps } = await call(`/v1/games/${id}/replay?after=${event - 1}&limit=1`);
  if (drawn === event) by("event").textContent = steps.map((/** @type {any} */ step) => step.words).join(" ");
}

form?.addEventListener("input", (/** @type {Event} */ event) => { if (event.target === form.elements.event) disputed().catch(toast); });
const submit = form && sendable(form);
form?.addEventListener("submit", async (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  const { text, seat, event: number } = form.elements;
  submit.disabled = true;
  try {
    const made = await call(`/v1/games/${id}/disputes`, { event: Number(number.value), text: text.value, ...(seat ? { seat: Number(seat.value) } : {}) });
    location.assign(`/cases/${made.case_id}`);
  } catch (error) { toast(error, /** @type {any} */ (error).problem?.case_id && { href: `/cases/${/** @type {any} */ (error).problem.case_id}`, text: words.disputes }); submit.disabled = false; }
});

async function disputes() {
  const { cases } = await call(`/v1/games/${id}/disputes`);
  by("cases").replaceChildren(...(cases.length ? cases.map(line) : [element("li", words.none, { class: "dim" })]));
  if (!form?.elements.event.value) return;
  form.scrollIntoView();
  await disputed();
}

disputes().catch(toast);
try {
  const theirs = await call(`/v1/games/${id}/audit`);
  show(theirs);
  by("check").addEventListener("click", () => here(theirs).catch(toast));
} catch (error) { toast(error); }
