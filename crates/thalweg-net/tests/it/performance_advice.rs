//! Advice of senders over whole connections in simulated time: given where it is correct, and only there.

use crate::endpoint_pair::{Channel, Pair, pattern};
use thalweg_catalog::Registry;
use thalweg_net::impair::{DirectionSpec, LinkDirection};
use thalweg_net::performance_advice::{Advice, Advisor, RECOMMENDED_SCHEME};
use thalweg_proto::units::Duration;

/// Returns the observations of a sender after some seconds of a transfer through this line, with 50 ms back. With
/// `app_limited_bytes`, the application writes that many bytes every 100 ms only.
fn advice_for_path(scheme: &str, line: &str, seconds: u64, app_limited_bytes: Option<usize>) -> Advisor {
    advice_and_bytes(scheme, line, seconds, app_limited_bytes).0
}

/// Returns the observations and the number of bytes carried.
fn advice_and_bytes(
    scheme: &str,
    line: &str,
    seconds: u64,
    app_limited_bytes: Option<usize>,
) -> (Advisor, usize) {
    let channel = Channel { delay: Duration::from_millis(50), ..Channel::default() };
    let mut pair = Pair::new(3, channel);
    let mut spec = DirectionSpec::default();
    spec.set_all(line, &Registry::default()).unwrap();
    pair.bottleneck = Some(LinkDirection::new(&spec, 3, 0));
    pair.connect(scheme);
    let all = pattern(3, 4_000_000);
    let (mut advisor, mut bytes) = (Advisor::default(), 0);
    let begun = pair.now;
    let mut last_write = begun;
    pair.run(Duration::from_secs(seconds + 10), |pair| {
        let now = pair.now;
        // The stream never ends.
        match app_limited_bytes {
            Some(bytes) if now.since(last_write) >= Duration::from_millis(100) => {
                last_write = now;
                pair.ends[0].write(&all[..bytes]);
                pair.ends[0].finish = false;
            }
            None if pair.ends[0].to_write.len() < 100 => {
                pair.ends[0].write(&all);
                pair.ends[0].finish = false;
            }
            _ => {}
        }
        bytes += pair.ends[1].received.len();
        pair.ends[1].received.clear();
        let handle = pair.ends[0].handle;
        if let Some(session) = handle.and_then(|handle| pair.ends[0].endpoint.session(handle)) {
            advisor.observe(now, &session.stats(now));
        }
        now.since(begun) >= Duration::from_secs(seconds)
    });
    (advisor, bytes)
}

/// On each lossy path, the recommended scheme reaches at least 90 % of the highest throughput of all candidates, and more than
/// twice that of `cubic`, whose user is advised to change.
#[test]
fn the_scheme_that_is_advised_is_the_best_one() {
    for (loss, rest) in [
        ("0.3%", "rate=50Mbit/s,delay=50ms,buffer=625kB"),
        ("1%", "rate=10Mbit/s,delay=5ms,buffer=62kB"),
        ("1%", "rate=200Mbit/s,delay=5ms,buffer=625kB"),
        ("1%", "rate=50Mbit/s,delay=150ms,buffer=2500kB"),
        ("3%", "rate=50Mbit/s,delay=5ms,buffer=312kB"),
        ("5%", "rate=10Mbit/s,delay=50ms,buffer=125kB"),
        ("10%", "rate=50Mbit/s,delay=5ms,buffer=312kB"),
        ("10%", "rate=50Mbit/s,delay=50ms,buffer=625kB"),
        ("10%", "rate=200Mbit/s,delay=50ms,buffer=2500kB"),
    ] {
        let line = format!("{rest},loss={loss}");
        let unadvised = advice_and_bytes("cubic", &line, 15, None).1;
        let got: Vec<(&str, usize)> = [RECOMMENDED_SCHEME, "bbr", "copa", "sscop-rate", "newreno"]
            .map(|of| (of, advice_and_bytes(of, &line, 15, None).1))
            .into();
        let best = got.iter().map(|(_, bytes)| *bytes).max().unwrap();
        let advised = got.iter().find(|(of, _)| *of == RECOMMENDED_SCHEME).unwrap().1;
        assert!(10 * advised >= 9 * best && advised > 2 * unadvised, "{line}: cubic {unadvised}, {got:?}");
    }
}

#[test]
fn wire_losses_are_distinguished_from_congestion() {
    for (scheme, line, share, seconds) in [
        ("cubic", "rate=100Mbit/s,delay=50ms,loss=1%,buffer=1250kB", 0.01, 60),
        ("cubic", "rate=20Mbit/s,delay=50ms,loss=0.5%,buffer=250kB", 0.005, 60),
        // The length of a short benchmark, with about a dozen losses.
        ("cubic", "rate=100Mbit/s,delay=50ms,loss=1%,buffer=1250kB", 0.01, 10),
        ("newreno", "rate=100Mbit/s,delay=50ms,loss=1%,buffer=1250kB", 0.01, 10),
        // A third of the path's capacity, and a few packets per round trip.
        ("cubic", "rate=20Mbit/s,delay=50ms,loss=0.05%,buffer=250kB", 0.0005, 30),
        ("newreno", "rate=20Mbit/s,delay=50ms,loss=0.05%,buffer=250kB", 0.0005, 30),
        ("cubic", "rate=100Mbit/s,delay=50ms,loss=3%,buffer=1250kB", 0.03, 30),
        ("cubic", "rate=20Mbit/s,delay=250ms,loss=1%,buffer=1250kB", 0.01, 30),
    ] {
        let advice = advice_for_path(scheme, line, seconds, None).advice_on_wire_losses();
        let Some(Advice::WireLosses { peak_carried, sent, share: seen }) = advice else {
            panic!("{scheme} {line}: {advice:?}")
        };
        let max: f64 = if line.contains("100M") { 100e6 } else { 20e6 };
        assert!(peak_carried.as_f64() <= max && sent.as_f64() <= 0.7 * peak_carried.as_f64(), "{advice:?}");
        assert!((seen / share - 1.0).abs() < 1.5, "{line}: {seen}");
    }
}

#[test]
fn overflowing_queues_cause_no_advice() {
    for line in [
        // Buffers of one bandwidth-delay product, of a twentieth and a tenth, and with AQM.
        "rate=20Mbit/s,delay=50ms,buffer=250kB",
        "rate=20Mbit/s,delay=50ms,buffer=12kB",
        "rate=20Mbit/s,delay=50ms,buffer=24kB",
        "rate=100Mbit/s,delay=50ms,buffer=60kB",
        "rate=20Mbit/s,delay=50ms,queue=codel,buffer=2000pkt",
        "rate=20Mbit/s,delay=50ms,queue=pie,buffer=2000pkt",
    ] {
        for scheme in ["cubic", "newreno:ecn=false"] {
            for seconds in [10, 40] {
                let advice = advice_for_path(scheme, line, seconds, None).advice_on_wire_losses();
                assert_eq!(advice, None, "{scheme} {line}, {seconds} s");
            }
        }
    }
}

#[test]
fn application_limited_senders_get_no_advice() {
    // 0.4 Mbit/s with 0.5 % of losses; `cubic` would reach 1.7 Mbit/s.
    let advisor =
        advice_for_path("cubic", "rate=100Mbit/s,delay=50ms,loss=0.5%,buffer=1250kB", 40, Some(5_000));
    assert_eq!(advisor.advice_on_wire_losses(), None);
}

#[test]
fn only_rates_above_the_path_capacity_cause_advice() {
    let line = "rate=20Mbit/s,delay=50ms,buffer=250kB";
    for rate in ["40Mbit/s", "30Mbit/s"] {
        let advice = advice_for_path(&format!("sstp:rate={rate}"), line, 10, None).advice_on_excessive_rate();
        let Some(Advice::ExcessiveRate {
            delivery_rate,
            share,
            was_queued,
            queue_was_long: true,
            mtu_reduced: false,
        }) = advice
        else {
            panic!("{advice:?}")
        };
        // Headers take 4 % of the path.
        assert!(
            (0.85..=1.0).contains(&(delivery_rate.as_f64() / 20e6)) && share > 0.1 && was_queued,
            "{advice:?}"
        );
    }
    assert_eq!(advice_for_path("sstp:rate=18Mbit/s", line, 10, None).advice_on_excessive_rate(), None);
    // At this loss rate no queue builds up.
    let line = "rate=20Mbit/s,delay=50ms,loss=15%,buffer=250kB";
    let advice = advice_for_path("sstp:rate=10Mbit/s", line, 10, None).advice_on_excessive_rate();
    assert!(matches!(advice, Some(Advice::ExcessiveRate { was_queued: false, .. })), "{advice:?}");
}

/// Copa keeps a short queue on purpose: a tenth of losses on the wire is not a sign of an excessive rate.
#[test]
fn a_queue_that_a_scheme_keeps_on_purpose_is_not_full() {
    let line = "rate=50Mbit/s,delay=10ms,loss=12%,buffer=1MB";
    let advice = advice_for_path("copa", line, 10, None).advice_on_excessive_rate();
    assert!(matches!(advice, Some(Advice::ExcessiveRate { queue_was_long: false, .. })), "{advice:?}");
    let line = "rate=20Mbit/s,delay=10ms,buffer=1MB";
    let advice = advice_for_path("fixed:window=2000pkt", line, 10, None).advice_on_excessive_rate();
    assert!(matches!(advice, Some(Advice::ExcessiveRate { queue_was_long: true, .. })), "{advice:?}");
}
