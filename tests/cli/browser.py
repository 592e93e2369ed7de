"""A headless browser that is asked and answered over a pipe: nothing in it depends on how fast the machine is."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 300  # seconds, for an answer that does not come


class Browser:
    """One page at a time, of so many CSS pixels. Its profile goes into a folder that is the caller's."""

    def __init__(self, folder: pathlib.Path) -> None:
        to_browser, self._questions = os.pipe()
        self._answers, from_browser = os.pipe()
        self._log = open(folder / "browser.log", "wb")

        def pipes() -> None:  # the browser reads from 3 and writes to 4
            given = os.dup(to_browser), os.dup(from_browser)
            os.dup2(given[0], 3)
            os.dup2(given[1], 4)

        self._process = subprocess.Popen(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={folder}/profile", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, preexec_fn=pipes, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._unread = b""
        self._session = None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._ask("Page.enable")

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._questions)
        self._process.kill()
        self._process.wait()
        os.close(self._answers)
        self._log.close()

    def open(self, page: pathlib.Path, width: int, height: int, scale: float = 1.0) -> None:
        """Returns when it is loaded."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self._ask("Page.navigate", url=page.as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def evaluate(self, program: str) -> object:
        """The value of an expression, or of the promise that it is, as JSON has it. What is thrown there is raised here."""
        answer = self._ask("Runtime.evaluate", expression=program, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"], indent=1))
        return answer["result"].get("value")

    def screenshot(self, file: pathlib.Path) -> None:
        file.write_bytes(base64.b64decode(self._ask("Page.captureScreenshot", format="png")["data"]))

    def _ask(self, method: str, **parameters: object) -> dict:
        self._number += 1
        question = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            question["sessionId"] = self._session
        data = json.dumps(question).encode() + b"\0"
        while data:
            data = data[os.write(self._questions, data):]
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _message(self) -> dict:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE)
            piece = os.read(self._answers, 1 << 16) if ready else b""
            if not piece:
                raise RuntimeError("the browser says nothing:\n" + pathlib.Path(self._log.name).read_text()[-2000:])
            self._unread += piece
        message, self._unread = self._unread.split(b"\0", 1)
        return json.loads(message)
