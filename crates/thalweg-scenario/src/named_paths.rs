//! Named paths, with the parameters of their sources.

use super::{Diagnostic, load_text_with};
use std::path::Path;
use std::sync::Arc;
use thalweg_catalog::Registry;
use thalweg_sim::simulation_spec::DirectionSpec;

/// A named path: the keys of a link from a server to a user.
#[derive(Clone, Copy, Debug)]
pub struct PathDescription {
    /// The name, as used by a link's `path`.
    pub name: &'static str,
    /// A short description.
    pub about: &'static str,
    /// The source of the parameters.
    pub source: &'static str,
    /// The keys of the link; `reverse` is the direction from the user to the server.
    pub keys: &'static str,
}

const WEBPAGETEST: &str = "connection profiles of WebPageTest";

/// All paths, from slow to fast, special ones last. Delays are one-way: half of a round-trip time in the source.
pub const PATHS: &[PathDescription] = &[
    PathDescription {
        name: "dial-up",
        about: "A modem: 49 and 30 kbit/s, 120 ms",
        source: WEBPAGETEST,
        keys: "rate = \"49 kbit/s\"\ndelay = \"60 ms\"\nqueue = \"20 pkt\"\nreverse = { rate = \"30 kbit/s\" }",
    },
    PathDescription {
        name: "dsl",
        about: "ADSL: 1.5 Mbit/s and 384 kbit/s, 50 ms",
        source: WEBPAGETEST,
        keys: "rate = \"1.5 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"200 ms\"\nreverse = { rate = \"384 kbit/s\", queue = \"500 ms\" }",
    },
    PathDescription {
        name: "3g",
        about: "UMTS: 1.6 Mbit/s and 768 kbit/s, 300 ms",
        source: WEBPAGETEST,
        keys: "rate = \"1.6 Mbit/s\"\ndelay = \"150 ms\"\nqueue = \"1 s\"\nreverse = { rate = \"768 kbit/s\" }",
    },
    PathDescription {
        name: "cable",
        about: "Cable, whose upstream waits for grants every 2 ms and sends the newest ACK of each flow: 5 and 1 Mbit/s, 28 ms",
        source: "connection profiles of WebPageTest; draft-white-tsvwg-lld; US patent application 2004/0213278",
        keys: "rate = \"5 Mbit/s\"\ndelay = \"14 ms\"\nqueue = \"200 ms\"\n\
               reverse = { rate = \"1 Mbit/s\", delay = \"13 ms\", aggregation = { every = \"2 ms\" }, ack-filter = \"newest\" }",
    },
    PathDescription {
        name: "fibre",
        about: "Fibre to the home: 20 and 5 Mbit/s, 4 ms",
        source: WEBPAGETEST,
        keys: "rate = \"20 Mbit/s\"\ndelay = \"2 ms\"\nqueue = \"100 ms\"\nreverse = { rate = \"5 Mbit/s\" }",
    },
    PathDescription {
        name: "lte",
        about: "LTE with a sleep state: 12 Mbit/s, 70 ms, and 260 ms to wake up after 11.6 s without packets",
        source: "connection profiles of WebPageTest; Huang et al., MobiSys 2012",
        keys: "rate = \"12 Mbit/s\"\ndelay = \"35 ms\"\nqueue = \"500 ms\"\n\
               sleep = [{ after = \"11576 ms\", wake = \"260.1 ms\" }]",
    },
    PathDescription {
        name: "wifi",
        about: "Wi-Fi without competing networks: 20 Mbit/s, 10 ms, deferrals of a millisecond",
        source: "draft-huitema-ccwg-c4-test, section on high jitter",
        keys: "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = \"80 ms\"\n\
               jitter = { distribution = \"wifi\", average = \"1 ms\" }",
    },
    PathDescription {
        name: "wifi-bad",
        about: "Wi-Fi with competing networks: 10 Mbit/s, 2 ms, and jitter of 7 ms with spikes to 200 ms",
        source: "draft-huitema-ccwg-c4-test, \"bad Wi-Fi\"",
        keys: "rate = \"10 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"250 ms\"\n\
               jitter = { distribution = \"wifi\", average = \"7 ms\" }",
    },
    PathDescription {
        name: "starlink",
        about: "Low-orbit satellites: 178 and 17 Mbit/s on average, 20 ms or more, a new rate and delay every 15 s",
        source: "Michel et al., IMC 2022; Mohan et al., WWW 2024",
        keys: "rate = \"178 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 ms\"\n\
               periodic-variation = { every = \"15 s\", rate-spread = \"70 %\", delay-spread = \"30 ms\" }\n\
               reverse = { rate = \"17 Mbit/s\" }",
    },
    PathDescription {
        name: "geo",
        about: "A geostationary satellite: 250 Mbit/s, 600 ms, a queue of one bandwidth-delay product",
        source: "draft-huitema-ccwg-c4-test, geostationary satellite",
        keys: "rate = \"250 Mbit/s\"\ndelay = \"300 ms\"\nqueue = \"600 ms\"",
    },
    PathDescription {
        name: "constrained",
        about: "Prudentia's narrow setting: 8 Mbit/s, 50 ms, a queue of four bandwidth-delay products",
        source: "Prudentia (Philip et al., SIGCOMM 2024)",
        keys: "rate = \"8 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"200 ms\"",
    },
    PathDescription {
        name: "moderate",
        about: "Prudentia's wide setting: 50 Mbit/s, 50 ms, a queue of four bandwidth-delay products",
        source: "Prudentia (Philip et al., SIGCOMM 2024)",
        keys: "rate = \"50 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"200 ms\"",
    },
    PathDescription {
        name: "bloated",
        about: "KIT's deep buffer: 100 Mbit/s, 50 ms, a queue of eight bandwidth-delay products",
        source: "Bless et al., Networking 2025",
        keys: "rate = \"100 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"400 ms\"",
    },
    PathDescription {
        name: "policed",
        about: "A mobile plan for videos: 1.5 Mbit/s after a burst, the excess is dropped",
        source: "after Flach et al., SIGCOMM 2016; rate and burst are chosen",
        keys: "rate = \"50 Mbit/s\"\ndelay = \"25 ms\"\n\
               queue = { discipline = \"policer\", rate = \"1.5 Mbit/s\", burst = \"60 kB\", capacity = \"100 ms\" }\n\
               reverse = { queue = \"100 ms\" }",
    },
    PathDescription {
        name: "shaped",
        about: "The same plan with a shaper: 1.5 Mbit/s after a burst, the excess is queued",
        source: "after Flach et al., SIGCOMM 2016; rate and burst are chosen",
        keys: "rate = \"50 Mbit/s\"\ndelay = \"25 ms\"\nqueue = \"300 ms\"\n\
               shaper = { rate = \"1.5 Mbit/s\", burst = \"60 kB\" }\n\
               reverse = { queue = \"100 ms\", shaper = \"none\" }",
    },
    PathDescription {
        name: "bleached",
        about: "An access network that clears ECN before a queue that would mark: 20 Mbit/s, 20 ms",
        source: "the opposite of what RFC 6040 and RFC 8311 require of networks",
        keys: "rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { discipline = \"codel\", capacity = \"200 ms\" }\n\
               ecn = \"bleached\"",
    },
    PathDescription {
        name: "tunnel",
        about: "The same behind a tunnel in compatibility mode: inner headers keep their ECN field, the queue drops packets",
        source: "RFC 6040, section 4.3",
        keys: "rate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = { discipline = \"codel\", capacity = \"200 ms\" }\n\
               ecn = \"tunnel-compatible\"",
    },
    PathDescription {
        name: "datacentre",
        about: "A switch that marks above 65 packets: 10 Gbit/s, 100 us",
        source: "Alizadeh et al. (DCTCP), SIGCOMM 2010, section 3.5",
        keys: "rate = \"10 Gbit/s\"\ndelay = \"50 us\"\n\
               queue = { discipline = \"step\", threshold = \"65 pkt\", capacity = \"700 kB\" }",
    },
];

/// Returns the path named `name`.
pub(crate) fn find_path(name: &str) -> Option<&'static PathDescription> {
    PATHS.iter().find(|path| path.name == name)
}

/// Returns the two directions of a path, to the user and back; `None` for an unknown name.
///
/// # Errors
///
/// As [`load_text_with`], for a path whose keys are invalid.
pub fn known_path(
    name: &str,
    registry: &Arc<Registry>,
) -> Option<Result<[DirectionSpec; 2], Vec<Diagnostic>>> {
    let path = find_path(name)?;
    let text = format!(
        "[[link]]\nbetween = [\"server\", \"user\"]\npath = \"{}\"\n[[flow]]\nfrom = \"server\"\nto = \"user\"\n",
        path.name
    );
    let loaded = load_text_with(name, &text, Path::new(""), &[], registry);
    Some(loaded.map(|loaded| {
        let link = &loaded.spec().links[0];
        [link.forward.clone(), link.backward.clone()]
    }))
}
