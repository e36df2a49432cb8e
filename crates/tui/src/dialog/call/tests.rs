//! Tests of the format of granted calls.

use haft_protocol::RawJson;

use super::*;

fn call(name: &str, args: &str) -> ToolCall {
    let (id, args) = (haft_protocol::ids::ToolCallId::new("t"), RawJson::parse(args).unwrap());
    ToolCall { id, name: name.into(), args }
}

#[track_caller]
fn check(args: &str, expect: &[&str]) {
    let mark = |row: &ArgumentRow| match row.mark {
        LineMark::No => "",
        LineMark::Line => "│",
        LineMark::Removed => "-",
        LineMark::Added => "+",
        LineMark::Context => " ",
    };
    let row = |row: &ArgumentRow| format!("{}{}{}", " ".repeat(row.indent), mark(row), row.text);
    assert_eq!(argument_rows(&call("bash", args)).iter().map(row).collect::<Vec<_>>(), expect);
}

#[test]
fn shows_arguments_unchanged() {
    check("{}", &["{}"]);
    check(" [1,2] ", &["[", "  1", "  2", "]"]);
    check(
        r#"{"b": [1, {"x": null}, []], "a": {}, "n": 1.50e3}"#,
        &[
            r#"  "b": ["#,
            "    1",
            "    {",
            r#"      "x": null"#,
            "    }",
            "    []",
            "  ]",
            r#"  "a": {}"#,
            r#"  "n": 1.50e3"#,
        ],
    );
    check(r#"{"{": "}],:"}"#, &[r#"  "{": "}],:""#]);
    check(r#"{"a": "b", "a\"": "{"}"#, &[r#"  "a": "b""#, r#"  "a\"": "{""#]);
}

#[test]
fn shows_multiline_string_below_its_name() {
    check(r#"{"c":"a\n\n  b\n"}"#, &[r#"  "c":"#, "    │a", "    │", "    │  b", "    │"]);
    check(r#"{"c":"say \"hi\"","d":1}"#, &[r#"  "c":"#, r#"    │say "hi""#, r#"  "d": 1"#]);
    check(
        r#"{"c":["a\nb","c\nd","e"]}"#,
        &[
            r#"  "c": ["#,
            "    text:",
            "      │a",
            "      │b",
            "    text:",
            "      │c",
            "      │d",
            r#"    "e""#,
            "  ]",
        ],
    );
    check(
        r#"{"edits":[{"old_text":"a","new_text":"b\nc"}]}"#,
        &[
            r#"  "edits": ["#,
            "    {",
            r#"      "old_text":"#,
            "        -a",
            r#"      "new_text":"#,
            "        +b",
            "        +c",
            "    }",
            "  ]",
        ],
    );
}

#[test]
fn different_strings_look_different() {
    check(
        r#"{"c":"\t\\t\\n\\\\u{1b}\u001b \n\\ "}"#,
        &[r#"  "c":"#, r"    │\t\u{5c}t\n\\u{5c}u{1b}\u{1b}\u{20}", r"    │\\u{20}"],
    );
}

#[test]
fn escapes_invisible_characters() {
    check(
        r#"{"c":"\u0072\u006d \u001b[2J\u009bx\u007f\r\t"}"#,
        &[r#"  "c": "rm \u{1b}[2J\u{9b}x\u{7f}\r\t""#],
    );
    check(
        "{\"c\":\"a\u{202e}b\u{200b}c\u{a0}d\u{200d}e\u{3164}\u{e0041}\"}",
        &[r#"  "c": "a\u{202e}b\u{200b}c\u{a0}d\u{200d}e\u{3164}\u{e0041}""#],
    );
    check("{\"日本é\":\"e\u{301}\"}", &["  \"日本é\": \"e\u{301}\""]);
}

#[track_caller]
fn check_place(name: &str, args: &str, expect: Option<&str>) {
    let cwd = if cfg!(windows) { r"C:\w" } else { "/w" };
    assert_eq!(target_path(&call(name, args), Path::new(cwd)).as_deref(), expect, "{args}");
}

#[test]
fn names_file_relative_to_directory() {
    check_place("write", r#"{"content":"x","path":"src/a.rs"}"#, Some("file: src/a.rs"));
    check_place("edit", r#"{"path":"@./a\u202eb"}"#, Some(r"file: ./a\u{202e}b"));
    check_place("read", r#"{"path":"~/a"}"#, Some("file: ~/a"));
    check_place("ls", r#"{"path":"src"}"#, Some("in: src"));
    #[cfg(unix)]
    {
        check_place("write", r#"{"path":"/etc/passwd"}"#, Some("file: /etc/passwd"));
        check_place("write", r#"{"path":"../a"}"#, Some("file: /w/../a"));
    }
    check_place("bash", r#"{"path":"a"}"#, None);
    check_place("ls", "{}", None);
    check_place("ls", r#"{"path":""}"#, None);
}
