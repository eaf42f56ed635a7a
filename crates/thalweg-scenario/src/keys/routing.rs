//! Keys of routes, and of links that fail.

use super::super::quantity::Name;
use super::super::table::table;
use super::scheme::words;
use thalweg_proto::units::Duration;
use thalweg_sim::spec::{Metric, Multipath, RoutingSpec};

table! {
    /// The ways of packets through the network.
    Routing "routing" for RoutingSpec {
        /// What a path costs: "delay", the sum of propagation delays; "hops", the number of links; "weight", the sum of their `weight`.
        /// Of paths that cost the same, those of fewest links are best.
        metric: MetricName = "metric" or r#""delay""# => metric;
        /// What becomes of several best paths: "one" is taken, by the links that come first; "ecmp", at each router a hash of the
        /// connection chooses among them; "spray", a hash of each packet does, so that packets of a connection may pass each other.
        paths: MultipathName = "paths" or r#""one""# => paths;
        /// How long after a failure, and after its end, packets leave by routes that know of it.
        reroute: Duration = "reroute" or r#""50 ms""# => reroute;
    }
}

words! {
    /// The cost of a path, by its word.
    MetricName: Metric {
        "delay" => Metric::Delay,
        "hops" => Metric::Hops,
        "weight" => Metric::Weight,
    }
}

words! {
    /// The use of several paths, by its word.
    MultipathName: Multipath {
        "one" => Multipath::One,
        "ecmp" => Multipath::Flow,
        "spray" => Multipath::Packet,
    }
}

table! {
    /// A failure: what is on a link, and what enters it, is lost in both directions. Give `link` or `node`.
    Failure "failure" {
        /// The link that fails.
        link: Name = "link";
        /// The node all of whose links fail.
        node: Name = "node";
        /// When.
        at: Duration = "at" (required);
        /// For how long; to the end of the run without.
        lasts: Duration = "for";
    }
}
