#!/usr/bin/env python3
"""Checks every shipped document against the schema that its first line names, with a standard validator, and that the
schemas refuse what fheres refuses for its shape: documents that are damaged here, and the golden cases whose mistake is one
of shape. Skipped (77) where python3-yaml or python3-jsonschema is missing, a failure with FHERES_TEST_NO_SKIP=1."""
import copy
import json
import os
import pathlib
import re
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"{'failed' if os.environ.get('FHERES_TEST_NO_SKIP') == '1' else 'skipped'}: {missing}, in {sys.executable}")
    sys.exit(1 if os.environ.get("FHERES_TEST_NO_SKIP") == "1" else 77)

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


# Codes of mistakes that a schema can see. A text where a number is expected, or an unknown word, it sees as well.
OF_SHAPE = {"FHR0101", "FHR0103", "FHR0105", "FHR0106", "FHR0110", "FHR0111"}


def check_golden():
    """Each YAML file beside a golden command that validates it: accepted and refused as fheres does, as far as shape goes."""
    checked = 0
    for case in sorted(ROOT.glob("tests/golden/*/command")):
        document = case.parent / "input.yaml"
        if not document.exists() or not case.read_text().startswith(("validate input.yaml", "explain input.yaml")):
            continue
        said = (case.parent / "expected.stderr").read_text()
        codes = set(re.findall(r"input.yaml:[0-9]+:[0-9]+: error: .*\[(FHR[0-9]{4})\]", said))
        try:
            content = yaml.safe_load(document.read_text())
            kind = content["kind"].lower()
            schema = json.loads((ROOT / f"plans/schema/{kind}.schema.json").read_text())
        except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError, KeyError, OSError):
            continue  # no YAML, or of no kind
        valid = jsonschema.Draft202012Validator(schema).is_valid(content)
        checked += 1
        if "error:" not in said and not valid:
            failures.append(f"{document.relative_to(ROOT)}: the schema refuses it, and fheres does not")
        # What an expression stands for, a schema cannot see.
        if codes & OF_SHAPE and valid and "${" not in document.read_text():
            failures.append(f"{document.relative_to(ROOT)}: the schema accepts it, and fheres says {sorted(codes & OF_SHAPE)}")
    return checked


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
golden = check_golden()
if golden < 30:
    failures.append(f"only {golden} golden cases could be checked")
print("\n".join(failures) or f"{len(documents)} documents and {golden} golden cases agree with their schemas")
sys.exit(1 if failures else 0)
