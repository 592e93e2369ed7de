"""Where what a command writes goes: full disks, closed streams, links, files that are inputs too, signals, odd names."""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

from ci_formats import check_junit, check_sarif
from tool import FHERES, PATIENCE, ROOT, SAMPLE, SANITIZED, ToolTest, some

SMALL = "samples/first-steps.yaml"
TILES = "plans/two-tiles.yaml"
WRONG = "tests/golden/misspelt-name/input.yaml"
EMULATED = ("--device", "emulated")


class OutputTest(ToolTest):
    def call(self, *arguments: object, **streams: object) -> subprocess.CompletedProcess:
        return subprocess.run([FHERES, *map(str, arguments)], cwd=ROOT, timeout=PATIENCE, **streams)

    def json_of(self, path: pathlib.Path) -> dict:
        return json.loads(path.read_text())


class StreamsTest(OutputTest):
    PRINTING = (("--help",), ("--version",), ("explain", "--help"), ("explain", SAMPLE), ("explain", SAMPLE, "--json"),
                ("explain", SAMPLE, "--format", "junit"), ("validate", SAMPLE), ("validate", WRONG, "--format", "sarif"),
                ("man",), ("schema", "workload"), ("completion", "zsh"), ("run", SMALL, *EMULATED))

    def test_what_could_not_be_printed_exits_4_and_says_so(self) -> None:
        with open("/dev/full", "w") as full:
            for arguments in some(self.PRINTING):
                result = self.call(*arguments, stdout=full, stderr=subprocess.PIPE, text=True)
                self.assertEqual(result.returncode, 4, arguments)
                self.assertIn("cannot write to standard output: ", result.stderr)
        closed = lambda *arguments: self.call(*arguments, preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE)
        self.assertEqual(closed("explain", SAMPLE).returncode, 4)
        self.assertEqual(closed("explain", SAMPLE, "--quiet").returncode, 0)

    def test_messages_that_cannot_be_printed_end_nothing_in_disorder(self) -> None:
        with open("/dev/full", "w") as full:
            self.assertIn(self.call("explain", "no.yaml", stderr=full).returncode, (2, 4))
            self.assertIn(self.call("frobnicate", stderr=full).returncode, (2, 4))

    def test_a_file_does_not_take_the_place_of_a_closed_stream(self) -> None:
        report = self.folder / "report.json"
        for streams in ((2,), (1, 2), (0, 1, 2)):
            self.call("run", SMALL, *EMULATED, "--report", report, "--quiet",
                      preexec_fn=lambda: [os.close(stream) for stream in streams])
            self.assertEqual(self.json_of(report)["outcome"]["status"], "done")
            report.unlink()

    def test_a_reader_that_goes_away_ends_it_quietly(self) -> None:
        process = subprocess.Popen([FHERES, "schema", "plan"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
        process.stdout.close()
        self.assertEqual((process.stderr.read(), process.wait()), (b"", -signal.SIGPIPE))
        process.stderr.close()


class FilesTest(OutputTest):
    def test_a_link_stays_and_what_it_leads_to_is_replaced(self) -> None:
        (self.folder / "there").mkdir()
        there, link = self.folder / "there" / "plan.yaml", self.folder / "link.yaml"
        link.symlink_to("there/plan.yaml")
        for _ in range(2):
            self.fheres("compile", SMALL, "-o", link)
            self.assertTrue(link.is_symlink())
            self.fheres("validate", there, "--allow-outside")
        there.chmod(0o640)
        self.fheres("compile", SMALL, "-o", link)
        self.assertEqual(there.stat().st_mode & 0o777, 0o640)
        self.assertEqual([path.name for path in there.parent.iterdir()], ["plan.yaml"])
        link.unlink()
        link.symlink_to("link.yaml")
        self.fheres("compile", SMALL, "-o", link, expect=4)

    def test_stdout_by_name_is_written_as_it_is_whatever_is_behind_it(self) -> None:
        name = self.folder / "stdout"
        name.symlink_to("/proc/self/fd/1")
        printed = self.folder / "printed"
        with open(printed, "w") as file:
            self.call("fit", SMALL, "--csv", name, "--quiet", stdout=file)
        self.assertTrue(name.is_symlink())
        self.assertTrue(printed.read_text().startswith("location,budget,"))
        piped = self.call("fit", SMALL, "--csv", "/dev/fd/1", "--quiet", stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(piped, printed.read_text())

    def test_what_is_read_is_never_written_over(self) -> None:
        document, plan, report = (self.folder / name for name in ("w.yaml", "p.yaml", "r.json"))
        shutil.copy(ROOT / SMALL, document)
        self.fheres("compile", document, "-o", plan)
        self.fheres("run", document, *EMULATED, "--report", report)
        link = self.folder / "link.yaml"
        link.symlink_to("w.yaml")
        client = self.folder / "client.yaml"
        shutil.copy(ROOT / "samples/client-server.yaml", client)
        key = self.folder / "key"
        before = {path: path.read_bytes() for path in (document, plan, report, client)}
        for arguments in (("compile", document, "-o", document), ("compile", document, "-o", link),
                          ("fit", document, "--csv", document), ("fit", document, "--csv", "a", "--picture", "./a"),
                          ("run", document, *EMULATED, "--report", self.folder / "." / "w.yaml"),
                          ("run", document, *EMULATED, "--plan", plan, "--trace", plan),
                          ("run", document, *EMULATED, "--report", "/tmp/../tmp/a", "--trace", "/tmp/a"),
                          ("trace", report, "-o", report), ("client", "keygen", client, "--secret", key, "--public", key)):
            result = self.fheres(*arguments, expect=2)
            self.assertIn("one file", result.stderr)
            self.assertEqual(result.stdout, "")
        self.assertEqual({path: path.read_bytes() for path in before}, before)
        self.assertFalse(key.exists() or (ROOT / "a").exists())

    def test_a_secret_is_not_overwritten_by_a_key_of_the_document(self) -> None:
        document = self.folder / "w.yaml"
        document.write_text((ROOT / "samples/client-server.yaml").read_text())
        keys = [key["file"] for key in self.json("keys", document)["keys"] if key["file"]]
        self.assertTrue(keys)
        result = self.fheres("client", "keygen", document, "--secret", keys[0], expect=2)
        self.assertIn("one file", result.stderr)
        self.assertEqual([path.name for path in self.folder.rglob("*")], ["w.yaml"])

    def test_where_nothing_can_be_written_nothing_is_begun(self) -> None:
        missing = self.folder / "no" / "such" / "file"
        for arguments in (("run", SMALL, *EMULATED, "--report", missing), ("run", SMALL, *EMULATED, "--trace", missing),
                          ("run", SMALL, *EMULATED, "--report", self.folder), ("compile", SMALL, "-o", missing),
                          ("fit", SMALL, "--picture", missing), ("calibrate", *EMULATED, "-o", missing),
                          ("trace", "no-report.json", "-o", missing)):
            result = self.fheres(*arguments, expect=4)
            self.assertEqual(result.stdout, "")
            self.assertRegex(result.stderr, r"cannot write .*: .* \[base/file\]\n$")
        blocked = self.folder / "file"
        blocked.write_text("")
        result = self.fheres("run", SMALL, *EMULATED, "--outputs", blocked, expect=4)
        self.assertIn("cannot make the folder", result.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["file"])

    def test_a_full_disk_loses_the_report_and_not_what_was_found(self) -> None:
        trace = self.folder / "trace.json"
        result = self.fheres("run", SMALL, *EMULATED, "--report", "/dev/full", "--trace", trace, expect=4)
        self.assertIn("cannot write /dev/full: No space left on device", result.stderr)
        self.assertIn("done: 1 of 1 outputs right", result.stdout)
        self.assertTrue(self.json_of(trace)["traceEvents"])

    def test_runs_at_once_that_write_the_same_file_leave_one_whole_file(self) -> None:
        plan = self.folder / "plan.yaml"
        processes = [subprocess.Popen([FHERES, "compile", SMALL, "-o", plan, "--quiet"], cwd=ROOT) for _ in range(6)]
        self.assertEqual([process.wait() for process in processes], [0] * 6)
        self.fheres("validate", plan, "--allow-outside")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["plan.yaml"])


class PipesTest(OutputTest):
    def shell(self, command: str, expect: int = 0) -> str:
        result = subprocess.run(["bash", "-c", command.replace("fheres ", FHERES + " ")], cwd=ROOT, capture_output=True,
                                text=True, timeout=PATIENCE)
        self.assertEqual(result.returncode, expect, result.stderr)
        return result.stdout

    def test_documents_answers_and_reports_may_come_through_pipes(self) -> None:
        self.assertIn("feasible: ", self.shell(f"cat {SAMPLE} | fheres explain /dev/stdin"))
        self.shell(f"fheres explain {SAMPLE} --baseline <(fheres explain {SAMPLE} --json)")
        self.shell(f"fheres diff <(fheres explain {SAMPLE} --json) <(fheres explain {SAMPLE} --json)")
        self.assertIn("traceEvents", self.shell(f"fheres run {SMALL} --device emulated --json 2>&1 | fheres trace /dev/stdin"))
        plan = self.folder / "plan.yaml"
        self.shell(f"cat {SMALL} | fheres compile /dev/stdin -o {plan}")
        self.assertIn(hashlib.sha256((ROOT / SMALL).read_bytes()).hexdigest(), plan.read_text())

    def test_what_has_no_end_is_refused(self) -> None:
        for arguments in (("validate", "/dev/zero"), ("diff", "/dev/zero", TILES), ("trace", "/dev/zero"),
                          ("compile", SMALL, "-o", self.folder / "p", "--machine", "/dev/zero")):
            result = self.fheres(*arguments, expect=2)
            self.assertIn("more than" if arguments[0] == "trace" else "FHR0002", result.stderr)

    def test_a_hostile_report_is_refused_in_bounded_memory(self) -> None:
        nested, many = self.folder / "nested.json", self.folder / "many.json"
        nested.write_text('{"a":' + "[" * 5_000_000)
        many.write_text("[" + "1," * 5_000_001 + "1]")
        for file, why in ((nested, "more than 64 levels"), (many, "more than 5000000 values")):
            for arguments in some((("trace", file), ("explain", SAMPLE, "--baseline", file))):
                self.assertIn(why, self.fheres(*arguments, expect=2).stderr)


class SignalsTest(OutputTest):
    def test_a_signal_ends_every_command_that_reads_with_130(self) -> None:
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        waiting = [("validate", pipe), ("explain", pipe), ("decide", pipe), ("compile", pipe, "-o", self.folder / "out"),
                   ("fit", pipe), ("verify", pipe), ("diff", pipe, TILES), ("keys", pipe), ("run", pipe), ("trace", pipe)]
        processes = []
        for arguments in waiting:
            processes.append(subprocess.Popen([FHERES, *map(str, arguments)], cwd=ROOT, stdout=subprocess.DEVNULL,
                                              stderr=subprocess.DEVNULL))
        # Each has opened the pipe, and so handles signals, when this end can be.
        end = os.open(pipe, os.O_WRONLY)
        try:
            for number, process in enumerate(processes):
                self.wait_until_it_reads(process, pipe)
                self.assertEqual(self.end(process, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3]), 130,
                                 waiting[number])
        finally:
            os.close(end)
            for process in processes:
                process.kill()
                process.wait()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["pipe"])

    def wait_until_it_reads(self, process: subprocess.Popen, pipe: pathlib.Path) -> None:
        descriptors = pathlib.Path(f"/proc/{process.pid}/fd")
        while not any(os.path.realpath(entry) == str(pipe.resolve()) for entry in descriptors.iterdir()):
            self.assertIsNone(process.poll(), process.args)
            time.sleep(0.01)

    def end(self, process: subprocess.Popen, number: int) -> int:
        """By one signal. The thread sanitizer keeps one that comes between its own look and the call until the next comes."""
        process.send_signal(number)
        while SANITIZED:
            try:
                return process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.send_signal(number)
        return process.wait(timeout=PATIENCE)


class NamesTest(OutputTest):
    def test_a_file_may_have_any_name(self) -> None:
        text = (ROOT / SMALL).read_text()
        wrong = (ROOT / WRONG).read_text()
        for name in (b"\xff\xfe.yaml", "two\nlines of <&\"']]> größe 中.yaml".encode(), b" " + b"n" * 249 + b".yaml"):
            path = os.fsencode(self.folder) + b"/" + name
            with open(path, "w") as file:
                file.write(text)
            report, trace, page, plan = (self.folder / item for item in ("r.json", "t.json", "page.html", "plan.yaml"))
            run = lambda *arguments: subprocess.run([FHERES, *arguments], cwd=ROOT, capture_output=True, timeout=PATIENCE)
            self.assertEqual(run("explain", path, "--json").returncode, 0, name)
            self.assertEqual(run("run", path, *EMULATED, "--report", report, "--trace", trace).returncode, 0, name)
            self.assertTrue(self.json_of(report) and self.json_of(trace))
            self.assertEqual(run("trace", report, "-o", page).returncode, 0, name)
            utf8 = not name.startswith(b"\xff")  # as every document is, and so what a Plan names its workload by
            result = run("compile", path, "-o", plan)
            self.assertEqual(result.returncode, 0 if utf8 else 2, (name, result.stderr))
            if utf8:
                result = run("verify", plan)
                self.assertEqual(result.returncode, 0, (name, result.stdout, result.stderr))
            with open(path, "w") as file:
                file.write(wrong)
            for command in ("validate", "explain"):
                self.assertEqual(len(check_junit(run(command, path, "--format", "junit").stdout.decode())), 1)
                self.assertTrue(check_sarif(json.loads(run(command, path, "--format", "sarif").stdout)))
            os.unlink(path)


if __name__ == "__main__":
    unittest.main()
