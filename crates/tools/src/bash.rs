//! `bash`: a shell command.

mod background;
mod blocked;
mod hints;

use std::path::Path;
use std::time::Duration;

use haft_core::jobs::BackgroundJobs;
use haft_core::tool::{ToolConcurrency, ToolContext, ToolFailureKind, ToolOutput};
use haft_protocol::RawJson;
use haft_protocol::content::ContentBlock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::CallSubject;
use crate::builtin::{BuiltIn, ResultAudience, SharedToolState};
use crate::environment::{RunEnd, RunReport, ShellCommand};
use crate::failure::ToolFailure;
use crate::timeouts;
use background::start_job;
use blocked::blocked_note;
use hints::terminal_hint;

pub(crate) struct BashTool;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BashArgs {
    /// Command for the shell. May have several lines
    command: String,
    /// Seconds after which the command is killed. Default: 120
    #[schemars(range(min = 1, max = 86400))]
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout: Option<u64>,
    /// True to return at once while the command runs on, without a time limit unless timeout is set. The result names
    /// its job
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<bool>,
    /// Only after the sandbox blocked the command: why it must run outside of the sandbox. The user is asked
    #[serde(skip_serializing_if = "Option::is_none")]
    outside_sandbox: Option<String>,
}

impl BuiltIn for BashTool {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Run a shell command in the working directory and get its output, \
    standard output and standard error together, and its exit code. Every call starts a new shell without \
    input. Long output is cut to its last 2000 lines or 50 KB, and a note names the file with the complete \
    output. After timeout seconds, all processes that the command started are killed. For a server or a \
    long command, pass background: the command becomes a job, and the tool job returns its output or stops it.";
    const GUIDELINES: &'static [&'static str] = &[
        "Use bash for builds, tests, git and everything the other tools cannot do; search with grep and find, read \
         with read.",
        "Pass timeout to bash for a command that may take longer than two minutes.",
    ];
    const CONCURRENCY: ToolConcurrency = ToolConcurrency::Exclusive;
    type Args = BashArgs;

    fn subject(args: &BashArgs) -> CallSubject<'_> {
        // Without a reason, there is nothing to ask the user.
        let outside = args.outside_sandbox.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        CallSubject::Command { outside }
    }

    fn path_mut(_: &mut BashArgs) -> Option<&mut String> {
        None
    }

    async fn run(
        context: &ToolContext,
        ground: &SharedToolState,
        args: BashArgs,
    ) -> Result<ToolOutput, ToolFailure> {
        let environment = ground.environment.as_ref();
        if args.command.trim().is_empty() {
            return Err("the command is empty".to_owned().into());
        }
        let background = args.background == Some(true);
        let default = if background { timeouts::COMMAND_MAX } else { timeouts::COMMAND };
        let timeout = args
            .timeout
            .map_or(default, |seconds| Duration::from_secs(seconds.max(1)).min(timeouts::COMMAND_MAX));
        let command = ShellCommand { command: args.command.clone(), timeout };
        if background {
            return start_job(context, ground, command);
        }
        let report = environment.run(&context.cancel, command, &|piece| context.progress(piece)).await?;
        let mut notes = notes(&report, timeout);
        if report.end != RunEnd::Exited(0) {
            notes.extend(blocked_note(environment, &report.tail).await);
        }
        notes.extend(terminal_hint(&args.command, &report));
        if ground.reader == ResultAudience::Model {
            notes.extend(context.jobs.iter().flat_map(BackgroundJobs::take_end_notes));
        }
        Ok(output(&report, notes, ground.reader))
    }
}

fn output(report: &RunReport, notes: Vec<String>, reader: ResultAudience) -> ToolOutput {
    let output = match reader {
        ResultAudience::Model => ToolOutput::text(output_for_model(report, &notes)),
        ResultAudience::Program => output_for_program(report, notes),
    };
    let failure = match report.end {
        RunEnd::TimedOut => Some(ToolFailureKind::TimedOut),
        RunEnd::Cancelled => Some(ToolFailureKind::Cancelled),
        RunEnd::Exited(_) | RunEnd::Signaled(_) | RunEnd::WantedTerminal => None,
    };
    output.with_is_error(report.end != RunEnd::Exited(0)).with_failure(failure)
}

fn output_for_model(report: &RunReport, notes: &[String]) -> String {
    let mut text = report.tail.clone();
    if text.is_empty() {
        text.push_str("[no output]");
    }
    for note in notes {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]"));
    }
    text
}

/// The details of the result, for programs.
#[derive(Serialize)]
struct BashDetails<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_output: Option<&'a Path>,
}

fn output_for_program(report: &RunReport, notes: Vec<String>) -> ToolOutput {
    let mut output = ToolOutput::text(report.tail.clone());
    output.content.extend(notes.into_iter().map(ContentBlock::text));
    let exit_code = match report.end {
        RunEnd::Exited(code) => Some(code),
        RunEnd::Signaled(_) | RunEnd::TimedOut | RunEnd::Cancelled | RunEnd::WantedTerminal => None,
    };
    let full_output = report.full.as_ref().map(|full| full.path.as_path());
    if exit_code.is_some() || full_output.is_some() {
        output.details = RawJson::from_value(&BashDetails { exit_code, full_output }).ok();
    }
    output
}

fn notes(report: &RunReport, timeout: Duration) -> Vec<String> {
    let end = match report.end {
        RunEnd::Exited(0) => None,
        RunEnd::Exited(code) => Some(format!("exit code {code}")),
        RunEnd::Signaled(signal) => Some(format!("killed by signal {signal}")),
        RunEnd::TimedOut => Some(format!(
            "killed after {} s; pass a longer timeout, or run it in the background",
            timeout.as_secs()
        )),
        RunEnd::Cancelled => Some("cancelled and killed".to_owned()),
        RunEnd::WantedTerminal => Some(
            "killed because it needs a terminal, and commands have none; use a command that does not prompt"
                .to_owned(),
        ),
    };
    report.notes().into_iter().chain(end).collect()
}
