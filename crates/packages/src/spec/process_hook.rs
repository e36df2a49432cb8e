//! The user's configuration of one process hook.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_launch::find_program;
use haft_protocol::hook::{HookMode, HookSubscriptions, InterceptPoint};
use haft_protocol::ids::ExtensionName;

use super::{ExtensionDialect, ExtensionOrigin, ExtensionSpec};
use crate::manifest::{GuardRoles, LaunchPlan, Lifecycle};
use crate::timeouts::{HOOK_APPROVAL, HOOK_HELLO, HOOK_INTERCEPT};

/// A process hook: what it is asked and told, and what the user lets it do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSpec {
    /// The questions and events of the hook: `observe` and `intercept`.
    pub watch: HookSubscriptions,
    /// The form of its events.
    pub event_form: EventForm,
    /// Of several hooks the one with the lowest number is asked first; of equals, the one whose name comes first.
    pub priority: i32,
    /// The deadlines of its answers.
    pub timeouts: HookTimeouts,
    /// Tool calls that it does not decide about in time are made (`on_timeout = "allow"`).
    pub on_timeout_allow: bool,
    /// Tools in whose place its answers count without the word of those who approve calls; `*` for every tool. What only
    /// hooks know needs none.
    pub vouches: BTreeSet<String>,
    /// Set in its environment, beside all of this program's; beside what extensions get, where it is confined.
    pub env: BTreeMap<String, String>,
    /// The tool names that it knows.
    pub tool_names: ToolNames,
    /// True if the project brings it, so that it runs only as long as that is what the user trusts.
    pub from_project: bool,
    /// The files that its process runs or reads as code, absolute, whether they are there or not: once one of them is not
    /// what it was at its first start, it is not started again.
    pub code: Vec<PathBuf>,
}

/// The tool names that a hook is told and may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum ToolNames {
    /// haft's own.
    #[default]
    Haft,
    /// PicoClaw's, of the tools that it has as well. All others are called as haft calls them.
    PicoClaw,
}

/// haft's name and PicoClaw's. It has no tools like `grep` and `find`.
const BOTH: &[(&str, &str)] = &[
    ("bash", "exec"),
    ("read", "read_file"),
    ("write", "write_file"),
    ("edit", "edit_file"),
    ("ls", "list_dir"),
];

impl ToolNames {
    /// Returns the name that the hook knows a tool by.
    pub fn hook_name(self, name: &str) -> &str {
        let pair = BOTH.iter().find(|(own, _)| self == Self::PicoClaw && *own == name);
        pair.map_or(name, |(_, told)| told)
    }

    /// Which tool a hook means by this name.
    pub fn tool_name(self, name: &str) -> &str {
        let pair = BOTH.iter().find(|(_, told)| self == Self::PicoClaw && *told == name);
        pair.map_or(name, |(own, _)| own)
    }
}

/// The form of a hook's events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum EventForm {
    /// As `hook.runtime_event`, which PicoClaw sends from 0.2.9 on.
    #[default]
    Runtime,
    /// As `hook.event` with the kind by name, which PicoClaw's documents show (`event_kind = "name"`).
    Name,
    /// As `hook.event` with the kind as a number, which PicoClaw sent to 0.2.8 (`event_kind = "number"`).
    Number,
}

/// The deadlines of a hook's answers. Nothing waits for one that is only told something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookTimeouts {
    /// Before and after a call of the model, before and after a tool.
    pub interceptor: Duration,
    /// The approval of a tool: a person may be asked.
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
    /// The program and its arguments, which no shell reads. A program without a slash is looked for in `PATH`, one with a
    /// slash from `dir` on.
    pub command: Vec<String>,
    /// Where it runs, seen from the directory that the agent works in; that directory itself, if not set.
    pub dir: Option<PathBuf>,
}

impl HookSpec {
    /// A hook with PicoClaw's times, for which the user has said nothing more.
    pub fn new(watch: HookSubscriptions) -> Self {
        Self {
            watch,
            event_form: EventForm::default(),
            priority: 0,
            timeouts: HookTimeouts::default(),
            on_timeout_allow: false,
            vouches: BTreeSet::new(),
            env: BTreeMap::new(),
            tool_names: ToolNames::default(),
            from_project: false,
            code: Vec::new(),
        }
    }

    /// Returns the deadline of its answer there.
    pub fn timeout_for(&self, point: InterceptPoint) -> Duration {
        match point.mode() {
            HookMode::Approve => self.timeouts.approval,
            HookMode::Observe | HookMode::Llm | HookMode::Tool => self.timeouts.interceptor,
        }
    }

    /// The longest time in which it may have a reason to read nothing.
    pub fn longest_timeout(&self) -> Duration {
        self.timeouts.interceptor.max(self.timeouts.approval)
    }

    /// True if its answers count in place of this tool without an approval.
    pub fn vouches_for(&self, tool: &str) -> bool {
        let told = self.tool_names.hook_name(tool);
        ["*", tool, told].iter().any(|name| self.vouches.contains(*name))
    }
}

impl ExtensionSpec {
    /// A process hook, started by this command. `cwd` is the directory that the agent works in. A command that cannot be
    /// found is reported when the host starts, and what the hook guards is blocked.
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
            return LaunchPlan::Impossible {
                why: "has an empty command; name the program to run".to_owned(),
            };
        };
        let found = match Path::new(program).components().count() {
            1 if !program.contains(std::path::MAIN_SEPARATOR) => find_program(program),
            _ => Ok(dir.join(program)),
        };
        match found {
            Ok(program) => LaunchPlan::Process { program, args: args.to_vec() },
            Err(error) => LaunchPlan::Impossible { why: format!("cannot be started: {error}") },
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn a_command_is_found_in_the_path_or_from_its_directory_on() {
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
    fn each_class_has_its_time() {
        let hook = HookSpec::new(HookSubscriptions::parse::<&str>(&["*"], &[]).unwrap());
        let seconds: Vec<u64> =
            InterceptPoint::ALL.iter().map(|point| hook.timeout_for(*point).as_secs()).collect();
        assert_eq!(seconds, [5, 5, 5, 5, 60]);
    }

    #[test]
    fn a_hook_that_knows_hafts_names_is_told_them() {
        let names = ToolNames::Haft;
        for (own, other) in BOTH {
            assert_eq!((names.hook_name(own), names.tool_name(other)), (*own, *other));
            assert_eq!(ToolNames::PicoClaw.tool_name(ToolNames::PicoClaw.hook_name(own)), *own);
        }
    }

    #[test]
    fn it_vouches_for_what_the_user_names() {
        let mut hook = HookSpec::new(HookSubscriptions::parse::<&str>(&["*"], &[]).unwrap());
        assert!(!hook.vouches_for("bash"));
        hook.vouches = BTreeSet::from(["bash".to_owned()]);
        assert!(hook.vouches_for("bash") && !hook.vouches_for("read"));
        hook.vouches = BTreeSet::from(["exec".to_owned()]);
        assert!(!hook.vouches_for("bash"));
        hook.tool_names = ToolNames::PicoClaw;
        assert!(hook.vouches_for("bash"));
        hook.vouches = BTreeSet::from(["*".to_owned()]);
        assert!(hook.vouches_for("read"));
    }
}
