#!/usr/bin/env python3
"""Makes slips in BBR on purpose, one at a time, and tells which of them its tests name.

    deviations.py                       every deviation, then the score (some minutes)
    deviations.py reno-bytes idle-late  some of them
    deviations.py --list                what they are, and where each was seen
    deviations.py --check               only whether each still fits the source: no build

A deviation is a text in the source that another takes the place of. Nothing of it is in the program: a copy of two crates is
changed, under `target/deviations`, where it is built and tested. A deviation is named if a test fails, or does not end. Only
the standard library is used.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "deviations"
CRATES = ("thalweg-units", "thalweg-proto")
SOURCE = "crates/thalweg-proto/src/congestion"
# A run of the tests takes a few seconds.
PATIENCE = 300

# Name: where it was seen (or "own"), the file, what stands there and what takes its place.
DEVIATIONS = {
    "loss-events": ("quinn 2481: every lost packet counts as a loss event in Startup", "bbr/loss.rs",
                    "+= u32::from(sample.sequence != self.loss.range_end)", "+= 1"),
    "reno-bytes": ("quinn 2481: round trips of a Reno flow are counted in bytes", "bbr/probe_bw.rs",
                   "(self.target_inflight() / self.smss).min(MOST_ROUNDS)", "self.target_inflight().min(MOST_ROUNDS)"),
    "first-ack": ("quinn 2481: what the first acknowledgement acknowledges never counts as delivered", "delivery.rs",
                  "self.delivered += sample.acked_bytes;",
                  "self.delivered += if self.rounds > 0 { sample.acked_bytes } else { 0 };"),
    "first-flight": ("quinn 2481: samples of the first flight are thrown away", "delivery.rs",
                     "unreliable: interval < sample.path.min_rtt,",
                     "unreliable: interval < sample.path.min_rtt || stamp.delivered == 0,"),
    "idle-late": ("quiche 1598: idleness is looked for when the packet counts as in flight already", "bbr/mod.rs",
                  "path.in_flight_bytes == 0 && self.sampler", "path.in_flight_bytes + 1 == 0 && self.sampler"),
    "probing-refill": ("ccwg-bbr 10: losses in REFILL bring the short-term bounds down", "bbr/state.rs",
                       "Self::Startup | Self::ProbeRefill | Self::ProbeUp)", "Self::Startup | Self::ProbeUp)"),
    "round-32-bits": ("xquic 552: the end of a round trip has 32 bits", "delivery.rs",
                      "self.round_end = self.delivered;\n            self.rounds",
                      "self.round_end = u64::from(self.delivered as u32);\n            self.rounds"),
    "quantum": ("ngtcp2 737: the send quantum has no lower bound", "bbr/control.rs",
                ".min(MOST_QUANTUM).max(2.0 * self.smss)", ".min(MOST_QUANTUM)"),
    "startup-gain": ("own: 2 in place of 4 ln 2", "bbr/state.rs", "Self::Startup => 2.77", "Self::Startup => 2.0"),
    "drain-gain": ("own: Drain as in version 1", "bbr/state.rs", "Self::Drain => 0.5", "Self::Drain => 0.35"),
    "down-gain": ("own: 0.75 as in version 1", "bbr/state.rs", "Self::ProbeDown => 0.9", "Self::ProbeDown => 0.75"),
    "up-cwnd-gain": ("own: UP has the window of other states", "bbr/state.rs", "Self::ProbeUp => 2.25", "Self::ProbeUp => 2.0"),
    "plateau": ("own: two round trips are a plateau", "bbr/startup.rs", "PLATEAU_ROUNDS: u32 = 3", "PLATEAU_ROUNDS: u32 = 2"),
    "plateau-limited": ("own: the application's limit counts as a plateau", "bbr/startup.rs",
                        "|| ack.rs.app_limited || ack.rate", "|| ack.rate"),
    "lost-ranges": ("own: a single range ends Startup", "bbr/startup.rs", "LOST_RANGES: u32 = 6", "LOST_RANGES: u32 = 1"),
    "startup-loss": ("own: losses do not end Startup", "bbr/startup.rs", "self.check_startup_high_loss(ack);", ""),
    "drain-long": ("own: Drain has no end but what is in flight", "bbr/startup.rs", "DRAIN_ROUNDS: u64 = 3",
                   "DRAIN_ROUNDS: u64 = 1 << 40"),
    "drain-target": ("own: Drain ends at 1.5 bandwidth-delay products", "bbr/startup.rs",
                     "self.inflight(self.bw, 1.0)\n", "self.inflight(self.bw, 1.5)\n"),
    "limited-samples": ("own: samples that the application limited count", "bbr/model.rs",
                        "(ack.rate >= self.max_bw.get() || !ack.rs.app_limited)", "true"),
    "filter-one": ("own: the filter of the bandwidth has one cycle", "bbr/model.rs", "self.before.max(self.now)", "self.now"),
    "filter-stands": ("own: the filter never advances", "bbr/model.rs",
                      "(self.before, self.now) = (self.now, 0.0);", "self.before = self.before.max(self.now);"),
    "headroom": ("own: no headroom", "bbr/model.rs", "(self.inflight_longterm - headroom)", "(self.inflight_longterm)"),
    "min-pipe": ("own: two packets in place of four", "bbr/control.rs", "MIN_PIPE: f64 = 4.0", "MIN_PIPE: f64 = 2.0"),
    "cruise-soon": ("own: CRUISE does not wait for the queue to drain", "bbr/probe_bw.rs",
                    "in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw.get(), 1.0)", "true"),
    "probe-wait": ("own: no time between probes", "bbr/probe_bw.rs", "LEAST_WAIT: f64 = 2.0", "LEAST_WAIT: f64 = 0.0"),
    "slope": ("own: the long-term bound grows by one segment a round trip", "bbr/probe_bw.rs",
              "(self.cycle.up_rounds + 1).min", "(self.cycle.up_rounds).min"),
    "up-stays": ("own: a loss does not end UP", "bbr/loss.rs",
                 "self.start_down(now);\n            // The ack", "// The ack"),
    "limited-bound": ("own: a loss while the application limits sets the long-term bound", "bbr/loss.rs",
                      "if !app_limited {", "if true || app_limited {"),
    "bound-tail": ("own: the long-term bound is what was in flight, without beta's floor", "bbr/loss.rs",
                   "in_flight.max(self.target_inflight() * self.config.beta)", "in_flight.min(self.target_inflight() * 0.3)"),
    "short-term": ("own: losses between probes change nothing", "bbr/loss.rs",
                   "if self.loss.in_round && !self.state.is_accelerating()", "if false && self.loss.in_round"),
    "short-term-kept": ("own: REFILL keeps the short-term bounds", "bbr/probe_bw.rs",
                        "self.reset_short_term();\n        self.cycle.up_rounds", "self.cycle.up_rounds"),
    "rtt-interval": ("own: ProbeRTT every 10 s, as in version 1", "bbr/config.rs",
                     "probe_rtt_interval: Duration::from_secs(5)", "probe_rtt_interval: Duration::from_secs(10)"),
    "rtt-gain": ("own: ProbeRTT does not lower the window", "bbr/state.rs", "Self::ProbeRtt => 0.5", "Self::ProbeRtt => 1.0"),
    "rtt-short": ("own: ProbeRTT lasts 20 ms", "bbr/probe_rtt.rs", "Duration::from_millis(200)", "Duration::from_millis(20)"),
    "rtt-startup": ("own: ProbeRTT always leads to ProbeBW", "bbr/probe_rtt.rs",
                    "        if self.full_bw.reached {\n            // The next", "        if true {\n            // The next"),
    "rtt-idle": ("own: ProbeRTT after idleness", "bbr/probe_rtt.rs", " && !self.idle_restart", ""),
    "rtt-filter": ("own: the shortest round trip counts for ever", "bbr/probe_rtt.rs",
                   "|| now.since(self.stamp) > FILTER", "|| now.since(self.stamp) > FILTER * 1000"),
    "rtt-restore": ("own: the window of before ProbeRTT is forgotten", "bbr/probe_rtt.rs", "self.restore_cwnd();", ""),
    "aggregation": ("own: no room for acknowledgements that come together", "bbr/control.rs",
                    "inflight + self.aggregation.extra", "inflight"),
    "undo-state": ("own: undoing does not lead back to the probe", "bbr/loss.rs", "!probes_rtt => self.start_refill()",
                   "!probes_rtt => {}"),
    "undo-bounds": ("own: undoing leaves the long-term bound", "bbr/loss.rs",
                    "self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);", ""),
    "undo-window": ("own: undoing leaves the window", "bbr/loss.rs",
                    "self.loss.episode = None;\n        self.restore_cwnd();", "self.loss.episode = None;"),
    "timeout-window": ("own: a time-out leaves the window", "bbr/loss.rs", "self.cwnd = in_flight + self.smss;", ""),
    "save-late": ("own: state is saved when a probe was ended by the loss", "bbr/loss.rs",
                  "self.begin_episode(sample.path.next_sequence, None);\n        self.note_loss();", "self.note_loss();"),
}


def copied(crate):
    return COPY / "crates" / crate


def prepare():
    """A workspace of two crates, as they are."""
    for crate in CRATES:
        shutil.rmtree(copied(crate), ignore_errors=True)
        shutil.copytree(ROOT / "crates" / crate, copied(crate))
    manifest = (ROOT / "Cargo.toml").read_text()
    (COPY / "Cargo.toml").write_text(manifest)
    shutil.copy(ROOT / "Cargo.lock", COPY / "Cargo.lock")


def source(file):
    return ROOT / SOURCE / file


def misfits(names):
    """Deviations that do not fit the source."""
    return [name for name in names if source(DEVIATIONS[name][1]).read_text().count(DEVIATIONS[name][2]) != 1]


def tested():
    """The names of tests that fail. Ends the program where none ran, as then nothing was shown."""
    command = ["cargo", "test", "--offline", "-p", "thalweg-proto", "--lib", "--test", "delivery", "--no-fail-fast"]
    environment = {**os.environ, "RUST_BACKTRACE": "0", "CARGO_TARGET_DIR": str(COPY / "target")}
    try:
        done = subprocess.run(command, cwd=COPY, capture_output=True, text=True, timeout=PATIENCE,
                              env=environment)
    except subprocess.TimeoutExpired:
        return ["no end"]
    if "test result:" not in done.stdout:
        sys.exit(done.stderr)
    return re.findall(r"^test (\S+) \.\.\. FAILED$", done.stdout, re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="deviations; all without")
    parser.add_argument("--list", action="store_true", help="show what they are")
    parser.add_argument("--check", action="store_true", help="only look whether each fits the source")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in DEVIATIONS]
    if unknown:
        parser.error(f"no deviation is called {', '.join(unknown)}; --list shows them")
    names = args.names or list(DEVIATIONS)
    if args.list:
        for name in names:
            print(f"{name:18} {DEVIATIONS[name][0]}")
        return
    if wrong := misfits(names):
        sys.exit(f"the source has changed, and these are not in it exactly once: {', '.join(wrong)}")
    if args.check:
        return
    prepare()
    if failing := tested():
        sys.exit(f"the tests fail without a deviation: {', '.join(failing)}")
    named = 0
    for name in names:
        about, file, before, after = DEVIATIONS[name]
        target = COPY / SOURCE / file
        original = target.read_text()
        target.write_text(original.replace(before, after))
        failing = tested()
        target.write_text(original)
        named += bool(failing)
        tests = ", ".join(test.rsplit("::", 1)[-1] for test in failing[:3]) + (" ..." if len(failing) > 3 else "")
        print(f"{name:18} {tests or 'NOT NAMED: ' + about}", flush=True)
    print(f"{named} of {len(names)} named")


if __name__ == "__main__":
    main()
