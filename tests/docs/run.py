#!/usr/bin/env python3
"""Runs every command that README.md and docs/ show, and compares what it prints with what the page shows.

 - In a ```console block a line `$ COMMAND` is run, in order, in one folder a page that holds the samples, the plans and
   the docs. The lines up to the next command are its output: not compared where there are none; `...` stands for any text;
   times, rates, errors of decrypted results, hashes and the reason for an emulated device are left out. A command exits 0, unless the page then shows `$ echo $?` and another code.
 - In a ```sh block every line is a command, nothing is compared.
 - What a test cannot run here stands in ELSEWHERE, with who runs it instead; anything else that is not fheres is an error.
 - ```yaml file=NAME writes that file into the page's folder; any block with excerpt=PATH must stand so in that file.
 - `fheres COMMAND --option` in running text must name a command and options that there are.
 - A link to a file must lead somewhere.

usage: run.py FHERES [PAGE...]
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "scripts/demo.sh": "builds and runs what README.md shows of it, which is run here",
    "scripts/test.sh": "what .ci/run does",
    "scripts/gpu.sh": "needs a GPU",
    "cmake --install ": "tests/install",
    "cpack ": "tests/install",
    "apt-get install ./": "scripts/clean_system.sh",
}


def normal(text: str) -> str:
    """What stays the same between runs and machines, words separated by single spaces."""
    text = re.sub(r"\(no CUDA device: [^)]*\)|\(built without CUDA\)", "(no device)", text)
    text = re.sub(r"\b\d+(\.\d+)? (ns|µs|ms|s|GB/s|MB/s)(?![\w/])", "T", text)
    text = re.sub(r"\b\d\.\de-\d\d\b", "E", text)
    text = re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b", "H", text)
    return " ".join(text.split())


def matches(shown: str, printed: str) -> bool:
    pieces = [normal(piece) for piece in shown.split("...")]
    return re.fullmatch(".*".join(map(re.escape, pieces)), normal(printed), re.DOTALL) is not None


class Page:
    def __init__(self, path: pathlib.Path, tool: str) -> None:
        self.path, self.tool = path, tool
        self.name = path.relative_to(ROOT).as_posix()
        self.findings: list[str] = []
        self.commands = 0

    def wrong(self, line: int, message: str) -> None:
        self.findings.append(f"{self.name}:{line}: {message}")

    def check(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            for name in ("samples", "plans", "docs"):
                shutil.copytree(ROOT / name, self.folder / name, ignore=shutil.ignore_patterns("images"))
            (self.folder / "bin").mkdir()
            (self.folder / "bin" / "fheres").symlink_to(self.tool)
            block, start, info = [], 0, ""
            for number, line in enumerate(self.path.read_text().splitlines(), 1):
                if line.startswith("```"):
                    if start:
                        self.block(info, start, block)
                        start = 0
                    else:
                        block, start, info = [], number, line[3:].strip()
                elif start:
                    block.append(line)
                else:
                    self.prose(number, line)
            if start:
                self.wrong(start, "the block never ends")

    def block(self, info: str, start: int, lines: list) -> None:
        kind, _, options = info.partition(" ")
        for name, value in re.findall(r"(\w+)=(\S+)", options):
            if name == "file":
                (self.folder / value).write_text("\n".join(lines) + "\n")
            elif name == "excerpt":
                whole = (ROOT / value).read_text() if (ROOT / value).exists() else ""
                bare = lambda text: "\n".join(line.strip() for line in text.splitlines())
                if bare("\n".join(lines)) not in bare(whole):
                    self.wrong(start, f"this does not stand in {value}")
        if kind == "sh":
            for number, line in enumerate(lines, start + 1):
                command = line.split("  #")[0].strip()
                if command and not command.startswith("#"):
                    self.run(number, command, [], 0)
        elif kind == "console":
            steps: list[list] = []  # [line, command, output]
            for number, line in enumerate(lines, start + 1):
                if line.startswith("$ "):
                    steps.append([number, line[2:], []])
                elif steps and steps[-1][1].endswith("\\"):
                    steps[-1][1] = steps[-1][1][:-1] + line.lstrip("> ")
                elif steps:
                    steps[-1][2].append(line)
                else:
                    self.wrong(number, "output of no command")
            for step, after in zip(steps, steps[1:] + [None]):
                if step[1] == "echo $?":
                    continue
                code = int(after[2][0]) if after and after[1] == "echo $?" else 0
                self.run(*step, code)
        elif any(line.startswith("$ ") for line in lines):
            self.wrong(start, "commands outside of a console block")

    def run(self, line: int, command: str, shown: list, code: int) -> None:
        if any(command.startswith(start) for start in ELSEWHERE):
            return
        if not command.startswith(("fheres ", "cat ", "grep ")):
            self.wrong(line, f"`{command}` is no command that a test of the docs runs")
            return
        self.commands += 1
        environment = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}", NO_COLOR="1", LC_ALL="C.UTF-8",
                           CUDA_VISIBLE_DEVICES="", COLUMNS="100")
        result = subprocess.run(["bash", "-c", command], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        if result.returncode != code:
            self.wrong(line, f"`{command}` exits {result.returncode}, the page says {code}:\n"
                             + textwrap.indent(result.stdout, "    "))
        elif any(item.strip() for item in shown) and not matches("\n".join(shown), result.stdout):
            self.wrong(line, f"`{command}` prints something else now:\n" + textwrap.indent(result.stdout, "    "))

    helps: dict = {}

    def help_of(self, *command: str) -> str:
        """Empty where there is no such command."""
        if command not in Page.helps:
            result = subprocess.run([self.tool, *command, "--help"], capture_output=True, text=True, timeout=600)
            Page.helps[command] = result.stdout if result.returncode == 0 else ""
        return Page.helps[command]

    def prose(self, number: int, line: str) -> None:
        for code in re.findall(r"`fheres ([^`]*)`", line):
            words = code.split()
            named = words[0] if words else ""
            if not re.fullmatch(r"[a-z-]+", named):
                continue  # `fheres --help`, `fheres COMMAND`
            command = (named, words[1]) if named == "client" and len(words) > 1 and words[1].islower() else (named,)
            text = self.help_of(*command)
            if not text:
                self.wrong(number, f"there is no `fheres {' '.join(command)}`")
            for option in re.findall(r"(?<![\w-])--[a-z-]+", code):
                if text and option not in text:
                    self.wrong(number, f"`fheres {' '.join(command)}` has no {option}")
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", line):
            if "://" not in target and not (self.path.parent / target).exists():
                self.wrong(number, f"the link to {target} leads nowhere")


def main() -> int:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tool = str(pathlib.Path(sys.argv[1]).resolve())
    pages = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    pages = pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    checked = [Page(path, tool) for path in pages]
    for page in checked:
        page.check()
    findings = [finding for page in checked for finding in page.findings]
    print("\n".join(findings))
    print(f"{sum(page.commands for page in checked)} commands of {len(pages)} pages run, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
