"""The words in which the tests of Dungeon Roll speak: given a delve, when a seat acts, then what is so."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from engine.chance import Loaded
from engine.dungeon_roll import DUNGEON_ROLL_1
from engine.dungeon_roll.components import TREASURES
from engine.dungeon_roll.heroes import HEROES
from engine.dungeon_roll.state import Delve, State
from engine.dungeon_roll.turns import phase_of
from engine.protocol import Happening, Illegal, SeatSetup, Setup

SIDES = {side.name: (hero, side is of.master) for hero, of in HEROES.items() for side in (of.novice, of.master) if side}
"""Name of a side -> its hero, and whether it is the Master side."""
RULES = DUNGEON_ROLL_1


def opening(*sides: str, **options: Any) -> State:
    """A game before its first draw, with heroes (by the name of a side) for its seats, or none."""
    setup = Setup(msgspec.to_builtins(RULES.options(**options)), [SeatSetup({}) for _ in sides])
    state = RULES.initial(setup)
    for seat, side in zip(state.seats, sides, strict=True):
        if side:
            seat.hero, seat.master = SIDES[side]
            seat.xp = 5 * seat.master
    return state


class Delving:
    """A game whose active seat is in the middle of a delve. Words are faces: of the party, then of the level."""

    def __init__(self) -> None:
        self.state: State
        self.told: list[Happening] = []
        self.draws: list[Any] = []

    def given(
        self,
        hero: str = "half-goblin",
        party: str = "",
        dice: str = "",
        *,
        level: int = 1,
        lair: int = 0,
        graveyard: int | None = None,
        tokens: str = "",
        others: Iterable[str] = (),
        delves: int = 0,
        xp: int | None = None,
        supply: str | None = None,
        phase: str = "",
        options: dict[str, Any] | None = None,
        **facts: Any,
    ) -> None:
        """Seat 1 plays ``hero`` (a side) with these faces; party dice not named lie in the graveyard, unless it is said
        how many do; then the others are out of this delve."""
        state = opening(hero, *others, **(options or {}))
        RULES.begin(state, Loaded(*["1"][: len(state.seats) - 1]))
        seat, side = state.seat, state.seat.side
        active = party.split()
        ids = [f"party-{n}" for n in range(1, side.party_dice + 1)]
        dead = ids[len(active) :]
        buried = dead if graveyard is None else dead[:graveyard]
        dungeon = [f"dungeon-{n}" for n in range(1, 8)]
        state.delve = Delve(
            dice=dict(zip(dungeon[lair:], dice.split(), strict=False)),
            graveyard=buried,
            lair=dungeon[:lair],
            level=level,
            party=dict(zip(ids, active, strict=False)),
            removed=dead[len(buried) :],
        )
        for name, value in facts.items():
            assert name in Delve.__struct_fields__
            setattr(state.delve, name, value)
        seat.treasures, seat.delves = dict(Counter(tokens.split())), delves
        seat.xp = seat.xp if xp is None else xp
        state.supply = dict(Counter(TREASURES) - Counter(seat.treasures)) if supply is None else Counter(supply.split())
        state.supply = dict(state.supply)
        state.phase = "monster"
        state.phase = phase or phase_of(state)
        self.state = state

    def given_start(self, hero: str, **options: Any) -> None:
        """A solo game with this side, before its first delve."""
        self.state = opening(hero, **options)
        RULES.begin(self.state, Loaded())

    def when(self, action: str, *draws: str, by: int | None = None, **args: Any) -> list[str]:
        """The active seat acts, and chance answers with ``draws``. The names of what happens."""
        chance = Loaded(*draws)
        parsed = RULES.parse(action, self.ids(args))
        self.told = RULES.apply(self.state, self.state.active if by is None else by, parsed, chance)
        chance.finish()
        self.draws = chance.draws
        return self.names()

    def ids(self, args: dict[str, Any]) -> dict[str, Any]:
        """Faces become the dice that show them, each die once; ``token:scroll`` is the token; ids stay."""
        delve, used = self.state.delve, set[str]()

        def die(word: str, faces: bool) -> str:
            if faces:
                return word
            for one, face in [*delve.party.items(), *delve.temps.items(), *sorted(delve.dice.items())]:
                if face == word and one not in used:
                    used.add(one)
                    return one
            return word.removeprefix("token:")

        return {
            name: die(value, name in PLAIN)
            if isinstance(value, str)
            else [die(word, name in PLAIN) for word in value]
            for name, value in args.items()
        }  # fmt: skip

    def refused(self, action: str, by: int | None = None, **args: Any) -> str:
        """Why the action is refused; the state must not have changed."""
        before = msgspec.msgpack.encode(self.state, order="sorted")
        with pytest.raises(Illegal) as caught:
            self.when(action, by=by, **args)
        assert msgspec.msgpack.encode(self.state, order="sorted") == before
        assert caught.value.rule
        return caught.value.reason

    def then(self, seat: int = 1, **facts: Any) -> None:
        """Facts of the game, of the delve, of a seat; dice by their faces, zones by how many lie there."""
        delve, player = self.state.delve, self.state.seats[seat - 1]
        for fact, wanted in facts.items():
            if fact in ("party", "dice", "temps"):
                found: Any = " ".join(sorted(getattr(delve, fact).values()))
                wanted = " ".join(sorted(wanted.split()))
            elif fact in ("graveyard", "lair", "removed"):
                found = len(getattr(delve, fact))
            elif fact == "tokens":
                found = " ".join(sorted(Counter(player.treasures).elements()))
            else:
                holder = next(one for one in (self.state, delve, player) if fact in one.__struct_fields__)
                found = getattr(holder, fact)
            assert found == wanted, (fact, found, wanted)

    def names(self) -> list[str]:
        return [str(type(happening).__struct_config__.tag) for happening in self.told]

    def happened(self, wanted: str) -> Any:
        """The one happening of that name in the last action."""
        (happening,) = [one for one, name in zip(self.told, self.names(), strict=True) if name == wanted]
        return happening

    def offered(self) -> set[str]:
        """The names of all actions that are legal now."""
        return {str(type(offer.action).__struct_config__.tag) for offer in RULES.legal(self.state, self.state.active)}


PLAIN = ("faces", "face", "tokens", "hero")
"""Args that name faces or kinds, not dice."""
