//! Process hooks to run, built from `[hooks]` and validated.

mod code;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use haft_adapter_picoclaw::wire::{HookEventKind, HookSubscriptions, InterceptPoint, WatchError};

use crate::keys::{EventKind, HookProcess, Hooks, OnTimeout, ToolNames};
use crate::nearest::nearest_name;
use crate::origin::{Owner, SettingOrigin};
use crate::timeouts::{APPROVAL, INTERCEPTOR, LONGEST};

pub use code::NamedFile;

/// The maximum length of a hook's name in characters, the same as for extensions.
const MAX_NAME: usize = 64;

/// A process hook to run.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessHook {
    /// The name: 1 to 64 printable characters.
    pub name: String,
    /// The owner of the file that defines the hook.
    pub owner: Owner,
    /// The location of the definition.
    pub origin: SettingOrigin,
    /// The priority: lower values are queried first, equal ones by name.
    pub priority: i32,
    /// The program and its arguments; never empty, and not interpreted by a shell.
    pub command: Vec<String>,
    /// The working directory as written; `None` for the directory in which haft works.
    pub dir: Option<PathBuf>,
    /// Environment variables that are added to haft's own or replace them.
    pub env: BTreeMap<String, String>,
    /// The hook points and events that the hook receives.
    pub watch: HookSubscriptions,
    /// The older form of events, if the hook uses it.
    pub event_kind: Option<EventKind>,
    /// The names of tools that the hook knows.
    pub tool_names: ToolNames,
    /// The deadlines for its answers.
    pub timeouts: HookTimeouts,
    /// The result of a timeout at a point where the hook could block.
    pub on_timeout: OnTimeout,
    /// The registered tools whose calls the hook may answer without approval; `*` for all.
    pub vouches: Vec<String>,
}

/// The deadlines of a process hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookTimeouts {
    /// The deadline for an answer about a call of the model or of a tool.
    pub interceptor: Duration,
    /// The deadline for approving a tool call.
    pub approval: Duration,
}

impl Default for HookTimeouts {
    fn default() -> Self {
        Self { interceptor: INTERCEPTOR, approval: APPROVAL }
    }
}

impl HookTimeouts {
    /// Returns the timeouts with these values in milliseconds; a missing value, or one below 1, keeps the current
    /// timeout.
    fn with_millis(self, interceptor: Option<i64>, approval: Option<i64>) -> Self {
        Self {
            interceptor: positive_duration(interceptor).unwrap_or(self.interceptor),
            approval: positive_duration(approval).unwrap_or(self.approval),
        }
    }

    /// Returns the timeouts of a hook, which may override some of them.
    pub(crate) fn for_process(self, process: &HookProcess) -> Self {
        self.with_millis(process.timeout_ms, process.approval_timeout_ms)
    }
}

fn positive_duration(milliseconds: Option<i64>) -> Option<Duration> {
    let millis = milliseconds.and_then(|millis| u64::try_from(millis).ok()).filter(|millis| *millis > 0)?;
    Some(Duration::from_millis(millis).min(LONGEST))
}

/// A mistake that prevents a hook from running as described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookMistake {
    pub(crate) key: String,
    /// The mistake and the next step.
    pub(crate) detail: String,
}

impl Hooks {
    /// Returns the default timeouts of this table's hooks, over `below`.
    pub(crate) fn timeouts(&self, below: HookTimeouts) -> HookTimeouts {
        below.with_millis(self.defaults.interceptor_timeout_ms, self.defaults.approval_timeout_ms)
    }

    /// Returns the enabled hooks, with timeouts over `below`. Disabled hooks are not validated.
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
                detail: "haft does not have PicoClaw's built-in hooks; run the hook as a process in \
                         hooks.processes, or set enabled = false"
                    .to_owned(),
            });
        }
        let mut made: Vec<ProcessHook> = Vec::new();
        for (name, process) in self.processes.iter().filter(|(_, process)| process.enabled == Some(true)) {
            let mistake = |(own, detail)| HookMistake { key: format!("hooks.processes.{name}{own}"), detail };
            if let Some(other) = made.iter().find(|other| other.name.eq_ignore_ascii_case(name)) {
                let detail = format!(
                    "the name differs from {} only in upper and lower case; rename one of the hooks",
                    other.name
                );
                return Err(mistake(("", detail)));
            }
            let origin = origin(&format!("hooks.processes.{name}"));
            made.push(build_hook(name, process, owner, origin, timeouts).map_err(mistake)?);
        }
        Ok(made)
    }
}

/// Builds one hook. The error is the key of the hook that has a mistake, and the mistake.
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
        false => Err("invalid hook name; use 1 to 64 printable characters, and not `haft`".to_owned()),
    }
}

fn check_transport(transport: Option<&str>) -> Result<(), String> {
    match transport {
        None | Some("" | "stdio") => Ok(()),
        Some(other) => Err(format!("unsupported transport {other:?}; haft supports only \"stdio\"")),
    }
}

fn check_command(process: &HookProcess) -> Result<Vec<String>, String> {
    let command = process.command.clone().unwrap_or_default();
    match command.first().is_none_or(String::is_empty) {
        true => {
            Err("must be a program and its arguments, for example [\"python3\", \"/path/to/hook.py\"]"
                .to_owned())
        }
        false => Ok(command),
    }
}

fn check_env(env: &BTreeMap<String, String>) -> Result<(), String> {
    let is_wrong =
        |name: &str, value: &str| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
    match env.iter().find(|(name, value)| is_wrong(name, value)) {
        None => Ok(()),
        Some((name, _)) => Err(format!("{name:?} is not a valid variable name, or its value contains NUL")),
    }
}

fn parse_watch(process: &HookProcess) -> Result<HookSubscriptions, (&'static str, String)> {
    let observe = process.observe.as_deref().unwrap_or_default();
    let intercept = process.intercept.as_deref().unwrap_or_default();
    HookSubscriptions::parse(observe, intercept).map_err(|error| {
        let message = |nearest: Option<&str>| match nearest {
            Some(nearest) => format!("{error}; did you mean `{nearest}`?"),
            None => error.to_string(),
        };
        match &error {
            WatchError::UnsupportedIntercept { name } => {
                let known = InterceptPoint::ALL.iter().map(|point| point.name());
                (".intercept", message(nearest_name(&name.to_ascii_lowercase(), known)))
            }
            WatchError::UnsupportedEvent(event) => {
                let known = HookEventKind::ALL.iter().flat_map(|kind| [kind.legacy_name(), kind.name()]);
                (".observe", message(nearest_name(&event.name.to_ascii_lowercase(), known)))
            }
            WatchError::Nothing => {
                ("", format!("{error}; set `observe` or `intercept`, or set enabled = false"))
            }
        }
    })
}

#[cfg(test)]
mod tests;
