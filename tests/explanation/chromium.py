"""A headless Chromium, duration to in the DevTools protocol over two pipes: no driver and no package needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--hide-scrollbars", "--mute-audio",
    "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync",
    "--disable-dev-shm-usage", "about:blank",
)  # fmt: skip


def executable() -> str | None:
    """Return the browser that is on this machine, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """A browser with one page. `console`: what pages wrote and the browser complained of; `requests`: what they asked for."""

    def __init__(self, path: str) -> None:
        self.console: list[str] = []
        self.requests: list[str] = []
        self._buffer, self._number, self._events = b"", 0, list[dict[str, Any]]()
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        read_there, self._write = os.pipe()
        self._read, write_there = os.pipe()
        flags = [*FLAGS, f"--user-data-dir={self._profile.name}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        script = f'exec "$@" 3<&{read_there} 4>&{write_there}'  # the browser reads from descriptor 3 and writes to 4
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", path, *flags], pass_fds=(read_there, write_there),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_there)
        os.close(write_there)
        target = self.ask("Target.createTarget", session=None, url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", session=None, targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def ask(self, method: str, *, session: str | None = "page", **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            got = self._next()
            if got.get("id") == self._number:
                assert "error" not in got, f"{method}: {got['error']}"
                result: dict[str, Any] = got["result"]
                return result
            self._note(got)

    def _next(self, seconds: float = 60) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], seconds)
            got = os.read(self._read, 1 << 20) if ready else b""
            assert got, "the browser ended, or does not answer"
            self._buffer += got
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        found = event.get("params", {})
        self._events.append(event)
        match event.get("method"):
            case "Runtime.consoleAPICalled":
                self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in found["args"]))
            case "Runtime.exceptionThrown":
                self.console.append(str(found["exceptionDetails"].get("text")))
            case "Log.entryAdded":
                self.console.append(f"{found['entry']['level']}: {found['entry']['text']}")
            case "Network.requestWillBeSent":
                self.requests.append(found["request"]["url"])

    def open(self, page: Path | str, width: int = 1280, height: int = 800, *, dark: bool = False) -> None:
        """Load a file, or an address, in a window of this size, and forget what was noted of the page before."""
        self.console.clear()
        self.requests.clear()
        self._events.clear()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        deadline = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self._events):
            assert time.monotonic() < deadline, "the page does not load"
            self._note(self._next())

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression on the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str, seconds: float = 20) -> None:
        """Wait until a JavaScript expression is true."""
        deadline = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < deadline, f"never true: {condition}"
            time.sleep(0.02)

    def picture(self, *, top: int = 0, height: int | None = None, width: int = 1280, scale: float = 1) -> bytes:
        """Return the page, or a part of it, as PNG."""
        tall = height or self.run("Math.ceil(document.documentElement.getBoundingClientRect().height)") - top
        clip = {"x": 0, "y": top, "width": width, "height": tall, "scale": scale}
        answer = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(answer["data"])

    def printed(self) -> bytes:
        """Return the page as PDF."""
        answer = self.ask(
            "Page.printToPDF", printBackground=True, preferCSSPageSize=False, paperWidth=8.27, paperHeight=11.69
        )
        return base64.b64decode(answer["data"])
