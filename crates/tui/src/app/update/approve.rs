//! `tui.approve`: whether there are the tools that it names.

use haft_protocol::rpc::GetTools;

use super::super::pending::{ListUse, PendingRequest};
use super::super::settings;
use super::super::state::AppState;

/// Stands for every tool.
const ALL: &str = "*";

/// Below this likeness, of at most 1, another name is not what was meant.
const ALIKE: f64 = 0.8;

/// Asks which tools there are, where that is not known of each that the person wants to be asked about, and every
/// extension has said what it has.
pub(super) fn request_tools_to_verify(state: &mut AppState) {
    if !state.session.has_changing_extensions() && !unverified_names(state).is_empty() {
        state.out.send(GetTools {}, PendingRequest::Tools(ListUse::CacheOnly));
    }
}

/// The names of which it is not known whether a tool has them.
fn unverified_names(state: &AppState) -> Vec<String> {
    let mut names = state.settings.tools_to_approve();
    names.retain(|name| name != ALL && !state.stack.composer.completions().approved.contains(name));
    names
}

/// These tools are there. A name that none of them has guards nothing, which is said once.
pub(super) fn warn_unknown_tools(state: &mut AppState) {
    if state.session.has_changing_extensions() {
        return;
    }
    for name in unverified_names(state) {
        let tools = state.stack.composer.completions().tools.as_deref().unwrap_or_default();
        if !tools.iter().any(|tool| tool.name == name) {
            let likeness = |known: &str| strsim::jaro_winkler(&known.to_lowercase(), &name.to_lowercase());
            let best = tools.iter().max_by(|a, b| likeness(&a.name).total_cmp(&likeness(&b.name)));
            let nearly = best.filter(|tool| likeness(&tool.name) >= ALIKE);
            let nearly =
                nearly.map(|tool| format!("; did you mean {}?", tool.name)).unwrap_or_else(|| ";".to_owned());
            let setting = settings::APPROVE;
            state.show_error(format!(
                "{setting} names {name}, but no tool has that name, so no approval is requested{nearly} /settings {setting} \
                 changes the setting, /tools lists all tools"
            ));
        }
        state.stack.composer.completions_mut().approved.insert(name);
    }
}
