//! Integration tests of `thalweg-net` that need real time, in one program.

mod dctcp_and_prague;
mod delay_based_controllers;
#[path = "../it/endpoint_pair/mod.rs"]
mod endpoint_pair;
mod examples;
mod impairing_relay;
mod performance_advice;
mod real_sockets;
mod relay;
mod send_autotuning;
mod simulated_and_real_drivers;
mod unreliable_traffic;

use thalweg_net::live::Connection;
use thalweg_net::session::SessionStats;

/// Returns the counters of a connection that sends or receives, after an update that the first call requests.
fn updated_stats(connection: &Connection) -> SessionStats {
    let packets = |stats: &SessionStats| stats.packets_sent + stats.packets_received;
    let before = packets(&connection.stats());
    let begun = std::time::Instant::now();
    loop {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let stats = connection.stats();
        // Without a packet in between there is nothing to update.
        if packets(&stats) > before || begun.elapsed().as_secs() > 10 {
            return stats;
        }
    }
}
