//! The flows of a run, with their groups and transports.

use super::flow::{Flow, Group};
use crate::spec::TransportSpec;

/// Flows by number; each names its group, and the group its transport.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub flows: Vec<Flow>,
    pub groups: Vec<Group>,
    pub transports: Vec<TransportSpec>,
}

impl Traffic {
    /// Returns the group of a flow.
    #[inline]
    pub fn group_of(&self, flow: u32) -> &Group {
        &self.groups[self.flows[flow as usize].group as usize]
    }

    /// Returns the group of a flow, to be changed.
    #[inline]
    pub fn group_of_mut(&mut self, flow: u32) -> &mut Group {
        &mut self.groups[self.flows[flow as usize].group as usize]
    }

    /// Returns the transport of a flow.
    #[inline]
    pub fn transport_of(&self, flow: u32) -> &TransportSpec {
        &self.transports[self.group_of(flow).transport as usize]
    }
}
