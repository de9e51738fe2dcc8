"""Chromium, as tests, screenshots and measurements open pages with it."""

import shutil
from typing import Any, Final

FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium_path() -> str | None:
    """Where the browser is; None: there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def launched(playwright: Any) -> Any:
    """The browser, to be closed by whoever asked.

    :raises FileNotFoundError: there is none.
    """
    if (path := chromium_path()) is None:
        raise FileNotFoundError("no Chromium is installed; requirements/system.sh tells how")
    return playwright.chromium.launch(executable_path=path, args=list(FLAGS))
