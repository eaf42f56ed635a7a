//! The flows of a run, with their groups and transports.

use super::connection_endpoint::EndpointPath;
use super::connection_ids::has_independent_ends;
use super::flow_state::{Flow, Group, Role};
use super::packet_pool::NONE;
use crate::run_result::Transfer;
use crate::simulation_spec::TransportSpec;
use thalweg_proto::units::{Duration, Time};

/// Flows by number; each names its group, and the group its transport.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub flows: Vec<Flow>,
    pub groups: Vec<Group>,
    pub transports: Vec<TransportSpec>,
    /// Number of flows that have delivered all their data or have given up.
    pub finished_flows: u32,
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

    /// Returns the paths of packets from the sender and the receiver of a flow's connection.
    pub fn connection_paths(&self, flow: u32, role: Role) -> [EndpointPath; 2] {
        let (state, group) = self.flow_and_group(flow);
        let [mut there, mut back] = group.paths(state, flow);
        if role == Role::Reply {
            core::mem::swap(&mut there, &mut back);
        }
        if let Some(overhead) = group.overhead {
            there.first = state.links + overhead + u32::from(role == Role::Reply);
        }
        if let Some(route) = group.control {
            let own = state.links + if group.has_access { 4 } else { 0 };
            back = EndpointPath {
                first: own + u32::from(role == Role::Reply),
                route,
                exit: NONE,
                host: back.host,
            };
        }
        [there, back]
    }

    /// Returns the index of a flow among the flows that open connections during the run, if it is one.
    #[inline]
    pub fn opening_flow_index(&self, flow: u32) -> Option<usize> {
        self.group_of(flow).opening_flow_index(flow)
    }

    /// Returns true if the receivers of a flow's transfers are created by their first packet.
    pub fn begins_late(&self, flow: u32) -> bool {
        let group = self.group_of(flow);
        group.opening.is_some() && has_independent_ends(self.transport(group))
    }

    /// Returns true if the flow's transport delivers all data.
    pub fn is_reliable(&self, flow: u32) -> bool {
        self.transport(self.group_of(flow)).properties().is_reliable()
    }

    /// Records that a flow has delivered all its data, the last of it at that time.
    pub fn finish(&mut self, flow: u32, delivered_at: Time) -> &Flow {
        self.finished_flows += u32::from(!self.is_over(flow));
        let flow = &mut self.flows[flow as usize];
        flow.finished = flow.finished.min(delivered_at);
        flow
    }

    /// Records that a flow has given up.
    pub fn fail(&mut self, flow: u32, now: Time) {
        self.finished_flows += u32::from(!self.is_over(flow));
        let flow = &mut self.flows[flow as usize];
        let special = flow.special();
        special.failed = special.failed.min(now);
        flow.stopped = true;
    }

    /// Returns true if a flow has delivered all its data or has given up.
    pub fn is_over(&self, flow: u32) -> bool {
        let state = self.flows.get(flow as usize);
        state.is_some_and(|state| state.finished < Time::MAX || state.failure_time() < Time::MAX)
    }

    /// Returns the name of a flow.
    pub fn flow_name(&self, flow: u32) -> Option<String> {
        let group = self.flows.get(flow as usize)?.group;
        self.groups.get(group as usize).map(|group| group.flow_name(flow))
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
