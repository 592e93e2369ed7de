"""The main job, end to end, on the emulated device: decide, run, check, report, trace."""

import json
import subprocess
import sys
import unittest

from tool import GRANULE, ROOT, SAMPLE, ToolTest

MIB = 1 << 20


class RunTest(ToolTest):
    def run_sample(self, document: str, seed: int = 1) -> dict:
        report = self.folder / "report.json"
        self.fheres("run", document, "--device", "emulated", "--seed", seed, "--report", report)
        return json.loads(report.read_text())

    def test_the_sample_evicts_only_the_cold_plaintext_and_computes_the_right_result(self) -> None:
        report = self.run_sample(SAMPLE)
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
        first, second = self.run_sample(SAMPLE), self.run_sample(SAMPLE)
        other = self.run_sample(SAMPLE, seed=2)
        hashes = [report["checks"][0]["residues_sha256"] for report in (first, second, other)]
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])

    def test_a_seeded_key_moves_half_the_bytes_and_gives_the_same_residues(self) -> None:
        full = self.run_sample(SAMPLE)
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
        report = self.run_sample("samples/explicit-tiles.yaml")
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

    def test_operations_with_numbers_sums_and_polynomials_match_their_clear_text(self) -> None:
        for sample in ("samples/arithmetic.yaml", "samples/polynomial.yaml"):
            report = self.run_sample(sample)
            self.assertTrue(all(check["passed"] for check in report["checks"]), sample)
            for stage in report["stages"]:
                for peak in stage["peaks"]:
                    self.assertEqual(peak["predicted_charged"], peak["measured_charged"], sample)

    def test_the_trace_passes_a_strict_reader_of_its_format(self) -> None:
        for document in (SAMPLE, "samples/explicit-tiles.yaml"):
            trace = self.folder / "trace.json"
            self.fheres("run", document, "--device", "emulated", "--trace", trace)
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
