"""What a state says, as named facts: each value has one path, ``seats/2/hp``, that stays its own while others change.

Containers are walked by the names of their fields. What stands in a list by its id (a weapon, a die in the graveyard)
is named by that id, and its value is how many there are: their order is no fact. What stands there by its place is
numbered from 1, as seats are.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET

from replay.position import Position

SEATS: Final = "seats"
"""In every game the list with an entry for each seat can be called so."""


class NoSuchPath(LookupError):
    """There never was such a value. ``at``: as far as the path leads; ``known``: what there is."""

    def __init__(self, path: str, at: str, known: list[str]) -> None:
        super().__init__(f"no {path!r}: {at or 'the state'} has {', '.join(known) or 'nothing'}")
        self.path, self.at, self.known = path, at, known


def facts(value: Any) -> Any:
    """Plain data with every list turned into a mapping: id -> how many, or number from 1 -> element."""
    if isinstance(value, Mapping):
        return {str(name): facts(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return {name: facts(part) for name, part in _listed(value).items()}
    return value


def _listed(value: list[Any] | tuple[Any, ...]) -> Mapping[str, Any]:
    if value and all(isinstance(part, str) for part in value):
        return Counter(value)
    return {str(number): part for number, part in enumerate(value, 1)}


def steps_of(path: str) -> list[str]:
    """A path taken apart: names between slashes, ``~1`` for a slash in a name and ``~0`` for a tilde (RFC 6901)."""
    return [step.replace("~1", "/").replace("~0", "~") for step in path.strip("/").split("/") if step]


def path_of(steps: list[str]) -> str:
    """The path of its steps."""
    return "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)


def named(position: Position, steps: list[str], viewer: int | None = None) -> list[str]:
    """The steps with the game's own name for its seats (``heroes`` in Le Donjon)."""
    view = position.view(viewer)
    if not steps or steps[0] != SEATS or view is None or SEATS in view:
        return steps
    seats = len(position.seats)
    own = [name for name, part in view.items() if isinstance(part, list) and len(part) == seats and _structs(part)]
    return [*own[:1], *steps[1:]] if own else steps


def _structs(part: list[Any]) -> bool:
    return all(isinstance(one, Mapping) for one in part)


def value_at(view: Any, steps: list[str]) -> Any:
    """The facts at the end of a path; UNSET where there are none. Only what is on the way is looked at."""
    for step in steps:
        view = parts(view).get(step, UNSET)
    return view if view is UNSET else facts(view)


def parts(value: Any) -> Mapping[str, Any]:
    """What a container holds by name; nothing where it is none."""
    if isinstance(value, Mapping):
        return value
    return _listed(value) if isinstance(value, list | tuple) else {}


def missing(view: Any, steps: list[str]) -> NoSuchPath:
    """Where a path that leads nowhere ends, and what it could have led to."""
    for number, step in enumerate(steps):
        there = parts(view)
        if step not in there:
            return NoSuchPath(path_of(steps), path_of(steps[:number]), sorted(there))
        view = there[step]
    return NoSuchPath(path_of(steps), "", [])  # there is no state yet, and the whole of it was asked about
