//! Values on the command line, and what is said of those that cannot be.

use crate::console::Error;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::str::FromStr;
use thalweg_proto::units::{Bytes, Duration, UnitError};
use thalweg_report::report::Plot;
use thalweg_scenario::nearest;

/// A number that is not zero.
pub fn positive<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a whole number from 1 on".to_owned())
}

/// A seed.
pub fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// A probability, 0 and 1 included.
pub fn probability(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    value
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "expected a probability from 0 to 1, such as 1e-3".to_owned())
}

/// A share in percent: 0 % or more.
pub fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim_end).and_then(|text| text.parse::<f64>().ok());
    number
        .filter(|percent| percent.is_finite() && *percent >= 0.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "expected a share in percent, such as 2 %".to_owned())
}

/// From when until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The beginning.
    pub from: Duration,
    /// The end, which is later.
    pub until: Duration,
}

/// The plot that a picture shows.
pub fn plot(text: &str) -> Result<Plot, String> {
    Plot::ALL.into_iter().find(|plot| plot.name() == text.trim()).ok_or_else(|| {
        let names: Vec<&str> = Plot::ALL.iter().map(|plot| plot.name()).collect();
        match nearest(text, names.iter().copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("one of {}", names.join(", ")),
        }
    })
}

/// "10 s..10.2 s", or "200 ms" from the start.
pub fn span(text: &str) -> Result<Span, String> {
    let part = |text: &str| text.trim().parse::<Duration>().map_err(|error| error.to_string());
    let (from, until) = match text.split_once("..") {
        Some((from, until)) => (part(from)?, part(until)?),
        None => (Duration::ZERO, part(text)?),
    };
    if until <= from { Err(format!("{until} is not after {from}")) } else { Ok(Span { from, until }) }
}

/// A time with its unit.
pub fn time(text: &str) -> Result<Duration, UnitError> {
    text.parse()
}

/// A size with its unit.
pub fn bytes(text: &str) -> Result<Bytes, UnitError> {
    text.parse()
}

/// The first address of `HOST:PORT`.
pub fn resolve(host: &str) -> Result<SocketAddr, Error> {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !has_port {
        return Err(Error::Usage(format!("`{host}` has no port; expected HOST:PORT")));
    }
    let found = host.to_socket_addrs().map_err(|error| Error::Usage(format!("{host}: {error}")))?;
    found.into_iter().next().ok_or_else(|| Error::Usage(format!("{host} has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_whole_number() {
        assert_eq!(seed("7"), Ok(7));
        assert!(seed("-1").unwrap_err().contains("whole number from 0") && seed("1.5").is_err());
    }

    #[test]
    fn a_share_is_in_percent() {
        assert_eq!((share("2 %"), share("0.5%"), share("0 %")), (Ok(0.02), Ok(0.005), Ok(0.0)));
        assert!(
            share("2").is_err() && share("-1 %").is_err() && share("nan %").is_err() && share("%").is_err()
        );
    }

    #[test]
    fn a_span_has_a_beginning_and_an_end() {
        let millis = Duration::from_millis;
        assert_eq!(span("20 ms"), Ok(Span { from: Duration::ZERO, until: millis(20) }));
        assert_eq!(span("1 s..1.5 s"), Ok(Span { from: millis(1000), until: millis(1500) }));
        assert!(span("2 s..1 s").unwrap_err().contains("is not after"));
        assert!(span("0 s").is_err() && span("soon").is_err() && span("1 s..").is_err());
    }
}
