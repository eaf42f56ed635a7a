//! Common code of the peers: arguments, the certificate, and the line that a receiver prints.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The bytes that are handed to a stream at once.
pub const PIECE: usize = 256 << 10;

/// How much of a stream may wait at the receiver, and be on the way.
pub const WINDOW: u32 = 16 << 20;

/// `send|receive ADDRESS FOLDER [seconds=S] [datagram=B] [offload=no] [threads=N]`. The folder is where the receiver
/// leaves its certificate.
pub struct Arguments {
    pub sends: bool,
    pub address: SocketAddr,
    pub folder: PathBuf,
    pub span: Duration,
    pub datagram: u16,
    pub offload: bool,
    pub threads: usize,
}

impl Arguments {
    pub fn read() -> Self {
        let words: Vec<String> = std::env::args().skip(1).collect();
        let [role, address, folder, options @ ..] = &words[..] else {
            panic!("send|receive ADDRESS FOLDER ...")
        };
        let option = |name: &str| {
            options.iter().find_map(|option| option.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
        };
        Self {
            sends: role == "send",
            address: address.parse().expect("an address and a port"),
            folder: folder.into(),
            span: Duration::from_secs_f64(option("seconds").map_or(5.0, |s| s.parse().expect("seconds"))),
            datagram: option("datagram").map_or(1472, |b| b.parse().expect("bytes")),
            offload: option("offload").as_deref() != Some("no"),
            threads: option("threads").map_or(1, |n| n.parse().expect("a number")),
        }
    }

    pub fn certificate(&self) -> PathBuf {
        self.folder.join("certificate.pem")
    }

    pub fn key(&self) -> PathBuf {
        self.folder.join("key.pem")
    }

    pub fn runtime(&self) -> tokio::runtime::Runtime {
        let mut builder = if self.threads == 1 {
            tokio::runtime::Builder::new_current_thread()
        } else {
            tokio::runtime::Builder::new_multi_thread()
        };
        if self.threads > 1 {
            builder.worker_threads(self.threads);
        }
        builder.enable_all().build().expect("a runtime")
    }
}

/// Makes a certificate for `localhost` and leaves it where the sender finds it.
pub fn write_certificate(certificate: &Path, key: &Path) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    std::fs::write(key, made.signing_key.serialize_pem()).expect("a folder to write to");
    std::fs::write(certificate, made.cert.pem()).expect("a folder to write to");
}

/// Counts what comes, from the first byte to the last.
#[derive(Default)]
pub struct Meter {
    bytes: u64,
    span: Option<(Instant, Instant)>,
}

impl Meter {
    pub fn count(&mut self, bytes: usize) {
        let now = Instant::now();
        self.bytes += bytes as u64;
        self.span = Some((self.span.map_or(now, |(first, _)| first), now));
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Prints one line of JSON.
    pub fn print(&self) {
        let seconds = self.span.map_or(0.0, |(first, last)| (last - first).as_secs_f64());
        println!("{{\"bytes\": {}, \"seconds\": {seconds:.6}}}", self.bytes);
    }
}

/// Signals that the receiver may be called.
pub fn signal_ready() {
    eprintln!("ready");
}
