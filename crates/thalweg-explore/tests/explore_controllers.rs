//! Proves that nothing goes wrong with the window transport under any controller, with all that live senders repair losses with:
//! whatever is lost, copied, held back or expires early within bounds, what is delivered is complete and in order, and from every
//! state all is delivered once the channel behaves.

use thalweg_explore::{Bounds, SCHEMES, explore};

#[test]
fn every_controller_delivers_from_every_state() {
    let names = SCHEMES.map(|(name, _)| name).into_iter().filter(|name| name.starts_with("sack-"));
    let names: Vec<&str> = names.collect();
    assert_eq!(names.len(), 7);
    for name in names {
        for (losses, duplicates, delays, expiries) in [(2, 1, 0, 1), (1, 0, 1, 1), (0, 0, 0, 3)] {
            let usual = Bounds { window: 3, messages: 5, ..Bounds::default() };
            let bounds = Bounds { losses, duplicates, delays, expiries, ..usual };
            let outcome = explore(name, &bounds, &mut |_, _| true).expect("it is listed");
            assert_eq!(outcome.counterexample, None, "{name} {bounds:?}");
            println!("{name} {losses} {duplicates} {delays} {expiries}: {} states", outcome.states);
            assert!(outcome.complete && outcome.states > 100, "{name} {bounds:?}: {} states", outcome.states);
        }
    }
}
