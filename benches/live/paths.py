#!/usr/bin/env python3
"""Measures how much of a difficult path each scheme gets, beside kernel TCP and QUIC, live and in the simulator.

    paths.py run                        every path with every scheme and peer (an hour), then the table
    paths.py run --paths burst --schemes cubic,vegas --peers tcp-cubic
    paths.py simulate                   the same paths in the simulator (a minute)
    paths.py share                      two transfers on one path: how a scheme and kernel TCP divide it
    paths.py table                      the tables of what was measured so far

Results are added to `--results FILE`, one JSON record a line; tables show the medians. `paths.md` says what is measured and
what came out. Needs root, as it makes two network namespaces and a TUN device in each; between the devices stands the
example `tun_path` of thalweg-net. Build first:

    cargo build --release -p thalweg && cargo build --release -p thalweg-net --example tun_path

Only the standard library is used. `--quic PROGRAM` is one of the QUIC peers in `peers/`.
"""

import argparse
import contextlib
import fcntl
import json
import math
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCENARIO = ROOT / "scenarios" / "difficult-path.toml"

# Name: rate in Mbit/s, round trip in ms, loss in each direction, mean number of losses in a row.
PATHS = {
    "clean": (100, 100, 0, 1),
    "long-0.1": (100, 100, 0.001, 1),
    "long-1": (100, 100, 0.01, 1),
    "satellite": (20, 600, 0.01, 1),
    "local": (300, 2, 0.001, 1),
    "burst": (100, 50, 0.01, 8),
    "radio": (50, 50, 0.1, 1),
}
# What two transfers share: no losses but those that they cause.
SHARED = (50, 50, 0, 1)

# Schemes as a user would call them who knows rate and round trip of the path: {bdp:FACTOR} is so many times their product
# in packets, {rate} the rate in Mbit/s, {poll} half a round trip in ms, but at least 20 and at most 750.
SCHEMES = {
    "cubic": "cubic",
    "newreno": "newreno",
    "vegas": "vegas",
    "fixed": "fixed:window={bdp:1.5}pkt,recovery=sack",
    "adaptive-ack": "adaptive-ack:window={bdp:0.9}pkt",
    "sscop": "sscop:window={bdp:1.9}pkt,buffer={bdp:1.9}pkt,timer-poll={poll}ms",
    "sscop-rate": "sscop-rate",
    "sstp": "sstp:rate={rate}Mbit/s",
}
# What live schemes do unless they are told otherwise, and simulated ones only if they are told.
LIVE = {
    "sscop": "poll-after-retransmission=true,ignore-old-data=true",
    "sscop-rate": "poll-after-retransmission=true,ignore-old-data=true,window=14000pkt,timer-poll={poll}ms,jitter=2ms",
}
PEERS = ("tcp-cubic", "tcp-bbr", "quic-cubic")

# Of a packet's bytes, those that are not headers.
PAYLOAD = 0.93

# The path and the transfers come before all else that the machine does.
FIRST, SECOND = ["nice", "-n", "-10"], ["nice", "-n", "-5"]

NEAR, FAR = "10.99.0.1", "10.99.0.2"
PORT = 4740


def bdp_bytes(rate, rtt):
    return round(rate * 1e6 / 8 * rtt / 1e3)


class Product:
    """The bandwidth-delay product, in packets of 1500 bytes: `{bdp:1.5}` is one and a half times that."""

    def __init__(self, rate, rtt):
        self.packets = bdp_bytes(rate, rtt) / 1500

    def __format__(self, factor):
        return str(max(10, round(self.packets * float(factor))))


def on_path(text, path):
    rate, rtt = path[:2]
    return text.format(rate=rate, bdp=Product(rate, rtt), poll=min(max(rtt / 2, 20), 750))


def spoken(who, path):
    return on_path(SCHEMES.get(who, who), path)


# The path.

def tun(name):
    """A TUN device of that name."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    IFF_TUN, IFF_NO_PI, TUNSETIFF = 0x0001, 0x1000, 0x400454CA
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def ip(*words, netns=None):
    inside = ["-n", netns] if netns else []
    subprocess.run(["ip", *inside, *words], check=True)


@contextlib.contextmanager
def network(path, seed):
    """Two namespaces, joined by `path`; yields their names and the relay."""
    rate, rtt, loss, burst = path
    one_way = [f"rate={rate}Mbit/s", f"delay={rtt / 2}ms", f"buffer={bdp_bytes(rate, rtt)}B", f"loss={loss}"]
    if burst > 1:
        one_way.append(f"burst={burst}pkt")
    one_way = ",".join(one_way)
    names = [f"thalweg-{os.getpid()}-{end}" for end in ("near", "far")]
    devices = []
    try:
        for name, address, device in zip(names, (NEAR, FAR), ("near", "far")):
            ip("netns", "add", name)
            # The names of devices are those of namespaces, until they are moved.
            device = f"{device}{os.getpid()}"[:15]
            devices.append(tun(device))
            ip("link", "set", device, "netns", name)
            ip("addr", "add", f"{address}/24", "dev", device, netns=name)
            ip("link", "set", device, "txqueuelen", "20000", "up", netns=name)
            # Kernel TCP may use as much memory as it needs for these paths.
            for key in ("tcp_rmem", "tcp_wmem"):
                subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", f"net.ipv4.{key}=4096 131072 67108864"],
                               check=True)
        relay = subprocess.Popen([*FIRST, str(ROOT / "target/release/examples/tun_path"), one_way, one_way,
                                  str(seed)], stdin=devices[0], stdout=devices[1], stderr=subprocess.PIPE, text=True)
        try:
            yield names, relay
        finally:
            for name in names:
                subprocess.run(["ip", "netns", "del", name])
            names = []
            for device in devices:
                os.close(device)
            devices = []
            relay.kill()
            relay.wait()
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name])
        for device in devices:
            os.close(device)


def inside(netns, words, **options):
    # Others may be busy on the machine; what is measured here is the path.
    words = ["ip", "netns", "exec", netns, *SECOND, *words]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)


def finish(process, seconds):
    try:
        text, _ = process.communicate(timeout=seconds)
        return text
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ""


# Transfers. Each gives the goodput at the receiver, from the first byte to the end of the stream, in bit/s, and notes.

def ours(names, scheme, seconds, options, port=PORT):
    thalweg = options.thalweg
    server = inside(names[1], [thalweg, "bench", "server", f"{FAR}:{port}", "--once", "--quiet", "--json"])
    time.sleep(0.3)
    client = inside(names[0], [thalweg, "bench", "client", f"{FAR}:{port}", "--scheme", scheme, "--time",
                               f"{seconds}s", "--json", "--quiet"])
    return server, client, our_result


def our_result(server, client):
    if not client:
        return 0, {"failed": "no result"}
    document = json.loads(client)
    here, there = document["client"], document["servers"][0]
    notes = {key: here[key] for key in ("segments_sent", "retransmissions", "timeouts", "smoothed_rtt_seconds",
                                        "limited_by_seconds", "datagram_bytes")}
    return there["bits_per_second"], notes


def tcp(names, controller, seconds, options, port=PORT):
    program = [sys.executable, __file__]
    server = inside(names[1], [*program, "tcp-server", "--port", str(port)])
    time.sleep(0.3)
    client = inside(names[0], [*program, "tcp-client", "--controller", controller, "--time", str(seconds), "--port",
                               str(port)])
    return server, client, peer_result


def quic(names, _, seconds, options, port=PORT):
    folder = Path(options.quic).resolve().parent
    server = inside(names[1], [options.quic, "receive", f"{FAR}:{port}", folder], stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    client = inside(names[0], [options.quic, "send", f"{FAR}:{port}", folder, f"seconds={seconds}"],
                    stderr=subprocess.DEVNULL)
    return server, client, peer_result


def peer_result(server, client):
    if not server.strip():
        return 0, {"failed": "no result"}
    document = json.loads(server.strip().splitlines()[-1])
    return 8 * document["bytes"] / max(document["seconds"], 1e-9), {}


def starter(who):
    kind, _, rest = who.partition("-")
    if who in PEERS:
        return (tcp if kind == "tcp" else quic), rest
    return ours, None


def begin(names, who, path, seconds, options, port=PORT):
    start, what = starter(who)
    return start(names, what or spoken(who, path), seconds, options, port)


def received(netns):
    """Bytes that the device of a namespace has received."""
    devices = json.loads(subprocess.run(["ip", "-n", netns, "-s", "-j", "link"], capture_output=True, check=True).stdout)
    return sum(device["stats64"]["rx"]["bytes"] for device in devices if device["ifname"] != "lo")


def end(transfer, seconds):
    server, client, result = transfer
    # What is still in buffers and queues when the time is over goes through, and is counted with the time that it takes.
    client_text = finish(client, 2 * seconds + 20)
    return result(finish(server, 5 if client_text or client.returncode == 0 else 0.1), client_text)


def tcp_server(options):
    with socket.create_server((FAR, options.port)) as listening:
        connection, _ = listening.accept()
        with connection:
            buffer = bytearray(1 << 18)
            total, started = 0, None
            while length := connection.recv_into(buffer):
                started = started or time.monotonic()
                total += length
            elapsed = time.monotonic() - (started or time.monotonic())
    print(json.dumps({"bytes": total, "seconds": elapsed}))


def tcp_client(options):
    piece = bytes(1 << 18)
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.controller.encode())
        connection.connect((FAR, options.port))
        started = time.monotonic()
        connection.settimeout(0.5)
        while time.monotonic() - started < options.time:
            with contextlib.suppress(TimeoutError):
                connection.send(piece)
        connection.settimeout(None)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


# What is done.

def record(options, **fields):
    with open(options.results, "a") as results:
        results.write(json.dumps(fields) + "\n")
    print(json.dumps(fields), flush=True)


def run(options):
    for repeat in range(options.repeat):
        for name in options.paths:
            path = PATHS[name]
            for who in options.schemes + options.peers:
                with network(path, options.seed + repeat) as (names, _):
                    transfer = begin(names, who, path, options.time, options)
                    time.sleep(options.time)
                    on_wire = 8 * received(names[1]) / options.time
                    rate, notes = end(transfer, options.time)
                    if "failed" in notes:
                        # It went on for too long with what was in its buffers: what came in time, less its headers.
                        rate, notes = on_wire * PAYLOAD, {"from_wire": True}
                record(options, kind="live", path=name, who=who, share=rate / (path[0] * 1e6), **notes)


def share(options):
    """A scheme beside kernel TCP with CUBIC, and beside itself."""
    seconds = max(options.time, 30)
    for repeat in range(options.repeat):
        for who in options.schemes + [peer for peer in options.peers]:
            for other in dict.fromkeys(("tcp-cubic", who)):
                with network(SHARED, options.seed + repeat) as (names, _):
                    both = [begin(names, each, SHARED, seconds, options, PORT + number)
                            for number, each in enumerate((who, other))]
                    rates = [end(each, seconds)[0] / (SHARED[0] * 1e6) for each in both]
                record(options, kind="share", who=who, other=other, share=rates[0], others=rates[1])


def lost(loss, burst):
    """The losses of a path as scenarios have them."""
    if burst <= 1:
        return loss
    # As the relay does it (Gilbert 1960): all is lost in the bad state, nothing in the good one.
    return (f'{{model = "gilbert-elliott", good-to-bad = {loss / (burst * (1 - loss))}, '
            f'bad-to-good = {1 / burst}, loss-good = 0, loss-bad = 1}}')


def simulate(options):
    for name in options.paths:
        rate, rtt, loss, burst = PATHS[name]
        for who in options.schemes:
            scheme, _, keys = spoken(who, PATHS[name]).partition(":")
            keys = ",".join(filter(None, (keys, on_path(LIVE.get(scheme, ""), PATHS[name]))))
            sets = [f"link.path.rate={rate} Mbit/s", f"link.path.delay={rtt / 2} ms", f"link.path.loss={lost(loss, burst)}",
                    f"flow.transfer.scheme={scheme}"]
            for key in filter(None, keys.split(",")):
                key, _, value = key.partition("=")
                sets.append(f"scheme.{scheme}.{key}={value}")
            words = [options.thalweg, "run", str(SCENARIO), "--json", "--quiet"]
            for change in sets:
                words += ["--set", change]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{' '.join(words)}\n{done.stderr}")
            flow = json.loads(done.stdout)["runs"][0]["flows"][0]
            record(options, kind="simulated", path=name, who=who, share=flow["goodput_bps"] / (rate * 1e6))


def table(options):
    records = [json.loads(line) for line in open(options.results)]
    for kind in ("live", "simulated"):
        shares = {}
        for each in (each for each in records if each["kind"] == kind):
            shares.setdefault(each["who"], {}).setdefault(each["path"], []).append(each["share"])
        if not shares:
            continue
        paths = [name for name in PATHS if any(name in of for of in shares.values())]
        medians = {who: {path: statistics.median(of[path]) for path in of} for who, of in shares.items()}

        def mean(who):
            # A share below a thousandth counts as that.
            logs = [math.log(max(share, 1e-3)) for share in medians[who].values()]
            return math.exp(sum(logs) / len(logs))

        print(f"\n| {kind}, % of the rate | {' | '.join(paths)} | geometric mean | worst |")
        print("| --- |" + " ---: |" * (len(paths) + 2))
        for who in sorted(medians, key=mean, reverse=True):
            cells = [f"{100 * medians[who][path]:.1f}" if path in medians[who] else "" for path in paths]
            worst = min(medians[who].values())
            print(f"| {who} | {' | '.join(cells)} | {100 * mean(who):.1f} | {100 * worst:.1f} |")
    shared = {}
    for each in (each for each in records if each["kind"] == "share"):
        shared.setdefault((each["who"], each["other"]), []).append((each["share"], each["others"]))
    if shared:
        print("\n| on one path, % of the rate | it | the other |\n| --- | ---: | ---: |")
        for (who, other), pairs in shared.items():
            first, second = (100 * statistics.median(each) for each in zip(*pairs))
            print(f"| {who} beside {other} | {first:.1f} | {second:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "simulate", "share", "table", "tcp-server", "tcp-client"])
    words = lambda text: [word for word in text.split(",") if word]
    parser.add_argument("--paths", type=words, default=list(PATHS))
    parser.add_argument("--schemes", type=words, default=list(SCHEMES), help="names here, or whatever bench takes, or none")
    parser.add_argument("--peers", type=words)
    parser.add_argument("--time", type=int, default=20, help="seconds of a transfer")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", default="paths.jsonl")
    parser.add_argument("--thalweg", default=str(ROOT / "target/release/thalweg"))
    parser.add_argument("--quic", help="a QUIC peer")
    parser.add_argument("--controller", default="cubic")
    parser.add_argument("--port", type=int, default=PORT)
    options = parser.parse_args()
    if options.peers is None:
        options.peers = [peer for peer in PEERS if options.quic or not peer.startswith("quic")]
    do = {"run": run, "simulate": simulate, "share": share, "table": table, "tcp-server": tcp_server,
          "tcp-client": tcp_client}[options.what]
    # Namespaces are taken down whatever ends the script.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    do(options)
    if options.what in ("run", "simulate", "share"):
        table(options)


if __name__ == "__main__":
    main()
