"""Fails on any include that the architecture does not allow: one table, every #include line of include/, src/ and cli/."""

import pathlib
import re
import sys

# Area -> the areas of ours that it may include, itself aside.
AREAS = {
    "base": [],
    "scheme": ["base"],
    "memory": ["base"],
    "ring": ["base", "scheme", "memory"],
    "ckks": ["base", "scheme", "memory", "ring"],
    "residency": ["base", "memory"],
    "control": ["base", "memory", "residency"],
    "workload": ["base", "scheme", "memory", "residency", "control"],
    "compile": ["base", "memory", "residency", "control", "workload"],
    "verify": ["base", "workload"],
    "documents": ["base", "scheme", "memory", "workload", "compile"],
    "runtime": ["base", "scheme", "memory", "ring", "ckks", "residency", "control", "workload"],
}
AREAS["report"] = list(AREAS)
AREAS["cli"] = list(AREAS)

# Third-party headers -> where they may be included: path prefixes.
PACKAGES = {
    r"fmt/": None,  # anywhere but in a public header, checked below
    r"cuda|device_launch_parameters": ["src/memory/cuda/", "src/ring/cuda/"],
    r"nvtx": ["src/runtime/annotate.cpp"],
    r"sodium": ["src/ckks/sampling.cpp", "src/base/sha256.cpp"],
    r"nlohmann/": ["src/ckks/serialize.cpp", "src/report/", "include/fheres/report/", "cli/"],
    r"yaml-cpp/": ["src/documents/"],
    r"CLI/": ["cli/parser.cpp"],
    r"Clp|Coin": ["src/compile/relaxation.cpp"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def area_of(path: pathlib.PurePosixPath) -> str:
    parts = path.parts
    if parts[0] == "cli":
        return "cli"
    return parts[2] if parts[0] == "include" else parts[1]


def target_area(root: pathlib.Path, path: pathlib.Path, name: str) -> str | None:
    """The area that an include of ours points into, or None for a header that is not ours."""
    if name.startswith("fheres/"):
        return name.split("/")[1]
    for base in (path.parent, root / "src", root):
        if (base / name).is_file():
            return area_of(pathlib.PurePosixPath((base / name).resolve().relative_to(root).as_posix()))
    return None


def main(root: pathlib.Path) -> int:
    findings = []
    for folder in ("include", "src", "cli"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".hpp", ".cpp", ".cu", ".cuh"):
                continue
            relative = path.relative_to(root).as_posix()
            area = area_of(pathlib.PurePosixPath(relative))
            if area not in AREAS:
                findings.append(f"{relative}: `{area}` is no area of the architecture")
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                name = match.group(2)
                other = target_area(root, path, name)
                if other is not None:
                    if other != area and other not in AREAS[area]:
                        findings.append(f"{relative}:{number}: {area} may not include {other} ({name})")
                    continue
                for pattern, allowed in PACKAGES.items():
                    if not re.match(pattern, name):
                        continue
                    inside = not relative.startswith("include/") if allowed is None else relative.startswith(tuple(allowed))
                    if not inside:
                        findings.append(f"{relative}:{number}: {name} is not allowed here")
    print("\n".join(findings) or "every include is allowed")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
