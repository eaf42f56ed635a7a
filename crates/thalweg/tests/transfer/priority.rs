//! `--priority`.

use super::processes::{Place, Receiver, end, exit, sends, thalweg, wait_until};
use super::{NEW, json};

#[test]
fn the_urgent_sender_is_done_first_though_it_began_later() {
    let place = Place::new("priority");
    place.write("patient", &vec![1; 60_000_000]);
    place.write("urgent", &vec![2; 75_000_000]);
    let server = Receiver::begin(&place, "serve", &["to", "--json-lines"], &NEW);
    // Alone or side by side, the first needs 4.8 s, the other 6 s.
    let spawn = |file, priority| {
        // Its packets ask for marks.
        let scheme = ["--scheme", "cubic"];
        let call = [file, &*server.address, "--priority", priority, "--rate", "100 Mbit/s", "--json"];
        thalweg(&place, "sender", "send", &[&call[..], &scheme, &NEW].concat()).spawn().unwrap()
    };
    let mut patient = spawn("patient", "5");
    // The file grows where the sender has its folder.
    let part = |place: &Place| {
        let folder = place.names("to").pop().unwrap_or_default();
        place.part_length(&format!("to/{folder}/patient"))
    };
    wait_until("contents come", || place.join("to").exists() && part(&place) > 1_000_000);
    let urgent = end(spawn("urgent", "1"));
    assert_eq!(exit(&urgent), 0, "{}", urgent.stderr);
    assert!(patient.try_wait().unwrap().is_none(), "the patient one was done before");
    // 16 MiB wait in memory, and it goes on when the other has been stored, while that says good-bye.
    assert!(part(&place) < 45_000_000, "{} bytes were taken of the patient one", part(&place));
    let patient = end(patient);
    assert_eq!(exit(&patient), 0, "{}", patient.stderr);
    let summary = json(&patient.stdout);
    assert_eq!(summary["moved_bytes"], 60_000_000);
    // It was, for about as long as the other took.
    assert!(summary["held_seconds"].as_f64().unwrap() > 3.0, "{summary}");
    assert_eq!(json(&urgent.stdout)["held_seconds"], 0.0);
    assert!(patient.stderr.contains("held back for"), "{}", patient.stderr);
    assert_eq!(summary["path"]["ecn"], "capable", "{summary}");
    assert_eq!(exit(&server.interrupt()), 0);
    let folder = place.names("to").pop().unwrap();
    assert!(place.read(&format!("to/{folder}/patient")) == vec![1; 60_000_000]);
}

#[test]
fn a_server_that_is_stopped_does_not_wait_for_those_that_are_held_back() {
    let place = Place::new("priority-stopped");
    place.write("patient", &vec![1; 100_000_000]);
    place.write("urgent", &vec![2; 100_000_000]);
    let server = Receiver::begin(&place, "serve", &["to"], &NEW);
    let spawn = |file, priority| {
        let call = [file, &*server.address, "--priority", priority, "--rate", "50 Mbit/s", "--quiet"];
        thalweg(&place, "sender", "send", &[&call[..], &NEW].concat()).spawn().unwrap()
    };
    let senders = [spawn("patient", "5"), spawn("urgent", "1")];
    std::thread::sleep(std::time::Duration::from_secs(2));
    let begun = std::time::Instant::now();
    assert_eq!(exit(&server.interrupt()), 0);
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(senders.map(end).iter().all(|ended| exit(ended) == 3));
}

#[test]
fn a_priority_is_from_one_to_six() {
    let place = Place::new("priority-range");
    place.write("file", b"x");
    for priority in ["0", "7", "-1", "high"] {
        let sent = sends(&place, &["file", "127.0.0.1:1", &format!("--priority={priority}")]);
        assert_eq!(exit(&sent), 2, "{}", sent.stderr);
        assert!(sent.stderr.contains("1, the most urgent, to 6"), "{}", sent.stderr);
    }
}
