//! Reports between messages: failures, retries, summaries, texts of extensions, the shell.

use anyhow::Result;
use haft_protocol::event::{AgentEvent as E, CompactReason, ExtensionFault};
use haft_protocol::message::StopCause;
use haft_protocol::rpc::CommandFailure;
use haft_tui::app::{BackendReply, SavedKey};

use super::super::around::extension_name;
use super::super::stage::HeadlessInterface;
use super::super::{ScreenSink, sink};

pub(super) const REPORTS: &[ScreenSink] = &[
    sink("failures", 4, show_failures),
    sink("failures of extensions", 3, show_faults),
    sink("retries", 1, show_retry),
    sink("another model", 3, show_fallback),
    sink("texts of extensions", 2, show_display),
    sink("discarded turns", 2, show_discarded),
    sink("repaired sessions", 1, show_repaired),
    sink("untrusted parts", 1, show_untrusted),
    sink("gates that are off", 2, show_gates_off),
    sink("texts of the program", 6, show_program_texts),
    sink("rejected commands", 1, refuse_command),
];

pub(super) const SUMMARIES: &[ScreenSink] = &[sink("summary, its author, errors", 3, show_compaction)];

pub(super) const SHELL: &[ScreenSink] = &[sink("command, output, errors", 4, show_shell)];

pub(super) fn show_failures(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [error, turn, gone, copied] = texts else { return Ok(()) };
    stage.event(E::Error { message: error.clone(), stage: None, advice: None });
    stage.event(E::TurnEnd { stop: StopCause::Error, error: Some(turn.clone()) });
    stage.update(haft_tui::app::UiEvent::Edited(Err(gone.clone())));
    stage.update(haft_tui::app::UiEvent::Copied(Err(copied.clone())));
    Ok(())
}

fn show_faults(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [extension, code, message] = texts else { return Ok(()) };
    // The code is for programs, not for the screen.
    let message = format!("{code} {message}");
    let fault = ExtensionFault::new(extension_name(extension), code.clone(), message);
    stage.event(E::ExtensionError(fault));
    Ok(())
}

fn show_retry(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        let message = text.clone();
        stage.event(E::Retry { attempt: 2, delay_ms: 1, message, max_attempts: Some(3), reason: None });
    }
    Ok(())
}

fn show_fallback(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [from, to, message] = texts else { return Ok(()) };
    stage.event(E::ModelFallback { from: from.clone(), to: to.clone(), message: message.clone() });
    Ok(())
}

fn show_display(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [extension, text] = texts else { return Ok(()) };
    stage.event(E::ExtDisplay { extension: extension_name(extension), text: text.clone() });
    Ok(())
}

fn show_discarded(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [by, reason] = texts else { return Ok(()) };
    stage.event(E::TurnDiscarded { by: by.clone(), reason: reason.clone() });
    Ok(())
}

fn show_repaired(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        stage.event(E::SessionRepaired { id: text.clone(), message: text.clone() });
    }
    Ok(())
}

fn show_untrusted(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        let (project, skipped, message) = (text.clone(), vec![text.clone()], text.clone());
        stage.event(E::TrustRequired { project, skipped, message });
    }
    Ok(())
}

fn show_gates_off(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [extension, reason] = texts else { return Ok(()) };
    stage.event(E::GateOff { extension: extension_name(extension), reason: reason.clone() });
    Ok(())
}

fn show_program_texts(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [login, granted, path, failed, name, value] = texts else { return Ok(()) };
    stage.answer(BackendReply::Login(Ok(SavedKey { message: login.clone(), model: None })));
    stage.answer(BackendReply::Logout(Err(CommandFailure::other(granted))));
    stage.answer(BackendReply::Export(Ok(path.into())));
    stage.answer(BackendReply::Delete(Err(CommandFailure::other(failed))));
    stage.answer(BackendReply::Set(Ok(super::super::lists::setting_row(name, value, &[]))));
    Ok(())
}

fn refuse_command(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    for text in texts {
        stage.command("/compact")?;
        stage.refuse("compact", text);
    }
    Ok(())
}

fn show_compaction(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [summary, by, error] = texts else { return Ok(()) };
    stage.keys("ctrl+o")?;
    for (summary, error) in [(Some(summary), None), (None, Some(error))] {
        stage.event(E::CompactionStart { reason: CompactReason::Manual });
        stage.event(E::CompactionEnd {
            summary: summary.cloned(),
            tokens_before: 9,
            tokens_after: None,
            messages_summed_up: None,
            messages_kept: None,
            by: Some(by.clone()),
            error: error.cloned(),
        });
    }
    Ok(())
}

fn show_shell(stage: &mut HeadlessInterface, texts: &[String]) -> Result<()> {
    let [command, streamed, output, why] = texts else { return Ok(()) };
    stage.command(&format!("!!echo {command}"))?;
    let number = stage.last_number();
    stage.answer(BackendReply::ShellOutput(number, format!("{streamed}\n")));
    stage.answer(BackendReply::ShellOutput(number, output.clone()));
    stage.draw();
    stage.answer(BackendReply::ShellEnd(number, Ok((output.clone(), Some(1)))));
    stage.command("!!true")?;
    stage.answer(BackendReply::ShellEnd(stage.last_number(), Err(CommandFailure::other(why))));
    Ok(())
}
