"""Fails when a residency rule that is built has no test that names it, or docs/rules.md does not list it."""

import pathlib
import re
import sys

LAST_RULE = 66
# Rules whose capability is not built yet; a rule leaves this list together with its test.
NOT_BUILT: set[int] = set()
TEST_NAME = re.compile(r'TEST_CASE(?:_FIXTURE|_TEMPLATE)?\s*\((.*?)\)\s*\{', re.DOTALL)


def main(root: pathlib.Path) -> int:
    named: set[int] = set()
    for path in (root / "tests").rglob("*_test.cpp"):
        for match in TEST_NAME.finditer(path.read_text()):
            named.update(int(number) for number in re.findall(r"\bR(\d+)\b", match.group(1)))
    listed = {int(n) for n in re.findall(r"^\| R(\d+) \|", (root / "docs/rules.md").read_text(), re.MULTILINE)}
    wanted = set(range(1, LAST_RULE + 1)) - NOT_BUILT
    findings = [f"R{number} has no test that names it" for number in sorted(wanted - named)]
    findings += [f"R{number} is missing in docs/rules.md" for number in sorted(wanted - listed)]
    print("\n".join(findings) or f"{len(wanted)} rules have a test")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
