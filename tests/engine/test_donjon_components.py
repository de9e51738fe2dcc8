"""What is in the box, against the sums of the rules (1.1 to 1.3), and against the page of rules itself."""

from pathlib import Path

import pytest

from engine.donjon import DONJON_1
from engine.donjon import components as box
from engine.donjon.grid import SIDES, connecting, neighbours, turned

PAPER = (Path(__file__).parents[2] / "docs" / "rules" / "le-donjon.md").read_text(encoding="utf-8")


def table(heading):
    """The rows of the first table under a heading of the paper, without bold marks."""
    section = PAPER.split(f"### {heading}\n", 1)[1].split("\n### ", 1)[0]
    rows = [line.replace("**", "").strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_there_are_79_tiles_in_the_pile_and_53_tokens_in_the_bag():
    assert sum(box.pile().values()) == 79
    assert sum(box.TOKENS.values()) == 53 == sum(box.TILES["room"].values())
    assert sum(monster.count for monster in box.MONSTERS.values()) == 43


def test_the_gold_of_the_game_is_15():
    from_monsters = sum(box.GOLD.get(monster.reward, 0) * monster.count for monster in box.MONSTERS.values())
    assert from_monsters + box.CLOSED_CHESTS * box.GOLD["closed-chest"] == 15


def test_the_tiles_are_those_of_the_paper():
    rows = {row[0].split(" (")[0]: [int(cell or 0) for cell in row[1:]] for row in table("1.1 Tiles")}
    assert rows.pop("start") == [1, 0, 0, 0, 1]
    assert rows.pop("together") == [22, 18, 21, 19, 80]
    assert rows == {kind: [*shapes.values(), sum(shapes.values())] for kind, shapes in box.TILES.items()}


def test_the_tokens_are_those_of_the_paper():
    rows = {row[0].split(" (")[0].replace(" ", "-"): row[1:] for row in table("1.2 Tokens and treasure")}
    assert rows.pop("closed-chest")[:2] == ["", str(box.CLOSED_CHESTS)]
    for name, monster in box.MONSTERS.items():
        strength, count, leaves = rows.pop(name)
        assert (int(strength), int(count)) == (monster.strength, monster.count)
        words = {"open-chest": "an open chest: 1 gold", "dragon-hoard": "its hoard: 3 gold"}
        reward = words.get(monster.reward, monster.reward.replace("-", " "))
        if monster.reward in box.WEAPONS:
            reward += f": weapon +{box.WEAPONS[monster.reward]}"
        assert leaves.startswith(reward)
    assert rows == {}


def test_each_hero_has_two_powers():
    powers = list(box.COMPONENTS["heroes"].values())
    assert all(len(power) == 2 for power in powers)
    assert len({name for power in powers for name in power}) == 12


def test_four_traps_are_the_table_and_any_number_keeps_80_tiles():
    assert box.pile(4) == {f"{kind}-{shape}": n for kind, row in box.TILES.items() for shape, n in row.items() if n}
    for traps in range(box.MOST_TRAPS + 1):
        pile = box.pile(traps)
        assert sum(pile.values()) == 79
        assert sum(n for tile, n in pile.items() if tile.startswith("trap-")) == traps
        for shape, together in {"x": 7, "t": 5, "i": 4, "l": 4}.items():
            assert pile.get(f"corridor-{shape}", 0) + pile.get(f"trap-{shape}", 0) == together
        shares = [pile.get(f"trap-{shape}", 0) for shape in "xtil" if f"corridor-{shape}" in pile]
        assert not shares or max(shares) - min(shares) <= 1


def test_the_components_are_plain_data_for_the_rules_hash():
    def plain(value):
        if isinstance(value, dict):
            return all(type(key) is str and plain(item) for key, item in value.items())
        return type(value) in (str, int, bool)

    assert plain(DONJON_1.components)


def test_tiles_turn_clockwise():
    assert [turned("ne", r) for r in (0, 90, 180, 270)] == ["ne", "es", "sw", "nw"]
    assert [turned("nes", r) for r in (0, 90, 180, 270)] == ["nes", "esw", "nsw", "new"]
    assert [turned("ns", r) for r in (0, 90)] == ["ns", "ew"]


@pytest.mark.parametrize(("shape", "ways"), [("x", 1), ("i", 1), ("t", 3), ("l", 2)])
@pytest.mark.parametrize("side", SIDES)
def test_every_way_to_lay_a_tile_leads_back_and_is_another(shape, ways, side):
    exits = connecting(shape, side)
    assert len(exits) == len(set(exits.values())) == ways
    assert all(side in way and way == turned(box.EXITS[shape], rotation) for rotation, way in exits.items())


def test_north_is_up():
    assert neighbours("3,-1") == {"3,-2": "n", "4,-1": "e", "3,0": "s", "2,-1": "w"}
