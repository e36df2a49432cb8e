//! Questions for the person.
//!
//! The frame names the asker: haft, or an extension. Only haft asks questions that grant something, in a frame of its
//! own color. Such a dialog shows all that a yes allows: hidden rows are counted and can be scrolled to, and no
//! character stays invisible. The safe answer is chosen at first.
//!
//! Invariant: a dialog that grants something accepts a key only after it was readable on the screen, without any
//! input, for 300 ms. Every earlier key and paste is ignored and restarts the 300 ms. So a person who types while the
//! dialog appears never answers it. A dialog counts as visible once the terminal has taken its frame. Enforced by
//! `dialog/quiet.rs` and `tests/it/dialog/answers.rs`.
//!
//! Invariant: an answer that grants something counts only after the end of the text was visible for the same time.
//! Until then its keys scroll. Enforced by `dialog/body.rs` and `tests/it/dialog/reading.rs`.

mod body;
mod call;
mod choices;
mod preview;
mod question;
mod quiet_period;
mod view;

use std::time::{Duration, Instant};

use haft_core::tool::QUOTE_MARK;
use haft_protocol::content::{CallPreview, ToolCall};
use haft_protocol::rpc::UiAnswer;

use body::DialogBody;
use call::LineMark;
use choices::ChoiceList;
use quiet_period::{KeyHint, QuietPeriod, TimedHint};

use crate::clean::{CleanLine, CleanText};
use crate::field::TextField;
use crate::keys::{Action, Chord, Confirm, Context, Edit, KeyPress};
use crate::timeouts::{COUNTDOWN, FLASH, QUIT_AGAIN, SLOW_FRAME};
use crate::transcript::linear::wrap_rows;

/// The line that ends a text of several lines.
const END: &str = ".";

/// The line that closes the question.
const CLOSE: &str = ":close";

/// The kind of answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerKind {
    /// Yes or no.
    Confirm,
    /// One of these choices.
    Select(Vec<String>),
    /// The decision about a gate that keeps failing: a subset of `restart`, `continue_without` and `stop`.
    Gate(Vec<String>),
    /// A line. A secret is hidden while it is typed.
    Input {
        /// True if the screen must not show it.
        secret: bool,
    },
    /// A text of several lines, with this initial text.
    Editor(String),
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The extension that asks, if any.
    pub owner: Option<String>,
    /// The kind of answer.
    pub wanted: AnswerKind,
    /// A line.
    pub title: String,
    /// Details.
    pub message: String,
    /// The call that a yes allows, exactly.
    pub call: Option<ToolCall>,
    /// The change that the call makes, if it is known.
    pub preview: Option<CallPreview>,
    /// True if the answer grants something. The dialog is then drawn where no extension can draw, and ignores keys
    /// that were typed before it was visible.
    pub grants: bool,
    /// The text in the field of an answer while it is empty.
    pub placeholder: Option<String>,
    /// The time until the question closes without an answer.
    pub within: Option<Duration>,
    /// The answer that is used without an answer of the person, for display.
    pub default: Option<String>,
}

/// An open question.
#[derive(Debug)]
pub struct Dialog {
    question: Question,
    opened: Instant,
    body: DialogBody,
    control: AnswerControl,
    quiet: QuietPeriod,
    /// The last frame: whether it was readable, and when drawing began.
    drawn: Option<(bool, Instant)>,
    hint: Option<TimedHint>,
    screen: ScreenUse,
    /// The lines typed so far, in linear mode.
    lines: String,
}

/// The control that takes the answer.
#[derive(Debug)]
enum AnswerControl {
    Choices(ChoiceList),
    Field(Box<TextField>),
}

/// The use of the screen by a dialog with a long text.
#[derive(Debug, Clone, Copy, Default)]
struct ScreenUse {
    /// True if the text does not fit beside the conversation.
    is_long: bool,
    /// The choice of the person, if any: the whole screen, or the conversation beside the dialog.
    fills: Option<bool>,
}

/// The outcome of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogKeyOutcome {
    /// No answer yet.
    Open,
    /// The answer.
    Answered(UiAnswer),
    /// The person denies the call and stops the turn.
    StopTurn,
    /// The text to open in the person's own editor. [`Dialog::apply_edited_text`] receives the result.
    OpenEditor(String),
}

/// The outcome of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedLineOutcome {
    /// The answer.
    Answered(UiAnswer),
    /// The answer continues on the next line.
    More,
    /// The line was typed before the question was visible long enough, so it is not an answer.
    TooEarly,
    /// The line is not an answer to this question.
    Unclear,
}

impl Dialog {
    /// Opens a dialog.
    pub fn open(question: Question, now: Instant) -> Self {
        let control = match (ChoiceList::from_question(&question), &question.wanted) {
            (Some(choices), _) => AnswerControl::Choices(choices),
            (None, AnswerKind::Editor(text)) => AnswerControl::Field(Box::new(TextField::multi_line(text))),
            (None, wanted) => AnswerControl::Field(Box::new(TextField::single_line(
                "",
                *wanted == AnswerKind::Input { secret: true },
            ))),
        };
        Self {
            question,
            opened: now,
            body: DialogBody::default(),
            control,
            quiet: QuietPeriod::default(),
            drawn: None,
            hint: None,
            screen: ScreenUse::default(),
            lines: String::new(),
        }
    }

    /// The question.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Handles a key.
    pub fn key(&mut self, press: &KeyPress, now: Instant) -> DialogKeyOutcome {
        let before = self.hint.take();
        if self.is_too_early(now) {
            return DialogKeyOutcome::Open;
        }
        let context =
            if self.question.wanted == AnswerKind::Confirm { Context::Confirm } else { Context::Dialog };
        let chord = press.chord();
        match press.action(context) {
            Some(Action::Dialog(crate::keys::Dialog::Close)) => return self.close(before, now),
            Some(Action::Dialog(action)) => return self.perform_action(action, chord),
            Some(Action::Confirm(Confirm::Yes)) => {
                return self.accept_or_scroll(UiAnswer::Confirmed(true), true);
            }
            Some(Action::Confirm(Confirm::No)) => {
                return self.accept_or_scroll(UiAnswer::Confirmed(false), false);
            }
            Some(Action::Confirm(Confirm::Other)) => self.next(chord),
            Some(Action::Confirm(Confirm::ReadOn)) => self.body.scroll_page(true),
            Some(Action::Confirm(Confirm::First)) => self.body.jump_to_edge(false),
            Some(Action::Confirm(Confirm::Last)) => self.body.jump_to_edge(true),
            Some(Action::Confirm(Confirm::LineUp)) => self.body.scroll_rows(-1),
            Some(Action::Confirm(Confirm::LineDown)) => self.body.scroll_rows(1),
            Some(Action::Confirm(Confirm::View)) => self.screen.fills = Some(!self.fills_screen()),
            other => self.handle_typed_key(chord, other, now),
        }
        DialogKeyOutcome::Open
    }

    fn perform_action(&mut self, action: crate::keys::Dialog, chord: Chord) -> DialogKeyOutcome {
        use crate::keys::Dialog as Key;
        match action {
            Key::Close => {}
            Key::Accept => return self.submit_answer(),
            Key::OpenEditor => return self.open_external_editor(),
            Key::PageDown => self.body.scroll_page(true),
            Key::PageUp => self.body.scroll_page(false),
            Key::Next => self.next(chord),
            Key::Previous => self.previous(chord),
        }
        DialogKeyOutcome::Open
    }

    /// Closes the dialog. A question about a call asks for a second press, which stops the turn.
    fn close(&mut self, before: Option<TimedHint>, now: Instant) -> DialogKeyOutcome {
        if !self.question.is_approval() {
            return DialogKeyOutcome::Answered(UiAnswer::Cancelled);
        }
        if before.is_some_and(|before| before.hint == KeyHint::StopAgain && now <= before.until) {
            return DialogKeyOutcome::StopTurn;
        }
        self.hint = Some(TimedHint { hint: KeyHint::StopAgain, until: now + QUIT_AGAIN });
        DialogKeyOutcome::Open
    }

    /// True if the dialog uses the whole screen. A diff does so unless the person wants to see the conversation.
    pub fn fills_screen(&self) -> bool {
        let ScreenUse { is_long, fills } = self.screen;
        is_long && fills.unwrap_or(self.question.whole_diff().is_some())
    }

    /// Scrolls the text by rows: down, or up if `rows` is negative.
    pub fn scroll_rows(&mut self, rows: isize) {
        self.body.scroll_rows(rows);
    }

    /// Handles pasted text.
    pub fn paste(&mut self, text: &str, now: Instant) {
        self.hint = None;
        if self.is_too_early(now) {
            return;
        }
        if let AnswerControl::Field(field) = &mut self.control {
            field.paste(text);
        }
    }

    /// True if the input was typed too early to be meant for this dialog.
    fn is_too_early(&mut self, now: Instant) -> bool {
        let early = self.question.grants && !self.quiet.accepts_key(now);
        self.hint = early.then_some(TimedHint { hint: KeyHint::Early, until: now + FLASH });
        early
    }

    /// Records that the terminal has taken the frame with this dialog.
    pub fn mark_drawn(&mut self, now: Instant) {
        let Some((is_readable, begun)) = self.drawn.take() else { return };
        self.quiet.mark_drawn(is_readable, now);
        let takes_long = now.saturating_duration_since(begun) >= SLOW_FRAME;
        // After a slow frame, the keys that are read now may have been typed during it. Keys that scrolled to the end
        // are not answers either.
        if (is_readable && self.body.mark_drawn()) || takes_long {
            self.quiet.restart(now);
        }
    }

    /// Records that the dialog is not visible until it is drawn again.
    pub fn mark_hidden(&mut self) {
        self.drawn = None;
        self.quiet.mark_hidden();
    }

    fn may_grant(&self) -> bool {
        !self.question.grants || self.body.is_fully_read()
    }

    /// Takes the text from the person's own editor.
    pub fn apply_edited_text(&mut self, text: &str) {
        if let AnswerControl::Field(field) = &mut self.control {
            field.editor.set_edited(text);
        }
    }

    /// Returns the time of the next visible change: the countdown continues, or a hint expires.
    pub fn wakes_at(&self, now: Instant) -> Option<Instant> {
        let hint = self.hint.as_ref().map(|hinted| hinted.until).filter(|until| *until > now);
        [self.counts_down_at(now), hint].into_iter().flatten().min()
    }

    fn counts_down_at(&self, now: Instant) -> Option<Instant> {
        let left = self.seconds_left(now)?;
        // The displayed number is rounded up.
        let shown_next = left.saturating_sub(1);
        (left > 0).then(|| self.expires_at()?.checked_sub(COUNTDOWN * shown_next)).flatten()
    }

    fn expires_at(&self) -> Option<Instant> {
        self.question.within.and_then(|within| self.opened.checked_add(within))
    }

    /// Returns the number of seconds left, rounded up.
    fn seconds_left(&self, now: Instant) -> Option<u32> {
        let left = self.expires_at()?.saturating_duration_since(now);
        let seconds = left.as_nanos().div_ceil(COUNTDOWN.as_nanos());
        Some(u32::try_from(seconds).unwrap_or(u32::MAX))
    }

    fn submit_answer(&mut self) -> DialogKeyOutcome {
        let answer = match &self.control {
            AnswerControl::Choices(choices) => choices.answer(),
            AnswerControl::Field(field) => Some((UiAnswer::Value(field.editor.text().to_owned()), true)),
        };
        match answer {
            Some((answer, grants)) => self.accept_or_scroll(answer, grants),
            None => DialogKeyOutcome::Open,
        }
    }

    /// Accepts an answer. If it grants something and there is unread text, scrolls instead.
    fn accept_or_scroll(&mut self, answer: UiAnswer, grants: bool) -> DialogKeyOutcome {
        if grants && !self.may_grant() {
            self.body.scroll_page(true);
            return DialogKeyOutcome::Open;
        }
        DialogKeyOutcome::Answered(answer)
    }

    fn open_external_editor(&self) -> DialogKeyOutcome {
        match (&self.control, &self.question.wanted) {
            (AnswerControl::Field(field), AnswerKind::Editor(_)) => {
                DialogKeyOutcome::OpenEditor(field.editor.text().to_owned())
            }
            _ => DialogKeyOutcome::Open,
        }
    }

    fn next(&mut self, chord: Chord) {
        match &mut self.control {
            AnswerControl::Choices(choices) => choices.next(),
            AnswerControl::Field(field) => field.move_row(chord, Edit::RowDown),
        }
    }

    fn previous(&mut self, chord: Chord) {
        match &mut self.control {
            AnswerControl::Choices(choices) => choices.previous(),
            AnswerControl::Field(field) => field.move_row(chord, Edit::RowUp),
        }
    }

    fn handle_typed_key(&mut self, chord: Chord, action: Option<Action>, now: Instant) {
        let choices = match &mut self.control {
            AnswerControl::Choices(choices) => choices,
            AnswerControl::Field(field) => {
                field.key(chord, action);
                return;
            }
        };
        match (action, chord.typed_char()) {
            (Some(Action::Edit(Edit::LineStart | Edit::TextStart)), _) => self.body.jump_to_edge(false),
            (Some(Action::Edit(Edit::LineEnd | Edit::TextEnd)), _) => self.body.jump_to_edge(true),
            (_, Some(' ')) => self.body.scroll_page(true),
            (_, Some(c))
                if self.question.wanted != AnswerKind::Confirm && choices.choose_number(c.to_digit(10)) => {}
            _ => self.hint = Some(TimedHint { hint: KeyHint::Unknown, until: now + FLASH }),
        }
    }

    /// Returns the whole question and its answer instructions as rows of a width. Text from outside is indented.
    pub fn linear_rows(&self, width: u16) -> Vec<CleanLine> {
        let mut rows = Vec::new();
        let who =
            self.question.owner.as_ref().map_or_else(|| "haft".to_owned(), |owner| format!("[{owner}]"));
        let what = if self.question.grants { "asks for permission:" } else { "asks:" };
        rows.extend(wrap_rows(&CleanLine::new(&format!("{who} {what}")), 0, width));
        for text in [&self.question.title, &self.question.message] {
            rows.extend(CleanText::new(text).lines().flat_map(|line| message_rows(line, width)));
        }
        if matches!(self.question.wanted, AnswerKind::Gate(_)) {
            rows.extend(body::GATE.iter().flat_map(|line| wrap_rows(&CleanLine::from(*line), 2, width)));
        }
        rows.extend(self.grant_rows());
        rows.extend(self.choice_rows().into_iter().flat_map(|line| wrap_rows(&line, 2, width)));
        rows.extend(wrap_rows(&CleanLine::new(&self.answer_instructions()), 0, width));
        rows
    }

    /// Returns the instructions for answering.
    pub fn answer_instructions(&self) -> String {
        let how = match &self.question.wanted {
            AnswerKind::Confirm if self.question.grants => "answer y to allow, n to deny",
            AnswerKind::Confirm => "answer y or n",
            AnswerKind::Select(_) | AnswerKind::Gate(_) => "answer with a number",
            AnswerKind::Input { secret: true } => "answer with a line (the input is hidden)",
            AnswerKind::Input { secret: false } => "answer with a line",
            AnswerKind::Editor(_) => {
                "answer with lines and end with a line that is only a dot; only the dot keeps the text"
            }
        };
        let countdown = |within: Duration| self.question.countdown_text(&format!("{} s", within.as_secs()));
        let default =
            self.question.within.map_or_else(String::new, |within| format!("; {}", countdown(within)));
        format!("{how}, or {CLOSE}{default}")
    }

    /// Records that the question was printed and is visible from now on.
    pub fn mark_printed(&mut self, now: Instant) {
        self.quiet.mark_drawn(true, now);
    }

    /// Handles a typed line.
    pub fn handle_line(&mut self, line: &str, now: Instant) -> TypedLineOutcome {
        if self.question.grants && !self.quiet.accepts_key(now) {
            return TypedLineOutcome::TooEarly;
        }
        let word = line.trim();
        if word == CLOSE {
            return TypedLineOutcome::Answered(UiAnswer::Cancelled);
        }
        match (&mut self.control, &self.question.wanted) {
            (AnswerControl::Field(field), AnswerKind::Editor(_)) => {
                if word == END {
                    let text = if self.lines.is_empty() { field.editor.text() } else { self.lines.as_str() };
                    return TypedLineOutcome::Answered(UiAnswer::Value(
                        text.trim_end_matches('\n').to_owned(),
                    ));
                }
                self.lines.push_str(line);
                self.lines.push('\n');
                TypedLineOutcome::More
            }
            (AnswerControl::Field(_), _) => TypedLineOutcome::Answered(UiAnswer::Value(line.to_owned())),
            (AnswerControl::Choices(_), AnswerKind::Confirm) => match word.to_ascii_lowercase().as_str() {
                "y" | "yes" => TypedLineOutcome::Answered(UiAnswer::Confirmed(true)),
                "n" | "no" => TypedLineOutcome::Answered(UiAnswer::Confirmed(false)),
                _ => TypedLineOutcome::Unclear,
            },
            (AnswerControl::Choices(choices), _) => {
                let number = word.parse().ok().filter(|number| *number > 0);
                let answer = number.and_then(|number: usize| choices.answer_of(number - 1));
                answer.map_or(TypedLineOutcome::Unclear, TypedLineOutcome::Answered)
            }
        }
    }

    /// Formats exactly what a yes allows. The rows are not wrapped: the terminal wraps them without omitting
    /// anything.
    fn grant_rows(&self) -> Vec<CleanLine> {
        let Some(granted) = &self.question.call else { return Vec::new() };
        let name = call::name(granted);
        let (head, granted) = match self.question.whole_diff() {
            Some(diff) => {
                (format!("tool {name} changes {}:", preview::diff_title(diff)), preview::diff_rows(diff))
            }
            None => (format!("tool {name} with:"), call::argument_rows(granted)),
        };
        let note = self.question.missing_diff_note().map(|note| CleanLine::new(&format!("  {note}")));
        let mut rows: Vec<_> = note.into_iter().chain([CleanLine::new(&format!("  {head}"))]).collect();
        for row in granted {
            let mark = match row.mark {
                LineMark::No => "",
                LineMark::Line => "| ",
                LineMark::Removed => "- ",
                LineMark::Added => "+ ",
                LineMark::Context => "  ",
            };
            let blank = CleanLine::from_repeated_char(' ', row.indent);
            rows.push(CleanLine::new(&format!("    {blank}{}{mark}{}", row.gutter, row.text)));
        }
        rows
    }

    fn choice_rows(&self) -> Vec<CleanLine> {
        match (&self.control, &self.question.wanted) {
            (AnswerControl::Field(field), AnswerKind::Editor(_)) => {
                CleanText::new(field.editor.text()).lines().collect()
            }
            (AnswerControl::Field(_), _) | (AnswerControl::Choices(_), AnswerKind::Confirm) => Vec::new(),
            (AnswerControl::Choices(choices), _) => {
                let numbered = choices.labels().zip(1_usize..);
                numbered.map(|(words, number)| CleanLine::new(&format!("{number}: {words}"))).collect()
            }
        }
    }
}

/// Splits a line of a message into the mark of a quotation, if it has one, and its text.
fn split_quote(line: CleanLine) -> (&'static str, CleanLine) {
    match line.as_str().strip_prefix(QUOTE_MARK) {
        Some(text) => (QUOTE_MARK, CleanLine::from_clean_part(text)),
        None => ("", line),
    }
}

/// Returns a line of a message as rows. Each row of a quotation has the mark.
fn message_rows(line: CleanLine, width: u16) -> Vec<CleanLine> {
    const INDENT: usize = 2;
    let (mark, text) = split_quote(line);
    if mark.is_empty() {
        return wrap_rows(&text, INDENT, width);
    }
    let before = format!("{}{mark}", " ".repeat(INDENT));
    let room = usize::from(width).saturating_sub(before.len()).max(1);
    let rows = wrap_rows(&text, 0, u16::try_from(room).unwrap_or(u16::MAX));
    rows.iter().map(|row| CleanLine::new(format!("{before}{}", row.as_str()).trim_end())).collect()
}
