"""How Le Donjon is told and drawn in text."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, get_args

from engine.donjon import actions as act
from engine.donjon import happenings as told
from engine.donjon.components import GOLD, HEROES, MONSTERS, SORTS, WEAPONS, Powers, TileKind
from engine.donjon.grid import coordinates, named, neighbours
from engine.donjon.movement import sort_of_step, ways_to_place
from engine.donjon.state import State
from engine.protocol import Action, Happening, Illegal
from replay.telling import Part, Telling, Verbatim

DIRECTIONS: Final = {"n": "north", "e": "east", "s": "south", "w": "west"}
NOUNS: Final = (
    "game", "hero", "tile", "turn", "hit-points", "movement-points", "gold", "strength", "inventory", "next",
    "stunned", "cul-de-sac", "weapon", "scroll", "treasure", "monster", "pile", "bag",
)  # fmt: skip
"""What pages and pictures name besides the ids of the game's own material."""


def power(field: str) -> str:
    """The term of a hero's power: ``rerolls_ones`` -> ``rerolls-ones``."""
    return field.replace("_", "-")


class DonjonTelling(Telling):
    """Le Donjon."""

    owner: ClassVar = "fr"
    endings: ClassVar = ("dragon", "exhaustion", "stalemate", "withdrawal")
    variants: ClassVar = {
        "happening.hero-moved": ("walk", "astral", "portal", "discover"),
        "happening.token-revealed": ("monster", "chest"),
        "happening.dice-rolled": ("", "rerolled", "two-pairs"),
        "happening.boost-offered": ("scrolls", "hit-points", "both"),
        "happening.fight-won": ("", "tie"),
        "happening.loot-dropped": ("", "second-key"),
        "happening.loot-taken": ("", "exchanged"),
        "happening.item-picked-up": ("", "exchanged"),
        "happening.healed": ("fountain", "healing-scroll"),
        "happening.game-over": endings,
        "action.move": ("", "walk", "astral", "portal", "discover"),
        "action.place-tile": ("", "exits"),
        "action.fight": ("", "monster"),
        "action.take-loot": ("", "exchange", "item", "item-exchange"),
        "action.leave-loot": ("", "item"),
        "action.pick-up": ("", "exchange", "item", "item-exchange"),
    }
    more: ClassVar = {
        "happening.hero-moved": ("direction",),
        "happening.tile-revealed": ("open",),
        "happening.dice-rolled": ("sum", "rolls"),
        "happening.game-over": ("count", "standings"),
        "action.move": ("direction",),
        "action.place-tile": ("open",),
        "action.fight": ("monster", "strength"),
        "action.take-loot": ("item",),
        "action.leave-loot": ("item",),
        "action.pick-up": ("item",),
    }
    parts: ClassVar = {"part.standing": ("seat", "gold")}
    terms: ClassVar = (
        *HEROES, *MONSTERS, *dict.fromkeys((*SORTS, *GOLD, *get_args(TileKind))), *DIRECTIONS.values(), *NOUNS,
        *map(power, Powers.__struct_fields__),
    )  # fmt: skip
    shown: ClassVar = tuple(HEROES)
    refusals: ClassVar = {
        "cul-de-sac": ("to",),
        "drop-not-held": ("drop", "sort"),
        "full-health": (),
        "game-over": ("ending",),
        "hero-taken": ("hero", "seat"),
        "key-already-held": (),
        "no-attack-scroll": (),
        "no-chest": (),
        "no-exit-back": ("rotation",),
        "no-fountain": (),
        "no-healing-scroll": (),
        "no-hit-point": (),
        "no-item": (),
        "no-key": (),
        "no-movement-left": (),
        "no-other-portal": (),
        "no-such-seat": ("seat",),
        "not-at-turn-start": (),
        "not-your-power": ("hero",),
        "not-your-turn": ("active",),
        "nothing-pending": (),
        "pending-boost": (),
        "pending-encounter": (),
        "pending-fight": (),
        "pending-loot": (),
        "pending-placement": (),
        "pending-reincarnation": (),
        "pending-trap": (),
        "pile-empty": ("to",),
        "same-tile": ("seat",),
        "seat-withdrew": ("seat",),
        "slot-free": ("drop", "sort"),
        "slots-full": ("sort", "held"),
        "stunned": (),
        "turn-over": (),
    }
    chapters: ClassVar = {
        "game-begun": "opening",
        "turn-began": "turn",
        "turn-skipped": "turn",
        "fight-began": "fight",
        "gold-gained": "treasure",
        "knocked-out": "knock-out",
        "dragon-slain": "dragon-slain",
        "game-over": "end",
    }
    rare_chapters: ClassVar = {"token-revealed": "dragon"}

    def variant(self, told: Happening | Action, state: Any) -> str:
        if isinstance(told, Happening):
            return VARIANTS.get(type(told), _no_variant)(told)
        return _label(told, state)[0] if isinstance(state, State) else _label_alone(told)

    def facts(self, told: Happening | Action, state: Any) -> dict[str, Any]:
        if isinstance(told, Happening):
            return FACTS.get(type(told), _no_facts)(told, state)
        return _label(told, state)[1] if isinstance(state, State) else {}

    def seat(self, seat: int, state: Any) -> str:
        return state.heroes[seat - 1].name if isinstance(state, State) and seat <= len(state.heroes) else ""

    def scores(self, state: Any) -> list[int]:
        return [hero.gold for hero in state.heroes] if isinstance(state, State) else []

    def margin(self, happening: Happening, state: Any) -> int | None:
        if isinstance(happening, told.FightWon | told.FightTied | told.FightLost):
            return abs(happening.total - happening.strength)
        return None

    def chapter(self, happening: Happening) -> str:
        if isinstance(happening, told.TokenRevealed):
            return "dragon" if happening.token == "dragon" else ""
        return super().chapter(happening)

    def board(self, view: Mapping[str, Any], name: Callable[[str], str] = str) -> list[str]:
        return board(view, name)

    def focus(self, view: Mapping[str, Any]) -> tuple[int, int]:
        return focus(view)


# -- variants and facts --------------------------------------------------------------------------------------------


def _no_variant(happening: Any) -> str:
    return ""


def _no_facts(happening: Any, state: Any) -> dict[str, Any]:
    return {}


def _boost(happening: told.BoostOffered) -> str:
    return "both" if happening.scrolls and happening.hit_points else "scrolls" if happening.scrolls else "hit-points"


def _roll(happening: told.DiceRolled) -> str:
    if len(happening.pairs) > 1:
        return "two-pairs"
    return "rerolled" if any(len(die) > 1 for die in happening.pairs[0]) else ""


VARIANTS: Final[dict[type[Happening], Callable[[Any], str]]] = {
    told.HeroMoved: lambda happening: happening.sort,
    told.TokenRevealed: lambda happening: "monster" if happening.strength else "chest",
    told.DiceRolled: _roll,
    told.BoostOffered: _boost,
    told.FightWon: lambda happening: "tie" if happening.total == happening.strength else "",
    told.LootDropped: lambda happening: "" if happening.offered else "second-key",
    told.LootTaken: lambda happening: "exchanged" if happening.dropped else "",
    told.ItemPickedUp: lambda happening: "exchanged" if happening.dropped else "",
    told.Healed: lambda happening: happening.by,
    told.GameOver: lambda happening: happening.ending,
}


def _moved(happening: told.HeroMoved, state: Any) -> dict[str, Any]:
    return {"direction": direction(happening.origin, happening.to)}


def _dice(happening: told.DiceRolled, state: Any) -> dict[str, Any]:
    added = [n for n in (happening.weapons, happening.scrolls, happening.first_step) if n]
    if len(happening.pairs) > 1:
        rolls = [Verbatim(" + ".join(str(die[-1]) for die in pair)) for pair in happening.pairs]
    else:
        rolls = [Verbatim(" → ".join(map(str, die))) for die in happening.pairs[0]]
    return {"sum": Verbatim(" + ".join(map(str, (*happening.kept, *added)))), "rolls": rolls}


def _ended(happening: told.GameOver, state: Any) -> dict[str, Any]:
    ranked = sorted(enumerate(happening.scores, 1), key=lambda entry: -entry[1])
    standings = [Part("donjon.part.standing", {"seat": seat, "gold": gold}) for seat, gold in ranked]
    return {"count": len(happening.winners), "standings": standings}


FACTS: Final[dict[type[Happening], Callable[[Any, Any], dict[str, Any]]]] = {
    told.HeroMoved: _moved,
    told.TileRevealed: lambda happening, state: {"open": openings(happening.exits)},
    told.DiceRolled: _dice,
    told.GameOver: _ended,
}


def direction(origin: str, to: str) -> str:
    """The direction of a neighbouring cell, "" where it is none."""
    return DIRECTIONS.get(neighbours(origin).get(to, ""), "")


def openings(exits: str) -> list[str]:
    """``"ne"`` -> north and east."""
    return [DIRECTIONS[side] for side in exits]


def _label_alone(action: Action) -> str:
    return "exchange" if isinstance(action, act.TakeLoot | act.PickUp) and action.drop else ""


def _label(action: Action, state: State) -> tuple[str, dict[str, Any]]:
    """Variant and facts of an action where the state is known."""
    if not 0 < state.active <= len(state.heroes):
        return _label_alone(action), {}
    at = state.hero.at
    thing = state.things.get(at)
    match action:
        case act.Move():
            sort = sort_of_step(state, named(action.to))
            facts = {"direction": direction(at, named(action.to))}
            return ("", facts) if isinstance(sort, Illegal) else (sort, facts)
        case act.PlaceTile() if state.placing and action.rotation in (ways := ways_to_place(state)):
            return "exits", {"open": openings(ways[action.rotation])}
        case act.Fight() if thing in MONSTERS:
            return "monster", {"monster": thing, "strength": MONSTERS[thing].strength}
        case act.TakeLoot() | act.PickUp() if thing in SORTS:
            return ("item-exchange" if action.drop else "item"), {"item": thing}
        case act.LeaveLoot() if thing in SORTS:
            return "item", {"item": thing}
    return _label_alone(action), {}


# -- the text board ------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 7, 4
SYMBOLS: Final[dict[str, str]] = (
    {name: f"<{monster.strength}>" for name, monster in MONSTERS.items()}
    | {name: f"+{bonus}" for name, bonus in WEAPONS.items()}
    | {
        "closed-chest": "[$]", "attack-scroll": "*", "healing-scroll": "+", "key": "k",
        "start": "~", "fountain": "~", "portal": "()", "trap": "^",
    }
)  # fmt: skip
"""How things and tiles look on the text board."""


def board(view: Mapping[str, Any], name: Callable[[str], str] = str) -> list[str]:
    """The map, four lines a row of tiles, with the seats that stand on each; then one line a hero.

    A side without a line is an exit. A monster shows its strength, a weapon its bonus (`SYMBOLS`).
    """
    tiles, things, heroes = view["tiles"], view["things"], view["heroes"]
    cells = [coordinates(at) for at in tiles]
    left, right = min(x for x, _ in cells), max(x for x, _ in cells)
    top, bottom = min(y for _, y in cells), max(y for _, y in cells)
    lines: list[str] = []
    for y in range(top, bottom + 1):
        row = [_tile(named((x, y)), tiles, things, heroes) for x in range(left, right + 1)]
        lines += ["".join(parts).rstrip() for parts in zip(*row, strict=True)]
    lines.append("")
    lines += [_hero(seat, hero, view["active"], name) for seat, hero in enumerate(heroes, 1)]
    return lines


def focus(view: Mapping[str, Any]) -> tuple[int, int]:
    """Where on the board the active hero stands."""
    cells = [coordinates(at) for at in view["tiles"]]
    x, y = coordinates(view["heroes"][view["active"] - 1]["at"]) if view["active"] else (0, 0)
    left, top = min(x for x, _ in cells), min(y for _, y in cells)
    return (x - left) * WIDTH + WIDTH // 2, (y - top) * HEIGHT + HEIGHT // 2


def _tile(at: str, tiles: Mapping[str, Any], things: Mapping[str, str], heroes: list[Any]) -> list[str]:
    if at not in tiles:
        return [" " * WIDTH] * HEIGHT
    tile = tiles[at]
    exits = tile["exits"]
    symbol = SYMBOLS.get(things.get(at, tile["kind"]), "")
    seats = "".join(str(seat) for seat, hero in enumerate(heroes, 1) if hero["at"] == at and not hero["withdrawn"])
    west, east = (" " if side in exits else "│" for side in "we")
    inner = WIDTH - 2
    return [
        "┌─" + (" " * (inner - 2) if "n" in exits else "─" * (inner - 2)) + "─┐",
        west + symbol.center(inner) + east,
        west + seats.center(inner)[:inner] + east,
        "└─" + (" " * (inner - 2) if "s" in exits else "─" * (inner - 2)) + "─┘",
    ]


def _hero(seat: int, hero: Mapping[str, Any], active: int, name: Callable[[str], str]) -> str:
    carried = [*hero["weapons"], *hero["scrolls"], *(["key"] if hero["key"] else [])]
    mark = ">" if seat == active else " "
    hearts = "♥" * hero["hp"] + "·" * (5 - hero["hp"])
    things = ", ".join(map(name, carried))
    x, y = coordinates(hero["at"])
    return f"{mark}{seat} {name(hero['name']):<12} {hearts} ${hero['gold']} ({x}, {y}) {things}".rstrip()
