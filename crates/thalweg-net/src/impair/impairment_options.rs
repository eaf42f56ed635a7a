//! Specification of the impairment of one direction, parsed from options.

use std::fmt;
use std::str::FromStr;
use thalweg_catalog::Registry;
use thalweg_catalog::spelling_suggestions::nearest_name;
use thalweg_proto::units::{Bytes, Duration, Packets, Rate, Share, Time, UnitError};
use thalweg_queue::random_delay::{TimeSpec, VariationSpec};
use thalweg_queue::{
    AggregationSpec, DisciplineSpec, EcnTreatment, ImpairmentSpec, Limit, LossSpec, PeriodicVariationSpec,
    ReorderSpec, SleepSpec, StartDelaySpec, TokenBucketSpec,
};

/// Time interval: `10s..20s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start of the interval.
    pub from: Duration,
    /// End of the interval.
    pub until: Duration,
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (from, until) = text.split_once("..").ok_or("expected two times, such as `10s..20s`")?;
        let time = |text: &str| text.parse::<Duration>().map_err(|error| error.to_string());
        let span = Self { from: time(from)?, until: time(until)? };
        if span.from < span.until { Ok(span) } else { Err("its end is before its start".to_owned()) }
    }
}

/// Change of the MTU: `10s:1300B`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MtuChange {
    /// Time of the change.
    pub at: Duration,
    /// New MTU, including IP and UDP headers.
    pub mtu: Bytes,
}

impl FromStr for MtuChange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (at, mtu) = text.split_once(':').ok_or("expected a time and a size, such as `10s:1300B`")?;
        Ok(Self { at: parse_quantity(at)?, mtu: parse_quantity(mtu).and_then(not_too_small)? })
    }
}

/// Impairment of one direction. The stages are, in order: a blackout or the MTU drops datagrams; the queue takes or
/// drops them; the transmitter sends them at its rate; the wire applies the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionSpec {
    /// Rate of the transmitter, including IP and UDP headers. `None` is unlimited, without a queue unless its
    /// discipline must see every packet.
    pub rate: Option<Rate>,
    /// Propagation delay of the wire.
    pub delay: Duration,
    /// Loss probability, 0 to 1.
    pub loss: f64,
    /// Mean loss burst length in datagrams, at least 1; `None` for independent losses.
    pub burst: Option<f64>,
    /// Probability of duplication.
    pub duplicate: f64,
    /// Probability of corruption of one byte.
    pub corrupt: f64,
    /// Probability of a delay that reorders datagrams.
    pub reorder: f64,
    /// Maximum reordering delay.
    pub reorder_delay: Duration,
    /// Random delay on the wire in addition to `delay`; not one per flow.
    pub jitter: Option<VariationSpec>,
    /// Token bucket before the transmitter, and the service-start delay of an idle one.
    pub start_delay: StartDelaySpec,
    /// Frame aggregation: datagrams arrive in batches.
    pub aggregation: Option<AggregationSpec>,
    /// Periodic variation of rate and delay, counted from the first datagram of any direction.
    pub periodic_variation: Option<PeriodicVariationSpec>,
    /// Treatment of ECN codepoints.
    pub ecn: EcnTreatment,
    /// Queue before the transmitter.
    pub queue: DisciplineSpec,
    /// MTU, including IP and UDP headers.
    pub mtu: Option<Bytes>,
    /// Changes of the MTU, at times counted from the first datagram of any direction; the latest change applies.
    pub mtu_changes: Vec<MtuChange>,
    /// Intervals without any arrival, counted from the first datagram of any direction.
    pub blackouts: Vec<Span>,
}

impl Default for DirectionSpec {
    /// Returns an unimpaired wire with a FIFO queue of 1 MB.
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            loss: 0.0,
            burst: None,
            duplicate: 0.0,
            corrupt: 0.0,
            reorder: 0.0,
            reorder_delay: Duration::from_millis(10),
            jitter: None,
            start_delay: StartDelaySpec::default(),
            aggregation: None,
            periodic_variation: None,
            ecn: EcnTreatment::Kept,
            queue: DisciplineSpec::fcfs(Limit::Bytes(1_000_000)),
            mtu: None,
            mtu_changes: Vec::new(),
            blackouts: Vec::new(),
        }
    }
}

/// Reason for an invalid option of a direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectionError {
    /// Unknown option.
    Unknown(String),
    /// Duplicate option.
    Twice(String),
    /// Invalid value.
    Value {
        /// Name of the option.
        key: &'static str,
        /// Value as given.
        given_value: String,
        /// Description of the error or of the expected value.
        reason: String,
    },
    /// Impossible combination of loss share and burst length: at least one datagram arrives between two bursts.
    Burst,
}

impl fmt::Display for DirectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(given) => {
                let meant = nearest_name(given, KEYS).filter(|meant| meant != given);
                let hint = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
                write!(
                    f,
                    "`{given}` is not an option of a direction{hint} (KEY=VALUE, where KEY is one of {})",
                    KEYS.join(", ")
                )
            }
            Self::Twice(key) => write!(f, "{key} is given twice"),
            Self::Value { key, given_value: given, reason } => {
                write!(f, "{key} cannot be `{given}`: {reason}")
            }
            Self::Burst => f.write_str("this loss rate needs longer bursts"),
        }
    }
}

impl std::error::Error for DirectionError {}

/// Options of a direction, as on the command line.
const KEYS: [&str; 18] = [
    "rate",
    "delay",
    "loss",
    "burst",
    "duplicate",
    "corrupt",
    "reorder",
    "reorder-delay",
    "jitter",
    "shaper",
    "sleep",
    "aggregation",
    "ecn",
    "queue",
    "buffer",
    "mtu",
    "mtu-change",
    "blackout",
];

/// Options that may be repeated.
const REPEATABLE_OPTIONS: [&str; 3] = ["mtu-change", "blackout", "sleep"];

impl DirectionSpec {
    /// Sets the options in `text`: `KEY=VALUE`, separated by commas. `registry` provides the disciplines.
    ///
    /// # Errors
    ///
    /// Returns the first option that is unknown, repeated or has an invalid value.
    pub fn set_all(&mut self, text: &str, registry: &Registry) -> Result<(), DirectionError> {
        let mut seen = Vec::new();
        for option in text.split(',') {
            let (key, value) =
                option.split_once('=').ok_or_else(|| DirectionError::Unknown(option.trim().to_owned()))?;
            let (key, value) = (key.trim(), value.trim());
            if seen.contains(&key) && !REPEATABLE_OPTIONS.contains(&key) {
                return Err(DirectionError::Twice(key.to_owned()));
            }
            seen.push(key);
            self.set(key, value, registry)?;
        }
        Ok(())
    }

    /// Sets one option. `registry` provides the disciplines.
    ///
    /// # Errors
    ///
    /// Returns an error for an unknown option or an invalid value.
    pub fn set(&mut self, key: &str, value: &str, registry: &Registry) -> Result<(), DirectionError> {
        let key = KEYS
            .into_iter()
            .find(|name| *name == key)
            .ok_or_else(|| DirectionError::Unknown(key.to_owned()))?;
        let wrong = |reason: String| DirectionError::Value { key, given_value: value.to_owned(), reason };
        match key {
            "rate" => self.rate = Some(parse_quantity(value).and_then(above_zero).map_err(wrong)?),
            "delay" => self.delay = parse_quantity(value).map_err(wrong)?,
            "loss" => self.loss = parse_share(value).map_err(wrong)?,
            "burst" => self.burst = Some(parse_packet_count(value).map_err(wrong)?),
            "duplicate" => self.duplicate = parse_share(value).map_err(wrong)?,
            "corrupt" => self.corrupt = parse_share(value).map_err(wrong)?,
            "reorder" => self.reorder = parse_share(value).map_err(wrong)?,
            "reorder-delay" => self.reorder_delay = parse_quantity(value).map_err(wrong)?,
            "jitter" => self.jitter = parse_jitter(value).map_err(wrong)?,
            "shaper" => {
                let (rate, burst) =
                    parse_pair(value, "a rate and a burst, such as `5Mbit/s:100kB`").map_err(wrong)?;
                self.start_delay.shaper = Some(TokenBucketSpec { rate, burst });
                self.start_delay.check().map_err(|error| wrong(error.to_string()))?;
            }
            "sleep" => {
                let (after, wake) = parse_pair(value, "two times, such as `11.6s:260ms`").map_err(wrong)?;
                self.start_delay.sleep = self
                    .start_delay
                    .sleep
                    .iter()
                    .copied()
                    .chain([SleepSpec { idle_time: after, wake }])
                    .collect();
                self.start_delay.check().map_err(|error| wrong(error.to_string()))?;
            }
            "aggregation" => {
                let spec = parse_aggregation(value).map_err(wrong)?;
                spec.check().map_err(|error| wrong(error.to_string()))?;
                self.aggregation = Some(spec);
            }
            "ecn" => self.ecn = parse_ecn_treatment(value).map_err(wrong)?,
            "queue" => self.queue = parse_queue(value, self.queue.limit(), registry).map_err(wrong)?,
            "buffer" => self.queue.set_limit(parse_queue_size(value).map_err(wrong)?),
            "mtu" => self.mtu = Some(parse_quantity(value).and_then(not_too_small).map_err(wrong)?),
            "mtu-change" => self.mtu_changes.push(value.parse().map_err(wrong)?),
            _ => self.blackouts.push(value.parse().map_err(wrong)?),
        }
        Ok(())
    }

    /// Checks that the options form a valid direction.
    ///
    /// # Errors
    ///
    /// Returns an error if options contradict each other.
    pub fn check(&self) -> Result<(), DirectionError> {
        match self.impairment().loss {
            LossSpec::GilbertElliott { good_to_bad, .. } if !(0.0..=1.0).contains(&good_to_bad) => {
                Err(DirectionError::Burst)
            }
            _ => Ok(()),
        }
    }

    /// Returns the impairment of the wire. Bursts come from a Gilbert chain that loses nothing in its good state and
    /// everything in its bad one. With mean burst length b, it leaves the bad state with probability 1/b. It is in that
    /// state for a share p of all datagrams if it enters it with probability p / (b (1 - p)).
    pub(super) fn impairment(&self) -> ImpairmentSpec {
        let loss = match self.burst {
            Some(burst) if self.loss > 0.0 && self.loss < 1.0 => LossSpec::GilbertElliott {
                good_to_bad: self.loss / (burst * (1.0 - self.loss)),
                bad_to_good: 1.0 / burst,
                loss_good: 0.0,
                loss_bad: 1.0,
            },
            _ => LossSpec::Uniform { probability: self.loss },
        };
        ImpairmentSpec {
            loss,
            duplicate: self.duplicate,
            corrupt: self.corrupt,
            reorder: Some(ReorderSpec {
                probability: self.reorder,
                delay: self.reorder_delay,
                correlation: 0.0,
            }),
            // The relay handles the MTU itself, and can report it.
            ..ImpairmentSpec::default()
        }
    }

    /// Returns the MTU at `now`; `first` is the arrival time of the first datagram.
    pub(super) fn mtu_at(&self, first: Time, now: Time) -> Option<Bytes> {
        let since = now.since(first);
        let last = self.mtu_changes.iter().filter(|change| change.at <= since).max_by_key(|last| last.at);
        last.map(|last| last.mtu).or(self.mtu)
    }

    /// Returns true during a blackout at `now`; `first` is the arrival time of the first datagram.
    pub(super) fn is_blacked_out(&self, first: Time, now: Time) -> bool {
        let since = now.since(first);
        self.blackouts.iter().any(|span| span.from <= since && since < span.until)
    }
}

fn parse_quantity<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

fn above_zero(rate: Rate) -> Result<Rate, String> {
    if rate.is_zero() { Err("nothing would ever leave".to_owned()) } else { Ok(rate) }
}

/// Every IPv4 path takes packets of 68 bytes (RFC 791).
fn not_too_small(mtu: Bytes) -> Result<Bytes, String> {
    if mtu.get() < 68 {
        Err("expected 68 B or more, the packets of every IPv4 path (RFC 791), such as `1400B`".to_owned())
    } else {
        Ok(mtu)
    }
}

/// Parses a share of datagrams: `1%` or `0.01`. A plain `1` is ambiguous and refused.
fn parse_share(text: &str) -> Result<f64, String> {
    if text.parse() == Ok(1.0) {
        return Err("is that 1%, or all of them? Write `1%` or `100%`".to_owned());
    }
    let share = text.parse::<Share>().ok();
    share.map(|share| share.0).ok_or_else(|| "expected a share from 0 to 1, or from 0% to 100%".to_owned())
}

/// Parses two values, `5Mbit/s:100kB`.
fn parse_pair<A: FromStr<Err: fmt::Display>, B: FromStr<Err: fmt::Display>>(
    text: &str,
    expected: &str,
) -> Result<(A, B), String> {
    let (first, second) = text.split_once(':').ok_or_else(|| format!("expected {expected}"))?;
    Ok((parse_quantity(first)?, parse_quantity(second)?))
}

/// Parses an order-preserving random delay: `5ms` is uniform from zero, `wifi:7ms` is the Wi-Fi model.
fn parse_jitter(text: &str) -> Result<Option<VariationSpec>, String> {
    let distribution = match text.split_once(':') {
        Some(("wifi", average)) => TimeSpec::Wifi { average: parse_quantity(average)? },
        Some(_) => return Err("expected a time, such as `5ms`, or Wi-Fi's, such as `wifi:7ms`".to_owned()),
        None => TimeSpec::Uniform { min: Duration::ZERO, max: parse_quantity(text)? },
    };
    if let Some(fault) = distribution.fault() {
        return Err(fault.to_owned());
    }
    let spec = VariationSpec::new(distribution);
    Ok((!spec.distribution.longest().is_zero()).then_some(spec))
}

/// Parses the aggregation of a wire: `2ms`, or with a maximum batch size `4ms:64pkt`.
fn parse_aggregation(text: &str) -> Result<AggregationSpec, String> {
    let (every, max) = text.split_once(':').map_or((text, None), |(every, max)| (every, Some(max)));
    let packets = max.map(parse_packet_count).transpose()?.map(|packets| packets as u64);
    Ok(AggregationSpec { every: parse_quantity(every)?, packets })
}

/// Parses the name of an ECN treatment.
fn parse_ecn_treatment(text: &str) -> Result<EcnTreatment, String> {
    let named = EcnTreatment::ALL.into_iter().find(|treatment| treatment.name() == text);
    named.ok_or_else(|| format!("there are {}", EcnTreatment::ALL.map(EcnTreatment::name).join(", ")))
}

/// Parses a number of datagrams: `8pkt`.
fn parse_packet_count(text: &str) -> Result<f64, String> {
    let Packets(number) = text.parse().map_err(|error: UnitError| error.to_string())?;
    if (1.0..=1e6).contains(&number) {
        Ok(number)
    } else {
        Err("expected a number of packets from 1 to 1000000, such as `8pkt`".to_owned())
    }
}

/// Parses a queue size: `100pkt` or `500kB`.
fn parse_queue_size(text: &str) -> Result<Limit, String> {
    if text.ends_with("pkt") {
        return parse_packet_count(text).map(|number| Limit::Packets(number as u64));
    }
    let bytes: Bytes = parse_quantity(text)?;
    if bytes.get() <= MAX_BUFFER {
        Ok(Limit::Bytes(bytes.get()))
    } else {
        Err("a buffer has at most 1 GB".to_owned())
    }
}

/// Maximum queue size.
const MAX_BUFFER: u64 = 1_000_000_000;

/// Parses a discipline with its options: `codel`, `codel:target=20ms`.
fn parse_queue(text: &str, limit: Limit, registry: &Registry) -> Result<DisciplineSpec, String> {
    let needs_priorities =
        |name: &str| registry.read_discipline(name, limit).is_ok_and(|spec| spec.depends_on_priority());
    let spec = registry.read_discipline(text, limit);
    let spec = spec.map_err(|error| error.offering(|name| !needs_priorities(name)).to_string())?;
    if spec.depends_on_priority() {
        return Err("a relay cannot read the priorities of datagrams".to_owned());
    }
    spec.check().map_err(|error| error.to_string()).map(|()| spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_queue::CoDelConfig;

    #[test]
    fn a_message_offers_the_disciplines_that_a_relay_accepts() {
        let registry = Registry::default();
        let read = |name: &str| parse_queue(name, Limit::Packets(10), &registry);
        let message = read("tail").unwrap_err();
        let offered = message.strip_prefix("there is no discipline `tail`; there are ").unwrap();
        let offered: Vec<&str> = offered.split("; ").next().unwrap().split(", ").collect();
        let all = registry.disciplines().iter().map(|description| description.name);
        let accepted: Vec<&str> = all.filter(|name| read(name).is_ok()).collect();
        assert_eq!(offered, accepted);
        assert!(!offered.contains(&"priority") && registry.discipline("priority").is_some());
    }

    #[test]
    fn options_are_read_with_their_units() {
        let mut spec = DirectionSpec::default();
        spec.set_all(
            "rate=20Mbit/s, delay=300ms,loss=1%,burst=8pkt,duplicate=0.5,corrupt=0.1%,reorder=10%",
            &Registry::default(),
        )
        .unwrap();
        spec.set_all(
            "reorder-delay=5ms,buffer=100pkt,queue=codel,mtu=1300B,blackout=10s..20s,blackout=30s..31s",
            &Registry::default(),
        )
        .unwrap();
        assert_eq!(spec.rate, Some(Rate::from_mbits_per_sec(20)));
        assert_eq!(spec.delay, Duration::from_millis(300));
        assert_eq!((spec.loss, spec.burst, spec.duplicate, spec.corrupt), (0.01, Some(8.0), 0.5, 0.001));
        assert_eq!(spec.queue, DisciplineSpec::new(Limit::Packets(100), CoDelConfig::default()));
        assert_eq!((spec.mtu, spec.blackouts.len()), (Some(Bytes::new(1300)), 2));
        let impairment = spec.impairment();
        assert!((impairment.loss.mean_rate() - 0.01).abs() < 1e-12);
        assert!((impairment.loss.mean_burst() - 8.0).abs() < 1e-9);
        assert!(impairment.check().is_ok() && spec.check().is_ok());
        let first = Time::from_picos(7);
        let at = |secs| first + Duration::from_secs(secs);
        assert_eq!(
            [9, 10, 19, 20, 30].map(|secs| spec.is_blacked_out(first, at(secs))),
            [false, true, true, false, true]
        );
        spec.set_all("mtu-change=5s:1280B,mtu-change=9s:1400B", &Registry::default()).unwrap();
        assert_eq!(
            [4, 5, 8, 9].map(|secs| spec.mtu_at(first, at(secs)).unwrap().get()),
            [1300, 1280, 1280, 1400]
        );
    }

    #[test]
    fn an_ambiguous_share_of_one_is_refused() {
        let mut spec = DirectionSpec::default();
        let why = spec.set("loss", "1", &Registry::default()).unwrap_err().to_string();
        assert!(why.contains("Write `1%` or `100%`"), "{why}");
        spec.set_all("loss=100%,corrupt=0.01,duplicate=1%,reorder=0", &Registry::default()).unwrap();
        assert_eq!((spec.loss, spec.corrupt, spec.duplicate), (1.0, 0.01, 0.01));
    }

    #[test]
    fn access_network_options_are_parsed_with_units() {
        let (mut spec, registry) = (DirectionSpec::default(), Registry::default());
        spec.set_all(
            "jitter=wifi:7ms,shaper=5Mbit/s:100kB,sleep=100ms:20ms,sleep=11.6s:260ms,aggregation=4ms:64pkt,ecn=bleached",
            &registry,
        )
        .unwrap();
        let ms = Duration::from_millis;
        assert_eq!(spec.jitter.as_ref().unwrap().distribution, TimeSpec::Wifi { average: ms(7) });
        assert_eq!(
            spec.start_delay.shaper.unwrap().admitted_from_full_bucket(Duration::ZERO),
            Bytes::new(100_000)
        );
        assert_eq!(spec.start_delay.sleep[1], SleepSpec { idle_time: ms(11_600), wake: ms(260) });
        assert_eq!(spec.aggregation, Some(AggregationSpec { every: ms(4), packets: Some(64) }));
        assert_eq!(spec.ecn, EcnTreatment::Bleached);
        let error = |text: &str| DirectionSpec::default().set_all(text, &registry).unwrap_err().to_string();
        assert_eq!(
            error("jitter=cable:7ms"),
            "jitter cannot be `cable:7ms`: expected a time, such as `5ms`, or Wi-Fi's, such as `wifi:7ms`"
        );
        assert_eq!(
            error("shaper=5Mbit/s"),
            "shaper cannot be `5Mbit/s`: expected a rate and a burst, such as `5Mbit/s:100kB`"
        );
        assert_eq!(
            error("aggregation=0s"),
            "aggregation cannot be `0s`: `every` must be a number above zero, but it is 0"
        );
        assert!(
            error("ecn=washed")
                .ends_with("there are kept, bleached, ect1-to-ect0, marks-lost, tunnel-compatible")
        );
        assert!(error("sleep=1s:20ms,sleep=2s:10ms").contains("each state of sleep must begin later"));
    }

    #[test]
    fn invalid_options_are_reported() {
        let error = |text: &str| {
            DirectionSpec::default().set_all(text, &Registry::default()).unwrap_err().to_string()
        };
        assert_eq!(error("loss=2"), "loss cannot be `2`: expected a share from 0 to 1, or from 0% to 100%");
        assert_eq!(
            error("loss=-1%"),
            "loss cannot be `-1%`: expected a share from 0 to 1, or from 0% to 100%"
        );
        assert_eq!(error("rate=0bit/s"), "rate cannot be `0bit/s`: nothing would ever leave");
        assert!(error("delay=5").starts_with("delay cannot be `5`: `5` has no unit"));
        assert!(
            error("lose=1%").starts_with("`lose` is not an option of a direction; did you mean `loss`? (KEY")
        );
        assert!(error("narrow=5s:1280B").contains("did you mean `mtu-change`?"));
        assert!(error("loss").starts_with("`loss` is not an option"));
        assert!(error("queue=tail").contains(
            "there are fcfs, random-drop, fq, sfq, drr, virtual-clock, red, codel, fq-codel, cake, pie"
        ));
        assert_eq!(error("blackout=20s..10s"), "blackout cannot be `20s..10s`: its end is before its start");
        assert_eq!(
            error("mtu-change=5s"),
            "mtu-change cannot be `5s`: expected a time and a size, such as `10s:1300B`"
        );
        assert_eq!(error("loss=1%,loss=2%"), "loss is given twice");
        assert_eq!(
            error("mtu=67B"),
            "mtu cannot be `67B`: expected 68 B or more, the packets of every IPv4 path (RFC 791), such as `1400B`"
        );
        assert!(error("mtu-change=5s:0B").ends_with("such as `1400B`"));
        assert!(error("buffer=2GB").ends_with("a buffer has at most 1 GB"));
        // Half of all datagrams in bursts of 1.01: the chain would have to enter its bad state 0.99 times per datagram.
        // Two thirds need a mean of at least 2.
        let mut spec = DirectionSpec::default();
        spec.set_all("loss=0.5,burst=1.01pkt", &Registry::default()).unwrap();
        assert_eq!(spec.check(), Ok(()));
        spec.set_all("loss=70%", &Registry::default()).unwrap();
        assert_eq!(spec.check(), Err(DirectionError::Burst));
    }
}
