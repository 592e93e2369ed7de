"""The main job, end to end, on the emulated device: decide, run, check, report, trace."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

from tool import FHERES, GRANULE, ROOT, SAMPLE, SANITIZED, ToolTest

MIB = 1 << 20
# What is too large to run without a GPU; each has a small variant.
OF_A_GPU = {"matvec-bsgs.yaml", "polynomial-tiles.yaml", "logistic-loop.yaml"}
# What needs a client first: client_test runs it.
FROM_FILES = {"client-server.yaml"}


class RunTest(ToolTest):
    shipped: dict = {}  # sample -> what it reported and traced with seed 1: each runs once for all tests that only look

    def run_sample(self, document: str | pathlib.Path, seed: int = 1) -> dict:
        report = self.folder / "report.json"
        self.fheres("run", document, "--device", "emulated", "--seed", seed, "--report", report)
        return json.loads(report.read_text())

    def run_shipped(self, document: str) -> dict:
        if document not in self.shipped:
            report, trace = self.folder / "report.json", self.folder / "trace.json"
            self.fheres("run", document, "--device", "emulated", "--seed", 1, "--report", report, "--trace", trace)
            self.shipped[document] = (json.loads(report.read_text()), trace.read_text())
        return self.shipped[document][0]

    def test_the_sample_evicts_only_the_cold_plaintext_and_computes_the_right_result(self) -> None:
        report = self.run_shipped(SAMPLE)
        self.assertEqual(report["outcome"]["status"], "done")
        (stage,) = report["stages"]
        evictions = stage["decision"]["evictions"]
        self.assertEqual([item["action"] for item in evictions], [{"drop": "cold", "at": "cuda:0"}])
        self.assertIn("pageable-host", evictions[0]["reason"])
        (peak,) = [item for item in stage["peaks"] if item["at"] == "cuda:0"]
        self.assertEqual(peak["predicted_charged"], 37 * MIB)
        self.assertEqual(peak["measured_charged"], 37 * MIB)
        self.assertLessEqual(peak["measured_allocated"], 37 * MIB)
        (check,) = report["checks"]
        self.assertTrue(check["passed"])
        self.assertGreater(check["largest_error"], 0)
        self.assertLess(check["largest_error"], 1e-5)
        self.assertEqual(report["totals"]["moved_bytes"], 21 * MIB)
        final = {value["name"]: [m["at"] for m in value["materializations"]] for value in report["final"]["values"]}
        self.assertEqual(final["cold"], ["pageable-host"])
        self.assertEqual(final["x"], ["cuda:0"])
        self.assertEqual(final["y"], ["cuda:0"])

    def test_a_seed_gives_the_same_residues_and_another_seed_gives_others(self) -> None:
        first, second = self.run_shipped(SAMPLE), self.run_sample(SAMPLE)
        other = self.run_sample(SAMPLE, seed=2)
        hashes = [report["checks"][0]["residues_sha256"] for report in (first, second, other)]
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])

    def test_a_seeded_key_moves_half_the_bytes_and_gives_the_same_residues(self) -> None:
        full = self.run_shipped(SAMPLE)
        text = (ROOT / SAMPLE).read_text()
        document = self.folder / "seeded.yaml"
        document.write_text(text.replace("steps: 1}", "steps: 1, form: seeded}").replace("37 MiB", "46 MiB"))
        seeded = self.run_sample(document)
        self.assertEqual(*(report["checks"][0]["residues_sha256"] for report in (full, seeded)))
        self.assertTrue(seeded["checks"][0]["passed"])
        self.assertEqual(full["totals"]["moved_bytes"] - seeded["totals"]["moved_bytes"], 9 * MIB - 32)
        self.assertEqual(full["client"]["bytes_made"] - seeded["client"]["bytes_made"], 9 * MIB - 32)
        (stage,) = seeded["stages"]
        (peak,) = [item for item in stage["peaks"] if item["at"] == "cuda:0"]
        self.assertEqual(peak["predicted_charged"], peak["measured_charged"])

    def test_one_granule_less_than_the_exact_budget_is_infeasible_and_says_by_how_much(self) -> None:
        exact = 37 * MIB
        self.fheres("run", SAMPLE, "--device", "emulated", "--budget", f"cuda:0={exact}")
        report = self.folder / "report.json"
        result = self.fheres("run", SAMPLE, "--device", "emulated", "--budget", f"cuda:0={exact - GRANULE}", "--report",
                             report, expect=1)
        self.assertIn("256 B", result.stderr)
        self.assertIn("rot1", result.stderr)
        self.assertFalse(report.exists())

    def test_manual_plans_stream_tiles_through_a_budget_that_holds_two(self) -> None:
        report = self.run_shipped("samples/explicit-tiles.yaml")
        self.assertGreaterEqual(len(report["stages"]), 4)
        self.assertTrue(all(check["passed"] for check in report["checks"]))
        for stage in report["stages"]:
            for peak in stage["peaks"]:
                self.assertEqual(peak["predicted_charged"], peak["measured_charged"], stage["name"])
        prefetched = [transition for stage in report["stages"] for transition in stage["executed"]["transitions"]
                      if transition["asynchronous"]]
        self.assertEqual([transition["action"]["ensure"] for transition in prefetched], ["w1", "w2", "w3"])
        self.assertTrue(all(transition["phase"] == "prefetch" for transition in prefetched))
        self.assertFalse(any(transition["timing"]["arriving"] for transition in prefetched))

    def test_every_sample_runs_and_its_results_are_right_as_predicted(self) -> None:
        for path in sorted((ROOT / "samples").glob("*.yaml")):
            document = str(path.relative_to(ROOT))
            if "\nkind: Workload\n" not in path.read_text() or path.name in OF_A_GPU | FROM_FILES:
                continue
            with self.subTest(document):
                report = self.run_shipped(document)
                self.assertEqual(report["outcome"]["status"], "done")
                self.assertTrue(report["checks"])
                self.assertTrue(all(check["passed"] for check in report["checks"]))
                for stage in report["stages"]:
                    for peak in stage["peaks"]:
                        self.assertEqual(peak["predicted_charged"], peak["measured_charged"], stage["name"])

    def test_a_report_tells_who_held_the_room_where_each_budget_was_fullest_and_nowhere_else(self) -> None:
        for document in (SAMPLE, "samples/explicit-tiles.yaml", "samples/linear-transform.yaml", "samples/two-devices.yaml"):
            with self.subTest(document):
                report = self.run_shipped(document)
                stages = {stage["name"]: stage for stage in report["stages"]}
                fullest = {peak["at"]: peak for peak in report["peaks"] if peak["budget"] is not None}
                for at, peak in fullest.items():
                    (told,) = [item for item in stages[peak["stage"]]["explanation"]["locations"] if item["at"] == at]
                    held = sum(holder["bytes"] for holder in told["holders"]) + told.get("more_holders", {"bytes": 0})["bytes"]
                    self.assertEqual((told["peak_charged"], held), (peak["predicted_charged"],) * 2, at)
                    self.assertEqual(peak["measured_charged"],
                                     max(item["measured_charged"] for stage in report["stages"] for item in stage["peaks"]
                                         if item["at"] == at))
                others = [stage for name, stage in stages.items() if name not in {peak["stage"] for peak in fullest.values()}]
                self.assertFalse([item for stage in others for item in stage["explanation"]["locations"] if item["holders"]])

    def test_what_a_report_says_that_moved_is_what_explain_says(self) -> None:
        for document in (SAMPLE, "samples/explicit-tiles.yaml", "samples/two-devices.yaml"):
            with self.subTest(document):
                report, answer = self.folder / "report.json", self.folder / "answer.json"
                report.write_text(json.dumps(self.run_shipped(document)))
                self.assertFalse([stage for stage in json.loads(report.read_text())["stages"] if "actions" in stage["explanation"]])
                answer.write_text(self.fheres("explain", document, "--json").stdout)
                self.assertIn("equal:", self.fheres("diff", answer, report).stdout)

    def test_the_manifest_has_every_key_of_the_samples(self) -> None:
        for name, count, mib in (("matvec-bsgs", 62, 62 * 85.5), ("matvec-bsgs-small", 14, 21), ("polynomial-tiles", 1, 72),
                                 ("polynomial-tiles-small", 1, 14), ("logistic-loop-small", 13, 27.125),
                                 ("linear-transform", 5, 90)):
            with self.subTest(name):
                manifest = self.json("keys", f"samples/{name}.yaml")
                self.assertEqual(len(manifest["keys"]), count)
                self.assertEqual(manifest["total_bytes"], mib * MIB)

    def test_keys_and_plaintexts_of_any_form_and_level_give_the_same_residues(self) -> None:
        text = (ROOT / "samples/polynomial.yaml").read_text()
        plain = self.run_shipped("samples/polynomial.yaml")
        changed = text.replace("steps: 1}", "steps: 1, level: 2}").replace("steps: 2}", "steps: 2, form: seeded}")
        changed = changed.replace("steps: 4}", "steps: 4, form: seeded, level: 1}").replace("80 MiB", "120 MiB")
        document = self.folder / "forms.yaml"
        document.write_text(changed)
        forms = self.run_sample(document)
        keys = {key["name"]: (key["level"], key["form"]) for key in self.json("keys", document)["keys"]}
        self.assertEqual(keys["rot1"], (2, "full"))
        self.assertEqual(keys["rot2"], (3, "seeded"))
        self.assertEqual(keys["rot4"], (1, "seeded"))
        self.assertTrue(all(check["passed"] for check in forms["checks"]))
        # The polynomial's key is as it was.
        self.assertEqual(plain["checks"][0]["residues_sha256"], forms["checks"][0]["residues_sha256"])

    def test_compact_plaintexts_move_fewer_bytes_and_give_the_same_residues(self) -> None:
        text = (ROOT / "samples/matvec-bsgs-small.yaml").read_text()
        whole = self.run_shipped("samples/matvec-bsgs-small.yaml")
        document = self.folder / "compact.yaml"
        document.write_text(text.replace("period: 64}}}\n    at: pinned-host\n  baby", "period: 64}}, form: compact}\n    at: pinned-host\n  baby"))
        compact = self.run_sample(document)
        self.assertEqual([check["residues_sha256"] for check in whole["checks"]],
                         [check["residues_sha256"] for check in compact["checks"]])
        self.assertTrue(all(check["passed"] for check in compact["checks"]))
        # A diagonal is 4 limbs over P and Q, and a word a coefficient where it is compact.
        self.assertLess(compact["totals"]["moved_bytes"], whole["totals"]["moved_bytes"])

    @unittest.skipIf(SANITIZED, "nothing of the tool's that other tests do not run: a script that calls it many times")
    def test_a_sweep_over_budgets_compares_policy_plan_and_bound(self) -> None:
        script = ROOT / "scripts" / "sweep-samples.py"
        result = subprocess.run([sys.executable, script, FHERES, "--sample", "polynomial-tiles-small", "--budgets", "2",
                                 "--run", "emulated", "--set", "0..7}=0..3}", "--set", "total-8=total-4", "--out",
                                 self.folder], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        tight, roomy = json.loads((self.folder / "sweep.json").read_text())
        self.assertLess(tight["budget"], roomy["budget"])
        for row in (tight, roomy):
            self.assertLessEqual(row["bound"], row["compiled"])
            self.assertLessEqual(row["compiled"], row["policy"])
            self.assertEqual(row["plan_run"]["moved_bytes"], row["compiled"])
            self.assertEqual(row["plan_run"]["peak_measured"], row["plan_run"]["peak_predicted"])

    def test_large_samples_are_planned_without_their_memory(self) -> None:
        for name in sorted(OF_A_GPU):
            with self.subTest(name):
                answer = self.folder / "answer.json"
                with open(answer, "w") as file:
                    process = subprocess.Popen([FHERES, "explain", f"samples/{name}", "--json"], cwd=ROOT, stdout=file)
                    _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                explanation = json.loads(answer.read_text())
                self.assertEqual(explanation["answer"], "feasible")
                self.assertGreater(explanation["moved_bytes"], 200 * MIB)
                self.assertLess(used.ru_maxrss, (2048 if SANITIZED else 512) * 1024)  # KiB

    def test_the_trace_passes_a_strict_reader_of_its_format(self) -> None:
        for document in (SAMPLE, "samples/explicit-tiles.yaml"):
            self.run_shipped(document)
            trace = self.folder / "trace.json"
            trace.write_text(self.shipped[document][1])
            checker = ROOT / "tests" / "report" / "check_trace.py"
            result = subprocess.run([sys.executable, checker, trace], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stdout)
            events = json.loads(trace.read_text())["traceEvents"]
            phases = {event["ph"] for event in events}
            self.assertLessEqual(set("XMCbesf"), phases)

    def test_a_result_outside_its_tolerance_exits_5(self) -> None:
        text = (ROOT / SAMPLE).read_text().replace("tolerance: 1.0e-5", "tolerance: 1.0e-15")
        document = self.folder / "strict.yaml"
        document.write_text(text)
        result = self.fheres("run", document, "--device", "emulated", expect=5)
        self.assertIn("wrong-result", result.stdout)

    def test_a_report_that_cannot_be_written_exits_4_and_leaves_nothing(self) -> None:
        target = self.folder / "missing" / "report.json"
        result = self.fheres("run", "samples/first-steps.yaml", "--device", "emulated", "--report", target, expect=4)
        self.assertIn(str(target), result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_device_that_is_not_there_is_a_clear_failure(self) -> None:
        result = self.fheres("run", SAMPLE, "--device", "cuda:127", expect=4)
        self.assertIn("cuda", result.stderr)
        self.fheres("run", SAMPLE, "--device", "cuda:128", expect=2)


if __name__ == "__main__":
    unittest.main()
