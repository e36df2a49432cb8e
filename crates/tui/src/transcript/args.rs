//! How the arguments of calls are summed up, as one table.

use haft_protocol::RawJson;
use serde_json::{Map, Value};

use crate::clean::{Clean, CleanLine};

/// The longest sum, in columns: more than that is on no screen's row.
const LONGEST: usize = 400;

/// For each tool that is known the fields that matter, in their order, each with what stands before it.
const TABLE: &[(&str, &[(&str, &str)])] = &[
    ("bash", &[("command", "")]),
    ("read", &[("path", ""), ("offset", ":"), ("limit", " +")]),
    ("write", &[("path", "")]),
    ("edit", &[("path", "")]),
    ("ls", &[("path", "")]),
    ("find", &[("glob", ""), ("path", " in ")]),
    ("grep", &[("pattern", ""), ("path", " in "), ("glob", " of ")]),
    ("skill", &[("name", ""), ("file", "/")]),
];

/// Arguments, summed up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sum {
    /// What stands on the row of the call.
    pub(super) line: CleanLine,
    /// All of it, where that is more.
    pub(super) whole: Option<Clean>,
}

impl Sum {
    /// Of the arguments of a tool.
    pub(super) fn of(tool: &str, args: &RawJson) -> Self {
        let fields = TABLE.iter().find(|(name, _)| *name == tool).map(|(_, fields)| *fields);
        match fields.and_then(|fields| picked(fields, args)) {
            Some(text) => Self::text(&text),
            None if args.as_str() == "{}" => Self::default(),
            None => Self::text(args.as_str()),
        }
    }

    /// Of a command, or of anything that is written out.
    pub(super) fn text(outside: &str) -> Self {
        let trimmed = outside.trim();
        let whole = Clean::new(trimmed);
        let line = whole.lines().next().unwrap_or_default();
        if whole.lines().nth(1).is_none() && line.columns() <= LONGEST {
            return Self { line, whole: None };
        }
        let first = CleanLine::new(&format!("{line} …"));
        Self { line: first.shortened(LONGEST), whole: Some(whole) }
    }
}

fn picked(fields: &[(&str, &str)], args: &RawJson) -> Option<String> {
    let args: Map<String, Value> = args.read().ok()?;
    let mut text = String::new();
    for (field, before) in fields {
        let value = match args.get(*field) {
            Some(Value::String(value)) => value.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => continue,
        };
        text.push_str(before);
        text.push_str(&value);
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, args: &str, line: &str) {
        let sum = Sum::of(tool, &RawJson::parse(args).unwrap());
        assert_eq!((sum.line.as_str(), sum.whole), (line, None));
    }

    #[test]
    fn known_tools_say_what_matters() {
        check("bash", r#"{"command":"cargo test -p x","timeout":9}"#, "cargo test -p x");
        check("read", r#"{"path":"src/lib.rs"}"#, "src/lib.rs");
        check("read", r#"{"path":"src/lib.rs","offset":10,"limit":5}"#, "src/lib.rs:10 +5");
        check("write", r#"{"path":"a","content":"long"}"#, "a");
        check("edit", r#"{"path":"a","edits":[]}"#, "a");
        check("ls", "{}", "");
        check("find", r#"{"glob":"*.rs","path":"src"}"#, "*.rs in src");
        check("grep", r#"{"pattern":"fn","path":"src","glob":"*.rs"}"#, "fn in src of *.rs");
        check("skill", r#"{"name":"pdf","file":"a.md"}"#, "pdf/a.md");
    }

    #[test]
    fn others_are_json() {
        check("todo_add", r#"{"text":"milk"}"#, r#"{"text":"milk"}"#);
        check("todo", "{}", "");
        check("bash", r#"{"cmd":1}"#, r#"{"cmd":1}"#);
        check("bash", "[1]", "[1]");
    }

    #[test]
    fn what_is_long_begins_on_the_row() {
        let sum = Sum::text("cat <<E\nx\nE\n");
        assert_eq!(sum.line.as_str(), "cat <<E …");
        assert_eq!(sum.whole, Some(Clean::new("cat <<E\nx\nE")));
        assert_eq!(Sum::text(&"x".repeat(LONGEST + 1)).line.columns(), LONGEST);
    }
}
