"""Laws that hold for every ruleset on offer, whatever the game, over random play to the end.

They also hold for Hidden Card, a game with hidden hands and parametric actions that only these tests know.
"""

import json
import random
import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import get_origin, get_type_hints

import msgspec
import pytest
from msgspec import inspect

from engine.chance import Loaded, Recorded, WrongDraw
from engine.protocol import Illegal, Legal, SeatSetup, Setup, name_and_args
from engine.registry import BOTS, RULESETS, game_name
from events import codec
from replay.fingerprint import canonical, state_hash
from tests.engine.hidden_card import HIDDEN_CARD, secrets

LIMIT = codec.STATE_LIMIT
LAWFUL = [*RULESETS.values(), HIDDEN_CARD]
EVERY = [pytest.param(rules, id=rules.id) for rules in LAWFUL]
TABLES = [pytest.param(rules, seats, id=f"{rules.id}-{seats}") for rules in LAWFUL for seats in rules.seats]
PAPERS = Path(__file__).parents[2] / "docs" / "rules"


def mutable_parts(value):
    """The id of everything in a state that can be changed in place: not what is declared to be a Mapping."""
    if isinstance(value, msgspec.Struct):
        if not value.__struct_config__.frozen:
            yield id(value)
        kept = {name for name, hint in get_type_hints(type(value)).items() if get_origin(hint) is Mapping}
        for field in value.__struct_fields__:
            if field not in kept:
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


@pytest.mark.parametrize("rules", RULESETS.values(), ids=list(RULESETS))
def test_a_refused_action_changes_nothing_and_draws_nothing(rules, play, packed):
    """Every action that was ever legal in a game is tried in every position, by every seat."""
    ever = {}
    play(rules, rules.seats[0], 30, lambda state, legal: ever.update({repr(o.action): o.action for o in legal}))
    refused = accepted = 0

    def watch(state, legal):
        nonlocal refused, accepted
        before = packed(state)
        allowed = {repr(offer.action) for offer in legal}
        formed = {form.type for seat in rules.to_act(state) for form in rules.forms(state, seat)}
        for (text, action), seat in product(ever.items(), rules.seats):
            if seat > rules.seats[0]:
                continue
            if seat in rules.to_act(state) and (text in allowed or name_and_args(action)[0] in formed):
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

    seed = 30
    while refused <= 1_000:
        play(rules, rules.seats[0], seed, sampled)
        seed += 1
    assert accepted > 10


def attempt(rules, state, seat, action, packed):
    """Try an action on a copy: (legal, wants to draw). A refusal must say why and leave no trace."""
    copy, chance, refusal = rules.copy(state), Loaded(), None
    try:
        rules.apply(copy, seat, action, chance)
    except Illegal as error:
        refusal = error
    except WrongDraw:
        return True, True
    if refusal is None:
        return True, bool(chance.draws)
    assert refusal.reason
    assert refusal.rule
    assert chance.draws == []
    assert packed(copy) == packed(state)
    return False, False


def arbitrary(info, words, whims):
    """Any value of a type, with a liking for small numbers and for words that occur in the game."""
    match info:
        case inspect.IntType(ge=low, le=high):
            low, high = -(2**63) if low is None else low, 2**63 - 1 if high is None else high
            near = max(low, -4), min(high, 6)
            return whims.randint(*(near if whims.random() < 0.8 and near[0] <= near[1] else (low, high)))
        case inspect.BoolType():
            return whims.random() < 0.5
        case inspect.StrType():
            return whims.choice(words)
        case inspect.LiteralType(values=values):
            return whims.choice(values)
        case inspect.TupleType(item_types=items):
            return [arbitrary(item, words, whims) for item in items]
        case inspect.ListType() | inspect.VarTupleType():
            length = whims.randint(info.min_length or 0, min(info.max_length or 4, 4))
            return [arbitrary(info.item_type, words, whims) for _ in range(length)]
        case inspect.UnionType(types=types):
            return arbitrary(whims.choice(types), words, whims)
    raise TypeError(f"an arg of this type is not plain data: {info}")


def words_in(value):
    """Every word in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from words_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from words_in(item)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_what_is_accepted_is_listed_and_anything_else_is_refused_without_a_trace(rules, seats, play, packed):
    """Arbitrary args of every action, for every seat: what no list and no form offers must be illegal."""
    whims = random.Random(31)
    tried = 0

    def watch(state, _):
        nonlocal tried
        if whims.random() > 0.1:
            return
        words = sorted(set(words_in(msgspec.to_builtins(state))))
        to_act = rules.to_act(state)
        for seat, (name, action) in product(range(1, seats + 1), rules.actions.items()):
            args = {
                field.encode_name: arbitrary(field.type, words, whims)
                for field in inspect.type_info(action).fields
                if field.required or whims.random() < 0.5
            }
            wanted = rules.parse(name, args)
            listed = seat in to_act and (
                wanted in [offer.action for offer in rules.legal(state, seat)]
                or name in [form.type for form in rules.forms(state, seat)]
            )
            legal, _ = attempt(rules, state, seat, wanted, packed)
            assert listed or not legal
            tried += 1

    play(rules, seats, 32, watch)
    play(rules, seats, 33, watch)
    play(rules, seats, 34, watch)
    assert tried


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_form_is_filled_in_legally_or_refused_without_a_trace(rules, seats, play, built, packed):
    whims = random.Random(35)

    def watch(state, legal):
        for seat in rules.to_act(state):
            for form in rules.forms(state, seat):
                assert form.type in rules.actions
                assert set(form.fields) <= set(rules.actions[form.type].__struct_fields__)
                assert all(0 <= one.minimum <= one.maximum for one in form.fields.values())
                assert all(len(set(one.ids)) == len(one.ids) for one in form.fields.values())
            for offer in built(rules, state, seat, whims):
                _, draws = attempt(rules, state, seat, offer.action, packed)
                assert offer.chance or not draws

    play(rules, seats, 36, watch)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_nobody_else_can_act_and_so_no_event_draws_for_a_seat_that_did_not(rules, seats, play):
    """The seat that acts is the one that is to act: draws are for nobody else."""

    def watch(state, legal):
        for seat in range(seats + 2):
            if seat in rules.to_act(state):
                continue
            for offer in [*legal, *[Legal(action(), "") for action in argless]]:
                chance = Loaded()
                with pytest.raises(Illegal):
                    rules.apply(state, seat, offer.action, chance)
                assert chance.draws == []
            with pytest.raises(Illegal):
                rules.time_out(state, seat)

    argless = [action for action in rules.actions.values() if not action.__struct_fields__]
    play(rules, seats, 37, watch)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_time_outs_and_leavers_at_random_moments_never_freeze_a_game(rules, seats, packed, built):
    """They have no chance to draw from; the game goes on for those who stay, and ends."""
    for seed in range(6):
        whims = random.Random(seed)
        state = rules.initial(Setup(msgspec.to_builtins(rules.options()), [SeatSetup({}) for _ in range(seats)]))
        rules.begin(state, Whimsical(whims))
        staying = list(range(1, seats + 1))
        for _ in range(20_000):
            if not (to_act := rules.to_act(state)):
                break
            assert set(to_act) <= set(staying)
            seat = whims.choice(to_act)
            offers = rules.legal(state, seat) + built(rules, state, seat, whims)
            assert offers
            moment = whims.random()
            if moment < 0.1:
                assert rules.time_out(state, seat)
            elif moment < 0.11 and len(staying) > 1:
                leaver = staying.pop(whims.randrange(len(staying)))
                assert rules.withdraw(state, leaver)
            else:
                try:
                    rules.apply(state, seat, whims.choice(offers).action, Whimsical(whims))
                except Illegal:
                    assert rules.forms(state, seat)
            assert msgspec.convert(codec.decode(packed(state), LIMIT), rules.state) == state
        assert rules.outcome(state) is not None


class Whimsical:
    """A chance that nobody needs to repeat."""

    def __init__(self, whims):
        self.whims = whims

    def die(self, sides, purpose):
        return self.whims.randint(1, sides)

    def pick(self, counts, purpose):
        return self.whims.choices(list(counts), list(counts.values()))[0]


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
    """The fast encoder writes what the strict codec writes; a state read back offers what the one written did. What
    is kept of the state before makes no difference to the fingerprint: a Mapping in it never changes."""
    kept = {}

    def watch(state, legal):
        assert state_hash(rules.id, state, kept) == state_hash(rules.id, state)
        data = packed(state)
        assert codec.encode(msgspec.to_builtins(state), LIMIT) == data == canonical(state)
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


@pytest.mark.parametrize("rules", EVERY)
def test_a_view_is_an_allow_list(rules, play):
    """A field that a state gets later is seen by nobody until somebody decides."""
    later = msgspec.defstruct("Later", [("zz_later", str, "for nobody")], bases=(rules.state,), kw_only=True)

    def watch(state, legal):
        wider = later(**{name: getattr(state, name) for name in state.__struct_fields__})
        for viewer in (None, *rules.seats):
            assert "for nobody" not in json.dumps(rules.view(wider, viewer))

    play(rules, rules.seats[0], 91, watch, enough=60)


def test_no_viewer_sees_a_hidden_card(play):
    seen = set()

    def watch(state, legal):
        for viewer in (None, 1, 2):
            told = json.dumps(HIDDEN_CARD.view(state, viewer))
            hidden = secrets(state, viewer)
            assert not [card for card in hidden if card in told]
            seen.update(card for card in state.hands[0] if viewer == 1 and card in told)

    for seed in range(20):
        play(HIDDEN_CARD, 2, seed, watch)
    assert seen


def plain(info):
    """Raises where a state could hold anything but structs, dicts with str keys, lists, ints, bools and strs."""
    match info:
        case inspect.IntType() | inspect.BoolType() | inspect.StrType():
            return
        case inspect.LiteralType(values=values):
            assert all(type(value) in (int, str) for value in values)
        case inspect.ListType(item_type=item):
            plain(item)
        case inspect.DictType(key_type=key, value_type=value):
            assert isinstance(key, inspect.StrType) or {type(name) for name in key.values} == {str}
            plain(value)
        case inspect.UnionType(types=types):
            for one in types:
                plain(one)
        case inspect.StructType(fields=fields):
            for field in fields:
                assert field.encode_name == field.name
                plain(field.type)
        case _:
            raise AssertionError(f"no plain data: {info}")


@pytest.mark.parametrize("rules", EVERY)
def test_a_state_can_hold_nothing_but_plain_data(rules):
    plain(inspect.type_info(rules.state))


@pytest.mark.parametrize("kind", [float, bytes, set[str], tuple[int, ...], int | None, dict[int, str], object])
def test_data_that_would_not_pack_canonically_is_found_in_a_type(kind):
    with pytest.raises((AssertionError, AttributeError)):
        plain(inspect.type_info(msgspec.defstruct("State", [("one", list[kind])])))


@pytest.mark.parametrize("rules", RULESETS.values(), ids=list(RULESETS))
def test_whatever_happens_and_is_refused_cites_a_paragraph_of_the_rules(rules, play):
    game = game_name(rules.id)
    (paper,) = [page for page in PAPERS.glob("*.md") if page.stem.endswith(game)]
    paragraphs = set(re.findall(r"^#{2,4} (\d+(?:\.\d+)*) ", paper.read_text(encoding="utf-8"), re.MULTILINE))
    assert {happening.rule for happening in rules.happenings.values()} <= paragraphs
    assert "0" in paragraphs  # actions that do not exist or are malformed

    def watch(state, legal):
        for seat in range(1, rules.seats[-1] + 1):
            assert {refusal.rule for refusal in rules.refusals(state, seat)} <= paragraphs

    play(rules, rules.seats[-1], 92, watch)


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
    assert HIDDEN_CARD.id not in RULESETS
    assert all(rules.id == name for name, rules in RULESETS.items())
    assert set(BOTS) == {game_name(name) for name in RULESETS}
    assert all(bot.name == name for bots in BOTS.values() for name, bot in bots.items())
