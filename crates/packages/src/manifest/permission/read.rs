//! `permissions` as it is written, in a manifest or in a list of approvals: whatever is not understood is refused.

use std::path::Path;

use haft_launch::sandbox::NetworkAccess;
use haft_protocol::ext::{Event, InterceptKind, Service};
use haft_protocol::limits::MAX_NAME;
use haft_protocol::names;
use serde::Deserialize;

use super::{
    Effect, ExecPermission, FsPermissions, InterceptAs, InterceptPermission, Permissions, ToolPermissions,
};
use crate::environment::check_asked;
use crate::grant::{GrantedPath, net_name};
use crate::manifest::{Fields, ManifestError, Object};

/// The longest list: a person has to read it.
const MAX_LISTED: usize = 128;

#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Written(Object);

impl TryFrom<Written> for Permissions {
    type Error = ManifestError;

    fn try_from(Written(object): Written) -> Result<Self, ManifestError> {
        Self::read(&Fields::new(Path::new("permissions"), object)?)
    }
}

impl Permissions {
    /// Reads the fields of `permissions`.
    ///
    /// # Errors
    /// The field that this version does not know, or whose value makes no sense.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, ManifestError> {
        fields.only(&["tools", "events", "intercept", "host", "fs", "net", "env", "exec"])?;
        Ok(Self {
            tools: tools(fields)?,
            events: listed(fields, "events")?
                .into_iter()
                .map(|name| event(fields, name))
                .collect::<Result<_, _>>()?,
            intercept: intercepts(fields)?,
            host: words(fields, "host", Service::ALL, |service| service.name())?.into_iter().collect(),
            fs: fs(fields)?,
            net: word(fields, "net", &[NetworkAccess::None, NetworkAccess::Loopback, NetworkAccess::All], net_name)?.unwrap_or_default(),
            env: variables(fields)?.into_iter().collect(),
            exec: word(fields, "exec", ExecPermission::ALL, ExecPermission::name)?.unwrap_or_default(),
        })
    }
}

fn tools(fields: &Fields<'_>) -> Result<ToolPermissions, ManifestError> {
    let Some(fields) = fields.object("tools")? else { return Ok(ToolPermissions::default()) };
    fields.only(&["register", "effects"])?;
    Ok(ToolPermissions {
        register: tool_names(&fields, "register")?.into_iter().collect(),
        effects: words(&fields, "effects", Effect::ALL, Effect::name)?.into_iter().collect(),
    })
}

fn tool_names(fields: &Fields<'_>, field: &str) -> Result<Vec<String>, ManifestError> {
    let names = listed(fields, field)?;
    match names.iter().find(|name| !names::is_tool(name, MAX_NAME)) {
        None => Ok(names),
        Some(name) => Err(fields.error(field, &format!("names {name:?}, which no tool can be called"))),
    }
}

fn event(fields: &Fields<'_>, name: String) -> Result<String, ManifestError> {
    match Event::NAMES.contains(&name.as_str()) {
        true => Ok(name),
        false => Err(fields.error("events", &unknown(&name, Event::NAMES.iter().copied()))),
    }
}

fn intercepts(fields: &Fields<'_>) -> Result<Vec<InterceptPermission>, ManifestError> {
    let mut all: Vec<InterceptPermission> = Vec::new();
    for entry in fields.objects("intercept")? {
        let read = intercept(&entry)?;
        if all.iter().any(|other| (other.event, other.role) == (read.event, read.role)) {
            return Err(entry.error("event", "is there twice in this role; name all tools in one entry"));
        }
        all.push(read);
    }
    Ok(all)
}

fn intercept(entry: &Fields<'_>) -> Result<InterceptPermission, ManifestError> {
    entry.only(&["event", "role", "tools", "timeout_ms", "on_timeout", "on_error"])?;
    entry.only_block()?;
    let event = word(entry, "event", InterceptKind::ALL, InterceptKind::name)?;
    let event = event.ok_or_else(|| entry.error("event", "is required"))?;
    let role = word(entry, "role", InterceptAs::ALL, InterceptAs::name)?;
    let role = role.ok_or_else(|| entry.error("role", "is required: `gate`, `rewrite` or `redactor`"))?;
    if !role.fits(event) {
        return Err(entry.error("role", &format!("cannot be `{role}` for `{}`", event.name())));
    }
    let tools = tool_names(entry, "tools")?;
    if !tools.is_empty() && event != InterceptKind::ToolCall {
        return Err(entry.error("tools", "can be there only for `tool_call`"));
    }
    let timeout_ms = entry.milliseconds("timeout_ms")?;
    let tools = tools.iter().map(|name| name.to_ascii_lowercase()).collect();
    Ok(InterceptPermission { event, role, tools, timeout_ms })
}

fn fs(fields: &Fields<'_>) -> Result<FsPermissions, ManifestError> {
    let Some(fields) = fields.object("fs")? else { return Ok(FsPermissions::default()) };
    fields.only(&["read", "write"])?;
    Ok(FsPermissions { read: paths(&fields, "read")?, write: paths(&fields, "write")? })
}

fn paths(fields: &Fields<'_>, field: &str) -> Result<Vec<String>, ManifestError> {
    let paths = listed(fields, field)?;
    for path in &paths {
        // Any home will do: whether there is one is seen when the path is used.
        let home = Path::new("/");
        GrantedPath::parse(path, Some(home))
            .map_err(|error| fields.error(field, &format!("names {error}")))?;
    }
    Ok(paths)
}

fn variables(fields: &Fields<'_>) -> Result<Vec<String>, ManifestError> {
    let names = listed(fields, "env")?;
    for name in &names {
        check_asked(name).map_err(|error| fields.error("env", &format!("cannot be granted: {error}")))?;
    }
    Ok(names)
}

fn listed(fields: &Fields<'_>, field: &str) -> Result<Vec<String>, ManifestError> {
    let texts = fields.texts(field)?;
    match texts.len() > MAX_LISTED {
        true => Err(fields.error(field, &format!("must have at most {MAX_LISTED} entries"))),
        false => Ok(texts),
    }
}

fn word<T: Copy>(
    fields: &Fields<'_>,
    field: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<Option<T>, ManifestError> {
    fields.text(field)?.map(|text| known(fields, field, &text, all, &name)).transpose()
}

fn words<T: Copy>(
    fields: &Fields<'_>,
    field: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<Vec<T>, ManifestError> {
    listed(fields, field)?.iter().map(|text| known(fields, field, text, all, &name)).collect()
}

fn known<T: Copy>(
    fields: &Fields<'_>,
    field: &str,
    text: &str,
    all: &[T],
    name: &impl Fn(T) -> &'static str,
) -> Result<T, ManifestError> {
    let found = all.iter().copied().find(|&one| name(one) == text);
    found.ok_or_else(|| fields.error(field, &unknown(text, all.iter().map(|&one| name(one)))))
}

fn unknown(text: &str, known: impl Iterator<Item = &'static str>) -> String {
    let known: Vec<_> = known.map(|word| format!("`{word}`")).collect();
    format!("names {text:?}, which this version does not know; it knows {}", known.join(", "))
}
