"""Dungeon Roll in words: heroes, dice and treasures as a person would speak of them, in three languages."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from engine.dungeon_roll import DUNGEON_ROLL_1
from engine.dungeon_roll import actions as act
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.components import RANKS, TREASURES
from engine.dungeon_roll.heroes import HEROES
from engine.dungeon_roll.state import State
from engine.protocol import Action, Happening, Illegal
from replay import glossary
from replay.games import telling
from replay.games.dungeon_roll import SIDES, rank
from replay.words import LANGUAGES, Context, Term, words
from tests.engine.dungeon_roll import opening
from tests.replay.spoken import named, told_by

GAME = "dungeon-roll"
TELLER = telling(GAME)
CONTEXT = Context(DUNGEON_ROLL_1)
NBSP, NARROW = "\u00a0", "\u202f"


class Whim:
    """Chance and the players' wishes, by a random number generator."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, weights: Mapping[str, int], purpose: str) -> str:
        return self.random.choices(list(weights), list(weights.values()))[0]


def played(*sides: str, seed: int = 1, **options: Any) -> Iterator[tuple[State, Action | None, list[Happening]]]:
    """A game by whim with these sides (empty: dealt or chosen): the state before, what is done, what happens. Players
    like to go on: they seldom flee or retire."""
    whim = Whim(seed)
    state = opening(*sides, **options)
    before = DUNGEON_ROLL_1.copy(state)
    yield before, None, DUNGEON_ROLL_1.begin(state, whim)  # type: ignore[arg-type] # it picks
    while seats := DUNGEON_ROLL_1.to_act(state):
        legal = [offer.action for offer in DUNGEON_ROLL_1.legal(state, seats[0])]
        keen = [action for action in legal if not isinstance(action, act.Flee | act.Retire)]
        action = whim.random.choice(keen if keen and whim.random.random() < 0.9 else legal)
        before = DUNGEON_ROLL_1.copy(state)
        yield before, action, DUNGEON_ROLL_1.apply(state, seats[0], action, whim)  # type: ignore[arg-type]
        yield from ((state, None, []),) if state.ending else ()


GAMES: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    *(((side,), {}) for side in SIDES),
    (("", "", ""), {"heroes": "all", "hero_choice": "choice"}),
    (("", "", "", ""), {"heroes": "promos", "scroll_phases": "monster-loot-dragon", "champion": "any-types"}),
]  # fmt: skip


@pytest.mark.parametrize(("sides", "options"), GAMES, ids=lambda it: "-".join(it) if isinstance(it, tuple) else "")
def test_whole_games_are_told_in_words_of_the_glossary_only(sides: tuple[str, ...], options: dict[str, Any]) -> None:
    terms = set(TELLER.terms)
    for state, action, happened in played(*sides, **options):
        messages = [told_by(GAME, happening, "happening", state) for happening in happened]
        if action is not None:
            messages += [told_by(GAME, action, "action", state), told_by(GAME, action, "action", None)]
        for message, facts in messages:
            for language in LANGUAGES:
                assert words(language).raw(message) != message
                assert set(named(message, facts, language)) <= terms, message
                assert "{" not in words(language).text(message, facts, Context(DUNGEON_ROLL_1, state))


def test_a_word_outside_the_glossary_is_found() -> None:
    drawn = told.TreasureDrawn(1, "knight", "crown", 3)
    assert set(named(*told_by(GAME, drawn, "happening", None), "en")) - set(TELLER.terms) == {"crown"}


# -- sentences ---------------------------------------------------------------------------------------------------------

DEFEATED = told.MonstersDefeated(
    1, "knight", "party-2", "fighter", {"dungeon-1": "goblin", "dungeon-3": "goblin", "dungeon-4": "ooze"}
)
WITH_TOKEN = told.MonstersDefeated(1, "cassandra", "talisman", "cleric", {"dungeon-2": "skeleton"})
IN_PERSON = told.MonstersDefeated(1, "spellsword", "hero", "mage", {"dungeon-2": "ooze"})
ROLLED = told.PartyRolled(1, "enchantress", {"party-1": "thief", "party-2": "scroll", "party-3": "thief"})
SCALES = told.TreasureDrawn(1, "archaeologist", "dragon-scales", 12)
TOOLS = told.TreasureUsed(1, "scout", "thieves-tools")
SONG = told.LairEmptied(1, "minstrel", 3, "bard-song")
RING = told.LairEmptied(1, "minstrel", 1, "ring-of-invisibility")
GIVEN_BACK = told.TreasuresDiscarded(1, "archaeologist", {"elixir": 1, "vorpal-sword": 2})
SLAIN = told.DragonDefeated(1, "amar-suen", {"party-1": "fighter", "talisman": "cleric", "party-4": "thief"}, 4)
TURNED = told.HeroLeveledUp(1, "enchantress", "beguiler")
NO_TREASURE = told.ExperienceGained(1, "time-lady", "supply", 1, 9)
ABSENT = told.TimedOut(1, "sorceress", "monster")
NOBODY = told.TimedOut(3, "", "choosing-hero")
CONVERTED = told.DiceConverted(1, "alchemist", ("dungeon-1", "dungeon-2"), "chest", "potion")
ALONE = told.GameOver("delves", (1,), (31,), (4,), "champion")


@pytest.mark.parametrize(
    ("happening", "english", "french", "japanese"),
    [
        (
            DEFEATED,
            "The Knight defeats 2 goblins and 1 ooze with a fighter.",
            "Le Chevalier bat 2 gobelins et 1 gelée avec un guerrier.",
            "ナイトは戦士でゴブリン2体、ウーズ1体を倒しました。",
        ),
        (
            WITH_TOKEN,
            "Cassandra defeats 1 skeleton with the Talisman.",
            "Cassandre bat 1 squelette avec le Talisman.",
            "カサンドラは宝物「お守り」でスケルトン1体を倒しました。",
        ),
        (
            IN_PERSON,
            "The Spellsword, as a mage, defeats 1 ooze.",
            "Le Sorcelame, en magicien, bat 1 gelée.",
            "スペルソードが自ら魔術師としてウーズ1体を倒しました。",
        ),
        (
            ROLLED,
            "The Enchantress rolls the party dice: 2 thieves and 1 scroll.",
            "L'Enchanteresse lance les dés de groupe : 2 voleurs et 1 parchemin.",
            "エンチャントレスがパーティのダイスを振り、盗賊2人、巻物1本が出ました。",
        ),
        (
            SCALES,
            "The Archaeologist draws a treasure: Dragon Scales.",
            "L'Archéologue pioche un trésor : Écailles de dragon.",
            "アーキオロジストは宝物「ドラゴンの鱗」を取得しました。",
        ),
        (
            TOOLS,
            "The Scout uses the Thieves' Tools.",
            "L'Éclaireur utilise les Outils de voleur.",
            "スカウトは宝物「盗賊」を使用しました。",
        ),
        (
            SONG,
            "Bard Song empties the lair: 3 dragons go back to the supply.",
            "Le Chant du barde vide l'antre : 3 dragons retournent à la réserve.",
            "吟遊詩人の歌により、ドラゴンの住処のドラゴン3体がいなくなりました。",
        ),
        (
            RING,
            "The Ring of Invisibility empties the lair: 1 dragon goes back to the supply.",
            "L'Anneau d'invisibilité vide l'antre : 1 dragon retourne à la réserve.",
            "不可視の指輪により、ドラゴンの住処のドラゴン1体がいなくなりました。",
        ),
        (
            GIVEN_BACK,
            "The Archaeologist gives back treasures: 1 Elixir and 2 Vorpal Swords.",
            "L'Archéologue rend des trésors : 1 Élixir et 2 Épées vorpales.",
            "アーキオロジストは宝物を返しました。内訳は「エリクサー」1個、「ヴォーパルソード」2個です。",
        ),
        (
            SLAIN,
            "Amar-Suen defeats the Dragon with a fighter, a Talisman, and a thief!",
            "Amar-Suen vainc le Dragon avec un guerrier, un Talisman et un voleur !",
            "アマル・スエンは戦士、お守り、盗賊でドラゴンを倒しました!",
        ),
        (
            TURNED,
            "The Enchantress becomes the Beguiler: the card is turned to its Master side.",
            "L'Enchanteresse devient l'Ensorceleuse : sa carte passe du côté Maître.",
            "エンチャントレスがマスター側に反転し、ビガイラーになりました。",
        ),
        (
            NO_TREASURE,
            "There are no treasures left: the Time Lady gains 1 experience instead and has 9.",
            "Il ne reste aucun trésor : la Dame du temps gagne 1 point d'expérience à la place et en a 9.",
            "宝物が残っていないため、タイムレディは代わりに1経験値を取得し、合計9経験値になりました。",
        ),
        (
            ABSENT,
            "The Sorceress is absent: the turn is settled without dice.",
            "La Sorcière est absente : le tour est réglé sans dés.",
            "ソーサレスが不在のため、手番はサイコロを振らずに片付けられました。",
        ),
        (
            NOBODY,
            "Seat 3 is absent: it gets the first hero that is left.",
            "Le siège 3 est absent : il reçoit le premier héros qui reste.",
            "3番席が不在のため、残っている最初の英雄に決まります。",
        ),
        (
            CONVERTED,
            "The Alchemist makes 2 potions of 2 chests.",
            "L'Alchimiste change 2 coffres en 2 potions.",
            "アルケミストの特技で、宝箱2個がポーション2本に変わりました。",
        ),
        (
            ALONE,
            "All delves are over. 31 points: Champion.",
            "Toutes les explorations sont finies. 31 points : Champion.",
            "すべての探索が終わりました。得点は31点、達成ランクはチャンピオンです。",
        ),
    ],
)
def test_happenings_are_told(happening: Happening, english: str, french: str, japanese: str) -> None:
    assert words("en").happening(happening, CONTEXT) == english
    broken = french.replace(" :", NBSP + ":").replace(" !", NARROW + "!")
    assert words("fr").happening(happening, CONTEXT) == broken
    assert words("ja").happening(happening, CONTEXT) == japanese


def test_who_wins_by_fewer_treasures_is_seen() -> None:
    known = Context(DUNGEON_ROLL_1, opening("knight", "cassandra", "alchemist"))
    over = told.GameOver("delves", (2,), (20, 20, 7), (3, 1, 0))
    assert words("en").happening(over, known) == (
        "All delves are over. Victory for Cassandra. "
        "Scores: Cassandra 20 with 1 treasure, the Knight 20 with 3 treasures, and the Alchemist 7."
    )
    shared = told.GameOver("delves", (1, 2), (20, 20, 7), (1, 1, 0))
    assert "ナイト、カサンドラの共有勝利です。" in words("ja").happening(shared, known)
    assert "Victoire partagée pour le Chevalier et Cassandre." in words("fr").happening(shared, known)


def test_a_seat_is_called_by_the_side_that_is_up_or_by_its_number() -> None:
    known = Context(DUNGEON_ROLL_1, opening("dragon-slayer", ""))
    turn = words("en").refusal("not-your-turn", {"active": 1}, known)
    assert turn == "It is not your turn: the Dragon Slayer is to play."
    assert words("fr").refusal("not-your-turn", {"active": 2}, known).endswith("Siège 2 doit jouer.")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_refusal_met_in_play_has_words(language: str) -> None:
    met = set()
    for sides, options in GAMES[::5]:
        for state, _, _ in played(*sides, **options):
            known = Context(DUNGEON_ROLL_1, state)
            for refusal in DUNGEON_ROLL_1.refusals(state, state.active) if state.active else ():
                text = words(language).refusal(refusal.code, refusal.details, known)
                assert text != refusal.code
                assert "{" not in text
                met.add(refusal.code)
    assert {"monsters-first", "exhausted", "no-monsters", "companions-not-different"} <= met


# -- labels and the text board -----------------------------------------------------------------------------------------


@pytest.fixture
def table() -> State:
    """A Paladin on level 3, with something of everything."""
    state = opening("paladin", "cassandra")
    state.active, state.phase = 1, "monster"
    delve = state.delve
    delve.level, delve.party = 3, {"party-1": "fighter", "party-2": "scroll", "party-4": "thief"}
    delve.graveyard, delve.lair = ["party-3", "party-5", "party-6", "party-7"], ["dungeon-2"]
    delve.dice = {"dungeon-1": "goblin", "dungeon-3": "goblin", "dungeon-4": "chest"}
    delve.temps, delve.exhausted = {"hero": "cleric"}, True
    state.seat.treasures = {"scroll": 1, "vorpal-sword": 2}
    return state


GOBLINS: Any = ("dungeon-1", "dungeon-3")


@pytest.mark.parametrize(
    ("action", "known", "alone"),
    [
        (act.Attack("party-1", GOBLINS), "Defeat 2 goblins with a fighter", "Attack 2 monsters"),
        (act.Attack("vorpal-sword", GOBLINS), "Defeat 2 goblins with the Vorpal Sword", "Attack 2 monsters"),
        (act.Attack("hero", ("dungeon-1",)), "Defeat 1 goblin in person, as a cleric", "Attack 1 monster"),
        (act.Attack("party-3", GOBLINS), "Attack 2 monsters", "Attack 2 monsters"),
        (act.UseScroll("party-2", GOBLINS), "Read a scroll: roll 2 goblins again", "Read a scroll: roll 2 dice again"),
        (act.OpenChests("party-4", ("dungeon-4",)), "Open 1 chest with a thief", "Open 1 chest"),
        (
            act.QuaffPotions("party-2", ("champion", "mage", "mage")),
            "Quaff 3 potions with a scroll: 2 mages and 1 champion",
            "Quaff 3 potions: 2 mages and 1 champion",
        ),
        (
            act.FightDragon(("party-1", "vorpal-sword", "hero")),
            "Fight the Dragon with a fighter, a Vorpal Sword, and a cleric",
            "Fight the Dragon with 3 companions",
        ),
        (act.UsePortal(), "Use the Town Portal: 3 experience", "Use the Town Portal"),
        (act.UseElixir("mage"), "Use the Elixir: a mage comes back", "Use the Elixir: a mage comes back"),
        (
            act.UseUltimate(faces=("mage", "mage"), pay="scroll"),
            "Divine Intervention: 2 mages, for a scroll",
            "Use the ultimate ability",
        ),
        (act.UseUltimate(), "Divine Intervention", "Use the ultimate ability"),
        (act.UseSpecialty(), "Use the specialty", "Use the specialty"),
        (act.Retire(), "Back to the tavern with 3 experience", "Back to the tavern"),
        (act.SeekGlory(), "Seek glory on level 4", "Seek glory"),
        (act.DiscardTreasures(("elixir", "elixir")), "Give back 2 Elixirs", "Give back 2 Elixirs"),
        (act.RerollParty(), "Keep the party as it is", "Keep the party as it is"),
    ],
)
def test_labels_say_more_where_the_state_is_known(table: State, action: Action, known: str, alone: str) -> None:
    assert words("en").action(action, Context(DUNGEON_ROLL_1, table)) == known
    assert words("en").action(action, CONTEXT) == alone


def test_labels_of_powers_name_dice_faces_and_price() -> None:
    def said(side: str, action: Action) -> str:
        state = opening(side)
        state.active, state.delve.lair = 1, ["dungeon-5"]
        state.delve.dice, state.delve.party = {"dungeon-1": "goblin"}, {"party-1": "thief"}
        return words("en").action(action, Context(DUNGEON_ROLL_1, state))

    favour = act.UseUltimate(dice=("dungeon-5",), faces=("chest",))
    assert said("guild-leader", favour) == "Call in a Favor: 1 dragon → 1 chest"
    assert said("amar-suen", act.UseUltimate(faces=("goblin",))) == "Touch of Midas: goblin"
    assert said("alexandra", act.UseSpecialty(dice=("dungeon-1",), pay="party-1")) == "Specialty: 1 goblin, for a thief"
    assert said("time-lady", act.UseUltimate(pay="scroll")) == "Super-sonic Future Technology, for a scroll"


def test_what_a_form_offers_is_called_by_face_and_number(table: State) -> None:
    def called(name: str, language: str = "en") -> str:
        return words(language).piece("dice", name, Context(DUNGEON_ROLL_1, table))

    assert called("dungeon-3") == "Goblin 3"
    assert called("dungeon-2") == "Dragon 2"
    assert called("party-4", "ja") == "盗賊(4番)"
    assert called("hero", "fr") == "Clerc, en personne"
    assert called("vorpal-sword") == "Vorpal Sword"


def test_the_board_shows_zones_with_the_numbers_of_the_dice_and_a_line_for_each_seat(table: State) -> None:
    say = words("en")
    lines = TELLER.board(DUNGEON_ROLL_1.view(table, None), lambda term: (say.term(term, GAME) or Term("!")).text)
    assert lines == [
        "Level 3 · Monster phase",
        "Dungeon  [1 goblin] [3 goblin] [4 chest]",
        "Lair  1/3 [2 dragon]",
        "Party  [1 fighter] [2 scroll] [4 thief] [* cleric]",
        "Graveyard  4",
        "Treasure  36",
        "",
        ">1 Paladin+! · experience 5 · delve 0/3 · scroll, Vorpal Sword ×2",
        " 2 Cassandra · experience 0 · delve 0/3",
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_board_has_words_for_everything_at_any_time(language: str) -> None:
    def name(term: str) -> str:
        found = words(language).term(term, GAME)
        assert found, term
        return found.text

    for sides, options in GAMES[::4]:
        for state, _, _ in played(*sides, **options):
            lines = TELLER.board(DUNGEON_ROLL_1.view(state, None), name)
            assert len(lines[lines.index("") + 1 :]) == len(state.seats)


# -- the glossary ------------------------------------------------------------------------------------------------------

OWNERS_WORDS = {
    "fighter": "戦士", "cleric": "僧侶", "mage": "魔術師", "thief": "盗賊", "champion": "勇者", "scroll": "巻物",
    "goblin": "ゴブリン", "skeleton": "スケルトン", "ooze": "ウーズ", "chest": "宝箱", "potion": "ポーション",
    "dragon": "ドラゴン", "talisman": "お守り", "scepter-of-power": "力の錫杖", "thieves-tools": "盗賊",
    "ring-of-invisibility": "不可視の指輪", "dragon-scales": "ドラゴンの鱗", "elixir": "エリクサー",
    "dragon-bait": "ドラゴンの餌", "town-portal": "町への扉", "phase-monster": "モンスターフェイズ",
    "phase-loot": "戦利品フェイズ", "phase-dragon": "ドラゴンフェイズ", "phase-regroup": "再グループ化フェイズ",
    "rank-dragon-fodder": "ドラゴンフォダー", "rank-village-hero": "ヴィレッジヒーロー",
    "rank-seasoned-explorer": "ベテランエクスプローラー", "rank-champion": "チャンピオン",
    "rank-hero-of-ages": "時代の英雄", "hero": "英雄", "specialty": "特技", "ultimate": "究極の能力",
    "novice-side": "初心者側", "master-side": "マスター側", "party": "パーティ", "companion": "仲間",
    "dungeon-die": "ダンジョンダイス", "dungeon": "ダンジョン", "monster": "モンスター", "loot": "戦利品",
    "lair": "ドラゴンの住処",
    "graveyard": "墓地", "level": "階層", "delve": "探索", "tavern": "酒場", "glory": "栄光", "experience": "経験値",
    "treasure": "宝物", "treasure-token": "トレジャートークン", "score": "得点", "rank": "達成ランク",
    "shared-victory": "共有勝利",
}  # fmt: skip


def test_japanese_uses_the_owners_own_words() -> None:
    sources = glossary.origins(GAME)
    for name, wanted in OWNERS_WORDS.items():
        term = words("ja").term(name, GAME)
        assert term is not None
        assert (term.text, sources[name]) == (wanted, glossary.OWNER), name


def test_heroes_stand_in_the_glossary_in_their_order_each_side_after_the_other() -> None:
    names = [name for hero in HEROES.values() for name in (hero.novice.name, hero.master and hero.master.name) if name]
    assert [term for term in TELLER.terms if term in SIDES] == names
    assert list(HEROES)[8:11] == ["cassandra", "marpesia", "toulak"]
    assert len(names) == 44


def test_every_rank_token_and_power_has_a_word_in_each_language() -> None:
    powers = {side.ultimate.name for side in SIDES.values()}
    for term in (*powers, *TREASURES, *(rank(name) for _, name in RANKS)):
        assert term in TELLER.terms
        assert all(words(language).term(term, GAME) for language in LANGUAGES)


@pytest.mark.parametrize(
    ("spec", "name", "plural"),
    [
        ("le", "Amar-Suen", "les Outils de voleur"),
        ("un", "Amar-Suen", "des Outils de voleur"),
        ("du", "d'Amar-Suen", "des Outils de voleur"),
        ("de", "d'Amar-Suen", "d'Outils de voleur"),
        ("au", "à Amar-Suen", "aux Outils de voleur"),
    ],
)
def test_names_take_no_french_article_and_plurals_their_own(spec: str, name: str, plural: str) -> None:
    articles = words("fr").grammar.articles
    for term, wanted in (("amar-suen", name), ("thieves-tools", plural)):
        found = words("fr").term(term, GAME)
        assert found is not None
        assert articles[spec](found) == wanted


def test_names_and_plurals_take_no_english_one() -> None:
    articles = words("en").grammar.articles
    assert articles["the"](Term("Cassandra", "f", "name")) == "Cassandra"
    assert articles["a"](Term("Dragon Scales", "", "plural")) == "Dragon Scales"
    assert articles["the"](Term("Dragon Scales", "", "plural")) == "the Dragon Scales"
    assert articles["a"](Term("Undead Viking", "m")) == "an Undead Viking"


# -- who leaves and who is absent --------------------------------------------------------------------------------------


def test_absence_and_leaving_are_told_at_any_time_of_a_game() -> None:
    met = set()
    for sides, options in GAMES[40:]:
        for state, _, _ in played(*sides, **options):
            if state.phase == "opening":
                continue
            for settle in (DUNGEON_ROLL_1.time_out, DUNGEON_ROLL_1.withdraw):
                twin = DUNGEON_ROLL_1.copy(state)
                try:
                    happened = settle(twin, state.active)
                except Illegal:
                    continue
                for happening in happened:
                    message, facts = told_by(GAME, happening, "happening", twin)
                    met.add(message.removeprefix(f"{GAME}.happening."))
                    assert all("{" not in words(language).text(message, facts, CONTEXT) for language in LANGUAGES)
    assert {"timed-out", "timed-out.no-hero", "seat-withdrew", "seat-withdrew.no-hero"} <= met
    assert {"delve-ended.absence", "game-over.withdrawal-alone"} <= met
