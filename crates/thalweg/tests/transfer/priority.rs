//! Tests of `--priority`: urgent transfers go first.

use super::sender_and_receiver_processes::{
    Receiver, TestFolder, exit_code, sends, thalweg, wait_for_end, wait_until,
};
use super::{TRUST_NEW, json};

/// Returns the key of a user whose priorities the receiver accepts.
fn trusted_key_option(place: &TestFolder, user: &str) -> Vec<String> {
    let printed = wait_for_end(thalweg(place, user, "key", &[]).spawn().unwrap());
    vec!["--trust".to_owned(), printed.stdout.trim().to_owned()]
}

#[test]
fn the_urgent_sender_is_done_first_though_it_began_later() {
    let place = TestFolder::new("priority");
    place.write("patient", &vec![1; 60_000_000]);
    place.write("urgent", &vec![2; 75_000_000]);
    let wanted = trusted_key_option(&place, "sender");
    let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
    let server = Receiver::begin(&place, "serve", &["to", "--json-lines"], &wanted);
    // Alone or concurrently, the first needs 4.8 s, the other 6 s.
    let spawn = |file, priority| {
        // Its packets are ECN-capable.
        let scheme = ["--scheme", "cubic"];
        let call = [file, &*server.address, "--priority", priority, "--rate", "100 Mbit/s", "--json"];
        thalweg(&place, "sender", "send", &[&call[..], &scheme, &TRUST_NEW].concat()).spawn().unwrap()
    };
    let mut patient = spawn("patient", "5");
    // The file grows in the sender's folder.
    let part = |place: &TestFolder| {
        let folder = place.names("to").pop().unwrap_or_default();
        place.part_length(&format!("to/{folder}/patient"))
    };
    wait_until("contents come", || place.join("to").exists() && part(&place) > 1_000_000);
    let urgent = wait_for_end(spawn("urgent", "1"));
    assert_eq!(exit_code(&urgent), 0, "{}", urgent.stderr);
    assert!(patient.try_wait().unwrap().is_none(), "the patient one was done before");
    // 16 MiB wait in memory. The transfer continues when the other one is stored, while that connection closes.
    assert!(part(&place) < 45_000_000, "{} bytes were taken of the patient one", part(&place));
    let patient = wait_for_end(patient);
    assert_eq!(exit_code(&patient), 0, "{}", patient.stderr);
    let summary = json(&patient.stdout);
    assert_eq!(summary["moved_bytes"], 60_000_000);
    // It was held back for about the duration of the other.
    assert!(summary["queued_seconds"].as_f64().unwrap() > 3.0, "{summary}");
    assert_eq!(json(&urgent.stdout)["queued_seconds"], 0.0);
    assert!(patient.stderr.contains("paused for"), "{}", patient.stderr);
    assert_eq!(summary["path"]["ecn"], "capable", "{summary}");
    assert_eq!(exit_code(&server.interrupt()), 0);
    let folder = place.names("to").pop().unwrap();
    assert!(place.read(&format!("to/{folder}/patient")) == vec![1; 60_000_000]);
}

#[test]
fn a_server_that_is_stopped_does_not_wait_for_those_that_are_held_back() {
    let place = TestFolder::new("priority-stopped");
    place.write("patient", &vec![1; 100_000_000]);
    place.write("urgent", &vec![2; 100_000_000]);
    let wanted = trusted_key_option(&place, "sender");
    let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
    let server = Receiver::begin(&place, "serve", &["to"], &wanted);
    let spawn = |file, priority| {
        let call = [file, &*server.address, "--priority", priority, "--rate", "50 Mbit/s", "--quiet"];
        thalweg(&place, "sender", "send", &[&call[..], &TRUST_NEW].concat()).spawn().unwrap()
    };
    let comes = |file: &str| {
        let folder = place.names("to").pop().unwrap_or_default();
        place.part_length(&format!("to/{folder}/{file}")) > 0
    };
    let patient = spawn("patient", "5");
    wait_until("the patient one comes", || place.join("to").exists() && comes("patient"));
    let senders = [patient, spawn("urgent", "1")];
    wait_until("the urgent one comes", || comes("urgent"));
    let begun = std::time::Instant::now();
    assert_eq!(exit_code(&server.interrupt()), 0);
    assert!(begun.elapsed() < std::time::Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(senders.map(wait_for_end).iter().all(|sender| exit_code(sender) == 3));
}

#[test]
fn a_priority_is_from_one_to_six() {
    let place = TestFolder::new("priority-range");
    place.write("file", b"x");
    for priority in ["0", "7", "-1", "high"] {
        let sent = sends(&place, &["file", "127.0.0.1:1", &format!("--priority={priority}")]);
        assert_eq!(exit_code(&sent), 2, "{}", sent.stderr);
        assert!(sent.stderr.contains("1, the most urgent, to 6"), "{}", sent.stderr);
    }
}

/// A sender admitted only by `--trust new` has no priority, and pauses no other transfer.
#[test]
fn a_sender_that_is_not_known_is_not_urgent() {
    let place = TestFolder::new("priority-unknown");
    place.write("known", &vec![1; 3_000_000]);
    place.write("unknown", &vec![2; 60_000_000]);
    let wanted = trusted_key_option(&place, "sender");
    let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
    let server = Receiver::begin(&place, "serve", &["to"], &[&wanted[..], &TRUST_NEW].concat());
    let spawn = |user, file, priority| {
        let call = [file, &*server.address, "--priority", priority, "--rate", "10 Mbit/s", "--json"];
        thalweg(&place, user, "send", &[&call[..], &TRUST_NEW].concat()).spawn().unwrap()
    };
    let mut unknown = spawn("unknown", "unknown", "1");
    let has_arrived = || {
        let folders = place.names("to");
        folders.iter().any(|folder| place.part_length(&format!("to/{folder}/unknown")) > 100_000)
    };
    wait_until("contents come", || place.join("to").exists() && has_arrived());
    let known = wait_for_end(spawn("sender", "known", "6"));
    assert_eq!(exit_code(&known), 0, "{}", known.stderr);
    assert_eq!(json(&known.stdout)["queued_seconds"], 0.0, "{}", known.stdout);
    assert!(unknown.try_wait().unwrap().is_none(), "the other one had ended");
    unknown.kill().unwrap();
    unknown.wait().unwrap();
    server.interrupt();
}
