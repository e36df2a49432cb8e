//! `models.json`: what the user adds to, or says otherwise than, the presets and the catalogue.

mod file;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use haft_core::model::ModelFacts;

use crate::config::ApiDialect;
use crate::presets::find_preset;

/// The longest `models.json` that is read, in bytes.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// The content of `models.json`. `docs/models.md` describes its form.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelsFile {
    providers: BTreeMap<String, ConfiguredProvider>,
}

/// The user's entry of one provider, which may be a preset or one of the user's own.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct ConfiguredProvider {
    pub(crate) dialect: Option<ApiDialect>,
    pub(crate) base_url: Option<String>,
    pub(crate) key_env: Option<String>,
    /// Names and values; in a value `$NAME` stands for a variable.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) default_model: Option<String>,
    pub(crate) models: BTreeMap<String, ModelFacts>,
}

/// A model that `models.json` names.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredModel {
    /// The provider.
    pub provider: String,
    /// The model's id there.
    pub model: String,
    /// The facts of the file, and for the rest those of the catalogue.
    pub facts: ModelFacts,
}

/// `models.json` cannot be used. The message names the file, the place in it and what should be there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelsError {
    /// The file is there and cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is larger than 4 MiB.
    #[error("{} is larger than 4 MiB", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// The file is no JSON.
    #[error("{} is not valid JSON: {detail}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The expected value, with line and column.
        detail: String,
    },
    /// A field is missing, unknown, or has a value that cannot be.
    #[error("{}: {field}: {detail}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field, with the provider and the model it belongs to.
        field: String,
        /// The expected value.
        detail: String,
    },
}

impl ModelsFile {
    /// Reads the file; a file that does not exist says nothing.
    ///
    /// # Errors
    /// [`ModelsError`] when it cannot be read or has a mistake in it.
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

    /// The models it names, by provider and then by id.
    pub fn models(&self) -> impl Iterator<Item = ConfiguredModel> {
        self.providers.iter().flat_map(|(provider, own)| {
            own.models.iter().map(|(model, facts)| ConfiguredModel {
                provider: provider.clone(),
                model: model.clone(),
                facts: facts.clone().or(crate::catalogue::model_facts(provider, model)),
            })
        })
    }

    /// The providers it names that are no presets.
    pub fn custom_providers(&self) -> impl Iterator<Item = &str> {
        self.providers.keys().map(String::as_str).filter(|name| find_preset(name).is_none())
    }

    pub(crate) fn provider(&self, name: &str) -> Option<&ConfiguredProvider> {
        self.providers.get(name)
    }
}

impl std::fmt::Debug for ConfiguredProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Addresses and headers may carry secrets, so only what is harmless is shown.
        f.debug_struct("OwnProvider")
            .field("dialect", &self.dialect)
            .field("key_env", &self.key_env)
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

/// A header names a variable that is not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable {0} is not set")]
pub struct UnsetVariable(pub String);

/// The value of a header with its variables replaced: `$NAME` and `${NAME}` stand for variables, `$$` for a dollar.
///
/// # Errors
/// [`UnsetVariable`] when one is not set, or empty.
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

/// The name behind a `$`, and what follows it; no name where none follows.
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
