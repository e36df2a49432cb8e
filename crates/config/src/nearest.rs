//! The known name that is most similar to a mistyped one.

/// The minimum similarity, from 0 to 1, of a suggested name.
const MIN_SIMILARITY: f64 = 0.7;

/// Returns the known name that is most similar to a mistyped one; `None` if none is similar.
pub fn nearest_name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let similarity = |known: &&str| strsim::jaro_winkler(known, name);
    let best = known.max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(&best) >= MIN_SIMILARITY).then_some(best)
}
