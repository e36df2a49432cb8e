//! Checks frames of the inline mode, at the end of the normal screen below printed text.

use super::{TerminalAction, leaves_color};

/// Checks a frame: `Begin Hide? (redraw | changes)? cursor? End`.
///
/// Cursor moves are relative, so only their distance is checked: the cursor must not leave the drawn rows, which are
/// the only rows that belong to haft.
pub(super) fn check_inline_frame(
    deeds: &[TerminalAction],
    columns: u16,
    rows: u16,
    before: u16,
) -> Vec<String> {
    if deeds.is_empty() {
        return Vec::new();
    }
    let [TerminalAction::Begin, inner @ .., TerminalAction::End] = deeds else {
        return vec!["not exactly one frame".to_owned()];
    };
    let inner = inner.strip_prefix(&[TerminalAction::Hide]).unwrap_or(inner);
    let (inner, shown) = match inner {
        [inner @ .., TerminalAction::Unhide] => (inner, true),
        inner => (inner, false),
    };
    let mut found = match inner {
        [TerminalAction::Return, rest @ ..] => check_full_redraw(rest, shown, columns, rows, before),
        changes => check_changes(changes, columns, rows),
    };
    found.extend(leaves_color(inner));
    found
}

/// Returns the defects of the text that removes the drawn rows: `Begin Return Up? Pen ClearBelow End`, or nothing
/// without drawn rows.
pub(super) fn check_removal(deeds: &[TerminalAction], before: u16) -> Vec<String> {
    let rest = match deeds {
        [] => return Vec::new(),
        [TerminalAction::Begin, TerminalAction::Return, TerminalAction::Up(up), rest @ ..]
            if (1..before).contains(up) =>
        {
            rest
        }
        [TerminalAction::Begin, TerminalAction::Return, rest @ ..] => rest,
        _ => &[],
    };
    let fits = rest == [TerminalAction::Pen(true), TerminalAction::ClearBelow, TerminalAction::End];
    if fits { Vec::new() } else { vec!["not exactly one removal".to_owned()] }
}

/// Checks `Up? Pen (ClearRow cells Return Newline)* ClearBelow cells Return`, followed by the position of a visible
/// cursor.
fn check_full_redraw(
    deeds: &[TerminalAction],
    shown: bool,
    columns: u16,
    rows: u16,
    before: u16,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = match deeds {
        [TerminalAction::Up(up), rest @ ..] => {
            found.extend(
                (!(1..before).contains(up))
                    .then(|| format!("{up} rows up, but only {before} rows are drawn")),
            );
            rest
        }
        rest => rest,
    };
    rest = rest.strip_prefix(&[TerminalAction::Pen(true)]).unwrap_or_else(|| {
        found.push("text before the style is reset".to_owned());
        rest
    });
    let mut ended = 0;
    while let [TerminalAction::ClearRow, after @ ..] = rest {
        let cells = after.iter().take_while(|deed| is_cell(deed)).count();
        let Some([TerminalAction::Return, TerminalAction::Newline, after @ ..]) = after.get(cells..) else {
            found.push("a row without a line end".to_owned());
            return found;
        };
        (rest, ended) = (after, ended + 1);
    }
    let last = match rest {
        [TerminalAction::ClearBelow, after @ ..] => after,
        other => {
            found.push(format!("{:?} at the beginning of a row", other.first()));
            return found;
        }
    };
    let cells = last.iter().take_while(|deed| is_cell(deed)).count();
    let moves = match last.get(cells..) {
        Some([TerminalAction::Return, moves @ ..]) => moves,
        other => {
            found.push(format!("{other:?} in the last row"));
            return found;
        }
    };
    found.extend((ended + 1 < usize::from(rows)).then(|| format!("{} rows instead of {rows}", ended + 1)));
    let fits = match moves {
        [] => !shown,
        [TerminalAction::Up(up), TerminalAction::Column(column)] => {
            shown && *up < rows && (1..=columns).contains(column)
        }
        [TerminalAction::Column(column)] => shown && (1..=columns).contains(column),
        _ => false,
    };
    found.extend((!fits).then(|| format!("{moves:?} at the end")));
    found
}

/// Checks `((Up | Down)? Column cells)* Return?`, followed by the position of a visible cursor, which is such a move,
/// too.
fn check_changes(deeds: &[TerminalAction], columns: u16, rows: u16) -> Vec<String> {
    let mut found = Vec::new();
    let (mut row, mut top, mut bottom) = (0_i32, 0, 0);
    let (mut begun, mut ended) = (false, false);
    for deed in deeds {
        if let TerminalAction::Up(up) = deed {
            row -= i32::from(*up);
        } else if let TerminalAction::Down(down) = deed {
            row += i32::from(*down);
        } else if let TerminalAction::Column(column) = deed {
            found.extend(
                (!(1..=columns).contains(column))
                    .then(|| format!("cursor to column {column}, outside the screen")),
            );
            begun = true;
        } else if *deed == TerminalAction::Return && !ended {
            ended = true;
        } else if ended || !begun || !is_cell(deed) {
            // After the return, only the cursor moves.
            found.push(format!("{deed:?} at an unknown position"));
        }
        (top, bottom) = (row.min(top), row.max(bottom));
    }
    let most = i32::from(rows) - 1;
    found.extend(
        (bottom - top > most)
            .then(|| format!("moves over {} rows, but only {rows} rows are drawn", bottom - top + 1)),
    );
    found
}

fn is_cell(deed: &TerminalAction) -> bool {
    matches!(deed, TerminalAction::Show | TerminalAction::Pen(_) | TerminalAction::Other(_))
}
