//! Unknown senders, and the approval prompt.

use crate::sender_and_receiver_processes::{
    self, Receiver, TestFolder, exit_code, sends, thalweg, wait_until,
};
use crate::terminal_process::Terminal;
use crate::{json, random_bytes};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::time::Duration;
use thalweg_net::endpoint::{Connect, EndpointConfig, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Connection, Socket, SocketConfig};

const LISTEN_ON_LOOPBACK: [&str; 2] = ["--listen", "127.0.0.1:0"];

fn key(place: &TestFolder, user: &str) -> String {
    let output = thalweg(place, user, "key", &[]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_question_shows_what_is_offered_and_once_is_forgotten() {
    let place = TestFolder::new("asked-once");
    place.write("photos/a", &random_bytes(1, 1000));
    place.write("photos/b", &random_bytes(2, 2000));
    place.write("notes.txt", &random_bytes(3, 500));
    let unknown = key(&place, "sender");
    let mut receiver =
        Terminal::begin(&place, "receiver", "recv", &[&["to"][..], &LISTEN_ON_LOOPBACK].concat());
    let address = receiver.address();
    let arguments = ["photos", "notes.txt", &address, "--trust", "new", "--json"];
    let sender = thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    receiver.wait_for("3 files, 3.50 kB: notes.txt (500 B), photos/");
    receiver.wait_for(&unknown);
    assert!(!place.join("to/photos").exists(), "nothing is stored before the answer");
    receiver.types("perhaps");
    receiver.wait_for("Please answer yes, once or no");
    receiver.types("once");
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    let document = json(&sent.stdout);
    let (waited, all) =
        (document["approval_seconds"].as_f64().unwrap(), document["seconds"].as_f64().unwrap());
    assert!(waited >= 0.6 && waited <= all, "{document}");
    // The rate excludes the time of the prompt.
    let rate = 3500.0 * 8.0 / (all - waited);
    assert!((document["rate_bps"].as_f64().unwrap() / rate - 1.0).abs() < 0.01, "{document}");
    assert!(receiver.child.wait().unwrap().success(), "{}", receiver.text());
    assert_eq!(place.read("to/photos/b"), random_bytes(2, 2000));
    let known = place.join("keys/receiver/thalweg/known-senders");
    assert!(!known.exists() || !fs::read_to_string(known).unwrap().contains(&unknown));
}

#[test]
fn yes_is_remembered_and_the_sender_reports_the_wait() {
    let place = TestFolder::new("asked-yes");
    place.write("file", &random_bytes(1, 1000));
    let mut receiver =
        Terminal::begin(&place, "receiver", "recv", &[&["to"][..], &LISTEN_ON_LOOPBACK].concat());
    let address = receiver.address();
    let sender = Terminal::begin(&place, "sender", "send", &["file", &address, "--trust", "new"]);
    receiver.wait_for("1 file, 1.00 kB: file (1.00 kB)");
    sender.wait_for("waiting for approval");
    receiver.types("yes");
    for mut end in [receiver, sender] {
        assert!(end.child.wait().unwrap().success(), "{}", end.text());
    }
    let known = fs::read_to_string(place.join("keys/receiver/thalweg/known-senders")).unwrap();
    assert!(known.contains(&key(&place, "sender")), "{known}");
}

#[test]
fn a_prompt_blocks_no_other_sender_and_no_rejects() {
    let place = TestFolder::new("asked-no");
    place.write("file", &random_bytes(1, 1_000_000));
    let friend = key(&place, "sender");
    let arguments = [&["to", "--trust", &friend][..], &LISTEN_ON_LOOPBACK].concat();
    let mut server = Terminal::begin(&place, "receiver", "serve", &arguments);
    let address = server.address();
    let call = |user: &str| {
        let arguments = ["file", &address, "--trust", "new"];
        thalweg(&place, user, "send", &arguments).spawn().unwrap()
    };
    let unknown = call("unknown");
    server.wait_for("Its key, ");
    // During the prompt a known sender's transfer completes.
    assert_eq!(exit_code(&sender_and_receiver_processes::wait_for_end(call("sender"))), 0);
    // Another unknown sender waits, and disconnects before its turn.
    let mut other = call("other");
    std::thread::sleep(Duration::from_millis(300));
    sender_and_receiver_processes::interrupt(&other);
    other.wait().unwrap();
    server.types("no");
    let refused = sender_and_receiver_processes::wait_for_end(unknown);
    assert_eq!(exit_code(&refused), 1);
    assert!(refused.stderr.contains("does not accept files from this key"), "{}", refused.stderr);
    // The user is not asked again about a rejected sender.
    assert_eq!(exit_code(&sender_and_receiver_processes::wait_for_end(call("unknown"))), 1);
    assert_eq!(place.names("to").len(), 1);
    sender_and_receiver_processes::interrupt(&server.child);
    assert!(server.child.wait().unwrap().success(), "{}", server.text());
}

#[test]
fn a_sender_that_goes_takes_its_question_along() {
    let place = TestFolder::new("asked-gone");
    place.write("file", &random_bytes(1, 1000));
    let mut receiver =
        Terminal::begin(&place, "receiver", "recv", &[&["to"][..], &LISTEN_ON_LOOPBACK].concat());
    let address = receiver.address();
    let arguments = ["file", &address, "--trust", "new"];
    let mut first = thalweg(&place, "first", "send", &arguments).spawn().unwrap();
    receiver.wait_for("Its key, ");
    sender_and_receiver_processes::interrupt(&first);
    first.wait().unwrap();
    receiver.wait_for("Not answered: the sender disconnected");
    // Standard input has no known length.
    let arguments = ["-", &address, "--trust", "new", "--name", "notes"];
    let second = thalweg(&place, "second", "send", &arguments).spawn().unwrap();
    receiver.wait_for("wants to send a stream called notes");
    receiver.types("yes");
    assert_eq!(exit_code(&sender_and_receiver_processes::wait_for_end(second)), 0);
    assert!(receiver.child.wait().unwrap().success(), "{}", receiver.text());
}

/// Opens silent connections from another address, each with a new key.
fn unknown_senders(address: &str) -> Vec<(Socket, Connection)> {
    let connect = |number| {
        let identity = Identity::from_secret([number; 32]);
        let config = SocketConfig::new("127.0.0.2:0".parse().unwrap(), EndpointConfig::new(identity));
        let socket = Socket::bind(config).unwrap();
        let connection = socket.connect(Connect {
            remote: address.parse().unwrap(),
            trust: Trust::Anyone,
            service: "transfer".into(),
            scheme: "cubic".parse().unwrap(),
            recorder: None,
        });
        (socket, connection.unwrap())
    };
    (1..=8).map(connect).collect()
}

#[test]
fn many_unknown_senders_of_one_address_do_not_block_others() {
    let place = TestFolder::new("asked-crowd");
    place.write("file", &random_bytes(1, 1000));
    let mut receiver =
        Terminal::begin(&place, "receiver", "recv", &[&["to"][..], &LISTEN_ON_LOOPBACK].concat());
    let address = receiver.address();
    let unknown_senders = unknown_senders(&address);
    receiver.wait_for("wants to send something");
    let sender = thalweg(&place, "sender", "send", &["file", &address, "--trust", "new"]).spawn().unwrap();
    wait_until("the last of those that wait has made room", || {
        unknown_senders.iter().filter(|(_, connection)| connection.closed().is_some()).count() == 5
    });
    assert!(unknown_senders[0].1.closed().is_none(), "what is shown stays");
    receiver.types("no");
    receiver.wait_for("wants to send 1 file, 1.00 kB: file");
    receiver.types("yes");
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    assert!(receiver.child.wait().unwrap().success(), "{}", receiver.text());
}

/// Without a terminal nobody is asked: the line is the only sign of the sender that waits for its admission.
#[test]
fn a_quiet_receiver_without_a_terminal_names_the_sender_that_it_refuses() {
    let place = TestFolder::new("quiet-refusal");
    place.write("file", &random_bytes(1, 1000));
    let unknown = key(&place, "sender");
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let arguments = ["to", "--quiet", "--trust", &"11".repeat(32), "--listen", &port];
    let mut receiver = thalweg(&place, "receiver", "recv", &arguments).spawn().unwrap();
    let mut lines = BufReader::new(receiver.stderr.take().unwrap()).lines();
    for _ in 0..2 {
        let sent = sends(&place, &["file", &port, "--trust", "new", "--keep-trying"]);
        assert_eq!(exit_code(&sent), 1, "{}", sent.stderr);
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(&format!("its key is {unknown}")) && line.contains("`--trust KEY`"), "{line}");
    }
    receiver.kill().unwrap();
    receiver.wait().unwrap();
    assert!(lines.next().is_none(), "one line for each attempt");
}

#[test]
fn denials_are_logged_and_known_senders_are_reloaded() {
    let place = TestFolder::new("turned-away");
    place.write("file", &random_bytes(1, 1000));
    place.write("large", &random_bytes(2, 8_000_000));
    let other_key = "11".repeat(32);
    let (unknown, known) = (key(&place, "sender"), place.join("keys/receiver/thalweg/known-senders"));
    let arguments = ["to", "--json-lines", "--metrics", "0"];
    let mut server = Receiver::begin(&place, "serve", &arguments, &["--trust", &other_key]);
    let metrics = server.line();
    let metrics = metrics.split_once("http://").unwrap().1.trim().trim_end_matches("/metrics").to_owned();
    let send = |file: &str| sends(&place, &[file, &server.address, "--trust", "new"]);
    assert_eq!(exit_code(&send("file")), 1);
    let line = server.line();
    assert!(line.contains("was refused") && line.contains(&unknown), "{line}");
    let (time, _) = line.split_once(' ').unwrap();
    assert!(time.len() == 20 && time.starts_with("20") && time.ends_with('Z'), "{line}");

    fs::write(&known, format!("anna {unknown}\n")).unwrap();
    assert!(server.line().contains("was reloaded: 1 sender"));
    let send = |file: &str| sends(&place, &[file, &server.address, "--trust", "new"]);
    assert_eq!(exit_code(&send("file")), 0);
    assert_eq!(place.names("to"), ["anna"]);
    let page = || crate::metrics::http_get(&metrics, "GET /metrics").1;
    wait_until("all is counted", || page().contains("thalweg_transfers_ended_total{result=\"complete\"} 1"));
    assert!(page().contains("thalweg_senders_denied_total 1"), "{}", page());

    // A sender removed from the list is disconnected; an invalid line is reported.
    let slow = ["large", &server.address, "--rate", "8 Mbit/s", "--trust", "new"];
    let slow = thalweg(&place, "sender", "send", &slow).spawn().unwrap();
    wait_until("some has come", || place.part_length("to/anna/large") > 100_000);
    fs::write(&known, "").unwrap();
    let slow_sender = sender_and_receiver_processes::wait_for_end(slow);
    assert_ne!(exit_code(&slow_sender), 0);
    assert!(
        slow_sender.stderr.contains("does not accept files from this key")
            || slow_sender.stderr.contains("any more"),
        "{}",
        slow_sender.stderr
    );
    let send = |file: &str| sends(&place, &[file, &server.address, "--trust", "new"]);
    assert_eq!(exit_code(&send("file")), 1);
    fs::write(&known, "nonsense\n").unwrap();
    let mut lines = Vec::new();
    while !lines
        .last()
        .is_some_and(|line: &String| line.contains("known-senders:1: expected a name and a key"))
    {
        lines.push(server.line());
        assert!(lines.len() < 20, "{lines:?}");
    }
    let server_output = server.interrupt();
    assert_eq!(exit_code(&server_output), 0, "{}", server_output.stderr);
    let lines: Vec<_> = server_output.stdout.lines().map(json).collect();
    let results: Vec<_> = lines.iter().map(|line| line["result"].as_str().unwrap()).collect();
    assert_eq!(results, ["denied", "complete", "interrupted", "denied"]);
    assert!(lines.iter().all(|line| line["key"] == *unknown && line["ended"].as_str().unwrap().len() == 20));
}

#[test]
fn unknown_senders_are_limited_and_leave_nothing_without_data() {
    let place = TestFolder::new("unknown-senders");
    place.write("file", b"file");
    place.write("large", &random_bytes(1, 30_000));
    let arguments = ["to", "--unknown-senders", "2", "--quota", "20 kB"];
    let mut server = Receiver::begin(&place, "serve", &arguments, &["--trust", "new"]);
    let known = place.join("keys/receiver/thalweg/known-senders");
    let list = || fs::read_to_string(&known).unwrap_or_default();
    let send = |user: &str, file: &str| {
        let arguments = [file, &server.address, "--trust", "new"];
        sender_and_receiver_processes::wait_for_end(
            thalweg(&place, user, "send", &arguments).spawn().unwrap(),
        )
    };
    // More senders than may be known; nothing of them is stored.
    for user in ["anna", "bert", "carl"] {
        let sent = send(user, "large");
        assert!(exit_code(&sent) == 1 && sent.stderr.contains("exceeds the quota"), "{}", sent.stderr);
        wait_until("the folder is gone", || place.names("to").is_empty());
    }
    assert_eq!(list(), "");
    for user in ["anna", "bert"] {
        assert_eq!(exit_code(&send(user, "file")), 0);
    }
    wait_until("both are known", || list().lines().count() == 2);
    let sent = send("carl", "file");
    assert!(
        exit_code(&sent) == 1 && sent.stderr.contains("does not accept files from this key"),
        "{}",
        sent.stderr
    );
    assert_eq!(exit_code(&send("anna", "file")), 0, "who is known may come again");
    assert_eq!(place.names("to").len(), 2);
    // Naming a sender makes room for another unnamed one.
    fs::write(&known, list().replace(list().split_once(' ').unwrap().0, "somebody")).unwrap();
    let denial = loop {
        let line = server.line();
        assert!(!line.is_empty());
        if line.contains("was refused") || line.contains("was reloaded") {
            break line;
        }
    };
    assert!(denial.contains("--unknown-senders allows no more"), "{denial}");
    while !server.line().contains("was reloaded: 2 senders") {}
    let send = ["file", &*server.address, "--trust", "new"];
    assert_eq!(
        exit_code(&sender_and_receiver_processes::wait_for_end(
            thalweg(&place, "carl", "send", &send).spawn().unwrap()
        )),
        0
    );
    wait_until("it is known", || list().lines().count() == 3);
    assert_eq!(exit_code(&server.interrupt()), 0);
}

/// Returns true under `nohup`, which child processes inherit: closing the terminal then does not end them.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & 1 == 1)
}

#[test]
fn a_terminal_that_closes_ends_a_transfer_with_a_goodbye_and_a_server_reads_its_list() {
    let place = TestFolder::new("hangup");
    place.write("file", &random_bytes(4, 5_000_000));
    let mut server = Receiver::begin(&place, "serve", &["to"], &["--trust", "new"]);
    let arguments = ["file", &server.address, "--trust", "new", "--rate", "10 Mbit/s"];
    let sender = thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    assert!(server.line().contains("is new"));
    assert!(server.line().contains("sends"));
    server.signal("HUP");
    // No data of it is stored yet.
    assert!(server.line().contains("was reloaded: 0 senders"));
    sender_and_receiver_processes::signal(if ignores_hangup() { "TERM" } else { "HUP" }, sender.id());
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    assert_eq!(exit_code(&sent), 3, "{}", sent.stderr);
    let line = server.line();
    assert!(line.contains("interrupted by its user"), "{line}");
    assert_eq!(exit_code(&server.interrupt()), 0);
}
