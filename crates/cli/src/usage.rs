//! `haft usage`: tokens and cost of all recorded sessions, by day, model and project.

use std::collections::{BTreeMap, HashSet};

use haft_config::Home;
use haft_core::sanitize::sanitize_line;
use haft_core::session::EntryId;
use haft_core::session::store::{SessionFile, SessionStore, read};
use haft_protocol::message::TokenUsage;
use serde_json::{Value, json};

use crate::args::UsageArgs;
use crate::console::{json_line, note, print, write};
use crate::exit::{Exit, OrExit as _};

/// The most recent days in the table for people.
const DAYS: usize = 14;

/// The models and projects in the table for people, the most expensive first.
const ROWS: usize = 20;

pub(crate) fn run(args: UsageArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let report = UsageReport::read(&home)?;
    if args.json {
        write(json_line(&report.to_json()).as_bytes())?;
    } else {
        print(report.to_text().trim_end())?;
    }
    Ok(Exit::Ok)
}

/// The usage of all recorded sessions. An answer that several sessions contain, because one is a copy, counts once.
#[derive(Debug, Default)]
pub(crate) struct UsageReport {
    total: TokenUsage,
    days: BTreeMap<String, TokenUsage>,
    models: BTreeMap<String, TokenUsage>,
    projects: BTreeMap<String, TokenUsage>,
    counted: HashSet<EntryId>,
}

impl UsageReport {
    /// Reads all sessions. A session that cannot be read is reported and left out.
    pub(crate) fn read(home: &Home) -> anyhow::Result<Self> {
        let mut report = Self::default();
        let mut files = SessionStore::new(home.sessions_dir()).list_all()?;
        // Copies come after the sessions that they were made of.
        files.reverse();
        for file in &files {
            if let Err(error) = report.add_session(file) {
                note(&sanitize_line(&format!("haft: {:#}", anyhow::Error::new(error))));
            }
        }
        Ok(report)
    }

    fn add_session(&mut self, file: &SessionFile) -> Result<(), haft_core::session::SessionError> {
        let session = read(&file.path)?;
        let project = session.header.map(|header| header.cwd).unwrap_or_default();
        for entry in &session.entries {
            let Some(answer) = entry.body.answer().filter(|_| self.counted.insert(entry.id)) else {
                continue;
            };
            let day = entry.time.0.get(..10).unwrap_or_default().to_owned();
            self.total += answer.usage;
            *self.days.entry(day).or_default() += answer.usage;
            *self.models.entry(format!("{}/{}", answer.provider, answer.model)).or_default() += answer.usage;
            *self.projects.entry(project.clone()).or_default() += answer.usage;
        }
        Ok(())
    }

    fn to_json(&self) -> Value {
        let group = |name: &str, of: &BTreeMap<String, TokenUsage>| -> Value {
            of.iter().map(|(key, usage)| json!({ name: key, "usage": usage })).collect()
        };
        json!({
            "total": self.total,
            "days": group("day", &self.days),
            "models": group("model", &self.models),
            "projects": group("project", &self.projects),
        })
    }

    /// Returns Markdown tables, which are also readable as text.
    pub(crate) fn to_text(&self) -> String {
        if self.counted.is_empty() {
            return "no usage is recorded yet\n".to_owned();
        }
        let by_cost = |of: &BTreeMap<String, TokenUsage>| {
            let mut rows: Vec<(String, TokenUsage)> =
                of.iter().map(|(key, usage)| (key.clone(), *usage)).collect();
            rows.sort_by(|(_, a), (_, b)| b.cost_usd.total_cmp(&a.cost_usd).then(b.output.cmp(&a.output)));
            rows.truncate(ROWS);
            rows
        };
        let days = self.days.iter().rev().take(DAYS).map(|(day, usage)| (day.clone(), *usage)).collect();
        let all = vec![("all sessions".to_owned(), self.total)];
        let tables = [
            usage_table("total", all),
            usage_table("day (UTC)", days),
            usage_table("model", by_cost(&self.models)),
            usage_table("project", by_cost(&self.projects)),
        ];
        tables.join("\n")
    }
}

fn usage_table(head: &str, rows: Vec<(String, TokenUsage)>) -> String {
    let name = |name: &str| sanitize_line(name).replace('|', " ");
    let width =
        rows.iter().map(|(key, _)| name(key).chars().count()).max().unwrap_or_default().max(head.len());
    let rule = "-".repeat(width);
    let mut text = format!(
        "| {head:<width$} | input        | cached       | output      | cost      |\n\
         |-{rule}-|-------------:|-------------:|------------:|----------:|\n"
    );
    for (key, usage) in rows {
        let TokenUsage { input, output, cache_read, cache_write, cost_usd, .. } = usage;
        text += &format!(
            "| {:<width$} | {:>12} | {cache_read:>12} | {output:>11} | {:>9} |\n",
            name(&key),
            input + cache_write,
            format!("${cost_usd:.2}"),
        );
    }
    text
}
