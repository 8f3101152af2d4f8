//! Which process holds a socket, by its local address: from `/proc/net` and the open files of all processes.
//!
//! Sockets of other network namespaces are not found.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use procfs::{net, process};

/// A look at all processes stands for at least this long, and for this many times what it took: a quarter of a CPU is
/// spent on it at the most, and only while a socket is busy that no process is known to hold.
const AGE: Duration = Duration::from_millis(200);
const TIMES: u32 = 3;

/// Remembers what it found.
#[derive(Default)]
pub(super) struct Holders {
    /// Process and its name, by protocol and local address.
    known: HashMap<(String, String), (u32, String)>,
    /// When the next look is worth it.
    next: Option<Instant>,
}

impl Holders {
    /// Process id and name of the first process that holds a socket bound like this.
    pub(super) fn of(&mut self, protocol: &str, local: &str) -> Option<(u32, String)> {
        if local.is_empty() || !matches!(protocol, "tcp" | "udp") {
            return None;
        }
        let key = (protocol.to_owned(), local.to_owned());
        if !self.known.contains_key(&key) && self.next.is_none_or(|at| at <= Instant::now()) {
            self.look();
        }
        // A socket bound to no address is known to `/proc/net` by its port alone.
        let port = local.rsplit_once(':').map_or("", |(_, port)| port);
        let any = |address: &str| self.known.get(&(protocol.to_owned(), format!("{address}:{port}")));
        self.known.get(&key).or_else(|| any("0.0.0.0")).or_else(|| any("[::]")).cloned()
    }

    fn look(&mut self) {
        let began = Instant::now();
        let mut inodes: HashMap<u64, (&str, String)> = HashMap::new();
        for entries in [net::udp(), net::udp6()] {
            let entries = entries.into_iter().flatten();
            inodes.extend(entries.map(|it| (it.inode, ("udp", it.local_address.to_string()))));
        }
        for entries in [net::tcp(), net::tcp6()] {
            let entries = entries.into_iter().flatten();
            inodes.extend(entries.map(|it| (it.inode, ("tcp", it.local_address.to_string()))));
        }
        for process in process::all_processes().into_iter().flatten().flatten() {
            let Ok(files) = process.fd() else { continue };
            let mut comm = None;
            for file in files.flatten() {
                let process::FDTarget::Socket(inode) = file.target else { continue };
                let Some((protocol, local)) = inodes.get(&inode) else { continue };
                let comm = comm.get_or_insert_with(|| name_of(&process));
                let pid = u32::try_from(process.pid).unwrap_or(0);
                self.known.insert(((*protocol).to_owned(), local.clone()), (pid, comm.clone()));
            }
        }
        self.next = Some(Instant::now() + AGE.max(began.elapsed() * TIMES));
    }
}

/// Without control characters.
fn name_of(process: &process::Process) -> String {
    let name = process.stat().map(|it| it.comm).unwrap_or_default();
    name.chars().map(|it| if it.is_control() { '?' } else { it }).collect()
}
