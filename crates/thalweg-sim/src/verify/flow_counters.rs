//! Counts of each flow's data packets, for comparison with the flow's results.

use crate::packet_trace::{PacketId, Record};
use crate::run_result::FlowResult;
use std::collections::BTreeMap;
use thalweg_proto::pdu::DataUnit as _;

/// Data packets of a flow, over the whole run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowCounters {
    pub sent: u64,
    /// Copies created by duplication on links.
    pub copied: u64,
    pub delivered: u64,
    /// Bytes on the wire of delivered packets.
    pub delivered_bytes: u64,
    /// Packets dropped by queues, lost or damaged.
    pub dropped_or_lost: u64,
    /// Packets of any kind, except routers' messages, dropped by queues.
    pub queue_drops: u64,
    /// True if data was retransmitted or reordered on the path from the sender.
    has_retransmission_or_reordering: bool,
}

/// Progress of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    incarnation: u16,
    /// Number, of a byte or packet, after the last one sent.
    sent: u64,
    /// Serial number of the sender's packet to be delivered next without reordering.
    next: Option<u32>,
}

/// Counts of all flows.
#[derive(Clone, Debug, Default)]
pub(super) struct AllFlowCounters {
    flows: Vec<FlowCounters>,
    /// Counts at the start of counting; `None` before.
    counts_at_warmup: Option<Vec<FlowCounters>>,
    connections: BTreeMap<u32, Progress>,
}

/// Returns true for a packet with payload from a data sender.
pub(super) fn is_data(record: &Record<'_>) -> bool {
    !record.packet.backward && record.packet.router.is_none() && record.pdu.payload().is_some()
}

impl AllFlowCounters {
    /// Returns empty counts of `flows` flows.
    pub fn new(flows: usize) -> Self {
        Self { flows: vec![FlowCounters::default(); flows], ..Self::default() }
    }

    /// Starts counting.
    pub fn begin(&mut self) {
        self.counts_at_warmup = Some(self.flows.clone());
    }

    pub fn flow(&mut self, flow: u32) -> &mut FlowCounters {
        let index = flow as usize;
        if index >= self.flows.len() {
            self.flows.resize(index + 1, FlowCounters::default());
        }
        &mut self.flows[index]
    }

    /// Returns a group's data packets: sent and copied, and ended.
    pub fn group_totals(&self, first: u32, count: u32) -> (u64, u64) {
        let group_flows = self.flows.iter().skip(first as usize).take(count as usize);
        group_flows.fold((0, 0), |(sent_and_copied, delivered_or_lost), flow| {
            (
                sent_and_copied + flow.sent + flow.copied,
                delivered_or_lost + flow.delivered + flow.dropped_or_lost,
            )
        })
    }

    fn progress(&mut self, packet: PacketId) -> &mut Progress {
        let progress = self.connections.entry(packet.connection).or_default();
        if progress.incarnation != packet.incarnation {
            *progress = Progress { incarnation: packet.incarnation, ..Progress::default() };
        }
        progress
    }

    pub fn send(&mut self, record: &Record<'_>) {
        if record.packet.backward || record.packet.router.is_some() {
            return;
        }
        let progress = self.progress(record.packet);
        progress.next.get_or_insert(record.packet.serial);
        if !is_data(record) {
            return;
        }
        let mut again = false;
        if let Some(data) = record.pdu.data(progress.sent) {
            again = data.start < progress.sent;
            progress.sent = progress.sent.max(data.end);
        }
        let counters = self.flow(record.flow);
        counters.sent += 1;
        counters.has_retransmission_or_reordering |= again;
    }

    pub fn deliver(&mut self, record: &Record<'_>) {
        if record.packet.backward || record.packet.router.is_some() {
            return;
        }
        // For all packets of a data sender: a window probe before the data may create a receiver anew.
        let serial = record.packet.serial;
        let progress = self.progress(record.packet);
        let is_next = progress.next.replace(serial.wrapping_add(1)).is_some_and(|next| next == serial);
        let counters = self.flow(record.flow);
        counters.has_retransmission_or_reordering |= !is_next;
        if !is_data(record) {
            return;
        }
        counters.delivered += 1;
        counters.delivered_bytes += u64::from(record.size);
    }

    /// Returns the differences between a flow's result and the replay: name, value of the result, value of the replay.
    /// Up to `in_host_processing` of the sent packets may still be in processing at hosts. A receiver that
    /// `delivers_on_arrival` refuses nothing, and data waits for no data but missing one.
    pub fn differences(
        &self,
        flow: u32,
        reported: &FlowResult,
        in_host_processing: u64,
        delivers_on_arrival: bool,
    ) -> Vec<(&'static str, u64, u64)> {
        let now = self.flows.get(flow as usize).copied().unwrap_or_default();
        let base = self
            .counts_at_warmup
            .as_ref()
            .and_then(|base| base.get(flow as usize))
            .copied()
            .unwrap_or_default();
        let mut different = Vec::new();
        let sent = now.sent - base.sent;
        if reported.sent_packets.abs_diff(sent) > in_host_processing {
            different.push(("data packets sent", reported.sent_packets, sent));
        }
        let drops = now.queue_drops - base.queue_drops;
        if reported.counts.drops != drops {
            different.push(("packets dropped", reported.counts.drops, drops));
        }
        // Without trouble, each packet of a flow delivers something new; otherwise some do not, or wait for others. A
        // receiver may also refuse new data, such as a window probe.
        let is_undisturbed =
            !now.has_retransmission_or_reordering && now.dropped_or_lost + now.copied + now.queue_drops == 0;
        let (bytes, arrived) = (reported.delivered_wire.get(), now.delivered_bytes - base.delivered_bytes);
        let is_from_start = base.sent == 0;
        let is_exact = is_undisturbed && delivers_on_arrival;
        if is_exact && bytes != arrived || (is_exact || is_from_start) && bytes > arrived {
            different.push(("bytes of data packets that arrived", bytes, arrived));
        }
        different
    }
}
