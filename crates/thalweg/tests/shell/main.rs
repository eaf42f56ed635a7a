//! Live networks with the kernel's own programs and protocols. They need namespaces and TUN devices: on a host without
//! them, the tests print this and pass.

mod gates;
mod gateway;
mod in_network_commands;
mod scenario_traffic;
mod test_scenarios;

use in_network_commands::{PART, run_role};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use test_scenarios::{chain, two_hosts};

/// This program runs the roles, instead of tools that a host may not have.
#[test]
fn part() {
    if let Ok(words) = std::env::var(PART) {
        run_role(&words);
    }
}

/// A call of `thalweg shell`, with commands that run roles.
struct Shell {
    command: Command,
    scenario: test_scenarios::Scenario,
}

fn play_part(words: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!("{PART}='{words}' exec {} --exact part --nocapture --test-threads 1", program.display())
}

/// Returns false and prints the reason if this host does not support live networks.
fn supports_live_networks() -> bool {
    static CAN: OnceLock<Result<(), String>> = OnceLock::new();
    let tried = CAN.get_or_init(|| {
        let output = Shell::new(&two_hosts("", "")).run_command("true");
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        let lacks = printed.contains("does not allow network namespaces") || printed.contains("/dev/net/tun");
        assert!(output.status.success() || lacks, "{printed}");
        if output.status.success() { Ok(()) } else { Err(printed) }
    });
    if let Err(why) = tried {
        eprintln!("skipped: {why}");
    }
    tried.is_ok()
}

impl Shell {
    fn new(text: &str) -> Self {
        let scenario = test_scenarios::Scenario::new(text);
        let mut command = Command::new(env!("CARGO_BIN_EXE_thalweg"));
        command.arg("shell").arg(scenario.path()).stdin(Stdio::null());
        Self { command, scenario }
    }

    fn args(mut self, arguments: &[&str]) -> Self {
        self.command.args(arguments);
        self
    }

    /// Adds a role that runs on a node in parallel.
    fn meanwhile(self, node: &str, words: &str) -> Self {
        let run = format!("{node}={}", play_part(words));
        self.args(&["--after", "500 ms", "--run", &run])
    }

    fn run_command(mut self, script: &str) -> Output {
        self.command.args(["--", "sh", "-c", script]).output().unwrap()
    }

    /// Runs a role; returns the output of the successful call.
    fn run(self, words: &str) -> String {
        let output = self.run_command(&play_part(words));
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Returns the words after `first` in each line that begins with it.
fn words_after<'a>(text: &'a str, first: &str) -> Vec<Vec<&'a str>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix(first)?.strip_prefix(' '));
    lines.map(|line| line.split_whitespace().collect()).collect()
}

/// Returns the rate in bit/s, from `received BYTES SECONDS`.
fn rate(text: &str) -> f64 {
    let received = &words_after(text, "received")[0];
    let [bytes, seconds] = [0, 1].map(|word: usize| received[word].parse::<f64>().unwrap());
    8.0 * bytes / seconds
}

/// The minimum echo time is the delay of both directions and the transmission time of 32 B.
#[test]
fn a_ping_takes_as_long_as_the_path() {
    if !supports_live_networks() {
        return;
    }
    let text = Shell::new(&two_hosts("delay = \"20 ms\"", "")).run("ping server 10");
    let times: Vec<f64> = words_after(&text, "rtt").iter().map(|words| words[0].parse().unwrap()).collect();
    let min = times.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(times.len(), 10);
    // 32 B at 20 Mbit/s are 12.8 us. The excess of the minimum depends on the load of this host.
    assert!(times.iter().all(|time| *time >= 40_025.0) && min < 60_000.0, "{times:?}");
}

/// At twice the link's rate, the output has the link's rate. The receiver uses this host's clock.
#[test]
fn a_flood_leaves_at_the_link_rate() {
    if !supports_live_networks() {
        return;
    }
    let shell = Shell::new(&two_hosts("", "")).meanwhile("server", "sink 3500");
    let text = shell
        .run_command(&format!("{}; sleep 3", play_part("flood server 1500 40 2000").replace("exec", "")));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    let rate = rate(&text) / 20e6;
    // On a busy host the socket's buffer overflows, and the first datagram is received late.
    assert!((0.7..1.03).contains(&rate), "{rate}: {text}");
}

/// The kernel's TCP never exceeds the link's rate (1448 of 1500 bytes are payload), and uses most of it.
#[test]
fn tcp_of_the_kernel_gets_what_the_line_takes() {
    if !supports_live_networks() {
        return;
    }
    let text = Shell::new(&two_hosts("", "")).meanwhile("server", "receive").run("send server 4000");
    let share = rate(&text) / (20e6 * 1448.0 / 1500.0);
    assert!((0.5..1.02).contains(&share), "{share}: {text}");
}

/// Each of five routers responds from its own address, then the host reports a closed port.
#[test]
fn a_trace_shows_the_routers() {
    if !supports_live_networks() {
        return;
    }
    let text = Shell::new(&chain(5)).run("trace sink");
    let seen: Vec<String> = words_after(&text, "hop").iter().map(|words| words.join(" ")).collect();
    // Nodes are numbered in the order of the links: source, five routers, sink.
    let mut expected: Vec<String> = (1..=5).map(|hop| format!("{hop} 10.71.0.{} 11 0", hop + 1)).collect();
    expected.push("6 10.71.0.7 3 3".to_owned());
    assert_eq!(seen, expected, "{text}");
}

/// Behind a NAT a program sees the same path as others, and its TCP works.
#[test]
fn programs_get_through_an_address_translator() {
    if !supports_live_networks() {
        return;
    }
    let inside = |kind: &str| chain(3).replace("\"link-1\"", &format!("\"link-1\"\nnat = \"{kind}\""));
    for kind in ["full-cone", "symmetric"] {
        let text = Shell::new(&inside(kind)).run("trace sink");
        let seen: Vec<String> = words_after(&text, "hop").iter().map(|words| words.join(" ")).collect();
        let mut expected: Vec<String> =
            (1..=3).map(|hop| format!("{hop} 10.71.0.{} 11 0", hop + 1)).collect();
        expected.push("4 10.71.0.5 3 3".to_owned());
        assert_eq!(seen, expected, "{kind}: {text}");
    }
    let text = Shell::new(&inside("port-restricted")).meanwhile("sink", "receive").run("send sink 1500");
    assert!(rate(&text) > 1e6, "{text}");
}

#[test]
fn names_have_addresses_of_both_kinds() {
    if !supports_live_networks() {
        return;
    }
    let text = Shell::new(&two_hosts("", "")).run("resolve server");
    let seen: std::collections::BTreeSet<&str> =
        words_after(&text, "resolved").iter().map(|words| words[0]).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["10.71.0.2", "fd74:6861:6c77::2"]);
}

/// With a smaller MTU in the middle, the router before it reports this, and the kernel then rejects larger packets.
#[test]
fn a_router_reports_oversized_packets() {
    if !supports_live_networks() {
        return;
    }
    let shell = |size: &str| {
        Shell::new(&chain(3)).args(&["--mtu", "link-2=1300B"]).run(&format!("large sink {size}"))
    };
    assert_eq!(words_after(&shell("1400"), "too"), [["large"]]);
    assert_eq!(words_after(&shell("1300"), "too"), Vec::<Vec<&str>>::new());
}

/// The exit code is that of the command; the folder contains the results and a fidelity record.
#[test]
fn a_call_ends_as_its_command() {
    if !supports_live_networks() {
        return;
    }
    let folder = test_scenarios::Scenario::new("");
    let out = folder.path().with_extension("results");
    let capture = folder.path().with_extension("pcapng");
    let shell = Shell::new(&two_hosts("", "")).args(&[
        "--out",
        out.to_str().unwrap(),
        "--pcap",
        capture.to_str().unwrap(),
    ]);
    let output = shell.run_command(&format!("{}; exit 7", play_part("ping server 3").replace("exec", "")));
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let results = std::fs::read_to_string(out.join("results.json")).unwrap();
    assert!(results.contains("client -> server") && results.contains("\"live\""), "{results}");
    let again = Command::new(env!("CARGO_BIN_EXE_thalweg")).arg("rerun").arg(&out).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stderr).contains("results of real packets"), "{again:?}");
    let fidelity = std::fs::read_to_string(out.join("fidelity.json")).unwrap();
    assert!(fidelity.contains("\"p99_s\""), "{fidelity}");
    // Three echoes and three replies, each sent and received: 16 B around the IP payload, and blocks of about 60 B
    // around that.
    assert!(std::fs::metadata(&capture).unwrap().len() > 12 * 32);
    std::fs::remove_dir_all(&out).unwrap();
    std::fs::remove_file(&capture).unwrap();
}

/// After `kill -9` the command inside and its children are gone.
#[test]
fn nothing_is_left_behind_by_a_kill() {
    if !supports_live_networks() {
        return;
    }
    let mark = format!("{}", 100_000 + std::process::id());
    let script = format!("sleep {mark} & sleep {mark}");
    let mut shell = Shell::new(&two_hosts("", ""));
    let mut child = shell.command.args(["--", "sh", "-c", &script]).spawn().unwrap();
    wait_until("it runs", || count_sleep_processes(&mark) == 2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("all is gone", || count_sleep_processes(&mark) == 0);
    drop(shell.scenario);
}

/// Killed at any step of its start, it leaves neither processes nor files.
#[test]
fn a_kill_during_start_up_leaves_nothing() {
    if !supports_live_networks() {
        return;
    }
    let mark = format!("{}", 300_000 + std::process::id());
    let folder = std::env::temp_dir().join(format!("thalweg-killed-{mark}"));
    std::fs::create_dir(&folder).unwrap();
    // Smaller intervals at the start, where a fast host does most steps.
    for delay in (0..40).map(|number| number * number / 8) {
        let mut shell = Shell::new(&two_hosts("", ""));
        let command = shell.command.args(["--", "sleep", &mark]).env("TMPDIR", &folder);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    wait_until("all is gone", || processes_with(&mark) == 0);
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
    std::fs::remove_dir(&folder).unwrap();
}

/// On SIGTERM it ends commands that hang, and prints its results.
#[test]
fn a_call_ends_on_a_termination_request() {
    if !supports_live_networks() {
        return;
    }
    let mark = format!("{}", 200_000 + std::process::id());
    let mut shell = Shell::new(&two_hosts("", ""));
    let child = shell
        .command
        .args(["--", "sh", "-c", &format!("trap '' INT; sleep {mark}; true")])
        .stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    wait_until("it runs", || count_sleep_processes(&mark) == 1);
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(130) && printed.contains("Fidelity"),
        "{:?}: {printed}",
        output.status
    );
    assert_eq!(count_sleep_processes(&mark), 0);
}

/// Returns the number of processes with this last argument, of any program.
fn processes_with(mark: &str) -> usize {
    command_lines(mark).count()
}

/// Returns the number of `sleep` processes with this last argument.
fn count_sleep_processes(mark: &str) -> usize {
    command_lines(mark).filter(|line| line.starts_with(b"sleep\0")).count()
}

fn command_lines(mark: &str) -> impl Iterator<Item = Vec<u8>> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let end = format!("\0{mark}\0");
    lines.filter(move |line| line.ends_with(end.as_bytes()))
}

#[track_caller]
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(120), "not {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Invalid calls fail before anything is created, with the cause.
#[test]
fn unsupported_live_scenarios_are_rejected() {
    for (arguments, words) in [
        (&["--at", "sever"][..], "there is no node `sever`; there are `client`, `server`"),
        (
            &["--mtu", "500B"],
            "expected 576 B to 65535 B, such as `--mtu 1400B` for all links or `--mtu LINK=1400B` for one",
        ),
        (&["--mtu", "core=1400B"], "there is no link `core`"),
        (&["--set", "link.line.rate=10 Tbit/s"], "no host carries more than"),
        (
            &[
                "--set",
                "flow.1.count=5000",
                "--set",
                "flow.1.access.rate=1 Gbit/s",
                "--set",
                "flow.1.access.delay=1 ms",
            ],
            "at most 250 hosts",
        ),
        (&["--run", "server"], "expected a node and a command"),
    ] {
        let output = Shell::new(&two_hosts("", "")).args(arguments).run_command("true");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && printed.contains(words), "{arguments:?}: {printed}");
    }
    let mut shell = Shell::new(&two_hosts("", ""));
    let output = shell.command.env("THALWEG_SHELL_INSIDE", "root").args(["--", "true"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && printed.contains("unset it"), "{printed}");
    let mut shell = Shell::new(&two_hosts("", ""));
    let output = shell.command.args(["--", "no-such-command-anywhere"]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(2) && printed.contains("there is no command `no-such-command-anywhere`"),
        "{printed}"
    );
}
