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
from msgspec.structs import replace

from engine.chance import Recorded, WrongDraw, derives
from engine.protocol import Happening, Illegal, Options, Outcome, Rules, SeatSetup, Setup
from engine.registry import RULESETS
from events import seeds
from events.bodies import (
    BODIES,
    Act,
    Body,
    BotName,
    Close,
    Create,
    Custody,
    Drawn,
    Handover,
    Join,
    Leave,
    Lock,
    Resign,
    Reveal,
    Seeded,
    Signoff,
    Timeout,
    read_body,
)
from events.event import GAME_KINDS, Event, genesis
from events.signing import NotAnAction, SignedAction, usable_key
from replay.fingerprint import Packed, rules_hash, state_hash

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


CHECKS = (
    "format", "chain", "key", "signature", "order", "setup", "legality", "draws", "dice", "fingerprint", "seed",
)  # fmt: skip


class Diverged(Exception):
    """The fold and the log disagree."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"event {finding.event}: {finding.detail}")
        self.finding = finding


def _strict(finding: Finding) -> None:
    raise Diverged(finding)


class Seat(msgspec.Struct, frozen=True):
    """A place at the table; free while nobody sits on it.

    A seat in self-custody signs with the key ``pk`` and has a dice chain: ``signed`` counts its actions, of which
    number k revealed link k, and ``link`` is the last. ``commitment`` and ``first`` are the links that the lock fixed
    and that were revealed behind it.
    """

    player: bytes | None = None
    choice: dict[str, Any] = {}
    bot: BotName | None = None
    custody: Custody = "server"
    pk: bytes = b""
    signed: int = 0
    link: bytes = b""
    commitment: bytes = b""
    first: bytes = b""
    signed_off: bool = False

    @property
    def signs(self) -> bool:
        """Is the seat in self-custody?"""
        return self.custody == "self"


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
    """Also recompute every draw from the committed chains and verify every signature: for an audit."""
    rulesets: Mapping[str, Rules[Any]] = field(default_factory=lambda: RULESETS)
    """The rules that are known; without any, chains, dice and signatures are checked all the same."""

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
    packed: Packed = field(default_factory=dict, repr=False, compare=False)
    """Parts of the state as they were last packed; copies share it."""
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

    @property
    def to_reveal(self) -> list[int]:
        """The seats in self-custody whose first link a locked table waits for."""
        if self.setup is None or self.status != OPEN:
            return []
        return [number for number, seat in self.seat_items() if seat.signs and not seat.first]

    @property
    def to_sign_off(self) -> list[int]:
        """The seats in self-custody that have not vouched for how the game ended."""
        if self.closed or "signoff" not in self._allowed():
            return []
        return [number for number, seat in self.seat_items() if seat.signs and not seat.signed_off]

    @property
    def spent(self) -> bool:
        """Has an owner of a dice chain no link left? Then the game cannot go on."""
        if self.create is None:
            return False
        length = self.create.chain_len
        return self.dice.revealed >= length or any(seat.signs and seat.signed > length for seat in self.seats)

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
        return state_hash(self.rules.id, self.state, self.packed)

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
        twin.seats = list(self.seats)
        twin.state = None if self.state is None or self.rules is None else self.rules.copy(self.state)
        dice = self.dice
        twin.dice = Dice(dice.j, dice.mix, dice.revealed, dice.link)
        return twin

    # -- live play -------------------------------------------------------------------------------------------------

    def adopt(self, event: Event, x: Drawn | None = None, signed: SignedAction | None = None) -> None:
        """Take over an event that was just made from this very position, its state already changed by the rules."""
        self.version, self.head, self.t_ms = event.seq, event.hash, event.t_ms
        server_link = None if x is None else x[1]
        if x is not None or signed is not None:
            self.dice.mix = self.mixed(event.seat or 0, server_link, None if signed is None else signed.r)
            self.dice.j += 1
        if server_link is not None:
            self.dice.revealed += 1
            self.dice.link = server_link
        if signed is not None:
            self._reveal(signed)
        self._conclude()

    def wrong_signature(
        self, signed: SignedAction, signature: bytes | None, version: int, head: bytes
    ) -> Finding | None:
        """What is wrong with an action as the next one of the seat that it names, right behind event ``version``: whose
        it is, its number, the head it follows on, its link, and its signature (None: not verified)."""
        seat = self.seats[signed.seat - 1]
        at = version + 1
        if signed.game_id != self.game_id:
            return Finding("signature", at, "the action was signed for another game", signed.game_id.hex())
        if signed.pseq != seat.signed:
            detail = f"seat {signed.seat} signed its action number {signed.pseq}"
            return Finding("signature", at, detail, str(signed.pseq), str(seat.signed))
        if (signed.head_seq, signed.head) != (version, head):
            detail = f"seat {signed.seat} signed what follows on another event {signed.head_seq}"
            return Finding("signature", at, detail, signed.head.hex(), head.hex())
        key = seat.pk
        if signed.kind == "join":
            key = signed.args["pk"]
            if not usable_key(key):
                return Finding("key", at, f"the key of seat {signed.seat} fits any message", key.hex())
            if any(other.pk == key for number, other in self.seat_items() if number != signed.seat):
                return Finding("key", at, f"the key of seat {signed.seat} is another seat's", key.hex())
        if signature is not None and not signed.signed_by(key, signature):
            return Finding("signature", at, f"the signature of seat {signed.seat} does not verify", signature.hex())
        if signed.kind != "join" and seeds.lower(self.game_id, signed.seat, signed.pseq, signed.r) != seat.link:
            detail = f"link {signed.pseq} of seat {signed.seat} does not lead to the one before"
            return Finding("dice", at, detail, signed.r.hex())
        return None

    # -- folding ---------------------------------------------------------------------------------------------------

    def advance(self, event: Event) -> list[Happening]:
        """Fold the next event. Answers with what happened, as the rules tell it.

        :raises Diverged: something does not hold, where ``report`` is the default.
        """
        body: Body | None
        if (body := event.act) is not None and self._is_plain(event, body):
            self.version, self.head, self.t_ms = event.seq, event.hash, event.t_ms
        else:
            body = self._admitted(event)
        if body is None:
            return []
        try:
            return _FOLDS[event.kind](self, event, body)
        except _BROKEN as error:
            if self.diverged is None:
                raise
            self._find("legality", f"the rules cannot go on from a state that was not played: {error!r}")
            self.state = None
            return []

    def _is_plain(self, event: Event, act: Act) -> bool:
        """Is it the next event, an unsigned act while the game is played? Then `_admitted` would find nothing."""
        return (
            event.prev == self.head
            and event.seq == self.version + 1
            and event.t_ms >= self.t_ms
            and event.game_id == self.game_id
            and self.status == PLAYING
            and event.seat is not None
            and event.seat <= len(self.seats)
            and act.g is UNSET
            and type(act.a) is not bytes
        )

    def _admitted(self, event: Event) -> Body | None:
        """The body of the next event, after the checks that every event has to pass; None where it is not folded."""
        self._chain(event)
        self.version, self.head, self.t_ms = event.seq, event.hash, max(self.t_ms, event.t_ms)
        if event.kind not in BODIES:
            if event.kind not in GAME_KINDS or self.unverified_from is None:
                self._unverified(event.seq)
            return None
        try:
            body = event.act or read_body(event.kind, event.body)
        except msgspec.ValidationError as error:
            self._find("format", f"the body of a {event.kind} event: {error}")
            return None
        if (wrong := _wrong(event, body)) is not None:
            self._find("format", wrong)
        if event.kind not in self._allowed():
            self._find("order", f"a {event.kind} event while the game is {self._stage()}")
            return None
        if event.seat is not None and event.seat > len(self.seats):
            self._find("order", f"there is no seat {event.seat}")
            return None
        return body

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

    def _allowed(self) -> set[str]:
        """The kinds of event that may follow. Under unknown rules nobody can say whether there is an outcome."""
        stage = self._stage()
        unknown = stage == PLAYING and self.unverified_from is not None
        return _ALLOWED[stage] | _ALLOWED[FINISHED] if unknown else _ALLOWED[stage]

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
        rules = self.rulesets.get(body.rules)
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
        assert event.seat is not None
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
        pk = b"" if body.pk is UNSET else body.pk
        if body.custody == "self":
            self.seats[event.seat - 1] = Seat()
            signed = self._signed(event, body)
            if signed is None or (signed.args["pk"], signed.args["choice"]) != (pk, body.choice):
                self._find("signature", f"seat {event.seat} signed another key or choice", pk.hex())
            link = b"" if signed is None else signed.r
            self.seats[event.seat - 1] = Seat(body.player, body.choice, bot, "self", pk, 1, link)
        else:
            self.seats[event.seat - 1] = Seat(body.player, body.choice, bot)
        return []

    def _leave(self, event: Event, body: Leave) -> list[Happening]:
        assert event.seat is not None
        if self.seats[event.seat - 1].player is None:
            self._find("order", f"nobody sits on seat {event.seat}")
            return []
        if body.a is not UNSET:
            self._signed(event, body)
        self.seats[event.seat - 1] = Seat()
        return []

    def _signed(self, event: Event, body: Any) -> SignedAction | None:
        """What the seat signed, checked as its next action; its link is public now."""
        assert event.seat is not None
        try:
            signed = SignedAction.read(body.a)
        except NotAnAction as error:
            self._find("format", f"what seat {event.seat} signed: {error}")
            return None
        if (signed.kind, signed.seat) != (event.kind, event.seat):
            self._find("signature", f"seat {signed.seat} signed a {signed.kind}", folded=event.kind)
            return None
        finding = self.wrong_signature(signed, body.g if self.check_dice else None, event.seq - 1, event.prev)
        if finding is not None:
            self._find(finding.check, finding.detail, finding.stored, finding.folded)
        self._reveal(signed)
        return signed

    def _reveal(self, signed: SignedAction) -> None:
        seat = self.seats[signed.seat - 1]
        self.seats[signed.seat - 1] = replace(seat, signed=signed.pseq + 1, link=signed.r)

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
        self.seats = [replace(seat, commitment=seat.link, first=b"") for seat in self.seats]
        return []

    def _revealed(self, event: Event, body: Reveal) -> list[Happening]:
        if event.seat not in self.to_reveal:
            self._find("order", f"seat {event.seat} has nothing to reveal")
            return []
        if (signed := self._signed(event, body)) is not None:
            self.seats[event.seat - 1] = replace(self.seats[event.seat - 1], first=signed.r)
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
        if self.to_reveal:
            self._find("order", f"begun before the seats {self.to_reveal} revealed their links")
        self.dice.mix = self.setup_mix(link)
        if j != 0:
            self._find("draws", "the first draws are numbered 0", str(j), "0")
        self.status, self.started_ms = PLAYING, event.t_ms
        if self.check_dice:
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
        assert event.seat is not None
        asked, link = self._asked(event, body)
        draws = self._mix(event.seat, body.x, link)
        if self.rules is None or self.state is None or asked is None:
            return []
        if event.seat not in self.rules.to_act(self.state):
            self._find("legality", f"seat {event.seat} is not to act")
            return []
        chance = Recorded(draws)
        happenings: list[Happening] = []
        try:
            happenings = self.rules.apply(self.state, event.seat, self.rules.parse(*asked), chance)
            chance.finish()
        except Illegal as error:
            self._find("legality", f"{asked[0]} is illegal here: {error.reason}", rule=error.rule)
        except WrongDraw as error:
            self._find("draws", str(error))
        self._settle(body.f)
        return happenings

    def _asked(self, event: Event, body: Act | Resign) -> tuple[tuple[str, dict[str, Any]] | None, bytes | None]:
        """The action, and the link that it reveals where the seat signs; no action where it cannot be read."""
        assert event.seat is not None
        seat, asked = self.seats[event.seat - 1], body.a
        if isinstance(asked, bytes) != (seat.custody == "self"):
            self._find("signature", f"seat {event.seat} {'signs' if seat.signs else 'does not sign'} what it does")
        if not isinstance(asked, bytes):
            return asked, None
        if (signed := self._signed(event, body)) is None:
            return None, None
        return (signed.name or event.kind, signed.args), signed.r

    def _timeout(self, event: Event, body: Timeout) -> list[Happening]:
        if self._stage() == "locked":
            return self._unlock(event, body)
        if body.f is UNSET:
            self._find("format", "a turn that is claimed has a fingerprint")
            return []
        return self._without_draws(event, body.f, "time_out")

    def _unlock(self, event: Event, body: Timeout) -> list[Happening]:
        """A seat never revealed: it is free, the table open; the links that are public by now are the commitments."""
        assert event.seat is not None
        if event.seat not in self.to_reveal:
            self._find("order", f"seat {event.seat} has nothing to reveal")
        if body.f is not UNSET:
            self._find("format", "a fingerprint before there is a state")
        self.seats[event.seat - 1] = Seat()
        self.setup, self.state = None, None
        return []

    def _resign(self, event: Event, body: Resign) -> list[Happening]:
        assert event.seat is not None
        _, link = self._asked(event, body)
        self._mix(event.seat, UNSET, link)
        return self._without_draws(event, body.f, "withdraw")

    def _signoff(self, event: Event, body: Signoff) -> list[Happening]:
        assert event.seat is not None
        if event.seat not in self.to_sign_off:
            self._find("order", f"seat {event.seat} does not sign the end")
            return []
        if (signed := self._signed(event, body)) is not None:
            self._mix(event.seat, UNSET, signed.r)
        self.seats[event.seat - 1] = replace(self.seats[event.seat - 1], signed_off=True)
        return []

    def _without_draws(self, event: Event, stored: bytes, verb: str) -> list[Happening]:
        if self.rules is None or self.state is None:
            return []
        assert event.seat is not None
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
        by_player = isinstance(body.by, bytes)
        player, bot = (body.by, None) if by_player else (seat.player, body.by)
        self.seats[body.seat - 1] = replace(seat, player=player, bot=bot, custody="server")
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

    def setup_mix(self, server_link: bytes) -> bytes:
        """``M_0`` of a locked table: the server, then the seats in self-custody."""
        assert self.create is not None
        owners = {number: seat for number, seat in self.seat_items() if seat.signs}
        commitments = {seeds.SERVER: self.create.commit} | {number: seat.commitment for number, seat in owners.items()}
        first_links = {seeds.SERVER: server_link} | {number: seat.first for number, seat in owners.items()}
        return seeds.setup_mix(self.game_id, commitments, first_links)

    def mixed(self, seat: int, server_link: bytes | None, seat_link: bytes | None) -> bytes:
        """M of the next event of a seat: with the server's next link if it draws, with the seat's own if it signs."""
        return seeds.roll_mix(self.dice.mix, self.dice.j + 1, seat, seat_link, server_link)

    def _mix(self, seat: int, x: Drawn | msgspec.UnsetType, seat_link: bytes | None) -> list[list[Any]]:
        if x is UNSET:
            if seat_link is not None:
                self.dice.mix = self.mixed(seat, None, seat_link)
                self.dice.j += 1
            return []
        j, link, draws = x
        if j != self.dice.j + 1:
            self._find("draws", f"the draws are numbered {j}", str(j), str(self.dice.j + 1))
        if not draws:
            self._find("draws", "a link was revealed without a draw")
        self.dice.mix = self.mixed(seat, link, seat_link)
        self.dice.j += 1
        self._server_link(link)
        if self.check_dice:
            self._derive(draws)
        return draws

    def _server_link(self, link: bytes) -> None:
        dice = self.dice
        dice.revealed += 1
        if seeds.lower(self.game_id, seeds.SERVER, dice.revealed, link) != dice.link:
            self._find("dice", f"link {dice.revealed} does not lead to the one before", link.hex())
        dice.link = link

    def _derive(self, draws: list[list[Any]]) -> None:
        for number, stored, derived in derives(draws, seeds.blocks(self.dice.mix)):
            self._find("dice", f"draw {self.dice.j}.{number} is not what the seeds give", str(stored), str(derived))

    def _settle(self, stored: bytes) -> None:
        """After each change of the rules' state: the fingerprint must be the stored one; is there an outcome?"""
        assert self.rules is not None
        if (folded := state_hash(self.rules.id, self.state, self.packed)[:8]) != stored:
            self._find("fingerprint", "the state is another than the stored one", stored.hex(), folded.hex())
        self._conclude()

    def _conclude(self) -> None:
        assert self.rules is not None
        self.outcome = self.rules.outcome(self.state)
        if self.outcome is not None:
            self.status = FINISHED


def _wrong(event: Event, body: Body) -> str | None:
    """What is wrong with an event of the right shape: who acted, or a signature without signed bytes or the reverse."""
    if (event.seat is None) != (event.kind in _BY_THE_SERVER):
        return f"a {event.kind} event of seat {event.seat}"
    asked = getattr(body, "a", UNSET)
    if isinstance(asked, bytes) != (getattr(body, "g", UNSET) is not UNSET):
        return f"a {event.kind} event with a signature or signed bytes, not both"
    if isinstance(body, Join) and len({body.custody == "self", body.pk is not UNSET, isinstance(asked, bytes)}) != 1:
        return f"a join with custody {body.custody} and what does not go with it"
    if event.kind == "resign" and isinstance(asked, tuple) and asked != ("resign", {}):
        return f"a resign event that asks for {asked[0]}"
    return None


_BY_THE_SERVER = ("create", "lock", "seeded", "custody", "close")
"""Kinds without a seat; in a timeout the seat is the absent one."""

_FIELDS = tuple(each.name for each in fields(Position))

_BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""What rules may raise when they are given a state that no game can be in: only after something was found."""

_FOLDS: dict[str, Callable[[Position, Event, Any], list[Happening]]] = {
    kind: getattr(Position, "_revealed" if kind == "reveal" else f"_{kind}") for kind in BODIES
}

_ALLOWED = {
    "not created": {"create"},
    OPEN: {"join", "leave", "lock", "close"},
    "locked": {"reveal", "seeded", "timeout", "close"},
    PLAYING: {"act", "timeout", "resign", "custody", "close"},
    FINISHED: {"custody", "signoff", "close"},
    "closed": set[str](),
}
