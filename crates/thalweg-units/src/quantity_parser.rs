//! Parser of all quantities: an exact decimal number, then a unit.

use core::fmt;

/// Spelling of a unit, and its size in base units.
pub(super) type Unit = (&'static str, u64);

/// A parse error of a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// Text without a number at its start.
    NotANumber {
        /// The text as given.
        text: String,
        /// A correct example.
        example: &'static str,
    },
    /// A number without a unit.
    NoUnit {
        /// The number as given.
        number: String,
        /// The likely meaning: the number with the most common unit.
        suggestion: String,
    },
    /// A unit unknown for this quantity.
    UnknownUnit {
        /// The unit as given.
        unit: String,
        /// All known spellings.
        known: Vec<&'static str>,
    },
    /// A number below zero.
    Negative,
    /// A share outside 0 to 1.
    NoShare,
    /// A value above the maximum of the type.
    TooLarge {
        /// The largest value, as text.
        max: String,
    },
    /// A value finer than the base unit (a fraction of a bit per second, of a byte, of a picosecond).
    TooFine {
        /// The base unit's name.
        base: &'static str,
    },
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber { text, example } => {
                write!(f, "`{text}` does not start with a number (an example: \"{example}\")")
            }
            Self::NoUnit { number, suggestion } => {
                write!(f, "`{number}` has no unit; did you mean \"{suggestion}\"?")
            }
            Self::UnknownUnit { unit, known } => {
                write!(f, "unknown unit `{unit}`; known: {}", known.join(", "))
            }
            Self::Negative => f.write_str("the value must not be negative"),
            Self::NoShare => f.write_str("a share must lie between 0 and 1, or 0 % and 100 %"),
            Self::TooLarge { max } => write!(f, "the value is too large; the largest is {max}"),
            Self::TooFine { base } => write!(f, "the value is finer than one {base}"),
        }
    }
}

impl core::error::Error for UnitError {}

impl UnitError {
    /// Creates the error for `text` without a unit, with `meant` as the suggestion.
    pub(super) fn no_unit(text: &str, meant: &str) -> Self {
        let (number, _) = split_number(text);
        Self::NoUnit { number: number.to_owned(), suggestion: format!("{number} {meant}") }
    }
}

/// Units and messages of a kind of quantity.
pub(super) struct Kind {
    /// Units, the first being the one suggested for a bare number.
    pub units: &'static [Unit],
    /// The base unit's name.
    pub base: &'static str,
    /// A correct example.
    pub example: &'static str,
}

/// Splits `text` into its number, which may be empty, and the rest, both trimmed.
pub fn split_number(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+')))
        .unwrap_or(text.len());
    // An exponent is part of the number only if it has digits ("1e6 B", but not "3 e").
    let rest = &text[end..];
    let mut chars = rest.chars();
    if end > 0 && matches!(chars.next(), Some('e' | 'E')) {
        let sign = usize::from(matches!(chars.clone().next(), Some('-' | '+')));
        let digits = rest[1 + sign..].chars().take_while(char::is_ascii_digit).count();
        if digits > 0 {
            let end = end + 1 + sign + digits;
            return (&text[..end], text[end..].trim());
        }
    }
    (&text[..end], rest.trim())
}

/// Parses an exact decimal: `mantissa * 10^exponent`.
fn parse_decimal(number: &str) -> Option<(u128, i32)> {
    let (digits, exponent) = match number.find(['e', 'E']) {
        Some(at) => (&number[..at], number[at + 1..].parse::<i32>().ok()?),
        None => (number, 0),
    };
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let (mut mantissa, mut fraction_digits, mut seen_point, mut seen_digit) = (0u128, 0i32, false, false);
    for c in digits.chars() {
        match c {
            '0'..='9' => {
                seen_digit = true;
                mantissa = mantissa.checked_mul(10)?.checked_add(u128::from(c as u32 - '0' as u32))?;
                fraction_digits += i32::from(seen_point);
            }
            '.' if !seen_point => seen_point = true,
            '_' if seen_digit => {}
            _ => return None,
        }
    }
    seen_digit.then_some((mantissa, exponent.checked_sub(fraction_digits)?))
}

/// Parses a finite, non-negative number, and the unit after it.
pub(super) fn parse_real<'t>(text: &'t str, example: &'static str) -> Result<(f64, &'t str), UnitError> {
    let (number, unit) = split_number(text);
    match number.replace('_', "").parse::<f64>() {
        Ok(value) if !value.is_finite() => {
            Err(UnitError::NotANumber { text: text.trim().to_owned(), example })
        }
        Ok(value) if value < 0.0 => Err(UnitError::Negative),
        Ok(value) => Ok((value, unit)),
        Err(_) => Err(UnitError::NotANumber { text: text.trim().to_owned(), example }),
    }
}

/// Parses `text` into base units of `kind`, exactly.
pub(super) fn parse_quantity(text: &str, kind: &Kind, max: impl Fn() -> String) -> Result<u64, UnitError> {
    let (number, unit) = split_number(text);
    if number.is_empty() {
        return Err(UnitError::NotANumber { text: text.trim().to_owned(), example: kind.example });
    }
    if let Some(positive) = number.strip_prefix('-') {
        let known = parse_decimal(positive).is_some();
        return Err(if known {
            UnitError::Negative
        } else {
            UnitError::NotANumber { text: text.trim().to_owned(), example: kind.example }
        });
    }
    let Some((mantissa, exponent)) = parse_decimal(number) else {
        return Err(UnitError::NotANumber { text: text.trim().to_owned(), example: kind.example });
    };
    if unit.is_empty() && mantissa != 0 {
        return Err(UnitError::no_unit(text, kind.units[0].0));
    }
    let factor = if unit.is_empty() {
        1 // Zero is zero in every unit.
    } else {
        let found = kind.units.iter().find(|(name, _)| *name == unit);
        found.map(|&(_, factor)| factor).ok_or_else(|| UnitError::UnknownUnit {
            unit: unit.to_owned(),
            known: kind.units.iter().map(|&(name, _)| name).collect(),
        })?
    };
    let too_large = || UnitError::TooLarge { max: max() };
    let mut value = mantissa.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
    if value != 0 {
        for _ in 0..exponent.clamp(0, 64) {
            value = value.checked_mul(10).ok_or_else(too_large)?;
        }
        for _ in 0..(-exponent).clamp(0, 64) {
            if value % 10 != 0 {
                return Err(UnitError::TooFine { base: kind.base });
            }
            value /= 10;
        }
    }
    u64::try_from(value).map_err(|_| too_large())
}

/// Writes `value` base units exactly, in the largest unit of `units` (largest first) not above it.
pub(super) fn write_quantity(f: &mut fmt::Formatter<'_>, value: u64, units: &[Unit]) -> fmt::Result {
    let &(name, factor) =
        units.iter().find(|&&(_, factor)| value >= factor).unwrap_or(&units[units.len() - 1]);
    let (whole, mut rest) = (value / factor, value % factor);
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
        let mut digit = factor;
        // Every factor is a power of ten, so no remainder is left.
        while rest > 0 {
            digit /= 10;
            text.push(char::from(b'0' + u8::try_from(rest / digit).unwrap_or(9)));
            rest %= digit;
        }
    }
    f.pad(&format!("{text} {name}"))
}
