//! Tests the statistics of loss processes against their closed forms and against a chain with plain steps.

use proptest::prelude::*;
use thalweg_proto::random::RandomStream;
use thalweg_queue::{LossProcess, LossSpec};

fn pattern(spec: &LossSpec, seed: u64, n: usize) -> Vec<bool> {
    let mut process = LossProcess::new(spec, RandomStream::new(seed, "loss", 0));
    (0..n).map(|_| process.draw_loss(1500)).collect()
}

fn rate(pattern: &[bool]) -> f64 {
    pattern.iter().filter(|lost| **lost).count() as f64 / pattern.len() as f64
}

/// Returns the lengths of runs of `value`.
fn runs(pattern: &[bool], value: bool) -> Vec<f64> {
    pattern.chunk_by(|a, b| a == b).filter(|run| run[0] == value).map(|run| run.len() as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

const BURSTY: LossSpec =
    LossSpec::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.19, loss_good: 0.0, loss_bad: 1.0 };

#[test]
fn uniform_losses_have_their_rate() {
    // A million packets; the tolerance is 5 standard deviations of a binomial count.
    for (seed, probability) in [(1, 1e-4), (2, 0.01), (3, 0.3), (4, 0.95)] {
        let found = rate(&pattern(&LossSpec::Uniform { probability }, seed, 1_000_000));
        let tolerance = 5.0 * (probability * (1.0 - probability) / 1e6).sqrt();
        assert!((found - probability).abs() < tolerance, "{probability}: {found}");
    }
}

#[test]
fn uniform_losses_fit_a_geometric_distribution() {
    // Gaps of 0, 1, 2 ... packets between losses of probability 1/4: 3/4 to the power of the gap, by chi square
    // over 20 classes (19 degrees of freedom; 43.8 is exceeded once in a thousand).
    let pattern = pattern(&LossSpec::Uniform { probability: 0.25 }, 5, 400_000);
    let (mut counts, mut gap) = ([0.0; 20], 0);
    for lost in pattern {
        if lost {
            counts[gap.min(19)] += 1.0;
            gap = 0;
        } else {
            gap += 1;
        }
    }
    let total: f64 = counts.iter().sum();
    let expected = |gap: usize| total * 0.75f64.powi(gap as i32) * if gap < 19 { 0.25 } else { 1.0 };
    let chi: f64 = (0..20).map(|gap| (counts[gap] - expected(gap)).powi(2) / expected(gap)).sum();
    assert!(chi < 43.8, "{chi}");
}

#[test]
fn a_chain_has_the_rate_and_the_bursts_of_its_sojourns() {
    // p = 0.01, r = 0.19: 5 % lost, bursts of 1/0.19 = 5.26 and gaps of 1/0.01 = 100 packets, within 3 %.
    let pattern = pattern(&BURSTY, 1, 2_000_000);
    assert!((rate(&pattern) / 0.05 - 1.0).abs() < 0.03, "{}", rate(&pattern));
    assert!((mean(&runs(&pattern, true)) / 5.263 - 1.0).abs() < 0.03);
    assert!((mean(&runs(&pattern, false)) / 100.0 - 1.0).abs() < 0.03);
}

#[test]
fn a_chain_that_may_lose_in_both_states_has_its_mean_rate_and_burst() {
    // 0.02 and 0.08 share the time 4 to 1; 0.8 * 0.05 + 0.2 * 0.6 = 0.16.
    let spec =
        LossSpec::GilbertElliott { good_to_bad: 0.02, bad_to_good: 0.08, loss_good: 0.05, loss_bad: 0.6 };
    assert!((spec.mean_rate() - 0.16).abs() < 1e-12);
    let pattern = pattern(&spec, 2, 2_000_000);
    assert!((rate(&pattern) / 0.16 - 1.0).abs() < 0.03);
    assert!((mean(&runs(&pattern, true)) / spec.mean_burst() - 1.0).abs() < 0.03);
}

#[test]
fn a_chain_starts_in_its_stationary_distribution() {
    // Over 100 000 seeds the first packet is lost as often as any other: 5 %, within 5 standard deviations.
    let first = (0..100_000).filter(|&seed| pattern(&BURSTY, seed, 1)[0]).count() as f64 / 1e5;
    assert!((first - 0.05).abs() < 0.0035, "{first}");
}

/// Returns the pattern of the same chain with two draws per packet, as in the papers.
fn plain_chain(
    good_to_bad: f64,
    bad_to_good: f64,
    loss_good: f64,
    loss_bad: f64,
    seed: u64,
    n: usize,
) -> Vec<bool> {
    let mut stream = RandomStream::new(seed, "plain", 0);
    let mut bad = stream.chance(good_to_bad / (good_to_bad + bad_to_good));
    let step = |_| {
        let lost = stream.chance(if bad { loss_bad } else { loss_good });
        bad ^= stream.chance(if bad { bad_to_good } else { good_to_bad });
        lost
    };
    (0..n).map(step).collect()
}

#[test]
fn skipping_matches_stepwise_draws() {
    // The frequency of each pattern of 4 packets in a row agrees between the two, to half a percent: over three
    // standard deviations of the slowest chain, whose memory is five packets. Seeds are fixed, so it cannot fail
    // by chance.
    let words = |pattern: &[bool]| {
        let mut counts = [0.0f64; 16];
        for word in pattern.windows(4) {
            counts[word.iter().fold(0, |word, &lost| word * 2 + usize::from(lost))] += 1.0;
        }
        counts.map(|count| count / pattern.len() as f64)
    };
    for (seed, (p, r, loss_good, loss_bad)) in
        (0..).zip([(0.1, 0.1, 0.1, 0.7), (0.2, 0.6, 0.0, 1.0), (0.9, 0.8, 0.3, 0.9), (0.5, 0.1, 1.0, 0.5)])
    {
        let spec = LossSpec::GilbertElliott { good_to_bad: p, bad_to_good: r, loss_good, loss_bad };
        let ours = pattern(&spec, seed, 1_000_000);
        let plain = plain_chain(p, r, loss_good, loss_bad, seed, 1_000_000);
        for (a, b) in words(&ours).iter().zip(words(&plain)) {
            assert!((a - b).abs() < 0.005, "{spec:?}: {:?} {:?}", words(&ours), words(&plain));
        }
        assert!((rate(&ours) - spec.mean_rate()).abs() < 0.005);
    }
}

proptest! {
    #[test]
    fn a_list_loses_its_packets_and_no_others(numbers in prop::collection::btree_set(1u64..500, 0..50)) {
        let list: Vec<u64> = numbers.iter().copied().collect();
        let spec = LossSpec::List(list.as_slice().into());
        prop_assert_eq!(spec.check(), Ok(()));
        let lost: Vec<u64> =
            (1..).zip(pattern(&spec, 0, 600)).filter_map(|(number, lost)| lost.then_some(number)).collect();
        prop_assert_eq!(lost, list);
    }
}
