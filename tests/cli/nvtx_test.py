"""What a profiler sees of a run: NVTX ranges of stages, phases and operations, nested."""

import os

import unittest

from tool import SAMPLE, ToolTest

LISTENER = os.environ["FHERES_NVTX_LISTENER"]
KINDS = {"1": "stage", "2": "phase", "3": "operation"}


class NvtxTest(ToolTest):
    def test_a_profiler_sees_stages_with_their_phases_and_operations_nested(self) -> None:
        log = self.folder / "log"
        environment = dict(os.environ, NVTX_INJECTION64_PATH=LISTENER, FHERES_TEST_NVTX_LOG=str(log))
        self.fheres("run", SAMPLE, "--device", "emulated", env=environment)
        stack: list[str] = []
        seen = []
        for line in log.read_text().splitlines():
            kind, rest = line[0], line[2:]
            if kind == "+":
                domain, name = rest.split(": ", 1)
                self.assertEqual(domain.split()[0], "fheres")
                stack.append(f"{KINDS[domain.split()[1]]} {name}")
                seen.append(" / ".join(stack))
            else:
                stack.pop()
        self.assertEqual(stack, [])
        stage = "stage rotate-scale/tile-0"
        body = f"{stage} / phase body"
        self.assertEqual(seen, [stage, f"{stage} / phase enter", body, *(f"{body} / operation {name}" for name in
                                                                        ("rotated", "scaled", "y")), f"{stage} / phase exit"])


if __name__ == "__main__":
    unittest.main()
