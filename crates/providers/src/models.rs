//! `models.json`: the user's additions to the presets and the catalog, and changes of them.

mod file;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::model::ModelFacts;

use crate::config::ApiDialect;
use crate::presets::find_preset;

/// The maximum size of `models.json` in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// The content of `models.json`. `docs/models.md` describes the format.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelsFile {
    providers: BTreeMap<String, ConfiguredProvider>,
}

/// The user's entry for one provider: a preset or the user's own provider.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct ConfiguredProvider {
    pub(crate) dialect: Option<ApiDialect>,
    pub(crate) base_url: Option<String>,
    pub(crate) key_env: Option<String>,
    /// Names and values of headers; `$NAME` in a value refers to an environment variable.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) default_model: Option<String>,
    pub(crate) models: BTreeMap<String, ModelFacts>,
}

/// A model in `models.json`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConfiguredModel {
    /// The provider.
    pub provider: String,
    /// The model's id at the provider.
    pub model: String,
    /// The facts of the file, completed from the catalog.
    pub facts: ModelFacts,
}

/// The error for an unusable `models.json`. The message names the file, the position and the expected content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelsError {
    /// The file exists and cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file is larger than 4 MiB.
    #[error("{} is larger than 4 MiB", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The file is not valid JSON.
    #[error("{} is not valid JSON: {detail}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The expected value, with line and column.
        detail: String,
    },
    /// A field is missing, unknown, or has an invalid value.
    #[error("{}: {field}: {detail}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, with its provider and model.
        field: String,
        /// The expected value.
        detail: String,
    },
}

impl ModelsFile {
    /// Loads the file; returns the defaults if it does not exist.
    ///
    /// # Errors
    /// [`ModelsError`] if the file cannot be read or has an error.
    pub fn load(path: &Path) -> Result<Self, ModelsError> {
        let read = |source| ModelsError::Read { path: path.into(), source };
        let mut bytes = Vec::new();
        match std::fs::File::open(path) {
            Ok(file) => io::copy(&mut io::Read::take(file, MAX_FILE + 1), &mut bytes).map_err(read)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(read(error)),
        };
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_FILE) {
            return Err(ModelsError::TooLong { path: path.into() });
        }
        file::parse(&bytes).map(|providers| Self { providers }).map_err(|mistake| match mistake {
            file::FileParseError::Syntax(detail) => ModelsError::Syntax { path: path.into(), detail },
            file::FileParseError::Field { field, detail } => {
                ModelsError::Field { path: path.into(), field, detail }
            }
        })
    }

    /// Returns the models in the file, by provider and then by id.
    pub fn models(&self) -> impl Iterator<Item = ConfiguredModel> {
        self.providers.iter().flat_map(|(provider, own)| {
            own.models.iter().map(|(model, facts)| ConfiguredModel {
                provider: provider.clone(),
                model: model.clone(),
                facts: facts.clone().or(crate::catalog::model_facts(provider, model)),
            })
        })
    }

    /// Returns the providers in the file that are not presets.
    pub fn custom_providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str).filter(|name| find_preset(name).is_none())
    }

    /// Returns the environment variables that the file names for keys, in `key_env` and in headers with secrets. They
    /// can have any name.
    pub fn key_variables(&self) -> impl Iterator<Item = &str> {
        self.providers.values().flat_map(|provider| {
            let headers = provider.secret_headers().flat_map(|(_, value)| variables_in(value));
            provider.key_env.as_deref().into_iter().chain(headers)
        })
    }

    /// True if the file has an entry for this provider.
    pub fn names_provider(&self, name: &str) -> bool {
        self.providers.contains_key(name)
    }

    pub(crate) fn provider(&self, name: &str) -> Option<&ConfiguredProvider> {
        self.providers.get(name)
    }
}

/// Parts of the names of headers whose values are secrets.
const SECRET_HEADERS: &[&str] = &["auth", "cookie", "key", "secret", "token"];

impl ConfiguredProvider {
    /// Returns the headers whose names say that their values are secrets, unexpanded.
    pub(crate) fn secret_headers(&self) -> impl Iterator<Item = &(String, String)> {
        self.headers.iter().filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            let mut words = name.split('-').filter(|word| *word != "author");
            words.any(|word| SECRET_HEADERS.iter().any(|part| word.contains(part)))
        })
    }
}

impl std::fmt::Debug for ConfiguredProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Addresses and headers may contain secrets, so only harmless fields are shown.
        f.debug_struct("ConfiguredProvider")
            .field("dialect", &self.dialect)
            .field("key_env", &self.key_env)
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

/// A header refers to an unset variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {0} is not set")]
pub struct UnsetVariable(pub String);

/// Expands the variables in a header's value: `$NAME` and `${NAME}` refer to variables, `$$` is a dollar sign.
///
/// # Errors
/// [`UnsetVariable`] if a variable is unset or empty.
pub(crate) fn expand_variables(
    value: &str,
    var: impl Fn(&str) -> Option<String>,
) -> Result<String, UnsetVariable> {
    let (mut out, mut rest) = (String::new(), value);
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let (name, behind) = split_variable(behind);
        if name.is_empty() {
            out.push('$');
            rest = behind.strip_prefix('$').unwrap_or(behind);
            continue;
        }
        let found = var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        out.push_str(&found.ok_or_else(|| UnsetVariable(name.to_owned()))?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// Returns the variables that [`expand_variables`] replaces in a value.
pub(crate) fn variables_in(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        while let Some((_, behind)) = rest.split_once('$') {
            let (name, behind) = split_variable(behind);
            if !name.is_empty() {
                rest = behind;
                return Some(name);
            }
            rest = behind.strip_prefix('$').unwrap_or(behind);
        }
        None
    })
}

/// Returns the name after a `$`, and the rest; an empty name if none follows.
fn split_variable(behind: &str) -> (&str, &str) {
    if let Some((name, rest)) = behind.strip_prefix('{').and_then(|inner| inner.split_once('}'))
        && is_variable(name)
    {
        return (name, rest);
    }
    let end = behind.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(behind.len());
    let (name, rest) = behind.split_at(end);
    if is_variable(name) { (name, rest) } else { ("", behind) }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, expect: Result<&str, &str>) {
        let var = |name: &str| match name {
            "TEAM" => Some(" blue\n".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let got = expand_variables(value, var);
        assert_eq!(got.as_deref().map_err(|unset| unset.0.as_str()), expect);
    }

    #[test]
    fn variables_are_replaced() {
        check("plain", Ok("plain"));
        check("Bearer $TEAM", Ok("Bearer blue"));
        check("${TEAM}s-$TEAM.", Ok("blues-blue."));
        check("$$TEAM costs 5$ or $5, ${", Ok("$TEAM costs 5$ or $5, ${"));
        check("$MISSING", Err("MISSING"));
        check("x${EMPTY}", Err("EMPTY"));
    }
}
