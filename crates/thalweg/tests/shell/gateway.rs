//! Forwarding to the real network; these tests use only this host.

use super::test_scenarios::two_hosts;
use super::{Shell, play_part, supports_live_networks, words_after};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Stdio};

/// Serves one request over TCP and one over UDP, answered in upper case; returns their ports, and a closed one.
fn answering() -> [u16; 3] {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ports = [tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port(), closed];
    std::thread::spawn(move || {
        let (mut stream, _) = tcp.accept().unwrap();
        let mut question = String::new();
        stream.read_to_string(&mut question).unwrap();
        stream.write_all(question.to_uppercase().as_bytes()).unwrap();
        drop(stream);
        let mut question = [0; 100];
        let (length, from) = udp.recv_from(&mut question).unwrap();
        udp.send_to(&question[..length].to_ascii_uppercase(), from).unwrap();
    });
    ports
}

fn expect_answers(text: &str) {
    let answers: Vec<&str> = words_after(text, "answer").iter().map(|words| words[0]).collect();
    assert_eq!(answers, ["TCP", "UDP", "ConnectionRefused"], "{text}");
}

/// Connections over a scenario's links to services of this host: data arrives unchanged, and refusals are passed on.
#[test]
fn programs_reach_what_is_outside() {
    if !supports_live_networks() {
        return;
    }
    let [tcp, udp, closed] = answering();
    let shell = Shell::new(&two_hosts("", "")).args(&["--outside", "server"]);
    expect_answers(&shell.run(&format!("ask server {tcp} {udp} {closed}")));
}

/// The same behind a gate, with input for the command.
#[test]
fn programs_of_this_host_have_a_gate() {
    if !supports_live_networks() {
        return;
    }
    let [tcp, udp, closed] = answering();
    let part = play_part(&format!("ask outside {tcp} {udp} {closed}")).replace("exec ", "");
    let mut gate = Command::new(env!("CARGO_BIN_EXE_thalweg"));
    gate.args([
        "gate",
        "--gate",
        "{ kind = 'slots' }",
        "--priority",
        "tcp=1",
        "--",
        "sh",
        "-c",
        &format!("cat; {part}"),
    ]);
    let mut gate = gate.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    gate.stdin.take().unwrap().write_all(b"input\n").unwrap();
    let output = gate.wait_with_output().unwrap();
    let (text, complaints) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.starts_with("input\n"), "{text}{complaints}");
    expect_answers(&text);
    assert!(complaints.lines().any(|line| line.starts_with("tcp ")), "{complaints}");
    let wrong = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["gate", "--gate", "open", "--", "true"])
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
}
