//! The offers that a manifest declares for an extension that waits for its first use, and their comparison
//! with the registered offers.

use std::sync::Arc;

use haft_packages::Permissions;
use haft_packages::manifest::Activation;
use haft_protocol::ext::{Limits, RegisterCommand, Subscribe};

use super::grants::{reject_tool, split_granted};
use super::offers::{ExtensionOffers, OfferedTool};

/// Returns the declared offers of `activation`, or a message about the first invalid one. The rules are those
/// for a registration.
pub(crate) fn declared_offers(
    activation: &Activation,
    granted: Option<&Permissions>,
    limits: &Arc<Limits>,
) -> Result<ExtensionOffers, String> {
    let mut offers = ExtensionOffers { limits: Arc::clone(limits), ..ExtensionOffers::default() };
    for tool in &activation.tools {
        if let Some(rejected) = granted.and_then(|granted| reject_tool(granted, &tool.name)) {
            return Err(rejected.reason);
        }
        if !offers.has_room_for_tool(&tool.name) {
            return Err(format!("declares more than {} tools", limits.max_tools));
        }
        offers.add_tool(tool.clone())?;
    }
    for command in &activation.commands {
        if !offers.has_room_for_command(&command.name) {
            return Err(format!("declares more than {} commands", limits.max_commands));
        }
        offers.add_command(command.clone())?;
    }
    let events = activation.events.iter().map(|event| event.as_str().into()).collect();
    let asked = Subscribe { replace: false, events, intercept: Vec::new() };
    let (asked, rejected) = match granted {
        Some(granted) => split_granted(granted, asked),
        None => (asked, Vec::new()),
    };
    if let Some(rejected) = rejected.into_iter().next() {
        return Err(rejected.reason);
    }
    // Known events without a role are always valid.
    offers.subscribe(asked);
    Ok(offers)
}

/// Returns the differences between the declared and the registered offers as text; `None` if they match. An
/// extension may watch more events than those that start it.
pub(crate) fn describe_difference(
    declared: &ExtensionOffers,
    registered: &ExtensionOffers,
) -> Option<String> {
    let tool = |tool: &Arc<OfferedTool>| format!("tool {}", tool.name);
    let command = |command: &RegisterCommand| format!("command /{}", command.name);
    let mut parts = compare_items(&declared.tools, &registered.tools, tool, |one, other| one.is_same(other));
    parts.extend(compare_items(&declared.commands, &registered.commands, command, |one, other| one == other));
    let unwatched = declared.events.difference(&registered.events);
    parts.extend(unwatched.map(|event| format!("event {event} is not subscribed to")));
    parts.extend(registered.intercepts.iter().map(|hook| format!("intercept {} is new", hook.name())));
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn compare_items<T>(
    old: &[T],
    new: &[T],
    name: impl Fn(&T) -> String,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<String> {
    let find = |all: &'_ [T], wanted: &T| all.iter().position(|one| name(one) == name(wanted));
    let mut parts = Vec::new();
    for value in new {
        match find(old, value).and_then(|at| old.get(at)) {
            None => parts.push(format!("{} is new", name(value))),
            Some(before) if !is_same(before, value) => parts.push(format!("{} is different", name(value))),
            Some(_) => {}
        }
    }
    let gone = old.iter().filter(|value| find(new, value).is_none());
    parts.extend(gone.map(|value| format!("{} is missing", name(value))));
    parts
}
