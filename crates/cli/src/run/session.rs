//! Which session a run is part of: a new one, or one that is gone on with.

mod pick;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use haft_core::model::{Model, ModelInfo, ThinkingLevel};
use haft_core::sanitize::sanitize_line;
use haft_core::session::Session;
use haft_core::session::entry::{EntryBody, ModelChange};
use haft_core::session::store::SessionFile;
use haft_protocol::message::{Message, StopCause};

use super::model;
use crate::args::{RunArgs, SessionArgs};
use crate::console::{note, print};
use crate::exit::{Exit, OrExit as _};
use crate::session::{SessionFinder, explain_error, render_table, session_rows, short_id};
use crate::setup::RunSetup;

/// The provider whose models are files.
const SCRIPTED: &str = "scripted";

/// The session that the arguments mean.
pub(crate) enum SessionOpenOutcome {
    Session(SelectedSession),
    /// The user was shown which there are, or chose none: there is nothing left to do.
    Nothing(Exit),
}

pub(crate) struct SelectedSession {
    pub(crate) session: Session,
    /// True if it was there before.
    pub(crate) resumed: bool,
}

/// Opens the session that the arguments name. `prompt`: there is something to say in it.
pub(crate) fn open(args: &SessionArgs, setup: &RunSetup, prompt: bool) -> anyhow::Result<SessionOpenOutcome> {
    let sessions = SessionFinder::new(&setup.home, &setup.cwd);
    let found = match (args, args.resume.as_deref()) {
        (SessionArgs { no_session: true, .. }, _) => {
            return Ok(SessionOpenOutcome::Session(SelectedSession {
                session: Session::in_memory(&setup.cwd),
                resumed: false,
            }));
        }
        (SessionArgs { go_on: true, .. }, _) => sessions.latest()?,
        (SessionArgs { session: Some(name), .. }, _) => sessions.find(name)?,
        (_, Some("")) => match choose_session(&sessions, prompt)? {
            Ok(found) => found,
            Err(exit) => return Ok(SessionOpenOutcome::Nothing(exit)),
        },
        (_, Some(name)) if !SessionFinder::is_session_name(name) => {
            return Exit::Usage.fail(format!(
                "--resume takes the beginning of an id, and {name:?} is none; for a prompt: haft -r -p …"
            ));
        }
        (_, Some(name)) => sessions.find(name)?,
        (_, None) => {
            return Ok(SessionOpenOutcome::Session(SelectedSession {
                session: sessions.create(),
                resumed: false,
            }));
        }
    };
    let session = resume(&found, setup)?;
    match if prompt { None } else { nothing_to_answer(&session) } {
        Some(why) => {
            let named = args.session.as_ref().map(|name| format!("--session {name}"));
            let way = named.unwrap_or_else(|| format!("-r {}", short_id(session.id())));
            Exit::Usage.fail(format!("{why}; give a prompt to go on: haft {way} -p …"))
        }
        None => Ok(SessionOpenOutcome::Session(SelectedSession { session, resumed: true })),
    }
}

/// Why there is nothing to go on with but a prompt; none where the model has yet to answer.
fn nothing_to_answer(session: &Session) -> Option<String> {
    let id = short_id(session.id());
    if let Some(Message::User { .. } | Message::Tool(_)) = session.context().messages.last() {
        return None;
    }
    let branch = session.branch();
    let answer = branch.iter().rfind(|entry| matches!(entry.body, EntryBody::Said(_)));
    match answer.map(|entry| entry.body.answer().map(|answer| answer.stop)) {
        None => Some(format!("nothing was said in session {id}")),
        // Another one takes its place.
        Some(Some(StopCause::Error)) => None,
        Some(Some(StopCause::Aborted)) => Some(format!("the last answer in session {id} was stopped by you")),
        Some(_) => Some(format!("session {id} has its answer")),
    }
}

/// Lets the person choose one, or lists them where there is nobody to choose.
fn choose_session(sessions: &SessionFinder, prompt: bool) -> anyhow::Result<Result<SessionFile, Exit>> {
    let found = sessions.in_directory()?;
    if found.is_empty() {
        return Err(sessions.no_session_error()).or_exit(Exit::Session);
    }
    let rows = session_rows(&found);
    if io::stderr().is_terminal() && io::stdin().is_terminal() {
        return Ok(pick::pick_session(&rows)?.ok_or(Exit::Aborted));
    }
    if prompt {
        return Exit::Usage.fail(
            "there is no terminal to choose a session on; name one with --resume ID, or take the latest with -c",
        );
    }
    print(&render_table(&rows, std::time::SystemTime::now()))?;
    Ok(Err(Exit::Ok))
}

pub(crate) fn resume(found: &SessionFile, setup: &RunSetup) -> anyhow::Result<Session> {
    let session = Session::open(&found.path).map_err(|error| explain_error(error, found.id))?;
    let id = short_id(session.id());
    if session.is_read_only() {
        let path = found.path.clone();
        return Err(explain_error(haft_core::session::SessionError::ReadOnly { path }, found.id));
    }
    let (cwd, here) = (session.header().cwd, setup.cwd.canonicalize().unwrap_or_else(|_| setup.cwd.clone()));
    if std::path::Path::new(&cwd) != here {
        note(&sanitize_line(&format!(
            "haft: session {id} is about {cwd}; it goes on in {}",
            setup.cwd.display()
        )));
    }
    match session.context().closed.len() {
        0 => {}
        1 => note("haft: a tool call was interrupted; it is not run again, and the model is told"),
        calls => {
            note(&format!(
                "haft: {calls} tool calls were interrupted; they are not run again, and the model is told"
            ));
        }
    }
    Ok(session)
}

/// The model: what the flags say, otherwise the session's, otherwise what the settings say.
pub(super) async fn session_model(
    args: &RunArgs,
    setup: &RunSetup,
    chosen: &SelectedSession,
) -> anyhow::Result<Arc<dyn Model>> {
    let flags = args.model.provider.is_some() || args.model.model.is_some();
    let kept = chosen.session.context().settings.model.filter(|_| !flags);
    let Some(ModelChange { provider, model }) = kept else { return model::choose(args, setup).await };
    let named = model::choose_named(args, setup, &provider, &model).await;
    or_configured_model(args, setup, &ModelChange { provider, model }, named).await
}

/// The model of a copy of a conversation: the one that was asked there last, whatever the flags said when the process
/// began; otherwise what they and the settings say. `first`: the model that the process began with.
pub(super) async fn model_of_copy(
    args: &RunArgs,
    setup: &RunSetup,
    copy: &Session,
    first: &ModelInfo,
) -> anyhow::Result<Arc<dyn Model>> {
    let Some(kept) = copy.context().settings.model else { return model::choose(args, setup).await };
    let named = model::choose_for_client(args, setup, first, &kept.provider, &kept.model).await;
    or_configured_model(args, setup, &kept, named).await
}

/// The session's model, or if it cannot be asked, what the settings say.
async fn or_configured_model(
    args: &RunArgs,
    setup: &RunSetup,
    ModelChange { provider, model }: &ModelChange,
    named: anyhow::Result<Arc<dyn Model>>,
) -> anyhow::Result<Arc<dyn Model>> {
    let error = match named {
        Ok(model) => return Ok(model),
        Err(error) => error,
    };
    // The name that a script gives itself does not lead back to its file, and whoever played one wants no other model to
    // be asked in its place, and paid.
    let script = setup.settings().provider.as_ref().is_some_and(|set| set.value == SCRIPTED);
    if provider.as_str() == SCRIPTED && !script {
        return Exit::NoProvider.fail(format!(
            "the session was played by the script {model}, whose file is not known any more; name it, or another model: \
             --model {SCRIPTED}/FILE"
        ));
    }
    let chosen = model::choose(args, setup).await?;
    let info = chosen.info();
    if (&info.provider, &info.model) != (provider, model) {
        let text = format!(
            "haft: the session's model {provider}/{model} cannot be used ({error:#}); {info} is used"
        );
        note(&sanitize_line(&text));
    }
    Ok(chosen)
}

/// Returns the thinking level: what the flag says, otherwise the session, otherwise the settings.
pub(super) fn session_thinking(args: &RunArgs, setup: &RunSetup, chosen: &SelectedSession) -> ThinkingLevel {
    args.model.thinking.unwrap_or_else(|| thinking_of_copy(setup, &chosen.session))
}

/// The same for a copy of a conversation: what was said there last counts before flags.
pub(super) fn thinking_of_copy(setup: &RunSetup, copy: &Session) -> ThinkingLevel {
    let kept = || copy.context().settings.thinking?.parse().ok();
    kept().unwrap_or(setup.settings().thinking.value)
}
