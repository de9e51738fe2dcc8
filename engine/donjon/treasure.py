"""What can be taken and used (rules 5): loot, items, chests, fountains, healing scrolls."""

from msgspec import UNSET

from engine.chance import Chance
from engine.donjon import fights, heroes, turns
from engine.donjon import happenings as told
from engine.donjon.actions import Drop, LeaveLoot, OpenChest, PickUp, TakeLoot, UseFountain, UseHealingScroll
from engine.donjon.components import CLOSED_CHEST, HEALING_SCROLL, HEALING_TILES, HIT_POINTS, KEY, SLOTS, SORTS
from engine.donjon.state import Hero, State
from engine.protocol import Happening, Illegal


def held(hero: Hero, sort: str) -> list[str]:
    """What the hero carries in the slots of a sort, weapon or scroll."""
    return hero.weapons if sort == "weapon" else hero.scrolls


def refuse_taking(hero: Hero, item: str, drop: Drop) -> Illegal | None:
    """5.1-5.4: may the hero take the item and leave ``drop`` for it?"""
    sort = SORTS[item]
    if item == KEY:
        if hero.key:
            return Illegal("key-already-held", "5.4")
    elif len(held(hero, sort)) == SLOTS[sort]:
        if drop is UNSET:
            return Illegal("slots-full", "5.3", sort=sort, held=held(hero, sort).copy())
        return None if drop in held(hero, sort) else Illegal("drop-not-held", "5.3", drop=drop, sort=sort)
    return None if drop is UNSET else Illegal("slot-free", "5.3", drop=drop, sort=sort)


def take(state: State, drop: Drop) -> str:
    """5.1-5.3: the item on the tile changes hands; ``drop`` stays for it. The item taken."""
    hero = state.hero
    item = state.take_thing()
    if drop is UNSET:
        state.progress = state.turn  # an exchange is none, else two items could be exchanged for ever (8.31)
    if item == KEY:
        hero.key = True
        return item
    slots = held(hero, SORTS[item])
    if drop is not UNSET:
        slots.remove(drop)
        state.lay_thing(drop)
    slots.append(item)
    return item


def refuse_take_loot(state: State, action: TakeLoot) -> Illegal | None:
    return refuse_taking(state.hero, state.things[state.hero.at], action.drop)


def take_loot(state: State, action: TakeLoot, chance: Chance) -> list[Happening]:
    """2.3.14: the beaten monster's item is taken."""
    hero = state.hero
    taken = told.LootTaken(state.active, hero.name, hero.at, take(state, action.drop), action.drop)
    return [taken, *fights.conclude(state, took=True)]


def leave_loot(state: State, action: LeaveLoot, chance: Chance) -> list[Happening]:
    """2.3.14: the item stays for anyone."""
    hero = state.hero
    return [told.LootLeft(state.active, hero.name, hero.at, state.things[hero.at]), *fights.conclude(state)]


def refuse_without_movement(state: State) -> Illegal | None:
    """7.3: where the table says so, no movement left means that the turn is over."""
    return Illegal("no-movement-left", "7.3") if state.mp == 0 and not state.table.actions_at_zero else None


def refuse_pick_up(state: State, action: PickUp) -> Illegal | None:
    item = state.things.get(state.hero.at)
    if item not in SORTS:
        return Illegal("no-item", "2.3.6")
    return refuse_without_movement(state) or refuse_taking(state.hero, item, action.drop)


def pick_up(state: State, action: PickUp, chance: Chance) -> list[Happening]:
    """2.3.6: the item is taken, and the turn is over."""
    hero = state.hero
    taken = told.ItemPickedUp(state.active, hero.name, hero.at, take(state, action.drop), action.drop)
    turns.over(state)
    return [taken]


def refuse_open_chest(state: State, action: OpenChest) -> Illegal | None:
    if state.things.get(state.hero.at) != CLOSED_CHEST:
        return Illegal("no-chest", "2.3.7")
    return refuse_without_movement(state) or (None if state.hero.key else Illegal("no-key", "2.3.7"))


def open_chest(state: State, action: OpenChest, chance: Chance) -> list[Happening]:
    """2.3.7: the key is spent, the gold earned, and the turn is over."""
    hero = state.hero
    hero.key = False
    state.take_thing()
    state.progress = state.turn
    turns.over(state)
    return [told.ChestOpened(state.active, hero.name, hero.at), heroes.earn(state, CLOSED_CHEST)]


def refuse_use_fountain(state: State, action: UseFountain) -> Illegal | None:
    if state.tiles[state.hero.at].kind not in HEALING_TILES:
        return Illegal("no-fountain", "2.3.8")
    if state.hero.hp == HIT_POINTS:
        return Illegal("full-health", "2.3.8")
    return refuse_without_movement(state)


def use_fountain(state: State, action: UseFountain, chance: Chance) -> list[Happening]:
    """2.3.8: full hit points, and the turn is over."""
    turns.over(state)
    return [heal(state, "fountain", HIT_POINTS - state.hero.hp)]


def refuse_use_healing_scroll(state: State, action: UseHealingScroll) -> Illegal | None:
    hero = state.hero
    if HEALING_SCROLL not in hero.scrolls:
        return Illegal("no-healing-scroll", "2.3.9")
    if hero.hp == 0:
        return Illegal("stunned", "2.3.9")
    return Illegal("full-health", "2.3.9") if hero.hp == HIT_POINTS else None


def use_healing_scroll(state: State, action: UseHealingScroll, chance: Chance) -> list[Happening]:
    """2.3.9: one hit point; the turn goes on."""
    state.hero.scrolls.remove(HEALING_SCROLL)
    if state.phase == "turn-start":
        state.phase = "exploring"
    return [heal(state, "healing-scroll", 1)]


def heal(state: State, by: told.Remedy, gained: int) -> Happening:
    """5.8: hit points come back."""
    hero = state.hero
    hero.hp += gained
    return told.Healed(state.active, hero.name, by, gained, hero.hp)
