"""Luck: exact arithmetic against published values, each game's rolls, the report's words, its picture. No verdict."""

import itertools
import re
from collections import Counter
from fractions import Fraction
from math import comb
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.donjon.bots import odds
from engine.donjon.components import HEROES
from replay.luck import LOTS
from replay.luck import exact as x
from replay.luck.donjon import dice_of, wins_of
from replay.luck.drawing import draw
from replay.luck.report import Tally, examined, game_luck, measured, played, player_luck, service_luck, tally
from replay.luck.rolls import Roll
from replay.replay import Replay
from replay.words import LANGUAGES

D6, D20 = x.lot_of(range(1, 7)), x.lot_of(range(1, 21))


# -- arithmetic ------------------------------------------------------------------------------------------------------


def test_the_published_example_of_a_lucky_seat() -> None:
    lots = [D6, D6, D6, D20, D6]
    assert sum(lot.mean for lot in lots) == Fraction(49, 2)
    assert float(sum(lot.variance for lot in lots)) ** 0.5 == pytest.approx(6.70, abs=0.005)
    assert float(x.tails(lots, 39).at_least) == pytest.approx(0.0097, abs=0.00005)


def test_the_published_example_of_few_dice() -> None:
    counts = [6, 3, 1, 1, 0, 1]
    assert float(x.multinomial_tail(counts)) == pytest.approx(0.0329, abs=0.00005)
    assert x.chi_square_tail(float(x.chi_square(counts)), 5) == pytest.approx(0.0348, abs=0.00005)


PUBLISHED_POWER = {
    0.18: (1, 2, 4, 12, 59),
    0.20: (2, 7, 33, 92, 100),
    0.25: (9, 65, 100, 100, 100),
    0.30: (31, 99, 100, 100, 100),
}


@pytest.mark.parametrize(("six", "published"), PUBLISHED_POWER.items())
def test_the_published_power_of_chi_square_at_one_per_cent(six: float, published: tuple[int, ...]) -> None:
    """Those were measured by simulation, so they are a point or a few off."""
    for n, percent in zip((60, 300, 1_000, 3_000, 10_000), published, strict=True):
        found = 100 * x.power(n, [six, *[(1 - six) / 5] * 5], 0.01)
        assert found == pytest.approx(percent, abs=5)


@pytest.mark.parametrize(
    ("df", "bound", "alpha"),
    [(1, 3.841, 0.05), (5, 11.070, 0.05), (5, 15.086, 0.01), (35, 49.802, 0.05), (10, 29.588, 0.001)],
)
def test_the_chi_square_tail_is_that_of_the_tables(df: int, bound: float, alpha: float) -> None:
    assert x.chi_square_tail(bound, df) == pytest.approx(alpha, rel=0.002)
    assert x.critical(df, alpha) == pytest.approx(bound, abs=0.001)


@given(st.lists(st.sampled_from([2, 3, 4, 6]), min_size=1, max_size=5), st.integers(-2, 32))
@settings(max_examples=60, deadline=None)
def test_tails_are_those_of_every_roll_listed(sides: list[int], got: int) -> None:
    sums = [sum(rolled) for rolled in itertools.product(*(range(1, n + 1) for n in sides))]
    found = x.tails([x.lot_of(range(1, n + 1)) for n in sides], got)
    assert found.exact
    assert found.at_least == Fraction(sum(total >= got for total in sums), len(sums))
    assert found.at_most == Fraction(sum(total <= got for total in sums), len(sums))


def test_a_binomial_tail_is_exact_and_a_long_one_is_the_normal_curve() -> None:
    coin = x.chance_of(1, 6)
    found = x.tails([coin] * 20, 7)
    assert found.at_least == sum(Fraction(comb(20, k) * 5 ** (20 - k), 6**20) for k in range(7, 21))
    exact, normal = x.tails([coin] * 1_400, 260), x._normal_tails([coin] * 1_400, 260)
    assert exact.exact
    assert float(exact.at_least) == pytest.approx(float(normal.at_least), rel=0.05)
    assert not x.tails([D6] * 2_000, 7_100).exact


@pytest.mark.parametrize("counts", [[2, 0, 1], [5, 1], [1, 1, 1, 1], [0, 4, 0]])
def test_a_table_of_few_dice_is_judged_by_every_roll_listed(counts: list[int]) -> None:
    n, k = sum(counts), len(counts)
    seen = x.chi_square(counts)
    rolls = [[rolled.count(face) for face in range(k)] for rolled in itertools.product(range(k), repeat=n)]
    assert x.multinomial_tail(counts) == Fraction(sum(x.chi_square(one) >= seen for one in rolls), len(rolls))


def test_holm_wilson_and_evidence_are_those_of_the_books() -> None:
    assert x.holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    low, high = x.wilson(10, 50)
    assert (low, high) == (pytest.approx(0.1124, abs=0.0002), pytest.approx(0.3304, abs=0.0002))
    assert x.evidence([0] * 6) == pytest.approx(1)
    assert x.evidence([50] * 6) < 1 < 20 < x.evidence([100, 40, 40, 40, 40, 40])


def test_evidence_is_fair_on_average() -> None:
    """Over all throws of three dice, an e-value is 1 on average under fair dice."""
    rolls = [[rolled.count(face) for face in range(6)] for rolled in itertools.product(range(6), repeat=3)]
    assert sum(map(x.evidence, rolls)) / len(rolls) == pytest.approx(1)


def test_more_dice_show_smaller_biases() -> None:
    found = [x.findable(n, 6) for n in (30, 60, 300, 1_000, 10_000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.2 < found[1]
    for n, odd in zip((300, 1_000), found[2:], strict=False):
        assert x.power(n, [odd, *[(1 - odd) / 5] * 5], 0.01) == pytest.approx(0.8, abs=0.01)


# -- games -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hero", HEROES)
def test_the_odds_of_a_fight_are_those_that_the_bots_play_by(hero: Any) -> None:
    for needed in range(14):
        hit = wins_of(hero, needed)
        share = hit.mean if hit.total else Fraction(0)
        assert float(share) == pytest.approx(odds(hero, needed))
    assert dice_of(hero).total in (25, 36, 1296)


@pytest.fixture(scope="session")
def replays(game: Any, table: Any) -> dict[str, Replay]:
    fought = game("luck", events=500)
    delved = table("luck we roll", "dungeon-roll@1").open(2, (None, None)).wander(140)
    return {name: Replay(one.game_id, one.events) for name, one in (("donjon", fought), ("dungeon-roll", delved))}


def test_every_fight_is_counted_once_for_whoever_rolled_it(replays: dict[str, Replay]) -> None:
    replay = replays["donjon"]
    report = game_luck(replay)
    rolled = [(step.version, step.seat, sum(step.happening.kept)) for step in replay.find(happening="dice-rolled")]
    pips = [
        (roll.version, roll.seat, roll.got) for seat in report.seats for roll in seat.rolls if roll.measure == "pips"
    ]
    assert sorted(pips) == sorted(rolled)


def test_a_fight_that_the_dice_win_without_boosts_is_won(replays: dict[str, Replay]) -> None:
    replay = replays["donjon"]
    for seat in game_luck(replay).seats:
        for roll in seat.rolls:
            if roll.measure == "won":
                told = [type(happening).__name__ for happening in replay.happenings(roll.version)]
                assert ("FightWon" in told) == bool(roll.got)


def test_every_face_that_matters_is_counted_as_it_fell(replays: dict[str, Replay]) -> None:
    replay = replays["dungeon-roll"]
    fell = Counter(
        draw[3] for _, event, draws, _ in played(replay, len(replay)) if event.seat for draw in draws if len(draw) == 4
    )
    got: Counter[str] = Counter()
    for seat in game_luck(replay).seats:
        for one in seat.measures:
            got[one.measure] += one.got
    assert got["monsters"] == fell["goblin"] + fell["skeleton"] + fell["ooze"]
    assert (got["champions"], got["dragons"]) == (fell["champion"], fell["dragon"])
    assert got["scrolls"] <= fell["scroll"]  # a treasure may be called so too


@pytest.mark.parametrize("name", ["donjon", "dungeon-roll"])
def test_expectation_deviation_and_tail_are_of_these_very_rolls(replays: dict[str, Replay], name: str) -> None:
    for seat in game_luck(replays[name]).seats:
        assert [one.measure for one in seat.measures] == [
            m for m in LOTS[name].measures if any(r.measure == m for r in seat.rolls)
        ]
        for one in seat.measures:
            rolls = [roll for roll in seat.rolls if roll.measure == one.measure]
            assert one.expected == pytest.approx(float(sum(roll.lot.mean for roll in rolls)))
            assert one.method == "exact"
            assert one.at_least + one.at_most >= 1
            assert 0 < one.p <= 1


def test_the_lines_end_where_the_report_does(replays: dict[str, Replay]) -> None:
    for name, replay in replays.items():
        report = game_luck(replay)
        first, sign = next(iter(LOTS[name].measures.items()))
        for seat, line in zip(report.seats, report.lines, strict=True):
            found = [one for one in seat.measures if one.measure == first]
            if found:
                assert line.luck[-1][1] == pytest.approx(sign * (found[0].got - found[0].expected))
        state = replay.at(len(replay)).state
        assert [line.score[-1][1] for line in report.lines] == LOTS[name].scores(state)


def test_what_comes_later_changes_no_report(replays: dict[str, Replay]) -> None:
    replay = replays["donjon"]
    half = len(replay) // 2
    short = Replay(replay.game_id, [replay.event(n) for n in range(1, half + 1)])
    assert game_luck(short) == game_luck(replay, half)


def test_a_game_without_dice_yet_says_so_little(table: Any) -> None:
    opened = table("no dice").open(2)
    report = game_luck(Replay(opened.game_id, opened.events))
    assert (report.tests, [seat.measures for seat in report.seats]) == (0, [[], []])
    assert not any("Holm" in words for words in report.words)
    ElementTree.fromstring(draw(report, "en"))


def test_draws_that_do_not_follow_from_the_seeds_are_not_called_recomputed(game: Any, forge: Any) -> None:
    def cheat(event: Any, fields: dict[str, Any]) -> dict[str, Any]:
        if "x" in event.body and event.seq > 40 and (draws := event.body["x"][2]) and len(draws[0]) == 3:
            j, link, _ = event.body["x"]
            fields["body"] = event.body | {"x": [j, link, [[draws[0][0], 6, 6 if draws[0][2] != 6 else 5], *draws[1:]]]}
        return fields

    fought = game("luck", events=500)
    assert game_luck(Replay(fought.game_id, fought.events)).recomputed
    report = game_luck(Replay(fought.game_id, forge(fought.events, cheat)))
    assert not report.recomputed
    assert report.words[0].startswith("NOT CHECKED")


# -- words -----------------------------------------------------------------------------------------------------------

NEVER = ("random", "proof", "proven", "cheat", "fraud", "rigged", "suspicious", "99%")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_report_is_told_as_the_list_of_tests_asks(replays: dict[str, Replay], language: str) -> None:
    for replay in replays.values():
        report = game_luck(replay, language=language)
        told = [*report.words, *(w for seat in report.seats for one in seat.measures for w in one.words)]
        told += [words for one in report.faces for words in one.words]
        assert all(words and not re.search(r"luck\.(?!md)", words) and "{" not in words for words in told)
        assert str(report.draws) in report.words[0]
        assert str(report.tests) in report.words[1]
        for seat in report.seats:
            for one in seat.measures:
                assert str(one.got) in one.words[0]
                assert str(one.rolls) in one.words[0]
                assert len(one.words) == (5 if one.share else 4)
        if language == "en":
            assert not any(word in " ".join(told).lower() for word in NEVER)
            assert "no verdict" in report.words[-1]
            assert "consistent with" in " ".join(told)


def test_the_words_of_the_published_example() -> None:
    rolls = [
        Roll(n, 1, "pips", got, lot)
        for n, (got, lot) in enumerate(zip((6, 5, 6, 18, 4), (D6, D6, D6, D20, D6), strict=True))
    ]
    one = measured("donjon", "pips", rolls, "en")
    assert one.words[0] == (
        "Pips in fights: 39 in 5 rolls; fair dice give 24.5 on average, with a standard deviation of 6.7."
    )
    assert one.words[1] == (
        "Fair dice give 39 or more in 0.97% of such games. With 1,000 such games a week, about 10 look like this."
    )


# -- all dice --------------------------------------------------------------------------------------------------------


def test_every_die_and_every_draw_is_counted_once(replays: dict[str, Replay]) -> None:
    counted = Tally()
    for replay in replays.values():
        counted.add(tally(event for _, event, _, _ in played(replay, len(replay))))
    drawn = [draw for replay in replays.values() for _, _, draws, _ in played(replay, len(replay)) for draw in draws]
    assert sum(map(sum, (faces.values() for faces in counted.faces.values()))) + sum(
        int(place[3]) for place in counted.places.values()
    ) == len(drawn)
    assert counted.games == 2
    assert set(counted.faces) <= {f"{name}/{purpose}" for name, lots in LOTS.items() for purpose in lots.dice}
    fights = [draw[2] for draw in drawn if draw[0] == "fight"]
    assert [counted.faces["donjon/fight"][face] for face in range(6)] == [fights.count(face + 1) for face in range(6)]


def test_tests_are_corrected_together_and_say_what_was_too_little(replays: dict[str, Replay]) -> None:
    counted = Tally()
    for replay in replays.values():
        counted.add(tally(event for _, event, _, _ in played(replay, len(replay))))
    found = examined(counted, "en")
    made = [one for one in found if one.p is not None]
    assert all(one.corrected >= one.p for one in made)
    for one in found:
        if one.p is None:
            assert (one.method, one.corrected) == ("none", None)
            assert "NOT CHECKED" in one.words[0]
        if one.test == "faces":
            assert one.method == ("exact" if one.n < 30 else "chi-square")
            assert (one.findable is None) == (one.n < 30)
    report = service_luck(counted, 7, "en")
    assert report.tests == len(made)
    assert (report.games, report.left) == (2, 7)


def test_loaded_dice_stand_out_and_fair_ones_do_not() -> None:
    loaded, fair = Tally(), Tally()
    for n in range(1_080):
        fair.count("donjon", [["fight", 6, n % 6 + 1], ["fight", 6, n // 6 % 6 + 1]])
        loaded.count("donjon", [["fight", 6, 6 if n % 3 == 0 else n % 6 + 1], ["fight", 6, n // 6 % 6 + 1]])
    ps = {
        name: {one.test: one for one in examined(counted, "en")}
        for name, counted in (("fair", fair), ("loaded", loaded))
    }
    assert ps["fair"]["faces"].p == 1.0
    assert ps["fair"]["pairs"].p == pytest.approx(1.0, abs=0.01)
    assert ps["loaded"]["faces"].corrected < 0.001
    assert ps["loaded"]["faces"].evidence > 20
    assert ps["loaded"]["pairs"].p < 0.001


def test_a_bag_that_is_drawn_from_its_front_stands_out() -> None:
    front, fair = Tally(), Tally()
    for n in range(200):
        front.count("donjon", [["tile", 79, n % 30, "room-l"]])
        fair.count("donjon", [["tile", 79, n * 37 % 79, "room-l"]])
    assert examined(front, "en")[0].p < 1e-6
    assert examined(fair, "en")[0].p > 0.05


def test_a_player_is_told_by_game_over_all_of_theirs(replays: dict[str, Replay]) -> None:
    rolled = [
        (name, [roll for seat in game_luck(replay).seats for roll in seat.rolls]) for name, replay in replays.items()
    ]
    report = player_luck([*rolled, rolled[0]], Tally(games=3), 4, "fr")
    assert list(report.measures) == ["donjon", "dungeon-roll"]
    once = player_luck(rolled, Tally(games=2), 0, "fr")
    assert report.measures["donjon"][0].got == 2 * once.measures["donjon"][0].got
    assert report.tests == sum(map(len, report.measures.values()))
    assert "3" in report.words[0]


# -- the picture -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_the_picture_stands_alone_and_has_a_line_for_each_seat(
    replays: dict[str, Replay], language: str, theme: Any
) -> None:
    for replay in replays.values():
        report = game_luck(replay, language=language)
        svg = draw(report, language, theme)
        root = ElementTree.fromstring(svg)
        assert root.get("viewBox").startswith("0 0 360 ")
        assert root.get("lang") == language
        assert not re.search(r"<script|<foreignObject|\son\w+=|\sstyle=|url\(|@import|javascript:", svg)
        assert not re.search(r"luck\.(?!md)", re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL))
        for line in report.lines:
            assert any(line.name in (text or "") for text in root.itertext())
            assert len(re.findall(rf'class="n of-{line.seat}"', svg)) == 2 + bool(line.luck)
        assert svg == draw(report, language, theme)
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            assert -1 <= float(text.get("x")) <= 361
            assert float(text.get("font-size")) >= 8


def test_a_name_of_a_person_cannot_break_out_of_the_picture(table: Any) -> None:
    opened = table("a name").open(2, (None, None), traps=0)
    bad = {seat.player: "<script>\"&'" for seat in opened.position.seats}
    opened.position.rules = None
    replay = Replay(opened.game_id, opened.events[:3])
    svg = draw(game_luck(replay, names=bad), "en")
    assert "<script" not in svg
    ElementTree.fromstring(svg)
