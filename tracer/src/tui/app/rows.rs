//! The rows of the Paths screen: paths themselves, or sums of them by caller, route, context or process.
//!
//! Must not know: how a row is drawn.

use std::collections::BTreeMap;

use tracer_common::page::ORDERS;

use super::{frames, rates::Rates, seen};
use crate::snapshot::{Pages, PathRow, Snapshot};

/// The title of the row that holds what was counted without a path.
pub const LOST: &str = "[lost]";
/// Between two frames of a title, innermost first.
const CALLED_BY: &str = " < ";
/// What stands for a route or context that is not known.
const UNKNOWN: &str = "[unknown]";

/// What a row stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// One path.
    #[default]
    Path,
    /// All paths with the same innermost frame outside of the allocators.
    Caller,
    /// All paths of a route.
    Route,
    /// All paths of a context.
    Context,
    /// All events of a process name, process or cgroup (with `--by`).
    Owner,
}

/// What rows are sorted by, most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// Successful allocations.
    Events,
    /// Their pages.
    Pages,
    /// Their bytes.
    #[default]
    Bytes,
    /// Events a second, now.
    Rate,
    /// Failed allocations.
    Failed,
    /// The title, a to z.
    Name,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The same for the same thing in every picture.
    pub id: String,
    /// What it is called; untrusted.
    pub title: String,
    /// Successful allocations.
    pub events: u64,
    /// Their pages.
    pub pages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Failed allocations; `None` where they are not told apart.
    pub failed: Option<u64>,
    /// Events a second; `None` where not known.
    pub rate: Option<f64>,
    /// Successful allocations by order; `None` where they are not told apart.
    pub orders: Option<[u64; ORDERS]>,
    /// Paths in it; `None` where they are not told apart.
    pub paths: Option<u64>,
}

impl Group {
    /// All, in the order in which `g` goes through them.
    pub const ALL: [Self; 5] = [Self::Path, Self::Caller, Self::Route, Self::Context, Self::Owner];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Caller => "caller",
            Self::Route => "route",
            Self::Context => "context",
            Self::Owner => "process",
        }
    }
}

impl Sort {
    /// All, in the order in which `s` goes through them.
    pub const ALL: [Self; 6] = [Self::Bytes, Self::Events, Self::Pages, Self::Rate, Self::Failed, Self::Name];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Pages => "pages",
            Self::Bytes => "bytes",
            Self::Rate => "rate",
            Self::Failed => "failed",
            Self::Name => "name",
        }
    }
}

/// The rows of a snapshot, sorted.
pub fn rows(snapshot: &Snapshot, rates: &Rates, group: Group, sort: Sort, reverse: bool) -> Vec<Row> {
    let Some(pages) = &snapshot.pages else { return Vec::new() };
    let page_size = snapshot.host.page_size;
    let mut rows = match group {
        Group::Path => pages
            .paths
            .iter()
            .map(|path| {
                let mut row = Row { id: path.id.clone(), title: frames::title(path, CALLED_BY), ..Row::default() };
                row.add(path, rates.of(&path.id));
                row
            })
            .collect(),
        Group::Caller => grouped(pages, rates, |path| frames::caller(path).to_owned()),
        Group::Route => grouped(pages, rates, |path| path.route.clone().unwrap_or_else(|| UNKNOWN.to_owned())),
        Group::Context => grouped(pages, rates, |path| path.context.clone().unwrap_or_else(|| UNKNOWN.to_owned())),
        Group::Owner => pages
            .by_owner
            .iter()
            .map(|row| {
                let name = seen::name(&row.owner);
                Row {
                    id: name.clone(),
                    title: name,
                    events: row.events,
                    pages: row.pages,
                    bytes: row.pages.saturating_mul(page_size),
                    orders: Some(by_order(&row.by_order)),
                    ..Row::default()
                }
            })
            .collect(),
    };
    // Owners are counted with what has no path.
    if pages.lost > 0 && group != Group::Owner {
        rows.push(lost(pages, page_size));
    }
    arrange(&mut rows, sort, reverse);
    rows
}

fn arrange(rows: &mut [Row], sort: Sort, reverse: bool) {
    rows.sort_by(|a, b| {
        let most_first = match sort {
            Sort::Events => b.events.cmp(&a.events),
            Sort::Pages => b.pages.cmp(&a.pages),
            Sort::Bytes => b.bytes.cmp(&a.bytes),
            Sort::Rate => b.rate.unwrap_or(-1.0).total_cmp(&a.rate.unwrap_or(-1.0)),
            Sort::Failed => b.failed.cmp(&a.failed),
            Sort::Name => a.title.cmp(&b.title),
        };
        let order = if reverse { most_first.reverse() } else { most_first };
        order.then_with(|| a.id.cmp(&b.id))
    });
}

impl Row {
    fn add(&mut self, path: &PathRow, rate: Option<f64>) {
        self.events = self.events.saturating_add(path.events);
        self.pages = self.pages.saturating_add(path.pages);
        self.bytes = self.bytes.saturating_add(path.bytes);
        self.failed = Some(self.failed.unwrap_or(0).saturating_add(path.failed));
        self.paths = Some(self.paths.unwrap_or(0) + 1);
        let orders = self.orders.get_or_insert([0; ORDERS]);
        for (sum, more) in orders.iter_mut().zip(by_order(&path.orders)) {
            *sum = sum.saturating_add(more);
        }
        if let Some(rate) = rate {
            self.rate = Some(self.rate.unwrap_or(0.0) + rate);
        }
    }
}

fn grouped(pages: &Pages, rates: &Rates, key: impl Fn(&PathRow) -> String) -> Vec<Row> {
    let mut groups: BTreeMap<String, Row> = BTreeMap::new();
    for path in &pages.paths {
        let key = key(path);
        let row = groups.entry(key).or_default();
        row.add(path, rates.of(&path.id));
    }
    groups.into_iter().map(|(key, row)| Row { id: key.clone(), title: key, ..row }).collect()
}

fn lost(pages: &Pages, page_size: u64) -> Row {
    let mut orders = [0; ORDERS];
    for row in &pages.by_order {
        if let Some(events) = orders.get_mut(usize::from(row.order)) {
            *events = pages.lost_of(row.order);
        }
    }
    let lost_pages = orders.iter().enumerate().fold(0u64, |sum, (order, events)| sum.saturating_add(events << order));
    Row {
        id: LOST.to_owned(),
        title: format!("{LOST} counted without a path"),
        events: pages.lost,
        pages: lost_pages,
        bytes: lost_pages.saturating_mul(page_size),
        orders: Some(orders),
        ..Row::default()
    }
}

fn by_order(orders: &BTreeMap<u8, u64>) -> [u64; ORDERS] {
    let mut array = [0; ORDERS];
    for (&order, &events) in orders {
        if let Some(place) = array.get_mut(usize::from(order)) {
            *place = events;
        }
    }
    array
}
