#!/usr/bin/env python3
"""Every CUDA kernel begins with begin_kernel(): launches overlap, so one that does not wait reads what is not there yet.
Before it there may only be shared memory, and tables on their way there (Near, ConvertRun).

usage: kernels.py <source root>
"""
import pathlib
import re
import sys


BEFORE = r"(\s*(extern )?__shared__[^;]*;|\s*(const )?(Near<|ConvertRun\b)[^;]*;)*"
BEGIN = BEFORE + r"\s*begin_kernel\(\);"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    kernels, wrong = 0, []
    for path in sorted(p for p in (root / "src").rglob("*.cu*") if p.suffix in (".cu", ".cuh")):
        text = path.read_text()
        for kernel in re.finditer(r"__global__ void[^{;]*\{", text):
            kernels += 1
            if not re.match(BEGIN, text[kernel.end():]):
                line = text.count("\n", 0, kernel.start()) + 1
                wrong.append(f"{path.relative_to(root)}:{line}: a kernel has to begin with begin_kernel()")
    print("\n".join(wrong) if wrong else f"{kernels} kernels begin with begin_kernel()")
    return 1 if wrong or kernels == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
