//! Thread that writes replies to the sender.

use crate::transfer::frame_io::FrameWriter;
use crate::transfer::transfer_messages::{ToSender, VERSION};
use crate::transfer::transfer_progress::Progress;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Minimum interval between progress replies.
const MIN_REPLY_INTERVAL: Duration = Duration::from_millis(200);
/// Maximum interval between replies: the sender's acknowledgements of them show that it is alive.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// Capacity of the reply queue.
const REPLY_QUEUE_CAPACITY: usize = 4096;

/// Starts the thread that writes to `stream`: the greeting, then the queued replies and the progress. The thread ends
/// once all senders of the queue are dropped, or the stream ends.
pub fn start_reply_thread<W: Write + Send + 'static>(
    stream: W,
    progress: &Arc<Progress>,
) -> io::Result<(SyncSender<ToSender>, JoinHandle<io::Result<()>>)> {
    let (sender, queue) = sync_channel(REPLY_QUEUE_CAPACITY);
    let progress = Arc::clone(progress);
    let thread = std::thread::Builder::new()
        .name("transfer-replies".to_owned())
        .spawn(move || write_replies(FrameWriter::new(stream), &queue, &progress))?;
    Ok((sender, thread))
}

fn write_replies<W: Write>(
    mut stream: FrameWriter<W>,
    queue: &Receiver<ToSender>,
    progress: &Progress,
) -> io::Result<()> {
    stream.frame(&ToSender::Hello { version: VERSION })?;
    stream.flush()?;
    let (mut reported, mut when, mut paused) = (0, Instant::now(), false);
    loop {
        let reply = match queue.try_recv() {
            Ok(reply) => Ok(reply),
            Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => {
                stream.flush()?;
                queue.recv_timeout(MIN_REPLY_INTERVAL)
            }
        };
        let is_over = matches!(reply, Err(RecvTimeoutError::Disconnected));
        if let Ok(reply) = reply {
            // The final progress precedes `Done`.
            if matches!(reply, ToSender::Done) {
                stream.frame(&ToSender::Progress { bytes: progress.bytes().get() })?;
                // Before the sender can know: its next transfer must find the slot free.
                progress.end();
            }
            stream.frame(&reply)?;
        }
        if is_over {
            return stream.flush();
        }
        if progress.is_held() != paused {
            paused = !paused;
            stream.frame(&ToSender::Paused { paused })?;
        }
        let bytes = progress.bytes().get();
        if (bytes != reported && when.elapsed() >= MIN_REPLY_INTERVAL) || when.elapsed() >= HEARTBEAT {
            stream.frame(&ToSender::Progress { bytes })?;
            (reported, when) = (bytes, Instant::now());
        }
    }
}
