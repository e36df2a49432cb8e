//! A question where nothing is drawn: what is printed of it, and lines as answers.

use std::time::Instant;

use haft_protocol::rpc::UiAnswer;

use super::call::{self, Mark};
use super::{Control, Dialog, Wanted, body};
use crate::clean::{Clean, CleanLine};
use crate::transcript::spoken::rows_of;

/// What ends a text of several lines.
const END: &str = ".";

/// What answers nothing.
const CLOSE: &str = ":close";

/// What came of a line.
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
    /// What is asked, all of it, and how it is answered, as rows of a width. What is said by others is indented.
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

    /// How it is answered.
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
