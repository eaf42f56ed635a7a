//! TLS 1.3 configurations and certificates for the QUIC stacks in the simulator.
//!
//! Handshakes are complete: key exchange by X25519, an Ed25519 certificate that the client verifies, AES-128-GCM. Two
//! inputs are replaced. Random numbers come from the connection ([`thalweg_stack_random`]), also those of the key
//! exchange; signatures by Ed25519 draw none. The time of the certificate's validity is fixed. Sessions are not resumed: a
//! connection does not depend on earlier ones.
//!
//! The key of the certificate is public. With the environment variable `SSLKEYLOGFILE`, session keys are appended to that
//! file, and Wireshark decrypts captures with it.

use core::time::Duration;
use curve25519_dalek::montgomery::MontgomeryPoint;
use rustls::client::{ClientConfig, Resumption, WebPkiServerVerifier};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret, SupportedKxGroup, ring,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::{NoServerSessionStorage, ServerConfig};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{CipherSuite, Error, KeyLogFile, NamedGroup, PeerMisbehaved, RootCertStore};
use std::sync::{Arc, LazyLock};

/// Name of the server in its certificate.
pub const SERVER: &str = "thalweg";

/// Application protocol of the connections.
const ALPN: &[u8] = b"thalweg";

/// The certificate, self-signed (X.509, DER).
pub const CERTIFICATE: &[u8] = include_bytes!("../certificate.der");

/// The key of the certificate (PKCS #8).
pub const PRIVATE_KEY: &[u8] = include_bytes!("../key.der");

/// The time of all handshakes, in seconds since 1970: within the validity of the certificate.
const HANDSHAKE_UNIX_TIME: u64 = 1_800_000_000;

/// Returns the configuration of clients.
///
/// # Panics
///
/// If the stored certificate does not suit the library.
pub fn client_config() -> Arc<ClientConfig> {
    static CLIENT: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(CERTIFICATE)).expect("the stored certificate parses");
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), crypto_provider()).build();
        let mut config = ClientConfig::builder_with_details(crypto_provider(), Arc::new(FixedTime))
            .with_protocol_versions(&[&TLS13])
            .expect("the provider has TLS 1.3")
            .with_webpki_verifier(verifier.expect("there is a root certificate"))
            .with_no_client_auth();
        config.resumption = Resumption::disabled();
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.key_log = Arc::new(KeyLogFile::new());
        Arc::new(config)
    });
    Arc::clone(&CLIENT)
}

/// Returns the configuration of servers.
///
/// # Panics
///
/// If the stored certificate does not suit the library.
pub fn server_config() -> Arc<ServerConfig> {
    static SERVER: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| {
        let key = PrivateKeyDer::try_from(PRIVATE_KEY).expect("the stored key is PKCS #8");
        let mut config = ServerConfig::builder_with_details(crypto_provider(), Arc::new(FixedTime))
            .with_protocol_versions(&[&TLS13])
            .expect("the provider has TLS 1.3")
            .with_no_client_auth()
            .with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
            .expect("the stored key is that of the certificate");
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Arc::new(config)
    });
    Arc::clone(&SERVER)
}

/// The provider of `ring` with one cipher suite, without its sources of random numbers.
fn crypto_provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites.retain(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider.kx_groups = vec![&X25519];
    provider.secure_random = &Draws;
    Arc::new(provider)
}

#[derive(Debug)]
struct FixedTime;

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(HANDSHAKE_UNIX_TIME)))
    }
}

/// Random numbers of the connection.
#[derive(Debug)]
struct Draws;

impl SecureRandom for Draws {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        if thalweg_stack_random::fill_random(bytes) { Ok(()) } else { Err(GetRandomFailed) }
    }
}

/// Key exchange by X25519 (RFC 7748).
#[derive(Debug)]
struct X25519;

impl SupportedKxGroup for X25519 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut secret = [0; 32];
        Draws.fill(&mut secret)?;
        Ok(Box::new(Exchange::new(secret)))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

/// A key exchange that has begun.
struct Exchange {
    secret: [u8; 32],
    public: [u8; 32],
}

impl Exchange {
    fn new(secret: [u8; 32]) -> Self {
        Self { secret, public: MontgomeryPoint::mul_base_clamped(secret).to_bytes() }
    }
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let peer = peer.try_into().map_err(|_| PeerMisbehaved::InvalidKeyShare)?;
        Ok(MontgomeryPoint(peer).mul_clamped(self.secret).to_bytes().to_vec().into())
    }

    fn pub_key(&self) -> &[u8] {
        &self.public
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_stack_random::{Generator, with_generator};

    fn bytes(text: &str) -> [u8; 32] {
        core::array::from_fn(|at| u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).unwrap())
    }

    /// The keys and the shared secret of RFC 7748, section 6.1.
    #[test]
    fn the_exchange_is_that_of_rfc_7748() {
        let secret = bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
        let exchange = Exchange::new(secret);
        let public = bytes("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
        assert_eq!(exchange.pub_key(), public);
        let peer = bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
        let shared = Box::new(exchange).complete(&peer).unwrap();
        let expected = bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
        assert_eq!(shared.secret_bytes(), expected);
    }

    #[test]
    fn both_ends_agree_on_a_secret_of_their_keys() {
        let (one, other) =
            with_generator(&mut Generator::new(1), || (X25519.start().unwrap(), X25519.start().unwrap()));
        let (first, second) = (one.pub_key().to_vec(), other.pub_key().to_vec());
        assert_ne!(first, second);
        let shared = one.complete(&second).unwrap();
        assert_eq!(shared.secret_bytes(), other.complete(&first).unwrap().secret_bytes());
    }

    #[test]
    fn outside_of_a_connection_there_are_no_random_numbers() {
        assert!(X25519.start().is_err());
    }
}
