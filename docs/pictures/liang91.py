#!/usr/bin/env python3
"""Draws the pictures of docs/gallery.md from the runs of `thalweg paper liang91`.

    liang91.py                  runs target/release/thalweg and writes synchronous-cuts.svg, two-way-collapse.svg and
                                feedback-or-drops.svg beside this script

Only the standard library is used.
"""

import subprocess
import tempfile
from pathlib import Path

from draw import BLUE, GREEN, GREY, HERE, LEFT, ORANGE, RIGHT, STYLE, THALWEG, WIDTH, Panel, series, text

END, BEGIN = 80, 20  # seconds; what was before the warm-up's end is not shown
HEIGHT, GAP = 110, 44


class Late(Panel):
    """A diagram that begins at the warm-up's end."""

    def x(self, time):
        return LEFT + (WIDTH - LEFT - RIGHT) * (time - BEGIN) / (END - BEGIN)

    def axes(self, title, ticks, with_times):
        parts = [text(LEFT, self.top - 10, title, size=13)]
        for value in ticks:
            y = self.y(value)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity="0.3"/>')
            parts.append(text(LEFT - 8, y + 4, f"{value}", anchor="end"))
        if with_times:
            for time in range(BEGIN, END + 1, 10):
                parts.append(text(self.x(time), self.top + self.height + 18, f"{time} s", anchor="middle"))
        return parts


def steps(points):
    """A staircase from the warm-up's end on: a value holds until the next."""
    before = [value for time, value in points if time <= BEGIN]
    stairs, last = [(BEGIN, before[-1])] if before else [], before[-1] if before else None
    for time, value in points:
        if time > BEGIN:
            if last is not None:
                stairs.append((time, last))
            stairs.append((time, value))
            last = value
    return stairs + [(END, last)]


def peaks(points, every=0.15):
    """The largest value in each short span: what a line of a picture's width can show."""
    highest = {}
    for time, value in points:
        span = int(time / every)
        highest[span] = max(value, highest.get(span, 0))
    return [(span * every, value) for span, value in sorted(highest.items())]


def drawing(title, panels):
    """Panels: (heading, most, ticks, [(points, colour, name)], area)."""
    parts, top = [], 30
    for number, (heading, most, ticks, lines, area) in enumerate(panels):
        panel = Late(top, HEIGHT, END, most)
        parts += panel.axes(heading, ticks, with_times=number + 1 == len(panels))
        for at, (points, colour, name) in enumerate(lines):
            stairs = [(time, min(value, most)) for time, value in steps(points)]
            if area:
                parts += panel.area(stairs, colour)
            parts += panel.line(stairs, colour, name, label_y=top + 14 + 18 * at)
        top += HEIGHT + GAP
    height = top - GAP + 28
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" style="{STYLE}" role="img">')
    return "\n".join([head, f"<title>{title}</title>", *filter(None, parts), "</svg>"]) + "\n"


def first_seed(folder):
    """Series of the first run only."""
    lines = (folder / "series.csv").read_text().splitlines(keepends=True)
    seed = lines[1].split(",")[1]
    kept = [line for line in lines[1:] if line.split(",", 2)[1] == seed]
    (folder / "series.csv").write_text("".join(lines[:1] + kept))
    return series(folder)


def synchronous(runs):
    panels = []
    for scheme, name, most in (("seif", "SEIF", 30), ("slow-start", "Slow Start", 30), ("dec-bit", "DEC bit", 30)):
        found = first_seed(runs / f"table-5.2-exp-2-{scheme}")
        lines = [(found["window", f"forward.{number}"], colour, f"user {number}")
                 for number, colour in ((1, BLUE), (2, ORANGE))]
        panels.append((f"{name}: windows of two users, packets", most, [0, 10, 20, 30], lines, False))
    return drawing("The windows of two SEIF users fall together; those of Slow Start and DEC bit do not", panels)


def collapse(runs):
    panels = []
    for scheme, name in (("dec-bit", "DEC bit"), ("seif", "SEIF")):
        found = first_seed(runs / f"table-5.7-exp-1-{scheme}")
        window = [(found["window", "forward"], BLUE, "window")]
        queue = [(peaks(found["queue-packets", "r1-r2 r1->r2"]), GREEN, "queue")]
        panels.append((f"{name}: the forward user's window, packets", 30, [0, 10, 20, 30], window, False))
        panels.append((f"{name}: the queue at the first router, data and acknowledgements", 30, [0, 10, 20, 30],
                       queue, True))
    return drawing("With two-way traffic DEC bit keeps windows tiny; SEIF uses the buffers", panels)


def reaction(runs):
    panels = []
    for case, name in (("table-4.2-exp-1-seif", "feedback at 80 %"),
                       ("table-4.2-exp-1-reacting-feedback", "feedback on drops"),
                       ("table-4.5-exp-1-seif-nonfiltering", "feedback at 80 %, no filter")):
        found = first_seed(runs / case)
        lines = [(found["window", "forward"], BLUE, "window"),
                 (peaks(found["queue-packets", "r1-r2 r1->r2"]), GREEN, "queue")]
        panels.append((f"{name}: window and queue, packets", 18, [0, 6, 12, 18], lines, False))
    return drawing("One SEIF user: feedback at a threshold, on drops, and without the filter", panels)


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "paper"
        chosen = ["table-4.2/exp-1", "table-4.5/exp-1", "table-5.2", "table-5.7/exp-1"]
        chosen = [word for name in chosen for word in ("--experiment", name)]
        subprocess.run([THALWEG, "paper", "liang91", "--quiet", "--out", out, *chosen], check=True,
                       stdout=subprocess.DEVNULL)
        runs = out / "runs"
        (HERE / "synchronous-cuts.svg").write_text(synchronous(runs))
        (HERE / "two-way-collapse.svg").write_text(collapse(runs))
        (HERE / "feedback-or-drops.svg").write_text(reaction(runs))


if __name__ == "__main__":
    main()
