//! Descriptions of permissions for the user who approves them.

use std::collections::BTreeSet;
use std::path::Path;

use haft_launch::sandbox::NetworkAccess;
use haft_protocol::ext::{HostService, InterceptKind};

use super::{ExecPermission, InterceptPermission, InterceptPermissionRole, Permissions, ToolEffect};
use crate::grant::GrantedPath;

/// The description of a permission. It contains only visible characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionLine {
    /// The name of the permission below `permissions`, for example `fs.write`.
    pub permission: &'static str,
    /// The right of the extension, as a verb phrase that follows the name.
    pub text: String,
    /// True if the extension could do harm with it that no other defense prevents.
    pub red: bool,
}

/// Describes the permissions `part`, the dangerous ones first. They are a part of `whole`, which decides about the
/// danger: a permission can be harmless alone and dangerous together with others.
pub(super) fn lines(part: &Permissions, whole: &Permissions) -> Vec<PermissionLine> {
    let mut lines: Vec<PermissionLine> = Vec::new();
    let mut add = |permission, text: String, red| lines.push(PermissionLine { permission, text, red });
    let tools = &part.tools;
    if !tools.register.is_empty() {
        add(
            "tools.register",
            format!("offers {} to the model", label_names("the tool", &tools.register)),
            false,
        );
    }
    if !tools.replace.is_empty() {
        let names = label_names("the built-in tool", &tools.replace);
        add("tools.replace", format!("replaces {names}: calls of the model go to the extension"), true);
    }
    if !tools.effects.is_empty() {
        add("tools.effects", format!("declares that its tools {}", describe_effects(&tools.effects)), false);
    }
    if !part.events.is_empty() {
        add("events", format!("receives {}", label_names("the event", &part.events)), false);
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
        add("fs.write", format!("reads and changes {path}, bypassing haft's gates"), true);
    }
    if let Some(text) = describe_net(part.net) {
        add("net", text.to_owned(), part.net == NetworkAccess::All && sees_user_data(whole));
    }
    if !part.env.is_empty() {
        add("env", format!("reads {}", label_names("the environment variable", &part.env)), false);
    }
    if let Some(text) = describe_exec(part.exec) {
        add("exec", text.to_owned(), part.exec == ExecPermission::Any);
    }
    lines.sort_by_key(|line| !line.red);
    lines
}

/// True if the extension sees any data of the user, besides the arguments of its tools.
fn sees_user_data(permissions: &Permissions) -> bool {
    !permissions.events.is_empty()
        || !permissions.intercept.is_empty()
        || !permissions.host.is_empty()
        || permissions.fs.read.iter().chain(&permissions.fs.write).any(|path| !is_own_data(path))
}

fn describe_intercept(entry: &InterceptPermission) -> String {
    let mut text = match (entry.event, entry.role) {
        (InterceptKind::ToolCall, InterceptPermissionRole::Gate) => {
            format!("can block calls of {}", describe_tools(entry))
        }
        (InterceptKind::ToolCall, _) => {
            format!("can change, answer and block calls of {}", describe_tools(entry))
        }
        (InterceptKind::TurnStart, InterceptPermissionRole::Gate) => {
            "can block turns; its failure blocks, too".to_owned()
        }
        (InterceptKind::TurnStart, _) => "can block turns".to_owned(),
        (InterceptKind::AssistantMessage, role) => describe_message_role(role).to_owned(),
        (InterceptKind::BeforeAgentStart, _) => {
            "adds text to the system prompt, and messages to the conversation".to_owned()
        }
        (InterceptKind::BeforeCompact, _) => {
            "can write the summary when a conversation is compacted".to_owned()
        }
        (
            InterceptKind::SessionStart
            | InterceptKind::SessionShutdown
            | InterceptKind::AgentStart
            | InterceptKind::AgentEnd
            | InterceptKind::TurnEnd
            | InterceptKind::MessageStart
            | InterceptKind::ToolEnd,
            _,
        ) => format!("handles `{}` while haft waits", entry.event.name()),
        (InterceptKind::BeforeSettle, _) => "can make the agent go on when it would stop".to_owned(),
        (InterceptKind::Context, _) => {
            "can read and change each request to the model: messages, model, options, and more tools"
                .to_owned()
        }
        (InterceptKind::MessageEnd, _) => "can read and change the answers of the model".to_owned(),
        (InterceptKind::BeforeProviderRequest, _) => {
            "can read and change every request to a provider, except the key".to_owned()
        }
        (InterceptKind::UserBash, _) => {
            "can read, change, block and answer the shell commands that you run".to_owned()
        }
        (InterceptKind::BeforeSwitch, _) => "can block that another session is opened".to_owned(),
        (InterceptKind::BeforeFork, _) => "can block copies of the conversation".to_owned(),
        (InterceptKind::BeforeTree, _) => {
            "can block jumps to earlier points, and summarize the branch that they leave".to_owned()
        }
        (InterceptKind::Resources, _) => "adds skills and prompt templates".to_owned(),
        (InterceptKind::Approve, _) => {
            "is asked to approve each tool call, and can block it; its failure blocks, too".to_owned()
        }
        (InterceptKind::ProjectTrust, _) => "can trust a project in your place".to_owned(),
        (InterceptKind::Input, _) => "can read, change and handle what you write".to_owned(),
        (InterceptKind::ToolResult, _) => "can read and change the results of tool calls".to_owned(),
    };
    if let Some(timeout) = entry.timeout_ms {
        text.push_str(&format!(" (timeout {timeout} ms)"));
    }
    text
}

fn describe_message_role(role: InterceptPermissionRole) -> &'static str {
    match role {
        InterceptPermissionRole::Gate => "can withhold the model's messages; its failure withholds them, too",
        InterceptPermissionRole::Rewrite | InterceptPermissionRole::Wait => {
            "can change and withhold the model's messages that you see"
        }
        InterceptPermissionRole::Redactor => {
            "can change and withhold the model's messages that you see; its failure withholds them, too"
        }
    }
}

fn describe_tools(entry: &InterceptPermission) -> String {
    match entry.tools.is_empty() {
        true => "every tool".to_owned(),
        false => label_names("the tool", &entry.tools),
    }
}

fn describe_service(service: HostService) -> (&'static str, bool) {
    match service {
        HostService::FsRead => ("asks haft to read files, subject to the gates", false),
        HostService::FsWrite => ("asks haft to change files, subject to the gates", false),
        HostService::Exec => ("asks haft to run commands, subject to the gates", true),
        HostService::FilesLock => {
            ("makes other extensions and haft's edits of a file wait, up to a minute for each lock", false)
        }
        HostService::Bus => ("exchanges messages with other extensions", false),
        HostService::Ui => {
            ("asks you questions, changes the screen and registers keys, under its own name", false)
        }
        HostService::SessionRead => ("reads the conversation and the settings of the session", false),
        HostService::SessionWrite => {
            ("writes to the session: its name, labels, tags, and messages that make the model work", true)
        }
        HostService::SessionControl => {
            ("sends prompts in your place, runs the tools of the model, and changes the session", true)
        }
        HostService::ModelCall => ("asks models at your cost, outside of the conversation", true),
    }
}

fn describe_net(net: NetworkAccess) -> Option<&'static str> {
    match net {
        NetworkAccess::None => None,
        NetworkAccess::Loopback => {
            Some("connects only to its own processes, on a private loopback interface")
        }
        NetworkAccess::All => Some("connects to any host on the network, including this machine"),
    }
}

fn describe_exec(exec: ExecPermission) -> Option<&'static str> {
    match exec {
        ExecPermission::None => None,
        ExecPermission::Own => Some("starts programs in its own directory"),
        ExecPermission::Any => Some("starts any program on the system"),
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

/// True for a path in the extension's own data, which needs no permission.
fn is_own_data(path: &str) -> bool {
    GrantedPath::parse(path, None).is_ok_and(|path| path.is_data())
}

/// True if the path covers the whole file system or the home directory.
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
