//! Persistent worker threads for small amounts of work at a time.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{JoinHandle, Result as Outcome};
use std::time::Duration;

/// Interval of polls while waiting for other threads.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Worker threads with the same function for all tasks. The submitting thread works too, to avoid waiting for a worker
/// that the system has not woken yet.
pub struct Pool<T, R> {
    shared: Arc<SharedPoolState<T, R>>,
    helpers: Vec<JoinHandle<()>>,
    outcomes: Receiver<Outcome<R>>,
    sender: Sender<Outcome<R>>,
}

struct SharedPoolState<T, R> {
    queue: Mutex<Queue<T>>,
    available: Condvar,
    work: Box<dyn Fn(T) -> R + Send + Sync>,
}

struct Queue<T> {
    tasks: VecDeque<T>,
    closed: bool,
}

impl<T, R> SharedPoolState<T, R> {
    fn queue(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<T> {
        self.queue().tasks.pop_front()
    }

    /// Returns the next task, blocking until there is one; `None` at shutdown.
    fn wait(&self) -> Option<T> {
        let mut queue = self.queue();
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            if queue.closed {
                return None;
            }
            queue = self.available.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn perform(&self, task: T) -> Outcome<R> {
        catch_unwind(AssertUnwindSafe(|| (self.work)(task)))
    }
}

impl<T: Send + 'static, R: Send + 'static> Pool<T, R> {
    /// Creates a pool of `helpers` threads besides the submitting thread.
    pub fn new(helpers: usize, work: impl Fn(T) -> R + Send + Sync + 'static) -> Self {
        let queue = Mutex::new(Queue { tasks: VecDeque::new(), closed: false });
        let shared = Arc::new(SharedPoolState { queue, available: Condvar::new(), work: Box::new(work) });
        let (sender, done) = mpsc::channel();
        let help = |_| {
            let (shared, sender) = (Arc::clone(&shared), sender.clone());
            std::thread::spawn(move || {
                while let Some(task) = shared.wait() {
                    // The receiver is gone only after a panic.
                    let _ = sender.send(shared.perform(task));
                }
            })
        };
        Self { helpers: (0..helpers).map(help).collect(), shared, outcomes: done, sender }
    }

    /// Returns the results of tasks, in arbitrary order. Calls `poll` at times while it waits for other threads.
    ///
    /// # Panics
    ///
    /// If the function panics on a task.
    pub fn all(&self, tasks: Vec<T>, poll: impl Fn()) -> Vec<R> {
        // Discard results of an earlier call that panicked.
        self.outcomes.try_iter().for_each(drop);
        let count = tasks.len();
        self.shared.queue().tasks.extend(tasks);
        if !self.helpers.is_empty() && count > 1 {
            self.shared.available.notify_all();
        }
        while let Some(task) = self.shared.take() {
            let _ = self.sender.send(self.shared.perform(task));
        }
        let mut results = Vec::with_capacity(count);
        let (mut panicked, mut left) = (None, count);
        while left > 0 {
            match self.outcomes.recv_timeout(POLL_INTERVAL) {
                Ok(Ok(result)) => results.push(result),
                Ok(Err(panic)) => panicked = Some(panic),
                Err(RecvTimeoutError::Timeout) => {
                    poll();
                    continue;
                }
                // The pool has a sender of its own.
                Err(RecvTimeoutError::Disconnected) => break,
            }
            left -= 1;
        }
        panicked.map_or(results, |panic| resume_unwind(panic))
    }
}

impl<T, R> Drop for Pool<T, R> {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.available.notify_all();
        for helper in self.helpers.drain(..) {
            // The helper has already reported its result.
            let _ = helper.join();
        }
    }
}
