//! Shortened arguments and results of an extension's calls: whoever reads events slowly shall not have to hold every
//! call whole.

use std::collections::BTreeMap;

use haft_protocol::RawJson;
use haft_protocol::content::Content;
use haft_protocol::event::AgentEvent;

/// The most that is told of arguments, of a result and of its details, in bytes.
const MOST: usize = 4096;

/// The most that is told of one of many arguments, in bytes.
const MOST_OF_ONE: usize = 512;

pub(crate) fn event(whole: AgentEvent) -> AgentEvent {
    use AgentEvent as E;
    #[expect(clippy::wildcard_enum_match_arm, reason = "a call has these events and no other")]
    match whole {
        E::HostCallStart { id, extension, name, args } => {
            E::HostCallStart { id, extension, name, args: object(&args) }
        }
        E::HostCallEnd { id, extension, name, is_error, code, content: whole, details } => {
            let details = details.as_ref().map(object);
            E::HostCallEnd { id, extension, name, is_error, code, content: content(&whole), details }
        }
        E::ToolRewritten { id, by, tool, args, changed } => {
            E::ToolRewritten { id, by, tool, args: object(&args), changed: pointers(changed) }
        }
        E::ToolRewriteConflict { id, path, by } => E::ToolRewriteConflict { id, path: pointer(path), by },
        E::ToolBlocked { id, by, reason } => E::ToolBlocked { id, by, reason: beginning(&reason, MOST) },
        E::ToolProgress { id, text } => E::ToolProgress { id, text: beginning(&text, MOST) },
        other => other,
    }
}

/// Where something was changed; the whole, where it was changed in more places than can be told.
fn pointers(all: Vec<String>) -> Vec<String> {
    let bytes: usize = all.iter().map(|path| path.len() + 1).sum();
    if bytes <= MOST { all } else { vec![String::new()] }
}

fn pointer(path: String) -> String {
    if path.len() <= MOST_OF_ONE { path } else { String::new() }
}

fn object(whole: &RawJson) -> RawJson {
    let bytes = whole.as_str().len();
    if bytes <= MOST {
        return whole.clone();
    }
    let short = |fields: BTreeMap<String, RawJson>| {
        let told: BTreeMap<_, _> = fields.into_iter().map(|(name, value)| (name, field(value))).collect();
        RawJson::from_value(&told).ok().filter(|told| told.as_str().len() <= MOST)
    };
    let size = || RawJson::from_value(&BTreeMap::from([("…", in_all(bytes))])).ok();
    whole.read().ok().and_then(short).or_else(size).unwrap_or_else(RawJson::empty_object)
}

fn content(whole: &[Content]) -> Vec<Content> {
    let mut left = MOST;
    let told = whole.iter().map_while(|block| {
        let text = match block {
            Content::Text { text } => beginning(text, left),
            Content::Image(image) => beginning(&format!("[{}]", image.mime_type), left),
        };
        let told = (left > 0).then_some(Content::Text { text: text.clone() });
        left = left.saturating_sub(text.len().max(1));
        told
    });
    told.collect()
}

fn field(value: RawJson) -> RawJson {
    let bytes = value.as_str().len();
    if bytes <= MOST_OF_ONE {
        return value;
    }
    let told = match value.read::<String>() {
        Ok(text) => beginning(&text, MOST_OF_ONE),
        Err(_) => in_all(bytes),
    };
    RawJson::from_value(&told).unwrap_or_else(|_| RawJson::empty_object())
}

fn beginning(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, _) = text.split_at(text.floor_char_boundary(most));
    format!("{head}… {}", in_all(text.len()))
}

fn in_all(bytes: usize) -> String {
    format!("[{bytes} bytes in all]")
}

#[cfg(test)]
mod tests {
    use haft_protocol::content::Image;

    use super::*;

    #[track_caller]
    fn check_object(json: &str, expect: &str) {
        let told = object(&RawJson::parse(json).unwrap());
        assert_eq!(told.as_str(), expect);
    }

    #[test]
    fn short_arguments_are_told_byte_for_byte_and_of_long_ones_the_beginning() {
        check_object(r#"{"b":9007199254740993,"a":[1]}"#, r#"{"b":9007199254740993,"a":[1]}"#);
        let (long, head) = ("ä".repeat(450_000), "ä".repeat(256));
        check_object(
            &format!(r#"{{"path":"a","content":"{long}"}}"#),
            &format!(r#"{{"content":"{head}… [900000 bytes in all]","path":"a"}}"#),
        );
        check_object(
            &format!(r#"{{"path":"a","edits":["{long}"]}}"#),
            r#"{"edits":"[900004 bytes in all]","path":"a"}"#,
        );
        check_object(&format!(r#"{{"{long}":1}}"#), r#"{"…":"[900006 bytes in all]"}"#);
        check_object(&format!(r#"["{long}"]"#), r#"{"…":"[900004 bytes in all]"}"#);
    }

    #[test]
    fn what_hooks_do_about_it_is_told_as_short() {
        use haft_protocol::ids::ToolCallId;
        let (id, by, long) = (|| ToolCallId::new("host-1"), || "guard".to_owned(), "x".repeat(900_000));
        let args = || RawJson::parse(&format!(r#"{{"content":"{long}"}}"#)).unwrap();
        let many = || vec![format!("/{long}"), "/a".to_owned()];
        let whole = [
            AgentEvent::ToolRewritten { id: id(), by: by(), tool: None, args: args(), changed: many() },
            AgentEvent::ToolRewriteConflict { id: id(), path: format!("/{long}"), by: [by(), by()] },
            AgentEvent::ToolBlocked { id: id(), by: by(), reason: long.clone() },
            AgentEvent::ToolProgress { id: id(), text: long.clone() },
        ];
        for whole in whole {
            let told = serde_json::to_string(&event(whole.clone())).unwrap();
            assert!(told.len() < MOST + 200, "{} bytes: {told:.200}", told.len());
        }
        let short = |changed| AgentEvent::ToolRewritten {
            id: id(),
            by: by(),
            tool: None,
            args: RawJson::parse("{}").unwrap(),
            changed,
        };
        let named = || short(vec!["/path".to_owned()]);
        assert_eq!(event(named()), named());
        assert_eq!(event(short(many())), short(vec![String::new()]));
    }

    #[test]
    fn of_a_result_as_much_is_told_and_images_are_named() {
        let image = || Content::Image(Image { mime_type: "image/png".into(), data: "AAAA".into() });
        assert_eq!(
            content(&[Content::text("a"), image()]),
            [Content::text("a"), Content::text("[image/png]")]
        );
        let told = content(&[Content::text("x".repeat(5000)), image()]);
        assert_eq!(told, [Content::text(format!("{}… [5000 bytes in all]", "x".repeat(MOST)))]);
        let many = vec![Content::text(""); 10_000];
        assert_eq!(content(&many).len(), MOST);
    }
}
