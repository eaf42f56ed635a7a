//! Approval prompt for unknown senders at the terminal.

use crate::console_output::{Console, one_line, print_prompt};
use indicatif::DecimalBytes;
use std::io::{self, BufRead as _, Read};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};
use thalweg_net::admission::{Approval, ApprovalRequest, Approver};
use thalweg_net::transfer::{Preview, PreviewItemKind};
use thalweg_report::output::format_count;

/// Minimum age of a prompt for an answer; earlier lines were typed before the user read it.
const MIN_PROMPT_AGE: Duration = Duration::from_millis(400);

/// Prompt at the terminal.
pub struct ApprovalPrompt<'a> {
    console: &'a Console,
    /// Typed lines, once a prompt was shown; the channel closes with the input.
    lines: Option<Receiver<String>>,
    /// Time of the last prompt.
    last_prompt: Option<Instant>,
}

impl<'a> ApprovalPrompt<'a> {
    /// Creates a prompt that was not shown yet.
    pub fn new(console: &'a Console) -> Self {
        Self { console, lines: None, last_prompt: None }
    }
}

impl Approver for ApprovalPrompt<'_> {
    fn ask(&mut self, now: Instant, request: &ApprovalRequest) {
        let lines = self.lines.get_or_insert_with(|| read_lines_in_thread(io::stdin()));
        // These lines were typed before the prompt.
        while lines.try_recv().is_ok() {}
        print_prompt(&prompt_text(request));
        self.last_prompt = Some(now);
    }

    fn answer(&mut self, now: Instant) -> Option<Option<Approval>> {
        let line = match self.lines.as_ref()?.try_recv() {
            Ok(_)
                if self
                    .last_prompt
                    .is_some_and(|shown| now.saturating_duration_since(shown) < MIN_PROMPT_AGE) =>
            {
                None
            }
            Ok(line) => Some(line),
            Err(TryRecvError::Empty) => None,
            // Input has ended: no answer can come.
            Err(TryRecvError::Disconnected) => Some("no".to_owned()),
        }?;
        let answer = parse_answer(&line);
        if answer.is_none() {
            print_prompt("Please answer yes, once or no: ");
        }
        answer
    }

    fn withdraw(&mut self, reason: &str) {
        print_prompt("\n");
        self.console.inform(&format!("Not answered: {reason}"));
    }
}

/// Reads typed lines in a thread of its own, because reads of a terminal block.
fn read_lines_in_thread(input: impl Read + Send + 'static) -> Receiver<String> {
    let (typed, lines) = channel();
    // Without the thread there are no answers.
    let _ = thread::Builder::new().name("answers".to_owned()).spawn(move || {
        for line in io::BufReader::new(input).lines() {
            let Ok(line) = line else { break };
            if typed.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Parses an answer; `Some(None)` for no, `None` for an unrecognised line.
fn parse_answer(line: &str) -> Option<Option<Approval>> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(Some(Approval::Always)),
        "o" | "once" => Some(Some(Approval::Once)),
        "n" | "no" => Some(None),
        _ => None,
    }
}

fn prompt_text(request: &ApprovalRequest) -> String {
    format!(
        "{} wants to send {}.\nIts key, {}, is not known. Trust it from now on (yes), for this transfer (once), or not (no)? ",
        request.remote,
        preview_text(&request.preview),
        request.key
    )
}

/// Describes the offered transfer.
fn preview_text(seen: &Preview) -> String {
    let named = seen.items.iter().map(|item| {
        // A line break in a name could forge a prompt.
        let name = one_line(&item.name);
        match item.kind {
            PreviewItemKind::File(size) => format!("{name} ({})", DecimalBytes(size)),
            PreviewItemKind::Folder => format!("{name}/"),
            PreviewItemKind::Stream => format!("a stream called {name}"),
        }
    });
    let mut named: Vec<_> = named.collect();
    let more = seen.named_items.saturating_sub(named.len() as u64);
    if more > 0 && !named.is_empty() {
        named.push(format!("{more} more"));
    }
    let named = named.join(", ");
    match (seen.total, named.is_empty()) {
        (Some(total), false) => {
            format!("{}, {}: {named}", format_count(total.files, "file"), DecimalBytes(total.bytes.get()))
        }
        (Some(total), true) => {
            format!("{}, {}", format_count(total.files, "file"), DecimalBytes(total.bytes.get()))
        }
        (None, false) if seen.is_complete => named,
        (None, false) => format!("{named} (it is still counting)"),
        (None, true) => "something".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_net::transfer::{PreviewItem, Total};
    use thalweg_proto::units::Bytes;

    #[test]
    fn only_three_words_are_an_answer() {
        for (line, expected) in [
            ("yes", Some(Some(Approval::Always))),
            (" Y \r", Some(Some(Approval::Always))),
            ("once", Some(Some(Approval::Once))),
            ("no", Some(None)),
            ("", None),
            ("yes please", None),
        ] {
            assert_eq!(parse_answer(line), expected, "{line}");
        }
    }

    /// A file name from a sender cannot add lines or reverse the direction of text.
    #[test]
    fn a_name_that_is_offered_stays_a_name() {
        let item =
            PreviewItem { name: "a\nTrust it? \u{202e}\u{9b}2J".to_owned(), kind: PreviewItemKind::Folder };
        let seen = Preview { named_items: 1, items: vec![item], total: None, is_complete: true };
        let words = preview_text(&seen);
        assert!(words.contains("a Trust it? \\u202e\\u009b2J/"), "{words}");
    }

    #[test]
    fn offered_items_are_named_and_counted() {
        let item = |name: &str, kind| PreviewItem { name: name.to_owned(), kind };
        let items =
            vec![item("photos", PreviewItemKind::Folder), item("notes.txt", PreviewItemKind::File(1200))];
        let total = Some(Total { files: 2001, bytes: Bytes::new(30_000_000) });
        let mut seen = Preview { named_items: 2, items, total, is_complete: true };
        assert_eq!(preview_text(&seen), "2001 files, 30.00 MB: photos/, notes.txt (1.20 kB)");
        seen.named_items = 12;
        assert!(preview_text(&seen).ends_with(", 10 more"));
        seen = Preview { total: None, is_complete: false, ..seen };
        assert!(preview_text(&seen).ends_with("10 more (it is still counting)"));
        let items = vec![item("stdin", PreviewItemKind::Stream)];
        let stream = Preview { named_items: 1, items, total: None, is_complete: true };
        assert_eq!(preview_text(&stream), "a stream called stdin");
        assert_eq!(preview_text(&Preview::default()), "something");
    }

    #[test]
    fn lines_and_the_end_of_input_are_received() {
        let lines = read_lines_in_thread(io::Cursor::new("yes\nno\n"));
        assert_eq!((lines.recv(), lines.recv()), (Ok("yes".to_owned()), Ok("no".to_owned())));
        assert!(lines.recv().is_err());
    }
}
