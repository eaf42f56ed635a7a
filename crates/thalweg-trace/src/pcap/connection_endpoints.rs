//! The two ends of a connection in a capture, and what follows from them: names, and the place of the capture.

use super::packet_headers::Address;
use crate::trace_model::{Connection, Point, View};
use std::net::Ipv6Addr;
use thalweg_units::Duration;

/// Address and port.
pub(super) type End = (Address, u16);

/// Ends of a connection: first the one that sent its first packet.
pub(super) type ConnectionEnds = [End; 2];

/// Returns the place of a capture by the round-trip times from there to the server and to the client: at an end if its share is
/// below 15 %.
pub(super) fn capture_point(to_server: Duration, to_client: Duration) -> Point {
    let (to_server, to_client) = (to_server.as_secs_f64(), to_client.as_secs_f64());
    match to_client / (to_server + to_client) {
        share if share < 0.15 => Point::Client,
        share if share > 0.85 => Point::Server,
        _ => Point::Between,
    }
}

/// Names a connection and its directions by their addresses and ports, and sets the view of its directions by its point. The id
/// is the same from both ends.
pub(super) fn label_connection(connection: &mut Connection, ends: ConnectionEnds) {
    let [one, other] = ends;
    connection.name = format!("{} > {}", format_endpoint(one), format_endpoint(other));
    connection.id = format!("{} {}", format_endpoint(one.min(other)), format_endpoint(one.max(other)));
    for (number, (direction, end)) in connection.directions.iter_mut().zip(ends).enumerate() {
        direction.from = format_endpoint(end);
        direction.view = match (connection.point, number) {
            (Point::Client, 0) | (Point::Server, 1) => View::Sender,
            (Point::Client, _) | (Point::Server, _) => View::Receiver,
            (Point::Between, _) => View::Between,
        };
    }
}

/// Formats an address with its port.
fn format_endpoint((address, port): End) -> String {
    let address = Ipv6Addr::from(address);
    match address.to_ipv4_mapped() {
        Some(address) => format!("{address}:{port}"),
        None => format!("[{address}]:{port}"),
    }
}
