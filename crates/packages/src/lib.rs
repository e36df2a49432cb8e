//! Extensions as files: manifest, permissions, discovery, install, approval, lock file, pins.
//!
//! For whom: the host, which runs what is found here, and front ends that list, install and approve extensions. The
//! promise: nothing is run by finding, showing or installing it, and an extension that the user approved is described
//! byte for byte. Never in here: the process of an extension, an asynchronous runtime.

mod approved;
pub mod discovery;
pub mod environment;
pub mod file_name;
pub mod hash;
pub mod install;
pub mod manifest;
pub mod state_files;

mod glance;
mod grant;
mod open;
mod pins;
mod project_check;
mod spec;
mod timeouts;

pub use environment::{ExtensionEnv, GrantError, check_grant};
pub use grant::{ExecPermission, GrantedPath, PathError, SandboxGrant};
pub use manifest::permission::{
    FsPermissions, InterceptPermission, InterceptPermissionRole, PermissionLine, Permissions, ToolEffect,
    ToolPermissions,
};
pub use manifest::{GuardRoles, LaunchPlan, Lifecycle};
pub use pins::{PinnedTool, ToolPins};
pub use project_check::ProjectCheck;
pub use spec::{
    EventForm, ExtensionDialect, ExtensionOrigin, ExtensionSpec, HookCommand, HookSpec, HookTimeouts,
    ToolNames,
};
