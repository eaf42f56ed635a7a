//! The flows of a run, with their groups and transports.

use super::endpoint::EndpointPath;
use super::flow::{Flow, Group};
use crate::result::Transfer;
use crate::spec::TransportSpec;
use thalweg_proto::units::Duration;

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

    /// Returns a flow with its group.
    #[inline]
    pub fn flow_and_group(&self, flow: u32) -> (&Flow, &Group) {
        let flow = &self.flows[flow as usize];
        (flow, &self.groups[flow.group as usize])
    }

    /// Returns a flow with its group, both to be changed.
    #[inline]
    pub fn flow_and_group_mut(&mut self, flow: u32) -> (&mut Flow, &mut Group) {
        let flow = &mut self.flows[flow as usize];
        let group = &mut self.groups[flow.group as usize];
        (flow, group)
    }

    /// Returns the group of a flow by its number alone: a partition has all groups, but not all flows.
    pub fn group_with(&self, flow: u32) -> &Group {
        let next = self.groups.partition_point(|group| group.first_flow <= flow);
        &self.groups[next.saturating_sub(1)]
    }

    /// Returns the flows of a group, in order.
    pub fn flows_of(&self, group: &Group) -> &[Flow] {
        &self.flows[group.first_flow as usize..(group.first_flow + group.flows) as usize]
    }

    /// Returns the paths of packets from the source and from the sink of a flow.
    pub fn paths(&self, flow: u32) -> [EndpointPath; 2] {
        let (state, group) = self.flow_and_group(flow);
        group.paths(state, flow)
    }

    /// Returns the transport of a group.
    #[inline]
    pub fn transport(&self, group: &Group) -> &TransportSpec {
        &self.transports[group.transport as usize]
    }

    /// Returns the transport of a flow.
    #[inline]
    pub fn transport_of(&self, flow: u32) -> &TransportSpec {
        self.transport(self.group_of(flow))
    }

    /// Records a transfer that took this long in the statistics of its group.
    pub fn record_completion(&mut self, transfer: &Transfer, took: Duration) {
        self.group_of_mut(transfer.flow).completions.record(transfer, took);
    }
}
