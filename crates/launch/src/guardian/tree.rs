//! The process tree.

#[cfg(target_os = "linux")]
pub(crate) use linux::{group_inside, kill_below, kill_children};

/// Does nothing: without a subreaper the only child is the program, and the group is killed by its number.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_children() {}

/// Does nothing: the descendants of a process are not known.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_below(_: rustix::process::Pid) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::{Path, PathBuf};

    use rustix::process::{Pid, Signal, getpgid, getpid, kill_process};

    /// The depth to which [`kill_below`] follows a tree. Deeper nesting happens only on purpose.
    const DEEPEST: usize = 64;

    /// Kills every child of this process. Its grandchildren become its children and are found by the next call.
    pub(crate) fn kill_children() {
        children_of(getpid()).into_iter().for_each(kill);
    }

    /// Kills all descendants of a process, but not the process, for use when its guardian does not respond.
    pub(crate) fn kill_below(top: Pid) {
        let mut level = children_of(top);
        for _ in 0..DEEPEST {
            // Listed before the kill, because the children of an ended process get another parent.
            let next = level.iter().flat_map(|pid| children_of(*pid)).collect();
            level.into_iter().for_each(kill);
            level = next;
        }
    }

    /// Returns the group of the program in a process namespace. The process that made the namespace has one child,
    /// which collects orphans; the program is below that child.
    pub(crate) fn group_inside(maker: Pid) -> Option<Pid> {
        let mut inside = children_of(maker).into_iter().flat_map(children_of);
        let program = inside.find(|pid| number_inside(&proc_dir(*pid)).as_deref() == Some(FIRST_INSIDE))?;
        getpgid(Some(program)).ok()
    }

    /// The number of the program inside the namespace; the collector has number 1.
    const FIRST_INSIDE: &str = "2";

    fn number_inside(dir: &Path) -> Option<String> {
        let status = fs::read_to_string(dir.join("status")).ok()?;
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        numbers.split_whitespace().next_back().map(str::to_owned)
    }

    fn kill(pid: Pid) {
        // The process may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }

    fn children_of(of: Pid) -> Vec<Pid> {
        list_children(of).unwrap_or_else(|| search_children(of))
    }

    /// Reads the kernel's lists of children, one for each thread. `None` if this kernel does not have such lists.
    fn list_children(of: Pid) -> Option<Vec<Pid>> {
        let threads = fs::read_dir(proc_dir(of).join("task")).ok()?;
        let lists = threads.flatten().map(|thread| fs::read_to_string(thread.path().join("children")));
        let lists = lists.collect::<Result<Vec<_>, _>>().ok()?;
        Some(lists.iter().flat_map(|list| list.split_whitespace()).filter_map(parse_pid).collect())
    }

    /// Searches all processes for those with this parent.
    fn search_children(of: Pid) -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| parse_pid(entry.file_name().to_str()?));
        pids.filter(|pid| parent_of(&proc_dir(*pid)) == Some(of)).collect()
    }

    fn parent_of(dir: &Path) -> Option<Pid> {
        let stat = fs::read_to_string(dir.join("stat")).ok()?;
        // The format is `PID (NAME) STATE PPID …`; the name may contain any character.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1).and_then(parse_pid)
    }

    fn proc_dir(pid: Pid) -> PathBuf {
        Path::new("/proc").join(pid.as_raw_nonzero().to_string())
    }

    fn parse_pid(text: &str) -> Option<Pid> {
        text.parse().ok().and_then(Pid::from_raw)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn list_and_search_find_the_same_child() {
            #[expect(clippy::disallowed_methods, reason = "any child will do")]
            let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
            let own = parse_pid(&child.id().to_string()).unwrap();
            let found = [list_children(getpid()).unwrap(), search_children(getpid())];
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(found.iter().all(|pids| pids.contains(&own)), "{own:?} is missing in {found:?}");
        }
    }
}
