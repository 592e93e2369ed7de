#!/usr/bin/env python3
"""Times `fheres validate` and `fheres explain` on long documents, with their largest memory.

usage: documents.py FHERES [COUNT]      so many stages and values, 10,000 where none are given
"""
import os
import pathlib
import subprocess
import sys
import tempfile

HEAD = "apiVersion: fheres/v1\nkind: {}\nmetadata: {{name: long}}\n"


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


def run(tool, command, document):
    """Seconds of processor time and MiB."""
    process = subprocess.Popen([tool, command, "--quiet", document])
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{command} {document} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    print(f"{count:,} values, and as many stages or actions\n\n"
          "document        validate            explain")
    with tempfile.TemporaryDirectory() as folder:
        for make in (under_pressure, bodies, plans, actions, request):
            document = pathlib.Path(folder) / "document.yaml"
            document.write_text(make(count))
            figures = [run(sys.argv[1], command, str(document)) for command in ("validate", "explain")]
            print(f"{make.__name__:<15}" + "".join(f" {seconds:5.2f} s {memory:5.0f} MiB   " for seconds, memory in figures))


if __name__ == "__main__":
    main()
