"""A run as somebody sees it who waits: progress, interruption, failure on the way, repetition."""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import unittest

from tool import FHERES, PATIENCE, ROOT, SAMPLE, SANITIZED, ToolTest, some

SMALL = "samples/first-steps.yaml"
EMULATED = ("--device", "emulated")


class Terminal:
    """The tool with its messages on a terminal of so many columns."""

    def __init__(self, *arguments: object, columns: int = 100, **options: object) -> None:
        self.here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen([FHERES, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, stderr=there,
                                        **options)
        os.close(there)
        self.text = ""

    def read(self, until: str = "") -> str:
        """What it said until something like that is there, or until it ends."""
        while not (until and re.search(until, self.text)):
            if not select.select([self.here], [], [], PATIENCE)[0]:
                raise TimeoutError(f"nothing for {PATIENCE} s after {self.text}")
            try:
                piece = os.read(self.here, 1 << 16)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                break
            self.text += piece.decode()
        return self.text

    def finish(self) -> int:
        self.read()
        stdout, _ = self.process.communicate(timeout=PATIENCE)
        self.stdout = stdout.decode()
        os.close(self.here)
        return self.process.returncode


def long_workload(folder, operations: int, log_n: int = 11):
    """Four stages of operations, each on the result of the one before; larger rings take longer over them."""
    lines = ["apiVersion: fheres/v1", "kind: Workload", "metadata: {name: long}",
             f"parameters: {{log_n: {log_n}, q: [50, 40], p: [50], scale_bits: 40, security: none}}",
             "locations: {cuda:0: {budget: 96 MiB}}",
             "values:", "  x: {ciphertext: {message: {constant: 0.25}}, at: pinned-host}",
             "  rot1: {rotation_key: {steps: 1}, at: pinned-host}", "stages:"]
    for stage in range(4):
        source = "x" if stage == 0 else f"y{stage - 1}"
        lines += [f"  - name: stage-{stage}", "    at: cuda:0", "    body:"]
        for i in range(operations // 4):
            result = f"y{stage}" if i + 1 == operations // 4 else f"r{stage}-{i}"
            lines.append(f"      - {result}: {{rotate: {source}, key: rot1}}")
            source = result
        lines.append(f"    outputs: {{y{stage}: {{}}}}")
    path = folder / "long.yaml"
    path.write_text("\n".join(lines) + "\n")
    return path


class ProgressTest(ToolTest):
    def test_a_terminal_sees_stage_operations_bytes_error_and_time_left_and_nothing_stays(self) -> None:
        document = long_workload(self.folder, 2000, log_n=11 if SANITIZED else 12)  # for long enough to draw
        terminal = Terminal("run", document, *EMULATED)
        self.assertEqual(terminal.finish(), 0)
        drawn = terminal.text.split("\r\x1b[K")
        self.assertGreater(len(drawn), 3)
        self.assertEqual(drawn[-1], "")
        self.assertIn("keys and inputs", drawn)
        lines = [line for line in drawn if line.startswith("stage-")]
        self.assertTrue(any(re.search(r"^stage-\d: \d+ of 2000 operations, [\d.]+ [KM]iB moved", line) for line in lines), lines)
        self.assertTrue(any(re.search(r"about [\d.]+ (s|ms|µs) left$", line) for line in lines), lines)
        self.assertTrue(any("error so far" in line for line in lines), lines)
        self.assertIn("done: ", terminal.stdout)

    def test_a_narrow_terminal_gets_lines_that_it_can_draw_over(self) -> None:
        terminal = Terminal("run", long_workload(self.folder, 400), *EMULATED, columns=30)
        self.assertEqual(terminal.finish(), 0)
        for line in terminal.text.split("\r\x1b[K"):
            self.assertLess(len(line), 30, line)

    def test_nothing_is_drawn_where_nobody_watches_or_wants_it(self) -> None:
        self.assertEqual(self.fheres("run", SMALL, *EMULATED).stderr, "")
        terminal = Terminal("run", SMALL, *EMULATED, "--quiet")
        self.assertEqual(terminal.finish(), 0)
        self.assertEqual((terminal.text, terminal.stdout), ("", ""))


class InterruptionTest(ToolTest):
    def start(self) -> Terminal:
        """In the middle of the first stage, which nobody waits for: it is far from its end whatever else the machine does."""
        self.report = self.folder / "report.json"
        self.report.unlink(missing_ok=True)
        terminal = Terminal("run", long_workload(self.folder, 8000, log_n=14), *EMULATED, "--seed", 1, "--report", self.report)
        terminal.read(r"stage-0: [1-9]")
        return terminal

    def send_until(self, wanted, *signals: int) -> Terminal:
        """Two signals that a busy machine may draw apart, so that the run hears the second too late: then once more."""
        for _ in range(10):
            terminal = self.start()
            for number in signals:
                terminal.process.send_signal(number)
                self.wait_until_it_heard(terminal.process.pid, number)
            self.assertEqual(terminal.finish(), 130)
            if wanted():
                break
        return terminal

    @staticmethod
    def wait_until_it_heard(process: int, number: int) -> None:
        """The same signal twice is one, as long as the first one waits."""
        pending = re.compile(r"State:\s*[^Z][\s\S]*ShdPnd:\s*(\w+)")
        status = pathlib.Path(f"/proc/{process}/status")
        while (found := pending.search(status.read_text())) and int(found[1], 16) >> (number - 1) & 1:
            os.sched_yield()

    def test_the_first_signal_stops_at_an_operation_and_leaves_a_valid_partial_report(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            terminal = self.start()
            terminal.process.send_signal(number)
            self.assertEqual(terminal.finish(), 130)
            report = json.loads(self.report.read_text())
            self.assertEqual(report["outcome"]["status"], "interrupted")
            failure = report["outcome"]["failure"]
            self.assertEqual((failure["stage"], failure["phase"]), ("stage-0", "body"))
            self.assertEqual(failure["committed"], {"stages": 0, "transitions": 2})
            (stage,) = report["stages"]
            self.assertFalse(stage["complete"])
            self.assertEqual([item["phase"] for item in stage["executed"]["transitions"]], ["enter", "enter"])
            self.assertGreater(len(stage["operations"]), 0)
            self.assertLess(len(stage["operations"]), 2000)
            for location in report["final"]["locations"]:
                self.assertEqual(location["reserved"], 0)
            self.assertEqual(terminal.stdout.splitlines()[-1], "interrupted: stage stage-0, body: stopped at an operation "
                             "boundary [run/interrupted]")

    def report_is_there(self) -> bool:
        return self.report.exists()

    def test_the_same_signal_again_at_once_is_what_timeout_sends_and_loses_no_report(self) -> None:
        self.send_until(self.report_is_there, signal.SIGTERM, signal.SIGTERM)
        self.assertEqual(json.loads(self.report.read_text())["outcome"]["status"], "interrupted")

    def test_a_second_signal_ends_it_at_once(self) -> None:
        self.send_until(lambda: not self.report_is_there(), signal.SIGTERM, signal.SIGINT)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["long.yaml"])


class FailureTest(ToolTest):
    def test_a_file_that_breaks_while_running_leaves_phase_action_and_committed_prefix(self) -> None:
        document = self.folder / "client-server.yaml"
        shutil.copy(ROOT / "samples/client-server.yaml", document)
        secret, keys = self.folder / "secret.safetensors", self.folder / "keys"
        self.fheres("client", "keygen", document, "--secret", secret, "--out", keys)
        self.fheres("client", "encrypt", document, "--public", keys / "public.safetensors")
        # The input is read when a stage wants it: after the key has come.
        values = self.folder / "client-server" / "x.safetensors"
        values.write_bytes(values.read_bytes()[:-8])
        report = self.folder / "report.json"
        result = self.fheres("run", document, *EMULATED, "--report", report, "--json", expect=4)
        written = json.loads(report.read_text())
        failure = written["outcome"]["failure"]
        self.assertEqual((written["outcome"]["status"], failure["phase"]), ("failed", "enter"))
        self.assertEqual(failure["action"], {"ensure": "x", "at": "cuda:0"})
        (stage,) = written["stages"]
        committed = [item["action"] for item in stage["executed"]["transitions"]]
        self.assertEqual(failure["committed"], {"stages": 0, "transitions": len(committed)})
        self.assertEqual(failure["index"], [item["index"] for item in stage["executed"]["transitions"]
                                            if item["phase"] == "enter"][-1] + 1 if committed else 0)
        self.assertTrue(all(location["reserved"] == 0 for location in written["final"]["locations"]))
        self.assertIn("fheres: failed: stage rotate-scale, enter: ", result.stderr)
        self.assertEqual(json.loads(result.stdout), written)

    def test_a_device_that_is_not_there_leaves_a_report_too(self) -> None:
        report = self.folder / "report.json"
        self.fheres("run", SAMPLE, "--device", "cuda:99", "--report", report, expect=4)
        failure = json.loads(report.read_text())["outcome"]["failure"]
        self.assertEqual((failure["phase"], failure["code"]), ("placement", "memory/device"))


class RepeatTest(ToolTest):
    def test_repeated_runs_report_every_time_and_warming_up_does_not_count(self) -> None:
        report = self.folder / "report.json"
        result = self.fheres("run", SMALL, *EMULATED, "--repeat", 3, "--warmup", 1, "--report", report)
        self.assertIn("3 runs after 1 to warm up: stages took", result.stdout.splitlines()[0])
        repeats = json.loads(report.read_text())["timing"]["repeats"]
        self.assertEqual((repeats["warmup"], len(repeats["stages_ns"])), (1, 3))
        self.assertEqual(repeats["median_ns"], sorted(repeats["stages_ns"])[1])
        self.assertEqual(repeats["fastest_ns"], min(repeats["stages_ns"]))
        self.assertNotIn("repeats", self.json("run", SMALL, *EMULATED)["timing"])
        self.fheres("run", SMALL, *EMULATED, "--repeat", 0, expect=2)

    def test_the_first_run_that_is_wrong_is_the_last(self) -> None:
        document = self.folder / "strict.yaml"
        document.write_text((ROOT / SAMPLE).read_text().replace("1.0e-5", "1.0e-15"))
        report = self.json("run", document, *EMULATED, "--repeat", 50, expect=5)
        self.assertEqual(len(report["timing"]["repeats"]["stages_ns"]), 1)


class HeldTest(ToolTest):
    def test_a_manager_that_holds_the_values_gives_the_same_answers_byte_for_byte(self) -> None:
        tight = ("--budget", "cuda:0=30MiB")
        undecided = ("tests/golden/decide-inconclusive/input.yaml", "--search-state-limit", 1)
        cases = [("explain", document, "--json") for document in
                 ("plans/two-tiles.yaml", "plans/does-not-fit.yaml", "samples/two-devices.yaml", "samples/arithmetic.yaml")]
        for document in (SAMPLE, "samples/automatic-rotate-scale.request.yaml", "samples/explicit-tiles.yaml"):
            cases += [("decide", document, "--json"), ("explain", document, *tight, "--json")]
        cases += [("explain", SAMPLE), ("decide", *undecided), ("explain", SAMPLE, "--format", "junit")]
        for case in some(cases):
            alone, held = (subprocess.run([FHERES, *map(str, arguments)], cwd=ROOT, capture_output=True)
                           for arguments in (case, (*case, *EMULATED)))
            self.assertIn(alone.returncode, (0, 1, 3), case)
            self.assertEqual((held.returncode, held.stdout, held.stderr),
                             (alone.returncode, alone.stdout, alone.stderr), case)

    def test_what_cannot_be_held_is_a_failure_and_no_answer(self) -> None:
        self.fheres("explain", SAMPLE, "--device", "cuda:99", expect=4)
        document = self.folder / "client-server.yaml"
        shutil.copy(ROOT / "samples/client-server.yaml", document)
        self.assertIn("FHR0315", self.fheres("explain", document, *EMULATED, expect=2).stderr)
        self.fheres("explain", document)


if __name__ == "__main__":
    unittest.main()
