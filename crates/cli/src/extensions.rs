//! The extensions that a run starts, and the notes about the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::{Config, GrantSettings, Owner, ProcessHook, SandboxLevel, SettingOrigin};
use haft_core::sanitize::sanitize_line;
use haft_host::{DiscoveredExtensions, SpecSource};
use haft_packages::discovery::{Discovery, DiscoveryOptions, SkipReason, SkippedExtension};
use haft_packages::{ExtensionOrigin, ExtensionSpec};

use crate::console::{BANNER, note, prefixed_rows};
use crate::exit::{Exit, OrExit as _};
use crate::hooks::{self, HookLaunchContext, MergedSpecs};

/// Settings of a trusted project that apply only to its own extensions: the place of the first key, by extension name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectOnlySettings {
    names: BTreeMap<String, SettingOrigin>,
}

impl ProjectOnlySettings {
    /// Collects the settings from the configuration. Extensions for which the user allows additions by the project are
    /// left out.
    pub(crate) fn from_config(config: &Config) -> Self {
        let may_add = |name: &str| config.grant.get(name).is_some_and(GrantSettings::project_may_add);
        let only =
            config.extension.iter().filter(|(name, _)| !may_add(name)).filter_map(|(name, settings)| {
                let (_, first) = settings.project_only().next()?;
                Some((name.clone(), first.origin.clone()))
            });
        Self { names: only.collect() }
    }

    /// Returns a note about settings of the project for an extension that is not its own.
    fn unused_note(&self, spec: &ExtensionSpec) -> Option<String> {
        let name = spec.name.as_str();
        let origin = self.names.get(name).filter(|_| spec.origin != ExtensionOrigin::Project)?;
        Some(format!(
            "haft: {origin}: ignored, because {name} is the user's extension, not the project's; project_settings = true in \
             the user's [grant.{name}] lets the project set keys that the user does not set"
        ))
    }
}

/// Checks that every extension of the command line can start, and prints a banner for each, because none is pinned. An
/// extension named there can be a gate, so the run must not start without it.
///
/// # Errors
/// The error of the first extension that cannot start.
pub(crate) fn check_named(search: &DiscoveryOptions, config: &Config) -> anyhow::Result<()> {
    let named = DiscoveryOptions {
        explicit: search.explicit.clone(),
        path: search.path.clone(),
        ..DiscoveryOptions::default()
    };
    let found = Discovery::run(&named);
    if let Some(error) = found.errors.into_iter().next() {
        return Err(error).or_exit(Exit::RequiredExtension);
    }
    found.specs.iter().for_each(|spec| note(&banner_text(spec, config)));
    Ok(())
}

/// Returns the code of the user that runs without an approval: the directories of extensions from `--ext` and
/// `extensions`, the files that name process hooks, and the files that the hooks' commands name.
pub(crate) fn unpinned_code(
    search: &DiscoveryOptions,
    hooks: &[ProcessHook],
    hooks_files: &[PathBuf],
    cwd: &Path,
) -> Vec<PathBuf> {
    let unpinned = DiscoveryOptions { global: None, project: None, ..search.clone() };
    let found = Discovery::run(&unpinned).specs.into_iter();
    let dirs = found.filter(|spec| spec.origin != ExtensionOrigin::Project).map(|spec| spec.dir);
    // A change of a project's hook ends the trust.
    let own = hooks.iter().filter(|hook| hook.owner == Owner::User);
    let code = own.flat_map(|hook| hook.code_files(cwd)).map(|named| named.path);
    let files = hooks_files.iter().filter_map(|path| std::path::absolute(path).ok());
    dirs.chain(code.chain(files).filter(|path| path.is_file())).collect()
}

fn banner_text(spec: &ExtensionSpec, config: &Config) -> String {
    let granted = config.grant.get(spec.name.as_str()).and_then(|granted| granted.sandbox.as_ref());
    let how = match granted.map(|said| said.value) {
        None | Some(SandboxLevel::None) => "(not sandboxed, not approved)".to_owned(),
        Some(level) => format!("(sandbox {}, not approved)", level.name()),
    };
    let dir = sanitize_line(&spec.dir.display().to_string());
    prefixed_rows("", "  ", &format!("haft: running {} from {dir} {how}", spec.name), Some(BANNER))
}

/// Returns a note about the extensions of an untrusted project.
fn untrusted_note(skipped: &[&SkippedExtension]) -> Option<String> {
    let names: Vec<_> = skipped.iter().map(|skipped| skipped.name.as_str()).collect();
    let (first, rest) = names.split_first()?;
    let them = if rest.is_empty() {
        format!("extension {first} is")
    } else {
        format!("extensions {} are", names.join(", "))
    };
    Some(format!(
        "haft: {them} not started, because the project is not trusted; run `haft trust` to review and trust it"
    ))
}

/// Returns the discovery for the start and for every reload. It prints notes about extensions that do not run. Disabled
/// extensions are mentioned only if the command line names them. The host reports extensions that cannot run.
pub(crate) fn spec_source(
    search: DiscoveryOptions,
    hooks: Vec<ProcessHook>,
    context: HookLaunchContext,
    only_projects: ProjectOnlySettings,
    granted: Vec<String>,
) -> SpecSource {
    Arc::new(move || {
        let found = Discovery::run(&search);
        let reported = found
            .skipped
            .iter()
            .filter(|skipped| {
                skipped.reason != SkipReason::Disabled || skipped.origin == ExtensionOrigin::Explicit
            })
            // The host reports extensions that need the user's attention.
            .filter(|skipped| skipped.reason.code().is_none());
        let (untrusted, reported): (Vec<_>, Vec<_>) =
            reported.partition(|skipped| skipped.reason == SkipReason::Untrusted);
        reported.iter().for_each(|skipped| note(&format!("haft: {skipped}")));
        untrusted_note(&untrusted).into_iter().for_each(|text| note(&sanitize_line(&text)));
        let not_handed = found.specs.iter().filter_map(|spec| only_projects.unused_note(spec));
        not_handed.for_each(|text| note(&sanitize_line(&text)));
        // An unmatched grant may be for an extension of another project; only likely typos are reported.
        let mut names = extension_names(&found);
        names.extend(hooks.iter().map(|hook| hook.name.as_str()));
        let unmatched = unmatched_grants(granted.iter().map(String::as_str), &names);
        let misspelled = unmatched.iter().filter(|(_, is_meant)| *is_meant);
        misspelled.for_each(|(text, _)| note(&sanitize_line(&format!("haft: {text}"))));
        let MergedSpecs { specs, notes } = hooks::merge_specs(found.specs.clone(), &hooks, &context);
        notes.iter().for_each(|text| note(&sanitize_line(&format!("haft: {text}"))));
        let found = DiscoveredExtensions { specs, ..found.into() };
        // With --no-ext, the user runs none of their own extensions.
        match search.approved.as_ref().filter(|_| search.global.is_some()) {
            Some(approved) => found.with_recorded(approved),
            None => found,
        }
    })
}

/// The maximum number of wrong letters in a misspelled name.
const MISSPELT: usize = 2;

/// Returns a line for each name in `granted` that is not in `known`; true if it is a likely typo of a known name.
pub(crate) fn unmatched_grants<'a>(
    granted: impl Iterator<Item = &'a str>,
    known: &BTreeSet<&str>,
) -> Vec<(String, bool)> {
    let unmatched = granted.filter(|name| !known.contains(name));
    unmatched
        .map(|name| {
            let meant = known.iter().copied().find(|other| is_likely_typo(name, other));
            let rest = match meant {
                Some(other) => format!("did you mean {other}?"),
                None => "another project may have it".to_owned(),
            };
            (format!("config.toml: [grant.{name}] matches no extension here; {rest}"), meant.is_some())
        })
        .collect()
}

/// Returns all names that were found, including those of extensions that do not run.
pub(crate) fn extension_names(found: &Discovery) -> BTreeSet<&str> {
    let specs = found.specs.iter().map(|spec| spec.name.as_str());
    let skipped = found.skipped.iter().map(|skipped| skipped.name.as_str());
    specs.chain(skipped).chain(found.errors.iter().map(|error| error.name.as_str())).collect()
}

fn is_likely_typo(name: &str, other: &str) -> bool {
    let plain = |text: &str| text.to_ascii_lowercase().replace('_', "-");
    let (name, other) = (plain(name), plain(other));
    name == other || (name.len() > 2 * MISSPELT && strsim::osa_distance(&name, &other) <= MISSPELT)
}

#[cfg(test)]
mod tests {
    use haft_config::HooksFile;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn unpinned_code_is_that_of_extensions_and_hooks_of_the_user() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        let write = |file: &str, text: &str| std::fs::write(cwd.join(file), text).unwrap();
        for name in ["tool", "other"] {
            std::fs::create_dir(cwd.join(name)).unwrap();
            write(&format!("{name}/extension.json"), &format!(r#"{{"name":"{name}","exec":"./run"}}"#));
            std::fs::copy("/bin/sh", cwd.join(name).join("run")).unwrap();
        }
        write("gate.py", "");
        write(
            "hooks.json",
            r#"{"hooks":{"enabled":true,"processes":{"gate":{"enabled":true,"command":["python3","gate.py","missing.py"],
               "observe":["tool_exec_end"]}}}}"#,
        );
        let file = HooksFile::load(&cwd.join("hooks.json")).unwrap();
        assert_eq!(file.hooks().len(), 1);
        let search = DiscoveryOptions { explicit: vec![cwd.join("tool")], ..DiscoveryOptions::default() };
        let code = unpinned_code(&search, file.hooks(), &[cwd.join("hooks.json")], &cwd);
        let own: Vec<_> = code.iter().filter(|path| path.starts_with(&cwd)).collect();
        assert_eq!(own, [&cwd.join("tool"), &cwd.join("gate.py"), &cwd.join("hooks.json")]);
    }

    #[track_caller]
    fn check(granted: &str, known: &[&str], expect: &[(&str, bool)]) {
        let known = known.iter().copied().collect();
        let lines = unmatched_grants(std::iter::once(granted), &known);
        let lines: Vec<_> = lines.iter().map(|(text, meant)| (text.as_str(), *meant)).collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn suggests_known_name_for_unmatched_grant() {
        check("weather", &["guard", "weather"], &[]);
        let weather = "config.toml: [grant.wether] matches no extension here; did you mean weather?";
        check("wether", &["guard", "weather"], &[(weather, true)]);
        let case = "config.toml: [grant.Weather_x] matches no extension here; did you mean weather-x?";
        check("Weather_x", &["weather-x"], &[(case, true)]);
        let other = "config.toml: [grant.abc] matches no extension here; another project may have it";
        check("abc", &["abd"], &[(other, false)]);
    }
}
