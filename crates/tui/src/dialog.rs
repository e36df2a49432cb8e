//! Questions for the person.
//!
//! Whoever asks stands in the frame: haft, or an extension by its name. What grants something is asked by haft alone,
//! in a frame of its own colour, and shows all of what a yes lets happen: what has no room is counted and can be turned
//! to, and no character of it is left unseen. The careful answer is chosen at first.
//!
//! Invariant: in a dialog that grants, a key counts only when the dialog stood on the screen, in a size in which it can
//! be read, and nothing was typed, for 300 ms. Every key and every paste that comes earlier is ignored, and the 300 ms
//! begin anew with it. So who types while it appears never answers it. It stands on the screen once the terminal has
//! taken the frame that has it. Enforced by `dialog/quiet.rs` and `tests/it/dialog/answers.rs`.
//!
//! Invariant: what grants something counts only when the end of what it grants was on the screen for as long. Until then
//! the keys for it show more. Enforced by `dialog/body.rs` and `tests/it/dialog/reading.rs`.

mod body;
mod call;
mod choices;
mod question;
mod quiet;
mod view;

use std::time::{Duration, Instant};

use haft_protocol::content::ToolCall;
use haft_protocol::rpc::UiAnswer;

use body::Body;
use call::Mark;
use choices::Choices;
use quiet::{Hint, Hinted, Quiet};

use crate::clean::{Clean, CleanLine};
use crate::field::Field;
use crate::keys::{Action, Chord, Confirm, Context, Edit, Press};
use crate::timeouts::{COUNTDOWN, FLASH, SLOW_FRAME};
use crate::transcript::spoken::rows_of;

/// The line that ends a text of several lines.
const END: &str = ".";

/// The line that closes the question.
const CLOSE: &str = ":close";

/// The kind of answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Yes or no.
    Confirm,
    /// One of these.
    Select(Vec<String>),
    /// The decision about a gate that keeps failing: of `restart`, `continue_without` and `stop`, these.
    Gate(Vec<String>),
    /// A line; hidden while it is typed when it is a secret.
    Input {
        /// True if nobody may read it on the screen.
        secret: bool,
    },
    /// A text of several lines, which begins as this.
    Editor(String),
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The extension that asks, if it is one.
    pub owner: Option<String>,
    /// The kind of answer.
    pub wanted: Wanted,
    /// A line.
    pub title: String,
    /// Details.
    pub message: String,
    /// Exactly what a yes grants: the call that would run.
    pub call: Option<ToolCall>,
    /// True if the answer grants something: it stands where no extension can draw, and keys that were typed before it
    /// was seen do not count.
    pub grants: bool,
    /// The time until the answer is given up.
    pub within: Option<Duration>,
    /// The answer when nothing is answered, as people say it.
    pub default: Option<String>,
}

/// A question that is open.
#[derive(Debug)]
pub struct Dialog {
    question: Question,
    opened: Instant,
    body: Body,
    control: Control,
    quiet: Quiet,
    /// The part that the last frame shows: whether it can be read there, and when it was begun.
    drawn: Option<(bool, Instant)>,
    hint: Option<Hinted>,
    /// Lines of a text, as far as they were typed, where nothing is drawn.
    lines: String,
}

/// The control that takes the answer.
#[derive(Debug)]
enum Control {
    Choices(Choices),
    Field(Box<Field>),
}

/// The outcome of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing yet.
    Open,
    /// The answer.
    Answered(UiAnswer),
    /// The text is to be opened in the person's own editor; [`Dialog::edited`] is told what became of it.
    OpenEditor(String),
}

/// The outcome of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// The answer.
    Answered(UiAnswer),
    /// The text goes on with the next line.
    More,
    /// It was typed before the question stood there for long enough, so it is no answer.
    TooEarly,
    /// It is no answer to this question.
    Unclear,
}

impl Dialog {
    /// Opens it.
    pub fn open(question: Question, now: Instant) -> Self {
        let control = match (Choices::of(&question), &question.wanted) {
            (Some(choices), _) => Control::Choices(choices),
            (None, Wanted::Editor(text)) => Control::Field(Box::new(Field::lines(text))),
            (None, wanted) => {
                Control::Field(Box::new(Field::line("", *wanted == Wanted::Input { secret: true })))
            }
        };
        Self {
            question,
            opened: now,
            body: Body::default(),
            control,
            quiet: Quiet::default(),
            drawn: None,
            hint: None,
            lines: String::new(),
        }
    }

    /// The question.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// A key.
    pub fn key(&mut self, press: &Press, now: Instant) -> Reply {
        self.hint = None;
        if self.is_too_early(now) {
            return Reply::Open;
        }
        let context =
            if self.question.wanted == Wanted::Confirm { Context::Confirm } else { Context::Dialog };
        let chord = press.chord();
        match press.action(context) {
            Some(Action::Dialog(action)) => return self.act(action, chord),
            Some(Action::Confirm(Confirm::Yes)) => return self.answered(UiAnswer::Confirmed(true), true),
            Some(Action::Confirm(Confirm::No)) => return self.answered(UiAnswer::Confirmed(false), false),
            Some(Action::Confirm(Confirm::Other)) => self.next(chord),
            Some(Action::Confirm(Confirm::ReadOn)) => self.body.turn(true),
            Some(Action::Confirm(Confirm::First)) => self.body.go(false),
            Some(Action::Confirm(Confirm::Last)) => self.body.go(true),
            other => self.typed(chord, other, now),
        }
        Reply::Open
    }

    fn act(&mut self, action: crate::keys::Dialog, chord: Chord) -> Reply {
        use crate::keys::Dialog as Key;
        match action {
            Key::Close => return Reply::Answered(UiAnswer::Cancelled),
            Key::Accept => return self.answer(),
            Key::OpenEditor => return self.own_editor(),
            Key::PageDown => self.body.turn(true),
            Key::PageUp => self.body.turn(false),
            Key::Next => self.next(chord),
            Key::Previous => self.previous(chord),
        }
        Reply::Open
    }

    /// Text that was pasted.
    pub fn paste(&mut self, text: &str, now: Instant) {
        self.hint = None;
        if self.is_too_early(now) {
            return;
        }
        if let Control::Field(field) = &mut self.control {
            field.paste(text);
        }
    }

    /// True if what comes now was typed before it could be meant for this.
    fn is_too_early(&mut self, now: Instant) -> bool {
        let early = self.question.grants && !self.quiet.counts(now);
        self.hint = early.then_some(Hinted { hint: Hint::Early, until: now + FLASH });
        early
    }

    /// The terminal has taken the frame in which it was drawn last.
    pub fn was_drawn(&mut self, now: Instant) {
        let Some((is_readable, begun)) = self.drawn.take() else { return };
        self.quiet.drawn(is_readable, now);
        let takes_long = now.saturating_duration_since(begun) >= SLOW_FRAME;
        // What was typed while a terminal took nothing is read only now; and what was the way to the end is no answer.
        if (is_readable && self.body.was_drawn()) || takes_long {
            self.quiet.anew(now);
        }
    }

    /// It stands on the screen no more, until it is drawn again.
    pub fn was_hidden(&mut self) {
        self.drawn = None;
        self.quiet.hidden();
    }

    fn may_grant(&self) -> bool {
        !self.question.grants || self.body.is_through()
    }

    /// The person's own editor is closed.
    pub fn edited(&mut self, text: &str) {
        if let Control::Field(field) = &mut self.control {
            field.editor.set_edited(text);
        }
    }

    /// When it looks different by itself: its countdown goes on, or what it said about a key is over.
    pub fn wakes_at(&self, now: Instant) -> Option<Instant> {
        let hint = self.hint.as_ref().map(|hinted| hinted.until).filter(|until| *until > now);
        [self.counts_down_at(now), hint].into_iter().flatten().min()
    }

    fn counts_down_at(&self, now: Instant) -> Option<Instant> {
        let left = self.left(now)?;
        // What is shown is rounded up.
        let shown_next = left.saturating_sub(1);
        (left > 0).then(|| self.over_at()?.checked_sub(COUNTDOWN * shown_next)).flatten()
    }

    fn over_at(&self) -> Option<Instant> {
        self.question.within.and_then(|within| self.opened.checked_add(within))
    }

    /// The number of seconds that are left, the one that has begun included.
    fn left(&self, now: Instant) -> Option<u32> {
        let left = self.over_at()?.saturating_duration_since(now);
        let seconds = left.as_nanos().div_ceil(COUNTDOWN.as_nanos());
        Some(u32::try_from(seconds).unwrap_or(u32::MAX))
    }

    fn answer(&mut self) -> Reply {
        let answer = match &self.control {
            Control::Choices(choices) => choices.answer(),
            Control::Field(field) => Some((UiAnswer::Value(field.editor.text().to_owned()), true)),
        };
        match answer {
            Some((answer, grants)) => self.answered(answer, grants),
            None => Reply::Open,
        }
    }

    /// An answer; one that grants something shows more as long as there is more.
    fn answered(&mut self, answer: UiAnswer, grants: bool) -> Reply {
        if grants && !self.may_grant() {
            self.body.turn(true);
            return Reply::Open;
        }
        Reply::Answered(answer)
    }

    fn own_editor(&self) -> Reply {
        match (&self.control, &self.question.wanted) {
            (Control::Field(field), Wanted::Editor(_)) => Reply::OpenEditor(field.editor.text().to_owned()),
            _ => Reply::Open,
        }
    }

    fn next(&mut self, chord: Chord) {
        match &mut self.control {
            Control::Choices(choices) => choices.next(),
            Control::Field(field) => field.move_row(chord, Edit::RowDown),
        }
    }

    fn previous(&mut self, chord: Chord) {
        match &mut self.control {
            Control::Choices(choices) => choices.previous(),
            Control::Field(field) => field.move_row(chord, Edit::RowUp),
        }
    }

    fn typed(&mut self, chord: Chord, action: Option<Action>, now: Instant) {
        let choices = match &mut self.control {
            Control::Choices(choices) => choices,
            Control::Field(field) => {
                field.key(chord, action);
                return;
            }
        };
        match (action, chord.text()) {
            (Some(Action::Edit(Edit::LineStart | Edit::TextStart)), _) => self.body.go(false),
            (Some(Action::Edit(Edit::LineEnd | Edit::TextEnd)), _) => self.body.go(true),
            (_, Some(' ')) => self.body.turn(true),
            (_, Some(c)) if self.question.wanted != Wanted::Confirm && choices.choose(c.to_digit(10)) => {}
            _ => self.hint = Some(Hinted { hint: Hint::Unknown, until: now + FLASH }),
        }
    }

    /// Returns the whole question and how it is answered, as rows of a width. What is said by others is indented.
    pub fn spoken(&self, width: u16) -> Vec<CleanLine> {
        let mut rows = Vec::new();
        let who =
            self.question.owner.as_ref().map_or_else(|| "haft".to_owned(), |owner| format!("[{owner}]"));
        let what = if self.question.grants { "asks, before something is allowed:" } else { "asks:" };
        rows.extend(rows_of(&CleanLine::new(&format!("{who} {what}")), 0, width));
        for text in [&self.question.title, &self.question.message] {
            rows.extend(Clean::new(text).lines().flat_map(|line| rows_of(&line, 2, width)));
        }
        if matches!(self.question.wanted, Wanted::Gate(_)) {
            rows.extend(body::GATE.iter().flat_map(|line| rows_of(&CleanLine::from(*line), 2, width)));
        }
        rows.extend(self.granted());
        rows.extend(self.choices().into_iter().flat_map(|line| rows_of(&line, 2, width)));
        rows.extend(rows_of(&CleanLine::new(&self.how()), 0, width));
        rows
    }

    /// Returns the ways to answer it.
    pub fn how(&self) -> String {
        let how = match &self.question.wanted {
            Wanted::Confirm if self.question.grants => "answer y to allow it, n not to allow it",
            Wanted::Confirm => "answer y or n",
            Wanted::Select(_) | Wanted::Gate(_) => "answer with a number",
            Wanted::Input { secret: true } => "answer with a line, which is not shown",
            Wanted::Input { secret: false } => "answer with a line",
            Wanted::Editor(_) => {
                "answer with lines, and a line with only a dot at the end; only the dot keeps the text"
            }
        };
        let within = self.question.within.map(|within| within.as_secs());
        let default = match (within, &self.question.default) {
            (Some(seconds), Some(default)) => format!("; without an answer in {seconds} s it is: {default}"),
            (Some(seconds), None) => format!("; it is asked for {seconds} s"),
            (None, _) => String::new(),
        };
        format!("{how}, or {CLOSE}{default}")
    }

    /// It was printed: from now on it is seen.
    pub fn was_printed(&mut self, now: Instant) {
        self.quiet.drawn(true, now);
    }

    /// A line that was typed at it.
    pub fn said(&mut self, line: &str, now: Instant) -> Heard {
        if self.question.grants && !self.quiet.counts(now) {
            return Heard::TooEarly;
        }
        let word = line.trim();
        if word == CLOSE {
            return Heard::Answered(UiAnswer::Cancelled);
        }
        match (&mut self.control, &self.question.wanted) {
            (Control::Field(field), Wanted::Editor(_)) => {
                if word == END {
                    let text = if self.lines.is_empty() { field.editor.text() } else { self.lines.as_str() };
                    return Heard::Answered(UiAnswer::Value(text.trim_end_matches('\n').to_owned()));
                }
                self.lines.push_str(line);
                self.lines.push('\n');
                Heard::More
            }
            (Control::Field(_), _) => Heard::Answered(UiAnswer::Value(line.to_owned())),
            (Control::Choices(_), Wanted::Confirm) => match word.to_ascii_lowercase().as_str() {
                "y" | "yes" => Heard::Answered(UiAnswer::Confirmed(true)),
                "n" | "no" => Heard::Answered(UiAnswer::Confirmed(false)),
                _ => Heard::Unclear,
            },
            (Control::Choices(choices), _) => {
                let number = word.parse().ok().filter(|number| *number > 0);
                let answer = number.and_then(|number: usize| choices.answer_of(number - 1));
                answer.map_or(Heard::Unclear, Heard::Answered)
            }
        }
    }

    /// Exactly what a yes lets happen. Not divided: the terminal does that, and leaves nothing out.
    fn granted(&self) -> Vec<CleanLine> {
        let Some(granted) = &self.question.call else { return Vec::new() };
        let mut rows = vec![CleanLine::new(&format!("  tool {} with:", call::name(granted)))];
        for row in call::arguments(granted) {
            let mark = match row.mark {
                Mark::No => "",
                Mark::Line => "| ",
                Mark::Removed => "- ",
                Mark::Added => "+ ",
            };
            let blank = CleanLine::repeated(' ', row.indent);
            rows.push(CleanLine::new(&format!("    {blank}{mark}{}", row.text)));
        }
        rows
    }

    fn choices(&self) -> Vec<CleanLine> {
        match (&self.control, &self.question.wanted) {
            (Control::Field(field), Wanted::Editor(_)) => Clean::new(field.editor.text()).lines().collect(),
            (Control::Field(_), _) | (Control::Choices(_), Wanted::Confirm) => Vec::new(),
            (Control::Choices(choices), _) => {
                let numbered = choices.words().zip(1_usize..);
                numbered.map(|(words, number)| CleanLine::new(&format!("{number}: {words}"))).collect()
            }
        }
    }
}
