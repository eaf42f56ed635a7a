//! Periodic drains, and what they decide: competing traffic, a longer path, a lower base delay.

use super::*;

/// "Drains": if no empty path was observed for three seconds, the flow reduces its window for a round trip: by half until
/// two drains have confirmed the base delay, then by a quarter. So it knows the base delay after a minute too, and its
/// queue is as short as at the start.
#[test]
fn the_queue_is_drained_periodically() {
    let mut network = Network::steady();
    let (mut drains, mut began, mut longest) = (0, None, Duration::ZERO);
    network.run_until(60, |network| {
        let (thalweg, now) = (network.thalweg(), network.link.now);
        match (began, thalweg.drain.is_reducing()) {
            (None, true) => {
                assert_near(
                    thalweg.window_in_use() / thalweg.full_window(),
                    if drains < 2 { 0.5 } else { 0.75 },
                );
                (drains, began) = (drains + 1, Some(now));
            }
            (Some(at), false) => (longest, began) = (longest.max(now.since(at)), None),
            _ => {}
        }
        false
    });
    assert!((15..=20).contains(&drains), "{drains}");
    assert!(longest < RTT * 2, "{longest}");
    assert!(network.link.queueing() < Duration::from_millis(5), "{}", network.link.queueing());
}

/// "Drains": all flows see the shortest delay of one flow's drain, so their next drains begin within 50 ms, whenever the
/// flows started.
#[test]
fn drains_of_several_flows_coincide() {
    let mut network = Network::steady();
    for _ in 0..3 {
        network.flows.push(Flow::new());
        network.run(2);
    }
    network.run(15);
    let mut begins: Vec<Option<Time>> = vec![None; 4];
    assert!(network.run_until(6, |network| {
        for (begin, flow) in begins.iter_mut().zip(&network.flows) {
            if flow.thalweg.drain.is_reducing() {
                begin.get_or_insert(network.link.now);
            }
        }
        begins.iter().all(Option::is_some)
    }));
    let (first, last) = (begins.iter().flatten().min().unwrap(), begins.iter().flatten().max().unwrap());
    assert!(last.since(*first) < Duration::from_millis(50), "{begins:?}");
}

/// "Drains": a delay that remains the same in consecutive drains, without losses, is that of a longer path.
#[test]
fn a_longer_path_is_accepted() {
    let mut network = Network::steady();
    network.link.rtt = RTT * 2;
    network.run(20);
    let product = (RTT * 2).as_secs_f64() / SERVICE.as_secs_f64() * f64::from(SEGMENT);
    assert!((1.0..1.1).contains(&(network.window() / product)), "{} of {product}", network.window());
    assert!(!network.thalweg().is_competing());
}

/// "Drains": a path that becomes longer again is accepted within eight seconds of the second change, whenever that occurs:
/// the delays of drains are compared without the deduction for jitter, which falls after a change, and the flow does not
/// compete before the drains that follow soon. Its window is that of before the changes then. (With three of these 55 times
/// it took 11 to 14 s.)
#[test]
fn a_path_that_becomes_longer_twice_is_accepted() {
    for tenths in 5..60 {
        let mut network = Network::steady();
        let before = network.window();
        network.link.rtt = RTT * 2;
        let until = network.link.now + Duration::from_millis(100 * tenths);
        network.run_until(60, |network| network.link.now >= until);
        network.link.rtt = RTT * 4;
        let longer = network.thalweg().delay.base() + RTT.as_secs_f64() * 1.5;
        assert!(network.run_until(6, |network| network.thalweg().delay.base() > longer), "{tenths}");
        assert!(!network.thalweg().is_competing());
        assert!(network.window() > 0.8 * before, "{tenths}: {} of {before}", network.window());
    }
}

/// Runs a drain beside a queue of 40 ms that falls by `falls` seconds in it.
pub(super) fn run_drain(thalweg: &mut Thalweg, falls: f64) {
    run_drain_at(thalweg, 2.5e-3, falls);
}

/// Runs the same with this target, in seconds.
fn run_drain_at(thalweg: &mut Thalweg, target: f64, falls: f64) {
    let (queueing, rtt) = (0.04, 0.08);
    let (now, interval) = (Time::ZERO + Duration::from_secs(100), Duration::from_secs(3));
    thalweg.delay.begin_drain(now, interval);
    for _ in 0..6 {
        assert!(!thalweg.run_drain(now, queueing, target, rtt));
    }
    let now = now + interval;
    assert!(thalweg.run_drain(now, queueing, target, rtt), "it begins");
    for _ in 0..3 {
        assert!(thalweg.run_drain(now, queueing - falls, target, rtt));
    }
    assert!(!thalweg.drain.is_reducing());
}

/// "Competing traffic": beside a long queue a common reduction by half of the window empties this queue. If a sixth of it
/// remains, it is that of competing traffic, and the flow has CUBIC's window then.
#[test]
fn a_queue_that_does_not_fall_belongs_to_competing_traffic() {
    for (falls, expected) in [(0.033, true), (0.035, false)] {
        let mut network = Network::steady();
        let thalweg = network.thalweg_mut();
        (thalweg.drain, thalweg.is_competing) = (Drain::default(), false);
        let before = thalweg.full_window();
        run_drain(thalweg, falls);
        assert_eq!(thalweg.is_competing(), expected, "{falls}");
        assert_eq!(thalweg.full_window(), before);
    }
    let mut yielding = Network::steady();
    yielding.thalweg_mut().config.compete = false;
    run_drain(yielding.thalweg_mut(), 0.01);
    assert!(!yielding.thalweg().is_competing());
}

/// "Competing traffic": the target of a slow flow contains a segment, and may approach the queue of the traffic that took
/// its rate. Beside a queue that is long without that segment four drains show it.
#[test]
fn four_drains_show_competing_traffic_to_a_flow_that_has_lost_its_rate() {
    let mut network = Network::steady();
    let thalweg = network.thalweg_mut();
    let mut competes = |falls: &[f64]| {
        thalweg.set_competing(false);
        thalweg.drain = Drain::default();
        let after = |falls: &f64| {
            run_drain_at(thalweg, 0.035, *falls);
            thalweg.is_competing()
        };
        falls.iter().map(after).collect::<Vec<bool>>()
    };
    assert_eq!(competes(&[0.01, 0.0, 0.03, 0.02]), [false, false, false, true]);
    let after_a_common_one = competes(&[0.0, 0.01, 0.04, 0.0, 0.01, 0.02, 0.03]);
    assert_eq!(after_a_common_one, [false, false, false, false, false, false, true]);
}

/// "Competing traffic": it is gone after two drains with the effect of a common reduction: one is not enough, as competing
/// traffic may reduce in it too.
#[test]
fn two_drains_without_a_queue_end_the_competition() {
    let mut network = Network::steady();
    let thalweg = network.thalweg_mut();
    run_drain(thalweg, 0.01);
    let competes = [0.04, 0.01, 0.04, 0.04].map(|falls| {
        run_drain(thalweg, falls);
        thalweg.is_competing()
    });
    assert_eq!(competes, [true, true, true, false]);
}

/// "Competing traffic": what the flow has yielded since the queue was short, it takes back.
#[test]
fn a_flow_competes_with_the_window_that_it_had() {
    let mut network = Network::steady();
    let thalweg = network.thalweg_mut();
    let before = thalweg.window;
    thalweg.drain.set_peak(4.0 * before);
    run_drain(thalweg, 0.01);
    assert_near(thalweg.full_window(), 4.0 * before);
}

/// "Drains": a drain follows after an interval if the delay that the last one left is seen in each round trip since, but not
/// if a queue hid it meanwhile. (On a path longer by 7 ms with a jitter of 1 ms no further drain was due, and a flow had 3 of
/// 100 Mbit/s; drains at the minima of CUBIC's queue alone did not show that queue.)
#[test]
fn a_delay_that_remains_is_tested_again() {
    for (hidden, expected) in [(0, true), (3, false)] {
        let mut network = Network::steady();
        let thalweg = network.thalweg_mut();
        thalweg.drain = Drain::default();
        run_drain(thalweg, 0.02);
        let (began, rtt) = (Time::ZERO + Duration::from_secs(103), Duration::from_millis(80));
        let begins = (1..40).map(|round| {
            let now = began + rtt * round;
            if round > hidden {
                thalweg.delay.sample(&acked(now.since(Time::ZERO), Some(RTT)), 1e-4);
            }
            thalweg.run_drain(now, 0.02, 2.5e-3, rtt.as_secs_f64()).then_some(round)
        });
        // 38 round trips take 3.04 s.
        assert_eq!(begins.collect::<Vec<_>>().contains(&Some(38)), expected, "{hidden}");
    }
}

/// "Drains": a drain that shows a lower base delay is followed by two deep ones.
#[test]
fn a_lower_base_delay_is_confirmed_by_deep_drains() {
    let mut network = Network::steady();
    let shares = |network: &mut Network, seconds: u64| {
        let mut shares = Vec::new();
        network.run_until(seconds, |network| {
            let share = network.thalweg().drain.share();
            if shares.last() != Some(&share) {
                shares.push(share);
            }
            false
        });
        shares
    };
    let confirmed = shares(&mut network, 12);
    assert!(confirmed.contains(&0.75), "{confirmed:?}");
    network.link.rtt = RTT / 2;
    let lower = shares(&mut network, 14);
    // The first of them begins before the shorter delay is seen in a drain.
    assert_eq!(lower.iter().filter(|share| **share == 0.5).count(), 2, "{lower:?}");
    assert!(lower.contains(&0.75), "{lower:?}");
}

/// "Competing traffic": a drain soon after one in which the delay did not fall shows no more than that one, and a queue
/// that is long for less than half a second may be that of starting flows. A flow competes once the delay is no longer that
/// of the last drain, as the path may be longer.
#[test]
fn repeated_drains_and_short_times_are_no_evidence() {
    // A drain at `now`, beside a queue that is long for `millis` and does not fall; the shortest delay was last seen at
    // `seen`.
    let drain = |thalweg: &mut Thalweg, now: Time, seen: Time, millis: u64| {
        let (queueing, target, rtt) = (0.04, 2.5e-3, 0.08);
        thalweg.delay.begin_drain(seen, Duration::from_secs(3));
        assert!(!thalweg.run_drain(now - Duration::from_millis(millis), queueing, target, rtt));
        assert!((0..4).all(|_| thalweg.run_drain(now, queueing, target, rtt)), "it begins");
        assert!(!thalweg.drain.is_reducing());
        (thalweg.is_competing(), thalweg.drain.contrary())
    };
    // Two drains, the second by a repetition or an interval later; the queue is long for `millis` before the first.
    let drains = |millis: u64, is_repeat: bool| {
        let mut network = Network::steady();
        let thalweg = network.thalweg_mut();
        thalweg.drain = Drain::default();
        let first = Time::ZERO + Duration::from_secs(100);
        let after_first = drain(thalweg, first, first - Duration::from_secs(3), millis);
        let second = first + Duration::from_millis(if is_repeat { 800 } else { 4000 });
        let seen = if is_repeat { second } else { second - Duration::from_secs(3) };
        [after_first, drain(thalweg, second, seen, 700)]
    };
    assert_eq!(drains(700, false), [(false, 1), (true, 0)]);
    assert_eq!(drains(700, true), [(false, 1), (false, 1)]);
    assert_eq!(drains(400, false), [(false, 1), (false, 2)]);
    assert_eq!(drains(400, true), [(false, 1), (false, 1)]);
}
