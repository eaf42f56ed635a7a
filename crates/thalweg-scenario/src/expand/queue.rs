//! Queues with their disciplines.

use super::super::keys::OverflowName;
use super::writer::{Entries, text};
use thalweg_proto::units::Bytes;
use thalweg_queue::{
    CoDelConfig, DisciplineSpec, DrrConfig, FairQueueingConfig, FqCoDelConfig, Limit, PieConfig, RedConfig,
    RedUnit, SfqConfig,
};

/// All keys of a queue.
pub fn queue(queue: &DisciplineSpec) -> Entries {
    let mut entries = Entries::default();
    let (discipline, parameters) = match queue {
        DisciplineSpec::Fcfs { .. } => ("fcfs", Entries::default()),
        DisciplineSpec::RandomDrop { .. } => ("random-drop", Entries::default()),
        DisciplineSpec::FairQueueing { config, .. } => ("fq", fair_queueing(config)),
        DisciplineSpec::Sfq { config, .. } => ("sfq", sfq(config)),
        DisciplineSpec::Drr { config, .. } => ("drr", drr(config)),
        DisciplineSpec::Red { config, .. } => ("red", red(config)),
        DisciplineSpec::CoDel { config, .. } => ("codel", codel(config)),
        DisciplineSpec::FqCoDel { config, .. } => ("fq-codel", fq_codel(config)),
        DisciplineSpec::Pie { config, .. } => ("pie", pie(config)),
        DisciplineSpec::Priority { config, .. } => {
            let mut entries = Entries::default();
            entries.put("push-out", config.push_out.to_string());
            ("priority", entries)
        }
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

fn sfq(config: &SfqConfig) -> Entries {
    let mut entries = Entries::default();
    entries.put("buckets", config.buckets.to_string());
    match config.perturbation {
        Some(every) => entries.quantity("perturbation", every),
        None => entries.put("perturbation", text("off")),
    }
    entries.put("overflow", text(OverflowName(config.overflow).word()));
    entries
}

fn drr(config: &DrrConfig) -> Entries {
    let mut entries = Entries::default();
    entries.quantity("quantum", config.quantum);
    if let Some(buckets) = config.buckets {
        entries.put("buckets", buckets.to_string());
    }
    entries.put("overflow", text(OverflowName(config.overflow).word()));
    entries
}

fn red(config: &RedConfig) -> Entries {
    let mut entries = Entries::default();
    for (key, threshold) in [("min-threshold", config.min_threshold), ("max-threshold", config.max_threshold)]
    {
        match config.unit {
            RedUnit::Packets => entries.quantity(key, format!("{threshold} pkt")),
            RedUnit::Bytes => entries.quantity(key, Bytes::new(threshold as u64)),
        }
    }
    entries.number("weight", config.weight);
    entries.number("max-probability", config.max_probability);
    entries.put("gentle", config.gentle.to_string());
    entries.put("ecn", config.ecn.to_string());
    entries.quantity("mean-packet", config.mean_packet);
    entries
}

fn codel(config: &CoDelConfig) -> Entries {
    let mut entries = Entries::default();
    entries.quantity("target", config.target);
    entries.quantity("interval", config.interval);
    entries.quantity("max-packet", config.max_packet);
    entries.put("ecn", config.ecn.to_string());
    entries
}

fn fq_codel(config: &FqCoDelConfig) -> Entries {
    let mut entries = codel(&config.codel);
    entries.put("flows", config.flows.to_string());
    entries.quantity("quantum", config.quantum);
    entries.put("drop-batch", config.drop_batch.to_string());
    entries
}

fn pie(config: &PieConfig) -> Entries {
    let mut entries = Entries::default();
    entries.quantity("target", config.target);
    entries.quantity("update", config.update);
    entries.number("alpha", config.alpha);
    entries.number("beta", config.beta);
    entries.quantity("max-burst", config.max_burst);
    entries.number("ecn-threshold", config.ecn_threshold);
    entries.quantity("mean-packet", config.mean_packet);
    entries
}
