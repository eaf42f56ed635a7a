//! Tests that two-level flow control delivers all written data over links that lose, duplicate and delay data and
//! reports.

use crate::sstp_pair::{Outcome, PACKET, Pair, receiver_config, sender_config, text};
use proptest::prelude::*;
use thalweg_proto::sstp::{Acknowledgement, Evicted, ReceiverConfig, Resume, SenderConfig, Tolerance};
use thalweg_proto::units::Duration;

const LONG: Duration = Duration::from_secs(100);

fn acknowledgement() -> impl Strategy<Value = Acknowledgement> {
    prop_oneof![
        2 => Just(Acknowledgement::Hard),
        2 => Just(Acknowledgement::Firm),
        1 => Just(Acknowledgement::Soft(Evicted::One)),
        1 => Just(Acknowledgement::Soft(Evicted::All)),
        1 => Just(Acknowledgement::Soft(Evicted::AtOnce)),
    ]
}

/// Returns the fates of a link's first packets, by number; later ones arrive, so every run ends.
fn outcomes(often: u32) -> impl Strategy<Value = Vec<Outcome>> {
    let outcome = prop_oneof![
        often => Just(Outcome::Arrive),
        3 => Just(Outcome::Lose),
        1 => (1u64..20_000).prop_map(|us| Outcome::Late(Duration::from_micros(us))),
        1 => Just(Outcome::Twice),
    ];
    prop::collection::vec(outcome, 0..200)
}

fn play(outcomes: Vec<Outcome>) -> crate::sstp_pair::Outcomes {
    let mut number = 0;
    Box::new(move |_, _, _| {
        number += 1;
        outcomes.get(number - 1).copied().unwrap_or(Outcome::Arrive)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_in_order_for_any_link_impairment(
        (segment, window, buffer) in (1u16..6, 1u16..12, 1u16..12),
        acknowledgement in acknowledgement(),
        reordering in 0u16..4,
        resume in prop_oneof![Just(Resume::AtOnce), Just(Resume::NextBurst)],
        length in 0usize..1500,
        there in outcomes(12),
        back in outcomes(12),
        reading in prop::option::of(1u64..30),
    ) {
        let sender =
            SenderConfig { resume, soft: acknowledgement.is_soft(), ..sender_config(segment, window) };
        let receiver = ReceiverConfig {
            buffer,
            acknowledgement,
            reordering,
            wait_for_consumption: reading.is_some(),
            ..receiver_config(segment, window)
        };
        let mut pair = Pair::new(sender, receiver).outcomes(play(there), play(back));
        pair.reading = reading;
        pair.write(&text(length));
        pair.finish();
        pair.run_until_finished(LONG);
        prop_assert!(pair.finished, "stuck at {} of {} bytes: {:?}", pair.delivered.len(), length, &pair.log[pair.log.len().saturating_sub(8)..]);
        prop_assert_eq!(&pair.delivered, &text(length));
        let (sender, receiver) = (pair.sender.stats(pair.now), pair.receiver.stats());
        prop_assert!(sender.buffered_peak <= u32::from(window));
        prop_assert!(receiver.buffered_peak <= u32::from(buffer.min(window)), "{:?}", receiver);
        prop_assert_eq!((sender.buffered, sender.buffered_bytes), (0, 0));
    }

    #[test]
    fn no_segment_has_a_larger_hole_than_tolerated(
        tolerated in 0u16..4,
        length in 1usize..600,
        there in outcomes(4),
        back in outcomes(12),
    ) {
        let receiver = ReceiverConfig { tolerance: Tolerance::Packets(tolerated), ..receiver_config(4, 8) };
        let mut pair = Pair::new(sender_config(4, 8), receiver).outcomes(play(there), play(back));
        let written = text(length);
        pair.write(&written);
        pair.finish();
        pair.run_until_finished(LONG);
        prop_assert!(pair.finished, "{:?} {:?}", &pair.log[pair.log.len().saturating_sub(8)..], pair.receiver);
        // Delivered data with holes, at its positions.
        let mut place = 0;
        let mut from = 0;
        let packets = length.div_ceil(PACKET as usize);
        let mut missing = vec![0u16; packets.div_ceil(4)];
        for &(until, hole) in pair.holes.iter().chain(&[(pair.delivered.len(), 0)]) {
            let piece = &pair.delivered[from..until];
            let place_end = (place + piece.len()).min(length);
            prop_assert_eq!(piece, &written[place.min(length)..place_end]);
            let packet = (place + piece.len()) / PACKET as usize;
            for lost in packet..packet + hole as usize {
                missing[lost / 4] += 1;
            }
            place += piece.len() + hole as usize * PACKET as usize;
            from = until;
        }
        prop_assert!(place >= length && place < length + PACKET as usize);
        prop_assert!(missing.iter().all(|&lost| lost <= tolerated), "{:?}", missing);
    }
}
