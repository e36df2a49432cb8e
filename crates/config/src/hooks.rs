//! Process hooks as they are to run: what `[hooks]` says, made out and checked.

mod code;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use haft_protocol::hook::{HookEventKind, HookSubscriptions, InterceptPoint, WatchError};

use crate::keys::{EventKind, HookProcess, Hooks, OnTimeout, ToolNames};
use crate::nearest::nearest_name;
use crate::origin::{Owner, SettingOrigin};
use crate::timeouts::{APPROVAL, INTERCEPTOR, LONGEST};

pub use code::NamedFile;

/// The longest name of a hook, in characters. Extensions' names are as long.
const MAX_NAME: usize = 64;

/// One process hook that shall run.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessHook {
    /// Its name: printable, of 1 to 64 characters.
    pub name: String,
    /// The owner of the file that names it.
    pub owner: Owner,
    /// Where it is named.
    pub origin: SettingOrigin,
    /// A lower one is asked first; then the name decides.
    pub priority: i32,
    /// The program and its arguments; never empty, and no shell's.
    pub command: Vec<String>,
    /// Where it runs, as it is written; none for the directory that haft works in.
    pub dir: Option<PathBuf>,
    /// Variables beside those of haft's own environment, or in their place.
    pub env: BTreeMap<String, String>,
    /// The questions and events that it gets.
    pub watch: HookSubscriptions,
    /// The older spelling of events, if it uses that.
    pub event_kind: Option<EventKind>,
    /// The tool names that it knows.
    pub tool_names: ToolNames,
    /// The deadlines of its answers.
    pub timeouts: HookTimeouts,
    /// The meaning of its silence where it could block.
    pub on_timeout: OnTimeout,
    /// The registered tools that it may answer for without approval; `*` for all of them.
    pub vouches: Vec<String>,
}

/// The deadlines of a process hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookTimeouts {
    /// For an answer about a call of the model or of a tool.
    pub interceptor: Duration,
    /// For an answer whether a tool may run.
    pub approval: Duration,
}

impl Default for HookTimeouts {
    fn default() -> Self {
        Self { interceptor: INTERCEPTOR, approval: APPROVAL }
    }
}

impl HookTimeouts {
    /// Returns these times in milliseconds, each of them if it is more than 0; otherwise the present ones.
    fn with_millis(self, interceptor: Option<i64>, approval: Option<i64>) -> Self {
        Self {
            interceptor: positive_duration(interceptor).unwrap_or(self.interceptor),
            approval: positive_duration(approval).unwrap_or(self.approval),
        }
    }

    /// The times of a hook that says some of its own.
    pub(crate) fn for_process(self, process: &HookProcess) -> Self {
        self.with_millis(process.timeout_ms, process.approval_timeout_ms)
    }
}

fn positive_duration(milliseconds: Option<i64>) -> Option<Duration> {
    let said = milliseconds.and_then(|said| u64::try_from(said).ok()).filter(|said| *said > 0)?;
    Some(Duration::from_millis(said).min(LONGEST))
}

/// A mistake that keeps a hook from running as it is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookMistake {
    pub(crate) key: String,
    /// The mistake, and the next step.
    pub(crate) detail: String,
}

impl Hooks {
    /// The times that hold for the hooks of this table that say nothing else, over `below`.
    pub(crate) fn timeouts(&self, below: HookTimeouts) -> HookTimeouts {
        below.with_millis(self.defaults.interceptor_timeout_ms, self.defaults.approval_timeout_ms)
    }

    /// The hooks that shall run, with times over `below`. What shall not run is not looked at.
    pub(crate) fn process_hooks(
        &self,
        owner: Owner,
        below: HookTimeouts,
        origin: impl Fn(&str) -> SettingOrigin,
    ) -> Result<Vec<ProcessHook>, HookMistake> {
        if self.enabled == Some(false) {
            return Ok(Vec::new());
        }
        let timeouts = self.timeouts(below);
        if let Some((name, _)) = self
            .builtins
            .iter()
            .find(|(_, builtin)| !matches!(builtin.get("enabled"), None | Some(toml::Value::Boolean(false))))
        {
            return Err(HookMistake {
                key: format!("hooks.builtins.{name}"),
                detail:
                    "is a hook that is part of PicoClaw, and haft has none of these; run it as a process in \
                         hooks.processes, or set enabled = false"
                        .to_owned(),
            });
        }
        let mut made: Vec<ProcessHook> = Vec::new();
        for (name, process) in self.processes.iter().filter(|(_, process)| process.enabled == Some(true)) {
            let mistake = |(own, detail)| HookMistake { key: format!("hooks.processes.{name}{own}"), detail };
            if let Some(other) = made.iter().find(|other| other.name.eq_ignore_ascii_case(name)) {
                let detail = format!("differs from {} in upper and lower case alone; rename one", other.name);
                return Err(mistake(("", detail)));
            }
            let origin = origin(&format!("hooks.processes.{name}"));
            made.push(build_hook(name, process, owner, origin, timeouts).map_err(mistake)?);
        }
        Ok(made)
    }
}

/// One hook; or which of its own keys has which mistake.
fn build_hook(
    name: &str,
    process: &HookProcess,
    owner: Owner,
    origin: SettingOrigin,
    timeouts: HookTimeouts,
) -> Result<ProcessHook, (&'static str, String)> {
    check_name(name).map_err(|detail| ("", detail))?;
    check_transport(process.transport.as_deref()).map_err(|detail| (".transport", detail))?;
    let command = check_command(process).map_err(|detail| (".command", detail))?;
    let env = process.env.clone().unwrap_or_default();
    check_env(&env).map_err(|detail| (".env", detail))?;
    Ok(ProcessHook {
        name: name.to_owned(),
        owner,
        origin,
        priority: process.priority.unwrap_or_default(),
        command,
        dir: process.dir.as_ref().filter(|dir| !dir.is_empty()).map(PathBuf::from),
        env,
        watch: parse_watch(process)?,
        event_kind: process.event_kind,
        tool_names: process.tool_names.unwrap_or_default(),
        timeouts: timeouts.for_process(process),
        on_timeout: process.on_timeout.unwrap_or(OnTimeout::Block),
        vouches: process.vouches.clone().unwrap_or_default(),
    })
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = (1..=MAX_NAME).contains(&name.chars().count()) && !name.contains(char::is_control);
    match fits && !name.eq_ignore_ascii_case("haft") {
        true => Ok(()),
        false => Err("is no name for a hook: 1 to 64 printable characters, and not `haft`".to_owned()),
    }
}

fn check_transport(transport: Option<&str>) -> Result<(), String> {
    match transport {
        None | Some("" | "stdio") => Ok(()),
        Some(other) => {
            Err(format!("unsupported transport {other:?}; haft talks to hooks by \"stdio\" alone"))
        }
    }
}

fn check_command(process: &HookProcess) -> Result<Vec<String>, String> {
    let command = process.command.clone().unwrap_or_default();
    match command.first().is_none_or(String::is_empty) {
        true => {
            Err("must name a program, with its arguments: [\"python3\", \"/path/to/hook.py\"]".to_owned())
        }
        false => Ok(command),
    }
}

fn check_env(env: &BTreeMap<String, String>) -> Result<(), String> {
    let is_wrong =
        |name: &str, value: &str| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    match env.iter().find(|(name, value)| is_wrong(name, value)) {
        None => Ok(()),
        Some((name, _)) => {
            Err(format!("{name:?} cannot be the name of a variable, or its value has a NUL in it"))
        }
    }
}

fn parse_watch(process: &HookProcess) -> Result<HookSubscriptions, (&'static str, String)> {
    let observe = process.observe.as_deref().unwrap_or_default();
    let intercept = process.intercept.as_deref().unwrap_or_default();
    HookSubscriptions::parse(observe, intercept).map_err(|error| {
        let told = |nearest: Option<&str>| match nearest {
            Some(nearest) => format!("{error}; did you mean `{nearest}`?"),
            None => error.to_string(),
        };
        match &error {
            WatchError::UnsupportedIntercept { name } => {
                let known = InterceptPoint::ALL.iter().map(|point| point.name());
                (".intercept", told(nearest_name(&name.to_ascii_lowercase(), known)))
            }
            WatchError::UnsupportedEvent(event) => {
                let known = HookEventKind::ALL.iter().flat_map(|kind| [kind.legacy_name(), kind.name()]);
                (".observe", told(nearest_name(&event.name.to_ascii_lowercase(), known)))
            }
            WatchError::Nothing => {
                ("", format!("{error}: give it `observe` or `intercept`, or set enabled = false"))
            }
        }
    })
}

#[cfg(test)]
mod tests;
