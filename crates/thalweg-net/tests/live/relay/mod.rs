//! Relay in a separate thread.
#![allow(dead_code, reason = "not every test uses all of it")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use thalweg_net::flow::Registry;
use thalweg_net::impair::{DirectionSpec, Relay, RelayConfig, RelayStats};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::Duration;

/// Running relay; stopping it returns its counters.
pub struct RunningRelay {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<RelayStats>,
}

/// Returns a direction with these options.
pub fn direction(text: &str) -> DirectionSpec {
    let mut spec = DirectionSpec::default();
    if !text.is_empty() {
        spec.set_all(text, &Registry::default()).unwrap();
    }
    spec.check().unwrap();
    spec
}

/// Returns the configuration of a relay to `to`. Its thread ends within ten minutes, even if the test fails.
pub fn config(to: SocketAddr, up: DirectionSpec, down: DirectionSpec) -> RelayConfig {
    let listen = if to.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
    let listen = listen.parse().unwrap();
    RelayConfig { listen, to, up, down, seed: 1, rebinds: vec![], duration: Some(Duration::from_secs(600)) }
}

impl RunningRelay {
    pub fn start(config: RelayConfig) -> Self {
        let relay = Relay::bind(config).unwrap();
        let address = relay.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        Self { address, stop, thread: std::thread::spawn(move || relay.run(&flag).unwrap()) }
    }

    pub fn stop(self) -> RelayStats {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Returns pseudo-random bytes without repetition.
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut random = RandomStream::new(seed, "bytes", 0);
    (0..length).map(|_| random.next_u64() as u8).collect()
}
