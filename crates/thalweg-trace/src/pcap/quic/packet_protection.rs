//! Packet protection of QUIC and key updates (RFC 9001, sections 5 and 6).

use super::key_log_secrets::{DecryptedPacket, Suite, Version, expand_packet_number};
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey, quic};
use ring::hkdf;

/// Returns the hash function of a suite.
fn hash_of_suite(suite: Suite) -> hkdf::Algorithm {
    if suite == Suite::Aes256 { hkdf::HKDF_SHA384 } else { hkdf::HKDF_SHA256 }
}

/// Returns the algorithms of a suite, for packets and for their headers.
fn algorithms_of_suite(suite: Suite) -> (&'static aead::Algorithm, &'static quic::Algorithm) {
    match suite {
        Suite::Aes128 => (&aead::AES_128_GCM, &quic::AES_128),
        Suite::Aes256 => (&aead::AES_256_GCM, &quic::AES_256),
        Suite::ChaCha20 => (&aead::CHACHA20_POLY1305, &quic::CHACHA20),
    }
}

/// Length of an output of HKDF.
struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Returns HKDF-Expand-Label (RFC 8446, section 7.1) with an empty context.
fn hkdf_expand_label(secret: &hkdf::Prk, label: &str, length: usize) -> Option<Vec<u8>> {
    let label = format!("tls13 {label}");
    let head = [(length >> 8) as u8, length as u8, label.len() as u8];
    let info = [&head[..], label.as_bytes(), &[0]];
    let mut out = vec![0; length];
    secret.expand(&info, Length(length)).ok()?.fill(&mut out).ok()?;
    Some(out)
}

/// Keys for the packets of one end.
pub(super) struct Protection {
    version: Version,
    suite: Suite,
    secret: Vec<u8>,
    key: LessSafeKey,
    iv: [u8; 12],
    header: quic::HeaderProtectionKey,
    /// Bytes of the header-protection key.
    header_bytes: Vec<u8>,
}

impl Protection {
    /// Derives the keys of a secret.
    pub(super) fn new(version: Version, suite: Suite, secret: &[u8]) -> Option<Self> {
        if secret.len() != suite.secret_length() {
            return None;
        }
        let prk = hkdf::Prk::new_less_safe(hash_of_suite(suite), secret);
        let [key, iv, header, _] = version.labels();
        let (algorithm, of_header) = algorithms_of_suite(suite);
        let key = hkdf_expand_label(&prk, key, algorithm.key_len())?;
        let header = hkdf_expand_label(&prk, header, of_header.key_len())?;
        Some(Self {
            version,
            suite,
            secret: secret.to_vec(),
            key: LessSafeKey::new(UnboundKey::new(algorithm, &key).ok()?),
            iv: hkdf_expand_label(&prk, iv, 12)?.try_into().ok()?,
            header: quic::HeaderProtectionKey::new(of_header, &header).ok()?,
            header_bytes: header,
        })
    }

    /// Derives the keys of Initial packets: of the client, and of the server.
    pub(super) fn initial(version: Version, destination: &[u8]) -> Option<[Self; 2]> {
        let prk = hkdf::Salt::new(hkdf::HKDF_SHA256, &version.salt()).extract(destination);
        let of = |label| Self::new(version, Suite::Aes128, &hkdf_expand_label(&prk, label, 32)?);
        Some([of("client in")?, of("server in")?])
    }

    /// Returns the keys after an update (RFC 9001, section 6); the header-protection key stays.
    pub(super) fn next(&self) -> Option<Self> {
        let prk = hkdf::Prk::new_less_safe(hash_of_suite(self.suite), &self.secret);
        let secret = hkdf_expand_label(&prk, self.version.labels()[3], self.suite.secret_length())?;
        let mut next = Self::new(self.version, self.suite, &secret)?;
        next.header =
            quic::HeaderProtectionKey::new(algorithms_of_suite(self.suite).1, &self.header_bytes).ok()?;
        next.header_bytes.clone_from(&self.header_bytes);
        Some(next)
    }

    /// Removes the protection of a packet whose number begins at `at`. `largest` is the largest number before.
    pub(super) fn open(&self, packet: &[u8], at: usize, largest: Option<u64>) -> Option<DecryptedPacket> {
        let mut head = self.unmask(packet, at)?;
        let length = usize::from(head[0] & 3) + 1;
        let truncated =
            head[at..at + length].iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        let number = expand_packet_number(truncated, length, largest);
        head.truncate(at + length);
        let mut nonce = self.iv;
        for (byte, of_number) in nonce[4..].iter_mut().zip(number.to_be_bytes()) {
            *byte ^= of_number;
        }
        let mut payload = packet.get(at + length..)?.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = self.key.open_in_place(nonce, Aad::from(&head), &mut payload).ok()?.len();
        payload.truncate(opened);
        Some(DecryptedPacket { number, payload })
    }

    /// Returns the first byte of a packet without its protection.
    pub(super) fn first_byte(&self, packet: &[u8], at: usize) -> Option<u8> {
        self.unmask(packet, at).map(|head| head[0])
    }

    /// Returns the header without its protection, up to the longest packet number (RFC 9001, section 5.4.1).
    fn unmask(&self, packet: &[u8], at: usize) -> Option<Vec<u8>> {
        let sample = packet.get(at + 4..at + 20)?;
        let mask = self.header.new_mask(sample).ok()?;
        let mut head = packet.get(..at + 4)?.to_vec();
        head[0] ^= mask[0] & if head[0] & 0x80 == 0 { 0x1f } else { 0x0f };
        let length = usize::from(head[0] & 3) + 1;
        for (byte, of_mask) in head[at..at + length].iter_mut().zip(&mask[1..]) {
            *byte ^= of_mask;
        }
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let value = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
        digits.chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
    }

    /// RFC 9001, section A.3: the server's Initial packet for the destination 0x8394c8f03e515708.
    #[test]
    fn the_server_s_initial_packet_of_rfc_9001_is_opened() {
        let packet = hex(
            "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc42158407dd074ee",
        );
        let [client, server] = Protection::initial(Version::One, &hex("8394c8f03e515708")).unwrap();
        let opened = server.open(&packet, 18, None).unwrap();
        assert_eq!((opened.number, server.first_byte(&packet, 18)), (1, Some(0xc1)));
        // An ACK frame and a CRYPTO frame with the ServerHello.
        assert_eq!(opened.payload[..11], hex("02000000000600405a0200"));
        assert!(client.open(&packet, 18, None).is_none());
        let mut damaged = packet;
        damaged[60] ^= 1;
        assert!(server.open(&damaged, 18, None).is_none());
        assert!(server.open(&[0xc0; 20], 18, None).is_none(), "too short for a sample");
    }

    /// RFC 9001, section A.5: a short header packet with ChaCha20, and the secret after an update.
    #[test]
    fn the_short_packet_of_rfc_9001_is_opened() {
        let secret = hex("9ac312a7f877468ebe69422748ad00a15443f18203a07d6060f688f30f21632b");
        let protection = Protection::new(Version::One, Suite::ChaCha20, &secret).unwrap();
        let packet = hex("4cfe4189655e5cd55c41f69080575d7999c25a5bfb");
        let opened = protection.open(&packet, 1, Some(654_360_563)).unwrap();
        assert_eq!((opened.number, opened.payload), (654_360_564, vec![1]));
        let next = protection.next().unwrap();
        assert_eq!(next.secret, hex("1223504755036d556342ee9361d253421a826c9ecdf3c7148684b36b714881f9"));
        assert!(
            Protection::new(Version::One, Suite::Aes256, &secret).is_none(),
            "a secret of another length"
        );
    }
}
