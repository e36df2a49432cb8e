//! The requested permissions that were not granted.

use std::collections::BTreeSet;
use std::path::Path;

use haft_launch::sandbox::NetworkAccess;
use haft_protocol::ext::Limits;

use super::{ExecPermission, FsPermissions, InterceptPermission, Permissions, ToolPermissions};
use crate::grant::GrantedPath;

/// Returns the part of the permissions `asked` that `granted` does not cover. `home` replaces `~`.
pub(super) fn excess_permissions(
    asked: &Permissions,
    granted: &Permissions,
    home: Option<&Path>,
) -> Permissions {
    let intercept = asked.intercept.iter().filter_map(|entry| excess_intercept(entry, &granted.intercept));
    Permissions {
        tools: ToolPermissions {
            register: not_granted(&asked.tools.register, &granted.tools.register),
            replace: not_granted(&asked.tools.replace, &granted.tools.replace),
            effects: not_granted(&asked.tools.effects, &granted.tools.effects),
        },
        events: not_granted(&asked.events, &granted.events),
        intercept: intercept.collect(),
        host: not_granted(&asked.host, &granted.host),
        fs: excess_files(&asked.fs, &granted.fs, home),
        net: if asked.net > granted.net { asked.net } else { NetworkAccess::None },
        env: not_granted(&asked.env, &granted.env),
        exec: if asked.exec > granted.exec { asked.exec } else { ExecPermission::None },
    }
}

/// The role counts: it decides about the possible changes and about the effect of a failure.
fn excess_intercept(
    asked: &InterceptPermission,
    granted: &[InterceptPermission],
) -> Option<InterceptPermission> {
    let is_same = |other: &&InterceptPermission| (other.event, other.role) == (asked.event, asked.role);
    let Some(granted) = granted.iter().find(is_same) else { return Some(asked.clone()) };
    let is_longer = answer_ms(asked) > answer_ms(granted);
    if granted.tools.is_empty() {
        return is_longer.then(|| asked.clone());
    }
    if asked.tools.is_empty() {
        return Some(asked.clone());
    }
    let tools = not_granted(&asked.tools, &granted.tools);
    match (tools.is_empty(), is_longer) {
        (true, false) => None,
        (true, true) => Some(asked.clone()),
        (false, _) => Some(InterceptPermission { tools, ..asked.clone() }),
    }
}

fn answer_ms(permission: &InterceptPermission) -> u64 {
    let limits = Limits::default();
    let default = match permission.event {
        event if event.may_call_model() => limits.tool_call_ms,
        event if event.may_ask_person() => limits.approval_ms,
        _ => limits.intercept_ms,
    };
    permission.timeout_ms.unwrap_or(default)
}

fn excess_files(asked: &FsPermissions, granted: &FsPermissions, home: Option<&Path>) -> FsPermissions {
    let changed = parse_paths(&granted.write, home);
    let seen: Vec<_> = parse_paths(&granted.read, home).into_iter().chain(changed.iter().cloned()).collect();
    FsPermissions {
        read: uncovered_paths(&asked.read, &seen, home),
        write: uncovered_paths(&asked.write, &changed, home),
    }
}

/// Parses paths. A path that cannot be parsed covers nothing.
fn parse_paths(paths: &[String], home: Option<&Path>) -> Vec<GrantedPath> {
    paths.iter().filter_map(|path| GrantedPath::parse(path, home).ok()).collect()
}

fn uncovered_paths(asked: &[String], granted: &[GrantedPath], home: Option<&Path>) -> Vec<String> {
    let covered = |text: &String| match GrantedPath::parse(text, home) {
        Ok(path) => path.is_data() || granted.iter().any(|other| other.covers(&path)),
        Err(_) => false,
    };
    asked.iter().filter(|text| !covered(text)).cloned().collect()
}

fn not_granted<T: Ord + Clone>(asked: &BTreeSet<T>, granted: &BTreeSet<T>) -> BTreeSet<T> {
    asked.difference(granted).cloned().collect()
}
