"""Measurements: each figure of ours beside a ceiling or a peer, in the same run."""
