//! Pairing by code, between a sender, a receiver that shows the code, and an attacker that does not know it.
//!
//! Connections have the properties shown by the search over them: messages reach only the peer, in order, or are lost.
//! The sender opens one, to the receiver or to the attacker. The attacker opens several to the receiver, one after the
//! other. On its own connections the attacker sends a message computed from a guessed code, a message received on
//! another connection, an echo, or nonsense; it may close at any time.

use crate::system_under_test::System;
use crate::{Fault, PairingBounds};
use core::hash::{Hash as _, Hasher as _};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Cursor;
use std::rc::Rc;
use thalweg_explore::Fnv;
use thalweg_net::identity::{Entropy, PublicKey};
use thalweg_net::pairing::{Guesses, PairingError, PairingKeys, Verdict, initiate_with, serve_with};

/// Length of each endpoint's first message.
const HALF: usize = 33;

/// Length of the second message.
const PROOF: usize = 32;

/// Maximum number of guesses per code.
const GUESSES: u8 = 3;

/// An endpoint of a connection that runs the pairing.
#[derive(Clone, Debug)]
struct Run {
    is_server: bool,
    ends: PairingKeys,
    /// Random seed, distinct for each run.
    seed: u8,
    received: Vec<u8>,
    output: Vec<u8>,
    is_cut: bool,
    result: Option<Result<(), Reason>>,
}

/// The reason for a failed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    Wrong,
    Left { guessed: bool },
}

/// Messages of a run, and its result if nothing more is received.
type Transcript = (Vec<u8>, Result<(), Reason>);

/// Cache of runs by their inputs: each takes several curve multiplications.
pub type RunCache = Rc<RefCell<HashMap<(bool, u8, PublicKey, [u8; 32], Vec<u8>, String), Transcript>>>;

/// The two honest endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Sender,
    Receiver,
}

/// A message of the attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// A message computed from another code.
    Guess,
    /// The other honest endpoint's message at that position.
    Relayed,
    /// The message just received from this endpoint.
    Echo,
    Nonsense,
}

/// A step of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairingStep {
    SenderMeetsReceiver,
    SenderMeetsAttacker,
    AttackerMeetsReceiver,
    /// The other endpoint's messages arrive, on the connection between the two.
    Carry(Side),
    /// The connection of this end is cut.
    Cut(Side),
    /// The attacker sends a message to this endpoint.
    Send(Side, Payload),
}

pub struct Pairing {
    memo: RunCache,
    fault: Fault,
    /// Connections that the attacker may still make.
    connections_left: u8,
    guesses: Guesses,
    /// The code is unused and still valid.
    is_good: bool,
    answered: u8,
    sender: Option<Run>,
    receiver: Option<Run>,
    /// Message of the receiver to a sender that has reached it.
    joined: Option<Vec<u8>>,
    paired: Option<PublicKey>,
    log: Option<Vec<String>>,
}

struct SeededEntropy(u8, u8);

impl Entropy for SeededEntropy {
    fn fill(&mut self, bytes: &mut [u8]) {
        self.1 += 1;
        blake3::Hasher::new().update(&[self.0, self.1]).finalize_xof().fill(bytes);
    }
}

/// Keys serve the pairing as names only.
const fn test_key(number: u8) -> PublicKey {
    PublicKey([number; 32])
}

/// Code of both endpoints, and the attacker's guess.
const CODE: &str = "1234-5678";
const GUESS: &str = "8765-4321";

impl Run {
    /// Advances the run with the received messages.
    fn advance(&mut self, memo: &RunCache, code: &str) {
        let PairingKeys { client, binding, .. } = self.ends;
        let key = (self.is_server, self.seed, client, binding, self.received.clone(), code.to_owned());
        let mut memo = memo.borrow_mut();
        let (output, result) = memo.entry(key).or_insert_with(|| self.run(code));
        self.output.clone_from(output);
        self.result = match *result {
            // It waits for more.
            Err(Reason::Left { .. }) if !self.is_cut => None,
            result => Some(result),
        };
    }

    fn run(&self, code: &str) -> Transcript {
        let (mut entropy, mut from, mut output) =
            (SeededEntropy(self.seed, 0), Cursor::new(&self.received), Vec::new());
        let code = code.parse().expect("eight digits are a code");
        let result = if self.is_server {
            serve_with(&mut entropy, &code, &self.ends, &mut from, &mut output)
        } else {
            initiate_with(&mut entropy, &code, &self.ends, &mut from, &mut output)
        };
        let result = result.map_err(|error| match error {
            PairingError::Wrong => Reason::Wrong,
            PairingError::Stream { guessed, .. } => Reason::Left { guessed },
        });
        (output, result)
    }

    /// Returns true for the receiver's run with the attacker.
    const fn is_by_attacker(&self) -> bool {
        self.seed >= FIRST_ATTEMPT
    }

    fn feed_state(&self, hash: &mut Fnv) {
        (self.seed, &self.received, &self.output, self.is_cut, &self.result).hash(hash);
    }
}

/// Returns the message in `output` that follows the first `before` bytes.
fn message_after(output: &[u8], before: usize) -> Option<Vec<u8>> {
    let length = if before == 0 { HALF } else { PROOF };
    output.get(before..before + length).map(<[u8]>::to_vec)
}

impl Pairing {
    pub fn new(bounds: &PairingBounds, fault: Fault, memo: &RunCache, log: bool) -> Self {
        Self {
            memo: memo.clone(),
            fault,
            connections_left: bounds.attempts,
            guesses: Guesses::default(),
            is_good: true,
            answered: 0,
            sender: None,
            receiver: None,
            joined: None,
            paired: None,
            log: log.then(Vec::new),
        }
    }

    fn log_line(&mut self, line: impl Into<String>) {
        if let Some(log) = &mut self.log {
            log.push(line.into());
        }
    }

    fn begin(&self, is_server: bool, client: u8, server: u8, binding: u8, seed: u8) -> Run {
        let mut ends =
            PairingKeys { client: test_key(client), server: test_key(server), binding: [binding; 32] };
        if self.fault == Fault::PairingUnbound {
            ends = PairingKeys { client: test_key(1), server: test_key(2), binding: [0; 32] };
        }
        let (received, output) = (Vec::new(), Vec::new());
        Run { is_server, ends, seed, received, output, is_cut: false, result: None }
    }

    fn end(&self, side: Side) -> Option<&Run> {
        match side {
            Side::Sender => self.sender.as_ref(),
            Side::Receiver => self.receiver.as_ref(),
        }
    }

    /// Returns true if this endpoint is connected to the attacker.
    fn is_with_attacker(&self, side: Side) -> bool {
        let joined = self.joined.is_some();
        match side {
            Side::Sender => self.sender.as_ref().is_some_and(|run| !joined && run.result.is_none()),
            Side::Receiver => self.receiver.as_ref().is_some_and(Run::is_by_attacker),
        }
    }

    /// Returns the message, if the attacker has it.
    fn payload(&self, side: Side, payload: Payload) -> Option<Vec<u8>> {
        let run = self.end(side)?;
        let before = run.received.len();
        match payload {
            Payload::Nonsense => Some(vec![7; if before == 0 { HALF } else { PROOF }]),
            Payload::Echo => message_after(&run.output, before),
            Payload::Relayed => {
                let other = if side == Side::Sender { Side::Receiver } else { Side::Sender };
                message_after(&self.end(other).filter(|_| self.is_with_attacker(other))?.output, before)
            }
            Payload::Guess => {
                let mut guess =
                    Run { is_server: !run.is_server, received: run.output.clone(), ..run.clone() };
                guess.seed = run.seed + ATTACKERS;
                guess.is_cut = true;
                guess.advance(&self.memo, GUESS);
                message_after(&guess.output, before)
            }
        }
    }

    /// Evaluates the results of runs.
    fn evaluate_results(&mut self) -> Result<(), String> {
        let by_attacker = self.receiver.as_ref().is_some_and(Run::is_by_attacker);
        if let Some(run) = self.receiver.clone()
            && let Some(result) = run.result
        {
            self.receiver = None;
            let result = result.map_err(|reason| match reason {
                Reason::Wrong => PairingError::Wrong,
                Reason::Left { guessed } => PairingError::Stream {
                    error: std::io::ErrorKind::UnexpectedEof.into(),
                    guessed: guessed && self.fault != Fault::GuessUncounted,
                },
            });
            let verdict = self.guesses.after_attempt(&result);
            self.log_line(format!("    receiver: {verdict:?}"));
            match verdict {
                Verdict::Paired => {
                    self.is_good = false;
                    self.paired = Some(if by_attacker { test_key(3) } else { test_key(1) });
                    if by_attacker {
                        return Err("the receiver accepted the attacker as the sender".to_owned());
                    }
                }
                Verdict::Over => self.is_good = false,
                Verdict::Nothing | Verdict::Wrong(_) => {}
            }
        }
        if self.answered > GUESSES {
            return Err(format!("the code answered {} guesses", self.answered));
        }
        if let Some(Run { result: Some(result), .. }) = &self.sender
            && self.joined.is_none()
            && result.is_ok()
        {
            return Err("the sender accepted the attacker as the receiver".to_owned());
        }
        Ok(())
    }

    /// Delivers a message to an endpoint.
    fn deliver(&mut self, side: Side, payload: &[u8]) -> Result<(), String> {
        let run = match side {
            Side::Sender => self.sender.as_mut(),
            Side::Receiver => self.receiver.as_mut(),
        };
        let Some(run) = run else { return Ok(()) };
        let before = run.output.len();
        run.received.extend_from_slice(payload);
        run.advance(&self.memo, CODE);
        let (after, output) = (run.output.len(), run.output.clone());
        let by_attacker = run.is_by_attacker();
        if after > before {
            let what = if before == 0 && side == Side::Receiver { "its half" } else { "its proof" };
            let name = if side == Side::Sender { "sender" } else { "receiver" };
            self.log_line(format!("    {name} -> {what}"));
        }
        if side == Side::Receiver {
            self.answered += u8::from(by_attacker && before == 0 && after > 0);
            if let Some(joined) = self.joined.as_mut().filter(|_| !by_attacker) {
                *joined = output;
            }
        }
        self.evaluate_results()
    }

    fn cut_connection(&mut self, side: Side) -> Result<(), String> {
        // A connection has two ends.
        let both = self.joined.is_some() && self.receiver.as_ref().is_none_or(|run| !run.is_by_attacker());
        for run in [
            self.sender.as_mut().filter(|_| side == Side::Sender || both),
            self.receiver.as_mut().filter(|_| side == Side::Receiver || both),
        ]
        .into_iter()
        .flatten()
        {
            run.is_cut = true;
            run.advance(&self.memo, CODE);
        }
        self.evaluate_results()
    }

    fn carry(&mut self, to: Side) -> Result<(), String> {
        let payload = self.data_in_flight_to(to).unwrap_or_default();
        self.deliver(to, &payload)
    }

    /// Returns the data in flight to an endpoint on the connection between the two.
    fn data_in_flight_to(&self, to: Side) -> Option<Vec<u8>> {
        let output = self.joined.as_ref()?;
        let run = self.end(to).filter(|run| !run.is_cut && run.result.is_none() && !run.is_by_attacker())?;
        let output = match to {
            Side::Sender => output,
            Side::Receiver => &self.sender.as_ref()?.output,
        };
        output.get(run.received.len()..).filter(|rest| !rest.is_empty()).map(<[u8]>::to_vec)
    }
}

/// First seed of the receiver's runs with the attacker; [`ATTACKERS`] is added for the attacker's own runs.
const FIRST_ATTEMPT: u8 = 10;
const ATTACKERS: u8 = 100;

impl System for Pairing {
    type Step = PairingStep;
    type RemainingSteps = ();

    fn digest(&self) -> u128 {
        let mut hash = Fnv::new();
        (self.connections_left, self.guesses, self.is_good, self.answered, &self.joined, self.paired)
            .hash(&mut hash);
        for run in [&self.sender, &self.receiver] {
            hash.write_u8(u8::from(run.is_some()));
            run.iter().for_each(|run| run.feed_state(&mut hash));
        }
        hash.write_u8(0);
        hash.value()
    }

    fn remaining_steps(&self) {}

    fn restore(&mut self, (): ()) {}

    fn steps(&self) -> Vec<PairingStep> {
        let mut steps = Vec::new();
        let is_free = self.is_good && self.receiver.is_none();
        if self.sender.is_none() {
            steps.extend(is_free.then_some(PairingStep::SenderMeetsReceiver));
            steps.push(PairingStep::SenderMeetsAttacker);
        }
        if is_free && self.connections_left > 0 {
            steps.push(PairingStep::AttackerMeetsReceiver);
        }
        for side in [Side::Sender, Side::Receiver] {
            if self.data_in_flight_to(side).is_some() {
                steps.push(PairingStep::Carry(side));
            }
            if self.end(side).is_some_and(|run| run.result.is_none()) {
                steps.push(PairingStep::Cut(side));
            }
            if self.is_with_attacker(side) {
                let payload = [Payload::Guess, Payload::Relayed, Payload::Echo, Payload::Nonsense];
                let has = |payload: &Payload| self.payload(side, *payload).is_some();
                steps.extend(payload.into_iter().filter(has).map(|payload| PairingStep::Send(side, payload)));
            }
        }
        steps
    }

    fn take(&mut self, step: PairingStep) -> Result<(), String> {
        let name = |side| if side == Side::Sender { "sender" } else { "receiver" };
        match step {
            PairingStep::SenderMeetsReceiver | PairingStep::SenderMeetsAttacker => {
                let is_joined = step == PairingStep::SenderMeetsReceiver;
                let whom = if is_joined { "receiver" } else { "attacker, in the receiver's place" };
                self.log_line(format!("the sender reaches the {whom}\n    sender -> its half"));
                let (server, binding) = if is_joined { (2, 1) } else { (3, 2) };
                let mut sender = self.begin(false, 1, server, binding, 1);
                sender.advance(&self.memo, CODE);
                self.sender = Some(sender);
                if is_joined {
                    self.receiver = Some(self.begin(true, 1, 2, 1, 2));
                    self.joined = Some(Vec::new());
                }
                Ok(())
            }
            PairingStep::AttackerMeetsReceiver => {
                self.log_line("the attacker reaches the receiver");
                let seed = FIRST_ATTEMPT + self.connections_left;
                self.receiver = Some(self.begin(true, 3, 2, seed, seed));
                self.connections_left -= 1;
                Ok(())
            }
            PairingStep::Carry(to) => {
                self.log_line(format!("the other end's message arrives at the {}", name(to)));
                self.carry(to)
            }
            PairingStep::Cut(side) => {
                self.log_line(format!("the connection of the {} is cut", name(side)));
                self.cut_connection(side)
            }
            PairingStep::Send(side, payload) => {
                let what = match payload {
                    Payload::Guess => "the message for a guess at the code",
                    Payload::Relayed => "the message of the other one",
                    Payload::Echo => "its own last message",
                    Payload::Nonsense => "nonsense",
                };
                self.log_line(format!("the attacker sends to the {}: {what}", name(side)));
                let payload = self.payload(side, payload).unwrap_or_default();
                self.deliver(side, &payload)
            }
        }
    }

    /// Runs to completion without the attacker: its connections end. The sender connects to the receiver, unless it has
    /// already, and is paired.
    fn run_without_attacker(&mut self) -> Result<(), String> {
        self.log_line("from here on the attacker does nothing, and its connection times out");
        for side in [Side::Receiver, Side::Sender] {
            if self.is_with_attacker(side) {
                self.cut_connection(side)?;
            }
        }
        let is_cut = self.sender.as_ref().is_some_and(|run| run.is_cut);
        if !self.is_good && self.paired.is_none() || is_cut || self.sender.is_some() && self.joined.is_none()
        {
            return Ok(());
        }
        if self.sender.is_none() {
            self.take(PairingStep::SenderMeetsReceiver)?;
        }
        while let Some(side) =
            [Side::Sender, Side::Receiver].into_iter().find(|side| self.data_in_flight_to(*side).is_some())
        {
            self.take(PairingStep::Carry(side))?;
        }
        let is_paired = self.sender.as_ref().is_some_and(|run| run.result == Some(Ok(())));
        if is_paired && self.paired == Some(test_key(1)) {
            Ok(())
        } else {
            Err("an honest sender is not paired, although the attacker has stopped".to_owned())
        }
    }

    fn lines(self) -> Vec<String> {
        self.log.unwrap_or_default()
    }
}
