//! Tests of remote execution, with correct and with faulty engines.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use thalweg_scenario::{LoadedScenario, SchemeOverride, load_text_with_override, read_sweep_text};
use thalweg_sweep::{
    Budget, Engine, LoadError, PointResult, Program, Purpose, Status, Store, Sweep, Unfinished, run_batch,
};

const SCENARIO: &str = r#"
duration = "400 ms"
[[link]]
name = "core"
between = ["a", "b"]
rate = "5 Mbit/s"
delay = "5 ms"
queue = "20 pkt"
loss = "1 %"
[[flow]]
from = "a"
to = "b"
"#;

const SWEEP: &str = r#"
scenario = "x"
schemes = ["cubic", "vegas"]
reps = 3
[grid]
link.core.rate = ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]
"#;

fn load(sets: &[String], scheme_override: Option<SchemeOverride<'_>>) -> Result<LoadedScenario, LoadError> {
    load_text_with_override("x", SCENARIO, Path::new(""), sets, scheme_override, &Arc::default())
        .map_err(LoadError::Scenario)
}

fn store(name: &str) -> (PathBuf, Store) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let store = Store::open(&folder, Purpose::SWEEP).unwrap();
    (folder, store)
}

/// Returns the bytes of all saved runs, by name.
fn saved_runs(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files =
        |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    let folders: Vec<PathBuf> = files(&folder.join("points"));
    let all = folders.iter().flat_map(|path| -> Vec<PathBuf> { files(path) });
    all.map(|path| (path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

fn program() -> Program {
    Program { version: "1".to_owned(), build: "b".to_owned() }
}

/// Executes the sweep with an engine whose answers to batches `act` writes; also returns its notes.
fn made(
    store: &Store,
    slots: usize,
    act: impl FnMut(u64, Vec<u8>, &mut UnixStream) -> bool + Send + 'static,
) -> (Result<Vec<PointResult>, Unfinished>, Status, Vec<String>) {
    let file = read_sweep_text("s.toml", SWEEP).unwrap();
    let program = program();
    let sweep = Sweep::new(&file, &load, (Budget::Runs(3), &program), Arc::default()).unwrap();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let other = std::thread::spawn(move || {
        let mut act = act;
        let mut input = BufReader::new(theirs.try_clone().unwrap());
        let mut hello = String::new();
        input.read_line(&mut hello).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&hello).unwrap(),
            json!({"hello": "thalweg-sweep", "version": "1", "build": "b"})
        );
        writeln!(theirs, "{}", json!({"slots": slots})).unwrap();
        loop {
            let mut line = String::new();
            if input.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let head: Value = serde_json::from_str(&line).unwrap();
            let mut body = vec![0; head["bytes"].as_u64().unwrap() as usize];
            input.read_exact(&mut body).unwrap();
            if !act(head["batch"].as_u64().unwrap(), body, &mut theirs) {
                // Read pending requests first: closing the socket earlier would report a reset.
                theirs.shutdown(Shutdown::Write).unwrap();
                let _ = input.read_to_end(&mut Vec::new());
                return;
            }
        }
    });
    let notes = Mutex::new(Vec::new());
    let mut last = Status::default();
    let on_note = |note: &str| notes.lock().unwrap().push(note.to_owned());
    let mut engine = Engine::at(ours, &program, on_note).unwrap();
    let made = sweep.run(store, Some(&mut engine), |status| last = status);
    drop(engine);
    other.join().unwrap();
    (made, last, notes.into_inner().unwrap())
}

fn answer_batch(batch: &[u8]) -> Vec<u8> {
    let load = |text: &str| load_text_with_override("x", text, Path::new(""), &[], None, &Arc::default());
    run_batch(batch, load, None, &Arc::default()).unwrap()
}

fn send(out: &mut UnixStream, number: u64, body: &[u8]) -> bool {
    // The client may have closed the stream.
    let _ = writeln!(out, "{}", json!({"batch": number, "seconds": 0.001, "bytes": body.len()}));
    out.write_all(body).is_ok()
}

fn runs_of(batch: &[u8]) -> usize {
    let parts: Value = serde_json::from_slice(batch).unwrap();
    parts.as_array().unwrap().iter().map(|part| part["seeds"].as_array().unwrap().len()).sum()
}

/// Returns the runs saved by local execution of the same sweep.
fn made_here(name: &str) -> (BTreeMap<PathBuf, Vec<u8>>, Vec<PointResult>) {
    let (folder, store) = store(name);
    let file = read_sweep_text("s.toml", SWEEP).unwrap();
    let program = program();
    let sweep = Sweep::new(&file, &load, (Budget::Runs(3), &program), Arc::default()).unwrap();
    let made = sweep.run(&store, None, |_| ()).unwrap();
    (saved_runs(&folder), made)
}

fn metric_names(made: &[PointResult]) -> Vec<&[(u64, String)]> {
    made.iter().map(|made| made.runs.as_slice()).collect()
}

#[test]
fn remote_runs_are_byte_identical_in_any_order() {
    let (here, made_here) = made_here("engine-here");
    let (folder, store) = store("engine-order");
    // Two at a time; the second is answered first.
    let mut first = None;
    let mut seen = 0;
    let (made_away, status, notes) = made(&store, 2, move |number, body, out| {
        seen += runs_of(&body);
        match first.take() {
            None if seen < 18 => {
                first = Some((number, body));
                true
            }
            None => send(out, number, &answer_batch(&body)),
            Some((earlier, of)) => {
                writeln!(out, "{}", json!({"note": "on it"})).unwrap();
                send(out, number, &answer_batch(&body)) && send(out, earlier, &answer_batch(&of))
            }
        }
    });
    assert_eq!(metric_names(&made_away.unwrap()), metric_names(&made_here));
    assert_eq!(saved_runs(&folder), here);
    assert_eq!((status.finished_runs, status.stored_runs, status.failed), (18, 0, 0));
    assert!(!notes.is_empty() && notes.iter().all(|note| note == "on it"), "{notes:?}");
    // Saved runs are not requested again.
    let (again, status, _) = made(&store, 2, |_, _, _| panic!("everything is there"));
    assert_eq!((metric_names(&again.unwrap()), status.stored_runs), (metric_names(&made_here), 18));
}

#[test]
fn failed_batches_are_retried_run_by_run() {
    let (here, made_here) = made_here("engine-here-too");
    let (folder, store) = store("engine-failing");
    let bad = "10 Mbit/s";
    let (made_away, status, _) = made(&store, 1, move |number, body, out| {
        let is_bad = String::from_utf8_lossy(&body).contains(bad) && runs_of(&body) == 1;
        if runs_of(&body) > 1 || is_bad {
            return writeln!(out, "{}", json!({"batch": number, "failed": "workers ended"})).is_ok();
        }
        send(out, number, &answer_batch(&body))
    });
    let made_away = made_away.unwrap();
    assert_eq!((status.finished_runs, status.failed), (18, 6));
    for (point, made) in made_away.iter().enumerate() {
        let is_bad = (2..4).contains(&point);
        assert_eq!(made.is_finished, !is_bad, "{point}");
        match is_bad {
            true => assert_eq!(made.failure.as_ref().unwrap().why, "workers ended"),
            false => assert_eq!(made.runs, made_here[point].runs),
        }
    }
    let kept = saved_runs(&folder);
    assert!(kept.len() == 12 && kept.iter().all(|(name, bytes)| here[name] == *bytes));
}

#[test]
fn a_lost_engine_keeps_the_received_runs() {
    let (here, _) = made_here("engine-here-gone");
    let (folder, store) = store("engine-gone");
    let mut left = 2;
    let (gone, _, _) = made(&store, 1, move |number, body, out| {
        left -= 1;
        left >= 0 && send(out, number, &answer_batch(&body))
    });
    let gone = gone.unwrap_err().to_string();
    assert!(gone.contains("the engine has exited"), "{gone}");
    let before = saved_runs(&folder).len();
    assert!((1..18).contains(&before), "{before}");
    let (lost, _, _) =
        made(&store, 1, |_, _, out| writeln!(out, "{}", json!({"lost": "the scheduler is gone"})).is_ok());
    assert_eq!(lost.unwrap_err().to_string(), "the scheduler is gone");
    let (completed, status, _) = made(&store, 3, |number, body, out| send(out, number, &answer_batch(&body)));
    assert!(completed.unwrap().iter().all(|made| made.is_finished));
    assert_eq!(status.stored_runs, before);
    assert_eq!(saved_runs(&folder), here);
}

#[test]
fn invalid_answers_are_reported_and_not_stored() {
    type Act = fn(u64, Vec<u8>, &mut UnixStream) -> bool;
    let cases: [(&str, Act); 6] = [
        ("expected", |_, _, out| writeln!(out, "hello").is_ok()),
        ("not requested", |number, _, out| send(out, number + 1000, b"")),
        ("0 results of", |number, _, out| send(out, number, b"")),
        ("neither a run nor a reason", |number, _, out| send(out, number, b"x\n")),
        ("in the middle", |number, _, out| {
            writeln!(out, "{}", json!({"batch": number, "bytes": 10})).unwrap();
            false
        }),
        ("are more than", |number, _, out| {
            writeln!(out, "{}", json!({"batch": number, "bytes": 1u64 << 40})).is_ok()
        }),
    ];
    let (folder, store) = store("engine-strange");
    for (words, act) in cases {
        let (made, _, _) = made(&store, 1, act);
        let message = made.unwrap_err().to_string();
        assert!(message.contains(words), "no `{words}` in {message}");
    }
    // A run other than the requested one, and invalid data, are separate failures.
    let (made, status, _) = made(&store, 1, |number, body, out| {
        let other = String::from_utf8(answer_batch(&body)).unwrap();
        let bodies = [other.replace("+{\"seed\":", "+{\"seed\":9"), "+{}\n".repeat(runs_of(&body))];
        send(out, number, bodies[number as usize % 2].as_bytes())
    });
    assert_eq!((status.failed, saved_runs(&folder).len()), (18, 0));
    for made in made.unwrap() {
        let why = made.failure.unwrap().why;
        assert!(why.contains("another run") || why.contains("no valid run"), "{why}");
    }
}
