//! Catalogue description of the scheme SSCOP (ITU-T Q.2110).

use super::{PEER_TIME_RANGE, SIZES};
use crate::endpoint_configs::EndpointConfigs;
use crate::option_keys::key;
use crate::path_hints::PathHints;
use crate::protocol_family::{Adjustment, EndNeeds, Family, OnPath, PathWarning, Properties, ReceiveWindow};
use crate::scheme_description::{Collapse, SchemeDescription, SchemeTraits};
use crate::{ConfigError, Environment, Key, KeyBoundConfig, Keys, Kind, Range, Value, Values, bind};
use std::sync::Arc;
use thalweg_proto::payload::Payload;
use thalweg_proto::sscop::rate::RateConfig;
use thalweg_proto::sscop::{Config, Credit, Endpoint, EndpointConfig, MAX_MESSAGE, Pdu, TimerConfig};
use thalweg_proto::units::{Duration, Rate};

/// SSCOP (ITU-T Q.2110).
pub const SCHEME: SchemeDescription = SchemeDescription {
    name: "sscop",
    keys_listed_under: "sscop",
    about: "SSCOP (ITU-T Q.2110): polls, complete reports, and credit from the receiver. A message of `segment` bytes has 4 bytes of \
     trailer and up to 3 of padding. In simulations `header` (28 B by default) is the overhead of the layers below per PDU; on an ATM \
     line it is \"0 B\".",
    keys: Keys { shared: &[SIZES], defaults: SCHEME_DEFAULTS, ..Keys::own(SSCOP_KEYS) },
    traits: TRAITS,
    family_check: &check,
    scheme_check: |_| Vec::new(),
    warnings: |_, _| Vec::new(),
    apply_path_hints: |values, path| apply_path_hints(values, path, 1024.0),
    make_endpoint_configs: &|values, path| Ok(make_endpoint_configs(values, path, |_, _| None)),
    write_values: &|ends, values| write(ends, values, |rate, _| rate.is_none()),
};

pub(super) const TRAITS: SchemeTraits = SchemeTraits {
    is_reliable: true,
    transport: <EndpointConfig as Family>::NAME,
    has_fixed_rate: false,
    config_depends_on_path: false,
    overhead: OVERHEAD,
    collapse: Collapse::Unresponsive,
    is_loss_based: false,
    is_less_than_best_effort: false,
};
pub(super) const SCHEME_DEFAULTS: &[(&str, &str)] = &[("segment", "1468 B"), ("header", "28 B")];

/// Trailer of an SD PDU and its maximum padding, in bytes.
const OVERHEAD: u32 = TRAILER + 3;
const TRAILER: u32 = 4;
/// Maximum message length at the UNI, in bytes.
const DEFAULT_K: u32 = 4096;
/// The range of windows, in messages: less than half of the 24-bit number space.
const WINDOW_RANGE: Range = Range::between(1.0, 8_388_607.0);
const PEER_MESSAGES: Range = Range::between(1.0, 1_048_576.0);
/// The reason for longer timers: a real path may be down for seconds, and the layer above detects a dead peer.
const LONGER_TIMERS_REASON: &str = "a real path may fail for seconds, and the connection detects a dead peer";
const SIZE_FROM_SEGMENT: &str = "messages are as long as `segment`";

/// The keys of all variants of SSCOP.
pub(super) const SSCOP_KEYS: &[Key] = &[
    key(
        "window",
        Kind::Packets,
        "128 pkt",
        "Credit: number of messages that the receiver accepts beyond the delivered ones.",
    )
    .within(WINDOW_RANGE, "")
    .from_path(
        "the data of two round trips and POLL intervals, at most the receiver's memory; if the path is unknown, 1024 pkt, or \
         with rate control all of that memory",
    )
    .peer(PEER_MESSAGES),
    key(
        "buffer",
        Kind::Packets,
        "8388607 pkt",
        "Maximum number of unacknowledged messages at the sender, regardless of the credit.",
    )
    .within(WINDOW_RANGE, "")
    .from_path("the value of `window`")
    .peer(PEER_MESSAGES),
    key(
        "k",
        Kind::Size,
        "",
        "k: maximum length of a message; default: 4096 B, or `segment` if that is longer.",
    )
    .within(Range::between(0.0, MAX_MESSAGE as f64), "")
    .not_live(SIZE_FROM_SEGMENT),
    key("j", Kind::Size, "4096 B", "j: maximum length of user-to-user information.")
        .within(Range::between(0.0, thalweg_proto::sscop::MAX_UU as f64), "")
        .not_live(SIZE_FROM_SEGMENT),
    key("max-cc", Kind::Count, "4", "Maximum number of transmissions of a BGN, END, RS or ER.")
        .within(Range::at_least(1.0), "")
        .live_default("600", LONGER_TIMERS_REASON)
        .peer(Range::between(1.0, 1_048_576.0)),
    key("max-pd", Kind::Count, "25", "Number of SDs (data PDUs) between POLLs.")
        .within(Range::at_least(1.0), "")
        .peer(Range::between(1.0, 1_048_576.0)),
    key("max-stat", Kind::Count, "67", "Maximum number of list elements of a STAT, an odd number from 3.")
        .within(Range::between(3.0, 16_379.0), ""),
    key("timer-cc", Kind::Time, "1 s", "Timer_CC: time until a BGN, END, RS or ER is repeated.")
        .within(Range::POSITIVE, "")
        .peer(PEER_TIME_RANGE),
    key("timer-poll", Kind::Time, "750 ms", "Timer_POLL: interval between POLLs while data is in flight.")
        .within(Range::POSITIVE, "")
        .from_path("half a round trip, from 20 ms to 750 ms; 100 ms if unknown")
        .peer(PEER_TIME_RANGE),
    key(
        "timer-keep-alive",
        Kind::Time,
        "2 s",
        "Timer_KEEP-ALIVE: interval between POLLs when all data is acknowledged.",
    )
    .within(Range::POSITIVE, "")
    .peer(PEER_TIME_RANGE),
    key("timer-no-response", Kind::Time, "7 s", "Timer_NO-RESPONSE: time until the connection to a silent peer is released.")
        .within(Range::POSITIVE, "")
        .live_default("10 min", LONGER_TIMERS_REASON)
        .peer(PEER_TIME_RANGE),
    key("timer-idle", Kind::Time, "15 s", "Timer_IDLE: time until an idle connection is checked.")
        .within(Range::POSITIVE, "")
        .peer(PEER_TIME_RANGE),
    key(
        "poll-after-retransmission",
        Kind::Switch,
        "false",
        "A POLL follows the last of several retransmissions.",
    )
    .live_default("true", "repeated losses are detected sooner"),
    key(
        "ignore-old-data",
        Kind::Switch,
        "false",
        "Drops duplicates of delivered messages, which otherwise cause a recovery.",
    )
    .live_default("true", "real paths duplicate packets"),
];

bind!(TimerConfig {
    cc: "timer-cc",
    poll: "timer-poll",
    keep_alive: "timer-keep-alive",
    no_response: "timer-no-response",
    idle: "timer-idle",
});

pub(super) fn check(values: &Values) -> Vec<ConfigError> {
    let mut faults = Vec::new();
    if values.required::<u32>("max-stat").is_multiple_of(2) {
        faults.push(ConfigError::new("max-stat", "max-stat is odd"));
    }
    let time = |name: &str| values.optional::<Duration>(name).unwrap_or(Duration::ZERO);
    if time("timer-no-response") <= time("timer-poll").max(time("timer-keep-alive")) {
        let what = "timer-no-response is longer than timer-poll and timer-keep-alive";
        faults.push(ConfigError::new("timer-no-response", what));
    }
    if let (Some(segment), Some(k)) = (values.optional::<u32>("segment"), values.optional::<u32>("k"))
        && segment > k
    {
        faults.push(ConfigError::new(
            "k",
            format!("messages of {segment} B are longer than k, which is {k} B"),
        ));
    }
    faults
}

/// Sets several POLLs per round trip, to detect the loss of a burst's end early, and a window for the data sent until a
/// repair is reported.
pub(super) fn apply_path_hints(values: &mut Values, path: &PathHints, unknown: f64) {
    crate::scheme_description::suggest_live_segment(values, path, OVERHEAD);
    let (min, max) = (Duration::from_millis(20), Duration::from_millis(750));
    let poll = path.rtt.map_or(Duration::from_millis(100), |rtt| (rtt / 2).max(min).min(max));
    // The peer needs time to answer a POLL.
    let no_response: Duration = values.required("timer-no-response");
    let poll = poll.min(no_response / 2).max(Duration::from_millis(1));
    values.suggest("timer-poll", Value::Time(poll));
    let poll: Duration = values.optional("timer-poll").unwrap_or(poll);
    let segment = super::agreed_segment(values, path, OVERHEAD);
    let window = path.packets_in(segment, path.rtt.map(|rtt| (rtt + poll) * 2), unknown);
    values.suggest("window", Value::Packets(window.clamp(1.0, 1_048_576.0)));
    let window: f64 = values.optional("window").unwrap_or(window);
    values.suggest("buffer", Value::Packets(window));
}

/// Builds both endpoint configurations; `rate` builds the rate control for PDUs of a given size in bytes.
pub(super) fn make_endpoint_configs(
    values: &Values,
    path: &PathHints,
    rate: impl FnOnce(&Values, u32) -> Option<RateConfig>,
) -> EndpointConfigs {
    let defaults = Config::default();
    let is_live = values.environment() == Environment::Live;
    let segment: u32 =
        if is_live { super::local_segment(values, path, OVERHEAD) } else { values.required("segment") };
    let window: u32 = values.optional("window").unwrap_or(defaults.window);
    let window = if is_live {
        window.min(path.memory_packets(super::agreed_segment(values, path, OVERHEAD)) as u32)
    } else {
        window
    };
    let k = if is_live {
        super::agreed_segment(values, path, OVERHEAD).max(segment)
    } else {
        values.optional("k").unwrap_or(segment.clamp(DEFAULT_K, MAX_MESSAGE))
    };
    // A STAT must fit into a datagram: three words beside its list.
    let elements = if is_live { (path.max_payload(0) / 4).saturating_sub(3) } else { u32::MAX };
    let config = Config {
        k,
        j: if is_live { defaults.j } else { values.required("j") },
        max_cc: values.required("max-cc"),
        max_pd: values.required("max-pd"),
        max_stat: values.required::<u32>("max-stat").min(elements),
        window,
        // On real paths the application frees the buffer by reading.
        credit: if is_live { Credit::User } else { defaults.credit },
        buffer: values.optional("buffer").unwrap_or(window),
        timers: TimerConfig {
            poll: values.optional("timer-poll").unwrap_or(defaults.timers.poll),
            cc: values.required("timer-cc"),
            keep_alive: values.required("timer-keep-alive"),
            no_response: values.required("timer-no-response"),
            idle: values.required("timer-idle"),
        },
        poll_after_retransmission: values.required("poll-after-retransmission"),
        ignore_old_data: values.required("ignore-old-data"),
        rate: rate(values, segment.next_multiple_of(4) + TRAILER),
        ..defaults
    };
    EndpointConfigs::Sscop(EndpointConfig { sscop: Arc::new(config), segment })
}

/// Writes the values of both endpoint configurations, if `rate` accepts their rate control.
pub(super) fn write(
    ends: &EndpointConfigs,
    values: &mut Values,
    rate: impl FnOnce(&Option<RateConfig>, &mut Values) -> bool,
) -> bool {
    let EndpointConfigs::Sscop(EndpointConfig { sscop, segment }) = ends else { return false };
    if !rate(&sscop.rate, values) {
        return false;
    }
    values.set_from("window", &sscop.window);
    values.set_from("buffer", &sscop.buffer);
    values.set_from("k", &sscop.k);
    values.set_from("j", &sscop.j);
    values.set_from("max-cc", &sscop.max_cc);
    values.set_from("max-pd", &sscop.max_pd);
    values.set_from("max-stat", &sscop.max_stat);
    sscop.timers.write_to(values);
    values.set_from("poll-after-retransmission", &sscop.poll_after_retransmission);
    values.set_from("ignore-old-data", &sscop.ignore_old_data);
    values.set_from("segment", segment);
    true
}

/// Limits the rate of the source to that of the path.
pub(super) fn apply_path_hints_to_rate(values: &mut Values, path: &PathHints) {
    apply_path_hints(values, path, f64::INFINITY);
    if let Some(rate) = path.rate.filter(|rate| !rate.is_zero()) {
        if values.optional::<Rate>("start-rate").is_some_and(|start| start > rate) {
            values.suggest("start-rate", Value::Rate(rate));
        }
        let start = values.optional("start-rate").unwrap_or(rate);
        values.suggest("max-rate", Value::Rate(rate.max(start)));
    }
}

impl Family for EndpointConfig {
    const NAME: &'static str = "sscop";
    const OVERHEAD: u32 = OVERHEAD;
    type Pdu<P: Payload> = Pdu<P>;
    /// One type serves both ends: each direction of a stream has its own connection, opened by the sending end. SSCOP
    /// is full duplex, but polls and credit belong to the data of one direction, and flows of all schemes look the same
    /// this way.
    type Sender<P: Payload> = Endpoint<P>;
    type Receiver<P: Payload> = Endpoint<P>;

    fn sender<P: Payload>(&self) -> Endpoint<P> {
        Endpoint::new(self)
    }

    fn receiver<P: Payload>(&self) -> Endpoint<P> {
        Endpoint::new(self)
    }
}

impl Properties for EndpointConfig {
    fn segment(&self) -> u32 {
        self.segment
    }

    fn description(&self) -> String {
        let rate = self.sscop.rate.map_or_else(String::new, |rate| format!(", rate from {}", rate.start));
        format!(", messages of {} B, credit of {}{rate}", self.segment, self.sscop.window)
    }

    fn window(&self) -> Option<u64> {
        Some(self.sscop.window.min(self.sscop.buffer).into())
    }

    fn first_window(&self) -> f64 {
        self.sscop.window.into()
    }

    fn never_shrinks(&self) -> bool {
        self.sscop.rate.is_none()
    }

    /// An SD is padded to a multiple of four bytes and has a trailer of four bytes (Q.2110, 7.1).
    fn framing(&self, payload: u32) -> u32 {
        payload.next_multiple_of(4) - payload + TRAILER
    }

    /// A STAT without list elements.
    fn answer(&self) -> u32 {
        12
    }

    fn receive_window(&self) -> ReceiveWindow {
        ReceiveWindow::Messages(self.sscop.buffer.min(self.sscop.window))
    }

    fn adjust(&mut self, adjustment: Adjustment) -> bool {
        let is_reading = adjustment == Adjustment::Reading;
        if is_reading {
            Arc::make_mut(&mut self.sscop).credit = Credit::User;
        }
        is_reading
    }

    /// Rate control derives the delivery rate of a path from the spacing of arrivals.
    fn needs(&self) -> EndNeeds {
        EndNeeds { order: true, spacing: self.sscop.rate.is_some(), random: false }
    }

    /// Warns of a window that is sent before a POLL is due.
    fn warnings(&self, _path: &OnPath) -> Vec<PathWarning> {
        let config = &self.sscop;
        let window = config.window.min(config.buffer);
        if config.rate.is_some() || window >= config.max_pd {
            return Vec::new();
        }
        let what =
            format!("may send {window} messages, but a POLL is due after {} (`max-pd`)", config.max_pd);
        let help =
            format!("the window is full until `timer-poll` ({}) runs out, each time", config.timers.poll);
        vec![PathWarning { code: "scenario.window", what, help }]
    }
}
