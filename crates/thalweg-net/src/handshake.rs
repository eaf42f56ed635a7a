//! Handshake: Noise XX over X25519 with AES-GCM and SHA-256.
//!
//! ```text
//! client                                   server
//!   hello    e                          ->
//!                                       <- response  e, ee, s, es, [parameters]
//!   confirm  s, se, [parameters]        ->
//!   protected packets                   <-> protected packets
//! ```
//!
//! The response authenticates the server to the client, which reveals its own static key only to a server that it
//! accepts. No third party sees either static key. Packet keys come from ephemeral keys, which are erased: a static key
//! stolen later does not decrypt past traffic (forward secrecy). The prologue consists of the protocol's name, its
//! version and the client's connection id. If an attacker modifies them, the handshake fails.

use crate::identity::{Identity, PublicKey};
use crate::packet_protection::Secret;
use crate::wire::{ConnectionId, RESET_TOKEN, VERSION};
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::{BoxedCryptoResolver, CryptoResolver, DefaultResolver, FallbackResolver, RingResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};

const PATTERN: &str = "Noise_XX_25519_AESGCM_SHA256";

/// Maximum length of a handshake message, in bytes.
const MAX_MESSAGE: usize = 1024;

/// Maximum length of a service name, in bytes.
pub const MAX_SERVICE: usize = 64;

/// Maximum length of an encoded scheme, in bytes.
pub const MAX_SCHEME: usize = crate::flow::MAX_ENCODING;

/// Rejected handshake message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeError;

impl From<snow::Error> for HandshakeError {
    fn from(_: snow::Error) -> Self {
        Self
    }
}

/// Parameters that the server sends encrypted in the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerParameters {
    /// Connection id for packets from the client.
    pub id: ConnectionId,
    /// Stateless reset token of the server.
    pub token: [u8; RESET_TOKEN],
    /// Maximum datagram size accepted by the server, in bytes.
    pub max_datagram_bytes: u16,
}

/// Parameters that the client sends encrypted in the confirm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientParameters {
    /// Stateless reset token of the client.
    pub token: [u8; RESET_TOKEN],
    /// Maximum datagram size accepted by the client, in bytes.
    pub max_datagram_bytes: u16,
    /// Requested service.
    pub service: String,
    /// Encoded scheme of the streams.
    pub scheme: Vec<u8>,
}

/// Secrets of a connection.
#[derive(Clone, Debug)]
pub struct Secrets {
    /// Secret for packets from the client.
    pub client: Secret,
    /// Secret for packets from the server.
    pub server: Secret,
    /// Channel binding: the hash of the handshake transcript, which only the two ends of this handshake share (Noise,
    /// section 11.2). It is not secret.
    pub binding: [u8; 32],
}

/// Client side of the handshake.
#[derive(Debug)]
pub struct Initiator {
    state: HandshakeState,
    first: Vec<u8>,
    identity: Identity,
    source: ConnectionId,
    ephemeral: Secret,
}

impl Initiator {
    /// Begins a handshake with a fresh `ephemeral` key.
    ///
    /// # Errors
    /// No error that a peer could cause.
    pub fn new(
        identity: &Identity,
        source: ConnectionId,
        ephemeral: [u8; 32],
    ) -> Result<Self, HandshakeError> {
        let prologue = handshake_prologue(source);
        let mut state = noise_builder(identity, ephemeral, &prologue)?.build_initiator()?;
        let first = write_message(&mut state, &[])?;
        Ok(Self { state, first, identity: identity.clone(), source, ephemeral: Secret(ephemeral) })
    }

    /// Returns the handshake in its state before any response. The first message is the same, and another response can
    /// be read.
    ///
    /// # Errors
    /// No error that a peer could cause.
    pub fn resend(&self) -> Result<Self, HandshakeError> {
        Self::new(&self.identity, self.source, self.ephemeral.0)
    }

    /// Returns the first message.
    pub fn first(&self) -> &[u8] {
        &self.first
    }

    /// Reads the server's response.
    ///
    /// # Errors
    /// Returns an error for a message that the server did not make for this handshake; the state stays unchanged.
    pub fn read(&mut self, message: &[u8]) -> Result<(ServerParameters, PublicKey), HandshakeError> {
        let payload = read_message(&mut self.state, message)?;
        let key = remote_key(&self.state)?;
        Ok((ServerParameters::decode(&payload).ok_or(HandshakeError)?, key))
    }

    /// Returns the third message and the secrets. Call it once, after [`Initiator::read`].
    ///
    /// # Errors
    /// Returns an error if the parameters are too long, or for calls out of order.
    pub fn confirm(mut self, parameters: &ClientParameters) -> Result<(Vec<u8>, Secrets), HandshakeError> {
        let message = write_message(&mut self.state, &parameters.encode().ok_or(HandshakeError)?)?;
        Ok((message, derive_secrets(&mut self.state)?))
    }
}

/// Server side of the handshake.
#[derive(Debug)]
pub struct Responder {
    /// Handshake state; `None` after a forged confirm, which may have changed it. The next confirm rebuilds it.
    state: Option<HandshakeState>,
    start: Start,
}

/// Inputs of the creation of a responder.
#[derive(Clone, Debug)]
struct Start {
    identity: Identity,
    source: ConnectionId,
    ephemeral: Secret,
    first: Vec<u8>,
    parameters: ServerParameters,
}

impl Start {
    fn respond(&self) -> Result<(HandshakeState, Vec<u8>), HandshakeError> {
        let prologue = handshake_prologue(self.source);
        let mut state = noise_builder(&self.identity, self.ephemeral.0, &prologue)?.build_responder()?;
        read_message(&mut state, &self.first)?;
        let response = write_message(&mut state, &self.parameters.encode())?;
        Ok((state, response))
    }
}

impl Responder {
    /// Reads a client's first message, and returns the response.
    ///
    /// # Errors
    /// Returns an error for an invalid message.
    pub fn new(
        identity: &Identity,
        source: ConnectionId,
        ephemeral: [u8; 32],
        first: &[u8],
        parameters: &ServerParameters,
    ) -> Result<(Self, Vec<u8>), HandshakeError> {
        let start = Start {
            identity: identity.clone(),
            source,
            ephemeral: Secret(ephemeral),
            first: first.to_owned(),
            parameters: parameters.clone(),
        };
        let (state, response) = start.respond()?;
        Ok((Self { state: Some(state), start }, response))
    }

    /// Returns true after a forged confirm: the next message costs four more Diffie-Hellman operations.
    pub fn has_read_forgery(&self) -> bool {
        self.state.is_none()
    }

    /// Reads the confirm, once.
    ///
    /// # Errors
    /// Returns an error for a message that the client did not make for this handshake. The client's own confirm is
    /// accepted after any number of forgeries.
    pub fn read(&mut self, message: &[u8]) -> Result<(ClientParameters, PublicKey, Secrets), HandshakeError> {
        let mut state = match self.state.take() {
            Some(state) => state,
            None => self.start.respond()?.0,
        };
        if state.is_handshake_finished() {
            self.state = Some(state);
            return Err(HandshakeError);
        }
        // A message that is invalid only in its second part changes the state irreversibly.
        let payload = read_message(&mut state, message)?;
        let key = remote_key(&state)?;
        let parameters = ClientParameters::decode(&payload).ok_or(HandshakeError)?;
        let secrets = derive_secrets(&mut state)?;
        self.state = Some(state);
        Ok((parameters, key, secrets))
    }
}

fn handshake_prologue(source: ConnectionId) -> Vec<u8> {
    let mut prologue = b"thalweg".to_vec();
    prologue.push(VERSION);
    prologue.extend_from_slice(&source.0);
    prologue
}

fn noise_builder<'a>(
    identity: &'a Identity,
    ephemeral: [u8; 32],
    prologue: &'a [u8],
) -> Result<Builder<'a>, HandshakeError> {
    let pattern = PATTERN.parse().map_err(|_| HandshakeError)?;
    let resolver: BoxedCryptoResolver = Box::new(Resolver::new(ephemeral));
    Ok(Builder::with_resolver(pattern, resolver).local_private_key(identity.secret())?.prologue(prologue)?)
}

fn write_message(state: &mut HandshakeState, payload: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    let mut message = vec![0; MAX_MESSAGE];
    let length = state.write_message(payload, &mut message)?;
    message.truncate(length);
    Ok(message)
}

fn read_message(state: &mut HandshakeState, message: &[u8]) -> Result<Vec<u8>, HandshakeError> {
    if message.len() > MAX_MESSAGE {
        return Err(HandshakeError);
    }
    let mut payload = vec![0; MAX_MESSAGE];
    let length = state.read_message(message, &mut payload)?;
    payload.truncate(length);
    Ok(payload)
}

fn remote_key(state: &HandshakeState) -> Result<PublicKey, HandshakeError> {
    let key: [u8; 32] =
        state.get_remote_static().and_then(|key| key.try_into().ok()).ok_or(HandshakeError)?;
    Ok(PublicKey(key))
}

fn derive_secrets(state: &mut HandshakeState) -> Result<Secrets, HandshakeError> {
    if !state.is_handshake_finished() {
        return Err(HandshakeError);
    }
    let binding = state.get_handshake_hash().try_into().map_err(|_| HandshakeError)?;
    let (client, server) = state.dangerously_get_raw_split();
    Ok(Secrets { client: Secret(client), server: Secret(server), binding })
}

impl ServerParameters {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.id.0.to_vec();
        bytes.extend_from_slice(&self.token);
        bytes.extend_from_slice(&self.max_datagram_bytes.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (id, rest) = bytes.split_first_chunk()?;
        let (token, rest) = rest.split_first_chunk()?;
        let (max_datagram_bytes, _) = rest.split_first_chunk()?;
        Some(Self {
            id: ConnectionId(*id),
            token: *token,
            max_datagram_bytes: u16::from_be_bytes(*max_datagram_bytes),
        })
    }
}

impl ClientParameters {
    fn encode(&self) -> Option<Vec<u8>> {
        if self.service.len() > MAX_SERVICE || self.scheme.len() > MAX_SCHEME {
            return None;
        }
        let mut bytes = self.token.to_vec();
        bytes.extend_from_slice(&self.max_datagram_bytes.to_be_bytes());
        bytes.push(u8::try_from(self.service.len()).ok()?);
        bytes.extend_from_slice(self.service.as_bytes());
        bytes.extend_from_slice(&u16::try_from(self.scheme.len()).ok()?.to_be_bytes());
        bytes.extend_from_slice(&self.scheme);
        Some(bytes)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (token, rest) = bytes.split_first_chunk()?;
        let (max_datagram_bytes, rest) = rest.split_first_chunk()?;
        let (&length, rest) = rest.split_first()?;
        let (service, rest) = rest.split_at_checked(usize::from(length))?;
        let (length, rest) = rest.split_first_chunk()?;
        let scheme = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
        if service.len() > MAX_SERVICE || scheme.len() > MAX_SCHEME {
            return None;
        }
        Some(Self {
            token: *token,
            max_datagram_bytes: u16::from_be_bytes(*max_datagram_bytes),
            service: core::str::from_utf8(service).ok()?.to_owned(),
            scheme: scheme.to_owned(),
        })
    }
}

/// Resolver with Ring's primitives, where available, and with caller-supplied random bytes for one ephemeral key.
struct Resolver {
    primitives: FallbackResolver,
    ephemeral: [u8; 32],
}

impl Resolver {
    fn new(ephemeral: [u8; 32]) -> Self {
        let primitives = FallbackResolver::new(Box::new(RingResolver), Box::new(DefaultResolver));
        Self { primitives, ephemeral }
    }
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(SingleUseRandom(Some(self.ephemeral))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        self.primitives.resolve_dh(choice).map(|dh| Box::new(Contributory(dh)) as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        self.primitives.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        self.primitives.resolve_cipher(choice)
    }
}

/// Diffie-Hellman that rejects an all-zero shared secret (RFC 7748, section 6.1). Such a secret comes from a low-order
/// point; a peer with such a public key would share the secret with everyone.
struct Contributory(Box<dyn Dh>);

impl Dh for Contributory {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn pub_len(&self) -> usize {
        self.0.pub_len()
    }

    fn priv_len(&self) -> usize {
        self.0.priv_len()
    }

    fn set(&mut self, privkey: &[u8]) {
        self.0.set(privkey);
    }

    fn generate(&mut self, random: &mut dyn Random) -> Result<(), snow::Error> {
        self.0.generate(random)
    }

    fn pubkey(&self) -> &[u8] {
        self.0.pubkey()
    }

    fn privkey(&self) -> &[u8] {
        self.0.privkey()
    }

    fn dh(&self, pubkey: &[u8], out: &mut [u8]) -> Result<(), snow::Error> {
        self.0.dh(pubkey, out)?;
        let shared = &out[..self.dh_len().min(out.len())];
        // Constant time: the number of zero bytes must not leak.
        if shared.iter().fold(0, |all, byte| all | byte) == 0 { Err(snow::Error::Dh) } else { Ok(()) }
    }

    fn dh_len(&self) -> usize {
        self.0.dh_len()
    }
}

/// Random bytes for one key. A second request would get the same bytes, so it fails.
struct SingleUseRandom(Option<[u8; 32]>);

impl Random for SingleUseRandom {
    fn try_fill_bytes(&mut self, into: &mut [u8]) -> Result<(), snow::Error> {
        let bytes = self.0.take().filter(|bytes| bytes.len() == into.len()).ok_or(snow::Error::Rng)?;
        into.copy_from_slice(&bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Tests that both ends agree on keys and identities, and that modified or foreign messages are rejected.
    use super::*;

    const SOURCE: ConnectionId = ConnectionId([9; 8]);

    fn server_parameters() -> ServerParameters {
        ServerParameters { id: ConnectionId([3; 8]), token: [4; RESET_TOKEN], max_datagram_bytes: 1500 }
    }

    fn client_parameters() -> ClientParameters {
        let service = "bench".to_owned();
        ClientParameters {
            token: [5; RESET_TOKEN],
            max_datagram_bytes: 1400,
            service,
            scheme: b"cubic".to_vec(),
        }
    }

    fn identities() -> (Identity, Identity) {
        (Identity::from_secret([1; 32]), Identity::from_secret([2; 32]))
    }

    #[test]
    fn both_ends_agree() {
        let (client, server) = identities();
        let mut initiator = Initiator::new(&client, SOURCE, [11; 32]).unwrap();
        let first = initiator.first().to_owned();
        let (mut responder, response) =
            Responder::new(&server, SOURCE, [12; 32], &first, &server_parameters()).unwrap();
        assert_eq!(initiator.read(&response).unwrap(), (server_parameters(), server.public()));
        let (confirm, ours) = initiator.confirm(&client_parameters()).unwrap();
        let (parameters, key, theirs) = responder.read(&confirm).unwrap();
        assert_eq!((parameters, key), (client_parameters(), client.public()));
        assert_eq!((ours.client.0, ours.server.0), (theirs.client.0, theirs.server.0));
        assert_ne!(ours.client.0, ours.server.0);
        assert_eq!(ours.binding, theirs.binding);
        // Once only.
        assert!(responder.read(&confirm).is_err());
        // Neither static key is visible on the wire.
        for message in [&first, &response, &confirm] {
            for key in [client.public(), server.public()] {
                assert!(!message.windows(32).any(|part| part == key.0));
            }
        }
    }

    /// An attacker with both static keys lacks the ephemeral ones; the cleartext yields no key.
    #[test]
    fn traffic_keys_follow_from_ephemeral_keys() {
        let (client, server) = identities();
        let connect = |ephemeral: [u8; 2]| {
            let [ours, theirs] = ephemeral.map(|byte| [byte; 32]);
            let mut initiator = Initiator::new(&client, SOURCE, ours).unwrap();
            let (_, response) =
                Responder::new(&server, SOURCE, theirs, initiator.first(), &server_parameters()).unwrap();
            initiator.read(&response).unwrap();
            initiator.confirm(&client_parameters()).unwrap().1
        };
        let mut known = std::collections::BTreeSet::new();
        for ephemeral in [[11, 12], [11, 13], [14, 12]] {
            let secrets = connect(ephemeral);
            let again = connect(ephemeral);
            assert_eq!((secrets.client.0, secrets.server.0), (again.client.0, again.server.0));
            known.extend([secrets.client.0, secrets.server.0, secrets.binding]);
        }
        // The transcript hash is not secret.
        assert_eq!(known.len(), 9, "no two are the same");
    }

    /// Holds RFC 9001, section 5.5.
    #[test]
    fn forged_packets_have_no_effect() {
        let (client, server) = identities();
        let mut initiator = Initiator::new(&client, SOURCE, [11; 32]).unwrap();
        let first = initiator.first().to_owned();
        let (_, response) = Responder::new(&server, SOURCE, [12; 32], &first, &server_parameters()).unwrap();
        for at in 0..response.len() {
            let mut forged = response.clone();
            forged[at] ^= 1;
            assert!(initiator.read(&forged).is_err(), "byte {at}");
            assert!(initiator.read(&response[..at]).is_err());
        }
        assert!(initiator.read(&response).is_ok());
        let (confirm, _) = initiator.confirm(&client_parameters()).unwrap();
        for at in 0..confirm.len() {
            let (mut responder, _) =
                Responder::new(&server, SOURCE, [12; 32], &first, &server_parameters()).unwrap();
            let mut forged = confirm.clone();
            forged[at] ^= 1;
            assert!(responder.read(&forged).is_err(), "byte {at}");
            assert!(responder.read(&confirm[..at]).is_err());
            assert!(responder.read(&confirm).is_ok(), "byte {at}");
        }
    }

    #[test]
    fn no_number_of_forgeries_ends_a_handshake() {
        let (client, server) = identities();
        let mut initiator = Initiator::new(&client, SOURCE, [11; 32]).unwrap();
        let (mut responder, response) =
            Responder::new(&server, SOURCE, [12; 32], initiator.first(), &server_parameters()).unwrap();
        assert!(initiator.read(&[0; 100]).is_err());
        initiator.read(&response).unwrap();
        let (confirm, _) = initiator.confirm(&client_parameters()).unwrap();
        // Some are invalid from the beginning, others only in their second part.
        let mut second = confirm.clone();
        *second.last_mut().unwrap() ^= 1;
        for _ in 0..100 {
            assert!(responder.read(&[0; 100]).is_err());
            assert!(responder.read(&second).is_err() && responder.has_read_forgery());
        }
        assert!(responder.read(&confirm).is_ok());
    }

    #[test]
    fn a_client_accepts_the_right_server_after_a_wrong_one() {
        let (client, server) = identities();
        let mut initiator = Initiator::new(&client, SOURCE, [11; 32]).unwrap();
        let first = initiator.first().to_owned();
        let forger = Identity::from_secret([66; 32]);
        let (_, forged) = Responder::new(&forger, SOURCE, [13; 32], &first, &server_parameters()).unwrap();
        assert_eq!(initiator.read(&forged).unwrap().1, forger.public());
        let mut initiator = initiator.resend().unwrap();
        assert_eq!(initiator.first(), first);
        let (_, response) = Responder::new(&server, SOURCE, [12; 32], &first, &server_parameters()).unwrap();
        assert_eq!(initiator.read(&response).unwrap().1, server.public());
    }

    /// Low-order points of the curve and its twist, in every encoding that X25519 accepts (RFC 7748, section 5, masks
    /// the highest bit): 0, 1, the two of order 8, and p - 1, p and p + 1.
    #[test]
    fn points_of_low_order_are_refused() {
        let hex = |text: &str| *crate::identity::Identity::from_text(text).unwrap().secret();
        let points = [
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0100000000000000000000000000000000000000000000000000000000000000",
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        ];
        let (_, server) = identities();
        for point in points {
            for high in [0, 0x80] {
                let mut first = hex(point);
                first[31] |= high;
                let made = Responder::new(&server, SOURCE, [12; 32], &first, &server_parameters());
                assert!(made.is_err(), "{point}");
                // They are not valid public keys either: each Diffie-Hellman of the handshake uses this check.
                let mut dh = Resolver::new([12; 32]).resolve_dh(&DHChoice::Curve25519).unwrap();
                dh.set(server.secret());
                assert!(dh.dh(&first, &mut [0; 32]).is_err(), "{point}");
            }
        }
    }

    #[test]
    fn a_changed_connection_id_fails_the_handshake() {
        let (client, server) = identities();
        let mut initiator = Initiator::new(&client, SOURCE, [11; 32]).unwrap();
        let other = ConnectionId([8; 8]);
        let (_, response) =
            Responder::new(&server, other, [12; 32], initiator.first(), &server_parameters()).unwrap();
        assert!(initiator.read(&response).is_err());
    }

    #[test]
    fn first_messages_of_any_length_are_taken_or_refused() {
        let (_, server) = identities();
        for length in 0..200 {
            // The base point, and more.
            let first: Vec<u8> = (0..length).map(|at| if at == 0 { 9 } else { 0 }).collect();
            let made = Responder::new(&server, SOURCE, [12; 32], &first, &server_parameters());
            assert_eq!(made.is_ok(), length >= 32, "{length}");
        }
    }
}
