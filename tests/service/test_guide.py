"""docs/api.md: its commands are run one after the other by a shell, against a service of their own."""

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from werkzeug.serving import make_server

GUIDE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", GUIDE, re.DOTALL | re.MULTILINE)
MARK = "=====8<====="

# As much of jq as the guide uses, so that the tests need no jq: paths, separated by commas; -r and -c.
JQ = f"""#!{sys.executable}
import json, re, sys
flags = [word for word in sys.argv[1:] if word.startswith("-")]
(program,) = [word for word in sys.argv[1:] if not word.startswith("-")]
data = json.load(sys.stdin)
for path in program.split(", "):
    found = data
    for name, key, index in re.findall(r'\\.(\\w+)|\\["([^"]+)"\\]|\\[(-?\\d+)\\]', path):
        found = found[name or key or int(index)]
    compact = (",", ":") if "-c" in flags else (", ", ": ")
    print(found if "-r" in flags and isinstance(found, str) else json.dumps(found, separators=compact))
"""


@pytest.fixture
def address(house: Any) -> Any:
    server = make_server("127.0.0.1", 0, house.app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    house.deps.close()
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_guide_shows_what_its_commands_print(address: str, tmp_path: Path) -> None:
    version = re.search(r"curl (\d+)\.(\d+)", _output(["curl", "--version"])) if shutil.which("curl") else None
    if version is None or (int(version[1]), int(version[2])) < (7, 83) or not shutil.which("bash"):
        pytest.skip("needs bash, and curl 7.83 or newer")
    jq = tmp_path / "jq"
    jq.write_text(JQ)
    jq.chmod(0o755)
    assert len(BLOCKS) >= 20
    script = "set -eu -o pipefail\n" + "".join(f"{commands}echo '{MARK}'\n" for commands, _ in BLOCKS)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "S": address, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    printed = done.stdout.split(f"{MARK}\n")
    for (commands, expected), found in zip(BLOCKS, printed, strict=False):
        assert found == expected, f"{commands}\n{done.stderr[-2000:]}"
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(printed) == len(BLOCKS) + 1


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
