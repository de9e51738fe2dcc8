"""What is written down: canonical bytes, the event and its chain, committed dice, the log on Redis."""
