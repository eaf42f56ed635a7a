//! Third-party engines are simulated like built-in ones, and their contract violations are attributed to them.

use crate::test_network::*;
use thalweg_catalog::protocol_family::{ConfiguredRates, EndNeeds};
use thalweg_catalog::{ExternalFamily, Family, Properties};
use thalweg_proto::endpoint::{End, Notice};
use thalweg_proto::payload::{Payload, Queue as _, Slice};
use thalweg_proto::pdu::{DataUnit, Wire};
use thalweg_proto::transport::{Event, Input, ReceiverCounts, SenderStats};
use thalweg_proto::units::{Rate, Time};
use thalweg_proto::{Ecn, Engine, Output};
use thalweg_queue::{DisciplineSpec, Limit, StepConfig, Threshold};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::*;
use thalweg_sim::{Simulation, SpecError, Status};

/// Ways to violate the contract of engines.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    PanicWhenMade,
    PanicAtData,
    PanicOnQuery,
    TimeoutPast,
    Endless,
    DeliverMore,
    /// No violation: its receiver draws a random number.
    Draws,
}

/// Sends data of ten bytes without acknowledgement, one packet every 10 ms.
#[derive(Clone, Debug, PartialEq)]
struct Clockwork {
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq)]
struct Tick<P>(P);

impl<P: Payload> DataUnit<P> for Tick<P> {
    fn payload(&self) -> Option<&P> {
        Some(&self.0)
    }
    fn data(&self, _near: u64) -> Option<core::ops::Range<u64>> {
        None
    }
    fn acknowledged(&self, _near: u64) -> Option<Vec<core::ops::Range<u64>>> {
        None
    }
    fn label(&self) -> String {
        "tick".to_owned()
    }
    fn ecn(&self) -> Option<Ecn> {
        Some(Ecn::Ect0)
    }
}

impl Wire for Tick<Slice> {
    fn encode(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.0.as_bytes());
    }
    fn decode(bytes: Slice) -> Option<Self> {
        Some(Self(bytes))
    }
}

#[derive(Debug)]
struct Ticker<P: Payload> {
    fault: Fault,
    queue: P::Queue,
    next: Time,
    sent: u64,
    finishing: bool,
    finished: bool,
}

impl<P: Payload> Engine for Ticker<P> {
    type Pdu = Tick<P>;
    type Input = Input<Tick<P>, P>;
    type Event = Event<P>;
    type Reason = ();

    fn handle(&mut self, _now: Time, input: Self::Input) {
        match input {
            Input::Write(data) => self.queue.push(data),
            Input::Finish | Input::Stop => self.finishing = true,
            _ => {}
        }
    }

    fn poll(&mut self, now: Time) -> Output<Tick<P>, Event<P>, ()> {
        if self.sent == 3 {
            match self.fault {
                Fault::TimeoutPast => return Output::Timeout { at: now, reason: () },
                Fault::Endless => return Output::Event(Event::Writable),
                _ => {}
            }
        }
        if now < self.next {
            return Output::Timeout { at: self.next, reason: () };
        }
        match self.queue.take(10) {
            Some(data) => {
                (self.next, self.sent) = (now + millis(10), self.sent + 1);
                Output::Transmit(Tick(data))
            }
            None if self.finishing && !self.finished => {
                self.finished = true;
                Output::Event(Event::Finished)
            }
            None => Output::Idle,
        }
    }
}

impl<P: Payload> End for Ticker<P> {
    fn sender_stats(&self, _now: Time) -> Option<SenderStats> {
        assert!(self.fault != Fault::PanicOnQuery, "asked");
        Some(SenderStats { sent: self.sent, ..SenderStats::default() })
    }
}

#[derive(Debug)]
struct Listener<P> {
    fault: Fault,
    arrived: Vec<P>,
    counts: ReceiverCounts,
}

impl<P: Payload> Engine for Listener<P> {
    type Pdu = Tick<P>;
    type Input = Input<Tick<P>, P>;
    type Event = Event<P>;
    type Reason = ();

    fn handle(&mut self, _now: Time, input: Self::Input) {
        let Input::Pdu { pdu: Tick(data), .. } = input else { return };
        self.counts.packets += 1;
        self.counts.payload += u64::from(data.len());
        assert!(self.fault != Fault::PanicAtData || self.counts.packets < 3, "the third");
        self.arrived.push(data);
    }

    fn poll(&mut self, _now: Time) -> Output<Tick<P>, Event<P>, ()> {
        match (self.fault, self.arrived.last()) {
            (Fault::DeliverMore, Some(data)) => Output::Event(Event::Delivered(data.clone())),
            _ => self.arrived.pop().map_or(Output::Idle, |data| Output::Event(Event::Delivered(data))),
        }
    }
}

impl<P: Payload> End for Listener<P> {
    /// The result shows the number: as overhead of received packets.
    fn notify(&mut self, notice: Notice) {
        if let Notice::RandomStream(mut stream) = notice {
            self.counts.framing = stream.below(1 << 20);
        }
    }
    fn receiver_counts(&self) -> ReceiverCounts {
        self.counts
    }
}

impl Properties for Clockwork {
    fn segment(&self) -> u32 {
        10
    }
    fn window(&self) -> Option<u64> {
        None
    }
    fn rates(&self) -> ConfiguredRates {
        ConfiguredRates { max: Some(Rate::from_bits_per_sec(8_000)), ..ConfiguredRates::default() }
    }
    fn needs(&self) -> EndNeeds {
        EndNeeds { random: self.fault == Fault::Draws, ..EndNeeds::default() }
    }
}

impl Family for Clockwork {
    const NAME: &'static str = "clockwork";
    const OVERHEAD: u32 = 0;
    type Pdu<P: Payload> = Tick<P>;
    type Sender<P: Payload> = Ticker<P>;
    type Receiver<P: Payload> = Listener<P>;

    fn sender<P: Payload>(&self) -> Ticker<P> {
        assert!(self.fault != Fault::PanicWhenMade, "made");
        let queue = P::Queue::default();
        Ticker { fault: self.fault, queue, next: Time::ZERO, sent: 0, finishing: false, finished: false }
    }

    fn receiver<P: Payload>(&self) -> Listener<P> {
        Listener { fault: self.fault, arrived: Vec::new(), counts: ReceiverCounts::default() }
    }
}

/// 100 bytes over a link of 5 ms without transmission time.
fn spec(fault: Fault) -> Spec {
    let mut spec = pipe(direction(Rate::from_mbits_per_sec(10_000), millis(5), Limit::Unlimited));
    let transport = TransportSpec::new("clockwork", ExternalFamily::new(Clockwork { fault }), 20, 20);
    spec.groups = vec![group("flow", 1, transport, WorkloadSpec::Transfer(bytes(100)))];
    spec
}

/// Returns the name of the group, the simulated time in whole milliseconds, and the message of the error that ends a
/// run.
fn violation_of(fault: Fault) -> (String, u64, String) {
    let mut simulation = Simulation::new(&spec(fault), NoTrace).unwrap();
    let status = loop {
        match simulation.advance(1000) {
            Status::Running => {}
            status => break status,
        }
    };
    assert_eq!(status, Status::Broken, "{fault:?}");
    let error = simulation.error().unwrap().clone();
    let SpecError::ContractViolation { of, at, .. } = &error else { panic!("{error}") };
    (of.clone(), at.as_picos() / 1_000_000_000, error.to_string())
}

#[test]
fn an_engine_of_another_crate_is_simulated_and_verified() {
    let result = run(&spec(Fault::None));
    let flow = &result.flows[0];
    // Ten packets of ten bytes, the last 90 ms after the first, and 5 ms of propagation.
    assert_eq!((flow.sent_packets, flow.delivered, flow.delivered_wire), (10, bytes(100), bytes(300)));
    let end = flow.finished.unwrap().as_secs_f64();
    assert!((0.095..0.0951).contains(&end), "{end}");
}

#[test]
fn contract_violations_of_engines_are_reported_with_name_and_time() {
    std::panic::set_hook(Box::new(|_| {}));
    for (fault, millis, words) in [
        (Fault::PanicWhenMade, 0, "panicked"),
        // The third packet leaves after 20 ms.
        (Fault::PanicAtData, 25, "panicked"),
        (Fault::TimeoutPast, 20, "returned a timeout in the past"),
        (Fault::Endless, 20, "requested actions without end at one instant"),
        (Fault::DeliverMore, 5, "delivered more bytes than it received"),
    ] {
        let (of, at, message) = violation_of(fault);
        assert_eq!((of.as_str(), at), ("flow", millis), "{fault:?}");
        assert!(message.ends_with(&format!("the engine `clockwork` {words}")), "{fault:?}: {message}");
    }
    // An engine that panics in a query is not queried again, and the run ends normally.
    let mut simulation = Simulation::new(&spec(Fault::PanicOnQuery), NoTrace).unwrap();
    while simulation.advance(1000) == Status::Running {}
    let (result, _) = simulation.finish();
    let _ = std::panic::take_hook();
    assert_eq!(result.flows[0].sent_packets, 0);
}

/// Packets have the codepoint of their PDU, although the family as a whole is not ECN-capable: a queue marks them.
#[test]
fn engines_choose_the_codepoint_of_each_packet() {
    let mut spec = spec(Fault::None);
    // A packet of 30 bytes takes 30 ms, and one leaves every 10 ms: the last five of ten find more than two waiting.
    let mut slow = direction(Rate::from_bits_per_sec(8_000), millis(5), Limit::Unlimited);
    slow.queue = DisciplineSpec::new(Limit::Unlimited, StepConfig { threshold: Threshold::Packets(2) });
    spec.links = pipe(slow).links;
    let flow = &run(&spec).flows[0];
    assert_eq!((flow.counts.marked_data, flow.counts.drops), (5, 0));
}

#[test]
fn receivers_draw_from_a_stream_of_their_own() {
    let drawn = |seed: u64, fault: Fault| {
        let result = Simulation::new(&Spec { seed, ..spec(fault) }, NoTrace);
        let mut simulation = result.unwrap();
        while simulation.advance(1000) == Status::Running {}
        simulation.finish().0.flows[0].delivered_wire.get()
    };
    assert_eq!(drawn(1, Fault::None), 300);
    assert_eq!(drawn(1, Fault::Draws), drawn(1, Fault::Draws));
    assert!(drawn(1, Fault::Draws) > 300 && drawn(1, Fault::Draws) != drawn(2, Fault::Draws));
}
