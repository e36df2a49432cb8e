//! The description of an extension that comes as a pair of streams.

use std::path::PathBuf;

use haft_packages::{ExtensionDialect, ExtensionOrigin, ExtensionSpec, GuardRoles, LaunchPlan, Lifecycle};
use haft_protocol::ids::ExtensionName;

/// Returns the description of an extension of this name that comes as a pair of streams.
pub(crate) fn stream_spec(name: &str) -> ExtensionSpec {
    ExtensionSpec {
        name: ExtensionName::new(name),
        version: None,
        dir: PathBuf::new(),
        launch: LaunchPlan::ThemeOnly,
        dialect: ExtensionDialect::Native,
        origin: ExtensionOrigin::BuiltIn,
        roles: GuardRoles::default(),
        permissions: None,
        level: None,
        description: None,
        lifecycle: Lifecycle::default(),
        pin: None,
    }
}
