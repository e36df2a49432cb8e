//! The themes that there are beside haft's own.

use std::fs;
use std::path::Path;

use haft_config::read_text;
use haft_packages::Launch;
use haft_packages::discovery::Discovery;

use super::Ground;
use crate::setup;

/// The longest `theme.json` that is read.
const LONGEST: u64 = 256 * 1024;

/// Where each is, for people, and its text: the user's in `$HAFT_HOME/themes`, then extensions that are nothing but one.
/// What is not approved, and what an untrusted project brings, is not among them.
pub(super) fn all(ground: &Ground) -> Vec<(String, String)> {
    let mut themes = users(&ground.home.themes_dir());
    themes.extend(of_extensions(ground).unwrap_or_default());
    themes
}

fn users(dir: &Path) -> Vec<(String, String)> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"))).collect();
    files.sort();
    files
        .iter()
        .filter_map(|path| Some((path.display().to_string(), read_text(path, LONGEST).ok()?)))
        .collect()
}

fn of_extensions(ground: &Ground) -> anyhow::Result<Vec<(String, String)>> {
    let project = ground.decision()?.project;
    let config = super::settings::holding(ground)?;
    let search = setup::search(&ground.args.ext, &ground.home, &config, project);
    let specs = Discovery::run(&search).specs;
    let themes = specs.iter().filter(|spec| spec.launch == Launch::ThemeOnly);
    let named = themes.filter_map(|spec| {
        let places = ["theme.json", "themes/theme.json"].map(|place| spec.dir.join(place));
        Some((
            format!("extension {}", spec.name),
            places.iter().find_map(|place| read_text(place, LONGEST).ok())?,
        ))
    });
    Ok(named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn themes_are_files_of_json_that_are_not_long() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.json", "a.JSON", "c.txt"] {
            fs::write(dir.path().join(name), "{}").unwrap();
        }
        fs::create_dir(dir.path().join("d.json")).unwrap();
        fs::write(dir.path().join("e.json"), " ".repeat(300 * 1024)).unwrap();
        let named = |name: &str| (dir.path().join(name).display().to_string(), "{}".to_owned());
        assert_eq!(users(dir.path()), [named("a.JSON"), named("b.json")]);
        assert_eq!(users(&dir.path().join("gone")), []);
    }
}
