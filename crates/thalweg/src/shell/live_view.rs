//! Live view of a network in the bottom lines of the terminal: rates, queues and losses of its links. The output of
//! commands scrolls above it, as in package managers with a progress display.
//!
//! The view disappears while the terminal is not in line mode: a full-screen program (an editor, a shell's prompt) has
//! the terminal for itself.

use crate::console_output::{Console, one_line};
use rustix::termios::{LocalModes, tcgetattr, tcgetwinsize};
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_live::{View, Watch};
use thalweg_report::output::{Align, Style, Table, format_rate, format_seconds};

/// Update interval.
pub const UPDATE_INTERVAL: Duration = Duration::from_millis(500);
/// Time in line mode after which the view appears.
const LINE_MODE_TIME: Duration = Duration::from_millis(900);
/// Minimum terminal height, in rows.
const MIN_ROWS: u16 = 12;
/// Maximum number of displayed links; the busiest are chosen.
const MAX_LINES: usize = 10;

/// Control sequence that removes the view of another process, for instance after it was killed.
pub const REMOVE_VIEW: &str = "\u{1b}7\u{1b}[r\u{1b}8";

/// The live view.
pub struct LiveView {
    /// Observed state, one per thread.
    watches: Vec<Arc<Watch>>,
    previous_view: View,
    style: Style,
    next: Instant,
    /// Time since which the terminal is in line mode.
    since: Option<Instant>,
    panel: Panel,
}

/// Returns true if a view can be shown: standard error is a terminal with cursor control, and the console is not quiet.
pub fn is_wanted(console: &Console) -> bool {
    let knows = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
    !console.is_quiet() && knows && stderr().is_terminal()
}

impl LiveView {
    /// Creates a view of these networks.
    pub fn new(watches: Vec<Arc<Watch>>, console: &Console) -> Self {
        let style = Style { colour: false, ..console.style };
        let next = Instant::now() + UPDATE_INTERVAL;
        Self { watches, previous_view: View::default(), style, next, since: None, panel: Panel::default() }
    }

    /// Updates the view if it is due; returns the time of the next update.
    pub fn show(&mut self) -> Instant {
        let now = Instant::now();
        if now < self.next {
            return self.next;
        }
        self.next = now + UPDATE_INTERVAL;
        let is_lines = tcgetattr(stderr()).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON));
        self.since = is_lines.then(|| self.since.unwrap_or(now));
        let is_free = self.since.is_some_and(|since| now - since >= LINE_MODE_TIME);
        let size = tcgetwinsize(stderr()).ok().map(|size| (size.ws_row, size.ws_col));
        let size = size.filter(|(rows, _)| *rows >= MIN_ROWS);
        let text = match size {
            Some((rows, columns)) if is_free => {
                let view = View::from_threads(self.watches.iter().map(|watch| watch.view()));
                let max = MAX_LINES.min(usize::from(rows) / 3);
                let columns = usize::from(columns.max(40));
                let lines = view_lines(
                    &self.previous_view,
                    &view,
                    max,
                    Style { columns, table_columns: columns, ..self.style },
                );
                if view.at > self.previous_view.at {
                    self.previous_view = view;
                }
                self.panel.draw(rows, columns, &lines)
            }
            // The full-screen program redraws the terminal: do not erase its lines.
            _ => self.panel.leave(is_lines),
        };
        write_to_terminal(&text);
        self.next
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        write_to_terminal(&self.panel.leave(true));
    }
}

/// Writes in one call, and ignores errors of a terminal that is gone.
fn write_to_terminal(text: &str) {
    if !text.is_empty() {
        let mut terminal = stderr().lock();
        let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
    }
}

/// Renders the view: the state `now`, and rates since `before`.
fn view_lines(before: &View, now: &View, max: usize, style: Style) -> Vec<String> {
    let mut links: Vec<(f64, [String; 6])> = now
        .lines
        .iter()
        .map(|line| {
            let earlier = before.lines.iter().find(|other| other.name == line.name);
            let (since, sent) = earlier.map_or((before.at, 0), |other| (other.at, other.now.bytes));
            let bits = (line.now.bytes.saturating_sub(sent)) as f64 * 8.0;
            let span = line.at.since(since).as_secs_f64();
            let bps = if span > 0.0 { bits / span } else { 0.0 };
            let of = line.now.rate.as_f64();
            // The share can exceed 1, because a packet is counted when its transmission begins.
            let share = if of > 0.0 { (bps / of).min(1.0) } else { 0.0 };
            let used = if of > 0.0 { format!("{:.0} %", 100.0 * share) } else { "-".to_owned() };
            // Escape the name before the table shortens it to the available columns.
            let name = one_line(&line.name);
            let [waiting, lost, marks] =
                [line.now.queued_packets, line.now.lost, line.now.marks].map(|count| count.to_string());
            (share, [name, format_rate(bps), used, waiting, lost, marks])
        })
        .collect();
    if links.is_empty() {
        return Vec::new();
    }
    links.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let hidden = links.len().saturating_sub(max);
    let right = |head| (head, Align::Right);
    let head = format!(
        "{:.0} s; {} late",
        now.at.since(Default::default()).as_secs_f64(),
        format_seconds(now.lateness.as_secs_f64())
    );
    let mut table = Table::new([
        (head.as_str(), Align::Left),
        right("Rate"),
        right("Used"),
        right("Waiting"),
        right("Lost"),
        right("Marks"),
    ]);
    for (_, cells) in links.into_iter().take(max) {
        table.row(cells);
    }
    let mut lines: Vec<String> = table.render(style).lines().map(str::to_owned).collect();
    if hidden > 0 {
        lines.push(format!("... and {hidden} more"));
    }
    lines
}

/// Lines at the bottom of a terminal.
#[derive(Debug, Default)]
struct Panel {
    /// Number of rows of the terminal and of the panel, while it is shown.
    shown_rows: Option<(u16, u16)>,
}

impl Panel {
    /// Returns the control sequence that shows these lines on a terminal of this size.
    fn draw(&mut self, rows: u16, columns: usize, lines: &[String]) -> String {
        if lines.is_empty() {
            return self.leave(true);
        }
        let max = rows - 2;
        let wanted = u16::try_from(lines.len()).unwrap_or(max).min(max);
        // The panel does not shrink, to keep the lines in place.
        let height = self.shown_rows.map_or(wanted, |(_, shown)| shown.max(wanted));
        let mut text = String::new();
        if self.shown_rows != Some((rows, height)) {
            text += &self.leave(true);
            let above = rows - height;
            // Make room below the cursor, restrict scrolling to the region above, and restore the cursor.
            let line_feeds = "\u{1b}D".repeat(height.into());
            let _ = write!(text, "{line_feeds}\u{1b}[{height}A\u{1b}7\u{1b}[1;{above}r\u{1b}8");
            self.shown_rows = Some((rows, height));
        }
        text += "\u{1b}7";
        for number in 0..height {
            let line: String =
                lines.get(usize::from(number)).map_or("", String::as_str).chars().take(columns).collect();
            let _ = write!(text, "\u{1b}[{};1H\u{1b}[2K{line}", rows - height + 1 + number);
        }
        text + "\u{1b}8"
    }

    /// Returns the control sequence that restores scrolling of the whole terminal, and erases the lines if `clears`.
    fn leave(&mut self, clears: bool) -> String {
        let Some((rows, height)) = self.shown_rows.take() else { return String::new() };
        let clear = if clears { format!("\u{1b}[{};1H\u{1b}[J", rows - height + 1) } else { String::new() };
        format!("\u{1b}7\u{1b}[r{clear}\u{1b}8")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_live::LinkDirectionState;
    use thalweg_net::transfer::is_unsafe;
    use thalweg_proto::units::{Duration, Rate, Time};
    use thalweg_sim::live_network::LinkStatus;

    fn view(millis: u64, lines: &[(&str, u64, u64)]) -> View {
        let rate = Rate::from_bits_per_sec(10_000_000);
        let line = |&(name, bytes, waiting): &(&str, u64, u64)| LinkDirectionState {
            name: name.to_owned(),
            at: Time::ZERO + Duration::from_millis(millis),
            now: LinkStatus { rate, bytes, queued_packets: waiting, lost: 3, marks: 0 },
        };
        View {
            at: Time::ZERO + Duration::from_millis(millis),
            lines: lines.iter().map(line).collect(),
            lateness: Duration::ZERO,
        }
    }

    /// 500 kB in half a second are 8 Mbit/s, 80 % of 10 Mbit/s; the other link is idle meanwhile.
    #[test]
    fn rates_cover_the_time_since_the_last_update() {
        let before = view(1000, &[("a", 70_000, 1), ("b", 100_000, 0)]);
        let now = view(1500, &[("a", 70_000, 0), ("b", 600_000, 34)]);
        let lines = view_lines(&before, &now, 10, Style::PLAIN);
        let words: Vec<Vec<&str>> = lines.iter().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[2], ["b", "8.000", "Mbit/s", "80", "%", "34", "3", "0"]);
        assert_eq!(words[3][..1], ["a"]);
        assert!(lines[0].starts_with("2 s;"), "{lines:?}");
    }

    #[test]
    fn the_busiest_are_shown_and_others_counted() {
        let now = view(1000, &[("a", 1, 0), ("b", 3, 0), ("c", 2, 0)]);
        let lines = view_lines(&View::default(), &now, 2, Style::PLAIN);
        assert!(lines[2].starts_with('b') && lines[3].starts_with('c'), "{lines:?}");
        assert_eq!(lines[4], "... and 1 more");
    }

    /// Links of a scenario from elsewhere may have any name.
    #[test]
    fn names_of_links_drive_no_terminal() {
        let now = view(1000, &[("a\u{1b}[2J\u{9b}2J\u{202e}b", 1, 0)]);
        let lines = view_lines(&View::default(), &now, 2, Style::UNICODE);
        assert_eq!(lines.iter().find(|line| line.contains(is_unsafe)), None);
        assert!(lines.iter().any(|line| line.contains("\\u202eb")), "{lines:?}");
    }

    /// Minimal terminal emulator for the sequences that the panel uses.
    struct Screen {
        rows: usize,
        cells: Vec<String>,
        cursor: usize,
        saved: usize,
        bottom: usize,
    }

    impl Screen {
        fn new(rows: usize, cursor: usize) -> Self {
            Self { rows, cells: vec![String::new(); rows], cursor, saved: 0, bottom: rows }
        }

        fn newline(&mut self) {
            if self.cursor + 1 == self.bottom {
                self.cells.remove(0);
                self.cells.insert(self.bottom - 1, String::new());
            } else if self.cursor + 1 < self.rows {
                self.cursor += 1;
            }
        }

        fn put(&mut self, text: &str) {
            let mut rest = text;
            while let Some(first) = rest.chars().next() {
                rest = &rest[first.len_utf8()..];
                match first {
                    '\n' => self.newline(),
                    '\u{1b}' if rest.starts_with('7') => self.saved = self.cursor,
                    '\u{1b}' if rest.starts_with('8') => self.cursor = self.saved,
                    '\u{1b}' if rest.starts_with('D') => self.newline(),
                    '\u{1b}' => {
                        let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                        let (numbers, letter) = (&rest[1..end], &rest[end..=end]);
                        let number =
                            |at: usize| numbers.split(';').nth(at).and_then(|n| n.parse::<usize>().ok());
                        match letter {
                            "A" => self.cursor -= number(0).unwrap(),
                            "H" => self.cursor = number(0).unwrap() - 1,
                            "K" => self.cells[self.cursor].clear(),
                            "J" => self.cells[self.cursor..].iter_mut().for_each(String::clear),
                            // Without parameters the region is the whole screen. The cursor moves to the top left.
                            "r" => (self.bottom, self.cursor) = (number(1).unwrap_or(self.rows), 0),
                            other => panic!("{other}"),
                        }
                        rest = &rest[end..];
                    }
                    letter => self.cells[self.cursor].push(letter),
                }
                if first == '\u{1b}' {
                    rest = &rest[1..];
                }
            }
        }
    }

    /// Program output scrolls above the panel; only the lines that scroll out at the top are lost.
    #[test]
    fn printed_lines_scroll_above_the_view() {
        for cursor in [0, 10, 19] {
            let mut screen = Screen::new(20, cursor);
            let mut panel = Panel::default();
            screen.put("one\n");
            screen.put(&panel.draw(20, 80, &["x".to_owned(), "y".to_owned()]));
            (0..30).for_each(|number| screen.put(&format!("{number}\n")));
            screen.put(&panel.draw(20, 80, &["x2".to_owned(), "y2".to_owned(), "z".to_owned()]));
            screen.put("last\n");
            assert_eq!(screen.cells[17..], ["x2", "y2", "z"]);
            assert_eq!(screen.cells[13..17], ["28", "29", "last", ""], "{:?}", screen.cells);
            screen.put(&panel.leave(true));
            assert_eq!((screen.cursor, screen.bottom), (16, 20));
            assert_eq!(screen.cells[15..], ["last", "", "", "", ""]);
            assert_eq!(panel.leave(true), "");
        }
    }
}
