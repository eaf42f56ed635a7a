//! Flows: applications, their connections, and what is counted of them.

use crate::measure::Histogram;
use crate::parts::endpoint::{Counts, Way};
use crate::parts::packet::NONE;
use crate::parts::reader::Reader;
use crate::parts::rounds::Rounds;
use crate::parts::transfer::Completions;
use crate::parts::workload::Workload;
use crate::result::{FlowCounts, TwoLevelCounts};
use std::sync::Arc;
use thalweg_proto::units::{Duration, Time};

/// Flows of a larger group have their delays counted together, as the counters of each would be most of its memory.
pub(crate) const MAX_FLOWS_WITH_DELAY: u32 = 1000;

/// "No connection".
pub(crate) const NO_CONNECTION: u32 = u32::MAX;

/// The role of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The flow's own, from source to sink.
    Main,
    /// The flow's way back.
    Reply,
    /// One of many transfers.
    Transfer,
}

/// A sender and a receiver: endpoints twice its number, and one more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Connection {
    pub flow: u32,
    pub role: Role,
    pub opened: Time,
    /// The time at which its receiver got data last.
    pub delivered_at: Time,
    /// The bytes that a transfer of its own has to carry; zero for others.
    pub size: u64,
}

impl Connection {
    /// One that has not been opened, or is another part's.
    pub const UNOPENED: Self =
        Self { flow: u32::MAX, role: Role::Main, opened: Time::ZERO, delivered_at: Time::ZERO, size: 0 };
}

/// Flows that are alike.
#[derive(Debug)]
pub(crate) struct Group {
    pub name: String,
    pub scheme: String,
    pub transport: u32,
    pub priority: u8,
    /// The gates of the nodes where its flows begin and end.
    pub gates: [u16; 2],
    /// The routes of packets from source to sink and back: of each pair of ends, and of all pairs again after each change of routes.
    pub routes: Arc<[[u32; 2]]>,
    /// The number of pairs of ends.
    pub pairs: u32,
    /// The number of changes of routes so far.
    pub epoch: u32,
    /// The route of control PDUs out of band.
    pub control: Option<u32>,
    /// The place among a flow's own lines at which those for the overhead of hosts begin.
    pub overhead: Option<u32>,
    /// Its flows have hosts of their own, on links of their own.
    pub has_access: bool,
    pub first_flow: u32,
    pub flows: u32,
    /// The place of its first flow among all that open connections as the run goes on, if its flows do.
    pub opening: Option<u32>,
    pub completions: Completions,
    /// The rounds of its flows, where they have such.
    pub rounds: Rounds,
    /// One-way delays, for a group of too many flows to keep them for each.
    pub delay: Histogram,
    /// Round-trip times that senders measured, for the same.
    pub round_trips: Histogram,
}

/// One-way delays of a flow's data packets.
#[derive(Debug)]
pub(crate) struct Delays {
    pub histogram: Histogram,
    /// From each packet to the next, for flows of which it is told.
    variation: Option<Variation>,
}

/// The differences of delays from one packet to the next.
#[derive(Debug, Default)]
struct Variation {
    /// The delay of the packet before.
    last: Option<Duration>,
    /// The sum of the differences, and how many they are.
    sum: u128,
    differences: u64,
}

impl Variation {
    fn record(&mut self, delay: Duration) {
        if let Some(last) = self.last.replace(delay) {
            self.sum += u128::from(last.as_picos().abs_diff(delay.as_picos()));
            self.differences += 1;
        }
    }
}

impl Delays {
    /// No delays yet, of a flow whose jitter is told or not.
    pub fn new(with_jitter: bool) -> Self {
        Self { histogram: Histogram::default(), variation: with_jitter.then(Variation::default) }
    }

    #[inline]
    pub fn record(&mut self, delay: Duration) {
        self.histogram.record(delay);
        if let Some(variation) = &mut self.variation {
            variation.record(delay);
        }
    }

    /// The mean difference between the delays of packets that arrived one after the other: |D(i-1, i)| of RFC 3550, section
    /// 6.4.1, over all packets alike. None with fewer than two, and for a flow whose jitter is not told.
    pub fn jitter(&self) -> Option<Duration> {
        let Variation { sum, differences, .. } = self.variation.as_ref()?;
        let mean = sum.checked_div(u128::from(*differences))?;
        Some(Duration::from_picos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }
}

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub group: u32,
    /// The first of its own transmitters: four for access, out of and into the source, then out of the network to the sink
    /// and back, and after these one or two for control PDUs out of band.
    pub links: u32,
    /// The hosts at its source and its sink.
    pub hosts: [u32; 2],
    pub start: Time,
    /// [`Time::MAX`] while it has not.
    pub finished: Time,
    pub stopped: bool,
    pub main: u32,
    pub reply: u32,
    pub workload: Workload,
    /// Delivered to the applications at both ends over the whole run.
    pub delivered: u64,
    pub counts: FlowCounts,
    /// One-way delays, where the group does not keep them.
    pub delay: Option<Box<Delays>>,
    /// Round-trip times that its senders measured, where the group does not keep them and there are any.
    pub round_trips: Option<Box<Histogram>>,
    pub special: Option<Box<Special>>,
}

/// The parts that few flows have.
#[derive(Debug)]
pub(crate) struct Special {
    /// [`Time::MAX`] while it has not.
    pub failed: Time,
    /// The application at the sink, where it reads at its own pace.
    pub reader: Option<Box<Reader>>,
    /// Of connections that have ended.
    pub ended: Option<Box<Counts>>,
    /// Of all when counting began, with what had been delivered.
    pub before: Option<Box<(Counts, u64)>>,
    /// The same of two-level flow control's own counts: of connections that have ended, and of all when counting began.
    pub two_level: Option<Box<[TwoLevelCounts; 2]>>,
}

impl Special {
    pub const NONE: Self =
        Self { failed: Time::MAX, reader: None, ended: None, before: None, two_level: None };
}

impl Flow {
    /// The parts that few have, to add to them.
    pub fn special(&mut self) -> &mut Special {
        self.special.get_or_insert_with(|| Box::new(Special::NONE))
    }

    /// The time at which it failed; [`Time::MAX`] while it has not.
    pub fn failed(&self) -> Time {
        self.special.as_ref().map_or(Time::MAX, |special| special.failed)
    }

    #[inline]
    pub fn reader(&self) -> Option<&Reader> {
        self.special.as_deref()?.reader.as_deref()
    }

    pub fn reader_mut(&mut self) -> Option<&mut Reader> {
        self.special.as_deref_mut()?.reader.as_deref_mut()
    }

    /// The counts of connections that have ended, to add to them.
    pub fn ended(&mut self) -> &mut Counts {
        self.special().ended.get_or_insert_default()
    }

    /// The counts of all connections when counting began, with what had been delivered.
    pub fn before(&self) -> Option<&(Counts, u64)> {
        self.special.as_deref()?.before.as_deref()
    }

    /// Two-level flow control's own counts: of connections that have ended, and of all when counting began.
    pub fn two_level(&self) -> Option<&[TwoLevelCounts; 2]> {
        self.special.as_deref()?.two_level.as_deref()
    }

    /// A flow that has no connection yet, sends whatever it is given, and measures no delays.
    pub fn idle(group: u32, links: u32, hosts: [u32; 2], start: Time) -> Self {
        Self {
            group,
            links,
            hosts,
            start,
            finished: Time::MAX,
            stopped: false,
            main: NO_CONNECTION,
            reply: NO_CONNECTION,
            workload: Workload::Bulk,
            delivered: 0,
            counts: FlowCounts::default(),
            delay: None,
            round_trips: None,
            special: None,
        }
    }

    /// The flow as it stands in for itself where another part of the run has it.
    pub fn stand_in(&self) -> Self {
        Self::idle(self.group, self.links, self.hosts, self.start)
    }

    /// Adds what was measured at the sink, where that was another part's.
    pub fn add_sink(&mut self, sink: Self) {
        self.delay = sink.delay;
        // Of the sender of a reply.
        if let Some(round_trips) = sink.round_trips {
            self.round_trips.get_or_insert_default().merge(&round_trips);
        }
        self.delivered = sink.delivered;
        self.counts.add(&sink.counts);
        let Some(of_sink) = sink.special else { return };
        if let Some(ended) = &of_sink.ended {
            self.ended().add(ended);
        }
        let before = self.special.as_deref_mut().and_then(|special| special.before.as_deref_mut());
        if let (Some(before), Some(of_sink)) = (before, of_sink.before) {
            before.0.add(&of_sink.0);
            before.1 = of_sink.1;
        }
    }

    /// The connections that the flow has from its start.
    pub fn own_connections(&self) -> impl Iterator<Item = u32> + use<> {
        [self.main, self.reply].into_iter().filter(|&number| number != NO_CONNECTION)
    }
}

impl Group {
    /// The same group when nothing has happened.
    pub fn fresh(&self) -> Self {
        Self {
            name: self.name.clone(),
            scheme: self.scheme.clone(),
            completions: Completions::default(),
            rounds: Rounds { left: self.rounds.left, think: self.rounds.think, ..Rounds::default() },
            delay: Histogram::default(),
            round_trips: Histogram::default(),
            routes: Arc::clone(&self.routes),
            ..*self
        }
    }

    /// The place of its flow of that number among all that open connections as the run goes on, if it does.
    #[inline]
    pub fn opener(&self, flow: u32) -> Option<usize> {
        self.opening.map(|first| (first + flow - self.first_flow) as usize)
    }

    /// Adds what a part of the run measured of the same group.
    pub fn add(&mut self, other: &Self) {
        self.completions.merge(&other.completions);
        self.completions.given_up += other.completions.given_up;
        self.rounds.add(&other.rounds);
        self.delay.merge(&other.delay);
        self.round_trips.merge(&other.round_trips);
    }

    /// The ways by which packets of its flow of that number leave the source, and the sink.
    pub fn ways(&self, flow: &Flow, number: u32) -> [Way; 2] {
        let link = |number: u32| if self.has_access { flow.links + number } else { NONE };
        let [source, sink] = flow.hosts;
        let pair = (number - self.first_flow) % self.pairs;
        let [forward, backward] = self.routes[(self.epoch * self.pairs + pair) as usize];
        [
            Way { first: link(0), route: forward, exit: link(2), host: source },
            Way { first: link(3), route: backward, exit: link(1), host: sink },
        ]
    }
}
