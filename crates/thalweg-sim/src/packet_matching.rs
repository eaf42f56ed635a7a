//! Matching of real programs' packets to groups of flows by their headers.

use core::fmt;
use core::str::FromStr;

/// A filter on the headers of a packet. The default matches every packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Match {
    /// The protocol; `None` matches any.
    pub protocol: Option<Protocol>,
    /// First and last port of a range that must include the source or the destination port; `None` matches any.
    pub ports: Option<(u16, u16)>,
    /// The DSCP (RFC 2474, section 3), below 64; `None` matches any.
    pub dscp: Option<u8>,
}

/// A protocol with ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Protocol {
    /// Returns its protocol number in IP headers.
    pub const fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }
}

impl Match {
    /// Returns true if a packet of this IP protocol number, with these ports and this DSCP, matches.
    pub fn fits(&self, protocol: u8, ports: [u16; 2], dscp: u8) -> bool {
        self.protocol.is_none_or(|wanted| wanted.number() == protocol)
            && self.ports.is_none_or(|(first, last)| ports.iter().any(|port| (first..=last).contains(port)))
            && self.dscp.is_none_or(|wanted| wanted == dscp)
    }
}

impl fmt::Display for Match {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        words.extend(self.protocol.map(|protocol| match protocol {
            Protocol::Tcp => "tcp".to_owned(),
            Protocol::Udp => "udp".to_owned(),
        }));
        words.extend(self.ports.map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        }));
        words.extend(self.dscp.map(|dscp| format!("dscp {dscp}")));
        f.write_str(&words.join(" "))
    }
}

/// A text that is not a valid filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMatch;

impl FromStr for Match {
    type Err = NoMatch;

    /// Parses `udp 5060`, `tcp 8000-8010`, `udp`, `dscp 46`, or a protocol and ports followed by a DSCP. Ports need a
    /// protocol.
    fn from_str(text: &str) -> Result<Self, NoMatch> {
        let mut words = text.split_whitespace().peekable();
        let protocol = match words.peek() {
            Some(&"tcp") => Some(Protocol::Tcp),
            Some(&"udp") => Some(Protocol::Udp),
            _ => None,
        };
        let mut found = Self { protocol, ..Self::default() };
        if found.protocol.is_some() {
            words.next();
            if let Some(word) = words.next_if(|word| *word != "dscp") {
                let (first, last) = word.split_once('-').unwrap_or((word, word));
                let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0).ok_or(NoMatch);
                let (first, last) = (port(first)?, port(last)?);
                found.ports = Some((first, last)).filter(|_| first <= last);
                found.ports.ok_or(NoMatch)?;
            }
        }
        if words.next_if_eq(&"dscp").is_some() {
            let dscp = words.next().and_then(|word| word.parse::<u8>().ok()).filter(|dscp| *dscp < 64);
            found.dscp = Some(dscp.ok_or(NoMatch)?);
        }
        if words.next().is_some() || found == Self::default() { Err(NoMatch) } else { Ok(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_and_written() {
        for text in ["tcp", "udp 5060", "tcp 8000-8010", "dscp 46", "udp dscp 0", "udp 1-65535 dscp 63"] {
            assert_eq!(text.parse::<Match>().unwrap().to_string(), text);
        }
        for text in
            ["", "5060", "sctp 9", "udp 0", "udp 70000", "udp 9-8", "udp 9 10", "dscp 64", "dscp", "udp -"]
        {
            assert_eq!(text.parse::<Match>(), Err(NoMatch), "{text}");
        }
    }

    #[test]
    fn packets_match_by_either_port() {
        let of =
            |text: &str, protocol, ports, dscp| text.parse::<Match>().unwrap().fits(protocol, ports, dscp);
        assert!(of("udp 5060", 17, [40_000, 5060], 0) && of("udp 5060", 17, [5060, 40_000], 9));
        assert!(!of("udp 5060", 6, [40_000, 5060], 0) && !of("udp 5060", 17, [40_000, 5061], 0));
        assert!(of("tcp 80-90 dscp 46", 6, [1, 90], 46) && !of("tcp 80-90 dscp 46", 6, [1, 90], 45));
        assert!(of("dscp 46", 1, [0, 0], 46));
    }
}
