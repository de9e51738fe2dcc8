"""Le Donjon: two to six heroes explore a dungeon, until one of them slays the dragon."""
