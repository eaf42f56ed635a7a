//! File transfer over in-memory streams that break on demand.

mod breakable_pipe;
mod carried_and_skipped_content;
mod existing_files;
mod file_faults;
mod hostile_peers;
mod interruptions;
mod links_and_sparse_files;
mod name_collisions;
mod other_local_users;
mod round_trip_counts;
mod temporary_folders;
mod yielding_to_urgent_transfers;

use breakable_pipe::{Break, pipes};
use std::path::PathBuf;
use std::sync::Arc;
use temporary_folders::TestFolder;
use thalweg_net::transfer::{
    Claims, Destination, ExistingFilePolicy, Options, Progress, Roots, Source, Target, TransferOutcome,
    TransferScheduler, receive_transfer, send_transfer,
};

/// Transfer between threads.
struct Transfer {
    options: Options,
    owner: &'static str,
    existing: ExistingFilePolicy,
    claims: Claims,
    breaks: Break,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            options: Options::default(),
            owner: "anna",
            existing: ExistingFilePolicy::default(),
            claims: Claims::default(),
            breaks: Break::never(),
        }
    }
}

/// Returns the name of an unfinished file of "anna".
fn name_of_unfinished(name: &str) -> String {
    thalweg_net::transfer::unfinished_name(name.as_bytes(), "anna").into_string().unwrap()
}

/// Both ends of a transfer.
struct TransferEnds {
    sender: TransferOutcome,
    receiver: TransferOutcome,
    progress: [Arc<Progress>; 2],
}

impl Transfer {
    fn broken(breaks: Break) -> Self {
        Self { breaks, ..Self::default() }
    }

    /// Sends `paths` into `to`.
    fn run(self, paths: &[PathBuf], to: &TestFolder) -> TransferEnds {
        let destination = Destination::new(to.path(), self.claims.clone(), self.owner).unwrap();
        let destination = destination.with_existing(self.existing);
        self.run_to(Source::Paths(Roots::new(paths).unwrap()), Target::Folder(destination))
    }

    fn run_to(self, source: Source, target: Target) -> TransferEnds {
        let (to_receiver, from_sender, to_sender, from_receiver) = pipes(self.breaks);
        let progress = [Arc::new(Progress::new()), Arc::new(Progress::new())];
        let (at_sender, at_receiver) = (Arc::clone(&progress[0]), Arc::clone(&progress[1]));
        let options = self.options;
        let sender = std::thread::spawn(move || {
            let mut stream = to_receiver;
            send_transfer(source, options, from_receiver, &mut stream, &at_sender)
        });
        let mut from_sender = from_sender;
        let receiver = receive_transfer(
            target,
            &TransferScheduler::default(),
            &mut from_sender,
            to_sender,
            &at_receiver,
        );
        TransferEnds { sender: sender.join().unwrap(), receiver, progress }
    }
}

impl TransferEnds {
    /// Checks that both ends finished without a failure.
    #[track_caller]
    fn complete(&self) {
        self.end();
        assert_eq!(self.sender.report.failures, []);
        assert_eq!(self.receiver.report.failures, []);
    }

    /// Checks that both ends finished and agree.
    #[track_caller]
    fn end(&self) {
        self.sender.result.as_ref().unwrap();
        self.receiver.result.as_ref().unwrap();
        let [ours, theirs] = [&self.sender.report, &self.receiver.report];
        assert_eq!(
            (ours.files, ours.folders, ours.links, ours.unchanged, ours.skipped, ours.resumed),
            (theirs.files, theirs.folders, theirs.links, theirs.unchanged, theirs.skipped, theirs.resumed)
        );
        assert_eq!((ours.holes, ours.lost), (theirs.holes, theirs.lost));
        assert_eq!((ours.bytes_moved, &ours.omissions), (theirs.bytes_moved, &theirs.omissions));
        assert_eq!(self.progress[0].bytes(), self.progress[1].bytes(), "both sides show the same");
        assert_eq!(self.progress[0].files(), self.progress[1].files());
        let had = [ours, theirs].map(|report| report.skipped.get() + report.resumed.get());
        for (progress, had) in self.progress.iter().zip(had) {
            assert_eq!(progress.fresh().get() + had, progress.bytes().get(), "what was there is not new");
        }
    }
}
