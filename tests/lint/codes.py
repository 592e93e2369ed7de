#!/usr/bin/env python3
"""Every diagnostic code that is reported is listed with its meaning, and every listed one is reported somewhere and explained.

usage: codes.py <source root>
"""
import pathlib
import re
import sys

LIST = "src/documents/diagnostic.cpp"
EXPLAINED = "src/documents/explanations_*.cpp"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    listed = re.findall(r'\{"(FHR\d{4})", "', (root / LIST).read_text())
    used = set()
    for path in sorted(p for folder in ("src", "include", "cli") for p in (root / folder).rglob("*.[ch]pp")):
        if path != root / LIST and not path.match(EXPLAINED):
            used.update(re.findall(r'"(FHR\d{4})"', path.read_text()))
    wrong = [f"{code} is reported, and {LIST} does not list it" for code in sorted(used - set(listed))]
    wrong += [f"{code} is listed, and nothing reports it" for code in sorted(set(listed) - used)]
    explained = re.findall(r'\{"(FHR\d{4})",', "".join(p.read_text() for p in sorted(root.glob(EXPLAINED))))
    wrong += [f"{code} has no explanation in {EXPLAINED}" for code in sorted(set(listed) - set(explained))]
    wrong += [f"{code} is explained, and not listed" for code in sorted(set(explained) - set(listed))]
    if listed != sorted(set(listed)):
        wrong.append(f"{LIST} does not list codes in ascending order, each once")
    print("\n".join(wrong) if wrong else f"{len(listed)} codes are listed and reported")
    return 1 if wrong or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
