//! Reading what is counted beside page allocations.

use std::{collections::BTreeMap, mem::offset_of};

use anyhow::Result;
use tracer_common::{
    cpu::CpuState,
    histogram::{self, Histogram, place},
    loss::Cause,
    sock::{self, REASONS},
    tally::Tally,
};

use super::{mapped::MappedArray, sockets::Sockets};
use crate::{
    probe::Probe,
    signal::Status,
    tally::{Distribution, Kind, Sums, Tallies, TallyCount, TallyKey, VALUES},
};

/// Reads tallies, distributions, sockets and dropped packets.
pub(super) struct Reader {
    tallies: MappedArray<Tally>,
    histograms: MappedArray<Histogram>,
    drops: Option<MappedArray<[u64; REASONS]>>,
    sockets: Option<Sockets>,
    tallies_per_cpu: usize,
    cpus: usize,
    /// Of each tally at the last read, by CPU.
    seen: Vec<Vec<Sums>>,
    /// Of each distribution at the last read.
    seen_distributions: Vec<Distribution>,
    seen_drops: BTreeMap<String, u64>,
    reasons: BTreeMap<u32, String>,
}

impl Reader {
    pub(super) fn new(probe: &mut Probe) -> Result<Self> {
        let has = |name: &str| probe.signals.iter().any(|it| it.name == name && it.status != Status::Missing);
        let cpus = probe.sizes.cpus as usize;
        let has_sockets = probe.signals.iter().any(|it| it.name.starts_with("sock.") && it.status != Status::Missing);
        Ok(Self {
            tallies: MappedArray::new(probe.map("TALLIES")?)?,
            histograms: MappedArray::new(probe.map("HISTOGRAMS")?)?,
            drops: has("sock.drop").then(|| MappedArray::new(probe.map("DROPS")?)).transpose()?,
            sockets: has_sockets.then(|| Sockets::new(probe)).transpose()?,
            tallies_per_cpu: probe.sizes.tallies as usize,
            cpus,
            seen: vec![Vec::new(); cpus],
            seen_distributions: vec![Distribution::default(); place::PLACES as usize],
            seen_drops: BTreeMap::new(),
            reasons: probe.drop_reasons.clone(),
        })
    }

    /// What changed since the last read. `states` are those of the CPUs for these events; `path` gives the key of a
    /// path by its index.
    pub(super) fn read(&mut self, states: &[CpuState], mut path: impl FnMut(u32) -> u64) -> Tallies {
        let mut counts: BTreeMap<TallyKey, Sums> = BTreeMap::new();
        for (cpu, state) in states.iter().enumerate().take(self.cpus) {
            let used = (state.counters as usize).min(self.tallies_per_cpu);
            let grown = used.max(self.seen[cpu].len());
            self.seen[cpu].resize(grown, Sums::default());
            for number in 0..used {
                let at = cpu * self.tallies_per_cpu + number;
                if self.tallies.word(at, offset_of!(Tally, events)) == self.seen[cpu][number].events {
                    continue;
                }
                let tally = self.tallies.get(at);
                let seen = &mut self.seen[cpu][number];
                let mut new = Sums { events: tally.events.wrapping_sub(seen.events), values: [0; VALUES] };
                for (value, (now, before)) in new.values.iter_mut().zip(tally.values.iter().zip(seen.values)) {
                    *value = now.wrapping_sub(before);
                }
                *seen = Sums { events: tally.events, values: tally.values };
                let kind = u8::try_from(tally.kind).unwrap_or(0);
                counts.entry(TallyKey { kind, detail: tally.detail, path: path(tally.path) }).or_default().add(&new);
            }
        }
        Tallies {
            counts: counts.into_iter().map(|(key, sums)| TallyCount { key, sums }).collect(),
            distributions: self.distributions(),
            sockets: self.sockets.as_mut().map(Sockets::read).unwrap_or_default(),
            drops: self.drops(),
            losses: self.losses(states),
        }
    }

    /// Pages taken by bulk allocations until now, at once.
    pub(super) fn pages_in_bulk(&self, states: &[CpuState]) -> u64 {
        let mut pages = 0;
        for (cpu, state) in states.iter().enumerate().take(self.cpus) {
            for number in 0..(state.counters as usize).min(self.tallies_per_cpu) {
                let tally = self.tallies.get(cpu * self.tallies_per_cpu + number);
                if tally.kind == Kind::Bulk as u32 {
                    pages += tally.values[0];
                }
            }
        }
        pages
    }

    fn distributions(&mut self) -> Vec<Distribution> {
        let mut changed = Vec::new();
        for at in 0..place::PLACES {
            let now = self.distribution(at);
            let seen = &mut self.seen_distributions[at as usize];
            if now.buckets == seen.buckets {
                continue;
            }
            let before: BTreeMap<u64, u64> = seen.buckets.iter().copied().collect();
            let new = |&(lowest, events): &(u64, u64)| {
                let more = events.saturating_sub(before.get(&lowest).copied().unwrap_or(0));
                (more > 0).then_some((lowest, more))
            };
            changed.push(Distribution {
                buckets: now.buckets.iter().filter_map(new).collect(),
                sum: now.sum.wrapping_sub(seen.sum),
                ..now.clone()
            });
            *seen = now;
        }
        changed
    }

    /// A distribution since the run began, over all CPUs.
    fn distribution(&self, at: u32) -> Distribution {
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        let mut all = Distribution { name: name(at), min: u64::MAX, ..Distribution::default() };
        for cpu in 0..self.cpus {
            let index = cpu * place::PLACES as usize + at as usize;
            // Empty as most are: not worth a copy.
            if self.histograms.word(index, offset_of!(Histogram, inverted_min)) == 0 {
                continue;
            }
            let histogram = self.histograms.get(index);
            all.sum = all.sum.wrapping_add(histogram.sum);
            all.max = all.max.max(histogram.max);
            all.min = all.min.min(!histogram.inverted_min);
            for (bucket, events) in histogram.buckets.iter().enumerate().filter(|(_, events)| **events > 0) {
                *buckets.entry(histogram::lowest(bucket)).or_default() += events;
            }
        }
        all.buckets = buckets.into_iter().collect();
        all
    }

    fn drops(&mut self) -> BTreeMap<String, u64> {
        let Some(drops) = &self.drops else { return BTreeMap::new() };
        let mut by_reason: BTreeMap<String, u64> = BTreeMap::new();
        for cpu in 0..drops.len() {
            for (reason, events) in drops.get(cpu).into_iter().enumerate().filter(|(_, events)| *events > 0) {
                let number = u32::try_from(reason).unwrap_or(u32::MAX);
                let name = self.reasons.get(&number).cloned().unwrap_or_else(|| format!("reason_{number}"));
                *by_reason.entry(name).or_default() += events;
            }
        }
        if by_reason == self.seen_drops {
            return BTreeMap::new();
        }
        self.seen_drops.clone_from(&by_reason);
        by_reason
    }

    fn losses(&self, states: &[CpuState]) -> BTreeMap<String, u64> {
        let mut losses = BTreeMap::new();
        for cause in Cause::ALL {
            let events: u64 = states.iter().map(|state| state.losses[cause as usize].iter().sum::<u64>()).sum();
            if events > 0 {
                losses.insert(cause.name().to_owned(), events);
            }
        }
        let left = self.sockets.as_ref().map_or(0, |it| it.left);
        if left > 0 {
            losses.insert("sockets_left".to_owned(), left);
        }
        losses
    }
}

/// What is distributed at a place.
fn name(at: u32) -> String {
    let of = |what: &str, at: u32| {
        let protocol = sock::protocol(at / 2).map_or("other", crate::sockets::protocol_name);
        format!("{what}:{protocol}:{}", if at % 2 == 1 { "receive" } else { "send" })
    };
    match at {
        place::RECLAIM => "reclaim_ns".to_owned(),
        place::COMPACTION => "compaction_ns".to_owned(),
        place::WAIT => "send_wait_ns".to_owned(),
        at if at >= place::FORWARD_ALLOC => of("forward_alloc_bytes", at - place::FORWARD_ALLOC),
        at => of("beyond_need_bytes", at - place::BEYOND_NEED),
    }
}
