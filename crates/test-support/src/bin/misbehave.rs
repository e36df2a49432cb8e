//! An extension that does one thing wrong: `misbehave <fault> [name]`.
//!
//! Everything else it does well: it registers the tool `evil_tool` and the command `/evil`, watches all events,
//! intercepts `tool_call`, refuses what contains `rm -rf`, and leaves when it is asked to. When its fault happens,
//! it writes the fault's name to the file that `HAFT_MARKER` names, so that a test knows that it happened.

#![expect(clippy::print_stdout, reason = "standard output is the wire")]
#![expect(clippy::print_stderr, reason = "standard error is the log")]
#![expect(clippy::disallowed_methods, reason = "starts shells, to leave processes behind")]

use std::io::{BufRead, Write};
use std::process::{Command, exit};
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any test.
const FOR_EVER: Duration = Duration::from_secs(600);

/// What a scanner with a fixed buffer takes.
const SCANNER: usize = 4 * 1024 * 1024;

fn main() {
    let mut args = std::env::args().skip(1);
    let fault = args.next().unwrap_or_else(|| "good".to_owned());
    let name = args.next().unwrap_or_else(|| "misbehave".to_owned());
    before_hello(&fault, &name);
    say(&json!({"type": "hello", "name": name, "version": "1.0.0"}));
    after_hello(&fault);
    say(&json!({"type": "register_tool", "name": "evil_tool", "description": "for tests",
        "schema": {"type": "object"}}));
    say(&json!({"type": "register_command", "name": "evil"}));
    say(&json!({"type": "subscribe", "intercept": ["tool_call"],
        "events": ["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"]}));
    say(&json!({"type": "ready"}));
    after_ready(&fault);
    serve(&fault);
}

fn before_hello(fault: &str, name: &str) {
    match fault {
        "silent" => hang(fault),
        "late-hello" => {
            mark(fault);
            std::thread::sleep(delay(15_000));
        }
        "garbage" => {
            mark(fault);
            println!("Welcome to misbehave 1.0!\n  loading modules...");
        }
        "exit-before-hello" => {
            eprintln!("usage: misbehave <fault>");
            leave(fault, 2);
        }
        "ignore-sigterm" => ignore_sigterm(name),
        _ => {}
    }
}

fn after_hello(fault: &str) {
    if fault == "exit-after-hello" {
        leave(fault, 3);
    }
}

fn after_ready(fault: &str) {
    match fault {
        "never-read-stdin" => hang(fault),
        "flood" => {
            mark(fault);
            loop {
                say(&json!({"type": "notify", "level": "info", "message": "flood"}));
            }
        }
        _ => {}
    }
}

fn serve(fault: &str) {
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { exit(1) };
        if fault == "die-on-big-line" && line.len() > SCANNER {
            eprintln!("bufio.Scanner: token too long");
            leave(fault, 4);
        }
        let Ok(frame) = serde_json::from_str::<Value>(&line) else { exit(1) };
        match frame["type"].as_str() {
            Some("tool_call" | "event_intercept" | "command_invoked") => question(fault, &frame),
            Some("event") => mark(&format!("event {}", frame["event"].as_str().unwrap_or_default())),
            Some("shutdown") if fault == "linger" => mark(fault),
            Some("shutdown") => {
                say(&json!({"type": "shutdown_ack"}));
                mark("shutdown");
                exit(0);
            }
            _ => {}
        }
    }
    if fault == "linger" {
        std::thread::sleep(FOR_EVER);
    }
}

fn question(fault: &str, frame: &Value) {
    match fault {
        "exit-in-call" => {
            eprintln!("panic: boom");
            leave(fault, 3);
        }
        "half-line" => {
            print!("{{\"type\":\"tool_result\",\"id\":\"ha");
            leave(fault, 0);
        }
        "huge-line" => {
            mark(fault);
            println!("{{\"type\":\"notify\",\"message\":\"{}\"}}", "x".repeat(9 * 1024 * 1024));
        }
        "fork-and-hold-stdout" => {
            Command::new("sh").args(["-c", "sleep 60 &"]).status().expect("sh runs");
            leave(fault, 5);
        }
        "answer-twice" => {
            answer(frame);
            mark(fault);
        }
        "answer-late" => {
            mark(fault);
            std::thread::sleep(delay(6_000));
        }
        "wrong-kind" => {
            mark(fault);
            let wrong = if frame["type"] == "tool_call" { "command_response" } else { "tool_result" };
            return say(&json!({"type": wrong, "id": frame["id"]}));
        }
        "bad-types" => {
            mark(fault);
            return bad_types(frame);
        }
        "hang-intercept" if frame["type"] == "event_intercept" => return mark(fault),
        "print-to-stdout" => {
            mark(fault);
            println!("debug: got a question");
        }
        _ => {}
    }
    answer(frame);
}

fn answer(frame: &Value) {
    let id = &frame["id"];
    say(&match frame["type"].as_str() {
        Some("tool_call") => {
            json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": "ok"}]})
        }
        Some("command_invoked") => {
            json!({"type": "command_response", "id": id, "action": "display", "display": "evil"})
        }
        _ if frame["tool_args"].to_string().contains("rm -rf") => {
            json!({"type": "event_intercept_response", "id": id, "block": true, "reason": "refused: rm -rf"})
        }
        _ => json!({"type": "event_intercept_response", "id": id}),
    });
}

fn bad_types(frame: &Value) {
    let id = &frame["id"];
    say(&match frame["type"].as_str() {
        Some("tool_call") => json!({"type": "tool_result", "id": id, "content": "a string"}),
        Some("command_invoked") => json!({"type": "command_response", "id": id, "action": 7}),
        _ => json!({"type": "event_intercept_response", "id": id, "block": "false"}),
    });
}

/// Becomes a shell that ignores the signal and then itself again: what is ignored stays ignored over an exec.
#[cfg(unix)]
fn ignore_sigterm(name: &str) {
    use std::os::unix::process::CommandExt;

    let program = std::env::current_exe().expect("a program knows its own path");
    let script = "trap '' TERM; exec \"$0\" linger \"$1\"";
    let error = Command::new("sh").args(["-c", script]).arg(program).arg(name).exec();
    eprintln!("sh cannot be started: {error}");
    exit(1);
}

/// There is no such signal: not leaving is the same.
#[cfg(not(unix))]
fn ignore_sigterm(_name: &str) {}

fn hang(fault: &str) {
    mark(fault);
    std::thread::sleep(FOR_EVER);
}

fn leave(fault: &str, status: i32) -> ! {
    mark(fault);
    std::io::stdout().flush().expect("standard output works");
    exit(status)
}

fn delay(default: u64) -> Duration {
    let set = std::env::var("HAFT_DELAY_MS").ok().and_then(|text| text.parse().ok());
    Duration::from_millis(set.unwrap_or(default))
}

fn say(frame: &Value) {
    let mut out = std::io::stdout().lock();
    // The host may be gone; so are we, then.
    if writeln!(out, "{frame}").and_then(|()| out.flush()).is_err() {
        exit(0);
    }
}

fn mark(what: &str) {
    let Ok(path) = std::env::var("HAFT_MARKER") else { return };
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    // One write, so that two processes can share the file.
    let line = format!("{what}\n");
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the marker can be written");
}
