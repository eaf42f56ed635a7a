//! Transfers: how long they took, and how long they would have taken with the network to themselves.

use crate::delay::Each;
use crate::endpoint::{Engine, Way};
use crate::event_loop::EventLoop;
use crate::flow::{Connection, Flow, NO_CONNECTION, Role};
use crate::measure::{Histogram, Ratios};
use crate::network::EXIT;
use crate::packet::NONE;
use crate::result::{SizeClass, Transfer, Transfers};
use crate::tracing::Tracing;
use crate::workload::{Exchange, Workload};
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// The ends of size classes: a transfer of exactly so many bytes is in the next one.
pub(crate) const CLASS_ENDS: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Transfers of a run that are kept one by one; further ones are only counted.
const MOST_TRANSFERS: usize = 1 << 20;

/// The transfers of a group, or of all groups, that have ended since counting began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Completions {
    /// By size class, up to the largest that has any.
    classes: Vec<Class>,
    /// Transfers whose sender gave up.
    given_up: u64,
}

/// Those of one size class.
#[derive(Clone, Debug, Default)]
struct Class {
    completion: Histogram,
    slowdown: Ratios,
}

impl Class {
    fn merge(&mut self, other: &Self) {
        self.completion.merge(&other.completion);
        self.slowdown.merge(&other.slowdown);
    }

    fn result(&self, unfinished: u64) -> Transfers {
        Transfers { completion: self.completion.summary(), slowdown: self.slowdown.summary(), unfinished }
    }
}

impl Completions {
    fn record(&mut self, transfer: &Transfer, took: Duration) {
        let class = CLASS_ENDS.partition_point(|&end| end <= transfer.size.get());
        if self.classes.len() <= class {
            self.classes.resize_with(class + 1, Class::default);
        }
        self.classes[class].completion.record(took);
        if let Some(ideal) = transfer.ideal.filter(|ideal| !ideal.is_zero()) {
            self.classes[class].slowdown.record(took.as_secs_f64() / ideal.as_secs_f64());
        }
    }

    /// Adds those of another group.
    pub fn merge(&mut self, other: &Self) {
        if self.classes.len() < other.classes.len() {
            self.classes.resize_with(other.classes.len(), Class::default);
        }
        for (class, more) in self.classes.iter_mut().zip(&other.classes) {
            class.merge(more);
        }
    }

    /// Transfers whose sender gave up.
    pub const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// All together, beside `unfinished` others.
    pub fn result(&self, unfinished: u64) -> Transfers {
        let mut all = Class::default();
        self.classes.iter().for_each(|class| all.merge(class));
        all.result(unfinished)
    }

    /// Those of each size class that has any.
    pub fn by_size(&self) -> Vec<SizeClass> {
        let class = |(number, class): (usize, &Class)| {
            let from = number.checked_sub(1).map_or(0, |before| CLASS_ENDS[before]);
            SizeClass {
                from: Bytes::new(from),
                below: CLASS_ENDS.get(number).copied().map(Bytes::new),
                transfers: class.result(0),
            }
        };
        let classes = self.classes.iter().enumerate().map(class);
        classes.filter(|class| class.transfers.completion.count > 0).collect()
    }
}

/// The transfers of a run one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransferList {
    kept: Vec<Transfer>,
    /// The number of transfers that were not kept.
    left_out: u64,
}

impl TransferList {
    fn push(&mut self, transfer: Transfer) {
        if self.kept.len() < MOST_TRANSFERS {
            self.kept.push(transfer);
        } else {
            self.left_out += 1;
        }
    }

    /// The transfers, and how many there were beside them.
    pub fn finish(self) -> (Vec<Transfer>, u64) {
        (self.kept, self.left_out)
    }
}

impl<T: Tracing> EventLoop<T> {
    /// A flow's transfer over one connection has ended.
    pub(crate) fn complete(&mut self, flow: u32, size: u64, began: Time, ended: Time) {
        let ideal = self.ideal(flow, size, 0);
        self.book(Transfer { flow, size: Bytes::new(size), start: began, end: Some(ended), ideal });
    }

    /// An exchange of request and response has ended.
    pub(crate) fn complete_exchange(&mut self, flow: u32, exchange: Exchange) {
        let Exchange { began, request, response } = exchange;
        let ideal = self.ideal(flow, request, response);
        let size = Bytes::new(request + response);
        self.book(Transfer { flow, size, start: began, end: Some(self.now), ideal });
    }

    fn book(&mut self, transfer: Transfer) {
        let Some(end) = transfer.end.filter(|_| self.counting) else { return };
        let group = self.flows[transfer.flow as usize].group;
        self.groups[group as usize].completions.record(&transfer, end.since(transfer.start));
        self.transfers.push(transfer);
    }

    /// The sender of one of many transfers gave up: it stays unfinished.
    pub(crate) fn give_up(&mut self, connection: Connection) {
        let Connection { flow, size, opened, .. } = connection;
        let ideal = self.ideal(flow, size, 0);
        self.groups[self.flows[flow as usize].group as usize].completions.given_up += 1;
        self.transfers.push(Transfer { flow, size: Bytes::new(size), start: opened, end: None, ideal });
    }

    /// Adds to the list what was begun and has not ended; gives how many of these each group has.
    pub(crate) fn list_unfinished(&mut self) -> Vec<u64> {
        let mut unfinished: Vec<u64> = self.groups.iter().map(|group| group.completions.given_up()).collect();
        let mut open: Vec<Transfer> = Vec::new();
        for (number, flow) in (0..).zip(&self.flows) {
            let begun = |size: u64, start: Time, ideal| Transfer {
                flow: number,
                size: Bytes::new(size),
                start,
                end: None,
                ideal,
            };
            if let Some((size, start)) = open_exchange(flow) {
                open.push(begun(size, start, None));
            } else if let Some(size) = open_transfer(flow, self.now) {
                open.push(begun(size, flow.start, self.ideal(number, size, 0)));
            }
        }
        for (number, connection) in self.connections.iter().enumerate() {
            let Connection { flow, role, opened, size, .. } = *connection;
            let is_open = !matches!(self.endpoints[number * 2].engine, Engine::Vacant);
            if role == Role::Transfer && is_open {
                let ideal = self.ideal(flow, size, 0);
                open.push(Transfer { flow, size: Bytes::new(size), start: opened, end: None, ideal });
            }
        }
        for transfer in open {
            unfinished[self.flows[transfer.flow as usize].group as usize] += 1;
            self.transfers.push(transfer);
        }
        unfinished
    }

    /// The time that a transfer takes with the network to itself and a sender that never waits: from the start of the
    /// first packet's transmission at the source to the arrival of the last one at the sink, and for a response the
    /// same way back. None where a rate of the path is zero.
    fn ideal(&self, number: u32, there: u64, back: u64) -> Option<Duration> {
        let flow = &self.flows[number as usize];
        let group = &self.groups[flow.group as usize];
        let transport = &self.transports[group.transport as usize];
        let segment = transport.properties().segment();
        let ways = group.ways(flow);
        let mut total = Duration::ZERO;
        for (bytes, way, end) in [(there, ways[0], ways[1].host), (back, ways[1], ways[0].host)] {
            if bytes > 0 {
                let mut hops = Vec::new();
                self.stages(number, way, end, transport.data_packet(segment), &mut hops)?;
                let last = (bytes % u64::from(segment)) as u32;
                let mut last_hops = Vec::new();
                self.stages(number, way, end, transport.data_packet(last), &mut last_hops)?;
                total += one_way(bytes / u64::from(segment), last > 0, &hops, &last_hops);
            }
        }
        Some(total)
    }

    /// The random part of a line's delay that `flow` has for good: none where each packet draws.
    fn delay_of_flow(&self, link: u32, flow: u32) -> Duration {
        let variation = self.network.direction(link).variation.as_deref();
        let Some(spec) = variation.filter(|spec| spec.each == Each::Flow) else { return Duration::ZERO };
        let of_flow = &self.flows[flow as usize];
        let group = &self.groups[of_flow.group as usize];
        let side = link.saturating_sub(of_flow.links) / 2;
        let index = flow - group.first_flow;
        spec.distribution.draw(&mut self.network.names.flow_stream(link, side, &group.name, index))
    }

    /// The time that each stage of a way works on a packet of `size` bytes, and the delay from there to the next one:
    /// the source's host, each link, and the host at the `end`.
    fn stages(
        &self,
        flow: u32,
        way: Way,
        end: u32,
        size: u32,
        stages: &mut Vec<(Duration, Duration)>,
    ) -> Option<()> {
        let host = |number: u32| {
            let host = self.hosts.get(number as usize).filter(|_| number != NONE);
            host.map(|host| (host.cost(size), Duration::ZERO))
        };
        stages.extend(host(way.host));
        let links = [way.first].into_iter().chain(self.network.route(way.route));
        for link in links.map(|link| if link == EXIT { way.exit } else { link }).filter(|&link| link != NONE)
        {
            let spec = self.network.direction(link);
            let on_wire = Bytes::new(spec.framing.on_wire(size));
            let service = match spec.rate {
                Rate::ZERO => return None,
                Rate::MAX => Duration::ZERO,
                rate => rate.transmission_time(on_wire),
            };
            stages.push((service, spec.delay + self.delay_of_flow(link, flow)));
        }
        stages.extend(host(end));
        Some(())
    }
}

/// The time that packets take through stages that each work on one at a time: `full` ones that are alike, and one
/// behind them that is not. Of packets that are alike the last leaves the slowest stage last, and waits nowhere behind
/// it.
fn one_way(
    full: u64,
    has_last: bool,
    of_full: &[(Duration, Duration)],
    of_last: &[(Duration, Duration)],
) -> Duration {
    let (mut slowest, mut sum) = (Duration::ZERO, Duration::ZERO);
    let mut last_at = Duration::ZERO;
    for ((service, delay), (last_service, _)) in of_full.iter().zip(of_last) {
        slowest = slowest.max(*service);
        // When the last full packet has left the stage.
        let left = if full > 0 { sum + *service + slowest * (full - 1) } else { Duration::ZERO };
        last_at = last_at.max(left) + *last_service + *delay;
        sum += *service + *delay;
    }
    if has_last { last_at } else { sum + slowest * full.saturating_sub(1) }
}

/// The bytes and the begin of an exchange that has not ended.
fn open_exchange(flow: &Flow) -> Option<(u64, Time)> {
    match &flow.workload {
        Workload::RequestResponse(exchange) if flow.main != NO_CONNECTION && !flow.stopped => exchange.open(),
        _ => None,
    }
}

/// The bytes of a flow that ends, where it has begun and has not ended.
fn open_transfer(flow: &Flow, now: Time) -> Option<u64> {
    let is_open = flow.main != NO_CONNECTION
        && flow.start <= now
        && flow.finished == Time::MAX
        && (!flow.stopped || flow.failed < Time::MAX);
    match &flow.workload {
        Workload::Transfer(size) if is_open => Some(*size),
        Workload::Deliver(left) if is_open => Some(flow.delivered + *left),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(list: &[(u64, u64)]) -> Vec<(Duration, Duration)> {
        list.iter().map(|&(a, b)| (Duration::from_micros(a), Duration::from_micros(b))).collect()
    }

    /// Packet by packet: a stage begins with one when it has it and is done with the one before.
    fn by_hand(packets: &[&[(Duration, Duration)]]) -> Duration {
        let mut free = vec![Duration::ZERO; packets[0].len()];
        let mut at = Duration::ZERO;
        for packet in packets {
            at = Duration::ZERO;
            for (free, (service, delay)) in free.iter_mut().zip(*packet) {
                *free = at.max(*free) + *service;
                at = *free + *delay;
            }
        }
        at
    }

    #[test]
    fn the_ideal_time_is_that_of_packets_one_by_one() {
        let paths = [
            (stages(&[(12, 100)]), stages(&[(3, 100)])),
            (stages(&[(1, 5), (12, 100), (2, 7)]), stages(&[(1, 5), (4, 100), (1, 7)])),
            (stages(&[(12, 5), (3, 100), (8, 7), (8, 0)]), stages(&[(2, 5), (1, 100), (2, 7), (2, 0)])),
            (stages(&[(0, 50), (9, 0)]), stages(&[(0, 50), (9, 0)])),
        ];
        for (full, last) in &paths {
            for count in [0, 1, 2, 5, 40] {
                let mut packets = vec![full.as_slice(); count];
                if count > 0 {
                    assert_eq!(one_way(count as u64, false, full, last), by_hand(&packets), "{count}");
                }
                packets.push(last);
                assert_eq!(one_way(count as u64, true, full, last), by_hand(&packets), "{count} and a last");
            }
        }
    }
}
