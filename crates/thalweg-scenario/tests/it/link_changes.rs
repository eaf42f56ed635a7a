//! Changes of links during a run, by schedules.

use crate::link_scenarios::{forward_direction_after_round_trip, rendered_errors, with_link};
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::Limit;

#[test]
fn a_schedule_changes_queue_and_jitter() {
    let line = forward_direction_after_round_trip(
        "queue = \"100 pkt\"\nschedule = [{ at = \"1 s\", queue = \"10 pkt\" }, \
         { at = \"2 s\", rate = \"5 Mbit/s\", queue = \"20 ms\" }, { at = \"3 s\", queue = \"2 bdp\", jitter = \"4 ms\" }, \
         { at = \"4 s\", queue = \"unlimited\", jitter = { distribution = \"exponential\", mean = \"1 ms\" }, black-hole = \"1200 B\" }]",
    );
    let limits: Vec<Option<Limit>> = line.schedule.iter().map(|change| change.queue).collect();
    // 20 ms of 5 Mbit/s are 12.5 kB; the path is 10 Mbit/s with a round trip of 20 ms and the time of two packets.
    assert_eq!(limits[..2], [Some(Limit::Packets(10)), Some(Limit::Bytes(12_500))]);
    let Some(Limit::Bytes(bdp)) = limits[2] else { panic!("{limits:?}") };
    assert!((50_000..54_000).contains(&bdp), "{bdp}");
    assert_eq!(limits[3], Some(Limit::Unlimited));
    assert_eq!(line.queue.limit(), Limit::Packets(100));
    let jitter = |number: usize| line.schedule[number].jitter.as_ref();
    assert_eq!((jitter(0), jitter(1)), (None, None));
    assert_eq!(jitter(2).unwrap().span, Duration::from_millis(4));
    assert!(jitter(3).unwrap().variation.is_some() && jitter(3).unwrap().span.is_zero());
    assert_eq!(line.schedule[3].impairment.as_ref().unwrap().largest, Some(Bytes::new(1200)));
    assert_eq!(line.schedule[1].rate, Some(Rate::from_mbits_per_sec(5)));
    assert_eq!(line.schedule[1].at, Time::ZERO + Duration::from_secs(2));
}

#[test]
fn queues_beside_outages_keep_their_times() {
    let line = forward_direction_after_round_trip(
        "queue = \"9 pkt\"\nschedule = [{ at = \"1 s\", outage = \"4 s\" }, { at = \"2 s\", queue = \"3 pkt\" }, \
         { at = \"3 s\", queue = \"5 pkt\" }]",
    );
    let changes: Vec<(f64, Option<Limit>)> =
        line.schedule.iter().map(|change| (change.at.as_secs_f64(), change.queue)).collect();
    let packets = |packets| Some(Limit::Packets(packets));
    assert_eq!(changes, [(1.0, None), (2.0, packets(3)), (3.0, packets(5)), (5.0, None)]);
}

#[test]
fn invalid_schedules_are_rejected_at_their_position() {
    for (keys, expected) in [
        ("schedule = [{ at = \"1 s\" }]", "this schedule entry changes nothing"),
        ("schedule = [{ at = \"1 s\", queue = \"0 pkt\" }]", "the queue holds nothing"),
        ("schedule = [{ at = \"1 s\", queue = 10 }]", "did you mean \"10 pkt\"?"),
        ("schedule = [{ at = \"1 s\", queue = 0.5 }]", "did you mean \"0.5 bdp\"?"),
        ("schedule = [{ at = \"1 s\", queu = \"1 pkt\" }]", "did you mean `queue`?"),
        (
            "queue = { discipline = \"fcfs\", capacity = \"9 pkt\", feedback = \"source-quench\" }\n\
             schedule = [{ at = \"1 s\", queue = \"5 pkt\" }]",
            "this queue cannot change its capacity",
        ),
    ] {
        let text = rendered_errors(&with_link(keys));
        assert!(text.contains(expected) && text.contains("test.toml:"), "{keys}: {text}");
    }
}
