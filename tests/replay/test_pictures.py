"""Pictures: all that is public stands in them, under ids that actions can name, in well-formed SVG without a script."""

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from babel.messages.pofile import read_po

from engine.donjon.components import HEROES, HIT_POINTS, MONSTERS, MOVEMENT_POINTS, SLOTS, WEAPONS
from engine.donjon.grid import OPPOSITE, neighbours
from engine.donjon.rules import Donjon
from engine.donjon.state import Hero, State
from engine.protocol import Happening, SeatSetup, Setup
from replay.pictures import STYLE, THEMES, picture
from replay.pictures.donjon import plan
from replay.pictures.donjon.panel import SLOT_AT
from replay.pictures.donjon.scene import SHINE
from replay.pictures.shared import DARK, LIGHT, drawings, folded, in_plain_colours, tag
from replay.words import LANGUAGES, LOCALE, Context, words
from tests.replay.blind import played as bots_play
from tests.replay.parts import SVG, Luck, by_id, name, outgrown, texts, used

RULES = Donjon()
Sample = tuple[State, Sequence[Happening]]


def start(seats: int, **options: Any) -> State:
    setup = Setup(msgspec.to_builtins(RULES.options(**options)), [SeatSetup(choice={}) for _ in range(seats)])
    return RULES.initial(setup)


def played(seed: int, actions: int = 700, **options: Any) -> Iterator[Sample]:
    """Every position of a game played by whim, mostly into the dark."""
    luck = Luck(seed)
    state = start(2 + seed % 5, **options)
    yield state, RULES.begin(state, luck)
    for _ in range(actions):
        if not (legal := RULES.legal(state, state.active)):
            return
        keen = [8 if offer.chance else 0.4 if offer.target == "next" else 1 for offer in legal]
        action = luck.random.choices(legal, keen)[0].action
        yield state, RULES.apply(state, state.active, action, luck)


def samples() -> list[Sample]:
    """Positions far apart and of every phase, from games of 2 to 6 seats with and without turning tiles."""
    found: list[Sample] = []
    for seed in range(10):
        seen: dict[str, int] = {}
        orientation = "player" if seed % 2 else "random"
        for number, (state, happened) in enumerate(played(seed, orientation=orientation)):
            seen[state.phase] = seen.get(state.phase, 0) + 1
            if seen[state.phase] in (1, 9) or number % 150 == 0:
                found.append((RULES.copy(state), happened))
    return found


SAMPLES = samples()


KEPT: dict[tuple[int, str], str] = {}
"""The pictures of `SAMPLES`, which are drawn but once."""


def drawn(sample: Sample, lang: str = "en", **more: Any) -> ET.Element:
    state, happened = sample
    if more or not any(one is sample for one in SAMPLES):
        return ET.fromstring(picture(RULES, state, None, lang, happened=happened, **more))
    if (key := (id(sample), lang)) not in KEPT:
        KEPT[key] = picture(RULES, state, None, lang, happened=happened)
    return ET.fromstring(KEPT[key])


def test_the_samples_show_every_phase_of_the_game() -> None:
    phases = {state.phase for state, _ in SAMPLES}
    assert phases >= {
        "turn-start", "exploring", "placing", "trap-pending", "encounter", "combat-pending", "combat-decision", "loot",
        "reincarnation", "turn-over",
    }  # fmt: skip
    assert max(len(state.tiles) for state, _ in SAMPLES) > 50


# -- the form of every picture -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_picture_is_well_formed_its_ids_are_unique_and_its_references_lead_somewhere(lang: str) -> None:
    for sample in SAMPLES:
        root = drawn(sample, lang)
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        assert len(ids) == len(set(ids))
        assert {href[1:] for href in used(root)} <= set(ids)


def test_a_picture_has_no_script_no_style_attribute_and_refers_to_nothing_outside() -> None:
    for sample in SAMPLES:
        svg = picture(RULES, sample[0], None, "en")
        assert not re.search(r"<script|<foreignObject|\son\w+=|\sstyle=|url\(|@import|javascript:", svg)
        assert re.findall(r'(?:href|src)="(?!#)', svg) == []
        assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]


def test_every_message_of_the_pictures_stands_in_each_language_and_every_fact_finds_its_place() -> None:
    messages = {}
    for lang in LANGUAGES:
        with (LOCALE / lang / "LC_MESSAGES" / "pictures.po").open("rb") as file:
            messages[lang] = {str(message.id): str(message.string) for message in read_po(file) if message.id}
        assert all(messages[lang].values())
        for sample in SAMPLES:
            said = " ".join(filter(None, drawn(sample, lang).itertext()))
            assert not re.search(r"pictures\.|donjon\.|[{}](?![^<]*\})", said.replace(STYLE, ""))
    assert messages["en"].keys() == messages["fr"].keys() == messages["ja"].keys()


def test_the_same_position_gives_the_same_bytes_whoever_looks() -> None:
    state, happened = SAMPLES[20]
    twin = RULES.copy(state)
    assert picture(RULES, state, 1, "fr", happened=happened) == picture(RULES, twin, None, "fr", happened=happened)


def test_drawing_changes_nothing() -> None:
    for state, happened in SAMPLES:
        before = msgspec.json.encode(state)
        picture(RULES, state, None, "en", happened=happened)
        assert msgspec.json.encode(state) == before


def test_an_unknown_language_is_drawn_in_english() -> None:
    assert picture(RULES, SAMPLES[0][0], None, "tlh") == picture(RULES, SAMPLES[0][0], None, "en")


def test_text_from_elsewhere_is_escaped() -> None:
    assert tag("text", "<b>&", title='"><script>') == '<text title="&#34;&gt;&lt;script&gt;">&lt;b&gt;&amp;</text>'


@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_has_the_same_sheet_and_says_which_it_is(theme: str) -> None:
    root = drawn(SAMPLES[0], theme=theme)
    assert root.get("data-theme") == theme
    assert [style.text for style in root.iter(f"{SVG}style")] == [STYLE]


def test_every_class_has_a_rule_and_every_colour_a_value() -> None:
    classes = {
        name for root in map(drawn, SAMPLES) for element in root.iter() for name in (element.get("class") or "").split()
    }
    rules = set(re.findall(r"\.([a-z-]+)", STYLE))
    assert classes - {"offer"} <= rules
    assert set(re.findall(r"var\(--([a-z]+)\)", STYLE)) == LIGHT.keys() >= DARK.keys()


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, LIGHT | DARK], ids=["light", "dark"])
def test_what_is_to_be_read_has_the_contrast_that_wcag_asks_for(colours: dict[str, str]) -> None:
    pairs = [
        ("text", "card"),
        ("text", "paper"),
        ("text", "glow"),
        ("faint", "card"),
        ("ink", "button"),
        ("ink", "cloth"),
    ]
    pairs += [("ink", "bone"), ("ink", "amber"), ("ink", "ice"), ("ink", "floor"), ("ink", "room")]
    low = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    low |= {
        ("white", name): contrast("#ffffff", colours[name]) for name in ("ink", "blue", "purple", "green", "crimson")
    }
    assert {pair: round(value, 2) for pair, value in low.items() if value < 4.5} == {}


def test_a_picture_of_sixty_tiles_takes_less_than_60_kb() -> None:
    sizes = [len(picture(RULES, state, None, "fr").encode()) for state, _ in SAMPLES if len(state.tiles) >= 60]
    assert sizes
    assert max(sizes) < 60_000


def test_before_the_start_a_closed_door_is_shown() -> None:
    for lang in LANGUAGES:
        root = ET.fromstring(picture(RULES, None, None, lang))
        assert words(lang).raw("pictures.opening") in texts(root)
    state = start(3)
    root = ET.fromstring(picture(RULES, state, None, "en"))
    assert {"panel-1", "panel-2", "panel-3"} <= by_id(root).keys()


# -- Le Donjon: the map ------------------------------------------------------------------------------------------------


def test_every_tile_is_drawn_with_its_form_its_exits_and_what_is_built_into_it() -> None:
    forms = {"room": "room", "start": "plaza"}
    built = {"start": ["#i-fountain"], "fountain": ["#i-fountain"], "portal": ["#i-portal"], "trap": ["#i-trap"]}
    for sample in SAMPLES:
        ids = by_id(drawn(sample))
        for at, tile in sample[0].tiles.items():
            element = ids[f"tile-{at.replace(',', '-')}"]
            plan_of = f"#t-{forms.get(tile.kind, 'corridor')}-{tile.exits}"
            assert [one for one in used(element) if one != "#i-burst"] == [plan_of, *built.get(tile.kind, [])]


def test_a_plan_is_open_at_its_exits_and_nowhere_else() -> None:
    ends = {"n": ((32, 0), (68, 0)), "e": ((100, 32), (100, 68)), "s": ((68, 100), (32, 100)), "w": ((0, 68), (0, 32))}
    for form in ("room", "corridor", "plaza"):
        for exits in ("nesw", "nes", "esw", "nsw", "new", "ns", "ew", "ne", "es", "sw", "nw"):
            walls = plan.outline(form, exits)
            border = [p for wall in walls for p in wall if p[0] in (0, 100) or p[1] in (0, 100)]
            assert sorted(border) == sorted(end for side in exits for end in ends[side])
            assert all(wall[0] in border and wall[-1] in border for wall in walls)


def test_the_start_has_studs_in_its_corners_which_nobody_covers() -> None:
    assert plan.STUDS in plan.floor("plaza", "nesw")
    assert plan.STUDS not in plan.floor("room", "nesw") + plan.floor("corridor", "nesw")


def test_whatever_stands_on_a_tile_leaves_its_openings_free() -> None:
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        standing = [(hero.at, f"hero-{seat}", SHINE) for seat, hero in enumerate(state.heroes, 1)]
        lying = [(at, f"thing-{at.replace(',', '-')}", 40) for at in state.things]
        for at, identity, reach in (*standing, *lying):
            move, _, scale = str(ids[identity].get("transform")).partition(" scale(")
            size = reach * float(scale.rstrip(")") or 1)
            for middle, cell in zip(move.split("(")[1].rstrip(")").split(), at.split(","), strict=True):
                within = float(middle) - 100 * int(cell)
                assert 12 <= within - size <= within + size <= 88, (identity, within, size)


def strokes(path: ET.Element) -> list[tuple[str, tuple[int, int]]]:
    """The cell in which each line of a path begins, and where in it."""
    found = re.findall(r"M(-?\d+) (-?\d+)", str(path.get("d")))
    return [(f"{int(x) // 100},{int(y) // 100}", (int(x) % 100, int(y) % 100)) for x, y in found]


def test_bricks_lie_within_the_tile_that_has_no_exit_where_the_other_has_one() -> None:
    sides = {(31, 10): "n", (31, 90): "s", (10, 31): "w", (90, 31): "e"}
    bricks = 0
    for sample in SAMPLES:
        tiles = sample[0].tiles
        for at, start in strokes(by_id(drawn(sample))["bricked"]):
            side = sides[start]
            other = next(cell for cell, way in neighbours(at).items() if way == side)
            assert side not in tiles[at].exits
            assert OPPOSITE[side] in tiles[other].exits
            bricks += 1
    assert bricks > 100


def marked(root: ET.Element, group: str, mark: str) -> list[str]:
    """The cells that carry a mark."""
    cells = []
    for use in by_id(root)[group].iter(f"{SVG}use"):
        assert use.get("href") == f"#mark-{mark}"
        if moved := re.search(r"translate\((\S+) (\S+)\)", str(use.get("transform"))):
            x, y = float(moved[1]), float(moved[2])
        else:
            x, y = float(use.get("x", 0)), float(use.get("y", 0))
        cells.append(f"{int(x // 100)},{int(y // 100)}")
    return cells


def test_the_cells_that_may_be_chosen_are_marked_whoever_looks() -> None:
    seen = set()
    for sample in SAMPLES:
        state = sample[0]
        expected = set()
        for offer in RULES.legal(state, state.active):
            sort, _, rest = offer.target.partition("-")
            if sort == "hero":
                expected.add(state.heroes[int(rest) - 1].at)
            elif sort == "tile":
                expected.add(re.sub(r"(?<=\d)-", ",", rest, count=1))
        cells = marked(drawn(sample), "choices", "choice")
        assert set(cells) == expected
        assert len(cells) == len(expected)
        seen |= {state.phase} if cells else set()
    assert seen >= {"turn-start", "exploring", "reincarnation"}


def test_what_is_new_is_marked_and_dots_lead_from_where_a_step_came() -> None:
    new = steps = 0
    for state, happened in itertools.chain(*(played(seed, 200) for seed in range(3))):
        if not any(type(h).__name__ in ("TileRevealed", "HeroMoved", "Retreated") for h in happened):
            continue
        root = drawn((state, happened))
        cells = marked(root, "news", "fresh")
        line = "".join(str(path.get("d")) for path in root.iter(f"{SVG}path") if path.get("class") == "trail")
        for h in happened:
            if type(h).__name__ == "TileRevealed":
                assert h.at in cells  # type: ignore[attr-defined]
                new += 1
            if type(h).__name__ in ("HeroMoved", "Retreated"):
                (x0, y0), (x1, y1) = (map(int, at.split(",")) for at in (h.origin, h.to))  # type: ignore[attr-defined]
                assert f"M{100 * x0 + 50} {100 * y0 + 50}L{100 * x1 + 50} {100 * y1 + 50}" in line
                steps += 1
    assert new > 50
    assert steps > 100


def test_a_trap_that_was_sprung_is_marked_on_the_trap_and_an_exchange_by_a_double_arrow() -> None:
    sprung = swapped = 0
    for state, happened in itertools.chain(*(played(seed, 700) for seed in range(4))):
        names = [type(h).__name__ for h in happened]
        if not {"TrapSprung", "Swapped"} & set(names):
            continue
        root = drawn((state, happened))
        ids = by_id(root)
        for h in happened:
            if type(h).__name__ == "TrapSprung":
                assert "#i-burst" in used(ids[f"tile-{h.at.replace(',', '-')}"])  # type: ignore[attr-defined]
                sprung += 1
        if "Swapped" in names:
            assert sum(path.get("class") == "fresh" for path in ids["news"].iter(f"{SVG}path")) == 1
            assert not any(path.get("class") == "trail" for path in ids["news"].iter(f"{SVG}path"))
            swapped += 1
    assert sprung
    assert swapped


def test_while_a_monster_is_to_be_fought_the_tile_of_retreat_is_marked() -> None:
    fights = 0
    for sample in SAMPLES:
        state, ids = sample[0], by_id(drawn(sample))
        fighting = state.phase in ("encounter", "combat-pending", "combat-decision") and not state.ending
        assert ("retreat" in ids) == (fighting and state.safe != state.hero.at)
        if "retreat" in ids:
            assert name(ids["retreat"]).endswith(f"({state.safe.replace(',', ', ').replace('-', '−')})")
            assert name(ids["retreat"]) in texts(ids["frame"])
            fights += 1
    assert fights


def test_an_active_hero_who_is_drawn_too_small_has_a_pointer_that_lies_in_the_map() -> None:
    pointed = 0
    for sample in SAMPLES:
        state, ids = sample[0], by_id(drawn(sample))
        if state.ending:
            assert "pointer" not in ids
            continue
        left, top, wide, high = map(float, str(ids["map"].get("viewBox")).split())
        scale = min(float(str(ids["map"].get("width"))) / wide, float(str(ids["map"].get("height"))) / high)
        grown = re.search(r"scale\(([\d.]+)\)", str(ids[f"hero-{state.active}"].get("transform")))
        small = 64 * float(grown[1] if grown else 1) * scale
        if abs(small - 14) > 0.1:  # the height of the map is rounded
            assert ("pointer" in ids) == (small < 14)
        if "pointer" in ids:
            x, y = map(float, re.findall(r"translate\((\S+) (\S+)\)", str(ids["pointer"].get("transform")))[0])
            assert left < x < left + wide
            assert top < y < top + high
            pointed += 1
    assert pointed


def test_a_side_where_only_one_tile_has_an_exit_is_bricked_up() -> None:
    for sample in SAMPLES:
        state = sample[0]
        blind = sum(
            side in tile.exits and cell in state.tiles and OPPOSITE[side] not in state.tiles[cell].exits
            for at, tile in state.tiles.items()
            for cell, side in neighbours(at).items()
        )  # fmt: skip
        assert str(by_id(drawn(sample))["bricked"].get("d")).count("M") == blind


def test_a_tick_stands_before_each_exit_that_leads_into_a_hidden_cell() -> None:
    sides = {(50, 5): "n", (50, 95): "s", (5, 50): "w", (95, 50): "e"}
    for sample in SAMPLES:
        tiles = sample[0].tiles
        (path,) = (path for path in drawn(sample).iter(f"{SVG}path") if path.get("class") == "tick")
        assert sorted((cell, sides[start]) for cell, start in strokes(path)) == sorted(
            (cell, OPPOSITE[side])
            for at, tile in tiles.items()
            for cell, side in neighbours(at).items()
            if side in tile.exits and cell not in tiles
        )


def test_hidden_cells_behind_an_exit_carry_a_question_mark_and_lie_in_the_picture() -> None:
    for sample in SAMPLES:
        state = sample[0]
        root = drawn(sample)
        ids = by_id(root)
        frontier = {
            c for at, t in state.tiles.items() for c, side in neighbours(at).items() if side in t.exits
        } - state.tiles.keys()
        mark = "#cell-hidden" if state.pile and not state.ending else "#cell-sealed"
        marked = {
            identity for identity, element in ids.items() if mark in used(element) and identity.startswith("tile-")
        }
        assert marked == {f"tile-{cell.replace(',', '-')}" for cell in frontier}
        left, top, width, height = map(float, str(ids["map"].get("viewBox")).split())
        for identity in marked:
            use = next(u for u in ids[identity].iter(f"{SVG}use") if u.get("href") == mark)
            x, y = float(use.get("x", "")) + 50, float(use.get("y", "")) + 50
            assert left + 36 < x < left + width - 36
            assert top + 36 < y < top + height - 36


def test_things_show_what_they_are_and_their_number() -> None:
    for sample in SAMPLES:
        ids = by_id(drawn(sample))
        assert {i for i in ids if i.startswith("thing-")} == {
            f"thing-{at.replace(',', '-')}" for at in sample[0].things
        }
        for at, thing in sample[0].things.items():
            element = ids[f"thing-{at.replace(',', '-')}"]
            assert used(element) == [f"#token-{thing}"]
            token = ids[f"token-{thing}"]
            assert used(token) == [f"#i-{thing}"]
            if thing in MONSTERS:
                assert texts(token) == [str(MONSTERS[thing].strength)]
                assert name(element).endswith(f"strength {MONSTERS[thing].strength}")
            elif thing in WEAPONS:
                assert texts(token) == [f"+{WEAPONS[thing]}"]
                assert name(element).endswith(f"+{WEAPONS[thing]}")
            else:
                assert texts(token) == []


def test_every_slot_of_the_inventory_has_its_place() -> None:
    slots = by_id(drawn(SAMPLES[0]))["slots"]
    assert len(list(slots)) == sum(SLOTS.values())
    assert {sort: len(places) for sort, places in SLOT_AT.items()} == SLOTS


def test_every_hero_stands_on_its_tile_and_the_active_one_alone_in_the_light() -> None:
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        lit = []
        for seat, hero in enumerate(state.heroes, 1):
            element = ids[f"hero-{seat}"]
            assert f"#i-{hero.name}" in used(element)
            x, y = map(float, str(element.get("transform")).split("(")[1].split(")")[0].split())
            column, line = map(int, hero.at.split(","))
            assert 100 * column - 5 <= x <= 100 * column + 105
            assert 100 * line - 5 <= y <= 100 * line + 105
            lit += [seat for circle in element.iter(f"{SVG}circle") if circle.get("class") == "aura"]
        assert lit == ([] if state.ending else [state.active])


@pytest.mark.parametrize("crowd", range(1, 7))
def test_heroes_on_one_tile_do_not_hide_each_other(crowd: int) -> None:
    state = start(crowd if crowd > 1 else 2)
    RULES.begin(state, Luck(crowd))
    for hero in state.heroes[crowd:]:
        state.tiles = {**state.tiles, "1,0": state.tiles["0,0"]}
        hero.at = "1,0"
    ids = by_id(drawn((state, [])))
    places = []
    for seat in range(1, crowd + 1):
        move, _, scale = str(ids[f"hero-{seat}"].get("transform")).partition(" scale(")
        x, y = map(float, move.split("(")[1].rstrip(")").split())
        places.append((x, y, 32 * float(scale.rstrip(")") or 1)))
    for i, (x, y, radius) in enumerate(places):
        for x2, y2, radius2 in places[:i]:
            assert (x - x2) ** 2 + (y - y2) ** 2 > (0.75 * min(radius, radius2)) ** 2


def test_six_heroes_have_six_outlines_letters_and_colours() -> None:
    letters = {hero: re.findall(r"<text[^>]*>(\w)</text>", drawings()[hero]) for hero in HEROES}
    assert sorted(letter for found in letters.values() for letter in found) == ["A", "D", "H", "T", "V", "X"]
    outlines = {re.search(rf'class="{hero}" d="([^"]+)"', drawings()[hero]) for hero in HEROES}
    assert len({outline[1] for outline in outlines if outline}) == 6
    colours = [LIGHT[match] for hero in HEROES for match in re.findall(rf"\.{hero}\{{fill:var\(--(\w+)\)", STYLE)]
    assert len(set(colours)) == 6


# -- Le Donjon: what stands below the map ------------------------------------------------------------------------------


def rows(hero: Hero, panel: ET.Element) -> None:
    """A row shows all that is public about a hero."""
    shown = used(panel)
    assert f"#i-{hero.name}" in shown
    assert shown.count("#i-heart") == hero.hp
    assert shown.count("#i-no-heart") == HIT_POINTS - hero.hp
    assert str(hero.hp) in texts(panel)[1:-1] or not hero.hp
    for item in (*WEAPONS, "attack-scroll", "healing-scroll"):
        assert shown.count(f"#i-{item}") == [*hero.weapons, *hero.scrolls].count(item)
    assert shown.count("#i-key") == hero.key
    held = sum(rect.get("class") == "slot held" for rect in panel.iter(f"{SVG}rect"))
    assert held == len(hero.weapons) + len(hero.scrolls) + hero.key
    assert "#slots" in shown
    assert [text for text in texts(panel) if text.startswith("+")] == [f"+{WEAPONS[weapon]}" for weapon in hero.weapons]
    assert texts(panel)[-1] == str(hero.gold)


def test_a_heros_row_shows_hit_points_inventory_and_gold() -> None:
    for sample in SAMPLES:
        ids = by_id(drawn(sample))
        for seat, hero in enumerate(sample[0].heroes, 1):
            rows(hero, ids[f"panel-{seat}"])
            said = name(ids[f"panel-{seat}"])
            assert f"{hero.hp} hit point" in said
            assert f"{hero.gold} gold" in said


def test_a_full_inventory_and_fifteen_gold_have_room() -> None:
    state = start(2)
    RULES.begin(state, Luck(1))
    hero = state.heroes[0]
    hero.weapons, hero.scrolls, hero.key, hero.gold = (
        ["axe", "sword"],
        ["attack-scroll", "healing-scroll"] * 2,
        True,
        15,
    )
    hero.scrolls.pop()
    rows(hero, by_id(drawn((state, [])))["panel-1"])


def test_a_stunned_hero_lies_under_stars_and_its_row_says_so() -> None:
    lying = 0
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        for seat, hero in enumerate(state.heroes, 1):
            fighting = seat == state.active and state.phase in ("combat-decision", "loot")
            stunned = hero.hp == 0 and not fighting
            lying += stunned
            for element in (ids[f"hero-{seat}"], ids[f"panel-{seat}"]):
                assert ("#i-stun" in used(element)) == stunned
                assert any("rotate(90)" in str(use.get("transform")) for use in element.iter(f"{SVG}use")) == stunned
            assert ("stunned" in texts(ids[f"panel-{seat}"])) == stunned
    assert lying


def test_a_seat_that_left_is_pale_and_its_row_says_so() -> None:
    state = start(3)
    RULES.begin(state, Luck(3))
    RULES.withdraw(state, 2)
    ids = by_id(drawn((state, [])))
    assert "left" in texts(ids["panel-2"])
    assert [element.get("class") for element in ids["hero-2"]] == [None, "lost"]


def test_turn_movement_points_and_pile_are_told() -> None:
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        assert f"Turn {state.turn}" in texts(ids["frame"])
        assert texts(ids["pile"]) == [str(sum(state.pile.values()))]
        if not state.ending:
            shown = used(ids["moves"])
            assert (shown.count("#i-boot"), shown.count("#i-no-boot")) == (state.mp, MOVEMENT_POINTS - state.mp)
            assert texts(ids["moves"]) == [str(state.mp)]


def test_every_target_of_a_legal_action_is_an_element_of_the_picture() -> None:
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        for offer in RULES.legal(state, state.active):
            assert offer.target in ids, (state.phase, offer)
            assert name(ids[offer.target])


def test_what_a_person_would_click_on_the_map_is_there_even_where_it_is_refused() -> None:
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        for refusal in RULES.refusals(state, state.active):
            if refusal.target.startswith(("tile-", "hero-")):
                assert refusal.target in ids


def test_next_stands_there_only_where_the_turn_may_end_and_else_the_frame_says_what_is_pending() -> None:
    for sample in SAMPLES:
        state = sample[0]
        ids = by_id(drawn(sample))
        may_end = any(offer.target == "next" for offer in RULES.legal(state, state.active))
        assert ("next" in ids) == may_end
        if not may_end and not state.ending:
            assert len(texts(ids["frame"])) > 3 or "fight" in ids


def test_the_dice_of_a_fight_are_shown_with_what_adds_to_them_and_the_total_against_the_strength() -> None:
    fights = 0
    for sample in SAMPLES:
        state = sample[0]
        if state.phase != "combat-decision" or not state.fight:
            continue
        fights += 1
        fight = by_id(drawn(sample))["fight"]
        ids = by_id(fight)
        faces = [face for pair in state.fight.pairs for face in pair]
        pips = [sum(1 for _ in ids[f"die-{n}"].iter(f"{SVG}circle")) for n in range(1, len(faces) + 1)]
        assert pips == faces
        total = sum(state.fight.pairs[state.fight.kept]) + state.fight.bonus + state.fight.boost
        strength = MONSTERS[state.things[state.hero.at]].strength
        said = texts(fight)
        assert f"= {total}" in said
        assert str(strength) in said
        assert ("<" in said) == (total < strength)
        added = sum(int(text) for text in said if re.fullmatch(r"\+\d+", text))
        assert added == state.fight.bonus + state.fight.boost
    assert fights


def test_rerolls_and_the_dice_of_a_fight_that_is_over_are_shown_with_its_verdict() -> None:
    rerolled = verdicts = 0
    for seed in range(6):
        for state, happened in played(seed, 400):
            names = [type(h).__name__ for h in happened]
            if "DiceRolled" not in names or state.phase == "combat-decision" or state.ending:
                continue
            rolled = next(h for h in happened if type(h).__name__ == "DiceRolled")
            fight = by_id(drawn((state, happened)))["fight"]
            ids = by_id(fight)
            chains = [die for pair in rolled.pairs for die in pair]  # type: ignore[attr-defined]
            for number, chain in enumerate(chains, 1):
                assert name(ids[f"die-{number}"]) == " → ".join(map(str, chain))
                rerolled += len(chain) > 1
            expected = {"FightWon": "won", "FightTied": "tie", "FightLost": "lost"}
            assert next(expected[n] for n in names if n in expected) in texts(fight)
            verdicts += 1
    assert rerolled
    assert verdicts > 20


def test_a_fight_that_ends_without_dice_says_what_it_came_to_before_and_what_was_added() -> None:
    boosted = accepted = 0
    for state, happened in itertools.chain(*(played(seed, 400) for seed in range(6))):
        names = [type(h).__name__ for h in happened]
        ended = next((h for h in happened if type(h).__name__ in ("FightWon", "FightTied", "FightLost")), None)
        if ended is None or "DiceRolled" in names or state.fight:
            continue
        said = texts(by_id(drawn((state, happened)))["fight"])
        added = names.count("ScrollUsed") + names.count("HitPointSacrificed")
        assert str(ended.total - added) in said  # type: ignore[attr-defined]
        assert "so far" in said
        assert said.count("+1") == added
        boosted, accepted = boosted + bool(added), accepted + (not added)
    assert boosted
    assert accepted


def test_with_what_happened_before_a_fight_that_ends_without_dice_shows_those_it_began_with() -> None:
    shown = boosted = 0
    for seed in range(6):
        before: list[Happening] = []
        for state, happened in played(seed, 400):
            ended = next((h for h in happened if type(h).__name__ in ("FightWon", "FightTied", "FightLost")), None)
            if ended and not state.fight and not any(type(h).__name__ == "DiceRolled" for h in happened):
                rolled = next(h for h in reversed(before) if type(h).__name__ == "DiceRolled")
                root = ET.fromstring(picture(RULES, state, None, "en", happened=happened, before=before))
                fight = by_id(by_id(root)["fight"])
                faces = [die[-1] for pair in rolled.pairs for die in pair]  # type: ignore[attr-defined]
                assert [sum(1 for _ in fight[f"die-{n}"].iter(f"{SVG}circle")) for n, _ in enumerate(faces, 1)] == faces
                said = texts(by_id(root)["fight"])
                added = sum(int(text) for text in said if re.fullmatch(r"\+\d+", text))
                assert sum(rolled.kept) + added == ended.total  # type: ignore[attr-defined]
                assert "so far" not in said
                assert outgrown(by_id(root)["frame"]) == []
                shown, boosted = shown + 1, boosted + (ended.total > rolled.total)  # type: ignore[attr-defined]
            before = [*before, *happened][-40:]
    assert shown
    assert boosted


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_line_of_text_leaves_its_box_and_what_has_just_happened_is_told(lang: str) -> None:
    for sample in SAMPLES:
        state, happened = sample
        root = drawn(sample, lang)
        ids = by_id(root)
        root.remove(ids["map"])
        assert outgrown(root) == []
        assert ("told" in ids) == bool(happened)
        if happened:
            assert name(ids["told"]).endswith(words(lang).happening(happened[-1], Context(RULES, state)))


def test_a_tile_that_waits_to_be_turned_is_shown_where_it_will_lie_and_in_each_way_it_may() -> None:
    seen = 0
    for sample in SAMPLES:
        state = sample[0]
        if not state.placing:
            continue
        seen += 1
        ids = by_id(drawn(sample))
        assert ids["drawn-tile"].find(f"{SVG}use") is not None
        buttons = [element for identity, element in ids.items() if identity.startswith("rotate-")]
        ways = [used(element)[0] for element in buttons]
        assert len(ways) == len(set(ways)) == len(RULES.legal(state, state.active))
        for way, button in zip(ways, buttons, strict=True):
            assert texts(button) == [" · ".join(way.rpartition("-")[2].upper())]
    assert seen


def test_the_end_names_the_ending_and_stars_the_winners() -> None:
    state, happened = next(s for s in played(3, 4000) if s[0].ending or len(s[0].tiles) > 30)
    for seat in range(1, len(state.heroes) + 1):
        if not state.ending:
            state.heroes[seat - 1].gold = seat % 3
            RULES.withdraw(state, seat)
    root = drawn((state, happened))
    ids = by_id(root)
    outcome = RULES.outcome(state)
    assert outcome
    starred = [seat for seat in range(1, len(state.heroes) + 1) if "#i-star" in used(ids[f"panel-{seat}"])]
    assert starred == outcome.winners
    assert words("en").ending(outcome.ending) or texts(ids["frame"])
    assert "next" not in ids


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_fight_that_ends_the_game_says_beneath_its_dice_who_won(lang: str) -> None:
    games = (bots_play(RULES, seed) for seed in itertools.count())
    last = next(game[-1] for game in games if game[-1].state.ending == "dragon")
    frame = by_id(drawn((last.state, last.happened), lang))["frame"]
    winner = words(lang).term(last.state.hero.name, "donjon")
    assert winner
    assert any(winner.text in line for line in texts(frame))
    assert not [line for line in texts(frame) if line.startswith("pictures.")]


# -- for readers without custom properties -----------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
def test_in_plain_colours_nothing_is_left_to_be_looked_up(theme: Any) -> None:
    plain = in_plain_colours(picture(RULES, SAMPLES[3][0], None, "en", theme=theme))
    assert "var(" not in plain
    assert "@media" not in plain
    assert (DARK if theme == "dark" else LIGHT)["paper"] in plain
    ET.fromstring(plain)


def test_a_line_is_broken_at_a_plain_space_only_so_that_no_french_mark_begins_one() -> None:
    told = "Un couloir à l’ouest\u00a0; il reste 37 tuiles\u202f! Et puis\u00a0?"
    for room in range(60, 300, 7):
        assert not [line for line in folded(told, 10, room) if line.strip()[0] in ";!?"]
