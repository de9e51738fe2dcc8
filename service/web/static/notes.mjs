// What the service signed for this browser, receipts and refusals, by game. The oldest go first.
const ALL = "annals.notes", GAMES = 20, NOTES = 400;

/** @param {string} name @returns {any} */
const read = (name) => JSON.parse(localStorage.getItem(name) ?? "null");
/** @param {string} game */
const place = (game) => `${ALL}.${game}`;

/** The notes of a game, and the keys of which some were seen to be. @param {string} game @returns {{notes: string[], keys: string[]}} */
export const notesOf = (game) => read(place(game)) ?? { notes: [], keys: [] };

/** Keep a note. Its third line is the game. @param {string | undefined} note */
export function keepNote(note) {
  const game = note?.split("\n")[2];
  if (!note || !game) return;
  const kept = notesOf(game);
  if (kept.notes.includes(note)) return;
  const games = [...(read(ALL) ?? []).filter((/** @type {string} */ one) => one !== game), game];
  for (const old of games.splice(0, Math.max(0, games.length - GAMES))) localStorage.removeItem(place(old));
  put(ALL, games);
  put(place(game), { ...kept, notes: [...kept.notes, note].slice(-NOTES) });
}

/** Remember a key that signs. @param {string} game @param {string} key */
export function keepKey(game, key) {
  const kept = notesOf(game);
  if (!kept.keys.includes(key)) put(place(game), { ...kept, keys: [...kept.keys, key] });
}

/** @param {string} name @param {any} value */
function put(name, value) {
  try { localStorage.setItem(name, JSON.stringify(value)); } catch { /* full, or not to be had: then it is not kept, and not said to be */ }
}
