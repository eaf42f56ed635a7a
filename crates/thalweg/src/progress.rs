//! The progress of a batch, on a terminal.

use crate::console::Console;
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Instant;
use thalweg_report::batch::Progress;

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
        Self { bar: bar(progress.total_micros(), target), begun: Instant::now() }
    }

    /// Shows where `progress` is, behind `status`.
    pub fn show(&self, progress: &Progress, status: &str) {
        let (simulated, total) =
            (progress.simulated_micros() as f64 / 1e6, progress.total_micros() as f64 / 1e6);
        let rate = progress.events() as f64 / self.begun.elapsed().as_secs_f64();
        self.bar.set_message(format!("{status}{simulated:.1} of {total:.1} s, {:.1} M events/s", rate / 1e6));
        self.bar.set_position(progress.simulated_micros());
    }

    /// Takes the bar away and tells how long so many simulated seconds and events took.
    pub fn finish(&self, simulated: f64, events: u64, console: &Console) {
        self.bar.finish_and_clear();
        let seconds = self.begun.elapsed().as_secs_f64();
        console.say(&format!(
            "Simulated {simulated:.1} s in {seconds:.2} s: {} events, {:.1} million a second",
            HumanCount(events),
            events as f64 / seconds / 1e6
        ));
    }
}

/// A bar whose message gives way on a narrow terminal.
fn bar(total: u64, target: ProgressDrawTarget) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:10} {percent:>3}%  {wide_msg} {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::TermLike;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// A terminal that keeps what is written.
    #[derive(Debug)]
    struct Narrow(u16, Arc<Mutex<Vec<String>>>);

    impl TermLike for Narrow {
        fn width(&self) -> u16 {
            self.0
        }
        fn move_cursor_up(&self, _lines: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_down(&self, _lines: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_right(&self, _columns: usize) -> io::Result<()> {
            Ok(())
        }
        fn move_cursor_left(&self, _columns: usize) -> io::Result<()> {
            Ok(())
        }
        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }
        fn write_str(&self, text: &str) -> io::Result<()> {
            self.1.lock().unwrap().push(text.to_owned());
            Ok(())
        }
        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }
        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_bar_is_no_wider_than_the_terminal() {
        for width in [28, 40, 80, 200] {
            let written = Arc::new(Mutex::new(Vec::new()));
            let terminal = Narrow(width, Arc::clone(&written));
            let bar = bar(100, ProgressDrawTarget::term_like(Box::new(terminal)));
            bar.set_message("32.7 of 40.0 s, 27.2 M events/s");
            bar.set_position(50);
            bar.tick();
            let lines = written.lock().unwrap();
            assert!(lines.iter().any(|line| line.contains("50%")), "{lines:?}");
            assert!(lines.iter().all(|line| line.chars().count() <= usize::from(width)), "{lines:?}");
        }
    }
}
