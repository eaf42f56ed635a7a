//! SSTP: two-level flow control (Gong and Parulkar 1992).

use super::{LOWER_LAYER_OVERHEAD, SIZES, ack_size_key};
use crate::endpoint_configs::EndpointConfigs;
use crate::option_keys::key;
use crate::path_hints::PathHints;
use crate::protocol_family::{Adjustment, ConfiguredRates, EndNeeds, Family, Properties};
use crate::scheme_description::{Collapse, SchemeDescription, SchemeTraits};
use crate::{ConfigError, Environment, Key, Keys, Kind, Range, Value, Values, words};
use std::sync::Arc;
use thalweg_proto::payload::Payload;
use thalweg_proto::sstp::wire::DATA_OVERHEAD;
use thalweg_proto::sstp::{
    Acknowledgement, EndsConfig, Evicted, MAX_WINDOW, Pdu, RateSpec, Receiver, ReceiverConfig, Resume,
    Sender, SenderConfig, Tolerance,
};
use thalweg_proto::units::{Bytes, Duration, Rate, Segments};

/// Two-level flow control (Gong and Parulkar 1992).
pub const SCHEME: SchemeDescription = SchemeDescription {
    name: "sstp",
    keys_listed_under: "sstp",
    about: "Two-level flow control (Gong and Parulkar 1992): an agreed rate for packets, a window for segments.",
    keys: Keys {
        shared: &[SIZES],
        defaults: &[("segment", "1454 B"), ("header", "46 B")],
        ..Keys::own(KEYS)
    },
    traits: SchemeTraits {
        is_reliable: true,
        transport: <EndsConfig as Family>::NAME,
        has_fixed_rate: true,
        config_depends_on_path: true,
        overhead: OVERHEAD,
        collapse: Collapse::Unresponsive,
        is_loss_based: false,
        is_less_than_best_effort: false,
    },
    family_check: &check,
    scheme_check: |_| Vec::new(),
    warnings: buffer_warnings,
    apply_path_hints,
    make_endpoint_configs: &make_endpoint_configs,
    write_values: &write,
};

const OVERHEAD: u32 = DATA_OVERHEAD as u32;
const PACKET_RANGE: Range = Range::between(1.0, 65_535.0);
const NO_AGREED_RATE: &str = "nothing is sent at this rate";

const KEYS: &[Key] = &[
    key("segment-packets", Kind::Packets, "16 pkt", "s: number of packets of a segment.")
        .within(PACKET_RANGE, "")
        // Requests have one bit per packet of a segment, and must fit into a datagram.
        .peer(Range::between(1.0, 4096.0)),
    key(
        "rate",
        Kind::Rate,
        "",
        "P: rate within a burst, headers included. In simulations the default is the rate of the slowest link of the path.",
    )
    .within(Range::POSITIVE, NO_AGREED_RATE)
    .from_path("the path's rate; 10 Mbit/s if unknown"),
    key(
        "average-rate",
        Kind::Rate,
        "",
        "A = F·L·l: agreed rate, headers included; default: `rate`.",
    )
    .within(Range::POSITIVE, NO_AGREED_RATE),
    key("burst", Kind::Packets, "", "L: number of packets of a burst; default: one segment. With one packet, spacing is even.")
        .within(PACKET_RANGE, ""),
    key(
        "resume",
        RESUME,
        "at-once",
        "Resumption of an idle sender: \"at-once\" or with the \"next-burst\".",
    ),
    key(
        "window",
        Kind::Segments,
        "2.5 wa",
        "W: maximum number of unacknowledged segments. A multiple of w_a, the segments of one round trip, is rounded, from 2 to 32767.",
    )
    .from_path("2.5 w_a, from 2 seg to the receiver's memory; if the path is unknown, w_a at 10 Mbit/s and 200 ms")
    .peer(Range::between(1.0, 32_767.0)),
    key(
        "buffer",
        Kind::Segments,
        "",
        "B: receive buffer, in segments; default: the window.",
    )
    .from_path("the value of `window`")
    .peer(Range::between(1.0, 32_767.0)),
    key(
        "acknowledgement",
        ACKNOWLEDGEMENT,
        "firm",
        "Treatment of segments beyond the buffer: \"hard\", \"soft\" or \"firm\" acknowledgement.",
    ),
    key(
        "evicted",
        EVICTED,
        "all",
        "Soft acknowledgement: when the receiver requests acknowledged segments that it discarded. \"at-once\": when it discards them. \
         \"one\": each of them, once it is the lowest missing segment. \"all\": all of them, once one of them is the lowest missing segment.",
    ),
    key(
        "loss-tolerance",
        Kind::Probability,
        "0",
        "Share of a segment's packets that may be missing.",
    ),
    key(
        "reordering",
        Kind::Count,
        "3",
        "Reordering threshold: number of later packets before one counts as lost; 0 on paths that preserve order.",
    )
    .live_default("0", "the layer below preserves order")
    .peer(Range::between(0.0, 65_535.0)),
    key("repeat", Kind::Time, "", "Time after which an unanswered request is repeated.")
        .only_live("a round trip, at least 10 ms; 200 ms if unknown")
        .peer(Range::at_least(1e-2)),
    ack_size_key("48 B", "Bytes on the wire of packets without data (48 B)."),
];

words!(ACKNOWLEDGEMENT: Acknowledgement {
    "firm" => Acknowledgement::Firm,
    "hard" => Acknowledgement::Hard,
    "soft" => Acknowledgement::Soft(Evicted::All),
});
words!(EVICTED: Evicted { "all" => Evicted::All, "one" => Evicted::One, "at-once" => Evicted::AtOnce });
words!(RESUME: Resume { "at-once" => Resume::AtOnce, "next-burst" => Resume::NextBurst });

fn acknowledgement_mode(values: &Values) -> Acknowledgement {
    match values.optional("acknowledgement").unwrap_or(Acknowledgement::Firm) {
        Acknowledgement::Soft(_) => Acknowledgement::Soft(values.optional("evicted").unwrap_or(Evicted::All)),
        other => other,
    }
}

fn check(values: &Values) -> Vec<ConfigError> {
    let mut faults = Vec::new();
    if values.explicit_value("evicted").is_some() && !acknowledgement_mode(values).is_soft() {
        let warning = ConfigError::new("evicted", "only soft acknowledgement evicts segments");
        faults.push(ConfigError { is_warning: true, ..warning.help("it needs acknowledgement = \"soft\"") });
    }
    if let (Some(average), Some(rate)) =
        (values.optional::<Rate>("average-rate"), values.optional::<Rate>("rate"))
        && average > rate
    {
        faults.push(ConfigError::new(
            "average-rate",
            format!("the average rate {average} is above the peak rate {rate}"),
        ));
    }
    check_windows(values, &mut faults);
    faults
}

/// Returns the size of a full packet as counted by the agreed rate.
fn full_packet_size(values: &Values, path: &PathHints) -> Bytes {
    Bytes::new(match values.environment() {
        Environment::Simulated => {
            u64::from(values.required::<u32>("segment")) + u64::from(values.required::<u32>("header"))
        }
        Environment::Live => {
            u64::from(super::agreed_segment(values, path, OVERHEAD))
                + u64::from(OVERHEAD + LOWER_LAYER_OVERHEAD)
        }
    })
}

/// Returns w_a: the number of segments sent in one round trip at `rate` (Gong and Parulkar 1992, section 3.4), for the
/// analysed time t_a = RTD + 3·t_p. `own` is the part of the round trip that is a packet's transmission time at the
/// slowest link.
fn per_round_trip(rate: Rate, size: Bytes, packets: u16, round_trip: Duration, own: Duration) -> f64 {
    let packet = rate.transmission_time(size).as_secs_f64();
    let acknowledgement = (round_trip.as_secs_f64() - own.as_secs_f64()).max(0.0) + 3.0 * packet;
    acknowledgement / (packet * f64::from(packets))
}

fn apply_path_hints(values: &mut Values, path: &PathHints) {
    crate::scheme_description::suggest_live_segment(values, path, OVERHEAD);
    let average: Option<Rate> = values.optional("average-rate");
    let rate = path.rate.unwrap_or(UNKNOWN_RATE).max(average.unwrap_or(Rate::ZERO));
    values.suggest("rate", Value::Rate(rate));
    let rate = average.or(values.optional("rate")).unwrap_or(rate);
    let rtt = path.rtt.unwrap_or(UNKNOWN_RTT);
    values.suggest("repeat", Value::Time(rtt.max(Duration::from_millis(10))));
    let packets: u16 = values.required("segment-packets");
    let w_a = per_round_trip(rate, full_packet_size(values, path), packets, rtt, Duration::ZERO);
    let memory_packets =
        path.memory_packets(super::agreed_segment(values, path, OVERHEAD)) / f64::from(packets);
    let max = memory_packets.clamp(2.0, f64::from(MAX_WINDOW));
    let count =
        |segments: Segments| Value::Segments(Segments::Count(segments.at(w_a).round().clamp(2.0, max)));
    let window = match values.explicit_value("window") {
        Some(Value::Segments(explicit @ Segments::RoundTrips(_))) => count(explicit),
        Some(explicit) => explicit,
        None => count(Segments::RoundTrips(2.5)),
    };
    values.set_value("window", window);
    match values.explicit_value("buffer") {
        Some(Value::Segments(explicit @ Segments::RoundTrips(_))) => {
            values.set_value("buffer", count(explicit));
        }
        Some(_) => {}
        None => values.set_value("buffer", window),
    }
}

fn make_endpoint_configs(values: &Values, path: &PathHints) -> Result<EndpointConfigs, ConfigError> {
    let segment: u16 = values.required("segment-packets");
    let size = full_packet_size(values, path);
    let is_live = values.environment() == Environment::Live;
    // Until a simulated path is known, a placeholder rate of 1 bit/s applies.
    let peak = values.optional("rate").or(path.rate).unwrap_or(Rate::from_bits_per_sec(1));
    let average: Rate = values.optional("average-rate").unwrap_or(peak);
    let burst = values.optional::<u32>("burst").unwrap_or(u32::from(segment));
    let is_known = is_live || path.rate.is_some();
    let agreed = if is_known {
        RateSpec::with_average(peak, average, burst, size)
    } else {
        RateSpec::with_average(peak.max(average), average, 1, size)
    };
    let rate = agreed.map_err(|error| {
        let key = if values.explicit_value("average-rate").is_some() { "average-rate" } else { "rate" };
        ConfigError::new(key, error.to_string())
    })?;
    let (window, buffer) =
        if is_known { window_and_buffer(values, path, segment, average, size) } else { (1, 1) };
    let acknowledgement = acknowledgement_mode(values);
    let agreed =
        if is_live { super::agreed_segment(values, path, OVERHEAD) } else { values.required("segment") };
    let sender = SenderConfig {
        segment_packets: segment,
        max_payload: if is_live { super::local_segment(values, path, OVERHEAD) } else { agreed },
        rate: if is_live { rate.with_slack(WAKE_UP_LATENCY) } else { rate },
        resume: values.optional("resume").unwrap_or(Resume::AtOnce),
        window,
        soft: acknowledgement.is_soft(),
    };
    let max = if is_live { path.memory_packets(agreed) / f64::from(segment) } else { f64::from(u16::MAX) };
    let max = max.clamp(1.0, f64::from(u16::MAX)) as u16;
    let repeat = path.rtt.unwrap_or(Duration::ZERO);
    let receiver = ReceiverConfig {
        segment_packets: segment,
        max_payload: agreed,
        window: window.min(max),
        buffer: buffer.min(max),
        acknowledgement,
        tolerance: Tolerance::Fraction(values.required("loss-tolerance")),
        reordering: values.required("reordering"),
        repeat: if is_live { values.optional("repeat").unwrap_or(UNKNOWN_RTT) } else { repeat },
        wait_for_consumption: is_live,
    };
    Ok(EndpointConfigs::Sstp(EndsConfig::new(sender, receiver)))
}

/// Returns the explicit or default segments of a key.
fn segments_of_key(values: &Values, key: &str) -> Option<Segments> {
    match values.get(key) {
        Some(Value::Segments(segments)) => Some(segments),
        _ => None,
    }
}

/// Returns true for a size derived from the path. Such a size is limited to the number space of the protocol; an
/// explicit size beyond it is rejected.
const fn is_decided(segments: Segments) -> bool {
    matches!(segments, Segments::RoundTrips(times) if times > 0.0)
}

/// Finds explicit windows and buffers that are invalid on any path.
fn check_windows(values: &Values, faults: &mut Vec<ConfigError>) {
    let explicit = |key: &str| {
        segments_of_key(values, key)
            .filter(|&explicit| !is_decided(explicit))
            .map(|explicit| explicit.at(0.0).round())
    };
    if explicit("buffer").is_some_and(|buffer| buffer < 1.0) {
        faults.push(ConfigError::new("buffer", "a buffer below one segment never accepts anything"));
    }
    if explicit("window").is_some_and(|window| window > f64::from(MAX_WINDOW)) {
        let what = format!("a window has at most {MAX_WINDOW} segments");
        faults.push(ConfigError::new("window", what).help("larger segments make it smaller"));
    }
    if explicit("window").is_some_and(|window| window < 1.0) {
        faults.push(ConfigError::new("window", "a window below one segment never sends"));
    }
}

/// Returns the window and the buffer in segments, for a known path.
fn window_and_buffer(
    values: &Values,
    path: &PathHints,
    segment: u16,
    average: Rate,
    size: Bytes,
) -> (u16, u16) {
    let own = path.rate.map_or(Duration::ZERO, |rate| rate.transmission_time(size));
    let rtt = path.rtt.unwrap_or(UNKNOWN_RTT);
    let w_a = per_round_trip(average, size, segment, rtt, own);
    let requested = segments_of_key(values, "window").unwrap_or(Segments::RoundTrips(2.5));
    let min = if is_decided(requested) { 2.0 } else { 1.0 };
    // The cast saturates.
    let window = (requested.at(w_a).round().max(min) as u16).min(MAX_WINDOW);
    let buffer = segments_of_key(values, "buffer").map_or(f64::from(window), |buffer| buffer.at(w_a).round());
    (window, (buffer.max(1.0) as u16).min(window))
}

/// Warns of a buffer larger than the window.
fn buffer_warnings(values: &Values, path: &PathHints) -> Vec<ConfigError> {
    let Ok(EndpointConfigs::Sstp(EndsConfig { sender, receiver })) = make_endpoint_configs(values, path)
    else {
        return Vec::new();
    };
    let size = full_packet_size(values, path);
    let (rate, rtt) = (path.rate.unwrap_or(Rate::MAX), path.rtt.unwrap_or(UNKNOWN_RTT));
    let w_a = per_round_trip(
        sender.rate.average(),
        size,
        sender.segment_packets,
        rtt,
        rate.transmission_time(size),
    );
    let Some(Value::Segments(buffer)) = values.explicit_value("buffer") else { return Vec::new() };
    let buffer = buffer.at(w_a).round();
    if buffer <= f64::from(receiver.window) {
        return Vec::new();
    }
    let what = format!("the buffer has {buffer} segments, but the window only {}", receiver.window);
    vec![ConfigError {
        is_warning: true,
        ..ConfigError::new("buffer", what).help("no more than the window is ever used")
    }]
}

fn write(ends: &EndpointConfigs, values: &mut Values) -> bool {
    let EndpointConfigs::Sstp(EndsConfig { sender, receiver }) = ends else { return false };
    values.set_from("segment-packets", &sender.segment_packets);
    values.set_from("rate", &sender.rate.peak());
    values.set_from("average-rate", &sender.rate.average());
    values.set_from("burst", &sender.rate.burst());
    values.set_from("resume", &sender.resume);
    for (key, count) in [("window", receiver.window), ("buffer", receiver.buffer)] {
        values.set_value(key, Value::Segments(Segments::Count(f64::from(count))));
    }
    match receiver.acknowledgement {
        Acknowledgement::Soft(evicted) => {
            values.set_value("acknowledgement", Value::Word("soft"));
            values.set_from("evicted", &evicted);
        }
        other => values.set_from("acknowledgement", &other),
    }
    if let Tolerance::Fraction(share) = receiver.tolerance {
        values.set_from("loss-tolerance", &share);
    }
    values.set_from("reordering", &receiver.reordering);
    values.set_from("segment", &sender.max_payload);
    true
}

/// Wake-up latency of a host that does not slow down the sender.
const WAKE_UP_LATENCY: Duration = Duration::from_millis(1);
/// Rate on paths without a configured or known rate, for schemes that need one: available on most paths.
const UNKNOWN_RATE: Rate = Rate::from_mbits_per_sec(10);
/// Round-trip time on paths without a known one: that of an intercontinental path.
const UNKNOWN_RTT: Duration = Duration::from_millis(200);

impl Family for EndsConfig {
    const NAME: &'static str = "sstp";
    const OVERHEAD: u32 = OVERHEAD;
    type Pdu<P: Payload> = Pdu<P>;
    type Sender<P: Payload> = Sender<P>;
    type Receiver<P: Payload> = Receiver<P>;

    fn sender<P: Payload>(&self) -> Sender<P> {
        Sender::new(Arc::clone(&self.sender))
    }

    fn receiver<P: Payload>(&self) -> Receiver<P> {
        Receiver::new(Arc::clone(&self.receiver))
    }
}

impl Properties for EndsConfig {
    fn segment(&self) -> u32 {
        self.sender.max_payload
    }

    fn has_segment_counts(&self) -> bool {
        true
    }

    fn needs(&self) -> EndNeeds {
        EndNeeds { order: true, ..EndNeeds::default() }
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.sender.window == 0 || self.receiver.window == 0 {
            return Err("window");
        }
        if self.sender.segment_packets == 0 || self.receiver.buffer == 0 {
            return Err("segment or buffer");
        }
        Ok(())
    }

    fn description(&self) -> String {
        let Self { sender, receiver } = self;
        let acknowledgement = match receiver.acknowledgement {
            Acknowledgement::Hard => "hard",
            Acknowledgement::Soft(_) => "soft",
            Acknowledgement::Firm => "firm",
        };
        let missing = match receiver.tolerance.of(sender.segment_packets) {
            0 => String::new(),
            1 => ", 1 packet of a segment may be missing".to_owned(),
            max => format!(", {max} packets of a segment may be missing"),
        };
        format!(
            ", segments of {} packets of {} B at {}, a window of {} segments, room for {}, {acknowledgement} \
             acknowledgement{missing}",
            sender.segment_packets,
            sender.max_payload,
            sender.rate.average(),
            receiver.window,
            receiver.buffer
        )
    }

    fn window(&self) -> Option<u64> {
        Some(u64::from(self.sender.window) * u64::from(self.sender.segment_packets))
    }

    /// The initial burst; all further packets are paced.
    fn first_window(&self) -> f64 {
        self.sender.rate.burst().into()
    }

    fn rates(&self) -> ConfiguredRates {
        ConfiguredRates { agreed: Some(self.sender.rate.average()), key: Some("average-rate"), max: None }
    }

    fn adjust(&mut self, adjustment: Adjustment) -> bool {
        match adjustment {
            Adjustment::Reading => Arc::make_mut(&mut self.receiver).wait_for_consumption = true,
            Adjustment::HostLateness => {
                let sender = Arc::make_mut(&mut self.sender);
                sender.rate = sender.rate.with_slack(WAKE_UP_LATENCY);
            }
            Adjustment::Pause(_) | Adjustment::Misbehaviour(_) => return false,
        }
        true
    }
}
