//! The progress of a batch, on a terminal.

use crate::console::{Console, Seen, one_line};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Instant;
use thalweg_report::batch::Progress;
use thalweg_report::output::counted;
use thalweg_sweep::Status;

/// The consolation where a run cannot be kept.
pub const GOES_ON: &str = "runs that are kept are not lost, and the same call goes on with them";

/// Makes runs that are kept in a store, counted by a bar while `make` tells of them, and says at last how many were made and how many
/// were there. `of` stands before both.
pub fn counting_runs<T, E>(
    console: &Console,
    of: &str,
    make: impl FnOnce(&mut dyn FnMut(Status)) -> Result<T, E>,
) -> Result<T, E> {
    let bar = Bar::of(0, console);
    let mut last = Status::default();
    let made = make(&mut |status| {
        last = status;
        let Status { done, total, found, failed } = status;
        let more =
            |count: usize, words: &str| if count > 0 { format!(", {count} {words}") } else { String::new() };
        let (were_there, failed) = (more(found, "were there"), more(failed, "failed"));
        bar.count(done as u64, total as u64, &format!("{of}{done} of {total} runs{were_there}{failed}"));
    });
    let seconds = bar.clear();
    let made = made?;
    let Status { done, found, .. } = last;
    let runs = counted((done - found) as u64, "run");
    console.say(&format!("{of}{runs} in {seconds:.2} s; {found} were there"));
    Ok(made)
}

/// A progress bar on standard error: simulated time, events a second, time left. Nothing where standard error is not
/// a terminal. A program that called the command sees the same, and shows it or does not.
#[derive(Debug)]
pub struct Bar<'a> {
    bar: ProgressBar,
    console: &'a Console,
    begun: Instant,
}

impl<'a> Bar<'a> {
    /// A bar for `progress`.
    pub fn new(progress: &Progress, console: &'a Console) -> Self {
        Self::of(progress.total_micros(), console)
    }

    /// A bar for things that are counted.
    pub fn of(total: u64, console: &'a Console) -> Self {
        Self { bar: bar(total, target(console)), console, begun: Instant::now() }
    }

    /// Shows that `done` of `total` things are done.
    pub fn count(&self, done: u64, total: u64, message: &str) {
        let message = one_line(message);
        self.console.show(Some(Seen { share: share(done, total), words: message.clone() }));
        self.bar.set_length(total);
        self.bar.set_message(message);
        self.bar.set_position(done);
    }

    /// Takes the bar away; gives the seconds that it was there.
    pub fn clear(&self) -> f64 {
        self.console.show(None);
        self.bar.finish_and_clear();
        self.begun.elapsed().as_secs_f64()
    }

    /// Shows where `progress` is, behind `status`.
    pub fn show(&self, progress: &Progress, status: &str) {
        let (simulated, total) =
            (progress.simulated_micros() as f64 / 1e6, progress.total_micros() as f64 / 1e6);
        let rate = progress.events() as f64 / self.begun.elapsed().as_secs_f64();
        let message = format!("{status}{simulated:.1} of {total:.1} s, {:.1} M events/s", rate / 1e6);
        self.count(progress.simulated_micros(), progress.total_micros(), &message);
    }

    /// Takes the bar away and tells how long so many simulated seconds and events took.
    pub fn finish(&self, simulated: f64, events: u64, console: &Console) {
        let seconds = self.clear();
        console.say(&format!(
            "Simulated {simulated:.1} s in {seconds:.2} s: {} events, {:.1} million a second",
            HumanCount(events),
            events as f64 / seconds / 1e6
        ));
    }
}

/// The place where the progress of a command is drawn, if anywhere.
pub fn target(console: &Console) -> ProgressDrawTarget {
    let is_hidden = console.is_quiet() || console.is_called();
    if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

fn share(done: u64, total: u64) -> Option<f64> {
    (total > 0).then(|| (done as f64 / total as f64).min(1.0))
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
    use crate::console::Kept;
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

    /// Texts of files and peers are escaped in bars as in messages.
    #[test]
    fn a_bar_drives_no_terminal() {
        let caller = Arc::new(Kept::default());
        let console = Console::keeping(false, Arc::default(), Arc::clone(&caller));
        let written = Arc::new(Mutex::new(Vec::new()));
        let target = ProgressDrawTarget::term_like(Box::new(Narrow(80, Arc::clone(&written))));
        let bar = Bar { bar: bar(0, target), console: &console, begun: Instant::now() };
        bar.count(1, 2, "a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\nb");
        bar.bar.tick();
        let words = caller.caller.seen().unwrap().words;
        assert_eq!(words, "a\\u001b]0;x\\u0007\\u009b2J\\u202e b");
        assert!(written.lock().unwrap().iter().any(|line| line.contains(&words)));
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
