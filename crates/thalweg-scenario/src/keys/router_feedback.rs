//! Keys of router feedback: messages and marks that notify sources of congestion at a queue.

use super::super::diagnostic::Report;
use super::super::parsed_tree::{Table, Value, ValueKind};
use super::super::schema_definitions::Definitions;
use super::super::source_text::Span;
use super::super::table_declarations::{Decode, choice, table, wrong_type};
use super::super::value_types::{Number, Packets, Share};
use super::scheme::words;
use serde_json::json;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_queue::feedback::{OverheadControl, Recipients};

words! {
    /// The sources that a router notifies.
    RecipientsName: Recipients {
        "capable" => Recipients::Capable,
        "all" => Recipients::All,
    }
}

/// The condition under which SEIF notifies all sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeifPolicyKind {
    /// The queue is above a threshold.
    Static,
    /// A packet was dropped.
    Reacting,
    /// The expected arrivals exceed the free buffer.
    Dynamic,
}

words! {
    /// The condition under which SEIF notifies all sources, by name.
    SeifPolicyKindName: SeifPolicyKind {
        "static" => SeifPolicyKind::Static,
        "reacting" => SeifPolicyKind::Reacting,
        "dynamic" => SeifPolicyKind::Dynamic,
    }
}

words! {
    /// The means of a SEIF router against too many messages, by name.
    OverheadName: OverheadControl {
        "growth" => OverheadControl::Growth,
        "silence" => OverheadControl::Silence,
    }
}

table! {
    /// Keys shared by all feedback that is sent as messages.
    Messages "messages" {
        /// The wire size of a feedback message.
        message: Bytes = "message" or r#""50 B""#;
        /// The recipients: "capable", the flows whose scheme uses this kind of feedback, or "all". Other schemes
        /// ignore the messages, which still take capacity on the return path.
        to: RecipientsName = "to" or r#""capable""#;
    }
}

table! {
    /// SEIF feedback (Liang 1991): messages to all sources at once, by default before the queue overflows, and to the
    /// senders of dropped packets.
    SeifFeedback "seif feedback" {
        /// The trigger for notifying all sources: "static" (queue above a threshold), "reacting" (packet dropped) or
        /// "dynamic" (expected arrivals exceed the free buffer).
        policy: SeifPolicyKindName = "policy" or r#""static""#;
        /// The share of the buffer above which "static" notifies, and below which "static" and "reacting" rearm; above
        /// 0 (80 %).
        threshold: Share = "threshold";
        /// For "dynamic": the part of the free buffer that may fill before sources react, above 0 up to 1 (0.8).
        alpha: Number = "alpha";
        /// For "dynamic": the time from a message to its effect, without queueing; by default the longest of all
        /// sources.
        response: Duration = "response";
        /// For "dynamic": the averaging window of the arrival rate, above 0 (1 s).
        window: Duration = "window";
        /// Notifies all sources only once per congestion episode: not again until the queue has recovered.
        filter: bool = "filter" or "true";
        /// The interval at which the source table is cleared; zero for never.
        routing_interval: Duration = "routing-interval" or r#""10 s""#;
        /// The maximum hop count of notified sources; by default unlimited.
        reach: u32 = "reach";
        /// Marks the packets of notified sources, and does not notify sources that another router has notified.
        mark: bool = "mark" or "false";
        /// The share of the link's rate that messages may take, each counted once for every link of its path; above 0, by
        /// default without a limit.
        overhead: Share = "overhead";
        /// The method of keeping within `overhead`: "growth" (the default) makes sources grow more slowly the more often the
        /// threshold is crossed; "silence" notifies only the nearest sources, or none, and the others rely on losses.
        overhead_by: OverheadName = "overhead-by";
        ..messages: Messages;
    }
}

table! {
    /// ICMP Source Quench: a message to the source of each packet that finds the queue half full (RFC 792; Nagle 1984,
    /// RFC 896).
    QuenchFeedback "source-quench feedback" {
        /// The share of the buffer from which sources are notified (50 %).
        threshold: Share = "threshold";
        /// Notifies only the sources of dropped packets, as in RFC 792.
        on_drop: bool = "on-drop" or "false";
        ..messages: Messages;
    }
}

table! {
    /// The DEC bit: a mark on packets that find a queue, echoed by receivers (Ramakrishnan and Jain 1988).
    DecBitFeedback "dec-bit feedback" {
        /// The average queue length over the previous and the current cycle (a busy period and the following idle one),
        /// including the packet in service, above which packets are marked.
        threshold: Packets = "threshold" or r#""1 pkt""#;
        /// The flows whose packets are marked: "capable", those whose scheme uses this kind of feedback, or "all".
        to: RecipientsName = "to" or r#""capable""#;
    }
}

table! {
    /// Rations: an explicit rate for every source, renewed at intervals (Robinson, Friedman and Steenstrup 1990).
    BbnFeedback "bbn feedback" {
        /// The target utilisation of the link, above 0.
        target: Share = "target" or r#""90 %""#;
        /// The interval at which rations are renewed.
        interval: Duration = "interval" or r#""1 s""#;
        /// The interval at which the source table is cleared; zero for never.
        routing_interval: Duration = "routing-interval" or r#""10 s""#;
        ..messages: Messages;
    }
}

choice! {
    /// Feedback from a router to sources.
    FeedbackTable "feedback" by "kind" {
        "seif" => Seif(SeifFeedback),
        "source-quench" => SourceQuench(QuenchFeedback),
        "dec-bit" => DecBit(DecBitFeedback),
        "bbn" => Bbn(BbnFeedback),
    }
}

/// A queue's feedback: `"none"`, a kind with its defaults, or a table.
#[derive(Clone, Debug)]
pub enum FeedbackChoice {
    /// No feedback.
    None,
    /// The feedback that a table describes.
    Table(FeedbackTable),
}

impl FeedbackTable {
    /// Returns a kind of feedback with its defaults.
    pub fn builtin(kind: &str) -> Option<Self> {
        Self::decode_kind(kind, &Table::default(), Span::OF_DEFAULT_VALUE, &mut Report::default())
    }

    /// Returns the feedback for a scheme that uses `kind`; `None` for an unknown kind.
    pub fn wanted_by(kind: FeedbackKind) -> Option<Self> {
        Self::builtin(kind.name())
    }
}

impl Decode for FeedbackChoice {
    fn expected() -> String {
        "\"none\", the name of a kind of feedback, or a table with `kind`".to_owned()
    }
    fn decode(value: &Value, report: &mut Report) -> Option<Self> {
        match &value.kind {
            ValueKind::String(text) if text == "none" => Some(Self::None),
            ValueKind::String(text) => {
                let table = FeedbackTable::builtin(text);
                if table.is_none() {
                    let message = format!("there is no feedback `{text}`");
                    let valid = ["none"].into_iter().chain(FeedbackTable::KINDS.iter().copied());
                    report.error("scenario.unknown-name", value.span, message).names(text, valid);
                }
                table.map(Self::Table)
            }
            ValueKind::Table(_) => FeedbackTable::decode(value, report).map(Self::Table),
            _ => {
                wrong_type::<Self>(value, report);
                None
            }
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let table = FeedbackTable::schema(definitions);
        let names: Vec<&str> = ["none"].into_iter().chain(FeedbackTable::KINDS.iter().copied()).collect();
        json!({ "anyOf": [{ "enum": names }, table] })
    }
}
