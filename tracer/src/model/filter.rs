//! Which part of a run is shown.
//!
//! Must not know: how it is shown. It applies to single counts, before any sum, so that what is left adds up.

use std::collections::BTreeSet;

/// `--order` and `--route` of `report`, `export` and `diff`, and what the screens ask for beside them. The default
/// lets everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these orders; empty: all.
    pub orders: BTreeSet<u8>,
    /// Only paths of this route; events whose path was lost have none.
    pub route: Option<String>,
    /// Only paths of this context; events whose path was lost have none.
    pub context: Option<String>,
    /// Only paths on which each of these is part of some frame's name; empty: all.
    pub frames: Vec<String>,
    /// Only allocations with all of these gfp flags; 0: all.
    pub gfp: u32,
    /// Only events of the owner (process name, process id or cgroup, see `run::Start::by`) of this name.
    pub owner: Option<String>,
}

impl Filter {
    /// Whether an order is shown.
    pub fn takes_order(&self, order: u8) -> bool {
        self.orders.is_empty() || self.orders.contains(&order)
    }

    /// Whether a route is shown; `None` is the route of an event without a path.
    pub fn takes_route(&self, route: Option<&str>) -> bool {
        self.route.as_deref().is_none_or(|wanted| route == Some(wanted))
    }

    /// Whether a context is shown; `None` is the context of an event without a path.
    pub fn takes_context(&self, context: Option<&str>) -> bool {
        self.context.as_deref().is_none_or(|wanted| context == Some(wanted))
    }

    /// Whether a path is shown; `None` is an event without a path.
    pub fn takes_frames(&self, frames: Option<&[String]>) -> bool {
        let on_path = |wanted: &String| frames.unwrap_or_default().iter().any(|frame| frame.contains(wanted.as_str()));
        self.frames.iter().all(on_path)
    }

    /// Whether gfp flags are shown; `None` where they are not known.
    pub fn takes_gfp(&self, gfp: Option<u32>) -> bool {
        self.gfp == 0 || gfp.is_some_and(|gfp| gfp & self.gfp == self.gfp)
    }

    /// Whether it asks for no more than orders, which are known of every event.
    pub fn asks_orders_only(&self) -> bool {
        *self == Self { orders: self.orders.clone(), ..Self::default() }
    }

    /// As on the command line, one element an option that leaves something out.
    pub fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if !self.orders.is_empty() {
            let orders: Vec<String> = self.orders.iter().map(u8::to_string).collect();
            options.push(format!("--order {}", orders.join(",")));
        }
        if let Some(route) = &self.route {
            options.push(format!("--route {route}"));
        }
        if let Some(context) = &self.context {
            options.push(format!("--context {context}"));
        }
        options.extend(self.frames.iter().map(|frame| format!("--path {frame}")));
        if self.gfp != 0 {
            options.push(format!("--gfp {:#x}", self.gfp));
        }
        if let Some(owner) = &self.owner {
            options.push(format!("--owner {owner}"));
        }
        options
    }
}
