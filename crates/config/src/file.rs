//! One `config.toml`: its values and the line of each key.

mod check;

use std::path::{Path, PathBuf};

use serde::Deserialize as _;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::hooks::{HookMistake, HookTimeouts, ProcessHook};
use crate::keys::{ConfigFile, ConfigLayer, LayerSource, all_keys};
use crate::origin::{KeyLocations, Owner, SettingOrigin};

use crate::read::ensure_inside;
pub(crate) use crate::read::text as read_text;
pub(crate) use check::kind_of;

/// The maximum size of `config.toml`, in bytes.
pub(crate) const MAX_FILE: u64 = 1024 * 1024;

/// The content of a file and the locations of its keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedConfigFile {
    /// The settings of the file.
    pub content: ConfigFile,
    /// The file and the lines of its keys.
    pub source: KeyLocations,
    /// A sentence about each key with a former name, with the present name.
    pub renamed: Vec<String>,
}

/// An error of reading `config.toml`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file exists and cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not valid.
    #[error("{} is not valid: {detail}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The position and the expected content; never the content found, which may be a secret.
        detail: String,
    },
    /// A value is not valid for its key.
    #[error("{}:{line}: `{key}` must be {takes}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The key, including its tables.
        key: String,
        /// The valid values; never the value in the file, which may be a secret.
        takes: String,
    },
    /// A key does not exist.
    #[error("{}:{line}: unknown key `{key}`{}", path.display(), unknown_key_advice(key, nearest))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The key, including its tables.
        key: String,
        /// Similar keys that may have been meant.
        nearest: Vec<String>,
    },
    /// A process hook cannot run as described.
    #[error("{}{}: `{key}`: {detail}", path.display(), line.map(|line| format!(":{line}")).unwrap_or_default())]
    Hook {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1; `None` in a file of PicoClaw.
        line: Option<usize>,
        /// The key, including its tables.
        key: String,
        /// The mistake and the next step.
        detail: String,
    },
    /// A directory of extensions does not exist.
    #[error("{origin}: `extensions`: the directory {} does not exist; correct the path or remove it", path.display())]
    NoDirectory {
        /// The origin of the setting.
        origin: SettingOrigin,
        /// The absolute path.
        path: PathBuf,
    },
}

impl ConfigError {
    /// Returns the file with the mistake; for a missing directory of extensions, the file that names it.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read { path, .. }
            | Self::Parse { path, .. }
            | Self::Value { path, .. }
            | Self::UnknownKey { path, .. }
            | Self::Hook { path, .. }
            | Self::NoDirectory { origin: SettingOrigin::File { path, .. }, .. }
            | Self::NoDirectory { path, .. } => path,
        }
    }
}

/// Keys of earlier versions without a replacement, and the advice for each.
const REMOVED: &[(&str, &str)] = &[
    (
        "lazy_start",
        "the key was removed; delete the line (an extension declares its start in extension.json, see `activation` in \
         docs/config.md)",
    ),
    (
        "tui.approve",
        "the former name of `tools.approve`, which this file sets too; delete one of the two lines",
    ),
];

/// Moves each key whose former name is in another table to its present place, unless the file sets both. Returns the
/// moved keys, each with its present name.
fn move_former_keys(table: &mut DeTable<'_>) -> Vec<[String; 2]> {
    let mut moved = Vec::new();
    for key in all_keys() {
        let (Some(former), Some((table_now, name_now))) = (key.former, key.path.split_once('.')) else {
            continue;
        };
        let Some((table_before, name_before)) = former.split_once('.') else { continue };
        let has_both = table
            .get(table_now)
            .is_some_and(|now| now.get_ref().as_table().is_none_or(|now| now.contains_key(name_now)));
        let before = table.get_mut(table_before).map(Spanned::get_mut);
        let (false, Some(DeValue::Table(before))) = (has_both, before) else { continue };
        let Some((written, value)) = before.remove_entry(name_before) else { continue };
        let span = written.span();
        let now = table.entry(Spanned::new(span.clone(), table_now.into()));
        let now = now.or_insert_with(|| Spanned::new(span.clone(), DeValue::Table(DeTable::new())));
        if let DeValue::Table(now) = now.get_mut() {
            now.insert(Spanned::new(span, name_now.into()), value);
            moved.push([former.to_owned(), key.path.to_owned()]);
        }
    }
    moved
}

fn unknown_key_advice(key: &str, nearest: &[String]) -> String {
    if let Some((_, advice)) = REMOVED.iter().find(|(removed, _)| *removed == key) {
        return format!("; {advice}");
    }
    match nearest {
        [] => "; docs/config.md lists all keys".to_owned(),
        nearest => format!("; did you mean `{}`?", nearest.join("` or `")),
    }
}

impl ParsedConfigFile {
    /// Reads the file. A missing file sets nothing.
    ///
    /// # Errors
    /// [`ConfigError`] when the file cannot be read or has a mistake.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        match read_text(path, MAX_FILE) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ConfigError::Read { path: path.into(), source }),
        }
    }

    /// Reads the file of a project, which must not be a link to a file outside of the project.
    ///
    /// # Errors
    /// The same as [`ParsedConfigFile::load`].
    pub(crate) fn load_from_project(path: &Path, project: &Path) -> Result<Self, ConfigError> {
        match ensure_inside(path, project) {
            Ok(()) => Self::load(path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ConfigError::Read { path: path.into(), source }),
        }
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// [`ConfigError`] when the text has a mistake.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let mistake = |error: toml::de::Error| ConfigError::Parse {
            path: path.into(),
            detail: mistake_detail(text, &error),
        };
        let mut table = DeTable::parse(text).map_err(mistake)?;
        let moved = move_former_keys(table.get_mut());
        let check::CheckedKeys { lines, former } = check::key_lines(path, text, table.get_ref())?;
        let content = ConfigFile::deserialize(toml::Deserializer::from(table)).map_err(|error| {
            // The checks above leave no such case. The parser's message would show the value, which may be a secret.
            let line = line_of(text, error.span().map_or(0, |span| span.start));
            ConfigError::Parse { path: path.into(), detail: format!("line {line}: invalid value") }
        })?;
        let source = KeyLocations::new(path, lines);
        let renamed = moved.into_iter().chain(former);
        let renamed = renamed.map(|[former, present]| {
            format!("{}: `{former}` is now `{present}`; the former name still works", source.origin(&present))
        });
        let file = Self { content, renamed: renamed.collect(), source };
        file.hooks(Owner::User, HookTimeouts::default()).map_err(|wrong| ConfigError::Hook {
            path: path.into(),
            line: Some(file.source.line(&wrong.key)),
            key: wrong.key,
            detail: wrong.detail,
        })?;
        Ok(file)
    }

    /// Returns the values of the file as a layer.
    pub(crate) fn layer(&self) -> ConfigLayer {
        ConfigLayer::new(LayerSource::File(self.source.clone()), self.content.clone())
    }

    pub(crate) fn hooks(&self, owner: Owner, below: HookTimeouts) -> Result<Vec<ProcessHook>, HookMistake> {
        self.content.hooks.process_hooks(owner, below, |key| self.source.origin(key))
    }
}

/// Returns the known top-level keys of a file that is not used; empty if the file cannot be parsed. Other names are not
/// reported: the file may be a link to any other file, and its author may see the report.
pub(crate) fn top_keys(path: &Path) -> Vec<String> {
    let text = read_text(path, MAX_FILE).unwrap_or_default();
    let (table, _) = DeTable::parse_recoverable(&text);
    let is_known = |name: &str| {
        let mut known = ConfigFile::KEYS.iter().flat_map(|key| [Some(key.path), key.former]).flatten();
        known.any(|path| path.split('.').next() == Some(name))
    };
    let names = table.get_ref().iter().map(|(key, _)| key.get_ref().to_string());
    names.filter(|name| is_known(name)).collect()
}

/// Returns the position of a mistake and the expected content. The line itself is not shown, because its value may be a
/// secret.
fn mistake_detail(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.get(..at).unwrap_or_default();
    let column = 1 + before.chars().rev().take_while(|char| *char != '\n').count();
    format!("line {}, column {column}: {}", line_of(text, at), error.message())
}

/// Returns the line number, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::OnTimeout;
    use haft_protocol::thinking::ThinkingLevel;

    fn parse(text: &str) -> Result<ParsedConfigFile, ConfigError> {
        ParsedConfigFile::parse(Path::new("config.toml"), text)
    }

    #[test]
    fn reads_every_key_with_its_line() {
        let text = "provider = 'anthropic'\nmodel = 'm'\nbase_url = 'http://127.0.0.1:1'\nthinking = 'high'\n\
             max_steps = 7\ncontext_files = false\nextensions = ['x']\n\
             [grant.guard]\non_timeout = 'allow'\n\n[grant.weather]\nenv = ['WEATHER_TOKEN']\n\
             [extension.weather]\nunits.wind = 'knots'\n";
        let file = parse(text).unwrap();
        assert_eq!(file.content.thinking, Some(ThinkingLevel::High));
        assert_eq!(file.content.context_files, Some(false));
        assert_eq!(file.content.grant["guard"].on_timeout, Some(OnTimeout::Allow));
        assert_eq!(file.content.grant["weather"].env, Some(vec!["WEATHER_TOKEN".to_owned()]));
        assert_eq!(file.content.extension["weather"]["units"]["wind"].as_str(), Some("knots"));
        let line = |key| file.source.origin(key).to_string();
        assert_eq!(line("provider"), "config.toml:1");
        assert_eq!(line("extensions"), "config.toml:7");
        assert_eq!(line("grant.weather.env"), "config.toml:12");
        assert_eq!(line("extension.weather.units"), "config.toml:14");
    }

    #[track_caller]
    fn check(text: &str, expect: &[&str]) {
        let error = parse(text).unwrap_err().to_string();
        for part in expect {
            assert!(error.contains(part), "{error} should contain {part}");
        }
    }

    #[test]
    fn key_in_former_table_works() {
        let file = parse("[tui]\nbell = 'on'\napprove = ['bash']\n[tools]\nnetwork = true\n").unwrap();
        assert_eq!(file.content.tools.approve, Some(vec!["bash".to_owned()]));
        assert_eq!(file.content.tools.network, Some(true));
        assert_eq!(file.source.origin("tools.approve").to_string(), "config.toml:3");
        let told = "config.toml:3: `tui.approve` is now `tools.approve`; the former name still works";
        assert_eq!(file.renamed, [told]);
        let told = "config.toml:1: `reasoning` is now `thinking`; the former name still works";
        assert_eq!(parse("reasoning = 'low'").unwrap().renamed, [told]);
        assert_eq!(parse("tui.approve = []").unwrap().content.tools.approve, Some(vec![]));
        check(
            "[tui]\napprove = ['bash']\n[tools]\napprove = []\n",
            &[
                "config.toml:2: unknown key `tui.approve`; the former name of `tools.approve`, which this file sets too; delete one of the two lines",
            ],
        );
    }

    #[test]
    fn removed_key_has_advice() {
        check(
            "model = 'm'\nlazy_start = true\n",
            &["config.toml:2: unknown key `lazy_start`; the key was removed; delete the line (an extension \
               declares its start in extension.json, see `activation` in docs/config.md)"],
        );
    }

    #[test]
    fn mistake_is_reported_with_its_line() {
        check(
            "provider = 'a'\nmodle = 'b'\n",
            &["config.toml:2: unknown key `modle`; did you mean `model`?"],
        );
        check("zzz = 'b'\n", &["config.toml:1: unknown key `zzz`; docs/config.md lists all keys"]);
        check(
            "[grant.g]\nenvs = []",
            &["config.toml:2: unknown key `grant.g.envs`; did you mean `grant.g.env`?"],
        );
        check("[grants.g]\nenv = []", &["config.toml:1: unknown key `grants`; did you mean `grant`?"]);
        check("thinking = 'hard'", &["config.toml:1: `thinking` must be `default`, `off`, ", "or `xhigh`"]);
        check("reasoning = 'hard'", &["config.toml:1: `thinking` must be `default`"]);
        let number = "must be a whole number of at least 1";
        check("max_steps = 0", &["config.toml:1: `max_steps` ", number]);
        for value in ["0", "-5", "'16k'", "x"] {
            let text = format!("model = 'm'\n[compaction]\nauto = true\nreserve = {value}\n[extension.z]\n");
            let expect =
                if value == "x" { "line 4, column 11" } else { "config.toml:4: `compaction.reserve` " };
            check(&text, &[expect, if value == "x" { "is not valid" } else { number }]);
        }
        check("compaction = false", &["config.toml:1: `compaction` must be a table"]);
        check("fallback = [\n'a/b',\n1]", &["config.toml:3: `fallback` must be a list of models"]);
        check(
            "[compaction]\nreserved = 1",
            &["config.toml:2: unknown key `compaction.reserved`; did you mean `compaction.reserve`?"],
        );
        check(
            "[compact]\nauto = true",
            &["config.toml:1: unknown key `compact`; did you mean `compaction`?"],
        );
        check(
            "\n[grant.guard]\non_timeout = 'alow'",
            &["config.toml:3: `grant.guard.on_timeout` must be `block` or `allow`"],
        );
        check("extension = 3", &["config.toml:1: `extension` must be a table"]);
        check("\nextension.weather = 's'", &["config.toml:2: `extension.weather` must be a table"]);
        check("[grant.g]\nsandbox = 'standrad'", &["config.toml:2: `grant.g.sandbox` must be ", "`strict`"]);
        check("[grant.g]\nnet = true", &["config.toml:2: `grant.g.net` must be "]);
        check(
            "[grant.g]\nwrites = ['/x']",
            &["config.toml:2: unknown key `grant.g.writes`; did you mean `grant.g.write`?"],
        );
        check(
            "[extensions.guard]\nenv = []",
            &[
                "config.toml:1: unknown key `extensions.guard`; did you mean `grant.guard` or `extension.guard`?",
            ],
        );
        check("extensions = {}", &["did you mean `grant.NAME` or `extension.NAME`?"]);
        check("provider = ", &["line 1"]);
        check(
            "thinking = 'low'\n\nreasoning = 'low'",
            &["line 3: `reasoning` is the former name of `thinking`"],
        );
        check("max_steps = 4_294_967_296", &["config.toml:1: `max_steps` ", number]);
        check("hooks.processes.g.priority = 1.5", &["`hooks.processes.g.priority` must be a whole number"]);
    }

    #[test]
    fn error_never_shows_the_value() {
        for text in [
            "[extension.weather]\napi_token = sk-live-12345",
            "[extension.weather]\napi_token = 'sk-live-12345",
            "[extension.weather]\napi_token = \"sk-live-12345\\q\"",
            "[extension.weather]\napi_token = 'sk-live-12345' x",
            "[extension.weather]\napi_token sk-live-12345",
            "\nextension.weather = 'sk-live-12345'",
            "\nextension = 'sk-live-12345'",
            "\nbase_url = https://me:sk-live-12345@llm/v1",
            "\nmax_steps = 'sk-live-12345'",
            "\ncontext_files = 'a\\\", expected sk-live-12345'",
        ] {
            let error = parse(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("sk-live"), "{text}: {error} {error:?}");
            let message = error.to_string();
            assert!(message.contains("line 2, column ") || message.starts_with("config.toml:2: "), "{error}");
        }
    }

    #[test]
    fn missing_file_sets_nothing_and_unreadable_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(
            ParsedConfigFile::load(&dir.path().join("none.toml")).unwrap(),
            ParsedConfigFile::default()
        );
        assert!(matches!(ParsedConfigFile::load(dir.path()), Err(ConfigError::Read { .. })));
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "provider = ").unwrap();
        let error = ParsedConfigFile::load(&path).unwrap_err().to_string();
        assert!(error.contains("config.toml is not valid: ") && error.contains("line 1"), "{error}");
    }

    #[test]
    fn top_keys_are_found_in_a_broken_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, "base_url = 'x'\nAWS_KEY = 'y'\nreasoning = 'z'\n[extension.a]\nb = = 3\n")
            .unwrap();
        assert_eq!(top_keys(&path), ["base_url", "extension", "reasoning"]);
        assert_eq!(top_keys(dir.path()), Vec::<String>::new());
    }
}
