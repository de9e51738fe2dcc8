"""The log of games: one RFC 6962 tree of entries, published as C2SP tlog-tiles (docs/event-format.md).

Everything here is pure: bytes in, bytes out. Who writes the files is service/proofs/sequencer.py.
"""
