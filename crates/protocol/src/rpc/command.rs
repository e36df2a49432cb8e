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
    ModelData, ModelsData, MovedData, NoData, PongData, QueueData, QueuedData, ReloadData, SessionData,
    SessionsData, StartedData, StateData, ThinkingData, ToolsData, ToolsSet, TreeData,
};
use super::dialog::UiResponse;
use crate::named_enum::named_enum;
use crate::read;
use crate::reader::CheckedJson;

pub use extension::{
    CompleteCommand, ListCommands, ListExtensions, PanelCloseCommand, PanelKeyCommand, PanelResizeCommand,
    ReloadExt, RunCommand,
};
pub use greeting::{AuthToken, ClientInfo, HelloCommand, PingCommand, ShutdownCommand};
pub use prompt::{AbortCommand, FollowUp, InterruptCommand, PromptCommand, SteerCommand, TakeQueued};
pub use session::{
    CloseSession, ForkCommand, ListSessions, MoveTo, NewSession, SetName, SwitchSession, TreeCommand,
};
pub use setup::{GetModels, GetTools, SetModel, SetThinking, SetTools};
pub use state::{ClearCommand, CompactCommand, GetMessages, GetState};

/// The fields of one command, which say what the data of its reply is.
pub trait CommandParams: Into<Command> {
    /// The data of the reply to a command that was carried out.
    type Data: Serialize;

    /// Which command it is.
    const KIND: CommandKind;
}

macro_rules! commands {
    ($($(#[$doc:meta])* $command:ident($params:ident) -> $data:ident = $name:literal $shape:literal,)*) => {
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
            $($(#[$doc])* #[serde(rename = $name)] $command($params),)*
        }

        impl Command {
            /// Which command this is.
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
        #[derive(Debug, schemars::JsonSchema)]
        pub struct ReplyData {
            $($(#[$doc])* #[schemars(rename = $name)] pub $command: $data,)*
        }
    };
}

commands! {
    /// The client introduces itself; the first line when a token is asked for, and otherwise at any time or not at all.
    Hello(HelloCommand) -> HelloData = "hello" r#","token":"…","client":{"name":"…","version":"…"},"ui":true,"approve":["…"]"#,
    /// A message for the model. Replied to when the work on it begins; events follow until `done`. While another one is
    /// worked on it waits, in order.
    Prompt(PromptCommand) -> StartedData = "prompt" r#","message":"…","images":[{"mime_type":"image/png","data":"…"}]"#,
    /// Stops the prompt that is worked on, or the summing up: the events of a prompt still end with `done`. What waits behind
    /// it begins then.
    Abort(AbortCommand) -> NoData = "abort" r#","queued":true"#,
    /// Says something to the agent at work: it is told when the tools that run now are done, before the model is asked
    /// again. While no prompt is worked on, it waits for the next one.
    Steer(SteerCommand) -> QueuedData = "steer" r#","message":"…","images":[…]"#,
    /// Says what comes next: the agent is told when it would stop, and goes on. While no prompt is worked on, it waits for
    /// the next one.
    FollowUp(FollowUp) -> QueuedData = "follow_up" r#","message":"…","images":[…]"#,
    /// Has the agent come to an end in good order: the tools that run now end, calls that have not begun are skipped, and
    /// the model is asked once more, without tools.
    Interrupt(InterruptCommand) -> InterruptData = "interrupt" r#","hint":"…""#,
    /// Takes back what `steer` and `follow_up` have said and the agent was not told yet. Images are told by a word.
    TakeQueued(TakeQueued) -> QueueData = "take_queued" "",
    /// Sums up the conversation. Replied to when that begins; while something else is worked on it waits, in order. Ends with
    /// `compact_done`, or with `error`; with neither when it is aborted.
    Compact(CompactCommand) -> StartedData = "compact" r#","instructions":"…""#,
    /// How the session is.
    GetState(GetState) -> StateData = "get_state" "",
    /// The conversation, oldest first. Of images only the size.
    GetMessages(GetMessages) -> MessagesData = "get_messages" "",
    /// Forgets the conversation: the session goes on from its beginning. What is on the disk stays there, on a branch that
    /// was left. Not while a prompt is worked on.
    Clear(ClearCommand) -> NoData = "clear" "",
    /// Asks another model from the next step on.
    SetModel(SetModel) -> ModelData = "set_model" r#","model":"PROVIDER/MODEL""#,
    /// The models that are known. One without a key cannot be asked; `set_model` says so.
    GetModels(GetModels) -> ModelsData = "get_models" "",
    /// Has the model think more or less from the next step on.
    SetThinking(SetThinking) -> ThinkingData = "set_thinking" r#","level":"default|off|minimal|low|medium|high|xhigh""#,
    /// The tools there are, and whether the model is offered each.
    GetTools(GetTools) -> ToolsData = "get_tools" "",
    /// Offers the model these tools alone from the next step on.
    SetTools(SetTools) -> ToolsSet = "set_tools" r#","tools":["…"]"#,
    /// Opens a session of its own beside the others. Commands that name no session still mean the one they meant before.
    NewSession(NewSession) -> SessionData = "new_session" r#","ephemeral":false"#,
    /// From here on, this session is the one that commands mean which name none. Opened from the disk if it is not open.
    SwitchSession(SwitchSession) -> SessionData = "switch_session" r#","session":"…""#,
    /// Closes a session: what it works on is aborted, what it said is on the disk.
    CloseSession(CloseSession) -> NoData = "close_session" r#","session":"…""#,
    /// The sessions that are open, and those of this directory on the disk.
    ListSessions(ListSessions) -> SessionsData = "list_sessions" "",
    /// Opens a session of its own with the conversation up to an entry, beside the one it comes from.
    Fork(ForkCommand) -> SessionData = "fork" r#","entry":"…""#,
    /// The entries of the session with all its branches.
    Tree(TreeCommand) -> TreeData = "tree" "",
    /// Goes on from an entry of the session, on whichever branch, without taking anything away. What is said next begins a
    /// branch there; until then, the file does not know of it. Not while a prompt is worked on.
    MoveTo(MoveTo) -> MovedData = "move_to" r#","entry":"…""#,
    /// Names the session.
    SetName(SetName) -> NoData = "set_name" r#","name":"…""#,
    /// The commands of extensions, and templates.
    ListCommands(ListCommands) -> CommandsData = "list_commands" "",
    /// Runs a command. What it shows comes as events; a prompt of its own is worked on like any other.
    RunCommand(RunCommand) -> CommandResult = "run_command" r#","name":"…","args":"…""#,
    /// What may follow a command that is being typed. Of two about one command, the newer one takes the place of the older,
    /// which is refused as `aborted`.
    CompleteCommand(CompleteCommand) -> CompletionsData = "complete_command" r#","name":"…","prefix":"…""#,
    /// The extensions, and how they are.
    ListExtensions(ListExtensions) -> ExtensionsData = "list_extensions" "",
    /// Looks for extensions again and puts new ones in the place of the old; with a name, starts that one again.
    ReloadExt(ReloadExt) -> ReloadData = "reload_ext" r#","name":"…""#,
    /// A key for the panel that an extension has opened.
    PanelKey(PanelKeyCommand) -> NoData = "panel_key" r#","extension":"…","panel_id":"…","key":"rune","text":"…""#,
    /// The room of a panel that an extension has opened: when it opens, and whenever it changes.
    PanelResize(PanelResizeCommand) -> NoData = "panel_resize" r#","extension":"…","panel_id":"…","width":80,"height":24"#,
    /// The person closed an extension's panel.
    PanelClose(PanelCloseCommand) -> NoData = "panel_close" r#","extension":"…","panel_id":"…""#,
    /// Answers a `ui_request`.
    UiResponse(UiResponse) -> NoData = "ui_response" r#","request":"…","value":"…""#,
    /// A sign of life.
    Ping(PingCommand) -> PongData = "ping" "",
    /// Ends the process: what is worked on is aborted, sessions are on the disk. The reply comes first.
    Shutdown(ShutdownCommand) -> NoData = "shutdown" "",
}
