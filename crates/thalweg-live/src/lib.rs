//! Live emulation of a scenario: real packets of any program cross the links, queues and routes of the simulator.
//!
//! - [`network_plan`](network_plan::plan_network) maps a scenario to hosts with addresses and routers between them, or reports why it cannot.
//! - [`Emulator`] is the network without sockets and clocks: packets enter and leave; routers answer as real routers
//!   do.
//! - [`host`] creates the hosts: network namespaces with one TUN device each. No privileges are needed where
//!   unprivileged user namespaces are enabled.
//! - [`scenario_traffic`] carries the flows of a scenario between hosts, over the kernel's TCP or a scheme.
//! - [`run_event_loop`] moves packets between the devices and the network by this host's clock and records the lateness:
//!   [`Fidelity`].

mod ack_delay_signal;
mod address_rewriting;
mod connected_components;
mod emulator;
mod event_loop;
mod fidelity_record;
#[doc(hidden)]
pub mod fuzz_entry_points;
mod gates_on_packets;
pub mod gateway;
mod gro;
mod gso;
pub mod host;
mod ip_header;
mod middlebox;
mod nat;
pub mod network_plan;
mod network_snapshots;
mod pcapng_capture;
mod router_feedback;
mod router_icmp;
mod router_originated_packets;
pub mod scenario_traffic;
mod simulated_connection_numbers;
mod tcp_headers;
mod thread_priority;
mod tun_queue;

pub use connected_components::{Groups, MergedOutcome};
pub use emulator::{Counts, Delivery, Emulator, LinkDirectionState};
pub use event_loop::{Device, EventLoopOutcome, FileCapture, NetworkObservers, run_event_loop};
pub use fidelity_record::{Fidelity, Lateness, Verdict};
pub use network_snapshots::{View, Watch};
pub use pcapng_capture::Capture;
pub use tun_queue::Port;
