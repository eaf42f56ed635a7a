//! Peers of a transfer that send arbitrary messages.

use crate::transfer::temporary_folders::TestFolder;
use crate::transfer::{Break, pipes};
use proptest::prelude::*;
use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use std::time::Duration;
use thalweg_net::transfer::Frame;
use thalweg_net::transfer::transfer_messages::{
    ModificationTime, Offer, OfferKind, ToReceiver, ToSender, VERSION,
};
use thalweg_net::transfer::tree_hash::BLOCK;
use thalweg_net::transfer::{
    Claims, Destination, Error, ExistingFilePolicy, Fault, FaultKind, Options, Priority, Progress, Report,
    Roots, Source, Target, TransferOutcome, TransferScheduler, receive_transfer, send_transfer,
    unfinished_name,
};

fn bytes(frames: &[ToReceiver]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for frame in frames {
        frame.encode(&mut bytes);
        if let ToReceiver::Data { length } = frame {
            bytes.extend(vec![b'x'; *length as usize]);
        }
    }
    bytes
}

fn hello() -> ToReceiver {
    ToReceiver::Hello { version: VERSION, checksum: false, priority: Priority::default(), named_items: 1 }
}

fn file(depth: u64, name: &str, size: u64) -> ToReceiver {
    let modified = ModificationTime { seconds: 0, nanoseconds: 0 };
    let kind = OfferKind::File { size, modified, may_have_hard_links: false };
    ToReceiver::Offer(Offer { depth, name: name.into(), has_case_variant: false, mode: 0o644, kind })
}

/// Returns an offer of a file that may have further names.
fn shared(name: &str) -> ToReceiver {
    let modified = ModificationTime { seconds: 0, nanoseconds: 0 };
    let kind = OfferKind::File { size: 1, modified, may_have_hard_links: true };
    ToReceiver::Offer(Offer { depth: 0, name: name.into(), has_case_variant: false, mode: 0o644, kind })
}

/// Returns an offer of a symbolic link.
fn link(name: &str, target: &str) -> ToReceiver {
    let kind = OfferKind::SymbolicLink {
        modified: ModificationTime { seconds: 0, nanoseconds: 0 },
        target: target.into(),
    };
    ToReceiver::Offer(Offer { depth: 0, name: name.into(), has_case_variant: false, mode: 0o777, kind })
}

/// Returns an offer of a further name.
fn further(name: &str, target_id: u64) -> ToReceiver {
    let kind = OfferKind::HardLink { target_id };
    ToReceiver::Offer(Offer { depth: 0, name: name.into(), has_case_variant: false, mode: 0o644, kind })
}

fn folder(depth: u64, name: &str) -> ToReceiver {
    let kind = OfferKind::Folder { modified: ModificationTime { seconds: 0, nanoseconds: 0 } };
    ToReceiver::Offer(Offer { depth, name: name.into(), has_case_variant: false, mode: 0o755, kind })
}

fn missing(depth: u64, name: &str) -> ToReceiver {
    ToReceiver::Missing { depth, name: name.into(), fault: FaultKind::Permission.into() }
}

/// Returns the outcome of a receiver with this input.
fn receives(to: &TestFolder, bytes: Vec<u8>) -> TransferOutcome {
    let destination = Destination::new(to.path(), Claims::default(), "mallory").unwrap();
    let target = Target::Folder(destination);
    receive_transfer(
        target,
        &TransferScheduler::default(),
        &mut Cursor::new(bytes),
        io::sink(),
        &Arc::new(Progress::new()),
    )
}

#[track_caller]
fn is_refused(frames: &[ToReceiver]) {
    let to = TestFolder::new("to");
    let mut all = vec![hello()];
    all.extend_from_slice(frames);
    let outcome = receives(&to, bytes(&all));
    assert!(matches!(outcome.result, Err(Error::Protocol(_))), "{:?}", outcome.result);
    let tree = to.tree();
    let finished = tree.iter().filter(|(name, (.., contents))| {
        contents.is_some() && !name.to_string_lossy().ends_with(".thalweg.part")
    });
    assert_eq!(finished.count(), 0);
}

#[test]
fn frames_out_of_order_end_the_transfer() {
    let begin = |id| ToReceiver::Begin { id };
    let data = |length| ToReceiver::Data { length };
    let end = ToReceiver::End { hash: [0; 32] };
    let verify = |first_block, count| ToReceiver::Verify { id: 0, first_block, count };
    is_refused(&[hello()]);
    is_refused(&[begin(0)]);
    is_refused(&[data(5)]);
    is_refused(std::slice::from_ref(&end));
    is_refused(&[ToReceiver::KeepBlock]);
    is_refused(&[ToReceiver::Unchanged { id: 0 }]);
    is_refused(&[file(0, "a", 1), ToReceiver::Unchanged { id: 0 }]);
    is_refused(&[file(0, "a", 1), ToReceiver::Finish]);
    is_refused(&[file(0, "a", 1), begin(0), begin(0)]);
    is_refused(&[file(0, "a", 1), begin(1)]);
    is_refused(&[folder(0, "a"), begin(0)]);
    is_refused(&[file(0, "a", 10), begin(0), data(11)]);
    is_refused(&[file(0, "a", 10), begin(0), data(9), end.clone()]);
    is_refused(&[file(0, "a", 10), begin(0), ToReceiver::KeepBlock]);
    is_refused(&[file(0, "a", 10), begin(0), verify(0, 1)]);
    is_refused(&[file(0, "a", 10), verify(0, 1)]);
    is_refused(&[file(0, "a", 10), begin(0), verify(u64::MAX >> 2, 1)]);
    // Holes lie within the announced size, and begin at block boundaries.
    let hole = |length| ToReceiver::Hole { length };
    is_refused(&[hole(BLOCK)]);
    is_refused(&[file(0, "a", BLOCK), begin(0), hole(BLOCK)]);
    is_refused(&[file(0, "a", 3 * BLOCK), begin(0), data(1), hole(BLOCK)]);
    is_refused(&[file(0, "a", 3 * BLOCK), begin(0), hole(2 * BLOCK), hole(BLOCK)]);
    // Hard links of a file that was offered with further names.
    is_refused(&[further("b", 0)]);
    is_refused(&[file(0, "a", 1), further("b", 0)]);
    is_refused(&[shared("a"), further("b", 1)]);
    let waiting = (0..9000).map(|number| further(&format!("b{number:04}"), 0));
    is_refused(&[shared("a")].into_iter().chain(waiting).collect::<Vec<_>>());
    // Names.
    is_refused(&[file(1, "a", 1)]);
    is_refused(&[missing(1, "a")]);
    is_refused(&[file(0, "a", 1), file(1, "b", 1)]);
    is_refused(&[file(0, "b", 1), file(0, "a", 1)]);
    is_refused(&[file(0, "a", 1), file(0, "a", 1)]);
    is_refused(&[folder(0, "a"), file(1, "x", 1), file(1, "x", 1)]);
    is_refused(&(0..300).map(|depth| folder(depth, "d")).collect::<Vec<_>>());
    is_refused(&(0..9000).map(|number| file(0, &format!("{number:04}"), 1)).collect::<Vec<_>>());
    // 12 folders of 250 bytes and their content: 3.1 kB per offer.
    let deep = (0..12).map(|depth| folder(depth, &"d".repeat(250)));
    let files = (0..800).map(|number| file(12, &format!("{number:04}"), 1));
    is_refused(&deep.chain(files).collect::<Vec<_>>());
}

#[test]
fn a_file_that_replaces_a_compared_one_keeps_its_time() {
    let to = TestFolder::new("to");
    to.write("a", b"x");
    let (mut peer, mut from_peer, to_peer, mut from_receiver) = pipes(Break::never());
    let destination = Destination::new(to.path(), Claims::default(), "anna").unwrap();
    let target = Target::Folder(destination.with_existing(ExistingFilePolicy::Any));
    let receiver = std::thread::spawn(move || {
        let scheduler = TransferScheduler::default();
        receive_transfer(target, &scheduler, &mut from_peer, to_peer, &Arc::new(Progress::new()))
    });
    let ToReceiver::Hello { version, priority, named_items, .. } = hello() else { panic!("no greeting") };
    let hello = ToReceiver::Hello { version, checksum: true, priority, named_items };
    peer.write_all(&bytes(&[hello, file(0, "a", 1)])).unwrap();
    let (mut replies, mut buffer) = (Vec::new(), [0; 1024]);
    // The greeting is shorter than a hash, which follows it.
    while replies.len() < 45 {
        let count = from_receiver.read(&mut buffer).unwrap();
        assert_ne!(count, 0, "the receiver ended: {replies:?}");
        replies.extend_from_slice(&buffer[..count]);
    }
    let other = to.write("other", b"y");
    std::fs::rename(other, to.join("a")).unwrap();
    let before = to.tree();
    peer.write_all(&bytes(&[ToReceiver::Unchanged { id: 0 }, ToReceiver::Finish])).unwrap();
    drop(peer);
    let outcome = receiver.join().unwrap();
    outcome.result.unwrap();
    assert_eq!((outcome.report.unchanged, to.tree()), (1, before));
}

#[test]
fn names_that_lead_elsewhere_are_each_refused() {
    let to = TestFolder::new("to");
    let above = to.path().parent().unwrap();
    let before = std::fs::read_dir(above).unwrap().count();
    let frames = [hello(), folder(0, ".."), file(1, "x", 0), file(0, "/", 0), file(0, "a/../../b", 0)];
    let outcome = receives(&to, bytes(&frames));
    assert_eq!((outcome.report.failed, outcome.report.failures.len()), (4, 3));
    assert!(outcome.report.failures.iter().all(|failure| failure.fault.kind == FaultKind::Name));
    assert!(to.names().is_empty());
    // Other tests may create folders meanwhile; none has the name x or b.
    assert!(std::fs::read_dir(above).unwrap().count() >= before.min(1));
    assert!(!above.join("x").exists() && !above.join("b").exists());
}

#[test]
fn contents_that_do_not_have_their_hash_get_no_name() {
    let to = TestFolder::new("to");
    let frames = [
        hello(),
        file(0, "a", 10),
        ToReceiver::Begin { id: 0 },
        ToReceiver::Data { length: 10 },
        ToReceiver::End { hash: [0; 32] },
        ToReceiver::Finish,
    ];
    let outcome = receives(&to, bytes(&frames));
    outcome.result.unwrap();
    assert_eq!(outcome.report.failures[0].fault.kind, FaultKind::Mismatch);
    assert_eq!(to.names(), [unfinished_name(b"a", "mallory").into_string().unwrap()]);
}

#[test]
fn other_protocols_and_versions_are_reported() {
    for (begin, expected) in [
        (b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n".to_vec(), FaultKind::Protocol),
        (
            bytes(&[ToReceiver::Hello {
                version: VERSION + 1,
                checksum: false,
                priority: Priority::default(),
                named_items: 1,
            }]),
            FaultKind::Version,
        ),
        (bytes(&[folder(0, "a")]), FaultKind::Protocol),
    ] {
        let to = TestFolder::new("to");
        let (mut peer, mut from_peer, to_peer, mut from_receiver) = pipes(Break::never());
        peer.write_all(&begin).unwrap();
        let target = Target::Folder(Destination::new(to.path(), Claims::default(), "?").unwrap());
        let outcome = receive_transfer(
            target,
            &TransferScheduler::default(),
            &mut from_peer,
            to_peer,
            &Arc::new(Progress::new()),
        );
        assert!(outcome.result.is_err());
        let mut received = Vec::new();
        from_receiver.read_to_end(&mut received).unwrap();
        let (kind, body) = (received[11], &received[13..]);
        match ToSender::decode(kind, body) {
            Ok(ToSender::Refuse { fault }) => assert_eq!(fault.kind, expected),
            other => panic!("{other:?} in {received:?}"),
        }
        assert!(to.names().is_empty());
    }
}

/// Nested folders with names of maximum length, and unsent entries in the innermost one.
#[test]
fn names_that_a_sender_makes_up_are_kept_within_bounds() {
    let to = TestFolder::new("to");
    let long = |byte: u8| vec![byte; 255];
    let mut frames = vec![hello()];
    let modified = ModificationTime { seconds: 0, nanoseconds: 0 };
    for depth in 0..256 {
        let kind = OfferKind::Folder { modified };
        frames.push(ToReceiver::Offer(Offer {
            depth,
            name: long(0xff),
            has_case_variant: false,
            mode: 0o755,
            kind,
        }));
    }
    for number in 0..2000_u32 {
        let name = [&number.to_be_bytes()[..], &long(0xfe)[4..]].concat();
        let kind = if number % 2 == 0 { FaultKind::Special } else { FaultKind::Permission };
        frames.push(ToReceiver::Missing { depth: 256, name, fault: Fault::new(kind, "x".repeat(512)) });
    }
    let outcome = receives(&to, bytes(&frames));
    let report = outcome.report;
    assert_eq!((report.omitted, report.failed), (1000, 1000));
    let kept = report.failures.iter().chain(&report.omissions);
    let kept: usize = kept.map(|failure| failure.name.len() + failure.fault.text.len()).sum();
    assert!((50_000..=Report::MAX_KEPT).contains(&kept), "{kept}");
    assert!(report.failures.iter().all(|failure| failure.name.len() <= 4096));
}

/// Returns the encoded replies of a receiver.
fn encoded(replies: &[ToSender]) -> Vec<u8> {
    let mut bytes = Vec::new();
    replies.iter().for_each(|reply| reply.encode(&mut bytes));
    bytes
}

/// Returns the outcome of a sender whose receiver sends these replies.
fn sends_to(replies: &[ToSender], is_open: bool) -> TransferOutcome {
    let from = TestFolder::new("from");
    from.write("set/a", b"12345");
    let (mut to_receiver, mut from_sender, mut to_sender, from_receiver) = pipes(Break::never());
    let bytes = encoded(replies);
    let listener = std::thread::spawn(move || {
        let _ = to_sender.write_all(&bytes);
        let kept = is_open.then_some(to_sender);
        let _ = io::copy(&mut from_sender, &mut io::sink());
        drop(kept);
    });
    let source = Source::Paths(Roots::new(&[from.join("set")]).unwrap());
    let options = Options::default();
    let outcome = send_transfer(source, options, from_receiver, &mut to_receiver, &Arc::new(Progress::new()));
    drop(to_receiver);
    listener.join().unwrap();
    outcome
}

#[test]
fn a_protocol_error_is_distinguished_from_a_lost_connection() {
    let hello = || ToSender::Hello { version: VERSION };
    let is_protocol = |replies: &[ToSender]| {
        let result = sends_to(replies, true).result;
        assert!(matches!(result, Err(Error::Protocol(_))), "{result:?}");
    };
    is_protocol(&[ToSender::Done]);
    is_protocol(&[hello(), hello()]);
    is_protocol(&[hello(), ToSender::Done]);
    is_protocol(&[hello(), ToSender::HasPartial { id: 1, length: 6 }]);
    let unasked = ToSender::Digests { id: 1, first_block: 3, digests: vec![[0; 32]] };
    is_protocol(&[hello(), ToSender::HasPartial { id: 1, length: 3 }, unasked]);
    let result = sends_to(&[ToSender::Hello { version: VERSION + 1 }], true).result;
    assert!(matches!(result, Err(Error::EndedByPeer(fault)) if fault.kind == FaultKind::Version));
    let result = sends_to(&[hello(), ToSender::Refuse { fault: FaultKind::SenderQuota.into() }], true).result;
    assert!(matches!(result, Err(Error::EndedByPeer(fault)) if fault.kind == FaultKind::SenderQuota));
    let result = sends_to(&[hello()], false).result;
    assert!(matches!(result, Err(Error::ConnectionEnded(_))));
    // Answers for files never offered, and for a folder, do no harm.
    let strange = [hello(), ToSender::Want { id: 77 }, ToSender::Want { id: 0 }, ToSender::Stored { id: 1 }];
    let outcome = sends_to(&[&strange[..], &[ToSender::Done]].concat(), true);
    outcome.result.unwrap();
}

#[test]
fn the_end_goes_with_the_last_contents() {
    let from = TestFolder::new("from");
    from.write("set/a", b"12345");
    let (mut to_receiver, mut from_sender, mut to_sender, from_receiver) = pipes(Break::never());
    let source = Source::Paths(Roots::new(&[from.join("set")]).unwrap());
    let sender = std::thread::spawn(move || {
        send_transfer(source, Options::default(), from_receiver, &mut to_receiver, &Arc::new(Progress::new()))
    });
    let before = [ToSender::Hello { version: VERSION }, ToSender::Stored { id: 0 }, ToSender::Want { id: 1 }];
    to_sender.write_all(&encoded(&before)).unwrap();
    let (notifier, signal) = std::sync::mpsc::channel();
    let end = bytes(&[ToReceiver::Finish]);
    let listener = std::thread::spawn(move || {
        let (mut all, mut buffer) = (Vec::new(), [0; 1024]);
        while let Ok(count @ 1..) = from_sender.read(&mut buffer) {
            all.extend_from_slice(&buffer[..count]);
            if all.ends_with(&end) {
                let _ = notifier.send(());
            }
        }
    });
    // No reply to the file has been sent yet.
    let is_received = signal.recv_timeout(Duration::from_secs(10)).is_ok();
    to_sender.write_all(&encoded(&[ToSender::Stored { id: 1 }, ToSender::Done])).unwrap();
    let outcome = sender.join().unwrap();
    listener.join().unwrap();
    assert!(is_received && outcome.result.is_ok(), "{is_received} {outcome:?}");
    assert_eq!((outcome.report.files, outcome.report.folders), (1, 1));
    // The transfer ends only when the receiver has reported an outcome for everything.
    let early = sends_to(&[&before[..], &[ToSender::Done]].concat(), true).result;
    assert!(matches!(early, Err(Error::Protocol(_))), "{early:?}");
}

#[test]
fn a_receiver_that_never_stops_talking_is_cut_off() {
    let mut replies = vec![ToSender::Hello { version: VERSION }];
    replies.extend((0..50_000).map(|_| ToSender::HasPartial { id: 1, length: 5 }).take(1));
    replies.extend((0..50_000).map(|id| ToSender::Skip { id: id + 10 }));
    let result = sends_to(&replies, true).result;
    assert!(matches!(result, Err(Error::Protocol(_))), "{result:?}");
}

/// Returns a frame, mostly a valid one.
fn frame() -> impl Strategy<Value = ToReceiver> {
    let id = 0..6u64;
    let name = prop_oneof![Just("a"), Just("b"), Just("c"), Just(".."), Just("a/b")];
    prop_oneof![
        3 => (0..3u64, name.clone(), 0..50u64).prop_map(|(depth, name, size)| file(depth, name, size)),
        2 => (0..3u64, name).prop_map(|(depth, name)| folder(depth, name)),
        3 => id.clone().prop_map(|id| ToReceiver::Begin { id }),
        3 => (1..60u64).prop_map(|length| ToReceiver::Data { length }),
        2 => Just(ToReceiver::End { hash: [0; 32] }),
        1 => id.clone().prop_map(|id| ToReceiver::Abandon { id, fault: FaultKind::Changed.into() }),
        1 => (id.clone(), 0..3u64, 0..70u64)
            .prop_map(|(id, first_block, count)| ToReceiver::Verify { id, first_block, count }),
        1 => (0..3u64).prop_map(|depth| missing(depth, "d")),
        1 => Just(ToReceiver::KeepBlock),
        1 => Just(shared("c")),
        1 => id.clone().prop_map(|first| further("d", first)),
        1 => Just(ToReceiver::Hole { length: BLOCK }),
        1 => Just(link("e", "../../x")),
        1 => id.prop_map(|id| ToReceiver::Unchanged { id }),
        1 => Just(ToReceiver::Finish),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_order_of_frames_panics_hangs_or_stores(frames in prop::collection::vec(frame(), 0..25)) {
        let to = TestFolder::new("to");
        let mut all = vec![hello()];
        all.extend(frames);
        receives(&to, bytes(&all));
        for (name, (.., contents)) in to.tree() {
            // None of these contents has the claimed hash.
            prop_assert!(contents.is_none() || name.to_string_lossy().ends_with(".thalweg.part"));
        }
    }

    #[test]
    fn no_bytes_panic_or_hang(noise in prop::collection::vec(any::<u8>(), 0..600), begins_with_hello in any::<bool>()) {
        let to = TestFolder::new("to");
        let mut all = if begins_with_hello { bytes(&[hello()]) } else { Vec::new() };
        all.extend(noise);
        let outcome = receives(&to, all);
        prop_assert!(outcome.result.is_err() || outcome.report.files == 0);
    }
}

/// A sender that waits for an answer receives the refusal while it waits.
#[test]
fn a_waiting_sender_receives_the_refusal_at_once() {
    let to = TestFolder::new("to");
    let (mut sender, mut from_sender, to_sender, mut from_receiver) = pipes(Break::never());
    sender.write_all(&bytes(&[hello(), file(1, "a", 1)])).unwrap();
    let target = Target::Folder(Destination::new(to.path(), Claims::default(), "?").unwrap());
    let receiver = std::thread::spawn(move || {
        receive_transfer(
            target,
            &TransferScheduler::default(),
            &mut from_sender,
            to_sender,
            &Arc::new(Progress::new()),
        )
    });
    let mut received = [0; 14];
    from_receiver.read_exact(&mut received).unwrap();
    assert_eq!((received[11], received[13]), (138, FaultKind::Protocol as u8));
    drop(sender);
    assert!(matches!(receiver.join().unwrap().result, Err(Error::Protocol(_))));
}
