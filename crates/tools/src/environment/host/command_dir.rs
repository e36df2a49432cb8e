//! The private directory of commands: their temporary files, and the editor that they get.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

use super::private;
use crate::results::clear_results;

/// The editor of commands: no person can use one, so it says what to do instead.
const EDITOR: &str = r#"#!/bin/sh
echo 'no editor is available: pass the text in the command, for example git commit -m TEXT,' >&2
echo 'or edit the file with the tools for files; set GIT_SEQUENCE_EDITOR for git rebase -i' >&2
: > "${0%/*}/tmp/editor-was-called"
exit 1
"#;

/// The file that the editor leaves in the directory for temporary files.
const CALLED: &str = "editor-was-called";

/// A directory that exists as long as the value. One that a crash left is removed after a week.
#[derive(Debug)]
pub(super) struct CommandDir {
    _whole: TempDir,
    /// The part that commands may change. The editor is beside it: an approved command runs it without a sandbox.
    temp: PathBuf,
    editor: PathBuf,
}

impl CommandDir {
    /// Creates a directory in the system's temporary directory. Blocks.
    pub(super) fn create() -> io::Result<Self> {
        let base = private::private_temp_dir("commands");
        private::create_private_dir(&base)?;
        let whole = tempfile::Builder::new().prefix("haft-run-").tempdir_in(base.canonicalize()?)?;
        let temp = whole.path().join("tmp");
        std::fs::create_dir(&temp)?;
        let editor = whole.path().join("editor");
        std::fs::write(&editor, EDITOR)?;
        #[cfg(unix)]
        std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(Self { _whole: whole, temp, editor })
    }

    pub(super) fn path(&self) -> &Path {
        &self.temp
    }

    /// True if a command has started the editor.
    pub(super) fn editor_was_called(&self) -> bool {
        self.temp.join(CALLED).exists()
    }

    /// Returns the path of a program that fails and says why.
    pub(super) fn failing_editor(&self) -> &Path {
        &self.editor
    }
}

impl Drop for CommandDir {
    /// Removes the old directories that crashes left. At the start, this would delay the first request.
    fn drop(&mut self) {
        clear_results(&private::private_temp_dir("commands"), SystemTime::now());
    }
}
