//! Tests the capacity clock against a plain replay of mahimahi's loop over opportunities. No text makes the trace
//! reader panic or return an invalid trace.

use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;
use thalweg_proto::units::{Duration, Time};
use thalweg_queue::{CapacityClock, CapacityTrace};

/// Returns the departure times of packets of (ready, size) in arrival order. The replay steps through opportunities,
/// each with a separate budget, as mahimahi's `mm-link` does. A budget ends when nothing is ready before the
/// opportunity.
fn replay(trace: &CapacityTrace, packets: &[(Time, u32)]) -> Vec<Time> {
    let mut waiting: VecDeque<(Time, u32)> = packets.iter().copied().collect();
    let mut departures = Vec::new();
    for repetition in 0.. {
        for &at in &trace.opportunities {
            let at = at + trace.period * repetition;
            let mut budget = trace.bytes_per_opportunity;
            while budget > 0 {
                let Some((ready, missing)) = waiting.front_mut() else { return departures };
                if *ready >= at {
                    break;
                }
                let sent = budget.min(*missing);
                budget -= sent;
                *missing -= sent;
                if *missing == 0 {
                    departures.push(at);
                    waiting.pop_front();
                }
            }
        }
    }
    departures
}

fn traces() -> impl Strategy<Value = CapacityTrace> {
    (prop::collection::vec(0u64..40, 1..30), 0u64..5, 1u32..3000).prop_map(|(mut millis, rest, bytes)| {
        millis.sort_unstable();
        let last = millis.last().copied().unwrap_or(0);
        CapacityTrace {
            opportunities: millis.into_iter().map(|ms| Time::ZERO + Duration::from_millis(ms)).collect(),
            period: Duration::from_millis((last + rest).max(1)),
            bytes_per_opportunity: bytes,
        }
    })
}

/// Arrivals half-way between milliseconds: at the instant of an opportunity the order would be undefined.
fn packets() -> impl Strategy<Value = Vec<(Time, u32)>> {
    prop::collection::vec((0u64..30, 1u32..5000), 0..60).prop_map(|steps| {
        let mut at = Time::from_picos(500_000_000);
        let arrive = |(gap, size)| {
            at += Duration::from_millis(gap);
            (at, size)
        };
        steps.into_iter().map(arrive).collect()
    })
}

proptest! {
    #[test]
    fn departures_match_mahimahi(trace in traces(), packets in packets()) {
        let expected = replay(&trace, &packets);
        let trace = Arc::new(trace);
        // Queries at each arrival and queries when the line is free give the same departures.
        let mut in_advance = CapacityClock::new(trace.clone()).unwrap();
        let found: Vec<Time> = packets.iter().map(|&(ready, size)| in_advance.book_departure(ready, size)).collect();
        prop_assert_eq!(&found, &expected);
        let (mut at_leisure, mut free) = (CapacityClock::new(trace).unwrap(), Time::ZERO);
        for (&(ready, size), &expected) in packets.iter().zip(&expected) {
            free = at_leisure.book_departure(ready.max(free), size);
            prop_assert_eq!(free, expected);
        }
    }

    #[test]
    fn departures_never_go_back(trace in traces(), requests in prop::collection::vec((any::<u64>(), any::<u32>()), 1..50)) {
        // Arbitrary queries in arbitrary order.
        let mut clock = CapacityClock::new(Arc::new(trace)).unwrap();
        let mut last = Time::ZERO;
        for (now, size) in requests {
            let now = Time::from_picos(now);
            let departure = clock.book_departure(now, size);
            prop_assert!(departure >= last && departure >= now);
            last = departure;
        }
    }

    #[test]
    fn the_next_opportunity_is_the_first_one_later(trace in traces(), after in 0u64..2_000) {
        // Compared with a search through all repetitions, at and between the milliseconds of opportunities.
        let after = Time::ZERO + Duration::from_micros(500 * after);
        let expected = (0..)
            .flat_map(|k| trace.opportunities.iter().map(move |&at| at + trace.period * k))
            .find(|&at| at > after);
        let clock = CapacityClock::new(Arc::new(trace.clone())).unwrap();
        prop_assert_eq!(Some(clock.next_opportunity(after)), expected);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(trace) = CapacityTrace::read(bytes.as_slice()) {
            prop_assert_eq!(trace.check(), Ok(()));
        }
    }

    #[test]
    fn trace_like_text_never_makes_the_reader_panic(text in "[0-9\r\n -]{0,120}") {
        if let Ok(trace) = CapacityTrace::parse(&text) {
            prop_assert_eq!(trace.check(), Ok(()));
            // A trace round-trips through the writer and the reader.
            let mut written = Vec::new();
            trace.write(&mut written).unwrap();
            prop_assert_eq!(CapacityTrace::read(written.as_slice()).unwrap(), trace);
        }
    }
}
