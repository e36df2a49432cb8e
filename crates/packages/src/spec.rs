//! What shall run: one extension as discovery found it, or as `--ext` named it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_launch::sandbox::Level;
use haft_protocol::ext::InterceptKind;
use haft_protocol::ids::ExtensionName;

use crate::install::Pin;
use crate::manifest::Activation;
use crate::permission::Permissions;
use crate::process_hook::HookSpec;

/// One extension to run: what discovery found or `--ext` named.
///
/// ```
/// use std::path::PathBuf;
///
/// use haft_packages::{Dialect, ExtensionSpec, Launch, Lifecycle, Origin, Roles};
/// use haft_protocol::ids::ExtensionName;
///
/// /// A guard that a program brings along: without it no tool runs.
/// fn guard(dir: PathBuf) -> ExtensionSpec {
///     ExtensionSpec {
///         name: ExtensionName::new("guard"),
///         version: None,
///         launch: Launch::Process { program: dir.join("guard"), args: vec!["--strict".into()] },
///         dir,
///         dialect: Dialect::Native,
///         origin: Origin::BuiltIn,
///         roles: Roles { required: true, ..Roles::default() },
///         permissions: None,
///         level: None,
///         description: None,
///         lifecycle: Lifecycle::default(),
///         pin: None,
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionSpec {
    /// The manifest's name; what the extension calls itself in `hello` is only compared with it.
    pub name: ExtensionName,
    /// The manifest's version, for listings.
    pub version: Option<String>,
    /// The extension's directory, absolute. Its process starts there and may keep its state there.
    pub dir: PathBuf,
    /// How it is started.
    pub launch: Launch,
    /// What it speaks.
    pub dialect: Dialect,
    /// Where it was found.
    pub origin: Origin,
    /// What the manifest promises about its intercepts.
    pub roles: Roles,
    /// What it is granted; none for a plain extension, from which the protocol keeps nothing.
    pub permissions: Option<Permissions>,
    /// The level of the sandbox that it runs in, unless the user says another one; none to run with this program's rights.
    pub level: Option<Level>,
    /// One line for listings.
    pub description: Option<String>,
    /// What the manifest says about its starts and ends.
    pub lifecycle: Lifecycle,
    /// What the user approved, if it may run only as that. It is held against what is there right before each start.
    pub pin: Option<Arc<Pin>>,
}

impl ExtensionSpec {
    /// Whether it is run only while its code is what the user looked at, so that nothing may be written beside that.
    pub fn code_is_pinned(&self) -> bool {
        self.is_projects() || self.pin.is_some()
    }

    /// Whether the project brings it.
    pub fn is_projects(&self) -> bool {
        self.origin == Origin::Project || self.as_hook().is_some_and(|hook| hook.of_project)
    }

    /// What the user says of it, if it is a process hook.
    pub fn as_hook(&self) -> Option<&Arc<HookSpec>> {
        match &self.dialect {
            Dialect::Native => None,
            Dialect::Hook(hook) => Some(hook),
        }
    }

    /// Its place among all extensions, beside those that are like it.
    pub fn rank(&self) -> (Origin, Option<(i32, &ExtensionName)>) {
        (self.origin, self.as_hook().map(|hook| (hook.priority, &self.name)))
    }
}

/// What a manifest says about when its extension starts and ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lifecycle {
    /// It may leave, with status 0, when nobody waits for an answer; the next question starts it again.
    pub on_demand: bool,
    /// How long it may take to say `hello`, instead of the time that every extension has.
    pub hello: Option<Duration>,
    /// How long it may take from `hello` to `ready`, instead of the time that every extension has.
    pub ready: Option<Duration>,
    /// The uses that start it, with what it offers until then; none for one that starts at once.
    pub activation: Option<Arc<Activation>>,
}

/// What an extension speaks on its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// The native dialect: frames.
    Native,
    /// The dialect of PicoClaw's hooks: JSON-RPC 2.0.
    Hook(Arc<HookSpec>),
}

/// How an extension is started.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Launch {
    /// As a process that speaks its dialect on its standard input and output.
    Process {
        /// The executable, absolute.
        program: PathBuf,
        /// Its arguments, verbatim.
        args: Vec<String>,
    },
    /// Not at all: it only brings files.
    ThemeOnly,
    /// Not at all, though it should be. The host reports it, and blocks what a required extension guards.
    Impossible {
        /// What is wrong, and what to do.
        why: String,
    },
}

/// Where an extension was found. The order is the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// Named on the command line.
    Explicit,
    /// Comes with the program, or was handed over as a pair of streams.
    BuiltIn,
    /// Installed for the user.
    Global,
    /// Lies in the project.
    Project,
    /// A process hook, from the user's configuration.
    Hook,
}

/// What a manifest promises about its extension's intercepts, and so how much it matters when they fail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roles {
    /// Without this extension in place, what it guards does not happen (see [`Roles::guarded`]).
    pub required: bool,
    /// Hooks whose failure blocks. `tool_call` always does.
    pub gates: Vec<InterceptKind>,
    /// A failed `assistant_message` intercept withholds the text.
    pub redactor: bool,
}

impl Roles {
    /// Whether the manifest says that a failure of this hook blocks.
    pub fn names(&self, hook: InterceptKind) -> bool {
        self.gates.contains(&hook) || (self.redactor && hook == InterceptKind::AssistantMessage)
    }

    /// Whether this hook must be in place: it is named by a required extension, or it is `tool_call` and a required
    /// extension names none.
    pub fn guarded(&self, hook: InterceptKind) -> bool {
        let unnamed = self.gates.is_empty() && !self.redactor;
        self.required && (self.names(hook) || (unnamed && hook == InterceptKind::ToolCall))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_required_extension_guards_what_it_names_or_tool_calls() {
        let required = Roles { required: true, ..Roles::default() };
        assert!(required.guarded(InterceptKind::ToolCall));
        assert!(!required.guarded(InterceptKind::TurnStart));

        let redactor = Roles { redactor: true, ..required };
        assert!(redactor.guarded(InterceptKind::AssistantMessage));
        assert!(!redactor.guarded(InterceptKind::ToolCall));

        let optional = Roles { gates: vec![InterceptKind::TurnStart], ..Roles::default() };
        assert!(optional.names(InterceptKind::TurnStart));
        assert!(!optional.guarded(InterceptKind::TurnStart));
    }
}
