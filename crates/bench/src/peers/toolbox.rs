//! An extension with three tools, named by its argument and blocking: what most extensions register.

use std::io::{self, BufRead, Write};

/// Greets, registers, and answers each call.
pub(super) fn run(number: usize) -> io::Result<()> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    output.write_all(opening(number).as_bytes())?;
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

fn opening(number: usize) -> String {
    let schema = r#"{"type":"object","properties":{"path":{"type":"string","description":"where to look"},"limit":{"type":"integer","description":"how many at most"}},"required":["path"]}"#;
    let tool = |verb: &str| {
        let about = format!("Can {verb} what lies at a path, and says what it found there.");
        format!(
            r#"{{"type":"register_tool","name":"{verb}_{number}","description":"{about}","schema":{schema}}}"#
        )
    };
    let hello =
        format!(r#"{{"type":"hello","name":"box-{number}","version":"1.0.0","capabilities":["tools"]}}"#);
    [hello, tool("look"), tool("list"), tool("count"), r#"{"type":"ready"}"#.to_owned(), String::new()]
        .join("\n")
}
