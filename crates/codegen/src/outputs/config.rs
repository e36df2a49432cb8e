//! The generated part of `docs/config.md`: a table of the keys, and a paragraph for each.

use std::fmt::Write as _;

use anyhow::Result;
use haft_config::{Key, Reach, TableKind, ValueKind, all_keys};

use super::Output;
use super::docs::replace;
use xtask::repo;

const PATH: &str = "docs/config.md";

/// The document as it stands, with its generated part replaced.
pub(super) fn output() -> Result<Output> {
    let mut text = repo::read(PATH)?;
    replace(&mut text, "<!-- generated: keys -->", "<!-- /generated -->", &tables()?)?;
    Ok(Output { path: PATH, text })
}

fn tables() -> Result<String> {
    let mut out = String::from("\n\n| key | value | default | variable | flag | trusted project |\n");
    out.push_str("|---|---|---|---|---|---|\n");
    for key in all_keys() {
        let may = match key.reach {
            Reach::User => "no",
            Reach::TrustedProject => "yes",
        };
        let below = if key.kind == ValueKind::Table(TableKind::Keys) { " of keys" } else { "" };
        let (takes, default) = (key.kind.takes(), key.default_text());
        let (variable, flag) = (code(key.variables.first().copied()), code(key.flag));
        writeln!(
            out,
            "| [`{}`](#{}) | {takes}{below} | {default} | {variable} | {flag} | {may} |",
            key.path,
            anchor(key)
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
fn anchor(key: &Key) -> String {
    key.path.chars().filter(|c| *c != '.').map(|c| c.to_ascii_lowercase()).collect()
}
