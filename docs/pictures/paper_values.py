#!/usr/bin/env python3
"""Draws our values of each paper over the printed ones, a point each, from the results of `thalweg paper`.

    paper_values.py                   runs target/release/thalweg for each paper with --full, and writes papers-NAME.svg beside this
                                script
    paper_values.py FILE ...          takes the results from FILEs, what `thalweg paper NAME --json` printed

Both axes are logarithmic: a point on the line is equal in both, one within the band differs by less than 10 %. Values that
are zero in print or in our runs have no place on such axes; the picture says how many there are. Only the standard library is used.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
THALWEG = HERE.parent.parent / "target/release/thalweg"
PAPERS = {
    "liang91": "Liang 1991",
    "yang01": "Yang and Fu 2001",
    "bless25": "Bless, Lihotzki and Zitterbart 2025",
    "chen99": "Chen and Chen 1999",
    "gong92": "Gong and Parulkar 1992",
    "lee97": "Lee, Kim, Chung and Kim 1997",
}

SIDE, LEFT, TOP, BOTTOM, LEGEND = 560, 76, 44, 56, 190
# Of middle brightness, to be read on white and on black.
GREY = "#7d8590"
COLOURS = ["#3b82f6", "#e0701a", "#2f9e6e", "#b45cd6", "#d64550", "#8a7d1f", "#1f9bb0", "#7d8590"]
STYLE = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


def svg_text(x, y, words, size=12, colour=GREY, anchor="start", turn=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{turn}>{words}</text>')


def draw_mark(shape, x, y, colour, title=""):
    """A circle, a square or a diamond of the same size."""
    inside = f"<title>{title}</title>" if title else ""
    if shape == 0:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}" fill-opacity="0.75">{inside}</circle>'
    turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == 2 else ""
    return (f'<rect x="{x - 2.6:.1f}" y="{y - 2.6:.1f}" width="5.2" height="5.2" fill="{colour}" fill-opacity="0.75"{turn}>'
            f"{inside}</rect>")


def read_results(name):
    command = [THALWEG, "paper", name, "--full", "--json", "--quiet"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def paper_values(document):
    """Fairness variances apart from other values: table -> (printed, ours, description) of each value. Then the number of
    values without a place."""
    panels, without = ({}, {}), 0
    for of in document["experiments"]:
        if of["id"].startswith("ours/"):
            continue
        for row in of["results"]:
            printed, ours = row.get("published"), row.get("value")
            if not isinstance(printed, (int, float)) or ours is None:
                continue
            if printed <= 0 or ours <= 0:
                without += 1
                continue
            table = row.get("table") or of["id"].split("/")[0].removeprefix("table-")
            what = f'{of["id"]}, {row["scheme"]}, {row["metric"]}: {ours:.4g}, printed {printed:g}'
            panels["variance" in row["metric"]].setdefault(table, []).append((printed, ours, what))
    return [panel for panel in panels if panel], without


def draw_tables(top, tables):
    """A panel: its tables with a colour and a shape each."""
    points = [point for of in tables.values() for point in of]
    low = math.floor(min(math.log10(min(printed, ours)) for printed, ours, _ in points))
    high = math.ceil(max(math.log10(max(printed, ours)) for printed, ours, _ in points))
    place = lambda value: SIDE * (math.log10(value) - low) / (high - low)
    x = lambda value: LEFT + place(value)
    y = lambda value: top + SIDE - place(value)
    parts = []
    for power in range(low, high + 1):
        value = 10.0 ** power
        parts.append(f'<path d="M{x(value):.1f} {top}V{top + SIDE}M{LEFT} {y(value):.1f}H{LEFT + SIDE}" '
                     f'stroke="{GREY}" stroke-opacity="0.3"/>')
        parts.append(svg_text(x(value), top + SIDE + 18, f"{value:g}", anchor="middle"))
        parts.append(svg_text(LEFT - 8, y(value) + 4, f"{value:g}", anchor="end"))
    first, last, shift = 10.0 ** low, 10.0 ** high, SIDE * math.log10(1.1) / (high - low)
    corners = [(x(first), y(first)), (x(first), y(first) - shift), (x(last) - shift, y(last)), (x(last), y(last)),
               (x(last), y(last) + shift), (x(first) + shift, y(first))]
    parts.append('<path d="M' + "L".join(f"{a:.1f} {b:.1f}" for a, b in corners)
                 + f'Z" fill="{GREY}" fill-opacity="0.16"/>')
    parts.append(f'<path d="M{x(first):.1f} {y(first):.1f}L{x(last):.1f} {y(last):.1f}" stroke="{GREY}"/>')
    parts.append(svg_text(LEFT + SIDE / 2, top + SIDE + 42, "printed", size=13, anchor="middle"))
    middle = top + SIDE / 2
    parts.append(svg_text(20, middle, "ours", size=13, anchor="middle", turn=f' transform="rotate(-90 20 {middle:.1f})"'))
    for number, (table, of) in enumerate(tables.items()):
        colour, shape = COLOURS[number % len(COLOURS)], number // len(COLOURS) % 3
        parts += [draw_mark(shape, x(printed), y(ours), colour, what) for printed, ours, what in of]
        at = top + 12 + 19 * number
        parts += [draw_mark(shape, LEFT + SIDE + 20, at - 4, colour),
                  svg_text(LEFT + SIDE + 32, at, f"{table} ({len(of)})", colour=colour)]
    return parts


def write_picture(name, document):
    panels, without = paper_values(document)
    parts, top, width = [], TOP, LEFT + SIDE + LEGEND
    title = PAPERS[name]
    for number, tables in enumerate(panels):
        points = [point for of in tables.values() for point in of]
        near = sum(abs(ours / printed - 1) < 0.1 for printed, ours, _ in points)
        kind = "fairness variances" if number else "values"
        title += f"{', ' if number else ': '}{len(points)} {kind}, {near} within 10 %"
        parts += draw_tables(top, tables)
        top += SIDE + BOTTOM + 24
    title += f" ({without} more are zero)" if without else ""
    height = top - 24
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'style="{STYLE}" role="img"><title>{title}</title>', svg_text(LEFT, 24, title, size=14)]
    (HERE / f"papers-{name}.svg").write_text("\n".join([*head, *parts, "</svg>"]) + "\n")
    print(title)


def main():
    files = [json.loads(Path(name).read_text()) for name in sys.argv[1:]]
    for document in files or map(read_results, PAPERS):
        write_picture(document["paper"], document)


if __name__ == "__main__":
    main()
