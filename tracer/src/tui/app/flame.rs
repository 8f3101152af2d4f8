//! The stacks as a tree, outermost frame first: exactly what `export --format folded` would write, added up.
//!
//! Must not know: how wide a frame is drawn.

use std::borrow::Cow;

use tracer_common::page::ORDERS;

use crate::{
    output::{Weight, folded::LOST, untrusted},
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
    /// Frames of the longest way down from here.
    pub depth: usize,
}

/// The tree of a snapshot. Its root bears no name and holds everything, lost events included.
pub fn tree(snapshot: &Snapshot, weight: Weight) -> Node {
    let mut root = Node::default();
    let Some(pages) = &snapshot.pages else { return root };
    let page_size = snapshot.host.page_size;
    let mut by_order = [0; ORDERS];
    for path in &pages.paths {
        by_order.fill(0);
        for (&order, &events) in &path.orders {
            if let Some(sum) = by_order.get_mut(usize::from(order)) {
                *sum = weight.of(order, events, page_size);
            }
        }
        root.add(path.frames.iter().rev().map(|frame| exported(frame)), &by_order);
    }
    by_order.fill(0);
    for row in &pages.by_order {
        if let Some(sum) = by_order.get_mut(usize::from(row.order)) {
            *sum = weight.of(row.order, pages.lost_of(row.order), page_size);
        }
    }
    root.add(std::iter::once(Cow::Borrowed(LOST)), &by_order);
    root.finish();
    root
}

/// A frame's name as exported. Nearly all are as they are, and there are many.
fn exported(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    if name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') && name.bytes().all(is_plain) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(untrusted::frame(name))
    }
}

impl Node {
    fn add<'a>(&mut self, frames: impl Iterator<Item = Cow<'a, str>>, by_order: &[u64; ORDERS]) {
        if by_order.iter().all(|weight| *weight == 0) {
            return;
        }
        let mut node = self;
        node.weigh(by_order);
        for name in frames {
            let place = node.callees.iter().position(|callee| callee.name == *name).unwrap_or_else(|| {
                node.callees.push(Self { name: name.into_owned(), ..Self::default() });
                node.callees.len() - 1
            });
            node = &mut node.callees[place];
            node.weigh(by_order);
        }
    }

    fn weigh(&mut self, by_order: &[u64; ORDERS]) {
        for (sum, weight) in self.by_order.iter_mut().zip(by_order) {
            *sum = sum.saturating_add(*weight);
            self.weight = self.weight.saturating_add(*weight);
        }
    }

    /// Sorts callees by name, and measures.
    fn finish(&mut self) {
        self.callees.sort_by(|a, b| a.name.cmp(&b.name));
        self.callees.iter_mut().for_each(Self::finish);
        self.depth = self.callees.iter().map(|callee| callee.depth + 1).max().unwrap_or(0);
    }

    /// The frame at the end of a way of names; `None` where it is not there any more.
    pub fn at(&self, way: &[String]) -> Option<&Self> {
        way.iter().try_fold(self, |node, name| node.callees.iter().find(|callee| callee.name == *name))
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
