"""Commands that answer without a device: explain, decide, validate, params, devices."""

import resource
import unittest

from tool import ROOT, SAMPLE, SANITIZED, ToolTest

SHIPPED = sorted(str(path.relative_to(ROOT)) for folder in ("samples", "plans") for path in (ROOT / folder).glob("*.yaml"))
INFEASIBLE = "plans/does-not-fit.yaml"


class AnswersTest(ToolTest):
    def test_every_shipped_document_is_valid_and_explained_quickly(self) -> None:
        self.assertGreaterEqual(len(SHIPPED), 6)
        self.fheres("validate", *SHIPPED)
        for document in SHIPPED:
            before = self.processor_seconds()
            self.fheres("explain", document, expect=1 if document == INFEASIBLE else 0)
            # The goal is well under 0.1 s; sanitizers and slow machines are given room.
            self.assertLess(self.processor_seconds() - before, 20.0 if SANITIZED else 2.0, document)

    @staticmethod
    def processor_seconds() -> float:
        """Of all commands until now, whatever else the machine was doing."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def test_an_infeasible_plan_names_stage_location_budget_and_what_holds_the_room(self) -> None:
        answer = self.json("explain", INFEASIBLE, expect=1)
        self.assertEqual(answer["answer"], "infeasible")
        self.assertIsNotNone(answer["place"])
        text = self.fheres("explain", INFEASIBLE, expect=1).stdout
        last = answer["stages"][-1]
        self.assertIn(last["name"], text)
        self.assertIn("cuda:0", text)
        holders = [h for location in last["explanation"]["locations"] if location["at"] == "cuda:0"
                   for h in location["holders"]]
        self.assertTrue(holders)
        for holder in holders:
            self.assertIn(holder["name"], text)

    def test_explain_and_decide_give_the_same_bytes_every_time(self) -> None:
        for command in ("explain", "decide"):
            first = self.fheres(command, SAMPLE, "--json").stdout
            self.assertEqual(first, self.fheres(command, SAMPLE, "--json").stdout)

    def test_decide_names_the_cold_plaintext_as_the_only_victim(self) -> None:
        (request,) = [path for path in SHIPPED if "request" in path]
        for document in (request, SAMPLE):
            answer = self.json("decide", document)
            (decision,) = [item["decision"] for item in answer["decisions"]]
            self.assertEqual([item["action"] for item in decision["evictions"]], [{"drop": "cold", "at": "cuda:0"}])

    def test_a_plan_is_not_a_question_for_decide(self) -> None:
        self.assertIn("Plan", self.fheres("decide", "plans/two-tiles.yaml", expect=2).stderr)

    def test_a_budget_option_replaces_the_documents_and_is_checked(self) -> None:
        self.fheres("explain", SAMPLE, "--budget", "cuda:0=20MiB", expect=1)
        for bad in ("cuda:0", "cuda:128=1MiB", "cuda:0=-1", "cuda:0=1.5", "cuda:0=3 parsec"):
            self.fheres("explain", SAMPLE, "--budget", bad, expect=2)

    def test_params_and_devices_answer_as_text_and_as_json(self) -> None:
        preset = "slots8192-scale40-levels7"
        self.assertIn(preset, self.fheres("params").stdout)
        (described,) = self.json("params", preset)["presets"]
        self.assertEqual(described["bytes"][0]["rotation_key"], 18 << 20)
        self.assertIn("18 MiB", self.fheres("params", preset).stdout)
        self.fheres("params", "slots1", expect=2)
        self.assertIn("cuda_status", self.json("devices"))
        self.assertIn("emulated", self.fheres("devices").stdout)

    def test_params_advise_names_the_given_choice_and_only_secure_ones_of_its_depth(self) -> None:
        preset = "slots16384-scale40-levels16"
        advice = self.json("params", preset, "--advise")
        self.assertEqual(advice["for"], preset)
        (given,) = [choice for choice in advice["choices"] if choice["given"]]
        self.assertEqual((given["q"], given["p"], given["digits"]), ("60, 40x16", "60x2", 9))
        sizes = [choice["rotation_key"] for choice in advice["choices"]]
        self.assertEqual(sizes, sorted(sizes))
        for choice in advice["choices"]:
            self.assertLessEqual(choice["log_qp"], 868)
            self.assertEqual(choice["seeded_rotation_key"], choice["rotation_key"] // 2 + 32)
        self.assertTrue(any(choice["fast_transforms"] == choice["transforms"] for choice in advice["choices"]))
        self.assertIn("double-precision", self.fheres("params", preset, "--advise").stdout)
        self.fheres("params", "--advise", expect=2)

    def test_devices_check_passes_on_the_emulated_device(self) -> None:
        answer = self.json("devices", "--check")
        checks = [(item["check"], item["passed"], item["detail"]) for item in answer["checks"]
                  if item["device"] == "emulated"]
        self.assertEqual(checks, [(name, True, "") for name in ("expansion", "transform", "key switch")])
        self.assertNotIn("FAIL", self.fheres("devices", "--check").stdout)

    def test_usage_errors_exit_2_and_help_exits_0(self) -> None:
        self.fheres(expect=2)
        self.fheres("frobnicate", expect=2)
        self.fheres("explain", expect=2)
        self.assertIn("0.1.0", self.fheres("--version").stdout)
        for command in ("validate", "explain", "decide", "run", "params", "devices", "keys"):
            self.assertIn("example: fheres " + command, self.fheres(command, "--help").stdout)
        for command in ("keygen", "encrypt", "decrypt"):
            self.assertIn("example: fheres client " + command, self.fheres("client", command, "--help").stdout)
        self.fheres("client", expect=2)

    def test_quiet_says_nothing_but_the_exit_code(self) -> None:
        self.assertEqual(self.fheres("explain", SAMPLE, "--quiet").stdout, "")
        self.assertEqual(self.fheres("explain", INFEASIBLE, "--quiet", expect=1).stdout, "")


if __name__ == "__main__":
    unittest.main()
