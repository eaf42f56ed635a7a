#!/usr/bin/env python3
"""One server on several threads: throughput and CPU time by `--threads`, with the clients on other cores.

The server has as many cores as threads and no others; clients share the rest. Each round has all counts in turn, so that what other
work on the machine takes falls on all of them alike; medians are printed, with what the server took of its cores."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from keyboard_interrupt import run_script  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target/release/thalweg"


def run_pinned(cores, *command, **options):
    """Starts a command on these cores alone."""
    return subprocess.Popen(
        [str(part) for part in command],
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
        **options,
    )


def cpu_time(pid):
    """The processor time of a process, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_threads(threads, arguments):
    """One run: bits per second that arrived, the server's CPU s/GB, and the share of its cores that it took."""
    cores = sorted(os.sched_getaffinity(0))
    mine, others = set(cores[:threads]), set(cores[threads:]) if len(cores) > threads else set(cores)
    options = ["--datagram", arguments.datagram] + (["--no-offload"] if arguments.no_offload else [])
    server = run_pinned(
        mine, PROGRAM, "bench", "server", "127.0.0.1:0", "--threads", threads, *options, "--json",
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        line = server.stderr.readline()
        address = line.split("listening on ")[1].split(",")[0]
        before = cpu_time(server.pid)
        clients = []
        for number in range(arguments.clients):
            own = [sorted(others)[number % len(others)]] if arguments.pin else others
            direction = ["--reverse"] if arguments.reverse else []
            clients.append(
                run_pinned(
                    set(own), PROGRAM, "bench", "client", address, "--time", arguments.time, "--parallel",
                    arguments.parallel, *options, *direction, "--json", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            )
        documents = [json.loads(client.communicate()[0]) for client in clients]
        took = cpu_time(server.pid) - before
    finally:
        server.terminate()
        server.wait()
    rate = sum(document["received_bits_per_second"] for document in documents)
    seconds = max(document["client"]["seconds"] for document in documents)
    gigabytes = rate * seconds / 8e9
    return rate, took / gigabytes, took / seconds / threads


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", default="1,2", help="counts of threads; the first is the reference")
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--parallel", type=int, default=4, help="connections of each client")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--time", default="3 s")
    parser.add_argument("--datagram", default="1472 B")
    parser.add_argument("--no-offload", action="store_true")
    parser.add_argument("--reverse", action="store_true", help="the server sends")
    parser.add_argument("--pin", action="store_true", help="each client on one core")
    arguments = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: cargo build --release")
    counts = [int(count) for count in arguments.threads.split(",")]
    rounds = {count: [] for count in counts}
    for _ in range(arguments.rounds):
        for count in counts:
            rounds[count].append(measure_threads(count, arguments))
    print("| threads | Gbit/s | range | times | server's CPU s/GB | of its cores |\n| ---: | ---: | --- | ---: | ---: | ---: |")
    first = None
    for count in counts:
        rates, costs, shares = zip(*rounds[count])
        rate = statistics.median(rates) / 1e9
        first = first or rate
        print(
            f"| {count} | {rate:.1f} | {min(rates) / 1e9:.1f} to {max(rates) / 1e9:.1f} | {rate / first:.2f} "
            f"| {statistics.median(costs):.3f} | {100 * statistics.median(shares):.0f} % |"
        )


if __name__ == "__main__":
    run_script(main)
