//! A process hook with scripted answers: `hook-peer LOG REPLIES`.
//!
//! `REPLIES` is a JSON object with the result for each method, such as `{"hook.before_tool":{"action":"deny_tool"}}`.
//! Other methods are answered with `{"action":"continue"}`. The text `"exit"` instead of a result ends the process
//! without an answer; `"hang"` never answers. `LOG` gets one line for each call: the method and the working directory.

use std::fs::OpenOptions;
use std::io::{BufRead, Write};
use std::process::exit;

use serde_json::{Value, json};

fn main() {
    let mut args = std::env::args().skip(1);
    let (Some(log), Some(replies)) = (args.next(), args.next()) else { exit(2) };
    let Ok(replies) = serde_json::from_str::<Value>(&replies) else { exit(2) };
    let here = std::env::current_dir().unwrap_or_default();
    let mode = std::env::var("HOOK_MODE").unwrap_or_default();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { exit(1) };
        let Ok(call) = serde_json::from_str::<Value>(&line) else { exit(1) };
        let method = call["method"].as_str().unwrap_or_default();
        note(&log, &format!("{method} {} {mode}", here.display()));
        if call["id"].is_null() {
            continue;
        }
        let result = match (&replies[method], method) {
            (Value::String(word), _) if word == "exit" => exit(3),
            (Value::String(word), _) if word == "hang" => continue,
            (Value::Null, "hook.hello") => json!({"ok": true}),
            (Value::Null, "hook.approve_tool") => json!({"approved": true}),
            (Value::Null, _) => json!({"action": "continue"}),
            (result, _) => result.clone(),
        };
        answer(&json!({"jsonrpc": "2.0", "id": call["id"], "result": result}));
    }
    note(&log, "end of input");
}

fn answer(reply: &Value) {
    let mut out = std::io::stdout().lock();
    // A closed pipe means that the host is gone, and this process will end soon.
    _ = writeln!(out, "{reply}").and_then(|()| out.flush());
}

fn note(log: &str, line: &str) {
    let Ok(mut file) = OpenOptions::new().create(true).append(true).open(log) else { exit(2) };
    if writeln!(file, "{}", line.trim_end()).is_err() {
        exit(2);
    }
}
