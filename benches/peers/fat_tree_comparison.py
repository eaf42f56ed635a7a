#!/usr/bin/env python3
"""Runs the same fat tree on htsim, ns-3 and Thalweg and prints a table.

    fat_tree_comparison.py --thalweg PATH --htsim PATH         k = 4, 8 and 16, each peer that is there
    fat_tree_comparison.py 8 --repeat 5 ...                    one size, least CPU time of five runs
    fat_tree_comparison.py --cc newreno ...                    drop-tail queues and NewReno in place of DCTCP
    fat_tree_comparison.py --threads 1,2,4 ...                 Thalweg on several threads too

Each host sends to one other, as much as it may, from time 0 on: lines of 10 Gbit/s and 1 us, packets of 1500 bytes, queues of 300
packets, marks above 65, a hash for each flow and direction that takes one of the shortest ways. install-htsim.sh builds htsim; ns-3
is that of install.sh. Runs take turns, so that a slow minute of the machine falls on all alike; one runs at a time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from simulator_comparison import last_json, run_process, run_script

HERE = Path(__file__).resolve().parent
NS3_LIBS = ["applications", "traffic-control", "point-to-point", "internet", "network", "core"]

# By the ports of a switch: the simulated time, and that of ns-3, which would take minutes for it.
SIZES = {4: (0.1, 0.02), 8: (0.04, 0.004), 16: (0.01, None)}

SCENARIO = """
duration = "{duration} s"
warmup = "0 s"
network = "fat-tree k={k} rate=10 Gbit/s delay=1 us"
[routing]
paths = "ecmp"
[defaults.link]
queue = {queue}
[defaults.scheme]
rto = {{ initial = "10 ms", floor = "10 ms", margin = "0 s" }}
delayed-ack = false
[measure]
interval = "off"
[[flow]]
name = "all"
from = "h*"
to = "h*"
pattern = "permutation"
scheme = "{scheme}"
overhead = "1 us"
"""


def run_thalweg(path, k, duration, cc, folder, threads):
    queue = '{ discipline = "step", threshold = "65 pkt", capacity = "300 pkt" }' if cc == "dctcp" else '"300 pkt"'
    file = Path(folder) / f"fabric-{k}.toml"
    file.write_text(SCENARIO.format(k=k, duration=duration, queue=queue, scheme=cc))
    began = time.monotonic()
    text, usage = run_process([path, "run", str(file), "--json", "--quiet", "--threads", str(threads)])
    wall = time.monotonic() - began
    run = json.loads(text)["runs"][0]
    return usage | {
        "goodput_mbps": run["totals"]["goodput_bps"] / 1e6,
        "jain": run["totals"]["jain"],
        "drops": run["conservation"]["dropped"],
        "packet_hops": run["hops"],
        "events": run["events"],
        "wall_seconds": wall,
    }


def run_htsim(path, k, duration, cc):
    options = {"k": k, "duration": duration, "cc": cc, "payload": 1448, "header": 52}
    if cc != "dctcp":
        options["threshold"] = 1e6
    return measure_command([path, "fabric"] + [word for key, value in options.items() for word in (f"-{key}", str(value))])


def run_ns3(path, k, duration, cc):
    return measure_command([path, f"--k={k}", f"--duration={duration}", f"--cc={cc}"])


def measure_command(command):
    began = time.monotonic()
    result = last_json(*run_process(command))
    return result | {"wall_seconds": time.monotonic() - began}


def build_ns3(folder):
    """Compiles fabric.cc; None where ns-3 is not installed."""
    target = str(Path(folder) / "fabric")
    command = ["g++", "-O2", "-std=c++17", str(HERE / "fabric.cc"), "-o", target] + [f"-lns3-{lib}" for lib in NS3_LIBS]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print("ns-3 left out: fabric.cc does not compile", file=sys.stderr)
        return None
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, metavar="K", help="ports of a switch: " + ", ".join(map(str, SIZES)))
    parser.add_argument("--thalweg", metavar="PATH", help="executable of Thalweg")
    parser.add_argument("--htsim", metavar="PATH", help="what install-htsim.sh built")
    parser.add_argument("--no-ns3", action="store_true", help="leave ns-3 out")
    parser.add_argument("--cc", default="dctcp", choices=["dctcp", "newreno"])
    parser.add_argument("--threads", default="1", help="of Thalweg, comma-separated")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the least CPU time counts")
    parser.add_argument("--json", action="store_true", help="print each result as a line of JSON too")
    args = parser.parse_args()
    for k in args.sizes:
        if k not in SIZES:
            parser.error(f"no fat tree of {k} ports is described here; there are: {', '.join(map(str, SIZES))}")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        peers = {}
        if args.htsim:
            peers["htsim"] = lambda k, times: run_htsim(os.path.abspath(args.htsim), k, times[0], args.cc)
        built = None if args.no_ns3 else build_ns3(folder)
        if built:
            peers["ns-3"] = lambda k, times: times[1] and run_ns3(built, k, times[1], args.cc)
        for threads in args.threads.split(",") if args.thalweg else []:
            name = "thalweg" if threads == "1" else f"thalweg, {threads} threads"
            peers[name] = lambda k, times, threads=threads: run_thalweg(
                os.path.abspath(args.thalweg), k, times[0], args.cc, folder, threads)
        if not peers:
            parser.error("no peer is there: give --thalweg or --htsim, or install ns-3 (install.sh)")
        for _ in range(args.repeat):
            for k in args.sizes or SIZES:
                for peer, run in peers.items():
                    print(f"k={k} on {peer} ...", file=sys.stderr)
                    result = run(k, SIZES[k])
                    known = results.setdefault(k, {})
                    if result and (peer not in known or result["cpu_seconds"] < known[peer]["cpu_seconds"]):
                        known[peer] = result | {"simulated": SIZES[k][1] if peer == "ns-3" else SIZES[k][0]}
    print(f"| k | peer | simulated, ms | Gbit/s | Jain | drops | M hops | events a hop | CPU s | of these set-up | wall s | M hops/s | MB | ratio |")
    print("| ---: | --- | " + "---: | " * 12)
    for k, by_peer in results.items():
        first = None
        for peer, result in by_peer.items():
            if args.json:
                print(json.dumps(result | {"k": k, "peer": peer}), file=sys.stderr)
            # Wall time: with one thread it is the CPU time.
            speed = result["packet_hops"] / result["wall_seconds"] / 1e6
            first = first or speed
            print(
                f"| {k} | {peer} | {1000 * result['simulated']:g} | {result['goodput_mbps'] / 1000:.1f} | {result['jain']:.3f} "
                f"| {result['drops']} | {result['packet_hops'] / 1e6:.1f} | {result['events'] / result['packet_hops']:.2f} "
                f"| {result['cpu_seconds']:.2f} | {result.get('setup_cpu_s', 0):.2f} | {result['wall_seconds']:.2f} | {speed:.2f} "
                f"| {result['max_rss_kb'] / 1024:.0f} | {speed / first:.2f} |"
            )


if __name__ == "__main__":
    run_script(main)
