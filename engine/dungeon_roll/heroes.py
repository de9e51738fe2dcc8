"""The heroes (rules 3), both sides, as data: a small vocabulary of powers, and who has which.

What a power does stands in `engine.dungeon_roll.powers`, once for all heroes that have it.
"""

from typing import Final, Literal

import msgspec

When = Literal["monster", "loot", "dragon", "regroup"]
Effect = Literal[
    "hero-joins",  # the hero is a companion, with one of `faces`
    "discard",  # 1 to `most` dice out of `of`
    "sweep",  # every die of `of`
    "discard-types",  # every monster of 1 to `most` types; for each a treasure where `count` says so
    "one-of-each",  # one monster of each type
    "rally",  # 1 monster for each Champion in the party, who are rolled again
    "enlist",  # dice out of `of` are companions `into` until the next Regroup
    "transmute",  # 1 to `most` monsters become one die that shows `into`
    "into-lair",  # monsters become dragons
    "reroll",  # 1 to `most` dice out of `of`
    "revive",  # `count` dice of the graveyard are rolled and join the party
    "leave",  # the delve ends, for the level less `count`
    "seek-treasure",  # draw `count` treasures, then discard `discards`
    "set",  # up to `most` dice, one of a kind at most, show whatever is wanted
    "slay",  # the Dragon is defeated
    "refresh",  # the ultimate can be used again
    "harvest",  # monsters defeated, chests opened, potions quaffed, lair emptied
]
Payment = Literal["treasure", "scroll", "party"]
Group = Literal["goblin", "skeleton", "monsters", "loot", "level", "lair", "party"]

MLD: Final[tuple[When, ...]] = ("monster", "loot", "dragon")
MLDR: Final[tuple[When, ...]] = (*MLD, "regroup")
M: Final[tuple[When, ...]] = ("monster",)
ANY_NUMBER: Final = 15


class Power(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something a hero does: an ultimate, or a specialty that is used; those have no names of their own.

    ``of``: the dice among which the player names up to ``most`` (0: none are named); ``most_by``: no more than there
    are dice in the lair, or Champions in the party; ``faces``: what the player may choose; ``into``: what dice become;
    ``pay``: what it costs; ``per_level``: once a level; ``scrolls_return``: Scrolls rolled go back to the graveyard;
    ``binds``: from now on a delve can be left only where a Dragon was defeated (rules 3.2.7).
    """

    name: str
    effect: Effect
    phases: tuple[When, ...] = MLD
    of: tuple[Group, ...] = ()
    most: int = 0
    most_by: Literal["", "lair", "champions"] = ""
    faces: tuple[str, ...] = ()
    into: str = ""
    pay: tuple[Payment, ...] = ()
    count: int = 0
    discards: int = 0
    per_level: bool = False
    scrolls_return: bool = False
    binds: bool = False


class Side(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One side of a hero's card: what always holds, and what can be used.

    ``twins``: two faces of which each may act as the other; ``scrolls_as``: what a Scroll may act as; ``extra``: the
    faces that defeat one monster more, of any type; ``extra_while_exhausted``: every companion does, while the ultimate
    is used up; ``champions_of_one``: Champions defeat one monster and open one chest; ``after_two``: what follows when
    one companion defeats two or more monsters.

    ``party_dice``, ``fixed_party`` (instead of rolling; dice left over are out of this delve), ``party_becomes``,
    ``buried`` (dice that begin in the graveyard), ``first_treasures``, ``begins_exhausted``, ``forming`` (what is
    decided before level 1): how the party is formed.

    ``dungeon_becomes``: faces that change whenever they are rolled; ``lair_emptied_at``: so many dice there are
    discarded at once; ``loot_among_monsters``; ``dragon_at``: dice that bring the Dragon; ``dragon_companions``: how
    many it takes; ``refreshed_by``; ``waits_with_dragons``: the Monster phase stays open while he may still leave
    (2.5); ``discards_at_end``: treasures given back before scoring.
    """

    name: str
    ultimate: Power
    specialty: Power | None = None
    twins: tuple[str, ...] = ()
    scrolls_as: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    extra_while_exhausted: bool = False
    champions_of_one: bool = False
    after_two: Literal["", "reroll-champion", "treasure", "refresh"] = ""
    party_dice: int = 7
    fixed_party: tuple[str, ...] = ()
    party_becomes: dict[str, str] = {}
    buried: int = 0
    first_treasures: int = 0
    begins_exhausted: bool = False
    forming: Literal["", "reroll", "assign", "scrolls"] = ""
    dungeon_becomes: dict[str, str] = {}
    lair_emptied_at: int = 0
    loot_among_monsters: bool = False
    dragon_at: int = 3
    dragon_companions: int = 3
    refreshed_by: Literal["", "potions", "all-monsters"] = ""
    waits_with_dragons: bool = False
    discards_at_end: int = 0


class Hero(msgspec.Struct, frozen=True, omit_defaults=True):
    """A hero's paragraph of the rules, the Novice side (or the only one) and the Master side."""

    rule: str
    novice: Side
    master: Side | None = None


def joins(name: str, *faces: str) -> Power:
    return Power(name=name, effect="hero-joins", faces=faces)


def enlists(name: str, group: Group, most: int, face: str) -> Power:
    return Power(name=name, effect="enlist", phases=M, of=(group,), most=most, into=face)


def transmutes(name: str, most: int, face: str) -> Power:
    return Power(name=name, effect="transmute", phases=M, of=("monsters",), most=most, into=face)


def revives(name: str, count: int, *, binds: bool = False) -> Power:
    return Power(name=name, effect="revive", count=count, binds=binds)


BATTLECRY: Final = Power(name="battlecry", effect="into-lair", phases=M, of=("monsters",))
BARD_SONG: Final = Power(name="bard-song", effect="sweep", of=("lair",))
VIKING_FURY: Final = Power(name="viking-fury", effect="sweep", of=("lair",))
TRACK: Final = Power(name="specialty", effect="reroll", phases=M, of=("goblin",), most=1, per_level=True)
VIKINGS: Final = ("champion",) * 5
TRAVELLERS: Final = ("fighter", "cleric", "mage", "thief", "scroll", "champion", "champion")
EVERYBODY: Final = ("fighter", "cleric", "mage", "thief", "champion")
WHATEVER: Final = (*EVERYBODY, "scroll", "goblin", "skeleton", "ooze", "chest", "potion", "dragon")

BASE: Final[dict[str, Hero]] = {
    "spellsword": Hero(
        "3.1.1",
        Side(name="spellsword", twins=("fighter", "mage"), ultimate=joins("arcane-blade", "fighter", "mage")),
        Side(
            name="battlemage",
            twins=("fighter", "mage"),
            ultimate=Power(name="arcane-fury", effect="sweep", of=("level", "lair")),
        ),
    ),
    "mercenary": Hero(
        "3.1.2",
        Side(
            name="mercenary",
            forming="reroll",
            ultimate=Power(name="calculated-strike", effect="discard", phases=M, of=("monsters",), most=2),
        ),
        Side(
            name="commander",
            extra=("fighter",),
            ultimate=Power(name="battlefield-presence", effect="reroll", of=("level", "party"), most=ANY_NUMBER),
        ),
    ),
    "occultist": Hero(
        "3.1.3",
        Side(name="occultist", twins=("cleric", "mage"), ultimate=enlists("animate-dead", "skeleton", 1, "fighter")),
        Side(name="necromancer", twins=("cleric", "mage"), ultimate=enlists("command-dead", "skeleton", 2, "fighter")),
    ),
    "knight": Hero(
        "3.1.4",
        Side(name="knight", party_becomes={"scroll": "champion"}, ultimate=BATTLECRY),
        Side(name="dragon-slayer", party_becomes={"scroll": "champion"}, dragon_companions=2, ultimate=BATTLECRY),
    ),
    "crusader": Hero(
        "3.1.5",
        Side(name="crusader", twins=("fighter", "cleric"), ultimate=joins("holy-strike", "fighter", "cleric")),
        Side(
            name="paladin",
            twins=("fighter", "cleric"),
            ultimate=Power(name="divine-intervention", effect="harvest", pay=("treasure",)),
        ),
    ),
    "minstrel": Hero(
        "3.1.6",
        Side(name="minstrel", twins=("thief", "mage"), ultimate=BARD_SONG),
        Side(name="bard", twins=("thief", "mage"), extra=("champion",), ultimate=BARD_SONG),
    ),
    "enchantress": Hero(
        "3.1.7",
        Side(name="enchantress", scrolls_as=EVERYBODY, ultimate=transmutes("charm-monster", 1, "potion")),
        Side(name="beguiler", scrolls_as=EVERYBODY, ultimate=transmutes("mesmerize", 2, "potion")),
    ),
    "half-goblin": Hero(
        "3.1.8",
        Side(name="half-goblin", loot_among_monsters=True, ultimate=enlists("plea-for-help", "goblin", 1, "thief")),
        Side(name="chieftain", loot_among_monsters=True, ultimate=enlists("pull-rank", "goblin", 2, "thief")),
    ),
}

PACK_2: Final[dict[str, Hero]] = {
    "cassandra": Hero(
        "3.4.1",
        Side(
            name="cassandra",
            begins_exhausted=True,
            extra_while_exhausted=True,
            refreshed_by="potions",
            ultimate=Power(name="bestial-fury", effect="discard", phases=("monster", "loot"), of=("loot",), most=1),
        ),
    ),
    "marpesia": Hero(
        "3.4.2",
        Side(
            name="marpesia",
            dragon_at=4,
            champions_of_one=True,
            ultimate=Power(name="rallying-cry", effect="revive", phases=MLDR, count=7, scrolls_return=True),
        ),
    ),
    "toulak": Hero(
        "3.4.3",
        Side(
            name="toulak",
            specialty=Power(name="specialty", effect="reroll", phases=M, of=("level",), most=1, per_level=True),
            ultimate=Power(name="deafening-roar", effect="sweep", phases=M, of=("monsters",)),
        ),
    ),
    "amar-suen": Hero(
        "3.4.4",
        Side(
            name="amar-suen",
            extra=("thief",),
            ultimate=Power(
                name="touch-of-midas", effect="discard-types", phases=M, faces=("goblin", "skeleton", "ooze"), most=1,
                count=1,
            ),
        ),
    ),
    "tristan": Hero(
        "3.4.5",
        Side(
            name="tristan",
            after_two="treasure",
            specialty=Power(name="specialty", effect="refresh", pay=("treasure",)),
            ultimate=Power(name="calculated-risk", effect="reroll", of=("level", "lair"), most=ANY_NUMBER),
        ),
    ),
    "loeg-yllavyre": Hero(
        "3.4.6",
        Side(
            name="loeg-yllavyre",
            forming="scrolls",
            refreshed_by="all-monsters",
            specialty=Power(
                name="specialty", effect="into-lair", phases=M, of=("monsters",), most=1, pay=("scroll",)
            ),
            ultimate=Power(name="word-of-command", effect="enlist", of=("lair",), into="dragon"),
        ),
    ),
    "alexandra": Hero(
        "3.4.7",
        Side(
            name="alexandra",
            scrolls_as=("champion",),
            specialty=Power(name="specialty", effect="reroll", of=("level", "party"), most=ANY_NUMBER, pay=("party",)),
            ultimate=Power(name="forbidden-knowledge", effect="slay", phases=("dragon",), pay=("scroll",)),
        ),
    ),
    "szopin": Hero(
        "3.4.8",
        Side(
            name="szopin",
            after_two="refresh",
            ultimate=Power(name="strike-fear", effect="discard", of=("level", "lair"), most=2),
        ),
    ),
}  # fmt: skip

PACK_1: Final[dict[str, Hero]] = {
    "viking": Hero(
        "3.2.1",
        Side(name="viking", fixed_party=VIKINGS, ultimate=VIKING_FURY),
        Side(
            name="undead-viking", fixed_party=VIKINGS, dungeon_becomes={"skeleton": "potion"}, ultimate=VIKING_FURY
        ),
    ),
    "alchemist": Hero(
        "3.2.2",
        Side(name="alchemist", dungeon_becomes={"chest": "potion"}, ultimate=revives("healing-salve", 1)),
        Side(name="thaumaturge", dungeon_becomes={"chest": "potion"}, ultimate=revives("transformation-potion", 2)),
    ),
    "scout": Hero(
        "3.2.3",
        Side(
            name="scout",
            forming="assign",
            waits_with_dragons=True,
            ultimate=Power(name="scout-ahead", effect="leave", phases=M, count=1),
        ),
        Side(name="dungeoneer", forming="assign", ultimate=Power(name="know-when-to-say-when", effect="leave")),
    ),
    "sorceress": Hero(
        "3.2.4",
        Side(
            name="sorceress",
            lair_emptied_at=3,
            ultimate=Power(
                name="dragon-breath", effect="discard", phases=M, of=("monsters",), most=ANY_NUMBER, most_by="lair"
            ),
        ),
        Side(
            name="drake-kin",
            lair_emptied_at=3,
            ultimate=Power(
                name="dragon-fury", effect="discard-types", phases=M, faces=("goblin", "skeleton", "ooze"), most=3,
                most_by="lair",
            ),
        ),
    ),
    "archaeologist": Hero(
        "3.2.5",
        Side(
            name="archaeologist",
            first_treasures=2,
            discards_at_end=6,
            ultimate=Power(name="treasure-seeker", effect="seek-treasure", phases=MLDR, count=2, discards=2),
        ),
        Side(
            name="tomb-raider",
            first_treasures=2,
            discards_at_end=6,
            ultimate=Power(name="treasure-seeker", effect="seek-treasure", phases=MLDR, count=2, discards=1),
        ),
    ),
    "leprechaun": Hero(
        "3.2.6",
        Side(
            name="leprechaun",
            dungeon_becomes={"potion": "chest"},
            discards_at_end=36,
            ultimate=transmutes("fortunate-strike", 1, "chest"),
        ),
        Side(
            name="clurichaun",
            dungeon_becomes={"potion": "chest"},
            discards_at_end=36,
            ultimate=transmutes("bit-o-luck", 2, "chest"),
        ),
    ),
    "dwarf": Hero(
        "3.2.7",
        Side(
            name="dwarf",
            buried=2,
            after_two="reroll-champion",
            ultimate=Power(
                name="rally", effect="rally", phases=M, of=("monsters",), most=ANY_NUMBER, most_by="champions"
            ),
        ),
        Side(
            name="berserker",
            buried=2,
            after_two="reroll-champion",
            ultimate=revives("berserker-rage", 4, binds=True),
        ),
    ),
    "tracker": Hero(
        "3.2.8",
        Side(
            name="tracker",
            specialty=TRACK,
            ultimate=Power(name="called-shot", effect="discard", phases=M, of=("monsters",), most=1),
        ),
        Side(
            name="ranger",
            specialty=TRACK,
            ultimate=Power(name="flurry-of-arrows", effect="one-of-each", phases=M),
        ),
    ),
}  # fmt: skip

PROMOS: Final[dict[str, Hero]] = {
    "guild-leader": Hero(
        "3.3.1",
        Side(
            name="guild-leader",
            party_dice=8,
            ultimate=Power(
                name="call-in-a-favor", effect="set", of=("level", "lair", "party"), most=1, faces=WHATEVER
            ),
        ),
        Side(
            name="guild-master",
            party_dice=8,
            ultimate=Power(name="reinforcements", effect="set", of=("level", "lair", "party"), most=2, faces=WHATEVER),
        ),
    ),
    "time-traveler": Hero(
        "3.3.2",
        Side(
            name="time-traveler",
            fixed_party=TRAVELLERS,
            ultimate=Power(name="future-technology", effect="slay", phases=("dragon",), pay=("treasure",)),
        ),
        Side(
            name="time-lady",
            fixed_party=TRAVELLERS,
            ultimate=Power(
                name="super-sonic-future-technology", effect="slay", phases=("dragon",), pay=("treasure", "scroll")
            ),
        ),
    ),
}  # fmt: skip

HEROES: Final[dict[str, Hero]] = BASE | PACK_2 | PACK_1 | PROMOS
"""All 26, named after their Novice side, in the order in which they are listed everywhere."""
SETS: Final[dict[str, tuple[str, ...]]] = {
    "base": tuple(BASE),
    "pack-2": tuple(PACK_2),
    "pack-1": tuple(PACK_1),
    "promos": tuple(PROMOS),
    "all": tuple(HEROES),
}
"""The hero sets that a table can choose (rules 6.1)."""
