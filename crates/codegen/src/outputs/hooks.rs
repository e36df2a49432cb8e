//! The generated parts of `docs/hook-protocol.md`: the reference of every call of a hook and of every event, with examples
//! taken from the fixtures.

use std::fmt::Write;

use anyhow::{Context, Result};
use haft_protocol::RawJson;
use haft_protocol::hook::{
    AfterLlm, AfterTool, ApproveTool, BeforeLlm, BeforeTool, Hello, Kind, Line, Payload, Question, Results,
};
use serde_json::Value;

use super::docs::{replace, write_fields};
use super::fields::{self, Field};
use super::{Output, schema};
use xtask::repo;

const PATH: &str = "docs/hook-protocol.md";

/// The document as it stands, with its generated parts replaced.
pub(super) fn output() -> Result<Output> {
    let reference = Reference {
        calls: schema::schema(schemars::schema_for!(Line)),
        results: schema::schema(schemars::schema_for!(Results)),
        host: repo::read("crates/protocol/fixtures/hook/host.jsonl")?,
        hook: repo::read("crates/protocol/fixtures/hook/hook.jsonl")?,
    };
    let mut text = repo::read(PATH)?;
    replace(&mut text, "<!-- generated: calls -->", "<!-- /generated -->", &reference.calls()?)?;
    replace(&mut text, "<!-- generated: common -->", "<!-- /generated -->", &reference.common()?)?;
    replace(&mut text, "<!-- generated: objects -->", "<!-- /generated -->", &reference.objects()?)?;
    replace(&mut text, "<!-- generated: events -->", "<!-- /generated -->", &events()?)?;
    Ok(Output { path: PATH, text })
}

/// The sources of the reference: schemas and lines of both sides.
struct Reference {
    calls: Value,
    results: Value,
    host: String,
    hook: String,
}

/// Parts that every call has; they are described once.
const COMMON: &[&str] = &["meta", "context"];

/// Objects that messages and tools are made of.
const OBJECTS: &[&str] = &[
    "Message",
    "Attachment",
    "SystemPart",
    "ToolCall",
    "FunctionCall",
    "ToolDefinition",
    "FunctionDefinition",
];

/// The methods that are answered, with the shape of their results.
const ANSWERED: &[(&str, &str)] = &[
    (Hello::METHOD.name(), Hello::SHAPE),
    (BeforeLlm::METHOD.name(), BeforeLlm::SHAPE),
    (AfterLlm::METHOD.name(), AfterLlm::SHAPE),
    (BeforeTool::METHOD.name(), BeforeTool::SHAPE),
    (AfterTool::METHOD.name(), AfterTool::SHAPE),
    (ApproveTool::METHOD.name(), ApproveTool::SHAPE),
];

impl Reference {
    /// A section for every method: meaning, params, the result, examples of both.
    fn calls(&self) -> Result<String> {
        let mut out = String::from("\n");
        for (method, branch) in fields::branches(&self.calls, &self.calls, "method") {
            writeln!(out, "\n### `{method}`\n\n{}\n", fields::description(branch))?;
            let params = fields::fields(&self.calls, &branch["properties"]["params"]);
            write_fields(&mut out, &own(params))?;
            let calls = with(&self.host, &format!("\"method\":{method:?}"));
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
        write_fields(out, &fields::fields(&self.results, &self.results["properties"][method]))?;
        let id = serde_json::from_str::<Value>(call)?["id"].clone();
        let replies = with(&self.hook, &format!("\"id\":{id},"));
        writeln!(out, "```json\n{}\n```", replies.join("\n"))?;
        Ok(())
    }

    fn common(&self) -> Result<String> {
        let mut out = String::from("\n\n");
        let branches = fields::branches(&self.calls, &self.calls, "method");
        let (_, branch) =
            branches.iter().find(|(method, _)| method == BeforeTool::METHOD.name()).context("no call")?;
        let params = fields::fields(&self.calls, &branch["properties"]["params"]);
        write_fields(&mut out, &params.into_iter().filter(is_common).collect::<Vec<_>>())?;
        Ok(out)
    }

    fn objects(&self) -> Result<String> {
        let mut out = String::from("\n");
        for name in OBJECTS {
            let object = &self.calls["$defs"][name];
            writeln!(out, "\n**{name}.** {}\n", fields::description(object))?;
            write_fields(&mut out, &fields::fields(&self.calls, object))?;
        }
        Ok(out)
    }
}

/// The rows that belong to one method alone.
fn own(rows: Vec<Field>) -> Vec<Field> {
    rows.into_iter().filter(|row| !is_common(row)).collect()
}

fn is_common(row: &Field) -> bool {
    let (name, lower) = (row.name.as_str(), row.name.to_ascii_lowercase());
    COMMON.iter().any(|common| {
        lower.starts_with(common) && matches!(name.as_bytes().get(common.len()), None | Some(b'.'))
    })
}

fn with<'a>(lines: &'a str, part: &str) -> Vec<&'a str> {
    lines.lines().filter(|line| line.contains(part)).collect()
}

/// Every kind of event with its names, its number, its severity and the fields of its payload.
fn events() -> Result<String> {
    let mut out = String::from(
        "\n\n| kind | former name | number | severity | payload | |\n|---|---|---|---|---|---|\n",
    );
    let root = schema::schema(schemars::schema_for!(Payload));
    let branches = root["anyOf"].as_array().context("payloads are a union")?;
    for (kind, branch) in Kind::ALL.iter().zip(branches) {
        let empty = Payload::read(*kind, &RawJson::empty_object()).map_err(anyhow::Error::msg)?;
        let severity = serde_json::to_value(empty.severity())?;
        let fields = fields::fields(&root, branch);
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
