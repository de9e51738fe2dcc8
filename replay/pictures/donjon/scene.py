"""What every part of the picture of Le Donjon draws from: the state, its words, heroes, things and tiles."""

from collections.abc import Iterator
from typing import Any, Final

from markupsafe import Markup

from engine.donjon import happenings as told
from engine.donjon.components import MONSTERS, WEAPONS
from engine.donjon.state import Hero, State
from replay.pictures import scene
from replay.pictures.donjon import plan
from replay.pictures.shared import figure, joined, tag

FEATURES: Final = {"start": "fountain", "fountain": "fountain", "portal": "portal", "trap": "trap"}
"""What is built into a tile, by its kind."""
FIGHTING: Final = ("encounter", "combat-pending", "combat-decision")
"""While a monster stands in the active hero's way."""
SHINE: Final = 36.5
"""How far the light around the active hero reaches."""
LYING: Final = 0.78
"""How large a stunned hero is, so that the tile under it is seen."""


class Scene(scene.Scene[State]):
    """A position of Le Donjon."""

    game = "donjon"
    elsewhere = (told.TokenRevealed, told.Encounter, told.FightBegan, told.DragonSlain, told.GameOver)

    # -- words -----------------------------------------------------------------------------------------------------

    def thing(self, name: str) -> str:
        """A monster with its strength, a weapon with its bonus, anything else by its name."""
        if name in MONSTERS:
            return self.say("monster", monster=name, strength=MONSTERS[name].strength)
        return f"{self.term(name)} +{WEAPONS[name]}" if name in WEAPONS else self.term(name)

    def about(self, seat: int, hero: Hero) -> str:
        """All that is public about a hero, in one sentence."""
        carried = [*hero.weapons, *hero.scrolls, *(["key"] if hero.key else [])]
        said = self.say("about", seat=seat, hero=hero.name, hp=hero.hp, gold=hero.gold, at=hero.at)
        if carried:
            said += self.say("carries", things=carried)
        if hero.withdrawn:
            said += self.say("left-game")
        elif self.stunned(seat, hero):
            said += self.say("is-stunned", hero=hero.name)
        return said + self.say("stop")

    def pending(self) -> str:
        """What the game waits for, in one sentence."""
        state, hero = self.state, self.state.hero
        facts: dict[str, Any] = {"hero": hero.name}
        if state.placing:
            facts["kind"] = state.placing.tile.partition("-")[0]
        elif thing := state.things.get(hero.at):
            facts["monster" if thing in MONSTERS else "item"] = thing
        return self.say(f"phase.{'exhausted' if state.phase == 'exploring' and not state.mp else state.phase}", **facts)

    def ending(self) -> tuple[str, str]:
        """How the game ended, and who won."""
        won = self.say("winners", winners=self.winners, count=len(self.winners))
        return self.words.ending(self.state.ending, self.context), won

    def headline(self) -> str:
        """The position in one line."""
        if not self.state.active:
            return self.words.raw("pictures.opening")
        if self.state.ending:
            return " · ".join(self.ending())
        return f"{self.say('turn', turn=self.state.turn)} · {self.pending()}"

    # -- parts -----------------------------------------------------------------------------------------------------

    def stunned(self, seat: int, hero: Hero) -> bool:
        """Who gave the last hit point in a fight stands until it is over (rules 8.9)."""
        fighting = seat == self.state.active and self.state.phase in ("combat-decision", "loot")
        return hero.hp == 0 and not fighting

    @property
    def retreat(self) -> str:
        """While a monster is to be fought: the cell to which the active hero would retreat, "" if it would stay."""
        fighting = self.playing and self.state.phase in FIGHTING
        return self.state.safe if fighting and self.state.safe != self.state.hero.at else ""

    def floor(self, kind: str, exits: str) -> str:
        """The reference to the plan of a tile; with rooms, corridors and the start told apart by their form."""
        form = {"room": "room", "start": "plaza"}.get(kind, "corridor")
        self.sheet.define("rock", plan.ROCK)
        return self.sheet.define(f"t-{form}-{exits}", plan.floor(form, exits))

    def preview(self, x: float = 0, y: float = 0) -> Markup:
        """The broken frame, 100 wide from x,y, of a tile that is not laid yet."""
        kinds = ("casing", "preview")
        return joined(*(tag("rect", class_=kind, x=x + 4, y=y + 4, width=92, height=92) for kind in kinds))

    def token(self, thing: str, grown: float = 1.0) -> Markup:
        """A thing with its number, 80 wide around 0,0; ``grown``: the number so much larger."""
        if thing in MONSTERS:
            shown, class_ = str(MONSTERS[thing].strength), "strength"
        elif thing in WEAPONS:
            shown, class_ = f"+{WEAPONS[thing]}", "bonus"
        else:
            return self.sheet.use(thing, 0, 0, 1.15)
        radius = min(22 * grown, 24)
        return self.sheet.use(thing, -7, -7, 1.08) + figure(shown, 37 - radius, 37 - radius, radius, class_)

    def figure(self, seat: int, hero: Hero, lit: bool = True) -> Iterator[Markup]:
        """A hero, centred on 0,0 and 64 wide, standing or stunned; the active one, if ``lit``, in a golden light."""
        stunned = self.stunned(seat, hero)
        if lit and self.playing and seat == self.state.active:
            yield tag("circle", class_="aura", r=(LYING if stunned else 1) * (SHINE - 1.5))
        name = hero.name or "nobody"
        drawn = self.sheet.use(name, scale=LYING, turned=90) if stunned else self.sheet.use(name)
        yield tag("g", drawn, class_="lost") if hero.withdrawn else drawn
        if stunned:
            yield self.sheet.use("stun")
