//! Parsers of external input, as used by the commands, for fuzzing.

use crate::bench::bench_streams::{Request, parse_results_trailer};
use crate::bench::result_text::{ClientResults, server_line};
use crate::performance_advice_text::Findings;
use crate::transfer::metrics_http;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;
use thalweg_net::keyring::KnownPeers;

/// Parses a `known-senders` file; returns the number of peers, of unnamed peers, and of keys chosen by the user.
pub fn known_peers(text: &str) -> [usize; 3] {
    let peers = KnownPeers::parse(PathBuf::from("known-senders"), text);
    let chosen = peers.keys().filter(|key| peers.is_chosen(key)).count();
    [peers.keys().count(), peers.unnamed(), chosen]
}

/// Returns the response to an HTTP request for `/metrics`; `None` while its head is incomplete.
pub fn metrics_response(request: &[u8], is_loopback: bool, page: &str) -> Option<Vec<u8>> {
    let local = if is_loopback { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    let respond = || metrics_http::http_response(request, IpAddr::V4(local), "/metrics", || page.to_owned());
    metrics_http::is_complete(request).then(respond)
}

/// Parses the request of a `bench` client; returns the service time including the grace period.
pub fn bench_request(request: [u8; Request::LENGTH]) -> Duration {
    let request = Request::decode(request);
    request.time + request.grace()
}

/// Parses the results at the end of a `bench` server's stream; returns the client's text about them.
pub fn bench_counts(tail: &[u8]) -> Option<String> {
    let (counts, length) = parse_results_trailer(tail)?;
    let advice = Findings::from_json(&counts["findings"]).map(|findings| format!("{findings:?}"));
    let client_results = ClientResults {
        client_results: &counts,
        server_results: std::slice::from_ref(&counts),
        excess_time: Duration::ZERO,
        advice: advice.as_deref(),
    };
    Some(format!("{length} {}\n{}", server_line(&counts), client_results.text()))
}
