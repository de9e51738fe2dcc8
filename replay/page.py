"""A page of a replay, as the REST API serves it: spoiler-free by contract.

Without ``spoilers`` nothing in it depends on events after the position asked for: no step, chapter, grade, status or
length. Two games with the same first n events give the same bytes for every page up to position n.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from replay.moments import moments
from replay.replay import Chapter, Grade, NoSuchPosition, Replay, Step

LIMIT: Final = 100
"""Events on a page, unless asked otherwise."""


def replay_page(
    replay: Replay,
    at: int | None = None,
    after: int = 0,
    limit: int = LIMIT,
    language: str = "en",
    spoilers: bool = False,
    names: Mapping[bytes, str] | None = None,
) -> dict[str, Any]:
    """The steps of events ``after + 1`` to at most ``after + limit``, for somebody who has come to position ``at``.

    Without ``at`` it is the end of the page (with ``spoilers``: of the game). Chapters and best moments are those that
    began by then. ``next`` is the ``after`` of the next page on the way to ``at``. ``spoilers`` adds ``length``,
    ``outcome`` and all chapters and moments, and grades the whole game.

    :raises NoSuchPosition: the game has not come as far as ``at`` or ``after``.
    """
    if at is None:
        at = len(replay) if spoilers else min(after + limit, len(replay))
    if not 0 <= after <= at <= len(replay):
        raise NoSuchPosition(f"positions {after} to {at} of {len(replay)}")
    upto = min(after + limit, at)
    horizon = len(replay) if spoilers else at
    position = replay.at(at)
    create = position.create
    page: dict[str, Any] = {
        "game_id": replay.game_id.hex(),
        "ruleset": None if create is None else create.rules,
        "position": at,
        "status": position.status,
        "after": after,
        "next": upto if upto < at else None,
        "grade": grade_json(replay.grade_at(horizon)),
        "steps": [step_json(step) for step in replay.steps(language, names, after, upto)],
        "chapters": [chapter_json(chapter) for chapter in replay.chapters(language, horizon)],
        "moments": [chapter_json(moment) for moment in moments(replay, language, horizon)],
    }
    if spoilers:
        page |= {"length": len(replay), "outcome": msgspec.to_builtins(replay.at(len(replay)).outcome)}
    return page


def step_json(step: Step) -> dict[str, Any]:
    """A step as JSON-ready data; its time as RFC 3339."""
    data: dict[str, Any] = msgspec.to_builtins(step)
    data["at"] = moment(data.pop("t_ms"))
    return data


def chapter_json(chapter: Chapter) -> dict[str, Any]:
    """A chapter as JSON-ready data."""
    data: dict[str, Any] = msgspec.to_builtins(chapter)
    return data


def grade_json(grade: Grade) -> dict[str, Any]:
    """A grade as JSON-ready data: ``{name, at, detail, stored, folded}``."""
    found = grade.finding
    return {
        "name": grade.name,
        "at": grade.at,
        "detail": found.detail if found else None,
        "stored": found.stored or None if found else None,
        "folded": found.folded or None if found else None,
    }


def moment(t_ms: int) -> str:
    """RFC 3339 in UTC with milliseconds."""
    try:
        return datetime.fromtimestamp(t_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # a damaged event may claim any time
        return f"{t_ms} ms"
