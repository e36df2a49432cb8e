//! What the manifest of an extension has started.

use std::path::Path;

use serde_json::Value;

use crate::read;

/// The file that makes a directory an extension.
pub(super) const MANIFEST: &str = "extension.json";

/// The longest manifest that is looked into, in bytes. The host reads none that is longer.
const MAX_MANIFEST: u64 = 1024 * 1024;

/// The paths that the manifest in a directory names in `exec` and `args`, as it writes them: what has a `/` in it. A name
/// without one is that of a program of the system's, or of a file beside the manifest.
///
/// One that cannot be read names nothing, and starts nothing either.
pub(super) fn named(dir: &Path) -> Vec<String> {
    let text = read::text(&dir.join(MANIFEST), MAX_MANIFEST).unwrap_or_default();
    let Ok(Value::Object(fields)) = serde_json::from_str(text.trim_start_matches('\u{feff}')) else {
        return Vec::new();
    };
    // The host reads keys whatever their case, and refuses one that is there twice.
    let of =
        |key: &str| fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(key)).map(|(_, value)| value);
    let args = of("args").and_then(Value::as_array).into_iter().flatten();
    let words = of("exec").into_iter().chain(args).filter_map(Value::as_str);
    words.filter(|word| word.contains(std::path::is_separator)).map(str::to_owned).collect()
}
