//! The quotas of senders' folders. To look at a folder takes as long as it has files, and meanwhile nobody else is let in: one that
//! was looked at lately is not looked at again, however often its sender comes.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_net::transfer::Quota;

/// A folder that nobody sends to is looked at again after this time, as its owner may have made room.
const LATELY: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Quotas(HashMap<PathBuf, (Arc<Quota>, Instant)>);

impl Quotas {
    /// The quota of a folder: the one that transfers have, the one that was made lately, or else what `make` gives.
    pub fn of(
        &mut self,
        now: Instant,
        folder: &Path,
        make: impl FnOnce() -> io::Result<Quota>,
    ) -> io::Result<Arc<Quota>> {
        self.0.retain(|_, (quota, made)| {
            Arc::strong_count(quota) > 1 || now.saturating_duration_since(*made) < LATELY
        });
        if let Some((quota, _)) = self.0.get(folder) {
            return Ok(Arc::clone(quota));
        }
        let quota = Arc::new(make()?);
        self.0.insert(folder.to_owned(), (Arc::clone(&quota), now));
        Ok(quota)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_net::transfer::Limits;

    #[test]
    fn a_folder_is_looked_at_once_a_minute_however_often_its_sender_comes() {
        let limits = Limits { bytes: "1 MB".parse().unwrap(), entries: 9 };
        let (mut quotas, begun) = (Quotas::default(), Instant::now());
        let mut looks = 0;
        let mut come = |quotas: &mut Quotas, second| {
            let make = || {
                looks += 1;
                Quota::of(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").as_path(), limits)
            };
            let quota = quotas.of(begun + Duration::from_secs(second), Path::new("to/sender"), make).unwrap();
            (quota, looks)
        };
        for second in 0..60 {
            assert_eq!(come(&mut quotas, second).1, 1);
        }
        // While a transfer goes on, which counts what it adds, all are counted together.
        let (going_on, _) = come(&mut quotas, 60);
        let (another, looks) = come(&mut quotas, 600);
        assert!(Arc::ptr_eq(&going_on, &another) && looks == 2);
        drop((going_on, another));
        assert_eq!(come(&mut quotas, 601).1, 3);
    }
}
