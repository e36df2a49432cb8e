//! A session in one line.

use std::time::SystemTime;

use haft_core::age::age_text;
use haft_core::sanitize::sanitize_line;
use haft_core::session::entry::SessionEntry;
use haft_core::session::store::{self, SessionFile, SessionSummary};
use haft_core::session::{SessionError, SessionId, tag_text};
use haft_protocol::message::TokenUsage;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::console::note;
use crate::exit::Exit;

#[derive(Debug, Clone)]
pub(crate) struct SessionRow {
    pub(crate) found: SessionFile,
    pub(crate) summary: SessionSummary,
    /// The name or the first message, and the tags; sanitized.
    pub(crate) text: String,
}

impl SessionRow {
    /// Reads the row of a session.
    pub(crate) fn from_found(found: &SessionFile) -> anyhow::Result<Self> {
        let summary = found.summary().map_err(|error| explain_error(error, found.id))?;
        let said = || summary.first_text.as_deref().map(first_line);
        let text = summary.name.clone().or_else(said).unwrap_or_default();
        let tags = summary.tags.iter().map(|(key, value)| format!(" #{}", tag_text(key, value)));
        let text = sanitize_line(&std::iter::once(text).chain(tags).collect::<String>());
        Ok(Self { found: found.clone(), summary, text })
    }

    /// Returns the line of the list, at most `width` columns wide, with `digits` digits of the id.
    pub(crate) fn line(&self, now: SystemTime, digits: usize, width: usize) -> String {
        let id: String = self.found.id.to_string().chars().take(digits).collect();
        let when = age_text(now, self.found.modified);
        let cost = cost_text(self.summary.usage.cost_usd);
        let line = format!("{id}  {when:<11}  {:>8}  {cost:>7}  {}", self.summary.messages, self.text);
        truncate(&line, width)
    }
}

/// The heading of [`SessionRow::line`].
pub(crate) fn heading(digits: usize) -> String {
    format!("{:<digits$}  {:<11}  {:>8}  {:>7}  {}", "ID", "WHEN", "MESSAGES", "COST", "SESSION")
}

/// Returns the number of digits that distinguish all ids; at least eight.
pub(crate) fn id_digits<'a>(sessions: impl Iterator<Item = &'a SessionFile>) -> usize {
    let mut ids: Vec<String> = sessions.map(|found| found.id.to_string()).collect();
    ids.sort();
    let alike = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let most = ids.iter().zip(ids.iter().skip(1)).map(|(a, b)| alike(a, b) + 1).max();
    most.unwrap_or_default().max(8)
}

/// Formats US dollars; `-` without a known price.
pub(crate) fn cost_text(dollars: f64) -> String {
    match dollars {
        0.0 => "-".to_owned(),
        ..0.01 => "<$0.01".to_owned(),
        dollars => format!("${dollars:.2}"),
    }
}

/// Returns the usage of requests to models. Cache tokens and price appear only if they are known.
pub(crate) fn usage_text(usage: &TokenUsage) -> String {
    let TokenUsage { input, output, .. } = usage;
    let of_cache = |tokens: u64, what: &str| match tokens {
        0 => String::new(),
        tokens => format!(", {tokens} {what}"),
    };
    let read = of_cache(usage.cache_read, "read from the cache");
    let written = of_cache(usage.cache_write, "written to the cache");
    let price = match usage.cost_usd {
        0.0 => String::new(),
        dollars => format!(", {}", cost_text(dollars)),
    };
    format!("tokens: {input} in{read}{written}, {output} out{price}")
}

pub(crate) fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

pub(crate) fn truncate(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.trim_end().to_owned();
    }
    let mut columns = 1;
    let fits = |c: &char| {
        columns += c.width().unwrap_or_default();
        columns <= width
    };
    let shown: String = line.chars().take_while(fits).collect();
    format!("{}…", shown.trim_end())
}

/// Reads the entries of a session, even if it is open elsewhere. Prints repairs as notes.
pub(super) fn read_entries(found: &SessionFile) -> anyhow::Result<Vec<SessionEntry>> {
    let read = store::read(&found.path).map_err(|error| explain_error(error, found.id))?;
    for repair in read.repairs {
        note(&sanitize_line(&format!("haft: {repair}")));
    }
    Ok(read.entries)
}

/// Adds the next step to the error of a session.
pub(crate) fn explain_error(error: SessionError, id: SessionId) -> anyhow::Error {
    let id = short_id(id);
    if let SessionError::Locked { .. } = error {
        return Exit::SessionInUse.attach_to(anyhow::anyhow!(
            "session {id} is open in another process; fork it with `haft session fork {id}`, or read it with `haft session \
             show {id}`"
        ));
    }
    if let SessionError::ReadOnly { .. } | SessionError::Newer { .. } = error {
        return Exit::Session.attach_to(anyhow::anyhow!(
            "session {id} was written by a newer version of haft; upgrade haft to continue it, or read it with `haft session show {id}`"
        ));
    }
    error.into()
}

/// Returns the beginning of an id, for people.
pub(crate) fn short_id(id: SessionId) -> String {
    id.to_string().chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_costs_with_two_decimals() {
        assert_eq!([0.0, 0.004, 0.01, 12.345].map(cost_text), ["-", "<$0.01", "$0.01", "$12.35"]);
    }

    #[test]
    fn omits_unused_cache_numbers() {
        let usage = TokenUsage::default().with_input(1).with_output(2);
        assert_eq!(usage_text(&usage), "tokens: 1 in, 2 out");
        let usage = usage.with_cache_read(3).with_cache_write(4).with_cost_usd(0.5);
        assert_eq!(
            usage_text(&usage),
            "tokens: 1 in, 3 read from the cache, 4 written to the cache, 2 out, $0.50"
        );
    }

    #[test]
    fn truncates_line_to_width() {
        assert_eq!(truncate("12345", 5), "12345");
        assert_eq!(truncate("123456", 5), "1234…");
        assert_eq!(truncate("日日日", 5), "日日…");
        assert_eq!(truncate("ab cd", 4), "ab…");
    }

    #[test]
    fn shows_digits_that_distinguish_ids() {
        let found = |id: u128| SessionFile::new(id.into(), "p", SystemTime::UNIX_EPOCH, 0);
        assert_eq!(id_digits([found(1 << 127), found(1)].iter()), 8);
        assert_eq!(id_digits([found(1), found(2)].iter()), 32);
        assert_eq!(id_digits([].iter()), 8);
    }
}
