//! A process on a terminal: its display, and typed input.

use crate::child_processes;
use crate::sender_and_receiver_processes::{TOO_LONG, TestFolder, set_environment};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

/// A process with a terminal as standard input and standard error.
pub struct Terminal {
    pub child: Child,
    keyboard: File,
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    pub fn begin(place: &TestFolder, user: &str, command: &str, arguments: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = || File::options().read(true).write(true).open(&name).unwrap();
        let mut call = child_processes::command(env!("CARGO_BIN_EXE_thalweg"));
        call.arg(command).args(arguments);
        set_environment(&mut call, place, user);
        call.env("TERM", "xterm").stdin(Stdio::from(end())).stderr(Stdio::from(end()));
        let child = call.spawn().unwrap();
        // Only the child keeps its ends of the terminal open.
        drop(call);
        let keyboard = File::from(master);
        let shown = Arc::new(Mutex::new(String::new()));
        let (mut screen, text) = (keyboard.try_clone().unwrap(), Arc::clone(&shown));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails when the process ends.
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                text.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keyboard, shown }
    }

    pub fn text(&self) -> String {
        self.shown.lock().unwrap().clone()
    }

    #[track_caller]
    pub fn wait_for(&self, words: &str) {
        let begun = std::time::Instant::now();
        while !self.text().contains(words) {
            assert!(begun.elapsed() < TOO_LONG, "waited in vain until it says {words}: {}", self.text());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    pub fn types(&mut self, line: &str) {
        // Earlier answers are ignored as typed before the prompt.
        std::thread::sleep(std::time::Duration::from_millis(600));
        writeln!(self.keyboard, "{line}").unwrap();
    }

    /// Returns the listening address.
    pub fn address(&self) -> String {
        self.wait_for("key ");
        let text = self.text();
        let (_, rest) = text.split_once("Listening on ").unwrap();
        rest.split_once(',').unwrap().0.to_owned()
    }
}
