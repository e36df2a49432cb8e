//! The generated schemas contain exactly the frames and hooks of the registries.

use haft_protocol::codec::FrameSet;
use haft_protocol::ext::{EventIntercept, ExtensionFrame, HostFrame, InterceptKind};
use serde_json::Value;

/// Returns the `const` of the tag in every branch of a schema's `oneOf`, in order.
fn consts(schema: &schemars::Schema, tag: &str) -> Vec<String> {
    let branches = schema.get("oneOf").and_then(Value::as_array).unwrap();
    let constant = |branch: &Value| branch["properties"][tag]["const"].as_str().unwrap().to_owned();
    branches.iter().map(constant).collect()
}

#[test]
fn kinds_are_the_consts_of_the_schema() {
    assert_eq!(consts(&schemars::schema_for!(HostFrame), "type"), HostFrame::KINDS);
    assert_eq!(consts(&schemars::schema_for!(ExtensionFrame), "type"), ExtensionFrame::KINDS);
}

#[test]
fn hooks_are_the_consts_of_the_schema() {
    let names: Vec<_> = InterceptKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(consts(&schemars::schema_for!(EventIntercept), "event"), names);
    assert!(names.iter().all(|name| InterceptKind::from_name(name).is_some_and(|kind| kind.name() == *name)));
    assert_eq!(InterceptKind::from_name("warp"), None);
}
