//! Networks from published topology files: missing and duplicate entries.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration as Span, Instant};
use thalweg_proto::units::{Duration, Rate};
use thalweg_queue::Limit;
use thalweg_scenario::{Diagnostic, LoadedScenario, load_text};

/// Loads a scenario with the network `file`, further keys of it, and a flow between two of its nodes.
fn load(file: &str, text: &str, keys: &str, ends: [&str; 2]) -> Result<LoadedScenario, Vec<Diagnostic>> {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder: PathBuf =
        std::env::temp_dir().join(format!("thalweg-topologies-{}-{number}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(file), text).unwrap();
    let scenario = format!(
        "duration = \"1 s\"\nnetwork = {{ kind = \"file\", file = \"{file}\"{keys} }}\n[[flow]]\nfrom = \"{}\"\nto = \"{}\"\nscheme = \"cubic\"\n",
        ends[0], ends[1]
    );
    let loaded = load_text("zoo.toml", &scenario, &folder, &[]);
    fs::remove_dir_all(&folder).unwrap();
    loaded
}

fn rendered_diagnostics(found: &[Diagnostic]) -> String {
    found.iter().map(Diagnostic::render).collect()
}

/// Returns GraphML in the form of the Internet Topology Zoo: numbered nodes with labels and optional coordinates; edges
/// with data.
fn graphml(nodes: &[(&str, Option<[f64; 2]>)], edges: &[(usize, usize, &str)]) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\
         <key attr.name=\"LinkSpeedRaw\" attr.type=\"double\" for=\"edge\" id=\"s\"/>\
         <key attr.name=\"LinkLabel\" attr.type=\"string\" for=\"edge\" id=\"l\"/>\
         <key attr.name=\"Longitude\" attr.type=\"double\" for=\"node\" id=\"x\"/>\
         <key attr.name=\"Latitude\" attr.type=\"double\" for=\"node\" id=\"y\"/>\
         <key attr.name=\"label\" attr.type=\"string\" for=\"node\" id=\"n\"/>\
         <graph edgedefault=\"undirected\">",
    );
    for (id, (label, at)) in nodes.iter().enumerate() {
        let at = at.map_or_else(String::new, |[y, x]| {
            format!("<data key=\"x\">{x}</data><data key=\"y\">{y}</data>")
        });
        text += &format!("<node id=\"{id}\"><data key=\"n\">{label}</data>{at}</node>");
    }
    for (a, b, data) in edges {
        text += &format!("<edge source=\"{a}\" target=\"{b}\">{data}</edge>");
    }
    text + "</graph></graphml>"
}

fn delays(loaded: &LoadedScenario) -> Vec<f64> {
    loaded.spec().links.iter().map(|link| link.forward.delay.as_secs_f64() * 1e6).collect()
}

/// Propagation time of one degree of a great circle, 111.19 km, in fibre: 556 us.
const DEGREE: f64 = 111.195 * 5.0;

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < expected * 1e-3
}

/// A link of 20 kbit/s and 50 us has a bandwidth-delay product of 0.25 B (Cesnet 1993 has one).
#[test]
fn the_default_queue_of_a_short_and_slow_link_holds_packets() {
    let link = |ends: &str, rate: &str, delay: &str| {
        format!("[[link]]\nbetween = [{ends}]\nrate = \"{rate}\"\ndelay = \"{delay}\"\n")
    };
    let used = link("\"a\", \"b\"", "10 Mbit/s", "10 ms");
    let idle = link("\"b\", \"c\"", "20 kbit/s", "50 us");
    let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"cubic\"\n";
    let limits = |text: String| {
        let loaded = load_text("test.toml", &text, Path::new(""), &[])
            .unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
        let links = loaded.spec().links.iter();
        links.map(|link| link.forward.queue.limit()).collect::<Vec<_>>()
    };
    let before = limits(format!("{used}{flow}"));
    assert_eq!(limits(format!("{used}{idle}{flow}")), [before[0], Limit::Bytes(6000)]);
}

/// With only `rate`: a node without coordinates is placed at the midpoint of its neighbours; behind another such node,
/// at its place.
/// Links between nodes at one place are 10 km long.
#[test]
fn missing_coordinates_are_interpolated_from_neighbours() {
    let text = graphml(
        &[
            ("West", Some([0.0, 0.0])),
            ("East", Some([0.0, 4.0])),
            ("Hub", None),
            ("Peer", None),
            ("Zürich/2", Some([0.0, 4.0])),
        ],
        &[(0, 2, ""), (2, 1, ""), (2, 3, ""), (1, 4, ""), (0, 1, "<data key=\"l\">&lt; 2.5 Gbps</data>")],
    );
    let loaded = load("zoo.graphml", &text, ", rate = \"1 Gbit/s\"", ["Peer", "Zürich/2"]).unwrap();
    let found = delays(&loaded);
    let expected = [2.0 * DEGREE, 2.0 * DEGREE, 50.0, 50.0, 4.0 * DEGREE];
    assert!(found.iter().zip(expected).all(|(found, expected)| is_near(*found, expected)), "{found:?}");
    let output = rendered_diagnostics(&loaded.warnings);
    assert!(output.contains("2 of 5 nodes have no coordinates"), "{output}");
    assert!(
        output.contains("gives 3 links their delay") && output.contains("1 links join nodes at one place"),
        "{output}"
    );

    // An explicit delay applies only to these links, and silences the warning.
    for keys in [
        ", rate = \"1 Gbit/s\", delay = \"7 ms\"",
        ", rate = \"1 Gbit/s\" }\n[defaults.link]\ndelay = \"7 ms\"\n#",
    ] {
        let loaded = load("zoo.graphml", &text, keys, ["Peer", "Zürich/2"])
            .unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
        let found = delays(&loaded);
        assert_eq!(found[..4], [7000.0; 4]);
        assert!(is_near(found[4], 4.0 * DEGREE), "{found:?}");
        assert!(!rendered_diagnostics(&loaded.warnings).contains("coordinates"));
    }
}

#[test]
fn nodes_without_coordinates_are_reported() {
    let text = graphml(&[("A", None), ("B", None)], &[(0, 1, "")]);
    let found = load("zoo.graphml", &text, ", rate = \"1 Gbit/s\"", ["A", "B"]).unwrap_err();
    let output = rendered_diagnostics(&found);
    assert!(output.contains("`A-B` needs `delay`: no node of this file has coordinates"), "{output}");
    assert!(output.contains("zoo.graphml:1:"), "{output}");
    assert!(load("zoo.graphml", &text, ", rate = \"1 Gbit/s\", delay = \"1 ms\"", ["A", "B"]).is_ok());
    // Two nodes connected only to each other, besides others.
    let places = [("A", None), ("B", None), ("C", Some([0.0, 0.0])), ("D", Some([0.0, 1.0]))];
    let text = graphml(&places, &[(2, 3, ""), (0, 1, "")]);
    let output =
        rendered_diagnostics(&load("zoo.graphml", &text, ", rate = \"1 Gbit/s\"", ["C", "D"]).unwrap_err());
    assert!(
        output.contains("`A-B` needs `delay`: neither its ends nor the nodes that they lead to"),
        "{output}"
    );
}

/// Loops are skipped with a warning; parallel links have distinct names; the speed of a link overrides that of the
/// scenario.
#[test]
fn loops_are_skipped_and_parallel_links_are_kept() {
    let speed = "<data key=\"s\">2488000000.0</data>";
    let text = graphml(
        &[("A", Some([0.0, 0.0])), ("B", Some([0.0, 1.0]))],
        &[(0, 1, ""), (0, 0, speed), (1, 0, speed), (1, 1, ""), (0, 1, "")],
    );
    let loaded = load("zoo.graphml", &text, ", rate = \"1 Gbit/s\"", ["A", "B"]).unwrap();
    let links: Vec<_> = loaded.spec().links.iter().map(|link| (&*link.name, link.forward.rate)).collect();
    let gbit = Rate::from_mbits_per_sec(1000);
    assert_eq!(links, [("A-B", gbit), ("B-A", Rate::from_mbits_per_sec(2488)), ("A-B 2", gbit)]);
    let output = rendered_diagnostics(&loaded.warnings);
    assert!(
        output.contains("both ends of this link are `0`: it and 1 more such links are left out"),
        "{output}"
    );
    let only = graphml(&[("A", Some([0.0, 0.0]))], &[(0, 0, "")]);
    assert!(
        rendered_diagnostics(&load("zoo.graphml", &only, ", rate = \"1 Gbit/s\"", ["A", "A"]).unwrap_err())
            .contains("no links")
    );
}

/// GraphML primer, section 2.3: `edgedefault`, and `directed` of an edge. Opposite arcs are the directions of one link,
/// each with its rate or that of the network; an arc without an opposite one is a link, with a warning.
#[test]
fn opposite_arcs_are_one_link() {
    let speed = |mbits: u32| format!("<data key=\"s\">{mbits}e6</data>");
    let (one, two, five) = (speed(10), speed(20), speed(50));
    let nodes = [("A", Some([0.0, 0.0])), ("B", Some([0.0, 1.0])), ("C", Some([0.0, 2.0]))];
    let found = |text: &str| {
        let loaded = load("zoo.graphml", text, ", rate = \"1 Mbit/s\"", ["A", "C"])
            .unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
        let again = load_text("again.toml", &loaded.expanded(), Path::new("/"), &[]).unwrap();
        assert_eq!(again.spec(), loaded.spec());
        let mbits = |rate: Rate| rate.as_bits_per_sec() / 1_000_000;
        let links = loaded.spec().links.iter();
        let links: Vec<_> = links
            .map(|link| (link.name.clone(), mbits(link.forward.rate), mbits(link.backward.rate)))
            .collect();
        (links, rendered_diagnostics(&loaded.warnings))
    };
    let directed = |edges: &[(usize, usize, &str)]| {
        graphml(&nodes, edges).replace("edgedefault=\"undirected\"", "edgedefault=\"directed\"")
    };
    let link = |name: &str, there: u64, back: u64| (name.to_owned(), there, back);
    let edges = [(0, 1, &*one), (0, 1, &*five), (1, 0, &*two), (2, 1, ""), (1, 2, &*two), (1, 0, "")];
    let (links, warnings) = found(&directed(&edges));
    assert_eq!(links, [link("A-B", 10, 20), link("A-B 2", 50, 1), link("C-B", 1, 20)]);
    assert!(!warnings.contains("arcs"), "{warnings}");

    let (links, warnings) = found(&directed(&edges[1..5]));
    assert_eq!(links, [link("A-B", 50, 20), link("C-B", 1, 20)]);
    assert!(!warnings.contains("arcs"), "{warnings}");
    let (links, warnings) = found(&directed(&edges[2..5]));
    assert_eq!(links, [link("B-A", 20, 20), link("C-B", 1, 20)]);
    assert!(
        warnings.contains("1 of 2 links are arcs without an opposite one, such as `1` to `0`"),
        "{warnings}"
    );

    // An edge of its own kind: in an undirected graph, two arcs and two links.
    let text = graphml(&nodes, &edges[..5]);
    let own = text.replacen("source=\"0\" target=\"1\"", "directed=\"true\" source=\"0\" target=\"1\"", 1);
    let own = own.replacen("source=\"1\" target=\"0\"", "directed=\"true\" source=\"1\" target=\"0\"", 1);
    let (links, warnings) = found(&own);
    let expected = [link("A-B", 10, 20), link("A-B 2", 50, 50), link("C-B", 1, 1), link("B-C", 20, 20)];
    assert_eq!(links, expected);
    assert!(!warnings.contains("arcs"), "{warnings}");
    assert_eq!(found(&text).0.len(), 5);

    // The direction without a rate has that of the defaults, not of the other one.
    let keys = " }\n[defaults.link]\nrate = \"3 Mbit/s\"\n#";
    let loaded = load("zoo.graphml", &directed(&edges[3..5]), keys, ["B", "C"]).unwrap();
    let rates = [loaded.spec().links[0].forward.rate, loaded.spec().links[0].backward.rate];
    assert_eq!(rates, [3, 20].map(Rate::from_mbits_per_sec));
}

/// In directed networks of SNDlib, such as janos-us, each link has an opposite one. In others, that is a parallel link.
#[test]
fn links_of_a_directed_sndlib_network_are_the_directions_of_one() {
    let text = sndlib("", "pixel", "<preInstalledModule><capacity>40</capacity></preInstalledModule>");
    let start = text.find("<link ").unwrap();
    let first = text[start..text.find("</links>").unwrap()].to_owned();
    let keys = ", delay = \"1 ms\"";
    let back = first
        .replace("<source>A</source><target>B</target>", "<source>B</source><target>A</target>")
        .replace("40", "70");
    assert_ne!(first, back);
    let loaded =
        load("s.xml", &text.replace("</links>", &format!("{back}</links>")), keys, ["A", "B"]).unwrap();
    let rates: Vec<_> =
        loaded.spec().links.iter().map(|link| [link.forward.rate, link.backward.rate]).collect();
    assert_eq!(rates, [[40, 70].map(Rate::from_mbits_per_sec)]);
    let parallel = text.replace("</links>", &format!("{first}{back}</links>"));
    let parallel = load(
        "s.xml",
        &parallel
            .replacen("<target>B</target>", "<target>C</target>", 1)
            .replace("</nodes>", "<node id=\"C\"><coordinates><x>1</x><y>1</y></coordinates></node></nodes>"),
        keys,
        ["A", "B"],
    );
    let parallel = parallel.unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
    assert_eq!(parallel.spec().links.len(), 3);
}

/// Speeds as in Internet Topology Zoo, "10-100" M, and without units.
#[test]
fn unreadable_speeds_are_reported() {
    let nodes = [("A", Some([0.0, 0.0])), ("B", Some([0.0, 1.0]))];
    let keyed = |edges: &[(usize, usize, &str)]| {
        let keys = "<key attr.name=\"LinkSpeed\" for=\"edge\" id=\"p\"/><key attr.name=\"LinkSpeedUnits\" for=\"edge\" id=\"u\"/>";
        graphml(&nodes, edges).replacen("<key ", &format!("{keys}<key "), 1)
    };
    let (range, unit) = ("<data key=\"p\">10-100</data>", "<data key=\"u\">M</data>");
    let ranged = format!("{range}{unit}");
    let (bare, good) = ("<data key=\"p\">10</data>", format!("<data key=\"p\">10</data>{unit}"));
    let text = keyed(&[(0, 1, &good), (0, 1, &ranged), (1, 0, bare), (0, 1, "")]);
    let loaded = load("zoo.graphml", &text, ", rate = \"1 Mbit/s\"", ["A", "B"]).unwrap();
    let output = rendered_diagnostics(&loaded.warnings);
    let expected = "the `LinkSpeed` of 2 of 4 edges cannot be read: `10-100` M from `0` to `1`, `10` without units from `1` to `0`";
    assert!(output.contains(expected), "{output}");
    let rates: Vec<_> = loaded.spec().links.iter().map(|link| link.forward.rate).collect();
    assert_eq!(rates, [10, 1, 1, 1].map(Rate::from_mbits_per_sec));
    let loaded =
        load("zoo.graphml", &keyed(&[(0, 1, &good), (0, 1, "")]), ", rate = \"1 Mbit/s\"", ["A", "B"])
            .unwrap();
    assert!(!rendered_diagnostics(&loaded.warnings).contains("LinkSpeed"));
}

/// Repeated labels do not change the names of other nodes; an id that is another node's label yields.
#[test]
fn repeated_labels_get_their_ids_with_a_warning() {
    let at = |degree: f64| Some([0.0, degree]);
    let nodes =
        [("None", at(0.0)), ("Oslo", at(1.0)), ("None", at(2.0)), ("n4", at(3.0)), ("St. Louis", at(4.0))];
    let text = graphml(&nodes, &[(0, 1, ""), (1, 2, ""), (2, 3, ""), (3, 4, "")]);
    let loaded = load("zoo.graphml", &text, ", rate = \"1 Gbit/s\"", ["None-n0", "n4 2"])
        .unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
    let mut names: Vec<&str> = loaded.spec().nodes.iter().map(|node| &*node.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["None-n0", "None-n2", "Oslo", "n4", "n4 2"]);
    let label = rendered_diagnostics(
        &load("zoo.graphml", &text, ", rate = \"1 Gbit/s\"", ["None", "Oslo"]).unwrap_err(),
    );
    assert!(label.contains("did you mean `None-n0` or `None-n2`?"), "{label}");
    let output = rendered_diagnostics(&loaded.warnings);
    for expected in [
        "2 of 5 nodes have labels that other nodes have too (`None`, here `None-n0`)",
        "1 of 5 nodes have labels that are not valid names (`St. Louis`, here `n4 2`)",
    ] {
        assert!(output.contains(expected), "{output}");
    }
    // An id of SNDlib that is not a name is one of these labels.
    let text = sndlib("", "pixel", "").replace(">A<", ">A.b<").replace("\"A\"", "\"A.b\"");
    let loaded = load("s.xml", &text, ", rate = \"1 Gbit/s\", delay = \"1 ms\"", ["A-b", "B"])
        .unwrap_or_else(|found| panic!("{}", rendered_diagnostics(&found)));
    assert!(
        rendered_diagnostics(&loaded.warnings).contains("(`A.b`, here `A-b`)"),
        "{}",
        rendered_diagnostics(&loaded.warnings)
    );
}

#[test]
fn duplicate_ids_are_reported() {
    let text =
        "<graphml><graph><node id=\"a\"/><node id=\"a\"/><edge source=\"a\" target=\"b\"/></graph></graphml>";
    let output =
        rendered_diagnostics(&load("zoo.graphml", text, ", rate = \"1 Gbit/s\"", ["a", "b"]).unwrap_err());
    assert!(
        output.contains("another node with the id `a`") && output.contains("there is no node `b`"),
        "{output}"
    );
}

fn sndlib(unit: &str, kind: &str, modules: &str) -> String {
    let node =
        |id: &str, x: u32| format!("<node id=\"{id}\"><coordinates><x>{x}</x><y>0</y></coordinates></node>");
    format!(
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><network xmlns=\"http://sndlib.zib.de/network\" version=\"1.0\">{unit}\
         <networkStructure><nodes coordinatesType=\"{kind}\">{}{}</nodes><links>\
         <link id=\"L1\"><source>A</source><target>B</target>{modules}</link></links></networkStructure>\
         <demands><demand id=\"D1\"><source>A</source><target>B</target><demandValue>3</demandValue></demand></demands></network>",
        node("A", 0),
        node("B", 1)
    )
}

/// The installed capacity, or else the smallest module, in the unit of the file.
#[test]
fn capacities_of_modules_are_rates() {
    let installed = |capacity: &str| {
        format!("<preInstalledModule><capacity>{capacity}</capacity><cost>1</cost></preInstalledModule>")
    };
    let modules = "<additionalModules><addModule><capacity>622.0</capacity></addModule>\
                   <addModule><capacity>155.0</capacity></addModule></additionalModules>";
    let unit = |unit: &str| format!("<meta><unit>{unit}</unit></meta>");
    let of = |unit: &str, modules: &str| {
        load("s.xml", &sndlib(unit, "geographical", modules), "", ["A", "B"])
            .map(|loaded| loaded.spec().links[0].forward.rate.as_bits_per_sec())
    };
    assert_eq!(of("", &(installed("9920.0") + modules)).unwrap(), 9_920_000_000);
    assert_eq!(of("", &(installed("0") + modules)).unwrap(), 155_000_000);
    assert_eq!(of("", modules).unwrap(), 155_000_000);
    assert_eq!(of(&unit("BITSPERSEC"), &installed("1.0E9")).unwrap(), 1_000_000_000);
    assert_eq!(of(&unit("GBITPERSEC"), &installed("2.5")).unwrap(), 2_500_000_000);
    let output = |unit: &str, modules: &str| rendered_diagnostics(&of(unit, modules).unwrap_err());
    assert!(output(&unit("ERLANG"), modules).contains("`ERLANG` is not a unit of capacities"));
    assert!(output("", &installed("1e300")).contains("`capacity` must be a rate"));
    assert!(output("", &installed("many")).contains("`capacity` must be a number of at least 0, not `many`"));
    assert!(output("", "").contains("needs `rate`"));
    // Coordinates of a drawing do not determine delays.
    let drawn = sndlib("", "pixel", modules);
    let output = rendered_diagnostics(&load("s.xml", &drawn, "", ["A", "B"]).unwrap_err());
    assert!(
        output.contains("needs `delay`: the coordinates of this file are those of a drawing"),
        "{output}"
    );
    let loaded = load("s.xml", &drawn, ", delay = \"2 ms\"", ["A", "B"]).unwrap();
    assert_eq!(loaded.spec().links[0].forward.delay, Duration::from_millis(2));
}

/// The GraphML of SNDlib has capacities in Mbit/s, 0 for links without installed capacity.
#[test]
fn capacities_in_graphml_are_rates() {
    let text = |capacity: &str| {
        format!(
            "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><key for=\"edge\" id=\"d1\" attr.name=\"capacity\"/>\
             <graph><node id=\"A\"/><node id=\"B\"/><edge source=\"A\" target=\"B\"><data key=\"d1\">{capacity}</data></edge></graph></graphml>"
        )
    };
    let rate = |capacity: &str| {
        load("s.graphml", &text(capacity), ", rate = \"1 Mbit/s\", delay = \"1 ms\"", ["A", "B"])
            .map(|loaded| loaded.spec().links[0].forward.rate.as_bits_per_sec())
    };
    assert_eq!((rate("40").unwrap(), rate("0").unwrap()), (40_000_000, 1_000_000));
    assert!(rendered_diagnostics(&rate("-1").unwrap_err()).contains("`capacity` must be a rate"));
}

/// Adversarial files are read or rejected in linear time: each took minutes with a quadratic reader, and takes a
/// fraction of a second
/// now.
#[test]
fn adversarial_files_are_read_in_linear_time() {
    let nodes: String = (0..20_000).map(|id| format!("<node id=\"{}{id}\"/>", "n".repeat(80))).collect();
    let edges: String = (1..20_000)
        .map(|id| format!("<edge source=\"{0}{1}\" target=\"{0}{id}\"/>", "n".repeat(80), id - 1))
        .collect();
    let parallel: String = (0..60_000).map(|_| "<edge source=\"a\" target=\"b\"/>").collect();
    let nested = "<link><source>A</source>".repeat(60_000) + &"</link>".repeat(60_000);
    let attributes: String = (0..100_000).map(|number| format!(" a{number}=\"\"")).collect();
    let namespaces: String = (0..60_000).map(|number| format!("<a xmlns:n{number}=\"{number}\">")).collect();
    let of = |inner: &str| format!("<graphml><graph>{inner}</graph></graphml>");
    let cases = [
        ("long ids", of(&(nodes + &edges))),
        ("parallel links", of(&format!("<node id=\"a\"/><node id=\"b\"/>{parallel}"))),
        (
            "nested links",
            format!("<network><networkStructure><links>{nested}</links></networkStructure></network>"),
        ),
        ("attributes", of(&format!("<node{attributes}/>"))),
        ("namespaces", of(&namespaces)),
        ("depth", of(&"<a>".repeat(1_000_000))),
    ];
    for (name, text) in cases {
        let start = Instant::now();
        let _ = load("h.xml", &text, ", rate = \"1 Gbit/s\", delay = \"1 ms\"", ["a", "b"]);
        let taken = start.elapsed();
        assert!(taken < Span::from_secs(20), "{name} took {taken:?}");
    }
}
