//! Facts about a session for readers of its page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use haft_core::session::entry::{EntryBody, MessageEntry, ResponseMetadata};
use haft_core::session::{RecoveredSession, tag_text};
use haft_protocol::content::written_text;
use haft_protocol::message::{Message, Rfc3339Time, TokenUsage};

use super::text::{html_text, short_text, time_element};

/// The facts of a session, counted over all branches.
#[derive(Default)]
pub(super) struct SessionFacts {
    name: Option<String>,
    first_text: Option<String>,
    tags: BTreeMap<String, String>,
    models: Vec<String>,
    last: Option<Rfc3339Time>,
    prompts: usize,
    answers: usize,
    calls: usize,
    failed: usize,
    usage: TokenUsage,
}

impl SessionFacts {
    pub(super) fn from_session(session: &RecoveredSession) -> Self {
        let mut facts = Self::default();
        for entry in &session.entries {
            facts.last = Some(entry.time.clone());
            match &entry.body {
                EntryBody::MessageEntry(said) => facts.add_message(said),
                EntryBody::Compaction(compaction) => facts.add_usage(compaction.answer.as_ref()),
                EntryBody::BranchSummary(branch) => facts.add_usage(branch.answer.as_ref()),
                EntryBody::Name(name) => facts.name = Some(name.name.clone()).filter(|name| !name.is_empty()),
                EntryBody::Tags(change) => change.apply_to(&mut facts.tags),
                EntryBody::ModelChange(_)
                | EntryBody::ThinkingChange(_)
                | EntryBody::ToolsChange(_)
                | EntryBody::ToolStart(_)
                | EntryBody::Custom(_)
                | EntryBody::CustomMessage(_)
                | EntryBody::Label(_)
                | EntryBody::Unknown(_) => {}
            }
        }
        facts
    }

    fn add_message(&mut self, entry: &MessageEntry) {
        match &entry.message {
            Message::User { content, .. } => {
                self.prompts += 1;
                self.first_text.get_or_insert_with(|| written_text(content));
            }
            Message::Assistant(message) => {
                self.answers += 1;
                self.calls += message.tool_calls().count();
                let model =
                    entry.answer.as_ref().map(|answer| format!("{}/{}", answer.provider, answer.model));
                self.models.extend(model.filter(|model| !self.models.contains(model)));
                self.add_usage(entry.answer.as_ref());
            }
            Message::Tool(result) => self.failed += usize::from(result.is_error),
        }
    }

    fn add_usage(&mut self, answer: Option<&ResponseMetadata>) {
        if let Some(answer) = answer {
            self.usage += answer.usage;
        }
    }

    pub(super) fn title(&self) -> String {
        let name = self.name.as_deref().or(self.first_text.as_deref()).map(|name| short_text(name, 90));
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| "A session".to_owned())
    }

    pub(super) fn write_header(&self, out: &mut String, session: &RecoveredSession) {
        let _ = write!(
            out,
            "<header><p class=\"kind\">haft session</p><h1>{}</h1><dl class=\"facts\">",
            self.title()
        );
        let mut fact = |name: &str, value: String| {
            if !value.is_empty() {
                let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
            }
        };
        fact(
            "Began",
            session.header.as_ref().map(|header| time_element(&header.created)).unwrap_or_default(),
        );
        fact("Last entry", self.last.as_ref().map(time_element).unwrap_or_default());
        let models: Vec<String> = self.models.iter().map(|model| html_text(model)).collect();
        fact(if models.len() == 1 { "Model" } else { "Models" }, models.join("<br>"));
        fact("Messages", format!("{} from the user, {} from the model", self.prompts, self.answers));
        fact(
            "Tool calls",
            match self.failed {
                0 => self.calls.to_string(),
                failed => format!("{}, {failed} failed", self.calls),
            },
        );
        let TokenUsage { input, output, cache_read, cache_write, cost_usd, .. } = self.usage;
        let cached = if cache_read > 0 {
            format!(" ({} from the cache)", token_count_text(cache_read))
        } else {
            String::new()
        };
        fact(
            "Tokens",
            format!(
                "{} in{cached}, {} out",
                token_count_text(input + cache_read + cache_write),
                token_count_text(output)
            ),
        );
        fact("Cost", if cost_usd > 0.0 { dollar_text(cost_usd) } else { "unknown".to_owned() });
        let tags = self.tags.iter().map(|(key, value)| html_text(&tag_text(key, value)));
        fact("Tags", tags.collect::<Vec<_>>().join(", "));
        let fork = session.header.as_ref().and_then(|header| header.forked_from);
        fact("Forked from", fork.map(|fork| format!("<code>{}</code>", fork.session)).unwrap_or_default());
        out.push_str("</dl></header>");
    }
}

/// Formats a number of tokens for readers: `812`, `12.3k`, `1.2M`.
pub(super) fn token_count_text(tokens: u64) -> String {
    let scaled = |unit: f64, sign: &str| {
        let number = tokens as f64 / unit;
        let digits = usize::from(number < 99.95);
        format!("{number:.digits$}{sign}").replace(&format!(".0{sign}"), sign)
    };
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..999_950 => scaled(1e3, "k"),
        _ => scaled(1e6, "M"),
    }
}

/// Formats dollars for readers: four decimals below a cent, three below a dollar, otherwise two.
pub(super) fn dollar_text(usd: f64) -> String {
    match usd {
        0.0 => "$0".to_owned(),
        usd if usd < 0.01 => format!("${usd:.4}"),
        usd if usd < 1.0 => format!("${usd:.3}"),
        usd => format!("${usd:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_token_counts_and_dollars() {
        let counts = [0, 999, 1_000, 12_345, 99_960, 999_949, 999_950, 1_250_000].map(token_count_text);
        assert_eq!(counts, ["0", "999", "1k", "12.3k", "100k", "1000k", "1M", "1.2M"]);
        assert_eq!([0.0, 0.00123, 0.123, 12.3].map(dollar_text), ["$0", "$0.0012", "$0.123", "$12.30"]);
    }
}
