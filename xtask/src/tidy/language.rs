//! The language of names and prose: measures that are counted, and whose committed counts may only fall.
//!
//! Each measure counts the offenses against one rule of plain technical English or of naming. `xtask/language.txt` holds
//! the counts. A change that adds an offense fails; a change that removes one lowers the count with it.

mod prose;
mod source;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, bail};

use xtask::words;

use crate::repo::{self, RepoFile};
use source::SourceNames;

/// The file with the committed counts.
const COUNTS: &str = "xtask/language.txt";

/// The longest sentence in words.
const MAX_WORDS: usize = 30;

/// The page with the terms of the project.
const GLOSSARY: &str = "docs/glossary.md";

/// Words that begin a message without saying what failed.
const NO_SUBJECTS: &[&str] = &[
    "is", "was", "has", "had", "does", "did", "must", "needs", "takes", "says", "asks", "gets", "gives",
    "goes", "holds", "lies", "names", "stands", "wants", "makes", "comes", "it", "one", "what", "whatever",
    "whoever", "somebody", "nobody", "that", "there", "they",
];

/// Words that no summary line begins with.
const BANNED_OPENINGS: &[&str] = &["What", "Whether", "Who", "Whose", "Whom", "How", "That"];

/// Function names of one word that every reader knows, between blanks.
const KNOWN_VERBS: &str = "\
    abort add all answer append apply at begin block build bytes call cancel check clear close code \
    collect columns command compact complete confirm connect contains content count create cwd \
    decode default delete description digest dir drain draw edit encode end entries error event \
    events exec expand export fetch find finish flush fork format from get group handle header host \
    id image import index init insert install interrupt is items iter join key keys kill kind label \
    layer layout len length level limits line lines list load lock log login logout main map \
    markdown merge message messages model models name names new next note open origin output parse \
    parts patch path paths ping pop previous print prompt provider push query queue quit read reason \
    reload remove rename render replace reply report request reset resize resolve restart restore \
    result resume revoke role rows run save scan scroll search select send serve session sessions \
    set setting settings setup show shutdown size skip sort source spawn split start state stats \
    status stop store style subscribe summary sync take text theme time title tool tools trim \
    truncate trust tty undo update usage validate value values version view wait width wrap write";

/// The subject of a count, by its name in [`COUNTS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LanguageMeasure {
    BannedOpening,
    LongSentence,
    RepeatedType,
    OneWordType,
    OneWordFunction,
    OneWordTest,
    ReplacedWord,
    ErrorMessage,
}

impl LanguageMeasure {
    const ALL: [Self; 8] = [
        Self::BannedOpening,
        Self::LongSentence,
        Self::RepeatedType,
        Self::OneWordType,
        Self::OneWordFunction,
        Self::OneWordTest,
        Self::ReplacedWord,
        Self::ErrorMessage,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::BannedOpening => "banned-opening",
            Self::LongSentence => "long-sentence",
            Self::RepeatedType => "repeated-type",
            Self::OneWordType => "one-word-type",
            Self::OneWordFunction => "one-word-function",
            Self::OneWordTest => "one-word-test",
            Self::ReplacedWord => "replaced-word",
            Self::ErrorMessage => "error-message",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::BannedOpening => "summary lines that begin with What, Whether, Who, How or That",
            Self::LongSentence => "sentences of the docs and summary lines with more than 30 words",
            Self::RepeatedType => "types whose name another type of the crate has",
            Self::OneWordType => "type names of one word",
            Self::OneWordFunction => "uncommon function names of one word",
            Self::OneWordTest => "tests whose name of one word states no behavior",
            Self::ReplacedWord => "words that a standard term replaced",
            Self::ErrorMessage => "messages of error types without a subject, or with a replaced word",
        }
    }
}

/// The offenses against every measure, and how many places were looked at.
#[derive(Debug, Default)]
struct LanguageOffenses {
    found: BTreeMap<LanguageMeasure, Vec<String>>,
    checked: BTreeMap<LanguageMeasure, usize>,
    /// The words that the glossary rejects, each with the term to use instead.
    other_terms: Vec<(String, String)>,
}

impl LanguageOffenses {
    fn record(&mut self, measure: LanguageMeasure, offense: Option<String>) {
        *self.checked.entry(measure).or_default() += 1;
        self.found.entry(measure).or_default().extend(offense);
    }

    fn list_for(&self, measure: LanguageMeasure) -> &[String] {
        self.found.get(&measure).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Compares the counts with the committed ones.
pub(super) fn check(files: &[RepoFile]) -> Vec<String> {
    let offenses = collect_offenses(files);
    let committed = files.iter().find(|file| file.path == COUNTS).map(|file| file.text.as_str());
    let committed = parse_counts(committed.unwrap_or_default());
    LanguageMeasure::ALL
        .into_iter()
        .filter_map(|measure| compare_count(measure, &offenses, &committed))
        .collect()
}

fn compare_count(
    measure: LanguageMeasure,
    offenses: &LanguageOffenses,
    committed: &BTreeMap<&str, usize>,
) -> Option<String> {
    let (name, now) = (measure.name(), offenses.list_for(measure).len());
    match committed.get(name) {
        None => Some(format!("{COUNTS}: no count of {name}; run `cargo xtask language --write`")),
        Some(before) if now > *before => Some(format!(
            "{name}: {now} {}, {before} before; `cargo xtask language {name}` lists them",
            measure.description()
        )),
        Some(before) if now < *before => {
            Some(format!("{COUNTS}: {name} fell from {before} to {now}; run `cargo xtask language --write`"))
        }
        Some(_) => None,
    }
}

/// Prints the counts, or the offenses against one measure, or writes the counts down.
pub(crate) fn run(args: &[&str]) -> Result<String> {
    let offenses = collect_offenses(&repo::text_files(".")?);
    match *args {
        [] => Ok(format_table(&offenses)),
        ["--write"] => {
            let path = repo::root().join(COUNTS);
            std::fs::write(&path, format_counts(&offenses)).with_context(|| format!("write {COUNTS}"))?;
            Ok(format!("wrote {COUNTS}\n"))
        }
        [name] => {
            let Some(measure) = LanguageMeasure::ALL.into_iter().find(|measure| measure.name() == name)
            else {
                bail!("no measure {name}; `cargo xtask language` lists them");
            };
            Ok(offenses.list_for(measure).iter().map(|offense| format!("{offense}\n")).collect())
        }
        _ => bail!("usage: cargo xtask language [MEASURE | --write]"),
    }
}

fn format_table(offenses: &LanguageOffenses) -> String {
    let mut table = String::new();
    for measure in LanguageMeasure::ALL {
        let (now, all) =
            (offenses.list_for(measure).len(), offenses.checked.get(&measure).copied().unwrap_or(0));
        let share = 100.0 * now as f64 / all.max(1) as f64;
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "{:<18} {now:>6} of {all:>6} {share:>5.1} %  {}",
            measure.name(),
            measure.description()
        );
    }
    table
}

fn format_counts(offenses: &LanguageOffenses) -> String {
    let head = "# Counts of `cargo xtask language`. They may only fall; `--write` renews them.\n";
    let line =
        |measure: &LanguageMeasure| format!("{} {}\n", measure.name(), offenses.list_for(*measure).len());
    LanguageMeasure::ALL.iter().fold(head.to_owned(), |text, measure| text + &line(measure))
}

fn parse_counts(text: &str) -> BTreeMap<&str, usize> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(name, count)| Some((name, count.parse().ok()?))).collect()
}

fn collect_offenses(files: &[RepoFile]) -> LanguageOffenses {
    let mut offenses = LanguageOffenses { other_terms: other_terms(files), ..LanguageOffenses::default() };
    let mut types = BTreeMap::<(&str, String), Vec<String>>::new();
    for file in files {
        if file.path.ends_with(".rs") {
            // What does not parse is a finding of the check of the structure.
            let Ok(source) = SourceNames::read(&file.text) else { continue };
            record_tests(&mut offenses, &file.path, &source);
            let Some(name) = crate_of(&file.path).filter(|_| is_product(&file.path)) else { continue };
            record_source(&mut offenses, &file.path, &source);
            for (line, ident) in source.types {
                types.entry((name, ident)).or_default().push(format!("{}:{line}", file.path));
            }
        } else if is_page(&file.path) && file.path != GLOSSARY {
            for (line, sentence) in prose::sentences(&file.text) {
                record_sentence(&mut offenses, &format!("{}:{line}", file.path), &sentence);
            }
        }
    }
    for ((_, ident), places) in types {
        for place in &places {
            let offense = || format!("{place}: {ident}");
            offenses.record(LanguageMeasure::RepeatedType, (places.len() > 1).then(offense));
            offenses.record(LanguageMeasure::OneWordType, is_one_word(&ident).then(offense));
        }
    }
    offenses
}

fn record_source(offenses: &mut LanguageOffenses, path: &str, source: &SourceNames) {
    for (line, summary) in &source.summaries {
        let place = format!("{path}:{line}");
        let opening = summary.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_banned = BANNED_OPENINGS.contains(&opening);
        offenses.record(LanguageMeasure::BannedOpening, is_banned.then(|| format!("{place}: {summary}")));
        record_sentence(offenses, &place, summary);
    }
    for (line, message) in &source.messages {
        let problem = find_message_problem(message);
        let offense = problem.map(|problem| format!("{path}:{line}: {problem}: {message}"));
        offenses.record(LanguageMeasure::ErrorMessage, offense);
    }
    for (line, ident) in &source.functions {
        let is_odd = !ident.contains('_') && !KNOWN_VERBS.split(' ').any(|known| known == ident);
        offenses.record(LanguageMeasure::OneWordFunction, is_odd.then(|| format!("{path}:{line}: {ident}")));
    }
}

fn record_tests(offenses: &mut LanguageOffenses, path: &str, source: &SourceNames) {
    for (line, ident) in &source.tests {
        let is_one_word = !ident.contains('_');
        offenses.record(LanguageMeasure::OneWordTest, is_one_word.then(|| format!("{path}:{line}: {ident}")));
    }
}

fn record_sentence(offenses: &mut LanguageOffenses, place: &str, sentence: &str) {
    let words = sentence.split_whitespace().count();
    let is_long = words > MAX_WORDS;
    offenses.record(
        LanguageMeasure::LongSentence,
        is_long.then(|| format!("{place}: {words} words: {sentence}")),
    );
    let replaced = words::find_replaced(sentence).map(|(word, by)| (word.to_owned(), by.to_owned()));
    let replaced = replaced.or_else(|| {
        let known = &offenses.other_terms;
        known.iter().find(|(word, _)| words::contains_phrase(sentence, word)).cloned()
    });
    let offense = replaced.map(|(word, by)| format!("{place}: {word} (write: {by}): {sentence}"));
    offenses.record(LanguageMeasure::ReplacedWord, offense);
}

/// The words that the glossary rejects, each with the term to use instead.
fn other_terms(files: &[RepoFile]) -> Vec<(String, String)> {
    let glossary = files.iter().find(|file| file.path == GLOSSARY).map_or("", |file| &file.text);
    let rows = glossary.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.filter_map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, term, _, others, _] = cells[..] else { return None };
        let others = others.split(',').map(str::trim).filter(|other| !other.is_empty());
        Some(others.map(|other| (other.to_owned(), term.to_owned())).collect::<Vec<_>>())
    })
    .flatten()
    .collect()
}

/// Says what is wrong with the message of an error: a reader has to see what failed.
fn find_message_problem(message: &str) -> Option<&'static str> {
    let first = message.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    if NO_SUBJECTS.contains(&first.as_str()) {
        return Some("no subject");
    }
    words::find_replaced(message).map(|(word, _)| word)
}

/// The crate that a source file belongs to.
fn crate_of(path: &str) -> Option<&str> {
    let path = path.trim_start_matches("crates/").trim_start_matches("adapters/");
    path.split_once("/src/").map(|(name, _)| name).filter(|name| !name.contains('/') && path.ends_with(".rs"))
}

fn is_product(path: &str) -> bool {
    !path.contains("/tests/") && !path.ends_with("/tests.rs")
}

/// True for a page that people read.
fn is_page(path: &str) -> bool {
    path.ends_with(".md")
        && (!path.contains('/') || path.starts_with("docs/") || path.starts_with("examples/"))
}

/// True for `Desk`, false for `CommandScheduler`.
fn is_one_word(ident: &str) -> bool {
    ident.chars().filter(|c| c.is_uppercase()).count() < 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> RepoFile {
        RepoFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[track_caller]
    fn check_offenses(path: &str, text: &str, expect: &[(LanguageMeasure, &str)]) {
        let offenses = collect_offenses(&[file(path, text)]);
        let found = offenses
            .found
            .iter()
            .flat_map(|(measure, found)| found.iter().map(|text| (*measure, text.as_str())));
        assert_eq!(found.collect::<Vec<_>>(), expect);
    }

    #[test]
    fn counts_offenses_of_a_source_file() {
        check_offenses("crates/a/src/b.rs", "//! Parses lines.\n\n/// Returns it.\nfn read_line() {}\n", &[]);
        check_offenses(
            "crates/a/src/b.rs",
            "//! What it is.\n/// Whether it is.\nfn heard() {}\n/// A place.\nstruct Place;\nmod c { enum Place {} }\n",
            &[
                (LanguageMeasure::BannedOpening, "crates/a/src/b.rs:1: What it is."),
                (LanguageMeasure::BannedOpening, "crates/a/src/b.rs:2: Whether it is."),
                (LanguageMeasure::RepeatedType, "crates/a/src/b.rs:5: Place"),
                (LanguageMeasure::RepeatedType, "crates/a/src/b.rs:6: Place"),
                (LanguageMeasure::OneWordType, "crates/a/src/b.rs:5: Place"),
                (LanguageMeasure::OneWordType, "crates/a/src/b.rs:6: Place"),
                (LanguageMeasure::OneWordFunction, "crates/a/src/b.rs:3: heard"),
            ],
        );
    }

    #[test]
    fn counts_summaries_in_macro_calls() {
        let long = "word ".repeat(31);
        check_offenses(
            "crates/a/src/b.rs",
            &format!(
                "//! A.\n\nkeys! {{\n    /// What it is\n    /// for.\n    a {{\n        /// {long}\n        b: 1,\n        #[doc = \"Whether.\"]\n        c: 2,\n    }}\n}}\n"
            ),
            &[
                (LanguageMeasure::BannedOpening, "crates/a/src/b.rs:4: What it is for."),
                (LanguageMeasure::BannedOpening, "crates/a/src/b.rs:9: Whether."),
                (LanguageMeasure::LongSentence, &format!("crates/a/src/b.rs:7: 31 words: {}", long.trim())),
            ],
        );
        check_offenses("crates/a/src/b.rs", "//! A.\n#[cfg(test)]\nkeys! {\n/// What.\na: 1 }\n", &[]);
    }

    #[test]
    fn ignores_tests_and_trait_implementations() {
        let text = "//! A.\n#[cfg(test)]\nmod tests { /** What */ struct Row; fn heard() {} }\nimpl T for () { fn heard() {} }";
        check_offenses("crates/a/src/b.rs", text, &[]);
        check_offenses("crates/a/tests/it/b.rs", "/// What it is.\nstruct Row;", &[]);
    }

    #[test]
    fn counts_tests_with_names_of_one_word() {
        let text = "#[tokio::test(start_paused = true)]\nasync fn yes() {}\n#[test]\nfn denied_call_returns_reason() {}\nfn no() {}\n";
        let expect = |offense| [(LanguageMeasure::OneWordTest, offense)];
        check_offenses("crates/a/tests/it/b.rs", text, &expect("crates/a/tests/it/b.rs:2: yes"));
        let text = format!("//! A.\n#[cfg(test)]\nmod tests {{\n{text}}}\n");
        check_offenses("crates/a/src/b.rs", &text, &expect("crates/a/src/b.rs:5: yes"));
    }

    #[test]
    fn counts_long_sentences_and_replaced_words_of_pages() {
        let long = "word ".repeat(31);
        check_offenses(
            "docs/a.md",
            &format!("# A\n\nShort. {long}end.\n\n- haft goes on with it.\n\n```\nnobody\n```\n"),
            &[
                (LanguageMeasure::LongSentence, &format!("docs/a.md:3: 32 words: {long}end.")),
                (
                    LanguageMeasure::ReplacedWord,
                    "docs/a.md:5: goes on with (write: continues): haft goes on with it.",
                ),
            ],
        );
    }

    #[test]
    fn counts_messages_without_a_subject() {
        let text = "//! A.\n\n/// Fails.\nenum ReadError {\n    #[error(\"is no file\")]\n    NoFile,\n    #[error(\"{path} is not a file\")]\n    Other,\n}\n";
        check_offenses(
            "crates/a/src/b.rs",
            text,
            &[(LanguageMeasure::ErrorMessage, "crates/a/src/b.rs:5: no subject: is no file")],
        );
    }

    #[test]
    fn counts_words_that_the_glossary_rejects() {
        let files = [
            file(
                GLOSSARY,
                "# G\n\n| term | meaning | not |\n|---|---|---|\n| extension | A program. | plugin, add-on |\n",
            ),
            file("docs/a.md", "# A\n\nInstall an add-on.\n"),
        ];
        let offenses = collect_offenses(&files);
        let expect = ["docs/a.md:3: add-on (write: extension): Install an add-on."];
        assert_eq!(offenses.list_for(LanguageMeasure::ReplacedWord), expect);
    }

    #[test]
    fn reports_a_count_that_differs() {
        let source = file("crates/a/src/b.rs", "//! What it is.\n");
        let with = |count: &str| {
            let text = format!(
                "# Counts\nbanned-opening {count}\nlong-sentence 0\nrepeated-type 0\none-word-type 0\none-word-function 0\none-word-test 0\nreplaced-word 0\nerror-message 0\n"
            );
            check(&[file("crates/a/src/b.rs", &source.text), file(COUNTS, &text)])
        };
        assert!(with("1").is_empty());
        assert!(with("0")[0].contains("1 summary lines that begin with"), "{:?}", with("0"));
        assert!(with("2")[0].contains("fell from 2 to 1"), "{:?}", with("2"));
        assert_eq!(check(&[source]).len(), LanguageMeasure::ALL.len());
    }
}
