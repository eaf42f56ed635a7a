//! The process that a user starts: it creates namespaces, starts the process inside, and waits for it.

use super::{INSIDE_VARIABLE, Network, SOCKET_SERVER, ShellArguments, live_view};
use crate::console_output::{CommandResult, Console, Error};
use crate::shell::child_processes::{Signals, exit_code};
use std::io::PipeWriter;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use thalweg_live::gateway::{self, control_socket_pair, send_fd};
use thalweg_live::host::{Names, end_with_parent, enter_namespaces};

/// Re-executes this command in new namespaces, and exits with its status.
pub fn relaunch_in_namespaces(
    arguments: &ShellArguments,
    network: &Network,
    console: &Console,
) -> CommandResult {
    for note in &network.plan.notes {
        console.inform(&format!("note: {note}"));
    }
    if cfg!(debug_assertions) {
        console.inform("warning: this program was built without full optimisation: fast links will be late");
    }
    // Reject an unknown command here, before anything is created.
    if let Some(command) = arguments.command.first()
        && !is_in_search_path(command)
    {
        return Err(Error::Usage(format!("there is no command `{}`", command.to_string_lossy())));
    }
    if let Some(node) = network.plan.outside
        && let IpAddr::V4(node_address) = network.plan.nodes[node].addresses[0]
    {
        let routes = std::fs::read_to_string("/proc/net/route").unwrap_or_default();
        for (network, bits) in overlapping_networks(&routes, node_address) {
            console.inform(&format!(
                "note: this host has a route to {network}/{bits}, whose addresses overlap those of nodes here; they are unreachable through the gateway"
            ));
        }
    }
    let program = std::env::current_exe();
    let program = program.map_err(|error| Error::Failed(format!("cannot find this program: {error}")))?;
    if arguments.all {
        // Without a reader of standard output, the results would be lost.
        end_with_parent(std::io::stdout().as_fd()).map_err(|error| Error::Failed(error.to_string()))?;
    }
    let (link, alive) = linked_input(&program, network.plan.outside.is_some())?;
    let names = enter_namespaces().map_err(|error| Error::Failed(error.to_string()))?;
    let signals = Signals::new()?;
    let kind = if names == Names::OfUser { "user" } else { "root" };
    let mut inside = Command::new(program);
    inside.args(std::env::args_os().skip(1)).env(INSIDE_VARIABLE, kind).stdin(link);
    let child = inside.spawn();
    // The socket server ends when the last copy of this end of the link is closed.
    drop(inside);
    let child =
        child.map_err(|error| Error::Failed(format!("cannot start the first process within: {error}")))?;
    let status = signals.wait_for(child, console)?;
    drop(alive);
    if status.signal().is_some() && live_view::is_wanted(console) {
        eprint!("{}", live_view::REMOVE_VIEW);
    }
    match exit_code(status) {
        0 => Ok(()),
        // The process inside has reported the reason.
        code => std::process::exit(code),
    }
}

/// Returns the standard input of the process inside, and the pipe that this process keeps open as long as it lives. The
/// former is a socket that passes the real standard input, the other end of the pipe (see [`end_with_parent`]) and, if
/// `with_socket_server`, sockets of the real network, created by a process that this function starts.
fn linked_input(program: &Path, with_socket_server: bool) -> Result<(OwnedFd, PipeWriter), Error> {
    let failed = |error: std::io::Error| Error::Failed(format!("cannot link processes: {error}"));
    let [one, other] = control_socket_pair().map_err(|error| failed(error.into()))?;
    let (watched, alive) = std::io::pipe().map_err(failed)?;
    for file in [std::io::stdin().as_fd(), watched.as_fd()] {
        send_fd(one.as_fd(), Some(file), &[0]).map_err(|error| failed(error.into()))?;
    }
    if with_socket_server {
        let mut server = Command::new(program);
        server.args(std::env::args_os().skip(1)).env(INSIDE_VARIABLE, SOCKET_SERVER).stdin(one);
        // A reader of the commands' output must not wait for this process.
        server.stdout(Stdio::null()).stderr(Stdio::null());
        server.spawn().map_err(failed)?;
    }
    Ok((other, alive))
}

/// Passes sockets until the process inside is gone.
pub fn serve_socket_requests() -> CommandResult {
    // Ctrl-C is for the commands only.
    let _signals = Signals::new()?;
    gateway::serve_sockets(std::io::stdin().as_fd())
        .map_err(|_| Error::Usage(format!("the variable {INSIDE_VARIABLE} is not for users: unset it")))
}

/// Common address prefix of all nodes, in bits.
const NODES: u32 = 16;

/// Returns the networks of this host that overlap the nodes' address range, except the default route, as first address
/// and prefix length, from the text of `/proc/net/route`.
fn overlapping_networks(routes: &str, node_address: Ipv4Addr) -> Vec<(Ipv4Addr, u32)> {
    let route = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        // The kernel prints addresses as numbers in host byte order.
        let mut address = |skip| {
            let number = u32::from_str_radix(words.nth(skip)?, 16).ok()?;
            Some(u32::from_be_bytes(number.to_ne_bytes()))
        };
        let (to, mask) = (address(0)?, address(5)?);
        let bits = mask.count_ones();
        let is_shared = |bits: u32| (to ^ node_address.to_bits()).checked_shr(32 - bits).unwrap_or(0) == 0;
        (bits > 0 && is_shared(bits.min(NODES))).then_some((Ipv4Addr::from_bits(to), bits))
    };
    routes.lines().skip(1).filter_map(route).collect()
}

/// Returns true if a file with this name is in the search path.
fn is_in_search_path(command: &std::ffi::OsStr) -> bool {
    let path = std::path::Path::new(command);
    if path.components().count() > 1 {
        return path.exists();
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(path).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with a default route, a network of its own, the nodes' network and a subnet of it.
    #[test]
    fn networks_with_the_addresses_of_nodes_are_found() {
        let of = |to: [u8; 4], mask: [u8; 4]| {
            let [to, mask] = [to, mask].map(u32::from_ne_bytes);
            format!("eth0\t{to:08X}\t0100A8C0\t0003\t0\t0\t0\t{mask:08X}\t0\t0\t0\n")
        };
        let lines = [
            of([0; 4], [0; 4]),
            of([192, 168, 0, 0], [255, 255, 255, 0]),
            of([10, 72, 0, 0], [255, 255, 0, 0]),
            of([10, 0, 0, 0], [255, 0, 0, 0]),
            of([10, 71, 3, 0], [255, 255, 255, 0]),
        ];
        let routes = format!("Iface\tDestination\tGateway\n{}", lines.concat());
        let found = overlapping_networks(&routes, Ipv4Addr::new(10, 71, 0, 2));
        assert_eq!(found, [(Ipv4Addr::new(10, 0, 0, 0), 8), (Ipv4Addr::new(10, 71, 3, 0), 24)]);
        assert_eq!(overlapping_networks("", Ipv4Addr::LOCALHOST), []);
    }
}
