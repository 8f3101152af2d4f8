//! The stacks as a tree, outermost frame first: exactly what `export --format folded` would write, added up.
//!
//! Must not know: how wide a frame is drawn.

use tracer_common::page::ORDERS;

use crate::{
    output::{Weight, folded},
    snapshot::Snapshot,
};

/// One frame with all that lies above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The frame's name as exported.
    pub name: String,
    /// What stacks through it weigh.
    pub weight: u64,
    /// The same by order.
    pub by_order: [u64; ORDERS],
    /// The frames that it called, by name.
    pub callees: Vec<Node>,
}

/// The tree of a snapshot. Its root bears no name and holds everything, lost events included.
pub fn tree(snapshot: &Snapshot, weight: Weight) -> Node {
    let mut root = Node::default();
    let Some(pages) = &snapshot.pages else { return root };
    // The order stands as the first frame and is taken off again.
    let options = folded::Options { weight, order_root: true, annotate: false };
    for (stack, weight) in folded::stacks(pages, snapshot.host.page_size, options) {
        let Some((order, frames)) = stack.split_once(';') else { continue };
        let order = order.strip_prefix("order-").and_then(|digits| digits.parse().ok()).unwrap_or(0);
        root.add(frames.split(';'), order, weight);
    }
    root.sort();
    root
}

impl Node {
    fn add<'a>(&mut self, mut frames: impl Iterator<Item = &'a str>, order: usize, weight: u64) {
        self.weight = self.weight.saturating_add(weight);
        if let Some(sum) = self.by_order.get_mut(order) {
            *sum = sum.saturating_add(weight);
        }
        let Some(name) = frames.next() else { return };
        // Stacks come sorted, so the callee is most often the last.
        let place = self.callees.iter().rposition(|callee| callee.name == name).unwrap_or_else(|| {
            self.callees.push(Self { name: name.to_owned(), ..Self::default() });
            self.callees.len() - 1
        });
        self.callees[place].add(frames, order, weight);
    }

    fn sort(&mut self) {
        self.callees.sort_by(|a, b| a.name.cmp(&b.name));
        self.callees.iter_mut().for_each(Self::sort);
    }

    /// The frame at the end of a way of names; `None` where it is not there any more.
    pub fn at(&self, way: &[String]) -> Option<&Self> {
        way.iter().try_fold(self, |node, name| node.callees.iter().find(|callee| callee.name == *name))
    }

    /// Frames of the longest way down from here.
    pub fn depth(&self) -> usize {
        self.callees.iter().map(|callee| callee.depth() + 1).max().unwrap_or(0)
    }

    /// The heaviest callee.
    pub fn heaviest(&self) -> Option<&Self> {
        self.callees.iter().max_by_key(|callee| callee.weight)
    }

    /// The order that weighs most here.
    pub fn order(&self) -> usize {
        (0..ORDERS).rev().max_by_key(|&order| self.by_order[order]).unwrap_or(0)
    }

    /// The ways to all frames whose name contains `text`, depth first.
    pub fn find(&self, text: &str) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        self.search(text, &mut Vec::new(), &mut found);
        found
    }

    fn search(&self, text: &str, way: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
        for callee in &self.callees {
            way.push(callee.name.clone());
            if callee.name.contains(text) {
                found.push(way.clone());
            }
            callee.search(text, way, found);
            way.pop();
        }
    }
}
