//! Explicit congestion notification (RFC 3168) end to end: marks avoid losses, and a path that drops ECN-capable
//! packets still carries the stream.

use crate::endpoint_pair::{Channel, Pair, pattern};
use thalweg_net::flow::Registry;
use thalweg_net::impair::{DirectionSpec, LinkDirection};
use thalweg_net::session::{EcnState, SessionStats};
use thalweg_proto::units::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// Schemes that react to a mark like to a loss.
const SCHEMES: [&str; 4] = ["slow-start", "newreno", "vegas", "cubic"];

/// Returns the counters of the client.
fn stats(pair: &mut Pair) -> SessionStats {
    let (now, handle) = (pair.now, pair.ends[0].handle.unwrap());
    pair.ends[0].endpoint.session(handle).unwrap().stats(now)
}

/// Returns the counters of the server.
fn receiver_stats(pair: &mut Pair) -> SessionStats {
    let (now, handle) = (pair.now, pair.ends[1].handle.unwrap());
    pair.ends[1].endpoint.session(handle).unwrap().stats(now)
}

/// Returns the retransmissions of a transfer through a queue that marks, its duration, and the number of marks.
fn through_codel(scheme: &str) -> (u64, Duration, u64) {
    let mut spec = DirectionSpec::default();
    spec.set_all("rate=20Mbit/s,delay=10ms,queue=codel,buffer=2000pkt", &Registry::default()).unwrap();
    let mut pair = Pair::new(31, Channel::default());
    pair.bottleneck = Some(LinkDirection::new(&spec, 1, 0));
    let start = pair.now;
    pair.transfer(scheme, 31, [8_000_000, 0], MINUTE);
    let marked = pair.bottleneck.as_ref().unwrap().stats().marked;
    let seen = receiver_stats(&mut pair).marked;
    assert!(seen <= marked && marked - seen <= 1, "{marked} were marked, {seen} seen");
    let SessionStats { sending, .. } = stats(&mut pair);
    assert_eq!(sending.mark_cuts > 0, marked > 0);
    (sending.sender.retransmissions, pair.now.since(start), marked)
}

#[test]
fn a_queue_that_marks_need_not_drop() {
    for scheme in ["newreno", "cubic"] {
        // Only a probe for concealed marks, which is not ECN-capable, may be dropped.
        let (again, took, marked) = through_codel(scheme);
        let (again_without, took_without, marked_without) = through_codel(&format!("{scheme}:ecn=false"));
        assert!(marked > 0 && marked_without == 0);
        assert!(again <= 1 && again_without >= 5, "{scheme}: {again} with marks, {again_without} without");
        assert!(
            took < took_without + took_without / 10,
            "{scheme}: {took} with marks, {took_without} without"
        );
    }
}

#[test]
fn data_may_be_marked_where_the_path_lets_it_pass() {
    for scheme in SCHEMES {
        let mut pair = Pair::new(32, Channel { loss: 0.02, ..Channel::default() });
        pair.transfer(scheme, 32, [200_000, 200_000], MINUTE * 5);
        assert_eq!(stats(&mut pair).ecn, EcnState::Capable, "{scheme}");
    }
    let mut pair = Pair::new(33, Channel::default());
    pair.transfer("cubic:ecn=false", 33, [100_000, 0], MINUTE);
    assert_eq!(stats(&mut pair).ecn, EcnState::Off);
}

/// A queue in a tunnel marks, and the tunnel's exit drops the outer header (RFC 2003).
#[test]
fn a_tunnel_that_loses_marks_ends_ecn() {
    for scheme in ["newreno", "cubic"] {
        let mut spec = DirectionSpec::default();
        let line = "rate=20Mbit/s,delay=10ms,queue=codel,buffer=2000pkt,ecn=marks-lost";
        spec.set_all(line, &Registry::default()).unwrap();
        let mut pair = Pair::new(41, Channel::default());
        pair.bottleneck = Some(LinkDirection::new(&spec, 1, 0));
        pair.transfer(scheme, 41, [30_000_000, 0], MINUTE);
        assert_eq!(stats(&mut pair).ecn, EcnState::Concealed, "{scheme}");
        assert_eq!(receiver_stats(&mut pair).marked, 0, "{scheme}");
    }
}

/// Holds RFC 9000, section 13.4.2.
#[test]
fn loss_of_ect_packets_disables_ecn() {
    for scheme in SCHEMES {
        let mut pair = Pair::new(35, Channel::default());
        let data = pattern(35, 2_000_000);
        pair.connect(scheme);
        pair.ends[0].write(&data);
        pair.ends[1].finish = true;
        pair.run(MINUTE, |pair| pair.ends[1].received.len() > 300_000);
        pair.channel.loses_ect = true;
        assert_eq!(stats(&mut pair).ecn, EcnState::Capable, "{scheme}");
        let start = pair.now;
        // Three silent expiries could be an outage: ECT is not blamed yet.
        pair.run(MINUTE, |pair| stats(pair).ecn != EcnState::Capable);
        assert_eq!(stats(&mut pair).ecn, EcnState::Untested, "{scheme}");
        // Three more after a new attempt with marks are not. What was in flight is repeated without ECT and looks lost
        // without it, until enough has been sent.
        pair.run(MINUTE, |pair| stats(pair).ecn == EcnState::Failed);
        let (took, carried) = (pair.now.since(start), pair.ends[1].received.len());
        assert!(took < Duration::from_secs(20) && carried < 1_200_000, "{scheme}: {took}, {carried} bytes");
        pair.run(MINUTE, |pair| pair.ends[0].finished);
        assert!(pair.ends[1].received == data, "{scheme}");
        assert_eq!(stats(&mut pair).ecn, EcnState::Failed, "{scheme}");
    }
}

/// Holds RFC 9000, section 13.4.2.
#[test]
fn streams_complete_on_a_path_that_drops_ect_packets() {
    // A first flight of one packet is not enough to blame ECT. It is not used either way, until 256 packets have shown
    // that others pass.
    const FIRST_FLIGHT_OF_ONE: [&str; 2] = ["slow-start", "dec-bit"];
    for scheme in SCHEMES.into_iter().chain(["dec-bit", "dctcp", "prague"]) {
        let blamed = if FIRST_FLIGHT_OF_ONE.contains(&scheme) { 600_000 } else { 300_000 };
        // An empty stream has no retransmission timer to detect the failure.
        for lengths in [[600_000, 100], [300_000, 100], [0, 1]] {
            let mut pair = Pair::new(34, Channel { loses_ect: true, ..Channel::default() });
            let start = pair.now;
            pair.transfer(scheme, 34, lengths, MINUTE);
            let expected = if lengths[0] >= blamed { EcnState::Failed } else { EcnState::Untested };
            assert_eq!(stats(&mut pair).ecn, expected, "{scheme}, {} bytes", lengths[0]);
            // After the first timeout the transfer proceeds normally, but for a new attempt with ECT.
            let took = pair.now.since(start);
            let is_tried_again = lengths[0] > 300_000 && blamed > 300_000;
            assert!(took < Duration::from_secs(if is_tried_again { 6 } else { 3 }), "{scheme}: {took}");
        }
    }
}

#[test]
fn heavy_loss_is_not_mistaken_for_an_ecn_failure() {
    for (scheme, seed) in [("newreno", 36), ("newreno", 37), ("cubic", 38), ("cubic", 39), ("cubic", 40)] {
        let mut pair = Pair::new(seed, Channel { loss: 0.4, ..Channel::default() });
        pair.transfer(scheme, seed, [60_000, 0], MINUTE * 60);
        assert_ne!(stats(&mut pair).ecn, EcnState::Failed, "{scheme}, seed {seed}");
    }
}

/// A request of one packet is often lost before the first answer, and nothing follows from it: 13 % of packets are lost in
/// each direction, whether with ECT or not.
#[test]
fn random_loss_is_not_mistaken_for_an_ecn_failure() {
    for seed in 0..40 {
        let mut pair = Pair::new(seed, Channel { loss: 0.13, ..Channel::default() });
        pair.connect("cubic");
        pair.ends[0].write(&pattern(seed, 100));
        pair.ends[0].finish = false;
        pair.run(MINUTE, |pair| pair.ends[1].received.len() == 100);
        pair.ends[0].write(&pattern(seed, 200_000));
        pair.ends[1].finish = true;
        pair.run(MINUTE * 5, |pair| pair.ends[1].received.len() == 200_100);
        assert_ne!(stats(&mut pair).ecn, EcnState::Failed, "seed {seed}");
    }
}
