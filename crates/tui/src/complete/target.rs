//! The completed part of the text at the cursor.

use std::ops::Range;

/// The kind of the completed part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionKind {
    /// The name of a command.
    Command,
    /// The argument of a command.
    Argument {
        /// Its name.
        command: String,
        /// The text between the command and the word.
        before: String,
    },
    /// The path of a file.
    File {
        /// True if it is in quotes.
        quoted: bool,
    },
}

/// A word to complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionTarget {
    /// The kind.
    pub kind: CompletionKind,
    /// The word with its marker, as a range of bytes.
    pub range: Range<usize>,
    /// The typed text.
    pub query: String,
}

impl CompletionTarget {
    pub(super) fn extend_to_prefix(&self, text: &str, cursor: usize) -> Option<Self> {
        let CompletionKind::Argument { command, .. } = &self.kind else { return None };
        let behind = text.get(1 + command.len()..cursor)?;
        let prefix = behind.trim_start();
        let range = cursor - prefix.len()..self.range.end;
        Some(Self { kind: self.kind.clone(), range, query: prefix.to_owned() })
    }

    /// Identifies the word, independent of the typed part.
    pub(super) fn word_identity(&self) -> (CompletionKind, usize) {
        let kind = match &self.kind {
            // Quotes can be added and removed.
            CompletionKind::File { .. } => CompletionKind::File { quoted: false },
            CompletionKind::Command | CompletionKind::Argument { .. } => self.kind.clone(),
        };
        (kind, self.range.start)
    }
}

/// Finds the word to complete at the cursor. A command is the first word of the text.
pub fn find_target(text: &str, cursor: usize) -> Option<CompletionTarget> {
    let before = text.get(..cursor)?;
    parse_file_mention(text, before).or_else(|| parse_command(text, before))
}

/// Parses `@path` and `@"path with blanks"`.
fn parse_file_mention(text: &str, before: &str) -> Option<CompletionTarget> {
    let line = before.rfind('\n').map_or(0, |newline| newline + 1);
    let at = before
        .get(line..)?
        .rmatch_indices('@')
        .map(|(at, _)| line + at)
        .find(|at| begins_word(before, *at))?;
    let typed = before.get(at + 1..)?;
    let rest = text.get(before.len()..)?;
    let (quoted, query, length) = match typed.strip_prefix('"') {
        Some(query) if !query.contains('"') => (true, query, quoted_length(rest)),
        None if !typed.contains(char::is_whitespace) => (false, typed, word_length(rest)),
        Some(_) | None => return None,
    };
    Some(CompletionTarget {
        kind: CompletionKind::File { quoted },
        range: at..before.len() + length,
        query: query.to_owned(),
    })
}

/// True if a word may begin here. The `@` of an email address is in the middle of a word.
fn begins_word(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '<' | '"' | '\'' | '`' | ','))
}

fn parse_command(text: &str, before: &str) -> Option<CompletionTarget> {
    let typed = before.strip_prefix('/')?;
    let rest = text.get(before.len()..)?;
    let end = before.len() + word_length(rest);
    let Some((name, arguments)) = typed.split_once(char::is_whitespace) else {
        // A path is not a command.
        let wanted =
            CompletionTarget { kind: CompletionKind::Command, range: 0..end, query: typed.to_owned() };
        return (!typed.contains('/')).then_some(wanted);
    };
    // Some blanks are longer than one byte.
    let word = arguments.rsplit(char::is_whitespace).next().unwrap_or_default().len();
    let (words, query) = arguments.split_at(arguments.len() - word);
    let on_first_line = !before.contains('\n') && !name.is_empty() && !name.contains('/');
    let kind = CompletionKind::Argument { command: name.to_owned(), before: words.trim().to_owned() };
    let range = before.len() - query.len()..end;
    on_first_line.then(|| CompletionTarget { kind, range, query: query.to_owned() })
}

/// Returns the length of a quoted word after the cursor, or 0 if the quote is not closed on the line.
fn quoted_length(rest: &str) -> usize {
    let line = rest.split('\n').next().unwrap_or_default();
    // Text after another `@` belongs to another file.
    let (word, _) = line.split_once('@').unwrap_or((line, ""));
    word.find('"').map_or(0, |quote| quote + 1)
}

fn word_length(rest: &str) -> usize {
    rest.find(char::is_whitespace).unwrap_or(rest.len())
}
