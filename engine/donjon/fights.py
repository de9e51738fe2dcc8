"""Fights (rules 4): strictly greater wins, a tie is a retreat, a defeat costs one hit point."""

from msgspec import UNSET

from engine.chance import Chance
from engine.donjon import happenings as told
from engine.donjon import heroes, turns
from engine.donjon.actions import AcceptResult, RollDice, Sacrifice, UseAttackScroll
from engine.donjon.actions import Fight as FightAction
from engine.donjon.components import ATTACK_SCROLL, GOLD, HEROES, KEY, MONSTERS, WEAPONS
from engine.donjon.state import Fight, State
from engine.protocol import Happening, Illegal


def begin(state: State) -> list[Happening]:
    """4.1: from here on there is no way out."""
    state.phase = "combat-pending"
    return [told.FightBegan(*opponents(state), state.hero.at)]


def attack(state: State, action: FightAction, chance: Chance) -> list[Happening]:
    """3.3: Aderyn does not sneak past."""
    return begin(state)


def roll_dice(state: State, action: RollDice, chance: Chance) -> list[Happening]:
    """4.2-4.5: roll, add up, and settle the fight or offer boosts."""
    hero = state.hero
    rolled = heroes.roll(hero, chance)
    pairs = [[first[-1], second[-1]] for first, second in rolled]
    weapons = sum(WEAPONS[weapon] for weapon in hero.weapons)
    scrolls = heroes.scroll_bonus(hero)
    first_step = heroes.first_step_bonus(hero, state.steps)
    fight = state.fight = Fight(weapons + scrolls + first_step, 0, heroes.better(pairs), pairs)
    first, second = pairs[fight.kept]
    told_dice = told.DiceRolled(
        *opponents(state), rolled, (first, second), weapons, scrolls, first_step, total(fight)
    )  # fmt: skip
    return [told_dice, *compare(state, fight)]


def total(fight: Fight) -> int:
    """4.3: the kept dice, what weapons and power add, and the boosts so far."""
    return sum(fight.pairs[fight.kept]) + fight.bonus + fight.boost


def compare(state: State, fight: Fight) -> list[Happening]:
    """4.4-4.5: a fight that is not won yet waits for boosts, as long as there is one to add."""
    hero = state.hero
    scrolls, hit_points = heroes.usable_scrolls(hero), heroes.usable_hit_points(hero)
    if (scrolls or hit_points) and not wins(state, fight):
        state.phase = "combat-decision"
        return [told.BoostOffered(*opponents(state), total(fight), scrolls, hit_points)]
    return settle(state, fight)


def wins(state: State, fight: Fight) -> bool:
    """4.4: strictly more than the monster's strength; for Aderyn as much is enough (3.3)."""
    strength = MONSTERS[state.things[state.hero.at]].strength
    return total(fight) > strength or (total(fight) == strength and HEROES[state.hero.name].wins_ties)


def refuse_use_attack_scroll(state: State, action: UseAttackScroll) -> Illegal | None:
    return None if heroes.usable_scrolls(state.hero) else Illegal("no-attack-scroll", "4.5")


def use_attack_scroll(state: State, action: UseAttackScroll, chance: Chance) -> list[Happening]:
    """4.5: one scroll, one point, then compare again."""
    fight, hero = in_fight(state), state.hero
    hero.scrolls.remove(ATTACK_SCROLL)
    fight.boost += 1
    used = told.ScrollUsed(*opponents(state), total(fight), heroes.usable_scrolls(hero))
    return [used, *compare(state, fight)]


def refuse_sacrifice(state: State, action: Sacrifice) -> Illegal | None:
    if not HEROES[state.hero.name].sacrifices_hit_points:
        return Illegal("not-your-power", "3.4", hero=state.hero.name)
    return None if state.hero.hp else Illegal("no-hit-point", "3.4")


def sacrifice(state: State, action: Sacrifice, chance: Chance) -> list[Happening]:
    """3.4: one hit point, one point, then compare again."""
    fight, hero = in_fight(state), state.hero
    hero.hp -= 1
    fight.boost += 1
    return [told.HitPointSacrificed(*opponents(state), total(fight), hero.hp), *compare(state, fight)]


def accept_result(state: State, action: AcceptResult, chance: Chance) -> list[Happening]:
    """4.5: nothing more is added."""
    return settle(state, in_fight(state))


def settle(state: State, fight: Fight) -> list[Happening]:
    """4.6: win, tie or defeat."""
    if wins(state, fight):
        return win(state, total(fight))
    names = opponents(state)
    at = state.hero.at
    if total(fight) == names[3]:
        return [told.FightTied(*names, at, total(fight)), retreat(state), *conclude(state)]
    hp = lose_hit_point(state)
    return [told.FightLost(*names, at, total(fight), hp), retreat(state), *conclude(state)]


def win(state: State, total: int) -> list[Happening]:
    """4.6.1: the monster is gone; its gold is earned at once, its item lies there to be taken."""
    hero = state.hero
    reward = MONSTERS[state.things[hero.at]].reward
    out: list[Happening] = [told.FightWon(*opponents(state), hero.at, total, reward)]
    slain = state.take_thing()
    state.safe, state.progress = hero.at, state.turn
    if reward in GOLD:
        out.append(heroes.earn(state, reward))
        if slain == "dragon":
            out.append(told.DragonSlain(state.active, hero.name, hero.at))
            return [*out, turns.finish(state, "dragon")]
        return out + conclude(state)
    state.lay_thing(reward)
    offered = not (reward == KEY and hero.key)
    out.append(told.LootDropped(state.active, hero.name, hero.at, reward, offered))
    if offered:
        state.phase = "loot"
        return out
    return out + conclude(state)


def forfeit(state: State) -> list[Happening]:
    """9.2: an absent hero is defeated without dice."""
    names = opponents(state)
    at = state.hero.at
    hp = lose_hit_point(state)
    return [told.FightForfeited(*names, at, hp), retreat(state), *conclude(state)]


def lose_hit_point(state: State) -> int:
    """4.6.3: one less, never below zero; how many are left."""
    state.hero.hp = max(0, state.hero.hp - 1)
    return state.hero.hp


def retreat(state: State) -> Happening:
    """4.6.4: back to the last tile of this turn without a monster; nothing there is triggered."""
    hero = state.hero
    origin, hero.at = hero.at, state.safe
    return told.Retreated(state.active, hero.name, origin, hero.at)


def conclude(state: State, took: bool = False) -> list[Happening]:
    """4.7-4.8: knock-out; else the turn is over, unless Victorius rolled a six and ``took`` no loot (3.1, 8.6)."""
    hero, fight = state.hero, state.fight
    state.fight = UNSET
    if hero.hp == 0:
        return heroes.fall(state)
    unstoppable = HEROES[hero.name].keeps_moving_on_a_six and fight and 6 in fight.pairs[fight.kept]
    if unstoppable and (not took or state.table.victorius_keeps_moving):
        state.phase = "exploring"
    else:
        turns.over(state)
    return []


def opponents(state: State) -> tuple[int, str, str, int]:
    """Seat, hero, monster and its strength: how each happening of a fight begins."""
    hero = state.hero
    monster = state.things[hero.at]
    return state.active, hero.name, monster, MONSTERS[monster].strength


def in_fight(state: State) -> Fight:
    """The fight that waits for a decision."""
    assert state.fight, "combat-decision has dice on the table"
    return state.fight
