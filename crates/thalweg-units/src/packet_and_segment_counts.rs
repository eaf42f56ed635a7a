//! Real numbers of packets and of segments, as types.

use super::quantity_parser::{UnitError, parse_real};
use core::fmt;
use core::str::FromStr;

/// A number of packets or segments, perhaps with a fraction, or no limit: `30 pkt`, `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Packets(pub f64);

impl FromStr for Packets {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim() == "unlimited" {
            return Ok(Self(f64::INFINITY));
        }
        let (value, unit) = parse_real(text, "30 pkt")?;
        match unit {
            "pkt" => Ok(Self(value)),
            // Zero needs no unit.
            "" if value == 0.0 => Ok(Self(value)),
            "" => Err(UnitError::no_unit(text, "pkt")),
            _ => Err(UnitError::UnknownUnit { unit: unit.to_owned(), known: vec!["pkt"] }),
        }
    }
}

impl fmt::Display for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_finite() { write!(f, "{} pkt", self.0) } else { f.write_str("unlimited") }
    }
}

/// A number of segments, or a multiple of w_a, the number of segments sent per round trip: `58 seg`, `2.5 wa`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Segments {
    /// Number of segments.
    Count(f64),
    /// Multiple of w_a.
    RoundTrips(f64),
}

impl Segments {
    /// Returns the number of segments on a path with `w_a` segments per round trip.
    pub fn at(self, w_a: f64) -> f64 {
        match self {
            Self::Count(count) => count,
            Self::RoundTrips(times) => times * w_a,
        }
    }
}

impl FromStr for Segments {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (value, unit) = parse_real(text, "2.5 wa")?;
        match unit {
            "seg" => Ok(Self::Count(value)),
            "wa" => Ok(Self::RoundTrips(value)),
            "" => Err(UnitError::no_unit(text, "seg")),
            _ => Err(UnitError::UnknownUnit { unit: unit.to_owned(), known: vec!["seg", "wa"] }),
        }
    }
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count} seg"),
            Self::RoundTrips(times) => write!(f, "{times} wa"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_a_unit_or_no_limit() {
        assert_eq!("30 pkt".parse(), Ok(Packets(30.0)));
        assert_eq!(" 2.5pkt".parse(), Ok(Packets(2.5)));
        assert_eq!("1_000 pkt".parse(), Ok(Packets(1000.0)));
        assert_eq!("unlimited".parse(), Ok(Packets(f64::INFINITY)));
        assert_eq!("0".parse(), Ok(Packets(0.0)));
        for (text, why) in [
            ("30", "`30` has no unit; did you mean \"30 pkt\"?"),
            ("30 packets", "unknown unit `packets`; known: pkt"),
            ("-1 pkt", "the value must not be negative"),
            ("many", "`many` does not start with a number (an example: \"30 pkt\")"),
            ("1e999 pkt", "`1e999 pkt` does not start with a number (an example: \"30 pkt\")"),
        ] {
            assert_eq!(text.parse::<Packets>().unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn segments_are_counted_or_follow_the_path() {
        assert_eq!("58 seg".parse(), Ok(Segments::Count(58.0)));
        assert_eq!("2.5wa".parse(), Ok(Segments::RoundTrips(2.5)));
        assert_eq!((Segments::Count(3.0).at(10.0), Segments::RoundTrips(2.5).at(10.0)), (3.0, 25.0));
        assert_eq!(
            "58".parse::<Segments>().unwrap_err().to_string(),
            "`58` has no unit; did you mean \"58 seg\"?"
        );
        for text in ["58 seg", "2.5 wa"] {
            assert_eq!(text.parse::<Segments>().unwrap().to_string(), text);
        }
    }
}
