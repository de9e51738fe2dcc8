// @ts-check
// The second verifier: checks an audit bundle in a browser or in node, without the server, without its code, without the
// engine. docs/event-format.md says what the bytes mean, docs/audit.md what each check shows.
//
//     node verify.mjs BUNDLE --policy FILE [--receipts-key VKEY] [--strict] [--json]
//     import { verify } from "./verify.mjs";

/** @typedef {Uint8Array} Bytes */

// -- bytes ------------------------------------------------------------------------------------------------------------

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
/** @param {any} a @param {any} b */
export const same = (a, b) => a instanceof Uint8Array && b instanceof Uint8Array && compare(a, b) === 0;
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

// -- SHA-256, HMAC, HKDF (FIPS 180-4, RFC 2104, RFC 5869): synchronous, so that a chain of 4,096 links is a loop -------

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
const tag = (name) => utf8(`annals/1:${name}\0`);
/** `L(data)` @param {Bytes} data */
const sized = (data) => cat(uint(2, data.length), data);

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
  /** An unsigned number of so many bytes, at least `least`: a smaller one has a shorter form. @param {number} bytes @param {number} least */
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
  if (value instanceof Uint8Array) return cat(head(value.length, 0, 0, [0xc4, 0xc5, 0xc6]), value);
  if (depth > MAX_DEPTH) throw new Error("nested too deep");
  if (Array.isArray(value)) return cat(head(value.length, 0x90, 16, [0xdc, 0xdd]), ...value.map((item) => encode(item, depth + 1)));
  const entries = [...(value instanceof Map ? value : Object.entries(value))].sort((a, b) => compare(utf8(a[0]), utf8(b[0])));
  return cat(head(entries.length, 0x80, 16, [0xde, 0xdf]), ...entries.flatMap(([key, item]) => [encode(key), encode(item, depth + 1)]));
}

// -- dice -------------------------------------------------------------------------------------------------------------

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

// -- Ed25519: what libsodium refuses is refused here first, then the platform decides -----------------------------------

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
/** @param {Bytes} key @param {Bytes} message @param {Bytes} signature @returns {Promise<boolean>} */
export async function ed25519(key, message, signature) {
  if (signature.length !== 64 || key.length !== 32 || !usablePoint(key) || !usablePoint(signature.subarray(0, 32))) return false;
  if (littleEndian(signature.subarray(32)) >= ORDER) return false;
  const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // node 18 has it there
  const imported = await subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
  return subtle.verify("Ed25519", imported, signature, message);
}
/** What a seat signs: DSSE 1.0.0. @param {Bytes} action */
export const actionMessage = (action) => cat(utf8(`DSSEv1 40 application/vnd.annals.action.v1+msgpack ${action.length} `), action);

// -- signed notes, checkpoints, policies (C2SP signed-note, tlog-checkpoint, tlog-cosignature, tlog-policy) -------------

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
  if (key.length !== 32 || !usablePoint(key)) throw new Error("not an Ed25519 key, or one for which anybody could sign");
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

// -- Merkle tree (RFC 6962; verification as in RFC 9162, 2.1.3.2 and 2.1.4.2), tlog-proof -------------------------------

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

// -- the container: a zip file of which every byte has one meaning (docs/audit-bundle.md) --------------------------------

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

/** Deflate (RFC 1951), to exactly `size` bytes and from every byte of `data`. @param {Bytes} data @param {number} size */
export function inflate(data, size) {
  const out = new Uint8Array(size);
  let place = 0, to = 0;
  const broken = () => new Error("not what it says when unpacked");
  /** @param {number} count */
  const bits = (count) => {
    let value = 0;
    for (let i = 0; i < count; i++, place++) {
      if (place >> 3 >= data.length) throw broken();
      value |= ((data[place >> 3] >> (place & 7)) & 1) << i;
    }
    return value;
  };
  /** @param {number} byte */
  const put = (byte) => {
    if (to === size) throw broken();
    out[to++] = byte;
  };
  /** A canonical Huffman code from the lengths of its words. @param {number[]} lengths */
  const code = (lengths) => {
    const count = new Array(16).fill(0);
    for (const length of lengths) count[length]++;
    count[0] = 0;
    const left = count.reduce((rest, words, length) => (length ? rest * 2 - words : rest), 1);
    if (left < 0 || (left > 0 && count.some((words, length) => words && length > 1))) throw broken();
    const order = lengths.map((length, symbol) => ({ length, symbol })).filter(({ length }) => length);
    return { count, symbols: order.sort((a, b) => a.length - b.length).map(({ symbol }) => symbol) };
  };
  /** @param {{count: number[], symbols: number[]}} code */
  const next = ({ count, symbols }) => {
    for (let length = 1, word = 0, first = 0, before = 0; length < 16; length++) {
      word |= bits(1);
      if (word - first < count[length]) return symbols[before + word - first];
      before += count[length];
      first = (first + count[length]) << 1;
      word <<= 1;
    }
    throw broken();
  };
  /** Length 3 to 258 in steps of 1, 2, 4 ..., as in the RFC's table. @param {number} symbol @param {number} group */
  const stepped = (symbol, group) => {
    const extra = Math.max(0, Math.floor(symbol / group) - 1);
    return (symbol < group ? symbol : (group + (symbol % group)) << extra) + bits(extra);
  };
  for (let last = 0; !last; ) {
    last = bits(1);
    const type = bits(2);
    if (type === 3) throw broken();
    if (type === 0) {
      place = (place + 7) & ~7;
      const length = bits(16);
      if ((length ^ bits(16)) !== 0xffff) throw broken();
      for (let i = 0; i < length; i++) put(bits(8));
      continue;
    }
    let words = [8, 144, 9, 112, 7, 24, 8, 8].flatMap((length, i, all) => (i % 2 ? [] : new Array(all[i + 1]).fill(length)));
    let ways = new Array(30).fill(5);
    if (type === 2) {
      const [literals, distances, lengths] = [bits(5) + 257, bits(5) + 1, bits(4) + 4], order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
      if (literals > 286 || distances > 30) throw broken();
      const short = new Array(19).fill(0);
      for (let i = 0; i < lengths; i++) short[order[i]] = bits(3);
      const coded = code(short), all = [];
      while (all.length < literals + distances) {
        const symbol = next(coded);
        if (symbol < 16) all.push(symbol);
        else if (symbol === 16 && !all.length) throw broken();
        else all.push(...new Array(symbol === 16 ? 3 + bits(2) : symbol === 17 ? 3 + bits(3) : 11 + bits(7)).fill(symbol === 16 ? all[all.length - 1] : 0));
      }
      if (all.length > literals + distances || !all[256]) throw broken();
      [words, ways] = [all.slice(0, literals), all.slice(literals)];
    } else ways = new Array(32).fill(5);
    const letters = code(words), far = code(ways);
    for (let symbol; (symbol = next(letters)) !== 256; ) {
      if (symbol < 256) { put(symbol); continue; }
      if (symbol > 285) throw broken();
      const length = symbol === 285 ? 258 : 3 + stepped(symbol - 257, 4), way = next(far);
      if (way > 29) throw broken();
      const distance = 1 + stepped(way, 2);
      if (distance > to) throw broken();
      for (let i = 0; i < length; i++) put(out[to - distance]);
    }
  }
  if (to !== size || (place + 7) >> 3 !== data.length) throw broken();
  return out;
}

/** The entries of a zip file by name; throws on every other file. @param {Bytes} data @returns {Map<string, Bytes>} */
export function unzip(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.length), end = data.length - 22;
  /** @param {number} at */
  const u16 = (at) => view.getUint16(at, true);
  /** @param {number} at */
  const u32 = (at) => view.getUint32(at, true);
  if (end < 0 || data.length > UNPACKED + ENTRIES * 1024) throw new Error("not of the size of a bundle");
  const count = u16(end + 10), start = u32(end + 16);
  if (u32(end) !== 0x06054b50 || u32(end + 4) || u16(end + 8) !== count || u16(end + 20)) throw new Error("not a zip file of one part, or something behind its end");
  if (!count || count > ENTRIES || start + u32(end + 12) !== end) throw new Error(`not 1 to ${ENTRIES} entries before their directory`);
  const entries = [];
  let place = start, total = 0;
  for (let i = 0; i < count; i++) {
    const at = place, length = at + 46 <= end ? u16(at + 28) : Infinity;
    place += 46 + length;
    if (place > end || u32(at) !== 0x02014b50 || u32(at + 30) || u16(at + 34)) throw new Error("the directory has an entry of another sort than a bundle has");
    const name = String.fromCharCode(...data.subarray(at + 46, place)), [packed, size, offset] = [u32(at + 20), u32(at + 24), u32(at + 42)];
    if (!NAMES.test(name) || entries.some((entry) => entry.name === name)) throw new Error(`no bundle has such an entry, or not twice: ${JSON.stringify(name)}`);
    const method = u16(at + 10), attributes = u32(at + 38);
    if (u16(at + 6) > 20 || u16(at + 8) & ~0x0806 || ![0, 8].includes(method)) throw new Error(`${name} is encrypted, streamed or packed in a way that a bundle is not`);
    if (![0, 8].includes(attributes >>> 28) || attributes & 16 || [packed, size, offset].includes(0xffffffff)) throw new Error(`${name} is no plain file`);
    entries.push({ name, method, packed, size, offset, crc: u32(at + 16), shared: data.subarray(at + 6, at + 30) });
    if ((total += size) > UNPACKED) throw new Error(`more than ${UNPACKED} bytes when unpacked`);
  }
  if (place !== end) throw new Error("the directory has another size than it says");
  const files = new Map();
  place = 0;
  for (const { name, method, packed, size, offset, crc, shared } of entries) {
    const begin = offset + 30 + name.length;
    if (offset !== place || (place = begin + packed) > start) throw new Error(`${name} does not begin where the entry before ends`);
    if (u32(offset) !== 0x04034b50 || !same(data.subarray(offset + 4, offset + 28), shared) || u16(offset + 28) || !same(data.subarray(offset + 30, begin), utf8(name)))
      throw new Error(`${name} has another header than the directory says`);
    const raw = data.subarray(begin, place), content = method ? inflate(raw, size) : raw;
    if (content.length !== size || crc32(content) !== crc) throw new Error(`${name} is damaged`);
    files.set(name, content);
  }
  if (place !== start) throw new Error("something lies between the entries and the directory");
  return files;
}
