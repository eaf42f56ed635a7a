//! Candidates: a path with what disturbs it, in whole numbers of small units, so that each is exactly what its scenario file says.

/// A scenario as the search changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Genes {
    /// The rate of the bottleneck in kbit/s.
    pub rate: u32,
    /// Its delay in microseconds, one way.
    pub delay: u32,
    /// Its queue in packets.
    pub queue: u32,
    /// The flows under test.
    pub count: u32,
    /// The time at which they start, in milliseconds.
    pub start: u32,
    /// The time, in milliseconds, by which each of them starts later than the one before.
    pub stagger: u32,
    /// Random delay of each packet up to this, in microseconds.
    pub jitter: u32,
    /// Random loss in millionths.
    pub loss: u32,
    /// Packets that are lost, by their numbers on the wire: the first, and how many.
    pub bursts: Vec<(u32, u32)>,
    /// Changes of the bottleneck, in order of time.
    pub changes: Vec<Change>,
    /// Datagrams in pulses.
    pub pulses: Vec<Pulses>,
    /// Flows of other schemes, or of the same with another round trip.
    pub others: Vec<Other>,
}

/// A change of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The time, in milliseconds.
    pub at: u32,
    /// The change.
    pub what: What,
}

/// The kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The transmitter stops for so many milliseconds.
    Outage(u32),
    /// All packets of both directions are lost for so many milliseconds.
    Blackout(u32),
    /// The rate is this share of the first one from now on, in percent.
    Rate(u32),
    /// The delay is this, in microseconds.
    Delay(u32),
}

/// Datagrams that come in pulses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pulses {
    /// The time of the first, in milliseconds.
    pub start: u32,
    /// The length of each, in milliseconds.
    pub on: u32,
    /// The time between two, in milliseconds.
    pub off: u32,
    /// The rate of each, in percent of the bottleneck's.
    pub percent: u32,
}

impl Pulses {
    /// The mean rate, in percent of the bottleneck's.
    pub fn load(&self) -> u32 {
        let period = u64::from(self.on) + u64::from(self.off);
        (u64::from(self.on) * u64::from(self.percent) / period.max(1)) as u32
    }
}

/// A flow beside those under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Other {
    /// The time at which it starts, in milliseconds.
    pub start: u32,
    /// Its path is longer by this, in microseconds, one way.
    pub further: u32,
}

/// The kinds of disturbances, of which a candidate has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The rate of the bottleneck changes.
    Rates,
    /// It stops.
    Outages,
    /// Its delay changes.
    Delays,
    /// Packets are lost, several together or by chance.
    Losses,
    /// Each packet takes a random time longer.
    Jitter,
    /// Datagrams come in pulses.
    Pulses,
    /// There are other flows.
    Flows,
    /// The flows under test start late, or one after the other.
    Starts,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Rates,
        Self::Outages,
        Self::Delays,
        Self::Losses,
        Self::Jitter,
        Self::Pulses,
        Self::Flows,
        Self::Starts,
    ];

    /// The name on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rates => "rates",
            Self::Outages => "outages",
            Self::Delays => "delays",
            Self::Losses => "losses",
            Self::Jitter => "jitter",
            Self::Pulses => "pulses",
            Self::Flows => "flows",
            Self::Starts => "starts",
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Some kinds of disturbances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kinds(u16);

impl Kinds {
    /// All.
    pub fn all() -> Self {
        Kind::ALL.into_iter().collect()
    }

    /// True if `kind` is among them.
    pub const fn has(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Those that are in both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    /// Their names.
    pub fn words(self) -> String {
        let names: Vec<&str> = self.iter().map(Kind::name).collect();
        if names.is_empty() { "nothing but the path".to_owned() } else { names.join(", ") }
    }
}

impl FromIterator<Kind> for Kinds {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |all, kind| all | kind.bit()))
    }
}

/// The values of a candidate: of its path, of the disturbances of which there is one at most (0: there is none), and of the others.
type Values<'a> = ([&'a mut u32; 3], [&'a mut u32; 4], Vec<&'a mut u32>);

impl Genes {
    /// All that has a value.
    pub fn values(&mut self) -> Values<'_> {
        let mut others = Vec::new();
        for (first, count) in &mut self.bursts {
            others.extend([first, count]);
        }
        for change in &mut self.changes {
            let (What::Outage(value) | What::Blackout(value) | What::Rate(value) | What::Delay(value)) =
                &mut change.what;
            others.extend([&mut change.at, value]);
        }
        for pulses in &mut self.pulses {
            others.extend([&mut pulses.start, &mut pulses.on, &mut pulses.off, &mut pulses.percent]);
        }
        for other in &mut self.others {
            others.extend([&mut other.start, &mut other.further]);
        }
        let path = [&mut self.rate, &mut self.delay, &mut self.queue];
        (path, [&mut self.start, &mut self.stagger, &mut self.jitter, &mut self.loss], others)
    }

    /// The kinds of disturbances that it has.
    pub fn kinds(&self) -> Kinds {
        let has = |kind: &Kind| match kind {
            Kind::Rates => self.changes.iter().any(|change| matches!(change.what, What::Rate(_))),
            Kind::Outages => self.changes.iter().any(|change| matches!(change.what, What::Outage(_))),
            Kind::Delays => self.changes.iter().any(|change| matches!(change.what, What::Delay(_))),
            Kind::Losses => {
                let is_blackout = |change: &Change| matches!(change.what, What::Blackout(_));
                self.loss > 0 || !self.bursts.is_empty() || self.changes.iter().any(is_blackout)
            }
            Kind::Jitter => self.jitter > 0,
            Kind::Pulses => !self.pulses.is_empty(),
            Kind::Flows => !self.others.is_empty(),
            Kind::Starts => self.start > 0 || self.stagger > 0,
        };
        Kind::ALL.into_iter().filter(has).collect()
    }

    /// The number of disturbances.
    pub fn disturbances(&self) -> usize {
        let single = [self.start, self.stagger, self.jitter, self.loss];
        let lists = self.bursts.len() + self.changes.len() + self.pulses.len() + self.others.len();
        single.iter().filter(|value| **value > 0).count() + lists
    }

    /// The bandwidth-delay product in packets of 1500 bytes, at least 1.
    pub fn product(&self) -> f64 {
        (f64::from(self.rate) * 2.0 * f64::from(self.delay) / 1000.0 / 12_000.0).max(1.0)
    }
}
