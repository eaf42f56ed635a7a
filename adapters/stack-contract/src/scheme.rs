//! Descriptions of transport stacks as schemes of the simulator.

use crate::datagram::Datagram;
use crate::engine::End;
use crate::stack_trait::{Side, Stack};
use core::fmt;
use core::marker::PhantomData;
use thalweg_catalog::option_keys::{Key, Keys, key};
use thalweg_catalog::protocol_family::{Adjustment, EndNeeds, ReceiveWindow};
use thalweg_catalog::{
    ConfigError, Environment, Family, KeyBoundConfig, Kind, Properties, Range, SchemeDescription,
    SchemeTraits, Values,
};
use thalweg_proto::Ecn;
use thalweg_proto::payload::Payload;

/// Configuration of both ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Maximum size of an IP packet on the path, in bytes.
    pub mtu: u32,
    /// Send buffer and receive window of the stream, in bytes.
    pub buffer: u64,
    /// Maximum number of datagrams of one transmission.
    pub gso: u32,
    /// True if hosts set the ECN codepoint that the stack asks for, and report it.
    pub ecn: bool,
}

const NOT_LIVE: &str = "stacks of others run in simulations only";

/// The keys of all stacks.
pub const KEYS: &[Key] = &[
    key(
        "mtu",
        Kind::Size,
        "1500 B",
        "The largest IP packet that the path carries. The source drops larger ones without a message, as a path without \
         ICMP does.",
    )
    .within(Range::between(1280.0, 65_535.0), "QUIC needs 1280 bytes (RFC 9000, section 14)")
    .not_live(NOT_LIVE),
    key("buffer", Kind::Size, "4 MiB", "The send buffer and the receive window of a connection.")
        .within(Range::between(65_536.0, 1_073_741_824.0), "")
        .not_live(NOT_LIVE),
    key(
        "gso",
        Kind::Count,
        "10",
        "The largest number of datagrams that the stack may give its host in one call (generic segmentation offload). \
         Stacks without it send one.",
    )
    .within(Range::between(1.0, 64.0), "")
    .not_live(NOT_LIVE),
    key(
        "ecn",
        Kind::Switch,
        "true",
        "Hosts set and report ECN codepoints. Without it, all packets are Not-ECT, and the stack finds ECN unusable.",
    )
    .not_live(NOT_LIVE),
];

/// Size of the IP and UDP headers in bytes: the overhead on the wire of schemes without a key for it.
pub(crate) const IP_AND_UDP: u32 = 28;

/// The family of a stack.
pub struct Datagrams<S> {
    config: Config,
    /// A slow application makes the receiver stop reading.
    waits_for_reading: bool,
    stack: PhantomData<fn() -> S>,
}

impl<S> fmt::Debug for Datagrams<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.config, f)
    }
}

impl<S> Clone for Datagrams<S> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<S> PartialEq for Datagrams<S> {
    fn eq(&self, other: &Self) -> bool {
        (self.config, self.waits_for_reading) == (other.config, other.waits_for_reading)
    }
}

impl<S: Stack> KeyBoundConfig for Datagrams<S> {
    fn from_values(values: &Values) -> Self {
        let config = Config {
            mtu: values.required("mtu"),
            buffer: values.required("buffer"),
            gso: values.required("gso"),
            ecn: values.required("ecn"),
        };
        Self { config, waits_for_reading: false, stack: PhantomData }
    }

    fn write_to(&self, values: &mut Values) {
        let Config { mtu, buffer, gso, ecn } = &self.config;
        values.set_from("mtu", mtu);
        values.set_from("buffer", buffer);
        values.set_from("gso", gso);
        values.set_from("ecn", ecn);
    }
}

impl<S: Stack> Family for Datagrams<S> {
    const NAME: &'static str = S::NAME;
    const OVERHEAD: u32 = 0;
    type Pdu<P: Payload> = Datagram<P>;
    type Sender<P: Payload> = End<S, P>;
    type Receiver<P: Payload> = End<S, P>;

    fn sender<P: Payload>(&self) -> End<S, P> {
        End::new(Side::Client, self.config, false)
    }

    fn receiver<P: Payload>(&self) -> End<S, P> {
        End::new(Side::Server, self.config, self.waits_for_reading)
    }
}

impl<S: Stack> Properties for Datagrams<S> {
    fn segment(&self) -> u32 {
        self.config.mtu - IP_AND_UDP
    }

    fn description(&self) -> String {
        format!(", datagrams of at most {} B", self.segment())
    }

    fn window(&self) -> Option<u64> {
        None
    }

    fn receive_window(&self) -> ReceiveWindow {
        ReceiveWindow::Bytes(self.config.buffer)
    }

    fn first_window(&self) -> f64 {
        // Of RFC 6928 and RFC 9002, section 7.2.
        10.0
    }

    /// The stack has a window of its own.
    fn is_unbounded(&self) -> bool {
        false
    }

    fn ecn(&self) -> Ecn {
        if S::ECN && self.config.ecn { Ecn::Ect0 } else { Ecn::NotEct }
    }

    fn needs_marks(&self) -> bool {
        false
    }

    fn needs(&self) -> EndNeeds {
        EndNeeds { random: true, ..EndNeeds::default() }
    }

    fn adjust(&mut self, adjustment: Adjustment) -> bool {
        let is_known = adjustment == Adjustment::Reading;
        self.waits_for_reading |= is_known;
        is_known
    }
}

/// Describes the scheme of a stack.
pub const fn scheme<S: Stack>(about: &'static str) -> SchemeDescription {
    let keys = Keys::own(KEYS);
    SchemeDescription {
        family_check: &|values| match values.environment() {
            Environment::Simulated => Vec::new(),
            Environment::Live => vec![
                ConfigError::new("mtu", "cannot be set: the stacks of others run in simulations only")
                    .help("run a program with the stack in `thalweg shell`"),
            ],
        },
        ..SchemeDescription::for_family::<Datagrams<S>>(about, keys, SchemeTraits::RELIABLE)
    }
}
