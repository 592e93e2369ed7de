"""What the tests of the command line share: running the built tool in a folder of its own."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FHERES = os.environ["FHERES"]  # set by ctest: the built binary
SANITIZED = bool(os.environ.get("FHERES_SANITIZE"))  # then it is slower and larger by far
SAMPLE = "samples/automatic-rotate-scale.yaml"
GRANULE = 256
PATIENCE = 600  # seconds, for a process that does not end: a sanitizer on a busy machine is slow, and only a fault takes so long


def some(cases: list | tuple) -> list | tuple:
    """Under a sanitizer a start of the tool costs up to a second, and says the same of every case."""
    return cases[::4] if SANITIZED else cases


class ToolTest(unittest.TestCase):
    def setUp(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self) -> None:
        self._folder.cleanup()

    def fheres(self, *arguments: object, expect: int = 0, **options: object) -> subprocess.CompletedProcess:
        """Runs in the repository's root; fails the test with both streams when the exit code is not the expected one."""
        result = subprocess.run([FHERES, *map(str, arguments)], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE,
                                **options)
        self.assertEqual(result.returncode, expect, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result

    def json(self, *arguments: object, expect: int = 0) -> dict:
        return json.loads(self.fheres(*arguments, "--json", expect=expect).stdout)
