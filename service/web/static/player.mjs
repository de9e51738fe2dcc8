// A player's games and results.
import { by, games, say, toast } from "./api.mjs";

const player = document.body.dataset.player;
try {
  const rows = await games(by("games"), `player=${player}&limit=50`, /** @type {any} */ (document.querySelector(".more")));
  const finished = rows.filter((/** @type {any} */ game) => game.status === "finished");
  const won = finished.filter((/** @type {any} */ game) => game.outcome?.winners.some((/** @type {number} */ seat) => game.seats[seat - 1]?.player_id === player));
  by("tally").textContent = say("tally", { games: rows.length, finished: finished.length, won: won.length });
} catch (error) { toast(error); }
