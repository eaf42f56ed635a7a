//! Equivalence margins and bounds of an assessment, by name.

use core::str::FromStr as _;
use serde::Deserialize;
use std::collections::BTreeMap;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_scenario::{nearest_name, toml_as_json};

/// Margins and bounds of an assessment, by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Margins(BTreeMap<String, Margin>);

/// Margin or bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Margin {
    /// Description, in one sentence.
    pub about: String,
    /// Accepted values.
    pub band: Band,
    /// Band as written in the file.
    pub band_text: String,
}

/// Range of accepted values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// At least the reference value, minus a share of it and an amount.
    NotBelow {
        /// Share of the reference value.
        share: f64,
        /// Amount beside the share, in the unit of the value.
        amount: f64,
    },
    /// At most the reference value, plus a share of it and an amount.
    NotAbove {
        /// Share of the reference value.
        share: f64,
        /// Amount beside the share, in the unit of the value.
        amount: f64,
    },
    /// Minimum of the mean.
    AtLeast(f64),
    /// Maximum of the mean.
    AtMost(f64),
    /// Maximum of every run.
    Max(f64),
    /// Minimum of every run.
    Min(f64),
}

impl Band {
    /// Returns true if the band is relative to a reference.
    pub const fn is_relative(self) -> bool {
        matches!(self, Self::NotBelow { .. } | Self::NotAbove { .. })
    }

    /// Returns the distance to the edge of the band, positive inside.
    pub fn slack(self, value: f64, reference: f64) -> f64 {
        match self {
            Self::NotBelow { share, amount } => value - (reference * (1.0 - share) - amount),
            Self::NotAbove { share, amount } => reference * (1.0 + share) + amount - value,
            Self::AtLeast(min) | Self::Min(min) => value - min,
            Self::AtMost(max) | Self::Max(max) => max - value,
        }
    }
}

/// Defines the table of the file and its keys, from one list.
macro_rules! margin_format {
    ($($key:literal => $field:ident: $Type:ty,)+) => {
        /// Table of the file.
        #[derive(Deserialize)]
        struct MarginFormat {
            $(#[serde(rename = $key)] $field: $Type,)+
        }

        /// Keys of a table.
        const KEYS: &[&str] = &[$($key),+];
    };
}
margin_format! {
    "about" => about: String,
    "better" => better: Option<String>,
    "share" => share: Option<String>,
    "amount" => amount: Option<String>,
    "at-least" => at_least: Option<String>,
    "at-most" => at_most: Option<String>,
    "max" => max: Option<String>,
    "min" => min: Option<String>,
}

impl Margins {
    /// Parses the text of a file; messages refer to it as `name`.
    ///
    /// # Errors
    ///
    /// A description of the error.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let value = toml_as_json(name, text)?;
        check_keys(&value).map_err(|what| format!("`{name}`: {what}"))?;
        let tables: BTreeMap<String, MarginFormat> =
            serde_json::from_value(value).map_err(|error| format!("`{name}`: {error}"))?;
        let margin = |(key, table): (String, MarginFormat)| {
            let fault = |what: String| format!("`{name}`: [{key}]: {what}");
            let number = |text: &Option<String>| match text {
                None => Ok(None),
                Some(text) => parse_amount(text).map(Some).ok_or_else(|| {
                    fault(format!(
                        "`{text}` is not an amount; expected such as \"10 %\", \"2 ms\", \"20 kbit/s\""
                    ))
                }),
            };
            let share = number(&table.share)?.unwrap_or(0.0);
            let amount = number(&table.amount)?.unwrap_or(0.0);
            let bounds =
                (number(&table.at_least)?, number(&table.at_most)?, number(&table.max)?, number(&table.min)?);
            let text = |of: &Option<String>| of.clone().unwrap_or_else(|| "0".to_owned());
            let allowed = || match (&table.share, &table.amount) {
                (Some(share), Some(amount)) => {
                    format!("{share} plus {}", amount.replace('%', "percentage points"))
                }
                (None, Some(amount)) => amount.replace('%', "percentage points"),
                (share, None) => text(share),
            };
            let (band, band_text) = match (table.better.as_deref(), bounds) {
                (Some("more"), (None, None, None, None)) => {
                    (Band::NotBelow { share, amount }, format!("at most {} lower", allowed()))
                }
                (Some("less"), (None, None, None, None)) => {
                    let more =
                        if table.amount.as_deref().is_some_and(is_duration) { "longer" } else { "higher" };
                    (Band::NotAbove { share, amount }, format!("at most {} {more}", allowed()))
                }
                (None, (Some(min), None, None, None)) => {
                    (Band::AtLeast(min), format!("at least {}", text(&table.at_least)))
                }
                (None, (None, Some(max), None, None)) => {
                    (Band::AtMost(max), format!("at most {}", text(&table.at_most)))
                }
                (None, (None, None, Some(max), None)) => {
                    (Band::Max(max), format!("at most {} in every run", text(&table.max)))
                }
                (None, (None, None, None, Some(min))) => {
                    (Band::Min(min), format!("at least {} in every run", text(&table.min)))
                }
                _ => {
                    let help = "either `better` (\"more\" or \"less\") with `share` and `amount`, or one of `at-least`, \
                                `at-most`, `max` and `min`";
                    return Err(fault(format!("expected {help}")));
                }
            };
            Ok((key, Margin { about: table.about, band, band_text }))
        };
        tables.into_iter().map(margin).collect::<Result<_, String>>().map(Self)
    }

    /// Returns the margin with this name.
    ///
    /// # Errors
    ///
    /// A message that suggests a similar name.
    pub fn find(&self, name: &str) -> Result<&Margin, String> {
        self.0.get(name).ok_or_else(|| {
            let help = nearest_name(name, self.0.keys().map(String::as_str));
            let help = help.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            format!("there is no margin `{name}`{help}")
        })
    }
}

/// Checks that tables have no other keys.
fn check_keys(file: &serde_json::Value) -> Result<(), String> {
    for (margin, table) in file.as_object().into_iter().flatten() {
        let mut keys = table.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        if let Some(key) = keys.find(|key| !KEYS.contains(key)) {
            let help = match nearest_name(key, KEYS.iter().copied()) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => format!(": expected one of {}", KEYS.join(", ")),
            };
            return Err(format!("[{margin}]: unknown key `{key}`{help}"));
        }
    }
    Ok(())
}

/// Returns true if the amount has a unit of time.
fn is_duration(text: &str) -> bool {
    text.trim().parse::<f64>().is_err() && Duration::from_str(text.trim()).is_ok()
}

/// Parses a number into base units: "0.9", "10 %", "2 ms", "20 kbit/s", "20 kB", "20 pkt".
fn parse_amount(text: &str) -> Option<f64> {
    let text = text.trim();
    let number =
        |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    if let Some(share) = text.strip_suffix('%') {
        return number(share).map(|percent| percent / 100.0);
    }
    number(text)
        .or_else(|| number(text.strip_suffix("pkt")?))
        .or_else(|| Duration::from_str(text).ok().map(Duration::as_secs_f64))
        .or_else(|| Rate::from_str(text).ok().map(Rate::as_f64))
        .or_else(|| Bytes::from_str(text).ok().map(|bytes| bytes.get() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        assert_eq!(
            (parse_amount("10 %"), parse_amount("2 ms"), parse_amount("20 kbit/s")),
            (Some(0.1), Some(0.002), Some(20_000.0))
        );
        assert_eq!(
            (parse_amount("0.9"), parse_amount("20 pkt"), parse_amount("3 kB")),
            (Some(0.9), Some(20.0), Some(3000.0))
        );
        assert_eq!((parse_amount("ten"), parse_amount("-1"), parse_amount("inf")), (None, None, None));
    }

    /// By hand: 10 % and 2 ms above 50 ms are 57 ms; 20 % and 5 below 100 are 75.
    #[test]
    fn slack_is_the_distance_to_the_edge() {
        let above = Band::NotAbove { share: 0.1, amount: 0.002 };
        assert!((above.slack(0.050, 0.050) - 0.007).abs() < 1e-12 && above.slack(0.058, 0.050) < 0.0);
        let below = Band::NotBelow { share: 0.2, amount: 5.0 };
        assert!((below.slack(75.0, 100.0)).abs() < 1e-9 && below.slack(74.0, 100.0) < 0.0);
        assert_eq!(Band::AtLeast(0.9).slack(1.0, f64::NAN), 1.0 - 0.9);
        assert_eq!(Band::Max(2.0).slack(3.0, f64::NAN), -1.0);
    }

    #[test]
    fn errors_name_the_position_and_the_expected_form() {
        let fault = |text: &str| Margins::read("m.toml", text).unwrap_err();
        assert!(fault("[a]\nabout = \"x\"\nbetter = \"most\"").contains("[a]: expected either `better`"));
        assert!(fault("[a]\nabout = \"x\"\nat-least = \"much\"").contains("`much` is not an amount"));
        let key = |key: &str| fault(&format!("[a]\nabout = \"x\"\n{key} = \"1\""));
        assert!(key("atleast").contains("[a]: unknown key `atleast`; did you mean `at-least`?"));
        assert!(key("xyz").contains("unknown key `xyz`: expected one of about, better, share"));
        // Their names in development builds.
        assert!(key("least").contains("[a]: unknown key `least`; did you mean `min`?"));
        assert!(key("worst").contains("[a]: unknown key `worst`; did you mean `max`?"));
        assert!(key("floor").contains("[a]: unknown key `floor`; did you mean `amount`?"));
        assert!(fault("[a\n").contains("m.toml"));
        let margins = Margins::read("m.toml", "[even]\nabout = \"x\"\nat-least = \"0.9\"").unwrap();
        assert!(margins.find("evn").unwrap_err().contains("did you mean `even`?"));
        assert_eq!(margins.find("even").unwrap().band_text, "at least 0.9");
    }

    #[test]
    fn times_are_longer_and_other_quantities_higher() {
        let band = |amount: &str| {
            let text =
                format!("[a]\nabout = \"x\"\nbetter = \"less\"\nshare = \"10 %\"\namount = \"{amount}\"");
            Margins::read("m.toml", &text).unwrap().find("a").unwrap().band_text.clone()
        };
        assert_eq!(band("2 ms"), "at most 10 % plus 2 ms longer");
        assert_eq!(band("0.1 %"), "at most 10 % plus 0.1 percentage points higher");
        assert_eq!(band("20 pkt"), "at most 10 % plus 20 pkt higher");
        assert_eq!(band("2"), "at most 10 % plus 2 higher");
    }
}
