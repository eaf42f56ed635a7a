//! Kills either endpoint at any moment of a transfer.

use crate::sender_and_receiver_processes::{
    Receiver, TestFolder, exit_code, thalweg, wait_for_end, wait_until,
};
use crate::{TRUST_NEW, child_processes, random_bytes};
use std::time::{Duration, Instant};

/// Size of the file in bytes; it takes half a second at the configured rate.
const LENGTH: usize = 3_000_000;
const RATE: &str = "48 Mbit/s";

/// Kills one endpoint at a moment derived from the seed, and resumes. Returns true if the file was partly received by
/// then.
fn kill_once(seed: u64) -> bool {
    let place = TestFolder::new(&format!("kill-{seed}"));
    let bytes = random_bytes(seed, LENGTH);
    place.write("file", &bytes);
    let draw = random_bytes(seed + 1_000_000_000, 4);
    let after = Duration::from_micros(u64::from(u16::from_be_bytes([draw[0], draw[1]])) * 10);
    let sender_dies = draw[2].is_multiple_of(2);
    let mut receiver = Receiver::begin(&place, "recv", &["to"], &TRUST_NEW);
    let address = receiver.address.clone();
    let call = ["file", &address, "--trust", "new", "--rate", RATE, "--keep-trying"];
    let begun = Instant::now();
    let mut sender = thalweg(&place, "sender", "send", &call).spawn().unwrap();
    // A process takes a while to start: the moments cover its start and the transfer.
    wait_until("its moment has come", || begun.elapsed() >= after);
    let is_complete = || place.join("to/file").exists();
    let received = place.part_length("to/file");
    if sender_dies {
        sender.kill().unwrap();
        sender.wait().unwrap();
        if !is_complete() {
            sender = thalweg(&place, "sender", "send", &call).spawn().unwrap();
            let sent = wait_for_end(sender);
            // The receiver may already have everything, and end while the second sender connects.
            assert!(exit_code(&sent) == 0 || is_complete(), "seed {seed}: {}", sent.stderr);
        }
        // One endpoint ends after the last acknowledgement; the other was killed.
        wait_until("the file is there", is_complete);
        receiver.kill();
    } else {
        receiver.kill();
        // A sender that received the final notification does not reconnect.
        if sender.try_wait().unwrap().is_none() {
            receiver = Receiver::at(&place, &address, "recv", &["to"], &TRUST_NEW);
            let sent = wait_for_end(sender);
            assert_eq!(exit_code(&sent), 0, "seed {seed}: {}", sent.stderr);
            receiver.kill();
        }
    }
    assert!(place.read("to/file") == bytes, "seed {seed}: other bytes");
    assert_eq!(place.names("to"), ["file"], "seed {seed}");
    place.remove();
    received > 0
}

fn kill_repeatedly(first: u64, count: u64) {
    let within = (first..first + count).filter(|&seed| kill_once(seed)).count() as u64;
    println!("{count} transfers were cut off and went on, {within} of them in the middle of the file");
    assert!(within * 4 >= count, "only {within} of {count} were killed in the middle");
}

#[test]
fn transfers_resume_after_kills_at_any_moment() {
    kill_repeatedly(0, 8);
}

/// Without the report of the receiver's host, the sender waits 30 s for a packet.
#[test]
fn a_sender_ends_soon_after_its_receiver_is_killed() {
    let place = TestFolder::new("receiver-ends");
    place.write("file", &random_bytes(1, LENGTH));
    let mut receiver = Receiver::begin(&place, "recv", &["to"], &TRUST_NEW);
    let call = ["file", &receiver.address, "--trust", "new", "--rate", "8 Mbit/s", "--json"];
    let sender = thalweg(&place, "sender", "send", &call).spawn().unwrap();
    wait_until("some of the file is there", || place.part_length("to/file") > 0);
    receiver.kill();
    let begun = Instant::now();
    let sent = wait_for_end(sender);
    let took = begun.elapsed();
    assert_eq!(exit_code(&sent), 3, "{}", sent.stderr);
    let reason = "its host reports that nothing listens at the port";
    assert!(sent.stderr.contains(reason) && sent.stdout.contains(reason), "{}{}", sent.stderr, sent.stdout);
    assert!(sent.stdout.contains("\"interrupted\""), "{}", sent.stdout);
    assert!((Duration::from_secs(4)..Duration::from_secs(20)).contains(&took), "{took:?}");
    place.remove();
}

/// The kernel does this, as a killed test cannot. It treats the end of the thread like the end of the parent.
#[test]
fn a_server_ends_with_the_test_that_started_it() {
    if !child_processes::has_leash() {
        return eprintln!("skipped: there is no setpriv here");
    }
    let place = TestFolder::new("orphan");
    let start = move || Receiver::begin(&place, "serve", &["to"], &TRUST_NEW).child;
    let server = std::thread::spawn(start).join().unwrap();
    let begun = Instant::now();
    let ended_server = wait_for_end(server);
    assert!(
        ended_server.code.is_none() && begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        ended_server.code
    );
}

/// `scripts/soak kills` runs this test.
#[test]
#[ignore = "takes as long as it is told"]
fn many_kills() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    kill_repeatedly(number("THALWEG_SEED", 0), number("THALWEG_KILLS", 1000));
}
