//! The progress of a transfer, on a terminal, and Ctrl-C.

use super::ENDED;
use super::metrics::Counted;
use super::throttle::Pace;
use crate::console::Console;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::tcgetwinsize;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thalweg_net::live::Connection;
use thalweg_net::session::SessionStats;
use thalweg_net::transfer::Progress;
use thalweg_proto::transport::Limit;
use thalweg_proto::units::{Bytes, Rate};
use thalweg_report::output::{self, counted};

/// The interval at which the bar changes.
const INTERVAL: Duration = Duration::from_millis(200);
/// The rate that is shown is that of so many intervals.
const RECENT: usize = 15;

/// A terminal of so many columns has room for a bar beside the words.
const WIDE: u16 = 110;
const WITH_BAR: &str = "{prefix}, {decimal_bytes} of {decimal_total_bytes} {bar:20} {percent}%  {wide_msg}";
const WITHOUT_BAR: &str = "{prefix}, {decimal_bytes} of {decimal_total_bytes}, {percent}%  {wide_msg}";

/// Watches a transfer: shows how far it is, and closes its connection when somebody presses Ctrl-C.
pub struct Meter {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The handles through which a transfer is watched.
pub struct Watched {
    /// The progress of the transfer.
    pub progress: Arc<Progress>,
    /// The connection that it goes over.
    pub connection: Connection,
    /// Its place in the metrics, if it is counted at all.
    pub counted: Option<Counted>,
    /// The pace that the sender is held to, if this end sends files.
    pub pace: Option<Pace>,
    /// Set when the user wants to stop.
    pub stop: Arc<AtomicBool>,
}

impl Meter {
    /// Watches in a thread of its own; shows nothing if `console` is quiet or `is_shown` is false.
    pub fn begin(watched: Watched, console: &Console, is_shown: bool) -> Self {
        let is_drawn = is_shown && !console.is_quiet();
        let target = if is_drawn { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let is_wide = tcgetwinsize(std::io::stderr()).is_ok_and(|size| size.ws_col >= WIDE);
        let bar = ProgressBar::with_draw_target(None, target);
        let over = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&over);
        let watch = move || watched.watch(&bar, is_wide, &ended);
        // Without a thread there is nothing to see, but the transfer goes on.
        let thread = std::thread::Builder::new().name("transfer-meter".to_owned()).spawn(watch).ok();
        Self { over, thread }
    }
}

impl Drop for Meter {
    /// Takes the bar away.
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Watched {
    fn watch(&self, bar: &ProgressBar, is_wide: bool, over: &AtomicBool) {
        let begun = Instant::now();
        let mut recent = VecDeque::from([(begun, self.progress.bytes().get())]);
        while !over.load(Ordering::Relaxed) {
            if self.stop.load(Ordering::Relaxed) {
                self.connection.close(ENDED, "interrupted by its user");
                break;
            }
            let (now, bytes) = (Instant::now(), self.progress.bytes());
            recent.push_back((now, bytes.get()));
            if recent.len() > RECENT {
                recent.pop_front();
            }
            let rate = recent.front().map_or(Rate::ZERO, |(then, before)| {
                rate(bytes.get() - before.min(&bytes.get()), now - *then)
            });
            self.draw(bar, is_wide, rate);
            self.count();
            std::thread::park_timeout(INTERVAL);
        }
        self.count();
        bar.finish_and_clear();
    }

    fn count(&self) {
        if let Some(counted) = &self.counted {
            counted.update(self.connection.stats(), &self.progress);
        }
    }

    fn draw(&self, bar: &ProgressBar, is_wide: bool, rate: Rate) {
        let (bytes, files) = (self.progress.bytes(), self.progress.files());
        let path = path(&self.connection.stats(), self.pace.as_ref());
        // What does not fit the line is cut off at its end, where the least is lost.
        let (template, prefix) = match self.progress.total() {
            Some(total) => {
                let prefix = format!("{files} of {}", counted(total.files, "file"));
                (if is_wide { WITH_BAR } else { WITHOUT_BAR }, prefix)
            }
            None => ("{spinner} {prefix}, {decimal_bytes}  {wide_msg}", counted(files, "file")),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(prefix);
        if let Some(total) = self.progress.total() {
            bar.set_length(total.bytes.get());
        }
        bar.set_position(bytes.get());
        let left = self.progress.total().and_then(|total| left(total.bytes - bytes, rate));
        let left = left.map_or_else(String::new, |left| format!(", {left} left"));
        let held = if self.progress.is_held() { ", held back for more urgent ones" } else { "" };
        bar.set_message(format!("{}{left}{held}{path}", output::rate(rate.as_f64())));
    }
}

/// Bytes in a span of time.
pub fn rate(bytes: u64, span: Duration) -> Rate {
    let span = thalweg_proto::units::Duration::from_secs_f64(span.as_secs_f64().max(1e-9));
    Rate::from_transfer(Bytes::new(bytes), span)
}

/// The time that it takes to move so many bytes, in words; `None` at a rate of zero.
fn left(bytes: Bytes, rate: Rate) -> Option<String> {
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

/// The state of the path, and the limit that holds the sender back, in words.
fn path(stats: &SessionStats, pace: Option<&Pace>) -> String {
    let mut words = String::new();
    if let Some((limit, pace)) = stats.limit.zip(pace) {
        // The engine knows only that nothing is written.
        let is_paced = limit == Limit::Application && pace.holds();
        words.push_str(&format!(", limited by {}", if is_paced { "--rate" } else { limit.name() }));
    }
    if let Some(rtt) = stats.rtt() {
        words.push_str(&format!(", RTT {:.1} ms", rtt.as_millis_f64()));
    }
    if pace.is_some() && stats.sending.sender.sent > 0 {
        let loss = stats.sending.sender.retransmissions as f64 / stats.sending.sender.sent as f64;
        words.push_str(&format!(", {:.1} % sent again", 100.0 * loss));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_in_words() {
        let left = |bytes: u64, rate: u64| left(Bytes::new(bytes), Rate::from_bits_per_sec(rate));
        assert_eq!(left(1000, 0), None);
        assert_eq!(left(1000, 80_000).as_deref(), Some("<1 s"));
        assert_eq!(left(1000, 800).as_deref(), Some("10 s"));
        assert_eq!(left(1000, 8).as_deref(), Some("17 min"));
        assert_eq!(left(7200, 8).as_deref(), Some("2.0 h"));
        assert_eq!(left(u64::MAX, 1).as_deref(), Some("days"));
    }
}
