// A player's own side of a game (docs/event-format.md, 'Actions', 'Chance'): checks every event as it comes, keeps the
// secret from which a seat's key and dice follow, and signs over the history that it checked.
import {
  actionMessage, base64, cat, encode, eventHash, hkdf, included, leafHash, lower, newFold, openNote, parseCheckpoint,
  parsePolicy, parseProof, readAction, readEvent, same, sha256, sized, tag, uint, unbase64, unhex, usablePoint,
} from "./verify.mjs";

/** @typedef {import("./verify.mjs").Bytes} Bytes */
export const STORED = "application/vnd.annals.events";

// -- the secret of an account ---------------------------------------------------------------------------------------------

const KEPT = "annals.account", ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz", SECRET = 32;
/** The secret kept in this browser; made if there is none. @returns {Bytes} */
export function account() {
  const kept = localStorage.getItem(KEPT);
  if (kept) return fromPhrase(kept);
  const made = crypto.getRandomValues(new Uint8Array(SECRET));
  localStorage.setItem(KEPT, toPhrase(made));
  return made;
}
/** Is there one? */
export const hasAccount = () => localStorage.getItem(KEPT) !== null;
/** Take over the secret of another device. @param {string} phrase */
export function takeAccount(phrase) { localStorage.setItem(KEPT, toPhrase(fromPhrase(phrase))); }

/** @param {Bytes} secret */
const check = (secret) => sha256(tag("account"), secret).subarray(0, 2);
/** The secret as people keep it: 14 groups of 4 digits and letters. @param {Bytes} secret */
export function toPhrase(secret) {
  let digits = "", bits = 0, held = 0;
  for (const byte of cat(secret, check(secret), uint(1, 0))) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) digits += ALPHABET[(held >> (bits - 5)) & 31];
    held &= 31;
  }
  return /** @type {string[]} */ (digits.match(/.{4}/g)).join("-");
}
/** @param {string} phrase */
export function fromPhrase(phrase) {
  const digits = phrase.toLowerCase().replace(/[\s-]/g, "").replace(/o/g, "0").replace(/[il]/g, "1");
  if (digits.length !== 56 || [...digits].some((digit) => !ALPHABET.includes(digit))) throw new Error("an account phrase has 56 digits and letters");
  const bytes = [];
  let bits = 0, held = 0;
  for (const digit of digits) {
    held = ((held << 5) | ALPHABET.indexOf(digit)) & 0xfff;
    bits += 5;
    if (bits >= 8) { bytes.push((held >> (bits - 8)) & 255); bits -= 8; }
  }
  const data = Uint8Array.from(bytes), secret = data.slice(0, SECRET);
  if (!same(data.subarray(SECRET), cat(check(secret), uint(1, 0)))) throw new Error("the account phrase is mistyped");
  return secret;
}

// -- following a game -----------------------------------------------------------------------------------------------------

/** The events in a body of STORED. @param {Bytes} data */
export function* unframed(data) {
  for (let at = 0; at < data.length;) {
    const size = new DataView(data.buffer, data.byteOffset + at).getUint32(0);
    if (at + 4 + size > data.length) throw new Error("the events are cut off");
    yield data.subarray(at + 4, at + 4 + size);
    at += 4 + size;
  }
}

/** A game as this browser checked it: links of the chain, signatures, and each roll against what was committed. */
export class Follower {
  /** @param {string} game @param {(after: number) => Promise<Bytes>} fetchStored The events behind a version. */
  constructor(game, fetchStored) {
    this.game = unhex(game);
    this.fetchStored = fetchStored;
    this.version = 0;
    this.rolls = 0;
    /** What does not hold, the first of it first. @type {{event: number, detail: string}[]} */
    this.findings = [];
    this.head = sha256(tag("genesis"), sized(this.game));
    /** Hashes of the events, in base64: receipts are held against them. @type {string[]} */
    this.hashes = [];
    /** Version at which each seat in self-custody sat down. @type {Map<number, number>} */
    this.joined = new Map();
    const { fold, advance } = newFold(this.game, (_, detail) => this.find(detail));
    this.fold = fold;
    this.advance = advance;
    /** @type {Promise<void>} */
    this.working = Promise.resolve();
  }
  /** @param {string} detail */
  find(detail) { this.findings.push({ event: this.version, detail }); }
  get sound() { return this.findings.length === 0; }
  /** Take over what happened meanwhile, one call after the other. */
  catchUp() {
    const work = this.working.catch(() => {}).then(() => this.take());
    this.working = work;
    return work;
  }
  async take() {
    for (const data of unframed(await this.fetchStored(this.version))) {
      this.version += 1;
      let event;
      try { event = readEvent(data); } catch (error) {
        this.find(`event ${this.version}: ${/** @type {Error} */ (error).message}`);
        this.head = eventHash(data);
        continue;
      }
      if (Number(event.seq) !== this.version || !same(event.id, this.game)) this.find(`event ${this.version} is missing`);
      if (!same(event.prev, this.head)) this.find(`event ${this.version} does not follow the one before`);
      this.head = event.hash;
      this.hashes[this.version] = base64(event.hash);
      if (this.version === 1) this.first = event;
      const drawn = event.body.get("x");
      if (Array.isArray(drawn?.[2])) this.rolls += drawn[2].length;
      try { await this.advance(event); } catch (error) { this.find(`event ${this.version}: ${/** @type {Error} */ (error).message}`); }
      if (event.kind === "join" && event.body.get("custody") === "self") {
        try { this.joined.set(Number(event.seat), Number(readAction(event.body.get("a")).headSeq)); } catch { /* found above */ }
      }
    }
  }
  /** The checkpoint to sign in a join: a log of the policy says that this table was opened, with the server's commitment.
   * @param {Bytes} proofText @param {Bytes} policyText @returns {Promise<[number, Bytes]>} */
  async openedInLog(proofText, policyText) {
    await this.catchUp();
    const policy = parsePolicy(policyText), proof = parseProof(proofText), first = this.first;
    const { text, signers } = await openNote(proof.checkpoint, policy.logs);
    const { origin, size, root } = parseCheckpoint(text);
    if (!first || !signers.some((signer) => signer.name === origin)) throw new Error("no log that is trusted signed the checkpoint");
    const entry = encode(["open", 1, this.game, first.hash, first.body.get("commit") ?? null, first.body.get("rules_hash") ?? null, first.t]);
    if (!included(leafHash(entry), proof.index, size, proof.path, root)) throw new Error("the opening of this table is not in the log");
    return [Number(size), root];
  }
}

// -- a seat ---------------------------------------------------------------------------------------------------------------

const PKCS8 = unhex("302e020100300506032b657004220420"); // RFC 8410: an Ed25519 private key follows

/** A seat whose key and dice chain follow from the account's secret, the game, the seat and the version it sat down at. */
export class Seat {
  /** @param {Follower} follower @param {number} seat @param {number} joined @param {Bytes[]} chain @param {CryptoKey} key @param {Bytes} pk */
  constructor(follower, seat, joined, chain, key, pk) {
    this.follower = follower;
    this.seat = seat;
    this.joined = joined;
    this.chain = chain;
    this.key = key;
    this.pk = pk;
  }
  /** @param {Follower} follower @param {Bytes} secret @param {number} seat @param {number} joined @returns {Promise<Seat>} */
  static async of(follower, secret, seat, joined) {
    const where = cat(sized(follower.game), uint(1, seat), uint(4, joined)), salt = tag("account");
    const seed = hkdf(secret, salt, cat(tag("seat-key"), where), 32);
    const { subtle } = crypto, form = cat(PKCS8, seed);
    const open = await subtle.importKey("pkcs8", form, "Ed25519", true, ["sign"]);
    const { x } = await subtle.exportKey("jwk", open);
    const key = await subtle.importKey("pkcs8", form, "Ed25519", false, ["sign"]);
    seed.fill(0);
    form.fill(0);
    const pk = unbase64(String(x).replace(/-/g, "+").replace(/_/g, "/") + "=");
    if (!usablePoint(pk)) throw new Error("not a key");
    const length = Number(follower.fold.create?.get("chain_len") ?? 4096), chain = new Array(length + 1);
    chain[length] = hkdf(secret, salt, cat(tag("seat-tail"), where), 32);
    for (let k = length; k > 0; k--) chain[k - 1] = lower(follower.game, seat, k, chain[k]);
    return new Seat(follower, seat, joined, chain, key, pk);
  }
  /** The seat that is to be taken at the table as it stands. @param {Follower} follower @param {Bytes} secret @param {number} seat */
  static async fresh(follower, secret, seat) {
    await follower.catchUp();
    return Seat.of(follower, secret, seat, follower.version);
  }
  /** A seat that was taken with this secret, perhaps on another device; null: it was not.
   * @param {Follower} follower @param {Bytes} secret @param {number} seat */
  static async resume(follower, secret, seat) {
    await follower.catchUp();
    const joined = follower.joined.get(seat), taken = follower.fold.seats[seat - 1];
    if (joined === undefined || !taken?.signs) return null;
    const found = await Seat.of(follower, secret, seat, joined);
    return same(found.pk, taken.pk) ? found : null;
  }
  /** The join to send: the choice must be complete. @param {any} choice @param {[number, Bytes] | null} checkpoint */
  join(choice, checkpoint) {
    return this.sign("join", 0, this.joined, null, { pk: this.pk, choice, ...(checkpoint ? { cp: checkpoint } : {}) });
  }
  /** What the seat signs next, to be sent as it is. Nothing is signed over a history that does not hold.
   * @param {"leave" | "reveal" | "act" | "resign" | "signoff"} kind @param {string | null} [name] @param {any} [args] */
  async next(kind, name = null, args = {}) {
    await this.follower.catchUp();
    return this.sign(kind, Number(this.follower.fold.seats[this.seat - 1].signed), this.follower.version, name, args);
  }
  /** @param {string} kind @param {number} number @param {number} version @param {string | null} name @param {any} args */
  async sign(kind, number, version, name, args) {
    const { follower, seat } = this, [wrong] = follower.findings;
    if (wrong) throw new Error(`event ${wrong.event}: ${wrong.detail}`);
    const action = encode([1, kind, follower.game, seat, number, version, follower.head, name, args, this.chain[number]]);
    const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", this.key, actionMessage(action)));
    return { signed: base64(action), signature: base64(signature) };
  }
}

