//! The person's own editor: which one, and the file that it opens.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use tempfile::TempPath;

use super::{Environment, words};

/// The longest text that is taken from a file.
const MOST: u64 = 4 * 1024 * 1024;

/// Where none is named.
const DEFAULT: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// The command of the person's editor, as words.
pub(super) fn command(environment: &Environment) -> Result<Vec<String>, String> {
    let named = [("VISUAL", &environment.visual), ("EDITOR", &environment.editor)];
    let Some((name, line)) = named.into_iter().find_map(|(name, line)| Some((name, line.as_ref()?))) else {
        return Ok(vec![DEFAULT.to_owned()]);
    };
    match words::split(line) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => Err(format!("The variable {name} holds no command: a quote does not end, or it is blank.")),
    }
}

/// The file that the editor opens. It goes when this is dropped.
#[derive(Debug)]
pub(super) struct Draft {
    path: TempPath,
    /// Editors end the last line, which the text may not have done.
    ended: bool,
}

impl Draft {
    /// Writes the text into a file that nobody else reads.
    pub(super) fn new(text: &str) -> io::Result<Self> {
        let mut file = tempfile::Builder::new().prefix("haft-").suffix(".md").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        Ok(Self { path: file.into_temp_path(), ended: text.ends_with('\n') })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds now.
    pub(super) fn text(&self) -> io::Result<String> {
        let mut text = String::new();
        fs::File::open(&self.path)?.take(MOST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > MOST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is longer than 4 MiB"));
        }
        let text = text.replace("\r\n", "\n");
        let shorter = (!self.ended).then(|| text.strip_suffix('\n')).flatten().map(str::to_owned);
        Ok(shorter.unwrap_or(text))
    }
}

/// What came of it: the text, or what is said to the person.
pub(super) fn edited(draft: &Draft, command: &str, ended: io::Result<Option<i32>>) -> Result<String, String> {
    match ended {
        Ok(Some(0)) => draft.text().map_err(|error| format!("The edited text cannot be read: {error}.")),
        Ok(Some(code)) => Err(format!("The editor {command} ended with {code}; the text is as it was.")),
        Ok(None) => Err(format!("The editor {command} was stopped; the text is as it was.")),
        Err(error) => Err(format!(
            "The editor {command} cannot be started: {error}; set the variable VISUAL to another one."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_named() {
        let env = |visual: Option<&str>, editor: Option<&str>| Environment {
            visual: visual.map(str::to_owned),
            editor: editor.map(str::to_owned),
            ..Environment::default()
        };
        assert_eq!(command(&env(Some("code --wait"), Some("vi"))).unwrap(), ["code", "--wait"]);
        assert_eq!(command(&env(None, Some("nano"))).unwrap(), ["nano"]);
        assert_eq!(command(&env(None, None)).unwrap(), [DEFAULT]);
        assert!(command(&env(Some("'x"), None)).unwrap_err().contains("VISUAL"));
        assert!(command(&env(None, Some("  "))).unwrap_err().contains("EDITOR"));
    }

    #[test]
    fn a_draft_is_the_persons_alone_and_goes() {
        let draft = Draft::new("one\ntwo").unwrap();
        let path = draft.path().to_owned();
        assert!(path.extension().is_some_and(|extension| extension == "md"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(draft.text().unwrap(), "one\ntwo");
        fs::write(&path, "one\r\nthree\r\n").unwrap();
        assert_eq!(edited(&draft, "vi", Ok(Some(0))), Ok("one\nthree".to_owned()));
        fs::write(&path, [0xff]).unwrap();
        assert!(edited(&draft, "vi", Ok(Some(0))).unwrap_err().contains("cannot be read"));
        drop(draft);
        assert!(!path.exists());
    }

    #[test]
    fn an_editor_that_fails_changes_nothing() {
        let draft = Draft::new("one").unwrap();
        assert!(edited(&draft, "vi", Ok(Some(1))).unwrap_err().contains("ended with 1"));
        assert!(edited(&draft, "vi", Ok(None)).unwrap_err().contains("was stopped"));
        let missing = Err(io::ErrorKind::NotFound.into());
        assert!(edited(&draft, "vi", missing).unwrap_err().contains("cannot be started"));
    }
}
