//! Admission of senders.

use super::SERVICE;
use super::admitted_sender::AdmittedSender;
use super::approval_queue::{Answer, ApprovalQueue};
use super::arguments::{Listen, ListenArguments, Trusted};
use super::bind;
use super::confine::confine;
use super::denials::{Denial, Denials};
use super::metrics::Metrics;
use super::pairing::{PAIRING, PairingEvent, PairingOffer};
use super::peers::{self, Keys, Peers, name_for};
use super::transfer_slots::REMOVED;
use super::unknown_senders::UnknownSenders;
use crate::console::{Console, Done, Error};
use crate::interrupt::interruptible_by;
use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{self, EndpointConfig, Trust};
use thalweg_net::identity::PublicKey;
use thalweg_net::live::{Connection, Socket};
use thalweg_net::session::{SessionConfig, code};
use thalweg_report::output::counted;

/// Polling interval for Ctrl-C and finished transfers.
const TICK: Duration = Duration::from_millis(50);

/// Polling interval for changes of `known-senders`.
const KNOWN_SENDERS_INTERVAL: Duration = Duration::from_millis(500);

/// Timeout for the last message of a pairing.
const PAIRING_TIMEOUT: Duration = Duration::from_secs(2);

/// Listener that admits senders.
pub struct SenderListener<'a> {
    socket: Socket,
    senders: Peers,
    trust: &'a [Trusted],
    /// Unknown senders need a pairing code.
    pairs: bool,
    invitation: Option<PairingOffer>,
    /// Reason the pairing code expired unused, if it did.
    pub close_reason: Option<&'static str>,
    /// The only admitted sender, once there is one.
    owner: Option<PublicKey>,
    /// Senders that wait for approval at the terminal.
    approvals: ApprovalQueue,
    /// Senders admitted for one transfer.
    once: HashSet<PublicKey>,
    /// Senders admitted by `--trust new`.
    unknown_senders: UnknownSenders,
    denials: Denials,
    /// Unknown keys pass the handshake and are decided here; otherwise the socket rejects them.
    is_open: bool,
    reloaded_at: Instant,
    /// A sender may have been removed from the list.
    is_changed: bool,
    /// Set to request a re-read of the known senders.
    reload: Arc<AtomicBool>,
    /// Counters of all transfers, if enabled.
    pub metrics: Option<Arc<Metrics>>,
    console: &'a Console,
    /// Set when the user requests a stop.
    pub stop: Arc<AtomicBool>,
}

impl<'a> SenderListener<'a> {
    /// Listens, with the configured number of threads. Files go to `folder`, if given. From now on the process can
    /// write only there and to the list of known peers.
    pub fn open(
        arguments: &'a ListenArguments,
        threads: usize,
        folder: Option<&Path>,
        console: &'a Console,
        reload: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let schemes = arguments.schemes(&console.registry)?;
        let stop = interruptible_by(console)?;
        let keys = Keys::find()?;
        let (identity, mut senders) = (keys.identity()?, keys.senders()?);
        senders.complain(console);
        // Confine the process before starting threads that read from the network. Where the kernel cannot, name checks
        // are the only protection.
        let folders: Vec<&Path> = folder.into_iter().chain([keys.folder()]).collect();
        confine(&folders);
        let is_open = arguments.pair || arguments.trust.contains(&Trusted::New) || peers::may_prompt(console);
        // Reject unknown keys in the handshake, where they are cheap, unless they may be admitted later.
        let trust = if is_open { Trust::Anyone } else { known(&arguments.trust, &senders) };
        if trust == Trust::Keys([].into()) {
            let path = senders.path().display();
            return Err(Error::Failed(format!(
                "no sender is known. `thalweg key` prints a sender's key: give it with --trust KEY, write it into {path} \
                 with a name, or take any sender with --trust new"
            )));
        }
        let services = [SERVICE].into_iter().chain(arguments.pair.then_some(PAIRING));
        let listen = endpoint::Listen::new(trust, services).of_registry(Arc::clone(&console.registry));
        let listen = match schemes {
            Some(names) => listen.by_schemes(names),
            None => listen,
        };
        let memory = arguments.memory.get();
        let client = EndpointConfig::client(identity.clone());
        // The shared limit must let the first connection reach its own limit.
        let all = client.limits.memory.max(memory.saturating_mul(4));
        let limits = endpoint::Limits { memory: all, ..client.limits };
        let first = client.session.memory.min(memory);
        let session = SessionConfig { memory: first, max_memory: memory, ..client.session };
        let config = EndpointConfig { listen: Some(listen), limits, session, ..client };
        let socket = match arguments.listen {
            Listen::At(address) => bind(address, config, threads)?,
            Listen::Everywhere(port) => {
                let v6 = bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port), config.clone(), threads);
                // Not every host has IPv6.
                v6.or_else(|why| {
                    bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), config, threads)
                        .map_err(|_| why)
                })?
            }
        };
        console.inform(&format!("Listening on {}, key {}", socket.local(), identity.public()));
        let invitation = arguments.pair.then(|| PairingOffer::new(Instant::now(), identity.public()));
        if let Some(invitation) = &invitation {
            let code = invitation.code();
            console.inform(&format!(
                "The code is {code}, for ten minutes: thalweg send --pair FILES... HOST asks for it"
            ));
        }
        Ok(Self {
            socket,
            senders,
            trust: &arguments.trust,
            pairs: arguments.pair,
            invitation,
            close_reason: None,
            owner: None,
            approvals: ApprovalQueue::default(),
            once: HashSet::new(),
            unknown_senders: UnknownSenders::new(
                usize::try_from(arguments.unknown_senders.get()).unwrap_or(usize::MAX),
            ),
            denials: Denials::new(Instant::now()),
            is_open,
            reloaded_at: Instant::now(),
            is_changed: false,
            reload,
            metrics: Metrics::begin(arguments.metrics, console)?,
            console,
            stop,
        })
    }

    /// Returns the next admitted sender, if one arrives soon.
    pub fn next(&mut self) -> Result<Option<AdmittedSender>, Error> {
        if self.is_stopped() {
            std::thread::sleep(TICK);
            return Ok(None);
        }
        self.poll_pairing_offer()?;
        self.reload_known_senders();
        let now = Instant::now();
        let (refused, more) = self.socket.refused();
        for refusal in refused {
            self.deny(now, refusal.remote, &refusal.peer, &refusal.reason);
        }
        self.denials.count(more);
        self.denials.report(now, self.console);
        if let Some(metrics) = &self.metrics {
            metrics.endpoint(self.socket.stats().0);
            metrics.denied(self.denials.all());
        }
        if let Some((sender, answer)) = self.approvals.poll(now, self.console) {
            match answer {
                Answer::Always => {
                    // A full disk must not stop the other senders.
                    if let Err(error) = self.senders.remember(&name_for(&sender.key), sender.key) {
                        self.console.complain(&format!("{error}; the sender is admitted this once"));
                        self.once.insert(sender.key);
                    }
                }
                Answer::Once => drop(self.once.insert(sender.key)),
            }
            return Ok(Some(sender));
        }
        let arrived = self.socket.accept_within(TICK);
        let Some(connection) = arrived.map_err(|error| Error::Failed(error.to_string()))? else {
            return Ok(None);
        };
        let key = connection.peer();
        if self.owner.is_some_and(|owner| owner != key) {
            connection.close(code::BUSY, BUSY_WITH_OTHER);
            return Ok(None);
        }
        if connection.service() == PAIRING {
            match &mut self.invitation {
                Some(invitation) => invitation.meet(Instant::now(), connection),
                None => connection.close(code::UNAUTHORIZED, CODE_INVALID),
            }
            return Ok(None);
        }
        // A paired peer reconnects at once, possibly before the end of the pairing connection is known.
        let begun = Instant::now();
        while self.invitation.as_ref().is_some_and(|invitation| invitation.meets(&key))
            && begun.elapsed() < PAIRING_TIMEOUT
        {
            std::thread::sleep(Duration::from_millis(2));
            self.poll_pairing_offer()?;
        }
        if self.is_admitted(&key) {
            return Ok(Some(AdmittedSender::new(connection)));
        }
        if self.trust.contains(&Trusted::New) {
            let sender = AdmittedSender::new(connection);
            return Ok(self.has_capacity_for(&sender).then_some(sender));
        }
        if !self.pairs && peers::may_prompt(self.console) {
            self.approvals.enqueue(now, &connection);
            return Ok(None);
        }
        let why = "the receiver does not accept files from this key";
        self.deny(now, connection.remote(), &key, why);
        connection.close(code::UNAUTHORIZED, why);
        Ok(None)
    }

    /// Returns true if the sender with this key is admitted.
    pub fn is_admitted(&self, key: &PublicKey) -> bool {
        let is_known = self.trust.contains(&Trusted::Key(*key)) || self.senders.name_of(key).is_some();
        is_known || self.once.contains(key) || self.unknown_senders.contains(key)
    }

    /// Returns true if the user named or approved this sender, as opposed to admission by `--trust new`.
    pub fn wants(&self, key: &PublicKey) -> bool {
        self.trust.contains(&Trusted::Key(*key)) || self.senders.is_chosen(key) || self.once.contains(key)
    }

    /// Returns true if `--trust new` has room for this sender; rejects the sender otherwise.
    fn has_capacity_for(&mut self, sender: &AdmittedSender) -> bool {
        let has_capacity = self.unknown_senders.has_capacity(self.senders.unnamed());
        if !has_capacity {
            let connection = &sender.connection;
            self.deny(Instant::now(), connection.remote(), &sender.key, UNNAMED_LIMIT_REACHED);
            connection.close(code::UNAUTHORIZED, "the receiver admits no more unknown senders");
        }
        has_capacity
    }

    /// Registers the start of a transfer. Returns false if the sender was rejected: since its admission it may have
    /// been removed from the list, or other unknown senders may have used up the limit.
    pub fn begin(&mut self, sender: &AdmittedSender) -> bool {
        let key = sender.key;
        if !self.unknown_senders.contains(&key) {
            if self.is_admitted(&key) {
                return true;
            }
            if !self.trust.contains(&Trusted::New) {
                sender.connection.close(code::UNAUTHORIZED, REMOVED);
                return false;
            }
            if !self.has_capacity_for(sender) {
                return false;
            }
            let remote = sender.connection.remote();
            self.console.inform(&format!("{} at {remote} is new; its key is {key}", name_for(&key)));
        }
        self.unknown_senders.begin(key);
        true
    }

    /// Registers the end of a transfer, which cannot resume if `is_final`. A sender that `--trust new` admitted,
    /// without another transfer, becomes known if `something` of it is stored.
    pub fn end(&mut self, key: &PublicKey, is_final: bool, something: impl FnOnce() -> bool) {
        if is_final {
            self.once.remove(key);
        }
        if self.unknown_senders.end(key)
            && self.senders.name_of(key).is_none()
            && something()
            && let Err(error) = self.senders.remember_unconfirmed(*key)
        {
            self.console.complain(&format!("{error}; a sender of which there are files is not known"));
        }
    }

    /// Returns true if senders may have been removed from the list since the last call.
    pub fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Restricts admission to this sender; `None` lifts the restriction.
    pub fn set_owner(&mut self, key: Option<PublicKey>) {
        self.owner = key;
        if key.is_some() {
            self.approvals.withdraw(self.console, BUSY_WITH_OTHER);
        }
    }

    /// Returns the rejected senders since the last call, as far as they are listed individually.
    pub fn denied(&mut self) -> Vec<Denial> {
        self.denials.take()
    }

    fn deny(&mut self, now: Instant, remote: SocketAddr, key: &PublicKey, why: &str) {
        self.denials.add(now, Denial::new(remote, key, why), self.console);
    }

    /// Re-reads the known senders when the file has changed or on request.
    fn reload_known_senders(&mut self) {
        let is_wanted = self.reload.swap(false, Ordering::Relaxed);
        if !is_wanted && self.reloaded_at.elapsed() < KNOWN_SENDERS_INTERVAL {
            return;
        }
        self.reloaded_at = Instant::now();
        match self.senders.reload(is_wanted) {
            Ok(false) => {}
            Ok(true) => {
                self.senders.complain(self.console);
                let (count, path) = (self.senders.keys().count(), self.senders.path().display());
                self.console.inform(&format!("{path} was reloaded: {}", counted(count as u64, "sender")));
                self.is_changed = true;
                if !self.is_open {
                    self.socket.set_trust(&known(self.trust, &self.senders));
                }
            }
            Err(error) => self.console.complain(&format!("{error}; the list is unchanged")),
        }
    }

    fn poll_pairing_offer(&mut self) -> Done {
        let Some(invitation) = &mut self.invitation else { return Ok(()) };
        match invitation.poll(Instant::now()) {
            PairingEvent::None => {}
            PairingEvent::Wrong(remote, left) => {
                self.console.inform(&format!("{remote} gave a wrong code; {left} more invalidate it"));
            }
            PairingEvent::Paired(key, remote) => {
                let name = name_for(&key);
                self.invitation = None;
                if !self.senders.is_chosen(&key)
                    && let Err(error) = self.senders.remember(&name, key)
                {
                    self.console.complain(&format!("{error}; the sender is admitted this once"));
                    self.once.insert(key);
                }
                self.console.inform(&format!(
                    "{name} at {remote} knows the code; from now on it is known by the key {key}"
                ));
            }
            PairingEvent::Over(why) => {
                self.invitation = None;
                self.close_reason = Some(why);
                self.console.inform(why);
            }
        }
        Ok(())
    }

    /// Returns true if the user requested a stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the name and address of a sender, for display.
    pub fn name(&self, key: &PublicKey, connection: &Connection) -> String {
        format!("{} at {}", self.folder_name(key), connection.remote())
    }

    /// Returns the name of a sender, if it is valid as a folder name.
    pub fn folder_name(&self, key: &PublicKey) -> String {
        let is_plain = |name: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
            !name.starts_with('.') && name.len() <= 100 && name.bytes().all(plain)
        };
        self.senders.name_of(key).filter(is_plain).map_or_else(|| name_for(key), str::to_owned)
    }
}

/// Close reason from a receiver that is busy with another sender.
const BUSY_WITH_OTHER: &str = "it receives from another sender; `thalweg serve` takes several";

/// Log message when the limit of `--trust new` is reached.
const UNNAMED_LIMIT_REACHED: &str =
    "--unknown-senders allows no more senders without a name; name or remove some in known-senders";

/// The message does not reveal which of the causes applies.
const CODE_INVALID: &str =
    "its code is no longer valid: it was used, guessed wrong three times or is older than ten minutes";

/// Returns the keys trusted by the command line and the list.
fn known(trust: &[Trusted], senders: &Peers) -> Trust {
    let given = trust.iter().filter_map(|trusted| match trusted {
        Trusted::Key(key) => Some(*key),
        Trusted::New => None,
    });
    Trust::Keys(given.chain(senders.keys()).collect())
}

impl Drop for SenderListener<'_> {
    /// Notifies late senders that the receiver has ended.
    fn drop(&mut self) {
        while let Ok(Some(connection)) = self.socket.accept_within(Duration::ZERO) {
            connection.close(code::BUSY, "the receiver has ended");
        }
    }
}
