//! Grants in the user's `config.toml` that no extension bears the name of: what was meant to confine one does not.

use std::collections::BTreeSet;

use haft_packages::discovery::Discovery;

/// So many letters may be wrong in a name that is still recognised.
const MISSPELT: usize = 2;

/// Those of `granted` that are none of `known`, each in a line; with `known` alone that is likely meant, if any is.
pub(crate) fn unborne<'a>(
    granted: impl Iterator<Item = &'a str>,
    known: &BTreeSet<&str>,
) -> Vec<(String, bool)> {
    let unborne = granted.filter(|name| !known.contains(name));
    unborne
        .map(|name| {
            let meant = known.iter().copied().find(|other| is_meant(name, other));
            let rest = match meant {
                Some(other) => format!("is {other} meant?"),
                None => "a project elsewhere may have one".to_owned(),
            };
            (format!("config.toml: [grant.{name}] is for no extension that is here; {rest}"), meant.is_some())
        })
        .collect()
}

/// All names that were found, whether what bears them runs or not.
pub(crate) fn names(found: &Discovery) -> BTreeSet<&str> {
    let specs = found.specs.iter().map(|spec| spec.name.as_str());
    let skipped = found.skipped.iter().map(|skipped| skipped.name.as_str());
    specs.chain(skipped).chain(found.errors.iter().map(|error| error.name.as_str())).collect()
}

fn is_meant(name: &str, other: &str) -> bool {
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let (name, other) = (plain(name), plain(other));
    name == other || (name.len() > 2 * MISSPELT && strsim::osa_distance(&name, &other) <= MISSPELT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(granted: &str, known: &[&str], expect: &[(&str, bool)]) {
        let known = known.iter().copied().collect();
        let told = unborne(std::iter::once(granted), &known);
        let told: Vec<_> = told.iter().map(|(text, meant)| (text.as_str(), *meant)).collect();
        assert_eq!(told, expect);
    }

    #[test]
    fn a_name_that_nobody_bears_is_told_with_the_one_that_is_meant() {
        check("weather", &["guard", "weather"], &[]);
        let weather = "config.toml: [grant.wether] is for no extension that is here; is weather meant?";
        check("wether", &["guard", "weather"], &[(weather, true)]);
        let case = "config.toml: [grant.Weather_x] is for no extension that is here; is weather-x meant?";
        check("Weather_x", &["weather-x"], &[(case, true)]);
        let other =
            "config.toml: [grant.abc] is for no extension that is here; a project elsewhere may have one";
        check("abc", &["abd"], &[(other, false)]);
    }
}
