//! Incremental search of the prompt history.

use std::ops::Range;

use super::PromptHistory;

/// An incremental search. Its match is the newest prompt that contains the query.
///
/// Case matters if the query contains capitals.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptSearch {
    query: String,
    at: Option<usize>,
    failed: bool,
}

/// A matching prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptMatch<'h> {
    /// The prompt.
    pub prompt: &'h str,
    /// The range of the match, in bytes.
    pub found: Range<usize>,
}

impl PromptSearch {
    /// True if the last search found nothing. The previous match remains.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Sets the query. A longer query continues from the current match; any other restarts.
    pub fn set_query(&mut self, history: &PromptHistory, query: &str) {
        let continues = query.starts_with(&self.query) && !self.query.is_empty();
        let from = self.at.filter(|_| continues).unwrap_or(history.prompts.len().saturating_sub(1));
        self.query = query.to_owned();
        if query.is_empty() {
            (self.at, self.failed) = (None, false);
            return;
        }
        self.go_to((0..=from).rev().find(|at| self.match_in(history, *at).is_some()));
    }

    /// Moves to the previous match in a different prompt.
    pub fn find_older(&mut self, history: &PromptHistory) {
        let before = 0..self.at.unwrap_or(0);
        self.go_to(before.rev().find(|at| self.is_new_match(history, *at)));
    }

    /// Moves to the next match.
    pub fn find_newer(&mut self, history: &PromptHistory) {
        let after = self.at.map_or(0, |at| at + 1)..history.prompts.len();
        self.go_to(after.into_iter().find(|at| self.is_new_match(history, *at)));
    }

    /// Returns the current match. `None` if nothing was found.
    pub fn current_match<'h>(&self, history: &'h PromptHistory) -> Option<PromptMatch<'h>> {
        let at = self.at?;
        let prompt = history.prompts.get(at)?;
        // If a longer query has no match, the last match is still shown, without a range.
        let found = self.match_in(history, at).unwrap_or(0..0);
        Some(PromptMatch { prompt, found })
    }

    fn go_to(&mut self, found: Option<usize>) {
        self.failed = found.is_none() && !self.query.is_empty();
        self.at = found.or(self.at);
    }

    fn is_new_match(&self, history: &PromptHistory, at: usize) -> bool {
        let text = |at: usize| history.prompts.get(at);
        self.match_in(history, at).is_some() && self.at.is_none_or(|now| text(now) != text(at))
    }

    fn match_in(&self, history: &PromptHistory, at: usize) -> Option<Range<usize>> {
        find(history.prompts.get(at)?, &self.query)
    }
}

fn find(text: &str, word: &str) -> Option<Range<usize>> {
    if word.is_empty() {
        return None;
    }
    if word.contains(char::is_uppercase) {
        return text.rfind(word).map(|at| at..at + word.len());
    }
    text.char_indices().rev().find_map(|(at, _)| Some(at..at + matching_prefix_len(text.get(at..)?, word)?))
}

/// Returns the length of the word at the beginning of the text, ignoring case.
fn matching_prefix_len(text: &str, word: &str) -> Option<usize> {
    let mut rest = word.chars().flat_map(char::to_lowercase).peekable();
    for (at, c) in text.char_indices() {
        if rest.peek().is_none() {
            return Some(at);
        }
        if !c.to_lowercase().all(|lower| rest.next() == Some(lower)) {
            return None;
        }
    }
    rest.peek().is_none().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> PromptHistory {
        let mut history = PromptHistory::default();
        for prompt in ["run the tests", "Fix the bug", "run the bench", "run the tests", "say hi"] {
            history.push(prompt);
        }
        history
    }

    #[track_caller]
    fn check(search: &PromptSearch, expect: Option<(&str, &str)>, failed: bool) {
        let history = history();
        let matched = search.current_match(&history);
        let got = matched.as_ref().map(|found| (found.prompt, &found.prompt[found.found.clone()]));
        assert_eq!((got, search.has_failed()), (expect, failed), "{search:?}");
    }

    #[test]
    fn search_finds_newest_match() {
        let (history, mut search) = (history(), PromptSearch::default());
        search.set_query(&history, "r");
        check(&search, Some(("run the tests", "r")), false);
        search.set_query(&history, "run the b");
        check(&search, Some(("run the bench", "run the b")), false);
        search.set_query(&history, "run the bx");
        check(&search, Some(("run the bench", "")), true);
        search.set_query(&history, "run");
        check(&search, Some(("run the tests", "run")), false);
        search.set_query(&history, "");
        check(&search, None, false);
    }

    #[test]
    fn search_skips_equal_prompts() {
        let (history, mut search) = (history(), PromptSearch::default());
        search.set_query(&history, "the");
        check(&search, Some(("run the tests", "the")), false);
        search.find_older(&history);
        check(&search, Some(("run the bench", "the")), false);
        search.find_older(&history);
        search.find_older(&history);
        check(&search, Some(("run the tests", "the")), false);
        search.find_older(&history);
        check(&search, Some(("run the tests", "the")), true);
        search.find_newer(&history);
        check(&search, Some(("Fix the bug", "the")), false);
    }

    #[test]
    fn capitals_make_search_case_sensitive() {
        assert_eq!(find("Fix fix FIX", "fix"), Some(8..11));
        assert_eq!(find("Fix fix FIX", "Fix"), Some(0..3));
        assert_eq!(find("İstanbul", "i\u{307}st"), Some(0..4));
        assert_eq!(find("abc", "bd"), None);
    }
}
