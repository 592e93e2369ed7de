"""`fheres trace`: one report as a Chrome trace, a table and a page; what they show is what the report says."""

import csv
import html.parser
import io
import json
import re
import sqlite3
import subprocess
import sys

import unittest

from tool import ROOT, SAMPLE, ToolTest

TILES = "samples/explicit-tiles.yaml"
MIB = 1 << 20
CHECKER = ROOT / "tests" / "report" / "check_trace.py"


class Page(html.parser.HTMLParser):
    """What a page consists of: elements, attributes, the text of each script, the rows of its table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.rows: list[list[str]] = []
        self.columns = 0
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.attributes += [(name, value or "") for name, value in attributes]
        self.inside = tag
        if tag == "script":
            self.scripts.append("")
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        self.columns += tag == "th"

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside == "script":
            self.scripts[-1] += data
        if self.inside == "td":
            self.rows[-1][-1] += data

    def run(self) -> dict:
        return json.loads(self.scripts[0])


class TraceTest(ToolTest):
    runs: dict = {}  # document -> the texts of its report and trace: each runs once

    def setUp(self) -> None:
        super().setUp()
        self.report, self.trace = self.folder / "report.json", self.folder / "trace.json"

    def run_sample(self, document: str) -> dict:
        if document not in self.runs:
            self.fheres("run", document, "--device", "emulated", "--quiet", "--report", self.report, "--trace", self.trace)
            self.runs[document] = (self.report.read_text(), self.trace.read_text())
        report, trace = self.runs[document]
        self.report.write_text(report)
        self.trace.write_text(trace)
        return json.loads(report)

    def convert(self, kind: str, **options: object) -> str:
        return self.fheres("trace", self.report, "--format", kind, **options).stdout

    def test_the_trace_of_a_run_is_the_one_made_from_its_report_and_passes_the_strict_reader(self) -> None:
        for document in (SAMPLE, TILES):
            self.run_sample(document)
            self.assertEqual(self.convert("chrome"), self.trace.read_text())
            checked = subprocess.run([sys.executable, CHECKER, self.trace], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_the_strict_reader_notices_what_it_is_there_for(self) -> None:
        self.run_sample(TILES)
        good = json.loads(self.trace.read_text())

        def complaint(change) -> str:
            bad = json.loads(json.dumps(good))
            bad["traceEvents"] = change(bad["traceEvents"])
            broken = self.folder / "broken.json"
            broken.write_text(json.dumps(bad))
            result = subprocess.run([sys.executable, CHECKER, broken], capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            return result.stdout

        def overlap(events: list) -> list:
            operations = [event for event in events if event.get("cat") == "operation"]
            operations[0]["dur"] = operations[1]["ts"] + operations[1]["dur"] / 2 - operations[0]["ts"]
            return events

        def over_budget(events: list) -> list:
            next(event for event in events if event["ph"] == "C" and "budget" in event["args"])["args"]["used"] = 1e6
            return events

        self.assertIn("ends after", complaint(overlap))
        self.assertIn("over", complaint(over_budget))
        self.assertIn("no flow leads there", complaint(lambda events: [e for e in events if e["ph"] not in "sf"]))

    def test_queries_find_no_overlap_no_counter_over_its_budget_and_no_copy_without_a_consumer(self) -> None:
        self.run_sample(TILES)
        events = json.loads(self.trace.read_text())["traceEvents"]
        database = sqlite3.connect(":memory:")
        database.execute("create table slice (track, name, kind, start, finish, value, destination)")
        database.execute("create table counter (name, ts, used, reserved, budget)")
        database.execute("create table flow (id, phase, track, ts)")
        for e in events:
            args = e.get("args", {})
            if e["ph"] == "X":
                database.execute("insert into slice values (?,?,?,?,?,?,?)",
                                 (e["tid"], e["name"], e["cat"], e["ts"], e["ts"] + e["dur"],
                                  args.get("value"), args.get("destination")))
            elif e["ph"] == "C":
                database.execute("insert into counter values (?,?,?,?,?)",
                                 (e["name"], e["ts"], args["used"], args["reserved"], args.get("budget")))
            elif e["ph"] in "sf":
                database.execute("insert into flow values (?,?,?,?)", (e["id"], e["ph"], e["tid"], e["ts"]))
        count = lambda query: database.execute(query).fetchone()[0]
        self.assertGreater(count("select count(*) from slice where kind = 'operation'"), 8)
        self.assertEqual(0, count("""select count(*) from slice a join slice b on a.track = b.track and a.rowid < b.rowid
            where a.kind = b.kind and a.start < b.finish - 1e-6 and b.start < a.finish - 1e-6"""))
        self.assertGreater(count("select count(*) from counter where budget is not null"), 10)
        self.assertEqual(0, count("select count(*) from counter where used + reserved > budget + 1e-9"))
        # Copies to a device: of weights, key and input, each read by a later operation.
        self.assertEqual(6, count("select count(*) from slice where kind = 'transition' and destination = 'cuda:0'"))
        self.assertEqual(0, count("""select count(*) from slice copy where kind = 'transition' and destination = 'cuda:0'
            and not exists (select 1 from flow s join flow f on s.id = f.id and s.phase = 's' and f.phase = 'f'
                join slice operation on operation.kind = 'operation' and operation.track = f.track and operation.start = f.ts
                where s.track = copy.track and s.ts = copy.start)"""))

    def test_the_table_holds_every_byte_that_moved_and_every_charge(self) -> None:
        report = self.run_sample(TILES)
        rows = list(csv.DictReader(io.StringIO(self.convert("csv"))))
        of = lambda kind: [row for row in rows if row["kind"] == kind]
        self.assertEqual([row["name"] for row in of("stage")], [stage["name"] for stage in report["stages"]])
        self.assertEqual(sum(int(row["bytes"]) for row in of("transition") if row["stage"]), report["totals"]["moved_bytes"])
        self.assertEqual(len(of("operation")), sum(len(stage["operations"]) for stage in report["stages"]))
        at_device = [row for row in of("charge") if row["destination"] == "cuda:0"]
        peak = max(int(row["used"]) + int(row["reserved"]) for row in at_device)
        self.assertEqual(peak, max(p["measured_charged"] for stage in report["stages"] for p in stage["peaks"]
                                   if p["at"] == "cuda:0"))
        self.assertEqual({row["budget"] for row in at_device}, {str(35 * MIB)})
        self.assertEqual(len(of("life")), len(report["observed"]["lives"]))
        for row in rows:
            self.assertGreaterEqual(int(row["end_ns"] or row["start_ns"]), int(row["start_ns"]), row)

    def test_the_page_needs_nothing_but_itself_and_shows_what_the_report_says(self) -> None:
        report = self.run_sample(TILES)
        text = self.convert("html")
        page = Page(text)
        self.assertFalse([value for name, value in page.attributes if name in ("src", "href")])
        self.assertNotRegex(text, r"https?:|@import|url\(")
        self.assertIn(("name", "viewport"), page.attributes)
        run = page.run()
        self.assertEqual([stage["name"] for stage in run["stages"]], [stage["name"] for stage in report["stages"]])
        self.assertEqual(len(run["operations"]), sum(len(stage["operations"]) for stage in report["stages"]))
        (device,) = [place for place in run["locations"] if place["at"] == "cuda:0"]
        self.assertEqual(device["budget"], 35 * MIB)
        self.assertEqual(run["locations"][0]["at"], "cuda:0")
        self.assertLess(max(copy for copy, _ in run["arrows"]), len(run["transitions"]))
        costs = [row for row in page.rows if row]
        self.assertEqual((costs[0][0], costs[0][1], costs[0][2]), ("rot1", "18 MiB", "1"))
        self.assertEqual(len(costs), len({life["value"] for life in report["observed"]["lives"]}))
        self.assertIn(page.columns, (6, 7))  # one for waiting, where anything waited
        self.assertEqual({len(row) for row in costs}, {page.columns})

    def test_names_in_a_report_stay_text_in_every_format(self) -> None:
        report = self.run_sample(SAMPLE)
        hostile = '</script><script>alert("%run%, \'1\'")</script>\n<!-- & ü'
        rename = lambda text: text.replace('"rot1"', json.dumps(hostile)).replace('"automatic-rotate-scale"', json.dumps(hostile))
        self.report.write_text(rename(json.dumps(report)))
        page = Page(self.convert("html"))
        self.assertEqual(len(page.scripts), 2)
        self.assertIn(hostile, [life["value"] for life in page.run()["lives"]])
        self.assertIn(hostile, [row[0] for row in page.rows if row])
        rows = list(csv.DictReader(io.StringIO(self.convert("csv"), newline="")))
        self.assertIn(hostile, [row["value"] for row in rows])
        self.assertIn(hostile, [event["args"].get("value") for event in json.loads(self.convert("chrome"))["traceEvents"]
                                if event["ph"] == "X"])

    def test_what_is_no_report_is_refused_with_its_place_and_nothing_is_written(self) -> None:
        report = self.run_sample(SAMPLE)
        output = self.folder / "out.html"

        def refusal(text: str) -> str:
            self.report.write_text(text)
            result = self.fheres("trace", self.report, "-o", output, expect=2)
            self.assertEqual(result.stdout, "")
            self.assertFalse(output.exists())
            self.assertIn(str(self.report), result.stderr)
            return result.stderr

        def damaged(change) -> str:
            copy = json.loads(json.dumps(report))
            change(copy)
            return refusal(json.dumps(copy))

        self.assertIn("/schema: expected fheres/run/v1, found fheres/explanation/v1",
                      damaged(lambda r: r.update(schema="fheres/explanation/v1")))
        self.assertIn("/: `stages` is missing", damaged(lambda r: r.pop("stages")))
        self.assertIn("/stages/0/operations/1/at: expected a location, found string",
                      damaged(lambda r: r["stages"][0]["operations"][1].update(at="cuda")))
        self.assertIn("/observed/charges/0/used: expected a number that is not negative, found number",
                      damaged(lambda r: r["observed"]["charges"][0].update(used=-1)))
        self.assertIn("/timing/end_ns: expected a time in ns, found string", damaged(lambda r: r["timing"].update(end_ns="1")))
        self.assertIn("stops being JSON", refusal(json.dumps(report)[:-40]))
        self.assertIn("nested more than 64 levels deep", refusal("[" * 100000 + "]" * 100000))
        self.assertIn("stops being JSON", refusal(""))
        self.fheres("trace", self.folder / "missing.json", expect=2)

    def test_a_failed_run_has_a_timeline_too(self) -> None:
        document = self.folder / "strict.yaml"
        document.write_text((ROOT / SAMPLE).read_text().replace("tolerance: 1.0e-5", "tolerance: 1.0e-15"))
        self.fheres("run", document, "--device", "emulated", "--report", self.report, expect=5)
        self.assertIn("wrong-result", re.sub("<[^>]*>", "", self.convert("html")))

    def test_the_outputs_name_says_the_format_and_json_says_what_was_written(self) -> None:
        self.run_sample(SAMPLE)
        for name, kind, start in (("t.html", "html", "<!doctype html>"), ("t.csv", "csv", "kind,stage"), ("t.json", "chrome", "{")):
            output = self.folder / name
            answer = self.json("trace", self.report, "-o", output)
            self.assertEqual((answer["schema"], answer["format"], answer["bytes"]),
                             ("fheres/trace/v1", kind, output.stat().st_size))
            self.assertTrue(output.read_text().startswith(start))
        self.assertIn("traceEvents", self.json("trace", self.report))
        self.fheres("trace", self.report, "--json", "--format", "csv", expect=2)
        self.fheres("trace", self.report, "--format", "pdf", expect=2)
        self.assertEqual(self.fheres("trace", self.report, "--quiet").stdout, "")
        self.fheres("trace", self.report, "-o", self.folder / "missing" / "t.html", expect=4)
        self.assertIn("example: fheres trace", self.fheres("trace", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
