//! The loop between devices and network, by the clock of this host.

use crate::capture::Capture;
use crate::emulator::{Delivery, Emulator};
use crate::fidelity::Fidelity;
use crate::forward::Door;
use crate::urgent;
use crate::watch::{self, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;
use thalweg_proto::units::{Duration, Time};

/// The device of a host.
#[derive(Debug)]
pub struct Device {
    /// The number of its node.
    pub node: usize,
    /// The device: a packet for each read and write, without waiting.
    pub file: OwnedFd,
    /// The door of the way out, if it leads there.
    pub door: Option<Door>,
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Driven<W: Write> {
    /// The network.
    pub emulator: Emulator,
    /// The account of how late this host was.
    pub fidelity: Fidelity,
    /// The capture.
    pub capture: Option<Capture<W>>,
}

/// Packets that are taken from a device before others have their turn.
const BATCH: u64 = 64;
/// The event of what ends the run.
const STOP: u64 = u64::MAX;
/// Devices that one call tells of.
const EVENTS: usize = 64;
/// The largest packet.
const LARGEST: usize = 65_536;

/// Moves packets between devices and network until `stop` can be read, or the run has come to its end. `began` is when its time is
/// zero. `watch` shows how it goes.
///
/// # Errors
///
/// A device fails.
pub fn drive<W: Write>(
    mut emulator: Emulator,
    devices: &[Device],
    stop: BorrowedFd<'_>,
    began: Instant,
    mut capture: Option<Capture<W>>,
    watch: Option<&Watch>,
) -> io::Result<Driven<W>> {
    urgent::make_urgent();
    let waits = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let add = |file: BorrowedFd<'_>, number| {
        epoll::add(&waits, file, epoll::EventData::new_u64(number), epoll::EventFlags::IN)
    };
    add(stop, STOP)?;
    let mut interfaces = Vec::new();
    for (number, device) in (0..).zip(devices) {
        add(device.file.as_fd(), number)?;
        interfaces.resize(interfaces.len().max(device.node + 1), None);
        // The first of a node is the one that its packets go to.
        interfaces[device.node].get_or_insert((number as usize, device));
    }
    let clock = Clock(began);
    let processor = rustix::time::ClockId::ThreadCPUTime;
    let mut fidelity = Fidelity::default();
    let mut events = Vec::with_capacity(EVENTS);
    let mut buffer = vec![0; LARGEST];
    let mut looked = clock.now();
    let mut seen = Time::ZERO;
    loop {
        let mut out = 0;
        let mut failed = None;
        emulator.advance(clock.now(), |Delivery { node, at, bytes }| {
            let Some((interface, device)) = interfaces.get(node).copied().flatten() else { return };
            let now = clock.now();
            fidelity.leave(at, now);
            out += 1;
            if let Some(capture) = &mut capture {
                capture.packet(interface as u32, now.as_picos() / 1000, true, &bytes);
            }
            if device.door.as_ref().is_some_and(|door| door.keeps(&bytes)) {
                return;
            }
            match rustix::io::write(&device.file, &bytes) {
                Ok(_) => {}
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::INVAL) => fidelity.refused += 1,
                Err(error) => failed = Some(error),
            }
        });
        fidelity.burst = fidelity.burst.max(out);
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
        let wait = wait(next, clock.now());
        let slept = wait.is_none_or(|wait| wait.tv_sec > 0 || wait.tv_nsec > 0);
        if slept {
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
            for _ in 0..BATCH {
                let length = match rustix::io::read(&device.file, &mut *buffer) {
                    Ok(length) => length,
                    Err(Errno::AGAIN | Errno::INTR) => break,
                    Err(error) => return Err(error.into()),
                };
                came += 1;
                let (now, bytes) = (clock.now(), &buffer[..length]);
                let interface = interfaces[device.node].map(|(interface, _)| interface as u32);
                if let (Some(capture), Some(interface)) = (&mut capture, interface) {
                    capture.packet(interface, now.as_picos() / 1000, false, bytes);
                }
                emulator.enter(now, device.node, bytes.to_vec());
            }
        }
        for door in devices.iter().filter_map(|device| device.door.as_ref()) {
            door.signals().into_iter().for_each(|(ends, signal)| emulator.congested(ends, signal));
        }
        fidelity.look(since, came);
    }
    fidelity.shortest = emulator.shortest();
    fidelity.elapsed = clock.now().since(Time::ZERO);
    let busy = rustix::time::clock_gettime(processor);
    fidelity.busy = Duration::from_secs(busy.tv_sec as u64) + Duration::from_nanos(busy.tv_nsec as u64);
    Ok(Driven { emulator, fidelity, capture })
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
