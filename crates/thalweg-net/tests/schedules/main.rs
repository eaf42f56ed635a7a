//! Random schedules over real sockets, through the relay: loss, bursts, reordering, duplicates, corruption, blackouts,
//! narrow paths, new addresses, server restarts, clock jumps. No byte may be wrong, nothing may hang, and nothing may
//! leak.

#[path = "../allocation_counter/mod.rs"]
mod allocation_counter;
mod random_schedule;
#[path = "../live/relay/mod.rs"]
mod relay;
mod schedule_replay;

use random_schedule::{Action, End, Scale, Schedule};
use schedule_replay::ScheduleOutcome;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use thalweg_net::impair::{MtuChange, Span};
use thalweg_proto::units::Bytes;

/// Serialises the tests, as they count the open files and threads of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Plays the schedules of `count` seeds from `first` on, `together` of them at a time.
fn play_all(first: u64, count: u64, scale: Scale, together: usize, limit: Duration) -> Vec<ScheduleOutcome> {
    let next = AtomicU64::new(first);
    let counted = Mutex::new(Vec::new());
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..together {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count || !failed.lock().unwrap().is_empty() {
                        return;
                    }
                    let schedule = Schedule::random(seed, scale);
                    match catch_unwind(AssertUnwindSafe(|| {
                        schedule_replay::replay_schedule(&schedule, limit)
                    })) {
                        Ok(result) => counted.lock().unwrap().push(result),
                        Err(_) => failed.lock().unwrap().push(seed),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "seeds that failed: {failed:?}");
    counted.into_inner().unwrap()
}

/// Returns the numbers of open files and of threads of this process.
fn open_files_and_threads() -> (usize, usize) {
    let count = |folder| std::fs::read_dir(folder).unwrap().count();
    (count("/proc/self/fd"), count("/proc/self/task"))
}

/// Checks that no file or thread leaked. A joined thread takes a moment to disappear; one of the previous test may have
/// been counted as well.
fn check_open(before: (usize, usize)) {
    for _ in 0..200 {
        let (files, threads) = open_files_and_threads();
        if files <= before.0 && threads <= before.1 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("files and threads stayed open: {:?}, {before:?} before", open_files_and_threads());
}

/// Returns the resident memory of this process, in bytes.
fn resident_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() * 1024
}

/// Checks that every kind of event occurred.
fn check_all_events_occurred(counted: &[ScheduleOutcome]) {
    let sum = |of: fn(&ScheduleOutcome) -> u64| counted.iter().map(of).sum::<u64>();
    let both = |of: fn(&thalweg_net::impair::LinkDirectionStats) -> u64| {
        counted.iter().map(|counted| of(&counted.relay.up) + of(&counted.relay.down)).sum::<u64>()
    };
    let all = [
        ("lost", both(|line| line.lost)),
        ("damaged", both(|line| line.corrupted)),
        ("copied", both(|line| line.duplicated)),
        ("held back", both(|line| line.held_back)),
        ("blacked out", both(|line| line.blacked_out)),
        ("too long", both(|line| line.too_long)),
        ("new addresses", sum(|counted| counted.relay.rebinds)),
        ("new addresses seen by servers", sum(|counted| counted.migrations)),
        ("connections ended by restarts", sum(|counted| counted.resets as u64)),
        ("jumps of clocks", sum(|counted| counted.jumps as u64)),
    ];
    let longest = counted.iter().map(|counted| counted.took).max();
    println!("{} schedules: {all:?}, the longest took {longest:?}", counted.len());
    for (what, count) in all {
        assert!(count > 0, "never: {what}");
    }
}

#[test]
fn two_hundred_schedules() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let before = open_files_and_threads();
    let counted = play_all(0, 200, Scale::Quick, 80, Duration::from_secs(90));
    check_all_events_occurred(&counted);
    check_open(before);
}

/// One scheme of each kind.
const KINDS: &[&str] = &["cubic", "sscop-rate", "sstp", "adaptive-ack"];

/// Plays a schedule with one kind of event for each of these schemes.
fn play_with(first: u64, schemes: &[&str], add_event: impl Fn(&mut Schedule)) -> Vec<ScheduleOutcome> {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let add_event = &add_event;
    std::thread::scope(|scope| {
        let players: Vec<_> = (first..)
            .zip(schemes)
            .map(|(seed, scheme)| {
                let mut schedule = Schedule::calm(seed, scheme);
                add_event(&mut schedule);
                scope.spawn(move || schedule_replay::replay_schedule(&schedule, Duration::from_secs(90)))
            })
            .collect();
        players.into_iter().map(|player| player.join().unwrap()).collect()
    })
}

fn at(millis: u64) -> thalweg_proto::units::Duration {
    thalweg_proto::units::Duration::from_millis(millis)
}

#[test]
fn ten_seconds_of_blackout() {
    let counted = play_with(50_000, KINDS, |schedule| {
        let Schedule { up, down, .. } = schedule;
        random_schedule::add_blackout([up, down], 2, Span { from: at(500), until: at(10_500) });
    });
    for ScheduleOutcome { relay, resets, took, .. } in counted {
        assert!(relay.up.blacked_out > 0 && resets == 0);
        assert!((Duration::from_secs(10)..Duration::from_secs(60)).contains(&took), "{took:?}");
    }
}

#[test]
fn addresses_that_change() {
    for ScheduleOutcome { relay, migrations, resets, .. } in
        play_with(50_010, KINDS, |schedule| schedule.rebinds = vec![at(400), at(900)])
    {
        // The second change may precede the detection of the first.
        assert!(relay.rebinds == 2 && migrations > 0 && resets == 0, "{migrations} of {}", relay.rebinds);
    }
}

#[test]
fn a_path_that_becomes_a_black_hole_for_large_packets() {
    let counted = play_with(50_020, KINDS, |schedule| {
        let mtu_change = MtuChange { at: at(600), mtu: Bytes::new(1300) };
        schedule.up.mtu_changes.push(mtu_change);
        schedule.down.mtu_changes.push(mtu_change);
    });
    assert!(counted.iter().all(|counted| counted.resets == 0));
    // The first scheme sends packets of the full path MTU.
    assert!(counted[0].relay.up.too_long + counted[0].relay.down.too_long > 0);
}

#[test]
fn a_peer_that_is_started_anew() {
    let counted = play_with(50_030, KINDS, |schedule| {
        let Schedule { up, down, .. } = schedule;
        random_schedule::add_blackout(
            [up, down],
            2,
            Span { from: at(600), until: at(600) + random_schedule::RESTART },
        );
        schedule.actions = vec![(at(750), Action::Restart)];
    });
    assert!(counted.iter().all(|counted| counted.resets == 1), "{counted:?}");
}

#[test]
fn clocks_that_jump() {
    let counted = play_with(50_040, KINDS, |schedule| {
        let jumps = [(300, End::Client, 4000), (600, End::Server, 5000), (900, End::Client, 20)];
        schedule.actions =
            jumps.map(|(when, end, by)| (at(when), Action::Jump(end, at(by)))).into_iter().collect();
    });
    assert!(counted.iter().all(|counted| counted.jumps == 3 && counted.resets == 0));
}

/// Run by `scripts/soak schedules`.
#[test]
#[ignore = "takes an hour; scripts/soak runs it"]
fn soak() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let number = |name: &str, default| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (count, first) = (number("THALWEG_SCHEDULES", 10_000), number("THALWEG_SEED", 0));
    let before = open_files_and_threads();
    let mut memory = None;
    let mut done = 0;
    while done < count {
        let batch = (count - done).min(1000);
        println!("{done} of {count} schedules, next is seed {}", first + done);
        play_all(first + done, batch, Scale::Full, 200, Duration::from_secs(600));
        done += batch;
        check_open(before);
        let now = allocation_counter::allocated_bytes();
        let base = *memory.get_or_insert(now);
        println!(
            "{done} of {count} passed, {} kB allocated, {} MB in memory",
            now >> 10,
            resident_memory() >> 20
        );
        // Count allocated memory: the resident size includes free memory that the allocator retains.
        assert!(now < base + (1 << 20), "what is allocated grew from {base} to {now} bytes");
    }
}
