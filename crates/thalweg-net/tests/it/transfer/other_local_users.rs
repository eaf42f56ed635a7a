//! Other users of the receiver's host: their access to its folder while files arrive, and the permissions of received
//! files.

use crate::transfer::file_faults::while_sending;
use crate::transfer::temporary_folders::{TestFolder, random_bytes};
use crate::transfer::{Transfer, TransferEnds};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use thalweg_net::transfer::{Claims, Destination, FaultKind, Roots, Source, Target};

fn set_mode(place: &TestFolder, name: &str, mode: u32) {
    fs::set_permissions(place.join(name), fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(place: &TestFolder, name: &str) -> u32 {
    fs::metadata(place.join(name)).unwrap().permissions().mode() & 0o7777
}

/// A local user replaces a folder by a link to another user's folder while a file arrives in it. Later data goes to the
/// folder that the transfer opened, or nowhere.
#[test]
fn a_folder_that_becomes_a_link_while_files_arrive_leads_nowhere() {
    let (from, to, victim) = (TestFolder::new("from"), TestFolder::new("to"), TestFolder::new("victim"));
    from.write("set/sub/a", &random_bytes(1, 1_000_000));
    from.write("set/sub/b", b"authorized");
    let (top, target) = (to.path().to_owned(), victim.path().to_owned());
    let ends = while_sending(&[from.join("set")], &to, 300_000, move || {
        fs::rename(top.join("set/sub"), top.join("set/old")).unwrap();
        symlink(target, top.join("set/sub")).unwrap();
    });
    ends.end();
    assert_eq!(victim.names(), [""; 0]);
    assert_eq!(to.read("set/old/b"), b"authorized", "it is the folder that the transfer was in");
    assert!(to.read("set/old/a") == random_bytes(1, 1_000_000));
}

/// The same with a folder whose offers ended long before its contents arrive.
#[test]
fn a_folder_that_was_left_is_not_taken_for_another() {
    let replace: [fn(&std::path::Path, &std::path::Path); 3] = [
        |sub, victim| symlink(victim, sub).unwrap(),
        |sub, _| fs::create_dir(sub).unwrap(),
        |sub, _| fs::write(sub, b"a file").unwrap(),
    ];
    for replace in replace {
        let (from, to, victim) = (TestFolder::new("from"), TestFolder::new("to"), TestFolder::new("victim"));
        from.write("set/large", &random_bytes(1, 1_000_000));
        from.write("set/sub/a", b"authorized");
        from.write("set/sub/b", b"authorized");
        from.write("set/tail", b"tail");
        let (sub, old) = (to.join("set/sub"), to.join("set/old"));
        let target = victim.path().to_owned();
        let ends = while_sending(&[from.join("set")], &to, 300_000, move || {
            fs::rename(&sub, old).unwrap();
            replace(&sub, &target);
        });
        expect_failures(&ends, &["set/sub/a", "set/sub/b"]);
        assert_eq!(victim.names(), [""; 0]);
        assert_eq!(to.read("set/tail"), b"tail", "the others come through");
        let sub = to.join("set/sub");
        assert!(!sub.is_dir() || sub.is_symlink() || fs::read_dir(sub).unwrap().count() == 0);
    }
}

#[track_caller]
fn expect_failures(ends: &TransferEnds, names: &[&str]) {
    ends.end();
    for report in [&ends.sender.report, &ends.receiver.report] {
        let failed: Vec<_> = report.failures.iter().map(|failure| &*failure.name).collect();
        assert_eq!(failed, names);
        assert!(report.failures.iter().all(|failure| failure.fault.kind == FaultKind::PathConflict));
    }
}

#[test]
fn transferred_files_are_never_writable_by_group_or_others() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    from.write("set/sub/file", b"file");
    from.write("set/tool", b"tool");
    for (name, bits) in [("set", 0o777), ("set/sub", 0o770), ("set/sub/file", 0o666), ("set/tool", 0o777)] {
        set_mode(&from, name, bits);
    }
    Transfer::default().run(&[from.join("set")], &to).complete();
    let mask = umask();
    for (name, bits) in [("set", 0o755), ("set/sub", 0o750), ("set/sub/file", 0o644), ("set/tool", 0o755)] {
        assert_eq!(mode(&to, name), bits & !mask, "{name}");
    }
    // With the option, files keep these permissions, even if they already exist here.
    let exact = |to: &TestFolder| {
        let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
        let target = Target::Folder(destination.with_permissions());
        let source = Source::Paths(Roots::new(&[from.join("set")]).unwrap());
        Transfer::default().run_to(source, target).complete();
        for name in ["set", "set/sub", "set/sub/file", "set/tool"] {
            assert_eq!(mode(to, name), mode(&from, name), "{name}");
        }
    };
    exact(&to);
    exact(&TestFolder::new("to"));
}

#[test]
fn folders_that_are_here_keep_their_permissions() {
    for bits in [0o1777, 0o2770, 0o700, 0o555, 0o300, 0o000] {
        let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
        from.write("set/file", b"file");
        set_mode(&from, "set", 0o777);
        fs::create_dir(to.join("set")).unwrap();
        set_mode(&to, "set", bits);
        Transfer::default().run(&[from.join("set")], &to).complete();
        assert_eq!(mode(&to, "set"), bits, "{bits:o}");
        set_mode(&to, "set", 0o700);
        assert_eq!(to.read("set/file"), b"file");
    }
}

/// Returns the umask of this process, as seen in its files.
fn umask() -> u32 {
    let place = TestFolder::new("mask");
    place.write("file", b"");
    !mode(&place, "file") & 0o666 | (!mode(&place, "") & 0o111)
}
