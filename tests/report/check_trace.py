"""A strict, independent reader of Chrome's trace-event format, for the traces that fheres writes.

Usage: check_trace.py TRACE. Exits 1 and names the first offending events when a rule of the format, or one that fheres
promises of its traces, does not hold:
 - the file is one JSON object with `traceEvents`; every event has a known phase with that phase's fields and types;
 - complete events of one track nest: they never overlap partly;
 - asynchronous spans open once and close once, in order, under one (category, id);
 - a flow starts once, ends at least once, never before its start, and each end touches a slice of its track;
 - every track with events is named; counters are numbers, and `used + reserved` never exceeds `budget`;
 - whatever an operation reads that was copied to its device is linked to it by a flow from the last such copy.
"""

import collections
import json
import numbers
import sys

EPSILON = 1e-6  # microseconds: below the resolution of a double at the sizes that occur


def is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


class Checker:
    def __init__(self) -> None:
        self.findings: list[str] = []

    def expect(self, condition: bool, message: str) -> bool:
        if not condition:
            self.findings.append(message)
        return condition

    @staticmethod
    def identity(event: dict) -> object:
        """`id`, or the process-local form of `id2`."""
        if "id" in event:
            return event["id"]
        local = event.get("id2", {}).get("local")
        return None if local is None else (event["pid"], local)

    def event(self, index: int, event: object) -> bool:
        where = f"event {index}"
        if not self.expect(isinstance(event, dict), f"{where}: not an object"):
            return False
        fields = {"ph": str, "pid": int, "tid": int}
        if event.get("ph") != "M" or "name" in event:
            fields["name"] = str
        for field, kind in fields.items():
            self.expect(isinstance(event.get(field), kind), f"{where}: `{field}` is not {kind.__name__}")
        phase = event.get("ph")
        self.expect(phase in "XMCbesft", f"{where}: unknown phase {phase!r}")
        if phase != "M":
            self.expect(is_number(event.get("ts")) and event["ts"] >= 0, f"{where}: `ts` is not a time")
        if phase == "X":
            self.expect(is_number(event.get("dur")) and event["dur"] >= 0, f"{where}: `dur` is not a duration")
        if phase in "besft":
            self.expect(self.identity(event) is not None and isinstance(event.get("cat"), str), f"{where}: no id or `cat`")
        if phase == "C":
            args = event.get("args")
            self.expect(isinstance(args, dict) and args and all(map(is_number, args.values())),
                        f"{where}: a counter needs numbers in `args`")
        return not self.findings

    def nesting(self, slices: dict) -> None:
        for track, items in slices.items():
            stack: list[tuple[float, str]] = []
            for start, negative_end, name in sorted(items):
                end = -negative_end
                while stack and stack[-1][0] <= start + EPSILON:
                    stack.pop()
                if stack:
                    self.expect(end <= stack[-1][0] + EPSILON,
                                f"track {track}: `{name}` ends after `{stack[-1][1]}`, which it started in")
                stack.append((end, name))

    def spans(self, events: list) -> None:
        open_spans: dict = {}
        for event in sorted((e for e in events if e["ph"] in "be"), key=lambda e: (e["ts"], e["ph"] == "b")):
            key = (event["cat"], self.identity(event), event["name"])
            if event["ph"] == "b":
                self.expect(key not in open_spans, f"span {key} opens twice")
                open_spans[key] = event["ts"]
            elif self.expect(key in open_spans, f"span {key} closes without an opening"):
                del open_spans[key]
        self.expect(not open_spans, f"spans never close: {sorted(map(str, open_spans))[:3]}")

    def flows(self, events: list, slices: dict) -> None:
        starts: dict = {}
        ends = collections.defaultdict(list)
        for event in events:
            if event["ph"] == "s":
                self.expect(event["id"] not in starts, f"flow {event['id']} starts twice")
                starts[event["id"]] = event["ts"]
            if event["ph"] == "f":
                ends[event["id"]].append(event["ts"])
            if event["ph"] in "sf":
                track = (event["pid"], event["tid"])
                touches = any(start - EPSILON <= event["ts"] <= -negative_end + EPSILON
                              for start, negative_end, _ in slices.get(track, ()))
                self.expect(touches, f"flow {event['id']} touches no slice of its track")
        self.expect(set(starts) == set(ends), "a flow lacks its start or its end")
        for identity, times in ends.items():
            self.expect(min(times) >= starts.get(identity, 0) - EPSILON, f"flow {identity} ends before it starts")

    def counters(self, events: list) -> None:
        for event in events:
            if event["ph"] == "C" and "budget" in event["args"]:
                args = event["args"]
                charged = args.get("used", 0) + args.get("reserved", 0)
                self.expect(charged <= args["budget"] + 1e-9, f"counter `{event['name']}`: {charged} over {args['budget']}")

    def consumers(self, events: list) -> None:
        """Finds each copy's consumers without looking at the flows, and then that there is a flow for each."""
        slices = [event for event in events if event["ph"] == "X"]
        copies = collections.defaultdict(list)
        for event in slices:
            if event["cat"] == "transition" and event["args"]["bytes"] and "destination" in event["args"]:
                copies[event["args"]["value"], event["args"]["destination"]].append(event)
        flows = collections.defaultdict(dict)
        for event in events:
            if event["ph"] in "sf":
                flows[event["id"]][event["ph"]] = (event["tid"], event["ts"], event["name"])
        linked = {(flow["s"], flow["f"]) for flow in flows.values()}
        self.links = 0
        for operation in slices:
            if operation["cat"] != "operation":
                continue
            for value in set(operation["args"]["reads"]):
                before = [copy for copy in copies[value, operation["args"]["at"]]
                          if copy["ts"] + copy["dur"] <= operation["ts"] + EPSILON]
                if not before:
                    continue  # a result, or there since it was made
                last = max(before, key=lambda copy: copy["ts"])
                self.links += 1
                self.expect(((last["tid"], last["ts"], value), (operation["tid"], operation["ts"], value)) in linked,
                            f"`{operation['name']}` reads `{value}`, and no flow leads there from its copy")
        self.expect(self.links == len(linked), f"{len(linked)} flows for {self.links} uses of what was copied")

    def run(self, document: object) -> None:
        events = document.get("traceEvents") if isinstance(document, dict) else None
        if not self.expect(isinstance(events, list) and events, "no `traceEvents`"):
            return
        if not all([self.event(index, event) for index, event in enumerate(events)]):
            return
        slices = collections.defaultdict(list)
        for event in events:
            if event["ph"] == "X":
                slices[(event["pid"], event["tid"])].append((event["ts"], -(event["ts"] + event["dur"]), event["name"]))
        named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e.get("name") == "thread_name"}
        for track in slices:
            self.expect(track in named, f"track {track} has no name")
        self.nesting(slices)
        self.spans(events)
        self.flows(events, slices)
        self.counters(events)
        self.consumers(events)


def main(path: str) -> int:
    checker = Checker()
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    checker.run(document)
    if checker.findings:
        print("\n".join(checker.findings[:10]))
        return 1
    phases = collections.Counter(event["ph"] for event in document["traceEvents"])
    print("the trace holds: " + ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
