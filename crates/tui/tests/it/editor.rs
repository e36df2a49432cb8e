//! Tests of the editor: invariants under random input, and layout.

mod images;

use std::path::Path;

use haft_tui::editor::{EditOutcome, Editor, PasteOutcome};
use haft_tui::keys::{ACTIONS, Action, Edit};
use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

/// A random operation on an editor.
#[derive(Debug, Clone)]
enum Step {
    Type(char),
    Insert(String),
    Paste(String),
    Attach,
    Act(Edit),
}

fn edits() -> Vec<Edit> {
    let edit = |action| if let Action::Edit(edit) = action { Some(edit) } else { None };
    let edits = ACTIONS.iter().filter_map(|entry| edit(entry.action));
    edits.collect()
}

fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        4 => proptest::char::range('a', 'e'),
        3 => proptest::sample::select(vec![' ', '\n', '\t', '.', '_']),
        3 => proptest::sample::select(vec!['\u{301}', '日', 'é', '👩', '\u{200d}', '🔬', '🇩', '🇪', '\u{fe0f}', '한']),
        1 => proptest::sample::select(vec!['\r', '\u{1b}', '\u{7}', '\u{202e}', '\u{100000}', '\u{100001}']),
        1 => any::<char>(),
    ]
}

fn text(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(character(), 0..most).prop_map(String::from_iter)
}

fn long_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(text(6), 9..16).prop_map(|lines| lines.join("\n"))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => character().prop_map(Step::Type),
        1 => text(12).prop_map(Step::Insert),
        1 => prop_oneof![text(12), long_text()].prop_map(Step::Paste),
        1 => Just(Step::Attach),
        8 => proptest::sample::select(edits()).prop_map(Step::Act),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec(step(), 0..40)
}

fn run(editor: &mut Editor, steps: &[Step], width: u16) {
    for step in steps {
        match step {
            Step::Type(c) => editor.type_char(*c),
            Step::Insert(text) => editor.insert(text),
            Step::Paste(text) => {
                editor.paste(text, |_| false);
            }
            Step::Attach => {
                if let PasteOutcome::Images { text, paths } = editor.paste("/pictures/a.png", |_| true) {
                    editor.fold_images(&text, paths);
                }
            }
            Step::Act(edit) => {
                let _ = editor.apply_edit(*edit, width);
            }
        }
        check_sound(editor);
    }
}

/// Checks that the cursor is between two graphemes and that the text is printable.
#[track_caller]
fn check_sound(editor: &Editor) {
    let (text, cursor) = (editor.text(), editor.cursor());
    assert!(text.is_char_boundary(cursor));
    // An atom and the text behind it stay separate, whatever Unicode says about private-use characters.
    let is_atom = |c: char| ('\u{100000}'..='\u{10fffd}').contains(&c);
    let beside_atom = text[..cursor].ends_with(is_atom) || text[cursor..].starts_with(is_atom);
    let between = text.grapheme_indices(true).any(|(at, _)| at == cursor) || cursor == text.len();
    assert!(between || beside_atom, "{text:?} at {cursor}");
    assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
}

proptest! {
    #[test]
    fn cursor_stays_between_graphemes(steps in steps(), width in 1_u16..20) {
        run(&mut Editor::new(), &steps, width);
        run(&mut Editor::one_line(), &steps, width);
    }

    #[test]
    fn undo_restores_text(start in text(20), steps in steps(), width in 3_u16..20) {
        let mut editor = Editor::new();
        editor.insert(&start);
        let fresh = || { let mut fresh = Editor::new(); fresh.set(&editor.content()); fresh };
        let (before, mut edited) = (editor.text().to_owned(), fresh());
        // Undo and redo follow below.
        let steps: Vec<Step> =
            steps.into_iter().filter(|step| !matches!(step, Step::Act(Edit::Undo | Edit::Redo))).collect();
        run(&mut edited, &steps, width);
        let after = edited.text().to_owned();
        for _ in 0..200 {
            let _ = edited.apply_edit(Edit::Undo, width);
            check_sound(&edited);
        }
        // The first step was the initial text.
        prop_assert_eq!(edited.text(), "");
        if !before.is_empty() {
            let _ = edited.apply_edit(Edit::Redo, width);
            prop_assert_eq!(edited.text(), &before);
        }
        for _ in 0..200 {
            let _ = edited.apply_edit(Edit::Redo, width);
            check_sound(&edited);
        }
        prop_assert_eq!(edited.text(), &after);
    }

    #[test]
    fn rows_fit_width(steps in steps(), width in 3_u16..24) {
        let mut editor = Editor::new();
        run(&mut editor, &steps, width);
        let layout = editor.layout(width);
        prop_assert!(layout.row < layout.len() && layout.column < usize::from(width));
        for row in 0..layout.len() {
            let shown: String = editor.row_pieces(&layout, row).into_iter().map(|piece| piece.text).collect();
            prop_assert!(!shown.contains(char::is_control), "{:?}", shown);
            let columns = haft_tui::editor::columns(&shown);
            prop_assert!(columns <= usize::from(width), "{:?} is {} wide", shown, columns);
        }
    }

    #[test]
    fn up_and_down_return_to_position(steps in steps(), width in 3_u16..24) {
        let mut editor = Editor::new();
        run(&mut editor, &steps, width);
        let _ = editor.apply_edit(Edit::LineStart, width);
        let (start, mut rows) = (editor.cursor(), 0);
        while editor.apply_edit(Edit::RowDown, width) == EditOutcome::Done {
            check_sound(&editor);
            rows += 1;
        }
        for _ in 0..rows {
            prop_assert_eq!(editor.apply_edit(Edit::RowUp, width), EditOutcome::Done);
        }
        prop_assert_eq!(editor.cursor(), start);
    }

    #[test]
    fn folded_paste_is_sent_whole(paste in prop_oneof![long_text(), "[a-z ]{900,1100}"]) {
        let mut plain = Editor::new();
        plain.insert(&paste);
        let expect = plain.take().text;
        let mut editor = Editor::new();
        let pasted = editor.paste(&paste, |_| false);
        if pasted == PasteOutcome::Folded {
            prop_assert_eq!(editor.text().chars().count(), 1);
        }
        prop_assert_eq!(editor.take().text, expect);
    }
}

/// Formats a text in rows of a width, with `│` at the cursor.
fn drawn(editor: &Editor, width: u16) -> String {
    let layout = editor.layout(width);
    let rows = (0..layout.len()).map(|row| {
        let shown: String = editor.row_pieces(&layout, row).into_iter().map(|piece| piece.text).collect();
        if row != layout.row {
            return format!("{shown}\n");
        }
        let mut column = 0;
        let mut with_cursor = String::new();
        let mut put = false;
        for grapheme in shown.graphemes(true) {
            if column == layout.column {
                with_cursor.push('│');
                put = true;
            }
            column += haft_tui::editor::columns(grapheme);
            with_cursor.push_str(grapheme);
        }
        if !put {
            with_cursor.push('│');
        }
        with_cursor + "\n"
    });
    rows.collect()
}

fn with_text(text: &str) -> Editor {
    let mut editor = Editor::new();
    editor.insert(text);
    editor
}

fn act(editor: &mut Editor, edits: &[Edit]) {
    for edit in edits {
        let _ = editor.apply_edit(*edit, 20);
    }
}

#[test]
fn wraps_lines_between_words() {
    let editor = with_text("the quick brown fox jumps\nover\n\nthe lazy dog");
    insta::assert_snapshot!(drawn(&editor, 12), @"
    the quick 
    brown fox 
    jumps
    over

    the lazy 
    dog│
    ");
}

#[test]
fn full_row_continues_on_next() {
    insta::assert_snapshot!(drawn(&with_text("hello"), 6), @"hello│");
    insta::assert_snapshot!(drawn(&with_text("hello "), 6), @"
    hello 
    │
    ");
    insta::assert_snapshot!(drawn(&with_text("abcdefghij"), 6), @"
    abcde
    fghij│
    ");
    insta::assert_snapshot!(drawn(&with_text("a\n"), 6), @"
    a
    │
    ");
}

#[test]
fn wide_characters_and_tabs_have_their_width() {
    insta::assert_snapshot!(drawn(&with_text("日本語の文章"), 7), @"
    日本語
    の文章│
    ");
    insta::assert_snapshot!(drawn(&with_text("\tif\t1"), 12), @"    if  1│");
    let joined = "e\u{301}👩\u{200d}🔬🇩🇪";
    assert_eq!(drawn(&with_text(joined), 12), format!("{joined}│\n"));
}

#[test]
fn lays_out_long_line_quickly() {
    let mut editor = with_text(&"a word ".repeat(40_000));
    assert_eq!(editor.layout(15).len(), 20_000);
    assert_eq!(editor.apply_edit(Edit::RowUp, 15), EditOutcome::Done);
    assert_eq!(editor.layout(15).row, 19_998);
}

#[test]
fn long_paste_is_one_atom() {
    let mut editor = with_text("see ");
    let paste = "line\n".repeat(120);
    assert_eq!(editor.paste(&paste, |_| false), PasteOutcome::Folded);
    editor.insert(" please");
    insta::assert_snapshot!(drawn(&editor, 40), @"see [paste #1: 120 lines] please│");
    insta::assert_snapshot!(drawn(&editor, 12), @"
    see 
    [paste #1:… 
    please│
    ");
    act(&mut editor, &[Edit::WordLeft, Edit::WordLeft]);
    insta::assert_snapshot!(drawn(&editor, 40), @"see │[paste #1: 120 lines] please");
    act(&mut editor, &[Edit::CharRight, Edit::DeleteBack]);
    insta::assert_snapshot!(drawn(&editor, 40), @"see │ please");
    act(&mut editor, &[Edit::Undo]);
    assert_eq!(editor.take().text, format!("see {paste} please"));
}

#[test]
fn yank_inserts_cut_text() {
    let mut editor = with_text("one two three");
    act(&mut editor, &[Edit::KillWordBack, Edit::KillWordBack, Edit::Yank]);
    assert_eq!(editor.text(), "one two three");
    act(&mut editor, &[Edit::CharLeft, Edit::KillLineStart, Edit::Yank, Edit::YankPop]);
    assert_eq!(editor.text(), "two threee");
    act(&mut editor, &[Edit::YankPop]);
    assert_eq!(editor.text(), "one two three");
    act(&mut editor, &[Edit::Undo, Edit::Undo]);
    assert_eq!(editor.text(), "one two three");
    act(&mut editor, &[Edit::CharLeft, Edit::YankPop]);
    assert_eq!(editor.text(), "one two three");
}

#[test]
fn undo_steps_are_words() {
    let mut editor = Editor::new();
    "one two  three".chars().for_each(|c| editor.type_char(c));
    let mut texts = Vec::new();
    while !editor.is_empty() {
        act(&mut editor, &[Edit::Undo]);
        texts.push(editor.text().to_owned());
    }
    assert_eq!(texts, ["one two  ", "one ", ""]);
    act(&mut editor, &[Edit::Redo, Edit::Redo]);
    assert_eq!(editor.text(), "one two  ");
    editor.type_char('x');
    act(&mut editor, &[Edit::Redo]);
    assert_eq!(editor.text(), "one two  x");
    act(&mut editor, &[Edit::DeleteBack, Edit::DeleteBack, Edit::DeleteBack, Edit::Undo]);
    assert_eq!(editor.text(), "one two  x");
}

#[test]
fn vertical_movement_keeps_column() {
    let mut editor = with_text("a long line\nb\nanother line");
    act(&mut editor, &[Edit::RowUp]);
    insta::assert_snapshot!(drawn(&editor, 20), @"
    a long line
    b│
    another line
    ");
    act(&mut editor, &[Edit::RowUp]);
    insta::assert_snapshot!(drawn(&editor, 20), @"
    a long line│
    b
    another line
    ");
    assert_eq!(editor.apply_edit(Edit::RowUp, 20), EditOutcome::AtTop);
    act(&mut editor, &[Edit::RowDown, Edit::RowDown]);
    assert_eq!(editor.cursor(), editor.text().len());
    assert_eq!(editor.apply_edit(Edit::RowDown, 20), EditOutcome::AtBottom);
}

#[test]
fn sanitizes_text_from_outside() {
    let mut editor = Editor::new();
    editor.paste("a\r\nb\rc\u{1b}[31md\u{100000}", |_| false);
    assert_eq!(editor.text(), "a\nb\ncd\u{fffd}");
    let mut line = Editor::one_line();
    line.paste(&"x\n".repeat(20), |_| false);
    assert_eq!(line.text(), "x ".repeat(20));
    // The parts of an emoji arrive one by one.
    let mut typed = Editor::new();
    "👩\u{200d}🔬".chars().for_each(|c| typed.type_char(c));
    assert_eq!(typed.text(), "👩\u{200d}🔬");
    act(&mut typed, &[Edit::DeleteBack]);
    assert!(typed.is_empty());
    assert_eq!(typed.apply_edit(Edit::DeleteOrQuit, 20), EditOutcome::Empty);
}

#[test]
fn external_editor_may_move_images() {
    let mut editor = with_text("see ");
    editor.paste("/a.png", |_| true);
    assert!(editor.fold_images("/a.png", vec!["/a.png".into()]));
    editor.insert("and");
    editor.paste(&"x\n".repeat(11), |_| false);
    let text = editor.submission().text;
    assert_eq!(text, format!("see [image #1: a.png] and{}", "x\n".repeat(11).trim_end()));
    editor.set_edited("first [image #1: a.png]\nthen [image #1: a.png] [image #9: b.png]\n");
    let sent = editor.take();
    assert_eq!(sent.images, [Path::new("/a.png")]);
    assert_eq!(sent.text, "first [image #1: a.png]\nthen [image #1: a.png] [image #9: b.png]");
}

#[test]
fn restored_prompts_keep_their_atoms() {
    let mut editor = with_text("first ");
    editor.paste(&"x\n".repeat(11), |_| false);
    let first = editor.take();
    editor.insert("second ");
    editor.paste(&"y\n".repeat(12), |_| false);
    let second = editor.take();
    editor.insert("draft ");
    editor.paste(&"z\n".repeat(13), |_| false);
    editor.prepend_prompts([&first.content, &second.content]);
    insta::assert_snapshot!(drawn(&editor, 60), @"
    first [paste #1: 11 lines]

    second [paste #2: 12 lines]

    draft [paste #3: 13 lines]│
    ");
    let text = editor.take().text;
    assert!(text.contains("x\nx") && text.contains("y\ny") && text.contains("z\nz"), "{text}");
}
