//! Tests the window transport under every controller, with all loss recovery of live senders: with any losses,
//! duplicates, delays and early expiries within bounds, data is delivered completely and in order, and from every state
//! all data is delivered once the channel has no more faults.

use thalweg_explore::{Bounds, SCHEMES, explore_protocol};

#[test]
fn every_controller_delivers_from_every_state() {
    let names = SCHEMES.map(|(name, _)| name).into_iter().filter(|name| name.starts_with("sack-"));
    let names: Vec<&str> = names.collect();
    assert_eq!(names.len(), 7);
    for name in names {
        for (losses, duplicates, delays, expiries) in [(2, 1, 0, 1), (1, 0, 1, 1), (0, 0, 0, 3)] {
            let base = Bounds { window: 3, messages: 5, ..Bounds::default() };
            let bounds = Bounds { losses, duplicates, delays, expiries, ..base };
            let outcome = explore_protocol(name, &bounds, &mut |_, _| true).expect("it is listed");
            assert_eq!(outcome.counterexample, None, "{name} {bounds:?}");
            println!("{name} {losses} {duplicates} {delays} {expiries}: {} states", outcome.states);
            assert!(outcome.complete && outcome.states > 100, "{name} {bounds:?}: {} states", outcome.states);
        }
    }
}
