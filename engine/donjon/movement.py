"""Steps (rules 2.3.1 to 2.3.4), turning and placing tiles, arriving (rules 2.4), traps."""

from typing import Literal, cast

from msgspec import UNSET

from engine.bags import drawn, given
from engine.chance import Chance, equally
from engine.donjon import fights, heroes, turns
from engine.donjon import happenings as told
from engine.donjon.actions import Move, PlaceTile, ResolveTrap
from engine.donjon.components import HEROES, MONSTERS
from engine.donjon.grid import OPPOSITE, Rotation, connecting, named, neighbours
from engine.donjon.state import Placing, State, Tile
from engine.protocol import Happening, Illegal

Sort = Literal["walk", "astral", "portal", "discover"]


def sort_of_step(state: State, to: str) -> Sort | Illegal:
    """2.3.1-2.3.4: what leads from the active hero's tile to the cell ``to``, or why nothing does."""
    hero = state.hero
    at, tiles = hero.at, state.tiles
    here, there = tiles[at], tiles.get(to)
    if side := neighbours(at).get(to):
        if there is None and side in here.exits:
            return "discover" if state.pile else Illegal("pile-empty", "6.3", to=to)
        if there and side in here.exits and OPPOSITE[side] in there.exits:
            return "walk"
        if there and HEROES[hero.name].walks_through_walls:
            return "astral"
    if here.kind == "portal":
        if to == at and not any(other_portals(state)):
            return Illegal("no-other-portal", "2.3.3")
        if there and there.kind == "portal" and to != at:
            return "portal"
    return Illegal("cul-de-sac", "2.3.1", to=to)


def other_portals(state: State) -> list[str]:
    """The portals on the table apart from the active hero's tile, in the order of their names."""
    return sorted(at for at, tile in state.tiles.items() if tile.kind == "portal" and at != state.hero.at)


def refuse_move(state: State, action: Move) -> Illegal | None:
    if state.mp == 0:
        return Illegal("no-movement-left", "2.5.4")
    sort = sort_of_step(state, named(action.to))
    return sort if isinstance(sort, Illegal) else None


def move(state: State, action: Move, chance: Chance) -> list[Happening]:
    """2.3.1-2.3.4: one step, one movement point."""
    to = named(action.to)
    sort = sort_of_step(state, to)
    assert not isinstance(sort, Illegal), "refused before"
    state.mp -= 1
    state.steps += 1
    if sort == "discover":
        return discover(state, to, chance)
    return [*enter(state, to, sort), *arrive(state)]


def discover(state: State, to: str, chance: Chance) -> list[Happening]:
    """2.3.4, 7.1: a tile is drawn, then turned by chance or by the player, with an exit back in any case."""
    tile, state.pile = drawn(state.pile, chance, "tile")
    kind, shape = tile.split("-")
    hero = state.hero
    ways = connecting(shape, neighbours(to)[hero.at])
    if len(ways) > 1 and state.table.orientation == "player":
        state.placing, state.phase = Placing(to, tile), "placing"
        return [told.TileDrawn(state.active, hero.name, to, kind, shape)]
    rotation = equally(chance, map(str, ways), "orientation")
    return place(state, to, kind, ways[cast(Rotation, int(rotation))], chance)


def refuse_place_tile(state: State, action: PlaceTile) -> Illegal | None:
    return None if action.rotation in ways_to_place(state) else Illegal("no-exit-back", "7.1", rotation=action.rotation)


def place_tile(state: State, action: PlaceTile, chance: Chance) -> list[Happening]:
    """7.1: the player turned the tile; on with it."""
    exits = ways_to_place(state)[action.rotation]
    assert state.placing, "a tile waits"
    to, kind = state.placing.at, state.placing.tile.split("-")[0]
    state.placing = UNSET
    return place(state, to, kind, exits, chance)


def ways_to_place(state: State) -> dict[Rotation, str]:
    """The rotations of the waiting tile that lead back to the hero, with the exits they give."""
    assert state.placing, "a tile waits"
    return connecting(state.placing.tile.split("-")[1], neighbours(state.placing.at)[state.hero.at])


def return_tile(state: State) -> list[Happening]:
    """9.2: nobody turned the drawn tile: it goes back, and a hero beside a monster is defeated."""
    assert state.placing, "a tile waits"
    to, tile = state.placing.at, state.placing.tile
    state.pile = given(state.pile, tile)
    state.placing, state.phase = UNSET, "exploring"
    kind, shape = tile.split("-")
    returned = told.TileReturned(state.active, state.hero.name, to, kind, shape)
    return [returned, *(fights.forfeit(state) if monster_at(state) else [])]


def place(state: State, to: str, kind: str, exits: str, chance: Chance) -> list[Happening]:
    """2.3.4, 2.4.2: the tile lies, the hero enters it, a new room shows its token."""
    hero = state.hero
    state.tiles = {**state.tiles, to: Tile(exits, kind)}
    state.progress = state.turn
    out: list[Happening] = [told.TileRevealed(state.active, hero.name, to, kind, exits, sum(state.pile.values()))]
    out += enter(state, to, "discover")
    if kind == "room" and state.bag:
        token, state.bag = drawn(state.bag, chance, "token")
        state.lay_thing(token)
        strength = MONSTERS[token].strength if token in MONSTERS else 0
        out.append(told.TokenRevealed(state.active, hero.name, to, token, strength))
    if exhausted(state):
        return [*out, turns.finish(state, "exhaustion")]
    return out + arrive(state)


def exhausted(state: State) -> bool:
    """6.4: tiles are left but nowhere to lay them, and the dragon was not found."""
    return "dragon" in state.bag and bool(state.pile) and not has_frontier(state)


def has_frontier(state: State) -> bool:
    """2.1: does any tile have an exit towards a cell without a tile? Looks at the newest first: they mostly do."""
    tiles = state.tiles
    for at in reversed(tuple(tiles)):
        exits = tiles[at].exits
        for cell, side in neighbours(at).items():
            if cell not in tiles and side in exits:
                return True
    return False


def enter(state: State, to: str, sort: Sort) -> list[Happening]:
    """2.4.1: the hero stands on another tile."""
    hero = state.hero
    out: list[Happening] = []
    if monster_at(state):
        out.append(told.SneakedPast(*fights.opponents(state), hero.at))
    origin, hero.at = hero.at, to
    out.append(told.HeroMoved(state.active, hero.name, origin, to, sort, state.mp))
    return out


def arrive(state: State) -> list[Happening]:
    """2.4.3-2.4.5: a monster, a trap, or nothing that stops."""
    hero = state.hero
    powers = HEROES[hero.name]
    if state.things.get(hero.at) in MONSTERS:
        if powers.sneaks_past_monsters and state.mp:
            state.phase = "encounter"
            return [told.Encounter(*fights.opponents(state), hero.at)]
        return fights.begin(state)
    state.safe, state.phase = hero.at, "exploring"
    if state.tiles[hero.at].kind != "trap":
        return []
    if powers.avoids_traps:
        return [told.TrapAvoided(state.active, hero.name, hero.at)]
    state.phase = "trap-pending"
    return [told.TrapEntered(state.active, hero.name, hero.at)]


def resolve_trap(state: State, action: ResolveTrap, chance: Chance) -> list[Happening]:
    """2.3.10: the trap costs one hit point; who still stands walks on."""
    hero = state.hero
    hero.hp -= 1
    sprung = told.TrapSprung(state.active, hero.name, hero.at, hero.hp)
    if hero.hp == 0:
        return [sprung, *heroes.fall(state)]
    state.phase = "exploring"
    return [sprung]


def monster_at(state: State) -> bool:
    """Does the active hero share its tile with a monster?"""
    return state.things.get(state.hero.at) in MONSTERS
