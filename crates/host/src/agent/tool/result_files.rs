//! Files with the full text of results that are too long for a model.

use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use haft_core::TextFilter;
use tempfile::{NamedTempFile, TempDir};

#[derive(Debug)]
pub(crate) struct ResultFiles {
    /// The directory of the files, which the host's owner cleans up.
    dir: Option<PathBuf>,
    /// A temporary directory that is removed with the host, used without `dir`.
    own: Mutex<Option<TempDir>>,
    /// Removes secrets from the texts.
    filter: Option<TextFilter>,
}

impl ResultFiles {
    /// Creates a store in this directory, which is created with the first file. Without a directory, a
    /// temporary one is used and removed with the store.
    pub(crate) fn new(dir: Option<PathBuf>, filter: Option<TextFilter>) -> Self {
        Self { dir, own: Mutex::default(), filter }
    }

    /// Saves the full text to a new file that only its owner can read. The model may read the file long after
    /// the call.
    pub(crate) fn save(&self, whole: &[String]) -> Option<PathBuf> {
        match self.write(whole) {
            Ok(path) => Some(path),
            Err(error) => {
                tracing::warn!(%error, "cannot save the full text of a long result");
                None
            }
        }
    }

    fn write(&self, whole: &[String]) -> io::Result<PathBuf> {
        let mut writer = BufWriter::new(self.create_file()?);
        for (index, text) in whole.iter().enumerate() {
            writer.write_all(if index == 0 { b"" } else { b"\n" })?;
            let filtered = self.filter.as_ref().and_then(|filter| filter.apply(text));
            writer.write_all(filtered.as_deref().unwrap_or(text).as_bytes())?;
        }
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.keep().map(|(_, path)| path).map_err(|error| error.error)
    }

    fn create_file(&self) -> io::Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix("haft-result-").suffix(".txt");
        if let Some(dir) = &self.dir {
            create_private_dir(dir)?;
            return builder.tempfile_in(dir);
        }
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = match own.take() {
            Some(dir) => dir,
            None => tempfile::Builder::new().prefix("haft-results-").tempdir()?,
        };
        builder.tempfile_in(own.insert(dir).path())
    }
}

/// Creates a directory that only its owner can access, if it is missing.
fn create_private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Vec<String> {
        vec!["one".to_owned(), "two".to_owned()]
    }

    #[test]
    fn keeps_files_only_in_configured_directory() {
        let place = tempfile::tempdir().unwrap();
        let named = place.path().join("results");
        for (dir, stays) in [(Some(named.clone()), true), (None, false)] {
            let results = ResultFiles::new(dir, None);
            let paths = [results.save(&whole()).unwrap(), results.save(&whole()).unwrap()];
            assert!(paths.iter().all(|path| fs::read_to_string(path).unwrap() == "one\ntwo"));
            assert!(paths[0] != paths[1] && paths[0].parent() == paths[1].parent());
            assert_eq!(paths[0].starts_with(&named), stays);
            drop(results);
            assert_eq!(paths.iter().filter(|path| path.exists()).count(), if stays { 2 } else { 0 });
        }
    }

    #[test]
    fn saved_text_is_filtered_and_private() {
        let place = tempfile::tempdir().unwrap();
        let filter = TextFilter::new(|text| (text == "two").then(|| "[redacted]".to_owned()));
        let results = ResultFiles::new(Some(place.path().join("results")), Some(filter));
        let path = results.save(&whole()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\n[redacted]");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        }
    }

    #[test]
    fn saves_nothing_in_unwritable_directory() {
        let file = NamedTempFile::new().unwrap();
        assert_eq!(ResultFiles::new(Some(file.path().join("below")), None).save(&whole()), None);
    }
}
