// The lobby: a game at once, and the lists of games.
import { by, call, card, element, enter, games, me, newKey, say, sendable, term, toast, words } from "./api.mjs";

const form = by("create");
/** @type {any} */
let about;

/** The properties of a JSON Schema made of one struct. @param {any} schema @returns {[string, any][]} */
const fields = (schema) => Object.entries(/** @type {any} */ (Object.values(schema.$defs ?? {})[0])?.properties ?? {});

/** @param {string} text */
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @param {string} label @param {HTMLElement} control */
function labelled(label, control) {
  const made = element("label", label);
  made.append(control);
  return made;
}

async function ruleset() {
  about = await call(`/v1/rulesets/${form.elements.ruleset.value}`);
  const { seats } = form.elements;
  seats.replaceChildren();
  for (let count = about.seats.minimum; count <= about.seats.maximum; count++) seats.append(new Option(String(count)));
  seats.value = String(Math.max(2, about.seats.minimum));
  by("options").replaceChildren(...fields(about.options).map(([name, schema]) => option(name, schema)));
  by("options").append(
    labelled(words.visibility, picked("visibility", ["public", "unlisted", "private"], "public")),
    labelled(words.watching, picked("watching", ["open", "forbidden", "delayed:60"], "open")),
    element("p", words["visibility.log"], { class: "dim" }),
  );
  places();
  form.dataset.ruleset = about.ruleset; // the form is that of this game now
}

/** @param {string} name @param {string[]} values @param {string} chosen */
function picked(name, values, chosen) {
  const select = element("select", "", { name });
  for (const value of values) select.append(new Option(capital(words[`${name}.${value}`] ?? value), value, false, value === chosen));
  return select;
}

/** @param {string} name @param {any} schema */
function option(name, schema) {
  const label = words[`option.${name}`] ?? name;
  const given = String(schema.default ?? "");
  if (schema.enum) return labelled(label, picked(`option.${name}`, schema.enum, given));
  if (schema.type === "boolean") {
    const box = element("input", "", { type: "checkbox", name: `option.${name}` });
    box.checked = schema.default;
    const made = element("label", "", { class: "check" });
    made.append(box, label);
    return made;
  }
  const limits = { min: String(schema.minimum ?? ""), max: String(schema.maximum ?? "") };
  return labelled(label, element("input", "", { type: "number", name: `option.${name}`, value: given, ...limits }));
}

/** A line for each seat: who sits there, and what is chosen for it. */
function places() {
  const before = new Map([...by("places").querySelectorAll("select")].map((one) => [one.name, one.value]));
  by("places").replaceChildren();
  for (let seat = 1; seat <= Number(form.elements.seats.value); seat++) {
    const who = element("select", "", { name: `who-${seat}`, "aria-label": say("seat.who", { number: seat }) });
    if (seat > 1) {
      for (const bot of [...about.bots].sort((a, b) => b.levels.length - a.levels.length)) {
        for (const level of [...bot.levels].reverse()) who.append(new Option(say("bot", { name: bot.name, level }), JSON.stringify({ bot: bot.name, level })));
      }
      who.append(new Option(words["seat.friend"], "friend"));
    }
    who.append(new Option(seat === 1 ? words["seat.me"] : words["seat.me-too"], "me"), new Option(words["seat.me-signing"], "signing"));
    who.value = before.get(who.name) || who.options[0].value;
    const row = labelled(say("seat", { number: seat }), who);
    for (const [name, schema] of fields(about.choice)) {
      if (!schema.enum) continue;
      const wish = element("select", "", { name: `choice-${seat}-${name}`, "aria-label": `${words[`choice.${name}`] ?? name}, ${say("seat", { number: seat })}` });
      wish.append(new Option(say("any", { what: words[`choice.${name}`] ?? name }), ""));
      for (const value of schema.enum) wish.append(new Option(term(value), value));
      wish.value = before.get(wish.name) ?? "";
      row.append(wish);
    }
    by("places").append(row);
  }
}

/** @param {number} seat */
function chosen(seat) {
  const found = fields(about.choice).map(([name]) => [name, form.elements[`choice-${seat}-${name}`]?.value]);
  return Object.fromEntries(found.filter(([, value]) => value));
}

async function create() {
  const { seats, name, visibility, watching } = form.elements;
  const count = Number(seats.value);
  /** @type {Record<string, any>} */
  const options = {};
  for (const [option, schema] of fields(about.options)) {
    const control = form.elements[`option.${option}`];
    const value = schema.type === "boolean" ? control.checked : schema.enum ? control.value : Number(control.value);
    if (value !== schema.default) options[option] = value;
  }
  if (!me) await enter(name.value.trim());
  /** @param {number} seat @returns {string} */
  const sits = (seat) => form.elements[`who-${seat}`].value;
  const table = { ruleset: about.ruleset, seats: count, options, visibility: visibility.value, watching: watching.value };
  const made = await call("/v1/games", { ...table, ...(sits(1) === "signing" ? { sit: false } : chosen(1)) }, { headers: { "Idempotency-Key": newKey() } });
  let full = true;
  /** Seats whose key this browser keeps sit down at the table's page. @type {any[]} */
  const keep = [];
  for (let seat = 1; seat <= count; seat++) {
    const who = sits(seat);
    if (who === "friend") full = false;
    else if (who === "signing") keep.push({ seat, choice: chosen(seat) });
    else if (seat > 1) await call(`/v1/games/${made.game_id}/seats`, { seat, ...chosen(seat), ...(who === "me" ? {} : JSON.parse(who)) });
  }
  if (keep.length) sessionStorage.setItem("sit", JSON.stringify({ game: made.game_id, keep, start: full }));
  else if (full) await call(`/v1/games/${made.game_id}/start`, {});
  location.assign(`/games/${made.game_id}`);
}

const submit = sendable(form);
form.addEventListener("submit", async (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  submit.disabled = true;
  try { await create(); } catch (error) { toast(error); submit.disabled = false; }
});
form.elements.seats.addEventListener("change", places);
form.elements.ruleset.addEventListener("change", () => ruleset().catch(toast));

addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); }); // its lists are those of before

async function lists() {
  for (const status of ["open", "playing", "finished"]) {
    await games(by(status), `status=${status}&limit=12`, /** @type {any} */ (document.querySelector(`[data-list=${status}]`)));
  }
  if (!me) return;
  const { games: own } = await call("/v1/games?player=me&limit=30");
  const going = own.filter((/** @type {any} */ game) => ["open", "playing"].includes(game.status));
  by("mine").replaceChildren(...(going.length ? going.map(card) : [element("li", words.none, { class: "dim" })]));
}

try {
  const { rulesets } = await call("/v1/rulesets");
  for (const one of rulesets) form.elements.ruleset.append(new Option(one.title, one.ruleset));
  await ruleset();
  await lists();
} catch (error) { toast(error); }
