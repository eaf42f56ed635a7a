//! Controllers of 1984 to 1991 against values computed by hand from the papers that define them.

use crate::ack_samples::{ack, acks, connection, loss};
use thalweg_proto::congestion::{
    AckSample, Bbn, BbnConfig, ConnectionState, Controller, DecBit, DecBitConfig, Decision, FeedbackKind,
    FeedbackSample, FixedWindowConfig, Growth, LossKind, RouterSelection, Seif, SeifConfig, SeifState,
    SentSample, Signals, SlowStart, SlowStartConfig, SourceQuench, SourceQuenchConfig, TriS, TriSConfig,
    TriSIncrease, TriSMode,
};
use thalweg_proto::transport::Feedback;
use thalweg_proto::units::{Duration, Rate};
use thalweg_proto::window::ControllerConfig;

fn message(queue: u32) -> FeedbackSample {
    let feedback = Feedback { dropped: None, rate: None, growth: None, queue };
    FeedbackSample { connection: connection(0, 10), feedback, known: false }
}

/// The source of the thesis with a maximum window of 30.
fn seif() -> SeifConfig {
    SeifConfig {
        initial_window: 1.0,
        initial_ssthresh: 15.0,
        max_window: 30.0,
        cut_back: 0.5,
        growth_windows: 1,
        follow: RouterSelection::All,
        signals: Signals::Both,
    }
}

/// Liang 1991, section 3.3: growth from a window of 1 by one per acknowledgement up to half of the maximum, then by one
/// per full window of acknowledgements, up to the maximum.
#[test]
fn seif_initialises_and_then_is_stable() {
    let mut seif = Seif::new(&seif());
    assert_eq!((seif.decision().window, seif.state()), (1.0, SeifState::Initialise));
    acks(&mut seif, 13, &ack(0));
    assert_eq!((seif.decision().window, seif.state()), (14.0, SeifState::Initialise));
    acks(&mut seif, 1, &ack(0));
    assert_eq!((seif.decision().window, seif.state()), (15.0, SeifState::Stable));
    acks(&mut seif, 14, &ack(0));
    assert_eq!(seif.decision().window, 15.0);
    acks(&mut seif, 1, &ack(0));
    assert_eq!(seif.decision().window, 16.0);
    acks(&mut seif, 16 + 17 + 18, &ack(0));
    assert_eq!(seif.decision().window, 19.0);
    acks(&mut seif, 10_000, &ack(0));
    assert_eq!(seif.decision().window, 30.0);
}

/// The same: a message, a timeout and duplicates all halve the window, at once and every time, and the source is
/// stable again.
#[test]
fn every_signal_cuts_seif() {
    let spec = SeifConfig { initial_window: 20.0, ..seif() };
    let mut by_message = Seif::new(&spec);
    by_message.on_feedback(&message(0));
    for kind in [LossKind::Timeout, LossKind::Detected] {
        let mut by_loss = Seif::new(&spec);
        by_loss.on_loss(&loss(kind, 20));
        assert_eq!(by_loss.decision(), by_message.decision());
        assert_eq!(by_loss.ssthresh(), by_message.ssthresh());
    }
    assert_eq!((by_message.decision().window, by_message.ssthresh()), (10.0, Some(10.0)));
    assert_eq!(by_message.state(), SeifState::Stable);
    // Without waiting for a round trip, the next message reduces the window too, which keeps its fraction.
    by_message.on_feedback(&message(0));
    by_message.on_feedback(&message(0));
    assert_eq!((by_message.decision().window, by_message.ssthresh()), (2.5, Some(2.5)));
    // Two whole packets are sent, so two acknowledgements complete a window.
    acks(&mut by_message, 2, &ack(0));
    assert_eq!(by_message.decision().window, 3.5);
    // A reduction restarts the count of acknowledgements: one is not enough, before or after.
    acks(&mut by_message, 2, &ack(0));
    by_message.on_feedback(&message(0));
    assert_eq!((by_message.decision().window, by_message.ssthresh()), (1.75, Some(2.0)));
    // Never below one packet.
    for _ in 0..10 {
        by_message.on_feedback(&message(0));
    }
    assert_eq!((by_message.decision().window, by_message.ssthresh()), (1.0, Some(2.0)));
    // Known drops do not reduce the window (section 3.3, the double signals).
    acks(&mut by_message, 30, &ack(0));
    let before = by_message.decision().window;
    by_message.on_feedback(&FeedbackSample { known: true, ..message(0) });
    assert_eq!(by_message.decision().window, before);
}

/// The same, section 4.5: after a reduction to less than half the window grows by one per acknowledgement to half of
/// the old one.
#[test]
fn seif_climbs_back_after_a_deep_cut() {
    for (cut_back, after) in [(0.0, 1.0), (0.3, 6.0)] {
        let mut seif = Seif::new(&SeifConfig { initial_window: 20.0, cut_back, ..seif() });
        seif.on_feedback(&message(0));
        assert_eq!((seif.decision().window, seif.ssthresh()), (after, Some(10.0)));
        assert_eq!(seif.state(), SeifState::CutBack);
        acks(&mut seif, 10 - after as u32, &ack(0));
        assert_eq!((seif.decision().window, seif.state()), (10.0, SeifState::Stable));
        acks(&mut seif, 10, &ack(0));
        assert_eq!(seif.decision().window, 11.0);
    }
    // After a mild reduction the source is stable at once, far above half.
    let mut mild = Seif::new(&SeifConfig { initial_window: 20.0, cut_back: 0.9, ..seif() });
    mild.on_feedback(&message(0));
    assert_eq!((mild.decision().window, mild.state()), (18.0, SeifState::Stable));
}

/// The same, section 6.2 (future work): growth by one per k windows.
#[test]
fn seif_growth_follows_the_configured_windows() {
    let mut seif = Seif::new(&SeifConfig { initial_window: 15.0, growth_windows: 3, ..seif() });
    acks(&mut seif, 44, &ack(0));
    assert_eq!(seif.decision().window, 15.0);
    acks(&mut seif, 1, &ack(0));
    assert_eq!(seif.decision().window, 16.0);
}

/// The same: a router's message sets the number of windows, not below the configured one.
#[test]
fn seif_growth_follows_the_router() {
    let ask = |growth| {
        let mut sample = message(0);
        sample.feedback.growth = growth;
        sample
    };
    let growth_after = |growth| {
        let mut seif = Seif::new(&SeifConfig { initial_window: 30.0, growth_windows: 2, ..seif() });
        seif.on_feedback(&ask(Some(4)));
        seif.on_feedback(&ask(growth));
        let before = seif.decision().window;
        (1u32..).find(|_| {
            acks(&mut seif, 1, &ack(0));
            seif.decision().window > before
        })
    };
    // 30 packets, 15, 7.5 and at least 7 acknowledgements for each window.
    assert_eq!(growth_after(Some(3)), Some(3 * 7));
    assert_eq!(growth_after(None), Some(4 * 7));
    assert_eq!(growth_after(Some(1)), Some(2 * 7));
}

/// The same: with one reaction per path, the source follows the queue with most messages; when it falls silent another
/// replaces it.
#[test]
fn seif_follows_the_queue_with_most_messages() {
    let mut seif = Seif::new(&SeifConfig {
        initial_window: 30.0,
        cut_back: 0.9,
        follow: RouterSelection::MostMessages,
        ..seif()
    });
    let mut cuts = |queue, times| {
        (0..times)
            .filter(|_| {
                let before = seif.decision().window;
                seif.on_feedback(&message(queue));
                let is_reduced = seif.decision().window < before;
                acks(&mut seif, 200, &ack(0));
                is_reduced
            })
            .count()
    };
    assert_eq!(cuts(7, 3), 3);
    // Another queue sends fewer messages, until it has sent as many.
    assert_eq!(cuts(8, 2), 0);
    assert_eq!(cuts(8, 1), 1);
    assert_eq!(cuts(7, 60), 60);
    // Queue 7 falls silent. The counts are halved every 64 messages, so queue 8 takes over after some dozens.
    let reductions = cuts(8, 200);
    assert!((130..190).contains(&reductions), "{reductions}");
    // Arbitrarily many queues neither grow the state without bound nor stop the source.
    for queue in 100..10_000 {
        cuts(queue, 1);
    }
    assert!(cuts(8, 100) > 50);
}

/// Ramakrishnan and Jain 1988: one decision per two windows of acknowledgements. The bits of the first do not count. If
/// half or more of the bits of the second are set, seven eighths remain; otherwise one packet is added.
#[test]
fn dec_bit_decides_once_in_two_windows() {
    let spec =
        DecBitConfig { initial_window: 8.0, max_window: 30.0, increase: 1.0, decrease: 0.875, share: 0.5 };
    let marked = AckSample { ce: 1, ..ack(0) };
    // Bits set in the first and in the second window: the window after them.
    for (first, second, after) in [(0, 0, 9.0), (8, 3, 9.0), (0, 4, 7.0), (8, 8, 7.0)] {
        let mut source = DecBit::new(&spec);
        acks(&mut source, 8 - first, &ack(0));
        acks(&mut source, first, &marked);
        acks(&mut source, second, &marked);
        acks(&mut source, 7 - second.min(7), &ack(0));
        if second < 8 {
            assert_eq!(source.decision().window, 8.0);
            acks(&mut source, 1, &ack(0));
        }
        assert_eq!(source.decision().window, after, "{first} {second}");
    }
    // 7 * 0.875 = 6.125: six are sent, and twelve acknowledgements decide.
    let mut source = DecBit::new(&DecBitConfig { initial_window: 7.0, ..spec });
    acks(&mut source, 14, &marked);
    assert_eq!(source.decision().window, 6.125);
    acks(&mut source, 11, &ack(0));
    assert_eq!(source.decision().window, 6.125);
    acks(&mut source, 1, &ack(0));
    assert_eq!(source.decision().window, 7.125);
    // From one packet, with a decision after two acknowledgements, to the maximum, and never below one.
    let mut source = DecBit::new(&DecBitConfig { initial_window: 1.0, ..spec });
    acks(&mut source, 2 + 4 + 6, &ack(0));
    assert_eq!(source.decision().window, 4.0);
    acks(&mut source, 10_000, &ack(0));
    assert_eq!(source.decision().window, 30.0);
    acks(&mut source, 10_000, &marked);
    assert_eq!(source.decision().window, 1.0);
}

/// A share above 1 is 1: the window decreases if all bits are set. One below 0 is 0.
#[test]
fn dec_bit_clamps_the_share_of_set_bits() {
    for (share, sample, expected) in
        [(1.5, AckSample { ce: 1, ..ack(0) }, 7.0), (-0.5, ack(0), 7.0), (1.5, ack(0), 9.0)]
    {
        let mut source = DecBit::new(&DecBitConfig {
            initial_window: 8.0,
            max_window: 30.0,
            increase: 1.0,
            decrease: 0.875,
            share,
        });
        acks(&mut source, 16, &sample);
        assert_eq!(source.decision().window, expected, "{share}");
    }
}

/// Jain 1986: a loss restarts from one packet, and restarts the decision.
#[test]
fn dec_bit_starts_over_after_a_loss() {
    for kind in [LossKind::Timeout, LossKind::Detected] {
        let mut source = DecBit::new(&DecBitConfig {
            initial_window: 8.0,
            max_window: 30.0,
            increase: 1.0,
            decrease: 0.875,
            share: 0.5,
        });
        acks(&mut source, 15, &ack(0));
        source.on_loss(&loss(kind, 8));
        assert_eq!(source.decision().window, 1.0);
        acks(&mut source, 1, &ack(0));
        assert_eq!(source.decision().window, 1.0);
        acks(&mut source, 1, &ack(0));
        assert_eq!(source.decision().window, 2.0);
    }
}

/// Simulates one round trip of Tri-S on a path of 100 ms with a capacity of `capacity` packets, where excess packets
/// queue. Returns the window after it.
fn tri_s_round(tri_s: &mut TriS, number: u64, capacity: u32) -> f64 {
    let window = tri_s.decision().window as u32;
    let connection = ConnectionState { next_sequence: number * 1_000_000, ..connection(0, window - 1) };
    let sent = SentSample { connection, bytes: 1000, retransmission: false };
    tri_s.on_sent(&sent);
    // Another packet in between is not measured.
    tri_s.on_sent(&SentSample {
        connection: ConnectionState { next_sequence: connection.next_sequence + 1000, ..connection },
        ..sent
    });
    let before = AckSample { cumulative: connection.next_sequence, rtt: None, ..ack(0) };
    acks(tri_s, window - 1, &before);
    let rtt = Duration::from_millis(100).mul_f64(f64::from(window.max(capacity)) / f64::from(capacity));
    acks(tri_s, 1, &AckSample { cumulative: connection.next_sequence + 1000, rtt: Some(rtt), ..before });
    tri_s.decision().window
}

/// The paper's thresholds, with the window that searches each round trip.
fn tri_s_config(max_window: f64) -> TriSConfig {
    let increase = TriSIncrease::PerRound;
    TriSConfig { max_window, decrease_below: 0.5, increase_above: 0.5, increase }
}

/// Wang and Crowcroft 1991, with a path capacity of ten packets: initialisation opens to the maximum, where doubling
/// from 16 gained nothing (NTG 0), so the search restarts. From 8 to 16 the throughput grows from 80 to 100 packets a
/// second: NTG = 20 / 8 * 0.1 = 0.25 < 0.5, and the last mode starts at 8: it increases while that gains throughput,
/// else it decreases.
#[test]
fn tri_s_searches_for_the_knee() {
    let mut tri_s = TriS::new(&tri_s_config(32.0));
    assert_eq!((tri_s.decision().window, tri_s.mode()), (1.0, TriSMode::Initialise));
    let mut number = 0;
    let mut rounds = |tri_s: &mut TriS, count: u32| -> Vec<f64> {
        let round = |_| {
            number += 1;
            tri_s_round(tri_s, number, 10)
        };
        (0..count).map(round).collect()
    };
    assert_eq!(rounds(&mut tri_s, 6), [2.0, 4.0, 8.0, 16.0, 32.0, 1.0]);
    assert_eq!(tri_s.mode(), TriSMode::Decrease);
    assert_eq!(rounds(&mut tri_s, 5), [2.0, 4.0, 8.0, 16.0, 8.0]);
    assert_eq!(tri_s.mode(), TriSMode::Increase);
    // The first round has no previous one for comparison; 11 gains nothing over 10, and a decrease from 10 costs a
    // tenth.
    assert_eq!(rounds(&mut tri_s, 8), [9.0, 10.0, 11.0, 10.0, 9.0, 10.0, 11.0, 10.0]);
    // A timeout in that mode restarts the search from one packet.
    tri_s.on_loss(&loss(LossKind::Timeout, 10));
    assert_eq!((tri_s.decision().window, tri_s.mode()), (1.0, TriSMode::Decrease));
    assert_eq!(rounds(&mut tri_s, 4), [2.0, 4.0, 8.0, 16.0]);
}

/// The same with a maximum below the path's capacity: initialisation ends there, and a smaller window is tried, at a
/// loss of throughput.
#[test]
fn tri_s_stays_at_a_beneficial_maximum() {
    let mut tri_s = TriS::new(&tri_s_config(8.0));
    let windows: Vec<f64> = (1..=8).map(|number| tri_s_round(&mut tri_s, number, 10)).collect();
    assert_eq!(windows, [2.0, 4.0, 8.0, 8.0, 7.0, 8.0, 7.0, 8.0]);
    assert_eq!(tri_s.mode(), TriSMode::Increase);
    // A round trip excluded by Karn's rule changes nothing.
    let before = tri_s.decision();
    acks(&mut tri_s, 1, &AckSample { cumulative: u64::MAX, rtt: None, ..ack(0) });
    assert_eq!(tri_s.decision(), before);
}

/// Liang 1991, section 2.5.1: in the last mode the window grows by 1 / W an acknowledgement, and what it has
/// grown by is taken back if it gained nothing. With a capacity of ten packets the window rises to ten, and then is
/// within two packets of that for good.
#[test]
fn tri_s_holds_its_window_where_a_larger_one_gains_nothing() {
    let config = TriSConfig { increase: TriSIncrease::PerAck, ..tri_s_config(32.0) };
    let mut tri_s = TriS::new(&config);
    let mut windows: Vec<f64> = (1..=200).map(|number| tri_s_round(&mut tri_s, number, 10)).collect();
    assert_eq!(tri_s.mode(), TriSMode::Increase);
    // The searches before are those of the other rule.
    assert_eq!(windows[..11], [2.0, 4.0, 8.0, 16.0, 32.0, 1.0, 2.0, 4.0, 8.0, 16.0, 8.0]);
    let held = windows.split_off(60);
    assert!(held.iter().all(|window| (9.0..13.0).contains(window)), "{held:?}");
    // Half as much capacity: the window does not fall, as it gives back only what it has grown by.
    let later: Vec<f64> = (201..=300).map(|number| tri_s_round(&mut tri_s, number, 5)).collect();
    assert!(later.iter().all(|window| *window > 8.0), "{later:?}");
    let mut tri_s = TriS::new(&TriSConfig { increase: TriSIncrease::PerRound, ..config });
    for number in 1..=300 {
        tri_s_round(&mut tri_s, number, if number <= 200 { 10 } else { 5 });
    }
    assert!(tri_s.decision().window < 7.0, "the other rule falls");
}

/// Liang 1991, section 4.1: a source that responds to messages of routers only, and one that responds to losses only.
#[test]
fn seif_responds_to_the_signals_it_is_given() {
    let of = |signals| Seif::new(&SeifConfig { initial_window: 20.0, signals, ..seif() });
    for (signals, by_message, by_loss) in
        [(Signals::Both, 10.0, 10.0), (Signals::Explicit, 10.0, 20.0), (Signals::Implicit, 20.0, 10.0)]
    {
        let mut source = of(signals);
        source.on_feedback(&message(0));
        assert_eq!(source.decision().window, by_message, "{signals:?}");
        let mut source = of(signals);
        source.on_loss(&loss(LossKind::Timeout, 20));
        assert_eq!(source.decision().window, by_loss, "{signals:?}");
        // What no message repairs is left to the loss signals.
        assert_eq!(source.retransmits_reported_drops(), signals != Signals::Implicit);
    }
}

/// Nagle, RFC 896: a quench closes the window until ten acknowledgements have arrived, or nothing is outstanding.
#[test]
fn a_quench_closes_the_window_for_ten_acknowledgements() {
    let mut source = SourceQuench::new(&SourceQuenchConfig { window: 20.0, acks_per_quench: 10 });
    assert_eq!(source.decision().window, 20.0);
    source.on_feedback(&message(0));
    acks(&mut source, 9, &ack(0));
    assert_eq!(source.decision().window, 1.0);
    // Another quench restarts the count.
    source.on_feedback(&message(0));
    acks(&mut source, 9, &ack(0));
    assert_eq!(source.decision().window, 1.0);
    acks(&mut source, 1, &ack(0));
    assert_eq!(source.decision().window, 20.0);
    // Three are outstanding, and one acknowledgement covers them all.
    source.on_feedback(&message(0));
    acks(&mut source, 1, &AckSample { connection: connection(0, 3), acked: 2, ..ack(0) });
    assert_eq!(source.decision().window, 1.0);
    acks(&mut source, 1, &AckSample { connection: connection(0, 1), ..ack(0) });
    assert_eq!(source.decision().window, 20.0);
    // With nothing outstanding the window stays open. Losses are left to the timer.
    source.on_feedback(&FeedbackSample { connection: connection(0, 0), ..message(0) });
    source.on_loss(&loss(LossKind::Timeout, 5));
    assert_eq!(source.decision().window, 20.0);
}

/// Robinson, Friedman and Steenstrup 1990: the flow's ration is the smallest on its path; a ration that is not renewed
/// expires.
#[test]
fn bbn_sends_at_the_smallest_ration() {
    let lifetime = Duration::from_secs(10);
    let mut source = Bbn::new(&BbnConfig { window: 100.0, lifetime, header: 250 });
    assert_eq!(source.decision(), Decision::window(100.0));
    let grant = |source: &mut Bbn, millis, queue, kbits: u64| {
        let rate = Some(Rate::from_bits_per_sec(kbits * 1000));
        let feedback = Feedback { dropped: None, rate, growth: None, queue };
        source.on_feedback(&FeedbackSample { connection: connection(millis, 10), feedback, known: false });
        source.decision().pacing_rate.unwrap().as_bits_per_sec()
    };
    // 1000 of 1250 bytes are payload.
    assert_eq!(grant(&mut source, 0, 1, 1000), 800_000);
    assert_eq!(grant(&mut source, 100, 2, 500), 400_000);
    assert_eq!(grant(&mut source, 200, 3, 2000), 400_000);
    // A renewed ration replaces the old one, up and down.
    assert_eq!(grant(&mut source, 5_000, 2, 1500), 800_000);
    // Queue 1 sent feedback at 0 s, queue 3 at 0.2 s, queue 2 at 5 s.
    acks(&mut source, 1, &ack(10_000));
    assert_eq!(source.decision().pacing_rate, Some(Rate::from_bits_per_sec(800_000)));
    acks(&mut source, 1, &ack(10_001));
    assert_eq!(source.decision().pacing_rate, Some(Rate::from_bits_per_sec(1_200_000)));
    // Without rations there is no limit.
    acks(&mut source, 1, &ack(15_001));
    assert_eq!(source.decision().pacing_rate, None);
    // A zero rate would stop the source forever: it sends one packet per ten seconds.
    assert_eq!(grant(&mut source, 20_000, 1, 0), 800);
    // A message without a rate changes nothing.
    source.on_feedback(&FeedbackSample { connection: connection(20_001, 10), ..message(5) });
    assert_eq!(source.decision().pacing_rate, Some(Rate::from_bits_per_sec(800)));
    // More queues than a path has: the least recently renewed entry is evicted.
    for queue in 100..10_000 {
        assert_eq!(
            grant(&mut source, 20_000 + u64::from(queue) / 10, queue, 4000),
            if queue < 163 { 800 } else { 3_200_000 }
        );
    }
}

/// Jacobson 1988 with the counting of that time: below ssthresh by one per acknowledgement, above it by one per whole
/// window of them, even if application-limited; at most the maximum.
#[test]
fn slow_start_counts_acknowledged_windows() {
    let mut tahoe = SlowStart::new(&SlowStartConfig {
        initial_window: 1.0,
        initial_ssthresh: 4.0,
        growth: Growth::Counted { max_window: 6.0 },
    });
    let unused = AckSample { app_limited: true, ..ack(0) };
    acks(&mut tahoe, 3, &unused);
    assert_eq!(tahoe.decision().window, 4.0);
    acks(&mut tahoe, 3, &unused);
    assert_eq!(tahoe.decision().window, 4.0);
    acks(&mut tahoe, 1, &ack(0));
    assert_eq!(tahoe.decision().window, 5.0);
    acks(&mut tahoe, 5 + 100, &ack(0));
    assert_eq!(tahoe.decision().window, 6.0);
    // A loss: ssthresh = half, at least two, window = 1; the count restarts.
    tahoe.on_loss(&loss(LossKind::Detected, 6));
    assert_eq!((tahoe.decision().window, tahoe.ssthresh()), (1.0, Some(3.0)));
    acks(&mut tahoe, 2 + 2, &ack(0));
    assert_eq!(tahoe.decision().window, 3.0);
    acks(&mut tahoe, 1, &ack(0));
    assert_eq!(tahoe.decision().window, 4.0);
    for _ in 0..2 {
        tahoe.on_loss(&loss(LossKind::Timeout, 4));
    }
    assert_eq!((tahoe.decision().window, tahoe.ssthresh()), (1.0, Some(2.0)));
    // With fractions an unused window does not grow.
    let mut fractional = SlowStart::new(&SlowStartConfig {
        initial_window: 1.0,
        initial_ssthresh: 4.0,
        growth: Growth::Fractional,
    });
    acks(&mut fractional, 3, &unused);
    assert_eq!(fractional.decision().window, 1.0);
}

/// Routers send feedback to flows that support it.
#[test]
fn each_scheme_selects_its_router_feedback() {
    let window = 8.0;
    let bbn = BbnConfig { window, lifetime: Duration::from_secs(1), header: 0 };
    assert_eq!(ControllerConfig::Seif(seif()).feedback(), Some(FeedbackKind::Seif));
    assert_eq!(ControllerConfig::Bbn(bbn).feedback(), Some(FeedbackKind::Rations));
    assert_eq!(
        ControllerConfig::SourceQuench(SourceQuenchConfig { window, acks_per_quench: 10 }).feedback(),
        Some(FeedbackKind::SourceQuench)
    );
    assert_eq!(ControllerConfig::FixedWindow(FixedWindowConfig { window }).feedback(), None);
    // A scheme that does not depend on feedback uses it too, but does not require routers to send it.
    let thalweg = ControllerConfig::from(thalweg_proto::congestion::ThalwegConfig::default());
    assert_eq!((thalweg.feedback(), thalweg.needs_feedback()), (Some(FeedbackKind::Seif), false));
    assert!(ControllerConfig::Seif(seif()).needs_feedback());
}
