//! Reading of files that may come from untrusted sources.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads the text of a regular file of at most `limit` bytes. Pipes and devices, which may never end, are rejected
/// before they are opened.
///
/// # Errors
/// When the file cannot be read, is not a regular file, is too long, or is not UTF-8 text.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    let (bytes, len) = read_prefix(path, limit)?;
    if len > limit {
        return Err(io::Error::other(format!("the file is longer than {limit} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("the file is not UTF-8 text"))
}

/// Reads at most the first `limit` bytes of a regular file. Returns them and the length of the file.
pub(crate) fn read_prefix(path: &Path, limit: u64) -> io::Result<(Vec<u8>, u64)> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(limit).read_to_end(&mut bytes)?;
    let len = file.metadata()?.len().max(bytes.len() as u64);
    Ok((bytes, len))
}
