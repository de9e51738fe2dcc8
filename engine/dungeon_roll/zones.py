"""What moves between the zones of a delve (rules 2.0): dice rolled, spent and revived; tokens; experience."""

from collections.abc import Iterable, Sequence

from engine.bags import drawn, given, without
from engine.chance import Chance, equally
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.components import DUNGEON_FACES, MASTER_XP, PARTY_FACES, TREASURES
from engine.dungeon_roll.heroes import HEROES
from engine.dungeon_roll.state import State
from engine.protocol import Happening

Who = tuple[int, str]


def who(state: State) -> Who:
    """The active seat and the side of its hero that is up."""
    return state.active, state.seat.side.name


# Dice


def party_face(chance: Chance) -> str:
    """One roll of a party die."""
    return equally(chance, PARTY_FACES, "party")


def dungeon_face(chance: Chance) -> str:
    """One roll of a dungeon die."""
    return equally(chance, DUNGEON_FACES, "dungeon")


def rolled(dice: Iterable[str], chance: Chance) -> dict[str, str]:
    """Roll dice, dungeon dice first, by number."""
    return {
        die: dungeon_face(chance) if die.startswith("dungeon") else party_face(chance)
        for die in sorted(dice)
    }  # fmt: skip


def showing(state: State, dice: Iterable[str]) -> dict[str, str]:
    """What active dice show, those in the lair included."""
    delve = state.delve
    faces = delve.dice | delve.party | dict.fromkeys(delve.lair, "dragon")
    return {die: faces[die] for die in dice}


def lay_out(state: State, faces: dict[str, str]) -> list[Happening]:
    """Dungeon dice that were rolled or set: what the hero converts is converted, dragons go to the lair (2.4)."""
    delve, out = state.delve, list[Happening]()
    delve.lair = [die for die in delve.lair if die not in faces]
    delve.dice |= faces
    for before, into in state.seat.side.dungeon_becomes.items():
        if changed := [die for die in sorted(faces) if faces[die] == before]:
            delve.dice |= dict.fromkeys(changed, into)
            out.append(told.DiceConverted(*who(state), tuple(changed), before, into))
    if dragons := [die for die in sorted(faces) if faces[die] == "dragon"]:
        out.append(into_lair(state, dragons))
    return out


def into_lair(state: State, dice: Sequence[str]) -> Happening:
    """Dice of this level move to the lair."""
    delve = state.delve
    for die in dice:
        del delve.dice[die]
    delve.lair = sorted([*delve.lair, *dice])
    return told.DragonsMoved(*who(state), tuple(dice), len(delve.lair))


def reroll(state: State, dice: Iterable[str], chance: Chance) -> list[Happening]:
    """Dice are rolled again, all at once, and lie where they belong."""
    before = showing(state, sorted(dice))
    after = rolled(before, chance)
    return [told.DiceRerolled(*who(state), before, after), *place(state, after)]


def place(state: State, faces: dict[str, str]) -> list[Happening]:
    """Dice show these faces now, party and dungeon dice alike."""
    state.delve.party |= {die: face for die, face in faces.items() if die.startswith("party")}
    return lay_out(state, {die: face for die, face in faces.items() if die.startswith("dungeon")})


def discard(state: State, dice: Iterable[str]) -> None:
    """Dungeon dice return to the supply (2.0.4)."""
    for die in dice:
        state.delve.dice.pop(die, None)
        if die in state.delve.lair:
            state.delve.lair.remove(die)


def empty_lair(state: State, by: str) -> Happening:
    """All lair dice return to the supply, without a reward."""
    dice, state.delve.lair = len(state.delve.lair), []
    return told.LairEmptied(*who(state), dice, by)


def revive(state: State, faces: Sequence[str]) -> Happening:
    """Dice come back from the graveyard with chosen faces: those that lie there longest (2.6)."""
    delve = state.delve
    back = dict(zip(delve.graveyard, faces, strict=False))
    delve.graveyard = delve.graveyard[len(back) :]
    delve.party |= back
    return told.DiceRevived(*who(state), back, rolled=False)


# Companions and tokens


def spend(state: State, companion: str) -> None:
    """2.0.1: a companion is used before anything else happens; a token comes back to the supply only afterwards."""
    delve, seat = state.delve, state.seat
    if companion in delve.party:
        del delve.party[companion]
        delve.graveyard.append(companion)
    elif companion in delve.temps:
        del delve.temps[companion]
    else:
        seat.treasures = without(seat.treasures, companion)


def restore(state: State, *companions: str) -> None:
    """2.0.3: what was spent, where it was a token, is in the supply again."""
    for companion in companions:
        if companion in TREASURES:
            state.supply = given(state.supply, companion)


def draw_treasures(state: State, count: int, chance: Chance, *, instead: bool) -> list[Happening]:
    """Draw tokens, one after the other; ``instead``: 1 experience for each that the supply does not have (2.6)."""
    out: list[Happening] = []
    for _ in range(count):
        if state.supply:
            token, state.supply = drawn(state.supply, chance, "treasure")
            state.seat.treasures = given(state.seat.treasures, token)
            out.append(told.TreasureDrawn(*who(state), token, sum(state.supply.values())))
        elif instead:
            out += gain(state, 1, "supply")
    return out


def give_back(state: State, tokens: dict[str, int], number: int = 0) -> list[Happening]:
    """Tokens of a seat (0: the active one) return to the supply, unused."""
    number = number or state.active
    seat = state.seats[number - 1]
    for token, count in tokens.items():
        for _ in range(count):
            seat.treasures = without(seat.treasures, token)
            state.supply = given(state.supply, token)
    return [told.TreasuresDiscarded(number, seat.side.name, tokens)] if tokens else []


# Experience


def gain(state: State, amount: int, source: told.Source) -> list[Happening]:
    """2.13: experience, and the card is turned as soon as there is enough of it."""
    seat = state.seat
    seat.xp += amount
    out: list[Happening] = [told.ExperienceGained(*who(state), source, amount, seat.xp)]
    master = HEROES[seat.hero].master
    if seat.xp >= MASTER_XP and master and not seat.master:
        out.append(told.HeroLeveledUp(*who(state), master.name))
        seat.master = True
    return out


def refresh(state: State) -> list[Happening]:
    """3: the ultimate ability can be used again."""
    state.delve.exhausted = False
    return [told.HeroRefreshed(*who(state))]
