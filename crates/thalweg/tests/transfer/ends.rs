//! How transfers end that do not come to their end: who hears of it, and what.

use crate::processes::{Place, Receiver, exit, sends};
use crate::{NEW, noise};

#[test]
fn an_output_takes_no_folder_and_both_ends_say_so_at_once() {
    let place = Place::new("folder-to-output");
    place.write("photos/one", b"one");
    place.write("file", &noise(1, 100_000));
    for what in [&["photos"][..], &["file", "photos"]] {
        let receiver = Receiver::begin(&place, "recv", &["-"], &NEW);
        let sent = sends(&place, &[what, &[&*receiver.address, "--trust", "new"]].concat());
        let received = receiver.end();
        for end in [&sent, &received] {
            assert_eq!(exit(end), 1, "{}", end.stderr);
            assert!(end.stderr.contains("takes one file or stream and no folder"), "{}", end.stderr);
        }
        assert_eq!(received.stdout, "");
    }
}
