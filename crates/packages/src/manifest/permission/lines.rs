//! Permissions in words, for whoever is asked about them.

use std::collections::BTreeSet;
use std::path::Path;

use haft_launch::sandbox::NetworkAccess;
use haft_protocol::ext::{InterceptKind, Service};

use super::{Effect, ExecPermission, InterceptAs, InterceptPermission, Permissions};
use crate::grant::GrantedPath;

/// One permission in words. It holds no character that is not shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which one, by its place below `permissions`: `fs.write`.
    pub permission: &'static str,
    /// The right that it gives the extension, fit to follow its name.
    pub text: String,
    /// True if it lets the extension do harm that nothing else would keep it from.
    pub red: bool,
}

/// Returns the permissions `part` in words, the dangerous ones first. They are a part of `whole`: a permission that is
/// harmless alone may not be harmless beside others.
pub(super) fn lines(part: &Permissions, whole: &Permissions) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut add = |permission, text: String, red| lines.push(Line { permission, text, red });
    let tools = &part.tools;
    if !tools.register.is_empty() {
        add("tools.register", format!("offers the model {}", named("the tool", &tools.register)), false);
    }
    if !tools.effects.is_empty() {
        add("tools.effects", format!("says of its tools that they {}", effects(&tools.effects)), false);
    }
    if !part.events.is_empty() {
        add("events", format!("is told of {}", joined(&part.events)), false);
    }
    for entry in &part.intercept {
        add("intercept", of_intercept(entry), entry.role != InterceptAs::Gate);
    }
    for service in &part.host {
        let (text, red) = of_service(*service);
        add("host", text.to_owned(), red);
    }
    for path in part.fs.read.iter().filter(|path| !is_own(path)) {
        add("fs.read", format!("reads {path}"), is_wide(path));
    }
    for path in part.fs.write.iter().filter(|path| !is_own(path)) {
        add("fs.write", format!("reads and changes {path}, past haft's gates"), true);
    }
    if let Some(text) = of_net(part.net) {
        add("net", text.to_owned(), part.net == NetworkAccess::All && learns(whole));
    }
    if !part.env.is_empty() {
        add("env", format!("gets from your environment {}", joined(&part.env)), false);
    }
    if let Some(text) = of_exec(part.exec) {
        add("exec", text.to_owned(), part.exec == ExecPermission::Any);
    }
    lines.sort_by_key(|line| !line.red);
    lines
}

/// True if the extension learns anything of the user's that it could pass on, beside the arguments of its tools.
fn learns(permissions: &Permissions) -> bool {
    !permissions.events.is_empty()
        || !permissions.intercept.is_empty()
        || !permissions.host.is_empty()
        || permissions.fs.read.iter().chain(&permissions.fs.write).any(|path| !is_own(path))
}

fn of_intercept(entry: &InterceptPermission) -> String {
    let mut text = match (entry.event, entry.role) {
        (InterceptKind::ToolCall, InterceptAs::Gate) => format!("may refuse calls of {}", which(entry)),
        (InterceptKind::ToolCall, _) => format!("may change and refuse calls of {}", which(entry)),
        (InterceptKind::TurnStart, InterceptAs::Gate) => {
            "may keep turns from beginning, also by failing".to_owned()
        }
        (InterceptKind::TurnStart, _) => "may keep turns from beginning".to_owned(),
        (InterceptKind::AssistantMessage, InterceptAs::Gate) => {
            "may withhold what the model says, also by failing".to_owned()
        }
        (InterceptKind::AssistantMessage, InterceptAs::Rewrite) => {
            "may change and withhold what you are shown of what the model says".to_owned()
        }
        (InterceptKind::AssistantMessage, InterceptAs::Redactor) => {
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

fn which(entry: &InterceptPermission) -> String {
    match entry.tools.is_empty() {
        true => "every tool".to_owned(),
        false => named("the tool", &entry.tools),
    }
}

fn of_service(service: Service) -> (&'static str, bool) {
    match service {
        Service::FsRead => ("has haft read files for it, through the gates", false),
        Service::FsWrite => ("has haft change files for it, through the gates", false),
        Service::Exec => ("has haft run commands for it, through the gates", true),
    }
}

fn of_net(net: NetworkAccess) -> Option<&'static str> {
    match net {
        NetworkAccess::None => None,
        NetworkAccess::Loopback => Some("talks to its own processes over a network device of its own"),
        NetworkAccess::All => Some("talks to anybody over the network, this machine included"),
    }
}

fn of_exec(exec: ExecPermission) -> Option<&'static str> {
    match exec {
        ExecPermission::None => None,
        ExecPermission::Own => Some("starts programs of its own directory"),
        ExecPermission::Any => Some("starts any program of the system"),
    }
}

fn effects(effects: &BTreeSet<Effect>) -> String {
    let words = effects.iter().map(|effect| match effect {
        Effect::Read => "read files",
        Effect::Write => "change files",
        Effect::Exec => "run programs",
        Effect::Net => "use the network",
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Its own data, which every extension may change, so that there is nothing to say about it.
fn is_own(path: &str) -> bool {
    GrantedPath::parse(path, None).is_ok_and(|path| path.is_data())
}

/// All that there is, or all that is the user's.
fn is_wide(path: &str) -> bool {
    let home = std::env::home_dir();
    let Ok(path) = GrantedPath::parse(path, home.as_deref()) else { return true };
    let home = home.as_deref().unwrap_or(Path::new("/"));
    home.to_str().and_then(|home| GrantedPath::parse(home, None).ok()).is_none_or(|home| path.covers(&home))
}

fn named(what: &str, names: &BTreeSet<String>) -> String {
    let s = if names.len() == 1 { "" } else { "s" };
    format!("{what}{s} {}", joined(names))
}

fn joined(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
