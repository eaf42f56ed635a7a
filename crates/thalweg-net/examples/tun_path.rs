//! A path between two TUN devices, for programs that `thalweg impair` cannot relay, such as the TCP of a kernel.
//!
//! Each direction is the same [`Line`] as there. Standard input and standard output are the two devices, opened without
//! packet information and not to block: that takes rights which this program does not need. Arguments are what happens on
//! the way from the first device to the second, what happens on the way back, and the seed:
//!
//! ```text
//! tun_path rate=20Mbit/s,delay=50ms,loss=1% delay=50ms 1
//! ```
//!
//! When a device goes away, the program prints what it counted to standard error and ends. Packets are not marked (ECN).

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::error::Error;
use std::os::fd::{AsFd as _, BorrowedFd};
use thalweg_net::flow::Registry;
use thalweg_net::impair::{DirectionSpec, Line, Parcel};
use thalweg_net::live::Clock;
use thalweg_proto::Ecn;
use thalweg_proto::units::{Duration, Time};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [there, back, seed] = arguments.as_slice() else {
        return Err("usage: tun_path THERE BACK SEED, with TUN devices as standard input and output".into());
    };
    let line = |options: &str, number| -> Result<Line, Box<dyn Error>> {
        let mut spec = DirectionSpec::default();
        spec.set_all(options, &Registry::default())?;
        spec.check()?;
        Ok(Line::new(&spec, seed.parse()?, number))
    };
    let mut lines = [line(there, 0)?, line(back, 1)?];
    let (input, output) = (std::io::stdin(), std::io::stdout());
    let devices = [input.as_fd(), output.as_fd()];
    let unsent = relay(devices, &mut lines)?;
    let [there, back] = lines.map(|line| line.stats());
    eprintln!("there: {there:?}\nback: {back:?}\nunsent: {unsent}");
    Ok(())
}

/// Relays until a device is gone; how many packets a device did not take.
fn relay(devices: [BorrowedFd<'_>; 2], lines: &mut [Line; 2]) -> Result<u64, Errno> {
    let clock = Clock::new();
    let mut buffer = vec![0; 1 << 16];
    let mut unsent = 0;
    loop {
        for way in 0..2 {
            while let Some(parcel) = lines[way].poll(clock.now()) {
                match rustix::io::write(devices[1 - way], &parcel.bytes) {
                    Ok(_) => {}
                    Err(Errno::AGAIN | Errno::NOBUFS) => unsent += 1,
                    Err(error) => return ended(error, unsent),
                }
            }
        }
        wait(devices, lines.iter().filter_map(Line::next).min(), clock.now())?;
        for way in 0..2 {
            for _ in 0..BATCH {
                match rustix::io::read(devices[way], &mut buffer) {
                    Ok(length) => {
                        let bytes = buffer[..length].to_vec();
                        let parcel = Parcel { bytes, header: 0, flow: 0, ecn: Ecn::NotEct };
                        lines[way].arrive(clock.now(), parcel);
                    }
                    Err(Errno::AGAIN) => break,
                    Err(error) => return ended(error, unsent),
                }
            }
        }
    }
}

/// Packets taken from a device before the other has its turn.
const BATCH: usize = 64;

/// A device that was taken away says so.
fn ended(error: Errno, unsent: u64) -> Result<u64, Errno> {
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
