//! The generated parts of `docs/protocol.md`: tables and the reference of every frame, with examples from the
//! fixtures.

use std::fmt::Write;

use anyhow::{Context, Result};
use haft_protocol::ext::{ExtensionFrame, HostFrame};
use serde_json::Value;

use super::fields::{self, FieldRow};
use super::{GeneratedFile, schema};
use xtask::repo;

const PATH: &str = "docs/protocol.md";

/// Returns the document with new generated parts.
pub(super) fn output() -> Result<GeneratedFile> {
    let extension = FrameDirection {
        root: schema::unlinked_schema(schemars::schema_for!(ExtensionFrame)),
        examples: repo::read("crates/protocol/fixtures/extension.jsonl")?,
    };
    let host = FrameDirection {
        root: schema::unlinked_schema(schemars::schema_for!(HostFrame)),
        examples: repo::read("crates/protocol/fixtures/host.jsonl")?,
    };
    let mut text = repo::read(PATH)?;
    replace(
        &mut text,
        "<!-- generated: frames -->",
        "<!-- /generated -->",
        &frames_table(&extension, &host)?,
    )?;
    replace(&mut text, "<!-- generated: hooks -->", "<!-- /generated -->", &host.hook_table()?)?;
    replace(
        &mut text,
        "<!-- generated: extension -->",
        "<!-- /generated -->",
        &extension.frame_reference()?,
    )?;
    replace(&mut text, "<!-- generated: host -->", "<!-- /generated -->", &host.frame_reference()?)?;
    let hash = format!(" {} ", repo::protocol_hash()?);
    let start = text
        .find("<!-- protocol-source:")
        .context("docs/protocol.md has no `<!-- protocol-source: … -->`")?;
    let (before, from_marker) = text.split_at(start);
    let mut from_marker = from_marker.to_owned();
    replace(&mut from_marker, "<!-- protocol-source:", "-->", &hash)?;
    Ok(GeneratedFile { path: PATH, text: format!("{before}{from_marker}") })
}

/// One direction of the protocol: its schema, and example lines of every frame.
struct FrameDirection {
    root: Value,
    examples: String,
}

impl FrameDirection {
    fn frame_branches(&self) -> Vec<(String, &Value)> {
        fields::union_branches(&self.root, &self.root, "type")
    }

    fn examples_of(&self, kind: &str) -> String {
        let prefix = format!(r#"{{"type":"{kind}""#);
        self.examples.lines().filter(|line| line.starts_with(&prefix)).collect::<Vec<_>>().join("\n")
    }

    /// Returns a section for every frame: meaning, fields, examples.
    fn frame_reference(&self) -> Result<String> {
        let mut out = String::from("\n");
        for (kind, branch) in self.frame_branches() {
            let payload = fields::resolve(&self.root, branch);
            writeln!(out, "\n#### `{kind}`\n\n{}\n", fields::description(payload))?;
            write_fields(&mut out, &fields::field_rows(&self.root, branch))?;
            writeln!(out, "```json\n{}\n```", self.examples_of(&kind))?;
        }
        Ok(out)
    }

    /// Returns the table of hooks: every `event` of `event_intercept`.
    fn hook_table(&self) -> Result<String> {
        let mut out =
            String::from("\n\n| hook | when | fields of the request | example |\n|---|---|---|---|\n");
        for (hook, branch) in
            fields::union_branches(&self.root, &self.root["$defs"]["EventIntercept"], "event")
        {
            let names: Vec<String> = fields::field_rows(&self.root, branch)
                .iter()
                .map(|field| format!("`{}`", field.name))
                .collect();
            let event = format!(r#""event":"{hook}""#);
            let example = self
                .examples
                .lines()
                .find(|line| line.contains("event_intercept") && line.contains(&event))
                .with_context(|| format!("no fixture for hook {hook}"))?;
            let when = fields::description(branch);
            writeln!(out, "| `{hook}` | {when} | {} | `{example}` |", names.join(", "))?;
        }
        Ok(out)
    }
}

fn frames_table(extension: &FrameDirection, host: &FrameDirection) -> Result<String> {
    let mut out = String::from("\n\n| frame | from | meaning |\n|---|---|---|\n");
    for (from, direction) in [("extension", extension), ("host", host)] {
        for (kind, branch) in direction.frame_branches() {
            writeln!(out, "| `{kind}` | {from} | {} |", fields::description(branch))?;
        }
    }
    Ok(out)
}

pub(super) fn write_fields(out: &mut String, rows: &[FieldRow]) -> Result<()> {
    if rows.is_empty() {
        writeln!(out, "No fields.\n")?;
        return Ok(());
    }
    writeln!(out, "| field | type | | meaning |\n|---|---|---|---|")?;
    for FieldRow { name, kind, required, meaning } in rows {
        let needed = if *required { "required" } else { "" };
        writeln!(out, "| `{name}` | {kind} | {needed} | {meaning} |")?;
    }
    Ok(writeln!(out)?)
}

/// Replaces the text between the first `start` and the next `end` by `body`.
pub(super) fn replace(text: &mut String, start: &str, end: &str, body: &str) -> Result<()> {
    let after_start = text.find(start).with_context(|| format!("{PATH} has no `{start}`"))? + start.len();
    let (head, tail) = text.split_at(after_start);
    let end = tail.find(end).with_context(|| format!("{PATH}: no `{end}` after `{start}`"))?;
    let (_, tail) = tail.split_at(end);
    *text = format!("{head}{body}{tail}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::replace;

    #[test]
    fn replaces_only_text_between_markers() {
        let mut text = "a <!-- x -->old<!-- / --> b <!-- y --><!-- / -->".to_owned();
        replace(&mut text, "<!-- x -->", "<!-- / -->", "new").unwrap();
        assert_eq!(text, "a <!-- x -->new<!-- / --> b <!-- y --><!-- / -->");
        assert!(replace(&mut text, "<!-- z -->", "<!-- / -->", "").is_err());
    }
}
