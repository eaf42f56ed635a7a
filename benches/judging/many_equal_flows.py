"""Many flows of one scheme: whether flows of a scheme that keeps queues short also do so among themselves.

Networks are drawn by a seed: 2 to 100 flows, 1 Mbit/s to 1 Gbit/s, round trips of 10 to 300 ms, queues of 0.25 to 12 products of rate and
round trip, starts together or spread over up to a minute, hosts ideal or late. Counted are the last thirty seconds, which begin at least
ten seconds after the last start.
"""

import math

from . import scenario_runs
from .random_networks import PACKET, SHARE, Draw

SEED = "many/1"
COUNT = 64
# Packets of one run at most, and of a queue at least.
MAX_PACKETS, MIN_QUEUE = 1.6e6, 3
SETTLES, COUNTED = 10, 30
JAIN = 0.95


class ManyFlows:
    """A path, and the flows of the judged scheme on it."""

    def __init__(self, number):
        draw = Draw(f"{SEED}/{number}")
        while True:
            self.flows = draw.integer(2, 100)
            self.rate, self.rtt, self.buffer = draw.log(1, 1000), draw.log(10, 300), draw.log(0.25, 12)
            self.spread = draw.one((0.001, 1, 10, 60))
            self.host = draw.one(("ideal", "linux-server"))
            self.seconds = SETTLES + math.ceil(self.spread) + COUNTED
            packets = self.rate * 1e6 / PACKET
            self.bdp = packets * self.rtt / 1e3
            if packets * self.seconds < MAX_PACKETS and self.buffer * self.bdp >= MIN_QUEUE:
                break
        self.queue = round(self.buffer * self.bdp)
        self.name = f"many-{number}"

    def __str__(self):
        return (f"{self.flows} flows, {self.rate:g} Mbit/s, {self.rtt:g} ms, queue {self.buffer:g} BDP, starts within "
                f"{self.spread:g} s, hosts {self.host}")

    @property
    def asked(self):
        """The queueing delay that `thalweg` aims at with an equal share of the rate, in ms (its design page)."""
        rate = self.rate / self.flows
        scaled = min(1.5 * math.sqrt(100 / rate), self.rtt / 4)
        return min(1, self.rtt / 8) + max(scaled, PACKET / rate / 1e3)

    def scenario(self, spec):
        ends = {"from": "here", "to": "there"}
        scheme = scenario_runs.live_scheme(spec, self.rate, self.rtt)
        flow = {"name": "many", **ends, "count": self.flows, "scheme": scheme, "spread": f"{self.spread} s"}
        if self.host != "ideal":
            flow["host"] = self.host
        # A small datagram now and then, which waits as long as all packets do.
        probe = {"name": "probe", **ends, "scheme": "udp",
                 "workload": {"kind": "cbr", "rate": f"{min(8, 8 * self.rate):g} kbit/s", "packet": "50 B"}}
        link = {"name": "path", "between": ["here", "there"], "rate": f"{self.rate} Mbit/s", "delay": f"{self.rtt / 2} ms",
                "queue": f"{self.queue} pkt"}
        return {"title": f"{self.name}, {spec}", "duration": f"{self.seconds} s", "warmup": f"{self.seconds - COUNTED} s",
                "measure": {"interval": "off"}, "link": [link], "flow": [flow, probe]}


def measure_equal_flows(task, options):
    """The figures of a network with a scheme: queue in ms, loss, Jain's index and share of the rate in use."""
    number, spec = task
    drawn = ManyFlows(number)
    if options.keep:
        scenario_runs.write_scenario(drawn.scenario(spec), options.keep, f"{drawn.name}-{spec.partition(':')[0]}")
    run = scenario_runs.run_scenario(drawn.scenario(spec), options.seed, 1, options.thalweg)[0]
    probe = next(flow for flow in run["flows"] if flow["name"] == "probe")
    group = next(group for group in run["groups"] if group["name"] == "many")
    goodputs = [flow["goodput_bps"] for flow in run["flows"] if flow["name"] != "probe"]
    squares = sum(each * each for each in goodputs)
    return {"queue": 1e3 * (probe["delay_p50_s"] or 0) - drawn.rtt / 2, "loss": group["loss"] or 0,
            "jain": sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else 0,
            "used": sum(goodputs) / (drawn.rate * 1e6 * SHARE)}


def is_short(drawn, figures):
    return figures["queue"] <= 2 * drawn.asked


def run_equal_flows(options):
    """Prints, by scheme, in how many networks each goal is met, and with --only each network."""
    numbers = options.only or range(1, min(options.count, COUNT) + 1)
    tasks = [(number, spec) for spec in options.schemes for number in numbers]
    found = dict(zip(tasks, scenario_runs.run_parallel(lambda task: measure_equal_flows(task, options), tasks, options.jobs)))
    if options.only:
        for (number, spec), figures in found.items():
            drawn = ManyFlows(number)
            print(f"{drawn.name} ({drawn}; {drawn.asked:.1f} ms asked)\n  {spec}: queue {figures['queue']:.1f} ms, "
                  f"loss {100 * figures['loss']:.2f} %, Jain's index {figures['jain']:.3f}, {100 * figures['used']:.1f} % of the rate")
        return
    print("| scheme | all goals | queue at most twice what `thalweg` asks for | no drops | Jain's index at least 0.95 | loss, mean | "
          "Jain's index, mean |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for spec in options.schemes:
        of = [(ManyFlows(number), found[number, spec]) for number in numbers]
        short = [is_short(*each) for each in of]
        clean = [figures["loss"] == 0 for _, figures in of]
        fair = [figures["jain"] >= JAIN for _, figures in of]
        losses, jains = ([figures[key] for _, figures in of] for key in ("loss", "jain"))
        print(f"| {spec} | {sum(map(all, zip(short, clean, fair)))} | {sum(short)} | {sum(clean)} | {sum(fair)} | "
              f"{100 * sum(losses) / len(of):.2f} % | {sum(jains) / len(of):.3f} |")
    print(f"\nOf {len(numbers)} networks.")
