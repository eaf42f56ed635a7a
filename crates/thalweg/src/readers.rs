//! Readers of bytes that others wrote, for fuzzing: each is the one that commands use.

use crate::advice::Findings;
use crate::bench::stream::{Request, trailer};
use crate::bench::words::{Told, server_line};
use crate::transfer::http;
use crate::transfer::peers::Peers;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

/// Reads the text of a `known-senders` file; gives the number of peers, of those without a name, and of keys that a user chose.
pub fn known_peers(text: &str) -> [usize; 3] {
    let peers = Peers::parse(PathBuf::from("known-senders"), text);
    let chosen = peers.keys().filter(|key| peers.is_chosen(key)).count();
    [peers.keys().count(), peers.unnamed(), chosen]
}

/// Responds to an HTTP request for `/metrics`; `None` while its head is not whole.
pub fn metrics_response(request: &[u8], is_loopback: bool, page: &str) -> Option<Vec<u8>> {
    let local = if is_loopback { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    let respond = || http::response(request, IpAddr::V4(local), "/metrics", || page.to_owned());
    http::is_whole(request).then(respond)
}

/// Reads the request of a client of `bench server`; gives the time that it is served for, with the grace after it.
pub fn bench_request(request: [u8; Request::LENGTH]) -> Duration {
    let request = Request::decode(request);
    request.time + request.grace()
}

/// Reads the counts at the end of the stream of a `bench server`; gives what the client prints of them.
pub fn bench_counts(tail: &[u8]) -> Option<String> {
    let (counts, length) = trailer(tail)?;
    let advice = Findings::from_json(&counts["findings"]).map(|findings| format!("{findings:?}"));
    let told = Told {
        here: &counts,
        there: std::slice::from_ref(&counts),
        more: Duration::ZERO,
        advice: advice.as_deref(),
    };
    Some(format!("{length} {}\n{}", server_line(&counts), told.text()))
}
