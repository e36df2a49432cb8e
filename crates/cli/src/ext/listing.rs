//! An extension or a process hook with the details that `haft ext list` shows.

use std::path::PathBuf;
use std::time::SystemTime;

use haft_config::{OnTimeout, SandboxLevel, SettingOrigin};
use haft_core::age::age_of_stamp;
use haft_core::sanitize::sanitize_line;
use haft_host::{ExtensionOrigin, LastFailure};
use haft_packages::install::lock::{Approval, ApprovalMethod, InstallOrigin, LockEntry};
use haft_packages::install::{InstallStatus, InstalledExtension};
use haft_packages::shell_quote;
use serde_json::{Value, json};

use super::hook::HookListDetails;
use super::problem::{ExtensionProblem, failure_problem, reapproval_step, slow_start_problem};
use super::tools;
use crate::console;
use crate::hooks::GateRelaxation;

/// An extension with its last failure and its sandbox.
pub(crate) struct ListedExtension {
    pub(crate) row: InstalledExtension,
    pub(crate) failure: Option<LastFailure>,
    /// True if a run does not wait for the extension, because it was slow to send `hello`.
    pub(crate) is_slow: bool,
    /// The directory of the user's extension that has the same name and precedence.
    pub(crate) shadowed_by: Option<PathBuf>,
    pub(crate) trusted: bool,
    /// The sandbox level that the extension runs at; `None` if the user's settings cannot be read.
    pub(crate) sandbox: Option<SandboxLevel>,
    /// The settings that weaken the gate.
    pub(crate) relaxation: GateRelaxation,
    /// The details of a process hook; `None` for an extension.
    pub(crate) hook: Option<HookListDetails>,
}

impl ListedExtension {
    pub(super) fn status_word(&self) -> &'static str {
        match (&self.row.state, self.row.origin, &self.failure) {
            (InstallStatus::Broken(_), _, _) => "broken",
            (InstallStatus::Disabled, _, _) => "disabled",
            (InstallStatus::NotApproved, _, _) => "unapproved",
            (InstallStatus::Changed(_), _, _) => "changed",
            (InstallStatus::Enabled, _, _) if self.is_untrusted() => "untrusted",
            (InstallStatus::Enabled, _, _) if self.shadowed_by.is_some() => "shadowed",
            (InstallStatus::Enabled, _, Some(_)) => "failed",
            (InstallStatus::Enabled, _, None) => "enabled",
        }
    }

    /// True if only the missing trust in the project keeps the extension from running.
    pub(super) fn is_untrusted(&self) -> bool {
        self.row.state == InstallStatus::Enabled
            && self.row.origin == ExtensionOrigin::Project
            && !self.trusted
    }

    pub(super) fn can_run(&self) -> bool {
        self.row.state == InstallStatus::Enabled
            && !self.is_untrusted()
            && self.shadowed_by.is_none()
            && self.row.exec.is_some()
    }

    pub(super) fn scope(&self) -> &'static str {
        match self.row.origin {
            ExtensionOrigin::Explicit
            | ExtensionOrigin::BuiltIn
            | ExtensionOrigin::Global
            | ExtensionOrigin::Hook => "global",
            ExtensionOrigin::Project => "project",
        }
    }

    pub(super) fn problems(&self, now: SystemTime) -> Vec<ExtensionProblem> {
        let Self { row, failure, .. } = self;
        let (name, held) = (&row.name, row.entry.as_ref());
        if self.is_untrusted() {
            return vec![ExtensionProblem::new(
                "does not run, because the project is not trusted",
                "haft trust",
                "reviews and trusts it",
            )];
        }
        if let Some(first) = self.shadowed_by.as_ref().filter(|_| row.state == InstallStatus::Enabled) {
            let text = format!("does not run: {} has the same name and takes precedence", first.display());
            return vec![ExtensionProblem::without_step(text)];
        }
        if held.is_some_and(|entry| entry.waiting.is_some()) {
            let text = "is disabled, because its new version requests more permissions than you granted";
            return vec![ExtensionProblem::new(
                text,
                format!("haft ext update {name}"),
                "shows the new version and asks",
            )];
        }
        let state = match &row.state {
            InstallStatus::Broken(why) => Some(ExtensionProblem::without_step(why)),
            // The reason already contains the next step.
            InstallStatus::Changed(why) => {
                Some(ExtensionProblem::new(why, reapproval_step(name, held).0, ""))
            }
            InstallStatus::NotApproved => Some(ExtensionProblem::new(
                "does not run, because it is not approved",
                format!("haft ext trust {name}"),
                "shows it and asks",
            )),
            InstallStatus::Enabled => {
                failure.as_ref().map(|failure| failure_problem(name, row.origin, held, failure, now))
            }
            InstallStatus::Disabled => None,
        };
        let locked = held.filter(|_| row.state == InstallStatus::Enabled).into_iter();
        let slow = self.is_slow.then(|| slow_start_problem(name));
        state
            .into_iter()
            .chain(slow)
            .chain(locked.flat_map(|entry| tools::locked_tool_problems(name, entry)))
            .collect()
    }
}

/// Returns the JSON line of an extension. Manifests can contain control sequences; JSON escapes them.
pub(crate) fn json_line(listed: &ListedExtension, now: SystemTime) -> String {
    console::json_line(&as_json(listed, now))
}

/// Returns an extension as JSON. Keys may be added; existing keys keep their meaning.
fn as_json(listed: &ListedExtension, now: SystemTime) -> Value {
    let ListedExtension { row, failure, sandbox, relaxation: loosened, hook, .. } = listed;
    let entry = row.entry.as_ref();
    let problems = listed.problems(now).into_iter();
    let on_timeout = if loosened.allows_on_timeout { OnTimeout::Allow } else { OnTimeout::Block };
    json!({
        "name": row.name,
        "kind": if listed.hook.is_some() { "hook" } else { "extension" },
        "version": row.version,
        "description": row.description,
        "language": row.language,
        "scope": listed.scope(),
        "state": listed.status_word(),
        "runs": listed.can_run(),
        "sandbox": sandbox.map(SandboxLevel::name),
        "source": listed.hook.as_ref().map_or_else(|| source_json(row), hook_source_json),
        "dir": row.dir.to_string_lossy(),
        "runs_in": row.runs_in.to_string_lossy(),
        "code": entry.map(|entry| entry.tree),
        "approved": entry.map(|entry| &entry.approved.at),
        "locked_tools": entry.iter().flat_map(|entry| entry.changed.keys()).collect::<Vec<_>>(),
        "priority": hook.as_ref().and_then(|hook| hook.priority),
        "on_timeout": on_timeout.name(),
        "vouches": loosened.vouches,
        "failure": failure.as_ref().map(failure_json),
        "problems": problems.map(|one| json!({"text": one.sentence(), "next": one.next})).collect::<Vec<_>>(),
    })
}

fn source_json(row: &InstalledExtension) -> Value {
    match row.entry.as_ref().map(|entry| &entry.source) {
        Some(InstallOrigin::Git { url, commit }) => json!({"kind": "git", "url": url, "commit": commit}),
        Some(InstallOrigin::Directory { path }) => {
            json!({"kind": "directory", "path": path.to_string_lossy()})
        }
        Some(InstallOrigin::Placed { path, .. }) => json!({"kind": "placed", "path": path.to_string_lossy()}),
        None if row.origin == ExtensionOrigin::Project => {
            json!({"kind": "project", "path": row.dir.to_string_lossy()})
        }
        None => json!({"kind": "placed", "path": row.dir.to_string_lossy()}),
    }
}

fn hook_source_json(hook: &HookListDetails) -> Value {
    match &hook.origin {
        SettingOrigin::File { path, line } => {
            json!({"kind": "config", "path": path.to_string_lossy(), "line": line})
        }
        SettingOrigin::Flag(_) | SettingOrigin::Env(_) | SettingOrigin::Default => json!({"kind": "config"}),
    }
}

fn failure_json(LastFailure { at, code, message, .. }: &LastFailure) -> Value {
    let at = jiff::Timestamp::try_from(*at).ok().map(|at| at.strftime("%FT%TZ").to_string());
    json!({"at": at, "code": code, "message": message})
}

pub(crate) fn long_text(listed: &[ListedExtension]) -> String {
    let paragraph = |listed: &ListedExtension| {
        let lines = detail_lines(listed);
        lines.iter().map(|line| sanitize_line(line)).collect::<Vec<_>>().join("\n")
    };
    listed.iter().map(paragraph).collect::<Vec<_>>().join("\n\n")
}

fn detail_lines(listed: &ListedExtension) -> Vec<String> {
    let row = &listed.row;
    let version = row.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut lines = vec![format!("{}{version}", row.name)];
    lines.extend(row.description.iter().map(|text| format!("  description: {text}")));
    lines.push(format!("  scope: {}", listed.scope()));
    lines.push(format!("  state: {}", listed.status_word()));
    lines.push(format!("  sandbox: {}", sandbox_line(listed)));
    match (&row.entry, &listed.hook) {
        (Some(entry), _) => lines.push(format!("  from: {}", entry.source)),
        (None, Some(hook)) => {
            lines.push(format!("  process hook of: {}", hook.origin));
            lines.extend(
                (!hook.hook_points.is_empty()).then(|| format!("  hook points: {}", hook.hook_points)),
            );
            lines.extend(hook.priority.map(|priority| format!("  priority: {priority} (lowest first)")));
        }
        (None, None) => lines.push(format!("  directory: {}", row.dir.display())),
    }
    lines.extend(listed.relaxation.warning_lines().into_iter().map(|line| format!("  {line}")));
    lines.extend(row.language.iter().map(|language| format!("  language: {language}")));
    lines.extend(row.exec.as_ref().map(|exec| {
        let words: Vec<_> =
            [&exec.program].into_iter().chain(&exec.args).map(|word| shell_quote(word)).collect();
        format!("  runs: {}", words.join(" "))
    }));
    lines.extend(row.entry.iter().flat_map(|entry| approval_lines(listed, entry)));
    lines
}

fn sandbox_line(listed: &ListedExtension) -> String {
    let level = listed.sandbox.map_or("unknown: config.toml cannot be read", SandboxLevel::name);
    match (&listed.row.exec, listed.can_run()) {
        (None, _) => "no program".to_owned(),
        (Some(_), true) => level.to_owned(),
        (Some(_), false) => format!("{level} (does not run now)"),
    }
}

fn approval_lines(listed: &ListedExtension, entry: &LockEntry) -> Vec<String> {
    let mut lines: Vec<_> =
        entry.interpreter.iter().map(|program| format!("  run by: {}", program.display())).collect();
    lines.push(format!("  runs in: {}", listed.row.runs_in.display()));
    lines.push(format!("  code: {}", entry.tree));
    lines.push(approval_line(entry));
    if !entry.changed.is_empty() {
        let tools: Vec<_> = entry.changed.keys().map(String::as_str).collect();
        lines.push(format!("  locked tools: {}", tools.join(", ")));
    }
    lines.extend(previous_version_lines(entry));
    lines
}

pub(super) fn approval_line(LockEntry { approved: Approval { at, how, haft }, .. }: &LockEntry) -> String {
    let how = match how {
        ApprovalMethod::Terminal => "in a terminal",
        ApprovalMethod::Yes => "by --yes",
    };
    format!("  approved: {} {how}, haft {haft}", age_of_stamp(SystemTime::now(), at))
}

/// Returns a line for each earlier approved version.
pub(super) fn previous_version_lines(entry: &LockEntry) -> impl Iterator<Item = String> {
    entry
        .previous
        .iter()
        .map(|entry| (entry.tree.short_hex(), age_of_stamp(SystemTime::now(), &entry.approved.at)))
        .map(|(code, age)| format!("  before: {code}, approved {age}"))
}
