//! The senders of `recv` and `serve`: admission by the command's options, with its prompt and log.

use super::approval_prompt::ApprovalPrompt;
use super::bind_socket;
use super::key_prompts::{may_prompt, report_invalid_lines};
use super::landlock::restrict_writes;
use super::prometheus_metrics::Metrics;
use super::rejected_sender_line::DenialLine;
use super::transfer_arguments::{Listen, ListenArguments, TrustedPeers};
use crate::compatibility_hints::{self, Reader};
use crate::console_output::{CommandResult, Console, Error};
use crate::signal_flags::stop_flag_of_caller_or_signals;
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use thalweg_net::admission::{
    Admission, AdmissionConfig, AdmissionEvent, AdmittedSender, PAIRING, SERVICE, name_for,
};
use thalweg_net::endpoint::{self, EndpointConfig, Trust};
use thalweg_net::identity::PublicKey;
use thalweg_net::keyring::{Keyring, KnownPeers};
use thalweg_net::live::Connection;
use thalweg_net::session::SessionConfig;
use thalweg_report::output::format_count;

/// Polling interval for Ctrl-C and finished transfers.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Maximum number of stored denials.
const MAX_DENIALS: usize = 64;

/// Listener that admits senders.
pub struct SenderListener<'a> {
    admission: Admission<KnownPeers>,
    prompt: ApprovalPrompt<'a>,
    /// Rejected senders since the last call of [`Self::denied`].
    denied: Vec<DenialLine>,
    /// Set to request a re-read of the known senders.
    reload: Arc<AtomicBool>,
    /// Counters of all transfers, if enabled.
    pub metrics: Option<Arc<Metrics>>,
    console: &'a Console,
    /// Set when the user requests a stop.
    pub stop: Arc<AtomicBool>,
}

impl<'a> SenderListener<'a> {
    /// Listens, with this number of threads. Files go to `folder`, if given, which is made if missing. From now on the
    /// process can write only there and to the list of known peers.
    pub fn open(
        arguments: &'a ListenArguments,
        threads: usize,
        folder: Option<&Path>,
        console: &'a Console,
        reload: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        folder.map(|folder| check_name(folder, console)).transpose()?;
        let schemes = arguments.schemes(&console.registry)?;
        let stop = stop_flag_of_caller_or_signals(console)?;
        let keys = Keyring::for_user()?;
        let (identity, mut senders) = (keys.identity()?, keys.senders()?);
        report_invalid_lines(&mut senders, console);
        let config = AdmissionConfig {
            keys: arguments.trust.iter().filter_map(TrustedPeers::key).collect(),
            admits_new: arguments.trust.contains(&TrustedPeers::New),
            max_unnamed: usize::try_from(arguments.unknown_senders.get()).unwrap_or(usize::MAX),
            pairs: arguments.pair,
            asks: may_prompt(console),
        };
        let trust = config.trust(&senders);
        if trust == Trust::Keys([].into()) {
            let path = senders.path().display();
            return Err(Error::Failed(format!(
                "no sender is known. `thalweg key` prints a sender's key: give it with --trust KEY, write it into {path} \
                 with a name, or take any sender with --trust new"
            )));
        }
        // A refused call makes no folder.
        folder.map(make_folder).transpose()?;
        // Confine the process before starting threads that read from the network. Where the kernel cannot, name checks
        // are the only protection.
        let folders: Vec<&Path> = folder.into_iter().chain([keys.folder()]).collect();
        restrict_writes(&folders);
        let services = [SERVICE].into_iter().chain(arguments.pair.then_some(PAIRING));
        let listen = endpoint::Listen::new(trust, services).with_registry(Arc::clone(&console.registry));
        let listen = match schemes {
            Some(names) => listen.by_schemes(names),
            None => listen,
        };
        let memory = arguments.memory.get();
        let client = EndpointConfig::new(identity.clone());
        // The shared limit must let the first connection reach its own limit.
        let all = client.limits.memory.max(memory.saturating_mul(4));
        let limits = endpoint::Limits { memory: all, ..client.limits };
        let first = client.session.memory.min(memory);
        let session = SessionConfig { memory: first, max_memory: memory, ..client.session };
        let endpoint = EndpointConfig { listen: Some(listen), limits, session, ..client };
        let socket = match arguments.listen {
            Listen::At(address) => bind_socket(address, endpoint, threads)?,
            Listen::Everywhere(port) => {
                let v6 = bind_socket(
                    SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port),
                    endpoint.clone(),
                    threads,
                );
                // Not every host has IPv6.
                v6.or_else(|why| {
                    bind_socket(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), endpoint, threads)
                        .map_err(|_| why)
                })?
            }
        };
        console.inform(&format!("Listening on {}, key {}", socket.local(), identity.public()));
        let admission = Admission::new(socket, identity.public(), senders, config);
        if let Some(code) = admission.code() {
            console.inform(&format!(
                "The code is {code}, for ten minutes: thalweg send --pair FILES... HOST asks for it"
            ));
        }
        Ok(Self {
            admission,
            prompt: ApprovalPrompt::new(console),
            denied: Vec::new(),
            reload,
            metrics: Metrics::begin(arguments.metrics, console)?,
            console,
            stop,
        })
    }

    /// Returns the next admitted sender, if one arrives soon.
    pub fn next(&mut self) -> Result<Option<AdmittedSender>, Error> {
        if self.is_stopped() {
            std::thread::sleep(POLL_INTERVAL);
            return Ok(None);
        }
        if self.reload.swap(false, Ordering::Relaxed) {
            self.admission.reload(true);
        }
        if let Some(metrics) = &self.metrics {
            metrics.endpoint(self.admission.socket().stats().0);
            metrics.denied(self.admission.denied());
        }
        let sender = self.admission.next(POLL_INTERVAL, &mut self.prompt);
        self.log();
        sender.map_err(|error| Error::Failed(error.to_string()))
    }

    /// Prints the events of admission.
    fn log(&mut self) {
        let console = self.console;
        for event in self.admission.events() {
            match event {
                AdmissionEvent::Denied(denial) => {
                    let line = DenialLine::new(&denial);
                    // In quiet mode too: the receiver waits, and only its user can admit the sender.
                    console.note(&line.sentence());
                    if self.denied.len() < MAX_DENIALS {
                        self.denied.push(line);
                    }
                }
                AdmissionEvent::MoreDenied(number) => console.note(&format!("{number} more were refused")),
                AdmissionEvent::New { key, remote } => {
                    console.inform(&format!("{} at {remote} is new; its key is {key}", name_for(&key)));
                }
                AdmissionEvent::AdmittedOnce(why) => {
                    console.report_problem(&format!("{why}; the sender is admitted this once"));
                }
                AdmissionEvent::NotRemembered(why) => {
                    console.report_problem(&format!("{why}; a sender of which there are files is not known"));
                }
                AdmissionEvent::Reloaded => {
                    let senders = self.admission.senders_mut();
                    report_invalid_lines(senders, console);
                    let (count, path) = (senders.keys().count(), senders.path().display());
                    console.inform(&format!("{path} was reloaded: {}", format_count(count as u64, "sender")));
                }
                AdmissionEvent::NotReloaded(why) => {
                    console.report_problem(&format!("{why}; the list is unchanged"));
                }
                AdmissionEvent::WrongCode { remote, left } => {
                    console.inform(&format!("{remote} gave a wrong code; {left} more invalidate it"));
                }
                AdmissionEvent::Paired { key, remote } => {
                    let name = name_for(&key);
                    console.inform(&format!(
                        "{name} at {remote} knows the code; from now on it is known by the key {key}"
                    ));
                }
                AdmissionEvent::CodeOver(why) => console.inform(why),
            }
        }
    }

    /// Returns why the pairing code expired unused, if it did.
    pub fn close_reason(&self) -> Option<&'static str> {
        self.admission.code_over()
    }

    /// Returns true if the sender with this key is admitted.
    pub fn is_admitted(&self, key: &PublicKey) -> bool {
        self.admission.is_admitted(key)
    }

    /// Returns true if the user named or approved this sender, as opposed to admission by `--trust new`.
    pub fn wants(&self, key: &PublicKey) -> bool {
        self.admission.wants(key)
    }

    /// Registers the start of a transfer. Returns false if the sender was rejected.
    pub fn begin(&mut self, sender: &AdmittedSender) -> bool {
        let begins = self.admission.begin(sender);
        self.log();
        begins
    }

    /// Registers the end of a transfer, which cannot resume if `is_final`. A sender that `--trust new` admitted becomes
    /// known if `something` of it is stored.
    pub fn end(&mut self, key: &PublicKey, is_final: bool, something: impl FnOnce() -> bool) {
        self.admission.end(key, is_final, something);
        self.log();
    }

    /// Returns true if senders may have been removed from the list since the last call.
    pub fn has_changed(&mut self) -> bool {
        self.admission.has_changed()
    }

    /// Restricts admission to this sender; `None` lifts the restriction.
    pub fn set_owner(&mut self, key: Option<PublicKey>) {
        self.admission.set_owner(key, &mut self.prompt);
    }

    /// Returns the rejected senders since the last call, as far as they are listed individually.
    pub fn denied(&mut self) -> Vec<DenialLine> {
        std::mem::take(&mut self.denied)
    }

    /// Returns true if the user requested a stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Returns the name and address of a sender, for display.
    pub fn name(&self, key: &PublicKey, connection: &Connection) -> String {
        self.admission.name(key, connection)
    }

    /// Returns the name of a sender's folder.
    pub fn folder_name(&self, key: &PublicKey) -> String {
        self.admission.folder_name(key)
    }
}

/// Refuses the name of something else than a folder.
///
/// # Errors
///
/// Returns the hint for the name.
fn check_name(folder: &Path, console: &Console) -> CommandResult {
    let reader = if console.is_called() { Reader::Program } else { Reader::User };
    let name = folder.to_str().filter(|_| !folder.exists());
    let hint = name.and_then(|name| compatibility_hints::of_folder(name, reader));
    hint.map_or(Ok(()), |hint| Err(Error::Usage(hint)))
}

/// Creates the folder, if missing.
fn make_folder(folder: &Path) -> CommandResult {
    fs::create_dir_all(folder).map_err(|error| {
        let is_other = error.kind() == io::ErrorKind::AlreadyExists;
        let why = if is_other { "it is not a folder".to_owned() } else { error.to_string() };
        Error::Failed(format!("{}: {why}", folder.display()))
    })
}
