"""What a party does in the dungeon (rules 2.3 to 2.8): for each action why it is refused, and what it does."""

from collections import Counter

from engine.chance import Chance
from engine.dungeon_roll import actions as act
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.capability import able, all_different, chests_at_once, face_of
from engine.dungeon_roll.components import MONSTERS, TREASURES
from engine.dungeon_roll.conditions import refuse_companion, refuse_dice, refuse_fighter, refuse_tokens
from engine.dungeon_roll.heroes import HEROES, SETS
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import begin_delve, choose_hero, discarded, end_delve, enter_level
from engine.dungeon_roll.zones import (
    discard,
    draw_treasures,
    gain,
    place,
    refresh,
    reroll,
    restore,
    revive,
    showing,
    spend,
    who,
)
from engine.protocol import Happening, Illegal
from engine.turns import left

# Before the first level


def heroes_left(state: State) -> list[str]:
    """The heroes of the table's set that nobody has (2.1); the base game joins a set that is too small."""
    names = SETS[state.table.heroes]
    if len(names) < len(state.seats):
        names = (*SETS["base"], *names)
    return left((name for name in HEROES if name in names), (seat.hero for seat in state.seats))


def refuse_choose_hero(state: State, action: act.ChooseHero) -> Illegal | None:
    if action.hero in heroes_left(state):
        return None
    taken = action.hero in {seat.hero for seat in state.seats}
    return Illegal("hero-taken" if taken else "no-such-hero", "2.1", hero=action.hero)


def choose(state: State, action: act.ChooseHero, chance: Chance) -> list[Happening]:
    return choose_hero(state, action.hero)


def begin(state: State, action: act.BeginDelve, chance: Chance) -> list[Happening]:
    return begin_delve(state, chance)


def refuse_forming(state: State, forming: str) -> Illegal | None:
    """A decision of one hero only."""
    if state.seat.side.forming != forming:
        return Illegal("not-your-power", "2.3", hero=state.seat.side.name)
    return None


def refuse_reroll_party(state: State, action: act.RerollParty) -> Illegal | None:
    if refusal := refuse_forming(state, "reroll"):
        return refusal
    party = state.delve.party
    return refuse_dice(state, action.dice, party, "", state.seat.rule, len(party)) if action.dice else None


def reroll_party(state: State, action: act.RerollParty, chance: Chance) -> list[Happening]:
    out = reroll(state, action.dice, chance) if action.dice else []
    return out + enter_level(state, chance)


def refuse_assign_dice(state: State, action: act.AssignDice) -> Illegal | None:
    if refusal := refuse_forming(state, "assign"):
        return refusal
    levels = (action.level_1, action.level_2, action.level_3)
    named = [die for dice in levels for die in dice]
    if len(set(named)) < len(named):
        return Illegal("named-twice", state.seat.rule)
    if missing := [die for die in named if die not in state.delve.reserve["0"]]:
        return Illegal("not-in-play", state.seat.rule, die=missing[0])
    for level, dice in enumerate(levels, 1):
        if len(dice) != level:
            return Illegal("wrong-number-of-dice", state.seat.rule, level=level)
    return None


def assign_dice(state: State, action: act.AssignDice, chance: Chance) -> list[Happening]:
    dice = state.delve.reserve["0"]

    def waiting(*named: str) -> dict[str, str]:
        return {die: dice[die] for die in sorted(named)}

    one, two, three = waiting(*action.level_1), waiting(*action.level_2), waiting(*action.level_3)
    state.delve.reserve = {"1": one, "2": two, "3": three}
    return [told.ReserveAssigned(*who(state), (one, two, three)), *enter_level(state, chance)]


def refuse_set_scrolls(state: State, action: act.SetScrolls) -> Illegal | None:
    if refusal := refuse_forming(state, "scrolls"):
        return refusal
    if refusal := refuse_dice(state, action.dice, state.delve.party, "", state.seat.rule, 2):
        return refusal
    return None if len(action.dice) == 2 else Illegal("too-few-dice", state.seat.rule, least=2)


def set_scrolls(state: State, action: act.SetScrolls, chance: Chance) -> list[Happening]:
    changed: dict[str, str] = dict.fromkeys(sorted(action.dice), "scroll")
    place(state, changed)
    return [told.PartyChanged(*who(state), changed), *enter_level(state, chance)]


# Monsters


def refuse_attack(state: State, action: act.Attack) -> Illegal | None:
    """2.5, 2.11."""
    if refusal := refuse_fighter(state, action.companion):
        return refusal
    monsters = state.delve.showing(*MONSTERS)
    if refusal := refuse_dice(state, action.monsters, monsters, "not-a-monster", "2.5", len(monsters)):
        return refusal
    face = face_of(state, action.companion)
    faces = [state.delve.dice[die] for die in action.monsters]
    if not able(state, face, faces):
        return Illegal("too-many-monsters", "2.11", face=face, monsters=dict(sorted(Counter(faces).items())))
    return None


def attack(state: State, action: act.Attack, chance: Chance) -> list[Happening]:
    delve, side, name = state.delve, state.seat.side, action.companion
    face = face_of(state, name)
    monsters = showing(state, sorted(action.monsters))
    out: list[Happening] = [told.MonstersDefeated(*who(state), name, face, monsters)]
    after = side.after_two if len(monsters) > 1 else ""
    stays = after == "reroll-champion" and face == "champion" and name in delve.party
    if not stays:
        spend(state, name)
    discard(state, monsters)
    if stays:
        out += reroll(state, [name], chance)
    elif after == "treasure":
        out += draw_treasures(state, 1, chance, instead=False)
    elif after == "refresh" and delve.exhausted:
        out += refresh(state)
    restore(state, name)
    return out


def refuse_use_scroll(state: State, action: act.UseScroll) -> Illegal | None:
    """2.5."""
    if refusal := refuse_companion(state, action.scroll):
        return refusal
    if (face := face_of(state, action.scroll)) != "scroll":
        return Illegal("not-a-scroll", "2.5", face=face)
    delve = state.delve
    if action.scroll in action.dice:
        return Illegal("scroll-rolls-others", "2.5")
    return refuse_dice(state, action.dice, {*delve.dice, *delve.party}, "", "2.5", len(action.dice))


def use_scroll(state: State, action: act.UseScroll, chance: Chance) -> list[Happening]:
    spend(state, action.scroll)
    out = [told.ScrollUsed(*who(state), action.scroll), *reroll(state, action.dice, chance)]
    restore(state, action.scroll)
    return out


# Loot


def refuse_open_chests(state: State, action: act.OpenChests) -> Illegal | None:
    """2.6."""
    if refusal := refuse_fighter(state, action.companion):
        return refusal
    chests = state.delve.showing("chest")
    if not chests:
        return Illegal("no-chest", "2.6")
    if refusal := refuse_dice(state, action.chests, chests, "not-a-chest", "2.6", len(chests)):
        return refusal
    face = face_of(state, action.companion)
    if len(action.chests) > chests_at_once(state, face):
        return Illegal("too-many-chests", "2.6", face=face)
    return None


def open_chests(state: State, action: act.OpenChests, chance: Chance) -> list[Happening]:
    face, chests = face_of(state, action.companion), tuple(sorted(action.chests))
    spend(state, action.companion)
    discard(state, chests)
    out: list[Happening] = [told.ChestsOpened(*who(state), action.companion, face, chests)]
    out += draw_treasures(state, len(chests), chance, instead=True)
    restore(state, action.companion)
    return out


def most_potions(state: State, drinker: str) -> int:
    """2.6: a drinker that is a die counts among the dice of the graveyard."""
    return len(state.delve.graveyard) + (drinker in state.delve.party)


def refuse_quaff_potions(state: State, action: act.QuaffPotions) -> Illegal | None:
    """2.6."""
    if refusal := refuse_companion(state, action.drinker):
        return refusal
    potions = len(state.delve.showing("potion"))
    if not potions:
        return Illegal("no-potion", "2.6")
    if not action.faces:
        return Illegal("no-face-named", "2.6")
    if len(action.faces) > potions:
        return Illegal("too-many-potions", "2.6", potions=potions)
    if len(action.faces) > (most := most_potions(state, action.drinker)):
        return Illegal("graveyard-too-small", "2.6", dice=most)
    return None


def quaff_potions(state: State, action: act.QuaffPotions, chance: Chance) -> list[Happening]:
    delve, face = state.delve, face_of(state, action.drinker)
    potions = tuple(delve.showing("potion")[: len(action.faces)])
    spend(state, action.drinker)
    discard(state, potions)
    out = [told.PotionsQuaffed(*who(state), action.drinker, face, potions), revive(state, action.faces)]
    restore(state, action.drinker)
    if state.seat.side.refreshed_by == "potions" and delve.exhausted:
        out += refresh(state)
    return out


def refuse_proceed(state: State, action: act.Proceed) -> Illegal | None:
    if state.delve.showing(*MONSTERS):
        return Illegal("monsters-first", "2.0", phase=state.phase)
    return None


def proceed(state: State, action: act.Proceed, chance: Chance) -> list[Happening]:
    """2.6: what nobody wants goes back; 2.5: or the Scout lets the Monster phase end."""
    delve = state.delve
    if state.phase == "monster":
        state.phase = "loot"
        if delve.dice:
            return [told.PhaseEntered(*who(state), delve.level, "loot")]
        return []
    left = dict(sorted(delve.dice.items()))
    discard(state, left)
    return [told.LootLeft(*who(state), left)]


# The Dragon


def refuse_fight_dragon(state: State, action: act.FightDragon) -> Illegal | None:
    """2.7, 2.11."""
    named, needed = action.companions, state.seat.side.dragon_companions
    for companion in named:
        if refusal := refuse_fighter(state, companion):
            return refusal
    if len(set(others := [one for one in named if one not in TREASURES])) < len(others):
        return Illegal("named-twice", "2.7")
    if refusal := refuse_tokens(state, [one for one in named if one in TREASURES]):
        return refusal
    if len(named) != needed:
        return Illegal("wrong-number-of-companions", "2.7", needed=needed)
    if not all_different(state, [face_of(state, one) for one in named]):
        return Illegal("companions-not-different", "2.11")
    return None


def fight_dragon(state: State, action: act.FightDragon, chance: Chance) -> list[Happening]:
    by: dict[str, str] = {one: face_of(state, one) for one in action.companions}
    for companion in action.companions:
        spend(state, companion)
    out = slay(state, by, chance)
    restore(state, *action.companions)
    return out


def slay(state: State, by: dict[str, str], chance: Chance) -> list[Happening]:
    """2.7: the lair is empty, and there is one reward."""
    delve, lair = state.delve, len(state.delve.lair)
    delve.lair, delve.dragon_at = [], delve.level
    out: list[Happening] = [told.DragonDefeated(*who(state), by, lair)]
    out += gain(state, 1, "dragon")
    return out + draw_treasures(state, 1, chance, instead=True)


# Leaving


def refuse_flee(state: State, action: act.Flee) -> Illegal | None:
    if state.phase != "dragon" and not state.delve.showing(*MONSTERS):
        return Illegal("nothing-to-flee-from", "2.5")
    return None


def flee(state: State, action: act.Flee, chance: Chance) -> list[Happening]:
    return [told.Fled(*who(state), state.delve.level, state.phase), *end_delve(state, "flee", 0)]


def refuse_retire(state: State, action: act.Retire) -> Illegal | None:
    delve = state.delve
    if delve.rage and delve.dragon_at != delve.level:
        return Illegal("rage-forbids-retiring", "3.2.7")
    return None


def retire(state: State, action: act.Retire, chance: Chance) -> list[Happening]:
    return end_delve(state, "retire", state.delve.level)


def seek_glory(state: State, action: act.SeekGlory, chance: Chance) -> list[Happening]:
    return [told.GlorySought(*who(state), state.delve.level + 1), *enter_level(state, chance)]


def refuse_discard_treasures(state: State, action: act.DiscardTreasures) -> Illegal | None:
    if refusal := refuse_tokens(state, action.tokens):
        return refusal
    if len(action.tokens) != state.discards:
        return Illegal("wrong-number-of-tokens", "3.2.5", needed=state.discards)
    return None


def discard_treasures(state: State, action: act.DiscardTreasures, chance: Chance) -> list[Happening]:
    return discarded(state, dict(sorted(Counter(action.tokens).items())))
