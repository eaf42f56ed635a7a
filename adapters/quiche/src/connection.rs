//! One end of a QUIC connection of `quiche`, driven by the simulator.

use boring::pkey::PKey;
use boring::ssl::{
    SslContextBuilder, SslMethod, SslOptions, SslSessionCacheMode, SslSignatureAlgorithm, SslVersion,
};
use boring::x509::X509;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use quiche::{
    CongestionControlAlgorithm as Algorithm, Connection as Protocol, ConnectionId, Header, RecvInfo,
};
use std::fs::OpenOptions;
use std::path::PathBuf;
use thalweg_stack_clock as clock;
use thalweg_stack_contract::{
    Config, Connection, Ecn, Failure, Side, State, Stats, Time, Transmit, random,
    simulated_instant as durations, stack_qlog_files,
};

/// Addresses of client and server.
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 49_152);
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4433);

/// Application protocol of the connections.
const PROTOCOL: &[u8] = b"thalweg";
/// Length of connection ids, in bytes.
const ID_LENGTH: usize = 16;
/// Size of packets in bytes: that of the stack's example programs, within any path.
const PACKET: usize = 1350;
/// Idle timeout in milliseconds (RFC 9308, section 3.2).
const IDLE_TIMEOUT: u64 = 30_000;
/// First unidirectional stream of a client (RFC 9000, section 2.1).
const STREAM: u64 = 2;
/// Size of IP and UDP headers, in bytes.
const HEADERS: usize = 28;
/// Environment variable with the file of session keys, to which they are appended.
const KEYS: &str = "SSLKEYLOGFILE";

/// One end of a connection.
pub struct End {
    scheme: &'static str,
    side: Side,
    config: quiche::Config,
    /// `None` at a server until the first packet.
    connection: Option<Protocol>,
    /// A packet that leaves later.
    scheduled: Option<(Vec<u8>, Time)>,
    scratch: Vec<u8>,
    is_ending: bool,
    has_ended: bool,
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "End({:?})", self.connection.as_ref().map(Protocol::stats))
    }
}

/// Returns a TLS context with the certificate of all stacks. Sessions are not resumed.
fn tls_context() -> SslContextBuilder {
    let made = || -> Result<SslContextBuilder, boring::error::ErrorStack> {
        let mut context = SslContextBuilder::new(SslMethod::tls())?;
        context.set_min_proto_version(Some(SslVersion::TLS1_3))?;
        context.set_curves_list("X25519")?;
        context.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519])?;
        context.set_certificate(&*X509::from_der(thalweg_stack_tls::CERTIFICATE)?)?;
        context.set_private_key(&*PKey::private_key_from_der(thalweg_stack_tls::KEY)?)?;
        context.set_options(SslOptions::NO_TICKET);
        context.set_session_cache_mode(SslSessionCacheMode::OFF);
        Ok(context)
    };
    made().expect("the stored certificate suits the library")
}

/// Returns the stack's settings.
fn stack_settings(config: &Config, algorithm: Algorithm) -> Result<quiche::Config, quiche::Error> {
    let mut settings = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls_context())?;
    settings.set_application_protos(&[PROTOCOL])?;
    // Its clock is not replaced in the verification of certificates.
    settings.verify_peer(false);
    settings.set_max_idle_timeout(IDLE_TIMEOUT);
    settings.set_max_send_udp_payload_size(PACKET.min(config.mtu as usize - HEADERS));
    settings.set_initial_max_data(config.buffer);
    settings.set_initial_max_stream_data_uni(config.buffer);
    settings.set_max_connection_window(config.buffer);
    settings.set_max_stream_window(config.buffer);
    settings.set_initial_max_streams_uni(1);
    settings.set_cc_algorithm(algorithm);
    if key_file().is_some() {
        settings.log_keys();
    }
    Ok(settings)
}

/// Returns the path of the file of session keys, if one is set.
fn key_file() -> Option<PathBuf> {
    std::env::var_os(KEYS).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Lets the stack write its qlog and session keys, if the environment names their files. They do not use the clock or random
/// numbers of the connection, beside its own id.
///
/// # Panics
///
/// If a file cannot be created: the run ends with the reason.
fn write_qlog_and_keys(
    connection: &mut Protocol,
    scheme: &'static str,
    side: Side,
    id: &ConnectionId<'_>,
    now: Time,
) {
    let number = id.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
    if let Some(file) = stack_qlog_files::create_endpoint_qlog(scheme, side, number, now) {
        // Its times count from the call.
        clock::with_simulated_clock(Time::ZERO, || {
            connection.set_qlog(file, scheme.to_owned(), String::new())
        });
    }
    if let Some(path) = key_file() {
        match OpenOptions::new().append(true).create(true).open(&path) {
            Ok(file) => connection.set_keylog(Box::new(file)),
            Err(error) => panic!("the file `{}` of {KEYS} cannot be opened: {error}", path.display()),
        }
    }
}

/// Returns a connection id, of the random numbers of the connection.
fn draw_id() -> ConnectionId<'static> {
    let mut bytes = vec![0; ID_LENGTH];
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
            let mut config = stack_settings(config, algorithm).expect("settings are valid");
            let connection = (side == Side::Client).then(|| {
                let id = draw_id();
                let server = Some(thalweg_stack_tls::SERVER);
                let mut connection = quiche::connect(server, &id, CLIENT, SERVER, &mut config)
                    .expect("addresses and name are valid");
                write_qlog_and_keys(&mut connection, scheme, side, &id, now);
                connection
            });
            Self {
                scheme,
                side,
                config,
                connection,
                scheduled: None,
                scratch: vec![0; 65_536],
                is_ending: false,
                has_ended: false,
            }
        })
    }

    /// Calls the stack at a simulated time.
    fn call<R>(&mut self, now: Time, call: impl FnOnce(&mut Protocol) -> R) -> Option<R> {
        let connection = self.connection.as_mut()?;
        Some(clock::with_simulated_clock(now, || call(connection)))
    }
}

impl Connection for End {
    fn receive(&mut self, now: Time, datagram: &[u8], _ecn: Ecn) {
        let mut bytes = datagram.to_vec();
        let (from, to) = if self.side == Side::Client { (SERVER, CLIENT) } else { (CLIENT, SERVER) };
        if self.connection.is_none() {
            // Damaged packets are not delivered, and other packets come after the first.
            if !Header::from_slice(&mut bytes, ID_LENGTH)
                .is_ok_and(|header| header.ty == quiche::Type::Initial)
            {
                return;
            }
            let id = draw_id();
            let accepted =
                clock::with_simulated_clock(now, || quiche::accept(&id, None, to, from, &mut self.config));
            self.connection = accepted.ok();
            if let Some(connection) = &mut self.connection {
                write_qlog_and_keys(connection, self.scheme, self.side, &id, now);
            }
        }
        // Errors close the connection, which its state shows.
        let _ = self.call(now, |connection| connection.recv(&mut bytes, RecvInfo { from, to }));
    }

    fn transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if self.scheduled.is_none() {
            let mut scratch = core::mem::take(&mut self.scratch);
            let sent = self.call(now, |connection| connection.send(&mut scratch));
            if let Some(Ok((length, info))) = sent {
                self.scheduled = Some((scratch[..length].to_vec(), clock::simulated_time_of(info.at)));
            }
            self.scratch = scratch;
        }
        let (packet, _) = self.scheduled.take_if(|(_, at)| *at <= now)?;
        buffer.extend(packet);
        Some(Transmit { ecn: Ecn::NotEct, segment: None, is_last: false })
    }

    fn timeout(&mut self, now: Time) -> Option<Time> {
        let timer =
            self.connection.as_ref().and_then(Protocol::timeout_instant).map(clock::simulated_time_of);
        // The driver takes a due packet without asking.
        let scheduled = self.scheduled.as_ref().map(|(_, at)| *at).filter(|at| *at > now);
        timer.into_iter().chain(scheduled).min()
    }

    fn expire(&mut self, now: Time) {
        let _ = self.call(now, Protocol::on_timeout);
    }

    fn write(&mut self, now: Time, bytes: &'static [u8]) -> usize {
        // The stack sends what it accepts at once: less than a packet would become a small one.
        let enough = bytes.len().min(PACKET);
        let sent = self.call(now, |connection| match connection.stream_capacity(STREAM) {
            Ok(capacity) if capacity < enough => Err(quiche::Error::Done),
            _ if connection.is_established() => connection.stream_send(STREAM, bytes, false),
            _ => Err(quiche::Error::Done),
        });
        sent.and_then(Result::ok).unwrap_or_default()
    }

    fn finish(&mut self, now: Time) {
        self.is_ending = true;
        let ended = self.call(now, |connection| connection.stream_send(STREAM, &[], true));
        self.has_ended = matches!(ended, Some(Ok(_)));
    }

    fn read(&mut self, now: Time, max: usize, take: &mut dyn FnMut(&[u8])) {
        let mut scratch = core::mem::take(&mut self.scratch);
        let mut left = max;
        while left > 0 {
            let room = scratch.len().min(left);
            let read = self.call(now, |connection| connection.stream_recv(STREAM, &mut scratch[..room]));
            let Some(Ok((length, _))) = read else { break };
            take(&scratch[..length]);
            left -= length;
            if length == 0 {
                break;
            }
        }
        self.scratch = scratch;
    }

    fn close(&mut self, now: Time) {
        let _ = self.call(now, |connection| connection.close(true, 0, b""));
    }

    fn state(&mut self) -> State {
        let has_ended = self.has_ended;
        let Some(connection) = &mut self.connection else { return State::Open };
        if connection.is_timed_out() {
            return State::Failed(Failure::NoAnswer);
        }
        if connection.local_error().or(connection.peer_error()).is_some_and(|error| error.error_code != 0) {
            return State::Failed(Failure::Released);
        }
        // The stack forgets a stream once all of it has been acknowledged.
        if has_ended
            && matches!(connection.stream_capacity(STREAM), Err(quiche::Error::InvalidStreamState(_)))
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
            smoothed_rtt: Some(durations::duration(path.rtt)),
            min_rtt: path.min_rtt.map(durations::duration),
            lost: path.lost as u64,
            timeouts: path.total_pto_count as u64,
            mtu: path.pmtu as u32,
            ..Stats::default()
        }
    }
}
