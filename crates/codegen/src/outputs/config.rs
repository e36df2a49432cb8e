//! The generated part of `docs/config.md`: a table of the keys, and a paragraph for each key.

use std::fmt::Write as _;

use anyhow::Result;
use haft_config::{ConfigKey, KeyScope, TableKind, ValueKind, all_keys};

use super::GeneratedFile;
use super::docs::replace;
use xtask::repo;

const PATH: &str = "docs/config.md";

/// Returns the document with a new generated part.
pub(super) fn output() -> Result<GeneratedFile> {
    let mut text = repo::read(PATH)?;
    replace(&mut text, "<!-- generated: keys -->", "<!-- /generated -->", &key_tables()?)?;
    Ok(GeneratedFile { path: PATH, text })
}

fn key_tables() -> Result<String> {
    let mut out = String::from("\n\n| key | value | default | variable | flag | trusted project |\n");
    out.push_str("|---|---|---|---|---|---|\n");
    for key in all_keys() {
        let may = match key.reach {
            KeyScope::User => "no",
            KeyScope::TrustedProject => "yes",
        };
        let below = if key.kind == ValueKind::Table(TableKind::Keys) { " of keys" } else { "" };
        let (takes, default) = (key.kind.expected_text(), key.default_text());
        let (variable, flag) = (code(key.variables.first().copied()), code(key.flag));
        writeln!(
            out,
            "| [`{}`](#{}) | {takes}{below} | {default} | {variable} | {flag} | {may} |",
            key.path,
            heading_anchor(key)
        )?;
    }
    for key in all_keys() {
        let doc = key.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let former = key.former.map(|name| format!(" The former name `{name}` still works."));
        writeln!(out, "\n#### `{}`\n\n{doc}{}", key.path, former.unwrap_or_default())?;
    }
    out.push('\n');
    Ok(out)
}

fn code(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("`{name}`"))
}

/// Returns the anchor of a heading for links.
fn heading_anchor(key: &ConfigKey) -> String {
    key.path.chars().filter(|c| *c != '.').map(|c| c.to_ascii_lowercase()).collect()
}
