"""The exports of verify.mjs, called under node."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

NODE = shutil.which("node")


class Big:
    """A number that travels as a bigint."""

    def __init__(self, value: int) -> None:
        self.value = value


def run(calls: list[list[Any]]) -> list[Any]:
    """The answers of the module's exports; bytes as bytes, an exception as {"error": its text}."""
    driver = Path(__file__).with_name("call_verify.mjs")
    done = subprocess.run(
        [NODE or "node", driver], input=json.dumps(calls, default=_to_json), capture_output=True, text=True, check=True
    )
    answers: list[Any] = json.loads(done.stdout, object_hook=_from_json)
    return answers


def call(data: bytes, policy: str | None, receipts_key: str | None, receipts: dict[str, bytes]) -> list[Any]:
    """The call for the verdict on a bundle."""
    trust = {"policy": None if policy is None else policy.encode(), "receiptsKey": receipts_key}
    return ["judge", data, trust, list(receipts.items())]


def verdicts(bundles: list[bytes], policy: str | None, receipts: dict[str, bytes] | None = None) -> list[Any]:
    """The second verifier's verdicts."""
    return run([call(data, policy, None, receipts or {}) for data in bundles])


def failed(answer: Any) -> bool:
    return isinstance(answer, dict) and "error" in answer


def _to_json(value: Any) -> dict[str, str]:
    return {"hex": value.hex()} if isinstance(value, bytes) else {"int": str(value.value)}


def _from_json(value: dict[str, Any]) -> Any:
    if "hex" in value:
        return bytes.fromhex(value["hex"])
    return int(value["int"]) if "int" in value else value
