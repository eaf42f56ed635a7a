//! The loop between devices and network, by the clock of this host.

use crate::capture::Capture;
use crate::emulator::{Delivery, Emulator};
use crate::fidelity::Fidelity;
use crate::forward::Door;
use crate::port::Port;
use crate::runs::{Runs, Told};
use crate::segments::cut;
use crate::urgent;
use crate::watch::{self, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use thalweg_proto::units::{Duration, Time};

/// The device of a host.
#[derive(Debug)]
pub struct Device {
    /// The number of its node.
    pub node: usize,
    /// The device, which does not wait.
    pub port: Port,
    /// The door of the way out, if it leads there.
    pub door: Option<Door>,
}

/// A capture in a file, of all threads that move packets.
pub type FileCapture = Mutex<Capture<BufWriter<File>>>;

/// The outcome of a run.
#[derive(Debug)]
pub struct Driven {
    /// The network.
    pub emulator: Emulator,
    /// The account of how late this host was.
    pub fidelity: Fidelity,
}

/// Those who look at a network beside it.
#[derive(Clone, Debug, Default)]
pub struct Onlookers {
    /// The file for all that hosts send and get.
    pub capture: Option<Arc<FileCapture>>,
    /// The place for the state of the network, four times a second.
    pub watch: Option<Arc<Watch>>,
}

/// Packets that are taken from a device before others have their turn.
const BATCH: u64 = 64;
/// The event of what ends the run.
const STOP: u64 = u64::MAX;
/// The thread sleeps for a time between two looks where so many packets come and leave in each [`WHILE`] (wake-up coalescing): the packets
/// that wait for its next look are then moved together, and their reader is woken once for several. A timer and a wake-up cost some
/// microseconds each, on virtual machines ten or more.
const PAUSE: (Duration, u64) = (Duration::from_micros(20), 100);
/// The same with more hosts than [`FEW_HOSTS`]: packets for different ones cannot be handed over together.
const PAUSE_OF_MANY: (Duration, u64) = (Duration::from_micros(60), 40);
const FEW_HOSTS: usize = 8;
const WHILE: Duration = Duration::from_millis(1);
/// Devices that one call tells of.
const EVENTS: usize = 64;
/// The largest packet, or run of packets, with what stands before it.
const LARGEST: usize = 1 << 17;

/// Moves packets between devices and network until `stop` can be read, or the run has come to its end. `began` is when its time is
/// zero.
///
/// # Errors
///
/// A device fails.
pub fn drive(
    mut emulator: Emulator,
    devices: &[Device],
    stop: BorrowedFd<'_>,
    began: Instant,
    onlookers: &Onlookers,
) -> io::Result<Driven> {
    urgent::make_urgent();
    let waits = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let add = |file: BorrowedFd<'_>, number| {
        epoll::add(&waits, file, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
    };
    add(stop, STOP)?;
    let (capture, watch) = (onlookers.capture.as_deref(), onlookers.watch.as_deref());
    // In captures hosts are numbered.
    let mut numbers = vec![None; emulator.plan().nodes.len()];
    (0..).zip(emulator.plan().hosts()).for_each(|(number, (node, _))| numbers[node] = Some(number));
    let clock = Clock(began);
    let captured = |node: usize, inbound: bool, bytes: &[u8]| {
        if let (Some(capture), Some(number)) = (capture, numbers[node]) {
            let mut capture = capture.lock().unwrap_or_else(PoisonError::into_inner);
            capture.packet(number, clock.now().as_picos() / 1000, inbound, bytes);
        }
    };
    let mut interfaces = Vec::new();
    for (number, device) in (0..).zip(devices) {
        add(device.port.as_fd(), number)?;
        interfaces.resize(interfaces.len().max(device.node + 1), None);
        // The first of a node is the one that its packets go to.
        interfaces[device.node].get_or_insert((number as usize, device));
    }
    let processor = rustix::time::ClockId::ThreadCPUTime;
    let mut fidelity = Fidelity { threads: 1, ..Fidelity::default() };
    let mut events = Vec::with_capacity(EVENTS);
    let mut buffer = vec![0; LARGEST];
    let mut runs: Vec<Runs> = devices.iter().map(|_| Runs::default()).collect();
    // Devices with runs that wait to be handed over.
    let mut touched = Vec::new();
    let mut looked = clock.now();
    let mut seen = Time::ZERO;
    let mut pace = Pace::default();
    let (pause, busy) = if devices.len() > FEW_HOSTS { PAUSE_OF_MANY } else { PAUSE };
    loop {
        let mut out = 0;
        let mut failed = None;
        let mut told = |what| match what {
            Told::Leaves(at) => fidelity.leave(at, clock.now()),
            Told::Refused(Errno::AGAIN | Errno::NOBUFS | Errno::INVAL, packets) => {
                fidelity.refused += packets;
            }
            Told::Refused(error, _) => failed = Some(error),
        };
        emulator.advance(clock.now(), |Delivery { node, at, bytes }| {
            let Some((interface, device)) = interfaces.get(node).copied().flatten() else { return };
            out += 1;
            captured(node, true, &bytes);
            if device.door.as_ref().is_some_and(|door| door.keeps(&bytes)) {
                return told(Told::Leaves(at));
            }
            if runs[interface].is_empty() {
                touched.push(interface);
            }
            runs[interface].add(&device.port, at, bytes, &mut told);
        });
        for interface in touched.drain(..) {
            runs[interface].flush(&devices[interface].port, &mut told);
        }
        fidelity.burst = fidelity.burst.max(out);
        pace.moved += out;
        if let Some(error) = failed {
            return Err(error.into());
        }
        if emulator.is_over() {
            break;
        }
        let mut next = emulator.next();
        if let Some(watch) = watch {
            let now = clock.now();
            if now >= seen {
                watch.look(now, &emulator, &fidelity);
                seen = now + watch::EVERY;
            }
            next = Some(next.map_or(seen, |next| next.min(seen)));
        }
        events.clear();
        let now = clock.now();
        let coalesces = pace.coalesces(now, busy) && next.is_some_and(|next| next.since(now) < pause);
        let wait = wait(next, now);
        let slept = !coalesces && wait.is_none_or(|wait| wait.tv_sec > 0 || wait.tv_nsec > 0);
        if coalesces {
            std::thread::sleep(std::time::Duration::from_nanos(pause.as_picos() / 1000));
        } else if slept {
            // To the nanosecond; the wait for events alone would be one of whole milliseconds.
            match poll(&mut [PollFd::new(&waits, PollFlags::IN)], wait.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match epoll::wait(&waits, rustix::buffer::spare_capacity(&mut events), Some(&Timespec::default())) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if events.iter().any(|event| event.data.u64() == STOP) {
            break;
        }
        // Nothing was there to see when it went to sleep.
        let now = clock.now();
        let since = if slept && !events.is_empty() { Duration::ZERO } else { now.since(looked) };
        looked = now;
        let mut came = 0;
        for event in &events {
            let Some(device) = devices.get(event.data.u64() as usize) else { continue };
            let most = came + BATCH;
            while came < most {
                let (offload, bytes) = match device.port.read(&mut buffer) {
                    Ok(read) => read,
                    Err(Errno::AGAIN | Errno::INTR) => break,
                    Err(error) => return Err(error.into()),
                };
                let now = clock.now();
                cut(offload, bytes, |packet| {
                    came += 1;
                    captured(device.node, false, &packet);
                    emulator.enter(now, device.node, packet);
                });
            }
        }
        for door in devices.iter().filter_map(|device| device.door.as_ref()) {
            door.signals().into_iter().for_each(|(ends, signal)| emulator.congested(ends, signal));
        }
        fidelity.look(since, came);
        pace.moved += came;
    }
    fidelity.shortest = emulator.shortest();
    fidelity.elapsed = clock.now().since(Time::ZERO);
    let busy = rustix::time::clock_gettime(processor);
    fidelity.busy = Duration::from_secs(busy.tv_sec as u64) + Duration::from_nanos(busy.tv_nsec as u64);
    Ok(Driven { emulator, fidelity })
}

/// The number of packets that are moved.
#[derive(Debug, Default)]
struct Pace {
    moved: u64,
    /// The beginning of the time for which they are counted, and what came out of the last one.
    since: Time,
    is_busy: bool,
}

impl Pace {
    /// True where there are at least so many that the thread may wait between looks.
    fn coalesces(&mut self, now: Time, busy: u64) -> bool {
        if now.since(self.since) >= WHILE {
            self.is_busy = self.moved >= busy && now.since(self.since) < WHILE * 2;
            self.moved = 0;
            self.since = now;
        }
        self.is_busy
    }
}

/// The time that a run has taken.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    fn now(self) -> Time {
        let nanos = u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::ZERO + Duration::from_nanos(nanos)
    }
}

/// The time to wait for what is next; none where nothing is.
fn wait(next: Option<Time>, now: Time) -> Option<Timespec> {
    let nanos = next?.since(now).as_picos().div_ceil(1000);
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    Some(Timespec { tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX), tv_nsec: nanos as i64 })
}
