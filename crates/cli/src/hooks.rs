//! Process hooks: which ones run, and what is told of them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use haft_config::{
    Config, EventKind, Grant, GrantSettings, Home, HookProcess, HooksFile, OnTimeout, Owner, ProcessHook,
    SettingOrigin, ToolNames,
};
use haft_core::sanitize::sanitize_line;
use haft_packages::discovery::{Discovery, DiscoveryOptions};
use haft_packages::{
    EventForm, ExtensionOrigin, ExtensionSpec, HookCommand, HookSpec, HookTimeouts, LaunchPlan,
};
use haft_protocol::ids::ExtensionName;

use crate::args::ExtensionArgs;
use crate::console::{BANNER, note, prefixed_rows};
use crate::exit::{Exit, OrExit as _};
use crate::sandbox;

#[derive(Debug, Clone)]
pub(crate) struct HookLaunchContext {
    pub(crate) home: Home,
    pub(crate) cwd: PathBuf,
    pub(crate) is_trusted: bool,
}

impl HookLaunchContext {
    /// Why a hook is not started here, if it is not: a project that nobody trusts would decide what it runs. What the
    /// command line names is the user's word for this run.
    pub(crate) fn start_refusal(&self, hook: &ProcessHook) -> Option<String> {
        let is_asked = hook.owner == Owner::User && !matches!(hook.origin, SettingOrigin::Flag(_));
        (is_asked && !self.is_trusted).then(|| hook.untrusted_project_note(&self.home, &self.cwd))?
    }
}

/// The hooks that a run starts: those of files that the command line names, and the configured ones. One that the command
/// line names takes the place of a configured one.
///
/// # Errors
/// What is wrong with a file; and which name two of them have.
pub(crate) fn collect_run_hooks(args: &ExtensionArgs, config: &Config) -> anyhow::Result<Vec<ProcessHook>> {
    let mut hooks: Vec<ProcessHook> = Vec::new();
    for path in &args.hooks_config {
        let file = HooksFile::load(path).or_exit(Exit::Configuration)?;
        if file.hooks().is_empty() {
            note(&sanitize_line(&format!("haft: {} enables no process hook", path.display())));
        }
        for hook in file.hooks() {
            if hooks.iter().any(|other| is_same_name(&other.name, &hook.name)) {
                let told = anyhow::anyhow!("--hooks-config: two files have a hook of the name {}", hook.name);
                return Err(told).or_exit(Exit::Configuration);
            }
            hooks.push(hook.clone());
        }
    }
    let configured = config.hooks.iter().filter(|_| !args.no_ext);
    let (replaced, configured): (Vec<_>, Vec<_>) =
        configured.partition(|hook| hooks.iter().any(|named| is_same_name(&named.name, &hook.name)));
    for ProcessHook { name, origin, .. } in replaced {
        note(&sanitize_line(&format!(
            "haft: {origin}: the hook {name} is not run: --hooks-config names another one"
        )));
    }
    hooks.extend(configured.into_iter().cloned());
    Ok(hooks)
}

/// The same, whatever the case of the letters.
fn is_same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Makes sure that every hook has a name of its own, and says how those run that the command line names.
///
/// # Errors
/// Which name a hook of the user's has in common with one of the user's extensions.
pub(crate) fn check_hook_names(
    hooks: &[ProcessHook],
    search: &DiscoveryOptions,
    config: &Config,
) -> anyhow::Result<()> {
    if hooks.is_empty() {
        return Ok(());
    }
    let found = Discovery::run(search);
    if let Some((hook, extension)) = find_name_conflict(&found.specs, hooks) {
        let told = anyhow::anyhow!(
            "{}: the hook {} has the name of an extension, in {}; rename the hook",
            hook.origin,
            hook.name,
            extension.dir.display()
        );
        return Err(told).or_exit(Exit::Configuration);
    }
    let named = hooks.iter().filter(|hook| matches!(hook.origin, SettingOrigin::Flag(_)));
    named.for_each(|hook| note(&banner(hook, config)));
    Ok(())
}

fn banner(hook: &ProcessHook, config: &Config) -> String {
    let how = match sandbox::level_of_hook(config, &hook.name) {
        None => "unconfined, unpinned".to_owned(),
        Some(level) => format!("unpinned, in a sandbox of level {level}"),
    };
    let told = format!("haft: running the hook {} ({}) {how}", hook.name, command_text(hook));
    prefixed_rows("", "  ", &sanitize_line(&told), Some(BANNER))
}

/// A hook as the host starts it, if it may be started there.
pub(crate) fn hook_spec(hook: &ProcessHook, ground: &HookLaunchContext) -> ExtensionSpec {
    let host = HookSpec {
        event_form: match hook.event_kind {
            None => EventForm::Runtime,
            Some(EventKind::Name) => EventForm::Name,
            Some(EventKind::Number) => EventForm::Number,
        },
        priority: hook.priority,
        timeouts: HookTimeouts { interceptor: hook.timeouts.interceptor, approval: hook.timeouts.approval },
        on_timeout_allow: hook.on_timeout == OnTimeout::Allow,
        vouches: hook.vouches.iter().cloned().collect::<BTreeSet<_>>(),
        env: hook.env.clone(),
        tool_names: match hook.tool_names {
            ToolNames::Haft => haft_packages::ToolNames::Haft,
            ToolNames::PicoClaw => haft_packages::ToolNames::PicoClaw,
        },
        from_project: hook.owner == Owner::Project,
        code: hook.code_files(&ground.cwd).into_iter().map(|named| named.path).collect(),
        ..HookSpec::new(hook.watch.clone())
    };
    let command = HookCommand { command: hook.command.clone(), dir: hook.dir.clone() };
    let spec = ExtensionSpec::from_hook(ExtensionName::new(hook.name.as_str()), host, &command, &ground.cwd);
    match ground.start_refusal(hook) {
        None => spec,
        Some(why) => ExtensionSpec {
            launch: LaunchPlan::Impossible { why: format!("cannot be started: {why}") },
            ..spec
        },
    }
}

/// The command, as people write it; it is not safe to be shown.
pub(crate) fn command_text(hook: &ProcessHook) -> String {
    let place = hook.dir.as_ref().map(|dir| format!(" in {}", dir.display())).unwrap_or_default();
    let words: Vec<_> = hook.command.iter().map(|part| shell_word(part)).collect();
    format!("{}{place}", words.join(" "))
}

/// A word as it is typed into a shell, so that nobody takes it for several.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !"'\"\\$`;&|<>()*?~#".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Where it is asked, and whether it is told what happens.
pub(crate) fn hook_points_text(hook: &ProcessHook) -> String {
    let points = hook.watch.intercepts.iter().map(|point| point.name());
    let told = (!hook.watch.observed.is_empty()).then_some("told what happens");
    points.chain(told).collect::<Vec<_>>().join(", ")
}

/// Returns the confinement in words, and true if there is none.
pub(crate) fn sandbox_text(config: &Config, name: &str) -> (String, bool) {
    match sandbox::level_of_hook(config, name) {
        Some(level) => (level.to_string(), false),
        None => ("none, so it runs UNCONFINED, with all your rights".to_owned(), true),
    }
}

/// All that a hook would do, a line each, and whether the line must not be overlooked.
pub(crate) fn summary_lines(config: &Config, hook: &ProcessHook) -> Vec<(String, bool)> {
    let mut lines =
        vec![(format!("hook: {}", hook.name), false), (format!("  runs: {}", command_text(hook)), false)];
    if !hook.env.is_empty() {
        let names: Vec<_> = hook.env.keys().map(String::as_str).collect();
        lines.push((format!("  sets: {}", names.join(", ")), false));
    }
    lines.push((format!("  asked: {}", hook_points_text(hook)), false));
    if hook.tool_names == ToolNames::PicoClaw {
        lines.push(("  tools: by PicoClaw's names, exec for bash".to_owned(), false));
    }
    let (confined, is_nothing) = sandbox_text(config, &hook.name);
    lines.push((format!("  sandbox: {confined}"), is_nothing));
    lines.extend(
        GateRelaxation::for_hook(config, hook)
            .warning_lines()
            .into_iter()
            .map(|line| (format!("  {line}"), true)),
    );
    lines
}

/// The degree to which a gate is loosened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GateRelaxation {
    /// Where it does not decide in time, the call is made.
    pub(crate) allows_on_timeout: bool,
    /// For which tools it may answer without approval.
    pub(crate) vouches: Vec<String>,
}

impl GateRelaxation {
    /// A hook that runs, with what the user grants it.
    pub(crate) fn for_hook(config: &Config, hook: &ProcessHook) -> Self {
        let lets_pass = hook.on_timeout == OnTimeout::Allow || grant_allows_on_timeout(config, &hook.name);
        Self { allows_on_timeout: lets_pass, vouches: hook.vouches.clone() }
    }

    /// A hook as it is written, whether it runs or not.
    pub(crate) fn from_process(process: &HookProcess) -> Self {
        Self {
            allows_on_timeout: process.on_timeout == Some(OnTimeout::Allow),
            vouches: process.vouches.clone().unwrap_or_default(),
        }
    }

    /// With what a grant of the user's adds.
    pub(crate) fn with_grant(self, grant: Option<&Grant>) -> Self {
        let granted = grant.and_then(|grant| grant.on_timeout) == Some(OnTimeout::Allow);
        Self { allows_on_timeout: self.allows_on_timeout || granted, ..self }
    }

    /// As settings, each with what it means; none where nothing is loosened.
    pub(crate) fn warning_lines(&self) -> Vec<String> {
        let passes = "on_timeout = \"allow\": a call that it does not decide about in time is made";
        let tools = self.vouches.iter().map(|tool| format!("{tool:?}")).collect::<Vec<_>>().join(", ");
        let vouches =
            format!("vouches = [{tools}]: its answers in place of these tools count without approval");
        let all = [(self.allows_on_timeout, passes.to_owned()), (!self.vouches.is_empty(), vouches)];
        all.into_iter().filter_map(|(holds, line)| holds.then_some(line)).collect()
    }
}

/// True if the user's `[grant.NAME]` says that its silence allows.
pub(crate) fn grant_allows_on_timeout(config: &Config, name: &str) -> bool {
    let said = config.grant.get(name).and_then(|granted: &GrantSettings| granted.on_timeout.as_ref());
    said.is_some_and(|said| said.value == OnTimeout::Allow)
}

/// The extensions and hooks that a run starts.
#[derive(Debug)]
pub(crate) struct MergedSpecs {
    pub(crate) specs: Vec<ExtensionSpec>,
    /// The hooks that are not started because another one has their name.
    pub(crate) notes: Vec<String>,
}

/// Extensions and hooks, each name once. Of the user's own nothing gives way to what a project brings: a gate would be
/// missing. Otherwise who was there first keeps the name, and a hook was: an extension that takes its name later was
/// installed while haft ran.
pub(crate) fn merge_specs(
    found: Vec<ExtensionSpec>,
    hooks: &[ProcessHook],
    ground: &HookLaunchContext,
) -> MergedSpecs {
    let mut told = Vec::new();
    let users =
        |name: &str| hooks.iter().find(|hook| hook.owner == Owner::User && is_same_name(&hook.name, name));
    let mut specs: Vec<ExtensionSpec> = Vec::new();
    for extension in found {
        match users(extension.name.as_str()) {
            None => specs.push(extension),
            Some(hook) => told.push(format!(
                "the extension {} in {} is not run: the process hook of {} has that name",
                extension.name,
                extension.dir.display(),
                hook.origin
            )),
        }
    }
    for hook in hooks {
        let taken = specs.iter().find(|other| is_same_name(other.name.as_str(), &hook.name));
        match taken {
            None => specs.push(hook_spec(hook, ground)),
            Some(_) => told.push(format!(
                "{}: the hook {} is not run: there is an extension of that name",
                hook.origin, hook.name
            )),
        }
    }
    MergedSpecs { specs, notes: told }
}

/// The first hook of the user's that has the name of an extension of the user's: which of them is meant, nobody can tell.
pub(crate) fn find_name_conflict<'a>(
    found: &'a [ExtensionSpec],
    hooks: &'a [ProcessHook],
) -> Option<(&'a ProcessHook, &'a ExtensionSpec)> {
    let own = found.iter().filter(|extension| extension.origin != ExtensionOrigin::Project);
    let mut own = own.filter_map(|extension| {
        let hook = hooks.iter().find(|hook| is_same_name(&hook.name, extension.name.as_str()))?;
        (hook.owner == Owner::User).then_some((hook, extension))
    });
    own.next()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use haft_config::{ConfigFiles, ConfigLayer, Home, LayerSource, Project, ProjectTrust};

    use super::*;

    fn ground() -> HookLaunchContext {
        HookLaunchContext { home: Home::at("/nowhere"), cwd: "/".into(), is_trusted: false }
    }

    /// Hooks of these names and owners.
    fn hooks(named: &[(&str, Owner)]) -> Vec<ProcessHook> {
        let root = tempfile::tempdir().unwrap();
        let text = "[hooks.processes.x]\nenabled = true\ncommand = ['sh']\nobserve = ['*']\n";
        std::fs::write(root.path().join("config.toml"), text).unwrap();
        let project = Project { dir: root.path().join("w"), trust: ProjectTrust::Untrusted };
        let files = ConfigFiles::read(&Home::at(root.path()), &project).unwrap();
        let config = files.merge_unchecked(
            ConfigLayer::empty(LayerSource::Flags),
            ConfigLayer::empty(LayerSource::Env),
            &|_, _| None,
        );
        let like = |(name, owner): &(&str, Owner)| ProcessHook {
            name: (*name).to_owned(),
            owner: *owner,
            ..config.hooks[0].clone()
        };
        named.iter().map(like).collect()
    }

    fn extension(name: &str, origin: ExtensionOrigin) -> ExtensionSpec {
        let like = hook_spec(&hooks(&[(name, Owner::User)])[0], &ground());
        ExtensionSpec {
            origin,
            dialect: haft_packages::ExtensionDialect::Native,
            dir: PathBuf::from("/e"),
            ..like
        }
    }

    #[track_caller]
    fn check(
        extensions: &[(&str, ExtensionOrigin)],
        named: &[(&str, Owner)],
        runs: &[(&str, ExtensionOrigin)],
        told: usize,
    ) {
        let found = extensions.iter().map(|(name, origin)| extension(name, *origin)).collect();
        let joined = merge_specs(found, &hooks(named), &ground());
        let specs: Vec<_> = joined.specs.iter().map(|spec| (spec.name.as_str(), spec.origin)).collect();
        assert_eq!((specs.as_slice(), joined.notes.len()), (runs, told), "{:?}", joined.notes);
    }

    #[test]
    fn no_hook_of_the_users_gives_way() {
        let (user, project) = (Owner::User, Owner::Project);
        check(&[], &[("a", user)], &[("a", ExtensionOrigin::Hook)], 0);
        check(&[("a", ExtensionOrigin::Project)], &[("A", user)], &[("A", ExtensionOrigin::Hook)], 1);
        check(&[("a", ExtensionOrigin::Global)], &[("a", project)], &[("a", ExtensionOrigin::Global)], 1);
        check(&[("a", ExtensionOrigin::Project)], &[("a", project)], &[("a", ExtensionOrigin::Project)], 1);
        check(
            &[("b", ExtensionOrigin::Global)],
            &[("a", user)],
            &[("b", ExtensionOrigin::Global), ("a", ExtensionOrigin::Hook)],
            0,
        );
    }

    #[test]
    fn two_of_the_users_with_one_name_are_ambiguous() {
        let found = [extension("a", ExtensionOrigin::Global), extension("b", ExtensionOrigin::Project)];
        let is_ambiguous = |name, owner| find_name_conflict(&found, &hooks(&[(name, owner)])).is_some();
        assert!(is_ambiguous("A", Owner::User));
        assert!(!is_ambiguous("a", Owner::Project) && !is_ambiguous("b", Owner::User));
    }
}
