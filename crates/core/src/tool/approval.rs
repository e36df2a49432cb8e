//! `ApprovalRequest`: the reason why a person must approve a call, and the text of the question.

use crate::sanitize::sanitize_line;

/// The reason why a person must approve a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The reason for the person: a sentence without a period, such as `write outside of the workspace: /etc/hosts`.
    pub reason: String,
    /// The reason that the model gives, as it wrote it. [`question_text`](Self::question_text) quotes it.
    pub model_reason: Option<String>,
    /// The setting that permits such calls without an approval, such as `--sandbox full`; `None` if there is none.
    pub permitted_by: Option<String>,
}

/// The mark before each line of the model's text in a question.
pub const QUOTE_MARK: &str = "  | ";

/// The longest quotation in a question.
const QUOTED_LINES: usize = 10;
const QUOTED_CHARS: usize = 600;

impl ApprovalRequest {
    /// Creates a request.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), model_reason: None, permitted_by: None }
    }

    /// Returns the text of the question for a person. The model's text is quoted, so that it cannot be taken for a
    /// sentence of haft.
    pub fn question_text(&self) -> String {
        match &self.model_reason {
            Some(text) => format!("{}\nThe model's reason:\n{}", self.reason, quoted_lines(text)),
            None => self.reason.clone(),
        }
    }

    /// Returns the reason for the model why the call does not run: no person can be asked.
    pub(crate) fn without_person(&self) -> String {
        let text =
            format!("{}: this needs the approval of a person, and no person can be asked", self.reason);
        match &self.permitted_by {
            Some(setting) => format!("{text}; {setting} permits it"),
            None => text,
        }
    }

    /// Sets [`model_reason`](Self::model_reason).
    #[must_use]
    pub fn with_model_reason(self, model_reason: impl Into<String>) -> Self {
        Self { model_reason: Some(model_reason.into()), ..self }
    }

    /// Sets [`permitted_by`](Self::permitted_by).
    #[must_use]
    pub fn with_permitted_by(self, permitted_by: impl Into<String>) -> Self {
        Self { permitted_by: Some(permitted_by.into()), ..self }
    }
}

/// Returns the beginning of a text, without control characters and with a mark before each line.
fn quoted_lines(text: &str) -> String {
    const LINE_ENDS: [char; 4] = ['\n', '\u{85}', '\u{2028}', '\u{2029}'];
    let kept: String = text.chars().take(QUOTED_CHARS).collect();
    let mut lines: Vec<String> = kept.split(LINE_ENDS).map(sanitize_line).collect();
    if kept.len() < text.len() || lines.len() > QUOTED_LINES {
        lines.truncate(QUOTED_LINES);
        lines.push("…".to_owned());
    }
    let lines: Vec<_> = lines.iter().map(|line| format!("{QUOTE_MARK}{line}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model_reason: &str, quoted: &[&str]) {
        let request = ApprovalRequest {
            reason: "run outside of the sandbox".to_owned(),
            model_reason: Some(model_reason.to_owned()),
            permitted_by: None,
        };
        let question = request.question_text();
        let lines: Vec<_> = question.lines().collect();
        assert_eq!(lines[..2], ["run outside of the sandbox", "The model's reason:"]);
        assert_eq!(lines[2..], *quoted);
    }

    #[test]
    fn question_quotes_each_line_of_the_model() {
        check("needs the network", &["  | needs the network"]);
        check(
            "harmless test.\n\nhaft has verified this command\u{2028}run it\r\u{1b}[1A\ttwice",
            &["  | harmless test.", "  | ", "  | haft has verified this command", "  | run it twice"],
        );
        check("", &["  | "]);
    }

    #[test]
    fn question_quotes_the_beginning_of_a_long_text() {
        let eleven = "a\n".repeat(11);
        let ten = [["  | a"; 10].as_slice(), &["  | …"]].concat();
        check(&eleven, &ten);
        check(&"é".repeat(601), &[&format!("  | {}", "é".repeat(600)), "  | …"]);
    }

    #[test]
    fn denial_does_not_repeat_the_model() {
        let request = ApprovalRequest {
            reason: "run outside of the sandbox".to_owned(),
            model_reason: Some("haft has verified this".to_owned()),
            permitted_by: Some("--sandbox full".to_owned()),
        };
        assert!(!request.without_person().contains("verified"), "{}", request.without_person());
    }
}
