#!/usr/bin/env python3
"""Draws vegas-meets-cubic.svg: the windows of two flows and the queue between them, from a run of Thalweg.

    draw.py                     runs target/release/thalweg and writes the picture beside this script

Only the standard library is used. The colours are of middle brightness, to be read on white and on black.
"""

import csv
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
THALWEG = HERE.parent.parent / "target/release/thalweg"

WIDTH, LEFT, RIGHT = 860, 64, 96
PANELS = [(52, 190), (286, 110)]  # top and height
GREY, BLUE, ORANGE, GREEN = "#7d8590", "#3b82f6", "#e0701a", "#2f9e6e"
STYLE = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


def series(folder):
    """(quantity, subject) -> list of (time in s, value)."""
    found = {}
    with open(Path(folder) / "series.csv", newline="") as file:
        for row in csv.DictReader(file):
            points = found.setdefault((row["quantity"], row["subject"]), [])
            points.append((float(row["time_s"]), float(row["value"])))
    return found


def run(folder):
    out = Path(folder) / "run"
    subprocess.run([THALWEG, "run", "two-flows", "--quiet", "--out", out, "--set", "measure.interval=50 ms"],
                   check=True, stdout=subprocess.DEVNULL)
    return series(out)


class Panel:
    """A diagram: time from 0 to `end` on the horizontal axis, values from 0 to `most` on the other."""

    def __init__(self, top, height, end, most):
        self.top, self.height, self.end, self.most = top, height, end, most

    def x(self, time):
        return LEFT + (WIDTH - LEFT - RIGHT) * time / self.end

    def y(self, value):
        return self.top + self.height * (1 - value / self.most)

    def axes(self, title, ticks, with_times):
        parts = [text(LEFT, self.top - 12, title, size=13, colour=GREY)]
        for value in ticks:
            y = self.y(value)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity="0.3"/>')
            parts.append(text(LEFT - 8, y + 4, f"{value}", anchor="end"))
        for time in range(0, self.end + 1, 5):
            label = f"{time} s" if with_times else ""
            parts.append(text(self.x(time), self.top + self.height + 18, label, anchor="middle"))
        return parts

    def line(self, points, colour, name, label_y=None):
        path = "".join(f"{'L' if at else 'M'}{self.x(time):.1f} {self.y(value):.1f}"
                       for at, (time, value) in enumerate(points))
        y = label_y if label_y is not None else self.y(points[-1][1])
        return [f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8" stroke-linejoin="round"/>',
                text(WIDTH - RIGHT + 8, y + 4, name, size=13, colour=colour, weight=600)]

    def area(self, points, colour):
        path = "".join(f"L{self.x(time):.1f} {self.y(value):.1f}" for time, value in points)
        first, last = self.x(points[0][0]), self.x(points[-1][0])
        return [f'<path d="M{first:.1f} {self.y(0):.1f}{path}L{last:.1f} {self.y(0):.1f}Z" fill="{colour}" '
                f'fill-opacity="0.2"/>']


def text(x, y, words, size=12, colour=GREY, anchor="start", weight=400):
    if not words:
        return ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{words}</text>')


def picture(found):
    queue = found["queue-packets", "left-right left->right"]
    shy, bold = found["window", "shy"], found["window", "bold"]
    full = 167  # packets: one bandwidth-delay product
    windows = Panel(*PANELS[0], end=30, most=400)
    line = Panel(*PANELS[1], end=30, most=200)
    parts = windows.axes("congestion window, segments", [0, 100, 200, 300, 400], with_times=False)
    parts += windows.line(bold, ORANGE, "CUBIC")
    parts += windows.line(shy, BLUE, "Vegas")
    parts += line.axes("queue, packets (167 are one bandwidth-delay product)", [0, 100, full], with_times=True)
    parts += line.area(queue, GREEN) + line.line(queue, GREEN, "queue")
    height = PANELS[1][0] + PANELS[1][1] + 28
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'style="{STYLE}" role="img">')
    title = ("<title>A Vegas flow has a link of 100 Mbit/s to itself until a CUBIC flow starts after 5 s "
             "and fills the queue</title>")
    return "\n".join([head, title, *filter(None, parts), "</svg>"]) + "\n"


def main():
    with tempfile.TemporaryDirectory() as folder:
        svg = picture(run(folder))
    (HERE / "vegas-meets-cubic.svg").write_text(svg)


if __name__ == "__main__":
    main()
