//! Commands of an extension on its session.

use std::collections::BTreeMap;

use haft_protocol::RawJson;
use haft_protocol::rpc::{
    AbortCommand, AppendEntry, AppendedData, ClearCommand, CloseSession, CommandParams, CommandResult,
    CommandsData, CompactCommand, ExtensionsData, FindSessions, FollowUp, ForkCommand, GetMessages,
    GetModels, GetState, GetTools, InterruptCommand, JobsData, ListCommands, ListExtensions, ListJobs,
    ListSessions, ModelData, ModelsData, MoveTo, MovedData, NewSession, PromptCommand, QueueData, QueuedData,
    ReloadData, ReloadExt, RunCommand, SendMessage, SentData, SessionData, SessionsData, SetLabel, SetModel,
    SetName, SetTags, SetThinking, SetTools, ShutdownCommand, StateData, SteerCommand, StopJob,
    SwitchSession, TakeQueued, ThinkingData, ToolsData, ToolsSet, TreeCommand, TreeData, WaitIdle,
};
use haft_protocol::thinking::ThinkingLevel;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::HostError;
use crate::host::Host;

/// A session of the host. Its commands are those of the RPC protocol, with the same data and errors.
/// Reading needs the permission `session.read`; entries, messages, labels, tags and the name need
/// `session.write`; all else needs `session.control`.
///
/// Commands that are sent one after the other run in that order. Dropping a command withdraws it if
/// it has not started.
///
/// ```
/// use haft_sdk::{Extension, Host, LifecycleEvent};
///
/// let namer = Extension::new("namer", "1.0.0").on_event("turn_end", |_: LifecycleEvent, host: Host| async move {
///     let named = host.session().set_name("bakery").await;
///     named.unwrap_or_else(|error| host.log(error));
/// });
/// ```
#[derive(Debug, Clone)]
pub struct SessionHandle<'a> {
    host: &'a Host,
    session: Option<String>,
}

impl<'a> SessionHandle<'a> {
    pub(crate) fn new(host: &'a Host) -> Self {
        Self { host, session: None }
    }

    /// Selects another session of the process: its id, or the beginning of it.
    #[must_use]
    pub fn with_id(self, session: impl Into<String>) -> Self {
        Self { session: Some(session.into()), ..self }
    }

    /// Sends a message to the model, which sees the name of the extension before it. Completes when the prompt starts, which waits for the prompts
    /// before it; [`wait_idle`](Self::wait_idle) waits for its end.
    ///
    /// # Errors
    /// [`HostError`], for example if the permission is not granted, or after 50 messages of extensions
    /// without one of the person.
    pub async fn prompt(&self, message: impl Into<String>) -> Result<(), HostError> {
        let message = message.into();
        self.execute_command(PromptCommand { message, ..PromptCommand::default() }).await.map(drop)
    }

    /// Sends a message that the working agent receives before its next request. Returns whether a
    /// prompt runs; if none does, the message waits for the next one.
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt).
    pub async fn steer(&self, message: impl Into<String>) -> Result<QueuedData, HostError> {
        self.execute_command(SteerCommand { message: message.into(), images: Vec::new() }).await
    }

    /// Sends a message that the agent receives when it would stop. Returns as [`steer`](Self::steer).
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt).
    pub async fn follow_up(&self, message: impl Into<String>) -> Result<QueuedData, HostError> {
        self.execute_command(FollowUp { message: message.into(), images: Vec::new() }).await
    }

    /// Removes and returns the messages that the agent has not received.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn take_queued(&self) -> Result<QueueData, HostError> {
        self.execute_command(TakeQueued {}).await
    }

    /// Ends the run in an orderly way: running tools finish, and the model gives one last answer to `hint`, or to a
    /// text of haft if it is empty.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if no prompt runs.
    #[doc(alias = "interrupt")]
    pub async fn interrupt_run(&self, hint: impl Into<String>) -> Result<(), HostError> {
        self.execute_command(InterruptCommand { hint: hint.into() }).await.map(drop)
    }

    /// Stops the current prompt or compaction.
    ///
    /// # Errors
    /// [`HostError`], for example if the permission is not granted.
    pub async fn abort(&self) -> Result<(), HostError> {
        self.execute_command(AbortCommand::default()).await.map(drop)
    }

    /// Clears the conversation. The session file keeps the old messages.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also while a prompt runs.
    #[doc(alias = "clear")]
    pub async fn clear_conversation(&self) -> Result<(), HostError> {
        self.execute_command(ClearCommand {}).await.map(drop)
    }

    /// Compacts the conversation. Completes when the compaction starts.
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt).
    pub async fn compact(&self, instructions: Option<String>) -> Result<(), HostError> {
        self.execute_command(CompactCommand { instructions }).await.map(drop)
    }

    /// Waits until no prompt and no compaction runs or waits. In a handler that the running prompt
    /// waits for, this never completes.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn wait_idle(&self) -> Result<(), HostError> {
        self.execute_command(WaitIdle {}).await.map(drop)
    }

    /// Returns the state of the session.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    #[doc(alias = "get_state")]
    pub async fn state(&self) -> Result<StateData, HostError> {
        self.execute_command(GetState {}).await
    }

    /// Returns the conversation, oldest message first: the data of `get_messages`.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if the conversation does not fit into one line.
    #[doc(alias = "get_messages")]
    pub async fn messages(&self) -> Result<RawJson, HostError> {
        self.send(GetMessages {}).await
    }

    /// Returns the entries of the session, with all branches.
    ///
    /// # Errors
    /// As [`messages`](Self::messages).
    #[doc(alias = "tree")]
    pub async fn get_tree(&self) -> Result<TreeData, HostError> {
        self.execute_command(TreeCommand {}).await
    }

    /// Sets the name of the session.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn set_name(&self, name: impl Into<String>) -> Result<(), HostError> {
        self.execute_command(SetName { name: name.into() }).await.map(drop)
    }

    /// Records data in the session, which the model never sees. Returns the id of the entry. The
    /// entry belongs to this extension; `kind` is its own name for the data, at most 256 KiB.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if the data is too long or has no JSON form.
    pub async fn append_entry(
        &self,
        kind: impl Into<String>,
        data: &(impl Serialize + ?Sized),
    ) -> Result<String, HostError> {
        let data =
            RawJson::from_value(data).map_err(|error| HostError::Failed { reason: error.to_string() })?;
        let entry = AppendEntry { kind: kind.into(), data, ..AppendEntry::default() };
        self.execute_command(entry).await.map(|AppendedData { entry }| entry)
    }

    /// Adds a message to the conversation that is not a prompt of the person. The model reads it as a
    /// user message, with the name of the extension before it.
    ///
    /// ```
    /// use haft_sdk::protocol::rpc::{DeliveryTime, SendMessage};
    /// use haft_sdk::{Host, HostError};
    ///
    /// /// Tells the model about a build, and has it work on the failure.
    /// async fn report(host: &Host, output: String) -> Result<(), HostError> {
    ///     let (when, turn) = (DeliveryTime::FollowUp, true);
    ///     let failed = SendMessage { when, turn, ..SendMessage::new("build", output) };
    ///     host.session().send_message(failed).await.map(drop)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt), if the message makes the model work.
    pub async fn send_message(&self, message: SendMessage) -> Result<SentData, HostError> {
        self.execute_command(message).await
    }

    /// Labels an entry for people; `None` removes the label.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if there is no such entry.
    pub async fn set_label(&self, entry: impl Into<String>, label: Option<&str>) -> Result<(), HostError> {
        let label = label.map(str::to_owned);
        self.execute_command(SetLabel { entry: entry.into(), label }).await.map(drop)
    }

    /// Changes tags of the session; `None` removes a tag, and the other tags stay.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if a key or a value is too long.
    pub async fn set_tags<'t>(
        &self,
        tags: impl IntoIterator<Item = (&'t str, Option<&'t str>)>,
    ) -> Result<(), HostError> {
        self.execute_command(SetTags { tags: to_owned_tags(tags) }).await.map(drop)
    }

    /// Returns the sessions of the directory that have all these tags. `None` stands for any value.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn find_sessions<'t>(
        &self,
        tags: impl IntoIterator<Item = (&'t str, Option<&'t str>)>,
    ) -> Result<SessionsData, HostError> {
        self.execute_command(FindSessions { tags: to_owned_tags(tags) }).await
    }

    /// Returns the known models.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    #[doc(alias = "get_models")]
    pub async fn models(&self) -> Result<ModelsData, HostError> {
        self.execute_command(GetModels::default()).await
    }

    /// Switches the model from the next step on: an id, or `PROVIDER/MODEL`.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if the model is unknown or has no key.
    pub async fn set_model(&self, model: impl Into<String>) -> Result<ModelData, HostError> {
        self.execute_command(SetModel { model: model.into() }).await
    }

    /// Sets the thinking level from the next step on. Returns the level that the model supports.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn set_thinking(&self, level: ThinkingLevel) -> Result<ThinkingData, HostError> {
        self.execute_command(SetThinking { level }).await
    }

    /// Returns all tools, and whether the model gets each of them.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    #[doc(alias = "get_tools")]
    pub async fn tools(&self) -> Result<ToolsData, HostError> {
        self.execute_command(GetTools {}).await
    }

    /// Limits the tools that the model gets, from the next step on; `None` for all.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn set_tools(&self, tools: Option<Vec<String>>) -> Result<ToolsSet, HostError> {
        self.execute_command(SetTools { tools }).await
    }

    /// Returns the commands of extensions, the prompt templates and the skills.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn list_commands(&self) -> Result<CommandsData, HostError> {
        self.execute_command(ListCommands {}).await
    }

    /// Runs a command, as the person would with `/name args`.
    ///
    /// # Errors
    /// As [`prompt`](Self::prompt). Also if there is no such command.
    pub async fn run_command(
        &self,
        name: impl Into<String>,
        args: impl Into<String>,
    ) -> Result<CommandResult, HostError> {
        self.execute_command(RunCommand { name: name.into(), args: args.into() }).await
    }

    /// Returns the open sessions, and the sessions of the directory on the disk.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn list_sessions(&self) -> Result<SessionsData, HostError> {
        self.execute_command(ListSessions {}).await
    }

    /// Opens another session. The current one stays the same.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn new_session(&self) -> Result<SessionData, HostError> {
        self.execute_command(NewSession::default()).await
    }

    /// Opens a new session with a copy of the conversation, up to an entry.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if there is no such entry.
    pub async fn fork(&self, entry: Option<String>) -> Result<SessionData, HostError> {
        self.execute_command(ForkCommand { entry }).await
    }

    /// Makes the session of [`with_id`](Self::with_id) the current one.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if there is no such session, or no id.
    pub async fn switch_session(&self) -> Result<SessionData, HostError> {
        self.execute_command(SwitchSession {}).await
    }

    /// Continues the session from another entry, on any branch. Fails while a prompt runs. `target` is
    /// an entry, or a [`MoveTo`] that also requests a summary of the branch that the session leaves.
    ///
    /// ```
    /// use haft_sdk::protocol::rpc::MoveTo;
    /// use haft_sdk::{Host, HostError};
    ///
    /// async fn give_up(host: &Host, entry: &str) -> Result<(), HostError> {
    ///     let target = MoveTo { summarize: Some(true), ..MoveTo::from(entry) };
    ///     host.session().move_to(target).await.map(drop)
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if there is no such entry, or another extension blocks it.
    pub async fn move_to(&self, target: impl Into<MoveTo>) -> Result<MovedData, HostError> {
        self.execute_command(target.into()).await
    }

    /// Closes the session: aborts its work and saves its messages.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn close_session(&self) -> Result<(), HostError> {
        self.execute_command(CloseSession {}).await.map(drop)
    }

    /// Returns the extensions and their states.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn list_extensions(&self) -> Result<ExtensionsData, HostError> {
        self.execute_command(ListExtensions {}).await
    }

    /// Returns the background commands of the model: those that run, and the last ended ones.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn list_jobs(&self) -> Result<JobsData, HostError> {
        self.execute_command(ListJobs {}).await
    }

    /// Stops a background command. It ends soon after the result.
    ///
    /// # Errors
    /// As [`abort`](Self::abort). Also if there is no such job.
    pub async fn stop_job(&self, job: u32) -> Result<(), HostError> {
        self.execute_command(StopJob { job }).await.map(drop)
    }

    /// Searches for extensions again and replaces changed ones. If this extension is among them, its
    /// process ends before the result arrives.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    #[doc(alias = "reload_ext")]
    pub async fn reload_extensions(&self) -> Result<ReloadData, HostError> {
        self.execute_command(ReloadExt::default()).await
    }

    /// Ends the process of the host: aborts the current work and saves the sessions.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    #[doc(alias = "shutdown")]
    pub async fn shut_down(&self) -> Result<(), HostError> {
        self.execute_command(ShutdownCommand {}).await.map(drop)
    }

    /// Carries out any command of the RPC protocol that extensions have.
    ///
    /// # Errors
    /// As [`abort`](Self::abort).
    pub async fn execute_command<C: CommandParams>(&self, command: C) -> Result<C::Data, HostError>
    where
        C::Data: DeserializeOwned,
    {
        let data = self.send(command).await?;
        data.read()
            .map_err(|error| HostError::Failed { reason: format!("the host sent an invalid value: {error}") })
    }

    async fn send<C: CommandParams>(&self, command: C) -> Result<RawJson, HostError> {
        let args = RawJson::from_value(&command);
        let args = args.map_err(|error| HostError::Failed { reason: error.to_string() })?;
        self.host.send_command(C::KIND.name(), args, self.session.clone()).await
    }
}

fn to_owned_tags<'t>(
    tags: impl IntoIterator<Item = (&'t str, Option<&'t str>)>,
) -> BTreeMap<String, Option<String>> {
    let owned = tags.into_iter().map(|(key, value)| (key.to_owned(), value.map(str::to_owned)));
    owned.collect()
}
