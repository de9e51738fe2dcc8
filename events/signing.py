"""What a seat signs: the bytes of its action, Ed25519 over the encoding of DSSE (docs/event-format.md, 'Actions').

One strictness everywhere. Whoever checks a signature, here or in another language, must accept exactly the same keys
and signatures: a gap between two checkers is where an honest game would look forged. What libsodium refuses is refused:
keys of low order, keys and points that are not canonical, S beyond the group's order.
"""

from typing import Any, Final, Self

import msgspec
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey

from events import codec

ACTION_TYPE: Final = "application/vnd.annals.action.v1+msgpack"
NAMED: Final = "act"
"""The one kind whose signed action has a name: a move of the game."""
SIGNED_KINDS: Final = ("join", "leave", "reveal", "act", "resign", "signoff")

_P: Final = 2**255 - 19
_LOW_ORDER: Final = frozenset(
    bytes.fromhex(text)
    for text in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    )
)


class NotAnAction(ValueError):
    """Bytes that are not a signed action, and why."""


def pae(kind: str, body: bytes) -> bytes:
    """DSSE v1.0.0, PAE: what is signed is the body together with what it is meant as."""
    return b"DSSEv1 %d %s %d %s" % (len(kind.encode()), kind.encode(), len(body), body)


def usable_key(key: bytes) -> bool:
    """Can this be a seat's key: 32 bytes, canonical, not of low order? A key of low order fits any message."""
    return len(key) == 32 and int.from_bytes(key, "little") & (2**255 - 1) < _P and key not in _LOW_ORDER


def verified(key: bytes, message: bytes, signature: bytes) -> bool:
    """Is it an Ed25519 signature (RFC 8032) of the message under the key, by libsodium's rules?"""
    if not usable_key(key) or len(signature) != 64:
        return False
    try:
        VerifyKey(key).verify(message, signature)
    except BadSignatureError:
        return False
    return True


class SignedAction(msgspec.Struct, frozen=True):
    """What a seat signs: ``[1, kind, game_id, seat, pseq, head_seq, head, name | nil, args, r]``.

    ``pseq`` counts what the seat signed since it sat down, from 0. ``head_seq`` and ``head`` are the event that it
    follows on: the next event is this action or none. ``r`` is the next link of the seat's dice chain; in a join, its
    commitment. ``data`` are the bytes.
    """

    kind: str
    game_id: bytes
    seat: int
    pseq: int
    head_seq: int
    head: bytes
    name: str | None
    args: dict[str, Any]
    r: bytes
    data: bytes

    @classmethod
    def write(
        cls,
        kind: str,
        game_id: bytes,
        seat: int,
        pseq: int,
        head_seq: int,
        head: bytes,
        r: bytes,
        name: str | None = None,
        args: dict[str, Any] | None = None,
    ) -> Self:
        """The bytes of an action, ready to be signed.

        :raises NotAnAction: a field is not what `read` accepts.
        :raises codec.NotCanonical: the args have no canonical form.
        """
        fields = [1, kind, game_id, seat, pseq, head_seq, head, name, args or {}, r]
        _check(fields)
        return cls(kind, game_id, seat, pseq, head_seq, head, name, args or {}, r, codec.encode(fields))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Read signed bytes.

        :raises NotAnAction: they are not MP-C1 or not an action.
        """
        try:
            fields = codec.decode(data)
        except codec.NotCanonical as error:
            raise NotAnAction(str(error)) from error
        _check(fields)
        _, kind, game_id, seat, pseq, head_seq, head, name, args, r = fields
        return cls(kind, game_id, seat, pseq, head_seq, head, name, args, r, data)

    @property
    def message(self) -> bytes:
        """What the signature is over."""
        return pae(ACTION_TYPE, self.data)

    def sign(self, key: SigningKey) -> "Sealed":
        """The action with its signature."""
        return Sealed(self, key.sign(self.message).signature)

    def signed_by(self, key: bytes, signature: bytes) -> bool:
        """Did the holder of the key sign this?"""
        return verified(key, self.message, signature)


class Sealed(msgspec.Struct, frozen=True):
    """An action with its signature, 64 bytes; nobody has verified it yet."""

    action: SignedAction
    signature: bytes


def _check(fields: Any) -> None:
    if type(fields) is not list or len(fields) != 10:
        raise NotAnAction("an action is an array of 10")
    version, kind, game_id, seat, pseq, head_seq, head, name, args, r = fields
    if type(version) is not int or version != 1:
        raise NotAnAction(f"format {version!r} is not 1")
    if kind not in SIGNED_KINDS:
        raise NotAnAction(f"kind {kind!r} is none that a seat signs")
    if type(game_id) is not bytes or len(game_id) != 16:
        raise NotAnAction("the game's id is not 16 bytes")
    if type(seat) is not int or not 1 <= seat <= 255:
        raise NotAnAction("the seat is not a number from 1 to 255")
    if type(pseq) is not int or pseq < 0:
        raise NotAnAction("pseq is not a number from 0")
    if type(head_seq) is not int or head_seq < 1:
        raise NotAnAction("head_seq is not a number from 1")
    if type(head) is not bytes or len(head) != 32:
        raise NotAnAction("the head is not 32 bytes")
    if (type(name) is str) != (kind == NAMED) or (kind != NAMED and name is not None):
        raise NotAnAction(f"a {kind} has {'a' if kind == NAMED else 'no'} name")
    if type(args) is not dict:
        raise NotAnAction("the args are not a map")
    if type(r) is not bytes or len(r) != 32:
        raise NotAnAction("r is not a link of 32 bytes")
    allowed = {"join": {"pk", "choice", "cp"}, "signoff": {"cp"}}.get(kind, set())
    if kind != NAMED and not args.keys() <= allowed:
        raise NotAnAction(f"a {kind} has no arg {min(args.keys() - allowed)}")
    if kind == "join" and (type(args.get("pk")) is not bytes or type(args.get("choice")) is not dict):
        raise NotAnAction("a join names its pk and its choice")
    if "cp" in args and not _is_checkpoint(args["cp"]):
        raise NotAnAction("cp is not [size, root of 32 bytes]")


def _is_checkpoint(cp: Any) -> bool:
    return (
        type(cp) is list
        and len(cp) == 2
        and type(cp[0]) is int
        and cp[0] >= 0
        and type(cp[1]) is bytes
        and len(cp[1]) == 32
    )
