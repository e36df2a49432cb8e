//! Expands a word of a shell script as far as its text shows the result.

use std::panic::catch_unwind;

use brush_parser::ParserOptions;
use brush_parser::word::{
    self, BraceExpressionMember, BraceExpressionOrText, WordPiece, WordPieceWithSource,
};

use crate::script::UnreadableScript;

/// Stands for a part that only the shell knows, such as the value of a variable.
const UNKNOWN: char = '\0';

/// The maximum number of words from one word with braces.
const MAX_WORDS: usize = 1_000;

/// A word after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellWord(String);

impl ShellWord {
    pub(crate) fn known(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(crate) fn unknown() -> Self {
        Self(UNKNOWN.to_string())
    }

    /// Returns the text, with NUL in place of unknown parts.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Returns the program that a command with this name runs; `None` if only the shell knows it.
    pub(crate) fn program(&self) -> Option<&str> {
        let name = self.0.rsplit('/').next().unwrap_or_default();
        (!name.contains(UNKNOWN)).then_some(name)
    }

    /// Returns the text if all of it is known.
    pub(crate) fn known_text(&self) -> Option<&str> {
        (!self.0.contains(UNKNOWN)).then_some(&self.0)
    }
}

/// Expands a word: braces, quotes, escapes and `$IFS`. Adds the scripts of command substitutions to `nested`.
///
/// # Errors
/// [`UnreadableScript`] if the grammar does not accept the word, or if it expands to too many words.
pub(crate) fn expand_word(raw: &str, nested: &mut Vec<String>) -> Result<Vec<ShellWord>, UnreadableScript> {
    // The parser panics for a number that is too large.
    let braces = catch_unwind(|| word::parse_brace_expansions(raw, &ParserOptions::default()));
    let texts = match braces {
        Ok(Ok(None)) => vec![raw.to_owned()],
        Ok(Ok(Some(parts))) => expand_braces(&parts)?,
        Ok(Err(_)) | Err(_) => return Err(UnreadableScript),
    };
    let mut words = Vec::new();
    for text in texts {
        let expanded = Expansion::of_word(&text, nested)?;
        words.extend(expanded.split(FIELD_END).filter(|word| !word.is_empty()).map(ShellWord::known));
    }
    Ok(words)
}

/// Adds the scripts of command substitutions in a text that is expanded but not split, such as a here-document.
///
/// # Errors
/// [`UnreadableScript`] if the grammar does not accept the text.
pub(crate) fn substitutions(text: &str, nested: &mut Vec<String>) -> Result<(), UnreadableScript> {
    Expansion::of_word(&format!("\"{}\"", text.replace('"', "")), nested).map(drop)
}

/// Returns all combinations of the parts.
fn expand_braces(parts: &[BraceExpressionOrText]) -> Result<Vec<String>, UnreadableScript> {
    parts.iter().try_fold(vec![String::new()], |begun, part| {
        let ends = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => {
                let members: Result<Vec<_>, _> = members.iter().map(expand_member).collect();
                members?.concat()
            }
        };
        if begun.len() * ends.len() > MAX_WORDS {
            return Err(UnreadableScript);
        }
        Ok(begun.iter().flat_map(|start| ends.iter().map(move |end| format!("{start}{end}"))).collect())
    })
}

fn expand_member(member: &BraceExpressionMember) -> Result<Vec<String>, UnreadableScript> {
    Ok(match member {
        // No program and no flag is a number, so the ends are enough.
        BraceExpressionMember::NumberSequence { start, end, .. } => vec![start.to_string(), end.to_string()],
        BraceExpressionMember::CharSequence { start, end, .. } => {
            (*start.min(end)..=*start.max(end)).map(String::from).collect()
        }
        BraceExpressionMember::Child(parts) => expand_braces(parts)?,
    })
}

/// Separates the fields of a word after the expansion of `$IFS`.
const FIELD_END: char = '\u{1}';

/// The expansion of one word.
struct Expansion<'e> {
    raw: &'e str,
    text: String,
    nested: &'e mut Vec<String>,
}

impl<'e> Expansion<'e> {
    fn of_word(raw: &'e str, nested: &'e mut Vec<String>) -> Result<String, UnreadableScript> {
        let pieces = word::parse(raw, &ParserOptions::default()).map_err(|_| UnreadableScript)?;
        let mut expansion = Self { raw, text: String::new(), nested };
        expansion.add_pieces(&pieces, false)?;
        Ok(expansion.text)
    }

    fn add_pieces(&mut self, pieces: &[WordPieceWithSource], quoted: bool) -> Result<(), UnreadableScript> {
        for WordPieceWithSource { piece, start_index, end_index } in pieces {
            match piece {
                WordPiece::Text(text) if quoted => self.text.push_str(text),
                WordPiece::Text(text) => self.add_unquoted(text),
                WordPiece::SingleQuotedText(text) => self.text.push_str(text),
                // The escapes of `$'…'` can write every character.
                WordPiece::AnsiCQuotedText(text) if text.contains('\\') => self.text.push(UNKNOWN),
                WordPiece::AnsiCQuotedText(text) => self.text.push_str(text),
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.add_pieces(inner, true)?;
                }
                WordPiece::EscapeSequence(text) => {
                    self.text.extend(text.chars().skip(1).filter(|c| *c != '\n'));
                }
                WordPiece::CommandSubstitution(script) | WordPiece::BackquotedCommandSubstitution(script) => {
                    self.nested.push(script.clone());
                    self.text.push(UNKNOWN);
                }
                WordPiece::ParameterExpansion(_) => {
                    let source = self.raw.get(*start_index..*end_index).unwrap_or_default();
                    self.add_parameter(source, quoted)?;
                }
                WordPiece::ArithmeticExpression(expression) => {
                    substitutions(&expression.value, self.nested)?;
                    self.text.push(UNKNOWN);
                }
                WordPiece::TildePrefix(_) => self.text.push(UNKNOWN),
            }
        }
        Ok(())
    }

    /// Adds a variable: `$name` or `${name…}`. An unquoted `$IFS` separates words.
    fn add_parameter(&mut self, source: &str, quoted: bool) -> Result<(), UnreadableScript> {
        let inner = source.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
        substitutions(inner, self.nested)?;
        self.text.push(if inner.starts_with("IFS") && !quoted { FIELD_END } else { UNKNOWN });
        Ok(())
    }

    /// Adds text in which the shell replaces patterns with names of files.
    fn add_unquoted(&mut self, text: &str) {
        let is_pattern = |c: char| matches!(c, '*' | '?') || c == '[' && text.contains(']');
        self.text.extend(text.chars().map(|c| if is_pattern(c) { UNKNOWN } else { c }));
    }
}
