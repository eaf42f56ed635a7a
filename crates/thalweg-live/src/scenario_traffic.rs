//! Traffic for the flows of a scenario: data over the kernel's TCP or this project's transport, between hosts of a
//! live network, each flow from its start to its end.

use crate::host::{Host, Sockets};
use crate::network_plan::{Plan, Rule};
use core::fmt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, connect, socket, sockopt};
use std::io::{ErrorKind, Read, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::{Duration, Instant};
use thalweg_net::endpoint::{Connect, EndpointConfig, Listen, Trust};
use thalweg_net::flow::Scheme;
use thalweg_net::identity::{Identity, SystemEntropy};
use thalweg_net::live::{Connection, NetError, SendStream, Socket, SocketConfig};
use thalweg_proto::payload::Slice;
use thalweg_proto::units::Time;
use thalweg_sim::simulation_spec::{GroupSpec, Match, Protocol, Spec, WorkloadSpec};

/// Service of the flows' connections.
const SERVICE: &str = "traffic";
/// Bytes per write of a flow.
const WRITE_SIZE: usize = 1 << 18;
/// First port of the flows.
const FIRST_PORT: u16 = 20_000;
/// Maximum number of flows.
pub const MAX_FLOWS: usize = 256;
/// Sampling interval.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Timeout of blocking calls, after which they check for the end of the run.
const CALL_TIMEOUT: Duration = Duration::from_millis(200);
/// Read size in bytes below which a receiver pauses for [`READ_PAUSE`]: a wake-up per packet would take time from the
/// forwarding thread.
const MIN_READ: usize = 1 << 14;
const READ_PAUSE: Duration = Duration::from_millis(1);

/// Transport of the flows.
#[derive(Clone, Debug)]
pub enum Carrier {
    /// The kernel's TCP, with the congestion control of this name.
    Kernel(String),
    /// A scheme of this project, which must be [reliable](Scheme::is_reliable).
    Ours(Box<Scheme>),
}

/// Reason that the flows of a scenario cannot be carried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrafficError {
    /// There are more than [`MAX_FLOWS`].
    TooManyFlows,
    /// The flow of this name does not send without end.
    NotBulk(String),
    /// The flow of this name has no hosts.
    NoHosts(String),
    /// A flow starts after the end of the run.
    StartsLate {
        /// Name of the flow.
        flow: String,
        /// End of the run, from its beginning.
        end: Duration,
    },
    /// A flow ends at a node that is not a host.
    NoHost,
    /// A call of the operating system failed.
    System(String),
}

impl fmt::Display for TrafficError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyFlows => write!(f, "at most {MAX_FLOWS} flows can be carried"),
            Self::NotBulk(name) => write!(f, "only bulk flows can be carried, and `{name}` is none"),
            Self::NoHosts(name) => write!(f, "the flow `{name}` has no hosts"),
            Self::StartsLate { flow, end } => {
                write!(f, "the flow `{flow}` starts after {} s, the end of the run", end.as_secs_f64())
            }
            Self::NoHost => f.write_str("a flow ends at a node that is not a host"),
            Self::System(error) => f.write_str(error),
        }
    }
}

impl core::error::Error for TrafficError {}

/// Transport of a group of flows, with its name in failures.
#[derive(Clone, Debug)]
pub struct GroupCarrier {
    /// Name.
    pub label: String,
    /// Transport.
    pub carrier: Carrier,
}

/// A flow to carry.
#[derive(Clone, Debug)]
struct Flow {
    name: String,
    carrier: Arc<GroupCarrier>,
    ends: [usize; 2],
    sink: IpAddr,
    port: u16,
    /// Start time, from the beginning of the run.
    start: Duration,
    stop: Duration,
}

/// The flows of a scenario, with the transport of each.
#[derive(Clone, Debug)]
pub struct Traffic {
    flows: Vec<Flow>,
}

/// A sample of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Bytes delivered to the receiving application.
    pub delivered: u64,
    /// Congestion window in packets, if the transport reports one.
    pub window: Option<f64>,
    /// Smoothed round-trip time in seconds, once known.
    pub rtt: Option<f64>,
    /// Retransmissions.
    pub retransmissions: u64,
}

/// Shared state of a flow's two ends.
#[derive(Debug)]
struct GoodputSeries {
    failure: Mutex<Option<String>>,
    delivered: AtomicU64,
    /// Both endpoints of a connection of this project's transport.
    connections: Mutex<Vec<Connection>>,
}

/// A carried flow, with its measurements by the applications and the transport.
#[derive(Clone, Debug)]
pub struct CarriedFlow {
    /// Name.
    pub name: String,
    /// Name of its transport.
    pub transport: String,
    /// Start time, from the beginning of the run.
    pub start: Duration,
    /// Stop time.
    pub stop: Duration,
    /// Samples, with their times.
    pub samples: Vec<(Duration, Sample)>,
    /// Description of its failure, if it failed.
    pub failure: Option<String>,
}

impl CarriedFlow {
    /// Returns the samples before the stop, or just after it.
    fn in_time(&self) -> impl DoubleEndedIterator<Item = &(Duration, Sample)> {
        self.samples.iter().filter(|(at, _)| *at <= self.stop + SAMPLE_INTERVAL / 2)
    }

    /// Returns the goodput from the start to the last sample in time, in bit/s.
    pub fn goodput_bps(&self) -> f64 {
        let last = self.in_time().next_back().copied().unwrap_or_default();
        let seconds = last.0.saturating_sub(self.start).as_secs_f64();
        if seconds > 0.0 { last.1.delivered as f64 * 8.0 / seconds } else { 0.0 }
    }

    /// Returns the mean of a measurement over the samples in time; `None` without any.
    pub fn mean(&self, of: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let values: Vec<f64> = self.in_time().filter_map(|(_, sample)| of(sample)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Returns the number of retransmissions; `None` without samples.
    pub fn retransmissions(&self) -> Option<u64> {
        self.samples.iter().map(|(_, sample)| sample.retransmissions).max()
    }
}

fn std_duration(span: thalweg_proto::units::Duration) -> Duration {
    Duration::from_nanos(span.as_picos() / 1000)
}

impl Carrier {
    const fn protocol(&self) -> Protocol {
        match self {
            Self::Kernel(_) => Protocol::Tcp,
            Self::Ours(_) => Protocol::Udp,
        }
    }
}

impl Traffic {
    /// Returns the flows of a scenario; `by` returns the transport of each group, by its position. Adds the flows' ports
    /// to the plan, to attribute packets to flows.
    ///
    /// # Errors
    /// The first flow that cannot be carried.
    pub fn new(
        by: impl Fn(usize) -> Arc<GroupCarrier>,
        plan: &mut Plan,
        spec: &Spec,
        length: thalweg_proto::units::Duration,
    ) -> Result<Self, TrafficError> {
        let mut flows = Vec::new();
        let mut rules = Vec::new();
        for (position, group) in spec.groups.iter().enumerate() {
            let by = by(position);
            let protocol = by.carrier.protocol();
            for number in 0..group.count {
                if flows.len() >= MAX_FLOWS {
                    return Err(TrafficError::TooManyFlows);
                }
                let flow = plan_flow(group, &by, number, plan, flows.len(), length)?;
                rules.push(Rule {
                    name: flow.name.clone(),
                    ends: flow.ends,
                    packets: Match {
                        protocol: Some(protocol),
                        ports: Some((flow.port, flow.port)),
                        dscp: None,
                    },
                    priority: group.priority,
                });
                flows.push(flow);
            }
        }
        plan.rules = rules;
        Ok(Self { flows })
    }

    /// Carries all flows until the last has ended or the run is over.
    ///
    /// # Errors
    /// Hosts that are missing or cannot be entered. Failures of single flows are part of their results.
    pub fn run(&self, hosts: &[Host], is_over: impl Fn() -> bool) -> Result<Vec<CarriedFlow>, TrafficError> {
        let host = |node: usize| {
            let found = hosts.iter().find(|host| host.node == node);
            found.ok_or(TrafficError::NoHost)
        };
        let tcp_statistics = self.flows.iter().map(|flow| match flow.carrier.carrier {
            Carrier::Kernel(_) => tcp_statistics(host(flow.ends[0])?).map(Some),
            Carrier::Ours(_) => Ok(None),
        });
        let tcp_statistics: Vec<Option<Sockets>> = tcp_statistics.collect::<Result<_, TrafficError>>()?;
        let goodput_series: Vec<GoodputSeries> = self.flows.iter().map(|_| GoodputSeries::new()).collect();
        let over = AtomicBool::new(false);
        let ready = Barrier::new(self.flows.len() + 1);
        let ends: Vec<[&Host; 2]> = self
            .flows
            .iter()
            .map(|flow| Ok([host(flow.ends[0])?, host(flow.ends[1])?]))
            .collect::<Result<_, TrafficError>>()?;
        let began = &std::sync::OnceLock::new();
        let samples = std::thread::scope(|scope| {
            for ((flow, series), [source, sink]) in self.flows.iter().zip(&goodput_series).zip(&ends) {
                let (over, ready) = (&over, &ready);
                scope.spawn(move || series.note(self.receive(flow, series, sink, ready, over)));
                scope.spawn(move || {
                    while began.get().is_none() && !over.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    let began: Instant = began.get().copied().unwrap_or_else(Instant::now);
                    series.note(self.send(flow, series, source, began, over));
                });
            }
            ready.wait();
            let began = *began.get_or_init(Instant::now);
            let last = self.flows.iter().map(|flow| flow.stop).max().unwrap_or_default();
            let mut samples: Vec<Vec<(Duration, Sample)>> = vec![Vec::new(); self.flows.len()];
            let mut next = Duration::ZERO;
            while next <= last && !is_over() {
                std::thread::sleep(next.saturating_sub(began.elapsed()));
                for (((flow, series), statistics), samples) in
                    self.flows.iter().zip(&goodput_series).zip(&tcp_statistics).zip(&mut samples)
                {
                    let at = began.elapsed();
                    if at >= flow.start && at <= flow.stop + SAMPLE_INTERVAL {
                        samples.push((at, series.statistics(statistics.as_ref(), flow.port)));
                    }
                }
                next += SAMPLE_INTERVAL;
            }
            over.store(true, Ordering::Relaxed);
            goodput_series.iter().for_each(GoodputSeries::close);
            samples
        });
        let flows = self.flows.iter().zip(goodput_series).zip(samples);
        Ok(flows
            .map(|((flow, series), samples)| CarriedFlow {
                name: flow.name.clone(),
                transport: flow.carrier.label.clone(),
                start: flow.start,
                stop: flow.stop,
                samples,
                failure: series.failure.into_inner().unwrap_or_else(PoisonError::into_inner),
            })
            .collect())
    }

    fn receive(
        &self,
        flow: &Flow,
        series: &GoodputSeries,
        host: &Host,
        ready: &Barrier,
        over: &AtomicBool,
    ) -> Result<(), String> {
        let place = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), flow.port);
        let entered = host.enter().map_err(|error| error.to_string());
        match &flow.carrier.carrier {
            Carrier::Kernel(_) => {
                let listener =
                    entered.and_then(|()| TcpListener::bind(place).map_err(|error| error.to_string()));
                ready.wait();
                let listener = listener?;
                listener.set_nonblocking(true).map_err(|error| error.to_string())?;
                while !over.load(Ordering::Relaxed) {
                    match listener.accept() {
                        Ok((stream, _)) => return series.count(stream, over),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            std::thread::sleep(Duration::from_millis(5));
                        }
                        Err(error) => return Err(error.to_string()),
                    }
                }
                Ok(())
            }
            Carrier::Ours(_) => {
                let listen = Listen::new(Trust::Anyone, [SERVICE]);
                let socket = entered.and_then(|()| bind_socket(place, Some(listen)));
                ready.wait();
                let socket = socket?;
                while !over.load(Ordering::Relaxed) {
                    if let Some(connection) =
                        socket.accept_within(CALL_TIMEOUT).map_err(|error| error.to_string())?
                    {
                        series.keep(connection.another_handle());
                        let (_send, mut receive) = connection.split();
                        let mut buffer = vec![0; 1 << 18];
                        while let Ok(count @ 1..) = receive.read(&mut buffer) {
                            series.delivered.fetch_add(count as u64, Ordering::Relaxed);
                        }
                        return Ok(());
                    }
                }
                Ok(())
            }
        }
    }

    fn send(
        &self,
        flow: &Flow,
        series: &GoodputSeries,
        host: &Host,
        began: Instant,
        over: &AtomicBool,
    ) -> Result<(), String> {
        host.enter().map_err(|error| error.to_string())?;
        while began.elapsed() < flow.start && !over.load(Ordering::Relaxed) {
            std::thread::sleep((flow.start - began.elapsed().min(flow.start)).min(CALL_TIMEOUT));
        }
        let to = SocketAddr::new(flow.sink, flow.port);
        let is_over = || over.load(Ordering::Relaxed) || began.elapsed() >= flow.stop;
        match &flow.carrier.carrier {
            Carrier::Kernel(name) => {
                let stream = connect_tcp(to, name, is_over)
                    .map_err(|error| format!("{}: {error}", flow.carrier.label))?;
                let Some(mut stream) = stream else { return Ok(()) };
                let piece = vec![7; 1 << 16];
                while !is_over() {
                    match stream.write(&piece) {
                        Ok(_) => {}
                        Err(error) if is_timeout(&error) => {}
                        // At the end of the run the peer may be gone.
                        Err(_) if is_over() => {}
                        Err(error) => return Err(error.to_string()),
                    }
                }
                Ok(())
            }
            Carrier::Ours(scheme) => {
                let socket = bind_socket(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0), None)?;
                let connect = Connect {
                    remote: to,
                    trust: Trust::Anyone,
                    service: SERVICE.to_owned(),
                    scheme: (**scheme).clone(),
                    recorder: None,
                };
                let connection = socket.connect(connect).map_err(|error| error.to_string())?;
                series.keep(connection.another_handle());
                let (mut send, _receive) = connection.split();
                match write_until(&mut send, is_over) {
                    // The connection was closed at the end of the run.
                    Err(_) if is_over() => Ok(()),
                    Err(error) => Err(error.to_string()),
                    Ok(()) => Ok(()),
                }
            }
        }
    }
}

impl GoodputSeries {
    fn new() -> Self {
        Self { failure: Mutex::new(None), delivered: AtomicU64::new(0), connections: Mutex::new(Vec::new()) }
    }

    fn note(&self, result: Result<(), String>) {
        if let Err(failure) = result {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
        }
    }

    fn keep(&self, connection: Connection) {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    fn close(&self) {
        for connection in &*self.connections.lock().unwrap_or_else(PoisonError::into_inner) {
            connection.close(0, "");
        }
    }

    /// Reads a TCP stream to its end, and counts the bytes.
    fn count(&self, mut stream: TcpStream, over: &AtomicBool) -> Result<(), String> {
        stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(CALL_TIMEOUT)))
            .map_err(|error| error.to_string())?;
        let mut buffer = vec![0; 1 << 18];
        while !over.load(Ordering::Relaxed) {
            match stream.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    self.delivered.fetch_add(count as u64, Ordering::Relaxed);
                    if count < MIN_READ {
                        std::thread::sleep(READ_PAUSE);
                    }
                }
                Err(error) if is_timeout(&error) || over.load(Ordering::Relaxed) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(())
    }

    fn statistics(&self, sockets: Option<&Sockets>, port: u16) -> Sample {
        let delivered = self.delivered.load(Ordering::Relaxed);
        let sample = Sample { delivered, ..Sample::default() };
        if let Some(sockets) = sockets {
            let senders = sockets.senders().unwrap_or_default();
            return senders.iter().find(|sender| sender.to == port).map_or(sample, |sender| Sample {
                window: Some(sender.window.into()),
                rtt: Some(f64::from(sender.rtt_micros) / 1e6),
                retransmissions: sender.retransmissions.into(),
                ..sample
            });
        }
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let stats = connections.iter().map(|connection| connection.stats().sending.sender);
        // Select the sending endpoint: the other one sends no data.
        stats.max_by_key(|stats| stats.sent).map_or(sample, |stats| Sample {
            window: stats.window,
            rtt: stats.smoothed_rtt.map(thalweg_proto::units::Duration::as_secs_f64),
            retransmissions: stats.retransmissions,
            ..sample
        })
    }
}

/// Returns flow `number` of a group, at index `place` of all flows.
fn plan_flow(
    group: &GroupSpec,
    by: &Arc<GroupCarrier>,
    number: u32,
    plan: &Plan,
    place: usize,
    length: thalweg_proto::units::Duration,
) -> Result<Flow, TrafficError> {
    let name = if group.count == 1 { group.name.clone() } else { format!("{}.{}", group.name, number + 1) };
    if !matches!(group.workload, WorkloadSpec::Bulk) {
        return Err(TrafficError::NotBulk(name));
    }
    let ends = match &group.access {
        None => [group.from, group.to].map(|node| Some(node.0 as usize)),
        Some(_) => ["source", "sink"].map(|end| plan.node(&format!("{name}.{end}"))),
    };
    let [Some(source), Some(sink)] = ends else {
        return Err(TrafficError::NoHosts(name));
    };
    // Instead of a random time in the span, use the middle of an equal share of it.
    let spread = std_duration(group.spread).mul_f64((f64::from(number) + 0.5) / f64::from(group.count));
    let start = std_duration(group.start.since(Time::ZERO)) + std_duration(group.stagger) * number + spread;
    let end = std_duration(length);
    let stop = group.stop.map_or(end, |stop| std_duration(stop.since(Time::ZERO)).min(end));
    if start >= stop {
        return Err(TrafficError::StartsLate { flow: name, end });
    }
    // There are fewer flows than ports.
    let port = FIRST_PORT + place as u16;
    let (by, sink_address) = (Arc::clone(by), plan.nodes[sink].addresses[0]);
    Ok(Flow { name, carrier: by, ends: [source, sink], sink: sink_address, port, start, stop })
}

/// Returns the names of the kernel's congestion controls that are loaded.
pub fn kernel_controls() -> Vec<String> {
    const LIST: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let names = std::fs::read_to_string(LIST).unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

/// Writes until `is_over`.
fn write_until(send: &mut SendStream, is_over: impl Fn() -> bool) -> Result<(), NetError> {
    let piece = Slice::new((0..WRITE_SIZE).map(|at| at as u8).collect::<Vec<_>>());
    while !is_over() {
        send.write_slice(piece.clone())?;
    }
    Ok(())
}

/// Opens the kernel's TCP statistics of a host.
fn tcp_statistics(host: &Host) -> Result<Sockets, TrafficError> {
    host.enter().and_then(|()| Sockets::new()).map_err(|error| TrafficError::System(error.to_string()))
}

/// Opens a TCP connection that uses this congestion control from its first segment. Returns none if the run ends before
/// the handshake, as on a congested path.
fn connect_tcp(
    to: SocketAddr,
    control: &str,
    is_over: impl Fn() -> bool,
) -> std::io::Result<Option<TcpStream>> {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
    sockopt::set_tcp_congestion(&socket, control)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(CALL_TIMEOUT))?;
    match connect(&socket, &to) {
        // The kernel retries in the background.
        Err(Errno::INPROGRESS | Errno::AGAIN) => {
            while !is_answered(&socket)? {
                if is_over() {
                    return Ok(None);
                }
            }
        }
        connected => connected?,
    }
    Ok(Some(TcpStream::from(socket)))
}

/// Waits for the handshake, up to a timeout; returns true if the connection is established.
fn is_answered(socket: &OwnedFd) -> std::io::Result<bool> {
    let timeout = Timespec { tv_sec: 0, tv_nsec: CALL_TIMEOUT.subsec_nanos().into() };
    let mut polled = [PollFd::new(socket, PollFlags::OUT)];
    match poll(&mut polled, Some(&timeout)) {
        Ok(0) | Err(Errno::INTR) => Ok(false),
        Ok(_) => Ok(sockopt::socket_error(socket)?.map(|()| true)?),
        Err(error) => Err(error.into()),
    }
}

fn bind_socket(place: SocketAddr, listen: Option<Listen>) -> Result<Socket, String> {
    let identity = Identity::generate(&mut SystemEntropy::new());
    let config = EndpointConfig { listen, ..EndpointConfig::new(identity) };
    Socket::bind(SocketConfig::new(place, config)).map_err(|error| error.to_string())
}

/// Returns true for the timeout of a blocking call, after which it checks for the end of the run.
fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
