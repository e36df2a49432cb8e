//! Reads `permissions` in a manifest or in the lock file. Everything unknown is rejected.

use std::path::Path;

use haft_launch::sandbox::NetworkAccess;
use haft_protocol::ext::{HostService, InterceptKind, event_names};
use haft_protocol::limits::MAX_NAME;
use haft_protocol::names;
use serde::Deserialize;

use super::{
    ExecPermission, FsPermissions, InterceptPermission, InterceptPermissionRole, Permissions, ToolEffect,
    ToolPermissions,
};
use crate::environment::check_requested;
use crate::grant::{GrantedPath, net_name};
use crate::manifest::{JsonObject, ManifestError, ObjectFields};

/// The maximum length of a list, because the user must read it.
const MAX_LISTED: usize = 128;

#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct RawPermissions(JsonObject);

impl TryFrom<RawPermissions> for Permissions {
    type Error = ManifestError;

    fn try_from(RawPermissions(object): RawPermissions) -> Result<Self, ManifestError> {
        Self::read(&ObjectFields::new(Path::new("permissions"), object)?)
    }
}

impl Permissions {
    /// Reads the fields of `permissions`.
    ///
    /// # Errors
    /// The field that is unknown or has an invalid value.
    pub(crate) fn read(fields: &ObjectFields<'_>) -> Result<Self, ManifestError> {
        fields.reject_unknown_keys(&["tools", "events", "intercept", "host", "fs", "net", "env", "exec"])?;
        Ok(Self {
            tools: read_tools(fields)?,
            events: bounded_list(fields, "events")?
                .into_iter()
                .map(|name| check_event(fields, name))
                .collect::<Result<_, _>>()?,
            intercept: read_intercepts(fields)?,
            host: read_keywords(fields, "host", HostService::ALL, |service| service.name())?
                .into_iter()
                .collect(),
            fs: read_fs(fields)?,
            net: read_keyword(
                fields,
                "net",
                &[NetworkAccess::None, NetworkAccess::Loopback, NetworkAccess::All],
                net_name,
            )?
            .unwrap_or_default(),
            env: read_variables(fields)?.into_iter().collect(),
            exec: read_keyword(fields, "exec", ExecPermission::ALL, ExecPermission::name)?
                .unwrap_or_default(),
        })
    }
}

fn read_tools(fields: &ObjectFields<'_>) -> Result<ToolPermissions, ManifestError> {
    let Some(fields) = fields.object("tools")? else { return Ok(ToolPermissions::default()) };
    fields.reject_unknown_keys(&["register", "replace", "effects"])?;
    Ok(ToolPermissions {
        register: tool_names(&fields, "register")?.into_iter().collect(),
        replace: tool_names(&fields, "replace")?.into_iter().collect(),
        effects: read_keywords(&fields, "effects", ToolEffect::ALL, ToolEffect::name)?.into_iter().collect(),
    })
}

fn tool_names(fields: &ObjectFields<'_>, field: &str) -> Result<Vec<String>, ManifestError> {
    let names = bounded_list(fields, field)?;
    match names.iter().find(|name| !names::is_tool(name, MAX_NAME)) {
        None => Ok(names),
        Some(name) => Err(fields.error(field, &format!("has {name:?}, which is not a valid tool name"))),
    }
}

fn check_event(fields: &ObjectFields<'_>, name: String) -> Result<String, ManifestError> {
    match event_names().any(|known| known == name) {
        true => Ok(name),
        false => Err(fields.error("events", &unknown_keyword_message(&name, event_names()))),
    }
}

fn read_intercepts(fields: &ObjectFields<'_>) -> Result<Vec<InterceptPermission>, ManifestError> {
    let mut all: Vec<InterceptPermission> = Vec::new();
    for entry in fields.objects("intercept")? {
        let read = read_intercept(&entry)?;
        if all.iter().any(|other| (other.event, other.role) == (read.event, read.role)) {
            return Err(entry.error("event", "occurs twice with the same role; list all tools in one entry"));
        }
        all.push(read);
    }
    Ok(all)
}

fn read_intercept(entry: &ObjectFields<'_>) -> Result<InterceptPermission, ManifestError> {
    entry.reject_unknown_keys(&["event", "role", "tools", "timeout_ms", "on_timeout", "on_error"])?;
    entry.require_block_policy()?;
    let event = read_keyword(entry, "event", InterceptKind::ALL, InterceptKind::name)?;
    let event = event.ok_or_else(|| entry.error("event", "is required"))?;
    let role = read_keyword(entry, "role", InterceptPermissionRole::ALL, InterceptPermissionRole::name)?;
    let role =
        role.ok_or_else(|| entry.error("role", "is required: `gate`, `rewrite`, `redactor` or `wait`"))?;
    if !role.applies_to(event) {
        return Err(entry.error("role", &format!("cannot be `{role}` for `{}`", event.name())));
    }
    let tools = tool_names(entry, "tools")?;
    if !tools.is_empty() && event != InterceptKind::ToolCall {
        return Err(entry.error("tools", "is allowed only for `tool_call`"));
    }
    let timeout_ms = entry.milliseconds("timeout_ms")?;
    let tools = tools.iter().flat_map(|name| names::selected_tools(name)).collect();
    Ok(InterceptPermission { event, role, tools, timeout_ms })
}

fn read_fs(fields: &ObjectFields<'_>) -> Result<FsPermissions, ManifestError> {
    let Some(fields) = fields.object("fs")? else { return Ok(FsPermissions::default()) };
    fields.reject_unknown_keys(&["read", "write"])?;
    Ok(FsPermissions { read: read_paths(&fields, "read")?, write: read_paths(&fields, "write")? })
}

fn read_paths(fields: &ObjectFields<'_>, field: &str) -> Result<Vec<String>, ManifestError> {
    let paths = bounded_list(fields, field)?;
    for path in &paths {
        // Any home will do: a missing home is reported when the path is used.
        let home = Path::new("/");
        GrantedPath::parse(path, Some(home))
            .map_err(|error| fields.error(field, &format!("has an invalid path: {error}")))?;
    }
    Ok(paths)
}

fn read_variables(fields: &ObjectFields<'_>) -> Result<Vec<String>, ManifestError> {
    let names = bounded_list(fields, "env")?;
    for name in &names {
        check_requested(name).map_err(|error| fields.error("env", &format!("cannot be granted: {error}")))?;
    }
    Ok(names)
}

fn bounded_list(fields: &ObjectFields<'_>, field: &str) -> Result<Vec<String>, ManifestError> {
    let texts = fields.text_list(field)?;
    match texts.len() > MAX_LISTED {
        true => Err(fields.error(field, &format!("must have at most {MAX_LISTED} entries"))),
        false => Ok(texts),
    }
}

fn read_keyword<T: Copy>(
    fields: &ObjectFields<'_>,
    field: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<Option<T>, ManifestError> {
    fields.text(field)?.map(|text| parse_keyword(fields, field, &text, all, &name)).transpose()
}

fn read_keywords<T: Copy>(
    fields: &ObjectFields<'_>,
    field: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<Vec<T>, ManifestError> {
    bounded_list(fields, field)?.iter().map(|text| parse_keyword(fields, field, text, all, &name)).collect()
}

fn parse_keyword<T: Copy>(
    fields: &ObjectFields<'_>,
    field: &str,
    text: &str,
    all: &[T],
    name: &impl Fn(T) -> &'static str,
) -> Result<T, ManifestError> {
    let found = all.iter().copied().find(|&one| name(one) == text);
    found.ok_or_else(|| fields.error(field, &unknown_keyword_message(text, all.iter().map(|&one| name(one)))))
}

fn unknown_keyword_message(text: &str, known: impl Iterator<Item = &'static str>) -> String {
    let known: Vec<_> = known.map(|word| format!("`{word}`")).collect();
    format!("has the unknown value {text:?}; the known values are {}", known.join(", "))
}
