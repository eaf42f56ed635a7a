#!/usr/bin/env python3
"""Sends the same packets through the same queue in ns-2 and in Thalweg, and compares who gets what.

    queues.py --thalweg PATH                 all disciplines that both have
    queues.py --thalweg PATH drr --seed 3    one of them, on other arrivals

Eight flows send Poisson streams of packets of fixed sizes, from 40 to 1500 bytes, at rates that together are 1.3 times what
the line of 1 Mbit/s carries: one sends far more than its share, one far less. For each flow the table has the packets that
left and the mean wait, ours beside theirs. Only the standard library is used.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RATE = 1e6
SECONDS = 300
# Bytes and the share of the line that the flow asks for.
FLOWS = [(1500, 0.50), (1000, 0.20), (1500, 0.15), (500, 0.15), (1000, 0.12), (200, 0.08), (500, 0.07), (40, 0.03)]

# What each discipline is in ns-2 (its class, the limit in its unit, and variables) and here.
DISCIPLINES = {
    "fcfs": ("DropTail", 21, {}, '{ discipline = "fcfs", capacity = "20 pkt" }'),
    "sfq": ("SFQ", 20, {"maxqueue_": 40, "buckets_": 16},
            '{ discipline = "sfq", capacity = "40 pkt", buckets = 65536, perturbation = "off", overflow = "share" }'),
    "drr": ("DRR", 20, {"buckets_": 1021, "blimit_": 25000, "quantum_": 1500, "mask_": 0},
            '{ discipline = "drr", capacity = "25 kB", quantum = "1500 B", overflow = "longest-head" }'),
    "red": ("RED", 50, {"thresh_": 5, "maxthresh_": 15, "q_weight_": 0.002, "linterm_": 10, "gentle_": "false",
                        "mean_pktsize_": 1000, "bytes_": "false", "wait_": "false", "queue_in_bytes_": "false",
                        "adaptive_": 0},
            '{ discipline = "red", capacity = "50 pkt", gentle = false }'),
}


def arrivals(seed):
    """(seconds, flow, bytes), in order of time."""
    rng, packets = random.Random(seed), []
    for flow, (size, share) in enumerate(FLOWS):
        at, gap = 0.0, size * 8 / (RATE * share)
        while True:
            at += rng.expovariate(1 / gap)
            if at >= SECONDS:
                break
            packets.append((round(at, 9), flow, size))
    return sorted(packets)


def run_ns2(packets, discipline, folder, seed):
    kind, limit, variables, _ = DISCIPLINES[discipline]
    source, trace = folder / "arrivals", folder / "trace"
    source.write_text("".join(f"{at:.9f} {flow} {size}\n" for at, flow, size in packets))
    command = ["ns", str(HERE / "queues.tcl"), f"arrivals={source}", f"trace={trace}", f"queue={kind}", f"limit={limit}",
               f"flows={len(FLOWS)}", f"seed={seed}"]
    subprocess.run(command + [f"{name}={value}" for name, value in variables.items()], check=True)
    came, waits = {}, [[] for _ in FLOWS]
    for line in trace.read_text().splitlines():
        words = line.split()
        event, at, flow, packet = words[0], float(words[1]), int(words[7]), words[11]
        if event == "+":
            came[packet] = at
        elif event == "-":
            waits[flow].append(at - came.pop(packet))
    return [(len(of), sum(of) / len(of) if of else 0.0) for of in waits]


def run_thalweg(path, packets, discipline, folder, seed):
    text = [f'duration = "{SECONDS + 60} s"\nseed = {seed}\n[measure]\ninterval = "off"\n[[link]]\nbetween = ["a", "b"]\n'
            f'rate = "1 Mbit/s"\ndelay = "0 s"\nqueue = {DISCIPLINES[discipline][3]}\n'
            '[scheme.bare]\nbase = "udp"\nsegment = "1500 B"\nheader = "0 B"\n']
    for flow in range(len(FLOWS)):
        writes = folder / f"flow-{flow}"
        writes.write_text("".join(f"{at:.9f} s, {size} B\n" for at, of, size in packets if of == flow))
        text.append(f'[[flow]]\nname = "f{flow}"\nfrom = "a"\nto = "b"\nscheme = "bare"\n'
                    f'workload = {{ kind = "trace", file = "{writes.name}" }}\n')
    scenario = folder / "queue.toml"
    scenario.write_text("".join(text))
    command = [path, "run", str(scenario), "--json", "--quiet"]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    flows = json.loads(answer)["runs"][0]["flows"]
    service = [size * 8 / RATE for size, _ in FLOWS]
    return [(flow["delay_samples"], flow["delay_mean_s"] - took) for flow, took in zip(flows, service)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("disciplines", nargs="*", help="of " + ", ".join(DISCIPLINES))
    parser.add_argument("--thalweg", default="thalweg", help="its executable")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    packets = arrivals(options.seed)
    for discipline in options.disciplines or DISCIPLINES:
        if discipline not in DISCIPLINES:
            sys.exit(f"there is no {discipline} here; there are {', '.join(DISCIPLINES)}")
        with tempfile.TemporaryDirectory() as folder:
            theirs = run_ns2(packets, discipline, Path(folder), options.seed)
            ours = run_thalweg(options.thalweg, packets, discipline, Path(folder), options.seed)
        print(f"\n{discipline}: packets that left and their mean wait, ns-2 and Thalweg")
        for flow, ((size, share), (left, wait), (our_left, our_wait)) in enumerate(zip(FLOWS, theirs, ours)):
            print(f"  flow {flow}, {size:4} B, {share:4.0%}: {left:6} {our_left:6}   {wait * 1e3:8.2f} ms "
                  f"{our_wait * 1e3:8.2f} ms")


if __name__ == "__main__":
    main()
