"""What happened: the fold, the replay cursor, narration, pictures and the verdict on a stored game."""
