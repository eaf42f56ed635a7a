//! Acknowledgement filters: drop cumulative acknowledgements that a later one replaces.

/// Acknowledgements that a line removes from its queue once newer ones supersede them (RFC 3449, section 5.2.1). The
/// protocol decides which acknowledgements are superseded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AckFilter {
    /// No filter.
    #[default]
    None,
    /// Removes the first of two or more superseded acknowledgements (`ack-filter` of Linux's CAKE): one of any two
    /// queued ones remains.
    Conservative,
    /// Removes all superseded acknowledgements; the newest takes the position of the first (cable modems: US patent
    /// application 2004/0213278). At the tail it would never leave a shared queue.
    Newest,
}
