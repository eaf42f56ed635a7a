//! Disciplines, impairments and capacities as plain data.

use crate::Limit;
use std::sync::Arc;
use thalweg_proto::units::Duration;

/// A queue discipline with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DisciplineSpec {
    /// First come, first served; an arrival that finds no room is dropped.
    Fcfs {
        /// How much is held.
        limit: Limit,
    },
    /// First come, first served; when there is no room, a packet drawn uniformly among those queued and the arrival
    /// is dropped.
    RandomDrop {
        /// How much is held.
        limit: Limit,
    },
}

/// What a wire does to packets beyond delay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImpairmentSpec {
    /// Which packets are lost.
    pub loss: LossSpec,
    /// The probability that a packet arrives twice.
    pub duplicate: f64,
    /// The probability that a packet arrives damaged, so that its receiver drops it.
    pub corrupt: f64,
    /// Packets that are held back, so that later ones pass.
    pub reorder: Option<ReorderSpec>,
}

/// Packets that are held back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReorderSpec {
    /// The probability for each packet.
    pub probability: f64,
    /// How long it is held, uniform between zero and this.
    pub delay: Duration,
}

/// Which packets a wire loses.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LossSpec {
    /// None.
    #[default]
    None,
    /// Each with this probability, independently.
    Uniform {
        /// The probability.
        probability: f64,
    },
    /// A two-state Markov chain that steps with each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// The probability to go from the good to the bad state.
        good_to_bad: f64,
        /// The probability to go from the bad to the good state.
        bad_to_good: f64,
        /// The loss probability in the good state.
        loss_good: f64,
        /// The loss probability in the bad state.
        loss_bad: f64,
    },
    /// Exactly these packets, numbered from 1 in the order in which they enter the wire; ascending.
    List(Arc<[u64]>),
}
