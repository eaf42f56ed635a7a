//! The first slow start of a transfer alone on its path, by exit algorithm: its losses, and their cost.

use std::path::Path;
use thalweg_scenario::{Diagnostic, load_text};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::{RunResult, Simulation, Status};

/// Runs a transfer for some seconds over a path with this rate in Mbit/s and this delay in milliseconds per direction.
/// The queue
/// holds two bandwidth-delay products; `more` has further keys of the link.
fn run(scheme: &str, seconds: u32, path: (u32, u32), more: &str) -> RunResult {
    run_over(scheme, seconds, path, &format!("queue = \"2 bdp\"\n{more}"))
}

/// The same with the queue among the keys in `more`.
fn run_over(scheme: &str, seconds: u32, (rate, delay): (u32, u32), more: &str) -> RunResult {
    let text = format!(
        "duration = \"{seconds} s\"\n\
         [[link]]\nname = \"path\"\nbetween = [\"here\", \"there\"]\nrate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\n\
         {more}\n\
         [[flow]]\nfrom = \"here\"\nto = \"there\"\nworkload = \"bulk\"\nscheme = {{ {scheme} }}"
    );
    let loaded = load_text("test.toml", &text, Path::new(""), &[])
        .unwrap_or_else(|found| panic!("{}", found.iter().map(Diagnostic::render).collect::<String>()));
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().0
}

fn with_exit(base: &str, exit: &str) -> String {
    format!("base = \"{base}\", slow-start-exit = \"{exit}\"")
}

/// Returns the goodput in Mbit/s.
fn goodput(result: &RunResult) -> f64 {
    result.flows[0].goodput.as_f64() / 1e6
}

/// The purpose of HyStart++ (RFC 9406, section 1): slow start loses a window at the full queue; HyStart++ loses a small
/// part of it,
/// and the repair costs no time.
#[test]
fn hystart_saves_the_overshoot() {
    for base in ["cubic", "newreno"] {
        for path in [(20, 20), (100, 20), (100, 50)] {
            let [plain, early] = ["loss", "hystart++"].map(|exit| run(&with_exit(base, exit), 4, path, ""));
            let [lost, saved] = [&plain, &early].map(|result| result.links[0].drops_full);
            println!("{base} {path:?}: {lost} {saved}, {} {}", goodput(&plain), goodput(&early));
            assert!(2 * saved < lost, "{base}, {path:?}: {saved} lost in place of {lost}");
            assert!(goodput(&early) >= goodput(&plain), "{base}, {path:?}");
        }
    }
}

/// An early exit from slow start is costly on a long path (RFC 9406, section 4.1): round trips of 600 ms, with
/// variations not caused
/// by a queue.
#[test]
fn hystart_loses_no_goodput_on_a_long_path() {
    for base in ["cubic", "newreno"] {
        for more in ["", "jitter = { distribution = \"uniform\", max = \"30 ms\" }"] {
            let [plain, early] =
                ["loss", "hystart++"].map(|exit| goodput(&run(&with_exit(base, exit), 60, (20, 300), more)));
            println!("{base} {more}: {plain} {early}");
            assert!(early >= plain, "{base}, {more}: {early} in place of {plain}");
        }
    }
}

/// Linux' HyStart (Ha and Rhee 2011) detects that the window fills half of the path before a queue builds. HyStart++
/// waits for the
/// queue and may exit one doubling late: HyStart loses a fraction of the packets at equal goodput.
#[test]
fn a_train_ends_slow_start_before_the_queue_is_full() {
    for (path, queue) in
        [((100, 50), "queue = \"1 bdp\""), ((100, 10), "queue = \"1 bdp\""), ((20, 25), "queue = \"1 bdp\"")]
    {
        let [later, early] =
            ["hystart++", "hystart"].map(|exit| run_over(&with_exit("cubic", exit), 10, path, queue));
        let [lost, saved] = [&later, &early].map(|result| result.links[0].drops_full);
        println!("{path:?}: {lost} {saved}, {} {}", goodput(&later), goodput(&early));
        assert!(4 * saved < lost, "{path:?}: {saved} lost in place of {lost}");
        assert!(goodput(&early) >= 0.99 * goodput(&later), "{path:?}");
    }
}

/// The purpose of SEARCH (its draft, section 1): slow start ends after the path is full and before a deep queue
/// overflows, also with
/// round trips that vary for other reasons. SEARCH needs two round trips to detect that deliveries do not double. In
/// this time the
/// window grows to four bandwidth-delay products, hence a queue of less than three overflows.
#[test]
fn search_exits_before_a_deep_queue_overflows() {
    let jitter = "jitter = { distribution = \"uniform\", max = \"30 ms\" }";
    for base in ["cubic", "newreno"] {
        for (path, seconds, more) in [((100, 20), 8, ""), ((20, 300), 20, ""), ((20, 300), 20, jitter)] {
            let exits = ["loss", "search"];
            let link = format!("queue = \"6 bdp\"\n{more}");
            let [plain, early] = exits.map(|exit| run_over(&with_exit(base, exit), seconds, path, &link));
            let [lost, saved] = [&plain, &early].map(|result| result.links[0].drops_full);
            println!("{base} {path:?} {more}: {lost} {saved}, {} {}", goodput(&plain), goodput(&early));
            assert!(lost > 100 && saved == 0, "{base}, {path:?}: {saved} lost in place of {lost}");
            assert!(goodput(&early) >= goodput(&plain), "{base}, {path:?}");
        }
        let [plain, early] = ["loss", "search"].map(|exit| run(&with_exit(base, exit), 8, (100, 20), ""));
        assert_eq!(plain.links[0].drops_full, early.links[0].drops_full, "{base}");
    }
}
