//! Consecutive impairments of a link, with correlation.

use crate::link_scenarios::{forward_direction_after_round_trip, rendered_errors, with_link};
use thalweg_proto::units::Duration;
use thalweg_queue::ReorderSpec;

#[test]
fn impairments_follow_each_other_as_netem_has_it() {
    let line = forward_direction_after_round_trip(
        "duplicate = { probability = \"1 %\", correlation = \"25 %\" }\ncorrupt = 0.002\n\
         reorder = { probability = \"5 %\", delay = \"3 ms\", correlation = 0.5 }\n\
         jitter = { distribution = \"normal\", mean = \"5 ms\", deviation = \"1 ms\", correlation = \"30 %\" }\n\
         schedule = [{ at = \"1 s\", corrupt = { probability = 0.1, correlation = 0.9 } }]",
    );
    let wire = &line.impairment;
    assert_eq!((wire.duplicate, wire.duplicate_correlation), (0.01, 0.25));
    assert_eq!((wire.corrupt, wire.corrupt_correlation), (0.002, 0.0));
    let held = ReorderSpec { probability: 0.05, delay: Duration::from_millis(3), correlation: 0.5 };
    assert_eq!(wire.reorder, Some(held));
    assert_eq!(line.variation.as_ref().unwrap().correlation, 0.3);
    let later = line.schedule[0].impairment.as_ref().unwrap();
    assert_eq!((later.corrupt, later.corrupt_correlation), (0.1, 0.9));
    assert_eq!((later.duplicate, later.duplicate_correlation, later.reorder), (0.01, 0.25, Some(held)));
    for (keys, expected) in [
        ("duplicate = { correlation = 0.5 }", "needs `probability`"),
        ("duplicate = { probability = 0.5, correlation = 1.5 }", "must lie between 0 and 1"),
        ("jitter = { distribution = \"wifi\", average = \"7 ms\", correlation = 0.5 }", "several draws"),
        (
            "jitter = { distribution = \"uniform\", max = \"7 ms\", each = \"flow\", correlation = 0.5 }",
            "each flow has one draw",
        ),
    ] {
        let text = rendered_errors(&with_link(keys));
        assert!(text.contains(expected), "{keys}: {text}");
    }
}
