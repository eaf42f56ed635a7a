//! Tests that scheme descriptions round-trip and that flows accept arbitrary input. Tests of whole transfers are in
//! `tests/it/flows_over_hostile_paths.rs`.

use super::*;
use proptest::prelude::*;
use thalweg_catalog::{Field, Key, Kind, Registry, TextError, Value};
use thalweg_proto::Ecn;
use thalweg_proto::units::{Bytes, Duration, Rate, Segments};

fn scheme(text: &str) -> Scheme {
    text.parse().unwrap()
}

fn decode(bytes: &[u8]) -> Result<Scheme, SchemeError> {
    Scheme::decode(bytes, &Registry::default())
}

fn refusal_of(text: &str) -> String {
    text.parse::<Scheme>().unwrap_err().to_string()
}

#[test]
fn schemes_are_read_and_written() {
    for (text, written) in [
        ("cubic", "cubic"),
        (" cubic : beta = 0.8 , initial-window = 20 pkt ", "cubic:initial-window=20pkt,beta=0.8"),
        (
            "sstp:rate=20 Mbit/s,window=12 seg,acknowledgement=hard",
            "sstp:rate=20Mbit/s,window=12seg,acknowledgement=hard",
        ),
        ("newreno:receive-window=64 KiB,rto.floor=0.25s", "newreno:rto.floor=250ms,receive-window=65.536kB"),
        ("slow-start:initial-ssthresh=unlimited", "slow-start:initial-ssthresh=unlimited"),
    ] {
        assert_eq!(scheme(text).to_string(), written);
        assert_eq!(scheme(written), scheme(text));
    }
}

#[test]
fn where_data_may_not_be_lost_only_reliable_schemes_are_offered() {
    let registry = Registry::default();
    let message = Scheme::read("qubic", &registry).unwrap_err().offering_reliable(&registry).to_string();
    let offered = message.strip_prefix("there is no scheme `qubic`; there are ").unwrap();
    let offered: Vec<&str> = offered.split("; ").next().unwrap().split(", ").collect();
    let reliable: Vec<&str> = Scheme::names().filter(|name| scheme(name).is_reliable()).collect();
    assert_eq!(offered, reliable);
    assert!(!offered.contains(&"udp") && Scheme::names().any(|name| name == "udp"));
}

#[test]
fn scheme_errors_list_the_valid_choices() {
    assert!(refusal_of("qubic").starts_with("there is no scheme `qubic`; there are fixed, "));
    assert!(
        refusal_of("cubic:alpha=1pkt")
            .starts_with("`alpha` is not an option of cubic, which has initial-window, ")
    );
    assert!(refusal_of("cubic:").starts_with("`` is not an option"));
    assert_eq!(refusal_of("cubic:beta=0.5,beta=0.5"), "beta is given twice");
    assert_eq!(
        refusal_of("cubic:beta=1"),
        "beta cannot be `1`: it must be above 0 and below 1; RFC 9438 multiplies the window by 0.7 at a loss"
    );
    assert_eq!(
        refusal_of("fixed:window=10"),
        "window cannot be `10`: `10` has no unit; did you mean \"10 pkt\"?"
    );
    assert_eq!(
        refusal_of("sstp:rate=10"),
        "rate cannot be `10`: `10` has no unit; did you mean \"10 Mbit/s\"?"
    );
    assert_eq!(
        refusal_of("sstp:rate=0bit/s"),
        "rate cannot be `0bit/s`: it must be above 0 bit/s; nothing is sent at this rate"
    );
    assert_eq!(
        refusal_of("cubic:recovery=tack"),
        "recovery cannot be `tack`: expected one of sack, newreno, go-back-n, fast-retransmit"
    );
    assert_eq!(refusal_of("vegas:alpha=4pkt"), "alpha is larger than beta");
    assert_eq!(
        refusal_of("sstp:rate=1Mbit/s,average-rate=2Mbit/s"),
        "the average rate 2 Mbit/s is above the peak rate 1 Mbit/s"
    );
    assert_eq!(refusal_of("cubic:rto.floor=2min"), "the ceiling of the timeout is below its floor");
    assert_eq!(decode(&[0xff]), Err(SchemeError::Encoding));
    assert_eq!(decode(&vec![b' '; MAX_ENCODING + 1]), Err(SchemeError::Encoding));
}

/// Returns the settled value of an option.
fn value_on_path<T: Field>(scheme: &Scheme, key: &str) -> Option<T> {
    scheme.values().1.optional(key)
}

/// A scheme with all options spelt out fits the encoding limit; a longer one is refused before anything is sent.
#[test]
fn scheme_encodings_fit_the_length_limit() {
    let path = PathHints {
        rate: Some(Rate::from_mbits_per_sec(123)),
        rtt: Some(Duration::from_millis(123)),
        ..PathHints::default()
    };
    for name in Scheme::names() {
        let (description, values) = (scheme(name).values().0, scheme(name).on_path(&path));
        let options: Vec<String> = description
            .keys
            .flat()
            .filter(|key| key.is_live())
            .filter_map(|key| Some(format!("{}={}", key.name, values.values().1.get(key.name)?)))
            .collect();
        let text = format!("{name}:{}", options.join(","));
        let all: Scheme = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(all.on_path(&path).encode().len() <= MAX_ENCODING);
    }
    let digits = "0".repeat(MAX_ENCODING);
    // The encoding is canonical: it does not keep the spelling of the input.
    assert_eq!(scheme(&format!("cubic:beta=0.7{digits}")).to_string(), "cubic:beta=0.7");
    let long = SchemeError::Long { length: 800 };
    assert!(long.to_string().contains("leave out options that have their default"));
}

/// No choice of the peer makes this end send without pause, send empty packets, or exhaust its memory.
#[test]
fn peers_cannot_choose_what_would_hurt() {
    for text in [
        "cubic:rto.floor=1ms",
        "cubic:rto.initial=1ns",
        "cubic:rto.ceiling=1ms",
        "cubic:delayed-ack.delay=1us",
        "cubic:max-window=unlimited",
        "cubic:initial-window=1025pkt",
        "cubic:receive-window=100GiB",
        "adaptive-ack:t-normal=1us",
        "adaptive-ack:t-error=1ns",
        "adaptive-ack:window=1e7pkt",
        "adaptive-ack:segment=1B",
        "udp:segment=255B",
        "sscop:timer-poll=1us",
        "sscop:timer-cc=1ns",
        "sscop:timer-keep-alive=1us",
        "sscop:window=8000000pkt",
        "sscop-rate:poll-floor=1us",
        "sscop-rate:drain=1us",
        "sstp:rate=1Mbit/s,repeat=1us",
        "sstp:rate=1Mbit/s,segment-packets=5000pkt",
    ] {
        let error = decode(text.as_bytes()).unwrap_err();
        assert!(matches!(error, SchemeError::Text(TextError::Value { .. })), "{text}: {error}");
        assert_eq!(text.parse::<Scheme>(), Err(error), "the command line says the same");
    }
    let begins_with =
        |name: &str, window: u32| decode(format!("{name}:initial-window={window}pkt").as_bytes());
    let with_a_beginning: Vec<_> = Scheme::names().filter(|name| begins_with(name, 10).is_ok()).collect();
    assert!(with_a_beginning.len() >= 9, "{with_a_beginning:?}");
    for name in with_a_beginning {
        assert!(begins_with(name, 1024).is_ok() && begins_with(name, 1025).is_err(), "{name}");
    }
}

#[test]
fn one_end_settles_path_dependent_options() {
    let path = PathHints {
        max_datagram: 1219,
        rate: Some(Rate::from_mbits_per_sec(20)),
        rtt: Some(Duration::from_millis(600)),
        memory: 64 << 20,
    };
    // 20 Mbit/s for 4 * 600 ms are 6 MB.
    assert_eq!(value_on_path(&scheme("cubic").on_path(&path), "receive-window"), Some(Bytes::new(6_000_000)));
    // 1200 bytes of payload, 1278 with their headers (18) and those below (60): t_p is 0.5112 ms, 16 packets 8.18 ms; w_a
    // is 601.5336 / 8.1792 = 73.54 segments, the window 2.5 times that.
    let explicit = scheme("sstp").on_path(&path);
    assert_eq!(
        explicit.to_string(),
        "sstp:rate=20Mbit/s,window=184seg,buffer=184seg,repeat=600ms,segment=1.2kB"
    );
    // Explicit values stay, and settling again changes nothing.
    assert_eq!(
        scheme("sstp:window=7seg").on_path(&path).values().1.get("window"),
        Some(Value::Segments(Segments::Count(7.0)))
    );
    assert_eq!(explicit.clone().on_path(&PathHints::default()), explicit);
    assert_eq!(value_on_path(&scheme("udp").on_path(&path), "rate"), path.rate);
    // Limited by memory: 1 MiB holds 873 packets of 1200 bytes.
    let small = PathHints { memory: 1 << 20, ..path };
    assert_eq!(value_on_path(&scheme("adaptive-ack").on_path(&small), "window"), Some(873.0));
}

/// Returns all pending output of a flow.
fn drain_outputs(flow: &mut Flow, now: Time) -> (Vec<Vec<u8>>, Vec<FlowOutput>) {
    let (mut datagrams, mut outputs) = (Vec::new(), Vec::new());
    loop {
        let mut buffer = Vec::new();
        match flow.poll(now, &mut buffer) {
            FlowOutput::Transmit { .. } => datagrams.push(buffer),
            FlowOutput::Timeout { .. } | FlowOutput::Idle => return (datagrams, outputs),
            output => outputs.push(output),
        }
    }
}

fn datagram(bytes: Vec<u8>) -> FlowInput {
    FlowInput::Datagram { bytes: Slice::new(bytes), ecn: Ecn::NotEct }
}

#[test]
fn a_stream_that_is_stopped_ends_early_at_both_ends() {
    let hints = PathHints::default();
    let scheme = scheme("fixed:window=2pkt").on_path(&hints);
    let (mut sender, mut receiver) =
        (Flow::new(&scheme, Role::Sender, &hints), Flow::new(&scheme, Role::Receiver, &hints));
    sender.handle(Time::ZERO, FlowInput::Write(Slice::new(vec![7; 10_000])));
    let (mut to_receiver, _) = drain_outputs(&mut sender, Time::ZERO);
    assert_eq!(to_receiver.len(), 2);
    sender.handle(Time::ZERO, FlowInput::Stop);
    to_receiver.extend(drain_outputs(&mut sender, Time::ZERO).0);
    // Two full segments of 1200 bytes less 10, and the end: a length of 2380, stopped.
    assert_eq!(to_receiver[2], [1, 0, 0, 0, 0, 0, 0, 9, 76, 1]);
    assert_eq!((sender.writable_bytes(), sender.stats(Time::ZERO).written), (0, 2380));
    // The FIN may overtake the data.
    receiver.handle(Time::ZERO, datagram(to_receiver[2].clone()));
    assert_eq!(drain_outputs(&mut receiver, Time::ZERO), (vec![vec![2]], vec![]));
    receiver.handle(Time::ZERO, datagram(to_receiver[0].clone()));
    receiver.handle(Time::ZERO, datagram(to_receiver[1].clone()));
    let (answers, outputs) = drain_outputs(&mut receiver, Time::ZERO);
    assert_eq!((outputs.len(), outputs.last()), (3, Some(&FlowOutput::Ended { stopped: true })));
    // Finished only when the peer has all data and the FIN.
    sender.handle(Time::ZERO, datagram(answers[0].clone()));
    assert_eq!(drain_outputs(&mut sender, Time::ZERO).1, []);
    sender.handle(Time::ZERO, datagram(vec![2]));
    assert_eq!(drain_outputs(&mut sender, Time::ZERO).1, [FlowOutput::Event(Event::Finished)]);
}

#[test]
fn datagrams_beyond_what_the_application_reads_are_dropped() {
    let hints = PathHints { memory: 3000, ..PathHints::default() };
    let scheme = scheme("udp").on_path(&hints);
    let mut receiver = Flow::new(&scheme, Role::Receiver, &hints);
    for _ in 0..5 {
        receiver.handle(Time::ZERO, datagram([&[0][..], &[7; 1000]].concat()));
        let _ = drain_outputs(&mut receiver, Time::ZERO);
    }
    let stats = receiver.stats(Time::ZERO);
    assert_eq!((stats.delivered, stats.refused), (3000, 2));
    receiver.handle(Time::ZERO, FlowInput::Consumed(1));
    receiver.handle(Time::ZERO, datagram([&[0][..], &[7; 1000]].concat()));
    assert_eq!(drain_outputs(&mut receiver, Time::ZERO).1.len(), 1);
    // A FIN with a length below the delivered bytes is ignored. A valid FIN with missing data waits for a limited time.
    receiver.handle(Time::ZERO, datagram([&[1][..], &100u64.to_be_bytes(), &[0]].concat()));
    assert_eq!(receiver.stats(Time::ZERO).malformed, 0);
    assert_eq!(drain_outputs(&mut receiver, Time::ZERO).0.len(), 0);
    assert_eq!(receiver.stats(Time::ZERO).malformed, 1);
    receiver.handle(Time::ZERO, datagram([&[1][..], &6000u64.to_be_bytes(), &[0]].concat()));
    assert_eq!(drain_outputs(&mut receiver, Time::ZERO), (vec![vec![2]], vec![]));
    let later = Time::ZERO + Duration::from_secs(1);
    assert_eq!(drain_outputs(&mut receiver, later).1, [FlowOutput::Ended { stopped: false }]);
}

/// Returns a value of the key's kind: at a bound of the allowed range, inside it, or outside.
fn value(key: &Key, choice: u64) -> String {
    let pick = |values: &[&str]| values[choice as usize % values.len()].to_owned();
    match key.kind {
        Kind::Packets => pick(&["1pkt", "16pkt", "4096pkt", "1048576pkt", "unlimited", "0pkt"]),
        Kind::Segments => pick(&["1seg", "12seg", "32767seg", "2.5wa", "0.5wa"]),
        Kind::Number => pick(&["0.01", "0.5", "0.99", "1", "1000"]),
        Kind::Count => pick(&["0", "1", "3", "67", "1000", "65536"]),
        Kind::Time | Kind::Interval => pick(&["1ms", "40ms", "100ms", "60s", "200d"]),
        Kind::Rate => pick(&["1bit/s", "3Mbit/s", "18Tbit/s"]),
        Kind::Size | Kind::Length => pick(&["256B", "1200B", "65535B", "1MiB", "4GiB"]),
        Kind::Share | Kind::Probability => pick(&["0", "0.5", "1"]),
        Kind::Switch | Kind::Table(_) => pick(&["true", "false"]),
        Kind::Word(words) => pick(words),
    }
}

fn any_scheme() -> impl Strategy<Value = Scheme> {
    let all: Vec<_> = Scheme::names().collect();
    (prop::sample::select(all), prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..6))
        .prop_filter_map("options that do not go together", |(name, options)| {
            let keys: Vec<_> = scheme(name).values().0.keys.flat().filter(|key| key.is_live()).collect();
            let options: Vec<_> = options
                .iter()
                .map(|(index, choice)| {
                    let key = keys[index.index(keys.len())];
                    format!("{}={}", key.name, value(key, choice >> 32))
                })
                .collect();
            let text =
                if options.is_empty() { name.to_owned() } else { format!("{name}:{}", options.join(",")) };
            text.parse().ok()
        })
}

fn any_path() -> impl Strategy<Value = PathHints> {
    let rate = prop::option::of(1u64..1 << 45).prop_map(|bits| bits.map(Rate::from_bits_per_sec));
    let rtt = prop::option::of(0u64..1 << 50).prop_map(|picos| picos.map(Duration::from_picos));
    (0u32..70_000, rate, rtt, 0u64..1 << 40).prop_map(|(max_datagram, rate, rtt, memory)| PathHints {
        max_datagram,
        rate,
        rtt,
        memory,
    })
}

proptest! {
    #[test]
    fn settled_schemes_survive_encoding(scheme in any_scheme(), path in any_path()) {
        let settled = scheme.on_path(&path);
        let bytes = settled.encode();
        prop_assert!(bytes.len() <= MAX_ENCODING);
        prop_assert_eq!(decode(&bytes).unwrap(), settled);
    }

    #[test]
    fn any_text_is_a_scheme_or_none(text in "[a-z-]{0,12}(:[a-z.=,0-9-]{0,40})?", bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let _ = text.parse::<Scheme>();
        let _ = decode(&bytes);
    }

    /// Arbitrary peers and applications cannot make a flow panic, spin or ask to be polled at once, for any scheme,
    /// options and path.
    #[test]
    fn any_input_is_survived(
        scheme in any_scheme(),
        path in any_path(),
        is_sender in any::<bool>(),
        inputs in prop::collection::vec((0u8..12, prop::collection::vec(any::<u8>(), 0..50), 0u64..100_000), 1..60),
    ) {
        let scheme = scheme.on_path(&path);
        let role = if is_sender { Role::Sender } else { Role::Receiver };
        let mut flow = Flow::new(&scheme, role, &path);
        let mut now = Time::ZERO;
        for (kind, mut bytes, number) in inputs {
            now += Duration::from_micros(number);
            flow.handle(now, match kind {
                0 => FlowInput::Write(Slice::new(vec![0; number as usize])),
                1 => FlowInput::Consumed(number),
                2 => FlowInput::Pause,
                3 => FlowInput::Resume,
                4 => FlowInput::MaximumSegment(number as u32),
                5 => FlowInput::Finish,
                6 => FlowInput::Stop,
                // Plausible PDUs: the right first byte and small numbers.
                7 => datagram(vec![0, 0x20, 0, 0, 0, 0, 0, 0, bytes.len() as u8, 0, 0, 0, 0, 0, 0, 0, 1, 0]),
                8 | 9 => {
                    bytes.iter_mut().skip(2).for_each(|byte| *byte &= if kind == 8 { 3 } else { 0xff });
                    if let Some(first) = bytes.first_mut() {
                        *first = 0;
                    }
                    datagram(bytes)
                }
                _ => datagram(bytes),
            });
            for step in 0.. {
                // Back-pressure: the rest of a window stays queued.
                if step > 200 {
                    break;
                }
                match flow.poll(now, &mut Vec::new()) {
                    FlowOutput::Timeout { at } => {
                        prop_assert!(at > now);
                        break;
                    }
                    FlowOutput::Idle => break,
                    _ => {}
                }
            }
            let _ = (flow.stats(now), flow.limit(), flow.writable_bytes());
        }
    }
}
