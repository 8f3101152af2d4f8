//! Which part of a run is shown.
//!
//! Must not know: how it is shown. It applies to single counts, before any sum, so that what is left adds up.

use std::collections::BTreeSet;

/// `--order` and `--route` of `report`, `export` and `diff`. The default lets everything through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only these orders; empty: all.
    pub orders: BTreeSet<u8>,
    /// Only paths of this route; events whose path was lost have none.
    pub route: Option<String>,
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
        options
    }
}
