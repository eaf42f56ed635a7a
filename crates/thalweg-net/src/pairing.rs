//! Pairing: two ends learn each other's keys through a short code that people exchange.
//!
//! Both run SPAKE2 (Abdalla and Pointcheval 2005; RFC 9382 is a variant) over an encrypted connection with an
//! unauthenticated peer. The code is the password:
//!
//! ```text
//! client                              server
//!   its half of SPAKE2            ->            a guess
//!                                 <-  its half
//!   proof that it has the key     ->
//!                                 <-  proof that it has the key
//! ```
//!
//! The SPAKE2 key includes the keys of both ends and the connection's [binding](crate::live::Connection::binding). A
//! man in the middle has two connections with two bindings and a key of its own, so the messages of one end are useless
//! to the other. Without the code, an attacker learns from each run only whether one guess was right. The server may be
//! asked often, and counts the guesses. The client proves first, so an attacker cannot disconnect before the server has
//! counted its guess.

use crate::cookie::constant_time_eq;
use crate::identity::{Entropy, PublicKey, SystemEntropy};
use core::fmt;
use core::str::FromStr;
use spake2::{Ed25519Group, Identity, Password, Spake2};
use std::io::{self, Read, Write};

/// Number of digits of a code: one guess is right with probability 10^-8.
const CODE_DIGITS: usize = 8;

/// Length of a SPAKE2 message, in bytes: the side, and a group element.
const SPAKE2_MESSAGE: usize = 33;

/// One-time pairing code, printed in two groups of four digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Code([u8; CODE_DIGITS]);

/// Text that is not a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotACode;

impl fmt::Display for NotACode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a code is eight digits, such as 1234-5678")
    }
}

impl std::error::Error for NotACode {}

impl Code {
    /// Generates a new code.
    pub fn generate(entropy: &mut dyn Entropy) -> Self {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        // 2^128 is not a multiple of 10^8: some codes are more likely by one in 10^30.
        let mut number = u128::from_be_bytes(bytes);
        Self([0; CODE_DIGITS].map(|_| {
            let digit = (number % 10) as u8;
            number /= 10;
            b'0' + digit
        }))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, digit) in self.0.iter().enumerate() {
            let dash = if index == CODE_DIGITS / 2 { "-" } else { "" };
            write!(f, "{dash}{}", char::from(*digit))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

impl FromStr for Code {
    type Err = NotACode;

    /// Parses a code; dashes and spaces are ignored.
    fn from_str(text: &str) -> Result<Self, NotACode> {
        let digits: Vec<u8> = text.bytes().filter(|byte| !b"- ".contains(byte)).collect();
        let digits: [u8; CODE_DIGITS] = digits.try_into().map_err(|_| NotACode)?;
        if digits.iter().all(u8::is_ascii_digit) { Ok(Self(digits)) } else { Err(NotACode) }
    }
}

/// Keys of both ends, and the binding of their connection.
#[derive(Clone, Copy, Debug)]
pub struct PairingKeys {
    /// Key of the client.
    pub client: PublicKey,
    /// Key of the server.
    pub server: PublicKey,
    /// Channel binding: bytes that only these two ends share.
    pub binding: [u8; 32],
}

/// Reason for a failed pairing.
#[derive(Debug)]
pub enum PairingError {
    /// The connection ended. Before [`pair_as_server`] has read the peer's half this does not count as a guess.
    Stream {
        /// Error of the stream.
        error: io::Error,
        /// True if the peer may have learned whether its guess was right.
        guessed: bool,
    },
    /// The peer does not know the code, or a man in the middle interferes.
    Wrong,
}

impl fmt::Display for PairingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream { error, .. } => write!(f, "{error}"),
            Self::Wrong => f.write_str("the codes differ, or this is a man-in-the-middle attack"),
        }
    }
}

impl std::error::Error for PairingError {}

/// Runs the client side over a connection's streams.
///
/// # Errors
/// Returns an error if the server does not know the code, or if the connection ended.
pub fn pair_as_client(
    code: &Code,
    ends: &PairingKeys,
    from: &mut impl Read,
    to: &mut impl Write,
) -> Result<(), PairingError> {
    initiate_with(&mut SystemEntropy::new(), code, ends, from, to)
}

/// Runs the client side with caller-supplied random bytes.
///
/// # Errors
/// Returns the errors of [`pair_as_client`].
pub fn initiate_with(
    entropy: &mut dyn Entropy,
    code: &Code,
    ends: &PairingKeys,
    from: &mut impl Read,
    to: &mut impl Write,
) -> Result<(), PairingError> {
    let stream = |error| PairingError::Stream { error, guessed: true };
    let (password, [client, server]) = (Password::new(code.0), ends.identities());
    let (state, half) = Spake2::<Ed25519Group>::start_a_with_rng(&password, &client, &server, Draws(entropy));
    to.write_all(&half).map_err(stream)?;
    let theirs: [u8; SPAKE2_MESSAGE] = read_array(from).map_err(stream)?;
    let proofs = Proofs::new(&state.finish(&theirs).map_err(|_| PairingError::Wrong)?);
    to.write_all(&proofs.client).map_err(stream)?;
    let proof = read_array(from).map_err(stream)?;
    if constant_time_eq(&proof, &proofs.server) { Ok(()) } else { Err(PairingError::Wrong) }
}

/// Runs the server side. An error is a wrong guess, unless it states otherwise.
///
/// # Errors
/// Returns an error if the client does not know the code, or if the connection ended.
pub fn pair_as_server(
    code: &Code,
    ends: &PairingKeys,
    from: &mut impl Read,
    to: &mut impl Write,
) -> Result<(), PairingError> {
    serve_with(&mut SystemEntropy::new(), code, ends, from, to)
}

/// Runs the server side with caller-supplied random bytes.
///
/// # Errors
/// Returns the errors of [`pair_as_server`].
pub fn serve_with(
    entropy: &mut dyn Entropy,
    code: &Code,
    ends: &PairingKeys,
    from: &mut impl Read,
    to: &mut impl Write,
) -> Result<(), PairingError> {
    let theirs: [u8; SPAKE2_MESSAGE] =
        read_array(from).map_err(|error| PairingError::Stream { error, guessed: false })?;
    let stream = |error| PairingError::Stream { error, guessed: true };
    let (password, [client, server]) = (Password::new(code.0), ends.identities());
    let (state, half) = Spake2::<Ed25519Group>::start_b_with_rng(&password, &client, &server, Draws(entropy));
    let proofs = Proofs::new(&state.finish(&theirs).map_err(|_| PairingError::Wrong)?);
    to.write_all(&half).map_err(stream)?;
    let proof = read_array(from).map_err(stream)?;
    if !constant_time_eq(&proof, &proofs.client) {
        return Err(PairingError::Wrong);
    }
    to.write_all(&proofs.server).map_err(stream)
}

/// Number of wrong guesses that invalidates a code.
const MAX_WRONG_GUESSES: u32 = 3;

/// Remaining wrong guesses of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guesses(u32);

/// Effect of an attempt on the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Successful pairing; the code is used up.
    Paired,
    /// Not counted as a guess.
    Nothing,
    /// Wrong guess, with the number of remaining ones.
    Wrong(u32),
    /// Last wrong guess: the code is invalid.
    Over,
}

impl Default for Guesses {
    fn default() -> Self {
        Self(MAX_WRONG_GUESSES)
    }
}

impl Guesses {
    /// Updates the count after an attempt, at the end that [serves](pair_as_server).
    pub fn after_attempt(&mut self, attempt: &Result<(), PairingError>) -> Verdict {
        match attempt {
            Ok(()) => Verdict::Paired,
            Err(PairingError::Stream { guessed: false, .. }) => Verdict::Nothing,
            Err(_) => {
                self.0 = self.0.saturating_sub(1);
                if self.0 == 0 { Verdict::Over } else { Verdict::Wrong(self.0) }
            }
        }
    }
}

/// Adapter of the entropy source for `spake2`.
struct Draws<'a>(&'a mut dyn Entropy);

impl rand_core_06::RngCore for Draws<'_> {
    fn next_u32(&mut self) -> u32 {
        rand_core_06::impls::next_u32_via_fill(self)
    }

    fn next_u64(&mut self) -> u64 {
        rand_core_06::impls::next_u64_via_fill(self)
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0.fill(bytes);
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), rand_core_06::Error> {
        self.0.fill(bytes);
        Ok(())
    }
}

impl rand_core_06::CryptoRng for Draws<'_> {}

impl PairingKeys {
    /// Returns both identities in SPAKE2's form.
    fn identities(&self) -> [Identity; 2] {
        [(&b"client"[..], &self.client), (b"server", &self.server)]
            .map(|(role, key)| Identity::new(&[role, &key.0, &self.binding].concat()))
    }
}

/// Key-confirmation messages of both ends.
struct Proofs {
    client: [u8; 32],
    server: [u8; 32],
}

impl Proofs {
    fn new(key: &[u8]) -> Self {
        let proof = |context| blake3::derive_key(context, key);
        Self { client: proof("thalweg v1 pairing, client"), server: proof("thalweg v1 pairing, server") }
    }
}

fn read_array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    //! Tests that the right code pairs, and that a wrong code or a man in the middle fails.
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn pairing_keys() -> PairingKeys {
        PairingKeys { client: PublicKey([1; 32]), server: PublicKey([2; 32]), binding: [3; 32] }
    }

    fn code(text: &str) -> Code {
        text.parse().unwrap()
    }

    /// Returns the two ends of a duplex stream.
    fn streams() -> [TcpStream; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [one, listener.accept().unwrap().0]
    }

    type PairingResult = Result<(), PairingError>;

    fn pair(client: (&str, PairingKeys), server: (&str, PairingKeys)) -> (PairingResult, PairingResult) {
        let [ours, theirs] = streams();
        let (code_there, ends_there) = (code(server.0), server.1);
        let there =
            std::thread::spawn(move || pair_as_server(&code_there, &ends_there, &mut &theirs, &mut &theirs));
        let here = pair_as_client(&code(client.0), &client.1, &mut &ours, &mut &ours);
        (here, there.join().unwrap())
    }

    #[test]
    fn codes_are_read_as_people_write_them() {
        let made = Code::generate(&mut SystemEntropy::new());
        assert_eq!(made.to_string().parse(), Ok(made.clone()));
        assert_ne!(made, Code::generate(&mut SystemEntropy::new()));
        assert_eq!(code("12345678"), code("1234 - 5678"));
        assert_eq!(code("12345678").to_string(), "1234-5678");
        for wrong in ["", "1234567", "123456789", "1234567x", "１２３４５６７８"] {
            assert_eq!(wrong.parse::<Code>(), Err(NotACode), "{wrong}");
        }
    }

    #[test]
    fn matching_codes_pair() {
        let (here, there) = pair(("1234-5678", pairing_keys()), ("12345678", pairing_keys()));
        here.unwrap();
        there.unwrap();
    }

    #[test]
    fn a_wrong_code_is_a_guess() {
        let (here, there) = pair(("1234-5678", pairing_keys()), ("1234-5679", pairing_keys()));
        // The server signals failure by ending the stream; neither proof was right.
        assert!(matches!(here, Err(PairingError::Stream { guessed: true, .. })), "{here:?}");
        assert!(matches!(there, Err(PairingError::Wrong)), "{there:?}");
    }

    #[test]
    fn a_man_in_the_middle_gains_nothing() {
        // A man in the middle has two connections: another binding, and its own key in place of either end's.
        let changes: [fn(&mut PairingKeys); 3] = [
            |ends| ends.binding = [4; 32],
            |ends| ends.client = PublicKey([9; 32]),
            |ends| ends.server = PublicKey([9; 32]),
        ];
        for change in changes {
            let mut others = pairing_keys();
            change(&mut others);
            let (here, there) = pair(("1234-5678", pairing_keys()), ("1234-5678", others));
            assert!(here.is_err());
            assert!(matches!(there, Err(PairingError::Wrong)), "{there:?}");
        }
    }

    #[test]
    fn three_wrong_guesses_are_the_last() {
        let stream = |guessed| PairingError::Stream { error: io::ErrorKind::UnexpectedEof.into(), guessed };
        let mut guesses = Guesses::default();
        assert_eq!(guesses.after_attempt(&Err(stream(false))), Verdict::Nothing);
        assert_eq!(guesses.after_attempt(&Err(PairingError::Wrong)), Verdict::Wrong(2));
        assert_eq!(guesses.after_attempt(&Err(stream(true))), Verdict::Wrong(1));
        assert_eq!(guesses.after_attempt(&Err(stream(false))), Verdict::Nothing);
        assert_eq!(guesses.after_attempt(&Ok(())), Verdict::Paired);
        assert_eq!(guesses.after_attempt(&Err(PairingError::Wrong)), Verdict::Over);
    }

    #[test]
    fn only_a_late_abort_counts_as_a_guess() {
        let [ours, theirs] = streams();
        drop(ours);
        let result = pair_as_server(&code("12345678"), &pairing_keys(), &mut &theirs, &mut &theirs);
        assert!(matches!(result, Err(PairingError::Stream { guessed: false, .. })), "{result:?}");
        // A valid half, then silence.
        let [ours, theirs] = streams();
        let password = Password::new(b"00000000");
        let [client, server] = pairing_keys().identities();
        let (_, half) = Spake2::<Ed25519Group>::start_a(&password, &client, &server);
        (&ours).write_all(&half).unwrap();
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        let result = pair_as_server(&code("12345678"), &pairing_keys(), &mut &theirs, &mut &theirs);
        assert!(matches!(result, Err(PairingError::Stream { guessed: true, .. })), "{result:?}");
        // An invalid half.
        let [ours, theirs] = streams();
        (&ours).write_all(&[0xff; SPAKE2_MESSAGE]).unwrap();
        let result = pair_as_server(&code("12345678"), &pairing_keys(), &mut &theirs, &mut &theirs);
        assert!(matches!(result, Err(PairingError::Wrong)), "{result:?}");
    }
}
