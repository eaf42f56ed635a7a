#!/usr/bin/env python3
"""Where SEIF holds up beyond its paper, and where it breaks: SEIF, NewReno, CUBIC, Vegas and DEC bit on one bottleneck.

    seif_beyond_paper.py               runs the whole grid with target/release/thalweg, prints a table, and writes
                                docs/papers/seif-beyond.csv and docs/pictures/seif-beyond.svg
    seif_beyond_paper.py --quick       a corner of the grid, prints only
    seif_beyond_paper.py --draw        runs nothing, and draws the picture from the table that is there

The grid: 64 kbit/s to 10 Gbit/s, round trips of 1 to 300 ms, 2 to 1000 flows that always have something to send and
start within one second. The buffer is one bandwidth-delay product, at least 20 packets; packets are 1500 bytes. A third
of each run is warm-up. Only the standard library is used. Results are deterministic; the whole grid takes a quarter of
an hour on two cores.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from keyboard_interrupt import run_script

ROOT = Path(__file__).resolve().parent.parent
THALWEG = ROOT / "target/release/thalweg"
SCHEMES = ["seif", "newreno", "cubic", "vegas", "dec-bit"]
RATES = [("64 kbit/s", 64e3), ("1 Mbit/s", 1e6), ("100 Mbit/s", 1e8), ("10 Gbit/s", 1e10)]
ROUND_TRIPS_MS = [1, 10, 100, 300]  # ms
FLOW_COUNTS = [2, 30, 1000]
PACKET_BITS = 12_000
MAX_RUN_PACKETS = 6e6  # of one run
CSV_COLUMNS = ["rate", "rtt_ms", "flows", "scheme", "utilisation", "jain", "queue_delay_ms", "drops_percent",
               "timeouts"]

SCENARIO = """
title = "SEIF sweep"
duration = "{duration} s"
warmup = "{warmup} s"

[measure]
interval = "off"

[[link]]
name = "core"
between = ["left", "right"]
rate = "{rate}"
delay = "{delay} us"
queue = "{buffer} pkt"

[[flow]]
name = "users"
count = {flows}
from = "left"
to = "right"
scheme = "newreno"
spread = "1 s"
access = {{ rate = "{access} bit/s", delay = "0 ms" }}
"""


def run_duration(rate, rtt_ms):
    """Long enough for many round trips and packets, short enough to be simulated."""
    duration_s = max(10, 0.2 * rtt_ms, 3000 * PACKET_BITS / rate)
    return round(max(3, min(duration_s, MAX_RUN_PACKETS * PACKET_BITS / rate)))


def run_point(thalweg, grid_point):
    (rate_text, rate), rtt_ms, flow_count = grid_point
    duration_s = run_duration(rate, rtt_ms)
    buffer_packets = max(20, round(rate * rtt_ms / 1e3 / PACKET_BITS))
    text = SCENARIO.format(duration=duration_s, warmup=round(duration_s / 3), rate=rate_text,
                           delay=rtt_ms * 500, buffer=buffer_packets, flows=flow_count, access=int(10 * rate))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sweep.toml"
        file.write_text(text)
        command = [thalweg, "compare", file, "--schemes", ",".join(SCHEMES), "--json", "--quiet", "--jobs", "1"]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode:
        sys.exit(f"{grid_point}: {process.stderr}")
    rows = []
    for scheme_result in json.loads(process.stdout)["schemes"]:
        run = scheme_result["runs"][0]
        core = next(link for link in run["links"] if link["name"] == "core" and link["from"] == "left")
        sent = max(1, run["totals"]["sent_packets"])
        rows.append({
            "rate": rate_text, "rtt_ms": rtt_ms, "flows": flow_count, "scheme": scheme_result["scheme"],
            "utilisation": round(run["totals"]["throughput_bps"] / rate, 4),
            "jain": round(run["totals"]["jain"], 4),
            "queue_delay_ms": round(8e3 * core["queue_mean_bytes"] / rate, 4),
            "drops_percent": round(100 * run["totals"]["drops"] / sent, 3),
            "timeouts": run["totals"]["timeouts"],
        })
    print(f"{rate_text}, {rtt_ms} ms, {flow_count} flows: " + ", ".join(
        f"{row['scheme']} {100 * row['utilisation']:.0f} %/{row['jain']:.2f}" for row in rows), file=sys.stderr)
    return rows


def print_table(rows):
    lines = [f"{'':32}" + "".join(f"{scheme:>22}" for scheme in SCHEMES)]
    for group_start in range(0, len(rows), len(SCHEMES)):
        group = rows[group_start:group_start + len(SCHEMES)]
        cells = [f"{100 * row['utilisation']:5.1f} % {row['jain']:4.2f} {row['drops_percent']:5.1f} %" for row in group]
        head = f"{group[0]['rate']:>10}, {group[0]['rtt_ms']:>3} ms, {group[0]['flows']:>4} flows"
        lines.append(f"{head:32}" + "".join(f"{cell:>22}" for cell in cells))
    lines.append("Each: share of the link in use, Jain's index, drops as a share of what was sent.")
    return "\n".join(lines)


def fraction_colour(fraction):
    """A colour from orange (0) to blue (1), distinguishable with any colour vision."""
    colour_at_0, colour_at_1 = (230, 140, 40), (60, 140, 210)
    channels = zip(colour_at_0, colour_at_1)
    return "rgb({},{},{})".format(*(round(low + (high - low) * fraction) for low, high in channels))


def draw_picture(rows):
    """A map for each scheme and of each of two measures: round trips across, rates and numbers of flows down."""
    cell_width, row_height, left_margin, top_margin = 34, 17, 190, 60
    scheme_width = cell_width * len(ROUND_TRIPS_MS) + 18
    grid_rows = [(rate_text, flows) for rate_text, _ in RATES for flows in FLOW_COUNTS]
    width, panel_height = left_margin + scheme_width * len(SCHEMES), top_margin + row_height * len(grid_rows)
    svg_elements = []

    def add_text(x, y, text, anchor="middle", size=11):
        svg_elements.append(
            f'<text x="{x}" y="{y}" font-size="{size}" fill="#7d8590" text-anchor="{anchor}">{text}</text>')

    for panel, (metric, title) in enumerate((("utilisation", "share of the link in use, %"),
                                              ("jain", "Jain's index, %"))):
        panel_y = panel * (panel_height + 20)
        add_text(8, panel_y + 20, title, "start", 13)
        for row_index, (rate_text, flows) in enumerate(grid_rows):
            y = panel_y + top_margin + row_height * row_index + 12
            add_text(left_margin - 8, y, f"{rate_text}, {flows} flows", "end")
        for scheme_index, scheme in enumerate(SCHEMES):
            x = left_margin + scheme_width * scheme_index
            add_text(x + cell_width * len(ROUND_TRIPS_MS) / 2, panel_y + 38, scheme, size=13)
            for column, rtt_ms in enumerate(ROUND_TRIPS_MS):
                add_text(x + cell_width * column + cell_width / 2, panel_y + 54, f"{rtt_ms} ms", size=9)
                for row_index, (rate_text, flows) in enumerate(grid_rows):
                    row = next(row for row in rows if row["scheme"] == scheme and row["rate"] == rate_text
                               and row["flows"] == flows and row["rtt_ms"] == rtt_ms)
                    fraction = min(1.0, row[metric])
                    y = panel_y + top_margin + row_height * row_index
                    svg_elements.append(
                        f'<rect x="{x + cell_width * column}" y="{y}" width="{cell_width - 1}" height="{row_height - 1}" '
                        f'fill="{fraction_colour(fraction)}" fill-opacity="0.75"/>')
                    svg_elements.append(
                        f'<text x="{x + cell_width * column + cell_width / 2}" y="{y + 12}" font-size="10" '
                        f'text-anchor="middle">{100 * fraction:.0f}</text>')
    height = 2 * panel_height + 30
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" style="font-family:system-ui,sans-serif" role="img">')
    return "\n".join([head, "<title>SEIF and others over four rates, four round trips and three numbers of "
                      "flows</title>", *svg_elements, "</svg>"]) + "\n"


def read_csv(path):
    """The table of an earlier run."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return [{key: value if key in ("rate", "scheme") else float(value) for key, value in row.items()} for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a corner of the grid, prints only")
    parser.add_argument("--draw", action="store_true", help="draw the picture again")
    parser.add_argument("--thalweg", default=THALWEG, help="the program (target/release/thalweg)")
    parser.add_argument("--jobs", type=int, default=2, help="concurrent points")
    arguments = parser.parse_args()
    csv_path, svg_path = ROOT / "docs/papers/seif-beyond.csv", ROOT / "docs/pictures/seif-beyond.svg"
    if arguments.draw:
        svg_path.write_text(draw_picture(read_csv(csv_path)))
        return
    length = 2 if arguments.quick else None
    rates, rtts_ms, flow_counts = RATES[:length], ROUND_TRIPS_MS[:length], FLOW_COUNTS[:length]
    grid_points = [(rate, rtt_ms, count) for rate in rates for count in flow_counts for rtt_ms in rtts_ms]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = [row for rows in pool.map(partial(run_point, arguments.thalweg), grid_points) for row in rows]
    print(print_table(rows))
    if arguments.quick:
        return
    with open(csv_path, "w", newline="") as file:
        writer = csv.DictWriter(file, CSV_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    svg_path.write_text(draw_picture(rows))


if __name__ == "__main__":
    run_script(main)
