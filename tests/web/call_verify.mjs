// Calls the exports of verify.mjs as the tests ask: JSON on standard input [[name, ...args], ...], answers as JSON.
// Bytes travel as {"hex": ...}, big numbers as {"int": ...}; what throws answers {"error": ...}.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import * as verify from "../../service/web/static/verify.mjs";

const { hex, unhex } = verify;
/** @typedef {verify.Bytes} Bytes */
/** @param {string} _ @param {any} value */
const revive = (_, value) => (value?.hex !== undefined ? unhex(value.hex) : value?.int !== undefined ? BigInt(value.int) : value);
/** @param {string} _ @param {any} value */
const plain = (_, value) => (value instanceof Uint8Array ? { hex: hex(/** @type {Bytes} */ (value)) } : typeof value === "bigint" ? { int: String(value) } : value instanceof Map ? Object.fromEntries(value) : value);

/** What is called: exports, and what is made of them. @type {Record<string, any>} */
const calls = {
  ...verify,
  /** @param {Bytes} mix @param {number[]} sides */
  draws: (mix, sides) => { const bytes = verify.stream(mix); return sides.map((n) => verify.below(n, bytes)); },
  /** @param {Bytes} game @param {number} owner @param {Bytes} tail @param {number} length */
  chain: (game, owner, tail, length) => { let link = tail; for (let k = length; k > 0; k--) link = verify.lower(game, owner, k, link); return link; },
  /** @param {Bytes} data */
  webcrypto: async (data) => new Uint8Array(await webcrypto.subtle.digest("SHA-256", data)),
  /** @param {Bytes} data @param {verify.Trust} trust @param {[string, Bytes][]} receipts */
  judge: (data, trust, receipts) => verify.verify(data, { ...trust, receipts: new Map(receipts) }),
  /** @param {Bytes} data */
  again: (data) => verify.encode(verify.decode(data)),
};
const answers = [];
for (const [name, ...args] of JSON.parse(readFileSync(0, "utf8"), revive)) {
  try { answers.push(await calls[name](...args) ?? null); } catch (error) { answers.push({ error: /** @type {Error} */ (error).message }); }
}
process.stdout.write(JSON.stringify(answers, plain));
