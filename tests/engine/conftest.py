"""The words in which the tests of the engine speak: given, when, then; and random play."""

import hashlib
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from engine.chance import Committed, Loaded, Recorded
from engine.donjon import DONJON_1
from engine.donjon.components import START
from engine.donjon.state import Hero, State, Tile
from engine.protocol import Action, Happening, Illegal, Legal, Rules, SeatSetup, Setup, name_and_args


class Donjon:
    """A game of Le Donjon in a given position; its active hero sits on seat 1."""

    def __init__(self, rules: Rules[State] = DONJON_1) -> None:
        self.rules = rules
        self.state: State
        self.told: list[Happening] = []
        self.draws: list[Any] = []

    def given(
        self,
        hero: str = "argentus",
        *,
        at: str = START,
        tiles: dict[str, str] | None = None,
        things: dict[str, str] | None = None,
        others: dict[str, dict[str, Any]] | None = None,
        options: dict[str, Any] | None = None,
        pile: dict[str, int] | None = None,
        bag: dict[str, int] | None = None,
        mp: int = 4,
        steps: int = 0,
        phase: str = "turn-start",
        **of_hero: Any,
    ) -> None:
        """Seat 1 plays ``hero`` and is up; ``others`` are the next seats (by default one that is in nobody's way).

        ``tiles``: cell -> ``"kind exits"``, beside the start tile; ``of_hero``: hp, weapons, scrolls, key, gold.
        """
        others = others if others is not None else {"horan" if hero != "horan" else "victorius": {}}
        seats = [SeatSetup({"hero": name}) for name in (hero, *others)]
        chosen = msgspec.to_builtins(self.rules.options(**(options or {})))
        state = self.rules.initial(Setup(chosen, seats))
        self.rules.begin(state, Loaded("1"))
        for cell, tile in (tiles or {}).items():
            kind, _, exits = tile.partition(" ")
            state.tiles = {**state.tiles, cell: Tile(exits or "nesw", kind)}
        state.things = dict(things or {})
        state.pile = state.pile if pile is None else pile
        state.bag = state.bag if bag is None else bag
        state.mp, state.steps, state.phase = mp, steps, phase
        for facts, one in zip([{"at": at, **of_hero}, *others.values()], state.heroes, strict=True):
            for name, value in facts.items():
                assert name in Hero.__struct_fields__
                setattr(one, name, value)
        state.safe = at
        self.state = state

    def when(self, action: str, *draws: int | str, by: int | None = None, **args: Any) -> list[str]:
        """The active seat acts, and chance answers with ``draws``. The names of what happens."""
        chance = Loaded(*draws)
        parsed = self.rules.parse(action, args)
        self.told = self.rules.apply(self.state, self.state.active if by is None else by, parsed, chance)
        chance.finish()
        self.draws = chance.draws
        return [name(happening) for happening in self.told]

    def refused(self, action: str, by: int | None = None, **args: Any) -> str:
        """Why the action is refused; the state must not have changed."""
        before = packed(self.state)
        with pytest.raises(Illegal) as caught:
            self.when(action, by=by, **args)
        assert packed(self.state) == before
        return caught.value.reason

    def then(self, seat: int = 1, **facts: Any) -> None:
        """Facts of the state, or of the hero of a seat."""
        for fact, value in facts.items():
            holder = self.state if fact in State.__struct_fields__ else self.state.heroes[seat - 1]
            assert getattr(holder, fact) == value, (fact, getattr(holder, fact), value)

    def happened(self, wanted: str) -> Any:
        """The one happening of that name in the last action."""
        (happening,) = [happening for happening in self.told if name(happening) == wanted]
        return happening

    def offered(self, seat: int | None = None) -> list[str]:
        """The legal actions as short words: ``move 1,0``, ``take-loot dagger``, ``end-turn``."""
        return [spoken(legal) for legal in self.rules.legal(self.state, self.state.active if seat is None else seat)]

    def explained(self, seat: int | None = None) -> dict[str, str]:
        """What a person would click in vain: target -> code."""
        refusals = self.rules.refusals(self.state, self.state.active if seat is None else seat)
        return {refusal.target: refusal.code for refusal in refusals}


def name(of: Happening) -> str:
    tag = type(of).__struct_config__.tag
    assert isinstance(tag, str)
    return tag


def spoken(legal: Legal) -> str:
    action, args = name_and_args(legal.action)
    values = (",".join(map(str, value)) if isinstance(value, list | tuple) else str(value) for value in args.values())
    return " ".join([action, *values])


def packed(state: msgspec.Struct) -> bytes:
    """Bytes that are equal for equal states only."""
    return msgspec.msgpack.encode(state, order="sorted")


@dataclass
class Played:
    """A game as it was played: each step is the seat (0 opens the game), its action and the draws."""

    rules: Rules[Any]
    setup: Setup
    state: Any
    steps: list[tuple[int, Action | None, list[Any]]] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)

    def folded(self, steps: int | None = None) -> Any:
        """The state again, from the recorded draws."""
        state = self.rules.initial(self.setup)
        for seat, action, draws in self.steps[:steps]:
            chance = Recorded(draws)
            if action is None:
                self.rules.begin(state, chance)
            else:
                self.rules.apply(state, seat, action, chance)
            chance.finish()
        return state


def committed(seed: str) -> Committed:
    """Chance from a byte stream that depends on the seed only."""

    def stream() -> Iterator[bytes]:
        for block in itertools.count():
            yield hashlib.sha256(f"{seed}:{block}".encode()).digest()

    return Committed(stream)


def play(
    rules: Rules[Any],
    seats: int,
    seed: int,
    watch: Callable[[Any, list[Legal]], None] = lambda state, legal: None,
    enough: int = 0,
    **options: Any,
) -> Played:
    """A game by random legal actions, to its end or for ``enough`` steps.

    ``watch`` sees every position with its legal actions.
    """
    whims = random.Random(seed)
    setup = Setup(msgspec.to_builtins(rules.options(**options)), [SeatSetup({}) for _ in range(seats)])
    game = Played(rules, setup, rules.initial(setup))
    chance = committed(f"{seed}:0")
    game.happenings += rules.begin(game.state, chance)
    game.steps.append((0, None, chance.draws))
    while to_act := rules.to_act(game.state):
        seat = whims.choice(to_act)
        legal = rules.legal(game.state, seat)
        watch(game.state, legal)
        offers = legal + built(rules, game.state, seat, whims)
        chance = committed(f"{seed}:{len(game.steps)}")
        try:
            action = inclined(offers, whims)
            game.happenings += rules.apply(game.state, seat, action, chance)
        except Illegal:  # inside a form not every combination has to be legal; what is listed has
            assert action not in [offer.action for offer in legal]
            continue
        game.steps.append((seat, action, chance.draws))
        if len(game.steps) == enough:
            break
        assert len(game.steps) < 20_000, "the game does not end"
    watch(game.state, [])
    return game


def built(rules: Rules[Any], state: Any, seat: int, whims: random.Random) -> list[Legal]:
    """One action out of each form of the seat, with as many ids in each field as it allows."""
    out = []
    for form in rules.forms(state, seat):
        args: dict[str, Any] = {}
        for field_name, one in form.fields.items():
            ids = one.ids * one.repeats
            most = min(one.maximum, len(ids))
            chosen = whims.sample(ids, whims.randint(min(one.minimum, most), most))
            args[field_name] = chosen[0] if one.single else chosen
        out.append(Legal(rules.parse(form.type, args), form.target, form.chance))
    return out


def inclined(legal: list[Legal], whims: random.Random) -> Action:
    """Any legal action, but mostly one that may draw where there is one: so that games get somewhere."""
    drawing = [offer.action for offer in legal if offer.chance]
    if drawing and whims.random() < 0.7:
        return whims.choice(drawing)
    return whims.choice(legal).action


TABLES: list[dict[str, Any]] = [
    {},
    {"orientation": "player"},
    {"traps": 0, "actions_at_zero": False},
    {"traps": 20, "victorius_keeps_moving": True},
    {"orientation": "player", "traps": 11, "actions_at_zero": False, "stalemate_rounds": 0},
    {"stalemate_rounds": 2},
]
"""Every value of every option of Le Donjon occurs."""


@pytest.fixture
def donjon() -> Donjon:
    return Donjon()


@pytest.fixture
def donjon_of() -> Callable[[Rules[State]], Donjon]:
    """The same words for another version of the rules."""
    return Donjon


@pytest.fixture(name="play")
def play_fixture() -> Callable[..., Played]:
    return play


@pytest.fixture(name="built")
def built_fixture() -> Callable[..., list[Legal]]:
    return built


@pytest.fixture(name="committed")
def committed_fixture() -> Callable[[str], Committed]:
    return committed


@pytest.fixture(name="packed")
def packed_fixture() -> Callable[[msgspec.Struct], bytes]:
    return packed


@pytest.fixture(params=range(len(TABLES)), ids=lambda index: "-".join(map(str, TABLES[index].values())) or "defaults")
def table(request: pytest.FixtureRequest) -> dict[str, Any]:
    return TABLES[request.param]
