//! Diagnostics of unknown units.

use super::diagnostic::Report;
use super::parsed_tree::{Value, ValueKind};
use core::str::FromStr;
use thalweg_proto::units::UnitError;

/// Returns true if only an unknown unit prevents `text` from parsing as a `T`.
pub(super) fn has_unknown_unit<T: FromStr<Err = UnitError>>(text: &str) -> bool {
    matches!(text.parse::<T>(), Err(UnitError::UnknownUnit { .. }))
}

/// Reports an unknown unit and suggests the intended one; `known` are the valid units, `all` describes them.
pub(super) fn unknown_unit(value: &Value, unit: &str, known: &[&str], all: &str, report: &mut Report) {
    if let Some(text) = with_decimal_point(value, unit) {
        let message = "the decimal sign is a point, not a comma";
        report.error("scenario.unit", value.span, message).label(format!("did you mean \"{text}\"?"));
        return;
    }
    let found = report.error("scenario.unit", value.span, format!("unknown unit `{unit}`"));
    let found = match canonical_unit(unit, known) {
        Some(meant) => found.label(format!("did you mean `{meant}`?")),
        None => found.suggest(unit, known.iter().copied()),
    };
    found.help(format!("units here: {all}"));
}

/// Returns the text with a decimal point in place of a decimal comma, if parsing of the number stopped at one.
fn with_decimal_point(value: &Value, rest: &str) -> Option<String> {
    let digits = rest.strip_prefix(',')?;
    let ValueKind::String(text) = &value.kind else { return None };
    digits.starts_with(|first: char| first.is_ascii_digit()).then(|| text.replacen(',', ".", 1))
}

/// Common synonyms of units. For these, a suggestion by edit distance often confuses bits with bytes.
const UNIT_SYNONYMS: &[(&str, &[&str])] = &[
    ("bit/s", &["bps", "b/s", "bits/s", "bit/sec"]),
    ("kbit/s", &["kbps", "Kbps", "kb/s", "Kb/s", "Kbit/s", "kbits/s", "kbit"]),
    ("Mbit/s", &["Mbps", "mbps", "Mb/s", "mb/s", "mbit/s", "Mbits/s", "Mbit", "mbit"]),
    ("Gbit/s", &["Gbps", "gbps", "Gb/s", "gb/s", "gbit/s", "Gbits/s", "Gbit", "gbit"]),
    ("Tbit/s", &["Tbps", "tbps", "Tb/s", "tb/s", "tbit/s", "Tbits/s", "Tbit", "tbit"]),
    ("B/s", &["Bps", "bytes/s", "B"]),
    ("kB/s", &["kBps", "KBps", "KB/s", "kB", "KB"]),
    ("MB/s", &["MBps", "MB"]),
    ("GB/s", &["GBps", "GB"]),
    ("pkt", &["pkts", "packet", "packets", "segment", "segments", "p"]),
    ("us", &["usec", "usecs", "microsecond", "microseconds"]),
    ("ns", &["nsec", "nsecs", "nanosecond", "nanoseconds"]),
    ("ms", &["msec", "msecs", "millisecond", "milliseconds"]),
    ("s", &["S", "sec", "secs", "second", "seconds"]),
    ("min", &["m", "mins", "minute", "minutes"]),
    ("h", &["hr", "hrs", "hour", "hours"]),
    ("d", &["day", "days"]),
    ("B", &["b", "byte", "bytes", "Byte", "Bytes"]),
    ("kB", &["KB", "kb", "Kb", "K", "k"]),
    ("MB", &["mb", "M"]),
    ("GB", &["gb", "G"]),
    ("KiB", &["kiB", "kib", "KIB"]),
];

/// Returns the unit commonly written as `unit`, if it is among the `known` ones.
fn canonical_unit(unit: &str, known: &[&str]) -> Option<&'static str> {
    let found =
        UNIT_SYNONYMS.iter().find(|(meant, spellings)| spellings.contains(&unit) && known.contains(meant));
    found.map(|(meant, _)| *meant)
}

#[cfg(test)]
mod tests {
    use super::super::keys::Capacity;
    use super::super::source_text::Source;
    use super::super::table_declarations::Decode;
    use super::super::value_types::Packets;
    use super::*;
    use thalweg_proto::units::{Bytes, Duration, Rate};

    /// Returns label and help of the diagnostic.
    fn diagnosed<T: Decode>(text: &str) -> (String, String) {
        let mut report = Report::default();
        let source = report.add_source(Source::new("test", format!("\"{text}\"")));
        let value = super::super::parsed_tree::parse_value(source, &mut report).unwrap();
        assert!(T::decode(&value, &mut report).is_none(), "{text}");
        let found = report.take();
        assert_eq!((found.len(), found[0].code), (1, "scenario.unit"), "{text}");
        (found[0].label.clone().unwrap_or_default(), found[0].help.clone().unwrap_or_default())
    }

    #[track_caller]
    fn meant<T: Decode>(pairs: &[(&str, &str)]) {
        for (text, unit) in pairs {
            assert_eq!(diagnosed::<T>(text).0, format!("did you mean `{unit}`?"), "{text}");
        }
    }

    #[test]
    fn common_unit_spellings_are_suggested_correctly() {
        meant::<Rate>(&[
            ("20 Mbps", "Mbit/s"),
            ("1 Gbps", "Gbit/s"),
            ("100 Mb/s", "Mbit/s"),
            ("64 kbps", "kbit/s"),
            ("9 bps", "bit/s"),
            ("2 MBps", "MB/s"),
            ("2 Mbitt/s", "Mbit/s"),
            ("10 MB", "MB/s"),
            ("10 KB", "kB/s"),
        ]);
        meant::<Duration>(&[
            ("1 sec", "s"),
            ("1 secs", "s"),
            ("1 seconds", "s"),
            ("10 m", "min"),
            ("5 msec", "ms"),
        ]);
        meant::<Bytes>(&[("64 KB", "kB"), ("10 bytes", "B")]);
        meant::<Packets>(&[("10 packets", "pkt"), ("10 pkts", "pkt")]);
        meant::<Capacity>(&[
            ("10 packets", "pkt"),
            ("10 pkts", "pkt"),
            ("64 KB", "kB"),
            ("10 bytes", "B"),
            ("50 msec", "ms"),
            ("1 seconds", "s"),
        ]);
    }

    #[test]
    fn a_decimal_comma_is_reported() {
        assert_eq!(diagnosed::<Duration>("0,5 ms").0, "did you mean \"0.5 ms\"?");
        assert_eq!(diagnosed::<Rate>("1,5 Mbit/s").0, "did you mean \"1.5 Mbit/s\"?");
    }

    #[test]
    fn an_unknown_capacity_unit_is_reported_with_all_valid_units() {
        for text in ["10 parsecs", "10 fooB", "10 elephant"] {
            let help = diagnosed::<Capacity>(text).1;
            assert!(help.contains("pkt, B, kB") && help.contains("bdp"), "{text}: {help}");
        }
    }
}
