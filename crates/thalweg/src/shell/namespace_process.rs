//! The first process in the namespaces: it creates hosts, starts commands on them, and runs the network until the
//! command ends.

use super::child_processes::{
    RunningCommand, Signals, cannot_start, end_processes, exit_code, reap_processes,
};
use super::forwarding_threads::Threads;
use super::live_run_results::ShellOutcome;
use super::live_view::{self, LiveView};
use super::{INSIDE_VARIABLE, Network, ShellArguments, live_run_results};
use crate::console_output::{CommandResult, Console, Error};
use crate::wall_clock;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, IsTerminal as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thalweg_live::gateway::{SocketClient, open_gateway, receive_fd};
use thalweg_live::host::{Host, HostError, create_host, end_with_parent, prepare_namespace, serve};
use thalweg_live::{Capture, Device, Groups, MergedOutcome};

/// Default head start of the commands of `--run`.
const START: Duration = Duration::from_millis(300);

fn host_error(error: &HostError) -> Error {
    Error::Failed(error.to_string())
}

/// Runs the network and the commands in it.
pub fn run_in_namespaces(arguments: &ShellArguments, network: &Network, console: &Console) -> CommandResult {
    let plan = &network.plan;
    let link = receive_link()?;
    let mut socket_client = plan.outside.map(|_| SocketClient::new(link));
    let signals = Signals::new()?;
    prepare_namespace(plan).map_err(|error| host_error(&error))?;
    let groups = Groups::new(plan, std::thread::available_parallelism().map_or(1, usize::from));
    let emulators = groups.emulators(plan);
    let emulators =
        emulators.map_err(|error| Error::Usage(format!("the scenario cannot be live: {error}")))?;
    let (mut hosts, mut devices) = (Vec::new(), Vec::new());
    for (node, _) in plan.hosts() {
        let (host, port) = create_host(plan, node).map_err(|error| host_error(&error))?;
        devices.push(Device { node, port, gateway_tap: None });
        hosts.push(host);
    }
    if plan.outside.is_none() {
        serve(plan, &hosts).map_err(|error| host_error(&error))?;
    }
    let gateway = hosts.iter().zip(&mut devices).find(|(host, _)| plan.outside == Some(host.node));
    if let (Some((host, device)), Some(socket_client)) = (gateway, socket_client.take()) {
        let (gateway_tap, entrance) =
            open_gateway(plan, host, &device.port, socket_client).map_err(|error| host_error(&error))?;
        device.gateway_tap = Some(gateway_tap);
        devices.push(Device { node: host.node, port: entrance, gateway_tap: None });
    }
    let names: Vec<&str> = plan.hosts().map(|(_, host)| host.name.as_str()).collect();
    let capture = arguments.pcap.as_deref().map(|path| {
        let file = File::create(path).map(BufWriter::new);
        let capture = file.and_then(|file| Capture::new(file, wall_clock::unix_nanos(), &names));
        capture.map_err(|error| Error::Failed(format!("cannot write `{}`: {error}", path.display())))
    });
    let capture = capture.transpose()?.map(|capture| Arc::new(Mutex::new(capture)));
    let is_watched = live_view::is_wanted(console);
    let threads = Threads::start(emulators, groups.share(devices), capture.as_ref(), is_watched)?;
    let view = RefCell::new(is_watched.then(|| LiveView::new(threads.watches.clone(), console)));
    let show = || view.borrow_mut().as_mut().map(LiveView::show);
    let mut commands = Commands { arguments, network, hosts: &hosts, running: Vec::new() };
    let mut carried = None;
    let ran = match &network.traffic {
        Some(traffic) => {
            let interrupted = std::cell::Cell::new(false);
            let is_over = || {
                show();
                interrupted.set(interrupted.get() || signals.was_interrupted() || signals.is_to_end());
                interrupted.get() || threads.has_one_ended()
            };
            let result = traffic.run(&hosts, is_over);
            result.map(|result| {
                carried = Some(result);
                if interrupted.get() { INTERRUPTED } else { 0 }
            })
        }
        None => commands.run(&signals, || threads.has_one_ended(), show, console),
    };
    end_processes(&mut commands.running, &signals);
    // The results are printed in place of the view.
    view.take();
    let driven = threads.end()?;
    let broken = driven.iter().find_map(|driven| driven.emulator.error().map(ToString::to_string));
    let MergedOutcome { result, counts, mut fidelity } = groups.join(driven);
    for host in &hosts {
        fidelity.lost_before += host.dropped().map_err(|error| host_error(&error))?;
    }
    if let (Some(capture), Some(path)) = (capture.and_then(Arc::into_inner), &arguments.pcap) {
        let written = capture.into_inner().unwrap_or_else(PoisonError::into_inner).finish();
        written.map_err(|error| Error::Failed(format!("cannot write `{}`: {error}", path.display())))?;
    }
    let code = ran?;
    if let Some(error) = broken {
        return Err(Error::Failed(format!("the network failed: {error}")));
    }
    let outcome = ShellOutcome { result, counts, fidelity, carried };
    let is_valid = live_run_results::show_results(&outcome, arguments, network, console)?;
    if let Some(carried) = outcome.carried.as_ref().filter(|carried| !carried.failures.is_empty()) {
        return Err(Error::Failed(carried.failures.join("; ")));
    }
    match code {
        0 if is_valid || !arguments.strict => Ok(()),
        0 => Err(Error::Failed("this host fell behind: the measurements are not valid".to_owned())),
        code => std::process::exit(code),
    }
}

/// Returns the link to the processes outside, which was passed as standard input, after restoring the real standard
/// input from it. From now on this process ends with its parent.
fn receive_link() -> Result<OwnedFd, Error> {
    let failed = |error: std::io::Error| Error::Failed(format!("cannot link processes: {error}"));
    let link = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let handed = || {
        let taken = receive_fd::<1>(link.as_fd()).map_err(|error| failed(error.into()))?;
        let file = taken.and_then(|(file, _)| file);
        file.ok_or_else(|| Error::Usage(format!("the variable {INSIDE_VARIABLE} is not for users: unset it")))
    };
    let (input, watched) = (handed()?, handed()?);
    end_with_parent(watched.as_fd()).map_err(|error| host_error(&error))?;
    rustix::stdio::dup2_stdin(&input).map_err(|error| failed(error.into()))?;
    Ok(link)
}

/// The commands on hosts.
struct Commands<'a> {
    arguments: &'a ShellArguments,
    network: &'a Network,
    hosts: &'a [Host],
    running: Vec<RunningCommand>,
}

impl Commands<'_> {
    /// Runs all commands until the main command has ended or the time is over; returns its exit code.
    fn run(
        &mut self,
        signals: &Signals,
        network_ended: impl Fn() -> bool,
        show: impl Fn() -> Option<Instant>,
        console: &Console,
    ) -> Result<i32, Error> {
        let plan = &self.network.plan;
        let until =
            self.arguments.duration.map(|span| Instant::now() + Duration::from_secs_f64(span.as_secs_f64()));
        for (name, command) in &self.arguments.run {
            let Some(node) = plan.node(name) else { continue };
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(command).stdin(Stdio::null());
            self.start(node, command, shell)?;
        }
        if !self.running.is_empty() {
            let after =
                self.arguments.after.map_or(START, |span| Duration::from_secs_f64(span.as_secs_f64()));
            let start = Instant::now() + after;
            while Instant::now() < start && !signals.is_to_end() {
                signals.wait(Some(start));
                reap_processes(&mut self.running);
            }
        }
        let (command_text, command) = self.command();
        self.print_surroundings(&command_text, console);
        self.start(self.network.command_node, &command_text, command)?;
        let main = self.running.len() - 1;
        let mut interrupts = 0;
        loop {
            reap_processes(&mut self.running);
            if let Some(status) = self.running[main].exit_status {
                self.report_failures(main, console);
                return Ok(exit_code(status));
            }
            interrupts += u32::from(signals.was_interrupted());
            let is_over = until.is_some_and(|until| Instant::now() >= until);
            // The command received the first Ctrl-C, too, and may continue.
            if is_over || network_ended() {
                return Ok(0);
            }
            if signals.is_to_end() || interrupts >= 2 {
                return Ok(INTERRUPTED);
            }
            // Poll: the network ends only after a day or because of an error.
            let next_poll = Instant::now() + Duration::from_secs(1);
            let next_poll = show().map_or(next_poll, |next| next.min(next_poll));
            signals.wait(Some(until.map_or(next_poll, |until| until.min(next_poll))));
        }
    }

    /// Returns the command of the call, or a shell.
    fn command(&self) -> (String, Command) {
        let Some((program, rest)) = self.arguments.command.split_first() else {
            let shell = std::env::var_os("SHELL").filter(|shell| !shell.is_empty());
            let shell = shell.unwrap_or_else(|| "sh".into());
            return (shell.to_string_lossy().into_owned(), Command::new(shell));
        };
        let words: Vec<_> = self.arguments.command.iter().map(|word| word.to_string_lossy()).collect();
        let mut command = Command::new(program);
        command.args(rest);
        (words.join(" "), command)
    }

    fn start(&mut self, node: usize, what: &str, mut command: Command) -> Result<(), Error> {
        let host = self.hosts.iter().find(|host| host.node == node);
        if let Some(host) = host {
            // A child inherits the network namespace of the thread that starts it.
            host.enter().map_err(|error| host_error(&error))?;
        }
        command.env_remove(INSIDE_VARIABLE).env("THALWEG_NODE", &self.network.plan.nodes[node].name);
        let child = command.spawn().map_err(|error| cannot_start(what, &error))?;
        self.running.push(RunningCommand { what: what.to_owned(), id: child.id(), exit_status: None });
        Ok(())
    }

    /// Prints the node and its surroundings for an interactive user.
    fn print_surroundings(&self, command_text: &str, console: &Console) {
        if self.arguments.command.is_empty() && std::io::stdin().is_terminal() {
            let node = &self.network.plan.nodes[self.network.command_node];
            let others = self.network.plan.nodes.iter().filter(|other| other.name != node.name);
            let others: Vec<String> =
                others.take(20).map(|node| format!("{} ({})", node.name, node.addresses[0])).collect();
            console.inform(&format!(
                "{command_text} at {} ({}); there are {}",
                node.name,
                node.addresses[0],
                others.join(", ")
            ));
        }
    }

    /// Reports the commands of `--run` that failed before the main command had ended.
    fn report_failures(&self, main: usize, console: &Console) {
        for other in &self.running[..main] {
            if let Some(status) = other.exit_status.filter(|status| !status.success()) {
                console.report_problem(&format!("`{}` failed: {status}", other.what));
            }
        }
    }
}

/// Exit code of a run that a signal ended.
const INTERRUPTED: i32 = 130;
