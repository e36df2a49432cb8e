//! Computes the changes of a rewrite as JSON pointers.

use std::collections::BTreeMap;

use haft_protocol::RawJson;

/// The most pointers for one rewrite. A rewrite with more changes is reported as a change of the whole document.
const MAX_CHANGED: usize = 64;

/// Returns the deepest pointers to all different values; `""` is the whole document.
pub(super) fn changed_pointers(old: &RawJson, new: &RawJson) -> Vec<String> {
    let mut paths = Vec::new();
    collect_changes(String::new(), old, new, &mut paths);
    if paths.len() > MAX_CHANGED { vec![String::new()] } else { paths }
}

/// True if a change at one pointer also changes the value at the other.
pub(super) fn pointers_overlap(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn collect_changes(path: String, old: &RawJson, new: &RawJson, paths: &mut Vec<String>) {
    if old == new || paths.len() > MAX_CHANGED {
        return;
    }
    match (JsonNode::from_json(old), JsonNode::from_json(new)) {
        (JsonNode::Object(old), JsonNode::Object(new)) => collect_field_changes(&path, &old, &new, paths),
        (JsonNode::Array(old), JsonNode::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(&new).enumerate() {
                collect_changes(format!("{path}/{index}"), old, new, paths);
            }
        }
        (JsonNode::Leaf, JsonNode::Leaf) if old.same_value(new) => {}
        (JsonNode::Object(_) | JsonNode::Array(_) | JsonNode::Leaf, _) => paths.push(path),
    }
}

fn collect_field_changes(
    path: &str,
    old: &BTreeMap<String, RawJson>,
    new: &BTreeMap<String, RawJson>,
    paths: &mut Vec<String>,
) {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
        match (old.get(key), new.get(key)) {
            (Some(old), Some(new)) => collect_changes(path, old, new, paths),
            _ if paths.len() <= MAX_CHANGED => paths.push(path),
            _ => return,
        }
    }
}

/// One level of a value. Numbers are compared as text, so that no digit is lost.
enum JsonNode {
    Object(BTreeMap<String, RawJson>),
    Array(Vec<RawJson>),
    Leaf,
}

impl JsonNode {
    fn from_json(json: &RawJson) -> Self {
        let object = || json.read().ok().map(Self::Object);
        let array = || json.read().ok().map(Self::Array);
        let node = if json.is_object() {
            object()
        } else if json.as_str().starts_with('[') {
            array()
        } else {
            None
        };
        node.unwrap_or(Self::Leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expect: &[&str]) {
        assert_eq!(changed_pointers(&RawJson::parse(old).unwrap(), &RawJson::parse(new).unwrap()), expect);
    }

    #[test]
    fn returns_the_deepest_pointers() {
        check(r#"{"a":1}"#, r#"{"a":2}"#, &["/a"]);
        check(r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":1,"c":3,"d":4}}"#, &["/a/c", "/a/d"]);
        check(r#"{"a":1,"b":2}"#, r#"{"b":2}"#, &["/a"]);
        check(r#"{"a":[1,{"x":2}]}"#, r#"{"a":[1,{"x":3}]}"#, &["/a/1/x"]);
        check(r#"{"a":[1,2]}"#, r#"{"a":[1]}"#, &["/a"]);
        check(r#"{"a":[1]}"#, r#"{"a":{"0":1}}"#, &["/a"]);
        check(r#"{"a/b~":1}"#, r#"{"a/b~":2}"#, &["/a~1b~0"]);
        check(r#"{"n":9007199254740993}"#, r#"{"n":9007199254740992}"#, &["/n"]);
        check(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, &[]);
        check(r#"{"a":"ä&","b":["ö"],"c":1}"#, r#"{"c":2,"b":["\u00f6"],"a":"\u00e4\u0026"}"#, &["/c"]);
    }

    #[test]
    fn returns_the_root_for_too_many_changes() {
        let object = |range: std::ops::Range<u32>| {
            let fields: Vec<_> = range.map(|n| format!(r#""k{n}":{n}"#)).collect();
            format!("{{{}}}", fields.join(","))
        };
        assert_eq!(
            changed_pointers(&RawJson::empty_object(), &RawJson::parse(&object(0..64)).unwrap()).len(),
            MAX_CHANGED
        );
        check("{}", &object(0..65), &[""]);
    }

    #[test]
    fn a_field_overlaps_with_its_content() {
        assert!(
            pointers_overlap("/a", "/a")
                && pointers_overlap("/a", "/a/b")
                && pointers_overlap("/a/b", "/a")
                && pointers_overlap("", "/a")
        );
        assert!(!pointers_overlap("/a", "/ab") && !pointers_overlap("/a/b", "/a/c"));
    }
}
