//! Rules of the scheme on one link of 100 Mbit/s and 40 ms, with a greedy flow.

use super::*;
use crate::units::Duration;
use std::collections::VecDeque;

const SEGMENT: u32 = 1000;
const RTT: Duration = Duration::from_millis(40);
/// Transmission time of a segment on the link.
const SERVICE: Duration = Duration::from_micros(80);

/// Returns an acknowledgement at `now` on a path of 100 ms; the segment was sent once if there is a round-trip time.
pub(super) fn acked(now: Duration, rtt: Option<Duration>) -> AckSample {
    let shortest = Duration::from_millis(100);
    let path = Path {
        now: Time::ZERO + now,
        outstanding: 10,
        in_flight: 10,
        in_flight_bytes: 10_000,
        smoothed_rtt: shortest,
        min_rtt: shortest,
        segment: SEGMENT,
        next_sequence: 0,
    };
    AckSample {
        path,
        acked: 1,
        acked_bytes: u64::from(SEGMENT),
        counted: 1,
        cumulative: 0,
        sent_at: Time::ZERO + now.saturating_sub(rtt.unwrap_or_default()),
        in_flight_bytes: 10_000,
        rtt,
        ce: 0,
        one_way_delay: None,
        recovering: false,
        app_limited: false,
    }
}

struct Packet {
    number: u64,
    sent_at: Time,
    /// Arrival of its acknowledgement, or, if it is lost, of those around it.
    acked_at: Time,
    is_lost: bool,
    stamp: ThalwegStamp,
}

/// Flow alone on the link.
struct Flow {
    thalweg: Thalweg,
    now: Time,
    /// Time at which the link's queue is empty.
    busy_until: Time,
    paced_until: Time,
    packets: VecDeque<Packet>,
    sent: u64,
    smoothed: Duration,
    shortest: Duration,
    /// Maximum queueing delay of a packet.
    max_queueing: Duration,
    /// Returns true for packet numbers that the path loses.
    loses: fn(u64) -> bool,
}

impl Flow {
    fn new() -> Self {
        Self {
            thalweg: Thalweg::new(&ThalwegConfig::default()),
            now: Time::ZERO,
            busy_until: Time::ZERO,
            paced_until: Time::ZERO,
            packets: VecDeque::new(),
            sent: 0,
            smoothed: Duration::ZERO,
            shortest: Duration::MAX,
            max_queueing: Duration::MAX,
            loses: |_| false,
        }
    }

    /// Returns a flow that left slow start some seconds ago.
    fn steady() -> Self {
        let mut flow = Self::new();
        assert!(flow.run_until(3, |flow| flow.thalweg.phase == Phase::Hold), "slow start ends");
        flow.run_until(3, |_| false);
        flow
    }

    fn path(&self) -> Path {
        let outstanding = self.packets.len() as u32;
        Path {
            now: self.now,
            outstanding,
            in_flight: outstanding,
            in_flight_bytes: u64::from(outstanding * SEGMENT),
            smoothed_rtt: self.smoothed,
            min_rtt: self.shortest,
            segment: SEGMENT,
            next_sequence: self.sent * u64::from(SEGMENT),
        }
    }

    /// Returns the current queueing delay.
    fn queueing(&self) -> Duration {
        self.busy_until.since(self.now)
    }

    fn send(&mut self) {
        let sample = SentSample { path: self.path(), bytes: SEGMENT, retransmission: false };
        let stamp = self.thalweg.on_sent(&sample);
        let is_lost = (self.loses)(self.sent) || self.queueing() > self.max_queueing;
        if !is_lost {
            self.busy_until = self.busy_until.max(self.now) + SERVICE;
        }
        let acked_at = self.busy_until.max(self.now) + RTT;
        self.packets.push_back(Packet { number: self.sent, sent_at: self.now, acked_at, is_lost, stamp });
        self.sent += 1;
        if let Some(rate) = self.thalweg.decision().pacing_rate {
            let gap = Duration::from_secs_f64(8.0 * f64::from(SEGMENT) / rate.as_f64());
            self.paced_until = self.paced_until.max(self.now) + gap;
        }
    }

    fn deliver(&mut self, packet: &Packet) {
        let (path, sent_at) = (self.path(), packet.sent_at);
        if packet.is_lost {
            let sequence = packet.number * u64::from(SEGMENT);
            self.thalweg.on_packet_lost(
                &LostSample { path, sequence, bytes: SEGMENT, sent_at, named: false },
                packet.stamp,
            );
            return;
        }
        let rtt = self.now.since(sent_at);
        self.shortest = self.shortest.min(rtt);
        self.smoothed =
            if self.smoothed.is_zero() { rtt } else { self.smoothed - self.smoothed / 8 + rtt / 8 };
        let sample = AckSample {
            path: self.path(),
            acked: 1,
            acked_bytes: u64::from(SEGMENT),
            counted: 1,
            cumulative: (packet.number + 1) * u64::from(SEGMENT),
            sent_at,
            in_flight_bytes: path.in_flight_bytes,
            rtt: Some(rtt),
            ce: 0,
            one_way_delay: None,
            recovering: false,
            app_limited: false,
        };
        self.thalweg.on_ack(&sample, packet.stamp);
    }

    /// Runs until `done` holds, which is tested after each event; returns false if it does not within `seconds`.
    fn run_until(&mut self, seconds: u64, mut done: impl FnMut(&Self) -> bool) -> bool {
        let end = self.now + Duration::from_secs(seconds);
        while self.now < end {
            let acked_at = self.packets.front().map_or(Time::MAX, |packet| packet.acked_at);
            let may_send = (self.packets.len() as f64) < self.thalweg.decision().window.floor();
            let send_at = if may_send { self.paced_until.max(self.now) } else { Time::MAX };
            self.now = acked_at.min(send_at);
            if send_at < acked_at {
                self.send();
            } else if let Some(packet) = self.packets.pop_front() {
                self.deliver(&packet);
            }
            if done(self) {
                return true;
            }
        }
        false
    }

    /// Runs until the flow responds to losses; returns the window before.
    fn run_until_cut(&mut self) -> f64 {
        let mut before = 0.0;
        let cuts = self.run_until(2, |flow| {
            let cuts = flow.thalweg.loss_probe.is_some();
            before = if cuts { before } else { flow.thalweg.window };
            cuts
        });
        assert!(cuts);
        before
    }
}

/// "Losses": losses that continue at a lower rate are the path's. The reduction is reverted, and the estimate of the
/// path's loss rate rises.
#[test]
fn a_reduction_that_does_not_help_is_undone() {
    let mut flow = Flow::steady();
    flow.loses = |number| number % 100 == 0;
    let before = flow.run_until_cut();
    assert!(flow.thalweg.window < 0.9 * before, "{} of {before}", flow.thalweg.window);
    assert!(flow.run_until(2, |flow| flow.thalweg.loss_probe.is_none()), "its end");
    assert!(flow.thalweg.window >= before, "{} of {before}", flow.thalweg.window);
    assert!(flow.thalweg.path_loss() > 0.0);
    // After a quarter of a million packets earlier observations have no weight.
    flow.run_until(20, |_| false);
    assert!((flow.thalweg.path_loss() - 0.01).abs() < 0.002, "{}", flow.thalweg.path_loss());
    assert!(
        !flow.run_until(5, |flow| flow.thalweg.loss_probe.is_some()),
        "the path loses no more than it did"
    );
}

/// "Losses": losses that stop at a lower rate were the flow's own. The reduction stays, and almost no loss is
/// attributed to the path.
#[test]
fn a_reduction_that_helps_stays() {
    let mut flow = Flow::steady();
    flow.max_queueing = SERVICE * 8;
    let before = flow.run_until_cut();
    assert!(flow.run_until(2, |flow| flow.thalweg.loss_probe.is_none()), "its end");
    assert!(flow.thalweg.window < 0.9 * before, "{} of {before}", flow.thalweg.window);
    assert!(flow.thalweg.path_loss() < 0.002, "{}", flow.thalweg.path_loss());
}

/// "Losses": no path loses more than a quarter. The reduction stays whether it helps or not.
#[test]
fn a_reduction_at_losses_beyond_any_path_stays() {
    let mut flow = Flow::steady();
    flow.loses = |number| number % 3 == 0;
    let before = flow.run_until_cut();
    assert!(flow.run_until(2, |flow| flow.thalweg.loss_probe.is_none()), "its end");
    assert!(flow.thalweg.window < 0.9 * before, "{} of {before}", flow.thalweg.window);
    assert_eq!(flow.thalweg.path_loss(), 0.0);
}

/// "Losses": events count, not packets, since paths lose in bursts. Occasional bursts of four do not cause a reduction.
#[test]
fn a_burst_is_one_loss() {
    let mut flow = Flow::steady();
    flow.loses = |number| number % 1500 < 4;
    assert!(!flow.run_until(3, |flow| flow.thalweg.loss_probe.is_some()));
}

/// "The delay": if no empty path was observed for five seconds, the flow removes more than its own queue for a round
/// trip. So it knows the base delay after a minute too, and its queue is as short as at the start.
#[test]
fn the_queue_is_emptied_now_and_then() {
    let mut flow = Flow::steady();
    let (mut dips, mut began, mut longest) = (0, None, Duration::ZERO);
    flow.run_until(60, |flow| {
        match (began, flow.thalweg.drain_cut > 0.0) {
            (None, true) => (dips, began) = (dips + 1, Some(flow.now)),
            (Some(at), false) => (longest, began) = (longest.max(flow.now.since(at)), None),
            _ => {}
        }
        false
    });
    assert!((8..=12).contains(&dips), "{dips}");
    assert!(longest < RTT * 2, "{longest}");
    assert!(flow.queueing() < Duration::from_millis(5), "{}", flow.queueing());
}

/// "Yield": half of the distance to the rate at which a flow would target the present queue, after eight round trips.
#[test]
fn half_of_the_distance_to_the_fair_rate_is_yielded() {
    let mut flow = Flow::steady().thalweg;
    flow.min_rtt = 0.1;
    (flow.window, flow.yielding) = (1e6, Yielding::default());
    let at = |megabits: f64| Target { constant: 1e-3 }.at(megabits * 125e3, 1000.0, 0.1);
    // The fair share is five eighths of the rate, so the flow yields three sixteenths.
    let gave: Vec<bool> = (0..8).map(|_| flow.yield_share(at(50.0), at(80.0))).collect();
    assert_eq!(gave, [false, false, false, false, false, false, false, true]);
    assert!((flow.window / 1e6 - 13.0 / 16.0).abs() < 1e-9, "{}", flow.window);
}

/// "Start": while the queueing delay is at the target, the window grows by a quarter. A queue only slightly longer
/// loses three quarters of a bandwidth-delay product by the end of slow start, and nine tenths without this rule.
#[test]
fn a_start_slows_down_where_the_queue_is_long_enough() {
    let mut flow = Flow::new();
    flow.max_queueing = Duration::from_micros(4_500);
    let lost = |flow: &Flow| flow.packets.iter().filter(|packet| packet.is_lost).count();
    assert!(flow.run_until(3, |flow| flow.thalweg.phase == Phase::Hold), "slow start ends");
    let product = RTT.as_secs_f64() / SERVICE.as_secs_f64();
    assert!((lost(&flow) as f64) < 0.8 * product, "{} of {product}", lost(&flow));
}

/// "Start": a time-out restarts slow start if acknowledgements have ceased: from half of the initial window to half of
/// the former window, and to nine tenths of a large one. While acknowledgements arrive a large window stays, as a late
/// repair does not reflect the path; slow start, or a small window, is reduced.
#[test]
fn a_time_out_without_acknowledgements_starts_anew() {
    let time_out = |mut flow: Flow, ack_gap: Duration| {
        flow.now += ack_gap;
        let (path, sent_at) = (flow.path(), flow.now - RTT);
        flow.thalweg.on_loss(&LossSample { path, kind: LossKind::Timeout, sent_at, repeated: false });
        flow
    };
    let segments = |count: f64| count * f64::from(SEGMENT);
    let with_window = |count: f64| {
        let mut flow = Flow::steady();
        flow.thalweg.window = segments(count);
        flow
    };
    for (before, share) in [(500.0, 0.9), (100.0, 0.5)] {
        let flow = time_out(with_window(before), RTT * 2);
        assert_eq!(flow.thalweg.phase, Phase::Start { until: share * segments(before) });
        assert_eq!(flow.thalweg.decision().window, 16.0);
        assert!(flow.thalweg.epoch > flow.now, "what was in flight counts no more");
    }
    let before = Flow::steady().thalweg.window;
    let flow = time_out(Flow::steady(), RTT / 2);
    assert_eq!((flow.thalweg.phase, flow.thalweg.window), (Phase::Hold, before));

    let mut starting = Flow::new();
    starting.run_until(1, |flow| flow.thalweg.window > segments(100.0));
    assert!(starting.thalweg.phase != Phase::Hold);
    assert_eq!(time_out(starting, RTT / 2).thalweg.decision().window, 16.0);
    assert_eq!(time_out(with_window(10.0), RTT / 2).thalweg.decision().window, 5.0);
}

/// "Outages": slow start after an outage does not find out the window at which the path is full.
#[test]
fn the_window_is_restored_after_an_outage() {
    let mut flow = Flow::steady();
    let ceiling = flow.thalweg.pace.ceiling;
    flow.now += RTT * 2;
    let (path, sent_at) = (flow.path(), flow.now - RTT);
    flow.thalweg.on_loss(&LossSample { path, kind: LossKind::Timeout, sent_at, repeated: false });
    assert_eq!(flow.thalweg.delay.newest(), 0.0, "the queue of before has gone");
    assert!(flow.run_until(1, |flow| flow.thalweg.phase == Phase::Hold));
    assert_eq!(flow.thalweg.pace.ceiling, ceiling);
}

/// "Losses": after a reverted reduction the window at which the path is full is unknown, if losses had determined it.
#[test]
fn path_losses_do_not_indicate_a_full_path() {
    let mut flow = Flow::steady();
    flow.loses = |number| number % 100 == 0;
    flow.run_until_cut();
    assert!(flow.thalweg.pace.ceiling.is_finite());
    assert!(flow.run_until(2, |flow| flow.thalweg.loss_probe.is_none()), "its end");
    assert!(flow.thalweg.pace.ceiling.is_infinite());
}

/// "Many-flow mode": on a path of a second, a queue of less than a sixteenth of that does not indicate many flows,
/// however much it exceeds the target.
#[test]
fn a_short_queue_on_a_long_path_does_not_indicate_many_flows() {
    let detects_many_flows = |queueing: f64| {
        let mut flow = Flow::steady().thalweg;
        (flow.min_rtt, flow.rtt) = (1.0, 1.0);
        assert!(queueing > 4.0 * flow.target(flow.rate()));
        flow.delay.set_standing(queueing);
        (0..3).for_each(|_| flow.detect_many_flows(Tally::default()));
        flow.many_flows.is_there()
    };
    assert!(!detects_many_flows(0.06));
    assert!(detects_many_flows(0.07));
}

/// "Start": if most packets are lost, slow start ends, even if an application that pauses kept the path's loss rate
/// unknown.
#[test]
fn heavy_losses_end_slow_start() {
    let is_over = |sent, lost| {
        let mut thalweg = Thalweg::new(&ThalwegConfig::default());
        thalweg.round.tally = Tally { sent, lost, events: 1.0 };
        thalweg.overflows()
    };
    assert!(is_over(9000.0, 7000.0));
    assert!(!is_over(9000.0, 4000.0), "half of it comes");
    assert!(!is_over(200.0, 190.0), "first windows of many");
}

/// After an outage the round-trip time is that of the packets not delayed by it, from the first one on.
#[test]
fn an_outage_ends_with_the_first_round_trip_after_it() {
    let mut flow = Flow::steady();
    flow.thalweg.rtt = 10.0;
    let before = flow.packets.front().unwrap().number;
    assert!(flow.run_until(1, |flow| flow.packets.front().is_some_and(|packet| packet.number > before)));
    assert!(flow.thalweg.rtt < 0.1, "{}", flow.thalweg.rtt);
}

/// A host that sleeps for a round trip has few arrivals in it: the window stays unchanged.
#[test]
fn a_sleeping_host_does_not_lower_the_rate_estimate() {
    for (before, expected) in [(2e6, 2e5), (1e4, 5e4 + 4e3)] {
        let mut flow = Flow::steady().thalweg;
        flow.pace = Pace::default();
        flow.window = 2e5;
        let before = Before { rate: before, in_flight: 4e4, ..Before::default() };
        let round = Round { in_flight: 5e4, before, ..Round::default() };
        flow.steer(Time::ZERO, &round, 0.0, 1e4, 0.1);
        assert_eq!(flow.window, expected);
    }
}

/// "Losses", the last guard: no window exceeds twice the arriving data, and an unused window does not grow.
#[test]
fn an_unused_window_does_not_grow() {
    let mut flow = Flow::steady().thalweg;
    flow.pace = Pace::default();
    let round = Round { in_flight: 1e5, ..Round::default() };
    let mut steer = |window: f64, rate: f64| {
        flow.window = window;
        flow.steer(Time::ZERO, &round, 0.0, rate, 0.1);
        flow.window
    };
    assert_eq!(steer(1e6, 1e6), 2e5 + 4e3);
    assert_eq!(steer(2e5, 2e6), 2e5, "half of it was in flight");
    assert!(steer(1e5, 2e6) > 1e5, "all of it was in flight");
}

/// "Marks": the response to a mark is immediate and as CUBIC's, and the flow behaves as CUBIC from then on; no loss is
/// attributed to the path. Slow start ends with half of its window.
#[test]
fn a_mark_is_not_a_path_loss() {
    let mark = |flow: &mut Flow| {
        let (path, sent_at) = (flow.path(), flow.now - RTT);
        flow.thalweg.on_loss(&LossSample { path, kind: LossKind::Mark, sent_at, repeated: false });
    };
    let mut flow = Flow::steady();
    let before = flow.thalweg.decision().window;
    mark(&mut flow);
    let left = flow.thalweg.decision().window / before;
    assert!((left - competition::BETA).abs() < 1e-9, "{left}");
    assert!(flow.thalweg.is_competing() && flow.thalweg.path_loss() == 0.0);
    assert!(flow.run_until(60, |flow| !flow.thalweg.is_competing()), "it finds nobody");

    let mut starting = Flow::new();
    starting.run_until(1, |flow| flow.thalweg.window > 1e5);
    let before = starting.thalweg.window;
    mark(&mut starting);
    assert_eq!((starting.thalweg.window, starting.thalweg.phase), (before / 2.0, Phase::Hold));

    let mut yielding = Flow::steady();
    yielding.thalweg.config.compete = false;
    let before = yielding.thalweg.window;
    mark(&mut yielding);
    assert_eq!(yielding.thalweg.window, competition::BETA * before);
    assert!(!yielding.thalweg.is_competing());
}

/// Delivers a router's message to the flow; with `true` it names the packet that the flow sent last.
fn send_message(flow: &mut Flow, names: bool) {
    let path = flow.path();
    let sequence = (flow.sent - 1) * u64::from(SEGMENT);
    if names {
        let sample = LostSample { path, sequence, bytes: SEGMENT, sent_at: flow.now, named: true };
        flow.thalweg.on_packet_lost(&sample, ThalwegStamp::default());
    }
    let feedback = crate::transport::Feedback { dropped: names.then_some(sequence), rate: None, queue: 0 };
    flow.thalweg.on_feedback(&FeedbackSample { path, feedback, known: false });
}

/// "Messages of routers": a message ends slow start with half of its window.
#[test]
fn a_message_ends_slow_start() {
    let mut flow = Flow::new();
    flow.run_until(1, |flow| flow.thalweg.window > 1e5);
    let before = flow.thalweg.window;
    send_message(&mut flow, false);
    assert_eq!((flow.thalweg.window, flow.thalweg.phase), (before / 2.0, Phase::Hold));
}

/// "Messages of routers": the window falls to the one with half of the target queue, once a round trip. A packet named
/// by a router is not a loss of the path, and starts no loss probe.
#[test]
fn a_message_halves_the_queue() {
    for names in [false, true] {
        let mut flow = Flow::steady();
        let (before, queueing) = (flow.thalweg.window, flow.queueing().as_secs_f64());
        send_message(&mut flow, names);
        let left = flow.thalweg.window;
        assert!((0.5 * before..=0.95 * before).contains(&left), "{left} of {before}");
        (0..9).for_each(|_| send_message(&mut flow, names));
        assert_eq!(flow.thalweg.window, left, "messages of the same round trip");
        flow.run_until(1, |_| false);
        let ratio = flow.queueing().as_secs_f64() / queueing;
        assert!((0.35..0.8).contains(&ratio), "{ratio}");
        assert!(
            flow.thalweg.loss_probe.is_none()
                && flow.thalweg.path_loss() == 0.0
                && !flow.thalweg.is_competing()
        );
        assert_eq!(flow.thalweg.router_feedback.response_ratio, 1.0, "it is alone");
    }
    // A message with a rate, or about congestion already answered, has no effect.
    let mut flow = Flow::steady();
    let (before, path) = (flow.thalweg.window, flow.path());
    let rate = Some(Rate::from_mbits_per_sec(1));
    let rations = crate::transport::Feedback { dropped: None, rate, queue: 0 };
    flow.thalweg.on_feedback(&FeedbackSample { path, feedback: rations, known: false });
    let named = crate::transport::Feedback { dropped: Some(0), rate: None, queue: 0 };
    flow.thalweg.on_feedback(&FeedbackSample { path, feedback: named, known: true });
    assert_eq!(flow.thalweg.window, before);
}

/// "Messages of routers": if the queue does not fall, competing traffic fills it, and warnings are ignored; the
/// response to drops is as CUBIC's.
#[test]
fn warnings_without_effect_on_the_queue_are_ignored() {
    let mut flow = Flow::steady();
    flow.thalweg.router_feedback.response_ratio = 0.1;
    let before = flow.thalweg.window;
    send_message(&mut flow, false);
    assert!(flow.thalweg.is_competing());
    assert!(
        flow.thalweg.window_without_drain() >= before,
        "{} of {before}",
        flow.thalweg.window_without_drain()
    );
    send_message(&mut flow, true);
    let left = flow.thalweg.window_without_drain() / before;
    assert!((left - competition::BETA).abs() < 1e-9, "{left}");
    assert_eq!(flow.thalweg.path_loss(), 0.0);
}
