#!/usr/bin/env python3
"""Runs the built `fheres` on every golden case and compares what it says, byte for byte.

A case is a folder:
  command          arguments, one shell-like line; run inside the folder, `{root}` is the project's root
  expected.stdout, expected.stderr, expected.exit
  varies           where it is there, what differs between two runs is left out: durations in a text, and in JSON what
                   stands under timing and observed, and state versions
  interrupted      where it is there, the command starts with SIGINT sent and held back, until it looks for it
  anything else    input
A file that the command leaves behind in the folder is an error: a refused document must write nothing.

usage: run.py FHERES [CASE...]        FHERES_UPDATE_GOLDEN=1 writes what was expected anew
"""
import difflib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
UPDATE = os.environ.get("FHERES_UPDATE_GOLDEN") == "1"


def settled(value):
    """JSON without what varies."""
    if isinstance(value, list):
        return [settled(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: settled(item) for key, item in value.items() if key not in ("timing", "observed", "expected_version")}


def without_what_was_made(text):
    """Of an interrupted run: keys and inputs are made while it goes on."""
    return re.sub(r"[\d.]+ (B|KiB) made", "BYTES made", re.sub(r'("bytes_made": )\d+', r"\1null", text))


def without_what_varies(text):
    if text.startswith("{"):
        return json.dumps(settled(json.loads(text)), indent=2) + "\n"
    text = re.sub(r"\b\d+(\.\d+)? (ns|µs|ms|s)\b", "TIME", text)
    return re.sub(r"(?m)(?<=\S) {2,}", "  ", text)


def interrupt():
    """Of the process that becomes the command: a signal that is blocked stays, and becomes the command's."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)


def run(binary, case):
    arguments = shlex.split((case / "command").read_text().replace("{root}", str(ROOT)))
    environment = dict(os.environ, NO_COLOR="1", LC_ALL="C.UTF-8")
    done = subprocess.run([binary, *arguments], cwd=case, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=600, preexec_fn=interrupt if (case / "interrupted").exists() else None)
    settle = without_what_varies if (case / "varies").exists() else lambda text: text
    if (case / "interrupted").exists():
        settle = lambda text: without_what_was_made(without_what_varies(text))
    hide = lambda text: settle(text.decode("utf-8", "backslashreplace").replace(str(ROOT), "{root}"))
    return {"expected.stdout": hide(done.stdout), "expected.stderr": hide(done.stderr),
            "expected.exit": f"{done.returncode}\n"}


def differences(case, actual):
    lines = []
    for name, text in actual.items():
        path = case / name
        expected = path.read_text() if path.exists() else ""
        if expected != text:
            lines += difflib.unified_diff(expected.splitlines(), text.splitlines(), f"{case.name}/{name}",
                                          "what it says now", lineterm="")
    return lines


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    names = sys.argv[2:] or sorted(path.parent.name for path in HERE.glob("*/command"))
    failed = []
    for name in names:
        case = HERE / name
        before = set(case.iterdir())
        actual = run(binary, case)
        new = [path.name for path in set(case.iterdir()) - before]
        if UPDATE:
            for file, text in actual.items():
                (case / file).write_text(text)
        lines = differences(case, actual)
        if new:
            lines.append(f"{name}: the command left {', '.join(sorted(new))} behind")
        if lines:
            failed.append(name)
            print("\n".join(lines))
    print(f"{len(names) - len(failed)} of {len(names)} golden cases as expected")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
