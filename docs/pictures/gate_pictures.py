#!/usr/bin/env python3
"""Draws the pictures of docs/guide/gates.md from the results of `thalweg paper yang01`.

    gate_pictures.py                   runs target/release/thalweg and writes gates-ageing.svg, gates-slots.svg and gates-length.svg
                                beside this script
    gate_pictures.py FILE              takes the results from FILE, what `thalweg paper yang01 --full --json` printed

Only the standard library is used.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
THALWEG = HERE.parent.parent / "target/release/thalweg"

WIDTH, LEFT, RIGHT, TOP, HEIGHT = 860, 64, 96, 52, 210
# Of middle brightness, to be read on white and on black.
GREY, BLUE, ORANGE, GREEN = "#7d8590", "#3b82f6", "#e0701a", "#2f9e6e"
STYLE = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
COLOURS = {"TCP1": BLUE, "TCP2": GREEN, "TCP3": ORANGE, "TCP4": GREY}
EXPERIMENTS = ["ours/ageing", "ours/slots", "ours/slot-length-frozen"]


def svg_text(x, y, words, size=12, colour=GREY, anchor="start", weight=400):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{words}</text>')


def read_results():
    if len(sys.argv) > 1:
        return json.loads(Path(sys.argv[1]).read_text())
    command = [THALWEG, "paper", "yang01", "--json", "--quiet"]
    for name in EXPERIMENTS:
        command += ["--experiment", name]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def completion_times(document, experiment, key, **fixed):
    """value of the key -> class -> mean time."""
    found = {}
    for of in document["experiments"]:
        for row in of["results"] if of["id"] == experiment else []:
            wanted = all(row.get(name) == value for name, value in fixed.items())
            if wanted and row["metric"] == "mean_transfer_time_s" and row["value"] is not None:
                found.setdefault(row[key], {})[row["source"]] = row["value"]
    return found


def draw_panel(top, title, found, order, most):
    """Lines of the TCP classes over the places of `order`."""
    x = lambda place: LEFT + (WIDTH - LEFT - RIGHT) * (place + 0.5) / len(order)
    y = lambda value: top + HEIGHT * (1 - value / most)
    parts = [svg_text(LEFT, top - 12, title, size=13)]
    for value in range(0, most + 1, 500):
        parts.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity="0.3"/>')
        parts.append(svg_text(LEFT - 8, y(value) + 4, f"{value} s", anchor="end"))
    parts += [svg_text(x(place), top + HEIGHT + 18, name, anchor="middle") for place, name in enumerate(order)]
    label = None
    for name, colour in sorted(COLOURS.items(), reverse=True):
        points = [(x(place), y(found[at][name])) for place, at in enumerate(order) if name in found.get(at, {})]
        if not points:
            continue
        path = "".join(f"{'L' if place else 'M'}{at:.1f} {value:.1f}" for place, (at, value) in enumerate(points))
        label = points[-1][1] if label is None else max(points[-1][1], label + 15)
        parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.8"/>')
        parts += [f'<circle cx="{at:.1f}" cy="{value:.1f}" r="3" fill="{colour}"/>' for at, value in points]
        parts.append(svg_text(WIDTH - RIGHT + 8, label + 4, "priority " + name[3:], size=13, colour=colour, weight=600))
    return parts


def write_picture(name, title, panels):
    height = TOP + len(panels) * (HEIGHT + 70) - 40
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'style="{STYLE}" role="img"><title>{title}</title>')
    parts = [line for place, of in enumerate(panels) for line in draw_panel(TOP + place * (HEIGHT + 70), *of)]
    (HERE / name).write_text("\n".join([head, *filter(None, parts), "</svg>"]) + "\n")


def main():
    document = read_results()
    ageing = ["1 s", "10 s", "100 s", "300 s", "1000 s", "off"]
    write_picture("gates-ageing.svg", "Mean times to complete by priority, over the time after which a waiting flow moves up", [
        ("congestion gate: mean time to complete 1 MB, over the ageing time",
         completion_times(document, "ours/ageing", "ageing", scheme="cc/cc"), ageing, 2000),
        ("time slots", completion_times(document, "ours/ageing", "ageing", scheme="ts/ts"), ageing, 2500)])
    write_picture("gates-slots.svg", "Mean times to complete by priority, for several numbers of slots", [
        ("time slots of 2 ms: mean time to complete 1 MB, over the slots of priorities 1 to 4",
         {{"equal": "32 each", "half": "128 .. 16", "published": "256 .. 32", "double": "512 .. 64",
           "steep": "1024 .. 16"}[name]: of for name, of in completion_times(document, "ours/slots", "slots").items()},
         ["32 each", "128 .. 16", "256 .. 32", "512 .. 64", "1024 .. 16"], 3000)])
    lengths = ["500 us", "1 ms", "2 ms", "4 ms", "10 ms", "20 ms"]
    write_picture("gates-length.svg", "Mean times to complete by priority, over the length of a slot", [
        ("time slots: mean time to complete 1 MB, over the length of a slot (the round trip takes 57 ms)",
         completion_times(document, "ours/slot-length-frozen", "slot"), lengths, 3500)])


if __name__ == "__main__":
    main()
