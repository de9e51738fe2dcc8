// What this browser checks of a game while it is played, and the seats whose keys it keeps.
import { call, element, say, words } from "./api.mjs";
import { keepKey, notesOf } from "./notes.mjs";
import { Follower, STORED, Seat, account, hasAccount } from "./seat.mjs";
import { BadNote, able, openNote, parsePolicy, parseVkey, utf8 } from "./verify.mjs";

/** @param {string} path @param {Record<string, string>} [headers] @returns {Promise<import("./verify.mjs").Bytes>} */
async function bytes(path, headers = {}) {
  const answer = await fetch(path, { headers });
  if (!answer.ok) throw new TypeError(String(answer.status)); // to be tried again, as a lost connection
  return new Uint8Array(await answer.arrayBuffer());
}

export class Keeper {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.api = `/v1/games/${id}`;
    this.follower = new Follower(id, (after) => bytes(`${this.api}/events?after=${after}`, { Accept: STORED }));
    /** @type {Map<number, Seat | null>} null: the key is not in this browser */
    this.seats = new Map();
    /** Notes of the service that were found good. @type {Set<string>} */
    this.good = new Set();
  }
  /** The keys of those of the caller's seats that are in self-custody. @param {any} game @param {number[]} mine */
  async resume(game, mine) {
    for (const number of mine) {
      if (game.seats[number - 1].custody !== "self") this.seats.delete(number);
      else if (!this.seats.get(number)) this.seats.set(number, hasAccount() && await able() ? await Seat.resume(this.follower, account(), number) : null);
    }
  }
  /** Does the seat sign? @param {number | null} number */
  signs(number) { return number !== null && this.seats.has(number); }
  /** Is the key of a seat that signs somewhere else? @param {number | null} number */
  lacks(number) { return number !== null && this.seats.get(number) === null; }

  /** Sit down and keep the key. The log of games must say first that the table was opened. @param {number} number @param {any} choice */
  async join(number, choice) {
    if (!await able()) throw new Error(words["keys.unable"]);
    const seat = await Seat.fresh(this.follower, account(), number);
    const sent = await seat.join(choice, await this.logged());
    const game = await call(`${this.api}/seats`, sent);
    this.seats.set(number, seat);
    return game;
  }
  /** The checkpoint in which the table's opening stands; null: this service has no log. @returns {Promise<[number, import("./verify.mjs").Bytes] | null>} */
  async logged() {
    const answer = await fetch(`${this.api}/proofs/open?wait=8`);
    if (answer.status === 404) return null;
    if (!answer.ok) throw new TypeError(String(answer.status));
    return this.follower.openedInLog(new Uint8Array(await answer.arrayBuffer()), await bytes("/v1/log/policy"));
  }
  /** The body to send for what a seat does: signed where it is to be. @param {number} number @param {"act" | "reveal" | "resign" | "signoff"} kind @param {any} [action] */
  async signed(number, kind, action) {
    const seat = this.seats.get(number);
    if (!seat) throw new Error(words["keys.missing"]);
    const { type = null, ...args } = action ?? {};
    return seat.next(kind, type, args);
  }
  /** The mark: what was checked here so far. @returns {Promise<HTMLElement>} */
  async mark() {
    await this.follower.catchUp();
    const { version, rolls, findings: [wrong] } = this.follower;
    if (wrong && !await able()) return element("span", words["keys.unable"], { class: "dim" }); // signed by a seat: nothing is said of it
    const facts = wrong ? say("keys.broken", { number: wrong.event, detail: wrong.detail }) : say("keys.checked", { events: version, rolls });
    const mark = element("span", `${wrong ? "⚠" : "✓"} ${facts}`, { class: wrong ? "wrong" : "dim", "data-checked": String(wrong ? 0 : version) });
    const { kept, bad } = await this.receipts();
    if (bad) mark.append(" ", element("span", `⚠ ${say("receipts.broken", { number: bad })}`, { class: "wrong", "data-receipts": "0" }));
    else if (kept) mark.append(" ", element("span", `✓ ${say("receipts.kept", { count: kept })}`, { "data-receipts": String(kept) }));
    return mark;
  }
  /** How many receipts this browser holds of events that it saw, and the first that the chain contradicts: its event.
   * @returns {Promise<{kept: number, bad: number}>} */
  async receipts() {
    const { notes, keys } = notesOf(this.id), { version, hashes } = this.follower;
    let kept = 0;
    for (const note of notes) {
      const lines = note.split("\n\n")[0].split("\n"), receipt = lines[0] === "annals/1 receipt", seq = Number(lines[receipt ? 3 : 4]);
      if (seq > version) continue; // of what was not fetched yet
      if (hashes[seq] !== lines[receipt ? 4 : 5]) return { kept, bad: seq };
      if (!this.good.has(note)) {
        try {
          const key = parsePolicy(await bytes("/v1/log/policy")).receipts; // what it says now; what it said before counts as well
          const known = [...new Set([...keys, ...(key ? [key.vkey] : [])])].map(parseVkey);
          for (const { vkey } of (await openNote(utf8(note), known)).signers) keepKey(this.id, vkey);
        } catch (error) {
          if (error instanceof BadNote) return { kept, bad: seq };
          return { kept: 0, bad: 0 }; // this browser cannot check signatures, or the connection is lost
        }
        this.good.add(note);
      }
      if (receipt) kept += 1;
    }
    return { kept, bad: 0 };
  }
}
