//! An external controller that sends ECT(1), at a queue with a low-latency part.

use std::path::Path;
use std::sync::Arc;
use thalweg_catalog::schemes::window;
use thalweg_catalog::{Registry, SchemeDescription, bind};
use thalweg_proto::Ecn;
use thalweg_proto::congestion::{
    AckSample, CeResponse, ConfigureController, Controller, Decision, LossSample,
};
use thalweg_scenario::load_text_with;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Scalable {}

#[derive(Clone, Debug)]
struct StillController;

impl Controller for StillController {
    type PacketInfo = ();
    fn on_ack(&mut self, _sample: &AckSample, _info: ()) {}
    fn on_loss(&mut self, _sample: &LossSample) {}
    fn decision(&self) -> Decision {
        Decision::window(2.0)
    }
}

impl ConfigureController for Scalable {
    type Controller = StillController;
    const NAME: &'static str = "scalable";
    fn make(&self) -> StillController {
        StillController
    }
    fn ce_response(&self) -> CeResponse {
        CeResponse::ControllerSpecific(Ecn::Ect1)
    }
}

bind!(Scalable {});

static SCALABLE: SchemeDescription =
    window::external_scheme::<Scalable>("Marked, and still.", window::window_keys(&[], window::SACK));

#[test]
fn one_ect1_flow_suffices_for_the_low_latency_queue() {
    let mut registry = Registry::default();
    registry.add_scheme(&SCALABLE);
    let registry = Arc::new(registry);
    let doubted = |second: &str| {
        let text = format!(
            "duration = \"10 s\"\nwarmup = \"1 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\n\
             delay = \"10 ms\"\nqueue = {{ discipline = \"dualpi2\", capacity = \"1 bdp\" }}\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"dctcp\"\n\
             [[flow]]\nfrom = \"a\"\nto = \"b\"\nscheme = \"{second}\"\n"
        );
        let loaded = load_text_with("dual.toml", &text, Path::new(""), &[], &registry).unwrap();
        loaded.warnings.iter().filter(|warning| warning.code == "scenario.marks").count()
    };
    assert_eq!(doubted("scalable"), 0);
    assert_eq!(doubted("dctcp"), 1);
}

/// RFC 9331, section 4.3: a queue that marks as often as it would drop starves flows that treat marks as losses.
#[test]
fn ect1_flows_that_share_a_queue_with_classic_flows_cause_a_warning() {
    let warnings = |queue: &str, others: &str| {
        let text = format!(
            "duration = \"10 s\"\nwarmup = \"1 s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\n\
             delay = \"10 ms\"\nqueue = {{ discipline = \"{queue}\", capacity = \"300 pkt\" }}\n\
             [[flow]]\nname = \"new\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"prague\"\n\
             [[flow]]\nname = \"old\"\nfrom = \"a\"\nto = \"b\"\nscheme = \"{others}\"\n"
        );
        let registry = Arc::new(Registry::default());
        let loaded = load_text_with("shared.toml", &text, Path::new(""), &[], &registry).unwrap();
        let of_marks = loaded.warnings.iter().filter(|warning| warning.code == "scenario.marks");
        of_marks.map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    for queue in ["pie", "codel", "step"] {
        let found = warnings(queue, "cubic");
        assert_eq!(found.len(), 1, "{queue}: {found:?}");
        assert!(found[0].contains("`new` sends ECT(1)") && found[0].contains("with `old`"), "{found:?}");
    }
    for (queue, others) in [
        ("dualpi2", "cubic"),
        ("fq-codel", "cubic"),
        ("cake", "cubic"),
        ("pie", "prague"),
        ("pie", "dctcp"),
        ("pie", "fixed"),
    ] {
        assert!(warnings(queue, others).is_empty(), "{queue} with {others}: {:?}", warnings(queue, others));
    }
}
