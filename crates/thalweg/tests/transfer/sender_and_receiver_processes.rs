//! Senders and receivers as processes, each user with separate keys.

use crate::child_processes;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// Folder of a test.
pub struct TestFolder(PathBuf);

impl TestFolder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("transfer").join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, contents: &[u8]) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the temporary file of this unfinished file, if there is one.
    pub fn part(&self, name: &str) -> Option<PathBuf> {
        let path = self.join(name);
        let begins = format!("{}.", path.file_name()?.to_str()?);
        let entries = fs::read_dir(path.parent()?).ok()?.map(|entry| entry.unwrap().path());
        let is_part = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(&begins) && name.ends_with(".thalweg.part")
        };
        entries.into_iter().find(is_part)
    }

    /// Returns the length of the temporary file in bytes; 0 if there is none.
    pub fn part_length(&self, name: &str) -> u64 {
        self.part(name).and_then(|part| fs::metadata(part).ok()).map_or(0, |metadata| metadata.len())
    }

    /// Removes the folder after a successful test.
    pub fn remove(self) {
        fs::remove_dir_all(self.0).unwrap();
    }

    pub fn names(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.join(name)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Output of a process, and its exit code.
pub struct EndedProcess {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

pub fn exit_code(process: &EndedProcess) -> i32 {
    process.code.unwrap_or(-1)
}

/// Returns a call in the test's folder by `user`.
pub fn thalweg(place: &TestFolder, user: &str, command: &str, arguments: &[&str]) -> Command {
    let mut call = child_processes::command(env!("CARGO_BIN_EXE_thalweg"));
    call.arg(command).args(arguments);
    set_environment(&mut call, place, user);
    call
}

pub fn set_environment(call: &mut Command, place: &TestFolder, user: &str) {
    call.current_dir(&place.0).env("XDG_CONFIG_HOME", place.join("keys").join(user));
    call.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// Sends as the user `sender`.
pub fn sends(place: &TestFolder, arguments: &[&str]) -> EndedProcess {
    wait_for_end(thalweg(place, "sender", "send", arguments).spawn().unwrap())
}

/// Waits for a process; kills it after a timeout.
pub fn wait_for_end(child: Child) -> EndedProcess {
    let id = child.id();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if is_done.recv_timeout(TOO_LONG) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            signal("KILL", id);
        }
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    guard.join().unwrap();
    EndedProcess {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn signal(name: &str, process: u32) {
    let sent = Command::new("sh").args(["-c", &format!("kill -{name} {process}")]).status();
    assert!(sent.unwrap().success() || name == "KILL");
}

/// Sends SIGINT, like Ctrl-C.
pub fn interrupt(child: &Child) {
    signal("INT", child.id());
}

#[track_caller]
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < TOO_LONG, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A receiver that listens.
pub struct Receiver {
    pub child: Child,
    stderr: BufReader<ChildStderr>,
    pub address: String,
    pub key: String,
}

impl Receiver {
    /// Starts a receiver at a free port.
    pub fn begin(place: &TestFolder, command: &str, arguments: &[&str], trust: &[&str]) -> Self {
        Self::at(place, "127.0.0.1:0", command, arguments, trust)
    }

    pub fn at(place: &TestFolder, address: &str, command: &str, arguments: &[&str], trust: &[&str]) -> Self {
        let arguments = [arguments, trust, &["--listen", address]].concat();
        Self::spawn(&mut thalweg(place, "receiver", command, &arguments))
    }

    /// Starts a receiver inside a script, which these words run.
    fn within(place: &TestFolder, words: &[&str], script: &str, arguments: &[&str], trust: &[&str]) -> Self {
        let mut call = child_processes::after(words);
        call.args(["sh", "-c", script, "sh", env!("CARGO_BIN_EXE_thalweg"), "recv"]);
        call.args(arguments).args(trust).args(["--listen", "127.0.0.1:0"]);
        set_environment(&mut call, place, "receiver");
        Self::spawn(&mut call)
    }

    /// Starts a receiver with this `umask`.
    pub fn with_mask(place: &TestFolder, mask: &str, arguments: &[&str]) -> Self {
        let script = format!("umask {mask}; exec \"$@\"");
        Self::within(place, &[], &script, arguments, &["--trust", "new"])
    }

    /// Starts a receiver with a file size limit in bytes.
    pub fn with_small_files(place: &TestFolder, bytes: u32) -> Self {
        let script = format!("ulimit -f {}; exec \"$@\"", bytes.div_ceil(512));
        Self::within(place, &[], &script, &["to"], &["--trust", "new"])
    }

    /// Starts a receiver on a file system of 3 MB, if the user may mount one; it prints its files at the end.
    pub fn on_a_small_disk(place: &TestFolder) -> Option<Self> {
        let can = Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|status| status.success());
        if !can {
            eprintln!("skipped: unshare cannot make a namespace here");
            return None;
        }
        fs::create_dir(place.join("to")).unwrap();
        let leash =
            if child_processes::has_leash() { child_processes::LEASH.join(" ") } else { String::new() };
        let script = format!(
            "mount -t tmpfs -o size=3m none to && {leash} \"$@\"; code=$?; find to -type f; exit $code"
        );
        Some(Self::within(place, &["unshare", "-rm"], &script, &["to"], &["--trust", "new"]))
    }

    fn spawn(call: &mut Command) -> Self {
        let mut child = call.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self::listening(child, stderr)
    }

    /// Starts a receiver that prints this first.
    pub fn spawn_after(call: &mut Command, first: &str) -> Self {
        let mut child = call.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(line.contains(first), "{line}");
        Self::listening(child, stderr)
    }

    fn listening(child: Child, mut stderr: BufReader<ChildStderr>) -> Self {
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        // Servers also print the time.
        let words = line.trim().split_once("Listening on ").map(|(_, words)| words).unwrap_or_else(|| {
            let mut rest = String::new();
            let _ = stderr.read_to_string(&mut rest);
            panic!("{line}{rest}")
        });
        let (address, key) = words.split_once(", key ").unwrap();
        let (address, key) = (address.to_owned(), key.to_owned());
        Self { child, stderr, address, key }
    }

    /// Returns the next line of its standard error.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line
    }

    pub fn signal(&self, name: &str) {
        signal(name, self.child.id());
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn interrupt(self) -> EndedProcess {
        interrupt(&self.child);
        self.end()
    }

    pub fn end(self) -> EndedProcess {
        let mut stderr = self.stderr;
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let mut process = wait_for_end(self.child);
        process.stderr = reader.join().unwrap();
        process
    }

    /// Ends the receiver; returns the bytes of its standard output, which are not text.
    pub fn end_bytes(mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(exit_code(&self.end()), 0);
        bytes
    }
}

/// Timeout of all waits, far above their usual duration.
pub const TOO_LONG: Duration = Duration::from_secs(60);
