//! Transfers between real processes over real sockets, including kills.

mod approval_of_unknown_senders;
#[path = "../it/child_processes/mod.rs"]
mod child_processes;
mod incomplete_transfers;
mod killed_endpoints;
mod metrics;
mod pairing;
mod priority;
mod sender_and_receiver_processes;
mod terminal_process;

use sender_and_receiver_processes::{Receiver, TestFolder, exit_code, sends, thalweg, wait_until};
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

/// Returns pseudorandom bytes.
fn random_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2) + 1;
    let step = |_| {
        // Steele and Vigna's multiplier for 64-bit linear congruential generators.
        state = state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..length).map(step).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

const TRUST_NEW: [&str; 2] = ["--trust", "new"];

#[test]
fn a_folder_arrives_and_both_ends_report_it() {
    let place = TestFolder::new("arrives");
    place.write("set/a", b"a");
    place.write("set/b/large", &random_bytes(1, 3_000_000));
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let sent = sends(&place, &["set", &receiver.address, "--json", "--trust", "new", "--rate", "400 Mbit/s"]);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    let address = receiver.address.clone();
    let received = receiver.end();
    assert_eq!(exit_code(&received), 0, "{}", received.stderr);
    let [ours, theirs] = [json(&sent.stdout), json(&received.stdout)];
    for document in [&ours, &theirs] {
        assert_eq!(document["result"], "complete");
        assert_eq!((&document["files"], &document["moved_bytes"]), (&2.into(), &3_000_001.into()));
    }
    assert_eq!((&ours["command"], &ours["path"]["scheme"]), (&"send".into(), &"thalweg".into()));
    // `--rate` limits the sending rate.
    assert!(ours["seconds"].as_f64().unwrap() > 0.9 * 3_000_000.0 * 8.0 / 400e6 - 0.05, "{ours}");
    assert!(theirs["path"]["rtt_ms"].as_f64().unwrap() > 0.0);
    assert!(place.read("to/set/b/large") == random_bytes(1, 3_000_000));
    assert!(
        sent.stderr.contains("From now on") && sent.stderr.contains("Sent 2 files, 3.00 MB"),
        "{}",
        sent.stderr
    );
    assert!(received.stderr.contains("Received 2 files"), "{}", received.stderr);

    // Both are known peers now, and unchanged files are not sent again.
    let receiver = Receiver::at(&place, &address, "recv", &["to"], &[]);
    let again = sends(&place, &["set", &receiver.address, "--json", "--quiet", "--checksum"]);
    assert_eq!(exit_code(&again), 0, "{}", again.stderr);
    assert_eq!(again.stderr, "");
    let document = json(&again.stdout);
    assert_eq!((&document["unchanged"], &document["moved_bytes"]), (&2.into(), &0.into()));
    assert_eq!(exit_code(&receiver.end()), 0);
}

#[test]
fn every_reliable_scheme_carries_files() {
    let place = TestFolder::new("schemes");
    let bytes = random_bytes(5, 400_000);
    place.write("file", &bytes);
    for scheme in ["newreno", "vegas", "sscop", "adaptive-ack", "sstp"] {
        let receiver = Receiver::begin(&place, "recv", &[scheme, "--allow-scheme", scheme], &TRUST_NEW);
        // One of the schemes needs an agreed rate: this one.
        let rate = ["--rate", "100 Mbit/s"];
        let call = ["file", &receiver.address, "--trust", "new", "--scheme", scheme];
        let sent = sends(&place, &[&call[..], &rate].concat());
        assert_eq!(exit_code(&sent), 0, "{scheme}: {}", sent.stderr);
        assert_eq!(exit_code(&receiver.end()), 0, "{scheme}");
        assert!(place.read(&format!("{scheme}/file")) == bytes, "{scheme}");
    }
}

#[test]
fn a_receiver_takes_the_schemes_that_its_operator_allows() {
    let place = TestFolder::new("allowed");
    place.write("file", b"contents");
    let receiver = Receiver::begin(&place, "recv", &["to", "--allow-scheme", "vegas"], &TRUST_NEW);
    let call = |scheme| sends(&place, &["file", &receiver.address, "--trust", "new", "--scheme", scheme]);
    let refused = call("sscop");
    assert_eq!(exit_code(&refused), 1, "{}", refused.stderr);
    let why = "the scheme sscop is not allowed here, only cubic, thalweg, vegas (sscop needs --allow-scheme)";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);
    let sent = call("vegas");
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    assert_eq!(exit_code(&receiver.end()), 0);
    let wrong = |name: &str| {
        let output =
            sender_and_receiver_processes::thalweg(&place, "wrong", "recv", &["to", "--allow-scheme", name])
                .output()
                .unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (name, expected) in [
        ("nothing", "there is no scheme"),
        ("udp", "may lose data"),
        ("sstp:rate=1Mbit/s", "a name without options"),
    ] {
        let (code, why) = wrong(name);
        assert!(code == Some(2) && why.contains(expected), "{name}: {why}");
    }
}

/// Users of scp and rsync name the source first.
#[test]
fn a_receiver_makes_no_folder_that_names_another_host() {
    let place = TestFolder::new("other-host");
    for command in ["recv", "serve"] {
        let output = thalweg(&place, "receiver", command, &["ann@nas:inbox"]).output().unwrap();
        let why = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command}: {why}");
        assert!(why.contains("thalweg send FILES... HOST") && !place.join("ann@nas:inbox").exists(), "{why}");
    }
    place.remove();
}

#[test]
fn a_sender_that_is_killed_goes_on_where_it_was() {
    let place = TestFolder::new("killed-sender");
    let bytes = random_bytes(2, 12_000_000);
    place.write("file", &bytes);
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let arguments = ["file", &receiver.address, "--trust", "new", "--rate", "60 Mbit/s"];
    let mut min = 0;
    for part in 1..=3 {
        let mut sender =
            sender_and_receiver_processes::thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
        // 12 MB take 1.6 s at this rate.
        wait_until("more of the file has come", || place.part_length("to/file") > min + 1_000_000);
        sender.kill().unwrap();
        sender.wait().unwrap();
        assert!(!place.join("to/file").exists(), "killed {part} times, and it has its name");
        min = place.part_length("to/file");
    }
    let last = sends(&place, &["file", &receiver.address, "--json"]);
    assert_eq!(exit_code(&last), 0, "{}", last.stderr);
    let received = receiver.end();
    assert_eq!(exit_code(&received), 0, "{}", received.stderr);
    let document = json(&last.stdout);
    assert!(document["resumed_bytes"].as_u64().unwrap() >= min, "{document}");
    let all = document["resumed_bytes"].as_u64().unwrap() + document["moved_bytes"].as_u64().unwrap();
    assert_eq!(all, 12_000_000);
    assert!(place.read("to/file") == bytes);
    assert_eq!(place.names("to"), ["file"]);
}

#[test]
fn a_receiver_that_is_killed_is_found_again() {
    let place = TestFolder::new("killed-receiver");
    let bytes = random_bytes(3, 12_000_000);
    place.write("set/file", &bytes);
    (0..300).for_each(|number| drop(place.write(&format!("set/small/{number}"), &random_bytes(number, 100))));
    let mut receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let arguments =
        ["set", &receiver.address, "--trust", "new", "--rate", "60 Mbit/s", "--keep-trying", "--json"];
    let sender =
        sender_and_receiver_processes::thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    let mut min = 0;
    for _ in 0..2 {
        let part = "to/set/file";
        wait_until("more of the file has come", || place.part_length(part) > min + 1_000_000);
        let address = receiver.address.clone();
        receiver.kill();
        min = place.part_length(part);
        receiver = Receiver::at(&place, &address, "recv", &["to", "--json"], &TRUST_NEW);
    }
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    assert!(sent.stderr.contains("trying again"), "{}", sent.stderr);
    assert_eq!(json(&sent.stdout)["connections"], 3);
    assert_eq!(exit_code(&receiver.end()), 0);
    assert!(place.read("to/set/file") == bytes);
    assert_eq!(place.names("to/set/small").len(), 300);
    assert_eq!(place.names("to/set"), ["file", "small"]);
}

#[test]
fn ctrl_c_ends_one_side_and_the_other_gets_the_reason() {
    let place = TestFolder::new("ctrl-c");
    place.write("file", &random_bytes(4, 5_000_000));
    let receiver = Receiver::begin(&place, "recv", &["to"], &TRUST_NEW);
    let address = receiver.address.clone();
    let arguments = ["file", &address, "--trust", "new", "--rate", "10 Mbit/s"];
    let sender =
        sender_and_receiver_processes::thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    wait_until("some of the file has come", || place.part_length("to/file") > 100_000);
    sender_and_receiver_processes::interrupt(&sender);
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    assert_eq!(exit_code(&sent), 3, "{}", sent.stderr);
    assert!(sent.stderr.contains("repeat the command to resume"), "{}", sent.stderr);
    let received = receiver.end();
    assert_eq!(exit_code(&received), 3, "{}", received.stderr);
    assert!(received.stderr.contains("interrupted by its user"), "{}", received.stderr);
    // Both restart, and now the receiver is killed.
    let receiver = Receiver::at(&place, &address, "recv", &["to"], &TRUST_NEW);
    let sender =
        sender_and_receiver_processes::thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    let min = place.part_length("to/file");
    wait_until("more of the file has come", || place.part_length("to/file") > min + 100_000);
    let received = receiver.interrupt();
    assert_eq!(exit_code(&received), 3, "{}", received.stderr);
    assert!(received.stderr.contains("repeat the command to resume"), "{}", received.stderr);
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    assert_eq!(exit_code(&sent), 3, "{}", sent.stderr);
    assert!(sent.stderr.contains("interrupted by its user"), "{}", sent.stderr);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let place = TestFolder::new("streams");
    let bytes = random_bytes(6, 1_500_000);
    let receiver = Receiver::begin(&place, "recv", &["-"], &TRUST_NEW);
    let arguments = ["-", &receiver.address, "--trust", "new"];
    let mut sender = sender_and_receiver_processes::thalweg(&place, "sender", "send", &arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = sender.stdin.take().unwrap();
    let (first, rest) = bytes.split_at(10);
    let (first, rest) = (first.to_vec(), rest.to_vec());
    input.write_all(&first).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let writer = std::thread::spawn(move || input.write_all(&rest).unwrap());
    let received = receiver.end_bytes();
    writer.join().unwrap();
    assert_eq!(exit_code(&sender_and_receiver_processes::wait_for_end(sender)), 0);
    assert!(received == bytes);

    let receiver = Receiver::begin(&place, "recv", &["to"], &TRUST_NEW);
    let arguments = ["-", &receiver.address, "--trust", "new", "--name", "notes.txt"];
    let mut sender = sender_and_receiver_processes::thalweg(&place, "sender", "send", &arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    sender.stdin.take().unwrap().write_all(b"some notes").unwrap();
    assert_eq!(exit_code(&sender_and_receiver_processes::wait_for_end(sender)), 0);
    assert_eq!(exit_code(&receiver.end()), 0);
    assert_eq!(place.read("to/notes.txt"), b"some notes");
}

#[test]
fn no_peer_is_trusted_without_configuration() {
    let place = TestFolder::new("trust");
    place.write("file", b"file");
    let key = |who: &str| {
        let output = sender_and_receiver_processes::thalweg(&place, who, "key", &[]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let (sender, other_key) = (key("sender"), key("unknown"));
    assert_eq!(sender, key("sender"), "a key stays");
    // A receiver that would admit no sender fails at once.
    let output = sender_and_receiver_processes::thalweg(
        &place,
        "receiver",
        "recv",
        &["to", "--listen", "127.0.0.1:0"],
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no sender is known"));
    assert!(!place.join("to").exists(), "it makes no folder");

    let receiver = Receiver::begin(&place, "recv", &["to"], &["--trust", &sender]);
    // A sender sends nothing to an unknown receiver.
    let unknown = sends(&place, &["file", &receiver.address]);
    assert_eq!(exit_code(&unknown), 1);
    assert!(unknown.stderr.contains("is not known"), "{}", unknown.stderr);
    // Nor to a peer with another key.
    let wrong = sends(&place, &["file", &receiver.address, "--trust", &other_key]);
    assert_eq!(exit_code(&wrong), 1);
    assert!(wrong.stderr.contains("may be a man-in-the-middle attack"), "{}", wrong.stderr);
    // The wrong key comes from the option, not from a file.
    assert!(wrong.stderr.contains("that --trust gives") && !wrong.stderr.contains("known-receivers"));
    // A receiver rejects unknown senders.
    let arguments = ["file", &receiver.address, "--trust", &receiver.key];
    let strange =
        sender_and_receiver_processes::thalweg(&place, "unknown", "send", &arguments).output().unwrap();
    assert_eq!(strange.status.code(), Some(1));
    let message = String::from_utf8_lossy(&strange.stderr).into_owned();
    assert!(message.contains(&other_key), "{message}");
    assert!(place.names("to").is_empty());
    let good = sends(&place, &["file", &receiver.address, "--trust", &receiver.key]);
    assert_eq!(exit_code(&good), 0, "{}", good.stderr);
    assert_eq!(exit_code(&receiver.end()), 0);
    assert_eq!(place.read("to/file"), b"file");
}

#[test]
fn a_full_disk_has_its_own_message_and_leaves_no_wrong_file() {
    let place = TestFolder::new("full-disk");
    place.write("set/a", &random_bytes(1, 1000));
    place.write("set/b", &random_bytes(2, 6_000_000));
    let Some(receiver) = Receiver::on_a_small_disk(&place) else { return };
    let sent = sends(&place, &["set", &receiver.address, "--trust", "new", "--json"]);
    assert_eq!(exit_code(&sent), 1, "{}", sent.stderr);
    assert!(sent.stderr.contains("set/b: the receiver's disk is full"), "{}", sent.stderr);
    assert!(sent.stderr.contains("resumes from the data at the receiver"), "{}", sent.stderr);
    let document = json(&sent.stdout);
    assert_eq!((&document["result"], &document["files"]), (&"failures".into(), &1.into()));
    assert_eq!(document["failures"][0]["kind"], "disk-full");
    let received = receiver.end();
    assert_eq!(exit_code(&received), 1);
    assert!(received.stderr.contains("resumes from the data at the receiver"), "{}", received.stderr);
    let mut files: Vec<_> = received.stdout.lines().collect();
    files.sort_unstable();
    let [complete, part] = files[..] else { panic!("{files:?}") };
    assert_eq!(complete, "to/set/a");
    assert!(part.starts_with("to/set/b.") && part.ends_with(".thalweg.part"), "{part}");
}

/// The part of a file that does not fit must not keep those from the disk that do.
#[test]
fn files_that_fit_on_the_disk_arrive_after_one_that_does_not() {
    let place = TestFolder::new("full-disk-and-others");
    place.write("set/big", &random_bytes(1, 6_000_000));
    place.write("set/c", b"late");
    place.write("set/d", &random_bytes(2, 1_000_000));
    place.write("set/e/f", &random_bytes(3, 1_000_000));
    let Some(receiver) = Receiver::on_a_small_disk(&place) else { return };
    let sent = sends(&place, &["set", &receiver.address, "--trust", "new", "--json"]);
    assert_eq!(exit_code(&sent), 1, "{}", sent.stderr);
    let document = json(&sent.stdout);
    assert_eq!((&document["files"], &document["failed"]), (&3.into(), &1.into()), "{document}");
    assert_eq!(document["failures"][0]["name"], "set/big");
    let received = receiver.end();
    assert!(!received.stderr.contains("sending it again resumes"), "{}", received.stderr);
    let mut files: Vec<_> = received.stdout.lines().collect();
    files.sort_unstable();
    assert_eq!(files, ["to/set/c", "to/set/d", "to/set/e/f"]);
}

#[test]
fn failures_have_exit_codes() {
    let place = TestFolder::new("exit-codes");
    place.write("file", b"file");
    let code = |arguments: &[&str]| {
        let output = sends(&place, arguments);
        assert_eq!(output.stdout, "");
        (exit_code(&output), output.stderr)
    };
    assert_eq!(code(&["file"]).0, 2);
    assert_eq!(code(&["missing", "localhost:1"]).0, 2);
    assert_eq!(code(&["file", "file", "localhost:1"]).0, 2);
    assert_eq!(code(&["-", "file", "localhost:1"]).0, 2);
    assert_eq!(code(&["file", "localhost:1", "--scheme", "udp"]).0, 2);
    assert_eq!(code(&["file", "localhost:1", "--scheme", "nothing"]).0, 2);
    assert_eq!(code(&["file", "localhost:1", "--trust", "somebody"]).0, 2);
    assert_eq!(code(&["file", "localhost:1", "--rate", "5"]).0, 2);
    let (exit, message) = code(&["file", "a file"]);
    assert!(exit == 2 && message.contains("the receiver comes last"), "{message}");
    // No receiver runs.
    let (exit, message) = code(&["file", "127.0.0.1:9", "--trust", "new"]);
    assert!(exit == 3 && message.contains("no response"), "{message}");
}

#[test]
fn a_server_gives_each_sender_a_folder_and_no_more_than_its_quota() {
    let place = TestFolder::new("serve");
    place.write("one", &random_bytes(1, 300_000));
    place.write("two", &random_bytes(2, 300_000));
    place.write("big", &random_bytes(3, 700_000));
    let arguments = ["to", "--quota", "1 MB", "--json-lines"];
    let server = Receiver::begin(&place, "serve", &arguments, &TRUST_NEW);
    let send = |who: &str, files: &[&str]| {
        let mut arguments = files.to_vec();
        arguments.extend([&*server.address, "--trust", "new", "--rate", "20 Mbit/s"]);
        sender_and_receiver_processes::thalweg(&place, who, "send", &arguments).spawn().unwrap()
    };
    // Both run concurrently.
    let both = [send("anna", &["one", "two"]), send("bert", &["one"])];
    for sender in both {
        assert_eq!(exit_code(&sender_and_receiver_processes::wait_for_end(sender)), 0);
    }
    let over = sender_and_receiver_processes::wait_for_end(send("anna", &["big"]));
    assert_eq!(exit_code(&over), 1);
    assert!(
        over.stderr.contains("big: it exceeds the quota of this sender at the receiver"),
        "{}",
        over.stderr
    );
    assert_eq!(exit_code(&sender_and_receiver_processes::wait_for_end(send("bert", &["big"]))), 0);
    let server_output = server.interrupt();
    assert_eq!(exit_code(&server_output), 0, "{}", server_output.stderr);
    let lines: Vec<_> = server_output.stdout.lines().map(json).collect();
    assert_eq!(lines.len(), 4);
    assert!(lines.iter().all(|line| line["command"] == "serve"));
    let folders = place.names("to");
    assert_eq!(folders.len(), 2);
    let mut held: Vec<_> = folders.iter().map(|folder| place.names(&format!("to/{folder}"))).collect();
    held.sort();
    assert_eq!(held, [vec!["big", "one"], vec!["one", "two"]]);
}

#[test]
fn the_receivers_umask_applies_unless_permissions_are_requested() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TestFolder::new("mask");
    let mode = |name: &str| fs::metadata(place.join(name)).unwrap().permissions().mode() & 0o777;
    let open =
        |name: &str, mode| fs::set_permissions(place.join(name), fs::Permissions::from_mode(mode)).unwrap();
    place.write("set/tool", b"tool");
    open("set", 0o777);
    open("set/tool", 0o766);
    for mask in [0o000, 0o002, 0o007, 0o022, 0o027, 0o037, 0o070, 0o077] {
        // Others never get write permission, for any umask.
        let masked = [0o777, 0o766].map(|mode| mode & !mask & !0o022);
        for (arguments, expected) in [(&[][..], masked), (&["--perms"], [0o777, 0o766])] {
            let folder = format!("{mask:03o}{}", arguments.len());
            let arguments = [&[&*folder], arguments].concat();
            let receiver = Receiver::with_mask(&place, &format!("{mask:03o}"), &arguments);
            let sent = sends(&place, &["set", &receiver.address, "--trust", "new"]);
            assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
            assert_eq!(exit_code(&receiver.end()), 0);
            let modes = [mode(&format!("{folder}/set")), mode(&format!("{folder}/set/tool"))];
            assert_eq!(modes, expected, "mask {mask:03o}, {arguments:?}");
        }
    }
}

/// For any umask.
#[test]
fn the_folder_of_keys_is_its_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TestFolder::new("key-folder");
    let script = "umask $0; exec \"$1\" key";
    for mask in ["000", "002", "022", "077", "277", "777"] {
        let user = format!("user-{mask}");
        fs::create_dir_all(place.join("keys").join(&user)).unwrap();
        let mut call = child_processes::command("sh");
        call.args(["-c", script, mask, env!("CARGO_BIN_EXE_thalweg")]);
        sender_and_receiver_processes::set_environment(&mut call, &place, &user);
        let made = sender_and_receiver_processes::wait_for_end(call.spawn().unwrap());
        assert_eq!(exit_code(&made), 0, "{mask}: {}", made.stderr);
        let folder = place.join("keys").join(&user).join("thalweg");
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("identity"))), (0o700, 0o600), "mask {mask}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "drafts are left");
        // A folder that others can write to is rejected.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let open =
            sender_and_receiver_processes::wait_for_end(thalweg(&place, &user, "key", &[]).spawn().unwrap());
        assert_eq!(exit_code(&open), 1, "{}", open.stderr);
        assert!(
            open.stderr.contains("others may write to it") && open.stderr.contains("chmod 755"),
            "{}",
            open.stderr
        );
    }
}

/// A truncated or unterminated line must not lock out other peers.
#[test]
fn a_truncated_trust_file_locks_out_no_known_sender() {
    let place = TestFolder::new("cut-list");
    place.write("file", b"file");
    let key = |user: &str| {
        sender_and_receiver_processes::wait_for_end(thalweg(&place, user, "key", &[]).spawn().unwrap())
            .stdout
            .trim()
            .to_owned()
    };
    let (anna, bert) = (key("anna"), key("bert"));
    key("receiver");
    let list = place.write(
        "keys/receiver/thalweg/known-senders",
        format!("bert {}\nanna {anna}", &bert[..30]).as_bytes(),
    );
    let listens = |trust: &[&str]| {
        let arguments = [&["to", "--listen", "127.0.0.1:0"], trust].concat();
        let wrong = "known-senders:1: expected a name and a key";
        Receiver::spawn_after(&mut thalweg(&place, "receiver", "serve", &arguments), wrong)
    };
    let server = listens(&TRUST_NEW);
    let send = |user: &str| {
        let call = ["file", &*server.address, "--trust", "new"];
        exit_code(&sender_and_receiver_processes::wait_for_end(
            thalweg(&place, user, "send", &call).spawn().unwrap(),
        ))
    };
    assert_eq!((send("anna"), send("bert"), send("carl")), (0, 0, 0));
    server.interrupt();
    let text = fs::read_to_string(list).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(
        text.contains(&format!("\nanna {anna}\n")) && text.contains(&format!(" {bert} # by --trust new\n")),
        "{text}"
    );
    // They are known from now on.
    let server = listens(&[]);
    let call = |user: &str| thalweg(&place, user, "send", &["file", &*server.address, "--trust", "new"]);
    for (user, expected) in [("anna", 0), ("bert", 0), ("carl", 0), ("dora", 1)] {
        assert_eq!(
            exit_code(&sender_and_receiver_processes::wait_for_end(call(user).spawn().unwrap())),
            expected,
            "{user}"
        );
    }
    server.interrupt();
}

#[test]
fn keys_are_for_their_user_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TestFolder::new("keys");
    let output = sender_and_receiver_processes::thalweg(&place, "sender", "key", &[]).output().unwrap();
    let mut key = String::new();
    output.stdout.as_slice().read_to_string(&mut key).unwrap();
    assert_eq!(key.trim().len(), 64);
    let identity = place.join("keys/sender/thalweg/identity");
    assert_eq!(fs::metadata(&identity).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&identity).unwrap().contains(key.trim()));
    // The same permissions as ssh requires.
    let mode = |name: &str, mode| {
        let path = place.join(&format!("keys/sender/thalweg/{name}"));
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let fails = |command: &str, arguments: &[&str], expected: &str| {
        let output =
            sender_and_receiver_processes::thalweg(&place, "sender", command, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains(expected), "{output:?}");
    };
    mode("identity", 0o640);
    fails("key", &[], "others may read it (mode 640): run chmod 600");
    mode("identity", 0o600);
    place.write("keys/sender/thalweg/known-senders", b"");
    mode("known-senders", 0o666);
    let arguments = ["to", "--trust", "new", "--listen", "127.0.0.1:0"];
    fails("recv", &arguments, "others may write it (mode 666): run chmod 644");
    fs::write(&identity, "nonsense").unwrap();
    let output = sender_and_receiver_processes::thalweg(&place, "sender", "key", &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("holds no key"));
}
