//! Acknowledgement filters.

/// The acknowledgements that a line takes out of its queue once newer ones make them superfluous (RFC 3449, section 5.2.1). Which
/// are that is for those to say who read them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AckFilter {
    /// None.
    #[default]
    None,
    /// The first of those that the newest makes superfluous, where there are two of them (`ack-filter` of Linux's CAKE): of any
    /// two that wait, one is left.
    Conservative,
    /// All of them; the newest takes the place of the first (cable modems: US patent application 2004/0213278). At its end it would
    /// never leave a queue that it shares.
    Newest,
}
