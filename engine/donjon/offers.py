"""What a person may click: everything natural in a position, each with the element of the picture it belongs to."""

from collections.abc import Iterator
from typing import get_args

from msgspec import UNSET

from engine.donjon import heroes, movement, treasure
from engine.donjon.actions import (
    AcceptResult,
    DeclineReincarnation,
    Drop,
    EndTurn,
    Fight,
    LeaveLoot,
    Move,
    OpenChest,
    PickUp,
    PlaceTile,
    Reincarnate,
    ResolveTrap,
    RollDice,
    Sacrifice,
    Swap,
    TakeLoot,
    UseAttackScroll,
    UseFountain,
    UseHealingScroll,
)
from engine.donjon.components import CLOSED_CHEST, HEALING_SCROLL, HEALING_TILES, HEROES, SORTS
from engine.donjon.grid import coordinates, neighbours
from engine.donjon.state import State
from engine.protocol import Legal


def natural(state: State) -> Iterator[Legal]:
    """What the active seat may think of clicking, legal or not: every legal action is among them."""
    match state.phase:
        case "placing":
            yield from (Legal(PlaceTile(r), f"rotate-{r}", may_reveal(state)) for r in movement.ways_to_place(state))
        case "trap-pending":
            yield Legal(ResolveTrap(), "trap")
        case "encounter":
            yield Legal(Fight(), "fight")
        case "combat-pending":
            yield Legal(RollDice(), "fight", chance=True)
        case "combat-decision":
            if heroes.usable_scrolls(state.hero):
                yield Legal(UseAttackScroll(), "offer-attack-scroll")
            if heroes.usable_hit_points(state.hero):
                yield Legal(Sacrifice(), "offer-sacrifice")
            yield Legal(AcceptResult(), "offer-accept")
        case "loot":
            item = state.things[state.hero.at]
            yield from (Legal(TakeLoot(drop), "loot") for drop in drops(state, item))
            yield Legal(LeaveLoot(), "leave-loot")
        case "reincarnation":
            yield from (
                Legal(Reincarnate(coordinates(at)), tile_target(at)) for at in heroes.healing_tiles(state)
            )  # fmt: skip
            yield Legal(DeclineReincarnation(), "decline")
    yield from moves(state)
    yield from on_the_tile(state)
    if HEALING_SCROLL in state.hero.scrolls:
        yield Legal(UseHealingScroll(), "scroll-healing")
    if HEROES[state.hero.name].swaps_places and state.phase in ("turn-start", "exploring"):
        yield from (
            Legal(Swap(seat), f"hero-{seat}") for seat in range(1, len(state.heroes) + 1) if seat != state.active
        )
    yield Legal(EndTurn(), "next")


def moves(state: State) -> Iterator[Legal]:
    """The four cells around, hidden ones included, and every portal where the hero stands on one."""
    hero = state.hero
    for at in neighbours(hero.at):
        yield Legal(Move(coordinates(at)), tile_target(at), chance=at not in state.tiles)
    if state.tiles[hero.at].kind == "portal":
        for at in movement.other_portals(state) or [hero.at]:
            if at not in neighbours(hero.at):
                yield Legal(Move(coordinates(at)), tile_target(at))


def on_the_tile(state: State) -> Iterator[Legal]:
    """The item, chest or fountain where the hero stands."""
    thing = state.things.get(state.hero.at)
    if thing in SORTS and state.phase != "loot":
        yield from (Legal(PickUp(drop), "item") for drop in drops(state, thing))
    elif thing == CLOSED_CHEST:
        yield Legal(OpenChest(), "chest")
    if state.tiles[state.hero.at].kind in HEALING_TILES:
        yield Legal(UseFountain(), "fountain")


def drops(state: State, item: str) -> Iterator[Drop]:
    """What might be left for an item: nothing, or anything the hero holds of its sort."""
    if treasure.refuse_taking(state.hero, item, UNSET) is None or SORTS[item] == "key":
        yield UNSET
        return
    slots = treasure.held(state.hero, SORTS[item])
    for drop in get_args(get_args(Drop)[0]):
        if drop in slots:
            yield drop


def may_reveal(state: State) -> bool:
    """Will the waiting tile, once placed, ask for a token?"""
    return bool(state.placing and state.placing.tile.startswith("room-") and len(state.bag) > 1)


def tile_target(at: str) -> str:
    """``"3,-1"`` -> ``"tile-3--1"``."""
    return f"tile-{at.replace(',', '-')}"
