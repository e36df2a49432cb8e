//! Compacts a session without a prompt: `haft session compact`.

use haft_core::compact::{CompactError, CompactionOutcome};
use haft_core::sanitize::sanitize_line;
use haft_protocol::event::AgentEvent;

use super::build_agent::RunningAgent;
use super::display::{RunDisplay, RunFlow, exit_of_model, handle_interrupt};
use crate::args::CompactArgs;
use crate::console::print;
use crate::exit::{Exit, OrExit as _};
use crate::session::{short_id, usage_text};

#[derive(Debug)]
pub(crate) struct CompactOptions {
    pub(crate) instructions: Option<String>,
    /// True if the events are printed as JSON.
    pub(crate) json: bool,
}

impl From<&CompactArgs> for CompactOptions {
    fn from(args: &CompactArgs) -> Self {
        let instructions = args.instructions.join(" ");
        Self { instructions: (!instructions.trim().is_empty()).then_some(instructions), json: args.json }
    }
}

impl CompactOptions {
    /// Returns the filter of the agent's events. In text mode, [`compact`] reports the end itself.
    pub(super) fn event_filter(&self) -> fn(&AgentEvent) -> bool {
        match self.json {
            true => |_| true,
            false => |event| !matches!(event, AgentEvent::CompactionEnd { .. }),
        }
    }
}

pub(super) async fn compact(
    joined: &mut RunningAgent,
    options: CompactOptions,
    screen: &mut RunDisplay,
) -> anyhow::Result<Exit> {
    let (agent, cancel) = (joined.agent.clone(), screen.cancel.clone());
    let asked = agent.compact(cancel.clone(), options.instructions);
    tokio::pin!(asked);
    let outcome = loop {
        let flow = tokio::select! {
            biased;
            () = screen.interrupts.next() => handle_interrupt(&screen.interrupts, &cancel),
            Some(event) = screen.events.recv() => screen.show(&event).await?,
            outcome = &mut asked => break outcome,
        };
        if flow == RunFlow::StopNow {
            return Ok(Exit::Aborted);
        }
    };
    match outcome {
        Ok(_) if options.json => {}
        Ok(done) => print(&outcome_text(&short_id(agent.session().id()), &done))?,
        Err(CompactError::Aborted) => return Ok(Exit::Aborted),
        Err(error) => {
            let exit = exit_of(&error);
            return Err(error).or_exit(exit);
        }
    }
    Ok(Exit::Ok)
}

/// Returns the outcome in two lines.
fn outcome_text(session: &str, done: &CompactionOutcome) -> String {
    let CompactionOutcome { tokens_before, tokens_after, by, answer, .. } = done;
    let wrote = match (by, answer) {
        (Some(extension), _) => format!("written by extension {}", sanitize_line(extension)),
        (None, Some(answer)) => {
            let model = sanitize_line(&format!("{}/{}", answer.provider, answer.model));
            format!("written by {model}; {}", usage_text(&answer.usage))
        }
        (None, None) => String::new(),
    };
    format!("compacted session {session}: {tokens_before} tokens before, {tokens_after} now\n-- {wrote}")
}

fn exit_of(error: &CompactError) -> Exit {
    match error {
        // The same code as for a session without a message to answer.
        CompactError::Nothing => Exit::Usage,
        CompactError::Refused { .. } => Exit::Blocked,
        CompactError::Model(error) => exit_of_model(error.kind),
        CompactError::Empty | CompactError::CutOff | CompactError::NotShorter { .. } => Exit::Provider,
        CompactError::Aborted => Exit::Aborted,
        CompactError::Busy | CompactError::Session { .. } | _ => Exit::Failure,
    }
}
