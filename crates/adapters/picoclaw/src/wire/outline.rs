//! The outline of a JSON value for messages: names and kinds, without texts.

use super::action::HookAction;
use super::fold::ObjectFields;

/// Returns an outline such as `{"action":"modify","call":{"args":{…}}}`: names and kinds, two
/// levels deep. The only texts are the actions.
pub(super) fn json_outline(json: &str) -> String {
    let mut out = String::new();
    write(&mut out, "", json, 0);
    out
}

/// The maximum nesting of objects in an outline.
const DEEPEST: usize = 2;

/// The maximum number of fields of one object in an outline.
const MOST: usize = 8;

/// The maximum length of a name in an outline, in characters.
const LONGEST: usize = 32;

fn write(out: &mut String, name: &str, json: &str, depth: usize) {
    match json.as_bytes().first() {
        Some(b'{') if depth < DEEPEST => write_object(out, json, depth),
        Some(b'{') => out.push_str(if json == "{}" { "{}" } else { "{…}" }),
        Some(b'[') => out.push_str(if json == "[]" { "[]" } else { "[…]" }),
        Some(b'"') if name.eq_ignore_ascii_case("action") && is_action(json) => out.push_str(json),
        Some(b'"') => out.push_str(if json == "\"\"" { "\"\"" } else { "\"…\"" }),
        Some(b't' | b'f' | b'n') => out.push_str(json),
        Some(_) => out.push_str("a number"),
        None => out.push_str("nothing"),
    }
}

fn write_object(out: &mut String, json: &str, depth: usize) {
    let Ok(fields) = ObjectFields::parse(json) else { return out.push_str("{…}") };
    out.push('{');
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if index == MOST {
            out.push('…');
            break;
        }
        let short: String = name.chars().take(LONGEST).collect();
        out.push_str(&format!("{short:?}:"));
        write(out, name, value, depth + 1);
    }
    out.push('}');
}

/// True if the text is short and plain enough to be an action, so that messages can show it.
fn is_action(json: &str) -> bool {
    let word = json.trim_matches('"');
    word.len() <= HookAction::HardAbort.name().len() + 6
        && word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expect: &str) {
        assert_eq!(json_outline(json), expect);
    }

    #[test]
    fn outline_has_names_and_kinds_but_no_texts() {
        check("{}", "{}");
        check(r#""a key""#, "\"…\"");
        check("[1,2]", "[…]");
        check("7", "a number");
        check(
            r#"{"Action":"block","call":{"args":{"key":1},"none":{},"n":-1.5,"on":true,"x":null,"t":"","l":[]}}"#,
            r#"{"Action":"block","call":{"args":{…},"none":{},"n":a number,"on":true,"x":null,"t":"","l":[]}}"#,
        );
        check(r#"{"action":"sk-LIVE-0123456789"}"#, r#"{"action":"…"}"#);
        check(r#"{"action":{"b":1},"\n":1}"#, "{\"action\":{\"b\":a number},\"\\n\":a number}");
    }

    #[test]
    fn outline_cuts_large_values() {
        let names = (0..20).map(|n| format!(r#""{n}":1"#)).collect::<Vec<_>>().join(",");
        let shown = (0..MOST).map(|n| format!(r#""{n}":a number"#)).collect::<Vec<_>>().join(",");
        check(&format!("{{{names}}}"), &format!("{{{shown},…}}"));
        check(
            &format!(r#"{{"{}":1}}"#, "x".repeat(1000)),
            &format!(r#"{{"{}":a number}}"#, "x".repeat(LONGEST)),
        );
    }
}
