//! The end of slow start: what other than the threshold and a loss may end it, for controllers that have one.

use super::AckSample;
use super::ack_train::AckTrain;
use super::hystart::Hystart;
use super::search::Search;
use super::step::Step;

/// The sign by which the first slow start of a connection ends, beside its threshold and any loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStartExit {
    /// None: the queue overflows (RFC 5681).
    #[default]
    Loss,
    /// Round trips grow longer (HyStart++, RFC 9406).
    HystartPlusPlus,
    /// Acknowledgements follow each other for half a round trip, or round trips grow longer (HyStart, Ha and Rhee 2011), as in
    /// Linux.
    Hystart,
    /// Deliveries do not double any more (SEARCH, draft-chung-ccwg-search).
    Search,
}

/// The watch over a slow start.
#[derive(Clone, Debug)]
pub(super) enum ExitWatch {
    /// There is none, or slow start was left once: later ones end at the threshold, which is known by then (RFC 9406, section
    /// 4.3).
    Off,
    Hystart(Box<Hystart>),
    AckTrain(Box<AckTrain>),
    Search(Box<Search>),
}

impl ExitWatch {
    /// The watch that `exit` asks for.
    pub fn new(exit: SlowStartExit) -> Self {
        match exit {
            SlowStartExit::Loss => Self::Off,
            SlowStartExit::HystartPlusPlus => Self::Hystart(Box::default()),
            SlowStartExit::Hystart => Self::AckTrain(Box::default()),
            SlowStartExit::Search => Self::Search(Box::new(Search::new())),
        }
    }

    /// An acknowledgement in slow start with this window, of the kind that lets the window grow or not: what there is to learn is
    /// learnt of any.
    #[inline]
    pub fn on_ack(&mut self, sample: &AckSample, window: f64) -> Step {
        match self {
            Self::Off => Step::Grow(f64::from(sample.counted)),
            Self::Hystart(hystart) => hystart.on_ack(sample),
            Self::AckTrain(train) => train.on_ack(sample, window),
            Self::Search(search) => search.on_ack(sample),
        }
    }

    /// Slow start is over, for whatever reason.
    pub fn end(&mut self) {
        *self = Self::Off;
    }
}
