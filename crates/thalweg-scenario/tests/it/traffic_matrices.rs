//! Traffic matrices: the supported formats, the groups that they become, and errors with their line.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use thalweg_proto::units::{Bytes, Duration, Rate};
use thalweg_scenario::{Diagnostic, LoadedScenario, SchemeOverride, load_text, load_text_with_override};
use thalweg_sim::simulation_spec::{SizeSpec, WorkloadSpec};

const NETWORK: &str = "duration = \"2 s\"\nwarmup = \"0 s\"\n\
     network = { kind = \"star\", nodes = 3, rate = \"100 Mbit/s\", delay = \"1 ms\", queue = \"100 pkt\" }\n";

const POISSON: &str = "workload = { kind = \"poisson\", size = \"100 kB\" }\n";

fn folder(text: &str) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("thalweg-matrices-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("tm"), text).unwrap();
    folder
}

/// Loads a flow `tm` with the matrix `text`, its nodes and further keys.
fn load_with_matrix(text: &str, ends: [&str; 2], rest: &str) -> Result<LoadedScenario, Vec<Diagnostic>> {
    let folder = folder(text);
    let [from, to] = ends;
    let flow = format!("[[flow]]\nname = \"tm\"\nfrom = {from}\nto = {to}\nmatrix = \"tm\"\n{rest}");
    let loaded = load_text("tm.toml", &format!("{NETWORK}{flow}"), &folder, &[]);
    fs::remove_dir_all(&folder).unwrap();
    loaded
}

fn rendered_diagnostics(found: Result<LoadedScenario, Vec<Diagnostic>>) -> String {
    found.unwrap_err().iter().map(Diagnostic::render).collect()
}

/// Returns the name of each group, and the rate of its workload in bit/s.
fn group_rates(loaded: &LoadedScenario) -> Vec<(String, u64)> {
    let rate = |workload: &WorkloadSpec| match workload {
        WorkloadSpec::Poisson { gap, size } => (size.mean() * 8.0 / gap.as_secs_f64()).round() as u64,
        WorkloadSpec::ConstantRate { rate, .. } => rate.as_bits_per_sec(),
        other => panic!("{other:?}"),
    };
    loaded.spec().groups.iter().map(|group| (group.name.clone(), rate(&group.workload))).collect()
}

const SNDLIB: &str = "<?xml version=\"1.0\"?><network xmlns=\"http://sndlib.zib.de/network\" version=\"1.0\">\
    <meta><unit>MBITPERSEC</unit></meta><networkStructure><nodes/><links/></networkStructure><demands>\
    <demand id=\"D1\"><source>n1</source><target>n2</target><demandValue>4.0</demandValue></demand>\
    <demand id=\"D2\"><source>n1</source><target>n3</target><demandValue>1.5</demandValue></demand>\
    <demand id=\"D3\"><source>n3</source><target>n1</target><demandValue>0.0</demandValue></demand>\
    <demand id=\"D4\"><source>n3</source><target>n2</target><demandValue>2</demandValue></demand>\
    </demands></network>";

/// The same three demands in each format.
#[test]
fn all_formats_of_matrices_give_the_same_groups() {
    let all = ["\"*\"", "\"*\""];
    let listed = ["[\"n1\", \"n2\", \"n3\"]", "\"*\""];
    let expected = [("tm n1-n2", 4_000_000), ("tm n1-n3", 1_500_000), ("tm n3-n2", 2_000_000)]
        .map(|(name, rate)| (name.to_owned(), rate));
    for (text, unit, ends) in [
        (SNDLIB, "", all),
        ("# of an hour\nn1, n2, 4 Mbit/s\nn1, n3, 1500 kbit/s\n\nn3, n1, 0\nn3, n2, 2 Mbit/s\n", "", all),
        ("n1 n2 4\nn1 n3 1.5\nn3 n2 2\n", "1 Mbit/s", all),
        ("demand;target;source\n4000;n2;n1\n1000;n3;n1\n500;n3;n1\n2000;n2;n3\n", "1 kbit/s", all),
        (",n1,n2,n3\nn1,0,4,1.5\nn2,0,0,0\nn3,0,2,0\n", "1 Mbit/s", all),
        ("\"n1\" \"n2\" \"n3\"\n\"n1\" 0 4 1.5\n\"n2\" 0 0 0\n\"n3\" 0 2 0\n", "1 Mbit/s", all),
        ("0 40 15\n0 0 0\n0 20 0\n", "100 kbit/s", listed),
    ] {
        let unit = if unit.is_empty() { String::new() } else { format!("matrix-unit = \"{unit}\"\n") };
        let loaded = load_with_matrix(text, ends, &format!("{unit}{POISSON}"));
        let loaded = loaded.unwrap_or_else(|found| panic!("{text}{}", rendered_diagnostics(Err(found))));
        let mut found = group_rates(&loaded);
        found.sort();
        assert_eq!(found, expected, "{text}");
        assert!(loaded.spec().groups.iter().all(|group| group.count == 1));
        // The expanded form has the same groups, without the file.
        let again = load_text("again.toml", &loaded.expanded(), std::path::Path::new("/"), &[]).unwrap();
        assert_eq!(again.spec(), loaded.spec(), "{}", loaded.expanded());
    }
}

#[test]
fn the_unit_scales_and_nodes_select() {
    let scaled =
        load_with_matrix(SNDLIB, ["\"n1\"", "\"*\""], &format!("matrix-unit = \"100 kbit/s\"\n{POISSON}"))
            .unwrap();
    assert_eq!(group_rates(&scaled), [("tm n1-n2".to_owned(), 400_000), ("tm n1-n3".to_owned(), 150_000)]);
    let cbr = "scheme = \"udp\"\nworkload = { kind = \"cbr\", packet = \"500 B\" }\n";
    let constant = load_with_matrix(SNDLIB, ["\"*\"", "\"n2\""], cbr).unwrap();
    let workload =
        |rate| WorkloadSpec::ConstantRate { rate: Rate::from_mbits_per_sec(rate), packet: Bytes::new(500) };
    let found: Vec<_> = constant.spec().groups.iter().map(|group| group.workload.clone()).collect();
    assert_eq!(found, [workload(4), workload(2)]);
}

/// SNDlib's `Demand`: a unit of a demand's value takes `routingUnit` units of capacity, by default 1.
#[test]
fn demands_of_sndlib_are_in_their_routing_unit() {
    let text = SNDLIB.replacen("<demandValue>4.0", "<routingUnit>4</routingUnit><demandValue>5", 1).replacen(
        "<demandValue>1.5",
        "<routingUnit>1.0</routingUnit><demandValue>1.5",
        1,
    );
    let loaded = load_with_matrix(&text, ["\"*\"", "\"*\""], POISSON).unwrap();
    let expected = [("tm n1-n2", 20_000_000), ("tm n1-n3", 1_500_000), ("tm n3-n2", 2_000_000)]
        .map(|(name, rate)| (name.to_owned(), rate));
    assert_eq!(group_rates(&loaded), expected);
    let text = SNDLIB.replacen("<demandValue>4.0", "<routingUnit>x</routingUnit><demandValue>4", 1);
    let found = rendered_diagnostics(load_with_matrix(&text, ["\"*\"", "\"*\""], POISSON));
    assert!(found.contains("`routingUnit` must be a number of at least 0"), "{found}");
}

/// A Poisson arrival every 200 ms, of 100 kB: 4 Mbit/s.
#[test]
fn a_demand_is_the_load_of_its_arrivals() {
    let loaded = load_with_matrix(SNDLIB, ["\"n1\"", "\"n2\""], POISSON).unwrap();
    let expected =
        WorkloadSpec::Poisson { gap: Duration::from_millis(200), size: SizeSpec::Fixed(Bytes::new(100_000)) };
    assert_eq!(loaded.spec().groups[0].workload, expected);
}

/// A comparison overrides the scheme of every group, by its position among all.
#[test]
fn schemes_of_groups_from_a_matrix_are_overridden() {
    let folder = folder(SNDLIB);
    let flow = format!(
        "[[flow]]\nname = \"tm\"\nfrom = \"*\"\nto = \"*\"\nmatrix = \"tm\"\nscheme = \"cubic\"\n{POISSON}"
    );
    let text = format!("{NETWORK}{flow}[[flow]]\nname = \"last\"\nfrom = \"n1\"\nto = \"n2\"\n");
    let scheme = SchemeOverride { scheme: "bbr", flows: &[2, 4] };
    let loaded =
        load_text_with_override("tm.toml", &text, &folder, &[], Some(scheme), &std::sync::Arc::default())
            .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let schemes: Vec<&str> = loaded.spec().groups.iter().map(|group| &*group.transport.scheme).collect();
    assert_eq!(schemes, ["cubic", "bbr", "cubic", "bbr"]);
}

#[test]
fn errors_in_matrices_are_reported_with_their_line() {
    let all = ["\"*\"", "\"*\""];
    for (text, rest, expected) in [
        ("n1, n2, 4\n", POISSON, "`4` has no unit"),
        ("n1, n2, -4 Mbit/s\n", POISSON, "tm:1:1"),
        ("n1, n2\n", POISSON, "the column `rate` is missing"),
        (
            "n1,n2,2,000 kbit/s\n",
            POISSON,
            "expected 3 columns (from, to, rate), found 4: a number like 2,000,000",
        ),
        ("n1 n2 4 kbit/s\n", "matrix-unit = \"1 Mbit/s\"\n", "expected 3 columns (from, to, rate), found 4"),
        (
            "from,to,rate,tag\nn1,n2,4,x,y\n",
            "matrix-unit = \"1 Mbit/s\"\n",
            "expected 4 columns as in the first",
        ),
        ("from,to\nn1,n2\n", POISSON, "names no column `rate`"),
        ("n1, n9, 4 Mbit/s\n", POISSON, "there is no node `n9`"),
        ("", POISSON, "this file has no demands"),
        ("n1, n2, 0\n", POISSON, "no demand between the nodes"),
        ("0 1\n1 0\n", "matrix-unit = \"1 Mbit/s\"\n", "`from` must list its nodes in order"),
        (",n1,n2\nn1,0,1\nn2,1\n", "matrix-unit = \"1 Mbit/s\"\n", "expected 3 columns, found 2"),
        (",n1,n1\nn2,7,4\n", "matrix-unit = \"1 Mbit/s\"\n", "tm:1:5|there is another column `n1`"),
        (",n1,n3\nn2,7,4\nn2,1,1\n", "matrix-unit = \"1 Mbit/s\"\n", "tm:3:1|there is another row `n2`"),
        ("from,to,rate,demand\nn1,n2,1 Mbit/s,9\n", POISSON, "tm:1:14|there is another column `rate`"),
        ("<graphml/>", POISSON, "is not a network of SNDlib"),
        ("<network", POISSON, "this is not GraphML"),
        ("n1, n2, 1 Mbit/s\n", "", "gives the rate of a workload"),
        ("n1, n2, 1 Mbit/s\n", "workload = \"bulk\"\n", "gives the rate of a workload"),
        (
            "n1, n2, 1 Mbit/s\n",
            "workload = { kind = \"poisson\", size = \"1 kB\", gap = \"1 s\" }\n",
            "that gives the rate",
        ),
        ("n1, n2, 1 Mbit/s\n", "count = 2\nworkload = { kind = \"cbr\" }\n", "gives the pairs of nodes"),
        (
            "n1, n2, 1 Mbit/s\n",
            "matrix-unit = 4\nworkload = { kind = \"cbr\" }\n",
            "did you mean \"4 Mbit/s\"",
        ),
        ("n1, n2, 1\n", "matrix-unit = \"0 bit/s\"\n", "the rate of a demand of 1 cannot be 0"),
    ] {
        let found = rendered_diagnostics(load_with_matrix(text, all, rest));
        let (place, message) = expected.split_once('|').unwrap_or(("", expected));
        assert!(found.contains(message) && found.contains(place), "{text:?} {rest}: {found}");
    }
    let own = load_with_matrix("n1,n1,1 Mbit/s\nn1,n2,1 Mbit/s\n", all, POISSON).unwrap();
    assert!(own.warnings.iter().any(|warning| warning.message.contains("from a node to itself")));
    assert_eq!(own.spec().groups.len(), 1);
}
