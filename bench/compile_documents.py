#!/usr/bin/env python3
"""Times `fheres compile`, with and without a Machine, `verify` of what it wrote, and `fit --sweep` on long documents, with
their largest memory."""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from documents import HEAD, bodies, under_pressure

MACHINE = pathlib.Path(__file__).resolve().parent.parent / "plans/machines/h200.yaml"


def mixed(count):
    """Values of 1 to 45 MiB, a few of which are needed often; a stage in four keeps a result that later stages may need."""
    draw = random.Random(20240613)
    made = [stage for stage in range(count) if stage % 4 == 3]
    sizes = [draw.randint(1, 45) for _ in range(count - len(made))]
    names = [f"w{i}" for i in range(len(sizes))]
    values = "".join(f"  {name}: {{bytes: {size} MiB, at: pinned-host}}\n" for name, size in zip(names, sizes))
    stages = ""
    for stage in range(count):
        picks = {names[int(len(names) * draw.random() * draw.random())] for _ in range(draw.randint(1, 4))}
        stages += f"  - {{name: s{stage}, at: cuda:0, require: {{cuda:0: [{', '.join(sorted(picks))}]}}, " \
                  f"reserve: [{{at: cuda:0, bytes: 30 MiB, label: workspace}}]}}\n"
    return (HEAD.format("Workload") + f"locations: {{cuda:0: {{budget: {sum(sizes) // 8} MiB}}}}\n"
            f"policy: {{fallback: {{cuda:0: [pinned-host, pageable-host]}}}}\nvalues:\n{values}stages:\n{stages}")


def kinds(count):
    """Bodies with keys, plaintexts, ciphertexts that start on the host and results that later stages read, under pressure."""
    draw = random.Random(20240614)
    values = "".join(f"  k{i}: {{rotation_key: {{steps: {i + 1}}}, at: pinned-host}}\n" for i in range(64))
    values += "".join(f"  p{i}: {{plaintext: {{message: {{constant: 0.5}}}}, at: pinned-host}}\n" for i in range(500))
    values += "".join(f"  x{i}: {{ciphertext: {{message: {{constant: 0.5}}}}, at: pinned-host}}\n" for i in range(count))
    stages = ""
    for i in range(count):
        key, plain = int(64 * draw.random() * draw.random()), draw.randrange(500)
        add = f", {{s{i}: {{add: [r{i}, y{draw.randrange(max(0, i - 40), i)}]}}}}" if i % 3 == 2 else ""
        stages += (f"  - {{name: s{i}, at: cuda:0, body: [{{t{i}: {{rotate: x{i}, key: k{key}}}}}, "
                   f"{{m{i}: {{multiply_plain: [t{i}, p{plain}]}}}}, {{{'r' if add else 'y'}{i}: {{rescale: m{i}}}}}"
                   f"{add.replace(f'{{s{i}:', f'{{y{i}:')}], outputs: [y{i}]{f', release: [y{i - 41}]' if i >= 41 else ''}}}\n")
    return (HEAD.format("Workload") + "parameters: {preset: test-slots512-scale40-levels4}\n"
            "locations: {pinned-host: {budget: 8 GiB}, cuda:0: {budget: 10 MiB}}\npolicy: {fallback: {cuda:0: [pinned-host]}}\n"
            f"values:\n{values}stages:\n{stages}")


def run(tool, *arguments):
    """Seconds of processor time and MiB."""
    process = subprocess.Popen([tool, *arguments, "--quiet"])
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(arguments)} failed")
    return f"{used.ru_utime + used.ru_stime:7.2f} s {used.ru_maxrss / 1024:5.0f} MiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fheres", type=pathlib.Path)
    parser.add_argument("count", type=int, nargs="*", default=[1_000, 10_000], help="so many stages and values")
    options = parser.parse_args()
    tool = str(options.fheres.resolve())
    print(f"{'document':<22} {'compile':>19} {'compile --machine':>19} {'verify':>19} {'fit --sweep':>19}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for count in options.count:
            for make in (under_pressure, mixed, bodies, kinds):
                pathlib.Path("document.yaml").write_text(make(count))
                figures = [run(tool, "compile", "document.yaml", "-o", "plan.yaml"),
                           run(tool, "compile", "document.yaml", "-o", "timed.yaml", "--machine", str(MACHINE),
                               "--allow-outside"),
                           run(tool, "verify", "plan.yaml"),
                           run(tool, "fit", "document.yaml", "--sweep")]
                print(f"{make.__name__ + f' {count:,}':<22} " + " ".join(figures), flush=True)


if __name__ == "__main__":
    main()
