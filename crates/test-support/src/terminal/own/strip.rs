//! Drawings at the end of the terminal's own screen, below printed text.

use super::{TerminalAction, leaves_color};

/// A frame: `Begin Hide? (anew | changes)? cursor? End`.
///
/// The cursor is found from where it was, so what counts is how far it goes: never above the rows that were drawn, which
/// are all that is haft's.
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
        return vec!["not one frame".to_owned()];
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

/// Returns the defects of the text that takes the rows away: `Begin Return Up? Pen ClearBelow End`; nothing where none
/// are.
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
    if fits { Vec::new() } else { vec!["not one farewell".to_owned()] }
}

/// `Up? Pen (ClearRow cells Return Newline)* ClearBelow cells Return`, and then where the cursor is seen.
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
            found.extend((!(1..before).contains(up)).then(|| format!("{up} rows up, of {before}")));
            rest
        }
        rest => rest,
    };
    rest = rest.strip_prefix(&[TerminalAction::Pen(true)]).unwrap_or_else(|| {
        found.push("in any colour".to_owned());
        rest
    });
    let mut ended = 0;
    while let [TerminalAction::ClearRow, after @ ..] = rest {
        let cells = after.iter().take_while(|deed| is_cell(deed)).count();
        let Some([TerminalAction::Return, TerminalAction::Newline, after @ ..]) = after.get(cells..) else {
            found.push("a row without an end".to_owned());
            return found;
        };
        (rest, ended) = (after, ended + 1);
    }
    let last = match rest {
        [TerminalAction::ClearBelow, after @ ..] => after,
        other => {
            found.push(format!("{:?} where a row begins", other.first()));
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
    found.extend((ended + 1 < usize::from(rows)).then(|| format!("{} rows, not {rows}", ended + 1)));
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

/// `((Up | Down)? Column cells)* Return?`, and then where the cursor is seen, which is such a move, too.
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
            found.extend((!(1..=columns).contains(column)).then(|| format!("to column {column}")));
            begun = true;
        } else if *deed == TerminalAction::Return && !ended {
            ended = true;
        } else if ended || !begun || !is_cell(deed) {
            // Behind the return is but the way of the cursor.
            found.push(format!("{deed:?}, nobody knows where"));
        }
        (top, bottom) = (row.min(top), row.max(bottom));
    }
    let most = i32::from(rows) - 1;
    found.extend((bottom - top > most).then(|| format!("over {} rows, of {rows}", bottom - top + 1)));
    found
}

fn is_cell(deed: &TerminalAction) -> bool {
    matches!(deed, TerminalAction::Show | TerminalAction::Pen(_) | TerminalAction::Other(_))
}
