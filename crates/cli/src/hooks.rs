//! Process hooks: selects those that run, and describes them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use haft_adapter_picoclaw::peer::HookDialect;
use haft_adapter_picoclaw::translate;
use haft_adapter_picoclaw::wire::EventForm;
use haft_config::{
    Config, EventKind, Grant, GrantSettings, Home, HookProcess, HooksFile, OnTimeout, Owner, ProcessHook,
    SettingOrigin, ToolNames,
};
use haft_core::sanitize::sanitize_line;
use haft_packages::discovery::{Discovery, DiscoveryOptions};
use haft_packages::{ExtensionOrigin, ExtensionSpec, HookCommand, HookSpec, HookTimeouts, LaunchPlan};
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
    /// Returns the reason why a hook must not start here: files of an untrusted project would decide what it runs.
    /// Hooks of the command line are exempt, because the user chose them for this run.
    pub(crate) fn start_refusal(&self, hook: &ProcessHook) -> Option<String> {
        let is_asked = hook.owner == Owner::User && !matches!(hook.origin, SettingOrigin::Flag(_));
        (is_asked && !self.is_trusted).then(|| hook.untrusted_project_note(&self.home, &self.cwd))?
    }
}

/// Returns the hooks that a run starts: those of `--hooks-config` and the configured ones.
///
/// # Errors
/// A file is invalid or enables no hook, or two hooks have the same name: a hook of `--hooks-config` could otherwise
/// replace a gate of the user.
pub(crate) fn collect_run_hooks(args: &ExtensionArgs, config: &Config) -> anyhow::Result<Vec<ProcessHook>> {
    let mut hooks: Vec<ProcessHook> = config.hooks.iter().filter(|_| !args.no_ext).cloned().collect();
    for path in &args.hooks_config {
        let file = HooksFile::load(path).or_exit(Exit::Configuration)?;
        print_unknown_keys(&file);
        if file.hooks().is_empty() {
            let error = anyhow::anyhow!(
                "{} enables no process hook; set \"enabled\": true in an entry of hooks.processes, or leave out \
                 --hooks-config",
                path.display()
            );
            return Err(error).or_exit(Exit::Configuration);
        }
        for hook in file.hooks() {
            if let Some(other) = hooks.iter().find(|other| is_same_name(&other.name, &hook.name)) {
                let error = anyhow::anyhow!(
                    "{}: the hook {} has the same name as a hook of {}; rename one",
                    path.display(),
                    hook.name,
                    other.origin
                );
                return Err(error).or_exit(Exit::Configuration);
            }
            hooks.push(hook.clone());
        }
    }
    Ok(hooks)
}

/// Warns about the keys of a file that have no effect.
pub(crate) fn print_unknown_keys(file: &HooksFile) {
    for key in file.unknown_keys() {
        note(&sanitize_line(&format!("haft: {}: unknown key `{key}` is ignored", file.path().display())));
    }
}

/// True if two names are equal, ignoring case.
fn is_same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Checks that every hook has a unique name, and prints a banner for each hook of the command line.
///
/// # Errors
/// A hook of the user has the name of an extension of the user.
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
        let error = anyhow::anyhow!(
            "{}: the hook {} has the same name as the extension in {}; rename the hook",
            hook.origin,
            hook.name,
            extension.dir.display()
        );
        return Err(error).or_exit(Exit::Configuration);
    }
    let named = hooks.iter().filter(|hook| matches!(hook.origin, SettingOrigin::Flag(_)));
    named.for_each(|hook| note(&banner_text(hook, config)));
    Ok(())
}

fn banner_text(hook: &ProcessHook, config: &Config) -> String {
    let how = match sandbox::level_of_hook(config, &hook.name) {
        None => "(not sandboxed, not approved)".to_owned(),
        Some(level) => format!("(sandbox {level}, not approved)"),
    };
    let text = format!("haft: running the hook {} {how}: {}", hook.name, command_text(hook));
    prefixed_rows("", "  ", &sanitize_line(&text), Some(BANNER))
}

/// Returns the specification with which the host starts a hook.
pub(crate) fn hook_spec(hook: &ProcessHook, context: &HookLaunchContext) -> ExtensionSpec {
    let dialect = HookDialect {
        watch: hook.watch.clone(),
        event_form: match hook.event_kind {
            None => EventForm::Runtime,
            Some(EventKind::Name) => EventForm::Name,
            Some(EventKind::Number) => EventForm::Number,
        },
        tool_names: match hook.tool_names {
            ToolNames::Haft => translate::ToolNames::Haft,
            ToolNames::PicoClaw => translate::ToolNames::PicoClaw,
        },
    };
    let host = HookSpec {
        priority: hook.priority,
        timeouts: HookTimeouts { interceptor: hook.timeouts.interceptor, approval: hook.timeouts.approval },
        on_timeout_allow: hook.on_timeout == OnTimeout::Allow,
        vouches: hook.vouches.iter().cloned().collect::<BTreeSet<_>>(),
        env: hook.env.clone(),
        from_project: hook.owner == Owner::Project,
        code: hook.code_files(&context.cwd).into_iter().map(|named| named.path).collect(),
        ..HookSpec::new(dialect)
    };
    let command = HookCommand { command: hook.command.clone(), dir: hook.dir.clone() };
    let spec = ExtensionSpec::from_hook(ExtensionName::new(hook.name.as_str()), host, &command, &context.cwd);
    match context.start_refusal(hook) {
        None => spec,
        Some(why) => ExtensionSpec {
            launch: LaunchPlan::Impossible { why: format!("cannot be started: {why}") },
            ..spec
        },
    }
}

/// Returns the command as a person types it. The text is not sanitized.
pub(crate) fn command_text(hook: &ProcessHook) -> String {
    let place = hook.dir.as_ref().map(|dir| format!(" in {}", dir.display())).unwrap_or_default();
    let words: Vec<_> = hook.command.iter().map(|part| shell_word(part)).collect();
    format!("{}{place}", words.join(" "))
}

/// Quotes a word for a shell.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !"'\"\\$`;&|<>()*?~#".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Returns the hook points of a hook, and `events` if it observes events.
pub(crate) fn hook_points_text(hook: &ProcessHook) -> String {
    let points = hook.watch.intercepts.iter().map(|point| point.name());
    let events = (!hook.watch.observed.is_empty()).then_some("events");
    points.chain(events).collect::<Vec<_>>().join(", ")
}

/// Returns the sandbox as text; true if there is none.
pub(crate) fn sandbox_text(config: &Config, name: &str) -> (String, bool) {
    match sandbox::level_of_hook(config, name) {
        Some(level) => (level.to_string(), false),
        None => ("none, so it runs WITHOUT A SANDBOX, with all your rights".to_owned(), true),
    }
}

/// Returns the summary of a hook, line by line; true for lines that are marked as important.
pub(crate) fn summary_lines(config: &Config, hook: &ProcessHook) -> Vec<(String, bool)> {
    let mut lines =
        vec![(format!("hook: {}", hook.name), false), (format!("  runs: {}", command_text(hook)), false)];
    if !hook.env.is_empty() {
        let names: Vec<_> = hook.env.keys().map(String::as_str).collect();
        lines.push((format!("  sets: {}", names.join(", ")), false));
    }
    lines.push((format!("  hook points: {}", hook_points_text(hook)), false));
    if hook.tool_names == ToolNames::PicoClaw {
        lines.push(("  tools: PicoClaw's names (exec for bash)".to_owned(), false));
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

/// The settings that weaken a gate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GateRelaxation {
    /// True if a call runs when the gate does not decide in time.
    pub(crate) allows_on_timeout: bool,
    /// The tools for which its own results need no approval.
    pub(crate) vouches: Vec<String>,
}

impl GateRelaxation {
    /// Returns the relaxations of a hook that runs, including the user's grant.
    pub(crate) fn for_hook(config: &Config, hook: &ProcessHook) -> Self {
        let lets_pass = hook.on_timeout == OnTimeout::Allow || grant_allows_on_timeout(config, &hook.name);
        Self { allows_on_timeout: lets_pass, vouches: hook.vouches.clone() }
    }

    /// Returns the relaxations of a configured hook, whether it runs or not.
    pub(crate) fn from_process(process: &HookProcess) -> Self {
        Self {
            allows_on_timeout: process.on_timeout == Some(OnTimeout::Allow),
            vouches: process.vouches.clone().unwrap_or_default(),
        }
    }

    /// Adds the relaxations of the user's grant.
    pub(crate) fn with_grant(self, grant: Option<&Grant>) -> Self {
        let granted = grant.and_then(|grant| grant.on_timeout) == Some(OnTimeout::Allow);
        Self { allows_on_timeout: self.allows_on_timeout || granted, ..self }
    }

    /// Returns a line for each relaxation: the setting and its effect.
    pub(crate) fn warning_lines(&self) -> Vec<String> {
        let passes = "on_timeout = \"allow\": a call runs if the hook does not decide in time";
        let tools = self.vouches.iter().map(|tool| format!("{tool:?}")).collect::<Vec<_>>().join(", ");
        let vouches = format!("vouches = [{tools}]: its results for these tools need no approval");
        let all = [(self.allows_on_timeout, passes.to_owned()), (!self.vouches.is_empty(), vouches)];
        all.into_iter().filter_map(|(holds, line)| holds.then_some(line)).collect()
    }
}

/// True if the user's `[grant.NAME]` allows calls when the gate times out.
pub(crate) fn grant_allows_on_timeout(config: &Config, name: &str) -> bool {
    let said = config.grant.get(name).and_then(|granted: &GrantSettings| granted.on_timeout.as_ref());
    said.is_some_and(|said| said.value == OnTimeout::Allow)
}

/// The extensions and hooks that a run starts.
#[derive(Debug)]
pub(crate) struct MergedSpecs {
    pub(crate) specs: Vec<ExtensionSpec>,
    /// Notes about hooks and extensions that do not start because their name is taken.
    pub(crate) notes: Vec<String>,
}

/// Merges extensions and hooks so that each name is unique. The user's own take precedence over the project's, because
/// a gate of the user must not disappear. Otherwise a hook wins over an extension that was installed during the run.
pub(crate) fn merge_specs(
    found: Vec<ExtensionSpec>,
    hooks: &[ProcessHook],
    context: &HookLaunchContext,
) -> MergedSpecs {
    let mut notes = Vec::new();
    let users =
        |name: &str| hooks.iter().find(|hook| hook.owner == Owner::User && is_same_name(&hook.name, name));
    let mut specs: Vec<ExtensionSpec> = Vec::new();
    for extension in found {
        match users(extension.name.as_str()) {
            None => specs.push(extension),
            Some(hook) => notes.push(format!(
                "the extension {} in {} does not run: the process hook in {} has the same name",
                extension.name,
                extension.dir.display(),
                hook.origin
            )),
        }
    }
    for hook in hooks {
        let taken = specs.iter().find(|other| is_same_name(other.name.as_str(), &hook.name));
        match taken {
            None => specs.push(hook_spec(hook, context)),
            Some(_) => notes.push(format!(
                "{}: the hook {} does not run: an extension has the same name",
                hook.origin, hook.name
            )),
        }
    }
    MergedSpecs { specs, notes }
}

/// Returns the first hook of the user that has the name of an extension of the user. Neither can take precedence.
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

    fn context() -> HookLaunchContext {
        HookLaunchContext { home: Home::at("/nowhere"), cwd: "/".into(), is_trusted: false }
    }

    /// Returns hooks with these names and owners.
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
        let like = hook_spec(&hooks(&[(name, Owner::User)])[0], &context());
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
        notes: usize,
    ) {
        let found = extensions.iter().map(|(name, origin)| extension(name, *origin)).collect();
        let joined = merge_specs(found, &hooks(named), &context());
        let specs: Vec<_> = joined.specs.iter().map(|spec| (spec.name.as_str(), spec.origin)).collect();
        assert_eq!((specs.as_slice(), joined.notes.len()), (runs, notes), "{:?}", joined.notes);
    }

    #[test]
    fn keeps_user_hook_over_project_extension() {
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
    fn reports_user_hook_and_extension_of_same_name() {
        let found = [extension("a", ExtensionOrigin::Global), extension("b", ExtensionOrigin::Project)];
        let is_ambiguous = |name, owner| find_name_conflict(&found, &hooks(&[(name, owner)])).is_some();
        assert!(is_ambiguous("A", Owner::User));
        assert!(!is_ambiguous("a", Owner::Project) && !is_ambiguous("b", Owner::User));
    }
}
