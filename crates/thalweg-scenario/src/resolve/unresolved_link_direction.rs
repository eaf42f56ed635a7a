//! Identifies a link direction by its table while its specification is still being resolved.

use thalweg_sim::simulation_spec::{DirectionSpec, Spec};

/// The link direction that a queue belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum LinkLocation {
    /// A direction of a link: its number, and 0 for forward, 1 for backward.
    Link(usize, usize),
    /// A direction of a group's access links: the group's number, and the index among its four directions.
    Access(usize, usize),
}

impl LinkLocation {
    /// Returns the table with the defaults of such link directions.
    pub const fn defaults(self) -> &'static str {
        match self {
            Self::Link(..) => "[defaults.link]",
            Self::Access(..) => "[defaults.flow.access]",
        }
    }

    pub fn direction(self, spec: &mut Spec) -> Option<&mut DirectionSpec> {
        match self {
            Self::Link(link, 0) => spec.links.get_mut(link).map(|link| &mut link.forward),
            Self::Link(link, _) => spec.links.get_mut(link).map(|link| &mut link.backward),
            Self::Access(group, line) => {
                let access = spec.groups.get_mut(group)?.access.as_mut()?;
                Some(match line {
                    0 => &mut access.source_forward,
                    1 => &mut access.source_backward,
                    2 => &mut access.sink_forward,
                    _ => &mut access.sink_backward,
                })
            }
        }
    }
}
