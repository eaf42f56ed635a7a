#!/usr/bin/env python3
"""Judges schemes in the simulator.

    judge.py goals --schemes cubic,bbr                  what is asked for, path by path, the mean of five seeds
    judge.py goals --schemes "cubic:beta=0.8" --rows P1,P2 --seeds 2 --host ideal
    judge.py train --schemes cubic,bbr                  128 random networks, to tune on: scores, and the worst
    judge.py train --schemes cubic --only 8 --keep DIR  one of them, and its scenario file
    judge.py judge --schemes cubic,bbr                  128 others, that nothing was tuned on
    judge.py final --schemes cubic,bbr                  128 more, for a finished design, once
    judge.py many --schemes cubic,thalweg               64 networks with many flows of one scheme: queue, drops, fairness
    judge.py trade --picture FILE                       loss tolerated by thalweg against harm, as a table and an SVG
    judge.py shown --schemes bbr,cubic --picture FILE   behaviour without a numeric goal, as a table and a page of plots

Schemes are simulated as they are live: with the options that are usual there, packets of the same sizes, and between hosts that
were measured (`host = "linux-server"`). Build first: cargo build --release -p thalweg. Only the standard library is used.

Rows of `goals`: P1 to P8 and A1 are bulk transfers from a cold start, A1-60 is A1 from 40 to 60 s, R1 to S1 files of 50 MB with the start-up of `send`,
F4 four flows of one kind on P1, C0.25, C1 and C4 one flow beside one CUBIC as Linux has it, by the queue in products of rate and
round trip, over 20 s, L0.25, L1 and L4 the same over 60 s.

Runs of random networks are kept in --results FILE, a JSON record a line: of a network, a scheme and an executable that are known
nothing is run again. `--reuse cubic,bbr` takes what other builds of the program had of these.
"""

import argparse
import re
import sys

from judging import (
    behaviour_experiments, loss_tolerance_tradeoff, many_equal_flows, path_goals, random_network_scores, random_networks, scenario_runs,
)
from keyboard_interrupt import run_script


def parse_list(text):
    return [word for word in text.split(",") if word]


def parse_specs(text):
    """Schemes by commas. What has an equals sign goes on with the options of the scheme before it."""
    return re.split(r",(?![^,:]*=)", text)


def select_names(names, all_names, kind):
    unknown = [name for name in names if name not in all_names]
    if unknown:
        sys.exit(f"no {kind} is called {unknown[0]}; there are {', '.join(all_names)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["goals", "train", "judge", "final", "many", "shown", "trade"])
    parser.add_argument("--schemes", type=parse_specs, default=["cubic", "bbr", "sscop-rate"], help="as send takes them")
    parser.add_argument("--rows", type=parse_list, default=path_goals.ROWS)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--count", type=int, default=random_networks.COUNT, help="number of random networks, from the first")
    parser.add_argument("--only", type=lambda text: [int(word) for word in parse_list(text)], help="these of them, by their numbers")
    parser.add_argument("--keep", help="a folder to write scenario files into")
    parser.add_argument("--picture", help="of shown and trade: the plots, as SVG")
    parser.add_argument("--results", default=str(scenario_runs.ROOT / "target/judge.jsonl"))
    parser.add_argument("--reuse", type=parse_specs, default=[], help="schemes whose results of other builds will do")
    parser.add_argument("--host", default="linux-server", help="a host of scenarios by its name, or ideal")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="concurrent simulations")
    parser.add_argument("--thalweg", default=scenario_runs.THALWEG)
    options = parser.parse_args()
    select_names(options.rows, path_goals.ROWS, "row")
    try:
        if options.what == "goals":
            path_goals.run_path_goals(options)
        elif options.what == "many":
            many_equal_flows.run_equal_flows(options)
        elif options.what == "trade":
            loss_tolerance_tradeoff.run_trade_off(options)
        elif options.what == "shown":
            behaviour_experiments.print_table(options)
        else:
            random_network_scores.judge_random_networks(options)
    except RuntimeError as error:
        # Scenarios of `shown` are not kept.
        sys.exit(str(error) if options.what == "shown" else scenario_runs.with_scenario_hint(str(error), options.keep))


if __name__ == "__main__":
    run_script(main)
