//! The extensions of the page [Move from wolli or pi](../../../docs/from-wolli.md): one program, whose argument is the
//! name of an extension.

#![deny(clippy::print_stdout)]

mod abort_signal;
mod active_tools;
mod agent_prompt;
mod append_entry;
mod compact_command;
mod compaction;
mod completion;
mod context_filter;
mod context_usage;
mod custom_bash;
mod custom_message;
mod dialogs;
mod dismissed_dialog;
mod entry_labels;
mod event_bus;
mod file_queue;
mod final_answer;
mod find_sessions;
mod input_filter;
mod list_commands;
mod long_output;
mod message_end;
mod model_select;
mod new_session;
mod old_arguments;
mod permission_gate;
mod provider_request;
mod quick_start;
mod register_tool;
mod reload_runtime;
mod run_events;
mod screen;
mod session_name;
mod session_start;
mod session_stats;
mod session_tags;
mod set_model;
mod several_tools;
mod shutdown;
mod startup_work;
mod stream_events;
mod thinking_level;
mod timed_dialog;
mod tool_call;
mod tool_events;
mod tool_result;
mod tool_state;
mod typed_input;
mod user_bash;
mod user_message;
mod wait_idle;

use std::process::ExitCode;

use haft_sdk::Extension;

/// The function that builds an extension.
type BuildExtension = fn() -> Extension;

/// All extensions, by their names.
const EXTENSIONS: &[(&str, BuildExtension)] = &[
    ("abort_signal", abort_signal::build),
    ("active_tools", active_tools::build),
    ("agent_prompt", agent_prompt::build),
    ("append_entry", append_entry::build),
    ("compact_command", compact_command::build),
    ("compaction", compaction::build),
    ("completion", completion::build),
    ("context_filter", context_filter::build),
    ("context_usage", context_usage::build),
    ("custom_bash", custom_bash::build),
    ("custom_message", custom_message::build),
    ("dialogs", dialogs::build),
    ("dismissed_dialog", dismissed_dialog::build),
    ("entry_labels", entry_labels::build),
    ("event_bus", event_bus::build),
    ("file_queue", file_queue::build),
    ("final_answer", final_answer::build),
    ("find_sessions", find_sessions::build),
    ("input_filter", input_filter::build),
    ("list_commands", list_commands::build),
    ("long_output", long_output::build),
    ("message_end", message_end::build),
    ("model_select", model_select::build),
    ("new_session", new_session::build),
    ("old_arguments", old_arguments::build),
    ("permission_gate", permission_gate::build),
    ("provider_request", provider_request::build),
    ("quick_start", quick_start::build),
    ("register_tool", register_tool::build),
    ("reload_runtime", reload_runtime::build),
    ("run_events", run_events::build),
    ("screen", screen::build),
    ("session_name", session_name::build),
    ("session_start", session_start::build),
    ("session_stats", session_stats::build),
    ("session_tags", session_tags::build),
    ("set_model", set_model::build),
    ("several_tools", several_tools::build),
    ("shutdown", shutdown::build),
    ("startup_work", startup_work::build),
    ("stream_events", stream_events::build),
    ("thinking_level", thinking_level::build),
    ("timed_dialog", timed_dialog::build),
    ("tool_call", tool_call::build),
    ("tool_events", tool_events::build),
    ("tool_result", tool_result::build),
    ("tool_state", tool_state::build),
    ("typed_input", typed_input::build),
    ("user_bash", user_bash::build),
    ("user_message", user_message::build),
    ("wait_idle", wait_idle::build),
];

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    match EXTENSIONS.iter().find(|(name, _)| *name == wanted) {
        Some((_, build)) => build().run(),
        None => {
            haft_sdk::log!("unknown extension {wanted:?}");
            ExitCode::FAILURE
        }
    }
}
