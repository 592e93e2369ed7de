"""What a CI server reads: JUnit, SARIF, and the comparison with a baseline."""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from ci_formats import check_junit, check_sarif
from tool import FHERES, GRANULE, ROOT, SAMPLE, ToolTest

INFEASIBLE = "plans/does-not-fit.yaml"
TILES = "samples/explicit-tiles.yaml"
UNDECIDED = ("tests/golden/decide-inconclusive/input.yaml", "--search-state-limit", 1)
WRONG = "tests/golden/misspelt-name/input.yaml"
MIB = 1 << 20


class CiTest(ToolTest):
    def junit(self, *arguments: object, expect: int = 0) -> dict[str, str]:
        return check_junit(self.fheres(*arguments, "--format", "junit", expect=expect).stdout)

    def sarif(self, *arguments: object, expect: int = 0) -> list[dict]:
        return check_sarif(json.loads(self.fheres(*arguments, "--format", "sarif", expect=expect).stdout))

    def test_junit_has_a_case_for_every_stage_and_those_after_a_failure_are_skipped(self) -> None:
        stages = [stage["name"] for stage in self.json("explain", TILES)["stages"]]
        self.assertEqual(self.junit("explain", TILES), dict.fromkeys(["initial placement", *stages], "passed"))
        cases = self.junit("explain", TILES, "--budget", "cuda:0=1MiB", expect=1)
        self.assertEqual(list(cases), ["initial placement", *stages])
        self.assertIn("failure", cases.values())
        after = list(cases.values())[list(cases.values()).index("failure") + 1:]
        self.assertEqual(set(after) - {"skipped"}, set())
        self.assertEqual(list(self.junit("decide", SAMPLE).values()), ["passed", "passed"])

    def test_an_undecided_stage_is_an_error_and_no_failure(self) -> None:
        self.assertIn("error", self.junit("decide", *UNDECIDED, expect=3).values())
        (result,) = self.sarif("decide", *UNDECIDED, expect=3)
        self.assertEqual(result["code"], "FHR0902")

    def test_sarif_of_each_command_and_document_has_a_category_of_its_own(self) -> None:
        # GitHub refuses an upload in which two are the same.
        documents = [("explain", SAMPLE), ("explain", TILES), ("decide", SAMPLE), ("validate", SAMPLE), ("explain", WRONG)]
        ids = []
        for arguments in documents:
            text = self.fheres(*arguments, "--format", "sarif", expect=2 if WRONG in arguments else 0).stdout
            ids.append(json.loads(text)["runs"][0]["automationDetails"]["id"])
        self.assertEqual(ids[0], "fheres-explain/automatic-rotate-scale/")
        self.assertEqual(len(set(ids)), len(ids), ids)

    def test_sarif_has_a_result_for_every_finding_at_its_line(self) -> None:
        self.assertEqual(self.sarif("explain", TILES), [])
        (result,) = self.sarif("explain", INFEASIBLE, expect=1)
        place = self.json("explain", INFEASIBLE, expect=1)["place"]
        self.assertEqual((result["code"], result["file"], result["line"], result["column"]),
                         ("FHR0901", INFEASIBLE, place["line"], place["column"]))

    def test_diagnostics_are_findings_of_every_command_that_reads_a_document(self) -> None:
        (file,) = self.json("validate", WRONG, expect=2)["files"]
        expected = [(item["code"], WRONG, item["line"], item["column"]) for item in file["diagnostics"]]
        self.assertGreater(len(expected), 1)
        for command in ("validate", "explain", "decide"):
            results = self.sarif(command, WRONG, expect=2)
            self.assertEqual([tuple(item[key] for key in ("code", "file", "line", "column")) for item in results],
                             expected, command)
            self.assertEqual(self.junit(command, WRONG, expect=2), {WRONG: "failure"}, command)

    def test_validate_has_a_case_for_every_file_and_a_missing_one_is_a_finding_too(self) -> None:
        cases = self.junit("validate", SAMPLE, WRONG, "not there.yaml", expect=2)
        self.assertEqual(cases, {SAMPLE: "passed", WRONG: "failure", "not there.yaml": "failure"})
        (missing,) = self.sarif("validate", "not there.yaml", expect=2)
        self.assertEqual((missing["code"], missing["file"], missing["line"]), ("FHR0001", "not%20there.yaml", 1))

    def test_names_and_messages_cannot_break_out_of_the_xml(self) -> None:
        document = self.folder / "odd.yaml"
        document.write_text("apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: \"a<&\\u0001\\uFFFE\\\"b\"}\n"
                            "values: {x: {bytes: 1 MiB, at: pinned-host}}\n"
                            "stages: [{name: \"<s>&'\", require: {cuda:0: [x]}}, {name: ']]>', require: {cuda:1: [y]}}]\n")
        self.assertEqual(list(self.junit("explain", document, expect=2).values()), ["failure"])
        self.sarif("explain", document, expect=2)

    def test_verify_has_a_case_for_every_stage_and_its_violations_are_findings(self) -> None:
        plan = self.folder / "plan.yaml"
        text = (ROOT / "plans/two-tiles.yaml").read_text()
        plan.write_text(text)
        self.assertEqual(self.junit("verify", plan),
                         dict.fromkeys(["initial placement", "tile-0", "tile-1", "evidence"], "passed"))
        plan.write_text(text.replace("40 MiB", "20 MiB"))
        self.assertIn("failure", self.junit("verify", plan, expect=1).values())
        found = self.sarif("verify", plan, expect=1)
        self.assertEqual([(item["code"], item["line"]) for item in found],
                         [(item["rule"] if isinstance(item["rule"], str) else f"R{item['rule']}", item["place"]["line"])
                          for item in self.json("verify", plan, expect=1)["violations"]])

    def test_json_and_another_format_at_once_are_refused(self) -> None:
        self.fheres("explain", SAMPLE, "--json", "--format", "junit", expect=2)
        self.fheres("explain", SAMPLE, "--format", "xml", expect=2)
        self.assertEqual(self.json("explain", SAMPLE),
                         json.loads(self.fheres("explain", SAMPLE, "--format", "json").stdout))

    def test_an_invalid_document_gives_one_json_object_with_its_problems(self) -> None:
        for command in ("explain", "decide", "keys"):
            answer = self.json(command, WRONG, expect=2)
            self.assertEqual((answer["schema"], answer["valid"]), ("fheres/validation/v1", False), command)


class BaselineTest(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.baseline = self.folder / "baseline.json"

    def record(self, *arguments: object) -> dict:
        self.baseline.write_text(self.fheres(*arguments, "--json").stdout)
        return json.loads(self.baseline.read_text())

    def change(self, **members: object) -> None:
        self.baseline.write_text(json.dumps({**json.loads(self.baseline.read_text()), **members}))

    def test_the_same_answer_is_not_worse_and_one_byte_more_is(self) -> None:
        before = self.record("explain", SAMPLE)
        self.assertEqual(self.fheres("explain", SAMPLE, "--baseline", self.baseline).stderr, "")
        self.change(moved_bytes=before["moved_bytes"] - 1)
        result = self.fheres("explain", SAMPLE, "--baseline", self.baseline, expect=6)
        (line,) = result.stderr.splitlines()
        self.assertIn(f"moved {before['moved_bytes']} B, was {before['moved_bytes'] - 1} B (+1 B)", line)
        self.assertIn("feasible: ", result.stdout.splitlines()[-1])
        self.change(moved_bytes=before["moved_bytes"] + 1)
        self.fheres("explain", SAMPLE, "--baseline", self.baseline)

    def test_a_grown_peak_and_a_longer_time_are_named_with_their_location(self) -> None:
        before = self.record("explain", SAMPLE)
        peaks = [{**peak, "charged": peak["charged"] - MIB} if peak["at"] == "cuda:0" else peak for peak in before["peaks"]]
        self.change(peaks=peaks)
        result = self.fheres("explain", SAMPLE, "--baseline", self.baseline, expect=6)
        self.assertIn("peak at cuda:0 37 MiB, was 36 MiB (+1 MiB)", result.stderr)

    def test_json_junit_and_sarif_say_it_too(self) -> None:
        self.record("decide", SAMPLE)
        self.change(moved_bytes=0)
        answer = self.json("decide", SAMPLE, "--baseline", self.baseline, expect=6)
        self.assertEqual(answer["baseline"]["worse"], ["moved 21 MiB, was 0 B (+21 MiB)"])
        arguments = ("decide", SAMPLE, "--baseline", self.baseline, "--format")
        self.assertEqual(check_junit(self.fheres(*arguments, "junit", expect=6).stdout)["baseline"], "failure")
        (result,) = check_sarif(json.loads(self.fheres(*arguments, "sarif", expect=6).stdout))
        self.assertEqual((result["code"], result["file"]), ("FHR0903", SAMPLE))

    def test_a_compiled_plan_is_held_against_bytes_peak_gap_and_time(self) -> None:
        workload = "samples/polynomial-tiles-small.yaml"
        compile = ("compile", workload, "-o", self.folder / "plan.yaml", "--machine", "plans/machines/h200.yaml")
        evidence = self.record(*compile)["evidence"]
        self.assertEqual(self.fheres(*compile, "--baseline", self.baseline).stderr, "")
        (peak,) = (item for item in evidence["peaks"] if item["at"] == "cuda:0")
        peak["bytes"] -= GRANULE
        evidence["time"]["predicted_ns"] -= 1000
        self.change(evidence={**evidence, "gap": -0.01})
        answer = self.json(*compile, "--baseline", self.baseline, expect=6)["baseline"]["worse"]
        self.assertEqual([line.split(" ")[0] for line in answer], ["peak", "gap", "predicted"])
        # A plan that moves fewer bytes may be further from a bound that fell as well.
        self.change(evidence={**evidence, "gap": -0.01, "moved_bytes": evidence["moved_bytes"] + 1})
        answer = self.json(*compile, "--baseline", self.baseline, expect=6)["baseline"]["worse"]
        self.assertEqual([line.split(" ")[0] for line in answer], ["peak", "predicted"])
        self.assertTrue((self.folder / "plan.yaml").exists())

    def test_a_workload_without_a_plan_says_so_at_every_line_of_the_proof(self) -> None:
        compile = ("compile", SAMPLE, "-o", self.folder / "plan.yaml", "--budget", "cuda:0=20MiB", "--format")
        junit = check_junit(self.fheres(*compile, "junit", expect=1).stdout)
        self.assertEqual(junit["rotate-scale/tile-0"], "failure")
        results = check_sarif(json.loads(self.fheres(*compile, "sarif", expect=1).stdout))
        self.assertGreater(len(results), 2)
        self.assertEqual({(item["code"], item["file"]) for item in results}, {("FHR0901", SAMPLE)})
        self.assertFalse((self.folder / "plan.yaml").exists())

    def test_a_run_is_held_against_an_answer_or_an_earlier_report(self) -> None:
        self.record("explain", SAMPLE)
        run = ("run", SAMPLE, "--device", "emulated", "--baseline", self.baseline)
        report = json.loads(self.fheres(*run, "--json").stdout)
        self.assertEqual(report["baseline"]["worse"], [])
        self.baseline.write_text(json.dumps(report))
        self.fheres(*run)
        report["totals"]["moved_bytes"] -= GRANULE
        self.baseline.write_text(json.dumps(report))
        self.assertIn("+256 B", self.fheres(*run, expect=6).stderr)

    def test_infeasible_stays_infeasible_and_an_infeasible_baseline_has_nothing_to_lose(self) -> None:
        self.record("explain", SAMPLE)
        self.fheres("explain", SAMPLE, "--budget", "cuda:0=1MiB", "--baseline", self.baseline, expect=1)
        self.baseline.write_text(self.fheres("explain", SAMPLE, "--budget", "cuda:0=30MiB", "--json", expect=1).stdout)
        self.fheres("explain", SAMPLE, "--baseline", self.baseline)

    def test_what_is_no_baseline_is_refused_before_anything_runs(self) -> None:
        for text in ("", "{", "[]", "{}", '{"schema": "fheres/keys/v1"}', '{"schema": 3, "moved_bytes": 1}'):
            self.baseline.write_text(text)
            for command in ("explain", "run"):
                result = self.fheres(command, SAMPLE, "--baseline", self.baseline, expect=2)
                self.assertIn("--baseline", result.stderr)
        self.fheres("explain", SAMPLE, "--baseline", self.folder / "none.json", expect=2)
        self.record("explain", TILES)
        self.assertIn("explicit-tiles", self.fheres("explain", SAMPLE, "--baseline", self.baseline, expect=2).stderr)


try:
    import yaml
except ImportError:
    yaml = None


@unittest.skipUnless(yaml, "python3-yaml is not here")
class WorkflowTest(ToolTest):
    """The steps of docs/ci/workloads.yml that use fheres, as a runner would execute them."""

    def run_steps(self) -> dict[str, int]:
        workflow = yaml.safe_load((ROOT / "docs/ci/workloads.yml").read_text())
        codes = {}
        for step in workflow["jobs"]["workloads"]["steps"]:
            if "fheres " not in step.get("run", "").replace("fheres.deb", ""):
                continue
            result = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                                    cwd=self.folder, capture_output=True, text=True,
                                    env={**os.environ, "PATH": f"{pathlib.Path(FHERES).parent}:{os.environ['PATH']}"})
            codes[step["name"]] = result.returncode
        return codes

    def test_it_is_green_until_a_document_is_wrong_or_moves_more_than_its_baseline(self) -> None:
        for name in ("workloads", "baselines"):
            (self.folder / name).mkdir()
        document = self.folder / "workloads" / "sample.yaml"
        shutil.copy(ROOT / SAMPLE, document)
        self.assertEqual(list(self.run_steps().values()), [0, 0, 0])
        answer = self.json("explain", document)
        baseline = self.folder / "baselines" / "sample.json"
        baseline.write_text(json.dumps(answer))
        self.assertEqual(list(self.run_steps().values()), [0, 0, 0])
        baseline.write_text(json.dumps({**answer, "moved_bytes": 1}))
        self.assertEqual(list(self.run_steps().values()), [0, 1, 0])
        (result,) = check_sarif(json.loads((self.folder / "results/sample.sarif").read_text()))
        self.assertEqual((result["code"], result["file"]), ("FHR0903", "workloads/sample.yaml"))
        self.assertIn("failure", check_junit((self.folder / "results/sample.xml").read_text()).values())
        document.write_text(document.read_text().replace("rotate: x", "rotate: xx"))
        self.assertEqual(list(self.run_steps().values()), [2, 1, 1])


if __name__ == "__main__":
    unittest.main()
