//! Arbitrary bytes from the peer of a transfer.

use std::fs;
use std::io::{self, Cursor};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use thalweg_net::transfer::transfer_messages::{ToReceiver, ToSender};
use thalweg_net::transfer::{
    Claims, Destination, Frame, Options, Progress, Roots, Source, Target, TransferScheduler,
    receive_transfer, send_transfer,
};

/// Folder of one run, beside another one that must stay empty.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("thalweg-octets-{}-{number}", std::process::id()));
        fs::create_dir_all(path.join("to")).unwrap();
        Self(path)
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a script: its first byte selects the receiving side.
pub fn run(script: &[u8]) {
    let Some((who, input)) = script.split_first() else { return };
    let input = input.to_vec();
    match who % 4 {
        0 => decode::<ToReceiver>(&input),
        1 => decode::<ToSender>(&input),
        2 => {
            let place = TestFolder::new();
            let to = place.0.join("to");
            let destination = Destination::new(&to, Claims::default(), "mallory").unwrap();
            let target = Target::Folder(destination);
            let _ = receive_transfer(
                target,
                &TransferScheduler::default(),
                &mut Cursor::new(input),
                io::sink(),
                &Arc::new(Progress::new()),
            );
            let beside = fs::read_dir(&place.0).unwrap().count();
            assert_eq!(beside, 1, "something is outside of the folder");
        }
        _ => {
            let place = TestFolder::new();
            let from = place.0.join("to");
            for (name, length) in [("a", 0), ("b", 10), ("c", 200_000)] {
                fs::write(from.join(name), vec![7; length]).unwrap();
            }
            let source = Source::Paths(Roots::new(&[from]).unwrap());
            let outcome = send_transfer(
                source,
                Options::default(),
                Cursor::new(input),
                &mut io::sink(),
                &Arc::new(Progress::new()),
            );
            // The end that reads all messages of the receiver knows the result.
            drop(outcome);
        }
    }
}

/// Checks that a decoded frame is encoded in at most 16 bytes more than its input.
fn decode<F: Frame + PartialEq + std::fmt::Debug>(input: &[u8]) {
    let Some((&kind, body)) = input.split_first() else { return };
    if let Ok(frame) = F::decode(kind, body) {
        let mut written = Vec::new();
        frame.encode(&mut written);
        assert!(written.len() <= input.len() + 16, "{frame:?}");
    }
}
