//! Page allocations per unit of work, side by side: in all, by order, route, context and path.
//!
//! Owns: what counts are divided by, and which paths of two kernels are the same. Must not know: how rows are shown.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Run,
    judge::{Change, Judge},
};
use crate::{
    routes::stem,
    snapshot::{Pages, PathRow},
    stats::{MeanKind, Summary},
};

/// Page allocations of both groups.
#[derive(Clone, Debug, Serialize)]
pub struct PagesDiff {
    /// What all counts are divided by.
    pub per: Base,
    /// Everything that was counted.
    pub totals: Vec<TotalChange>,
    /// By order, ascending.
    pub by_order: Vec<OrderChange>,
    /// By route, the largest change of pages first.
    pub by_route: Vec<RouteChange>,
    /// By context, likewise.
    pub by_context: Vec<ContextChange>,
    /// By path, likewise; all paths, changed or not.
    pub paths: Vec<PathChange>,
}

/// What counts are divided by.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Base {
    /// The benchmark's `message`, `transaction` or `gigabit` where every run tells it, else `second`; `run` where a
    /// run took no time.
    pub unit: String,
    /// How many of them each run of A did.
    pub a: Vec<f64>,
    /// How many of them each run of B did.
    pub b: Vec<f64>,
}

/// One total.
#[derive(Clone, Debug, Serialize)]
pub struct TotalChange {
    /// `allocations`, `pages`, `bytes`, `failed`, `zone_locked` or `drained`.
    pub what: &'static str,
    /// How it changed.
    #[serde(flatten)]
    pub measure: Measure,
}

/// One order.
#[derive(Clone, Debug, Serialize)]
pub struct OrderChange {
    /// The order.
    pub order: u8,
    /// How it changed.
    #[serde(flatten)]
    pub measures: Measures,
}

/// One route.
#[derive(Clone, Debug, Serialize)]
pub struct RouteChange {
    /// Such as `kmalloc_large`.
    pub route: String,
    /// How it changed.
    #[serde(flatten)]
    pub measures: Measures,
}

/// One context.
#[derive(Clone, Debug, Serialize)]
pub struct ContextChange {
    /// Such as `syscall:sendto`.
    pub context: String,
    /// How it changed.
    #[serde(flatten)]
    pub measures: Measures,
}

/// One path. Paths are the same when their functions bear the same names in the source: what compilers append
/// (`.isra.0`, `.constprop.0`) and `_noprof` do not count.
#[derive(Clone, Debug, Serialize)]
pub struct PathChange {
    /// The id in a run of A; `None` where none has it.
    pub id_a: Option<String>,
    /// The id in a run of B; `None` where none has it.
    pub id_b: Option<String>,
    /// How it came to the page allocator; `None` where the path was not taken.
    pub route: Option<String>,
    /// Where it began; `None` where the path was not taken.
    pub context: Option<String>,
    /// As in B, or in A where B has none; innermost first.
    pub frames: Vec<String>,
    /// How it changed.
    #[serde(flatten)]
    pub measures: Measures,
}

/// Something counted in events, pages and bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measures {
    /// Successful allocations per unit.
    pub events: Measure,
    /// Their pages per unit.
    pub pages: Measure,
    /// Their bytes per unit.
    pub bytes: Measure,
    /// The change is not larger than what was lost or missed of it, as far as that is known.
    pub could_be_loss: bool,
}

/// One figure per unit of work in both groups.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// In A; `None` where not measured in every run.
    pub a: Option<Summary>,
    /// In B; `None` where not measured in every run.
    pub b: Option<Summary>,
    /// From A to B.
    pub change: Change,
}

impl PagesDiff {
    /// The changes that are judged on their own: pages where there is a choice, since events, pages and bytes of one
    /// thing are no three things.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        let totals = self.totals.iter().map(|row| &row.measure);
        let orders = self.by_order.iter().map(|row| &row.measures.pages);
        let routes = self.by_route.iter().map(|row| &row.measures.pages);
        let contexts = self.by_context.iter().map(|row| &row.measures.pages);
        let paths = self.paths.iter().map(|row| &row.measures.pages);
        totals.chain(orders).chain(routes).chain(contexts).chain(paths).map(|measure| &measure.change)
    }
}

impl Measure {
    /// By how much B's mean exceeds A's; 0 where one was not measured.
    pub fn difference(&self) -> f64 {
        match (&self.a, &self.b) {
            (Some(a), Some(b)) => b.mean - a.mean,
            _ => 0.0,
        }
    }
}

/// Events with their pages and bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Amount {
    events: u64,
    pages: u64,
    bytes: u64,
}

impl Amount {
    fn of(events: u64, pages: u64, page_size: u64) -> Self {
        Self { events, pages, bytes: pages.saturating_mul(page_size) }
    }

    fn add(&mut self, other: Self) {
        self.events = self.events.saturating_add(other.events);
        self.pages = self.pages.saturating_add(other.pages);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// The runs of both groups with their page counts and what divides them.
struct Sides<'runs> {
    a: Vec<Counted<'runs>>,
    b: Vec<Counted<'runs>>,
    judge: Judge,
}

#[derive(Clone, Copy)]
struct Counted<'runs> {
    run: &'runs Run,
    pages: &'runs Pages,
    units: f64,
}

/// Compares page allocations; `None` unless every run measured them.
pub(super) fn compare(a: &[Run], b: &[Run], judge: Judge) -> Option<PagesDiff> {
    let per = Base::new(a, b);
    let sides = Sides { a: counted_runs(a, &per.a)?, b: counted_runs(b, &per.b)?, judge };
    Some(PagesDiff {
        totals: totals(&sides),
        by_order: by_order(&sides),
        by_route: by_route(&sides),
        by_context: by_context(&sides),
        paths: paths(&sides),
        per,
    })
}

fn counted_runs<'runs>(runs: &'runs [Run], units: &[f64]) -> Option<Vec<Counted<'runs>>> {
    let counted = |(run, &units): (&'runs Run, &f64)| Some(Counted { run, pages: run.snapshot.pages.as_ref()?, units });
    runs.iter().zip(units).map(counted).collect()
}

impl Base {
    /// What A's counts are multiplied by to stand for as much work as B's.
    pub fn scale(&self) -> f64 {
        let scale = self.b.iter().sum::<f64>() / self.a.iter().sum::<f64>();
        if scale.is_finite() { scale } else { 1.0 }
    }

    pub(super) fn new(a: &[Run], b: &[Run]) -> Self {
        let all = || a.iter().chain(b);
        let usable = |amount: f64| amount.is_finite() && amount > 0.0;
        let unit = a.first().and_then(|run| run.work.as_ref()).map(|work| work.unit.clone());
        let every = |unit: &String| {
            all().all(|run| run.work.as_ref().is_some_and(|work| work.unit == *unit && usable(work.amount)))
        };
        let base = |unit: &str, amount: &dyn Fn(&Run) -> f64| Self {
            unit: unit.to_owned(),
            a: a.iter().map(amount).collect(),
            b: b.iter().map(amount).collect(),
        };
        match unit.filter(every) {
            Some(unit) => base(&unit, &|run| run.work.as_ref().map_or(1.0, |work| work.amount)),
            None if all().all(|run| usable(run.snapshot.window.duration_s)) => {
                base("second", &|run| run.snapshot.window.duration_s)
            }
            None => base("run", &|_| 1.0),
        }
    }
}

impl Sides<'_> {
    fn measure(&self, figure: impl Fn(usize, &Counted) -> Option<u64>) -> Measure {
        let summary = |offset: usize, runs: &[Counted]| {
            let quotient = |(index, run): (usize, &Counted)| Some(figure(offset + index, run)? as f64 / run.units);
            let values: Option<Vec<f64>> = runs.iter().enumerate().map(quotient).collect();
            Summary::new(values?, MeanKind::Amean)
        };
        let (a, b) = (summary(0, &self.a), summary(self.a.len(), &self.b));
        Measure { change: self.judge.change(a.as_ref(), b.as_ref()), a, b }
    }

    /// One row a key, ascending. A run that does not have a key has none of it.
    fn rows<K: Ord + Clone>(
        &self,
        of: impl Fn(&Counted) -> BTreeMap<K, Amount>,
        with_path: bool,
    ) -> Vec<(K, Measures)> {
        let all: Vec<BTreeMap<K, Amount>> = self.a.iter().chain(&self.b).map(of).collect();
        let mut keys: Vec<&K> = all.iter().flat_map(BTreeMap::keys).collect();
        keys.sort();
        keys.dedup();
        let row = |key: &K| {
            let measure =
                |figure: fn(&Amount) -> u64| self.measure(|index, _| Some(all[index].get(key).map_or(0, figure)));
            let events = measure(|amount| amount.events);
            let could_be_loss = self.could_be_loss(&events, with_path);
            let (pages, bytes) = (measure(|amount| amount.pages), measure(|amount| amount.bytes));
            (key.clone(), Measures { events, pages, bytes, could_be_loss })
        };
        keys.into_iter().map(row).collect()
    }

    /// Whether as many events were lost as changed. What is in the totals without a path is missing under paths only.
    fn could_be_loss(&self, events: &Measure, with_path: bool) -> bool {
        let lost = self.measure(|_, counted| {
            let losses = counted.run.losses;
            Some(losses.uncounted.saturating_add(if with_path { losses.without_path } else { 0 }))
        });
        let most = lost.a.map_or(0.0, |it| it.mean).max(lost.b.map_or(0.0, |it| it.mean));
        let difference = events.difference().abs();
        difference > 0.0 && difference <= most
    }
}

/// A figure of all page allocations; `None` where not measured.
type Figure = fn(&Pages) -> Option<u64>;

fn totals(sides: &Sides) -> Vec<TotalChange> {
    let figures: [(&'static str, Figure); 6] = [
        ("allocations", |pages| Some(pages.events)),
        ("pages", |pages| Some(pages.pages)),
        ("bytes", |pages| Some(pages.bytes)),
        ("failed", |pages| Some(pages.failed)),
        ("zone_locked", |pages| pages.zone_locked),
        ("drained", |pages| pages.drained),
    ];
    let row =
        |(what, figure): (_, Figure)| TotalChange { what, measure: sides.measure(|_, counted| figure(counted.pages)) };
    figures.into_iter().map(row).filter(|row| row.measure.a.is_some() || row.measure.b.is_some()).collect()
}

fn by_order(sides: &Sides) -> Vec<OrderChange> {
    let amounts = |counted: &Counted| {
        let rows = counted.pages.by_order.iter();
        rows.map(|row| (row.order, Amount { events: row.events, pages: row.pages, bytes: row.bytes })).collect()
    };
    sides.rows(amounts, false).into_iter().map(|(order, measures)| OrderChange { order, measures }).collect()
}

fn by_route(sides: &Sides) -> Vec<RouteChange> {
    let amounts = |counted: &Counted| {
        let page_size = counted.run.snapshot.host.page_size;
        let rows = counted.pages.by_route.iter();
        rows.map(|row| (row.route.clone(), Amount::of(row.events, row.pages, page_size))).collect()
    };
    let rows = sides.rows(amounts, true).into_iter().map(|(route, measures)| RouteChange { route, measures });
    most_changed_first(rows.collect(), |row| &row.measures)
}

fn by_context(sides: &Sides) -> Vec<ContextChange> {
    let amounts = |counted: &Counted| {
        let page_size = counted.run.snapshot.host.page_size;
        let rows = counted.pages.by_context.iter();
        rows.map(|row| (row.context.clone(), Amount::of(row.events, row.pages, page_size))).collect()
    };
    let rows = sides.rows(amounts, true).into_iter().map(|(context, measures)| ContextChange { context, measures });
    most_changed_first(rows.collect(), |row| &row.measures)
}

fn paths(sides: &Sides) -> Vec<PathChange> {
    let amounts = |counted: &Counted| {
        let mut amounts: BTreeMap<String, Amount> = BTreeMap::new();
        for path in &counted.pages.paths {
            let amount = Amount { events: path.events, pages: path.pages, bytes: path.bytes };
            amounts.entry(identity(path)).or_default().add(amount);
        }
        amounts
    };
    let known = |runs: &[Counted<'_>]| -> BTreeMap<String, PathRow> {
        let mut known = BTreeMap::new();
        for path in runs.iter().flat_map(|counted| &counted.pages.paths) {
            known.entry(identity(path)).or_insert_with(|| path.clone());
        }
        known
    };
    let (mut of_a, mut of_b) = (known(&sides.a), known(&sides.b));
    let row = |(identity, measures): (String, Measures)| {
        let (before, after) = (of_a.remove(&identity), of_b.remove(&identity));
        let id = |path: &Option<PathRow>| path.as_ref().map(|path| path.id.clone());
        let (id_a, id_b) = (id(&before), id(&after));
        let PathRow { route, context, frames, .. } = after.or(before)?;
        Some(PathChange { id_a, id_b, route, context, frames, measures })
    };
    let rows = sides.rows(amounts, true).into_iter().filter_map(row).collect();
    most_changed_first(rows, |row| &row.measures)
}

/// A path's functions by their names in the source, modules included.
fn identity(path: &PathRow) -> String {
    let mut identity = String::new();
    for frame in &path.frames {
        let (name, module) = frame.split_once(" [").unwrap_or((frame, ""));
        identity.push_str(stem(name));
        if !module.is_empty() {
            identity.push_str(" [");
            identity.push_str(module);
        }
        identity.push('\0');
    }
    identity
}

/// Stable: rows that changed equally stay in the order of their names.
fn most_changed_first<T>(mut rows: Vec<T>, measures: impl Fn(&T) -> &Measures) -> Vec<T> {
    rows.sort_by(|a, b| {
        let (a, b) = (measures(a).pages.difference().abs(), measures(b).pages.difference().abs());
        b.total_cmp(&a)
    });
    rows
}
