//! The prompt history, across sessions.
//!
//! A prompt that begins with a blank is not recorded, so a person can keep a prompt out of the history.
//!
//! The history file has one line of JSON per prompt, `{"text":"…"}`, oldest first. Several programs append to it.
//! Truncated or invalid lines are skipped, and unknown keys are ignored: a later version may write more.

mod search;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::editor::EditorContent;

pub use search::{PromptMatch, PromptSearch};

/// The maximum number of prompts.
pub const MOST_PROMPTS: usize = 2000;

/// The maximum size of all prompts, in bytes.
pub const MOST_BYTES: usize = 1024 * 1024;

/// The longest prompt to record, in bytes.
pub const LONGEST: usize = 64 * 1024;

/// The prompt history, oldest first, and the prompt that the editor shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptHistory {
    prompts: Vec<String>,
    /// The index of the shown prompt; the number of prompts means the text that is being written.
    at: usize,
    /// The edited versions of shown prompts, and the text that is being written.
    changed: BTreeMap<usize, EditorContent>,
    /// The shown prompt, as it was put into the editor.
    shown: Option<EditorContent>,
}

/// A decoded history file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecodedHistory {
    /// The newest prompts of the file, up to the maximum.
    pub history: PromptHistory,
    /// True if the file has grown so much that the output of [`PromptHistory::encode`] should replace it. Other
    /// programs may be appending, so only the holder of the file's lock may do so.
    pub rewrite: bool,
}

#[derive(Serialize, Deserialize)]
struct HistoryLine<'t> {
    #[serde(borrow)]
    text: Cow<'t, str>,
}

impl PromptHistory {
    /// Returns the prompts, oldest first.
    pub fn prompts(&self) -> &[String] {
        &self.prompts
    }

    /// Records a sent prompt: [`Submission::history_text`](crate::editor::Submission::history_text). Returns the line
    /// to append to the file; `None` if the prompt is not recorded.
    pub fn push(&mut self, prompt: &str) -> Option<String> {
        self.stop_browsing();
        let kept = is_kept(prompt) && self.prompts.last().is_none_or(|last| last != prompt);
        if !kept {
            return None;
        }
        self.prompts.push(prompt.to_owned());
        self.drop_oldest();
        self.stop_browsing();
        encode_line(prompt)
    }

    /// Returns the prompt before the shown one, while the editor holds `now`. `None` at the oldest prompt.
    pub fn show_older(&mut self, now: EditorContent) -> Option<EditorContent> {
        let at = self.at.checked_sub(1)?;
        Some(self.show(at, now))
    }

    /// Returns the prompt after the shown one, and finally the text that was being written. `None` at the end.
    pub fn show_newer(&mut self, now: EditorContent) -> Option<EditorContent> {
        let at = self.at + 1;
        (at <= self.prompts.len()).then(|| self.show(at, now))
    }

    /// True if the editor holds an unedited prompt of the history. Then up and down browse the history, even in a
    /// prompt of several rows.
    pub fn shows_unedited_prompt(&self, now: &EditorContent) -> bool {
        self.shown.as_ref() == Some(now)
    }

    /// Takes the shown prompt as the editor holds it: folded pastes may have new characters there.
    pub fn set_shown(&mut self, now: EditorContent) {
        if let Some(shown) = &mut self.shown {
            *shown = now;
        }
    }

    /// Stops browsing: the editor was cleared or holds another text.
    pub fn stop_browsing(&mut self) {
        self.at = self.prompts.len();
        self.changed.clear();
        self.shown = None;
    }

    fn show(&mut self, at: usize, now: EditorContent) -> EditorContent {
        self.changed.insert(self.at, now);
        self.at = at;
        let original = || self.prompts.get(at).map(|prompt| EditorContent::from_prompt(prompt));
        let shown = self.changed.get(&at).cloned().or_else(original).unwrap_or_default();
        // The text that is being written is edited as usual.
        self.shown = (at < self.prompts.len()).then(|| shown.clone());
        shown
    }

    /// Decodes a file. Duplicates from two programs and prompts beyond the maximum are skipped.
    pub fn decode(file: &str) -> DecodedHistory {
        let mut decoded = DecodedHistory::default();
        let prompts = &mut decoded.history.prompts;
        let mut lines = 0;
        for line in file.lines().filter(|line| !line.trim().is_empty()) {
            lines += 1;
            if let Ok(HistoryLine { text }) = serde_json::from_str::<HistoryLine<'_>>(line)
                && is_kept(&text)
                && prompts.last().is_none_or(|last| *last != text)
            {
                prompts.push(text.into_owned());
            }
        }
        decoded.history.drop_oldest();
        decoded.history.stop_browsing();
        decoded.rewrite = lines > 2 * MOST_PROMPTS || file.len() > 2 * MOST_BYTES;
        decoded
    }

    /// Encodes the file of the recorded prompts.
    pub fn encode(&self) -> String {
        self.prompts.iter().filter_map(|prompt| encode_line(prompt)).collect()
    }

    /// Removes the oldest prompts beyond the maximum.
    fn drop_oldest(&mut self) {
        let mut bytes = 0;
        let newest = self.prompts.iter().rev().take(MOST_PROMPTS);
        let kept = newest.take_while(|prompt| {
            bytes += prompt.len();
            bytes <= MOST_BYTES
        });
        let kept = kept.count();
        self.prompts.drain(..self.prompts.len() - kept);
    }
}

fn is_kept(prompt: &str) -> bool {
    !prompt.starts_with(char::is_whitespace) && !prompt.is_empty() && prompt.len() <= LONGEST
}

fn encode_line(prompt: &str) -> Option<String> {
    let json = serde_json::to_string(&HistoryLine { text: prompt.into() });
    json.ok().map(|json| json + "\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::editor::Editor;

    fn of(prompts: &[&str]) -> PromptHistory {
        let mut history = PromptHistory::default();
        for prompt in prompts {
            history.push(prompt);
        }
        history
    }

    fn text(content: Option<EditorContent>) -> Option<String> {
        content.map(|content| content.submission().text)
    }

    #[test]
    fn restores_current_text_after_browsing() {
        let mut history = of(&["one", "two"]);
        let mut editor = Editor::new();
        editor.insert("draft ");
        editor.paste(&"x\n".repeat(20), |_| false);
        let draft = editor.content();
        assert_eq!(text(history.show_older(draft.clone())).as_deref(), Some("two"));
        assert_eq!(
            text(history.show_older(EditorContent::from_text("two, changed"))).as_deref(),
            Some("one")
        );
        assert_eq!(history.show_older(EditorContent::from_text("one")), None);
        assert_eq!(
            text(history.show_newer(EditorContent::from_text("one"))).as_deref(),
            Some("two, changed")
        );
        assert_eq!(history.show_newer(EditorContent::from_text("two, changed")), Some(draft.clone()));
        assert_eq!(history.show_newer(draft), None);
    }

    #[test]
    fn recognizes_unedited_prompt() {
        let mut history = of(&["a\nb"]);
        let shown = history.show_older(EditorContent::default()).unwrap();
        assert!(history.shows_unedited_prompt(&shown));
        assert!(!history.shows_unedited_prompt(&EditorContent::from_text("a\nbc")));
        history.stop_browsing();
        assert!(!history.shows_unedited_prompt(&shown));
    }

    #[test]
    fn folds_long_prompts_again() {
        let long = format!("explain this:\n{}", "x\n".repeat(20));
        let mut history = of(&["short", long.trim_end()]);
        let mut editor = Editor::new();
        editor.paste(&"y\n".repeat(20), |_| false);
        let shown = history.show_older(editor.content()).unwrap();
        editor.set(&shown);
        history.set_shown(editor.content());
        assert!(history.shows_unedited_prompt(&editor.content()));
        assert_eq!(editor.text().lines().count(), 2, "{:?}", editor.text());
        assert_eq!(editor.submission().text, long.trim_end());
        assert_eq!(text(history.show_older(editor.content())).as_deref(), Some("short"));
    }

    #[test]
    fn skips_prompts_with_leading_blank_and_duplicates() {
        let mut history = of(&["one"]);
        for not_kept in [" my secret", "one", "", "\nx", &"x".repeat(LONGEST + 1)] {
            assert_eq!(history.push(not_kept), None);
        }
        assert_eq!(history.prompts(), ["one"]);
        assert_eq!(history.push("two").as_deref(), Some("{\"text\":\"two\"}\n"));
        assert_eq!(history.push("one").as_deref(), Some("{\"text\":\"one\"}\n"));
    }

    #[test]
    fn drops_oldest_prompts() {
        let mut history = PromptHistory::default();
        for number in 0..MOST_PROMPTS + 5 {
            history.push(&number.to_string());
        }
        assert_eq!(history.prompts().len(), MOST_PROMPTS);
        assert_eq!(history.prompts()[0], "5");
        for number in 0..20 {
            history.push(&format!("{number}{}", "x".repeat(LONGEST - 10)));
        }
        assert_eq!(history.prompts().len(), 16);
        assert_eq!(text(history.show_older(EditorContent::default())).unwrap()[..2], *"19");
    }

    #[test]
    fn skips_invalid_lines() {
        let file =
            "{\"text\":\"one\"}\nnonsense\n{\"text\":\"two\",\"time\":7}\n\n{\"text\":\" secret\"}\n{\"te";
        let decoded = PromptHistory::decode(file);
        assert_eq!(decoded.history.prompts(), ["one", "two"]);
        assert!(!decoded.rewrite);
    }

    #[test]
    fn grown_file_requests_rewrite() {
        let file: String =
            (0..=2 * MOST_PROMPTS).filter_map(|number| encode_line(&number.to_string())).collect();
        let decoded = PromptHistory::decode(&file);
        assert!(decoded.rewrite);
        let again = PromptHistory::decode(&decoded.history.encode());
        assert_eq!((&again.history, again.rewrite), (&decoded.history, false));
    }

    proptest! {
        #[test]
        fn decodes_encoded_history(prompts in proptest::collection::vec(any::<String>(), 0..20)) {
            let mut history = PromptHistory::default();
            let file: String = prompts.iter().filter_map(|prompt| history.push(prompt)).collect();
            prop_assert_eq!(&PromptHistory::decode(&file).history, &history);
            prop_assert_eq!(PromptHistory::decode(&history.encode()).history, history);
        }

        #[test]
        fn decodes_any_file_without_panic(file in any::<String>()) {
            PromptHistory::decode(&file);
        }
    }
}
