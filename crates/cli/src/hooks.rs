//! Process hooks: what is told of them.

use haft_config::{Config, ProcessHook, ToolNames};

use crate::sandbox;

/// The command, as people write it; it is not safe to be shown.
pub(crate) fn command(hook: &ProcessHook) -> String {
    let place = hook.dir.as_ref().map(|dir| format!(" in {}", dir.display())).unwrap_or_default();
    format!("{}{place}", hook.command.join(" "))
}

/// Where it is asked, and whether it is told what happens.
pub(crate) fn asked(hook: &ProcessHook) -> String {
    let points = hook.watch.intercepts.iter().map(|point| point.name());
    let told = (!hook.watch.observed.is_nothing()).then_some("told what happens");
    points.chain(told).collect::<Vec<_>>().join(", ")
}

/// What confines it; and whether that is nothing.
pub(crate) fn confined(config: &Config, name: &str) -> (String, bool) {
    match sandbox::level_of_hook(config, name) {
        Some(level) => (level.to_string(), false),
        None => ("none, so it runs UNCONFINED, with all your rights".to_owned(), true),
    }
}

/// All that a hook would do, a line each, and whether the line must not be overlooked.
pub(crate) fn lines(config: &Config, hook: &ProcessHook) -> Vec<(String, bool)> {
    let mut lines =
        vec![(format!("hook: {}", hook.name), false), (format!("  runs: {}", command(hook)), false)];
    if !hook.env.is_empty() {
        let names: Vec<_> = hook.env.keys().map(String::as_str).collect();
        lines.push((format!("  sets: {}", names.join(", ")), false));
    }
    lines.push((format!("  asked: {}", asked(hook)), false));
    if hook.tool_names == ToolNames::PicoClaw {
        lines.push(("  tools: by PicoClaw's names, exec for bash".to_owned(), false));
    }
    let (confined, is_nothing) = confined(config, &hook.name);
    lines.push((format!("  sandbox: {confined}"), is_nothing));
    lines
}
