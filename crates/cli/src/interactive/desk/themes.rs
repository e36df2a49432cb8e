//! The themes that there are beside haft's own.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

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
    files.iter().filter_map(|path| Some((path.display().to_string(), text(path)?))).collect()
}

fn of_extensions(ground: &Ground) -> anyhow::Result<Vec<(String, String)>> {
    let project = ground.decision()?.project;
    let config = super::settings::holding(ground)?;
    let search = setup::search(&ground.args.ext, &ground.home, &config, project);
    let specs = Discovery::run(&search).specs;
    let themes = specs.iter().filter(|spec| spec.launch == Launch::ThemeOnly);
    let named = themes.filter_map(|spec| {
        let places = ["theme.json", "themes/theme.json"].map(|place| spec.dir.join(place));
        Some((format!("extension {}", spec.name), places.iter().find_map(|place| text(place))?))
    });
    Ok(named.collect())
}

/// A file that is short enough. Nothing else is opened: a pipe could be waited for without end.
fn text(path: &Path) -> Option<String> {
    if !fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LONGEST) {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
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
