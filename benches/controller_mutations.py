#!/usr/bin/env python3
"""Introduces deviations in controllers and loss repair, one at a time, and reports which of them tests detect.

    controller_mutations.py                       every deviation, then the score (some minutes)
    controller_mutations.py reno-bytes idle-late  some of them
    controller_mutations.py --of cubic rack       those of some mechanisms
    controller_mutations.py --list                what they are, and where each was seen
    controller_mutations.py --check               only whether each still fits the source, and the copy is a workspace: no build

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

from keyboard_interrupt import run_script

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "deviations"
CRATES = ("thalweg-units", "thalweg-proto")
SOURCE = "crates/thalweg-proto/src"
# A run of the tests takes a few seconds.
TIMEOUT = 300
# Tests expected to detect a deviation, by its file: the tests of its mechanism, to keep a run short.
TESTS = {
    "congestion/bbr": ["--lib", "--test", "delivery"],
    "congestion/delivery": ["--lib", "--test", "delivery"],
    "congestion/cubic": ["--test", "controllers"],
    "congestion/new_reno": ["--test", "controllers"],
    "congestion/hystart": ["--test", "hystart"],
    "congestion/search": ["--lib"],
    "congestion/dctcp": ["--test", "dctcp"],
    "congestion/prague": ["--test", "prague"],
    "congestion/copa": ["--lib", "--test", "copa"],
    "congestion/ledbat_plus_plus": ["--test", "ledbat"],
    "congestion/thalweg": ["--lib"],
    "media/": ["--lib"],
    "window/sender/prr": ["--lib", "--test", "prr"],
    "window/sender/rack": ["--lib", "--test", "rack"],
    "window/sender/probe": ["--test", "rack"],
    "window/sender/undo": ["--test", "rack"],
    "window/sender/f_rto": ["--test", "f_rto"],
    "window/sender/validation": ["--test", "validation"],
    "window/sender/repair": ["--test", "sender", "--test", "rack"],
    "window/background": ["--lib"],
    "window/rtt": ["--lib"],
}

# Name: where it was seen (or "own"), the file, what stands there and what takes its place.
DEVIATIONS = {
    "loss-events": ("quinn 2481: every lost packet counts as a loss event in Startup", "congestion/bbr/loss_response.rs",
                    "+= u32::from(sample.sequence != self.loss.range_end)", "+= 1"),
    "reno-bytes": ("quinn 2481: round trips of a Reno flow are counted in bytes", "congestion/bbr/probe_bw.rs",
                   "(self.target_inflight() / self.smss).min(MAX_ROUNDS_BETWEEN_PROBES)", "self.target_inflight().min(MAX_ROUNDS_BETWEEN_PROBES)"),
    "first-ack": ("quinn 2481: what the first acknowledgement acknowledges never counts as delivered", "congestion/delivery_rate.rs",
                  "self.delivered += sample.acked_bytes;",
                  "self.delivered += if self.rounds > 0 { sample.acked_bytes } else { 0 };"),
    "first-flight": ("quinn 2481: samples of the first flight are thrown away", "congestion/delivery_rate.rs",
                     "unreliable: interval < sample.connection.min_rtt,",
                     "unreliable: interval < sample.connection.min_rtt || stamp.delivered == 0,"),
    "idle-late": ("quiche 1598: idleness is looked for when the packet counts as in flight already", "congestion/bbr/mod.rs",
                  "connection.in_flight_bytes == 0 && self.sampler", "connection.in_flight_bytes + 1 == 0 && self.sampler"),
    "probing-refill": ("ccwg-bbr 10: losses in REFILL bring the short-term bounds down", "congestion/bbr/states_and_gains.rs",
                       "Self::Startup | Self::ProbeRefill | Self::ProbeUp)", "Self::Startup | Self::ProbeUp)"),
    "round-32-bits": ("xquic 552: the end of a round trip has 32 bits", "congestion/delivery_rate.rs",
                      "self.round_end = self.delivered;\n            self.rounds",
                      "self.round_end = u64::from(self.delivered as u32);\n            self.rounds"),
    "quantum": ("ngtcp2 737: the send quantum has no lower bound", "congestion/bbr/control_parameters.rs",
                ".min(MAX_QUANTUM).max(2.0 * self.smss)", ".min(MAX_QUANTUM)"),
    "startup-gain": ("own: 2 in place of 4 ln 2", "congestion/bbr/states_and_gains.rs", "Self::Startup => 2.77", "Self::Startup => 2.0"),
    "drain-gain": ("own: Drain as in version 1", "congestion/bbr/states_and_gains.rs", "Self::Drain => 0.5", "Self::Drain => 0.35"),
    "down-gain": ("own: 0.75 as in version 1", "congestion/bbr/states_and_gains.rs", "Self::ProbeDown => 0.9", "Self::ProbeDown => 0.75"),
    "up-cwnd-gain": ("own: UP has the window of other states", "congestion/bbr/states_and_gains.rs", "Self::ProbeUp => 2.25", "Self::ProbeUp => 2.0"),
    "plateau": ("own: two round trips are a plateau", "congestion/bbr/startup.rs", "PLATEAU_ROUNDS: u32 = 3", "PLATEAU_ROUNDS: u32 = 2"),
    "plateau-limited": ("own: the application's limit counts as a plateau", "congestion/bbr/startup.rs",
                        "|| ack.rs.app_limited || ack.rate", "|| ack.rate"),
    "lost-ranges": ("own: a single range ends Startup", "congestion/bbr/startup.rs", "FULL_LOSS_COUNT: u32 = 6", "FULL_LOSS_COUNT: u32 = 1"),
    "startup-loss": ("own: losses do not end Startup", "congestion/bbr/startup.rs", "self.check_startup_high_loss(ack);", ""),
    "drain-long": ("own: Drain has no end but what is in flight", "congestion/bbr/startup.rs", "DRAIN_ROUNDS: u64 = 3",
                   "DRAIN_ROUNDS: u64 = 1 << 40"),
    "drain-target": ("own: Drain ends at 1.5 bandwidth-delay products", "congestion/bbr/startup.rs",
                     "self.inflight(self.bw, 1.0)\n", "self.inflight(self.bw, 1.5)\n"),
    "limited-samples": ("own: samples that the application limited count", "congestion/bbr/path_model.rs",
                        "(ack.rate >= self.max_bw.get() || !ack.rs.app_limited)", "true"),
    "filter-one": ("own: the filter of the bandwidth has one cycle", "congestion/bbr/path_model.rs", "self.previous_cycle.max(self.now)", "self.now"),
    "filter-stands": ("own: the filter never advances", "congestion/bbr/path_model.rs",
                      "(self.previous_cycle, self.now) = (self.now, 0.0);", "self.previous_cycle = self.previous_cycle.max(self.now);"),
    "headroom": ("own: no headroom", "congestion/bbr/path_model.rs", "(self.inflight_longterm - headroom)", "(self.inflight_longterm)"),
    "min-pipe": ("own: two packets in place of four", "congestion/bbr/control_parameters.rs", "MIN_PIPE: f64 = 4.0", "MIN_PIPE: f64 = 2.0"),
    "cruise-soon": ("own: CRUISE does not wait for the queue to drain", "congestion/bbr/probe_bw.rs",
                    "in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw.get(), 1.0)", "true"),
    "probe-wait": ("own: no time between probes", "congestion/bbr/probe_bw.rs", "MIN_PROBE_WAIT_S: f64 = 2.0", "MIN_PROBE_WAIT_S: f64 = 0.0"),
    "slope": ("own: the long-term bound grows by one segment a round trip", "congestion/bbr/probe_bw.rs",
              "(self.cycle.up_rounds + 1).min", "(self.cycle.up_rounds).min"),
    "up-stays": ("own: a loss does not end UP", "congestion/bbr/loss_response.rs",
                 "self.start_down(now);\n            // The ack", "// The ack"),
    "limited-bound": ("own: a loss while the application limits sets the long-term bound", "congestion/bbr/loss_response.rs",
                      "if !app_limited {", "if true || app_limited {"),
    "bound-tail": ("own: the long-term bound is what was in flight, without beta's floor", "congestion/bbr/loss_response.rs",
                   "in_flight.max(self.target_inflight() * self.config.beta)", "in_flight.min(self.target_inflight() * 0.3)"),
    "short-term": ("own: losses between probes change nothing", "congestion/bbr/loss_response.rs",
                   "if self.loss.in_round && !self.state.is_accelerating()", "if false && self.loss.in_round"),
    "short-term-kept": ("own: REFILL keeps the short-term bounds", "congestion/bbr/probe_bw.rs",
                        "self.reset_short_term();\n        self.cycle.up_rounds", "self.cycle.up_rounds"),
    "rtt-interval": ("own: ProbeRTT every 10 s, as in version 1", "congestion/bbr/config.rs",
                     "probe_rtt_interval: Duration::from_secs(5)", "probe_rtt_interval: Duration::from_secs(10)"),
    "rtt-gain": ("own: ProbeRTT does not lower the window", "congestion/bbr/states_and_gains.rs", "Self::ProbeRtt => 0.5", "Self::ProbeRtt => 1.0"),
    "rtt-short": ("own: ProbeRTT lasts 20 ms", "congestion/bbr/probe_rtt.rs", "Duration::from_millis(200)", "Duration::from_millis(20)"),
    "rtt-startup": ("own: ProbeRTT always leads to ProbeBW", "congestion/bbr/probe_rtt.rs",
                    "        if self.full_bw.is_reached {\n            // The next", "        if true {\n            // The next"),
    "rtt-idle": ("own: ProbeRTT after idleness", "congestion/bbr/probe_rtt.rs", " && !self.idle_restart", ""),
    "rtt-filter": ("own: the shortest round trip counts for ever", "congestion/bbr/probe_rtt.rs",
                   "|| now.since(self.stamp) > MIN_RTT_FILTER", "|| now.since(self.stamp) > MIN_RTT_FILTER * 1000"),
    "rtt-restore": ("own: the window of before ProbeRTT is forgotten", "congestion/bbr/probe_rtt.rs", "self.restore_cwnd();", ""),
    "aggregation": ("own: no room for acknowledgements that come together", "congestion/bbr/control_parameters.rs",
                    "inflight + self.aggregation.extra", "inflight"),
    "undo-state": ("own: undoing does not lead back to the probe", "congestion/bbr/loss_response.rs", "!probes_rtt => self.start_refill()",
                   "!probes_rtt => {}"),
    "undo-bounds": ("own: undoing leaves the long-term bound", "congestion/bbr/loss_response.rs",
                    "self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);", ""),
    "undo-window": ("own: undoing leaves the window", "congestion/bbr/loss_response.rs",
                    "self.loss.episode = None;\n        self.restore_cwnd();", "self.loss.episode = None;"),
    "timeout-window": ("own: a timeout leaves the window", "congestion/bbr/loss_response.rs", "self.cwnd = in_flight + self.smss;", ""),
    "save-late": ("own: state is saved when a probe was ended by the loss", "congestion/bbr/loss_response.rs",
                  "self.begin_episode(sample.connection.next_sequence, None);\n        self.note_loss();", "self.note_loss();"),
    # CUBIC (RFC 9438).
    "cubic-k": ("RFC 8312: K from the maximum alone, as before RFC 9438", "congestion/cubic.rs",
                "libm::cbrt((self.w_max - self.window) / self.c)", "libm::cbrt(self.w_max * (1.0 - self.beta) / self.c)"),
    "cubic-convergence": ("own: fast convergence by (2 - beta) / 2", "congestion/cubic.rs",
                          "self.window * (1.0 + self.beta) / 2.0", "self.window * (2.0 - self.beta) / 2.0"),
    "cubic-alpha": ("own: the Reno-friendly window grows by a segment from the start", "congestion/cubic.rs",
                    "3.0 * (1.0 - self.beta) / (1.0 + self.beta)", "1.0"),
    "cubic-alpha-stays": ("RFC 8312: it never grows by a segment", "congestion/cubic.rs",
                          "if self.w_est >= self.cwnd_prior { 1.0 }", "if self.w_est >= self.cwnd_prior && false { 1.0 }"),
    "cubic-acked": ("own: an acknowledgement counts once for it, whatever it acknowledges", "congestion/cubic.rs",
                    "self.w_est += alpha * acked / self.window", "self.w_est += alpha / self.window"),
    "cubic-target": ("RFC 8312: no bound of half as much again", "congestion/cubic.rs",
                     "target.clamp(self.window, 1.5 * self.window)", "target.max(self.window)"),
    "cubic-rtt": ("own: the curve of now, not of a round trip on", "congestion/cubic.rs",
                  "self.curve(t + sample.connection.smoothed_rtt.as_secs_f64())", "self.curve(t)"),
    "cubic-timeout": ("own: the maximum of before a timeout stays", "congestion/cubic.rs",
                      "                self.w_max = 0.0;\n", ""),
    "cubic-limited": ("own: idle time is time to grow in", "congestion/cubic.rs",
                      "if sample.app_limited && !sample.recovering {", "if false && sample.app_limited {"),
    "cubic-flight": ("own: the window is multiplied, used or not", "congestion/cubic.rs",
                     "let outstanding = f64::from(sample.connection.outstanding).min(self.window);", "let outstanding = self.window;"),
    "cubic-mark": ("own: a mark does not cut", "congestion/cubic.rs",
                   "LossKind::Detected | LossKind::Mark => self.window = self.ssthresh,",
                   "LossKind::Mark => {}\n            LossKind::Detected => self.window = self.ssthresh,"),
    "cubic-repeated": ("own: the second expiry for a segment lowers the threshold again", "congestion/cubic.rs",
                       "if sample.repeated {", "if false && sample.repeated {"),
    # NewReno (RFC 5681).
    "reno-flight": ("own: half the window, used or not", "congestion/new_reno.rs",
                    "let outstanding = f64::from(sample.connection.outstanding).min(self.window);", "let outstanding = self.window;"),
    "reno-least": ("own: a threshold of one segment", "congestion/new_reno.rs",
                   "MIN_SSTHRESH: f64 = 2.0", "MIN_SSTHRESH: f64 = 1.0"),
    "reno-timeout": ("own: a timeout only halves", "congestion/new_reno.rs", "LossKind::Timeout => 1.0",
                     "LossKind::Timeout => self.ssthresh"),
    "reno-repeated": ("own: the second expiry for a segment halves the threshold again", "congestion/new_reno.rs",
                      "if !sample.repeated {", "if true || sample.repeated {"),
    "reno-limited": ("own: a window that is not used grows", "congestion/new_reno.rs",
                     "!(sample.recovering || sample.app_limited)", "!sample.recovering"),
    "reno-recovering": ("own: it grows while losses are repaired", "congestion/new_reno.rs",
                        "!(sample.recovering || sample.app_limited)", "!sample.app_limited"),
    "reno-restart": ("own: a restart makes a small window larger", "congestion/new_reno.rs",
                     "self.window = self.window.min(self.initial_window);", "self.window = self.initial_window;"),
    "reno-slow-start": ("own: slow start goes on at the threshold", "congestion/new_reno.rs",
                        "if self.window < self.ssthresh {", "if self.window <= self.ssthresh {"),
    # HyStart++ (RFC 9406).
    "hystart-least": ("own: 2 ms are enough", "congestion/hystart_plus_plus.rs", "MIN_RTT_THRESH: Duration = Duration::from_millis(4)",
                      "MIN_RTT_THRESH: Duration = Duration::from_millis(2)"),
    "hystart-most": ("own: no growth above 32 ms is asked for", "congestion/hystart_plus_plus.rs",
                     "MAX_RTT_THRESH: Duration = Duration::from_millis(16)", "MAX_RTT_THRESH: Duration = Duration::from_millis(32)"),
    "hystart-share": ("HyStart: a sixteenth of the round trip", "congestion/hystart_plus_plus.rs", "MIN_RTT_DIVISOR: u64 = 8",
                      "MIN_RTT_DIVISOR: u64 = 16"),
    "hystart-samples": ("own: nine samples", "congestion/hystart_plus_plus.rs", "self.samples < N_RTT_SAMPLE",
                        "self.samples <= N_RTT_SAMPLE"),
    "hystart-rounds": ("own: six rounds", "congestion/hystart_plus_plus.rs", "css.rounds >= CSS_ROUNDS", "css.rounds > CSS_ROUNDS"),
    "hystart-baseline": ("own: compared with the round before the entry", "congestion/hystart_plus_plus.rs",
                         "baseline_min_rtt: self.current_round_min_rtt", "baseline_min_rtt: self.last_round_min_rtt"),
    "hystart-equal": ("own: a round trip as long as at the entry resumes slow start", "congestion/hystart_plus_plus.rs",
                      "self.current_round_min_rtt < css.baseline_min_rtt", "self.current_round_min_rtt <= css.baseline_min_rtt"),
    "hystart-count": ("own: samples are counted on from round to round", "congestion/hystart_plus_plus.rs",
                      "        self.samples = 0;\n        self.css", "        self.css"),
    "hystart-forgets": ("own: the shortest of all rounds is compared", "congestion/hystart_plus_plus.rs",
                        "        self.current_round_min_rtt = INFINITY;\n        self.samples", "        self.samples"),
    "hystart-limit": ("own: an acknowledgement counts once", "congestion/hystart_plus_plus.rs", "LIMIT: u32 = 8", "LIMIT: u32 = 1"),
    "hystart-growth": ("own: half in conservative slow start", "congestion/hystart_plus_plus.rs", "CSS_GROWTH_DIVISOR: f64 = 4.0",
                       "CSS_GROWTH_DIVISOR: f64 = 2.0"),
    # SEARCH.
    "search-threshold": ("own: a quarter is enough", "congestion/search_slow_start_exit.rs", "THRESH: f64 = 0.35", "THRESH: f64 = 0.25"),
    "search-once": ("own: compared with what was delivered, not twice that", "congestion/search_slow_start_exit.rs",
                    "let expected = 2.0 * self.sum_bins", "let expected = 1.0 * self.sum_bins"),
    "search-fraction": ("own: the fraction of a bin does not count", "congestion/search_slow_start_exit.rs",
                        "self.sum_bins(previous - W, previous, fraction)", "self.sum_bins(previous - W, previous, 0.0)"),
    "search-overshoot": ("own: one round trip is taken back", "congestion/search_slow_start_exit.rs", "clock.initial_rtt * 2", "clock.initial_rtt"),
    "search-early": ("own: a decision without a whole window before", "congestion/search_slow_start_exit.rs", "previous >= W &&",
                     "previous > 0 &&"),
    # DCTCP (RFC 8257).
    "dctcp-gain": ("own: alpha is the last window's share", "congestion/dctcp.rs", "self.alpha += self.gain * (share - self.alpha)",
                   "self.alpha = share"),
    "dctcp-whole": ("own: alpha in place of half of it", "congestion/dctcp.rs", "(1.0 - self.alpha / 2.0)", "(1.0 - self.alpha)"),
    "dctcp-often": ("own: every mark cuts", "congestion/dctcp.rs", "} else if sample.cumulative > self.reduced_until {",
                    "} else if true || sample.cumulative > self.reduced_until {"),
    "dctcp-window": ("own: alpha moves with each acknowledgement", "congestion/dctcp.rs",
                     "if sample.cumulative <= self.window_end {", "if false && sample.cumulative <= self.window_end {"),
    "dctcp-grows": ("own: marks let the window grow", "congestion/dctcp.rs", "if sample.ce == 0 {\n",
                    "if sample.ce == 0 || sample.cumulative <= self.reduced_until {\n"),
    "dctcp-loss": ("own: marks cut again in the window that a loss has cut", "congestion/dctcp.rs",
                   "self.reno.on_loss(sample);\n        self.reduced_until = sample.connection.next_sequence;", "self.reno.on_loss(sample);"),
    # Prague.
    "prague-alpha": ("own: marks move alpha from the start", "congestion/prague.rs", "        if self.saw_ce {\n",
                     "        if true || self.saw_ce {\n"),
    "prague-square": ("own: the ratio of round trips, not its square", "congestion/prague.rs", "{ ratio * ratio }", "{ ratio }"),
    "prague-transition": ("own: independent of the round trip at once", "congestion/prague.rs",
                          "self.rounds >= self.config.transition && !", "!"),
    "prague-virtual": ("own: cuts come once a real round trip", "congestion/prague.rs",
                       "            && self.is_virtual_round(self.ecn_reduction.reduced_at, connection.now)\n", ""),
    "prague-both": ("own: a loss halves what CE has left", "congestion/prague.rs",
                    "by_ce.map_or(0.5, |alpha| 1.0 / (2.0 - alpha))", "by_ce.map_or(0.5, |_| 0.5)"),
    "prague-pace": ("own: no faster in slow start", "congestion/prague.rs", "let factor = if self.in_slow_start() { 2.0 }",
                    "let factor = if self.in_slow_start() { 1.0 }"),
    "prague-grow": ("own: marked segments let it grow", "congestion/prague.rs", "sample.acked.saturating_sub(sample.ce)",
                    "sample.acked"),
    "prague-slow-start": ("own: marks do not end slow start", "congestion/prague.rs",
                          "        self.ssthresh = self.ssthresh.min(self.window);\n", ""),
    # Copa.
    "copa-target": ("own: packets queue as if delta were halved", "congestion/copa/mod.rs",
                    "<= self.mode.inverse_delta() * standing_rtt.as_secs_f64();",
                    "<= 2.0 * self.mode.inverse_delta() * standing_rtt.as_secs_f64();"),
    "copa-velocity": ("own: the velocity doubles after one round trip", "congestion/copa/mod.rs",
                      "STEADY_ROUNDS: u32 = 3", "STEADY_ROUNDS: u32 = 1"),
    "copa-pace": ("own: paced at the window for each round trip", "congestion/copa/mod.rs", "PACING_GAIN: f64 = 2.0",
                  "PACING_GAIN: f64 = 1.0"),
    "copa-loss": ("own: a loss cuts in default mode as well", "congestion/copa/mod.rs",
                  "        self.mode.on_loss();\n", "        self.mode.on_loss();\n        self.window = (self.window / 2.0).max(MIN_WINDOW);\n"),
    "copa-unused": ("own: a window that is not used stays", "congestion/copa/mod.rs",
                    "        self.begin_slow_start(window.max(MIN_WINDOW));\n", ""),
    "copa-patience": ("own: it competes after a round trip", "congestion/copa/competitive_mode.rs", "MAX_ROUNDS_WITH_QUEUE: u64 = 5", "MAX_ROUNDS_WITH_QUEUE: u64 = 1"),
    "copa-empty": ("own: a queue is nearly empty below half of the range", "congestion/copa/competitive_mode.rs", "NEARLY_EMPTY: u64 = 10",
                   "NEARLY_EMPTY: u64 = 2"),
    "copa-competes": ("own: 1 / delta grows in a round trip with a loss", "congestion/copa/competitive_mode.rs",
                      "if self.competing && !self.lost {", "if self.competing {"),
    # LEDBAT++.
    "rledbat-shrinks": ("own: the window's edge moves back", "window/rledbat.rs",
                        "base.saturating_add(window as u64).max(advertised)", "base.saturating_add(window as u64)"),
    "rledbat-room": ("own: more is advertised than there is room for", "window/rledbat.rs",
                     "limit.min(base.saturating_add", "limit.max(base.saturating_add"),
    "rledbat-delay": ("own: the round trip without its queue", "window/rledbat.rs",
                      "(round_trip + delay.above(reference))", "(round_trip)"),
    "scream-attack": ("rfc8298bis before late 2025: one gain for both directions of l4s_alpha", "media/congestion_control.rs",
                      "self.alpha *= 1.0 - GAIN_DOWN;", "self.alpha += GAIN_UP * (share - self.alpha);"),
    "scream-marked": ("own: marked bytes grow the window too", "media/congestion_control.rs",
                      "outcome.bytes.saturating_sub(outcome.marked_bytes) as f64", "outcome.bytes as f64"),
    "scream-pending": ("own: losses between two reactions are forgotten", "media/congestion_control.rs", "self.is_loss |= outcome.is_loss;",
                       "self.is_loss = outcome.is_loss;"),
    "scream-closeness": ("own: no caution close to the inflection point", "media/congestion_control.rs", "(scale * scale).clamp(0.1, 1.0)", "1.0"),
    "scream-virtual": ("own: delay cuts beside marks", "media/congestion_control.rs",
                       "(self.delay.last() > half && self.alpha < limit)", "(self.delay.last() > half)"),
    "scream-unused": ("own: a window that was not used is kept", "media/congestion_control.rs",
                      "self.window = self.window.min(self.max_in_flight[1] as f64);", ""),
    "scream-headroom": ("RFC 8298: a headroom of 1.1", "media/congestion_control.rs", "const HEADROOM: f64 = 1.5", "const HEADROOM: f64 = 1.1"),
    "scream-short": ("own: flows below VIRTUAL_RTT grow by the share, not its square", "media/congestion_control.rs", "short * short *", "short *"),
    "scream-average": ("own: qdelay_avg falls as slowly as it rises", "media/queueing_delay.rs",
                       "self.now.min(AVERAGE_GAIN * self.now + (1.0 - AVERAGE_GAIN) * self.average)",
                       "AVERAGE_GAIN * self.now + (1.0 - AVERAGE_GAIN) * self.average"),
    "scream-base": ("own: the base delay is that of the first packet", "media/queueing_delay.rs",
                    ".filter(|base| above(**base) < 0)", ".filter(|_| false)"),
    "scream-losses": ("own: losses do not raise the target", "media/queueing_delay.rs", "1.5 * new", "new"),
    "scream-newly": ("own: lost packets do not count as newly acknowledged bytes", "media/sent_packets.rs",
                     ".map(|sent| u64::from(sent.bytes)).sum()",
                     ".filter(|sent| sent.is_acked).map(|sent| u64::from(sent.bytes)).sum()"),
    "scream-reordering": ("own: no reordering window", "media/sent_packets.rs", "now.since(missed) >= self.reordering", "true"),
    "scream-least-rate": ("own: a full window waits for reports alone", "media/sender.rs", "SenderReason::MinRate, at)", "SenderReason::MinRate, Time::MAX)"),
    "scream-overlap": ("own: reports do not overlap", "media/receiver.rs", "OVERLAP: u64 = 32", "OVERLAP: u64 = 1"),
    "scream-marker": ("own: the end of a frame waits for its report", "media/receiver.rs",
                      "self.is_urgent |= data.is_last || count", "self.is_urgent |= count"),
    "freeze-threshold": ("libwebrtc's other rule: three averages alone", "media/frame_playout.rs",
                         "(average * 3).max(average + FREEZE_EXCESS)", "(average * 3)"),
    "encoder-lag": ("own: the encoder follows at once", "media/video_encoder_model.rs", "now.since(at) >= self.config.reaction", "now >= at"),
    "ledbat-gain": ("own: the target over the round trip, not twice that", "congestion/ledbat_plus_plus.rs", "(2.0 * target / shortest)",
                    "(target / shortest)"),
    "ledbat-least-gain": ("own: a gain of a thirty-second", "congestion/ledbat_plus_plus.rs", "MAX_DIVISOR: f64 = 16.0",
                          "MAX_DIVISOR: f64 = 32.0"),
    "ledbat-start": ("own: slow start up to the target", "congestion/ledbat_plus_plus.rs", "self.config.target * 3 / 4",
                     "self.config.target"),
    "ledbat-often": ("own: each acknowledgement decreases", "congestion/ledbat_plus_plus.rs", "if sample.sent_at >= self.decreased {",
                     "if true || sample.sent_at >= self.decreased {"),
    "ledbat-most": ("own: a decrease may leave nothing", "congestion/ledbat_plus_plus.rs", "change.max(-self.window / 2.0)", "change"),
    "ledbat-apart": ("own: slowdowns take a fifth of the time", "congestion/ledbat_plus_plus.rs", "SLOWDOWN_INTERVAL: u64 = 9", "SLOWDOWN_INTERVAL: u64 = 4"),
    "ledbat-ramp": ("own: a slowdown from the least window never ends", "congestion/ledbat_plus_plus.rs",
                    "self.starting || matches!(self.slowdown, Slowdown::Ramp { .. })", "self.starting"),
    "ledbat-filter": ("own: the last round trip is the delay", "congestion/ledbat_plus_plus.rs", "DELAY_FILTER_SAMPLES: usize = 4", "DELAY_FILTER_SAMPLES: usize = 1"),
    # PRR (RFC 9937).
    "prr-rounds-down": ("own: what is due is rounded down", "window/sender/prr.rs", "due.div_ceil(u128::from(self.recover_fs.max(1)))",
                        "due / u128::from(self.recover_fs.max(1))"),
    "prr-slow-start": ("own: slow start whether safe or not", "window/sender/prr.rs", "if ack.is_safe { smss } else { 0 }", "smss"),
    "prr-bound": ("own: the conservative bound alone", "window/sender/prr.rs", "if ack.is_safe { smss } else { 0 }", "0"),
    "prr-delivered": ("own: what was sent before is held against this acknowledgement", "window/sender/prr.rs",
                      "self.delivered.saturating_sub(self.bytes_out).max(ack.bytes)", "self.delivered.saturating_sub(self.bytes_out)"),
    "prr-first": ("own: the first repair waits", "window/sender/prr.rs", "if self.bytes_out == 0 && send == 0 {",
                  "if false && self.bytes_out == 0 && send == 0 {"),
    "prr-target": ("own: beyond the window", "window/sender/prr.rs", ".min(target - ack.in_flight)", ""),
    "prr-flight": ("own: RecoverFS without the acknowledgement that told of the loss", "window/sender/prr.rs",
                   "prr.recover_fs += bytes;", ""),
    # RACK-TLP (RFC 8985).
    "rack-quarter": ("own: half a round trip", "window/sender/rack.rs", "min_rtt.as_picos() / 4", "min_rtt.as_picos() / 2"),
    "rack-threshold": ("own: a fourth segment", "window/sender/rack.rs", "sacked >= situation.threshold", "sacked > situation.threshold"),
    "rack-repairing": ("own: recovery waits as well", "window/sender/rack.rs", "(situation.repairing || sacked", "(sacked"),
    "rack-persistence": ("own: wider for eight recoveries", "window/sender/rack.rs", "REO_WND_PERSIST: u8 = 16", "REO_WND_PERSIST: u8 = 8"),
    "rack-round": ("own: each needless repair widens", "window/sender/rack.rs", "if needless && self.widening_round_end.is_none() {", "if needless {"),
    "rack-bound": ("own: wider than the smoothed round trip", "window/sender/rack.rs", "wide.min(situation.smoothed_rtt)", "wide"),
    "rack-repaired": ("own: a repair that arrives is reordering", "window/sender/rack.rs", "end < self.highest && !again",
                      "end < self.highest"),
    "rack-ambiguous": ("own: an answer sooner than any is one to the repair", "window/sender/rack.rs",
                       "_ => rtt < min_rtt,", "_ => false,"),
    "rack-late": ("own: a late first transmission is an answer to the repair", "window/sender/rack.rs",
                  "Arrival::Late if is_named => true,", "Arrival::Late if is_named => false,"),
    "rack-which": ("own: any repair that comes is taken for the last one", "window/sender/rack.rs",
                   "if is_named && record.retransmissions == 1 => false,", "if is_named => false,"),
    "rack-beside": ("own: what left beside a repair tells that it is lost", "window/sender/rack.rs",
                    "+ if is_beside {", "+ if false {"),
    "rack-timeout": ("own: the timer takes all for lost", "window/sender/rack.rs", "if at + loss_delay > now {\n                    break",
                     "if false && at + loss_delay > now {\n                    break"),
    "tlp-wait": ("own: one round trip", "window/sender/tail_loss_probe.rs", "(now + smoothed * 2 + answer)", "(now + smoothed + answer)"),
    "tlp-delayed": ("own: no time for a delayed acknowledgement", "window/sender/tail_loss_probe.rs", "if flight == 1 { rack.config.max_ack_delay }",
                    "if flight == 0 { rack.config.max_ack_delay }"),
    "tlp-one": ("own: probes without end", "window/sender/tail_loss_probe.rs", "rack.probe.flight.is_none() && rack.probe.has_rtt_sample",
                "rack.probe.flight.is_none()"),
    "tlp-repair": ("own: a probe that repaired a loss does not cut", "window/sender/tail_loss_probe.rs", "if !flight.is_retransmission || !repaired ||",
                   "if true || !repaired ||"),
    "tlp-needless": ("own: a probe that was not needed cuts", "window/sender/tail_loss_probe.rs", "if !flight.is_retransmission || !repaired ||",
                     "if !flight.is_retransmission ||"),
    "undo-late": ("own: one that came late is enough", "window/sender/spurious_reduction_undo.rs", "if !self.suspects.is_empty() {",
                  "if self.suspects.len() > 1 {"),
    "undo-confirmed": ("own: a repair that was needed does not count", "window/sender/spurious_reduction_undo.rs",
                       "if self.suspects.contains(&start) {\n            self.abandon();",
                       "if self.suspects.contains(&start) {\n            self.clear(start);"),
    # F-RTO (RFC 5682).
    "frto-new": ("own: one new segment", "window/sender/f_rto.rs", "NEW_SEGMENTS: u8 = 2", "NEW_SEGMENTS: u8 = 1"),
    "frto-sacked": ("own: new segments that are selectively acknowledged do not tell", "window/sender/f_rto.rs",
                    "unacknowledged.max(highest) > recovery_point", "unacknowledged > recovery_point"),
    "frto-again": ("own: what a tail probe repaired is proof", "window/sender/f_rto.rs", "outcome.has_original()",
                   "outcome.segments > 0"),
    "frto-duplicate": ("own: a duplicate tells nothing", "window/sender/f_rto.rs",
                       "} else if duplicate && ack.arrival != Arrival::Spurious {", "} else if false && duplicate {"),
    "frto-needless": ("own: the answer to the needless repair is a duplicate", "window/sender/f_rto.rs",
                      "duplicate && ack.arrival != Arrival::Spurious", "duplicate"),
    "frto-first": ("own: the first acknowledgement is proof (as Linux)", "window/sender/f_rto.rs",
                   "            Step::Waiting if advanced => {\n                pending",
                   "            Step::Waiting if outcome.has_original() => self.undo_timeout(now),\n"
                   "            Step::Waiting if advanced => {\n                pending"),
    # Congestion-window validation (RFC 2861, RFC 7661).
    "decay-once": ("own: half, however long it was idle", "window/sender/cwnd_validation.rs", ".min(64);\n", ".min(1);\n"),
    "decay-used": ("own: the window falls to what is used", "window/sender/cwnd_validation.rs",
                   "self.shrink_to(f64::midpoint(window, used), &connection);", "self.shrink_to(used, &connection);"),
    "pipe-period": ("own: five seconds", "window/sender/cwnd_validation.rs", "NONVALIDATED_PERIOD: Duration = Duration::from_secs(300)",
                    "NONVALIDATED_PERIOD: Duration = Duration::from_secs(5)"),
    "pipe-half": ("own: less than the whole window is unused", "window/sender/cwnd_validation.rs",
                  "f64::from(self.config.segment) / 2.0", "f64::from(self.config.segment)"),
    "pipe-cut": ("own: a loss cuts what was allowed", "window/sender/cwnd_validation.rs",
                 "            self.controller.on_window_unused(volume.max(1.0), &connection);\n", ""),
    "pipe-flight": ("own: what was used counts less than what is outstanding", "window/sender/cwnd_validation.rs",
                    "connection.outstanding.max(used)", "connection.outstanding"),
    "pipe-repaired": ("own: what was sent again is not taken off", "window/sender/cwnd_validation.rs",
                      "let share = (1.0 - again / reduction.volume.max(1.0)).max(0.0);", "let share = if again < 0.0 { 0.0 } else { 1.0 };"),
    # The scheme thalweg (docs/design/thalweg-scheme.md).
    "thalweg-blind": ("own: losses are the path's, whatever the lower rate shows", "congestion/thalweg/loss_evidence.rs",
                      "PERSISTING_LOSS_RATIO: RangeInclusive<f64> = 0.7..=3.0", "PERSISTING_LOSS_RATIO: RangeInclusive<f64> = 0.0..=1e9"),
    "thalweg-cut-kept": ("own: a response that did not help is not undone", "congestion/thalweg/mod.rs",
                         "            self.undo_response(window);\n", "            let _ = window;\n"),
    "thalweg-queue-proves": ("own: losses beside a queue may be the path's", "congestion/thalweg/mod.rs",
                             "self.is_provable = is_short && ", "self.is_provable = (is_short || true) && "),
    "thalweg-few-prove": ("own: a flow with a small window proves that losses are the path's", "congestion/thalweg/mod.rs",
                          "const PROOF_WINDOW: f64 = 16.0", "const PROOF_WINDOW: f64 = 0.0"),
    "thalweg-hopeless": ("own: a path may lose any share", "congestion/thalweg/loss_evidence.rs", "const MAX_SHARE: f64 = 0.17", "const MAX_SHARE: f64 = 1.0"),
    "thalweg-uncorrected": ("own: losses at the reduced rate leave what is known", "congestion/thalweg/loss_evidence.rs",
                            "if is_decreased && self.path_losses.events > 0.0 {", "if false {"),
    "thalweg-high-proves": ("own: losses before the response are the path's", "congestion/thalweg/loss_evidence.rs",
                            "            self.path_losses.add_to_memory(low, PATH_MEMORY_PACKETS);\n            (self.trial",
                            "            self.path_losses.add_to_memory(low, PATH_MEMORY_PACKETS);\n"
                            "            self.path_losses.add_to_memory(trial.high, PATH_MEMORY_PACKETS);\n            (self.trial"),
    "thalweg-excess": ("own: an excess of losses is forgotten each round trip", "congestion/thalweg/loss_evidence.rs",
                       "self.excess = self.excess.min(limit);", "self.excess = 0.0;"),
    "thalweg-never-forgets": ("own: overflows take the place of losses that end", "congestion/thalweg/loss_evidence.rs",
                              "if self.deficit > limit {", "if false {"),
    "thalweg-forgets-soon": ("own: losses that are missing by chance have ended", "congestion/thalweg/loss_evidence.rs",
                             "let persisting = PERSISTING_LOSS_RATIO.start() * self.rate();", "let persisting = self.rate();"),
    "thalweg-recovering": ("own: a window does not grow while losses of the path are recovered", "congestion/thalweg/mod.rs",
                           "            && sample.sent_at >= self.epoch\n", "            && !sample.recovering\n"),
    "thalweg-untried": ("own: a response that proves nothing takes the recent losses", "congestion/thalweg/mod.rs",
                        "if cause == Cause::Loss && self.is_provable {\n            self.evidence.begin(before, self.round.tally);\n        } else {",
                        "self.evidence.begin(before, self.round.tally);\n        if cause != Cause::Loss || !self.is_provable {"),
    "thalweg-excess-any": ("own: any excess is congestion", "congestion/thalweg/loss_evidence.rs", "const CHANCE_EVENTS: f64 = 3.0", "const CHANCE_EVENTS: f64 = 0.0"),
    "thalweg-full-target": ("own: a flow that tolerates losses fills the queue as others", "congestion/thalweg/mod.rs",
                            "const TOLERANT_TARGET: f64 = 0.5", "const TOLERANT_TARGET: f64 = 1.0"),
    "thalweg-short-queue": ("own: a loss beside a short queue leaves the target", "congestion/thalweg/mod.rs",
                            "            self.target_share.reduce(now, cubic_window::BETA);\n", ""),
    "thalweg-target-kept": ("own: a target is not restored with the window", "congestion/thalweg/mod.rs",
                            "        self.target_share.undo();\n", ""),
    "thalweg-events": ("own: packets count, not events", "congestion/thalweg/mod.rs",
                       "if sample.sequence == self.lost_until { 0.0 } else { 1.0 }", "1.0"),
    "thalweg-no-drain": ("own: an empty queue is never looked for", "congestion/thalweg/drain_and_competition_test.rs",
                         "        self.delay.begin_drain(now, self.drain_interval);\n", "        if now > Time::ZERO { return false; }\n        self.delay.begin_drain(now, self.drain_interval);\n"),
    "thalweg-drain-alone": ("own: drains begin by the flow's own clock", "congestion/thalweg/queueing_delay.rs",
                            "            self.last_sample = now;\n            if now", "            if now"),
    "thalweg-drain-stays": ("own: the window stays small after a drain", "congestion/thalweg/drain_and_competition_test.rs", "                self.drain.window_reduction = 0.0;\n", ""),
    "thalweg-elastic": ("own: any queue that remains is that of others", "congestion/thalweg/drain_and_competition_test.rs", "const ELASTIC_SHARE: f64 = 0.85", "const ELASTIC_SHARE: f64 = 0.95"),
    "thalweg-longer": ("own: a longer path is a queue for ever", "congestion/thalweg/drain_and_competition_test.rs",
                       "            self.delay.accept_longer_path();\n", ""),
    "thalweg-longer-twice": ("own: drains that follow soon end when the delay changes between two", "congestion/thalweg/drain_and_competition_test.rs",
                             "(repeats < SAME_DRAINS || is_same)", "repeats < SAME_DRAINS"),
    "thalweg-longer-window": ("own: the window given up on a longer path stays small", "congestion/thalweg/drain_and_competition_test.rs",
                              "            self.window = self.window.max(self.drain.peak);\n", ""),
    "thalweg-longer-queue": ("own: the remaining queue of others is the path's", "congestion/thalweg/drain_and_competition_test.rs",
                             "const OTHERS_QUEUE_SHARE: f64 = 0.5", "const OTHERS_QUEUE_SHARE: f64 = 1.0"),
    "thalweg-longer-losses": ("own: losses seconds before a drain end the comparison of drains", "congestion/thalweg/drain_and_competition_test.rs",
                              ".is_some_and(|at| self.start_time.since(at) < self.counted_before)", ".is_some()"),
    "thalweg-longer-jitter": ("own: a delay that a drain left is not tested again", "congestion/thalweg/drain_and_competition_test.rs",
                              "            || remains\n", ""),
    "thalweg-longer-hidden": ("own: a delay that a queue hid is the path's", "congestion/thalweg/drain_and_competition_test.rs",
                              "(self.drain.repeats, self.drain.left_queue) = (0, false);", "self.drain.repeats = 0;"),
    "thalweg-longer-pending": ("own: a flow competes on the longer path that it has accepted", "congestion/thalweg/drain_and_competition_test.rs",
                               "        self.drain.is_pending &= !is_longer_path;\n", ""),
    "thalweg-longer-target": ("own: a path longer by the target is a queue for ever", "congestion/thalweg/drain_and_competition_test.rs",
                              "> steady_state::SHORT_QUEUE_SHARE * target;", "> target;"),
    "thalweg-competes-early": ("own: a flow competes before the drains that may show a longer path", "congestion/thalweg/drain_and_competition_test.rs",
                               "        if self.drain.repeats == 0 {\n            self.compete_if_pending", "        {\n            self.compete_if_pending"),
    "thalweg-competes-on": ("own: one drain ends the competition", "congestion/thalweg/drain_and_competition_test.rs", "const STOPPING_TESTS: u32 = 2", "const STOPPING_TESTS: u32 = 1"),
    "thalweg-sudden": ("own: losses of a bucket that is empty are the path's", "congestion/thalweg/loss_evidence.rs",
                       "if is_enough && trial.is_sudden(low.rate()) {", "if false && is_enough && trial.is_sudden(low.rate()) {"),
    "thalweg-whole": ("own: no window below a segment", "congestion/thalweg/mod.rs", "const MIN_WINDOW: f64 = 0.25", "const MIN_WINDOW: f64 = 1.0"),
    "thalweg-repeated": ("own: a repeated timeout forgets the threshold", "congestion/thalweg/cubic_window.rs",
                         "        if event.repeated {\n", "        if event.repeated {\n            self.ssthresh = self.window;\n"),
    "thalweg-useful": ("own: a window may be any multiple of what arrives", "congestion/thalweg/steady_state.rs", "const MAX_WINDOW_ROUNDS: f64 = 2.0",
                       "const MAX_WINDOW_ROUNDS: f64 = 1e9"),
    "thalweg-unused": ("own: a window grows that is not used", "congestion/thalweg/steady_state.rs",
                       "last.in_flight + self.segment > MIN_USED_SHARE * self.window", "true"),
    "thalweg-gift": ("own: the whole way to the fair rate at once", "congestion/thalweg/yield_share.rs", "PART: f64 = 0.5", "PART: f64 = 1.0"),
    "thalweg-pause": ("own: what was given never comes back, as growth waits for ever", "congestion/thalweg/yield_share.rs",
                      "self.rounds_without_growth = self.rounds_without_growth.saturating_sub(1);", ""),
    "thalweg-patience": ("own: who is alone gives as soon as others", "congestion/thalweg/yield_share.rs",
                         "(2 * self.rounds_before_yield).min(ROUNDS_BEFORE_YIELD.1)",
                         "ROUNDS_BEFORE_YIELD.0"),
    "thalweg-target": ("own: the target does not fall with the rate", "congestion/thalweg/queue_target.rs",
                       "REFERENCE_DELAY * (REFERENCE_RATE / rate.max(1.0)).sqrt()", "REFERENCE_DELAY"),
    "thalweg-start": ("own: slow start doubles until the end", "congestion/thalweg/slow_start.rs", "CONSERVATIVE_GROWTH: f64 = 0.25", "CONSERVATIVE_GROWTH: f64 = 1.0"),
    "thalweg-start-peak": ("own: competing traffic has taken the last window of slow start", "congestion/thalweg/slow_start.rs",
                           "before.min(MAX_REGAINED * self.window)", "before"),
    "thalweg-in-a-row": ("own: any dozen packets that waited", "congestion/thalweg/queueing_delay.rs",
                         "{ self.waited.saturating_add(1) } else { 0 }", "{ self.waited.saturating_add(1) } else { self.waited }"),
    "thalweg-spread": ("own: the spread of delays is not subtracted", "congestion/thalweg/queueing_delay.rs",
                       "- self.uncertainty()).max(0.0)", ").max(0.0)"),
    "thalweg-timeout": ("own: a timeout ends nothing", "congestion/thalweg/mod.rs",
                        "                self.respond(connection, Cause::Timeout { repeated: sample.repeated });\n", ""),
    "thalweg-told-often": ("own: every message of a round trip is answered", "congestion/thalweg/router_feedback.rs",
                           "self.message_holdoff_end = connection.now + connection.smoothed_rtt;", "self.message_holdoff_end = connection.now;"),
    "thalweg-told-path": ("own: a packet that a router names is a loss of the path", "congestion/thalweg/mod.rs",
                          "if sample.named {", "if false && sample.named {"),
    "thalweg-told-others": ("own: warnings that others do not receive are answered", "congestion/thalweg/router_feedback.rs",
                            "is_warning && self.is_competing || sample", "sample"),
    # The retransmission timer and duplicates (RFC 6298, RFC 5681, RFC 3042).
    "rto-variance": ("own: the smoothed time is updated first", "window/rtt_estimator.rs",
                     "let error = self.smoothed.abs_diff(rtt).as_picos();",
                     "let error = (self.smoothed - self.smoothed / 8 + rtt / 8).abs_diff(rtt).as_picos();"),
    "rto-back-off": ("own: no back-off", "window/rtt_estimator.rs", "(self.timeout() * 2).min(config.ceiling)", "self.timeout().min(config.ceiling)"),
    "rto-four": ("own: two deviations", "window/rtt_estimator.rs", "let deviations = self.variation * u64::from(config.deviations);",
                 "let deviations = self.variation * u64::from(config.deviations) / 2;"),
    "limited-flight": ("own: what limited transmit sent is part of FlightSize", "window/sender/recovery_phases.rs",
                       "let limited_transmit_segments = self.dupacks.sent_by_limited_transmit();",
                       "let limited_transmit_segments = 0;"),
    "partial-window": ("own: the whole of a partial acknowledgement deflates the window", "window/sender/recovery_phases.rs",
                       "self.dupacks.take_credit(acked_segments.saturating_sub(1));\n                    if",
                       "self.dupacks.bound_credit(0);\n                    if"),
    "reno-partial": ("own: a partial acknowledgement repairs nothing", "window/sender/recovery_phases.rs",
                     "if self.mark_first_missing_lost(now).is_some() {",
                     "if false {"),
}


def copy_crate(crate):
    return COPY / "crates" / crate


def prepare_copies():
    """A workspace of two crates, as they are."""
    for crate in CRATES:
        shutil.rmtree(copy_crate(crate), ignore_errors=True)
        # With new times: the last build may be of a deviation, and newer than the source.
        shutil.copytree(ROOT / "crates" / crate, copy_crate(crate), copy_function=shutil.copy)
    # Most members are not there.
    manifest = re.sub(r"default-members = \[[^]]*\]\n", "", (ROOT / "Cargo.toml").read_text())
    manifest = re.sub(r"^members = .*", 'members = ["crates/*"]', manifest, flags=re.MULTILINE)
    (COPY / "Cargo.toml").write_text(manifest)
    shutil.copy(ROOT / "Cargo.lock", COPY / "Cargo.lock")


def read_source(file):
    return ROOT / SOURCE / file


def mutations_that_do_not_fit(names):
    """Deviations that do not fit the source."""
    return [name for name in names if read_source(DEVIATIONS[name][1]).read_text().count(DEVIATIONS[name][2]) != 1]


def tests_of(file):
    """The arguments that choose the tests of a file."""
    return next(tests for prefix, tests in TESTS.items() if file.startswith(prefix))


def run_tests(tests):
    """The names of tests that fail. Ends the program where none ran, as then nothing was shown."""
    command = ["cargo", "test", "--offline", "-p", "thalweg-proto", *tests, "--no-fail-fast"]
    environment = {**os.environ, "RUST_BACKTRACE": "0", "CARGO_TARGET_DIR": str(COPY / "target")}
    try:
        done = subprocess.run(command, cwd=COPY, capture_output=True, text=True, timeout=TIMEOUT,
                              env=environment)
    except subprocess.TimeoutExpired:
        return ["no end"]
    if "test result:" not in done.stdout:
        sys.exit(done.stderr)
    return re.findall(r"^test (\S+) \.\.\. FAILED$", done.stdout, re.MULTILINE)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="deviations; all without")
    parser.add_argument("--of", nargs="+", default=[], metavar="FILE", help="those in files of these names: cubic, rack ...")
    parser.add_argument("--list", action="store_true", help="show what they are")
    parser.add_argument("--check", action="store_true", help="only look whether each fits the source, and the copy is a workspace")
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in DEVIATIONS]
    if unknown:
        parser.error(f"no deviation is called {', '.join(unknown)}; --list shows them")
    among = [name for name, (_, file, _, _) in DEVIATIONS.items() if set(Path(file).with_suffix("").parts) & set(args.of)]
    if args.of and not among:
        parser.error("no deviation is in such a file")
    names = args.names + among or list(DEVIATIONS)
    if args.list:
        for name in names:
            print(f"{name:18} {DEVIATIONS[name][0]}")
        return
    if wrong := mutations_that_do_not_fit(names):
        sys.exit(f"the source has changed, and these are not in it exactly once: {', '.join(wrong)}")
    prepare_copies()
    if args.check:
        subprocess.run(["cargo", "metadata", "--offline", "--no-deps", "--format-version", "1"], cwd=COPY, stdout=subprocess.DEVNULL, check=True)
        return
    every = sorted({test for name in names for test in tests_of(DEVIATIONS[name][1]) if test != "--test"})
    chosen = [arg for test in every for arg in ([test] if test == "--lib" else ["--test", test])]
    if failing := run_tests(chosen):
        sys.exit(f"the tests fail without a deviation: {', '.join(failing)}")
    named = 0
    for name in names:
        about, file, before, after = DEVIATIONS[name]
        target = COPY / SOURCE / file
        original = target.read_text()
        target.write_text(original.replace(before, after))
        failing = run_tests(tests_of(file))
        target.write_text(original)
        named += bool(failing)
        tests = ", ".join(test.rsplit("::", 1)[-1] for test in failing[:3]) + (" ..." if len(failing) > 3 else "")
        print(f"{name:18} {tests or 'NOT NAMED: ' + about}", flush=True)
    print(f"{named} of {len(names)} named")


if __name__ == "__main__":
    run_script(main)
