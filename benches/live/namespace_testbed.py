"""The test rig that the scripts of this folder share: paths between two namespaces, what crosses them, its recordings, its simulated
twin, and the presentation of results.

Two network namespaces have a TUN device each; between the devices stands the example `tun_path` of thalweg-net. That needs root.
`namespace_testbed.py tcp-server`, `tcp-client`, `echo` and `probe` are the programs that run inside. Only the standard library is used.
"""

import argparse
import collections
import contextlib
import fcntl
import functools
import json
import math
import multiprocessing
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "benches"))

from keyboard_interrupt import SIGINT_EXIT_CODE, run_script  # noqa: E402, F401
from svg_text import GREY, STYLE, svg_text  # noqa: E402

SCENARIO = ROOT / "scenarios" / "difficult-path.toml"
THALWEG = str(ROOT / "target/release/thalweg")
TUN_PATH = str(ROOT / "target/release/examples/tun_path")

NEAR, FAR = "10.99.0.1", "10.99.0.2"
PORT = 4740
TCP_NOTSENT_LOWAT = 25
SAMPLE_INTERVAL_S = 0.05

# Real-time priorities: the path, then the transfers, come before all else that the machine does.
REALTIME_HIGH, REALTIME_LOW = ["chrt", "-r", "2"], ["chrt", "-r", "1"]

# The packets of a handshake that cross the path, there and back, before data and its acknowledgements do.
HANDSHAKE = (3, 2)


def bdp_bytes(rate, rtt):
    return round(rate * 1e6 / 8 * rtt / 1e3)


class Route(collections.namedtuple("Route", "rate rtt loss burst jitter reorder reorder_delay buffer seconds file")):
    """A path: its rate in Mbit/s and round trip in ms; the share lost each way and the mean number of losses in a row; the longest
    jitter of each way in ms, in order; the share held back, and for how many ms at most; the buffer, in products of rate and round
    trip, or in bytes from 1000 on; how long a transfer lasts; or the file that is sent, in MB."""

    @property
    def buffer_bytes(self):
        return self.buffer if self.buffer >= 1000 else round(self.buffer * bdp_bytes(self.rate, self.rtt))

    @property
    def delay(self):
        """What the wire takes one way, in ms: jitter is 0 in the middle of the round trip."""
        return self.rtt / 2 - self.jitter / 2

    def direction_options(self):
        """As `tun_path` takes it."""
        words = [f"rate={self.rate}Mbit/s", f"delay={self.delay}ms", f"buffer={self.buffer_bytes}B", f"loss={self.loss}"]
        if self.burst > 1:
            words.append(f"burst={self.burst}pkt")
        if self.jitter:
            words.append(f"jitter={self.jitter}ms")
        if self.reorder:
            words += [f"reorder={self.reorder}", f"reorder-delay={self.reorder_delay}ms"]
        return ",".join(words)

    def link_settings(self):
        """As `--set` takes it, for scenarios with a link that is called `path`."""
        link = {"rate": f"{self.rate} Mbit/s", "delay": f"{self.delay} ms", "queue": f"{self.buffer_bytes} B", "loss": self.loss_model()}
        if self.jitter:
            link["jitter"] = f"{self.jitter} ms"
        if self.reorder:
            link["reorder"] = f'{{probability = {self.reorder}, delay = "{self.reorder_delay} ms"}}'
        return [f"link.path.{key}={value}" for key, value in link.items()]

    def loss_model(self):
        if self.burst <= 1:
            return self.loss
        # As the relay does it (Gilbert 1960): all is lost in the bad state, nothing in the good one.
        return (f'{{model = "gilbert-elliott", good-to-bad = {self.loss / (self.burst * (1 - self.loss))}, '
                f'bad-to-good = {1 / self.burst}, loss-good = 0, loss-bad = 1}}')


def make_path(rate, rtt, loss=0, burst=1, jitter=0, reorder=0, reorder_delay=0, buffer=1, seconds=20, file=None):
    return Route(rate, rtt, loss, burst, jitter, reorder, reorder_delay, buffer, seconds, file)


# The path.

def open_tun(name):
    """A TUN device of that name."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    IFF_TUN, IFF_NO_PI, TUNSETIFF = 0x0001, 0x1000, 0x400454CA
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def emulate_path(words, first=False):
    """The output of a call of `thalweg shell`; with `first` it comes before all else that the machine does, and its emulator before its
    programs (as root)."""
    words = [*REALTIME_LOW, *map(str, words)] if first else [*map(str, words)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        # A live network has a thread for each group of connected links: all start at once, and then set their priorities.
        left = 10 if first else 0
        while left and running.poll() is None:
            time.sleep(0.05)
            left -= raise_network_threads(running.pid)
        printed, error_text = running.communicate()
    if running.returncode:
        raise SystemExit(f"{' '.join(words)}: {error_text}")
    return printed


def descendants_of(process):
    """A process and all below it, with their command lines."""
    found, todo = {}, [process]
    while todo:
        number = todo.pop()
        # It may end while it is looked at.
        with contextlib.suppress(OSError):
            place = Path(f"/proc/{number}")
            found[number] = (place / "cmdline").read_bytes().split(b"\0")
            todo += (int(child) for thread in (place / "task").iterdir() for child in (thread / "children").read_text().split())
    return found


def raise_network_threads(process):
    """Gives the threads that move packets for a process the first priority; true if there are any."""
    found = False
    for number in descendants_of(process):
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{number}/task").iterdir():
                if (thread / "comm").read_text() == "network\n":
                    os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, os.sched_param(int(REALTIME_HIGH[-1])))
                    found = True
    return found


def run_ip(*words, netns=None):
    subprocess.run(["ip", *(["-n", netns] if netns else []), *words], check=True)


@contextlib.contextmanager
def set_up_network(path, seed, twin=False):
    """Two namespaces, joined by `path`; yields their names and the relay. The fates of packets are those of the simulated `twin`."""
    names = [f"thalweg-{os.getpid()}-{end}" for end in ("near", "far")]
    devices = []
    try:
        for name, address, device in zip(names, (NEAR, FAR), ("near", "far")):
            run_ip("netns", "add", name)
            # Devices have the names of namespaces until they are moved.
            device = f"{device}{os.getpid()}"[:15]
            devices.append(open_tun(device))
            run_ip("link", "set", device, "netns", name)
            # Kernel TCP may use as much memory as it needs for these paths, and nothing but transfers is on them.
            for key, value in [("ipv4.tcp_rmem", "4096 131072 1073741824"), ("ipv4.tcp_wmem", "4096 131072 1073741824"),
                               ("ipv6.conf.all.disable_ipv6", "1")]:
                subprocess.run(["ip", "netns", "exec", name, "sysctl", "-qw", f"net.{key}={value}"], check=True)
            run_ip("addr", "add", f"{address}/24", "dev", device, netns=name)
            run_ip("link", "set", device, "txqueuelen", "20000", "up", netns=name)
        alike = ["path", *map(str, HANDSHAKE)] if twin else []
        relay = subprocess.Popen([*REALTIME_HIGH, TUN_PATH, path.direction_options(), path.direction_options(), str(seed), *alike], stdin=devices[0],
                                 stdout=devices[1], stderr=subprocess.PIPE, text=True)
        try:
            yield names, relay
        finally:
            for name in names:
                subprocess.run(["ip", "netns", "del", name])
            names = []
            for device in devices:
                os.close(device)
            devices = []
            # It ends with its devices, and prints its counters.
            relay.output = wait_for_output(relay, 2, of="stderr")
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name])
        for device in devices:
            os.close(device)


def run_in_namespace(netns, words, **options):
    # The machine may have other load; only the path is measured.
    words = ["ip", "netns", "exec", netns, *REALTIME_LOW, *words]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **options)


def wait_for_output(process, seconds, of="stdout"):
    try:
        outputs = dict(zip(("stdout", "stderr"), process.communicate(timeout=seconds)))
        return outputs[of]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ""


def relay_lateness(relay):
    """The median and the 99 % quantile of the times by which packets left a relay late, in us, once it has ended."""
    found = re.search(r"late: (\d+) (\d+) ns", relay.output)
    return [int(each) / 1e3 for each in found.groups()] if found else [0, 0]


def received_bytes(netns):
    """Bytes that the device of a namespace has received."""
    devices = json.loads(subprocess.run(["ip", "-n", netns, "-s", "-j", "link"], capture_output=True, check=True).stdout)
    return sum(device["stats64"]["rx"]["bytes"] for device in devices if device["ifname"] != "lo")


def exit_on_sigterm():
    """Takes namespaces down whatever ends the process."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


def end_with_parent():
    """The same in a process of `several`, to which Ctrl-C goes as well: the parent says so. Once: what is taken down is taken down."""
    def end(*_):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        sys.exit(SIGINT_EXIT_CODE)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def measure_in_parallel(measure, todo, parallel):
    """Calls `measure` with each of the arguments, several at once, and yields its results in the order of completion. Namespaces and devices have
    the number of the process in their names, so each measurement has a process."""
    with multiprocessing.Pool(parallel, end_with_parent, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(functools.partial(call_measure, measure), todo)


def call_measure(measure, arguments):
    return measure(*arguments)


# Programs that run inside.

def program_command(what, *words):
    return [sys.executable, __file__, what, *map(str, words)]


def tcp_info(connection):
    """What the kernel tells of a sender (struct tcp_info of linux/tcp.h, in part)."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
    word = lambda at: struct.unpack_from("=I", info, at)[0]
    return {"window": word(80), "in_flight": word(24), "segment": word(16), "rtt_ms": word(68) / 1e3,
            "resent": word(100), "sent": word(156)}


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
    """Sends for a time, or a number of bytes, from a time of the monotonic clock on; with a short buffer, all ends soon after."""
    piece = bytes(1 << 16)
    left = options.bytes or math.inf
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.controller.encode())
        connection.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, 1 << 18)
        time.sleep(max(0, options.at - time.monotonic()))
        connection.connect((FAR, options.port))
        connection.setblocking(False)
        started, windows, due = time.monotonic(), [], 0.0
        while (elapsed := time.monotonic() - started) < options.time and left > 0:
            if elapsed >= due:
                windows.append((round(elapsed, 3), tcp_info(connection)["window"]))
                due += SAMPLE_INTERVAL_S
            try:
                left -= connection.send(piece[:int(min(left, len(piece)))])
            except BlockingIOError:
                # Not by select: it would wake up for every acknowledgement.
                time.sleep(0.002)
        connection.setblocking(True)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
        info = tcp_info(connection)
    print(json.dumps({"windows": windows, **info}))


def run_echo(options):
    with socket.socket(type=socket.SOCK_DGRAM) as here:
        here.bind((FAR, options.port))
        while True:
            here.sendto(*here.recvfrom(64))


def run_probe(options):
    """Round trips of small datagrams, in ms, every 50 ms."""
    trips = []
    with socket.socket(type=socket.SOCK_DGRAM) as here:
        here.connect((FAR, options.port))
        here.setblocking(False)
        started, due = time.monotonic(), 0.0
        while (elapsed := time.monotonic() - started) < options.time:
            if elapsed >= due:
                with contextlib.suppress(ConnectionRefusedError):
                    here.send(struct.pack("=d", time.monotonic()))
                due += SAMPLE_INTERVAL_S
            with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
                while True:
                    trips.append(1e3 * (time.monotonic() - struct.unpack("=d", here.recv(64))[0]))
            time.sleep(0.0005)
    trips.sort()
    at = lambda share: trips[min(int(share * len(trips)), len(trips) - 1)] if trips else None
    print(json.dumps({"count": len(trips), "p50": at(0.5), "p95": at(0.95)}))


# Recordings, live and simulated.

EVENT = re.compile(r'\{"time":([0-9.]+),"name":"[a-z]+:([a-z_]+)"')
SENT = re.compile(r'"packet_number":(\d+)\},"raw":\{"length":(\d+)\},"frames":\[\{"frame_type":"(\w+)"(?:,"stream_id":0,"offset":(\d+))?,'
                  r'"length":(\d+)')
RANGE = re.compile(r"\[(\d+),(\d+)\]")
WINDOW = re.compile(r'"congestion_window":(\d+)')
LOST = re.compile(r'"packet_number":(\d+)')


class Recording:
    """A sender's qlog, as `--record` and `run --qlog` write it: what was acknowledged within a time in seconds after the first packet,
    round trips, and over time the window and what was under way, in segments. Simulated ones acknowledge all copies that arrived, and
    tell of each copy right behind the loss that it is for."""

    def __init__(self, file, seconds, is_simulated=False):
        self.acknowledged, self.longest, self.last = 0, 1, 0.0
        self.trips, self.windows, self.in_flight = [], [], []
        sent, seen, first, due, lost_at, sampled = {}, set(), None, 0.0, None, 0
        # The data of packets by the number of its first copy, and the acknowledged part.
        originals, lost, arrived, sizes = {}, None, set(), {}
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                event = EVENT.match(line)
                if not event:
                    continue
                now, what = float(event[1]) / 1e3, event[2]
                if first is None:
                    first = now
                now -= first
                if now > seconds:
                    break
                while sampled * SAMPLE_INTERVAL_S <= now:
                    self.in_flight.append((round(sampled * SAMPLE_INTERVAL_S, 3), len(sent)))
                    sampled += 1
                self.last = now
                if what == "packet_sent":
                    data = SENT.search(line)
                    if not data:
                        # It has no data.
                        continue
                    number, _, _, offset, length = data.groups()
                    if is_simulated and lost is not None:
                        originals[int(number)] = originals.get(lost, lost)
                    lost = None
                    again = offset in seen if offset else lost_at == now
                    if offset:
                        seen.add(offset)
                    self.longest = max(self.longest, int(length))
                    # A copy's round trip may be that of the one before.
                    sent[int(number)] = (None if again else now, int(length))
                elif what == "packet_lost":
                    lost_at, lost = now, int(LOST.search(line)[1])
                    copied = sent.pop(lost, None)
                    if copied:
                        sizes[lost] = copied[1]
                elif what == "packet_received" and "acked_ranges" in line:
                    ranges = [(int(low), int(high)) for low, high in RANGE.findall(line)]
                    for low, high in ranges:
                        for number in range(low, high + 1):
                            original = originals.pop(number, number)
                            if original not in arrived:
                                self.acknowledged += sent[number][1] if number in sent else sizes.get(number, 0)
                                if is_simulated:
                                    arrived.add(original)
                    # Of the packets that one acknowledges the last counts, as receivers may wait before they answer.
                    started = sent.get(max(high for _, high in ranges), (None, 0))[0] if ranges else None
                    if started is not None:
                        self.trips.append(now - started)
                    for low, high in ranges:
                        for number in range(low, high + 1):
                            sent.pop(number, None)
                elif what == "metrics_updated" and now >= due:
                    if window := WINDOW.search(line):
                        # The window counts in segments of what the path takes, which the search for it makes longer.
                        self.windows.append((round(now, 3), round(int(window[1]) / self.longest, 1)))
                        due = now + SAMPLE_INTERVAL_S
        self.trips.sort()

    def trip(self, share):
        """A quantile of the round trips, in ms."""
        return 1e3 * self.trips[min(int(share * len(self.trips)), len(self.trips) - 1)] if self.trips else None


def read_series(folder, name):
    """A series of a simulated run's folder."""
    points = []
    with open(f"{folder}/series.csv", encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split(",")
            if cells[2] == name:
                points.append((round(float(cells[5]), 3), round(float(cells[6]), 1)))
    return points


def run_simulation(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}\n{done.stderr}")
    return done.stdout


def set_options(changes):
    return [word for change in changes for word in ("--set", change)]


# Presentation of results.

# Half of the 95 % interval of a mean, in standard errors, by the number of values (Student's t).
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}


def confidence_interval(values):
    """Half of the 95 % interval of the mean, or none."""
    if len(values) < 2:
        return None
    return STUDENT.get(len(values), 1.96) * statistics.stdev(values) / math.sqrt(len(values))


def with_interval(values, digits=1):
    half = confidence_interval(values)
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if half is None else f"{mean} ± {half:.{digits}f}"


def parse_list(text):
    return [word for word in text.split(",") if word]


def read_records(file):
    if not os.path.exists(file):
        return []
    with open(file, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def names_listed(known):
    """Returns a reader of lists of these names."""
    def read(text):
        found = parse_list(text)
        unknown = [name for name in found if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]}; there are {', '.join(known)}, or none")
        return found
    return read


def or_none(read):
    """Returns a reader of lists for which `none` is the empty list."""
    return lambda text: [] if text.strip() == "none" else read(text)


def schemes_listed(text):
    """Schemes with optional options: an option begins with a name and `=`, after a comma or a colon."""
    found = []
    for word in parse_list(text):
        if found and "=" in word.split(":")[0]:
            found[-1] += "," + word
        else:
            found.append(word)
    return found


# Pictures.

WIDTH, LEFT, RIGHT, TOP, HEIGHT, GAP = 860, 64, 16, 54, 170, 62


def draw_panel(top, title, path, lines, seconds):
    """Windows over time on one path; `lines` are name, colour, and points."""
    bdp = bdp_bytes(path.rate, path.rtt) / 1500
    most = max((window for *_, windows in lines for _, window in windows), default=1)
    most = min(most, 4 * bdp)
    x = lambda at: LEFT + at / seconds * (WIDTH - LEFT - RIGHT)
    y = lambda window: top + HEIGHT * (1 - min(window, most) / most)
    parts = [svg_text(LEFT, top - 10, title, 13)]
    marks = [(factor * bdp, f"{factor} BDP") for factor in (1, 2) if factor * bdp <= most] or [(most, f"{most:.0f}")]
    for window, name in marks:
        parts.append(f'<path d="M{LEFT} {y(window):.1f}H{WIDTH - RIGHT}" stroke="{GREY}" stroke-opacity="0.4"/>')
        parts.append(svg_text(LEFT - 6, y(window) + 4, name, anchor="end"))
    for at in range(0, int(seconds) + 1, 5):
        parts.append(svg_text(x(at), top + HEIGHT + 16, f"{at} s", anchor="middle"))
    named = []
    for name, colour, windows in lines:
        points = " ".join(f"{'ML'[place > 0]}{x(at):.1f} {y(window):.1f}"
                          for place, (at, window) in enumerate(point for point in windows if point[0] <= seconds))
        parts.append(f'<path d="{points}" fill="none" stroke="{colour}" stroke-width="1.4"/>')
        if (name, colour) not in named:
            parts.append(svg_text(LEFT + 10 + 170 * len(named), top + HEIGHT + 34, name, 12, colour))
            named.append((name, colour))
    parts.append(f'<path d="M{LEFT} {top}V{top + HEIGHT}H{WIDTH - RIGHT}" fill="none" stroke="{GREY}"/>')
    return parts


def write_picture(file, title, panels, seconds):
    """Writes panels, each a title, a path and its lines, below each other."""
    height = TOP + len(panels) * (HEIGHT + GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" style="{STYLE}">',
             f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', svg_text(LEFT, 20, title, 15, "#111111")]
    for number, each in enumerate(panels):
        parts += draw_panel(TOP + number * (HEIGHT + GAP), *each, seconds)
    Path(file).write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def paired_records(found, key, order, is_wanted):
    """(row, transport) -> kind -> the wanted records of seeds that have a live and a simulated one, by seed; rows, which `key` names in a
    record, in this order."""
    kinds_of = {}
    for record in found:
        if "failed" not in record and is_wanted(record):
            kinds_of.setdefault((record[key], record["transport"]), {}).setdefault(record["kind"], {})[record["seed"]] = record
    chosen = {}
    for row, kinds in sorted(kinds_of.items(), key=lambda item: (list(order).index(item[0][0]), item[0][1])):
        if seeds := sorted(set(kinds.get("live", {})) & set(kinds.get("simulated", {}))):
            chosen[row] = {kind: [kinds[kind][seed] for seed in seeds] for kind in ("live", "simulated")}
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    programs = {"tcp-server": tcp_server, "tcp-client": tcp_client, "echo": run_echo, "probe": run_probe}
    parser.add_argument("what", choices=programs)
    parser.add_argument("--controller", default="cubic")
    parser.add_argument("--time", type=float, default=20)
    parser.add_argument("--bytes", type=int)
    parser.add_argument("--at", type=float, default=0)
    parser.add_argument("--port", type=int, default=PORT)
    options = parser.parse_args()
    programs[options.what](options)


if __name__ == "__main__":
    # An interrupt of the calling script stops both, and the script reports it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    main()
