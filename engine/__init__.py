"""What is allowed: the rules protocol, chance, and one package for each game. Pure: no IO, no clock, no randomness."""
