//! Fuzz target for input from the host: configuration, kernel tables and replies, and attributes of files.

use std::net::IpAddr;
use thalweg_live::fuzz_entry_points::{
    count_sock_diag_connections, is_acknowledged, name_servers, parse_dropped_packets,
};
use thalweg_net::transfer::read_mark;

/// Fuzzes `/etc/resolv.conf`, `/proc/net/dev`, replies of rtnetlink and sock_diag, and the mark of a received file.
pub fn fuzz_host_files_and_kernel_replies(octets: &[u8]) {
    let Some((reader, octets)) = super::select_parser(octets, 5) else { return };
    let text = String::from_utf8_lossy(octets);
    match reader {
        0 => {
            let server = IpAddr::from([10, 71, 0, 2]);
            let [_, replaced] = name_servers(&text, server);
            assert_eq!(replaced.map(|server| server.ip()), Some(server), "{text}");
        }
        1 => {
            parse_dropped_packets(&text);
        }
        2 => {
            is_acknowledged(octets);
        }
        3 => assert!(count_sock_diag_connections(octets) <= octets.len()),
        _ => {
            if let Some((tag, time)) = read_mark(octets) {
                assert!(!tag.contains(' ') && time.nanoseconds < 1_000_000_000, "{text}");
            }
        }
    }
}
