//! The known name that a mistyped one may stand for.

/// Below this likeness, of at most 1, another name is not what was meant.
const ALIKE: f64 = 0.7;

pub(crate) fn nearest_name<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |known: &&str| strsim::jaro_winkler(known, name);
    let best = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) >= ALIKE).then_some(best)
}
