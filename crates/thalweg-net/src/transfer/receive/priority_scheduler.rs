//! Priority scheduling of concurrent incoming transfers.
//!
//! The receiver pauses a transfer by not reading it: the receive window closes and the sender stops. The engines' gate
//! ([`CongestionGate`](thalweg_proto::gate::CongestionGate)) decides, driven by the clock of this host. At a sending
//! node the gate uses losses and marks. A receiver sees neither and assumes that its own link is the bottleneck: it
//! counts concurrent demand from transfers of several priorities as congestion.

use crate::live::Clock;
use crate::transfer::transfer_priority::Priority;
use crate::transfer::transfer_progress::Progress;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use thalweg_proto::gate::{Ageing, CongestionGateConfig, Gate, GateConfig, GateEvent, GateInput, GateOutput};
use thalweg_proto::transport::Signal;
use thalweg_proto::units::{Duration, Time};
use thalweg_proto::{Engine as _, Output};

/// Interval between gate decisions, and the minimum run time of a transfer whose priority rose by ageing.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Waiting time after which a paused transfer gains one priority level; it returns to its own level once it has run.
const AGEING_TIME: Duration = Duration::from_secs(5);
/// Idle time after which a transfer no longer pauses others.
const IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Scheduling state shared by all transfers into a host. A lone transfer is never paused; nor is any transfer while all
/// priorities are equal.
#[derive(Clone, Debug)]
pub struct TransferScheduler {
    shared: Arc<SharedScheduler>,
    /// True if senders choose the priorities of their transfers.
    has_choice: bool,
}

#[derive(Debug)]
struct SharedScheduler {
    clock: Clock,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    gate: Gate,
    flows: BTreeMap<u32, Flow>,
    next: u32,
    /// True once scheduling has stopped and no transfer is paused.
    is_over: bool,
}

#[derive(Debug)]
struct Flow {
    priority: Priority,
    /// Time of the last arrival of contents.
    last_arrival: Time,
    /// True while the flow is registered with the gate.
    is_present: bool,
    is_held: bool,
}

impl Default for TransferScheduler {
    /// Creates a scheduler that decides every 500 ms and ages by one priority level per 5 s of waiting. The lowest
    /// priority therefore runs for 0.5 to 1 s after at most 25 s, under any load.
    fn default() -> Self {
        Self::new(AGEING_TIME, CHECK_INTERVAL)
    }
}

impl TransferScheduler {
    /// Creates a scheduler that ages by one level per `ageing` and decides every `check`.
    pub fn new(ageing: Duration, check: Duration) -> Self {
        let ageing = Ageing { after: Some(ageing), ..Ageing::default() };
        let gate = CongestionGateConfig { check, ageing, ..CongestionGateConfig::default() };
        let gate = Gate::new(&GateConfig::Congestion(gate));
        let state = State { gate, flows: BTreeMap::new(), next: 0, is_over: false };
        let shared = Arc::new(SharedScheduler {
            clock: Clock::new(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        });
        Self { shared, has_choice: true }
    }

    /// Returns the same scheduler with all transfers at the lowest priority, ignoring the sender's choice.
    #[must_use]
    pub fn with_equal_priorities(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), has_choice: false }
    }

    /// Stops scheduling and wakes all paused transfers, to let them notice the state of their connections.
    pub fn end(&self) {
        self.lock().is_over = true;
        self.shared.changed.notify_all();
    }

    /// Registers a transfer.
    pub(super) fn begin(&self, priority: Priority, progress: &Arc<Progress>) -> ScheduledTransfer {
        // The default priority is the lowest.
        let priority = if self.has_choice { priority } else { Priority::default() };
        let mut state = self.lock();
        let flow = state.next;
        state.next = state.next.wrapping_add(1);
        let seen = self.shared.clock.now();
        state.flows.insert(flow, Flow { priority, last_arrival: seen, is_present: false, is_held: false });
        ScheduledTransfer { scheduler: self.clone(), flow, progress: Arc::clone(progress) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Records that contents of a flow are ready to be read.
    fn record_ready(&mut self, now: Time, number: u32) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        flow.last_arrival = now;
        if !std::mem::replace(&mut flow.is_present, true) {
            self.gate.handle(now, GateInput::Join { flow: number, priority: flow.priority.get() });
        }
    }

    /// Runs due gate decisions. Returns whether a paused flow may now run, and the time of the next call.
    fn poll(&mut self, now: Time) -> (bool, Time) {
        for (&number, flow) in &mut self.flows {
            if flow.is_present && !flow.is_held && now.since(flow.last_arrival) > IDLE_TIMEOUT {
                flow.is_present = false;
                self.gate.handle(now, GateInput::Leave { flow: number });
            }
        }
        let present = || self.flows.iter().filter(|(_, flow)| flow.is_present);
        let first = present().min_by_key(|(_, flow)| flow.priority);
        if let Some((&number, first)) = first
            && present().any(|(_, flow)| flow.priority > first.priority)
        {
            // The source is a flow that is never paused: the gate ignores congestion signals from paused flows.
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
            flow.last_arrival = now;
        }
    }
}

/// One transfer's registration with the scheduler.
#[derive(Debug)]
pub(super) struct ScheduledTransfer {
    scheduler: TransferScheduler,
    flow: u32,
    progress: Arc<Progress>,
}

impl ScheduledTransfer {
    /// Blocks until the gate lets this transfer read its pending contents.
    pub fn wait(&self) {
        let SharedScheduler { clock, changed, .. } = &*self.scheduler.shared;
        let mut state = self.scheduler.lock();
        state.record_ready(clock.now(), self.flow);
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
            // An idle flow sends no event, so waiters poll.
            let span = next.since(now).min(CHECK_INTERVAL);
            let span = std::time::Duration::from_secs_f64(span.as_secs_f64());
            state = changed.wait_timeout(state, span).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for ScheduledTransfer {
    fn drop(&mut self) {
        let now = self.scheduler.shared.clock.now();
        let mut state = self.scheduler.lock();
        if state.flows.remove(&self.flow).is_some_and(|flow| flow.is_present) {
            state.gate.handle(now, GateInput::Leave { flow: self.flow });
            // Waiters must re-evaluate the gate.
            self.scheduler.shared.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    //! Tests the gate's decisions on a simulated clock.
    use super::*;

    struct Receiver {
        scheduler: TransferScheduler,
        now: Time,
        flows: Vec<ScheduledTransfer>,
    }

    impl Receiver {
        fn new(priorities: &[u8]) -> Self {
            let scheduler = TransferScheduler::default();
            let begin = |&number| scheduler.begin(Priority::new(number).unwrap(), &Arc::new(Progress::new()));
            let flows = priorities.iter().map(begin).collect();
            Self { scheduler, now: Time::ZERO, flows }
        }

        /// Delivers contents of the flows in `active` for `span`, as the gate permits. Returns how often each flow ran,
        /// per thousand attempts.
        fn run(&mut self, span: Duration, active: &[usize]) -> Vec<u64> {
            let mut counts = vec![0; self.flows.len()];
            let mut state = self.scheduler.lock();
            for _ in 0..1000 {
                self.now += span / 1000;
                for &flow in active {
                    let number = self.flows[flow].flow;
                    if !state.flows[&number].is_held {
                        state.record_ready(self.now, number);
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
    fn transfers_alone_or_of_equal_priority_are_never_held() {
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
        // One or two check intervals per 5 s, and per 25 s.
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
    fn a_transfer_without_a_chosen_priority_holds_no_other() {
        let mut receiver = Receiver::new(&[6, 3]);
        let without = receiver.scheduler.with_equal_priorities();
        let urgent = Priority::new(1).unwrap();
        receiver.flows.push(without.begin(urgent, &Arc::new(Progress::new())));
        assert_eq!(receiver.run(Duration::from_secs(60), &[0, 2]), [1000, 0, 1000]);
        // It yields to flows of higher priority.
        receiver.run(Duration::from_secs(1), &[1, 2]);
        assert_eq!(receiver.run(Duration::from_secs(3), &[1, 2]), [0, 1000, 0]);
    }

    #[test]
    fn idle_or_ended_transfers_hold_no_other() {
        let mut receiver = Receiver::new(&[1, 6]);
        receiver.run(Duration::from_secs(2), &[0, 1]);
        receiver.run(IDLE_TIMEOUT + CHECK_INTERVAL * 2, &[1]);
        assert_eq!(receiver.run(Duration::from_secs(30), &[1]), [0, 1000]);
        // It returns.
        receiver.run(Duration::from_secs(1), &[0, 1]);
        assert_eq!(receiver.run(Duration::from_secs(2), &[0, 1]), [1000, 0]);
        receiver.flows.swap_remove(0);
        // Until the next check.
        receiver.run(Duration::from_secs(1), &[0]);
        assert_eq!(receiver.run(Duration::from_secs(30), &[0]), [1000]);
    }
}
