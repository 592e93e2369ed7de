"""The page of `fheres trace --format html` in a real browser: it draws, taps answer, moving and zooming work, nothing fails.

Skipped where there is no chromium.
"""

import sys
import unittest

from browser import BROWSER, Browser
from tool import ToolTest

SKIPPED = 77
# Plays the user once the page has been shown, and answers with what it saw.
USER = """
new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown))).then(() => {
  const seen = { errors: [] };
  window.onerror = (message) => { seen.errors.push(String(message)); };
  function press(canvas, kind, id, x, y) {
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new PointerEvent(kind, { pointerId: id, clientX: box.left + x, clientY: box.top + y, bubbles: true }));
  }
  for (const canvas of document.querySelectorAll("canvas")) canvas.setPointerCapture = () => {};
  function tap(canvas, x, y) { press(canvas, "pointerdown", 1, x, y); press(canvas, "pointerup", 1, x, y); }
  const [timeline, device] = document.querySelectorAll("canvas");
  const colors = (canvas) => new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
  seen.charts = [...document.querySelectorAll("canvas")].map(colors);
  const operation = charts[0].slices.find((slice) => slice.kind === "operation");
  tap(timeline, charts[0].x((operation.start + operation.end) / 2), operation.top + 5);
  seen.details = document.getElementById("details").textContent;
  tap(device, charts[1].x(operation.start), 50);
  seen.residents = document.getElementById("residents").textContent;
  const width = () => view.to - view.from;
  const before = { width: width(), from: view.from };
  document.getElementById("closer").click();
  seen.closer = width() / before.width;
  const middle = view.from;
  press(timeline, "pointerdown", 1, 200, 10);
  press(timeline, "pointermove", 1, 100, 10);
  press(timeline, "pointerup", 1, 100, 10);
  seen.dragged = (view.from - middle) / width() * charts[0].width;
  const pinched = width();
  press(timeline, "pointerdown", 1, 100, 10);
  press(timeline, "pointerdown", 2, 200, 10);
  press(timeline, "pointermove", 2, 300, 10);
  press(timeline, "pointerup", 1, 100, 10);
  press(timeline, "pointerup", 2, 300, 10);
  seen.pinched = width() / pinched;
  document.getElementById("whole").click();
  seen.whole = width() / run.length_ns;
  return seen;
})
"""


class PageTest(ToolTest):
    def test_a_browser_draws_every_chart_and_answers_taps_drags_and_pinches(self) -> None:
        report, page = self.folder / "report.json", self.folder / "page.html"
        self.fheres("run", "samples/explicit-tiles.yaml", "--device", "emulated", "--quiet", "--report", report)
        self.fheres("trace", report, "-o", page)
        with Browser(self.folder) as browser:
            browser.open(page, 420, 900)
            seen = browser.evaluate(USER)
        self.assertEqual(seen["errors"], [])
        self.assertEqual(len(seen["charts"]), 4)  # the timeline, a device, two hosts
        for colors in seen["charts"]:
            self.assertGreater(colors, 3)
        self.assertIn("rotated-0 = rotate\nreads x, rot1\n", seen["details"])
        self.assertRegex(seen["residents"], r"^cuda:0 at .* used, .* reserved\nrot1  18 MiB\n")
        self.assertAlmostEqual(seen["closer"], 0.6, places=3)
        self.assertAlmostEqual(seen["dragged"], 100, delta=1)
        self.assertLess(seen["pinched"], 0.7)
        self.assertAlmostEqual(seen["whole"], 1.0, places=2)


if __name__ == "__main__":
    if BROWSER is None:
        print("chromium is not here")
        sys.exit(SKIPPED)
    unittest.main()
