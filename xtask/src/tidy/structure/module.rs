//! A source file as a module: its imports, re-exports, types and inherent methods.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use syn::visit::{self, Visit};
use syn::{Item, ItemEnum, ItemImpl, ItemMod, ItemStruct, ItemUse, Type, UseTree, Visibility};

use super::CrateModules;
use crate::tidy::product::is_for_tests;

/// A path as written, for example `super::Thing`.
pub(super) type ModulePath = Vec<String>;

/// The parts of a file that the checks need.
#[derive(Debug, Default)]
pub(super) struct SourceModule {
    /// The path of the file below `src/`.
    pub(super) file: String,
    /// The path from the root of the crate; empty for the root.
    pub(super) name: Vec<String>,
    /// The paths in this crate that product code uses.
    pub(super) imports: Vec<ModulePath>,
    /// Names that are re-exported.
    pub(super) exports: BTreeMap<String, ModulePath>,
    /// Names that are imported, with their paths.
    uses: BTreeMap<String, ModulePath>,
    /// Types that are defined here.
    types: BTreeSet<String>,
    /// Types that have inherent methods here.
    impls: BTreeSet<String>,
    /// Modules that are declared only for tests.
    tests: Vec<String>,
    /// The number of inline modules around the present position.
    depth: usize,
}

impl SourceModule {
    /// Reads a file.
    pub(super) fn read(file: &str, text: &str) -> syn::Result<Self> {
        let name = match file {
            "lib.rs" | "main.rs" => Vec::new(),
            _ => file.trim_end_matches(".rs").split('/').map(str::to_owned).collect(),
        };
        let mut module = Self { file: file.to_owned(), name, ..Self::default() };
        module.visit_file(&syn::parse_file(text)?);
        Ok(module)
    }

    /// Returns the paths of the modules that this one declares only for tests.
    pub(super) fn test_modules(&self) -> Vec<ModulePath> {
        self.tests.iter().map(|test| [self.name.as_slice(), slice::from_ref(test)].concat()).collect()
    }

    /// Returns the types with inherent methods here, each with the file that defines it.
    pub(super) fn implemented_types<'a>(&'a self, all: &'a CrateModules) -> Vec<(&'a str, &'a str)> {
        let defined_in = |name: &String| {
            let path = self.uses.get(name).filter(|_| !self.types.contains(name))?;
            all.find(&self.absolute_path(path, all)).map(|module| module.file.as_str())
        };
        self.impls.iter().map(|name| (name.as_str(), defined_in(name).unwrap_or(&self.file))).collect()
    }

    /// Converts a path in this file to a path from the root of the crate.
    pub(super) fn absolute_path(&self, path: &[String], all: &CrateModules) -> ModulePath {
        let ups = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match path.first().map(String::as_str) {
            Some("crate") => (&[][..], &path[1..]),
            Some("self") => (self.name.as_slice(), &path[1..]),
            Some("super") => (&self.name[..self.name.len().saturating_sub(ups)], &path[ups..]),
            _ => (self.name.as_slice(), path),
        };
        let absolute = [base, rest].concat();
        let is_child = path.first().is_some_and(|first| {
            !["crate", "self", "super"].contains(&first.as_str())
                && !all.has_module(&[self.name.as_slice(), slice::from_ref(first)].concat())
        });
        // The name of another crate, or of an item in this file.
        if is_child { self.name.clone() } else { absolute }
    }

    fn import(&mut self, tree: &UseTree, before: &ModulePath, is_public: bool) {
        let with = |name: &syn::Ident| [before.as_slice(), &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(&path.ident), is_public),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, before, is_public)),
            UseTree::Glob(_) => self.add(before.clone()),
            UseTree::Name(name) if name.ident == "self" => self.add(before.clone()),
            UseTree::Name(name) => self.add_name(&name.ident, with(&name.ident), is_public),
            UseTree::Rename(name) => self.add_name(&name.rename, with(&name.ident), is_public),
        }
    }

    /// Adds a name for a path.
    fn add_name(&mut self, name: &syn::Ident, path: ModulePath, is_public: bool) {
        if is_public {
            self.exports.insert(name.to_string(), path.clone());
        }
        self.uses.insert(name.to_string(), path.clone());
        self.add(path);
    }

    fn add(&mut self, path: ModulePath) {
        // In an inline module, the first `super` components stay in this file.
        let inside = path.iter().take(self.depth).filter(|part| *part == "super").count();
        if inside == 0 || path.get(self.depth).is_some_and(|part| part == "super") {
            self.imports.push(path.into_iter().skip(inside).collect());
        }
    }
}

impl<'ast> Visit<'ast> for SourceModule {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(item) {
            visit::visit_item(self, item);
        } else if let Item::Mod(module) = item {
            self.tests.push(module.ident.to_string());
        }
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.types.insert(item.ident.to_string());
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.types.insert(item.ident.to_string());
        visit::visit_item_enum(self, item);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, &Vec::new(), !matches!(item.vis, Visibility::Inherited));
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.depth += 1;
        visit::visit_item_mod(self, item);
        self.depth -= 1;
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if item.trait_.is_none()
            && let Type::Path(path) = &*item.self_ty
            && let Some(last) = path.path.segments.last()
        {
            self.impls.insert(last.ident.to_string());
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: ModulePath = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if parts.len() > 1 {
            self.add(parts);
        }
        visit::visit_path(self, path);
    }
}
