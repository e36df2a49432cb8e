//! Fuzzy matching of a typed text, the best match first.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

#[derive(Debug, Default)]
pub(crate) struct FuzzyMatcher {
    matcher: Matcher,
}

/// The typed text. Case matters if it contains capitals.
#[derive(Debug, Clone)]
pub(crate) struct FuzzyQuery(Vec<Atom>);

/// The kind of the searched texts, which changes the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FuzzyTextKind {
    Words,
    /// Paths: matches at the beginning of a name score higher.
    Paths,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankedMatch {
    /// The index in the input.
    pub(crate) at: usize,
    /// The score; higher is better.
    pub(crate) score: u32,
    /// The length of the text, in bytes.
    pub(crate) length: usize,
}

impl FuzzyQuery {
    /// Makes a query of one phrase, including its blanks.
    pub(crate) fn from_phrase(query: &str) -> Self {
        Self(if query.is_empty() { Vec::new() } else { vec![build_atom(query)] })
    }

    pub(crate) fn from_words(query: &str) -> Self {
        Self(query.split_whitespace().map(build_atom).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FuzzyMatcher {
    /// Ranks the matching texts. Equal scores keep the order of the input.
    pub(crate) fn rank<'t>(
        &mut self,
        needle: &FuzzyQuery,
        texts: impl Iterator<Item = (usize, &'t str)>,
        kind: FuzzyTextKind,
    ) -> Vec<RankedMatch> {
        self.matcher.config = match kind {
            FuzzyTextKind::Words => Config::DEFAULT,
            FuzzyTextKind::Paths => Config::DEFAULT.match_paths(),
        };
        let mut chars = Vec::new();
        let ranked = texts.filter_map(|(at, text)| {
            let length = text.len();
            let text = Utf32Str::new(text, &mut chars);
            let scores = needle.0.iter().map(|atom| atom.score(text, &mut self.matcher).map(u32::from));
            Some(RankedMatch { at, score: scores.sum::<Option<u32>>()?, length })
        });
        let mut ranked: Vec<RankedMatch> = ranked.collect();
        ranked.sort_by_key(|ranked| (Reverse(ranked.score), ranked.at));
        ranked
    }

    /// Returns the indexes, in order, of the graphemes that match the query.
    pub(crate) fn matched_graphemes(&mut self, needle: &FuzzyQuery, text: &str) -> Vec<u32> {
        let (mut chars, mut matched) = (Vec::new(), Vec::new());
        let text = Utf32Str::new(text, &mut chars);
        for atom in &needle.0 {
            atom.indices(text, &mut self.matcher, &mut matched);
        }
        matched.sort_unstable();
        matched.dedup();
        matched
    }
}

fn build_atom(word: &str) -> Atom {
    Atom::new(word, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy, false)
}
