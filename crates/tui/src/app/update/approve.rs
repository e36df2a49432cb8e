//! The check that the tools in `tools.approve` exist.

use haft_protocol::names::{ALL_TOOLS, selects_tool};
use haft_protocol::rpc::GetTools;

use super::super::pending_request::{ListUse, PendingRequest};
use super::super::settings;
use super::super::state::AppState;

/// The minimum similarity, from 0 to 1, of a suggested name.
const ALIKE: f64 = 0.8;

/// Requests the list of tools, if a name in `tools.approve` was not checked yet and all extensions have finished
/// starting.
pub(super) fn request_tools_to_verify(state: &mut AppState) {
    if !state.session.has_changing_extensions() && !unverified_names(state).is_empty() {
        state.out.send(GetTools {}, PendingRequest::Tools(ListUse::CacheOnly));
    }
}

/// Returns the names in `tools.approve` that were not checked yet.
fn unverified_names(state: &AppState) -> Vec<String> {
    let mut names = state.settings.tools_to_approve();
    names.retain(|name| name != ALL_TOOLS && !state.stack.composer.completions().approved.contains(name));
    names
}

/// Reports each name in `tools.approve` that no tool has, once.
pub(super) fn warn_unknown_tools(state: &mut AppState) {
    if state.session.has_changing_extensions() {
        return;
    }
    for name in unverified_names(state) {
        let tools = state.stack.composer.completions().tools.as_deref().unwrap_or_default();
        if !tools.iter().any(|tool| selects_tool(&name, &tool.name)) {
            let likeness = |known: &str| strsim::jaro_winkler(&known.to_lowercase(), &name.to_lowercase());
            let best = tools.iter().max_by(|a, b| likeness(&a.name).total_cmp(&likeness(&b.name)));
            let suggestion = best.filter(|tool| likeness(&tool.name) >= ALIKE);
            let suggestion = suggestion
                .map(|tool| format!("; did you mean {}?", tool.name))
                .unwrap_or_else(|| ";".to_owned());
            let setting = settings::APPROVE;
            state.show_error(format!(
                "{setting} names {name}, but no tool has that name, so no approval is requested{suggestion} \
                 /settings {setting} changes the setting, /tools lists all tools"
            ));
        }
        state.stack.composer.completions_mut().approved.insert(name);
    }
}
