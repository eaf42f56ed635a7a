//! Tests of the gates' rules, individually and on random flows.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn ms(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// A gate with its driver's state: the paused flows, and the time of the next poll.
struct Driven {
    gate: Gate,
    paused: BTreeSet<u32>,
    next: Option<Time>,
}

impl Driven {
    fn new(config: GateConfig) -> Self {
        assert_eq!(config.check(), Ok(()));
        Self { gate: Gate::new(&config), paused: BTreeSet::new(), next: None }
    }

    /// Drains all events at `now`, and returns them.
    fn drain(&mut self, now: Time) -> Vec<GateEvent> {
        let mut events = Vec::new();
        loop {
            match self.gate.poll(now) {
                Output::Event(event) => {
                    match event {
                        GateEvent::Pause(flow) => assert!(self.paused.insert(flow), "{flow} is paused twice"),
                        GateEvent::Resume(flow) => assert!(self.paused.remove(&flow), "{flow} is not paused"),
                    }
                    events.push(event);
                }
                Output::Timeout { at, .. } => {
                    assert!(at > now, "it would spin");
                    self.next = Some(at);
                    return events;
                }
                Output::Idle => {
                    self.next = None;
                    return events;
                }
            }
        }
    }

    fn input(&mut self, now: Time, input: GateInput) -> Vec<GateEvent> {
        self.gate.handle(now, input);
        if let GateInput::Leave { flow } = input {
            // An ended flow gets no more events.
            self.paused.remove(&flow);
        }
        self.drain(now)
    }

    fn join(&mut self, now: Time, flow: u32, priority: u8) -> Vec<GateEvent> {
        self.input(now, GateInput::Join { flow, priority })
    }

    fn timeout(&mut self, now: Time, flow: u32) -> Vec<GateEvent> {
        self.input(now, GateInput::Congestion { flow, signal: Signal::Timeout })
    }

    /// Polls at every requested time up to `end`, and returns the events with their times in ms.
    fn run(&mut self, end: Time) -> Vec<(u64, GateEvent)> {
        let mut all = Vec::new();
        while let Some(at) = self.next.filter(|&at| at <= end) {
            let millis = at.since(Time::ZERO).as_picos() / 1_000_000_000;
            all.extend(self.drain(at).into_iter().map(|event| (millis, event)));
        }
        all
    }
}

fn congestion(config: CongestionGateConfig) -> Driven {
    Driven::new(GateConfig::Congestion(config))
}

fn drive_slot_gate(config: SlotGateConfig) -> Driven {
    Driven::new(GateConfig::Slots(config))
}

fn every_100_ms() -> CongestionGateConfig {
    CongestionGateConfig { check: Duration::from_millis(100), ..CongestionGateConfig::default() }
}

use GateEvent::{Pause, Resume};

#[test]
fn congestion_pauses_the_lowest_priority_and_its_end_resumes_the_highest() {
    // Priorities 1, 2, 2, 4. Signals before the first and second check stop 4 and then both of 2. The following quiet
    // checks resume 2, then 4; then checks end.
    let mut gate = congestion(every_100_ms());
    for (flow, priority) in [(1, 1), (2, 2), (3, 2), (4, 4)] {
        assert_eq!(gate.join(ms(0), flow, priority), []);
    }
    assert_eq!(gate.next, None);
    assert_eq!(gate.timeout(ms(30), 3), []);
    assert_eq!(gate.run(ms(100)), [(100, Pause(4))]);
    gate.timeout(ms(199), 1);
    assert_eq!(gate.run(ms(200)), [(200, Pause(2)), (200, Pause(3))]);
    assert_eq!(gate.run(ms(10_000)), [(300, Resume(2)), (300, Resume(3)), (400, Resume(4))]);
    assert_eq!(gate.next, None);
}

#[test]
fn the_highest_priority_present_is_not_paused() {
    // Only 3 and 5 are present: 5 is stopped, 3 never is. When 3 has left, 5 resumes at once.
    let mut gate = congestion(every_100_ms());
    gate.join(ms(0), 3, 3);
    gate.join(ms(0), 5, 5);
    for check in 0..4 {
        gate.timeout(ms(50 + 100 * check), 3);
        gate.run(ms(100 + 100 * check));
    }
    assert_eq!(gate.paused, BTreeSet::from([5]));
    assert_eq!(gate.input(ms(410), GateInput::Leave { flow: 3 }), [Resume(5)]);
}

#[test]
fn the_variant_of_the_paper_pauses_the_highest_priority_too() {
    // The next check resumes it, as no other flow can meet congestion.
    let mut gate = congestion(CongestionGateConfig { stops_highest: true, ..every_100_ms() });
    gate.join(ms(0), 1, 1);
    gate.timeout(ms(10), 1);
    assert_eq!(gate.run(ms(1000)), [(100, Pause(1)), (200, Resume(1))]);
}

#[test]
fn signals_of_paused_flows_are_ignored() {
    // Flow 4 is stopped; its timeouts do not stop flow 2, and the gate opens again.
    let mut gate = congestion(every_100_ms());
    gate.join(ms(0), 1, 1);
    gate.join(ms(0), 2, 2);
    gate.join(ms(0), 4, 4);
    gate.timeout(ms(10), 4);
    assert_eq!(gate.run(ms(100)), [(100, Pause(4))]);
    gate.timeout(ms(150), 4);
    assert_eq!(gate.run(ms(200)), [(200, Resume(4))]);
}

#[test]
fn only_configured_signals_count() {
    let signs = [Signal::Timeout, Signal::Loss, Signal::Mark, Signal::Feedback];
    for (signals, counted) in [(Signals::All, 4), (Signals::Losses, 2), (Signals::Timeouts, 1)] {
        let stops = |input: GateInput| {
            let mut gate = congestion(CongestionGateConfig { signals, ..every_100_ms() });
            gate.join(ms(0), 1, 1);
            gate.join(ms(0), 2, 2);
            gate.input(ms(10), input);
            !gate.run(ms(100)).is_empty()
        };
        let count = signs.iter().filter(|&&signal| stops(GateInput::Congestion { flow: 1, signal }));
        assert_eq!(count.count(), counted);
        assert_eq!(stops(GateInput::LocalDrop), signals == Signals::All);
    }
}

#[test]
fn a_new_flow_takes_the_state_of_its_priority() {
    let mut gate = congestion(every_100_ms());
    gate.join(ms(0), 1, 1);
    gate.join(ms(0), 3, 3);
    gate.timeout(ms(10), 1);
    gate.run(ms(100));
    assert_eq!(gate.join(ms(110), 4, 3), [Pause(4)]);
    assert_eq!(gate.join(ms(110), 5, 6), [Pause(5)]);
    assert_eq!(gate.join(ms(110), 6, 2), []);
}

#[test]
fn checks_are_at_multiples_of_their_interval() {
    // After a long quiet time the signal at 12 345 ms takes effect at 12 400.
    let mut gate = congestion(every_100_ms());
    gate.join(ms(0), 1, 1);
    gate.join(ms(0), 2, 2);
    gate.timeout(ms(12_345), 1);
    assert_eq!(gate.run(ms(12_400)), [(12_400, Pause(2))]);
}

#[test]
fn a_waiting_flow_gains_priority() {
    // Flow 1 meets congestion all the time. Flow 4 is stopped at 100 ms, and after three times 250 ms it has priority
    // 1, which may send. It then sends for a whole check interval, falls back, and waits again.
    let ageing = Ageing { after: Some(Duration::from_millis(250)), then: AfterService::FallsBack };
    let mut gate = congestion(CongestionGateConfig { ageing, ..every_100_ms() });
    gate.join(ms(0), 1, 1);
    gate.join(ms(0), 4, 4);
    let mut events = Vec::new();
    for check in 0..20 {
        gate.timeout(ms(1 + 100 * check), 1);
        events.extend(gate.run(ms(100 + 100 * check)));
    }
    assert_eq!(events[..3], [(100, Pause(4)), (850, Resume(4)), (1000, Pause(4))]);
    assert_eq!(events[3], (1750, Resume(4)));
    // With the paper's option it keeps the raised priority.
    let ageing = Ageing { then: AfterService::Stays, ..ageing };
    let mut gate = congestion(CongestionGateConfig { ageing, ..every_100_ms() });
    gate.join(ms(0), 1, 1);
    gate.join(ms(0), 4, 4);
    let mut events = Vec::new();
    for check in 0..20 {
        gate.timeout(ms(1 + 100 * check), 1);
        events.extend(gate.run(ms(100 + 100 * check)));
    }
    assert_eq!(events, [(100, Pause(4)), (850, Resume(4))]);
}

#[test]
fn turns_have_the_slots_of_the_paper() {
    // One flow of each priority: 256, 128, 64, 32, 16 and 8 slots of 10 ms, in order of arrival, and again.
    let mut gate = drive_slot_gate(SlotGateConfig::default());
    for flow in 1..=6 {
        gate.join(ms(0), flow, flow as u8);
    }
    let begins: Vec<(u64, u32)> = gate
        .run(ms(10_080))
        .into_iter()
        .filter_map(|(at, event)| if let Resume(flow) = event { Some((at, flow)) } else { None })
        .collect();
    let starts = [2560, 3840, 4480, 4800, 4960, 5040, 7600, 8880, 9520, 9840, 10_000, 10_080];
    let flows = [2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1];
    assert_eq!(begins, starts.into_iter().zip(flows).collect::<Vec<_>>());
}

#[test]
fn the_token_passes_at_once_when_its_flow_has_ended() {
    let mut gate = drive_slot_gate(SlotGateConfig::default());
    gate.join(ms(0), 1, 1);
    assert_eq!(gate.join(ms(5), 2, 6), [Pause(2)]);
    assert_eq!(gate.join(ms(6), 3, 6), [Pause(3)]);
    assert_eq!(gate.input(ms(7), GateInput::Leave { flow: 1 }), [Resume(2)]);
    // Its turn begins now: 8 slots of 10 ms.
    assert_eq!(gate.run(ms(87)), [(87, Pause(2)), (87, Resume(3))]);
    // A waiting flow may leave too, and is skipped.
    gate.input(ms(90), GateInput::Leave { flow: 2 });
    assert_eq!(gate.run(ms(10_000)), []);
    assert_eq!(gate.paused, BTreeSet::new());
}

#[test]
fn a_silent_flow_keeps_the_token_unless_the_gate_conserves_work() {
    // Flow 1 sends only in its first slot. Its turn takes 2560 ms; a work-conserving gate passes the token on after its
    // second slot, at 20 ms.
    for (work_conserving, passes) in [(false, 2560), (true, 20)] {
        let mut gate = drive_slot_gate(SlotGateConfig { work_conserving, ..SlotGateConfig::default() });
        gate.join(ms(0), 1, 1);
        gate.join(ms(0), 2, 1);
        gate.input(ms(3), GateInput::Sent { flow: 1 });
        let events = gate.run(ms(passes));
        assert_eq!(events, [(passes, Pause(1)), (passes, Resume(2))]);
    }
}

#[test]
fn a_flow_alone_is_never_paused() {
    let mut gate = drive_slot_gate(SlotGateConfig { work_conserving: true, ..SlotGateConfig::default() });
    gate.join(ms(0), 1, 6);
    assert_eq!(gate.run(ms(100_000)), []);
}

#[test]
fn ageing_lengthens_a_turn() {
    // Flow 2 of priority 6 waits for 2560 ms behind flow 1. With ageing of 1000 ms it gets the 32 slots of priority 4,
    // and its own 8 the next time, unless it stays raised.
    for (then, second) in [(AfterService::FallsBack, 32), (AfterService::Stays, 128)] {
        let ageing = Ageing { after: Some(Duration::from_millis(1000)), then };
        let mut gate = drive_slot_gate(SlotGateConfig { ageing, ..SlotGateConfig::default() });
        gate.join(ms(0), 1, 1);
        gate.join(ms(0), 2, 6);
        let events = gate.run(ms(8000));
        let at = |event| events.iter().filter(move |(_, found)| *found == event).map(|(at, _)| *at);
        let turns: Vec<u64> = at(Resume(2)).zip(at(Pause(2))).map(|(from, to)| (to - from) / 10).collect();
        assert_eq!(turns[..2], [32, second]);
    }
}

#[test]
fn configs_without_time_are_refused() {
    let bad = |config: GateConfig| config.check().unwrap_err();
    let (gate, turns) = (CongestionGateConfig::default(), SlotGateConfig::default());
    let ageing = Ageing { after: Some(Duration::ZERO), ..Ageing::default() };
    assert_eq!(bad(GateConfig::Congestion(CongestionGateConfig { check: Duration::ZERO, ..gate })), "check");
    assert_eq!(bad(GateConfig::Congestion(CongestionGateConfig { ageing, ..gate })), "ageing");
    assert_eq!(bad(GateConfig::Slots(SlotGateConfig { slot: Duration::ZERO, ..turns })), "slot");
    assert_eq!(bad(GateConfig::Slots(SlotGateConfig { slots: [1, 1, 0, 1, 1, 1], ..turns })), "slots");
}

fn ageings() -> impl Strategy<Value = Ageing> {
    let after = prop::option::of((1u64..500).prop_map(Duration::from_millis));
    (after, any::<bool>()).prop_map(|(after, stays)| Ageing {
        after,
        then: if stays { AfterService::Stays } else { AfterService::FallsBack },
    })
}

fn gate_inputs() -> impl Strategy<Value = Vec<(u64, GateInput)>> {
    let signal = prop_oneof![Just(Signal::Timeout), Just(Signal::Loss), Just(Signal::Mark)];
    let input = prop_oneof![
        3 => (0u32..8, any::<u8>()).prop_map(|(flow, priority)| GateInput::Join { flow, priority: priority % 8 }),
        1 => (0u32..8).prop_map(|flow| GateInput::Leave { flow }),
        4 => (0u32..8, signal).prop_map(|(flow, signal)| GateInput::Congestion { flow, signal }),
        1 => Just(GateInput::LocalDrop),
        3 => (0u32..8).prop_map(|flow| GateInput::Sent { flow }),
    ];
    prop::collection::vec((0u64..300, input), 0..60)
}

proptest! {
    #[test]
    fn a_congestion_gate_never_pauses_all_flows(ageing in ageings(), inputs in gate_inputs()) {
        // At any time some flow may send. Of two flows without ageing, the higher may send if the lower may. Without
        // signals all may send after as many checks as there are priorities.
        let mut gate = congestion(CongestionGateConfig { ageing, ..every_100_ms() });
        let (mut flows, mut now) = (BTreeMap::new(), Time::ZERO);
        for (wait, input) in inputs {
            now += Duration::from_millis(wait);
            gate.run(now);
            gate.input(now, input);
            match input {
                GateInput::Join { flow, priority } => {
                    flows.entry(flow).or_insert(priority.clamp(1, LOWEST_PRIORITY));
                }
                GateInput::Leave { flow } => {
                    flows.remove(&flow);
                }
                _ => {}
            }
            prop_assert!(flows.is_empty() || flows.keys().any(|flow| !gate.paused.contains(flow)));
            for (flow, priority) in &flows {
                prop_assert_eq!(gate.gate.is_open(*flow), !gate.paused.contains(flow));
                if ageing.after.is_none() && !gate.paused.contains(flow) {
                    prop_assert!(flows.iter().all(|(other, of)| of > priority || !gate.paused.contains(other)));
                }
            }
        }
        gate.run(now + Duration::from_millis(800));
        prop_assert!(gate.paused.is_empty());
    }

    #[test]
    fn with_slots_exactly_one_flow_sends(ageing in ageings(), work_conserving: bool, inputs in gate_inputs()) {
        // Every flow gets its turn within one round of the longest turns.
        let config = SlotGateConfig { slot: Duration::from_millis(1), work_conserving, ageing, ..SlotGateConfig::default() };
        let mut gate = drive_slot_gate(config);
        let (mut flows, mut now) = (BTreeSet::new(), Time::ZERO);
        for (wait, input) in inputs {
            now += Duration::from_millis(wait);
            gate.run(now);
            gate.input(now, input);
            match input {
                GateInput::Join { flow, .. } => {
                    flows.insert(flow);
                }
                GateInput::Leave { flow } => {
                    flows.remove(&flow);
                }
                _ => {}
            }
            prop_assert_eq!(flows.len() - gate.paused.len(), usize::from(!flows.is_empty()));
        }
        let mut missing: BTreeSet<u32> = gate.paused.clone();
        for (_, event) in gate.run(now + Duration::from_millis(8 * 256)) {
            if let Resume(flow) = event {
                missing.remove(&flow);
            }
        }
        prop_assert!(missing.is_empty());
    }
}
