//! `thalweg recv` and `thalweg serve`: admission, one thread for each transfer, and reports of outcomes.

use super::early_failure::EarlyFailure;
use super::progress_display::{Meter, MeterInputs};
use super::prometheus_metrics::{CountedTransfer, Metrics};
use super::rate_limited_failure_log::FailureLog;
use super::sender_admission::SenderListener;
use super::transfer_arguments::{ListenArguments, RecvArguments, ServeArguments};
use super::transfer_summary::{self, Summary, SummaryInputs};
use crate::console_output::{CommandResult, Console, Error};
use crate::signal_flags::reload_flag_on_sighup;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{self, Sender, channel};
use std::time::Instant;
use thalweg_net::admission::{
    AdmittedSender, DuplicateSender, Quotas, REMOVED_SENDER_REASON, TRANSFER_ENDED_CODE, TotalQuota,
    TransferSlots, Turn, await_close, close_after_finish,
};
use thalweg_net::identity::PublicKey;
use thalweg_net::live::Connection;
use thalweg_net::session::{CloseReason, code};
use thalweg_net::transfer::{
    self, Claims, Destination, Error as TransferError, Fault, FaultKind, Limits, Progress, Quota, Report,
    Target, TransferOutcome, TransferScheduler,
};

/// Receives from one sender.
pub fn run_recv(arguments: &RecvArguments, console: &Console) -> CommandResult {
    match receive_once(arguments, console) {
        Ok(inputs) => Summary::new(inputs, arguments.accept_loss).report(console, arguments.json),
        Err(stopped) => stopped.report("recv", console, arguments.json),
    }
}

/// Waits for one sender, and returns the outcome of its transfer.
fn receive_once(arguments: &RecvArguments, console: &Console) -> Result<SummaryInputs, EarlyFailure> {
    let mut receiver = Receiver::open(arguments, console)?;
    loop {
        let arrived = receiver.listener.next()?.and_then(|sender| receiver.queue(sender));
        receiver.end_if_removed();
        if let Some(sender) = receiver.poll_duplicate().or(arrived) {
            receiver.begin(sender)?;
        }
        if let Some(end) = receiver.poll_end() {
            return Ok(end);
        }
        if let Some(why) = receiver.listener.close_reason().filter(|_| receiver.open_transfer.is_none()) {
            return Err(Error::Failed(format!("{why}; nothing was received")).into());
        }
        if receiver.listener.is_stopped() {
            receiver.scheduler.end();
            if receiver.open_transfer.is_none() {
                let why = "interrupted before anything was received";
                return receiver.lost.ok_or_else(|| Error::Lost(why.to_owned()).into());
            }
        }
    }
}

/// `recv`: one transfer, which its sender may interrupt and resume.
struct Receiver<'a> {
    arguments: &'a RecvArguments,
    console: &'a Console,
    /// Contents go to standard output.
    is_output: bool,
    listener: SenderListener<'a>,
    claims: Claims,
    scheduler: TransferScheduler,
    open_transfer: Option<OpenTransfer>,
    /// Outcome of the last interrupted transfer.
    lost: Option<SummaryInputs>,
    /// A sender that arrived during the transfer.
    duplicate: Option<DuplicateSender>,
}

impl<'a> Receiver<'a> {
    /// Creates the folder and listens.
    fn open(arguments: &'a RecvArguments, console: &'a Console) -> Result<Self, EarlyFailure> {
        let is_output = arguments.folder.as_os_str() == "-";
        let folder = (!is_output).then_some(&*arguments.folder);
        if let Some(folder) = folder {
            warn_of_home(folder, console);
        }
        let listener = SenderListener::open(&arguments.common, 1, folder, console, Arc::default())?;
        Ok(Self {
            arguments,
            console,
            is_output,
            listener,
            claims: Claims::default(),
            scheduler: TransferScheduler::default(),
            open_transfer: None,
            lost: None,
            duplicate: None,
        })
    }

    /// Returns the sender if it can begin; otherwise lets it wait for the transfer in progress, or turns it away.
    fn queue(&mut self, sender: AdmittedSender) -> Option<AdmittedSender> {
        if self.open_transfer.is_none() && self.duplicate.is_none() {
            return Some(sender);
        }
        let connection = &sender.connection;
        match &self.open_transfer {
            // A stream to standard output cannot be restarted.
            Some(_) if self.is_output => connection.close(code::BUSY, "another transfer is being received"),
            Some(open) if self.duplicate.is_none() => {
                let earlier = open.connection.another_handle();
                self.duplicate = Some(DuplicateSender::new(Instant::now(), sender, earlier));
            }
            _ => connection.close(code::BUSY, "another transfer of the same sender waits already"),
        }
        None
    }

    /// Closes the connection of a sender that was removed from the list.
    fn end_if_removed(&mut self) {
        if let Some(open) = self.open_transfer.as_ref().filter(|_| self.listener.has_changed())
            && !self.listener.is_admitted(&open.connection.peer())
        {
            open.connection.close(code::UNAUTHORIZED, REMOVED_SENDER_REASON);
        }
    }

    /// Returns the waiting sender once it takes over from the earlier one.
    fn poll_duplicate(&mut self) -> Option<AdmittedSender> {
        // An earlier connection has closed: its outcome follows shortly, and may complete the transfer.
        let is_ending = self.open_transfer.as_ref().is_some_and(|open| open.connection.closed().is_some());
        match self.duplicate.as_mut().filter(|_| !is_ending)?.poll(Instant::now()) {
            Turn::Enter(sender) => {
                (self.duplicate, self.open_transfer) = (None, None);
                return Some(sender);
            }
            Turn::Gone => self.duplicate = None,
            Turn::Wait => {}
        }
        None
    }

    /// Begins a transfer, unless its sender was rejected meanwhile.
    fn begin(&mut self, sender: AdmittedSender) -> CommandResult {
        let key = sender.key;
        if !self.listener.begin(&sender) {
            return Ok(());
        }
        self.listener.set_owner(Some(key));
        let target = if self.is_output {
            Target::Output(Box::new(io::stdout()))
        } else {
            let folder = &self.arguments.folder;
            let open_error = |error| Error::Failed(format!("{}: {error}", folder.display()));
            let target =
                sender_destination(folder, &self.arguments.common, &self.claims, &key).map_err(open_error)?;
            Target::Folder(if self.arguments.hidden { target.with_hidden() } else { target })
        };
        let (outcome_sender, ends) = channel();
        self.open_transfer = Some(OpenTransfer { connection: sender.connection.another_handle(), ends });
        let peer = self.listener.name(&key, &sender.connection);
        let counted = self.listener.metrics.as_ref().map(Metrics::count);
        let (scheduler, stop) = (self.scheduler.clone(), Arc::clone(&self.listener.stop));
        let session =
            Session { sender, target, scheduler, peer, command: "recv", metrics_entry: counted, stop };
        session.begin(self.console, &outcome_sender, true);
        Ok(())
    }

    /// Returns the outcome if the transfer has ended for good.
    fn poll_end(&mut self) -> Option<SummaryInputs> {
        let (end, closed) = self.open_transfer.as_ref().and_then(OpenTransfer::end)?;
        self.open_transfer = None;
        let is_lost = matches!(end.outcome.result, Err(TransferError::ConnectionEnded(_)));
        let report = &end.outcome.report;
        let has_begun = *report != Report::default();
        if let Some(key) = end.key {
            self.listener.end(&key, !is_lost, || has_begun || end.outcome.result.is_ok());
        }
        // A peer that closes the connection has given up and does not reconnect.
        let has_given_up = matches!(closed, Some(CloseReason::Peer { code, .. }) if code == TRANSFER_ENDED_CODE || has_begun);
        let goes_on = !self.is_output && report.unresumable.is_none() && !has_given_up;
        if is_lost && goes_on && !self.listener.is_stopped() {
            let who = if has_begun { "it to come back" } else { "a sender" };
            self.console.inform(&format!(
                "{}: {}; waiting for {who}",
                end.peer,
                outcome_reason(&end.outcome)
            ));
            if has_begun {
                self.lost = Some(end);
            } else if self.lost.is_none() {
                self.listener.set_owner(None);
            }
            return None;
        }
        if let Some(metrics) = &self.listener.metrics {
            metrics.end(&end.outcome);
        }
        Some(end)
    }
}

/// Transfer of `recv` in progress.
struct OpenTransfer {
    connection: Connection,
    /// Receives the outcome.
    ends: mpsc::Receiver<SummaryInputs>,
}

impl OpenTransfer {
    /// Returns the outcome of the transfer if it has ended, and its close reason, if any.
    fn end(&self) -> Option<(SummaryInputs, Option<CloseReason>)> {
        self.ends.try_recv().ok().map(|inputs| (inputs, self.connection.closed()))
    }
}

/// Receives from several senders.
pub fn run_serve(arguments: &ServeArguments, console: &Console) -> CommandResult {
    // The process is long-lived; its messages form a log.
    let console = &console.with_times();
    let mut server = Server::open(arguments, console)?;
    loop {
        server.admit()?;
        if let Some(sender) = server.slots.next(Instant::now()) {
            server.begin(sender);
        }
        let is_empty = server.slots.is_empty();
        server.report()?;
        if server.listener.is_stopped() {
            server.scheduler.end();
            if is_empty {
                return Ok(());
            }
        }
    }
}

/// `serve`: transfers of many senders, each with a folder.
struct Server<'a> {
    arguments: &'a ServeArguments,
    console: &'a Console,
    listener: SenderListener<'a>,
    claims: Claims,
    scheduler: TransferScheduler,
    slots: TransferSlots,
    /// Limits of a sender's folder.
    limits: Limits,
    quotas: Quotas,
    total: Option<TotalQuota>,
    /// Outcomes of transfers.
    outcome_sender: Sender<SummaryInputs>,
    ends: mpsc::Receiver<SummaryInputs>,
    failures: FailureLog,
}

impl<'a> Server<'a> {
    /// Creates the folder and listens.
    fn open(arguments: &'a ServeArguments, console: &'a Console) -> Result<Self, Error> {
        let listener = SenderListener::open(
            &arguments.common,
            arguments.threads,
            Some(&arguments.folder),
            console,
            reload_flag_on_sighup()?,
        )?;
        let (outcome_sender, ends) = channel();
        let slots = usize::try_from(arguments.transfers.get()).unwrap_or(usize::MAX);
        Ok(Self {
            arguments,
            console,
            listener,
            claims: Claims::default(),
            scheduler: TransferScheduler::default(),
            slots: TransferSlots::new(slots, arguments.idle),
            limits: Limits { bytes: arguments.quota, entries: arguments.files.get() },
            quotas: Quotas::default(),
            total: total_quota(arguments)?,
            outcome_sender,
            ends,
            failures: FailureLog::new(Instant::now()),
        })
    }

    /// Queues the next admitted sender, ends transfers of removed ones and lists rejected ones.
    fn admit(&mut self) -> CommandResult {
        if let Some(sender) = self.listener.next()? {
            let is_wanted = self.listener.wants(&sender.key);
            self.slots.admit_or_queue(Instant::now(), sender, is_wanted);
        }
        if self.listener.has_changed() {
            self.slots.end_those(|key| !self.listener.is_admitted(key));
        }
        for denial in self.listener.denied() {
            if self.arguments.json_lines {
                self.console.print(&denial.line())?;
            }
        }
        Ok(())
    }

    /// Begins a transfer, unless its sender was rejected meanwhile or its folder cannot be used.
    fn begin(&mut self, sender: AdmittedSender) {
        let key = sender.key;
        if !self.listener.begin(&sender) {
            return;
        }
        let folder = self.arguments.folder.join(self.listener.folder_name(&key));
        let target = sender_folder(&folder, self.limits, &mut self.quotas, self.total.as_mut(), || {
            sender_destination(&folder, &self.arguments.common, &self.claims, &key)
        });
        let (target, quota) = match target {
            Ok(target) => target,
            Err(error) => {
                self.console.report_problem(&format!("{}: {error}", folder.display()));
                sender.connection.close(TRANSFER_ENDED_CODE, "the receiver cannot store anything");
                self.listener.end(&key, false, || has_stored_data(&folder));
                return;
            }
        };
        let peer = self.listener.name(&key, &sender.connection);
        self.console.inform(&format!("{peer} sends; it has {} of {}", quota.used(), self.limits.bytes));
        let counted = self.listener.metrics.as_ref().map(Metrics::count);
        let stop = Arc::clone(&self.listener.stop);
        let is_wanted = self.listener.wants(&key);
        let scheduler =
            if is_wanted { self.scheduler.clone() } else { self.scheduler.with_equal_priorities() };
        let watch = sender.connection.another_handle();
        let session =
            Session { sender, target, scheduler, peer, command: "serve", metrics_entry: counted, stop };
        let progress = session.begin(self.console, &self.outcome_sender, false);
        self.slots.enter(Instant::now(), watch, (key, is_wanted), &progress);
    }

    /// Reports the transfers that have ended.
    fn report(&mut self) -> CommandResult {
        for end in self.ends.try_iter() {
            let (peer, why) = (end.peer.clone(), end.outcome.result.as_ref().err().map(ToString::to_string));
            let is_final = !matches!(end.outcome.result, Err(TransferError::ConnectionEnded(_)));
            if let Some(key) = end.key {
                let folder = self.arguments.folder.join(self.listener.folder_name(&key));
                self.listener.end(&key, is_final, || has_stored_data(&folder));
            }
            if let Some(metrics) = &self.listener.metrics {
                metrics.end(&end.outcome);
            }
            let summary = Summary::new(end, false);
            if self.arguments.json_lines {
                self.console.print(&summary.line())?;
            }
            for line in self.failures.lines(Instant::now(), &peer, &summary.failure_lines()) {
                self.console.report_problem(&line);
            }
            let why = why.map_or_else(String::new, |why| format!("; then {why}"));
            self.console.inform(&format!("{peer}: {}{why}", summary.sentence()));
        }
        Ok(())
    }
}

/// Returns the quota shared by all senders, if configured.
fn total_quota(arguments: &ServeArguments) -> Result<Option<TotalQuota>, Error> {
    let Some(bytes) = arguments.total else { return Ok(None) };
    let limits = Limits { bytes, entries: u64::MAX };
    let open_error = |error| Error::Failed(format!("{}: {error}", arguments.folder.display()));
    TotalQuota::of(Instant::now(), &arguments.folder, limits).map(Some).map_err(open_error)
}

/// Returns a sender's folder with its quota.
fn sender_folder(
    folder: &Path,
    limits: Limits,
    quotas: &mut Quotas,
    total: Option<&mut TotalQuota>,
    destination: impl FnOnce() -> io::Result<Destination>,
) -> io::Result<(Target, Arc<Quota>)> {
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
        Err(_) => fs::create_dir(folder)?,
    }
    let now = Instant::now();
    let total = total.map(|total| total.quota(now)).transpose()?;
    let quota = quotas.of(now, folder, || {
        let quota = Quota::of(folder, limits)?;
        Ok(match total {
            Some(total) => quota.within(total),
            None => quota,
        })
    })?;
    // The folder holds only this sender's files, therefore hidden names are safe.
    let target = destination()?.with_hidden().with_quota(Arc::clone(&quota));
    Ok((Target::Folder(target), quota))
}

/// Removes a sender's folder if it is empty; returns true if it is not.
fn has_stored_data(folder: &Path) -> bool {
    fs::remove_dir(folder).is_err_and(|error| error.kind() == io::ErrorKind::DirectoryNotEmpty)
}

/// Returns the destination for the files of the sender with this key.
fn sender_destination(
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

/// Warns of the home folder as a destination: programs read files there as configuration.
fn warn_of_home(folder: &Path, console: &Console) {
    let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|home| fs::canonicalize(home).ok());
    if home.is_some() && fs::canonicalize(folder).ok() == home {
        console.inform(
            "warning: this is your home folder: every admitted sender can add programs and settings to it. A folder of its \
             own is safer",
        );
    }
}

fn outcome_reason(outcome: &TransferOutcome) -> String {
    outcome.result.as_ref().err().map_or_else(String::new, ToString::to_string)
}

/// A transfer in progress.
struct Session {
    sender: AdmittedSender,
    target: Target,
    scheduler: TransferScheduler,
    peer: String,
    command: &'static str,
    metrics_entry: Option<CountedTransfer>,
    stop: Arc<AtomicBool>,
}

impl Session {
    /// Receives in a new thread, which sends the outcome to `outcome_sender`. Returns the progress.
    fn begin(
        self,
        console: &Console,
        outcome_sender: &Sender<SummaryInputs>,
        is_shown: bool,
    ) -> Arc<Progress> {
        let progress = Arc::new(Progress::new());
        let returned = Arc::clone(&progress);
        let Self { sender, target, scheduler, peer, command, metrics_entry: counted, stop } = self;
        let (watch, key) = (sender.connection.another_handle(), sender.key);
        let meter_inputs = MeterInputs {
            progress: Arc::clone(&progress),
            connection: watch.another_handle(),
            metrics_entry: counted,
            pace: None,
            advisor: None,
            stop,
            has_peer_ended: None,
        };
        let stop = Arc::clone(&meter_inputs.stop);
        let meter = Meter::begin(meter_inputs, console, is_shown);
        let (thread_ended, error_peer) = (outcome_sender.clone(), peer.clone());
        let begun = Instant::now();
        let receive = move || {
            let (to_peer, mut from_peer) = sender.enter();
            let mut outcome =
                transfer::receive_transfer(target, &scheduler, &mut from_peer, to_peer, &progress);
            drop(meter);
            transfer_summary::mark_user_stop(&mut outcome, &stop);
            let span = begun.elapsed();
            match &outcome.result {
                Ok(()) => close_after_finish(&watch, code::DONE, ""),
                Err(error) => {
                    // A sender closes when it has received the reason. A close from this endpoint could overtake the
                    // reason.
                    if matches!(error, TransferError::Local(_) | TransferError::Protocol(_)) {
                        await_close(&watch);
                    }
                    close_after_finish(&watch, TRANSFER_ENDED_CODE, &error.to_string());
                }
            }
            let stats = watch.stats();
            let inputs = SummaryInputs {
                command,
                peer,
                key: Some(key),
                outcome,
                span,
                connections: 1,
                stats: Some(stats),
                scheme: None,
                advice: None,
            };
            drop((from_peer, watch));
            let _ = thread_ended.send(inputs);
            drop(progress);
        };
        let spawned = std::thread::Builder::new().name("transfer".to_owned()).spawn(receive);
        if let Err(error) = spawned {
            let fault = Fault::new(FaultKind::Storage, error.to_string());
            let outcome =
                TransferOutcome { report: Report::default(), result: Err(TransferError::Local(fault)) };
            let span = begun.elapsed();
            let inputs = SummaryInputs {
                command,
                peer: error_peer,
                key: Some(key),
                outcome,
                span,
                connections: 1,
                stats: None,
                scheme: None,
                advice: None,
            };
            let _ = outcome_sender.send(inputs);
        }
        returned
    }
}
