//! Untrusted `extension.json` files.

use std::path::Path;

use haft_packages::manifest::{MANIFEST_FILE, MAX_NAME, Manifest};

/// Checks one manifest.
///
/// An accepted manifest has a name that is safe as a file name. It also has a program that can be started, unless it
/// brings a theme. `data` is the text of the manifest; invalid UTF-8 is replaced.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parse = |theme| Manifest::parse(Path::new(MANIFEST_FILE), &text, theme).ok();
    let manifest = parse(false);
    let with_theme = parse(true);
    assert!(manifest.is_none() || manifest == with_theme, "a theme made a valid manifest invalid");
    let Some(with_theme) = with_theme else { return };
    assert!(manifest.is_some() == with_theme.exec.is_some(), "a manifest needs a program or a theme");

    let name = with_theme.name.as_str();
    assert!(!name.is_empty() && name.len() <= MAX_NAME, "{name:?}");
    assert!(Path::new(name).file_name().is_some_and(|file| file == name), "{name:?} is a path");
    assert!(!name.starts_with('.') && !name.contains(char::is_control), "{name:?}");
    let exec = with_theme.exec.iter().flat_map(|exec| exec.args.iter().chain([&exec.program]));
    assert!(!exec.into_iter().any(|text| text.contains('\0')), "a program path or argument contains NUL");
}
