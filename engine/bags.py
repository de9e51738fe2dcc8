"""Bags of tokens and tiles: id -> how many are in it, without zeros."""

from engine.chance import Chance


def take(bag: dict[str, int], name: str) -> None:
    """One leaves the bag. It must be there."""
    bag[name] -= 1
    if not bag[name]:
        del bag[name]


def give(bag: dict[str, int], name: str) -> None:
    """One comes into the bag."""
    bag[name] = bag.get(name, 0) + 1


def draw(bag: dict[str, int], chance: Chance, purpose: str) -> str:
    """One out of the bag, each as likely as the others."""
    name = chance.pick(bag, purpose)
    take(bag, name)
    return name
