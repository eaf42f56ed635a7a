//! The series of a run: recorded at intervals, or at every change, of some of its flows and links.

use crate::components::connection_endpoint::Endpoint;
use crate::components::flow_state::{Flow, NO_CONNECTION};
use crate::components::forwarding_state::Network;
use crate::measure::{Recorder, Visits};
use crate::run_result::{Quantity, Series};
use crate::simulation_spec::MeasureSpec;
use thalweg_proto::transport::SenderStats;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};

/// Maximum number of core directions with series; more have totals only.
pub(crate) const MAX_WATCHED_LINKS: usize = 64;
/// Quantities recorded for a watched flow, in order.
const FLOW_SERIES: [Quantity; 7] = [
    Quantity::Window,
    Quantity::InFlight,
    Quantity::Rtt,
    Quantity::PacingRate,
    Quantity::Goodput,
    Quantity::Unread,
    Quantity::Ssthresh,
];
/// Quantities recorded for a watched direction, in order.
const LINK_SERIES: [Quantity; 6] = [
    Quantity::QueuePackets,
    Quantity::QueueBytes,
    Quantity::Drops,
    Quantity::Marks,
    Quantity::LinkRate,
    Quantity::Feedback,
];

/// A flow with series: its recorders are the [`FLOW_SERIES`] from `recorders` on.
#[derive(Clone, Debug)]
struct WatchedFlow {
    flow: u32,
    recorders: usize,
    /// Bytes delivered at the last sample.
    delivered: u64,
    /// The states of its congestion controller.
    visits: Visits,
}

/// A direction with series: its recorders are the [`LINK_SERIES`] from `recorders` on.
#[derive(Clone, Debug)]
struct WatchedLink {
    link: u32,
    recorders: usize,
    /// Bytes transmitted until the last sample.
    bytes: u64,
}

/// Recorders of all series, with the flows and links that they belong to.
#[derive(Clone, Debug)]
pub(crate) struct SeriesRecorders {
    measure: MeasureSpec,
    recorders: Vec<Recorder>,
    /// In order of their numbers.
    flows: Vec<WatchedFlow>,
    /// The first links, in order.
    links: Vec<WatchedLink>,
}

impl SeriesRecorders {
    /// Creates recorders without flows and links.
    pub fn new(measure: MeasureSpec) -> Self {
        Self { measure, recorders: Vec::new(), flows: Vec::new(), links: Vec::new() }
    }

    /// Returns the sampling interval; `None` without series.
    pub const fn interval(&self) -> Option<Duration> {
        self.measure.interval
    }

    /// Returns true if every change is recorded. Rates need an interval and are sampled nevertheless.
    pub const fn every_event(&self) -> bool {
        self.measure.every_event
    }

    /// Returns the number of further flows that may have series.
    pub fn vacant(&self) -> usize {
        if self.measure.interval.is_none() {
            0
        } else {
            (self.measure.flows as usize).saturating_sub(self.flows.len())
        }
    }

    /// Adds a flow, with a higher number than those before.
    pub fn watch_flow(&mut self, flow: u32) {
        let recorders = self.recorders.len();
        self.flows.push(WatchedFlow { flow, recorders, delivered: 0, visits: Visits::default() });
        self.recorders.extend(FLOW_SERIES.map(|quantity| Recorder::new(quantity, flow, self.measure.points)));
    }

    /// Adds the next link.
    pub fn watch_link(&mut self, link: u32) {
        self.links.push(WatchedLink { link, recorders: self.recorders.len(), bytes: 0 });
        self.recorders.extend(LINK_SERIES.map(|quantity| Recorder::new(quantity, link, self.measure.points)));
    }

    /// Returns true for a flow with a record of every change.
    pub fn has_changes_of(&self, flow: u32) -> bool {
        self.measure.every_event && self.position(flow).is_some()
    }

    fn position(&self, flow: u32) -> Option<usize> {
        self.flows.binary_search_by_key(&flow, |watched| watched.flow).ok()
    }

    /// Samples every series, for an interval that ends now. If every change is recorded, only rates are sampled.
    pub fn sample(
        &mut self,
        now: Time,
        interval: Duration,
        flows: &[Flow],
        endpoints: &[Endpoint],
        network: &Network,
    ) {
        for place in 0..self.flows.len() {
            let watched = &mut self.flows[place];
            let flow = &flows[watched.flow as usize];
            if flow.start > now {
                continue;
            }
            let goodput = Rate::from_transfer(Bytes::new(flow.delivered - watched.delivered), interval);
            watched.delivered = flow.delivered;
            let recorder = watched.recorders + 4;
            if !self.measure.every_event {
                self.offer_flow(place, now, flow, endpoints);
            }
            self.recorders[recorder].offer(now, goodput.as_f64());
        }
        for place in 0..self.links.len() {
            let watched = &mut self.links[place];
            let bytes = network.port_state(watched.link).map_or(0, |port_state| port_state.bytes);
            let rate = Rate::from_transfer(Bytes::new(bytes - watched.bytes), interval);
            watched.bytes = bytes;
            let recorder = watched.recorders + 4;
            if !self.measure.every_event {
                self.offer_link(place, now, network);
            }
            self.recorders[recorder].offer(now, rate.as_f64());
        }
    }

    /// Records a changed state of a flow's sender.
    pub fn record_flow(&mut self, flow: u32, now: Time, flows: &[Flow], endpoints: &[Endpoint]) {
        if let Some(place) = self.position(flow) {
            self.offer_flow(place, now, &flows[flow as usize], endpoints);
        }
    }

    /// Records a changed state of a link's queue.
    pub fn record_link(&mut self, link: u32, now: Time, network: &Network) {
        if (link as usize) < self.links.len() {
            self.offer_link(link as usize, now, network);
        }
    }

    fn offer_flow(&mut self, place: usize, now: Time, flow: &Flow, endpoints: &[Endpoint]) {
        if flow.main == NO_CONNECTION {
            return;
        }
        let end = endpoints[flow.main as usize * 2].engine.end();
        let Some(stats) = end.sender_stats(now) else { return };
        let Some(window) = stats.window else { return };
        let watched = &mut self.flows[place];
        if self.measure.every_event
            && let Some(state) = end.congestion_state()
        {
            watched.visits.record(now, &state, known_by_all(flow, window, &stats).into_iter());
        }
        let recorders = &mut self.recorders[watched.recorders..watched.recorders + FLOW_SERIES.len()];
        recorders[0].offer(now, window);
        recorders[1].offer(now, f64::from(stats.in_flight));
        if let Some(rtt) = stats.rtt() {
            recorders[2].offer(now, rtt.as_secs_f64());
        }
        if let Some(rate) = stats.pacing_rate {
            recorders[3].offer(now, rate.as_f64());
        }
        if let Some(reader) = flow.reader() {
            recorders[5].offer(now, reader.unread().get() as f64);
        }
        if let Some(ssthresh) = stats.ssthresh {
            recorders[6].offer(now, ssthresh);
        }
    }

    fn offer_link(&mut self, place: usize, now: Time, network: &Network) {
        let WatchedLink { link, recorders, .. } = self.links[place];
        let waiting = network.port_state(link).and_then(|port_state| port_state.queue.as_ref());
        let (packets, bytes, drops, marks) = waiting.map_or((0, 0, 0, 0), |waiting| {
            let (packets, bytes) = (waiting.packets(), waiting.bytes());
            (packets, bytes, waiting.drops_full + waiting.drops_early, waiting.marks)
        });
        let recorders = &mut self.recorders[recorders..recorders + LINK_SERIES.len()];
        for (recorder, value) in recorders.iter_mut().zip([packets, bytes, drops, marks]) {
            recorder.offer(now, value as f64);
        }
        if let Some(feedback) = waiting.and_then(|waiting| waiting.feedback.as_ref()) {
            recorders[5].offer(now, feedback.messages as f64);
        }
    }

    /// Ends the warm-up: the counters of links restart at zero.
    pub fn restart_links(&mut self) {
        self.links.iter_mut().for_each(|watched| watched.bytes = 0);
    }

    /// Takes the controllers' states of each flow with series, in order of flow.
    pub fn take_visits(&mut self) -> impl Iterator<Item = (u32, Visits)> + use<> {
        core::mem::take(&mut self.flows).into_iter().map(|watched| (watched.flow, watched.visits))
    }

    /// Takes the series that have points.
    pub fn take_series(&mut self) -> Vec<Series> {
        let recorders = core::mem::take(&mut self.recorders).into_iter();
        recorders.map(Recorder::finish).filter(|series| !series.points.is_empty()).collect()
    }

    /// Returns recorders for a partition, with or without flows.
    pub fn for_partition(&self, has_flows: bool) -> Self {
        Self { flows: if has_flows { self.flows.clone() } else { Vec::new() }, ..self.clone() }
    }

    /// Returns the recorders, in the order of their creation.
    pub fn recorders(&self) -> &[Recorder] {
        &self.recorders
    }

    /// Returns the recorders, to merge those of partitions by their [owners](Self::owners).
    pub fn recorders_mut(&mut self) -> &mut Vec<Recorder> {
        &mut self.recorders
    }

    /// Returns the partition of each recorder, from those of flows' sources and sinks and of links.
    pub fn owners(&self, sources: &[u16], sinks: &[u16], links: &[u16]) -> Vec<u16> {
        let mut owners = vec![0; self.recorders.len()];
        let goodput = FLOW_SERIES.iter().position(|quantity| *quantity == Quantity::Goodput);
        for watched in &self.flows {
            let own = watched.recorders..watched.recorders + FLOW_SERIES.len();
            owners[own].fill(sources[watched.flow as usize]);
            goodput.into_iter().for_each(|at| owners[watched.recorders + at] = sinks[watched.flow as usize]);
        }
        for watched in &self.links {
            let own = watched.recorders..watched.recorders + LINK_SERIES.len();
            owners[own].fill(links[watched.link as usize]);
        }
        owners
    }

    /// Takes the controllers' states of each flow from the partition of its source.
    pub fn merge_visits(&mut self, sources: &[u16], mut partitions: Vec<&mut Self>) {
        for (place, watched) in self.flows.iter_mut().enumerate() {
            let own = partitions.get_mut(usize::from(sources[watched.flow as usize]));
            if let Some(own) = own.and_then(|own| own.flows.get_mut(place)) {
                watched.visits = core::mem::take(&mut own.visits);
            }
        }
    }
}

/// Returns the quantities known to every sender, for the visits of its controller's states.
fn known_by_all(flow: &Flow, window: f64, stats: &SenderStats) -> [(&'static str, f64); 7] {
    [
        ("window_packets", window),
        ("in_flight_packets", f64::from(stats.in_flight)),
        ("pacing_bps", stats.pacing_rate.map_or(f64::INFINITY, Rate::as_f64)),
        ("rtt_s", stats.rtt().map_or(f64::INFINITY, Duration::as_secs_f64)),
        ("sent_packets", stats.sent as f64),
        ("retransmissions", stats.retransmissions as f64),
        ("delivered_bytes", flow.delivered as f64),
    ]
}
