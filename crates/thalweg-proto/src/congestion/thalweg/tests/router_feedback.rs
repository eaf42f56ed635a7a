//! The response to messages of routers.

use super::drain_and_competition_test::run_drain;
use super::*;

/// Delivers a router's message to the flow; with `true` it names the packet that the flow sent last.
fn send_message(network: &mut Network, names: bool) {
    let (flow, now) = (&mut network.flows[0], network.link.now);
    let connection = flow.connection(now);
    let sequence = (flow.sent - 1) * u64::from(SEGMENT);
    if names {
        let sample = LostSample { connection, sequence, bytes: SEGMENT, sent_at: now, named: true };
        flow.thalweg.on_packet_lost(&sample, Stamp::default());
    }
    let feedback =
        crate::transport::Feedback { dropped: names.then_some(sequence), rate: None, growth: None, queue: 0 };
    flow.thalweg.on_feedback(&FeedbackSample { connection, feedback, known: false });
}

/// "Messages of routers": a message ends slow start with half of its window.
#[test]
fn a_message_ends_slow_start() {
    let mut network = Network::new();
    network.run_until(1, |network| network.window() > 1e5);
    let before = network.window();
    send_message(&mut network, false);
    assert!(!network.thalweg().is_starting);
    assert_near(network.window() / before, 0.5);
}

/// "Messages of routers": the window falls to the one with half of the target queue, once a round trip. A packet named
/// by a router is neither a loss of the path nor a reason for a second response.
#[test]
fn a_message_halves_the_queue() {
    for names in [false, true] {
        let mut network = Network::steady();
        let (before, queueing) = (network.window(), network.link.queueing().as_secs_f64());
        send_message(&mut network, names);
        let left = network.window();
        assert!((0.5 * before..=0.95 * before).contains(&left), "{left} of {before}");
        (0..9).for_each(|_| send_message(&mut network, names));
        assert_eq!(network.window(), left, "messages of the same round trip");
        network.run(1);
        let ratio = network.link.queueing().as_secs_f64() / queueing;
        assert!((0.35..0.8).contains(&ratio), "{ratio}");
        let thalweg = network.thalweg();
        assert!(thalweg.cubic.is_none() && thalweg.path_loss() == 0.0 && !thalweg.is_competing());
    }
    // A message with a rate, or about congestion already answered, has no effect.
    let mut network = Network::steady();
    let (before, connection) = (network.window(), network.flows[0].connection(network.link.now));
    let rate = Some(Rate::from_mbits_per_sec(1));
    let rations = crate::transport::Feedback { dropped: None, rate, growth: None, queue: 0 };
    let named = crate::transport::Feedback { dropped: Some(0), rate: None, growth: None, queue: 0 };
    let thalweg = network.thalweg_mut();
    thalweg.on_feedback(&FeedbackSample { connection, feedback: rations, known: false });
    thalweg.on_feedback(&FeedbackSample { connection, feedback: named, known: true });
    assert_eq!(network.window(), before);
}

/// "Messages of routers": competing traffic does not receive them, and warnings are ignored beside it; the response to
/// drops is as CUBIC's.
#[test]
fn warnings_beside_competing_traffic_are_ignored() {
    let mut network = Network::steady();
    network.thalweg_mut().drain = Drain::default();
    run_drain(network.thalweg_mut(), 0.01);
    assert!(network.thalweg().is_competing());
    let before = network.window();
    send_message(&mut network, false);
    assert_eq!(network.window(), before);
    send_message(&mut network, true);
    let left = network.window() / before;
    assert!((0.99 * cubic_window::BETA..=cubic_window::BETA).contains(&left), "{left}");
    assert_eq!(network.thalweg().path_loss(), 0.0);
}
