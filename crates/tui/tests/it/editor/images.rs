//! Tests of pasted image paths.

use std::path::{Path, PathBuf};

use haft_tui::editor::{Editor, PasteOutcome};
use haft_tui::keys::Edit;

use super::{act, drawn, with_text};

#[test]
fn pasted_image_path_becomes_image() {
    let is_image = |path: &Path| path == Path::new("/a b.png") || path == Path::new("/c.JPG");
    let mut editor = with_text("look at ");
    let images = |text: &str, paths: &[&str]| {
        let paths = paths.iter().map(PathBuf::from).collect();
        PasteOutcome::Images { text: text.to_owned(), paths }
    };
    let pasted = "'/a b.png' /c.JPG\n";
    let paths = ["/a b.png", "/c.JPG"];
    assert_eq!(editor.paste(pasted, is_image), images(pasted, &paths));
    assert_eq!(editor.text(), format!("look at {pasted}"), "until the files are known to exist");
    assert!(editor.fold_images(pasted, paths.map(PathBuf::from).to_vec()));
    assert!(
        !editor.fold_images(pasted, paths.map(PathBuf::from).to_vec()),
        "the paths are no longer in the text"
    );
    insta::assert_snapshot!(drawn(&editor, 60), @"look at [image #1: a b.png] [image #2: c.JPG] │");
    let sent = editor.take();
    assert_eq!(sent.text, "look at [image #1: a b.png] [image #2: c.JPG]");
    assert_eq!(sent.images, [Path::new("/a b.png"), Path::new("/c.JPG")]);
    assert_eq!(sent.history_text, "look at /a b.png /c.JPG");
    assert_eq!(editor.paste("/other.png", is_image), PasteOutcome::Text);
    assert_eq!(editor.paste("/a b.png and words", is_image), PasteOutcome::Text);
    // A path with unquoted blanks.
    assert_eq!(editor.paste("/a b.png", is_image), images("/a b.png", &["/a b.png"]));
}

#[test]
fn cursor_stays_while_image_is_checked() {
    let mut editor = with_text("see ");
    editor.paste("/a.png", |_| true);
    editor.insert(" please");
    act(&mut editor, &[Edit::CharLeft]);
    assert!(editor.fold_images("/a.png", vec!["/a.png".into()]));
    insta::assert_snapshot!(drawn(&editor, 40), @"see [image #1: a.png]  pleas│e");
    act(&mut editor, &[Edit::Undo]);
    insta::assert_snapshot!(drawn(&editor, 40), @"see /a.png pleas│e");
    act(&mut editor, &[Edit::LineStart, Edit::Redo]);
    assert!(editor.text().starts_with("see "));
    let mut editor = Editor::new();
    editor.paste("/a.png", |_| true);
    editor.set_text("another");
    assert!(!editor.fold_images("/a.png", vec!["/a.png".into()]));
    assert_eq!(editor.text(), "another");
}
