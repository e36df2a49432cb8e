//! Detects that this process was started by a tool or an extension.
//!
//! Two marks are looked for, because each alone can be lost: the launcher among the ancestors, and a variable. On Linux
//! the launcher is the parent of all orphans below it, so a process cannot leave the tree while its command runs.
//!
//! The marks stop mistakes. A process without a sandbox can lose both: in the background after its command, in a
//! namespace of process ids, where the ancestors are missing as in a container, or by asking a service of the user to
//! start a program. An ancestor that cannot be read is therefore not a mark: systems that hide the processes of other
//! users hide the ancestors of a login, too.

use std::ffi::OsStr;

/// The variable that tools set for their commands.
pub const TOOL_VARIABLE: &str = "HAFT_TOOL";

/// The name of the launcher's process. At most 15 bytes, as the kernel stores it.
#[cfg(target_os = "linux")]
pub(crate) const PROCESS_NAME: &std::ffi::CStr = c"haft-launcher";

/// The number of ancestors that are looked at. Deeper nesting happens only on purpose.
#[cfg(target_os = "linux")]
const DEEPEST: usize = 4096;

/// The mark by which a process is known to be below a tool or an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolMark {
    /// A launcher is among its ancestors, or it has so many that this is unknown.
    Ancestor,
    /// The variable [`TOOL_VARIABLE`] is set.
    Variable,
}

/// Returns the mark of this process, if a tool or an extension started it.
pub fn tool_mark() -> Option<ToolMark> {
    if has_launcher_above() {
        return Some(ToolMark::Ancestor);
    }
    let is_set = std::env::var_os(TOOL_VARIABLE).is_some_and(|value| value != OsStr::new(""));
    is_set.then_some(ToolMark::Variable)
}

#[cfg(target_os = "linux")]
fn has_launcher_above() -> bool {
    let stat = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let Some(mut pid) = stat("self").as_deref().and_then(parse_stat).map(|(_, parent)| parent) else {
        return false;
    };
    for _ in 0..DEEPEST {
        // The parent of the first process of a namespace is 0.
        if pid == "0" {
            return false;
        }
        let Some((name, parent)) = stat(&pid).as_deref().and_then(parse_stat) else { return false };
        if name.as_bytes() == PROCESS_NAME.to_bytes() {
            return true;
        }
        pid = parent;
    }
    true
}

/// Parses `PID (NAME) STATE PARENT …`; the name may contain any character.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &str) -> Option<(String, String)> {
    let (before, after) = stat.rsplit_once(')')?;
    let name = before.split_once('(')?.1;
    Some((name.to_owned(), after.split_whitespace().nth(1)?.to_owned()))
}

#[cfg(not(target_os = "linux"))]
fn has_launcher_above() -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn parses_name_and_parent() {
        let parse = |stat: &str| parse_stat(stat);
        assert_eq!(parse("7 (sh) S 4 7 7 0"), Some(("sh".to_owned(), "4".to_owned())));
        assert_eq!(parse("7 (a) R 1 (b) S 4 7"), Some(("a) R 1 (b".to_owned(), "4".to_owned())));
        assert_eq!(parse("7 sh"), None);
    }
}
