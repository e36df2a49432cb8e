//! `extension.json` from strangers.

use std::path::Path;

use haft_packages::manifest::{MANIFEST_FILE, MAX_NAME, Manifest};

/// A manifest is read or refused. One that is read has a name that is safe as the name of a file, and a program that
/// can be started, unless it brings a theme. `data` is its text; what is no UTF-8 in it is replaced.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parse = |theme| Manifest::parse(Path::new(MANIFEST_FILE), &text, theme).ok();
    let manifest = parse(false);
    let with_theme = parse(true);
    assert!(manifest.is_none() || manifest == with_theme, "a theme forbids nothing");
    let Some(with_theme) = with_theme else { return };
    assert!(manifest.is_some() == with_theme.exec.is_some(), "a program or a theme is needed");

    let name = with_theme.name.as_str();
    assert!(!name.is_empty() && name.len() <= MAX_NAME, "{name:?}");
    assert!(Path::new(name).file_name().is_some_and(|file| file == name), "{name:?} is a path");
    assert!(!name.starts_with('.') && !name.contains(char::is_control), "{name:?}");
    let exec = with_theme.exec.iter().flat_map(|exec| exec.args.iter().chain([&exec.program]));
    assert!(!exec.into_iter().any(|text| text.contains('\0')), "no program can be started with a NUL");
}
