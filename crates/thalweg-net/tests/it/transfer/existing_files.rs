//! Policies for files that already exist at the receiver.

use crate::transfer::Transfer;
use crate::transfer::temporary_folders::TestFolder;
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use thalweg_net::transfer::{
    Claims, Destination, ExistingFilePolicy, FaultKind, Limits, Options, Quota, Roots, Source, Target,
};
use thalweg_proto::units::Bytes;

fn set_time(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, 123_456_789);
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

fn transfer(owner: &'static str, existing: ExistingFilePolicy) -> Transfer {
    Transfer { owner, existing, ..Transfer::default() }
}

/// Sends, and returns the files left alone, with reasons.
fn skipped_files(transfer: Transfer, paths: &[PathBuf], to: &TestFolder) -> Vec<(String, FaultKind)> {
    let ends = transfer.run(paths, to);
    ends.end();
    assert_eq!(ends.sender.report.failures, ends.receiver.report.failures, "both sides are told");
    let failures = ends.receiver.report.failures.into_iter();
    failures.map(|failure| (failure.name, failure.fault.kind)).collect()
}

/// A sender's newer time stamp makes no difference.
#[test]
fn a_file_is_replaced_only_for_who_sent_it() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let file = from.write("file", b"first");
    let send = |owner| {
        skipped_files(transfer(owner, ExistingFilePolicy::default()), std::slice::from_ref(&file), &to)
    };
    assert_eq!(send("anna"), []);
    for (contents, time) in [("second", 2_000_000_000), ("third, older", 5)] {
        from.write("file", contents.as_bytes());
        set_time(&file, time);
        // Another sender must not replace it; the same sender may.
        assert_eq!(send("bert"), [("file".to_owned(), FaultKind::NotFromSender)]);
        assert_eq!(send("anna"), []);
        assert_eq!(to.read("file"), contents.as_bytes());
    }
    // Changed at the receiver since.
    to.write("file", b"edited here");
    from.write("file", b"fourth");
    assert_eq!(send("anna"), [("file".to_owned(), FaultKind::NotFromSender)]);
    assert_eq!(to.read("file"), b"edited here");
    assert_eq!(to.names(), ["file"], "nothing of it was sent");
}

#[test]
fn contents_that_differ_replace_no_file_of_others() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let file = from.write("file", b"12345");
    to.write("file", b"ABCDE");
    let options = Options { checksum: true, ..Options::default() };
    let transfer = Transfer { options, ..Transfer::default() };
    assert_eq!(skipped_files(transfer, &[file], &to), [("file".to_owned(), FaultKind::NotFromSender)]);
    assert_eq!(to.read("file"), b"ABCDE");
}

#[test]
fn the_receiver_chooses_the_policy_for_existing_files() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let file = from.write("file", b"new");
    to.write("file", b"precious");
    let send = |existing| skipped_files(transfer("anna", existing), std::slice::from_ref(&file), &to);
    assert_eq!(send(ExistingFilePolicy::Keep), [("file".to_owned(), FaultKind::Kept)]);
    assert_eq!(to.read("file"), b"precious");
    assert_eq!(send(ExistingFilePolicy::Any), []);
    assert_eq!(to.read("file"), b"new");
    // The file now belongs to this sender, but `Keep` still protects it.
    from.write("file", b"newer");
    assert_eq!(send(ExistingFilePolicy::Keep), [("file".to_owned(), FaultKind::Kept)]);
    let replaced = transfer("anna", ExistingFilePolicy::default()).run(std::slice::from_ref(&file), &to);
    assert_eq!(replaced.receiver.report.replaced, 1);
}

#[test]
fn replaced_files_can_be_backed_up() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let limits = Limits { bytes: Bytes::new(1000), entries: 10 };
    to.write("file", b"zero");
    let quota = std::sync::Arc::new(Quota::of(to.path(), limits).unwrap());
    let file = from.join("file");
    for contents in ["one", "two"] {
        from.write("file", contents.as_bytes());
        let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
        let destination = destination.with_existing(ExistingFilePolicy::Backup).with_quota(quota.clone());
        let source = Source::Paths(Roots::new(std::slice::from_ref(&file)).unwrap());
        Transfer::default().run_to(source, Target::Folder(destination)).complete();
    }
    assert_eq!(to.names(), ["file", "file.~1~", "file.~2~"]);
    assert_eq!([to.read("file"), to.read("file.~1~"), to.read("file.~2~")], [&b"two"[..], b"zero", b"one"]);
    assert_eq!(Quota::of(to.path(), limits).unwrap().used(), quota.used());
}

#[test]
fn hidden_top_level_names_need_permission() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let paths = [from.write(".bashrc", b"evil"), from.join(".ssh"), from.join("set")];
    from.write(".ssh/authorized_keys", b"evil");
    from.write("set/.git/config", b"further down they are usual");
    let failed = skipped_files(transfer("anna", ExistingFilePolicy::Any), &paths, &to);
    assert_eq!(failed, [".bashrc", ".ssh"].map(|name| (name.to_owned(), FaultKind::DotName)));
    assert_eq!(to.names(), ["set"]);
    assert!(to.join("set/.git/config").exists());
    let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap().with_hidden();
    let source = Source::Paths(Roots::new(&paths).unwrap());
    Transfer::default().run_to(source, Target::Folder(destination)).complete();
    assert_eq!(to.names(), [".bashrc", ".ssh", "set"]);
    fs::remove_dir_all(to.join(".ssh")).unwrap();
}

/// Returns all entries of the folder "to", with the contents of files and the targets of links.
fn all_entries(to: &TestFolder) -> Vec<(String, String)> {
    fn walk(folder: &Path, above: &str, found: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let (name, path) = {
                let entry = entry.unwrap();
                (entry.file_name().into_string().unwrap(), entry.path())
            };
            let metadata = fs::symlink_metadata(&path).unwrap();
            let name = format!("{above}{name}");
            if metadata.is_dir() {
                found.push((format!("{name}/"), String::new()));
                walk(&path, &format!("{name}/"), found);
            } else if metadata.is_symlink() {
                found.push((name, format!("-> {}", fs::read_link(&path).unwrap().display())));
            } else {
                found.push((name, String::from_utf8(fs::read(&path).unwrap()).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(to.path(), "", &mut found);
    found.sort();
    found
}

/// Makes `x` a file, a folder with a file in a folder, or a link to a folder outside.
fn make_entry(kind: &str, place: &TestFolder, outside: &TestFolder, contents: &str) {
    match kind {
        "file" => drop(place.write("set/x", contents.as_bytes())),
        "folder" => drop(place.write("set/x/y/z", contents.as_bytes())),
        _ => {
            fs::create_dir_all(place.join("set")).unwrap();
            std::os::unix::fs::symlink(outside.path(), place.join("set/x")).unwrap();
        }
    }
}

#[test]
fn entries_of_another_kind_are_replaced_if_the_receiver_allows_it() {
    let kinds = ["file", "folder", "link"];
    let limits = Limits { bytes: Bytes::new(10_000), entries: 100 };
    for (old, new) in
        kinds.iter().flat_map(|old| kinds.map(|new| (*old, new))).filter(|(old, new)| old != new)
    {
        let outside = TestFolder::new("outside");
        outside.write("y/z", b"untouched");
        let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
        make_entry(old, &to, &outside, "old");
        make_entry(new, &from, &outside, "new");
        let send = |existing, to: &TestFolder| {
            let quota = std::sync::Arc::new(Quota::of(to.path(), limits).unwrap());
            let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
            let destination =
                destination.with_existing(existing).with_outside_links().with_quota(quota.clone());
            let source = Source::Paths(Roots::new(&[from.join("set")]).unwrap());
            let ends = Transfer::default().run_to(source, Target::Folder(destination));
            ends.end();
            let scanned = Quota::of(to.path(), limits).unwrap();
            if old != "link" && new != "link" {
                assert_eq!(scanned.used(), quota.used(), "{old} to {new}");
            }
            ends.receiver.report
        };
        let before = all_entries(&to);
        for existing in [ExistingFilePolicy::Sent, ExistingFilePolicy::Keep] {
            let report = send(existing, &to);
            assert_eq!(
                (&*report.failures[0].name, report.failures[0].fault.kind),
                ("set/x", FaultKind::PathConflict)
            );
            assert!(
                report.failures[0].fault.text.contains("--overwrite or --backup"),
                "{:?}",
                report.failures
            );
            assert_eq!(all_entries(&to), before, "{old} to {new}");
        }
        let kept = TestFolder::new("to");
        make_entry(old, &kept, &outside, "old");
        for (existing, to) in [(ExistingFilePolicy::Any, &to), (ExistingFilePolicy::Backup, &kept)] {
            let report = send(existing, to);
            assert_eq!((report.failures, report.replaced), (vec![], 1), "{old} to {new}");
            let mut expected = all_entries(&from);
            if existing == ExistingFilePolicy::Backup {
                let aside = before.iter().filter(|(name, _)| name.starts_with("set/x"));
                expected.extend(
                    aside.map(|(name, contents)| (name.replacen("set/x", "set/x.~1~", 1), contents.clone())),
                );
                expected.sort();
            }
            assert_eq!(all_entries(to), expected, "{old} to {new}");
        }
        assert_eq!(outside.read("y/z"), b"untouched", "{old} to {new}");
    }
}

/// Devices, sockets and pipes are never replaced.
#[test]
fn special_files_are_never_replaced() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let file = from.write("x", b"new");
    let _socket = std::os::unix::net::UnixListener::bind(to.join("x")).unwrap();
    for existing in [
        ExistingFilePolicy::Sent,
        ExistingFilePolicy::Keep,
        ExistingFilePolicy::Any,
        ExistingFilePolicy::Backup,
    ] {
        let failed = skipped_files(transfer("anna", existing), std::slice::from_ref(&file), &to);
        assert_eq!(failed, [("x".to_owned(), FaultKind::PathConflict)]);
        assert_eq!(to.names(), ["x"]);
    }
}

/// A name that is refused when its contents arrive leaves nothing behind.
#[test]
fn a_file_that_is_refused_leaves_no_empty_one() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let paths = ["a", "b"]
        .map(|name| from.write(name, &crate::transfer::temporary_folders::random_bytes(1, 300_000)));
    let there = to.join("b");
    // Another process creates a file of this name while the first one arrives.
    let ends = crate::transfer::file_faults::while_sending(&paths, &to, 50_000, move || {
        fs::write(there, b"another's").unwrap();
    });
    ends.end();
    assert_eq!(ends.receiver.report.failures[0].fault.kind, FaultKind::NotFromSender);
    assert_eq!(to.names(), ["a", "b"]);
    assert_eq!(to.read("b"), b"another's");
}
