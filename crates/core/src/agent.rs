//! `Agent`: the public face of the loop.

mod builder;
mod control;

use std::sync::Arc;

use haft_protocol::message::{Message, Usage};
use tokio_util::sync::CancellationToken;

use crate::agent_state::AgentState;
use crate::call::Caller;
use crate::compact::{CompactError, Compacted};
use crate::error::TurnErrorKind;
use crate::model::Model;
use crate::queue::Prompt;
use crate::run::Run;
use crate::session::Session;
use crate::stats::Stats;
use crate::turn;

pub use builder::{AgentBuilder, BuildError};

/// A model, tools, hooks and a session. Cheap to clone; clones share everything.
///
/// One prompt is worked on at a time: see [`Agent::prompt`]. What is said meanwhile waits in a queue: see
/// [`Agent::steer`] and [`Agent::follow_up`].
///
/// ```
/// use haft_core::model::Model;
/// use haft_core::prompt::SystemPrompt;
/// use haft_core::protocol::message::Message;
/// use haft_core::tool::Tool;
/// use haft_core::{Agent, BuildError};
///
/// fn reviewer(model: impl Model + 'static, read: impl Tool + 'static) -> Result<Agent, BuildError> {
///     let system =
///         SystemPrompt { identity: Some("You review changes.".into()), ..SystemPrompt::default() };
///     Agent::builder(model).tool(read).system_prompt(system).max_steps(20).build()
/// }
///
/// async fn ask(agent: &Agent) -> Option<String> {
///     if let Err(error) = agent.prompt("Is src/lib.rs tidy?").finish().await {
///         eprintln!("no review: {error}");
///     }
///     // The transcript grows from prompt to prompt.
///     agent.messages().iter().rev().find_map(|message| match message {
///         Message::Assistant(message) => Some(message.text()),
///         Message::User { .. } | Message::Tool(_) => None,
///     })
/// }
/// ```
#[derive(Clone)]
pub struct Agent {
    inner: Arc<AgentState>,
}

impl Agent {
    /// Starts building an agent on this model, which may be an `Arc<dyn Model>` that others share.
    pub fn builder(model: impl Model + 'static) -> AgentBuilder {
        AgentBuilder::new(Arc::new(model))
    }

    /// Works on a prompt. The returned [`Run`] does the work as it is polled: it is a stream of events, and
    /// [`Run::finish`] says how it ended, [`Run::handle`] is for everybody else. While one run lives, another fails as busy.
    pub fn prompt(&self, prompt: impl Into<Prompt>) -> Run {
        Run::new(self.inner.clone(), Some(prompt.into()))
    }

    /// Works without a new prompt: on the messages that wait, or on a transcript whose last message has no answer yet,
    /// because the answer failed or the program ended. Fails as
    /// [`NothingToDo`](crate::error::TurnErrorKind::NothingToDo) when there is neither.
    pub fn go_on(&self) -> Run {
        Run::new(self.inner.clone(), None)
    }

    /// Sums up the conversation, but for its end, so that the context is shorter from here on. The model is asked,
    /// unless a [`BeforeCompact`](crate::hooks::BeforeCompact) hook says otherwise; `instructions` say what the summary
    /// shall heed. Observers are told of it as in a run. While this works no run can, and the other way round.
    ///
    /// # Errors
    /// [`CompactError`], which says when the context is as it was before.
    pub async fn compact(
        &self,
        cancel: CancellationToken,
        instructions: Option<String>,
    ) -> Result<Compacted, CompactError> {
        turn::compact(self.inner.clone(), cancel, instructions).await
    }

    /// What runs tools for extensions, under the hooks of this agent, whether or not a run is under way. It does not keep
    /// the agent alive.
    pub fn caller(&self) -> Caller {
        Caller::new(&self.inner)
    }

    /// The transcript so far.
    pub fn messages(&self) -> Arc<Vec<Message>> {
        self.inner.transcript.messages()
    }

    /// The session that everything is kept in; one in memory, unless the builder was given another.
    ///
    /// The agent has a copy of what the session says to the model. What somebody else adds to it that the model shall
    /// see, and where somebody else moves it to, counts after a [`reload`](Self::reload).
    pub fn session(&self) -> &Session {
        &self.inner.transcript.session
    }

    /// Goes on with what the session says by now, after somebody else has added to it or moved it. Model, thinking and
    /// tools stay what the agent was last given.
    ///
    /// # Errors
    /// [`TurnErrorKind::Busy`] while a run is under way; [`TurnErrorKind::Session`] when something that the session has
    /// not taken yet cannot be written.
    pub fn reload(&self) -> Result<(), TurnErrorKind> {
        turn::reload(&self.inner)
    }

    /// Everything used since the session began.
    pub fn usage(&self) -> Usage {
        self.inner.transcript.usage()
    }

    /// What the session has used, and how full its context is. Estimates the messages that no provider has counted yet:
    /// takes a while only in a long transcript without an answer.
    pub fn stats(&self) -> Stats {
        let (tally, messages) = self.inner.transcript.tally();
        let window = self.facts().window;
        Stats { usage: tally.usage, context: tally.context(&messages, window) }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("model", &self.model()).finish_non_exhaustive()
    }
}
