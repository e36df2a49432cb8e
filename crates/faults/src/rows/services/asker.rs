//! An extension that makes the host calls listed in a file, several at a time, and writes the answers to another file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

/// The first argument of such a process; the others are its name and its directory.
pub(crate) const ASKER: &str = "asker";

/// The number of concurrent calls.
const AT_ONCE: usize = 16;

/// The interval between two checks.
const LOOK: Duration = Duration::from_millis(2);

/// Runs the extension. It starts when a file `go` exists, and crashes when a file `crash` exists.
pub(crate) fn run_asker(name: &str, dir: &Path) -> ExitCode {
    match run(name, dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, dir: &Path) -> Result<()> {
    let mut lines = BufReader::new(std::io::stdin()).lines();
    send_frame(&json!({"type": "hello", "name": name, "capabilities": ["host_services"]}))?;
    let ack = lines.next().context("the host closed the connection before its greeting")??;
    ensure!(ack.contains("host_services"), "the host has no services for extensions");
    send_frame(&json!({"type": "ready"}))?;
    let crash = dir.join("crash");
    std::thread::spawn(move || {
        while !crash.exists() {
            // sleep: between two checks
            std::thread::sleep(LOOK);
        }
        std::process::abort();
    });
    while !dir.join("go").exists() {
        // sleep: between two checks
        std::thread::sleep(LOOK);
    }
    let text = std::fs::read_to_string(dir.join("calls"))?;
    let mut wanted = text.lines().map(serde_json::from_str::<Value>).enumerate();
    let mut open: HashMap<String, Value> = HashMap::new();
    let mut results = File::create(dir.join("results.part"))?;
    loop {
        while open.len() < AT_ONCE
            && let Some((index, call)) = wanted.next()
        {
            let (id, call) = (format!("c{index}"), call?);
            begin(&id, &call["call"], &call["args"])?;
            open.insert(id, call);
        }
        if open.is_empty() {
            break;
        }
        let answer: Value =
            serde_json::from_str(&lines.next().context("the host closed the connection before an answer")??)?;
        if answer["type"] == "host_result" {
            take(&answer, &mut open, &mut results)?;
        }
    }
    std::fs::rename(dir.join("results.part"), dir.join("results"))?;
    lines.find(|line| line.as_ref().map_or(true, |line| line.contains("\"shutdown\"")));
    Ok(())
}

/// Handles an answer. A stale file is read again and then edited again.
fn take(answer: &Value, open: &mut HashMap<String, Value>, results: &mut File) -> Result<()> {
    let id = answer["id"].as_str().context("the answer has no id")?.to_owned();
    if let Some(call) = id.strip_prefix("r-").and_then(|id| open.get(id)) {
        return begin(id.trim_start_matches("r-"), &call["call"], &call["args"]);
    }
    let call = open.get(&id).context("the answer belongs to no call")?;
    let stale = answer["code"] == "stale" || answer["code"] == "not_read";
    if stale && call["insist"] == true {
        return begin(&format!("r-{id}"), &json!("read"), &json!({"path": call["args"]["path"]}));
    }
    open.remove(&id);
    Ok(writeln!(results, "{answer}")?)
}

fn begin(id: &str, call: &Value, args: &Value) -> Result<()> {
    send_frame(&json!({"type": "host_call", "id": id, "call": call, "args": args}))
}

fn send_frame(frame: &Value) -> Result<()> {
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{frame}")?;
    Ok(stdout.flush()?)
}
