//! TCP of this host's kernel, among the schemes of live runs: `kernel:` and a congestion control ("kernel:cubic").

use crate::console_output::Error;
use thalweg_live::scenario_traffic::kernel_controls;

const PREFIX: &str = "kernel:";

/// Returns true if this scheme is the kernel's TCP.
pub fn is_kernel(scheme: &str) -> bool {
    scheme.starts_with(PREFIX)
}

/// Returns the congestion control of the kernel's TCP that this scheme names; `None` for any other scheme.
///
/// # Errors
///
/// This kernel has no such congestion control loaded.
pub fn control_of(scheme: &str) -> Result<Option<&str>, Error> {
    let Some(control) = scheme.strip_prefix(PREFIX) else { return Ok(None) };
    let known = kernel_controls();
    if known.iter().any(|known| known == control) {
        return Ok(Some(control));
    }
    let known: Vec<String> = known.iter().map(|known| format!("`{PREFIX}{known}`")).collect();
    Err(Error::Usage(format!(
        "this kernel has no congestion control `{control}`; it has {}. Others may be modules: `sudo modprobe tcp_{control}`",
        known.join(", ")
    )))
}

/// Rejects the kernel's TCP among schemes to be simulated.
pub fn reject_without_live(schemes: &[String]) -> Result<(), Error> {
    schemes.iter().find(|scheme| is_kernel(scheme)).map_or(Ok(()), |scheme| {
        Err(Error::Usage(format!(
            "`{scheme}` is TCP of this host's kernel, which runs live alone: add --live"
        )))
    })
}
