//! Truncates arguments and results of an extension's calls, so that a slow reader of events does not hold whole values
//! in memory.

use std::collections::BTreeMap;

use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use haft_protocol::event::AgentEvent;

/// The maximum bytes of arguments, of a result and of its details in an event.
const MOST: usize = 4096;

/// The maximum bytes of a single argument among several.
const MOST_OF_ONE: usize = 512;

pub(crate) fn abridge_event(whole: AgentEvent) -> AgentEvent {
    use AgentEvent as E;
    #[expect(clippy::wildcard_enum_match_arm, reason = "a call has only these events")]
    match whole {
        E::HostCallStart { id, extension, name, args } => {
            E::HostCallStart { id, extension, name, args: abridge_object(&args) }
        }
        E::HostCallEnd { id, extension, name, is_error, code, content: whole, details } => {
            let details = details.as_ref().map(abridge_object);
            E::HostCallEnd { id, extension, name, is_error, code, content: abridge_content(&whole), details }
        }
        E::ToolRewritten { id, by, tool, args, changed } => {
            E::ToolRewritten { id, by, tool, args: abridge_object(&args), changed: abridge_pointers(changed) }
        }
        E::ToolRewriteConflict { id, path, by } => {
            E::ToolRewriteConflict { id, path: abridge_pointer(path), by }
        }
        E::ToolBlocked { id, by, reason } => E::ToolBlocked { id, by, reason: truncate_text(&reason, MOST) },
        E::ToolProgress { id, text, replaces, details } => {
            let (text, details) = (truncate_text(&text, MOST), details.as_ref().map(abridge_object));
            E::ToolProgress { id, text, replaces, details }
        }
        other => other,
    }
}

/// Returns the changed pointers; the whole document if there are too many.
fn abridge_pointers(all: Vec<String>) -> Vec<String> {
    let bytes: usize = all.iter().map(|path| path.len() + 1).sum();
    if bytes <= MOST { all } else { vec![String::new()] }
}

fn abridge_pointer(path: String) -> String {
    if path.len() <= MOST_OF_ONE { path } else { String::new() }
}

fn abridge_object(whole: &RawJson) -> RawJson {
    let bytes = whole.as_str().len();
    if bytes <= MOST {
        return whole.clone();
    }
    let short = |fields: BTreeMap<String, RawJson>| {
        let told: BTreeMap<_, _> =
            fields.into_iter().map(|(name, value)| (name, abridge_field(value))).collect();
        RawJson::from_value(&told).ok().filter(|told| told.as_str().len() <= MOST)
    };
    let size = || RawJson::from_value(&BTreeMap::from([("…", byte_count_note(bytes))])).ok();
    whole.read().ok().and_then(short).or_else(size).unwrap_or_else(RawJson::empty_object)
}

fn abridge_content(whole: &[ContentBlock]) -> Vec<ContentBlock> {
    let mut left = MOST;
    let told = whole.iter().map_while(|block| {
        let text = match block {
            ContentBlock::Text { text } => truncate_text(text, left),
            ContentBlock::Image(image) => truncate_text(&format!("[{}]", image.mime_type), left),
        };
        let told = (left > 0).then_some(ContentBlock::Text { text: text.clone() });
        left = left.saturating_sub(text.len().max(1));
        told
    });
    told.collect()
}

fn abridge_field(value: RawJson) -> RawJson {
    let bytes = value.as_str().len();
    if bytes <= MOST_OF_ONE {
        return value;
    }
    let told = match value.read::<String>() {
        Ok(text) => truncate_text(&text, MOST_OF_ONE),
        Err(_) => byte_count_note(bytes),
    };
    RawJson::from_value(&told).unwrap_or_else(|_| RawJson::empty_object())
}

fn truncate_text(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let (head, _) = text.split_at(text.floor_char_boundary(most));
    format!("{head}… {}", byte_count_note(text.len()))
}

fn byte_count_note(bytes: usize) -> String {
    format!("[{bytes} bytes in all]")
}

#[cfg(test)]
mod tests {
    use haft_protocol::content::Image;

    use super::*;

    #[track_caller]
    fn check_object(json: &str, expect: &str) {
        let told = abridge_object(&RawJson::parse(json).unwrap());
        assert_eq!(told.as_str(), expect);
    }

    #[test]
    fn truncates_only_long_arguments() {
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
    fn truncates_hook_events() {
        use haft_protocol::ids::ToolCallId;
        let (id, by, long) = (|| ToolCallId::new("host-1"), || "guard".to_owned(), "x".repeat(900_000));
        let args = || RawJson::parse(&format!(r#"{{"content":"{long}"}}"#)).unwrap();
        let many = || vec![format!("/{long}"), "/a".to_owned()];
        let whole = [
            AgentEvent::ToolRewritten { id: id(), by: by(), tool: None, args: args(), changed: many() },
            AgentEvent::ToolRewriteConflict { id: id(), path: format!("/{long}"), by: [by(), by()] },
            AgentEvent::ToolBlocked { id: id(), by: by(), reason: long.clone() },
            AgentEvent::ToolProgress { id: id(), text: long.clone(), replaces: true, details: None },
        ];
        for whole in whole {
            let told = serde_json::to_string(&abridge_event(whole.clone())).unwrap();
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
        assert_eq!(abridge_event(named()), named());
        assert_eq!(abridge_event(short(many())), short(vec![String::new()]));
    }

    #[test]
    fn truncates_results_and_names_images() {
        let image = || ContentBlock::Image(Image { mime_type: "image/png".into(), data: "AAAA".into() });
        assert_eq!(
            abridge_content(&[ContentBlock::text("a"), image()]),
            [ContentBlock::text("a"), ContentBlock::text("[image/png]")]
        );
        let told = abridge_content(&[ContentBlock::text("x".repeat(5000)), image()]);
        assert_eq!(told, [ContentBlock::text(format!("{}… [5000 bytes in all]", "x".repeat(MOST)))]);
        let many = vec![ContentBlock::text(""); 10_000];
        assert_eq!(abridge_content(&many).len(), MOST);
    }
}
