#!/usr/bin/env python3
"""Benefit of router feedback for the scheme `thalweg`: behind a SEIF router, behind one without feedback, and the scheme `seif`.

    router_feedback.py                        every row with target/release/thalweg, five seeds, as a table in Markdown
    router_feedback.py --seeds 3 alone beside  three seeds, some of the parts
    router_feedback.py --thalweg PROGRAM      another program

One line of 100 Mbit/s and a round trip of 50 ms by default, packets of 1500 bytes, flows that always have something to send and
start within a second, 20 s of which the first 7 are not counted (`beside` 60 and 20). Each cell: Mbit/s that arrive, the mean
queue in ms, drops as a share of what was sent, Jain's index. Of `beside`, one flow beside one of CUBIC: its share of what
arrives, and the rest as before. Only the standard library is used. Results are deterministic.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from stopped import until_stopped

ROOT = Path(__file__).resolve().parent.parent

LINK = """
[[link]]
name = "core"
between = ["left", "right"]
rate = "{rate} Mbit/s"
delay = "{delay} ms"
queue = {{ discipline = "fcfs", capacity = "{queue} bdp", feedback = "{feedback}" }}
{loss}
"""
FLOW = """
[[flow]]
name = "{name}"
count = {count}
from = "{start}"
to = "{end}"
scheme = "{scheme}"
spread = "1 s"
"""
HEAD = """
title = "Told"
duration = "{duration} s"
warmup = "{warmup} s"
[measure]
interval = "off"
[defaults.flow]
access = {{ rate = "1 Gbit/s", delay = "0 ms" }}
"""
VARIANTS = [("feedback", "thalweg", "seif"), ("no feedback", "thalweg", "none"), ("`seif`", "seif", "seif")]
QUEUES = [0.1, 0.25, 1, 4]


def row(about, count=1, queue=1, rate=100, delay=25, loss=0, two_way=False, beside=0):
    return {"about": about, "count": count, "queue": queue, "rate": rate, "delay": delay, "loss": loss, "two_way": two_way,
            "beside": beside}


PARTS = {
    "alone": [row(f"{count} flow{'s' * (count > 1)}, {queue} BDP", count, queue) for count in (1, 4, 30, 100) for queue in QUEUES],
    "small": [row("30 flows on 20 Mbit/s, 10 ms, 0.5 BDP", 30, 0.5, 20, 5), row("16 flows on 20 Mbit/s, 40 ms, 0.25 BDP", 16, 0.25, 20, 20),
              row("64 flows on 20 Mbit/s, 40 ms, 0.5 BDP", 64, 0.5, 20, 20)],
    "two-way": [row(f"{count} each way, {queue} BDP", count, queue, two_way=True) for count in (1, 4, 30) for queue in QUEUES],
    "loss": [row(f"{count} flow{'s' * (count > 1)}, 1 % lost, {queue} BDP", count, queue, loss=1) for count in (1, 4, 30) for queue in QUEUES],
    "beside": [row(f"{count} beside {count} CUBIC, {queue} BDP", count, queue, beside=count) for count in (1, 4, 30) for queue in QUEUES],
}


def scenario(of, scheme, feedback):
    seconds = (60, 20) if of["beside"] else (20, 7)
    loss = f'loss = "{of["loss"]} %"' if of["loss"] else ""
    text = HEAD.format(duration=seconds[0], warmup=seconds[1])
    text += LINK.format(rate=of["rate"], delay=of["delay"], queue=of["queue"], feedback=feedback, loss=loss)
    flows = [("users", of["count"], "left", "right", scheme)]
    if of["two_way"]:
        flows.append(("back", of["count"], "right", "left", scheme))
    if of["beside"]:
        flows.append(("others", of["beside"], "left", "right", "cubic"))
    return text + "".join(FLOW.format(name=name, count=count, start=start, end=end, scheme=of)
                          for name, count, start, end, of in flows)


def measured(thalweg, text, seeds):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "told.toml"
        file.write_text(text)
        call = [thalweg, "run", file, "--json", "--quiet", "--reps", str(seeds), "--jobs", "1"]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["runs"]


def cell(of, runs):
    """The figures of a cell, each the mean of the runs."""
    figures = []
    for run in runs:
        link = next(link for link in run["links"] if link["from"] == "left")
        groups = {group["name"]: group for group in run["groups"]}
        users, every = groups["users"], [group for name, group in groups.items() if name != "back"]
        arrives = sum(group["goodput_bps"] for group in every)
        first = users["goodput_bps"] / arrives if of["beside"] else users["goodput_bps"] / 1e6
        dropped = sum(group["drops"] for group in groups.values()) / sum(group["sent_packets"] for group in groups.values())
        # Of one flow there is none.
        figures.append((first, 8e3 * link["queue_mean_bytes"] / (of["rate"] * 1e6), dropped, users["jain"] or 1, arrives / 1e6))
    mean = [sum(values) / len(values) for values in zip(*figures)]
    first = f"{100 * mean[0]:.0f} % of {mean[4]:.1f}" if of["beside"] else f"{mean[0]:.1f}"
    return f"{first}; {mean[1]:.1f} ms; {100 * mean[2]:.2f} %" + (f"; {mean[3]:.2f}" if of["count"] > 1 else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}; all without")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--thalweg", default=ROOT / "target/release/thalweg")
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    print("| | " + " | ".join(name for name, _, _ in VARIANTS) + " |")
    print("| --- |" + " ---: |" * len(VARIANTS))
    for part in args.parts or PARTS:
        for of in PARTS[part]:
            cells = [cell(of, measured(args.thalweg, scenario(of, scheme, feedback), args.seeds))
                     for _, scheme, feedback in VARIANTS]
            print(f"| {of['about']} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    until_stopped(main)
