//! Sums over cells: page allocations by order, flags, migrate type, route, context, owner and path.
//!
//! Must not know: how the cells were filled.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use tracer_common::page::ORDERS;

use super::{
    super::{
        Filter, Model,
        page::{Cells, Kind, Place, Way},
        path::id,
    },
    lists::{self, Lists},
};
use crate::{
    snapshot::{
        ContextRow, GfpRow, MigratetypeRow, NOT_SAMPLED, OrderRow, OwnerName, OwnerRow, PATHS_OFF, Pages, PathRow,
        PerUnit, RouteRow, sum,
    },
    stats,
};

/// Events with their pages; a failed allocation is in neither.
#[derive(Clone, Debug, Default)]
struct Tally {
    events: u64,
    pages: u64,
    by_order: BTreeMap<u8, u64>,
}

/// One path's events.
#[derive(Debug, Default)]
struct PathTally {
    done: Tally,
    failed: BTreeMap<u8, u64>,
    by_gfp: BTreeMap<u32, u64>,
}

/// All that the page part of a snapshot is made from.
#[derive(Debug)]
pub(super) struct Sums {
    way: Way,
    done: Tally,
    failed: BTreeMap<u8, u64>,
    lost: Tally,
    by_gfp: BTreeMap<u32, Tally>,
    by_migratetype: BTreeMap<u8, Tally>,
    by_owner: BTreeMap<u64, Tally>,
    by_path: BTreeMap<Place, PathTally>,
    /// The lists and the zone lock by order; empty where the filter asks for what they do not know.
    lists: BTreeMap<u8, Lists>,
}

impl Tally {
    fn add(&mut self, order: u8, events: u64) {
        self.events = self.events.saturating_add(events);
        self.pages = self.pages.saturating_add(pages(order, events));
        let sum = self.by_order.entry(order).or_default();
        *sum = sum.saturating_add(events);
    }

    fn append(&mut self, other: &Self) {
        for (&order, &events) in &other.by_order {
            self.add(order, events);
        }
    }
}

impl Sums {
    /// Sums up the cells that the filter lets through.
    pub(super) fn new(model: &Model, cells: &Cells, way: Way, filter: &Filter) -> Self {
        let mut sums = Self {
            way,
            done: Tally::default(),
            failed: BTreeMap::new(),
            lost: Tally::default(),
            by_gfp: BTreeMap::new(),
            by_migratetype: BTreeMap::new(),
            by_owner: BTreeMap::new(),
            by_path: BTreeMap::new(),
            lists: lists::by_order(model, filter),
        };
        let owners: BTreeSet<u64> =
            model.owners.iter().filter(|(_, name)| Some(*name) == filter.owner.as_ref()).map(|(&key, _)| key).collect();
        // A path stands in many cells, and looking through its frames is the dear part.
        let mut takes_path: BTreeMap<Place, bool> = BTreeMap::new();
        for (cell, &events) in cells {
            let takes_kind = filter.takes_gfp(cell.kind.map(|kind| kind.gfp))
                && (filter.owner.is_none() || cell.kind.is_some_and(|kind| owners.contains(&kind.owner)));
            if !filter.takes_order(cell.order) || !takes_kind {
                continue;
            }
            if !*takes_path.entry(cell.place).or_insert_with(|| takes_place(model, cell.place, filter)) {
                continue;
            }
            if cell.failed {
                sums.add_failed(cell.place, cell.order, events);
            } else {
                sums.add_done(cell.place, cell.kind, cell.order, events);
            }
        }
        sums
    }

    fn add_failed(&mut self, place: Place, order: u8, events: u64) {
        let sum = self.failed.entry(order).or_default();
        *sum = sum.saturating_add(events);
        if place != Place::Lost {
            let sum = self.by_path.entry(place).or_default().failed.entry(order).or_default();
            *sum = sum.saturating_add(events);
        }
    }

    fn add_done(&mut self, place: Place, kind: Option<Kind>, order: u8, events: u64) {
        self.done.add(order, events);
        if let Some(kind) = kind {
            self.by_gfp.entry(kind.gfp).or_default().add(order, events);
            self.by_migratetype.entry(kind.migratetype).or_default().add(order, events);
            self.by_owner.entry(kind.owner).or_default().add(order, events);
        }
        if place == Place::Lost {
            self.lost.add(order, events);
            return;
        }
        let path = self.by_path.entry(place).or_default();
        path.done.add(order, events);
        if let Some(kind) = kind {
            let sum = path.by_gfp.entry(kind.gfp).or_default();
            *sum = sum.saturating_add(events);
        }
    }

    /// Events counted without a path.
    pub(super) fn lost(&self) -> u64 {
        self.lost.events
    }

    /// How often a signal of the page allocator was seen; `None` for other signals.
    pub(super) fn signal_events(&self, signal: &str) -> Option<u64> {
        match signal {
            "page.alloc" => Some(self.done.events),
            "page.fail" => Some(self.failed_events()),
            "page.zone_lock" => self.sum_of(Lists::zone_locked),
            "page.drain" => self.sum_of(|lists| lists.drained),
            "page.free" => self.sum_of(|lists| lists.freed),
            _ => None,
        }
    }

    /// The page part of the snapshot.
    pub(super) fn into_pages(self, model: &Model) -> Pages {
        let page_size = model.start.host.page_size;
        Pages {
            events: self.done.events,
            failed: self.failed_events(),
            lost: self.lost.events,
            pages: self.done.pages,
            bytes: self.done.pages.saturating_mul(page_size),
            zone_locked: self.sum_of(Lists::zone_locked),
            drained: self.sum_of(|lists| lists.drained),
            by_order: self.by_order(page_size),
            by_gfp: self.by_gfp(model),
            by_migratetype: self.by_migratetype(model),
            by_route: self.by_route(model),
            by_context: self.by_context(model),
            by_owner: self.by_owner(model),
            per_unit: self.per_unit(model),
            paths: self.paths(model),
        }
    }

    fn failed_events(&self) -> u64 {
        sum(self.failed.values().copied())
    }

    /// `None` where no order has a figure.
    fn sum_of(&self, figure: impl Fn(&Lists) -> Option<u64>) -> Option<u64> {
        self.lists.values().filter_map(figure).reduce(u64::saturating_add)
    }

    fn by_order(&self, page_size: u64) -> Vec<OrderRow> {
        (0..ORDERS)
            .filter_map(|order| u8::try_from(order).ok())
            .map(|order| {
                let events = self.done.by_order.get(&order).copied().unwrap_or(0);
                let pages = pages(order, events);
                let lists = self.lists.get(&order).copied().unwrap_or_default();
                OrderRow {
                    order,
                    events,
                    pages,
                    bytes: pages.saturating_mul(page_size),
                    failed: self.failed.get(&order).copied().unwrap_or(0),
                    zone_locked: lists.zone_locked(),
                    zone_refilled: lists.refilled,
                    drained: lists.drained,
                    freed: lists.freed,
                }
            })
            .filter(|row| {
                let lists = [row.zone_locked, row.drained, row.freed];
                row.events > 0 || row.failed > 0 || lists.iter().any(|blocks| blocks.is_some_and(|blocks| blocks > 0))
            })
            .collect()
    }

    fn by_gfp(&self, model: &Model) -> Vec<GfpRow> {
        let mut rows: Vec<GfpRow> = self
            .by_gfp
            .iter()
            .map(|(&gfp, tally)| GfpRow {
                gfp: format!("{gfp:#x}"),
                flags: model.start.gfp.decode(u64::from(gfp)),
                events: tally.events,
                pages: tally.pages,
            })
            .collect();
        rows.sort_by_key(|row| Reverse(row.events));
        rows
    }

    fn by_migratetype(&self, model: &Model) -> Vec<MigratetypeRow> {
        let mut rows: Vec<MigratetypeRow> = self
            .by_migratetype
            .iter()
            .map(|(number, tally)| MigratetypeRow {
                migratetype: model.start.migratetypes.get(number).cloned().unwrap_or_else(|| number.to_string()),
                events: tally.events,
                pages: tally.pages,
            })
            .collect();
        rows.sort_by_key(|row| Reverse(row.events));
        rows
    }

    /// Sums over the paths that have one.
    fn grouped<'model>(&self, name: impl Fn(usize) -> &'model str) -> Vec<(&'model str, Tally)> {
        let mut groups: BTreeMap<&str, Tally> = BTreeMap::new();
        for (place, path) in &self.by_path {
            if let Place::Path(index) = place {
                groups.entry(name(*index)).or_default().append(&path.done);
            }
        }
        let mut groups: Vec<(&str, Tally)> = groups.into_iter().filter(|(_, tally)| tally.events > 0).collect();
        groups.sort_by_key(|(_, tally)| Reverse(tally.pages));
        groups
    }

    fn by_route(&self, model: &Model) -> Vec<RouteRow> {
        self.grouped(|index| &model.paths.at(index).route)
            .into_iter()
            .map(|(route, tally)| RouteRow {
                route: route.to_owned(),
                events: tally.events,
                pages: tally.pages,
                by_order: tally.by_order,
            })
            .collect()
    }

    fn by_context(&self, model: &Model) -> Vec<ContextRow> {
        self.grouped(|index| &model.paths.at(index).context)
            .into_iter()
            .map(|(context, tally)| ContextRow {
                context: context.to_owned(),
                events: tally.events,
                pages: tally.pages,
            })
            .collect()
    }

    fn by_owner(&self, model: &Model) -> Vec<OwnerRow> {
        let Some(by) = &model.start.by else { return Vec::new() };
        // Several keys may bear one name: two kernels' worth of hash, or a cgroup made anew.
        let mut named: BTreeMap<String, (OwnerName, Tally)> = BTreeMap::new();
        for (&key, tally) in &self.by_owner {
            let name = model.owners.get(&key).cloned().unwrap_or_else(|| format!("{key:#x}"));
            let owner = owner_name(by, key, &name);
            named.entry(name).or_insert_with(|| (owner, Tally::default())).1.append(tally);
        }
        let mut rows: Vec<OwnerRow> = named
            .into_values()
            .map(|(owner, tally)| OwnerRow {
                owner,
                events: tally.events,
                pages: tally.pages,
                by_order: tally.by_order,
            })
            .collect();
        rows.sort_by_key(|row| Reverse(row.pages));
        rows
    }

    fn per_unit(&self, model: &Model) -> Option<PerUnit> {
        let work = model.end.as_ref()?.benchmark.as_ref()?.work.as_ref()?;
        (work.amount.is_finite() && work.amount > 0.0).then(|| PerUnit {
            unit: work.unit.clone(),
            events: self.done.events as f64 / work.amount,
            pages: self.done.pages as f64 / work.amount,
        })
    }

    fn paths(&self, model: &Model) -> Vec<PathRow> {
        let page_size = model.start.host.page_size;
        let samples = model.ledger.samples();
        let error = |place: Place, events: u64| {
            let is_sampled = self.way == Way::Sampled && matches!(place, Place::Path(_));
            is_sampled.then(|| stats::share_error(events, self.done.events, samples))
        };
        let mut rows: Vec<PathRow> = self
            .by_path
            .iter()
            .map(|(&place, tally)| PathRow {
                events: tally.done.events,
                events_error: error(place, tally.done.events),
                pages: tally.done.pages,
                bytes: tally.done.pages.saturating_mul(page_size),
                failed: sum(tally.failed.values().copied()),
                orders: tally.done.by_order.clone(),
                failed_orders: tally.failed.clone(),
                gfp: tally.by_gfp.iter().map(|(gfp, &events)| (format!("{gfp:#x}"), events)).collect(),
                ..self.place_row(place, model)
            })
            .collect();
        rows.sort_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.id.cmp(&b.id)));
        rows
    }
    /// A path's row but for its counts.
    fn place_row(&self, place: Place, model: &Model) -> PathRow {
        let (id, frames, route, context, truncated) = match place {
            Place::Path(index) => {
                let path = model.paths.at(index);
                let (route, context) = (Some(path.route.clone()), Some(path.context.clone()));
                (path.id.clone(), path.frames.clone(), route, context, path.truncated)
            }
            Place::NotTaken | Place::Lost => {
                let frames = vec![if self.way == Way::Off { PATHS_OFF } else { NOT_SAMPLED }.to_owned()];
                (id(&frames), frames, None, None, false)
            }
        };
        PathRow {
            id,
            events: 0,
            events_error: None,
            pages: 0,
            bytes: 0,
            failed: 0,
            orders: BTreeMap::new(),
            failed_orders: BTreeMap::new(),
            gfp: BTreeMap::new(),
            route,
            context,
            frames,
            truncated,
        }
    }
}

/// Whether a filter lets a path through, by all that it asks of paths.
fn takes_place(model: &Model, place: Place, filter: &Filter) -> bool {
    let path = match place {
        Place::Path(index) => Some(model.paths.at(index)),
        Place::NotTaken | Place::Lost => None,
    };
    filter.takes_route(path.map(|path| path.route.as_str()))
        && filter.takes_context(path.map(|path| path.context.as_str()))
        && filter.takes_frames(path.map(|path| path.frames.as_slice()))
}

/// Pages of so many events; far from overflow for every count that a kernel can reach, and saturating beyond.
fn pages(order: u8, events: u64) -> u64 {
    events.saturating_mul(1 << order)
}

fn owner_name(by: &str, key: u64, name: &str) -> OwnerName {
    match by {
        "pid" => match name.parse().ok().or_else(|| u32::try_from(key).ok()) {
            Some(pid) => OwnerName::Pid(pid),
            None => OwnerName::Comm(name.to_owned()),
        },
        "cgroup" => OwnerName::Cgroup(name.to_owned()),
        _ => OwnerName::Comm(name.to_owned()),
    }
}
