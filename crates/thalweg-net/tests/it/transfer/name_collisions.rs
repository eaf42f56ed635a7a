//! Trees of names made to collide with each other and with the names of unfinished files, from one sender and from two
//! at once, with broken connections and killed receivers. Every file is complete, or both ends report it as failed.

use crate::transfer::temporary_folders::{TestFolder, random_bytes};
use crate::transfer::{Break, Transfer, TransferEnds, name_of_unfinished};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileTimes};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use thalweg_net::transfer::{
    Claims, Destination, ExistingFilePolicy, FaultKind, Progress, Roots, Source, Target, TransferScheduler,
    receive_transfer, send_transfer,
};

/// Entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PreviewItem {
    File(Vec<u8>),
    Link(PathBuf),
    Folder,
}

/// Returns all entries below a folder by path, except for unfinished files.
fn items(top: &Path) -> BTreeMap<PathBuf, PreviewItem> {
    fn walk(top: &Path, folder: &Path, items: &mut BTreeMap<PathBuf, PreviewItem>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if is_unfinished(path.file_name().unwrap()) {
                continue;
            }
            let item = if metadata.is_symlink() {
                PreviewItem::Link(fs::read_link(&path).unwrap())
            } else if metadata.is_dir() {
                walk(top, &path, items);
                PreviewItem::Folder
            } else {
                PreviewItem::File(fs::read(&path).unwrap())
            };
            items.insert(path.strip_prefix(top).unwrap().to_owned(), item);
        }
    }
    let mut items = BTreeMap::new();
    walk(top, top, &mut items);
    items
}

fn is_unfinished(name: &OsStr) -> bool {
    name.as_bytes().ends_with(b".thalweg.part")
}

/// Returns the unfinished files below a folder.
fn unfinished_files(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(top).unwrap() {
        let entry = entry.unwrap();
        if is_unfinished(&entry.file_name()) {
            found.push(entry.path());
        } else if entry.file_type().unwrap().is_dir() {
            found.extend(unfinished_files(&entry.path()));
        }
    }
    found
}

/// Returns the failed paths with their reasons, and checks that both ends report the same.
fn failed_paths(ends: &TransferEnds) -> Result<BTreeMap<String, FaultKind>, TestCaseError> {
    let names = |report: &thalweg_net::transfer::Report| -> BTreeMap<String, FaultKind> {
        let all = report.failures.iter().chain(&report.omissions);
        all.map(|failure| (failure.name.clone(), failure.fault.kind)).collect()
    };
    let [ours, theirs] = [names(&ends.sender.report), names(&ends.receiver.report)];
    prop_assert_eq!(&ours, &theirs, "the two ends name different things");
    prop_assert_eq!(ends.sender.report.failed, ends.receiver.report.failed);
    Ok(ours)
}

/// Returns true if the entry, or a folder above it, is reported.
fn is_named(named: &BTreeMap<String, FaultKind>, path: &Path) -> bool {
    let shown = |path: &Path| {
        let names = path.iter().map(|name| thalweg_net::transfer::escape_unsafe(name.as_bytes()));
        names.collect::<Vec<_>>().join("/")
    };
    path.ancestors().filter(|path| !path.as_os_str().is_empty()).any(|path| named.contains_key(&shown(path)))
}

/// Checks that every file under a final name equals that of one of the senders.
fn holds_nothing_wrong(sources: &[&TestFolder], to: &TestFolder) -> Result<(), TestCaseError> {
    let sources: Vec<_> = sources.iter().map(|from| items(from.path())).collect();
    for (path, item) in items(to.path()) {
        let holders = |item: &PreviewItem| -> Vec<_> {
            let of = |(number, source): (usize, &BTreeMap<PathBuf, PreviewItem>)| {
                let equal = source.iter().filter(|(_, other)| *other == item);
                equal.map(|(path, _)| (number, path.clone())).collect::<Vec<_>>()
            };
            sources.iter().enumerate().flat_map(of).collect()
        };
        let is_right = sources.iter().any(|source| source.get(&path) == Some(&item));
        prop_assert!(
            is_right,
            "{} holds what no sender has there: {:.60}; the numbers of the senders that have it elsewhere, and where: {:?}",
            path.display(),
            format!("{item:?}"),
            holders(&item)
        );
    }
    Ok(())
}

/// Checks that a finished transfer has stored everything that it does not report as failed.
fn check_complete_or_reported(
    ends: &TransferEnds,
    from: &TestFolder,
    others: &[&TestFolder],
    to: &TestFolder,
) -> Result<BTreeMap<String, FaultKind>, TestCaseError> {
    prop_assert!(ends.sender.result.is_ok() && ends.receiver.result.is_ok(), "{:?}", ends.sender.result);
    let named = failed_paths(ends)?;
    let (source, there) = (items(from.path()), items(to.path()));
    let others: Vec<_> = others.iter().map(|other| items(other.path())).collect();
    for (path, item) in &source {
        let found = there.get(path);
        // The other sender's entry has its place, or the place of a folder above it.
        let is_other = |path: &Path| {
            let found = there.get(path);
            found.is_some()
                && found != source.get(path)
                && others.iter().any(|other| other.get(path) == found)
        };
        let is_here = found == Some(item) || path.ancestors().any(is_other);
        prop_assert!(is_here || is_named(&named, path), "{} is neither whole nor named", path.display());
    }
    Ok(named)
}

/// Returns the names in the trees: equal except for variations by file systems, people and temporary names.
fn names() -> Vec<OsString> {
    let long = "n".repeat(255);
    // Name parts of unfinished files with long names.
    let of_long = name_of_unfinished(&long);
    let shortened_name =
        of_long.rsplit_once('.').and_then(|(rest, _)| rest.rsplit_once('.')).unwrap().0.to_owned();
    let names = [
        "fa",
        "fa~",
        "fa~~",
        "fa.~1~",
        "Fa",
        "fA~",
        "fa.part",
        ".fa",
        ".fa~",
        "fa.thalweg",
        "fa.THALWEG.PART",
        "~",
        "\u{e4}",
        "a\u{308}",
        "\u{e4}~",
        "\u{c4}",
        &long,
        &long[1..],
        &format!("{}~", &long[1..]),
        &format!("{}\u{e4}", &long[2..]),
        &shortened_name,
        &name_of_unfinished("fa"),
        &name_of_unfinished("fa~"),
        &name_of_unfinished("fa")["fa".len()..],
        name_of_unfinished("fa").trim_end_matches(".thalweg.part"),
        name_of_unfinished("fa~").trim_end_matches(".thalweg.part"),
        name_of_unfinished(&name_of_unfinished("f")).trim_end_matches(".thalweg.part"),
    ]
    .map(OsString::from);
    let mut names = Vec::from(names);
    names.push(OsString::from_vec(b"fa\xff".to_vec()));
    names.push(OsString::from_vec([&b"\xff".repeat(254)[..], b"~"].concat()));
    names
}

/// Entry to create: its folder, name, kind, and the earlier file to hard-link.
type Draw = (prop::sample::Index, prop::sample::Index, u8, prop::sample::Index);

fn tree_draws(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Draw>> {
    prop::collection::vec(
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..12_u8, any::<prop::sample::Index>()),
        count,
    )
}

/// Creates a tree `set` from these draws.
fn create_tree(draws: &[Draw], seed: u64, place: &TestFolder) {
    let names = names();
    let top = place.join("set");
    fs::create_dir(&top).unwrap();
    let (mut folders, mut files) = (vec![(top, 0)], Vec::<PathBuf>::new());
    for (number, (folder, name, kind, other)) in draws.iter().enumerate() {
        let (folder, depth) = folder.get(&folders).clone();
        let path = folder.join(name.get(&names));
        if fs::symlink_metadata(&path).is_ok() {
            continue;
        }
        match kind {
            0 if depth < 2 => {
                fs::create_dir(&path).unwrap();
                folders.push((path, depth + 1));
            }
            1..=5 if !files.is_empty() => fs::hard_link(other.get(&files), &path).unwrap(),
            6 => symlink(other.get(&names), &path).unwrap(),
            _ => {
                let number = number as u64;
                fs::write(&path, random_bytes(seed + number, 1 + 37 * number as usize)).unwrap();
                // Files of equal size and time are taken for the same.
                let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1 + seed + number);
                File::open(&path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
                files.push(path);
            }
        }
    }
}

fn transfer(claims: &Claims, breaks: Break) -> Transfer {
    Transfer { existing: ExistingFilePolicy::Any, claims: claims.clone(), breaks, ..Transfer::default() }
}

fn break_after(bytes: u64) -> Break {
    if bytes.is_multiple_of(2) {
        Break { to_receiver: 1 + bytes / 2, ..Break::never() }
    } else {
        Break { to_sender: 1 + bytes / 40, ..Break::never() }
    }
}

/// Checks that only names reserved for unfinished files, and hard links to them, are reported.
fn only_names_of_unfinished_files(named: &BTreeMap<String, FaultKind>) -> Result<(), TestCaseError> {
    for (name, kind) in named {
        let is_reserved = name.to_ascii_lowercase().ends_with(".thalweg.part");
        let is_of_it = matches!(kind, FaultKind::Stopped) || is_reserved;
        prop_assert!(is_of_it, "{name} failed: {kind:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn colliding_names_of_one_sender_are_complete_or_reported(
        draws in tree_draws(4..40),
        cuts in prop::collection::vec(0..30_000_u64, 0..4),
    ) {
        let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
        create_tree(&draws, 0, &from);
        for cut in cuts {
            transfer(&Claims::default(), break_after(cut)).run(&[from.join("set")], &to);
            holds_nothing_wrong(&[&from], &to)?;
        }
        let ends = transfer(&Claims::default(), Break::never()).run(&[from.join("set")], &to);
        holds_nothing_wrong(&[&from], &to)?;
        only_names_of_unfinished_files(&check_complete_or_reported(&ends, &from, &[], &to)?)?;
        prop_assert_eq!(unfinished_files(to.path()), Vec::<PathBuf>::new());
        // Hard links of one file remain hard links of one file.
        let id = |place: &TestFolder, path: &Path| fs::metadata(place.path().join(path)).ok().map(|it| (it.ino(), it.nlink()));
        for (path, item) in items(to.path()) {
            if let PreviewItem::File(_) = item {
                let [sent, stored] = [&from, &to].map(|place| id(place, &path).unwrap());
                let twins = |place: &TestFolder, number| items(place.path()).into_keys().filter(|other| id(place, other).is_some_and(|it| it.0 == number)).collect::<Vec<_>>();
                let here = twins(&to, stored.0);
                prop_assert!(twins(&from, sent.0).iter().filter(|path| to.path().join(path).exists()).all(|path| here.contains(path)), "{} was sent as one of several names", path.display());
            }
        }
    }

    #[test]
    fn colliding_names_of_two_senders_are_complete_or_reported(
        draws in [tree_draws(4..30), tree_draws(4..30)],
        cuts in prop::collection::vec((0..30_000_u64, 0..30_000_u64), 0..3),
        is_one_process in any::<bool>(),
    ) {
        let (from, to) = ([TestFolder::new("from"), TestFolder::new("from")], TestFolder::new("to"));
        for (number, (draws, place)) in draws.iter().zip(&from).enumerate() {
            create_tree(draws, 1000 * number as u64, place);
        }
        let claims = Claims::default();
        let claims = [claims.clone(), if is_one_process { claims } else { Claims::default() }];
        let both = |breaks: [Break; 2]| {
            let mut ends = Vec::new();
            std::thread::scope(|scope| {
                let begin = |at: usize| {
                    let (transfer, path, to) = (transfer(&claims[at], breaks[at]), from[at].join("set"), &to);
                    scope.spawn(move || transfer.run(&[path], to))
                };
                let threads = [begin(0), begin(1)];
                ends.extend(threads.map(|thread| thread.join().unwrap()));
            });
            ends
        };
        for (one, other) in cuts {
            both([break_after(one), break_after(other)]);
            holds_nothing_wrong(&[&from[0], &from[1]], &to)?;
        }
        let ends = both([Break::never(); 2]);
        holds_nothing_wrong(&[&from[0], &from[1]], &to)?;
        check_complete_or_reported(&ends[0], &from[0], &[&from[1]], &to)?;
        check_complete_or_reported(&ends[1], &from[1], &[&from[0]], &to)?;
    }
}

/// 840 files `NAME~` beside hard links `NAME`, which are created while the files arrive.
#[test]
fn a_file_does_not_become_the_link_that_is_made_beside_it() {
    let (from, to) = (TestFolder::new("from"), TestFolder::new("to"));
    fs::create_dir(from.join("set")).unwrap();
    for number in 0..840 {
        let first = from.write(&format!("set/{number:03}a"), &random_bytes(number, 100));
        fs::hard_link(first, from.join(&format!("set/{number:03}fa"))).unwrap();
        from.write(&format!("set/{number:03}fa~"), &random_bytes(10_000 + number, 300_000));
    }
    let ends = Transfer::default().run(&[from.join("set")], &to);
    let (source, there) = (items(from.path()), items(to.path()));
    let wrong = there.iter().filter(|(path, item)| source.get(*path) != Some(item)).count();
    let missing = source.keys().filter(|path| !there.contains_key(*path)).count();
    assert_eq!((wrong, missing), (0, 0), "wrong and missing, of {}", source.len());
    ends.complete();
}

/// Environment variable of the killed process: its destination folder and its sender's socket.
const CHILD: &str = "THALWEG_TEST_RECEIVE";

/// Body of the killed process, not a test: it receives over a socket.
#[test]
fn a_process_that_receives() {
    let Some(top) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let mut stream = UnixStream::connect(top.join("socket")).unwrap();
    let destination = Destination::new(&top.join("to"), Claims::default(), "anna").unwrap();
    let target = Target::Folder(destination.with_existing(ExistingFilePolicy::Any));
    let to_peer = stream.try_clone().unwrap();
    receive_transfer(target, &TransferScheduler::default(), &mut stream, to_peer, &Arc::new(Progress::new()));
}

/// Waits for the child's connection. A child that ends without one fails the test.
fn accept(listener: &UnixListener, child: &mut Child) -> UnixStream {
    listener.set_nonblocking(true).unwrap();
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).unwrap();
                return stream;
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
        }
        assert_eq!(child.try_wait().unwrap(), None, "the child ended without a connection");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends to a process and kills it after a while if it has not ended. Returns true if it was killed.
fn send_to_process(path: PathBuf, top: &Path, after: Duration) -> bool {
    let _ = fs::remove_file(top.join("socket"));
    let listener = UnixListener::bind(top.join("socket")).unwrap();
    let (_, module) = module_path!().split_once("::").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::a_process_that_receives")])
        .env(CHILD, top)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stream = accept(&listener, &mut child);
    let sender = std::thread::spawn(move || {
        let (from_peer, source) = (stream.try_clone().unwrap(), Source::Paths(Roots::new(&[path]).unwrap()));
        send_transfer(source, Default::default(), from_peer, &mut stream, &Arc::new(Progress::new()))
    });
    std::thread::sleep(after);
    let is_killed = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    let _ = sender.join().unwrap();
    is_killed
}

#[test]
fn colliding_names_stay_complete_if_the_receiver_is_killed() {
    let (from, place) = (TestFolder::new("from"), TestFolder::new("killed"));
    fs::create_dir(from.join("set")).unwrap();
    for number in 0..150 {
        let first = from.write(&format!("set/a{number:03}"), &random_bytes(number, 100));
        fs::hard_link(first, from.join(&format!("set/fa{number:03}"))).unwrap();
        from.write(&format!("set/fa{number:03}~"), &random_bytes(10_000 + number, 300));
        symlink(format!("a{number:03}"), from.join(&format!("set/fa{number:03}~~"))).unwrap();
    }
    let mut killed = 0;
    for round in 0..3 {
        let to = TestFolder::new("to");
        let top = place.join(&round.to_string());
        fs::create_dir(&top).unwrap();
        fs::rename(to.path(), top.join("to")).unwrap();
        symlink(top.join("to"), to.path()).unwrap();
        for after in [2_u64, 5, 9, 14, 20, 27] {
            let after = Duration::from_millis(after + 3 * round);
            killed += u32::from(send_to_process(from.join("set"), &top, after));
            holds_nothing_wrong(&[&from], &to).unwrap();
        }
        let ends = transfer(&Claims::default(), Break::never()).run(&[from.join("set")], &to);
        ends.complete();
        assert_eq!(items(to.path()), items(from.path()));
        assert_eq!(unfinished_files(to.path()), Vec::<PathBuf>::new());
        fs::remove_file(to.path()).unwrap();
    }
    assert!(killed > 0, "nothing was killed");
}
