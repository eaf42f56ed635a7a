#!/usr/bin/env python3
"""Runs Thalweg and others side by side over loopback and prints goodput, CPU time and ratios.

    loopback_comparison.py                           all conditions, all installed peers, 3 runs of 5 s each
    loopback_comparison.py --quick                   one run of 1 s
    loopback_comparison.py equal no-offload          some conditions
    loopback_comparison.py --peers s2n-quic,quinn    some peers
    loopback_comparison.py --thalweg PATH            an executable that is built already

Only the standard library is used. One transfer runs at a time; each peer's turn comes once a round, so that a slow minute of
the machine falls on all alike.
"""

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from keyboard_interrupt import run_script  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = ROOT / "target"
PORT = 47900

# Datagrams in bytes of UDP payload. None: the peer cannot, or is as in another condition.
CONDITIONS = {
    "equal": "datagrams of 1472 B, all offloads",
    "largest": "the largest datagrams that each peer can use, all offloads",
    "no-offload": "datagrams of 1472 B, sent one by one",
    "files": "a file from and to memory-backed storage",
    "small": "handshakes, and connections that are idle",
}
LARGEST = {"thalweg": 65507, "s2n-quic": 16384, "quinn": 6500, "udp": 65507}


# -------------------------------------------------------------- processes --

class Ended(Exception):
    """A process failed, or took too long."""


class Process:
    """A child whose output goes to files, and whose CPU time is known when it has ended."""

    def __init__(self, command, limit, **options):
        self.command = [str(word) for word in command]
        self.out, self.err = tempfile.TemporaryFile("w+"), tempfile.NamedTemporaryFile("w+")
        self.child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err, **options)
        self.is_over = False
        self.timer = threading.Timer(limit, self.stop, [signal.SIGKILL])
        self.timer.start()

    def await_line(self, pattern):
        """Waits until it has said something on standard error; returns the match."""
        for _ in range(1000):
            match = re.search(pattern, Path(self.err.name).read_text())
            if match:
                return match
            if os.waitid(os.P_PID, self.child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(0.01)
        raise Ended(f"{self.command[0]} said nothing: {Path(self.err.name).read_text()[-300:]}")

    def stop(self, sign=signal.SIGTERM):
        if not self.is_over:
            self.child.send_signal(sign)

    def wait(self, must_succeed=True):
        """Waits for its end; returns what it printed and its CPU seconds."""
        _, status, usage = os.wait4(self.child.pid, 0)
        self.is_over = True
        self.timer.cancel()
        self.child.returncode = os.waitstatus_to_exitcode(status)
        if must_succeed and self.child.returncode != 0:
            raise Ended(f"{' '.join(self.command)}: exit code {self.child.returncode}: "
                        f"{Path(self.err.name).read_text()[-300:]}")
        self.out.seek(0)
        return self.out.read(), usage.ru_utime + usage.ru_stime

    def end(self):
        """Makes sure that nothing is left of it."""
        self.stop(signal.SIGKILL)
        if not self.is_over:
            self.wait(must_succeed=False)


def run_pair(receiver, ready, sender, limit, **options):
    """Runs a receiver and then a sender, to the end of both. Returns their outputs and CPU seconds."""
    started = []
    try:
        started.append(Process(receiver, limit, **options))
        match = started[0].await_line(ready) if ready else time.sleep(0.3)
        command = sender(match) if callable(sender) else sender
        started.append(Process(command, limit, **options))
        sent, sent_cpu = started[1].wait()
        received, received_cpu = started[0].wait()
        return (sent, sent_cpu), (received, received_cpu)
    finally:
        for process in started:
            process.end()


def result_row(count, seconds, sent_cpu, received_cpu):
    if not count or not seconds:
        raise Ended("nothing arrived")
    return {"gbps": count * 8 / seconds / 1e9, "send": sent_cpu / count * 1e9, "receive": received_cpu / count * 1e9}


# ------------------------------------------------------------------ peers --

def measure_thalweg(setup, condition, seconds, scheme="cubic"):
    size = LARGEST["thalweg"] if condition == "largest" else 1472
    options = ["--datagram", f"{size} B"] + ["--no-offload"] * (condition == "no-offload")
    server = [setup.thalweg, "bench", "server", "127.0.0.1:0", "--once", "--json", *options]
    client = lambda match: [setup.thalweg, "bench", "client", match[1], "--key", match[2], "--quiet", "--json",
                            "--time", f"{seconds} s", "--scheme", scheme, *options]
    (_, sent), (text, received) = run_pair(server, r"listening on (\S+), key (\w+)", client, setup.limit)
    result = json.loads(text)
    return result_row(result["bytes"], result["seconds"], sent, received)


def measure_program(name, offload=None):
    """A peer of ours or quic-go's; `offload` is its option to disable offloads."""
    def run(setup, condition, seconds):
        path = TARGET / "live-peers" / "release" / {"s2n-quic": "s2n"}.get(name, name)
        size = LARGEST.get(name) if condition == "largest" else 1472
        if size is None or (condition == "no-offload" and offload is None):
            return None
        options, environment = [f"seconds={seconds}", f"datagram={size}"], dict(os.environ)
        # One thread serves quinn best; s2n-quic keeps its input and output in a task each.
        options += ["threads=2"] * (name == "s2n-quic")
        if condition == "no-offload":
            options.append(offload) if "=no" in offload else environment.update([offload.split("=")])
        with tempfile.TemporaryDirectory() as folder:
            call = lambda role: [path, role, f"127.0.0.1:{PORT}", folder, *options]
            (_, sent), (text, received) = run_pair(call("receive"), "ready", call("send"), setup.limit, env=environment)
        result = json.loads(text)
        return result_row(result["bytes"], result["seconds"], sent, received)
    return run


def measure_iperf3(setup, condition, seconds):
    if condition != "equal":
        return None
    server = ["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", PORT, "-J"]
    client = ["iperf3", "-c", "127.0.0.1", "-p", PORT, "-t", max(1, round(seconds)), "-J"]
    (text, sent), (_, received) = run_pair(server, None, client, setup.limit)
    result = json.loads(text)["end"]["sum_received"]
    return result_row(result["bytes"], result["seconds"], sent, received)


PEERS = {
    "thalweg": measure_thalweg,
    "s2n-quic": measure_program("s2n-quic", "offload=no"),
    "quinn": measure_program("quinn", "offload=no"),
    "quic-go": measure_program("quic-go", "QUIC_GO_DISABLE_GSO=true"),
    "udp": measure_program("udp", "offload=no"),
    "tcp": measure_iperf3,
}
NOTES = {"udp": "no encryption, no acknowledgements", "tcp": "no encryption", "rsync": "no encryption",
         "srt": "no encryption"}


# ------------------------------------------------------------------ files --

def file_thalweg(setup, source, folder):
    environment = os.environ | {"XDG_CONFIG_HOME": str(folder / "config")}
    inbox = folder / "inbox"
    server = [setup.thalweg, "recv", inbox, "--listen", "127.0.0.1:0", "--trust", "new"]
    client = lambda match: [setup.thalweg, "send", source, match[1], "--trust", "new", "--quiet"]
    return inbox / source.name, run_pair(server, r"[Ll]istening on ([0-9.:]+)", client, setup.limit, env=environment)


def file_rsync(setup, source, folder):
    (folder / "inbox").mkdir()
    settings = folder / "rsyncd.conf"
    settings.write_text(f"use chroot = no\naddress = 127.0.0.1\nmax connections = 1\n[inbox]\npath = {folder}/inbox\n"
                        "read only = no\nuid = " f"{os.getuid()}\ngid = {os.getgid()}\n")
    daemon = Process(["rsync", "--daemon", "--no-detach", "--port", PORT, "--config", settings, "--log-file=/dev/null"],
                     setup.limit, start_new_session=True)
    try:
        time.sleep(0.3)
        client = Process(["rsync", "--whole-file", source, f"rsync://127.0.0.1:{PORT}/inbox/"], setup.limit)
        sent = client.wait()
        # The process that served it is the daemon's child: the daemon's time has its in it once both have ended.
        time.sleep(0.2)
        daemon.stop()
        received = daemon.wait(must_succeed=False)
    finally:
        daemon.end()
    return folder / "inbox" / source.name, (sent, received)


def file_srt(setup, source, folder):
    (folder / "inbox").mkdir()
    server = ["srt-file-transmit", "-q", f"srt://127.0.0.1:{PORT}?mode=listener", f"file://{folder}/inbox"]
    client = ["srt-file-transmit", "-q", f"file://{source}", f"srt://127.0.0.1:{PORT}?mode=caller"]
    return folder / "inbox" / source.name, run_pair(server, None, client, setup.limit)


FILES = {"thalweg": file_thalweg, "rsync": file_rsync, "srt": file_srt}


def measure_file_transfer(setup, name):
    """From the start of the sender to its end, which is when the receiver has the whole file."""
    store = setup.store
    source = store / "source"
    if not source.exists():
        block = os.urandom(1 << 20)
        with source.open("wb") as out:
            for _ in range(setup.megabytes):
                out.write(block)
    with tempfile.TemporaryDirectory(dir=store) as folder:
        begin = time.monotonic()
        arrived, ((_, sent), (_, received)) = FILES[name](setup, source, Path(folder))
        seconds = time.monotonic() - begin
        # Waits that are this script's own.
        seconds -= {"rsync": 0.5, "srt": 0.3}.get(name, 0)
        if not arrived.exists() or arrived.stat().st_size != source.stat().st_size:
            raise Ended("the file is not whole")
        return result_row(source.stat().st_size, seconds, sent, received)


# ------------------------------------------------------------------ small --

def measure_small_files(setup):
    """CPU time of a handshake at either end, and the memory of an idle connection."""
    cpu = {}
    counts = (1, 201)
    for count in counts:
        server = [setup.thalweg, "bench", "server", "127.0.0.1:0", "--once", "--json"]
        client = lambda match: [setup.thalweg, "bench", "client", match[1], "--key", match[2], "--quiet", "--json",
                                "--time", "1 ms", "--parallel", str(count)]
        (_, sent), (_, received) = run_pair(server, r"listening on (\S+), key (\w+)", client, setup.limit)
        cpu[count] = (sent, received)
    client, server = ((b - a) / (counts[1] - counts[0]) * 1e3 for a, b in zip(cpu[counts[0]], cpu[counts[1]]))
    print("\nsmall: connections that are made, send a few pieces and end, beside those that only wait\n\n"
          f"| CPU time a connection, client | {client:.2f} ms |\n| --- | --- |\n"
          f"| CPU time a connection, server | {server:.2f} ms |")
    if setup.cargo:
        command = ["cargo", "test", "--quiet", "-p", "thalweg-net", "--test", "memory", "idle", "--", "--nocapture"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        match = re.search(r"(\d+) bytes for the two ends", done.stdout)
        if match:
            print(f"| memory of 10 000 idle connections, both ends | {int(match[1]) / 100:.0f} MB |")


# ------------------------------------------------------------------ table --

def print_table(title, results):
    print(f"\n{title}\n\n| | Gbit/s | range | CPU s/GB, send | receive | Thalweg: times as fast | CPU, both ends |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    middle = {name: {key: statistics.median(run[key] for run in runs) for key in runs[0]}
              for name, runs in results.items() if runs}
    ours = middle.get("thalweg")
    for name, values in middle.items():
        speeds = [run["gbps"] for run in results[name]]
        ratios = ("", "")
        if ours and name != "thalweg":
            ratios = (f"{ours['gbps'] / values['gbps']:.2f}",
                      f"{(ours['send'] + ours['receive']) / (values['send'] + values['receive']):.2f}")
        note = f" ({NOTES[name]})" if name in NOTES else ""
        print(f"| {name}{note} | {values['gbps']:.1f} | {min(speeds):.1f} to {max(speeds):.1f} | {values['send']:.2f} | "
              f"{values['receive']:.2f} | {ratios[0]} | {ratios[1]} |")


def build_programs(setup):
    """Builds what is there to be built; a peer whose tools are missing is left out."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET / "live-peers")}
    missing = set()
    if any(name in setup.peers for name in ("s2n-quic", "quinn", "udp")):
        command = ["cargo", "build", "--release", "--locked", "--quiet"]
        if not setup.cargo or subprocess.run(command, cwd=HERE / "peers", env=environment).returncode:
            missing |= {"s2n-quic", "quinn", "udp"}
    if "quic-go" in setup.peers:
        command = ["go", "build", "-o", str(TARGET / "live-peers" / "release" / "quic-go"), "."]
        if not shutil.which("go") or subprocess.run(command, cwd=HERE / "quic-go").returncode:
            missing.add("quic-go")
    if not shutil.which("iperf3"):
        missing.add("tcp")
    if not setup.thalweg:
        subprocess.run(["cargo", "build", "--release", "--locked", "-p", "thalweg"], cwd=ROOT, check=True)
        setup.thalweg = TARGET / "release" / "thalweg"
    for name in sorted(missing & set(setup.peers)):
        print(f"{name} left out: it is not installed, or does not build", file=sys.stderr)
    setup.peers = [name for name in setup.peers if name not in missing]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("conditions", nargs="*", metavar="CONDITION", help=", ".join(CONDITIONS))
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated; default: %(default)s")
    parser.add_argument("--thalweg", metavar="PATH", type=Path, help="executable of Thalweg; default: built here")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each; the median counts")
    parser.add_argument("--seconds", type=float, default=5.0, help="the length of a run")
    parser.add_argument("--megabytes", type=int, default=2000, help="the size of the file (MiB)")
    parser.add_argument("--quick", action="store_true", help="one run of 1 s, a file of 500 MiB")
    parser.add_argument("--json", action="store_true", help="print each run as a line of JSON too")
    setup = parser.parse_args()
    if setup.quick:
        setup.repeat, setup.seconds, setup.megabytes = 1, 1.0, 500
    for name in setup.conditions:
        if name not in CONDITIONS:
            parser.error(f"unknown condition {name}; there are: {', '.join(CONDITIONS)}")
    setup.peers = setup.peers.split(",")
    for name in setup.peers:
        if name not in PEERS:
            parser.error(f"unknown peer {name}; there are: {', '.join(PEERS)}")
    setup.thalweg = setup.thalweg and setup.thalweg.resolve()
    setup.cargo = shutil.which("cargo")
    setup.limit = 60 + 10 * setup.seconds
    build_programs(setup)
    names = setup.conditions or list(CONDITIONS)

    results = {name: {} for name in names}
    tools = {"thalweg": str(setup.thalweg), "rsync": "rsync", "srt": "srt-file-transmit"}
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as store:
        setup.store = Path(store)
        for condition in names:
            if condition == "small":
                continue
            runs = PEERS if condition != "files" else {name: None for name in FILES if shutil.which(tools[name])}
            for _ in range(setup.repeat):
                for name in runs:
                    if condition != "files" and name not in setup.peers:
                        continue
                    try:
                        if condition == "files":
                            result = measure_file_transfer(setup, name)
                        else:
                            result = PEERS[name](setup, condition, setup.seconds)
                    except Ended as error:
                        print(f"{condition}: {name} failed: {error}", file=sys.stderr)
                        continue
                    if result:
                        results[condition].setdefault(name, []).append(result)
                        if setup.json:
                            print(json.dumps({"condition": condition, "peer": name} | result), flush=True)
    for condition in names:
        if condition != "small":
            print_table(f"{condition}: {CONDITIONS[condition]}", results[condition])
    if "small" in names:
        measure_small_files(setup)


if __name__ == "__main__":
    run_script(main)
