//! Prefetching of the memory that coming events need.

use super::connection_endpoint::EnginePrefetch;
use super::connections::Connections;
use super::forwarding_state::{Destination, Network};
use super::packet_pool::{EndpointIndex, NONE};
use crate::event_queue::{LANES, Wheel};
use crate::prefetch_hints::{prefetch_at, prefetch_cache_line};

/// Endpoints that two later events of each lane will probably need, three and four after its last one; [`NONE`] for other
/// events.
#[derive(Clone, Debug)]
pub(crate) struct Lookahead([[EndpointIndex; 2]; LANES]);

impl Default for Lookahead {
    fn default() -> Self {
        Self([[NONE; 2]; LANES])
    }
}

impl Lookahead {
    /// Prefetches the data of later arrivals in the lane of the current event, to overlap memory latency with work: the
    /// packet of the sixth one from here; the link or endpoint to which the fourth goes; of the third, the whole engine of
    /// its endpoint; of the second, the first and last outstanding segment there if it is a window sender.
    #[inline]
    pub fn prefetch(&mut self, wheel: &Wheel, network: &Network, connections: &Connections) {
        let Some(lane) = wheel.lane() else { return };
        network.packets.prefetch(wheel.coming(lane, 4));
        let [first, second] = self.0[lane];
        if let Some(endpoint) = connections.endpoints().get(second as usize) {
            endpoint.engine.visit(&EnginePrefetch);
        }
        if let Some(endpoint) = connections.endpoints().get(first as usize) {
            endpoint.engine.next_needed().into_iter().flatten().for_each(prefetch_at);
        }
        self.0[lane] = [second, prefetch_destination(wheel.coming(lane, 2), network, connections)];
    }
}

/// Prefetches a packet's next hop and returns the endpoint, if it is one.
#[inline]
fn prefetch_destination(packet: u32, network: &Network, connections: &Connections) -> EndpointIndex {
    match network.destination(packet) {
        Destination::Link(next) => prefetch_cache_line(&network.transmitters[next as usize]),
        Destination::Endpoint(id) => {
            let Some(index) = connections.ids.endpoint_index(id) else { return NONE };
            prefetch_cache_line(connections.endpoint(index));
            return index;
        }
        Destination::Unknown => {}
    }
    NONE
}
