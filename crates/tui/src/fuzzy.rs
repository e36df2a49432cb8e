//! Matches of a typed text, the best first.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

#[derive(Debug, Default)]
pub(crate) struct FuzzyMatcher {
    matcher: Matcher,
}

/// The typed text. Capitals count where some are typed.
#[derive(Debug, Clone)]
pub(crate) struct FuzzyQuery(Vec<Atom>);

/// The kind of the texts: where what is typed counts more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FuzzyTextKind {
    Words,
    /// Where names of files and directories begin.
    Paths,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankedMatch {
    /// Its place, as it was given.
    pub(crate) at: usize,
    /// The more, the better it fits.
    pub(crate) score: u32,
    /// Of the text, in bytes.
    pub(crate) length: usize,
}

impl FuzzyQuery {
    /// One text, with its blanks.
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
    /// Those that fit; of two that fit as well, the earlier first.
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

    /// The graphemes of a text that are typed, counted from 0, in order.
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
