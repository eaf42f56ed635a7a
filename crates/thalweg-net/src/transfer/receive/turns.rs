//! The turns of transfers that arrive at the same time: they give way to each other by their priorities.
//!
//! A transfer that is held back is not read, so that its receive window closes and its sender stops. The gate of the
//! engines decides ([`CongestionGate`](thalweg_proto::gate::CongestionGate)), driven by the clock of this host. Where
//! it runs at a node that sends it hears of losses and marks. A receiver sees none, and takes its own line to be the
//! bottleneck: that transfers of several priorities want to go on at the same time is the sign of congestion.

use crate::live::Clock;
use crate::transfer::priority::Priority;
use crate::transfer::progress::Progress;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use thalweg_proto::gate::{Ageing, CongestionGateConfig, Gate, GateConfig, GateEvent, GateInput, GateOutput};
use thalweg_proto::transport::Signal;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine as _, Output};

/// The time between decisions; a transfer that has waited for long enough goes on for so long at least.
const CHECK: Duration = Duration::from_millis(500);
/// A transfer that has been held back for so long stands one priority higher, until it has gone on.
const AGEING: Duration = Duration::from_secs(5);
/// A transfer of which nothing comes for so long holds nobody back.
const QUIET: Duration = Duration::from_secs(2);

/// The state that the transfers into a host share, to give way to each other. One that is alone, or whose priority is
/// that of all others, is never held back.
#[derive(Clone, Debug)]
pub struct Turns {
    shared: Arc<Shared>,
    /// Transfers that begin with it have the priorities that their senders choose.
    has_choice: bool,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    gate: Gate,
    flows: BTreeMap<u32, Flow>,
    next: u32,
    /// Nobody is held back any more.
    is_over: bool,
}

#[derive(Debug)]
struct Flow {
    priority: Priority,
    /// The time at which contents came last.
    seen: Time,
    /// The gate knows it.
    is_present: bool,
    is_held: bool,
}

impl Default for Turns {
    /// Decided every 500 ms; a transfer that has been held back for 5 s moves up by one priority, and by another after as long
    /// again. So the lowest goes on for 0.5 to 1 s after 25 s at most, whatever else comes.
    fn default() -> Self {
        Self::new(AGEING, CHECK)
    }
}

impl Turns {
    /// With other times: after how long a transfer moves up, and how often is decided.
    pub fn new(ageing: Duration, check: Duration) -> Self {
        let ageing = Ageing { after: Some(ageing), ..Ageing::default() };
        let gate = CongestionGateConfig { check, ageing, ..CongestionGateConfig::default() };
        let gate = Gate::new(&GateConfig::Congestion(gate));
        let state = State { gate, flows: BTreeMap::new(), next: 0, is_over: false };
        let shared =
            Arc::new(Shared { clock: Clock::new(), state: Mutex::new(state), changed: Condvar::new() });
        Self { shared, has_choice: true }
    }

    /// The same, for transfers of senders that choose no priority: theirs is the lowest.
    #[must_use]
    pub fn without_choice(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), has_choice: false }
    }

    /// Holds nobody back from now on: those that wait shall see what became of their connections.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.shared.changed.notify_all();
    }

    /// A transfer begins.
    pub(super) fn begin(&self, priority: Priority, progress: &Arc<Progress>) -> Turn {
        // The usual priority is the lowest.
        let priority = if self.has_choice { priority } else { Priority::default() };
        let mut state = self.lock();
        let flow = state.next;
        state.next = state.next.wrapping_add(1);
        let seen = self.shared.clock.now();
        state.flows.insert(flow, Flow { priority, seen, is_present: false, is_held: false });
        Turn { turns: self.clone(), flow, progress: Arc::clone(progress) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Contents of a flow are there to be read.
    fn see(&mut self, now: Time, number: u32) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        flow.seen = now;
        if !std::mem::replace(&mut flow.is_present, true) {
            self.gate.handle(now, GateInput::Join { flow: number, priority: flow.priority.get() });
        }
    }

    /// Does what is due. Whether somebody may go on that might not, and when to ask again.
    fn poll(&mut self, now: Time) -> (bool, Time) {
        for (&number, flow) in &mut self.flows {
            if flow.is_present && !flow.is_held && now.since(flow.seen) > QUIET {
                flow.is_present = false;
                self.gate.handle(now, GateInput::Leave { flow: number });
            }
        }
        let present = || self.flows.iter().filter(|(_, flow)| flow.is_present);
        let first = present().min_by_key(|(_, flow)| flow.priority);
        if let Some((&number, first)) = first
            && present().any(|(_, flow)| flow.priority > first.priority)
        {
            // From one that is never held back: signs of others do not count while they are.
            self.gate.handle(now, GateInput::Congestion { flow: number, signal: Signal::Mark });
        }
        let mut is_any_freed = false;
        loop {
            let output: GateOutput = self.gate.poll(now);
            match output {
                Output::Event(GateEvent::Pause(number)) => self.hold(now, number, true),
                Output::Event(GateEvent::Resume(number)) => {
                    is_any_freed = true;
                    self.hold(now, number, false);
                }
                Output::Timeout { at, .. } => return (is_any_freed, at),
                Output::Idle => return (is_any_freed, Time::MAX),
                Output::Transmit(never) => match never {},
            }
        }
    }

    fn hold(&mut self, now: Time, number: u32, is_held: bool) {
        if let Some(flow) = self.flows.get_mut(&number) {
            flow.is_held = is_held;
            flow.seen = now;
        }
    }
}

/// A transfer among others.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Turns,
    flow: u32,
    progress: Arc<Progress>,
}

impl Turn {
    /// Contents can be read: waits until they may.
    pub fn wait(&self) {
        let Shared { clock, changed, .. } = &*self.turns.shared;
        let mut state = self.turns.lock();
        state.see(clock.now(), self.flow);
        loop {
            let now = clock.now();
            let (is_any_freed, next) = state.poll(now);
            if is_any_freed {
                changed.notify_all();
            }
            let is_held = !state.is_over && state.flows.get(&self.flow).is_some_and(|flow| flow.is_held);
            self.progress.set_held(is_held);
            if !is_held {
                return;
            }
            // Those that fall quiet say nothing: somebody has to look.
            let span = next.since(now).min(CHECK);
            let span = std::time::Duration::from_secs_f64(span.as_secs_f64());
            state = changed.wait_timeout(state, span).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let now = self.turns.shared.clock.now();
        let mut state = self.turns.lock();
        if state.flows.remove(&self.flow).is_some_and(|flow| flow.is_present) {
            state.gate.handle(now, GateInput::Leave { flow: self.flow });
            // Those that wait ask what that means for them.
            self.turns.shared.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    //! Proves whom the gate lets go on, at times of the tests' own.
    use super::*;

    struct Receiver {
        turns: Turns,
        now: Time,
        flows: Vec<Turn>,
    }

    impl Receiver {
        fn new(priorities: &[u8]) -> Self {
            let turns = Turns::default();
            let begin = |&number| turns.begin(Priority::new(number).unwrap(), &Arc::new(Progress::new()));
            let flows = priorities.iter().map(begin).collect();
            Self { turns, now: Time::ZERO, flows }
        }

        /// Contents of these flows come for `span`, as far as they may; how often each could go on, of a thousand times.
        fn run(&mut self, span: Duration, active: &[usize]) -> Vec<u64> {
            let mut counts = vec![0; self.flows.len()];
            let mut state = self.turns.lock();
            for _ in 0..1000 {
                self.now += span / 1000;
                for &flow in active {
                    let number = self.flows[flow].flow;
                    if !state.flows[&number].is_held {
                        state.see(self.now, number);
                    }
                    state.poll(self.now);
                    counts[flow] += u64::from(!state.flows[&number].is_held);
                }
            }
            counts
        }
    }

    #[test]
    fn priorities_go_from_one_to_six() {
        let numbers: Vec<_> = (0..=255).filter_map(Priority::new).map(Priority::get).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
        assert_eq!(Priority::default().get(), 6);
    }

    #[test]
    fn who_is_alone_or_among_equals_is_never_held_back() {
        let all = Receiver::new(&[6]).run(Duration::from_secs(60), &[0]);
        assert_eq!(all, [1000]);
        let all = Receiver::new(&[2, 2, 2]).run(Duration::from_secs(60), &[0, 1, 2]);
        assert_eq!(all, [1000; 3]);
    }

    #[test]
    fn the_most_urgent_is_never_held_back_and_the_others_have_a_share() {
        let mut receiver = Receiver::new(&[1, 2, 6]);
        receiver.run(Duration::from_secs(5), &[0, 1, 2]);
        let shares = receiver.run(Duration::from_secs(1000), &[0, 1, 2]);
        assert_eq!(shares[0], 1000);
        // A check or two in every 5 s, and in every 25 s.
        assert!((60..220).contains(&shares[1]), "{shares:?}");
        assert!((15..60).contains(&shares[2]), "{shares:?}");
    }

    #[test]
    fn within_two_checks_the_less_urgent_is_held_back() {
        let mut receiver = Receiver::new(&[3, 4]);
        assert_eq!(receiver.run(Duration::from_secs(3), &[1]), [0, 1000]);
        receiver.run(Duration::from_secs(1), &[0, 1]);
        assert_eq!(receiver.run(Duration::from_secs(3), &[0, 1]), [1000, 0]);
    }

    #[test]
    fn who_has_no_choice_holds_nobody_back() {
        let mut receiver = Receiver::new(&[6, 3]);
        let without = receiver.turns.without_choice();
        let urgent = Priority::new(1).unwrap();
        receiver.flows.push(without.begin(urgent, &Arc::new(Progress::new())));
        assert_eq!(receiver.run(Duration::from_secs(60), &[0, 2]), [1000, 0, 1000]);
        // It gives way to those that have one.
        receiver.run(Duration::from_secs(1), &[1, 2]);
        assert_eq!(receiver.run(Duration::from_secs(3), &[1, 2]), [0, 1000, 0]);
    }

    #[test]
    fn who_is_quiet_or_gone_holds_nobody_back() {
        let mut receiver = Receiver::new(&[1, 6]);
        receiver.run(Duration::from_secs(2), &[0, 1]);
        receiver.run(QUIET + CHECK * 2, &[1]);
        assert_eq!(receiver.run(Duration::from_secs(30), &[1]), [0, 1000]);
        // It comes back.
        receiver.run(Duration::from_secs(1), &[0, 1]);
        assert_eq!(receiver.run(Duration::from_secs(2), &[0, 1]), [1000, 0]);
        receiver.flows.swap_remove(0);
        // Until the next check.
        receiver.run(Duration::from_secs(1), &[0]);
        assert_eq!(receiver.run(Duration::from_secs(30), &[0]), [1000]);
    }
}
