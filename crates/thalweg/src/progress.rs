//! How far a batch is, on a terminal.

use crate::console::Console;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Instant;
use thalweg_lab::batch::Progress;

/// A progress bar on standard error: simulated time, events a second, time left. Nothing where standard error is not
/// a terminal.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    begun: Instant,
}

impl Bar {
    /// A bar for `progress`.
    pub fn new(progress: &Progress, console: &Console) -> Self {
        let target =
            if console.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(progress.total_micros()), target);
        let template = "{wide_bar} {percent}%  {msg}  {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, begun: Instant::now() }
    }

    /// Shows where `progress` is.
    pub fn show(&self, progress: &Progress) {
        let (simulated, total) =
            (progress.simulated_micros() as f64 / 1e6, progress.total_micros() as f64 / 1e6);
        let rate = progress.events() as f64 / self.begun.elapsed().as_secs_f64();
        self.bar.set_message(format!("{simulated:.1} of {total:.1} s, {:.1} M events/s", rate / 1e6));
        self.bar.set_position(progress.simulated_micros());
    }

    /// Takes the bar away and tells how long it all took.
    pub fn finish(&self, progress: &Progress, console: &Console) {
        self.bar.finish_and_clear();
        let (seconds, events) = (self.begun.elapsed().as_secs_f64(), progress.events());
        console.say(&format!(
            "Simulated {:.1} s in {seconds:.2} s: {} events, {:.1} million a second",
            progress.simulated_micros() as f64 / 1e6,
            HumanCount(events),
            events as f64 / seconds / 1e6
        ));
    }
}
