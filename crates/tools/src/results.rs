//! Files with complete results that were too long for the model. They stay after the run, so that the model can read
//! them later, and a later run removes them.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::timeouts::RESULTS_KEPT;

/// The prefix of their names.
const PREFIX: &str = "haft-";

/// Removes results older than a week from a directory, and directories of commands that a crash left there. A file that
/// cannot be removed is left for the next time. Blocks.
pub fn clear_results(dir: &Path, now: SystemTime) {
    let is_old = |file: &fs::DirEntry| {
        let changed = file.metadata().and_then(|metadata| metadata.modified());
        changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > RESULTS_KEPT))
    };
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let ours = files.filter(|file| file.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    for file in ours.filter(is_old) {
        _ = match file.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => fs::remove_dir_all(file.path()),
            false => fs::remove_file(file.path()),
        };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn removes_only_old_result_files() {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let put = |name: &str, age: Duration| {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(now - age).unwrap();
        };
        put("haft-result-1.txt", RESULTS_KEPT + Duration::from_secs(1));
        put("haft-bash-1.log", RESULTS_KEPT + Duration::from_secs(1));
        put("haft-result-2.txt", RESULTS_KEPT - Duration::from_secs(1));
        put("mine.txt", RESULTS_KEPT * 2);
        let put_dir = |name: &str, age: Duration| {
            let dir = dir.path().join(name);
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("file"), "x").unwrap();
            fs::File::open(&dir).unwrap().set_modified(now - age).unwrap();
        };
        put_dir("haft-run-1", RESULTS_KEPT + Duration::from_secs(1));
        put_dir("haft-run-2", RESULTS_KEPT - Duration::from_secs(1));
        clear_results(dir.path(), now);
        clear_results(&dir.path().join("nowhere"), now);
        let mut left: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["haft-result-2.txt", "haft-run-2", "mine.txt"]);
    }
}
