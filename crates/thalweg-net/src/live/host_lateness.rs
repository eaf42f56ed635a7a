//! Lateness of this host: wake-up delays, preemption, and the cost of calls and packets.

use super::host_clock::{Clock, to_timespec};
use quinn_udp::{Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, poll};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use thalweg_proto::units::{Duration, Time};

/// Measured times that the host adds to those of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Median time from the sending of a datagram until the thread that waits for it runs.
    pub wake_up_latency: Duration,
    /// 99th percentile of the same time.
    pub wake_up_latency_p99: Duration,
    /// Mean time between two preemptions of a busy thread; zero if there was none.
    pub preemption_every: Duration,
    /// Mean duration of a preemption.
    pub preemption: Duration,
    /// Cost of a send call.
    pub call: Duration,
    /// Cost of each further packet in the call.
    pub packet: Duration,
}

/// Datagram size of the measurement in bytes, and datagrams per GSO call.
pub(super) const SEGMENT: usize = 1200;
pub(super) const SEGMENTS: usize = 10;

/// Number of measured wake-ups, about half a millisecond apart.
const WAKE_UPS: usize = 1000;

/// Duration of the preemption measurement.
const MEASUREMENT_TIME: Duration = Duration::from_millis(500);

/// Minimum gap between two clock readings that counts as a preemption.
const PREEMPTION_THRESHOLD: Duration = Duration::from_micros(50);

/// Calls per timed round, and number of rounds; the fastest round had no interruption.
const CALLS_PER_ROUND: u64 = 50;
const TIMED_ROUNDS: usize = 20;

/// Measures the lateness of this host, in about 1.5 s.
///
/// # Errors
/// No socket can be created at this address.
pub(super) fn measure_lateness(local: SocketAddr, segmentation: bool) -> io::Result<Lateness> {
    let (wake_up_latency, wake_up_latency_p99) = wake_ups(local)?;
    let (preemption_every, preemption) = measure_preemptions();
    let (call, packet) = measure_send_calls(local, segmentation)?;
    Ok(Lateness { wake_up_latency, wake_up_latency_p99, preemption_every, preemption, call, packet })
}

/// Returns the median and the 99th percentile of the time from the sending of a datagram until its receiver runs.
fn wake_ups(local: SocketAddr) -> io::Result<(Duration, Duration)> {
    let (sender, receiver) = (UdpSocket::bind(local)?, UdpSocket::bind(local)?);
    sender.connect(receiver.local_addr()?)?;
    let clock = Clock::new();
    let sent = AtomicU64::new(0);
    let mut late: Vec<Duration> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1000));
            for number in 0..WAKE_UPS as u64 {
                // The intervals have no common period.
                let pause = Duration::from_micros(300 + number * 7919 % 400);
                let _ = poll(&mut [], Some(&to_timespec(pause)));
                sent.store(clock.now().as_picos(), Ordering::SeqCst);
                let _ = sender.send(&[0]);
            }
        });
        let mut late = Vec::with_capacity(WAKE_UPS);
        let mut byte = [0];
        for _ in 0..WAKE_UPS {
            if !wait_until_readable(&receiver, Duration::from_millis(200)).unwrap_or(false) {
                break;
            }
            let woken = clock.now();
            let _ = receiver.recv(&mut byte);
            // Another datagram may have been sent since.
            late.push(woken.since(Time::from_picos(sent.load(Ordering::SeqCst)).min(woken)));
        }
        late
    });
    late.sort_unstable();
    let at = |share: usize| late.get(late.len() * share / 100).copied().unwrap_or_default();
    Ok((at(50), at(99)))
}

/// Returns the mean time between preemptions of a busy thread, and their mean duration.
fn measure_preemptions() -> (Duration, Duration) {
    let clock = Clock::new();
    let (mut last, mut preemption, mut spans) = (clock.now(), Duration::ZERO, 0);
    while last.since(Time::ZERO) < MEASUREMENT_TIME {
        let now = clock.now();
        if now.since(last) > PREEMPTION_THRESHOLD {
            preemption += now.since(last);
            spans += 1;
        }
        last = now;
    }
    match spans {
        0 => (Duration::ZERO, Duration::ZERO),
        spans => (
            MEASUREMENT_TIME.saturating_sub(preemption).max(PREEMPTION_THRESHOLD) / spans,
            preemption / spans,
        ),
    }
}

/// Returns the cost of a send call with one datagram, and of each further datagram with GSO.
fn measure_send_calls(local: SocketAddr, segmentation: bool) -> io::Result<(Duration, Duration)> {
    let (sender, receiver) = (UdpSocket::bind(local)?, UdpSocket::bind(local)?);
    let sending = UdpSocketState::new((&sender).into())?;
    let destination = receiver.local_addr()?;
    let contents = [7; SEGMENT * SEGMENTS];
    let clock = Clock::new();
    let time = |contents: &[u8]| {
        let transmit =
            Transmit { destination, ecn: None, contents, segment_size: Some(SEGMENT), src_ip: None };
        let round = |_| {
            let begin = clock.now();
            for _ in 0..CALLS_PER_ROUND {
                // A datagram dropped at the receiver has the same cost.
                let _ = sending.try_send((&sender).into(), &transmit);
            }
            clock.now().since(begin) / CALLS_PER_ROUND
        };
        (0..TIMED_ROUNDS).map(round).min().unwrap_or_default()
    };
    let one = time(&contents[..SEGMENT]);
    if !segmentation {
        return Ok((Duration::ZERO, one));
    }
    let packet = time(&contents).saturating_sub(one) / (SEGMENTS as u64 - 1);
    Ok((one.saturating_sub(packet), packet))
}

/// Returns true if `socket` becomes readable within `span`.
pub(super) fn wait_until_readable(socket: &UdpSocket, span: Duration) -> io::Result<bool> {
    let mut fds = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
    Ok(poll(&mut fds, Some(&to_timespec(span)))? > 0)
}
