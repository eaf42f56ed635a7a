#!/usr/bin/env python3
"""Measures how much faster one simulation is on several threads, and prints a table.

    parallel_speedup.py                      1, 2, 4, ... threads up to the processors there are, three times each
    parallel_speedup.py lot dumbbell         some rows
    parallel_speedup.py --threads 1,2,3      these numbers of threads
    parallel_speedup.py --repeat 5           more repetitions
    parallel_speedup.py --thalweg PATH       another executable than target/release/thalweg
    parallel_speedup.py --same               no speed: every scenario of the repository on 1, 2, 3 and 16 threads, compared to the byte
    parallel_speedup.py --same FILE ...      these scenarios
    parallel_speedup.py --same --records ... the same of runs that record packets: verified, with a capture and a log, which are compared too

A row shows the minimum wall time of a number of threads, the speed-up over one thread, the CPU time, and hops a second of wall
time; beside them what `thalweg validate` expects on 4 and 16 threads. "Apart" is what this machine has to give: how many times the work
of one run as many runs at once do, on one thread each, that know nothing of each other. Processors that share caches, memory or the
halves of a core have less than their number. The results of all numbers of threads are compared: one byte of difference ends the
measurement. Processors must have nothing else to do, or threads wait for those that are away.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from keyboard_interrupt import run_script

ROOT = Path(__file__).resolve().parent.parent

LOT = """
title = "Parking lot: long flows over eight links, and others over each"
duration = "5 s"
warmup = "0 s"
[defaults.link]
rate = "1 Gbit/s"
delay = "5 ms"
queue = "2000 pkt"
[defaults.flow]
scheme = "newreno"
spread = "100 ms"
access = {{ rate = "1 Gbit/s", delay = "1 ms" }}
{links}
[[flow]]
name = "long"
count = 20
from = "n0"
to = "n8"
{flows}
"""


def parking_lot():
    links = "".join(f'[[link]]\nbetween = ["n{i}", "n{i + 1}"]\n' for i in range(8))
    flows = "".join(f'[[flow]]\nname = "f{i}"\ncount = 20\nfrom = "n{i}"\nto = "n{i + 1}"\n' for i in range(8))
    return LOT.format(links=links, flows=flows)


TREE = """
title = "Fat tree of switches with {k} ports: each host sends to one other"
duration = "{duration}"
warmup = "0 s"
network = "fat-tree k={k} rate=10 Gbit/s delay=1 us"
[routing]
paths = "ecmp"
[defaults.link]
queue = {{ discipline = "step", threshold = "65 pkt", capacity = "300 pkt" }}
[defaults.scheme]
rto = {{ initial = "10 ms", floor = "10 ms", margin = "0 s" }}
[measure]
interval = "off"
[[flow]]
name = "all"
from = "h*"
to = "h*"
pattern = "permutation"
scheme = "dctcp"
overhead = "1 us"
"""


def read_rows(folder):
    file = Path(folder) / "lot.toml"
    file.write_text(parking_lot())

    def tree(k, duration):
        file = Path(folder) / f"fat-tree-{k}.toml"
        file.write_text(TREE.format(k=k, duration=duration))
        return [str(file)]

    def many(count, rate, duration):
        return ["ten-thousand-flows", "--set", f"flow.flows.count={count}", "--set", f"link.bottleneck.rate={rate}",
                "--set", f"duration={duration}"]
    return {
        "lot": [str(file)],
        "fat-tree-4": tree(4, "50 ms"),
        "fat-tree-8": tree(8, "40 ms"),
        "fat-tree-16": tree(16, "10 ms"),
        "dumbbell-1000": many(1000, "1 Gbit/s", "10 s"),
        "dumbbell-10000": many(10_000, "10 Gbit/s", "3 s"),
        "dumbbell-100000": many(100_000, "100 Gbit/s", "1 s"),
    }


def record_run(command):
    """What a run tells that records packets, and its records."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("run.pcap", "run.qlog")]
        options = ["--verify", f"--pcap={files[0]}", "--pcap-at", "sink", f"--qlog={files[1]}"]
        done = subprocess.run(command + options, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        whole = done.returncode == 0 and all(file.exists() for file in files)
        return done.stdout, *[file.read_bytes() for file in files if whole]


def check_same_results(thalweg, scenarios, threads, records):
    """Whether all results are equal. A scenario whose network cannot be partitioned runs on one thread."""
    files = [Path(name) for name in scenarios] or sorted((ROOT / "scenarios").rglob("*.toml"))
    if missing := [str(file) for file in files if not file.is_file()]:
        sys.exit(f"there is no file {', '.join(missing)}: expected scenario files, as in scenarios/")
    print("| scenario | hops | on 16 threads, as `validate` expects | equal |\n| --- | ---: | --- | --- |")
    different = 0
    for file in files:
        validated = subprocess.run([thalweg, "validate", str(file)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if validated.returncode != 0 and not scenarios:
            continue  # Sweeps and plans stand among the scenarios.
        documents = []
        for number in threads:
            command = [thalweg, "run", str(file), "--quiet", "--json", "--threads", str(number)]
            documents.append(record_run(command) if records else
                             (subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout,))
        equal = len(set(documents)) == 1 and documents[0][0] != b"" and len(documents[0]) == (3 if records else 1)
        different += not equal
        hops = json.loads(documents[0][0])["runs"][0]["hops"] if documents[0][0] else 0
        gain = re.search(r"([0-9.]+) times as fast on 16", " ".join(validated.stdout.split()))
        name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
        print(f"| {name} | {hops} | {gain[1] + ' times' if gain else 'one'} | {'yes' if equal else 'NO'} |", flush=True)
    if different:
        sys.exit(f"{different} scenarios differ")


def measure_command(command):
    before, began = os.times(), time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    wall, after = time.monotonic() - began, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return wall, cpu, done.stdout


def run_beside(command, number):
    """The wall time of this number of concurrent runs, each on one thread."""
    began = time.monotonic()
    for running in [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(number)]:
        if running.wait() != 0:
            sys.exit(f"{' '.join(command)} ended with {running.returncode}")
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--same", action="store_true")
    parser.add_argument("--records", action="store_true")
    parser.add_argument("--threads")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--thalweg", default=str(ROOT / "target/release/thalweg"))
    arguments = parser.parse_args()
    if arguments.same:
        numbers = arguments.threads.split(",") if arguments.threads else [1, 2, 3, 16]
        return check_same_results(arguments.thalweg, arguments.rows, numbers, arguments.records)
    processors = len(os.sched_getaffinity(0))
    powers = [1 << i for i in range(10) if 1 << i <= processors]
    threads = [int(number) for number in arguments.threads.split(",")] if arguments.threads else powers
    with tempfile.TemporaryDirectory() as folder:
        known = read_rows(folder)
        unknown = [name for name in arguments.rows if name not in known]
        if unknown:
            sys.exit(f"no row is called {unknown[0]}: there are {', '.join(known)}")
        for name in arguments.rows or known:
            validated = subprocess.run([arguments.thalweg, "validate"] + known[name], stdout=subprocess.PIPE, text=True, check=True)
            expected = re.search(r"^Threads[^:]*: (.*(?:\n  .*)*)", validated.stdout, re.M)
            print(f"{name}: validate says \"{' '.join(expected[1].split()) if expected else 'nothing'}\"")
            print("| threads | wall s | speed-up | apart | CPU s | M hops/s |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
            document, single = None, None
            for number in threads:
                command = [arguments.thalweg, "run"] + known[name] + ["--quiet", "--threads"]
                runs = [measure_command(command + [str(number)]) for _ in range(arguments.repeat)]
                # Not timed: a document of a hundred thousand flows takes two seconds to be written.
                *_, text = measure_command(command + [str(number), "--json"])
                beside = min(run_beside(command + ["1"], number) for _ in range(arguments.repeat))
                document = document or text
                if text != document:
                    sys.exit(f"{name}: {number} threads give other results")
                wall, cpu, _ = min(runs)
                single = single or wall
                hops = json.loads(document)["runs"][0]["hops"]
                columns = [f"{wall:.2f}", f"{single / wall:.2f}", f"{number * single / beside:.2f}", f"{cpu:.2f}", f"{hops / wall / 1e6:.1f}"]
                print(f"| {number} | {' | '.join(columns)} |", flush=True)


if __name__ == "__main__":
    run_script(main)
