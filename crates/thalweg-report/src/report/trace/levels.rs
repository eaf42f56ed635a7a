//! Levels of detail: rows of a long list in tiles, and the same with neighbours merged.

use super::super::encode::Numbers;
use super::super::thin::thin;
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
    pub(super) fn of_bars(mut bars: Vec<Bar>) -> Self {
        let mut levels = Vec::new();
        loop {
            if bars.len() <= MAX_ROWS {
                levels.push(bars.chunks(TILE).map(bar_tile).collect());
            }
            if bars.len() <= TILE {
                return Self(levels);
            }
            bars = bars.chunks(MERGED).map(merged).collect();
        }
    }

    /// Returns the levels of a series; each further level has the smallest and largest of sixteen neighbours.
    pub(super) fn of_points(mut times: Vec<f64>, mut values: Vec<f64>) -> Self {
        let mut levels = Vec::new();
        loop {
            if times.len() <= MAX_ROWS {
                let pairs = times.chunks(TILE).zip(values.chunks(TILE));
                levels.push(pairs.map(|(times, values)| point_tile(times, values)).collect());
            }
            if times.len() <= TILE {
                return Self(levels);
            }
            (times, values) = thin(&times, &values, (times.len() / (MERGED / 2)).max(TILE));
        }
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

fn picos(times: impl Iterator<Item = f64>) -> Numbers {
    Numbers::integers(&times.map(|time| (time * 1e12).round()).collect::<Vec<_>>())
}

fn bar_tile(bars: &[Bar]) -> Tile {
    let column = |of: fn(&Bar) -> f64| Numbers::integers(&bars.iter().map(of).collect::<Vec<_>>());
    Tile {
        from: bars.first().map_or(0.0, |bar| bar.0),
        to: bars.last().map_or(0.0, |bar| bar.0),
        times: picos(bars.iter().map(|bar| bar.0)),
        low: column(|bar| bar.1),
        high: Some(column(|bar| bar.2 - bar.1)),
    }
}

fn point_tile(times: &[f64], values: &[f64]) -> Tile {
    Tile {
        from: times.first().copied().unwrap_or(0.0),
        to: times.last().copied().unwrap_or(0.0),
        times: picos(times.iter().copied()),
        low: Numbers::of(values),
        high: None,
    }
}

fn merged(bars: &[Bar]) -> Bar {
    let low = bars.iter().map(|bar| bar.1).fold(f64::INFINITY, f64::min);
    let high = bars.iter().map(|bar| bar.2).fold(f64::NEG_INFINITY, f64::max);
    (bars.first().map_or(0.0, |bar| bar.0), low, high)
}

/// Rows of a tile: those that a screen shows, twice.
const TILE: usize = 4096;
/// Rows that one of the next level stands for.
const MERGED: usize = 16;
/// Maximum number of rows of a level; longer ones are only merged.
const MAX_ROWS: usize = 4 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_level_keeps_the_extremes() {
        let bars: Vec<Bar> =
            (0..100_000).map(|row| (f64::from(row), f64::from(row * 10), f64::from(row * 10 + 10))).collect();
        let levels = Levels::of_bars(bars);
        let rows = |level: &Level| level.iter().map(|tile| tile.times.values().len()).sum::<usize>();
        assert_eq!(levels.0.iter().map(rows).collect::<Vec<_>>(), [100_000, 6250, 391]);
        let last = levels.0[2].last().unwrap();
        let (low, high) = (last.low.values(), last.high.as_ref().unwrap().values());
        assert_eq!((low[0], low.last().unwrap() + high.last().unwrap()), (0.0, 1_000_000.0));
        let times: Vec<f64> = (0..50_000).map(f64::from).collect();
        let mut values = vec![1.0; 50_000];
        values[33_333] = 9.0;
        let levels = Levels::of_points(times, values);
        let (tile, finer) = levels.split().unwrap();
        // Of equal neighbours one stays: all fit in one tile.
        assert_eq!(finer.len(), 1);
        assert!(tile.low.values().contains(&9.0));
    }
}
