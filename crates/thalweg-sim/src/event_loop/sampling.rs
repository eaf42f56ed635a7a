//! Recording of series: at intervals, or at every change.

use super::EventLoop;
use crate::event::Kind;
use crate::measure::Recorder;
use crate::parts::flow::NO_CONNECTION;
use crate::parts::series::{FLOW_SERIES, LINK_SERIES, WatchedFlow, WatchedLink};
use crate::tracing::Tracing;
use thalweg_proto::transport::SenderStats;
use thalweg_proto::units::{Bytes, Duration, Rate};

impl<T: Tracing> EventLoop<T> {
    /// Samples every series. If every change is recorded, only rates are sampled: they need an interval.
    pub(crate) fn on_sample(&mut self) {
        let Some(interval) = self.measure.interval else { return };
        self.count_shared();
        let mut flows = core::mem::take(&mut self.watched_flows);
        for watched in &mut flows {
            self.sample_flow(watched, interval);
        }
        self.watched_flows = flows;
        let mut links = core::mem::take(&mut self.watched_links);
        for watched in &mut links {
            self.sample_link(watched, interval);
        }
        self.watched_links = links;
        self.wheel.push(self.now + interval, Kind::Sample.key(0));
    }

    fn sample_flow(&mut self, watched: &mut WatchedFlow, interval: Duration) {
        let now = self.now;
        let flow = &self.flows[watched.flow as usize];
        if flow.start > now {
            return;
        }
        let goodput = Rate::from_transfer(Bytes::new(flow.delivered - watched.delivered), interval);
        watched.delivered = flow.delivered;
        if !self.measure.every_event {
            self.offer_flow(watched);
        }
        self.recorders[watched.recorders + 4].offer(now, goodput.as_f64());
    }

    fn sample_link(&mut self, watched: &mut WatchedLink, interval: Duration) {
        let now = self.now;
        let bytes = self.network.port_state(watched.link).map_or(0, |port_state| port_state.bytes);
        let rate = Rate::from_transfer(Bytes::new(bytes - watched.bytes), interval);
        watched.bytes = bytes;
        if !self.measure.every_event {
            self.offer_link(watched.link, watched.recorders);
        }
        self.recorders[watched.recorders + 4].offer(now, rate.as_f64());
    }

    /// Returns true for a flow with a record of every change.
    pub(crate) fn is_watched(&self, flow: u32) -> bool {
        self.measure.every_event && self.place_of_watched(flow).is_some()
    }

    /// Records a changed state of a flow's sender.
    pub(crate) fn record_flow_change(&mut self, flow: u32) {
        if let Some(place) = self.place_of_watched(flow) {
            let mut flows = core::mem::take(&mut self.watched_flows);
            self.offer_flow(&mut flows[place]);
            self.watched_flows = flows;
        }
    }

    /// Records a changed state of a link's queue.
    pub(crate) fn record_link_change(&mut self, link: u32) {
        // The first links are watched, in order.
        if let Some(watched) = self.watched_links.get(link as usize) {
            self.offer_link(link, watched.recorders);
        }
    }

    fn place_of_watched(&self, flow: u32) -> Option<usize> {
        self.watched_flows.binary_search_by_key(&flow, |watched| watched.flow).ok()
    }

    fn offer_flow(&mut self, watched: &mut WatchedFlow) {
        let now = self.now;
        let (flow, recorders) = (watched.flow, watched.recorders);
        let main = self.flows[flow as usize].main;
        if main == NO_CONNECTION {
            return;
        }
        let end = self.endpoints[main as usize * 2].engine.end();
        let Some(stats) = end.sender_stats(now) else { return };
        let Some(window) = stats.window else { return };
        if self.measure.every_event
            && let Some(state) = end.congestion_state()
        {
            watched.visits.see(now, &state, self.known_by_all(flow, window, &stats).into_iter());
        }
        let recorders: &mut [Recorder] = &mut self.recorders[recorders..recorders + FLOW_SERIES.len()];
        recorders[0].offer(now, window);
        recorders[1].offer(now, f64::from(stats.in_flight));
        if let Some(rtt) = stats.rtt() {
            recorders[2].offer(now, rtt.as_secs_f64());
        }
        if let Some(rate) = stats.pacing_rate {
            recorders[3].offer(now, rate.as_f64());
        }
        if let Some(reader) = self.flows[flow as usize].reader() {
            recorders[5].offer(now, reader.unread().get() as f64);
        }
        if let Some(ssthresh) = stats.ssthresh {
            recorders[6].offer(now, ssthresh);
        }
    }

    /// Returns the quantities known to every sender, for the visits of its controller's states.
    fn known_by_all(&self, flow: u32, window: f64, stats: &SenderStats) -> [(&'static str, f64); 7] {
        let flow = &self.flows[flow as usize];
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

    fn offer_link(&mut self, link: u32, recorders: usize) {
        let now = self.now;
        let waiting = self.network.port_state(link).and_then(|port_state| port_state.queue.as_ref());
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
}
