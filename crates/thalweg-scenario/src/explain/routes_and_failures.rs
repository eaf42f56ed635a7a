//! Explains the routes and link failures of a scenario.

use std::fmt::Write as _;
use thalweg_proto::units::Time;
use thalweg_sim::simulation_spec::{Metric, Multipath, RoutingSpec, Spec};

/// Maximum number of failures listed individually.
const MAX_LISTED_FAILURES: usize = 12;

/// Describes the routing, unless it is the default.
pub(super) fn explain_routing(spec: &Spec, out: &mut String) {
    let routing = &spec.routing;
    if *routing == RoutingSpec::default() {
        return;
    }
    let cost = match routing.metric {
        Metric::Delay => "least delay",
        Metric::Hops => "fewest links",
        Metric::Weight => "least weight",
    };
    let several = match routing.paths {
        Multipath::One => "one of several with equal cost is used",
        Multipath::Flow => "of several with equal cost, a hash of the connection selects one at each router",
        Multipath::Packet => "of several with equal cost, a hash of each packet selects one at each router",
    };
    let _ = writeln!(out, "\nRoutes: paths of {cost}; {several}.");
    for failure in routing.failures.iter().take(MAX_LISTED_FAILURES) {
        let name = spec.links.get(failure.link as usize).map_or("", |link| link.name.as_str());
        let lasts =
            failure.until.map_or("for good".to_owned(), |until| format!("for {}", until.since(failure.at)));
        let at = failure.at.since(Time::ZERO);
        let _ = writeln!(out, "  {name} fails at {at} {lasts}");
    }
    if routing.failures.len() > MAX_LISTED_FAILURES {
        let _ = writeln!(out, "  ... and {} more failures", routing.failures.len() - MAX_LISTED_FAILURES);
    }
    if !routing.failures.is_empty() {
        let _ = writeln!(out, "  routes change {} after each failure and each repair", routing.reroute);
    }
}
