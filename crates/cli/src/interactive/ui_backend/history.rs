//! The prompt history file, which all haft processes share.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use haft_config::Home;
use haft_tui::history::PromptHistory;

/// The maximum size of the file, in bytes; far more than the kept part.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Returns the text of the history; empty without a file. A large file is trimmed first.
pub(super) fn read(home: &Home) -> anyhow::Result<String> {
    let file = home.history_file();
    let text = || read_lossy(&file).with_context(|| format!("cannot read {}", file.display()));
    let known = text()?;
    if !PromptHistory::decode(&known).rewrite {
        return Ok(known);
    }
    // Reads again under the lock, because another process may have added prompts.
    let _lock = lock_history(home).with_context(|| format!("cannot lock {}", file.display()))?;
    let known = text()?;
    let kept = PromptHistory::decode(&known).history.encode();
    replace_file(&file, &kept).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(kept)
}

/// Appends a prompt. Failures are only logged.
pub(super) fn append_prompt(home: &Home, prompt: &str) {
    let Some(line) = PromptHistory::default().push(prompt) else { return };
    if let Err(error) = append_line(home, &line) {
        tracing::warn!(%error, "cannot save a prompt in the history");
    }
}

fn append_line(home: &Home, line: &str) -> io::Result<()> {
    std::fs::create_dir_all(home.root())?;
    let _lock = lock_history(home)?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(home.history_file())?.write_all(line.as_bytes())
}

/// Locks the history for writing, until the result is dropped.
fn lock_history(home: &Home) -> io::Result<File> {
    let lock = File::create(home.root().join("history.lock"))?;
    lock.lock()?;
    Ok(lock)
}

/// Reads the file. Invalid UTF-8 and a truncated first line become lines that the parser ignores.
fn read_lossy(path: &Path) -> io::Result<String> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Replaces the file. `tempfile` creates files with mode 600.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restores_prompts_from_private_file() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        assert_eq!(read(&home).unwrap(), "");
        for prompt in ["one", " not this", "two\nrows"] {
            append_prompt(&home, prompt);
        }
        assert_eq!(read(&home).unwrap(), "{\"text\":\"one\"}\n{\"text\":\"two\\nrows\"}\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(home.history_file()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn trims_large_file() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let lines: String = (0..5000).map(|number| format!("{{\"text\":\"{number}\"}}\n")).collect();
        std::fs::write(home.history_file(), lines).unwrap();
        let kept = read(&home).unwrap();
        assert!(kept.starts_with("{\"text\":\"3000\"}\n") && kept.ends_with("{\"text\":\"4999\"}\n"));
        assert_eq!(std::fs::read_to_string(home.history_file()).unwrap(), kept);
    }

    #[test]
    fn keeps_prompts_of_concurrent_writers() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let home = &home;
                scope.spawn(move || (0..25).for_each(|at| append_prompt(home, &format!("{writer}-{at}"))));
            }
        });
        assert_eq!(PromptHistory::decode(&read(&home).unwrap()).history.prompts().len(), 100);
    }
}
