// A player's games and results.
import { by, call, element, games, me, say, term, toast, words } from "./api.mjs";
import { account, takeAccount, toPhrase } from "./seat.mjs";

const player = document.body.dataset.player;
const PAGES = 20;

/** The best game alone with each hero: the API's lists, a page at a time. */
async function best() {
  /** @type {Map<string, any>} */
  const found = new Map();
  let cursor = "";
  for (let page = 0; page < PAGES; page++) {
    const { games: rows, next } = await call(`/v1/games?player=${player}&status=finished&limit=100${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
    for (const game of rows) {
      const [score] = game.outcome?.scores ?? [];
      const key = `${game.ruleset.split("@")[0]}/${game.seats[0].hero}`;
      if (game.seats.length === 1 && score > (found.get(key)?.outcome.scores[0] ?? -1)) found.set(key, game);
    }
    if (!(cursor = next ?? "")) break;
  }
  const rows = [...found.values()].sort((a, b) => b.outcome.scores[0] - a.outcome.scores[0]);
  by("best").hidden = !rows.length;
  by("best-rows").replaceChildren(...rows.map((game) => {
    const row = element("tr");
    const score = element("td");
    score.append(element("a", String(game.outcome.scores[0]), { href: `/games/${game.game_id}/replay` }));
    const { rank } = game.outcome.facts;
    row.append(element("th", term(game.seats[0].hero), { scope: "row" }), score, element("td", rank ? term(`rank-${rank}`) : ""));
    return row;
  }));
}

try {
  const rows = await games(by("games"), `player=${player}&limit=50`, /** @type {any} */ (document.querySelector(".more")));
  const finished = rows.filter((/** @type {any} */ game) => game.status === "finished");
  const won = finished.filter((/** @type {any} */ game) => game.outcome?.winners.some((/** @type {number} */ seat) => game.seats[seat - 1]?.player_id === player));
  by("tally").textContent = say("tally", { games: rows.length, finished: finished.length, won: won.length });
  await best();
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
