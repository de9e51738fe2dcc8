"""Bags of tokens and tiles: id -> how many are in it, without zeros. A bag never changes, another takes its place."""

from collections.abc import Mapping

from engine.chance import Chance

Bag = Mapping[str, int]


def without(bag: Bag, name: str) -> Bag:
    """The bag when one has left it. It must be there."""
    left = {**bag, name: bag[name] - 1}
    if not left[name]:
        del left[name]
    return left


def given(bag: Bag, name: str) -> Bag:
    """The bag when one has come into it."""
    return {**bag, name: bag.get(name, 0) + 1}


def drawn(bag: Bag, chance: Chance, purpose: str) -> tuple[str, Bag]:
    """One out of the bag, each as likely as the others, and the bag without it."""
    name = chance.pick(bag, purpose)
    return name, without(bag, name)
