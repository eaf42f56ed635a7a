//! All third-party transport stacks, in one registry.

use thalweg::Registry;

/// Returns the schemes of the command with those of all stacks.
pub fn registry_with_stacks() -> Registry {
    let mut registry = Registry::default();
    thalweg_quinn::register(&mut registry);
    thalweg_noq::register(&mut registry);
    #[cfg(feature = "quiche")]
    thalweg_quiche::register(&mut registry);
    thalweg_sctp::register(&mut registry);
    thalweg_smoltcp::register(&mut registry);
    registry
}
