//! Replies: what becomes of what was sent.

use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{
    CommandAction, CommandResult, CommandsData, CompletionsData, ErrorCode, ExtensionsData, Failure,
    GetState, HelloData, ListCommands, ListExtensions, ModelData, ModelsData, MovedData, NoData, Payload,
    QueueData, QueuedData, ReloadData, Response, SessionData, SessionInfo, SessionsData, StateData,
    ThinkingData, ToolsData, ToolsSet, TreeData,
};
use serde::de::DeserializeOwned;

use super::super::Ask;
use super::super::held::Queued;
use super::super::pending::{Pending, Shown, Taken};
use super::super::state::State;
use crate::editor::{Content, Submission};
use crate::timeouts;

impl State {
    pub(super) fn reply(&mut self, reply: Response) {
        let Some(pending) = reply.id.as_deref().and_then(|id| self.out.take_pending(id)) else {
            // What it was about is not known, and yet it was not done.
            if let (None, Err(failure)) = (reply.id, reply.outcome) {
                self.error(failure.error);
            }
            return;
        };
        match reply.outcome {
            Ok(data) => self.succeeded(pending, data.unwrap_or_else(|| Payload::of(NoData {}))),
            Err(failure) => self.failed(pending, failure),
        }
    }

    /// Reads the data of a reply; where it is not what it should be, that is said.
    fn read<T: DeserializeOwned + Clone + 'static>(&mut self, data: &Payload) -> Option<T> {
        match data.read() {
            Ok(data) => Some(data),
            Err(error) => {
                self.error(format!("a reply could not be read: {error}; haft's halves are of two versions"));
                None
            }
        }
    }

    fn succeeded(&mut self, pending: Pending, data: Payload) {
        match pending {
            Pending::Hello => self.with(&data, Self::greeted),
            Pending::State { begun, told } => self.with(&data, |state, data| state.state(begun, told, data)),
            Pending::Commands => self.with(&data, |state, data: CommandsData| {
                state.composer.learn(|known| known.set_commands(data.commands));
            }),
            Pending::Extensions(shown) => self.with(&data, |state, data| state.extensions(data, shown)),
            Pending::Models(shown) => self.with(&data, |state, data| state.models(data, shown)),
            Pending::Sessions(shown) => self.with(&data, |state, data| state.sessions(data, &shown)),
            Pending::Tools(shown) => self.with(&data, |state, data| state.tools(data, shown)),
            Pending::Tree => self.with(&data, |state, data: TreeData| state.pick_entry(data)),
            Pending::Prompt(_) => {
                self.work.prompts = self.work.prompts.saturating_sub(1);
                self.work.begins();
            }
            Pending::Said(_) => self.with(&data, Self::said),
            Pending::Command(_) => self.with(&data, Self::command_done),
            Pending::Completions(command, prefix) => {
                self.with(&data, |state, data| {
                    state.composer.completed((command, prefix), data, &mut state.out);
                });
            }
            Pending::Abort => self.ask_state(),
            Pending::Taken(taken) => self.with(&data, |state, data| state.taken(data, taken)),
            Pending::Model => self.with(&data, Self::model_set),
            Pending::Thinking => self.with(&data, |state, data: ThinkingData| {
                state.session.thinking = data.level;
                state.flash(format!("thinking: {}", data.level.name()));
            }),
            Pending::SetTools => self.with(&data, Self::tools_set),
            Pending::Made => match self.read(&data) {
                Some(SessionData { session, .. }) => self.made(session),
                None => self.end_switch(),
            },
            Pending::Switched => match self.read(&data) {
                Some(SessionData { session, .. }) => self.switched(session),
                None => self.end_switch(),
            },
            Pending::CarriedOver(id) => self.carried_over(&id),
            Pending::Left(queue, goes_on) => {
                let taken = self.read(&data);
                self.left(*queue, goes_on.as_deref(), taken);
            }
            Pending::Cleared => self.cleared(),
            Pending::Compacted => {
                self.work.begun += 1;
                self.work.sums_up = true;
            }
            Pending::Reloaded => self.with(&data, Self::reloaded),
            Pending::Named(name) => {
                self.flash(if name.is_some() { "named" } else { "it has no name any more" });
                self.session.name = name;
                self.composer.known_mut().sessions = None;
            }
            Pending::Moved => self.with(&data, Self::moved),
            Pending::Before(_) | Pending::ShellSaid => {}
            Pending::Answered | Pending::Quiet | Pending::Silent => {}
        }
    }

    fn with<T: DeserializeOwned + Clone + 'static>(
        &mut self,
        data: &Payload,
        then: impl FnOnce(&mut Self, T),
    ) {
        if let Some(data) = self.read(data) {
            then(self, data);
        }
    }

    fn failed(&mut self, pending: Pending, failure: Failure) {
        match pending {
            Pending::Prompt(submission) => {
                self.work.prompts = self.work.prompts.saturating_sub(1);
                self.not_sent(&submission, &failure);
            }
            Pending::Said(submission) => {
                self.queue.unsent(&submission);
                self.not_sent(&submission, &failure);
            }
            // Its extension is gone, or was not there yet.
            Pending::Command(submission) if failure.code == ErrorCode::CommandNotFound => {
                let name = submission.text.split_whitespace().next().unwrap_or_default();
                let error = format!("there is no command {name}; /help shows them");
                self.not_sent(&submission, &Failure { error, ..failure });
            }
            Pending::Command(submission) if failure.code == ErrorCode::LineTooLong => {
                self.not_sent(&submission, &failure);
            }
            Pending::Command(_) => self.error(failure.error),
            // Nothing comes to mind. Whoever types need not know why.
            Pending::Completions(command, prefix) => {
                let nothing = CompletionsData::default();
                self.composer.completed((command, prefix), nothing, &mut self.out);
            }
            Pending::Before(submission) => self.back_from_before(&[submission.content]),
            Pending::Left(queue, goes_on) => self.left(*queue, goes_on.as_deref(), None),
            Pending::Taken(_) => {
                self.held.waiting = Queued::Told;
                self.error(failure.error);
            }
            Pending::Made | Pending::Switched => {
                self.end_switch();
                self.error(failure.error);
            }
            Pending::Sessions(Shown::Picker) => {
                self.error(failure.error);
                self.picked_session();
            }
            Pending::Hello => {
                self.error(failure.error);
                // No conversation comes that it could stand behind.
                self.follow();
                self.give_back_unsent();
            }
            // Whoever has it is asked, then.
            Pending::Models(Shown::One(name)) => self.set_model(&name),
            Pending::State { .. } | Pending::Commands | Pending::Models(_) | Pending::CarriedOver(_) => {
                self.error(failure.error);
            }
            // There are none, where that cannot be asked.
            Pending::Extensions(Shown::No) => self.check_approve(),
            Pending::Sessions(Shown::No) | Pending::Silent => {}
            // It was answered, or its time was over: that is seen.
            Pending::Answered if failure.code == ErrorCode::NotOpen => {}
            Pending::Answered | Pending::Sessions(_) | Pending::Extensions(_) | Pending::Tools(_) => {
                self.error(failure.error);
            }
            Pending::Tree | Pending::Abort | Pending::Model | Pending::Thinking | Pending::SetTools => {
                self.error(failure.error);
            }
            Pending::Cleared | Pending::Compacted | Pending::Reloaded | Pending::Named(_) => {
                self.error(failure.error);
            }
            Pending::Moved | Pending::ShellSaid | Pending::Quiet => self.error(failure.error),
        }
    }

    /// It comes back into the editor. What the person took back is nothing that went wrong.
    fn not_sent(&mut self, submission: &Submission, failure: &Failure) {
        if failure.code != ErrorCode::Aborted {
            self.error(failure.error.clone());
        }
        self.composer.give_back([&submission.content]);
    }

    fn greeted(&mut self, data: HelloData) {
        self.session.set_own_model(data.provider, data.model);
        // A later `hello` only says what is to be asked.
        if self.out.session().is_none() && !data.session.is_empty() {
            self.out.set_session(data.session.clone());
            self.begin_conversation(&data.session);
        }
    }

    pub(super) fn ask_state(&mut self) {
        let (begun, told) = (self.work.begun, self.held.told);
        self.out.send(GetState {}, Pending::State { begun, told });
    }

    fn state(&mut self, begun: u64, told: u64, data: StateData) {
        // What has begun or ended since is known better.
        match data.busy {
            _ if begun != self.work.begun => {}
            true => self.work.runs = self.work.runs || !self.work.sums_up,
            false => self.work.is_over(),
        }
        let QueueData { steering, follow_up, next_turn } = data.queue.clone();
        if self.held.waiting != Queued::Asked && told == self.held.told {
            self.queue.update(&AgentEvent::QueueUpdate { steering, follow_up, next_turn });
        }
        self.out.set_session(data.session.clone());
        self.session.update(data);
    }

    fn extensions(&mut self, data: ExtensionsData, shown: Shown) {
        self.composer.known_mut().extensions =
            data.extensions.iter().map(|info| info.name.to_string()).collect();
        for name in self.session.set_extensions(data.extensions) {
            self.info(format!("[{name}] runs again"));
        }
        if self.session.changes_soon() {
            self.extensions_at = Some(self.now + timeouts::EXTENSIONS_AGAIN);
        }
        self.check_approve();
        match shown {
            Shown::No => {}
            Shown::Picker => self.pick_extension(),
            Shown::One(name) => self.show_extension(&name),
        }
    }

    fn models(&mut self, data: ModelsData, shown: Shown) {
        self.composer.learn(|known| known.models = Some(data.models));
        match shown {
            Shown::No => {}
            Shown::Picker => self.pick_model(),
            Shown::One(name) => self.choose_model(&name),
        }
    }

    fn sessions(&mut self, mut data: SessionsData, shown: &Shown) {
        let id = self.out.session();
        if let Some(own) = data.sessions.iter_mut().find(|info| Some(info.session.as_str()) == id) {
            own.name.clone_from(&self.session.name);
            let SessionInfo { first_text, .. } = &*own;
            if let Some(first) = first_text {
                self.session.said_first(first);
            }
        }
        // Nobody goes on with what was never begun.
        data.sessions.retain(|info| !(info.open && info.messages == 0 && info.name.is_none() && !info.busy));
        self.composer.learn(|known| known.sessions = Some(data.sessions));
        match shown {
            Shown::Picker => self.pick_session(),
            Shown::No | Shown::One(_) => self.refresh_sessions(),
        }
    }

    fn tools(&mut self, data: ToolsData, shown: Shown) {
        self.composer.learn(|known| known.tools = Some(data.tools));
        self.warn_of_approve();
        match shown {
            Shown::No => {}
            Shown::Picker => self.pick_tools(),
            Shown::One(name) => self.toggle_tool(&name),
        }
    }

    fn said(&mut self, data: QueuedData) {
        // What is being taken back was said before that: it is among it.
        if !data.running && self.held.waiting == Queued::Told {
            self.held.waiting = Queued::Unheard;
        }
    }

    fn command_done(&mut self, data: CommandResult) {
        match data.action {
            CommandAction::Prompt => {
                self.work.begins();
                self.notes.clear();
            }
            CommandAction::Noop => self.flash("done"),
            // Events show them.
            CommandAction::Insert | CommandAction::Display | CommandAction::OpenPanel => {}
        }
    }

    fn taken(&mut self, data: QueueData, taken: Taken) {
        self.held.waiting = Queued::Told;
        self.held.told += 1;
        let QueueData { steering, follow_up, .. } = data;
        let back = self.queue.taken(steering, follow_up);
        self.taken_back(back, taken);
    }

    fn model_set(&mut self, data: ModelData) {
        let ModelData { provider, model } = data;
        self.flash(format!("model: {provider}/{model}"));
        self.session.set_own_model(provider, model);
        self.ask_state();
    }

    fn tools_set(&mut self, data: ToolsSet) {
        for tool in self.composer.known_mut().tools.iter_mut().flatten() {
            tool.active = data.active.contains(&tool.name);
        }
        self.refresh_tools();
    }

    fn cleared(&mut self) {
        self.leave_conversation();
        self.begin_printing("cleared");
        self.conversation.begin_anew();
        self.notes.clear();
        self.ask_state();
    }

    fn reloaded(&mut self, data: ReloadData) {
        let ReloadData { stopped, loaded, ready, kept, errors } = data;
        let kept = if kept > 0 { format!(", {kept} kept as they were") } else { String::new() };
        self.info(format!("reloaded: {stopped} stopped, {loaded} loaded ({ready} ready){kept}"));
        // Each error was told as an event.
        if !errors.is_empty() {
            let extensions = if errors.len() == 1 { "extension" } else { "extensions" };
            self.info(format!("{} {extensions} failed", errors.len()));
        }
        self.out.ask(Ask::Themes);
        self.out.send(ListCommands {}, Pending::Commands);
        self.out.send(ListExtensions {}, Pending::Extensions(Shown::No));
    }

    fn moved(&mut self, MovedData { text, .. }: MovedData) {
        if let Some(id) = self.out.session().map(str::to_owned) {
            self.begin_conversation(&id);
        }
        self.ask_state();
        if let Some(text) = text {
            // Before what is being written.
            self.composer.give_back([&Content::of_text(&text)]);
            self.composer.close_popup();
        }
        self.out.ask(Ask::Branch);
    }
}
