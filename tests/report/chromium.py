"""A headless Chromium to look at pages with, driven through two pipes: no port, no network.

Law: one browser per test, with an empty profile, ended when the test is over. Commands and answers
are those of the Chrome DevTools Protocol, each ended by a zero byte.
"""

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any, Self

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip


# The browser speaks on descriptors 3 and 4: our pipes are put there, by way of two that are free.
_PLACE = """
import os, sys
os.dup2(int(sys.argv[1]), 100)
os.dup2(int(sys.argv[2]), 101)
os.dup2(100, 3)
os.dup2(101, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Chromium:
    """A browser with one page."""

    def __init__(self, folder: Path, width: int = 1280, height: int = 900) -> None:
        """Start it; use as a context manager."""
        assert BROWSER is not None, "tests without a browser are skipped"
        self.complaints: list[str] = []
        """What the page's scripts, or the browser about them, had to complain of."""
        self.asked: list[str] = []
        """What the page asked the network, or the disk, for."""
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        words = [BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PLACE, str(theirs_in), str(theirs_out), *words],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest, self._number, self._session = b"", 0, ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._call("Browser.close")
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def resize(self, width: int, height: int) -> None:
        """Give the page another size."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip

    def prefer(self, scheme: str) -> None:
        """Prefer light or dark."""
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, page: Path) -> None:
        """Show a page, and wait until it is there and drawn."""
        self._call("Page.navigate", url=page.as_uri())
        while not self.ask("document.readyState === 'complete' && location.protocol === 'file:'"):
            pass
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for has been drawn."""
        self.ask("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")

    def ask(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        answer = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
            self._call("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.settle()

    def point(self, x: float, y: float) -> None:
        """Move the mouse."""
        self._mouse("mouseMoved", x, y)
        self.settle()

    def drag(self, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the mouse's button at one place, and release it at another."""
        self._mouse("mouseMoved", *begin)
        self._mouse("mousePressed", *begin, button="left", buttons=1, clickCount=1)
        self._mouse("mouseMoved", *end, button="left", buttons=1)
        self._mouse("mouseReleased", *end, button="left", clickCount=1)
        self.settle()

    def wheel(self, x: float, y: float, by: float) -> None:
        """Turn the wheel with Ctrl held down."""
        self._mouse("mouseWheel", x, y, deltaX=0, deltaY=by, modifiers=2)
        self.settle()

    def screenshot(self, file: Path) -> None:
        """Keep what is seen."""
        shown = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(b64decode(shown["data"]))

    def _mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        command: dict[str, object] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return dict(message["result"])
            self._note(message)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            block = os.read(self._from, 1 << 16)
            assert block, "the browser has ended"
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(line))

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled":
                self.complaints.append(json.dumps(parameters))
            case "Network.requestWillBeSent":
                self.asked.append(parameters["request"]["url"])
            case _:
                pass
