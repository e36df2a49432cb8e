//! Every command: the registry, one line each. Names, reading, the type of the reply and the schema follow from it.

mod extension;
mod greeting;
mod prompt;
mod session;
mod setup;
mod state;

use serde::Serialize;

use super::data::{
    CommandResult, CommandsData, CompletionsData, ExtensionsData, HelloData, InterruptData, MessagesData,
    ModelData, ModelsData, MovedData, NoData, Pong, QueueData, QueuedData, ReloadData, SessionData,
    SessionsData, Started, StateData, ThinkingData, ToolsData, ToolsSet, TreeData,
};
use super::dialog::UiResponse;
use crate::named_enum::named_enum;
use crate::read;
use crate::reader::Checked;

pub use extension::{
    CompleteCommand, ListCommands, ListExtensions, PanelClose, PanelKey, PanelResize, ReloadExt, RunCommand,
};
pub use greeting::{Client, Hello, Ping, Shutdown, Token};
pub use prompt::{Abort, FollowUp, Interrupt, Prompt, Steer, TakeQueued};
pub use session::{CloseSession, Fork, ListSessions, MoveTo, NewSession, SetName, SwitchSession, Tree};
pub use setup::{GetModels, GetTools, SetModel, SetThinking, SetTools};
pub use state::{Clear, Compact, GetMessages, GetState};

/// The fields of one command, which say what the data of its reply is.
pub trait Params: Into<Command> {
    /// The data of the reply to a command that was carried out.
    type Data: Serialize;

    /// Which command it is.
    const KIND: CommandKind;
}

macro_rules! commands {
    ($($(#[$doc:meta])* $command:ident -> $data:ident = $name:literal $shape:literal,)*) => {
        named_enum! {
            /// The commands by name.
            pub enum CommandKind { $($(#[$doc])* $command = $name,)* }
        }

        impl CommandKind {
            /// What the command looks like with all its fields, for messages about one that is wrong.
            pub const fn shape(self) -> &'static str {
                match self { $(Self::$command => concat!("{\"type\":\"", $name, "\"", $shape, "}"),)* }
            }
        }

        /// What a client wants.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
        #[serde(tag = "type")]
        // Exhaustive on purpose: a new command asks whoever carries them out for its arm.
        pub enum Command {
            $($(#[$doc])* #[serde(rename = $name)] $command($command),)*
        }

        impl Command {
            /// Which command this is.
            pub const fn kind(&self) -> CommandKind {
                match self { $(Self::$command(_) => CommandKind::$command,)* }
            }

            /// Reads the fields of a command.
            pub(super) fn read(kind: CommandKind, line: Checked<'_>) -> Result<Self, String> {
                match kind { $(CommandKind::$command => read::read(line).map(Self::$command),)* }
            }
        }

        $(
            impl From<$command> for Command {
                fn from(command: $command) -> Self {
                    Self::$command(command)
                }
            }

            impl Params for $command {
                type Data = $data;
                const KIND: CommandKind = CommandKind::$command;
            }
        )*

        /// `data` of a reply, by the command. Fields that are not listed may be there and are ignored.
        #[expect(non_snake_case, reason = "each field is named after its command's type")]
        #[derive(Debug, schemars::JsonSchema)]
        pub struct ReplyData {
            $($(#[$doc])* #[schemars(rename = $name)] pub $command: $data,)*
        }
    };
}

commands! {
    /// The client introduces itself; the first line when a token is asked for, and otherwise at any time or not at all.
    Hello -> HelloData = "hello" r#","token":"…","client":{"name":"…","version":"…"},"ui":true,"approve":["…"]"#,
    /// A message for the model. Replied to when the work on it begins; events follow until `done`. While another one is
    /// worked on it waits, in order.
    Prompt -> Started = "prompt" r#","message":"…","images":[{"mime_type":"image/png","data":"…"}]"#,
    /// Stops the prompt that is worked on, or the summing up: the events of a prompt still end with `done`. What waits behind
    /// it begins then.
    Abort -> NoData = "abort" r#","queued":true"#,
    /// Says something to the agent at work: it is told when the tools that run now are done, before the model is asked
    /// again. While no prompt is worked on, it waits for the next one.
    Steer -> QueuedData = "steer" r#","message":"…","images":[…]"#,
    /// Says what comes next: the agent is told when it would stop, and goes on. While no prompt is worked on, it waits for
    /// the next one.
    FollowUp -> QueuedData = "follow_up" r#","message":"…","images":[…]"#,
    /// Has the agent come to an end in good order: the tools that run now end, calls that have not begun are skipped, and
    /// the model is asked once more, without tools.
    Interrupt -> InterruptData = "interrupt" r#","hint":"…""#,
    /// Takes back what `steer` and `follow_up` have said and the agent was not told yet. Images are told by a word.
    TakeQueued -> QueueData = "take_queued" "",
    /// Sums up the conversation. Replied to when that begins; while something else is worked on it waits, in order. Ends with
    /// `compact_done`, or with `error`; with neither when it is aborted.
    Compact -> Started = "compact" r#","instructions":"…""#,
    /// How the session is.
    GetState -> StateData = "get_state" "",
    /// The conversation, oldest first. Of images only the size.
    GetMessages -> MessagesData = "get_messages" "",
    /// Forgets the conversation: the session goes on from its beginning. What is on the disk stays there, on a branch that
    /// was left. Not while a prompt is worked on.
    Clear -> NoData = "clear" "",
    /// Asks another model from the next step on.
    SetModel -> ModelData = "set_model" r#","model":"PROVIDER/MODEL""#,
    /// The models that are known. One without a key cannot be asked; `set_model` says so.
    GetModels -> ModelsData = "get_models" "",
    /// Has the model think more or less from the next step on.
    SetThinking -> ThinkingData = "set_thinking" r#","level":"default|off|minimal|low|medium|high|xhigh""#,
    /// The tools there are, and whether the model is offered each.
    GetTools -> ToolsData = "get_tools" "",
    /// Offers the model these tools alone from the next step on.
    SetTools -> ToolsSet = "set_tools" r#","tools":["…"]"#,
    /// Opens a session of its own beside the others. Commands that name no session still mean the one they meant before.
    NewSession -> SessionData = "new_session" r#","ephemeral":false"#,
    /// From here on, this session is the one that commands mean which name none. Opened from the disk if it is not open.
    SwitchSession -> SessionData = "switch_session" r#","session":"…""#,
    /// Closes a session: what it works on is aborted, what it said is on the disk.
    CloseSession -> NoData = "close_session" r#","session":"…""#,
    /// The sessions that are open, and those of this directory on the disk.
    ListSessions -> SessionsData = "list_sessions" "",
    /// Opens a session of its own with the conversation up to an entry, beside the one it comes from.
    Fork -> SessionData = "fork" r#","entry":"…""#,
    /// The entries of the session with all its branches.
    Tree -> TreeData = "tree" "",
    /// Goes on from an entry of the session, on whichever branch, without taking anything away. What is said next begins a
    /// branch there; until then, the file does not know of it. Not while a prompt is worked on.
    MoveTo -> MovedData = "move_to" r#","entry":"…""#,
    /// Names the session.
    SetName -> NoData = "set_name" r#","name":"…""#,
    /// The commands of extensions, and templates.
    ListCommands -> CommandsData = "list_commands" "",
    /// Runs a command. What it shows comes as events; a prompt of its own is worked on like any other.
    RunCommand -> CommandResult = "run_command" r#","name":"…","args":"…""#,
    /// What may follow a command that is being typed. Of two about one command, the newer one takes the place of the older,
    /// which is refused as `aborted`.
    CompleteCommand -> CompletionsData = "complete_command" r#","name":"…","prefix":"…""#,
    /// The extensions, and how they are.
    ListExtensions -> ExtensionsData = "list_extensions" "",
    /// Looks for extensions again and puts new ones in the place of the old; with a name, starts that one again.
    ReloadExt -> ReloadData = "reload_ext" r#","name":"…""#,
    /// A key for the panel that an extension has opened.
    PanelKey -> NoData = "panel_key" r#","extension":"…","panel_id":"…","key":"rune","text":"…""#,
    /// The room of a panel that an extension has opened: when it opens, and whenever it changes.
    PanelResize -> NoData = "panel_resize" r#","extension":"…","panel_id":"…","width":80,"height":24"#,
    /// The person closed an extension's panel.
    PanelClose -> NoData = "panel_close" r#","extension":"…","panel_id":"…""#,
    /// Answers a `ui_request`.
    UiResponse -> NoData = "ui_response" r#","request":"…","value":"…""#,
    /// A sign of life.
    Ping -> Pong = "ping" "",
    /// Ends the process: what is worked on is aborted, sessions are on the disk. The reply comes first.
    Shutdown -> NoData = "shutdown" "",
}
