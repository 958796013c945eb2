"""A headless Chromium, steered over a pipe by its DevTools protocol with the standard library alone."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from tests.conftest import HANGS

MISSING = "no chromium here; Debian's package of that name is enough"
"""Why tests that need a browser are skipped."""

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)


def found() -> str | None:
    """The browser's path, where there is one."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One browser with one page; use it in a ``with`` statement."""

    def __init__(self, profile: Path) -> None:
        program = found()
        if program is None:
            pytest.skip(MISSING)
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # The protocol's pipe is at file descriptors 3 and 4, which only a shell gives a child with certainty.
        command = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", command, "bash", program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._read, self._write = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self._rest, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        # Its first page may not be there yet.
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._write.close()
        self._process.terminate()
        self._process.wait(timeout=HANGS)
        self._read.close()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; events that come in between are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        self._write.flush()
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self.events.append(answer)

    def open(
        self, page: Path, *, width: int, height: int = 900, dark: bool = False, phone: bool = False
    ) -> None:
        """Show a file at a size, in light or dark, and wait until it is drawn; events start anew."""
        self.events = []
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        loader = self.call("Page.navigate", url=page.resolve().as_uri())["loaderId"]
        # An earlier page may be loaded meanwhile.
        while not any(
            event["method"] == "Page.lifecycleEvent"
            and (event["params"]["name"], event["params"]["loaderId"]) == ("load", loader)
            for event in self.events
        ):
            self.events.append(self._next())

    def value(self, expression: str) -> Any:
        """What an expression gives in the page."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """A key, down and up."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        down = "keyDown" if text else "rawKeyDown"
        shared = {"key": key, "code": {" ": "Space"}.get(key, key), "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type=down, text=text, **shared)
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def screenshot(self, path: Path, *, whole: bool = True) -> bytes:
        """A picture of the whole page, or of what is in view, as PNG."""
        reply = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        data = base64.b64decode(reply["data"])
        path.write_bytes(data)
        return data

    def pdf(self, path: Path) -> bytes:
        """The page as it prints."""
        reply = self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        data = base64.b64decode(reply["data"])
        path.write_bytes(data)
        return data

    def complaints(self) -> list[str]:
        """What the console and the log hold since the page was opened."""
        found = []
        for event in self.events:
            if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(json.dumps(event["params"]))
        return found

    def requests(self) -> list[str]:
        """Every address requested since the page was opened; ``data:`` is inside the page."""
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        addresses = [str(event["params"]["request"]["url"]) for event in sent]
        return [address for address in addresses if not address.startswith("data:")]

    def _next(self) -> dict[str, Any]:
        """The next message of the browser."""
        while b"\0" not in self._rest:
            piece = os.read(self._read.fileno(), 1 << 20)
            assert piece, "the browser is gone"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(message))
