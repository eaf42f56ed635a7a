//! Secrets of QUIC from a key log, and what depends on the version and the cipher suite (RFC 9001, RFC 9369).

use std::collections::HashMap;

/// Secrets of TLS 1.3 connections in the format of NSS (`SSLKEYLOGFILE`), by the random number of the client.
#[derive(Clone, Debug, Default)]
pub struct KeyLog(HashMap<[u8; 32], Secrets>);

/// Secrets of a connection: of the client, and of the server.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets {
    pub handshake: [Option<Vec<u8>>; 2],
    pub application: [Option<Vec<u8>>; 2],
}

impl KeyLog {
    /// Adds the secrets of a key log. Other lines, such as those of TLS 1.2, are ignored; returns the number of secrets.
    pub fn add(&mut self, text: &str) -> usize {
        let mut count = 0;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(label), Some(random), Some(secret)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            let (Some(random), Some(secret)) = (parse_hex(random), parse_hex(secret)) else { continue };
            let Ok(random) = <[u8; 32]>::try_from(random) else { continue };
            if !matches!(secret.len(), 32 | 48) || self.0.len() >= MAX_CONNECTIONS {
                continue;
            }
            let secrets = self.0.entry(random).or_default();
            let place = match label {
                "CLIENT_HANDSHAKE_TRAFFIC_SECRET" => &mut secrets.handshake[0],
                "SERVER_HANDSHAKE_TRAFFIC_SECRET" => &mut secrets.handshake[1],
                "CLIENT_TRAFFIC_SECRET_0" => &mut secrets.application[0],
                "SERVER_TRAFFIC_SECRET_0" => &mut secrets.application[1],
                _ => continue,
            };
            *place = Some(secret);
            count += 1;
        }
        count
    }

    /// Returns true if there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn get(&self, random: &[u8; 32]) -> Option<&Secrets> {
        self.0.get(random)
    }
}

/// Maximum number of connections with secrets.
const MAX_CONNECTIONS: usize = 1 << 16;

fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || digits.len() > 128 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// Version of QUIC, as far as keys depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// RFC 9001.
    One,
    /// RFC 9369.
    Two,
}

impl Version {
    pub(super) const fn from_number(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::One),
            0x6b33_43cf => Some(Self::Two),
            _ => None,
        }
    }

    /// Salt of Initial keys (RFC 9001, section 5.2; RFC 9369, section 3.3.1).
    pub(super) const fn salt(self) -> [u8; 20] {
        match self {
            Self::One => [
                0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c,
                0xad, 0xcc, 0xbb, 0x7f, 0x0a,
            ],
            Self::Two => [
                0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d,
                0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
            ],
        }
    }

    /// Labels of the key, the IV, the header-protection key, and the next secret.
    pub(super) const fn labels(self) -> [&'static str; 4] {
        match self {
            Self::One => ["quic key", "quic iv", "quic hp", "quic ku"],
            Self::Two => ["quicv2 key", "quicv2 iv", "quicv2 hp", "quicv2 ku"],
        }
    }
}

/// Cipher suite of TLS 1.3 (RFC 8446, section B.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suite {
    Aes128,
    Aes256,
    ChaCha20,
}

impl Suite {
    pub(super) const fn from_number(number: u16) -> Option<Self> {
        match number {
            0x1301 => Some(Self::Aes128),
            0x1302 => Some(Self::Aes256),
            0x1303 => Some(Self::ChaCha20),
            _ => None,
        }
    }

    pub(super) const fn secret_length(self) -> usize {
        if matches!(self, Self::Aes256) { 48 } else { 32 }
    }
}

/// A packet without its protection.
pub(super) struct DecryptedPacket {
    pub number: u64,
    pub payload: Vec<u8>,
}

/// Returns the packet number with these low bytes nearest to the one after `largest` (RFC 9000, section A.3).
pub(super) fn expand_packet_number(truncated: u64, length: usize, largest: Option<u64>) -> u64 {
    let expected = largest.map_or(0, |largest| largest + 1);
    let window = 1u64 << (8 * length);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}
