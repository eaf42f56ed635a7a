#!/usr/bin/env python3
"""Draws docs/pictures/phase.svg: how much more the short flows of the guide's section on phase effects get, by their access delay.

    phase_effects.py THALWEG        with the program; runs 2 x 21 settings under 3 seeds

Only the standard library is used.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 860, 380, 62, 18, 46, 52
OVERHEADS = [("0 s", "without overhead", "#d55e00"), ("240 us", 'with overhead = "240 us"', "#0072b2")]
DELAYS = range(2500, 2701, 10)
MOST = 16


def scenario_text():
    text = (DOCS / "guide/traffic.md").read_text()
    return re.search(r"```toml phase\.toml\n(.*?)```", text, re.S).group(1)


def goodput_ratios(thalweg, file, delay, overhead):
    """Goodput of the short flows over that of the long ones, seed by seed."""
    sets = [f"flow.short.access.delay={delay} us", f"flow.short.overhead={overhead}", f"flow.long.overhead={overhead}"]
    arguments = [part for one in sets for part in ("--set", one)]
    out = subprocess.run([thalweg, "run", file, "--json", "--quiet", "--reps", "3", *arguments],
                         check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    pairs = [[group["goodput_bps"] for group in run["groups"]] for run in json.loads(out)["runs"]]
    return [short / long for short, long in pairs]


def x_of_delay(delay):
    return LEFT + (delay - DELAYS[0]) / (DELAYS[-1] - DELAYS[0]) * (WIDTH - LEFT - RIGHT)


def y_of_ratio(ratio):
    return TOP + (1 - ratio / MOST) * (HEIGHT - TOP - BOTTOM)


def svg_text(at_x, at_y, words, anchor="middle", colour="#333", size=13):
    return f'<text x="{at_x:.0f}" y="{at_y:.0f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">{words}</text>'


def main():
    thalweg = str(Path(sys.argv[1]).resolve())
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
             svg_text(LEFT, 24, "Goodput of the short flows over that of the long ones, 3 seeds each", "start", "#111", 15)]
    for ratio in range(0, MOST + 1, 4):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of_ratio(ratio):.1f}" y2="{y_of_ratio(ratio):.1f}" stroke="#ddd"/>')
        parts.append(svg_text(LEFT - 8, y_of_ratio(ratio) + 4, ratio, "end"))
    for delay in range(DELAYS[0], DELAYS[-1] + 1, 40):
        parts.append(svg_text(x_of_delay(delay), HEIGHT - BOTTOM + 20, delay))
    parts.append(svg_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "access delay of the short flows in us (10 us are 2 km of fibre)"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "phase.toml"
        file.write_text(scenario_text())
        for number, (overhead, words, colour) in enumerate(OVERHEADS):
            means = []
            for delay in DELAYS:
                found = goodput_ratios(thalweg, file, delay, overhead)
                means.append(f"{x_of_delay(delay):.1f},{y_of_ratio(sum(found) / len(found)):.1f}")
                parts += [f'<circle cx="{x_of_delay(delay):.1f}" cy="{y_of_ratio(ratio):.1f}" r="3" fill="{colour}" fill-opacity="0.5"/>' for ratio in found]
            parts.append(f'<polyline points="{" ".join(means)}" fill="none" stroke="{colour}" stroke-width="2"/>')
            parts.append(svg_text(WIDTH - RIGHT - 8, TOP + 14 + 20 * number, words, "end", colour, 14))
    parts.append("</svg>\n")
    (DOCS / "pictures/phase.svg").write_text("\n".join(parts))


main()
