//! Rules of the scheme on one link of 100 Mbit/s and 40 ms, with greedy flows.

mod drain_and_competition_test;
mod router_feedback;

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
    let connection = ConnectionState {
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
        connection,
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
    stamp: Stamp,
}

/// Link that flows share.
struct Link {
    now: Time,
    /// Time at which the queue is empty.
    busy_until: Time,
    rtt: Duration,
    /// Maximum queueing delay of a packet.
    max_queueing: Duration,
    /// Returns true for packet numbers that the path loses.
    loses: fn(u64) -> bool,
}

impl Link {
    fn new() -> Self {
        Self {
            now: Time::ZERO,
            busy_until: Time::ZERO,
            rtt: RTT,
            max_queueing: Duration::MAX,
            loses: |_| false,
        }
    }

    /// Returns the current queueing delay.
    fn queueing(&self) -> Duration {
        self.busy_until.since(self.now)
    }
}

/// Flow on the link.
struct Flow {
    thalweg: Thalweg,
    paced_until: Time,
    packets: VecDeque<Packet>,
    sent: u64,
    smoothed: Duration,
    shortest: Duration,
    is_recovering: bool,
}

impl Flow {
    fn new() -> Self {
        Self {
            thalweg: Thalweg::new(&ThalwegConfig::default()),
            paced_until: Time::ZERO,
            packets: VecDeque::new(),
            sent: 0,
            smoothed: Duration::ZERO,
            shortest: Duration::MAX,
            is_recovering: false,
        }
    }

    fn connection(&self, now: Time) -> ConnectionState {
        let outstanding = self.packets.len() as u32;
        ConnectionState {
            now,
            outstanding,
            in_flight: outstanding,
            in_flight_bytes: u64::from(outstanding * SEGMENT),
            smoothed_rtt: self.smoothed,
            min_rtt: self.shortest,
            segment: SEGMENT,
            next_sequence: self.sent * u64::from(SEGMENT),
        }
    }

    /// Returns the time of the next transmission, if the window allows one.
    fn sends_at(&self, now: Time) -> Time {
        let may_send = (self.packets.len() as f64) < self.thalweg.decision().window.floor();
        if may_send { self.paced_until.max(now) } else { Time::MAX }
    }

    fn acked_at(&self) -> Time {
        self.packets.front().map_or(Time::MAX, |packet| packet.acked_at)
    }

    fn send(&mut self, link: &mut Link) {
        let connection = self.connection(link.now);
        let stamp = self.thalweg.on_sent(&SentSample { connection, bytes: SEGMENT, retransmission: false });
        let is_lost = (link.loses)(self.sent) || link.queueing() > link.max_queueing;
        let free_at = link.busy_until.max(link.now);
        if !is_lost {
            link.busy_until = free_at + SERVICE;
        }
        let acked_at = link.busy_until.max(link.now) + link.rtt;
        self.packets.push_back(Packet { number: self.sent, sent_at: link.now, acked_at, is_lost, stamp });
        self.sent += 1;
        if let Some(rate) = self.thalweg.decision().pacing_rate {
            let gap = Duration::from_secs_f64(8.0 * f64::from(SEGMENT) / rate.as_f64());
            self.paced_until = self.paced_until.max(link.now) + gap;
        }
    }

    fn deliver(&mut self, now: Time) {
        let Some(packet) = self.packets.pop_front() else { return };
        let (connection, sent_at) = (self.connection(now), packet.sent_at);
        if packet.is_lost {
            let sequence = packet.number * u64::from(SEGMENT);
            let sample = LostSample { connection, sequence, bytes: SEGMENT, sent_at, named: false };
            self.thalweg.on_packet_lost(&sample, packet.stamp);
            return;
        }
        let rtt = now.since(sent_at);
        self.shortest = self.shortest.min(rtt);
        self.smoothed =
            if self.smoothed.is_zero() { rtt } else { self.smoothed - self.smoothed / 8 + rtt / 8 };
        let sample = AckSample {
            connection: self.connection(now),
            acked: 1,
            acked_bytes: u64::from(SEGMENT),
            counted: 1,
            cumulative: (packet.number + 1) * u64::from(SEGMENT),
            sent_at,
            in_flight_bytes: connection.in_flight_bytes,
            rtt: Some(rtt),
            ce: 0,
            one_way_delay: None,
            recovering: self.is_recovering,
            app_limited: false,
        };
        self.thalweg.on_ack(&sample, packet.stamp);
    }
}

/// Flows and their link.
struct Network {
    link: Link,
    flows: Vec<Flow>,
}

impl Network {
    fn new() -> Self {
        Self { link: Link::new(), flows: vec![Flow::new()] }
    }

    /// Returns a network of one flow that left slow start some seconds ago.
    fn steady() -> Self {
        let mut network = Self::new();
        assert!(network.run_until(3, |network| !network.thalweg().is_starting), "slow start ends");
        network.run(3);
        network
    }

    fn thalweg(&self) -> &Thalweg {
        &self.flows[0].thalweg
    }

    fn thalweg_mut(&mut self) -> &mut Thalweg {
        &mut self.flows[0].thalweg
    }

    fn window(&self) -> f64 {
        self.thalweg().full_window()
    }

    /// Runs until `done` holds, which is tested after each event; returns false if it does not within `seconds`.
    fn run_until(&mut self, seconds: u64, mut done: impl FnMut(&Self) -> bool) -> bool {
        let end = self.link.now + Duration::from_secs(seconds);
        while self.link.now < end {
            let now = self.link.now;
            let next = |flow: &Flow| flow.acked_at().min(flow.sends_at(now));
            let at = (0..self.flows.len()).min_by_key(|&at| next(&self.flows[at])).expect("a flow");
            let flow = &mut self.flows[at];
            let sends_at = flow.sends_at(now);
            self.link.now = flow.acked_at().min(sends_at);
            if sends_at < flow.acked_at() {
                flow.send(&mut self.link);
            } else {
                flow.deliver(self.link.now);
            }
            if done(self) {
                return true;
            }
        }
        false
    }

    fn run(&mut self, seconds: u64) {
        self.run_until(seconds, |_| false);
    }

    /// Runs until the flow responds to losses; returns the window before.
    fn run_until_response(&mut self) -> f64 {
        let mut before = 0.0;
        let responds = self.run_until(2, |network| {
            let responds = network.thalweg().cubic.is_some();
            before = if responds { before } else { network.window() };
            responds
        });
        assert!(responds);
        before
    }

    /// Reports a timeout after `gap` without acknowledgements.
    fn time_out(&mut self, gap: Duration) {
        self.link.now += gap;
        let (connection, sent_at) = (self.flows[0].connection(self.link.now), self.link.now - RTT);
        let sample = LossSample { connection, kind: LossKind::Timeout, sent_at, repeated: false };
        self.thalweg_mut().on_loss(&sample);
    }

    fn mark(&mut self) {
        let (connection, sent_at) = (self.flows[0].connection(self.link.now), self.link.now - RTT);
        let sample = LossSample { connection, kind: LossKind::Mark, sent_at, repeated: false };
        self.thalweg_mut().on_loss(&sample);
    }
}

fn assert_near(value: f64, wanted: f64) {
    assert!((value / wanted - 1.0).abs() < 1e-9, "{value} for {wanted}");
}

/// "Losses": a loss that is not known to be the path's reduces the window at once, as CUBIC does.
#[test]
fn an_unproven_loss_reduces_the_window_as_cubic_does() {
    let mut network = Network::steady();
    network.link.loses = |number| number % 500 == 0;
    let before = network.run_until_response();
    // The data in flight is slightly less than the window.
    let left = network.window() / before;
    assert!((0.99 * cubic_window::BETA..=cubic_window::BETA).contains(&left), "{left}");
    assert!(network.thalweg().evidence.is_trial());
}

/// "Losses": losses that continue at the reduced rate are the path's. The response is undone, and the estimate of the
/// path's loss rate rises; a path that loses no more than it did is full from then on.
#[test]
fn a_response_that_does_not_help_is_undone() {
    let mut network = Network::steady();
    network.link.loses = |number| number % 100 == 0;
    let before = network.run_until_response();
    let is_proven =
        |network: &Network| network.thalweg().path_loss() > 0.0 && network.thalweg().cubic.is_none();
    assert!(network.run_until(2, is_proven), "the end");
    assert!(network.run_until(2, |network| network.window() > 0.98 * before), "{}", network.window());
    network.run(20);
    let loss = network.thalweg().path_loss();
    // It is a lower bound, from few events.
    assert!((0.005..0.0105).contains(&loss), "{loss}");
    assert!(!network.run_until(5, |network| network.thalweg().cubic.is_some()));
}

/// "Losses": losses up to the tolerated share need no proof, and more are congestion.
#[test]
fn tolerated_losses_need_no_proof() {
    let aggressive = ThalwegConfig { aggressive: true, ..ThalwegConfig::default() };
    assert_eq!(aggressive.tolerated(), 0.15);
    assert_eq!(ThalwegConfig { tolerated_loss: 0.2, ..aggressive }.tolerated(), 0.2);
    assert_eq!(ThalwegConfig { tolerated_loss: 0.05, ..ThalwegConfig::default() }.tolerated(), 0.05);
    for (loses, expected) in
        [((|number| number % 10 == 0) as fn(u64) -> bool, false), (|number| number % 4 == 0, true)]
    {
        let mut network = Network::steady();
        network.thalweg_mut().evidence = Evidence::tolerating(aggressive.tolerated());
        network.link.loses = loses;
        assert_eq!(network.run_until(5, |network| network.thalweg().cubic.is_some()), expected);
    }
}

/// "Losses": losses that stop at the reduced rate were the flow's own. The window stays below the bound, and nothing is
/// attributed to the path.
#[test]
fn a_response_that_helps_stays() {
    let mut network = Network::steady();
    network.link.max_queueing = SERVICE * 8;
    let before = network.run_until_response();
    network.run(1);
    assert!(network.window() < before, "{} of {before}", network.window());
    network.run(20);
    assert_eq!(network.thalweg().path_loss(), 0.0);
}

/// "Losses": no path loses more than a quarter. The response stays whether it helps or not.
#[test]
fn losses_beyond_any_path_are_congestion() {
    let mut network = Network::steady();
    network.link.loses = |number| number % 3 == 0;
    let before = network.run_until_response();
    network.run(5);
    assert!(network.window() < 0.3 * before, "{} of {before}", network.window());
    assert_eq!(network.thalweg().path_loss(), 0.0);
}

/// "Losses": events count, not packets, since paths lose in bursts.
#[test]
fn a_burst_is_one_loss() {
    let mut network = Network::steady();
    network.link.loses = |number| number % 400 < 4;
    network.run(30);
    let loss = network.thalweg().path_loss();
    assert!((0.001..0.003).contains(&loss), "{loss}");
}

/// Returns the delay of a path whose delay scatters by up to `jitter` microseconds.
fn scattered_delay(jitter: u64) -> Delay {
    let mut delay = Delay::new(Duration::from_secs(60));
    for round in 0..40 {
        for packet in 0..100 {
            let now = RTT * round + RTT * packet / 100;
            let late = Duration::from_micros(jitter * (packet * 37 % 100) / 100);
            delay.sample(&acked(now, Some(RTT + late)), 1e-4);
        }
        delay.end_round();
    }
    delay
}

/// "Losses": nothing is proven beside a queue above twice the target, or with less than 16 segments, where the flow may
/// be one of many.
#[test]
fn nothing_is_proven_beside_a_queue_or_with_a_small_window() {
    let tries = |segments: f64, queue: f64, later: f64, jitter: u64| {
        let mut network = Network::steady();
        let thalweg = network.thalweg_mut();
        thalweg.delay = scattered_delay(jitter);
        (thalweg.window, thalweg.evidence) = (segments * f64::from(SEGMENT), Evidence::default());
        thalweg.evidence.count(LossCounts { sent: 1000.0, lost: 10.0, events: 10.0 });
        let before = thalweg.full_window();
        thalweg.is_provable = true;
        let connection = ConnectionState { in_flight: segments as u32, ..acked(RTT, None).connection };
        thalweg.respond(&connection, Cause::Loss);
        thalweg.evidence.count(LossCounts { sent: 1000.0, lost: 10.0, events: 10.0 });
        let target = thalweg.target(thalweg.rate());
        thalweg.evaluate_losses(queue * target, target);
        thalweg.evaluate_losses(later * target, target);
        assert!(!thalweg.evidence.is_trial());
        thalweg.full_window() == before
    };
    assert!(tries(100.0, 1.9, 0.2, 0));
    assert!(!tries(100.0, 1.9, 0.3, 0), "the queue of the former window has drained");
    assert!(tries(100.0, 1.9, 0.3, 2_000), "the delay scatters by more than that");
    assert!(!tries(100.0, 2.1, 0.0, 0), "beside a queue");
    assert!(!tries(22.0, 0.0, 0.0, 0), "0.7 of it is below 16 segments");
    assert!(tries(24.0, 0.0, 0.0, 0));
}

/// "Losses": a loss beside a queue that is not long reduces the share of the target in use, as this queue may be full. Proof
/// that the losses are the path's undoes that, and the flow uses half of its target. (With all of it, a flow that tolerates
/// losses kept a queue of 0.25 BDP full, and a CUBIC flow beside it had 18 % of its rate.)
#[test]
fn a_loss_beside_a_short_queue_shortens_the_target() {
    for (queueing, competing, expected) in [(0, false, cubic_window::BETA), (50, false, 1.0), (0, true, 1.0)]
    {
        let mut network = Network::steady();
        network.link.busy_until += Duration::from_millis(queueing);
        let longest = Duration::from_millis(queueing / 2).as_secs_f64();
        assert!(network.run_until(1, |network| network.thalweg().delay.newest() >= longest));
        let connection = network.flows[0].connection(network.link.now);
        let thalweg = network.thalweg_mut();
        thalweg.is_competing = competing;
        thalweg.respond(&connection, Cause::Loss);
        assert_eq!(thalweg.target_in_use(connection.now, 1.0), expected, "{queueing} ms, {competing}");
        thalweg.undo_response(0.0);
        assert_eq!(thalweg.target_in_use(connection.now, 1.0), 1.0);
    }
    let mut network = Network::steady();
    network.link.loses = |number| number % 100 == 0;
    assert!(network.run_until(2, |network| network.thalweg().path_loss() > 0.0));
    network.run(10);
    let now = network.link.now;
    assert_eq!(network.thalweg_mut().target_in_use(now, 1.0), 0.5);
}

/// "Losses": a flow that is always recovering from losses of the path grows again after an overflow. (CUBIC's window did not
/// grow during recovery, and the flow kept half of the rate at a loss of 10 %.)
#[test]
fn the_recovery_of_known_losses_does_not_limit_the_window() {
    let mut network = Network::steady();
    network.flows[0].is_recovering = true;
    network.link.loses = |number| number % 10 == 0;
    assert!(network.run_until(5, |network| network.thalweg().path_loss() > 0.0));
    network.run(2);
    let before = network.window();
    let connection = network.flows[0].connection(network.link.now);
    let thalweg = network.thalweg_mut();
    thalweg.is_provable = false;
    (0..3).for_each(|_| thalweg.respond(&connection, Cause::Loss));
    assert!(network.window() < 0.4 * before);
    network.run(20);
    assert!(network.window() > 0.9 * before, "{} of {before}", network.window());
}

/// "Losses": packets sent before a response that proves nothing count in the next trial. (After an overflow the last packet or
/// two were compared with the losses at the reduced rate.)
#[test]
fn responses_without_a_trial_leave_recent_losses() {
    let mut network = Network::steady();
    let connection = network.flows[0].connection(network.link.now);
    let thalweg = network.thalweg_mut();
    thalweg.evidence = Evidence::default();
    thalweg.evidence.count(LossCounts { sent: 1000.0, lost: 10.0, events: 10.0 });
    for is_provable in [false, true] {
        thalweg.is_provable = is_provable;
        thalweg.respond(&connection, Cause::Loss);
        assert_eq!(thalweg.evidence.is_trial(), is_provable);
    }
    (0..2).for_each(|_| _ = thalweg.evidence.end_round());
    thalweg.evidence.count(LossCounts { sent: 400.0, lost: 4.0, events: 4.0 });
    let window = thalweg.full_window();
    assert!(thalweg.evidence.decide(window).is_some());
}

/// "Losses": losses that the sender detected spuriously are undone, with the mode before them.
#[test]
fn a_spurious_loss_is_undone() {
    let mut network = Network::steady();
    let before = network.thalweg().clone();
    let connection = network.flows[0].connection(network.link.now);
    let thalweg = network.thalweg_mut();
    thalweg.respond(&connection, Cause::Loss);
    assert!(thalweg.would_undo(&before) && !before.would_undo(thalweg));
    thalweg.on_undo(before.clone(), &connection);
    assert_eq!(thalweg.full_window(), before.full_window());
    assert!(thalweg.cubic.is_none() && !thalweg.evidence.is_trial());
}

/// "Yield": half of the distance to the rate at which a flow would target the present queue, after eight round trips.
#[test]
fn half_of_the_distance_to_the_fair_rate_is_yielded() {
    let mut network = Network::steady();
    let thalweg = network.thalweg_mut();
    thalweg.min_rtt = 0.1;
    (thalweg.window, thalweg.yielding) = (1e6, Yielding::default());
    let at = |megabits: f64| Target { constant: 1e-3 }.at(megabits * 125e3, 1000.0, 0.1);
    // The fair share is five eighths of the rate, so the flow yields three sixteenths.
    let gave: Vec<bool> = (0..8).map(|_| thalweg.yield_share(at(50.0), at(80.0))).collect();
    assert_eq!(gave, [false, false, false, false, false, false, false, true]);
    assert_near(thalweg.window / 1e6, 13.0 / 16.0);
}

/// "Start": while the queueing delay is at the target, the window grows by a quarter. A queue only slightly longer
/// loses three quarters of a bandwidth-delay product by the end of slow start, and nine tenths without this rule.
#[test]
fn a_start_slows_down_where_the_queue_is_long_enough() {
    let mut network = Network::new();
    network.link.max_queueing = Duration::from_micros(4_500);
    assert!(network.run_until(3, |network| !network.thalweg().is_starting), "slow start ends");
    let lost = network.flows[0].packets.iter().filter(|packet| packet.is_lost).count() as f64;
    let product = RTT.as_secs_f64() / SERVICE.as_secs_f64();
    assert!(lost < 0.8 * product, "{lost} of {product}");
}

/// "Start": where most of a round trip is lost in one burst, slow start begins again from what arrived, and ends beside a
/// queue.
#[test]
fn heavy_losses_in_slow_start_reduce_the_window() {
    let reduces_window = |delivered: f64, lost: f64, queueing: f64| {
        let mut network = Network::new();
        network.run_until(3, |network| network.window() > 40.0 * f64::from(SEGMENT));
        let (now, thalweg) = (network.link.now, network.thalweg_mut());
        let tally = LossCounts { sent: delivered + lost, lost, events: 1.0 };
        let before = PreviousRound { rate: 1e6, sent: 20.0, in_flight: 0.0 };
        let segment = f64::from(SEGMENT);
        let last = Round { tally, delivered: delivered * segment, previous: before, ..Round::default() };
        thalweg.started = LossCounts { sent: 100.0, ..LossCounts::default() };
        thalweg.end_round_of_start(now, &last, 1e5, queueing, 0.1);
        (thalweg.is_starting, (thalweg.window / segment).round())
    };
    let (starts, full) = reduces_window(20.0, 0.0, 0.0);
    assert!(starts && full > 40.0);
    assert_eq!(reduces_window(20.0, 19.0, 0.0), (true, full));
    assert_eq!(reduces_window(10.0, 30.0, 0.0), (true, 20.0));
    assert_eq!(reduces_window(1.0, 39.0, 0.0), (true, 2.0));
    assert!(!reduces_window(20.0, 2.0, 0.05).0, "losses beside a long queue");
}

/// "Start": beside competing traffic a flow regains twice the window with which slow start ended. (It regained that of slow
/// start, and lost 40 packets on a path that holds 13.)
#[test]
fn an_excessive_window_of_slow_start_is_not_regained() {
    for (window, expected) in [(10.0, 20.0), (30.0, 40.0)] {
        let mut network = Network::new();
        network.run_until(3, |network| network.window() > 39.5 * f64::from(SEGMENT));
        let (now, thalweg) = (network.link.now, network.thalweg_mut());
        thalweg.leave_start(now, window * f64::from(SEGMENT));
        thalweg.start_competing(now);
        assert_eq!((network.window() / f64::from(SEGMENT)).round(), expected);
    }
}

/// "Start": a path with random loss does not end slow start while the rate grows with the window.
#[test]
fn path_losses_do_not_end_slow_start() {
    let mut network = Network::new();
    network.link.loses = |number| number % 20 == 10;
    assert!(network.run_until(3, |network| !network.thalweg().is_starting), "slow start ends");
    let product = RTT.as_secs_f64() / SERVICE.as_secs_f64() * f64::from(SEGMENT);
    assert!(network.window() > 0.9 * product, "{} of {product}", network.window());
}

/// "Timeouts": the window falls to one segment if acknowledgements have ceased, and CUBIC's slow start follows. While
/// acknowledgements arrive a large window stays, as a late repair does not reflect the path; slow start ends.
#[test]
fn a_time_out_without_acknowledgements_starts_anew() {
    let mut network = Network::steady();
    let before = network.window();
    network.time_out(RTT * 2);
    assert_eq!(network.thalweg().decision().window, 1.0);
    assert!(network.thalweg().epoch > network.link.now, "what was in flight counts no more");
    assert!(network.run_until(2, |network| network.window() > 0.65 * before), "{}", network.window());

    let mut served = Network::steady();
    served.time_out(RTT / 2);
    assert_eq!(served.window(), before);

    let mut starting = Network::new();
    starting.run_until(1, |network| network.window() > 1e5);
    starting.time_out(RTT * 2);
    assert!(!starting.thalweg().is_starting);
}

/// "Windows below one segment": the sender has one segment in flight and paces it; the minimum is a quarter of a segment
/// per round trip.
#[test]
fn a_window_below_one_segment_is_paced() {
    let mut network = Network::steady();
    let thalweg = network.thalweg_mut();
    (thalweg.window, thalweg.rtt) = (500.0, 0.1);
    let decision = thalweg.decision();
    assert_eq!((decision.window, decision.burst), (1.0, 1));
    assert_near(decision.pacing_rate.expect("paced").as_f64(), 8.0 * 5000.0);
    for _ in 0..20 {
        let connection = network.flows[0].connection(network.link.now);
        network.thalweg_mut().respond(&connection, Cause::Loss);
    }
    assert_near(network.window(), 250.0);
    assert_near(network.thalweg().decision().pacing_rate.expect("paced").as_f64(), 8.0 * 2500.0);
}

/// After an outage the round-trip time is that of the packets not delayed by it, from the first one on.
#[test]
fn an_outage_ends_with_the_first_round_trip_after_it() {
    let mut network = Network::steady();
    network.thalweg_mut().rtt = 10.0;
    let before = network.flows[0].packets.front().unwrap().number;
    assert!(network.run_until(1, |network| {
        network.flows[0].packets.front().is_some_and(|packet| packet.number > before)
    }));
    assert!(network.thalweg().rtt < 0.1, "{}", network.thalweg().rtt);
}

/// A host that sleeps for a round trip has few arrivals in it: the window stays unchanged.
#[test]
fn a_sleeping_host_does_not_lower_the_rate_estimate() {
    for (before, expected) in [(2e6, 2e5), (1e4, 5e4 + 2e3)] {
        let mut network = Network::steady();
        let thalweg = network.thalweg_mut();
        (thalweg.pace, thalweg.window) = (Pace::default(), 2e5);
        let before = PreviousRound { rate: before, in_flight: 4e4, ..PreviousRound::default() };
        let round = Round { in_flight: 5e4, previous: before, ..Round::default() };
        thalweg.steer(&round, 0.0, 1e4, 0.1, 2.5e-3);
        assert_eq!(thalweg.window, expected);
    }
}

/// "Steady state": no window exceeds twice the arriving data, and an unused window does not grow.
#[test]
fn an_unused_window_does_not_grow() {
    let mut network = Network::steady();
    let thalweg = network.thalweg_mut();
    thalweg.pace = Pace::default();
    let round = Round { in_flight: 1e5, ..Round::default() };
    let mut steer = |window: f64, rate: f64| {
        thalweg.window = window;
        thalweg.steer(&round, 0.0, rate, 0.1, 2.5e-3);
        thalweg.window
    };
    assert_eq!(steer(1e6, 1e6), 2e5 + 2e3);
    assert_eq!(steer(2e5, 2e6), 2e5, "half of it was in flight");
    assert!(steer(1e5, 2e6) > 1e5, "all of it was in flight");
}

/// "Marks": the response to a mark is immediate and as CUBIC's, and the flow behaves as CUBIC from then on; no loss is
/// attributed to the path. Slow start ends with half of its window.
#[test]
fn a_mark_is_not_a_path_loss() {
    let mut network = Network::steady();
    let before = network.window();
    network.mark();
    let left = network.window() / before;
    assert!((0.99 * cubic_window::BETA..=cubic_window::BETA).contains(&left), "{left}");
    let thalweg = network.thalweg();
    assert!(thalweg.is_competing() && thalweg.path_loss() == 0.0 && !thalweg.evidence.is_trial());
    assert!(network.run_until(60, |network| !network.thalweg().is_competing()), "it finds nobody");

    let mut starting = Network::new();
    starting.run_until(1, |network| network.window() > 1e5);
    let before = starting.window();
    starting.mark();
    assert!(!starting.thalweg().is_starting);
    assert_near(starting.window() / before, 0.5);

    let mut yielding = Network::steady();
    yielding.thalweg_mut().config.compete = false;
    yielding.mark();
    assert!(!yielding.thalweg().is_competing());
}
