//! Progress of a batch, on a terminal.

use crate::console_output::{CommandProgress, Console, one_line};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Instant;
use thalweg_report::output::format_count;
use thalweg_report::parallel_batch::Progress;
use thalweg_sweep::Status;

/// Hint for runs that could not be stored.
pub const RESUME_HINT: &str = "stored runs are not lost; repeat the call to continue";

/// Makes runs with a store, with a progress bar updated by `make`, and prints the number of new and of stored runs.
/// `of` is the prefix of both texts.
pub fn counting_runs<T, E>(
    console: &Console,
    of: &str,
    make: impl FnOnce(&mut dyn FnMut(Status)) -> Result<T, E>,
) -> Result<T, E> {
    let bar = Bar::with_total(0, console);
    let mut last = Status::default();
    let made = make(&mut |status| {
        last = status;
        let Status { finished_runs: done, total, stored_runs: found, failed } = status;
        let more =
            |count: usize, label: &str| if count > 0 { format!(", {count} {label}") } else { String::new() };
        let (were_there, failed) = (more(found, "were stored"), more(failed, "failed"));
        bar.count(done as u64, total as u64, &format!("{of}{done} of {total} runs{were_there}{failed}"));
    });
    let seconds = bar.clear();
    let made = made?;
    let Status { finished_runs: done, stored_runs: found, .. } = last;
    let runs = format_count((done - found) as u64, "run");
    console.inform(&format!("{of}{runs} in {seconds:.2} s; {found} were stored"));
    Ok(made)
}

/// A progress bar on standard error: simulated time, events per second, remaining time. It is hidden if standard error
/// is not a terminal. A calling program receives the same data.
#[derive(Debug)]
pub struct Bar<'a> {
    bar: ProgressBar,
    console: &'a Console,
    start_instant: Instant,
}

impl<'a> Bar<'a> {
    /// Creates a bar for `progress`.
    pub fn new(progress: &Progress, console: &'a Console) -> Self {
        Self::with_total(progress.total_micros(), console)
    }

    /// Creates a bar for `total` counted items.
    pub fn with_total(total: u64, console: &'a Console) -> Self {
        Self {
            bar: progress_bar(total, progress_draw_target(console)),
            console,
            start_instant: Instant::now(),
        }
    }

    /// Shows `done` of `total` items.
    pub fn count(&self, done: u64, total: u64, message: &str) {
        let message = one_line(message);
        self.console.show(Some(CommandProgress { share: done_share(done, total), text: message.clone() }));
        self.bar.set_length(total);
        self.bar.set_message(message);
        self.bar.set_position(done);
    }

    /// Removes the bar; returns its lifetime in seconds.
    pub fn clear(&self) -> f64 {
        self.console.show(None);
        self.bar.finish_and_clear();
        self.start_instant.elapsed().as_secs_f64()
    }

    /// Shows `progress` after the text `status`.
    pub fn show(&self, progress: &Progress, status: &str) {
        let (simulated, total) =
            (progress.simulated_micros() as f64 / 1e6, progress.total_micros() as f64 / 1e6);
        let rate = progress.events() as f64 / self.start_instant.elapsed().as_secs_f64();
        let message = format!("{status}{simulated:.1} of {total:.1} s, {:.1} M events/s", rate / 1e6);
        self.count(progress.simulated_micros(), progress.total_micros(), &message);
    }

    /// Removes the bar and prints the time taken for this simulated time and number of events.
    pub fn finish(&self, simulated: f64, events: u64, console: &Console) {
        let seconds = self.clear();
        console.inform(&format!(
            "Simulated {simulated:.1} s in {seconds:.2} s: {} events, {:.1} million a second",
            HumanCount(events),
            events as f64 / seconds / 1e6
        ));
    }
}

/// Returns the target of a command's progress bar: standard error or hidden.
pub fn progress_draw_target(console: &Console) -> ProgressDrawTarget {
    let is_hidden = console.is_quiet() || console.is_called();
    if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

fn done_share(done: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| (done as f64 / total as f64).min(1.0))
}

/// Creates a bar that shortens its message on a narrow terminal.
fn progress_bar(total: u64, target: ProgressDrawTarget) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:10} {percent:>3}%  {wide_msg} {eta} left") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console_output::OutputBuffer;
    use indicatif::TermLike;
    use std::io;
    use std::sync::{Arc, Mutex};

    /// A terminal that records its output.
    #[derive(Debug)]
    struct TestTerminal(u16, Arc<Mutex<Vec<String>>>);

    impl TermLike for TestTerminal {
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

    /// Bars escape texts of files and peers, like messages.
    #[test]
    fn a_bar_drives_no_terminal() {
        let caller = Arc::new(OutputBuffer::default());
        let console = Console::keeping(false, Arc::default(), Arc::clone(&caller));
        let written = Arc::new(Mutex::new(Vec::new()));
        let target = ProgressDrawTarget::term_like(Box::new(TestTerminal(80, Arc::clone(&written))));
        let bar = Bar { bar: progress_bar(0, target), console: &console, start_instant: Instant::now() };
        bar.count(1, 2, "a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\nb");
        bar.bar.tick();
        let text = caller.caller.progress().unwrap().text;
        assert_eq!(text, "a\\u001b]0;x\\u0007\\u009b2J\\u202e b");
        assert!(written.lock().unwrap().iter().any(|line| line.contains(&text)));
    }

    #[test]
    fn the_bar_is_no_wider_than_the_terminal() {
        for width in [28, 40, 80, 200] {
            let written = Arc::new(Mutex::new(Vec::new()));
            let terminal = TestTerminal(width, Arc::clone(&written));
            let bar = progress_bar(100, ProgressDrawTarget::term_like(Box::new(terminal)));
            bar.set_message("32.7 of 40.0 s, 27.2 M events/s");
            bar.set_position(50);
            bar.tick();
            let lines = written.lock().unwrap();
            assert!(lines.iter().any(|line| line.contains("50%")), "{lines:?}");
            assert!(lines.iter().all(|line| line.chars().count() <= usize::from(width)), "{lines:?}");
        }
    }
}
