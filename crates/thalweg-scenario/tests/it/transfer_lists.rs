//! Transfers from files: the supported formats, errors with their line, and oversized files.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration as Span, Instant};
use thalweg_proto::units::{Bytes, Duration};
use thalweg_scenario::{Diagnostic, LoadedScenario, load, load_text};
use thalweg_sim::packet_trace::NoTrace;
use thalweg_sim::simulation_spec::{SizeSpec, WorkloadSpec};
use thalweg_sim::{RunResult, Simulation, Status};

fn folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("thalweg-lists-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub const FABRIC: &str = "duration = \"2 s\"\nwarmup = \"0 s\"\n\
     network = { kind = \"star\", nodes = 4, rate = \"100 Mbit/s\", delay = \"1 ms\", queue = \"100 pkt\" }\n\
     [[flow]]\nname = \"list\"\nfrom = \"n*\"\nto = \"n*\"\nscheme = \"cubic\"\n";

fn load_with_list(text: &str, rest: &str) -> Result<LoadedScenario, Vec<Diagnostic>> {
    let folder = folder();
    fs::write(folder.join("flows"), text).unwrap();
    let loaded = load_text("list.toml", &format!("{FABRIC}{rest}"), &folder, &[]);
    fs::remove_dir_all(&folder).unwrap();
    loaded
}

fn load_list(text: &str) -> Result<LoadedScenario, Vec<Diagnostic>> {
    load_with_list(text, "workload = { kind = \"list\", file = \"flows\" }\n")
}

/// Returns source, sink, time in us and size of each transfer.
pub fn transfers(loaded: &LoadedScenario) -> Vec<(String, String, f64, u64)> {
    let spec = loaded.spec();
    let group = &spec.groups[0];
    let WorkloadSpec::List(list) = &group.workload else { panic!("no list") };
    let name = |node: thalweg_sim::simulation_spec::NodeId| spec.nodes[node.0 as usize].name.clone();
    (0..list.flows())
        .flat_map(|flow| list.transfers_of(flow).iter().map(move |transfer| (flow, *transfer)))
        .map(|(flow, (at, size))| {
            let [from, to] = group.nodes_of_flow(flow).map(name);
            (from, to, at.as_secs_f64() * 1e6, size.get())
        })
        .collect()
}

fn rendered_diagnostics(found: Result<LoadedScenario, Vec<Diagnostic>>) -> String {
    found.unwrap_err().iter().map(Diagnostic::render).collect()
}

/// The same three transfers in each format; those of one pair are sorted by time, in any order of the file.
#[test]
fn all_list_formats_give_the_same_transfers() {
    let csv = "# start, from, to, size\n0.5, n1, n3, 20000\n\n100 us, n1, n3, 10 kB\n0.000002, n2, n3, 7\n";
    let named = "size,to,start,from,tag\n20000,n3,0.5,n1,x\n10 kB,2,100 us,0,y\n7,n3,2us,n2,z\n";
    let matrix = "Nodes 4\nConnections 3\n0->2 id 1 start 500000000000 size 20000\n\
                  0->2 id 2 start 100000000 size 10000 prio 3\n1->2 start 2000000.0 size 7\n";
    let flows = "3\n0 2 3 100 20000 0.5\n0 2 3 100 10000 0.0001\n1 2 3 100 7 0.000002000\n";
    let short = "3\n0 2 20000 0.5\n0 2 10000 0.0001\n1 2 7 0.000002\n";
    let of = |from: &str, at: f64, size: u64| (from.to_owned(), "n3".to_owned(), at, size);
    let expected = [of("n1", 100.0, 10_000), of("n1", 500_000.0, 20_000), of("n2", 2.0, 7)];
    let excel = "\u{feff}start;from;to;size\r\n0.5;n1;n3;20000\r\n100 us;n1;n3;10 kB\r\n0.000002;n2;n3;7\r\n";
    let quoted = "\"size\"\t\"to\"\t\"start\"\t\"from\"\n20000\t\"n3\"\t0.5\t\"n1\"\n10000\tn3\t0.0001\tn1\n7\tn3\t2us\tn2\n";
    let grouped = "0.5, n1, n3, \"20,000\", ,\n0.0001, \"n1\", n3, \"10,000\"\n0.000002, n2, n3, 7\n";
    for text in [csv, named, excel, quoted, grouped, matrix, flows, short] {
        let loaded =
            load_list(text).unwrap_or_else(|found| panic!("{text}{}", rendered_diagnostics(Err(found))));
        assert_eq!(transfers(&loaded), expected, "{text}");
        let explanation = loaded.explain();
        assert!(
            explanation.contains("3 transfers from a list") && explanation.contains("the last after 500 ms"),
            "{explanation}"
        );
        // The expanded form has the same transfers, without the file.
        let again = load_text("again.toml", &loaded.expanded(), std::path::Path::new("/"), &[]).unwrap();
        assert_eq!(again.spec(), loaded.spec(), "{}", loaded.expanded());
    }
}

fn run(loaded: &LoadedScenario) -> RunResult {
    let mut simulation = Simulation::new(loaded.spec(), NoTrace).unwrap();
    while simulation.advance(1 << 20) == Status::Running {}
    simulation.finish().0
}

/// One connection per transfer: 10 kB fit into the initial window and cross two links of 1 ms and 100 Mbit/s in 2 ms
/// and the time of
/// their packets. Two simultaneous transfers of one pair do not wait for each other's acknowledgements.
#[test]
fn listed_transfers_are_run() {
    let loaded =
        load_list("0.5, n1, n3, 10 kB\n0.5, n1, n3, 10 kB\n1.0, n2, n4, 10 kB\n5.0, n2, n4, 1 MB\n").unwrap();
    let result = run(&loaded);
    let mut found: Vec<(f64, u64, bool)> = result
        .transfer_list
        .iter()
        .map(|transfer| {
            let took = transfer.end.map(|end| end.since(transfer.start));
            (
                transfer.start.since(thalweg_proto::units::Time::ZERO).as_secs_f64(),
                transfer.size.get(),
                took.is_some_and(|took| took > Duration::from_millis(2) && took < Duration::from_millis(10)),
            )
        })
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(found, [(0.5, 10_000, true), (0.5, 10_000, true), (1.0, 10_000, true)]);
}

#[test]
fn errors_in_a_list_are_reported_with_their_line() {
    for (text, line, expected) in [
        ("0.5, n1, n9, 7\n", 1, "there is no node `n9`"),
        ("0.5, n1, n3, 7\n0.5, n1, 4, 7\n", 2, "there is no node 4: the flow has 4, and the first is 0"),
        ("0.5, n1, hub, 7\n", 1, "`hub` is none of the nodes of this flow"),
        ("0.5, n1, n1, 7\n", 1, "ends where it begins"),
        ("0.5, n1, n3\n", 1, "the column `size` is missing"),
        ("start,from,to\n0.5, n1, n3\n", 1, "names no column `size`"),
        ("size,from,to,start,bytes\n7,n1,n3,0.5,8\n", 1, "the columns `size` and `bytes` mean the same"),
        ("0.5 n1 n3 1000\n", 1, "the columns have spaces between them: they need commas, semicolons or tabs"),
        ("0.5, n1, n3, 7\n1 s n1 n3 7 B\n", 2, "the columns have spaces between them"),
        ("start from to size\n0.5 n1 n3 7\n", 1, "the columns have spaces between them"),
        ("0 1 3 100 10000 0.5\n", 1, "ns-3 begins with a line with the number of flows"),
        ("0.5, n1, n3, 0\n", 1, "at least 1 B"),
        ("-1, n1, n3, 7\n", 1, "-1"),
        ("1e400, n1, n3, 7\n", 1, "1e400"),
        ("0.5, n1, n3, 99999999999999999999999\n", 1, "99999999999999999999999"),
        (
            "0.1,n1,n3,2,000,000\n",
            1,
            "expected 4 columns (start, from, to, size), found 6: a number like 2,000,000",
        ),
        ("0.1,n1,n3,7,\n0.1,n1,n3,7,x\n", 2, "expected 4 columns (start, from, to, size), found 5"),
        (
            "start,from,to,size,tag\n0.1,n1,n3,2,x\n0.1,n1,n3,2,000,x\n",
            3,
            "expected 5 columns as in the first line, found 6",
        ),
        ("0.1,n1,n3,\"2,00\"\n", 1, "2,00"),
        ("0->1 start 0 size 7 size 8\n", 1, "`size` is there twice"),
        ("0->1 start 0 size 2,000\n", 1, "2,000"),
        ("1\n0 1 3 100 2,000 0.5\n", 2, "2,000"),
        ("2\n0 1 3 100 10 0.5\n", 1, "the first line says 2 flows, but there are 1"),
        ("1\n0 1 0.5\n", 2, "expected 4 to 6 columns, found 3"),
        ("Nodes 2\nConnections 1\n0->1 id 1 trigger 1 size 7\n", 3, "`trigger` has no counterpart"),
        ("Nodes 2\nConnections 1\n0->1 start 0 size 0\n", 3, "at least 1 B"),
        // Cut at the end of a line.
        ("Nodes 2\nConnections 5\n0->1 start 0 size 7\n", 2, "says 5 connections, but there are 1"),
        ("Nodes 2\nConnections many\n0->1 start 0 size 7\n", 2, "no number of connections"),
        ("0->1 size 7\n", 1, "`start` is missing"),
        ("Nodes 2\n", 1, "no transfers"),
    ] {
        let rendered = rendered_diagnostics(load_list(text));
        assert!(
            rendered.contains(expected) && rendered.contains(&format!("flows:{line}:")),
            "{text}{rendered}"
        );
    }
    assert!(rendered_diagnostics(load_list("# nothing\n")).contains("no transfers"));
    let both = |rest: &str| rendered_diagnostics(load_with_list("0.5, n1, n3, 7\n", rest));
    let key = both("workload = { kind = \"list\", file = \"flows\" }\ncount = 2\n");
    assert!(key.contains("`count`, and a file that lists the transfers"), "{key}");
    assert!(both("workload = { kind = \"list\" }\n").contains("give either `file` or `transfers`"));
    let beyond = both("pattern = \"permutation\"\nworkload = { kind = \"list\", transfers = \"5 0s 7B\" }\n");
    assert!(beyond.contains("transfers of flow 5") && beyond.contains("has 4 flows"), "{beyond}");
    let entry = both("workload = { kind = \"list\", transfers = \"1 0s 7B; 0 0s 7B\" }\n");
    assert!(entry.contains("transfer 2 is `0 0s 7B`"), "{entry}");
}

/// Times in milliseconds without a unit are read as seconds, and most transfers are never made.
#[test]
fn transfers_after_the_run_are_warned_about() {
    let warnings = |text: &str| {
        let loaded = load_list(text).unwrap_or_else(|found| panic!("{}", rendered_diagnostics(Err(found))));
        loaded.warnings.iter().map(Diagnostic::render).collect::<String>()
    };
    let message = |late: &str| format!("[scenario.never-starts]: {late} of `list` start after the run (2 s)");
    let found = warnings("0.5, n1, n3, 7\n150, n1, n3, 7\n300, n1, n3, 7\n");
    assert!(found.contains(&format!("warning{}", message("2 of 3 transfers"))), "{found}");
    // A part of a list may be intended.
    let found = warnings("0.5, n1, n3, 7\n1.5, n1, n3, 7\n2.5, n1, n3, 7\n");
    assert!(found.contains(&format!("note{}", message("1 of 3 transfers"))), "{found}");
    let found = warnings("0.5, n1, n3, 7\n1.5, n1, n3, 7\n1.9, n1, n3, 7\n");
    assert!(!found.contains("start after the run"), "{found}");
}

/// The same for recorded writes.
#[test]
fn writes_after_the_run_are_warned_about() {
    let warnings = |writes: &str| {
        let flow = "from = \"n1\"\nto = \"n2\"";
        let text = FABRIC.replace("from = \"n*\"\nto = \"n*\"", flow)
            + &format!("workload = {{ kind = \"trace\", writes = [{writes}] }}\n");
        let loaded = load_text("list.toml", &text, std::path::Path::new("/"), &[]).unwrap();
        loaded.warnings.iter().map(Diagnostic::render).collect::<String>()
    };
    let found = warnings("[\"0 s\", \"1 kB\"], [\"2 s\", \"1 kB\"], [\"3 s\", \"1 kB\"]");
    assert!(found.contains("2 of 3 writes of `list` are after the run (2 s)"), "{found}");
    let found = warnings("[\"0 s\", \"1 kB\"], [\"1 s\", \"1 kB\"], [\"3 s\", \"1 kB\"]");
    assert!(
        found.contains("note[scenario.never-starts]: 1 of 3 writes of `list` are after the run"),
        "{found}"
    );
    let found = warnings("[\"0 s\", \"1 kB\"], [\"1 s\", \"1 kB\"]");
    assert!(!found.contains("after the run"), "{found}");
}

/// A million transfers between all pairs of four nodes.
#[test]
fn a_million_transfers_are_read_in_seconds() {
    let mut text = String::from("start,from,to,size\n");
    for number in 0..1_000_000u32 {
        let (from, to) = (number % 4, (number + 1 + number / 4 % 3) % 4);
        text += &format!("{}us,n{},n{},{}\n", number * 2, from + 1, to + 1, 1000 + number % 7);
    }
    let start = Instant::now();
    let loaded = load_list(&text).unwrap();
    let taken = start.elapsed();
    assert_eq!((transfers(&loaded).len(), loaded.spec().groups[0].count), (1_000_000, 12));
    assert!(taken < Span::from_secs(30), "{taken:?}");
}

/// Sizes with shares up to 100 (HPCC) and up to 1, and packets of ns-2; the mean follows from linear interpolation of
/// the points.
#[test]
fn published_distributions_are_read_as_they_are() {
    for (text, points) in [
        (
            "0 0\n10000 15\n20000 20\n30000000 100\n",
            vec![(1, 0.0), (10_000, 0.15), (20_000, 0.2), (30_000_000, 1.0)],
        ),
        ("0\t0\n10000\t0.15\n20000\t1\n", vec![(1, 0.0), (10_000, 0.15), (20_000, 1.0)]),
        ("1 1 0\n6 1 0.15\n20 1 1\n", vec![(1460, 0.0), (8760, 0.15), (29_200, 1.0)]),
        ("10 kB, 15 %\n20 kB, 100 %\n", vec![(10_000, 0.15), (20_000, 1.0)]),
        ("10000, 0.15\n20000, 1\n", vec![(10_000, 0.15), (20_000, 1.0)]),
    ] {
        let workload = "workload = { kind = \"poisson\", gap = \"1 s\", size = { distribution = \"table\", file = \"flows\" } }\npattern = \"permutation\"\n";
        let loaded = load_with_list(text, workload)
            .unwrap_or_else(|found| panic!("{text}{}", rendered_diagnostics(Err(found))));
        let WorkloadSpec::Poisson { size: SizeSpec::Table(found), .. } = &loaded.spec().groups[0].workload
        else {
            panic!("no table")
        };
        let points: Vec<(Bytes, f64)> =
            points.into_iter().map(|(size, share)| (Bytes::new(size), share)).collect();
        assert_eq!(found[..], points, "{text}");
    }
    let bad = "workload = { kind = \"poisson\", gap = \"1 s\", size = { distribution = \"table\", file = \"flows\" } }\npattern = \"permutation\"\n";
    let rendered = rendered_diagnostics(load_with_list("10000 0.5\n5000 1\n", bad));
    assert!(rendered.contains("sizes and shares ascend") && rendered.contains("flows:2:"), "{rendered}");
    // Neither packets of ns-2 nor a size of 2 B.
    for (text, line, expected) in [
        ("2,000 0.5\n20,000 1\n", 1, "2"),
        ("2,000,0.5\n20,000,1\n", 1, "expected 2 columns (size, share), found 3"),
        ("10 kB, 15 %, x\n", 1, "expected 2 columns (size, share), found 3"),
        ("1000 0.5\n2 000 1\n", 1, "expected a size and a share"),
        ("10000,15 %\n20000,100 %\n", 1, "`10000` has no unit"),
        ("size,share\n10 kB,15 %\n", 1, "`size` does not start with a number"),
        ("-5 0\n2000 1\n", 1, "expected a size and a share"),
    ] {
        let rendered = rendered_diagnostics(load_with_list(text, bad));
        assert_eq!(rendered.matches("error[").count(), 1, "{rendered}");
        assert!(
            rendered.contains(expected) && rendered.contains(&format!("flows:{line}:")),
            "{text}{rendered}"
        );
    }
}

/// Without an entry, a file has no effect: it is the wrong one.
#[test]
fn files_without_entries_are_refused() {
    for (rest, entries) in [
        ("workload = { kind = \"list\", file = \"flows\" }\n", "transfers"),
        ("scheme = \"udp\"\nworkload = { kind = \"trace\", file = \"flows\" }\n", "writes"),
        (
            "workload = { kind = \"poisson\", gap = \"1 s\", size = { distribution = \"table\", file = \"flows\" } }\n",
            "sizes",
        ),
        (
            "workload = \"bulk\"\n[[link]]\nbetween = [\"n1\", \"x\"]\nrate = \"1 Mbit/s\"\nloss = { model = \"list\", file = \"flows\" }\n",
            "packet numbers",
        ),
    ] {
        let rest = rest.replace("scheme = \"udp\"\n", "");
        let rendered = rendered_diagnostics(load_with_list("# nothing\n", &rest));
        assert!(rendered.contains(&format!("this file has no {entries}")), "{rendered}");
    }
}

/// A file that two links name is missing once, and not without entries.
#[test]
fn an_unreadable_file_is_reported_once() {
    let link = |end: &str| {
        format!(
            "[[link]]\nbetween = [\"n1\", \"{end}\"]\nrate = \"1 Mbit/s\"\nloss = {{ model = \"list\", file = \"nowhere\" }}\n"
        )
    };
    let rest = format!("workload = \"bulk\"\n{}{}", link("x"), link("y"));
    let rendered = rendered_diagnostics(load_with_list("# nothing\n", &rest));
    assert!(rendered.contains("cannot read"), "{rendered}");
    assert_eq!(rendered.matches("error[scenario.file]").count(), 1, "{rendered}");
}

/// Times that a program has computed have more digits than picoseconds.
#[test]
fn computed_times_are_rounded() {
    let text = "start,from,to,size\n0.010730290263725389,n1,n2,1000\n12345.678901234567891 us,n1,n2,1000\n1e-13,n2,n1,7\n";
    let loaded = load_list(text).unwrap_or_else(|found| panic!("{}", rendered_diagnostics(Err(found))));
    let WorkloadSpec::List(list) = &loaded.spec().groups[0].workload else { panic!("no list") };
    let times: Vec<u64> = list.all().iter().map(|(at, _)| at.as_picos()).collect();
    assert_eq!(times, [10_730_290_264, 12_345_678_901, 0]);
    let rendered = rendered_diagnostics(load_list("0.5, n1, n2, 1000.5\n"));
    assert!(rendered.contains("finer than one byte"), "{rendered}");
}

/// A file counts once per inclusion: 201 times 1.1 MB are rejected as soon as they exceed the limit.
#[test]
fn included_files_share_a_limit() {
    let folder = folder();
    let large: String =
        (0..20_000).map(|number| format!("\"a{number}\" = {{ base = \"cubic\", beta = 0.7 }}\n")).collect();
    fs::write(folder.join("large.toml"), format!("[scheme]\n{large}")).unwrap();
    let names = vec!["\"large.toml\""; 201].join(", ");
    fs::write(folder.join("many.toml"), format!("include = [{names}]\nduration = \"1 s\"\n")).unwrap();
    let start = Instant::now();
    let rendered = rendered_diagnostics(load(&folder.join("many.toml"), &[]));
    fs::remove_dir_all(&folder).unwrap();
    assert!(rendered.contains("with the files before it, it is more than 32 MiB"), "{rendered}");
    assert!(start.elapsed() < Span::from_secs(60), "{:?}", start.elapsed());
}
