//! A loopback UDP load of the shape of netperf's `UDP_STREAM`, for machines where netperf cannot be had.
//!
//! One thread sends as fast as it can, one receives, both on 127.0.0.1 in this process; bounded in time and in
//! count. It prints its own words, not netperf's: its figures are not netperf's.

use std::{
    io::ErrorKind,
    net::{Ipv4Addr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Args;

use crate::console;

/// Options of the load.
#[derive(Args)]
pub(crate) struct Options {
    /// Bytes of a message
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=65_507))]
    pub(crate) size: u16,
    /// How long to send, s
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// Stop after this many messages
    #[arg(long, default_value_t = 1_000_000_000)]
    messages: u64,
}

/// What one side has done.
#[derive(Debug, Default, PartialEq, Eq)]
struct Side {
    messages: u64,
    /// Messages for which the kernel had no memory; they are not in `messages`.
    refused: u64,
    took: Duration,
}

/// Sends and receives, and prints what came of it.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let (sent, received) = exchange(options).context("loopback UDP load")?;
    for (what, side) in [("sent", sent), ("received", received)] {
        let bits = u128::from(side.messages) * u128::from(options.size) * 8;
        let rate = bits.checked_div(side.took.as_micros()).unwrap_or(0);
        console::result(&format!(
            "{what:<9}{} messages of {} bytes in {:.2} s, {rate} Mbit/s, {} refused",
            side.messages,
            options.size,
            side.took.as_secs_f64(),
            side.refused
        ));
    }
    Ok(())
}

fn exchange(options: &Options) -> anyhow::Result<(Side, Side)> {
    let receiver = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("a receiving socket on 127.0.0.1")?;
    // Wakes the receiver to see that the sender has ended.
    receiver.set_read_timeout(Some(Duration::from_millis(100))).context("a time limit for receiving")?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("a sending socket on 127.0.0.1")?;
    sender.connect(receiver.local_addr().context("the receiver's address")?).context("connect to the receiver")?;

    let sending = AtomicBool::new(true);
    thread::scope(|scope| {
        let thread = scope.spawn(|| receive(&receiver, &sending));
        let sent = send(&sender, options);
        sending.store(false, Ordering::Release);
        let arrived = thread.join().map_err(|_panic| anyhow::anyhow!("the receiver has panicked"))?;
        Ok((sent?, arrived?))
    })
}

fn send(socket: &UdpSocket, options: &Options) -> anyhow::Result<Side> {
    let message = vec![0x55; usize::from(options.size)];
    let limit = Duration::from_secs(options.seconds);
    let (start, mut side) = (Instant::now(), Side::default());
    while side.messages < options.messages && start.elapsed() < limit {
        match socket.send(&message) {
            Ok(_) => side.messages += 1,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::OutOfMemory || out_of_buffers(&error) => side.refused += 1,
            Err(error) => return Err(error).context("send on loopback"),
        }
    }
    side.took = start.elapsed();
    Ok(side)
}

/// ENOBUFS, which has no `ErrorKind`.
fn out_of_buffers(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(nix::errno::Errno::ENOBUFS as i32)
}

fn receive(socket: &UdpSocket, sending: &AtomicBool) -> anyhow::Result<Side> {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let (start, mut side) = (Instant::now(), Side::default());
    loop {
        match socket.recv(&mut buffer) {
            Ok(_) => {
                side.messages += 1;
                side.took = start.elapsed();
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if !sending.load(Ordering::Acquire) {
                    return Ok(side);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("receive on loopback"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_ends_at_its_count_and_receives_no_more_than_it_sent() {
        let (sent, received) = exchange(&Options { size: 8192, seconds: 60, messages: 20 }).unwrap();
        assert_eq!(sent.messages, 20);
        assert!((1..=20).contains(&received.messages), "{received:?}");
    }

    #[test]
    fn the_load_ends_at_its_time() {
        let start = Instant::now();
        let (sent, _) = exchange(&Options { size: 1, seconds: 1, messages: u64::MAX }).unwrap();
        assert!((1..5).contains(&start.elapsed().as_secs()) && sent.messages > 1, "{sent:?}");
    }
}
