//! Windows that grow with the path, over whole connections in simulated time.

mod pair;

use pair::{Channel, Pair, pattern};
use thalweg_proto::units::{Duration, Time};

const ROUND_TRIP: Duration = Duration::from_millis(300);

/// The client's congestion window after each round trip from its first data on, with an application that always has more.
fn windows(scheme: &str, round_trips: u64) -> Vec<f64> {
    let channel = Channel { delay: ROUND_TRIP / 2, ..Channel::default() };
    let mut pair = Pair::new(1, channel);
    pair.connect(scheme);
    pair.ends[0].write(&pattern(1, 24_000_000));
    let mut windows = Vec::new();
    let mut next = Time::MAX;
    pair.run(Duration::from_secs(60), |pair| {
        let now = pair.now;
        let handle = pair.ends[0].handle;
        let session = handle.and_then(|handle| pair.ends[0].endpoint.session(handle));
        let Some(sender) = session.map(|session| session.stats(now).sending.sender) else { return false };
        if sender.sent > 0 && next == Time::MAX {
            next = now + ROUND_TRIP / 2;
        }
        if now >= next {
            next += ROUND_TRIP;
            windows.extend(sender.window);
        }
        windows.len() as u64 >= round_trips
    });
    windows
}

/// RFC 5681, section 3.1: slow start doubles the window in a round trip. Hosts that batch answer a whole batch with one
/// acknowledgement, and receivers every second segment, so that what counts is what is acknowledged (RFC 3465).
#[test]
fn slow_start_doubles_the_window_in_a_round_trip() {
    for scheme in ["cubic", "newreno"] {
        let windows = windows(scheme, 9);
        for pair in windows.windows(2) {
            assert!(pair[1] >= 1.9 * pair[0], "{scheme}: {windows:?}");
        }
    }
    // Where each acknowledgement counts once it is far from that.
    let windows = windows("cubic:byte-counting=1pkt", 9);
    assert!(windows[8] < 8.0 * windows[0], "{windows:?}");
}
