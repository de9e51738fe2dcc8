"""Situations 11 to 15: traps."""

TRAP_EAST = {"1,0": "trap nesw"}


def test_a_trap_must_be_resolved_before_anything_else(donjon):  # 11
    donjon.given("victorius", hp=3, mp=3, steps=1, phase="exploring", tiles=TRAP_EAST)
    assert donjon.when("move", to=[1, 0]) == ["hero-moved", "trap-entered"]
    donjon.then(phase="trap-pending", hp=3, mp=2)
    assert donjon.refused("end-turn") == "pending-trap"
    assert donjon.refused("move", to=[0, 0]) == "pending-trap"
    assert donjon.explained()["next"] == donjon.explained()["tile-0-0"] == "pending-trap"
    assert donjon.offered() == ["resolve-trap"]
    donjon.when("resolve-trap")
    donjon.then(hp=2, mp=2, phase="exploring")
    donjon.when("move", to=[0, 0])
    donjon.then(mp=1)


def test_a_trap_that_takes_the_last_hit_point_stuns(donjon):  # 12
    donjon.given("victorius", hp=1, tiles=TRAP_EAST, others={"tala": {}})
    donjon.when("move", to=[1, 0])
    assert donjon.when("resolve-trap") == ["trap-sprung", "knocked-out"]
    donjon.then(hp=0, phase="turn-over", at="1,0")
    assert donjon.offered() == ["end-turn"]
    donjon.when("end-turn")
    assert donjon.when("end-turn") == ["turn-ended", "turn-skipped", "turn-began"]
    donjon.then(hp=1, active=2)
    donjon.when("end-turn")
    donjon.then(active=1, phase="turn-start", mp=4)
    donjon.when("move", to=[0, 0])  # leaving is no entering
    donjon.then(phase="exploring", hp=1)


def test_tala_walks_through_traps_unharmed(donjon):  # 13
    donjon.given("tala", hp=1, tiles=TRAP_EAST)
    assert donjon.when("move", to=[1, 0]) == ["hero-moved", "trap-avoided"]
    donjon.then(hp=1, mp=3, phase="exploring", safe="1,0")


def test_argentus_walks_into_a_trap_through_a_wall_and_is_hurt(donjon):  # 13, its kind
    donjon.given("argentus", tiles={"1,0": "trap ns"})
    donjon.when("move", to=[1, 0])
    donjon.then(phase="trap-pending")


def test_a_trap_just_discovered_hurts_too(donjon):  # 13, its kind
    donjon.given("victorius", pile={"trap-x": 1})
    donjon.when("move", to=[1, 0])
    donjon.then(phase="trap-pending")


def test_a_retreat_to_a_trap_does_not_spring_it(donjon):  # 14
    donjon.given(
        "xanros", hp=5, mp=3, at="1,0", phase="exploring", tiles=TRAP_EAST | {"2,0": "room ew"},
        things={"2,0": "giant-rat"},
    )  # fmt: skip
    donjon.when("move", to=[2, 0])
    donjon.when("roll-dice", 1, 2)
    assert donjon.when("accept-result") == ["fight-lost", "retreated"]
    donjon.then(at="1,0", hp=4, phase="turn-over")


def test_a_sprung_trap_springs_again(donjon):  # 15
    donjon.given("victorius", tiles=TRAP_EAST, others={"argentus": {}})
    donjon.when("move", to=[1, 0])
    donjon.when("resolve-trap")
    donjon.when("end-turn")
    donjon.when("move", to=[1, 0])
    donjon.when("resolve-trap")
    donjon.then(seat=2, hp=4)
    donjon.then(seat=1, hp=4)


def test_without_a_trap_there_is_nothing_to_resolve(donjon):
    donjon.given("victorius")
    assert donjon.refused("resolve-trap") == "nothing-pending"
