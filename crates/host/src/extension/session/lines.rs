//! What the host says, as lines.

use haft_protocol::codec;
use haft_protocol::ext::HostFrame;

use super::Session;

impl<T> Session<T> {
    /// One line, or why it is none.
    pub(super) fn encode(&self, frame: &HostFrame) -> Result<String, String> {
        self.bounded(codec::encode(frame).map_err(|error| format!("it has no JSON form: {error}"))?)
    }

    pub(super) fn bounded(&self, line: String) -> Result<String, String> {
        let most = self.facts.limits.max_result_line;
        if line.len() > most {
            return Err(format!("{} bytes are more than the {most} a frame may have", line.len()));
        }
        Ok(line)
    }
}
