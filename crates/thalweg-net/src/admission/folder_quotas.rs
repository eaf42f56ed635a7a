//! Quotas of senders' folders. Measuring a folder takes time in proportion to its files, and meanwhile no other sender
//! is admitted. Therefore a recent measurement is reused, however often its sender reconnects.

use crate::transfer::{Limits, Quota};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lifetime of a measurement of an idle folder; its owner may have freed space since.
const MEASUREMENT_LIFETIME: Duration = Duration::from_secs(60);

/// Quotas of folders, by path.
#[derive(Debug, Default)]
pub struct Quotas(HashMap<PathBuf, (Arc<Quota>, Instant)>);

impl Quotas {
    /// Returns the quota of a folder: the one in use by transfers, a recent one, or else the result of `make`.
    pub fn of(
        &mut self,
        now: Instant,
        folder: &Path,
        make: impl FnOnce() -> io::Result<Quota>,
    ) -> io::Result<Arc<Quota>> {
        self.0.retain(|_, (quota, made)| {
            Arc::strong_count(quota) > 1 || now.saturating_duration_since(*made) < MEASUREMENT_LIFETIME
        });
        if let Some((quota, _)) = self.0.get(folder) {
            return Ok(Arc::clone(quota));
        }
        let quota = Arc::new(make()?);
        self.0.insert(folder.to_owned(), (Arc::clone(&quota), now));
        Ok(quota)
    }
}

/// Quota shared by all senders.
#[derive(Debug)]
pub struct TotalQuota {
    folder: PathBuf,
    quota: Arc<Quota>,
    /// Earliest time of the next measurement.
    next: Instant,
}

/// Inverse of the maximum share of time spent on measuring the shared folder.
const MEASURING_SHARE_INVERSE: u32 = 100;

impl TotalQuota {
    /// Measures this folder.
    pub fn of(now: Instant, folder: &Path, limits: Limits) -> io::Result<Self> {
        let begun = Instant::now();
        let quota = Arc::new(Quota::of(folder, limits)?);
        Ok(Self { folder: folder.to_owned(), quota, next: now + pause_after_measurement(begun.elapsed()) })
    }

    /// Returns the quota, measured again unless that was done recently: the owner may have freed space.
    pub fn quota(&mut self, now: Instant) -> io::Result<Arc<Quota>> {
        if now >= self.next {
            let begun = Instant::now();
            self.quota.count_again(&self.folder)?;
            self.next = now + pause_after_measurement(begun.elapsed());
        }
        Ok(Arc::clone(&self.quota))
    }
}

/// Returns the time until the next measurement after one of this duration.
fn pause_after_measurement(duration: Duration) -> Duration {
    MEASUREMENT_LIFETIME.max(duration.saturating_mul(MEASURING_SHARE_INVERSE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_folder::TestFolder;

    #[test]
    fn a_folder_is_measured_at_most_once_a_minute() {
        let limits = Limits { bytes: "1 MB".parse().unwrap(), entries: 9 };
        let (mut quotas, begun) = (Quotas::default(), Instant::now());
        let mut measurements = 0;
        let mut quota_at = |quotas: &mut Quotas, second| {
            let make = || {
                measurements += 1;
                Quota::of(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").as_path(), limits)
            };
            let quota = quotas.of(begun + Duration::from_secs(second), Path::new("to/sender"), make).unwrap();
            (quota, measurements)
        };
        for second in 0..60 {
            assert_eq!(quota_at(&mut quotas, second).1, 1);
        }
        // While a transfer holds the quota and counts its additions, the same quota is returned.
        let (going_on, _) = quota_at(&mut quotas, 60);
        let (another, measurements) = quota_at(&mut quotas, 600);
        assert!(Arc::ptr_eq(&going_on, &another) && measurements == 2);
        drop((going_on, another));
        assert_eq!(quota_at(&mut quotas, 601).1, 3);
    }

    #[test]
    fn the_total_is_measured_again_while_a_server_runs() {
        let folder = TestFolder::new("total");
        std::fs::write(folder.join("file"), [0; 700]).unwrap();
        let limits = Limits { bytes: "1 kB".parse().unwrap(), entries: u64::MAX };
        let begun = Instant::now();
        let mut total = TotalQuota::of(begun, &folder, limits).unwrap();
        // Some sender is always active.
        let held = total.quota(begun).unwrap();
        std::fs::remove_file(folder.join("file")).unwrap();
        let mut used = |second| total.quota(begun + Duration::from_secs(second)).unwrap().used().get();
        assert_eq!([used(1), used(59)], [700, 700]);
        // A slow measurement may have postponed the next one.
        assert_eq!(used(3600), 0);
        assert_eq!(held.used().get(), 0);
        std::fs::remove_dir(&folder).unwrap();
        assert!(total.quota(begun + Duration::from_secs(9000)).is_err());
        assert_eq!(pause_after_measurement(Duration::from_millis(1)), MEASUREMENT_LIFETIME);
        assert_eq!(pause_after_measurement(Duration::from_secs(6)), Duration::from_secs(600));
    }
}
