#!/usr/bin/env python3
"""Puts CUBIC and BBR beside the kernel's own on the same paths, live and in the simulator: goodput, what is sent again, windows.

    kernels.py run                      five seeds of every path (40 minutes), the table, and the picture
    kernels.py run --paths clean --seeds 2 --who tcp-cubic,cubic
    kernels.py table                    the tables of what was measured so far
    kernels.py plot --seed 2            windows over time, as SVG

Paths are those of `paths.py` and two more clean ones. Results are added to `--results FILE`, one JSON record a line. Of each
transfer's receiver counts what came from the first byte to the last; a sender's buffer is kept short (TCP_NOTSENT_LOWAT), so that
all end soon after their time. Windows are sampled by TCP_INFO and taken from recordings. `kernels.md` says what came out.
Needs root, as it makes two network namespaces and a TUN device in each for every transfer.

    cargo build --release -p thalweg && cargo build --release -p thalweg-net --example tun_path

Only the standard library is used.
"""

import argparse
import concurrent.futures
import json
import math
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import paths

PATHS = {
    "clean": paths.PATHS["clean"],
    "clean-20": (100, 20, 0, 1),
    "clean-slow": (20, 50, 0, 1),
    **{name: path for name, path in paths.PATHS.items() if name != "clean"},
}
CLEAN = [name for name, path in PATHS.items() if path[2] == 0]
# Kernel, live and simulated; the sender as a kernel has it is a preset of CUBIC alone.
FAMILIES = {
    "cubic": ["tcp-cubic", "cubic", "cubic:preset=linux", "simulated cubic"],
    "bbr": ["tcp-bbr", "bbr", "simulated bbr"],
}
WHO = [who for family in FAMILIES.values() for who in family]
# What kernel TCP has on the wire: with it a simulated share is one of the kernel's.
KERNEL_SIZES = {"segment": "1448 B", "header": "52 B"}
SIMULATED = {"cubic": {"preset": "linux"}, "bbr": {"delayed-ack": "true"}}
SAMPLE = 0.05
# Nothing else on the machine is to count: these transfers take little of it, and go first.
paths.FIRST, paths.SECOND = ["chrt", "-r", "2"], ["chrt", "-r", "1"]
# Half of the 95 % interval of a mean of so many, in standard errors (Student's t).
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
TCP_NOTSENT_LOWAT = 25


# Kernel TCP.

def tcp_info(connection):
    """What the kernel tells of a sender (struct tcp_info of linux/tcp.h, in part)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    word = lambda at: struct.unpack_from("=I", info, at)[0]
    return {"window": word(80), "in_flight": word(24), "segment": word(16), "rtt_ms": word(68) / 1e3,
            "resent": word(100), "sent": word(156)}


def tcp_client(options):
    piece = bytes(1 << 16)
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.controller.encode())
        connection.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1 << 18)
        connection.connect((paths.FAR, options.port))
        connection.setblocking(False)
        started, windows, due = time.monotonic(), [], 0.0
        while (elapsed := time.monotonic() - started) < options.time:
            if elapsed >= due:
                windows.append((round(elapsed, 3), tcp_info(connection)["window"]))
                due += SAMPLE
            try:
                connection.send(piece)
            except BlockingIOError:
                # Not by select: it would wake up for every acknowledgement.
                time.sleep(0.002)
        connection.setblocking(True)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
        info = tcp_info(connection)
    print(json.dumps({"windows": windows, **info}))


def kernel(names, controller, options):
    program = [sys.executable, __file__]
    # The receiver is the one of `paths.py`.
    server = paths.inside(names[1], [sys.executable, paths.__file__, "tcp-server", "--port", str(paths.PORT)])
    time.sleep(0.3)
    client = paths.inside(names[0], [*program, "tcp-client", "--controller", controller, "--time", str(options.time),
                                     "--port", str(paths.PORT)])
    sent = json.loads(paths.finish(client, 3 * options.time + 20))
    came = json.loads(paths.finish(server, 5))
    return 8 * came["bytes"] / came["seconds"], sent["sent"], sent["resent"], sent["windows"]


# Ours.

def ours(names, scheme, options, recorded):
    with tempfile.TemporaryDirectory() as scratch:
        record = f"{scratch}/record.qlog"
        server = paths.inside(names[1], [options.thalweg, "bench", "server", f"{paths.FAR}:{paths.PORT}", "--once",
                                         "--quiet", "--json"])
        time.sleep(0.3)
        client = paths.inside(names[0], [options.thalweg, "bench", "client", f"{paths.FAR}:{paths.PORT}", "--scheme", scheme,
                                         "--time", f"{options.time}s", "--json", "--quiet",
                                         *(["--record", record] if recorded else [])])
        document = json.loads(paths.finish(client, 3 * options.time + 20))
        paths.finish(server, 5)
        windows = recording(record) if recorded else []
    here, there = document["client"], document["servers"][0]
    return there["bits_per_second"], here["segments_sent"], here["retransmissions"], windows


def recording(file):
    """Windows in segments, from a qlog."""
    windows, due, longest = [], 0.0, 1
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            # An event a line; the last one closes the document, too.
            line = line.strip().rstrip(",").removesuffix("]}]}")
            if '"transport:packet_sent"' in line:
                # The window counts in segments of what the path takes, which the search for it makes longer.
                longest = max(longest, json.loads(line)["data"]["frames"][0]["length"])
            elif '"recovery:metrics_updated"' in line:
                event = json.loads(line)
                window = event["data"].get("congestion_window")
                if window is not None and event["time"] / 1e3 >= due:
                    windows.append((round(event["time"] / 1e3, 3), round(window / longest, 1)))
                    due = event["time"] / 1e3 + SAMPLE
    return windows


# The simulator.

def simulated(path, scheme, seed, options):
    rate, rtt, loss, burst = path
    with tempfile.TemporaryDirectory() as scratch:
        keys = {**KERNEL_SIZES, **SIMULATED[scheme]}
        sets = [f"link.path.rate={rate} Mbit/s", f"link.path.delay={rtt / 2} ms", f"link.path.loss={paths.lost(loss, burst)}",
                f"flow.transfer.scheme={scheme}", f"duration={options.time} s", f"measure.interval={1e3 * SAMPLE} ms",
                *(f"scheme.{scheme}.{key}={value}" for key, value in keys.items())]
        words = [options.thalweg, "run", str(paths.SCENARIO), "--quiet", "--seed", str(seed), "--out", f"{scratch}/out"]
        for change in sets:
            words += ["--set", change]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(words)}\n{done.stderr}")
        flow = json.loads(Path(f"{scratch}/out/results.json").read_text())["runs"][0]["flows"][0]
        windows = []
        for line in open(f"{scratch}/out/series.csv", encoding="utf-8"):
            cells = line.rstrip("\n").split(",")
            if cells[2] == "window":
                windows.append((float(cells[5]), round(float(cells[6]), 1)))
    return flow["goodput_bps"], flow["sent_packets"], flow["retransmissions"], windows


# What is done.

def transfer(name, who, seed, options):
    path = PATHS[name]
    if who.startswith("simulated "):
        rate, sent, resent, windows = simulated(path, who.split()[1], seed, options)
    else:
        with paths.network(path, seed) as (names, _):
            if who.startswith("tcp-"):
                rate, sent, resent, windows = kernel(names, who[4:], options)
            else:
                rate, sent, resent, windows = ours(names, who, options, seed == options.seed)
    return {"path": name, "who": who, "seed": seed, "share": rate / (path[0] * 1e6), "sent": sent, "resent": resent,
            "load": os.getloadavg()[0], "windows": windows if seed == options.seed else []}


def alone(arguments):
    """Namespaces and devices have the number of the process in their names, so each transfer has a process."""
    name, who, seed, options = arguments
    for _ in range(2):
        try:
            return transfer(name, who, seed, options)
        except (ValueError, KeyError, subprocess.SubprocessError, OSError) as error:
            failed = f"{type(error).__name__}: {error}"
    return {"path": name, "who": who, "seed": seed, "failed": failed}


def end_well():
    """Takes namespaces down whatever ends the process."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def run(options):
    seeds = range(options.seed, options.seed + options.seeds)
    # Those that are compared stand beside each other in time, too: a slow minute of the machine falls on all of them.
    todo = [(name, who, seed, options) for name in options.paths for seed in seeds for who in options.who]
    with open(options.results, "a", encoding="utf-8") as results, \
            concurrent.futures.ProcessPoolExecutor(options.parallel, initializer=end_well, max_tasks_per_child=1) as pool:
        for record in pool.map(alone, todo):
            results.write(json.dumps(record) + "\n")
            results.flush()
            print(f"{record['path']:11}{record['who']:20}{record['seed']:3}  "
                  + (record.get("failed") or f"{100 * record['share']:6.1f} %  {record['resent']:6} of {record['sent']:7} again"),
                  flush=True)


def measured(options):
    """path -> who -> records."""
    found = {}
    with open(options.results, encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            if "failed" not in record:
                found.setdefault(record["path"], {}).setdefault(record["who"], []).append(record)
    return {name: found[name] for name in PATHS if name in found}


def interval(values):
    """Half of the 95 % interval of the mean, or none."""
    if len(values) < 2:
        return None
    return STUDENT.get(len(values), 1.96) * statistics.stdev(values) / math.sqrt(len(values))


def with_interval(values, digits=1):
    half = interval(values)
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if half is None else f"{mean} ± {half:.{digits}f}"


def table(options):
    found = measured(options)
    print("| path | | goodput, % of the rate: mean | median | best | sent again, % of packets: mean | median |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name, of in found.items():
        for who in [who for who in WHO if who in of] + [who for who in of if who not in WHO]:
            shares = [100 * record["share"] for record in of[who]]
            again = [100 * record["resent"] / record["sent"] for record in of[who] if record["sent"]]
            print(f"| {name} | {who} | {with_interval(shares)} | {statistics.median(shares):.1f} | {max(shares):.1f} | "
                  f"{with_interval(again, 2)} | {statistics.median(again):.2f} |")
    print("\n| beside the kernel's | path | goodput, median | best | sent again, median |")
    print("| --- | --- | ---: | ---: | ---: |")
    for family in FAMILIES.values():
        for who in family[1:]:
            for name, of in found.items():
                if who in of and family[0] in of:
                    print(f"| {who} | {name} | {ratio(of, who, family[0])} |")


def ratio(of, who, other):
    shares = lambda one: [record["share"] for record in of[one]]
    again = lambda one: statistics.median(record["resent"] / max(record["sent"], 1) for record in of[one])
    by = lambda how: f"{100 * (how(shares(who)) / how(shares(other)) - 1):+.1f} %"
    resent = f"{100 * (again(who) / again(other) - 1):+.0f} %" if again(other) else f"{100 * again(who):.2f} % of none"
    return f"{by(statistics.median)} | {by(max)} | {resent}"


# The picture.

WIDTH, LEFT, RIGHT, TOP, HEIGHT, GAP = 860, 64, 16, 54, 170, 62
GREY = "#7d8590"
COLOURS = {"tcp-cubic": "#111111", "cubic": "#0072b2", "cubic:preset=linux": "#e69f00", "simulated cubic": "#d55e00",
           "tcp-bbr": "#111111", "bbr": "#0072b2", "simulated bbr": "#d55e00"}
STYLE = "font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"


def words(x, y, text, size=12, colour=GREY, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{text}</text>'


def panel(top, name, of, family, seconds):
    bdp = paths.bdp_bytes(*PATHS[name][:2]) / 1500
    lines = [(who, of[who][0]["windows"]) for who in family if who in of and of[who][0]["windows"]]
    most = max((window for _, windows in lines for _, window in windows), default=1)
    most = max(min(most, 4 * bdp), bdp)
    x = lambda at: LEFT + at / seconds * (WIDTH - LEFT - RIGHT)
    y = lambda window: top + HEIGHT * (1 - min(window, most) / most)
    rate, rtt = PATHS[name][:2]
    parts = [words(LEFT, top - 10, f"{name}: {rate} Mbit/s, {rtt} ms, a queue of one BDP. Window in packets", 13)]
    for factor in (1, 2):
        if factor * bdp <= most:
            parts.append(f'<path d="M{LEFT} {y(factor * bdp):.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity="0.4"/>')
            parts.append(words(LEFT - 6, y(factor * bdp) + 4, f"{factor} BDP", anchor="end"))
    for at in range(0, int(seconds) + 1, 5):
        parts.append(words(x(at), top + HEIGHT + 16, f"{at} s", anchor="middle"))
    for number, (who, windows) in enumerate(lines):
        path = " ".join(f"{'ML'[place > 0]}{x(at):.1f} {y(window):.1f}"
                        for place, (at, window) in enumerate(point for point in windows if point[0] <= seconds))
        parts.append(f'<path d="{path}" fill="none" stroke="{COLOURS.get(who, GREY)}" stroke-width="1.4"/>')
        parts.append(words(LEFT + 10 + 170 * number, top + HEIGHT + 34, who, 12, COLOURS.get(who, GREY)))
    parts.append(f'<path d="M{LEFT} {top}V{top + HEIGHT}H{WIDTH - RIGHT}" fill="none" stroke="{GREY}"/>')
    return parts


def plot(options):
    found = measured(options)
    first = {name: {who: [record for record in records if record["seed"] == options.seed] or records
                    for who, records in of.items()} for name, of in found.items()}
    panels = [(name, of, family) for name, of in first.items() if name in options.paths for family in FAMILIES.values()
              if any(who in of for who in family)]
    height = TOP + len(panels) * (HEIGHT + GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" style="{STYLE}">',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
             words(LEFT, 20, "Congestion windows of kernel TCP, live and simulated, over one path", 15, "#111111")]
    for number, (name, of, family) in enumerate(panels):
        parts += panel(TOP + number * (HEIGHT + GAP), name, of, family, options.time)
    Path(options.picture).write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "plot", "tcp-client"])
    listed = lambda text: [word for word in text.split(",") if word]
    parser.add_argument("--paths", type=listed, default=None, help=", ".join(PATHS))
    parser.add_argument("--who", type=listed, default=WHO, help="kernel TCP, schemes as bench takes them, \"simulated SCHEME\"")
    parser.add_argument("--time", type=int, default=20, help="seconds of a transfer")
    parser.add_argument("--seed", type=int, default=1, help="the first; its windows are kept")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1, help="so many transfers at once, each over a path of its own")
    parser.add_argument("--results", default="kernels.jsonl")
    parser.add_argument("--picture", default="kernels.svg")
    parser.add_argument("--thalweg", default=str(paths.ROOT / "target/release/thalweg"))
    parser.add_argument("--controller", default="cubic")
    parser.add_argument("--port", type=int, default=paths.PORT)
    options = parser.parse_args()
    if options.what == "tcp-client":
        return tcp_client(options)
    unknown = [name for name in options.paths or [] if name not in PATHS]
    if unknown:
        sys.exit(f"no path is called {unknown[0]}; there are {', '.join(PATHS)}")
    options.paths = options.paths or (list(PATHS) if options.what != "plot" else CLEAN[:1])
    end_well()
    if options.what == "run":
        run(options)
    if options.what in ("run", "table"):
        table(options)
    if options.what == "plot":
        plot(options)


if __name__ == "__main__":
    main()
