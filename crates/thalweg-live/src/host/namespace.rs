//! Namespaces: a separate view of network, processes and files for a process and its children.

use super::addresses_and_routes::Netlink;
use super::setup_error::HostError;
use super::tun;
use crate::network_plan::{Plan, network_prefix};
use crate::tun_queue::Port;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::fs;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

/// Device name on each host.
const DEVICE: &str = "thalweg0";
/// Queue length of a device, in packets. A full device queue would drop packets before the network sees them.
const DEVICE_QUEUE_PACKETS: u32 = 20_000;

/// Kind of namespaces that a process has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// With a user namespace, as root within it.
    OfUser,
    /// As root, without a user namespace.
    OfRoot,
}

/// A host: a network namespace with a device.
#[derive(Debug)]
pub struct Host {
    /// Node number.
    pub node: usize,
    /// Network namespace, for [`Host::enter`].
    names: OwnedFd,
}

fn unshare_namespaces(flags: UnshareFlags) -> Result<(), Errno> {
    #[allow(unsafe_code, reason = "the safe form of this call is deprecated")]
    // SAFETY: only a separate table of files (`UnshareFlags::FILES`) could take something away from another thread, and no caller
    // of this function asks for one.
    unsafe {
        unshare_unsafe(flags & !UnshareFlags::FILES)
    }
}

/// Moves this process, which must be single-threaded, into new namespaces. Its next child becomes the first process of
/// a PID namespace, and all processes there end with that child.
///
/// # Errors
///
/// This host permits no namespaces for users.
pub fn enter_namespaces() -> Result<Names, HostError> {
    let flags = UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWPID;
    let is_root = rustix::process::geteuid().is_root();
    if is_root && unshare_namespaces(flags).is_ok() {
        return Ok(Names::OfRoot);
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare_namespaces(flags | UnshareFlags::NEWUSER)
        .map_err(|why| namespaces_forbidden_error(why, is_root))?;
    let write = |file: &str, text: &str| {
        let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        fs::write(Path::new("/proc/self").join(file), text)
            .map_err(|error| namespaces_forbidden_error(errno(error), is_root))
    };
    // Kernels before 3.19 lack this file and do not need it.
    let _ = write("setgroups", "deny");
    write("uid_map", &format!("0 {user} 1"))?;
    write("gid_map", &format!("0 {group} 1"))?;
    Ok(Names::OfUser)
}

/// Returns the error with the settings that forbid namespaces.
fn namespaces_forbidden_error(why: Errno, is_root: bool) -> HostError {
    let error = HostError::new("this host does not allow network namespaces", why);
    let is = |setting: &str, value: &str| fs::read_to_string(setting).is_ok_and(|text| text.trim() == value);
    if is("/proc/sys/user/max_user_namespaces", "0") {
        return error
            .help("users may have none: `sudo sysctl user.max_user_namespaces=10000`, or run this as root");
    }
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        return error.help(
            "users may have none: `sudo sysctl kernel.unprivileged_userns_clone=1`, or run this as root",
        );
    }
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return error.help(
            "AppArmor forbids them to users: `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or run this as root",
        );
    }
    error.help(match (why, is_root) {
        (Errno::NOSPC | Errno::USERS, _) => {
            "there are too many: `sudo sysctl user.max_user_namespaces=10000`"
        }
        (_, true) => {
            "in a container it needs `--cap-add SYS_ADMIN`, or a seccomp profile that lets `unshare` through"
        }
        (_, false) => "run this as root, or ask for user namespaces (`sysctl user.max_user_namespaces`)",
    })
}

/// Ties this process to the life of its parent, even if the parent ended before this call: `pipe` is one end of a pipe
/// whose other end only the parent holds.
///
/// # Errors
///
/// The parent is gone (`EPIPE`), or the system refuses.
pub fn end_with_parent(pipe: BorrowedFd<'_>) -> Result<(), HostError> {
    let failed = |why| HostError::new("cannot end with the parent", why);
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    // The signal covers deaths from now on; an earlier death has closed the pipe. The parent's PID cannot show it: in a
    // new PID namespace every parent is 0.
    let mut ends = [PollFd::new(&pipe, PollFlags::empty())];
    poll(&mut ends, Some(&Timespec::default())).map_err(failed)?;
    if ends[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
        return Err(HostError::new("the process that started this one is gone", Errno::PIPE));
    }
    Ok(())
}

/// Prepares the first process in the namespaces of [`enter_namespaces`]: makes mounts private and installs the plan's host names.
///
/// # Errors
///
/// The system refuses.
pub fn prepare_namespace(plan: &Plan) -> Result<(), HostError> {
    let refused = |what: &str| {
        let what = what.to_owned();
        move |why| HostError::new(what, why)
    };
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|why| {
        let restricted = fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
        if restricted.is_ok_and(|text| text.trim() == "1") {
            namespaces_forbidden_error(why, false)
        } else {
            refused("cannot make mounts private")(why)
        }
    })?;
    // Mount `/proc` of the new PID namespace. Containers may refuse this; the old one then remains.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount("proc", "/proc", "proc", flags, None);
    let mut hosts = plan.hosts_file();
    if plan.outside.is_some() {
        // Keep the names of the real network.
        hosts += &fs::read_to_string("/etc/hosts").unwrap_or_default();
    }
    replace_etc_file("hosts", &hosts).map_err(refused("cannot give hosts their names (/etc/hosts)"))?;
    // Without this file, the name server is at the default address or does not exist.
    if !Path::new("/etc/resolv.conf").exists() {
        return Ok(());
    }
    // With a gateway, its name server resolves real names; otherwise only node names exist (`dns_server.rs`).
    let server =
        plan.outside.map_or("127.0.0.1".to_owned(), |node| plan.nodes[node].addresses[0].to_string());
    let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    replace_etc_file("resolv.conf", &resolved_by(&text, &server))
        .map_err(refused("cannot name the name server (/etc/resolv.conf)"))
}

/// Returns the text of `/etc/resolv.conf` with another name server.
pub(crate) fn resolved_by(text: &str, server: &str) -> String {
    let others = text.lines().filter(|line| !line.trim_start().starts_with("nameserver"));
    others.chain([format!("nameserver {server}").as_str()]).map(|line| format!("{line}\n")).collect()
}

/// Replaces a file in `/etc` for this process and its children. The new text lives in a file system of this mount
/// namespace, to leave nothing on disk even if the process is killed.
fn replace_etc_file(name: &str, text: &str) -> Result<(), Errno> {
    let folder = std::env::temp_dir();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", &folder, "tmpfs", flags, None)?;
    let place = folder.join(name);
    let written = fs::write(&place, text).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    let mounted = written.and_then(|()| mount_bind(&place, Path::new("/etc").join(name)));
    mounted.and(unmount(&folder, UnmountFlags::DETACH))
}

/// Creates the host of a node of `plan` and its device. Leaves this thread in the host's network namespace.
///
/// # Errors
///
/// The system refuses.
pub fn create_host(plan: &Plan, node: usize) -> Result<(Host, Port), HostError> {
    let of = &plan.nodes[node];
    unshare_namespaces(UnshareFlags::NEWNET)
        .map_err(|why| HostError::new(format!("cannot make the network of `{}`", of.name), why))?;
    let port = tun::create_device(DEVICE)?;
    // No router answers the solicitations of a host on a new link.
    for (setting, value) in [("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_ra", "0")] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{DEVICE}/{setting}"), value);
    }
    if plan.signals_feedback_by_ce {
        // Marks need TCP with ECN. A kernel without the setting has no ECN.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_ecn", "1");
    }
    let mut netlink = Netlink::new()?;
    let (loopback, device) = (netlink.index("lo")?, netlink.index(DEVICE)?);
    netlink.up(loopback, None, None)?;
    netlink.up(device, Some(of.mtu), Some(DEVICE_QUEUE_PACKETS))?;
    for address in of.addresses {
        let set = netlink.address(device, address);
        if address.is_ipv4() || (plan.has_v6() && Path::new("/proc/sys/net/ipv6").exists()) {
            set?;
            if plan.outside == Some(node) {
                netlink.everywhere(loopback, device, network_prefix(address))?;
            }
        }
    }
    if plan.outside == Some(node) {
        // Data buffered here has not yet entered the network behind.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 524288");
    }
    let names = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let names = names.map_err(|why| HostError::new("cannot keep a network namespace", why))?;
    Ok((Host { node, names }, port))
}

impl Host {
    /// Duplicates the host for another thread.
    ///
    /// # Errors
    ///
    /// The system is out of file descriptors.
    pub fn another(&self) -> std::io::Result<Self> {
        Ok(Self { node: self.node, names: self.names.try_clone()? })
    }

    /// Moves this thread and its future children into the host's network namespace.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn enter(&self) -> Result<(), HostError> {
        let moved = move_into_link_name_space(self.names.as_fd(), Some(LinkNameSpaceType::Network));
        moved.map_err(|why| HostError::new("cannot enter a network namespace", why))
    }

    /// Returns the number of sent packets that the device dropped before they were read. Leaves this thread in the
    /// host's network namespace.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn dropped(&self) -> Result<u64, HostError> {
        self.enter()?;
        let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
        Ok(dropped_in(&text))
    }
}

/// Returns the transmit drop count: the fourth of the second eight columns.
pub(crate) fn dropped_in(text: &str) -> u64 {
    let counts = text.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'));
    counts.and_then(|counts| counts.split_whitespace().nth(11)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that a parent that ended before the signal was set is detected through either end of a pipe, and a live
    /// one is not.
    #[test]
    fn a_parent_that_is_gone_already_is_noticed() {
        std::thread::spawn(|| {
            for parent_reads in [false, true] {
                let (reader, writer) = std::io::pipe().unwrap();
                let [child_end, parents]: [OwnedFd; 2] = if parent_reads {
                    [writer.into(), reader.into()]
                } else {
                    [reader.into(), writer.into()]
                };
                // The parent of this thread is the test program, so only the pipe counts here.
                assert!(end_with_parent(child_end.as_fd()).is_ok());
                drop(parents);
                assert!(end_with_parent(child_end.as_fd()).is_err());
            }
            set_parent_process_death_signal(None).unwrap();
        })
        .join()
        .unwrap();
    }

    #[test]
    fn another_name_server_takes_the_place_of_all() {
        let text = "search example.org\nnameserver 127.0.0.53\n nameserver ::1\noptions edns0";
        assert_eq!(
            resolved_by(text, "10.71.0.2"),
            "search example.org\noptions edns0\nnameserver 10.71.0.2\n"
        );
    }

    #[test]
    fn drops_are_read_where_the_system_writes_them() {
        let text = "Inter-|   Receive                            |  Transmit\n\
             face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n\
             lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n  \
             thalweg0:     100       1    2    3    4     5          6         7        8      9    10    11    12     13       14          15\n";
        assert_eq!((dropped_in(text), dropped_in("")), (11, 0));
    }
}
