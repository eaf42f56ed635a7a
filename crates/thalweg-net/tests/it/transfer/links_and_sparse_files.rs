//! Links, sparse files and unsupported file types.

use crate::transfer::temporary_folders::{TestFolder, random_bytes};
use crate::transfer::{Break, Transfer};
use std::fs::{self, File, FileTimes, OpenOptions};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};
use thalweg_net::transfer::transfer_messages::UnpreservedMetadata;
use thalweg_net::transfer::tree_hash::BLOCK;
use thalweg_net::transfer::{
    Claims, Destination, ExistingFilePolicy, FaultKind, Options, Roots, Source, Target,
};

fn target(path: &Path) -> String {
    fs::read_link(path).unwrap().into_os_string().into_string().unwrap()
}

#[test]
fn symbolic_links_are_transferred_unchanged() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    from.write("set/lib/libx.so.1.2", b"code");
    let links = [
        ("set/lib/libx.so", "libx.so.1.2"),
        ("set/dangling", "nothing/here"),
        ("set/lib/up", "../../beside"),
        ("set/folder", "lib"),
    ];
    for (name, target) in links {
        symlink(target, from.join(name)).unwrap();
    }
    let ends = Transfer::default().run(&[from.join("set")], &to);
    ends.complete();
    assert_eq!((ends.sender.report.files, ends.sender.report.links), (1, 4));
    for (name, expected) in links {
        assert_eq!(target(&to.join(name)), expected);
        let time = |place: &TestFolder| fs::symlink_metadata(place.join(name)).unwrap().modified().unwrap();
        assert_eq!(time(&to), time(&from), "{name}");
    }
    let again = Transfer::default().run(&[from.join("set")], &to);
    again.complete();
    assert_eq!((again.sender.report.links, again.sender.report.unchanged), (0, 5));
    // A link is replaced by another target only if the receiver allows it: links carry no mark of their sender.
    fs::remove_file(from.join("set/lib/libx.so")).unwrap();
    symlink("libx.so.2", from.join("set/lib/libx.so")).unwrap();
    let kept = Transfer::default().run(&[from.join("set")], &to);
    kept.end();
    assert_eq!(kept.receiver.report.failures[0].fault.kind, FaultKind::NotFromSender);
    Transfer { existing: ExistingFilePolicy::Any, ..Transfer::default() }
        .run(&[from.join("set")], &to)
        .complete();
    assert_eq!(target(&to.join("set/lib/libx.so")), "libx.so.2");
}

#[test]
fn links_that_lead_outside_are_reported_and_need_permission() {
    let (from, to, outside) = (TestFolder::new("from"), TestFolder::new("to"), TestFolder::new("outside"));
    outside.write("victim", b"untouched");
    from.write("set/file", b"file");
    let absolute = outside.join("victim").into_os_string().into_string().unwrap();
    let links = [("set/a", &*absolute), ("set/b", "../../x"), ("set/c", "sub/../../../x")];
    for (name, target) in links {
        symlink(target, from.join(name)).unwrap();
    }
    let ends = Transfer::default().run(&[from.join("set")], &to);
    ends.end();
    for report in [&ends.sender.report, &ends.receiver.report] {
        let failed: Vec<_> = report.failures.iter().map(|it| (&*it.name, it.fault.kind)).collect();
        assert_eq!(failed, links.map(|(name, _)| (name, FaultKind::Link)));
    }
    assert_eq!(fs::read_dir(to.join("set")).unwrap().count(), 1);
    // The sender can detect them in advance.
    let (audit, _) = Roots::new(&[from.join("set")]).unwrap().audit(0);
    assert_eq!((audit.failed, audit.failures), (3, ends.sender.report.failures));

    let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
    let target_of_all = Target::Folder(destination.with_outside_links());
    let source = Source::Paths(Roots::new(&[from.join("set")]).unwrap());
    Transfer::default().run_to(source, target_of_all).complete();
    for (name, expected) in links {
        assert_eq!(target(&to.join(name)), expected);
    }
    // Nothing is written through a link: a file of that name is sent now.
    fs::remove_file(from.join("set/a")).unwrap();
    from.write("set/a", b"overwritten");
    for existing in [ExistingFilePolicy::Sent, ExistingFilePolicy::Any, ExistingFilePolicy::Backup] {
        let ends = Transfer { existing, ..Transfer::default() }.run(&[from.join("set/a")], &to);
        ends.complete();
        fs::remove_file(to.join("a")).unwrap();
        Transfer { existing, ..Transfer::default() }.run(&[from.join("set")], &to).end();
        assert_eq!(outside.read("victim"), b"untouched");
    }
}

#[test]
fn further_names_of_a_file_are_no_copies() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let first = from.write("set/a", &random_bytes(1, 2_000_000));
    from.write("set/m", b"between");
    from.write("set/sub/x", b"x");
    for name in ["set/b", "set/sub/c", "set/z"] {
        fs::hard_link(&first, from.join(name)).unwrap();
    }
    let number = |place: &TestFolder, name: &str| fs::metadata(place.join(name)).unwrap().ino();
    let names = ["set/a", "set/b", "set/sub/c", "set/z"];
    let are_one = |to: &TestFolder| {
        assert!(names.iter().all(|name| number(to, name) == number(to, "set/a")));
        assert_eq!(to.tree(), from.tree());
    };
    let ends = Transfer::default().run(&[from.join("set")], &to);
    ends.complete();
    let report = &ends.sender.report;
    assert_eq!((report.files, report.links, report.bytes_moved.get()), (3, 3, 2_000_008));
    are_one(&to);
    let again = Transfer::default().run(&[from.join("set")], &to);
    again.complete();
    assert_eq!((again.sender.report.unchanged, again.sender.report.links), (6, 0));
    // A new version replaces all names.
    fs::write(&first, random_bytes(2, 1_000_000)).unwrap();
    Transfer::default().run(&[from.join("set")], &to).complete();
    are_one(&to);
    // The transfer breaks anywhere.
    for cut in (500..1_000_900).step_by(99_000) {
        let to = TestFolder::new("to");
        Transfer::broken(Break { to_receiver: cut, ..Break::never() }).run(&[from.join("set")], &to);
        Transfer::default().run(&[from.join("set")], &to).complete();
        are_one(&to);
    }
}

#[test]
fn a_hard_link_to_an_untransferred_file_is_not_created() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let first = from.write("set/a", b"new");
    fs::hard_link(&first, from.join("set/b")).unwrap();
    to.write("set/a", b"somebody else's");
    let ends = Transfer::default().run(&[from.join("set")], &to);
    ends.end();
    let failed: Vec<_> = ends.sender.report.failures.iter().map(|it| (&*it.name, it.fault.kind)).collect();
    assert_eq!(failed, [("set/a", FaultKind::NotFromSender), ("set/b", FaultKind::Stopped)]);
    assert!(!to.join("set/b").exists());
}

/// Creates a file of this size with pieces of data of 5000 bytes each.
fn sparse(place: &TestFolder, name: &str, size: u64, data: &[u64]) -> std::path::PathBuf {
    let path = place.write(name, b"");
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(size).unwrap();
    for &at in data {
        file.write_all_at(&random_bytes(at, 5000), at).unwrap();
    }
    path
}

#[test]
fn holes_stay_holes() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let mib = BLOCK;
    for (name, size, data) in [
        ("empty", 200 * mib, &[][..]),
        ("middle", 100 * mib + 17, &[50 * mib + 4096]),
        ("ends", 30 * mib, &[0, 30 * mib - 5000]),
        ("short", mib / 2, &[]),
        ("block", mib, &[]),
        ("several", 20 * mib + 1, &[3 * mib - 2500, 9 * mib, 10 * mib]),
    ] {
        let path = sparse(&from, name, size, data);
        if fs::metadata(&path).unwrap().blocks() * 512 >= size {
            eprintln!("skipped: this file system has no holes");
            return;
        }
        let ends = Transfer::default().run(std::slice::from_ref(&path), &to);
        ends.complete();
        let report = &ends.sender.report;
        assert_eq!(report.holes.get() + report.bytes_moved.get(), size, "{name}");
        assert_eq!(ends.progress[0].bytes().get(), size, "{name}");
        assert!(to.read(name) == from.read(name), "{name}");
        // The last block, and blocks with some data, are sent whole.
        let max = (2 * data.len() as u64 + 1) * mib + 65_536;
        assert!(fs::metadata(to.join(name)).unwrap().blocks() * 512 <= max, "{name}");
    }
}

/// Data of an earlier transfer in place of a hole is not mistaken for zeros.
#[test]
fn a_hole_takes_the_place_of_what_was_left() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let size = 8 * BLOCK;
    let path = sparse(&from, "file", size, &[2 * BLOCK]);
    for length in [3 * BLOCK / 2, 5 * BLOCK, size + 10] {
        let _ = fs::remove_file(to.join("file"));
        to.write(
            &crate::transfer::name_of_unfinished("file"),
            &random_bytes(9, usize::try_from(length).unwrap()),
        );
        Transfer::default().run(std::slice::from_ref(&path), &to).complete();
        assert!(to.read("file") == from.read("file"));
    }
    for cut in [200, BLOCK / 2, BLOCK + 1000] {
        let _ = fs::remove_file(to.join("file"));
        Transfer::broken(Break { to_receiver: cut, ..Break::never() }).run(std::slice::from_ref(&path), &to);
        Transfer::default().run(std::slice::from_ref(&path), &to).complete();
        assert!(to.read("file") == from.read("file"));
    }
}

#[test]
fn lost_properties_are_counted_on_both_sides() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let file = from.write("set/file", b"file");
    let tool = from.write("set/tool", b"tool");
    let plain = Transfer::default().run(&[from.join("set")], &to);
    plain.complete();
    assert!(plain.receiver.report.is_complete(), "the mark of the receiver is none of the sender's");
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::setxattr(&file, "user.origin", b"somewhere", flags).is_err() {
        eprintln!("skipped: this file system has no attributes");
        return;
    }
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).unwrap();
    let ends = Transfer::default().run(&[from.join("set")], &to);
    ends.complete();
    let lost = UnpreservedMetadata { attributes: 1, setuid_bits: 1, ..UnpreservedMetadata::default() };
    assert_eq!((ends.sender.report.lost, ends.receiver.report.lost), (lost, lost));
    let (report, parts) = Roots::new(&[from.join("set")]).unwrap().audit(9);
    assert_eq!(report.lost, lost);
    let sum = parts.iter().map(|(_, lost)| lost.counts().map(|(count, ..)| count).iter().sum::<u64>());
    assert_eq!(sum.sum::<u64>(), lost.counts().map(|(count, ..)| count).iter().sum());
    assert!(parts.iter().all(|(name, _)| name.starts_with("set")), "{parts:?}");
    // Forwarded files carry a mark that is not counted.
    let onward = Transfer::default().run(&[to.join("set/file")], &TestFolder::new("further"));
    onward.complete();
    assert!(onward.sender.report.is_complete());
}

#[test]
fn the_sticky_bit_of_a_folder_is_preserved() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    from.write("set/file", b"file");
    fs::set_permissions(from.join("set"), fs::Permissions::from_mode(0o1777)).unwrap();
    let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(5));
    File::open(from.join("set")).unwrap().set_times(time).unwrap();
    Transfer::default().run(&[from.join("set")], &to).complete();
    let mode = |place: &TestFolder| fs::metadata(place.join("set")).unwrap().permissions().mode();
    assert_eq!(mode(&to) & 0o1022, 0o1000);
    let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap().with_permissions();
    let source = Source::Paths(Roots::new(&[from.join("set")]).unwrap());
    Transfer::default().run_to(source, Target::Folder(destination)).complete();
    assert_eq!(mode(&to), mode(&from));
}

/// Blocks of zeros are equal, stored or not. Holes are not read: a tebibyte would take minutes.
#[test]
fn contents_are_compared_without_reading_holes() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let (mib, gib) = (BLOCK, 1 << 30);
    for (name, size, data) in [
        ("large", 1024 * gib + 5, &[0, 700 * gib + 123][..]),
        ("empty", 1024 * gib, &[]),
        ("zeros", 9 * mib, &[4 * mib]),
        ("nothing", 0, &[]),
        ("block", mib, &[]),
        ("last", 2 * mib, &[2 * mib - 5000]),
    ] {
        let [path, there] = [&from, &to].map(|place| sparse(place, name, size, data));
        if size > mib && fs::metadata(&path).unwrap().blocks() * 512 >= size {
            eprintln!("skipped: this file system has no holes");
            return;
        }
        if name == "zeros" {
            OpenOptions::new()
                .write(true)
                .open(&there)
                .unwrap()
                .write_all_at(&vec![0; 2 << 20], mib)
                .unwrap();
        }
        let send = || {
            let options = Options { checksum: true, ..Options::default() };
            let transfer = Transfer { options, existing: ExistingFilePolicy::Keep, ..Transfer::default() };
            let ends = transfer.run(std::slice::from_ref(&path), &to);
            assert_eq!(ends.sender.report.failures, ends.receiver.report.failures);
            (ends.sender.report.unchanged, ends.receiver.report.failed)
        };
        assert_eq!(send(), (1, 0), "{name}");
        if size > 0 {
            let file = OpenOptions::new().write(true).open(&there).unwrap();
            file.write_all_at(b"x", size / 2).unwrap();
            assert_eq!(send(), (0, 1), "{name}: another byte was not seen");
        }
    }
}
