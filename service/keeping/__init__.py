"""What keeps the games when the database need not, or cannot: the archive, backups, and the way back."""
