//! Values as text: `NAME`, or `NAME:KEY=VALUE,KEY=VALUE ...`.

use crate::explicit_values::Values;
use crate::option_keys::{ConfigError, Environment, Keys};
use crate::spelling_suggestions::{equivalent_elsewhere, live_only, nearest_name};
use core::fmt;

/// An error in the text form of a scheme or discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextError {
    /// The name is unknown.
    Unknown {
        /// The expected kind: `scheme`, `discipline`.
        what: &'static str,
        /// The given name.
        name: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// The option is unknown.
    Option {
        /// The scheme or discipline without such an option.
        of: &'static str,
        /// The text in place of `KEY=VALUE`, or the unknown key.
        given_text: String,
        /// The known options.
        known: Vec<&'static str>,
    },
    /// An option is given twice.
    Twice(&'static str),
    /// The value is invalid.
    Value {
        /// The option.
        key: &'static str,
        /// The given value.
        given_value: String,
        /// The error, or the expected values.
        reason: String,
    },
    /// Values that are each in range conflict.
    Together(String),
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { what, name, known } => {
                if let ("scheme", Some(hint)) = (*what, live_only(name)) {
                    return write!(f, "there is no {what} `{name}` here; {hint}");
                }
                write!(f, "there is no {what} `{name}`; there are {}", known.join(", "))?;
                if let Some(hint) = equivalent_elsewhere(name) {
                    return write!(f, "; {hint}");
                }
                match nearest_name(name, known.iter().copied()) {
                    Some(meant) => write!(f, "; did you mean `{meant}`?"),
                    None => Ok(()),
                }
            }
            Self::Option { of, given_text: given, known } if known.is_empty() => {
                write!(f, "`{given}` is not an option of {of}, which has none")
            }
            Self::Option { of, given_text: given, known } => {
                write!(f, "`{given}` is not an option of {of}, which has {} (as KEY=VALUE)", known.join(", "))
            }
            Self::Twice(key) => write!(f, "{key} is given twice"),
            Self::Value { key, given_value: given, reason } => {
                write!(f, "{key} cannot be `{given}`: {reason}")
            }
            Self::Together(what) => f.write_str(what),
        }
    }
}

impl core::error::Error for TextError {}

impl TextError {
    /// Offers only the names that are accepted where the text was read.
    #[must_use]
    pub fn offering(self, is_accepted: impl Fn(&str) -> bool) -> Self {
        match self {
            Self::Unknown { what, name, mut known } => {
                known.retain(|name| is_accepted(name));
                Self::Unknown { what, name, known }
            }
            error => error,
        }
    }
}

impl From<ConfigError> for TextError {
    fn from(fault: ConfigError) -> Self {
        match fault.help {
            "" => Self::Together(fault.what),
            help => Self::Together(format!("{}: {help}", fault.what)),
        }
    }
}

/// Splits a text into the name and its options.
pub fn split_name(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text.trim(), None), |(name, options)| (name.trim(), Some(options)))
}

/// Parses the options of `of`, which has `keys`. Checks each value's range, but not conflicts between values.
///
/// # Errors
///
/// The first unknown, repeated or invalid option.
pub fn read_options(
    of: &'static str,
    keys: Keys,
    place: Environment,
    options: Option<&str>,
) -> Result<Values, TextError> {
    let mut values = Values::new(keys, place);
    let is_here = |key: &crate::Key| match place {
        Environment::Simulated => key.is_simulated(),
        Environment::Live => key.is_live(),
    };
    let wrong = |given_text: &str| TextError::Option {
        of,
        given_text: given_text.trim().to_owned(),
        known: keys.flat().filter(|key| is_here(key) && keys.offers(key)).map(|key| key.name).collect(),
    };
    for option in options.iter().flat_map(|options| options.split(',')) {
        let (name, text) = option.split_once('=').ok_or_else(|| wrong(option))?;
        let key = keys.find(name.trim()).filter(|key| is_here(key)).ok_or_else(|| wrong(name))?;
        if values.explicit_value(key.name).is_some() {
            return Err(TextError::Twice(key.name));
        }
        let cannot = |reason| TextError::Value { key: key.name, given_value: text.trim().to_owned(), reason };
        let value = key.kind.read(text).map_err(cannot)?;
        key.check(&value, place).map_err(|range| {
            let help = if key.help.is_empty() { String::new() } else { format!("; {}", key.help) };
            cannot(format!("it {range}{help}"))
        })?;
        values.set_value(key.name, value);
    }
    Ok(values)
}

/// Writes a name and its explicit values, without spaces, in a form that parses back to the same values.
pub fn write_options(name: &str, values: &Values, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(name)?;
    for (index, (key, value)) in values.explicit_values().iter().enumerate() {
        let value: String = value.to_string().split(' ').collect();
        write!(f, "{}{}={value}", if index == 0 { ':' } else { ',' }, key.name)?;
    }
    Ok(())
}
