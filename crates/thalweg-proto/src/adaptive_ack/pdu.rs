//! PDUs of adaptive acknowledgement.

/// PDU of the adaptive acknowledgement scheme.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pdu<P> {
    /// DATA, from transmitter to receiver.
    Data(Data<P>),
    /// ACK, from receiver to transmitter.
    Ack(Report),
}

/// Data packet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Data<P> {
    /// Sequence number, from 1.
    pub sequence: u64,
    /// Application data of the packet.
    pub payload: P,
}

/// Acknowledgement: packets below `cumulative` have arrived, and packets `gap_in` to `gap_out - 1` are requested. If
/// the two are equal, nothing is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// First missing packet.
    pub gap_in: u64,
    /// Packet after the last missing one.
    pub gap_out: u64,
    /// Next packet expected in order.
    pub cumulative: u64,
}

impl Report {
    /// Creates a report without a request.
    pub const fn plain(cumulative: u64) -> Self {
        Self { gap_in: cumulative, gap_out: cumulative, cumulative }
    }

    /// Returns true if nothing is requested.
    pub const fn is_plain(&self) -> bool {
        self.gap_in >= self.gap_out
    }

    /// Returns true if the report is valid for packets numbered below `next`: its gap lies at or above the cumulative
    /// number, and covers only sent packets.
    pub const fn is_valid_below(&self, next: u64) -> bool {
        self.cumulative >= 1
            && self.cumulative <= self.gap_in
            && self.gap_in <= self.gap_out
            && self.gap_out <= next
    }
}
