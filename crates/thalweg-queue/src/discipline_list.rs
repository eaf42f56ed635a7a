//! The list of queue disciplines, from which macros generate types and selection.

/// Passes the list of disciplines to the macro `$hand_to`, which generates code from it: the types here, and the
/// descriptions in the catalogue. A line names the file, in both places; references follow its order.
#[macro_export]
macro_rules! disciplines {
    ($hand_to:ident) => {
        $hand_to! {
            fcfs,
            random_drop,
            fair_queueing,
            sfq,
            drr,
            virtual_clock,
            hrr,
            red,
            codel,
            fq_codel,
            cake,
            pie,
            dualpi2,
            step_marking,
            token_bucket_policer,
            strict_priority,
        }
    };
}
