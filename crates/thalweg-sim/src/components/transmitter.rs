//! One direction of a link: a transmitter with its queue, and the propagation after it.

use crate::components::drop_tail::DropTail;
use crate::components::packet_pool::{NONE, PacketPool};
use crate::components::router_feedback::WatchedQueue;
use crate::measure::Occupancy;
use crate::simulation_spec::{DirectionSpec, Framing, JitterChange};
use std::sync::Arc;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::feedback::{FeedbackSpec, Watch};
use thalweg_queue::random_delay::{TimeSpec, Variation, VariationSpec};
use thalweg_queue::{
    AckFilter, Aggregation, Any, CapacityClock, Discipline, EcnTreatment, FcfsConfig, Impairment, Limit,
    StartDelay,
};

const PICOS_PER_BYTE_AT_ONE_BIT: u64 = 8_000_000_000_000;

/// Returns true for a direction that only queues, transmits and delays.
fn is_plain(spec: &DirectionSpec) -> bool {
    spec.impairment.is_transparent()
        && spec.jitter.is_zero()
        && spec.variation.is_none()
        && spec.capacity.is_none()
        && spec.schedule.is_empty()
        && spec.framing == Framing::None
        && spec.start_delay.is_none()
        && spec.aggregation.is_none()
        && spec.periodic_variation.is_none()
        && spec.ecn == EcnTreatment::Kept
        && spec.ack_filter == AckFilter::None
}

/// Service time and delay of a plain transmitter: the common case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    /// Picoseconds per byte, if constant and whole and if packets may bypass an idle transmitter's queue; 0 otherwise.
    pub picos_per_byte: u64,
    pub delay: Duration,
}

impl Speed {
    pub fn from_spec(spec: &DirectionSpec) -> Self {
        let bits = spec.rate.as_bits_per_sec();
        let whole = bits > 0 && PICOS_PER_BYTE_AT_ONE_BIT.is_multiple_of(bits);
        let is_one =
            whole && is_plain(spec) && !spec.queue.enqueues_when_link_idle() && spec.feedback.is_none();
        Self { picos_per_byte: if is_one { PICOS_PER_BYTE_AT_ONE_BIT / bits } else { 0 }, delay: spec.delay }
    }
}

/// Frequently used state of a direction, in half a cache line. A simulation may have millions of them, mostly plain
/// access links; other directions have further state in their [`PortState`].
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct Transmitter {
    /// Departure of the packet in service.
    pub busy_until: Time,
    /// Packets in propagation, in order of arrival.
    pub first: u32,
    pub last: u32,
    /// Packets waiting in an unbounded FIFO; otherwise the first field is the number of the
    /// [`port_state`](Self::port_state).
    pub line_first: u32,
    pub line_last: u32,
    /// Index of its description.
    pub spec: u32,
    /// True if a service event is queued.
    pub service_due: bool,
    /// True if every change of its queue is recorded.
    pub watched: bool,
    /// Queueing mode.
    pub wait: QueueMode,
}

/// Queueing modes of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueMode {
    /// A queue.
    Queue,
    /// A queue whose discipline needs the hosts of each packet.
    Isolated,
    /// An unbounded FIFO without limit, discipline or measurement, the default of access links: a linked list of
    /// packets.
    UnboundedFifo,
    /// A queue with a feedback policy, which sees every packet, even without waiting.
    Watched,
}

/// Position of a packet that enters propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnWire {
    /// It arrives next.
    First,
    /// It arrives after earlier packets.
    Behind,
    /// It would overtake the last packet, as the delay decreased: it arrives out of order.
    Overtaking,
}

/// Extended state of a transmitter that is not plain with an unbounded FIFO: counts, and state created on demand.
#[derive(Debug, Default)]
pub(crate) struct PortState {
    pub packets: u64,
    pub bytes: u64,
    pub queue: Option<Box<TransmitQueue>>,
    pub extra: Option<Box<RareState>>,
}

/// The queue of a transmitter, created when a packet first finds it busy.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    pub queue: Queue,
    /// Occupancy, for links of the specification but not for access links.
    pub occupancy: Option<Box<Occupancy>>,
    pub drops_full: u64,
    pub drops_early: u64,
    pub filtered: u64,
    pub marks: u64,
    pub feedback: Option<Box<WatchedQueue>>,
}

/// The queueing discipline.
#[derive(Debug)]
pub(crate) enum Queue {
    DropTail(DropTail),
    Discipline(Any),
}

/// Rarely used state of a direction.
#[derive(Debug)]
pub(crate) struct RareState {
    pub rate: Rate,
    pub delay: Duration,
    /// Picoseconds in service. Wake-up and waiting for tokens of a shaper or for the end of a full batch do not count.
    pub busy: u64,
    /// Start of the last transmission.
    transmission_start: Time,
    /// Bytes on the wire that have taken tokens of a shaper.
    pub shaped: u64,
    pub impairment: Impairment,
    pub jitter: Option<Jitter>,
    pub variation: Option<Box<Varying>>,
    /// Limit of the queue, if changed from the specification.
    pub limit: Option<Limit>,
    pub capacity: Option<CapacityClock>,
    pub start_delay: Option<StartDelay>,
    pub aggregation: Option<Aggregation>,
    pub ecn: EcnTreatment,
    pub losses: u64,
    pub corrupted: u64,
    pub duplicated: u64,
}

/// Current random delays from a distribution.
#[derive(Debug)]
pub(crate) struct Varying {
    pub spec: Arc<VariationSpec>,
    pub state: Variation,
}

/// Random delays that keep the order.
#[derive(Debug)]
pub(crate) struct Jitter {
    span: Duration,
    stream: RandomStream,
    /// Arrival of the previous packet.
    last: Time,
}

impl Varying {
    fn new(spec: &Arc<VariationSpec>, stream: RandomStream) -> Self {
        Self { spec: Arc::clone(spec), state: Variation::new(stream) }
    }
}

impl RareState {
    /// Applies new random delays. Existing random streams continue; `stream` creates new ones.
    pub fn set_jitter(&mut self, change: &JitterChange, stream: impl Fn(&'static str) -> RandomStream) {
        match &mut self.jitter {
            Some(jitter) => jitter.span = change.span,
            None if change.span.is_zero() => {}
            empty @ None => {
                *empty = Some(Jitter { span: change.span, stream: stream("jitter"), last: Time::ZERO });
            }
        }
        if let Some(varying) = &mut self.variation {
            varying.state.forget_flows();
        }
        match (&mut self.variation, &change.variation) {
            (Some(varying), Some(spec)) => varying.spec = Arc::clone(spec),
            // Keeps an empty distribution: a later one continues its stream.
            (Some(varying), None) => {
                let nothing = TimeSpec::Uniform { min: Duration::ZERO, max: Duration::ZERO };
                varying.spec = Arc::new(VariationSpec::new(nothing));
            }
            (None, None) => {}
            (empty @ None, Some(spec)) => *empty = Some(Box::new(Varying::new(spec, stream("variation")))),
        }
    }
}

impl Jitter {
    /// Returns the arrival time with jitter of a packet that would arrive at `arrives` without it.
    pub fn delayed_arrival(&mut self, arrives: Time) -> Time {
        // If the delay has decreased by more than the maximum jitter, a packet may still overtake earlier ones.
        let behind = self.last.min(arrives + self.span);
        self.last = behind.max(arrives + self.stream.uniform_duration(self.span));
        self.last
    }
}

impl Transmitter {
    /// Returns an idle transmitter as described by `spec`, number `index`, with a `measured` queue or not. Extended
    /// state, if needed, has number `port_state`.
    pub fn new(spec: &DirectionSpec, index: u32, measured: bool, port_state: u32) -> Self {
        let unlimited = spec.queue.limit() == Limit::Unlimited && spec.queue.config::<FcfsConfig>().is_some();
        let wait = if spec.feedback.is_some() {
            QueueMode::Watched
        } else if !measured && unlimited && is_plain(spec) {
            QueueMode::UnboundedFifo
        } else if spec.queue.isolates_hosts() {
            QueueMode::Isolated
        } else {
            QueueMode::Queue
        };
        Self {
            busy_until: Time::ZERO,
            first: NONE,
            last: NONE,
            line_first: if wait == QueueMode::UnboundedFifo { NONE } else { port_state },
            line_last: NONE,
            spec: index,
            service_due: false,
            watched: false,
            wait,
        }
    }

    /// Returns the placeholder for a transmitter of another partition, whose link may lead to this one.
    pub fn placeholder(&self) -> Self {
        Self {
            busy_until: Time::ZERO,
            first: NONE,
            last: NONE,
            line_first: NONE,
            line_last: NONE,
            spec: self.spec,
            service_due: false,
            watched: false,
            wait: QueueMode::UnboundedFifo,
        }
    }

    /// Returns the number of its extended state, if any.
    #[inline]
    pub fn port_state(&self) -> Option<usize> {
        (self.wait != QueueMode::UnboundedFifo).then_some(self.line_first as usize)
    }

    /// Puts a packet of `size` bytes into service at `now`; returns its arrival time at the far end.
    #[inline]
    pub fn serve(&mut self, now: Time, size: u32, speed: Speed) -> Time {
        self.busy_until = now + Duration::from_picos(speed.picos_per_byte * u64::from(size));
        self.busy_until + speed.delay
    }

    /// Adds a packet that arrives at `arrives` to those in propagation; returns its position.
    #[inline(always)]
    pub fn put_on_wire(&mut self, packets: &mut PacketPool, packet: u32, arrives: Time) -> OnWire {
        let header = packets.get_mut(packet);
        header.arrives_at = arrives;
        header.next = NONE;
        let mut place = OnWire::First;
        if self.first == NONE {
            self.first = packet;
        } else {
            let last = packets.get_mut(self.last);
            if arrives < last.arrives_at {
                return OnWire::Overtaking;
            }
            last.next = packet;
            place = OnWire::Behind;
        }
        self.last = packet;
        place
    }

    /// Puts a packet into service at a transmitter without a [`Speed`].
    pub fn serve_in_general(
        &mut self,
        now: Time,
        size: u32,
        spec: &DirectionSpec,
        extra: Option<&mut RareState>,
    ) -> Time {
        let (leaves, delay) = service_times(now, self.busy_until, size, spec, extra);
        self.busy_until = leaves;
        leaves + delay
    }
}

/// Returns the departure time of a packet served by a transmitter idle since `idle`, and its delay afterwards.
fn service_times(
    now: Time,
    idle: Time,
    size: u32,
    spec: &DirectionSpec,
    extra: Option<&mut RareState>,
) -> (Time, Duration) {
    let on_wire = spec.framing.on_wire(size);
    let at_rate = |begins: Time, rate: Rate| {
        let endless = rate == Rate::MAX;
        begins + if endless { Duration::ZERO } else { rate.transmission_time(Bytes::new(on_wire)) }
    };
    let Some(extra) = extra else { return (at_rate(now, spec.rate), spec.delay) };
    let ready = extra.start_delay.as_mut().map_or(now, |start_delay| start_delay.begin(now, idle, on_wire));
    let in_trace = u32::try_from(on_wire).unwrap_or(u32::MAX);
    let begins = extra.aggregation.as_ref().map_or(ready, |aggregation| {
        aggregation.begin(ready, extra.delay, |begins| match &extra.capacity {
            // A copy: the packet may begin later, and then uses other opportunities.
            Some(clock) => clock.clone().book_departure(begins, in_trace),
            None => at_rate(begins, extra.rate),
        })
    });
    let leaves = match &mut extra.capacity {
        Some(clock) => clock.book_departure(begins, in_trace),
        None => at_rate(begins, extra.rate),
    };
    // The transmitter is not busy while it wakes up, waits for tokens or waits for more packets of an aggregate.
    extra.transmission_start = begins;
    if spec.start_delay.shaper.is_some() {
        extra.shaped += on_wire;
    }
    extra.busy += leaves.since(extra.transmission_start).as_picos();
    (leaves, extra.delay)
}

impl PortState {
    /// Returns the state of an idle transmitter; `stream` creates random streams by purpose.
    pub fn new(spec: &DirectionSpec, stream: impl Fn(&'static str) -> RandomStream) -> Self {
        let extra = (!is_plain(spec)).then(|| {
            Box::new(RareState {
                rate: spec.rate,
                delay: spec.delay,
                busy: 0,
                transmission_start: Time::ZERO,
                shaped: 0,
                jitter: (!spec.jitter.is_zero()).then(|| Jitter {
                    span: spec.jitter,
                    stream: stream("jitter"),
                    last: Time::ZERO,
                }),
                variation: spec.variation.as_ref().map(|of| Box::new(Varying::new(of, stream("variation")))),
                limit: None,
                impairment: Impairment::new(&spec.impairment, stream),
                // Invalid traces were rejected by the check of the specification.
                capacity: spec.capacity.as_ref().and_then(|trace| CapacityClock::new(Arc::clone(trace)).ok()),
                start_delay: (!spec.start_delay.is_none()).then(|| StartDelay::new(&spec.start_delay)),
                aggregation: spec.aggregation.map(Aggregation::new),
                ecn: spec.ecn,
                losses: 0,
                corrupted: 0,
                duplicated: 0,
            })
        });
        Self { extra, ..Self::default() }
    }

    /// Counts a transmitted packet of `size` bytes.
    #[inline]
    pub fn count(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// Returns true if impairments may affect packets.
    pub fn may_impair(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| {
            !extra.impairment.is_transparent()
                || extra.jitter.is_some()
                || extra.variation.is_some()
                || extra.aggregation.is_some()
                || extra.ecn != EcnTreatment::Kept
        })
    }

    /// Returns the transmitter's current rate; zero in an outage.
    pub fn rate(&self, spec: &DirectionSpec) -> Rate {
        self.extra.as_ref().map_or(spec.rate, |extra| extra.rate)
    }

    /// Returns the time in service since the start of counting, up to `now`; `before` is the remaining service time at
    /// that start.
    pub fn busy(&self, before: Duration, now: Time, busy_until: Time, spec: &DirectionSpec) -> Duration {
        let busy = match &self.extra {
            Some(extra) => Duration::from_picos(extra.busy),
            None if spec.rate == Rate::MAX || self.bytes == 0 => Duration::ZERO,
            None => spec.rate.transmission_time(Bytes::new(self.bytes)),
        };
        // The packet in service was counted up to its departure.
        if busy_until == Time::MAX {
            before + busy
        } else {
            before + busy - self.remaining_service_time(now, busy_until)
        }
    }

    /// Returns the remaining service time of the packet in service.
    pub fn remaining_service_time(&self, now: Time, busy_until: Time) -> Duration {
        busy_until.since(self.extra.as_ref().map_or(now, |extra| extra.transmission_start.max(now)))
    }

    /// Returns the queue, created on first use.
    #[inline]
    pub fn waiting(
        &mut self,
        spec: &DirectionSpec,
        measured: bool,
        stream: impl FnMut(&'static str) -> RandomStream,
    ) -> &mut TransmitQueue {
        let extra = &self.extra;
        self.queue.get_or_insert_with(|| {
            let rate = extra.as_ref().map_or(spec.rate, |extra| extra.rate);
            let limit = extra.as_ref().and_then(|extra| extra.limit);
            Box::new(TransmitQueue::new(spec, (rate, limit), measured, stream))
        })
    }
}

impl TransmitQueue {
    // Runs once per queue: kept out of line.
    #[cold]
    #[inline(never)]
    fn new(
        spec: &DirectionSpec,
        (rate, limit): (Rate, Option<Limit>),
        measured: bool,
        stream: impl FnMut(&'static str) -> RandomStream,
    ) -> Self {
        let limit = limit.unwrap_or_else(|| spec.queue.limit());
        // Removal from the middle of a queue needs a discipline that supports it.
        let is_drop_tail = spec.queue.config::<FcfsConfig>().is_some() && spec.ack_filter == AckFilter::None;
        let queue = if is_drop_tail {
            Queue::DropTail(DropTail::new(limit))
        } else {
            let mut of_limit = spec.queue.clone();
            of_limit.set_limit(limit);
            let mut discipline = Any::new(&of_limit, stream);
            discipline.set_rate(spec.sustained_rate(rate));
            Queue::Discipline(discipline)
        };
        let watch = |watch: &FeedbackSpec| Watch::new(&watch.policy, spec.queue.limit());
        let watched = |spec| Box::new(WatchedQueue { watch: watch(spec), messages: 0, bytes: 0, next: 0 });
        Self {
            queue,
            occupancy: measured.then(Box::default),
            drops_full: 0,
            drops_early: 0,
            filtered: 0,
            marks: 0,
            feedback: spec.feedback.as_ref().map(watched),
        }
    }

    /// Returns the number of waiting packets.
    #[inline(always)]
    pub fn packets(&self) -> u64 {
        match &self.queue {
            Queue::DropTail(line) => line.packets(),
            Queue::Discipline(discipline) => discipline.packets(),
        }
    }

    /// Returns the bytes of waiting packets.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        match &self.queue {
            Queue::DropTail(line) => line.bytes(),
            Queue::Discipline(discipline) => discipline.bytes(),
        }
    }

    /// Handles a change of the transmitter's rate.
    pub fn set_rate(&mut self, spec: &DirectionSpec, rate: Rate) {
        if let Queue::Discipline(discipline) = &mut self.queue {
            discipline.set_rate(spec.sustained_rate(rate));
        }
    }

    /// Handles a change of the waiting packets.
    #[inline(always)]
    pub fn observe(&mut self, now: Time) {
        let (packets, bytes) = (self.packets(), self.bytes());
        if let Some(occupancy) = &mut self.occupancy {
            occupancy.change(now, packets, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transmitter_is_half_a_cache_line() {
        assert_eq!(size_of::<Transmitter>(), 32);
    }
}
