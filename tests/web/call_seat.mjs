// A seat in self-custody under node: reads a request as JSON from standard input, writes its answer.
import { readFileSync } from "node:fs";
import { Follower, Seat, fromPhrase, toPhrase } from "../../service/web/static/seat.mjs";
import { hex, unbase64 } from "../../service/web/static/verify.mjs";

const asked = JSON.parse(readFileSync(0, "utf8"));
const follower = new Follower(asked.game, async (after) => (after ? new Uint8Array() : unbase64(asked.stored)));
const secret = fromPhrase(asked.phrase);
/** @type {{phrase: string, sent?: any, error?: string}} */
const answer = { phrase: toPhrase(secret) };
if (asked.join) {
  const seat = await Seat.fresh(follower, secret, asked.seat);
  answer.sent = await seat.join(asked.join, null);
} else {
  const seat = await Seat.resume(follower, secret, asked.seat);
  try { answer.sent = seat && (await seat.next(asked.kind, asked.name ?? null, asked.args ?? {})); } catch (error) { answer.error = /** @type {Error} */ (error).message; }
}
Object.assign(answer, { version: follower.version, head: hex(follower.head), rolls: follower.rolls, findings: follower.findings });
process.stdout.write(JSON.stringify(answer));
