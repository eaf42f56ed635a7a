//! One direction of a link: a transmitter with its queue, and the wire behind it.

use crate::measure::Occupancy;
use crate::packet::NONE;
use crate::spec::DirectionSpec;
use std::sync::Arc;
use thalweg_proto::random::Stream;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::{Any, CapacityClock, DisciplineSpec, Impairment};

/// The hot part of a direction. A simulation may have millions of them, most of which never hold a queue: what only
/// busy ones need is made when they first need it.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// Picoseconds a byte, where that is a whole number; 0 asks `rate`.
    picos_per_byte: u64,
    pub rate: Rate,
    pub delay: Duration,
    /// The packet in service has left by then.
    pub busy_until: Time,
    /// The packets on the wire, in the order of their arrival.
    pub first: u32,
    pub last: u32,
    pub queue: Option<Box<Waiting>>,
    pub extra: Option<Box<Extra>>,
    pub packets: u64,
    pub bytes: u64,
    /// Picoseconds in service.
    pub busy: u64,
    /// Where its description is.
    pub spec: u32,
    /// A service event is in the event queue.
    pub service_due: bool,
}

/// The queue of a transmitter that was busy at least once when a packet came.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub discipline: Any,
    pub occupancy: Occupancy,
    pub drops_full: u64,
    pub drops_early: u64,
    pub marks: u64,
}

/// What only some directions have.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    pub impairment: Impairment,
    pub capacity: Option<CapacityClock>,
    pub losses: u64,
    pub corrupted: u64,
    pub duplicated: u64,
}

impl Transmitter {
    /// An idle transmitter as `spec`, number `index`, describes; `stream` makes random streams by purpose.
    pub fn new(spec: &DirectionSpec, index: u32, stream: impl Fn(&'static str) -> Stream) -> Self {
        let plain = spec.impairment.is_transparent() && spec.capacity.is_none() && spec.schedule.is_empty();
        let extra = (!plain).then(|| {
            Box::new(Extra {
                impairment: Impairment::new(&spec.impairment, stream),
                // A trace that makes no sense was refused when the specification was checked.
                capacity: spec.capacity.as_ref().and_then(|trace| CapacityClock::new(Arc::clone(trace)).ok()),
                ..Extra::default()
            })
        });
        let mut transmitter = Self {
            picos_per_byte: 0,
            rate: Rate::ZERO,
            delay: spec.delay,
            busy_until: Time::ZERO,
            first: NONE,
            last: NONE,
            queue: None,
            extra,
            packets: 0,
            bytes: 0,
            busy: 0,
            spec: index,
            service_due: false,
        };
        transmitter.set_rate(spec.rate);
        transmitter
    }

    pub fn set_rate(&mut self, rate: Rate) {
        const PICOS_PER_BYTE_AT_ONE_BIT: u64 = 8_000_000_000_000;
        self.rate = rate;
        let bits = rate.as_bits_per_sec();
        let whole = bits > 0 && PICOS_PER_BYTE_AT_ONE_BIT.is_multiple_of(bits);
        self.picos_per_byte = if whole { PICOS_PER_BYTE_AT_ONE_BIT / bits } else { 0 };
    }

    /// False in an outage.
    #[inline]
    pub fn can_send(&self) -> bool {
        !self.rate.is_zero()
    }

    /// When a packet of `size` bytes that enters service at `now` has left.
    #[inline]
    pub fn departure(&mut self, now: Time, size: u32) -> Time {
        if self.picos_per_byte != 0 && self.extra.is_none() {
            return now + Duration::from_picos(self.picos_per_byte * u64::from(size));
        }
        self.departure_in_general(now, size)
    }

    fn departure_in_general(&mut self, now: Time, size: u32) -> Time {
        if let Some(clock) = self.extra.as_mut().and_then(|extra| extra.capacity.as_mut()) {
            return clock.departure(now, size);
        }
        if self.rate == Rate::MAX {
            return now;
        }
        now + self.rate.transmission_time(Bytes::new(u64::from(size)))
    }

    /// The queue, made if there was none.
    #[inline]
    pub fn waiting(
        &mut self,
        discipline: &DisciplineSpec,
        stream: impl FnOnce(&'static str) -> Stream,
    ) -> &mut Waiting {
        self.queue.get_or_insert_with(|| {
            Box::new(Waiting {
                discipline: Any::new(discipline, stream),
                occupancy: Occupancy::default(),
                drops_full: 0,
                drops_early: 0,
                marks: 0,
            })
        })
    }
}
