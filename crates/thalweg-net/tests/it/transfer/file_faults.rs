//! Files that change, vanish or cannot be read; names, links and quotas. Each fails one file, not the transfer.

use crate::transfer::temporary_folders::{TestFolder, random_bytes};
use crate::transfer::{Transfer, TransferEnds, name_of_unfinished};
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use thalweg_net::transfer::{
    Claims, Destination, FaultKind, Limits, Progress, Quota, Roots, Source, Target, TransferScheduler,
    receive_transfer, send_transfer, unfinished_name,
};
use thalweg_proto::units::Bytes;

/// Checks that both ends report these files with these faults.
#[track_caller]
fn failures(ends: &TransferEnds, expected: &[(&str, FaultKind)]) {
    failures_among(ends, expected, expected.len() as u64);
}

/// Checks the number of failures and the reported names.
#[track_caller]
fn failures_among(ends: &TransferEnds, expected: &[(&str, FaultKind)], failed: u64) {
    ends.end();
    for report in [&ends.sender.report, &ends.receiver.report] {
        let mut failures: Vec<_> =
            report.failures.iter().map(|failure| (&*failure.name, failure.fault.kind)).collect();
        failures.sort_by_key(|(name, _)| *name);
        assert_eq!(failures, expected);
        assert_eq!(report.failed, failed);
    }
}

/// Stream that runs a callback once a number of bytes has passed.
struct WatchedStream<R>(R, u64, Option<Box<dyn FnOnce() + Send>>);

impl<R: Read> Read for WatchedStream<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // Small reads keep the sender busy.
        let max = into.len().min(10_000);
        let count = self.0.read(&mut into[..max])?;
        self.1 = self.1.saturating_sub(count as u64);
        if self.1 == 0
            && let Some(act) = self.2.take()
        {
            act();
        }
        Ok(count)
    }
}

/// Sends `paths`, and runs `act` once the receiver has received `after` bytes.
pub fn while_sending(
    paths: &[PathBuf],
    to: &TestFolder,
    after: u64,
    act: impl FnOnce() + Send + 'static,
) -> TransferEnds {
    let (mut to_receiver, from_sender, to_sender, from_receiver) =
        crate::transfer::pipes(crate::transfer::Break::never());
    let progress = [Arc::new(Progress::new()), Arc::new(Progress::new())];
    let source = Source::Paths(Roots::new(paths).unwrap());
    let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
    let at_sender = Arc::clone(&progress[0]);
    let sender = std::thread::spawn(move || {
        send_transfer(source, Default::default(), from_receiver, &mut to_receiver, &at_sender)
    });
    let act = || {
        // Modification times have coarse ticks: wait for a later one than that of the previous write.
        std::thread::sleep(Duration::from_millis(20));
        act();
    };
    let mut from_sender = WatchedStream(from_sender, after, Some(Box::new(act)));
    let receiver = receive_transfer(
        Target::Folder(destination),
        &TransferScheduler::default(),
        &mut from_sender,
        to_sender,
        &progress[1],
    );
    TransferEnds { sender: sender.join().unwrap(), receiver, progress }
}

#[test]
fn a_source_that_changes_while_it_is_sent_does_not_become_a_file() {
    type Change = fn(&std::path::Path);
    let changes: [Change; 4] = [
        // Overwritten in place, with its length and time restored.
        |path| {
            let file = OpenOptions::new().write(true).open(path).unwrap();
            let time = file.metadata().unwrap().modified().unwrap();
            (&file).write_all(b"other").unwrap();
            file.set_modified(time).unwrap();
        },
        |path| OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap(),
        |path| OpenOptions::new().write(true).open(path).unwrap().set_len(1_000_000).unwrap(),
        |path| OpenOptions::new().write(true).open(path).unwrap().set_len(0).unwrap(),
    ];
    for change in changes {
        let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
        let paths = [from.write("a", &random_bytes(1, 3_000_000)), from.write("b", b"b")];
        let path = paths[0].clone();
        let ends = while_sending(&paths, &to, 500_000, move || change(&path));
        failures(&ends, &[("a", FaultKind::Changed)]);
        assert!(!to.join("a").exists());
        assert_eq!(to.read("b"), b"b", "the others come through");
        Transfer::default().run(&paths, &to).complete();
        assert_eq!(to.tree(), from.tree());
    }
}

#[test]
fn a_source_that_is_removed_while_it_is_sent_has_vanished() {
    type Removal = fn(&std::path::Path);
    let removals: [(Removal, FaultKind); 3] = [
        (|path| fs::remove_file(path).unwrap(), FaultKind::Vanished),
        // Remove first: an empty file that still has its name would count as changed.
        (
            |path| {
                let file = OpenOptions::new().write(true).open(path).unwrap();
                fs::remove_file(path).unwrap();
                file.set_len(0).unwrap();
            },
            FaultKind::Vanished,
        ),
        // Replaced by another file, as editors do.
        (
            |path| {
                let other = path.with_extension("other");
                fs::write(&other, b"other").unwrap();
                fs::rename(other, path).unwrap();
            },
            FaultKind::Changed,
        ),
    ];
    for (remove, fault) in removals {
        let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
        let paths = [from.write("a", &random_bytes(1, 3_000_000)), from.write("b", b"b")];
        let path = paths[0].clone();
        let ends = while_sending(&paths, &to, 500_000, move || remove(&path));
        failures(&ends, &[("a", fault)]);
        assert_eq!(to.read("b"), b"b", "the others come through");
        assert!(!to.join("a").exists());
        // Only a file that still exists can be resumed.
        let is_left = to.join(&name_of_unfinished("a")).exists();
        assert_eq!(is_left, fault == FaultKind::Changed, "{:?}", to.names());
    }
}

/// Files of procfs have contents but a size of 0: they must not arrive empty.
#[test]
fn files_of_another_size_than_reported_fail() {
    let to = TestFolder::new("to");
    let ends = Transfer::default().run(&["/proc/version".into()], &to);
    failures(&ends, &[("version", FaultKind::Storage)]);
    assert_eq!(to.names(), [""; 0]);
}

#[test]
fn files_that_vanish_or_change_before_their_turn() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let names = ["a", "b", "c", "d"];
    let paths = names.map(|name| from.write(name, &random_bytes(1, 300_000)));
    let [_, b, c, _] = paths.clone();
    let ends = while_sending(&paths, &to, 50_000, move || {
        fs::remove_file(b).unwrap();
        fs::remove_file(&c).unwrap();
        fs::write(&c, b"another file").unwrap();
    });
    failures(&ends, &[("b", FaultKind::Vanished), ("c", FaultKind::Changed)]);
    assert_eq!(to.names(), ["a", "d"]);
}

#[test]
fn obstructing_entries_stay_unchanged() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let outside = TestFolder::new("outside");
    outside.write("victim", b"untouched");
    for name in ["a-link", "b-dangling", "c-folder", "d-part-link", "e-part-hard", "f-part-folder", "g"] {
        from.write(&format!("set/{name}"), name.as_bytes());
    }
    from.write("set/h/file", b"below a file");
    from.write("set/i/file", b"below a link");
    from.write("set/k.Thalweg.Part/file", b"nor is what is in a folder of such a name");
    from.write("set/j.thalweg.part", b"an unfinished file is not sent");
    fs::create_dir_all(to.join("set/c-folder")).unwrap();
    fs::create_dir_all(to.join(&format!("set/{}", name_of_unfinished("f-part-folder")))).unwrap();
    symlink(outside.join("victim"), to.join("set/a-link")).unwrap();
    symlink(outside.join("new"), to.join("set/b-dangling")).unwrap();
    symlink(outside.join("victim"), to.join(&format!("set/{}", name_of_unfinished("d-part-link")))).unwrap();
    fs::hard_link(outside.join("victim"), to.join(&format!("set/{}", name_of_unfinished("e-part-hard"))))
        .unwrap();
    to.write("set/h", b"a file");
    symlink(outside.path(), to.join("set/i")).unwrap();

    let ends = Transfer::default().run(&[from.join("set")], &to);
    let obstructed = ["a-link", "b-dangling", "c-folder", "d-part-link", "e-part-hard", "f-part-folder", "h"];
    let mut expected: Vec<_> =
        obstructed.iter().map(|name| (format!("set/{name}"), FaultKind::PathConflict)).collect();
    expected.push(("set/i".to_owned(), FaultKind::PathConflict));
    let expected: Vec<_> = expected.iter().map(|(name, kind)| (&**name, *kind)).collect();
    // The content of the two failed folders is counted, but not listed.
    failures_among(&ends, &expected, expected.len() as u64 + 2);
    assert_eq!(outside.names(), ["victim"]);
    assert_eq!(outside.read("victim"), b"untouched");
    assert_eq!(to.read("set/g"), b"g");
    let passed: Vec<_> = ends.receiver.report.omissions.iter().map(|it| (&*it.name, it.fault.kind)).collect();
    let unfinished = ["set/j.thalweg.part", "set/k.Thalweg.Part"].map(|name| (name, FaultKind::Unfinished));
    assert_eq!(passed, unfinished);
}

/// A path that is too long to be read can be made by renaming a folder at its beginning.
#[test]
fn folders_that_cannot_be_walked_are_named_on_both_sides() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    from.write("set/file", b"file");
    let mut deep = from.join("set/short");
    let name = "n".repeat(100);
    while deep.as_os_str().len() < 3950 {
        deep.push(&name);
    }
    fs::create_dir_all(&deep).unwrap();
    fs::rename(from.join("set/short"), from.join("set").join("l".repeat(255))).unwrap();
    let ends = Transfer::default().run(&[from.join("set")], &to);
    ends.end();
    assert_eq!(ends.sender.report.failures, ends.receiver.report.failures);
    let [failure] = &ends.receiver.report.failures[..] else { panic!("{:?}", ends.receiver.report) };
    assert_eq!(failure.fault.kind, FaultKind::Storage);
    assert!(failure.name.starts_with("set/lll"), "{}", failure.name);
    assert_eq!(to.read("set/file"), b"file");
}

#[test]
fn a_quota_holds_for_all_that_a_sender_has() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    to.write("earlier", &[0; 1000]);
    let limits = Limits { bytes: Bytes::new(500_000), entries: 4 };
    let quota = Arc::new(Quota::of(to.path(), limits).unwrap());
    let run = |paths: &[PathBuf]| {
        let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
        let target = Target::Folder(destination.with_quota(Arc::clone(&quota)));
        Transfer::default().run_to(Source::Paths(Roots::new(paths).unwrap()), target)
    };
    let paths = ["a", "b", "c"].map(|name| from.write(name, &random_bytes(1, 200_000)));
    let ends = run(&paths);
    failures(&ends, &[("c", FaultKind::SenderQuota)]);
    assert_eq!(quota.used().get(), 401_000);
    // A replaced file counts once; an unchanged one needs no quota.
    let smaller = from.write("a", &random_bytes(2, 100));
    run(&[smaller]).complete();
    assert_eq!(quota.used().get(), 200_000 + 1000 + 100);
    let third = from.write("c", &random_bytes(3, 298_900));
    run(&[third]).complete();
    assert_eq!(quota.used().get(), 500_000);
    let fourth = from.write("d", b"");
    let ends = run(&[fourth]);
    failures(&ends, &[("d", FaultKind::SenderQuota)]);
    assert_eq!(to.names(), ["a", "b", "c", "earlier"]);
    assert_eq!(Quota::of(to.path(), limits).unwrap().used(), quota.used());
}

/// The quota walks paths as a user with read access; no sender's tree prevents that.
#[test]
fn quota_accounting_can_read_every_created_folder() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let deep: PathBuf = std::iter::repeat_n("d".repeat(250), 13).collect();
    fs::create_dir_all(from.join("set").join(&deep)).unwrap();
    fs::create_dir(from.join("set/locked")).unwrap();
    fs::set_permissions(from.join("set/locked"), fs::Permissions::from_mode(0o500)).unwrap();
    let limits = Limits { bytes: Bytes::new(1000), entries: 100 };
    let quota = Arc::new(Quota::of(to.path(), limits).unwrap());
    let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap().with_quota(quota);
    let source = Source::Paths(Roots::new(&[from.join("set")]).unwrap());
    let ends = Transfer::default().run_to(source, Target::Folder(destination));
    let refused = &ends.receiver.report.failures;
    assert!(refused.iter().any(|failure| failure.fault.kind == FaultKind::Name), "{refused:?}");
    let locked = fs::metadata(to.join("set/locked")).unwrap().permissions().mode();
    assert_eq!(locked & 0o777, 0o700);
    assert!(Quota::of(to.path(), limits).is_ok());
}

#[test]
fn a_stream_stops_where_the_quota_does() {
    let to = TestFolder::new("to");
    let limits = Limits { bytes: Bytes::new(1_000_000), entries: 10 };
    let quota = Arc::new(Quota::of(to.path(), limits).unwrap());
    let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
    let target = Target::Folder(destination.with_quota(Arc::clone(&quota)));
    let source = Source::Stream { name: b"endless".to_vec(), bytes: Box::new(io::repeat(7)) };
    let ends = Transfer::default().run_to(source, target);
    ends.sender.result.as_ref().unwrap();
    assert_eq!(ends.sender.report.failures[0].fault.kind, FaultKind::SenderQuota);
    assert!(ends.sender.report.bytes_moved.get() >= 900_000, "it came to the quota");
    // No sender can resume it, so it reserves no room.
    assert!(to.names().is_empty() && ends.receiver.report.unresumable.is_none(), "{:?}", to.names());
    assert_eq!((quota.used(), Quota::of(to.path(), limits).unwrap().used()), (Bytes::ZERO, Bytes::ZERO));
}

/// `/dev/full` returns the error of a full disk, but only as a device: it is the output here. The tests of the command
/// use the error of a real file system.
#[test]
fn a_full_disk_is_reported() {
    let from = TestFolder::new("from");
    // Long enough that the notified thread runs before all is sent, even on a busy host.
    let file = from.write("file", &vec![1; 150_000_000]);
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let source = Source::Paths(Roots::new(&[file]).unwrap());
    let ends = Transfer::default().run_to(source, Target::Output(Box::new(full)));
    ends.sender.result.as_ref().unwrap();
    assert_eq!(ends.sender.report.failures[0].fault.kind, FaultKind::DiskFull);
    assert!(ends.sender.report.bytes_moved.get() < 150_000_000, "what is not wanted is not sent");
}

#[test]
fn a_returning_sender_takes_over_and_others_get_separate_files() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let file = from.write("file", &random_bytes(1, 2_000_000));
    let claims = Claims::default();
    let target = |owner: &str| Target::Folder(Destination::new(to.path(), claims.clone(), owner).unwrap());
    // The old sender is gone, but its connection stays open and silent.
    let (dead, from_dead, ..) = crate::transfer::pipes(crate::transfer::Break::never());
    let (old_to_receiver, from_old, to_old, from_receiver) = crate::transfer::pipes(crate::transfer::Break {
        to_receiver: 1_000_000,
        ..crate::transfer::Break::never()
    });
    let source = Source::Paths(Roots::new(std::slice::from_ref(&file)).unwrap());
    let old = std::thread::spawn(move || {
        let mut stream = old_to_receiver;
        send_transfer(source, Default::default(), from_receiver, &mut stream, &Arc::new(Progress::new()))
    });
    let first = target("anna");
    let hanging = std::thread::spawn(move || {
        // The data before the break, then silence.
        let mut stream = from_old.then_silent(from_dead);
        receive_transfer(
            first,
            &TransferScheduler::default(),
            &mut stream,
            to_old,
            &Arc::new(Progress::new()),
        )
    });
    old.join().unwrap();
    let part = to.join(&name_of_unfinished("file"));
    let begun = Instant::now();
    while fs::metadata(&part).map_or(0, |part| part.len()) < 900_000 {
        assert!(begun.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(5));
    }

    let source = || Source::Paths(Roots::new(std::slice::from_ref(&file)).unwrap());
    // None of anna's data is compared with the data that bert claims to have.
    let break_point = crate::transfer::Break { to_receiver: 300_000, ..crate::transfer::Break::never() };
    let other = Transfer::broken(break_point).run_to(source(), target("bert"));
    assert_eq!(other.receiver.report.resumed.get(), 0);
    let again = Transfer::default().run_to(source(), target("anna"));
    again.complete();
    assert!(again.receiver.report.resumed.get() > 900_000);
    assert_eq!(to.read("file"), from.read("file"));
    drop(dead);
    let outcome = hanging.join().unwrap();
    assert!(outcome.result.is_err());
    let theirs = unfinished_name(b"file", "bert").into_string().unwrap();
    assert_eq!(to.names(), ["file".to_owned(), theirs]);
}

/// Stream that continues as another one when it breaks.
struct ChainedStream<A, B>(A, Option<B>, bool);

trait ThenSilent: Sized {
    fn then_silent<B>(self, then: B) -> ChainedStream<Self, B> {
        ChainedStream(self, Some(then), false)
    }
}

impl ThenSilent for crate::transfer::breakable_pipe::Reader {}

impl<A: Read, B: Read> Read for ChainedStream<A, B> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !self.2 {
            match self.0.read(into) {
                Ok(count @ 1..) => return Ok(count),
                _ => self.2 = true,
            }
        }
        self.1.as_mut().map_or(Ok(0), |then| then.read(into))
    }
}
