//! Workloads of applications: the state machine of each [`WorkloadSpec`].

use crate::simulation_spec::{ArrivalList, SizeSpec, WorkloadSpec};
use std::sync::Arc;
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Duration, Time};

/// Amount that an unlimited application keeps written, in bytes: more than any run sends between two refills.
const UNLIMITED_BYTES: u64 = 1 << 31;

/// The reaction of an application at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reaction {
    /// Number of bytes to write at the source.
    pub write: u64,
    /// Number of bytes to write at the sink, on the reply connection.
    pub reply: u64,
    /// Size of a transfer for which to open a connection.
    pub transfer_to_open: Option<u64>,
    /// True if there will be no more writes.
    pub finish: bool,
    /// Time of the next call of [`Workload::on_timer`].
    pub timer: Option<Time>,
    /// An exchange that has ended.
    pub completed: Option<Exchange>,
    /// True if all expected data has arrived.
    pub arrived: bool,
    /// Size and start of a block that has arrived.
    pub block: Option<(u64, Time)>,
}

/// A request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Time of the request.
    pub request_time: Time,
    /// Size of the request, in bytes.
    pub request: u64,
    pub response: u64,
}

/// State of one flow's application. Larger states are boxed, to keep the table of flows dense.
#[derive(Clone, Debug)]
pub(crate) enum Workload {
    Bulk,
    Transfer(u64),
    /// Number of bytes still to arrive.
    Deliver(u64),
    Telnet(Box<Telnet>),
    OnOff(Box<OnOff>),
    ConstantRate(Box<ConstantRate>),
    Poisson(Box<Poisson>),
    List(Box<List>),
    RequestResponse(Box<RequestResponse>),
    Rounds(Box<Block>),
    Trace(Box<Trace>),
}

/// The block of a round.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    size: u64,
    /// Number of bytes still to arrive.
    bytes_left: u64,
    start_time: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct Telnet {
    packet: u64,
    gap: Duration,
    stream: RandomStream,
}

#[derive(Clone, Debug)]
pub(crate) struct OnOff {
    on_time: Duration,
    off: Duration,
    /// Interval between writes while on; `None` is unlimited.
    gap: Option<Duration>,
    packet: u64,
    stream: Option<RandomStream>,
    /// Shape of the Pareto distributions; `None` for exponential ones.
    shape: Option<f64>,
    until: Time,
    writing: bool,
    /// Time of the next write while on.
    next: Time,
    /// Time on until the next write, while off.
    remaining: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct ConstantRate {
    packet: u64,
    gap: Duration,
}

#[derive(Clone, Debug)]
pub(crate) struct Trace {
    writes: Arc<[(Duration, Bytes)]>,
    next: usize,
    start: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    list: Arc<ArrivalList>,
    flow: u32,
    next: usize,
    start: Time,
}

#[derive(Clone, Debug)]
pub(crate) struct Poisson {
    gap: Duration,
    size: SizeSpec,
    arrivals: RandomStream,
    sizes: RandomStream,
}

#[derive(Clone, Debug)]
pub(crate) struct RequestResponse {
    request: u64,
    response: SizeSpec,
    think: Duration,
    stream: RandomStream,
    requested_at: Time,
    /// Bytes missing of the request at the sink, or of the response at the source.
    request_left: u64,
    response_left: u64,
    /// Size of the current or last response.
    size: u64,
}

impl Workload {
    /// Returns the application described by `spec` for the group's flow number `flow`; `stream` creates the random
    /// stream for a purpose on demand.
    pub fn new(spec: &WorkloadSpec, flow: u32, stream: impl Fn(&'static str) -> RandomStream) -> Self {
        match spec {
            WorkloadSpec::Bulk => Self::Bulk,
            WorkloadSpec::Transfer(size) => Self::Transfer(size.get()),
            WorkloadSpec::Deliver(size) => Self::Deliver(size.get()),
            WorkloadSpec::Telnet { packet, gap } => {
                Self::Telnet(Box::new(Telnet { packet: packet.get(), gap: *gap, stream: stream("telnet") }))
            }
            WorkloadSpec::OnOff { on, off, rate, packet, random, shape } => Self::OnOff(Box::new(OnOff {
                on_time: *on,
                off: *off,
                gap: rate.map(|rate| rate.transmission_time(*packet)),
                packet: packet.get(),
                stream: (*random || shape.is_some()).then(|| stream("on-off")),
                shape: *shape,
                until: Time::ZERO,
                writing: false,
                next: Time::ZERO,
                remaining: Duration::ZERO,
            })),
            WorkloadSpec::ConstantRate { rate, packet } => {
                let gap = rate.transmission_time(*packet);
                Self::ConstantRate(Box::new(ConstantRate { packet: packet.get(), gap }))
            }
            WorkloadSpec::Poisson { gap, size } => Self::Poisson(Box::new(Poisson {
                gap: *gap,
                size: size.clone(),
                arrivals: stream("arrivals"),
                sizes: stream("sizes"),
            })),
            WorkloadSpec::List(list) => {
                let list = Arc::clone(list);
                Self::List(Box::new(List { list, flow, next: 0, start: Time::ZERO }))
            }
            WorkloadSpec::RequestResponse { request, response, think } => {
                Self::RequestResponse(Box::new(RequestResponse {
                    request: request.get(),
                    response: response.clone(),
                    think: *think,
                    stream: stream("request-response"),
                    requested_at: Time::ZERO,
                    request_left: 0,
                    response_left: 0,
                    size: 0,
                }))
            }
            WorkloadSpec::Rounds { size, .. } => {
                Self::Rounds(Box::new(Block { size: size.get(), bytes_left: 0, start_time: Time::ZERO }))
            }
            WorkloadSpec::Trace(writes) => {
                let writes = Arc::clone(writes);
                Self::Trace(Box::new(Trace { writes, next: 0, start: Time::ZERO }))
            }
        }
    }

    /// Handles the start of the flow.
    pub fn on_start(&mut self, now: Time) -> Reaction {
        match self {
            Self::Bulk | Self::Deliver(_) => Reaction { write: UNLIMITED_BYTES, ..Reaction::default() },
            Self::Transfer(size) => Reaction { write: *size, finish: true, ..Reaction::default() },
            Self::Telnet(telnet) => Reaction { timer: Some(telnet.next(now)), ..Reaction::default() },
            Self::Poisson(poisson) => Reaction { timer: Some(poisson.next(now)), ..Reaction::default() },
            Self::List(list) => {
                list.start = now;
                Reaction { timer: list.next(), ..Reaction::default() }
            }
            Self::RequestResponse(exchange) => exchange.send_request(now),
            Self::Rounds(block) => block.begin(now),
            Self::Trace(trace) => {
                trace.start = now;
                self.on_timer(now)
            }
            Self::OnOff(_) | Self::ConstantRate(_) => self.on_timer(now),
        }
    }

    /// Handles the expiry of the requested timer.
    pub fn on_timer(&mut self, now: Time) -> Reaction {
        match self {
            Self::Bulk | Self::Transfer(_) | Self::Deliver(_) => Reaction::default(),
            Self::Telnet(telnet) => Reaction { write: telnet.packet, ..Reaction::default() },
            Self::OnOff(source) => source.step(now),
            Self::ConstantRate(source) => {
                Reaction { write: source.packet, timer: Some(now + source.gap), ..Reaction::default() }
            }
            Self::Poisson(poisson) => {
                let size = poisson.size.draw(&mut poisson.sizes);
                Reaction {
                    transfer_to_open: Some(size),
                    timer: Some(poisson.next(now)),
                    ..Reaction::default()
                }
            }
            Self::List(list) => list.step(),
            Self::RequestResponse(exchange) => exchange.send_request(now),
            Self::Rounds(block) => block.begin(now),
            Self::Trace(trace) => trace.step(now),
        }
    }

    /// Handles that all written data has been sent.
    pub fn on_writable(&mut self, now: Time) -> Reaction {
        match self {
            Self::Bulk | Self::Deliver(_) => Reaction { write: UNLIMITED_BYTES, ..Reaction::default() },
            Self::Telnet(telnet) => Reaction { timer: Some(telnet.next(now)), ..Reaction::default() },
            Self::OnOff(source) if source.writing && source.gap.is_none() && now < source.until => {
                Reaction { write: source.packet, ..Reaction::default() }
            }
            _ => Reaction::default(),
        }
    }

    /// Handles the delivery of this many bytes at the sink.
    pub fn on_delivered(&mut self, bytes: u64) -> Reaction {
        match self {
            Self::RequestResponse(exchange) => exchange.on_request(bytes),
            Self::Rounds(block) => block.on_delivered(bytes),
            Self::Deliver(left) if *left > 0 => {
                *left = left.saturating_sub(bytes);
                Reaction { arrived: *left == 0, ..Reaction::default() }
            }
            _ => Reaction::default(),
        }
    }

    /// Handles the delivery of this many response bytes at the source.
    pub fn on_reply(&mut self, now: Time, bytes: u64) -> Reaction {
        match self {
            Self::RequestResponse(exchange) => exchange.on_response(now, bytes),
            _ => Reaction::default(),
        }
    }
}

impl Telnet {
    fn next(&mut self, now: Time) -> Time {
        now + self.stream.exponential_duration(self.gap)
    }
}

impl Trace {
    fn step(&mut self, now: Time) -> Reaction {
        let start = self.start;
        let mut write = 0;
        while let Some(&(_, size)) = self.writes.get(self.next).filter(|(at, _)| start + *at <= now) {
            write += size.get();
            self.next += 1;
        }
        let timer = self.writes.get(self.next).map(|(at, _)| start + *at);
        Reaction { write, timer, finish: timer.is_none(), ..Reaction::default() }
    }
}

impl List {
    /// Returns the time of the next transfer.
    fn next(&self) -> Option<Time> {
        self.list.transfers_of(self.flow).get(self.next).map(|(at, _)| self.start + *at)
    }

    fn step(&mut self) -> Reaction {
        let open = self.list.transfers_of(self.flow).get(self.next).map(|(_, size)| size.get());
        self.next += 1;
        Reaction { transfer_to_open: open, timer: self.next(), ..Reaction::default() }
    }
}

impl Poisson {
    fn next(&mut self, now: Time) -> Time {
        now + self.arrivals.exponential_duration(self.gap)
    }
}

impl OnOff {
    fn span(&mut self, mean: Duration) -> Duration {
        match (&mut self.stream, self.shape) {
            (None, _) => mean,
            (Some(stream), None) => stream.exponential_duration(mean),
            (Some(stream), Some(shape)) => mean.mul_f64((shape - 1.0) / shape * stream.pareto(shape)),
        }
    }

    /// Writes a packet at once, and then one after the time on that the rate needs for it. As in ns-3's `OnOffApplication`,
    /// the part that an on period leaves of this time counts in the next one, or short periods would give another amount
    /// than rate times time.
    fn step(&mut self, now: Time) -> Reaction {
        let mut write = 0;
        if now >= self.until {
            self.writing = !self.writing;
            let mean = if self.writing { self.on_time } else { self.off };
            self.until = now + self.span(mean);
            if self.writing {
                self.next = now + self.remaining;
                write = if self.gap.is_none() { self.packet } else { 0 };
            } else {
                self.remaining = self.next.since(now);
            }
        }
        let Some(gap) = self.gap.filter(|_| self.writing) else {
            return Reaction { write, timer: Some(self.until), ..Reaction::default() };
        };
        if now >= self.next {
            (write, self.next) = (self.packet, now + gap);
        }
        // The next write or the end of the on period, whichever is first.
        Reaction { write, timer: Some(self.until.min(self.next)), ..Reaction::default() }
    }
}

impl Block {
    fn begin(&mut self, now: Time) -> Reaction {
        (self.bytes_left, self.start_time) = (self.size, now);
        Reaction { write: self.size, ..Reaction::default() }
    }

    fn on_delivered(&mut self, bytes: u64) -> Reaction {
        let before = self.bytes_left;
        self.bytes_left = before.saturating_sub(bytes);
        let block = (before > 0 && self.bytes_left == 0).then_some((self.size, self.start_time));
        Reaction { block, ..Reaction::default() }
    }

    /// Returns the size and start of an unfinished block.
    pub fn open(&self) -> Option<(u64, Time)> {
        (self.bytes_left > 0).then_some((self.size, self.start_time))
    }
}

impl RequestResponse {
    /// Returns the known size and the start of an unfinished exchange.
    pub fn open(&self) -> Option<(u64, Time)> {
        match (self.request_left, self.response_left) {
            (0, 0) => None,
            (_, 0) => Some((self.request, self.requested_at)),
            _ => Some((self.request + self.size, self.requested_at)),
        }
    }

    fn send_request(&mut self, now: Time) -> Reaction {
        self.requested_at = now;
        self.request_left = self.request;
        Reaction { write: self.request, ..Reaction::default() }
    }

    fn on_request(&mut self, bytes: u64) -> Reaction {
        self.request_left = self.request_left.saturating_sub(bytes);
        if self.request_left > 0 || self.response_left > 0 {
            return Reaction::default();
        }
        self.size = self.response.draw(&mut self.stream);
        self.response_left = self.size;
        Reaction { reply: self.response_left, ..Reaction::default() }
    }

    fn on_response(&mut self, now: Time, bytes: u64) -> Reaction {
        self.response_left = self.response_left.saturating_sub(bytes);
        if self.response_left > 0 {
            return Reaction::default();
        }
        let completed =
            Some(Exchange { request_time: self.requested_at, request: self.request, response: self.size });
        let pause = self.stream.exponential_duration(self.think);
        if pause.is_zero() {
            Reaction { completed, ..self.send_request(now) }
        } else {
            Reaction { completed, timer: Some(now + pause), ..Reaction::default() }
        }
    }
}

/// Returns the size at this share of the distribution.
fn at_share(points: &[(Bytes, f64)], share: f64) -> u64 {
    let next = points.partition_point(|point| point.1 < share);
    let at = |index: usize| points.get(index).map(|(size, share)| (size.get() as f64, *share));
    match (next.checked_sub(1).and_then(at), at(next).or_else(|| at(points.len().saturating_sub(1)))) {
        (Some((low, below)), Some((high, above))) if above > below => {
            (low + (high - low) * ((share - below) / (above - below))) as u64
        }
        (_, Some((size, _))) => size as u64,
        (_, None) => 0,
    }
}

impl SizeSpec {
    /// Draws a size, at least one byte.
    pub fn draw(&self, stream: &mut RandomStream) -> u64 {
        let size = match *self {
            Self::Fixed(size) => size.get(),
            Self::Exponential { mean } => (mean.get() as f64 * stream.exponential()) as u64,
            Self::Pareto { min, shape, max } => {
                ((min.get() as f64 * stream.pareto(shape)) as u64).min(max.get())
            }
            Self::LogNormal { median, sigma } => {
                (median.get() as f64 * libm::exp(sigma * stream.normal())) as u64
            }
            Self::Uniform { min, max } => min.get() + stream.below((max - min).get().saturating_add(1)),
            Self::Table(ref points) => at_share(points, stream.unit()),
        };
        size.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_proto::units::Rate;

    /// A table with a step, a slope and two equal sizes: many draws have its shares and its mean.
    #[test]
    fn a_size_table_is_drawn_with_its_shares_and_mean() {
        let points = [(100, 0.2), (100, 0.3), (1_100, 0.7), (10_100, 1.0)]
            .map(|(size, share)| (Bytes::new(size), share));
        let size = SizeSpec::Table(points.into());
        // 0.3 of 100, 0.4 of 600 and 0.3 of 5600 on average.
        assert!((size.mean() - (30.0 + 240.0 + 1680.0)).abs() < 1e-9);
        let mut stream = RandomStream::new(1, "sizes", 0);
        let draws: Vec<u64> = (0..100_000).map(|_| size.draw(&mut stream)).collect();
        let share = |max: u64| draws.iter().filter(|&&draw| draw <= max).count() as f64 / 1e5;
        // Four standard deviations of a share of a hundred thousand are 0.0064 at most.
        for (max, expected) in [(99, 0.0), (100, 0.3), (600, 0.5), (1_100, 0.7), (5_600, 0.85), (10_100, 1.0)]
        {
            assert!((share(max) - expected).abs() < 0.0064, "{max}: {} for {expected}", share(max));
        }
        let mean = draws.iter().sum::<u64>() as f64 / 1e5;
        assert!((mean - size.mean()).abs() < 4.0 * 2_900.0 / 316.0, "{mean}");
    }

    /// Each flow opens its own transfers, in order of time; simultaneous ones open at once, in list order.
    #[test]
    fn a_transfer_list_opens_its_transfers_at_their_times() {
        let of = |flow, ms, size| (flow, Duration::from_millis(ms), Bytes::new(size));
        let list = ArrivalList::new(vec![of(2, 5, 50), of(0, 9, 90), of(2, 1, 10), of(2, 5, 51)]);
        assert_eq!(
            (list.flows(), list.transfers_of(1), list.transfers_of(3), list.all().len()),
            (3, &[][..], &[][..], 4)
        );
        let spec = WorkloadSpec::List(Arc::new(list));
        let start = Time::ZERO + Duration::from_secs(1);
        let mut opened = Vec::new();
        for flow in 0..4 {
            let mut workload = Workload::new(&spec, flow, |_| unreachable!("nothing is drawn"));
            let mut next = workload.on_start(start).timer;
            while let Some(now) = next {
                let reaction = workload.on_timer(now);
                opened.push((flow, now.since(start).as_millis_f64(), reaction.transfer_to_open.unwrap()));
                next = reaction.timer;
            }
        }
        assert_eq!(opened, [(0, 9.0, 90), (2, 1.0, 10), (2, 5.0, 50), (2, 5.0, 51)]);
    }

    /// One packet, and rate times time on are written, for packets of any size, constant and random times, and periods
    /// shorter than a packet.
    #[test]
    fn an_on_off_source_writes_its_rate_while_on() {
        let ms = Duration::from_millis;
        let rate = Rate::from_bits_per_sec(64_000);
        for (random, shape) in [(false, None), (true, None), (false, Some(1.9))] {
            for packet in [1, 125, 1000, 1001, 8000, 20_000].map(Bytes::new) {
                let spec = WorkloadSpec::OnOff {
                    on: ms(352),
                    off: ms(650),
                    rate: Some(rate),
                    packet,
                    random,
                    shape,
                };
                let mut source = Workload::new(&spec, 0, |purpose| RandomStream::new(7, purpose, 0));
                let (mut now, mut on, mut written) = (Time::ZERO, Duration::ZERO, 0);
                let mut reaction = source.on_start(now);
                for _ in 0..20_000 {
                    written += reaction.write;
                    let on_bytes = rate.bytes_in(on).get();
                    let allowed = on_bytes.saturating_sub(1)..=on_bytes + packet.get();
                    assert!(allowed.contains(&written), "{packet}: {written} of {on_bytes}");
                    let next = reaction.timer.unwrap();
                    let Workload::OnOff(state) = &source else { panic!() };
                    on += if state.writing { next.since(now) } else { Duration::ZERO };
                    now = next;
                    reaction = source.on_timer(now);
                }
                assert!(written > 100 * packet.get() || packet.get() == 1, "{packet}: {written}");
            }
        }
    }

    /// Pareto times of shape a and mean m are at least m (a - 1) / a, and half of them are below that times 2^(1/a).
    /// With a = 3 their sample mean is within 1 %.
    #[test]
    fn pareto_times_have_their_mean_and_median() {
        let ms = Duration::from_millis;
        let spans = |shape: f64| {
            let (rate, packet) = (None, Bytes::new(1000));
            let spec = WorkloadSpec::OnOff {
                on: ms(300),
                off: ms(900),
                rate,
                packet,
                random: false,
                shape: Some(shape),
            };
            let Workload::OnOff(mut source) =
                Workload::new(&spec, 0, |purpose| RandomStream::new(5, purpose, 0))
            else {
                panic!()
            };
            let mut spans: Vec<f64> = (0..100_000).map(|_| source.span(ms(300)).as_millis_f64()).collect();
            spans.sort_by(f64::total_cmp);
            spans
        };
        for shape in [1.2, 1.5, 3.0] {
            let minimum = 300.0 * (shape - 1.0) / shape;
            let spans = spans(shape);
            assert!((spans[0] / minimum - 1.0).abs() < 0.001, "{shape}: {}", spans[0]);
            let median = spans[spans.len() / 2] / (minimum * 2f64.powf(1.0 / shape));
            assert!((median - 1.0).abs() < 0.01, "{shape}: {median}");
        }
        let mean = spans(3.0).iter().sum::<f64>() / 1e5;
        assert!((mean / 300.0 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn invalid_distributions_are_rejected() {
        let fault = |points: &[(u64, f64)]| {
            let points: Vec<_> = points.iter().map(|&(size, share)| (Bytes::new(size), share)).collect();
            SizeSpec::table_fault(&points).map(|fault| fault.0)
        };
        assert_eq!(fault(&[(1, 1.0)]), None);
        assert_eq!(fault(&[(1, 0.0), (5, 0.5), (5, 1.0)]), None);
        assert_eq!(fault(&[]), Some(0));
        assert_eq!(fault(&[(0, 1.0)]), Some(0));
        assert_eq!(fault(&[(1, 0.5), (2, 0.9)]), Some(1));
        assert_eq!(fault(&[(1, 0.5), (2, 0.4), (3, 1.0)]), Some(1));
        assert_eq!(fault(&[(5, 0.5), (2, 1.0)]), Some(1));
        assert_eq!(fault(&[(1, f64::NAN), (2, 1.0)]), Some(0));
        assert_eq!(fault(&[(1, 0.5), (2, 1.5)]), Some(1));
    }
}
