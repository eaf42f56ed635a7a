//! A transport scheme with its options, as both ends of a connection agree on it.

use super::Reading;
use std::fmt;
use std::str::FromStr;
use thalweg_catalog::family::ReceiveWindow;
use thalweg_catalog::{
    Ends, PathHints, Place, Registry, SCHEMES, SchemeDescription, TextError, Value, Values, text,
};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::units::Rate;

/// The longest encoding of a scheme in bytes, so that it fits into a datagram of the handshake. It is enough for all options
/// of the scheme that has most.
pub const MAX_ENCODING: usize = 768;

/// A scheme by its name, with what was said for its options: `cubic`, or `sstp:rate=20Mbit/s,window=12seg`.
///
/// Names and options are those of scenario files ([`thalweg_catalog`]). Both ends of a connection must use the same scheme
/// with the same options: one settles it with what it knows of the path ([`Scheme::on_path`]) and sends the
/// [encoding](Scheme::encode), which the other reads.
#[derive(Clone)]
pub struct Scheme {
    description: &'static SchemeDescription,
    values: Values,
}

/// The reason for which text is not a scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemeError {
    /// It describes nothing that there is.
    Text(TextError),
    /// It is longer than what both ends tell each other.
    Long {
        /// The length in bytes, with what is settled when the path is known.
        length: usize,
    },
    /// The scheme keeps to a rate that both ends agree on, and nobody said which.
    NoRate(&'static str),
    /// Bytes that are no text, or too many.
    Encoding,
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::Long { length } => write!(
                f,
                "the scheme with its options takes {length} bytes, and peers are told at most {MAX_ENCODING}: leave out \
                 options that are as usual"
            ),
            Self::NoRate(scheme) => write!(
                f,
                "{scheme} keeps to an agreed rate and does not look for one: say which, as in {scheme}:rate=100Mbit/s"
            ),
            Self::Encoding => f.write_str("bytes that describe no scheme"),
        }
    }
}

impl std::error::Error for SchemeError {}

impl FromStr for Scheme {
    type Err = SchemeError;

    /// Reads `NAME`, or `NAME:KEY=VALUE,KEY=VALUE ...`, of a scheme of this project.
    fn from_str(text: &str) -> Result<Self, SchemeError> {
        Self::read(text, &Registry::default())
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write_options(self.name(), &self.values, f)
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
    /// The names of all schemes of this project.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SCHEMES.iter().map(|description| description.name)
    }

    /// Reads `NAME`, or `NAME:KEY=VALUE,KEY=VALUE ...`, of a scheme that `registry` has.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn read(text: &str, registry: &Registry) -> Result<Self, SchemeError> {
        let (description, values) = registry.read_scheme(text, Place::Live).map_err(SchemeError::Text)?;
        let scheme = Self { description, values };
        // What the other end is told has more in it.
        let path = PathHints { rate: Some(Rate::MAX), ..PathHints::default() };
        let length = scheme.clone().settled(&path).to_string().len();
        if length > MAX_ENCODING { Err(SchemeError::Long { length }) } else { Ok(scheme) }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.description.name
    }

    /// Its description, with what was said.
    pub fn values(&self) -> (&'static SchemeDescription, &Values) {
        (self.description, &self.values)
    }

    /// The bytes that tell the other end, at most [`MAX_ENCODING`].
    pub fn encode(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }

    /// Reads an encoding. Each value is in the range of those that a peer may choose.
    ///
    /// # Errors
    ///
    /// When the bytes are not one, or describe a scheme that `registry` does not have.
    pub fn decode(bytes: &[u8], registry: &Registry) -> Result<Self, SchemeError> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_ENCODING);
        let text = text.ok_or(SchemeError::Encoding)?;
        let (description, values) = registry.read_scheme(text, Place::Live).map_err(SchemeError::Text)?;
        Ok(Self { description, values })
    }

    /// True for schemes of which nothing is lost and nothing comes twice.
    pub fn is_reliable(&self) -> bool {
        self.description.traits.is_reliable
            && self.values.take::<f64>("loss-tolerance").is_none_or(|share| share == 0.0)
    }

    /// The same, sending at `rate` where it keeps to an agreed one and none was said. Other schemes find theirs.
    ///
    /// # Errors
    /// [`SchemeError::NoRate`] where there is none at all.
    pub fn at_rate(mut self, rate: Option<Rate>) -> Result<Self, SchemeError> {
        if self.description.traits.keeps_rate && self.values.said_for("rate").is_none() {
            let rate = rate.or(self.values.take("average-rate")).ok_or(SchemeError::NoRate(self.name()))?;
            self.values.suggest("rate", Value::Rate(rate));
        }
        Ok(self)
    }

    /// True for schemes that assume a path that keeps order: a [resequencer](thalweg_proto::resequence) belongs beneath them.
    pub fn needs_order(&self) -> bool {
        self.ends(&PathHints::default()).properties().needs_order()
    }

    /// True for schemes that learn of the network from the spacing of the packets that come.
    pub fn times_packets(&self) -> bool {
        self.ends(&PathHints::default()).properties().times_packets()
    }

    /// True for schemes that routers' messages slow down here. They are all of the window transport. Those that can do without are not
    /// told: whoever sees packets can forge messages, and what was sent lately takes memory.
    pub fn hears_routers(&self) -> bool {
        let kind = self.ends(&PathHints::default()).properties().needed_feedback();
        matches!(kind, Some(FeedbackKind::Seif | FeedbackKind::SourceQuench | FeedbackKind::Rations))
    }

    /// The codepoint with which data leaves: ECN-capable for schemes whose senders react to CE. That of others would be marked
    /// where it ought to be dropped.
    pub fn ecn(&self) -> Ecn {
        self.ends(&PathHints::default()).properties().ecn()
    }

    /// The same with everything settled on which both ends must agree, from what this end knows of the path. What was said
    /// stays.
    #[must_use]
    pub fn on_path(self, path: &PathHints) -> Self {
        let settled = self.clone().settled(path);
        // What does not go together is left to what each end finds usual.
        if settled.description.faults(&settled.values).iter().all(|fault| fault.is_doubt) {
            settled
        } else {
            self
        }
    }

    fn settled(mut self, path: &PathHints) -> Self {
        (self.description.settle)(&mut self.values, path);
        self
    }

    /// The configurations of both ends on this path.
    pub fn ends(&self, path: &PathHints) -> Ends {
        let ends = |scheme: &Self| (scheme.description.ends)(&scheme.values, path);
        let settled = self.clone().settled(path);
        ends(self).or_else(|_| ends(&settled)).unwrap_or_else(|fault| {
            // Values were checked when they were read; what is usual always goes together.
            let usual = Self { values: self.description.values(Place::Live), ..self.clone() };
            ends(&usual.settled(path)).unwrap_or_else(|_| unreachable!("{}", fault.what))
        })
    }

    /// The window that a receiver would advertise if there were memory without end, in bytes.
    pub(super) fn receive_window(&self, path: &PathHints) -> u64 {
        match self.ends(&PathHints { memory: u64::MAX, ..*path }) {
            Ends::Window(config) => config.receiver.window,
            _ => path.memory,
        }
    }

    /// An eighth of what a receiver grants, in what it counts. Segments of SSTP may be of any size, and of others nothing is
    /// known: there each piece matters.
    pub(super) fn reading(&self, path: &PathHints) -> Reading {
        match self.ends(path).properties().receive_window() {
            ReceiveWindow::Bytes(window) => {
                Reading { bytes: (window / 8).clamp(1, MOST_READ), pieces: u32::MAX }
            }
            ReceiveWindow::Messages(window) => Reading { bytes: MOST_READ, pieces: (window / 8).max(1) },
            ReceiveWindow::Other => Reading { bytes: 1, pieces: 1 },
        }
    }
}

/// Bytes that an application takes in silence, at most.
const MOST_READ: u64 = 512 << 10;
