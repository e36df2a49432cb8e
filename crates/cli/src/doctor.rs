//! `haft doctor`: checks trust, approvals, sandboxes and failures, and suggests a next step for each problem.
//!
//! The checks are read-only: they start no extension, send no request and write no file. For a provider on this machine,
//! they open a connection to its port and close it again.

mod extensions;
mod files;
mod finding;
mod hooks;
mod settings;

use std::path::PathBuf;

use anyhow::Context as _;
use haft_config::{
    AuthFile, Config, ConfigLayer, Home, LayerSource, ProcessHook, Project, ProjectTrust, ToolSandboxLevel,
    ToolSettings, TrustDecision, TrustFile, TrustRequest,
};
use haft_core::sanitize::sanitize_line;
use haft_launch::sandbox::{SandboxBasis, detect_support};
use haft_packages::discovery::{Discovery, SkipReason};
use haft_packages::install::ExtensionStore;
use haft_packages::install::lock::{ApprovalStore, LockFile};
use haft_providers::ModelsFile;
use haft_tools::ToolSandbox;
use serde_json::json;

use crate::args::{DoctorArgs, ExtensionArgs};
use crate::console::{BANNER, list_width, prefixed_rows};
use crate::exit::{Exit, OrExit as _};
use crate::hooks::{self as of_run, HookLaunchContext};
use crate::resources::PromptResources;
use crate::tool_sandbox::{gap_text, sandbox_label};
use crate::{console, setup};
use finding::{Finding, FindingArea, PathFormatter};

/// The state of the installation, read once.
struct InstallationState {
    home: Home,
    path_formatter: PathFormatter,
    cwd: PathBuf,
    project: Project,
    /// The reason why the project is no longer trusted.
    distrust_reason: Option<String>,
    config: Config,
    auth: AuthFile,
    models: ModelsFile,
    extensions: Discovery,
    conflicting_hook: Option<ProcessHook>,
    /// The approvals of the user; empty if the file cannot be read, which has a finding of its own.
    approved: LockFile,
    /// Mistakes in files: the file and the message.
    mistakes: Vec<(PathBuf, String)>,
}

pub(crate) fn run(args: DoctorArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = setup::working_directory(args.cwd).or_exit(Exit::Usage)?;
    let seen = InstallationState::inspect(home, cwd);
    let findings = seen.findings();
    let exit = if findings.iter().any(Finding::is_wrong) { Exit::ProblemsFound } else { Exit::Ok };
    match args.json {
        true => console::print(&as_json(&seen, &findings)?)?,
        false => console::print(&as_text(&seen, &findings))?,
    }
    Ok(exit)
}

impl InstallationState {
    fn inspect(home: Home, cwd: PathBuf) -> Self {
        let words = PathFormatter::new(std::env::home_dir());
        let (project, told) = decide_trust(&home, cwd.clone());
        // The check of the environment reports errors.
        let env = ConfigLayer::from_env(|name| std::env::var(name).ok());
        let env = env.unwrap_or_else(|_| ConfigLayer::empty(LayerSource::Env));
        let flags = ConfigLayer::empty(LayerSource::Flags);
        let (config, models, mistakes) = setup::read_leniently(&home, &project, flags, env);
        let search = setup::extension_search(&ExtensionArgs::default(), &home, &config, project.clone());
        let mut extensions = Discovery::run(&search);
        let ambiguous = of_run::find_name_conflict(&extensions.specs, &config.hooks);
        let ambiguous = ambiguous.map(|(hook, _)| hook.clone());
        let context =
            HookLaunchContext { home: home.clone(), cwd: cwd.clone(), is_trusted: project.is_trusted() };
        extensions.specs = of_run::merge_specs(extensions.specs, &config.hooks, &context).specs;
        // The checks of these files report errors.
        let auth = AuthFile::load(&home.auth_file()).unwrap_or_default();
        let approved = ApprovalStore::at(home.root()).load().unwrap_or_default();
        Self {
            approved,
            conflicting_hook: ambiguous,
            path_formatter: words,
            cwd,
            project,
            distrust_reason: told,
            config,
            auth,
            models,
            extensions,
            mistakes,
            home,
        }
    }

    /// Returns all findings in the order of the report, sanitized: manifests and file names can contain control
    /// sequences.
    fn findings(&self) -> Vec<Finding> {
        let all = files::check_home(self)
            .into_iter()
            .chain(settings::check_settings(self))
            .chain(settings::check_provider_keys(self))
            .chain(check_project(self))
            .chain(extensions::check_extensions(self))
            .chain(check_machine(self))
            .chain(files::check_sessions(self));
        all.map(|finding| Finding {
            name: sanitize_line(&finding.name),
            text: self.path_formatter.shorten_paths(&sanitize_line(&finding.text)),
            next: finding.next.map(|next| sanitize_line(&next)),
            ..finding
        })
        .collect()
    }
}

/// The indentation of a finding's text.
const INDENT: &str = "         ";

/// Renders the report: a section for each area, a paragraph for each finding, and the number of problems.
fn as_text(seen: &InstallationState, findings: &[Finding]) -> String {
    let columns = list_width().min(BANNER);
    let mut parts = vec![format!(
        "haft {} in {}",
        env!("CARGO_PKG_VERSION"),
        seen.path_formatter.display_path(&seen.cwd)
    )];
    for area in FindingArea::ALL {
        let of_area: Vec<_> = findings.iter().filter(|finding| finding.area == *area).collect();
        if !of_area.is_empty() {
            parts.push(format!("\n{}", area.heading()));
            parts.extend(of_area.iter().map(|finding| format_finding(finding, columns)));
        }
    }
    let wrong = findings.iter().filter(|finding| finding.is_wrong()).count();
    parts.push(match wrong {
        0 => "\nno problems found".to_owned(),
        1 => "\n1 problem found".to_owned(),
        more => format!("\n{more} problems found"),
    });
    parts.join("\n")
}

/// Renders a finding. The next step is never wrapped, so that it can be copied.
fn format_finding(finding: &Finding, columns: usize) -> String {
    let Finding { name, state, text, next, .. } = finding;
    let first = format!("  {:<5}  ", state.label());
    let told = prefixed_rows(&first, INDENT, &format!("{name}: {text}"), Some(columns));
    let told = told.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    match next {
        Some(next) => format!("{told}\n{INDENT}> {next}"),
        None => told,
    }
}

fn as_json(seen: &InstallationState, findings: &[Finding]) -> anyhow::Result<String> {
    let report = json!({
        "haft": env!("CARGO_PKG_VERSION"),
        "home": seen.home.root(),
        "project": seen.project.dir,
        "wrong": findings.iter().filter(|finding| finding.is_wrong()).count(),
        "findings": findings.iter().map(Finding::to_json).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&report).context("cannot write JSON")
}

/// Returns the project, and the reason why it is no longer trusted.
fn decide_trust(home: &Home, cwd: PathBuf) -> (Project, Option<String>) {
    match TrustDecision::decide(home, cwd.clone(), TrustRequest::Nothing) {
        Ok(decision) => (decision.project, decision.distrust_reason),
        // Without a requested digest, only an unreadable trust file is an error.
        Err(error) => (Project { dir: cwd, trust: ProjectTrust::Untrusted }, Some(error.to_string())),
    }
}

fn check_project(seen: &InstallationState) -> Vec<Finding> {
    let name = seen.path_formatter.display_path(&seen.project.dir);
    // The check of the file reports the error.
    let Ok(file) = TrustFile::load(&seen.home) else {
        return vec![FindingArea::Project.note(name, "is not trusted, because trust.json cannot be read")];
    };
    if let Some(reason) = &seen.distrust_reason {
        // The next step of the finding replaces the one in the text.
        let reason = crate::ext::problem::without_next_step(reason, "`haft trust`");
        return vec![FindingArea::Project.wrong(name, reason, "haft trust")];
    }
    if seen.project.is_trusted() {
        let since = file
            .record(&seen.project.dir)
            .map_or_else(String::new, |record| format!(" since {}", record.time));
        let text =
            format!("is trusted{since}: haft runs its extensions and uses its settings and instructions");
        return vec![FindingArea::Project.ok(name, text)];
    }
    let brings = unused_project_parts(seen);
    vec![match brings.is_empty() {
        true => FindingArea::Project.ok(name, "contains no extensions, settings or instructions for haft"),
        false => {
            let text = format!("is not trusted; haft ignores: {}", brings.join(", "));
            FindingArea::Project.note(name, text).with_next_step("haft trust")
        }
    }]
}

fn unused_project_parts(seen: &InstallationState) -> Vec<String> {
    let dir = &seen.project.dir;
    let resources = PromptResources::find(&seen.home, &seen.project, true);
    let unused = seen.config.unused.iter().cloned().chain(resources.untrusted_items());
    let unused =
        unused.map(|unused| unused.path.strip_prefix(dir).unwrap_or(&unused.path).display().to_string());
    let skipped = seen.extensions.skipped.iter().filter(|skipped| skipped.reason == SkipReason::Untrusted);
    unused.chain(skipped.map(|skipped| format!("extension {}", skipped.name))).collect()
}

fn check_machine(seen: &InstallationState) -> Vec<Finding> {
    let support = detect_support();
    let mut findings = vec![
        tool_sandbox_finding(&seen.config.tools),
        sandbox_finding("sandbox standard", support.standard),
        sandbox_finding("sandbox strict", support.strict),
    ];
    let store = ExtensionStore::for_home(seen.home.root(), std::env::var_os("PATH"));
    // `git` is looked up outside the project, because a project must not supply the program.
    findings.push(match (ExtensionStore { workspace: Some(seen.cwd.clone()), ..store }).find_git() {
        Some(git) => FindingArea::Machine.ok("git", git.display().to_string()),
        None => FindingArea::Machine.note(
            "git",
            "not found in PATH, or only in directories that other users can write; `haft ext install URL` needs git",
        ),
    });
    findings
}

/// Returns the finding about the sandbox of haft's own tools.
fn tool_sandbox_finding(settings: &ToolSettings) -> Finding {
    const NAME: &str = "tools";
    let level = sandbox_label(settings);
    let more = match settings.write.value.len() {
        _ if settings.sandbox.value != ToolSandboxLevel::Workspace => String::new(),
        0 => String::new(),
        1 => ", 1 more writable path".to_owned(),
        more => format!(", {more} more writable paths"),
    };
    match (settings.sandbox.value, ToolSandbox::find_gap()) {
        (ToolSandboxLevel::Full, _) => {
            FindingArea::Machine.note(NAME, "sandbox full: the model's commands have your rights")
        }
        (_, None) => FindingArea::Machine.ok(NAME, format!("sandbox {level}{more}")),
        (level, Some(gap)) => FindingArea::Machine.note(NAME, gap_text(level, &gap)),
    }
}

fn sandbox_finding(name: &str, basis: Result<SandboxBasis, String>) -> Finding {
    match basis {
        Ok(SandboxBasis { means, gaps }) if gaps.is_empty() => FindingArea::Machine.ok(name, means),
        Ok(SandboxBasis { means, gaps }) => {
            FindingArea::Machine.note(name, format!("{means}; {}", gaps.join("; ")))
        }
        Err(why) => FindingArea::Machine
            .note(name, format!("not available, so extensions that need it do not start: {why}")),
    }
}
