//! The descriptions of queue disciplines, a file for each.

use crate::discipline::DisciplineDescription;

/// Declares the module of each discipline, and lists its description in the order of references.
macro_rules! disciplines {
    ($($file:ident: $NAME:ident;)+) => {
        $(pub mod $file;)+

        /// The disciplines of this project, in the order of references.
        pub const DISCIPLINES: &[&DisciplineDescription] = &[$(&$file::$NAME,)+];
    };
}

disciplines! {
    fcfs: FCFS;
    random_drop: RANDOM_DROP;
    fair_queueing: FAIR_QUEUEING;
    sfq: SFQ;
    drr: DRR;
    red: RED;
    codel: CODEL;
    fq_codel: FQ_CODEL;
    pie: PIE;
    priority: PRIORITY;
}
