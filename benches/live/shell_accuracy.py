#!/usr/bin/env python3
"""Measures the accuracy of rates and times in `thalweg shell`, alone and compared with mahimahi.

    shell_accuracy.py goals                       one link of 100 Mbit/s, 1 and 3 Gbit/s, and 32 of 30 Mbit/s at once, on two cores
    shell_accuracy.py goals --only 3G --time 20 --repeat 3
    shell_accuracy.py queues                      two flows by queue discipline: of one kernel control (`--control`) live, of cubic simulated
    shell_accuracy.py hour                        memory each minute, while connections of TCP and UDP are opened and closed all the time
    shell_accuracy.py beside                      the same line by `thalweg shell` and by mahimahi's mm-delay and mm-link

Rates are what receiving programs got of the kernel's TCP in the last part of a run, when the line is full, with headers counted: 1448
of 1500 B are data. `goals` takes them from `--traffic`, with `--first` before all else that the machine does. Lateness is what the
emulator itself counts (the certificate); where both emulators are compared it is how much later than the path says single datagrams
arrive on an idle line.

`shell_accuracy.py receive`, `send`, `stamps`, `probe`, `answer` and `ask` are the programs that run at the ends. Root is needed for
`--first` and, as mm-delay and mm-link change the host's network, best a network of their own:

    sysctl net.core.devconf_inherit_init_net=3
    unshare --net sh -c "ip link set lo up; sysctl net.ipv4.ip_forward=1; benches/live/shell_accuracy.py beside"

Only the standard library is used.
"""

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import namespace_testbed as testbed

PORT = 5001
# Payload of a packet of 1500 B, beside the headers of IPv4 and of TCP with timestamps.
PAYLOAD_SHARE = 1448 / 1500
# Seconds until slow start and its loss recovery are over.
WARMUP_S = 3

GOALS = {"100M": ("100 Mbit/s", 1), "1G": ("1 Gbit/s", 1), "3G": ("3 Gbit/s", 1), "32x30M": ("30 Mbit/s", 32)}
BITS = {"Mbit/s": 1e6, "Gbit/s": 1e9}


def bits_per_second(rate):
    number, unit = rate.split()
    return float(number) * BITS[unit]


def scenario_text(rate, links, seconds, delay="1 ms", queue_in_bdp=2):
    """Links beside each other, each with hosts of its own and a queue in multiples of the bandwidth-delay product."""
    queue = round(queue_in_bdp * bits_per_second(rate) / 8 * 2e-3 * float(delay.split()[0]))
    lines = [f'title = "Links of {rate}"', f'duration = "{seconds} s"']
    for number in range(1, links + 1):
        ends = f'"c{number}", "s{number}"'
        lines += ["[[link]]", f'name = "line{number}"', f"between = [{ends}]", f'rate = "{rate}"', f'delay = "{delay}"',
                  f'queue = "{max(queue, 30000)} B"', "[[flow]]", f'from = "c{number}"', f'to = "s{number}"', 'scheme = "cubic"',
                  'workload = "bulk"']
    return "\n".join(lines) + "\n"


def steady_rate(times, delivered):
    """Bits a second on the line after everything has settled."""
    kept = [(at, count) for at, count in zip(times, delivered) if at >= WARMUP_S]
    (began, first), (ended, last) = kept[0], kept[-1]
    return 8 * (last - first) / (ended - began) / PAYLOAD_SHARE


def run_one_goal(options, name):
    rate, links = GOALS[name]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "links.toml"
        file.write_text(scenario_text(rate, links, options.time))
        testbed.emulate_path([options.thalweg, "shell", file, "--quiet", "--traffic", f"kernel:{options.control}", "--out", f"{scratch}/out"],
                     options.first)
        traffic = json.loads(Path(f"{scratch}/out/traffic.json").read_text())
        fidelity = json.loads(Path(f"{scratch}/out/fidelity.json").read_text())
    rates = [steady_rate(flow["series"]["time_s"], flow["series"]["delivered_bytes"]) for flow in traffic["flows"]]
    errors = [100 * (found / bits_per_second(rate) - 1) for found in rates]
    return {"name": name, "errors": errors, "worst": max(errors, key=abs), "load": os.getloadavg()[0], **fidelity}


def run_goals(options):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.cores])
    print(f"{options.cores} cores, {options.time} s a run, the last {options.time - WARMUP_S} s of which count; kernel:{options.control}\n")
    print("| links | rate error, % | late: median | 99 % | most | processor | certificate | load |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |")
    for name in options.only:
        for _ in range(options.repeat):
            found = run_one_goal(options, name)
            late = [f"{1e6 * found['late'][which]:.0f} us" for which in ("p50_s", "p99_s", "max_s")]
            share = f"{100 * found['processor_s'] / found['elapsed_s']:.0f} %"
            valid = "valid" if found["valid"] else "; ".join(found["why_not"])
            print(f"| {name} | {found['worst']:+.2f} | {' | '.join(late)} | {share} | {valid} | {found['load']:.1f} |", flush=True)


# Disciplines on real packets.

DISCIPLINES = ["fcfs", "random-drop", "fq", "sfq", "drr", "red", "codel", "fq-codel", "pie", "dualpi2"]


def run_queues(options):
    """Two flows of the kernel's `--control` on 20 Mbit/s, 20 ms there and back, and two simulated ones of cubic with Linux's values."""
    print(f"{options.time} s a run\n")
    print("| discipline | live: Mbit/s | Jain | mean queue, ms | drops | simulated: Mbit/s | Jain | mean queue, ms | drops | certificate |")
    print("| --- |" + 8 * " ---: |" + " --- |")
    text = "\n".join(['title = "Two flows on a line"', f'duration = "{options.time} s"', "[[link]]", 'name = "line"',
                      'between = ["client", "server"]', 'rate = "20 Mbit/s"', 'delay = "10 ms"', 'queue = "100 kB"', "[[flow]]", "count = 2",
                      'from = "client"', 'to = "server"', 'scheme = { base = "cubic", preset = "linux" }', 'workload = "bulk"', ""])
    for name in options.disciplines:
        change = ["--set", f"link.line.queue={{ discipline = '{name}', capacity = '100 kB' }}"]
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "two.toml"
            file.write_text(text)
            testbed.emulate_path([options.thalweg, "shell", file, "--quiet", "--traffic", f"kernel:{options.control}", "--out", f"{scratch}/out", *change],
                         options.first)
            simulated = subprocess.run([options.thalweg, "run", file, "--json", "--quiet", *change], check=True, capture_output=True, text=True)
            of_live, of_simulation = [document["runs"][0] for document in (
                json.loads(Path(f"{scratch}/out/results.json").read_text()), json.loads(simulated.stdout))]
            traffic = json.loads(Path(f"{scratch}/out/traffic.json").read_text())
            valid = json.loads(Path(f"{scratch}/out/fidelity.json").read_text())["valid"]
        columns = rate_columns(of_live, [flow["goodput_bps"] for flow in traffic["flows"]])
        columns += rate_columns(of_simulation, [flow["goodput_bps"] for flow in of_simulation["flows"]])
        print(f"| `{name}` | {' | '.join(columns)} | {'valid' if valid else 'not valid'} |", flush=True)


def rate_columns(run, rates):
    """Columns of a table: sum of the rates in Mbit/s, Jain's index, mean queueing delay in ms, drops."""
    line = run["links"][0]
    jain = sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))
    queue = line["queue_mean_bytes"] * 8 / 20e6 * 1e3
    return [f"{sum(rates) / 1e6:.2f}", f"{jain:.2f}", f"{queue:.1f}", f"{line['drops']}"]


# What runs at the ends.

def receive_stream(_):
    """Takes one stream; says how fast it came once everything had settled, and the processor time that this took."""
    server = socket.create_server(("", PORT))
    stream = server.accept()[0]
    buffer, total, began, times, counts = bytearray(1 << 20), 0, time.monotonic(), [], []
    while count := stream.recv_into(buffer):
        total += count
        now = time.monotonic() - began
        if not times or now - times[-1] >= 0.01:
            times.append(now)
            counts.append(total)
    print(json.dumps({"rate": steady_rate(times, counts), "cpu_s": cpu_seconds()}), flush=True)


def send_stream(options):
    stream = socket.create_connection((options.host, PORT))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.control.encode())
    piece, ends = bytes(1 << 18), time.monotonic() + options.time
    while time.monotonic() < ends:
        stream.sendall(piece)
    stream.close()
    print(json.dumps({"cpu_s": cpu_seconds()}), flush=True)


def receive_stamps(_):
    """Receives datagrams with their departure times, until one with the end mark."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("", PORT))
        took = []
        while len(message := server.recv(2048)) > 1:
            took.append(time.monotonic_ns() - struct.unpack_from("<Q", message)[0])
    print(json.dumps({"took_ns": took}), flush=True)


def send_probes(options):
    """Datagrams of 100 B, each at a time of its own within 5 ms."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect((options.host, PORT))
        ends, number = time.monotonic() + options.time, 0
        while time.monotonic() < ends:
            time.sleep(0.002 + 0.003 * (number * 0.618 % 1))
            client.send(struct.pack("<Q64x", time.monotonic_ns()))
            number += 1
        time.sleep(0.5)
        client.send(b"e")


def answer_probes(_):
    """Answers each connection of TCP with as many bytes as it asks for, and each datagram with itself."""
    def echo():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("", PORT))
            while True:
                server.sendto(*server.recvfrom(2048))

    threading.Thread(target=echo, daemon=True).start()
    server = socket.create_server(("", PORT), backlog=128)
    while True:
        stream = server.accept()[0]
        with stream:
            stream.sendall(bytes(int(stream.recv(16))))


def request_answers(options):
    """Ten times a second a connection of TCP for 1 to 40 kB, and five datagrams from a separate port; reports the outcome."""
    began, number, connections, failed, answers = time.monotonic(), 0, 0, 0, 0
    while (now := time.monotonic() - began) < options.time:
        time.sleep(max(0, number / 10 - now))
        number += 1
        try:
            with socket.create_connection((options.host, PORT), timeout=10) as stream:
                wanted = 1000 + 39_000 * number * 618 // 1000 % 39_000
                stream.sendall(b"%d" % wanted)
                while piece := stream.recv(1 << 16):
                    wanted -= len(piece)
            connections += wanted == 0
            failed += wanted != 0
        except OSError:
            failed += 1
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.settimeout(1)
            asker.connect((options.host, PORT))
            for _ in range(5):
                asker.send(bytes(1000))
            with contextlib.suppress(OSError):
                for _ in range(5):
                    answers += len(asker.recv(2048)) == 1000
    print(json.dumps({"connections": connections, "failed": failed, "sent": 5 * number, "answers": answers}), flush=True)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# Memory over a long time.

SOAK_SCENARIO = """
title = "Two hosts behind a router, for a long time"

[[link]]
name = "access"
between = ["client", "router"]
rate = "20 Mbit/s"
delay = "2 ms"
queue = "60 kB"

[[link]]
name = "line"
between = ["router", "server"]
rate = "4 Mbit/s"
delay = "10 ms"
queue = { discipline = "fq-codel", capacity = "60 kB" }
loss = 0.005

[[flow]]
from = "client"
to = "server"
"""


def memory_of(process):
    """Of the emulator's processes (the one outside and the one within): resident kB that are their own, and open files."""
    kept, files = [], 0
    for number, words in sorted(testbed.descendants_of(process).items()):
        if b"shell" in words[:2]:
            with contextlib.suppress(OSError):
                status = dict(line.split(":", 1) for line in Path(f"/proc/{number}/status").read_text().splitlines())
                kept.append(int(status["RssAnon"].split()[0]))
                files += len(list(Path(f"/proc/{number}/fd").iterdir()))
    return kept, files


def run_one_hour(options):
    """A line for each minute, as it comes, and what came of all connections at the end."""
    with tempfile.TemporaryDirectory() as scratch:
        file, replies = Path(scratch) / "hour.toml", Path(scratch) / "replies.json"
        file.write_text(SOAK_SCENARIO)
        words = [options.thalweg, "shell", file, "--quiet", "--out", f"{scratch}/out", "--run", f"server={own_command()} answer", "--", "sh", "-c",
                 f"{own_command()} ask --time {options.time} --host server > {replies}"]
        print("| minute | outside, kB | within, kB | files | load |\n| ---: | ---: | ---: | ---: | ---: |", flush=True)
        running, began, minute = subprocess.Popen([*map(str, words)]), time.monotonic(), 0
        while running.poll() is None:
            if time.monotonic() - began >= 60 * minute + 5:
                kept, files = memory_of(running.pid)
                print(f"| {minute} | {' | '.join(map(str, kept))} | {files} | {os.getloadavg()[0]:.1f} |", flush=True)
                minute += 1
            time.sleep(0.5)
        print(f"\nexit code {running.returncode}; {replies.read_text().strip()}")
        print(json.dumps(json.loads(Path(f"{scratch}/out/fidelity.json").read_text())))


# Beside mahimahi.

# Rates of the line in packets of 1500 B per millisecond: mahimahi's traces list whole packets in each millisecond.
PACKETS_PER_MS = {"12 Mbit/s": 1, "96 Mbit/s": 8, "996 Mbit/s": 83}
ONE_WAY_MS = 10


def child_cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def by_thalweg(options, rate, queue, server, client):
    """The output of both programs."""
    with tempfile.TemporaryDirectory() as scratch:
        file, replies = Path(scratch) / "line.toml", Path(scratch) / "replies.json"
        file.write_text(re.sub('queue = ".*"', f'queue = "{queue} pkt"', scenario_text(rate, 1, options.time, f"{ONE_WAY_MS} ms")))
        words = [options.thalweg, "shell", file, "--quiet", "--run", f"s1={own_command()} {server} > {replies}", "--", "sh", "-c",
                 f"{own_command()} {client} s1; sleep 0.5"]
        printed = testbed.emulate_path(words, options.first)
        return replies.read_text(), printed


def by_mahimahi(options, rate, queue, server, client):
    """mm-link sends up from within its shell: the server stays outside, at the address that its shell has for the outside. Users may
    have Reno on any host, so that both have it."""
    trace = Path(tempfile.gettempdir()) / f"mahimahi-{PACKETS_PER_MS[rate]}.trace"
    trace.write_text("1\n" * PACKETS_PER_MS[rate])
    first = testbed.REALTIME_LOW if options.first else []
    listening = subprocess.Popen([*first, "sh", "-c", f"{own_command()} {server}"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    inner = ["mm-link", trace, trace, "--uplink-queue=droptail", f"--uplink-queue-args=packets={queue}", "--", "sh", "-c",
             f"{own_command()} {client} $MAHIMAHI_BASE; sleep 0.5"]
    # As a user: it refuses to be started by root.
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*first, *user, "mm-delay", str(ONE_WAY_MS), *inner], check=True, capture_output=True, text=True)
    trace.unlink()
    return listening.communicate()[0], done.stdout


def own_command():
    return f"{sys.executable} {Path(__file__).resolve()}"


def run_beside(options):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.cores])
    emulators = {"thalweg shell": by_thalweg}
    if shutil.which("mm-link"):
        emulators["mahimahi"] = by_mahimahi
    else:
        print("mahimahi is missing (mm-link): it has no package in Debian 12; README.md says how it is built\n")
    print(f"{options.cores} cores, {ONE_WAY_MS} ms one way, {options.time} s\n")
    print("| line | emulator | rate error, % | processor | idle: late, median | 99 % | most |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for rate in PACKETS_PER_MS:
        queue = max(20, round(2 * bits_per_second(rate) * 2e-3 * ONE_WAY_MS / 12000))
        for name, run in emulators.items():
            before = child_cpu_seconds()
            outer, inner = run(options, rate, queue, "receive", f"send --time {options.time} --control reno --host")
            received, sent = json.loads(outer), json.loads(inner.strip().splitlines()[-1])
            used = child_cpu_seconds() - before - received["cpu_s"] - sent["cpu_s"]
            error = 100 * (received["rate"] / bits_per_second(rate) - 1)
            stamps_text, _ = run(options, rate, queue, "stamps", f"probe --time {options.time} --host")
            # 28 B of headers and 72 of data.
            nominal = ONE_WAY_MS * 1e6 + 100 * 8 / bits_per_second(rate) * 1e9
            late = sorted((took - nominal) / 1e3 for took in json.loads(stamps_text)["took_ns"])
            columns = [statistics.median(late), late[int(0.99 * len(late))], late[-1]]
            print(f"| {rate} | {name} | {error:+.2f} | {100 * used / options.time:.0f} % | {' | '.join(f'{each:.0f} us' for each in columns)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    do = {"goals": run_goals, "queues": run_queues, "beside": run_beside, "hour": run_one_hour, "answer": answer_probes, "ask": request_answers, "receive": receive_stream, "send": send_stream, "stamps": receive_stamps, "probe": send_probes}
    parser.add_argument("what", choices=do)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(GOALS), help=", ".join(GOALS))
    parser.add_argument("--disciplines", type=lambda text: text.split(","), default=DISCIPLINES, help=", ".join(DISCIPLINES))
    parser.add_argument("--time", type=int, help="seconds of a run; 12, or 3600 of `hour`")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--first", action="store_true", help="before all else that the machine does, where others work on it; needs root")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--control", default="cubic", help="the kernel's congestion control")
    parser.add_argument("--host", help="of send, probe and ask")
    parser.add_argument("--thalweg", default=testbed.THALWEG)
    options = parser.parse_args()
    options.time = options.time or (3600 if options.what == "hour" else 12)
    if unknown := [name for name in options.only if name not in GOALS]:
        parser.error(f"nothing is called {unknown[0]}; there are {', '.join(GOALS)}")
    if options.time <= WARMUP_S + 1:
        parser.error(f"a run takes more than {WARMUP_S + 1} s")
    do[options.what](options)


if __name__ == "__main__":
    testbed.run_script(main)
