"""Whom to believe (C2SP tlog-policy): which logs, which witnesses, and how many of them a checkpoint needs.

One comment means something here: ``# annals-receipts <vkey>`` pins the key of receipts, refusals and bundles.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from events.notes import COSIGNATURE, ED25519, BadKey, Verifier
from events.tlog.checkpoint import Signed, open_checkpoint

NONE: Final = "none"
LIMIT: Final = 1_000
"""Most lines of a policy that say something."""
_RECEIPTS: Final = re.compile(r"#[ \t]*annals-receipts[ \t]+(\S+)[ \t]*", re.ASCII)
_ALLOWED: Final = frozenset((0x09, 0x0A, *range(0x20, 0x7F), *range(0x80, 0x100)))


class BadPolicy(ValueError):
    """The text is not a policy, and why (with the line)."""


@dataclass(frozen=True, slots=True)
class Group:
    """At least ``threshold`` of the members, witnesses or groups by their names."""

    threshold: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """Keys of logs, witnesses and groups by name, and the name of what must have witnessed (`NONE`: nobody)."""

    logs: tuple[Verifier, ...]
    witnesses: dict[str, Verifier] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    quorum: str = NONE
    receipts: Verifier | None = None
    urls: dict[Verifier, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: bytes | str) -> "Policy":
        """Read a policy.

        :raises BadPolicy: it is not one.
        """
        octets = data.encode(errors="surrogateescape") if isinstance(data, str) else data
        if not _ALLOWED.issuperset(octets):
            raise BadPolicy("a control character")
        reader = _Reader()
        for number, line in enumerate(octets.decode(errors="surrogateescape").split("\n"), 1):
            try:
                reader.line(line.strip(" \t"))
            except (BadPolicy, BadKey) as error:
                raise BadPolicy(f"line {number}: {error}") from error
        return reader.done()

    def open(self, note: bytes, origin: str | None = None) -> Signed:
        """Verify a checkpoint: a log of the policy signed it, and no witness of the policy in vain.

        :raises events.notes.BadNote: see `events.tlog.checkpoint.open_checkpoint`.
        :raises events.tlog.checkpoint.BadCheckpoint: see there.
        """
        return open_checkpoint(note, (*self.logs, *self.witnesses.values()), origin)

    def witnessed(self, signed: Signed) -> list[str]:
        """The names of the witnesses that cosigned a checkpoint."""
        return [name for name, verifier in self.witnesses.items() if verifier in signed.opened.signers]

    def met(self, signed: Signed) -> bool:
        """Did as many witnesses cosign as the quorum asks for?"""
        return self.quorum == NONE or self._met(self.quorum, self.witnessed(signed))

    def _met(self, name: str, present: Collection[str]) -> bool:
        if (group := self.groups.get(name)) is None:
            return name in present
        return sum(self._met(member, present) for member in group.members) >= group.threshold

    @property
    def text(self) -> str:
        """The policy as a file."""
        lines = [f"# annals-receipts {self.receipts.vkey}"] if self.receipts is not None else []
        lines += [_joined("log", log.vkey, self.urls.get(log)) for log in self.logs]
        lines += [
            _joined("witness", name, verifier.vkey, self.urls.get(verifier))
            for name, verifier in self.witnesses.items()
        ]
        lines += [_joined("group", name, str(group.threshold), *group.members) for name, group in self.groups.items()]
        return "\n".join([*lines, f"quorum {self.quorum}", ""])


class _Reader:
    def __init__(self) -> None:
        self._logs: list[Verifier] = []
        self._witnesses: dict[str, Verifier] = {}
        self._groups: dict[str, Group] = {}
        self._urls: dict[Verifier, str] = {}
        self._used: set[str] = set()
        self._quorum: str | None = None
        self._receipts: Verifier | None = None
        self._count = 0

    def line(self, line: str) -> None:
        if line.startswith("#"):
            if (match := _RECEIPTS.fullmatch(line)) is not None:
                if self._receipts is not None:
                    raise BadPolicy("a second key of receipts")
                self._receipts = _key(match[1], ED25519)
            return
        if not line:
            return
        self._count += 1
        if self._count > LIMIT:
            raise BadPolicy(f"more than {LIMIT} lines")
        match re.split("[ \t]+", line):
            case ["log", vkey, *url] if len(url) <= 1:
                log = _key(vkey, ED25519)
                if log.public in (other.public for other in self._logs):
                    raise BadPolicy("this log's key stands twice")
                self._logs.append(log)
                self._url(log, url)
            case ["witness", name, vkey, *url] if len(url) <= 1:
                self._check_new(name)
                witness = _key(vkey, COSIGNATURE)
                if witness.public in (other.public for other in self._witnesses.values()):
                    raise BadPolicy("this witness's key stands twice")
                self._witnesses[name] = witness
                self._url(witness, url)
            case ["group", name, threshold, *members] if members:
                self._group(name, threshold, members)
            case ["quorum", name]:
                if self._quorum is not None:
                    raise BadPolicy("a second quorum")
                if name != NONE:
                    self._check_known(name)
                self._quorum = name
            case _:
                raise BadPolicy("not a line of a policy")

    def _group(self, name: str, threshold: str, members: list[str]) -> None:
        self._check_new(name)
        for member in members:
            self._check_known(member)
            if member in self._used:
                raise BadPolicy(f"{member} is a member twice")
            self._used.add(member)
        needed = {"any": "1", "all": str(len(members))}.get(threshold, threshold)
        if re.fullmatch("[1-9][0-9]{0,5}", needed, re.ASCII) is None or int(needed) > len(members):
            raise BadPolicy(f"{threshold} of {len(members)} members")
        self._groups[name] = Group(int(needed), tuple(members))

    def _url(self, key: Verifier, url: list[str]) -> None:
        if url:
            self._urls[key] = url[0]

    def _check_new(self, name: str) -> None:
        if name == NONE or name in self._witnesses or name in self._groups:
            raise BadPolicy(f"the name {name} is taken")

    def _check_known(self, name: str) -> None:
        if name not in self._witnesses and name not in self._groups:
            raise BadPolicy(f"{name} is not defined before")

    def done(self) -> Policy:
        if self._quorum is None:
            raise BadPolicy("says nothing of a quorum")
        return Policy(tuple(self._logs), self._witnesses, self._groups, self._quorum, self._receipts, self._urls)


def _key(vkey: str, kind: int) -> Verifier:
    try:
        vkey.encode()
    except UnicodeEncodeError as error:
        raise BadPolicy("a key's name is not UTF-8") from error
    verifier = Verifier.parse(vkey)
    if verifier.kind != kind:
        what = "a witness's key is of type 0x04" if kind == COSIGNATURE else "a log's key is of type 0x01"
        raise BadPolicy(f"{what}, this one of type 0x{verifier.kind:02x}")
    return verifier


def _joined(*words: str | None) -> str:
    return " ".join(word for word in words if word)
