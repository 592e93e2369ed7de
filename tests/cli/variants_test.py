"""`choose`: what the compiler is left to choose is chosen, written, run, and told, to the byte."""

import json
import shutil
import sys
import unittest

from tool import ROOT, ToolTest

MIB = 1 << 20
CHOOSE = "choose: all\n"


class VariantsTest(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.workload = self.folder / "variants.yaml"
        self.workload.write_text((ROOT / "samples/variants.yaml").read_text().replace("budget: 34 MiB", "budget: 30 MiB"))
        self.plan = self.folder / "plan.yaml"

    def compile(self, *options, expect: int = 0) -> dict:
        return json.loads(self.fheres("compile", self.workload, "-o", self.plan, "--json", *options, expect=expect).stdout)

    def without_a_choice(self) -> None:
        self.workload.write_text(self.workload.read_text().replace(CHOOSE, ""))

    def run_plan(self) -> dict:
        report = self.folder / "report.json"
        self.fheres("run", self.workload, "--plan", self.plan, "--device", "emulated", "--seed", 1, "--report", report)
        return json.loads(report.read_text())

    def test_what_is_chosen_runs_as_planned_where_nothing_runs_without_a_choice(self) -> None:
        evidence = self.compile()["evidence"]
        self.assertLessEqual(evidence["lower_bound_bytes"], evidence["moved_bytes"])
        chosen = {item["name"]: item["chosen"] for item in evidence["variants"]}
        self.assertTrue(chosen["sum-0-1"].startswith("groups-of-"))
        self.fheres("verify", self.plan)
        report = self.run_plan()
        self.assertEqual(report["plan"]["predicted"]["moved_bytes"], evidence["moved_bytes"])
        self.assertEqual(report["plan"]["measured"]["moved_bytes"], evidence["moved_bytes"])
        for stage in report["stages"]:
            for peak in stage["peaks"]:
                self.assertEqual(peak["predicted_charged"], peak["measured_charged"], stage["name"])
        self.assertEqual(len(report["checks"]), 4)
        keys = json.loads(self.fheres("keys", self.workload, "--plan", self.plan, "--json").stdout)["keys"]
        forms = {key["name"]: key["form"] for key in keys}
        for name in ("turn-1", "turn-2", "turn-4"):
            self.assertEqual(forms[name], chosen[name].split("-")[0])
            self.assertEqual(f"{name}.level-3" in forms, chosen[name].endswith("by-level"))
        self.without_a_choice()
        self.compile(expect=1)

    def test_with_room_keys_are_seeded_and_half_the_bytes_are_moved(self) -> None:
        chosen = self.compile("--budget", f"cuda:0={128 * MIB}")["evidence"]
        self.assertEqual({item["chosen"] for item in chosen["variants"]}, {"seeded", "compact", "whole"})
        plan = self.folder / "other.yaml"
        shutil.copy(self.plan, plan)
        self.compile("--budget", f"cuda:0={40 * MIB}")
        difference = self.fheres("diff", plan, self.plan, expect=1).stdout
        self.assertIn("variant", difference)
        self.without_a_choice()
        fixed = self.compile("--budget", f"cuda:0={128 * MIB}")["evidence"]
        self.assertLess(chosen["moved_bytes"], 0.6 * fixed["moved_bytes"])

    def test_keys_are_made_as_a_plan_has_chosen_them(self) -> None:
        self.compile("--budget", f"cuda:0={128 * MIB}")
        made = json.loads(self.fheres("client", "keygen", self.workload, "--plan", self.plan, "--secret", self.folder / "secret",
                                      "--out", self.folder / "keys", "--seed", 1, "--json").stdout)["written"]
        self.assertEqual({item["form"] for item in made}, {"seeded"})

    def test_a_plan_with_a_variant_that_is_not_there_is_refused_and_found_out(self) -> None:
        self.compile("--budget", f"cuda:0={128 * MIB}")
        self.plan.write_text(self.plan.read_text().replace("variant: seeded", "variant: sedeed", 1))
        self.assertIn("sedeed", self.fheres("verify", self.plan, expect=1).stdout)
        result = self.fheres("run", self.workload, "--plan", self.plan, "--device", "emulated", expect=2)
        self.assertIn("FHR0523", result.stderr)
        self.assertIn("plan.yaml:", result.stderr)

    def test_mistakes_are_told_at_their_line(self) -> None:
        text = self.workload.read_text()
        self.workload.write_text(text.replace(CHOOSE, "choose: [form, levels]\n"))
        result = self.fheres("validate", self.workload, expect=2)
        self.assertIn("did you mean `level`?", result.stdout + result.stderr)
        self.workload.write_text(text.replace("        at: cuda:0\n", "        at: cuda:0\n        key_switch: some\n", 1))
        self.assertIn("key_switch", self.fheres("validate", self.workload, expect=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
