//! Random schedules of events on a path and at its ends, determined by a seed.

use thalweg_net::flow::Scheme;
use thalweg_net::impair::{DirectionSpec, MtuChange, Span};
use thalweg_proto::random::RandomStream;
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_queue::Limit;

/// Time scale of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Blackouts of a second at most, for short runs.
    Quick,
    /// Blackouts of ten seconds.
    Full,
}

impl Scale {
    /// Returns the duration of the writes on an unimpaired path; all events happen within it.
    pub fn span(self) -> Duration {
        match self {
            Self::Quick => Duration::from_millis(1500),
            Self::Full => Duration::from_secs(15),
        }
    }

    /// Returns the maximum mean burst length of losses. A handshake sends two datagrams per second, and so does an end
    /// after a long silence: a long burst lasts many seconds, and forty losses end a connection.
    fn longest_burst(self) -> f64 {
        match self {
            Self::Quick => 3.0,
            Self::Full => 4.0,
        }
    }

    fn longest_blackout(self) -> Duration {
        match self {
            Self::Quick => Duration::from_secs(1),
            Self::Full => Duration::from_secs(10),
        }
    }
}

/// An end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

/// An action on the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Restart of the server without its state.
    Restart,
    /// Jump of the clock of an end by this span.
    Jump(End, Duration),
}

#[derive(Clone, Debug)]
pub struct Schedule {
    pub seed: u64,
    pub scale: Scale,
    pub scheme: Scheme,
    /// Bytes from the client and from the server.
    pub lengths: [usize; 2],
    pub up: DirectionSpec,
    pub down: DirectionSpec,
    pub rebinds: Vec<Duration>,
    pub actions: Vec<(Duration, Action)>,
}

/// Time for which a stopping server sends closes; the path is dark meanwhile, so none arrive.
pub const RESTART: Duration = Duration::from_millis(1500);

impl Schedule {
    /// Draws a schedule: loss up to 30 %, independent or in bursts, reordering, duplicates, corruption; blackouts of
    /// one direction or both, MTU reductions, new addresses, server restarts, clock jumps.
    pub fn random(seed: u64, scale: Scale) -> Self {
        let mut rng = RandomStream::new(seed, "schedule", 0);
        let span = scale.span();
        let (mut up, mut down) = (direction(&mut rng, scale), direction(&mut rng, scale));
        if rng.chance(0.3) {
            for _ in 0..1 + rng.below(2) {
                let from = rng.uniform_duration(span);
                let until =
                    from + Duration::from_millis(100) + rng.uniform_duration(scale.longest_blackout());
                add_blackout([&mut up, &mut down], rng.below(3), Span { from, until });
            }
        }
        if rng.chance(0.3) {
            let at = span.mul_f64(0.4 + 0.5 * rng.unit());
            let mtu_change = MtuChange { at, mtu: Bytes::new(1280 + rng.below(120)) };
            up.mtu_changes.push(mtu_change);
            down.mtu_changes.push(mtu_change);
        }
        let changes = if rng.chance(0.4) { 1 + rng.below(3) } else { 0 };
        let rebinds = (0..changes).map(|_| rng.uniform_duration(span)).collect();
        let mut actions = Vec::new();
        if rng.chance(0.15) {
            let from = rng.uniform_duration(span);
            add_blackout([&mut up, &mut down], 2, Span { from, until: from + RESTART });
            actions.push((from + RESTART.mul_f64(0.1), Action::Restart));
        }
        if rng.chance(0.3) {
            for _ in 0..1 + rng.below(3) {
                let end = if rng.chance(0.5) { End::Client } else { End::Server };
                let by = Duration::from_millis(10) + rng.uniform_duration(Duration::from_secs(5));
                actions.push((rng.uniform_duration(span), Action::Jump(end, by)));
            }
        }
        actions.sort_by_key(|(at, _)| *at);
        // With heavy loss, even small amounts take long.
        let worst = up.loss.max(down.loss).max(up.corrupt).max(down.corrupt);
        let max = if worst > 0.2 {
            15_000
        } else if worst > 0.05 {
            40_000
        } else {
            200_000
        };
        let mut length = || rng.below(max) as usize;
        let lengths = [length(), length()];
        let schemes: Vec<_> =
            Scheme::names().map(|name| scheme(name, scale)).filter(Scheme::is_reliable).collect();
        let scheme = schemes[rng.below(schemes.len() as u64) as usize].clone();
        Self { seed, scale, scheme, lengths, up, down, rebinds, actions }
    }

    /// Creates a schedule without events on a path of 40 ms with little loss.
    pub fn calm(seed: u64, scheme: &str) -> Self {
        let mut rng = RandomStream::new(seed, "schedule", 0);
        let direction = || DirectionSpec {
            rate: Some(Rate::from_mbits_per_sec(20)),
            delay: Duration::from_millis(20),
            loss: 0.01,
            mtu: Some(Bytes::new(1500)),
            ..DirectionSpec::default()
        };
        let lengths = [100_000 + rng.below(1000) as usize, 100_000];
        Self {
            seed,
            scale: Scale::Quick,
            scheme: scheme.parse().unwrap(),
            lengths,
            up: direction(),
            down: direction(),
            rebinds: vec![],
            actions: vec![],
        }
    }

    pub fn restarts(&self) -> bool {
        self.actions.iter().any(|(_, action)| *action == Action::Restart)
    }
}

/// Bounds the retransmission timeout: with heavy loss and the default ceiling of a minute, a few packets would take ten
/// minutes.
fn scheme(name: &str, scale: Scale) -> Scheme {
    let ceiling = if scale == Scale::Quick { "400ms" } else { "10s" };
    // Some schemes have no such timer.
    format!("{name}:rto.ceiling={ceiling}").parse().unwrap_or_else(|_| name.parse().unwrap())
}

fn direction(rng: &mut RandomStream, scale: Scale) -> DirectionSpec {
    let mut often = |max: f64| if rng.chance(0.5) { rng.unit() * max } else { 0.0 };
    let (loss, duplicate, corrupt, reorder) = (often(0.3), often(0.2), often(0.1), often(0.3));
    let burst = rng.chance(0.4).then(|| 1.0 + rng.unit() * (scale.longest_burst() - 1.0));
    let delay = rng.uniform_duration(Duration::from_millis(40));
    let reorder_delay = Duration::from_millis(1) + delay.mul_f64(rng.unit());
    let rate = rng.chance(0.5).then(|| Rate::from_mbits_per_sec(1 + rng.below(20)));
    let mut spec = DirectionSpec {
        rate,
        delay,
        loss,
        burst,
        duplicate,
        corrupt,
        reorder,
        reorder_delay,
        mtu: Some(Bytes::new(1500)),
        ..DirectionSpec::default()
    };
    spec.queue.set_limit(Limit::Packets(20 + rng.below(200)));
    spec
}

/// Adds a blackout of one direction or of both.
pub fn add_blackout(directions: [&mut DirectionSpec; 2], which: u64, span: Span) {
    for (index, direction) in (0..).zip(directions) {
        if which == index || which == 2 {
            direction.blackouts.push(span);
        }
    }
}
