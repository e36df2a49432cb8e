//! What is asked beyond what was granted.

use std::collections::BTreeSet;
use std::path::Path;

use haft_launch::sandbox::Net;
use haft_protocol::ext::{InterceptKind, Limits};

use super::{FsPermissions, InterceptPermission, Line, Permissions, ToolPermissions};
use crate::grant::GrantedPath;

impl Permissions {
    /// What these ask beyond what was granted, one line each; nothing when the grant is enough.
    pub fn excess(&self, granted: &Self) -> Vec<Line> {
        self.beyond(granted, std::env::home_dir().as_deref()).lines_in(self)
    }

    /// The part of these that the others do not cover. `home` is what `~` stands for.
    pub(super) fn beyond(&self, granted: &Self, home: Option<&Path>) -> Self {
        Self {
            tools: ToolPermissions {
                register: without(&self.tools.register, &granted.tools.register),
                effects: without(&self.tools.effects, &granted.tools.effects),
            },
            events: without(&self.events, &granted.events),
            intercept: self.intercept.iter().filter_map(|entry| entry.beyond(&granted.intercept)).collect(),
            host: without(&self.host, &granted.host),
            fs: self.fs.beyond(&granted.fs, home),
            net: if reach(self.net) > reach(granted.net) { self.net } else { Net::None },
            env: without(&self.env, &granted.env),
            exec: if self.exec > granted.exec { self.exec } else { super::ExecPermission::None },
        }
    }
}

impl InterceptPermission {
    /// Another role is another thing: what it may do differs, and what its failure means.
    fn beyond(&self, granted: &[Self]) -> Option<Self> {
        let Some(granted) = granted.iter().find(|other| (other.event, other.role) == (self.event, self.role))
        else {
            return Some(self.clone());
        };
        let is_longer = self.answer_ms() > granted.answer_ms();
        if granted.tools.is_empty() {
            return is_longer.then(|| self.clone());
        }
        if self.tools.is_empty() {
            return Some(self.clone());
        }
        let tools = without(&self.tools, &granted.tools);
        match (tools.is_empty(), is_longer) {
            (true, false) => None,
            (true, true) => Some(self.clone()),
            (false, _) => Some(Self { tools, ..self.clone() }),
        }
    }
}

impl InterceptPermission {
    /// The milliseconds that it has to answer.
    fn answer_ms(&self) -> u64 {
        let limits = Limits::default();
        self.timeout_ms.unwrap_or(match self.event {
            InterceptKind::BeforeCompact => limits.tool_call_ms,
            InterceptKind::ToolCall
            | InterceptKind::TurnStart
            | InterceptKind::AssistantMessage
            | InterceptKind::BeforeAgentStart => limits.intercept_ms,
        })
    }
}

impl FsPermissions {
    fn beyond(&self, granted: &Self, home: Option<&Path>) -> Self {
        let changed = places(&granted.write, home);
        let seen: Vec<_> = places(&granted.read, home).into_iter().chain(changed.iter().cloned()).collect();
        Self { read: uncovered(&self.read, &seen, home), write: uncovered(&self.write, &changed, home) }
    }
}

/// What cannot be read covers nothing, and nothing covers it.
fn places(paths: &[String], home: Option<&Path>) -> Vec<GrantedPath> {
    paths.iter().filter_map(|path| GrantedPath::parse(path, home).ok()).collect()
}

fn uncovered(asked: &[String], granted: &[GrantedPath], home: Option<&Path>) -> Vec<String> {
    let covered = |text: &String| match GrantedPath::parse(text, home) {
        Ok(path) => path.is_data() || granted.iter().any(|other| other.covers(&path)),
        Err(_) => false,
    };
    asked.iter().filter(|text| !covered(text)).cloned().collect()
}

fn without<T: Ord + Clone>(asked: &BTreeSet<T>, granted: &BTreeSet<T>) -> BTreeSet<T> {
    asked.difference(granted).cloned().collect()
}

fn reach(net: Net) -> u8 {
    match net {
        Net::None => 0,
        Net::Loopback => 1,
        Net::All => 2,
    }
}
