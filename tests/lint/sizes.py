"""Fails on a source file of more than LIMIT lines: a file that long holds two nouns."""

import pathlib
import sys

LIMIT = 450
FOLDERS = ("include", "src", "cli", "tests", "bench")
SUFFIXES = (".hpp", ".cpp", ".cu", ".cuh", ".py")


def main(root: pathlib.Path) -> int:
    findings = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                lines = len(path.read_text().splitlines())
                if lines > LIMIT:
                    findings.append(f"{path.relative_to(root)}: {lines} lines, at most {LIMIT}")
    print("\n".join(findings) or f"no file is longer than {LIMIT} lines")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
