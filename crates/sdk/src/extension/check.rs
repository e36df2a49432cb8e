//! Checks the registrations when the extension starts, with messages for the author. The host would
//! reject them later.

use haft_protocol::ext::RegisterTool;
use haft_protocol::limits::{MAX_NAME, MAX_TOOL_DESCRIPTION, MAX_TOOL_SCHEMA};
use haft_protocol::names;
use serde_json::Value;

use crate::error::ServeError;

/// Fails with the first of these faults, if there is one.
///
/// # Errors
/// [`ServeError::Registration`] with that fault.
pub fn refuse_first(faults: Vec<String>) -> Result<(), ServeError> {
    faults.into_iter().next().map_or(Ok(()), |detail| Err(ServeError::Registration { detail }))
}

/// Describes the first name that occurs twice.
pub fn find_duplicate(kind: &str, names: &[&str]) -> Option<String> {
    let repeated =
        names.iter().enumerate().find(|(at, name)| names.iter().take(*at).any(|earlier| earlier == *name));
    repeated.map(|(_, name)| format!("{kind} {name:?} is registered twice"))
}

pub(crate) fn check_name(kind: &str, name: &str) -> Option<String> {
    (!names::is_command(name, MAX_NAME))
        .then(|| format!("{kind} name {name:?} must be 1 to {MAX_NAME} characters of A-Z a-z 0-9 _ -"))
}

/// Describes the mistake in the name of a tool.
pub fn check_tool_name(name: &str) -> Option<String> {
    check_name("tool", name).or_else(|| {
        (!names::is_tool(name, MAX_NAME)).then(|| format!("tool name {name:?} must begin with a letter"))
    })
}

/// Describes the mistake in the registration of a tool.
pub fn check_tool(tool: &RegisterTool) -> Option<String> {
    let name = &tool.name;
    if tool.description.len() > MAX_TOOL_DESCRIPTION {
        return Some(format!("description of tool {name:?} is longer than {MAX_TOOL_DESCRIPTION} bytes"));
    }
    if tool.guidelines.iter().map(String::len).sum::<usize>() > MAX_TOOL_DESCRIPTION {
        return Some(format!("guidelines of tool {name:?} are longer than {MAX_TOOL_DESCRIPTION} bytes"));
    }
    if tool.snippet.len() > MAX_TOOL_DESCRIPTION {
        return Some(format!("snippet of tool {name:?} is longer than {MAX_TOOL_DESCRIPTION} bytes"));
    }
    if tool.label.chars().count() > MAX_NAME || tool.label.contains(char::is_control) {
        return Some(format!("label of tool {name:?} must be one line of at most {MAX_NAME} characters"));
    }
    let schema = tool.schema.as_ref()?;
    if schema.as_str().len() > MAX_TOOL_SCHEMA {
        return Some(format!("schema of tool {name:?} is longer than {MAX_TOOL_SCHEMA} bytes"));
    }
    let is_object =
        schema.read::<Value>().is_ok_and(|schema| schema.get("type") == Some(&Value::from("object")));
    (!is_object)
        .then(|| format!("schema of tool {name:?} must describe an object: make its arguments a struct"))
}
