//! Repeats the params of a request with the changes of a handler.
//!
//! PicoClaw takes the payload of a reply for the complete params: the next hook does not see
//! omitted fields, including fields that this SDK does not know. Unchanged fields are therefore
//! repeated as their original text.

use std::collections::{BTreeMap, HashMap};

use haft_protocol::RawJson;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Error, from_str, to_string};

/// An object with its values as texts.
type RawFields<'a> = BTreeMap<String, &'a RawValue>;

/// Returns `params`, which decode to `old`, with the changes to `new`. The fields in `always` are
/// present in any case.
pub(super) fn echo_params<Q: Serialize>(
    params: &RawJson,
    old: &Q,
    new: &Q,
    always: &[&str],
) -> Result<RawJson, Error> {
    let (old, new) = (to_string(old)?, to_string(new)?);
    let mut fields = patch_fields(params.as_str(), &old, &new)?;
    let whole: RawFields<'_> = from_str(&new)?;
    for name in always {
        if let Some(value) = whole.get(*name) {
            fields.entry((*name).to_owned()).or_insert_with(|| value.get().to_owned());
        }
    }
    to_raw_json(&write_object(&fields)?)
}

pub(super) fn without_field(object: &RawJson, name: &str) -> Result<RawJson, Error> {
    let mut fields: RawFields<'_> = from_str(object.as_str())?;
    fields.remove(name);
    RawJson::from_value(&fields)
}

/// Returns `raw`, which decodes to `old`, with the changes to `new`.
fn patch_value(raw: &str, old: &str, new: &str) -> Result<String, Error> {
    let all = |first: char| [raw, old, new].iter().all(|text| text.starts_with(first));
    if old == new {
        Ok(raw.to_owned())
    } else if raw == old {
        // The value has no unknown fields.
        Ok(new.to_owned())
    } else if all('{') {
        write_object(&patch_fields(raw, old, new)?)
    } else if all('[') {
        patch_items(raw, old, new)
    } else {
        Ok(new.to_owned())
    }
}

fn patch_fields(raw: &str, old: &str, new: &str) -> Result<BTreeMap<String, String>, Error> {
    let (raw, old, mut new): (RawFields<'_>, RawFields<'_>, RawFields<'_>) =
        (from_str(raw)?, from_str(old)?, from_str(new)?);
    let mut fields = BTreeMap::new();
    for (name, value) in raw {
        // A host may write names in any case; they are matched without regard to case.
        let known =
            |fields: &RawFields<'_>| fields.keys().find(|known| known.eq_ignore_ascii_case(&name)).cloned();
        let was = known(&old).and_then(|known| old.get(&known));
        let is = known(&new).and_then(|known| new.remove(&known));
        let text = match (was, is) {
            (Some(was), Some(is)) => patch_value(value.get(), was.get(), is.get())?,
            (None, Some(is)) => is.get().to_owned(),
            (Some(_), None) => continue,
            (None, None) => value.get().to_owned(),
        };
        fields.insert(name, text);
    }
    // Fields that were absent and did not change stay absent.
    new.retain(|name, is| old.get(name).is_none_or(|was| was.get() != is.get()));
    fields.extend(new.into_iter().map(|(name, is)| (name, is.get().to_owned())));
    Ok(fields)
}

fn patch_items(raw: &str, old: &str, new: &str) -> Result<String, Error> {
    let (raw, old, new): (Vec<&RawValue>, Vec<&RawValue>, Vec<&RawValue>) =
        (from_str(raw)?, from_str(old)?, from_str(new)?);
    let places: HashMap<&str, &RawValue> = old.iter().map(|was| was.get()).zip(raw.iter().copied()).collect();
    let as_many = old.len() == new.len();
    let mut items = Vec::with_capacity(new.len());
    for (index, is) in new.iter().enumerate() {
        let home = raw.get(index).zip(old.get(index));
        items.push(match (home, places.get(is.get())) {
            (Some((raw, was)), _) if was.get() == is.get() => raw.get().to_owned(),
            (_, Some(raw)) => raw.get().to_owned(),
            (Some((raw, was)), None) if as_many => patch_value(raw.get(), was.get(), is.get())?,
            (_, None) => is.get().to_owned(),
        });
    }
    Ok(format!("[{}]", items.join(",")))
}

fn write_object(fields: &BTreeMap<String, String>) -> Result<String, Error> {
    let fields = fields.iter().map(|(name, value)| Ok(format!("{}:{value}", to_string(name)?)));
    Ok(format!("{{{}}}", fields.collect::<Result<Vec<_>, Error>>()?.join(",")))
}

fn to_raw_json(text: &str) -> Result<RawJson, Error> {
    RawJson::from_value(from_str::<&RawValue>(text)?)
}

#[cfg(test)]
mod tests {
    use crate::wire::{self, BeforeLlm, BeforeTool, HookMessage, ToolDefinition};
    use serde::de::DeserializeOwned;

    use super::*;

    /// Checks the params after this change.
    #[track_caller]
    fn check<Q: Serialize + DeserializeOwned>(
        params: &str,
        always: &[&str],
        change: fn(&mut Q),
        expect: &str,
    ) {
        let params = RawJson::parse(params).unwrap();
        let old: Q = wire::read(&params).unwrap();
        let mut new = wire::read(&params).unwrap();
        change(&mut new);
        assert_eq!(echo_params(&params, &old, &new, always).unwrap().as_str(), expect);
    }

    #[test]
    fn unchanged_values_keep_their_text() {
        let params = r#"{"Model":"m","messages":[{"role":"user","content":"a \u003c b","prompt":{"slot":7}}],"native":[1.50e3]}"#;
        check::<BeforeLlm>(params, &[], |_| (), params);
        let expect = r#"{"Model":"n","messages":[{"role":"user","content":"a \u003c b","prompt":{"slot":7}}],"native":[1.50e3]}"#;
        check::<BeforeLlm>(params, &[], |call| call.model = "n".into(), expect);
    }

    #[test]
    fn unchanged_list_items_keep_their_text() {
        let params =
            r#"{"messages":[{"content":"a","role":"user","x":1},{"content":"b","role":"user","x":2}]}"#;
        let added = r#"{"messages":[{"content":"a","role":"user","x":1},{"content":"b","role":"user","x":2},{"role":"user","content":"c"}]}"#;
        check::<BeforeLlm>(params, &[], |call| call.messages.push(HookMessage::user("c")), added);
        let taken = r#"{"messages":[{"content":"b","role":"user","x":2}]}"#;
        check::<BeforeLlm>(params, &[], |call| drop(call.messages.remove(0)), taken);
        let changed =
            r#"{"messages":[{"content":"A","role":"user","x":1},{"content":"b","role":"user","x":2}]}"#;
        check::<BeforeLlm>(params, &[], |call| call.messages[0].content = "A".into(), changed);
        let from_nothing = r#"{"model":"m","tools":[{"type":"function","function":{"name":"t","description":"d","parameters":{}}}]}"#;
        let tool =
            |call: &mut BeforeLlm| call.add_tool(ToolDefinition::new("t", "d", RawJson::empty_object()));
        check::<BeforeLlm>(r#"{"model":"m"}"#, &[], tool, from_nothing);
        check::<BeforeLlm>(r#"{"model":"m","tools":null}"#, &[], tool, from_nothing);
    }

    #[test]
    fn removed_options_are_omitted() {
        let params = r#"{"options":{"max_tokens":8192,"temperature":0.7,"top_k":40}}"#;
        let hot = r#"{"options":{"max_tokens":8192,"temperature":1.5,"top_k":40}}"#;
        check::<BeforeLlm>(params, &[], |call| call.options.temperature = Some(1.5), hot);
        let free = r#"{"options":{"temperature":0.7,"top_k":40}}"#;
        check::<BeforeLlm>(params, &[], |call| call.options.max_tokens = None, free);
    }

    #[test]
    fn arguments_are_kept_byte_for_byte() {
        let always = ["tool", "arguments"];
        let params =
            r#"{"tool":"bash","arguments":{"b":9007199254740993,"A":1.0},"meta":{"TurnID":"t","New":true}}"#;
        let renamed =
            r#"{"arguments":{"b":9007199254740993,"A":1.0},"meta":{"New":true,"TurnID":"t"},"tool":"sh"}"#;
        check::<BeforeTool>(
            params,
            &always,
            |call| call.tool = "sh".into(),
            &renamed.replace(r#""New":true,"TurnID":"t""#, r#""TurnID":"t","New":true"#),
        );
        let args = |call: &mut BeforeTool| call.arguments = RawJson::parse(r#"{"z":1,"a":2}"#).unwrap();
        let changed = r#"{"arguments":{"z":1,"a":2},"meta":{"TurnID":"t","New":true},"tool":"bash"}"#;
        check::<BeforeTool>(params, &always, args, changed);
        let bare = r#"{"arguments":{},"tool":"now"}"#;
        check::<BeforeTool>("{}", &always, |call| call.tool = "now".into(), bare);
    }
}
