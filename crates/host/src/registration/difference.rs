//! What is different between two registrations of one extension.

use std::collections::BTreeSet;
use std::sync::Arc;

use haft_protocol::ext::RegisterCommand;

use crate::session::offers::{OfferedTool, Offers};

/// Whether they mean the same, in whatever order it was said.
pub(super) fn is_same(one: &Offers, other: &Offers) -> bool {
    tools(one) == tools(other)
        && commands(one) == commands(other)
        && capabilities(one) == capabilities(other)
        && one.events == other.events
        && one.watched_tools == other.watched_tools
        && one.intercepts == other.intercepts
        && one.tool_calls == other.tool_calls
        && one.gates == other.gates
}

/// In words, fit to follow "this time": `tool news is new, command /go is gone`.
pub(super) fn described(old: &Offers, new: &Offers) -> String {
    let tool = |tool: &&Arc<OfferedTool>| format!("tool {}", tool.name);
    let command = |command: &&RegisterCommand| format!("command /{}", command.name);
    let mut parts = compared(&tools(old), &tools(new), tool);
    parts.extend(compared(&commands(old), &commands(new), command));
    if parts.is_empty() {
        parts.push("what it watches and guards is another".to_owned());
    }
    parts.join(", ")
}

fn compared<T: PartialEq>(old: &[T], new: &[T], name: impl Fn(&T) -> String) -> Vec<String> {
    let old_names: Vec<String> = old.iter().map(&name).collect();
    let new_names: Vec<String> = new.iter().map(&name).collect();
    let gone =
        old_names.iter().filter(|name| !new_names.contains(name)).map(|name| format!("{name} is gone"));
    let mut parts = Vec::new();
    for (value, name) in new.iter().zip(&new_names) {
        match old_names.iter().position(|old| old == name).and_then(|at| old.get(at)) {
            None => parts.push(format!("{name} is new")),
            Some(before) if before != value => parts.push(format!("{name} is another")),
            Some(_) => {}
        }
    }
    parts.extend(gone);
    parts
}

fn tools(offers: &Offers) -> Vec<&Arc<OfferedTool>> {
    let mut tools: Vec<_> = offers.tools.iter().collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    tools
}

fn capabilities(offers: &Offers) -> BTreeSet<&String> {
    offers.capabilities.iter().collect()
}

fn commands(offers: &Offers) -> Vec<&RegisterCommand> {
    let mut commands: Vec<_> = offers.commands.iter().collect();
    commands.sort_by(|one, other| one.name.cmp(&other.name));
    commands
}
