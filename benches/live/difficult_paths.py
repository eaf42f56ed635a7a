#!/usr/bin/env python3
"""Measures how much of a difficult path each scheme gets, beside kernel TCP and QUIC, live and in the simulator.

    difficult_paths.py run                        seven paths with every scheme and peer (an hour), then the table
    difficult_paths.py run --paths burst --schemes cubic,vegas --peers tcp-cubic
    difficult_paths.py run --paths jitter,reordered-1,shallow,huge
    difficult_paths.py simulate                   the same paths in the simulator (a minute); --host linux-server puts hosts at the ends
    difficult_paths.py share                      two transfers on one path: how a scheme and kernel TCP divide it
    difficult_paths.py four --repeat 5            four flows of one kind: total, Jain's index, and what a probe waits beside them
    difficult_paths.py beside --repeat 5          one flow beside one of kernel CUBIC, with buffers of 0.25, 1 and 4 products
    difficult_paths.py table                      the tables of what was measured so far

`--schemes` takes any scheme that `bench` takes. Results are added to `--results FILE`, one JSON record a line; tables show the
medians. `difficult_paths.md` has the method and the results. Needs root, as it makes two network namespaces and a TUN device in each
(`namespace_testbed.py`). Build first:

    cargo build --release -p thalweg && cargo build --release -p thalweg-net --example tun_path

Only the standard library is used. `--quic PROGRAM` is one of the QUIC peers in `peers/`.
"""

import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import namespace_testbed as testbed
from namespace_testbed import FAR, PORT, bdp_bytes, make_path, run_in_namespace, set_up_network, wait_for_output

SEVEN = {
    "clean": make_path(100, 100),
    "long-0.1": make_path(100, 100, 0.001),
    "long-1": make_path(100, 100, 0.01),
    "satellite": make_path(20, 600, 0.01, seconds=30),
    "local": make_path(300, 2, 0.001, seconds=10),
    "burst": make_path(100, 50, 0.01, burst=8),
    "radio": make_path(50, 50, 0.1),
}
PATHS = {
    **SEVEN,
    "jitter": make_path(10, 100, 0.1, jitter=50),
    "huge": make_path(1000, 1000, 0.05),
    # Files of 50 MB, the start counted.
    "reordered-1": make_path(100, 100, reorder=0.01, reorder_delay=10, seconds=80, file=50),
    "reordered-5": make_path(100, 100, reorder=0.05, reorder_delay=10, seconds=80, file=50),
    "jitter-reordered": make_path(100, 100, jitter=20, reorder=0.05, reorder_delay=10, seconds=80, file=50),
    "shallow": make_path(100, 100, buffer=64_000, seconds=80, file=50),
}
# Path of two transfers: no losses except self-inflicted ones.
SHARED = make_path(50, 50)
BUFFERS = (0.25, 1, 4)
# Interval within which several transfers begin, and time for their clients to start before it, in seconds.
SPREAD, LEAD = 1, 0.3
# Memory for what may wait to be read, from here on: the usual bound holds no product of such paths.
LONG = 16 << 20

# Schemes as configured by a user with known rate and round trip of the path: {bdp:FACTOR} is that multiple of their product
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
# Defaults of live schemes; simulated ones need these options. Schemes that are not named here behave as
# window schemes.
WINDOW = "rack=true,f-rto=true,delayed-ack.delay=25 ms,delayed-ack.every=2,segment=1430 B,header=70 B"
LIVE = {
    **dict.fromkeys(("cubic", "newreno", "vegas"), WINDOW + ",prr=true,byte-counting=unlimited"),
    **dict.fromkeys(("prague", "dctcp"), WINDOW + ",prr=true"),
    "adaptive-ack": "",
    "sstp": "",
    "sscop": "poll-after-retransmission=true,ignore-old-data=true",
    "sscop-rate": "poll-after-retransmission=true,ignore-old-data=true,window=14000pkt,timer-poll={poll}ms,poll-ceiling=2s,jitter=2ms",
}
PEERS = ("tcp-cubic", "tcp-bbr", "quic-cubic")

# Share of payload in a packet's bytes.
PAYLOAD = 0.93
# The same of a full packet of ours, and of kernel TCP's.
FULL = {False: 1430 / 1500, True: 1448 / 1500}


class Product:
    """The bandwidth-delay product, in packets of 1500 bytes: `{bdp:1.5}` is one and a half times that."""

    def __init__(self, rate, rtt):
        self.packets = bdp_bytes(rate, rtt) / 1500

    def __format__(self, factor):
        return str(max(10, round(self.packets * float(factor))))


def on_path(text, path):
    rate, rtt = path.rate, path.rtt
    return text.format(rate=rate, bdp=Product(rate, rtt), poll=min(max(rtt / 2, 20), 750))


def transport_name(transport, path):
    return on_path(SCHEMES.get(transport, transport), path)


# Transfers. Each returns its running server, a function that starts its client at a time of the monotonic clock, and a function of
# both outputs: the goodput at the receiver, from the first byte to the end of the stream, in bit/s, and notes.

def buffer_memory(path):
    product = 4 * bdp_bytes(path.rate, path.rtt)
    return ["--memory", f"{product}B"] if product > 4 * LONG else []


def start_thalweg(names, scheme, path, seconds, options, port=PORT):
    thalweg, most = options.thalweg, buffer_memory(path)
    server = run_in_namespace(names[1], [thalweg, "bench", "server", f"{FAR}:{port}", "--once", "--quiet", "--json", *most])
    words = [thalweg, "bench", "client", f"{FAR}:{port}", "--scheme", scheme, "--time", f"{seconds}s", "--json", "--quiet", *most]
    return server, lambda at=0: start_later(names[0], words, at), our_result


def start_later(netns, words, at, **options):
    time.sleep(max(0, at - time.monotonic()))
    return run_in_namespace(netns, words, **options)


def our_result(server, client):
    if not client:
        return 0, {"failed": "no result"}
    document = json.loads(client)
    here, there = document["client"], document["servers"][0]
    notes = {key: here[key] for key in ("segments_sent", "retransmissions", "timeouts", "smoothed_rtt_seconds",
                                        "limited_by_seconds", "datagram_bytes")}
    return there["bits_per_second"], notes


def start_tcp(names, controller, _, seconds, options, port=PORT, size=None):
    server = run_in_namespace(names[1], testbed.program_command("tcp-server", "--port", port))
    words = testbed.program_command("tcp-client", "--controller", controller, "--time", seconds, "--port", port, *(["--bytes", size] if size else []))
    # The client itself waits for the start time, as an interpreter takes some time to start.
    return server, lambda at=0: run_in_namespace(names[0], [*words, "--at", str(at)]), peer_result


def start_quic(names, _, path, seconds, options, port=PORT):
    folder = Path(options.quic).resolve().parent
    server = run_in_namespace(names[1], [options.quic, "receive", f"{FAR}:{port}", folder], stderr=subprocess.DEVNULL)
    words = [options.quic, "send", f"{FAR}:{port}", folder, f"seconds={seconds}"]
    return server, lambda at=0: start_later(names[0], words, at, stderr=subprocess.DEVNULL), peer_result


def peer_result(server, client):
    if not server.strip():
        return 0, {"failed": "no result"}
    document = json.loads(server.strip().splitlines()[-1])
    notes = {}
    if client.startswith("{") and (sent := json.loads(client)).get("sent"):
        notes = {"segments_sent": sent["sent"], "retransmissions": sent["resent"]}
    return 8 * document["bytes"] / max(document["seconds"], 1e-9), notes


def starter_of(transport):
    kind, _, rest = transport.partition("-")
    if transport in PEERS:
        return (start_tcp if kind == "tcp" else start_quic), rest
    return start_thalweg, None


def start_times(seed, count):
    """Start times of flows on one path, in seconds: the first flow has more for long, therefore the order must vary."""
    draw = random.Random(seed)
    return [round(draw.uniform(0, SPREAD), 3) for _ in range(count)]


def begin_transfers(names, everyone, path, seconds, options, after=None):
    """Transfers with their start times in seconds, each with a port of its own."""
    after, prepared = after or [0] * len(everyone), []
    for number, transport in enumerate(everyone):
        start, what = starter_of(transport)
        prepared.append(start(names, what or transport_name(transport, path), path, seconds, options, PORT + number))
    time.sleep(0.5)
    zero, clients = time.monotonic() + LEAD, {}
    # Clients of kernel TCP wait by themselves.
    for number in sorted(range(len(everyone)), key=lambda number: (starter_of(everyone[number])[0] is not start_tcp, after[number])):
        clients[number] = prepared[number][1](zero + after[number])
    time.sleep(max(0, zero + max(after) - time.monotonic()))
    return [(server, clients[number], result) for number, (server, _, result) in enumerate(prepared)]


def end_transfer(transfer, seconds):
    server, client, result = transfer
    # Data left in buffers and queues at the end still arrives, and is counted with the time that it takes.
    client_text = wait_for_output(client, 2 * seconds + 20)
    return result(wait_for_output(server, 5 if client_text or client.returncode == 0 else 0.1), client_text)


def of_file(names, transport, path, options):
    """A file from its start to the end of the sender, in bit/s; what had arrived counts where the time was over before."""
    size = path.file * 1_000_000
    start, what = starter_of(transport)
    began = time.monotonic()
    if start is start_tcp:
        server, client, result = start_tcp(names, what, path, path.seconds, options, size=size)
        time.sleep(0.5)
        began = time.monotonic()
        client = client()
        client_text = wait_for_output(client, path.seconds + 1)
        done, notes = bool(client_text), result(wait_for_output(server, 5), client_text)[1] if client_text else {}
    else:
        with tempfile.TemporaryDirectory() as scratch:
            scheme = transport_name(transport, path)
            Path(f"{scratch}/file").write_bytes(bytes(size))
            # Keys and known peers are in a separate home folder.
            home = {"env": {**os.environ, "HOME": scratch, "XDG_CONFIG_HOME": scratch}, "stderr": subprocess.DEVNULL}
            server = run_in_namespace(names[1], [options.thalweg, "recv", f"{scratch}/in", "--listen", f"{FAR}:{PORT}", "--quiet", "--trust", "new",
                                       "--allow-scheme", "any"], **home)
            time.sleep(0.5)
            began = time.monotonic()
            client = run_in_namespace(names[0], [options.thalweg, "send", f"{scratch}/file", f"{FAR}:{PORT}", "--scheme", scheme, "--json",
                                       "--quiet", "--trust", "new"], **home)
            client_text = wait_for_output(client, path.seconds)
            done, notes = client.returncode == 0, sent_by(client_text)
            server.kill()
            server.communicate()
    took = time.monotonic() - began
    return (8 * size / took, notes) if done else (8 * PAYLOAD * testbed.received_bytes(names[1]) / took, {"unfinished": True})


def sent_by(text):
    try:
        document = json.loads(text.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    found = {key: document.get(key) for key in ("segments_sent", "retransmissions")}
    return {key: value for key, value in found.items() if value is not None}


# Actions.

def append_record(options, **fields):
    with open(options.results, "a") as results:
        results.write(json.dumps(fields) + "\n")
    print(json.dumps(fields), flush=True)


def measure_once(name, transport, seed, options):
    path = PATHS[name]
    with set_up_network(path, seed) as (names, _):
        if path.file:
            rate, notes = of_file(names, transport, path, options)
        else:
            seconds = options.time or path.seconds
            transfer, = begin_transfers(names, [transport], path, seconds, options)
            time.sleep(seconds)
            on_wire = 8 * testbed.received_bytes(names[1]) / seconds
            rate, notes = end_transfer(transfer, seconds)
            if "failed" in notes:
                # Draining its buffers took too long: count the bytes that arrived in time, less headers.
                rate, notes = on_wire * PAYLOAD, {"from_wire": True}
    return {"kind": "live", "path": name, "transport": transport, "seed": seed, "share": rate / (path.rate * 1e6), **notes}


def run_all(options):
    measure_several(measure_once, options, [(name, transport) for name in options.paths for transport in options.schemes + options.peers])


def measure_several(measure, options, rows):
    """Every row with every seed."""
    todo = [(*row, seed, options) for seed in range(options.seed, options.seed + options.repeat) for row in rows]
    for found in testbed.measure_in_parallel(measure, todo, options.parallel):
        append_record(options, **found)


def run_sharing(options):
    """A scheme beside kernel TCP with CUBIC, and beside itself."""
    measure_several(measure_pair, options, [(SHARED, transport, other, "share") for transport in options.schemes + options.peers
                            for other in dict.fromkeys(("tcp-cubic", transport))])


def run_beside(options):
    """A scheme beside kernel TCP with CUBIC on the clean path, by the length of its buffer."""
    measure_several(measure_pair, options, [(PATHS["clean"]._replace(buffer=buffer), transport, "tcp-cubic", "beside")
                            for transport in options.schemes + options.peers for buffer in BUFFERS])


def measure_pair(path, transport, other, kind, seed, options):
    seconds, after = max(options.time or 0, 30), start_times(seed, 2)
    with set_up_network(path, seed) as (names, relay):
        both = begin_transfers(names, (transport, other), path, seconds, options, after)
        rates = [end_transfer(each, seconds)[0] / (path.rate * 1e6) for each in both]
    return {"kind": kind, "buffer": path.buffer, "transport": transport, "other": other, "seed": seed, "share": rates[0], "others": rates[1],
            "starts": after, "seconds": seconds, "relay_us": testbed.relay_lateness(relay)}


def run_four_flows(options):
    """Four flows of one kind on the clean path, and a probe beside them."""
    measure_several(measure_four_flows, options, [(transport,) for transport in options.schemes + options.peers])


def measure_four_flows(transport, seed, options):
    path, seconds, after = PATHS["clean"], max(options.time or 0, 30), start_times(seed, 4)
    with set_up_network(path, seed) as (names, relay):
        echo = run_in_namespace(names[1], testbed.program_command("echo", "--port", PORT - 1))
        flows = begin_transfers(names, 4 * [transport], path, seconds, options, after)
        # While all of them send: each has a time of its own, and what it gets when others are done is more than its part.
        probe = run_in_namespace(names[0], testbed.program_command("probe", "--port", PORT - 1, "--time", seconds - 3))
        before, since = testbed.received_bytes(names[1]), time.monotonic()
        time.sleep(seconds - 3)
        together = 8 * (testbed.received_bytes(names[1]) - before) / (time.monotonic() - since)
        rates = [end_transfer(each, seconds)[0] / (path.rate * 1e6) for each in flows]
        trips = json.loads(wait_for_output(probe, 5))
        echo.kill()
        echo.communicate()
    waits = {f"queue_{share}_ms": trips[share] - path.rtt for share in ("p50", "p95") if trips[share] is not None}
    return {"kind": "four", "transport": transport, "seed": seed, "share": FULL[starter_of(transport)[0] is start_tcp] * together / (path.rate * 1e6),
            "jain": jain_index(rates), "rates": rates, "starts": after, "seconds": seconds, "relay_us": testbed.relay_lateness(relay), **waits}


def jain_index(rates):
    squares = sum(rate * rate for rate in rates)
    return sum(rates) ** 2 / (len(rates) * squares) if squares else 0


def simulate_all(options):
    for name in options.paths:
        path = PATHS[name]
        for transport in options.schemes:
            scheme, _, keys = transport_name(transport, path).partition(":")
            keys = ",".join(filter(None, (on_path(LIVE.get(scheme, WINDOW), path), keys)))
            changes = [*path.link_settings(), f"flow.transfer.scheme={scheme}", f"duration={options.time or path.seconds} s"]
            changes += [f"scheme.{scheme}.{key}" for key in filter(None, keys.split(","))]
            if options.host:
                changes.append(f"flow.transfer.host={options.host}")
            if path.file:
                changes.append(f"flow.transfer.workload={path.file} MB")
            text = testbed.run_simulation([options.thalweg, "run", str(testbed.SCENARIO), "--json", "--quiet", "--seed", str(options.seed),
                                 *testbed.set_options(changes)])
            flow = json.loads(text)["runs"][0]["flows"][0]
            rate = flow["goodput_bps"]
            if path.file and flow["completion_s"]:
                rate = 8e6 * path.file / flow["completion_s"]
            append_record(options, kind="simulated", path=name, transport=transport, share=rate / (path.rate * 1e6), segments_sent=flow["sent_packets"],
                   retransmissions=flow["retransmissions"])


def print_table(options):
    records = testbed.read_records(options.results)
    for kind in ("live", "simulated"):
        shares = {}
        for each in (each for each in records if each["kind"] == kind):
            shares.setdefault(each["transport"], {}).setdefault(each["path"], []).append(each["share"])
        if not shares:
            continue
        names = [name for name in PATHS if any(name in of for of in shares.values())]
        medians = {transport: {path: statistics.median(of[path]) for path in of} for transport, of in shares.items()}

        def mean(transport):
            # A share below a thousandth counts as that.
            logs = [math.log(max(share, 1e-3)) for share in medians[transport].values()]
            return math.exp(sum(logs) / len(logs))

        print(f"\n| {kind}, % of the rate | {' | '.join(names)} | geometric mean | worst |")
        print("| --- |" + " ---: |" * (len(names) + 2))
        for transport in sorted(medians, key=mean, reverse=True):
            cells = [f"{100 * medians[transport][path]:.1f}" if path in medians[transport] else "" for path in names]
            worst = min(medians[transport].values())
            print(f"| {transport} | {' | '.join(cells)} | {100 * mean(transport):.1f} | {100 * worst:.1f} |")
    shared, quartets = {}, {}
    for each in records:
        if each["kind"] in ("share", "beside"):
            name = f"{each['transport']} beside {each['other']}"
            if each["kind"] == "beside":
                name += f", a buffer of {each['buffer']:g}"
            shared.setdefault(name, []).append((each["share"], each["others"]))
        elif each["kind"] == "four":
            quartets.setdefault(each["transport"], []).append(each)
    if shared:
        print("\n| on one path, % of the rate | it | the other |\n| --- | ---: | ---: |")
        for name, pairs in shared.items():
            first, second = (100 * statistics.median(each) for each in zip(*pairs))
            print(f"| {name} | {first:.1f} | {second:.1f} |")
    if quartets:
        print("\n| four flows | together, % of the rate | Jain's index | a probe waits, ms: median | p95 |")
        print("| --- | ---: | ---: | ---: | ---: |")
        for transport, of in quartets.items():
            cells = [statistics.median(each.get(key, math.nan) for each in of)
                     for key in ("share", "jain", "queue_p50_ms", "queue_p95_ms")]
            print(f"| {transport} | {100 * cells[0]:.1f} | {cells[1]:.3f} | {cells[2]:.1f} | {cells[3]:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    do = {"run": run_all, "simulate": simulate_all, "share": run_sharing, "four": run_four_flows, "beside": run_beside, "table": print_table}
    parser.add_argument("what", choices=do)
    parser.add_argument("--paths", type=testbed.parse_list, default=list(SEVEN), help=", ".join(PATHS))
    parser.add_argument("--schemes", type=testbed.or_none(testbed.schemes_listed), default=list(SCHEMES), help="names here, or whatever bench takes, or none")
    parser.add_argument("--peers", type=testbed.or_none(testbed.names_listed(PEERS)), help=f"{', '.join(PEERS)}, or none; default: those that are installed")
    parser.add_argument("--time", type=int, help="seconds of a transfer, in place of the path's")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=1, help="concurrent transfers, each over a path of its own")
    parser.add_argument("--host", help="of simulated flows: a name, or what `thalweg doctor` prints")
    parser.add_argument("--results", default="paths.jsonl")
    parser.add_argument("--thalweg", default=testbed.THALWEG)
    parser.add_argument("--quic", help="a QUIC peer")
    options = parser.parse_args()
    unknown = [name for name in options.paths if name not in PATHS]
    if unknown:
        parser.error(f"no path is called {unknown[0]}; there are {', '.join(PATHS)}")
    if options.peers is None:
        options.peers = [peer for peer in PEERS if options.quic or not peer.startswith("quic")]
    if not options.quic and any(peer.startswith("quic") for peer in options.peers):
        parser.error("quic-cubic needs --quic PROGRAM, a QUIC peer")
    testbed.exit_on_sigterm()
    try:
        do[options.what](options)
    except RuntimeError as error:
        sys.exit(str(error))
    if options.what != "table":
        print_table(options)


if __name__ == "__main__":
    testbed.run_script(main)
