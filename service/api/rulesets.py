"""Rulesets: the games on offer, with the JSON Schemas of everything that a client may choose and do."""

import hashlib
from functools import cache
from typing import Any, Final

import msgspec
from flask import Response

from engine.registry import BOTS, RULESETS, game_name
from replay.fingerprint import rules_hash
from replay.words import words
from service import rulebook
from service.api import shapes
from service.api.problems import Problem
from service.api.routing import Api, Call, not_modified, reply, unchanged

api = Api()
MARKDOWN: Final = "text/markdown"
_CACHE: Final = "public, max-age=300"


def resolve(name: str) -> str | None:
    """The id of a ruleset, from it or from a game's name, which means its newest version; None: not on offer."""
    if name in RULESETS:
        return name
    versions = [ruleset for ruleset in RULESETS if game_name(ruleset) == name]
    return max(versions, key=lambda ruleset: int(ruleset.partition("@")[2])) if versions else None


@api.route("GET", "/v1/rulesets", tag="rulesets", auth="nobody", returns=shapes.Rulesets)
def list_rulesets(call: Call) -> Response:
    """The games on offer."""
    shown = shapes.Rulesets(rulesets=[shapes.RulesetSummary(**_summary(ruleset, call)) for ruleset in sorted(RULESETS)])
    return reply(shown, headers={"Cache-Control": _CACHE}, language=call.language)


@api.route(
    "GET",
    "/v1/rulesets/<ruleset:ruleset>",
    tag="rulesets",
    auth="nobody",
    returns=shapes.RulesetDetail,
    problems=("ruleset-not-found",),
    headers=("ETag",),
    takes=("If-None-Match",),
    statuses={304: ("What the caller holds is what there is.", None)},
)
def show_ruleset(call: Call, ruleset: str) -> Response:
    """One game: its options, what a seat may choose and do, and its bots. A name without version means the newest."""
    if (name := resolve(ruleset)) is None:
        raise Problem("ruleset-not-found", {"ruleset": ruleset})
    hashed = rules_hash(RULESETS[name]).hex()
    texts = rulebook.digests(game_name(name))
    said = hashlib.sha256(b"".join(texts.values())).hexdigest()
    tag = f'"{hashed[:16]}.{said[:16]}.{name}.{call.language}"'
    if unchanged(tag):
        return not_modified(tag, {"Cache-Control": _CACHE})
    shown = shapes.RulesetDetail(
        **_summary(name, call),
        rules_hash=hashed,
        texts={
            language: shapes.RulesText(href=f"/v1/rulesets/{name}/text?lang={language}", sha256=digest.hex())
            for language, digest in texts.items()
        },
        **_schemas(name),
        bots=[shapes.BotInfo(name=bot.name, levels=list(bot.levels)) for bot in BOTS.get(game_name(name), {}).values()],
    )
    return reply(shown, headers={"ETag": tag, "Cache-Control": _CACHE}, language=call.language)


@api.route(
    "GET",
    "/v1/rulesets/<ruleset:ruleset>/text",
    tag="rulesets",
    auth="nobody",
    returns=None,
    problems=("ruleset-not-found",),
    headers=("ETag",),
    takes=("If-None-Match",),
    statuses={304: ("What the caller holds is what there is.", None)},
    media={MARKDOWN: str},
)
def show_rules_text(call: Call, ruleset: str) -> Response:
    """The rules in words, as Markdown: the number of a heading is what `rule` cites in events, refusals and checks."""
    name = resolve(ruleset)
    texts = {} if name is None else rulebook.digests(game_name(name))
    language = call.language if call.language in texts else "en"
    if name is None or language not in texts:
        raise Problem("ruleset-not-found", {"ruleset": ruleset})
    tag = f'"{texts[language].hex()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": _CACHE, "Content-Language": language}
    if unchanged(tag):
        return not_modified(tag, headers)
    text = rulebook.path(game_name(name), language).read_bytes()
    return Response(text, headers=headers, content_type=f"{MARKDOWN}; charset=utf-8")


def _summary(ruleset: str, call: Call) -> dict[str, Any]:
    rules = RULESETS[ruleset]
    game = game_name(ruleset)
    term = words(call.language).term("game", game)
    return {
        "ruleset": ruleset,
        "game": game,
        "title": term.text if term else game,
        "seats": shapes.SeatRange(minimum=rules.seats[0], maximum=rules.seats[-1]),
        "links": {"self": f"/v1/rulesets/{ruleset}", "games": f"/v1/games?ruleset={ruleset}"},
    }


@cache
def _schemas(ruleset: str) -> dict[str, Any]:
    rules = RULESETS[ruleset]
    return {
        "options": _schema(rules.options),
        "choice": _schema(rules.choice),
        "actions": {name: _schema(action) for name, action in rules.actions.items()},
        "choices": _schema(list[shapes.ChoiceOut]),
        "happenings": {name: _schema(happening) for name, happening in rules.happenings.items()},
        "purposes": dict(rules.purposes),
    }


def _schema(kind: Any) -> dict[str, Any]:
    """One self-contained JSON Schema (2020-12): its parts stand under ``$defs``."""
    (schema,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, **({"$defs": parts} if parts else {})}
