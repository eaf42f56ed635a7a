//! Transport schemes with options, as negotiated between both ends of a connection.

use super::Reading;
use std::fmt;
use std::str::FromStr;
use thalweg_catalog::protocol_family::ReceiveWindow;
use thalweg_catalog::{
    EndpointConfigs, Environment, PathHints, Registry, SCHEMES, SchemeDescription, TextError, Value, Values,
    option_syntax,
};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::units::Rate;

/// Maximum length of an encoded scheme, in bytes. It fits into a handshake datagram, and suffices for all options of
/// the scheme with the most options.
pub const MAX_ENCODING: usize = 768;

/// Scheme name with explicit options: `cubic`, or `sstp:rate=20Mbit/s,window=12seg`.
///
/// Names and options are the same as in scenario files ([`thalweg_catalog`]). Both ends of a connection must use the
/// same scheme with the same options. One end settles them from its knowledge of the path ([`Scheme::on_path`]) and
/// sends the [encoding](Scheme::encode); the other end decodes it.
#[derive(Clone)]
pub struct Scheme {
    description: &'static SchemeDescription,
    values: Values,
}

/// Reason for an invalid scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemeError {
    /// Syntax error, unknown name or invalid option.
    Text(TextError),
    /// Encoding longer than [`MAX_ENCODING`].
    Long {
        /// Length in bytes, including the options adapted for the path.
        length: usize,
    },
    /// The scheme needs an agreed rate, and none was given.
    NoRate(&'static str),
    /// Invalid text, or too long.
    Encoding,
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::Long { length } => write!(
                f,
                "the scheme with its options takes {length} bytes, above the maximum of {MAX_ENCODING}: leave out \
                 options that have their default"
            ),
            Self::NoRate(scheme) => write!(
                f,
                "{scheme} keeps to an agreed rate and does not look for one: say which, as in {scheme}:rate=100Mbit/s"
            ),
            Self::Encoding => f.write_str("bytes that do not encode a scheme"),
        }
    }
}

impl std::error::Error for SchemeError {}

impl SchemeError {
    /// Offers only the names of reliable schemes, where others are refused.
    #[must_use]
    pub fn offering_reliable(self, registry: &Registry) -> Self {
        let is_reliable = |name: &str| Scheme::read(name, registry).is_ok_and(|scheme| scheme.is_reliable());
        match self {
            Self::Text(error) => Self::Text(error.offering(is_reliable)),
            error => error,
        }
    }
}

impl FromStr for Scheme {
    type Err = SchemeError;

    /// Parses `NAME` or `NAME:KEY=VALUE,KEY=VALUE ...` for a scheme of this project.
    fn from_str(text: &str) -> Result<Self, SchemeError> {
        Self::read(text, &Registry::default())
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        option_syntax::write_options(self.name(), &self.values, f)
    }
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl PartialEq for Scheme {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.values == other.values
    }
}

impl Scheme {
    /// Returns the names of all schemes of this project.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|description| description.name)
    }

    /// Parses `NAME` or `NAME:KEY=VALUE,KEY=VALUE ...` for a scheme of `registry`.
    ///
    /// # Errors
    ///
    /// Returns the reason why the text is invalid.
    pub fn read(text: &str, registry: &Registry) -> Result<Self, SchemeError> {
        let (description, values) =
            registry.read_scheme(text, Environment::Live).map_err(SchemeError::Text)?;
        let scheme = Self { description, values };
        // The adapted scheme has more options and a longer encoding.
        let path = PathHints { rate: Some(Rate::MAX), ..PathHints::default() };
        let length = scheme.clone().with_path_hints(&path).to_string().len();
        if length > MAX_ENCODING { Err(SchemeError::Long { length }) } else { Ok(scheme) }
    }

    /// Returns the name.
    pub fn name(&self) -> &'static str {
        self.description.name
    }

    /// Returns the description and the explicit values.
    pub fn values(&self) -> (&'static SchemeDescription, &Values) {
        (self.description, &self.values)
    }

    /// Returns the encoding for the peer, at most [`MAX_ENCODING`] bytes.
    pub fn encode(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }

    /// Decodes a scheme. Checks each value against the range allowed to peers.
    ///
    /// # Errors
    ///
    /// Returns an error for an invalid encoding, or for a scheme that `registry` does not have.
    pub fn decode(bytes: &[u8], registry: &Registry) -> Result<Self, SchemeError> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_ENCODING);
        let text = text.ok_or(SchemeError::Encoding)?;
        let (description, values) =
            registry.read_scheme(text, Environment::Live).map_err(SchemeError::Text)?;
        Ok(Self { description, values })
    }

    /// Returns true for reliable schemes: nothing is lost or delivered twice.
    pub fn is_reliable(&self) -> bool {
        self.description.traits.is_reliable
            && self.values.optional::<f64>("loss-tolerance").is_none_or(|share| share == 0.0)
    }

    /// Sets the sending rate of a scheme that needs an agreed rate, unless it has an explicit one. Other schemes ignore
    /// `rate`.
    ///
    /// # Errors
    /// Returns [`SchemeError::NoRate`] if the scheme needs a rate and none is given.
    pub fn at_rate(mut self, rate: Option<Rate>) -> Result<Self, SchemeError> {
        if self.description.traits.has_fixed_rate && self.values.explicit_value("rate").is_none() {
            let rate =
                rate.or(self.values.optional("average-rate")).ok_or(SchemeError::NoRate(self.name()))?;
            self.values.suggest("rate", Value::Rate(rate));
        }
        Ok(self)
    }

    /// Returns true for schemes that assume in-order delivery and need a [resequencer](thalweg_proto::resequencer) below
    /// them.
    pub fn needs_in_order(&self) -> bool {
        self.ends(&PathHints::default()).properties().needs().order
    }

    /// Returns true for schemes that use the spacing of received packets.
    pub fn measures_spacing(&self) -> bool {
        self.ends(&PathHints::default()).properties().needs().spacing
    }

    /// Returns true for schemes that react to feedback from routers. All of them belong to the window transport.
    /// Schemes that do not need it get no feedback: an on-path observer can forge it, and matching it takes memory for
    /// recently sent packets.
    pub fn uses_router_feedback(&self) -> bool {
        let kind = self.ends(&PathHints::default()).properties().router_feedback().needed();
        matches!(kind, Some(FeedbackKind::Seif | FeedbackKind::SourceQuench | FeedbackKind::Rations))
    }

    /// Returns the ECN codepoint of data packets. It is ECN-capable only if the scheme's sender reacts to CE; otherwise
    /// routers would mark packets where they ought to drop them.
    pub fn ecn(&self) -> Ecn {
        self.ends(&PathHints::default()).properties().ecn()
    }

    /// Settles all options on which both ends must agree, from this end's knowledge of the path. Explicit values stay.
    #[must_use]
    pub fn on_path(self, path: &PathHints) -> Self {
        let adapted = self.clone().with_path_hints(path);
        // If the adapted values contradict each other, each end uses its defaults.
        if adapted.description.conflicts(&adapted.values).iter().all(|fault| fault.is_warning) {
            adapted
        } else {
            self
        }
    }

    fn with_path_hints(mut self, path: &PathHints) -> Self {
        (self.description.apply_path_hints)(&mut self.values, path);
        self
    }

    /// Returns the endpoint configs for this path.
    pub fn ends(&self, path: &PathHints) -> EndpointConfigs {
        let ends = |scheme: &Self| (scheme.description.make_endpoint_configs)(&scheme.values, path);
        let adapted = self.clone().with_path_hints(path);
        ends(self).or_else(|_| ends(&adapted)).unwrap_or_else(|fault| {
            // Values were checked when parsed; defaults never contradict each other.
            let defaults = Self { values: self.description.empty_values(Environment::Live), ..self.clone() };
            ends(&defaults.with_path_hints(path)).unwrap_or_else(|_| unreachable!("{}", fault.what))
        })
    }

    /// Returns the receive window without a memory limit, in bytes.
    pub(super) fn receive_window(&self, path: &PathHints) -> u64 {
        match self.ends(&PathHints { memory: u64::MAX, ..*path }) {
            EndpointConfigs::Window(config) => config.receiver.window,
            _ => path.memory,
        }
    }

    /// Returns an eighth of the receive window, in the receiver's unit. SSTP segments may have any size, and other
    /// formats are unknown: there each piece counts.
    pub(super) fn reading(&self, path: &PathHints) -> Reading {
        match self.ends(path).properties().receive_window() {
            ReceiveWindow::Bytes(window) => {
                Reading { bytes: (window / 8).clamp(1, MAX_READ), pieces: u32::MAX }
            }
            ReceiveWindow::Messages(window) => Reading { bytes: MAX_READ, pieces: (window / 8).max(1) },
            ReceiveWindow::Other => Reading { bytes: 1, pieces: 1 },
        }
    }
}

/// Maximum number of bytes that an application may read before it reports them.
const MAX_READ: u64 = 512 << 10;
