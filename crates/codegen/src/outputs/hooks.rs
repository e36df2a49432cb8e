//! The generated parts of `docs/hook-protocol.md`: the reference of every call of a hook and of every event, with
//! examples from the fixtures.

use std::fmt::Write;

use anyhow::{Context, Result};
use haft_adapter_picoclaw::wire::{
    AfterLlm, AfterTool, ApproveTool, BeforeLlm, BeforeTool, CallLine, HookEventKind, HookEventPayload,
    HookHello, HookQuestion, HookResults,
};
use haft_protocol::RawJson;
use serde_json::Value;

use super::docs::{replace, write_fields};
use super::fields::{self, FieldRow};
use super::{GeneratedFile, schema};
use xtask::repo;

const PATH: &str = "docs/hook-protocol.md";

/// Returns the document with new generated parts.
pub(super) fn output() -> Result<GeneratedFile> {
    let reference = HookReference {
        calls: schema::unlinked_schema(schemars::schema_for!(CallLine)),
        results: schema::unlinked_schema(schemars::schema_for!(HookResults)),
        host: repo::read("crates/adapters/picoclaw/fixtures/host.jsonl")?,
        hook: repo::read("crates/adapters/picoclaw/fixtures/hook.jsonl")?,
    };
    let mut text = repo::read(PATH)?;
    replace(&mut text, "<!-- generated: calls -->", "<!-- /generated -->", &reference.call_reference()?)?;
    replace(&mut text, "<!-- generated: common -->", "<!-- /generated -->", &reference.common_fields()?)?;
    replace(&mut text, "<!-- generated: objects -->", "<!-- /generated -->", &reference.object_reference()?)?;
    replace(&mut text, "<!-- generated: events -->", "<!-- /generated -->", &events()?)?;
    Ok(GeneratedFile { path: PATH, text })
}

/// The sources of the reference: schemas and example lines of both sides.
struct HookReference {
    calls: Value,
    results: Value,
    host: String,
    hook: String,
}

/// Fields that every call has; they are described once.
const COMMON: &[&str] = &["meta", "context"];

/// Objects that messages and tools consist of.
const OBJECTS: &[&str] = &[
    "Message",
    "Attachment",
    "SystemPart",
    "ToolCall",
    "FunctionCall",
    "ToolDefinition",
    "FunctionDefinition",
];

/// The methods with a response, with the shape of their results.
const ANSWERED: &[(&str, &str)] = &[
    (HookHello::METHOD.name(), HookHello::SHAPE),
    (BeforeLlm::METHOD.name(), BeforeLlm::SHAPE),
    (AfterLlm::METHOD.name(), AfterLlm::SHAPE),
    (BeforeTool::METHOD.name(), BeforeTool::SHAPE),
    (AfterTool::METHOD.name(), AfterTool::SHAPE),
    (ApproveTool::METHOD.name(), ApproveTool::SHAPE),
];

impl HookReference {
    /// Returns a section for every method: meaning, params, result, examples of both.
    fn call_reference(&self) -> Result<String> {
        let mut out = String::from("\n");
        for (method, branch) in fields::union_branches(&self.calls, &self.calls, "method") {
            writeln!(out, "\n### `{method}`\n\n{}\n", fields::description(branch))?;
            let params = fields::field_rows(&self.calls, &branch["properties"]["params"]);
            write_fields(&mut out, &without_common(params))?;
            let calls = lines_containing(&self.host, &format!("\"method\":{method:?}"));
            writeln!(out, "```json\n{}\n```", calls.join("\n"))?;
            if let Some((_, shape)) = ANSWERED.iter().find(|(answered, _)| *answered == method) {
                let call = calls.first().with_context(|| format!("no fixture for {method}"))?;
                self.result(&mut out, &method, shape, call)?;
            }
        }
        Ok(out)
    }

    fn result(&self, out: &mut String, method: &str, shape: &str, call: &str) -> Result<()> {
        writeln!(out, "\nThe result: `{shape}`\n")?;
        write_fields(out, &fields::field_rows(&self.results, &self.results["properties"][method]))?;
        let id = serde_json::from_str::<Value>(call)?["id"].clone();
        let replies = lines_containing(&self.hook, &format!("\"id\":{id},"));
        writeln!(out, "```json\n{}\n```", replies.join("\n"))?;
        Ok(())
    }

    fn common_fields(&self) -> Result<String> {
        let mut out = String::from("\n\n");
        let branches = fields::union_branches(&self.calls, &self.calls, "method");
        let (_, branch) =
            branches.iter().find(|(method, _)| method == BeforeTool::METHOD.name()).context("no call")?;
        let params = fields::field_rows(&self.calls, &branch["properties"]["params"]);
        write_fields(&mut out, &params.into_iter().filter(is_common).collect::<Vec<_>>())?;
        Ok(out)
    }

    fn object_reference(&self) -> Result<String> {
        let mut out = String::from("\n");
        for name in OBJECTS {
            let object = &self.calls["$defs"][name];
            writeln!(out, "\n**{name}.** {}\n", fields::description(object))?;
            write_fields(&mut out, &fields::field_rows(&self.calls, object))?;
        }
        Ok(out)
    }
}

/// Returns the rows that belong to one method alone.
fn without_common(rows: Vec<FieldRow>) -> Vec<FieldRow> {
    rows.into_iter().filter(|row| !is_common(row)).collect()
}

fn is_common(row: &FieldRow) -> bool {
    let (name, lower) = (row.name.as_str(), row.name.to_ascii_lowercase());
    COMMON.iter().any(|common| {
        lower.starts_with(common) && matches!(name.as_bytes().get(common.len()), None | Some(b'.'))
    })
}

fn lines_containing<'a>(lines: &'a str, part: &str) -> Vec<&'a str> {
    lines.lines().filter(|line| line.contains(part)).collect()
}

/// Returns the table of events: names, number, severity and payload fields of every kind.
fn events() -> Result<String> {
    let mut out = String::from(
        "\n\n| kind | former name | number | severity | payload | |\n|---|---|---|---|---|---|\n",
    );
    let root = schema::unlinked_schema(schemars::schema_for!(HookEventPayload));
    let branches = root["anyOf"].as_array().context("payloads are a union")?;
    for (kind, branch) in HookEventKind::ALL.iter().zip(branches) {
        let empty = HookEventPayload::read(*kind, &RawJson::empty_object()).map_err(anyhow::Error::msg)?;
        let severity = serde_json::to_value(empty.severity())?;
        let fields = fields::field_rows(&root, branch);
        let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
        writeln!(
            out,
            "| `{}` | `{}` | {} | {} | {} | {} |",
            kind.name(),
            kind.legacy_name(),
            kind.number(),
            severity.as_str().unwrap_or_default(),
            names.join(", "),
            fields::description(branch),
        )?;
    }
    Ok(out)
}
