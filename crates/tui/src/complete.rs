//! Completion at the cursor: `/command`, what follows a command, and `@file`.
//!
//! A state machine without IO: the text, the cursor and a [`CandidateSource`] go in, what to show and what to put in comes out.
//! The candidates stay where they are while a word is typed on: the one that was chosen stays chosen as long as it fits,
//! and the room they take does not shrink before they go.

mod wanted;

use std::cmp::Reverse;
use std::ops::Range;

use crate::fuzzy::{FuzzyMatcher, FuzzyQuery, FuzzyTextKind, RankedMatch};

pub use wanted::{CompletionKind, CompletionTarget, find_target};

/// The number of candidates that are kept.
pub const MOST_CANDIDATES: usize = 50;

/// The number of candidates that are shown at a time.
pub const MOST_SHOWN: usize = 8;

/// A command, as completion knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionCommand {
    /// Without the slash.
    pub name: String,
    /// The arguments: `[name]`. A command without it is run when it is taken.
    pub hint: Option<String>,
    /// A description of one line.
    pub description: String,
    /// Where it comes from: an extension's name, `template`, `skill`. Empty for haft's own.
    pub source: String,
}

/// Where candidates come from.
pub trait CandidateSource {
    /// The commands; the earlier one counts where two have one name.
    fn commands(&self) -> &[CompletionCommand];

    /// Returns the arguments of a command behind these words. None while nobody knows: it may be an extension that is
    /// asked, and then [`Completer::update`] is called again when it has answered.
    fn arguments(&self, command: &str, before: &str) -> Option<Vec<CommandArgument>>;

    /// Returns the candidates for all that follows a command, as its owner says, the likeliest first. None where what
    /// follows is completed word by word, by [`arguments`](Self::arguments).
    fn command_candidates(&self, command: &str, prefix: &str) -> Option<Vec<CompletionCandidate>>;

    /// The files to mention, as seen from the project, with `/` between names and behind directories.
    fn files(&self) -> &[String];
}

/// One thing that may follow a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandArgument {
    /// The word.
    pub text: String,
    /// A description of one line.
    pub description: String,
}

/// A candidate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompletionCandidate {
    /// The text: the name of a command, a word, a path. From outside, to be cleaned before it is shown.
    pub text: String,
    /// The graphemes of it that are typed already, counted from 0, in order.
    pub matched: Vec<u32>,
    /// The arguments.
    pub hint: String,
    /// The description.
    pub description: String,
    /// Where it comes from.
    pub source: String,
}

/// The text to insert: for [`Editor::replace`](crate::editor::Editor::replace).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedCompletion {
    /// In place of what.
    pub range: Range<usize>,
    /// What.
    pub text: String,
    /// True if it is a command that takes no more, and can be run at once.
    pub complete: bool,
}

/// The list of candidates as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionPopup {
    /// The completed part of the text.
    pub target: CompletionTarget,
    /// The best candidates first; at least one.
    pub candidates: Vec<CompletionCandidate>,
    /// Which of them is chosen.
    pub chosen: usize,
    /// The number of rows to keep free for them: no fewer than before for the same word.
    pub room: usize,
    moved: bool,
    /// True if somebody else says what may stand there: what is typed may be meant all the same.
    pub from_owner: bool,
}

impl CompletionPopup {
    /// True if what is typed is to be sent as it stands: it is the chosen one, or nobody has chosen.
    pub fn is_typed(&self) -> bool {
        let chosen = self.candidates.get(self.chosen);
        chosen.is_some_and(|candidate| candidate.text == self.target.query) || self.from_owner && !self.moved
    }
}

/// Completion in an editor.
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

    /// The text or the cursor has changed, or the source has more.
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

    /// Somebody asks for candidates: also where they were closed.
    pub fn open(&mut self, text: &str, cursor: usize, source: &impl CandidateSource) {
        self.closed = None;
        self.update(text, cursor, source);
    }

    /// The next candidate; behind the last comes the first.
    pub fn next(&mut self) {
        self.move_choice(|chosen, count| (chosen + 1) % count);
    }

    /// The candidate before.
    pub fn previous(&mut self) {
        self.move_choice(|chosen, count| (chosen + count - 1) % count);
    }

    /// The chosen candidate, to be put in. The candidates are gone until the text changes.
    pub fn accept(&mut self, text: &str) -> Option<AcceptedCompletion> {
        let popup = self.popup.take()?;
        let candidate = popup.candidates.get(popup.chosen)?;
        let accepted = accept_candidate(&popup.target, candidate, text);
        // A directory goes on; anything else is done with, also when the word stands there as it did before.
        let goes_on = accepted.text.ends_with('/');
        self.closed = (!goes_on).then(|| popup.target.word_identity());
        Some(accepted)
    }

    /// No candidates for this word.
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
            // Nobody knows yet: what was shown stays, so that nothing flickers.
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

    /// The candidates that fit what is typed, the best first. None while the source does not know.
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
                Some(self.rank_candidates(&needle, all.collect()))
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

/// A path, in quotes where it needs some. A directory is left open, for what is in it.
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
