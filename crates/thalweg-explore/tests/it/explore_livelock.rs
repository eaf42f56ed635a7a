//! Tests that firm acknowledgement reaches a steady state after any losses, that hard and soft acknowledgement do not,
//! and that the search of an endless stream's states distinguishes them.

use thalweg_explore::{EndlessStream, SearchOutcome, search_endless};
use thalweg_proto::sstp::{Acknowledgement, Evicted};
use thalweg_proto::units::Bytes;

const SOFT: [Acknowledgement; 3] = [
    Acknowledgement::Soft(Evicted::One),
    Acknowledgement::Soft(Evicted::All),
    Acknowledgement::Soft(Evicted::AtOnce),
];

fn run(endless: &EndlessStream) -> SearchOutcome {
    search_endless(endless, Bytes::new(1_000_000_000), &mut |_, _| true).unwrap()
}

/// Packets of a segment, window and buffer in segments, packets in flight, losses. Windows of 2.5 round trips, the last
/// one smaller, with buffers for a tenth to half of them; and the models of the long paths with ten packets in flight.
const MODELS: [(u16, u16, u16, u16, u8); 9] = [
    (1, 5, 2, 1, 5),
    (1, 10, 1, 2, 4),
    (1, 10, 2, 2, 4),
    (2, 5, 2, 2, 4),
    (1, 20, 5, 4, 3),
    (1, 50, 6, 10, 2),
    (2, 25, 3, 10, 2),
    (4, 13, 2, 10, 2),
    (1, 26, 3, 10, 2),
];

fn model(
    (segment, window, buffer, path, losses): (u16, u16, u16, u16, u8),
    of: Acknowledgement,
) -> EndlessStream {
    EndlessStream { acknowledgement: of, segment, window, buffer, path, losses, lost_reports: 0 }
}

#[test]
fn firm_acknowledgement_always_terminates() {
    for of_model in MODELS {
        let outcome = run(&model(of_model, Acknowledgement::Firm));
        assert_eq!(outcome.counterexample, None, "{of_model:?}");
        assert!(outcome.complete && outcome.states > 300, "{of_model:?}: {outcome:?}");
    }
}

/// Reports, which carry acknowledgements, requests and the window limit, may be lost too.
#[test]
fn firm_acknowledgement_terminates_with_lost_reports() {
    for (lost_reports, of_model) in [(2, (1, 5, 2, 1, 1)), (1, (1, 10, 2, 2, 2)), (1, (2, 5, 2, 2, 2))] {
        let endless = EndlessStream { lost_reports, ..model(of_model, Acknowledgement::Firm) };
        let outcome = run(&endless);
        assert_eq!(outcome.counterexample, None, "{of_model:?}");
        let without = run(&EndlessStream { lost_reports: 0, ..endless });
        assert!(outcome.complete && outcome.states > without.states, "{of_model:?}: {outcome:?}");
    }
}

/// Soft acknowledgement has the pathology found by Gong and Parulkar, and hard acknowledgement has it too.
#[test]
fn hard_and_soft_acknowledgement_do_not() {
    for acknowledgement in SOFT.into_iter().chain([Acknowledgement::Hard]) {
        let endless = EndlessStream::new(acknowledgement, 20, 2);
        let found = run(&endless).counterexample.unwrap_or_else(|| panic!("{acknowledgement:?}"));
        assert_eq!(found.what, "the stream does not recover, although losses have ended");
        let losses = found.trace.iter().filter(|line| line.ends_with("is lost")).count();
        assert_eq!(losses, if acknowledgement == Acknowledgement::Hard { 2 } else { 1 }, "{found:#?}");
        let circle = found.trace.iter().position(|line| line == "then this repeats:").unwrap();
        let round = &found.trace[circle + 1..];
        assert!(
            round.iter().any(|line| line.contains("sender -> ") && line.ends_with("again")),
            "{round:#?}"
        );
        assert!(round.iter().any(|line| line.contains("receiver -> SNAK")), "{round:#?}");
        // The cycle contains no losses.
        assert!(!found.trace[circle..].iter().any(|line| line.ends_with("is lost")));
    }
}

/// With a buffer as large as the window nothing is ever discarded.
#[test]
fn all_modes_terminate_with_buffers_for_the_window() {
    for acknowledgement in SOFT.into_iter().chain([Acknowledgement::Hard, Acknowledgement::Firm]) {
        let outcome = run(&EndlessStream { buffer: 20, ..EndlessStream::new(acknowledgement, 20, 2) });
        assert_eq!(outcome.counterexample, None, "{acknowledgement:?}");
        assert!(outcome.complete && outcome.states > 300, "{outcome:?}");
    }
}

/// Without a loss the states are the start and one cycle, in which a segment arrives as another leaves.
#[test]
fn lossless_runs_have_a_single_execution() {
    let outcome = run(&EndlessStream::new(Acknowledgement::Firm, 20, 0));
    assert_eq!(outcome.counterexample, None);
    assert_eq!(outcome.states, outcome.steps, "{outcome:?}");
    assert!(outcome.states < 100, "{outcome:?}");
}

#[test]
fn limits_are_kept_and_outcomes_repeat() {
    let endless = EndlessStream::new(Acknowledgement::Firm, 20, 3);
    assert_eq!(run(&endless), run(&endless));
    let outcome = search_endless(&endless, Bytes::new(1_000_000), &mut |_, _| true).unwrap();
    assert!(!outcome.complete && outcome.states < 10_000, "{outcome:?}");
    let outcome = search_endless(&endless, Bytes::new(1_000_000_000), &mut |_, _| false).unwrap();
    assert!(!outcome.complete && outcome.counterexample.is_none(), "{outcome:?}");
}
