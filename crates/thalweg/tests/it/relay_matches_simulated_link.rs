//! Consistency of impairments: the n-th packet of a direction has the same outcome on a relay and on a simulated link
//! of the same name, with the same seed.

use std::path::Path;
use thalweg_net::flow::Registry;
use thalweg_net::impair::{DelayedDatagram, DirectionSpec, LinkDirection};
use thalweg_proto::Ecn;
use thalweg_proto::units::{Duration, Time};
use thalweg_sim::packet_trace::{Record, Step, Tracer};
use thalweg_sim::{Simulation, Status};

/// Arrived packets of a simulated link, with their times.
#[derive(Debug, Default)]
struct ArrivalTracer {
    sent: u64,
    arrivals: Vec<(u64, Time)>,
}

impl Tracer for ArrivalTracer {
    fn record(&mut self, record: &Record<'_>) {
        match record.step {
            Step::Sent => self.sent += 1,
            Step::Delivered => self.arrivals.push((u64::from(record.packet.serial), record.time)),
            _ => {}
        }
    }
}

const COUNT: u64 = 1000;

/// Sends datagrams of 1 ms each over a simulated link with loss bursts.
fn simulate_datagrams(seed: u64) -> Vec<(u64, Time)> {
    let text = format!(
        "duration = \"{COUNT} ms\"\n[[link]]\nname = \"path\"\nbetween = [\"a\", \"b\"]\nrate = \"8 Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = \"9 pkt\"\nloss = {{ model = \"gilbert-elliott\", good-to-bad = {}, bad-to-good = {}, \
         loss-good = 0, loss-bad = 1 }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\nworkload = {{ kind = \"cbr\", rate = \"4 Mbit/s\", packet = \
         \"500 B\" }}\nscheme = {{ base = \"udp\", segment = \"500 B\", header = \"0 B\" }}\n",
        0.1 / (3.0 * 0.9),
        1.0 / 3.0,
    );
    let loaded = thalweg_scenario::load_text("twin.toml", &text, Path::new(""), &[]).unwrap();
    let spec = thalweg_sim::simulation_spec::Spec { seed, ..loaded.spec().clone() };
    let mut simulation = Simulation::new(&spec, ArrivalTracer::default()).unwrap();
    while simulation.advance(u64::MAX) == Status::Running {}
    let tracer = simulation.finish().1;
    assert!(tracer.sent >= COUNT - 1, "{} were sent", tracer.sent);
    tracer.arrivals
}

/// Sends the same datagrams over a live link, after `spared` datagrams of a handshake.
fn relay_datagrams(seed: u64, spared: u64) -> Vec<(u64, Time)> {
    let mut spec = DirectionSpec::default();
    let options = "rate=8Mbit/s,delay=5ms,buffer=9pkt,loss=10%,burst=3pkt";
    spec.set_all(options, &Registry::default()).unwrap();
    let mut line = LinkDirection::for_link(&spec, seed, 0, "path").exempting_first(spared);
    let mut arrivals = Vec::new();
    for number in 0..spared + COUNT {
        let now = Time::ZERO + Duration::from_millis(number);
        let bytes = number.to_be_bytes().into_iter().chain([0; 492]).collect();
        line.arrive(now, DelayedDatagram { bytes, header: 0, flow: 0, ecn: Ecn::NotEct });
        while let Some(next) = line.next().filter(|next| *next < now + Duration::from_millis(1)) {
            while let Some(datagram) = line.poll(next) {
                let sent = u64::from_be_bytes(datagram.bytes[..8].try_into().unwrap());
                if sent >= spared {
                    arrivals.push((
                        sent - spared,
                        Time::ZERO + next.since(Time::ZERO + Duration::from_millis(spared)),
                    ));
                }
            }
        }
    }
    assert_eq!(line.stats().full, 0);
    arrivals
}

#[test]
fn a_relay_and_a_link_of_the_same_name_lose_the_same_packets() {
    let link = simulate_datagrams(7);
    let until = link.len() - 10;
    for spared in [0, 3] {
        let relay = relay_datagrams(7, spared);
        assert!(relay[..until] == link[..until], "{spared} before");
    }
    assert!(link.len() < COUNT as usize * 95 / 100, "{} arrived", link.len());
    assert!(simulate_datagrams(8)[..until] != link[..until]);
}
