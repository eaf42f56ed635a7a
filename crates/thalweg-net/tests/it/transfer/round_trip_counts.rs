//! Round trips of a transfer, counted over streams whose bytes arrive half a round trip after they are written.

use crate::transfer::Transfer;
use crate::transfer::temporary_folders::TestFolder;
use std::collections::VecDeque;
use std::fs::{self, File, FileTimes};
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};
use thalweg_net::transfer::{
    Claims, Destination, Options, Progress, Roots, Source, Target, TransferScheduler, receive_transfer,
    send_transfer,
};

/// Idle time after which both ends are assumed to wait for data in flight. A pause of the host counts as one more half
/// round trip; the bounds allow for that.
const IDLE_TIME: Duration = Duration::from_millis(60);

#[derive(Default)]
struct Path {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Half round trips so far.
    halves: u64,
    /// Data in flight in both directions, with the half of its write.
    directions: [VecDeque<(u64, Vec<u8>)>; 2],
    waits: [bool; 2],
    is_closed: [bool; 2],
    last: Option<Instant>,
}

struct NearEnd(Arc<Path>, usize);
struct FarEnd(Arc<Path>, usize);

impl Path {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl State {
    fn act(&mut self) {
        self.last = Some(Instant::now());
    }

    fn is_idle(&self) -> bool {
        let is_in_flight = self.directions.iter().any(|direction| !direction.is_empty());
        is_in_flight
            && self.waits.iter().zip(&self.is_closed).all(|(waits, is_closed)| *waits || *is_closed)
            && self.last.is_some_and(|last| last.elapsed() >= IDLE_TIME)
    }
}

impl Write for NearEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        let half = state.halves;
        state.directions[self.1].push_back((half, bytes.to_vec()));
        state.act();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for FarEnd {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        loop {
            let now = state.halves;
            if let Some((_, bytes)) = state.directions[self.1].front_mut().filter(|(half, _)| *half < now) {
                let count = bytes.len().min(into.len());
                into[..count].copy_from_slice(&bytes[..count]);
                bytes.drain(..count);
                if bytes.is_empty() {
                    state.directions[self.1].pop_front();
                }
                state.waits[self.1] = false;
                state.act();
                return Ok(count);
            }
            if state.is_closed[self.1] && state.directions[self.1].is_empty() {
                return Ok(0);
            }
            state.waits[self.1] = true;
            if state.is_idle() {
                state.halves += 1;
                state.act();
                self.0.changed.notify_all();
                continue;
            }
            state = self.0.changed.wait_timeout(state, IDLE_TIME / 4).unwrap().0;
        }
    }
}

impl Drop for NearEnd {
    fn drop(&mut self) {
        self.0.lock().is_closed[self.1] = true;
        self.0.changed.notify_all();
    }
}

/// Returns the number of round trips needed to send `from` into `to`.
fn round_trips(from: &TestFolder, to: &TestFolder) -> u64 {
    let path = Arc::new(Path::default());
    let end = || Arc::clone(&path);
    let source = Source::Paths(Roots::new(&[from.join("set")]).unwrap());
    let (mut to_receiver, from_receiver) = (NearEnd(end(), 0), FarEnd(end(), 1));
    let (mut from_sender, to_sender) = (FarEnd(end(), 0), NearEnd(end(), 1));
    let sender = std::thread::spawn(move || {
        let progress = Arc::new(Progress::new());
        send_transfer(source, Options::default(), from_receiver, &mut to_receiver, &progress)
    });
    let target =
        Target::Folder(Destination::new(to.path(), Claims::default(), Transfer::default().owner).unwrap());
    let progress = Arc::new(Progress::new());
    let received =
        receive_transfer(target, &TransferScheduler::default(), &mut from_sender, to_sender, &progress);
    let sent = sender.join().unwrap();
    assert!(sent.result.is_ok() && received.result.is_ok(), "{sent:?} {received:?}");
    assert_eq!(sent.report.failures, []);
    path.lock().halves.div_ceil(2)
}

#[test]
fn ten_thousand_unchanged_files_take_few_round_trips() {
    let (from, to) = (TestFolder::new("far-from"), TestFolder::new("far-to"));
    let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    for place in [&from, &to] {
        fs::create_dir(place.join("set")).unwrap();
        for number in 0..10_000 {
            File::create(place.join(&format!("set/{number:05}"))).unwrap().set_times(time).unwrap();
        }
    }
    // Two windows of offers, and the end; with windows of 1024 offers there were eleven.
    let trips = round_trips(&from, &to);
    assert!((3..=5).contains(&trips), "{trips}");
}

#[test]
fn long_paths_make_the_window_smaller() {
    let (from, to) = (TestFolder::new("far-deep-from"), TestFolder::new("far-deep-to"));
    let folder = (0..40).fold("set".to_owned(), |path, _| format!("{path}/{}", "d".repeat(60)));
    for number in 0..2000 {
        from.write(&format!("{folder}/{number:04}"), b"");
        to.write(&format!("{folder}/{number:04}"), b"");
    }
    let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    for place in [&from, &to] {
        for number in 0..2000 {
            let file =
                File::options().write(true).open(place.join(&format!("{folder}/{number:04}"))).unwrap();
            file.set_times(time).unwrap();
        }
    }
    // 40 folders of 60 bytes weigh 2600: 806 offers at a time, and the end.
    let trips = round_trips(&from, &to);
    assert!((4..=6).contains(&trips), "{trips}");
}
