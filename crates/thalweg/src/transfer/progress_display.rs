//! Progress display of a transfer on a terminal, and Ctrl-C.

use super::prometheus_metrics::CountedTransfer;
use super::transfer_summary::average_rate;
use crate::console_output::{Console, one_line};
use crate::performance_advice_text;
use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::tcgetwinsize;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thalweg_net::admission::TRANSFER_ENDED_CODE;
use thalweg_net::flow::Scheme;
use thalweg_net::live::{Clock, ClosedPortDetector, Connection};
use thalweg_net::performance_advice::Advisor;
use thalweg_net::session::SessionStats;
use thalweg_net::transfer::{Pace, Progress, Total};
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Bytes, Rate};
use thalweg_report::output::{self, format_count};

/// Update interval of the progress bar.
const UPDATE_INTERVAL: Duration = Duration::from_millis(200);
/// Number of intervals over which the displayed rate is averaged.
const RATE_INTERVALS: usize = 15;

/// Default terminal width, in columns.
const COLUMNS: u16 = 80;

/// Monitors a transfer: shows its progress, and closes its connection on Ctrl-C.
pub struct Meter {
    has_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The handles through which a transfer is monitored.
pub struct MeterInputs {
    /// The progress of the transfer.
    pub progress: Arc<Progress>,
    /// Connection of the transfer.
    pub connection: Connection,
    /// The transfer's entry in the metrics, if enabled.
    pub metrics_entry: Option<CountedTransfer>,
    /// Pacing state, if this endpoint sends files.
    pub pace: Option<Pace>,
    /// Advisor that observes the path, and the scheme, if this endpoint sends files.
    pub advisor: Option<(Arc<Mutex<Advisor>>, Scheme)>,
    /// Set when the user requests a stop.
    pub stop: Arc<AtomicBool>,
    /// Set when the peer has ended, if this endpoint sends files; a receiver waits for its sender.
    pub has_peer_ended: Option<Arc<AtomicBool>>,
}

/// Number of updates between two evaluations of faster settings.
const UPDATES_PER_ADVICE: u32 = 25;

impl Meter {
    /// Monitors in a thread of its own; shows nothing if `console` is quiet or `is_shown` is false.
    pub fn begin(watched: MeterInputs, console: &Console, is_shown: bool) -> Self {
        let is_drawn = is_shown && !console.is_quiet();
        let target = if is_drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let has_ended = Arc::new(AtomicBool::new(false));
        let watched_end = Arc::clone(&has_ended);
        let watch = move || watched.watch(&bar, &watched_end);
        // Without the thread the transfer runs without a display.
        let thread = std::thread::Builder::new().name("transfer-meter".to_owned()).spawn(watch).ok();
        Self { has_ended, thread }
    }
}

impl Drop for Meter {
    /// Removes the progress bar.
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl MeterInputs {
    fn watch(&self, bar: &ProgressBar, over: &AtomicBool) {
        let begun = Instant::now();
        let clock = Clock::new();
        let mut closed_port = ClosedPortDetector::new(self.connection.remote());
        let (mut updates, mut is_advised) = (0, false);
        // Bytes already at the receiver must not count in the rate.
        let mut recent = VecDeque::from([(begun, self.progress.fresh().get())]);
        while !over.load(Ordering::Relaxed) {
            if self.stop.load(Ordering::Relaxed) {
                self.connection.close(TRANSFER_ENDED_CODE, "interrupted by its user");
                break;
            }
            let (now, bytes) = (Instant::now(), self.progress.fresh());
            if let Some(has_peer_ended) = &self.has_peer_ended
                && closed_port.has_ended(now, &self.connection.stats())
            {
                has_peer_ended.store(true, Ordering::Relaxed);
                self.connection.close(TRANSFER_ENDED_CODE, "nothing listens at the peer's port");
                break;
            }
            recent.push_back((now, bytes.get()));
            if recent.len() > RATE_INTERVALS {
                recent.pop_front();
            }
            let rate = recent.front().map_or(Rate::ZERO, |(then, before)| {
                average_rate(bytes.get() - before.min(&bytes.get()), now - *then)
            });
            self.draw(bar, rate);
            if let Some((advisor, scheme)) = &self.advisor {
                let mut advisor = advisor.lock().unwrap_or_else(PoisonError::into_inner);
                advisor.observe(clock.now(), &self.connection.stats());
                updates += 1;
                if !is_advised
                    && updates % UPDATES_PER_ADVICE == 0
                    && let Some(words) = performance_advice_text::advice_text(&advisor, scheme)
                {
                    is_advised = true;
                    bar.println(one_line(&format!("note: {words}")));
                }
            }
            self.count();
            std::thread::park_timeout(UPDATE_INTERVAL);
        }
        self.count();
        bar.finish_and_clear();
    }

    fn count(&self) {
        if let Some(counted) = &self.metrics_entry {
            counted.update(self.connection.stats(), &self.progress);
        }
    }

    fn draw(&self, bar: &ProgressBar, rate: Rate) {
        let size = tcgetwinsize(std::io::stderr()).ok().map(|size| size.ws_col);
        let columns = size.filter(|columns| *columns > 0).unwrap_or(COLUMNS);
        let stats = self.connection.stats();
        let sender = &stats.sending.sender;
        let line = Line {
            current: one_line(&self.progress.current()),
            files: self.progress.files(),
            bytes: self.progress.bytes(),
            total: self.progress.total(),
            rate: (!self.progress.is_awaiting_approval()).then_some(rate),
            state: limiting_factor(&self.progress, &stats, self.pace.as_ref()),
            rtt: stats.rtt(),
            retransmitted_share: (self.pace.is_some() && sender.sent > 0)
                .then(|| sender.retransmissions as f64 / sender.sent as f64),
        };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        bar.tick();
        bar.set_message(line.fit(usize::from(columns).saturating_sub(3)));
    }
}

/// Returns the remaining time as text; `None` at a rate of zero.
fn remaining_time(bytes: Bytes, rate: Rate) -> Option<String> {
    if rate.is_zero() {
        return None;
    }
    let seconds = bytes.as_bits_f64() / rate.as_f64();
    Some(match seconds as u64 {
        0 => "<1 s".to_owned(),
        1..=99 => format!("{seconds:.0} s"),
        100..=5999 => format!("{:.0} min", seconds / 60.0),
        6000..=359_999 => format!("{:.1} h", seconds / 3600.0),
        _ => "days".to_owned(),
    })
}

/// Returns the limiting factor of a transfer, as a long and a short text.
fn limiting_factor(progress: &Progress, stats: &SessionStats, pace: Option<&Pace>) -> Option<[String; 2]> {
    let both = |text: &str| Some([text.to_owned(), text.to_owned()]);
    if progress.is_awaiting_approval() {
        return both("waiting for approval");
    }
    if progress.is_held() {
        return Some(["paused for more urgent transfers".to_owned(), "paused".to_owned()]);
    }
    let (limit, pace) = stats.limit.zip(pace)?;
    // The engine only sees that nothing is written.
    let is_paced = limit == Limit::Application && pace.holds();
    let name = if is_paced { "--rate" } else { limit.name() };
    Some([format!("limited by {name}"), name.to_owned()])
}

/// State of a running transfer, for display.
struct Line {
    current: String,
    files: u64,
    bytes: Bytes,
    total: Option<Total>,
    /// `None` while nothing can be sent; the reason takes its place.
    rate: Option<Rate>,
    state: Option<[String; 2]>,
    rtt: Option<thalweg_proto::units::Duration>,
    /// Share of retransmitted packets, at a sender.
    retransmitted_share: Option<f64>,
}

/// Parts that are omitted one after the other if the terminal is too narrow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Omission {
    All,
    NoName,
    NoBar,
    NoFiles,
    ShortState,
    NoRtt,
    ShortBytes,
    ShortAgain,
    NoLeft,
    NoAgain,
    NoPercent,
    NoState,
}

impl Omission {
    const ORDER: [Self; 12] = [
        Self::All,
        Self::NoName,
        Self::NoBar,
        Self::NoFiles,
        Self::ShortState,
        Self::NoRtt,
        Self::ShortBytes,
        Self::ShortAgain,
        Self::NoLeft,
        Self::NoAgain,
        Self::NoPercent,
        Self::NoState,
    ];
}

impl Line {
    /// Renders as much as fits into `columns`.
    fn fit(&self, columns: usize) -> String {
        let fits = |text: &String| text.chars().count() <= columns;
        let text = Omission::ORDER.into_iter().map(|omission| self.text(omission)).find(fits);
        text.unwrap_or_else(|| self.text(Omission::NoState).chars().take(columns).collect())
    }

    fn text(&self, omission: Omission) -> String {
        let mut parts = Vec::new();
        if omission < Omission::NoName && !self.current.is_empty() {
            parts.push(shorten_path(&self.current));
        }
        if omission < Omission::NoFiles {
            parts.push(match self.total {
                Some(total) => format!("{} of {}", self.files, format_count(total.files, "file")),
                None => format_count(self.files, "file"),
            });
        }
        parts.push(self.amount(omission >= Omission::ShortBytes));
        let share = self.total.map(|total| match total.bytes.get() {
            0 => 1.0,
            all => (self.bytes.get() as f64 / all as f64).min(1.0),
        });
        if let Some(share) = share.filter(|_| omission < Omission::NoPercent) {
            let percent = format!("{:.0}%", (share * 100.0).floor());
            let bar = if omission < Omission::NoBar {
                format!("{} {percent}", progress_bar(share))
            } else {
                percent
            };
            parts.push(bar);
        }
        parts.extend(self.rate.map(|rate| output::format_rate(rate.as_f64())));
        let going = self.total.zip(self.rate);
        let left =
            going.and_then(|(total, rate)| remaining_time(total.bytes - self.bytes.min(total.bytes), rate));
        parts.extend(left.filter(|_| omission < Omission::NoLeft).map(|left| format!("{left} left")));
        if let Some([long, short]) =
            self.state.as_ref().filter(|_| omission < Omission::NoState || self.rate.is_none())
        {
            parts.push(if omission < Omission::ShortState { long.clone() } else { short.clone() });
        }
        let rtt = self.rtt.filter(|_| omission < Omission::NoRtt);
        parts.extend(rtt.map(|rtt| format!("RTT {:.1} ms", rtt.as_millis_f64())));
        if let Some(again) = self.retransmitted_share.filter(|_| omission < Omission::NoAgain) {
            let word = if omission < Omission::ShortAgain { "sent again" } else { "again" };
            parts.push(format!("{:.1} % {word}", 100.0 * again));
        }
        parts.join(", ")
    }

    /// Returns the bytes at the receiver, and the total.
    fn amount(&self, is_short: bool) -> String {
        let have = DecimalBytes(self.bytes.get()).to_string();
        let Some(total) = self.total else { return have };
        let all = DecimalBytes(total.bytes.get()).to_string();
        let units = (have.split_once(' '), all.split_once(' '));
        match units {
            (Some((have, unit)), Some((_, same))) if is_short && unit == same => format!("{have}/{all}"),
            _ if is_short => format!("{have}/{all}"),
            _ => format!("{have} of {all}"),
        }
    }
}

/// Width of the bar, in columns.
const BAR_COLUMNS: usize = 20;

fn progress_bar(share: f64) -> String {
    let full = (share * BAR_COLUMNS as f64) as usize;
    format!("{}{}", "=".repeat(full.min(BAR_COLUMNS)), "-".repeat(BAR_COLUMNS - full.min(BAR_COLUMNS)))
}

/// Returns the end of a path, its most specific part.
fn shorten_path(path: &str) -> String {
    const MAX_NAME: usize = 24;
    let name = path.rsplit('/').next().unwrap_or(path);
    let count = name.chars().count();
    if count <= MAX_NAME {
        name.to_owned()
    } else {
        format!("..{}", name.chars().skip(count - MAX_NAME + 2).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line {
            current: "photos/a-very-long-name-of-a-picture.jpeg".to_owned(),
            files: 12,
            bytes: Bytes::new(41_200_000),
            total: Some(Total { files: 300, bytes: Bytes::new(50_000_000) }),
            rate: Some("41.06 Mbit/s".parse().unwrap()),
            state: Some(["limited by congestion-window".to_owned(), "congestion-window".to_owned()]),
            rtt: Some(thalweg_proto::units::Duration::from_millis(100)),
            retransmitted_share: Some(0.012),
        }
    }

    #[test]
    fn progress_fits_eighty_columns() {
        for columns in [20, 40, 60, 77, 97, 120, 200] {
            assert!(line().fit(columns).chars().count() <= columns, "{columns}");
        }
        let narrow_line = line().fit(77);
        for part in ["41.20/50.00 MB", "82%", "41.06 Mbit/s", "congestion-window", "1.2 %"] {
            assert!(narrow_line.contains(part), "{part} in {narrow_line}");
        }
        let full_line = line().fit(97);
        assert!(full_line.contains("1.2 % sent again") && full_line.contains("2 s left"), "{full_line}");
        let wide = line().fit(200);
        assert!(
            wide.contains("picture.jpeg") && wide.contains("limited by") && wide.contains("==-"),
            "{wide}"
        );
        assert!(line().fit(40).contains("41.06 Mbit/s"));
    }

    #[test]
    fn approval_waits_are_shown_on_narrow_terminals() {
        let wait = "waiting for approval".to_owned();
        let line = Line { bytes: Bytes::ZERO, rate: None, state: Some([wait.clone(), wait]), ..line() };
        for columns in [37, 77, 200] {
            let text = line.fit(columns);
            assert!(text.contains("waiting for approval") && !text.contains("bit/s"), "{columns}: {text}");
        }
    }

    #[test]
    fn unknown_values_are_not_shown() {
        let line = Line { total: None, state: None, rtt: None, retransmitted_share: None, ..line() };
        assert!(line.fit(77).ends_with("12 files, 41.20 MB, 41.06 Mbit/s"), "{}", line.fit(77));
        let empty = Line { total: Some(Total { files: 1, bytes: Bytes::ZERO }), bytes: Bytes::ZERO, ..line };
        assert!(empty.fit(77).contains("100%"));
    }

    #[test]
    fn the_time_left_is_in_words() {
        let left = |bytes: u64, rate: u64| remaining_time(Bytes::new(bytes), Rate::from_bits_per_sec(rate));
        assert_eq!(left(1000, 0), None);
        assert_eq!(left(1000, 80_000).as_deref(), Some("<1 s"));
        assert_eq!(left(1000, 800).as_deref(), Some("10 s"));
        assert_eq!(left(1000, 8).as_deref(), Some("17 min"));
        assert_eq!(left(7200, 8).as_deref(), Some("2.0 h"));
        assert_eq!(left(u64::MAX, 1).as_deref(), Some("days"));
    }
}
