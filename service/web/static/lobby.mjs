// The lobby: lists of games, a guest's name, a new table.
import { by, call, element, known, say, toast, useCsrf, words } from "./api.mjs";

async function lists() {
  for (const status of ["open", "playing", "finished"]) {
    const { games } = await call(`/v1/games?status=${status}&limit=20`);
    const rows = games.map((/** @type {any} */ game) => {
      const row = document.createElement("li");
      const link = /** @type {HTMLAnchorElement} */ (element("a", game.seats.map((/** @type {any} */ seat) => seat.name ? seat.name + (seat.bot ? ` (${words.bot})` : "") : "…").join(" · ")));
      link.href = `/games/${game.game_id}` + (status === "finished" ? "/replay" : "");
      row.append(link);
      return row;
    });
    by(status).replaceChildren(...(rows.length ? rows : [element("li", words.none)]));
  }
}

async function forms() {
  by("guest").hidden = known();
  by("create").hidden = !known();
  const about = await call("/v1/rulesets/donjon@1");
  const { seats, hero } = by("create").elements;
  seats.replaceChildren();
  for (let count = about.seats.minimum; count <= about.seats.maximum; count++) seats.append(new Option(String(count), String(count)));
  seats.value = String(Math.max(2, about.seats.minimum));
  const heroes = JSON.stringify(about.choice).match(/"enum":\[([^\]]*)\]/);
  while (hero.options.length > 1) hero.remove(1);
  for (const name of heroes ? JSON.parse(`[${heroes[1]}]`) : []) hero.append(new Option(name[0].toUpperCase() + name.slice(1), name));
  by("create").dataset.bot = about.bots[0]?.name ?? "";
}

by("guest").addEventListener("submit", async (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  try {
    useCsrf((await call("/session", { name: by("guest").elements.name.value })).csrf);
    await forms();
  } catch (error) { toast(error); }
});

by("create").addEventListener("submit", async (/** @type {SubmitEvent} */ event) => {
  event.preventDefault();
  const { seats, hero, bots } = by("create").elements;
  try {
    const count = Number(seats.value);
    const made = await call("/v1/games", { ruleset: "donjon@1", seats: count, ...(hero.value ? { hero: hero.value } : {}) }, { "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()) });
    if (bots.checked) {
      for (let seat = 2; seat <= count; seat++) await call(`/v1/games/${made.game_id}/seats`, { bot: by("create").dataset.bot });
      await call(`/v1/games/${made.game_id}/start`, {});
    }
    location.assign(`/games/${made.game_id}`);
  } catch (error) { toast(error); }
});

void say;
try { await forms(); await lists(); } catch (error) { toast(error); }
