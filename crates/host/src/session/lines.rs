//! What the host says, as lines.

use super::Session;
use super::dialect::Words;

impl<T> Session<T> {
    /// One line, or why it is none.
    pub(super) fn encode(&self, words: impl Into<Words>) -> Result<String, String> {
        self.bounded(words.into().line()?)
    }

    pub(super) fn bounded(&self, line: String) -> Result<String, String> {
        let most = self.facts.limits.max_result_line;
        if line.len() > most {
            return Err(format!("{} bytes are more than the {most} a frame may have", line.len()));
        }
        Ok(line)
    }
}
