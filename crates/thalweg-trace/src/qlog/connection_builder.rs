//! Builds connections from the events of a qlog file.

use super::Head;
use super::event_times::{Clock, MAX_SECONDS};
use super::logs_without_frames;
use super::qlog_events::{CRYPTO, Data, Event, Frames};
use crate::format_and_limits::{Format, Limits};
use crate::position_ranges::Ranges;
use crate::trace_model::{
    Ack, Connection, Direction, Limit, Metric, Packet, Point, Protocol, Sack, Timeout, Trace, View,
};
use serde_json::Value;
use std::collections::HashMap;
use thalweg_units::{Duration, Time};

/// Builder of a file's connections.
///
/// Times are indices of events until the trace is over, as its unit and format may follow its events.
pub(crate) struct Builder {
    limits: Limits,
    /// Packets and acknowledgements kept.
    kept_records: usize,
    finished_connections: Vec<FinishedConnection>,
    current: Open,
    /// Description that precedes its events.
    pending: Option<Head>,
    /// True for a log of this project: the description of a trace is its scheme.
    is_ours: bool,
    /// Events of connections beyond the limit.
    beyond: u64,
}

/// A finished connection, with its wall-clock time.
struct FinishedConnection {
    connection: Connection,
    /// Wall-clock time of the trace's [`Time::ZERO`], in seconds since 1970.
    epoch: Option<f64>,
}

/// A trace being read.
#[derive(Default)]
struct Open {
    /// Times as written, by event.
    times: Vec<f64>,
    groups: Vec<Group>,
    by_name: HashMap<String, usize>,
    /// Time of the event before, if that was a loss.
    loss: Option<f64>,
}

/// A connection being read.
#[derive(Default)]
struct Group {
    name: String,
    local: String,
    remote: String,
    scheme: String,
    /// Data of this end, and of the other one.
    ends: [End; 2],
    first: usize,
    last: usize,
}

/// Data of one end.
#[derive(Default)]
struct End {
    direction: Direction,
    spaces: [Space; 3],
    /// Position of the next packet.
    position: u64,
    /// Data seen, by stream.
    streams: HashMap<u64, Ranges>,
    /// Stream bytes that were sent for the first time.
    fresh: u64,
    /// Flow-control limit of the connection, in stream bytes.
    max_data: Option<u64>,
    /// Place among the numbers of 0-RTT and 1-RTT packets of the first one neither acknowledged nor lost.
    unacked: usize,
    /// Time of the frame that reported a full window, while it lasts.
    blocked: Option<Time>,
    largest_received: Option<u64>,
    pto_count: f64,
    /// Milliseconds of the unit of round-trip times.
    unit: Option<f64>,
    unmatched: u64,
}

/// Packet numbers of a space (RFC 9000, section 12.3).
#[derive(Default)]
struct Space {
    /// Numbers in ascending order, with the index of the packet.
    packets: Vec<(u64, u32)>,
    /// Forest for finding unacknowledged packets: one of them points to itself, others to a later one.
    next: Vec<u32>,
}

impl Open {
    /// Returns the group that the first received packet of another group continues: quinn's client changes the group at the first answer
    /// of the server. It is the only one that has sent, and has Initial packets alone.
    fn answered_direction(&self) -> Option<usize> {
        let waits = |group: &Group| {
            let later = group.ends.iter().flat_map(|end| &end.spaces[1..]);
            group.ends[0].direction.counts.packets > 0
                && later.map(|space| space.packets.len()).sum::<usize>() == 0
        };
        let recent = self.groups.len().saturating_sub(RECENT_GROUPS)..self.groups.len();
        let mut waiting = recent.filter(|group| waits(&self.groups[*group]));
        waiting.next().filter(|_| waiting.next().is_none())
    }
}

impl Builder {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            kept_records: 0,
            finished_connections: Vec::new(),
            current: Open::default(),
            pending: None,
            is_ours: false,
            beyond: 0,
        }
    }

    /// Returns the number of packets and acknowledgements kept.
    pub(crate) fn kept(&self) -> usize {
        self.kept_records
    }

    /// Returns true if there was no event of a packet or an estimate.
    pub(super) fn is_empty(&self) -> bool {
        self.finished_connections.is_empty() && self.current.groups.is_empty()
    }

    /// Notes the description of the file.
    pub(super) fn file(&mut self, description: &Value) {
        self.is_ours = description.as_str().is_some_and(|text| text.starts_with("thalweg,"));
    }

    /// Begins a trace; ends the one before.
    pub(super) fn begin_trace(&mut self) {
        let head = self.pending.take().unwrap_or_default();
        self.end_trace(&head);
    }

    /// Describes the current trace, or the one whose events follow.
    pub(crate) fn describe(&mut self, head: &Head) {
        if self.current.times.is_empty() {
            // The head of a sequence and the trace in it complement each other.
            match &mut self.pending {
                Some(pending) => pending.complete(head),
                None => self.pending = Some(head.clone()),
            }
        } else {
            self.end_trace(head);
        }
    }

    fn end_trace(&mut self, head: &Head) {
        let Open { times, groups, .. } = core::mem::take(&mut self.current);
        if groups.is_empty() {
            return;
        }
        let clock = Clock::new(head, &times);
        for group in groups {
            let connection = group.finish(head, &clock, self.is_ours);
            self.finished_connections.push(FinishedConnection { connection, epoch: clock.epoch });
        }
    }

    /// Adds an event.
    pub(crate) fn event(&mut self, event: &Event<'_>) -> Result<(), String> {
        if !event.time.is_finite() || event.time.abs() > MAX_TIME {
            return Err("it has no valid time".to_owned());
        }
        let index = self.current.times.len();
        self.current.times.push(event.time);
        let name = event.name.rsplit(':').next().unwrap_or_default();
        let Some(kind) = Kind::from_name(name) else { return Ok(()) };
        // This project's senders repeat data at the instant of its loss; messages have no offsets to compare.
        let loss = self.current.loss.take();
        let is_repeat = self.is_ours && loss == Some(event.time);
        self.current.loss = (kind == Kind::Lost).then_some(event.time);
        let connections = self.finished_connections.len() + self.current.groups.len();
        let open = &mut self.current;
        let group = match open.by_name.get(&*event.group) {
            Some(group) => *group,
            None if connections >= self.limits.connections => {
                self.beyond += 1;
                return Ok(());
            }
            None if kind == Kind::Received && open.answered_direction().is_some() => {
                let group = open.answered_direction().unwrap_or_default();
                open.by_name.insert(event.group.to_string(), group);
                group
            }
            None => {
                let group = Group { name: event.group.to_string(), first: index, ..Group::default() };
                open.groups.push(group);
                open.by_name.insert(event.group.to_string(), open.groups.len() - 1);
                open.groups.len() - 1
            }
        };
        let group = &mut open.groups[group];
        group.last = index;
        let is_full = self.kept_records >= self.limits.packets;
        self.kept_records +=
            group.event(kind, Time::from_picos(index as u64), &event.data, is_repeat, is_full);
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self, format: Format) -> Trace {
        let head = self.pending.take().unwrap_or_default();
        self.end_trace(&head);
        // One clock for all, if all are on the wall clock and not years apart.
        let epochs: Vec<f64> = self.finished_connections.iter().filter_map(|done| done.epoch).collect();
        let first = epochs.iter().copied().fold(f64::INFINITY, f64::min);
        let last = epochs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_common = epochs.len() == self.finished_connections.len() && last - first < MAX_SECONDS / 2.0;
        let mut notes = Vec::new();
        if self.beyond > 0 {
            notes.push(format!("{} events of further connections were skipped.", self.beyond));
        }
        let mut connections = Vec::with_capacity(self.finished_connections.len());
        for FinishedConnection { mut connection, epoch } in self.finished_connections {
            if let Some(epoch) = epoch.filter(|epoch| is_common && *epoch > first) {
                connection.shift(Duration::from_secs_f64(epoch - first));
            }
            connections.push(connection);
        }
        Trace { format, connections, epoch: is_common.then_some(first), notes, is_cut: false }
    }
}

/// Kind of an event that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sent,
    Received,
    Lost,
    Acked,
    Metrics,
    Timer,
    Parameters,
    Started,
}

impl Kind {
    /// Returns the kind of an event by its name, in any of the versions' spellings.
    fn from_name(name: &str) -> Option<Self> {
        const NAMES: [(&str, Kind); 20] = [
            ("packet_sent", Kind::Sent),
            ("packet_received", Kind::Received),
            ("packet_lost", Kind::Lost),
            ("packets_lost", Kind::Lost),
            ("packets_acked", Kind::Acked),
            ("metrics_updated", Kind::Metrics),
            ("metric_update", Kind::Metrics),
            ("metrics_update", Kind::Metrics),
            ("congestion_metric_update", Kind::Metrics),
            ("cc_metrics_updated", Kind::Metrics),
            ("bandwidth_est_update", Kind::Metrics),
            ("loss_timer_updated", Kind::Timer),
            ("loss_timer_expired", Kind::Timer),
            ("parameters_set", Kind::Parameters),
            ("parameters_restored", Kind::Parameters),
            ("recovery_parameters_set", Kind::Parameters),
            ("connection_started", Kind::Started),
            ("connection_new", Kind::Started),
            ("connection_attempted", Kind::Started),
            ("transport_parameters_update", Kind::Parameters),
        ];
        NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, kind)| *kind)
    }
}

/// Packet-number space of a packet type.
fn space_of(data: &Data<'_>) -> usize {
    let kind = if data.packet_type.is_empty() { &data.space } else { &data.packet_type };
    match kind.as_bytes().first().map(u8::to_ascii_lowercase) {
        Some(b'i') => 0,
        Some(b'h') => 1,
        _ => 2,
    }
}

impl Group {
    /// Processes an event; returns the number of records that were kept.
    fn event(&mut self, kind: Kind, time: Time, data: &Data<'_>, is_repeat: bool, is_full: bool) -> usize {
        let space = space_of(data);
        match kind {
            Kind::Sent | Kind::Received => {
                let sender = usize::from(kind == Kind::Received);
                let [own, other] = &mut self.ends;
                let (of, to) = if sender == 0 { (own, other) } else { (other, own) };
                let kept = of.packet(time, space, data, is_repeat, is_full);
                // Its frames control what the other end sends.
                let Frames { acked, is_ack, max_data, max_stream_data, .. } = &data.frames;
                to.allow(time, *max_data, *max_stream_data);
                kept + if *is_ack { to.ack(time, space, acked, is_full) } else { 0 }
            }
            Kind::Lost => {
                for number in data.number.iter().chain(&data.numbers) {
                    self.ends[0].record_loss(time, space, *number);
                }
                0
            }
            Kind::Acked => {
                let ranges: Vec<_> = data.numbers.iter().map(|number| (*number, *number)).collect();
                self.ends[0].ack(time, space, &ranges, is_full)
            }
            Kind::Metrics => self.ends[0].metrics(time, data, is_full),
            Kind::Timer => {
                let expired = data.timer_event.eq_ignore_ascii_case("expired");
                if expired && !data.timer.eq_ignore_ascii_case("ack") {
                    self.ends[0].timeout(time);
                }
                0
            }
            Kind::Parameters => {
                if let Some(limit) = data.initial_max_data.filter(|limit| (0.0..9e15).contains(limit)) {
                    let allowed = if data.owner.eq_ignore_ascii_case("local") { 1 } else { 0 };
                    self.ends[allowed].max_data = Some(limit as u64);
                }
                if !data.scheme.is_empty() {
                    self.scheme = data.scheme.to_string();
                }
                0
            }
            Kind::Started => {
                let name = |ip: &str, port: &str| match ip.contains(':') {
                    true => format!("[{ip}]:{port}"),
                    false => format!("{ip}:{port}"),
                };
                for (end, address) in [(&mut self.local, &data.local), (&mut self.remote, &data.remote)] {
                    if !address.ip.is_empty() {
                        *end = name(&address.ip, &address.port);
                    }
                }
                0
            }
        }
    }

    fn finish(self, head: &Head, clock: &Clock, is_ours: bool) -> Connection {
        let Self { name, local, remote, scheme, ends, first, last } = self;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let vantage = |key: &str| text(&head.vantage_point[key]).to_ascii_lowercase();
        let (mut role, flow) = (vantage("type"), vantage("flow"));
        let is_network = role == "network";
        if is_network {
            role = flow;
        }
        let is_server = role == "server";
        let unmatched: u64 = ends.iter().map(|end| end.unmatched).sum();
        let mut views = [View::Sender, View::Receiver];
        if is_network {
            views = [View::Between; 2];
        }
        let mut directions = ends.map(|end| end.direction);
        for ((direction, view), address) in directions.iter_mut().zip(views).zip([&local, &remote]) {
            direction.view = view;
            direction.resolve(clock);
            direction.from.clone_from(address);
        }
        let own = usize::from(is_server);
        for (direction, role) in directions.iter_mut().zip([own, 1 - own]) {
            let role = ["client", "server"][role];
            direction.from = match direction.from.as_str() {
                "" => role.to_owned(),
                address => format!("{role} {address}"),
            };
        }
        if is_server {
            directions.swap(0, 1);
        }
        let common = |key: &str| text(&head.common_fields[key]);
        let ids = [name, common("ODCID"), common("group_id"), common("dcid")];
        let id = ids.into_iter().find(|id| !id.is_empty()).unwrap_or_default();
        let title = text(&head.title);
        let known = [format!("{local} > {remote}"), title.clone(), id.clone()];
        let named = known.into_iter().find(|name| !name.is_empty() && name != " > ");
        let point = match (is_network, is_server) {
            (true, _) => Point::Between,
            (false, true) => Point::Server,
            (false, false) => Point::Client,
        };
        let program = text(&head.vantage_point["name"]);
        let version = text(&head.code_version);
        let writer = [if version.is_empty() { program } else { title.clone() }, version].join(" ");
        let description = text(&head.description);
        let scheme = match is_ours {
            true => Some(description),
            false => Some(scheme),
        };
        let mut notes = Vec::new();
        notes.extend(
            directions
                .iter()
                .any(|of| logs_without_frames::arrived_bytes(of).is_some())
                .then(|| logs_without_frames::NOTE.to_owned()),
        );
        if unmatched > 0 {
            notes.push(format!(
                "{unmatched} packet numbers in losses or acknowledgements fit no packet of the log."
            ));
        }
        if clock.jumps > 0 {
            notes.push(format!(
                "The clock goes back at {} events; they count as simultaneous with the one before.",
                clock.jumps
            ));
        }
        Connection {
            name: named.unwrap_or_else(|| "connection".to_owned()),
            id,
            protocol: Protocol::Quic,
            point,
            writer: Some(writer.trim().to_owned()).filter(|name| !name.is_empty()),
            scheme: scheme.filter(|name| !name.is_empty()),
            simulated_scheme: Some(common("thalweg_simulated_scheme"))
                .filter(|name| is_ours && !name.is_empty()),
            start: clock.time(Time::from_picos(first as u64)),
            end: clock.time(Time::from_picos(last as u64)),
            directions,
            notes,
        }
    }
}

impl End {
    /// Adds a packet; returns the number of records kept.
    fn packet(&mut self, time: Time, space: usize, data: &Data<'_>, is_repeat: bool, is_full: bool) -> usize {
        let Data { frames, has_frames, .. } = data;
        let whole = |number: Option<f64>| number.filter(|of| (0.0..1e9).contains(of)).map(|of| of as u32);
        let (mut length, mut again) = (frames.datagrams, 0u64);
        for &(stream, offset, bytes) in &frames.data {
            // Data of CRYPTO frames is numbered by space.
            let stream = if stream == CRYPTO { CRYPTO - space as u64 } else { stream };
            let mut new = 0;
            let end = offset.saturating_add(bytes);
            self.streams.entry(stream).or_default().insert(offset, end, |from, to| new += to - from);
            length = length.saturating_add(bytes);
            again = again.saturating_add((end - offset).saturating_sub(new));
            if stream <= CRYPTO - 3 {
                self.fresh = self.fresh.saturating_add(new);
            }
        }
        if !has_frames {
            length = u64::from(whole(data.payload).or(whole(data.size)).unwrap_or(0));
        }
        if is_repeat {
            again = length;
        }
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let size = whole(data.size).unwrap_or(length).max(length);
        if frames.is_blocked {
            self.blocked.get_or_insert(time);
        }
        let mut flags = 0;
        if again > 0 {
            flags |= Packet::RETRANSMISSION;
        }
        if data.is_ce {
            flags |= Packet::CE;
        }
        if let Some(number) = data.number.filter(|_| space == 2) {
            if self.largest_received.is_some_and(|largest| number < largest) {
                flags |= Packet::ARRIVED_LATE;
            }
            self.largest_received = self.largest_received.max(Some(number));
        }
        let counts = &mut self.direction.counts;
        counts.packets += 1;
        counts.bytes += u64::from(size);
        counts.payload += u64::from(length);
        counts.retransmitted_bytes += again;
        counts.retransmitted += u64::from(again > 0);
        counts.late += u64::from(flags & Packet::ARRIVED_LATE != 0);
        counts.ce += u64::from(data.is_ce);
        if !frames.elicits && *has_frames {
            return 0;
        }
        if is_full {
            counts.not_kept += 1;
            return 0;
        }
        let packet = Packet {
            time,
            position: self.position,
            size,
            length,
            acked_at: Time::MAX,
            lost_at: Time::MAX,
            flags,
        };
        let index = self.direction.packets.len() as u32;
        self.direction.packets.push(packet);
        self.position = self.position.saturating_add(u64::from(length));
        if let Some(number) = data.number {
            self.spaces[space].add(number, index);
        }
        1
    }

    /// Processes the other end's flow control.
    fn allow(&mut self, time: Time, max_data: Option<u64>, max_stream_data: bool) {
        if let Some(limit) = max_data {
            self.max_data = Some(self.max_data.unwrap_or(0).max(limit));
        }
        if (max_data.is_some() || max_stream_data)
            && let Some(from) = self.blocked.take()
        {
            self.direction.limits.push((from, time, Limit::Receiver));
        }
    }

    fn record_loss(&mut self, time: Time, space: usize, number: u64) {
        let space = &self.spaces[space];
        let found = space.packets.binary_search_by_key(&number, |packet| packet.0);
        let Ok(at) = found else {
            self.unmatched += 1;
            return;
        };
        let packet = &mut self.direction.packets[space.packets[at].1 as usize];
        if !packet.is_lost() {
            packet.lost_at = time;
            self.direction.counts.lost += 1;
        }
    }

    /// Processes an acknowledgement; returns the number of records kept.
    fn ack(&mut self, time: Time, space: usize, ranges: &[(u64, u64)], is_full: bool) -> usize {
        let Self { direction, spaces, .. } = self;
        direction.counts.acks += 1;
        let space = &mut spaces[space];
        let mut newest: Option<u32> = None;
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for &(first, last) in ranges {
            let end = space.packets.partition_point(|packet| packet.0 <= last);
            let mut at = space.find(space.packets.partition_point(|packet| packet.0 < first));
            while at < end {
                let index = space.packets[at].1;
                let packet = &mut direction.packets[index as usize];
                if !packet.is_acked() {
                    packet.acked_at = time;
                    newest = newest.max(Some(index));
                    match runs.last_mut().filter(|run| run.1 == packet.position) {
                        Some(run) => run.1 = packet.end(),
                        None => runs.push((packet.position, packet.end())),
                    }
                }
                space.next[at] = at as u32 + 1;
                at = space.find(at + 1);
            }
        }
        let Some(newest) = newest else { return 0 };
        let position = self.advance();
        let direction = &mut self.direction;
        // The duration is resolved from the packet's index.
        direction.round_trips.push((time, Duration::from_picos(u64::from(newest))));
        if is_full {
            return 0;
        }
        let edge = self.max_data.map(|limit| self.position.saturating_add(limit.saturating_sub(self.fresh)));
        direction.has_window |= edge.is_some();
        direction.acks.push(Ack { time, position, edge: edge.unwrap_or(u64::MAX) });
        let above = runs.iter().filter(|run| run.0 >= position && run.0 < run.1);
        let before = direction.sacks.len();
        direction.sacks.extend(above.map(|&(start, end)| Sack { time, start, end, is_duplicate: false }));
        1 + direction.sacks.len() - before
    }

    /// Returns the position before which all packets are acknowledged, lost, or too old to matter.
    fn advance(&mut self) -> u64 {
        let packets = &self.spaces[2].packets;
        let oldest = packets.len().saturating_sub(MAX_PENDING_AGE);
        while let Some(&(_, index)) = packets.get(self.unacked) {
            let packet = &self.direction.packets[index as usize];
            if !packet.is_acked() && !packet.is_lost() && self.unacked >= oldest {
                return packet.position;
            }
            self.unacked += 1;
        }
        self.position
    }

    fn metrics(&mut self, time: Time, data: &Data<'_>, is_full: bool) -> usize {
        let is_initial = logs_without_frames::is_in_seconds(data);
        let unit = *self.unit.get_or_insert(if is_initial { 1e3 } else { 1.0 });
        let trip = |value: Option<f64>| value.filter(|_| !is_initial).map(|value| value * unit);
        let values = [
            (Metric::Window, data.window),
            (Metric::Ssthresh, data.ssthresh),
            (Metric::InFlight, data.in_flight),
            (Metric::SmoothedRtt, trip(data.smoothed_rtt)),
            (Metric::MinRtt, trip(data.min_rtt)),
            (Metric::PacingRate, data.pacing_rate),
            (Metric::DeliveryRate, data.delivery_rate),
        ];
        if let Some(count) = data.pto_count {
            if count > self.pto_count {
                self.timeout(time);
            }
            self.pto_count = count;
        }
        let mut kept = 0;
        for (metric, value) in values {
            // Some writers have the largest integer for a threshold that is not set.
            let Some(value) = value.filter(|value| (0.0..MAX_VALUE).contains(value)) else { continue };
            let points = self.direction.metrics.entry(metric).or_default();
            if !is_full && points.last().is_none_or(|last| last.1 != value) {
                points.push((time, value));
                kept += 1;
            }
        }
        kept
    }

    fn timeout(&mut self, time: Time) {
        self.direction.timeouts.push(Timeout { time, silence: Duration::ZERO });
    }
}

impl Space {
    /// Adds a packet. Numbers that do not increase are left out: of a sender, they are invalid, and of a receiver they are
    /// packets that arrived late.
    fn add(&mut self, number: u64, index: u32) {
        if self.packets.last().is_none_or(|last| last.0 < number) {
            self.next.push(self.packets.len() as u32);
            self.packets.push((number, index));
        }
    }

    /// Returns the first unacknowledged packet at or after `at`.
    fn find(&mut self, mut at: usize) -> usize {
        while at < self.next.len() && self.next[at] as usize != at {
            // Path halving: the next search skips half of the way.
            let next = self.next[at] as usize;
            self.next[at] = self.next.get(next).copied().unwrap_or(next as u32);
            at = next;
        }
        at
    }
}

impl Direction {
    /// Converts indices of events to times.
    fn resolve(&mut self, clock: &Clock) {
        self.each_time(|time| *time = clock.time(*time));
        for (time, trip) in &mut self.round_trips {
            let sent = self.packets.get(trip.as_picos() as usize).map_or(*time, |packet| packet.time);
            *trip = time.since(sent);
        }
        if self.view == View::Receiver {
            self.round_trips.clear();
        }
        for metric in [Metric::SmoothedRtt, Metric::MinRtt] {
            let points = self.metrics.entry(metric).or_default();
            points.iter_mut().for_each(|point| point.1 *= clock.unit);
        }
        self.metrics.retain(|_, points| !points.is_empty());
        for timeout in &mut self.timeouts {
            let sent = self.packets.partition_point(|packet| packet.time < timeout.time);
            let acked = self.acks.partition_point(|ack| ack.time < timeout.time);
            let last = |time: Option<Time>| time.unwrap_or(Time::ZERO);
            let sent = last(sent.checked_sub(1).map(|at| self.packets[at].time));
            let acked = last(acked.checked_sub(1).map(|at| self.acks[at].time));
            timeout.silence = timeout.time.since(sent.max(acked));
        }
        let mut delivered = 0;
        for packet in &mut self.packets {
            if packet.is_acked() {
                delivered += u64::from(packet.length);
                if packet.is_lost() && packet.acked_at >= packet.lost_at {
                    packet.flags |= Packet::SPURIOUS;
                    self.counts.spurious += 1;
                }
            }
        }
        let unique = self.counts.payload.saturating_sub(self.counts.retransmitted_bytes);
        self.counts.delivered = match self.view {
            View::Sender => logs_without_frames::arrived_bytes(self).unwrap_or(delivered).min(unique),
            View::Receiver | View::Between => unique,
        };
    }
}

/// Number of later packets after which a packet without an outcome counts as having none.
const MAX_PENDING_AGE: usize = 65_536;
/// Maximum value of a time as written.
const MAX_TIME: f64 = 1e20;
/// Largest value of an estimate; larger ones mean "none".
const MAX_VALUE: f64 = 9e15;
/// Number of groups among which one that waits for an answer is looked for.
const RECENT_GROUPS: usize = 8;
