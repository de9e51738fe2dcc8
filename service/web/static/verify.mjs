// @ts-check
// The second verifier: checks an audit bundle in a browser or in node, without the server, without its code, without the
// engine. docs/event-format.md says what the bytes mean, docs/audit.md what each check shows.
//
//     node verify.mjs BUNDLE --policy FILE [--receipts-key VKEY] [--strict] [--json]
//     import { verify } from "./verify.mjs";

/** @typedef {Uint8Array<ArrayBuffer>} Bytes */
const { process } = /** @type {any} */ (globalThis); // node has one

// -- bytes

const encoder = new TextEncoder(), decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** @param {string} text */
export const utf8 = (text) => encoder.encode(text);
/** Text of UTF-8 bytes; throws what is not UTF-8. @param {Bytes} data */
const text = (data) => decoder.decode(data);
/** @param {...Bytes} parts */
export function cat(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) { all.set(part, at); at += part.length; }
  return all;
}
/** @param {Bytes} a @param {Bytes} b */
export function compare(a, b) {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}
/** @param {any} value @returns {value is Bytes} */
const isBytes = (value) => value instanceof Uint8Array;
/** @param {any} a @param {any} b */
export const same = (a, b) => isBytes(a) && isBytes(b) && compare(a, b) === 0;
/** @param {Bytes} data */
export const hex = (data) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
/** @param {string} digits */
export const unhex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
/** @param {Bytes} data */
export const base64 = (data) => btoa(latin1(data));
/** Standard base64 in its one canonical form; anything else throws. @param {string} line */
export function unbase64(line) {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(line) || btoa(atob(line)) !== line) throw new Error("not canonical base64");
  return bytesOf(atob(line));
}
/** @param {number} bytes @param {number | bigint} value */
export function uint(bytes, value) {
  const out = new Uint8Array(bytes);
  for (let i = bytes - 1, rest = BigInt(value); i >= 0; i--, rest >>= 8n) out[i] = Number(rest & 255n);
  return out;
}
const EMPTY = new Uint8Array();
/** Bytes as text that keeps each of them. @param {Iterable<number>} data */
const latin1 = (data) => Array.from(data, (byte) => String.fromCharCode(byte)).join("");
/** @param {string} chars */
const bytesOf = (chars) => Uint8Array.from(chars, (char) => char.charCodeAt(0));

// -- SHA-256, HMAC, HKDF (FIPS 180-4, RFC 2104, RFC 5869): synchronous, so that a chain of 4,096 links is a loop

/** First 32 bits of the fractional parts of the `root`-th roots of the first `count` primes. @param {number} count @param {number} root */
function constants(count, root) {
  const found = [];
  for (let n = 2; found.length < count; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (prime) found.push(Math.floor(((root === 2 ? Math.sqrt(n) : Math.cbrt(n)) % 1) * 2 ** 32) | 0);
  }
  return Int32Array.from(found);
}
const K = constants(64, 3), START = constants(8, 2), W = new Int32Array(64);

/** @param {...Bytes} parts */
export function sha256(...parts) {
  const data = cat(...parts), padded = new Uint8Array(((data.length + 72) >> 6) << 6), state = Int32Array.from(START);
  padded.set(data);
  padded[data.length] = 128;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(data.length / 2 ** 29));
  view.setUint32(padded.length - 4, data.length << 3);
  for (let at = 0; at < padded.length; at += 64) {
    for (let i = 0; i < 16; i++) W[i] = view.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = W[i - 15], y = W[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      W[i] = W[i - 16] + s0 + W[i - 7] + s1;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0, t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d; state[4] += e; state[5] += f; state[6] += g; state[7] += h;
  }
  const out = new DataView(new ArrayBuffer(32));
  state.forEach((word, i) => out.setInt32(4 * i, word));
  return new Uint8Array(out.buffer);
}
/** @param {Bytes} key @param {...Bytes} parts */
export function hmac(key, ...parts) {
  const block = new Uint8Array(64);
  block.set(key.length > 64 ? sha256(key) : key);
  return sha256(block.map((byte) => byte ^ 0x5c), sha256(block.map((byte) => byte ^ 0x36), ...parts));
}
/** @param {Bytes} secret @param {Bytes} salt @param {Bytes} info @param {number} length */
export function hkdf(secret, salt, info, length) {
  if (length > 255 * 32) throw new Error("HKDF gives at most 8160 bytes");
  const key = hmac(salt, secret);
  let block = EMPTY, out = EMPTY;
  for (let i = 1; out.length < length; i++) out = cat(out, block = hmac(key, block, info, uint(1, i)));
  return out.subarray(0, length);
}
/** `TAG(name)` @param {string} name */
export const tag = (name) => utf8(`annals/1:${name}\0`);
/** `L(data)` @param {Bytes} data */
export const sized = (data) => cat(uint(2, data.length), data);

// -- MP-C1: MessagePack with one encoding for each value. Maps are Map, bin is Uint8Array, an int beyond 2^53 a bigint --

export const EVENT_LIMIT = 65_535, MAX_DEPTH = 16;

/** The value whose only encoding is `data`; throws on anything else. @param {Bytes} data @param {number} [limit] @returns {any} */
export function decode(data, limit = EVENT_LIMIT) {
  if (data.length > limit) throw new Error(`${data.length} bytes, at most ${limit} are allowed`);
  let at = 0;
  /** @param {number} size */
  const take = (size) => {
    if (at + size > data.length) throw new Error("the bytes end too early");
    at += size;
    return data.subarray(at - size, at);
  };
  /** An unsigned number of so many bytes, at least `least`: a smaller one has a shorter form. @param {number} bytes @param {number} least @returns {any} */
  const number = (bytes, least) => {
    let value = 0n;
    for (const byte of take(bytes)) value = (value << 8n) | BigInt(byte);
    if (value < BigInt(least)) throw new Error("a longer form than needed");
    return small(value);
  };
  /** @param {number} bytes @param {number} below */
  const negative = (bytes, below) => {
    const value = BigInt.asIntN(8 * bytes, BigInt(number(bytes, 0)));
    if (value >= BigInt(below)) throw new Error("a longer form than needed");
    return small(value);
  };
  /** @param {number} count @param {number} depth */
  const array = (count, depth) => {
    if (depth > MAX_DEPTH) throw new Error("nested too deep");
    if (count > data.length - at) throw new Error("the bytes end too early");
    return Array.from({ length: count }, () => value(depth + 1));
  };
  /** @param {number} count @param {number} depth */
  const map = (count, depth) => {
    if (depth > MAX_DEPTH) throw new Error("nested too deep");
    const found = new Map();
    /** @type {Bytes | null} */
    let before = null;
    for (let i = 0; i < count; i++) {
      const start = at, key = value(depth + 1);
      if (typeof key !== "string") throw new Error("map keys must be strings");
      const bytes = utf8(key);
      if (before && compare(before, bytes) >= 0) throw new Error("map keys out of order, at " + start);
      before = bytes;
      found.set(key, value(depth + 1));
    }
    return found;
  };
  /** @param {number} depth @returns {any} */
  const value = (depth) => {
    const head = take(1)[0];
    if (head < 0x80) return head;
    if (head >= 0xe0) return head - 256;
    if (head < 0x90) return map(head & 15, depth);
    if (head < 0xa0) return array(head & 15, depth);
    if (head < 0xc0) return text(take(head & 31));
    switch (head) {
      case 0xc0: return null;
      case 0xc2: return false;
      case 0xc3: return true;
      case 0xc4: return take(+number(1, 0)).slice();
      case 0xc5: return take(+number(2, 256)).slice();
      case 0xc6: return take(+number(4, 65_536)).slice();
      case 0xcc: return number(1, 128);
      case 0xcd: return number(2, 256);
      case 0xce: return number(4, 65_536);
      case 0xcf: return number(8, 2 ** 32);
      case 0xd0: return negative(1, -32);
      case 0xd1: return negative(2, -128);
      case 0xd2: return negative(4, -32_768);
      case 0xd3: return negative(8, -(2 ** 31));
      case 0xd9: return text(take(+number(1, 32)));
      case 0xda: return text(take(+number(2, 256)));
      case 0xdb: return text(take(+number(4, 65_536)));
      case 0xdc: return array(+number(2, 16), depth);
      case 0xdd: return array(+number(4, 65_536), depth);
      case 0xde: return map(+number(2, 16), depth);
      case 0xdf: return map(+number(4, 65_536), depth);
      default: throw new Error(`type 0x${head.toString(16)} is not allowed`);
    }
  };
  const found = value(1);
  if (at !== data.length) throw new Error("bytes after the value");
  return found;
}
/** @param {bigint} value */
const small = (value) => (value >= -(2n ** 53n) && value <= 2n ** 53n ? Number(value) : value);

/** The MP-C1 bytes of a value; plain objects count as maps. @param {any} value @param {number} [depth] @returns {Bytes} */
export function encode(value, depth = 1) {
  if (value === null) return uint(1, 0xc0);
  if (typeof value === "boolean") return uint(1, value ? 0xc3 : 0xc2);
  if (typeof value === "number" || typeof value === "bigint") {
    const n = BigInt(value);
    if (n >= 0n) {
      if (n < 128n) return uint(1, n);
      for (const [power, head] of [[1, 0xcc], [2, 0xcd], [4, 0xce], [8, 0xcf]]) if (n < 1n << BigInt(8 * power)) return cat(uint(1, head), uint(power, n));
    } else {
      if (n >= -32n) return uint(1, 256n + n);
      for (const [power, head] of [[1, 0xd0], [2, 0xd1], [4, 0xd2], [8, 0xd3]]) if (n >= -(1n << BigInt(8 * power - 1))) return cat(uint(1, head), uint(power, n));
    }
    throw new Error("an int beyond 64 bits");
  }
  /** @param {number} size @param {number} short @param {number} most @param {number[]} heads */
  const head = (size, short, most, heads) => {
    if (size < most) return uint(1, short + size);
    const power = size < 256 && heads.length === 3 ? 0 : size < 65_536 ? 1 : 2;
    return cat(uint(1, heads[heads.length - 3 + power]), uint(2 ** power, size));
  };
  if (typeof value === "string") {
    const bytes = utf8(value);
    if (text(bytes) !== value) throw new Error("a lone surrogate");
    return cat(head(bytes.length, 0xa0, 32, [0xd9, 0xda, 0xdb]), bytes);
  }
  if (isBytes(value)) return cat(head(value.length, 0, 0, [0xc4, 0xc5, 0xc6]), value);
  if (depth > MAX_DEPTH) throw new Error("nested too deep");
  if (Array.isArray(value)) return cat(head(value.length, 0x90, 16, [0xdc, 0xdd]), ...value.map((item) => encode(item, depth + 1)));
  const entries = [...(value instanceof Map ? value : Object.entries(value))].sort((a, b) => compare(utf8(a[0]), utf8(b[0])));
  return cat(head(entries.length, 0x80, 16, [0xde, 0xdf]), ...entries.flatMap(([key, item]) => [encode(key), encode(item, depth + 1)]));
}

// -- dice

/** `c[k-1]` from `c[k]`. @param {Bytes} game @param {number} owner @param {number} k @param {Bytes} link */
export const lower = (game, owner, k, link) => sha256(tag("chain"), sized(game), uint(1, owner), uint(4, k), link);
/** `M_0`; `owners` are [owner, c[0], c[1]], the server first. @param {Bytes} game @param {[number, Bytes, Bytes][]} owners */
export function setupMix(game, owners) {
  const salt = sha256(tag("setup"), sized(game), ...owners.flatMap(([owner, commitment]) => [uint(1, owner), commitment]));
  return hmac(salt, ...owners.flatMap(([owner, , first]) => [uint(1, owner), first]));
}
/** `M_j` @param {Bytes} mix @param {number} j @param {number} seat @param {Bytes} seatLink @param {Bytes} serverLink */
export const rollMix = (mix, j, seat, seatLink, serverLink) =>
  hmac(mix, tag("roll"), uint(4, j), uint(1, seat), sized(seatLink), sized(serverLink));
/** The byte stream of one event. @param {Bytes} mix */
export function* stream(mix) {
  for (let b = 0; ; b++) yield* hmac(mix, tag("dice"), uint(4, b));
}
/** A number in [0, n), each as likely as the others. @param {number} n @param {Iterator<number>} bytes */
export function below(n, bytes) {
  let size = 1;
  while (256 ** size < n) size++;
  for (;;) {
    let v = 0;
    for (let i = 0; i < size; i++) v = v * 256 + bytes.next().value;
    if (v < 256 ** size - (256 ** size % n)) return v % n;
  }
}

// -- Ed25519: what libsodium refuses is refused here first, then the platform decides

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n, PRIME = 2n ** 255n - 19n;
/** @param {Bytes} data */
const littleEndian = (data) => BigInt("0x" + hex(data.slice().reverse()));
/** y of the points of order 1, 2, 4 and 8. */
const LOW_ORDER = new Set([0n, 1n, PRIME - 1n,
  littleEndian(unhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")),
  littleEndian(unhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"))]);

/** A canonical encoding, and not of low order. @param {Bytes} point */
export function usablePoint(point) {
  const y = littleEndian(point) & (2n ** 255n - 1n);
  return point.length === 32 && y < PRIME && !LOW_ORDER.has(y);
}
/** Is it of the group's prime order, too? Asked of the keys that somebody pins. @param {Bytes} point */
export function primeOrder(point) {
  if (!usablePoint(point)) return false;
  const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
  /** @param {bigint} n */
  const mod = (n) => ((n % PRIME) + PRIME) % PRIME;
  /** @param {bigint} base @param {bigint} exponent */
  const power = (base, exponent) => {
    let out = 1n;
    for (; exponent; exponent >>= 1n, base = mod(base * base)) if (exponent & 1n) out = mod(out * base);
    return out;
  };
  const y = littleEndian(point) & (2n ** 255n - 1n), u = mod(y * y - 1n), v = mod(D * y * y + 1n);
  let x = mod(u * power(v, 3n) * power(u * power(v, 7n), (PRIME - 5n) / 8n)); // RFC 8032, 5.1.3
  if (mod(v * x * x) !== u) x = mod(x * power(2n, (PRIME - 1n) / 4n));
  if (mod(v * x * x) !== u) return false;
  /** Extended coordinates X, Y, Z, T. @param {bigint[]} a @param {bigint[]} b */
  const add = ([x1, y1, z1, t1], [x2, y2, z2, t2]) => {
    const a = (y1 - x1) * (y2 - x2), b = (y1 + x1) * (y2 + x2), c = 2n * D * t1 * t2, d = 2n * z1 * z2;
    const [e, f, g, h] = [b - a, d - c, d + c, b + a].map(mod);
    return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
  };
  let sum = [0n, 1n, 1n, 0n], twice = [x, y, 1n, mod(x * y)];
  for (let n = ORDER; n; n >>= 1n, twice = add(twice, twice)) if (n & 1n) sum = add(sum, twice);
  return sum[0] === 0n && sum[1] === sum[2];
}
/** @param {Bytes} key @param {Bytes} message @param {Bytes} signature @returns {Promise<boolean>} */
export async function ed25519(key, message, signature) {
  if (signature.length !== 64 || key.length !== 32 || !usablePoint(key) || !usablePoint(signature.subarray(0, 32))) return false;
  if (littleEndian(signature.subarray(32)) >= ORDER) return false;
  const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // node 18 has it there
  const imported = await subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
  return subtle.verify("Ed25519", imported, signature, message);
}
/** Can signatures be checked here? Not by browsers without Ed25519, nor in a page that came without TLS from another machine. */
export async function able() {
  try { return Boolean(await globalThis.crypto.subtle.importKey("raw", unhex("58" + "66".repeat(31)), "Ed25519", false, ["verify"])); } catch { return false; }
}
/** What a seat signs: DSSE 1.0.0. @param {Bytes} action */
export const actionMessage = (action) => cat(utf8(`DSSEv1 40 application/vnd.annals.action.v1+msgpack ${action.length} `), action);

// -- signed notes, checkpoints, policies (C2SP signed-note, tlog-checkpoint, tlog-cosignature, tlog-policy)

/** @typedef {{name: string, id: string, kind: number, key: Bytes, vkey: string}} Verifier */
/** Why a note is not believed. */
export class BadNote extends Error {}
/** No known key signed it. */
export class Unverified extends BadNote {}
/** @param {string} name */
const isName = (name) => name !== "" && !/[\p{White_Space}\x00-\x1f+]/u.test(name);
/** @param {string} name @param {number} kind @param {Bytes} key */
const keyId = (name, kind, key) => hex(sha256(utf8(name + "\n"), uint(1, kind), key).subarray(0, 4));

/** @param {string} vkey @returns {Verifier} */
export function parseVkey(vkey) {
  const [, name, id, material] = vkey.match(/^([^+]*)\+([0-9a-f]{8})\+([^]*)$/) ?? [];
  if (!material || !isName(name)) throw new Error("not name, key id and key with plus signs between them");
  const [kind, ...rest] = unbase64(material), key = Uint8Array.from(rest);
  if (kind !== 1 && kind !== 4) throw new Error(`signature type ${kind} is not known here`);
  if (!primeOrder(key)) throw new Error("not an Ed25519 key of the group's prime order");
  if (keyId(name, kind, key) !== id) throw new Error("the key id is not this key's");
  return { name, id, kind, key, vkey };
}

/** A note's text and its signature lines, none verified. @param {Bytes} data */
function splitNote(data) {
  let whole;
  try { whole = text(data); } catch { throw new BadNote("not UTF-8"); }
  const cut = whole.lastIndexOf("\n\n") + 1, lines = whole.slice(cut + 1, -1).split("\n");
  if (cut === 0 || !whole.endsWith("\n") || /[\x00-\x09\x0b-\x1f]/.test(whole)) throw new BadNote("not the form of a signed note");
  if (lines.length > 100) throw new BadNote("more than 100 signatures");
  const signatures = lines.map((line) => {
    const [, name, code] = line.match(/^— ([^ ]+) ([^ ]+)$/) ?? [];
    try {
      const bytes = unbase64(code);
      if (isName(name) && bytes.length >= 5) return { name, id: hex(bytes.subarray(0, 4)), bytes: bytes.subarray(4) };
    } catch { /* said below */ }
    throw new BadNote("a signature line is malformed");
  });
  return { body: whole.slice(0, cut), signatures };
}
/** Verify a note; lines of unknown keys are passed over. @param {Bytes} data @param {Iterable<Verifier>} verifiers */
export async function openNote(data, verifiers) {
  const { body, signatures } = splitNote(data);
  /** @type {Verifier[]} */
  const signers = [], known = [...verifiers];
  for (const { name, id, bytes } of signatures) {
    const match = known.find((one) => one.name === name && one.id === id);
    if (!match) continue;
    if (signers.includes(match)) throw new BadNote(`two signatures of ${name}`);
    let signature = bytes, message = body;
    if (match.kind === 4) {
      const time = BigInt("0x0" + hex(bytes.subarray(0, 8)));
      [signature, message] = [bytes.subarray(8), `cosignature/v1\ntime ${time}\n${body}`];
      if (time >= 2n ** 63n) throw new BadNote(`the cosignature of ${name} has no possible time`);
    }
    if (!(await ed25519(match.key, utf8(message), signature))) throw new BadNote(`the signature of ${name} does not verify`);
    signers.push(match);
  }
  if (!signers.length) throw new Unverified(`no known key signed it, only ${signatures.map(({ name }) => name).join(", ")}`);
  return { text: body, signers };
}

/** @param {string} digits */
function decimal(digits) {
  if (!/^(0|[1-9][0-9]{0,18})$/.test(digits) || BigInt(digits) >= 2n ** 63n) throw new Error("not a decimal number");
  return BigInt(digits);
}
/** @param {string} line */
function hash(line) {
  const bytes = unbase64(line);
  if (bytes.length !== 32) throw new Error("not a hash of 32 bytes");
  return bytes;
}
/** The text of a checkpoint: origin, size, root, and nothing else. @param {string} body */
export function parseCheckpoint(body) {
  const lines = body.split("\n");
  if (lines.length !== 4 || !lines[0] || lines[3]) throw new Error("not three lines");
  const found = { origin: lines[0], size: decimal(lines[1]), root: hash(lines[2]) };
  if (!found.size && !same(found.root, EMPTY_ROOT)) throw new Error("a tree without leaves has another root");
  return found;
}

/** @typedef {{logs: Verifier[], witnesses: Map<string, Verifier>, groups: Map<string, {least: number, members: string[]}>, quorum: string, receipts: Verifier | null}} Policy */
/** A tlog-policy; the comment `# annals-receipts VKEY` pins the key of receipts. @param {Bytes} data @returns {Policy} */
export function parsePolicy(data) {
  if (data.some((byte) => (byte < 32 && byte !== 9 && byte !== 10) || byte === 127)) throw new Error("a control character");
  /** @type {Policy} */
  const policy = { logs: [], witnesses: new Map(), groups: new Map(), quorum: "", receipts: null };
  const used = new Set();
  let said = 0;
  /** @param {string} name */
  const named = (name) => policy.witnesses.has(name) || policy.groups.has(name);
  /** @param {string} vkey @param {number} kind @param {Iterable<Verifier>} others */
  const fresh = (vkey, kind, others) => {
    const one = parseVkey(text(bytesOf(vkey)));
    if (one.kind !== kind || [...others].some((other) => same(other.key, one.key))) throw new Error(`a key of another type, or one twice: ${vkey}`);
    return one;
  };
  for (const line of latin1(data).split("\n")) {
    const receipts = line.match(/^[ \t]*#[ \t]*annals-receipts[ \t]+([^ \t]+)[ \t]*$/);
    if (receipts && policy.receipts) throw new Error("a second key of receipts");
    if (receipts) policy.receipts = fresh(receipts[1], 1, []);
    const [word, ...rest] = line.split(/[ \t]+/).filter(Boolean);
    if (word === undefined || word.startsWith("#")) continue;
    if (++said > 1000) throw new Error("more than 1000 lines");
    if (word === "log" && (rest.length === 1 || rest.length === 2)) policy.logs.push(fresh(rest[0], 1, policy.logs));
    else if (word === "witness" && (rest.length === 2 || rest.length === 3)) {
      if (rest[0] === "none" || named(rest[0])) throw new Error(`the name ${rest[0]} is taken`);
      policy.witnesses.set(rest[0], fresh(rest[1], 4, policy.witnesses.values()));
    } else if (word === "group" && rest.length >= 3) {
      const [name, word, ...members] = rest, least = word === "any" ? 1 : word === "all" ? members.length : Number(/^[1-9][0-9]{0,5}$/.test(word) && word);
      if (name === "none" || named(name) || least < 1 || least > members.length) throw new Error(`not a group: ${line}`);
      for (const member of members) {
        if (!named(member) || used.has(member)) throw new Error(`not a member: ${member}`);
        used.add(member);
      }
      policy.groups.set(name, { least, members });
    } else if (word === "quorum" && rest.length === 1 && !policy.quorum && (rest[0] === "none" || named(rest[0]))) policy.quorum = rest[0];
    else throw new Error(`not a line of a policy: ${line}`);
  }
  if (!policy.quorum) throw new Error("no quorum");
  return policy;
}
/** @param {Policy} policy @param {Verifier[]} signers @returns {boolean} */
export function quorumMet(policy, signers, name = policy.quorum) {
  const witness = policy.witnesses.get(name), group = policy.groups.get(name);
  if (witness) return signers.includes(witness);
  return !group || group.members.filter((member) => quorumMet(policy, signers, member)).length >= group.least;
}

// -- Merkle tree (RFC 6962; verification as in RFC 9162, 2.1.3.2 and 2.1.4.2), tlog-proof

const EMPTY_ROOT = sha256();
/** @param {Bytes} entry */
export const leafHash = (entry) => sha256(uint(1, 0), entry);
/** @param {Bytes} left @param {Bytes} right */
export const nodeHash = (left, right) => sha256(uint(1, 1), left, right);
/** Is the leaf at `index` of the tree? @param {Bytes} leaf @param {bigint} index @param {bigint} size @param {Bytes[]} path @param {Bytes} root */
export function included(leaf, index, size, path, root) {
  if (index < 0n || index >= size || leaf.length !== 32) return false;
  let fn = index, sn = size - 1n, r = leaf;
  for (const p of path) {
    if (sn === 0n || p.length !== 32) return false;
    if (fn & 1n || fn === sn) {
      r = nodeHash(p, r);
      while (!(fn & 1n) && fn) { fn >>= 1n; sn >>= 1n; }
    } else r = nodeHash(r, p);
    fn >>= 1n; sn >>= 1n;
  }
  return sn === 0n && same(r, root);
}
/** Is the second tree the first one, grown? @param {bigint} first @param {Bytes} firstRoot @param {bigint} second @param {Bytes} secondRoot @param {Bytes[]} path */
export function consistent(first, firstRoot, second, secondRoot, path) {
  if (first < 0n || first > second || [firstRoot, secondRoot, ...path].some((p) => p.length !== 32)) return false;
  if (first === second || first === 0n) return path.length === 0 && (first === second ? same(firstRoot, secondRoot) : same(firstRoot, EMPTY_ROOT));
  if (!path.length) return false;
  let fn = first - 1n, sn = second - 1n;
  const rest = (first & fn) === 0n ? [firstRoot, ...path] : path;
  while (fn & 1n) { fn >>= 1n; sn >>= 1n; }
  let fr = rest[0], sr = rest[0];
  for (const c of rest.slice(1)) {
    if (sn === 0n) return false;
    if (fn & 1n || fn === sn) {
      fr = nodeHash(c, fr);
      sr = nodeHash(c, sr);
      while (!(fn & 1n) && fn) { fn >>= 1n; sn >>= 1n; }
    } else sr = nodeHash(sr, c);
    fn >>= 1n; sn >>= 1n;
  }
  return sn === 0n && same(fr, firstRoot) && same(sr, secondRoot);
}
/** The lines before the first empty one, and the checkpoint behind it. @param {Bytes} data @returns {[string[], Bytes]} */
function beforeCheckpoint(data) {
  const at = data.findIndex((byte, i) => byte === 10 && data[i + 1] === 10), head = data.subarray(0, at);
  if (at < 0 || data.length > 2 ** 20 || head.some((byte) => byte > 127)) throw new Error("no proof before a checkpoint");
  splitNote(data.subarray(at + 2));
  return [text(head).split("\n"), data.subarray(at + 2)];
}
/** `c2sp.org/tlog-proof@v1` @param {Bytes} data */
export function parseProof(data) {
  const [lines, checkpoint] = beforeCheckpoint(data);
  if (lines.shift() !== "c2sp.org/tlog-proof@v1") throw new Error("not a tlog-proof");
  const extra = lines[0]?.startsWith("extra ") ? unbase64(/** @type {string} */ (lines.shift()).slice(6)) : null;
  const index = lines.shift() ?? "";
  if (!index.startsWith("index ") || lines.length > 64) throw new Error("no index, or too many hashes");
  return { extra, index: decimal(index.slice(6)), path: lines.map(hash), checkpoint };
}
/** A consistency file: `old SIZE`, hashes, an empty line, the newer checkpoint. @param {Bytes} data */
export function parseConsistency(data) {
  const [lines, checkpoint] = beforeCheckpoint(data), old = lines.shift() ?? "";
  if (!old.startsWith("old ") || lines.length > 64) throw new Error("no old size, or too many hashes");
  return { old: decimal(old.slice(4)), path: lines.map(hash), checkpoint };
}

// -- the container: a zip file of which every byte has one meaning (docs/audit-bundle.md)

const ENTRIES = 256, UNPACKED = 64 * 1024 * 1024;
const NAMES = /^(manifest\.json|manifest\.note|events\.bin|(open|close)\.(entry|tlog-proof)|consistency\.txt|gossip\/[0-9]{4}\.txt|receipts\/[A-Za-z0-9._-]{1,64}\.note|state\.json|report\.json|keys\.txt|README\.txt)$/;

const CRC = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
/** @param {Bytes} data */
function crc32(data) {
  let crc = -1;
  for (const byte of data) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** At most `size` bytes out of raw deflate (RFC 1951). @param {Bytes} data @param {number} size @returns {Promise<Bytes>} */
async function unpack(data, size) {
  if (process) return new Uint8Array((await import("node:zlib")).inflateRawSync(data, { maxOutputLength: size || 1 }));
  const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader(), parts = [];
  for (let read = 0, part; (part = await reader.read()).value; parts.push(part.value)) {
    if ((read += part.value.length) > size) {
      await reader.cancel();
      throw new RangeError("more than it says");
    }
  }
  return cat(...parts);
}
/** Exactly `size` bytes, and from every byte of `data`: without the last one it must break off. @param {Bytes} data @param {number} size */
export async function inflate(data, size) {
  const content = await unpack(data, size);
  if (content.length !== size || await unpack(data.subarray(0, -1), size).then(() => true, () => false)) throw new Error("not what it says when unpacked");
  return content;
}

/** The entries of a zip file by name; throws on every other file. @param {Bytes} data @returns {Promise<Map<string, Bytes>>} */
export async function unzip(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.length), end = data.length - 22;
  /** @param {number} at */
  const u16 = (at) => view.getUint16(at, true);
  /** @param {number} at */
  const u32 = (at) => view.getUint32(at, true);
  if (end < 0 || data.length > UNPACKED + ENTRIES * 1024) throw new Error("not of the size of a bundle");
  const count = u16(end + 10), start = u32(end + 16);
  if (u32(end) !== 0x06054b50 || u32(end + 4) || u16(end + 8) !== count || u16(end + 20)) throw new Error("not a zip file, or something behind its end");
  if (!count || count > ENTRIES || start + u32(end + 12) !== end) throw new Error(`not 1 to ${ENTRIES} entries before their directory`);
  /** @type {{name: string, method: number, packed: number, size: number, offset: number, crc: number, shared: Bytes}[]} */
  const entries = [];
  let place = start, total = 0;
  for (let i = 0; i < count; i++) {
    const at = place, length = at + 46 <= end ? u16(at + 28) : Infinity;
    place += 46 + length;
    if (place > end || u32(at) !== 0x02014b50 || u32(at + 30) || u16(at + 34)) throw new Error("an entry of another sort than a bundle has");
    const name = String.fromCharCode(...data.subarray(at + 46, place)), [packed, size, offset] = [u32(at + 20), u32(at + 24), u32(at + 42)];
    if (!NAMES.test(name) || entries.some((entry) => entry.name === name)) throw new Error(`no bundle has an entry ${JSON.stringify(name)}, or not twice`);
    const method = u16(at + 10), attributes = u32(at + 38);
    if (u16(at + 6) > 20 || u16(at + 8) & ~0x0806 || ![0, 8].includes(method)) throw new Error(`${name} is not packed as in a bundle`);
    if (![0, 8].includes(attributes >>> 28) || attributes & 16 || [packed, size, offset].includes(0xffffffff)) throw new Error(`${name} is no plain file`);
    entries.push({ name, method, packed, size, offset, crc: u32(at + 16), shared: data.subarray(at + 6, at + 30) });
    if ((total += size) > UNPACKED) throw new Error(`more than ${UNPACKED} bytes when unpacked`);
  }
  if (place !== end) throw new Error("the directory has another size");
  const files = new Map();
  place = 0;
  for (const { name, method, packed, size, offset, crc, shared } of entries) {
    const begin = offset + 30 + name.length;
    if (offset !== place || (place = begin + packed) > start) throw new Error(`${name} does not begin where the entry before ends`);
    if (u32(offset) !== 0x04034b50 || !same(data.subarray(offset + 4, offset + 28), shared) || u16(offset + 28) || !same(data.subarray(offset + 30, begin), utf8(name)))
      throw new Error(`${name} has another header`);
    const raw = data.subarray(begin, place), content = method ? await inflate(raw, size) : raw;
    if (content.length !== size || crc32(content) !== crc) throw new Error(`${name} is damaged`);
    files.set(name, content);
  }
  if (place !== start) throw new Error("something before the directory");
  return files;
}

/** @param {Map<string, Bytes>} files */
function readManifest(files) {
  const data = files.get("manifest.json");
  if (!data || data.length > 65_536 || !files.has("events.bin")) throw new Error("no manifest.json, or no events.bin");
  const source = text(data), manifest = JSON.parse(source) ?? {}, { game_id, origin } = manifest, told = Object.entries(manifest.files ?? {});
  /** @type {(a: [string, any], b: [string, any]) => number} */
  const byName = ([a], [b]) => (a < b ? -1 : 1);
  const lines = told.sort(byName).map(([name, { sha256, size }]) => {
    if (!/^[0-9a-f]{64}$/.test(sha256) || !Number.isSafeInteger(size) || size < 0 || size > UNPACKED) throw new Error("not a manifest");
    return `${JSON.stringify(name)}:{"sha256":"${sha256}","size":${size}}`;
  });
  const canonical = `{"files":{${lines}},"format":"annals/1 bundle","game_id":${JSON.stringify(game_id)},"origin":${JSON.stringify(origin)}}`; // RFC 8785
  if (source !== canonical || !isText(origin) || !/^"[0-9a-f]{32}"$/.test(JSON.stringify(game_id)) || /\\u(?!00)/.test(source)) throw new Error("manifest.json is not canonical, or not a manifest");
  const listed = new Set([...files.keys()].filter((name) => !/^manifest\.|^receipts\//.test(name))), damaged = [];
  for (const name of new Set([...listed, ...Object.keys(manifest.files)])) {
    const info = Object.hasOwn(manifest.files, name) ? manifest.files[name] : null, content = files.get(name);
    if (!listed.has(name) || !info) damaged.push(`${name} is ${info ? "missing" : "not in the manifest"}`);
    else if (!content || content.length !== info.size || hex(sha256(content)) !== info.sha256) damaged.push(`${name} is not the one of the manifest`);
  }
  return { game: unhex(game_id), origin: /** @type {string} */ (origin), damaged: damaged.sort() };
}

// -- events: envelope, bodies, signed actions (docs/event-format.md)

/** @typedef {(value: any) => boolean} Is */
/** @type {Is} */ const isMap = (value) => value instanceof Map;
/** @type {Is} */ const isText = (value) => typeof value === "string";
/** @param {number} length @returns {Is} */ const bytes = (length) => (value) => isBytes(value) && value.length === length;
/** @param {number} low @param {number} high @returns {Is} */ const int = (low, high = Infinity) => (value) => (typeof value === "number" || typeof value === "bigint") && value >= low && value <= high;
/** @param {...any} some @returns {Is} */ const oneOf = (...some) => (value) => some.includes(value);
/** @param {...Is} some @returns {Is} */ const either = (...some) => (value) => some.some((is) => is(value));
/** @param {Is} is @returns {Is} */ const listOf = (is) => (value) => Array.isArray(value) && value.every(is);
/** @param {...Is} parts @returns {Is} */ const tuple = (...parts) => (value) => Array.isArray(value) && value.length === parts.length && parts.every((is, i) => is(value[i]));
/** A map with these keys; a key with ? may be absent. @param {Record<string, Is>} fields @param {boolean} [closed] @returns {Is} */
const shape = (fields, closed = false) => (value) => isMap(value)
  && Object.entries(fields).every(([key, is]) => { const name = key.replace("?", ""); return value.has(name) ? is(value.get(name)) : name !== key; })
  && (!closed || [...value.keys()].every((key) => Object.hasOwn(fields, key) || Object.hasOwn(fields, key + "?")));

const asked = either(isBytes, tuple(isText, isMap)), bot = tuple(isText, int(-Infinity)), drawn = tuple(int(0), bytes(32), listOf(Array.isArray));
const setup = shape({ options: isMap, seats: listOf(shape({ choice: isMap, "bot?": bot }, true)), "state?": isMap }, true);
/** @type {Record<string, Is>} */
const BODIES = {
  create: shape({ rules: isText, rules_hash: bytes(32), seats: int(1, 255), options: isMap, visibility: oneOf("public", "unlisted", "private"),
    watching: (value) => isText(value) && /^(open|none|delayed:[1-9][0-9]{0,4})$/.test(value), commit: bytes(32), chain_len: int(1, 65_536), key_id: isText, build: isText,
    "forked_from?": tuple(bytes(16), int(1), bytes(32), bytes(32)) }),
  join: shape({ player: bytes(16), choice: isMap, custody: oneOf("self", "server"), "bot?": bot, "pk?": bytes(32), "a?": isBytes, "g?": bytes(64) }),
  leave: shape({ "a?": isBytes, "g?": bytes(64) }),
  lock: shape({ setup: isMap }),
  reveal: shape({ a: isBytes, g: bytes(64) }),
  seeded: shape({ x: drawn, f: bytes(8) }),
  act: shape({ a: asked, f: bytes(8), "x?": drawn, "k?": bytes(8), "g?": bytes(64) }),
  timeout: shape({ "f?": bytes(8) }),
  resign: shape({ a: asked, f: bytes(8), "g?": bytes(64) }),
  custody: shape({ seat: int(1), by: either(bytes(16), bot) }),
  signoff: shape({ a: isBytes, g: bytes(64) }),
  close: shape({ status: oneOf("finished", "abandoned", "void"), "tail?": bytes(32), "state_hash?": bytes(32), "reason?": isText }),
};
const ENVELOPE = tuple(oneOf(1), bytes(16), int(1), bytes(32), int(0), isText, either(oneOf(null), int(1)), isMap);
const CP = tuple(int(0), bytes(32));
const ACTION = tuple(oneOf(1), oneOf("join", "leave", "reveal", "act", "resign", "signoff"), bytes(16), int(1, 255), int(0), int(1), bytes(32), either(oneOf(null), isText), isMap, bytes(32));
/** @type {Record<string, Is>} */
const ARGS = { join: shape({ pk: isBytes, choice: isMap, "cp?": CP }, true), signoff: shape({ "cp?": CP }, true), act: shape({ "cp?": CP }) };

/** @typedef {{id: Bytes, seq: any, prev: Bytes, t: number, kind: string, seat: any, body: Map<string, any>, data: Bytes, hash: Bytes}} Event */
/** @param {Bytes} data */
export const eventHash = (data) => sha256(tag("event"), data);
/** @param {Bytes} data @returns {Event} */
export function readEvent(data) {
  const fields = decode(data);
  if (!ENVELOPE(fields)) throw new Error("not the envelope of an event");
  const [, id, seq, prev, t, kind, seat, body] = fields;
  return { id, seq, prev, t: Number(t), kind, seat, body, data, hash: eventHash(data) };
}
/** What a seat signed. @param {Bytes} data */
export function readAction(data) {
  const fields = decode(data);
  if (!ACTION(fields)) throw new Error("not a signed action");
  const [, kind, game, seat, pseq, headSeq, head, name, args, r] = fields;
  if (isText(name) !== (kind === "act") || !(ARGS[kind] ?? shape({}, true))(args)) throw new Error(`not the name or the args of a ${kind}`);
  return { kind, game, seat, pseq, headSeq, head, args, r };
}

// -- the fold without the rules: order, keys, signatures, chains, draws

/** @typedef {{player: Bytes | null, signs: boolean, pk: Bytes, signed: any, link: Bytes, commitment: Bytes, first: Bytes | null, signedOff: boolean}} Seat */
/** @returns {Seat} */
const freeSeat = () => ({ player: null, signs: false, pk: EMPTY, signed: 0, link: EMPTY, commitment: EMPTY, first: null, signedOff: false });
const BY_SERVER = ["create", "lock", "seeded", "custody", "close"], MAY_SIGN = ["join", "leave", "reveal", "act", "resign", "signoff"];
/** @type {Record<string, string[]>} */
const ALLOWED = {
  "not created": ["create"],
  open: ["join", "leave", "lock", "close"],
  locked: ["reveal", "seeded", "timeout", "close"],
  playing: ["act", "timeout", "resign", "custody", "signoff", "close"], // without the rules nobody can say whether it is over
  closed: [],
};

/** `find` is told the sort of what does not hold (a key of CHECK_OF), and what. @param {Bytes} game @param {(code: string, detail: string) => void} find */
export function newFold(game, find) {
  /** @type {{stage: string, create: Map<string, any> | null, seats: Seat[], revealed: number, closed: boolean}} */
  const fold = { stage: "not created", create: null, seats: [], revealed: 0, closed: false };
  let j = 0, mix = EMPTY, serverLink = EMPTY;
  const owners = () => fold.seats.flatMap((seat, i) => (seat.signs ? [{ seat, number: i + 1 }] : []));
  /** @param {any} seat @param {any} to */
  const change = (seat, to) => { fold.seats[seat - 1] = { ...fold.seats[seat - 1], ...to }; };

  /** What a seat signed, checked as its next action; null where it cannot be read. @param {Event} event */
  async function signed({ kind, seat, seq, prev, body }) {
    let action;
    try { action = readAction(body.get("a")); } catch (error) {
      find("format", `what seat ${seat} signed: ${/** @type {Error} */ (error).message}`);
      return null;
    }
    const forJoin = kind === "join", { signed, link, pk } = fold.seats[seat - 1];
    if (action.kind !== kind || action.seat !== seat) {
      find("signature", `seat ${action.seat} signed a ${action.kind}`);
      return null;
    }
    const key = forJoin ? action.args.get("pk") : pk, signature = body.get("g");
    const others = fold.seats.filter((_, i) => i + 1 !== seat);
    if (!same(action.game, game)) find("signature", "the action was signed for another game");
    else if (action.pseq !== signed) find("signature", `seat ${seat} signed its action number ${action.pseq}, not ${signed}`);
    else if (BigInt(action.headSeq) !== BigInt(seq) - 1n || !same(action.head, prev)) find("signature", `seat ${seat} signed what follows on another event ${action.headSeq}`);
    else if (forJoin && !usablePoint(key)) find("key", `the key of seat ${seat} fits any message`);
    else if (forJoin && others.some((other) => same(other.pk, key))) find("key", `the key of seat ${seat} is another seat's`);
    else if (!signature) return undefined; // found as V2
    else if (!(await ed25519(key, actionMessage(body.get("a")), signature))) find("signature", `the signature of seat ${seat} does not verify`);
    else if (!forJoin && !same(lower(game, seat, signed, action.r), link)) find("dice", `link ${signed} of seat ${seat} does not lead to the one before`);
    change(seat, { signed: Number(action.pseq) + 1, link: action.r });
    return action;
  }
  /** @param {Bytes} link */
  function server(link) {
    fold.revealed++;
    if (!same(lower(game, 0, fold.revealed, link), serverLink)) find("dice", `link ${fold.revealed} does not lead to the one before`);
    serverLink = link;
  }
  /** @param {any[][]} draws */
  function derive(draws) {
    const bytes = stream(mix);
    for (const [number, draw] of draws.entries()) {
      const plain = (draw.length === 3 || draw.length === 4) && int(1, 2 ** 32 - 1)(draw[1]);
      const derived = plain ? below(draw[1], bytes) + (draw.length === 3 ? 1 : 0) : null;
      if (!plain || draw[2] !== derived) find("dice", `draw ${j}.${number} is not what the seeds give: stored ${draw[2]}, derived ${derived}`);
      if (!plain) return;
    }
  }
  /** @param {number} seat @param {any[] | undefined} x @param {Bytes | undefined} link */
  function roll(seat, x, link) {
    if (!x && !link) return;
    mix = rollMix(mix, ++j, seat, link ?? EMPTY, x ? x[1] : EMPTY);
    if (!x) return;
    server(x[1]);
    derive(x[2]);
  }

  /** @type {Record<string, (event: Event, seat: any, body: Map<string, any>) => Promise<void> | void>} */
  const kinds = {
    create(_, __, body) {
      Object.assign(fold, { create: body, stage: "open", seats: Array.from({ length: body.get("seats") }, freeSeat) });
      serverLink = body.get("commit");
    },
    async join(event, seat, body) {
      if (fold.seats[seat - 1].player) return find("order", `seat ${seat} is taken`);
      const player = body.get("player");
      fold.seats[seat - 1] = freeSeat();
      if (body.get("custody") === "server") return change(seat, { player });
      const action = await signed(event), pk = body.get("pk") ?? EMPTY;
      if (action === undefined) return;
      if (!action || !same(action.args.get("pk"), pk) || !same(encode(action.args.get("choice")), encode(body.get("choice")))) find("signature", `seat ${seat} signed another key or choice`);
      fold.seats[seat - 1] = { ...freeSeat(), player, signs: true, pk, signed: 1, link: action?.r ?? EMPTY };
    },
    async leave(event, seat, body) {
      if (!fold.seats[seat - 1].player) return find("order", `nobody sits on seat ${seat}`);
      if (body.has("a") && (await signed(event)) === undefined) return;
      fold.seats[seat - 1] = freeSeat();
    },
    lock(_, __, body) {
      if (!setup(body.get("setup"))) return find("format", "not the setup of a table");
      fold.stage = "locked";
      fold.seats = fold.seats.map((seat) => ({ ...seat, commitment: seat.link, first: null }));
    },
    async reveal(event, seat) {
      if (!fold.seats[seat - 1].signs || fold.seats[seat - 1].first) return find("order", `seat ${seat} has nothing to reveal`);
      const action = await signed(event);
      if (action) change(seat, { first: action.r });
    },
    seeded(_, __, body) {
      const [, link, draws] = body.get("x");
      server(link);
      const waiting = owners().filter(({ seat }) => !seat.first).map(({ number }) => number);
      if (waiting.length) find("order", `begun before the seats ${waiting} revealed their links`);
      mix = setupMix(game, [[0, /** @type {any} */ (fold.create).get("commit"), link], ...owners().map(({ seat, number }) => /** @type {[number, Bytes, Bytes]} */ ([number, seat.commitment, seat.first ?? EMPTY]))]);
      fold.stage = "playing";
      derive(draws);
    },
    async act(event, seat, body) {
      if (isBytes(body.get("a")) !== fold.seats[seat - 1].signs) find("signature", `seat ${seat} ${fold.seats[seat - 1].signs ? "signs" : "does not sign"} what it does`);
      const action = isBytes(body.get("a")) ? await signed(event) : null;
      if (action !== undefined) roll(seat, event.kind === "act" ? body.get("x") : undefined, action?.r);
    },
    resign(event, seat, body) { return kinds.act(event, seat, body); },
    timeout(_, seat, body) {
      if (fold.stage === "playing") return body.has("f") ? undefined : find("format", "a turn that is claimed has a fingerprint");
      if (!fold.seats[seat - 1].signs || fold.seats[seat - 1].first) find("order", `seat ${seat} has nothing to reveal`);
      if (body.has("f")) find("format", "a fingerprint before there is a state");
      fold.seats[seat - 1] = freeSeat();
      fold.stage = "open";
    },
    async signoff(event, seat) {
      const { signs, signedOff } = fold.seats[seat - 1];
      if (!signs || signedOff) return find("order", `seat ${seat} does not sign the end`);
      const action = await signed(event);
      if (action) roll(seat, undefined, action.r);
      change(seat, { signedOff: true });
    },
    custody(_, __, body) {
      const [seat, by] = [body.get("seat"), body.get("by")];
      if (seat > fold.seats.length) return find("order", `there is no seat ${seat}`);
      change(seat, { signs: false, ...(isBytes(by) ? { player: by } : {}) });
    },
    close(_, __, body) {
      fold.stage = "closed";
      fold.closed = true;
      let link = body.get("tail");
      if (!link) return body.get("status") === "void" && body.get("reason") === "key-lost" ? undefined : find("seed", "closed without the end of the dice chain");
      const create = /** @type {Map<string, any>} */ (fold.create);
      for (let k = create.get("chain_len"); k > 0; k--) link = lower(game, 0, k, link);
      if (!same(link, create.get("commit"))) find("seed", "the tail does not lead to the commitment");
    },
  };

  /** @param {Event} event */
  async function advance(event) {
    const { kind, body, seat } = event, a = body.get("a");
    if (!Object.hasOwn(BODIES, kind)) return;
    if (!BODIES[kind](body)) return find("format", `not the body of a ${kind} event`);
    if ((seat === null) !== BY_SERVER.includes(kind)) find("format", `a ${kind} event of seat ${seat}`);
    else if (MAY_SIGN.includes(kind) && isBytes(a) !== body.has("g")) find("format", `a ${kind} event with a signature or signed bytes, not both`);
    else if (kind === "join" && new Set([body.get("custody") === "self", body.has("pk"), isBytes(a)]).size > 1) find("format", "a join with what does not go with its custody");
    else if (kind === "resign" && Array.isArray(a) && (a[0] !== "resign" || a[1].size)) find("format", "a resign event that asks for something else");
    const nowhere = seat !== null && seat > fold.seats.length ? `there is no seat ${seat}` : null;
    const misplaced = ALLOWED[fold.stage].includes(kind) ? nowhere : `a ${kind} event while the game is ${fold.stage}`;
    if (misplaced) return kind === "close" ? undefined : find("order", misplaced); // of an end only the rules can say
    if (seat !== null || BY_SERVER.includes(kind)) await kinds[kind](event, seat, body);
  }
  return { fold, advance };
}

// -- the log of games (V4 to V6)

const COMMITMENT = either(oneOf(null), bytes(32));
const OPENED = tuple(oneOf("open"), oneOf(1), bytes(16), bytes(32), COMMITMENT, COMMITMENT, int(0));
const CLOSED = tuple(oneOf("close"), oneOf(1), bytes(16), int(1), bytes(32), either(oneOf(null), isText), COMMITMENT, int(0));
const OPEN_PROOF = "open.tlog-proof", CLOSE_PROOF = "close.tlog-proof", ONWARD = "consistency.txt";

/** @typedef {{entry: any[], index: bigint, size: bigint}} Proved */
/** The proofs among the files, checked by a policy; without one nothing is. */
class Log {
  /** @param {Map<string, Bytes>} files @param {Policy | null} policy @param {string} origin */
  constructor(files, policy, origin) {
    this.files = files;
    this.policy = policy;
    this.origin = origin;
    this.gossips = [...files.keys()].filter((name) => name.startsWith("gossip/")).sort();
    this.present = [OPEN_PROOF, CLOSE_PROOF, ONWARD].some((name) => files.has(name)) || this.gossips.length > 0;
    /** @type {string[]} */ this.unknown = [];
    /** @type {string[]} */ this.badCheckpoints = [];
    /** @type {string[]} */ this.badProofs = [];
    /** @type {string[]} */ this.forks = [];
    /** @type {Map<string, {size: bigint, root: Bytes, signers: Verifier[]}>} */ this.verified = new Map();
    /** @type {Map<bigint, Bytes[]>} */ this.gossip = new Map();
    /** @type {Proved | null} */ this.opened = null;
    /** @type {Proved | null} */ this.closed = null;
  }
  async check() {
    const proofs = [[OPEN_PROOF, await this.read(OPEN_PROOF, parseProof)], [CLOSE_PROOF, await this.read(CLOSE_PROOF, parseProof)]];
    const onward = await this.read(ONWARD, parseConsistency), heard = [];
    for (const name of this.gossips) heard.push({ name, proof: await this.read(name, parseConsistency) });
    const roots = new Map();
    for (const [name, { size, root }] of this.verified) {
      if (!same(roots.get(size) ?? root, root)) this.forks.push(`the log signed two roots for ${size} entries: ${name}`);
      roots.set(size, roots.get(size) ?? root);
    }
    this.newest = this.verified.get(ONWARD) ?? this.verified.get(CLOSE_PROOF) ?? this.verified.get(OPEN_PROOF);
    for (const [name, proof] of proofs) if (proof) this.include(name, proof, onward);
    for (const { name, proof } of heard) {
      if (proof && !this.isNewest(name)) this.badProofs.push(`${name}: leads to another checkpoint than the newest`);
      else if (proof) this.gossip.set(proof.old, proof.path);
    }
    return this;
  }
  /** A proof whose checkpoint a log of the policy signed. @param {string} name @param {(data: Bytes) => any} parse */
  async read(name, parse) {
    const data = this.files.get(name);
    if (!data || !this.policy) return null;
    let proof;
    try { proof = parse(data); } catch (error) { this.badProofs.push(`${name}: ${why(error)}`); return null; }
    try {
      const { text, signers } = await openNote(proof.checkpoint, [...this.policy.logs, ...this.policy.witnesses.values()]);
      const { origin, size, root } = parseCheckpoint(text);
      if (origin !== this.origin) throw new Error(`a checkpoint of ${origin}, not of ${this.origin}`);
      if (!signers.some((signer) => signer.kind === 1 && signer.name === origin)) throw new Unverified("only witnesses signed it");
      this.verified.set(name, { size, root, signers });
      return proof;
    } catch (error) {
      (error instanceof Unverified ? this.unknown : this.badCheckpoints).push(`${name}: ${why(error)}`);
      return null;
    }
  }
  /** @param {string} name */
  isNewest(name) {
    const checkpoint = this.verified.get(name);
    return checkpoint?.size === this.newest?.size && same(checkpoint?.root, this.newest?.root);
  }
  /** @param {any} name @param {any} proof @param {any} onward */
  include(name, proof, onward) {
    const checkpoint = this.verified.get(name), newest = this.newest, opens = name === OPEN_PROOF, data = this.files.get(opens ? "open.entry" : "close.entry");
    if (!checkpoint || !newest) return;
    try {
      if (!data || !included(leafHash(data), proof.index, checkpoint.size, proof.path, checkpoint.root)) throw new Error("the entry is not at this place of the log");
      const entry = decode(data);
      if (!(opens ? OPENED : CLOSED)(entry)) throw new Error("an entry of another sort");
      this[opens ? "opened" : "closed"] = { entry, index: proof.index, size: checkpoint.size };
    } catch (error) { this.badProofs.push(`${name}: ${why(error)}`); }
    if (!this.isNewest(name) && (onward?.old !== checkpoint.size || !consistent(checkpoint.size, checkpoint.root, newest.size, newest.root, onward.path)))
      this.badProofs.push(`${name}: no proof leads from its checkpoint to the newest`);
  }
  get witnessed() { return this.policy !== null && this.newest !== undefined && this.policy.quorum !== "none" && quorumMet(this.policy, this.newest.signers); }
  /** Is what a seat saw of the log a beginning of the newest? @param {bigint} size @param {Bytes} root */
  connected(size, root) {
    if (!this.newest) return true;
    if (!size || size === this.newest.size) return same(root, size ? this.newest.root : EMPTY_ROOT);
    const path = this.gossip.get(size);
    return path !== undefined && consistent(size, root, this.newest.size, this.newest.root, path);
  }
}

// -- the checks, in order (docs/audit-bundle.md)

/** `code`: the sort of what fails, where the fold found it; `section`: where in docs/ stands what it follows.
 * @typedef {{id: string, result: string, detail: string, event: number | null, code: string | null, section: string}} Check */
/** What the verdict does not cover: docs/audit-bundle.md tells of each id. @typedef {{id: string, seats: number[], number: number}} Limit */
/** @typedef {{verdict: string, code: string | null, event: number | null, who: string | null, checks: Check[], limits: Limit[], events: number}} Verdict */
/** @typedef {{policy?: Bytes | null, receiptsKey?: string | null, receipts?: Map<string, Bytes>}} Trust */
/** What fails a check. `proves`: is it proved against the server? (Absent: if the event is its own statement.)
 * @typedef {{event: number | null, detail: string, proves?: boolean, code?: string}} Bad */

/** @type {Record<string, number>} */
export const EXIT = { VERIFIED: 0, "VERIFIED WITH LIMITS": 0, REFUTED: 2, "NOT PROVEN": 4, UNDETERMINED: 5 };
const LOGGED = "event-format.md#the-log-of-games", OUTSIDE = "audit-bundle.md#what-comes-from-outside";
const SECTIONS = ["audit-bundle.md#container", OUTSIDE, "event-format.md#kinds", "event-format.md#envelope", LOGGED, LOGGED, LOGGED,
  "event-format.md#actions", "event-format.md#actions", "event-format.md#chance", "event-format.md#chance", OUTSIDE, "event-format.md#rulesets",
  "event-format.md#life", "luck.md"];
/** Which check a finding of the fold fails; a signature of a join proves possession of its key. @type {Record<string, string>} */
const CHECK_OF = { format: "V2", key: "V7", signature: "V8", order: "V9", dice: "V9", seed: "V10" };
/** @type {Record<string, number>} */
const DEADLINES = { turn_seconds: 0, reveal_seconds: 120, idle_seconds: 604_800, signoff_seconds: 60 };
/** @type {Record<string, string>} */
const CLOSING = { idle: "idle_seconds", absent: "turn_seconds" };

/** @param {unknown} error */
const why = (error) => /** @type {Error} */ (error).message;
/** @param {string} detail @returns {Bad} */
const plainly = (detail) => ({ event: null, detail });
/** @param {Event} event @param {string} name */
const hashIn = (event, name) => (bytes(32)(event.body.get(name)) ? event.body.get(name) : null);
/** @param {any} a @param {any} b */
const equal = (a, b) => (isBytes(a) ? same(a, b) : a === b);
/** The checkpoint that a seat had seen when it signed. @param {Event} event @returns {[any, Bytes] | null} */
const seenBy = (event) => { try { return readAction(event.body.get("a")).args.get("cp") ?? null; } catch { return null; } };

class Audit {
  /** @param {Map<string, Bytes>} files @param {{game: Bytes, origin: string, damaged: string[]}} manifest @param {Trust} trust */
  constructor(files, { game, origin, damaged }, trust) {
    this.files = files;
    this.trust = trust;
    this.game = game;
    this.origin = origin;
    this.damaged = damaged;
    /** @type {Check[]} */ this.checks = blank();
    /** @type {Limit[]} */ this.limits = [];
    /** @type {Set<string>} */ this.accusing = new Set();
    /** @type {(Event | null)[]} */ this.events = [];
    /** @type {Bytes[]} */ this.raws = [];
    /** @type {Record<string, Bad[]>} */ this.found = { V2: [], V7: [], V8: [], V9: [], V10: [] };
    /** @type {Policy | null} */ this.policy = null;
    /** @type {Verifier | null} */ this.key = null;
    /** @type {string | null} */ this.openDiffers = null;
    /** @type {string | null} */ this.closeDiffers = null;
    this.theirs = 0;
    this.manifestSigned = this.unsure = false;
    this.genesis = sha256(tag("genesis"), sized(game));
    /** @param {string} code @param {string} detail */
    this.find = (code, detail) => {
      const check = code === "signature" && this.end?.kind === "join" ? "V7" : CHECK_OF[code];
      this.found[check].push({ event: this.last, detail, code });
    };
    const { fold, advance } = newFold(game, this.find);
    this.fold = fold;
    this.advance = advance;
    this.log = new Log(files, null, origin);
  }
  get last() { return this.events.length; }
  get end() { return this.events[this.last - 1] ?? null; }
  /** @param {string} kind @returns {[number, Event][]} */
  ofKind(kind) { return this.events.flatMap((event, i) => (event?.kind === kind ? [/** @type {[number, Event]} */ ([i + 1, event])] : [])); }
  /** The seats in self-custody that did not sign the end. */
  get silent() { return this.seats((seat) => seat.signs && !seat.signedOff); }
  /** Was the game closed although a seat could still have signed its end? A chain without a link is spent. */
  get unsignedEnd() {
    const { closed, create, revealed } = this.fold, length = create?.get("chain_len") ?? 0;
    return closed && revealed < length && !this.seats((seat) => seat.signs && seat.signed > length).length && this.silent.length > 0;
  }
  get joins() { return this.ofKind("join").filter(([, event]) => event.body.get("custody") === "self"); }
  /** @param {(seat: Seat) => any} is */
  seats(is) { return this.fold.seats.flatMap((seat, i) => (is(seat) ? [i + 1] : [])); }

  /** @param {string} id @param {string} result @param {string} [detail] @param {number | null} [event] @param {string | null} [code] */
  note(id, result, detail = "", event = null, code = null) { Object.assign(this.checks[Number(id.slice(1))], { result, detail, event, code }); }
  /** @param {string} id @param {number[]} [seats] @param {number} [number] */
  limit(id, seats = [], number = 0) {
    if (id === "handed-over" || !this.limits.some((one) => one.id === id)) this.limits.push({ id, seats, number });
  }
  /** FAIL with the first of what is bad, what is proved before all other; or `otherwise`. @param {string} id @param {Bad[]} bad @param {string} [otherwise] @param {string} [detail] */
  judge(id, bad, otherwise = "PASS", detail = "") {
    if (!bad.length) return this.note(id, otherwise, detail);
    const proved = ["V0", "V1", "V4"].includes(id) ? [] : bad.filter((one) => one.proves ?? (one.event !== null && one.event <= this.theirs));
    if (proved.length) this.accusing.add(id);
    const first = (proved.length ? proved : bad).reduce((a, b) => ((b.event ?? 0) < (a.event ?? 0) ? b : a));
    this.note(id, "FAIL", first.detail + (bad.length > 1 ? ` (and ${bad.length - 1} more)` : ""), first.event, first.code ?? null);
  }

  /** @returns {Promise<Verdict>} */
  async verdict() {
    await this.record();
    this.inputs();
    await this.container();
    await this.log.check();
    this.own();
    this.judge("V2", this.found.V2);
    this.chain();
    this.logged();
    const custodial = this.seats((seat) => seat.player && !seat.signs), signing = this.seats((seat) => seat.signs), handedOver = this.ofKind("custody");
    this.judge("V7", this.found.V7, this.joins.length ? "PASS" : "NOT CHECKED");
    if (custodial.length) this.limit("custodial", custodial);
    this.judge("V8", this.found.V8, custodial.length || handedOver.length || !signing.length ? "LIMIT" : "PASS");
    if (!this.joins.length && this.fold.create) this.limit("seeds");
    for (const [n, event] of handedOver) if (int(-Infinity)(event.body.get("seat"))) this.limit("handed-over", [event.body.get("seat")], n);
    if (this.fold.create) this.judge("V9", this.found.V9, this.fold.revealed ? "PASS" : "NOT CHECKED");
    if (!this.fold.closed) this.limit("not-closed");
    this.judge("V10", this.found.V10, this.fold.create && this.ofKind("close").some(([, event]) => event.body.has("tail")) ? "PASS" : "NOT CHECKED");
    await this.receipts();
    this.limit("rules-not-folded");
    const { silent } = this;
    this.judge("V13", this.tooEarly(), silent.length || custodial.length || !this.fold.closed ? "LIMIT" : "PASS");
    if (this.fold.closed && silent.length) this.limit("no-signoff", silent);
    return this.conclude();
  }
  /** @returns {Verdict} */
  conclude() {
    const failed = this.checks.filter(({ result }) => result === "FAIL"), proved = failed.find(({ id }) => this.accusing.has(id));
    const decisive = proved ?? failed[0] ?? (this.unsure ? this.checks[4] : null);
    const verdict = proved ? "REFUTED" : failed.length ? (failed[0].id === "V1" ? "UNDETERMINED" : "NOT PROVEN")
      : this.unsure ? "UNDETERMINED" : this.limits.length ? "VERIFIED WITH LIMITS" : "VERIFIED";
    const { id = null, event = null } = decisive ?? {};
    return { verdict, code: id, event, who: proved ? "server" : null, checks: this.checks, limits: this.limits, events: this.last };
  }

  /** The events, each folded as it is read. */
  async record() {
    const stored = /** @type {Bytes} */ (this.files.get("events.bin"));
    for (let at = 0; at < stored.length; ) {
      const size = stored.length - at < 4 ? Infinity : new DataView(stored.buffer, stored.byteOffset + at).getUint32(0);
      const raw = stored.subarray(at + 4, at + 4 + size), fits = size <= EVENT_LIMIT && raw.length === size;
      this.raws.push(fits ? raw : EMPTY); // nobody can say what is an event's behind a broken length
      this.events.push(null);
      if (!fits) return void this.unreadable("the record ends within it");
      at += 4 + size;
      let event;
      try { event = readEvent(raw); } catch (error) { this.unreadable(why(error)); continue; }
      this.events[this.last - 1] = event;
      await this.advance(event);
    }
  }
  /** @param {string} detail */
  unreadable(detail) { this.found.V2.push({ event: this.last, detail: `not an event: ${detail}` }); }
  /** V1: policy and keys can be read, belong together and to this bundle. */
  inputs() {
    const { policy, receiptsKey } = this.trust, origin = this.origin, bad = [];
    if (!policy && !receiptsKey) return;
    try {
      this.policy = policy ? parsePolicy(policy) : null;
      this.key = receiptsKey ? parseVkey(receiptsKey) : this.policy?.receipts ?? null;
      if (this.key && this.key.name !== `${origin}/receipts`) bad.push(`this is of the log ${origin}, the receipts key is called ${this.key.name}`);
      if (this.policy && !this.policy.logs.some(({ name }) => name === origin)) bad.push(`this is of the log ${origin}, which the policy does not know`);
    } catch (error) { bad.push(why(error)); }
    this.judge("V1", bad.map(plainly));
    if (bad.length) this.policy = this.key = null;
    this.log = new Log(this.files, this.policy, origin);
  }
  /** V0: the manifest names every file as it is, and is signed where the key is known. */
  async container() {
    const bad = [...this.damaged], given = this.files.get("manifest.note"), manifest = /** @type {Bytes} */ (this.files.get("manifest.json"));
    const statement = `annals/1 bundle\n${this.origin}\n${hex(this.game)}\n${base64(sha256(manifest))}\n`;
    let opened = null, detail = this.key ? "there is no manifest.note" : "no receipts key: manifest.note was not looked at";
    if (this.key && given) {
      try { opened = await openNote(given, [this.key]); } catch (error) {
        detail = `manifest.note: ${why(error)}`;
        if (!(error instanceof Unverified)) bad.push(detail);
      }
      if (opened && opened.text !== statement) bad.push("manifest.note is not about this manifest");
    }
    const unsigned = this.key && !opened;
    if (unsigned && !bad.length) this.limit("unsigned-export");
    this.judge("V0", bad.map(plainly), unsigned ? "LIMIT" : "PASS", opened ? "" : detail);
    this.manifestSigned = !bad.length && opened !== null;
  }
  /** Up to which event are the bytes the server's own statement, by its signed manifest or its log? */
  own() {
    const { opened, closed } = this.log;
    this.openDiffers = opened ? this.differsFromOpen(opened.entry) : null;
    this.closeDiffers = closed ? this.differsFromClose(closed.entry) : null;
    if (this.manifestSigned || (closed && !this.closeDiffers && this.linked())) this.theirs = this.last + 1;
    else this.theirs = opened && !this.openDiffers ? 1 : 0;
  }
  /** @param {any[]} entry */
  differsFromOpen([, , id, hash, commit, rules, t]) {
    const event = this.events[0];
    if (!this.last || !same(id, this.game) || !same(hash, eventHash(this.raws[0]))) return "the log opened another game, or another first event";
    return !event || (event.seq === 1 && event.kind === "create" && same(event.id, id) && equal(hashIn(event, "commit"), commit) && equal(hashIn(event, "rules_hash"), rules) && event.t === Number(t))
      ? null : "the log opened the game otherwise";
  }
  /** @param {any[]} entry */
  differsFromClose([, , id, version, head, status, tail, t]) {
    const event = this.end, said = event?.body.get("status");
    if (!same(id, this.game)) return "the log closed another game";
    if (version !== this.last) return `the log closed the game with ${version} events, here are ${this.last}`;
    if (!same(head, eventHash(this.raws[this.last - 1]))) return "the log closed the game with another last event";
    return !event || (event.kind === "close" && event.seq === version && same(event.id, id) && (isText(said) ? said : null) === status && equal(hashIn(event, "tail"), tail) && event.t === Number(t))
      ? null : "the log closed the game otherwise";
  }
  /** Do the raw bytes of every event hold the hash of the one before? */
  linked() {
    let prev = this.genesis;
    return this.last > 0 && this.raws.every((raw) => {
      const at = 20 + (/** @type {Record<number, number>} */ ({ 0xcc: 2, 0xcd: 3, 0xce: 5, 0xcf: 9 })[raw[20]] ?? 1);
      const holds = raw.length >= at + 34 && same(raw.subarray(0, 20), cat(unhex("9801c410"), this.game)) && same(raw.subarray(at, at + 34), cat(unhex("c420"), prev));
      prev = eventHash(raw);
      return holds;
    });
  }
  /** V3: dense from 1, one game, each linked to the one before, the clock never back, create first, close last. */
  chain() {
    /** @type {Bad[]} */
    const bad = [], /** @type {Set<number>} */ broken = new Set();
    let prev = this.genesis, clock = 0, explained = 0;
    this.events.forEach((event, i) => {
      const n = i + 1, before = prev;
      /** @param {string} detail */
      const wrong = (detail) => bad.push({ event: n, detail: `event ${n} ${detail}` });
      prev = eventHash(this.raws[i]);
      if (!event) return void wrong("cannot be read");
      if (!same(event.id, this.game)) wrong("belongs to another game");
      if (event.seq !== n) wrong(`says that it is number ${event.seq}`);
      if (event.t < clock) wrong("sets the clock back");
      if ((event.kind === "create") !== (n === 1) || (event.kind === "close" && n !== this.last)) wrong(`is a ${event.kind}`);
      if (!same(event.prev, before)) broken.add(n);
      clock = Math.max(clock, event.t);
    });
    for (const n of broken) {
      if (n === explained) continue; // a byte of prev breaks the event's own link and that of the next one
      const own = broken.has(n + 1), place = own || n === 1 || n === this.last ? n : n - 1;
      if (own) explained = n + 1;
      bad.push({ event: place, detail: own || place < n ? `event ${place} was changed` : `event ${n} does not follow on what is before it` });
    }
    if (!this.last) bad.push({ event: 1, detail: "there is no event" });
    this.judge("V3", bad);
  }
  /** V4, V5, V6: what the log of games says. */
  logged() {
    const { log, manifestSigned: proves } = this, { opened, closed } = log;
    if (!this.policy || !log.present || (log.unknown.length && !log.badCheckpoints.length)) {
      this.unsure = log.unknown.length > 0;
      if (!this.unsure) this.limit("no-log");
      return this.note("V4", "NOT CHECKED", log.unknown.join("; "));
    }
    if (!log.witnessed) this.limit("no-witness");
    this.judge("V4", log.badCheckpoints.map(plainly), log.witnessed ? "PASS" : "LIMIT", log.witnessed ? "" : "no quorum of witnesses: a split view is not excluded");
    const seen = new Map();
    this.events.forEach((event, i) => {
      const cp = event && ["join", "signoff"].includes(event.kind) ? seenBy(event) : null;
      if (cp) seen.set(cp[0] + hex(cp[1]), { cp, event: i + 1 });
    });
    const unconnected = [...seen.values()].filter(({ cp }) => !log.connected(BigInt(cp[0]), cp[1]));
    this.judge("V5", [
      ...log.forks.map((detail) => ({ event: null, detail, proves: true })),
      ...log.badProofs.map((detail) => ({ event: null, detail, proves: false })),
      ...unconnected.map(({ cp, event }) => ({ event, detail: `no proof connects the log that a seat saw, ${cp[0]} entries with root ${hex(cp[1])}, with this one`, proves: false })),
    ]);
    if (!opened) this.limit("no-log");
    if (!opened && !closed) return;
    /** @type {Bad[]} */
    const bad = [], /** @type {Set<number>} */ silent = new Set();
    if (this.openDiffers) bad.push({ event: 1, detail: this.openDiffers, proves });
    if (this.closeDiffers) bad.push({ event: this.last, detail: this.closeDiffers, proves });
    if (opened && closed && opened.index >= closed.index) bad.push({ event: null, detail: "the log closed the game before it opened it", proves });
    for (const [n, event] of this.joins) {
      const cp = seenBy(event);
      if (!cp) silent.add(event.seat ?? 0);
      else if (opened && BigInt(cp[0]) <= opened.index && log.connected(BigInt(cp[0]), cp[1])) bad.push({ event: n, detail: `seat ${event.seat} joined having seen a log without this game`, proves });
    }
    this.judge("V6", bad);
    if (this.end?.kind === "close" && !closed) this.limit("close-not-logged");
    if (opened && closed && opened.size > closed.index) this.limit("opened-late");
    if (silent.size) this.limit("no-checkpoint", [...silent].sort((a, b) => a - b));
  }
  /** V11: whatever the server signed for a player is in the record. */
  async receipts() {
    const own = [...this.files].filter(([name]) => name.startsWith("receipts/")).sort(([a], [b]) => (a < b ? -1 : 1));
    const brought = [...own, ...(this.trust.receipts ?? [])], closed = this.log.closed?.entry, last = this.last;
    if (!this.key || !brought.length) {
      this.limit("no-receipts");
      return this.note("V11", "NOT CHECKED", brought.length ? "no receipts key, so the receipts were not looked at" : "");
    }
    /** @type {Bad[]} */
    const bad = [], heads = new Map();
    let beyond = 0;
    for (const [where, note] of brought) {
      /** @param {number | null} event @param {string} detail @param {boolean} [proves] */
      const wrong = (event, detail, proves) => bad.push({ event, detail: `${where}: ${detail}`, proves });
      let said;
      try { said = await readStatement(note, this.key); } catch (error) { wrong(null, why(error), false); continue; }
      const { seq, hash } = said, first = heads.get(seq) ?? hash;
      if (!same(said.game, this.game) || said.origin !== this.origin) { wrong(null, "about another game", false); continue; }
      heads.set(seq, first);
      if (!same(first, hash)) wrong(seq, `another one is signed for event ${seq} and differs`, true);
      if (closed && (seq > closed[3] || (seq === closed[3] && !same(hash, closed[4])))) wrong(seq, `the log closed the game with ${closed[3]} events`, true);
      else if (seq > last && this.fold.closed) wrong(last, `the record ends with event ${last}`);
      else if (seq > last) beyond = Math.max(beyond, seq);
      else if (!seq || !same(eventHash(this.raws[seq - 1]), hash)) wrong(seq, `the record has another event ${seq}`);
    }
    this.judge("V11", bad, beyond ? "LIMIT" : "PASS");
    if (beyond) this.limit("receipt-beyond", [], beyond);
  }
  /** Turns that were claimed, seats that were freed, and tables that were closed before their time. */
  tooEarly() {
    /** @type {Bad[]} */
    const bad = [];
    /** @param {string} name */
    const due = (name) => { const value = this.fold.create?.get("options").get(name) ?? DEADLINES[name]; return int(-Infinity)(value) ? 1000 * Number(value) : 0; };
    /** @type {Event | null} */ let before = null;
    /** @type {Event | null} */ let locked = null;
    this.events.forEach((event, i) => {
      if (!event) return;
      let name, since = before;
      if (event.kind === "timeout") [name, since] = locked ? ["reveal_seconds", locked] : ["turn_seconds", before];
      else if (event.kind === "close" && event.body.get("status") === "abandoned") name = Object.hasOwn(CLOSING, String(event.body.get("reason"))) ? CLOSING[String(event.body.get("reason"))] : undefined;
      else if (event.kind === "close" && event.body.get("status") === "finished" && this.unsignedEnd) name = "signoff_seconds";
      if (event.kind === "lock") locked = event;
      else if (event.kind === "timeout" || event.kind === "seeded") locked = null;
      if (name && since && (!due(name) || event.t - since.t < due(name))) bad.push({ event: i + 1, detail: `event ${i + 1} (${event.kind}) before its time (${name})` });
      before = event;
    });
    return bad;
  }
}

/** @returns {Check[]} */
const blank = () => SECTIONS.map((section, n) => ({ id: `V${n}`, result: "NOT CHECKED", detail: "", event: null, code: null, section }));

/** The verdict on a bundle: hostile bytes get one too. @param {Bytes} data @param {Trust} [trust] @returns {Promise<Verdict>} */
export async function verify(data, trust = {}) {
  let files, manifest;
  try { manifest = readManifest(files = await unzip(data)); } catch (error) {
    const [first, ...rest] = blank();
    return { verdict: "NOT PROVEN", code: "V0", event: null, who: null, checks: [{ ...first, result: "FAIL", detail: why(error) }, ...rest], limits: [], events: 0 };
  }
  return new Audit(files, manifest, trust).verdict();
}

/** A receipt, or a refusal. @param {Bytes} data @param {Verifier} key */
async function readStatement(data, key) {
  if (data.length > 65_536) throw new BadNote("more than 65536 bytes");
  const [kind, origin, game, ...rest] = (await openNote(data, [key])).text.slice(0, -1).split("\n");
  if (kind === "annals/1 refusal" && rest.length === 4) hash(/** @type {string} */ (rest.shift()));
  else if (kind !== "annals/1 receipt" || rest.length !== 2) throw new BadNote("neither a receipt nor a refusal");
  if (!/^[0-9a-f]{32}$/.test(game) || !/^(0|[1-9][0-9]{0,18})$/.test(rest[0])) throw new BadNote("not the id of a game, or not the number of an event");
  return { origin, game: unhex(game), seq: Number(rest[0]), hash: hash(rest[1]) };
}

// -- the command

const USAGE = "usage: node verify.mjs BUNDLE [--policy FILE] [--receipts-key VKEY] [--receipt FILE]... [--strict] [--json]";

/** @param {string[]} given @returns {Promise<number>} the exit code */
async function main(given) {
  const { readFileSync } = await import("node:fs");
  /** @param {string} name */
  const read = (name) => new Uint8Array(readFileSync(name));
  /** @type {string[]} */
  const names = [];
  /** @type {Trust & {receipts: Map<string, Bytes>}} */
  const trust = { receipts: new Map() };
  let strict = false, json = false, data;
  try {
    for (let word; (word = given.shift()) !== undefined; ) {
      if (word === "--strict") strict = true;
      else if (word === "--json") json = true;
      else if (["--policy", "--receipts-key", "--receipt"].includes(word) && given.length) {
        const value = /** @type {string} */ (given.shift());
        if (word === "--policy") trust.policy = read(value);
        else if (word === "--receipt") trust.receipts.set(value, read(value));
        else trust.receiptsKey = value;
      } else if (word.startsWith("-")) throw new Error(USAGE);
      else names.push(word);
    }
    if (names.length !== 1) throw new Error(USAGE);
    data = read(names[0]);
  } catch (error) {
    console.error(/** @type {Error} */ (error).message);
    return 64;
  }
  const found = await verify(data, trust);
  if (json) console.log(JSON.stringify(found, (_, value) => (typeof value === "bigint" ? String(value) : value)));
  else {
    for (const { id, result, detail, event, section } of found.checks) console.log(`${id.padEnd(4)}${result.padEnd(12)}${event ? ` event ${event}` : ""} ${detail && `${detail} `}[${section}]`);
    for (const { id, seats, number } of found.limits) console.log(`limit: ${id}${seats.length ? ` (seat ${seats})` : ""}${number ? ` (event ${number})` : ""}`);
    console.log([found.verdict, found.code, found.who, found.event && `event ${found.event}`].filter(Boolean).join(", "));
  }
  return strict && found.verdict === "VERIFIED WITH LIMITS" ? 3 : EXIT[found.verdict];
}

/** Is it run by node, and not imported? */
async function isProgram() {
  const [{ realpathSync }, { pathToFileURL }] = await Promise.all([import("node:fs"), import("node:url")]);
  return pathToFileURL(realpathSync(process.argv[1])).href === import.meta.url;
}
if (process?.argv?.[1] && await isProgram()) {
  process.exitCode = await main(process.argv.slice(2)).catch((error) => { console.error(error); return 70; });
}
