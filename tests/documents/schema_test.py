#!/usr/bin/env python3
"""Checks every shipped document against the schema that its first line names, with a standard validator, and that the
schemas refuse what fheres refuses for its shape. Skipped (77) where python3-yaml or python3-jsonschema is missing."""
import copy
import json
import pathlib
import re
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
failures = []


def validator_of(document):
    first = document.read_text().splitlines()[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    if not match:
        failures.append(f"{document}: the first line names no schema")
        return None
    schema = json.loads((document.parent / match.group(1)).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def damaged(content):
    """What no schema may accept: an unknown key in each map with fixed keys near the top, and a missing head."""
    for key in ("apiVersion", "kind", "metadata"):
        other = copy.deepcopy(content)
        del other[key]
        yield f"no {key}", other
    yield "an unknown key", {**content, "chekcs": {}}
    if content["kind"] == "Machine":
        for what, copies in (("a bandwidth without a unit", [{"from": "cuda", "to": "cuda", "bandwidth": {"1 MiB": 5}}]),
                             ("a direction without an end", [{"from": "cuda", "bandwidth": {"1 MiB": "5 GB/s"}}])):
            yield what, {**content, "copies": copies}
        return
    stages = "stages" if "stages" in content else "requests"
    other = copy.deepcopy(content)
    other[stages][0]["unknown"] = 1
    yield "an unknown key in a stage or request", other
    other = copy.deepcopy(content)
    other["locations"] = {"cuda:128": {}}
    yield "cuda:128", other
    other = copy.deepcopy(content)
    other["locations"] = {"cuda:0": {"budget": "64 megs"}}
    yield "a bad size", other


documents = sorted([*ROOT.glob("samples/*.yaml"), *ROOT.glob("plans/*.yaml"), *ROOT.glob("plans/machines/*.yaml")])
for document in documents:
    validator = validator_of(document)
    if not validator:
        continue
    content = yaml.safe_load(document.read_text())
    for error in validator.iter_errors(content):
        failures.append(f"{document.relative_to(ROOT)}: {error.json_path}: {error.message}")
    for what, wrong in damaged(content):
        if validator.is_valid(wrong):
            failures.append(f"{document.relative_to(ROOT)}: the schema accepts {what}")

if not documents:
    failures.append("there are no documents")
print("\n".join(failures) or f"{len(documents)} documents agree with their schemas")
sys.exit(1 if failures else 0)
