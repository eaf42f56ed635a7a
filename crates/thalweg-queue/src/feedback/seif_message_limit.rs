//! The limit on the messages of a SEIF router.
//!
//! Liang 1991, section 6.1, proposes that routers determine the growth of windows from the frequency of threshold
//! crossings and from the overhead, disable explicit feedback if its cost exceeds its benefit, and consider the
//! distance to the source. The thesis gives no algorithm. The algorithm here:
//!
//! - The cost of a message is its size times the number of links on its path.
//! - [`OverheadControl::Growth`]: the time between two warnings is about proportional to the windows of
//!   acknowledgements per packet of growth. At each warning that number is multiplied by the share of the line's rate
//!   that messages took since the last one, divided by the limit; by 1/2 to 2 at a time, from 1 to [`MAX_GROWTH`].
//! - [`OverheadControl::Silence`]: the router saves the limit's share of the line's rate, up to the cost of the warning
//!   at hand, and spends it on messages.

use super::{OverheadControl, OverheadSpec, View};
use thalweg_proto::units::Time;

/// Maximum number of windows of acknowledgements per packet of growth.
const MAX_GROWTH: f64 = 16.0;

/// Limit with its state.
#[derive(Clone, Debug)]
pub(super) struct MessageLimit {
    spec: OverheadSpec,
    /// Time of the last warning.
    last_warning: Option<Time>,
    /// Cost of messages since the last warning, in bytes.
    spent: f64,
    /// Windows of acknowledgements per packet of growth.
    growth: f64,
    /// Time up to which the budget is saved.
    saved_at: Time,
    /// Saved bytes.
    budget: f64,
}

impl MessageLimit {
    /// Creates a limit without savings.
    pub const fn new(spec: OverheadSpec) -> Self {
        Self { spec, last_warning: None, spent: 0.0, growth: 1.0, saved_at: Time::ZERO, budget: 0.0 }
    }

    fn cost(&self, hops: u32) -> f64 {
        f64::from(self.spec.message_bytes) * f64::from(hops.max(1))
    }

    /// Saves the limit's share of the line's rate since the last call.
    fn save_budget(&mut self, view: &View) {
        self.budget +=
            self.spec.share * view.rate.as_f64() / 8.0 * view.now.since(self.saved_at).as_secs_f64();
        self.saved_at = view.now;
    }

    /// Spends the cost of a message over this many links; returns false if it exceeds the budget.
    pub fn spend_on_message(&mut self, view: &View, hops: u32) -> bool {
        let cost = self.cost(hops);
        if self.spec.control == OverheadControl::Growth {
            self.spent += cost;
            return true;
        }
        self.save_budget(view);
        let is_permitted = cost <= self.budget;
        if is_permitted {
            self.budget -= cost;
        }
        is_permitted
    }

    /// Records a warning to sources at these distances, in ascending order. Returns the number of messages to send, the
    /// first ones.
    pub fn on_warning(&mut self, view: &View, hops: impl Iterator<Item = u32> + Clone) -> usize {
        let all: f64 = hops.clone().map(|hops| self.cost(hops)).sum();
        if self.spec.control == OverheadControl::Growth {
            self.spent += all;
            if let Some(warned) = self.last_warning {
                let permitted =
                    self.spec.share * view.rate.as_f64() / 8.0 * view.now.since(warned).as_secs_f64();
                let factor = if permitted > 0.0 { (self.spent / permitted).clamp(0.5, 2.0) } else { 2.0 };
                self.growth = (self.growth * factor).clamp(1.0, MAX_GROWTH);
            }
            (self.last_warning, self.spent) = (Some(view.now), 0.0);
            return hops.count();
        }
        self.save_budget(view);
        self.budget = self.budget.min(all);
        let mut count = 0;
        for hops in hops {
            let cost = self.cost(hops);
            if cost > self.budget {
                break;
            }
            self.budget -= cost;
            count += 1;
        }
        count
    }

    /// Returns the number of windows of acknowledgements per packet of growth to ask for.
    pub fn windows_per_packet_of_growth(&self) -> Option<u8> {
        // At most MAX_GROWTH.
        (self.spec.control == OverheadControl::Growth).then(|| libm::round(self.growth) as u8)
    }
}
