//! The session of a run: a new one, or one that it resumes.

mod picker;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use haft_core::model::{Model, ModelId, ThinkingLevel};
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

/// The provider whose models are script files.
const SCRIPTED: &str = "scripted";

/// The session that the arguments select.
pub(crate) enum SessionOpenOutcome {
    Session(SelectedSession),
    /// The sessions were listed, or the user chose none; the run ends.
    Nothing(Exit),
}

pub(crate) struct SelectedSession {
    pub(crate) session: Session,
    /// True if the session existed before.
    pub(crate) resumed: bool,
}

/// Opens the session that the arguments select. `prompt` is true if the run has a prompt.
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
                "--resume expects the beginning of an id, not {name:?}; to give a prompt, use haft -r -p …"
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
            Exit::Usage.fail(format!("{why}; give a prompt to continue: haft {way} -p …"))
        }
        None => Ok(SessionOpenOutcome::Session(SelectedSession { session, resumed: true })),
    }
}

/// Returns the reason why the session needs a prompt to continue; `None` if a message waits for an answer.
fn nothing_to_answer(session: &Session) -> Option<String> {
    let id = short_id(session.id());
    if let Some(Message::User { .. } | Message::Tool(_)) = session.context().messages.last() {
        return None;
    }
    let branch = session.branch();
    let answer = branch.iter().rfind(|entry| matches!(entry.body, EntryBody::MessageEntry(_)));
    match answer.map(|entry| entry.body.answer().map(|answer| answer.stop)) {
        None => Some(format!("session {id} has no messages")),
        // The next answer replaces the failed one.
        Some(Some(StopCause::Error)) => None,
        Some(Some(StopCause::Aborted)) => Some(format!("you stopped the last answer in session {id}")),
        Some(_) => Some(format!("the last prompt in session {id} is already answered")),
    }
}

/// Lets the user choose a session; without a terminal, prints the list.
fn choose_session(sessions: &SessionFinder, prompt: bool) -> anyhow::Result<Result<SessionFile, Exit>> {
    let found = sessions.in_directory()?;
    if found.is_empty() {
        return Err(sessions.no_session_error()).or_exit(Exit::Session);
    }
    let rows = session_rows(&found);
    if io::stderr().is_terminal() && io::stdin().is_terminal() {
        return Ok(picker::pick_session(&rows)?.ok_or(Exit::Aborted));
    }
    if prompt {
        return Exit::Usage.fail(
            "cannot choose a session without a terminal; use --resume ID, or -c for the most recent session",
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
            "haft: session {id} was recorded in {cwd}; it continues in {}",
            setup.cwd.display()
        )));
    }
    match session.context().closed.len() {
        0 => session.report_missing_answer(),
        1 => note("haft: a tool call was interrupted; haft does not repeat it, and the model is informed"),
        calls => {
            note(&format!(
                "haft: {calls} tool calls were interrupted; haft does not repeat them, and the model is informed"
            ));
        }
    }
    Ok(session)
}

/// Returns the model: from the flags, otherwise the session, otherwise the settings.
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

/// Returns the model of a copy of a conversation: the last one it used, otherwise the one of flags and settings.
/// `first` is the model that the process began with.
pub(super) async fn model_of_copy(
    args: &RunArgs,
    setup: &RunSetup,
    copy: &Session,
    first: &ModelId,
) -> anyhow::Result<Arc<dyn Model>> {
    let Some(kept) = copy.context().settings.model else { return model::choose(args, setup).await };
    let named = model::choose_for_client(args, setup, first, &kept.provider, &kept.model).await;
    or_configured_model(args, setup, &kept, named).await
}

/// Returns the session's model, or the configured one if it is not available.
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
    // A script's name does not identify its file. A paid model must not silently replace a script.
    let script = setup.settings().provider.as_ref().is_some_and(|set| set.value == SCRIPTED);
    if provider.as_str() == SCRIPTED && !script {
        return Exit::NoProvider.fail(format!(
            "the session used the script {model}, whose file is unknown; name the file, or another model: \
             --model {SCRIPTED}/FILE"
        ));
    }
    let chosen = model::choose(args, setup).await?;
    let info = chosen.info();
    if (&info.provider, &info.model) != (provider, model) {
        let text = format!(
            "haft: the session's model {provider}/{model} is not available ({error:#}); using {info}"
        );
        note(&sanitize_line(&text));
    }
    Ok(chosen)
}

/// Returns the thinking level: from the flag, otherwise the session, otherwise the settings.
pub(super) fn session_thinking(args: &RunArgs, setup: &RunSetup, chosen: &SelectedSession) -> ThinkingLevel {
    args.model.thinking.unwrap_or_else(|| thinking_of_copy(setup, &chosen.session))
}

/// Returns the thinking level of a copy of a conversation: its last level takes precedence over flags.
pub(super) fn thinking_of_copy(setup: &RunSetup, copy: &Session) -> ThinkingLevel {
    let kept = || copy.context().settings.thinking?.parse().ok();
    kept().unwrap_or(setup.settings().thinking.value)
}
