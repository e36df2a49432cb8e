//! An image from a file.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use haft_core::image;
use haft_protocol::content::Image;

/// Reads an image; what it is, its bytes say. `~/` is the home directory.
///
/// # Errors
/// Why it cannot be read, or cannot be shown to a model.
pub(super) fn read(cwd: &Path, path: &Path) -> anyhow::Result<Image> {
    let path = placed(cwd, path);
    let shown = path.display();
    let about = fs::metadata(&path).with_context(|| format!("cannot read {shown}"))?;
    anyhow::ensure!(about.is_file(), "{shown} is no file");
    let too_big = || anyhow::anyhow!("{shown} has more than 5 MiB; make it smaller first");
    let most = image::MAX_BYTES as u64;
    if about.len() > most {
        return Err(too_big());
    }
    let mut bytes = Vec::new();
    let file = File::open(&path).with_context(|| format!("cannot read {shown}"))?;
    file.take(most + 1).read_to_end(&mut bytes).with_context(|| format!("cannot read {shown}"))?;
    if bytes.len() > image::MAX_BYTES {
        return Err(too_big());
    }
    let mime_type = image::check(&bytes).with_context(|| format!("{shown} cannot be shown"))?.to_owned();
    Ok(Image { mime_type, data: BASE64_STANDARD.encode(&bytes).into() })
}

/// Where a path leads.
pub(super) fn placed(cwd: &Path, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(below), Some(home)) => home.join(below),
        _ => cwd.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;";

    #[test]
    fn an_image_is_what_its_bytes_are() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.png"), GIF).unwrap();
        let image = read(dir.path(), Path::new("a.png")).unwrap();
        assert_eq!(image.mime_type, "image/gif");
        assert_eq!(image, read(Path::new("/"), &dir.path().join("a.png")).unwrap());
    }

    #[test]
    fn what_is_none_says_so() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("text.png"), "text").unwrap();
        File::create(dir.path().join("big.png")).unwrap().set_len(6 * 1024 * 1024).unwrap();
        let told = |name: &str| {
            let error = format!("{:#}", read(dir.path(), Path::new(name)).unwrap_err());
            error.replace(&dir.path().display().to_string(), "DIR")
        };
        assert!(told("text.png").starts_with("DIR/text.png cannot be shown: its bytes are no PNG"));
        assert_eq!(told("big.png"), "DIR/big.png has more than 5 MiB; make it smaller first");
        assert!(told("gone.png").starts_with("cannot read DIR/gone.png: "));
        assert!(told(".").ends_with("is no file"));
    }
}
