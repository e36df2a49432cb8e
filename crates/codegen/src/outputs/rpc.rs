//! The generated parts of `docs/rpc-protocol.md`: the reference of every command with its reply, of every event and
//! of every code, with examples from the fixtures.

use std::fmt::Write;

use anyhow::{Context, Result};
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{ErrorCode, ReplyData, RpcEvent, RpcRequest};
use serde_json::Value;

use super::docs::{replace, write_fields};
use super::fields::{self, FieldRow};
use super::{GeneratedFile, schema};
use xtask::repo;

const PATH: &str = "docs/rpc-protocol.md";

/// Returns the document with new generated parts.
pub(super) fn output() -> Result<GeneratedFile> {
    let server = repo::read("crates/protocol/fixtures/rpc/server.jsonl")?;
    let commands = CommandReference {
        requests: schema::unlinked_schema(schemars::schema_for!(RpcRequest)),
        data: schema::unlinked_schema(schemars::schema_for!(ReplyData)),
        client: repo::read("crates/protocol/fixtures/rpc/client.jsonl")?,
        server: server.clone(),
    };
    let own = events(&schema::unlinked_schema(schemars::schema_for!(RpcEvent)), &server)?;
    let agent = events(&schema::unlinked_schema(schemars::schema_for!(AgentEvent)), &server)?;
    let mut text = repo::read(PATH)?;
    let end = "<!-- /generated -->";
    replace(&mut text, "<!-- generated: commands -->", end, &commands.command_reference()?)?;
    replace(&mut text, "<!-- generated: agent events -->", end, &agent)?;
    replace(&mut text, "<!-- generated: rpc events -->", end, &own)?;
    replace(&mut text, "<!-- generated: codes -->", end, &error_code_table()?)?;
    Ok(GeneratedFile { path: PATH, text })
}

/// The sources of the command reference: schemas and example lines of both sides.
struct CommandReference {
    requests: Value,
    data: Value,
    client: String,
    server: String,
}

impl CommandReference {
    /// Returns a section for every command: meaning, fields, the reply's data, examples of both.
    fn command_reference(&self) -> Result<String> {
        let mut out = String::from("\n");
        for (name, branch) in fields::union_branches(&self.requests, &self.requests, "type") {
            writeln!(out, "\n### `{name}`\n\n{}\n", fields::description(branch))?;
            write_fields(&mut out, &rows(&self.requests, branch))?;
            let calls = lines_containing(&self.client, &format!("\"type\":{name:?}"));
            writeln!(out, "```json\n{}\n```", calls.join("\n"))?;
            self.reply(&mut out, &name, calls.first().with_context(|| format!("no fixture for {name}"))?)?;
        }
        Ok(out)
    }

    fn reply(&self, out: &mut String, name: &str, call: &str) -> Result<()> {
        let data = rows(&self.data, &self.data["properties"][name]);
        match data.is_empty() {
            true => writeln!(out, "\nThe reply has no `data`.\n")?,
            false => {
                writeln!(out, "\nThe reply's `data`:\n")?;
                write_fields(out, &data)?;
            }
        }
        let id = serde_json::from_str::<Value>(call)?["id"].clone();
        let replies = lines_containing(&self.server, &format!("\"id\":{id},\"command\":{name:?}"));
        writeln!(out, "```json\n{}\n```", replies.join("\n"))?;
        Ok(())
    }
}

/// Returns a section for every event of a union: meaning, fields, examples.
fn events(root: &Value, lines: &str) -> Result<String> {
    let mut out = String::from("\n");
    for (name, branch) in fields::union_branches(root, root, "type") {
        writeln!(out, "\n#### `{name}`\n\n{}\n", fields::description(branch))?;
        write_fields(&mut out, &rows(root, branch))?;
        let prefix = format!("{{\"type\":{name:?}");
        let examples: Vec<&str> = lines.lines().filter(|line| line.starts_with(&prefix)).collect();
        writeln!(out, "```json\n{}\n```", examples.join("\n"))?;
    }
    Ok(out)
}

/// Returns the fields of an object without the tag. For an array of objects of one type, the fields of its items
/// follow.
fn rows(root: &Value, object: &Value) -> Vec<FieldRow> {
    let properties = &fields::resolve(root, object)["properties"];
    let mut rows = Vec::new();
    for row in fields::field_rows(root, object).into_iter().filter(|row| !is_tag(row)) {
        let items = &properties[&row.name]["items"];
        let name = row.name.clone();
        rows.push(row);
        let union = fields::resolve(root, items).get("oneOf").is_some();
        let inner = if union { Vec::new() } else { fields::field_rows(root, items) };
        rows.extend(
            inner.into_iter().map(|field| FieldRow { name: format!("{name}[].{}", field.name), ..field }),
        );
    }
    rows
}

/// True if a row only repeats the name of an event.
fn is_tag(row: &FieldRow) -> bool {
    row.name == "type" && row.kind == "string" && row.meaning.is_empty()
}

/// Returns the table of error codes.
fn error_code_table() -> Result<String> {
    let mut out = String::from("\n\n| `code` | why |\n|---|---|\n");
    let root = schema::unlinked_schema(schemars::schema_for!(ErrorCode));
    for branch in root["oneOf"].as_array().context("codes are a union")? {
        let word = branch["const"].as_str().context("a code is a word")?;
        writeln!(out, "| `{word}` | {} |", fields::description(branch))?;
    }
    Ok(out)
}

fn lines_containing<'a>(lines: &'a str, part: &str) -> Vec<&'a str> {
    lines.lines().filter(|line| line.contains(part)).collect()
}
