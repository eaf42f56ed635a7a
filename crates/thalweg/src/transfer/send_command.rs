//! `thalweg send`: sends files and folders to a receiver.

use super::early_failure::EarlyFailure;
use super::key_prompts::{confirm_with_yes, may_prompt, report_invalid_lines};
use super::progress_display::{Meter, MeterInputs};
use super::prometheus_metrics::Metrics;
use super::sender_pairing;
use super::transfer_arguments::{SendArguments, TrustedPeers};
use super::transfer_summary::{self, Summary, SummaryInputs, add_earlier_report};
use super::{bind_socket, lend_stream};
use crate::console_output::{CommandResult, Console, Error};
use crate::performance_advice_text;
use crate::signal_flags::stop_flag_of_caller_or_signals;
use crate::transfer_recording::Record;
use crate::value_parsers::{is_pairing_code, resolve_addresses, with_port};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thalweg_net::admission::{PAIRING, SERVICE, close_after_finish};
use thalweg_net::endpoint::{Connect, ConnectError, EndpointConfig, Trust};
use thalweg_net::flow::{Recorder, Scheme};
use thalweg_net::identity::Identity;
use thalweg_net::keyring::{Keyring, KnownPeers};
use thalweg_net::live::{ConnectFailure, Connection, NetError, Socket, connect_reachable};
use thalweg_net::pairing::Code;
use thalweg_net::performance_advice::Advisor;
use thalweg_net::session::{CloseReason, SessionConfig, SessionStats, code};
use thalweg_net::transfer::{
    self, Options, Pace, Progress, Report, Roots, Source, Throttle, TransferOutcome,
};

/// Initial and maximum delay before a reconnect.
const RECONNECT_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// The data to send.
enum SentData {
    Paths(Roots),
    Input(Vec<u8>),
}

/// Sends files.
pub fn run_send(arguments: &SendArguments, console: &Console) -> CommandResult {
    let record = match Record::new(arguments.record.as_deref()) {
        Ok(record) => record,
        Err(error) => return EarlyFailure::from(error).report("send", console, arguments.json),
    };
    let send_result = send_once(arguments, console, record.as_ref().map(Record::recorder));
    let done = match send_result {
        Ok(facts) => Summary::new(facts, arguments.accept_loss).report(console, arguments.json),
        Err(stopped) => stopped.report("send", console, arguments.json),
    };
    // Failed transfers are recorded, too.
    let written = record.map_or(Ok(()), |record| record.finish(console));
    done.and(written)
}

fn send_once(
    arguments: &SendArguments,
    console: &Console,
    recorder: Option<Recorder>,
) -> Result<SummaryInputs, EarlyFailure> {
    let (host, paths) = receiver_and_paths(arguments)?;
    if is_pairing_code(host) {
        let advice =
            if console.is_called() { "" } else { ": `thalweg send --pair FILES... HOST` asks for the code" };
        let why = format!("`{host}` is a code for pairing, where the receiver was expected{advice}");
        return Err(Error::Usage(why).into());
    }
    let name = with_port(host).map_err(|error| match error {
        Error::Usage(why) if !console.is_called() => Error::Usage(format!(
            "{why}; the receiver comes last, without a path: `thalweg recv DIR` there selects the folder"
        )),
        other => other,
    })?;
    let what = items_to_send(&paths, arguments)?;
    let scheme = arguments.scheme(&console.registry)?.at_rate(arguments.rate);
    let scheme = scheme.map_err(|error| Error::argument("scheme", format!("{error}, or with --rate")))?;
    if let SentData::Paths(roots) = &what
        && arguments.strict
    {
        refuse_loss(roots, console)?;
    }
    let keys = Keyring::for_user()?;
    let mut receivers = keys.receivers()?;
    report_invalid_lines(&mut receivers, console);
    let mut sender = Sender {
        identity: keys.identity()?,
        receivers,
        stop: stop_flag_of_caller_or_signals(console)?,
        name,
        scheme,
        metrics: Metrics::begin(arguments.metrics, console)?,
        code: arguments.pair.as_ref().map(|code| sender_pairing::obtain_code(code.as_ref())).transpose()?,
        recorder,
        advice: None,
        approval_time: Duration::ZERO,
        arguments,
        console,
    };
    let begun = Instant::now();
    let mut earlier = Report::default();
    let mut pause = RECONNECT_DELAYS[0];
    let mut connections = 0;
    loop {
        connections += 1;
        let attempt = sender.attempt(&what);
        let is_input = matches!(what, SentData::Input(_));
        let goes_on = arguments.keep_trying && !is_input && !sender.stop.load(Ordering::Relaxed);
        let why = match attempt {
            Ok((outcome, stats, ended)) => match outcome.result {
                Err(transfer::Error::ConnectionEnded(error)) if goes_on => {
                    if outcome.report.bytes_moved.get() > 0 {
                        pause = RECONNECT_DELAYS[0];
                    }
                    add_earlier_report(&mut earlier, &outcome.report);
                    error.to_string()
                }
                _ => {
                    let mut outcome = outcome;
                    add_earlier_report(&mut outcome.report, &earlier);
                    outcome.report.approval_time += sender.approval_time;
                    let facts = SummaryInputs {
                        command: "send",
                        peer: sender.name,
                        key: None,
                        outcome,
                        span: ended - begun,
                        connections,
                        stats: Some(stats),
                        scheme: Some(sender.scheme.to_string()),
                        advice: sender.advice,
                    };
                    return Ok(facts);
                }
            },
            Err(stopped) => match stopped.passes().filter(|_| goes_on) {
                Some(why) => why.to_owned(),
                None => return Err(stopped),
            },
        };
        console.inform(&format!("{why}; trying again in {} s", pause.as_secs()));
        let until = Instant::now() + pause;
        while Instant::now() < until && !sender.stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
        pause = (2 * pause).min(RECONNECT_DELAYS[1]);
    }
}

/// Implements `--strict`: fails if anything could not be carried.
fn refuse_loss(roots: &Roots, console: &Console) -> CommandResult {
    let (audit, parts) = roots.audit(transfer_summary::MAX_LISTED);
    if audit.is_complete() {
        return Ok(());
    }
    for failure in audit.failures.iter().chain(&audit.omissions).take(transfer_summary::MAX_LISTED) {
        console.report_problem(&format!("{}: {}", failure.name, failure.fault));
    }
    for (name, lost) in parts {
        console.report_problem(&format!(
            "{name}: {}",
            transfer_summary::lost_metadata_remark(&lost).unwrap_or_default()
        ));
    }
    let omitted_entries = audit.failed + audit.omitted;
    let omitted_entries = (omitted_entries > 0)
        .then(|| format!("{} not sent", transfer_summary::omitted_entries(omitted_entries)));
    let why: Vec<_> =
        omitted_entries.into_iter().chain(transfer_summary::lost_metadata_remark(&audit.lost)).collect();
    Err(Error::Failed(format!("--strict: nothing was sent, as {}", why.join(", and "))))
}

/// Splits the arguments into the receiver, which comes last, and the files.
fn receiver_and_paths(arguments: &SendArguments) -> Result<(&str, Vec<PathBuf>), Error> {
    let Some((host, paths)) = arguments.words.split_last() else {
        return Err(Error::Usage("expected files and a receiver".to_owned()));
    };
    if paths.is_empty() {
        let host = host.to_string_lossy();
        return Err(Error::Usage(format!("expected files, and then the receiver; there is only `{host}`")));
    }
    let host = host.to_str().ok_or_else(|| Error::Usage("the receiver's name is not text".to_owned()))?;
    Ok((host, paths.iter().map(PathBuf::from).collect()))
}

fn items_to_send(paths: &[PathBuf], arguments: &SendArguments) -> Result<SentData, Error> {
    if paths.iter().any(|path| path.as_os_str() == "-") {
        if paths.len() > 1 {
            return Err(Error::Usage("standard input is sent alone".to_owned()));
        }
        let name = arguments.name.clone().into_bytes();
        transfer::checked_name(&name).map_err(|fault| Error::argument("name", fault.to_string()))?;
        return Ok(SentData::Input(name));
    }
    let roots = Roots::new(paths);
    roots.map(SentData::Paths).map_err(|(path, why)| Error::Usage(format!("{}: {why}", path.display())))
}

struct Sender<'a> {
    identity: Identity,
    receivers: KnownPeers,
    stop: Arc<AtomicBool>,
    name: String,
    scheme: Scheme,
    metrics: Option<Arc<Metrics>>,
    /// Pairing code, until its first use: each use gives a man in the middle one guess.
    code: Option<Code>,
    recorder: Option<Recorder>,
    /// Advice from the last connection.
    advice: Option<String>,
    /// Time spent waiting for the user's answers.
    approval_time: Duration,
    arguments: &'a SendArguments,
    console: &'a Console,
}

impl Sender<'_> {
    /// Connects and sends once; returns the outcome, the connection's statistics, and the time.
    fn attempt(&mut self, what: &SentData) -> Result<(TransferOutcome, SessionStats, Instant), EarlyFailure> {
        let source = match what {
            SentData::Paths(roots) => Source::Paths(roots.clone()),
            SentData::Input(name) => Source::Stream { name: name.clone(), bytes: Box::new(io::stdin()) },
        };
        let (_socket, connection) = self.connect()?;
        let watch = connection.another_handle();
        let progress = Arc::new(Progress::new());
        let pace = Pace::default();
        let advisor = Arc::new(Mutex::new(Advisor::default()));
        let has_peer_ended = Arc::new(AtomicBool::new(false));
        let watched = MeterInputs {
            metrics_entry: self.metrics.as_ref().map(Metrics::count),
            progress: Arc::clone(&progress),
            connection: connection.another_handle(),
            pace: Some(pace.clone()),
            advisor: Some((Arc::clone(&advisor), self.scheme.clone())),
            stop: Arc::clone(&self.stop),
            has_peer_ended: Some(Arc::clone(&has_peer_ended)),
        };
        let meter = Meter::begin(watched, self.console, true);
        let (to_peer, from_peer) = connection.split();
        let (from_peer, returned) = lend_stream(from_peer);
        let mut to_peer = Throttle::new(to_peer, self.arguments.rate, pace);
        let SendArguments { checksum, priority, .. } = *self.arguments;
        let options = Options { checksum, priority };
        let mut outcome = transfer::send_transfer(source, options, from_peer, &mut to_peer, &progress);
        transfer_summary::mark_ended_peer(&mut outcome, &has_peer_ended);
        transfer_summary::mark_user_stop(&mut outcome, &self.stop);
        drop(meter);
        // Failures for other reasons are not evidence of an unsuitable scheme.
        let advisor = advisor.lock().unwrap_or_else(PoisonError::into_inner);
        self.advice = outcome
            .result
            .is_ok()
            .then(|| performance_advice_text::advice_text(&advisor, &self.scheme))
            .flatten();
        if let Some(metrics) = &self.metrics {
            metrics.end(&outcome);
        }
        if let Some(refused) = self.rejection(&watch) {
            return Err(refused);
        }
        if outcome.result.is_ok() {
            // The receiver closes the connection when it has received the end of the stream.
            let _ = to_peer.stream().finish();
        }
        let end_instant = Instant::now();
        drop(to_peer);
        close_after_finish(&watch, code::DONE, "");
        let stats = watch.stats();
        drop(watch);
        returned.wait();
        Ok((outcome, stats, end_instant))
    }

    fn connect(&mut self) -> Result<(Socket, Connection), EarlyFailure> {
        let lost = |error: io::Error| EarlyFailure::unreachable(format!("{}: {error}", self.name));
        let addresses = resolve_addresses(&self.name).map_err(lost)?;
        if let Some(code) = self.code.take() {
            let (_socket, connection) = self.connect_first(&addresses, &Trust::Anyone, PAIRING)?;
            let key = connection.peer();
            let paired = sender_pairing::prove_code(&self.name, self.identity.public(), &code, connection);
            paired.map_err(|error| match error {
                Error::Failed(why) => EarlyFailure::untrusted(why),
                Error::Lost(why) => EarlyFailure::unreachable(why),
                error => error.into(),
            })?;
            self.receivers.remember(&self.name, key)?;
            self.console.inform(&format!("Paired. From now on {} is known by the key {key}", self.name));
        }
        let (socket, connection) = self.connect_first(&addresses, &self.trust()?, SERVICE)?;
        self.store_key(&connection)?;
        Ok((socket, connection))
    }

    /// Connects to the first address that answers.
    fn connect_first(
        &self,
        addresses: &[SocketAddr],
        trust: &Trust,
        service: &str,
    ) -> Result<(Socket, Connection), EarlyFailure> {
        let mut why = EarlyFailure::unreachable(format!("{} has no address", self.name));
        for &remote in addresses {
            let any: IpAddr =
                if remote.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
            let client = EndpointConfig::new(self.identity.clone());
            let session = SessionConfig { memory: self.arguments.memory.get(), ..client.session };
            let socket = bind_socket(SocketAddr::new(any, 0), EndpointConfig { session, ..client }, 1)?;
            let (scheme, recorder) = (self.scheme.clone(), self.recorder.clone());
            let connect =
                Connect { remote, trust: trust.clone(), service: service.to_owned(), scheme, recorder };
            match connect_reachable(&socket, connect, &self.stop) {
                Ok(connection) => return Ok((socket, connection)),
                Err(ConnectFailure::Net(error)) => why = self.explain(&error),
                Err(ConnectFailure::Refused) => {
                    why = EarlyFailure::unreachable(format!(
                        "{}: no response; nothing listens there",
                        self.name
                    ));
                }
                Err(ConnectFailure::Stopped) => {
                    return Err(Error::Lost("interrupted before there was a connection".to_owned()).into());
                }
            }
        }
        Err(why)
    }

    /// Returns the keys accepted for the receiver.
    fn trust(&self) -> Result<Trust, EarlyFailure> {
        let given_keys: Vec<_> = self
            .arguments
            .trust
            .iter()
            .filter_map(|trusted| match trusted {
                TrustedPeers::Key(key) => Some(*key),
                TrustedPeers::New => None,
            })
            .collect();
        if !given_keys.is_empty() {
            return Ok(Trust::Keys(given_keys.into_iter().collect()));
        }
        if let Some(key) = self.receivers.key_of(&self.name) {
            return Ok(Trust::only(key));
        }
        if self.arguments.trust.contains(&TrustedPeers::New) || may_prompt(self.console) {
            return Ok(Trust::Anyone);
        }
        Err(EarlyFailure::untrusted(format!(
            "the key of {} is not known. `thalweg recv` and `thalweg serve` print theirs: give it with --trust KEY, \
             or accept the peer's key with --trust new",
            self.name
        )))
    }

    /// Stores the key of a new receiver, if the user wants it.
    fn store_key(&mut self, connection: &Connection) -> Result<(), EarlyFailure> {
        let key = connection.peer();
        let known = self.receivers.key_of(&self.name);
        if self.arguments.trust.contains(&TrustedPeers::Key(key)) {
            if let Some(other) = known.filter(|known| *known != key) {
                let (name, path) = (&self.name, self.receivers.path().display());
                self.console.inform(&format!(
                    "note: {name} has the key that --trust gives, not {other}, by which {path} knows it"
                ));
            }
            return Ok(());
        }
        if known.is_some() {
            return Ok(());
        }
        if !self.arguments.trust.contains(&TrustedPeers::New) {
            let question = format!("{} has the key {key}, which is not known. Trust it?", self.name);
            let begun = Instant::now();
            let is_trusted = confirm_with_yes(&question);
            self.approval_time += begun.elapsed();
            if !is_trusted {
                return Err(EarlyFailure::untrusted("not trusted: nothing was sent".to_owned()));
            }
        }
        self.receivers.remember(&self.name, key)?;
        self.console.inform(&format!("From now on {} is known by the key {key}", self.name));
        Ok(())
    }

    /// Returns the failure if the receiver rejected this sender before any data.
    fn rejection(&self, connection: &Connection) -> Option<EarlyFailure> {
        let Some(CloseReason::Peer { code, reason }) = connection.closed() else { return None };
        let name = &self.name;
        let error = match code {
            code::UNAUTHORIZED => Error::Failed(format!(
                "{name} does not accept files from this key, which is {}; its owner can admit it with --trust",
                self.identity.public()
            )),
            code::BUSY => Error::Lost(format!("{name}: {reason}")),
            code::SERVICE => Error::Failed(format!("{name} does not receive files")),
            code::SCHEME => Error::Failed(format!("{name}: {reason}")),
            _ => return None,
        };
        Some(EarlyFailure::from_refusal(error))
    }

    fn explain(&self, error: &NetError) -> EarlyFailure {
        let name = &self.name;
        match error {
            NetError::Connect(ConnectError::WrongKey(key)) => {
                let has_given_key =
                    self.arguments.trust.iter().any(|trusted| matches!(trusted, TrustedPeers::Key(_)));
                let (which, remedy) = if has_given_key {
                    ("that --trust gives", "give that".to_owned())
                } else {
                    ("that it should have", format!("correct {}", self.receivers.path().display()))
                };
                EarlyFailure::untrusted(format!(
                    "{name} answers with the key {key}, which is not the one {which}. This may be a man-in-the-middle attack. If the key \
                     has changed, {remedy}"
                ))
            }
            NetError::Connect(ConnectError::NameTooLong) => Error::Failed(format!("{name}: {error}")).into(),
            _ => EarlyFailure::unreachable(format!("{name}: {error}")),
        }
    }
}
