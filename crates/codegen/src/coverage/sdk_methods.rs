//! The methods of the Rust SDK, read from its sources.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use syn::{Attribute, Expr, ExprLit, ImplItem, Item, ItemImpl, Lit, Meta, Type, Visibility};
use xtask::repo;

use super::registry::RegistryLine;

/// The types whose methods make calls.
const CALLERS: &[&str] = &["Host", "UserInterface", "SessionHandle", "FileLock"];

/// The type whose methods say what an extension offers and handles.
const BUILDER: &str = "Extension";

/// The methods and types of the SDK, by their names and their `#[doc(alias)]`.
pub(super) struct SdkMethods {
    /// Pairs of type and method; a type alone has an empty method.
    names: BTreeMap<String, Vec<(String, String)>>,
}

impl SdkMethods {
    /// Reads the sources of the SDK.
    pub(super) fn read() -> Result<Self> {
        let mut methods = Self { names: BTreeMap::new() };
        for file in repo::text_files("crates/sdk/src")?.iter().filter(|file| file.path.ends_with(".rs")) {
            let parsed = syn::parse_file(&file.text).with_context(|| format!("parse {}", file.path))?;
            for item in &parsed.items {
                methods.add_item(item);
            }
        }
        Ok(methods)
    }

    /// Returns the method for a line of a registry, as `Type::method`.
    pub(super) fn find_method(&self, line: &RegistryLine) -> Option<String> {
        let name = line.name;
        let names = match line.kind {
            "call" => vec![(CALLERS, name.to_owned())],
            "hook" => {
                let names = [name.to_owned(), format!("intercept_{name}"), format!("wait_{name}")];
                names.map(|name| (&[BUILDER][..], name)).into()
            }
            // One handler takes all events, but for those with a type of their own.
            "event" => vec![(&[BUILDER][..], format!("on_{name}")), (&[BUILDER], "on_session_event".into())],
            "mirror" => vec![(&[BUILDER][..], "mirror_session".into())],
            _ => vec![(&[BUILDER][..], name.to_owned()), (CALLERS, name.to_owned())],
        };
        names.iter().find_map(|(types, name)| self.method_of(types, name))
    }

    fn method_of(&self, types: &[&str], name: &str) -> Option<String> {
        let found = self.names.get(name)?.iter().find(|(of, _)| types.contains(&of.as_str()))?;
        Some(match found {
            (of, method) if method.is_empty() => of.clone(),
            (of, method) => format!("{of}::{method}"),
        })
    }

    fn add_item(&mut self, item: &Item) {
        if let Item::Impl(item) = item {
            self.add_impl(item);
        } else if let Item::Struct(item) = item {
            for alias in doc_aliases(&item.attrs) {
                self.names.entry(alias).or_default().push((item.ident.to_string(), String::new()));
            }
        }
    }

    fn add_impl(&mut self, item: &ItemImpl) {
        let Type::Path(of) = &*item.self_ty else { return };
        let Some(of) = of.path.segments.last().map(|segment| segment.ident.to_string()) else { return };
        for member in &item.items {
            let ImplItem::Fn(method) = member else { continue };
            if !matches!(method.vis, Visibility::Public(_)) {
                continue;
            }
            let name = method.sig.ident.to_string();
            for wire_name in doc_aliases(&method.attrs).into_iter().chain([name.clone()]) {
                self.names.entry(wire_name).or_default().push((of.clone(), name.clone()));
            }
        }
    }
}

/// Returns the texts of `#[doc(alias = "…")]`.
fn doc_aliases(attributes: &[Attribute]) -> Vec<String> {
    let lists = attributes.iter().filter(|attribute| attribute.path().is_ident("doc"));
    lists.filter_map(|attribute| attribute.parse_args::<Meta>().ok()).filter_map(alias_text).collect()
}

fn alias_text(meta: Meta) -> Option<String> {
    let Meta::NameValue(pair) = meta else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = pair.value else { return None };
    pair.path.is_ident("alias").then(|| text.value())
}
