"""The shapes of what games with heroes have to tell alike. A game subclasses them and names the rule paragraph.

``seat``: of whom it is told; ``hero``: the hero of that seat, empty where it has none yet.
"""

from engine.protocol import Happening


class OfHero(Happening, frozen=True):
    """Something that happens to the hero of a seat."""

    seat: int
    hero: str


class GameBegun(Happening, frozen=True):
    """The first seat is drawn; ``heroes`` in seat order, empty where they are yet to be chosen."""

    first: int
    heroes: tuple[str, ...]


class TimedOut(OfHero, frozen=True):
    """An absent seat's turn is settled to its cost; ``phase``: what the game was waiting for."""

    phase: str


class GameOver(Happening, frozen=True):
    """The end: its name, the seats that win, the score of every seat in seat order."""

    ending: str
    winners: tuple[int, ...]
    scores: tuple[int, ...]
