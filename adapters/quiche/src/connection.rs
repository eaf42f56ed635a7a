//! One end of a QUIC connection of `quiche`, driven by the simulator.

use boring::pkey::PKey;
use boring::ssl::{
    SslContextBuilder, SslMethod, SslOptions, SslSessionCacheMode, SslSignatureAlgorithm, SslVersion,
};
use boring::x509::X509;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use quiche::{
    CongestionControlAlgorithm as Algorithm, Connection as QuicConnection, ConnectionId, Header, RecvInfo,
};
use std::fs::OpenOptions;
use std::path::PathBuf;
use thalweg_stack_clock as clock;
use thalweg_stack_contract::{
    Config, Connection, Ecn, Failure, Side, State, Stats, Time, Transmit, random, simulated_instant,
    stack_qlog_files,
};

/// Addresses of client and server.
const CLIENT_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 49_152);
const SERVER_ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);

/// Application protocol of the connections.
const ALPN: &[u8] = b"thalweg";
/// Length of connection ids, in bytes.
const CONNECTION_ID_BYTES: usize = 16;
/// Size of packets in bytes: that of the stack's example programs, within any path.
const MAX_UDP_PAYLOAD_BYTES: usize = 1350;
/// Idle timeout in milliseconds (RFC 9308, section 3.2).
const IDLE_TIMEOUT_MS: u64 = 30_000;
/// First unidirectional stream of a client (RFC 9000, section 2.1).
const DATA_STREAM_ID: u64 = 2;
/// Size of IP and UDP headers, in bytes.
const IP_UDP_HEADER_BYTES: usize = 28;
/// Environment variable with the file of session keys, to which they are appended.
const KEY_LOG_VARIABLE: &str = "SSLKEYLOGFILE";

/// One end of a connection.
pub struct End {
    scheme: &'static str,
    side: Side,
    quiche_config: quiche::Config,
    /// `None` at a server until the first packet.
    connection: Option<QuicConnection>,
    /// A packet that leaves later.
    paced_packet: Option<(Vec<u8>, Time)>,
    scratch: Vec<u8>,
    fin_sent: bool,
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "End({:?})", self.connection.as_ref().map(QuicConnection::stats))
    }
}

/// Returns a TLS context with the certificate of all stacks. Sessions are not resumed.
fn tls_context() -> SslContextBuilder {
    let build = || -> Result<SslContextBuilder, boring::error::ErrorStack> {
        let mut context = SslContextBuilder::new(SslMethod::tls())?;
        context.set_min_proto_version(Some(SslVersion::TLS1_3))?;
        context.set_curves_list("X25519")?;
        context.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519])?;
        context.set_certificate(&*X509::from_der(thalweg_stack_tls::CERTIFICATE)?)?;
        context.set_private_key(&*PKey::private_key_from_der(thalweg_stack_tls::PRIVATE_KEY)?)?;
        context.set_options(SslOptions::NO_TICKET);
        context.set_session_cache_mode(SslSessionCacheMode::OFF);
        Ok(context)
    };
    build().expect("the stored certificate suits the library")
}

/// Returns the stack's settings.
fn stack_settings(config: &Config, algorithm: Algorithm) -> Result<quiche::Config, quiche::Error> {
    let mut settings = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls_context())?;
    settings.set_application_protos(&[ALPN])?;
    // Its clock is not replaced in the verification of certificates.
    settings.verify_peer(false);
    settings.set_max_idle_timeout(IDLE_TIMEOUT_MS);
    settings
        .set_max_send_udp_payload_size(MAX_UDP_PAYLOAD_BYTES.min(config.mtu as usize - IP_UDP_HEADER_BYTES));
    settings.set_initial_max_data(config.buffer);
    settings.set_initial_max_stream_data_uni(config.buffer);
    settings.set_max_connection_window(config.buffer);
    settings.set_max_stream_window(config.buffer);
    settings.set_initial_max_streams_uni(1);
    settings.set_cc_algorithm(algorithm);
    if key_log_path().is_some() {
        settings.log_keys();
    }
    Ok(settings)
}

/// Returns the path of the file of session keys, if one is set.
fn key_log_path() -> Option<PathBuf> {
    std::env::var_os(KEY_LOG_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Lets the stack write its qlog and session keys, if the environment names their files. They do not use the clock or random
/// numbers of the connection, beside its own id.
///
/// # Panics
///
/// If a file cannot be created: the run ends with the reason.
fn write_qlog_and_keys(
    connection: &mut QuicConnection,
    scheme: &'static str,
    side: Side,
    id: &ConnectionId<'_>,
    now: Time,
) {
    let qlog_id = id.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
    if let Some(file) = stack_qlog_files::create_endpoint_qlog(scheme, side, qlog_id, now) {
        // Its times count from the call.
        clock::with_simulated_clock(Time::ZERO, || {
            connection.set_qlog(file, scheme.to_owned(), String::new())
        });
    }
    if let Some(path) = key_log_path() {
        match OpenOptions::new().append(true).create(true).open(&path) {
            Ok(file) => connection.set_keylog(Box::new(file)),
            Err(error) => {
                panic!("the file `{}` of {KEY_LOG_VARIABLE} cannot be opened: {error}", path.display())
            }
        }
    }
}

/// Returns a connection id, of the random numbers of the connection.
fn random_connection_id() -> ConnectionId<'static> {
    let mut bytes = vec![0; CONNECTION_ID_BYTES];
    random::fill_random(&mut bytes);
    ConnectionId::from_vec(bytes)
}

impl End {
    /// Opens an end with this controller.
    ///
    /// # Panics
    ///
    /// If the stack refuses its settings.
    pub fn new(scheme: &'static str, side: Side, config: &Config, algorithm: Algorithm, now: Time) -> Self {
        clock::with_simulated_clock(now, || {
            let mut quiche_config = stack_settings(config, algorithm).expect("settings are valid");
            let connection = (side == Side::Client).then(|| {
                let id = random_connection_id();
                let server = Some(thalweg_stack_tls::SERVER);
                let mut connection =
                    quiche::connect(server, &id, CLIENT_ADDRESS, SERVER_ADDRESS, &mut quiche_config)
                        .expect("addresses and name are valid");
                write_qlog_and_keys(&mut connection, scheme, side, &id, now);
                connection
            });
            Self {
                scheme,
                side,
                quiche_config,
                connection,
                paced_packet: None,
                scratch: vec![0; 65_536],
                fin_sent: false,
            }
        })
    }

    /// Calls the stack at a simulated time.
    fn with_connection<R>(&mut self, now: Time, call: impl FnOnce(&mut QuicConnection) -> R) -> Option<R> {
        let connection = self.connection.as_mut()?;
        Some(clock::with_simulated_clock(now, || call(connection)))
    }
}

impl Connection for End {
    fn receive(&mut self, now: Time, datagram: &[u8], _ecn: Ecn) {
        let mut bytes = datagram.to_vec();
        let (from, to) = if self.side == Side::Client {
            (SERVER_ADDRESS, CLIENT_ADDRESS)
        } else {
            (CLIENT_ADDRESS, SERVER_ADDRESS)
        };
        if self.connection.is_none() {
            // Damaged packets are not delivered, and other packets come after the first.
            if !Header::from_slice(&mut bytes, CONNECTION_ID_BYTES)
                .is_ok_and(|header| header.ty == quiche::Type::Initial)
            {
                return;
            }
            let id = random_connection_id();
            let accepted = clock::with_simulated_clock(now, || {
                quiche::accept(&id, None, to, from, &mut self.quiche_config)
            });
            self.connection = accepted.ok();
            if let Some(connection) = &mut self.connection {
                write_qlog_and_keys(connection, self.scheme, self.side, &id, now);
            }
        }
        // Errors close the connection, which its state shows.
        let _ = self.with_connection(now, |connection| connection.recv(&mut bytes, RecvInfo { from, to }));
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if self.paced_packet.is_none() {
            let mut scratch = core::mem::take(&mut self.scratch);
            let sent = self.with_connection(now, |connection| connection.send(&mut scratch));
            if let Some(Ok((length, info))) = sent {
                self.paced_packet = Some((scratch[..length].to_vec(), clock::simulated_time_of(info.at)));
            }
            self.scratch = scratch;
        }
        let (packet, _) = self.paced_packet.take_if(|(_, at)| *at <= now)?;
        buffer.extend(packet);
        Some(Transmit { ecn: Ecn::NotEct, segment: None, is_last: false })
    }

    fn timeout(&mut self, now: Time) -> Option<Time> {
        let timer =
            self.connection.as_ref().and_then(QuicConnection::timeout_instant).map(clock::simulated_time_of);
        // The driver takes a due packet without asking.
        let paced_packet = self.paced_packet.as_ref().map(|(_, at)| *at).filter(|at| *at > now);
        timer.into_iter().chain(paced_packet).min()
    }

    fn on_timeout(&mut self, now: Time) {
        let _ = self.with_connection(now, QuicConnection::on_timeout);
    }

    fn write(&mut self, now: Time, bytes: &'static [u8]) -> usize {
        // The stack sends what it accepts at once: less than a packet would become a small one.
        let min_capacity_bytes = bytes.len().min(MAX_UDP_PAYLOAD_BYTES);
        let sent = self.with_connection(now, |connection| match connection.stream_capacity(DATA_STREAM_ID) {
            Ok(capacity) if capacity < min_capacity_bytes => Err(quiche::Error::Done),
            _ if connection.is_established() => connection.stream_send(DATA_STREAM_ID, bytes, false),
            _ => Err(quiche::Error::Done),
        });
        sent.and_then(Result::ok).unwrap_or_default()
    }

    fn finish(&mut self, now: Time) {
        let fin_result =
            self.with_connection(now, |connection| connection.stream_send(DATA_STREAM_ID, &[], true));
        self.fin_sent = matches!(fin_result, Some(Ok(_)));
    }

    fn read(&mut self, now: Time, max: usize, consume: &mut dyn FnMut(&[u8])) {
        let mut scratch = core::mem::take(&mut self.scratch);
        let mut remaining_bytes = max;
        while remaining_bytes > 0 {
            let read_bytes = scratch.len().min(remaining_bytes);
            let read = self.with_connection(now, |connection| {
                connection.stream_recv(DATA_STREAM_ID, &mut scratch[..read_bytes])
            });
            let Some(Ok((length, _))) = read else { break };
            consume(&scratch[..length]);
            remaining_bytes -= length;
            if length == 0 {
                break;
            }
        }
        self.scratch = scratch;
    }

    fn close(&mut self, now: Time) {
        let _ = self.with_connection(now, |connection| connection.close(true, 0, b""));
    }

    fn state(&mut self) -> State {
        let fin_sent = self.fin_sent;
        let Some(connection) = &mut self.connection else { return State::Open };
        if connection.is_timed_out() {
            return State::Failed(Failure::NoAnswer);
        }
        if connection.local_error().or(connection.peer_error()).is_some_and(|error| error.error_code != 0) {
            return State::Failed(Failure::ClosedByPeer);
        }
        // The stack forgets a stream once all of it has been acknowledged.
        if fin_sent
            && matches!(connection.stream_capacity(DATA_STREAM_ID), Err(quiche::Error::InvalidStreamState(_)))
        {
            return State::Finished;
        }
        if connection.is_closed() || connection.is_draining() { State::Closed } else { State::Open }
    }

    fn stats(&self) -> Stats {
        let Some(connection) = &self.connection else { return Stats::default() };
        let Some(path) = connection.path_stats().next() else { return Stats::default() };
        Stats {
            window: Some(path.cwnd as u64),
            smoothed_rtt: Some(simulated_instant::duration(path.rtt)),
            min_rtt: path.min_rtt.map(simulated_instant::duration),
            lost: path.lost as u64,
            timeouts: path.total_pto_count as u64,
            mtu: path.pmtu as u32,
            ..Stats::default()
        }
    }
}
