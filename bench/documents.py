#!/usr/bin/env python3
"""Times what reads long documents, with its largest memory: validate, explain, decide, verify and diff.

usage: documents.py FHERES [COUNT] [--json FILE]     so many stages and values, 10,000 where none are given
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HEAD = "apiVersion: fheres/v1\nkind: {}\nmetadata: {{name: long}}\n"


def every(name, count, what):
    """An entry that a `for` makes so many of."""
    return f"{{name: {name}, for: {{t: 0..{count - 1}}}, {what}}}"


def under_pressure(count):
    """Opaque values; each stage needs two of them on a device that holds sixteen."""
    values = "".join(f"  w{i}: {{bytes: 1 MiB, at: pageable-host}}\n" for i in range(count))
    stages = "".join(f"  - {{name: s{i}, require: {{cuda:0: [w{i}, w{(i * 7919 + 1) % count}]}}}}\n" for i in range(count))
    return (HEAD.format("Workload") + "locations: {cuda:0: {budget: 16 MiB}}\npolicy: {fallback: {cuda:0: [pageable-host]}}\n"
            f"values:\n{values}stages:\n{stages}")


def bodies(count):
    """Ciphertexts; each stage rotates one and adds, and releases what an earlier one kept."""
    values = "".join(f"  x{i}: {{ciphertext: {{message: {{constant: 0.5}}}}, at: pinned-host}}\n" for i in range(count))
    stages = "".join(
        f"  - {{name: s{i}, at: cuda:0, body: [{{t{i}: {{rotate: x{i}, key: k}}}}, {{y{i}: {{add: [t{i}, x{i}]}}}}], "
        f"outputs: [y{i}]{f', release: [y{i - 4}]' if i >= 4 else ''}}}\n" for i in range(count))
    return (HEAD.format("Workload") + "parameters: {preset: test-slots512-scale40-levels4}\n"
            "locations: {pinned-host: {budget: 8 GiB}, cuda:0: {budget: 8 MiB}}\npolicy: {fallback: {cuda:0: [pinned-host]}}\n"
            f"values:\n  k: {{rotation_key: {{steps: 1}}, at: pinned-host}}\n{values}stages:\n{stages}")


def plans(count):
    """A Plan: each stage brings a value, produces one, and takes both away."""
    values = "".join(f"  w{i}: {{bytes: 1 MiB, at: pinned-host}}\n" for i in range(count))
    stages = "".join(
        f"  - {{name: s{i}, reserve: [{{at: cuda:0, bytes: 1 MiB, label: outputs}}], enter: [{{ensure: w{i}, at: cuda:0}}], "
        f"produce: [{{y{i}: {{bytes: 1 KiB, at: cuda:0, from: outputs}}}}], exit: [{{drop: w{i}, at: cuda:0}}], release: [y{i}]}}\n"
        for i in range(count))
    return HEAD.format("Plan") + f"locations: {{cuda:0: {{budget: 16 MiB}}}}\nvalues:\n{values}stages:\n{stages}"


def actions(count):
    """A Plan of one stage with so many actions."""
    values = "".join(f"  w{i}: {{bytes: 1 MiB, at: pinned-host}}\n" for i in range(count))
    enter = "".join(f"      - {{ensure: w{i}, at: cuda:0}}\n" for i in range(count))
    return (HEAD.format("Plan") + f"locations: {{cuda:0: {{budget: {count} MiB}}}}\nvalues:\n{values}"
            f"stages:\n  - name: all\n    enter:\n{enter}")


def request(count):
    """One stage that needs half of the values where the other half is."""
    half = range(count // 2)
    values = "".join(f"  w{i}: {{bytes: 1 MiB, at: pageable-host}}\n  c{i}: {{bytes: 1 MiB, at: cuda:0}}\n" for i in half)
    return (HEAD.format("Workload") + f"locations: {{cuda:0: {{budget: {count // 2} MiB}}}}\n"
            f"policy: {{fallback: {{cuda:0: [pageable-host]}}}}\nvalues:\n{values}"
            f"stages:\n  - name: all\n    require: {{cuda:0: [{', '.join(f'w{i}' for i in half)}]}}\n")


def under_pressure_by_for(count):
    """The same as `under_pressure`, in a few lines."""
    return (HEAD.format("Workload") + "locations: {cuda:0: {budget: 16 MiB}}\npolicy: {fallback: {cuda:0: [pageable-host]}}\n"
            f"values:\n  w${{t}}: {{for: {{t: 0..{count - 1}}}, bytes: 1 MiB, at: pageable-host}}\nstages:\n  - "
            + every('"s${t}"', count, f'require: {{cuda:0: ["w${{t}}", "w${{(t*7919+1)%{count}}}"]}}') + "\n")


def bodies_by_for(count):
    """Ciphertexts that a `for` makes; each stage rotates one, adds, and releases what it kept."""
    return (HEAD.format("Workload") + "parameters: {preset: test-slots512-scale40-levels4}\n"
            "locations: {pinned-host: {budget: 8 GiB}, cuda:0: {budget: 8 MiB}}\npolicy: {fallback: {cuda:0: [pinned-host]}}\n"
            f"values:\n  k: {{rotation_key: {{steps: 1}}, at: pinned-host}}\n  x${{t}}: {{for: {{t: 0..{count - 1}}}, "
            "ciphertext: {message: {constant: 0.5}}, at: pinned-host}\nstages:\n  - "
            + every('"s${t}"', count, 'at: cuda:0, body: [{"t${t}": {rotate: "x${t}", key: k}}, {"y${t}": {add: ["t${t}", "x${t}"]}}], '
                    'outputs: ["y${t}"], release: ["y${t}"]') + "\n")


def plans_by_for(count):
    """The same as `plans`, in a few lines."""
    return (HEAD.format("Plan") + "locations: {cuda:0: {budget: 16 MiB}}\nvalues:\n"
            f"  w${{t}}: {{for: {{t: 0..{count - 1}}}, bytes: 1 MiB, at: pinned-host}}\nstages:\n  - "
            + every('"s${t}"', count, 'reserve: [{at: cuda:0, bytes: 1 MiB, label: outputs}], enter: [{ensure: "w${t}", at: cuda:0}], '
                    'produce: [{"y${t}": {bytes: 1 KiB, at: cuda:0, from: outputs}}], exit: [{drop: "w${t}", at: cuda:0}], '
                    'release: ["y${t}"]') + "\n")


def requests(count):
    """A Request document: so many decisions one after the other."""
    values = "".join(f"  w{i}: {{bytes: 1 MiB, at: pageable-host}}\n" for i in range(count))
    asked = "".join(f"  - {{name: r{i}, require: {{cuda:0: [w{i}, w{(i * 7919 + 1) % count}]}}}}\n" for i in range(count))
    return (HEAD.format("Request") + "locations: {cuda:0: {budget: 16 MiB}}\npolicy: {fallback: {cuda:0: [pageable-host]}}\n"
            f"values:\n{values}requests:\n{asked}")


def changed(text):
    """Another version of a document, for diff: what some values weigh is not what it was."""
    return text.replace("w1: {bytes: 1 MiB", "w1: {bytes: 2 MiB").replace("budget: 16 MiB", "budget: 12 MiB")


WORKLOAD = ("validate", "explain", "decide", "diff")
PLAN = ("validate", "explain", "verify", "diff")
DOCUMENTS = ((under_pressure, WORKLOAD), (under_pressure_by_for, WORKLOAD), (bodies, WORKLOAD), (bodies_by_for, WORKLOAD),
             (request, WORKLOAD), (requests, ("validate", "explain", "decide")), (plans, PLAN), (plans_by_for, PLAN),
             (actions, PLAN))
COMMANDS = ("validate", "explain", "decide", "verify", "diff")


def run(tool, *arguments):
    """Seconds of processor time and MiB."""
    process = subprocess.Popen([tool, *arguments, "--quiet"])
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code != 0 and (code, arguments[0]) != (1, "diff"):
        sys.exit(f"{' '.join(arguments)} failed with {code}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("fheres")
    parser.add_argument("count", nargs="?", type=int, default=10_000)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    print(f"{options.count:,} values, and as many stages, requests or actions: seconds of processor time and MiB\n\n"
          f"| document | {' | '.join(COMMANDS)} |\n| --- |{' --- |' * len(COMMANDS)}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        document, other = pathlib.Path(folder) / "document.yaml", pathlib.Path(folder) / "other.yaml"
        for make, commands in DOCUMENTS:
            text = make(options.count)
            document.write_text(text)
            other.write_text(changed(text))
            figures = {command: run(options.fheres, command, str(document), *([str(other)] if command == "diff" else []))
                       for command in commands}
            cells = [f"{figures[command][0]:.2f} s, {figures[command][1]:.0f}" if command in figures else "" for command in COMMANDS]
            print(f"| {make.__name__.replace('_', ' ')} | {' | '.join(cells)} |", flush=True)
            rows.append({"document": make.__name__, "bytes": len(text),
                         "commands": {command: {"seconds": round(s, 3), "mib": round(m)} for command, (s, m) in figures.items()}})
    if options.json:
        options.json.write_text(json.dumps({"count": options.count, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
