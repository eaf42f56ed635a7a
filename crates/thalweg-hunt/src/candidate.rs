//! Candidates: a path with disturbances, in integers of small units, which the scenario file represents exactly.

/// Candidate scenario of the search.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Bottleneck rate, in kbit/s.
    pub rate: u32,
    /// Bottleneck one-way delay, in microseconds.
    pub delay: u32,
    /// Bottleneck queue limit, in packets.
    pub queue: u32,
    /// Number of flows under test.
    pub count: u32,
    /// Start time of the flows under test, in milliseconds.
    pub start: u32,
    /// Interval between the starts of consecutive flows under test, in milliseconds.
    pub stagger: u32,
    /// Maximum random delay per packet, in microseconds.
    pub jitter: u32,
    /// Random loss rate, in millionths.
    pub loss: u32,
    /// Lost packets, by their index on the link: the first, and the count.
    pub bursts: Vec<(u32, u32)>,
    /// Changes of the bottleneck, in order of time.
    pub changes: Vec<Change>,
    /// Datagram sources that send in bursts.
    pub pulses: Vec<Pulses>,
    /// Flows of other schemes, or of the same scheme with another round-trip time.
    pub competing_flows: Vec<CompetingFlow>,
}

/// Change of the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Time, in milliseconds.
    pub at: u32,
    /// Kind and value of the change.
    pub what: Disturbance,
}

/// Kind of bottleneck change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Disturbance {
    /// Transmission pause, in milliseconds.
    Outage(u32),
    /// Loss of all packets in both directions, for this many milliseconds.
    Blackout(u32),
    /// New rate, in percent of the initial rate.
    Rate(u32),
    /// New delay, in microseconds.
    Delay(u32),
}

/// Datagram source that sends in bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pulses {
    /// Time of the first burst, in milliseconds.
    pub start: u32,
    /// Length of a burst, in milliseconds.
    pub burst_length: u32,
    /// Time between two bursts, in milliseconds.
    pub off: u32,
    /// Rate of a burst, in percent of the bottleneck rate.
    pub percent: u32,
}

impl Pulses {
    /// Returns the mean rate, in percent of the bottleneck rate.
    pub fn load(&self) -> u32 {
        let period = u64::from(self.burst_length) + u64::from(self.off);
        (u64::from(self.burst_length) * u64::from(self.percent) / period.max(1)) as u32
    }
}

/// Competing flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CompetingFlow {
    /// Start time, in milliseconds.
    pub start: u32,
    /// Additional one-way delay of its path, in microseconds.
    pub extra_delay: u32,
}

/// Kind of disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DisturbanceKind {
    /// Changes of the bottleneck rate.
    Rates,
    /// Pauses of the bottleneck.
    Outages,
    /// Changes of the bottleneck delay.
    Delays,
    /// Burst or random loss.
    Losses,
    /// Random delay per packet.
    Jitter,
    /// Bursts of datagrams.
    Pulses,
    /// Competing flows.
    Flows,
    /// Late or staggered starts of the flows under test.
    Starts,
}

impl DisturbanceKind {
    /// All kinds.
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

    /// Returns the name on command lines.
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

/// Set of disturbance kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kinds(u16);

impl Kinds {
    /// Returns the set of all kinds.
    pub fn all() -> Self {
        DisturbanceKind::ALL.into_iter().collect()
    }

    /// Returns true if the set contains `kind`.
    pub const fn has(self, kind: DisturbanceKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// Returns the intersection.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Iterates over the kinds in the set.
    pub fn iter(self) -> impl Iterator<Item = DisturbanceKind> {
        DisturbanceKind::ALL.into_iter().filter(move |kind| self.has(*kind))
    }

    /// Returns the names of the kinds.
    pub fn names(self) -> String {
        let names: Vec<&str> = self.iter().map(DisturbanceKind::name).collect();
        if names.is_empty() { "nothing but the path".to_owned() } else { names.join(", ") }
    }
}

impl FromIterator<DisturbanceKind> for Kinds {
    fn from_iter<I: IntoIterator<Item = DisturbanceKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |all, kind| all | kind.bit()))
    }
}

/// Values of a candidate: of its path, of the disturbances that occur at most once (0 for none), and of the others.
type Values<'a> = ([&'a mut u32; 3], [&'a mut u32; 4], Vec<&'a mut u32>);

impl Candidate {
    /// Returns all values.
    pub fn values(&mut self) -> Values<'_> {
        let mut others = Vec::new();
        for (first, count) in &mut self.bursts {
            others.extend([first, count]);
        }
        for change in &mut self.changes {
            let (Disturbance::Outage(value)
            | Disturbance::Blackout(value)
            | Disturbance::Rate(value)
            | Disturbance::Delay(value)) = &mut change.what;
            others.extend([&mut change.at, value]);
        }
        for pulses in &mut self.pulses {
            others.extend([
                &mut pulses.start,
                &mut pulses.burst_length,
                &mut pulses.off,
                &mut pulses.percent,
            ]);
        }
        for other in &mut self.competing_flows {
            others.extend([&mut other.start, &mut other.extra_delay]);
        }
        let path = [&mut self.rate, &mut self.delay, &mut self.queue];
        (path, [&mut self.start, &mut self.stagger, &mut self.jitter, &mut self.loss], others)
    }

    /// Returns the kinds of its disturbances.
    pub fn kinds(&self) -> Kinds {
        let has = |kind: &DisturbanceKind| match kind {
            DisturbanceKind::Rates => {
                self.changes.iter().any(|change| matches!(change.what, Disturbance::Rate(_)))
            }
            DisturbanceKind::Outages => {
                self.changes.iter().any(|change| matches!(change.what, Disturbance::Outage(_)))
            }
            DisturbanceKind::Delays => {
                self.changes.iter().any(|change| matches!(change.what, Disturbance::Delay(_)))
            }
            DisturbanceKind::Losses => {
                let is_blackout = |change: &Change| matches!(change.what, Disturbance::Blackout(_));
                self.loss > 0 || !self.bursts.is_empty() || self.changes.iter().any(is_blackout)
            }
            DisturbanceKind::Jitter => self.jitter > 0,
            DisturbanceKind::Pulses => !self.pulses.is_empty(),
            DisturbanceKind::Flows => !self.competing_flows.is_empty(),
            DisturbanceKind::Starts => self.start > 0 || self.stagger > 0,
        };
        DisturbanceKind::ALL.into_iter().filter(has).collect()
    }

    /// Returns the number of disturbances.
    pub fn disturbances(&self) -> usize {
        let single = [self.start, self.stagger, self.jitter, self.loss];
        let lists = self.bursts.len() + self.changes.len() + self.pulses.len() + self.competing_flows.len();
        single.iter().filter(|value| **value > 0).count() + lists
    }

    /// Returns the bandwidth-delay product, in packets of 1500 bytes, at least 1.
    pub fn product(&self) -> f64 {
        (f64::from(self.rate) * 2.0 * f64::from(self.delay) / 1000.0 / 12_000.0).max(1.0)
    }
}
