"""Signed notes: a text, an empty line, and one line for each signature (C2SP signed-note).

Checkpoints of the log, receipts, refusals and the manifests of bundles are such notes. A key is known by its name and
its key id together; the id, ``SHA-256(name || LF || type || public key)[:4]``, is a hint and no fingerprint. Two types
of signature exist here: Ed25519 over the text, and the timestamped cosignature of a witness (C2SP tlog-cosignature).
Verification is libsodium's: keys of low order and non-canonical encodings are refused.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

from nacl.bindings import crypto_core_ed25519_is_valid_point
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from events.hashing import sha256

ED25519: Final = 0x01
"""Signature type: Ed25519 over the note's text."""
COSIGNATURE: Final = 0x04
"""Signature type: ``u64 time || Ed25519`` over ``cosignature/v1``, ``time N`` and the note's text."""
SIGNATURE_LIMIT: Final = 100
"""Most signature lines of a note."""
SECRET_PREFIX: Final = "PRIVATE+KEY+"

_KINDS: Final = (ED25519, COSIGNATURE)
_DASH: Final = "— "
_TIME_LIMIT: Final = 2**63


class BadKey(ValueError):
    """The text is not a verifier key or signer key, or the keys given cannot be told apart."""


class BadNote(ValueError):
    """The bytes are not a signed note, or not one to be believed; the message says why."""


class BadSignature(BadNote):
    """A line of a known key does not verify, which spoils the whole note."""


class Unverified(BadNote):
    """A well-formed note that no known key has signed. ``names`` are the names of the keys that did."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(f"no known key signed it, only {', '.join(names)}")
        self.names = names


def key_id(name: str, kind: int, public: bytes) -> bytes:
    """The 4 bytes by which signature lines name a key (C2SP signed-note, 'Signatures')."""
    return sha256(name.encode() + b"\n" + bytes((kind,)) + public)[:4]


@dataclass(frozen=True, slots=True)
class Verifier:
    """A public key under a name. ``public`` has 32 bytes, ``key_id`` 4."""

    name: str
    key_id: bytes
    kind: int
    public: bytes

    @classmethod
    def of(cls, name: str, public: bytes, kind: int = ED25519) -> Self:
        """The verifier of a public key under a name.

        :raises BadKey: not a key of a known type, not a name, or a key for which anybody could sign.
        """
        _check_name(name)
        if kind not in _KINDS:
            raise BadKey(f"signature type 0x{kind:02x} is not known here")
        if len(public) != 32:
            raise BadKey(f"an Ed25519 key has 32 bytes, this has {len(public)}")
        if not crypto_core_ed25519_is_valid_point(public):
            raise BadKey("the key is no canonical point of the group's prime order")
        return cls(name, key_id(name, kind, public), kind, public)

    @classmethod
    def parse(cls, vkey: str) -> Self:
        """Read ``<name>+<key id in hex>+<base64 of type and key>``.

        :raises BadKey: anything else, or an id that is not this key's.
        """
        name, kind, material = _split(vkey)
        verifier = cls.of(name, material, kind)
        if verifier.vkey != vkey:
            raise BadKey("the key id is not this key's, or not in eight lower-case hex digits")
        return verifier

    @property
    def vkey(self) -> str:
        """The verifier key as text."""
        return f"{self.name}+{self.key_id.hex()}+{_encode(bytes((self.kind,)) + self.public)}"

    def verify(self, text: str, signature: bytes) -> int | None:
        """Check a signature (without its key id) over a text; the time of a cosignature in seconds, else None.

        :raises BadSignature: it does not verify.
        """
        seconds, message = None, text.encode()
        if self.kind == COSIGNATURE:
            seconds = int.from_bytes(signature[:8], "big")
            signature, message = signature[8:], _cosigned(text, seconds)
            if seconds >= _TIME_LIMIT:
                raise BadSignature(f"the cosignature of {self.name} has no possible time")
        if len(signature) != 64:
            raise BadSignature(f"the signature of {self.name} has not the length of its type")
        try:
            VerifyKey(self.public).verify(message, signature)
        except BadSignatureError as error:
            raise BadSignature(f"the signature of {self.name} does not verify") from error
        return seconds


@dataclass(frozen=True, slots=True)
class Signer:
    """A private key under a name; ``repr`` hides it."""

    verifier: Verifier
    seed: bytes = field(repr=False)

    @classmethod
    def of(cls, name: str, seed: bytes, kind: int = ED25519) -> Self:
        """The signer of an Ed25519 seed (32 bytes, the private key of RFC 8032) under a name.

        :raises BadKey: not a name, a type or a seed.
        """
        if len(seed) != 32:
            raise BadKey(f"a private key has 32 bytes, this has {len(seed)}")
        return cls(Verifier.of(name, bytes(SigningKey(seed).verify_key), kind), seed)

    @classmethod
    def create(cls, name: str, kind: int = ED25519) -> Self:
        """A new random key.

        :raises BadKey: not a name, or not a type.
        """
        return cls.of(name, bytes(SigningKey.generate()), kind)

    @classmethod
    def parse(cls, skey: str) -> Self:
        """Read ``PRIVATE+KEY+<name>+<key id in hex>+<base64 of type and seed>``.

        :raises BadKey: anything else. The message never holds a part of the key.
        """
        if not skey.startswith(SECRET_PREFIX):
            raise BadKey(f"a private key begins with {SECRET_PREFIX}")
        name, kind, material = _split(skey.removeprefix(SECRET_PREFIX))
        signer = cls.of(name, material, kind)
        if signer.skey != skey:
            raise BadKey("the key id is not this key's, or not in eight lower-case hex digits")
        return signer

    @property
    def name(self) -> str:
        """The key's name."""
        return self.verifier.name

    @property
    def vkey(self) -> str:
        """The public half, as `Verifier.parse` reads it."""
        return self.verifier.vkey

    @property
    def skey(self) -> str:
        """The private key as text: a secret."""
        mine = self.verifier
        return f"{SECRET_PREFIX}{mine.name}+{mine.key_id.hex()}+{_encode(bytes((mine.kind,)) + self.seed)}"

    def line(self, text: str, seconds: int | None = None) -> bytes:
        """The signature line over a text; ``seconds`` since 1970 for a cosignature, and only there.

        :raises ValueError: a time is missing or superfluous.
        """
        if (seconds is not None) != (self.verifier.kind == COSIGNATURE):
            raise ValueError("a cosignature has a time, and nothing else has")
        stamp = b"" if seconds is None else seconds.to_bytes(8, "big")
        message = text.encode() if seconds is None else _cosigned(text, seconds)
        signature = stamp + SigningKey(self.seed).sign(message).signature
        return f"{_DASH}{self.name} {_encode(self.verifier.key_id + signature)}\n".encode()


@dataclass(frozen=True, slots=True)
class Opened:
    """A note that verified: its text, the known keys that signed it, and the time (s) of each that is a witness."""

    text: str
    signers: tuple[Verifier, ...]
    times: dict[Verifier, int] = field(default_factory=dict)


def sign_note(text: str, *signers: Signer) -> bytes:
    """The note of a text under the signatures of type Ed25519 of all signers, in their order.

    :raises BadNote: the text is not one: empty, without a newline at its end, or with control characters.
    """
    _check_text(text)
    return text.encode() + b"\n" + b"".join(signer.line(text) for signer in signers)


def cosign(note: bytes, signer: Signer, seconds: int | None = None) -> bytes:
    """The note with one more signature line; ``seconds`` since 1970 if the signer is a witness.

    :raises BadNote: the bytes are not a note, or it has all the signatures it may have.
    """
    text, lines = split_note(note)
    if len(lines) >= SIGNATURE_LIMIT:
        raise BadNote(f"more than {SIGNATURE_LIMIT} signatures")
    return note + signer.line(text, seconds)


def split_note(data: bytes) -> tuple[str, list[tuple[str, bytes, bytes]]]:
    """A note's text and its signature lines as (name, key id, signature), none of them verified.

    :raises BadNote: not the form of a signed note.
    """
    try:
        whole = data.decode()
    except UnicodeDecodeError as error:
        raise BadNote("not UTF-8") from error
    head, empty, tail = whole.rpartition("\n\n")
    if not empty:
        raise BadNote("no empty line between text and signatures")
    text = head + "\n"
    _check_text(whole)
    if tail.count("\n") > SIGNATURE_LIMIT:
        raise BadNote(f"more than {SIGNATURE_LIMIT} signatures")
    return text, [_signature(line) for line in tail[:-1].split("\n")]


def open_note(data: bytes, verifiers: Iterable[Verifier]) -> Opened:
    """Verify a note. Lines of keys that are not among the verifiers are passed over.

    :raises BadSignature: a line of a known key does not verify.
    :raises Unverified: no known key signed it.
    :raises BadNote: not the form of a note, or two lines of one known key.
    :raises BadKey: two of the verifiers have one name and one id.
    """
    known: dict[tuple[str, bytes], Verifier] = {}
    for verifier in verifiers:
        if known.setdefault((verifier.name, verifier.key_id), verifier) != verifier:
            raise BadKey(f"two different keys are called {verifier.name}+{verifier.key_id.hex()}")
    text, lines = split_note(data)
    signers: list[Verifier] = []
    times: dict[Verifier, int] = {}
    for name, identity, signature in lines:
        if (match := known.get((name, identity))) is None:
            continue
        if match in signers:
            raise BadNote(f"two signatures of {name}")
        if (seconds := match.verify(text, signature)) is not None:
            times[match] = seconds
        signers.append(match)
    if not signers:
        raise Unverified(tuple(name for name, _, _ in lines))
    return Opened(text, tuple(signers), times)


def _signature(line: str) -> tuple[str, bytes, bytes]:
    name, space, text = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space:
        raise BadNote("a line after the empty line is not a signature")
    try:
        _check_name(name)
        data = _decode(text)
    except BadKey as error:
        raise BadNote(f"a signature line is malformed: {error}") from error
    if len(data) < 5:
        raise BadNote("a signature line holds no signature")
    return name, data[:4], data[4:]


def _cosigned(text: str, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def _check_text(text: str) -> None:
    if not text.endswith("\n"):
        raise BadNote("no newline at its end")
    if any(char < " " and char != "\n" for char in text):
        raise BadNote("a control character")


def _check_name(name: str) -> None:
    if not name or "+" in name or any(char.isspace() or char < " " for char in name):
        raise BadKey("a key's name is not empty and holds no space and no plus")


def _split(key: str) -> tuple[str, int, bytes]:
    """Name, type and key material of a key's text; whether the id is right is left to the caller."""
    parts = key.split("+", 2)
    if len(parts) != 3:
        raise BadKey("not name, key id and key with plus signs between them")
    data = _decode(parts[2])
    if not data:
        raise BadKey("no key")
    return parts[0], data[0], data[1:]


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _decode(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadKey("not base64") from error
    if _encode(data) != text:  # bits that no byte holds, which would make two texts of one signature
        raise BadKey("not canonical base64")
    return data
