//! How the process and its sessions are.

use std::sync::Arc;

use haft_core::Stats;
use haft_protocol::rpc::{ContextData, HelloData, PROTOCOL_VERSION, StateData, capability};

use super::messages;
use super::outcome::{Carried, Outcome, data};
use super::session;
use crate::desk::Desk;
use crate::sessions::Opened;

/// Answers `hello`. `current` is the session that commands mean which name none; provider and model are those of the
/// session that was asked for.
pub(super) fn greeting(version: &str, current: &str, session: Option<&Opened>) -> Outcome {
    let model = session.map(|session| session.agent.model());
    let (provider, model) = model.map(|model| (model.provider, model.model)).unwrap_or_default();
    data(HelloData {
        protocol_version: PROTOCOL_VERSION,
        version: version.to_owned(),
        provider,
        model,
        capabilities: capability::ALL.iter().map(|word| (*word).to_owned()).collect(),
        session: current.to_owned(),
    })
}

pub(super) fn state(session: &Arc<Opened>, desk: &Desk) -> Carried {
    let agent = &session.agent;
    let (model, Stats { usage, context }) = (agent.model(), agent.stats());
    let state = StateData {
        provider: model.provider,
        model: model.model,
        cwd: agent.session().header().cwd,
        message_count: agent.messages().len() as u64,
        busy: desk.works(),
        usage,
        session: session.screen.session().to_owned(),
        path: agent.session().path().map(|path| path.to_string_lossy().into_owned()),
        thinking: agent.facts().clamp(agent.thinking()),
        context: ContextData { tokens: context.tokens, estimated: context.estimated, window: context.window },
        prompts: desk.waiting() as u64,
        queue: messages::queue(session),
        name: None,
    };
    let (session, has_file) = (agent.session().clone(), state.path.is_some());
    let named = move || data(StateData { name: session::name(&session), ..state });
    // Where there is a file, that may have to be asked.
    if has_file { Carried::blocking(named) } else { Carried::Now(named()) }
}
