//! `extension.json`: the manifest of an extension, read before the extension runs.

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

/// The maximum size of a manifest in bytes: 256 KiB.
pub const MAX_MANIFEST: u64 = 256 * 1024;

/// The maximum length of an extension's name in characters.
pub const MAX_NAME: usize = 64;

/// A checked `extension.json`.
///
/// Keys are matched in any case, as in zot, and unknown keys are ignored.
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
    /// `enabled`; true by default.
    pub enabled: bool,
    /// `exec` and `args`; `None` for an extension that contains only a theme.
    pub exec: Option<ExecCommand>,
    /// `intercept` and `required`: the actions that the extension guards.
    pub roles: GuardRoles,
    /// `permissions`: the requested permissions; `None` for an extension that runs with all rights.
    pub permissions: Option<Permissions>,
    /// `activation`, `lifecycle`, `hello_timeout_ms` and `ready_timeout_ms`: the start and the end of its process.
    pub lifecycle: Lifecycle,
    /// Mistakes in optional fields, which are ignored.
    pub ignored: Vec<String>,
}

/// The command of an extension, as in its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecCommand {
    /// `exec`: the name of a program, or a path with a `/`, relative to the extension's directory.
    pub program: String,
    /// `args`, verbatim.
    pub args: Vec<String>,
}

impl ExecCommand {
    /// True if the command means the same program for every extension.
    pub(crate) fn is_shared(&self) -> bool {
        exec::is_bare(&self.program) || Path::new(&self.program).is_absolute()
    }
}

/// The reason why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The directory does not exist, or is not a directory.
    #[error("no such directory: {}", dir.display())]
    NoDirectory {
        /// The expected directory.
        dir: PathBuf,
    },
    /// The directory has no manifest.
    #[error("{} does not contain extension.json", dir.display())]
    Missing {
        /// The extension's directory.
        dir: PathBuf,
    },
    /// The manifest cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The manifest.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The manifest is larger than [`MAX_MANIFEST`].
    #[error("{} is larger than {MAX_MANIFEST} bytes", path.display())]
    TooLong {
        /// The manifest.
        path: PathBuf,
    },
    /// The manifest is not a JSON object.
    #[error("{} is not a JSON object: {detail}", path.display())]
    NotJson {
        /// The manifest.
        path: PathBuf,
        /// The problem.
        detail: String,
    },
    /// A field is not valid.
    #[error("{}: `{field}` {problem}", path.display())]
    Field {
        /// The manifest.
        path: PathBuf,
        /// The field.
        field: String,
        /// The problem; it continues a sentence after the field's name.
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

    /// Reads the manifest, like [`read`](Self::read), unless `wanted` rejects its bytes; then returns `None`.
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

    /// Parses a manifest without reading a file. Errors name `path`. `theme` is true if the directory has a theme,
    /// which needs no program.
    ///
    /// # Errors
    /// The same as [`read`](Self::read).
    pub fn parse(path: &Path, text: &str, theme: bool) -> Result<Self, ManifestError> {
        Self::parse_with(path, text, || theme)
    }

    fn parse_with(path: &Path, text: &str, theme: impl FnOnce() -> bool) -> Result<Self, ManifestError> {
        let not_json = |detail: String| ManifestError::NotJson { path: path.into(), detail };
        // Some Windows editors begin a file with a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let json = RawJson::parse(text).map_err(|error| {
            match (serde_json::from_str::<IgnoredAny>(text), error) {
                // The strict parser is for frames of one line. The plain parser reports the line of the problem.
                (Err(at), DecodeError::NotJson { .. }) => not_json(describe_json_error(&at)),
                (_, ambiguous) => not_json(ambiguous.to_string()),
            }
        })?;
        let object = JsonObject::from_manifest(&json).map_err(|error| not_json(error.to_string()))?;
        let fields = ObjectFields::new(path, object)?;
        let exec = exec(&fields)?;
        if exec.is_none() && !theme() {
            return Err(fields.error("exec", "is required unless the extension has a theme.json"));
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

    /// Returns the launch of the extension in `dir`, with `exec` resolved by zot's rules. An absolute path is used as
    /// it is. A path with a `/` is relative to `dir`. A bare name is searched in the directories of `path`, the value
    /// of `PATH`.
    ///
    /// # Errors
    /// [`ExecError`] with the program and the searched places.
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

/// Describes a JSON error without the parser's terminology.
fn describe_json_error(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Eof => "unexpected end of file".to_owned(),
        Category::Io | Category::Syntax | Category::Data => {
            format!("syntax error in line {}, column {}", error.line(), error.column())
        }
    }
}

/// Reads at most [`MAX_MANIFEST`] bytes of the file.
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
        return Err(read(std::io::Error::other("not a regular file")));
    }
    let length = metadata.len();
    if length > MAX_MANIFEST {
        return Err(ManifestError::TooLong { path: path.into() });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    // Reads exactly the length from the metadata, which saves a system call for the end of the file.
    file.take(length).read_to_end(&mut bytes).map_err(read)?;
    String::from_utf8(bytes)
        .map_err(|_| ManifestError::NotJson { path: path.into(), detail: "not valid UTF-8".into() })
}

fn has_theme(dir: &Path) -> bool {
    dir.join("theme.json").is_file() || dir.join("themes").join("theme.json").is_file()
}

fn name(fields: &ObjectFields<'_>) -> Result<ExtensionName, ManifestError> {
    let name = fields.text("name")?.ok_or_else(|| fields.error("name", "is required"))?;
    if is_name(&name) {
        Ok(ExtensionName::new(name))
    } else {
        let rule = "must be 1 to 64 letters, digits, `.`, `_` or `-`, begin with a letter or digit, and \
        not be `haft`, which is reserved";
        Err(fields.error("name", rule))
    }
}

/// True if a text is a valid name of an extension, and so of its directory and its log.
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

    /// True if the directory does not contain an extension.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}
