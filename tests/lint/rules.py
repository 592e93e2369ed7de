"""Fails when a residency rule that is built has no test that names it, or docs/rules.md does not list its tests.

    rules.py <root>            checks
    rules.py <root> --counts   prints how many tests name each rule
    rules.py <root> --write    writes the lists of docs/rules.md anew from the tests
"""

import pathlib
import re
import sys

LAST_RULE = 66
# Rules whose capability is not built yet; a rule leaves this list together with its test.
NOT_BUILT = {66}
TEST_NAME = re.compile(r'TEST_CASE(?:_FIXTURE|_TEMPLATE)?\s*\((.*?)\)\s*\{', re.DOTALL)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
ROW = re.compile(r"^\| R(\d+) \| (.*?) \| (.*) \|$")
OTHER_TEST = re.compile(r"`[a-z_/]+_test\.cpp`: .*?(?=<br>| \|$)", re.MULTILINE)


def tests_by_rule(root: pathlib.Path) -> dict[int, list[str]]:
    """For each rule, how docs/rules.md names the tests that name it: in the order of their files."""
    named: dict[int, list[str]] = {}
    for path in sorted((root / "tests").rglob("*_test.cpp"), key=lambda p: ("lockstep" not in p.parts, str(p))):
        for match in TEST_NAME.finditer(path.read_text()):
            name = "".join(STRING.findall(match.group(1)))
            text = "*lockstep*"
            if path.parent.name != "lockstep":
                text = f"`{path.relative_to(root / 'tests')}`: " + re.sub(r"^R\d+(?:,? R\d+)*:? ", "", name)
            for number in dict.fromkeys(re.findall(r"\bR(\d+)\b", name)):
                named.setdefault(int(number), []).append(text.replace("|", "\\|"))
    return named


def main(root: pathlib.Path, option: str) -> int:
    tests = tests_by_rule(root)
    wanted = sorted(set(range(1, LAST_RULE + 1)) - NOT_BUILT)
    if option == "--counts":
        for number in wanted:
            print(f"R{number:<3} {len(tests.get(number, []))}")
        print(f"{sum(len(tests.get(number, [])) for number in wanted)} in all; lockstep is one for each rule that it names")
    findings = [f"R{number} has no test that names it" for number in wanted if not tests.get(number)]

    document = root / "docs/rules.md"
    lines = document.read_text().splitlines()
    listed = set()
    for place, line in enumerate(lines):
        row = ROW.match(line)
        if not row:
            continue
        number = int(row.group(1))
        listed.add(number)
        expected = f"| R{number} | {row.group(2)} | {'<br>'.join(dict.fromkeys(tests.get(number, [])))} |"
        if line != expected and option == "--write":
            lines[place] = expected
        elif line != expected:
            findings.append(f"docs/rules.md lists other tests for R{number} than there are: rules.py <root> --write")
    known = {test for names in tests.values() for test in names}
    for line in lines:
        if not ROW.match(line):
            findings += [f"docs/rules.md names a test that is not there: {test}"
                         for test in OTHER_TEST.findall(line) if test not in known]
    findings += [f"R{number} is missing in docs/rules.md" for number in wanted if number not in listed]
    if option == "--write":
        document.write_text("\n".join(lines) + "\n")
    print("\n".join(findings) or f"{len(wanted)} rules have a test")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""))
