//! The terminal actions that haft's own output may cause: a list of functions by final byte, parameters and position.
//! Any other action is reported, and so is a listed function in a position where haft does not write it.

mod inline;
mod pictures;

use super::is_deceptive;

/// The kind of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// Nothing, or one frame of the interactive mode on a screen of this many columns and rows.
    Frame(u16, u16),
    /// Like `Frame`, on a terminal that shows images, with some images.
    Pictures(u16, u16),
    /// Nothing, or one frame of the inline mode at the end of the normal screen: printed rows and the drawn rows below
    /// them.
    Inline {
        /// The columns of the screen.
        columns: u16,
        /// The rows that are drawn.
        rows: u16,
        /// The rows that were drawn before.
        before: u16,
    },
    /// The text that removes this many drawn rows of the inline mode.
    InlineRemoval(u16),
    /// Rows for the normal screen, each with a line end.
    Rows,
    /// Lines of plain text without any function.
    Lines,
    /// The window's title.
    Title,
    /// Text for the clipboard, plain or wrapped for tmux.
    Clipboard,
}

/// Returns the actions of a terminal that this kind of output must not cause; nothing for correct output.
pub fn forbidden_actions(bytes: &[u8], written: OutputKind) -> Vec<String> {
    match written {
        OutputKind::Lines => return check_lines(bytes),
        OutputKind::Pictures(columns, rows) => {
            let (others, mut found) = pictures::remove_images(bytes);
            found.extend(forbidden_actions(&others, OutputKind::Frame(columns, rows)));
            return found;
        }
        OutputKind::Frame(..) | OutputKind::Inline { .. } | OutputKind::InlineRemoval(_) => {}
        OutputKind::Rows | OutputKind::Title | OutputKind::Clipboard => {}
    }
    let (mut parser, mut heard) = (vte::Parser::new(), ActionLog::default());
    parser.advance(&mut heard, bytes);
    let ActionLog { mut deeds, shown } = heard;
    let mut found = match written {
        OutputKind::Frame(columns, rows) => check_frame(&deeds, columns, rows),
        OutputKind::Inline { columns, rows, before } => {
            inline::check_inline_frame(&deeds, columns, rows, before)
        }
        OutputKind::InlineRemoval(before) => inline::check_removal(&deeds, before),
        OutputKind::Rows => check_rows(&deeds),
        OutputKind::Title => check_title(&deeds, bytes),
        OutputKind::Clipboard => check_clipboard(&deeds),
        OutputKind::Pictures(..) | OutputKind::Lines => Vec::new(),
    };
    found.extend(deeds.iter().filter_map(TerminalAction::always_forbidden));
    let has_pens = matches!(
        written,
        OutputKind::Frame(..) | OutputKind::Inline { .. } | OutputKind::InlineRemoval(_) | OutputKind::Rows
    );
    if has_pens {
        // A parser drops a sequence that the next one interrupts, so escapes are counted separately.
        let escapes = bytes.iter().filter(|byte| **byte == 0x1b).count();
        let functions = deeds.iter().filter(|deed| deed.is_function()).count();
        found.extend((escapes != functions).then(|| "an escape without a sequence".to_owned()));
    }
    found.extend(bytes.contains(&0x7f).then(|| "execute 0x7f".to_owned()));
    found.extend(is_deceptive(&shown).then(|| "deceive the reader".to_owned()));
    // After an unfinished sequence, this character would not be shown.
    let before = deeds.len();
    let mut heard = ActionLog { deeds: std::mem::take(&mut deeds), shown: String::new() };
    parser.advance(&mut heard, b"X");
    found.extend(
        (heard.shown != "X" || heard.deeds.len() > before + 1).then(|| "swallow the following text".into()),
    );
    found
}

/// One action of a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
enum TerminalAction {
    /// Shows characters.
    Show,
    /// A synchronized update begins or ends.
    Begin,
    End,
    /// The cursor is hidden or shown.
    Hide,
    Unhide,
    /// The screen, the part below the cursor, or the rest of the row is cleared.
    Clear,
    ClearBelow,
    ClearRow,
    /// The cursor goes to a row and a column, counted from 1.
    Go(u16, u16),
    /// The cursor goes up or down by rows, or to a column counted from 1.
    Up(u16),
    Down(u16),
    Column(u16),
    /// The style of the following text; true for the default style.
    Pen(bool),
    /// `\r`
    Return,
    /// `\n`
    Newline,
    /// An operating system command: its parameters, and true if BEL ended it.
    Command(Vec<Vec<u8>>, bool),
    /// `ESC \`
    Terminator,
    /// A pass-through sequence for tmux, byte by byte.
    Pass,
    Passed(u8),
    /// Any other action.
    Other(String),
}

impl TerminalAction {
    /// True for the control sequences on the list.
    fn is_function(&self) -> bool {
        match self {
            Self::Begin
            | Self::End
            | Self::Hide
            | Self::Unhide
            | Self::Clear
            | Self::ClearBelow
            | Self::ClearRow
            | Self::Go(..)
            | Self::Up(_)
            | Self::Down(_)
            | Self::Column(_)
            | Self::Pen(_) => true,
            Self::Show | Self::Return | Self::Newline | Self::Command(..) | Self::Terminator => false,
            Self::Pass | Self::Passed(_) | Self::Other(_) => false,
        }
    }

    /// Returns an action that is never allowed.
    fn always_forbidden(&self) -> Option<String> {
        if let Self::Other(what) = self { Some(what.clone()) } else { None }
    }
}

#[derive(Default)]
struct ActionLog {
    deeds: Vec<TerminalAction>,
    /// The text, with a blank where the cursor moves.
    shown: String,
}

impl ActionLog {
    fn push_action(&mut self, deed: TerminalAction) {
        if self.deeds.len() < 100_000 {
            self.deeds.push(deed);
        }
        self.shown.push(' ');
    }
}

impl vte::Perform for ActionLog {
    fn print(&mut self, c: char) {
        if c.is_control() {
            self.push_action(TerminalAction::Other(format!("execute {c:?}")));
            return;
        }
        self.shown.push(c);
        if self.deeds.last() != Some(&TerminalAction::Show) {
            self.deeds.push(TerminalAction::Show);
        }
    }

    fn execute(&mut self, byte: u8) {
        self.push_action(match byte {
            b'\r' => TerminalAction::Return,
            b'\n' => TerminalAction::Newline,
            byte => TerminalAction::Other(format!("execute {byte:#04x}")),
        });
    }

    fn csi_dispatch(&mut self, params: &vte::Params, intermediates: &[u8], ignored: bool, action: char) {
        let mut numbers = [0_u16; 24];
        let mut count = 0;
        let mut simple = !ignored;
        for param in params {
            match (param, numbers.get_mut(count)) {
                ([number], Some(place)) => *place = *number,
                _ => simple = false,
            }
            count += 1;
        }
        let numbers = numbers.get(..count).unwrap_or_default();
        let deed = match (intermediates, numbers, action) {
            _ if !simple => None,
            (b"?", [2026], 'h') => Some(TerminalAction::Begin),
            (b"?", [2026], 'l') => Some(TerminalAction::End),
            (b"?", [25], 'l') => Some(TerminalAction::Hide),
            (b"?", [25], 'h') => Some(TerminalAction::Unhide),
            (b"", [2], 'J') => Some(TerminalAction::Clear),
            (b"", [0], 'J') => Some(TerminalAction::ClearBelow),
            (b"", [0], 'K') => Some(TerminalAction::ClearRow),
            (b"", [rows], 'A') => Some(TerminalAction::Up(*rows)),
            (b"", [rows], 'B') => Some(TerminalAction::Down(*rows)),
            (b"", [column], 'G') => Some(TerminalAction::Column(*column)),
            (b"", [row, column], 'H') => Some(TerminalAction::Go(*row, *column)),
            (b"", [0, rest @ ..], 'm') if is_pen(rest) => Some(TerminalAction::Pen(rest.is_empty())),
            _ => None,
        };
        self.push_action(
            deed.unwrap_or_else(|| TerminalAction::Other(format!("control sequence {numbers:?} {action}"))),
        );
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        self.push_action(match (intermediates, byte) {
            ([], b'\\') => TerminalAction::Terminator,
            _ => TerminalAction::Other(format!("escape {:?}", char::from(byte))),
        });
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], bell: bool) {
        self.push_action(TerminalAction::Command(params.iter().map(|param| param.to_vec()).collect(), bell));
    }

    fn hook(&mut self, params: &vte::Params, intermediates: &[u8], _: bool, action: char) {
        let plain = intermediates.is_empty() && params.iter().all(|param| param == [0]);
        self.push_action(match action {
            't' if plain => TerminalAction::Pass,
            action => TerminalAction::Other(format!("device control {action}")),
        });
    }

    fn put(&mut self, byte: u8) {
        self.push_action(TerminalAction::Passed(byte));
    }
}

/// True if these are modifiers in order, then a foreground color, then a background color, each at most once.
fn is_pen(mut numbers: &[u16]) -> bool {
    let mut before = 0;
    while let [modifier @ 1..=9, rest @ ..] = numbers {
        if *modifier <= before {
            return false;
        }
        (before, numbers) = (*modifier, rest);
    }
    without_color(without_color(numbers, 30), 40).is_empty()
}

/// Returns the numbers after the color, if there is one.
fn without_color(numbers: &[u16], base: u16) -> &[u16] {
    match numbers {
        [special, 2, 0..=255, 0..=255, 0..=255, rest @ ..] if *special == base + 8 => rest,
        [special, 5, 0..=255, rest @ ..] if *special == base + 8 => rest,
        [plain, rest @ ..] if (base..base + 8).contains(plain) => rest,
        [bright, rest @ ..] if (base + 60..base + 68).contains(bright) => rest,
        numbers => numbers,
    }
}

/// Checks a frame: `Begin Hide? (Pen Clear)? cells (Go Unhide)? End`.
fn check_frame(deeds: &[TerminalAction], columns: u16, rows: u16) -> Vec<String> {
    let [TerminalAction::Begin, inner @ .., TerminalAction::End] = deeds else {
        let what = if deeds.is_empty() { None } else { Some("not exactly one frame".to_owned()) };
        return what.into_iter().collect();
    };
    let inner = inner.strip_prefix(&[TerminalAction::Hide]).unwrap_or(inner);
    let inner = inner.strip_prefix(&[TerminalAction::Pen(true), TerminalAction::Clear]).unwrap_or(inner);
    let cells = match inner {
        [cells @ .., TerminalAction::Go(..), TerminalAction::Unhide] => cells,
        cells => cells,
    };
    let inside = |row: u16, column: u16| (1..=rows).contains(&row) && (1..=columns).contains(&column);
    let mut found: Vec<String> = Vec::new();
    for deed in inner {
        if let TerminalAction::Go(row, column) = deed
            && !inside(*row, *column)
        {
            found.push(format!("cursor to row {row}, column {column}, outside the screen"));
        }
    }
    for deed in cells {
        if !matches!(
            deed,
            TerminalAction::Show | TerminalAction::Go(..) | TerminalAction::Pen(_) | TerminalAction::Other(_)
        ) {
            found.push(format!("{deed:?} between cells"));
        }
    }
    // The text must begin at a known position and reset its colors.
    let begins = matches!(cells.first(), None | Some(TerminalAction::Go(..)));
    found.extend((!begins).then(|| "cells at an unknown position".to_owned()));
    found.extend(leaves_color(cells));
    found
}

/// Returns an error if the style is not reset at the end.
fn leaves_color(deeds: &[TerminalAction]) -> Option<String> {
    let last = deeds.iter().rev().find(|deed| matches!(deed, TerminalAction::Pen(_)));
    (last == Some(&TerminalAction::Pen(false))).then(|| "leave a color".to_owned())
}

/// Checks rows: letters and pens, with `\r
/// ` at the end of each row.
fn check_rows(deeds: &[TerminalAction]) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = deeds;
    while let [deed, after @ ..] = rest {
        rest = match (deed, after) {
            (TerminalAction::Return, [TerminalAction::Newline, after @ ..]) => after,
            (TerminalAction::Show | TerminalAction::Pen(_) | TerminalAction::Other(_), after) => after,
            (deed, after) => {
                found.push(format!("{deed:?} between rows"));
                after
            }
        };
    }
    let whole = deeds.is_empty() || deeds.ends_with(&[TerminalAction::Return, TerminalAction::Newline]);
    found.extend((!whole).then(|| "a row without a line end".to_owned()));
    found
}

/// Checks lines: text, tabs, and a newline at the end of each. Checks bytes, because parsers skip some of them.
fn check_lines(bytes: &[u8]) -> Vec<String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return vec!["invalid UTF-8".to_owned()] };
    let controls = text.chars().filter(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    let mut found: Vec<String> = controls.map(|c| format!("execute {c:?}")).collect();
    found.extend(text.lines().any(is_deceptive).then(|| "deceive the reader".to_owned()));
    found.extend((!text.is_empty() && !text.ends_with('\n')).then(|| "a row without a line end".to_owned()));
    found
}

/// Checks a title: only the command, with a text in it. Checks bytes, because parsers skip parts of a command.
fn check_title(deeds: &[TerminalAction], bytes: &[u8]) -> Vec<String> {
    let is_one = matches!(deeds, [TerminalAction::Command(..), TerminalAction::Terminator]);
    let text = bytes.strip_prefix(b"\x1b]2;").and_then(|rest| rest.strip_suffix(b"\x1b\\"));
    let wrong = match text.filter(|_| is_one).map(std::str::from_utf8) {
        None => "not exactly one title",
        Some(Err(_)) => "a title with invalid UTF-8",
        Some(Ok(text)) if text.contains(char::is_control) => "a control character in a title",
        Some(Ok(text)) if is_deceptive(text) => "a deceptive title",
        Some(Ok(_)) => return Vec::new(),
    };
    vec![wrong.to_owned()]
}

fn check_clipboard(deeds: &[TerminalAction]) -> Vec<String> {
    let is_base64 = |text: &[u8]| text.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(b));
    let is_text = |deed: &TerminalAction, bell: bool| {
        let TerminalAction::Command(params, ended) = deed else { return false };
        let [number, place, text] = params.as_slice() else { return false };
        *ended == bell && number == b"52" && place == b"c" && is_base64(text)
    };
    let wrap = [
        TerminalAction::Pass,
        TerminalAction::Passed(b'm'),
        TerminalAction::Passed(b'u'),
        TerminalAction::Passed(b'x'),
        TerminalAction::Passed(b';'),
    ];
    let fits = match deeds {
        [plain, TerminalAction::Terminator] => is_text(plain, false),
        [plain, TerminalAction::Terminator, wrapped @ .., again, TerminalAction::Terminator] => {
            wrapped == wrap && is_text(plain, false) && is_text(again, true)
        }
        _ => false,
    };
    if fits { Vec::new() } else { vec!["not exactly one text for the clipboard".to_owned()] }
}

#[cfg(test)]
mod tests;
