"""What the evidence costs: an accepted action with its receipt and without, in turns; its share of chain and dice."""

import io
import time
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import Any, Final
from unittest.mock import patch

from bench import figures, profiling
from bench.figures import Figure, Profile, beside, say
from bench.games import Plan, finished
from bench.servers import Servers, servers
from service.proofs.receipts import Notary
from service.running import logs

GAMES: Final = 8
_UNSIGNED: Final = "x" * 300


def measure(scale: int) -> tuple[list[Figure], list[Profile]]:
    """The figures, and where an action's time goes. ``scale``: requests of each game in all rounds together."""
    with servers(finished(0, 4)[100].data) as running:
        say("what the evidence costs: games are begun")
        each = max(1, scale // (2 * figures.ROUNDS))
        plans = [Plan(running, scale + 2 * each * figures.ROUNDS + 2) for _ in range(GAMES)]
        receipts = _receipts(running, plans, each)
        say("what the evidence costs: stages")
        action, _ = profiling.actions(running, plans, scale)
    return [receipts, *_shares(action)], [action]


def _receipts(running: Servers, plans: Sequence[Plan], each: int) -> Figure:
    """Processor time of an action from WSGI in, beside that of one whose receipt is a constant."""
    deps, app = profiling.application(running)
    took: dict[bool, list[float]] = {True: [], False: []}
    with redirect_stderr(io.StringIO()):
        logs.configure(deps.config.log_level, "bench")
        profiling.serve(app, (request for plan in plans for request in plan.take(1)))
        for number in range(figures.ROUNDS):
            for signed in (True, False) if number % 2 else (False, True):
                took[signed].append(_took(app, plans, each, signed))
    deps.redis.close()
    return beside(
        "processor time of an accepted action with its receipt", "µs", took[True], took[False], "the same unsigned",
        1.3, at_most=True,
    )  # fmt: skip


def _took(app: Any, plans: Sequence[Plan], each: int, signed: bool) -> float:
    asked = [request for plan in plans for request in plan.take(each)]
    with patch.object(Notary, "receipt", Notary.receipt if signed else lambda *_: _UNSIGNED):
        started = time.process_time()
        profiling.serve(app, asked)
        return (time.process_time() - started) / len(asked) * 1e6


def _shares(action: Profile) -> list[Figure]:
    """Stages beside the rest of the action. Timing a stage costs about a microsecond, which these pay in full."""
    whole = sum(action.stages.values())

    def part(name: str, beginning: str, target: float) -> Figure:
        spent = sum(took for stage, took in action.stages.items() if stage.startswith(beginning))
        return Figure(name, spent, "µs", whole - spent, "the rest of the action", target, at_most=True)

    return [part("the receipt", "the receipt", 0.3), part("hash chain and dice", "chain and dice", 0.1)]
