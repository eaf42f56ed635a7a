#!/usr/bin/env python3
"""Sends the same packets through the same queue in ns-2 or ns-3 and in Thalweg, and compares who gets what.

    queue_comparison.py --thalweg PATH                 all disciplines that one of them has
    queue_comparison.py --thalweg PATH drr --seed 3    one of them, on other arrivals

Eight flows send Poisson streams of packets of fixed sizes, from 40 to 1500 bytes, at rates that together are 1.3 times what
the line of 1 Mbit/s carries: one sends far more than its share, one far less. For each flow the table has the packets that
left and the mean wait, ours beside theirs. Only the standard library is used; ns-3's part, queues.cc, is compiled here.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from keyboard_interrupt import run_script  # noqa: E402

HERE = Path(__file__).resolve().parent
RATE = 1e6
SECONDS = 300
# Bytes and the share of the line that the flow asks for.
FLOWS = [(1500, 0.50), (1000, 0.20), (1500, 0.15), (500, 0.15), (1000, 0.12), (200, 0.08), (500, 0.07), (40, 0.03)]

# What each discipline is in ns-2 (its class, the limit in its unit, and variables) and here.
IN_NS2 = {
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

# What each is in ns-3 (its class and attributes) and here. A packet takes up to 12 ms on this line, so times are longer
# than on the links that the RFCs assume. ns-3 lets CoDel drop when the backlog is no less than MinBytes, RFC 8289 when it is
# more than the largest packet: hence the byte less.
IN_NS3 = {
    "codel": ("CoDelQueueDisc", {"MaxSize": "1000p", "MinBytes": 1500, "Interval": "300ms", "Target": "30ms"},
              '{ discipline = "codel", capacity = "1000 pkt", max-packet = "1499 B", interval = "300 ms", '
              'target = "30 ms" }'),
    "fq-codel": ("FqCoDelQueueDisc", {"MaxSize": "1000p", "Flows": 1024, "DropBatchSize": 64, "Interval": "300ms",
                                      "Target": "30ms"},
                 '{ discipline = "fq-codel", capacity = "1000 pkt", flows = 1024, quantum = "1500 B", '
                 'max-packet = "1499 B", interval = "300 ms", target = "30 ms" }'),
    "pie": ("PieQueueDisc", {"MaxSize": "1000p", "MeanPktSize": 1000, "A": 0.125, "B": 1.25, "Tupdate": "15ms",
                             "Supdate": "0s", "QueueDelayReference": "60ms", "MaxBurstAllowance": "150ms"},
            '{ discipline = "pie", capacity = "1000 pkt", mean-packet = "1000 B", target = "60 ms", update = "15 ms", '
            'max-burst = "150 ms" }'),
}
DISCIPLINES = [*IN_NS2, *IN_NS3]


def random_arrivals(seed):
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
    kind, limit, variables, _ = IN_NS2[discipline]
    source, trace = folder / "arrivals", folder / "trace"
    source.write_text("".join(f"{at:.9f} {flow} {size}\n" for at, flow, size in packets))
    command = ["ns", str(HERE / "queues.tcl"), f"arrivals={source}", f"trace={trace}", f"queue={kind}", f"limit={limit}",
               f"flows={len(FLOWS)}", f"seed={seed}"]
    subprocess.run(command + [f"{name}={value}" for name, value in variables.items()], check=True)
    arrived_at, waits = {}, [[] for _ in FLOWS]
    for line in trace.read_text().splitlines():
        words = line.split()
        event, at, flow, packet = words[0], float(words[1]), int(words[7]), words[11]
        if event == "+":
            arrived_at[packet] = at
        elif event == "-":
            waits[flow].append(at - arrived_at.pop(packet))
    return summarise_waits(waits)


def run_ns3(packets, discipline, folder, seed):
    kind, attributes, _ = IN_NS3[discipline]
    source, program = folder / "arrivals", folder / "queues"
    source.write_text("".join(f"{at:.9f} {flow} {size}\n" for at, flow, size in packets))
    libraries = [f"-lns3-{name}" for name in ("traffic-control", "network", "core")]
    subprocess.run(["g++", "-O2", "-std=c++17", HERE / "queues.cc", "-o", program, *libraries], check=True)
    command = [program, source, f"ns3::{kind}", f"{RATE:.0f}bps", str(seed)]
    command += [f"{name}={value}" for name, value in attributes.items()]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    waits = [[] for _ in FLOWS]
    for line in answer.splitlines():
        flow, wait = line.split()
        waits[int(flow)].append(float(wait))
    return summarise_waits(waits)


def summarise_waits(waits):
    return [(len(of), sum(of) / len(of) if of else 0.0) for of in waits]


def run_thalweg(path, packets, discipline, folder, seed):
    queue = (IN_NS2 | IN_NS3)[discipline][-1]
    text = [f'duration = "{SECONDS + 60} s"\nseed = {seed}\n[measure]\ninterval = "off"\n[[link]]\nbetween = ["a", "b"]\n'
            f'rate = "1 Mbit/s"\ndelay = "0 s"\nqueue = {queue}\n'
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
    packets = random_arrivals(options.seed)
    for discipline in options.disciplines or DISCIPLINES:
        if discipline not in DISCIPLINES:
            sys.exit(f"there is no {discipline} here; there are {', '.join(DISCIPLINES)}")
        with tempfile.TemporaryDirectory() as folder:
            peer, run = ("ns-2", run_ns2) if discipline in IN_NS2 else ("ns-3", run_ns3)
            theirs = run(packets, discipline, Path(folder), options.seed)
            ours = run_thalweg(options.thalweg, packets, discipline, Path(folder), options.seed)
        print(f"\n{discipline}: packets that left and their mean wait, {peer} and Thalweg")
        for flow, ((size, share), (left, wait), (our_left, our_wait)) in enumerate(zip(FLOWS, theirs, ours)):
            print(f"  flow {flow}, {size:4} B, {share:4.0%}: {left:6} {our_left:6}   {wait * 1e3:8.2f} ms "
                  f"{our_wait * 1e3:8.2f} ms")


if __name__ == "__main__":
    run_script(main)
