"""The heroes' powers (rules 3), and what befalls any hero: gold, knock-outs."""

from engine.chance import Chance
from engine.donjon import happenings as told
from engine.donjon import turns
from engine.donjon.actions import DeclineReincarnation, Reincarnate, Swap
from engine.donjon.components import ATTACK_SCROLL, GOLD, HEALING_TILES, HEROES, HIT_POINTS
from engine.donjon.grid import named
from engine.donjon.happenings import Die, Pair
from engine.donjon.state import Hero, State
from engine.protocol import Happening, Illegal

# Dice


def roll(hero: Hero, chance: Chance) -> tuple[Pair, ...]:
    """4.2: two dice, with every face each of them showed. Horan rolls two pairs."""
    powers = HEROES[hero.name]
    return tuple(roll_pair(powers.rerolls_ones, chance) for _ in range(2 if powers.rolls_two_pairs else 1))


def roll_pair(rerolls_ones: bool, chance: Chance) -> Pair:
    """Both dice first; then Victorius rerolls the first until it is no 1, and after it the second (3.1)."""
    first, second = chance.die(6, "fight"), chance.die(6, "fight")
    if rerolls_ones:
        return rerolled(first, chance), rerolled(second, chance)
    return (first,), (second,)


def rerolled(face: int, chance: Chance) -> Die:
    """3.1: every 1 is rolled again, as often as it takes."""
    faces = [face]
    while faces[-1] == 1:
        faces.append(chance.die(6, "reroll"))
    return tuple(faces)


def better(pairs: list[list[int]]) -> int:
    """3.5: which pair counts: the one with the higher sum, the first of equals."""
    return max(range(len(pairs)), key=lambda i: sum(pairs[i]))


# What adds to a total


def scroll_bonus(hero: Hero) -> int:
    """3.2: Argentus' attack scrolls always count, and are never spent."""
    return hero.scrolls.count(ATTACK_SCROLL) if HEROES[hero.name].attack_scrolls_always_count else 0


def first_step_bonus(hero: Hero, steps: int) -> int:
    """3.6: Tala is stronger where the first step of her turn leads into a fight."""
    return HEROES[hero.name].first_step_bonus if steps == 1 else 0


def usable_scrolls(hero: Hero) -> int:
    """4.5: attack scrolls that may still be spent in this fight."""
    return 0 if HEROES[hero.name].attack_scrolls_always_count else hero.scrolls.count(ATTACK_SCROLL)


def usable_hit_points(hero: Hero) -> int:
    """3.4: hit points that Xanros may still sacrifice."""
    return hero.hp if HEROES[hero.name].sacrifices_hit_points else 0


# What befalls a hero


def earn(state: State, source: str) -> Happening:
    """1.2: gold out of a chest, or the dragon's hoard."""
    hero = state.hero
    hero.gold += GOLD[source]
    return told.GoldGained(state.active, hero.name, source, GOLD[source], hero.gold)


def fall(state: State) -> list[Happening]:
    """4.7: the active hero has no hit point left: Horan may come back at a fountain, others lie stunned."""
    hero = state.hero
    if HEROES[hero.name].reincarnates and (fountains := healing_tiles(state)):
        state.phase = "reincarnation"
        return [told.ReincarnationOffered(state.active, hero.name, hero.at, tuple(fountains))]
    turns.over(state)
    return [told.KnockedOut(state.active, hero.name, hero.at)]


def healing_tiles(state: State) -> list[str]:
    """3.5: the cells of all fountains on the table, the start tile included, in the order of their names."""
    return sorted(at for at, tile in state.tiles.items() if tile.kind in HEALING_TILES)


# Horan's reincarnation


def refuse_reincarnate(state: State, action: Reincarnate) -> Illegal | None:
    tile = state.tiles.get(named(action.at))
    return None if tile and tile.kind in HEALING_TILES else Illegal("no-fountain", "3.5", at=named(action.at))


def reincarnate(state: State, action: Reincarnate, chance: Chance) -> list[Happening]:
    """3.5: he rises at the fountain, fully healed, and his turn is over."""
    hero = state.hero
    origin, hero.at, hero.hp = hero.at, named(action.at), HIT_POINTS
    state.safe = hero.at
    turns.over(state)
    return [told.Reincarnated(state.active, hero.name, origin, hero.at, hero.hp)]


def decline_reincarnation(state: State, action: DeclineReincarnation, chance: Chance) -> list[Happening]:
    """3.5: stunned like anyone else."""
    turns.over(state)
    return [told.KnockedOut(state.active, state.hero.name, state.hero.at)]


# Xanros' swap


def refuse_swap(state: State, action: Swap) -> Illegal | None:
    if not HEROES[state.hero.name].swaps_places:
        return Illegal("not-your-power", "3.4", hero=state.hero.name)
    if action.seat > len(state.heroes):
        return Illegal("no-such-seat", "3.4", seat=action.seat)
    other = state.heroes[action.seat - 1]
    if other.withdrawn:
        return Illegal("seat-withdrew", "9.3", seat=action.seat)
    if other.at == state.hero.at:
        return Illegal("same-tile", "3.4", seat=action.seat)
    return None


def swap(state: State, action: Swap, chance: Chance) -> list[Happening]:
    """3.4: both heroes change tiles, nothing there is triggered, and all movement is spent."""
    hero, other = state.hero, state.heroes[action.seat - 1]
    hero.at, other.at = other.at, hero.at
    state.safe, state.mp, state.phase = hero.at, 0, "exploring"
    return [told.Swapped(state.active, hero.name, action.seat, other.name, other.at, hero.at)]
