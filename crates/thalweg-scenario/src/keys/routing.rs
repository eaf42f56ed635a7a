//! Keys of routing and of link failures.

use super::super::table_declarations::table;
use super::super::value_types::Name;
use super::scheme::words;
use thalweg_proto::units::Duration;
use thalweg_sim::simulation_spec::{Metric, Multipath, RoutingSpec};

table! {
    /// Routing of packets through the network.
    Routing "routing" for RoutingSpec {
        /// The path metric: "delay", the sum of propagation delays; "hops", the number of links; "weight", the sum of
        /// their `weight`. Among paths of equal cost, those with the fewest links are best.
        metric: MetricName = "metric" or r#""delay""# => metric;
        /// The use of several equal-cost paths. "one": only one, chosen by the order of links in the file. "ecmp": a
        /// hash of the connection at each router selects a path. "spray": a hash of each packet selects a path, and
        /// packets of a connection may be reordered.
        paths: MultipathName = "paths" or r#""one""# => paths;
        /// The convergence time of routing after a failure and after a repair.
        reroute: Duration = "reroute" or r#""50 ms""# => reroute;
    }
}

words! {
    /// The path metric, by name.
    MetricName: Metric {
        "delay" => Metric::Delay,
        "hops" => Metric::Hops,
        "weight" => Metric::Weight,
    }
}

words! {
    /// The use of several paths, by name.
    MultipathName: Multipath {
        "one" => Multipath::One,
        "ecmp" => Multipath::Flow,
        "spray" => Multipath::Packet,
    }
}

table! {
    /// A failure: packets whose transmission over a link begins during it are lost, in both directions; packets already on
    /// the wire arrive. Give `link` or `node`.
    Failure "failure" {
        /// The failing link.
        link: Name = "link";
        /// The failing node: all its links fail.
        node: Name = "node";
        /// The time of the failure.
        at: Duration = "at" (required);
        /// The duration of the failure; by default to the end of the run.
        lasts: Duration = "for";
    }
}
