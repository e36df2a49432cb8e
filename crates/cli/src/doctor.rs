//! `haft doctor`: what is trusted, approved, confined and failing, and the next step for each.
//!
//! It looks and changes nothing: no extension is started, no server is asked, nothing is written.

mod extensions;
mod files;
mod finding;
mod hooks;
mod settings;

use std::path::PathBuf;

use anyhow::Context as _;
use haft_config::{
    Asked, Auth, Config, Decision, Home, Layer, Place, ProcessHook, Project, Trust, TrustFile,
};
use haft_core::sanitize::sanitize_line;
use haft_launch::sandbox::{Basis, available};
use haft_packages::discovery::{Discovery, SkipReason};
use haft_packages::install::Store;
use haft_packages::install::lock::{Approved, LockFile};
use haft_providers::Models;
use serde_json::json;

use crate::args::{DoctorArgs, ExtensionArgs};
use crate::console::{BANNER, columns, rows};
use crate::exit::{Exit, OrExit as _};
use crate::hooks::{self as of_run, Ground};
use crate::resources::Resources;
use crate::{console, setup};
use finding::{Area, Finding, Words};

/// Everything that is checked, read once.
struct Seen {
    home: Home,
    words: Words,
    cwd: PathBuf,
    project: Project,
    /// Why the project is not trusted any more.
    told: Option<String>,
    config: Config,
    auth: Auth,
    models: Models,
    extensions: Discovery,
    ambiguous: Option<ProcessHook>,
    /// The user's approvals. Why it is not read is told of the file.
    approved: LockFile,
    /// Mistakes in files that were read: the file, and what.
    mistakes: Vec<(PathBuf, String)>,
}

pub(crate) fn run(args: DoctorArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let cwd = setup::cwd(args.cwd).or_exit(Exit::Usage)?;
    let seen = Seen::look(home, cwd);
    let findings = seen.findings();
    let exit = if findings.iter().any(Finding::is_wrong) { Exit::Unwell } else { Exit::Ok };
    match args.json {
        true => console::print(&as_json(&seen, &findings)?)?,
        false => console::print(&as_text(&seen, &findings))?,
    }
    Ok(exit)
}

impl Seen {
    fn look(home: Home, cwd: PathBuf) -> Self {
        let words = Words::new(std::env::home_dir());
        let (project, told) = decided(&home, cwd.clone());
        // What is wrong with the environment is told by itself.
        let env = Layer::from_env(|name| std::env::var(name).ok());
        let env = env.unwrap_or_else(|_| Layer::empty(Place::Env));
        let flags = Layer::empty(Place::Flags);
        let (config, models, mistakes) = setup::read_what_can_be(&home, &project, flags, env);
        let search = setup::search(&ExtensionArgs::default(), &home, &config, project.clone());
        let mut extensions = Discovery::run(&search);
        let ambiguous = of_run::ambiguous(&extensions.specs, &config.hooks);
        let ambiguous = ambiguous.map(|(hook, _)| hook.clone());
        let ground = Ground { home: home.clone(), cwd: cwd.clone(), is_trusted: project.is_trusted() };
        extensions.specs = of_run::join(extensions.specs, &config.hooks, &ground).specs;
        // Why it could not be read is told of the file.
        let auth = Auth::load(&home.auth_file()).unwrap_or_default();
        let approved = Approved::at(home.root()).load().unwrap_or_default();
        Self {
            approved,
            ambiguous,
            words,
            cwd,
            project,
            told,
            config,
            auth,
            models,
            extensions,
            mistakes,
            home,
        }
    }

    /// All of them, in the order of the report; nobody who wrote a manifest or a file name writes to a terminal.
    fn findings(&self) -> Vec<Finding> {
        let all = files::look(self)
            .into_iter()
            .chain(settings::look(self))
            .chain(settings::keys(self))
            .chain(project(self))
            .chain(extensions::look(self))
            .chain(machine(self))
            .chain(files::sessions(self));
        all.map(|finding| Finding {
            name: sanitize_line(&finding.name),
            text: self.words.sentence(&sanitize_line(&finding.text)),
            next: finding.next.map(|next| sanitize_line(&next)),
            ..finding
        })
        .collect()
    }
}

/// The indentation of a finding's text.
const INDENT: &str = "         ";

/// A section for each area, a paragraph for each finding, and how many are wrong.
fn as_text(seen: &Seen, findings: &[Finding]) -> String {
    let columns = columns().min(BANNER);
    let mut parts = vec![format!("haft {} in {}", env!("CARGO_PKG_VERSION"), seen.words.path(&seen.cwd))];
    for area in Area::ALL {
        let of_area: Vec<_> = findings.iter().filter(|finding| finding.area == *area).collect();
        if !of_area.is_empty() {
            parts.push(format!("\n{}", area.heading()));
            parts.extend(of_area.iter().map(|finding| paragraph(finding, columns)));
        }
    }
    let wrong = findings.iter().filter(|finding| finding.is_wrong()).count();
    parts.push(match wrong {
        0 => "\nnothing is wrong".to_owned(),
        1 => "\none thing is wrong".to_owned(),
        more => format!("\n{more} things are wrong"),
    });
    parts.join("\n")
}

/// The next step is never broken, so that it can be copied.
fn paragraph(finding: &Finding, columns: usize) -> String {
    let Finding { name, state, text, next, .. } = finding;
    let first = format!("  {:<5}  ", state.word());
    let told = rows(&first, INDENT, &format!("{name}: {text}"), Some(columns));
    let told = told.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    match next {
        Some(next) => format!("{told}\n{INDENT}> {next}"),
        None => told,
    }
}

fn as_json(seen: &Seen, findings: &[Finding]) -> anyhow::Result<String> {
    let report = json!({
        "haft": env!("CARGO_PKG_VERSION"),
        "home": seen.home.root(),
        "project": seen.project.dir,
        "wrong": findings.iter().filter(|finding| finding.is_wrong()).count(),
        "findings": findings.iter().map(Finding::json).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&report).context("cannot write JSON")
}

/// Returns the project, and the reason why it is not trusted any more.
fn decided(home: &Home, cwd: PathBuf) -> (Project, Option<String>) {
    match Decision::make(home, cwd.clone(), Asked::Nothing) {
        Ok(decision) => (decision.project, decision.told),
        // No digest was asked for that it could lack.
        Err(error) => (Project { dir: cwd, trust: Trust::Untrusted }, Some(error.to_string())),
    }
}

fn project(seen: &Seen) -> Vec<Finding> {
    let name = seen.words.path(&seen.project.dir);
    // What is wrong with the file is told of the file.
    let Ok(file) = TrustFile::load(&seen.home) else {
        return vec![Area::Project.note(name, "is not trusted, because trust.json is not read")];
    };
    if let Some(told) = &seen.told {
        // The next step says the same better.
        let told = told.trim_end_matches("; `haft trust` shows it and asks");
        return vec![Area::Project.wrong(name, told, "haft trust")];
    }
    if seen.project.is_trusted() {
        let since = file
            .record(&seen.project.dir)
            .map_or_else(String::new, |record| format!(" since {}", record.time));
        let text = format!("is trusted{since}: its extensions run, its settings and texts are used");
        return vec![Area::Project.ok(name, text)];
    }
    let brings = brings(seen);
    vec![match brings.is_empty() {
        true => Area::Project.ok(name, "brings nothing that haft would run or obey"),
        false => {
            let text = format!("is not trusted, so this of it is not used: {}", brings.join(", "));
            Area::Project.note(name, text).next("haft trust")
        }
    }]
}

fn brings(seen: &Seen) -> Vec<String> {
    let dir = &seen.project.dir;
    let resources = Resources::find(&seen.home, &seen.project, true);
    let unused = seen.config.unused.iter().cloned().chain(resources.unused());
    let unused =
        unused.map(|unused| unused.path.strip_prefix(dir).unwrap_or(&unused.path).display().to_string());
    let skipped = seen.extensions.skipped.iter().filter(|skipped| skipped.reason == SkipReason::Untrusted);
    unused.chain(skipped.map(|skipped| format!("extension {}", skipped.name))).collect()
}

fn machine(seen: &Seen) -> Vec<Finding> {
    let support = available();
    let mut findings =
        vec![sandbox("sandbox standard", support.standard), sandbox("sandbox strict", support.strict)];
    let store = Store::of_home(seen.home.root(), std::env::var_os("PATH"));
    // The one that would be run, which is none that a project brought.
    findings.push(match (Store { workspace: Some(seen.cwd.clone()), ..store }).git() {
        Some(git) => Area::Machine.ok("git", git.display().to_string()),
        None => Area::Machine.note(
            "git",
            "is not in PATH, or only where others may put programs; `haft ext install URL` needs it",
        ),
    });
    findings
}

fn sandbox(name: &str, basis: Result<Basis, String>) -> Finding {
    match basis {
        Ok(Basis { means, gaps }) if gaps.is_empty() => Area::Machine.ok(name, means),
        Ok(Basis { means, gaps }) => Area::Machine.note(name, format!("{means}; {}", gaps.join("; "))),
        Err(why) => {
            Area::Machine.note(name, format!("cannot be had, so what wants it is not started: {why}"))
        }
    }
}
