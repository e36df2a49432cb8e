//! Syntax highlighting of finished code blocks. The colors of a line may depend on all previous lines.
//!
//! The grammars come from syntect, the colors from the theme. Grammars have thousands of scopes and themes about a
//! dozen roles: the table `SCOPES` maps one to the other. A language without a grammar is shown plain.

use std::sync::LazyLock;

use ratatui_core::text::Span;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::clean::{CleanLine, CleanText, span};
use crate::theme::{Role, Theme};

/// The grammars, loaded once. Loading takes some milliseconds, so code without a language does not load them.
static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// The longest line to highlight, in bytes. Longer lines are generated and slow.
const MAX_LINE: usize = 2 * 1024;

/// The maximum size of a text to highlight, in bytes. The rest is plain.
const MAX_TEXT: usize = 128 * 1024;

/// Language names that people write and no grammar has, each with a similar language.
const ALIASES: &[(&str, &str)] = &[
    ("console", "bash"),
    ("cts", "js"),
    ("golang", "go"),
    ("jsonc", "json"),
    ("json5", "js"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("mts", "js"),
    ("node", "js"),
    ("python3", "py"),
    ("shell", "bash"),
    ("shellsession", "bash"),
    ("ts", "js"),
    ("tsx", "js"),
    ("typescript", "js"),
    ("zig", "rs"),
];

/// The roles of scopes. The longest matching prefix decides.
const SCOPES: &[(&str, Role)] = &[
    ("comment", Role::CodeComment),
    ("constant", Role::CodeNumber),
    ("constant.character.escape", Role::CodeEscape),
    ("constant.other.placeholder", Role::CodeEscape),
    ("entity.name", Role::CodeType),
    ("entity.name.function", Role::CodeFunction),
    ("entity.name.label", Role::CodeAttribute),
    ("entity.name.section", Role::Heading),
    ("entity.name.tag", Role::CodeKeyword),
    ("entity.other.attribute-name", Role::CodeAttribute),
    ("entity.other.inherited-class", Role::CodeType),
    ("invalid", Role::Error),
    ("keyword", Role::CodeKeyword),
    ("keyword.operator", Role::CodeOperator),
    ("keyword.operator.word", Role::CodeKeyword),
    ("markup.deleted", Role::DiffRemoved),
    ("markup.inserted", Role::DiffAdded),
    ("markup.heading", Role::Heading),
    ("markup.raw", Role::CodeString),
    ("meta.annotation", Role::CodeAttribute),
    ("meta.attribute", Role::CodeAttribute),
    ("meta.diff.header", Role::DiffHeader),
    ("meta.diff.range", Role::DiffHeader),
    ("punctuation", Role::CodePunctuation),
    ("punctuation.definition.comment", Role::CodeComment),
    ("punctuation.definition.string", Role::CodeString),
    ("punctuation.definition.inserted", Role::DiffAdded),
    ("punctuation.definition.deleted", Role::DiffRemoved),
    ("storage", Role::CodeKeyword),
    ("storage.type", Role::CodeKeyword),
    ("string", Role::CodeString),
    ("string.regexp", Role::CodeEscape),
    ("support.class", Role::CodeType),
    ("support.constant", Role::CodeNumber),
    ("support.function", Role::CodeFunction),
    ("support.macro", Role::CodeAttribute),
    ("support.type", Role::CodeType),
    ("variable.annotation", Role::CodeAttribute),
    ("variable.function", Role::CodeFunction),
    ("variable.language", Role::CodeKeyword),
];

/// The scopes, the longest first.
static ROLES: LazyLock<Vec<(Scope, Role)>> = LazyLock::new(|| {
    let read = |(name, role): &(&str, Role)| Scope::new(name).ok().map(|scope| (scope, *role));
    let mut scopes: Vec<(Scope, Role)> = SCOPES.iter().filter_map(read).collect();
    scopes.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
    scopes
});

/// Highlights code in a language. `None` if there is no grammar for it.
pub fn highlight(language: &str, code: &CleanText, theme: &Theme) -> Option<Vec<Vec<Span<'static>>>> {
    let mut pen = CodeHighlighter::new(find_grammar(language)?, theme);
    Some(code.lines().map(|line| pen.highlight_line(&line)).collect())
}

/// Finds the grammar for the info string of a fence: `rust`, `rs`, `rust,ignore`, `{.rust}`.
fn find_grammar(label: &str) -> Option<&'static SyntaxReference> {
    let end = |c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}' | ':');
    let word = label.trim_start_matches(['{', '.']).split(end).next().filter(|word| !word.is_empty())?;
    let word = word.to_lowercase();
    let known = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word.as_str(), |(_, known)| known);
    let grammar = GRAMMARS.find_syntax_by_token(known)?;
    (grammar.name != "Plain Text").then_some(grammar)
}

struct CodeHighlighter<'t> {
    theme: &'t Theme,
    state: ParseState,
    stack: ScopeStack,
    /// The number of bytes that may still be highlighted; 0 once the grammar has failed.
    left: usize,
}

impl<'t> CodeHighlighter<'t> {
    fn new(grammar: &SyntaxReference, theme: &'t Theme) -> Self {
        Self { theme, state: ParseState::new(grammar), stack: ScopeStack::new(), left: MAX_TEXT }
    }

    fn highlight_line(&mut self, line: &CleanLine) -> Vec<Span<'static>> {
        let text = line.as_str();
        self.left = self.left.saturating_sub(text.len());
        let asked = if text.len() > MAX_LINE || self.left == 0 { None } else { self.highlight_spans(text) };
        asked.unwrap_or_else(|| vec![span(line.clone(), self.theme.style(Role::Code))])
    }

    fn highlight_spans(&mut self, text: &str) -> Option<Vec<Span<'static>>> {
        // The grammars require line ends.
        let Ok(changes) = self.state.parse_line(&format!("{text}\n"), &GRAMMARS) else {
            self.left = 0;
            return None;
        };
        let mut spans = Vec::new();
        let mut from = 0;
        for (at, change) in changes {
            let to = at.min(text.len());
            self.push_span(&mut spans, text.get(from..to)?);
            from = to;
            self.stack.apply(&change).ok()?;
        }
        self.push_span(&mut spans, text.get(from..)?);
        Some(spans)
    }

    fn push_span(&self, spans: &mut Vec<Span<'static>>, part: &str) {
        if part.is_empty() {
            return;
        }
        let style = self.theme.style(scope_role(self.stack.as_slice()));
        match spans.last_mut().filter(|last| last.style == style) {
            Some(last) => last.content.to_mut().push_str(part),
            None => spans.push(span(CleanLine::from_clean_part(part), style)),
        }
    }
}

fn scope_role(stack: &[Scope]) -> Role {
    let of = |scope: &Scope| ROLES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope));
    stack.iter().rev().find_map(of).map_or(Role::Code, |(_, role)| *role)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(language: &str, code: &str, role: Role) -> Vec<String> {
        let theme = Theme::dark();
        let lines = highlight(language, &CleanText::new(code), &theme).unwrap();
        let shown: Vec<String> =
            lines.iter().map(|line| line.iter().map(|span| span.content.as_ref()).collect()).collect();
        assert_eq!(shown.join("\n"), code.trim_end_matches('\n'));
        let style = theme.style(role);
        let of_role = lines.iter().flatten().filter(|span| span.style == style);
        of_role.map(|span| span.content.trim().to_owned()).collect()
    }

    #[test]
    fn assigns_roles_to_syntax() {
        let code = "// why\npub fn main() { let n = 42; println!(\"a\\n\"); }\n";
        assert_eq!(texts("rust", code, Role::CodeComment), ["// why"]);
        assert_eq!(texts("rust", code, Role::CodeNumber), ["42"]);
        assert!(texts("rust", code, Role::CodeKeyword).contains(&"let".to_owned()));
        assert!(texts("rust", code, Role::CodeEscape).contains(&"\\n".to_owned()));
        assert!(texts("python", "def f(x):\n    return 'a'\n", Role::CodeFunction).contains(&"f".to_owned()));
    }

    #[test]
    fn finds_languages_by_alias() {
        for label in
            ["rust", "Rust", "rs", "rust,ignore", "rust {.numbers}", "{.rust}", "ts", "sh", "c++", "YAML"]
        {
            assert!(find_grammar(label).is_some(), "{label}");
        }
        for label in ["", " ", "no-such", "text", "plain text", ",,", "{}"] {
            assert!(find_grammar(label).is_none(), "{label}");
        }
    }

    #[test]
    fn aliases_are_necessary_and_valid() {
        for (alias, known) in ALIASES {
            assert!(GRAMMARS.find_syntax_by_token(alias).is_none(), "{alias} is known already");
            assert!(GRAMMARS.find_syntax_by_token(known).is_some(), "{alias}");
        }
    }

    #[test]
    fn long_code_is_plain() {
        let long = format!("let a = \"{}\";\nlet b = 1;", "x".repeat(MAX_LINE));
        let lines = highlight("rust", &CleanText::new(&long), &Theme::dark()).unwrap();
        assert_eq!(lines.iter().map(Vec::len).collect::<Vec<_>>(), [1, 4]);
    }
}
