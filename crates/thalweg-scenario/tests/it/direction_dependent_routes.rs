//! Routes that differ by direction.

use crate::link_scenarios::load;
use thalweg_sim::shortest_paths::shortest_path;
use thalweg_sim::simulation_spec::NodeId;

/// A triangle whose direct link costs more in one direction: packets take it, and acknowledgements take the detour.
#[test]
fn weights_of_directions_make_routes_that_differ_there_and_back() {
    let text = |more: &str| {
        format!(
            "duration = \"10 s\"\n[routing]\nmetric = \"weight\"\n[defaults.link]\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n\
             [[link]]\nbetween = [\"a\", \"b\"]\n{more}\n[[link]]\nbetween = [\"b\", \"c\"]\n[[link]]\n\
             between = [\"c\", \"a\"]\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        )
    };
    let routes = |text: &str| {
        let loaded = load(text).unwrap_or_else(|found| panic!("{found:?}"));
        let (there, back) = (NodeId(0), NodeId(1));
        let route = |from, to| shortest_path(loaded.spec(), from, to).unwrap();
        (route(there, back), route(back, there), loaded)
    };
    assert_eq!((routes(&text("")).0, routes(&text("")).1), (vec![0], vec![1]));
    let (there, back, loaded) = routes(&text("reverse = { weight = 5 }"));
    assert_eq!((there, back), (vec![0], vec![2, 4]));
    assert!(loaded.explain().contains("reverse path b -> c -> a: 2 links"), "{}", loaded.explain());
    assert!(!routes(&text("")).2.explain().contains("reverse path"));
    let again = routes(&loaded.expanded());
    assert_eq!((again.0, again.1), (vec![0], vec![2, 4]));
    // The round trip includes both routes: 5 ms forward, 10 ms back.
    let path = loaded.paths().groups[0].as_ref().unwrap();
    assert!((15.0..17.5).contains(&path.rtt.as_millis_f64()), "{}", path.rtt);
    // The forward route may be the longer one.
    let (there, back, _) = routes(&text("weight = 9\nreverse = { weight = 1 }"));
    assert_eq!((there.len(), back), (2, vec![1]));
}
