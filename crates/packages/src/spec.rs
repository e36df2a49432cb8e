//! Extensions to run, as found by discovery or named by `--ext`.

mod process_hook;

use std::path::PathBuf;
use std::sync::Arc;

use haft_launch::sandbox::ConfinementLevel;
use haft_protocol::ids::ExtensionName;

use crate::approval::CodePin;
use crate::manifest::permission::Permissions;
use crate::manifest::{GuardRoles, LaunchPlan, Lifecycle};

pub use process_hook::{HookCommand, HookSpec, HookTimeouts};

/// An extension to run, as found by discovery or named by `--ext`.
///
/// ```
/// use std::path::PathBuf;
///
/// use haft_packages::{ExtensionDialect, ExtensionSpec, LaunchPlan, Lifecycle, ExtensionOrigin, GuardRoles};
/// use haft_protocol::ids::ExtensionName;
///
/// /// A gate that is part of a program: without it no tool runs.
/// fn guard(dir: PathBuf) -> ExtensionSpec {
///     ExtensionSpec {
///         name: ExtensionName::new("guard"),
///         version: None,
///         launch: LaunchPlan::Process { program: dir.join("guard"), args: vec!["--strict".into()] },
///         dir,
///         dialect: ExtensionDialect::Native,
///         origin: ExtensionOrigin::BuiltIn,
///         roles: GuardRoles { required: true, ..GuardRoles::default() },
///         permissions: None,
///         level: None,
///         description: None,
///         lifecycle: Lifecycle::default(),
///         pin: None,
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct ExtensionSpec {
    /// The manifest's name. The name in `hello` is only compared with it.
    pub name: ExtensionName,
    /// The manifest's version, for listings.
    pub version: Option<String>,
    /// The absolute path of its directory. The process starts there and may keep its state there.
    pub dir: PathBuf,
    /// The start of the extension.
    pub launch: LaunchPlan,
    /// The protocol that it speaks.
    pub dialect: ExtensionDialect,
    /// The origin of the extension.
    pub origin: ExtensionOrigin,
    /// The intercepts that the manifest declares.
    pub roles: GuardRoles,
    /// The granted permissions; `None` for an extension that the protocol does not restrict.
    pub permissions: Option<Permissions>,
    /// The default level of its sandbox; `None` to run with this program's rights.
    pub level: Option<ConfinementLevel>,
    /// One line for listings.
    pub description: Option<String>,
    /// The start and the end of its process, from the manifest.
    pub lifecycle: Lifecycle,
    /// The approved code, if only that may run. It is compared with the present files before each start.
    pub pin: Option<Arc<CodePin>>,
}

impl ExtensionSpec {
    /// True if the extension runs only with unchanged code, so that no file may be written beside it.
    pub fn code_is_pinned(&self) -> bool {
        self.is_from_project() || self.pin.is_some()
    }

    /// True if the extension comes from the project.
    pub fn is_from_project(&self) -> bool {
        self.origin == ExtensionOrigin::Project || self.as_hook().is_some_and(|hook| hook.from_project)
    }

    /// Returns the user's configuration if the extension is a process hook.
    pub fn as_hook(&self) -> Option<&Arc<HookSpec>> {
        match &self.dialect {
            ExtensionDialect::Native => None,
            ExtensionDialect::Hook(hook) => Some(hook),
        }
    }

    /// Returns its rank among all extensions.
    pub fn precedence(&self) -> (ExtensionOrigin, Option<(i32, &ExtensionName)>) {
        (self.origin, self.as_hook().map(|hook| (hook.priority, &self.name)))
    }
}

/// The protocol of an extension on standard input and output.
#[derive(Debug, Clone)]
pub enum ExtensionDialect {
    /// haft's extension protocol, made of frames.
    Native,
    /// Another protocol, which an adapter translates.
    Hook(Arc<HookSpec>),
}

/// The origin of an extension. The order is the order of precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExtensionOrigin {
    /// Named on the command line.
    Explicit,
    /// Part of the program, or passed as a pair of streams.
    BuiltIn,
    /// Installed for the user.
    Global,
    /// In the project.
    Project,
    /// A process hook, from the user's configuration.
    Hook,
}
