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
FLOWS = [2, 30, 1000]
PACKET = 12000  # bits
MAX_PACKETS = 6e6  # of one run
FIELDS = ["rate", "rtt_ms", "flows", "scheme", "utilisation", "jain", "queue_delay_ms", "drops_percent", "timeouts"]

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


def run_duration(rate, trip):
    """Long enough for many round trips and packets, short enough to be simulated."""
    wanted = max(10, 0.2 * trip, 3000 * PACKET / rate)
    return round(max(3, min(wanted, MAX_PACKETS * PACKET / rate)))


def run_point(thalweg, task):
    (name, rate), trip, flows = task
    seconds = run_duration(rate, trip)
    buffer = max(20, round(rate * trip / 1e3 / PACKET))
    text = SCENARIO.format(duration=seconds, warmup=round(seconds / 3), rate=name, delay=trip * 500, buffer=buffer,
                           flows=flows, access=int(10 * rate))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sweep.toml"
        file.write_text(text)
        call = [thalweg, "compare", file, "--schemes", ",".join(SCHEMES), "--json", "--quiet", "--jobs", "1"]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{task}: {done.stderr}")
    rows = []
    for of in json.loads(done.stdout)["schemes"]:
        run = of["runs"][0]
        core = next(link for link in run["links"] if link["name"] == "core" and link["from"] == "left")
        sent = max(1, run["totals"]["sent_packets"])
        rows.append({
            "rate": name, "rtt_ms": trip, "flows": flows, "scheme": of["scheme"],
            "utilisation": round(run["totals"]["throughput_bps"] / rate, 4),
            "jain": round(run["totals"]["jain"], 4),
            "queue_delay_ms": round(8e3 * core["queue_mean_bytes"] / rate, 4),
            "drops_percent": round(100 * run["totals"]["drops"] / sent, 3),
            "timeouts": run["totals"]["timeouts"],
        })
    print(f"{name}, {trip} ms, {flows} flows: " + ", ".join(
        f"{row['scheme']} {100 * row['utilisation']:.0f} %/{row['jain']:.2f}" for row in rows), file=sys.stderr)
    return rows


def print_table(rows):
    lines = [f"{'':32}" + "".join(f"{scheme:>22}" for scheme in SCHEMES)]
    for at in range(0, len(rows), len(SCHEMES)):
        group = rows[at:at + len(SCHEMES)]
        cells = [f"{100 * row['utilisation']:5.1f} % {row['jain']:4.2f} {row['drops_percent']:5.1f} %" for row in group]
        head = f"{group[0]['rate']:>10}, {group[0]['rtt_ms']:>3} ms, {group[0]['flows']:>4} flows"
        lines.append(f"{head:32}" + "".join(f"{cell:>22}" for cell in cells))
    lines.append("Each: share of the link in use, Jain's index, drops as a share of what was sent.")
    return "\n".join(lines)


def share_colour(share):
    """A colour from orange (0) to blue (1), distinguishable with any colour vision."""
    nothing, everything = (230, 140, 40), (60, 140, 210)
    return "rgb({},{},{})".format(*(round(low + (high - low) * share) for low, high in zip(nothing, everything)))


def draw_picture(rows):
    """A map for each scheme and of each of two measures: round trips across, rates and numbers of flows down."""
    cell, high, left, top = 34, 17, 190, 60
    wide = cell * len(ROUND_TRIPS_MS) + 18
    lines = [(name, flows) for name, _ in RATES for flows in FLOWS]
    width, block = left + wide * len(SCHEMES), top + high * len(lines)
    parts = []

    def word(x, y, words, anchor="middle", size=11):
        parts.append(f'<text x="{x}" y="{y}" font-size="{size}" fill="#7d8590" text-anchor="{anchor}">{words}</text>')

    for number, (measure, title) in enumerate((("utilisation", "share of the link in use, %"),
                                               ("jain", "Jain's index, %"))):
        shift = number * (block + 20)
        word(8, shift + 20, title, "start", 13)
        for at, (name, flows) in enumerate(lines):
            word(left - 8, shift + top + high * at + 12, f"{name}, {flows} flows", "end")
        for at, scheme in enumerate(SCHEMES):
            x = left + wide * at
            word(x + cell * len(ROUND_TRIPS_MS) / 2, shift + 38, scheme, size=13)
            for column, trip in enumerate(ROUND_TRIPS_MS):
                word(x + cell * column + cell / 2, shift + 54, f"{trip} ms", size=9)
                for down, (name, flows) in enumerate(lines):
                    row = next(row for row in rows if row["scheme"] == scheme and row["rate"] == name
                               and row["flows"] == flows and row["rtt_ms"] == trip)
                    share = min(1.0, row[measure])
                    y = shift + top + high * down
                    parts.append(f'<rect x="{x + cell * column}" y="{y}" width="{cell - 1}" height="{high - 1}" '
                                 f'fill="{share_colour(share)}" fill-opacity="0.75"/>')
                    parts.append(f'<text x="{x + cell * column + cell / 2}" y="{y + 12}" font-size="10" '
                                 f'text-anchor="middle">{100 * share:.0f}</text>')
    height = 2 * block + 30
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" style="font-family:system-ui,sans-serif" role="img">')
    return "\n".join([head, "<title>SEIF and others over four rates, four round trips and three numbers of "
                      "flows</title>", *parts, "</svg>"]) + "\n"


def read_stored(path):
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
    values, image = ROOT / "docs/papers/seif-beyond.csv", ROOT / "docs/pictures/seif-beyond.svg"
    if arguments.draw:
        image.write_text(draw_picture(read_stored(values)))
        return
    rates, trips, flows = (RATES[:2], ROUND_TRIPS_MS[:2], FLOWS[:2]) if arguments.quick else (RATES, ROUND_TRIPS_MS, FLOWS)
    tasks = [(rate, trip, count) for rate in rates for count in flows for trip in trips]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = [row for rows in pool.map(partial(run_point, arguments.thalweg), tasks) for row in rows]
    print(print_table(rows))
    if arguments.quick:
        return
    with open(values, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    image.write_text(draw_picture(rows))


if __name__ == "__main__":
    run_script(main)
