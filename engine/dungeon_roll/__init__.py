"""Dungeon Roll: a dice game of delving ever deeper, and of leaving in time."""
