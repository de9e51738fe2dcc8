"""Words: the catalogues are complete in three languages, and say what happened as a person would."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from babel.messages.pofile import read_po

from engine.donjon import actions as act
from engine.donjon import happenings as told
from engine.protocol import Happening
from engine.registry import RULESETS, game_name
from events.event import Event
from replay import glossary
from replay.catalogue import domains
from replay.games import TELLINGS, telling
from replay.replay import Replay
from replay.telling import Part, Verbatim
from replay.words import GRAMMARS, LANGUAGES, LOCALE, Context, Term, add_folder, elides, placeholders, words
from tests.replay.spoken import named, told_by

ROOT = Path(__file__).resolve().parents[2]
DOMAINS = domains()
DONJON = RULESETS["donjon@1"]
CONTEXT = Context(DONJON)
NBSP, NARROW = "\u00a0", "\u202f"

SAMPLES: dict[str, Any] = {
    "hero": "aderyn", "other_hero": "xanros", "heroes": ("victorius", "aderyn", "tala"), "monster": "wailing-soul",
    "token": "giant-spider", "item": "axe", "dropped": "dagger", "drop": "sword", "held": ["axe", "sword"],
    "reward": "key", "source": "dragon-hoard", "by": "fountain", "kind": "corridor", "shape": "l", "sort": "weapon",
    "at": "2,-1", "to": "3,-1", "origin": "2,-1", "fountains": ("0,0", "4,2"), "direction": "east",
    "open": ["north", "east"], "exits": "ne", "sum": "5 + 3", "rolls": ["1 → 4", "6"], "phase": "loot",
    "ending": "dragon", "winners": (1, 2), "scores": (3, 3),
    "standings": [Part("donjon.part.standing", {"seat": 1, "gold": 3})],
    "player": Verbatim("Ada"), "name": Verbatim("Delver"), "game": Verbatim("Le Donjon"), "reason": Verbatim("…"),
    "action": Verbatim("…"), "purpose": Verbatim("…"), "value": Verbatim("room-l"), "detail": Verbatim("…"),
    "text": Verbatim("x"), "seats": Verbatim("1, 2"), "expected": Verbatim("…"),
}  # fmt: skip
"""A value for every placeholder that is no number."""

FACES = [Part("dungeon-roll.part.face.goblin", {"count": 2}), Part("dungeon-roll.part.face.chest", {"count": 1})]
SAMPLES_OF: dict[str, dict[str, Any]] = {
    "dungeon-roll": {
        "hero": "knight", "heroes": ("cassandra", "enchantress"), "into": "dragon-slayer", "by": "bard-song",
        "power": "battlecry", "face": "ooze", "companion": "talisman", "drinker": "scroll", "token": "thieves-tools",
        "paid": "dragon-scales", "pay": "elixir", "party": ["fighter", "champion", "talisman"], "rank": "rank-champion",
        "tokens": [Part("dungeon-roll.part.token.elixir", {"count": 2})],
        "standings": [Part("dungeon-roll.part.standing", {"seat": 1, "score": 23})],
        **dict.fromkeys(("faces", "dice", "was", "now", "one", "two", "three"), FACES),
    },
}  # fmt: skip
"""What stands for them in a game that names other things alike."""
CONTEXTS = {game_name(ruleset): Context(rules) for ruleset, rules in RULESETS.items()}


def entries(domain: str, language: str) -> dict[str, str]:
    with (LOCALE / language / "LC_MESSAGES" / f"{domain}.po").open("rb") as file:
        return {str(message.id): str(message.string) for message in read_po(file) if message.id}


def every() -> list[tuple[str, str]]:
    return [(domain, language) for domain in DOMAINS for language in LANGUAGES]


def bare(message: str) -> str:
    """A message without its placeholders."""
    return re.sub(r"\{[^{}]*\}", "", message)


IDS = {term for teller in TELLINGS.values() for term in teller.terms if "-" in term} - {"cul-de-sac"}


def untold(text: str) -> bool:
    """Has an id or a placeholder stayed in it?"""
    return bool(re.search(r"[{}]|\b(happening|event|action)\.", text)) or any(term in text for term in IDS)


# -- the catalogues ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("domain", "language"), every())
def test_every_message_that_can_be_asked_for_is_there_and_no_other(domain: str, language: str) -> None:
    assert entries(domain, language).keys() == DOMAINS[domain].keys()
    assert all(entries(domain, language).values())


@pytest.mark.parametrize(("domain", "language"), every())
def test_every_placeholder_is_a_fact_and_asks_for_a_form_that_the_language_has(domain: str, language: str) -> None:
    forms = {"", "cell", "seat", *GRAMMARS[language].articles}
    for message, text in entries(domain, language).items():
        for name, spec in placeholders(text):
            assert name in DOMAINS[domain][message], f"{message}: {name}"
            assert "|" in spec or spec.lower() in forms, f"{message}: {name}:{spec}"
        assert "{" not in bare(text), message


@pytest.mark.parametrize(("domain", "language"), every())
def test_every_message_can_be_told(domain: str, language: str) -> None:
    say = words(language)
    for message, facts in DOMAINS[domain].items():
        for number in (0, 1, 2):
            samples = SAMPLES | SAMPLES_OF.get(domain, {})
            text = say.text(message, {fact: samples.get(fact, number) for fact in facts}, CONTEXTS.get(domain, CONTEXT))
            assert text != message
            assert not untold(text), text


@pytest.mark.parametrize("domain", DOMAINS)
def test_french_puts_no_break_spaces_where_french_does(domain: str) -> None:
    for message, text in entries(domain, "fr").items():
        plain = bare(text)
        assert not re.search(r" [:;!?»]|« ", plain), f"{message}: a space that may break"
        assert not re.search(rf"\w[;!?]|\w:(?!\w)|(?<![{NBSP}{NARROW}]):$", plain), f"{message}: no space"
        assert "’" not in plain


ENGLISH = {
    "the", "an", "of", "and", "is", "are", "was", "were", "with", "without", "has", "have", "to", "from", "for", "by",
    "at", "it", "its", "this", "that", "there", "here", "your", "you", "not", "no", "hero", "turn", "dice", "roll",
    "left", "wins", "takes", "leaves", "gold", "hit", "tile", "room", "game", "event", "player",
}  # fmt: skip
SAME_WORDS = {
    "game", "dragon", "victorius", "argentus", "aderyn", "xanros", "horan", "tala", "paladin", "viking", "thaumaturge",
    "toulak", "amar-suen", "tristan", "loeg-yllavyre", "alexandra", "szopin", "leprechaun", "clurichaun", "berserker",
    "champion", "potion", "talisman", "score", "rank-champion",
}  # fmt: skip
"""Terms that are the same word in English and in French."""


@pytest.mark.parametrize("domain", DOMAINS)
def test_there_is_no_english_in_french(domain: str) -> None:
    english = entries(domain, "en")
    for message, text in entries(domain, "fr").items():
        if message.rpartition(".")[2] in SAME_WORDS:
            continue
        found = ENGLISH & set(re.findall(r"[a-zà-ÿ]+", bare(text).lower()))
        assert not found, f"{message}: {found}"
        nouns = [said.partition("|")[0] if ".term." in message else said for said in (text, english[message])]
        assert nouns[0] != nouns[1] or not re.search(r"\w", bare(text)), message


@pytest.mark.parametrize("domain", DOMAINS)
def test_there_are_no_latin_letters_in_japanese_but_the_grades(domain: str) -> None:
    for message, text in entries(domain, "ja").items():
        letters = set(re.findall(r"[A-Za-zÀ-ÿ]+", bare(text)))
        assert letters <= {"EXACT", "UNVERIFIED", "DIVERGED"}, f"{message}: {letters}"


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_japanese_sentence_is_polite_and_ends_with_its_full_stop(domain: str) -> None:
    for message, text in entries(domain, "ja").items():
        if ".happening." in message or ".event." in message or ".refusal." in message:
            assert re.search(r"(です|ます|ました|ません|でした|ください|。|!|\})[。!]?$", text), f"{message}: {text}"
            assert not re.search(r"(だ|である|だった)。", text), message


CODE_AT = {"Illegal": 0, "Refusal": 1, "whereabouts": 2, "refuse_dice": 3}
"""Where the code of a refusal stands among the arguments of what makes one."""


def texts(node: ast.AST) -> Iterator[str]:
    """The texts that an expression may be, as far as they are written there."""
    if isinstance(node, ast.IfExp):
        yield from texts(node.body)
        yield from texts(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value


def codes_in(path: Path) -> Iterator[str]:
    """The refusal codes that a module can answer."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(func=ast.Name(id=name), args=args) if len(args) > CODE_AT.get(name, len(args)):
                yield from texts(args[CODE_AT[name]])
            case ast.Assign(targets=[ast.Name(id="reason")], value=value):
                yield from texts(value)


@pytest.mark.parametrize("ruleset", RULESETS)
def test_every_refusal_code_of_a_ruleset_has_a_message(ruleset: str) -> None:
    package = game_name(ruleset).replace("-", "_")
    turns = importlib.import_module(f"engine.{package}.turns")
    paths = [ROOT / "engine" / "turns.py", *(ROOT / "engine" / package).glob("*.py")]
    codes = {code for path in paths for code in codes_in(path)}
    codes |= {code for table in ("PENDING", "PAST") for code in getattr(turns, table, {}).values()}
    assert codes == set(telling(game_name(ruleset)).refusals)


def test_the_glossary_is_what_the_catalogues_say() -> None:
    assert (ROOT / "docs" / "glossary.md").read_text() == glossary.render()


OWNERS_TERMS = {
    "giant-rat": "Rat géant", "skeleton-turnkey": "Squelette gardien", "skeleton-warrior": "Guerrier squelette",
    "skeleton-king": "Roi squelette", "wailing-soul": "Âme en peine", "dragon": "Dragon", "dagger": "dague",
    "sword": "épée", "axe": "hache", "attack-scroll": "parchemin d'Attaque magique",
    "healing-scroll": "parchemin de soin", "key": "clé", "closed-chest": "coffre fermé", "open-chest": "coffre ouvert",
    "dragon-hoard": "trésor du Dragon", "corridor": "couloir", "room": "salle", "trap": "piège",
    "portal": "portail de téléportation", "fountain": "fontaine de soins", "cul-de-sac": "cul-de-sac",
    "stunned": "assommé", "next": "Suivant", "gold": "Or", "hit-points": "points de vie",
    "movement-points": "points de déplacement", "rerolls-ones": "Entraînement au combat",
    "keeps-moving-on-a-six": "Inarrêtable", "attack-scrolls-always-count": "Affinité magique",
    "walks-through-walls": "Marche astrale", "wins-ties": "Attaque dans le dos", "sneaks-past-monsters": "Discrétion",
    "sacrifices-hit-points": "Sacrifice", "swaps-places": "Échange magique", "rolls-two-pairs": "Double attaque",
    "reincarnates": "Réincarnation", "avoids-traps": "Clairvoyance", "first-step-bonus": "Tisseuse du destin",
}  # fmt: skip


def test_french_uses_the_owners_own_terms() -> None:
    sources = glossary.origins("donjon")
    for name, wanted in OWNERS_TERMS.items():
        term = words("fr").term(name, "donjon")
        assert term is not None
        assert (term.text, sources[name]) == (wanted, glossary.OWNER)


# -- grammar -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "rat", "soul", "axe"),
    [
        ("le", "le Rat géant", "l'Âme en peine", "la hache"),
        ("un", "un Rat géant", "une Âme en peine", "une hache"),
        ("du", "du Rat géant", "de l'Âme en peine", "de la hache"),
        ("de", "de Rat géant", "d'Âme en peine", "de hache"),
        ("au", "au Rat géant", "à l'Âme en peine", "à la hache"),
        ("Le", "Le Rat géant", "L'Âme en peine", "La hache"),
        ("il|elle", "il", "elle", "elle"),
        ("", "Rat géant", "Âme en peine", "hache"),
    ],
)  # fmt: skip
def test_french_articles_agree_and_elide(spec: str, rat: str, soul: str, axe: str) -> None:
    articles = GRAMMARS["fr"].articles
    for name, wanted in (("giant-rat", rat), ("wailing-soul", soul), ("axe", axe)):
        term = words("fr").term(name, "donjon")
        assert term is not None
        if spec and "|" not in spec:
            said = articles[spec.lower()](term)
            assert (said[0].upper() + said[1:] if spec[0].isupper() else said) == wanted
        else:
            assert (("elle" if term.gender == "f" else "il") if spec else term.text) == wanted


def test_elision_looks_through_accents_and_not_at_an_h() -> None:
    assert elides(Term("épée"))
    assert elides(Term("Âme"))
    assert not elides(Term("hache"))


def test_english_articles_and_plurals() -> None:
    say = words("en")
    dropped = told.LootDropped(1, "tala", "0,0", "axe", True)
    assert say.happening(dropped, CONTEXT) == "The monster leaves an axe behind."
    assert "1 movement point." in say.happening(told.TurnBegan(1, "tala", 1, 1), CONTEXT)
    assert "4 movement points." in say.happening(told.TurnBegan(1, "tala", 1, 4), CONTEXT)


def test_a_missing_message_is_its_id_and_a_missing_fact_stands_as_it_is() -> None:
    say = words("fr")
    assert say.text("donjon.happening.no-such-thing", {}) == "donjon.happening.no-such-thing"
    assert say.text("nowhere.at.all", {}) == "nowhere.at.all"
    assert say.refusal("no-such-code", {}, CONTEXT) == "no-such-code"
    assert "{hero}" in say.text("donjon.happening.trap-entered", {}, CONTEXT)
    assert words("xx").language == "en"


class SunRose(Happening, frozen=True):
    """A happening of a game that has no words yet."""

    rule = "1"
    hour: int


def test_a_game_without_words_is_told_by_its_ids() -> None:
    assert words("en").happening(SunRose(6)) == "table.happening.sun-rose"


def test_a_player_called_like_a_monster_keeps_the_name(game: Any) -> None:
    table = game("names")
    names = {table.position.seats[0].player: "dragon"}
    steps = list(Replay(table.game_id, table.events).steps("ja", names, upto=2))
    assert steps[1].words.startswith("dragonが")


def test_another_folder_of_catalogues_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "en" / "LC_MESSAGES"
    path.mkdir(parents=True)
    head = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'
    (path / "elsewhere.po").write_text(head + 'msgid "elsewhere.hello"\nmsgstr "Hello {name}"\n')
    add_folder(tmp_path)
    assert words("en").text("elsewhere.hello", {"name": Verbatim("Ada")}) == "Hello Ada"
    assert words("en").raw("donjon.action.end-turn") == "Next"


# -- sentences -----------------------------------------------------------------------------------------------------

ROLL = told.DiceRolled(1, "tala", "skeleton-turnkey", 8, (((5,), (3,)),), (5, 3), 0, 0, 1, 9)
REROLL = told.DiceRolled(1, "victorius", "giant-rat", 5, (((1, 1, 4), (6,)),), (4, 6), 3, 0, 0, 13)
TWICE = told.DiceRolled(2, "horan", "mummy", 7, (((2,), (3,)), ((6,), (1,))), (6, 1), 0, 0, 0, 7)
TIE = told.FightWon(3, "aderyn", "wailing-soul", 12, "1,0", 12, "open-chest")
SWAP = told.LootTaken(1, "argentus", "2,-1", "axe", "dagger")
GAINED = told.GoldGained(1, "xanros", "dragon-hoard", 3, 4)
OUT = told.KnockedOut(3, "aderyn", "-1,0")


@pytest.mark.parametrize(
    ("happening", "english", "french", "japanese"),
    [
        (
            ROLL,
            "Tala attacks the skeleton turnkey: 5 + 3 + 1 = 9 against 8.",
            "Tala attaque le Squelette gardien : 5 + 3 + 1 = 9 contre 8.",
            "タラが骸骨の番人を攻撃します。5 + 3 + 1 = 9、相手の強さは8です。",
        ),
        (
            REROLL,
            "Victorius attacks the giant rat and rolls 1 → 1 → 4 and 6: 4 + 6 + 3 = 13 against 5.",
            "Victorius attaque le Rat géant et relance les 1, 1 → 1 → 4 et 6 : 4 + 6 + 3 = 13 contre 5.",
            "ヴィクトリウスが大ネズミを攻撃し、1の目を振り直しました(1 → 1 → 4、6)。"
            "4 + 6 + 3 = 13、相手の強さは5です。",
        ),
        (
            TWICE,
            "Horan attacks the mummy twice, 2 + 3 and 6 + 1, and keeps the better roll: 6 + 1 = 7 against 7.",
            "Horan attaque la Momie deux fois, 2 + 3 et 6 + 1, et garde le meilleur résultat : 6 + 1 = 7 contre 7.",
            "ホランがミイラを二度攻撃し(2 + 3、6 + 1)、よいほうを選びました。6 + 1 = 7、相手の強さは7です。",
        ),
        (
            TIE,
            "12 against 12, a tie: Aderyn strikes from the shadows and defeats the wailing soul.",
            "12 contre 12, égalité : Aderyn attaque dans le dos et gagne le combat contre l'Âme en peine.",
            "12対12の同点ですが、アデリンは背後からの一撃で嘆きの魂に勝ちました。",
        ),
        (
            SWAP,
            "Argentus takes the axe and leaves a dagger.",
            "Argentus prend la hache et abandonne une dague.",
            "アルゲントゥスは斧を手に入れ、代わりに短剣を置きました。",
        ),
        (
            GAINED,
            "Xanros gains 3 gold from the dragon's hoard and has 4.",
            "Xanros gagne 3 Ors grâce au trésor du Dragon et en possède 4.",
            "ザンロスはドラゴンの財宝から金貨3枚を得て、合わせて4枚になりました。",
        ),
        (
            OUT,
            "Aderyn has no hit point left and lies stunned at (−1, 0).",
            "Aderyn n'a plus de point de vie et tombe assommée en (−1, 0).",
            "アデリンは体力がなくなり、(−1, 0)で気絶しました。",
        ),
    ],
)
def test_happenings_are_told_with_dice_totals_and_strengths(
    happening: Happening, english: str, french: str, japanese: str
) -> None:
    assert words("en").happening(happening, CONTEXT) == english
    assert words("fr").happening(happening, CONTEXT) == french.replace(" :", NBSP + ":")
    assert words("ja").happening(happening, CONTEXT) == japanese


def test_the_end_names_winners_and_standings(game: Any) -> None:
    state = game("end").position.state
    over = told.GameOver("dragon", (1, 3), (5, 0, 5))
    assert words("en").happening(over, Context(DONJON, state)) == (
        "The dragon is dead and the game is over. Xanros and Tala win. Gold: Xanros 5, Tala 5, and Horan 0."
    )
    assert "Xanros et Tala gagnent." in words("fr").happening(over, Context(DONJON, state))
    assert "Siège 1 et Siège 3 gagnent." in words("fr").happening(over, CONTEXT)


@pytest.mark.parametrize("language", LANGUAGES)
def test_whole_games_are_told_without_a_gap(game: Any, names: dict[bytes, str], language: str) -> None:
    for name, seats, options in (("tell", 3, ()), ("told", 6, (("orientation", "player"),))):
        table = game(name, seats=seats, events=600, options=options)
        state = table.position.state
        for step in Replay(table.game_id, table.events).steps(language, names):
            assert not untold(step.words), step.words
        if not state.ending:
            known = Context(table.rules, state)
            for offer in table.rules.legal(state, state.active):
                assert not untold(words(language).action(offer.action, known))


def test_sentences_name_nothing_but_terms_of_the_glossary(game: Any) -> None:
    table = game("tell", seats=3, events=600)
    terms = set(telling("donjon").terms)
    for step in Replay(table.game_id, table.events).steps():
        if step.happening is not None:
            message, facts = told_by("donjon", step.happening, "happening", None)
            assert set(named(message, facts, "fr")) <= terms, message
    unknown = told.LootDropped(1, "tala", "0,0", "halberd", True)
    assert set(named(*told_by("donjon", unknown, "happening", None), "fr")) - terms == {"halberd"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_refusal_met_in_play_has_words(table: Any, language: str) -> None:
    played, met = table("refusals").open(6), set()
    say = words(language)
    for _ in range(300):
        if played.position.closed:
            break
        state = played.position.state
        for refusal in played.rules.refusals(state, state.active):
            text = say.refusal(refusal.code, refusal.details, Context(played.rules, state))
            assert text != refusal.code
            assert not re.search(r"[{}]", text)
            met.add(refusal.code)
        played.wander(len(played.events) + 1)
    assert {"cul-de-sac", "pending-fight", "no-key"} <= met


def test_labels_say_more_where_the_state_is_known(table: Any) -> None:
    state = table("labels").open(2).position.state
    known = Context(DONJON, state)
    say = words("en")
    assert say.action(act.Move((0, -1)), CONTEXT) == "Go to (0, −1)"
    assert say.action(act.Move((0, -1)), known) == "Explore to the north, (0, −1)"
    assert say.action(act.Swap(2), known) == "Change places with Argentus"
    assert say.action(act.Swap(2), CONTEXT) == "Change places with Seat 2"
    assert words("fr").action(act.EndTurn(), CONTEXT) == "Suivant"
    assert words("fr").action(act.TakeLoot("axe"), CONTEXT) == "Prendre l'objet et abandonner une hache"


def test_events_of_which_the_rules_tell_nothing_have_words_too(table: Any, names: dict[bytes, str]) -> None:
    played = table("events").open(2)
    draft = played.draft()
    draft.hand_over(1, ("delver", 2))
    draft.close("abandoned", "absent")
    played.keep(draft)
    steps = list(Replay(played.game_id, played.events).steps("fr", names))
    assert [step.words for step in steps if step.kind not in ("seeded",)] == [
        f"Une table est ouverte pour 2 joueurs{NBSP}: Le Donjon.",
        "Ada prend le siège 1 avec Victorius.",
        "Bruno prend le siège 2 avec Argentus.",
        f"La table est complète{NBSP}: plus personne ne s'assied.",
        "le robot delver (niveau 2) joue désormais pour Victorius.",
        f"La partie est abandonnée{NBSP}: un joueur était absent.",
    ]


def test_a_timeout_and_a_resignation_are_told(table: Any) -> None:
    played = table("absent").open(2)
    draft = played.draft()
    draft.time_out(played.position.to_act[0])
    draft.resign(1)
    played.keep(draft)
    kinds = {step.kind: step.words for step in Replay(played.game_id, played.events).steps("en") if step.index == 1}
    assert "is absent" in kinds["timeout"]
    assert "leaves the game" in kinds["resign"]


def test_draws_are_told_with_their_purpose() -> None:
    assert words("en").draw(["fight", 6, 4], CONTEXT) == "a die of the fight: 4 (of 6)"
    assert words("fr").draw(["tile", 79, 12, "room-l"], CONTEXT) == f"la tuile découverte{NBSP}: room-l (parmi 79)"


def test_an_unreadable_body_is_told_as_such(game: Any) -> None:
    first = game("names").events[0]
    spoiled = Event.write(first.game_id, 1, first.prev, first.t_ms, "create", None, {"rules": 7})
    assert words("en").event(spoiled) == "Event 1 cannot be read."


def test_context_is_plain_data() -> None:
    assert msgspec.structs.replace(CONTEXT, state=None) == CONTEXT
