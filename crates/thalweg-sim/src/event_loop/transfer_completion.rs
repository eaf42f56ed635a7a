//! Completion of transfers: notices, lists, and ideal completion times.

use super::EventLoop;
use crate::components::completion_times::{Hop, ideal_one_way_time};
use crate::components::connection_endpoint::EndpointPath;
use crate::components::flow_state::{Connection, Flow, NO_CONNECTION, Role};
use crate::components::forwarding_state::EXIT;
use crate::components::packet_pool::NONE;
use crate::components::workload_state::{Exchange, Workload};
use crate::event_kinds::EventKind;
use crate::packet_tracing::Tracing;
use crate::run_result::Transfer;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_queue::random_delay::DrawScope;

impl<T: Tracing> EventLoop<T> {
    /// Records the end of a flow's transfer over one connection.
    pub(crate) fn complete(&mut self, flow: u32, size: u64, start_time: Time, end_time: Time) {
        self.record_completion(flow, [size, 0], start_time, end_time);
    }

    /// Records the end of one of a flow's many transfers, as known to its sender.
    pub(crate) fn complete_transfer(&mut self, index: u32) {
        let Connection { flow, size, open_time, delivered_at, .. } = self.connections[index];
        if self.has_sink(flow) {
            return self.complete(flow, size, open_time, delivered_at);
        }
        if self.measurements.tally.is_counting() {
            let ideal = self.ideal(flow, size, 0);
            let transfer = Transfer { flow, size: Bytes::new(size), start: open_time, end: None, ideal };
            self.notify_sink(self.connections.id(index), transfer);
        }
    }

    /// Ends the flow of a connection, with results that need both endpoints. Counts and returns a listed
    /// transfer.
    pub(crate) fn end_near(&mut self, connection: u32, is_listed: bool) -> Option<Transfer> {
        let Connection { flow, open_time, delivered_at, .. } = self.connections[connection];
        let size = self.traffic.finish(flow, delivered_at).delivered;
        if is_listed { self.count_completion(flow, [size, 0], open_time, delivered_at) } else { None }
    }

    /// Records the end of an exchange of request and response.
    pub(crate) fn complete_exchange(&mut self, flow: u32, exchange: Exchange) {
        let Exchange { request_time, request, response } = exchange;
        self.record_completion(flow, [request, response], request_time, self.now);
    }

    /// Records the arrival of a flow's block; the last one of the round schedules the next round of the group.
    pub(crate) fn end_block(&mut self, flow: u32, size: u64, began: Time) {
        self.complete(flow, size, began, self.now);
        let (now, counting) = (self.now, self.measurements.tally.is_counting());
        let group = self.traffic.group_of_mut(flow);
        let Some(round) = group.rounds.arrive(began, now, group.flows) else { return };
        if counting {
            group.rounds.count(round);
        }
        let flows = group.first_flow..group.first_flow + group.flows;
        if let Some(at) = group.rounds.next(now) {
            for flow in flows {
                self.wheel.push(at, EventKind::Application.key(flow));
            }
        }
    }

    /// Records the end of a transfer of these many bytes to the sink and back.
    fn record_completion(&mut self, flow: u32, bytes: [u64; 2], start: Time, end: Time) {
        if self.measurements.tally.is_counting()
            && let Some(transfer) = self.count_completion(flow, bytes, start, end)
        {
            self.list(transfer);
        }
    }

    /// Counts the end of a transfer of these many bytes to the sink and back, as [`count_transfer`](Self::count_transfer) does.
    fn count_completion(&mut self, flow: u32, bytes: [u64; 2], start: Time, end: Time) -> Option<Transfer> {
        let [there, back] = bytes;
        let ideal = self.ideal(flow, there, back);
        let transfer = Transfer { flow, size: Bytes::new(there + back), start, end: None, ideal };
        self.count_transfer(transfer, end)
    }

    /// Ends a transfer, adds it to the statistics of its group and returns it; `None` if it ended during the warm-up, of which
    /// its sender may learn afterwards.
    pub(crate) fn count_transfer(&mut self, transfer: Transfer, end: Time) -> Option<Transfer> {
        if end < self.measurements.counting_begins() {
            return None;
        }
        let transfer = Transfer { end: Some(end), ..transfer };
        self.traffic.record_completion(&transfer, end.since(transfer.start));
        Some(transfer)
    }

    fn list(&mut self, transfer: Transfer) {
        if self.measurements.transfers.push(transfer) {
            self.keep_moment();
        }
    }

    /// Records that the sender of one of many transfers gave up: it stays unfinished.
    pub(crate) fn give_up(&mut self, connection: Connection) {
        let Connection { flow, size, open_time, .. } = connection;
        let ideal = self.ideal(flow, size, 0);
        self.traffic.group_of_mut(flow).completions.given_up += 1;
        self.list(Transfer { flow, size: Bytes::new(size), start: open_time, end: None, ideal });
    }

    /// Adds the transfers in progress at the end of the run to the list; returns the number of unfinished ones in each
    /// group. Those of which everything was delivered, while the acknowledgement was still on its way to the sender, are
    /// complete.
    pub(crate) fn list_open_transfers(&mut self) -> Vec<u64> {
        let mut delivered: Vec<Connection> = self
            .connections
            .open_transfers()
            .filter(|connection| connection.is_delivered())
            .copied()
            .collect();
        let mut open: Vec<Transfer> = Vec::new();
        for (number, flow) in (0..).zip(&self.traffic.flows) {
            let begun = |size: u64, start: Time, ideal| Transfer {
                flow: number,
                size: Bytes::new(size),
                start,
                end: None,
                ideal,
            };
            if let Some((size, start)) = open_exchange(flow) {
                open.push(begun(size, start, None));
            } else if let Some(size) =
                open_transfer(flow, self.now).filter(|_| self.traffic.is_reliable(number))
            {
                if flow.delivered >= size {
                    delivered.push(Connection { size: flow.delivered, ..self.connections[flow.main] });
                } else {
                    open.push(begun(size, flow.start, self.ideal(number, size, 0)));
                }
            }
        }
        let undelivered = self.connections.open_transfers().filter(|connection| !connection.is_delivered());
        for &Connection { flow, size, open_time, .. } in undelivered {
            let ideal = self.ideal(flow, size, 0);
            open.push(Transfer { flow, size: Bytes::new(size), start: open_time, end: None, ideal });
        }
        for Connection { flow, role, open_time, delivered_at, size, .. } in delivered {
            if role == Role::Main {
                self.traffic.finish(flow, delivered_at);
            }
            if let Some(transfer) = self.count_completion(flow, [size, 0], open_time, delivered_at) {
                self.measurements.transfers.push(transfer);
            }
        }
        let mut unfinished: Vec<u64> =
            self.traffic.groups.iter().map(|group| group.completions.given_up()).collect();
        for transfer in open {
            unfinished[self.traffic.flows[transfer.flow as usize].group as usize] += 1;
            self.measurements.transfers.push(transfer);
        }
        unfinished
    }

    /// Returns the ideal completion time, in an empty network with a sender that never waits: from the start of the
    /// first packet's transmission at the source to the arrival of the last packet at the sink, plus the same back for
    /// a response. Policers and shapers limit it after their bursts, full batches after the first. `None` if a rate of the path is zero.
    fn ideal(&self, number: u32, there: u64, back: u64) -> Option<Duration> {
        let (flow, group) = self.traffic.flow_and_group(number);
        let transport = self.traffic.transport(group);
        let segment = transport.properties().segment();
        let paths = group.paths(flow, number);
        let mut total = Duration::ZERO;
        for (bytes, path, end) in [(there, paths[0], paths[1].host), (back, paths[1], paths[0].host)] {
            if bytes > 0 {
                let mut hops = Vec::new();
                self.stages(number, path, end, transport.data_packet(segment), &mut hops)?;
                let last = (bytes % u64::from(segment)) as u32;
                let mut last_hops = Vec::new();
                self.stages(number, path, end, transport.data_packet(last), &mut last_hops)?;
                total += ideal_one_way_time(bytes / u64::from(segment), last > 0, &hops, &last_hops);
            }
        }
        Some(total)
    }

    /// Returns the constant random delay of `flow` on a link; zero if each packet draws.
    fn delay_of_flow(&self, link: u32, flow: u32) -> Duration {
        let variation = self.network.direction(link).variation.as_deref();
        let Some(spec) = variation.filter(|spec| spec.each == DrawScope::Flow) else { return Duration::ZERO };
        let (of_flow, group) = self.traffic.flow_and_group(flow);
        let side = link.saturating_sub(of_flow.links) / 2;
        let index = flow - group.first_flow;
        spec.distribution.draw(&mut self.network.names.flow_stream(link, side, &group.name, index))
    }

    /// Returns the stages of a path for a packet of `size` bytes: the source's host, each link, and the host at `end`.
    fn stages(
        &self,
        flow: u32,
        path: EndpointPath,
        end: u32,
        size: u32,
        stages: &mut Vec<Hop>,
    ) -> Option<()> {
        let host = |number: u32| {
            let host = self.hosts.get(number as usize).filter(|_| number != NONE);
            host.map(|host| Hop { service: host.cost(size), delay: Duration::ZERO, buckets: [None; 3] })
        };
        stages.extend(host(path.host));
        let links = [path.first].into_iter().chain(self.network.route(path.route));
        for link in links.map(|link| if link == EXIT { path.exit } else { link }).filter(|&link| link != NONE)
        {
            let spec = self.network.direction(link);
            let on_wire = Bytes::new(spec.framing.on_wire(size));
            let service = match spec.rate {
                Rate::ZERO => return None,
                Rate::MAX => Duration::ZERO,
                rate => rate.transmission_time(on_wire),
            };
            // A policer counts packet bytes, a shaper bytes on the wire.
            let policer = spec.queue.policer().map(|bucket| (bucket, u64::from(size)));
            let shaper = spec.start_delay.shaper.map(|bucket| (bucket, on_wire.get()));
            let batches = spec.aggregation.and_then(|batches| batches.as_token_bucket());
            let delay = spec.delay + self.delay_of_flow(link, flow);
            stages.push(Hop { service, delay, buckets: [policer, shaper, batches] });
        }
        stages.extend(host(end));
        Some(())
    }
}

/// Returns true for a flow whose transfer in progress counts as unfinished: one that the scenario has not stopped, or
/// whose sender gave up.
fn has_open_transfer(flow: &Flow) -> bool {
    flow.main != NO_CONNECTION && (!flow.stopped || flow.failure_time() < Time::MAX)
}

/// Returns the size and start of an unfinished exchange or block.
fn open_exchange(flow: &Flow) -> Option<(u64, Time)> {
    match &flow.workload {
        Workload::RequestResponse(exchange) if has_open_transfer(flow) => exchange.open(),
        Workload::Rounds(block) if has_open_transfer(flow) => block.open(),
        _ => None,
    }
}

/// Returns the size of a started, unfinished finite flow.
fn open_transfer(flow: &Flow, now: Time) -> Option<u64> {
    let is_open = has_open_transfer(flow) && flow.start <= now && flow.finished == Time::MAX;
    match &flow.workload {
        Workload::Transfer(size) if is_open => Some(*size),
        Workload::Deliver(left) if is_open => Some(flow.delivered + *left),
        _ => None,
    }
}
