//! Runs this binary under valgrind's callgrind and reads the instructions from the profile.
//!
//! The count of a process is the instructions of this binary plus a fixed cost for each call of a system library. All
//! Rust code is linked into the binary. The instructions of the system libraries are excluded: glibc selects `memcpy`
//! and `strlen` by processor, and its `malloc` changes between versions.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The cost of a call of a system library: near the mean of `malloc`, `free`, `memcpy` and `memcmp` with short
/// arguments.
const LIBRARY_CALL: u64 = 30;

/// Returns the command that starts valgrind.
pub(crate) fn valgrind_command() -> Command {
    #[expect(clippy::disallowed_methods, reason = "a benchmark's own child")]
    Command::new("valgrind")
}

/// True if valgrind can be started.
pub(crate) fn has_valgrind() -> bool {
    let version = valgrind_command().arg("--version").stdin(Stdio::null()).output();
    version.is_ok_and(|output| output.status.success())
}

/// Returns the count of a whole process of this binary with these arguments.
pub(super) fn count(args: &[&str]) -> Result<u64> {
    let folder = tempfile::tempdir().context("create a directory for callgrind")?;
    let (file, own) =
        (folder.path().join("out"), std::env::current_exe().context("find the path of this binary")?);
    let output = valgrind_command()
        // Full names allow reading the profile line by line.
        .args(["--tool=callgrind", "--compress-strings=no", "--compress-pos=no", "--dump-line=no"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&own)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .context("start valgrind")?;
    let name = args.join(" ");
    if !output.status.success() {
        bail!("{name} under valgrind: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let profile = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    read(&profile, &own).with_context(|| format!("find {} in the profile of {name}", own.display()))
}

/// Adds up a profile: the instructions of `own` and the cost of its calls of other objects. Returns `None` if the
/// profile does not mention `own`. The format: <https://valgrind.org/docs/manual/cl-format.html>.
fn read(profile: &str, own: &Path) -> Option<u64> {
    let is_own = |object: &str| Path::new(object) == own;
    let mut found = None;
    // The object of the function, and the object of the called function if it differs.
    let (mut in_own, mut called) = (false, None);
    let mut lines = profile.lines();
    while let Some(line) = lines.next() {
        let (cost, times) = if let Some(object) = line.strip_prefix("ob=") {
            in_own = is_own(object);
            continue;
        } else if let Some(object) = line.strip_prefix("cob=") {
            called = Some(object);
            continue;
        } else if let Some(calls) = line.strip_prefix("calls=") {
            // The next line is the cost of the callee.
            lines.next();
            let leaves = called.take().is_some_and(|object| !is_own(object));
            (if leaves { LIBRARY_CALL } else { 0 }, calls.split(' ').next())
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            (1, line.split(' ').nth(1))
        } else {
            continue;
        };
        if in_own {
            *found.get_or_insert(0) += cost * times?.parse::<u64>().ok()?;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
# callgrind format
version: 1
positions: line
events: Ir
summary: 1234

ob=/lib/libc.so.6
fn=malloc
0 70
cob=/bin/own
cfn=hook
calls=9 0
0 90

ob=/bin/own
fl=a.rs
fn=first
0 100
cob=/lib/libc.so.6
cfi=malloc.c
cfn=malloc
calls=2 0
0 70
0 5
cfn=second
calls=3 0
0 7

fn=second
fi=b.rs
0 7

totals: 1234
";

    #[test]
    fn adds_own_instructions_and_library_calls() {
        assert_eq!(read(PROFILE, Path::new("/bin/own")), Some(100 + 5 + 7 + 2 * LIBRARY_CALL));
    }

    #[test]
    fn returns_none_without_binary_in_profile() {
        assert_eq!(read(PROFILE, Path::new("/bin/other")), None);
        assert_eq!(read("", Path::new("/bin/own")), None);
    }
}
