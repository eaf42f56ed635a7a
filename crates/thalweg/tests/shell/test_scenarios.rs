//! Scenario files for the tests of `thalweg shell`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A scenario file, removed on drop.
pub struct Scenario(PathBuf);

impl Scenario {
    pub fn new(text: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("thalweg-shell-{}-{number}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const FLOW: &str = "scheme = \"cubic\"\nworkload = \"bulk\"\n";

/// Returns a client and a server, connected at 20 Mbit/s with 10 ms; `link` adds keys of the link or replaces `delay`.
pub fn two_hosts(link: &str, rest: &str) -> String {
    let delay = if link.contains("delay") { "" } else { "delay = \"10 ms\"\n" };
    format!(
        "duration = \"10 s\"\nwarmup = \"0 s\"\n[[link]]\nname = \"line\"\nbetween = [\"client\", \"server\"]\nrate = \"20 Mbit/s\"\n\
         queue = \"100 pkt\"\n{delay}{link}\n[[flow]]\nfrom = \"client\"\nto = \"server\"\n{FLOW}{rest}"
    )
}

/// Returns a chain of routers between a source and a sink.
pub fn chain(routers: usize) -> String {
    let mut text = "duration = \"10 s\"\nwarmup = \"0 s\"\n".to_owned();
    let node = |number: usize| match number {
        0 => "source".to_owned(),
        last if last > routers => "sink".to_owned(),
        number => format!("router{number}"),
    };
    for number in 0..=routers {
        let [a, b] = [node(number), node(number + 1)];
        writeln!(
            text,
            "[[link]]\nname = \"link-{number}\"\nbetween = [\"{a}\", \"{b}\"]\nrate = \"50 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"100 pkt\""
        )
        .unwrap();
    }
    format!("{text}[[flow]]\nfrom = \"source\"\nto = \"sink\"\n{FLOW}")
}

/// Returns two programs on one node, classified by port: a call of priority 1 and a copy of priority 4, through a gate.
pub fn node_with_gate(gate: &str, queue: &str) -> String {
    let flow = |name: &str, packets: &str, priority: u8| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"client\"\nto = \"server\"\n{FLOW}match = \"{packets}\"\npriority = {priority}\n"
        )
    };
    let text = two_hosts("", "").replace("100 pkt", queue);
    format!(
        "{text}{}{}[node.client]\ngate = {gate}\n",
        flow("call", "tcp 5001", 1),
        flow("copy", "tcp 5003", 4)
    )
}
