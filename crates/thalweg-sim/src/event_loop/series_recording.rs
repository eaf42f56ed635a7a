//! Recording of series: at intervals, or at every change.

use super::EventLoop;
use crate::event_kinds::EventKind;
use crate::packet_tracing::Tracing;

impl<T: Tracing> EventLoop<T> {
    /// Samples every series. If every change is recorded, only rates are sampled: they need an interval.
    pub(crate) fn on_sample(&mut self) {
        let Some(interval) = self.measurements.series.interval() else { return };
        self.count_shared();
        self.measurements.series.sample(
            self.now,
            interval,
            &self.traffic.flows,
            self.connections.endpoints(),
            &self.network,
        );
        self.wheel.push(self.now + interval, EventKind::Sample.key(0));
    }

    /// Records a changed state of a flow's sender.
    pub(crate) fn record_flow_change(&mut self, flow: u32) {
        self.measurements.series.record_flow(
            flow,
            self.now,
            &self.traffic.flows,
            self.connections.endpoints(),
        );
    }
}
