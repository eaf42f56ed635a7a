//! Decides about each client of a receiver's socket: accept, ask the user, or reject.

use super::admitted_sender::AdmittedSender;
use super::approval_queue::{Approval, ApprovalQueue, Approver};
use super::known_senders::{KnownSenders, name_for};
use super::pairing_offer::{PAIRING, PairingEvent, PairingOffer};
use super::rejected_senders::{Denial, DenialReason, Denials};
use super::transfer_slots::REMOVED_SENDER_REASON;
use super::unknown_senders::UnknownSenders;
use crate::endpoint::Trust;
use crate::identity::PublicKey;
use crate::live::{Connection, NetError, Socket};
use crate::pairing::Code;
use crate::session::code;
use std::collections::{HashSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Polling interval for changes of the known senders.
const KNOWN_SENDERS_INTERVAL: Duration = Duration::from_millis(500);

/// Timeout for the last message of a pairing.
const PAIRING_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum number of unread events; beyond it the oldest are dropped.
const MAX_EVENTS: usize = 256;

/// Admission in addition to the known senders.
#[derive(Clone, Debug, Default)]
pub struct AdmissionConfig {
    /// Keys that are always admitted.
    pub keys: HashSet<PublicKey>,
    /// Admit any sender, up to `max_unnamed`.
    pub admits_new: bool,
    /// Maximum number of senders without a name of their own, known ones included.
    pub max_unnamed: usize,
    /// Offer a pairing code; the sender that proves it becomes known.
    pub pairs: bool,
    /// Ask the [`Approver`] about unknown senders, unless they need a code.
    pub asks: bool,
}

impl AdmissionConfig {
    /// Returns true if unknown keys pass the handshake, as they may be admitted later.
    pub const fn is_open(&self) -> bool {
        self.pairs || self.admits_new || self.asks
    }

    /// Returns the keys that pass the handshake. Rejecting keys there is cheap.
    pub fn trust(&self, senders: &impl KnownSenders) -> Trust {
        if self.is_open() {
            return Trust::Anyone;
        }
        Trust::Keys(self.keys.iter().copied().chain(senders.keys()).collect())
    }
}

/// An event for the receiver's user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdmissionEvent {
    /// A sender was rejected.
    Denied(Denial),
    /// Number of further senders that were rejected.
    MoreDenied(u64),
    /// An unknown sender begins its first transfer.
    New {
        /// Its key.
        key: PublicKey,
        /// Its address.
        remote: SocketAddr,
    },
    /// An approved or paired sender could not be stored as known, for this reason, and is admitted this once.
    AdmittedOnce(String),
    /// An unknown sender of which there are files could not be stored as known, for this reason.
    NotRemembered(String),
    /// The known senders were read again.
    Reloaded,
    /// The known senders could not be read, for this reason, and are unchanged.
    NotReloaded(String),
    /// A peer gave a wrong code.
    WrongCode {
        /// Its address.
        remote: String,
        /// Number of further wrong codes that invalidate the code.
        left: u32,
    },
    /// A sender proved the code and is known from now on.
    Paired {
        /// Its key.
        key: PublicKey,
        /// Its address.
        remote: String,
    },
    /// The code is no longer valid, for this reason.
    CodeOver(&'static str),
}

/// Admission of senders that connect to a socket.
#[derive(Debug)]
pub struct Admission<K: KnownSenders> {
    socket: Socket,
    senders: K,
    config: AdmissionConfig,
    invitation: Option<PairingOffer>,
    code_over: Option<&'static str>,
    /// The only admitted sender, once there is one.
    owner: Option<PublicKey>,
    approvals: ApprovalQueue,
    /// Senders admitted for one transfer.
    admitted_once: HashSet<PublicKey>,
    unknown_senders: UnknownSenders,
    denials: Denials,
    reloaded_at: Instant,
    /// A sender may have been removed from the list.
    is_changed: bool,
    events: VecDeque<AdmissionEvent>,
}

impl<K: KnownSenders> Admission<K> {
    /// Begins to decide about the clients of `socket`, which listens with the configured
    /// [trust](AdmissionConfig::trust) for the service [`SERVICE`](super::SERVICE), and for [`PAIRING`] if it pairs.
    /// `own_key` is the socket's key.
    pub fn new(socket: Socket, own_key: PublicKey, senders: K, config: AdmissionConfig) -> Self {
        let now = Instant::now();
        Self {
            socket,
            senders,
            invitation: config.pairs.then(|| PairingOffer::new(now, own_key)),
            code_over: None,
            owner: None,
            approvals: ApprovalQueue::default(),
            admitted_once: HashSet::new(),
            unknown_senders: UnknownSenders::new(config.max_unnamed),
            denials: Denials::new(now),
            reloaded_at: now,
            is_changed: false,
            events: VecDeque::new(),
            config,
        }
    }

    /// Returns the socket.
    pub const fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Returns the known senders.
    pub const fn senders(&self) -> &K {
        &self.senders
    }

    /// Returns the known senders, mutably.
    pub const fn senders_mut(&mut self) -> &mut K {
        &mut self.senders
    }

    /// Returns the pairing code while it is valid.
    pub fn code(&self) -> Option<&Code> {
        self.invitation.as_ref().map(PairingOffer::code)
    }

    /// Returns why the pairing code expired unused, if it did.
    pub const fn code_over(&self) -> Option<&'static str> {
        self.code_over
    }

    /// Returns the total number of rejected senders.
    pub fn denied(&self) -> u64 {
        self.denials.total()
    }

    /// Returns the events since the last call, in order.
    pub fn events(&mut self) -> impl Iterator<Item = AdmissionEvent> + use<K> {
        std::mem::take(&mut self.events).into_iter()
    }

    fn notify(&mut self, event: AdmissionEvent) {
        if self.events.len() >= MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Returns the next admitted sender, if one arrives within `wait`. To be called again and again.
    ///
    /// # Errors
    /// The socket has failed.
    pub fn next(
        &mut self,
        wait: Duration,
        approver: &mut dyn Approver,
    ) -> Result<Option<AdmittedSender>, NetError> {
        self.poll_pairing_offer();
        self.reload(false);
        let now = Instant::now();
        let (refused, more) = self.socket.refused();
        for refusal in refused {
            let reason = match refusal.code {
                code::UNAUTHORIZED => DenialReason::Unknown,
                _ => DenialReason::Handshake(refusal.reason),
            };
            self.deny(now, refusal.remote, refusal.peer, reason);
        }
        self.denials.count(more);
        if let Some(rest) = self.denials.take_summary(now) {
            self.notify(AdmissionEvent::MoreDenied(rest));
        }
        if let Some((sender, approval)) = self.approvals.poll(now, approver) {
            match approval {
                Approval::Always => self.remember(sender.key),
                Approval::Once => drop(self.admitted_once.insert(sender.key)),
            }
            return Ok(Some(sender));
        }
        let Some(connection) = self.socket.accept_within(wait)? else { return Ok(None) };
        let key = connection.peer();
        if self.owner.is_some_and(|owner| owner != key) {
            connection.close(code::BUSY, BUSY_WITH_OTHER);
            return Ok(None);
        }
        if connection.service() == PAIRING {
            match &mut self.invitation {
                Some(invitation) => invitation.begin_attempt(Instant::now(), connection),
                None => connection.close(code::UNAUTHORIZED, CODE_INVALID),
            }
            return Ok(None);
        }
        // A paired peer reconnects at once, possibly before the end of the pairing connection is known.
        let begun = Instant::now();
        while self.invitation.as_ref().is_some_and(|invitation| invitation.has_attempt_of(&key))
            && begun.elapsed() < PAIRING_TIMEOUT
        {
            std::thread::sleep(Duration::from_millis(2));
            self.poll_pairing_offer();
        }
        if self.is_admitted(&key) {
            return Ok(Some(AdmittedSender::new(connection)));
        }
        if self.config.admits_new {
            let sender = AdmittedSender::new(connection);
            return Ok(self.has_capacity_for(&sender).then_some(sender));
        }
        if !self.config.pairs && self.config.asks {
            self.approvals.enqueue(now, &connection);
            return Ok(None);
        }
        self.deny(now, connection.remote(), key, DenialReason::Unknown);
        connection.close(code::UNAUTHORIZED, "the receiver does not accept files from this key");
        Ok(None)
    }

    /// Returns true if the sender with this key is admitted.
    pub fn is_admitted(&self, key: &PublicKey) -> bool {
        let is_known = self.config.keys.contains(key) || self.senders.name_of(key).is_some();
        is_known || self.admitted_once.contains(key) || self.unknown_senders.contains(key)
    }

    /// Returns true if somebody named or approved this sender, as opposed to admission as an unknown one.
    pub fn wants(&self, key: &PublicKey) -> bool {
        self.config.keys.contains(key) || self.senders.is_chosen(key) || self.admitted_once.contains(key)
    }

    /// Returns true if the limit on unnamed senders has room for this one; rejects the sender otherwise.
    fn has_capacity_for(&mut self, sender: &AdmittedSender) -> bool {
        let has_capacity = self.unknown_senders.has_capacity(self.senders.unnamed());
        if !has_capacity {
            let connection = &sender.connection;
            self.deny(Instant::now(), connection.remote(), sender.key, DenialReason::MaxUnnamed);
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
            if !self.config.admits_new {
                sender.connection.close(code::UNAUTHORIZED, REMOVED_SENDER_REASON);
                return false;
            }
            if !self.has_capacity_for(sender) {
                return false;
            }
            self.notify(AdmissionEvent::New { key, remote: sender.connection.remote() });
        }
        self.unknown_senders.begin(key);
        true
    }

    /// Registers the end of a transfer, which cannot resume if `is_final`. An unknown sender without another transfer
    /// becomes known if `something` of it is stored.
    pub fn end(&mut self, key: &PublicKey, is_final: bool, something: impl FnOnce() -> bool) {
        if is_final {
            self.admitted_once.remove(key);
        }
        if self.unknown_senders.end(key)
            && self.senders.name_of(key).is_none()
            && something()
            && let Err(why) = self.senders.remember_unconfirmed(*key)
        {
            self.notify(AdmissionEvent::NotRemembered(why));
        }
    }

    /// Returns true if senders may have been removed from the list since the last call.
    pub fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Restricts admission to this sender; `None` lifts the restriction.
    pub fn set_owner(&mut self, key: Option<PublicKey>, approver: &mut dyn Approver) {
        self.owner = key;
        if key.is_some() {
            self.approvals.withdraw(approver, BUSY_WITH_OTHER);
        }
    }

    fn deny(&mut self, now: Instant, remote: SocketAddr, key: PublicKey, reason: DenialReason) {
        if self.denials.add(now) {
            self.notify(AdmissionEvent::Denied(Denial { remote, key, reason }));
        }
    }

    /// Stores an approved or paired sender as known; a full disk must not stop the other senders.
    fn remember(&mut self, key: PublicKey) {
        if let Err(why) = self.senders.remember(&name_for(&key), key) {
            self.notify(AdmissionEvent::AdmittedOnce(why));
            self.admitted_once.insert(key);
        }
    }

    /// Reads the known senders again: at once if `is_wanted`, otherwise at intervals and if they have changed.
    pub fn reload(&mut self, is_wanted: bool) {
        if !is_wanted && self.reloaded_at.elapsed() < KNOWN_SENDERS_INTERVAL {
            return;
        }
        self.reloaded_at = Instant::now();
        match self.senders.reload(is_wanted) {
            Ok(false) => {}
            Ok(true) => {
                self.notify(AdmissionEvent::Reloaded);
                self.is_changed = true;
                if !self.config.is_open() {
                    self.socket.set_trust(&self.config.trust(&self.senders));
                }
            }
            Err(why) => self.notify(AdmissionEvent::NotReloaded(why)),
        }
    }

    fn poll_pairing_offer(&mut self) {
        let Some(invitation) = &mut self.invitation else { return };
        match invitation.poll(Instant::now()) {
            PairingEvent::None => {}
            PairingEvent::Wrong(remote, left) => self.notify(AdmissionEvent::WrongCode { remote, left }),
            PairingEvent::Paired(key, remote) => {
                self.invitation = None;
                if !self.senders.is_chosen(&key) {
                    self.remember(key);
                }
                self.notify(AdmissionEvent::Paired { key, remote });
            }
            PairingEvent::Over(why) => {
                self.invitation = None;
                self.code_over = Some(why);
                self.notify(AdmissionEvent::CodeOver(why));
            }
        }
    }

    /// Returns the name of a sender, if it is valid as a folder name; otherwise one made of its key.
    pub fn folder_name(&self, key: &PublicKey) -> String {
        let is_plain = |name: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
            !name.starts_with('.') && name.len() <= 100 && name.bytes().all(plain)
        };
        self.senders.name_of(key).filter(is_plain).map_or_else(|| name_for(key), str::to_owned)
    }

    /// Returns the name and address of a sender, for display.
    pub fn name(&self, key: &PublicKey, connection: &Connection) -> String {
        format!("{} at {}", self.folder_name(key), connection.remote())
    }
}

/// Close reason from a receiver that is busy with another sender.
const BUSY_WITH_OTHER: &str = "it receives from another sender; `thalweg serve` takes several";

/// The message does not reveal which of the causes applies.
const CODE_INVALID: &str =
    "its code is no longer valid: it was used, guessed wrong three times or is older than ten minutes";

impl<K: KnownSenders> Drop for Admission<K> {
    /// Notifies late senders that the receiver has ended.
    fn drop(&mut self) {
        while let Ok(Some(connection)) = self.socket.accept_within(Duration::ZERO) {
            connection.close(code::BUSY, "the receiver has ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ApprovalRequest, SERVICE, SenderNames};
    use super::*;
    use crate::endpoint::{Connect, EndpointConfig, Listen};
    use crate::identity::Identity;
    use crate::live::SocketConfig;

    /// Approves every sender once, and remembers their keys.
    #[derive(Default)]
    struct Approving(Vec<PublicKey>);

    impl Approver for Approving {
        fn ask(&mut self, _: Instant, request: &ApprovalRequest) {
            self.0.push(request.key);
        }
        fn answer(&mut self, _: Instant) -> Option<Option<Approval>> {
            Some(Some(Approval::Once))
        }
        fn withdraw(&mut self, _: &str) {}
    }

    fn bind(secret: u8, listen: Option<Listen>) -> (Socket, PublicKey) {
        let identity = Identity::from_secret([secret; 32]);
        let key = identity.public();
        let endpoint = EndpointConfig { listen, ..EndpointConfig::new(identity) };
        (Socket::bind(SocketConfig::new("127.0.0.1:0".parse().unwrap(), endpoint)).unwrap(), key)
    }

    fn admission(config: AdmissionConfig) -> Admission<SenderNames> {
        let senders = SenderNames::default();
        let listen = Listen::new(config.trust(&senders), [SERVICE]);
        let (socket, key) = bind(1, Some(listen));
        Admission::new(socket, key, senders, config)
    }

    /// Connects a client with this secret key, and returns its key and the admitted sender, if it is admitted.
    fn arrive(
        admission: &mut Admission<SenderNames>,
        approver: &mut Approving,
        secret: u8,
    ) -> (PublicKey, Option<AdmittedSender>) {
        let (client, key) = bind(secret, None);
        let request = Connect {
            remote: admission.socket().local(),
            trust: Trust::Anyone,
            service: SERVICE.into(),
            scheme: "cubic".parse().unwrap(),
            recorder: None,
        };
        let connecting = std::thread::spawn(move || {
            let connection = client.connect(request)?;
            // Until the answer, or a moment.
            let begun = Instant::now();
            while connection.closed().is_none() && begun.elapsed() < Duration::from_millis(500) {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok::<_, NetError>(())
        });
        let mut admitted = None;
        while admitted.is_none() && !connecting.is_finished() {
            admitted = admission.next(Duration::from_millis(5), approver).unwrap();
        }
        (key, admitted)
    }

    #[test]
    fn unknown_senders_are_limited_and_become_known_with_their_files() {
        let mut admission =
            admission(AdmissionConfig { admits_new: true, max_unnamed: 1, ..AdmissionConfig::default() });
        let mut approver = Approving::default();
        let (key, sender) = arrive(&mut admission, &mut approver, 2);
        let sender = sender.expect("there is room");
        assert!(admission.begin(&sender) && admission.is_admitted(&key) && !admission.wants(&key));
        let (other, refused) = arrive(&mut admission, &mut approver, 3);
        assert!(refused.is_none() && !admission.is_admitted(&other));
        admission.end(&key, true, || true);
        assert_eq!(admission.senders().keys(), [key]);
        let events: Vec<_> = admission.events().collect();
        assert!(matches!(events[0], AdmissionEvent::New { key: new, .. } if new == key), "{events:?}");
        assert!(
            matches!(&events[1], AdmissionEvent::Denied(denial) if denial.key == other && denial.reason == DenialReason::MaxUnnamed),
            "{events:?}"
        );
        assert!(approver.0.is_empty(), "nobody is asked");
    }

    #[test]
    fn keys_of_the_configuration_are_wanted_and_others_fail_in_the_handshake() {
        let key = Identity::from_secret([2; 32]).public();
        let mut admission = admission(AdmissionConfig { keys: [key].into(), ..AdmissionConfig::default() });
        let mut approver = Approving::default();
        let (_, sender) = arrive(&mut admission, &mut approver, 2);
        assert!(sender.is_some() && admission.wants(&key));
        assert!(arrive(&mut admission, &mut approver, 3).1.is_none());
        let begun = Instant::now();
        while admission.denied() == 0 && begun.elapsed() < Duration::from_secs(5) {
            assert!(admission.next(Duration::from_millis(5), &mut approver).unwrap().is_none());
        }
        assert_eq!(admission.denied(), 1);
        let events: Vec<_> = admission.events().collect();
        assert!(
            matches!(&events[..], [AdmissionEvent::Denied(denial)] if denial.reason == DenialReason::Unknown),
            "{events:?}"
        );
    }

    #[test]
    fn a_receiver_with_an_owner_admits_no_other_sender() {
        let [a, b] = [2, 3].map(|secret| Identity::from_secret([secret; 32]).public());
        let mut admission = admission(AdmissionConfig { keys: [a, b].into(), ..AdmissionConfig::default() });
        let mut approver = Approving::default();
        admission.set_owner(Some(a), &mut approver);
        assert!(arrive(&mut admission, &mut approver, 3).1.is_none());
        assert!(arrive(&mut admission, &mut approver, 2).1.is_some());
        admission.set_owner(None, &mut approver);
        assert!(arrive(&mut admission, &mut approver, 3).1.is_some());
    }
}
