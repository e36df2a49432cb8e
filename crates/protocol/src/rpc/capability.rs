//! Capabilities of haft beyond zot's RPC mode, as `hello` lists them. The names are stable.

/// `steer`, `follow_up`, `send_message`, `take_queued` and `interrupt`: messages for an agent that
/// works; and `wait_idle`.
pub const STEERING: &str = "steering";
/// `set_thinking`, `get_tools` and `set_tools`.
pub const SETUP: &str = "setup";
/// Several sessions in one process, named by commands and events: `new_session`, `switch_session`,
/// `close_session`, `list_sessions`, `fork`, `tree`, `move_to`, `set_name`,
/// `append_entry`, `set_label`, `set_tags` and `find_sessions`.
pub const SESSIONS: &str = "sessions";
/// Extensions, their commands and shortcuts: `list_commands`, `run_command`, `run_shortcut`,
/// `list_extensions` and `reload_ext`; and the event `registrations_changed`.
pub const EXTENSIONS: &str = "extensions";
/// Background commands: `list_jobs` and `stop_job`.
pub const JOBS: &str = "jobs";
/// Panels of extensions: the `panel_` events and commands; and other changes of the screen: `insert`,
/// `set_title`, `set_working` and `set_editor`.
pub const PANELS: &str = "panels";
/// Questions for the person in front of the client: `ui_request`, `ui_response`, `ui_done`.
pub const DIALOGS: &str = "dialogs";
/// Questions to the client before tools run, with `approve` of `hello`: questions of the kind
/// `approve`.
pub const APPROVALS: &str = "approvals";
/// A client that reads too slowly loses only pieces of text, and gets `event_gap`.
pub const EVENT_GAP: &str = "event_gap";
/// The command `shutdown`.
pub const SHUTDOWN: &str = "shutdown";

/// All capabilities of this version.
pub const ALL: &[&str] =
    &[STEERING, SETUP, SESSIONS, EXTENSIONS, JOBS, PANELS, DIALOGS, APPROVALS, EVENT_GAP, SHUTDOWN];
