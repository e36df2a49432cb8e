//! Extensions to run: one extension as discovery found it, or as `--ext` named it.

mod process_hook;

use std::path::PathBuf;
use std::sync::Arc;

use haft_launch::sandbox::ConfinementLevel;
use haft_protocol::ids::ExtensionName;

use crate::approved::CodePin;
use crate::manifest::permission::Permissions;
use crate::manifest::{GuardRoles, LaunchPlan, Lifecycle};

pub use process_hook::{EventForm, HookCommand, HookSpec, HookTimeouts, ToolNames};

/// One extension to run: what discovery found or `--ext` named.
///
/// ```
/// use std::path::PathBuf;
///
/// use haft_packages::{ExtensionDialect, ExtensionSpec, LaunchPlan, Lifecycle, ExtensionOrigin, GuardRoles};
/// use haft_protocol::ids::ExtensionName;
///
/// /// A guard that a program brings along: without it no tool runs.
/// fn guard(dir: PathBuf) -> ExtensionSpec {
///     ExtensionSpec {
///         name: ExtensionName::new("guard"),
///         version: None,
///         launch: LaunchPlan::Process { program: dir.join("guard"), args: vec!["--strict".into()] },
///         dir,
///         dialect: ExtensionDialect::Native,
///         origin: ExtensionOrigin::BuiltIn,
///         roles: GuardRoles { required: true, ..Roles::default() },
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
    /// The start of the extension.
    pub launch: LaunchPlan,
    /// The dialect.
    pub dialect: ExtensionDialect,
    /// Where it was found.
    pub origin: ExtensionOrigin,
    /// The promises of the manifest about its intercepts.
    pub roles: GuardRoles,
    /// The granted permissions; none for a plain extension, from which the protocol keeps nothing.
    pub permissions: Option<Permissions>,
    /// The level of the sandbox that it runs in, unless the user says another one; none to run with this program's rights.
    pub level: Option<ConfinementLevel>,
    /// One line for listings.
    pub description: Option<String>,
    /// Its starts and ends, as the manifest says them.
    pub lifecycle: Lifecycle,
    /// The approved content, if it may run only as that. It is held against what is there right before each start.
    pub pin: Option<Arc<CodePin>>,
}

impl ExtensionSpec {
    /// True if it is run only while its code is what the user looked at, so that nothing may be written beside that.
    pub fn code_is_pinned(&self) -> bool {
        self.is_from_project() || self.pin.is_some()
    }

    /// True if the project brings it.
    pub fn is_from_project(&self) -> bool {
        self.origin == ExtensionOrigin::Project || self.as_hook().is_some_and(|hook| hook.from_project)
    }

    /// Returns the user's configuration of it, if it is a process hook.
    pub fn as_hook(&self) -> Option<&Arc<HookSpec>> {
        match &self.dialect {
            ExtensionDialect::Native => None,
            ExtensionDialect::Hook(hook) => Some(hook),
        }
    }

    /// Its place among all extensions, beside those that are like it.
    pub fn precedence(&self) -> (ExtensionOrigin, Option<(i32, &ExtensionName)>) {
        (self.origin, self.as_hook().map(|hook| (hook.priority, &self.name)))
    }
}

/// The dialect of an extension on its standard input and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtensionDialect {
    /// The native dialect: frames.
    Native,
    /// The dialect of PicoClaw's hooks: JSON-RPC 2.0.
    Hook(Arc<HookSpec>),
}

/// Where an extension was found. The order is the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExtensionOrigin {
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
