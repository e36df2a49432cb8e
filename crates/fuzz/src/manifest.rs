//! The oracle of the manifest. An input is the text of an `extension.json`.

use std::path::Path;

use haft_packages::manifest::{MANIFEST_FILE, MAX_NAME, Manifest};

/// Checks the reading of a manifest. `data` is its text; bytes that are not UTF-8 are replaced.
///
/// * The manifest is read or rejected.
/// * Its name is safe as a file name.
/// * It has a program that can be started, or the directory contains a theme.
///
/// # Panics
/// If haft's reader breaks one of these promises.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parse = |theme| Manifest::parse(Path::new(MANIFEST_FILE), &text, theme).ok();
    let manifest = parse(false);
    let with_theme = parse(true);
    assert!(manifest.is_none() || manifest == with_theme, "a theme changes the manifest");
    let Some(with_theme) = with_theme else { return };
    assert!(manifest.is_some() == with_theme.exec.is_some(), "neither a program nor a theme");

    let name = with_theme.name.as_str();
    assert!(!name.is_empty() && name.len() <= MAX_NAME, "{name:?}");
    assert!(Path::new(name).file_name().is_some_and(|file| file == name), "{name:?} is a path");
    assert!(!name.starts_with('.') && !name.contains(char::is_control), "{name:?}");
    let exec = with_theme.exec.iter().flat_map(|exec| exec.args.iter().chain([&exec.program]));
    assert!(!exec.into_iter().any(|text| text.contains('\0')), "NUL in the program or its arguments");
}
