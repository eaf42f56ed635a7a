//! The descriptions of queue disciplines, a file for each.

use crate::discipline::DisciplineDescription;

mod weights;

/// Declares the module of each discipline, and lists its description in the order of references.
macro_rules! declare {
    ($($file:ident,)+) => {
        $(pub mod $file;)+

        /// The disciplines of this project, in the order of references.
        pub const DISCIPLINES: &[&DisciplineDescription] = &[$(&$file::DISCIPLINE,)+];
    };
}
thalweg_queue::disciplines!(declare);
