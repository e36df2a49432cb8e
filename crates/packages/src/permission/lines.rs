//! Permissions in words, for whoever is asked about them.

use std::collections::BTreeSet;
use std::path::Path;

use haft_launch::sandbox::Net;
use haft_protocol::ext::{InterceptKind, Service};

use super::{Effect, ExecPermission, InterceptAs, InterceptPermission, Permissions};
use crate::grant::GrantedPath;

/// One permission in words. It holds no character that is not shown as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Which one, by its place below `permissions`: `fs.write`.
    pub permission: &'static str,
    /// What it lets the extension do, fit to follow its name.
    pub text: String,
    /// Whether it lets the extension do harm that nothing else would keep it from.
    pub red: bool,
}

impl Permissions {
    /// All of them in words, the dangerous ones first.
    pub fn lines(&self) -> Vec<Line> {
        self.lines_in(self)
    }

    /// These in words, as a part of others: what is harmless alone may not be beside them.
    pub(super) fn lines_in(&self, whole: &Self) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let mut add = |permission, text: String, red| lines.push(Line { permission, text, red });
        let tools = &self.tools;
        if !tools.register.is_empty() {
            add("tools.register", format!("offers the model {}", named("the tool", &tools.register)), false);
        }
        if !tools.effects.is_empty() {
            add("tools.effects", format!("says of its tools that they {}", effects(&tools.effects)), false);
        }
        if !self.events.is_empty() {
            add("events", format!("is told of {}", joined(&self.events)), false);
        }
        for entry in &self.intercept {
            add("intercept", entry.in_words(), entry.role != InterceptAs::Gate);
        }
        for service in &self.host {
            let (text, red) = of_service(*service);
            add("host", text.to_owned(), red);
        }
        for path in self.fs.read.iter().filter(|path| !is_own(path)) {
            add("fs.read", format!("reads {path}"), is_wide(path));
        }
        for path in self.fs.write.iter().filter(|path| !is_own(path)) {
            add("fs.write", format!("reads and changes {path}, past haft's gates"), true);
        }
        if let Some(text) = of_net(self.net) {
            add("net", text.to_owned(), self.net == Net::All && whole.learns());
        }
        if !self.env.is_empty() {
            add("env", format!("gets from your environment {}", joined(&self.env)), false);
        }
        if let Some(text) = of_exec(self.exec) {
            add("exec", text.to_owned(), self.exec == ExecPermission::Any);
        }
        lines.sort_by_key(|line| !line.red);
        lines
    }

    /// Whether it gets to know anything of the user's that it could pass on, beside what its tools are called with.
    fn learns(&self) -> bool {
        !self.events.is_empty()
            || !self.intercept.is_empty()
            || !self.host.is_empty()
            || self.fs.read.iter().chain(&self.fs.write).any(|path| !is_own(path))
    }
}

impl InterceptPermission {
    fn in_words(&self) -> String {
        let mut text = match (self.event, self.role) {
            (InterceptKind::ToolCall, InterceptAs::Gate) => format!("may refuse calls of {}", self.which()),
            (InterceptKind::ToolCall, _) => format!("may change and refuse calls of {}", self.which()),
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
                "may change and withhold what you are shown of what the model says, also by failing"
                    .to_owned()
            }
            (InterceptKind::BeforeAgentStart, _) => "adds to what the model is told before you".to_owned(),
            (InterceptKind::BeforeCompact, _) => {
                "may write the summary that takes the place of a long conversation".to_owned()
            }
        };
        if let Some(timeout) = self.timeout_ms {
            text.push_str(&format!(", within {timeout} ms"));
        }
        text
    }

    fn which(&self) -> String {
        match self.tools.is_empty() {
            true => "every tool".to_owned(),
            false => named("the tool", &self.tools),
        }
    }
}

fn of_service(service: Service) -> (&'static str, bool) {
    match service {
        Service::FsRead => ("has haft read files for it, through the gates", false),
        Service::FsWrite => ("has haft change files for it, through the gates", false),
        Service::Exec => ("has haft run commands for it, through the gates", true),
    }
}

fn of_net(net: Net) -> Option<&'static str> {
    match net {
        Net::None => None,
        Net::Loopback => Some("talks to its own processes over a network device of its own"),
        Net::All => Some("talks to anybody over the network, this machine included"),
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
