//! Queues with their disciplines.

use super::writer::{Entries, text};
use thalweg_proto::units::Bytes;
use thalweg_queue::{DisciplineSpec, FairQueueingConfig, Limit};

/// All keys of a queue.
pub fn queue(queue: &DisciplineSpec) -> Entries {
    let mut entries = Entries::default();
    let (discipline, parameters) = match queue {
        DisciplineSpec::Fcfs { .. } => ("fcfs", Entries::default()),
        DisciplineSpec::RandomDrop { .. } => ("random-drop", Entries::default()),
        DisciplineSpec::FairQueueing { config, .. } => ("fq", fair_queueing(config)),
    };
    entries.put("discipline", text(discipline));
    let capacity = match queue.limit() {
        Limit::Packets(packets) => format!("{packets} pkt"),
        Limit::Bytes(bytes) => Bytes::new(bytes).to_string(),
        Limit::Unlimited => "unlimited".to_owned(),
    };
    entries.put("capacity", text(&capacity));
    entries.append(&parameters);
    entries
}

fn fair_queueing(config: &FairQueueingConfig) -> Entries {
    let mut entries = Entries::default();
    entries.quantity("promptness", config.promptness);
    if let Some(share) = config.mark_above {
        entries.number("mark-above", share);
    }
    entries
}
