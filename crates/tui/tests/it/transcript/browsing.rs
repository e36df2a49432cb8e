//! Tests of keyboard and mouse in the transcript.

use haft_tui::app::MouseKind;
use haft_tui::keys::Browse;
use haft_tui::transcript::{BrowseOutcome, SearchOutcome};
use ratatui_core::style::Modifier;

use super::{Shown, answers, called, said};

fn talk() -> Shown {
    let mut shown = Shown::new(30, 12);
    shown.event(&said("what is 日本?"));
    shown.events(&answers("first row\n\nsecond row"));
    shown.events(&called("bash", "{\"command\":\"ls\"}", "1\n2\n3\n4\n5\n6"));
    shown.draw();
    shown.transcript.start_browsing();
    shown
}

fn press(shown: &mut Shown, keys: &[Browse]) -> BrowseOutcome {
    let mut last = BrowseOutcome::Done;
    for key in keys {
        last = shown.transcript.handle_browse(*key);
    }
    last
}

fn cursor(shown: &mut Shown) -> Vec<String> {
    shown.draw();
    shown.styled(|cell| cell.add_modifier.contains(Modifier::REVERSED))
}

#[test]
fn cursor_moves_by_rows_and_graphemes() {
    use Browse::{Down, Left, LineEnd, LineStart, Right, Up};
    let mut shown = talk();
    assert_eq!(cursor(&mut shown), ["6"]);
    press(&mut shown, &[Up, Up, Up, Up, Up]);
    assert_eq!(cursor(&mut shown), ["b"]);
    press(&mut shown, &[LineStart]);
    assert_eq!(cursor(&mut shown), ["●"]);
    press(&mut shown, &[Right, Right]);
    assert_eq!(cursor(&mut shown), ["b"]);
    press(&mut shown, &[Up; 30]);
    assert_eq!(cursor(&mut shown), ["w"], "the cursor skips the frame");
    press(&mut shown, &[LineEnd, Left]);
    assert_eq!(cursor(&mut shown), ["本 "], "a wide grapheme is one cell");
    press(&mut shown, &[Right, Right]);
    assert_eq!(cursor(&mut shown), [" "], "over the end to the next row");
    press(&mut shown, &[Left, LineStart, Left, Down]);
    assert_eq!(cursor(&mut shown).len(), 1);
}

#[test]
fn copies_selection_without_frames() {
    use Browse::{Copy, Down, LineEnd, LineStart, Mark, MarkLines, Right, Up};
    let mut shown = talk();
    press(&mut shown, &[Up; 30]);
    press(&mut shown, &[LineStart, Right, Mark, Down, Down, LineEnd]);
    assert_eq!(shown.transcript.handle_browse(Copy), BrowseOutcome::Copy("hat is 日本?\n\nfirst row".into()));
    assert_eq!(
        shown.transcript.handle_browse(Copy),
        BrowseOutcome::Copy("first row\n\nsecond row".into()),
        "the message"
    );
    press(&mut shown, &[Up; 30]);
    press(&mut shown, &[MarkLines]);
    assert_eq!(shown.transcript.handle_browse(Copy), BrowseOutcome::Copy("what is 日本?".into()));
    press(&mut shown, &[Mark, Mark]);
    assert_eq!(
        shown.transcript.handle_browse(Copy),
        BrowseOutcome::Copy("what is 日本?".into()),
        "no selection: the message"
    );
    press(&mut shown, &[Down; 30]);
    assert_eq!(shown.transcript.handle_browse(Copy), BrowseOutcome::Copy("bash ls\n1\n2\n3\n4\n5\n6".into()));
}

#[test]
fn unfolds_one_call() {
    let mut shown = talk();
    assert!(!shown.draw().contains("  1"));
    press(&mut shown, &[Browse::Expand]);
    assert!(shown.draw().contains("  1\n  2"));
    press(&mut shown, &[Browse::Expand]);
    assert!(!shown.draw().contains("  1"));
}

#[test]
fn view_follows_cursor_and_returns() {
    let mut shown = Shown::new(30, 6);
    shown.events(&answers(&(0..30).map(|row| format!("row {row}\n\n")).collect::<String>()));
    let before = shown.draw();
    shown.transcript.start_browsing();
    assert_eq!(shown.draw(), before, "nothing moves");
    press(&mut shown, &[Browse::Up; 20]);
    let rows = shown.rows();
    assert_eq!(rows[0], "row 19");
    assert_eq!(cursor(&mut shown), ["r"]);
    press(&mut shown, &[Browse::Down; 7]);
    assert_eq!(cursor(&mut shown).len(), 1);
    assert_eq!(press(&mut shown, &[Browse::Close]), BrowseOutcome::Leave);
    assert_eq!(shown.draw(), before);
    assert_eq!(press(&mut shown, &[Browse::Up]), BrowseOutcome::Leave, "the editor has the focus");
}

#[test]
fn moves_to_matches() {
    let mut shown = Shown::new(30, 6);
    shown.events(&answers(&(0..30).map(|row| format!("row {row}\n\n")).collect::<String>()));
    shown.draw();
    assert_eq!(shown.transcript.search("row 1"), SearchOutcome::Match);
    shown.transcript.start_browsing();
    press(&mut shown, &[Browse::PreviousMatch, Browse::PreviousMatch]);
    assert!(shown.draw().contains("row 17"));
    press(&mut shown, &[Browse::NextMatch]);
    press(&mut shown, &[Browse::Mark, Browse::LineEnd]);
    assert_eq!(press(&mut shown, &[Browse::Copy]), BrowseOutcome::Copy("row 18".into()));
}

#[test]
fn mouse_selects_text() {
    let mut shown = talk();
    press(&mut shown, &[Browse::Close]);
    shown.draw();
    assert_eq!(shown.transcript.handle_mouse(MouseKind::Press, 0, 0), None);
    assert_eq!(shown.transcript.handle_mouse(MouseKind::Drag, 3, 2), None);
    shown.draw();
    let ground = shown.theme.style(haft_tui::theme::Role::Selection).bg;
    assert_eq!(shown.styled(|cell| cell.bg == ground), ["what is 日 本 ?", " ", "firs"]);
    assert_eq!(shown.transcript.handle_mouse(MouseKind::Release, 3, 2), Some("what is 日本?\n\nfirs".into()));
    assert_eq!(shown.transcript.handle_mouse(MouseKind::Release, 3, 2), None);
    // A click on the row of a call unfolds it; a click elsewhere does nothing.
    let row = shown.rows().iter().position(|row| row.contains("bash")).unwrap();
    shown.transcript.handle_mouse(MouseKind::Press, 3, u16::try_from(row).unwrap());
    shown.transcript.handle_mouse(MouseKind::Release, 3, u16::try_from(row).unwrap());
    assert!(shown.draw().contains("  1\n  2"));
    shown.transcript.handle_mouse(MouseKind::WheelUp, 0, 0);
    shown.transcript.handle_mouse(MouseKind::WheelDown, 0, 0);
    shown.transcript.handle_mouse(MouseKind::Press, 500, 500);
    shown.transcript.handle_mouse(MouseKind::Drag, 500, 500);
    shown.transcript.handle_mouse(MouseKind::Release, 500, 500);
}
