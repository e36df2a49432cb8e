//! The registry of commands, one line each. Names, reading, the type of the reply and the schema
//! follow from it.

mod extension;
mod greeting;
mod job;
mod prompt;
mod record;
mod session;
mod setup;
mod state;

use serde::Serialize;

use super::data::{
    AppendedData, CommandResult, CommandsData, CompletionsData, ExtensionsData, HelloData, InterruptData,
    JobsData, MessagesData, ModelData, ModelsData, MovedData, NoData, PongData, QueueData, QueuedData,
    ReloadData, SentData, SessionData, SessionsData, StartedData, StateData, ThinkingData, ToolsData,
    ToolsSet, TreeData,
};
use super::dialog::UiResponse;
use crate::named_enum::named_enum;
use crate::read;
use crate::reader::CheckedJson;

pub use extension::{
    CompleteCommand, ListCommands, ListExtensions, PanelCloseCommand, PanelKeyCommand, PanelResizeCommand,
    ReloadExt, RunCommand, RunShortcut,
};
pub use greeting::{AuthToken, ClientInfo, HelloCommand, PingCommand, ShutdownCommand};
pub use job::{ListJobs, StopJob};
pub use prompt::{
    AbortCommand, FollowUp, InterruptCommand, PromptCommand, SteerCommand, TakeQueued, WaitIdle,
};
pub use record::{AppendEntry, DeliveryTime, FindSessions, SendMessage, SetLabel, SetTags};
pub use session::{
    CloseSession, ForkCommand, ListSessions, MoveTo, NewSession, SetName, SwitchSession, TreeCommand,
};
pub use setup::{GetModels, GetTools, SetModel, SetThinking, SetTools};
pub use state::{ClearCommand, CompactCommand, GetMessages, GetState};

/// The fields of one command. They determine the data of its reply.
pub trait CommandParams: Into<Command> + Serialize {
    /// The data of a successful reply.
    type Data: Serialize;

    /// The kind of the command.
    const KIND: CommandKind;
}

macro_rules! commands {
    ($($(#[$doc:meta])* $command:ident($params:ident) -> $data:ident = $name:literal $shape:literal,)*) => {
        named_enum! {
            /// The commands by name.
            pub enum CommandKind { $($(#[$doc])* $command = $name,)* }
        }

        impl CommandKind {
            /// The command with all its fields, for error messages.
            pub const fn shape(self) -> &'static str {
                match self { $(Self::$command => concat!("{\"type\":\"", $name, "\"", $shape, "}"),)* }
            }
        }

        /// A command of a client.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(tag = "type")]
        // Exhaustive on purpose: the compiler requires every implementation to handle a new
        // command.
        pub enum Command {
            $($(#[$doc])* #[serde(rename = $name)] $command($params),)*
        }

        impl Command {
            /// Returns the kind of the command.
            pub const fn kind(&self) -> CommandKind {
                match self { $(Self::$command(_) => CommandKind::$command,)* }
            }

            /// Reads the fields of a command.
            pub(super) fn read(kind: CommandKind, line: CheckedJson<'_>) -> Result<Self, String> {
                match kind { $(CommandKind::$command => read::read(line).map(Self::$command),)* }
            }
        }

        $(
            impl From<$params> for Command {
                fn from(command: $params) -> Self {
                    Self::$command(command)
                }
            }

            impl CommandParams for $params {
                type Data = $data;
                const KIND: CommandKind = CommandKind::$command;
            }
        )*

        /// `data` of a reply, by the command. Fields that are not listed may be there and are ignored.
        #[expect(non_snake_case, reason = "each field is named after its command's type")]
        #[cfg(feature = "schema")]
        #[derive(Debug, schemars::JsonSchema)]
        pub struct ReplyData {
            $($(#[$doc])* #[schemars(rename = $name)] pub $command: $data,)*
        }
    };
}

commands! {
    /// Introduces the client. Required as the first line if the process has a token; otherwise
    /// optional, at any time.
    Hello(HelloCommand) -> HelloData = "hello" r#","token":"…","client":{"name":"…","version":"…"},"ui":true,"approve":["…"]"#,
    /// Sends a message to the model. The reply comes when the prompt starts; events follow until
    /// `done`. During other work, the prompt waits in order.
    Prompt(PromptCommand) -> StartedData = "prompt" r#","message":"…","images":[{"mime_type":"image/png","data":"…"}]"#,
    /// Stops the current prompt or compaction. The events of a prompt still end with `done`. The
    /// next waiting command starts.
    Abort(AbortCommand) -> NoData = "abort" r#","queued":true"#,
    /// Sends a message to the working agent. The agent receives it when the current tools have
    /// finished, before the next request to the model. If no prompt runs, the message waits for the
    /// next one.
    Steer(SteerCommand) -> QueuedData = "steer" r#","message":"…","images":[…]"#,
    /// Sends a message that the agent receives when it would stop; the agent then continues. If no
    /// prompt runs, the message waits for the next one.
    FollowUp(FollowUp) -> QueuedData = "follow_up" r#","message":"…","images":[…]"#,
    /// Ends the run in an orderly way: running tools finish, calls that have not begun are skipped,
    /// and the model gives one last answer without tools.
    Interrupt(InterruptCommand) -> InterruptData = "interrupt" r#","hint":"…""#,
    /// Removes and returns the messages of `steer` and `follow_up` that the agent has not received.
    /// A word replaces each image.
    TakeQueued(TakeQueued) -> QueueData = "take_queued" "",
    /// Compacts the conversation. The reply comes when the compaction starts; during other work, it
    /// waits in order. Ends with `compact_done` or `error`; with neither if it is aborted.
    Compact(CompactCommand) -> StartedData = "compact" r#","instructions":"…""#,
    /// Waits until no prompt and no compaction runs or waits. The reply comes then.
    WaitIdle(WaitIdle) -> NoData = "wait_idle" "",
    /// Returns the state of the session.
    GetState(GetState) -> StateData = "get_state" "",
    /// Returns the conversation, oldest message first. Images have only their size.
    GetMessages(GetMessages) -> MessagesData = "get_messages" "",
    /// Clears the conversation: the session continues from its beginning. The session file keeps
    /// the old messages on a branch. Fails with `busy` while a prompt runs.
    Clear(ClearCommand) -> NoData = "clear" "",
    /// Switches the model from the next step on.
    SetModel(SetModel) -> ModelData = "set_model" r#","model":"PROVIDER/MODEL""#,
    /// Returns the known models. The list includes models without a key; `set_model` fails for
    /// those.
    GetModels(GetModels) -> ModelsData = "get_models" "",
    /// Sets the thinking level from the next step on.
    SetThinking(SetThinking) -> ThinkingData = "set_thinking" r#","level":"default|off|minimal|low|medium|high|xhigh""#,
    /// Returns all tools, and whether haft offers each of them to the model.
    GetTools(GetTools) -> ToolsData = "get_tools" "",
    /// Limits the tools that haft offers to the model, from the next step on.
    SetTools(SetTools) -> ToolsSet = "set_tools" r#","tools":["…"]"#,
    /// Opens another session. The current session stays the same.
    NewSession(NewSession) -> SessionData = "new_session" r#","ephemeral":false"#,
    /// Makes the session in `session` the current one. Opens it from the disk if necessary.
    SwitchSession(SwitchSession) -> SessionData = "switch_session" r#","session":"…""#,
    /// Closes a session. Its current work is aborted; its messages are saved.
    CloseSession(CloseSession) -> NoData = "close_session" r#","session":"…""#,
    /// Returns the open sessions and the sessions of this directory on the disk.
    ListSessions(ListSessions) -> SessionsData = "list_sessions" "",
    /// Opens a new session with a copy of the conversation up to an entry.
    Fork(ForkCommand) -> SessionData = "fork" r#","entry":"…""#,
    /// Returns the entries of the session, with all branches.
    Tree(TreeCommand) -> TreeData = "tree" "",
    /// Continues the session from another entry, on any branch. Deletes nothing: the next message
    /// begins a new branch there, and until then the file does not change. A summary of the branch
    /// that it leaves, or a label, is written at once. Fails with `busy` while a prompt runs.
    MoveTo(MoveTo) -> MovedData = "move_to" r#","entry":"…","before":true,"summarize":true,"instructions":"…","label":"…""#,
    /// Sets the name of the session.
    SetName(SetName) -> NoData = "set_name" r#","name":"…""#,
    /// Records data in the session; the model never sees it. haft writes no file for it alone.
    AppendEntry(AppendEntry) -> AppendedData = "append_entry" r#","entry":"…","kind":"…","data":{…},"owner":"…""#,
    /// Adds a message to the conversation that is not a prompt of the person.
    SendMessage(SendMessage) -> SentData = "send_message" r#","kind":"…","content":"…","images":[…],"display":true,"details":{…},"when":"now|steer|follow_up|next_turn","turn":false,"owner":"…""#,
    /// Labels an entry for people, or removes its label.
    SetLabel(SetLabel) -> NoData = "set_label" r#","entry":"…","label":"…""#,
    /// Changes tags of the session.
    SetTags(SetTags) -> NoData = "set_tags" r#","tags":{"…":"…"}"#,
    /// Returns the open sessions and the sessions of this directory that have all these tags.
    FindSessions(FindSessions) -> SessionsData = "find_sessions" r#","tags":{"…":"…"}"#,
    /// Returns the commands of extensions, the prompt templates and the skills.
    ListCommands(ListCommands) -> CommandsData = "list_commands" "",
    /// Runs a command. Its output arrives as events; if it sends a prompt, the prompt is handled
    /// like any other.
    RunCommand(RunCommand) -> CommandResult = "run_command" r#","name":"…","args":"…""#,
    /// Returns completions for a command that is being typed. A newer request about the same
    /// command replaces an older one, which fails with `aborted`.
    CompleteCommand(CompleteCommand) -> CompletionsData = "complete_command" r#","name":"…","prefix":"…""#,
    /// Runs the shortcut of an extension, after the person pressed its key. `list_extensions` has the
    /// shortcuts.
    RunShortcut(RunShortcut) -> NoData = "run_shortcut" r#","extension":"…","key":"…""#,
    /// Returns the extensions and their states.
    ListExtensions(ListExtensions) -> ExtensionsData = "list_extensions" "",
    /// Searches for extensions again and replaces changed ones; with a name, restarts only that
    /// extension.
    ReloadExt(ReloadExt) -> ReloadData = "reload_ext" r#","name":"…""#,
    /// Returns the background commands of the model: those that run, and the last ended ones.
    ListJobs(ListJobs) -> JobsData = "list_jobs" "",
    /// Stops a background command. The reply comes first; the command ends soon after.
    StopJob(StopJob) -> NoData = "stop_job" r#","job":1"#,
    /// Sends a key to an extension's panel.
    PanelKey(PanelKeyCommand) -> NoData = "panel_key" r#","extension":"…","panel_id":"…","key":"rune","text":"…""#,
    /// Reports the size of an extension's panel: when it opens, and after each change.
    PanelResize(PanelResizeCommand) -> NoData = "panel_resize" r#","extension":"…","panel_id":"…","width":80,"height":24"#,
    /// Closes an extension's panel.
    PanelClose(PanelCloseCommand) -> NoData = "panel_close" r#","extension":"…","panel_id":"…""#,
    /// Answers a `ui_request`.
    UiResponse(UiResponse) -> NoData = "ui_response" r#","request":"…","value":"…""#,
    /// Checks that haft answers.
    Ping(PingCommand) -> PongData = "ping" "",
    /// Ends the process: aborts the current work and saves the sessions. The reply comes first.
    Shutdown(ShutdownCommand) -> NoData = "shutdown" "",
}
