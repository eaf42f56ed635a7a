//! Event loop between devices and network, by the clock of this host.

use crate::emulator::{Delivery, Emulator};
use crate::fidelity_record::Fidelity;
use crate::gateway::GatewayTap;
use crate::gro::{DeliveryEvent, Runs};
use crate::gso::split_gso_buffer;
use crate::network_snapshots::{self, Watch};
use crate::pcapng_capture::Capture;
use crate::thread_priority;
use crate::tun_queue::Port;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use thalweg_proto::units::{Duration, Time};

/// Device of a host.
#[derive(Debug)]
pub struct Device {
    /// Node number of the host.
    pub node: usize,
    /// Non-blocking device.
    pub port: Port,
    /// Connection to the gateway, if the device leads there.
    pub gateway_tap: Option<GatewayTap>,
}

/// Capture file shared by all forwarding threads.
pub type FileCapture = Mutex<Capture<BufWriter<File>>>;

/// Outcome of a run.
#[derive(Debug)]
pub struct EventLoopOutcome {
    /// Network after the run.
    pub emulator: Emulator,
    /// Record of this host's lateness.
    pub fidelity: Fidelity,
}

/// Observers of a running network.
#[derive(Clone, Debug, Default)]
pub struct NetworkObservers {
    /// Capture of all packets that hosts send and receive.
    pub capture: Option<Arc<FileCapture>>,
    /// Slot for snapshots of the network, four times a second.
    pub watch: Option<Arc<Watch>>,
}

/// Maximum packets read from a device per turn.
const MAX_PACKETS_PER_TURN: u64 = 64;
/// Event id of the stop signal.
const STOP_EVENT: u64 = u64::MAX;
/// Sleep between polls for wake-up coalescing, and the minimum number of packets per [`BUSY_POLL_TIME`] that enables it. Packets
/// that wait for the next poll are then moved together, and their reader is woken once for several. A timer and a
/// wake-up cost some microseconds each, on virtual machines ten or more.
const POLL_PAUSE: (Duration, u64) = (Duration::from_micros(20), 100);
/// Same values with more hosts than [`FEW_HOSTS`]: packets for different hosts cannot be delivered together.
const PAUSE_OF_MANY: (Duration, u64) = (Duration::from_micros(60), 40);
const FEW_HOSTS: usize = 8;
const BUSY_POLL_TIME: Duration = Duration::from_millis(1);
/// Maximum events per poll.
const EVENTS: usize = 64;
/// Maximum size of a packet or GSO run with its header, in bytes.
const MAX_RUN_BYTES: usize = 1 << 17;

/// Moves packets between devices and network until `stop` is readable or the run ends. `began` is the origin of its
/// time.
///
/// # Errors
///
/// A device fails.
pub fn run_event_loop(
    mut emulator: Emulator,
    devices: &[Device],
    stop: BorrowedFd<'_>,
    began: Instant,
    observers: &NetworkObservers,
) -> io::Result<EventLoopOutcome> {
    thread_priority::raise_priority();
    let waits = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let add = |file: BorrowedFd<'_>, number| {
        epoll::add(&waits, file, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
    };
    add(stop, STOP_EVENT)?;
    let (capture, watch) = (observers.capture.as_deref(), observers.watch.as_deref());
    // Captures number the hosts.
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
        // A node's packets go to its first device.
        interfaces[device.node].get_or_insert((number as usize, device));
    }
    let processor = rustix::time::ClockId::ThreadCPUTime;
    let mut fidelity = Fidelity { threads: 1, ..Fidelity::default() };
    let mut events = Vec::with_capacity(EVENTS);
    let mut buffer = vec![0; MAX_RUN_BYTES];
    let mut runs: Vec<Runs> = devices.iter().map(|_| Runs::default()).collect();
    // Devices with runs to flush.
    let mut touched = Vec::new();
    let mut polled_at = clock.now();
    let mut seen = Time::ZERO;
    let mut pace = Pace::default();
    let (pause, busy) = if devices.len() > FEW_HOSTS { PAUSE_OF_MANY } else { POLL_PAUSE };
    loop {
        let mut out = 0;
        let mut failed = None;
        let mut on_delivery = |what| match what {
            DeliveryEvent::Leaves(at) => fidelity.leave(at, clock.now()),
            DeliveryEvent::Refused(Errno::AGAIN | Errno::NOBUFS | Errno::INVAL, packets) => {
                fidelity.refused += packets;
            }
            DeliveryEvent::Refused(error, _) => failed = Some(error),
        };
        emulator.advance(clock.now(), |Delivery { node, at, bytes }| {
            let Some((interface, device)) = interfaces.get(node).copied().flatten() else { return };
            out += 1;
            captured(node, true, &bytes);
            if device.gateway_tap.as_ref().is_some_and(|gateway_tap| gateway_tap.keeps(&bytes)) {
                return on_delivery(DeliveryEvent::Leaves(at));
            }
            if runs[interface].is_empty() {
                touched.push(interface);
            }
            runs[interface].add(&device.port, at, bytes, &mut on_delivery);
        });
        for interface in touched.drain(..) {
            runs[interface].flush(&devices[interface].port, &mut on_delivery);
        }
        fidelity.burst = fidelity.burst.max(out);
        pace.packets_moved += out;
        if let Some(error) = failed {
            return Err(error.into());
        }
        if emulator.is_over() {
            break;
        }
        let mut next = emulator.next_event_time();
        if let Some(watch) = watch {
            let now = clock.now();
            if now >= seen {
                watch.observe(now, &emulator, &fidelity);
                seen = now + network_snapshots::SNAPSHOT_INTERVAL;
            }
            next = Some(next.map_or(seen, |next| next.min(seen)));
        }
        events.clear();
        let now = clock.now();
        let coalesces = pace.coalesces(now, busy) && next.is_some_and(|next| next.since(now) < pause);
        let wait = poll_timeout(next, now);
        let slept = !coalesces && wait.is_none_or(|wait| wait.tv_sec > 0 || wait.tv_nsec > 0);
        if coalesces {
            std::thread::sleep(std::time::Duration::from_nanos(pause.as_picos() / 1000));
        } else if slept {
            // `poll` has nanosecond timeouts; the event wait alone has milliseconds.
            match poll(&mut [PollFd::new(&waits, PollFlags::IN)], wait.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match epoll::wait(&waits, rustix::buffer::spare_capacity(&mut events), Some(&Timespec::default())) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if events.iter().any(|event| event.data.u64() == STOP_EVENT) {
            break;
        }
        // Nothing was pending when the thread went to sleep.
        let now = clock.now();
        let since = if slept && !events.is_empty() { Duration::ZERO } else { now.since(polled_at) };
        polled_at = now;
        let mut received = 0;
        for event in &events {
            let Some(device) = devices.get(event.data.u64() as usize) else { continue };
            let max = received + MAX_PACKETS_PER_TURN;
            while received < max {
                let (offload, bytes) = match device.port.read(&mut buffer) {
                    Ok(read) => read,
                    Err(Errno::AGAIN | Errno::INTR) => break,
                    Err(error) => return Err(error.into()),
                };
                let now = clock.now();
                split_gso_buffer(offload, bytes, |packet| {
                    received += 1;
                    captured(device.node, false, &packet);
                    emulator.enter(now, device.node, packet);
                });
            }
        }
        for gateway_tap in devices.iter().filter_map(|device| device.gateway_tap.as_ref()) {
            gateway_tap.signals().into_iter().for_each(|(ends, signal)| emulator.congested(ends, signal));
        }
        fidelity.observe(since, received);
        pace.packets_moved += received;
    }
    fidelity.shortest = emulator.shortest();
    fidelity.elapsed = clock.now().since(Time::ZERO);
    let busy = rustix::time::clock_gettime(processor);
    fidelity.busy = Duration::from_secs(busy.tv_sec as u64) + Duration::from_nanos(busy.tv_nsec as u64);
    Ok(EventLoopOutcome { emulator, fidelity })
}

/// Rate of moved packets.
#[derive(Debug, Default)]
struct Pace {
    packets_moved: u64,
    /// Start of the counting interval.
    since: Time,
    /// Result of the previous interval.
    is_busy: bool,
}

impl Pace {
    /// Returns true if the packet rate permits sleeping between polls.
    fn coalesces(&mut self, now: Time, busy: u64) -> bool {
        if now.since(self.since) >= BUSY_POLL_TIME {
            self.is_busy = self.packets_moved >= busy && now.since(self.since) < BUSY_POLL_TIME * 2;
            self.packets_moved = 0;
            self.since = now;
        }
        self.is_busy
    }
}

/// Run clock: time since the start of the run.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    fn now(self) -> Time {
        let nanos = u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::ZERO + Duration::from_nanos(nanos)
    }
}

/// Returns the timeout until the next event; `None` if there is none.
fn poll_timeout(next: Option<Time>, now: Time) -> Option<Timespec> {
    let nanos = next?.since(now).as_picos().div_ceil(1000);
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    Some(Timespec { tv_sec: i64::try_from(seconds).unwrap_or(i64::MAX), tv_nsec: nanos as i64 })
}
