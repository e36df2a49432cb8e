//! Walking through a file's tables, beside the keys that there are.

use toml::de::{DeTable, DeValue};

use crate::keys::{Key, all_keys};

/// Below this likeness, of at most 1, another key is not what was meant.
const ALIKE: f64 = 0.7;

/// A key that does not exist.
pub(super) struct Unknown {
    pub(super) key: String,
    /// Where it begins, in bytes.
    pub(super) at: usize,
    /// What may be meant instead.
    pub(super) nearest: Vec<String>,
}

/// Tells every key and where it begins; ends at the first one that does not exist.
pub(super) fn keys(table: &DeTable<'_>, tell: &mut impl FnMut(String, usize)) -> Result<(), Unknown> {
    walk(&[], table, tell)
}

fn walk(above: &[&str], table: &DeTable<'_>, tell: &mut impl FnMut(String, usize)) -> Result<(), Unknown> {
    for (key, value) in table {
        let name = canonical(above, key.get_ref());
        let (path, at) = ([above, &[name]].concat(), key.span().start);
        let mut below = all_keys().filter(|known| leads_to(known, &path)).peekable();
        // A table that is handed on as it is: whose keys they are is not haft's to say.
        let free = all_keys()
            .any(|known| known.path == "extension.NAME" && above.len() == 2 && leads_to(known, above));
        if below.peek().is_none() && !free {
            let nearest = nearest(above, name).into_iter().collect();
            return Err(Unknown { key: path.join("."), at, nearest });
        }
        if let (["extensions"], DeValue::Table(table)) = (path.as_slice(), value.get_ref()) {
            return Err(former_table(table, at));
        }
        tell(path.join("."), at);
        // A table in a value's place is a mistake that the reader of the values tells.
        if let DeValue::Table(table) = value.get_ref()
            && !free
            && below.any(|known| is_table(known, path.len()))
        {
            walk(&path, table, tell)?;
        }
    }
    Ok(())
}

/// `[extensions.NAME]`, which once was what `[grant.NAME]` is; `extensions` now is a list of places.
fn former_table(table: &DeTable<'_>, at: usize) -> Unknown {
    let first = table.iter().next();
    let name = first.map_or("NAME", |(name, value)| match value.get_ref().is_table() {
        true => name.get_ref(),
        false => "NAME",
    });
    let nearest = ["grant", "extension"].map(|table| format!("{table}.{name}")).to_vec();
    Unknown { key: format!("extensions.{name}"), at, nearest }
}

/// A key by the name that it has now.
fn canonical<'a>(above: &[&str], name: &'a str) -> &'a str {
    let former = all_keys().find(|known| above.is_empty() && known.former == Some(name));
    former.map_or(name, |known| known.path)
}

/// Whether a path is a known key or a table around one.
fn leads_to(known: &Key, path: &[&str]) -> bool {
    let mut segments = known.path.split('.');
    path.iter().all(|name| segments.next().is_some_and(|segment| segment == "NAME" || segment == *name))
}

/// What may be given for a key, or for the table around others.
pub(crate) fn takes(key: &str) -> &'static str {
    let path: Vec<&str> = key.split('.').collect();
    let known = all_keys().filter(|known| leads_to(known, &path));
    let exact = known
        .map(|known| (known.path.split('.').count(), known.takes))
        .find(|(names, _)| *names == path.len());
    // The documentation goes on below it.
    exact.map_or("a table", |(_, takes)| takes.trim_end_matches(", below"))
}

/// Whether the first so many names of a key are a table.
fn is_table(known: &Key, names: usize) -> bool {
    known.path.split('.').count() > names || known.path == "extension.NAME"
}

/// The key in the same table that is most like a name.
fn nearest(above: &[&str], name: &str) -> Option<String> {
    let siblings = all_keys().filter(|known| leads_to(known, above));
    let siblings = siblings.filter_map(|known| known.path.split('.').nth(above.len()));
    let likeness = |sibling: &&str| strsim::jaro_winkler(sibling, name);
    let best = siblings.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) >= ALIKE).then(|| [above, &[best]].concat().join("."))
}
