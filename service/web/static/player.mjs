// A player's games and results.
import { by, call, element, games, me, say, term, toast, words } from "./api.mjs";
import { account, takeAccount, toPhrase } from "./seat.mjs";

const player = document.body.dataset.player;
const PAGES = 20;

/** All that is told of a player's games: the API's lists, a page at a time. */
async function tally() {
  /** The best game alone with each hero. @type {Map<string, any>} */
  const found = new Map();
  let cursor = "", all = 0, finished = 0, won = 0;
  for (let page = 0; page < PAGES; page++) {
    const { games: rows, next } = await call(`/v1/games?player=${player}&limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    all += rows.length;
    for (const game of rows) {
      const { status, outcome } = game.effective ?? game;
      if (status !== "finished" || !outcome) continue;
      finished += 1;
      if (outcome.winners.some((/** @type {number} */ seat) => game.seats[seat - 1]?.player_id === player)) won += 1;
      const key = `${game.ruleset.split("@")[0]}/${game.seats[0].hero}`;
      if (game.seats.length === 1 && outcome.scores[0] > (found.get(key)?.score ?? -1)) found.set(key, { game, score: outcome.scores[0], rank: outcome.facts?.rank });
    }
    if (!(cursor = next ?? "")) break;
  }
  by("tally").textContent = say("tally", { games: all, finished, won });
  const rows = [...found.values()].sort((a, b) => b.score - a.score);
  by("best").hidden = !rows.length;
  by("best-rows").replaceChildren(...rows.map(({ game, score, rank }) => {
    const row = element("tr"), cell = element("td");
    cell.append(element("a", String(score), { href: `/games/${game.game_id}/replay` }));
    row.append(element("th", term(game.seats[0].hero), { scope: "row" }), cell, element("td", rank ? term(`rank-${rank}`) : ""));
    return row;
  }));
}

try {
  await games(by("games"), `player=${player}&limit=50`, /** @type {any} */ (document.querySelector(".more")));
  await tally();
} catch (error) { toast(error); }

if (player === me) {
  by("keys").hidden = false;
  by("show").addEventListener("click", () => { by("phrase").textContent = toPhrase(account()); });
  by("take").addEventListener("click", () => {
    try {
      takeAccount(by("typed").value);
      by("typed").value = by("phrase").textContent = "";
      toast(words["keys.taken"]);
    } catch { toast(words["keys.mistyped"]); }
  });
}
