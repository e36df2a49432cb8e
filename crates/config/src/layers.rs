//! The files of the user and the project, merged with flags and environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_protocol::project::Project;
use serde_json::Value;

use crate::file::{ConfigError, ParsedConfigFile, top_keys};
use crate::home::Home;
use crate::hooks::{HookTimeouts, ProcessHook};
use crate::keys::{
    CompactionSettings, ConfigKey, ConfigLayer, ConfigRow, GrantSettings, HIDDEN, HookDefaults, HookProcess,
    Hooks, ModelNameSplitter, Settings, TableKind, ToolSettings, TuiSettings, ValueKind, quoted_key,
};
use crate::origin::{Owner, SettingOrigin, SourcedValue};
use crate::project::{self, UntrustedItem};
use crate::read;

/// The user's file and the project's file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfigFiles {
    user: ParsedConfigFile,
    project: ParsedConfigFile,
    refused: RefusedSettings,
    unused: Option<UntrustedItem>,
}

/// Settings of a trusted project's file that have no effect.
#[derive(Debug, Clone, Default, PartialEq)]
struct RefusedSettings {
    /// Keys that only the user may set.
    keys: Vec<String>,
    /// Hooks with the name of one of the user's hooks.
    hooks: Vec<String>,
}

/// The settings of all sources together.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Settings that flags and environment can also set.
    pub settings: Settings,
    /// When the conversation is summarized.
    pub compaction: CompactionSettings,
    /// The access of haft's own tools.
    pub tools: ToolSettings,
    /// The appearance and behavior of the interactive mode.
    pub tui: TuiSettings,
    /// Additional directories of extensions, the user's before the project's.
    pub extensions: Vec<ExtensionPlace>,
    /// The settings of each extension, by its name.
    pub extension: BTreeMap<String, ExtensionSettings>,
    /// The grants of each extension, by its name.
    pub grant: BTreeMap<String, GrantSettings>,
    /// The enabled process hooks, the user's before the project's.
    pub hooks: Vec<ProcessHook>,
    /// The process hooks that are defined and disabled.
    pub disabled_hooks: Vec<DisabledHook>,
    /// True if the user has disabled all hooks.
    pub hooks_off: bool,
    pub(crate) hook_rows: Vec<ConfigRow>,
    /// Settings that are not used because the project is not trusted.
    pub unused: Option<UntrustedItem>,
    /// A sentence about settings of a trusted project that only the user may set.
    pub refused: Option<String>,
    /// A sentence about each key and variable that was set by its former name.
    pub renamed: Vec<String>,
}

impl GrantSettings {
    /// True if a trusted project may add to the settings of this extension; false if not set.
    pub fn project_may_add(&self) -> bool {
        self.project_settings.as_ref().is_some_and(|set| set.value)
    }
}

/// The settings of the extensions with one name.
///
/// A project's table applies to an extension of the project. The user's extension may be a guard, whose settings decide
/// about refusals. It therefore receives the user's settings; keys of a trusted project are added only if the user's
/// `grant.NAME.project_settings` allows it and the user did not set them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExtensionSettings {
    /// The settings of the user's extension, by key.
    pub user: BTreeMap<String, SourcedValue<toml::Value>>,
    /// The settings of the project's extension, by key: the user's table, overridden by the project's.
    pub project: BTreeMap<String, SourcedValue<toml::Value>>,
}

impl ExtensionSettings {
    /// Returns the settings of this owner's extension.
    pub fn for_owner(&self, owner: Owner) -> &BTreeMap<String, SourcedValue<toml::Value>> {
        match owner {
            Owner::User => &self.user,
            Owner::Project => &self.project,
        }
    }

    /// Returns the settings that only the project's extension receives.
    pub fn project_only(&self) -> impl Iterator<Item = (&str, &SourcedValue<toml::Value>)> {
        let only = self.project.iter().filter(|(key, set)| self.user.get(*key) != Some(set));
        only.map(|(key, set)| (key.as_str(), set))
    }
}

/// A directory of extensions that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionPlace {
    /// The absolute path of one extension or of a directory of several.
    pub path: PathBuf,
    /// The location of the setting.
    pub origin: SettingOrigin,
    /// The owner of the file.
    pub owner: Owner,
}

/// A process hook that is defined and disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisabledHook {
    /// The name.
    pub name: String,
    /// The owner of the file.
    pub owner: Owner,
    /// The location of the definition.
    pub origin: SettingOrigin,
}

impl ConfigFiles {
    /// Reads both files. A missing file sets nothing, and the file of an untrusted project has no effect.
    ///
    /// # Errors
    /// [`ConfigError`] when one of the files cannot be read or has a mistake.
    pub fn read(home: &Home, project: &Project) -> Result<Self, ConfigError> {
        let (files, mistakes) = Self::read_leniently(home, project);
        mistakes.into_iter().next().map_or(Ok(files), Err)
    }

    /// Same as [`read`](Self::read), but skips a file with a mistake and returns the mistakes.
    pub fn read_leniently(home: &Home, project: &Project) -> (Self, Vec<ConfigError>) {
        let mut mistakes = Vec::new();
        let mut accept = |loaded: Result<ParsedConfigFile, ConfigError>| {
            loaded.unwrap_or_else(|mistake| {
                mistakes.push(mistake);
                ParsedConfigFile::default()
            })
        };
        let user = accept(ParsedConfigFile::load(&home.config_file()));
        let mut files = Self { user, ..Self::default() };
        let path = project::config_file(project);
        // If the project is the user's home directory, its file can be the user's file.
        if is_same(&path, &home.config_file()) {
            return (files, mistakes);
        }
        if project.is_trusted() {
            files.project = accept(ParsedConfigFile::load_from_project(&path, &project.dir));
            files.refused = RefusedSettings::remove_from(&mut files.project, &files.user);
        } else if path.exists() {
            let inside = read::ensure_inside(&path, &project.dir).is_ok();
            let sets = if inside { top_keys(&path) } else { Vec::new() };
            files.unused = Some(UntrustedItem { sets, path });
        }
        (files, mistakes)
    }

    /// Merges the files with the stronger layers; `apart` splits the names of models.
    ///
    /// # Errors
    /// [`ConfigError::NoDirectory`] when a directory of extensions does not exist: a guard in it would be missing.
    pub fn merge(
        &self,
        flags: ConfigLayer,
        env: ConfigLayer,
        apart: ModelNameSplitter<'_>,
    ) -> Result<Config, ConfigError> {
        let config = self.merge_unchecked(flags, env, apart);
        let missing = config.missing_places().next();
        missing.map_or(Ok(config), Err)
    }

    /// Same as [`merge`](Self::merge), without checking that directories of extensions exist.
    pub fn merge_unchecked(
        &self,
        flags: ConfigLayer,
        env: ConfigLayer,
        apart: ModelNameSplitter<'_>,
    ) -> Config {
        let mut layers = [flags, env, self.project.layer(), self.user.layer()];
        let settings = Settings::merge(&mut layers, apart);
        // A project's file cannot set any of the following keys.
        let [flags, env, _, user] = &layers;
        let tool_layers = [flags, env, user].map(Clone::clone);
        let tools = ToolSettings::from_layers(&tool_layers, "", |file| Some(&file.tools));
        let user = std::slice::from_ref(user);
        let tui = TuiSettings::from_layers(user, "", |file| Some(&file.tui));
        let names = self.user.content.grant.keys();
        let granted = |name: &String| GrantSettings::from_layers(user, name, |file| file.grant.get(name));
        let grant: BTreeMap<_, _> = names.map(|name| (name.clone(), granted(name))).collect();
        let may_add = |name: &str| grant.get(name).is_some_and(GrantSettings::project_may_add);
        let in_files = self.user.renamed.iter().chain(&self.project.renamed).cloned();
        let renamed = layers.iter().flat_map(ConfigLayer::former_names).chain(in_files).collect();
        Config {
            settings,
            compaction: CompactionSettings::from_layers(&layers, "", |file| Some(&file.compaction)),
            tools,
            tui,
            extensions: extension_places(&self.user, Owner::User)
                .chain(extension_places(&self.project, Owner::Project))
                .collect(),
            extension: extension_settings(&self.user, &self.project, may_add),
            grant,
            unused: self.unused.clone(),
            hooks: self.enabled_hooks(),
            disabled_hooks: self.disabled_hooks(),
            hooks_off: self.user.content.hooks.enabled == Some(false),
            hook_rows: [&self.user, &self.project].into_iter().flat_map(hook_rows).collect(),
            refused: self.refused.message(self.project.source.path()),
            renamed,
        }
    }

    /// Returns the enabled hooks. Mistakes in them were reported when the file was read.
    fn enabled_hooks(&self) -> Vec<ProcessHook> {
        let (user, project) = (&self.user, &self.project);
        if user.content.hooks.enabled == Some(false) {
            return Vec::new();
        }
        let times = HookTimeouts::default();
        let mut hooks = user.hooks(Owner::User, times).unwrap_or_default();
        // The project's defaults apply to its own hooks and never to the user's.
        let times = user.content.hooks.timeouts(times);
        hooks.extend(project.hooks(Owner::Project, times).unwrap_or_default());
        hooks
    }

    fn disabled_hooks(&self) -> Vec<DisabledHook> {
        let all_off = self.user.content.hooks.enabled == Some(false);
        let files = [(&self.user, Owner::User), (&self.project, Owner::Project)];
        let named = files.into_iter().flat_map(|(file, owner)| {
            let off = all_off || file.content.hooks.enabled == Some(false);
            let processes = file.content.hooks.processes.iter();
            let disabled = processes.filter(move |(_, process)| off || process.enabled != Some(true));
            disabled.map(move |(name, _)| {
                let origin = file.source.origin(&format!("hooks.processes.{name}"));
                DisabledHook { name: name.clone(), owner, origin }
            })
        });
        named.collect()
    }
}

impl RefusedSettings {
    fn remove_from(project: &mut ParsedConfigFile, user: &ParsedConfigFile) -> Self {
        let content = &mut project.content;
        let mut refused = Self::default();
        let removed = content.remove_user_only();
        refused.keys.extend(removed.iter().filter_map(|key| Some(key.split('.').next()?.to_owned())));
        let users = &user.content.hooks.processes;
        content.hooks.processes.retain(|name, process| {
            let is_users = users.keys().any(|other| other.eq_ignore_ascii_case(name));
            if is_users {
                refused.hooks.push(name.clone());
            }
            let own = [("on_timeout", process.on_timeout.is_some()), ("vouches", process.vouches.is_some())];
            let set = own.iter().filter(|(_, is_set)| *is_set && !is_users);
            refused.keys.extend(set.map(|(key, _)| format!("hooks.processes.{name}.{key}")));
            process.remove_user_only();
            !is_users
        });
        refused
    }

    /// Returns a sentence about the refused settings, or `None`.
    fn message(&self, path: &Path) -> Option<String> {
        let path = path.display();
        let keys = (!self.keys.is_empty()).then(|| {
            format!(
                "{path} sets {}, which only your own config.toml may set; these settings are ignored",
                self.keys.join(", ")
            )
        });
        let hooks = (!self.hooks.is_empty()).then(|| {
            let names = self.hooks.join(", ");
            format!(
                "{path} has hooks with the names of your own hooks, which a project cannot change; ignored: {names}"
            )
        });
        let parts: Vec<_> = keys.into_iter().chain(hooks).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

fn hook_rows(file: &ParsedConfigFile) -> Vec<ConfigRow> {
    let Ok(hooks) = serde_json::to_value(&file.content.hooks) else { return Vec::new() };
    let mut rows = Vec::new();
    let mut add = |keys: &'static [ConfigKey], table: &str, shown: &str, value: Option<&Value>| {
        for (own, value) in value.and_then(Value::as_object).into_iter().flatten() {
            let known = keys.iter().find(|key| key.path.rsplit('.').next() == Some(own));
            // A nested table has its own rows.
            let known =
                known.filter(|known| known.kind != ValueKind::Table(TableKind::Keys) && !value.is_null());
            let Some(known) = known else { continue };
            let origin = file.source.origin(&format!("{table}.{own}"));
            // Environment variables of hooks are often secrets.
            let value = if own == "env" { hide_values(value) } else { value.clone() };
            rows.push(ConfigRow::new(known, format!("{shown}.{own}"), Some((value, origin))));
        }
    };
    add(Hooks::KEYS, "hooks", "hooks", Some(&hooks));
    add(HookDefaults::KEYS, "hooks.defaults", "hooks.defaults", hooks.get("defaults"));
    for (name, process) in hooks.get("processes").and_then(Value::as_object).into_iter().flatten() {
        let [table, shown] = [name.as_str(), &quoted_key(name)].map(|name| format!("hooks.processes.{name}"));
        add(HookProcess::KEYS, &table, &shown, Some(process));
    }
    rows
}

/// Replaces the values of variables by a placeholder.
fn hide_values(env: &Value) -> Value {
    let names = env.as_object().into_iter().flat_map(|env| env.keys().cloned());
    names.map(|name| (name, Value::from(HIDDEN))).collect()
}

fn extension_settings(
    user: &ParsedConfigFile,
    project: &ParsedConfigFile,
    may_add: impl Fn(&str) -> bool,
) -> BTreeMap<String, ExtensionSettings> {
    let mut all = BTreeMap::<String, ExtensionSettings>::new();
    for (name, key, set) in extension_values(user) {
        let settings = all.entry(name.to_owned()).or_default();
        settings.user.insert(key.to_owned(), set.clone());
        settings.project.insert(key.to_owned(), set);
    }
    for (name, key, set) in extension_values(project) {
        let settings = all.entry(name.to_owned()).or_default();
        if may_add(name) {
            settings.user.entry(key.to_owned()).or_insert_with(|| set.clone());
        }
        settings.project.insert(key.to_owned(), set);
    }
    all
}

/// Returns name, key and value of every setting for extensions in a file.
fn extension_values(
    file: &ParsedConfigFile,
) -> impl Iterator<Item = (&str, &str, SourcedValue<toml::Value>)> {
    file.content.extension.iter().flat_map(move |(name, table)| {
        table.iter().map(move |(key, value)| {
            let origin = file.source.origin(&format!("extension.{name}.{key}"));
            (name.as_str(), key.as_str(), SourcedValue { value: value.clone(), origin })
        })
    })
}

pub(crate) fn extension_places(
    file: &ParsedConfigFile,
    owner: Owner,
) -> impl Iterator<Item = ExtensionPlace> {
    let dir = file.source.path().parent().unwrap_or(Path::new(""));
    file.content.extensions.iter().map(move |path| {
        let path = match (path.strip_prefix("~/"), etcetera::home_dir()) {
            (Some(below), Ok(home)) => home.join(below),
            _ => dir.join(path),
        };
        // Removes `.` components for display.
        let path = path.components().collect();
        ExtensionPlace { path, origin: file.source.origin("extensions"), owner }
    })
}

fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

impl Config {
    /// Returns an error for each directory of extensions that does not exist.
    pub fn missing_places(&self) -> impl Iterator<Item = ConfigError> {
        let missing = self.extensions.iter().filter(|place| !place.path.is_dir());
        missing.map(|ExtensionPlace { path, origin, .. }| ConfigError::NoDirectory {
            origin: origin.clone(),
            path: path.clone(),
        })
    }

    /// Returns the settings of this owner's extension as JSON, or `None` if nothing is set. Dates and times become
    /// strings.
    pub fn extension_json(&self, name: &str, owner: Owner) -> Option<serde_json::Map<String, Value>> {
        let table = self.extension.get(name)?.for_owner(owner);
        let json = || table.iter().map(|(key, set)| (key.clone(), toml_to_json(&set.value))).collect();
        (!table.is_empty()).then(json)
    }
}

/// Converts a value to JSON, which has no dates and no NaN.
pub(crate) fn toml_to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.as_str().into(),
        toml::Value::Integer(number) => (*number).into(),
        toml::Value::Float(number) => (*number).into(),
        toml::Value::Boolean(yes) => (*yes).into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(values) => values.iter().map(toml_to_json).collect(),
        toml::Value::Table(table) => {
            table.iter().map(|(key, value)| (key.clone(), toml_to_json(value))).collect()
        }
    }
}

#[cfg(test)]
mod tests;
