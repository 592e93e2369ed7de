"""Every public header compiles by itself: whoever includes one needs no other before it.

usage: headers_test.py COMPILER ROOT [HEADER...]
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys


def main() -> int:
    compiler, root = sys.argv[1], pathlib.Path(sys.argv[2])
    headers = sys.argv[3:] or sorted(path.relative_to(root / "include").as_posix() for path in (root / "include").rglob("*.hpp"))

    def complaint(header: str) -> str:
        source = f"#include <{header}>\n#include <{header}>\n"
        result = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", root / "include",
                                 "-x", "c++", "-"], input=source, capture_output=True, text=True)
        return "" if result.returncode == 0 else f"{header}:\n{result.stderr}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(complaint, headers) if text]
    print("\n".join(complaints) or f"{len(headers)} headers compile by themselves")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
