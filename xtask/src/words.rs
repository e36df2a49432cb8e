//! Words that a standard term replaced: `tidy` counts them in prose, and tests look for them in help texts.

/// Words and phrases that others replaced, each with the replacement.
const REPLACED: &[(&str, &str)] = &[
    ("go on with", "continue"),
    ("goes on with", "continues"),
    ("going on with", "continuing"),
    ("sum up", "summarize"),
    ("sums up", "summarizes"),
    ("summed up", "summarized"),
    ("summing up", "summarizing"),
    ("mend", "repair"),
    ("mends", "repairs"),
    ("mended", "repaired"),
    ("shall", "must"),
    ("whoever", "the caller"),
    ("nobody", "no user, no caller, …"),
    ("somebody", "a user, a caller, …"),
    ("anew", "again"),
    ("cannot be had", "is not available"),
    ("stands for", "means"),
    ("is told of", "is notified of"),
    ("are told of", "are notified of"),
    ("taken back", "cancelled"),
    ("unconfined", "not sandboxed"),
    ("unpinned", "not approved"),
];

/// Returns the first word or phrase of a text that a standard term replaced, with that term.
pub fn find_replaced(text: &str) -> Option<(&'static str, &'static str)> {
    let padded = format!(" {} ", plain_words(text));
    REPLACED.iter().find(|(word, _)| padded.contains(&format!(" {word} "))).copied()
}

/// True if a text contains these words next to each other.
pub fn contains_phrase(text: &str, phrase: &str) -> bool {
    format!(" {} ", plain_words(text)).contains(&format!(" {phrase} "))
}

/// The words of a sentence in lower case, without code and punctuation, one blank between two.
fn plain_words(sentence: &str) -> String {
    let prose: String = sentence.split('`').step_by(2).collect::<Vec<_>>().join(" ` ");
    let word = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    prose.split_whitespace().map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_replaced_words_outside_of_code() {
        assert_eq!(find_replaced("haft goes on with it."), Some(("goes on with", "continues")));
        assert_eq!(find_replaced("Shall, they said."), Some(("shall", "must")));
        assert_eq!(find_replaced("The `shall` of marshall."), None);
        assert_eq!(plain_words("The `shall` of **it**, (Anew)."), "the of it anew");
    }
}
