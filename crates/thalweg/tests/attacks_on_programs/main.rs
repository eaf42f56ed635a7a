//! Attacks on the deployed programs, over real sockets. Each measures the bytes sent by the server per received byte,
//! its memory and its CPU time per packet, while an honest sender must get admitted and finish.

mod attacker;
#[path = "../it/child_processes/mod.rs"]
mod child_processes;
mod process_usage;
#[allow(dead_code, reason = "tests of transfers use the rest")]
#[path = "../transfer/sender_and_receiver_processes.rs"]
mod processes;

use attacker::{ATTACKS, Attack, Attacker, PAIRING, TRANSFER, TrafficTotals};
use process_usage::Process;
use processes::{Receiver, TestFolder, exit_code, thalweg, wait_for_end};
use std::time::{Duration, Instant};

/// The attacked program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Server {
    /// A receiver with a pairing code, for which all peers are unknown.
    Pairing,
    /// A server that knows its sender, and refuses others.
    Known,
    /// A server that admits any peer, with every scheme.
    Open,
}

const SERVERS: [Server; 3] = [Server::Pairing, Server::Known, Server::Open];

/// CPU time limit per hostile packet, and per packet sent back: admitted peers may be sent packets without sending any.
const CPU: Duration = Duration::from_micros(50);

/// Memory limit of a socket under any attack, and of an unauthenticated peer, in bytes.
const SOCKET_MEMORY: u64 = 256 << 20;
const UNAUTHENTICATED_MEMORY: u64 = 4 << 20;

/// Bytes sent to an unauthenticated peer before it has sent anything after its handshake.
const HANDSHAKE: u64 = 64;

/// Bytes per second that may be sent to an admitted peer, in addition to twice the bytes it sent and to path MTU
/// discovery.
const BUDGET_PER_SECOND: u64 = 64 << 10;
const PROBES: u64 = 40 * 1500;

/// Number of rounds; the best CPU time counts, because the first round allocates pages and buffers.
const ROUNDS: u32 = 3;

/// Number of packets that ends a round, since CPU time is counted in ticks of 10 ms; a time limit ends it as well.
const PACKETS_PER_ROUND: u64 = 5000;
const ROUND: Duration = Duration::from_secs(3);

/// Minimum number of packets of an attack, and the time limit of a test, reached only if the server does not serve.
const MIN_PACKETS: u64 = 1000;
const LIMIT: Duration = Duration::from_secs(90);

impl Server {
    fn begin(self, place: &TestFolder) -> (Receiver, Vec<String>) {
        let any = ["to", "--allow-scheme", "any"];
        match self {
            Self::Pairing => {
                let mut receiver = Receiver::begin(place, "recv", &any, &["--pair"]);
                let line = receiver.line();
                let code = line.strip_prefix("The code is ").and_then(|rest| rest.split(',').next()).unwrap();
                let call = vec![format!("--pair={code}")];
                (receiver, call)
            }
            Self::Known => {
                let output = thalweg(place, "sender", "key", &[]).output().unwrap();
                let key = String::from_utf8(output.stdout).unwrap();
                let receiver = Receiver::begin(place, "serve", &any, &["--trust", key.trim()]);
                (receiver, vec!["--trust".into(), "new".into()])
            }
            Self::Open => {
                // Enough transfer slots for all admitted peers.
                let more = [&any[..], &["--transfers", "1000"]].concat();
                let receiver = Receiver::begin(place, "serve", &more, &["--trust", "new"]);
                (receiver, vec!["--trust".into(), "new".into()])
            }
        }
    }
}

/// Runs an attack on a server, and checks its cost.
fn run_attack(server: Server, (name, attack): Attack, seed: u64) {
    let what = format!("{name} on {server:?}, seed {seed}");
    let place = TestFolder::new(&format!("siege-{}-{server:?}-{seed}", name.replace(' ', "-")));
    place.write("file", &vec![b'f'; 500_000]);
    let (mut receiver, mut trust) = server.begin(&place);
    let mut process = Process::new(receiver.child.id());
    let begun = Instant::now();
    let memory = process.peak().unwrap();
    let mut peak = memory;
    let mut attacker = Attacker::new(&receiver.address, 24, seed);
    if server == Server::Pairing {
        attacker.service = PAIRING;
    }
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let (cpu, before) = (process.cpu(), attacker.counted);
        let end = Instant::now() + ROUND;
        // After three wrong guesses the code is invalid, and its receiver ends.
        let goes_on = || process.peak().is_some() && Instant::now() < end;
        while attacker.counted.packets - before.packets < PACKETS_PER_ROUND && goes_on() {
            attack(&mut attacker);
        }
        let TrafficTotals { packets, answers, .. } = attacker.counted;
        let packets = packets + answers - before.packets - before.answers;
        best = best.min((process.cpu() - cpu) / u32::try_from(packets).unwrap().max(1));
        if best <= CPU / 2 || process.peak().is_none() {
            break;
        }
    }
    peak = peak.max(process.peak().unwrap_or(0));
    if server == Server::Pairing {
        // Any peer that can reach a receiver can prevent its pairing; the rest of the test checks everything else.
        receiver.kill();
        (receiver, trust) = server.begin(&place);
        process = Process::new(receiver.child.id());
        attacker.turn_to(&receiver.address);
        attacker.service = TRANSFER;
    }
    // Rounds end by time, and a slow host sends little in them.
    while attacker.counted.packets < MIN_PACKETS {
        attack(&mut attacker);
        assert!(begun.elapsed() < LIMIT, "{what}: {:?}", attacker.counted);
    }
    // An honest sender arrives during the attack, which leaves room in the queue of the server's socket.
    attacker.pause = Duration::from_millis(10);
    let mut call = vec!["file", &receiver.address];
    call.extend(trust.iter().map(String::as_str));
    let mut sender = thalweg(&place, "sender", "send", &call).spawn().unwrap();
    while sender.try_wait().unwrap().is_none() {
        attack(&mut attacker);
        // A receiver ends when it has received everything.
        peak = peak.max(process.peak().unwrap_or(0));
        assert!(begun.elapsed() < LIMIT, "{what}: the honest sender is kept out");
    }
    let sent = wait_for_end(sender);
    assert_eq!(exit_code(&sent), 0, "{what}: {}", sent.stderr);
    attacker.listen(Duration::from_millis(500));
    let counted = attacker.counted;
    let peak = peak - memory;
    println!(
        "{what}: {counted:?}, {:.2} bytes out for one in, {} KiB more memory, {best:?} for a packet",
        counted.received as f64 / counted.sent as f64,
        peak >> 10
    );

    let noise = counted.noise / 2;
    let max = match server {
        Server::Pairing | Server::Known => {
            noise + 3 * (counted.sent - counted.noise) + HANDSHAKE * counted.connections
        }
        Server::Open => {
            let seconds = begun.elapsed().as_secs() + 1;
            noise + 3 * counted.sent + counted.connections * (seconds * BUDGET_PER_SECOND + PROBES)
        }
    };
    assert!(counted.received <= max, "{what}: {counted:?}, at most {max} bytes");
    // The program's own memory while it serves an honest sender: the window, twice, and threads.
    let honest = 64 << 20;
    let max = SOCKET_MEMORY.min(counted.connections * UNAUTHENTICATED_MEMORY) + honest;
    assert!(peak <= max, "{what}: {peak} bytes more, at most {max}");
    assert!(best <= CPU, "{what}: {best:?} of CPU time for a packet");
}

/// Mixes all attacks, in an order and amount derived from the seed.
fn run_all_attacks(attacker: &mut Attacker) {
    let which = attacker.rng.below(ATTACKS.len() as u64) as usize;
    ATTACKS[which].1(attacker);
}

/// Returns the attacks with these names.
fn attacks_named<'a>(names: &'a [&str]) -> impl Iterator<Item = Attack> + 'a {
    names.iter().map(|name| *ATTACKS.iter().find(|(of, _)| of == name).unwrap())
}

#[test]
fn attacks_on_a_receiver_with_a_code() {
    let attacks = ["engines that ask for much", "memory of unknown senders", "frames of unknown senders"];
    attacks_named(&attacks).for_each(|attack| run_attack(Server::Pairing, attack, 1));
}

#[test]
fn attacks_on_a_server_that_knows_its_senders() {
    let attacks = ["hellos", "half-open handshakes", "garbage", "engines that ask for much"];
    attacks_named(&attacks).for_each(|attack| run_attack(Server::Known, attack, 2));
}

#[test]
fn attacks_on_a_server_that_admits_unknown_senders() {
    let attacks = [
        "memory of unknown senders",
        "bytes out of order",
        "engines that ask for much",
        "copies and changes",
    ];
    attacks_named(&attacks).for_each(|attack| run_attack(Server::Open, attack, 3));
}

#[test]
fn random_attacks() {
    SERVERS
        .into_iter()
        .zip(4..)
        .for_each(|(server, seed)| run_attack(server, ("all of it", run_all_attacks), seed));
}

/// `scripts/soak siege` runs this test.
#[test]
#[ignore = "takes as long as it is told; scripts/soak runs it"]
fn long() {
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (rounds, first) = (number("THALWEG_ROUNDS", 30), number("THALWEG_SEED", 0));
    for seed in first..first + rounds {
        let server = SERVERS[(seed % 3) as usize];
        run_attack(server, ("all of it", run_all_attacks), seed);
        run_attack(server, ATTACKS[(seed / 3 % ATTACKS.len() as u64) as usize], seed);
    }
}
