//! The person's external editor: its command, and the file that it opens.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use super::Environment;

/// The maximum size of the edited text, in bytes.
const MOST: u64 = 4 * 1024 * 1024;

/// The editor if no variable names one.
const DEFAULT: &str = if cfg!(windows) { "notepad" } else { "vi" };

pub(super) fn editor_command(environment: &Environment) -> Result<Vec<String>, String> {
    let named = [("VISUAL", &environment.visual), ("EDITOR", &environment.editor)];
    let Some((name, line)) = named.into_iter().find_map(|(name, line)| Some((name, line.as_ref()?))) else {
        return Ok(vec![DEFAULT.to_owned()]);
    };
    match split_command_line(line) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => {
            Err(format!("The variable {name} is not a valid command: it is blank or has an unclosed quote."))
        }
    }
}

/// The file that the editor opens. It stays until its text was read, because it may be the only copy of the text.
#[derive(Debug)]
pub(super) struct EditorFile {
    path: PathBuf,
    given: String,
}

impl EditorFile {
    /// Writes the text into a file that only the user can read.
    pub(super) fn new(text: &str) -> io::Result<Self> {
        let mut file = tempfile::Builder::new().prefix("haft-").suffix(".md").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        Ok(Self { path: file.into_temp_path().keep()?, given: text.to_owned() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the file. Not every editor writes UTF-8: invalid bytes become `\u{fffd}`.
    fn read_text(&self) -> io::Result<String> {
        let mut bytes = Vec::new();
        fs::File::open(&self.path)?.take(MOST + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MOST {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is longer than 4 MiB"));
        }
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        // Editors add a final newline, which the original text may lack.
        let ended = self.given.ends_with('\n');
        let shorter = (!ended).then(|| text.strip_suffix('\n')).flatten().map(str::to_owned);
        Ok(shorter.unwrap_or(text))
    }

    fn remove(&self) {
        // The file is not needed any more. If this fails, the cleanup of temporary files removes it.
        let _ = fs::remove_file(&self.path);
    }

    /// Keeps a changed file and returns a sentence with its path; removes an unchanged file.
    fn keep_if_changed(&self) -> String {
        match self.read_text() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Ok(text) if text == self.given => {
                self.remove();
                String::new()
            }
            Ok(_) | Err(_) => format!(" The edited text is in {}.", self.path.display()),
        }
    }
}

pub(super) fn read_edited_text(
    draft: &EditorFile,
    command: &str,
    ended: io::Result<Option<i32>>,
) -> Result<String, String> {
    let why = match ended {
        Ok(Some(0)) => match draft.read_text() {
            Ok(text) => {
                draft.remove();
                return Ok(text);
            }
            Err(error) => format!("Cannot read the edited text: {error}."),
        },
        Ok(Some(code)) => format!("The editor {command} exited with {code}; the text is unchanged."),
        Ok(None) => format!("The editor {command} was stopped; the text is unchanged."),
        Err(error) => {
            format!("Cannot start the editor {command}: {error}; set the variable VISUAL to another editor.")
        }
    };
    Err(why + &draft.keep_if_changed())
}

/// Splits a command line like a shell without expansions: blanks separate words, quotes and backslashes join them.
/// `None` if a quote is not closed.
pub(super) fn split_command_line(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => parse_quoted(&mut chars, word.get_or_insert_default())?,
            '"' => parse_double_quoted(&mut chars, word.get_or_insert_default())?,
            // On Windows, backslashes separate path components.
            '\\' if !cfg!(windows) => word.get_or_insert_default().push(chars.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

fn parse_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '\'' => return Some(()),
            c => word.push(c),
        }
    }
}

fn parse_double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' if !cfg!(windows) => match chars.next()? {
                c @ ('"' | '\\' | '$' | '`') => word.push(c),
                c => word.extend(['\\', c]),
            },
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_first_named_editor() {
        let env = |visual: Option<&str>, editor: Option<&str>| Environment {
            visual: visual.map(str::to_owned),
            editor: editor.map(str::to_owned),
            ..Environment::default()
        };
        assert_eq!(editor_command(&env(Some("code --wait"), Some("vi"))).unwrap(), ["code", "--wait"]);
        assert_eq!(editor_command(&env(None, Some("nano"))).unwrap(), ["nano"]);
        assert_eq!(editor_command(&env(None, None)).unwrap(), [DEFAULT]);
        assert!(editor_command(&env(Some("'x"), None)).unwrap_err().contains("VISUAL"));
        assert!(editor_command(&env(None, Some("  "))).unwrap_err().contains("EDITOR"));
    }

    #[test]
    fn draft_is_private_and_removed() {
        let draft = EditorFile::new("one\ntwo").unwrap();
        let path = draft.path().to_owned();
        assert!(path.extension().is_some_and(|extension| extension == "md"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(draft.read_text().unwrap(), "one\ntwo");
        fs::write(&path, "one\r\nthree\r\n").unwrap();
        assert_eq!(read_edited_text(&draft, "vi", Ok(Some(0))), Ok("one\nthree".to_owned()));
        assert!(!path.exists());
        assert_eq!(
            read_edited_text(&draft, "vi", Ok(Some(0))).unwrap_err().matches("is in").count(),
            0,
            "there is no file"
        );
    }

    #[test]
    fn failed_editor_keeps_written_text() {
        let draft = EditorFile::new("one").unwrap();
        fs::write(draft.path(), b"caf\xe9\n").unwrap();
        assert_eq!(read_edited_text(&draft, "vi", Ok(Some(0))), Ok("caf\u{fffd}".to_owned()));
        let too_long = vec![b'x'; usize::try_from(MOST).unwrap() + 1];
        for (text, ended) in [(too_long.as_slice(), Some(0)), (b"two", Some(1)), (b"two", None)] {
            let draft = EditorFile::new("one").unwrap();
            fs::write(draft.path(), text).unwrap();
            let said = read_edited_text(&draft, "vi", Ok(ended)).unwrap_err();
            assert!(said.contains(&draft.path().display().to_string()), "{said}");
            assert_eq!(fs::read(draft.path()).unwrap(), text);
            draft.remove();
        }
    }

    #[test]
    fn failed_editor_changes_nothing() {
        let missing = || Err(io::ErrorKind::NotFound.into());
        for (ended, expect) in [
            (Ok(Some(1)), "exited with 1"),
            (Ok(None), "was stopped"),
            (missing(), "Cannot start the editor"),
        ] {
            let draft = EditorFile::new("one").unwrap();
            let said = read_edited_text(&draft, "vi", ended).unwrap_err();
            assert!(said.contains(expect) && !said.contains("is in"), "{said}");
            assert!(!draft.path().exists());
        }
    }

    #[track_caller]
    fn check(line: &str, expect: &[&str]) {
        assert_eq!(split_command_line(line).unwrap(), expect, "{line}");
    }

    #[test]
    fn splits_command_line_into_words() {
        check("vi", &["vi"]);
        check("  code --wait\t-n ", &["code", "--wait", "-n"]);
        check("'/opt/my editor/run' -f", &["/opt/my editor/run", "-f"]);
        check(r#"emacsclient -a "" -c"#, &["emacsclient", "-a", "", "-c"]);
        check(r#"a"b c"'d e'f"#, &["ab cd ef"]);
        check("", &[]);
    }

    #[cfg(unix)]
    #[test]
    fn handles_backslashes_in_command_line() {
        check(r"my\ editor", &["my editor"]);
        check(r#""a\"b\\c\n""#, &[r#"a"b\c\n"#]);
        check(r"'a\b'", &[r"a\b"]);
    }

    #[test]
    fn unclosed_quote_is_not_a_command() {
        assert_eq!(split_command_line("vi 'a"), None);
        assert_eq!(split_command_line("vi \"a"), None);
        #[cfg(unix)]
        assert_eq!(split_command_line("vi \\"), None);
    }
}
