//! The traits [`Stack`] and [`Connection`], which a transport stack implements to run in the simulator.

use crate::scheme::Config;
use core::fmt;
use thalweg_proto::Ecn;
use thalweg_proto::transport::Failure;
use thalweg_proto::units::{Duration, Rate, Time};

/// A transport stack with one congestion controller: a scheme.
pub trait Stack: Send + Sync + 'static {
    /// Name of the scheme.
    const NAME: &'static str;

    /// True if the stack sends ECN-capable packets by default.
    const ECN: bool;

    /// True if its datagrams are IP packets; false if they are the content of UDP datagrams.
    const IS_IP: bool = false;

    /// UDP port of servers in captures: that of most QUIC test servers.
    const PORT: u16 = 4433;

    /// One end of a connection.
    type Connection: Connection + 'static;

    /// Opens an end of a connection. The client connects at once; the server accepts the first connection.
    fn open(side: Side, config: &Config, now: Time) -> Self::Connection;
}

/// A side of a connection. The client writes a stream of bytes and the server reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The initiator, at the source of the flow.
    Client,
    /// The responder, at the sink of the flow.
    Server,
}

/// One end of a connection.
///
/// All calls get the simulated time, which never goes back. After each call the driver calls [`timeout`](Self::timeout),
/// [`write`](Self::write), [`read`](Self::read) and [`transmit`](Self::transmit) as long as these make progress.
pub trait Connection: fmt::Debug + Send {
    /// Processes a datagram that arrived with this ECN codepoint.
    fn receive(&mut self, now: Time, datagram: &[u8], ecn: Ecn);

    /// Appends one or several datagrams to `buffer`; `None` if nothing is to be sent now.
    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit>;

    /// Returns the time of the next call of [`expire`](Self::expire), if any.
    fn timeout(&mut self, now: Time) -> Option<Time>;

    /// Acts on the expired timers.
    fn on_timeout(&mut self, now: Time);

    /// Offers the next bytes of the stream, at the client. Returns the number of accepted bytes; zero while the send buffer
    /// is full.
    fn write(&mut self, now: Time, bytes: &'static [u8]) -> usize;

    /// Ends the stream after the bytes written so far.
    fn finish(&mut self, now: Time);

    /// Passes arrived bytes in order to `take`, at the server: at most `max` bytes, in any number of pieces.
    fn read(&mut self, now: Time, max: usize, take: &mut dyn FnMut(&[u8]));

    /// Closes the connection once the peer has everything.
    fn close(&mut self, now: Time);

    /// Returns the state.
    fn state(&mut self) -> State;

    /// Returns counters and estimates.
    fn stats(&self) -> Stats;
}

/// Properties of transmitted datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// ECN codepoint of each.
    pub ecn: Ecn,
    /// Size in bytes of each but the last, which may be smaller (generic segmentation offload); `None` for a single one.
    pub segment: Option<usize>,
    /// True if nothing else can leave before the next input or timer: the driver does not ask again. False if unknown.
    pub is_last: bool,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Opening or open.
    Open,
    /// The peer has received the whole stream with its end; at the client.
    Finished,
    /// Closed by either side without an error.
    Closed,
    /// Failed.
    Failed(Failure),
}

/// Counters and estimates of a stack; zero or `None` where it does not report them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// Congestion window, in bytes.
    pub window: Option<u64>,
    /// Slow-start threshold, in bytes.
    pub ssthresh: Option<u64>,
    /// Bytes in flight.
    pub in_flight: Option<u64>,
    /// Pacing rate.
    pub pacing_rate: Option<Rate>,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// Minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// Packets declared lost; the stack retransmits their data.
    pub lost: u64,
    /// Expiries of the retransmission timer or probe timeout.
    pub timeouts: u64,
    /// Current maximum size of datagrams in bytes; unknown if zero.
    pub mtu: u32,
}
