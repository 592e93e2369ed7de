#!/usr/bin/env python3
"""The large samples at several budgets of cuda:0, from the smallest that works to one that holds everything: what the
policy moves stage by stage, what a compiled plan moves, and the proven lower bound; with --run also peaks and times.

usage: sweep-samples.py FHERES [options]
  --sample NAME      a file of samples/, without .yaml (repeatable; the three large samples are the default)
  --set OLD=NEW      replace a text of the sample first, such as 'v: 0..15=v: 0..0' for a batch of one (repeatable)
  --budgets N        how many budgets (5)
  --run DEVICE       run each plan too, and the policy, on `emulated` or `cuda:0`
  --plans-only       do not run the policy
  --minimize WHAT    bytes or time (bytes)
  --repeat N         each so often after one run to warm up, which also loads the kernels; times are medians (one run, cold)
  --bandwidth GBPS   of copies to the device, for the time that the plan's bytes take on the wire
  --machine FILE     a Machine document: compile for it, and print the predicted time
  --out FOLDER       keeps plans, reports and sweep.json (a temporary folder is the default)

Every figure comes out of fheres' own JSON. A plan that `fheres verify` objects to, measured bytes that differ from the
planned ones, wrong results and failed runs end the script with an error.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
LARGE = ["matvec-bsgs", "polynomial-tiles", "logistic-loop"]
MIB = 1 << 20
FEASIBLE, INFEASIBLE, INCONCLUSIVE = 0, 1, 3


class Tool:
    def __init__(self, binary: str) -> None:
        self.binary = binary

    def json(self, *arguments: object, allowed: tuple = (FEASIBLE,)) -> tuple:
        """Exit code and the object on stdout."""
        command = [self.binary, *map(str, arguments), "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in allowed:
            sys.exit(f"{' '.join(command)}\nexited {done.returncode}, expected {allowed}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.returncode, json.loads(done.stdout) if done.stdout else {}


def budget_option(budget: int) -> str:
    return f"cuda:0={budget}"


def explain(tool: Tool, document: pathlib.Path, budget: int) -> dict:
    return tool.json("explain", document, "--budget", budget_option(budget),
                     allowed=(FEASIBLE, INFEASIBLE, INCONCLUSIVE))[1]


def compile_plan(tool: Tool, document: pathlib.Path, budget: int, plan: pathlib.Path,
                 options: argparse.Namespace | None = None) -> dict | None:
    extra = ["--machine", options.machine, "--minimize", options.minimize] if options and options.machine else []
    code, answer = tool.json("compile", document, "-o", plan, "--budget", budget_option(budget), *extra,
                             allowed=(FEASIBLE, INFEASIBLE, INCONCLUSIVE))
    return answer["evidence"] if code == FEASIBLE else None


def peak(explanation: dict) -> int:
    return next(item["charged"] for item in explanation["peaks"] if item["at"] == "cuda:0")


def smallest(tool: Tool, document: pathlib.Path, low: int, high: int, plan: pathlib.Path) -> int:
    """The smallest budget, to 1/64 of it, for which a plan is found."""
    while high - low > max(high // 64, MIB // 4):
        middle = (low + high) // 2
        if compile_plan(tool, document, middle, plan):
            high = middle
        else:
            low = middle
    return high


def execute(tool: Tool, document: pathlib.Path, options: argparse.Namespace, budget: int, report: pathlib.Path,
            *extra: object) -> dict:
    started = time.monotonic()
    if options.repeat:
        extra += ("--warmup", 1, "--repeat", options.repeat)
    tool.json("run", document, "--device", options.run, "--budget", budget_option(budget), "--report", report, *extra)
    result = json.loads(report.read_text())
    wrong = [check["value"] for check in result["checks"] if not check["passed"]]
    if result["outcome"]["status"] != "done" or wrong:
        sys.exit(f"{document} at {budget}: {result['outcome']}, wrong: {wrong}")
    stages = result["stages"]
    spent = sum(stage["timing"]["end_ns"] - stage["timing"]["start_ns"] - stage["timing"].get("check_ns", 0)
                for stage in stages)
    spent = result["timing"].get("repeats", {}).get("median_ns", spent)
    operations = sum(item["timing"]["end_ns"] - item["timing"]["start_ns"] for stage in stages
                     for item in stage.get("operations", []))
    peaks = [item for stage in stages for item in stage["peaks"] if item["at"] == "cuda:0"]
    return {"moved_bytes": result["totals"]["moved_bytes"],
            "peak_predicted": max(item["predicted_charged"] for item in peaks),
            "peak_measured": max(item["measured_charged"] for item in peaks),
            "stages_ns": spent, "operations_ns": operations, "wall_s": round(time.monotonic() - started, 1)}


def rows_of(tool: Tool, document: pathlib.Path, options: argparse.Namespace, folder: pathlib.Path) -> list:
    name = document.stem
    everything = explain(tool, document, 1 << 45)
    if everything["answer"] != "feasible":
        sys.exit(f"{document} is infeasible at any budget: {everything['reason']}")
    high = peak(everything)
    plan = folder / f"{name}.plan.yaml"
    low = smallest(tool, document, 0, high, plan)
    rows = []
    for i in range(options.budgets):
        share = i / max(1, options.budgets - 1)
        budget = low if i == 0 else high if share == 1 else int(low * (high / low) ** share) // 256 * 256
        plan = folder / f"{name}-{i}.plan.yaml"
        policy = explain(tool, document, budget)
        evidence = compile_plan(tool, document, budget, plan, options)
        row = {"sample": name, "budget": budget,
               "policy": policy["moved_bytes"] if policy["answer"] == "feasible" else None,
               "policy_answer": policy["answer"], "compiled": None, "bandwidth": options.bandwidth}
        if evidence:
            tool.json("verify", plan)
            row |= {"compiled": evidence["moved_bytes"], "bound": evidence["lower_bound_bytes"],
                    "gap": evidence["gap"], "optimal": evidence["optimal"], "method": evidence["method"],
                    "time": evidence.get("time")}
        if options.run:
            if row["policy"] is not None and not options.plans_only:
                row["policy_run"] = execute(tool, document, options, budget, folder / f"{name}-{i}.policy.json")
                check_bytes(row["policy_run"], row["policy"], f"{name} at {budget}, policy")
            if evidence:
                # With a trace the operations are timed: once a sample, where everything fits.
                traced = ["--trace", folder / f"{name}-{i}.trace.json"] if budget == high else []
                row["plan_run"] = execute(tool, document, options, budget, folder / f"{name}-{i}.plan.json",
                                          "--plan", plan, *traced)
                check_bytes(row["plan_run"], row["compiled"], f"{name} at {budget}, plan")
        rows.append(row)
        print(line(row), flush=True)
    return rows


def check_bytes(run: dict, planned: int, what: str) -> None:
    if run["moved_bytes"] != planned:
        sys.exit(f"{what}: {run['moved_bytes']} bytes moved, {planned} planned")


def mib(value: int | None) -> str:
    return "-" if value is None else f"{value / MIB:.1f}"


def milliseconds(run: dict | None) -> str:
    return "-" if not run else f"{run['stages_ns'] / 1e6:.1f}"


def compute(row: dict) -> str:
    """The sum of the operations' times, where a run took them: copies that run meanwhile are not in it."""
    times = [run["operations_ns"] for run in (row.get("plan_run"), row.get("policy_run")) if run and run["operations_ns"]]
    return f"{times[0] / 1e6:.1f}" if times else "-"


HEAD = ("sample", "budget", "policy", "compiled", "bound", "gap", "optimal", "peak pred.", "measured", "ms policy",
        "ms plan", "ms compute", "ms wire", "ms predicted", "at least")


def cells(row: dict) -> list:
    run = row.get("plan_run")
    predicted, least = [(row.get("time") or {}).get(key) for key in ("predicted_ns", "lower_bound_ns")]
    return [row["sample"], mib(row["budget"]), mib(row["policy"]) if row["policy"] is not None else row["policy_answer"],
            mib(row["compiled"]), mib(row.get("bound")), "-" if row.get("gap") is None else f"{100 * row['gap']:.1f}%",
            row.get("optimal", "-"), mib(run and run["peak_predicted"]), mib(run and run["peak_measured"]),
            milliseconds(row.get("policy_run")), milliseconds(run), compute(row),
            f"{row['compiled'] / row['bandwidth'] / 1e6:.1f}" if row["compiled"] and row["bandwidth"] else "-",
            *("-" if ns is None else f"{ns / 1e6:.1f}" for ns in (predicted, least))]


def line(row: dict) -> str:
    return "  ".join(f"{cell:>12}" if i else f"{cell:<24}" for i, cell in enumerate(cells(row)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fheres")
    parser.add_argument("--sample", action="append")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--budgets", type=int, default=5)
    parser.add_argument("--run")
    parser.add_argument("--plans-only", action="store_true")
    parser.add_argument("--minimize", choices=["bytes", "time"], default="bytes")
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("--bandwidth", type=float)
    parser.add_argument("--machine")
    parser.add_argument("--out")
    options = parser.parse_args()
    if options.minimize == "time" and not options.machine:
        parser.error("--minimize time needs a --machine, which says what takes time")
    tool = Tool(str(pathlib.Path(options.fheres).resolve()))
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(options.out or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        print("MiB moved; budgets and peaks in MiB of cuda:0")
        print("  ".join(f"{cell:>12}" if i else f"{cell:<24}" for i, cell in enumerate(HEAD)))
        rows = []
        for name in options.sample or LARGE:
            text = (ROOT / "samples" / f"{name}.yaml").read_text()
            for change in options.set:
                old, new = change.split("=", 1)
                text = text.replace(old, new)
            document = folder / f"{name}.yaml"
            document.write_text(text)
            rows += rows_of(tool, document, options, folder)
        (folder / "sweep.json").write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
