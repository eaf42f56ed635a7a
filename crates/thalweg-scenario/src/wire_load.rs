//! Bytes on the wire of the payload that applications write.

use thalweg_proto::random::RandomStream;
use thalweg_proto::units::Bytes;
use thalweg_sim::simulation_spec::{Framing, GroupSpec, SizeSpec, TransportSpec, WorkloadSpec};

/// Returns the bytes on the wire of a link with this framing per byte of a group's payload: of full packets, or of the
/// packets of each write or transfer where they are sent separately.
pub fn wire_bytes_per_byte(group: &GroupSpec, framing: Framing) -> f64 {
    bytes_per_byte(group, framing, separate_sizes(group))
}

/// Returns the bytes on the wire per byte of payload if each write of a source with a rate leaves at once, as under no
/// load; `None` for other workloads.
pub(crate) fn wire_bytes_per_byte_unloaded(group: &GroupSpec, framing: Framing) -> Option<f64> {
    match group.workload {
        WorkloadSpec::ConstantRate { packet, .. } | WorkloadSpec::OnOff { packet, rate: Some(_), .. } => {
            Some(bytes_per_byte(group, framing, Some(SizeSpec::Fixed(packet))))
        }
        _ => None,
    }
}

/// Returns the bytes on the wire per byte of payload: in full packets, or in the packets of separate writes of these
/// sizes.
fn bytes_per_byte(group: &GroupSpec, framing: Framing, separate_sizes: Option<SizeSpec>) -> f64 {
    let segment = u64::from(group.transport.properties().segment().max(1));
    let full = packet_wire_bytes(&group.transport, segment, framing) as f64 / segment as f64;
    let Some(sizes) = separate_sizes else { return full };
    // Only the last packet of a write has more bytes per byte than full packets have. Its excess is less than a packet:
    // few draws suffice, also for heavy tails.
    let excess = |size: u64| match size % segment {
        0 => 0.0,
        last => packet_wire_bytes(&group.transport, last, framing) as f64 - full * last as f64,
    };
    let mean_excess = if let SizeSpec::Fixed(size) = sizes {
        excess(size.get())
    } else {
        let mut stream = RandomStream::new(0, "wire-load", 0);
        (0..DRAWS).map(|_| excess(sizes.draw(&mut stream))).sum::<f64>() / f64::from(DRAWS)
    };
    full + mean_excess / sizes.mean().max(1.0)
}

/// Returns the bytes of the packets that carry this payload, all of them full except the last.
pub(crate) fn packet_bytes(transport: &TransportSpec, payload: Bytes) -> u64 {
    let segment = u64::from(transport.properties().segment().max(1));
    let full = packet_wire_bytes(transport, segment, Framing::None).saturating_mul(payload.get() / segment);
    match payload.get() % segment {
        0 => full,
        last => full.saturating_add(packet_wire_bytes(transport, last, Framing::None)),
    }
}

fn packet_wire_bytes(transport: &TransportSpec, payload: u64, framing: Framing) -> u64 {
    framing.on_wire(transport.data_packet(u32::try_from(payload).unwrap_or(u32::MAX)))
}

/// Returns the sizes of writes and transfers that share no packets with others; `None` where a backlog is sent in full
/// packets.
fn separate_sizes(group: &GroupSpec) -> Option<SizeSpec> {
    let properties = group.transport.properties();
    match &group.workload {
        // Each write follows the departure of the last one.
        WorkloadSpec::Telnet { packet, .. } => Some(SizeSpec::Fixed(*packet)),
        WorkloadSpec::ConstantRate { packet, .. } | WorkloadSpec::OnOff { packet, .. } => {
            properties.is_unbounded().then_some(SizeSpec::Fixed(*packet))
        }
        // Of reliable transports each transfer has a connection.
        WorkloadSpec::Poisson { size, .. } => {
            (properties.is_reliable() || properties.is_unbounded()).then(|| size.clone())
        }
        _ => None,
    }
}

/// Number of drawn sizes: the standard error of the mean excess is below 2 % of a packet's header.
const DRAWS: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_text;

    /// Returns the bytes on the wire per byte of the flow with this scheme and workload.
    fn per_byte(flow: &str, framing: Framing) -> f64 {
        let text = format!(
            "duration = \"2 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
        );
        let loaded = load_text("load.toml", &text, std::path::Path::new(""), &[]).unwrap();
        wire_bytes_per_byte(&loaded.spec().groups[0], framing)
    }

    #[test]
    fn small_writes_and_transfers_have_more_headers() {
        let udp = |packet: &str| {
            format!(
                "scheme = \"udp\"\nworkload = {{ kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"{packet}\" }}"
            )
        };
        let poisson = |size: &str| {
            format!("scheme = \"cubic\"\nworkload = {{ kind = \"poisson\", load = \"10 %\", size = {size} }}")
        };
        // Headers of 28 and 52 bytes; 64 + 28 + 8 bytes fill three cells of 53 bytes.
        let cases = [
            (udp("64 B"), Framing::None, 92.0 / 64.0),
            (udp("64 B"), Framing::AtmAal5, 159.0 / 64.0),
            (udp("1472 B"), Framing::None, 1500.0 / 1472.0),
            (udp("2000 B"), Framing::None, (1500.0 + 528.0 + 28.0) / 2000.0),
            (poisson("\"100 B\""), Framing::None, 152.0 / 100.0),
            (poisson("\"2 kB\""), Framing::None, 2104.0 / 2000.0),
            ("scheme = \"cubic\"".to_owned(), Framing::None, 1500.0 / 1448.0),
        ];
        for (flow, framing, expected) in cases {
            let found = per_byte(&flow, framing);
            assert!((found / expected - 1.0).abs() < 1e-9, "{flow}: {found}, not {expected}");
        }
        // Uniform below a segment: one packet each, of 500.5 bytes on average.
        let found = per_byte(
            &poisson("{ distribution = \"uniform\", min = \"1 B\", max = \"1000 B\" }"),
            Framing::None,
        );
        assert!((found - 552.5 / 500.5).abs() < 0.005, "{found}");
        // A backlog of a window-limited sender leaves in full packets.
        let cbr = "scheme = \"cubic\"\nworkload = { kind = \"cbr\", rate = \"1 Mbit/s\", packet = \"64 B\" }";
        assert!((per_byte(cbr, Framing::None) - 1500.0 / 1448.0).abs() < 1e-9);
    }
}
