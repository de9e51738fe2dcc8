"""Pictures of Dungeon Roll: all that is public stands there, under ids that actions can name, one beside the other."""

import itertools
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from engine.dungeon_roll import actions as act
from engine.dungeon_roll.components import DUNGEON_FACES, LOOT, MONSTERS, PARTY_FACES, TREASURES
from engine.dungeon_roll.heroes import HEROES, Side
from engine.dungeon_roll.offers import target_of
from engine.dungeon_roll.rules import DungeonRoll
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import DELVING, score
from engine.protocol import Happening, SeatSetup, Setup
from replay.pictures import STYLE, THEMES, picture
from replay.pictures.dungeon_roll.scene import DRAWN, EMBLEMS, FACES, SHIELDS, Scene
from replay.pictures.shared import WIDTH, drawings, folded
from replay.words import LANGUAGES, Context, words
from tests.replay.parts import SVG, Luck, boxes, by_id, name, outgrown, texts, used

RULES = DungeonRoll()
Sample = tuple[State, Sequence[Happening]]
KEEN: dict[type, float] = {act.Flee: 0.02, act.Retire: 0.3, act.UsePortal: 0.05, act.Proceed: 0.5}


def start(seats: int, **options: Any) -> State:
    setup = Setup(msgspec.to_builtins(RULES.options(**options)), [SeatSetup(choice={}) for _ in range(seats)])
    return RULES.initial(setup)


def played(seed: int, **options: Any) -> Iterator[Sample]:
    """Every position of a game played by whim, rather boldly."""
    luck = Luck(seed)
    state = start(1 + seed % 4, **options)
    yield state, RULES.begin(state, luck)
    while legal := RULES.legal(state, state.active):
        keen = [KEEN.get(type(offer.action), 1.0) for offer in legal]
        action = luck.random.choices(legal, keen)[0].action
        yield state, RULES.apply(state, state.active, action, luck)


def samples() -> list[Sample]:
    """Positions far apart and of every phase, of all heroes, dealt and chosen."""
    found: list[Sample] = [(start(3), [])]
    for seed in range(48):
        seen: dict[str, int] = {}
        chosen = "random" if seed % 6 else "choice"
        for number, (state, happened) in enumerate(played(seed, heroes="all", hero_choice=chosen)):
            seen[state.phase] = seen.get(state.phase, 0) + 1
            if seen[state.phase] in (1, 7) or number % 60 == 0:
                found.append((RULES.copy(state), happened))
    return found


SAMPLES = samples()
DELVES = [sample for sample in SAMPLES if sample[0].delve.level or sample[0].phase == "forming"]


KEPT: dict[tuple[int, str], str] = {}
"""The pictures of `SAMPLES`, which are drawn but once."""


def drawn(sample: Sample, lang: str = "en", **more: Any) -> ET.Element:
    state, happened = sample
    if more or not any(one is sample for one in SAMPLES):
        return ET.fromstring(picture(RULES, state, None, lang, happened=happened, **more))
    if (key := (id(sample), lang)) not in KEPT:
        KEPT[key] = picture(RULES, state, None, lang, happened=happened)
    return ET.fromstring(KEPT[key])


def test_the_samples_show_every_phase_every_number_of_seats_and_nearly_every_hero() -> None:
    assert {state.phase for state, _ in SAMPLES} == {
        "opening", "choosing-hero", "delve-start", "forming", *DELVING, "discarding", "game-over",
    }  # fmt: skip
    assert {len(state.seats) for state, _ in SAMPLES} == {1, 2, 3, 4}
    assert len({state.seat.side.name for state, _ in DELVES}) > 26
    assert max(len(state.delve.dice) for state, _ in DELVES) >= 5


# -- the form of every picture -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_picture_is_well_formed_its_ids_are_unique_and_its_references_lead_somewhere(lang: str) -> None:
    for sample in SAMPLES:
        root = drawn(sample, lang)
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        assert {href[1:] for href in used(root)} <= set(ids)
        said = " ".join(filter(None, root.itertext())).replace(STYLE, "")
        assert not re.search(r"pictures\.|dungeon-roll\.|[{}]", said)


def test_a_picture_has_no_script_no_style_attribute_and_refers_to_nothing_outside() -> None:
    for sample in SAMPLES:
        svg = picture(RULES, sample[0], None, "en")
        assert not re.search(r"<script|<foreignObject|\son\w+=|\sstyle=|url\(|@import|javascript:", svg)
        assert re.findall(r'(?:href|src)="(?!#)', svg) == []


def test_every_class_has_a_rule() -> None:
    classes = {
        name for root in map(drawn, SAMPLES) for element in root.iter() for name in (element.get("class") or "").split()
    }
    assert classes <= set(re.findall(r"\.([a-z-]+)", STYLE))


@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_has_the_same_sheet(theme: str) -> None:
    root = drawn(SAMPLES[9], theme=theme)
    assert root.get("data-theme") == theme
    assert [style.text for style in root.iter(f"{SVG}style")] == [STYLE]


def test_drawing_changes_nothing_and_the_same_position_gives_the_same_bytes_whoever_looks() -> None:
    for state, happened in SAMPLES[::7]:
        before = msgspec.json.encode(state)
        one = picture(RULES, state, 1, "fr", happened=happened)
        assert msgspec.json.encode(state) == before
        assert picture(RULES, RULES.copy(state), None, "fr", happened=happened) == one


def test_a_picture_takes_less_than_45_kb() -> None:
    sizes = [len(picture(RULES, state, None, "fr").encode()) for state, _ in [*SAMPLES, *crowded()]]
    assert max(sizes) < 45_000


# -- what actions name -------------------------------------------------------------------------------------------------


def test_every_target_of_legal_actions_forms_and_refusals_is_an_element_with_a_name() -> None:
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        for seat in range(1, len(state.seats) + 1):
            targets = {offer.target for offer in RULES.legal(state, seat)}
            targets |= {form.target for form in RULES.forms(state, seat)}
            targets |= {refusal.target for refusal in RULES.refusals(state, seat)}
            for target in targets:
                assert target in ids, (state.phase, target)
                assert name(ids[target]), target


def test_every_die_token_and_companion_that_a_form_asks_for_can_be_clicked() -> None:
    asked = 0
    for sample in SAMPLES:
        ids = by_id(drawn(sample))
        for form in RULES.forms(sample[0], sample[0].active):
            for name_of_field, field in form.fields.items():
                for one in field.ids:
                    if target := RULES.element(name_of_field, one):
                        assert target in ids, (form.type, one)
                        asked += 1
    assert asked > 1000


def test_what_is_refused_in_a_delve_is_an_outline_and_what_is_legal_a_button() -> None:
    for sample in DELVES:
        state = sample[0]
        if state.phase not in DELVING:
            continue
        ids = by_id(drawn(sample))
        legal = {offer.target for offer in RULES.legal(state, state.active)}
        for target in ("proceed", "flee", "retire", "seek-glory"):
            rect = ids[target].find(f"{SVG}rect")
            assert rect is not None
            assert rect.get("class") == ("button" if target in legal else "refused")
            assert bool(texts(ids[target])) == (target in legal)


# -- faces, tokens, heroes: told apart by more than colour -------------------------------------------------------------


def test_every_face_token_and_emblem_is_a_drawing_of_its_own() -> None:
    for names in (PARTY_FACES, DUNGEON_FACES, tuple(TREASURES), tuple(EMBLEMS.values())):
        shown = [DRAWN.get(one, one) for one in names]
        assert len(set(shown)) == len(shown)
        assert len({drawings()[one].partition(">")[2] for one in shown}) == len(shown)
    assert EMBLEMS.keys() == HEROES.keys()
    assert len({outline for _, outline in SHIELDS.values()}) == 3


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_face_has_a_letter_of_its_own_with_which_its_word_begins(lang: str) -> None:
    said = words(lang)
    letters = {face: said.raw(f"pictures.dungeon-roll.letter.{face}") for face in FACES}
    assert len(set(letters.values())) == 12
    for face, letter in letters.items():
        term = said.term(face, "dungeon-roll")
        assert term is not None
        if lang != "en" or face != "scroll":
            assert term.text.lower().startswith(letter[0].lower()), face


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_powers_of_every_side_are_told_in_words_and_no_two_sides_alike(lang: str) -> None:
    scene = Scene(RULES, start(1), lang, [])
    told = {}
    for hero in HEROES.values():
        for side in filter(None, (hero.novice, hero.master)):
            said = f"{scene.specialty(side)} {scene.ultimate(side)}"
            assert "pictures." not in said
            assert "{" not in said
            told[side.name] = said, side
            for power in (scene.specialty(side), scene.ultimate(side)):
                assert len(folded(power, 11, WIDTH - 44)) <= 5
    for (_, (one, first)), (_, (other, second)) in itertools.combinations(told.items(), 2):
        assert (one == other) == (powers(first) == powers(second))


def powers(side: Side) -> Any:
    """A side without its names."""
    plain: dict[str, Any] = msgspec.to_builtins(side)
    return {field: value for field, value in plain.items() if field not in ("name", "waits_with_dragons")} | {
        "ultimate": {field: value for field, value in plain["ultimate"].items() if field not in ("name", "phases")}
    }


# -- every public fact -------------------------------------------------------------------------------------------------


def test_every_die_lies_where_it_is_and_shows_what_it_shows() -> None:
    for sample in DELVES:
        state = sample[0]
        delve = state.delve
        ids = by_id(drawn(sample))
        within = {zone: set(by_id(ids[zone])) for zone in ("party", "graveyard", "lair")}
        for die, face in delve.party.items():
            assert used(ids[die]) == [f"#face-{face}"]
            assert die in within["party"]
        for die in delve.graveyard:
            assert used(ids[die]) == []
            assert die in within["graveyard"]
        for die in delve.removed:
            assert die in by_id(ids["removed"])
        groups = {**dict.fromkeys(MONSTERS, "monsters"), **{face: f"{face}s" for face in LOOT}}
        for die, face in delve.dice.items():
            assert used(ids[die]) == [f"#face-{face}"]
            assert die in by_id(ids[groups[face]])
        for die in delve.lair:
            assert used(ids[die]) == ["#face-dragon"]
            assert die in within["lair"]
        for level, dice in delve.reserve.items():
            zone = by_id(ids["reserve" if level == "0" else f"reserve-{level}"])
            assert dice.keys() <= zone.keys()
            assert all(used(zone[die]) == [f"#face-{face}"] for die, face in dice.items())
        for die in delve.supply:
            assert used(ids[die]) == []
        for temp, face in delve.temps.items():
            element = ids[target_of(temp)]
            assert f"#i-{DRAWN.get(face, face)}" in used(element)
            assert element.find(f".//{SVG}circle") is not None
        counts = len(delve.party) + len(delve.graveyard) + len(delve.removed)
        assert sum(identity.startswith("party-") for identity in ids) == counts
        assert sum(identity.startswith("dungeon-") for identity in ids) == 7
        assert str(len(delve.graveyard)) in texts(ids["graveyard"])


def test_level_delve_phase_and_lair_are_told() -> None:
    for sample in DELVES:
        state = sample[0]
        ids = by_id(drawn(sample))
        level = state.delve.level
        assert texts(ids["level"]) == ([str(level), f"Level {level}"] if level else ["–", "Level –"])
        assert f"Delve {state.seat.delves + 1} of 3" in texts(ids["map"])
        on = [
            phase
            for phase in DELVING
            if "active" in str(getattr(ids[f"phase-{phase}"].find(f"{SVG}rect"), "attrib", {}).get("class"))
        ]
        lit = state.resume if state.phase == "discarding" else state.phase
        assert on == ([lit] if lit in DELVING else [])
        least = state.seat.side.dragon_at
        awake = len(state.delve.lair) >= least
        said = [f"{len(state.delve.lair)}/{least}", "awake!" if awake else "asleep"]
        assert texts(ids["dragon"]) == said
        if state.delve.dragon_at:
            assert f"slain: level {state.delve.dragon_at}" in texts(ids["map"])


def test_the_treasures_in_hand_are_told_with_their_numbers_and_the_supply() -> None:
    seen = set()
    for sample in SAMPLES:
        state = sample[0]
        if not state.active or state.ending or not state.seat.hero:
            continue
        ids = by_id(drawn(sample))
        assert {i for i in ids if i.startswith("treasure-")} - {"treasure-supply"} == {
            f"treasure-{token}" for token in state.seat.treasures
        }
        for token, count in state.seat.treasures.items():
            element = ids[f"treasure-{token}"]
            assert used(element) == [f"#i-{DRAWN.get(token, token)}"]
            assert f"×{count}" in texts(element)
            seen.add(token)
    assert seen == set(TREASURES)


def test_how_many_treasures_are_left_to_draw_is_told_in_every_picture() -> None:
    for sample in SAMPLES:
        left = sum(sample[0].supply.values())
        said = texts(by_id(drawn(sample))["treasure-supply"])
        assert said == [f"{left} treasure{'' if left == 1 else 's'} left to draw"]


def test_a_rim_is_around_what_a_legal_action_uses_or_may_name_and_around_nothing_else() -> None:
    rims: Counter[str] = Counter()
    for sample in SAMPLES:
        state = sample[0]
        legal = {offer.target for offer in RULES.legal(state, state.active)}
        expected = legal | {
            RULES.element(field, one)
            for form in RULES.forms(state, state.active)
            for field, what in form.fields.items()
            for one in what.ids
        }
        if "potions" in legal:
            expected |= set(state.delve.showing("potion"))
        root = drawn(sample)
        rimmed = re.compile(r"(party|dungeon|temp|treasure|hero)-|(dragon|specialty|ultimate)$")
        expected = {identity for identity in expected & by_id(root).keys() if rimmed.match(identity)}
        assert sum(rect.get("class") == "pick" for rect in root.iter(f"{SVG}rect")) == len(expected)
        rims.update(identity.rstrip("0123456789") for identity in expected)
    assert rims["dungeon-"] > 300 < rims["party-"]
    assert rims.keys() >= {"dragon", "specialty", "ultimate", "temp-", "treasure-town-portal", "treasure-scroll"}


def test_a_delve_that_is_to_begin_says_whether_the_ultimate_will_be_ready() -> None:
    chips = set()
    for sample in SAMPLES:
        if sample[0].phase == "delve-start":
            exhausted = sample[0].seat.side.begins_exhausted
            chip = texts(by_id(drawn(sample))["ultimate"])[1]
            assert chip == ("used up" if exhausted else "ready")
            chips.add(chip)
    assert len(chips) == 2


def test_the_places_for_the_dice_of_a_scout_stand_beside_them() -> None:
    waiting = [sample for sample in SAMPLES if "0" in sample[0].delve.reserve]
    assert waiting
    for sample in waiting:
        assert {"1:", "2:", "3:"} <= set(texts(by_id(drawn(sample))["map"]))


def test_the_heros_card_names_the_side_experience_and_both_powers_and_whether_they_are_used() -> None:
    chips = set()
    for sample in DELVES:
        state = sample[0]
        ids = by_id(drawn(sample))
        scene = Scene(RULES, state, "en", [])
        side = state.seat.side
        card = texts(ids["card"])
        assert scene.term(side.name) in card
        assert any(line.startswith(("Novice", "Master", "Legend")) for line in card)
        assert texts(ids["xp"])[0] == str(state.seat.xp)
        assert " ".join(texts(ids["specialty"])[-len(folded(scene.specialty(side), 11, WIDTH - 44)) :]) == (
            scene.specialty(side)
        )
        ultimate = texts(ids["ultimate"])
        assert ultimate[:2] == [scene.term(side.ultimate.name), "used up" if state.delve.exhausted else "ready"]
        assert " ".join(ultimate[2:]) == scene.ultimate(side)
        assert ("used here" in texts(ids["specialty"])) == state.delve.specialty_used
        assert any(line.startswith("Rage") for line in card) == state.delve.rage
        chips |= {ultimate[1], *(["used here"] if state.delve.specialty_used else [])}
    assert chips == {"used up", "ready", "used here"}


def test_every_seat_has_its_row_with_side_delves_experience_treasures_and_score() -> None:
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        scene = Scene(RULES, state, "en", [])
        for number, seat in enumerate(state.seats, 1):
            panel = ids[f"panel-{number}"]
            said = texts(panel)
            assert scene.hero(seat) in said
            active = number == state.active and not state.ending
            lead = "▸" if active else "▹" if number == scene.following else ""
            assert said[0] == f"{lead}{number}"
            pips = [circle.get("class") for circle in panel.iter(f"{SVG}circle")]
            assert pips.count(None) == seat.delves
            assert pips.count("button") == int(active and scene.delving and seat.delves < 3)
            owed = scene.owed(number)
            assert (f"↩{owed}" in said) == bool(owed)
            assert ("gives back" in name(panel)) == bool(owed)
            total = f"({score(seat)})" if owed else str(score(seat))
            assert said[-2:] == [total, f"{seat.xp} + {score(seat) - seat.xp}"]
            shown = used(panel)
            for token, count in seat.treasures.items():
                assert f"#i-{DRAWN.get(token, token)}" in shown
                assert str(count) in said
            if seat.hero:
                assert f"#i-{EMBLEMS[seat.hero]}" in shown
            assert str(score(seat)) in name(panel)


def test_the_end_names_the_winners_and_of_a_solo_game_the_rank() -> None:
    ends = 0
    for sample in SAMPLES:
        state = sample[0]
        outcome = RULES.outcome(state)
        if outcome is None:
            continue
        ends += 1
        ids = by_id(drawn(sample))
        crowned = [n for n in range(1, len(state.seats) + 1) if "active" in (
            str(ids[f"panel-{n}"].find(f"{SVG}rect").attrib["class"]))]  # type: ignore[union-attr]  # fmt: skip
        assert crowned == outcome.winners
        if rank := outcome.facts.get("rank"):
            term = words("en").term(f"rank-{rank}", "dungeon-roll")
            assert term is not None
            assert any(term.text in line for line in texts(ids["frame"]))
    assert ends > 10


def test_a_seat_that_left_says_so() -> None:
    state = start(3)
    RULES.begin(state, Luck(3))
    RULES.withdraw(state, 2)
    assert "left" in texts(by_id(drawn((state, [])))["panel-2"])


def test_the_seat_that_is_marked_as_the_next_one_is_the_next_one() -> None:
    came = 0
    for seed in range(1, 4):
        up, marked = 0, 0
        for state, happened in played(seed):
            if state.active not in (0, up) and up:
                assert state.active == marked
                came += 1
            up, marked = state.active, Scene(RULES, state, "en", happened).following
    assert came > 5


@pytest.mark.parametrize("lang", LANGUAGES)
def test_of_what_has_just_happened_only_what_stands_elsewhere_is_left_out_unless_it_shows_that_it_is_cut(
    lang: str,
) -> None:
    whole = 0
    for sample in SAMPLES:
        (state, happened), ids = sample, by_id(drawn(sample, lang))
        assert ("told" in ids) == bool(happened)
        if not happened:
            continue
        said = [words(lang).happening(one, Context(RULES, state)) for one in happened]
        assert name(ids["told"]).endswith(said[-1])
        shown = "".join("".join(texts(ids["told"])).split())
        if "…" not in shown:
            kept = [text for text, one in zip(said, happened, strict=True) if not isinstance(one, Scene.elsewhere)]
            assert all("".join(text.split()) in shown for text in kept)
            whole += 1
    assert whole > 0.9 * len([happened for _, happened in SAMPLES if happened])


def test_the_delve_that_ended_is_told_with_who_delved_and_how_it_left() -> None:
    told = [s for s in SAMPLES if any(type(h).__name__ == "Fled" for h in s[1])]
    assert told
    for state, happened in told:
        said = name(by_id(drawn((state, happened)))["told"])
        assert "flees" in said
        assert "without experience" in said


# -- nothing over another, nothing outside -----------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGUAGES)
def test_nothing_lies_outside_no_die_on_another_and_no_line_of_text_across_another(lang: str) -> None:
    for sample in [*SAMPLES, *crowded()]:
        root = drawn(sample, lang)
        height = float(str(root.get("viewBox")).split()[3])
        found = list(boxes(root))
        for box in found:
            assert box.left >= -0.5, box
            assert box.right <= WIDTH + 0.5, box
            assert box.top >= -0.5, box
            assert box.bottom <= height + 0.5, box
        assert outgrown(root) == []
        for kind in ("die", "text"):
            for one, other in itertools.combinations([box for box in found if kind in box.what.split()[:2]], 2):
                assert not one.meets(other), (one, other, sample[0].phase)


def test_pale_letters_stand_only_on_cards_where_their_contrast_is_enough() -> None:
    pale = 0
    for sample in [*SAMPLES, *crowded()]:
        found = list(boxes(drawn(sample)))
        sheets = [box for box in found if box.what.startswith("rect") and box.what != "rect refused"]
        for box in found:
            if box.what.startswith("dim"):
                under = [sheet for sheet in sheets if sheet.meets(box)]
                assert under[-1].what == "rect card", box
                pale += 1
    assert pale > 100


def crowded() -> Iterator[Sample]:
    """As much as can lie on the table at once."""
    state = start(4, heroes="all")
    RULES.begin(state, Luck(5))
    names = ("loeg-yllavyre", "guild-leader", "scout", "tristan")
    for seat, hero in zip(state.seats, names, strict=True):
        seat.hero, seat.treasures, seat.xp, seat.delves = hero, dict.fromkeys(TREASURES, 1), 30, 2
    state.seats[0].treasures = dict(TREASURES)
    state.phase, state.active = "loot", 1
    delve = state.delve
    delve.level, delve.dragon_at, delve.rage = 10, 10, True
    delve.party = {f"party-{n}": face for n, face in enumerate([*PARTY_FACES, "champion"], 1)}
    delve.temps = {f"temp-{n}": "dragon" for n in range(1, 8)} | {"hero": "fighter"}
    delve.dice = {f"dungeon-{n}": "potion" for n in range(1, 8)}
    yield RULES.copy(state), []
    delve.dice, delve.temps, delve.party = {}, {}, {}
    delve.lair = [f"dungeon-{n}" for n in range(1, 8)]
    delve.graveyard = [f"party-{n}" for n in range(1, 9)]
    state.phase, state.active = "dragon", 2
    yield RULES.copy(state), []
    delve.lair, delve.graveyard = [], []
    delve.party = {f"party-{n}": "scroll" for n in range(1, 9)}
    delve.reserve = {"2": {"dungeon-2": "chest", "dungeon-3": "goblin"},
                     "3": {"dungeon-4": "ooze", "dungeon-5": "dragon", "dungeon-6": "potion"}}  # fmt: skip
    delve.dice = {"dungeon-1": "skeleton"}
    state.phase, delve.level, delve.exhausted = "monster", 1, True
    yield RULES.copy(state), []
