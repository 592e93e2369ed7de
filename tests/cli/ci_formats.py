"""Strict readers of what CI servers read: JUnit XML, and SARIF 2.1.0.

No package of the distribution brings the published schemas. For SARIF, python3-sarif-python-om has classes that were
generated from the published one: which members an object may and must have is read from there, where it is installed. What
values may be, and the JUnit structure that common servers agree on (one `testsuites` with suites of cases, totals that add
up), is written down here. Python's pydantic-sarif is the whole schema as a model: where it is installed, every log is checked with
it too. CONTRIBUTING.md says how the golden cases were held against the published JUnit schema.
"""

import json
import re
import xml.etree.ElementTree as ElementTree

try:
    import sarif_om
except ImportError:
    sarif_om = None
try:
    from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifSchema
except ImportError:
    SarifSchema = None

# Object -> member -> class of what is below it.
SARIF_CLASSES = {
    "SarifLog": {"runs": "Run"},
    "Run": {"tool": "Tool", "results": "Result", "automationDetails": "RunAutomationDetails"},
    "Tool": {"driver": "ToolComponent"},
    "ToolComponent": {"rules": "ReportingDescriptor"},
    "ReportingDescriptor": {"shortDescription": "MultiformatMessageString", "help": "MultiformatMessageString"},
    "Result": {"message": "Message", "locations": "Location"},
    "Location": {"physicalLocation": "PhysicalLocation"},
    "PhysicalLocation": {"artifactLocation": "ArtifactLocation", "region": "Region"},
    "MultiformatMessageString": {}, "Message": {}, "ArtifactLocation": {}, "Region": {},
    "RunAutomationDetails": {},
}


def _members(name: str) -> tuple[set, set]:
    """All members of an object, and those that it must have."""
    import attr
    fields = attr.fields(getattr(sarif_om, name))
    label = lambda field: field.metadata.get("schema_property_name", field.name)
    return ({label(field) for field in fields}, {label(field) for field in fields if field.default is attr.NOTHING})


def _check_object(value: object, name: str, where: str) -> None:
    assert isinstance(value, dict), f"{where} is no object"
    if sarif_om is not None:
        known, required = _members(name)
        # The log's own schema reference is a keyword of JSON Schema.
        unknown = set(value) - known - ({"$schema"} if name == "SarifLog" else set())
        assert not unknown, f"{where}: {name} has no {unknown}"
        assert required <= set(value), f"{where}: {name} lacks {required - set(value)}"
    for member, below in SARIF_CLASSES[name].items():
        if member not in value:
            continue
        items = value[member] if isinstance(value[member], list) else [value[member]]
        for index, item in enumerate(items):
            _check_object(item, below, f"{where}.{member}[{index}]")


def check_sarif(log: dict) -> list[dict]:
    """Every result as {code, file, line, column, text}; AssertionError where the log is none."""
    _check_object(log, "SarifLog", "log")
    if SarifSchema is not None:
        SarifSchema.model_validate_json(json.dumps(log))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert re.fullmatch(r"[A-Za-z0-9._~/%:-]+/", run["automationDetails"]["id"]), run["automationDetails"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "fheres" and driver["version"]
    codes = [rule["id"] for rule in driver["rules"]]
    assert len(set(codes)) == len(codes)
    assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in driver["rules"])
    results = []
    for result in run["results"]:
        assert codes[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        uri, region = physical["artifactLocation"]["uri"], physical["region"]
        assert re.fullmatch(r"(file:///?)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})+", uri), uri
        assert region["startLine"] >= 1
        if "startColumn" in region:
            assert 1 <= region["startColumn"] < region["endColumn"]
        results.append({"code": result["ruleId"], "file": uri, "line": region["startLine"],
                        "column": region.get("startColumn"), "text": result["message"]["text"]})
    assert {result["code"] for result in results} == set(codes)
    return results


JUNIT_CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}, "testcase": {"failure", "error", "skipped"},
                  "failure": set(), "error": set(), "skipped": set()}
JUNIT_ATTRIBUTES = {"testsuites": ({"name", "tests", "failures", "errors"}, set()),
                    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, set()),
                    "testcase": ({"name", "classname"}, set()),
                    "failure": ({"type", "message"}, set()), "error": ({"type", "message"}, set()),
                    "skipped": ({"message"}, set())}


def check_junit(text: str) -> dict[str, str]:
    """Every case's result by name, in order: passed, failure, error or skipped."""
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    root = ElementTree.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        required, optional = JUNIT_ATTRIBUTES[element.tag]
        assert required <= set(element.attrib) <= required | optional, (element.tag, element.attrib)
        assert {child.tag for child in element} <= JUNIT_CHILDREN[element.tag], element.tag
    (suite,) = root
    results = {}
    for case in suite:
        assert len(case) <= 1 and case.get("name") not in results
        results[case.get("name")] = case[0].tag if len(case) else "passed"
    for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        assert int(suite.get(count)) == list(results.values()).count(tag)
    assert int(suite.get("tests")) == len(results)
    assert all(root.get(name) == suite.get(name) for name in ("tests", "failures", "errors"))
    return results
