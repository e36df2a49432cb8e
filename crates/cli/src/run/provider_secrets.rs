//! The keys of providers, which neither commands nor results of tools contain.

use std::path::Path;

use haft_config::MachineWithKeys;
use haft_core::TextFilter;
use haft_providers::{KeyRedactor, known_keys};
use haft_tools::HostEnvironment;

use crate::args::RunArgs;
use crate::setup::RunSetup;

/// The keys that haft knows, and the variables that contain keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProviderSecrets {
    pub(crate) keys: KeyRedactor,
    /// The variables that `models.json` names for keys. Their names need not look like those of secrets.
    variables: Vec<String>,
}

impl ProviderSecrets {
    /// Collects the keys of all providers, and the key in the arguments.
    pub(crate) fn new(args: &RunArgs, setup: &RunSetup) -> Self {
        let stored = known_keys(&setup.models, &MachineWithKeys::new(&setup.auth));
        // The user can permit any variable with `tools.env`.
        let permitted = &setup.config.tools.env.value;
        let variables = setup.models.key_variables().filter(|name| !permitted.iter().any(|env| env == name));
        Self {
            keys: KeyRedactor::new(stored.iter().chain(&args.model.api_key)),
            variables: variables.map(str::to_owned).collect(),
        }
    }

    /// Keeps the variables from commands, and the keys from the output that is stored.
    pub(crate) fn keep_from_commands(&self, environment: HostEnvironment) -> HostEnvironment {
        environment
            .without_variables(self.variables.iter().map(String::as_str))
            .with_output_filter(self.text_filter())
    }

    /// Returns a filter that removes the keys.
    pub(crate) fn text_filter(&self) -> TextFilter {
        self.keys.clone().into()
    }
}

/// Makes the directory of complete results inaccessible to other users, as they contain what commands read. Earlier
/// versions created it with the usual rights.
pub(crate) fn make_results_private(dir: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let is_open = |data: &std::fs::Metadata| data.is_dir() && data.permissions().mode() & 0o077 != 0;
        if std::fs::symlink_metadata(dir).is_ok_and(|data| is_open(&data))
            && let Err(error) = std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))
        {
            tracing::warn!(dir = %dir.display(), %error, "other users can read the directory of results");
        }
    }
    #[cfg(not(unix))]
    let _ = dir;
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn closes_directory_of_results_to_others() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("results");
        make_results_private(&dir);
        assert!(!dir.exists());
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        make_results_private(&dir);
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        // A link may lead to a directory that others need.
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path(), &link).unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o755)).unwrap();
        make_results_private(&link);
        assert_eq!(fs::metadata(root.path()).unwrap().permissions().mode() & 0o777, 0o755);
    }
}
