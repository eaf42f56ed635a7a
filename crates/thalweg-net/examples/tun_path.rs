//! A path between two TUN devices, for traffic that `thalweg impair` cannot relay, such as a kernel's TCP.
//!
//! Each direction is the same [`LinkDirection`] as there. Standard input and standard output are the two devices, opened
//! non-blocking and without packet information: opening them needs privileges that this program does not need. The
//! arguments are the options from the first device to the second, the options of the return direction, and the seed:
//!
//! ```text
//! tun_path rate=20Mbit/s,delay=50ms,loss=1% delay=50ms 1
//! ```
//!
//! Three more arguments may follow: the name of a link, and the number of packets before data in each direction. The
//! n-th packet after those then meets the same impairments as the n-th packet on a simulated link of that name under
//! that seed.
//!
//! When a device is removed, the program prints its counters to standard error, with the median and the 99th percentile
//! of the lateness of departures, and ends. Packets carry no ECN marks.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::error::Error;
use std::os::fd::{AsFd as _, BorrowedFd};
use thalweg_net::flow::Registry;
use thalweg_net::impair::{DelayedDatagram, DirectionSpec, LinkDirection};
use thalweg_net::live::Clock;
use thalweg_proto::Ecn;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Duration, Time};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (there, back, seed, twin) = match arguments.as_slice() {
        [there, back, seed] => (there, back, seed, None),
        [there, back, seed, link, before, behind] => (there, back, seed, Some((link, [before, behind]))),
        _ => {
            let usage = "usage: tun_path THERE BACK SEED [LINK COUNT COUNT], with TUN devices as standard input and output";
            return Err(usage.into());
        }
    };
    let seed: u64 = seed.parse()?;
    let line = |options: &str, number: usize| -> Result<LinkDirection, Box<dyn Error>> {
        let mut spec = DirectionSpec::default();
        spec.set_all(options, &Registry::default())?;
        spec.check()?;
        Ok(match twin {
            None => LinkDirection::new(&spec, seed, number as u64),
            Some((link, spared)) => LinkDirection::for_link(&spec, seed, number as u64, link)
                .exempting_first(spared[number].parse()?),
        })
    };
    let mut lines = [line(there, 0)?, line(back, 1)?];
    let (input, output) = (std::io::stdin(), std::io::stdout());
    let devices = [input.as_fd(), output.as_fd()];
    let mut late = Late::default();
    let unsent = relay(devices, &mut lines, &mut late)?;
    let [there, back] = lines.map(|line| line.stats());
    eprintln!("there: {there:?}\nback: {back:?}\nunsent: {unsent}");
    eprintln!("late: {} {} ns", late.quantile(50).as_picos() / 1000, late.quantile(99).as_picos() / 1000);
    Ok(())
}

/// Uniform random sample of the lateness of departures.
struct Late {
    kept: Vec<Duration>,
    seen: u64,
    stream: RandomStream,
}

/// Sample size; enough for the 99th percentile.
const SAMPLE_SIZE: usize = 10_000;

impl Default for Late {
    fn default() -> Self {
        Self { kept: Vec::new(), seen: 0, stream: RandomStream::new(0, "late", 0) }
    }
}

impl Late {
    fn add(&mut self, late: Duration) {
        self.seen += 1;
        if self.kept.len() < SAMPLE_SIZE {
            self.kept.push(late);
        } else if let Some(kept) = self.kept.get_mut(self.stream.below(self.seen) as usize) {
            *kept = late;
        }
    }

    fn quantile(&mut self, percent: usize) -> Duration {
        self.kept.sort_unstable();
        self.kept.get(self.kept.len() * percent / 100).copied().unwrap_or_default()
    }
}

/// Relays until a device is removed; returns the number of packets that a device refused.
fn relay(
    devices: [BorrowedFd<'_>; 2],
    lines: &mut [LinkDirection; 2],
    late: &mut Late,
) -> Result<u64, Errno> {
    let clock = Clock::new();
    let mut buffer = vec![0; 1 << 16];
    let mut unsent = 0;
    loop {
        for direction in 0..2 {
            loop {
                let (due, now) = (lines[direction].due(), clock.now());
                let Some(datagram) = lines[direction].poll(now) else { break };
                late.add(now.since(due.unwrap_or(now)));
                match rustix::io::write(devices[1 - direction], &datagram.bytes) {
                    Ok(_) => {}
                    Err(Errno::AGAIN | Errno::NOBUFS) => unsent += 1,
                    Err(error) => return end_on_removed_device(error, unsent),
                }
            }
        }
        wait(devices, lines.iter().filter_map(LinkDirection::next).min(), clock.now())?;
        for direction in 0..2 {
            for _ in 0..BATCH {
                match rustix::io::read(devices[direction], &mut buffer) {
                    Ok(length) => {
                        let bytes = buffer[..length].to_vec();
                        let datagram = DelayedDatagram { bytes, header: 0, flow: 0, ecn: Ecn::NotEct };
                        lines[direction].arrive(clock.now(), datagram);
                    }
                    Err(Errno::AGAIN) => break,
                    Err(error) => return end_on_removed_device(error, unsent),
                }
            }
        }
    }
}

/// Maximum packets read from a device before the other is served.
const BATCH: usize = 64;

/// Returns the count if the error means a removed device.
fn end_on_removed_device(error: Errno, unsent: u64) -> Result<u64, Errno> {
    match error {
        Errno::IO | Errno::BADFD | Errno::NODEV => Ok(unsent),
        error => Err(error),
    }
}

/// Waits for a packet, or until `next`.
fn wait(devices: [BorrowedFd<'_>; 2], next: Option<Time>, now: Time) -> Result<(), Errno> {
    let span = next.map_or(Duration::from_secs(1), |next| next.since(now).min(Duration::from_secs(1)));
    let nanos = span.as_picos().div_ceil(1000) as i64;
    let span = Timespec { tv_sec: nanos / 1_000_000_000, tv_nsec: nanos % 1_000_000_000 };
    let mut fds = devices.map(|device| PollFd::from_borrowed_fd(device, PollFlags::IN));
    match poll(&mut fds, Some(&span)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error),
    }
}
