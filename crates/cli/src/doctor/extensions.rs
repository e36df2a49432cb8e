//! Checks each extension: origin, sandbox, and obstacles to its start.

use std::path::PathBuf;
use std::time::SystemTime;

use haft_config::{Owner, ProcessHook, SandboxLevel, SettingOrigin};
use haft_host::{last_failure, last_failure_of_hook, starts_slowly};
use haft_launch::sandbox::{ConfinementLevel, detect_support, started_by};
use haft_packages::discovery::{
    DiscoveryError, DiscoveryErrorKind, MissingExtension, RestoreStep, SkipReason, SkippedExtension,
    missing_extensions,
};
use haft_packages::install::check_approved;
use haft_packages::install::lock::{ApprovalStore, LockEntry};
use haft_packages::{ExtensionOrigin, ExtensionSpec, LaunchPlan};

use super::InstallationState;
use super::files::{editor_command, error_chain_text};
use super::finding::{Finding, FindingArea};
use super::hooks;
use crate::ext::list::is_current_failure;
use crate::ext::problem::{ExtensionProblem, failure_problem, reapproval_step, slow_start_problem};
use crate::ext::tools;
use crate::hooks::{GateRelaxation, grant_allows_on_timeout};
use crate::sandbox::level_of;
use crate::zot::ZotFiles;

pub(super) fn check_extensions(seen: &InstallationState) -> Vec<Finding> {
    let found = &seen.extensions;
    let specs = found.specs.iter();
    let of = |spec| {
        std::iter::once(run_finding(seen, spec))
            .chain(locked_tool_findings(seen, spec))
            .chain(configuration_notes(seen, spec))
    };
    let mut findings: Vec<Finding> = specs.flat_map(of).collect();
    // The check of haft's own files reports the lock file.
    let errors = found.errors.iter().filter(|error| !matches!(error.kind, DiscoveryErrorKind::Lock(_)));
    findings.extend(errors.map(|error| broken_finding(seen, error)));
    findings.extend(found.skipped.iter().filter_map(|one| skipped_finding(seen, one)));
    for warning in &found.warnings {
        findings.push(FindingArea::Extensions.note(warning.extension.as_str(), &warning.message));
    }
    findings.extend(missing_findings(seen));
    findings.extend(unused_grant_findings(seen));
    findings.extend(seen.conflicting_hook.as_ref().map(|hook| {
        let text = format!(
            "{} has the same name as an extension, so no run can start; rename the hook",
            hook.origin
        );
        let file = editor_command(&seen.path_formatter.shell_word(&seen.home.config_file()));
        FindingArea::Extensions.wrong(hook.name.clone(), text, file)
    }));
    if findings.is_empty()
        && found.errors.iter().any(|error| matches!(error.kind, DiscoveryErrorKind::Lock(_)))
    {
        findings
            .push(FindingArea::Extensions.note("approvals", "are unknown until the lock file can be read"));
    }
    let config = seen.home.config_file();
    if seen.mistakes.iter().any(|(path, _)| *path == config) {
        findings.push(FindingArea::Extensions.note("hooks", "are unknown until config.toml can be read"));
    }
    findings.extend(zot_finding(seen));
    if findings.is_empty() {
        let text = "no extensions installed; `haft ext install DIR` installs one";
        findings.push(FindingArea::Extensions.ok("none", text));
    }
    findings
}

fn run_finding(seen: &InstallationState, spec: &ExtensionSpec) -> Finding {
    let name = spec.name.as_str();
    if let Some((why, next)) = start_obstacle(seen, spec) {
        return FindingArea::Extensions.wrong(
            name,
            format!("{}, cannot start: {}", describe_extension(seen, spec), without_prefix(&why)),
            next,
        );
    }
    let state = seen.home.state_dir();
    let failure = match hook_config(seen, spec) {
        Some(_) => last_failure_of_hook(&state, spec),
        None => last_failure(&state, &spec.name, &spec.dir),
    };
    match failure.filter(|failure| is_current_failure(failure, lock_entry(seen, spec))) {
        Some(failure) => {
            let ExtensionProblem { text, next, .. } =
                failure_problem(name, spec.origin, lock_entry(seen, spec), &failure, SystemTime::now());
            FindingArea::Extensions.wrong(
                name,
                format!("{}, {text}", describe_extension(seen, spec)),
                next.unwrap_or_default(),
            )
        }
        None if starts_slowly(&seen.home.state_dir(), &spec.name, &spec.dir) => {
            let ExtensionProblem { text, next, .. } = slow_start_problem(name);
            FindingArea::Extensions
                .note(name, format!("{}, {text}", describe_extension(seen, spec)))
                .with_next_step(next.unwrap_or_default())
        }
        None => FindingArea::Extensions.ok(name, describe_extension(seen, spec)),
    }
}

/// Removes the beginning of a message that the finding already contains.
fn without_prefix(why: &str) -> &str {
    let beginnings = ["cannot start: ", "cannot be started: "];
    beginnings.iter().find_map(|beginning| why.strip_prefix(beginning)).unwrap_or(why)
}

/// Returns a finding for each locked tool. The model does not see locked tools until the user approves them.
fn locked_tool_findings(seen: &InstallationState, spec: &ExtensionSpec) -> Vec<Finding> {
    let (name, held) = (spec.name.as_str(), lock_entry(seen, spec));
    let locked = held.map(|entry| tools::locked_tool_problems(name, entry)).unwrap_or_default().into_iter();
    locked.map(|one| FindingArea::Extensions.wrong(name, one.text, one.next.unwrap_or_default())).collect()
}

/// Returns notes about settings that weaken a gate, and about missing files of a hook's command.
fn configuration_notes(seen: &InstallationState, spec: &ExtensionSpec) -> Vec<Finding> {
    let of_grant = GateRelaxation {
        allows_on_timeout: grant_allows_on_timeout(&seen.config, spec.name.as_str()),
        ..GateRelaxation::default()
    };
    let loosened =
        hook_config(seen, spec).map_or(of_grant, |hook| GateRelaxation::for_hook(&seen.config, hook));
    let note = |line| FindingArea::Extensions.note(spec.name.as_str(), line);
    let missing = hook_config(seen, spec).map(|_| hooks::missing_files(spec)).unwrap_or_default().into_iter();
    let missing = missing
        .map(|word| format!("its command names {}, which does not exist", spec.dir.join(word).display()));
    loosened.warning_lines().into_iter().chain(missing).map(note).collect()
}

fn describe_extension(seen: &InstallationState, spec: &ExtensionSpec) -> String {
    let version = spec.version.as_deref().map(|version| format!("{version}, ")).unwrap_or_default();
    let whose = match spec.origin {
        ExtensionOrigin::Project => "the project's",
        ExtensionOrigin::Explicit | ExtensionOrigin::BuiltIn | ExtensionOrigin::Global => "yours",
        ExtensionOrigin::Hook => match hook_config(seen, spec).map(|hook| hook.owner) {
            Some(Owner::Project) => "the project's process hook",
            Some(Owner::User) | None => "your process hook",
        },
    };
    let approved = lock_entry(seen, spec)
        .map(|entry| format!(", approved {}", date_part(&entry.approved.at)))
        .unwrap_or_default();
    let level = match level_of(&seen.config, spec) {
        None => "not sandboxed: runs with your rights".to_owned(),
        Some(level) => format!("sandbox {level}"),
    };
    format!("{version}{whose}{approved}, {level}")
}

/// Returns the configuration of a process hook; `None` for an extension.
fn hook_config<'a>(seen: &'a InstallationState, spec: &ExtensionSpec) -> Option<&'a ProcessHook> {
    let of_hook = (spec.origin == ExtensionOrigin::Hook).then_some(&seen.config.hooks)?;
    of_hook.iter().find(|hook| hook.name == spec.name.as_str())
}

fn definition_path(seen: &InstallationState, spec: &ExtensionSpec) -> PathBuf {
    match hook_config(seen, spec).map(|hook| &hook.origin) {
        Some(SettingOrigin::File { path, .. }) => path.clone(),
        Some(_) => seen.home.config_file(),
        None => spec.dir.join("extension.json"),
    }
}

/// Returns the approval of an extension that runs as approved.
fn lock_entry<'a>(seen: &'a InstallationState, spec: &ExtensionSpec) -> Option<&'a LockEntry> {
    spec.pin.as_ref().and_then(|_| seen.approved.find(spec.name.as_str())).map(|(_, entry)| entry)
}

fn date_part(time: &str) -> &str {
    time.split('T').next().unwrap_or(time)
}

/// Returns the directories that a sandboxed extension can read besides its own; `None` without a sandbox.
fn readable_dirs(seen: &InstallationState, spec: &ExtensionSpec) -> Option<Vec<PathBuf>> {
    let granted = crate::sandbox::sandbox_grants(&seen.config).ok()?;
    let grant = granted.get(&spec.name)?.as_ref()?;
    let data = seen.home.data_dir().join(spec.name.as_str());
    let listed = [&grant.read, &grant.write, &grant.exec].into_iter().flatten();
    Some(listed.map(|path| path.resolve(&seen.cwd, &data)).chain([data.clone()]).collect())
}

fn start_obstacle(seen: &InstallationState, spec: &ExtensionSpec) -> Option<(String, String)> {
    let manifest = editor_command(&seen.path_formatter.shell_word(&definition_path(seen, spec)));
    let held = lock_entry(seen, spec);
    let next = if spec.pin.is_some() { reapproval_step(spec.name.as_str(), held).0 } else { manifest };
    if let Some(why) = hook_config(seen, spec)
        .and_then(|hook| hooks::start_obstacle(spec, hook, readable_dirs(seen, spec).as_deref()))
    {
        return Some((why, next));
    }
    let program = match &spec.launch {
        LaunchPlan::Process { program, .. } => program,
        LaunchPlan::ThemeOnly => return None,
        LaunchPlan::Impossible { why } => return Some((why.clone(), next)),
    };
    match held {
        // haft may create the copy only at the start.
        Some(entry) => {
            let wrong = check_approved(&ApprovalStore::at(seen.home.root()), entry);
            if !wrong.is_empty() {
                return Some((wrong.join("; "), next));
            }
        }
        None => {
            if let Some(missing) = started_by(program).into_iter().find(|file| !file.exists()) {
                return Some((format!("{} does not exist", missing.display()), next));
            }
        }
    }
    let support = detect_support();
    let (level, basis) = match level_of(&seen.config, spec)? {
        level @ ConfinementLevel::Standard => (level, support.standard),
        level @ ConfinementLevel::Isolated => (level, support.isolated),
        level @ ConfinementLevel::Strict => (level, support.strict),
    };
    let why = basis.err()?;
    let config = editor_command(&seen.path_formatter.shell_word(&seen.home.config_file()));
    Some((format!("sandbox level {level} is not available: {why}"), config))
}

/// Returns a finding about an extension that cannot be loaded. For an extension of an untrusted project, the finding is
/// a note.
fn broken_finding(seen: &InstallationState, error: &DiscoveryError) -> Finding {
    // The error may be about a file instead of a directory.
    let file = if error.dir.is_file() { error.dir.clone() } else { error.dir.join("extension.json") };
    let manifest = editor_command(&seen.path_formatter.shell_word(&file));
    let text = format!("cannot be loaded: {}", error_chain_text(&error.kind));
    match error.origin == ExtensionOrigin::Project && !seen.project.is_trusted() {
        true => FindingArea::Extensions.note(error.name.clone(), text),
        false => FindingArea::Extensions.wrong(error.name.clone(), text, manifest),
    }
}

/// Returns a finding about an extension that does not run. The finding about the project covers extensions of an
/// untrusted project.
fn skipped_finding(seen: &InstallationState, skipped: &SkippedExtension) -> Option<Finding> {
    let name = skipped.name.as_str();
    if skipped.reason == SkipReason::Untrusted {
        return None;
    }
    let held = seen.approved.find(name).map(|(_, entry)| entry);
    if skipped.reason == SkipReason::Disabled {
        if held.is_some_and(|entry| entry.waiting.is_some()) {
            let text = "is disabled: its new version requests more permissions than you granted";
            return Some(
                FindingArea::Extensions.note(name, text).with_next_step(format!("haft ext update {name}")),
            );
        }
        let scope = if skipped.origin == ExtensionOrigin::Project { " --scope project" } else { "" };
        return Some(
            FindingArea::Extensions
                .note(name, "is disabled")
                .with_next_step(format!("haft ext enable {name}{scope}")),
        );
    }
    let text =
        format!("in {} does not run: {}", seen.path_formatter.display_path(&skipped.dir), skipped.reason);
    // Reasons that a run reports as errors are problems here too.
    Some(match skipped.reason.code() {
        Some(_) => FindingArea::Extensions.wrong(name, text, reapproval_step(name, held).0),
        None => FindingArea::Extensions.note(name, text).with_next_step("haft ext list"),
    })
}

/// Returns a finding for each required extension that is missing, so that no tool runs.
fn missing_findings(seen: &InstallationState) -> Vec<Finding> {
    // Without approvals, all are missing; the check of the lock file reports that.
    if seen.extensions.errors.iter().any(|error| matches!(error.kind, DiscoveryErrorKind::Lock(_))) {
        return Vec::new();
    }
    let approved = ApprovalStore::at(seen.home.root());
    match approved.required_extensions() {
        Ok(recorded) => {
            let missing = missing_extensions(&approved, &recorded, &seen.extensions.specs).into_iter();
            let finding = |missing: MissingExtension| {
                let next = match &missing.restore {
                    RestoreStep::Enable => format!("haft ext enable {}", missing.name),
                    RestoreStep::Install(dir) => {
                        format!("haft ext install {}", seen.path_formatter.shell_word(dir))
                    }
                    RestoreStep::Fetch => "haft ext list".to_owned(),
                };
                FindingArea::Extensions.wrong(missing.name.as_str(), missing.problem_text(), next)
            };
            missing.map(finding).collect()
        }
        Err(error) => {
            let path = approved.required_file_path();
            let next = editor_command(&seen.path_formatter.shell_word(&path));
            vec![FindingArea::Home.wrong("required.json", error_chain_text(&error), next)]
        }
    }
}

/// Returns findings about grants with a sandbox for names that no extension has.
fn unused_grant_findings(seen: &InstallationState) -> Vec<Finding> {
    let found = &seen.extensions;
    let specs = found.specs.iter().map(|spec| spec.name.as_str());
    let names: Vec<&str> = specs.chain(found.skipped.iter().map(|skipped| skipped.name.as_str())).collect();
    let confines = |granted: &haft_config::GrantSettings| {
        granted.sandbox.as_ref().is_some_and(|said| said.value != SandboxLevel::None)
    };
    let grants = seen.config.grant.iter().filter(|(_, granted)| confines(granted));
    let unused = grants.filter(|(name, _)| !names.contains(&name.as_str()));
    unused
        .map(|(name, _)| {
            let text = "has no effect: no extension has exactly this name";
            FindingArea::Extensions.note(format!("[grant.{name}]"), text).with_next_step("haft ext list")
        })
        .collect()
}

/// Returns a hint at the files of zot. Whether they were imported is not checked, so this is not a problem.
fn zot_finding(seen: &InstallationState) -> Option<Finding> {
    let found = ZotFiles::find(&seen.cwd);
    let has_extensions = !found.extensions.is_empty() || !found.project_extensions.is_empty();
    (has_extensions && seen.extensions.specs.is_empty()).then(|| {
        let text =
            "extensions of zot are here, and haft has none; `haft ext import zot` lists and installs them";
        FindingArea::Extensions.note("zot", text)
    })
}
