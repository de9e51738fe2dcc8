"""Dungeon Roll: a dice game of delving ever deeper, and of leaving in time."""

from engine.dungeon_roll.rules import DUNGEON_ROLL_1, DungeonRoll

__all__ = ["DUNGEON_ROLL_1", "DungeonRoll"]
