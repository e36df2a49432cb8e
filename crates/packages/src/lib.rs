//! Extensions as files: manifest, permissions, discovery, install, approval, lock file, pins.
//!
//! Used by the host, which runs the extensions found here, and by front ends that list, install and approve them.
//! Finding, showing or installing an extension runs none of its code. The approval of an extension covers its files
//! byte for byte. This crate contains no process management of extensions and no asynchronous runtime.

mod approval;
pub mod discovery;
pub mod environment;
pub mod file_name;
pub mod hash;
pub mod install;
pub mod manifest;
pub mod state_files;

mod file_stamp;
mod grant;
mod open;
mod pins;
mod project_check;
mod shell;
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
pub use shell::shell_quote;
pub use spec::{ExtensionDialect, ExtensionOrigin, ExtensionSpec, HookCommand, HookSpec, HookTimeouts};
