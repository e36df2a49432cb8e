//! A blocking extension with three tools, named by its argument: what most extensions register.

use std::io::{self, BufRead, Write};

use serde_json::{Value, json};

/// Completes the handshake, registers the tools, and answers each call.
pub(super) fn run(number: usize) -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    output.write_all(opening_lines(number).as_bytes())?;
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix(br#"{"type":"tool_call","id":""#) {
            let id = rest.split(|&byte| byte == b'"').next().unwrap_or_default();
            let id = String::from_utf8_lossy(id);
            let content = r#"[{"type":"text","text":"done"}]"#;
            writeln!(output, r#"{{"type":"tool_result","id":"{id}","content":{content}}}"#)?;
        } else if line.starts_with(br#"{"type":"shutdown""#) {
            return output.write_all(b"{\"type\":\"shutdown_ack\"}\n");
        }
    }
}

/// Returns the manifest fields that delay the start until the first use.
pub(crate) fn activation_fields(number: usize) -> [(String, Value); 2] {
    let tools = tools(number);
    let uses = tools.iter().filter_map(|tool| Some(format!("tool:{}", tool["name"].as_str()?)));
    [("activation".to_owned(), uses.collect()), ("tools".to_owned(), tools.to_vec().into())]
}

fn tools(number: usize) -> [Value; 3] {
    ["look", "list", "count"].map(|verb| {
        let about = format!("Runs {verb} on the files at a path and reports the findings.");
        let path = json!({"type": "string", "description": "path to inspect"});
        let limit = json!({"type": "integer", "description": "largest number of results"});
        let properties = json!({"path": path, "limit": limit});
        let schema = json!({"type": "object", "properties": properties, "required": ["path"]});
        json!({"name": format!("{verb}_{number}"), "description": about, "schema": schema})
    })
}

fn opening_lines(number: usize) -> String {
    let name = format!("box-{number}");
    let hello = json!({"type": "hello", "name": name, "version": "1.0.0", "capabilities": ["tools"]});
    let mut lines = vec![hello];
    for mut tool in tools(number) {
        tool["type"] = "register_tool".into();
        lines.push(tool);
    }
    lines.push(json!({"type": "ready"}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}
