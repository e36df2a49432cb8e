//! The file of prompts: a line of JSON for each, `{"text":"…"}`, oldest first.
//!
//! Several programs append to it. A line that is cut off or not understood is passed over, and so are keys that are not
//! known: a later version may write more.

use serde::{Deserialize, Serialize};

use super::{History, MOST_BYTES, MOST_PROMPTS, is_kept};

#[derive(Serialize, Deserialize)]
struct Line<'t> {
    #[serde(borrow)]
    text: std::borrow::Cow<'t, str>,
}

/// A file that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decoded {
    /// The newest of its prompts, as many as are kept.
    pub history: History,
    /// How many lines were not understood.
    pub unreadable: usize,
    /// Whether the file has grown so far that [`History::encode`] should take its place. Others may be appending: that
    /// is for who holds the file's lock.
    pub rewrite: bool,
}

/// The line of a prompt.
pub(super) fn line(prompt: &str) -> Option<String> {
    let json = serde_json::to_string(&Line { text: prompt.into() });
    json.ok().map(|json| json + "\n")
}

impl History {
    /// Reads a file. What two programs kept at once, and what is kept no longer, is passed over.
    pub fn decode(file: &str) -> Decoded {
        let mut decoded = Decoded::default();
        let prompts = &mut decoded.history.prompts;
        let mut lines = 0;
        for line in file.lines().filter(|line| !line.trim().is_empty()) {
            lines += 1;
            match serde_json::from_str::<Line<'_>>(line) {
                Ok(Line { text }) if is_kept(&text) && prompts.last().is_none_or(|last| *last != text) => {
                    prompts.push(text.into_owned());
                }
                Ok(_) => {}
                Err(_) => decoded.unreadable += 1,
            }
        }
        decoded.history.bound();
        decoded.history.leave();
        decoded.rewrite = lines > 2 * MOST_PROMPTS || file.len() > 2 * MOST_BYTES;
        decoded
    }

    /// The file for the prompts that are kept.
    pub fn encode(&self) -> String {
        self.prompts.iter().filter_map(|prompt| line(prompt)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_that_are_not_understood_are_passed_over() {
        let file =
            "{\"text\":\"one\"}\nnonsense\n{\"text\":\"two\",\"time\":7}\n\n{\"text\":\" secret\"}\n{\"te";
        let decoded = History::decode(file);
        assert_eq!(decoded.history.prompts(), ["one", "two"]);
        assert_eq!((decoded.unreadable, decoded.rewrite), (2, false));
    }

    #[test]
    fn a_file_that_has_grown_is_to_be_written_anew() {
        let file: String = (0..=2 * MOST_PROMPTS).filter_map(|number| line(&number.to_string())).collect();
        let decoded = History::decode(&file);
        assert!(decoded.rewrite);
        let again = History::decode(&decoded.history.encode());
        assert_eq!((&again.history, again.rewrite), (&decoded.history, false));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(prompts in proptest::collection::vec(any::<String>(), 0..20)) {
            let mut history = History::default();
            let file: String = prompts.iter().filter_map(|prompt| history.push(prompt)).collect();
            prop_assert_eq!(&History::decode(&file).history, &history);
            prop_assert_eq!(History::decode(&history.encode()).history, history);
        }

        #[test]
        fn no_file_is_too_strange(file in any::<String>()) {
            History::decode(&file);
        }
    }
}
