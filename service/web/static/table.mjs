// The table: the picture with its targets, what may be done, what happened, as it happens.
import { by, call, drawing, element, known, language, say, toast, words } from "./api.mjs";

const game = `/v1/games/${document.body.dataset.game}`;
let version = -1, drawing_now = false, again = false, busy = false;
/** @type {string[]} */
let mine = [];

/** @param {any} action @param {number} expected @param {number} seat */
async function act(action, expected, seat) {
  if (busy) return;
  busy = true;
  const key = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
  try {
    for (let tries = 0; ; tries++) {
      try {
        await call(`${game}/actions?seat=${seat}`, { action, expected_version: expected }, { "Idempotency-Key": key });
        break;
      } catch (error) {
        if (!(error instanceof TypeError) || tries === 5) throw error; // no answer: the same key cannot act twice
        toast(words.lost);
        await new Promise((done) => setTimeout(done, 500 * 2 ** tries));
      }
    }
  } catch (error) { toast(error); }
  busy = false;
  await show();
}

/** @param {Element} where @param {string} label @param {() => void} what @param {boolean} may */
function clickable(where, label, what, may) {
  where.classList.add("target");
  if (!may) where.classList.add("refused");
  where.setAttribute("role", "button");
  where.setAttribute("tabindex", "0");
  where.setAttribute("aria-label", label);
  if (!may) where.setAttribute("aria-disabled", "true");
  where.addEventListener("click", (event) => { event.stopPropagation(); what(); });
  where.addEventListener("keydown", (event) => {
    const key = /** @type {KeyboardEvent} */ (event).key;
    if (key === "Enter" || key === " ") { event.preventDefault(); what(); }
  });
}

async function show() {
  if (drawing_now) { again = true; return; }
  drawing_now = true;
  do {
    again = false;
    try { await once(); } catch (error) { toast(error); }
  } while (again);
  drawing_now = false;
}

async function once() {
  const shown = await call(game);
  const may = shown.status === "playing" ? await call(`${game}/actions`) : { actions: [], refused: [], seat: null, version: shown.version };
  const now = Math.max(may.version, shown.version);
  const svg = drawing(await call(`${game}/positions/${may.version}.svg${may.seat ? `?seat=${may.seat}` : ""}`));
  const focused = document.activeElement?.id;
  by("picture").replaceChildren(svg);
  const buttons = by("actions");
  buttons.replaceChildren();
  /** @type {Map<string, any[]>} */
  const targets = new Map();
  for (const one of may.actions) {
    targets.set(one.target, [...(targets.get(one.target) ?? []), one]);
    const button = element("button", one.label);
    button.addEventListener("click", () => act(one.action, may.version, may.seat));
    buttons.append(button);
  }
  for (const [id, choices] of targets) {
    const where = svg.querySelector(`#${CSS.escape(id)}`);
    if (!where) continue;
    clickable(where, choices.map((one) => one.label).join(" / "), () => {
      if (choices.length === 1) act(choices[0].action, may.version, may.seat);
      else buttons.children[may.actions.indexOf(choices[0])].focus(); // several at one place: chosen among the buttons
    }, true);
  }
  for (const one of may.refused) {
    const where = one.target && !targets.has(one.target) ? svg.querySelector(`#${CSS.escape(one.target)}`) : null;
    if (where) clickable(where, one.message, () => toast(one.message), false);
  }
  if (focused) /** @type {any} */ (svg.querySelector(`#${CSS.escape(focused)}`))?.focus?.();
  const name = (/** @type {number} */ seat) => shown.seats[seat - 1]?.name ?? String(seat);
  const acting = shown.to_act[0];
  by("status").textContent = shown.status === "open" ? words.waiting
    : shown.status !== "playing" ? [words.over, ...(shown.outcome?.winners ?? []).map((/** @type {number} */ seat) => say("winner", { name: name(seat) }))].join(" ")
    : may.actions.length ? say("your-turn", { name: name(may.seat) })
    : acting ? say("turn-of", { name: name(acting) }) : "";
  if (shown.status === "open" && known()) {
    for (const [label, path] of [[words.sit, "seats"], [words.start, "start"]]) {
      const free = shown.seats.some((/** @type {any} */ seat) => seat.player_id === null);
      if ((path === "seats") !== free) continue;
      const button = element("button", label);
      button.addEventListener("click", () => call(`${game}/${path}`, {}).then(show, toast));
      buttons.append(button);
    }
  }
  version = now;
}

/** @param {any} event */
function tell(event) {
  if (!event.narration || mine.includes(String(event.seq))) return;
  mine.push(String(event.seq));
  const line = element("li", event.narration);
  by("log").append(line);
  by("log").scrollTop = by("log").scrollHeight;
}

await show();
const stream = new EventSource(`${game}/events?lang=${language}&after=0`);
let due = 0;
stream.onmessage = (message) => {
  const event = JSON.parse(message.data);
  tell(event.event ?? event);
  clearTimeout(due);
  if (Number(message.lastEventId) > version) due = window.setTimeout(show, 30);
};
stream.addEventListener("end", () => { stream.close(); show(); });
stream.onerror = () => { if (stream.readyState !== EventSource.CLOSED) by("status").textContent = words.lost; };
stream.onopen = () => { show(); };
