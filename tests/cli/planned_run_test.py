"""`run --plan`: a plan is executed exactly, refused where it is of another version, and told beside what was measured."""

import hashlib
import json
import shutil
import sys
import unittest

from tool import ROOT, SAMPLE, ToolTest

MIB = 1 << 20

# What the sample's controller decides, written down.
PLAN = """apiVersion: fheres/v1
kind: Plan
metadata: {{name: by-hand}}
workload: {{file: workload.yaml, sha256: {sha256}}}
locations:
  pinned-host: {{budget: 2 MiB}}
  cuda:0: {{budget: 37 MiB}}
values:
  x:    {{bytes: 2 MiB, at: pinned-host, replica: exclusive}}
  half: {{bytes: 1 MiB, at: pageable-host}}
  cold: {{bytes: 1 MiB, at: [pageable-host, cuda:0]}}
  rot1: {{bytes: 18 MiB, at: pageable-host}}
stages:
  - name: rotate-scale/tile-0
    reclaim: [{{drop: cold, at: cuda:0}}]
    reserve: [{{at: cuda:0, bytes: 16 MiB, label: workspace}}]
    enter:
      - {{move: x, to: cuda:0, from: pinned-host}}
      - {{ensure: rot1, at: cuda:0}}
      - {{ensure: half, at: cuda:0}}
    produce: [{{y: {{bytes: 1.75 MiB, at: cuda:0, from: workspace}}}}]
"""

MACHINE = """apiVersion: fheres/v1
kind: Machine
metadata: {name: paper}
copies:
  - {from: pinned-host, to: cuda, bandwidth: {1 MiB: 1 GB/s}}
  - {from: pageable-host, to: cuda, bandwidth: {1 MiB: 1 GB/s}}
operations:
  - {parameters: slots8192-scale40-levels7, operation: rotate, levels: {0: 1 ms}}
  - {parameters: slots8192-scale40-levels7, operation: multiply_plain, levels: {0: 2 ms}}
"""


class PlannedRunTest(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.workload = self.folder / "workload.yaml"
        shutil.copy(ROOT / SAMPLE, self.workload)
        self.plan = self.folder / "plan.yaml"
        self.write_plan(PLAN)

    def write_plan(self, text: str) -> None:
        sha256 = hashlib.sha256(self.workload.read_bytes()).hexdigest()
        self.plan.write_text(text.format(sha256=sha256))

    def run_plan(self, *options, expect: int = 0):
        return self.fheres("run", self.workload, "--plan", self.plan, "--device", "emulated", "--seed", 1, *options,
                           expect=expect)

    def test_a_plan_moves_to_the_byte_what_it_says_and_computes_what_the_controller_would(self) -> None:
        report = self.folder / "report.json"
        self.run_plan("--report", report)
        planned = json.loads(report.read_text())
        self.fheres("run", self.workload, "--device", "emulated", "--seed", 1, "--report", report)
        decided = json.loads(report.read_text())
        self.assertIsNone(decided["plan"])
        self.assertEqual(planned["plan"]["predicted"]["moved_bytes"], 21 * MIB)
        self.assertEqual(planned["plan"]["measured"]["moved_bytes"], 21 * MIB)
        self.assertEqual(planned["totals"], decided["totals"])
        self.assertEqual(planned["checks"][0]["residues_sha256"], decided["checks"][0]["residues_sha256"])
        (stage,) = planned["stages"]
        self.assertIsNone(stage["decision"])
        for peak in stage["peaks"]:
            self.assertEqual(peak["predicted_charged"], peak["measured_charged"])

    def test_a_machine_predicts_the_time_that_stands_beside_the_measured_one(self) -> None:
        machine = self.folder / "machine.yaml"
        machine.write_text(MACHINE)
        self.fheres("validate", machine)
        result = self.run_plan("--machine", machine, "--json")
        plan = json.loads(result.stdout)["plan"]
        self.assertEqual(plan["predicted"]["machine"], "paper")
        self.assertEqual(plan["predicted"]["unknown_operations"], 1)  # rescale
        self.assertAlmostEqual(plan["predicted"]["makespan_ns"], 21 * MIB + 3e6, delta=1)
        self.assertAlmostEqual(plan["predicted"]["compute_ns"], 3e6)
        self.assertGreater(plan["timing"]["stages_ns"], 0)
        self.assertIn("plan by-hand", self.run_plan("--machine", machine).stdout)

    def test_a_plan_of_another_version_is_refused_with_both_hashes(self) -> None:
        before = hashlib.sha256(self.workload.read_bytes()).hexdigest()
        self.workload.write_text(self.workload.read_text() + "# a comment\n")
        after = hashlib.sha256(self.workload.read_bytes()).hexdigest()
        result = self.run_plan("--report", self.folder / "report.json", expect=2)
        self.assertIn(before, result.stderr)
        self.assertIn(after, result.stderr)
        self.assertIn("FHR0521", result.stderr)
        self.assertFalse((self.folder / "report.json").exists())

    def test_a_plan_of_no_workload_or_of_other_values_is_refused(self) -> None:
        self.write_plan(PLAN.replace("workload: {{file: workload.yaml, sha256: {sha256}}}\n", ""))
        self.assertIn("FHR0521", self.run_plan(expect=2).stderr)
        self.write_plan(PLAN.replace("half: {{bytes: 1 MiB", "half: {{bytes: 2 MiB"))
        result = self.run_plan(expect=2)
        self.assertIn("FHR0522", result.stderr)
        self.assertIn("plan.yaml:10:3", result.stderr)
        self.assertIn("expected a Plan", self.fheres("run", self.workload, "--plan", self.workload, expect=2).stderr)

    def test_a_plan_that_does_not_fit_is_infeasible_before_anything_runs(self) -> None:
        self.run_plan("--budget", f"cuda:0={37 * MIB - 256}", expect=1)

    def test_a_plan_that_leaves_out_an_input_is_infeasible_before_anything_runs(self) -> None:
        self.write_plan(PLAN.replace("      - {{ensure: half, at: cuda:0}}\n", ""))
        self.assertIn("half", self.run_plan(expect=1).stderr)

    def test_calibrate_measures_a_machine_that_predicts_a_run(self) -> None:
        machine = self.folder / "measured.yaml"
        self.fheres("calibrate", "--device", "emulated", "--preset", "slots8192-scale40-levels7", "--level", 0, "--level", 7,
                    "--repetitions", 3, "--largest-copy", "1 MiB", "-o", machine)
        self.assertIn("valid Machine", self.fheres("validate", machine).stdout)
        plan = json.loads(self.run_plan("--machine", machine, "--json").stdout)["plan"]
        self.assertEqual(plan["predicted"]["unknown_operations"], 0)
        self.assertGreater(plan["predicted"]["makespan_ns"], plan["predicted"]["compute_ns"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
