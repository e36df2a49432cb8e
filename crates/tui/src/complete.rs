//! Completion at the cursor: `/command`, its arguments, and `@file`.
//!
//! A state machine without IO. The text, the cursor and a [`CandidateSource`] go in; the candidates to show and the
//! text to insert come out. The candidates stay in place while the word is typed. The chosen candidate stays chosen
//! while it matches, and the list does not become shorter before it closes.

mod target;

use std::cmp::Reverse;
use std::ops::Range;

use crate::fuzzy::{FuzzyMatcher, FuzzyQuery, FuzzyTextKind, RankedMatch};

pub use target::{CompletionKind, CompletionTarget, find_target};

/// The maximum number of candidates.
pub const MOST_CANDIDATES: usize = 50;

/// The maximum number of candidates that are visible at a time.
pub const MOST_SHOWN: usize = 8;

/// A command that completion offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionCommand {
    /// Without the slash.
    pub name: String,
    /// The arguments, for example `[name]`. A command without arguments runs when it is accepted.
    pub hint: Option<String>,
    /// A one-line description.
    pub description: String,
    /// The source: an extension's name, `template` or `skill`. Empty for haft's own commands.
    pub source: String,
}

/// A source of candidates.
pub trait CandidateSource {
    /// Returns the commands. If two have the same name, the first is used.
    fn commands(&self) -> &[CompletionCommand];

    /// Returns the argument candidates of a command after the words `before`. `None` while they are unknown: an
    /// extension may be asked, and [`Completer::update`] is called again when it has answered.
    fn arguments(&self, command: &str, before: &str) -> Option<Vec<CommandArgument>>;

    /// Returns the candidates for the whole text after a command, as its owner gives them, the most likely first.
    /// `None` for commands that are completed word by word, by [`arguments`](Self::arguments).
    fn command_candidates(&self, command: &str, prefix: &str) -> Option<Vec<CompletionCandidate>>;

    /// Returns the files to mention, relative to the project, with `/` as separator and after directories.
    fn files(&self) -> &[String];
}

/// A possible argument of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandArgument {
    /// The word.
    pub text: String,
    /// A one-line description.
    pub description: String,
}

/// A candidate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionCandidate {
    /// The text: the name of a command, a word, or a path. It comes from outside and must be sanitized before it is
    /// shown.
    pub text: String,
    /// The indexes, in order, of its graphemes that match the typed text.
    pub matched: Vec<u32>,
    /// The arguments.
    pub hint: String,
    /// The description.
    pub description: String,
    /// The source.
    pub source: String,
}

/// The text to insert: for [`Editor::replace`](crate::editor::Editor::replace).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedCompletion {
    /// The range of the text to replace.
    pub range: Range<usize>,
    /// The new text.
    pub text: String,
    /// True for a command without further arguments, which can run at once.
    pub complete: bool,
}

/// The list of candidates to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionPopup {
    /// The completed part of the text.
    pub target: CompletionTarget,
    /// The candidates, the best first. Never empty.
    pub candidates: Vec<CompletionCandidate>,
    /// The index of the chosen candidate.
    pub chosen: usize,
    /// The number of rows to reserve: never less than before for the same word.
    pub room: usize,
    moved: bool,
    /// True if the owner of the command gave the candidates. Text that matches none of them may still be valid.
    pub from_owner: bool,
}

impl CompletionPopup {
    /// True if the typed text should be sent unchanged: it equals the chosen candidate, or the
    /// command's owner gave the candidates and the user has not chosen.
    pub fn is_typed(&self) -> bool {
        let chosen = self.candidates.get(self.chosen);
        chosen.is_some_and(|candidate| candidate.text == self.target.query) || self.from_owner && !self.moved
    }
}

/// The completion of an editor.
#[derive(Debug, Default)]
pub struct Completer {
    popup: Option<CompletionPopup>,
    closed: Option<(CompletionKind, usize)>,
    fuzzy: FuzzyMatcher,
}

impl Completer {
    /// Returns the list of candidates, if one is shown.
    pub fn popup(&self) -> Option<&CompletionPopup> {
        self.popup.as_ref()
    }

    /// Updates the candidates after a change of the text, the cursor or the source.
    pub fn update(&mut self, text: &str, cursor: usize, source: &impl CandidateSource) {
        let Some(wanted) = find_target(text, cursor) else {
            (self.popup, self.closed) = (None, None);
            return;
        };
        let told = wanted.extend_to_prefix(text, cursor).and_then(|whole| {
            let CompletionKind::Argument { command, .. } = &whole.kind else { return None };
            Some((source.command_candidates(command, &whole.query)?, whole))
        });
        let (told, wanted) = told.map_or((None, wanted), |(told, whole)| (Some(told), whole));
        if self.closed.as_ref() == Some(&wanted.word_identity()) {
            return;
        }
        self.closed = None;
        self.show(wanted, told, source);
    }

    /// Shows candidates on request, even if they were closed for this word.
    pub fn open(&mut self, text: &str, cursor: usize, source: &impl CandidateSource) {
        self.closed = None;
        self.update(text, cursor, source);
    }

    /// Chooses the next candidate. After the last comes the first.
    pub fn next(&mut self) {
        self.move_choice(|chosen, count| (chosen + 1) % count);
    }

    /// Chooses the previous candidate.
    pub fn previous(&mut self) {
        self.move_choice(|chosen, count| (chosen + count - 1) % count);
    }

    /// Accepts the chosen candidate and returns the text to insert. The list closes until the text changes.
    pub fn accept(&mut self, text: &str) -> Option<AcceptedCompletion> {
        let popup = self.popup.take()?;
        let candidate = popup.candidates.get(popup.chosen)?;
        let accepted = accept_candidate(&popup.target, candidate, text);
        // After a directory, completion continues. Anything else is finished, even if the word is unchanged.
        let continues = accepted.text.ends_with('/');
        self.closed = (!continues).then(|| popup.target.word_identity());
        Some(accepted)
    }

    /// Closes the list for this word.
    pub fn close(&mut self) {
        self.closed = self.popup.take().map(|popup| popup.target.word_identity());
    }

    fn move_choice(&mut self, other: impl Fn(usize, usize) -> usize) {
        if let Some(popup) = &mut self.popup {
            popup.chosen = other(popup.chosen, popup.candidates.len());
            popup.moved = true;
        }
    }

    fn show(
        &mut self,
        wanted: CompletionTarget,
        told: Option<Vec<CompletionCandidate>>,
        source: &impl CandidateSource,
    ) {
        let before = self.popup.take().filter(|popup| popup.target.word_identity() == wanted.word_identity());
        let is_told = told.is_some();
        let Some(candidates) = told.or_else(|| self.find_candidates(&wanted, source)) else {
            // The answer is not known yet. Keep the old list to avoid flicker.
            self.popup = before.map(|popup| CompletionPopup { target: wanted, ..popup });
            return;
        };
        if candidates.is_empty() {
            return;
        }
        let shown = candidates.len().min(MOST_SHOWN);
        let room = before.as_ref().map_or(shown, |popup| popup.room.max(shown));
        let kept = before.filter(|popup| popup.moved).and_then(|popup| {
            let was = popup.candidates.get(popup.chosen)?;
            candidates.iter().position(|candidate| candidate.text == was.text)
        });
        let (chosen, moved) = (kept.unwrap_or(0), kept.is_some());
        self.popup =
            Some(CompletionPopup { target: wanted, candidates, chosen, room, moved, from_owner: is_told });
    }

    /// Returns the candidates that match the typed text, the best first. `None` while the source does not know them.
    fn find_candidates(
        &mut self,
        wanted: &CompletionTarget,
        source: &impl CandidateSource,
    ) -> Option<Vec<CompletionCandidate>> {
        let needle = FuzzyQuery::from_phrase(&wanted.query);
        match &wanted.kind {
            CompletionKind::Command => {
                let commands = source.commands();
                let is_hidden =
                    |at: usize, name: &str| commands.iter().take(at).any(|command| command.name == name);
                let shown =
                    commands.iter().enumerate().filter(|(at, command)| !is_hidden(*at, &command.name));
                let all = shown.map(|(_, command)| {
                    let CompletionCommand { name: text, hint, description, source } = command.clone();
                    let hint = hint.unwrap_or_default();
                    CompletionCandidate { text, hint, description, source, matched: Vec::new() }
                });
                let mut ranked = self.rank_candidates(&needle, all.collect());
                // A name that was typed in full is not replaced by a longer one.
                ranked.sort_by_key(|candidate| candidate.text != wanted.query);
                Some(ranked)
            }
            CompletionKind::Argument { command, before } => {
                let all = source.arguments(command, before)?.into_iter();
                let all = all.map(|CommandArgument { text, description }| CompletionCandidate {
                    text,
                    description,
                    ..CompletionCandidate::default()
                });
                Some(self.rank_candidates(&needle, all.collect()))
            }
            CompletionKind::File { .. } => Some(self.rank_files(&needle, source.files())),
        }
    }

    fn rank_candidates(
        &mut self,
        needle: &FuzzyQuery,
        all: Vec<CompletionCandidate>,
    ) -> Vec<CompletionCandidate> {
        let texts = all.iter().map(|candidate| candidate.text.as_str()).enumerate();
        let ranked = self.fuzzy.rank(needle, texts, FuzzyTextKind::Words);
        let candidate = |ranked: &RankedMatch| {
            let candidate = all.get(ranked.at)?;
            let matched = self.fuzzy.matched_graphemes(needle, &candidate.text);
            Some(CompletionCandidate { matched, ..candidate.clone() })
        };
        ranked.iter().take(MOST_CANDIDATES).filter_map(candidate).collect()
    }

    fn rank_files(&mut self, needle: &FuzzyQuery, files: &[String]) -> Vec<CompletionCandidate> {
        let mut ranked =
            self.fuzzy.rank(needle, files.iter().map(String::as_str).enumerate(), FuzzyTextKind::Paths);
        if !needle.is_empty() {
            ranked.sort_by_key(|ranked| (Reverse(ranked.score), ranked.length, files.get(ranked.at)));
        }
        let candidate = |ranked: &RankedMatch| {
            let text = files.get(ranked.at)?.clone();
            let matched = self.fuzzy.matched_graphemes(needle, &text);
            Some(CompletionCandidate { text, matched, ..CompletionCandidate::default() })
        };
        ranked.iter().take(MOST_CANDIDATES).filter_map(candidate).collect()
    }
}

fn accept_candidate(
    wanted: &CompletionTarget,
    candidate: &CompletionCandidate,
    text: &str,
) -> AcceptedCompletion {
    let behind = text.get(wanted.range.end..).unwrap_or_default();
    let blank = if behind.starts_with(char::is_whitespace) { "" } else { " " };
    let (text, complete) = match &wanted.kind {
        CompletionKind::Command if candidate.hint.is_empty() => (format!("/{}", candidate.text), true),
        CompletionKind::Command => (format!("/{}{blank}", candidate.text), false),
        CompletionKind::Argument { .. } => (format!("{}{blank}", candidate.text), false),
        CompletionKind::File { quoted } => (file_mention(&candidate.text, *quoted, blank), false),
    };
    AcceptedCompletion { range: wanted.range.clone(), text, complete }
}

/// Formats a path, quoted if necessary. A quoted directory stays open, so that its entries can follow.
fn file_mention(path: &str, quoted: bool, blank: &str) -> String {
    let quoted = quoted || path.contains(char::is_whitespace);
    match (quoted, path.ends_with('/')) {
        (false, true) => format!("@{path}"),
        (false, false) => format!("@{path}{blank}"),
        (true, true) => format!("@\"{path}"),
        (true, false) => format!("@\"{path}\"{blank}"),
    }
}

#[cfg(test)]
mod tests;
