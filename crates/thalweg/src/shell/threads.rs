//! The threads that move packets, each through a part of the network that nothing connects with the others'.

use crate::console::Error;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Instant;
use thalweg_live::{Device, Driven, Emulator, FileCapture, NetworkObservers, Watch, drive};

/// All of them.
pub struct Threads {
    running: Vec<JoinHandle<std::io::Result<Driven>>>,
    /// The state of what each of them has, where somebody wants to look.
    pub watches: Vec<Arc<Watch>>,
    /// They end when this is gone.
    stop: UnixStream,
}

impl Threads {
    /// Starts a thread for each network with its devices.
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
            let (onlookers, stopped) =
                (NetworkObservers { capture: capture.cloned(), watch }, Arc::clone(&stopped));
            let run = move || drive(emulator, &devices, stopped.as_fd(), began, &onlookers);
            let started = Builder::new().name("network".to_owned()).spawn(run);
            let started =
                started.map_err(|error| Error::Failed(format!("cannot start the network: {error}")))?;
            threads.running.push(started);
        }
        Ok(threads)
    }

    /// One has come to an end: there is no whole network any more.
    pub fn has_one_ended(&self) -> bool {
        self.running.iter().any(JoinHandle::is_finished)
    }

    /// Ends those that have not come to an end by themselves.
    pub fn end(self) -> Result<Vec<Driven>, Error> {
        drop(self.stop);
        let ended = self.running.into_iter().map(JoinHandle::join);
        let ended = ended.map(|thread| match thread {
            Ok(driven) => {
                driven.map_err(|error| Error::Failed(format!("a device of the network failed: {error}")))
            }
            Err(_) => Err(Error::Failed("the network broke off; please report it".to_owned())),
        });
        ended.collect()
    }
}
