//! The list of disciplines.

/// Hands the list of disciplines to the macro `$hand_to`, which makes of it what it needs: their types here, their
/// descriptions in the catalogue. A line names the file, in both places; the order is that of references.
#[macro_export]
macro_rules! disciplines {
    ($hand_to:ident) => {
        $hand_to! {
            fcfs,
            random_drop,
            fair_queueing,
            sfq,
            drr,
            red,
            codel,
            fq_codel,
            pie,
            dualpi2,
            step,
            policer,
            priority,
        }
    };
}
