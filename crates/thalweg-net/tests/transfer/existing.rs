//! Files that are at the receiver already.

use crate::Transfer;
use crate::places::Place;
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use thalweg_net::transfer::{
    Claims, Destination, Existing, FaultKind, Limits, Options, Quota, Roots, Source, Target,
};
use thalweg_proto::units::Bytes;

fn set_time(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, 123_456_789);
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

fn transfer(owner: &'static str, existing: Existing) -> Transfer {
    Transfer { owner, existing, ..Transfer::default() }
}

/// Sends, and gives what was left alone, with the reason.
fn left(transfer: Transfer, paths: &[PathBuf], to: &Place) -> Vec<(String, FaultKind)> {
    let ends = transfer.run(paths, to);
    ends.end();
    assert_eq!(ends.sender.report.failures, ends.receiver.report.failures, "both sides are told");
    let failures = ends.receiver.report.failures.into_iter();
    failures.map(|failure| (failure.name, failure.fault.kind)).collect()
}

/// However new a sender says that its file is.
#[test]
fn a_file_is_replaced_only_for_who_sent_it() {
    let (from, to) = (Place::new("from"), Place::new("to"));
    let file = from.write("file", b"first");
    let send = |owner| left(transfer(owner, Existing::default()), std::slice::from_ref(&file), &to);
    assert_eq!(send("anna"), []);
    for (contents, time) in [("second", 2_000_000_000), ("third, older", 5)] {
        from.write("file", contents.as_bytes());
        set_time(&file, time);
        // Somebody else may not, she may.
        assert_eq!(send("bert"), [("file".to_owned(), FaultKind::Foreign)]);
        assert_eq!(send("anna"), []);
        assert_eq!(to.read("file"), contents.as_bytes());
    }
    // Changed here since.
    to.write("file", b"edited here");
    from.write("file", b"fourth");
    assert_eq!(send("anna"), [("file".to_owned(), FaultKind::Foreign)]);
    assert_eq!(to.read("file"), b"edited here");
    assert_eq!(to.names(), ["file"], "nothing of it was sent");
}

#[test]
fn contents_that_differ_replace_no_file_of_others() {
    let (from, to) = (Place::new("from"), Place::new("to"));
    let file = from.write("file", b"12345");
    to.write("file", b"ABCDE");
    let options = Options { checksum: true, ..Options::default() };
    let transfer = Transfer { options, ..Transfer::default() };
    assert_eq!(left(transfer, &[file], &to), [("file".to_owned(), FaultKind::Foreign)]);
    assert_eq!(to.read("file"), b"ABCDE");
}

#[test]
fn the_receiver_may_say_otherwise() {
    let (from, to) = (Place::new("from"), Place::new("to"));
    let file = from.write("file", b"new");
    to.write("file", b"precious");
    let send = |existing| left(transfer("anna", existing), std::slice::from_ref(&file), &to);
    assert_eq!(send(Existing::Keep), [("file".to_owned(), FaultKind::Kept)]);
    assert_eq!(to.read("file"), b"precious");
    assert_eq!(send(Existing::Any), []);
    assert_eq!(to.read("file"), b"new");
    // It is hers now, but what is there stays.
    from.write("file", b"newer");
    assert_eq!(send(Existing::Keep), [("file".to_owned(), FaultKind::Kept)]);
    let replaced = transfer("anna", Existing::default()).run(std::slice::from_ref(&file), &to);
    assert_eq!(replaced.receiver.report.replaced, 1);
}

#[test]
fn what_is_replaced_can_be_kept() {
    let (from, to) = (Place::new("from"), Place::new("to"));
    let limits = Limits { bytes: Bytes::new(1000), entries: 10 };
    to.write("file", b"zero");
    let quota = std::sync::Arc::new(Quota::of(to.path(), limits).unwrap());
    let file = from.join("file");
    for contents in ["one", "two"] {
        from.write("file", contents.as_bytes());
        let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
        let destination = destination.with_existing(Existing::Backup).with_quota(quota.clone());
        let source = Source::Paths(Roots::new(std::slice::from_ref(&file)).unwrap());
        Transfer::default().run_to(source, Target::Folder(destination)).complete();
    }
    assert_eq!(to.names(), ["file", "file.~1~", "file.~2~"]);
    assert_eq!([to.read("file"), to.read("file.~1~"), to.read("file.~2~")], [&b"two"[..], b"zero", b"one"]);
    assert_eq!(Quota::of(to.path(), limits).unwrap().used(), quota.used());
}

#[test]
fn hidden_names_at_the_top_are_asked_for() {
    let (from, to) = (Place::new("from"), Place::new("to"));
    let paths = [from.write(".bashrc", b"evil"), from.join(".ssh"), from.join("set")];
    from.write(".ssh/authorized_keys", b"evil");
    from.write("set/.git/config", b"further down they are usual");
    let failed = left(transfer("anna", Existing::Any), &paths, &to);
    assert_eq!(failed, [".bashrc", ".ssh"].map(|name| (name.to_owned(), FaultKind::Hidden)));
    assert_eq!(to.names(), ["set"]);
    assert!(to.join("set/.git/config").exists());
    let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap().with_hidden();
    let source = Source::Paths(Roots::new(&paths).unwrap());
    Transfer::default().run_to(source, Target::Folder(destination)).complete();
    assert_eq!(to.names(), [".bashrc", ".ssh", "set"]);
    fs::remove_dir_all(to.join(".ssh")).unwrap();
}
