//! `extension.json`: what an extension says about itself before it runs.

mod exec;
mod fields;
mod lifecycle;
pub(crate) mod permission;
mod roles;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_protocol::RawJson;
use haft_protocol::error::DecodeError;
use haft_protocol::ids::ExtensionName;
use haft_protocol::names;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use crate::open::open;
use permission::Permissions;

pub use exec::{ExecError, LaunchPlan};
pub(crate) use exec::{find_in_path, may_run};
pub(crate) use fields::{JsonObject, ObjectFields};
pub use lifecycle::{Activation, Lifecycle};
pub use roles::GuardRoles;

/// The name of the file in an extension's directory.
pub const MANIFEST_FILE: &str = "extension.json";

/// The longest manifest, in bytes: 256 KiB.
pub const MAX_MANIFEST: u64 = 256 * 1024;

/// The longest name of an extension, in characters.
pub const MAX_NAME: usize = 64;

/// An `extension.json`, checked.
///
/// Keys are read whatever their case, as zot does, and keys that haft does not know are left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// `name`: letters, digits, `.`, `_` and `-`, the first one a letter or digit, at most [`MAX_NAME`], and not `haft`.
    pub name: ExtensionName,
    /// `version`, for listings.
    pub version: Option<String>,
    /// `description`, for listings.
    pub description: Option<String>,
    /// `language`, for listings.
    pub language: Option<String>,
    /// `enabled`; true when it is left out.
    pub enabled: bool,
    /// `exec` and `args`; none for an extension that only brings a theme.
    pub exec: Option<ExecCommand>,
    /// `intercept` and `required`: what the extension promises to guard.
    pub roles: GuardRoles,
    /// `permissions`: what the extension asks for; none for a plain one, which asks for everything.
    pub permissions: Option<Permissions>,
    /// `activation`, `lifecycle`, `hello_timeout_ms` and `ready_timeout_ms`: when it starts and ends.
    pub lifecycle: Lifecycle,
    /// Mistakes in fields that it can do without; they count as left out.
    pub ignored: Vec<String>,
}

/// The start of an extension, as its manifest says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecCommand {
    /// `exec`: a path, relative to the extension's directory when it holds a `/`, or the name of a program.
    pub program: String,
    /// `args`, verbatim.
    pub args: Vec<String>,
}

impl ExecCommand {
    /// True if it means the same program for every extension, wherever that lies.
    pub(crate) fn is_shared(&self) -> bool {
        exec::is_bare(&self.program) || Path::new(&self.program).is_absolute()
    }
}

/// A manifest cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The directory is not there, or is none.
    #[error("there is no directory {}", dir.display())]
    NoDirectory {
        /// Where it should be.
        dir: PathBuf,
    },
    /// The directory holds no manifest.
    #[error("{} lacks extension.json", dir.display())]
    Missing {
        /// The extension's directory.
        dir: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The manifest.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is longer than [`MAX_MANIFEST`].
    #[error("{} is longer than {MAX_MANIFEST} bytes", path.display())]
    TooLong {
        /// The manifest.
        path: PathBuf,
    },
    /// It is not a JSON object.
    #[error("{} is not a JSON object: {detail}", path.display())]
    NotJson {
        /// The manifest.
        path: PathBuf,
        /// The mistake.
        detail: String,
    },
    /// One field is not what it should be.
    #[error("{}: `{field}` {problem}", path.display())]
    Field {
        /// The manifest.
        path: PathBuf,
        /// The field.
        field: String,
        /// The expected value, fit to follow the field's name.
        problem: String,
    },
}

impl Manifest {
    /// Reads the manifest of the extension in `dir`.
    ///
    /// # Errors
    /// [`ManifestError`], which names the file and the field.
    pub fn read(dir: &Path) -> Result<Self, ManifestError> {
        let path = dir.join(MANIFEST_FILE);
        let text = read_bounded(dir, &path)?;
        Self::parse_with(&path, &text, || has_theme(dir))
    }

    /// [`read`](Self::read) of what these bytes are only: none where `wanted` says that they are not.
    pub(crate) fn read_if(
        dir: &Path,
        wanted: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Option<Self>, ManifestError> {
        let path = dir.join(MANIFEST_FILE);
        let text = read_bounded(dir, &path)?;
        match wanted(text.as_bytes()) {
            true => Self::parse_with(&path, &text, || has_theme(dir)).map(Some),
            false => Ok(None),
        }
    }

    /// [`read`](Self::read) without a file: `path` is what errors name, `theme` says whether the directory brings a
    /// theme, which needs no program.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(path: &Path, text: &str, theme: bool) -> Result<Self, ManifestError> {
        Self::parse_with(path, text, || theme)
    }

    fn parse_with(path: &Path, text: &str, theme: impl FnOnce() -> bool) -> Result<Self, ManifestError> {
        let not_json = |detail: String| ManifestError::NotJson { path: path.into(), detail };
        // Windows editors begin a file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let json = RawJson::parse(text).map_err(|error| {
            match (serde_json::from_str::<IgnoredAny>(text), error) {
                // A frame is one line, a manifest has many: the plain parser says where.
                (Err(at), DecodeError::NotJson { .. }) => not_json(describe_json_error(&at)),
                (_, ambiguous) => not_json(ambiguous.to_string()),
            }
        })?;
        let object = JsonObject::from_manifest(&json).map_err(|error| not_json(error.to_string()))?;
        let fields = ObjectFields::new(path, object)?;
        let exec = exec(&fields)?;
        if exec.is_none() && !theme() {
            return Err(fields.error("exec", "is required, unless the extension has a theme.json"));
        }
        let permissions = fields.object("permissions")?.as_ref().map(Permissions::read).transpose()?;
        let roles = roles::read(&fields, permissions.as_ref())?;
        let guards = roles.required
            || !fields.objects("intercept")?.is_empty()
            || permissions.as_ref().is_some_and(|asked| !asked.intercept.is_empty());
        let (lifecycle, ignored) = lifecycle::read(&fields, guards);
        Ok(Self {
            name: name(&fields)?,
            version: fields.text("version")?,
            description: fields.text("description")?,
            language: fields.text("language")?,
            enabled: fields.boolean("enabled")?.unwrap_or(true),
            exec,
            roles,
            permissions,
            lifecycle,
            ignored,
        })
    }

    /// Returns the launch of the extension in `dir`, with `exec` resolved by zot's rules: an absolute path as it is; a
    /// path with a `/`, relative to `dir`; a bare name in the directories of `path`, the value of `PATH`.
    ///
    /// # Errors
    /// [`ExecError`], which says what was looked for and where.
    pub fn resolve_launch(
        &self,
        dir: &Path,
        path: Option<&std::ffi::OsStr>,
    ) -> Result<LaunchPlan, ExecError> {
        match &self.exec {
            None => Ok(LaunchPlan::ThemeOnly),
            Some(exec) => {
                let program = exec::resolve(&exec.program, dir, path)?;
                Ok(LaunchPlan::Process { program, args: exec.args.clone() })
            }
        }
    }
}

/// Where a text is no JSON, in words that do not need the parser's author to explain them.
fn describe_json_error(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => "it ends in the middle".to_owned(),
        Category::Io | Category::Syntax | Category::Data => {
            format!("mistake in line {}, column {}", error.line(), error.column())
        }
    }
}

/// Reads the file, of which no more than [`MAX_MANIFEST`] is taken.
fn read_bounded(dir: &Path, path: &Path) -> Result<String, ManifestError> {
    let read = |source| ManifestError::Read { path: path.into(), source };
    let file = open(path, true).map_err(|error| {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match matches!(error.kind(), NotFound | NotADirectory).then(|| dir.is_dir()) {
            Some(true) => ManifestError::Missing { dir: dir.into() },
            Some(false) => ManifestError::NoDirectory { dir: dir.into() },
            None => read(error),
        }
    })?;
    let metadata = file.metadata().map_err(read)?;
    if !metadata.is_file() {
        return Err(read(std::io::Error::other("it is not a regular file")));
    }
    let length = metadata.len();
    if length > MAX_MANIFEST {
        return Err(ManifestError::TooLong { path: path.into() });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // As long as it looked, and no more: the end need not be looked for then.
    file.take(length).read_to_end(&mut bytes).map_err(read)?;
    String::from_utf8(bytes)
        .map_err(|_| ManifestError::NotJson { path: path.into(), detail: "it is not UTF-8".into() })
}

fn has_theme(dir: &Path) -> bool {
    dir.join("theme.json").is_file() || dir.join("themes").join("theme.json").is_file()
}

fn name(fields: &ObjectFields<'_>) -> Result<ExtensionName, ManifestError> {
    let name = fields.text("name")?.ok_or_else(|| fields.error("name", "is required"))?;
    if is_name(&name) {
        Ok(ExtensionName::new(name))
    } else {
        let rule = "must be 1 to 64 letters, digits, `.`, `_` or `-`, the first one a letter or digit, and not `haft`, \
                    which is how haft signs";
        Err(fields.error("name", rule))
    }
}

/// True if a text can be an extension's name, and so the name of its directory and of its log.
pub(crate) fn is_name(text: &str) -> bool {
    names::is_extension(text, MAX_NAME)
}

fn exec(fields: &ObjectFields<'_>) -> Result<Option<ExecCommand>, ManifestError> {
    let args = fields.text_list("args")?;
    let Some(program) = fields.text("exec")? else { return Ok(None) };
    Ok(Some(ExecCommand { program, args }))
}

impl ManifestError {
    pub(crate) fn change_path(&mut self, change: impl FnOnce(&mut PathBuf)) {
        match self {
            Self::NoDirectory { dir: path }
            | Self::Missing { dir: path }
            | Self::Read { path, .. }
            | Self::TooLong { path }
            | Self::NotJson { path, .. }
            | Self::Field { path, .. } => change(path),
        }
    }

    /// True if the directory simply holds no extension.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}
