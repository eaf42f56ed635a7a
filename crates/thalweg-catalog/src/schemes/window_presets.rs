//! Presets: sets of values of window schemes that reproduce the sender of a kernel, or of a specification.
//!
//! # Differences from the kernel and the specifications
//!
//! | Linux or RFC | Ours | Reason | Effect |
//! | --- | --- | --- | --- |
//! | Linux delays acknowledgements by 40 to 200 ms, depending on the gaps between segments, and not at all at the start of a connection | by 40 ms | there is one key for the delay | short flows start more slowly |
//! | F-RTO in Linux: a timeout is spurious if any other segment that was sent once is acknowledged, before the new segments are | after the new segments have been acknowledged | RFC 5682, section 3.1 | if only the first segment is missing, the reduction by the timeout is not undone |
//! | Linux has version 1 of BBR; its DCTCP and Prague reduce the window by whole segments | version 3 of BBR; windows are real numbers | the drafts and the RFC | small windows are larger by a fraction of a segment |
//! | RFC 5681 permits receivers to delay an acknowledgement by up to 500 ms | they delay it by 500 ms | the maximum that the RFC permits | single segments are acknowledged as late as the RFC permits |

use crate::Kind;
use crate::option_keys::{Key, PRESET, Preset, key};

/// The key that selects a preset. All window schemes have it; not all have presets.
pub(crate) const KEY: Key = key(
    PRESET,
    Kind::Word(&["linux", "rfc", "draft"]),
    "",
    "Set of defaults: \"linux\", the Linux sender; or the specifications: \"draft\" for bbr and prague, \"rfc\" for the others. Explicit \
     keys take precedence. For newreno, vegas, cubic, dctcp, prague and bbr.",
);

/// The presets of CUBIC.
pub(crate) const CUBIC: &[Preset] = &[
    Preset {
        name: "linux",
        values: &[LINUX_AND_STANDARDS, LINUX, WINDOW, LINUX_WINDOW, NO_ECN, HYSTART, FUNCTION],
    },
    // RFC 9438, section 4.10.
    Preset {
        name: "rfc",
        values: &[LINUX_AND_STANDARDS, RFC, WINDOW, RFC_WINDOW, ECN, HYSTART_PLUS_PLUS, FUNCTION],
    },
];

/// The presets of NewReno, whose slow start ends only by a loss in either.
pub(crate) const RENO: &[Preset] = &[
    Preset { name: "linux", values: &[LINUX_AND_STANDARDS, LINUX, WINDOW, LINUX_WINDOW, NO_ECN, NO_HYSTART] },
    Preset { name: "rfc", values: &[LINUX_AND_STANDARDS, RFC, WINDOW, RFC_WINDOW, ECN, NO_HYSTART] },
];

/// The presets of Vegas.
pub(crate) const VEGAS: &[Preset] = &[
    Preset { name: "linux", values: &[LINUX_AND_STANDARDS, LINUX, WINDOW, LINUX_WINDOW, NO_ECN, EACH_ROUND] },
    Preset { name: "rfc", values: &[LINUX_AND_STANDARDS, RFC, WINDOW, RFC_WINDOW, ECN, EVERY_OTHER_ROUND] },
];

/// The presets of DCTCP.
pub(crate) const DCTCP: &[Preset] = &[
    Preset { name: "linux", values: &[LINUX_AND_STANDARDS, LINUX, WINDOW, LINUX_WINDOW, GAIN] },
    Preset { name: "rfc", values: &[LINUX_AND_STANDARDS, RFC, WINDOW, RFC_WINDOW, GAIN] },
];

/// The presets of Prague. The draft describes the sender in Linux; the transport follows the RFCs.
pub(crate) const PRAGUE: &[Preset] = &[
    Preset { name: "linux", values: &[LINUX_AND_STANDARDS, LINUX, WINDOW, LINUX_WINDOW, GAIN, VIRTUAL_RTT] },
    Preset { name: "draft", values: &[LINUX_AND_STANDARDS, RFC, WINDOW, RFC_WINDOW, GAIN, VIRTUAL_RTT] },
];

/// The presets of BBR.
pub(crate) const BBR: &[Preset] = &[
    // Linux hands whole bursts to the network card for segmentation.
    Preset { name: "linux", values: &[LINUX_AND_STANDARDS, LINUX, MODEL, &[("offload-quanta", "3")]] },
    Preset { name: "draft", values: &[LINUX_AND_STANDARDS, RFC, MODEL, &[("offload-quanta", "1")]] },
];

type List = &'static [(&'static str, &'static str)];

/// The values on which Linux 6 and the standards track agree.
pub(crate) const LINUX_AND_STANDARDS: List = &[
    // RFC 6928, section 2.
    ("initial-window", "10 pkt"),
    // RFC 6675 and RFC 8985, with the response of RFC 4015, and RFC 5682.
    ("recovery", "sack"),
    ("duplicate-threshold", "3"),
    ("rack", "true"),
    ("undo", "true"),
    ("tail-probe", "true"),
    ("f-rto", "true"),
    // RFC 6298, sections 2.1 and 2.3.
    ("rto.initial", "1 s"),
    ("rto.deviations", "4"),
    // RFC 9293, section 3.7.4.
    ("nagle", "true"),
    // RFC 5681, section 4.2.
    ("delayed-ack", "true"),
    ("delayed-ack.every", "2"),
    ("delayed-ack.adaptive", "false"),
    ("keep-out-of-order", "true"),
];

/// The values on which Linux 6 and the standards track agree, for senders whose window reacts to losses.
const WINDOW: List = &[
    // RFC 5681, section 3.1.
    ("initial-ssthresh", "unlimited"),
    // RFC 8985, section 3.4, recommends it.
    ("prr", "true"),
    // RFC 5681, section 4.1.
    ("idle-restart", "true"),
];

/// The other defaults of Linux 6.
const LINUX: List = &[
    ("rto.floor", "200 ms"),
    ("rto.ceiling", "120 s"),
    // The variation term is at least 200 ms.
    ("rto.margin", "200 ms"),
    ("delayed-ack.delay", "40 ms"),
    // tcp_fastretrans_alert() enters recovery once for each window of data.
    ("cut-for-lost-repairs", "false"),
];

/// The other requirements and recommendations of the standards track.
const RFC: List = &[
    // RFC 6298, sections 2.4, 2.5 and 2.3, with 1 ms as the clock's tick (G).
    ("rto.floor", "1 s"),
    ("rto.ceiling", "60 s"),
    ("rto.margin", "1 ms"),
    // RFC 5681, section 4.2.
    ("delayed-ack.delay", "500 ms"),
    // RFC 5681, section 4.3.
    ("cut-for-lost-repairs", "true"),
];

/// Window rules of Linux: RFC 2861 in place of a restart, and growth by all acknowledged data.
const LINUX_WINDOW: List = &[("window-validation", "rfc2861"), ("byte-counting", "unlimited")];
/// Window rules of the standards track: RFC 7661 is experimental, and RFC 5681 (section 3.1) counts an acknowledgement as
/// one segment at most.
const RFC_WINDOW: List = &[("window-validation", "none"), ("byte-counting", "1 pkt")];
/// Linux accepts ECN as a server, and does not request it as a client.
const NO_ECN: List = &[("ecn", "false")];
/// RFC 3168.
const ECN: List = &[("ecn", "true")];
/// Ha and Rhee 2011.
const HYSTART: List = &[("slow-start-exit", "hystart")];
/// RFC 9406.
const HYSTART_PLUS_PLUS: List = &[("slow-start-exit", "hystart++")];
/// RFC 5681, section 3.1.
const NO_HYSTART: List = &[("slow-start-exit", "loss")];
/// Brakmo and Peterson 1995, section 3.3.
const EVERY_OTHER_ROUND: List = &[("slow-start", "every-other-round")];
/// tcp_vegas_cong_avoid().
const EACH_ROUND: List = &[("slow-start", "each-round")];
/// RFC 9438, sections 4.1, 4.6 and 4.7.
const FUNCTION: List = &[("c", "0.4"), ("beta", "0.7"), ("fast-convergence", "true")];
/// RFC 8257, section 4.2; Prague adopts it.
const GAIN: List = &[("gain", "0.0625")];
/// Sections 2.4.4 and 2.5 of Prague's draft.
const VIRTUAL_RTT: List = &[("virtual-rtt", "25 ms"), ("transition", "500"), ("burst-delay", "250 us")];
/// The constants of BBR's draft.
const MODEL: List =
    &[("loss-threshold", "2 %"), ("beta", "0.7"), ("headroom", "15 %"), ("precautionary", "true")];

#[cfg(test)]
mod tests {
    use crate::option_keys::{Environment, PRESET};
    use crate::{EndpointConfigs, PathHints, Registry, SCHEMES, SchemeDescription};
    use thalweg_proto::units::Duration;
    use thalweg_proto::window::{EndsConfig, SenderConfig};

    fn with_presets() -> impl Iterator<Item = &'static SchemeDescription> {
        SCHEMES.iter().copied().filter(|description| !description.keys.presets.is_empty())
    }

    fn ends(text: &str, place: Environment) -> EndsConfig {
        let (description, values) =
            Registry::default().read_scheme(text, place).unwrap_or_else(|error| panic!("{text}: {error}"));
        match (description.make_endpoint_configs)(
            &values,
            &PathHints { max_datagram: 1500, memory: 1 << 30, ..PathHints::default() },
        ) {
            Ok(EndpointConfigs::Window(config)) => config,
            other => panic!("{text}: {other:?}"),
        }
    }

    /// Every value of a preset is valid for its key, simulated and live, and occurs once.
    #[test]
    fn values_of_presets_are_in_range() {
        assert_eq!(with_presets().count(), 6);
        for description in with_presets() {
            for preset in description.keys.presets {
                let mut seen = Vec::new();
                for (name, text) in preset.values.iter().flat_map(|list| list.iter()) {
                    assert!(!seen.contains(name), "{name} twice in {}", preset.name);
                    seen.push(name);
                    let key = description.keys.find(name);
                    let key = key.unwrap_or_else(|| panic!("{} has no key {name}", description.name));
                    let value = key.kind.read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
                    for place in [Environment::Simulated, Environment::Live] {
                        assert_eq!(key.check(&value, place), Ok(()), "{name} of {}", preset.name);
                    }
                    assert!(key.is_live() && key.is_simulated(), "{name}");
                }
                assert!(
                    description.keys.find(PRESET).is_some_and(|key| key.kind.word(preset.name).is_some())
                );
            }
        }
    }

    #[test]
    fn a_preset_equals_its_explicit_values() {
        for place in [Environment::Simulated, Environment::Live] {
            for description in with_presets() {
                for preset in description.keys.presets {
                    let all: Vec<String> = preset
                        .values
                        .iter()
                        .flat_map(|list| list.iter())
                        .map(|(name, text)| format!("{name}={}", text.replace(' ', "")))
                        .collect();
                    let short = ends(&format!("{}:preset={}", description.name, preset.name), place);
                    let long = ends(&format!("{}:{}", description.name, all.join(",")), place);
                    assert_eq!(short, long, "{} {} {place:?}", description.name, preset.name);
                }
            }
        }
    }

    /// The minimum timeout of Linux is 200 ms above the round-trip time, that of RFC 6298 (section 2.4) is 1 s.
    #[test]
    fn explicit_keys_override_presets() {
        let sender = |text| -> SenderConfig { *ends(text, Environment::Simulated).sender };
        let (linux, rfc) = (sender("cubic:preset=linux"), sender("cubic:preset=rfc"));
        assert_eq!(
            (linux.rtt.floor, linux.rtt.margin),
            (Duration::from_millis(200), Duration::from_millis(200))
        );
        assert_eq!((rfc.rtt.floor, rfc.rtt.margin), (Duration::from_secs(1), Duration::from_millis(1)));
        assert!(linux.prr && linux.rack.is_some());
        assert!(linux.f_rto && rfc.f_rto);
        assert!(!linux.cut_for_lost_repairs && rfc.cut_for_lost_repairs);
        // BBR has its own rate during loss recovery and after idle time.
        let bbr = sender("bbr:preset=draft");
        assert!(!bbr.prr && !bbr.idle_restart && bbr.f_rto && bbr.rtt == rfc.rtt);
        for text in ["cubic:preset=linux,prr=false,rack=false", "cubic:prr=false,rack=false,preset=linux"] {
            let sender_config = sender(text);
            assert!(!sender_config.prr && sender_config.rack.is_none());
            assert_eq!(SenderConfig { prr: true, rack: linux.rack, ..sender_config }, linux);
        }
    }

    #[test]
    fn unknown_presets_are_rejected() {
        for (text, what) in [
            ("bbn:preset=linux", "no presets: newreno, vegas, cubic, dctcp, prague and bbr have"),
            (
                "cubic:preset=draft",
                "no preset of that name: bbr and prague have a \"draft\", others the \"rfc\"s",
            ),
            (
                "bbr:preset=rfc",
                "no preset of that name: bbr and prague have a \"draft\", others the \"rfc\"s",
            ),
        ] {
            let error = Registry::default().read_scheme(text, Environment::Simulated).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
    }
}
