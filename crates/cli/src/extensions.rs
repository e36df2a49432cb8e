//! Which extensions a run starts, and what the user is told about the others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use haft_config::{Config, GrantSettings, ProcessHook, SandboxLevel, SettingOrigin};
use haft_core::sanitize::sanitize_line;
use haft_host::{DiscoveredExtensions, SpecSource};
use haft_packages::discovery::{Discovery, DiscoveryOptions, SkipReason, SkippedExtension};
use haft_packages::{ExtensionOrigin, ExtensionSpec};

use crate::console::{BANNER, note, prefixed_rows};
use crate::exit::{Exit, OrExit as _};
use crate::hooks::{self, HookLaunchContext, MergedSpecs};

/// Settings of a trusted project for extensions of its own: where the first key of each stands, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectOnlySettings {
    names: BTreeMap<String, SettingOrigin>,
}

impl ProjectOnlySettings {
    /// Reads the files. Where the user lets the project add something, what it sets beside that is passed over as that
    /// says.
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
            "haft: {origin}: the extension {name} runs as the user's own, so this is not used; project_settings = true in \
             the user's [grant.{name}] lets the project set what the user does not"
        ))
    }
}

/// Makes sure that every extension that the command line names can be started, and says of each that nothing keeps it to
/// what was approved. Who names one wants it in place: a run without it could do what it was to prevent.
///
/// # Errors
/// What is wrong with the first one that cannot be used.
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
    found.specs.iter().for_each(|spec| note(&banner(spec, config)));
    Ok(())
}

fn banner(spec: &ExtensionSpec, config: &Config) -> String {
    let granted = config.grant.get(spec.name.as_str()).and_then(|granted| granted.sandbox.as_ref());
    let how = match granted.map(|said| said.value) {
        None | Some(SandboxLevel::None) => "unconfined, unpinned".to_owned(),
        Some(level) => format!("unpinned, in a sandbox of level {}", level.name()),
    };
    let dir = sanitize_line(&spec.dir.display().to_string());
    prefixed_rows("", "  ", &format!("haft: running {} from {dir} {how}", spec.name), Some(BANNER))
}

/// Those of a project that is not trusted, in one line.
fn untrusted_note(skipped: &[&SkippedExtension]) -> Option<String> {
    let names: Vec<_> = skipped.iter().map(|skipped| skipped.name.as_str()).collect();
    let (first, rest) = names.split_first()?;
    let them = if rest.is_empty() {
        format!("extension {first} is")
    } else {
        format!("extensions {} are", names.join(", "))
    };
    Some(format!(
        "haft: {them} not run, because the project is not trusted; `haft trust` shows and allows it"
    ))
}

/// Looks for extensions, at the start and at every reload. Says on standard error which are there and may not
/// run; one that the user disabled is passed over in silence, unless the command line names it. What cannot run is reported by the host.
pub(crate) fn spec_source(
    search: DiscoveryOptions,
    hooks: Vec<ProcessHook>,
    ground: HookLaunchContext,
    only_projects: ProjectOnlySettings,
    granted: Vec<String>,
) -> SpecSource {
    Arc::new(move || {
        let found = Discovery::run(&search);
        let told = found
            .skipped
            .iter()
            .filter(|skipped| {
                skipped.reason != SkipReason::Disabled || skipped.origin == ExtensionOrigin::Explicit
            })
            // What the user has to look at is reported by the host.
            .filter(|skipped| skipped.reason.code().is_none());
        let (untrusted, told): (Vec<_>, Vec<_>) =
            told.partition(|skipped| skipped.reason == SkipReason::Untrusted);
        told.iter().for_each(|skipped| note(&format!("haft: {skipped}")));
        untrusted_note(&untrusted).into_iter().for_each(|text| note(&sanitize_line(&text)));
        let not_handed = found.specs.iter().filter_map(|spec| only_projects.unused_note(spec));
        not_handed.for_each(|text| note(&sanitize_line(&text)));
        // Any other may be for an extension of another project.
        let mut names = extension_names(&found);
        names.extend(hooks.iter().map(|hook| hook.name.as_str()));
        let unborne = unmatched_grants(granted.iter().map(String::as_str), &names);
        let misspelt = unborne.iter().filter(|(_, is_meant)| *is_meant);
        misspelt.for_each(|(text, _)| note(&sanitize_line(&format!("haft: {text}"))));
        let MergedSpecs { specs, notes: told } = hooks::merge_specs(found.specs.clone(), &hooks, &ground);
        told.iter().for_each(|text| note(&sanitize_line(&format!("haft: {text}"))));
        DiscoveredExtensions { specs, ..found.into() }
    })
}

/// So many letters may be wrong in a name that is still recognised.
const MISSPELT: usize = 2;

/// Those of `granted` that are none of `known`, each in a line; with `known` alone that is likely meant, if any is.
pub(crate) fn unmatched_grants<'a>(
    granted: impl Iterator<Item = &'a str>,
    known: &BTreeSet<&str>,
) -> Vec<(String, bool)> {
    let unborne = granted.filter(|name| !known.contains(name));
    unborne
        .map(|name| {
            let meant = known.iter().copied().find(|other| is_likely_typo(name, other));
            let rest = match meant {
                Some(other) => format!("is {other} meant?"),
                None => "a project elsewhere may have one".to_owned(),
            };
            (format!("config.toml: [grant.{name}] is for no extension that is here; {rest}"), meant.is_some())
        })
        .collect()
}

/// All names that were found, whether what bears them runs or not.
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
    use super::*;

    #[track_caller]
    fn check(granted: &str, known: &[&str], expect: &[(&str, bool)]) {
        let known = known.iter().copied().collect();
        let told = unmatched_grants(std::iter::once(granted), &known);
        let told: Vec<_> = told.iter().map(|(text, meant)| (text.as_str(), *meant)).collect();
        assert_eq!(told, expect);
    }

    #[test]
    fn a_name_that_nobody_bears_is_told_with_the_one_that_is_meant() {
        check("weather", &["guard", "weather"], &[]);
        let weather = "config.toml: [grant.wether] is for no extension that is here; is weather meant?";
        check("wether", &["guard", "weather"], &[(weather, true)]);
        let case = "config.toml: [grant.Weather_x] is for no extension that is here; is weather-x meant?";
        check("Weather_x", &["weather-x"], &[(case, true)]);
        let other =
            "config.toml: [grant.abc] is for no extension that is here; a project elsewhere may have one";
        check("abc", &["abd"], &[(other, false)]);
    }
}
