#!/usr/bin/env python3
"""Applies each deliberate fault of mutations.py to a copy of the tree, and fails unless the rule's tests notice it.

    scripts/mutate.py               every mutation: a few minutes on two cores
    scripts/mutate.py R15 R64       those of some rules
    scripts/mutate.py --check       builds nothing: is every rule of State in the list, and does every original occur once?

The copies are in build/mutate and are kept, so that a second run builds only what has changed. A mutation has
survived when its tests pass; a survivor, a mutation that does not compile, an original that is not there exactly once
and a filter that selects no test each fail the run.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))

from mutations import MUTATIONS, RULE_FILES, STATE_TESTS, Mutation  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPIED = ("CMakeLists.txt", "cmake", "include", "src", "tests", "cli", "samples", "bench")
TEST_TIMEOUT_S = 120  # a mutation may also make a test run for ever
RULE_IN_COMMENT = re.compile(r"\bR(\d+)\b")
RULE_IN_TEST = re.compile(r'TEST_CASE\s*\(\s*"R(\d+):')


@dataclasses.dataclass
class Result:
    mutation: Mutation
    outcome: str  # killed, or what is wrong
    detail: str
    seconds: float


def rules_of_state(root: pathlib.Path) -> set[int]:
    """Rules that a comment of State's sources names, or that a test of State alone holds."""
    rules: set[int] = set()
    for name in RULE_FILES:
        for line in (root / name).read_text().splitlines():
            _, comment, text = line.partition("//")
            if comment:
                rules.update(int(number) for number in RULE_IN_COMMENT.findall(text))
    for name in STATE_TESTS:
        rules.update(int(number) for number in RULE_IN_TEST.findall((root / name).read_text()))
    return rules


def check(root: pathlib.Path) -> list[str]:
    listed = {mutation.rule for mutation in MUTATIONS}
    findings = [f"R{rule} lives in State and has no mutation" for rule in sorted(rules_of_state(root) - listed)]
    for mutation in MUTATIONS:
        count = (root / mutation.file).read_text().count(mutation.original)
        if count != 1:
            findings.append(f"R{mutation.rule}, {mutation.fault}: expected the original once in {mutation.file}, "
                            f"found it {count} times:\n    {mutation.original}")
    return findings


def write_if_different(path: pathlib.Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


class Tree:
    """One scratch copy of the tree and its build."""

    def __init__(self, place: pathlib.Path):
        self.source = place / "tree"
        self.build = place / "build"
        wanted = set()
        for name in COPIED:
            top = ROOT / name
            for path in [top] if top.is_file() else top.rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    wanted.add(path.relative_to(ROOT))
                    write_if_different(self.source / path.relative_to(ROOT), path.read_bytes())
        for path in list(self.source.rglob("*")):
            if path.is_file() and path.relative_to(self.source) not in wanted:
                path.unlink()

    def run(self, *command: str) -> subprocess.CompletedProcess:
        environment = dict(os.environ, CCACHE_BASEDIR=str(self.source), CCACHE_NOHASHDIR="1")
        return subprocess.run(command, capture_output=True, text=True, cwd=self.source, env=environment)

    def prepare(self, targets: set[str]) -> None:
        # No debug information and no optimisation: compiling and linking is nearly all of the time.
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        for command in (["cmake", "-S", str(self.source), "-B", str(self.build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                         "-DCMAKE_CXX_FLAGS_DEBUG=-O0", "-DFHERES_CUDA=off", "-DFHERES_WERROR=OFF", *launcher],
                        ["cmake", "--build", str(self.build), "--target", *sorted(targets)]):
            done = self.run(*command)
            if done.returncode != 0:
                sys.exit(f"the copy as it is does not build:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")

    def test(self, mutation: Mutation) -> tuple[str, str]:
        """passed, failed or none, and the name of a test that failed."""
        folder = mutation.target.removesuffix("_test")
        program = self.build / "tests" / folder / mutation.target
        try:
            done = subprocess.run([program, f"-tc={mutation.filter}"], capture_output=True, text=True, cwd=self.source,
                                  timeout=TEST_TIMEOUT_S, errors="replace")
        except subprocess.TimeoutExpired:
            return "failed", f"no end within {TEST_TIMEOUT_S} s"
        ran = re.search(r"test cases:\s+(\d+)", done.stdout)
        if done.returncode == 0:
            return ("passed", "") if ran and int(ran.group(1)) > 0 else ("none", "")
        named = re.search(r"TEST CASE:\s+(.*?)\n\s*\n", done.stdout, re.DOTALL)
        return "failed", " ".join(named.group(1).split()) if named else "the program ended"

    def try_out(self, mutation: Mutation) -> Result:
        start = time.monotonic()
        path = self.source / mutation.file
        text = path.read_text()
        path.write_text(text.replace(mutation.original, mutation.replacement))
        try:
            built = self.run("cmake", "--build", str(self.build), "--target", mutation.target)
            if built.returncode != 0:
                outcome, detail = "does not compile", built.stdout[-2000:]
            else:
                outcome, detail = self.test(mutation)
                outcome = {"failed": "killed", "passed": "SURVIVED", "none": "NO TEST"}[outcome]
        finally:
            path.write_text(text)
        return Result(mutation, outcome, detail, time.monotonic() - start)


def run_all(mutations: list[Mutation], jobs: int, place: pathlib.Path) -> list[Result]:
    start = time.monotonic()
    targets = {mutation.target for mutation in mutations}
    trees: queue.Queue[Tree] = queue.Queue()
    for number in range(min(jobs, len(mutations))):
        tree = Tree(place / str(number))
        tree.prepare(targets)
        trees.put(tree)
    print(f"{trees.qsize()} copies built in {time.monotonic() - start:.0f} s", flush=True)

    def with_tree(work, mutation: Mutation):
        tree = trees.get()
        try:
            return work(tree, mutation)
        finally:
            trees.put(tree)

    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        # A test that fails anyway would kill everything.
        filters = {(m.target, m.filter): m for m in mutations}
        for mutation, (outcome, detail) in zip(filters.values(), pool.map(
                lambda m: with_tree(Tree.test, m), filters.values())):
            if outcome != "passed":
                sys.exit(f"without a mutation, {mutation.target} -tc='{mutation.filter}': {outcome} {detail}")
        results = []
        for result in pool.map(lambda m: with_tree(Tree.try_out, m), mutations):
            print(f"R{result.mutation.rule:<3} {result.outcome:9} {result.seconds:5.1f} s  {result.mutation.fault}\n"
                  f"     {result.detail}", flush=True)
            results.append(result)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rules", nargs="*", help="only these rules, as R15")
    parser.add_argument("--check", action="store_true", help="check the list, build nothing")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="copies that are tried side by side")
    parser.add_argument("--place", type=pathlib.Path, default=ROOT / "build" / "mutate", help="where the copies are kept")
    given = parser.parse_args()
    findings = check(ROOT)
    if findings:
        print("\n".join(findings))
        return 1
    if given.check:
        print(f"{len(MUTATIONS)} mutations of {len({m.rule for m in MUTATIONS})} rules, each original there once")
        return 0
    wanted = {int(rule.lstrip("R")) for rule in given.rules}
    chosen = [mutation for mutation in MUTATIONS if not wanted or mutation.rule in wanted]
    if not chosen:
        print("no mutation of these rules")
        return 1
    results = run_all(chosen, max(1, given.jobs), given.place.resolve())
    killed = sum(result.outcome == "killed" for result in results)
    print(f"{killed} of {len(results)} mutations of {len({r.mutation.rule for r in results})} rules killed")
    return 0 if killed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
