//! Asymmetric paths: acknowledgements on a much narrower return path leave room for other traffic, in simulated time.

use crate::endpoint_pair::{Channel, Pair, pattern};
use thalweg_net::flow::Registry;
use thalweg_net::impair::{DirectionSpec, LinkDirection, LinkDirectionStats};
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Duration;

/// Measurements of a transfer after its first second.
#[derive(Debug)]
struct Figures {
    /// Goodput, in Mbit/s.
    goodput: f64,
    /// Smoothed round-trip time at the end, in milliseconds.
    rtt: f64,
    /// Utilisation of the return path, in percent.
    share: f64,
    /// Acknowledgements sent, and those dropped on the return path.
    acks: u64,
    dropped: u64,
}

/// Runs a transfer for five seconds over paths of `there` and `back` Mbit/s with a round trip of `rtt` ms, and a queue
/// of a hundred packets before the return path.
fn transfer(scheme: &str, there: f64, back: f64, rtt: u64) -> Figures {
    transfer_with(scheme, there, back, rtt, "")
}

/// Runs the transfer with `more` options of the forward path.
fn transfer_with(scheme: &str, there: f64, back: f64, rtt: u64, more: &str) -> Figures {
    let line = |direction, rate: f64, buffer: &str| {
        let mut spec = DirectionSpec::default();
        let text = format!("rate={rate}Mbit/s,delay={}ms,mtu=1500B,buffer={buffer}", rtt / 2);
        spec.set_all(&text, &Registry::default()).unwrap();
        Some(LinkDirection::new(&spec, 1, direction))
    };
    let mut pair = Pair::new(1, Channel::default());
    let bdp = (there * rtt as f64 / 8.0 * 1000.0) as u64;
    pair.bottleneck = line(0, there, &format!("{bdp}B{more}"));
    pair.return_line = line(1, back, "100pkt");
    pair.connect(scheme);
    pair.run_applications(Duration::from_secs(10), |pair| pair.ends.iter().all(|end| end.handle.is_some()));
    let (piece, begin) = (Slice::new(pattern(7, 1 << 20)), pair.now + Duration::from_secs(1));
    let (mut before, mut received_bytes) = (LinkDirectionStats::default(), 0);
    let last = begin + Duration::from_secs(5);
    pair.run_applications(Duration::from_secs(60), |pair| {
        if pair.ends[0].to_write.is_empty() {
            pair.ends[0].to_write.push_back(piece.clone());
        }
        received_bytes += std::mem::take(&mut pair.ends[1].received).len();
        if pair.now <= begin {
            (before, received_bytes) = (pair.return_line.as_ref().unwrap().stats(), 0);
        }
        pair.wake = if pair.now < begin { begin } else { last };
        pair.now >= last
    });
    let after = pair.return_line.as_ref().unwrap().stats();
    let handle = pair.ends[0].handle.unwrap();
    let sender = pair.ends[0].endpoint.session(handle).unwrap().stats(pair.now).sending.sender;
    let acks = after.received - before.received;
    let bytes = after.delivered_bytes - before.delivered_bytes + 28 * (after.delivered - before.delivered);
    let seconds = 5.0;
    Figures {
        goodput: received_bytes as f64 * 8e-6 / seconds,
        rtt: sender.smoothed_rtt.unwrap().as_secs_f64() * 1000.0,
        share: 100.0 * bytes as f64 * 8e-6 / seconds / back,
        acks,
        dropped: after.full - before.full,
    }
}

/// Returns the scheme without requests for acknowledgements.
fn without_ack_requests(scheme: &str) -> String {
    format!("{scheme}:delayed-ack.adaptive=false")
}

/// With one acknowledgement per two segments, a return path of a fiftieth of the rate was full and dropped a quarter of
/// them, and round trips were twice as long.
#[test]
fn acknowledgements_leave_capacity_on_a_narrow_return_path() {
    for (scheme, there, back, rtt, max) in [
        ("thalweg", 50.0, 1.0, 50, 10.0),
        ("thalweg", 50.0, 1.0, 100, 11.0),
        ("thalweg", 20.0, 0.5, 50, 16.0),
        ("bbr", 50.0, 1.0, 50, 25.0),
        ("copa", 50.0, 1.0, 50, 10.0),
        ("cubic", 50.0, 1.0, 50, 21.0),
        ("newreno", 50.0, 1.0, 50, 21.0),
    ] {
        let (all, few) =
            (transfer(&without_ack_requests(scheme), there, back, rtt), transfer(scheme, there, back, rtt));
        println!("{scheme} {there}/{back} {rtt} ms: {all:.1?}\n   {few:.1?}");
        assert!(all.share > 85.0, "{scheme}: {all:?}");
        assert!(few.share < max, "{scheme}: {few:?}");
        // BBR requests an acknowledgement of every packet during loss recovery.
        assert!(scheme == "bbr" || 20 * few.dropped <= few.acks, "{scheme}: {few:?}");
        assert!(few.goodput >= 0.95 * all.goodput && few.rtt <= all.rtt + 5.0, "{scheme}: {few:?}, {all:?}");
    }
}

/// On a return path as wide as the forward path, and with losses, fewer acknowledgements cost no goodput.
#[test]
fn a_wide_return_path_is_no_slower() {
    for (scheme, rate, rtt, more) in [
        ("thalweg", 100.0, 100, ""),
        ("thalweg", 2.0, 40, ""),
        ("thalweg", 50.0, 40, ",loss=1%"),
        ("bbr", 20.0, 10, ""),
        ("bbr", 50.0, 40, ",loss=1%"),
        ("cubic", 100.0, 100, ""),
        ("newreno", 20.0, 10, ""),
        ("vegas", 20.0, 10, ""),
        ("prague", 20.0, 10, ""),
        ("copa", 20.0, 10, ""),
        ("ledbat-plus-plus", 20.0, 10, ""),
    ] {
        let all = transfer_with(&without_ack_requests(scheme), rate, rate, rtt, more);
        let few = transfer_with(scheme, rate, rate, rtt, more);
        println!("{scheme} {rate} {rtt} ms{more}: {all:.1?}\n   {few:.1?}");
        assert!(few.goodput >= 0.8 * all.goodput, "{scheme} {rate} {rtt}{more}: {few:?}, {all:?}");
        assert!(few.acks as f64 <= 1.05 * all.acks as f64, "{scheme} {rate} {rtt}{more}: {few:?}, {all:?}");
    }
}
