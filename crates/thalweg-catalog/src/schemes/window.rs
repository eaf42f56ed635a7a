//! The keys and rules shared by all window schemes.

use super::window_endpoint_configs::{write, write_shared};
use super::window_key_conflicts::{
    check, check_external, check_shared, delayed_ack, has_ssthresh, rack_config,
};
use super::{
    NO_WINDOW, PEER_TIME_RANGE, PEER_WINDOW_RANGE, WINDOW_RANGE, WINDOW_SIZES, ack_size_key, window_presets,
};
use crate::endpoint_configs::EndpointConfigs;
use crate::option_keys::key;
use crate::path_hints::PathHints;
use crate::scheme_description::{
    CheckValues, Collapse, MakeEndpointConfigs, SchemeDescription, SchemeTraits,
};
use crate::{
    ConfigError, Environment, FixedValue, Key, KeyBoundConfig, Keys, Kind, Range, Table, Value, Values, bind,
    words,
};
use std::sync::Arc;
use thalweg_proto::congestion::{
    CeResponse, ConfigureController, LedbatPlusPlusConfig, SenderRules, SlowStartExit,
};
use thalweg_proto::handshake;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_proto::window::wire::{SEGMENT_HEADER, TIMESTAMP_LENGTH};
use thalweg_proto::window::{
    ControllerConfig, DelayedAck, EndsConfig, ExternalController, PauseConfig, ReceiverConfig, Recovery,
    RttConfig, SenderConfig, Validation, VerifyAcks, WindowUnit,
};

/// The keys of every window scheme.
pub const WINDOW_KEYS: &[Key] = &[
    window_presets::KEY,
    ack_size_key("", "Bytes on the wire of an acknowledgement; default: the value of `header`."),
    key("max-window", Kind::Packets, "1048576 pkt", "Maximum window, regardless of the controller.")
        .within(WINDOW_RANGE, NO_WINDOW)
        .peer(PEER_WINDOW_RANGE),
    key("counting", COUNTING, "packets", "Unit of windows: \"packets\" of any size or \"bytes\"."),
    key(
        "byte-counting",
        Kind::Packets,
        "1 pkt",
        "Byte counting: window growth follows the acknowledged data, up to this amount per acknowledgement (RFC 3465). With \"1 pkt\" \
         each acknowledgement counts as one packet, however much it acknowledges. Schemes whose window does not grow by the \
         acknowledged data accept only \"1 pkt\".",
    )
    .within(WINDOW_RANGE, "")
    .live_default("unlimited", "hosts acknowledge whole batches of segments at once"),
    key(
        "recovery",
        RECOVERY,
        "",
        "Loss recovery: \"sack\", \"newreno\", \"go-back-n\" or \"fast-retransmit\".",
    ),
    key("duplicate-threshold", Kind::Count, "3", "Number of duplicate acknowledgements that indicate a loss.")
        .within(Range::at_least(1.0), "")
        .peer(Range::between(1.0, 1000.0)),
    key(
        "rack",
        Kind::Switch,
        "false",
        "Time-based loss detection (RACK, RFC 8985) instead of counting duplicate acknowledgements. It distinguishes late packets from \
         lost ones. Needs `recovery = \"sack\"`.",
    )
    .from_path("`true` with `recovery=sack`, because real paths reorder packets"),
    key(
        "undo",
        Kind::Switch,
        "",
        "With `rack`: a window reduction is undone if all packets declared lost were only late (RFC 4015). Default: true.",
    ),
    key(
        "tail-probe",
        Kind::Switch,
        "",
        "With `rack`: after two round trips without acknowledgements the sender sends new data, or retransmits the last packet if there is \
         none (RFC 8985, section 7). Default: true.",
    ),
    key(
        "prr",
        Kind::Switch,
        "false",
        "Proportional rate reduction (RFC 9937): during recovery transmissions follow deliveries. Otherwise the sender waits until \
         half a window has left the network, and may then send a burst. Needs `recovery = \"sack\"` and a slow-start threshold: not for \
         fixed, dec-bit, tri-s, source-quench, bbn, bbr, copa and thalweg.",
    )
    .live_default("true", "as in kernels (for schemes that support it)"),
    key(
        "cut-for-lost-repairs",
        Kind::Switch,
        "",
        "With `rack`: a lost retransmission reduces the window once more (RFC 5681, section 4.3). With `false` there is one reduction per \
         window of data, as in Linux and in RFC 9002, section 7.3.2. Default: true.",
    ),
    key(
        "verify-acks",
        Kind::Switch,
        "",
        "With `rack`: once in 32 to 64 windows the sender withholds a packet, and ends the connection if the packet is acknowledged \
         before it was sent. This detects a receiver that hides losses (RFC 9000, section 21.4). If unset, simulated senders begin this \
         once acknowledgements cover more than four times the expected number of packets, also without `rack` but not with \
         `delayed-ack.adaptive`; `false` disables it. With `true` and `ecn` one packet in 24 on average is Not-ECT. If these \
         packets are lost more often than others are lost or marked, marks are concealed, and all later packets are Not-ECT.",
    )
    .from_path("`true` with `rack`, because false acknowledgements would make the sender flood the path"),
    key(
        "f-rto",
        Kind::Switch,
        "false",
        "F-RTO (RFC 5682): after a timeout the sender sends two new packets before further retransmissions. If the next acknowledgements \
         show that the timeout was spurious, its reduction is undone. Needs `recovery = \"sack\"`.",
    )
    .live_default("true", "as in kernels (for schemes that support it)"),
    key("rto", Kind::Table(&RTO), "", "The retransmission timeout."),
    key(
        "idle-restart",
        Kind::Switch,
        "true",
        "After an idle time longer than the RTO the controller restarts. Schemes without a rule for it accept only `false`, which is then \
         the default.",
    ),
    key(
        "window-validation",
        VALIDATION,
        "none",
        "Congestion window validation, in place of `idle-restart`. With \"rfc2861\" an unused window decays: by half for each RTO without \
         data, and towards its used part. With \"rfc7661\" it is kept for five minutes, and a loss reduces the used \
         part. Schemes without a rule for unused windows accept only \"none\".",
    ),
    key("nagle", Kind::Switch, "", "Nagle's algorithm: a packet that is not full waits while data is unacknowledged (RFC 896)."),
    key(
        "ecn",
        Kind::Switch,
        "false",
        "Classic ECN (RFC 3168): queues may mark first transmissions instead of dropping them. The sender treats a mark as a loss without \
         retransmission, at most once a round trip. Schemes with their own response to marks (dctcp, prague and dec-bit) always use ECN. \
         Schemes that do not respond to marks never send ECN-capable packets.",
    )
    .live_default("true", "real paths may mark packets instead of dropping them (for schemes that support ECN)"),
    key(
        "timestamps",
        Kind::Switch,
        "",
        "Timestamps in packets and acknowledgements, for one-way delays by unsynchronised clocks (RFC 6817, section 2.3). On real paths each \
         takes four bytes; in simulations `header` includes them.",
    ),
    key(
        "max-retransmissions",
        Kind::Count,
        "",
        "Maximum retransmissions of a segment before the sender aborts; default: unlimited.",
    )
    .not_live("the connection detects a dead peer"),
    key(
        "handshake",
        HANDSHAKE,
        "none",
        "Handshake: \"tcp\" (SYN, SYN-ACK and FIN, RFC 9293), \"quic\" (one round trip before the first data, RFC 9001), \"quic-0rtt\" (data \
         behind the first packet), or \"none\". Lost handshake packets are repeated after `rto.initial`, which doubles each time, at most \
         `max-retransmissions` times. The source of the data opens the connection. Responses to requests need no further \
         handshake.",
    )
    .not_live("live connections have a handshake of their own, with encryption"),
    key("receive-window", Kind::Size, "1 GiB", "Receive window beyond the delivered data.")
        .from_path("four times the data in flight, from 1 MiB up to the receiver's memory; all of it if the data in flight is unknown")
        .peer(Range::between(4096.0, 4_294_967_296.0)),
    key(
        "delayed-ack",
        Kind::Table(&DELAYED_ACK),
        "false",
        "Delayed acknowledgements. In scenario files a table of the keys of `delayed-ack` may replace `true`.",
    )
    .live_default("true", "real receivers delay acknowledgements (RFC 9293)"),
    key("keep-out-of-order", Kind::Switch, "true", "The receiver buffers out-of-order data."),
    key(
        "rledbat",
        Kind::Switch,
        "false",
        "Background transfer controlled by the receiver (rLEDBAT, RFC 9840). The receiver advertises at most the window that LEDBAT++ \
         computes from the delay of arrivals, regardless of the sender's scheme. Segments then have timestamps.",
    ),
];

/// The key of controllers with an early exit from the initial slow start.
pub const SLOW_START_EXIT: Key = key(
    "slow-start-exit",
    EXITS,
    "loss",
    "End of the first slow start below ssthresh. \"loss\": at a loss. The others may end it earlier: \"hystart++\" at rising round-trip \
     times (RFC 9406), \"hystart\" also at acknowledgement trains of half a round trip (Linux), \"search\" when deliveries no longer double \
     (draft-chung-ccwg-search).",
)
.live_default("hystart++", "otherwise the end of slow start may lose a window");

/// The key of the multiplicative decrease on ECN marks.
pub const ECN_BETA: Key = key(
    "ecn-beta",
    Kind::Number,
    "",
    "Multiplicative decrease at a mark in congestion avoidance (ABE, RFC 8511: 0.8 for NewReno and 0.85 for CUBIC). Default: as at a \
     loss. Needs `ecn`.",
)
.within(Range::between(0.0, 1.0).above().below(), "RFC 8511 multiplies the window by 0.8 or 0.85 at a mark")
.peer(Range::between(0.01, 0.99));

/// The key of the multiplicative decrease at the end of slow start.
pub const SLOW_START_BETA: Key = key(
    "slow-start-beta",
    Kind::Number,
    "",
    "Multiplicative decrease at a loss or mark that ends slow start; some stacks use 0.5 there. Default: as in congestion avoidance (RFC 9438). Timeouts are not affected.",
)
.within(Range::between(0.0, 1.0).above().below(), "RFC 5681 multiplies the window by 0.5 at a loss, RFC 9438 by 0.7")
.peer(Range::between(0.01, 0.99));

static RTO: Table = Table {
    title: "rto",
    about: "The retransmission timeout (RFC 6298).",
    keys: &[
        key("rto.initial", Kind::Time, "1 s", "RTO before the first measurement.")
            .within(Range::POSITIVE, "")
            .peer(Range::at_least(0.1)),
        key("rto.floor", Kind::Time, "200 ms", "Minimum RTO.").peer(Range::at_least(0.1)),
        key("rto.ceiling", Kind::Time, "60 s", "Maximum RTO, including back-off.")
            .within(Range::POSITIVE, "")
            .peer(Range::at_least(0.1)),
        key("rto.granularity", Kind::Time, "0 s", "The clock's tick: measurements are rounded up to it.")
            .not_live("the clock is the host's"),
        key(
            "rto.margin",
            Kind::Time,
            "200 ms",
            "Minimum margin above the smoothed round-trip time; if unset, at most a configured `floor`.",
        )
        .peer(PEER_TIME_RANGE),
        key(
            "rto.deviations",
            Kind::Count,
            "4",
            "Number of mean deviations added to the smoothed round-trip time, if that is more than `margin`.",
        )
        .peer(Range::between(0.0, 100.0)),
    ],
    switch: false,
};

static DELAYED_ACK: Table = Table {
    title: "delayed-ack",
    about: "When a receiver acknowledges.",
    keys: &[
        key("delayed-ack.delay", Kind::Time, "40 ms", "Maximum delay of an acknowledgement.")
            .live_default("25 ms", "the default of RFC 9000 (section 18.2)")
            .peer(Range::between(1e-3, 60.0)),
        key("delayed-ack.every", Kind::Count, "2", "Maximum number of in-order packets per acknowledgement.")
            .within(Range::at_least(1.0), "")
            .peer(Range::between(1.0, 65_536.0)),
        key(
            "delayed-ack.adaptive",
            Kind::Switch,
            "false",
            "The sender requests acknowledgements to limit the load of a slow return path (RFC 5690): about five per round trip (64 while the \
             window doubles), up to 40 packets apart (16 without pacing), and fewer if they are lost. `every` is then the minimum number \
             of packets per acknowledgement. Gaps and marks are acknowledged at once.",
        )
        .live_default("true", "the return path may be much slower than the forward path"),
    ],
    switch: true,
};

words!(HANDSHAKE: Option<handshake::HandshakeKind> {
    "none" => None,
    "tcp" => Some(handshake::HandshakeKind::Tcp),
    "quic" => Some(handshake::HandshakeKind::Quic),
    "quic-0rtt" => Some(handshake::HandshakeKind::QuicZeroRtt),
});

words!(EXITS: SlowStartExit {
    "loss" => SlowStartExit::Loss,
    "hystart++" => SlowStartExit::HystartPlusPlus,
    "hystart" => SlowStartExit::Hystart,
    "search" => SlowStartExit::Search,
});

words!(VALIDATION: Option<Validation> {
    "none" => None,
    "rfc2861" => Some(Validation::Decay),
    "rfc7661" => Some(Validation::PipeAck),
});

words!(COUNTING: WindowUnit { "packets" => WindowUnit::Packets, "bytes" => WindowUnit::Bytes });

words!(RECOVERY: Recovery {
    "sack" => Recovery::Sack,
    "newreno" => Recovery::NewReno,
    "go-back-n" => Recovery::GoBackN,
    "fast-retransmit" => Recovery::FastRetransmit,
});

impl KeyBoundConfig for RttConfig {
    fn from_values(values: &Values) -> Self {
        let floor = values.required("rto.floor");
        let margin: Duration = values.required("rto.margin");
        // A lower floor asks for short timeouts, which the default margin would prevent.
        let margin = if values.explicit_value("rto.margin").is_some() { margin } else { margin.min(floor) };
        Self {
            initial: values.required("rto.initial"),
            floor,
            ceiling: values.required("rto.ceiling"),
            granularity: values.required("rto.granularity"),
            margin,
            deviations: values.required("rto.deviations"),
        }
    }

    fn write_to(&self, values: &mut Values) {
        values.set_from("rto.initial", &self.initial);
        values.set_from("rto.floor", &self.floor);
        values.set_from("rto.ceiling", &self.ceiling);
        values.set_from("rto.granularity", &self.granularity);
        values.set_from("rto.margin", &self.margin);
        values.set_from("rto.deviations", &self.deviations);
    }
}

bind!(DelayedAck {
    delay: "delayed-ack.delay",
    every: "delayed-ack.every",
    adaptive: "delayed-ack.adaptive"
});

/// Returns the keys of a window scheme: its own, and the shared ones with the defaults `defaults`, which must include
/// `recovery`, `nagle`, `segment` and `header`. [`SACK`] suits new schemes, [`GO_BACK_N`] those of the 1980s and 1990s.
pub const fn window_keys(own: &'static [Key], defaults: &'static [(&'static str, &'static str)]) -> Keys {
    Keys { shared: &[WINDOW_KEYS, WINDOW_SIZES], defaults, ..Keys::own(own) }
}

/// Defaults of schemes with selective acknowledgement.
pub const SACK: &[(&str, &str)] =
    &[("recovery", "sack"), ("nagle", "false"), ("segment", "1448 B"), ("header", "52 B")];
/// Defaults of schemes that recover by go-back-N and do not react to marks.
pub const GO_BACK_N: &[(&str, &str)] = &[
    ("recovery", "go-back-n"),
    ("nagle", "false"),
    ("ecn", "false"),
    ("prr", "false"),
    ("f-rto", "false"),
    ("segment", "1448 B"),
    ("header", "52 B"),
];

/// Describes a window scheme with the controller that `C` configures, under its name. `thalweg-proto` must list the
/// controller and compile a sender for it.
pub const fn window_scheme<C>(about: &'static str, keys: Keys) -> SchemeDescription
where
    C: ConfigureController + KeyBoundConfig + Into<ControllerConfig>,
{
    describe_window_scheme::<C>(about, keys, &check::<C>, &|values, path| {
        make_endpoint_configs(values, path, C::from_values(values).into())
    })
}

/// Describes a window scheme with a controller of another crate, under its name.
pub const fn external_scheme<C>(about: &'static str, keys: Keys) -> SchemeDescription
where
    C: ConfigureController + KeyBoundConfig,
{
    describe_window_scheme::<C>(about, keys, &check_external::<C>, &|values, path| {
        let controller = C::from_values(values);
        let has_ssthresh = has_ssthresh(&controller);
        let mut made = make_endpoint_configs(
            values,
            path,
            ControllerConfig::Dedicated(ExternalController::new(controller)),
        )?;
        if let EndpointConfigs::Window(config) = &mut made
            && config.sender.prr
            && !has_ssthresh
        {
            // A default shared by all schemes applies only where supported.
            Arc::make_mut(&mut config.sender).prr = false;
        }
        Ok(made)
    })
}

/// Describes a window scheme with a name chosen at run time; `controller` returns the configuration of its controller.
/// A controller that reacts to marks as to losses uses ECN unless `ecn` is false. Leaks memory for the rest of the
/// program: create few.
pub fn named_scheme<C: ConfigureController>(
    name: &'static str,
    about: &'static str,
    controller: impl Fn() -> Result<C, ConfigError> + Send + Sync + 'static,
) -> SchemeDescription {
    let controller: &'static _ = Box::leak(Box::new(controller));
    let check = move |values: &Values| {
        // A controller that cannot be made is reported when its configuration is built.
        controller().map_or_else(
            |_| check_shared(values, name, CeResponse::None),
            |controller| check_shared(values, name, controller.ce_response()),
        )
    };
    let make_endpoint_configs = move |values: &Values, path: &PathHints| {
        let controller = ExternalController::new(controller()?);
        let ecn = controller.ce_response() == CeResponse::AsToLoss && values.explicit_value("ecn").is_none();
        let mut made = make_endpoint_configs(values, path, ControllerConfig::Dedicated(controller))?;
        if let EndpointConfigs::Window(config) = &mut made
            && ecn
        {
            Arc::make_mut(&mut config.sender).ecn = true;
        }
        Ok(made)
    };
    let write = move |ends: &EndpointConfigs, values: &mut Values| {
        let EndpointConfigs::Window(config) = ends else { return false };
        let is_match = config.controller.config::<C>().is_some_and(|config| config.name() == name);
        if is_match {
            write_shared(config, values);
        }
        is_match
    };
    SchemeDescription {
        name,
        keys_listed_under: name,
        about,
        keys: Keys { fixed_value: fixed_value::<C>, ..window_keys(&[], SACK) },
        traits: TRAITS,
        family_check: Box::leak(Box::new(check)),
        scheme_check: |_| Vec::new(),
        warnings: |_, _| Vec::new(),
        apply_path_hints,
        make_endpoint_configs: Box::leak(Box::new(make_endpoint_configs)),
        write_values: Box::leak(Box::new(write)),
    }
}

const TRAITS: SchemeTraits = SchemeTraits {
    is_reliable: true,
    transport: SchemeTraits::WINDOW,
    has_fixed_rate: false,
    config_depends_on_path: false,
    overhead: SEGMENT_HEADER as u32,
    collapse: Collapse::Never,
    is_loss_based: false,
    is_less_than_best_effort: false,
};

const fn describe_window_scheme<C>(
    about: &'static str,
    keys: Keys,
    check: CheckValues,
    make_endpoint_configs: MakeEndpointConfigs,
) -> SchemeDescription
where
    C: ConfigureController + KeyBoundConfig,
{
    SchemeDescription {
        name: C::NAME,
        keys_listed_under: C::NAME,
        about,
        keys: Keys { fixed_value: fixed_value::<C>, ..keys },
        traits: TRAITS,
        family_check: check,
        scheme_check: |_| Vec::new(),
        warnings: |_, _| Vec::new(),
        apply_path_hints,
        make_endpoint_configs,
        write_values: &write::<C>,
    }
}

/// Returns the value of a key that stands for the absence of the rule that it controls, if the controller lacks that rule.
fn fixed_value<C: ConfigureController>(key: &str) -> Option<FixedValue> {
    let SenderRules { idle_restart, window_validation, byte_counting } = C::SENDER_RULES;
    let (has_rule, text, behaviour) = match key {
        "idle-restart" => (idle_restart, "false", "it continues after idle times"),
        "window-validation" => {
            (window_validation, "none", "it keeps windows that the application does not use")
        }
        "byte-counting" => (byte_counting, "1 pkt", "its window does not grow by the acknowledged data"),
        _ => return None,
    };
    (!has_rule).then_some(FixedValue { text, behaviour })
}

/// Sets a receive window of four times the data in flight: a loss can be repaired, and its repair found lost, before
/// the window closes.
fn apply_path_hints(values: &mut Values, path: &PathHints) {
    if values.optional("recovery") == Some(Recovery::Sack) {
        values.suggest("rack", Value::Switch(true));
    }
    if rack_config(values).is_some() {
        values.suggest("verify-acks", Value::Switch(true));
    }
    if let Some(window) = path.in_flight(4.0) {
        let window = window.get().clamp(MIN_WINDOW, path.memory.max(MIN_WINDOW));
        values.suggest("receive-window", Value::Size(Bytes::new(window)));
    }
}

/// Minimum receive window, in bytes: reducing it further gains nothing.
const MIN_WINDOW: u64 = 1 << 20;

/// Minimum window for the verification of acknowledgements, in packets: below it a false one gains little.
const MIN_VERIFIED: u32 = 32;

/// Segments per expected acknowledgement above which a sender verifies acknowledgements: three of four may be lost.
const MAX_STRETCH: u32 = 4;

/// Returns the verification of acknowledgements: by default under time-based loss detection on real paths, and once they
/// are few in simulations.
fn verify_acks(values: &Values) -> VerifyAcks {
    let is_live = values.environment() == Environment::Live;
    let chosen: Option<bool> = values.optional("verify-acks");
    if chosen.unwrap_or(is_live) && rack_config(values).is_some() {
        return VerifyAcks::Always(MIN_VERIFIED);
    }
    if is_live || chosen == Some(false) {
        return VerifyAcks::Never;
    }
    let every = match delayed_ack(values) {
        // The sender requests so few.
        Some(rule) if rule.adaptive => return VerifyAcks::Never,
        rule => rule.map_or(1, |rule| rule.every),
    };
    VerifyAcks::AboveStretch(every.saturating_mul(MAX_STRETCH))
}

fn make_endpoint_configs(
    values: &Values,
    path: &PathHints,
    controller: ControllerConfig,
) -> Result<EndpointConfigs, ConfigError> {
    let is_live = values.environment() == Environment::Live;
    let recovery = values.optional("recovery").unwrap_or(Recovery::GoBackN);
    let rledbat: bool = values.required("rledbat");
    let timestamps = rledbat || values.optional("timestamps").unwrap_or(false);
    let framing = SEGMENT_HEADER + if timestamps { TIMESTAMP_LENGTH } else { 0 };
    let sender = SenderConfig {
        segment: if is_live { path.max_payload(framing as u32) } else { values.required("segment") },
        max_window: values.required("max-window"),
        counting: values.optional("counting").unwrap_or(WindowUnit::Packets),
        recovery,
        byte_counting: values.required("byte-counting"),
        duplicate_threshold: values.required("duplicate-threshold"),
        rtt: RttConfig::from_values(values),
        idle_restart: values.required("idle-restart"),
        validation: values.optional("window-validation").flatten(),
        nagle: values.required("nagle"),
        fine_grained_timer: values.optional("fine-timer").unwrap_or(false),
        // A default shared by all schemes applies only where supported.
        ecn: values.required::<bool>("ecn") && controller.ce_response() == CeResponse::AsToLoss,
        timestamps,
        ack_requests: delayed_ack(values).filter(|rule| rule.adaptive).map(|rule| rule.every),
        max_retransmissions: values.required("max-retransmissions"),
        verify_acks: verify_acks(values),
        rack: rack_config(values),
        // A default shared by all schemes applies only where supported.
        prr: values.required::<bool>("prr") && recovery == Recovery::Sack,
        cut_for_lost_repairs: values.optional("cut-for-lost-repairs").unwrap_or(true),
        f_rto: values.required::<bool>("f-rto") && recovery == Recovery::Sack,
        // In simulations the gate at the flow's first node sets it.
        pause: PauseConfig::default(),
    };
    let window = values.optional("receive-window").unwrap_or(path.memory);
    let receiver = ReceiverConfig {
        window: if is_live { window.min(path.memory) } else { window },
        delayed_ack: delayed_ack(values),
        sack: recovery == Recovery::Sack,
        keep_out_of_order: values.required("keep-out-of-order"),
        wait_for_consumption: is_live,
        background: rledbat.then_some(LedbatPlusPlusConfig::RECOMMENDED),
        report_arrivals: rack_config(values).is_some(),
        misbehaviour: None,
    };
    let handshake = handshake_config(values);
    Ok(EndsConfig { handshake, ..EndsConfig::new(sender, receiver, controller) }.into())
}

/// Returns the configuration of connection establishment and teardown in simulations.
fn handshake_config(values: &Values) -> Option<handshake::Config> {
    let kind: Option<handshake::HandshakeKind> = values.optional("handshake")?;
    let RttConfig { initial, floor, ceiling, .. } = RttConfig::from_values(values);
    let retries = values.required("max-retransmissions");
    Some(handshake::Config { kind: kind?, initial, floor, ceiling, retries })
}
