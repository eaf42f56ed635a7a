//! `thalweg recv` and `thalweg serve`.

use super::arguments::{Listen, ListenArguments, RecvArguments, ServeArguments, Trusted};
use super::confine::confine;
use super::crowd::Crowd;
use super::meter::{Meter, Watched};
use super::metrics::{Counted, Metrics};
use super::newcomer::{Newcomer, Turn};
use super::pairing::{Invitation, News, PAIRING};
use super::peers::{self, Keys, Peers, ask, name_for};
use super::stopped::Stopped;
use super::summary::{Facts, Summary};
use super::{ENDED, SERVICE, bind, close};
use crate::console::{Console, Done, Error};
use crate::interrupt::interruptible;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{self, EndpointConfig, Trust};
use thalweg_net::identity::PublicKey;
use thalweg_net::live::{Connection, Socket};
use thalweg_net::session::{Closed, SessionConfig, code};
use thalweg_net::transfer::{
    self, Claims, Destination, Error as TransferError, Fault, FaultKind, Limits, Outcome, Progress, Quota,
    Report, Target, Turns,
};

/// The interval at which Ctrl-C and the end of transfers are looked for.
const TICK: Duration = Duration::from_millis(50);

/// The time for which the last words of a pairing are waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Receives from one sender.
pub fn recv(arguments: &RecvArguments, console: &Console) -> Done {
    match receive(arguments, console) {
        Ok(facts) => Summary::new(facts, arguments.accept_loss).tell(console, arguments.json),
        Err(stopped) => stopped.tell("recv", console, arguments.json),
    }
}

/// Waits for one sender, and gives what came of its transfer.
fn receive(arguments: &RecvArguments, console: &Console) -> Result<Facts, Stopped> {
    let is_output = arguments.folder.as_os_str() == "-";
    if !is_output {
        make_folder(&arguments.folder)?;
        warn_of_home(&arguments.folder, console);
    }
    let folder = (!is_output).then_some(&*arguments.folder);
    let mut door = Door::open(&arguments.common, folder, console)?;
    let (claims, turns) = (Claims::default(), Turns::default());
    let mut open: Option<Open> = None;
    let mut lost = None;
    let mut newcomer: Option<Newcomer> = None;
    loop {
        let mut arrived = door.next()?;
        if let Some((connection, key)) = arrived.take_if(|_| open.is_some() || newcomer.is_some()) {
            match &open {
                // An output cannot be begun anew.
                Some(_) if is_output => connection.close(code::BUSY, "another transfer is being received"),
                Some(open) if newcomer.is_none() => {
                    let earlier = open.connection.another();
                    newcomer = Some(Newcomer::new(Instant::now(), connection, key, earlier));
                }
                _ => connection.close(code::BUSY, "another transfer of the same sender waits already"),
            }
        }
        match newcomer.as_mut().map(|newcomer| newcomer.look(Instant::now())) {
            Some(Turn::Enter(connection, key)) => {
                (newcomer, open) = (None, None);
                arrived = Some((connection, key));
            }
            Some(Turn::Gone) => newcomer = None,
            Some(Turn::Wait) | None => {}
        }
        if let Some((connection, key)) = arrived {
            door.owner = Some(key);
            let target = if is_output {
                Target::Output(Box::new(io::stdout()))
            } else {
                let cannot = |error| Error::Failed(format!("{}: {error}", arguments.folder.display()));
                let folder = &arguments.folder;
                let target = destination(folder, &arguments.common, &claims, &key).map_err(cannot)?;
                Target::Folder(if arguments.hidden { target.with_hidden() } else { target })
            };
            let (ended, ends) = channel();
            open = Some(Open { connection: connection.another(), ends });
            let peer = door.name(&key, &connection);
            let (counted, stop) = (door.metrics.as_ref().map(Metrics::count), Arc::clone(&door.stop));
            let turns = turns.clone();
            let session = Session { connection, target, turns, peer, command: "recv", counted, stop };
            session.begin(console, &ended, true);
        }
        if let Some((end, closed)) = open.as_ref().and_then(Open::end) {
            open = None;
            let is_lost = matches!(end.outcome.result, Err(TransferError::Interrupted(_)));
            let report = &end.outcome.report;
            let has_begun = *report != Report::default();
            // Who closes the connection has given up, and does not come back by itself.
            let has_given_up =
                matches!(closed, Some(Closed::Peer { code, .. }) if code == ENDED || has_begun);
            let goes_on = !is_output && report.cut.is_none() && !has_given_up;
            if is_lost && goes_on && !door.is_stopped() {
                let who = if has_begun { "it to come back" } else { "a sender" };
                console.say(&format!("{}: {}; waiting for {who}", end.peer, reason(&end.outcome)));
                if has_begun {
                    lost = Some(end);
                } else if lost.is_none() {
                    door.owner = None;
                }
                continue;
            }
            return Ok(end);
        }
        if let Some(why) = door.closed_for.filter(|_| open.is_none()) {
            return Err(Error::Failed(format!("{why}; nothing was received")).into());
        }
        if door.is_stopped() {
            turns.end();
            if open.is_none() {
                let why = "interrupted before anything was received";
                return lost.ok_or_else(|| Error::Lost(why.to_owned()).into());
            }
        }
    }
}

/// The transfer that `recv` is about.
struct Open {
    connection: Connection,
    ends: Receiver<Facts>,
}

impl Open {
    /// The outcome of the transfer, and the reason for which its connection ended, if it has.
    fn end(&self) -> Option<(Facts, Option<Closed>)> {
        self.ends.try_recv().ok().map(|facts| (facts, self.connection.closed()))
    }
}

/// Receives from many.
pub fn serve(arguments: &ServeArguments, console: &Console) -> Done {
    make_folder(&arguments.folder)?;
    let mut door = Door::open(&arguments.common, Some(&arguments.folder), console)?;
    let (claims, turns) = (Claims::default(), Turns::default());
    let (ended, ends): (Sender<Facts>, Receiver<Facts>) = channel();
    let limits = Limits { bytes: arguments.quota, entries: arguments.files.get() };
    let mut quotas: HashMap<PathBuf, Weak<Quota>> = HashMap::new();
    let total = total_quota(arguments)?;
    let mut crowd = Crowd::new(arguments);
    loop {
        if let Some((connection, key)) = door.next()? {
            crowd.meet(Instant::now(), connection, key);
        }
        if let Some((connection, key)) = crowd.next(Instant::now()) {
            let name = door.folder_name(&key);
            let folder = arguments.folder.join(&name);
            let quota = quotas.get(&folder).and_then(Weak::upgrade);
            let target = sender_folder(&folder, limits, quota, total.as_ref(), || {
                destination(&folder, &arguments.common, &claims, &key)
            });
            let (target, quota) = match target {
                Ok(target) => target,
                Err(error) => {
                    console.complain(&format!("{}: {error}", folder.display()));
                    connection.close(ENDED, "the receiver cannot store anything");
                    continue;
                }
            };
            quotas.retain(|_, quota| quota.strong_count() > 0);
            quotas.insert(folder, Arc::downgrade(&quota));
            let peer = door.name(&key, &connection);
            console.say(&format!("{peer} sends; it has {} of {}", quota.used(), limits.bytes));
            let (counted, stop) = (door.metrics.as_ref().map(Metrics::count), Arc::clone(&door.stop));
            let turns = turns.clone();
            let watch = connection.another();
            let session = Session { connection, target, turns, peer, command: "serve", counted, stop };
            let progress = session.begin(console, &ended, false);
            crowd.enter(Instant::now(), watch, key, &progress);
        }
        let is_empty = crowd.is_empty();
        for end in ends.try_iter() {
            let (peer, why) = (end.peer.clone(), end.outcome.result.as_ref().err().map(ToString::to_string));
            let summary = Summary::new(end, false);
            if arguments.json_lines {
                console.print(&summary.line())?;
            }
            let why = why.map_or_else(String::new, |why| format!("; then {why}"));
            console.say(&format!("{peer}: {}{why}", summary.sentence()));
        }
        if door.is_stopped() {
            turns.end();
            if is_empty {
                return Ok(());
            }
        }
    }
}

/// The quota that all senders share, if that is limited.
fn total_quota(arguments: &ServeArguments) -> Result<Option<Arc<Quota>>, Error> {
    let Some(bytes) = arguments.total else { return Ok(None) };
    let limits = Limits { bytes, entries: u64::MAX };
    let cannot = |error| Error::Failed(format!("{}: {error}", arguments.folder.display()));
    Quota::of(&arguments.folder, limits).map(Arc::new).map(Some).map_err(cannot)
}

/// The folder of one sender, with what it may have there.
fn sender_folder(
    folder: &Path,
    limits: Limits,
    quota: Option<Arc<Quota>>,
    total: Option<&Arc<Quota>>,
    destination: impl FnOnce() -> io::Result<Destination>,
) -> io::Result<(Target, Arc<Quota>)> {
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
        Err(_) => fs::create_dir(folder)?,
    }
    let quota = match quota {
        Some(quota) => quota,
        None => {
            let quota = Quota::of(folder, limits)?;
            Arc::new(match total {
                Some(total) => quota.within(Arc::clone(total)),
                None => quota,
            })
        }
    };
    // Nothing else is in it.
    let target = destination()?.with_hidden().with_quota(Arc::clone(&quota));
    Ok((Target::Folder(target), quota))
}

/// The destination of the files of the sender with this key.
fn destination(
    folder: &Path,
    arguments: &ListenArguments,
    claims: &Claims,
    key: &PublicKey,
) -> io::Result<Destination> {
    let destination = Destination::new(folder, claims.clone(), &key.to_string())?;
    let destination = destination.with_existing(arguments.existing());
    let destination = if arguments.outside_links { destination.with_outside_links() } else { destination };
    Ok(if arguments.perms { destination.with_permissions() } else { destination })
}

/// In a home folder names have meanings for programs.
fn warn_of_home(folder: &Path, console: &Console) {
    let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|home| fs::canonicalize(home).ok());
    if home.is_some() && fs::canonicalize(folder).ok() == home {
        console.say(
            "warning: this is your home folder: whoever is let in can add programs and settings to it. A folder of its \
             own is safer",
        );
    }
}

fn make_folder(folder: &Path) -> Done {
    fs::create_dir_all(folder).map_err(|error| {
        let is_other = error.kind() == io::ErrorKind::AlreadyExists;
        let why = if is_other { "it is no folder".to_owned() } else { error.to_string() };
        Error::Failed(format!("{}: {why}", folder.display()))
    })
}

fn reason(outcome: &Outcome) -> String {
    outcome.result.as_ref().err().map_or_else(String::new, ToString::to_string)
}

/// The door by which senders come in.
struct Door<'a> {
    socket: Socket,
    senders: Peers,
    trust: &'a [Trusted],
    /// Strangers need a code.
    pairs: bool,
    invitation: Option<Invitation>,
    /// The reason for which the code is not good any more, if it is not and nobody was let in by it.
    closed_for: Option<&'static str>,
    /// The one sender that is let in, once there is one.
    owner: Option<PublicKey>,
    metrics: Option<Arc<Metrics>>,
    console: &'a Console,
    stop: Arc<AtomicBool>,
}

impl<'a> Door<'a> {
    /// Listens. What is received goes to `folder`, if to one; nothing else is written from now on, but whom one knows.
    fn open(
        arguments: &'a ListenArguments,
        folder: Option<&Path>,
        console: &'a Console,
    ) -> Result<Self, Error> {
        let schemes = arguments.schemes(&console.registry)?;
        let stop = interruptible()?;
        let keys = Keys::find()?;
        let (identity, senders) = (keys.identity()?, keys.senders()?);
        // Before the threads begin that hear from others. Where the kernel cannot, the checks of names must do.
        let folders: Vec<&Path> = folder.into_iter().chain([keys.folder()]).collect();
        confine(&folders);
        let is_open = arguments.pair || arguments.trust.contains(&Trusted::New) || peers::can_ask();
        let known = arguments.trust.iter().filter_map(|trusted| match trusted {
            Trusted::Key(key) => Some(*key),
            Trusted::New => None,
        });
        // Strangers are turned away before they cost anything, unless somebody may let them in.
        let trust = if is_open { Trust::Anyone } else { Trust::Keys(known.chain(senders.keys()).collect()) };
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
        // All together have at least so much that the first has what it is to have: an eighth of three quarters.
        let limits =
            endpoint::Limits { memory: client.limits.memory.max(memory.saturating_mul(11)), ..client.limits };
        let session = SessionConfig { memory, ..client.session };
        let config = EndpointConfig { listen: Some(listen), limits, session, ..client };
        let socket = match arguments.listen {
            Listen::At(address) => bind(address, config)?,
            Listen::Everywhere(port) => {
                let v6 = bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port), config.clone());
                // Not every host has IPv6.
                v6.or_else(|why| {
                    bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), config).map_err(|_| why)
                })?
            }
        };
        console.say(&format!("Listening on {}, key {}", socket.local(), identity.public()));
        let invitation = arguments.pair.then(|| Invitation::new(Instant::now(), identity.public()));
        if let Some(invitation) = &invitation {
            let code = invitation.code();
            console.say(&format!(
                "The code is {code}, for ten minutes: thalweg send --pair FILES... HOST asks for it"
            ));
        }
        Ok(Self {
            socket,
            senders,
            trust: &arguments.trust,
            pairs: arguments.pair,
            invitation,
            closed_for: None,
            owner: None,
            metrics: Metrics::begin(arguments.metrics, console)?,
            console,
            stop,
        })
    }

    /// The next sender that may come in, if one comes soon.
    fn next(&mut self) -> Result<Option<(Connection, PublicKey)>, Error> {
        if self.is_stopped() {
            std::thread::sleep(TICK);
            return Ok(None);
        }
        self.look_at_invitation()?;
        if let Some(metrics) = &self.metrics {
            metrics.endpoint(self.socket.stats().0);
        }
        let arrived = self.socket.accept_within(TICK);
        let Some(connection) = arrived.map_err(|error| Error::Failed(error.to_string()))? else {
            return Ok(None);
        };
        let key = connection.peer();
        if self.owner.is_some_and(|owner| owner != key) {
            connection.close(code::BUSY, "it receives from another sender; `thalweg serve` takes several");
            return Ok(None);
        }
        if connection.service() == PAIRING {
            match &mut self.invitation {
                Some(invitation) => invitation.meet(Instant::now(), connection),
                None => connection.close(code::UNAUTHORIZED, "the code is used up"),
            }
            return Ok(None);
        }
        // Who was paired comes back at once, and may be here before the end of the other connection is known.
        let begun = Instant::now();
        while self.invitation.as_ref().is_some_and(|invitation| invitation.meets(&key))
            && begun.elapsed() < PATIENCE
        {
            std::thread::sleep(Duration::from_millis(2));
            self.look_at_invitation()?;
        }
        if self.may_enter(key, &connection)? {
            return Ok(Some((connection, key)));
        }
        connection.close(code::UNAUTHORIZED, "the receiver does not take files from this key");
        Ok(None)
    }

    fn look_at_invitation(&mut self) -> Done {
        let Some(invitation) = &mut self.invitation else { return Ok(()) };
        match invitation.look(Instant::now()) {
            News::None => {}
            News::Wrong(remote, left) => {
                self.console.say(&format!("{remote} gave a wrong code; {left} more and it is worthless"));
            }
            News::Paired(key, remote) => {
                let name = name_for(&key);
                self.invitation = None;
                if self.senders.name_of(&key).is_none() {
                    self.senders.remember(&name, key)?;
                }
                self.console.say(&format!(
                    "{name} at {remote} knows the code; from now on it is known by the key {key}"
                ));
            }
            News::Over(why) => {
                self.invitation = None;
                self.closed_for = Some(why);
                self.console.say(why);
            }
        }
        Ok(())
    }

    fn may_enter(&mut self, key: PublicKey, connection: &Connection) -> Result<bool, Error> {
        if self.trust.contains(&Trusted::Key(key)) || self.senders.name_of(&key).is_some() {
            return Ok(true);
        }
        if self.trust.contains(&Trusted::New) {
            let name = name_for(&key);
            self.console.say(&format!("{} at {} is new; its key is {key}", name, connection.remote()));
            self.senders.remember(&name, key)?;
            return Ok(true);
        }
        let question =
            format!("{} wants to send. Its key, {key}, is not known. Trust it?", connection.remote());
        let is_trusted = !self.pairs && peers::can_ask() && ask(&question);
        if is_trusted {
            self.senders.remember(&name_for(&key), key)?;
        }
        Ok(is_trusted)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The name and address of a sender, for people.
    fn name(&self, key: &PublicKey, connection: &Connection) -> String {
        format!("{} at {}", self.folder_name(key), connection.remote())
    }

    /// The name of a sender if it can be that of a folder.
    fn folder_name(&self, key: &PublicKey) -> String {
        let is_plain = |name: &&str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
            !name.starts_with('.') && name.len() <= 100 && name.bytes().all(plain)
        };
        self.senders.name_of(key).filter(is_plain).map_or_else(|| name_for(key), str::to_owned)
    }
}

impl Drop for Door<'_> {
    /// Tells those that came too late that the receiver has ended.
    fn drop(&mut self) {
        while let Ok(Some(connection)) = self.socket.accept_within(Duration::ZERO) {
            connection.close(code::BUSY, "the receiver has ended");
        }
    }
}

/// A transfer that is being received.
struct Session {
    connection: Connection,
    target: Target,
    turns: Turns,
    peer: String,
    command: &'static str,
    counted: Option<Counted>,
    stop: Arc<AtomicBool>,
}

impl Session {
    /// Receives in a thread of its own, which tells how it ended. Until then it holds what this gives.
    fn begin(self, console: &Console, ended: &Sender<Facts>, is_shown: bool) -> Arc<Progress> {
        let progress = Arc::new(Progress::new());
        let given = Arc::clone(&progress);
        let Self { connection, target, turns, peer, command, counted, stop } = self;
        let watch = connection.another();
        let watched = Watched {
            progress: Arc::clone(&progress),
            connection: connection.another(),
            counted,
            pace: None,
            stop,
        };
        let meter = Meter::begin(watched, console, is_shown);
        let (at_end, peer_at_end) = (ended.clone(), peer.clone());
        let begun = Instant::now();
        let receive = move || {
            let (to_peer, mut from_peer) = connection.split();
            let outcome = transfer::receive(target, &turns, &mut from_peer, to_peer, &progress);
            drop(meter);
            let span = begun.elapsed();
            match &outcome.result {
                Ok(()) => close(&watch, code::DONE, ""),
                Err(error) => close(&watch, ENDED, &error.to_string()),
            }
            let stats = watch.stats();
            let facts =
                Facts { command, peer, outcome, span, connections: 1, stats: Some(stats), scheme: None };
            drop((from_peer, watch));
            let _ = at_end.send(facts);
            drop(progress);
        };
        let spawned = std::thread::Builder::new().name("transfer".to_owned()).spawn(receive);
        if let Err(error) = spawned {
            let fault = Fault::new(FaultKind::Storage, error.to_string());
            let outcome = Outcome { report: Report::default(), result: Err(TransferError::Here(fault)) };
            let span = begun.elapsed();
            let facts = Facts {
                command,
                peer: peer_at_end,
                outcome,
                span,
                connections: 1,
                stats: None,
                scheme: None,
            };
            let _ = ended.send(facts);
        }
        given
    }
}
