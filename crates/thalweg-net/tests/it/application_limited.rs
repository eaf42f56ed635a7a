//! Application-limited transfers over a long path in simulated time: the scheme must not slow them down.

use crate::endpoint_pair::{Channel, Pair, pattern};
use std::collections::VecDeque;
use thalweg_net::flow::Registry;
use thalweg_net::impair::{DirectionSpec, LinkDirection};
use thalweg_proto::payload::Slice;
use thalweg_proto::units::{Duration, Time};

/// Window-based schemes that probe for the path's rate.
const SCHEMES: [&str; 9] =
    ["newreno", "vegas", "cubic", "dctcp", "prague", "copa", "ledbat-plus-plus", "bbr", "thalweg"];

/// Schemes that start from at least ten segments and double in each round trip. Others need several round trips of slow
/// start for 140 kB.
const QUICK: [&str; 8] = ["newreno", "vegas", "cubic", "dctcp", "prague", "copa", "bbr", "thalweg"];

/// Largest completion time of a scheme, as a multiple of the fastest.
const SLOWEST: f64 = 1.3;
/// Factor for transfers that end in slow start of the schemes that pace it by a rate of the last round trip, which is one
/// doubling behind the window.
const SLOWEST_START: f64 = 1.35;

/// Returns connected ends with a round trip of 300 ms, at 20 Mbit/s in each direction.
fn connected_pair(scheme: &str) -> Pair {
    let mut pair = Pair::new(1, Channel::default());
    let mut spec = DirectionSpec::default();
    spec.set_all("rate=20Mbit/s,delay=300ms,mtu=1500B", &Registry::default()).unwrap();
    (pair.bottleneck, pair.return_line) =
        (Some(LinkDirection::new(&spec, 1, 0)), Some(LinkDirection::new(&spec, 1, 1)));
    pair.connect(scheme);
    pair.run_applications(Duration::from_secs(10), |pair| pair.ends.iter().all(|end| end.handle.is_some()));
    pair
}

/// Answers each `question` bytes received since `answered` with a piece of `answer` bytes.
fn answer_questions(
    end: &mut crate::endpoint_pair::End,
    answered: &mut usize,
    question: usize,
    answer: usize,
) {
    while end.received.len() >= *answered + question {
        *answered += question;
        end.to_write.push_back(Slice::new(pattern(9, answer)));
    }
}

/// Returns the duration of a transfer of small files, in seconds. Names are offered together; each file is requested,
/// sent and confirmed separately.
fn transfer_duration(scheme: &str, files: usize) -> f64 {
    let mut pair = connected_pair(scheme);
    let start = pair.now;
    pair.ends[0].to_write = pattern(7, files * 32).chunks(8192).map(Slice::new).collect();
    let (mut offered, mut wanted, mut stored) = (0, 0, 0);
    pair.run_applications(Duration::from_secs(600), |pair| {
        let server = &mut pair.ends[1];
        if offered < files * 32 {
            let complete = server.received.len().min(files * 32);
            while complete >= offered + 32 {
                offered += 32;
                server.to_write.push_back(Slice::new(*b"want"));
            }
        }
        while server.received.len() >= files * 32 + stored + 64 {
            stored += 64;
            server.to_write.push_back(Slice::new(*b"here"));
        }
        let client = &mut pair.ends[0];
        while wanted < files && client.received.len() >= 4 * (wanted + 1) {
            wanted += 1;
            client.to_write.push_back(Slice::new([7; 64]));
        }
        client.received.len() == files * 8
    });
    pair.now.since(start).as_secs_f64()
}

/// Returns the duration of a hundred requests, in seconds, each sent after the previous response.
fn dialogue_duration(scheme: &str, question: usize, length: usize) -> f64 {
    const QUESTIONS: usize = 100;
    let mut pair = connected_pair(scheme);
    let start = pair.now;
    pair.ends[0].to_write.push_back(Slice::new(pattern(1, question)));
    let (mut requested, mut answered) = (1, 0);
    pair.run_applications(Duration::from_secs(600), |pair| {
        answer_questions(&mut pair.ends[1], &mut answered, question, length);
        let client = &mut pair.ends[0];
        if requested < QUESTIONS && client.received.len() == requested * length {
            requested += 1;
            client.to_write.push_back(Slice::new(pattern(1, question)));
        }
        client.received.len() == QUESTIONS * length
    });
    pair.now.since(start).as_secs_f64()
}

/// Returns the mean latency, in seconds, of messages of `length` bytes written every `interval` for a minute.
fn message_latency(scheme: &str, length: usize, interval: Duration) -> f64 {
    let count = (60.0 / interval.as_secs_f64()) as usize;
    let mut pair = connected_pair(scheme);
    let (mut next, mut written, mut waits) = (pair.now, 0, VecDeque::<Time>::new());
    let (mut arrived, mut sum) = (0, 0.0);
    pair.run_applications(Duration::from_secs(600), |pair| {
        while written < count && next <= pair.now {
            pair.ends[0].to_write.push_back(Slice::new(pattern(3, length)));
            waits.push_back(next);
            written += 1;
            next += interval;
        }
        if written < count {
            pair.wake = next;
        }
        while pair.ends[1].received.len() >= (arrived + 1) * length
            && let Some(at) = waits.pop_front()
        {
            arrived += 1;
            sum += pair.now.since(at).as_secs_f64();
        }
        arrived == count
    });
    sum / count as f64
}

/// Checks that no scheme takes more than [`SLOWEST`] times as long as the fastest, and those that are `paced` no more than
/// [`SLOWEST_START`] times.
fn compare(what: &str, schemes: &[&str], paced: &[&str], took: impl Fn(&str) -> f64) {
    let took: Vec<_> = schemes.iter().map(|scheme| (scheme, took(scheme))).collect();
    let fastest = took.iter().map(|(_, took)| *took).fold(f64::INFINITY, f64::min);
    println!("{what}: {took:.2?}");
    let max = |scheme| if paced.contains(scheme) { SLOWEST_START } else { SLOWEST };
    assert!(took.iter().all(|(scheme, took)| *took <= max(*scheme) * fastest), "{what}: {took:.2?}");
}

/// Each small message used to be a separate packet. A window allows some dozen of those per round trip, and they were
/// paced like full ones: `thalweg` and `bbr` took minutes.
#[test]
fn trees_of_small_files() {
    compare("a tree of 2000", &QUICK, &["bbr"], |scheme| transfer_duration(scheme, 2000));
    compare("a tree of 500", &QUICK, &[], |scheme| transfer_duration(scheme, 500));
}

#[test]
fn questions_and_answers() {
    compare("short answers", &SCHEMES, &[], |scheme| dialogue_duration(scheme, 300, 1000));
    // More than an initial window: `thalweg` paces the answers.
    compare("answers of several packets", &SCHEMES, &["thalweg"], |scheme| {
        dialogue_duration(scheme, 300, 20_000)
    });
}

#[test]
fn messages_now_and_then() {
    let messages =
        |length, millis| move |scheme: &str| message_latency(scheme, length, Duration::from_millis(millis));
    compare("10 messages a second", &SCHEMES, &[], messages(100, 100));
    compare("100 messages a second", &SCHEMES, &[], messages(100, 10));
}
