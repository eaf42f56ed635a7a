//! Tests each rule of SEIF's router as a trace of arrivals and departures, and its invariants on any trace.

use super::test_helpers::{ACK, RATE, at_millis, data_packet, messages_of, queue_view};
use super::*;
use proptest::prelude::*;
use thalweg_proto::units::Duration;

/// Ten packets of 100 bytes.
const CAPACITY: Limit = Limit::Bytes(1000);

fn seif(spec: SeifSpec) -> Seif {
    Seif::new(&spec, CAPACITY)
}

const fn reacting(filter: bool) -> SeifSpec {
    SeifSpec { policy: SeifPolicy::Reacting, filter, ..STATIC }
}

const STATIC: SeifSpec = SeifSpec {
    policy: SeifPolicy::Static,
    threshold_share: 0.8,
    filter: true,
    routing_interval: Duration::from_secs(10),
    max_links: None,
    mark: false,
    overhead: None,
};

type SentMessages = Vec<(u64, Option<u64>)>;

/// Enqueues a packet of 100 bytes; `waiting` packets are queued afterwards.
fn arrive(policy: &mut Seif, flow: u64, waiting: u64) -> SentMessages {
    let view = queue_view(0, waiting, waiting * 100);
    messages_of(|messages| {
        policy.on_arrival(&view, &data_packet(flow, 0), ArrivalOutcome::Waits, &[], messages)
    })
}

/// Dequeues a packet of 100 bytes; returns true if it is marked.
fn depart(policy: &mut Seif, flow: u64, waiting: u64) -> bool {
    let view = queue_view(0, waiting, waiting * 100);
    let mut messages = Vec::new();
    let mark = policy.on_departure(&view, Some(&data_packet(flow, 0)), &[], &mut messages);
    assert_eq!(messages, []);
    mark
}

/// Returns the messages after a packet arrives at the full queue and `victim` is dropped.
fn overflow(policy: &mut Seif, flow: u64, victim: PassingPacket) -> SentMessages {
    let is_arrival = victim.source.is_some_and(|source| source.flow.0 == flow);
    let outcome = if is_arrival { ArrivalOutcome::Dropped } else { ArrivalOutcome::Waits };
    messages_of(|messages| {
        policy.on_arrival(&queue_view(0, 10, 1000), &data_packet(flow, 0), outcome, &[victim], messages)
    })
}

#[test]
fn all_sources_are_warned_above_the_threshold() {
    // 80 % of 1000 bytes are eight packets: the eighth queued packet does not exceed the threshold, the ninth does.
    let mut policy = seif(STATIC);
    assert_eq!(arrive(&mut policy, 2, 7), []);
    assert_eq!(arrive(&mut policy, 1, 8), []);
    assert_eq!(arrive(&mut policy, 3, 9), [(1, None), (2, None), (3, None)]);
}

#[test]
fn a_buffer_that_counts_packets_has_its_threshold_in_packets() {
    let mut policy = Seif::new(&STATIC, Limit::Packets(5));
    assert_eq!(arrive(&mut policy, 1, 4), []);
    assert_eq!(arrive(&mut policy, 1, 5), [(1, None)]);
    // A queue without a limit has no threshold.
    assert_eq!(arrive(&mut Seif::new(&STATIC, Limit::Unlimited), 1, 1 << 40), []);
}

#[test]
fn the_filter_is_ready_again_below_the_threshold() {
    // A queue at the threshold is not below it.
    let mut policy = seif(STATIC);
    assert_eq!(arrive(&mut policy, 1, 9), [(1, None)]);
    assert_eq!(arrive(&mut policy, 1, 10), []);
    depart(&mut policy, 1, 8);
    assert_eq!(arrive(&mut policy, 1, 9), []);
    depart(&mut policy, 1, 8);
    depart(&mut policy, 1, 7);
    assert_eq!(arrive(&mut policy, 1, 8), []);
    assert_eq!(arrive(&mut policy, 1, 9), [(1, None)]);
}

#[test]
fn without_the_filter_every_arrival_above_the_threshold_warns() {
    let mut policy = seif(SeifSpec { filter: false, ..STATIC });
    for waiting in [9, 10, 9] {
        assert_eq!(arrive(&mut policy, 1, waiting), [(1, None)]);
    }
}

#[test]
fn a_packet_in_immediate_service_sends_no_warning_but_registers_its_source() {
    let mut policy = seif(SeifSpec { threshold_share: 0.0, ..STATIC });
    let empty = queue_view(0, 0, 0);
    let first = messages_of(|messages| {
        policy.on_arrival(&empty, &data_packet(7, 0), ArrivalOutcome::InService, &[], messages)
    });
    assert_eq!(first, []);
    assert_eq!(arrive(&mut policy, 8, 1), [(7, None), (8, None)]);
}

#[test]
fn with_a_threshold_a_drop_is_reported_only_to_its_source() {
    // The filter suppresses warnings after the first; the owner is notified of the drop all the same.
    let mut policy = seif(STATIC);
    arrive(&mut policy, 1, 8);
    assert_eq!(arrive(&mut policy, 2, 9), [(1, None), (2, None)]);
    assert_eq!(overflow(&mut policy, 2, data_packet(1, 77)), [(1, Some(77))]);
    assert_eq!(overflow(&mut policy, 2, data_packet(2, 78)), [(2, Some(78))]);
}

#[test]
fn the_source_of_a_drop_gets_no_additional_warning() {
    // The arrival that replaces the victim is the first above the threshold: one message for each source.
    let mut policy = seif(STATIC);
    arrive(&mut policy, 1, 1);
    arrive(&mut policy, 2, 2);
    assert_eq!(overflow(&mut policy, 2, data_packet(1, 5)), [(1, Some(5)), (2, None)]);
}

#[test]
fn reacting_warns_the_others_of_a_drop_and_of_nothing_else() {
    let mut policy = seif(reacting(false));
    arrive(&mut policy, 1, 8);
    assert_eq!(arrive(&mut policy, 2, 10), []);
    assert_eq!(overflow(&mut policy, 2, data_packet(1, 5)), [(1, Some(5)), (2, None)]);
    assert_eq!(overflow(&mut policy, 2, data_packet(2, 6)), [(2, Some(6)), (1, None)]);
}

#[test]
fn reacting_with_the_filter_warns_the_others_once() {
    // Until the queue is below the threshold again; owners are notified of each drop.
    let mut policy = seif(reacting(true));
    arrive(&mut policy, 1, 8);
    assert_eq!(overflow(&mut policy, 2, data_packet(1, 5)), [(1, Some(5)), (2, None)]);
    assert_eq!(overflow(&mut policy, 2, data_packet(1, 6)), [(1, Some(6))]);
    depart(&mut policy, 1, 7);
    assert_eq!(overflow(&mut policy, 2, data_packet(1, 7)), [(1, Some(7)), (2, None)]);
}

#[test]
fn a_dropped_acknowledgement_has_no_owner() {
    let mut policy = seif(reacting(true));
    arrive(&mut policy, 1, 9);
    let full = queue_view(0, 10, 1000);
    let messages =
        messages_of(|messages| policy.on_arrival(&full, &ACK, ArrivalOutcome::Dropped, &[ACK], messages));
    assert_eq!(messages, [(1, None)]);
}

#[test]
fn messages_cause_no_messages() {
    // Neither a message enqueued above the threshold nor a dropped one causes messages.
    let message = PassingPacket { message: true, ..ACK };
    let full = queue_view(0, 10, 1000);
    for spec in [SeifSpec { filter: false, ..STATIC }, reacting(false)] {
        let mut policy = seif(spec);
        arrive(&mut policy, 1, 2);
        for (outcome, dropped) in
            [(ArrivalOutcome::Waits, &[][..]), (ArrivalOutcome::Dropped, &[message][..])]
        {
            let messages =
                messages_of(|messages| policy.on_arrival(&full, &message, outcome, dropped, messages));
            assert_eq!(messages, []);
        }
    }
}

#[test]
fn a_source_is_in_the_table_for_its_interval_or_while_it_has_packets_in_the_queue() {
    // Of three sources that sent in the first ten seconds, 1 has a packet waiting; 4 sends in the second ten.
    let mut policy = seif(STATIC);
    arrive(&mut policy, 1, 1);
    for flow in [2, 3] {
        arrive(&mut policy, flow, 2);
        depart(&mut policy, flow, 1);
    }
    let later = View { now: at_millis(12_000), ..queue_view(0, 9, 900) };
    let messages = messages_of(|messages| {
        policy.on_arrival(&later, &data_packet(4, 0), ArrivalOutcome::Waits, &[], messages)
    });
    assert_eq!(messages, [(1, None), (4, None)]);
}

#[test]
fn dropping_its_queued_packets_removes_a_source() {
    // The only waiting packet of 1 is dropped; at the next reset 1 is removed from the table.
    let mut policy = seif(STATIC);
    arrive(&mut policy, 1, 1);
    assert_eq!(overflow(&mut policy, 2, data_packet(1, 5)), [(1, Some(5)), (2, None)]);
    depart(&mut policy, 2, 1);
    let later = View { now: at_millis(12_000), ..queue_view(0, 9, 900) };
    let messages = messages_of(|messages| {
        policy.on_arrival(&later, &data_packet(3, 0), ArrivalOutcome::Waits, &[], messages)
    });
    assert_eq!(messages, [(3, None)]);
}

#[test]
fn sources_out_of_reach_get_no_message() {
    // All of these are three links away.
    for (reach, expected) in [(2, vec![]), (3, vec![(1, None)])] {
        let mut policy = seif(SeifSpec { max_links: Some(reach), ..STATIC });
        assert_eq!(arrive(&mut policy, 1, 9), expected);
        let owner = overflow(&mut policy, 1, data_packet(1, 4));
        assert_eq!(owner.len(), expected.len());
    }
}

#[test]
fn packets_of_warned_sources_are_marked_until_congestion_ends() {
    let mut policy = seif(SeifSpec { mark: true, ..STATIC });
    arrive(&mut policy, 1, 8);
    assert!(!depart(&mut policy, 1, 7));
    assert_eq!(arrive(&mut policy, 1, 9), [(1, None)]);
    assert!(depart(&mut policy, 1, 8));
    assert!(!depart(&mut policy, 2, 8), "it was not told");
    // The last marked packet takes the queue below the threshold.
    assert!(depart(&mut policy, 1, 7));
    assert!(!depart(&mut policy, 1, 6));
    // Without the option no packet is marked.
    let mut plain = seif(STATIC);
    arrive(&mut plain, 1, 9);
    assert!(!depart(&mut plain, 1, 8));
}

#[test]
fn sources_notified_by_another_router_get_messages_only_for_drops() {
    let marked = |flow| {
        let source = data_packet(flow, 9).source.map(|source| Source { is_notified: true, ..source });
        PassingPacket { source, ..data_packet(flow, 9) }
    };
    for (mark, expected) in [(true, vec![(2, None)]), (false, vec![(1, None), (2, None)])] {
        let mut policy = seif(SeifSpec { mark, ..STATIC });
        messages_of(|messages| {
            policy.on_arrival(&queue_view(0, 8, 800), &marked(1), ArrivalOutcome::Waits, &[], messages)
        });
        assert_eq!(arrive(&mut policy, 2, 9), expected);
        assert_eq!(overflow(&mut policy, 2, marked(1)), [(1, Some(9))]);
    }
}

#[test]
fn the_dynamic_rule_compares_predicted_arrivals_with_free_buffer() {
    // 1000 bytes a second leave. 1600 arrived in the last second, and the estimate matches (in 16 steps, 1600 / 1 s).
    // With 4 packets waiting, 400 ms of queue, and a response time of 200 ms, an excess of 360 bytes will have arrived;
    // 600 are free: above 0.5 * 600, below 0.8 * 600.
    for (alpha, expected) in [(0.5, vec![(1, None)]), (0.8, vec![])] {
        let policy = SeifPolicy::Dynamic {
            alpha,
            response_time: Duration::from_millis(200),
            window: Duration::from_secs(1),
        };
        let mut policy = seif(SeifSpec { policy, ..STATIC });
        for step in 0..15 {
            let calm = View { rate: Rate::MAX, ..queue_view(1000 + step * 62, 0, 0) };
            let first = messages_of(|messages| {
                policy.on_arrival(&calm, &data_packet(1, 0), ArrivalOutcome::Waits, &[], messages)
            });
            assert_eq!(first, []);
        }
        let last = View { now: at_millis(2000), rate: RATE, ..queue_view(0, 4, 400) };
        let messages = messages_of(|messages| {
            policy.on_arrival(&last, &data_packet(1, 0), ArrivalOutcome::Waits, &[], messages)
        });
        assert_eq!(messages, expected, "{alpha}");
        // Filtered while the rule holds, for any queue length.
        let again = messages_of(|messages| {
            policy.on_arrival(&last, &data_packet(1, 0), ArrivalOutcome::Waits, &[], messages)
        });
        assert!(expected.is_empty() || again.is_empty());
    }
}

#[test]
fn the_dynamic_rule_is_inactive_while_arrivals_do_not_exceed_departures() {
    // For any queue length.
    let policy = SeifPolicy::Dynamic {
        alpha: 0.1,
        response_time: Duration::from_secs(9),
        window: Duration::from_secs(1),
    };
    let mut policy = seif(SeifSpec { policy, ..STATIC });
    assert_eq!(arrive(&mut policy, 1, 10), []);
}

/// An event: a packet of a flow arrives (the arrival or another packet is dropped if the queue is full), or one leaves.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive { flow: u64, drop_other: bool },
    Leave,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrive = (0u64..5, any::<bool>()).prop_map(|(flow, drop_other)| Step::Arrive { flow, drop_other });
    prop::collection::vec(prop_oneof![3 => arrive, 2 => Just(Step::Leave)], 1..400)
}

proptest! {
    /// Messages name active flows, each at most once at a time. Sequence numbers belong to drops, each reported once.
    /// With the filter on, the queue is below the threshold at some time between any two warnings.
    #[test]
    fn no_source_is_warned_twice_without_need(steps in steps(), react in any::<bool>(), filter in any::<bool>()) {
        let policy = if react { SeifPolicy::Reacting } else { SeifPolicy::Static };
        let mut policy = seif(SeifSpec { policy, filter, ..STATIC });
        let mut queue: Vec<PassingPacket> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut ready = true;
        for (number, step) in (0..).zip(steps) {
            let (mut messages, mut dropped) = (Vec::new(), Vec::new());
            match step {
                Step::Arrive { flow, drop_other } => {
                    let arrival = data_packet(flow, number);
                    seen.insert(FlowId(flow));
                    queue.push(arrival);
                    if queue.len() > 10 {
                        let victim = if drop_other { number as usize % 10 } else { 10 };
                        dropped.push(queue.remove(victim));
                    }
                    let is_dropped = dropped.contains(&arrival);
                    let outcome = if is_dropped { ArrivalOutcome::Dropped } else { ArrivalOutcome::Waits };
                    let length = queue.len() as u64;
                    let view = queue_view(number * 10, length, length * 100);
                    policy.on_arrival(&view, &arrival, outcome, &dropped, &mut messages);
                }
                Step::Leave if !queue.is_empty() => {
                    let packet = queue.remove(0);
                    let length = queue.len() as u64;
                    let view = queue_view(number * 10, length, length * 100);
                    policy.on_departure(&view, Some(&packet), &[], &mut messages);
                }
                Step::Leave => {}
            }
            ready |= queue.len() < 8;
            let notified: Vec<u64> = messages.iter().filter_map(|message| message.dropped).collect();
            let lost: Vec<u64> = dropped.iter().filter_map(|packet| packet.sequence).collect();
            prop_assert_eq!(notified, lost);
            let flows: std::collections::BTreeSet<FlowId> = messages.iter().map(|message| message.flow).collect();
            prop_assert_eq!(flows.len(), messages.len());
            prop_assert!(flows.is_subset(&seen));
            if messages.iter().any(|message| message.dropped.is_none()) {
                prop_assert!(ready || !filter);
                ready = false;
            }
        }
    }
}

/// Returns the messages of a warning by `policy`, sent at this second.
fn warning(policy: &mut Seif, second: u64, flows: &[(u64, u32)]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (place, &(flow, hops)) in flows.iter().enumerate() {
        let waiting = if place + 1 == flows.len() { 9 } else { 1 };
        let view = queue_view(1000 * second, waiting, waiting * 100);
        let mut packet = data_packet(flow, 0);
        packet.source = packet.source.map(|source| Source { hops, ..source });
        policy.on_arrival(&view, &packet, ArrivalOutcome::Waits, &[], &mut messages);
        for _ in 0..2 {
            let view = View { packets: 1, bytes: 100, ..view };
            policy.on_departure(&view, Some(&packet), &[], &mut Vec::new());
        }
    }
    messages
}

const fn limited(share: f64, control: OverheadControl) -> SeifSpec {
    SeifSpec { overhead: Some(OverheadSpec { share, control, message_bytes: 50 }), ..STATIC }
}

#[test]
fn frequent_warnings_slow_the_growth_down() {
    // Two sources, two links away: 200 bytes a warning. The line has 1000 bytes a second, so a warning in a second is 20
    // %, ten times the limit; growth slows down by a factor of two at most at a time.
    let mut policy = seif(limited(0.02, OverheadControl::Growth));
    let flows = [(1, 2), (2, 2)];
    let mut growth = |second| {
        let messages = warning(&mut policy, second, &flows);
        assert_eq!(messages.iter().map(|message| message.flow.0).collect::<Vec<_>>(), [1, 2]);
        messages[0].growth
    };
    assert_eq!([1, 2, 3, 4].map(&mut growth), [Some(1), Some(2), Some(4), Some(8)]);
    // A warning in 10 s is 2 %, the limit; one in 20 s is half of it.
    assert_eq!([14, 34, 54, 74].map(&mut growth), [Some(8), Some(4), Some(2), Some(1)]);
    assert_eq!(growth(1074), Some(1));
}

#[test]
fn the_nearest_sources_are_warned_within_the_limit() {
    // 10 % of 1000 bytes a second: one message over two links and none over three, after a second.
    let mut policy = seif(limited(0.1, OverheadControl::Silence));
    let flows = [(7, 2), (3, 3), (5, 1)];
    let mut warned = |second| {
        let messages = warning(&mut policy, second, &flows);
        assert!(messages.iter().all(|message| message.growth.is_none()));
        messages.iter().map(|message| message.flow.0).collect::<Vec<_>>()
    };
    assert_eq!(warned(1), [5]);
    // What was left is saved, up to the cost of a whole warning: 50 + 100 bytes, then 300.
    assert_eq!(warned(2), [5, 7]);
    assert_eq!(warned(100), [3, 5, 7]);
    assert_eq!(warned(100), [] as [u64; 0]);
}

#[test]
fn owners_of_dropped_packets_are_notified_within_the_limit() {
    let mut policy = seif(limited(0.1, OverheadControl::Silence));
    // Nothing is saved at time 0: implicit feedback alone.
    assert_eq!(overflow(&mut policy, 1, data_packet(1, 5)), []);
    let mut policy = seif(limited(0.1, OverheadControl::Growth));
    assert_eq!(overflow(&mut policy, 1, data_packet(1, 5)), [(1, Some(5))]);
}
