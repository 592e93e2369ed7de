#!/usr/bin/env python3
"""Draws docs/images/timeline.png: the page of a run on the emulated device, in a real browser (chromium).

usage: pictures.py FHERES [FILE [WIDTH HEIGHT]]
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))
from browser import BROWSER, Browser  # noqa: E402

if len(sys.argv) not in (2, 3, 5) or BROWSER is None:
    sys.exit(__doc__ if BROWSER else "pictures.py: chromium is not here")
fheres = sys.argv[1]
picture = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ROOT / "docs/images/timeline.png")
width, height = map(int, sys.argv[3:] or (900, 1400))
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    subprocess.run([fheres, "run", "samples/explicit-tiles.yaml", "--device", "emulated", "--quiet", "--report",
                    folder / "report.json"], cwd=ROOT, check=True)
    subprocess.run([fheres, "trace", folder / "report.json", "-o", folder / "page.html", "--quiet"], check=True)
    with Browser(folder) as browser:
        browser.open(folder / "page.html", width, height)
        # Shown once, and shown again with what was then drawn.
        browser.evaluate("new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))")
        browser.screenshot(picture)
print(f"{picture}: {width} x {height}")
