//! The sandboxes that `[grant.NAME]` configures.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use haft_config::{Config, GrantSettings, SandboxLevel, SandboxNet, SourcedValue};
use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use haft_packages::{ExecPermission, ExtensionSpec, GrantedPath, SandboxGrant};
use haft_protocol::ids::ExtensionName;

/// Returns the configured sandboxes by extension name; `None` turns the sandbox of an extension off. Extensions without
/// configuration are absent.
///
/// # Errors
/// An invalid path, or limits without a sandbox.
pub(crate) fn sandbox_grants(
    config: &Config,
) -> anyhow::Result<BTreeMap<ExtensionName, Option<SandboxGrant>>> {
    let home = std::env::home_dir();
    let mut all = BTreeMap::new();
    for (name, granted) in &config.grant {
        match granted_level(granted) {
            Some(level) => {
                let grant = sandbox_grant(name, level, granted, home.as_deref())?;
                all.insert(ExtensionName::new(name.as_str()), Some(grant));
            }
            None => {
                refuse_unbounded(name, granted)?;
                if granted.sandbox.is_some() {
                    all.insert(ExtensionName::new(name.as_str()), None);
                }
            }
        }
    }
    Ok(all)
}

/// Returns the sandbox level of an extension: the user's grant, otherwise its own.
pub(crate) fn level_of(config: &Config, spec: &ExtensionSpec) -> Option<ConfinementLevel> {
    match config.grant.get(spec.name.as_str()) {
        Some(granted) if granted.sandbox.is_some() => granted_level(granted),
        Some(_) | None => spec.level,
    }
}

/// Returns the sandbox level of a process hook: the user's grant.
pub(crate) fn level_of_hook(config: &Config, name: &str) -> Option<ConfinementLevel> {
    config.grant.get(name).and_then(granted_level)
}

fn granted_level(granted: &GrantSettings) -> Option<ConfinementLevel> {
    match granted.sandbox.as_ref()?.value {
        SandboxLevel::None => None,
        SandboxLevel::Standard => Some(ConfinementLevel::Standard),
        SandboxLevel::Strict => Some(ConfinementLevel::Strict),
    }
}

fn sandbox_grant(
    name: &str,
    level: ConfinementLevel,
    granted: &GrantSettings,
    home: Option<&Path>,
) -> anyhow::Result<SandboxGrant> {
    let paths = |key: &str, said: &Option<SourcedValue<Vec<String>>>| -> anyhow::Result<Vec<GrantedPath>> {
        let Some(said) = said else { return Ok(Vec::new()) };
        let parsed = said.value.iter().map(|text| GrantedPath::parse(text, home));
        let parsed: Result<Vec<_>, _> = parsed.collect();
        parsed.with_context(|| format!("{}: grant.{name}.{key}", said.origin))
    };
    let net = granted.net.as_ref().map_or(SandboxNet::None, |said| said.value);
    if let (ConfinementLevel::Standard, SandboxNet::Loopback, Some(said)) = (level, net, &granted.net) {
        anyhow::bail!("{}: grant.{name}.net: \"loopback\" needs sandbox = \"strict\"", said.origin);
    }
    Ok(SandboxGrant {
        level,
        read: paths("read", &granted.read)?,
        write: paths("write", &granted.write)?,
        exec: paths("exec", &granted.exec)?,
        programs: ExecPermission::Any,
        net: match net {
            SandboxNet::None => NetworkAccess::None,
            SandboxNet::Loopback => NetworkAccess::Loopback,
            SandboxNet::All => NetworkAccess::All,
        },
    })
}

/// Rejects limits without a sandbox: their author would believe that the extension is sandboxed.
fn refuse_unbounded(name: &str, granted: &GrantSettings) -> anyhow::Result<()> {
    let paths = [("read", &granted.read), ("write", &granted.write), ("exec", &granted.exec)];
    let paths = paths.into_iter().filter_map(|(key, said)| Some((key, &said.as_ref()?.origin)));
    let net = granted.net.as_ref().map(|said| ("net", &said.origin));
    match paths.chain(net).next() {
        None => Ok(()),
        Some((key, origin)) => Err(anyhow::anyhow!(
            "{origin}: grant.{name}.{key} has no effect without a sandbox; add sandbox = \"standard\" to [grant.{name}], \
             or remove the key"
        )),
    }
}

#[cfg(test)]
mod tests {
    use haft_config::{ConfigFiles, ConfigLayer, Home, Project, ProjectTrust};

    use super::*;

    fn granted_by(text: &str) -> Result<BTreeMap<ExtensionName, Option<SandboxGrant>>, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.toml"), text).unwrap();
        let project = Project { dir: dir.path().join("w"), trust: ProjectTrust::Untrusted };
        let files = ConfigFiles::read(&Home::at(dir.path()), &project).unwrap();
        let layer = || ConfigLayer::from_env(|_| None).unwrap();
        sandbox_grants(&files.merge_unchecked(layer(), layer(), &|_, _| None))
            .map_err(|error| format!("{error:#}"))
    }

    #[track_caller]
    fn check_mistake(text: &str, expect: &[&str]) {
        let error = granted_by(text).unwrap_err();
        for part in expect {
            assert!(error.contains(part), "{error} should contain {part}");
        }
    }

    #[test]
    fn grants_exactly_the_configured_sandboxes() {
        let text = "[grant.a]\nsandbox = 'standard'\n[grant.b]\nsandbox = 'none'\n[grant.c]\nenv = []\n\
                    [grant.d]\nsandbox = 'strict'\nread = ['/r']\nwrite = ['$DATA/w']\nexec = ['/e']\nnet = 'loopback'\n";
        let all = granted_by(text).unwrap();
        let path = |text| vec![GrantedPath::parse(text, None).unwrap()];
        let expect = [
            (ExtensionName::new("a"), Some(SandboxGrant::new(ConfinementLevel::Standard))),
            (ExtensionName::new("b"), None),
            (
                ExtensionName::new("d"),
                Some(SandboxGrant {
                    level: ConfinementLevel::Strict,
                    read: path("/r"),
                    write: path("$DATA/w"),
                    exec: path("/e"),
                    programs: ExecPermission::Any,
                    net: NetworkAccess::Loopback,
                }),
            ),
        ];
        assert_eq!(all, BTreeMap::from(expect));
    }

    #[test]
    fn reports_mistakes_with_line() {
        check_mistake(
            "[grant.a]\nsandbox = 'standard'\nread = ['/x', 'maps']",
            &["config.toml:3: grant.a.read", "\"maps\" is not absolute"],
        );
        check_mistake("[grant.a]\nread = ['/x']", &["config.toml:2: grant.a.read has no effect"]);
        check_mistake(
            "[grant.a]\nsandbox = 'none'\nnet = 'none'",
            &["config.toml:3: grant.a.net has no effect"],
        );
        check_mistake(
            "[grant.a]\nsandbox = 'standard'\nnet = 'loopback'",
            &["config.toml:3: grant.a.net", "needs sandbox = \"strict\""],
        );
    }
}
