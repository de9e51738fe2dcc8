"""The fold: a game after n events. One code path serves live play, replay and audit.

`Position.advance` takes the next event and checks whatever can be checked on the way: chain, order, legality, draws,
fingerprint. What does not hold is a `Finding`, given to the position's ``report``; the default raises `Diverged`, an
auditor collects. Either way the fold goes on as well as it can.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

import msgspec
from msgspec import UNSET

from engine.chance import Recorded, WrongDraw, derives
from engine.protocol import Happening, Illegal, Options, Outcome, Rules, SeatSetup, Setup
from engine.registry import RULESETS
from events import seeds
from events.bodies import (
    BODIES,
    Act,
    BotName,
    Close,
    Create,
    Drawn,
    Handover,
    Join,
    Lock,
    Resign,
    Seeded,
    Timeout,
    read_body,
)
from events.event import GAME_KINDS, Event, genesis
from replay.fingerprint import rules_hash, state_hash

EXACT, UNVERIFIED, DIVERGED = "EXACT", "UNVERIFIED", "DIVERGED"
OPEN, PLAYING, FINISHED, ABANDONED, VOID = "open", "playing", "finished", "abandoned", "void"
STATUSES = (OPEN, PLAYING, FINISHED, ABANDONED, VOID)


class NotYourTurn(Exception):
    """The seat is not to act now."""


class Finding(msgspec.Struct, frozen=True):
    """Something in the log that does not hold. ``check`` is one of CHECKS; ``event`` the seq it was found at;
    ``rule`` the paragraph that an illegal action is against."""

    check: str
    event: int
    detail: str
    stored: str = ""
    folded: str = ""
    rule: str = ""


CHECKS = ("format", "chain", "order", "setup", "legality", "draws", "dice", "fingerprint", "seed")


class Diverged(Exception):
    """The fold and the log disagree."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"event {finding.event}: {finding.detail}")
        self.finding = finding


def _strict(finding: Finding) -> None:
    raise Diverged(finding)


@dataclass(slots=True)
class Seat:
    """A place at the table; free while nobody sits on it."""

    player: bytes | None = None
    choice: dict[str, Any] = field(default_factory=dict)
    bot: BotName | None = None
    custody: str = "server"


@dataclass(slots=True)
class Dice:
    """Where the dice stand: M_j, how many links the server has revealed, and the last of them."""

    j: int = 0
    mix: bytes = b""
    revealed: int = 0
    link: bytes = b""


@dataclass(slots=True)
class Position:
    """A game after ``version`` events. ``state`` is the rules' own, absent before the start (and where unverified)."""

    game_id: bytes
    report: Callable[[Finding], None] = _strict
    check_dice: bool = False
    """Also recompute every draw from the committed chain: for an audit."""

    version: int = 0
    head: bytes = b""
    t_ms: int = 0
    started_ms: int = 0
    created_ms: int = 0
    status: str = OPEN
    closed: bool = False
    create: Create | None = None
    rules: Rules[Any] | None = None
    options: Options = field(default_factory=Options)
    seats: list[Seat] = field(default_factory=list)
    setup: Setup | None = None
    state: Any = None
    outcome: Outcome | None = None
    dice: Dice = field(default_factory=Dice)
    reason: str | None = None
    unverified_from: int | None = None
    """The first event whose meaning this version does not know: from there on nothing is vouched for."""
    diverged: Finding | None = None
    """The first thing that did not hold: from its event on the position may not be what was played."""

    def __post_init__(self) -> None:
        if not self.head:
            self.head = genesis(self.game_id)

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def grade(self) -> str:
        """EXACT, UNVERIFIED or DIVERGED: is this the game that was played?"""
        if self.diverged is not None:
            return DIVERGED
        return EXACT if self.unverified_from is None else UNVERIFIED

    @property
    def to_act(self) -> list[int]:
        """The seats whose action the game waits for."""
        if self.status != PLAYING or self.rules is None or self.state is None:
            return []
        return self.rules.to_act(self.state)

    def seats_of(self, player: bytes) -> list[int]:
        """The numbers of the seats that a player holds."""
        return [number for number, seat in self.seat_items() if seat.player == player]

    def seat_items(self) -> Iterator[tuple[int, Seat]]:
        """(number, seat) in seat order."""
        return enumerate(self.seats, 1)

    def view(self, viewer: int | None = None) -> dict[str, Any] | None:
        """The state as a seat, or a watcher (None), may see it; None where there is no state."""
        return None if self.state is None or self.rules is None else self.rules.view(self.state, viewer)

    def state_hash(self) -> bytes:
        """``S`` of the current state, 32 bytes.

        :raises ValueError: there is no state.
        """
        if self.rules is None or self.state is None:
            raise ValueError("no state before the start")
        return state_hash(self.rules.id, self.state)

    @property
    def fingerprint(self) -> bytes | None:
        """The first 8 bytes of the state's hash; None where there is no state."""
        return None if self.state is None or self.rules is None else self.state_hash()[:8]

    def choices(self) -> dict[int, msgspec.Struct]:
        """What each taken seat chose, typed by the ruleset."""
        assert self.rules is not None
        return {
            number: msgspec.convert(seat.choice, self.rules.choice)
            for number, seat in self.seat_items()
            if seat.player is not None
        }

    def table(self) -> Setup:
        """The setup that a lock of the table as it stands would write (a fork adds its state)."""
        assert self.create is not None
        return Setup(
            options=self.create.options,
            seats=[SeatSetup(choice=seat.choice, bot=seat.bot or UNSET) for seat in self.seats],
        )

    def copy(self) -> Self:
        """A position that can advance on its own."""
        twin = object.__new__(type(self))
        for name in _FIELDS:  # dataclasses.replace takes three times as long, and this is done for every act
            setattr(twin, name, getattr(self, name))
        twin.seats = [Seat(seat.player, seat.choice, seat.bot, seat.custody) for seat in self.seats]
        twin.state = None if self.state is None or self.rules is None else self.rules.copy(self.state)
        dice = self.dice
        twin.dice = Dice(dice.j, dice.mix, dice.revealed, dice.link)
        return twin

    # -- live play -------------------------------------------------------------------------------------------------

    def adopt(self, event: Event, x: Drawn | None = None) -> None:
        """Take over an event that was just made from this very position, its state already changed by the rules."""
        self.version, self.head, self.t_ms = event.seq, event.hash, event.t_ms
        if x is not None:
            j, link, _ = x
            self.dice = Dice(j, self.mixed(event.seat or 0, link), self.dice.revealed + 1, link)
        self._conclude()

    # -- folding ---------------------------------------------------------------------------------------------------

    def advance(self, event: Event) -> list[Happening]:
        """Fold the next event. Answers with what happened, as the rules tell it.

        :raises Diverged: something does not hold, where ``report`` is the default.
        """
        self._chain(event)
        self.version, self.head, self.t_ms = event.seq, event.hash, max(self.t_ms, event.t_ms)
        if event.kind not in BODIES:
            if event.kind not in GAME_KINDS or self.unverified_from is None:
                self._unverified(event.seq)
            return []
        try:
            body = read_body(event.kind, event.body)
        except msgspec.ValidationError as error:
            self._find("format", f"the body of a {event.kind} event: {error}")
            return []
        if (wrong := _wrong(event, body)) is not None:
            self._find("format", wrong)
        if event.kind not in _ALLOWED[self._stage()]:
            self._find("order", f"a {event.kind} event while the game is {self._stage()}")
            return []
        try:
            return _FOLDS[event.kind](self, event, body)
        except _BROKEN as error:
            if self.diverged is None:
                raise
            self._find("legality", f"the rules cannot go on from a state that was not played: {error!r}")
            self.state = None
            return []

    def miss(self, seq: int, check: str, detail: str) -> None:
        """The entry of event ``seq`` cannot be read: the fold goes on behind it.

        :raises Diverged: where ``report`` is the default.
        """
        self._find(check, detail, event=seq)

    def _stage(self) -> str:
        if self.create is None:
            return "not created"
        if self.closed:
            return "closed"
        if self.status == OPEN and self.setup is not None:
            return "locked"
        return self.status

    def _chain(self, event: Event) -> None:
        at, due = event.seq, self.version + 1
        if event.game_id != self.game_id:
            self._find("chain", "the event belongs to another game", event.game_id.hex(), self.game_id.hex(), at)
        if at != due:
            self._find("chain", f"event {due} is missing", str(at), str(due), at)
        if event.prev != self.head:
            self._find("chain", "the event does not follow the one before", event.prev.hex(), self.head.hex(), at)
        if event.t_ms < self.t_ms:
            self._find("chain", "the clock runs backwards", str(event.t_ms), str(self.t_ms), at)

    def _find(
        self, check: str, detail: str, stored: str = "", folded: str = "", event: int | None = None, rule: str = ""
    ) -> None:
        finding = Finding(check, self.version if event is None else event, detail, stored, folded, rule)
        self.diverged = self.diverged or finding
        self.report(finding)

    def _unverified(self, seq: int) -> None:
        if self.unverified_from is None:
            self.unverified_from = seq
        self.state = None

    def _create(self, event: Event, body: Create) -> list[Happening]:
        self.create, self.created_ms = body, event.t_ms
        self.seats = [Seat() for _ in range(body.seats)]
        self.dice.link = body.commit
        rules = RULESETS.get(body.rules)
        if rules is None or rules_hash(rules) != body.rules_hash:  # of the same name, and perhaps of another meaning
            self._unverified(event.seq)
            return []
        self.rules = rules
        try:
            self.options = msgspec.convert(body.options, self.rules.options)
        except msgspec.ValidationError as error:
            self._find("format", f"the options of {body.rules}: {error}")
        if body.seats not in self.rules.seats:
            self._find("format", f"{body.seats} seats, {body.rules} is for {self.rules.seats}")
        return []

    def _join(self, event: Event, body: Join) -> list[Happening]:
        if event.seat is None or not 1 <= event.seat <= len(self.seats):
            self._find("order", f"there is no seat {event.seat}")
            return []
        if self.seats[event.seat - 1].player is not None:
            self._find("order", f"seat {event.seat} is taken")
            return []
        if self.rules is not None:
            try:
                choice = msgspec.convert(body.choice, self.rules.choice)
                self.rules.admit(self.options, self.choices(), choice)
            except msgspec.ValidationError as error:
                self._find("format", f"the choice of seat {event.seat}: {error}")
            except Illegal as error:
                self._find("legality", f"seat {event.seat} may not choose so: {error.reason}", rule=error.rule)
        bot = None if body.bot is UNSET else body.bot
        self.seats[event.seat - 1] = Seat(body.player, dict(body.choice), bot, body.custody)
        if body.custody == "self":  # its signatures and chain are not checked by this version
            self._unverified(event.seq)
        return []

    def _leave(self, event: Event, body: Any) -> list[Happening]:
        if event.seat is None or not 1 <= event.seat <= len(self.seats) or self.seats[event.seat - 1].player is None:
            self._find("order", f"nobody sits on seat {event.seat}")
            return []
        self.seats[event.seat - 1] = Seat()
        return []

    def _lock(self, event: Event, body: Lock) -> list[Happening]:
        try:
            self.setup = msgspec.convert(body.setup, Setup)
        except msgspec.ValidationError as error:
            self._find("format", f"the setup: {error}")
            return []
        table = self.table()
        if self.setup.options != table.options or self.setup.seats != table.seats:
            self._find("setup", "the setup is not the table that was joined")
        if self.create is not None and self.create.forked_from is not UNSET:
            self._fork(self.create.forked_from[3])
        elif self.setup.state is not UNSET:
            self._find("setup", "a state is given and the game is no fork")
        return []

    def _fork(self, source_hash: bytes) -> None:
        assert self.setup is not None
        if self.rules is None:
            return
        try:
            self.state = msgspec.convert(self.setup.state, self.rules.state)
        except msgspec.ValidationError as error:
            self._find("format", f"the state of the fork: {error}")
            return
        if (ours := self.state_hash()) != source_hash:
            self._find("setup", "the state is not the one forked from", source_hash.hex(), ours.hex())

    def _seeded(self, event: Event, body: Seeded) -> list[Happening]:
        j, link, draws = body.x
        self._server_link(link)
        self.dice.mix = seeds.setup_mix(self.game_id, self._commitments(), {seeds.SERVER: link})
        if j != 0:
            self._find("draws", "the first draws are numbered 0", str(j), "0")
        self.status, self.started_ms = PLAYING, event.t_ms
        self._derive(draws)
        if self.rules is None or self.setup is None:
            return []
        chance = Recorded(draws)
        happenings: list[Happening] = []
        if self.setup.state is UNSET:
            self.state = self.rules.initial(self.setup)
            try:
                happenings = self.rules.begin(self.state, chance)
                chance.finish()
            except WrongDraw as error:
                self._find("draws", str(error))
        self._settle(body.f)
        return happenings

    def _act(self, event: Event, body: Act) -> list[Happening]:
        if event.seat is None or not 1 <= event.seat <= len(self.seats):
            self._find("order", f"there is no seat {event.seat}")
            return []
        draws = self._mix(event.seat, body.x)
        if self.rules is None or self.state is None:
            return []
        if event.seat not in self.rules.to_act(self.state):
            self._find("legality", f"seat {event.seat} is not to act")
            return []
        if isinstance(body.a, bytes):
            self._unverified(event.seq)
            return []
        chance = Recorded(draws)
        happenings: list[Happening] = []
        try:
            happenings = self.rules.apply(self.state, event.seat, self.rules.parse(*body.a), chance)
            chance.finish()
        except Illegal as error:
            self._find("legality", f"{body.a[0]} is illegal here: {error.reason}", rule=error.rule)
        except WrongDraw as error:
            self._find("draws", str(error))
        self._settle(body.f)
        return happenings

    def _timeout(self, event: Event, body: Timeout) -> list[Happening]:
        return self._without_draws(event, body.f, "time_out")

    def _resign(self, event: Event, body: Resign) -> list[Happening]:
        if isinstance(body.a, bytes):
            self._unverified(event.seq)
            return []
        return self._without_draws(event, body.f, "withdraw")

    def _without_draws(self, event: Event, stored: bytes, verb: str) -> list[Happening]:
        if self.rules is None or self.state is None:
            return []
        if event.seat is None or not 1 <= event.seat <= len(self.seats):
            self._find("order", f"there is no seat {event.seat}")
            return []
        if verb == "time_out" and event.seat not in self.rules.to_act(self.state):
            self._find("legality", f"seat {event.seat} is not to act")
            return []
        try:
            happenings: list[Happening] = getattr(self.rules, verb)(self.state, event.seat)
        except Illegal as error:
            self._find("legality", f"{event.kind} is illegal here: {error.reason}", rule=error.rule)
            return []
        self._settle(stored)
        return happenings

    def _custody(self, event: Event, body: Handover) -> list[Happening]:
        if not 1 <= body.seat <= len(self.seats):
            self._find("order", f"there is no seat {body.seat}")
            return []
        seat = self.seats[body.seat - 1]
        seat.custody = "server"
        if isinstance(body.by, bytes):
            seat.player, seat.bot = body.by, None
        else:
            seat.bot = body.by
        return []

    def _close(self, event: Event, body: Close) -> list[Happening]:
        if body.status == FINISHED and self.outcome is None and self.state is not None:
            self._find("order", "closed as finished, and the rules know no outcome")
        if body.status != FINISHED and self.outcome is not None:
            self._find("order", f"closed as {body.status}, and the rules know an outcome")
        self.closed, self.status = True, body.status
        self.reason = None if body.reason is UNSET else body.reason
        if self.state is not None and (body.state_hash is UNSET or body.state_hash != self.state_hash()):
            stored = "" if body.state_hash is UNSET else body.state_hash.hex()
            self._find("fingerprint", "the final state is another", stored, self.state_hash().hex())
        if body.tail is UNSET:
            if (body.status, self.reason) != (VOID, "key-lost"):
                self._find("seed", "closed without the end of the dice chain")
        elif self.check_dice and self.create is not None:
            chain = seeds.Chain(self.game_id, seeds.SERVER, body.tail, self.create.chain_len)
            if chain.commitment != self.create.commit:
                self._find("seed", "the tail does not lead to the commitment", chain.commitment.hex())
        return []

    # -- dice ------------------------------------------------------------------------------------------------------

    def _commitments(self) -> Mapping[int, bytes]:
        assert self.create is not None
        return {seeds.SERVER: self.create.commit}

    def mixed(self, seat: int, server_link: bytes) -> bytes:
        """M of the next event with draws."""
        return seeds.roll_mix(self.dice.mix, self.dice.j + 1, seat, None, server_link)

    def _mix(self, seat: int, x: Drawn | msgspec.UnsetType) -> list[list[Any]]:
        if x is UNSET:
            return []
        j, link, draws = x
        if j != self.dice.j + 1:
            self._find("draws", f"the draws are numbered {j}", str(j), str(self.dice.j + 1))
        if not draws:
            self._find("draws", "a link was revealed without a draw")
        self.dice.mix = self.mixed(seat, link)
        self.dice.j += 1
        self._server_link(link)
        self._derive(draws)
        return draws

    def _server_link(self, link: bytes) -> None:
        dice = self.dice
        dice.revealed += 1
        if seeds.lower(self.game_id, seeds.SERVER, dice.revealed, link) != dice.link:
            self._find("dice", f"link {dice.revealed} does not lead to the one before", link.hex())
        dice.link = link

    def _derive(self, draws: list[list[Any]]) -> None:
        if self.check_dice:
            for number, stored, derived in derives(draws, seeds.blocks(self.dice.mix)):
                self._find("dice", f"draw {self.dice.j}.{number} is not what the seeds give", str(stored), str(derived))

    def _settle(self, stored: bytes) -> None:
        """After each change of the rules' state: the fingerprint must be the stored one; is there an outcome?"""
        assert self.rules is not None
        if (folded := self.state_hash()[:8]) != stored:
            self._find("fingerprint", "the state is another than the stored one", stored.hex(), folded.hex())
        self._conclude()

    def _conclude(self) -> None:
        assert self.rules is not None
        self.outcome = self.rules.outcome(self.state)
        if self.outcome is not None:
            self.status = FINISHED


def _wrong(event: Event, body: Any) -> str | None:
    """What is wrong with an event of the right shape: who acted, or a signature without signed bytes or the reverse."""
    if (event.seat is None) != (event.kind in _BY_THE_SERVER):
        return f"a {event.kind} event of seat {event.seat}"
    asked = getattr(body, "a", UNSET)
    if isinstance(asked, bytes) != (getattr(body, "g", UNSET) is not UNSET):
        return f"a {event.kind} event with a signature or signed bytes, not both"
    if event.kind == "resign" and isinstance(asked, tuple) and asked != ("resign", {}):
        return f"a resign event that asks for {asked[0]}"
    return None


_BY_THE_SERVER = ("create", "lock", "seeded", "custody", "close")
"""Kinds without a seat; in a timeout the seat is the absent one."""

_FIELDS = tuple(each.name for each in fields(Position))

_BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What rules may raise when they are given a state that no game can be in: only after something was found."""

_FOLDS: dict[str, Callable[[Position, Event, Any], list[Happening]]] = {
    kind: getattr(Position, f"_{kind}") for kind in BODIES
}

_ALLOWED = {
    "not created": {"create"},
    OPEN: {"join", "leave", "lock", "close"},
    "locked": {"seeded", "close"},
    PLAYING: {"act", "timeout", "resign", "custody", "close"},
    FINISHED: {"custody", "close"},
    "closed": set[str](),
}
