//! Identities: static X25519 key pairs.

use core::fmt;
use core::str::FromStr;
use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver as _, DefaultResolver};

/// Source of random bytes for keys, connection ids and tokens.
pub trait Entropy: Send {
    /// Fills `bytes` with unpredictable random bytes.
    fn fill(&mut self, bytes: &mut [u8]);
}

/// Random generator of the operating system.
#[derive(Debug)]
pub struct SystemEntropy(ring::rand::SystemRandom);

impl SystemEntropy {
    /// Creates the generator.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Default for SystemEntropy {
    fn default() -> Self {
        Self(ring::rand::SystemRandom::new())
    }
}

impl Entropy for SystemEntropy {
    fn fill(&mut self, bytes: &mut [u8]) {
        // Without random bytes no security is possible, so nothing useful is left to do.
        ring::rand::SecureRandom::fill(&self.0, bytes).expect("the operating system gives random bytes");
    }
}

/// Static public key of a peer, used for pinning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// Text that is not a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAKey;

impl fmt::Display for NotAKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a public key is 64 hexadecimal digits")
    }
}

impl std::error::Error for NotAKey {}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        parse_hex_key(text).map(Self).ok_or(NotAKey)
    }
}

/// Static key pair. The secret key is never printed.
#[derive(Clone)]
pub struct Identity {
    secret: [u8; 32],
    public: PublicKey,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.public)
    }
}

impl Identity {
    /// Generates a new identity.
    pub fn generate(entropy: &mut dyn Entropy) -> Self {
        let mut secret = [0; 32];
        entropy.fill(&mut secret);
        Self::from_secret(secret)
    }

    /// Returns the identity with this secret key.
    pub fn from_secret(secret: [u8; 32]) -> Self {
        Self { public: PublicKey(public_key(&secret)), secret }
    }

    /// Parses the output of [`Identity::to_text`]; `None` for anything else.
    pub fn from_text(text: &str) -> Option<Self> {
        parse_hex_key(text.trim()).map(Self::from_secret)
    }

    /// Returns the secret key as text. Keep it readable by the owner only.
    pub fn to_text(&self) -> String {
        PublicKey(self.secret).to_string()
    }

    /// Returns the public key.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    pub(crate) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }
}

fn parse_hex_key(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        // Two hexadecimal digits fit a byte.
        *byte = (digit(0)? * 16 + digit(1)?) as u8;
    }
    Some(bytes)
}

/// Returns the public key of a secret key.
fn public_key(secret: &[u8; 32]) -> [u8; 32] {
    let dh = DefaultResolver.resolve_dh(&DHChoice::Curve25519);
    let mut dh = dh.expect("the default resolver was built with Curve25519");
    dh.set(secret);
    let mut public = [0; 32];
    public.copy_from_slice(dh.pubkey());
    public
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back() {
        let identity = Identity::from_secret([0x5a; 32]);
        let again = Identity::from_text(&identity.to_text()).unwrap();
        assert_eq!(again.public(), identity.public());
        assert_eq!(identity.public().to_string().parse(), Ok(identity.public()));
        for wrong in ["", "5a", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
            assert_eq!(wrong.parse::<PublicKey>(), Err(NotAKey), "{wrong}");
        }
    }
}
