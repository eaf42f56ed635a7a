//! Namespaces: what a process and its children see of this host's network, processes and files.

use super::error::HostError;
use super::netlink::Netlink;
use super::tun;
use crate::plan::{Plan, inside};
use crate::port::Port;
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

/// The name of the device of each host.
const DEVICE: &str = "thalweg0";
/// Packets that a device holds until they are read: a full one would drop them before the network sees them.
const QUEUE: u32 = 20_000;

/// The namespaces that a process has for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// As a user who is root within them alone.
    OfUser,
    /// As root, without a namespace of users.
    OfRoot,
}

/// A host: a network namespace with a device.
#[derive(Debug)]
pub struct Host {
    /// The number of its node.
    pub node: usize,
    /// Its network namespace, for [`Host::enter`].
    names: OwnedFd,
}

fn separate(flags: UnshareFlags) -> Result<(), Errno> {
    #[allow(unsafe_code, reason = "the safe form of this call is deprecated")]
    // SAFETY: only a separate table of files (`UnshareFlags::FILES`) could take something away from another thread, and no caller
    // of this function asks for one.
    unsafe {
        unshare_unsafe(flags & !UnshareFlags::FILES)
    }
}

/// Gives this process, which must have one thread, namespaces of its own: the next child that it starts is the first process in
/// a namespace of processes, all of which end with it.
///
/// # Errors
///
/// This host gives users none.
pub fn enter() -> Result<Names, HostError> {
    let own = UnshareFlags::NEWNS | UnshareFlags::NEWNET | UnshareFlags::NEWPID;
    let is_root = rustix::process::geteuid().is_root();
    if is_root && separate(own).is_ok() {
        return Ok(Names::OfRoot);
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    separate(own | UnshareFlags::NEWUSER).map_err(|why| forbidden(why, is_root))?;
    let write = |file: &str, text: &str| {
        let errno = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        fs::write(Path::new("/proc/self").join(file), text).map_err(|error| forbidden(errno(error), is_root))
    };
    // A kernel before 3.19 has no such file and needs none.
    let _ = write("setgroups", "deny");
    write("uid_map", &format!("0 {user} 1"))?;
    write("gid_map", &format!("0 {group} 1"))?;
    Ok(Names::OfUser)
}

/// The settings that forbid users to have namespaces.
fn forbidden(why: Errno, is_root: bool) -> HostError {
    let error = HostError::new("this host gives no network namespaces", why);
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

/// Ends this process with its parent, also where the parent has ended before this call: `pipe` is one end of a pipe of which only
/// the parent has the other.
///
/// # Errors
///
/// The parent is gone (`EPIPE`), or the system refuses.
pub fn end_with_parent(pipe: BorrowedFd<'_>) -> Result<(), HostError> {
    let failed = |why| HostError::new("cannot end with the parent", why);
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    // The signal is sent for deaths from now on. An earlier one has closed the other end. Its process number would not show it: in
    // a new namespace of processes every parent is 0.
    let mut ends = [PollFd::new(&pipe, PollFlags::empty())];
    poll(&mut ends, Some(&Timespec::default())).map_err(failed)?;
    if ends[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) {
        return Err(HostError::new("the process that started this one is gone", Errno::PIPE));
    }
    Ok(())
}

/// Prepares the first process in the namespaces of [`enter`]: mounts stay among its children, and names of hosts are those of the
/// plan.
///
/// # Errors
///
/// The system refuses.
pub fn settle(plan: &Plan) -> Result<(), HostError> {
    let refused = |what: &str| {
        let what = what.to_owned();
        move |why| HostError::new(what, why)
    };
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|why| {
        let restricted = fs::read_to_string("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
        if restricted.is_ok_and(|text| text.trim() == "1") {
            forbidden(why, false)
        } else {
            refused("cannot make mounts private")(why)
        }
    })?;
    // Of the new namespace of processes. Where it is refused, in containers, the old one does.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount("proc", "/proc", "proc", flags, None);
    let mut hosts = plan.hosts_file();
    if plan.outside.is_some() {
        // Names of the real network go on to be known.
        hosts += &fs::read_to_string("/etc/hosts").unwrap_or_default();
    }
    replace("hosts", &hosts).map_err(refused("cannot give hosts their names (/etc/hosts)"))?;
    // A host without this file has its name server at the usual place, or none.
    if !Path::new("/etc/resolv.conf").exists() {
        return Ok(());
    }
    // Where the real network is, its names are; elsewhere there are those of the nodes (`names.rs`).
    let server =
        plan.outside.map_or("127.0.0.1".to_owned(), |node| plan.nodes[node].addresses[0].to_string());
    let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    replace("resolv.conf", &resolved_by(&text, &server))
        .map_err(refused("cannot name the name server (/etc/resolv.conf)"))
}

/// The text of `/etc/resolv.conf` with another name server.
fn resolved_by(text: &str, server: &str) -> String {
    let others = text.lines().filter(|line| !line.trim_start().starts_with("nameserver"));
    others.chain([format!("nameserver {server}").as_str()]).map(|line| format!("{line}\n")).collect()
}

/// Puts a file in the place of one in `/etc`, for this process and its children. Its text is in a file system of this mount
/// namespace alone, so that nothing is left on disk whenever this process is killed.
fn replace(name: &str, text: &str) -> Result<(), Errno> {
    let folder = std::env::temp_dir();
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("tmpfs", &folder, "tmpfs", flags, None)?;
    let place = folder.join(name);
    let written = fs::write(&place, text).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    let mounted = written.and_then(|()| mount_bind(&place, Path::new("/etc").join(name)));
    mounted.and(unmount(&folder, UnmountFlags::DETACH))
}

/// Makes the host of a node of `plan`, with its device. This thread is in its network namespace afterwards.
///
/// # Errors
///
/// The system refuses.
pub fn make(plan: &Plan, node: usize) -> Result<(Host, Port), HostError> {
    let of = &plan.nodes[node];
    separate(UnshareFlags::NEWNET)
        .map_err(|why| HostError::new(format!("cannot make the network of `{}`", of.name), why))?;
    let port = tun::make(DEVICE)?;
    // Nobody here answers what a host asks when it finds a new link.
    for (setting, value) in [("addr_gen_mode", "1"), ("router_solicitations", "0"), ("accept_ra", "0")] {
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{DEVICE}/{setting}"), value);
    }
    if plan.marks_feedback {
        // Where TCP does not ask for ECN there is nothing to mark. A kernel without the setting has no ECN.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_ecn", "1");
    }
    let mut netlink = Netlink::new()?;
    let (own, device) = (netlink.index("lo")?, netlink.index(DEVICE)?);
    netlink.up(own, None, None)?;
    netlink.up(device, Some(of.mtu), Some(QUEUE))?;
    for address in of.addresses {
        let set = netlink.address(device, address);
        if address.is_ipv4() || (plan.has_v6() && Path::new("/proc/sys/net/ipv6").exists()) {
            set?;
            if plan.outside == Some(node) {
                netlink.everywhere(own, device, inside(address))?;
            }
        }
    }
    if plan.outside == Some(node) {
        // What waits here is not yet in the network behind.
        let _ = fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 131072 524288");
    }
    let names = open("/proc/thread-self/ns/net", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let names = names.map_err(|why| HostError::new("cannot keep a network namespace", why))?;
    Ok((Host { node, names }, port))
}

impl Host {
    /// The same host, for another thread.
    ///
    /// # Errors
    ///
    /// The system has no more files.
    pub fn another(&self) -> std::io::Result<Self> {
        Ok(Self { node: self.node, names: self.names.try_clone()? })
    }

    /// Puts this thread, and what it starts, into the host's network.
    ///
    /// # Errors
    ///
    /// The system refuses.
    pub fn enter(&self) -> Result<(), HostError> {
        let moved = move_into_link_name_space(self.names.as_fd(), Some(LinkNameSpaceType::Network));
        moved.map_err(|why| HostError::new("cannot enter a network namespace", why))
    }

    /// Packets that programs here sent and that its device dropped before they were read. This thread is in the host's network
    /// afterwards.
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

/// The count of dropped packets that were to be sent: the fourth of the second eight columns.
fn dropped_in(text: &str) -> u64 {
    let counts = text.lines().find_map(|line| line.trim_start().strip_prefix(DEVICE)?.strip_prefix(':'));
    counts.and_then(|counts| counts.split_whitespace().nth(11)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A parent that ended before the signal was set is noticed, by either end of a pipe; one that lives is not taken for gone.
    #[test]
    fn a_parent_that_is_gone_already_is_noticed() {
        std::thread::spawn(|| {
            for parent_reads in [false, true] {
                let (reader, writer) = std::io::pipe().unwrap();
                let [own, parents]: [OwnedFd; 2] = if parent_reads {
                    [writer.into(), reader.into()]
                } else {
                    [reader.into(), writer.into()]
                };
                // Not this thread's parent, which is the test program: only the pipe counts here.
                assert!(end_with_parent(own.as_fd()).is_ok());
                drop(parents);
                assert!(end_with_parent(own.as_fd()).is_err());
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
