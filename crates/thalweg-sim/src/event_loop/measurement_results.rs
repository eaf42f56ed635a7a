//! Resets and results of measurements.

use super::EventLoop;
use crate::components::connection_endpoint::Counts;

use crate::components::completion_times::CompletionTimes;
use crate::components::flow_state::Group;
use crate::components::packet_pool::PacketPool;
use crate::components::reading_application::Reader;
use crate::components::sstp_segment_delays::mean_duration;
use crate::components::workload_state::Workload;
use crate::event_queue::Wheel;
use crate::fairness_measures::fairness_variance;
use crate::measure::Histogram;
use crate::packet_tracing::Tracing;
use crate::run_result::{
    Curves, FlowResult, GroupResult, LinkResult, MediaResult, QueueResult, RunResult, SegmentDelay, Summary,
    TwoLevelCounts, jain_of,
};
use crate::simulation_spec::Ties;
use thalweg_proto::endpoint::Notice;
use thalweg_proto::transport::ReceiverCounts;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

impl<T: Tracing> EventLoop<T> {
    /// Ends the warm-up: resets all counts.
    pub(crate) fn on_warm(&mut self) {
        self.measurements.tally.begin_counting();
        if self.boundary.as_ref().is_none_or(|boundary| boundary.part == 0) {
            self.tracing.on_warmup_end(self.wheel.order_now());
        }
        self.count_shared();
        let now = self.now;
        for (number, transmitter) in (0..).zip(&self.network.transmitters) {
            let Some(port_state) = transmitter.port_state() else { continue };
            let port_state = &mut self.network.port_states[port_state];
            if transmitter.busy_until > now && transmitter.busy_until < Time::MAX {
                self.network
                    .in_service
                    .insert(number, port_state.remaining_service_time(now, transmitter.busy_until));
            }
            (port_state.packets, port_state.bytes) = (0, 0);
            if let Some(waiting) = &mut port_state.queue {
                if let Some(occupancy) = &mut waiting.occupancy {
                    occupancy.restart(now);
                }
                (waiting.drops_full, waiting.drops_early, waiting.marks) = (0, 0, 0);
                waiting.filtered = 0;
                if let Some(feedback) = &mut waiting.feedback {
                    (feedback.messages, feedback.bytes) = (0, 0);
                }
            }
            if let Some(extra) = &mut port_state.extra {
                (extra.losses, extra.corrupted, extra.duplicated, extra.busy) = (0, 0, 0, 0);
                extra.shaped = 0;
            }
        }
        self.measurements.segments.restart();
        for flow in 0..self.traffic.flows.len() {
            if self.is_external(flow as u32) {
                continue;
            }
            self.reset_media(flow);
            let special = self.traffic.flows[flow].special.as_deref_mut();
            if let Some(closed_counts) = special.and_then(|special| special.closed_counts.as_deref_mut()) {
                closed_counts.longest_segment_delay = Duration::ZERO;
            }
            let (counts, two_level) = (self.counts(flow), self.two_level_counts_of_flow(flow));
            let flow = &mut self.traffic.flows[flow];
            if let Some(counts) = two_level {
                flow.special().two_level.get_or_insert_default()[1] = counts;
            }
            flow.special().counts_before = Some(Box::new((counts, flow.delivered)));
        }
        self.measurements.series.restart_links();
    }

    /// Resets the counts of a flow's frames.
    fn reset_media(&mut self, flow: usize) {
        if !self.traffic.transport_of(flow as u32).properties().needs().random {
            return;
        }
        // Only a flow's own connection carries frames.
        for id in
            self.traffic.flows[flow].initial_connections().flat_map(|number| [number * 2, number * 2 + 1])
        {
            if let Some(end) = self.connections.endpoint_mut(id).engine.end_mut() {
                end.notify(Notice::MediaCountersReset(self.now));
            }
        }
    }

    /// Returns the counts of both endpoints of a connection, over its lifetime.
    pub(crate) fn connection_counts(&self, connection: u32) -> Counts {
        let times = self.measurements.segments.times_of(self.connections.id(connection));
        Counts::from_engines(self.connections.engines(connection), times, self.now)
    }

    /// Drops the segment times of the closed connection at a position.
    pub(crate) fn forget_segments(&mut self, index: u32) {
        self.measurements.segments.forget(self.connections.id(index));
    }

    /// Returns the current and past connections of a flow; closed ones have no engines.
    fn connections_of(&self, flow: usize) -> impl Iterator<Item = u32> + '_ {
        self.connections.of_flow(&self.traffic.flows[flow], self.traffic.opening_flow_index(flow as u32))
    }

    /// Returns the counts of all of a flow's connections, open ones included, over the whole run.
    fn counts(&self, flow: usize) -> Counts {
        let closed_counts =
            self.traffic.flows[flow].special.as_deref().and_then(|special| special.closed_counts.as_deref());
        let mut counts = closed_counts.copied().unwrap_or_default();
        for connection in self.connections_of(flow) {
            counts.add(&self.connection_counts(connection));
        }
        counts
    }

    /// Returns the two-level flow control counts of both endpoints of a connection, if any.
    pub(crate) fn two_level_counts(&self, connection: u32) -> Option<TwoLevelCounts> {
        let flow = self.connections[connection].flow;
        // The counters of other families contain statistics of their senders, which take time.
        if !self.traffic.transport_of(flow).properties().has_segment_counts() {
            return None;
        }
        let [sender, receiver] =
            self.connections.engines(connection).map(|engine| engine.end().counters(self.now).segments);
        let (sender, receiver) = (sender?, receiver?);
        Some(TwoLevelCounts {
            incomplete: receiver.incomplete,
            holes: receiver.holes,
            refused: receiver.refused,
            evictions: receiver.evictions,
            sender_segments: sender.max_segments,
            sender_bytes: Bytes::new(sender.max_bytes),
            receiver_segments: receiver.max_segments,
            receiver_bytes: Bytes::new(receiver.max_bytes),
        })
    }

    /// Returns the two-level flow control counts of all connections of a flow, if any.
    fn two_level_counts_of_flow(&self, flow: usize) -> Option<TwoLevelCounts> {
        let closed_counts = self.traffic.flows[flow].two_level().map(|counts| counts[0]);
        let open = self.connections_of(flow).filter_map(|connection| self.two_level_counts(connection));
        closed_counts.into_iter().chain(open).reduce(|mut sum, counts| {
            sum.add(&counts);
            sum
        })
    }

    /// Ends the run, early if it has not reached its end, and returns its results.
    pub fn finish(mut self) -> (RunResult, T) {
        let end_time = self.now;
        let warmup = self.measurements.counting_begins();
        let counted = end_time.since(warmup);
        let conservation = self.measurements.tally.conservation(self.network.packets.live());
        self.connections.notify_senders_of_silence(self.network.packets.connections(), self.now);
        // Frees memory for the results, which are as large in a network of many flows.
        self.network.packets = PacketPool::new();
        self.wheel = Wheel::new(Ties::Hash);
        let unfinished = self.list_open_transfers();
        let mut visits = self.measurements.series.take_visits().peekable();
        let mut flows = Vec::with_capacity(self.traffic.flows.len());
        for flow in 0..self.traffic.flows.len() {
            let states = visits.next_if(|(of, _)| *of as usize == flow);
            let states = states.map_or_else(Vec::new, |(_, visits)| visits.finish());
            flows.push(FlowResult { states, ..self.flow_result(flow, counted) });
            let indices: Vec<u32> = self.connections_of(flow).collect();
            indices.into_iter().for_each(|index| self.connections.drop_engines(index));
        }
        let of_group = |(group, unfinished): (usize, &u64)| self.group_result(group, &flows, *unfinished);
        let groups = unfinished.iter().enumerate().map(of_group).collect();
        let mut completions = CompletionTimes::default();
        self.traffic.groups.iter().for_each(|group| completions.merge(&group.completions));
        let mut round_trips = Histogram::default();
        self.traffic.groups.iter().for_each(|group| round_trips.merge(&self.round_trips(group)));
        let (transfer_list, transfers_left_out) = core::mem::take(&mut self.measurements.transfers).finish();
        let links = self.link_results(counted);
        let series = self.measurements.series.take_series();
        let result = RunResult {
            seed: self.seed,
            warmup: self.measurements.warmup,
            end_time,
            is_complete: self.ending.is_over() && self.ending.error().is_none(),
            events: self.measurements.tally.events(),
            hops: self.network.hops,
            fingerprint: self.measurements.tally.fingerprint(),
            conservation,
            flows,
            links,
            groups,
            transfers: completions.result(unfinished.iter().sum()),
            round_trips: round_trips.summary(),
            curves: Curves { completion: completions.curve(), round_trip: round_trips.curve() },
            sizes: completions.by_size(),
            transfer_list,
            transfers_left_out,
            series,
        };
        (result, self.tracing)
    }

    fn flow_result(&self, number: usize, counted: Duration) -> FlowResult {
        let (flow, group) = self.traffic.flow_and_group(number as u32);
        let counts = self.counts(number);
        let (since, delivered) = match flow.before() {
            Some((before, delivered)) => (counts.since(before), flow.delivered - delivered),
            None => (counts, flow.delivered),
        };
        let delivered_wire = self.traffic.transport(group).accepted_wire_bytes(&since.receivers);
        let arrived_before = match flow.before() {
            Some(_) => more_than_arrived(delivered, flow.counts.arrived_data, &since.receivers),
            None => 0,
        };
        let warmup = self.measurements.counting_begins();
        let occurred = |at: Time| (at < Time::MAX).then_some(at);
        // What is sent as datagrams has no completion, unless the workload counts arrivals.
        let finished = occurred(flow.finished)
            .filter(|_| flow.stopped || self.traffic.transport(group).properties().is_reliable());
        let end = finished.unwrap_or(self.now);
        let per_time = |bytes| {
            if counted.is_zero() { Rate::ZERO } else { Rate::from_transfer(Bytes::new(bytes), counted) }
        };
        FlowResult {
            name: group.flow_name(number as u32),
            group: flow.group,
            start: flow.start,
            finished,
            failed: occurred(flow.failure_time()),
            counted_time: end.since(warmup.max(flow.start)),
            delivered: Bytes::new(delivered),
            delivered_wire: Bytes::new(delivered_wire),
            arrived_before: Bytes::new(arrived_before),
            delivered_total: Bytes::new(flow.delivered),
            goodput: per_time(delivered),
            throughput: per_time(delivered_wire),
            arrival_rate: per_time(flow.counts.arrived_bytes.get()),
            sent_packets: since.sent,
            retransmissions: since.retransmissions,
            timeouts: since.timeouts,
            counts: flow.counts,
            delay: flow.delay.as_ref().map_or(Summary::default(), |delay| delay.histogram.summary()),
            jitter: flow.delay.as_ref().and_then(|delay| delay.jitter()),
            round_trips: flow.round_trips.as_ref().map_or(Summary::default(), |of| of.summary()),
            ssthresh: counts.ssthresh,
            min_rtt: if counts.min_rtt == Duration::MAX { Duration::ZERO } else { counts.min_rtt },
            smoothed_rtt: counts.smoothed_rtt,
            segment_delay: SegmentDelay {
                count: since.segments,
                mean: mean_duration(since.segment_delays, since.segments),
                max: counts.longest_segment_delay,
            },
            two_level: self.two_level_counts_of_flow(number).map(|counts| {
                let before = flow.two_level().map(|counts| counts[1]);
                Box::new(counts.since(&before.unwrap_or_default()))
            }),
            media: self.media_result(number),
            unread_peak: flow.reader().map(Reader::unread_peak),
            limits: since.limits,
            states: Vec::new(),
        }
    }

    /// Returns the frame statistics of a media flow.
    fn media_result(&self, flow: usize) -> Option<Box<MediaResult>> {
        let ends = self.connections_of(flow).flat_map(|connection| self.connections.engines(connection));
        let counts =
            ends.filter_map(|engine| engine.end().counters(self.now).media).reduce(|mut sum, counts| {
                sum.add(&counts);
                sum
            })?;
        Some(Box::new(MediaResult {
            encoded: counts.encoded,
            rate: counts.encoded.rate(),
            shown: counts.shown,
            delay: counts.delay.summary(),
        }))
    }

    fn group_result(&self, number: usize, flows: &[FlowResult], unfinished: u64) -> GroupResult {
        let group = &self.traffic.groups[number];
        let first = group.first_flow as usize;
        let group_flows = &flows[first..first + group.flows as usize];
        let goodput: f64 = group_flows.iter().map(|flow| flow.goodput.as_f64()).sum();
        let kbits: Vec<f64> = group_flows.iter().map(|flow| flow.throughput.as_f64() / 1e3).collect();
        let round_trips = self.round_trips(group);
        let result = GroupResult {
            name: group.name.clone(),
            scheme: group.scheme.clone(),
            flows: group.flows,
            goodput: Rate::from_bits_per_sec(goodput as u64),
            jain: None,
            fairness_variance: fairness_variance(&kbits),
            has_many: matches!(
                self.traffic.flows[first].workload,
                Workload::Poisson(_) | Workload::List(_) | Workload::RequestResponse(_) | Workload::Rounds(_)
            ),
            transfers: group.completions.result(unfinished),
            sizes: group.completions.by_size(),
            rounds: group.rounds.took.summary(),
            round_list: group.rounds.list.clone(),
            delay: self.group_delay(group),
            round_trips: round_trips.summary(),
            curves: Curves { completion: group.completions.curve(), round_trip: round_trips.curve() },
        };
        let jain = jain_of(group_flows.iter().filter(|flow| result.wanted_more(flow)));
        GroupResult { jain, ..result }
    }

    fn group_delay(&self, group: &Group) -> Summary {
        let mut all = group.delay.clone();
        for flow in self.traffic.flows_of(group) {
            if let Some(delay) = &flow.delay {
                all.merge(&delay.histogram);
            }
        }
        all.summary()
    }

    fn round_trips(&self, group: &Group) -> Histogram {
        let mut all = group.round_trips.clone();
        let flows = self.traffic.flows_of(group).iter();
        flows.filter_map(|flow| flow.round_trips.as_deref()).for_each(|own| all.merge(own));
        all
    }

    fn link_results(&self, counted: Duration) -> Vec<LinkResult> {
        let core = self.network.names.links.len();
        let mut results: Vec<LinkResult> =
            (0..core as u32).filter_map(|link| self.link_result(link, counted)).collect();
        for group in &self.traffic.groups {
            for side in 0..2 {
                let starts = group.routes.iter().map(|routes| routes[side]);
                let hops = self
                    .network
                    .links_from(starts)
                    .into_iter()
                    .map(|hop| hop as usize)
                    .filter(|&hop| hop < core);
                // Equal links in a row are equally busy; packets queue at the first.
                let busiest = hops.max_by(|&a, &b| {
                    let (a, b) = (&results[a], &results[b]);
                    let busy = a.utilisation.total_cmp(&b.utilisation);
                    busy.then(a.queue.mean_bytes.total_cmp(&b.queue.mean_bytes))
                });
                if let Some(busiest) = busiest
                    && results[busiest].utilisation > MIN_BOTTLENECK_UTILISATION
                {
                    results[busiest].bottleneck = true;
                }
            }
        }
        results.extend(self.access_results(counted));
        results
    }

    /// Returns the results of access links with loss. Those with only little queueing would be noise.
    fn access_results(&self, counted: Duration) -> Vec<LinkResult> {
        let mut results = Vec::new();
        for group in &self.traffic.groups {
            for number in group.first_flow..group.first_flow + group.flows {
                let [there, back] = self.traffic.paths(number);
                let index = number - group.first_flow + 1;
                for (link, end, from, to) in [
                    (there.first, "source", "source", "network"),
                    (back.exit, "source", "network", "source"),
                    (there.exit, "sink", "network", "sink"),
                    (back.first, "sink", "sink", "network"),
                ] {
                    let Some(mut result) = self.link_result(link, counted) else { continue };
                    if result.drops_full + result.drops_early + result.losses + result.corrupted > 0 {
                        result.name = format!("{}.{index} access at {end}", group.name);
                        (result.from, result.to) = (from.to_owned(), to.to_owned());
                        results.push(result);
                    }
                }
            }
        }
        results
    }

    /// Returns the measurements of a transmitter. Plain access links, most links of a large network, are not measured.
    fn link_result(&self, number: u32, counted: Duration) -> Option<LinkResult> {
        let transmitter = self.network.transmitters.get(number as usize)?;
        let port_state = self.network.port_state(number)?;
        let (name, from, to) = self.network.names.links.get(number as usize).cloned().unwrap_or_default();
        let waiting = port_state.queue.as_deref();
        let feedback = waiting.and_then(|waiting| waiting.feedback.as_deref());
        let extra = port_state.extra.as_deref();
        let spec = self.network.direction(number);
        let before = self.network.in_service.get(&number).copied().unwrap_or_default();
        let busy = port_state.busy(before, self.now, transmitter.busy_until, spec).as_secs_f64();
        let utilisation = if counted.is_zero() { 0.0 } else { busy / counted.as_secs_f64() };
        // A shaper limits a link as its transmitter does, except in the burst from a full bucket.
        let tokens = spec.start_delay.shaper.map_or(0.0, |bucket| bucket.admitted_by_rate(counted));
        let shaped = extra.map_or(0, |extra| extra.shaped) as f64;
        let utilisation =
            if tokens > 0.0 { utilisation.max((shaped / tokens).min(1.0)) } else { utilisation };
        // The same for full batches.
        let places = spec.aggregation.and_then(|batches| batches.carried_in(counted)).unwrap_or(0.0);
        let placed = port_state.packets as f64;
        let utilisation =
            if places > 0.0 { utilisation.max((placed / places).min(1.0)) } else { utilisation };
        let (drops_full, drops_early) =
            waiting.map_or((0, 0), |waiting| (waiting.drops_full, waiting.drops_early));
        let policer = spec.queue.policer().map(|bucket| {
            let let_in = bucket.admitted_by_rate(counted);
            (bucket.rate, if let_in > 0.0 { (port_state.bytes as f64 / let_in).min(1.0) } else { 0.0 })
        });
        Some(LinkResult {
            name,
            from,
            to,
            rate: spec.sustained_rate(spec.rate),
            packets: port_state.packets,
            bytes: Bytes::new(port_state.bytes),
            utilisation,
            policer,
            queue: waiting
                .and_then(|waiting| waiting.occupancy.as_ref())
                .map_or(QueueResult::default(), |occupancy| occupancy.result(self.now, counted)),
            drops_full,
            drops_early,
            filtered: waiting.map_or(0, |waiting| waiting.filtered),
            marks: waiting.map_or(0, |waiting| waiting.marks),
            feedback: feedback.map_or(0, |watched| watched.messages),
            feedback_bytes: Bytes::new(feedback.map_or(0, |watched| watched.bytes)),
            losses: extra.map_or(0, |extra| extra.losses),
            corrupted: extra.map_or(0, |extra| extra.corrupted),
            duplicated: extra.map_or(0, |extra| extra.duplicated),
            bottleneck: drops_full + drops_early > 0
                || extra.is_some_and(|extra| extra.losses + extra.corrupted > 0),
        })
    }
}

/// Minimum utilisation of a bottleneck.
const MIN_BOTTLENECK_UTILISATION: f64 = 0.5;

/// Returns the part of `delivered` bytes that this many packets cannot have carried, given the mean payload of those
/// `taken`.
fn more_than_arrived(delivered: u64, packets: u64, taken: &ReceiverCounts) -> u64 {
    let brought = u128::from(packets) * u128::from(taken.payload) / u128::from(taken.packets.max(1));
    delivered.saturating_sub(u64::try_from(brought).unwrap_or(u64::MAX))
}
