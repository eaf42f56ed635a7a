//! Writes router feedback as keys of a scenario file.

use super::super::keys::{OverheadName, RecipientsName, SeifPolicyKind, SeifPolicyKindName};
use super::super::toml_writer::{Entries, toml_string};
use super::super::value_types::Packets;
use thalweg_proto::units::Bytes;
use thalweg_queue::feedback::{FeedbackSpec, PolicySpec, SeifPolicy, SeifSpec};

/// Formats a queue's feedback as TOML.
pub fn feedback_value(feedback: Option<&FeedbackSpec>) -> String {
    let Some(feedback) = feedback else { return toml_string("none") };
    let mut entries = Entries::default();
    entries.put("kind", toml_string(feedback.policy.kind().name()));
    match &feedback.policy {
        PolicySpec::Seif(spec) => add_seif(spec, &mut entries),
        PolicySpec::SourceQuench(spec) => {
            entries.put("on-drop", spec.on_drop.to_string());
            if !spec.on_drop {
                entries.number("threshold", spec.threshold_share);
            }
        }
        PolicySpec::DecBit(spec) => entries.quantity("threshold", Packets(spec.threshold_packets)),
        PolicySpec::Rations(spec) => {
            entries.number("target", spec.target);
            entries.quantity("interval", spec.interval);
            entries.quantity("routing-interval", spec.routing_interval);
        }
    }
    if !matches!(feedback.policy, PolicySpec::DecBit(_)) {
        entries.quantity("message", Bytes::new(u64::from(feedback.message_bytes)));
    }
    entries.put("to", toml_string(RecipientsName(feedback.recipients).word()));
    entries.inline()
}

fn add_seif(spec: &SeifSpec, entries: &mut Entries) {
    let kind = match spec.policy {
        SeifPolicy::Static => SeifPolicyKind::Static,
        SeifPolicy::Reacting => SeifPolicyKind::Reacting,
        SeifPolicy::Dynamic { .. } => SeifPolicyKind::Dynamic,
    };
    entries.put("policy", toml_string(SeifPolicyKindName(kind).word()));
    match spec.policy {
        SeifPolicy::Static | SeifPolicy::Reacting => entries.number("threshold", spec.threshold_share),
        SeifPolicy::Dynamic { alpha, response_time, window } => {
            entries.number("alpha", alpha);
            entries.quantity("response", response_time);
            entries.quantity("window", window);
        }
    }
    entries.put("filter", spec.filter.to_string());
    entries.quantity("routing-interval", spec.routing_interval);
    if let Some(max_links) = spec.max_links {
        entries.put("reach", max_links.to_string());
    }
    entries.put("mark", spec.mark.to_string());
    if let Some(overhead) = &spec.overhead {
        entries.number("overhead", overhead.share);
        entries.put("overhead-by", toml_string(OverheadName(overhead.control).word()));
    }
}
