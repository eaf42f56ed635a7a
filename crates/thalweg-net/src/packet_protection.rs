//! Packet protection: AES-256-GCM with the header as associated data.
//!
//! Each direction has its own secret. It yields a key and an initialisation vector, which is combined with the packet
//! number to form the nonce (RFC 9001, section 5.3). After [`EPOCH`] packets, a one-way function derives the next
//! secret, and the old one is erased. The packet number determines the epoch, so a key update needs no signalling. RFC
//! 9001, section 6.6, allows 2^23 packets under one key of AES-GCM, and [`INTEGRITY_LIMIT`] forgeries per connection,
//! under all its keys.

use crate::replay_protection::ReplayWindow;
use crate::wire::{AEAD_TAG, HEADER, packet_number};
use core::hash::Hasher;
use core::ops::Range;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use thalweg_proto::state_digest::Digest;
use thalweg_proto::units::Time;

/// Packets per key: a quarter of the allowed number.
pub const EPOCH: u64 = 1 << 21;

/// Maximum number of epochs ahead of the last received one. Packets from further ahead are dropped; otherwise each
/// forged packet could cost any number of key derivations.
const MAX_EPOCHS_AHEAD: u64 = 4;

/// Integrity limit: packets per connection that may fail authentication, under any keys. Each is a guess at a tag (RFC
/// 9001, section 6.6, of AES-GCM).
pub const INTEGRITY_LIMIT: u64 = 1 << 52;

/// Upper bound of packet numbers, as in QUIC: 2^62. A connection at a million packets a second takes 146 000 years.
const LAST_NUMBER: u64 = 1 << 62;

/// Shared secret of one direction.
#[derive(Clone)]
pub struct Secret(pub(crate) [u8; 32]);

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    fn next(&self) -> Self {
        Self(blake3::derive_key("thalweg v1 secret of the next epoch", &self.0))
    }
}

/// Key and initialisation vector of one epoch.
struct EpochKey {
    key: LessSafeKey,
    iv: [u8; 12],
}

impl core::fmt::Debug for EpochKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("EpochKey")
    }
}

impl EpochKey {
    fn new(secret: &Secret) -> Self {
        let mut material = [0; 44];
        let mut hasher = blake3::Hasher::new_derive_key("thalweg v1 packet key and vector");
        hasher.update(&secret.0);
        hasher.finalize_xof().fill(&mut material);
        let (key, vector) = material.split_at(32);
        let mut iv = [0; 12];
        iv.copy_from_slice(vector);
        let key = UnboundKey::new(&AES_256_GCM, key).expect("the key has the algorithm's length");
        Self { key: LessSafeKey::new(key), iv }
    }

    fn nonce(&self, number: u64) -> Nonce {
        let mut nonce = self.iv;
        for (byte, part) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= part;
        }
        Nonce::assume_unique_for_key(nonce)
    }
}

/// Encrypts the packets of one direction.
#[derive(Debug)]
pub struct Encryptor {
    secret: Secret,
    key: EpochKey,
    /// First packet number of the next epoch.
    epoch_end: u64,
    epoch_length: u64,
    next: u64,
}

/// Error of encryption: the packet numbers are exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumbersExhausted;

impl Encryptor {
    /// Creates an encryptor that starts at packet number 0.
    pub fn new(secret: Secret) -> Self {
        Self::with_epoch(secret, EPOCH)
    }

    /// Creates an encryptor with a key update every `epoch_length` packets; the peer must use the same length.
    pub fn with_epoch(secret: Secret, epoch_length: u64) -> Self {
        let key = EpochKey::new(&secret);
        Self { secret, key, epoch_end: epoch_length, epoch_length, next: 0 }
    }

    /// Returns the next packet number.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Encrypts the packet that starts at `start` of `buffer`, whose header carries [`Encryptor::next_number`], and
    /// appends its tag. Consumes the packet number.
    ///
    /// # Errors
    /// Returns an error after 2^62 packets.
    #[inline]
    pub fn seal(&mut self, buffer: &mut Vec<u8>, start: usize) -> Result<(), NumbersExhausted> {
        let number = self.next;
        if number >= LAST_NUMBER {
            return Err(NumbersExhausted);
        }
        if number >= self.epoch_end {
            self.secret = self.secret.next();
            self.key = EpochKey::new(&self.secret);
            self.epoch_end += self.epoch_length;
        }
        self.next += 1;
        let (header, frames) = buffer[start..].split_at_mut(HEADER);
        let sealed =
            self.key.key.seal_in_place_separate_tag(self.key.nonce(number), Aad::from(&*header), frames);
        // Encryption fails only beyond 2^36 bytes.
        let tag = sealed.map_err(|_| NumbersExhausted)?;
        buffer.extend_from_slice(tag.as_ref());
        Ok(())
    }
}

/// Decrypts the packets of one direction, each once.
#[derive(Debug)]
pub struct Decryptor {
    secret: Secret,
    key: EpochKey,
    epoch: u64,
    epoch_length: u64,
    /// Key of the previous epoch, as long as its packets may be within the replay window.
    previous: Option<Box<EpochKey>>,
    window: ReplayWindow,
    /// Number of packets that failed authentication, and its limit.
    forged: u64,
    max_forged: u64,
}

/// Reason for a failed decryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecryptionError {
    /// Duplicate, or too old for the replay window.
    Replayed,
    /// Authentication failure.
    Forged,
    /// Integrity limit reached: the connection has to end.
    IntegrityLimit,
}

impl Decryptor {
    /// Creates a decryptor that starts at packet number 0.
    pub fn new(secret: Secret) -> Self {
        Self::with_epoch(secret, EPOCH)
    }

    /// Creates a decryptor with a key update every `epoch_length` packets; the peer must use the same length.
    pub fn with_epoch(secret: Secret, epoch_length: u64) -> Self {
        let key = EpochKey::new(&secret);
        Self {
            secret,
            key,
            epoch: 0,
            epoch_length,
            previous: None,
            window: ReplayWindow::default(),
            forged: 0,
            max_forged: INTEGRITY_LIMIT,
        }
    }

    /// Sets the limit of authentication failures, at most [`INTEGRITY_LIMIT`]. Afterwards no packet is decrypted.
    pub fn limit_forgeries(&mut self, max: u64) {
        self.max_forged = max.min(INTEGRITY_LIMIT);
    }

    /// Returns the number after the highest received one.
    pub fn next_number(&self) -> u64 {
        self.window.next()
    }

    /// Decrypts `packet` in place. Returns its number, and the range of its frames.
    ///
    /// # Errors
    /// Returns an error for a duplicate or an inauthentic packet; neither changes the keys or the replay window.
    #[inline]
    pub fn open(&mut self, packet: &mut [u8]) -> Result<(u64, Range<usize>), DecryptionError> {
        if self.forged >= self.max_forged {
            return Err(DecryptionError::IntegrityLimit);
        }
        let number = packet_number(packet, self.window.next()).ok_or(DecryptionError::Forged)?;
        if number >= LAST_NUMBER || packet.len() < HEADER + AEAD_TAG {
            return Err(DecryptionError::Forged);
        }
        if !self.window.is_new(number) {
            return Err(DecryptionError::Replayed);
        }
        let is_current = number.wrapping_sub(self.epoch * self.epoch_length) < self.epoch_length;
        let epoch = if is_current { self.epoch } else { number / self.epoch_length };
        let opened = if is_current {
            open_with(&self.key, number, packet)
        } else if epoch < self.epoch {
            let previous = self.previous.as_ref().filter(|_| epoch + 1 == self.epoch);
            open_with(previous.ok_or(DecryptionError::Replayed)?, number, packet)
        } else if epoch - self.epoch > MAX_EPOCHS_AHEAD {
            return Err(DecryptionError::Forged);
        } else {
            self.open_ahead(epoch, number, packet)
        };
        let Some(length) = opened else { return Err(self.on_forged()) };
        self.window.mark(number);
        if self.previous.is_some() && !self.is_previous_needed() {
            self.previous = None;
        }
        Ok((number, HEADER..HEADER + length))
    }

    /// Decrypts the first packet of a later epoch, and advances to that epoch if it is authentic.
    #[cold]
    fn open_ahead(&mut self, epoch: u64, number: u64, packet: &mut [u8]) -> Option<usize> {
        let ahead = epoch - self.epoch;
        let mut secret = self.secret.next();
        for _ in 1..ahead {
            secret = secret.next();
        }
        let key = EpochKey::new(&secret);
        let length = open_with(&key, number, packet)?;
        let last = core::mem::replace(&mut self.key, key);
        self.previous = (ahead == 1).then(|| Box::new(last));
        self.secret = secret;
        self.epoch = epoch;
        Some(length)
    }

    /// Counts an authentication failure.
    #[cold]
    fn on_forged(&mut self) -> DecryptionError {
        self.forged += 1;
        if self.forged >= self.max_forged { DecryptionError::IntegrityLimit } else { DecryptionError::Forged }
    }

    fn is_previous_needed(&self) -> bool {
        self.window.next() < self.epoch * self.epoch_length + crate::replay_protection::WINDOW_PACKETS
    }
}

impl Digest for Decryptor {
    fn feed_state<H: Hasher>(&self, now: Time, into: &mut H) {
        self.window.feed_state(now, into);
    }
}

/// Returns the plaintext length of a packet that has room for a tag; `None` if it is not authentic.
#[inline]
fn open_with(key: &EpochKey, number: u64, packet: &mut [u8]) -> Option<usize> {
    let (header, sealed) = packet.split_at_mut(HEADER);
    let opened = key.key.open_in_place(key.nonce(number), Aad::from(&*header), sealed);
    opened.map(|frames| frames.len()).ok()
}

#[cfg(test)]
mod tests {
    //! Tests that packets decrypt once, unmodified, across key updates, and that forgeries change nothing.
    use super::*;
    use crate::wire::{ConnectionId, write_header};

    const ID: ConnectionId = ConnectionId(*b"whatever");

    fn pair(epoch: u64) -> (Encryptor, Decryptor) {
        let secret = Secret([7; 32]);
        (Encryptor::with_epoch(secret.clone(), epoch), Decryptor::with_epoch(secret, epoch))
    }

    fn seal(encryptor: &mut Encryptor, text: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        write_header(&mut packet, ID, encryptor.next_number());
        packet.extend_from_slice(text);
        encryptor.seal(&mut packet, 0).unwrap();
        packet
    }

    #[test]
    fn debug_output_reveals_no_key() {
        let text = |byte| {
            let secret = Secret([byte; 32]);
            format!("{:?} {:?}", Encryptor::new(secret.clone()), Decryptor::new(secret))
        };
        assert_eq!(text(1), text(2));
    }

    #[test]
    fn a_sealed_packet_opens_once() {
        let (mut encryptor, mut decryptor) = pair(EPOCH);
        let packet = seal(&mut encryptor, b"hello");
        assert_eq!(packet.len(), HEADER + 5 + AEAD_TAG);
        assert!(!packet.windows(5).any(|part| part == b"hello"));
        let mut opened = packet.clone();
        let (number, range) = decryptor.open(&mut opened).unwrap();
        assert_eq!((number, &opened[range]), (0, &b"hello"[..]));
        assert_eq!(decryptor.open(&mut packet.clone()), Err(DecryptionError::Replayed));
    }

    /// Holds RFC 9001, section 5.3.
    #[test]
    fn any_changed_bit_fails_authentication_without_effect() {
        let (mut encryptor, mut decryptor) = pair(EPOCH);
        let packet = seal(&mut encryptor, b"payload");
        // The connection id is used for demultiplexing first, and is associated data like the rest of the header.
        for bit in 0..packet.len() * 8 {
            let mut forged = packet.clone();
            forged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decryptor.open(&mut forged), Err(DecryptionError::Forged), "bit {bit}");
        }
        for length in 0..packet.len() {
            assert_eq!(decryptor.open(&mut packet[..length].to_vec()), Err(DecryptionError::Forged));
        }
        assert_eq!(decryptor.next_number(), 0);
        assert!(decryptor.open(&mut packet.clone()).is_ok());
    }

    /// Holds RFC 9001, section 6.
    #[test]
    fn keys_are_updated_by_count_and_previous_keys_are_accepted() {
        let (mut encryptor, mut decryptor) = pair(10);
        let packets: Vec<_> = (0..30u8).map(|n| seal(&mut encryptor, &[n])).collect();
        // Each epoch's last packet arrives after the next epoch's first.
        let order = (0..30).map(|n| match n % 10 {
            9 if n < 29 => n + 1,
            0 if n > 0 => n - 1,
            _ => n,
        });
        for n in order {
            let mut packet = packets[n].clone();
            let (number, range) = decryptor.open(&mut packet).unwrap();
            assert_eq!((number, packet[range].to_vec()), (n as u64, vec![n as u8]));
        }
        // The same plaintext under the same nonce of another epoch has another ciphertext: the keys differ.
        let (mut one, mut other) = (pair(10).0, pair(1000).0);
        let ten: Vec<_> = (0..11).map(|_| seal(&mut one, b"x")).collect();
        let same: Vec<_> = (0..11).map(|_| seal(&mut other, b"x")).collect();
        assert_eq!(ten[..10], same[..10]);
        assert_ne!(ten[10], same[10]);
    }

    /// The old key is dropped as soon as no packet within the replay window needs it.
    #[test]
    fn keys_of_epochs_that_are_over_are_forgotten() {
        const LENGTH: u64 = 10_000;
        let first = Secret([7; 32]);
        let (mut encryptor, mut decryptor) = pair(LENGTH);
        let last = LENGTH + crate::replay_protection::WINDOW_PACKETS - 1;
        for number in 0..=last {
            decryptor.open(&mut seal(&mut encryptor, b"x")).unwrap();
            assert_eq!(decryptor.previous.is_some(), (LENGTH..last).contains(&number), "{number}");
        }
        assert!(encryptor.secret.0 != first.0 && decryptor.secret.0 != first.0);
    }

    /// Holds RFC 9001, section 6.
    #[test]
    fn a_few_epochs_may_be_lost_but_not_any_number() {
        let (mut encryptor, mut decryptor) = pair(10);
        let packets: Vec<_> = (0..100u8).map(|n| seal(&mut encryptor, &[n])).collect();
        assert!(decryptor.open(&mut packets[40].clone()).is_ok());
        assert_eq!(decryptor.open(&mut packets[95].clone()), Err(DecryptionError::Forged));
        assert!(decryptor.open(&mut packets[85].clone()).is_ok());
        // Packets from before the jump are lost with their key.
        assert_eq!(decryptor.open(&mut packets[50].clone()), Err(DecryptionError::Replayed));
    }

    /// Holds RFC 9001, section 6.6.
    #[test]
    fn forgeries_are_counted_over_all_keys() {
        let (mut encryptor, mut decryptor) = pair(10);
        decryptor.limit_forgeries(4);
        let packets: Vec<_> = (0..100u8).map(|n| seal(&mut encryptor, &[n])).collect();
        let forged = |number: usize| {
            let mut packet = packets[number].clone();
            packet[HEADER] ^= 1;
            packet
        };
        // Under the current keys, the next and the previous ones.
        assert_eq!(decryptor.open(&mut forged(0)), Err(DecryptionError::Forged));
        assert_eq!(decryptor.open(&mut forged(15)), Err(DecryptionError::Forged));
        assert!(decryptor.open(&mut packets[15].clone()).is_ok());
        assert_eq!(decryptor.open(&mut forged(9)), Err(DecryptionError::Forged));
        // Packets without a decryption attempt do not count: a duplicate, a packet from too far ahead or behind, and
        // one without room for a tag.
        for _ in 0..10 {
            assert_eq!(decryptor.open(&mut packets[15].clone()), Err(DecryptionError::Replayed));
            assert_eq!(decryptor.open(&mut forged(99)), Err(DecryptionError::Forged));
            assert_eq!(
                decryptor.open(&mut packets[16][..HEADER + AEAD_TAG - 1].to_vec()),
                Err(DecryptionError::Forged)
            );
        }
        assert!(decryptor.open(&mut packets[16].clone()).is_ok());
        assert_eq!(decryptor.open(&mut forged(17)), Err(DecryptionError::IntegrityLimit));
        assert_eq!(decryptor.open(&mut packets[17].clone()), Err(DecryptionError::IntegrityLimit));
        // The limit cannot exceed that of the cipher.
        decryptor.limit_forgeries(u64::MAX);
        assert_eq!(decryptor.max_forged, INTEGRITY_LIMIT);
    }

    #[test]
    fn keys_of_the_two_directions_differ() {
        let mut encryptor = Encryptor::new(Secret([1; 32]));
        let mut decryptor = Decryptor::new(Secret([2; 32]));
        assert_eq!(decryptor.open(&mut seal(&mut encryptor, b"x")), Err(DecryptionError::Forged));
    }
}
