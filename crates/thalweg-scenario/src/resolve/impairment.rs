//! Resolution of loss, duplication, corruption and reordering.

use super::super::keys::{Chance, Loss, LossTable, NO_REORDER, Reorder, ScheduleEntry};
use super::super::table_declarations::Spanned;
use super::super::value_types::Probability;
use super::Resolver;
use thalweg_queue::{ImpairmentSpec, LossSpec, ReorderSpec};

fn probability_or_zero(at: Option<&Spanned<Probability>>) -> f64 {
    at.map_or(0.0, |at| at.value.0)
}

impl Resolver<'_> {
    /// Resolves the impairments that are not plain numbers; `chances` are duplication and corruption.
    pub(super) fn impairment(
        &mut self,
        loss: Option<&Spanned<Loss>>,
        reorder: Option<&Spanned<Reorder>>,
        chances: [Option<&Spanned<Chance>>; 2],
        spec: &mut ImpairmentSpec,
    ) {
        let [duplicate, corrupt] = chances.map(|at| at.map(|at| at.value));
        if let Some(Chance { probability, correlation }) = duplicate {
            (spec.duplicate, spec.duplicate_correlation) = (probability, correlation);
        }
        if let Some(Chance { probability, correlation }) = corrupt {
            (spec.corrupt, spec.corrupt_correlation) = (probability, correlation);
        }
        if let Some(loss) = loss {
            spec.loss = self.loss(loss);
        }
        if let Some(reorder) = reorder {
            spec.reorder = self.reorder(reorder);
        }
    }

    /// Returns the impairments after a schedule entry.
    pub(super) fn changed_impairment(
        &mut self,
        now: &ImpairmentSpec,
        entry: &ScheduleEntry,
    ) -> ImpairmentSpec {
        let mut changed = now.clone();
        entry.fill(&mut changed);
        let chances = [entry.duplicate.as_ref(), entry.corrupt.as_ref()];
        self.impairment(entry.loss.as_ref(), entry.reorder.as_ref(), chances, &mut changed);
        changed
    }

    /// Returns the reordering; `None` if it never occurs.
    fn reorder(&mut self, at: &Spanned<Reorder>) -> Option<ReorderSpec> {
        let mut spec = NO_REORDER;
        at.fill(&mut spec);
        (spec.probability > 0.0).then_some(spec)
    }

    fn loss(&mut self, loss: &Spanned<Loss>) -> LossSpec {
        let uniform = |probability: f64| {
            if probability > 0.0 { LossSpec::Uniform { probability } } else { LossSpec::None }
        };
        match &loss.value {
            Loss::Probability(probability) => uniform(probability.0),
            Loss::Table(LossTable::Uniform(table)) => {
                uniform(probability_or_zero(table.probability.as_ref()))
            }
            Loss::Table(
                table @ (LossTable::GilbertElliott(_)
                | LossTable::Correlated(_)
                | LossTable::Periodic(_)
                | LossTable::BitErrors(_)),
            ) => {
                let spec: LossSpec = table.spec().unwrap_or_default();
                if let Err(fault) = spec.check() {
                    self.report.error("scenario.range", loss.span, fault.to_string());
                }
                spec
            }
            Loss::Table(LossTable::List(table)) => {
                let packets = match (&table.packets, &table.file) {
                    (Some(packets), None) => {
                        packets.value.iter().map(|packet| (packet.value, packet.span)).collect()
                    }
                    (None, Some(file)) => self.loss_file(file).unwrap_or_default(),
                    (None, None) if table.broken => Vec::new(),
                    _ => {
                        self.report.error("scenario.missing", loss.span, "give either `packets` or `file`");
                        Vec::new()
                    }
                };
                self.loss_list(packets)
            }
        }
    }

    fn loss_list(&mut self, packets: Vec<(u64, super::Span)>) -> LossSpec {
        let mut last = 0;
        for &(packet, span) in &packets {
            if packet <= last {
                let message = if packet == 0 {
                    "packets are numbered from 1".to_owned()
                } else {
                    format!("packet numbers ascend, but {packet} follows {last}")
                };
                self.report.error("scenario.range", span, message);
                break;
            }
            last = packet;
        }
        if packets.is_empty() {
            LossSpec::None
        } else {
            LossSpec::List(packets.into_iter().map(|(n, _)| n).collect())
        }
    }
}
