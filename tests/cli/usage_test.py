"""Wrong command lines, as people type them: every command says what is wrong with which option, and exits 2."""

import json
import re
import unittest

from commands_test import COLUMNS, GOOD, commands_in
from tool import SAMPLE, ToolTest

KINDS = {"Workload": SAMPLE, "Plan": "plans/two-tiles.yaml", "Request": "samples/automatic-rotate-scale.request.yaml",
         "Machine": "plans/machines/h200.yaml"}
# What each command takes; the others are refused as documents of another kind.
TAKES = {"explain": {"Workload", "Plan", "Request"}, "decide": {"Workload", "Request"}, "run": {"Workload"},
         "compile": {"Workload"}, "fit": {"Workload"}, "verify": {"Plan"}, "keys": {"Workload"}, "diff": {"Workload", "Plan"},
         "client keygen": {"Workload"}, "client encrypt": {"Workload"}, "client decrypt": {"Workload"}}
NO_NUMBERS = ("-1", "99999999999999999999999", "1.5", "0x10", "")


class UsageTest(ToolTest):
    def options_of(self, name: str) -> list[tuple[str, str]]:
        """Each option that takes something, with the word that the help has for it."""
        text = self.fheres(*name.split(), "--help").stdout
        return re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+) ([A-Z][A-Z=]*)(?: |$)", text)

    def refused(self, *arguments: object) -> str:
        result = self.fheres(*arguments, expect=2)
        self.assertEqual(result.stdout, "", arguments)
        for line in result.stderr.splitlines():
            self.assertLessEqual(len(line), COLUMNS + max(map(len, map(str, arguments)), default=0), line)
        return result.stderr

    def test_an_option_says_what_it_takes_and_a_number_or_name_that_is_none_is_refused_by_name(self) -> None:
        for name in GOOD:
            for option, word in self.options_of(name):
                self.assertNotEqual(word, "TEXT", f"{name} {option}")
                for text in NO_NUMBERS if word == "N" else [""] if word in ("FILE", "FOLDER") else ["nothing="]:
                    if word in ("NAME", "NAME=FILE"):
                        continue
                    message = self.refused(*name.split(), f"{option}={text}") if text else self.refused(*name.split(), option, text)
                    if word == "N" and not text:
                        continue
                    self.assertIn(f"{option}: " + ("" if text else "the name is empty"), message)
                    self.assertEqual(message.count(f"{option}:"), 1, message)

    def test_what_may_have_been_meant_is_named(self) -> None:
        self.assertIn("there is no command `vaildate`; did you mean `validate`?", self.refused("vaildate", SAMPLE))
        self.assertIn("there is no option `--jsn`; did you mean `--json`?", self.refused("explain", SAMPLE, "--jsn"))
        self.assertIn("there is no option `--buget`; did you mean `--budget`?",
                      self.refused("explain", SAMPLE, "--buget=cuda:0=1MiB"))
        self.assertIn("there is no command `keygne`; did you mean `keygen`?", self.refused("client", "keygne"))
        self.assertIn("one argument too many", self.refused("explain", SAMPLE, SAMPLE))
        self.assertIn("a command is missing", self.refused())
        for name in GOOD:
            self.assertIn(f"`fheres {name} --help`", self.refused(*name.split(), "--frobnicate"))

    def test_a_document_of_another_kind_is_refused_at_its_line_and_as_json(self) -> None:
        for name, takes in TAKES.items():
            more = {"compile": ("-o", self.folder / "out"), "diff": ("plans/two-tiles.yaml",),
                    "client keygen": ("--secret", self.folder / "secret"), "client encrypt": ("--public", "x"),
                    "client decrypt": ("x", "--secret", "x")}.get(name, ())
            for kind in set(KINDS) - takes:
                result = self.fheres(*name.split(), KINDS[kind], *more, "--json", expect=2)
                (file,) = json.loads(result.stdout)["files"]
                self.assertEqual([item["code"] for item in file["diagnostics"]], ["FHR0102"], (name, kind))
                self.assertIn(f"{KINDS[kind]}:", result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_workload_without_parameters_cannot_run_and_says_so_at_its_line(self) -> None:
        document = self.folder / "opaque.yaml"
        document.write_text("apiVersion: fheres/v1\nkind: Workload\nmetadata: {name: opaque}\nvalues: {x: {bytes: 1 MiB, at: "
                            "pinned-host}}\nstages: [{name: s, require: {cuda:0: [x]}}]\n")
        for arguments in (("run", document), ("keys", document), ("client", "keygen", document, "--secret", "x")):
            result = self.fheres(*arguments, "--json", expect=2)
            self.assertEqual(json.loads(result.stdout)["files"][0]["diagnostics"][0]["code"], "FHR0105")

    def test_every_command_of_the_help_is_tried_here(self) -> None:
        self.assertEqual({name.split()[0] for name in GOOD}, set(commands_in(self.fheres("--help").stdout)))


if __name__ == "__main__":
    unittest.main()
