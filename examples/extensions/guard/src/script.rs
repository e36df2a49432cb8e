//! Finds the commands in a shell script, with the grammar of bash.

use brush_parser::ast::{
    AndOr, AndOrList, AssignmentValue, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    ExtendedTestExpr, IoFileRedirectTarget, IoRedirect, Pipeline, Program, SimpleCommand, Word,
};
use brush_parser::{Parser, ParserOptions, SourceInfo};

use crate::words::{ShellWord, expand_word, substitutions};

/// The maximum nesting of brackets and compound commands in a script. The parser needs stack for each level.
const MAX_NESTING: usize = 64;

/// The maximum length of a script in bytes, so that a decision takes less than a second.
const MAX_SCRIPT: usize = 64 * 1024;

/// A script that the grammar does not accept, or that is too long or too deeply nested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnreadableScript;

/// The commands that a script runs directly.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<SimpleInvocation>,
    /// Scripts in command substitutions, such as `$(…)`.
    pub(crate) nested: Vec<String>,
    /// True if a function starts itself twice at the same time.
    pub(crate) has_fork_bomb: bool,
    is_unreadable: bool,
}

/// A command with its arguments.
#[derive(Debug)]
pub(crate) struct SimpleInvocation {
    pub(crate) words: Vec<ShellWord>,
    /// The text of a here-document or here-string.
    pub(crate) input: Option<String>,
}

impl Script {
    /// Parses a script and collects its commands.
    ///
    /// # Errors
    /// [`UnreadableScript`].
    pub(crate) fn parse(text: &str) -> Result<Self, UnreadableScript> {
        let mut script = Self::default();
        script.add_program(&parse_program(text)?);
        if script.is_unreadable { Err(UnreadableScript) } else { Ok(script) }
    }

    fn add_program(&mut self, program: &Program) {
        program.complete_commands.iter().for_each(|list| self.add_list(list));
    }

    fn add_list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            pipelines_of(&item.0)
                .flat_map(|pipeline| &pipeline.seq)
                .for_each(|command| self.add_command(command));
        }
    }

    fn add_command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.add_simple(simple),
            Command::Compound(compound, redirects) => {
                self.add_compound(compound);
                redirects.iter().flat_map(|list| &list.0).for_each(|redirect| {
                    self.add_redirect(redirect);
                });
            }
            Command::Function(function) => {
                let body = format!("{}", function.body);
                let own = Self::parse_own_calls(&body, &function.fname.value);
                self.has_fork_bomb |= own;
                self.add_compound(&function.body.0);
            }
            Command::ExtendedTest(test) => self.add_test(&test.expr),
        }
    }

    /// True if a pipeline or a background job in the body of a function calls the function twice.
    fn parse_own_calls(body: &str, name: &str) -> bool {
        let Ok(program) = parse_program(body) else { return true };
        let mut calls = Self::default();
        calls.add_program(&program);
        let is_own =
            |command: &&SimpleInvocation| command.words.first().is_some_and(|word| word.text() == name);
        calls.commands.iter().filter(is_own).count() > 1
    }

    fn add_compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::Arithmetic(arithmetic) => self.add_text(&arithmetic.expr.value),
            CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                parts.into_iter().flatten().for_each(|part| self.add_text(&part.value));
                self.add_list(&clause.body.list);
            }
            CompoundCommand::BraceGroup(group) => self.add_list(&group.list),
            CompoundCommand::Subshell(subshell) => self.add_list(&subshell.list),
            CompoundCommand::ForClause(clause) => {
                clause.values.iter().flatten().for_each(|word| _ = self.expand(word));
                self.add_list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                _ = self.expand(&clause.value);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|word| self.add_text(&word.value));
                    case.cmd.iter().for_each(|list| self.add_list(list));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.add_list(&clause.condition);
                self.add_list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.add_list(list));
                    self.add_list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.add_list(&clause.0);
                self.add_list(&clause.1.list);
            }
        }
    }

    fn add_simple(&mut self, simple: &SimpleCommand) {
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut input = None;
        prefix.for_each(|item| drop(self.add_item(item, &mut input)));
        let mut words = simple.word_or_name.as_ref().map(|name| self.expand(name)).unwrap_or_default();
        for item in suffix {
            words.extend(self.add_item(item, &mut input));
        }
        if !words.is_empty() {
            self.commands.push(SimpleInvocation { words, input });
        }
    }

    /// Adds the scripts in a part of a command, and returns its arguments.
    fn add_item(&mut self, item: &CommandPrefixOrSuffixItem, input: &mut Option<String>) -> Vec<ShellWord> {
        match item {
            CommandPrefixOrSuffixItem::Word(word) => self.expand(word),
            CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                *input = self.add_redirect(redirect).or(input.take());
                Vec::new()
            }
            CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                match &assignment.value {
                    AssignmentValue::Scalar(value) => _ = self.expand(value),
                    AssignmentValue::Array(values) => {
                        values.iter().for_each(|(_, value)| _ = self.expand(value));
                    }
                }
                vec![ShellWord::known(&word.value)]
            }
            CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                self.add_list(&subshell.list);
                vec![ShellWord::unknown()]
            }
        }
    }

    /// Adds the scripts in a redirection, and returns the text that it passes to standard input.
    fn add_redirect(&mut self, redirect: &IoRedirect) -> Option<String> {
        match redirect {
            IoRedirect::File(_, _, target) => {
                match target {
                    IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                        _ = self.expand(word);
                    }
                    IoFileRedirectTarget::ProcessSubstitution(_, subshell) => self.add_list(&subshell.list),
                    IoFileRedirectTarget::Fd(_) => {}
                }
                None
            }
            IoRedirect::HereDocument(_, document) => {
                if document.requires_expansion {
                    self.add_text(&document.doc.value);
                }
                Some(document.doc.value.clone())
            }
            IoRedirect::HereString(_, word) => {
                let words = self.expand(word);
                Some(words.iter().map(ShellWord::text).collect::<Vec<_>>().join(" "))
            }
            IoRedirect::OutputAndError(word, _) => {
                _ = self.expand(word);
                None
            }
        }
    }

    fn add_test(&mut self, test: &ExtendedTestExpr) {
        match test {
            ExtendedTestExpr::And(one, other) | ExtendedTestExpr::Or(one, other) => {
                self.add_test(one);
                self.add_test(other);
            }
            ExtendedTestExpr::Not(inner) | ExtendedTestExpr::Parenthesized(inner) => self.add_test(inner),
            ExtendedTestExpr::UnaryTest(_, word) => self.add_text(&word.value),
            ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.add_text(&left.value);
                self.add_text(&right.value);
            }
        }
    }

    fn expand(&mut self, word: &Word) -> Vec<ShellWord> {
        let words = expand_word(&word.value, &mut self.nested);
        self.is_unreadable |= words.is_err();
        words.unwrap_or_default()
    }

    /// Adds the command substitutions in a text that the shell does not split into words.
    fn add_text(&mut self, text: &str) {
        self.is_unreadable |= substitutions(text, &mut self.nested).is_err();
    }
}

fn parse_program(text: &str) -> Result<Program, UnreadableScript> {
    if text.len() > MAX_SCRIPT || nesting_depth(text) > MAX_NESTING {
        return Err(UnreadableScript);
    }
    let mut parser = Parser::new(text.as_bytes(), &ParserOptions::default(), &SourceInfo::default());
    parser.parse_program().map_err(|_| UnreadableScript)
}

/// Returns the maximum number of brackets and compound commands that are open at the same time.
fn nesting_depth(text: &str) -> usize {
    let brackets = text.chars().map(|c| match c {
        '(' | '{' => 1,
        ')' | '}' => -1,
        _ => 0,
    });
    let keywords = text.split(|c: char| c.is_whitespace() || ";&|(){}`".contains(c)).map(|word| match word {
        "case" | "coproc" | "for" | "function" | "if" | "select" | "time" | "until" | "while" => 1,
        "done" | "esac" | "fi" => -1,
        _ => 0,
    });
    deepest_level(brackets) + deepest_level(keywords)
}

fn deepest_level(steps: impl Iterator<Item = isize>) -> usize {
    let depths = steps.scan(0_usize, |open, step| {
        *open = open.saturating_add_signed(step);
        Some(*open)
    });
    depths.max().unwrap_or_default()
}

fn pipelines_of(list: &AndOrList) -> impl Iterator<Item = &Pipeline> {
    let additional = list.additional.iter().map(|next| match next {
        AndOr::And(pipeline) | AndOr::Or(pipeline) => pipeline,
    });
    std::iter::once(&list.first).chain(additional)
}
