//! Parsers of command-line values, and their error messages.

use crate::console_output::Error;
use std::fmt;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs as _};
use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;
use thalweg_net::endpoint::MAX_SHARDS;
use thalweg_proto::units::{Bytes, Duration, UnitError};
use thalweg_report::report::Plot;
use thalweg_scenario::{MAX_REPS, nearest_name};
use thalweg_sim::partition::MAX_PARTS;

/// Default port.
pub const PORT: u16 = 4747;

/// Parses a number other than zero.
pub fn parse_positive<N: FromStr>(text: &str) -> Result<N, String> {
    let digits = text.trim();
    digits.parse().map_err(|_| match digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty() {
        true if digits.bytes().any(|byte| byte != b'0') => format!("{digits} is too large"),
        _ => "expected a whole number from 1 on, in digits".to_owned(),
    })
}

/// Returns a parser of the integers from `least` to `most`.
pub fn integer_parser<N: FromStr + PartialOrd + fmt::Display + Copy>(
    least: N,
    most: N,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number = text.trim().parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| format!("expected a whole number from {least} to {most}"))
    }
}

/// Parses an integer from 1 to `max`.
fn up_to<N: TryFrom<NonZeroUsize>>(max: usize, text: &str) -> Result<N, String> {
    let number = parse_positive(text).ok().filter(|number: &NonZeroUsize| number.get() <= max);
    let number = number.and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| format!("expected a whole number from 1 to {max}"))
}

/// Parses the number of threads of a socket.
pub fn parse_threads(text: &str) -> Result<usize, String> {
    up_to(MAX_SHARDS, text).map(NonZeroUsize::get)
}

/// Parses the number of threads of a simulation.
pub fn parse_simulation_threads(text: &str) -> Result<NonZeroUsize, String> {
    up_to(MAX_PARTS, text)
}

/// Parses the number of connections of a client.
pub fn parse_connections(text: &str) -> Result<NonZeroU32, String> {
    up_to(1024, text)
}

/// Parses the number of replications, bounded because each needs memory.
pub fn parse_replications(text: &str) -> Result<NonZeroU32, String> {
    up_to(MAX_REPS as usize, text)
}

/// Parses a seed.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// Parses a probability, including 0 and 1.
pub fn parse_probability(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    value
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or_else(|| "expected a probability from 0 to 1, such as 1e-3".to_owned())
}

/// Parses a probability, excluding 0 and 1.
pub fn parse_open_probability(text: &str) -> Result<f64, String> {
    parse_number(text, |value| value > 0.0 && value < 1.0, "a probability above 0 and below 1, such as 1e-3")
}

/// Parses an offered load below 1, for a stable queue.
pub fn parse_load(text: &str) -> Result<f64, String> {
    parse_number(text, |value| (0.0..1.0).contains(&value), "a number from 0 on and below 1, such as 0.8")
}

/// Parses a factor between 0 and 1, exclusive.
pub fn parse_factor(text: &str) -> Result<f64, String> {
    parse_number(text, |value| value > 0.0 && value < 1.0, "a number above 0 and below 1, such as 0.7")
}

/// Parses a number above zero.
pub fn above_zero(text: &str) -> Result<f64, String> {
    parse_number(text, |value| value > 0.0, "a number above 0")
}

/// Parses a non-negative number.
pub fn not_negative(text: &str) -> Result<f64, String> {
    parse_number(text, |value| value >= 0.0, "a number from 0 on")
}

/// Parses a number of at least 1.
pub fn at_least_one(text: &str) -> Result<f64, String> {
    parse_number(text, |value| value >= 1.0, "a number from 1 on")
}

fn parse_number(text: &str, fits: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    let value: Option<f64> = text.trim().parse().ok();
    value.filter(|value| value.is_finite() && fits(*value)).ok_or_else(|| format!("expected {expected}"))
}

/// Parses a quantity with its unit, other than zero.
pub fn parse_nonzero<Q: FromStr<Err = UnitError> + Default + PartialEq>(text: &str) -> Result<Q, String> {
    match text.parse() {
        Ok(quantity) if quantity == Q::default() => Err("it must be above 0".to_owned()),
        Ok(quantity) => Ok(quantity),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a share in percent, of at least 0 %.
pub fn parse_percent_share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').map(str::trim_end).and_then(|text| text.parse::<f64>().ok());
    number
        .filter(|percent| percent.is_finite() && *percent >= 0.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| "expected a share in percent, such as 2 %".to_owned())
}

/// A time range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start.
    pub from: Duration,
    /// End, after the start.
    pub until: Duration,
}

/// Parses the name of a plot.
pub fn parse_plot(text: &str) -> Result<Plot, String> {
    Plot::ALL.into_iter().find(|plot| plot.name() == text.trim()).ok_or_else(|| {
        match nearest_name(text, Plot::ALL.iter().map(|plot| plot.name())) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("one of {}", Plot::names()),
        }
    })
}

/// Parses a time range: "10 s..10.2 s", or "200 ms" from the start.
pub fn parse_time_range(text: &str) -> Result<Span, String> {
    let part = |text: &str| text.trim().parse::<Duration>().map_err(|error| error.to_string());
    let (from, until) = match text.split_once("..") {
        Some((from, until)) => (part(from)?, part(until)?),
        None => (Duration::ZERO, part(text)?),
    };
    if until <= from { Err(format!("{until} is not after {from}")) } else { Ok(Span { from, until }) }
}

/// Parses a time with its unit; the error for a missing unit suggests seconds.
pub fn parse_seconds(text: &str) -> Result<Duration, UnitError> {
    text.parse().map_err(|error| match error {
        UnitError::NoUnit { number, .. } => UnitError::NoUnit { suggestion: format!("{number} s"), number },
        error => error,
    })
}

/// Parses an address with a port, or a port of all addresses.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.trim_start_matches(':').parse::<u16>();
    let address = port.map(|port| SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port));
    address.or_else(|_| socket_address(text))
}

/// Parses an address with a port; `[fe80::1%eth0]:4747` names the interface.
pub fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let expected = || "expected a port, or an address with a port".to_owned();
    // Numbers of interfaces are read like names.
    if !text.contains('%')
        && let Ok(address) = text.parse()
    {
        return Ok(address);
    }
    let (host, port) = text.strip_prefix('[').and_then(|text| text.split_once("]:")).ok_or_else(expected)?;
    let (address, zone) = host.split_once('%').ok_or_else(expected)?;
    if address.parse::<Ipv6Addr>().is_err() || port.parse::<u16>().is_err() {
        return Err(expected());
    }
    let found = resolve_addresses(text).ok().and_then(|found| found.into_iter().next());
    found.ok_or_else(|| format!("there is no interface `{zone}`"))
}

/// Resolves `HOST:PORT`; an IPv6 address in brackets may name its interface: `[fe80::1%eth0]:4747`.
pub fn resolve_addresses(name: &str) -> io::Result<Vec<SocketAddr>> {
    let zoned =
        name.strip_prefix('[').and_then(|name| name.split_once("]:")).filter(|(host, _)| host.contains('%'));
    match zoned.and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?))) {
        Some((host, port)) => {
            let parts = host.split_once('%');
            let Some((address, zone)) = parts.and_then(|(host, zone)| Some((host.parse().ok()?, zone)))
            else {
                return Ok((host, port).to_socket_addrs()?.collect());
            };
            let scope = scope_of(zone).ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("there is no interface `{zone}`"))
            })?;
            // Packets from other addresses have no interface, and must compare equal.
            let scope = if Ipv6Addr::is_unicast_link_local(&address) { scope } else { 0 };
            Ok(vec![SocketAddrV6::new(address, port, 0, scope).into()])
        }
        None => {
            let found: Vec<SocketAddr> = name.to_socket_addrs()?.collect();
            let is_ambiguous = |address: &SocketAddr| match address {
                SocketAddr::V6(address) => address.ip().is_unicast_link_local() && address.scope_id() == 0,
                SocketAddr::V4(_) => false,
            };
            match found.iter().find(|address| is_ambiguous(address)) {
                Some(address) => Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("a link-local address needs its interface, such as `{}%eth0`", address.ip()),
                )),
                None => Ok(found),
            }
        }
    }
}

/// Returns the number of an interface by its name or number. The resolver knows interfaces only with link-local addresses.
fn scope_of(zone: &str) -> Option<u32> {
    let found = (format!("fe80::1%{zone}").as_str(), 0).to_socket_addrs().ok()?;
    found
        .filter_map(
            |address| if let SocketAddr::V6(address) = address { Some(address.scope_id()) } else { None },
        )
        .next()
}

/// Returns true if the text looks like a pairing code: four digits, a dash and four digits.
pub fn is_pairing_code(text: &str) -> bool {
    let parts = text.split_once('-');
    let is_half = |half: &str| half.len() == 4 && half.bytes().all(|byte| byte.is_ascii_digit());
    parts.is_some_and(|(first, second)| is_half(first) && is_half(second))
}

/// Parses a size with its unit.
pub fn parse_bytes(text: &str) -> Result<Bytes, UnitError> {
    text.parse()
}

/// Returns `HOST:PORT`, with the default port if none is given.
pub fn with_port(host: &str) -> Result<String, Error> {
    if host.contains('@') {
        return Err(Error::Usage(format!(
            "`{host}` is not HOST:PORT: no user is named, as no account is used at the other end"
        )));
    }
    let is_v6 = |host: &str| {
        let (address, zone) = host.split_once('%').unwrap_or((host, "0"));
        address.parse::<Ipv6Addr>().is_ok() && !zone.is_empty() && !zone.contains(']')
    };
    if is_v6(host) {
        return Ok(format!("[{host}]:{PORT}"));
    }
    let named = match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.parse::<u16>().is_ok() => {
            if port.parse() == Ok(0) {
                return Err(Error::Usage(format!("`{host}`: nobody can listen at port 0")));
            }
            return Ok(host.to_owned());
        }
        Some((name, "")) => name,
        Some(_) if !host.ends_with(']') => {
            return Err(Error::Usage(format!("`{host}` is not HOST:PORT")));
        }
        _ => host,
    };
    if named.is_empty() || named.contains(char::is_whitespace) || named.contains('/') {
        return Err(Error::Usage(format!("`{host}` is not HOST:PORT")));
    }
    Ok(format!("{named}:{PORT}"))
}

/// Resolves `HOST[:PORT]` to its first address.
pub fn resolve_host(host: &str) -> Result<SocketAddr, Error> {
    let found =
        resolve_addresses(&with_port(host)?).map_err(|error| Error::Usage(format!("{host}: {error}")))?;
    found.into_iter().next().ok_or_else(|| Error::Usage(format!("{host} has no address")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_ranges() {
        let fits = |parse: fn(&str) -> Result<f64, String>, good: &[&str], bad: &[&str]| {
            assert!(good.iter().all(|text| parse(text).is_ok()), "{good:?}");
            for text in bad {
                assert!(parse(text).unwrap_err().starts_with("expected "), "{text}");
            }
        };
        fits(parse_open_probability, &["1e-9", " 0.5"], &["0", "1", "-1", "nan", "x"]);
        fits(parse_factor, &["0.7"], &["0", "1"]);
        fits(parse_load, &["0", "0.999"], &["1", "-0.1", "nan"]);
        fits(above_zero, &["0.4", "7"], &["0", "-1", "inf"]);
        fits(not_negative, &["0", "1"], &["-1", "nan"]);
        fits(at_least_one, &["1", "1e6"], &["0.9", "inf"]);
        assert_eq!(parse_nonzero::<Bytes>("1 kB"), Ok(Bytes::new(1000)));
        assert_eq!(parse_nonzero::<Bytes>("0 B"), Err("it must be above 0".to_owned()));
        assert!(parse_nonzero::<Duration>("7").unwrap_err().contains("has no unit"));
    }

    #[test]
    fn receivers_have_ports() {
        for (text_given, meant) in [
            ("host", "host:4747"),
            ("host:", "host:4747"),
            ("host:99", "host:99"),
            ("192.0.2.1", "192.0.2.1:4747"),
            ("2001:db8::1", "[2001:db8::1]:4747"),
            ("[2001:db8::1]", "[2001:db8::1]:4747"),
            ("[2001:db8::1]:99", "[2001:db8::1]:99"),
            ("fe80::1%eth0", "[fe80::1%eth0]:4747"),
            ("[fe80::1%eth0]", "[fe80::1%eth0]:4747"),
            ("[fe80::1%2]:99", "[fe80::1%2]:99"),
        ] {
            assert_eq!(with_port(text_given).unwrap(), meant, "{text_given}");
        }
        for given in [
            "",
            ":99",
            "host:port",
            "a file",
            "folder/file",
            "host:0",
            "[2001:db8::1]:00",
            "user@host",
            "user@host:dir",
        ] {
            assert!(with_port(given).is_err(), "{given}");
        }
    }

    /// The loopback is the first interface of every host, by name and by number.
    #[test]
    fn addresses_name_their_interface() {
        for text in ["[fe80::1%lo]:99", "[fe80::1%1]:99"] {
            let SocketAddr::V6(address) = socket_address(text).unwrap() else { panic!("{text}") };
            assert_eq!((address.scope_id(), address.port()), (1, 99), "{text}");
            assert_eq!(resolve_addresses(text).unwrap(), [SocketAddr::V6(address)]);
            assert_eq!(listen_address(text).unwrap(), SocketAddr::V6(address));
        }
        assert_eq!(resolve_host("fe80::1%lo").unwrap(), resolve_host("[fe80::1%lo]:4747").unwrap());
        // Other addresses need no interface, but may have one.
        for (text, expected) in [("[::1%lo]:99", "[::1]:99"), ("[fd00::2%1]:99", "[fd00::2]:99")] {
            assert_eq!(resolve_addresses(text).unwrap(), [expected.parse().unwrap()], "{text}");
            assert_eq!(socket_address(text).unwrap(), expected.parse().unwrap(), "{text}");
        }
        let missing = resolve_addresses("[::1%nowhere7]:99").unwrap_err().to_string();
        assert!(missing.contains("no interface `nowhere7`"), "{missing}");
        assert_eq!(resolve_addresses("127.0.0.1:9").unwrap(), ["127.0.0.1:9".parse().unwrap()]);
        assert!(socket_address("[fe80::1%nowhere7]:99").unwrap_err().contains("no interface `nowhere7`"));
        let ambiguous = resolve_addresses("[fe80::1]:99").unwrap_err().to_string();
        assert!(ambiguous.contains("needs its interface, such as `fe80::1%eth0`"), "{ambiguous}");
        let missing = resolve_addresses("[fe80::1%nowhere7]:99").unwrap_err().to_string();
        assert!(missing.contains("no interface `nowhere7`"), "{missing}");
        assert!(socket_address("[host%lo]:99").unwrap_err().contains("expected"));
    }

    #[test]
    fn codes_for_pairing_are_known_by_their_form() {
        assert!(is_pairing_code("4821-0937"));
        for text in
            ["20261127", "48210937", "4821-093", "4821-0937-1", "4821-093x", "./4821-0937", "2026-11-27"]
        {
            assert!(!is_pairing_code(text), "{text}");
        }
    }

    #[test]
    fn a_place_to_listen_is_a_port_or_an_address_with_one() {
        for (text_given, meant) in
            [("5356", "[::]:5356"), (":5356", "[::]:5356"), ("127.0.0.1:9", "127.0.0.1:9")]
        {
            assert_eq!(listen_address(text_given).unwrap(), meant.parse().unwrap(), "{text_given}");
        }
        assert!(listen_address("127.0.0.1").is_err() && listen_address("65536").is_err());
    }

    #[test]
    fn a_time_in_seconds_without_a_unit_is_taken_for_seconds() {
        assert!(parse_seconds("2").unwrap_err().to_string().contains("\"2 s\""));
        assert_eq!(parse_seconds("2 ms").unwrap(), Duration::from_millis(2));
    }

    #[test]
    fn a_seed_is_a_whole_number() {
        assert_eq!(parse_seed("7"), Ok(7));
        assert!(parse_seed("-1").unwrap_err().contains("whole number from 0") && parse_seed("1.5").is_err());
    }

    #[test]
    fn a_share_is_in_percent() {
        assert_eq!(
            (parse_percent_share("2 %"), parse_percent_share("0.5%"), parse_percent_share("0 %")),
            (Ok(0.02), Ok(0.005), Ok(0.0))
        );
        assert!(
            parse_percent_share("2").is_err()
                && parse_percent_share("-1 %").is_err()
                && parse_percent_share("nan %").is_err()
                && parse_percent_share("%").is_err()
        );
    }

    #[test]
    fn a_span_has_a_beginning_and_an_end() {
        let millis = Duration::from_millis;
        assert_eq!(parse_time_range("20 ms"), Ok(Span { from: Duration::ZERO, until: millis(20) }));
        assert_eq!(parse_time_range("1 s..1.5 s"), Ok(Span { from: millis(1000), until: millis(1500) }));
        assert!(parse_time_range("2 s..1 s").unwrap_err().contains("is not after"));
        assert!(
            parse_time_range("0 s").is_err()
                && parse_time_range("soon").is_err()
                && parse_time_range("1 s..").is_err()
        );
    }
}
