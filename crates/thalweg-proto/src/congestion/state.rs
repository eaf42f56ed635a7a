//! Controllers as they see themselves: the state that they are in, and what they know in it.

/// The state of a controller, for whoever watches it: results of simulations, and tests of an implementation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionState {
    /// The state's name, such as `startup`.
    pub name: &'static str,
    /// The quantities that it knows, by names that end in their unit; those that are not needed have no name. What is unbounded is
    /// infinite.
    pub known: [(&'static str, f64); Self::MOST],
}

impl CongestionState {
    /// The most quantities.
    pub const MOST: usize = 8;

    /// The quantities that have a name.
    pub fn known(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.known.into_iter().filter(|(name, _)| !name.is_empty())
    }
}
