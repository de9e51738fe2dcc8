// Calls the exports of verify.mjs as the tests ask: JSON on standard input [[name, ...args], ...], answers as JSON.
// Bytes travel as {"hex": ...}, big numbers as {"int": ...}; what throws answers {"error": ...}.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import * as verify from "../../service/web/static/verify.mjs";

const { hex, unhex } = verify;
const revive = (key, value) => (value?.hex !== undefined ? unhex(value.hex) : value?.int !== undefined ? BigInt(value.int) : value);
const plain = (key, value) => (value instanceof Uint8Array ? { hex: hex(value) } : typeof value === "bigint" ? { int: String(value) } : value instanceof Map ? Object.fromEntries(value) : value);

const own = {
  draws: (mix, sides) => { const bytes = verify.stream(mix); return sides.map((n) => verify.below(n, bytes)); },
  chain: (game, owner, tail, length) => { let link = tail; for (let k = length; k > 0; k--) link = verify.lower(game, owner, k, link); return link; },
  webcrypto: async (data) => new Uint8Array(await webcrypto.subtle.digest("SHA-256", data)),
  judge: (data, trust, receipts) => verify.verify(data, { ...trust, receipts: new Map(receipts) }),
  again: (data) => verify.encode(verify.decode(data)),
};
const answers = [];
for (const [name, ...args] of JSON.parse(readFileSync(0, "utf8"), revive)) {
  try { answers.push(await (own[name] ?? verify[name])(...args) ?? null); } catch (error) { answers.push({ error: error.message }); }
}
process.stdout.write(JSON.stringify(answers, plain));
