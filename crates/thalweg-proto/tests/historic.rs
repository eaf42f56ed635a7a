//! The controllers of 1984 to 1991 against values worked out by hand from the papers that define them.

mod samples;

use samples::{ack, acks, loss, path};
use thalweg_proto::congestion::{Controller, FeedbackSample, Follow, LossKind, Seif, SeifSpec, SeifState};
use thalweg_proto::transport::Feedback;

fn message(queue: u32) -> FeedbackSample {
    let feedback = Feedback { dropped: None, rate: None, queue };
    FeedbackSample { path: path(0, 10), feedback, known: false }
}

/// The source of the thesis with a maximum window of 30.
fn seif() -> SeifSpec {
    SeifSpec {
        initial_window: 1.0,
        initial_threshold: 15.0,
        max_window: 30.0,
        cut_back: 0.5,
        growth_windows: 1,
        follow: Follow::All,
    }
}

/// Liang 1991, section 3.3: from a window of 1 by one an acknowledgement up to half of the maximum, then by one for each
/// full window of acknowledgements, up to the maximum.
#[test]
fn seif_initialises_and_then_is_stable() {
    let mut seif = Seif::new(&seif());
    assert_eq!((seif.decision().window, seif.state()), (1.0, SeifState::Initialise));
    acks(&mut seif, 13, &ack(0));
    assert_eq!((seif.decision().window, seif.state()), (14.0, SeifState::Initialise));
    acks(&mut seif, 1, &ack(0));
    assert_eq!((seif.decision().window, seif.state()), (15.0, SeifState::Stable));
    acks(&mut seif, 14, &ack(0));
    assert_eq!(seif.decision().window, 15.0);
    acks(&mut seif, 1, &ack(0));
    assert_eq!(seif.decision().window, 16.0);
    acks(&mut seif, 16 + 17 + 18, &ack(0));
    assert_eq!(seif.decision().window, 19.0);
    acks(&mut seif, 10_000, &ack(0));
    assert_eq!(seif.decision().window, 30.0);
}

/// The same: a message, a time-out and duplicates all cut to half, at once and every time, and it is stable again.
#[test]
fn every_signal_cuts_seif() {
    let spec = SeifSpec { initial_window: 20.0, ..seif() };
    let mut by_message = Seif::new(&spec);
    by_message.on_feedback(&message(0));
    for kind in [LossKind::Timeout, LossKind::Duplicates] {
        let mut by_loss = Seif::new(&spec);
        by_loss.on_loss(&loss(kind, 20));
        assert_eq!(by_loss.decision(), by_message.decision());
        assert_eq!(by_loss.threshold(), by_message.threshold());
    }
    assert_eq!((by_message.decision().window, by_message.threshold()), (10.0, Some(10.0)));
    assert_eq!(by_message.state(), SeifState::Stable);
    // No round trip is waited: the next message cuts too, and the window keeps its fraction.
    by_message.on_feedback(&message(0));
    by_message.on_feedback(&message(0));
    assert_eq!((by_message.decision().window, by_message.threshold()), (2.5, Some(2.5)));
    // Two whole packets are sent, and two acknowledgements are a window of them.
    acks(&mut by_message, 2, &ack(0));
    assert_eq!(by_message.decision().window, 3.5);
    // A cut starts the count of acknowledgements anew: one is not enough before, nor after.
    acks(&mut by_message, 2, &ack(0));
    by_message.on_feedback(&message(0));
    assert_eq!((by_message.decision().window, by_message.threshold()), (1.75, Some(2.0)));
    // Never below one packet.
    for _ in 0..10 {
        by_message.on_feedback(&message(0));
    }
    assert_eq!((by_message.decision().window, by_message.threshold()), (1.0, Some(2.0)));
    // What is known already does not cut (section 3.3, the double signals).
    acks(&mut by_message, 30, &ack(0));
    let before = by_message.decision().window;
    by_message.on_feedback(&FeedbackSample { known: true, ..message(0) });
    assert_eq!(by_message.decision().window, before);
}

/// The same, section 4.5: after a cut to less than half the window climbs by one an acknowledgement to half of what it was.
#[test]
fn seif_climbs_back_after_a_deep_cut() {
    for (cut_back, after) in [(0.0, 1.0), (0.3, 6.0)] {
        let mut seif = Seif::new(&SeifSpec { initial_window: 20.0, cut_back, ..seif() });
        seif.on_feedback(&message(0));
        assert_eq!((seif.decision().window, seif.threshold()), (after, Some(10.0)));
        assert_eq!(seif.state(), SeifState::CutBack);
        acks(&mut seif, 10 - after as u32, &ack(0));
        assert_eq!((seif.decision().window, seif.state()), (10.0, SeifState::Stable));
        acks(&mut seif, 10, &ack(0));
        assert_eq!(seif.decision().window, 11.0);
    }
    // A mild cut is stable at once, far above half.
    let mut mild = Seif::new(&SeifSpec { initial_window: 20.0, cut_back: 0.9, ..seif() });
    mild.on_feedback(&message(0));
    assert_eq!((mild.decision().window, mild.state()), (18.0, SeifState::Stable));
}

/// The same, section 6.2 (future work): growth by one for k windows.
#[test]
fn seif_grows_as_slowly_as_it_is_told() {
    let mut seif = Seif::new(&SeifSpec { initial_window: 15.0, growth_windows: 3, ..seif() });
    acks(&mut seif, 44, &ack(0));
    assert_eq!(seif.decision().window, 15.0);
    acks(&mut seif, 1, &ack(0));
    assert_eq!(seif.decision().window, 16.0);
}

/// The same: with one reaction a path, the queue that sends most is followed; when it falls silent another takes its place.
#[test]
fn seif_follows_the_loudest_queue() {
    let mut seif =
        Seif::new(&SeifSpec { initial_window: 30.0, cut_back: 0.9, follow: Follow::Loudest, ..seif() });
    let mut cuts = |queue, times| {
        (0..times)
            .filter(|_| {
                let before = seif.decision().window;
                seif.on_feedback(&message(queue));
                let cut = seif.decision().window < before;
                acks(&mut seif, 200, &ack(0));
                cut
            })
            .count()
    };
    assert_eq!(cuts(7, 3), 3);
    // Another queue says less, until it has said as much.
    assert_eq!(cuts(8, 2), 0);
    assert_eq!(cuts(8, 1), 1);
    assert_eq!(cuts(7, 60), 60);
    // Queue 7 falls silent. The counts are halved every 64 messages, so that queue 8 is heard after some dozens.
    let heard = cuts(8, 200);
    assert!((130..190).contains(&heard), "{heard}");
    // Queues without number are no reason to grow without bound, nor to stop.
    for queue in 100..10_000 {
        cuts(queue, 1);
    }
    assert!(cuts(8, 100) > 50);
}
