//! Levels of detail: rows of a long list in tiles, and the same with neighbours merged.

use super::super::downsampling::downsample;
use super::super::number_encoding::Numbers;
use serde::Serialize;
use serde_json::{Value, json};

/// List at several levels of detail, the finest first.
pub(super) struct Levels(Vec<Level>);

/// Level: tiles in the order of time.
type Level = Vec<Tile>;

/// Consecutive rows.
#[derive(Serialize)]
pub(super) struct Tile {
    /// Times of the first and the last row, in seconds.
    from: f64,
    to: f64,
    /// Times in picoseconds.
    times: Numbers,
    /// Values, or beginnings of bars.
    low: Numbers,
    /// Lengths of bars.
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<Numbers>,
}

impl Tile {
    fn size(&self) -> usize {
        self.times.size() + self.low.size() + self.high.as_ref().map_or(0, Numbers::size) + 120
    }
}

/// Bar: time in seconds, beginning, and end.
pub(super) type Bar = (f64, f64, f64);

impl Levels {
    /// Returns the levels of bars; each further level merges up to sixteen neighbours.
    pub(super) fn from_bars(bars: impl Iterator<Item = Bar>) -> Self {
        let mut bars = collect_rows(bars, |group, to| to.push(merge_bars(group)));
        let mut levels = Vec::new();
        loop {
            if bars.len() <= MAX_ROWS {
                levels.push(bars.chunks(TILE_ROWS).map(bar_tile).collect());
            }
            if bars.len() <= TILE_ROWS {
                return Self(levels);
            }
            bars = bars.chunks(ROWS_PER_MERGED_ROW).map(merge_bars).collect();
        }
    }

    /// Returns the levels of a series; each further level has the smallest and largest of sixteen neighbours.
    pub(super) fn from_points(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let points = collect_rows(points, |group, to| to.extend(extreme_points(group)));
        let (mut times, mut values): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        let mut levels = Vec::new();
        loop {
            if times.len() <= MAX_ROWS {
                let pairs = times.chunks(TILE_ROWS).zip(values.chunks(TILE_ROWS));
                levels.push(pairs.map(|(times, values)| point_tile(times, values)).collect());
            }
            if times.len() <= TILE_ROWS {
                return Self(levels);
            }
            (times, values) =
                downsample(&times, &values, (times.len() / (ROWS_PER_MERGED_ROW / 2)).max(TILE_ROWS));
        }
    }

    /// Returns true if there are no rows.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// Returns the approximate size within a page, in bytes.
    pub(super) fn size(&self) -> usize {
        self.0.iter().flatten().map(Tile::size).sum()
    }

    /// Returns true if there is more than one level.
    pub(super) fn can_shrink(&self) -> bool {
        self.0.len() > 1
    }

    /// Removes the finest level.
    pub(super) fn shrink(&mut self) {
        self.0.remove(0);
    }

    /// Returns all levels for the page.
    pub(super) fn value(&self) -> Value {
        json!(self.0)
    }

    /// Returns the coarsest level as one tile, and the finer ones.
    pub(super) fn split(&self) -> Option<(&Tile, &[Level])> {
        let (last, finer) = self.0.split_last()?;
        Some((last.first()?, finer))
    }
}

impl Tile {
    /// Returns the times and the values.
    pub(super) fn columns(&self) -> (&Numbers, &Numbers) {
        (&self.times, &self.low)
    }
}

fn to_picos(times: impl Iterator<Item = f64>) -> Numbers {
    Numbers::integers(&times.map(|time| (time * 1e12).round()).collect::<Vec<_>>())
}

fn bar_tile(bars: &[Bar]) -> Tile {
    let column = |of: fn(&Bar) -> f64| Numbers::integers(&bars.iter().map(of).collect::<Vec<_>>());
    Tile {
        from: bars.first().map_or(0.0, |bar| bar.0),
        to: bars.last().map_or(0.0, |bar| bar.0),
        times: to_picos(bars.iter().map(|bar| bar.0)),
        low: column(|bar| bar.1),
        high: Some(column(|bar| bar.2 - bar.1)),
    }
}

fn point_tile(times: &[f64], values: &[f64]) -> Tile {
    Tile {
        from: times.first().copied().unwrap_or(0.0),
        to: times.last().copied().unwrap_or(0.0),
        times: to_picos(times.iter().copied()),
        low: Numbers::from_values(values),
        high: None,
    }
}

fn merge_bars(bars: &[Bar]) -> Bar {
    let low = bars.iter().map(|bar| bar.1).fold(f64::INFINITY, f64::min);
    let high = bars.iter().map(|bar| bar.2).fold(f64::NEG_INFINITY, f64::max);
    (bars.first().map_or(0.0, |bar| bar.0), low, high)
}

/// Returns the smallest and the largest of some points, in their order.
fn extreme_points(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> + '_ {
    let at = |is_less: fn(f64, f64) -> bool| {
        let found = (1..points.len())
            .fold(0, |best, index| if is_less(points[index].1, points[best].1) { index } else { best });
        found.min(points.len())
    };
    let (low, high) = (at(|a, b| a < b), at(|a, b| a > b));
    let second = (low != high).then_some(low.max(high));
    [Some(low.min(high)), second].into_iter().flatten().filter_map(|index| points.get(index).copied())
}

/// Collects rows. Of more than [`MAX_ROWS`], which no level shows singly, groups are joined as they come: the memory is that of the
/// joined rows.
fn collect_rows<T: Copy>(rows: impl Iterator<Item = T>, join: impl Fn(&[T], &mut Vec<T>)) -> Vec<T> {
    let (mut all, mut group) = (Vec::new(), Vec::with_capacity(ROWS_PER_MERGED_ROW));
    let mut is_joined = false;
    for row in rows {
        if is_joined {
            group.push(row);
            if group.len() == ROWS_PER_MERGED_ROW {
                join(&group, &mut all);
                group.clear();
            }
            continue;
        }
        all.push(row);
        if all.len() > MAX_ROWS {
            let mut joined = Vec::with_capacity(all.len() / ROWS_PER_MERGED_ROW * 2);
            let groups = all.chunks_exact(ROWS_PER_MERGED_ROW);
            group.extend_from_slice(groups.remainder());
            groups.for_each(|group| join(group, &mut joined));
            all = joined;
            is_joined = true;
        }
    }
    if !group.is_empty() {
        join(&group, &mut all);
    }
    all
}

/// Rows of a tile: those that a screen shows, twice.
const TILE_ROWS: usize = 4096;
/// Rows that one of the next level stands for.
const ROWS_PER_MERGED_ROW: usize = 16;
/// Maximum number of rows of a level; longer ones are only merged.
const MAX_ROWS: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_keeps_the_extremes() {
        let bars = (0..100_000).map(|row| (f64::from(row), f64::from(row * 10), f64::from(row * 10 + 10)));
        let levels = Levels::from_bars(bars);
        let rows = |level: &Level| level.iter().map(|tile| tile.times.values().len()).sum::<usize>();
        assert_eq!(levels.0.iter().map(rows).collect::<Vec<_>>(), [100_000, 6250, 391]);
        let last = levels.0[2].last().unwrap();
        let (low, high) = (last.low.values(), last.high.as_ref().unwrap().values());
        assert_eq!((low[0], low.last().unwrap() + high.last().unwrap()), (0.0, 1_000_000.0));
        let points = (0..50_000).map(|row| (f64::from(row), if row == 33_333 { 9.0 } else { 1.0 }));
        let levels = Levels::from_points(points);
        let (tile, finer) = levels.split().unwrap();
        // Of equal neighbours one stays: all fit in one tile.
        assert_eq!(finer.len(), 1);
        assert!(tile.low.values().contains(&9.0));
        assert!(Levels::from_points(core::iter::empty()).is_empty());
    }

    #[test]
    fn rows_beyond_the_maximum_are_joined_as_they_come() {
        let count = MAX_ROWS + 3 * ROWS_PER_MERGED_ROW + 5;
        let values = |row: usize| if row == count - 2 || row == 77 { -5.0 } else { (row % 2) as f64 };
        let points = || (0..count).map(|row| (row as f64, values(row)));
        let joined = collect_rows(points(), |group, to| to.extend(extreme_points(group)));
        assert_eq!(joined.len(), 2 * (count / ROWS_PER_MERGED_ROW + 1));
        assert!(joined.is_sorted_by_key(|point| point.0) && joined.contains(&(77.0, -5.0)));
        assert!(joined.contains(&((count - 2) as f64, -5.0)));
        let bars = (0..count).map(|row| (row as f64, row as f64, (row + 1) as f64));
        let joined = collect_rows(bars, |group, to| to.push(merge_bars(group)));
        assert_eq!((joined.len(), joined.last().unwrap().2), (count / ROWS_PER_MERGED_ROW + 1, count as f64));
        assert_eq!(collect_rows(points().take(MAX_ROWS), |_, _| ()).len(), MAX_ROWS);
    }
}
