//! One direction of a link: a transmitter with its queue, and the wire behind it.

use crate::measure::Occupancy;
use crate::parts::drop_tail::DropTail;
use crate::parts::feedback::Watched;
use crate::parts::packet::{NONE, Packets};
use crate::spec::{DirectionSpec, Framing, JitterChange};
use std::sync::Arc;
use thalweg_proto::random::Stream;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::delay::{TimeSpec, Variation, VariationSpec};
use thalweg_queue::feedback::{FeedbackSpec, Watch};
use thalweg_queue::{
    AckFilter, Aggregation, Any, CapacityClock, Discipline, EcnTreatment, FcfsConfig, Impairment, Limit,
    Onset,
};

const PICOS_PER_BYTE_AT_ONE_BIT: u64 = 8_000_000_000_000;

/// A direction that does nothing but queue, transmit and delay.
fn is_plain(spec: &DirectionSpec) -> bool {
    spec.impairment.is_transparent()
        && spec.jitter.is_zero()
        && spec.variation.is_none()
        && spec.capacity.is_none()
        && spec.schedule.is_empty()
        && spec.framing == Framing::None
        && spec.onset.is_none()
        && spec.aggregation.is_none()
        && spec.rhythm.is_none()
        && spec.ecn == EcnTreatment::Kept
        && spec.ack_filter == AckFilter::None
}

/// The time that a plain transmitter and its wire take: all that most packets meet there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speed {
    /// The picoseconds that the transmitter takes for a byte, where they are a whole number and never change, and where
    /// packets that find the line free may pass its queue unseen; 0 otherwise.
    pub picos_per_byte: u64,
    pub delay: Duration,
}

impl Speed {
    pub fn of(spec: &DirectionSpec) -> Self {
        let bits = spec.rate.as_bits_per_sec();
        let whole = bits > 0 && PICOS_PER_BYTE_AT_ONE_BIT.is_multiple_of(bits);
        let is_one = whole && is_plain(spec) && !spec.queue.sees_all() && spec.feedback.is_none();
        Self { picos_per_byte: if is_one { PICOS_PER_BYTE_AT_ONE_BIT / bits } else { 0 }, delay: spec.delay }
    }
}

/// The hot part of a direction: half a cache line. A simulation may have millions of them, most of which are plain access
/// links: what only others need is in their [`Station`].
#[derive(Debug)]
#[repr(align(32))]
pub(crate) struct Transmitter {
    /// The packet in service has left by then.
    pub busy_until: Time,
    /// The packets on the wire, in the order of their arrival.
    pub first: u32,
    pub last: u32,
    /// The packets that wait, where they do so in a mere line. Elsewhere the first is the number of the
    /// [`station`](Self::station).
    pub line_first: u32,
    pub line_last: u32,
    /// The position of its description.
    pub spec: u32,
    /// A service event is in the event queue.
    pub service_due: bool,
    /// Every change of its queue is recorded.
    pub watched: bool,
    /// The way in which packets wait for it.
    pub wait: Wait,
}

/// The ways in which packets wait for a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// In a queue.
    Queue,
    /// In a mere line: no limit, no discipline, no measurement, as for access links by default. A line is made of the
    /// packets themselves.
    Line,
    /// In a queue that a feedback policy watches: it sees every packet, also one that does not wait.
    Watched,
}

/// The place of a packet that comes to a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnWire {
    /// It arrives next.
    First,
    /// It arrives after others.
    Behind,
    /// It would arrive before the last that is there, as the wire became shorter: it is not on it.
    Ahead,
}

/// The things beside a transmitter that is not a plain one with a mere line: counts, and what is made when needed.
#[derive(Debug, Default)]
pub(crate) struct Station {
    pub packets: u64,
    pub bytes: u64,
    pub queue: Option<Box<Waiting>>,
    pub extra: Option<Box<Extra>>,
}

/// The queue of a transmitter that was busy at least once when a packet came.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub queue: Queue,
    /// Kept for the links of the specification, not for access links.
    pub occupancy: Option<Box<Occupancy>>,
    pub drops_full: u64,
    pub drops_early: u64,
    pub filtered: u64,
    pub marks: u64,
    pub feedback: Option<Box<Watched>>,
}

/// The things that decide which packets wait, and in which order.
#[derive(Debug)]
pub(crate) enum Queue {
    DropTail(DropTail),
    Discipline(Any),
}

/// The parts that only some directions have.
#[derive(Debug)]
pub(crate) struct Extra {
    pub rate: Rate,
    pub delay: Duration,
    /// Picoseconds in service.
    pub busy: u64,
    pub impairment: Impairment,
    pub jitter: Option<Jitter>,
    pub variation: Option<Box<Varying>>,
    /// The queue's limit, where it is not that of the specification any more.
    pub limit: Option<Limit>,
    pub capacity: Option<CapacityClock>,
    pub onset: Option<Onset>,
    pub aggregation: Option<Aggregation>,
    pub ecn: EcnTreatment,
    pub losses: u64,
    pub corrupted: u64,
    pub duplicated: u64,
}

/// The random delays of a wire of some distribution, as they are now.
#[derive(Debug)]
pub(crate) struct Varying {
    pub spec: Arc<VariationSpec>,
    pub state: Variation,
}

/// Random delays of a wire that keeps the order.
#[derive(Debug)]
pub(crate) struct Jitter {
    span: Duration,
    stream: Stream,
    /// The time at which the packet before arrives.
    last: Time,
}

impl Varying {
    fn new(spec: &Arc<VariationSpec>, stream: Stream) -> Self {
        Self { spec: Arc::clone(spec), state: Variation::new(stream) }
    }
}

impl Extra {
    /// Goes over to other random delays. Streams that were drawn from go on; `stream` makes those that are drawn from for the first time.
    pub fn set_jitter(&mut self, change: &JitterChange, stream: impl Fn(&'static str) -> Stream) {
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
            // A distribution of nothing, so that one that comes back draws on from the stream.
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
    /// The time at which a packet arrives that would do so at `arrives` without jitter.
    pub fn put_off(&mut self, arrives: Time) -> Time {
        // Where the wire has become shorter than the longest jitter, what was sent before may be passed nevertheless.
        let behind = self.last.min(arrives + self.span);
        self.last = behind.max(arrives + self.stream.uniform_duration(self.span));
        self.last
    }
}

impl Transmitter {
    /// An idle transmitter as `spec`, number `index`, describes, whose queue is `measured` or not. Where it needs a station
    /// it has number `station`.
    pub fn new(spec: &DirectionSpec, index: u32, measured: bool, station: u32) -> Self {
        let unlimited = spec.queue.limit() == Limit::Unlimited && spec.queue.config::<FcfsConfig>().is_some();
        let wait = if spec.feedback.is_some() {
            Wait::Watched
        } else if !measured && unlimited && is_plain(spec) {
            Wait::Line
        } else {
            Wait::Queue
        };
        Self {
            busy_until: Time::ZERO,
            first: NONE,
            last: NONE,
            line_first: if wait == Wait::Line { NONE } else { station },
            line_last: NONE,
            spec: index,
            service_due: false,
            watched: false,
            wait,
        }
    }

    /// The entry that stands in for it where another part of the run has it: its wire may still lead there.
    pub fn stand_in(&self) -> Self {
        Self {
            busy_until: Time::ZERO,
            first: NONE,
            last: NONE,
            line_first: NONE,
            line_last: NONE,
            spec: self.spec,
            service_due: false,
            watched: false,
            wait: Wait::Line,
        }
    }

    /// The number of its station, if it has one.
    #[inline]
    pub fn station(&self) -> Option<usize> {
        (self.wait != Wait::Line).then_some(self.line_first as usize)
    }

    /// A packet of `size` bytes enters service at `now`: when it is at the far end.
    #[inline]
    pub fn serve(&mut self, now: Time, size: u32, speed: Speed) -> Time {
        self.busy_until = now + Duration::from_picos(speed.picos_per_byte * u64::from(size));
        self.busy_until + speed.delay
    }

    /// A packet joins the wire, at whose far end it is at `arrives`: its place there.
    #[inline(always)]
    pub fn put_on_wire(&mut self, packets: &mut Packets, packet: u32, arrives: Time) -> OnWire {
        let header = packets.get_mut(packet);
        header.arrives_at = arrives;
        header.next = NONE;
        let mut place = OnWire::First;
        if self.first == NONE {
            self.first = packet;
        } else {
            let last = packets.get_mut(self.last);
            if arrives < last.arrives_at {
                return OnWire::Ahead;
            }
            last.next = packet;
            place = OnWire::Behind;
        }
        self.last = packet;
        place
    }

    /// The same for one without a [`Speed`].
    pub fn serve_in_general(
        &mut self,
        now: Time,
        size: u32,
        spec: &DirectionSpec,
        extra: Option<&mut Extra>,
    ) -> Time {
        let (leaves, delay) = service(now, self.busy_until, size, spec, extra);
        self.busy_until = leaves;
        leaves + delay
    }
}

/// The time at which a packet has left that is served after nothing since `idle`, and the time for which it then is on its way.
fn service(
    now: Time,
    idle: Time,
    size: u32,
    spec: &DirectionSpec,
    extra: Option<&mut Extra>,
) -> (Time, Duration) {
    let on_wire = spec.framing.on_wire(size);
    let at_rate = |begins: Time, rate: Rate| {
        let endless = rate == Rate::MAX;
        begins + if endless { Duration::ZERO } else { rate.transmission_time(Bytes::new(on_wire)) }
    };
    let Some(extra) = extra else { return (at_rate(now, spec.rate), spec.delay) };
    let begins = extra.onset.as_mut().map_or(now, |onset| onset.begin(now, idle, on_wire));
    let leaves = match &mut extra.capacity {
        Some(clock) => clock.departure(begins, u32::try_from(on_wire).unwrap_or(u32::MAX)),
        None => at_rate(begins, extra.rate),
    };
    extra.busy += leaves.since(now).as_picos();
    (leaves, extra.delay)
}

impl Station {
    /// That of an idle transmitter; `stream` makes random streams by purpose.
    pub fn new(spec: &DirectionSpec, stream: impl Fn(&'static str) -> Stream) -> Self {
        let extra = (!is_plain(spec)).then(|| {
            Box::new(Extra {
                rate: spec.rate,
                delay: spec.delay,
                busy: 0,
                jitter: (!spec.jitter.is_zero()).then(|| Jitter {
                    span: spec.jitter,
                    stream: stream("jitter"),
                    last: Time::ZERO,
                }),
                variation: spec.variation.as_ref().map(|of| Box::new(Varying::new(of, stream("variation")))),
                limit: None,
                impairment: Impairment::new(&spec.impairment, stream),
                // A trace that makes no sense was refused when the specification was checked.
                capacity: spec.capacity.as_ref().and_then(|trace| CapacityClock::new(Arc::clone(trace)).ok()),
                onset: (!spec.onset.is_none()).then(|| Onset::new(&spec.onset)),
                aggregation: spec.aggregation.map(Aggregation::new),
                ecn: spec.ecn,
                losses: 0,
                corrupted: 0,
                duplicated: 0,
            })
        });
        Self { extra, ..Self::default() }
    }

    /// Counts a packet of `size` bytes that leaves.
    #[inline]
    pub fn count(&mut self, size: u32) {
        self.packets += 1;
        self.bytes += u64::from(size);
    }

    /// True if the wire may do something to packets.
    pub fn may_impair(&self) -> bool {
        self.extra.as_ref().is_some_and(|extra| {
            !extra.impairment.is_transparent()
                || extra.jitter.is_some()
                || extra.variation.is_some()
                || extra.aggregation.is_some()
                || extra.ecn != EcnTreatment::Kept
        })
    }

    /// The transmitter's rate now; zero in an outage.
    pub fn rate(&self, spec: &DirectionSpec) -> Rate {
        self.extra.as_ref().map_or(spec.rate, |extra| extra.rate)
    }

    /// Time in service since counting began, up to `now`; `before` is what was in service then still took.
    pub fn busy(&self, before: Duration, now: Time, busy_until: Time, spec: &DirectionSpec) -> Duration {
        let busy = match &self.extra {
            Some(extra) => Duration::from_picos(extra.busy),
            None if spec.rate == Rate::MAX || self.bytes == 0 => Duration::ZERO,
            None => spec.rate.transmission_time(Bytes::new(self.bytes)),
        };
        // What is in service was counted to its end.
        if busy_until == Time::MAX { before + busy } else { before + busy - busy_until.since(now) }
    }

    /// The queue, made if there was none.
    #[inline]
    pub fn waiting(
        &mut self,
        spec: &DirectionSpec,
        measured: bool,
        stream: impl FnMut(&'static str) -> Stream,
    ) -> &mut Waiting {
        let extra = &self.extra;
        self.queue.get_or_insert_with(|| {
            let rate = extra.as_ref().map_or(spec.rate, |extra| extra.rate);
            let limit = extra.as_ref().and_then(|extra| extra.limit);
            Box::new(Waiting::new(spec, (rate, limit), measured, stream))
        })
    }
}

impl Waiting {
    // Once for each queue: out of the way of the packets that find it there.
    #[cold]
    #[inline(never)]
    fn new(
        spec: &DirectionSpec,
        (rate, limit): (Rate, Option<Limit>),
        measured: bool,
        stream: impl FnMut(&'static str) -> Stream,
    ) -> Self {
        let limit = limit.unwrap_or_else(|| spec.queue.limit());
        // What takes packets out of the middle of a queue has to find them there.
        let is_drop_tail = spec.queue.config::<FcfsConfig>().is_some() && spec.ack_filter == AckFilter::None;
        let queue = if is_drop_tail {
            Queue::DropTail(DropTail::new(limit))
        } else {
            let mut of_limit = spec.queue.clone();
            of_limit.set_limit(limit);
            let mut discipline = Any::new(&of_limit, stream);
            discipline.set_rate(rate);
            Queue::Discipline(discipline)
        };
        let watch = |watch: &FeedbackSpec| Watch::new(&watch.policy, spec.queue.limit());
        let watched = |spec| Box::new(Watched { watch: watch(spec), messages: 0, bytes: 0, next: 0 });
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

    /// The packets that wait.
    #[inline(always)]
    pub fn packets(&self) -> u64 {
        match &self.queue {
            Queue::DropTail(line) => line.packets(),
            Queue::Discipline(discipline) => discipline.packets(),
        }
    }

    /// Their bytes.
    #[inline(always)]
    pub fn bytes(&self) -> u64 {
        match &self.queue {
            Queue::DropTail(line) => line.bytes(),
            Queue::Discipline(discipline) => discipline.bytes(),
        }
    }

    /// The transmitter's rate has changed.
    pub fn set_rate(&mut self, rate: Rate) {
        if let Queue::Discipline(discipline) = &mut self.queue {
            discipline.set_rate(rate);
        }
    }

    /// The packets that wait are others now.
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
