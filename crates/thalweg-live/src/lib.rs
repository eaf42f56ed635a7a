//! A scenario as a live network: real packets of any program cross the links, queues and wires of the simulator.
//!
//! - [`plan`](plan::plan) makes of a scenario what can be live: hosts with addresses, routers between them; or says why it cannot be.
//! - [`Emulator`] is the network without sockets and clocks: packets go in and come out, routers answer as routers do.
//! - [`host`] makes the hosts: network namespaces with a TUN device each, which need no privileges where users may have namespaces.
//! - [`drive`] moves packets between the devices and the network, by the clock of this host, and keeps account of how late it was:
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
mod middle;
mod nat;
mod packet;
pub mod plan;
mod port;
mod readdress;
#[doc(hidden)]
pub mod readers;
mod runs;
mod segments;
mod tcp;
mod told;
mod urgent;
mod watch;

pub use capture::Capture;
pub use drive::{Device, Driven, FileCapture, Onlookers, drive};
pub use emulator::{Counts, Delivery, Emulator, Line};
pub use fidelity::{Fidelity, Lateness, Verdict};
pub use groups::{Groups, Joined};
pub use port::Port;
pub use watch::{View, Watch};
