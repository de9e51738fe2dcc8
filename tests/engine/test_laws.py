"""Laws that hold for every ruleset on offer, whatever the game, over random play to the end."""

import json
from itertools import product

import msgspec
import pytest

from engine.chance import Loaded, Recorded, WrongDraw
from engine.protocol import Illegal, name_and_args
from engine.registry import BOTS, RULESETS, game_name
from events import codec

LIMIT = codec.STATE_LIMIT
EVERY = [pytest.param(rules, id=rules.id) for rules in RULESETS.values()]
TABLES = [pytest.param(rules, seats, id=f"{rules.id}-{seats}") for rules in RULESETS.values() for seats in rules.seats]


def mutable_parts(value):
    """The id of everything in a state that can be changed in place."""
    if isinstance(value, msgspec.Struct):
        if not value.__struct_config__.frozen:
            yield id(value)
        for field in value.__struct_fields__:
            yield from mutable_parts(getattr(value, field))
    elif isinstance(value, dict | list):
        yield id(value)
        for item in value.values() if isinstance(value, dict) else value:
            yield from mutable_parts(item)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_random_game_ends_and_folds_to_the_same_state(rules, seats, play):
    for seed in range(3):
        game = play(rules, seats, seed)
        assert rules.outcome(game.state) is not None
        assert game.folded() == game.state


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_somebody_is_to_act_until_there_is_an_outcome_and_only_they_may(rules, seats, play):
    def watch(state, legal):
        to_act = rules.to_act(state)
        assert bool(to_act) is (rules.outcome(state) is None)
        for seat in range(1, seats + 1):
            offered = [offer.action for offer in rules.legal(state, seat)]
            assert (offered or rules.forms(state, seat)) if seat in to_act else not offered
            assert len(set(map(repr, offered))) == len(offered)

    play(rules, seats, 10, watch)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_every_legal_action_is_accepted_and_what_draws_says_so(rules, seats, play):
    def watch(state, legal):
        for offer in legal:
            assert rules.parse(*stored(offer.action)) == offer.action
            try:
                rules.apply(rules.copy(state), rules.to_act(state)[0], offer.action, Loaded())
            except WrongDraw:
                assert offer.chance

    play(rules, seats, 20, watch)


def stored(action):
    """Name and args as they come out of an event."""
    name, args = name_and_args(action)
    return name, codec.decode(codec.encode(args))


@pytest.mark.parametrize("rules", EVERY)
def test_a_refused_action_changes_nothing_and_draws_nothing(rules, play, packed):
    """Every action that was ever legal in a game is tried in every position, by every seat."""
    ever = {}
    play(rules, rules.seats[0], 30, lambda state, legal: ever.update({repr(o.action): o.action for o in legal}))
    refused = accepted = 0

    def watch(state, legal):
        nonlocal refused, accepted
        before = packed(state)
        allowed = {repr(offer.action) for offer in legal}
        for (text, action), seat in product(ever.items(), rules.seats):
            if seat > rules.seats[0] or (seat in rules.to_act(state) and text in allowed):
                continue
            chance = Loaded()
            with pytest.raises(Illegal) as caught:
                rules.apply(state, seat, action, chance)
            assert caught.value.reason
            assert caught.value.rule
            assert chance.draws == []
            refused += 1
        accepted += len(legal)
        assert packed(state) == before

    positions = 0

    def sampled(state, legal):
        nonlocal positions
        positions += 1
        if positions % 25 == 0:
            watch(state, legal)

    play(rules, rules.seats[0], 30, sampled)
    assert refused > 1_000
    assert accepted > 10


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_refusals_name_what_is_not_to_be_had(rules, seats, play):
    def watch(state, legal):
        targets = {offer.target for offer in legal}
        for seat in range(1, seats + 1):
            refusals = rules.refusals(state, seat)
            assert len({refusal.target for refusal in refusals}) == len(refusals)
            for refusal in refusals:
                assert refusal.code
                assert refusal.rule
                json.dumps(refusal.details)
                assert seat not in rules.to_act(state) or refusal.target not in targets

    play(rules, seats, 40, watch)


@pytest.mark.parametrize("rules", EVERY)
def test_looking_changes_nothing(rules, play, packed):
    def watch(state, legal):
        before = packed(state)
        for seat in rules.seats:
            rules.legal(state, seat)
            rules.forms(state, seat)
            rules.refusals(state, seat)
        rules.outcome(state)
        rules.view(state, None)
        rules.cast(state)
        assert packed(state) == before

    play(rules, rules.seats[0], 50, watch)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_copy_is_equal_and_shares_nothing_that_can_change(rules, seats, play):
    def watch(state, legal):
        copy = rules.copy(state)
        assert copy == state
        assert not set(mutable_parts(copy)) & set(mutable_parts(state))

    play(rules, seats, 60, watch)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_state_has_one_canonical_form_and_comes_back_from_it(rules, seats, play, packed):
    """The fast encoder writes what the strict codec writes; a state read back offers what the one written did."""

    def watch(state, legal):
        data = packed(state)
        assert codec.encode(msgspec.to_builtins(state), LIMIT) == data
        back = msgspec.convert(codec.decode(data, LIMIT), rules.state)
        assert back == state
        for seat in rules.to_act(state):
            assert rules.legal(back, seat) == rules.legal(state, seat)
            assert rules.refusals(back, seat) == rules.refusals(state, seat)

    play(rules, seats, 70, watch)


@pytest.mark.parametrize("rules", EVERY)
def test_a_game_taken_up_from_its_bytes_ends_like_the_one_that_was_not(rules, play, packed):
    game = play(rules, rules.seats[-1], 80)
    middle = len(game.steps) // 2
    state = msgspec.convert(codec.decode(packed(game.folded(middle)), LIMIT), rules.state)
    for seat, action, draws in game.steps[middle:]:
        chance = Recorded(draws)
        rules.apply(state, seat, action, chance)
        chance.finish()
    assert packed(state) == packed(game.state)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_view_is_json_and_an_event_fits_what_is_stored(rules, seats, play):
    def watch(state, legal):
        for viewer in (None, 1, seats):
            assert json.loads(json.dumps(rules.view(state, viewer))) == rules.view(state, viewer)

    game = play(rules, seats, 90, watch)
    for _, action, draws in game.steps:
        body = {"x": draws} if action is None else {"x": draws, "a": list(name_and_args(action))}
        assert len(codec.encode(body)) < 2_000


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_what_happens_and_what_is_drawn_is_announced(rules, seats, play):
    game = play(rules, seats, 100)
    known = set(rules.happenings.values())
    for happening in game.happenings:
        assert type(happening) in known
        msgspec.json.encode(happening)
    for _, _, draws in game.steps:
        assert {draw[0] for draw in draws} <= set(rules.purposes)
    assert sum(type(happening).__name__ == "GameOver" for happening in game.happenings) <= 1


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_an_outcome_has_a_score_for_every_seat_and_at_least_one_winner(rules, seats, play):
    outcome = rules.outcome(play(rules, seats, 110).state)
    assert len(outcome.scores) == seats
    assert set(outcome.winners) <= set(range(1, seats + 1))
    assert outcome.ending


@pytest.mark.parametrize("rules", EVERY)
def test_names_are_kebab_case_and_args_have_no_null(rules):
    for name, action in [*rules.actions.items(), *rules.happenings.items()]:
        assert action.__struct_config__.tag == name
        assert name == name.lower()
        assert "_" not in name
    assert all(action.__struct_config__.frozen for action in rules.actions.values())
    for bad in ({"unknown": 1}, {"to": None}, {"drop": None}):
        for name in rules.actions:
            with pytest.raises(Illegal) as caught:
                rules.parse(name, bad)
            assert (caught.value.reason, caught.value.rule) == ("malformed-action", "0")
    with pytest.raises(Illegal) as caught:
        rules.parse("fly", {})
    assert caught.value.reason == "unknown-action"


@pytest.mark.parametrize("rules", EVERY)
def test_every_option_has_a_default(rules):
    assert msgspec.convert({}, rules.options) == rules.options()
    assert msgspec.convert({}, rules.choice) == rules.choice()


def test_the_registry_is_plain_data():
    assert all(rules.id == name for name, rules in RULESETS.items())
    assert set(BOTS) == {game_name(name) for name in RULESETS}
    assert all(bot.name == name for bots in BOTS.values() for name, bot in bots.items())
