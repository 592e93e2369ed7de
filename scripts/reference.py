#!/usr/bin/env python3
"""Writes docs/reference/ from the JSON Schemas in plans/schema/: one page a kind of document, so that what people read is what
the checker and their editor use. A key that has no description in its schema gets the one of schema_words.py there.

usage: reference.py           writes descriptions and pages anew
       reference.py --check   exits 1 where a schema or a page is not what that would write, or a key has no description
"""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
from schema_words import words_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "plans" / "schema"
PAGES = ROOT / "docs" / "reference"
ANCHOR = "#/$defs/"


class Page:
    def __init__(self, path: pathlib.Path) -> None:
        self.schema = json.loads(path.read_text())
        self.kind = path.name.split(".")[0]
        self.missing: list[str] = []
        for name, schema in [(self.kind, self.schema), *self.schema["$defs"].items()]:
            for item in self.objects(schema):
                self.describe(item, name)

    def describe(self, schema: dict, path: str) -> None:
        """Gives every key a description, and notes those for which there is none."""
        for key, value in schema["properties"].items():
            place = f"{path}.{key}"
            if "const" not in value and "description" not in value:
                if words_for(place):
                    value["description"] = words_for(place)
                else:
                    self.missing.append(f"plans/schema/{self.kind}.schema.json: `{place}` has no description: "
                                        "add one to scripts/schema_words.py")
            for inner in self.objects(value):
                self.describe(inner, place)

    def objects(self, schema: dict) -> list[dict]:
        """The objects with named keys that a value may be, or be a list or a map of."""
        if "$ref" in schema:
            return []
        found = [schema] if schema.get("properties") else []
        for choice in schema.get("oneOf", []) + schema.get("anyOf", []):
            found += self.objects(choice)
        for inner in ("items", "additionalProperties"):
            if isinstance(schema.get(inner), dict):
                found += self.objects(schema[inner])
        return found

    def words(self, schema: dict) -> str:
        """What may stand there, in a few words."""
        if "$ref" in schema:
            name = schema["$ref"][len(ANCHOR):]
            return f"[{name}](#{name})"
        if "const" in schema:
            return f"`{schema['const']}`"
        if "enum" in schema:
            return " or ".join(f"`{item}`" for item in schema["enum"])
        if "oneOf" in schema or ("anyOf" in schema and "properties" not in schema):
            choices = [self.words(choice) for choice in schema.get("oneOf", schema.get("anyOf"))]
            return "; or ".join(dict.fromkeys(choices))
        kind = schema.get("type")
        if kind == "null":
            return "nothing"
        if kind == "array":
            if "prefixItems" in schema:
                return "list: " + ", ".join(self.words(item) for item in schema["prefixItems"])
            count = f"{schema['minItems']} " if schema.get("minItems", 0) > 1 and schema["minItems"] == schema.get("maxItems") else ""
            return f"list of {count}{self.words(schema.get('items', {}))}"
        if kind == "object":
            if schema.get("properties"):
                return "{" + ", ".join(f"`{key}`" for key in schema["properties"]) + "}"
            inner = schema.get("additionalProperties")
            names = self.words(schema["propertyNames"]) if "$ref" in schema.get("propertyNames", {}) else "name"
            return f"map of {names} to {self.words(inner)}" if isinstance(inner, dict) else "`{}`"
        if kind in ("integer", "number"):
            text = {"integer": "whole number", "number": "number"}[kind]
            low, high = schema.get("minimum"), schema.get("maximum")
            if low is not None and high is not None:
                return f"{text}, {low} to {high}"
            if low is not None:
                return f"{text}, at least {low}"
            if "exclusiveMinimum" in schema:
                return f"{text} above {schema['exclusiveMinimum']}"
            return text
        if kind == "boolean":
            return "true or false"
        if isinstance(kind, list):
            return " or ".join({"string": "text", "null": "nothing"}.get(item, item) for item in kind)
        return "text" if kind == "string" else "anything"

    def rows(self, schema: dict) -> list[str]:
        rows = []
        for key, value in schema["properties"].items():
            name = f"**`{key}`**" if key in schema.get("required", []) else f"`{key}`"
            rows.append(f"| {name} | {self.words(value)} | {value.get('description', '')} |")
            for inner in self.objects(value):
                rows += [row.replace("| ", "| &ensp;", 1) for row in self.rows(inner)]
        return rows

    def table(self, schema: dict) -> list[str]:
        return ["| key | what stands there | what it means |", "| --- | --- | --- |", *self.rows(schema), ""]

    def render(self) -> str:
        lines = [f"# Reference: documents of kind {self.kind.capitalize()}", "",
                 f"Made from [plans/schema/{self.kind}.schema.json](../../plans/schema/{self.kind}.schema.json) by",
                 "`scripts/reference.py`; do not edit it here. Keys in bold must be there; no others than these may.", ""]
        lines += self.table(self.schema)
        for name, schema in sorted(self.schema["$defs"].items()):
            lines += [f"## {name}", ""]
            if text := schema.get("description"):
                lines += [text, ""]
            objects = self.objects(schema)
            lines += [f"What stands there: {self.words(schema)}.", ""]
            if len(objects) > 1:
                lines += ["These forms:", ""]
            for inner in objects:
                lines += self.table(inner)
        return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    pages = [Page(path) for path in sorted(SCHEMAS.glob("*.schema.json")) if path.name != "reports.schema.json"]
    files = {PAGES / f"{page.kind}.md": page.render() for page in pages}
    files |= {SCHEMAS / f"{page.kind}.schema.json": json.dumps(page.schema, indent=2) + "\n" for page in pages}
    files[PAGES / "README.md"] = "\n".join(
        ["# Reference", "", "What each kind of document may say, made from its JSON Schema. Editors that know YAML schemas show",
         "the same while you type: the first line of each sample names its schema.", ""]
        + [f"- [{page.kind.capitalize()}]({page.kind}.md)" for page in pages]) + "\n"
    findings = [finding for page in pages for finding in page.missing]
    if sys.argv[1:] == ["--check"]:
        findings += [f"{path.relative_to(ROOT)} is not what scripts/reference.py writes: run it" for path, text in files.items()
                     if not path.exists() or path.read_text() != text]
        findings += [f"{path.relative_to(ROOT)} belongs to no schema" for path in sorted(PAGES.glob("*")) if path not in files]
        print("\n".join(findings) or f"{len(pages)} kinds of documents are described, and their pages up to date")
        return 1 if findings else 0
    PAGES.mkdir(exist_ok=True)
    for path, text in files.items():
        path.write_text(text)
    print("\n".join(findings + [f"wrote {len(files)} files"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
