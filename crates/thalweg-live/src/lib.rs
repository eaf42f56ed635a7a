//! Live emulation of a scenario: real packets of any program cross the links, queues and routes of the simulator.
//!
//! - [`plan`](plan::plan) maps a scenario to hosts with addresses and routers between them, or reports why it cannot.
//! - [`Emulator`] is the network without sockets and clocks: packets enter and leave; routers answer as real routers
//!   do.
//! - [`host`] creates the hosts: network namespaces with one TUN device each. No privileges are needed where
//!   unprivileged user namespaces are enabled.
//! - [`traffic`] carries the flows of a scenario between hosts, over the kernel's TCP or a scheme.
//! - [`drive`] moves packets between the devices and the network by this host's clock and records the lateness:
//!   [`Fidelity`].

mod acks;
mod capture;
mod compose;
mod connections;
mod drive;
mod emulator;
mod fidelity;
pub mod forward;
mod gates;
mod groups;
pub mod host;
mod icmp;
mod middlebox;
mod nat;
mod packet;
pub mod plan;
mod port;
mod readdress;
#[doc(hidden)]
pub mod readers;
mod router_feedback;
mod runs;
mod segments;
mod tcp;
mod thread_priority;
pub mod traffic;
mod watch;

pub use capture::Capture;
pub use drive::{Device, Driven, FileCapture, NetworkObservers, drive};
pub use emulator::{Counts, Delivery, Emulator, Line};
pub use fidelity::{Fidelity, Lateness, Verdict};
pub use groups::{Groups, Joined};
pub use port::Port;
pub use watch::{View, Watch};
