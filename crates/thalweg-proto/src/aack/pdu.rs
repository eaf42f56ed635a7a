//! The PDUs that transmitter and receiver exchange.

/// A PDU of the adaptive acknowledgement scheme.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Pdu<P> {
    /// DATA, from transmitter to receiver.
    Data(Data<P>),
    /// ACK, from receiver to transmitter.
    Ack(Report),
}

/// A packet of data.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Data<P> {
    /// Its number, from 1.
    pub sequence: u64,
    /// The application data of the packet.
    pub payload: P,
}

/// An acknowledgement: everything below `cumulative` has arrived, and packets `gap_in` to `gap_out - 1` are to be sent
/// again. Where the two are equal, nothing is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Report {
    /// The first packet that is missing.
    pub gap_in: u64,
    /// The packet after the last that is missing.
    pub gap_out: u64,
    /// The next packet expected in order.
    pub cumulative: u64,
}

impl Report {
    /// A report that asks for nothing.
    pub const fn plain(cumulative: u64) -> Self {
        Self { gap_in: cumulative, gap_out: cumulative, cumulative }
    }

    /// True where nothing is asked for.
    pub const fn is_plain(&self) -> bool {
        self.gap_in >= self.gap_out
    }

    /// True if a receiver could say this of packets numbered below `next`: a gap lies at or above the cumulative
    /// number, and what it skips has been sent.
    pub const fn makes_sense(&self, next: u64) -> bool {
        self.cumulative >= 1
            && self.cumulative <= self.gap_in
            && self.gap_in <= self.gap_out
            && self.gap_out <= next
    }
}
