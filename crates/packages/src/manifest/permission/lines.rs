//! Permissions in words, for whoever is asked about them.

use std::collections::BTreeSet;
use std::path::Path;

use haft_launch::sandbox::NetworkAccess;
use haft_protocol::ext::{HostService, InterceptKind};

use super::{ExecPermission, InterceptPermission, InterceptPermissionRole, Permissions, ToolEffect};
use crate::grant::GrantedPath;

/// One permission in words. It holds no character that is not shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionLine {
    /// Which one, by its place below `permissions`: `fs.write`.
    pub permission: &'static str,
    /// The right that it gives the extension, fit to follow its name.
    pub text: String,
    /// True if it lets the extension do harm that nothing else would keep it from.
    pub red: bool,
}

/// Returns the permissions `part` in words, the dangerous ones first. They are a part of `whole`: a permission that is
/// harmless alone may not be harmless beside others.
pub(super) fn lines(part: &Permissions, whole: &Permissions) -> Vec<PermissionLine> {
    let mut lines: Vec<PermissionLine> = Vec::new();
    let mut add = |permission, text: String, red| lines.push(PermissionLine { permission, text, red });
    let tools = &part.tools;
    if !tools.register.is_empty() {
        add(
            "tools.register",
            format!("offers the model {}", label_names("the tool", &tools.register)),
            false,
        );
    }
    if !tools.effects.is_empty() {
        add(
            "tools.effects",
            format!("says of its tools that they {}", describe_effects(&tools.effects)),
            false,
        );
    }
    if !part.events.is_empty() {
        add("events", format!("is told of {}", join_names(&part.events)), false);
    }
    for entry in &part.intercept {
        add("intercept", describe_intercept(entry), entry.role != InterceptPermissionRole::Gate);
    }
    for service in &part.host {
        let (text, red) = describe_service(*service);
        add("host", text.to_owned(), red);
    }
    for path in part.fs.read.iter().filter(|path| !is_own_data(path)) {
        add("fs.read", format!("reads {path}"), is_wide(path));
    }
    for path in part.fs.write.iter().filter(|path| !is_own_data(path)) {
        add("fs.write", format!("reads and changes {path}, past haft's gates"), true);
    }
    if let Some(text) = describe_net(part.net) {
        add("net", text.to_owned(), part.net == NetworkAccess::All && sees_user_data(whole));
    }
    if !part.env.is_empty() {
        add("env", format!("gets from your environment {}", join_names(&part.env)), false);
    }
    if let Some(text) = describe_exec(part.exec) {
        add("exec", text.to_owned(), part.exec == ExecPermission::Any);
    }
    lines.sort_by_key(|line| !line.red);
    lines
}

/// True if the extension learns anything of the user's that it could pass on, beside the arguments of its tools.
fn sees_user_data(permissions: &Permissions) -> bool {
    !permissions.events.is_empty()
        || !permissions.intercept.is_empty()
        || !permissions.host.is_empty()
        || permissions.fs.read.iter().chain(&permissions.fs.write).any(|path| !is_own_data(path))
}

fn describe_intercept(entry: &InterceptPermission) -> String {
    let mut text = match (entry.event, entry.role) {
        (InterceptKind::ToolCall, InterceptPermissionRole::Gate) => {
            format!("may refuse calls of {}", describe_tools(entry))
        }
        (InterceptKind::ToolCall, _) => format!("may change and refuse calls of {}", describe_tools(entry)),
        (InterceptKind::TurnStart, InterceptPermissionRole::Gate) => {
            "may keep turns from beginning, also by failing".to_owned()
        }
        (InterceptKind::TurnStart, _) => "may keep turns from beginning".to_owned(),
        (InterceptKind::AssistantMessage, InterceptPermissionRole::Gate) => {
            "may withhold what the model says, also by failing".to_owned()
        }
        (InterceptKind::AssistantMessage, InterceptPermissionRole::Rewrite) => {
            "may change and withhold what you are shown of what the model says".to_owned()
        }
        (InterceptKind::AssistantMessage, InterceptPermissionRole::Redactor) => {
            "may change and withhold what you are shown of what the model says, also by failing".to_owned()
        }
        (InterceptKind::BeforeAgentStart, _) => "adds to what the model is told before you".to_owned(),
        (InterceptKind::BeforeCompact, _) => {
            "may write the summary that takes the place of a long conversation".to_owned()
        }
    };
    if let Some(timeout) = entry.timeout_ms {
        text.push_str(&format!(", within {timeout} ms"));
    }
    text
}

fn describe_tools(entry: &InterceptPermission) -> String {
    match entry.tools.is_empty() {
        true => "every tool".to_owned(),
        false => label_names("the tool", &entry.tools),
    }
}

fn describe_service(service: HostService) -> (&'static str, bool) {
    match service {
        HostService::FsRead => ("has haft read files for it, through the gates", false),
        HostService::FsWrite => ("has haft change files for it, through the gates", false),
        HostService::Exec => ("has haft run commands for it, through the gates", true),
    }
}

fn describe_net(net: NetworkAccess) -> Option<&'static str> {
    match net {
        NetworkAccess::None => None,
        NetworkAccess::Loopback => Some("talks to its own processes over a network device of its own"),
        NetworkAccess::All => Some("talks to anybody over the network, this machine included"),
    }
}

fn describe_exec(exec: ExecPermission) -> Option<&'static str> {
    match exec {
        ExecPermission::None => None,
        ExecPermission::Own => Some("starts programs of its own directory"),
        ExecPermission::Any => Some("starts any program of the system"),
    }
}

fn describe_effects(effects: &BTreeSet<ToolEffect>) -> String {
    let words = effects.iter().map(|effect| match effect {
        ToolEffect::Read => "read files",
        ToolEffect::Write => "change files",
        ToolEffect::Exec => "run programs",
        ToolEffect::Net => "use the network",
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Its own data, which every extension may change, so that there is nothing to say about it.
fn is_own_data(path: &str) -> bool {
    GrantedPath::parse(path, None).is_ok_and(|path| path.is_data())
}

/// All that there is, or all that is the user's.
fn is_wide(path: &str) -> bool {
    let home = std::env::home_dir();
    let Ok(path) = GrantedPath::parse(path, home.as_deref()) else { return true };
    let home = home.as_deref().unwrap_or(Path::new("/"));
    home.to_str().and_then(|home| GrantedPath::parse(home, None).ok()).is_none_or(|home| path.covers(&home))
}

fn label_names(what: &str, names: &BTreeSet<String>) -> String {
    let s = if names.len() == 1 { "" } else { "s" };
    format!("{what}{s} {}", join_names(names))
}

fn join_names(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
