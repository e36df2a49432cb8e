//! The parts of the protocol that tests use, for `docs/coverage.md`: the prelude of each extension in Python lists what
//! its test used in a file that has the name of the test.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{fs, io, thread};

/// The tests of this process whose file is from this run.
static STARTED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// Returns the file of the running test, which is empty or absent when the test starts.
pub(crate) fn record_file() -> PathBuf {
    let test = thread::current().name().unwrap_or("unnamed").replace("::", ".");
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("coverage");
    fs::create_dir_all(&dir).unwrap();
    let file = dir.join(&test);
    if STARTED.lock().unwrap().get_or_insert_default().insert(test) {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{}: {error}", file.display()),
            Ok(()) | Err(_) => {}
        }
    }
    file
}
