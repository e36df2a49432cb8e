//! Removes keys from all text that people, logs or models read.

use secrecy::{ExposeSecret, SecretString};

/// The secrets of one configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redactor {
    secrets: Vec<SecretString>,
}

/// The minimum length of a secret; shorter values are too common in ordinary text to be hidden.
const SHORTEST: usize = 4;

impl Redactor {
    /// Adds a secret, and the token of a `Bearer <token>` value.
    pub(crate) fn add(&mut self, secret: &str) {
        for part in [secret, secret.rsplit(' ').next().unwrap_or_default()] {
            let known = self.secrets.iter().any(|other| other.expose_secret() == part);
            if part.len() >= SHORTEST && !known {
                self.secrets.push(part.into());
            }
        }
        // A secret that contains another is replaced first; otherwise a part of it would remain.
        self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
    }

    /// Returns the text without any secret, in plain or JSON-escaped form.
    pub(crate) fn apply(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| {
            let secret = secret.expose_secret();
            let escaped = serde_json::to_string(secret).unwrap_or_default();
            let escaped = escaped.trim_matches('"');
            let text = text.replace(secret, "[redacted]");
            if escaped.is_empty() { text } else { text.replace(escaped, "[redacted]") }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_every_form_of_a_secret() {
        let mut redactor = Redactor::default();
        redactor.add("sk-123456");
        redactor.add("Bearer tok\"en");
        redactor.add("abc");
        let text = r#"bad key sk-123456, also tok"en and "tok\"en", not abc"#;
        assert_eq!(redactor.apply(text), r#"bad key [redacted], also [redacted] and "[redacted]", not abc"#);
        assert!(!format!("{redactor:?}").contains("sk-123456"));
    }
}
