//! The lateness of this host: how late a thread is woken, how often the system runs something else, what calls and packets cost.

use super::clock::{Clock, timespec};
use quinn_udp::{Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_proto::units::{Duration, Time};

/// The times that a host adds to those of a path, as measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The time from a datagram's sending to the moment at which the thread that waits for it runs: the median.
    pub late: Duration,
    /// The same, of which one in a hundred is later.
    pub late_p99: Duration,
    /// The mean time for which a busy thread runs between two spans in which it does not; zero where none was seen.
    pub away_every: Duration,
    /// The mean length of such a span.
    pub away: Duration,
    /// The cost of a call that sends.
    pub call: Duration,
    /// The cost of each further packet in it.
    pub packet: Duration,
}

/// The bytes of a datagram, and the datagrams of a call, that are tried.
pub(super) const SEGMENT: usize = 1200;
pub(super) const SEGMENTS: usize = 10;

/// Wake-ups to measure, about half a millisecond apart.
const WAKE_UPS: usize = 1000;

/// The time for which a thread watches whether it runs.
const WATCHES: Duration = Duration::from_millis(500);

/// A thread that reads the clock and finds so much gone did not run meanwhile.
const AWAY: Duration = Duration::from_micros(50);

/// Calls of each kind that are timed together, and how often: the fastest were not interrupted.
const CALLS: u64 = 50;
const ROUNDS: usize = 20;

/// Measures the lateness of this host, for about a second and a half.
///
/// # Errors
/// No socket can be made at this address.
pub(super) fn measure(local: IpAddr, segmentation: bool) -> io::Result<Lateness> {
    let (late, late_p99) = wake_ups(local)?;
    let (away_every, away) = spans_away();
    let (call, packet) = calls(local, segmentation)?;
    Ok(Lateness { late, late_p99, away_every, away, call, packet })
}

/// The median and the 99 % quantile of the times from a datagram's sending to the moment at which its receiver runs.
fn wake_ups(local: IpAddr) -> io::Result<(Duration, Duration)> {
    let (sender, receiver) = (UdpSocket::bind((local, 0))?, UdpSocket::bind((local, 0))?);
    sender.connect(receiver.local_addr()?)?;
    let clock = Clock::new();
    let sent = AtomicU64::new(0);
    let mut late: Vec<Duration> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
            for number in 0..WAKE_UPS as u64 {
                // Apart by times that are no multiple of anything.
                let pause = Duration::from_micros(300 + number * 7919 % 400);
                let _ = poll(&mut [], Some(&timespec(pause)));
                sent.store(clock.now().as_picos(), Ordering::SeqCst);
                let _ = sender.send(&[0]);
            }
        });
        let mut late = Vec::with_capacity(WAKE_UPS);
        let mut byte = [0];
        for _ in 0..WAKE_UPS {
            if !readable(&receiver, Duration::from_millis(200)).unwrap_or(false) {
                break;
            }
            let woken = clock.now();
            let _ = receiver.recv(&mut byte);
            // A later one may have been sent since.
            late.push(woken.since(Time::from_picos(sent.load(Ordering::SeqCst)).min(woken)));
        }
        late
    });
    late.sort_unstable();
    let at = |share: usize| late.get(late.len() * share / 100).copied().unwrap_or_default();
    Ok((at(50), at(99)))
}

/// The mean time between spans in which a busy thread does not run, and their mean length.
fn spans_away() -> (Duration, Duration) {
    let clock = Clock::new();
    let (mut last, mut away, mut spans) = (clock.now(), Duration::ZERO, 0);
    while last.since(Time::ZERO) < WATCHES {
        let now = clock.now();
        if now.since(last) > AWAY {
            away += now.since(last);
            spans += 1;
        }
        last = now;
    }
    match spans {
        0 => (Duration::ZERO, Duration::ZERO),
        spans => (WATCHES.saturating_sub(away).max(AWAY) / spans, away / spans),
    }
}

/// The cost of a call that sends a datagram, and of each further datagram in a call, where one can send several.
fn calls(local: IpAddr, segmentation: bool) -> io::Result<(Duration, Duration)> {
    let (sender, receiver) = (UdpSocket::bind((local, 0))?, UdpSocket::bind((local, 0))?);
    let sending = UdpSocketState::new((&sender).into())?;
    let destination = receiver.local_addr()?;
    let contents = [7; SEGMENT * SEGMENTS];
    let clock = Clock::new();
    let time = |contents: &[u8]| {
        let transmit =
            Transmit { destination, ecn: None, contents, segment_size: Some(SEGMENT), src_ip: None };
        let round = |_| {
            let begin = clock.now();
            for _ in 0..CALLS {
                // What finds no room at the receiver has cost as much.
                let _ = sending.try_send((&sender).into(), &transmit);
            }
            clock.now().since(begin) / CALLS
        };
        (0..ROUNDS).map(round).min().unwrap_or_default()
    };
    let one = time(&contents[..SEGMENT]);
    if !segmentation {
        return Ok((Duration::ZERO, one));
    }
    let packet = time(&contents).saturating_sub(one) / (SEGMENTS as u64 - 1);
    Ok((one.saturating_sub(packet), packet))
}

/// True if something can be read within `span`.
pub(super) fn readable(socket: &UdpSocket, span: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
    Ok(poll(&mut fds, Some(&timespec(span)))? > 0)
}
