//! Every path that a source file names, written out from its crate.
//!
//! Names brought in by `use` are put back in front of the paths that begin with them. Scopes are not told apart:
//! an import counts for its whole file. Must not know which paths are allowed where.

use std::{collections::BTreeMap, fmt};

use anyhow::anyhow;
use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, ImplItem, Item, ItemExternCrate, ItemMod, ItemUse, Macro, Meta, TraitItem, UseTree,
    spanned::Spanned as _,
    visit::{self, Visit},
};

/// A path named in a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// From the crate on, `crate` being this one.
    segments: Vec<String>,
    /// `use path::*`.
    pub(super) glob: bool,
    /// Where, from 1.
    pub(super) line: usize,
}

impl Named {
    /// Whether it is this path or one below it.
    pub(super) fn begins_with(&self, path: &str) -> bool {
        let mut segments = self.segments.iter();
        path.split("::").all(|wanted| segments.next().is_some_and(|segment| segment == wanted))
    }

    /// Whether this path lies below it.
    pub(super) fn is_above(&self, path: &str) -> bool {
        let mut wanted = path.split("::");
        self.segments.iter().all(|segment| wanted.next() == Some(segment)) && wanted.next().is_some()
    }
}

impl fmt::Display for Named {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.segments.join("::"), if self.glob { "::*" } else { "" })
    }
}

/// The paths that the product code of a file names; `module` is the file's own, `crate` first.
///
/// # Errors
/// The text is no Rust; with line and column.
pub(super) fn named(module: &[String], text: &str) -> anyhow::Result<Vec<Named>> {
    let file = syn::parse_file(text).map_err(|error| {
        let at = error.span().start();
        anyhow!("{}:{}: {error}", at.line, at.column + 1)
    })?;
    let mut imports = Finder { module: module.to_vec(), ..Finder::default() };
    imports.visit_file(&file);
    // Once more, now that all imported names are known.
    let mut all = Finder { module: module.to_vec(), imported: imports.imported, ..Finder::default() };
    all.visit_file(&file);
    Ok(all.named)
}

#[derive(Default)]
struct Finder {
    module: Vec<String>,
    /// Names brought in by `use`, with what they stand for.
    imported: BTreeMap<String, Vec<String>>,
    named: Vec<Named>,
}

impl Finder {
    fn add(&mut self, segments: &[String], line: usize) {
        let Some(first) = segments.first() else { return };
        let whole = match self.imported.get(first) {
            Some(stands_for) => [stands_for, &segments[1..]].concat(),
            None => self.written_out(segments),
        };
        self.named.push(Named { segments: whole, glob: false, line });
    }

    /// `self`, `super` and this package's own name put back to `crate`.
    fn written_out(&self, segments: &[String]) -> Vec<String> {
        let mut base = Vec::new();
        let mut rest = segments;
        while let Some((first, after)) = rest.split_first() {
            match first.as_str() {
                "self" if base.is_empty() => base.clone_from(&self.module),
                "super" => {
                    if base.is_empty() {
                        base.clone_from(&self.module);
                    }
                    base.pop();
                }
                "tracer" if base.is_empty() && !self.module.is_empty() => base.push("crate".to_owned()),
                _ => break,
            }
            rest = after;
        }
        [base.as_slice(), rest].concat()
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let line = tree.span().start().line;
        match tree {
            UseTree::Path(path) => {
                self.import(&path.tree, &[before, &[path.ident.to_string()]].concat());
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before)),
            UseTree::Glob(_) => {
                let segments = self.written_out(before);
                self.named.push(Named { segments, glob: true, line });
            }
            UseTree::Name(name) => self.import_name(before, &name.ident.to_string(), None, line),
            UseTree::Rename(rename) => {
                self.import_name(before, &rename.ident.to_string(), Some(rename.rename.to_string()), line);
            }
        }
    }

    fn import_name(&mut self, before: &[String], name: &str, alias: Option<String>, line: usize) {
        let path =
            if name == "self" && !before.is_empty() { before.to_vec() } else { [before, &[name.into()]].concat() };
        let segments = self.written_out(&path);
        let known_as = alias.or_else(|| segments.last().cloned()).unwrap_or_default();
        // `use aya;` brings in no other name than the one it has.
        if segments != [known_as.as_str()] {
            self.imported.insert(known_as, segments.clone());
        }
        self.named.push(Named { segments, glob: false, line });
    }

    /// Paths among tokens that are not parsed: a macro's or an attribute's.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut colons, mut line) = (0, 0);
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add_scanned(&mut path, line);
                    }
                    if path.is_empty() {
                        line = ident.span().start().line;
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.add_scanned(&mut path, line);
                    colons = 0;
                    self.scan(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.add_scanned(&mut path, line);
                    colons = 0;
                }
            }
        }
        self.add_scanned(&mut path, line);
    }

    /// A single word among tokens is a variable or a keyword far more often than a crate.
    fn add_scanned(&mut self, path: &mut Vec<String>, line: usize) {
        if path.len() > 1 {
            self.add(path, line);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item(&mut self, item: &'ast Item) {
        if !for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if !matches!(item, ImplItem::Fn(function) if for_tests(&function.attrs)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if !matches!(item, TraitItem::Fn(function) if for_tests(&function.attrs)) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_item_extern_crate(&mut self, item: &'ast ItemExternCrate) {
        let alias = item.rename.as_ref().map(|(_, alias)| alias.to_string());
        self.import_name(&[], &item.ident.to_string(), alias, item.span().start().line);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        // One segment is a local name, or an imported one that its `use` line has shown.
        if segments.len() > 1 {
            self.add(&segments, path.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        self.visit_path(&called.path);
        let prelude = ["print", "println", "eprint", "eprintln"];
        if let Some(name) = called.path.get_ident().filter(|name| prelude.iter().any(|known| name == known)) {
            self.add(&["std".to_owned(), name.to_string()], name.span().start().line);
        }
        self.scan(called.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        self.visit_path(attribute.path());
        if let Meta::List(list) = &attribute.meta {
            self.scan(list.tokens.clone());
        }
    }
}

/// Whether an item with these attributes is compiled for tests only.
fn for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let only = |list: &syn::MetaList| list.tokens.to_string() == "test";
        match &attribute.meta {
            Meta::List(list) => list.path.is_ident("cfg") && only(list),
            Meta::Path(path) => path.segments.last().is_some_and(|last| last.ident == "test"),
            Meta::NameValue(_) => false,
        }
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
