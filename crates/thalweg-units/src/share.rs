//! Shares, as fractions or percentages.

use super::quantity_parser::UnitError;
use core::fmt;
use core::str::FromStr;

/// A share or a probability, from 0 to 1: `0.8`, `80 %`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        // Shifting the decimal point is exact; division by 100 is not.
        let number = match text.strip_suffix('%') {
            Some(percent) => format!("{}e-2", percent.trim_end()).parse::<f64>(),
            None => text.replace('_', "").parse(),
        };
        match number {
            Ok(share) if (0.0..=1.0).contains(&share) => Ok(Self(share)),
            Ok(number) if number.is_finite() => Err(UnitError::NoShare),
            _ => Err(UnitError::NotANumber { text: text.to_owned(), example: "80 %" }),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_fraction_or_a_percentage() {
        assert_eq!("0.8".parse(), Ok(Share(0.8)));
        assert_eq!("80 %".parse(), Ok(Share(0.8)));
        // 0.07 is not 7.0 / 100.0.
        assert_eq!("7%".parse(), Ok(Share(0.07)));
        for text in ["1.1", "-0.1", "101 %"] {
            assert_eq!(text.parse::<Share>(), Err(UnitError::NoShare));
        }
        for text in ["", "%", "nan", "inf", "half"] {
            assert!(matches!(text.parse::<Share>(), Err(UnitError::NotANumber { .. })), "{text}");
        }
    }
}
