"""What holds for every command: help, formats, colours, exit codes; and what is written from the same source as help."""

import functools
import json
import os
import pty
import re
import shutil
import subprocess
import unittest

from tool import FHERES, ROOT, SAMPLE, ToolTest, some

try:
    import jsonschema
except ImportError:
    jsonschema = None

COLUMNS = 100
WRONG = "tests/golden/misspelt-name/input.yaml"
CLIENT = "samples/client-server.yaml"
UNDECIDED = ("tests/golden/decide-inconclusive/input.yaml", "--search-state-limit", 1)
EMULATED = ("--device", "emulated")

# What each command is called with to answer 0. In {folder} are a secret, values and a report; {n} is another number each time.
GOOD = {
    "validate": (SAMPLE,),
    "explain": (SAMPLE,),
    "decide": (SAMPLE,),
    "calibrate": (*EMULATED, "--copies-only", "--repetitions", "3", "--largest-copy", "64KiB", "-o", "{folder}/{n}.machine.yaml"),
    "compile": (SAMPLE, "-o", "{folder}/{n}.plan.yaml"),
    "diff": ("plans/two-tiles.yaml", "plans/two-tiles.yaml"),
    "explain-code": ("FHR0103",),
    "fit": (SAMPLE,),
    "run": (SAMPLE, *EMULATED),
    "trace": ("{folder}/report.json", "-o", "{folder}/{n}.csv"),
    "verify": ("plans/two-tiles.yaml",),
    "params": ("slots8192-scale40-levels7",),
    "devices": (),
    "keys": (CLIENT,),
    "client keygen": ("{folder}/client.yaml", "--secret", "{folder}/{n}.secret", "--out", "{folder}/keys"),
    "client encrypt": ("{folder}/client.yaml", "--secret", "{folder}/0.secret"),
    "client decrypt": ("{folder}/client.yaml", "{folder}/0.values", "--secret", "{folder}/0.secret"),
    "init": ("{folder}/{n}.yaml",),
    "schema": ("workload",),
    "completion": ("bash",),
    "man": (),
}


def commands_in(help_text: str) -> list[str]:
    section = help_text.split("\ncommands:\n", 1)
    return re.findall(r"(?m)^  (\S+)", section[1].split("\n\n")[0]) if len(section) == 2 else []


@functools.cache
def help_of(name: str) -> str:
    result = subprocess.run([FHERES, *name.split(), "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stderr == "", result.stderr
    return result.stdout


@functools.cache
def all_commands() -> tuple[str, ...]:
    names = []
    for name in commands_in(help_of("")):
        below = commands_in(help_of(name))
        names += [f"{name} {item}" for item in below] or [name]
    return tuple(names)


class CommandsTest(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.good = {name: GOOD[name] for name in all_commands()}

    def test_every_help_shows_an_example_and_fits_the_screen(self) -> None:
        for name in ["", "client", *self.good]:
            text = help_of(name)
            for line in text.splitlines():
                self.assertLessEqual(len(line), COLUMNS, f"{name}: {line}")
            if name in self.good:
                self.assertIn(f"\nexample: ", text, name)
                for option in ("--json", "--quiet", "--color", "--help"):
                    self.assertIn(option, text, name)
                example = re.search(r"\nexample: (.*)", text).group(1)
                self.assertIn(f"fheres {name}", example)

    def test_an_unknown_option_or_command_is_a_usage_error_with_nothing_on_stdout(self) -> None:
        for name in some(["", *self.good]):
            result = self.fheres(*name.split(), "--frobnicate", expect=2)
            self.assertEqual(result.stdout, "")
            self.assertNotEqual(result.stderr, "")
        for name in some([*self.good]):
            self.fheres(*name.split(), "--color", "purple", expect=2)

    def test_documents_that_are_not_there_or_wrong_exit_2_and_say_where(self) -> None:
        for name in some(("validate", "explain", "decide", "run", "keys")):
            self.assertIn("FHR0001", self.fheres(name, "no/such.yaml", expect=2).stderr)
            self.assertIn(f"{WRONG}:12:", self.fheres(name, WRONG, expect=2).stderr)

    def test_json_is_one_object_of_a_known_schema_and_quiet_says_nothing(self) -> None:
        validator = None
        if jsonschema:
            schema = json.loads((ROOT / "plans/schema/reports.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            validator = jsonschema.Draft202012Validator(schema)
        self.prepare()
        for number, name in enumerate(some([*self.good]), 1):
            arguments = self.arguments(name, 2 * number)
            self.assertEqual(self.fheres(*arguments, "--quiet").stdout, "", name)
            answer = json.loads(self.fheres(*self.arguments(name, 2 * number + 1), "--json").stdout)
            if name == "schema":
                continue
            self.assertRegex(answer["schema"], r"^fheres/[a-z-]+/v1$", name)
            if validator:
                kind = self.kind_of(answer["schema"].split("/")[1])
                own = json.loads(self.fheres("schema", kind).stdout)
                for error in jsonschema.Draft202012Validator(own).iter_errors(answer):
                    self.fail(f"{name}: {error.json_path}: {error.message}")
                self.assertTrue(validator.is_valid(answer), name)
                for key in own["required"]:
                    self.assertFalse(validator.is_valid({k: v for k, v in answer.items() if k != key}), (name, key))

    @staticmethod
    def kind_of(word: str) -> str:
        """`machine` is a kind of document already."""
        return {"machine": "calibration"}.get(word, word)

    def arguments(self, name: str, number: int) -> list[str]:
        return [*name.split(), *(text.format(folder=self.folder, n=number) for text in GOOD[name])]

    def prepare(self) -> None:
        self.fheres("run", SAMPLE, *EMULATED, "--report", self.folder / "report.json")
        shutil.copy(ROOT / CLIENT, self.folder / "client.yaml")
        self.fheres(*self.arguments("client keygen", 0))
        self.fheres("client", "encrypt", self.folder / "client.yaml", "--public", self.folder / "keys/public.safetensors")
        shutil.copy(self.folder / "client-server/x.safetensors", self.folder / "0.values")

    def test_colour_follows_the_option_then_no_color_then_the_terminal(self) -> None:
        def coloured(*arguments: str, terminal: bool = False, **variables: str) -> bool:
            environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | variables
            if not terminal:
                result = subprocess.run([FHERES, "validate", WRONG, *arguments], cwd=ROOT, env=environment,
                                        capture_output=True)
                return b"\x1b[" in result.stderr
            here, there = pty.openpty()
            result = subprocess.run([FHERES, "validate", WRONG, *arguments], cwd=ROOT, env=environment,
                                    stdout=subprocess.DEVNULL, stderr=there)
            os.close(there)
            text = os.read(here, 1 << 16)
            os.close(here)
            return b"\x1b[" in text
        self.assertFalse(coloured())
        self.assertTrue(coloured("--color", "always"))
        self.assertTrue(coloured("--color", "always", NO_COLOR="1"))
        self.assertTrue(coloured(terminal=True))
        self.assertFalse(coloured(terminal=True, NO_COLOR="1"))
        self.assertFalse(coloured("--color", "never", terminal=True))

    def test_version_names_the_build_features(self) -> None:
        text = self.fheres("--version").stdout
        self.assertRegex(text, r"^fheres \d+\.\d+\.\d+ \(")
        self.assertIn("emulated", text)
        self.assertTrue("CUDA" in text)


class ExitCodesTest(ToolTest):
    def test_each_code_of_the_table_is_reached_by_every_command_that_can(self) -> None:
        strict = self.folder / "strict.yaml"
        strict.write_text((ROOT / SAMPLE).read_text().replace("tolerance: 1.0e-5", "tolerance: 1.0e-15"))
        baseline = self.folder / "baseline.json"
        answer = self.json("explain", SAMPLE)
        baseline.write_text(json.dumps({**answer, "document": {"name": answer["document"]["name"]}, "moved_bytes": 0}))
        small = ("--budget", "cuda:0=1MiB")
        missing = self.folder / "no" / "folder" / "file"
        table = [
            (0, "explain", SAMPLE), (0, "decide", SAMPLE), (0, "validate", SAMPLE), (0, "run", SAMPLE, *EMULATED),
            (1, "explain", SAMPLE, *small), (1, "decide", SAMPLE, *small), (1, "run", SAMPLE, *EMULATED, *small),
            (2, "explain", WRONG), (2, "decide", "plans/two-tiles.yaml"), (2, "run", "plans/two-tiles.yaml"),
            (2, "params", "nothing"), (2, "schema", "nothing"), (2, "completion", "csh"),
            (3, "explain", *UNDECIDED), (3, "decide", *UNDECIDED),
            (4, "run", SAMPLE, *EMULATED, "--report", missing), (4, "init", missing), (4, "run", SAMPLE, "--device", "cuda:99"),
            (5, "run", strict, *EMULATED), (5, "run", strict, *EMULATED, "--baseline", baseline.with_suffix(".strict")),
            (6, "run", SAMPLE, *EMULATED, "--baseline", baseline), (6, "explain", SAMPLE, "--baseline", baseline),
            (6, "decide", SAMPLE, "--baseline", baseline),
            (1, "explain", SAMPLE, *small, "--baseline", baseline),
        ]
        shutil.copy(baseline, baseline.with_suffix(".strict"))
        for code, *arguments in table:
            self.fheres(*arguments, expect=code)


class SchemaTest(ToolTest):
    def kinds(self) -> list[str]:
        refused = self.fheres("schema", "nothing", expect=2).stderr
        return re.search(r"\{([^}]*)\}", refused).group(1).split(",")

    def test_every_kind_has_a_schema_of_its_own(self) -> None:
        kinds = self.kinds()
        self.assertLessEqual({"workload", "plan", "request", "explanation", "decision", "run", "validation"}, set(kinds))
        for kind in some(kinds):
            schema = json.loads(self.fheres("schema", kind).stdout)
            text = json.dumps(schema)
            for reference in re.findall(r'"#/\$defs/([^"]+)"', text):
                self.assertIn(reference, schema["$defs"], kind)
            if jsonschema:
                jsonschema.Draft202012Validator.check_schema(schema)
        self.assertEqual(self.fheres("schema", "plan").stdout, (ROOT / "plans/schema/plan.schema.json").read_text())

    def test_every_output_that_the_tool_writes_has_one(self) -> None:
        written = set()
        for folder in ("cli", "src/report"):
            for path in (ROOT / folder).rglob("*.cpp"):
                written |= set(re.findall(r'"schema", "fheres/([a-z-]+)/v1"', path.read_text()))
        self.assertEqual(set(map(CommandsTest.kind_of, written)) - set(self.kinds()), set())


class InitTest(ToolTest):
    def test_the_starter_is_valid_explained_and_runs_and_is_never_overwritten(self) -> None:
        file = self.folder / "mine.yaml"
        self.fheres("init", file)
        text = file.read_text()
        self.assertGreater(text.count("#"), 8)
        self.fheres("validate", file)
        self.fheres("explain", file)
        self.fheres("run", file, *EMULATED)
        file.write_text("mine")
        self.assertIn("--force", self.fheres("init", file, expect=2).stderr)
        self.assertEqual(file.read_text(), "mine")
        self.fheres("init", file, "--force")
        self.assertEqual(file.read_text(), text)


class CompletionTest(ToolTest):
    def script(self, shell: str):
        path = self.folder / f"fheres.{shell}"
        path.write_text(self.fheres("completion", shell).stdout)
        return path

    @unittest.skipUnless(shutil.which("bash"), "bash is not here")
    def test_bash_completes_commands_options_words_and_files(self) -> None:
        script = self.script("bash")

        def complete(*words: str) -> list[str]:
            program = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fheres; '
                       'printf "%s\\n" "${COMPREPLY[@]}"')
            result = subprocess.run(["bash", "--norc", "-c", program, "bash", script, "fheres", *words], cwd=ROOT,
                                    capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            return result.stdout.split()

        self.assertEqual(complete("val"), ["validate"])
        self.assertEqual(complete("explain", "--form"), ["--format"])
        self.assertEqual(complete("explain", "--format", ""), ["text", "json", "junit", "sarif"])
        self.assertEqual(complete("client", ""), ["keygen", "encrypt", "decrypt", "-h", "--help"])
        self.assertEqual(complete("client", "dec"), ["decrypt"])
        self.assertEqual(complete("client", "keygen", "--sec"), ["--secret"])
        self.assertEqual(complete("explain", "samples/first"), ["samples/first-steps.yaml"])
        self.assertEqual(complete("completion", "")[-3:], ["bash", "zsh", "fish"])
        self.assertEqual(complete("run", "--seed", ""), [])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not here")
    def test_zsh_accepts_its_script(self) -> None:
        subprocess.run(["zsh", "-f", "-n", self.script("zsh")], check=True)
        program = 'autoload -U compinit; compinit -D -u; source "$1"; print -- $_comps[fheres]'
        result = subprocess.run(["zsh", "-f", "-c", program, "zsh", self.script("zsh")], capture_output=True, text=True)
        self.assertEqual((result.stdout.strip(), result.stderr), ("_fheres", ""))

    @unittest.skipUnless(shutil.which("fish"), "fish is not here")
    def test_fish_completes_commands_options_and_words(self) -> None:
        script = self.script("fish")

        def complete(line: str) -> list[str]:
            result = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"], cwd=ROOT,
                                    capture_output=True, text=True, env={**os.environ, "HOME": str(self.folder)})
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            return [item.split("\t")[0] for item in result.stdout.splitlines()]

        self.assertEqual(complete("fheres val"), ["validate"])
        self.assertEqual(set(complete("fheres explain --format ")), {"text", "json", "junit", "sarif"})
        self.assertEqual(set(complete("fheres client ")), {"keygen", "encrypt", "decrypt"})
        self.assertEqual(complete("fheres client keygen --sec"), ["--secret"])


class ManTest(ToolTest):
    def test_the_manual_page_names_every_command_and_option_and_formats_without_a_warning(self) -> None:
        page = self.fheres("man").stdout
        plain = page.replace("\\-", "-")
        for name in re.findall(r"(?m)^\.SS (.*)$", plain):
            for option in re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)", help_of(name)):
                self.assertIn(option, plain.split(f".SS {name}\n")[1].split(".SS ")[0], name)
        self.assertLessEqual({"validate", "run", "client keygen", "man"}, set(re.findall(r"(?m)^\.SS (.*)$", plain)))
        if shutil.which("groff"):
            result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=100n"], input=page, capture_output=True,
                                    text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("fheres explain", result.stdout)


if __name__ == "__main__":
    unittest.main()
