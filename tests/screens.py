"""Pages as people see them: rendered by headless Chromium at several widths, light and dark.

``screens(page)`` returns findings: text that is cut or leaves its box, boxes and texts that
overlap, tables and pictures that are cut, text that hardly differs from its background, messages
on the console, and requests to a network.  From a shell, with pictures to look at::

    python -m tests.screens PAGE.html [--pictures FOLDER] [--open]

Chromium is driven through its DevTools protocol over two pipes, so no further package is needed.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WIDTHS = (480, 1280, 1920)
SCHEMES = ("light", "dark")
HEIGHT = 900
PATIENCE = 60.0
"""Seconds until an answer of the browser is overdue."""
PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
               None)
MISSING = "Chromium is not on PATH (Debian: apt install chromium)"
CHECK = (Path(__file__).parent / "screens.js").read_text()
SETTLED = """() => new Promise((done) => {
  let timer = setTimeout(done, 50);
  new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, 50); }).observe(
    document, {subtree: true, childList: true, attributes: true});
})"""
OPEN = "document.querySelectorAll('details').forEach(each => each.open = true)"

PLUGGED = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts Chromium with the pipes where it wants them: it reads from 3 and writes to 4."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong on a page, where, and on which screen."""

    kind: str
    what: str
    width: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.width} {self.scheme}: {self.kind}: {self.what}"


@dataclass(slots=True)
class Tab:
    """A page in a browser."""

    browser: Browser
    session: str
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Messages on the console, and requests, since the page was opened."""

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        return self.browser.send(method, self.session, **parameters)

    def run(self, script: str) -> Any:
        """The value of an expression, or of a promise."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True,
                          awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def settle(self) -> None:
        """Wait until scripts have not changed the page for a moment."""
        self.run(f"({SETTLED})()")

    def show(self, width: int, scheme: str, height: int = HEIGHT) -> None:
        """Set the size of the window, and light or dark."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            code = {"Enter": 13, "Escape": 27}.get(key)
            number = {} if code is None else {"windowsVirtualKeyCode": code}
            self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **number)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key, **number)

    def click(self, selector: str) -> None:
        """Click the middle of the first element that a selector finds, by the mouse."""
        x, y = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const r = e.getClientRects()[0];"
            " return [r.left + Math.min(r.width / 2, 60), r.top + r.height / 2]; })"
            f"(document.querySelector({json.dumps(selector)}))")
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """Write a picture of the page, or of what the window shows."""
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=whole, **(
            {"clip": {"x": 0, "y": 0, "scale": 1, **self.run(
                "({width: innerWidth, height: Math.min(16000, "
                "document.documentElement.scrollHeight)})")}} if whole else {}))
        path.write_bytes(base64.b64decode(shot["data"]))

    def findings(self, width: int, scheme: str) -> list[Finding]:
        """What is wrong with the page as it is shown now, at this width."""
        self.show(width, scheme)
        self.settle()
        found = [*self.problems, *map(tuple, self.run(f"({CHECK})()"))]
        self.problems.clear()
        return [Finding(kind, what, width, scheme) for kind, what in found]


class Browser:
    """A Chromium without a window."""

    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None, MISSING
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-ISc", PLUGGED, str(to_read), str(to_write), PROGRAM, "--headless",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._read = b""
        self._tabs: dict[str, Tab] = {}

    def open(self, page: Path) -> Tab:
        """Open a file, and wait until it is loaded."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self._tabs[session] = Tab(self, session)
        for part in ("Page", "Runtime", "Log", "Network"):
            tab.send(f"{part}.enable")
        tab.show(WIDTHS[1], SCHEMES[0])
        tab.send("Page.navigate", url=page.resolve().as_uri())
        tab.run("new Promise(done => document.readyState === 'complete' ? done() : "
                "addEventListener('load', () => done()))")
        return tab

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol, and wait for its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            got = self._message()
            if got.get("id") == self._number:
                if "error" in got:
                    raise AssertionError(f"{method}: {got['error']}")
                return dict(got["result"])
            if (tab := self._tabs.get(got.get("sessionId", ""))) is not None:
                tab.problems += _problems(got["method"], got["params"])

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            assert select.select([self._from], [], [], PATIENCE)[0], "Chromium does not answer"
            part = os.read(self._from, 1 << 20)
            assert part, "Chromium has ended"
            self._read += part
        text, _, self._read = self._read.partition(b"\0")
        return dict(json.loads(text))

    def close(self) -> None:
        """End it."""
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        self._process.wait(20)


def _problems(method: str, said: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What an event of the protocol tells of a page that should not be."""
    if method == "Runtime.exceptionThrown":
        details = said["exceptionDetails"]
        yield "error", details.get("exception", {}).get("description", details["text"])
    elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
        yield "console", " ".join(str(each.get("value", each)) for each in said["args"])
    elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
        yield "console", f"{said['entry']['text']} {said['entry'].get('url', '')}"
    elif method == "Network.requestWillBeSent":
        url = said["request"]["url"]
        if not url.startswith(("file:", "data:", "about:", "blob:")):
            yield "network", url


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        found = Browser(Path(folder))
        try:
            yield found
        finally:
            found.close()


def screens(page: Path, *, widths: Sequence[int] = WIDTHS, schemes: Sequence[str] = SCHEMES,
            opened: bool = True, pictures: Path | None = None) -> list[Finding]:
    """What is wrong with a page on all screens, with folded parts ``opened`` or as they are.

    ``pictures`` is a folder for a picture of each screen.
    """
    with browser() as started:
        tab = started.open(page)
        tab.settle()
        if opened:
            tab.run(OPEN)
        found = list[Finding]()
        for width in widths:
            for scheme in schemes:
                found += tab.findings(width, scheme)
                if pictures is not None:
                    pictures.mkdir(parents=True, exist_ok=True)
                    tab.picture(pictures / f"{page.stem}-{width}-{scheme}.png")
        return found


def main() -> int:
    """Print the findings of pages; the status is 1 if there are any."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", type=Path, nargs="+", metavar="PAGE")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER",
                        help="write a picture of each screen")
    parser.add_argument("--folded", action="store_true", help="leave folded parts folded")
    args = parser.parse_args()
    if PROGRAM is None:
        sys.exit(MISSING)
    found = [(page, each) for page in args.pages
             for each in screens(page, opened=not args.folded, pictures=args.pictures)]
    for page, finding in found:
        print(f"{page.name} {finding}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
