//! Threads that forward packets, one per connected component of the network.

use crate::console_output::Error;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Instant;
use thalweg_live::{
    Device, Emulator, EventLoopOutcome, FileCapture, NetworkObservers, Watch, run_event_loop,
};

/// All forwarding threads.
pub struct Threads {
    running: Vec<JoinHandle<std::io::Result<EventLoopOutcome>>>,
    /// State of each thread's network, if it is observed.
    pub watches: Vec<Arc<Watch>>,
    /// The threads end when this is closed.
    stop: UnixStream,
}

impl Threads {
    /// Starts one thread per network, with its devices.
    pub fn start(
        emulators: Vec<Emulator>,
        devices: Vec<Vec<Device>>,
        capture: Option<&Arc<FileCapture>>,
        is_watched: bool,
    ) -> Result<Self, Error> {
        let (stop, stopped) =
            UnixStream::pair().map_err(|error| Error::Failed(format!("cannot make a pipe: {error}")))?;
        let (stopped, began) = (Arc::new(stopped), Instant::now());
        let mut threads = Self { running: Vec::new(), watches: Vec::new(), stop };
        for (emulator, devices) in emulators.into_iter().zip(devices) {
            let watch = is_watched.then(Arc::<Watch>::default);
            threads.watches.extend(watch.clone());
            let (observers, stopped) =
                (NetworkObservers { capture: capture.cloned(), watch }, Arc::clone(&stopped));
            let run = move || run_event_loop(emulator, &devices, stopped.as_fd(), began, &observers);
            let started = Builder::new().name("network".to_owned()).spawn(run);
            let started =
                started.map_err(|error| Error::Failed(format!("cannot start the network: {error}")))?;
            threads.running.push(started);
        }
        Ok(threads)
    }

    /// Returns true if any thread has ended: the network is no longer complete.
    pub fn has_one_ended(&self) -> bool {
        self.running.iter().any(JoinHandle::is_finished)
    }

    /// Stops the threads that still run, and returns the results of all.
    pub fn end(self) -> Result<Vec<EventLoopOutcome>, Error> {
        drop(self.stop);
        let results = self.running.into_iter().map(JoinHandle::join);
        let results = results.map(|thread| match thread {
            Ok(driven) => {
                driven.map_err(|error| Error::Failed(format!("a device of the network failed: {error}")))
            }
            Err(_) => Err(Error::Failed("the network failed; please report it".to_owned())),
        });
        results.collect()
    }
}
