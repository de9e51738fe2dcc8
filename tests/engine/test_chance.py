"""Chance: committed draws from a byte stream, recorded ones checked, loaded ones for tests."""

from collections import Counter

import pytest

from engine.chance import Committed, Loaded, Recorded, WrongDraw, at, derives, possible


def committed(*blocks):
    """Chance from given bytes, and how often its stream was opened."""
    opened = []

    def stream():
        opened.append(True)
        return iter(bytes(block) for block in blocks)

    return Committed(stream), opened


def test_a_die_takes_one_byte_and_throws_away_what_lies_above_the_last_whole_multiple():
    chance, _ = committed([7, 251, 252, 255, 5])  # 252 = 42 * 6
    assert chance.die(6, "fight") == 1 + 7 % 6
    assert chance.die(6, "fight") == 1 + 251 % 6
    assert chance.die(6, "fight") == 1 + 5  # 252 and 255 were thrown away
    assert chance.draws == [["fight", 6, 2], ["fight", 6, 6], ["fight", 6, 6]]


def test_a_pick_counts_through_the_ids_in_the_order_of_their_utf8_bytes():
    bag = {"b": 2, "a": 1, "é": 1, "Z": 1, "gone": 0}  # Z a b b é
    for byte, name in enumerate(["Z", "a", "b", "b", "é"]):
        chance, _ = committed([byte])
        assert chance.pick(bag, "token") == name
        assert chance.draws == [["token", 5, byte, name]]
    chance, _ = committed([255, 254])  # 255 = 51 * 5 is thrown away, 254 % 5 = 4
    assert chance.pick(bag, "token") == "é"
    assert bag == {"b": 2, "a": 1, "é": 1, "Z": 1, "gone": 0}


def test_more_than_256_possibilities_take_two_bytes_big_endian():
    chance, _ = committed([1, 2])
    assert chance.die(1000, "much") == 1 + 0x0102
    limit = 65_536 - 65_536 % 1000
    chance, _ = committed([limit >> 8, limit & 255, 0, 9])
    assert chance.die(1000, "much") == 1 + 9
    chance, _ = committed([200])
    assert chance.die(256, "byte") == 201


def test_bytes_run_on_through_all_draws_and_blocks_of_an_event():
    chance, opened = committed([0], [1], [], [2, 3])
    assert [chance.die(6, "fight") for _ in range(4)] == [1, 2, 3, 4]
    assert opened == [True]


def test_a_single_possibility_is_no_draw_and_opens_no_stream():
    chance, opened = committed()
    assert chance.die(1, "sure") == 1
    assert chance.pick({"only": 3, "none": 0}, "sure") == "only"
    assert chance.draws == []
    assert opened == []
    recorded = Recorded([])
    assert recorded.die(1, "sure") == 1
    assert recorded.pick({"only": 3}, "sure") == "only"
    recorded.finish()
    loaded = Loaded()
    assert loaded.die(1, "sure") == 1
    assert loaded.pick({"only": 3}, "sure") == "only"
    loaded.finish()


def test_every_value_has_the_same_number_of_bytes():
    faces = Counter()
    for byte in range(256):
        chance, _ = committed([byte, 0])
        faces[chance.die(6, "fight")] += byte < 252
    assert set(faces.values()) == {42}


def test_an_empty_bag_cannot_be_picked_from():
    for chance in (committed([0])[0], Recorded([]), Loaded()):
        with pytest.raises(ValueError, match="nothing to pick"):
            chance.pick({"a": 0}, "token")
    with pytest.raises(ValueError, match="beyond"):
        at(possible({"a": 1}), 1)


def test_recorded_draws_answer_in_order():
    chance = Recorded([["fight", 6, 4], ["token", 3, 2, "b"], ["fight", 6, 1]])
    assert chance.die(6, "fight") == 4
    assert chance.pick({"b": 2, "a": 1}, "token") == "b"
    with pytest.raises(WrongDraw, match="used 2 of 3"):
        chance.finish()
    assert chance.die(6, "fight") == 1
    chance.finish()


@pytest.mark.parametrize(
    "draw",
    [
        ["reroll", 6, 4],  # another purpose
        ["fight", 8, 4],  # another die
        ["fight", 6, 0],
        ["fight", 6, 7],
        ["fight", 6, True],
        ["fight", 6, "4"],
        ["fight", 6, 4, "x"],
        ["fight", 6],
        [],
        "fight",
        None,
    ],
)
def test_a_recorded_die_must_be_the_one_asked_for(draw):
    with pytest.raises(WrongDraw):
        Recorded([draw]).die(6, "fight")


@pytest.mark.parametrize(
    "draw",
    [
        ["tile", 3, 0, "a"],
        ["token", 4, 0, "a"],  # another total
        ["token", 3, 1, "a"],  # another id at that place
        ["token", 3, 0, "c"],
        ["token", 3, 3, "b"],
        ["token", 3, -1, "b"],
        ["token", 3, 0],
        ["token", 3, False, "a"],
        ["token", 3, None, "a"],
    ],
)
def test_a_recorded_pick_must_be_the_one_asked_for(draw):
    with pytest.raises(WrongDraw):
        Recorded([draw]).pick({"a": 1, "b": 2}, "token")


def test_a_record_that_is_used_up_is_noticed():
    with pytest.raises(WrongDraw, match="does not have"):
        Recorded([]).die(6, "fight")


def test_a_test_is_told_when_it_loads_what_cannot_be():
    with pytest.raises(WrongDraw):
        Loaded(7).die(6, "fight")
    with pytest.raises(WrongDraw):
        Loaded("a").die(6, "fight")
    with pytest.raises(WrongDraw):
        Loaded("c").pick({"a": 1, "b": 1}, "token")
    with pytest.raises(WrongDraw, match="did not load"):
        Loaded().die(6, "fight")
    with pytest.raises(WrongDraw, match="never asked for"):
        Loaded(1).finish()


def test_loaded_draws_are_recorded_as_live_ones_would_be():
    chance = Loaded(3, "b")
    chance.die(6, "fight")
    chance.pick({"b": 2, "a": 1}, "token")
    assert chance.draws == [["fight", 6, 3], ["token", 3, 1, "b"]]
    replay = Recorded(chance.draws)
    assert (replay.die(6, "fight"), replay.pick({"a": 1, "b": 2}, "token")) == (3, "b")
    replay.finish()


def test_stored_draws_are_derived_again_and_a_false_one_is_named():
    stream = [bytes([7, 255, 4, 2])]
    chance = Committed(lambda: iter(stream))
    chance.die(6, "fight")
    chance.pick({"a": 3, "b": 2}, "token")
    chance.die(6, "fight")
    assert list(derives(chance.draws, iter(stream))) == []
    false = [list(draw) for draw in chance.draws]
    false[1][2] = 0
    assert list(derives(false, iter(stream))) == [(1, 0, 4)]
