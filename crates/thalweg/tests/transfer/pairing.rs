//! Pairing of two users without known keys, by a code.

use crate::sender_and_receiver_processes::{Receiver, TestFolder, exit_code, sends, thalweg, wait_for_end};

/// Starts a receiver that shows a code; returns both.
fn start_receiver_with_code(place: &TestFolder) -> (Receiver, String) {
    let mut receiver = Receiver::begin(place, "recv", &["to"], &["--pair"]);
    let line = receiver.line();
    let code = line.strip_prefix("The code is ").unwrap_or_else(|| panic!("{line}"));
    let code = code.split(',').next().unwrap().to_owned();
    (receiver, code)
}

#[test]
fn a_sender_with_the_code_is_admitted_and_remembered() {
    let place = TestFolder::new("paired");
    place.write("file", b"secret");
    let (receiver, code) = start_receiver_with_code(&place);
    let (address, key) = (receiver.address.clone(), receiver.key.clone());
    let sent = sends(&place, &["file", &address, &format!("--pair={code}")]);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    assert!(sent.stderr.contains(&format!("is known by the key {key}")), "{}", sent.stderr);
    let received = receiver.end();
    assert_eq!(exit_code(&received), 0, "{}", received.stderr);
    assert!(received.stderr.contains("knows the code"), "{}", received.stderr);
    assert_eq!(place.read("to/file"), b"secret");
    // Without a code and without trust.
    let receiver = Receiver::at(&place, &address, "recv", &["to"], &[]);
    let again = sends(&place, &["file", &address]);
    assert_eq!(exit_code(&again), 0, "{}", again.stderr);
    assert_eq!(exit_code(&receiver.end()), 0);
}

#[test]
fn three_wrong_guesses_end_the_code_and_unknown_senders_need_one() {
    let place = TestFolder::new("guessed");
    place.write("file", b"secret");
    let (receiver, code) = start_receiver_with_code(&place);
    let unpaired = sends(&place, &["file", &receiver.address, "--trust", &receiver.key]);
    assert_eq!(exit_code(&unpaired), 1, "{}", unpaired.stderr);
    assert!(unpaired.stderr.contains("does not accept files from this key"), "{}", unpaired.stderr);
    let wrong = if code == "0000-0000" { "0000-0001" } else { "0000-0000" };
    for _ in 0..3 {
        let guess = sends(&place, &["file", &receiver.address, &format!("--pair={wrong}")]);
        assert_eq!(exit_code(&guess), 1, "{}", guess.stderr);
        assert!(guess.stderr.contains("reports that the code is wrong"), "{}", guess.stderr);
    }
    let received = receiver.end();
    assert_eq!(exit_code(&received), 1, "{}", received.stderr);
    assert!(received.stderr.contains("guessed wrong three times"), "{}", received.stderr);
    assert!(place.names("to").is_empty());
}

#[test]
fn the_right_code_after_three_wrong_guesses_is_not_called_wrong() {
    let place = TestFolder::new("guessed-before");
    place.write("file", b"secret");
    let mut server = Receiver::begin(&place, "serve", &["to"], &["--pair"]);
    let line = server.line();
    let (_, code) = line.split_once("The code is ").unwrap_or_else(|| panic!("{line}"));
    let code = code.split(',').next().unwrap().to_owned();
    let wrong = if code == "0000-0000" { "0000-0001" } else { "0000-0000" };
    let guess = |code: &str| sends(&place, &["file", &server.address, &format!("--pair={code}")]);
    for _ in 0..3 {
        assert_eq!(exit_code(&guess(wrong)), 1);
    }
    let late = guess(&code);
    assert_eq!(exit_code(&late), 1, "{}", late.stderr);
    assert!(late.stderr.contains("reports that its code is no longer valid"), "{}", late.stderr);
    assert_eq!(exit_code(&server.interrupt()), 0);
}

#[test]
fn a_receiver_without_a_code_pairs_with_no_sender() {
    let place = TestFolder::new("no-code");
    place.write("file", b"secret");
    let receiver = Receiver::begin(&place, "recv", &["to"], &["--trust", "new"]);
    let sent = sends(&place, &["file", &receiver.address, "--pair=1234-5678"]);
    assert_eq!(exit_code(&sent), 1, "{}", sent.stderr);
    assert!(sent.stderr.contains("is not in pairing mode"), "{}", sent.stderr);
    assert_eq!(exit_code(&receiver.interrupt()), 3);
}

#[test]
fn a_code_need_not_be_seen_in_the_list_of_processes() {
    let place = TestFolder::new("code-in-environment");
    place.write("file", b"secret");
    let (receiver, code) = start_receiver_with_code(&place);
    let mut call = thalweg(&place, "sender", "send", &["file", &receiver.address, "--pair"]);
    let sent = wait_for_end(call.env("THALWEG_PAIR", &code).spawn().unwrap());
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    assert_eq!(exit_code(&receiver.end()), 0);
    // Without a terminal there is no prompt.
    for (variable, expected) in [(None, "no terminal"), (Some("12"), "--pair: ")] {
        let mut call = thalweg(&place, "sender", "send", &["file", "127.0.0.1:9", "--pair"]);
        let refused = wait_for_end(call.envs(variable.map(|code| ("THALWEG_PAIR", code))).spawn().unwrap());
        assert_eq!(exit_code(&refused), 2, "{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

/// An impostor of the receiver would get one guess per connection.
#[test]
fn a_pairing_is_never_repeated() {
    let place = TestFolder::new("pair-once");
    place.write("file", b"secret");
    let refused = sends(&place, &["file", "127.0.0.1:9", "--pair=1234-5678", "--keep-trying"]);
    assert_eq!(exit_code(&refused), 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--keep-trying"), "{}", refused.stderr);
}
