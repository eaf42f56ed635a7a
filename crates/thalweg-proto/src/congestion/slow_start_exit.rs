//! Slow-start exit: signals other than ssthresh and loss that may end slow start.

use super::AckSample;
use super::hystart::AckTrain;
use super::hystart_plus_plus::Hystart;
use super::search_slow_start_exit::Search;
use super::slow_start_exit_decision::Step;

/// Signal that ends the first slow start of a connection, besides ssthresh and loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStartExit {
    /// None: the queue overflows (RFC 5681).
    #[default]
    Loss,
    /// Increasing round-trip times (HyStart++, RFC 9406).
    HystartPlusPlus,
    /// Acknowledgement train of half a round trip, or increasing round-trip times (HyStart, Ha and Rhee 2011), as in
    /// Linux.
    Hystart,
    /// Delivery rate that no longer doubles (SEARCH, draft-chung-ccwg-search).
    Search,
}

/// Detector of the end of the first slow start, for controllers with the key `slow-start-exit`.
///
/// A controller calls [`on_ack`](Self::on_ack) for every acknowledgement in slow start, and [`end`](Self::end) once slow
/// start is over. Later slow starts end at ssthresh, known by then (RFC 9406, section 4.3).
#[derive(Clone, Debug)]
pub struct ExitWatch(Detector);

/// State of a detector.
#[derive(Clone, Debug)]
enum Detector {
    /// Inactive: none configured, or the first slow start has ended.
    Off,
    Hystart(Box<Hystart>),
    AckTrain(Box<AckTrain>),
    Search(Box<Search>),
}

impl ExitWatch {
    /// Creates the detector for `exit`.
    pub fn new(exit: SlowStartExit) -> Self {
        Self(match exit {
            SlowStartExit::Loss => Detector::Off,
            SlowStartExit::HystartPlusPlus => Detector::Hystart(Box::default()),
            SlowStartExit::Hystart => Detector::AckTrain(Box::default()),
            SlowStartExit::Search => Detector::Search(Box::new(Search::new())),
        })
    }

    /// Handles an acknowledgement in slow start with this window, whether or not it permits growth: every
    /// acknowledgement updates the detector. Returns the growth of the window, or the end of slow start.
    #[inline]
    pub fn on_ack(&mut self, sample: &AckSample, window: f64) -> Step {
        match &mut self.0 {
            Detector::Off => Step::Grow(f64::from(sample.counted)),
            Detector::Hystart(hystart) => hystart.on_ack(sample),
            Detector::AckTrain(train) => train.on_ack(sample, window),
            Detector::Search(search) => search.on_ack(sample),
        }
    }

    /// Ends detection: slow start is over, for any reason.
    pub fn end(&mut self) {
        self.0 = Detector::Off;
    }
}
