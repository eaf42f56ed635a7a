//! Stacks that break the contract: each ends its run, or its flow, with the name of the stack, of the flow, and the simulated time.

use std::cell::Cell;
use std::process::Command;
use std::sync::Arc;
use thalweg::{Caller, Registry, Request, SimulatedRun};
use thalweg_catalog::SchemeDescription;
use thalweg_stack_contract::{
    Config, Connection, Duration, Ecn, Failure, Side, Stack, State, Stats, Time, Transmit, byte_pattern,
    hang_watchdog, scheme,
};

/// How a stack behaves. All but the first break the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Violation {
    /// Sends a datagram of its data each millisecond. What is lost is missing.
    Sound,
    PanicsOnOpening,
    PanicsOnReceiving,
    PanicsOnTimeout,
    PanicsOnReading,
    PanicsOnClosing,
    AsksForThePast,
    /// Its timer expires each nanosecond.
    AsksForTheNextNanosecond,
    ActsWithoutEnd,
    SendsNothing,
    SendsEmptyDatagrams,
    /// Transmissions without a datagram.
    TransmitsNothing,
    SendsHugeDatagrams,
    SendsHugeTransmissions,
    IgnoresTheMtu,
    AcceptsMore,
    /// Has a send buffer without end.
    AcceptsAll,
    DeliversOther,
    DeliversMore,
    NeverFinishes,
    ClosesWithoutEnd,
    Fails,
    /// One call takes forever.
    Loops,
}

/// Bytes in a datagram.
const SIZE: usize = 1000;
const INTERVAL: Duration = Duration::from_millis(1);

/// A stack without retransmissions: the content of a datagram is a piece of the stream, and the server answers each with the
/// number of bytes that have arrived.
#[derive(Debug)]
struct ViolatingStack {
    kind: Violation,
    side: Side,
    /// Bytes accepted and sent.
    accepted: u64,
    sent: u64,
    next: Time,
    /// True if the timer for the next datagram has expired.
    is_due: bool,
    arrived: Vec<u8>,
    total: u64,
    answer: Option<u64>,
    acknowledged: u64,
    is_ended: Cell<bool>,
    is_closed: bool,
}

impl ViolatingStack {
    fn open(kind: Violation, side: Side, now: Time) -> Self {
        assert!(kind != Violation::PanicsOnOpening, "as it must");
        Self {
            kind,
            side,
            accepted: 0,
            sent: 0,
            next: now,
            is_due: true,
            arrived: Vec::new(),
            total: 0,
            answer: None,
            acknowledged: 0,
            is_ended: Cell::new(false),
            is_closed: false,
        }
    }
}

impl Connection for ViolatingStack {
    fn receive(&mut self, _now: Time, datagram: &[u8], _ecn: Ecn) {
        assert!(self.kind != Violation::PanicsOnReceiving, "as it must");
        if self.kind == Violation::Loops {
            loop {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
        match self.side {
            Side::Client => self.acknowledged = datagram.try_into().map_or(0, u64::from_be_bytes),
            Side::Server => {
                self.total += datagram.len() as u64;
                self.answer = Some(self.total);
                self.arrived.extend(datagram);
            }
        }
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if self.side == Side::Server {
            let answer = self.answer.take()?;
            buffer.extend(answer.to_be_bytes());
            return Some(Transmit { ecn: Ecn::NotEct, segment: None, is_last: false });
        }
        if self.kind == Violation::SendsNothing {
            return None;
        }
        let (length, segment) = match self.kind {
            Violation::TransmitsNothing => {
                return Some(Transmit { ecn: Ecn::NotEct, segment: Some(SIZE), is_last: false });
            }
            Violation::ClosesWithoutEnd if self.is_closed => {
                buffer.push(0);
                return Some(Transmit { ecn: Ecn::NotEct, segment: None, is_last: false });
            }
            Violation::ActsWithoutEnd => {
                buffer.push(0);
                return Some(Transmit { ecn: Ecn::NotEct, segment: None, is_last: false });
            }
            _ if !self.is_due || self.sent == self.accepted => return None,
            Violation::SendsEmptyDatagrams => (0, None),
            Violation::SendsHugeDatagrams => (65_530, None),
            Violation::SendsHugeTransmissions => (1 << 20, Some(SIZE)),
            Violation::IgnoresTheMtu => (1473, None),
            _ => (SIZE, None),
        };
        let mut left = length.min((self.accepted - self.sent) as usize);
        while left > 0 {
            let piece = byte_pattern::pattern_bytes(self.sent, left);
            buffer.extend(piece);
            self.sent += piece.len() as u64;
            left -= piece.len();
        }
        (self.next, self.is_due) = (now + INTERVAL, false);
        Some(Transmit { ecn: Ecn::NotEct, segment, is_last: false })
    }

    fn timeout(&mut self, now: Time) -> Option<Time> {
        match self.kind {
            Violation::AsksForThePast => Some(Time::from_picos(now.as_picos().saturating_sub(1))),
            Violation::AsksForTheNextNanosecond => Some(now + Duration::from_nanos(1)),
            Violation::NeverFinishes if self.is_due => Some(now + INTERVAL),
            _ => (!self.is_due).then_some(self.next),
        }
    }

    fn on_timeout(&mut self, _now: Time) {
        assert!(self.kind != Violation::PanicsOnTimeout, "as it must");
        self.is_due = true;
    }

    fn write(&mut self, _now: Time, bytes: &'static [u8]) -> usize {
        let room = match self.kind {
            Violation::AcceptsAll => usize::MAX,
            _ => (self.sent + (1 << 21) - self.accepted) as usize,
        };
        let length =
            if self.kind == Violation::AcceptsMore { bytes.len() + 1 } else { bytes.len().min(room) };
        self.accepted += length as u64;
        length
    }

    fn finish(&mut self, _now: Time) {
        self.is_ended.set(self.kind != Violation::NeverFinishes);
    }

    fn read(&mut self, _now: Time, max: usize, take: &mut dyn FnMut(&[u8])) {
        assert!(self.kind != Violation::PanicsOnReading || self.total < 5000, "as it must");
        let mut bytes = std::mem::take(&mut self.arrived);
        match self.kind {
            Violation::DeliversOther if self.total > 5000 => bytes[0] ^= 1,
            Violation::DeliversMore if self.total > 5000 => {
                bytes =
                    byte_pattern::pattern_bytes(self.total - bytes.len() as u64, max.min(60_000)).to_vec();
            }
            _ => {}
        }
        take(&bytes);
    }

    fn close(&mut self, _now: Time) {
        assert!(self.kind != Violation::PanicsOnClosing, "as it must");
        self.is_closed = true;
    }

    fn state(&mut self) -> State {
        if self.kind == Violation::Fails && self.sent > 20_000 {
            return State::Failed(Failure::NoAnswer);
        }
        if self.is_ended.get() && self.acknowledged == self.accepted { State::Finished } else { State::Open }
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}

macro_rules! stacks {
    ($($Violation:ident: $name:literal;)+) => {
        $(
            const _: () = {
                struct Scheme;

                impl Stack for Scheme {
                    const NAME: &'static str = $name;
                    const ECN: bool = false;
                    type Connection = ViolatingStack;

                    fn open(side: Side, _config: &Config, now: Time) -> ViolatingStack {
                        ViolatingStack::open(Violation::$Violation, side, now)
                    }
                }

                impl Named for OfKind<{ Violation::$Violation as usize }> {
                    const SCHEME: &'static SchemeDescription = {
                        static SCHEME: SchemeDescription = scheme::<Scheme>("A stack for tests.");
                        &SCHEME
                    };
                }
            };
        )+

        fn registry() -> Arc<Registry> {
            let mut registry = Registry::default();
            $(registry.add_scheme(<OfKind<{ Violation::$Violation as usize }> as Named>::SCHEME);)+
            Arc::new(registry)
        }
    };
}

/// A kind as a type.
struct OfKind<const KIND: usize>;

trait Named {
    const SCHEME: &'static SchemeDescription;
}

stacks! {
    Sound: "sound";
    PanicsOnOpening: "panics-on-opening";
    PanicsOnReceiving: "panics-on-receiving";
    PanicsOnTimeout: "panics-on-timeout";
    PanicsOnReading: "panics-on-reading";
    PanicsOnClosing: "panics-on-closing";
    AsksForThePast: "asks-for-the-past";
    AsksForTheNextNanosecond: "asks-for-the-next-nanosecond";
    ActsWithoutEnd: "acts-without-end";
    SendsNothing: "sends-nothing";
    SendsEmptyDatagrams: "sends-empty-datagrams";
    TransmitsNothing: "transmits-nothing";
    SendsHugeDatagrams: "sends-huge-datagrams";
    SendsHugeTransmissions: "sends-huge-transmissions";
    IgnoresTheMtu: "ignores-the-mtu";
    AcceptsMore: "accepts-more";
    AcceptsAll: "accepts-all";
    DeliversOther: "delivers-other";
    DeliversMore: "delivers-more";
    NeverFinishes: "never-finishes";
    ClosesWithoutEnd: "closes-without-end";
    Fails: "fails";
    Loops: "loops";
}

/// Runs one transfer of 100 kB with a stack, for two seconds.
fn run(stack: &str) -> Result<SimulatedRun, String> {
    run_with(stack, "{ kind = \"transfer\", size = \"100 kB\" }")
}

/// Runs one flow with this workload, for two seconds.
fn run_with(stack: &str, workload: &str) -> Result<SimulatedRun, String> {
    let text = format!(
        "duration = \"2 s\"\nwarmup = \"0 s\"\n\
         [[link]]\nname = \"wire\"\nbetween = [\"here\", \"there\"]\nrate = \"100 Mbit/s\"\ndelay = \"10 ms\"\n\
         [[flow]]\nname = \"victim\"\nfrom = \"here\"\nto = \"there\"\nscheme = \"{stack}\"\n\
         workload = {workload}\n"
    );
    let request = Request {
        scenario: "bad.toml".into(),
        text: Some(text),
        sets: Vec::new(),
        schemes: Vec::new(),
        flows: Vec::new(),
        seed: None,
        replications: 1,
        jobs: None,
    };
    thalweg::simulate(&registry(), request, Arc::new(Caller::default())).map_err(|called| called.text())
}

/// Returns the error of a run that must fail.
#[track_caller]
fn error(stack: &str) -> String {
    match run(stack) {
        Ok(done) => panic!("{stack} is not noticed: {}", done.summary()),
        Err(error) => error,
    }
}

#[test]
fn a_sound_stack_completes_its_transfer() {
    let done = run("sound").unwrap();
    let flow = &done.results[0].flows[0];
    // 100 datagrams, one each millisecond, from which the last takes 10.08 ms.
    let completion = flow.finished.unwrap().as_secs_f64();
    assert!((0.109..0.1095).contains(&completion), "{completion} s");
}

#[test]
fn violations_end_the_run_with_stack_flow_and_time() {
    let cases = [
        ("panics-on-opening", "at 0 s", "panicked"),
        ("panics-on-receiving", "at 10.", "panicked"),
        ("panics-on-timeout", "at 1 ms", "panicked"),
        ("panics-on-reading", "at 14.", "panicked"),
        ("panics-on-closing", "at 119.", "panicked"),
        ("asks-for-the-past", "at ", "returned a timeout in the past"),
        ("asks-for-the-next-nanosecond", "at ", "panicked"),
        ("closes-without-end", "at 119.", "requested actions without end at one instant"),
        ("transmits-nothing", "at 0 s", "sent an empty PDU, or one above the path's maximum size"),
        ("acts-without-end", "at 0 s", "requested actions without end at one instant"),
        ("sends-empty-datagrams", "at 0 s", "sent an empty PDU, or one above the path's maximum size"),
        ("sends-huge-datagrams", "at 0 s", "sent an empty PDU, or one above the path's maximum size"),
        ("sends-huge-transmissions", "at 0 s", "sent an empty PDU, or one above the path's maximum size"),
        ("ignores-the-mtu", "at 32 ms", "sent an empty PDU, or one above the path's maximum size"),
        ("accepts-more", "at 0 s", "panicked"),
        ("delivers-other", "at 15.", "delivered other bytes than were written"),
        ("delivers-more", "at 15.", "delivered more bytes than it received"),
    ];
    for (stack, time, what) in cases {
        let error = error(stack);
        let expected = format!("the engine `{stack}` {what}");
        assert!(error.contains("`victim` ") && error.contains(time) && error.contains(&expected), "{error}");
    }
}

/// A flow with unlimited data does not end before the stack accepts no more.
#[test]
fn a_send_buffer_without_end_ends_the_run() {
    let error = run_with("accepts-all", "\"bulk\"").map(|done| done.summary()).unwrap_err();
    let expected = "the engine `accepts-all` panicked";
    assert!(error.contains("`victim` ") && error.contains("at 0 s") && error.contains(expected), "{error}");
}

#[test]
fn a_stack_that_fails_ends_its_flow() {
    let done = run("fails").unwrap();
    let flow = &done.results[0].flows[0];
    let failed = flow.failed.unwrap().as_secs_f64();
    assert!((0.019..0.022).contains(&failed) && flow.finished.is_none(), "{failed} s");
    assert!(done.summary().contains("`victim` (fails) aborted"), "{}", done.summary());
}

/// A transfer ends with the delivery of its last byte, whether its sender learns of it or not.
#[test]
fn stacks_that_never_end_complete_what_they_have_delivered() {
    for (stack, is_delivered) in [("never-finishes", true), ("sends-nothing", false)] {
        let done = run(stack).unwrap();
        let flow = &done.results[0].flows[0];
        assert!(flow.finished.is_some() == is_delivered && flow.failed.is_none(), "{stack}");
    }
}

/// A call that does not return ends the process.
#[test]
fn a_call_without_end_is_reported() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "loops", "--ignored", "--nocapture"]).env(hang_watchdog::CALL_LIMIT_VARIABLE, "1");
    let output = child.output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(hang_watchdog::EXIT_CODE), "{messages}");
    assert!(messages.contains("a call of the stack `loops` has not returned for 1 s"), "{messages}");
    assert!(messages.contains("error: at 10."), "{messages}");
}

#[test]
#[ignore = "never returns; another test runs it in a process of its own"]
fn loops() {
    let _ = run("loops");
}

/// The stacks of others have no live scheme, and the error names the alternative.
#[test]
fn live_paths_refuse_stacks() {
    let arguments = ["bench", "client", "127.0.0.1:1", "--scheme", "sound"].map(str::to_owned);
    let called = thalweg::call(registry(), &arguments, Arc::new(Caller::default()));
    assert!(called.code != 0 && called.text().contains("in simulations only"), "{called:?}");
}
