//! The data that the fake server returns.

pub(super) const COMMANDS: &str = r#"{"commands":[
    {"name":"todo","description":"Shows what is to be done","extension":"todo"},
    {"name":"note","description":"Notes something","extension":"todo","completes":true},
    {"name":"review","description":"Reviews a change"},
    {"name":"skill:pdf","description":"Reads PDF files"}]}"#;

pub(super) const COMPLETIONS: &str = r#"{"items":[
    {"value":"done 1","label":"buy milk","description":"is done"},
    {"value":"drop 1","label":"buy milk","description":"is of no use"}]}"#;

pub(super) const EXTENSIONS: &str = r#"{"extensions":[{"name":"todo","version":"1.0","description":"A list",
    "state":"ready","origin":"global","dir":"/ext/todo","required":false,"gates_off":false,
    "commands":["todo"],"tools":["todo_add"]}]}"#;

pub(super) const MODELS: &str = r#"{"models":[
    {"id":"claude-opus","provider":"anthropic","context_window":200000,"max_output":32000,"reasoning":true,"name":"Claude Opus"},
    {"id":"claude-haiku","provider":"anthropic","context_window":200000,"max_output":32000,"reasoning":true},
    {"id":"gpt-5","provider":"openai","context_window":400000,"max_output":32000,"reasoning":true},
    {"id":"gemini-3","provider":"gemini","context_window":1000000,"max_output":32000,"reasoning":true,"thinking":["off","low","high"],"prices":{"input":1.5,"output":9},"available":false}]}"#;

pub(super) const TOOLS: &str = r#"{"tools":[
    {"name":"bash","description":"Runs a command","schema":{},"active":true},
    {"name":"todo_add","description":"Adds","schema":{},"active":false,"extension":"todo"}]}"#;

pub(super) const TREE: &str = r#"{"leaf":"e4","entries":[
    {"id":"e1","type":"message","role":"user","text":"fix the bug","time":"2026-01-01T00:00:00Z"},
    {"id":"e2","parent":"e1","type":"message","role":"assistant","text":"Which one?","time":"2026-01-01T00:00:00Z"},
    {"id":"e3","parent":"e2","type":"message","role":"user","text":"the first","time":"2026-01-01T00:00:00Z"},
    {"id":"e4","parent":"e2","type":"message","role":"user","text":"the second","time":"2026-01-01T00:00:00Z"}]}"#;

/// Returns a list with an open session that has `messages` messages, and a stored session.
pub(super) fn sessions(shown: &str, messages: usize) -> String {
    let usage = r#"{"input":0,"output":0,"cache_read":0,"cache_write":0,"cost_usd":0.0}"#;
    let session = |id: &str, open: bool, messages: usize, more: &str| {
        format!(
            r#"{{"session":"{id}","open":{open},"current":{open},"busy":false,"cwd":"/projects/haft",
            "created":"2026-01-02T03:04:05Z","messages":{messages},"usage":{usage}{more}}}"#
        )
    };
    let list = [
        session(shown, true, messages, ""),
        session("0188-old", false, 3, r#","first_text":"write a parser""#),
    ];
    format!(r#"{{"sessions":[{}]}}"#, list.join(","))
}

pub(super) const USED: &str = r#"{"input":1200,"output":340,"cache_read":0,"cache_write":0,"cost_usd":0.12}"#;

pub(super) const UNUSED: &str = r#"{"input":0,"output":0,"cache_read":0,"cache_write":0,"cost_usd":0.0}"#;
