//! A command's output passed through while it runs, by a thread of its own so that a slow reader delays nobody.

use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

/// Bytes that may wait to be written before more are left out.
const WAITING_BYTES: usize = 8 << 20;
/// Pieces that may wait, for outputs that come byte by byte.
const WAITING_PIECES: usize = 4096;
/// How long the end waits for what is still unwritten.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where a command's outputs go while it runs.
pub enum Echo {
    /// Nowhere: they are only kept.
    Off,
    /// Both there, as they are, in the order they are read. Writes may block; what cannot be kept back until they
    /// are done is left out and counted.
    To(Box<dyn Write + Send>),
}

/// Passes pieces on.
pub(super) struct Passer {
    queue: Option<mpsc::SyncSender<Vec<u8>>>,
    waiting: Arc<AtomicUsize>,
    written: mpsc::Receiver<()>,
    /// Bytes left out since the last piece that was taken.
    gap: usize,
    left_out: u64,
}

impl Passer {
    pub(super) fn new(echo: Echo) -> std::io::Result<Self> {
        let (done, written) = mpsc::sync_channel(1);
        let waiting = Arc::new(AtomicUsize::new(0));
        let queue = match echo {
            Echo::Off => None,
            Echo::To(writer) => {
                let (queue, pieces) = mpsc::sync_channel(WAITING_PIECES);
                let waiting = Arc::clone(&waiting);
                thread::Builder::new().name("echo".into()).spawn(move || {
                    write(writer, &pieces, &waiting);
                    let _nobody_waits = done.send(());
                })?;
                Some(queue)
            }
        };
        Ok(Self { queue, waiting, written, gap: 0, left_out: 0 })
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let Some(queue) = &self.queue else { return };
        let mut piece = Vec::new();
        if self.gap > 0 {
            piece.extend(format!("\n[tracer: {} bytes left out]\n", self.gap).into_bytes());
        }
        piece.extend_from_slice(bytes);
        let length = piece.len();
        if self.waiting.fetch_add(length, Ordering::Relaxed) + length <= WAITING_BYTES {
            match queue.try_send(piece) {
                Ok(()) => {
                    self.gap = 0;
                    return;
                }
                // A closed pipe: whoever read it has seen enough.
                Err(mpsc::TrySendError::Disconnected(_)) => {
                    self.queue = None;
                    return;
                }
                Err(mpsc::TrySendError::Full(_)) => {}
            }
        }
        self.waiting.fetch_sub(length, Ordering::Relaxed);
        self.gap += bytes.len();
        self.left_out += bytes.len() as u64;
    }

    /// Waits a little until all is written; the bytes that were not passed on.
    pub(super) fn finish(mut self) -> u64 {
        if self.queue.take().is_some() && self.written.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            return self.left_out + self.waiting.load(Ordering::Relaxed) as u64;
        }
        self.left_out
    }
}

fn write(mut writer: Box<dyn Write + Send>, pieces: &mpsc::Receiver<Vec<u8>>, waiting: &AtomicUsize) {
    for piece in pieces {
        if writer.write_all(&piece).and_then(|()| writer.flush()).is_err() {
            return;
        }
        waiting.fetch_sub(piece.len(), Ordering::Relaxed);
    }
}
