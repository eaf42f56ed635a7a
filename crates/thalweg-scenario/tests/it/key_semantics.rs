//! The meaning of keys: defaults, inheritance, capacities, schedules, included files.

use std::path::Path;
use thalweg_catalog::EndpointConfigs;
use thalweg_proto::congestion::{
    CubicConfig, DctcpConfig, FixedWindowConfig, NewRenoConfig, SlowStartConfig, SourceQuenchConfig,
    VegasConfig,
};
use thalweg_proto::datagram::SourceConfig;
use thalweg_proto::gate::{
    AfterService, Ageing, CongestionGateConfig, GateConfig, Marking, Signals, SlotGateConfig,
};
use thalweg_proto::sscop::Config;
use thalweg_proto::sscop::rate::{RateConfig, SizeUnit};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_proto::window::{ControllerConfig, EndsConfig, PauseConfig, Recovery, SenderConfig};
use thalweg_queue::random_delay::{DrawScope, TimeSpec, VariationSpec};
use thalweg_queue::{
    AggregationSpec, CoDelConfig, DisciplineSpec, DrrConfig, DualPi2Config, EcnTreatment, FairQueueingConfig,
    FqCoDelConfig, Limit, LossSpec, PeriodicVariationSpec, PieConfig, PriorityConfig, RedConfig, RedUnit,
    SfqConfig, SharedBufferDrop, SleepSpec, StepConfig, Threshold, TokenBucketSpec,
};
use thalweg_scenario::{Diagnostic, LoadedScenario, load_text};
use thalweg_sim::simulation_spec::{Framing, HostSpec, NatKind, TransportSpec, WorkloadSpec};

#[track_caller]
fn read(text: &str) -> LoadedScenario {
    load_text("test.toml", text, Path::new(""), &[])
        .unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()))
}

/// Returns a link of 8 Mbit/s, 1 byte per microsecond, and a flow over it.
fn with_link(keys: &str) -> LoadedScenario {
    read(&format!(
        "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n{keys}\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = {{ base = \"newreno\", segment = \"960 B\", header = \"40 B\" }}"
    ))
}

fn forward_limit(loaded: &LoadedScenario) -> Limit {
    loaded.spec().links[0].forward.queue.limit()
}

#[test]
fn capacities_in_every_unit() {
    // The round trip: 1000 B and 40 B in 1.04 ms, and 10 ms of propagation.
    for (queue, limit) in [
        ("", Limit::Bytes(11_040)),
        ("queue = \"2 bdp\"", Limit::Bytes(22_080)),
        ("queue = \"50 ms\"", Limit::Bytes(50_000)),
        ("queue = \"64 KiB\"", Limit::Bytes(65_536)),
        ("queue = \"20 x 1000 B\"", Limit::Bytes(20_000)),
        ("queue = \"30 pkt\"", Limit::Packets(30)),
        ("queue = \"unlimited\"", Limit::Unlimited),
        ("queue = { discipline = \"random-drop\", capacity = \"30 pkt\" }", Limit::Packets(30)),
    ] {
        assert_eq!(forward_limit(&with_link(queue)), limit, "{queue}");
    }
}

#[test]
fn jitter_is_a_time_or_a_distribution() {
    let ms = Duration::from_millis;
    let of = |keys: &str| {
        let spec = with_link(keys).spec().links[0].forward.clone();
        (spec.jitter, spec.variation.map(|variation| variation.as_ref().clone()))
    };
    let varied = |distribution, each, keeps_order| {
        (Duration::ZERO, Some(VariationSpec { each, keeps_order, ..VariationSpec::new(distribution) }))
    };
    assert_eq!(of("jitter = \"2 ms\""), (ms(2), None));
    assert_eq!(of("jitter = { distribution = \"uniform\", max = \"2 ms\" }"), (ms(2), None), "the same");
    assert_eq!(
        of("jitter = { distribution = \"uniform\", min = \"1 ms\", max = \"2 ms\", each = \"flow\" }"),
        varied(TimeSpec::Uniform { min: ms(1), max: ms(2) }, DrawScope::Flow, true)
    );
    assert_eq!(
        of("jitter = { distribution = \"exponential\", mean = \"2 ms\", in-order = false }"),
        varied(TimeSpec::Exponential { mean: ms(2), max: None }, DrawScope::Packet, false)
    );
    assert_eq!(
        of("jitter = { distribution = \"measured\", times = [\"5 ms\", \"1 ms\", \"2 ms\"] }"),
        varied(TimeSpec::Quantiles([ms(1), ms(2), ms(5)].into()), DrawScope::Packet, true)
    );
    // The mean is part of the round trip: 11.04 ms and 2 ms each way.
    let loaded = with_link("jitter = { distribution = \"normal\", mean = \"2 ms\", deviation = \"1 us\" }");
    assert_eq!(forward_limit(&loaded), Limit::Bytes(15_040));
}

#[test]
fn lines_accept_shapers_sleep_aggregation_and_periodic_variation() {
    let (ms, of) = (Duration::from_millis, |keys: &str| with_link(keys).spec().links[0].forward.clone());
    let shaped =
        with_link("shaper = { rate = \"4 Mbit/s\" }\nsleep = [{ after = \"1 s\", wake = \"50 ms\" }]");
    let line = &shaped.spec().links[0].forward;
    let burst = Bytes::new(100_000);
    assert_eq!(line.start_delay.shaper, Some(TokenBucketSpec { rate: Rate::from_mbits_per_sec(4), burst }));
    assert_eq!(line.start_delay.sleep[..], [SleepSpec { idle_time: ms(1000), wake: ms(50) }]);
    // The shaper's rate limits in the long run, hence the bandwidth-delay product is half of the line's.
    assert_eq!(forward_limit(&shaped), Limit::Bytes(6040));
    assert_eq!(
        of("aggregation = { every = \"2 ms\", packets = 64 }").aggregation,
        Some(AggregationSpec { every: ms(2), packets: Some(64) })
    );
    assert_eq!(
        of("periodic-variation = { every = \"15 s\", rate-spread = \"40 %\", delay-spread = \"20 ms\" }")
            .periodic_variation,
        Some(PeriodicVariationSpec {
            every: ms(15_000),
            rate_spread: 0.4,
            delay_spread: ms(20),
            outage: Duration::ZERO
        })
    );
    assert_eq!(of("ecn = \"bleached\"").ecn, EcnTreatment::Bleached);
    // `reverse` overrides a value set for both directions.
    let keys = "shaper = { rate = \"4 Mbit/s\" }\nreverse = { shaper = \"none\" }";
    assert_eq!(with_link(keys).spec().links[0].backward.start_delay.shaper, None);
}

#[test]
fn disciplines_have_their_parameters() {
    // Explicit values, and defaults.
    let limit = Limit::Packets(30);
    let queue = |keys: &str| {
        let table = format!("queue = {{ {keys}, capacity = \"30 pkt\" }}");
        with_link(&table).spec().links[0].forward.queue.clone()
    };
    let fair = |config| DisciplineSpec::new(limit, config);
    assert_eq!(queue("discipline = \"fq\""), fair(FairQueueingConfig::default()));
    assert_eq!(
        queue("discipline = \"fq\", promptness = \"500 B\", mark-above = 1.5"),
        fair(FairQueueingConfig {
            promptness: Bytes::new(500),
            mark_above: Some(1.5),
            ..FairQueueingConfig::default()
        })
    );
    let sfq = |config| DisciplineSpec::new(limit, config);
    assert_eq!(queue("discipline = \"sfq\""), sfq(SfqConfig::default()));
    assert_eq!(
        queue("discipline = \"sfq\", buckets = 16, perturbation = \"off\", overflow = \"share\""),
        sfq(SfqConfig { buckets: 16, perturbation: None, overflow: SharedBufferDrop::Share })
    );
    let drr = |config| DisciplineSpec::new(limit, config);
    assert_eq!(queue("discipline = \"drr\""), drr(DrrConfig::default()));
    assert_eq!(
        queue("discipline = \"drr\", quantum = \"250 B\", buckets = 4, overflow = \"longest-head\""),
        drr(DrrConfig {
            quantum: Bytes::new(250),
            buckets: Some(4),
            overflow: SharedBufferDrop::LongestHead,
            ..DrrConfig::default()
        })
    );
    let red = |config| DisciplineSpec::new(limit, config);
    assert_eq!(queue("discipline = \"red\""), red(RedConfig::default()));
    assert_eq!(
        queue(
            "discipline = \"red\", min-threshold = \"4 kB\", max-threshold = \"9 kB\", weight = 0.01, \
             max-probability = \"2 %\", gentle = false, ecn = false, mean-packet = \"500 B\""
        ),
        red(RedConfig {
            unit: RedUnit::Bytes,
            min_threshold: 4000.0,
            max_threshold: 9000.0,
            weight: 0.01,
            max_probability: 0.02,
            gentle: false,
            ecn: false,
            hard_drop: true,
            mean_packet: Bytes::new(500),
        })
    );
    let changed = CoDelConfig {
        target: Duration::from_millis(2),
        interval: Duration::from_millis(30),
        max_packet: Bytes::new(9000),
        ecn: false,
    };
    let keys = "target = \"2 ms\", interval = \"30 ms\", max-packet = \"9 kB\", ecn = false";
    let codel = |config| DisciplineSpec::new(limit, config);
    assert_eq!(queue("discipline = \"codel\""), codel(CoDelConfig::default()));
    assert_eq!(queue(&format!("discipline = \"codel\", {keys}")), codel(changed));
    let fq_codel = |config| DisciplineSpec::new(limit, config);
    assert_eq!(queue("discipline = \"fq-codel\""), fq_codel(FqCoDelConfig::default()));
    assert_eq!(
        queue(&format!("discipline = \"fq-codel\", flows = 8, quantum = \"300 B\", drop-batch = 1, {keys}")),
        fq_codel(FqCoDelConfig {
            codel: changed,
            flows: 8,
            quantum: Bytes::new(300),
            drop_batch: 1,
            ..FqCoDelConfig::default()
        })
    );
    let pie = |config| DisciplineSpec::new(limit, config);
    assert_eq!(queue("discipline = \"pie\""), pie(PieConfig::default()));
    assert_eq!(
        queue(
            "discipline = \"pie\", target = \"20 ms\", update = \"30 ms\", alpha = 0.5, beta = 2, \
             max-burst = \"0 s\", ecn-threshold = 0.0, mean-packet = \"1500 B\""
        ),
        pie(PieConfig {
            target: Duration::from_millis(20),
            update: Duration::from_millis(30),
            alpha: 0.5,
            beta: 2.0,
            max_burst: Duration::ZERO,
            ecn_threshold: 0.0,
            mean_packet: Bytes::new(1500),
        })
    );
    let dualpi2 = |config| DisciplineSpec::new(limit, config);
    assert_eq!(queue("discipline = \"dualpi2\""), dualpi2(DualPi2Config::default()));
    assert_eq!(
        queue(
            "discipline = \"dualpi2\", target = \"20 ms\", max-rtt = \"300 ms\", update = \"30 ms\", coupling = 1.5, \
             threshold = \"1 ms\", range = \"0 s\", classic-share = 0.5"
        ),
        dualpi2(DualPi2Config {
            target: Duration::from_millis(20),
            max_rtt: Duration::from_millis(300),
            update: Duration::from_millis(30),
            coupling: 1.5,
            threshold: Duration::from_millis(1),
            range: Duration::ZERO,
            classic_share: 0.5,
        })
    );
    for (keys, threshold) in [
        ("", Threshold::Packets(65)),
        (", threshold = \"20 pkt\"", Threshold::Packets(20)),
        (", threshold = \"30 kB\"", Threshold::Bytes(30_000)),
    ] {
        assert_eq!(
            queue(&format!("discipline = \"step\"{keys}")),
            DisciplineSpec::new(limit, StepConfig { threshold })
        );
    }
    for (keys, push_out) in [("", true), (", push-out = false", false)] {
        assert_eq!(
            queue(&format!("discipline = \"priority\"{keys}")),
            DisciplineSpec::new(limit, PriorityConfig { push_out })
        );
    }
}

#[test]
fn gates_and_priorities() {
    // Defaults, and all keys. The pause of a gate belongs to the node, not to the scheme.
    let gate = |keys: &str| {
        let text = format!(
            "[defaults.link]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
             [node.a]\ngate = {{ {keys} }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\npriority = 2\n"
        );
        let loaded = read(&text);
        assert_eq!(loaded.spec().groups[0].priority, 2);
        loaded.spec().nodes[0].gate.unwrap()
    };
    let plain = gate("kind = \"congestion\"");
    assert_eq!(plain.config, GateConfig::Congestion(CongestionGateConfig::default()));
    assert_eq!(plain.pause, PauseConfig::default());
    let custom = gate(
        "kind = \"congestion\", check = \"2 s\", signals = \"losses\", stops-highest = true, ageing = \"10 s\", \
         after-service = \"stays\", timers = \"frozen\", resume = \"at-timer\", acks = \"stopped\", \
         marking = \"six-bits\"",
    );
    let ageing = Ageing { after: Some(Duration::from_secs(10)), then: AfterService::Stays };
    let config = CongestionGateConfig {
        check: Duration::from_secs(2),
        signals: Signals::Losses,
        stops_highest: true,
        ageing,
    };
    assert_eq!(custom.config, GateConfig::Congestion(config));
    assert_eq!(custom.pause, PauseConfig { freezes_timer: true, waits_for_timer: true, drops_acks: true });
    assert_eq!((plain.marking, custom.marking), (Marking::Class, Marking::SixBits));
    let plain = gate("kind = \"slots\"");
    assert_eq!(plain.config, GateConfig::Slots(SlotGateConfig::default()));
    assert_eq!(plain.pause, PauseConfig { freezes_timer: true, ..PauseConfig::default() });
    let custom =
        gate("kind = \"slots\", slot = \"2 ms\", slots = [60, 50, 40, 30, 20, 10], work-conserving = true");
    let config = SlotGateConfig {
        slot: Duration::from_millis(2),
        slots: [60, 50, 40, 30, 20, 10],
        work_conserving: true,
        ageing: Ageing::default(),
    };
    assert_eq!(custom.config, GateConfig::Slots(config));
}

#[test]
fn a_link_without_flows_uses_its_own_delay_for_its_bdp() {
    let loaded =
        read("[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"1 bdp\"");
    assert_eq!(forward_limit(&loaded), Limit::Bytes(10_000));
    assert_eq!(loaded.warnings[0].code, "scenario.empty");
}

#[test]
fn the_bdp_of_a_link_uses_its_longest_round_trip() {
    let loaded = read(
        "[defaults.link]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"1 bdp\"\n\
         [[link]]\nbetween = [\"a\", \"b\"]\n[[link]]\nbetween = [\"b\", \"c\"]\n\
         [defaults.scheme]\nsegment = \"960 B\"\nheader = \"40 B\"\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\n[[flow]]\nfrom = \"a\"\nto = \"c\"",
    );
    assert_eq!(forward_limit(&loaded), Limit::Bytes(22_080));
}

#[test]
fn the_reverse_direction_inherits_unset_keys_from_the_link() {
    let loaded = with_link("loss = \"1 %\"\nreverse = { rate = \"1 Mbit/s\", loss = 0 }");
    let link = &loaded.spec().links[0];
    assert_eq!(link.backward.rate, Rate::from_mbits_per_sec(1));
    assert_eq!(link.backward.delay, Duration::from_millis(5));
    assert_eq!(link.forward.impairment.loss, LossSpec::Uniform { probability: 0.01 });
    assert_eq!(link.backward.impairment.loss, LossSpec::None);
}

#[test]
fn an_outage_stops_the_link_and_restores_its_rate() {
    let loaded = with_link(
        "schedule = [{ at = \"9 s\", outage = \"1 s\" }, { at = \"2 s\", rate = \"4 Mbit/s\" }, \
         { at = \"9500 ms\", delay = \"1 ms\", loss = \"50 %\" }]",
    );
    let changes = &loaded.spec().links[0].forward.schedule;
    let steps: Vec<_> = changes.iter().map(|change| (change.at.as_secs_f64(), change.rate)).collect();
    let slow = Some(Rate::from_mbits_per_sec(4));
    assert_eq!(steps, [(2.0, slow), (9.0, Some(Rate::ZERO)), (9.5, None), (10.0, slow)]);
    assert_eq!(changes[2].delay, Some(Duration::from_millis(1)));
    assert_eq!(changes[2].impairment.as_ref().unwrap().loss, LossSpec::Uniform { probability: 0.5 });
}

#[test]
fn a_schedule_that_overrides_the_reverse_rate_causes_a_warning() {
    let loaded =
        with_link("reverse = { rate = \"1 Mbit/s\" }\nschedule = [{ at = \"1 s\", rate = \"2 Mbit/s\" }]");
    let doubted = loaded.warnings.iter().filter(|warning| warning.code == "scenario.schedule");
    assert_eq!(doubted.count(), 1);
}

#[test]
fn schemes_inherit_unset_keys_from_the_defaults() {
    let loaded = read(
        "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
         [defaults.scheme]\nsegment = \"500 B\"\nrto = { floor = \"1 s\", deviations = 2 }\n\
         [scheme.mine]\nbase = \"slow-start\"\nrto = { floor = \"2 s\" }\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"mine\"\n\
         [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"udp\"\nworkload = \"1 MB\"",
    );
    let TransportSpec { scheme, endpoint_configs: EndpointConfigs::Window(ends), header, control } =
        &loaded.spec().groups[0].transport
    else {
        panic!("slow start has windows");
    };
    let EndsConfig { sender, receiver, controller, handshake } = ends;
    assert_eq!(*handshake, None);
    assert_eq!((scheme.as_str(), sender.segment, *header, *control), ("mine", 500, 52, 52));
    assert_eq!((sender.rtt.floor, sender.rtt.deviations), (Duration::from_secs(2), 2));
    assert_eq!(sender.rtt.ceiling, Duration::from_secs(60));
    assert_eq!((sender.recovery, receiver.sack), (Recovery::GoBackN, false));
    assert!(matches!(controller, ControllerConfig::SlowStart(SlowStartConfig { initial_window: 1.0, .. })));
    let udp = &loaded.spec().groups[1].transport;
    let expected = EndpointConfigs::Datagram(SourceConfig { segment: 500, header: 28, rate: None });
    assert_eq!((&udp.endpoint_configs, udp.header), (&expected, 28));
}

#[test]
fn an_rto_floor_also_limits_the_margin() {
    let with = |rto: &str| {
        read(&format!(
            "warmup = \"1 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = {{ base = \"newreno\", rto = {{ {rto} }} }}\n"
        ))
    };
    let millis = Duration::from_millis;
    // A floor alone lowers the margin, but does not raise it.
    for (rto, floor, margin) in [
        ("floor = \"1 ms\"", 1, 1),
        ("floor = \"1 s\"", 1000, 200),
        ("margin = \"5 ms\"", 200, 5),
        ("floor = \"50 ms\", margin = \"50 ms\"", 50, 50),
        ("initial = \"1 s\"", 200, 200),
    ] {
        let loaded = with(rto);
        let configs = &loaded.spec().groups[0].transport.endpoint_configs;
        let EndpointConfigs::Window(EndsConfig { sender, .. }) = configs else {
            panic!("newreno has windows");
        };
        assert_eq!((sender.rtt.floor, sender.rtt.margin), (millis(floor), millis(margin)), "{rto}");
        assert!(loaded.warnings.is_empty(), "{rto}");
    }
    // Both keys; one has no effect.
    let loaded = with("floor = \"1 ms\", margin = \"200 ms\"");
    assert_eq!(loaded.warnings.len(), 1);
    assert_eq!(loaded.warnings[0].code, "scenario.unused");
}

#[test]
fn built_in_schemes_have_their_textbook_parameters() {
    for (name, window, recovery) in [
        ("slow-start", 1.0, Recovery::GoBackN),
        ("newreno", 10.0, Recovery::Sack),
        ("vegas", 2.0, Recovery::Sack),
        ("cubic", 10.0, Recovery::Sack),
        ("dctcp", 10.0, Recovery::Sack),
        ("prague", 10.0, Recovery::Sack),
        ("copa", 10.0, Recovery::Sack),
        ("ledbat-plus-plus", 2.0, Recovery::Sack),
        ("fixed", 32.0, Recovery::GoBackN),
        ("seif", 1.0, Recovery::FastRetransmit),
        ("dec-bit", 1.0, Recovery::GoBackN),
        ("tri-s", 1.0, Recovery::GoBackN),
        ("source-quench", 32.0, Recovery::GoBackN),
        ("bbn", 1024.0, Recovery::GoBackN),
    ] {
        let loaded = read(&format!(
            "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"{name}\""
        ));
        let group = &loaded.spec().groups[0];
        let TransportSpec { endpoint_configs, header, .. } = &group.transport;
        let EndpointConfigs::Window(ends) = endpoint_configs else { panic!("{name}") };
        let EndsConfig { sender, controller, .. } = ends;
        assert_eq!((sender.segment + header, sender.recovery), (1500, recovery), "{name}");
        assert_eq!((&group.workload, group.name.as_str()), (&WorkloadSpec::Bulk, "flow-1"));
        match *controller {
            ControllerConfig::FixedWindow(FixedWindowConfig { window: initial_window })
            | ControllerConfig::SlowStart(SlowStartConfig { initial_window, .. })
            | ControllerConfig::NewReno(NewRenoConfig { initial_window, .. }) => {
                assert_eq!(initial_window, window);
            }
            ControllerConfig::Vegas(VegasConfig { initial_window, alpha, beta, gamma, .. }) => {
                assert_eq!((initial_window, alpha, beta, gamma), (window, 1.0, 3.0, 1.0));
            }
            ControllerConfig::Cubic(CubicConfig { initial_window, c, beta, .. }) => {
                assert_eq!((initial_window, c, beta), (window, 0.4, 0.7));
            }
            ControllerConfig::Dctcp(DctcpConfig { initial_window, gain, .. }) => {
                assert_eq!((initial_window, gain), (window, 1.0 / 16.0));
            }
            ControllerConfig::Prague(prague) => {
                assert_eq!((prague.initial_window, prague.gain), (window, 1.0 / 16.0));
                let times = (prague.virtual_rtt, prague.transition, prague.burst_delay);
                assert_eq!(times, (Duration::from_millis(25), 500, Duration::from_micros(250)));
                assert!(sender.rack.is_some());
            }
            ControllerConfig::LedbatPlusPlus(ledbat) => {
                assert_eq!((ledbat.initial_window, ledbat.constant, ledbat.slowdowns), (window, 1.0, true));
                assert_eq!(ledbat.target, Duration::from_millis(60));
            }
            ControllerConfig::Copa(copa) => {
                assert_eq!((copa.initial_window, copa.delta, copa.competitive_mode), (window, 0.5, true));
                assert_eq!(copa.min_rtt_lifetime, Duration::from_secs(10));
            }
            ControllerConfig::DecBit(dec_bit) => {
                assert_eq!((dec_bit.initial_window, dec_bit.increase), (window, 1.0));
                assert_eq!((dec_bit.decrease, dec_bit.share), (0.875, 0.5));
            }
            ControllerConfig::TriS(tri_s) => {
                assert_eq!((tri_s.decrease_below, tri_s.increase_above), (0.5, 0.5));
            }
            ControllerConfig::SourceQuench(SourceQuenchConfig { window: fixed, acks_per_quench: acks }) => {
                assert_eq!((fixed, acks, sender.nagle), (window, 10, true));
            }
            ControllerConfig::Bbn(bbn) => {
                assert_eq!((bbn.window, bbn.lifetime, bbn.header), (window, Duration::from_secs(10), 52));
            }
            ControllerConfig::Dedicated(ref dedicated) => panic!("{dedicated:?} is in no list"),
            ControllerConfig::Seif(seif) => {
                assert_eq!((seif.initial_window, seif.cut_back, seif.growth_windows), (window, 0.5, 1));
                // Half of the maximum window.
                assert_eq!((seif.initial_ssthresh, seif.max_window), (524_288.0, 1_048_576.0));
            }
        }
    }
}

#[test]
fn a_load_is_a_mean_gap() {
    let loaded = read(
        "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n\
         workload = { kind = \"poisson\", load = \"4 Mbit/s\", size = { distribution = \"uniform\", min = \"5 kB\", max = \"15 kB\" } }",
    );
    let WorkloadSpec::Poisson { gap, .. } = loaded.spec().groups[0].workload else { panic!() };
    assert_eq!(gap, Duration::from_millis(20));
}

#[test]
fn included_files_are_overridden_by_the_including_file() {
    let folder = std::env::temp_dir().join(format!("thalweg-include-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("inner")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write(
        "inner/base.toml",
        "title = \"base\"\nseed = 5\nmeasure = { flows = 1, points = 7 }\n[[link]]\nbetween = [\"a\", \"b\"]\n\
        rate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nloss = { file = \"losses\" }",
    );
    write("inner/losses", "1\n5\n");
    let text = "include = [\"inner/base.toml\"]\ntitle = \"own\"\nmeasure.points = 9\n[[link]]\nbetween = [\"b\", \"c\"]\n\
        rate = \"2 Mbit/s\"\ndelay = \"1 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"c\"";
    let loaded = load_text("own.toml", text, &folder, &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    let loaded =
        loaded.unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()));
    let spec = loaded.spec();
    assert_eq!((loaded.scenario.title.as_str(), spec.seed), ("own", 5));
    assert_eq!((spec.measure.flows, spec.measure.points), (1, 9));
    assert_eq!((spec.links[0].name.as_str(), spec.links[1].name.as_str()), ("a-b", "b-c"));
    // A path in an included file is relative to that file.
    assert_eq!(spec.links[0].forward.impairment.loss, LossSpec::List([1, 5].into()));
}

/// A list numbers the packets of its own direction: acknowledgements with these numbers are not lost, unless `reverse`
/// has the list.
#[test]
fn a_loss_list_applies_to_its_own_direction_only() {
    let list = |packets: &[u64]| LossSpec::List(packets.into());
    let losses = |keys: &str| {
        let text = format!(
            "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n{keys}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let spec = load_text("list.toml", &text, Path::new(""), &[]).unwrap().spec().clone();
        let link = &spec.links[0];
        [&link.forward, &link.backward].map(|line| {
            let change = line.schedule.first().and_then(|change| change.impairment.clone());
            (line.impairment.loss.clone(), change.map(|change| change.loss))
        })
    };
    let loss = "loss = { model = \"list\", packets = [2, 5] }";
    assert_eq!(losses(loss), [(list(&[2, 5]), None), (LossSpec::None, None)]);
    let both = format!("{loss}\nreverse = {{ loss = {{ model = \"list\", packets = [3] }} }}");
    assert_eq!(losses(&both), [(list(&[2, 5]), None), (list(&[3]), None)]);
    let periodic = LossSpec::Periodic { every: 9 };
    let found = losses("loss = { model = \"periodic\", every = 9 }");
    assert_eq!(found, [(periodic, None), (LossSpec::None, None)]);
    // Other models apply to both directions, also with a list in the schedule.
    let scheduled = "loss = 0.1\nschedule = [{ at = \"1 s\", loss = { model = \"list\", packets = [7] } }]";
    let uniform = LossSpec::Uniform { probability: 0.1 };
    assert_eq!(losses(scheduled), [(uniform.clone(), Some(list(&[7]))), (uniform, Some(LossSpec::None))]);
}

/// SSCOP's default values at the UNI; with rate control, the amended rules or the printed ones.
#[test]
fn sscop_has_its_default_parameters() {
    let read_scheme = |scheme: &str| {
        let loaded = read(&format!(
            "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\nframing = \"atm-aal5\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = {scheme}"
        ));
        let spec = loaded.spec();
        assert_eq!(spec.links[0].backward.framing, Framing::AtmAal5);
        let TransportSpec { endpoint_configs: EndpointConfigs::Sscop(config), header, .. } =
            &spec.groups[0].transport
        else {
            panic!("{scheme}")
        };
        (config.clone(), *header)
    };
    let (plain, header) = read_scheme("\"sscop\"");
    assert_eq!((plain.segment, header, &*plain.sscop), (1468, 28, &Config::default()));
    for (name, rules) in
        [("sscop-rate", RateConfig::amended()), ("sscop-rate-literal", RateConfig::literal())]
    {
        let (config, _) = read_scheme(&format!("\"{name}\""));
        // A full SD, and a rate limited only by links.
        let expected = RateConfig { pdu: 1472, max: Rate::MAX, ..rules };
        assert_eq!(config.sscop.rate, Some(expected), "{name}");
    }
    let (own, header) = read_scheme(
        "{ base = \"sscop-rate\", window = \"30 pkt\", max-stat = 3, timer-poll = \"1 s\", segment = \"508 B\", \
         header = \"0 B\", alpha = \"5 pkt\", unit = \"cells\", drain = \"2 s\", max-rate = \"9 Mbit/s\" }",
    );
    let rate = own.sscop.rate.unwrap();
    assert_eq!((own.segment, header, own.sscop.window, own.sscop.max_stat), (508, 0, 30, 3));
    assert_eq!(
        (rate.pdu, rate.alpha, rate.unit, rate.drain_interval),
        (512, 5.0, SizeUnit::Cells, Some(Duration::from_secs(2)))
    );
    assert_eq!((own.sscop.timers.poll, rate.max), (Duration::from_secs(1), Rate::from_mbits_per_sec(9)));
}

/// A share of the slowest link, for all flows together: 60 % of 10 Mbit/s are 750 kB/s, in transfers of 50.5 kB on
/// average.
#[test]
fn a_load_may_be_a_share_of_the_path() {
    let scenario = |load: &str| {
        read(&format!(
            "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
             [[link]]\nbetween = [\"b\", \"c\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"c\"\ncount = 5\nworkload = {{ kind = \"poisson\", load = \"{load}\", \
             size = {{ distribution = \"table\", sizes = [[\"1 kB\", 0], [\"100 kB\", \"100 %\"]] }} }}"
        ))
    };
    let gap = |load: &str| match &scenario(load).spec().groups[0].workload {
        WorkloadSpec::Poisson { gap, size } => {
            assert!((size.mean() - 50_500.0).abs() < 1e-6);
            *gap
        }
        other => panic!("{other:?}"),
    };
    let expected = 5.0 * 50_500.0 / 750_000.0;
    assert!((gap("60 %").as_secs_f64() - expected).abs() < 1e-9);
    // Per flow.
    assert!((gap("1.2 Mbit/s").as_secs_f64() - expected).abs() < 1e-9);
}

/// The means of the distributions in the simulations of pFabric: 1138 and 5117 packets of 1460 B.
#[test]
fn tables_of_sizes_have_the_means_of_their_sources() {
    for (file, packets) in [("websearch.csv", 1138.0), ("datamining.csv", 5117.0)] {
        let text = format!(
            "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n\
             workload = {{ kind = \"poisson\", load = \"50 %\", size = {{ distribution = \"table\", file = \"{file}\" }} }}"
        );
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let loaded = load_text("test.toml", &text, &folder, &[]).expect("the file is there");
        let WorkloadSpec::Poisson { size, .. } = &loaded.spec().groups[0].workload else { panic!("{file}") };
        let mean = size.mean() / 1460.0;
        assert!((mean / packets - 1.0).abs() < 0.003, "{file}: {mean} packets");
    }
}

/// A preset sets default values, for one flow or for all flows with a suitable scheme; any explicit value overrides it.
/// The expanded
/// form has the values of the preset.
#[test]
fn explicit_keys_override_presets() {
    let sender = |all: &str, scheme: &str| {
        let loaded = read(&format!(
            "{all}\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = {scheme}"
        ));
        let written = read(&loaded.expanded());
        let ends = |loaded: &LoadedScenario| loaded.spec().groups[0].transport.endpoint_configs.clone();
        assert_eq!(ends(&loaded), ends(&written), "{all} {scheme}");
        match ends(&loaded) {
            EndpointConfigs::Window(ends) => *ends.sender,
            other => panic!("{other:?}"),
        }
    };
    let for_all = "[defaults.scheme]\npreset = \"linux\"";
    let linux = sender(for_all, "\"cubic\"");
    assert!(linux.prr && linux.rack.is_some() && linux.nagle);
    assert_eq!(sender("", "\"cubic:preset=linux\""), linux);
    assert_eq!(sender("", "{ base = \"cubic\", preset = \"linux\" }"), linux);
    let given =
        sender("[defaults.scheme]\nprr = false", "{ base = \"cubic\", preset = \"linux\", nagle = false }");
    assert!(!given.prr && !given.nagle);
    assert_eq!(SenderConfig { prr: true, nagle: true, ..given }, linux);
    // A preset in the defaults applies only to schemes that have it.
    assert!(!sender(for_all, "\"bbn\"").prr);
}

/// A host is a measured one, by name, or a table. The default host applies to flows without one, also if set on the
/// command line.
/// The expanded form reads back.
#[test]
fn hosts_are_named_or_described() {
    let path = "[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
                [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"newreno\"\n";
    let host = |loaded: &LoadedScenario| loaded.spec().groups[0].host;
    let ideal = read(path);
    assert_eq!(host(&ideal), None);
    let named = read(&format!("{path}host = \"linux-server\""));
    assert_eq!(host(&named), Some(HostSpec::LINUX_SERVER));
    assert_eq!(host(&read(&named.expanded())), host(&named));
    let table = read(&format!("{path}host = {{ late = \"2 ms\", late-p99 = \"3 ms\", buffer = \"9 kB\" }}"));
    let [wake_up_latency, wake_up_latency_p99] = [2, 3].map(Duration::from_millis);
    let spec = HostSpec { wake_up_latency, wake_up_latency_p99, buffer: Bytes::new(9000), ..HostSpec::IDEAL };
    assert_eq!([host(&table), host(&read(&table.expanded()))], [Some(spec); 2]);
    // Both ends wake up once per round trip.
    let rtt = |loaded: &LoadedScenario| loaded.paths().groups[0].as_ref().map(|path| path.rtt).unwrap();
    let added = rtt(&table).saturating_sub(rtt(&ideal));
    assert_eq!(added, Duration::from_millis(4));
    let set = ["defaults.flow.host=linux-loaded".to_owned()];
    let all = load_text("all.toml", path, Path::new("."), &set).unwrap();
    assert_eq!(host(&all), Some(HostSpec::LINUX_LOADED));
}

/// Keys for real packets reach the specification, and are expanded as read.
#[test]
fn keys_for_real_packets_are_preserved() {
    let text = "[[link]]\nbetween = [\"home\", \"world\"]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"50 pkt\"\n\
                nat = \"port-restricted\"\nnat-rebind = \"30 s\"\nudp-for = \"10 s\"\nblack-hole = \"1400 B\"\n\
                [[flow]]\nfrom = \"home\"\nto = \"world\"\nmatch = \"udp 5060 dscp 46\"\n";
    let loaded = read(text);
    let spec = loaded.spec();
    let middlebox = spec.links[0].middlebox;
    assert_eq!(
        (middlebox.nat, middlebox.nat_rebind),
        (Some(NatKind::PortRestricted), Some(Duration::from_secs(30)))
    );
    assert_eq!(middlebox.udp_allowed_for, Some(Duration::from_secs(10)));
    assert_eq!(spec.links[0].backward.impairment.largest, Some(Bytes::new(1400)));
    assert_eq!(spec.groups[0].live_match.unwrap().to_string(), "udp 5060 dscp 46");
    assert_eq!(read(&loaded.expanded()).spec(), spec);
}
