//! Socket and counters of a benchmark, common to client and server.

use super::bench_arguments::BenchSocket;
use crate::console_output::Error;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thalweg_catalog::Registry;
use thalweg_net::endpoint::{EndpointConfig, Listen, Trust};
use thalweg_net::identity::{Identity, SystemEntropy};
use thalweg_net::live::{NetError, Offload, Socket, SocketConfig};
use thalweg_net::session::{COUNTERS, SessionConfig, SessionStats};
use thalweg_proto::transport::Limit;

/// Service name that clients request.
pub const SERVICE: &str = "bench";

/// Returns the CPU time used by this process.
pub fn process_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    // Neither value is negative.
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Opens a socket. With a registry of the schemes that clients may choose, it listens.
pub fn open_socket(
    bind: SocketAddr,
    arguments: &BenchSocket,
    registry: Option<&Arc<Registry>>,
) -> Result<(Socket, Identity), Error> {
    let identity = Identity::generate(&mut SystemEntropy::new());
    let max_datagram_bytes =
        u16::try_from(arguments.datagram.get()).ok().filter(|size| (1200..=65_507).contains(size));
    let max_datagram_bytes = max_datagram_bytes
        .ok_or_else(|| Error::argument("datagram", "it must be between 1200 B and 65507 B"))?;
    let listen =
        registry.map(|registry| Listen::new(Trust::Anyone, [SERVICE]).with_registry(Arc::clone(registry)));
    let endpoint = EndpointConfig {
        listen,
        max_datagram_bytes,
        session: match arguments.memory.map(|memory| memory.get().max(1 << 16)) {
            Some(memory) => SessionConfig { memory, max_memory: memory, ..SessionConfig::default() },
            None => SessionConfig::default(),
        },
        ..EndpointConfig::new(identity.clone())
    };
    let offload = if arguments.no_offload { Offload::None } else { Offload::Auto };
    let BenchSocket { buffer, threads, .. } = *arguments;
    let config = SocketConfig { buffer, offload, threads, ..SocketConfig::new(bind, endpoint) };
    let socket =
        Socket::bind(config).map_err(|error| Error::Failed(format!("cannot listen on {bind}: {error}")))?;
    Ok((socket, identity))
}

/// Returns the smoothed round-trip time in seconds; `None` at an end that does not send the measured data: the
/// acknowledgements of its few packets are delayed.
pub fn smoothed_rtt_seconds(stats: &SessionStats, sends: bool) -> Option<f64> {
    let smoothed_rtt = stats.sending.sender.smoothed_rtt.filter(|_| sends);
    smoothed_rtt.map(thalweg_proto::units::Duration::as_secs_f64)
}

/// Returns the results of an end; it `sends` the measured data or receives them.
pub fn transfer_counts(
    bytes: u64,
    time: Duration,
    cpu: Duration,
    stats: &SessionStats,
    sends: bool,
) -> Value {
    let seconds = time.as_secs_f64();
    let gigabytes = bytes as f64 / 1e9;
    let mut limits = serde_json::Map::new();
    for limit in Limit::ALL {
        let share = stats.sending.sender.limits[limit.index()].as_secs_f64();
        if share > 0.0 {
            limits.insert(limit.name().to_owned(), json!(share));
        }
    }
    let mut result = json!({
        "bytes": bytes,
        "seconds": seconds,
        "bits_per_second": if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 },
        "cpu_seconds": cpu.as_secs_f64(),
        "cpu_seconds_per_gigabyte": if bytes > 0 { cpu.as_secs_f64() / gigabytes } else { 0.0 },
        "datagram_bytes": stats.datagram,
        "ecn": stats.ecn.name(),
        "smoothed_rtt_seconds": smoothed_rtt_seconds(stats, sends),
        "limited_by_seconds": limits,
        "sends": sends,
    });
    for counter in COUNTERS {
        debug_assert!(result.get(counter.name).is_none(), "{} is there already", counter.name);
        result[counter.name] = json!(counter.value_in(stats));
    }
    result
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed over by what fails")]
pub fn bench_error(error: NetError) -> Error {
    Error::Failed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_sender_of_the_data_reports_the_round_trip() {
        let mut stats = SessionStats::default();
        stats.sending.sender.smoothed_rtt = Some(thalweg_proto::units::Duration::from_millis(25));
        let second = Duration::from_secs(1);
        let rtt = |sends| transfer_counts(1, second, second, &stats, sends)["smoothed_rtt_seconds"].clone();
        assert_eq!((rtt(true), rtt(false)), (json!(0.025), Value::Null));
    }
}
