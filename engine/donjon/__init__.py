"""Le Donjon: two to six heroes explore a dungeon, until one of them slays the dragon."""

from engine.donjon.rules import DONJON_1, Donjon

__all__ = ["DONJON_1", "Donjon"]
