"""The replay cursor: any stored game at any position, step by step, forwards and back at the same price.

A `Replay` folds each event once on the way forward and keeps a position every `KEYFRAME` events. Going back refolds one
such stretch and keeps its positions, so that the next steps back find them: about one fold a step in either direction.
Nothing is folded before it is asked for, so nothing that is told of the first n events can depend on what came after.

Damage does not stop it. What cannot be read or does not hold is collected in `findings`, the replay goes on as well as
it can, and every position and step from there on says that it may not be the game that was played. ``strict=True``
raises instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

import msgspec
from msgspec import UNSET

from engine.protocol import Happening
from engine.registry import game_name
from events.event import Event
from events.log import Damage, EventLog, whole
from replay import file
from replay.games import telling
from replay.position import EXACT, UNVERIFIED, Diverged, Finding, Position
from replay.words import Context, words

KEYFRAME: Final = 32
"""Events from one kept position to the next."""
GAP_LIMIT: Final = 65_536
"""Most events that may be missing in one place: behind a wider gap nothing is read."""
SHORTLY: Final = 12
"""So many events before another still belong to it: a fight with every scroll and hit point takes fewer."""


class Step(msgspec.Struct, frozen=True):
    """What a replay shows one at a time: an event and one of its happenings, or the event alone where it has none.

    ``version``: the position after the event; ``index``: which of its ``of`` steps, from 1; ``seat``: whom it is about;
    ``actor``: the seat that acted, None for the server; ``rule``: the paragraph of the rules that it follows, "" where
    it follows none; ``grade``: is it the game that was played, as far as this event?
    """

    version: int
    index: int
    of: int
    kind: str
    seat: int | None
    actor: int | None
    t_ms: int
    words: str
    rule: str
    grade: str
    happening: Happening | None = None


class Chapter(msgspec.Struct, frozen=True):
    """A place worth jumping to. ``kind``: turn, fight, treasure, ...; it begins with step ``index`` of ``version``."""

    kind: str
    version: int
    index: int
    seat: int | None
    title: str


class Grade(msgspec.Struct, frozen=True):
    """EXACT, or UNVERIFIED or DIVERGED from event ``at`` on; ``finding``: the first thing that does not hold."""

    name: str
    at: int | None = None
    finding: Finding | None = None

    def __str__(self) -> str:
        if self.finding is None:
            return self.name if self.at is None else f"{self.name}(at={self.at})"
        sides = f", stored={self.finding.stored!r}, folded={self.finding.folded!r}" if self.finding.stored else ""
        return f"{self.name}(at={self.at}, {self.finding.detail!r}{sides})"


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """One difference between two positions. ``path`` is a JSON pointer (RFC 6901); absent where it was not there."""

    path: str
    old: Any = UNSET
    new: Any = UNSET


class NoSuchPosition(LookupError):
    """The game has not come so far."""


class Replay:
    """One stored game. Positions that it hands out are shared: whoever wants to go on from one takes a copy."""

    def __init__(self, game_id: bytes, items: Iterable[Event | Damage] = (), *, strict: bool = False) -> None:
        """A replay of what a log or a file gave.

        :raises Diverged: later, where something does not hold and ``strict`` is set.
        """
        self.game_id = game_id
        self.strict = strict
        self.damage: list[Damage] = []
        self._found: list[tuple[int, Finding]] = []
        self.folds = 0
        """How many events were folded so far, each time counted: what a step costs."""
        self.version = 0
        """Where the cursor stands."""
        self._events: list[Event | None] = []
        self._damage_at: dict[int, list[Damage]] = {}
        self._told: list[list[Happening]] = []
        self._scores: list[list[int]] = [[]]
        self._margins: list[int | None] = [None]
        self._grades: list[str] = [EXACT]
        self._front = Position(game_id, report=self._report)
        self._keyframes = [_quiet(self._front)]
        self._window: dict[int, Position] = {}
        self.extend(items)

    @classmethod
    def load(cls, log: EventLog, game_id: bytes, *, strict: bool = False) -> Self:
        """Open a game of a log.

        :raises LookupError: the log has no such game.
        :raises Archived: the game is in the archive.
        """
        replay = cls(game_id, whole(log, game_id), strict=strict)
        if not replay:
            raise LookupError(game_id.hex())
        return replay

    @classmethod
    def read(cls, path: Path, *, strict: bool = False) -> Self:
        """Open a game from a ``.annals`` file.

        :raises OSError: the file cannot be read.
        :raises LookupError: there is no event in it.
        """
        return cls.of(file.read(path), strict=strict)

    @classmethod
    def of(cls, items: Iterable[Event | Damage], *, strict: bool = False) -> Self:
        """The game of these events.

        :raises LookupError: there is no event among them.
        """
        items = list(items)
        game_id = next((item.game_id for item in items if isinstance(item, Event)), None)
        if game_id is None:
            raise LookupError("no event in it")
        return cls(game_id, items, strict=strict)

    def extend(self, items: Iterable[Event | Damage]) -> None:
        """Go on with what was written since, in order, as `EventLog.read` and `file.read` give it."""
        last = 0
        for item in items:
            if isinstance(item, Damage):
                self.damage.append(item)
                seq, _, part = item.place.partition("-")
                last = int(seq) if seq.isdecimal() and part == "0" else 0
                self._damage_at.setdefault(last, []).append(item)
            else:
                self._place(item)
        if last == len(self._events) + 1:  # the last entry cannot be read
            self._events.append(None)

    def _place(self, event: Event) -> None:
        """Put an event where it belongs: behind the one it follows, or else at its own number if that leaves a gap."""
        before = self._events[-1] if self._events else None
        missing = event.seq - len(self._events) - 1
        if 0 < missing <= GAP_LIMIT and (before is None or event.prev != before.hash):
            self._events += [None] * missing
        self._events.append(event)

    # -- reading ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """How many events there are, those that cannot be read included."""
        return len(self._events)

    def event(self, n: int) -> Event | None:
        """The n-th event, from 1; None if it cannot be read.

        :raises NoSuchPosition: there is none.
        """
        if not 1 <= n <= len(self):
            raise NoSuchPosition(f"event {n} of {len(self)}")
        return self._events[n - 1]

    def at(self, n: int) -> Position:
        """The position after n events; 0 is empty. Not to be changed.

        :raises NoSuchPosition: the game has not come so far.
        :raises Diverged: something before does not hold, where ``strict`` is set.
        """
        if not 0 <= n <= len(self):
            raise NoSuchPosition(f"position {n} of {len(self)}")
        if (known := self._known(n)) is not None:
            return known
        if n > len(self._told):
            self._fold_to(n)
            return self._keep(n, self._front)
        start = n - 1 if self._known(n - 1) is not None else n // KEYFRAME * KEYFRAME
        before = self._known(start)
        assert before is not None, "a keyframe was kept on the way"
        position = before.copy()
        for place in range(start + 1, n + 1):
            self._fold(position, place)
        return self._keep(n, position)

    def forward(self) -> Position:
        """One position on.

        :raises NoSuchPosition: this is the last one.
        """
        position = self.at(self.version + 1)
        self.version += 1
        return position

    def back(self) -> Position:
        """One position back. Costs one fold, taken over a stretch of steps.

        :raises NoSuchPosition: this is the first one.
        """
        n = self.version - 1
        if n >= 0 and self._known(n) is None:
            start = n // KEYFRAME * KEYFRAME
            self._window.clear()
            for place in range(start + 1, n + 1):
                self.at(place)
        position = self.at(n)
        self.version = n
        return position

    def jump(self, n: int) -> Position:
        """Put the cursor after n events.

        :raises NoSuchPosition: the game has not come so far.
        """
        position = self.at(n)
        self.version = n
        return position

    def happenings(self, n: int) -> list[Happening]:
        """What happened in the n-th event, as the rules tell it.

        :raises NoSuchPosition: there is none.
        """
        self.event(n)
        self._fold_to(n)
        return self._told[n - 1]

    def before(self, n: int) -> list[Happening]:
        """What happened in the `SHORTLY` events before the n-th, in order.

        :raises NoSuchPosition: there is none.
        """
        self.happenings(n)
        return [happening for told in self._told[max(n - 1 - SHORTLY, 0) : n - 1] for happening in told]

    def scores(self, n: int) -> list[int]:
        """What counts in the end, as it stands after n events, of each seat in seat order; empty before the start.

        :raises NoSuchPosition: the game has not come so far.
        """
        if not 0 <= n <= len(self):
            raise NoSuchPosition(f"position {n} of {len(self)}")
        self._fold_to(n)
        return self._scores[n]

    def margin(self, n: int) -> int | None:
        """By how little the n-th event decided something, 0 the closest; None where it decided nothing.

        :raises NoSuchPosition: there is none.
        """
        self.event(n)
        self._fold_to(n)
        return self._margins[n]

    def grade_at(self, n: int) -> Grade:
        """Is it the game that was played, as far as event n? Depends on nothing later."""
        name = self.at(n).grade
        if name == EXACT:
            return Grade(name)
        at = self._grades.index(name)
        if name == UNVERIFIED:
            return Grade(name, at)
        return Grade(name, at, next(finding for place, finding in self._found if place == at))

    @property
    def grade(self) -> Grade:
        """EXACT, UNVERIFIED or DIVERGED: the whole game is folded for it."""
        return self.grade_at(len(self))

    @property
    def findings(self) -> list[Finding]:
        """What does not hold, in what was folded so far."""
        return [finding for _, finding in self._found]

    # -- telling ---------------------------------------------------------------------------------------------------

    def steps(
        self, language: str = "en", names: Mapping[bytes, str] | None = None, after: int = 0, upto: int | None = None
    ) -> Iterator[Step]:
        """The steps of events ``after + 1`` to ``upto``, in words; ``names`` are the players', by their ids."""
        for n in range(after + 1, (len(self) if upto is None else min(upto, len(self))) + 1):
            yield from self.steps_of(n, language, names)

    def steps_of(self, n: int, language: str = "en", names: Mapping[bytes, str] | None = None) -> list[Step]:
        """The steps of one event.

        :raises NoSuchPosition: there is none.
        """
        event, happenings = self.event(n), self.happenings(n)
        position = self._front if len(self._told) == n else self.at(n)
        say, grade = words(language), self._grades[n]
        if event is None:
            text = say.text("table.event.unreadable", {"number": n})
            return [Step(n, 1, 1, "unreadable", None, None, position.t_ms, text, "", grade)]
        context = Context.of(position, names)
        if not happenings:
            text = say.event(event, (), context)
            return [Step(n, 1, 1, event.kind, event.seat, event.seat, event.t_ms, text, "", grade)]
        return [
            Step(
                n, index, len(happenings), event.kind, getattr(happening, "seat", event.seat), event.seat, event.t_ms,
                say.happening(happening, context), happening.rule, grade, happening,
            )
            for index, happening in enumerate(happenings, 1)
        ]  # fmt: skip

    def find(
        self,
        *,
        seat: int | None = None,
        action: str | None = None,
        happening: str | None = None,
        kind: str | None = None,
        after: int = 0,
        language: str = "en",
    ) -> Iterator[Step]:
        """The steps about a seat, of an action, with a happening, of a kind of event: all that is asked for."""
        for n in range(after + 1, len(self) + 1):
            event = self._events[n - 1]
            if event is None or kind not in (None, event.kind) or action not in (None, action_of(event)):
                continue
            told = self.happenings(n)
            if happening is not None and happening not in map(name_of, told):
                continue
            for step in self.steps_of(n, language):
                named = None if step.happening is None else name_of(step.happening)
                if seat in (None, step.seat) and happening in (None, named):
                    yield step

    def chapters(self, language: str = "en", upto: int | None = None) -> Iterator[Chapter]:
        """The chapters that begin in events up to ``upto``. A title tells what begins, never how it will end."""
        say = words(language)
        for n in range(1, (len(self) if upto is None else min(upto, len(self))) + 1):
            for index, happening in enumerate(self.happenings(n), 1):
                rules = self._front.rules
                assert rules is not None, "something happened by its rules"
                if kind := telling(game_name(rules.id)).chapter(happening):
                    title = say.chapter(kind, happening, Context(rules))
                    yield Chapter(kind, n, index, getattr(happening, "seat", None), title)

    def diff(self, old: int, new: int, viewer: int | None = None) -> list[Change]:
        """What is different between two positions, as a seat or a watcher (None) may see them.

        :raises NoSuchPosition: the game has not come so far.
        """
        return list(differences(seen(self.at(old), viewer), seen(self.at(new), viewer)))

    # -- folding ---------------------------------------------------------------------------------------------------

    def _known(self, n: int) -> Position | None:
        if n % KEYFRAME == 0 and n // KEYFRAME < len(self._keyframes):
            return self._keyframes[n // KEYFRAME]
        return self._window.get(n)

    def _keep(self, n: int, position: Position) -> Position:
        if (known := self._known(n)) is not None:
            return known
        if position is self._front:
            position = _quiet(position)
        self._window[n] = position
        while len(self._window) > 2 * KEYFRAME:
            del self._window[next(iter(self._window))]
        return position

    def _fold_to(self, n: int) -> None:
        """Bring the front to event n; nothing is folded twice here."""
        while (place := len(self._told) + 1) <= n:
            told = self._fold(self._front, place)
            self._told.append(told)
            self._grades.append(self._front.grade)
            self._count(told)
            if place % KEYFRAME == 0:
                self._keyframes.append(_quiet(self._front))

    def _count(self, told: list[Happening]) -> None:
        """Note the scores after an event, and how closely it decided something."""
        rules, state = self._front.rules, self._front.state
        teller = None if rules is None else telling(game_name(rules.id))
        self._scores.append([] if teller is None else teller.scores(state))
        margins = [] if teller is None else [teller.margin(happening, state) for happening in told]
        self._margins.append(min((margin for margin in margins if margin is not None), default=None))

    def _fold(self, position: Position, place: int) -> list[Happening]:
        event, damaged = self._events[place - 1], self._damage_at.get(place, ())
        told: list[Happening] = []
        if event is None:
            for damage in damaged:
                position.miss(place, "chain" if damage.data is None else "format", damage.reason)
            if not damaged:
                position.miss(place, "chain", f"event {place} is missing")
            return told
        self.folds += 1
        found = len(self._found)
        told = position.advance(event)
        if damaged and not any(finding.check == "chain" for _, finding in self._found[found:]):
            for damage in damaged:
                position.miss(place, "chain", damage.reason)
        return told

    def _report(self, finding: Finding) -> None:
        if self.strict:
            raise Diverged(finding)
        self._found.append((len(self._told) + 1, finding))


def _ignore(finding: Finding) -> None:
    """It was found before."""


def _quiet(position: Position) -> Position:
    """A copy whose folds report nothing: they were folded before."""
    copy = position.copy()
    copy.report = _ignore
    return copy


def name_of(happening: Happening) -> str:
    """``fight-won``."""
    return str(type(happening).__struct_config__.tag)


def action_of(event: Event) -> str | None:
    """The name of the action that an event carries, if it does."""
    action = event.body.get("a")
    return action[0] if isinstance(action, list | tuple) and action and isinstance(action[0], str) else None


# -- differences ---------------------------------------------------------------------------------------------------


def seen(position: Position, viewer: int | None) -> dict[str, Any]:
    """A position as a seat or a watcher (None) may see it, as plain data."""
    return {
        "status": position.status,
        "to_act": position.to_act,
        "seats": [
            {"player": seat.player.hex() if seat.player else None, "choice": seat.choice, "bot": seat.bot}
            for seat in position.seats
        ],
        "state": position.view(viewer),
        "outcome": msgspec.to_builtins(position.outcome),
    }


def differences(old: Any, new: Any, path: str = "") -> Iterator[Change]:
    """What is different between two pieces of plain data, in the order of the old one."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            below = f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}"
            yield from differences(old.get(key, UNSET), new.get(key, UNSET), below)
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else UNSET
            after = new[index] if index < len(new) else UNSET
            yield from differences(before, after, f"{path}/{index}")
    elif old != new or type(old) is not type(new):
        yield Change(path, old, new)
