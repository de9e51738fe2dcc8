"""The best moments of a game: what was decided by a hair, where the lead changed, what brought most.

They are chapters whose titles tell no outcome, and each begins before its moment. Those of the first n events depend on
these events only.
"""

from typing import Final

from replay.replay import Chapter, Replay, name_of
from replay.words import Context, words

MOST: Final = 3
"""How many of the closest and of the largest are told."""
CLOSE, LARGE = 1, 2
"""The widest margin that is still close, and the least that is much to bring in at once."""


def moments(replay: Replay, language: str = "en", upto: int | None = None) -> list[Chapter]:
    """The best moments of the events up to ``upto``, in order: the closest decisions, every change of the lead, the
    largest gains of one seat in one event."""
    end = len(replay) if upto is None else min(upto, len(replay))
    close: list[tuple[int, int]] = []
    large: list[tuple[int, int]] = []
    found: list[tuple[int, str]] = []
    leader, before = 0, list[int]()
    for n in range(1, end + 1):
        margin, scores = replay.margin(n), replay.scores(n)
        if margin is not None and margin <= CLOSE:
            close.append((margin, n))
        if scores and (ahead := _leader(scores)) not in (0, leader):
            if leader:
                found.append((n, "lead"))
            leader = ahead
        gain = max((new - old for old, new in zip(before, scores, strict=False)), default=0)
        if gain >= LARGE:
            large.append((-gain, n))
        before = scores
    found += [(n, "close") for _, n in sorted(close)[:MOST]] + [(n, "swing") for _, n in sorted(large)[:MOST]]
    return [_chapter(replay, language, n, kind) for n, kind in sorted(found)]


def _leader(scores: list[int]) -> int:
    """The seat that is ahead of all others; 0: there is none."""
    best = max(scores)
    return scores.index(best) + 1 if len(scores) > 1 and scores.count(best) == 1 else 0


def _chapter(replay: Replay, language: str, n: int, kind: str) -> Chapter:
    event, position = replay.event(n), replay.at(n)
    seat = None if event is None else event.seat
    begins = n - 1
    if kind == "close":
        begins = next((v for v in range(n - 1, max(0, n - 12), -1) if _begins(replay, v)), n - 1)
    title = words(language).text(f"table.moment.{kind}", {"seat": seat or 0}, Context.of(position))
    return Chapter(kind, begins, 1, seat if kind == "close" else None, title)


def _begins(replay: Replay, n: int) -> bool:
    """Does the n-th event end in what the next ones decide?"""
    return any(name_of(happening) in ("fight-began", "level-began") for happening in replay.happenings(n))
