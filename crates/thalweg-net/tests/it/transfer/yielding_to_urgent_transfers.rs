//! Transfers that yield to more urgent ones.

use crate::transfer::temporary_folders::TestFolder;
use crate::transfer::{Break, pipes};
use std::io::{self, Read};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thalweg_net::transfer::{
    Claims, Destination, Options, Priority, Progress, Source, Target, TransferOutcome, TransferScheduler,
    receive_transfer, send_transfer,
};
use thalweg_proto::units;

/// Source of one piece per 2 ms.
struct Slow(u32);

impl Read for Slow {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Ok(0);
        }
        self.0 -= 1;
        std::thread::sleep(Duration::from_millis(2));
        let count = into.len().min(64 << 10);
        into[..count].fill(7);
        Ok(count)
    }
}

/// Transfer of a number of pieces in separate threads.
struct RunningTransfer {
    progress: [Arc<Progress>; 2],
    ends: [JoinHandle<(TransferOutcome, Instant)>; 2],
}

impl RunningTransfer {
    fn begin(scheduler: &TransferScheduler, name: &str, priority: u8, pieces: u32, to: &TestFolder) -> Self {
        let (mut to_receiver, mut from_sender, to_sender, from_receiver) = pipes(Break::never());
        let progress = [Arc::new(Progress::new()), Arc::new(Progress::new())];
        let source = Source::Stream { name: name.into(), bytes: Box::new(Slow(pieces)) };
        let options = Options { priority: Priority::new(priority).unwrap(), ..Options::default() };
        let destination = Destination::new(to.path(), Claims::default(), name).unwrap();
        let (at_sender, at_receiver) = (Arc::clone(&progress[0]), Arc::clone(&progress[1]));
        let scheduler = scheduler.clone();
        let sender = std::thread::spawn(move || {
            (send_transfer(source, options, from_receiver, &mut to_receiver, &at_sender), Instant::now())
        });
        let receiver = std::thread::spawn(move || {
            let target = Target::Folder(destination);
            (receive_transfer(target, &scheduler, &mut from_sender, to_sender, &at_receiver), Instant::now())
        });
        Self { progress, ends: [sender, receiver] }
    }

    /// Returns the time of the last acknowledgement of stored data at the sender.
    fn end(self) -> Instant {
        let [sender, receiver] = self.ends.map(|end| end.join().unwrap());
        receiver.0.result.unwrap();
        sender.0.result.unwrap();
        sender.1
    }
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_urgent_one_goes_first_and_the_other_is_not_forgotten() {
    let to = TestFolder::new("turns");
    let millis = units::Duration::from_millis;
    // From the lowest to the highest in 1 s.
    let scheduler = TransferScheduler::new(millis(200), millis(50));
    let patient = RunningTransfer::begin(&scheduler, "patient", 6, 500, &to);
    let [at_sender, at_receiver] = patient.progress.clone();
    wait_until("contents come", || at_receiver.moved().get() > 2_000_000);
    assert!(!at_sender.is_held());
    let urgent = RunningTransfer::begin(&scheduler, "urgent", 1, 1500, &to);
    wait_until("the sender hears that it is held back", || at_sender.is_held());
    let before = at_receiver.moved();
    wait_until("it has its turn", || at_receiver.moved().get() > before.get() + 500_000);
    wait_until("it is held back again", || at_receiver.is_held());
    assert_eq!(urgent.ends.iter().filter(|end| end.is_finished()).count(), 0, "all that went on beside it");
    let (urgent, patient) = (urgent.end(), patient.end());
    assert!(urgent < patient);
    wait_until("nobody is held back", || !at_sender.is_held() && !at_receiver.is_held());
}

#[test]
fn transfers_of_one_priority_share() {
    let to = TestFolder::new("equals");
    let scheduler = TransferScheduler::default();
    let transfers = ["one", "other"].map(|name| RunningTransfer::begin(&scheduler, name, 3, 300, &to));
    let progress = transfers.each_ref().map(|transfer| Arc::clone(&transfer.progress[1]));
    while transfers.iter().any(|transfer| !transfer.ends[1].is_finished()) {
        assert!(progress.iter().all(|progress| !progress.is_held()));
        std::thread::sleep(Duration::from_millis(1));
    }
    for transfer in transfers {
        transfer.end();
    }
}

#[test]
fn the_end_of_all_turns_frees_those_that_wait() {
    let to = TestFolder::new("freed");
    // Too long for any priority change within the test.
    let scheduler =
        TransferScheduler::new(units::Duration::from_secs(1000), units::Duration::from_millis(50));
    let patient = RunningTransfer::begin(&scheduler, "patient", 5, 400, &to);
    let urgent = RunningTransfer::begin(&scheduler, "urgent", 4, 3000, &to);
    wait_until("it is held back", || patient.progress[1].is_held());
    scheduler.end();
    wait_until("it is not", || !patient.progress[1].is_held());
    assert!(patient.end() < urgent.end());
}
