"""How the service runs: its processes, what it logs and measures, and the demo it opens with."""
