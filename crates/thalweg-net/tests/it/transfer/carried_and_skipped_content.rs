//! Content that a transfer carries, and content that it can skip.

use crate::transfer::temporary_folders::{TestFolder, random_bytes};
use crate::transfer::{Break, Transfer, name_of_unfinished};
use std::fs::{self, File, FileTimes};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, SystemTime};
use thalweg_net::transfer::{
    Error, ExistingFilePolicy, FaultKind, Options, Roots, Source, Target, UnresumableItem,
};

fn set_time(path: &std::path::Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, 123_456_789);
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

fn folder_with_all_kinds() -> TestFolder {
    let from = TestFolder::new("from");
    from.write("set/empty", b"");
    from.write("set/small", b"small");
    from.write("set/a b/-c/naïve", &random_bytes(1, 70_000));
    from.write("set/large", &random_bytes(2, 3_500_000));
    fs::create_dir(from.join("set/nothing in it")).unwrap();
    fs::set_permissions(from.join("set/small"), fs::Permissions::from_mode(0o440)).unwrap();
    fs::set_permissions(from.join("set/nothing in it"), fs::Permissions::from_mode(0o510)).unwrap();
    for (number, name) in ["set/small", "set/a b/-c", "set/a b", "set"].iter().enumerate() {
        set_time(&from.join(name), 1_000_000_000 + number as u64);
    }
    from
}

#[test]
fn a_tree_arrives_with_names_times_and_permissions() {
    let (from, to) = (folder_with_all_kinds(), TestFolder::new("to"));
    let ends = Transfer::default().run(&[from.join("set")], &to);
    ends.complete();
    assert_eq!(to.tree(), from.tree());
    let report = &ends.receiver.report;
    assert_eq!((report.files, report.folders, report.bytes_moved.get()), (4, 4, 3_570_005));
    assert_eq!(ends.progress[1].total().unwrap().files, 4);
    assert_eq!(ends.progress[0].bytes().get(), 3_570_005);
}

/// Few folders are held open at a time; the others are reopened.
#[test]
fn folders_may_be_deep() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let mut name = "set".to_owned();
    for depth in 0..100 {
        from.write(&format!("{name}/z"), &random_bytes(depth, 100));
        name.push_str("/d");
    }
    Transfer::default().run(&[from.join("set")], &to).complete();
    assert_eq!(to.tree().keys().collect::<Vec<_>>(), from.tree().keys().collect::<Vec<_>>());
    Transfer::default().run(&[from.join("set")], &to).complete();
    assert_eq!(to.tree(), from.tree());
}

#[test]
fn existing_files_are_not_sent_again() {
    let (from, to) = (folder_with_all_kinds(), TestFolder::new("to"));
    Transfer::default().run(&[from.join("set")], &to).complete();
    let again = Transfer::default().run(&[from.join("set")], &to);
    again.complete();
    let report = &again.sender.report;
    assert_eq!((report.files, report.unchanged, report.bytes_moved.get()), (0, 4, 0));
    assert_eq!(report.skipped.get(), 3_570_005);
    // Different size and time.
    from.write("set/small", b"larger");
    set_time(&from.join("set/large"), 5);
    let changed = Transfer::default().run(&[from.join("set")], &to);
    changed.complete();
    assert_eq!((changed.sender.report.files, changed.sender.report.unchanged), (2, 2));
    assert_eq!(to.tree(), from.tree());
}

#[test]
fn checksum_mode_compares_contents() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    from.write("same", b"12345");
    from.write("other", b"abcde");
    to.write("same", b"12345");
    to.write("other", b"ABCDE");
    let paths = [from.join("same"), from.join("other")];
    for path in &paths {
        set_time(path, 77);
    }
    // Equal size and time, so only contents differ.
    set_time(&to.join("other"), 77);
    let options = Options { checksum: true, ..Options::default() };
    let existing = ExistingFilePolicy::Any;
    let ends = Transfer { options, existing, ..Transfer::default() }.run(&paths, &to);
    ends.complete();
    assert_eq!((ends.sender.report.files, ends.sender.report.unchanged), (1, 1));
    assert_eq!(to.tree(), from.tree(), "the time of the unchanged file is the sender's now");
}

#[test]
fn many_small_files_do_not_wait_for_each_other() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    for number in 0..3000 {
        from.write(&format!("set/{:02}/{number}", number % 40), &random_bytes(number, number as usize % 300));
    }
    let ends = Transfer::default().run(&[from.join("set")], &to);
    ends.complete();
    assert_eq!(ends.sender.report.files, 3000);
    assert_eq!(to.tree(), from.tree());
}

#[test]
fn links_are_not_followed_out_of_a_folder_but_named_ones_are() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    from.write("secret", b"secret");
    from.write("set/file", b"file");
    symlink(from.join("secret"), from.join("set/link")).unwrap();
    symlink(from.join("set"), from.join("named")).unwrap();
    let ends = Transfer::default().run(&[from.join("named")], &to);
    ends.end();
    // Both sides report it.
    for report in [&ends.sender.report, &ends.receiver.report] {
        let [failure] = &report.failures[..] else { panic!("{report:?}") };
        assert_eq!((&*failure.name, failure.fault.kind), ("named/link", FaultKind::Link));
    }
    assert_eq!(to.names(), ["named"]);
    assert_eq!(to.read("named/file"), b"file");
    assert!(fs::symlink_metadata(to.join("named/link")).is_err());
}

#[test]
fn names_of_one_case_do_not_disturb_each_other_where_they_differ() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    for name in ["set/readme", "set/README", "set/ReadMe/x"] {
        from.write(name, name.as_bytes());
    }
    Transfer::default().run(&[from.join("set")], &to).complete();
    assert_eq!(to.tree(), from.tree());
}

/// Output connected to a reader.
struct Output(Sender<Vec<u8>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stream(bytes: Vec<u8>) -> Source {
    Source::Stream { name: b"stream".to_vec(), bytes: Box::new(io::Cursor::new(bytes)) }
}

#[test]
fn a_stream_becomes_a_file_and_a_file_a_stream() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let bytes = random_bytes(3, 2_500_000);
    let destination = thalweg_net::transfer::Destination::new(to.path(), Default::default(), "anna").unwrap();
    Transfer::default().run_to(stream(bytes.clone()), Target::Folder(destination)).complete();
    assert_eq!(to.names(), ["stream"]);
    assert!(to.read("stream") == bytes);

    let file = from.write("file", &bytes);
    for source in [stream(bytes.clone()), Source::Paths(Roots::new(&[file]).unwrap())] {
        let (output, chunks) = channel();
        let target = Target::Output(Box::new(Output(output)));
        let ends = Transfer::default().run_to(source, target);
        ends.complete();
        assert_eq!((&ends.sender.report.unresumable, &ends.receiver.report.unresumable), (&None, &None));
        assert!(chunks.iter().flatten().eq(bytes.iter().copied()));
    }
}

#[test]
fn an_output_takes_one_file_and_reports_its_close() {
    let from = TestFolder::new("from");
    let paths =
        [from.write("a", &random_bytes(1, 10)), from.write("b", b"b"), from.write("set/file", b"file")];
    let source = |paths: &[PathBuf]| Source::Paths(Roots::new(paths).unwrap());
    for set in [&paths[..2], &[paths[0].clone(), from.join("set")], &[from.join("set")]] {
        let (output, chunks) = channel();
        let ends = Transfer::default().run_to(source(set), Target::Output(Box::new(Output(output))));
        let sent = ends.sender.result.unwrap_err();
        assert!(matches!(&sent, Error::EndedByPeer(fault) if fault.kind == FaultKind::Single), "{sent}");
        assert!(sent.to_string().contains("takes one file or stream and no folder"), "{sent}");
        let received = ends.receiver.result.unwrap_err();
        assert!(matches!(&received, Error::Local(fault) if fault.kind == FaultKind::Single), "{received}");
        assert_eq!(chunks.iter().count(), 0, "nothing of it is written");
    }

    let (output, chunks) = channel();
    drop(chunks);
    let ends = Transfer::default().run_to(source(&paths[..1]), Target::Output(Box::new(Output(output))));
    ends.end();
    assert_eq!((ends.sender.report.files, ends.sender.report.failed), (0, 1));
}

#[test]
fn a_stream_that_was_cut_off_begins_anew() {
    let to = TestFolder::new("to");
    let bytes = random_bytes(4, 300_000);
    let target = || {
        let to = thalweg_net::transfer::Destination::new(to.path(), Default::default(), "anna");
        Target::Folder(to.unwrap())
    };
    let breaks = Break { to_receiver: 200_000, ..Break::never() };
    let interrupted = Transfer::broken(breaks).run_to(stream(bytes.clone()), target());
    assert!(interrupted.sender.result.is_err() && interrupted.receiver.result.is_err());
    assert_eq!(to.names(), [name_of_unfinished("stream")]);
    let left = fs::canonicalize(to.join(&name_of_unfinished("stream"))).unwrap();
    assert_eq!(
        interrupted.receiver.report.unresumable,
        Some(UnresumableItem { name: "stream".to_owned(), partial_file: Some(left) })
    );
    assert_eq!(
        interrupted.sender.report.unresumable,
        Some(UnresumableItem { name: "stream".to_owned(), partial_file: None })
    );
    let shorter = random_bytes(5, 1000);
    let ends = Transfer::default().run_to(stream(shorter.clone()), target());
    ends.complete();
    assert_eq!((&ends.sender.report.unresumable, &ends.receiver.report.unresumable), (&None, &None));
    assert_eq!(to.names(), ["stream"]);
    assert_eq!(to.read("stream"), shorter);
}

#[test]
fn roots_have_distinct_names() {
    let from = TestFolder::new("from");
    let paths = [from.write("a/same", b"1"), from.write("b/same", b"2")];
    let (path, why) = Roots::new(&paths).unwrap_err();
    assert!(path == paths[1] && why.contains("same name"), "{why}");
    let unfinished = from.write("x.thalweg.part", b"1");
    let (path, why) = Roots::new(std::slice::from_ref(&unfinished)).unwrap_err();
    assert!(path == unfinished && why.contains("unfinished"), "{why}");
    let missing = Roots::new(&[from.join("missing")]);
    assert_eq!(missing.unwrap_err().0, from.join("missing"));
    assert!(Roots::new(&[PathBuf::from("/")]).is_err());
}
