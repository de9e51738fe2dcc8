"""A player of Le Donjon: the delver, who plays to win.

The delver weighs in points what it could do next: what a target is worth, times the odds, by the turns it takes to get
there. Odds are exact, from the distribution of the hero's dice. The numbers under 'What things are worth' are its
taste, and the fights' own rules are asked for what adds to a total.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any, Final, NamedTuple, cast

from msgspec import UNSET

from engine.bots import anything
from engine.donjon.actions import (
    AcceptResult,
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
from engine.donjon.components import (
    ATTACK_SCROLL,
    CLOSED_CHEST,
    GOLD,
    HEALING_SCROLL,
    HEALING_TILES,
    HEROES,
    HIT_POINTS,
    KEY,
    MONSTERS,
    MOVEMENT_POINTS,
    SLOTS,
    SORTS,
    WEAPONS,
    HeroName,
)
from engine.donjon.fights import total
from engine.donjon.grid import OPPOSITE, coordinates, neighbours
from engine.donjon.heroes import first_step_bonus, healing_tiles, scroll_bonus, usable_hit_points, usable_scrolls
from engine.donjon.movement import ways_to_place
from engine.donjon.state import State
from engine.protocol import Action, Below, Bot, Rules


class Level(NamedTuple):
    """``whims``: one plan in so many is any legal action instead, 0 is none; ``heal_at``: so few hit points are few;
    ``daring``: rounds without progress after which any fight that can be won will do."""

    whims: int
    heal_at: int
    daring: int


LEVELS: Final = {1: Level(whims=3, heal_at=1, daring=3), 2: Level(whims=0, heal_at=2, daring=3)}

# What things are worth, in points

A_GOLD: Final = 10.0
A_WEAPON_POINT: Final = 4.0
A_SCROLL: Final[dict[str, float]] = {ATTACK_SCROLL: 2.0, HEALING_SCROLL: 1.0}
A_LASTING_SCROLL: Final = 3.5
"""An attack scroll in the hands of Argentus."""
A_KEY: Final[dict[str, float]] = {"table": 7.0, "bag": 4.0, "": 0.5}
"""By where there are closed chests."""
A_CHEST_TO_COME: Final = 2.0
A_CLEARED_ROOM: Final = 0.5
A_NEW_TILE: Final = 1.5
A_HIT_POINT: Final = 1.0
THE_LAST_HIT_POINT: Final = 4.0
"""With it goes a turn."""
HEALING: Final = 1.5
VICTORY: Final = 40.0
SHARED_VICTORY: Final = 15.0
AN_END: Final = 3.0
"""The dragon slain for somebody else, when there is nothing else left to win."""
TRAP_DETOUR: Final = 2
"""So many steps are worth walking to avoid a trap."""
SWAP_MARGIN: Final = 1.3
NEVER: Final = -1e9


@cache
def at_least(name: HeroName) -> tuple[float, ...]:
    """The odds that the hero's kept dice show at least 0, 1, ..., 13 together, over every roll there is."""
    powers = HEROES[name]
    faces = range(2 if powers.rerolls_ones else 1, 7)
    sums = [max(sum(dice[:2]), sum(dice[2:])) for dice in product(faces, repeat=4 if powers.rolls_two_pairs else 2)]
    return tuple(sum(rolled >= t for rolled in sums) / len(sums) for t in range(14))


def odds(name: HeroName, needed: int) -> float:
    """The odds of rolling at least ``needed``."""
    return at_least(name)[min(max(needed, 0), 13)]


class Delver(Bot):
    """Explores, arms itself, heals, opens chests, and slays the dragon when the hoard makes it win."""

    name = "delver"
    levels = range(1, 3)

    def choose(self, rules: Rules[Any], state: Any, seat: int, level: int, below: Below) -> Action:
        return Mind(rules, state, LEVELS[level], below).choose()


class Reached(NamedTuple):
    """How a hero gets to a cell: so many steps, and the first of them (None: it is there)."""

    steps: int
    first: str | None


class Mind:
    """One decision of the hero whose turn it is."""

    def __init__(self, rules: Rules[Any], state: State, level: Level, below: Below) -> None:
        self.rules, self.state, self.level, self.below = rules, state, level, below
        self.hero = hero = state.hero
        assert hero.name, "heroes are dealt before anyone acts"
        self.name = hero.name
        self.powers = HEROES[hero.name]
        playing = sum(not other.withdrawn for other in state.heroes)
        self.daring = state.turn - state.progress > level.daring * playing
        self.key_value = A_KEY[
            "table" if CLOSED_CHEST in state.things.values() else "bag" if CLOSED_CHEST in state.bag else ""
        ]
        self.bonus = sum(WEAPONS[weapon] for weapon in hero.weapons) + scroll_bonus(hero)
        self.boosts = usable_scrolls(hero) + max(0, usable_hit_points(hero) - 1)

    def choose(self) -> Action:
        match self.state.phase:
            case "placing":
                return PlaceTile(max(ways_to_place(self.state).items(), key=lambda way: self.openness(way[1]))[0])
            case "trap-pending":
                return ResolveTrap()
            case "combat-pending":
                return RollDice()
            case "combat-decision":
                return self.boost()
            case "loot":
                return self.loot()
            case "reincarnation":
                fountains = healing_tiles(self.state)
                return Reincarnate(coordinates(max(fountains, key=lambda at: self.best(at, MOVEMENT_POINTS)[0])))
            case "turn-over":
                return UseHealingScroll() if self.wants_scroll() else EndTurn()
        return self.roam()

    # -- what to do with a turn ------------------------------------------------------------------------------------

    def roam(self) -> Action:
        """The next thing to do while walking about."""
        state, hero = self.state, self.hero
        if self.level.whims and self.below(self.level.whims) == 0:
            return anything(self.rules, state, state.active, self.below)
        if state.phase != "encounter" and self.wants_scroll():
            return UseHealingScroll()
        if state.mp == 0:
            return self.on_the_spot()
        score, action = self.best(hero.at, state.mp)
        if state.phase == "turn-start" and self.powers.swaps_places:
            for seat, other in enumerate(state.heroes, 1):
                if other.at != hero.at and not other.withdrawn:
                    there = self.best(other.at, 0)[0]
                    if there > score * SWAP_MARGIN and there > 0:
                        score, action = there, Swap(seat)
        return action

    def on_the_spot(self) -> Action:
        """No movement is left: whatever the tile still has to offer is free."""
        if self.state.table.actions_at_zero:
            _, action = max(self.here(), key=lambda choice: choice[0], default=(0.0, None))
            if action is not None:
                return action
            if self.state.tiles[self.hero.at].kind in HEALING_TILES and self.hero.hp < HIT_POINTS:
                return UseFountain()
        return EndTurn()

    def best(self, start: str, mp: int) -> tuple[float, Action]:
        """The best target for a hero on ``start`` with so many movement points: points by turns, and the way there."""
        best, ways = NEVER, list[Action]([Fight() if self.state.phase == "encounter" else EndTurn()])
        for score, action in self.targets(start, mp):
            if score > best:
                best, ways = score, [action]
            elif score == best:
                ways.append(action)
        return best, ways[self.below(len(ways))] if len(ways) > 1 else ways[0]

    def targets(self, start: str, mp: int) -> Iterator[tuple[float, Action]]:
        """Everything that can be walked to, fought, taken, opened or discovered."""
        state, hero = self.state, self.hero
        reached, frontier = self.reach(start, mp)
        explored = self.discovery_value() if frontier else 0.0
        for steps, first in frontier.values():
            bonus = first_step_bonus(hero, state.steps + steps)
            yield (explored + bonus) / turns(steps - mp, 0.8), move(first)
        for cell, thing in state.things.items():
            if cell not in reached:
                continue
            steps, first = reached[cell]
            if thing in MONSTERS:
                value = self.fight_value(thing, first_step_bonus(hero, state.steps + steps) if steps else 0)
                if value > 0:
                    yield value / turns(steps - mp), move(first) if steps else Fight()
            elif (value := self.thing_value(thing)) > 0:
                yield value / turns(steps - mp), move(first) if steps else self.take(thing)
        if hero.hp <= self.level.heal_at and not self.powers.reincarnates:
            for cell in healing_tiles(state):
                if cell in reached:
                    steps, first = reached[cell]
                    yield HEALING * (HIT_POINTS - hero.hp) / turns(steps - mp), move(first) if steps else UseFountain()

    def here(self) -> Iterator[tuple[float, Action]]:
        """What lies on the hero's tile, with its worth."""
        thing = self.state.things.get(self.hero.at, "")
        if thing and thing not in MONSTERS and (value := self.thing_value(thing)) > 0:
            yield value, self.take(thing)

    def reach(self, start: str, mp: int) -> tuple[dict[str, Reached], dict[str, Reached]]:
        """Every tile that the hero can walk to, and every empty cell it can discover. Traps count as a detour."""
        state, powers = self.state, self.powers
        tiles, things, sneaks = state.tiles, state.things, powers.sneaks_past_monsters
        astral, discovers = powers.walks_through_walls, bool(state.pile)
        portals = [at for at, tile in tiles.items() if tile.kind == "portal"]
        reached: dict[str, Reached] = {}
        frontier: dict[str, Reached] = {}
        waves: list[list[tuple[str, str | None]]] = [[(start, None)]]
        steps = 0
        while steps < len(waves):
            for at, first in waves[steps]:
                if at in reached:
                    continue
                reached[at] = Reached(steps, first)
                if steps and things.get(at) in MONSTERS and not (sneaks and (steps - mp) % MOVEMENT_POINTS):
                    continue
                exits = tiles[at].exits
                onwards = portals if tiles[at].kind == "portal" else []
                for cell, side in neighbours(at).items():
                    there = tiles.get(cell)
                    if there is None:
                        if discovers and side in exits and cell not in frontier:
                            frontier[cell] = Reached(steps + 1, first or cell)
                    elif astral or (side in exits and OPPOSITE[side] in there.exits):
                        onwards = [*onwards, cell]
                for cell in onwards:
                    if cell not in reached:
                        due = steps + 1
                        if tiles[cell].kind == "trap" and not powers.avoids_traps:
                            due += TRAP_DETOUR
                        while len(waves) <= due:
                            waves.append([])
                        waves[due].append((cell, first or cell))
            steps += 1
        return reached, frontier

    # -- what things are worth -------------------------------------------------------------------------------------

    def thing_value(self, thing: str) -> float:
        """Of a chest or an item that lies about."""
        if thing == CLOSED_CHEST:
            return A_GOLD if self.hero.key else 0.0
        return self.gain(thing)[0]

    def gain(self, item: str) -> tuple[float, Drop]:
        """What the hero gains by taking an item, and what it leaves for it."""
        hero = self.hero
        if item == KEY:
            return 0.0 if hero.key else self.key_value, UNSET
        slots = hero.weapons if SORTS[item] == "weapon" else hero.scrolls
        if len(slots) < SLOTS[SORTS[item]]:
            return self.item_value(item), UNSET
        worst = min(slots, key=self.item_value)
        return self.item_value(item) - self.item_value(worst), cast("Drop", worst)

    def item_value(self, item: str) -> float:
        if item in WEAPONS:
            return A_WEAPON_POINT * WEAPONS[item]
        if item == ATTACK_SCROLL and self.powers.attack_scrolls_always_count:
            return A_LASTING_SCROLL
        return A_SCROLL[item]

    def reward_value(self, reward: str) -> float:
        """Of what a monster leaves behind."""
        if reward == "dragon-hoard":
            return self.dragon_value()
        return A_CLEARED_ROOM + (A_GOLD * GOLD[reward] if reward in GOLD else max(0.0, self.gain(reward)[0]))

    def dragon_value(self) -> float:
        """Slaying it ends the game: good for whoever wins then, and for others only when no gold is left to get."""
        state = self.state
        mine = self.hero.gold + GOLD["dragon-hoard"]
        best = max(other.gold for seat, other in enumerate(state.heroes, 1) if seat != state.active)
        if mine > best:
            return VICTORY
        if mine == best:
            return SHARED_VICTORY
        return AN_END if self.daring else NEVER

    def fight_value(self, monster: str, first_step: int) -> float:
        """The reward times the odds, less what a defeat and the boosts on the way would cost."""
        reward = self.reward_value(MONSTERS[monster].reward)
        if reward == NEVER:
            return NEVER
        needed = MONSTERS[monster].strength + (0 if self.powers.wins_ties else 1) - self.bonus - first_step
        value = odds(self.name, needed) * reward
        for short in range(1, self.boosts + 1):
            if self.daring or reward > short * A_SCROLL[ATTACK_SCROLL]:
                lacking = odds(self.name, needed - short) - odds(self.name, needed - short + 1)
                value += lacking * (reward - short * A_SCROLL[ATTACK_SCROLL])
        if self.daring and odds(self.name, needed - self.boosts) > 0:
            return max(value, odds(self.name, needed - self.boosts))
        return value - (1 - odds(self.name, needed - 1)) * self.defeat_cost()

    def defeat_cost(self) -> float:
        if self.powers.reincarnates:
            return 0.0
        return THE_LAST_HIT_POINT if self.hero.hp <= 1 else A_HIT_POINT

    def discovery_value(self) -> float:
        """Of the next tile: how likely it is a room or a trap, and what the bag may put into the room."""
        state = self.state
        left = sum(state.pile.values())
        rooms = sum(count for tile, count in state.pile.items() if tile.startswith("room-")) / left
        traps = sum(count for tile, count in state.pile.items() if tile.startswith("trap-")) / left
        value = A_NEW_TILE
        if state.bag:
            tokens = sum(self.token_value(token) * count for token, count in state.bag.items())
            value += rooms * tokens / sum(state.bag.values())
        if not self.powers.avoids_traps:
            value -= traps * self.defeat_cost()
        return max(value, 0.1)

    def token_value(self, token: str) -> float:
        if token == CLOSED_CHEST:
            return A_GOLD if self.hero.key else A_CHEST_TO_COME
        return max(self.fight_value(token, 0), -self.defeat_cost())

    def openness(self, exits: str) -> int:
        """How many of the exits of the waiting tile lead somewhere: into the dark, or to a neighbour with an exit."""
        tiles = self.state.tiles
        assert self.state.placing, "a tile waits"
        return sum(
            cell not in tiles or OPPOSITE[side] in tiles[cell].exits
            for cell, side in neighbours(self.state.placing.at).items()
            if side in exits
        )

    # -- in and after a fight --------------------------------------------------------------------------------------

    def boost(self) -> Action:
        """Add to the total where that wins something worth it, or saves the last hit point."""
        state, hero, fight = self.state, self.hero, self.state.fight
        assert fight, "a fight waits"
        monster = MONSTERS[state.things[hero.at]]
        scrolls, hit_points = usable_scrolls(hero), usable_hit_points(hero)
        tie = monster.strength - total(fight)
        win = tie if self.powers.wins_ties else tie + 1
        reward = self.reward_value(monster.reward)
        if win <= scrolls + hit_points and reward > (0 if self.daring else self.boost_cost(win, scrolls)):
            return Sacrifice() if hit_points > 2 or not scrolls else UseAttackScroll()
        if 0 < tie <= min(scrolls, 1) and hero.hp == 1 and not self.powers.reincarnates:
            return UseAttackScroll()
        return AcceptResult()

    def boost_cost(self, points: int, scrolls: int) -> float:
        """Of so many points, in scrolls and then in hit points."""
        with_scrolls = min(points, scrolls)
        hit_points = points - with_scrolls
        cost = with_scrolls * A_SCROLL[ATTACK_SCROLL] + hit_points * A_HIT_POINT
        return cost + (THE_LAST_HIT_POINT if hit_points and hit_points == self.hero.hp else 0.0)

    def loot(self) -> Action:
        """Take what is better than what the hero has; Victorius may have something better still to do after a six."""
        state, hero, fight = self.state, self.hero, self.state.fight
        gain, drop = self.gain(state.things[hero.at])
        goes_on = self.powers.keeps_moving_on_a_six and fight and 6 in fight.pairs[fight.kept] and state.mp
        if goes_on and not state.table.victorius_keeps_moving and hero.hp:
            gain = gain if isinstance(self.best(hero.at, state.mp)[1], PickUp) else 0.0
        return TakeLoot(drop) if gain > 0 else LeaveLoot()

    def wants_scroll(self) -> bool:
        return HEALING_SCROLL in self.hero.scrolls and 0 < self.hero.hp <= self.level.heal_at

    def take(self, thing: str) -> Action:
        return OpenChest() if thing == CLOSED_CHEST else PickUp(self.gain(thing)[1])


def turns(beyond: int, acting: float = 1.0) -> float:
    """How many turns it takes to walk so many steps beyond this one's, and to act there."""
    return acting + max(0, beyond) / MOVEMENT_POINTS


def move(first: str | None) -> Action:
    assert first, "a target that is not here has a first step"
    return Move(coordinates(first))
