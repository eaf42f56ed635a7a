//! The search finds every deliberately broken rule and no violation of the current rules.

use thalweg_adversary::{Bounds, Fault, PairingBounds, search, search_pairing};
use thalweg_explore::{Counterexample, SearchOutcome};

fn search_everything(fault: Fault, bounds: &Bounds) -> SearchOutcome {
    let begun = std::time::Instant::now();
    let outcome = search(bounds, fault, &mut |_, _| true);
    let SearchOutcome { states, steps, depth, .. } = outcome;
    println!("{fault:?}, {bounds:?}: {states} states, {steps} steps, {depth} deep, {:?}", begun.elapsed());
    outcome
}

fn find_counterexample(fault: Fault, bounds: &Bounds) -> Counterexample {
    let found = search_everything(fault, bounds).counterexample.expect("the fault is found");
    found.trace.iter().for_each(|line| println!("    {line}"));
    found
}

/// Nothing is wrong, and that many states at least are there to be visited.
fn expect_no_violation(bounds: &Bounds, at_least: u64) {
    let outcome = search_everything(Fault::None, bounds);
    assert_eq!(outcome.counterexample, None);
    assert!(outcome.complete && outcome.states >= at_least, "{} states", outcome.states);
}

/// Holds RFC 9000, section 21.11.
#[test]
fn a_search_finds_tokens_revealed_by_another_socket() {
    let found = find_counterexample(Fault::Tokens, &Bounds::default());
    assert!(found.what.contains("a reset that its peer's socket did not send"), "{}", found.what);
    let line = |text: &str| found.trace.iter().position(|line| line.contains(text)).expect(text);
    assert!(line("asks the other socket about id 2") < line("to the client: reset of id 2"));
    assert!(found.trace.last().unwrap().contains("the connection is over: Reset"));
}

/// Holds RFC 9000, section 8.1.4.
#[test]
fn a_search_finds_a_second_handshake_by_one_cookie() {
    let found = find_counterexample(Fault::CookieAgain, &Bounds { forgeries: 0, ..Bounds::default() });
    assert_eq!(found.what, "a cookie admitted a second handshake");
    let hellos = found.trace.iter().filter(|line| line.contains("and cookie 1 arrives at the server"));
    assert_eq!(hellos.count(), 2, "{:?}", found.trace);
}

#[test]
fn a_search_finds_a_cookie_valid_for_any_first_message() {
    let found = find_counterexample(Fault::CookieUnbound, &Bounds::default());
    assert!(found.what.contains("not issued for"), "{}", found.what);
    assert!(found.trace.iter().any(|line| line.contains("the attacker makes")));
}

#[test]
fn a_search_finds_a_second_handshake_without_a_cookie() {
    let found = find_counterexample(Fault::HelloAgain, &Bounds { forgeries: 0, ..Bounds::default() });
    assert_eq!(found.what, "a hello without a cookie admitted a handshake beside its connection");
    assert!(
        found.trace.iter().any(|line| line.contains("server: a client has connected")),
        "{:?}",
        found.trace
    );
}

#[test]
fn nothing_is_found_in_the_rules_of_today() {
    let none = Bounds { forgeries: 0, ..Bounds::default() };
    for unvalidated in [0, 1] {
        expect_no_violation(&Bounds { unvalidated, ..none }, 200);
        expect_no_violation(&Bounds { unvalidated, depth: 8, ..Bounds::default() }, 200);
    }
    expect_no_violation(&Bounds { restarts: 1, closes: 1, depth: 8, ..none }, 200);
    expect_no_violation(&Bounds { connections: 2, depth: 8, ..none }, 200);
    expect_no_violation(&Bounds { intrusions: 1, forgeries: 1, depth: 5, ..none }, 200);
    expect_no_violation(&Bounds { expiries: 1, depth: 7, ..none }, 200);
}

fn all_pairings(fault: Fault) -> SearchOutcome {
    let begun = std::time::Instant::now();
    let outcome = search_pairing(&PairingBounds::default(), fault, &mut |_, _| true);
    let SearchOutcome { states, steps, depth, .. } = outcome;
    println!("{fault:?}: {states} states, {steps} steps, {depth} deep, {:?}", begun.elapsed());
    if let Some(found) = &outcome.counterexample {
        found.trace.iter().for_each(|line| println!("    {line}"));
    }
    outcome
}

#[test]
fn nothing_is_found_in_pairings() {
    let outcome = all_pairings(Fault::None);
    assert_eq!(outcome.counterexample, None);
    assert!(outcome.complete && outcome.states > 1000, "{} states", outcome.states);
}

#[test]
fn a_man_in_the_middle_pairs_if_keys_are_not_bound() {
    let found = all_pairings(Fault::PairingUnbound).counterexample.expect("the fault is found");
    assert_eq!(found.what, "the receiver accepted the attacker as the sender");
    let passed = found.trace.iter().filter(|line| line.contains("the message of the other one"));
    assert_eq!(passed.count(), 3, "both halves and the sender's proof: {:?}", found.trace);
}

#[test]
fn uncounted_aborted_attempts_allow_unlimited_guesses() {
    let found = all_pairings(Fault::GuessUncounted).counterexample.expect("the fault is found");
    assert_eq!(found.what, "the code answered 4 guesses");
}
