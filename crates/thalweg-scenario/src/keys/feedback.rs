//! Keys of feedback: messages and marks by which routers tell sources of the congestion of a queue.

use super::super::diagnostic::Report;
use super::super::quantity::{Number, Packets, Share};
use super::super::schema::Definitions;
use super::super::source::Span;
use super::super::table::{Decode, choice, table, wrong_type};
use super::super::tree::{Kind, Table, Value};
use super::scheme::words;
use serde_json::json;
use thalweg_proto::congestion::FeedbackKind;
use thalweg_proto::units::{Bytes, Duration};
use thalweg_queue::feedback::Audience;

words! {
    /// Whom a router tells.
    AudienceName: Audience {
        "listening" => Audience::Listening,
        "all" => Audience::All,
    }
}

/// The occasion on which SEIF tells all sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeifRule {
    /// Above a threshold.
    Static,
    /// On a drop.
    Reacting,
    /// On arrivals for which there is no room.
    Dynamic,
}

words! {
    /// The occasion on which SEIF tells all sources, by its word.
    SeifRuleName: SeifRule {
        "static" => SeifRule::Static,
        "reacting" => SeifRule::Reacting,
        "dynamic" => SeifRule::Dynamic,
    }
}

table! {
    /// What all feedback by messages has.
    Messages "messages" {
        /// The size of a message on the wire.
        message: Bytes = "message" or r#""50 B""#;
        /// Who is told: "listening" for flows whose scheme listens to this kind, or "all". Those that do not listen ignore it, but the messages take room on the way back.
        to: AudienceName = "to" or r#""listening""#;
    }
}

table! {
    /// Messages to all sources at once before the queue overflows, and to the owners of dropped packets (Liang 1991).
    SeifFeedback "seif feedback" {
        /// When all sources are told: "static" (above a threshold), "reacting" (on a drop) or "dynamic" (when more is to come than there is room for).
        policy: SeifRuleName = "policy" or r#""static""#;
        /// The share of the buffer above which "static" tells, and below which "static" and "reacting" are ready again, above 0 (80 %).
        threshold: Share = "threshold";
        /// Of "dynamic": the part of the free buffer that may fill until sources react, above 0 up to 1 (0.8).
        alpha: Number = "alpha";
        /// Of "dynamic": the time from a message to its effect without a queue; without one, the longest of all sources.
        response: Duration = "response";
        /// Of "dynamic": the arrival rate is measured over the last time of this length, above 0 (1 s).
        window: Duration = "window";
        /// Do not tell all sources again before the queue was all right again.
        filter: bool = "filter" or "true";
        /// How often the table of sources is emptied; never if zero.
        routing_interval: Duration = "routing-interval" or r#""10 s""#;
        /// Tell only sources within so many links; all without.
        reach: u32 = "reach";
        /// Mark the packets of sources that were told, and leave sources alone that another router told.
        mark: bool = "mark" or "false";
        ..messages: Messages;
    }
}

table! {
    /// A message to the source of each packet that finds the queue half full (RFC 792; Nagle 1984, RFC 896).
    QuenchFeedback "source-quench feedback" {
        /// The share of the buffer from which on sources are told (50 %).
        threshold: Share = "threshold";
        /// Tell only the sources of dropped packets, as RFC 792 has it.
        on_drop: bool = "on-drop" or "false";
        ..messages: Messages;
    }
}

table! {
    /// A mark on packets that find a queue, which receivers return (Ramakrishnan and Jain 1988).
    DecBitFeedback "dec-bit feedback" {
        /// Packets are marked while the average number at the line over two busy periods, the one in service counted, is above this.
        threshold: Packets = "threshold" or r#""1 pkt""#;
        /// Whose packets are marked: "listening" for flows whose scheme listens to this kind, or "all".
        to: AudienceName = "to" or r#""listening""#;
    }
}

table! {
    /// A rate for every source, renewed at intervals (Robinson, Friedman and Steenstrup 1990).
    BbnFeedback "bbn feedback" {
        /// The share of the line's rate that is to be used, above 0.
        target: Share = "target" or r#""90 %""#;
        /// How often rations are renewed.
        interval: Duration = "interval" or r#""1 s""#;
        /// How often the table of sources is emptied; never if zero.
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

/// A queue's feedback: `"none"`, a kind as it is, or a table.
#[derive(Clone, Debug)]
pub enum FeedbackChoice {
    /// The router tells nobody.
    None,
    /// As in the table.
    Table(FeedbackTable),
}

impl FeedbackTable {
    /// A kind as it is.
    pub fn builtin(kind: &str) -> Option<Self> {
        Self::decode_kind(kind, &Table::default(), Span::DEFAULT, &mut Report::default())
    }

    /// The feedback that a scheme which listens to `kind` wants; `None` for a kind that there is not.
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
            Kind::String(text) if text == "none" => Some(Self::None),
            Kind::String(text) => {
                let table = FeedbackTable::builtin(text);
                if table.is_none() {
                    let message = format!("there is no feedback `{text}`");
                    let valid = ["none"].into_iter().chain(FeedbackTable::KINDS.iter().copied());
                    report.error("scenario.unknown-name", value.span, message).names(text, valid);
                }
                table.map(Self::Table)
            }
            Kind::Table(_) => FeedbackTable::decode(value, report).map(Self::Table),
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
