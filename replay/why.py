"""Why is it so? The events that made a value of the state, from a fold that looks at this one value alone.

Nothing is kept for it while games are played or replayed: whoever asks has the game folded once more, and the value is
compared before and after each event. So every number of a state can be asked about, in every game.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from engine.protocol import Illegal
from events.event import Event
from events.signing import NotAnAction, SignedAction
from replay.facts import missing, named, path_of, steps_of, value_at
from replay.replay import Grade, Replay, Step
from replay.words import Context, words

LIMIT: Final = 100
"""Most causes in an answer, unless asked otherwise: the latest."""


class Cause(msgspec.Struct, frozen=True):
    """An event that changed the value: ``old`` and ``new``, UNSET where there was or is none.

    ``asked``: the action as the label of a button, "" where nobody asked; ``draws``: each draw of the event in words;
    ``steps``: what happened, each with its words and the paragraph of the rules that it follows.
    """

    event: Event
    asked: str
    draws: list[str]
    steps: list[Step]
    old: Any = UNSET
    new: Any = UNSET

    @property
    def rules(self) -> list[str]:
        """The paragraphs that it follows, each once, in the order of its steps."""
        return list(dict.fromkeys(step.rule for step in self.steps if step.rule))


class Why(msgspec.Struct, frozen=True):
    """Why a value is what it is: it came to be by ``causes``, the last of which made it.

    ``earlier``: how many older causes are left out. ``forked_from``: where the first one found it, if the game began
    with the state of another one: (game, version). ``value`` is UNSET where it is no more.
    """

    version: int
    path: str
    grade: Grade
    causes: list[Cause]
    earlier: int
    value: Any = UNSET
    forked_from: tuple[bytes, int] | None = None


def why(
    replay: Replay,
    version: int,
    path: str,
    *,
    viewer: int | None = None,
    language: str = "en",
    names: Mapping[bytes, str] | None = None,
    limit: int = LIMIT,
) -> Why:
    """The events up to ``version`` that made the value at ``path`` of the state, as a seat or a watcher (None) may see
    it. Asked about a container, it names whatever changed anything in it.

    :raises NoSuchPosition: the game has not come so far.
    :raises NoSuchPath: up to then the state never held such a value.
    """
    here = replay.at(version)
    steps = named(here, steps_of(path), viewer)
    changes: list[tuple[int, Any, Any]] = []
    old = UNSET
    for number in range(1, version + 1):
        view = replay.at(number).view(viewer)
        new = UNSET if view is None else value_at(view, steps)
        if new != old or type(new) is not type(old):
            changes.append((number, old, new))
        old = new
    if not changes:
        raise missing(here.view(viewer), steps)
    causes = [
        cause
        for number, before, after in changes[-limit:]
        if (cause := _cause(replay, number, before, after, language, names)) is not None
    ]
    source = None if here.create is None or here.create.forked_from is UNSET else here.create.forked_from[:2]
    return Why(version, path_of(steps), replay.grade_at(version), causes, len(changes) - len(causes), old, source)


def _cause(
    replay: Replay, number: int, old: Any, new: Any, language: str, names: Mapping[bytes, str] | None
) -> Cause | None:
    event = replay.event(number)
    if event is None:  # it cannot be read, and nothing is known of what it did
        return None
    before, said = replay.at(number - 1), words(language)
    context = Context.of(before, names)
    asked, action = "", asked_of(event)
    if action is not None and before.rules is not None:
        try:
            asked = said.action(before.rules.parse(*action), context)
        except Illegal:
            asked = action[0]
    draws = [said.draw(draw, context) for draw in draws_of(event)]
    return Cause(event, asked, draws, replay.steps_of(number, language, names), old, new)


def asked_of(event: Event) -> tuple[str, dict[str, Any]] | None:
    """The action of an event, by its name and args, signed or not; None where it carries none."""
    asked = event.body.get("a")
    if event.kind != "act":
        return None
    if isinstance(asked, bytes):
        try:
            signed = SignedAction.read(asked)
        except NotAnAction:
            return None
        return (signed.name, signed.args) if signed.name else None
    match asked:
        case [str(name), dict(args)] | (str(name), dict(args)):
            return name, args
    return None


def draws_of(event: Event) -> list[list[Any]]:
    """The draws of an event, as far as they can be read."""
    drawn = event.body.get("x")
    if not isinstance(drawn, list | tuple) or len(drawn) != 3 or not isinstance(drawn[2], list):
        return []
    return [draw for draw in drawn[2] if isinstance(draw, list) and len(draw) in (3, 4) and _typed(draw)]


def _typed(draw: list[Any]) -> bool:
    return isinstance(draw[0], str) and type(draw[1]) is int and type(draw[2]) is int
