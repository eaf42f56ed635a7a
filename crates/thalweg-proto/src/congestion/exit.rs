//! Slow-start exit: signals other than ssthresh and loss that may end slow start.

use super::AckSample;
use super::ack_train::AckTrain;
use super::hystart::Hystart;
use super::search::Search;
use super::step::Step;

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

/// Slow-start exit detector.
#[derive(Clone, Debug)]
pub(super) enum ExitWatch {
    /// Inactive: none configured, or the first slow start has ended. Later ones end at ssthresh, known by then (RFC
    /// 9406, section 4.3).
    Off,
    Hystart(Box<Hystart>),
    AckTrain(Box<AckTrain>),
    Search(Box<Search>),
}

impl ExitWatch {
    /// Creates the detector for `exit`.
    pub fn new(exit: SlowStartExit) -> Self {
        match exit {
            SlowStartExit::Loss => Self::Off,
            SlowStartExit::HystartPlusPlus => Self::Hystart(Box::default()),
            SlowStartExit::Hystart => Self::AckTrain(Box::default()),
            SlowStartExit::Search => Self::Search(Box::new(Search::new())),
        }
    }

    /// Handles an acknowledgement in slow start with this window, whether or not it permits growth: every
    /// acknowledgement updates the detector.
    #[inline]
    pub fn on_ack(&mut self, sample: &AckSample, window: f64) -> Step {
        match self {
            Self::Off => Step::Grow(f64::from(sample.counted)),
            Self::Hystart(hystart) => hystart.on_ack(sample),
            Self::AckTrain(train) => train.on_ack(sample, window),
            Self::Search(search) => search.on_ack(sample),
        }
    }

    /// Ends detection: slow start is over, for any reason.
    pub fn end(&mut self) {
        *self = Self::Off;
    }
}
