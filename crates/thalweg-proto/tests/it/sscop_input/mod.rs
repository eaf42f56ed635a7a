//! Arbitrary inputs of an SSCOP endpoint.

use core::fmt::Debug;
use proptest::prelude::*;
use thalweg_proto::payload::{Payload, Slice};
use thalweg_proto::sscop::rate::{Probing, RateConfig, RateField, SizeUnit};
use thalweg_proto::sscop::{
    Config, Credit, Input, Pdu, Request, Retrieve, SequenceNumber, Source, Sscop, Stat, TimerConfig, Ustat,
};
use thalweg_proto::units::{Duration, Rate, Time};
use thalweg_proto::{Engine, Output};

/// Numbers near the start, near the end, and anywhere.
fn number() -> impl Strategy<Value = SequenceNumber> {
    let near = prop_oneof![8 => 0u32..12, 2 => 0u32..200, 1 => any::<u32>(), 1 => (SequenceNumber::MODULUS - 5)..SequenceNumber::MODULUS];
    near.prop_map(SequenceNumber::new)
}

fn rate_field() -> impl Strategy<Value = Option<RateField>> {
    any::<u16>().prop_map(RateField::from_bits)
}

/// Returns any PDU, mostly with plausible numbers.
pub fn pdu<P: Payload + 'static>(make: impl Fn(u32) -> P + Clone + 'static) -> impl Strategy<Value = Pdu<P>> {
    let field = {
        let make = make.clone();
        prop_oneof![5 => 0u32..5, 1 => 0u32..9000].prop_map(make)
    };
    let uu = prop::option::of(field.clone());
    let list = prop::collection::vec(number(), 0..6).prop_map(|mut list| {
        list.sort_by_key(|number| number.get());
        list
    });
    let sq = 0u8..4;
    let source = prop_oneof![Just(Source::User), Just(Source::Sscop)];
    let connection = prop_oneof![
        (sq.clone(), number(), uu.clone()).prop_map(|(sq, mr, uu)| Pdu::Bgn { sq, mr, uu }),
        (number(), uu.clone()).prop_map(|(mr, uu)| Pdu::Bgak { mr, uu }),
        uu.clone().prop_map(|uu| Pdu::Bgrej { uu }),
        (source, uu.clone()).prop_map(|(source, uu)| Pdu::End { source, uu }),
        Just(Pdu::Endak),
        (sq.clone(), number(), uu).prop_map(|(sq, mr, uu)| Pdu::Rs { sq, mr, uu }),
        number().prop_map(|mr| Pdu::Rsak { mr }),
        (sq, number()).prop_map(|(sq, mr)| Pdu::Er { sq, mr }),
        number().prop_map(|mr| Pdu::Erak { mr }),
        field.clone().prop_map(|mu| Pdu::Ud { mu }),
        field.clone().prop_map(|mu| Pdu::Md { mu }),
    ];
    let stat = (number(), number(), number(), list, rate_field())
        .prop_map(|(ps, mr, r, list, rate)| Pdu::Stat(Stat { ps, mr, r, list, rate }));
    let ustat = (number(), number(), number(), number(), rate_field())
        .prop_map(|(mr, r, first, end, rate)| Pdu::Ustat(Ustat { mr, r, first, end, rate }));
    prop_oneof![
        1 => connection,
        6 => (number(), field).prop_map(|(s, mu)| Pdu::Sd { s, mu }),
        3 => (number(), number()).prop_map(|(ps, s)| Pdu::Poll { ps, s }),
        4 => stat,
        2 => ustat,
    ]
}

/// Returns any input.
pub fn input<P: Payload + Debug + 'static>(
    make: impl Fn(u32) -> P + Clone + 'static,
) -> impl Strategy<Value = Input<P>> {
    let field = {
        let make = make.clone();
        prop_oneof![5 => 0u32..50, 1 => 0u32..9000].prop_map(make)
    };
    let uu = prop::option::of(field.clone());
    let request = prop_oneof![
        2 => (uu.clone(), any::<bool>()).prop_map(|(uu, clear_buffers)| Request::Establish { uu, clear_buffers }),
        2 => (uu.clone(), any::<bool>()).prop_map(|(uu, clear_buffers)| Request::AcceptEstablish { uu, clear_buffers }),
        1 => uu.clone().prop_map(|uu| Request::Release { uu }),
        20 => field.clone().prop_map(Request::Data),
        1 => uu.prop_map(|uu| Request::Resync { uu }),
        2 => Just(Request::AcceptResync),
        4 => Just(Request::AcceptRecover),
        1 => field.clone().prop_map(Request::UnitData),
        1 => field.prop_map(Request::ManagementData),
        1 => number().prop_map(|last| Request::Retrieve(Retrieve::After(last))),
        1 => Just(Request::Retrieve(Retrieve::Total)),
        1 => Just(Request::Retrieve(Retrieve::Unknown)),
    ];
    prop_oneof![
        30 => pdu(make).prop_map(Input::Pdu),
        20 => request.prop_map(Input::Request),
        1 => Just(Input::Invalid),
        2 => prop_oneof![0u32..10, any::<u32>()].prop_map(Input::Credit),
        2 => prop_oneof![1 => Just(true), 2 => Just(false)].prop_map(Input::Busy),
    ]
}

fn rate() -> impl Strategy<Value = RateConfig> {
    let any_rate =
        || prop_oneof![Just(0u64), any::<u64>(), 1_000u64..100_000_000].prop_map(Rate::from_bits_per_sec);
    let unit = prop_oneof![Just(SizeUnit::Bytes), Just(SizeUnit::Cells)];
    let probing = prop_oneof![Just(Probing::Spacing), Just(Probing::PacketPair)];
    let drain = prop::option::of((0u64..2000).prop_map(Duration::from_millis));
    (any_rate(), any_rate(), any::<u32>(), unit, probing, 0.0..5.0f64, any::<bool>(), drain).prop_map(
        |(start, max, pdu, unit, probing, alpha, literal, drain)| {
            let base = if literal { RateConfig::literal() } else { RateConfig::amended() };
            RateConfig { start, max, pdu, unit, probing, alpha, drain_interval: drain, ..base }
        },
    )
}

/// Returns any parameters, sensible or not.
pub fn config() -> impl Strategy<Value = Config> {
    let time = || prop_oneof![1 => Just(Duration::ZERO), 5 => (0u64..5000).prop_map(Duration::from_millis)];
    let timers =
        (time(), time(), time(), time(), time()).prop_map(|(cc, poll, keep_alive, no_response, idle)| {
            TimerConfig { cc, poll, keep_alive, no_response, idle }
        });
    let credit = prop_oneof![Just(Credit::Delivery), Just(Credit::User)];
    let options = (any::<bool>(), any::<bool>(), any::<bool>());
    (timers, 0u32..5, 0u32..30, 0u32..70, 0u32..60, credit, 0u32..50, options, prop::option::of(rate()))
        .prop_map(|(timers, max_cc, max_pd, max_stat, window, credit, buffer, options, rate)| Config {
            k: 5000,
            j: 5000,
            max_cc,
            max_pd,
            max_stat,
            window,
            credit,
            buffer,
            timers,
            poll_after_retransmission: options.0,
            accept_any_begin: options.1,
            ignore_old_data: options.2,
            rate,
        })
}

/// Brings an endpoint into the data transfer state.
pub fn open(engine: &mut Sscop<Slice>) {
    let begin = Pdu::Bgn { sq: 1, mr: SequenceNumber::new(100), uu: None };
    engine.handle(Time::ZERO, Input::Pdu(begin));
    engine.handle(Time::ZERO, Input::Request(Request::AcceptEstablish { uu: None, clear_buffers: true }));
    while !matches!(engine.poll(Time::ZERO), Output::Idle | Output::Timeout { .. }) {}
}
