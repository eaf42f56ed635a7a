//! Transfers interrupted repeatedly at any byte, with disks that lose the latest writes.

use crate::transfer::temporary_folders::{TestFolder, random_bytes};
use crate::transfer::{Break, Transfer, name_of_unfinished};
use proptest::prelude::*;
use std::fs::{self, File, FileTimes, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use thalweg_net::transfer::tree_hash::BLOCK;
use thalweg_net::transfer::{Error, ExistingFilePolicy};

/// Damage to an unfinished file between two attempts.
#[derive(Clone, Copy, Debug)]
enum Damage {
    None,
    /// The end is lost; this part of 256 remains.
    Cut(u8),
    /// A block reads as zeros from this position on, in parts of 256.
    Zeros(u8),
    /// Surplus bytes that no sender sent.
    Surplus(u16),
    /// The file is removed.
    Gone,
}

fn any_damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => Just(Damage::None),
        2 => any::<u8>().prop_map(Damage::Cut),
        2 => any::<u8>().prop_map(Damage::Zeros),
        1 => any::<u16>().prop_map(Damage::Surplus),
        1 => Just(Damage::Gone),
    ]
}

fn unfinished_files(to: &TestFolder) -> Vec<PathBuf> {
    let names = to.tree().into_keys().filter(|name| name.to_string_lossy().ends_with(".thalweg.part"));
    names.map(|name| to.path().join(name)).collect()
}

fn apply(damage: Damage, path: &Path) {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let length = file.metadata().unwrap().len();
    let share = |part: u8| length * u64::from(part) / 256;
    match damage {
        Damage::None => {}
        Damage::Cut(part) => file.set_len(share(part)).unwrap(),
        Damage::Zeros(part) => {
            let zeros = vec![0; usize::try_from((length - share(part)).min(5000)).unwrap()];
            file.write_all_at(&zeros, share(part)).unwrap();
        }
        Damage::Surplus(count) => file.write_all_at(&random_bytes(9, count.into()), length).unwrap(),
        Damage::Gone => fs::remove_file(path).unwrap(),
    }
}

/// Checks that a file under a final name is the sender's, or the previous one.
#[track_caller]
fn holds_nothing_wrong(from: &TestFolder, to: &TestFolder, before: Option<&[u8]>) {
    let source = from.tree();
    for (name, (_, _, contents)) in to.tree() {
        if !name.to_string_lossy().ends_with(".thalweg.part") {
            let right = &source.get(&name).unwrap_or_else(|| panic!("{} is too much", name.display())).2;
            let is_old = before.is_some() && contents.as_deref() == before;
            assert!(contents == *right || is_old, "{} has wrong contents", name.display());
        }
    }
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let block = BLOCK as usize;
    let size = prop_oneof![
        3 => 0..3000usize,
        2 => 0..200_000usize,
        1 => block - 2..block + 3,
        1 => 2 * block..4 * block,
    ];
    prop::collection::vec(size, 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn whatever_breaks_the_end_is_the_senders_tree(
        sizes in sizes(),
        breaks in prop::collection::vec((0..1_000_000u64, 1..2000u64, any::<bool>(), any_damage()), 0..6),
    ) {
        let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
        for (number, size) in sizes.iter().enumerate() {
            let path = from.write(&format!("set/{}/{number}", number % 2), &random_bytes(number as u64, *size));
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1000 + number as u64);
            File::open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        // One of them has an older version at the receiver.
        let old = b"an older version".to_vec();
        to.write("set/0/0", &old);
        let total: u64 = sizes.iter().map(|size| *size as u64).sum::<u64>() + 2000;
        for (share, replies, is_there, damage) in breaks {
            let breaks = if is_there {
                Break { to_receiver: 1 + total * share / 1_000_000, ..Break::never() }
            } else {
                Break { to_sender: replies, ..Break::never() }
            };
            let transfer = Transfer { existing: ExistingFilePolicy::Any, ..Transfer::broken(breaks) };
            let ends = transfer.run(&[from.join("set")], &to);
            for result in [&ends.sender.result, &ends.receiver.result] {
                prop_assert!(matches!(result, Ok(()) | Err(Error::ConnectionEnded(_))), "{result:?}");
            }
            holds_nothing_wrong(&from, &to, Some(&old));
            unfinished_files(&to).iter().for_each(|path| apply(damage, path));
        }
        let transfer = Transfer { existing: ExistingFilePolicy::Any, ..Transfer::default() };
        let ends = transfer.run(&[from.join("set")], &to);
        ends.complete();
        prop_assert!(to.tree() == from.tree(), "the trees differ");
    }
}

/// Sends a file with a break at each of some offsets, without sending received data again.
#[test]
fn not_one_byte_is_sent_twice() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let size = 3 * BLOCK + 12_345;
    let file = from.write("file", &random_bytes(1, size as usize));
    let (mut moved, mut attempts) = (0, 0);
    loop {
        attempts += 1;
        assert!(attempts < 100);
        let breaks = Break { to_receiver: 123_457, ..Break::never() };
        let ends = Transfer::broken(breaks).run(std::slice::from_ref(&file), &to);
        moved += ends.receiver.report.bytes_moved.get();
        holds_nothing_wrong(&from, &to, None);
        if ends.receiver.result.is_ok() && ends.sender.result.is_ok() {
            break;
        }
    }
    assert_eq!(moved, size);
    assert_eq!(to.tree(), from.tree());
}

#[test]
fn every_byte_of_a_short_conversation_can_be_the_last() {
    let from = TestFolder::new("from");
    from.write("set/a", b"first");
    from.write("set/b", &random_bytes(2, 100));
    for cut in 1..450 {
        for is_there in [true, false] {
            let to = TestFolder::new("to");
            let breaks = if is_there {
                Break { to_receiver: cut, ..Break::never() }
            } else {
                Break { to_sender: cut, ..Break::never() }
            };
            Transfer::broken(breaks).run(&[from.join("set")], &to);
            holds_nothing_wrong(&from, &to, None);
            Transfer::default().run(&[from.join("set")], &to).complete();
            assert_eq!(to.tree(), from.tree());
        }
    }
}

#[test]
fn only_the_damaged_block_is_sent_again() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    let size = 5 * BLOCK + 777;
    let bytes = random_bytes(1, size as usize);
    let file = from.write("file", &bytes);
    // State after a power failure: the length is right, but a page is missing.
    let mut left = bytes.clone();
    left[2 * BLOCK as usize + 4096..][..4096].fill(0);
    to.write(&name_of_unfinished("file"), &left);
    let ends = Transfer::default().run(&[file], &to);
    ends.complete();
    assert_eq!(ends.receiver.report.bytes_moved.get(), BLOCK);
    assert_eq!(ends.receiver.report.resumed.get(), size - BLOCK);
    assert_eq!(ends.progress.map(|progress| progress.fresh().get()), [BLOCK; 2]);
    assert_eq!(to.tree(), from.tree());
}

#[test]
fn an_unfinished_file_of_another_version_is_of_no_use_but_of_no_harm() {
    for length in [10, BLOCK as usize, 2 * BLOCK as usize + 5, 6 * BLOCK as usize] {
        let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
        let file = from.write("file", &random_bytes(1, 2 * BLOCK as usize + 100));
        to.write(&name_of_unfinished("file"), &random_bytes(2, length));
        let ends = Transfer::default().run(&[file], &to);
        ends.complete();
        assert_eq!(ends.receiver.report.resumed.get(), 0);
        assert_eq!(to.tree(), from.tree());
    }
}

#[test]
fn a_complete_unfinished_file_only_needs_its_name() {
    for size in [1, 1000, BLOCK as usize, 3 * BLOCK as usize] {
        let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
        let file = from.write("file", &random_bytes(1, size));
        // It was complete except for the rename, and is read-only like its source.
        let part = to.write(&name_of_unfinished("file"), &random_bytes(1, size));
        let mut permissions = fs::metadata(&part).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&part, permissions).unwrap();
        let ends = Transfer::default().run(&[file], &to);
        ends.complete();
        assert_eq!(ends.receiver.report.bytes_moved.get(), 0);
        assert_eq!(to.tree(), from.tree());
    }
}
