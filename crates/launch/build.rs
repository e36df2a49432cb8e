//! Identifies the code of this crate, so that two programs can tell whether they contain the same.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=src");
    let mut hasher = DefaultHasher::new();
    hash_files(Path::new("src"), &mut hasher)?;
    println!("cargo::rustc-env=HAFT_LAUNCH_BUILD={:016x}", hasher.finish());
    Ok(())
}

fn hash_files(dir: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut paths: Vec<_> = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash_files(&path, hasher)?;
        } else {
            (path.to_string_lossy(), fs::read(&path)?).hash(hasher);
        }
    }
    Ok(())
}
