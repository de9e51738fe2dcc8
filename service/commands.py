"""The command path: every act on a game, from the request to the durable event, in five steps.

1 load, 2 decide (the draft), 3 seal (in the draft), 4 append, 5 remember and answer. On a conflict the game is loaded
again and the decision is taken anew, so an act that expects a version says Stale. No step holds a lock.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from engine.chance import possible
from engine.protocol import Action, Happening, Illegal, Rules, name_and_args
from engine.registry import BOTS, RULESETS, game_name
from events import codec, seeds
from events.bodies import BotName, Create
from events.event import Event
from events.log import AlreadyDone, Conflict, Unavailable, idempotency_key
from events.signing import Sealed, SignedAction
from replay.case import ANSWERED, Case
from replay.case import OPEN as UNANSWERED
from replay.fingerprint import rules_hash
from replay.position import ABANDONED, EXACT, FINISHED, OPEN, PLAYING, VOID, Finding, NotYourTurn, Position
from service.access import NotYourSeat
from service.drafts import FORK_LIMIT, Draft, MustSign, WrongSignature, WrongStatus
from service.positions import Game, NotFound
from service.proofs.log_folder import NoLog, log_at

if TYPE_CHECKING:
    from service.bootstrap import Deps

BUILD: Final = "annals 0.1.0"
RESTORED: Final = "restored"
KEY_LOST: Final = "key-lost"
RULED: Final = "ruled"
_TRIES: Final = 16


class Stale(Exception):
    """The game has moved on from, or not come to, the version that the act expects."""

    def __init__(self, game: Game, expected: int) -> None:
        super().__init__(f"version {expected} is expected, the game is at {game.version}")
        self.game, self.expected = game, expected


class KeyReused(Exception):
    """The idempotency key was used before, for something else."""


class Unsound(Exception):
    """The game's record does not fold to what it says, so nothing may be added to it."""

    def __init__(self, game: Game) -> None:
        super().__init__(f"the record is {game.position.grade}")
        self.game = game


class MasterMissing(Exception):
    """The master key of the game's dice is not in the keyring."""


class KeyKnown(Exception):
    """The master key of the game's dice is in the keyring: it is not lost."""


class SeatTaken(Exception):
    """Somebody sits there, or everywhere."""

    def __init__(self, seat: int | None, free: list[int]) -> None:
        super().__init__("no seat is free" if seat is None else f"seat {seat} is taken")
        self.seat, self.free = seat, free


class NoSuchSeat(Exception):
    """The table has no seat of that number."""

    def __init__(self, seat: int, seats: int) -> None:
        super().__init__(f"there is no seat {seat}")
        self.seat, self.seats = seat, seats


class SeatsOpen(Exception):
    """The game cannot start while seats are free."""

    def __init__(self, free: list[int]) -> None:
        super().__init__(f"free seats: {free}")
        self.free = free


class TooEarly(Exception):
    """The turn's time is not over yet; None: the table has no clock."""

    def __init__(self, wait_ms: int | None) -> None:
        super().__init__("the table has no clock" if wait_ms is None else f"{wait_ms} ms are left")
        self.wait_ms = wait_ms


class Paused(Exception):
    """A dispute waits for its ruling, and the table's option says that nobody acts meanwhile."""

    def __init__(self, case_id: bytes) -> None:
        super().__init__(f"case {case_id.hex()} waits for its ruling")
        self.case_id = case_id


class CannotFork(Exception):
    """Nothing can be played on from there. ``why``: not-finished, before-start, game-over or too-large."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class UnknownRuleset(LookupError):
    """No such ruleset is on offer."""


class BadChoice(ValueError):
    """What was asked for at the table is not of the ruleset's form. ``field`` says where."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field, self.detail = field, detail


@dataclass(frozen=True, slots=True)
class Accepted:
    """An act that is in the log: its event, the game after it, and what happened. ``again``: it was there before."""

    event: Event
    position: Position
    happenings: list[Happening]
    again: bool = False


# -- the path --------------------------------------------------------------------------------------------------------


def submit(
    deps: "Deps",
    game_id: bytes,
    seat: int,
    action: Action,
    expected: int,
    key: str | None,
    player: bytes | None = None,
) -> Accepted:
    """Carry out a seat's action on the version it expects. ``player``: who must hold the seat, None for whoever does.

    A key that was used before gives the same answer again, before anything else is asked.

    :raises NotFound, NotYourSeat, Stale, WrongStatus, MustSign, NotYourTurn, Illegal, KeyReused, Unsound,
        MasterMissing, Unavailable: then nothing was written (`events.log.OutcomeUnknown`: perhaps it was).
    """
    mark = None if key is None else idempotency_key(key)

    def decide(game: Game) -> Draft:
        _still_holds(game, seat, player)
        if game.version != expected:
            raise Stale(game, expected)
        draft = drafted(deps, game)
        draft.act(seat, action, mark)
        return draft

    game = deps.positions.remembered(game_id)  # perhaps behind: then the append says so
    if game is not None and game.version == expected:
        try:
            return _act(deps, game, decide, action)
        except (Conflict, Stale, NotYourSeat, WrongStatus, NotYourTurn, Illegal, Unsound):
            pass  # decided on what was remembered; what holds now decides
    if mark is not None and (seq := deps.log.answered(game_id, seat, mark)) is not None:
        return _answered(deps, game_id, seq, list(name_and_args(action)))
    for _ in range(_TRIES):
        try:
            return _act(deps, deps.positions.load(game_id), decide, action)
        except Conflict:
            continue
    raise Unavailable("too many others write to this game")


def submit_signed(deps: "Deps", game_id: bytes, sealed: Sealed, decide: Callable[[Game], Draft]) -> Accepted:
    """Write what ``decide`` drafts of something that a seat signed. The same bytes again: the same answer again.

    :raises NotFound, Stale, WrongSignature, KeyReused, Unsound, MasterMissing, Unavailable: and whatever ``decide``
        raises; then nothing was written.
    """
    signed = sealed.action
    mark = idempotency_key(signed.data)
    for _ in range(_TRIES):
        if (seq := deps.log.answered(game_id, signed.seat, mark)) is not None:
            return _answered(deps, game_id, seq, signed.data)
        game = deps.positions.load(game_id)
        if (game.version, game.position.head) != (signed.head_seq, signed.head):
            raise Stale(game, signed.head_seq)
        _check_checkpoint(deps, signed)
        draft = decide(game)
        try:
            written = deps.log.append(draft.events)
        except Conflict:
            continue
        if isinstance(written, AlreadyDone):
            return _answered(deps, game_id, written.event.seq, signed.data)
        _remember(deps, game, draft)
        return Accepted(draft.events[0], draft.position, draft.happenings)
    raise Unavailable("too many others write to this game")


def _check_checkpoint(deps: "Deps", signed: SignedAction) -> None:
    """A checkpoint that a seat signs must be one of our log, and that of a join must hold the table's opening: else
    the game's record would speak against this service.

    :raises WrongSignature: it is not.
    """
    if "cp" not in signed.args:
        return
    log = log_at(deps.config.log_path)
    (size, root), ours = signed.args["cp"], b""
    with suppress(NoLog, IndexError):
        ours = log.root(size)
    opened = log.find("open", signed.game_id) if signed.kind == "join" else 0
    if ours != root:
        detail = f"no tree of {size} entries of the log of games has that root"
    elif opened is None or opened >= size:
        detail = f"the first {size} entries of the log of games do not hold the opening of this table"
    else:
        return
    raise WrongSignature(Finding("signature", signed.head_seq + 1, detail, root.hex(), ours.hex()))


def act_signed(
    deps: "Deps", game_id: bytes, action: Action, sealed: Sealed, player: bytes | None = None
) -> Accepted:
    """Carry out the action that a seat signed.

    :raises NotYourSeat, WrongStatus, MustSign, NotYourTurn, Illegal: and what `submit_signed` raises.
    """

    def decide(game: Game) -> Draft:
        _still_holds(game, sealed.action.seat, player)
        draft = drafted(deps, game)
        draft.act(sealed.action.seat, action, sealed=sealed)
        return draft

    return submit_signed(deps, game_id, sealed, decide)


def reveal(deps: "Deps", game_id: bytes, sealed: Sealed, player: bytes | None = None) -> Accepted:
    """A seat reveals its first link; behind the last one play begins.

    :raises NotYourSeat, WrongStatus: and what `submit_signed` raises.
    """
    return _sealed(deps, game_id, sealed, player, Draft.reveal)


def sign_off(deps: "Deps", game_id: bytes, sealed: Sealed, player: bytes | None = None) -> Accepted:
    """A seat vouches for how the game ended; behind the last one it is closed.

    :raises NotYourSeat, WrongStatus: and what `submit_signed` raises.
    """
    return _sealed(deps, game_id, sealed, player, Draft.sign_off)


def _sealed(
    deps: "Deps", game_id: bytes, sealed: Sealed, player: bytes | None, verb: Callable[[Draft, Sealed], None]
) -> Accepted:
    def decide(game: Game) -> Draft:
        _still_holds(game, sealed.action.seat, player)
        draft = drafted(deps, game)
        verb(draft, sealed)
        return draft

    return submit_signed(deps, game_id, sealed, decide)


def answered_before(
    deps: "Deps", game_id: bytes, player: bytes, seat: int | None, action: Action, key: str
) -> Accepted | None:
    """The answer that an act with this key got at one of the player's seats (at ``seat``, if it was named).

    Which of several seats was meant is not known any more once the turn has passed, nor whether a bot plays it now.

    :raises KeyReused: it was for another action.
    """
    held = [number for number in deps.positions.load(game_id).position.seats_of(player) if seat in (None, number)]
    for number in held:
        if (seq := deps.log.answered(game_id, number, idempotency_key(key))) is not None:
            return _answered(deps, game_id, seq, list(name_and_args(action)))
    return None


def _still_holds(game: Game, seat: int, player: bytes | None) -> None:
    """Since the caller was let in the seat may have been left, taken by another, or handed over to a bot."""
    place = game.position.seats[seat - 1]
    if player is not None and (place.bot is not None or place.player != player):
        raise NotYourSeat(seat)


def change(deps: "Deps", game_id: bytes, decide: Callable[[Game], Draft]) -> tuple[Draft, Game]:
    """Write what ``decide`` drafts on the game as it stands, deciding again for as long as others are faster.

    :raises NotFound, Unsound, MasterMissing, Unavailable: and whatever ``decide`` raises; then nothing was written.
    """
    for _ in range(_TRIES):
        game = deps.positions.load(game_id)
        draft = decide(game)
        try:
            written = deps.log.append(draft.events)
        except Conflict:
            continue
        assert not isinstance(written, AlreadyDone), "only an act has a key"
        return draft, _remember(deps, game, draft)
    raise Unavailable("too many others write to this game")


def drafted(deps: "Deps", game: Game, paused: bool = False) -> Draft:
    """A draft on a game whose record is sound. ``paused``: also while a dispute pauses it.

    :raises Unsound: it is not.
    :raises Paused: a dispute pauses it.
    :raises MasterMissing: its dice cannot be derived here: the key is missing, or another has its name.
    """
    if game.position.grade != EXACT:
        raise Unsound(game)
    if not paused:
        not_paused(deps, game.position)
    if game.chain is None:
        create, dice = game.position.create, game.position.dice
        assert create is not None
        chain = dice_chain(deps, game.id, create.key_id, create.chain_len)
        if chain.link(dice.revealed) != dice.link:  # not what the game committed to: its dice would be refuted
            raise MasterMissing(create.key_id)
        game.chain = chain
    return Draft(game.position, deps.clock(), game.chain)


def not_paused(deps: "Deps", position: Position) -> None:
    """
    :raises Paused: a dispute of a game that is played waits for its ruling, and the table's option says so.
    """
    if position.options.dispute_pauses and position.status == PLAYING:
        case = pausing(position, deps.cases.of_game(position.game_id))
        if case is not None:
            raise Paused(case.case_id)


def pausing(position: Position, cases: Sequence[Case]) -> Case | None:
    """The first of a game's cases that nobody may act before it is ruled."""
    if not position.options.dispute_pauses or position.status != PLAYING:
        return None
    waiting = (case for case in cases if case.grade == EXACT and case.state in (UNANSWERED, ANSWERED))
    return next(waiting, None)


def last_ms(deps: "Deps", position: Position) -> int:
    """From when on a game waits: its last event, or the end of a dispute that paused it."""
    if not position.options.dispute_pauses:
        return position.t_ms
    return max(position.t_ms, *(case.t_ms for case in deps.cases.of_game(position.game_id)), 0)


def dice_chain(deps: "Deps", game_id: bytes, key_id: str, length: int = seeds.CHAIN_LENGTH) -> seeds.Chain:
    """The server's dice chain of a game.

    :raises MasterMissing: the keyring lacks its key.
    """
    if (master := deps.keyring.masters.get(key_id)) is None:
        raise MasterMissing(key_id)
    return seeds.Chain(game_id, seeds.SERVER, seeds.server_tail(master, game_id), length)


def _act(deps: "Deps", game: Game, decide: Callable[[Game], Draft], action: Action) -> Accepted:
    draft = decide(game)
    written = deps.log.append(draft.events)
    if isinstance(written, AlreadyDone):
        return _answered(deps, game.id, written.event.seq, list(name_and_args(action)))
    _remember(deps, game, draft)
    return Accepted(draft.events[0], draft.position, draft.happenings)


def _remember(deps: "Deps", game: Game, draft: Draft) -> Game:
    game = game.advanced(draft.position, draft.events)
    deps.positions.keep(game)
    return game


def _answered(deps: "Deps", game_id: bytes, seq: int, asked: bytes | list[Any]) -> Accepted:
    """The answer that an act got, derived again from the log. ``asked``: the bytes that were signed, or name and args.

    :raises KeyReused: it was for another act.
    """
    game = deps.positions.load(game_id)
    for position, event, happenings in deps.positions.walk(game_id, seq - 1, seq):
        if codec.encode(event.body.get("a")) != codec.encode(asked):
            raise KeyReused
        if _brought_another(position, event) and game.version > seq:
            for after, _, more in deps.positions.walk(game_id, seq, seq + 1):
                return Accepted(event, after, happenings + more, again=True)
        return Accepted(event, position, happenings, again=True)
    raise NotFound(f"event {seq} of {game_id.hex()}")


def _brought_another(position: Position, event: Event) -> bool:
    """Did the append of an event write one more: the beginning of play behind the last reveal, or the close?"""
    if event.kind == "reveal":
        return not position.to_reveal
    return position.spent or (position.outcome is not None and not position.to_sign_off)


# -- the table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Table:
    """What a creator asks for. ``sit``: the choice of seat 1's player, None where nobody sits down yet."""

    ruleset: str
    seats: int
    options: Mapping[str, Any]
    visibility: str
    watching: str
    sit: Mapping[str, Any] | None


def create(deps: "Deps", creator: bytes, table: Table, key: str | None) -> tuple[Game, bool]:
    """Open a table, and seat its creator. With a key that was used before: the same game as it was then (True).

    :raises UnknownRuleset, BadChoice, Illegal, KeyReused, Unavailable: then nothing was written.
    """
    rules = RULESETS.get(table.ruleset)
    if rules is None:
        raise UnknownRuleset(table.ruleset)
    if table.seats not in rules.seats:
        raise BadChoice("seats", f"{table.ruleset} has {rules.seats[0]} to {rules.seats[-1]} seats, not {table.seats}")
    options = msgspec.to_builtins(_convert(table.options, rules.options, "options"))
    return _open(deps, creator, table, options, rules, key)


def fork(
    deps: "Deps",
    creator: bytes,
    source: Game,
    version: int,
    visibility: str | None,
    watching: str,
    sit: bool,
    key: str | None,
) -> tuple[Game, bool]:
    """Open a table that plays on from a position of a finished game. With a key used before: that table (True).

    :raises NoSuchPosition: the game has not come so far.
    :raises CannotFork: nothing can be played on from there.
    :raises KeyReused: the key opened another table.
    """
    origin = source.position
    if not origin.closed or origin.status not in ("finished", ABANDONED) or origin.create is None:
        raise CannotFork("not-finished")
    rules, position = forkable(deps, source, version)
    table = Table(
        rules.id,
        len(position.seats),
        origin.create.options,
        visibility or origin.create.visibility,
        watching,
        {} if sit else None,
    )
    forked_from = (source.id, version, position.head, position.state_hash())
    return _open(deps, creator, table, dict(origin.create.options), rules, key, forked_from)


def forkable(deps: "Deps", source: Game, version: int) -> tuple[Rules[Any], Position]:
    """The rules and the position that a fork plays on from.

    :raises NoSuchPosition: the game has not come so far.
    :raises Unsound, CannotFork: nothing can be played on from there.
    """
    position = deps.positions.at(source.id, version)
    if position.grade != EXACT:
        raise Unsound(source)
    if position.rules is None or position.state is None or version == 0:
        raise CannotFork("before-start")
    if position.outcome is not None or position.status != PLAYING:
        raise CannotFork("game-over")
    if len(codec.encode(msgspec.to_builtins(position.state), codec.STATE_LIMIT)) > FORK_LIMIT:
        raise CannotFork("too-large")
    return position.rules, position


def resume(deps: "Deps", source: Game, version: int, game_id: bytes) -> Game:
    """Play on from a position in the new game ``game_id``, in which everybody has the seat they had there: opened,
    joined and begun in one append. What was done already is left as it is.

    Seats that signed are in the server's custody now: nobody else can sign for them.

    :raises NoSuchPosition, Unsound, CannotFork, MasterMissing, Unavailable: then nothing was written.
    """
    if deps.log.head(game_id).version:
        return deps.positions.load(game_id)
    rules, origin = forkable(deps, source, version)
    create = origin.create
    assert create is not None
    chain = dice_chain(deps, game_id, deps.keyring.current)
    body = Create(
        rules=rules.id,
        rules_hash=rules_hash(rules),
        seats=len(origin.seats),
        options=dict(create.options),
        visibility=create.visibility,
        watching=create.watching,
        commit=chain.commitment,
        chain_len=chain.length,
        key_id=deps.keyring.current,
        build=BUILD,
        forked_from=(source.id, version, origin.head, origin.state_hash()),
    )
    draft = Draft(Position(game_id), deps.clock(), chain)
    draft.create(body)
    for number, seat in origin.seat_items():
        player = seat.player if seat.player is not None and seat.bot is None else secrets.token_bytes(16)
        draft.join(number, player, _choose(draft.position, {}), seat.bot)
    draft.start(_forked_state(deps, draft.position))
    if (creator := deps.creators.get(source.id)) is not None:
        deps.creators.put(game_id, creator)
    with suppress(Conflict):  # somebody was faster, with the same
        deps.log.append(draft.events)
    return deps.positions.load(game_id)


def _open(
    deps: "Deps",
    creator: bytes,
    table: Table,
    options: dict[str, Any],
    rules: Rules[Any],
    key: str | None,
    forked_from: tuple[bytes, int, bytes, bytes] | None = None,
) -> tuple[Game, bool]:
    key_id, game_id = deps.keyring.current, secrets.token_bytes(16)
    if key is not None:
        key_id, game_id = _keyed(deps, creator, key)
    chain = dice_chain(deps, game_id, key_id)
    body = Create(
        rules=rules.id,
        rules_hash=rules_hash(rules),
        seats=table.seats,
        options=options,
        visibility=table.visibility,  # type: ignore[arg-type] # checked where the request is read
        watching=table.watching,
        commit=chain.commitment,
        chain_len=chain.length,
        key_id=key_id,
        build=BUILD,
        forked_from=forked_from or UNSET,
    )
    draft = Draft(Position(game_id), deps.clock(), chain)
    draft.create(body)
    if table.sit is not None:
        choice = _choose(draft.position, table.sit)
        draft.join(1, creator, choice)
    deps.creators.put(game_id, creator)
    try:
        deps.log.append(draft.events)
    except Conflict:
        return _created_before(deps, game_id, draft), True
    game = Game(draft.position, [event.t_ms for event in draft.events], chain)
    deps.positions.keep(game)
    return game, False


def _keyed(deps: "Deps", creator: bytes, key: str) -> tuple[str, bytes]:
    """The master key and game id that belong to an idempotency key, those of before the last change of keys too."""
    ids = [(key_id, seeds.keyed_game_id(master, creator, key)) for key_id, master in deps.keyring.masters.items()]
    retired = ids[1:]
    return next(((key_id, game_id) for key_id, game_id in retired if deps.log.head(game_id).version), ids[0])


def _created_before(deps: "Deps", game_id: bytes, draft: Draft) -> Game:
    """The table that an earlier request with this key opened, as it was then: what one append writes has one time.

    :raises KeyReused: that one asked for another table.
    """
    events = deps.log.read(game_id, 0, 2).events
    stored = [event for event in events if event.kind == "create" or _seats_creator(deps, events[0], event)]
    if [_asked(event) for event in stored] != [_asked(event) for event in draft.events]:
        raise KeyReused
    position = Position(game_id)
    for event in stored:
        position.advance(event)
    return Game(position, [event.t_ms for event in stored])


def _seats_creator(deps: "Deps", create: Event, event: Event) -> bool:
    """Is it the join of the append that opened the table, and not one of the same millisecond?"""
    creator = deps.creators.get(create.game_id)
    return event.kind == "join" and event.t_ms == create.t_ms and event.body.get("player") == creator


def _asked(event: Event) -> tuple[str, int | None, bytes]:
    """What was asked for, whichever build answers: a retry may come after an upgrade."""
    body = {name: value for name, value in event.body.items() if name not in ("build", "rules_hash")}
    return event.kind, event.seat, codec.encode(body)


def join(
    deps: "Deps", game_id: bytes, player: bytes, seat: int | None, choice: Mapping[str, Any], bot: BotName | None
) -> tuple[Game, int]:
    """Sit down on a seat, or on the first that is free. A bot's ``player`` is drawn for it.

    :raises NotFound, WrongStatus, NoSuchSeat, SeatTaken, BadChoice, Illegal: then nothing was written.
    """
    taken = 0

    def decide(game: Game) -> Draft:
        nonlocal taken
        position = _open_table(game)
        taken = _free_seat(position, seat)
        draft = drafted(deps, game)
        draft.join(taken, player if bot is None else secrets.token_bytes(16), _choose(position, choice), bot)
        return draft

    _, game = change(deps, game_id, decide)
    return game, taken


def join_signed(deps: "Deps", game_id: bytes, player: bytes, sealed: Sealed) -> Accepted:
    """Sit down in self-custody, on the seat and with the choice that were signed.

    :raises WrongStatus, NoSuchSeat, SeatTaken, BadChoice, Illegal: and what `submit_signed` raises.
    """
    signed = sealed.action

    def decide(game: Game) -> Draft:
        position = _open_table(game)
        seat = _free_seat(position, signed.seat)
        choice = _choose(position, signed.args["choice"])
        if choice != signed.args["choice"]:
            raise BadChoice("signed", f"the choice that is signed must be complete: {choice}")
        draft = drafted(deps, game)
        draft.join(seat, player, choice, sealed=sealed)
        return draft

    return submit_signed(deps, game_id, sealed, decide)


def leave(deps: "Deps", game_id: bytes, seat: int, may: Callable[[Game], None]) -> Game:
    """Free a seat before the start. ``may`` raises where the caller may not.

    :raises NotFound, WrongStatus, NoSuchSeat: and what ``may`` raises; then nothing was written.
    """

    def decide(game: Game) -> Draft:
        _seat_exists(game.position, seat)
        may(game)
        _open_table(game)
        draft = drafted(deps, game)
        draft.leave(seat)
        return draft

    return change(deps, game_id, decide)[1]


def start(deps: "Deps", game_id: bytes) -> Game:
    """Lock the table, reveal the first link and let the rules begin.

    :raises NotFound, WrongStatus, SeatsOpen: then nothing was written.
    """

    def decide(game: Game) -> Draft:
        position = _open_table(game)
        if free := [number for number, seat in position.seat_items() if seat.player is None]:
            raise SeatsOpen(free)
        draft = drafted(deps, game)
        draft.start(_forked_state(deps, position))
        return draft

    return change(deps, game_id, decide)[1]


def resign(deps: "Deps", game_id: bytes, seat: int, player: bytes | None = None) -> Accepted:
    """A seat leaves a running game for good. ``player``: who must hold the seat, None for whoever does.

    :raises NotFound, NotYourSeat, WrongStatus, MustSign, Illegal: then nothing was written.
    """

    def decide(game: Game) -> Draft:
        _still_holds(game, seat, player)
        draft = drafted(deps, game, paused=True)
        draft.resign(seat)
        return draft

    draft, _ = change(deps, game_id, decide)
    return Accepted(draft.events[0], draft.position, draft.happenings)


def resign_signed(deps: "Deps", game_id: bytes, sealed: Sealed, player: bytes | None = None) -> Accepted:
    """A seat that signs leaves a running game for good.

    :raises NotYourSeat, WrongStatus, MustSign, Illegal: and what `submit_signed` raises.
    """
    return _sealed(
        deps, game_id, sealed, player, lambda draft, resignation: draft.resign(resignation.action.seat, resignation)
    )


def hand_over(deps: "Deps", game_id: bytes, seat: int, player: bytes) -> Accepted:
    """A seat in self-custody gives its custody up: its player plays on unsigned.

    :raises NotFound, NotYourSeat, WrongStatus, MustSign: then nothing was written.
    """

    def decide(game: Game) -> Draft:
        _still_holds(game, seat, player)
        draft = drafted(deps, game, paused=True)
        if not game.position.seats[seat - 1].signs:
            raise MustSign(seat, signs=False)
        draft.hand_over(seat, player)
        return draft

    draft, _ = change(deps, game_id, decide)
    return Accepted(draft.events[0], draft.position, draft.happenings)


def time_out(deps: "Deps", game_id: bytes, seat: int | None = None) -> tuple[Draft, Game]:
    """Claim the turn of an absent seat: the table's option ``absence`` says what follows. Of a locked table: free a
    seat that does not reveal its link.

    :raises NotFound, WrongStatus, NotYourTurn, TooEarly: then nothing was written.
    """

    def decide(game: Game) -> Draft:
        draft = drafted(deps, game)
        position, options = game.position, game.position.options
        if (position.status != PLAYING and not position.to_reveal) or position.rules is None:
            raise WrongStatus(position.status, PLAYING)
        due = position.to_act or position.to_reveal
        if seat is not None and seat not in due:
            raise NotYourTurn(seat)
        absent = due[0] if seat is None else seat
        wait_ms = waiting_ms(position, deps.clock(), last_ms(deps, position))
        if wait_ms is None or wait_ms > 0:
            raise TooEarly(wait_ms)
        if position.to_reveal:
            draft.unlock(absent)
        elif options.absence == "abandon":
            draft.close(ABANDONED, "absent")
        elif options.absence == "bot" and position.seats[absent - 1].bot is None:
            draft.hand_over(absent, substitute(position.rules))
        else:
            draft.time_out(absent)
        return draft

    return change(deps, game_id, decide)


def close_finished(deps: "Deps", game_id: bytes) -> Game:
    """Close a game that is over, where some of its seats do not sign off in time.

    :raises NotFound, WrongStatus, TooEarly: then nothing was written.
    """

    def decide(game: Game) -> Draft:
        if (due := signing_due_ms(game.position)) is None or not game.position.to_sign_off:
            raise WrongStatus(game.position.status, FINISHED)
        if due > deps.clock():
            raise TooEarly(due - deps.clock())
        draft = drafted(deps, game)
        draft.close(FINISHED)
        return draft

    return change(deps, game_id, decide)[1]


def void(deps: "Deps", game_id: bytes, reason: str) -> Game:
    """Close a game that must not go on: ``restored``, its dice to come are known; ``key-lost``, nobody can make
    them; ``ruled``, a ruling says so.

    :raises NotFound, WrongStatus, Unsound, MasterMissing: then nothing was written.
    :raises KeyKnown: its key is not lost.
    """

    def decide(game: Game) -> Draft:
        position = game.position
        over = position.outcome is not None and reason != KEY_LOST  # nothing is still to come: it closes by itself
        if position.closed or over:
            raise WrongStatus(position.status, PLAYING)
        if reason == KEY_LOST and position.create is not None:
            if position.create.key_id in deps.keyring.masters:
                raise KeyKnown(position.create.key_id)
            if position.grade != EXACT:
                raise Unsound(game)
            draft = Draft(position, deps.clock(), None)
        else:
            draft = drafted(deps, game, paused=True)
        draft.close(VOID, reason)
        return draft

    return change(deps, game_id, decide)[1]


def waiting_ms(position: Position, now_ms: int, since_ms: int | None = None) -> int | None:
    """How long until the turn may be claimed, in milliseconds, at least 0; None: never. ``since_ms``: from when on the
    game waits, if not from its last event."""
    seconds = position.options.reveal_seconds if position.to_reveal else position.options.turn_seconds
    since_ms = position.t_ms if since_ms is None else since_ms
    return None if seconds == 0 else max(0, since_ms + seconds * 1000 - now_ms)


def signing_due_ms(position: Position) -> int | None:
    """When a seat in self-custody is not waited for any more, neither to reveal nor to sign off; None: none is."""
    if position.to_reveal:
        return position.t_ms + position.options.reveal_seconds * 1000
    if position.to_sign_off:
        return position.t_ms + position.options.signoff_seconds * 1000
    return None


def substitute(rules: Rules[Any]) -> BotName:
    """The bot that plays on for an absent seat: the game's first, at its middle level."""
    bot = next(iter(BOTS[game_name(rules.id)].values()))
    return bot.name, bot.levels[len(bot.levels) // 2]


class _NoDraw(Exception):
    """The rules accept, and go on to draw."""


class _Unrolled:
    """A chance that tells nothing: a dry run must not show the dice to come."""

    def die(self, sides: int, purpose: str) -> int:
        if sides == 1:
            return 1
        raise _NoDraw

    def pick(self, counts: Mapping[str, int], purpose: str) -> str:
        if len(bag := possible(counts)) == 1:
            return bag[0][0]
        raise _NoDraw


def check(game: Game, seat: int, action: Action, expected: int) -> None:
    """Would the action be accepted? Refuses as `submit` does; says nothing of what would happen.

    :raises Stale, WrongStatus, NotYourTurn, Illegal, Unsound: it would be refused so.
    """
    position = game.position
    if game.version != expected:
        raise Stale(game, expected)
    if game.position.grade != EXACT or position.rules is None:
        raise Unsound(game)
    if position.closed or position.status != PLAYING:
        raise WrongStatus(position.status, PLAYING)
    if seat not in position.to_act:
        raise NotYourTurn(seat)
    # a dry run needs no signature: nobody is held to it
    with suppress(_NoDraw):
        position.rules.apply(position.rules.copy(position.state), seat, action, _Unrolled())


def _open_table(game: Game) -> Position:
    position = game.position
    if position.status != OPEN or position.closed or position.rules is None:
        raise WrongStatus(position.status, OPEN)
    if position.setup is not None:
        raise WrongStatus("locked", OPEN)
    return position


def _seat_exists(position: Position, seat: int) -> None:
    if not 1 <= seat <= len(position.seats):
        raise NoSuchSeat(seat, len(position.seats))


def _free_seat(position: Position, seat: int | None) -> int:
    free = [number for number, place in position.seat_items() if place.player is None]
    if seat is not None:
        _seat_exists(position, seat)
    if (not free) if seat is None else (seat not in free):
        raise SeatTaken(seat, free)
    return free[0] if seat is None else seat


def _choose(position: Position, asked: Mapping[str, Any]) -> dict[str, Any]:
    """A seat's choice as it is stored.

    :raises BadChoice: it has not the ruleset's form.
    :raises Illegal: the rules do not admit it beside the others.
    """
    assert position.rules is not None
    if asked and position.create is not None and position.create.forked_from is not UNSET:
        raise BadChoice(next(iter(asked)), "a fork goes on with what its seats chose")
    choice = _convert(asked, position.rules.choice, "choice")
    position.rules.admit(position.options, position.choices(), choice)
    plain: dict[str, Any] = msgspec.to_builtins(choice)
    return plain


def _convert(values: Mapping[str, Any], form: type[msgspec.Struct], field: str) -> msgspec.Struct:
    try:
        return msgspec.convert(values, form)
    except msgspec.ValidationError as error:
        raise BadChoice(field, str(error)) from error


def _forked_state(deps: "Deps", position: Position) -> dict[str, Any] | None:
    assert position.create is not None
    if position.create.forked_from is UNSET:
        return None
    source, version, _, state_hash = position.create.forked_from
    origin = deps.positions.at(source, version)
    if origin.state is None or origin.state_hash() != state_hash:  # it was sound when the table was opened
        raise Unsound(deps.positions.load(source))
    state: dict[str, Any] = msgspec.to_builtins(origin.state)
    return state
