"""What a catalogue must hold: every message that code can ask for, with the placeholders it may use.

The tests hold the three languages against it, and write `docs/glossary.md` from it.
"""

import typing
from collections.abc import Collection, Iterator
from typing import Any, Final, Literal

from engine.protocol import Options, Rules
from engine.registry import RULESETS, game_name
from replay.games import telling
from replay.luck import LOTS

Messages = dict[str, frozenset[str]]
"""Message -> the placeholders it may use."""

REASONS: Final = ("absent", "idle", "chain-exhausted", "restored", "key-lost")
"""Why a game was closed, where the rules know no outcome."""

CHECKS: Final = tuple(f"V{number}" for number in range(15))
LIMITS: Final = (
    "custodial", "seeds", "no-receipts", "no-log", "handed-over", "not-closed", "unsigned-export", "own-policy",
    "no-witness", "close-not-logged", "opened-late", "no-checkpoint", "no-signoff", "receipt-beyond",
    "rules-not-folded", "forked", "case-unsigned",
)  # fmt: skip
MOMENTS: Final = ("close", "lead", "swing")
"""What makes a moment one of the best: see `replay.moments`."""
VERDICTS: Final = ("verified", "verified-with-limits", "refuted", "not-proven", "undetermined")
RESULTS: Final = ("pass", "fail", "limit", "not-checked")
SAID: Final = {
    "V0": ("pass", "limit", "fail", "not-checked"),
    "V1": ("pass", "fail", "not-checked"),
    "V2": ("pass", "fail"),
    "V3": ("pass", "fail"),
    "V4": ("pass", "limit", "fail", "not-checked"),
    "V5": ("pass", "fail", "not-checked"),
    "V6": ("pass", "fail", "not-checked"),
    "V7": ("pass", "fail", "not-checked"),
    "V8": ("pass", "limit", "fail"),
    "V9": ("pass", "fail", "fail.order", "not-checked"),
    "V10": ("pass", "fail", "not-checked"),
    "V11": ("pass", "limit", "fail", "not-checked"),
    "V12": ("pass", "fail", *(f"fail.{code}" for code in ("legality", "draws", "fingerprint", "setup", "order")),
            "not-checked"),
    "V13": ("pass", "limit", "fail"),
    "V14": ("not-checked",),
    "case.V12": ("pass", "fail"),
    "case.V13": ("pass", "fail"),
}  # fmt: skip
"""What is said of a check by its result, and by the sort of what fails; of a dispute's where it differs."""
KEYS: Final = (
    "forward", "back", "next-chapter", "previous-chapter", "start", "end", "jump", "play", "faster", "slower",
    "language", "quit",
)  # fmt: skip
"""What the keys of the terminal player do."""

TABLE: Final[dict[str, tuple[str, ...]]] = (
    {
        "table.event.create": ("game", "seats"),
        "table.event.create.fork": ("game", "seats", "number"),
        "table.event.join": ("player", "seat"),
        "table.event.leave": ("seat",),
        "table.event.lock": (),
        "table.event.seeded": (),
        "table.event.act": ("seat", "action"),
        "table.event.timeout": ("seat",),
        "table.event.resign": ("seat",),
        "table.event.custody": ("seat", "player"),
        "table.event.unknown": ("kind",),
        "table.event.unreadable": ("number",),
        "table.seat": ("number",),
        "table.somebody": (),
        "table.bot": ("name", "level"),
        "table.draw.die": ("purpose", "total", "value"),
        "table.draw.pick": ("purpose", "total", "value"),
        "table.refusal.unknown-action": ("action",),
        "table.refusal.malformed-action": ("action", "expected"),
        "table.grade.EXACT": (),
        "table.grade.UNVERIFIED": ("number",),
        "table.grade.DIVERGED": ("number",),
        "table.player.at": ("number",),
        "table.player.start": (),
        "table.player.end": (),
        "table.player.jump": (),
        "table.player.nowhere": ("text",),
        "table.player.playing": ("speed",),
        "table.player.damage": ("detail",),
    }
    | {f"table.event.close.{status}": () for status in ("finished", "abandoned", "void")}
    | {f"table.event.close.{status}.because": ("reason",) for status in ("finished", "abandoned", "void")}
    | {f"table.reason.{reason}": () for reason in REASONS}
    | {f"table.check.{check}": () for check in CHECKS}
    | {f"table.said.{check}.{result}": () for check, results in SAID.items() for result in results}
    | {f"table.verdict.{verdict}": () for verdict in VERDICTS}
    | {f"table.result.{result}": () for result in RESULTS}
    | {f"table.key.{key}": () for key in KEYS}
    | {f"table.moment.{moment}": ("seat",) for moment in MOMENTS}
    | {f"table.limit.{limit}": ("seats", "count", "number") for limit in LIMITS}
)


LUCK: Final[dict[str, tuple[str, ...]]] = {
    "luck.seat": ("seat",),
    "luck.measured": ("deviation", "expected", "got", "measure", "rolls"),
    "luck.measured.share": ("deviation", "expected", "got", "measure", "rolls"),
    "luck.tail.more": ("games", "got", "percent"),
    "luck.tail.fewer": ("games", "got", "percent"),
    "luck.method.exact": (),
    "luck.method.normal": (),
    "luck.interval": ("high", "low"),
    "luck.shift": ("shift",),
    "luck.shift.share": ("shift",),
    "luck.faces": ("counts", "game", "n", "p", "purpose"),
    "luck.faces.not-checked": ("game", "n", "purpose"),
    "luck.pairs": ("game", "n", "p", "purpose"),
    "luck.pairs.not-checked": ("game", "n", "purpose"),
    "luck.places": ("counts", "game", "n", "p", "purpose"),
    "luck.places.not-checked": ("game", "n", "purpose"),
    "luck.corrected": ("corrected",),
    "luck.findable": ("fair", "findable"),
    "luck.evidence": ("evidence",),
    "luck.recomputed.yes": ("count",),
    "luck.recomputed.no": ("count",),
    "luck.recomputed.elsewhere": (),
    "luck.tests": ("percent", "tests"),
    "luck.no-verdict": (),
    "luck.player": ("games", "left"),
    "luck.service": ("games", "left"),
    "luck.picture.title": (),
    "luck.picture.luck": (),
    "luck.picture.score": (),
    "luck.picture.nothing": (),
    "luck.picture.line": ("luck", "name", "score"),
} | {f"luck.measure.{game}.{measure}": () for game, said in LOTS.items() for measure in said.measures}
"""What the luck report says."""


def options(options: type[Options], inherited: Collection[str] = ()) -> Iterator[str]:
    """The options of a ruleset that are not ``inherited``, and the values of those that choose among words."""
    hints = typing.get_type_hints(options)
    for field in options.__struct_fields__:
        if field in inherited:
            continue
        yield f"option.{field}"
        if typing.get_origin(hints[field]) is Literal:
            yield from (f"option.{field}.{value}" for value in typing.get_args(hints[field]))


def table() -> Messages:
    """The messages that all games share."""
    return {message: frozenset(facts) for message, facts in TABLE.items()} | {
        f"table.{name}": frozenset[str]() for name in options(Options)
    }


def game(rules: Rules[Any]) -> Messages:
    """The messages of one ruleset."""
    name = game_name(rules.id)
    teller = telling(name)
    none = frozenset[str]()
    wanted: Messages = {}
    told = {f"happening.{tag}": kind for tag, kind in rules.happenings.items()}
    asked = {f"action.{tag}": kind for tag, kind in rules.actions.items()}
    for message, kind in (told | asked).items():
        facts = frozenset((*kind.__struct_fields__, *teller.more.get(message, ())))
        for variant in teller.variants.get(message, ("",)):
            wanted[f"{message}.{variant}" if variant else message] = facts
    for tag, chapter in chapters(rules):
        facts = frozenset(rules.happenings[tag].__struct_fields__)
        wanted[f"chapter.{chapter}"] = wanted.get(f"chapter.{chapter}", facts) & facts
    wanted |= {f"refusal.{code}": frozenset(details) for code, details in teller.refusals.items()}
    wanted |= {message: frozenset(facts) for message, facts in teller.parts.items()}
    wanted |= {f"term.{term}": none for term in teller.terms}
    wanted |= {f"purpose.{purpose}": none for purpose in rules.purposes}
    wanted |= {f"form.{form}": none for form in teller.forms}
    wanted |= {f"field.{field}": none for form in teller.forms for field in rules.actions[form].__struct_fields__}
    wanted |= {f"ending.{ending}": none for ending in teller.endings}
    wanted |= dict.fromkeys(options(rules.options, Options.__struct_fields__), none)
    if rules.choice.__struct_fields__:
        wanted["event.join"] = frozenset((*rules.choice.__struct_fields__, "player", "seat"))
    return {f"{name}.{message}": facts for message, facts in wanted.items()}


def chapters(rules: Rules[Any]) -> Iterator[tuple[str, str]]:
    """(happening, chapter kind) of a ruleset."""
    teller = telling(game_name(rules.id))
    yield from teller.chapters.items()
    yield from teller.rare_chapters.items()


def domains() -> dict[str, Messages]:
    """The messages of every catalogue file, by its domain."""
    found = {"table": table(), "luck": {message: frozenset(facts) for message, facts in LUCK.items()}}
    for rules in RULESETS.values():
        found.setdefault(game_name(rules.id), {}).update(game(rules))
    return found
