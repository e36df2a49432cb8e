//! The user's configuration of one process hook.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haft_launch::find_program;
use haft_protocol::ext::InterceptKind;
use haft_protocol::foreign::ForeignDialect;
use haft_protocol::ids::ExtensionName;

use super::{ExtensionDialect, ExtensionOrigin, ExtensionSpec};
use crate::manifest::{GuardRoles, LaunchPlan, Lifecycle};
use crate::timeouts::{HOOK_APPROVAL, HOOK_HELLO, HOOK_INTERCEPT};

/// A process hook: its requests and events, and the rights that the user gives it.
#[derive(Debug, Clone)]
pub struct HookSpec {
    /// The protocol of the hook, with its requests and events.
    pub dialect: Arc<dyn ForeignDialect>,
    /// The priority: the hook with the lowest number is called first. Equal numbers are ordered by name.
    pub priority: i32,
    /// The deadlines of its answers.
    pub timeouts: HookTimeouts,
    /// True if a tool call runs when the hook's decision is late (`on_timeout = "allow"`).
    pub on_timeout_allow: bool,
    /// Tools whose result the hook may supply without the approvers; `*` for every tool. Tools that only hooks offer
    /// need no entry.
    pub vouches: BTreeSet<String>,
    /// Variables that are set in its environment: in addition to all of haft's, or, in a sandbox, to those of
    /// extensions.
    pub env: BTreeMap<String, String>,
    /// True if the project configures the hook, so that it runs only while the user trusts the project's files.
    pub from_project: bool,
    /// The absolute paths of the files that its process runs or reads as code, even if they do not exist. The hook is
    /// not restarted after one of them has changed.
    pub code: Vec<PathBuf>,
}

/// The deadlines of a hook's responses. Events need no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookTimeouts {
    /// The deadline before and after a model call, and before and after a tool.
    pub interceptor: Duration,
    /// The deadline for the approval of a tool, because a person may be asked.
    pub approval: Duration,
}

impl Default for HookTimeouts {
    fn default() -> Self {
        Self { interceptor: HOOK_INTERCEPT, approval: HOOK_APPROVAL }
    }
}

/// The start of a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookCommand {
    /// The program and its arguments, without a shell. A program without a slash is searched in `PATH`, one with a
    /// slash is relative to `dir`.
    pub command: Vec<String>,
    /// Its working directory, relative to the agent's directory, which is the default.
    pub dir: Option<PathBuf>,
}

impl HookSpec {
    /// Creates a hook with default settings.
    pub fn new(dialect: impl Into<Arc<dyn ForeignDialect>>) -> Self {
        Self {
            dialect: dialect.into(),
            priority: 0,
            timeouts: HookTimeouts::default(),
            on_timeout_allow: false,
            vouches: BTreeSet::new(),
            env: BTreeMap::new(),
            from_project: false,
            code: Vec::new(),
        }
    }

    /// Returns the deadline of its response to this native hook.
    pub fn timeout_for(&self, hook: InterceptKind) -> Duration {
        match hook.may_ask_person() {
            true => self.timeouts.approval,
            false => self.timeouts.interceptor,
        }
    }

    /// Returns the longest time during which it may read no input.
    pub fn longest_timeout(&self) -> Duration {
        self.timeouts.interceptor.max(self.timeouts.approval)
    }

    /// True if the hook may supply the result of this tool without an approval.
    pub fn vouches_for(&self, tool: &str) -> bool {
        let told = self.dialect.foreign_tool_name(tool);
        ["*", tool, told].iter().any(|name| self.vouches.contains(*name))
    }
}

impl ExtensionSpec {
    /// Creates a process hook with this command. `cwd` is the agent's directory. A command that cannot be found is
    /// reported when the host starts, and the actions that the hook guards are blocked.
    pub fn from_hook(name: ExtensionName, hook: HookSpec, command: &HookCommand, cwd: &Path) -> Self {
        let dir = command.dir.as_ref().map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir));
        Self {
            name,
            version: None,
            launch: command.resolve_launch(&dir),
            dir,
            dialect: ExtensionDialect::Hook(hook.into()),
            origin: ExtensionOrigin::Hook,
            roles: GuardRoles::default(),
            permissions: None,
            level: None,
            description: None,
            lifecycle: Lifecycle { hello: Some(HOOK_HELLO), ..Lifecycle::default() },
            pin: None,
        }
    }
}

impl HookCommand {
    fn resolve_launch(&self, dir: &Path) -> LaunchPlan {
        let Some((program, args)) = self.command.split_first().filter(|(program, _)| !program.is_empty())
        else {
            return LaunchPlan::Impossible { why: "has an empty command; set the program to run".to_owned() };
        };
        let found = match Path::new(program).components().count() {
            1 if !program.contains(std::path::MAIN_SEPARATOR) => find_program(program),
            _ => Ok(dir.join(program)),
        };
        match found {
            Ok(program) => LaunchPlan::Process { program, args: args.to_vec() },
            Err(error) => LaunchPlan::Impossible { why: format!("cannot start: {error}") },
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_adapter_picoclaw::peer::HookDialect;
    use haft_adapter_picoclaw::translate::ToolNames;
    use haft_adapter_picoclaw::wire::{HookSubscriptions, InterceptPoint};

    use super::*;

    #[track_caller]
    fn check(command: &[&str], dir: Option<&str>, expect: Result<&str, &str>) {
        let command = HookCommand {
            command: command.iter().map(|&part| part.to_owned()).collect(),
            dir: dir.map(PathBuf::from),
        };
        let watch = HookSubscriptions::parse(&["*"], &["approve_tool"]).unwrap();
        let name = ExtensionName::new("gate");
        let spec = ExtensionSpec::from_hook(name, HookSpec::new(watch), &command, Path::new("/project"));
        match (&spec.launch, expect) {
            (LaunchPlan::Process { program, args }, Ok(expect)) => {
                assert_eq!(
                    format!("{} {} in {}", program.display(), args.join(" "), spec.dir.display()),
                    expect
                );
            }
            (LaunchPlan::Impossible { why }, Err(expect)) => assert!(why.contains(expect), "{why}"),
            (launch, _) => panic!("{launch:?}"),
        }
    }

    #[cfg(unix)]
    #[test]
    fn finds_command_in_path_or_relative_to_directory() {
        let shell = find_program("sh").unwrap();
        check(&["sh", "-c", "x"], None, Ok(&format!("{} -c x in /project", shell.display())));
        check(
            &["./gate.py", "$HOME ~"],
            Some("hooks"),
            Ok("/project/hooks/./gate.py $HOME ~ in /project/hooks"),
        );
        check(&["bin/gate"], None, Ok("/project/bin/gate  in /project"));
        check(&["/opt/gate"], Some("/srv"), Ok("/opt/gate  in /srv"));
        check(&["no-such-program-here"], None, Err("no program named no-such-program-here"));
        check(&[], None, Err("empty command"));
        check(&[""], None, Err("empty command"));
    }

    #[test]
    fn each_point_has_its_deadline() {
        let hook = HookSpec::new(HookSubscriptions::parse::<&str>(&["*"], &[]).unwrap());
        let seconds: Vec<u64> =
            InterceptPoint::ALL.iter().map(|point| hook.timeout_for(point.hook()).as_secs()).collect();
        assert_eq!(seconds, [5, 5, 5, 5, 60]);
    }

    #[test]
    fn vouches_only_for_named_tools() {
        let watch = HookSubscriptions::parse::<&str>(&["*"], &[]).unwrap();
        let mut hook = HookSpec::new(watch.clone());
        assert!(!hook.vouches_for("bash"));
        hook.vouches = BTreeSet::from(["bash".to_owned()]);
        assert!(hook.vouches_for("bash") && !hook.vouches_for("read"));
        hook.vouches = BTreeSet::from(["exec".to_owned()]);
        assert!(!hook.vouches_for("bash"));
        hook.dialect = HookDialect { tool_names: ToolNames::PicoClaw, ..HookDialect::new(watch) }.into();
        assert!(hook.vouches_for("bash"));
        hook.vouches = BTreeSet::from(["*".to_owned()]);
        assert!(hook.vouches_for("read"));
    }
}
