#!/usr/bin/env python3
"""Very many connections to one server over loopback: memory and CPU time of idle ones, CPU time and fairness of active ones.

    cargo build --release -p thalweg-net --example many_connections
    benches/many_connections.py                                 # 100,000 idle connections, then 10,000 that send 8 KiB a second
    benches/many_connections.py --idle 0 --period 0             # 10,000 that send as much as they may
    benches/many_connections.py --idle 0 --period 0 --buffer 64 # the same, with room in the server's sockets for some packets of each
    benches/many_connections.py --idle 20000 --active 2000 --threads 2

Both ends are on this machine, each a process; a connection takes no descriptor; their limit does not matter. Idle connections
are asked every ten seconds whether they are there, by either end."""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from keyboard_interrupt import run_script

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "target/release/examples/many_connections"


class Process:
    def __init__(self, *arguments):
        command = [str(argument) for argument in (PROGRAM, *arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.read()

    def read(self):
        line = self.process.stdout.readline().strip()
        if not line:
            sys.exit("the program has ended")
        return line

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.read()

    def resident(self):
        """Bytes in memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024

    def cpu(self):
        """Seconds of processor time."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wakes(self):
        """Times that a thread went to sleep by itself."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/status")
        return sum(int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", task.read_text())[1]) for task in tasks)

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def watch_server(server, seconds):
    """The server's CPU seconds and wake-ups a second over a while."""
    cpu, wakes, begun = server.cpu(), server.wakes(), time.monotonic()
    time.sleep(seconds)
    span = time.monotonic() - begun
    return (server.cpu() - cpu) / span, (server.wakes() - wakes) / span


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--idle", type=int, default=100_000)
    parser.add_argument("--active", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=1, help="of the server")
    parser.add_argument("--buffer", type=int, default=4, help="of each of its sockets, in MiB: more than the system allows is for root alone")
    parser.add_argument("--no-offload", dest="offload", action="store_const", const="none", default="auto")
    parser.add_argument("--sockets", type=int, default=8, help="of each client")
    parser.add_argument("--scheme", default="cubic")
    parser.add_argument("--period", type=int, default=1000, help="milliseconds in which an active one sends 8 KiB; 0: as much as it may")
    parser.add_argument("--seconds", type=float, default=20, help="how long each state is watched")
    given = parser.parse_args()
    if not PROGRAM.exists():
        sys.exit(f"{PROGRAM} is missing: cargo build --release -p thalweg-net --example many_connections")

    if given.idle:
        measure_idle(given)
    if given.active:
        measure_active(given)


def measure_idle(given):
    server = Process("server", given.offload, given.threads, given.buffer << 20)
    empty, before, begun = server.resident(), server.cpu(), time.monotonic()
    client = Process("client", given.offload, server.first, given.sockets, given.idle, 0, given.scheme, 0)
    took, cost = time.monotonic() - begun, server.cpu() - before
    time.sleep(12)
    each = (server.resident() - empty) / given.idle
    cpu, wakes = watch_server(server, given.seconds)
    stats = json.loads(server.ask())
    print(f"{stats['connections']} idle connections, {given.threads} threads, opened in {took:.0f} s:")
    print(f"  server: {each / 1000:.2f} kB and {cost / given.idle * 1e6:.0f} us of CPU time to open each")
    print(f"  then {100 * cpu:.1f} % of a core, {cpu / given.idle * 1e6:.1f} us a second each, {wakes:.0f} wake-ups a second")
    client.end()
    server.end()


def measure_active(given):
    server = Process("server", given.offload, given.threads, given.buffer << 20)
    client = Process("client", given.offload, server.first, given.sockets, 0, given.active, given.scheme, given.period)
    client.ask()
    begun = time.monotonic()
    while json.loads(server.ask())["active"] < given.active and time.monotonic() - begun < 60:
        time.sleep(1)
    began = time.monotonic() - begun
    time.sleep(5)
    server.ask()
    begun = time.monotonic()
    cpu, wakes = watch_server(server, given.seconds)
    stats = json.loads(server.ask())
    span = time.monotonic() - begun
    rate = stats["bytes"] / span
    print(f"{stats['active']} active connections, {given.threads} threads, of {given.active}, of which the last had begun after {began:.0f} s:")
    print(f"  {rate * 8e-9:.2f} Gbit/s, server: {100 * cpu:.0f} % of a core, {cpu / rate * 1e9:.2f} CPU s/GB, {server.resident() / 1e6:.0f} MB, {wakes:.0f} wake-ups a second")
    print(
        f"  bytes of a connection in {span:.0f} s: min {stats['min']}, p5 {stats['p5']}, median {stats['median']}, "
        f"max {stats['max']}; Jain's index {stats['jain']:.3f}"
    )
    print(f"  datagrams of each thread: {stats['datagrams_of_threads']}, forwarded: {stats['forwarded']}")
    client.end()
    server.end()


if __name__ == "__main__":
    run_script(main)
