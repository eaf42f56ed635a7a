//! Loss marking at the sender, with notification of the controller for each lost segment.

use super::{Record, Sender};
use crate::congestion::{ConnectionState, Controller, LostSample};
use crate::payload::Payload;
use crate::units::Time;

/// Notifies a controller of a lost segment, if the segment took the path in use since `path_since`; `connection` is the
/// state before.
pub(super) fn notify_lost<C: Controller>(
    controller: &mut C,
    connection: &ConnectionState,
    path_since: Time,
    record: &Record<C::PacketInfo>,
) {
    notify_controller(controller, connection, path_since, record, false);
}

/// Notifies a controller of a segment that a router reported as dropped.
pub(super) fn notify_dropped<C: Controller>(
    controller: &mut C,
    connection: &ConnectionState,
    path_since: Time,
    record: &Record<C::PacketInfo>,
) {
    notify_controller(controller, connection, path_since, record, true);
}

fn notify_controller<C: Controller>(
    controller: &mut C,
    connection: &ConnectionState,
    path_since: Time,
    record: &Record<C::PacketInfo>,
    named: bool,
) {
    if record.sent_at >= path_since {
        let sample = LostSample {
            connection: *connection,
            sequence: record.start,
            bytes: record.length,
            sent_at: record.sent_at,
            named,
        };
        controller.on_packet_lost(&sample, record.info);
    }
}

impl<P: Payload, C: Controller> Sender<P, C> {
    /// Marks segments below `edge` as lost; returns the send time of the first.
    #[inline]
    pub(super) fn mark_lost_below(&mut self, now: Time, edge: u64) -> Option<Time> {
        // The common case, which saves a call.
        if self.scoreboard.is_examined(edge) { None } else { self.examine_below(now, edge) }
    }

    #[inline(never)]
    fn examine_below(&mut self, now: Time, edge: u64) -> Option<Time> {
        let connection = self.connection(now);
        let path_since = self.path_since();
        let lost = |record: &_| notify_lost(&mut self.controller, &connection, path_since, record);
        self.scoreboard.mark_lost_below(edge, lost)
    }

    /// Marks the first missing segment, indicated by acknowledgements, as lost; returns its send time.
    pub(super) fn mark_first_missing_lost(&mut self, now: Time) -> Option<Time> {
        let connection = self.connection(now);
        let path_since = self.path_since();
        let lost = |record: &_| notify_lost(&mut self.controller, &connection, path_since, record);
        self.scoreboard.mark_first_missing_lost(lost)
    }

    /// Marks the first segment as lost, if it is in flight; returns its send time.
    pub(super) fn mark_first_in_flight_lost(&mut self, now: Time) -> Option<Time> {
        let (connection, path_since) = (self.connection(now), self.path_since());
        let sent_at = self.scoreboard.mark_first_in_flight_lost()?;
        if let Some(first) = self.scoreboard.first() {
            notify_lost(&mut self.controller, &connection, path_since, &first);
        }
        Some(sent_at)
    }

    /// Marks all segments as lost, including selectively acknowledged ones unless `keep_sacked`.
    pub(super) fn mark_all_lost(&mut self, now: Time, keep_sacked: bool) {
        let connection = self.connection(now);
        let path_since = self.path_since();
        let lost = |record: &_| notify_lost(&mut self.controller, &connection, path_since, record);
        self.scoreboard.mark_all_lost(keep_sacked, lost);
    }
}
