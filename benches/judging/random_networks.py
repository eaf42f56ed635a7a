"""Random networks for tuning and for scoring schemes.

A set is drawn by its seed, each network by the set's seed and its number, and is the same on every host. The
seeds were written down before any scheme was tuned. A theme takes its turn in every network of sixteen.
"""

import math
import random

from . import scenario_runs
from .path_goals import loss_table

# The seeds of the sets: of what schemes are tuned on, of what judges them afterwards, and of a last set that judges a finished
# design once.
SEEDS = {"train": 1, "judge": 815_719, "final": 20_261_128}
COUNT = 128
PACKET = 12_000  # bits
MAX_PACKETS = 2.5e6  # of one run, where that is long enough for its round trips
SHARE = 1430 / 1500  # of a packet that is payload

RATES = (1.0, 10_000.0)  # Mbit/s
ROUND_TRIPS_MS = (1.0, 600.0)  # ms
BUFFERS = (0.1, 10.0)  # products of rate and round trip


class Draw(random.Random):
    """What is drawn of one network. Only `random()` is used: it is the same in all versions of Python."""

    def between(self, low, high):
        return low + (high - low) * self.random()

    def log(self, low, high):
        """Every factor as likely, to three digits."""
        return float(f"{math.exp(self.between(math.log(low), math.log(high))):.3g}")

    def integer(self, low, high):
        return min(high, round(self.log(low - 0.4, high + 0.4)))

    def one(self, items):
        return items[int(self.random() * len(items))]

    def chance(self, probability):
        return self.random() < probability


class Network:
    """A path with the flows that are judged (`own`), others, and what is possible on it."""

    def __init__(self, kind, number):
        self.name = f"{kind}-{number}"
        self.theme = list(THEMES)[(number - 1) % len(THEMES)]
        draw = Draw(f"{SEEDS[kind]}/{number}")
        self.path(draw)
        self.loss, self.burst = 0.0, 1
        self.host = draw.one(("linux-loaded", "linux-shared")) if self.rate <= 300 and draw.chance(0.12) else "linux-server"
        self.link, self.reverse = {}, {}
        # Groups of flows that are judged: each how many, and keys; others: whole tables.
        self.own, self.others = [{"count": 1}], []
        # The rate that may be had, in Mbit/s; the part of all flows that those judged are, where others compete.
        self.possible, self.fair = self.rate, None
        # How long the wire holds packets beside its delay, in ms.
        self.jitter_ms = 0.0
        self.about = ""
        THEMES[self.theme](self, draw)

    def path(self, draw):
        """A path on which something can be said about flows within the packets that a run may have."""
        while True:
            self.rate, self.rtt, self.buffer = draw.log(*RATES), draw.log(*ROUND_TRIPS_MS), draw.log(*BUFFERS)
            a_second = self.rate * 1e6 / PACKET
            wanted = min(max(30, 0.06 * self.rtt), 60)
            self.seconds = round(max(min(wanted, MAX_PACKETS / a_second), 0.025 * self.rtt, 1), 1)
            if self.bdp >= 4500 and self.seconds * a_second <= 2 * MAX_PACKETS:
                return

    @property
    def competitors(self):
        """The names of others that send the same way."""
        return {other["name"] for other in self.others if other["from"] == "here"}

    @property
    def bdp(self):
        """In bytes."""
        return scenario_runs.difficult_paths.bdp_bytes(self.rate, self.rtt)

    @property
    def queue_bytes(self):
        return max(6000, round(self.buffer * self.bdp))

    def max_flows(self, most):
        """The number of flows of which each sends a few hundred packets and has several in flight."""
        by_time = self.rate * 1e6 / PACKET * self.seconds / 300
        by_buffer = (self.bdp + self.queue_bytes) / 1500 / 2
        return max(2, min(most, int(by_time), int(by_buffer)))

    def scenario(self, spec):
        """With that scheme for the flows that are judged."""
        line = {"name": "path", "between": ["here", "there"], "rate": f"{self.rate:g} Mbit/s", "delay": f"{self.rtt / 2:g} ms",
                "queue": f"{self.queue_bytes} B"}
        if self.loss:
            line["loss"] = loss_table(self.loss, self.burst)
        line.update(self.link)
        if "trace" in line:
            del line["rate"]
        if self.reverse:
            line["reverse"] = self.reverse
        scheme = scenario_runs.live_scheme(spec, self.rate, self.rtt)
        flows = [{"name": f"own-{number}", "from": "here", "to": "there", "scheme": scheme, "host": self.host, **group}
                 for number, group in enumerate(self.own, 1)]
        return {"title": f"{self.name}, {self.theme}: {spec}", "description": str(self), "duration": f"{self.seconds} s",
                "warmup": f"{self.rtt / 2:g} ms", "measure": {"interval": f"{self.seconds / 2} s", "flows": 256},
                "link": [line], "flow": flows + self.others}

    def other(self, name, scheme, **keys):
        self.others.append({"name": name, "from": "here", "to": "there", "scheme": scenario_runs.competing_scheme(scheme), "host": self.host,
                            **keys})

    def __str__(self):
        words = [f"{self.rate:g} Mbit/s", f"{self.rtt:g} ms", f"{self.buffer:g} BDP", f"{self.seconds:g} s", self.host]
        if self.loss:
            words.append(f"{100 * self.loss:.3g} % lost" + (f" in runs of {self.burst}" if self.burst > 1 else ""))
        flows = sum(group["count"] for group in self.own)
        if flows > 1:
            words.append(f"{flows} flows")
        return ", ".join(words + [self.about] * bool(self.about))


# Themes.

def little(network, draw):
    """Some of the networks that are about something else lose a little, too, and some have several flows."""
    if draw.chance(0.3):
        network.loss = draw.log(1e-5, 0.01)
    if draw.chance(0.25):
        network.own[0]["count"] = network.max_flows(draw.integer(2, 8))


def plain(network, draw):
    pass


def uniform(network, draw):
    little(network, draw)
    network.loss = draw.log(1e-4, 0.1)


def bursty(network, draw):
    """Runs of packets, or times in which all is lost that is sent in either direction."""
    little(network, draw)
    network.loss = draw.log(1e-3, 0.1)
    if draw.chance(0.5):
        network.burst = draw.integer(2, 10)
        return
    length = draw.log(1, 50) / 1e3
    at, gone, changes = 0.0, 0.0, []
    while True:
        at -= length / network.loss * math.log(1 - draw.random())
        if at + length >= network.seconds:
            break
        changes += [{"at": f"{at:.6f} s", "loss": 1}, {"at": f"{at + length:.6f} s", "loss": 0}]
        at += length
        gone += length
    network.loss = gone / network.seconds
    network.link = {"loss": 0, "schedule": changes}
    network.about = f"nothing passes for {1e3 * length:.3g} ms now and then"


def trace(network, draw):
    """Capacity that comes and goes: a walk of the rate between a tenth of it and all, as changes of the rate or opportunities."""
    little(network, draw)
    step = draw.log(0.05, min(5, network.seconds / 4))
    now, rates = 1.0, []
    while len(rates) * step < network.seconds:
        now = min(1.0, max(0.1, now * math.exp(draw.between(-0.7, 0.7))))
        rates.append(now)
    mean = sum(rates) / len(rates)
    network.about = f"capacity changes every {step:.3g} s, {mean:.2f} of it in the mean"
    network.possible = network.rate * mean
    if network.rate <= 100 and draw.chance(0.5):
        # Opportunities in milliseconds; the remainder of one is carried over.
        times, due = [], 0.0
        for at in range(int(network.seconds * 1e3)):
            due += network.rate * 1e3 * rates[int(at / 1e3 / step)] / PACKET
            while due >= 1:
                times.append(at + 1)
                due -= 1
        network.link = {"trace": {"tick": "1 ms", "times": times, "period": f"{int(network.seconds * 1e3)} ms"}}
        network.about += ", a trace of opportunities"
    else:
        network.link = {"schedule": [{"at": f"{number * step:.6f} s", "rate": f"{network.rate * share:.6g} Mbit/s"}
                                     for number, share in enumerate(rates)]}


def many(network, draw):
    if draw.chance(0.3):
        network.loss = draw.log(1e-5, 0.01)
    network.own = [{"count": network.max_flows(draw.integer(2, 100)), "spread": f"{network.seconds / 20:.3g} s"}]


def staggered(network, draw):
    count = network.max_flows(draw.integer(2, 8))
    network.own = [{"count": count, "stagger": f"{network.seconds / 2 / count:.3g} s"}]
    network.about = "each starts later"


def unequal(network, draw):
    """Round trips up to ten times as long as the shortest."""
    network.own = []
    times = []
    for _ in range(draw.integer(2, 4)):
        longer = draw.log(1, 10)
        extra = min(longer * network.rtt, 600) - network.rtt
        times.append(f"{network.rtt + max(extra, 0):.3g}")
        access = {"rate": "40 Gbit/s", "delay": "0 s", "source": {"delay": f"{max(extra, 0) / 2:.4g} ms"}}
        network.own.append({"count": 1, "access": access})
    network.about = f"round trips of {', '.join(times)} ms"


def beside(scheme):
    def theme(network, draw):
        others = draw.one((1, 1, 2, 4))
        marks = scheme == "prague" and draw.chance(0.5)
        if marks:
            limit_rtt_for_marking(network)
        network.fair = 1 / (1 + others)
        network.about = f"beside {others} {scheme}"
        start = draw.between(0, network.seconds / 4)
        if draw.chance(0.5):
            network.own[0]["start"] = f"{start:.3g} s"
            network.other(scheme, scheme, count=others)
        else:
            network.other(scheme, scheme, count=others, start=f"{start:.3g} s")
        if marks:
            network.link = {"queue": {"discipline": "dualpi2", "capacity": f"{network.queue_bytes} B"}}
            network.about += " at DualPI2"
    return theme


def short(network, draw):
    load = draw.between(0.05, 0.4)
    mean = draw.log(2e4, 5e5)
    network.other("short", "cubic", workload={"kind": "poisson", "load": f"{100 * load:.3g} %", "size": {
        "distribution": "exponential", "mean": f"{mean:.0f} B"}})
    network.about = f"short flows of {mean / 1e3:.0f} kB in the mean, {100 * load:.0f} % of the rate"


def reverse(network, draw):
    little(network, draw)
    network.other("back", "cubic", count=draw.integer(1, 4))
    network.others[-1].update({"from": "there", "to": "here"})
    # Acknowledgements of what goes the other way, one for two packets.
    network.possible *= 1 - 52 / 3000
    network.about = "others in the other direction"


def policer(network, draw):
    share = draw.log(0.1, 0.8)
    rate = network.rate * share
    burst = max(15_000, rate * 1e6 / 8 * draw.log(0.005, 0.5))
    network.link = {"queue": {"discipline": "policer", "capacity": f"{network.queue_bytes} B", "rate": f"{rate:.4g} Mbit/s",
                              "burst": f"{burst:.0f} B"}}
    # The bucket is full at first.
    network.possible = min(network.rate, rate + 8e-6 * burst / network.seconds)
    network.about = f"a policer of {rate:.3g} Mbit/s with a bucket of {burst / 1e3:.0f} kB"


def aggregation(network, draw):
    little(network, draw)
    every = draw.log(1, min(20, max(2, network.rtt)))
    network.reverse = {"aggregation": {"every": f"{every} ms"}}
    network.about = f"acknowledgements in batches every {every} ms"
    if draw.chance(0.5):
        network.link = {"aggregation": {"every": f"{every} ms"}}
        network.about += ", data too"


def jitter(network, draw):
    if network.rtt < 10:
        network.rtt *= 10
    little(network, draw)
    kind = draw.one(("in order", "wifi", "late", "any order"))
    if kind == "in order":
        most = min(100, network.rtt * draw.log(0.05, 1))
        network.link, network.about = {"jitter": f"{most:.3g} ms"}, f"jitter of {most:.3g} ms in order"
        # A packet waits for the slowest packet on the wire.
        network.jitter_ms = most
    elif kind == "wifi":
        average = network.jitter_ms = draw.between(1, 7)
        network.link = {"jitter": {"distribution": "wifi", "average": f"{average:.3g} ms"}}
        network.about = f"jitter of Wi-Fi of {average:.3g} ms"
    elif kind == "late":
        share, milliseconds = draw.log(0.002, 0.05), draw.log(1, 20)
        network.link = {"jitter": scenario_runs.late_packets_jitter(share, milliseconds)}
        network.about = f"{100 * share:.3g} % of packets {milliseconds:g} ms late"
    else:
        deviation = min(20, network.rtt * draw.log(0.02, 0.2))
        network.jitter_ms = 2 * deviation
        network.link = {"jitter": {"distribution": "normal", "mean": f"{2 * deviation:.3g} ms",
                                   "deviation": f"{deviation:.3g} ms", "in-order": False}}
        network.about = f"normal jitter of {deviation:.3g} ms in no order"


def limit_rtt_for_marking(network):
    """Disciplines that mark are made for round trips of no more than 100 ms."""
    if network.rtt > 100:
        network.rtt = float(f"{network.rtt / 6:.3g}")


def marking(network, draw):
    limit_rtt_for_marking(network)
    little(network, draw)
    discipline = draw.one(("codel", "fq-codel", "pie", "red", "dualpi2"))
    queue = {"discipline": discipline, "capacity": f"{network.queue_bytes} B"}
    if discipline == "red":
        # Thresholds as they were recommended: a part of the buffer.
        packets = network.queue_bytes / 1500
        queue.update({"min-threshold": f"{max(1, round(packets / 6))} pkt", "max-threshold": f"{max(3, round(packets / 2))} pkt"})
    network.link, network.about = {"queue": queue}, discipline


THEMES = {
    "plain": plain, "uniform": uniform, "bursty": bursty, "trace": trace, "many": many, "staggered": staggered,
    "unequal": unequal, "beside-cubic": beside("cubic"), "beside-bbr": beside("bbr"), "beside-prague": beside("prague"),
    "short": short, "reverse": reverse, "policer": policer, "aggregation": aggregation, "jitter": jitter, "marking": marking,
}
