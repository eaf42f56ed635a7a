#!/usr/bin/env python3
"""Draws the pictures of docs/gallery.md about two-level flow control (Gong and Parulkar 1992).

    gong92.py                   runs target/release/thalweg and writes slow-reader.svg and soft-acknowledgement.svg beside
                                this script

Only the standard library is used.
"""

import subprocess
import tempfile
from pathlib import Path

from draw import BLUE, GREEN, GREY, HERE, LEFT, ORANGE, RIGHT, STYLE, THALWEG, WIDTH, Panel, series, text

HEIGHT, GAP = 110, 44


class Span(Panel):
    """A diagram from `begin` to `end`, with a time every `step`."""

    def __init__(self, top, most, begin, end, step):
        super().__init__(top, HEIGHT, end, most)
        self.begin, self.step = begin, step

    def x(self, time):
        return LEFT + (WIDTH - LEFT - RIGHT) * (time - self.begin) / (self.end - self.begin)

    def axes(self, title, ticks, with_times):
        parts = [text(LEFT, self.top - 10, title, size=13)]
        for value in ticks:
            y = self.y(value)
            parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity="0.3"/>')
            parts.append(text(LEFT - 8, y + 4, f"{value}", anchor="end"))
        count = round((self.end - self.begin) / self.step)
        for time in (self.begin + self.step * at for at in range(count + 1)):
            label = f"{time:g} s" if with_times else ""
            parts.append(text(self.x(time), self.top + self.height + 18, label, anchor="middle"))
        return parts


def drawing(title, span, panels):
    """Panels: (heading, most, ticks, points, colour, name, factor)."""
    parts, top = [], 30
    begin, end, _ = span
    for number, (heading, most, ticks, points, colour, name, factor) in enumerate(panels):
        panel = Span(top, most, *span)
        parts += panel.axes(heading, ticks, with_times=number + 1 == len(panels))
        shown = [(time, min(value / factor, most)) for time, value in points if begin <= time <= end]
        parts += panel.area(shown, colour) + panel.line(shown, colour, name, label_y=top + 14)
        top += HEIGHT + GAP
    height = top - GAP + 28
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}" style="{STYLE}" role="img">')
    return "\n".join([head, f"<title>{title}</title>", *filter(None, parts), "</svg>"]) + "\n"


def run(folder, name, *sets):
    out = Path(tempfile.mkdtemp(dir=folder)) / "run"
    words = [word for change in sets for word in ("--set", change)]
    subprocess.run([THALWEG, "run", name, "--quiet", "--out", out, *words], check=True,
                   stdout=subprocess.DEVNULL)
    return series(out)


def slow_reader(folder):
    found = run(folder, "slow-reader")
    packets = 16
    panels = [
        ("goodput: what the application reads, Mbit/s", 120, [0, 40, 80, 120], found["goodput", "stream"], GREEN,
         "read", 1e6),
        ("segments that the sender may have outstanding", 45, [0, 15, 30, 45], found["window", "stream"], BLUE,
         "window", packets),
        ("delivered and not yet read, kB", 1000, [0, 250, 500, 750, 1000], found["unread", "stream"], ORANGE,
         "unread", 1e3),
    ]
    return drawing("A slow application: windows withheld for a moment, for long, and made smaller", (0, 16, 2), panels)


def soft(folder):
    panels = []
    for acknowledgement, colour in (("soft", ORANGE), ("firm", BLUE)):
        found = run(folder, "soft-acknowledgement", f"scheme.sstp.acknowledgement={acknowledgement}", "duration=2 s",
                    "warmup=0 s", "measure.interval=5 ms")
        panels.append((f"{acknowledgement} acknowledgement: goodput, Mbit/s", 120, [0, 40, 80, 120],
                       found["goodput", "stream"], colour, acknowledgement, 1e6))
    return drawing("One packet is lost after a second: soft acknowledgement never recovers", (0.9, 1.5, 0.1), panels)


def main():
    with tempfile.TemporaryDirectory() as folder:
        (HERE / "slow-reader.svg").write_text(slow_reader(folder))
        (HERE / "soft-acknowledgement.svg").write_text(soft(folder))


if __name__ == "__main__":
    main()
