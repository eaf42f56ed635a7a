//! Incomplete transfers: reports at both endpoints.

use crate::sender_and_receiver_processes::{
    self, EndedProcess, Receiver, TestFolder, exit_code, interrupt, sends, thalweg, wait_until,
};
use crate::{TRUST_NEW, json, random_bytes};
use std::io::Write as _;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{Connect, EndpointConfig, Trust};
use thalweg_net::identity::Identity;
use thalweg_net::live::{Socket, SocketConfig};
use thalweg_net::transfer::{Progress, Source, send_transfer};

#[test]
fn an_output_rejects_folders_at_both_ends_at_once() {
    let place = TestFolder::new("folder-to-output");
    place.write("photos/one", b"one");
    place.write("file", &random_bytes(1, 100_000));
    for what in [&["photos"][..], &["file", "photos"]] {
        let receiver = Receiver::begin(&place, "recv", &["-"], &TRUST_NEW);
        let sent = sends(&place, &[what, &[&*receiver.address, "--trust", "new"]].concat());
        let received = receiver.end();
        for end in [&sent, &received] {
            assert_eq!(exit_code(end), 1, "{}", end.stderr);
            assert!(end.stderr.contains("takes one file or stream and no folder"), "{}", end.stderr);
        }
        assert_eq!(received.stdout, "");
    }
}

/// The kernel ends a process that exceeds the file size limit, unless it handles the signal.
#[test]
fn a_file_larger_than_may_be_written_is_an_error_at_both_ends() {
    let place = TestFolder::new("large-file");
    place.write("large", &random_bytes(7, 3_000_000));
    let receiver = Receiver::with_small_files(&place, 1 << 20);
    let sent = sends(&place, &["large", &receiver.address, "--trust", "new"]);
    for end in [&sent, &receiver.end()] {
        assert_eq!(exit_code(end), 1, "{}", end.stderr);
        assert!(
            end.stderr.contains("large: it could not be read or stored (File too large"),
            "{}",
            end.stderr
        );
    }
}

#[test]
fn unsent_entries_are_named_at_both_ends() {
    let place = TestFolder::new("not-sent");
    place.write("set/file", b"file");
    place.write("set/film.thalweg.part", b"half a film");
    std::os::unix::fs::symlink("file", place.join("set/link")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", place.join("set/outside")).unwrap();
    // `--strict` sends everything or nothing.
    let strict = sends(&place, &["set", "127.0.0.1:9", "--trust", "new", "--strict"]);
    assert_eq!(exit_code(&strict), 1, "{}", strict.stderr);
    assert!(strict.stderr.contains("--strict: nothing was sent, as 2 things"), "{}", strict.stderr);
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let sent = sends(&place, &["set", &receiver.address, "--trust", "new", "--json", "--quiet"]);
    for end in [&sent, &receiver.end()] {
        assert_eq!(exit_code(end), 1, "{}", end.stderr);
        assert!(end.stderr.contains("set/film.thalweg.part is not sent: it is a leftover"), "{}", end.stderr);
        assert!(end.stderr.contains("set/outside: it is a symbolic link that leads"), "{}", end.stderr);
        let document = json(&end.stdout);
        assert_eq!((&document["result"], &document["omitted"]), (&"failures".into(), &1.into()));
        assert_eq!((&document["links"], &document["failed"]), (&1.into(), &1.into()));
        assert_eq!(document["not_sent"][0]["kind"], "unfinished");
        assert_eq!(document["failures"][0]["kind"], "link");
    }
    assert_eq!(std::fs::read_link(place.join("to/set/link")).unwrap().to_str(), Some("file"));
    let named = sends(&place, &["set/film.thalweg.part", "localhost:1"]);
    assert_eq!(exit_code(&named), 2);
    assert!(named.stderr.contains("unfinished"), "{}", named.stderr);
}

#[test]
fn metadata_loss_is_reported_and_fails_unless_accepted() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = TestFolder::new("lost");
    let tool = place.write("tool", b"tool");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let strict = sends(&place, &["tool", "127.0.0.1:9", "--trust", "new", "--strict"]);
    assert_eq!(exit_code(&strict), 1, "{}", strict.stderr);
    assert!(strict.stderr.contains("error: tool: 1 setuid or setgid bit not carried"), "{}", strict.stderr);
    for (arguments, code) in [(&[][..], 1), (&["--accept-loss"], 0)] {
        let receiver = Receiver::begin(&place, "recv", &[&["to", "--json"], arguments].concat(), &TRUST_NEW);
        let call = ["tool", &receiver.address, "--trust", "new", "--json", "--quiet"];
        let sent = sends(&place, &[&call[..], arguments].concat());
        for end in [&sent, &receiver.end()] {
            assert_eq!(exit_code(end), code, "{}", end.stderr);
            let word = if code == 0 { "note" } else { "error" };
            assert!(
                end.stderr.contains(&format!("{word}: 1 setuid or setgid bit not carried")),
                "{}",
                end.stderr
            );
            assert_eq!(end.stderr.contains("error:"), code != 0, "{}", end.stderr);
            assert_eq!(json(&end.stdout)["lost"]["special_bits"], 1);
        }
    }
}

#[test]
fn files_of_others_are_replaced_by_request() {
    let place = TestFolder::new("existing");
    place.write("file", b"sent");
    place.write("to/file", b"here before");
    for (arguments, code, names) in [
        (&[][..], 1, &["file"][..]),
        (&["--no-overwrite"], 1, &["file"]),
        (&["--backup"], 0, &["file", "file.~1~"]),
        (&["--overwrite"], 0, &["file", "file.~1~"]),
    ] {
        let receiver = Receiver::begin(&place, "recv", &[&["to"], arguments].concat(), &TRUST_NEW);
        let sent = sends(&place, &["file", &receiver.address, "--trust", "new"]);
        for end in [&sent, &receiver.end()] {
            assert_eq!(exit_code(end), code, "{arguments:?}: {}", end.stderr);
            assert_eq!(
                end.stderr.contains("file: the receiver keeps its existing file"),
                code == 1,
                "{}",
                end.stderr
            );
        }
        assert_eq!(place.names("to"), names);
        let expected: &[u8] = if code == 0 { b"sent" } else { b"here before" };
        assert_eq!(place.read("to/file"), expected);
        // Again a file from another source.
        place.write("to/file", if names.len() > 1 { b"edited here" } else { b"here before" });
    }
    assert_eq!(place.read("to/file.~1~"), b"here before");
}

#[test]
fn a_home_folder_is_warned_of_and_its_settings_are_safe() {
    let place = TestFolder::new("home");
    place.write(".profile", b"evil");
    std::fs::create_dir(place.join("home")).unwrap();
    let mut call =
        thalweg(&place, "receiver", "recv", &["home", "--trust", "new", "--listen", "127.0.0.1:0"]);
    let receiver =
        Receiver::spawn_after(call.env("HOME", place.join("home")), "warning: this is your home folder");
    let sent = sends(&place, &[".profile", &receiver.address, "--trust", "new"]);
    assert_eq!(exit_code(&sent), 1, "{}", sent.stderr);
    assert!(sent.stderr.contains(".profile: names that begin with a dot"), "{}", sent.stderr);
    assert_eq!(exit_code(&receiver.end()), 1);
    assert!(place.names("home").is_empty());
}

/// Renaming a folder at the start of a path can make the path too long to read.
#[test]
fn unreadable_files_are_reported_at_both_ends() {
    let place = TestFolder::new("unreadable");
    let mut deep = place.join("set/short");
    while deep.as_os_str().len() < 3950 {
        deep.push("n".repeat(100));
    }
    std::fs::create_dir_all(&deep).unwrap();
    // The others are readable by their own paths.
    std::fs::rename(place.join("set/short"), place.join("set").join("l".repeat(255))).unwrap();
    let set = place.join("set");
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let sent = sends(&place, &[set.to_str().unwrap(), &receiver.address, "--trust", "new", "--json"]);
    let documents = [&sent, &receiver.end()].map(|end| {
        assert_eq!(exit_code(end), 1, "{}", end.stderr);
        json(&end.stdout)
    });
    assert_eq!(documents[1]["result"], "failures");
    assert_eq!((&documents[1]["failed"], &documents[1]["failures"]), (&1.into(), &documents[0]["failures"]));
    // Few programs can remove paths of this length.
    std::fs::remove_dir_all(set).unwrap();
}

#[test]
fn a_file_is_no_folder_to_receive_into() {
    let place = TestFolder::new("no-folder");
    place.write("file", b"file");
    let received = sender_and_receiver_processes::wait_for_end(
        thalweg(&place, "receiver", "recv", &["file", "--trust", "new"]).spawn().unwrap(),
    );
    assert_eq!(exit_code(&received), 1);
    assert!(received.stderr.contains("file: it is not a folder"), "{}", received.stderr);
}

#[test]
fn an_interrupted_stream_is_not_reported_as_resumable() {
    let place = TestFolder::new("cut-stream");
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let arguments = ["-", &receiver.address, "--trust", "new", "--name", "log"];
    let mut sender = thalweg(&place, "sender", "send", &arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = sender.stdin.take().unwrap();
    input.write_all(&random_bytes(1, 100_000)).unwrap();
    wait_until("the stream has come", || place.part_length("to/log") == 100_000);
    interrupt(&sender);
    let received = receiver.end();
    drop(input);
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    for end in [&sent, &received] {
        assert_eq!(exit_code(end), 3, "{}", end.stderr);
        assert!(end.stderr.contains("a stream cannot be resumed"), "{}", end.stderr);
        assert!(!end.stderr.contains("repeat the command to resume"), "{}", end.stderr);
    }
    assert!(received.stderr.contains("the partial data is in "), "{}", received.stderr);
    let left = json(&received.stdout)["left"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read(left).unwrap(), random_bytes(1, 100_000));
}

#[test]
fn a_stream_on_a_full_disk_is_not_reported_as_resumable() {
    let place = TestFolder::new("full-disk-stream");
    let Some(receiver) = Receiver::on_a_small_disk(&place) else { return };
    let arguments = ["-", &receiver.address, "--trust", "new"];
    let mut sender = thalweg(&place, "sender", "send", &arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = sender.stdin.take().unwrap();
    // The receiver stops reading when the disk is full.
    let writer = std::thread::spawn(move || drop(input.write_all(&random_bytes(7, 20_000_000))));
    let (sent, received) = (sender_and_receiver_processes::wait_for_end(sender), receiver.end());
    writer.join().unwrap();
    for end in [&sent, &received] {
        assert_eq!(exit_code(end), 1, "{}", end.stderr);
        assert!(end.stderr.contains("stdin: the receiver's disk is full"), "{}", end.stderr);
        assert!(end.stderr.contains("a stream cannot be resumed"), "{}", end.stderr);
        assert!(!end.stderr.contains("resumes from the data"), "{}", end.stderr);
    }
    assert!(received.stderr.contains("the partial data is in "), "{}", received.stderr);
    let left = received.stdout.trim();
    assert!(left.starts_with("to/stdin.") && left.ends_with(".thalweg.part"), "{left}");
}

#[test]
fn a_stream_has_a_name_that_can_be_stored() {
    let place = TestFolder::new("stream-name");
    for (name, why) in [
        ("", "it is empty"),
        (&*"n".repeat(256), "it is too long"),
        ("a/b", "separator"),
        ("..", "it leads elsewhere"),
        ("x.thalweg.part", "unfinished"),
    ] {
        // No receiver runs: the error occurs before connecting.
        let sent = sends(&place, &["-", "127.0.0.1:9", "--trust", "new", "--name", name]);
        assert_eq!(exit_code(&sent), 2, "{name}: {}", sent.stderr);
        assert!(sent.stderr.contains("--name: ") && sent.stderr.contains(why), "{name}: {}", sent.stderr);
    }
}

#[test]
fn recv_belongs_to_the_first_sender() {
    let place = TestFolder::new("one-sender");
    let bytes = random_bytes(3, 2_500_000);
    place.write("six", &bytes);
    place.write("two", b"2");
    let receiver = Receiver::begin(&place, "recv", &["to"], &TRUST_NEW);
    let arguments = ["six", &receiver.address, "--trust", "new", "--rate", "10 Mbit/s"];
    let first = thalweg(&place, "anna", "send", &arguments).spawn().unwrap();
    wait_until("some of the file has come", || place.part_length("to/six") > 100_000);
    let begun = Instant::now();
    let arguments = ["two", &receiver.address, "--trust", "new"];
    let second = sender_and_receiver_processes::wait_for_end(
        thalweg(&place, "bert", "send", &arguments).spawn().unwrap(),
    );
    assert_eq!(exit_code(&second), 3, "{}", second.stderr);
    assert!(second.stderr.contains("it receives from another sender"), "{}", second.stderr);
    assert!(begun.elapsed() < Duration::from_secs(5));
    for end in [sender_and_receiver_processes::wait_for_end(first), receiver.end()] {
        assert_eq!(exit_code(&end), 0, "{}", end.stderr);
    }
    assert_eq!(place.names("to"), ["six"]);
    assert!(place.read("to/six") == bytes);
}

#[test]
fn an_idle_sender_does_not_block_others() {
    let place = TestFolder::new("nothing-sent");
    place.write("file", b"file");
    let mut receiver = Receiver::begin(&place, "recv", &["to"], &TRUST_NEW);
    let config = EndpointConfig::new(Identity::from_secret([7; 32]));
    let socket = Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), config)).unwrap();
    let connect = Connect {
        remote: receiver.address.parse().unwrap(),
        trust: Trust::Anyone,
        service: "transfer".to_owned(),
        scheme: "cubic".parse().unwrap(),
        recorder: None,
    };
    let connection = socket.connect(connect).unwrap();
    let (mut to, _from) = connection.another_handle().split();
    to.write_all(&[0]).unwrap();
    to.flush().unwrap();
    assert!(receiver.line().contains("is new"));
    connection.close(0, "");
    let line = receiver.line();
    assert!(line.contains("waiting for a sender"), "{line}");
    let sent = sends(&place, &["file", &receiver.address, "--trust", "new"]);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    assert_eq!(exit_code(&receiver.end()), 0);
}

/// As long as the earlier connection is alive, it keeps its slot against a peer that reconnects every second.
#[test]
fn a_second_transfer_of_a_sender_waits_for_the_first() {
    let place = TestFolder::new("two-of-one");
    place.write("slow", &random_bytes(4, 2_500_000));
    place.write("two", b"2");
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let arguments =
        ["slow", &receiver.address, "--trust", "new", "--rate", "3 Mbit/s", "--keep-trying", "--json"];
    let earlier = thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    wait_until("some of the file has come", || place.part_length("to/slow") > 100_000);
    let later = sends(&place, &["two", &receiver.address]);
    assert_eq!(exit_code(&later), 3, "{}", later.stderr);
    assert!(later.stderr.contains("the same sender are in progress"), "{}", later.stderr);
    let arguments = ["two", &receiver.address, "--keep-trying"];
    let stubborn = thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    let earlier = sender_and_receiver_processes::wait_for_end(earlier);
    assert_eq!(exit_code(&earlier), 0, "{}", earlier.stderr);
    assert_eq!(json(&earlier.stdout)["connections"], 1);
    // The receiver served the first sender: it reports that transfer, and does not admit the other one.
    let received = receiver.end();
    assert_eq!((exit_code(&received), &json(&received.stdout)["moved_bytes"]), (0, &2_500_000.into()));
    assert_eq!(place.names("to"), ["slow"]);
    sender_and_receiver_processes::interrupt(&stubborn);
    let stubborn = sender_and_receiver_processes::wait_for_end(stubborn);
    assert!(
        stubborn.stderr.contains("the same sender are in progress; try again later; trying again in"),
        "{}",
        stubborn.stderr
    );
}

/// Opens admitted connections that send nothing.
fn open_silent_connections(
    address: &str,
    secret: u8,
    count: usize,
) -> (Socket, Vec<thalweg_net::live::Connection>) {
    let endpoint = EndpointConfig::new(Identity::from_secret([secret; 32]));
    let socket = Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint)).unwrap();
    let connect = |_| {
        let request = Connect {
            remote: address.parse().unwrap(),
            trust: Trust::Anyone,
            service: "transfer".into(),
            scheme: "cubic".parse().unwrap(),
            recorder: None,
        };
        socket.connect(request).unwrap()
    };
    let connections = (0..count).map(connect).collect();
    (socket, connections)
}

#[test]
fn silent_senders_do_not_block_a_server() {
    let place = TestFolder::new("silent-server");
    place.write("file", b"file");
    let arguments = ["to", "--transfers", "3", "--idle", "1 s"];
    let server = Receiver::begin(&place, "serve", &arguments, &TRUST_NEW);
    // A key takes at most two slots: three slots need two keys.
    let (_first, of_one) = open_silent_connections(&server.address, 1, 4);
    wait_until("two of four were refused", || {
        of_one.iter().filter(|connection| connection.closed().is_some()).count() == 2
    });
    let (_second, _of_another) = open_silent_connections(&server.address, 2, 1);
    let sent = sends(&place, &["file", &server.address, "--trust", "new", "--keep-trying"]);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    assert_eq!(exit_code(&server.interrupt()), 0);
}

/// A sender that stays connected after the notification that all is stored frees its slot at once.
#[test]
fn a_finished_transfer_frees_its_slot_while_connected() {
    let place = TestFolder::new("over");
    place.write("file", b"file");
    let server = Receiver::begin(&place, "serve", &["to", "--transfers", "1", "--idle", "1 h"], &TRUST_NEW);
    let mut stay = Vec::new();
    for secret in 1..=3 {
        let (socket, mut connections) = open_silent_connections(&server.address, secret, 1);
        let connection = connections.pop().unwrap();
        let watch = connection.another_handle();
        let (mut to_peer, from_peer) = connection.split();
        let source = Source::Stream { name: b"stream".to_vec(), bytes: Box::new(&b"contents"[..]) };
        let outcome =
            send_transfer(source, Default::default(), from_peer, &mut to_peer, &Arc::new(Progress::new()));
        assert!(outcome.result.is_ok(), "{secret}: {:?}", outcome.result);
        assert_eq!(watch.closed(), None, "{secret}");
        stay.push((socket, watch, to_peer));
    }
    let sent = sends(&place, &["file", &server.address, "--trust", "new"]);
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    // A lingering connection is closed.
    wait_until("all are closed", || stay.iter().all(|(_, watch, _)| watch.closed().is_some()));
    assert_eq!(exit_code(&server.interrupt()), 0);
}

/// A stream that delivers a byte every two seconds, until it is stopped.
struct Trickle(Arc<AtomicBool>);

impl std::io::Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        for _ in 0..200 {
            if self.0.load(Ordering::Relaxed) {
                return Ok(0);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        into[0] = 7;
        Ok(1)
    }
}

/// Twenty senders admitted only by `--trust new`, which send just enough not to be idle.
#[test]
fn a_trickle_of_unknown_senders_keeps_out_no_sender_that_the_receiver_names() {
    let place = TestFolder::new("trickle");
    place.write("file", b"file");
    let key =
        sender_and_receiver_processes::wait_for_end(thalweg(&place, "sender", "key", &[]).spawn().unwrap())
            .stdout;
    let trust = ["--trust", key.trim(), "--trust", "new"];
    let server = Receiver::begin(&place, "serve", &["to", "--idle", "1 h"], &trust);
    let over = Arc::new(AtomicBool::new(false));
    let (mut sockets, mut unknown) = (Vec::new(), Vec::new());
    for secret in 100..120 {
        let (socket, mut connections) = open_silent_connections(&server.address, secret, 1);
        let connection = connections.pop().unwrap();
        let (watch, bytes) = (connection.another_handle(), Box::new(Trickle(Arc::clone(&over))));
        let progress = Arc::new(Progress::new());
        let at_sender = Arc::clone(&progress);
        let thread = std::thread::spawn(move || {
            let (mut to_peer, from_peer) = connection.split();
            let source = Source::Stream { name: b"trickle".to_vec(), bytes };
            send_transfer(source, Default::default(), from_peer, &mut to_peer, &at_sender)
        });
        wait_until("it sends, or was refused", || progress.moved().get() > 0 || watch.closed().is_some());
        sockets.push(socket);
        unknown.push((watch, thread));
    }
    let here = |unknown: &[(thalweg_net::live::Connection, _)]| {
        unknown.iter().filter(|(watch, _)| watch.closed().is_none()).count()
    };
    assert_eq!(here(&unknown), 16, "all places are taken");
    for number in 0..8 {
        place.write("file", format!("file {number}").as_bytes());
        let sent = sends(&place, &["file", &server.address, "--trust", "new"]);
        assert_eq!(exit_code(&sent), 0, "{number}: {}", sent.stderr);
    }
    assert!(here(&unknown) >= 16 - 8, "one gives way for each");
    over.store(true, Ordering::Relaxed);
    for (_, thread) in unknown {
        let _ = thread.join().unwrap();
    }
    drop(sockets);
    server.interrupt();
}

#[test]
fn all_senders_together_have_a_quota() {
    let place = TestFolder::new("total");
    place.write("file", &random_bytes(1, 600_000));
    let server = Receiver::begin(&place, "serve", &["to", "--total", "1 MB"], &TRUST_NEW);
    let send = |who: &str| {
        let call = ["file", &server.address, "--trust", "new"];
        sender_and_receiver_processes::wait_for_end(thalweg(&place, who, "send", &call).spawn().unwrap())
    };
    assert_eq!(exit_code(&send("anna")), 0);
    let over = send("bert");
    assert_eq!(exit_code(&over), 1, "{}", over.stderr);
    assert!(over.stderr.contains("all senders together: it has 600 kB of 1 MB"), "{}", over.stderr);
    // The log contains sender, file and reason.
    let server_output = server.interrupt();
    let line = server_output.stderr.lines().find(|line| line.contains("error: "));
    let line = line.unwrap_or_else(|| panic!("{}", server_output.stderr));
    assert!(line.contains(" at 127.0.0.1:") && line.contains(": file: "), "{line}");
    assert!(line.contains("all senders together"), "{line}");
    assert_eq!(exit_code(&server_output), 0);
}

#[test]
fn ctrl_c_interrupts_and_loses_no_connection() {
    let place = TestFolder::new("interrupted");
    place.write("file", &random_bytes(5, 2_500_000));
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let arguments = ["file", &receiver.address, "--trust", "new", "--rate", "10 Mbit/s", "--json"];
    let sender = thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    wait_until("some of the file has come", || place.part_length("to/file") > 100_000);
    sender_and_receiver_processes::interrupt(&sender);
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    assert_eq!(exit_code(&sent), 3, "{}", sent.stderr);
    assert!(sent.stderr.contains("error: interrupted; repeat the command to resume"), "{}", sent.stderr);
    assert_eq!(json(&sent.stdout)["reason"], "interrupted");
    drop(receiver.end());
}

#[test]
fn recv_waits_for_an_interrupted_sender_and_reports_partial_data_when_stopped() {
    let place = TestFolder::new("cut-off");
    place.write("file", &random_bytes(5, 2_500_000));
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &TRUST_NEW);
    let arguments = ["file", &receiver.address, "--trust", "new", "--rate", "10 Mbit/s"];
    let mut sender = thalweg(&place, "sender", "send", &arguments).spawn().unwrap();
    wait_until("some of the file has come", || place.part_length("to/file") > 100_000);
    sender.kill().unwrap();
    sender.wait().unwrap();
    // No other sender is admitted meanwhile.
    let arguments = ["file", &receiver.address, "--trust", "new"];
    let other = sender_and_receiver_processes::wait_for_end(
        thalweg(&place, "bert", "send", &arguments).spawn().unwrap(),
    );
    assert_eq!(exit_code(&other), 3, "{}", other.stderr);
    let received = receiver.interrupt();
    assert_eq!(exit_code(&received), 3, "{}", received.stderr);
    let document = json(&received.stdout);
    assert_eq!(document["result"], "interrupted");
    assert!(document["moved_bytes"].as_u64().unwrap() > 100_000, "{document}");
}

#[test]
fn a_receiver_with_another_key_is_taken_only_at_the_users_word() {
    let place = TestFolder::new("another-key");
    place.write("file", b"file");
    let receiver = Receiver::begin(&place, "recv", &["to"], &TRUST_NEW);
    let (address, old) = (receiver.address.clone(), receiver.key.clone());
    assert_eq!(exit_code(&sends(&place, &["file", &address, "--trust", "new"])), 0);
    assert_eq!(exit_code(&receiver.end()), 0);
    std::fs::remove_dir_all(place.join("keys/receiver")).unwrap();
    let receiver = Receiver::at(&place, &address, "recv", &["to"], &TRUST_NEW);
    assert_ne!(receiver.key, old);
    for trust in [&[][..], &["--trust", "new"]] {
        let refused = sends(&place, &[&["file", &*address], trust].concat());
        assert_eq!(exit_code(&refused), 1, "{}", refused.stderr);
        assert!(refused.stderr.contains("may be a man-in-the-middle attack"), "{}", refused.stderr);
    }
    let taken = sends(&place, &["file", &address, "--trust", &receiver.key]);
    assert_eq!(exit_code(&taken), 0, "{}", taken.stderr);
    assert!(taken.stderr.contains(&format!("not {old}, by which ")), "{}", taken.stderr);
    assert_eq!(exit_code(&receiver.end()), 0);
    let known = place.read("keys/sender/thalweg/known-receivers");
    assert_eq!(String::from_utf8(known).unwrap(), format!("{address} {old}\n"));
}

#[test]
fn a_recording_that_cannot_be_written_is_refused_before_anything_is_sent() {
    let place = TestFolder::new("record");
    place.write("file", &random_bytes(6, 200_000));
    place.write("before.qlog", b"an earlier recording");
    let receiver = Receiver::begin(&place, "recv", &["to"], &TRUST_NEW);
    let send =
        |record: &str| sends(&place, &["file", &receiver.address, "--trust", "new", "--record", record]);
    let refused = send("missing/run.qlog");
    assert_eq!(exit_code(&refused), 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("--record: missing/run.qlog: "), "{}", refused.stderr);
    assert!(place.names("to").is_empty());
    let bench = ["client", "127.0.0.1:9", "--record", "missing/run.qlog"];
    let refused = sender_and_receiver_processes::wait_for_end(
        thalweg(&place, "sender", "bench", &bench).spawn().unwrap(),
    );
    assert_eq!(exit_code(&refused), 2, "{}", refused.stderr);
    // Without a connection the files stay unchanged.
    for record in ["before.qlog", "after.qlog"] {
        assert_eq!(
            exit_code(&sends(&place, &["file", "127.0.0.1", "--record", record])),
            1,
            "nobody is trusted"
        );
    }
    assert_eq!(place.read("before.qlog"), b"an earlier recording");
    assert!(!place.join("after.qlog").exists());
    let sent = send("before.qlog");
    assert_eq!(exit_code(&sent), 0, "{}", sent.stderr);
    assert_eq!(exit_code(&receiver.end()), 0);
    let written = String::from_utf8(place.read("before.qlog")).unwrap();
    assert_eq!(json(&written)["title"], "before");
}

#[test]
fn every_end_prints_its_document() {
    let place = TestFolder::new("documents");
    place.write("file", b"file");
    let key = |who: &str| {
        let printed =
            sender_and_receiver_processes::wait_for_end(thalweg(&place, who, "key", &[]).spawn().unwrap());
        printed.stdout.trim().to_owned()
    };
    let is = |end: &EndedProcess, command: &str, result: &str, code: i32| {
        let document = json(&end.stdout);
        assert_eq!((exit_code(end), &document["exit_code"]), (code, &code.into()), "{}", end.stderr);
        assert_eq!((&document["command"], &document["result"]), (&command.into(), &result.into()));
        // The last line of standard error is that reason.
        let reason = document["reason"].as_str().unwrap();
        assert!(end.stderr.trim_end().ends_with(reason), "{reason} in {}", end.stderr);
    };
    let send = |who: &str, arguments: &[&str]| {
        let arguments = [&["file", "--json"], arguments].concat();
        sender_and_receiver_processes::wait_for_end(thalweg(&place, who, "send", &arguments).spawn().unwrap())
    };
    is(&send("sender", &["127.0.0.1:9", "--trust", "new"]), "send", "unreachable", 3);
    is(&send("sender", &["127.0.0.1:9"]), "send", "untrusted", 1);
    is(&send("sender", &["not a host"]), "send", "usage", 2);
    is(&send("sender", &["127.0.0.1:9", "--record", "missing/file"]), "send", "usage", 2);
    let receiver = Receiver::begin(&place, "recv", &["to", "--json"], &["--trust", &key("sender")]);
    let address = receiver.address.clone();
    is(&send("unknown", &[&address, "--trust", "new"]), "send", "refused", 1);
    is(&send("sender", &[&address, "--trust", &key("unknown")]), "send", "untrusted", 1);
    is(&receiver.interrupt(), "recv", "interrupted", 3);
    let unused = ["to", "--json", "--listen", "127.0.0.1:0"];
    let unnotified = sender_and_receiver_processes::wait_for_end(
        thalweg(&place, "nobody", "recv", &unused).spawn().unwrap(),
    );
    is(&unnotified, "recv", "failed", 1);
}

#[test]
fn a_closed_port_is_reported_without_waiting() {
    let place = TestFolder::new("nothing-listens");
    place.write("file", b"file");
    let begun = Instant::now();
    let sent = sends(&place, &["file", "127.0.0.1:9", "--trust", "new"]);
    assert_eq!(exit_code(&sent), 3, "{}", sent.stderr);
    assert!(sent.stderr.contains("nothing listens there"), "{}", sent.stderr);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    // With a silent process at the port, only Ctrl-C ends the wait.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let sender =
        thalweg(&place, "sender", "send", &["file", &address, "--trust", "new", "--json"]).spawn().unwrap();
    silent.recv(&mut [0; 2000]).unwrap();
    interrupt(&sender);
    let begun = Instant::now();
    let sent = sender_and_receiver_processes::wait_for_end(sender);
    assert_eq!(exit_code(&sent), 3, "{}", sent.stderr);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(json(&sent.stdout)["result"], "interrupted");
    let port = sends(&place, &["file", "127.0.0.1:0", "--trust", "new"]);
    assert_eq!(exit_code(&port), 2, "{}", port.stderr);
}
