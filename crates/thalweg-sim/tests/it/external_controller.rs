//! Third-party controllers: they run like built-in ones, and a contract violation ends the run and names the
//! controller.

use crate::test_network::{direction, group, millis, pipe, run, window};
use std::sync::{Arc, Mutex};
use thalweg_catalog::EndpointConfigs;
use thalweg_proto::congestion::delivery_rate::{Sampler, Stamp};
use thalweg_proto::congestion::{
    AckSample, ConfigureController, ConnectionState, Controller, Cubic, CubicConfig, Decision, FixedWindow,
    FixedWindowConfig, LossSample, LostSample, NewReno, NewRenoConfig, SentSample,
};
use thalweg_proto::random::RandomStream;
use thalweg_proto::transport::ViolationKind;
use thalweg_proto::units::{Bytes, Duration, Rate, Time};
use thalweg_proto::window::{ControllerConfig, ExternalController, RelativeDelay};
use thalweg_queue::Limit;
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::{Spec, WorkloadSpec};
use thalweg_sim::{Simulation, Status};

/// 10 Mbit/s, 10 ms each way and room for 20 packets: losses come soon.
fn spec_of_path(controllers: Vec<ControllerConfig>) -> Spec {
    let spec = pipe(direction(Rate::from_mbits_per_sec(10), millis(10), Limit::Packets(20)));
    let groups =
        controllers.into_iter().map(|controller| group("flow", 1, window(controller), WorkloadSpec::Bulk));
    Spec { groups: groups.collect(), duration: Duration::from_secs(20), ..spec }
}

/// A built-in configuration wrapped as a third-party one.
#[derive(Clone, Debug, PartialEq)]
struct Renamed<C>(C);

impl ConfigureController for Renamed<NewRenoConfig> {
    type Controller = NewReno;
    const NAME: &'static str = "my-reno";
    fn make(&self) -> NewReno {
        NewReno::new(&self.0)
    }
}

impl ConfigureController for Renamed<CubicConfig> {
    type Controller = Cubic;
    const NAME: &'static str = "my-cubic";
    fn make(&self) -> Cubic {
        Cubic::new(&self.0)
    }
}

/// The same algorithm, built in or behind a pointer, gives the same run, packet by packet.
#[test]
fn an_external_controller_runs_as_a_built_in_one() {
    let reno = NewRenoConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    };
    let cubic = CubicConfig {
        initial_window: 10.0,
        initial_ssthresh: 1e9,
        c: 0.4,
        beta: 0.7,
        fast_convergence: true,
        slow_start_exit: Default::default(),
        ecn_beta: None,
        slow_start_beta: None,
    };
    let dedicated = [ExternalController::new(Renamed(reno)), ExternalController::new(Renamed(cubic))];
    assert_eq!(dedicated[0].config(), Some(&Renamed(reno)));
    assert_eq!(dedicated[0].config::<Renamed<CubicConfig>>(), None);
    let listed = run(&spec_of_path(vec![ControllerConfig::NewReno(reno), ControllerConfig::Cubic(cubic)]));
    let dedicated = run(&spec_of_path(dedicated.map(ControllerConfig::Dedicated).to_vec()));
    assert!(listed.flows.iter().all(|flow| flow.retransmissions > 0), "losses are part of it");
    assert_eq!(dedicated.fingerprint, listed.fingerprint);
    assert_eq!(dedicated.flows, listed.flows);
}

/// A fixed window of random size, which is reported.
#[derive(Clone, Debug)]
struct RandomWindow(Arc<Mutex<Vec<f64>>>);

impl PartialEq for RandomWindow {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl ConfigureController for RandomWindow {
    type Controller = FixedWindow;
    const NAME: &'static str = "drawn";
    fn make(&self) -> FixedWindow {
        FixedWindow::new(&FixedWindowConfig { window: 1.0 })
    }
    fn draws(&self) -> bool {
        true
    }
    fn make_drawing(&self, mut stream: RandomStream) -> FixedWindow {
        let window = 2.0 + stream.unit() * 20.0;
        self.0.lock().unwrap().push(window);
        FixedWindow::new(&FixedWindowConfig { window })
    }
}

/// The random numbers of a flow depend only on the seed and the flow.
#[test]
fn controllers_draw_from_streams_of_their_flows() {
    let drawn = |seed, flows: usize| {
        let observed = Arc::new(Mutex::new(Vec::new()));
        let one = ControllerConfig::Dedicated(ExternalController::new(RandomWindow(Arc::clone(&observed))));
        run(&Spec { seed, ..spec_of_path(vec![one; flows]) });
        observed.lock().unwrap().clone()
    };
    let three = drawn(1, 3);
    assert!(three[0] != three[1] && three[1] != three[2] && three[0] != three[2], "{three:?}");
    assert_eq!((drawn(1, 3), &drawn(1, 2)[..]), (three.clone(), &three[..2]));
    assert_ne!(drawn(2, 1)[0], three[0]);
}

/// Sends slightly above the maximum delivery rate sample.
#[derive(Clone, Debug, Default)]
struct Fastest {
    sampler: Sampler,
    rate: f64,
}

impl Controller for Fastest {
    type PacketInfo = Stamp;

    fn on_sent(&mut self, sample: &SentSample) -> Stamp {
        self.sampler.on_sent(sample)
    }

    fn on_ack(&mut self, sample: &AckSample, stamp: Stamp) {
        self.rate = self.rate.max(self.sampler.on_ack(sample, stamp).bytes_per_second().unwrap_or(0.0));
    }

    fn on_packet_lost(&mut self, sample: &LostSample, _stamp: Stamp) {
        self.sampler.on_packet_lost(sample);
    }

    fn on_app_limited(&mut self, connection: &ConnectionState) {
        self.sampler.on_app_limited(connection, self.decision().window);
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        // Bytes in 25 ms, slightly more than the round trip.
        Decision::window((self.rate * 0.025 / 960.0 * 1.25).max(4.0))
    }
}

#[derive(Clone, Debug, PartialEq)]
struct FastestConfig;

impl ConfigureController for FastestConfig {
    type Controller = Fastest;
    const NAME: &'static str = "fastest";
    fn make(&self) -> Fastest {
        Fastest::default()
    }
}

/// Delivery rate samples find the capacity: 10 Mbit/s, with 960 bytes of payload in 1000.
#[test]
fn a_controller_that_samples_delivery_rates_finds_the_capacity() {
    let fastest = ExternalController::new(FastestConfig);
    let result = run(&spec_of_path(vec![ControllerConfig::Dedicated(fastest)]));
    let rate = result.flows[0].delivered.get() as f64 * 8.0 / 20.0;
    assert!((9.4e6..=9.6e6).contains(&rate), "{rate} bit/s");
}

/// Behaves correctly for a number of acknowledgements, and then violates the contract.
#[derive(Clone, Debug)]
struct FaultyController {
    left: u32,
    then: fn() -> Decision,
}

impl Controller for FaultyController {
    type PacketInfo = ();

    fn on_ack(&mut self, _sample: &AckSample, (): ()) {
        self.left = self.left.saturating_sub(1);
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        if self.left == 0 { (self.then)() } else { Decision::window(4.0) }
    }
}

#[derive(Clone, Copy, Debug)]
struct BrokenConfig(fn() -> Decision);

impl PartialEq for BrokenConfig {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl ConfigureController for BrokenConfig {
    type Controller = FaultyController;
    const NAME: &'static str = "mine";
    fn make(&self) -> FaultyController {
        FaultyController { left: 10, then: self.0 }
    }
}

/// Each violation ends the run with the flow, the time and the name. Four segments of 1000 bytes on the wire leave at
/// once: the tenth acknowledgement is the second after three round trips of 20.832 ms, a segment of 0.8 ms later.
#[test]
fn a_contract_violation_of_a_controller_ends_the_run_and_names_it() {
    type Answer = fn() -> Decision;
    let broken: [(Answer, &str); 7] = [
        (|| Decision::window(f64::NAN), "returned a window that is not a number"),
        (|| Decision::window(0.0), "returned a window below one segment"),
        (|| Decision::window(-f64::INFINITY), "returned a window below one segment"),
        (|| Decision::window(1e18), "returned a window above 2^30 segments"),
        (
            || Decision { pacing_rate: Some(Rate::ZERO), ..Decision::window(4.0) },
            "returned a pacing rate of zero; `None` disables pacing",
        ),
        (|| Decision { burst: 0, ..Decision::window(4.0) }, "returned a burst of zero segments"),
        (|| panic!("a test's controller"), "panicked"),
    ];
    for (then, what) in broken {
        let dedicated = ExternalController::new(BrokenConfig(then));
        let spec = spec_of_path(vec![ControllerConfig::Dedicated(dedicated)]);
        let mut simulation = Simulation::new(&spec, NoTrace).unwrap();
        while simulation.advance(1 << 20) == Status::Running {}
        assert_eq!(simulation.advance(1), Status::Broken);
        let observed = simulation.error().unwrap().to_string();
        assert_eq!(observed, format!("`flow` at 63.296 ms: the controller `mine` {what}"));
        assert!(simulation.now() < Time::ZERO + millis(65));
        assert!(!simulation.finish().0.is_complete);
    }
}

#[derive(Clone, Debug, PartialEq)]
struct NeverConfig;

impl ConfigureController for NeverConfig {
    type Controller = FaultyController;
    const NAME: &'static str = "never";
    fn make(&self) -> FaultyController {
        panic!("a test's controller")
    }
}

/// A controller that cannot be created.
#[test]
fn a_controller_that_fails_to_build_ends_the_run_at_the_flow_start() {
    let dedicated = ExternalController::new(NeverConfig);
    let spec = spec_of_path(vec![ControllerConfig::Dedicated(dedicated)]);
    let mut simulation = Simulation::new(&spec, NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    assert_eq!(simulation.error().unwrap().to_string(), "`flow` at 0 s: the controller `never` panicked");
}

/// Reports with its third acknowledgement that all of its previous reports are invalid.
#[derive(Clone, Debug)]
struct Failing(u32);

#[derive(Clone, Debug, PartialEq)]
struct FailingConfig(&'static str);

impl ConfigureController for FailingConfig {
    type Controller = Failing;
    const NAME: &'static str = "of some language";
    fn name(&self) -> &'static str {
        self.0
    }
    fn make(&self) -> Failing {
        Failing(3)
    }
}

impl Controller for Failing {
    type PacketInfo = ();

    fn on_ack(&mut self, _sample: &AckSample, (): ()) {
        self.0 = self.0.saturating_sub(1);
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        Decision::window(4.0)
    }

    fn fault(&self) -> Option<ViolationKind> {
        (self.0 == 0).then_some(ViolationKind::Raised)
    }
}

/// The third acknowledgement arrives two segments of 0.8 ms after the first one's 20.832 ms. The name is that of the
/// configuration.
#[test]
fn a_controller_failure_ends_the_run_and_names_the_controller() {
    let dedicated = ExternalController::new(FailingConfig("mine"));
    assert_eq!(dedicated.name(), "mine");
    let spec = spec_of_path(vec![ControllerConfig::Dedicated(dedicated)]);
    let mut simulation = Simulation::new(&spec, NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    let observed = simulation.error().unwrap().to_string();
    assert_eq!(observed, "`flow` at 22.432 ms: the controller `mine` raised an exception");
}

/// A fixed window that tracks the minimum one-way delay and the maximum above it.
#[derive(Clone, Debug)]
struct Watching {
    window: f64,
    base: Option<RelativeDelay>,
    longest: Arc<Mutex<Duration>>,
}

#[derive(Clone, Debug)]
struct WatchingConfig(f64, Arc<Mutex<Duration>>);

impl PartialEq for WatchingConfig {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl ConfigureController for WatchingConfig {
    type Controller = Watching;
    const NAME: &'static str = "watching";
    fn make(&self) -> Watching {
        Watching { window: self.0, base: None, longest: Arc::clone(&self.1) }
    }
}

impl Controller for Watching {
    type PacketInfo = ();

    fn on_ack(&mut self, sample: &AckSample, _info: ()) {
        let delay = sample.one_way_delay.expect("each segment says when it left");
        let base = self.base.map_or(delay, |base| base.min(delay));
        self.base = Some(base);
        let mut longest = self.longest.lock().unwrap();
        *longest = longest.max(delay.above(base));
    }

    fn on_loss(&mut self, _sample: &LossSample) {}

    fn decision(&self) -> Decision {
        Decision::window(self.window)
    }
}

/// RFC 6817, section 2.4.2: the excess of a packet's delay over the minimum is its queueing delay, here behind the part
/// of the window beyond the path's capacity.
#[test]
fn one_way_delays_measure_the_queueing_delay() {
    let longest = Arc::new(Mutex::new(Duration::ZERO));
    let config = WatchingConfig(40.0, Arc::clone(&longest));
    let mut transport = window(ControllerConfig::Dedicated(ExternalController::new(config)));
    if let EndpointConfigs::Window(ends) = &mut transport.endpoint_configs {
        Arc::make_mut(&mut ends.sender).timestamps = true;
    }
    let spec = pipe(direction(Rate::from_mbits_per_sec(10), millis(10), Limit::Packets(100)));
    let groups = vec![group("flow", 1, transport, WorkloadSpec::Bulk)];
    let result = run(&Spec { groups, duration: Duration::from_secs(20), ..spec });
    let max = result.links[0].queue.max_packets;
    let packet = Rate::from_mbits_per_sec(10).transmission_time(Bytes::new(1000));
    let waited = *longest.lock().unwrap();
    assert!(max > 10, "{max} packets waited");
    // The last packet of the first burst waited behind all others of the window, with one in service.
    assert!(waited >= packet * max && waited <= packet * (max + 1), "{waited} for {max} packets of {packet}");
}
