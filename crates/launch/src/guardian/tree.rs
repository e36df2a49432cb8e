//! The tree of processes.

#[cfg(target_os = "linux")]
pub(crate) use linux::{group_inside, kill_below, kill_children};

/// Without a subreaper the only child is the program, and the group is killed by its number.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_children() {}

/// Nothing is known of who descends from whom.
#[cfg(not(target_os = "linux"))]
pub(crate) fn kill_below(_: rustix::process::Pid) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::path::{Path, PathBuf};

    use rustix::process::{Pid, Signal, getpgid, getpid, kill_process};

    /// Deeper trees are not followed by [`kill_below`]; nobody nests that far but on purpose.
    const DEEPEST: usize = 64;

    /// Kills every child of this process. Their children become its own, and are there at the next call.
    pub(crate) fn kill_children() {
        children(getpid()).into_iter().for_each(kill);
    }

    /// Kills everything below a process, but not the process. For when its guardian does not do so.
    pub(crate) fn kill_below(top: Pid) {
        let mut level = children(top);
        for _ in 0..DEEPEST {
            // Asked first: the children of a process that is gone are somebody else's.
            let next = level.iter().flat_map(|pid| children(*pid)).collect();
            level.into_iter().for_each(kill);
            level = next;
        }
    }

    /// The group of the first program in a namespace of processes. What made the namespace has one child, which
    /// collects orphans, and below it is the program.
    pub(crate) fn group_inside(maker: Pid) -> Option<Pid> {
        let mut inside = children(maker).into_iter().flat_map(children);
        let program = inside.find(|pid| number_inside(&proc_dir(*pid)).as_deref() == Some(FIRST_INSIDE))?;
        getpgid(Some(program)).ok()
    }

    /// The collector has the number before.
    const FIRST_INSIDE: &str = "2";

    fn number_inside(dir: &Path) -> Option<String> {
        let status = fs::read_to_string(dir.join("status")).ok()?;
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        numbers.split_whitespace().next_back().map(str::to_owned)
    }

    fn kill(pid: Pid) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }

    fn children(of: Pid) -> Vec<Pid> {
        list_children(of).unwrap_or_else(|| search_children(of))
    }

    /// By the kernel's own list, one for each thread. None when this kernel has no such lists.
    fn list_children(of: Pid) -> Option<Vec<Pid>> {
        let threads = fs::read_dir(proc_dir(of).join("task")).ok()?;
        let lists = threads.flatten().map(|thread| fs::read_to_string(thread.path().join("children")));
        let lists = lists.collect::<Result<Vec<_>, _>>().ok()?;
        Some(lists.iter().flat_map(|list| list.split_whitespace()).filter_map(parse_pid).collect())
    }

    /// By asking every process for its parent.
    fn search_children(of: Pid) -> Vec<Pid> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| parse_pid(entry.file_name().to_str()?));
        pids.filter(|pid| parent_of(&proc_dir(*pid)) == Some(of)).collect()
    }

    fn parent_of(dir: &Path) -> Option<Pid> {
        let stat = fs::read_to_string(dir.join("stat")).ok()?;
        // `1 (a name, with anything in it) S 0 …`: the parent is the second word behind the name.
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
        fn both_ways_find_the_same_children() {
            #[expect(clippy::disallowed_methods, reason = "any child will do")]
            let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
            let own = parse_pid(&child.id().to_string()).unwrap();
            let found = [list_children(getpid()).unwrap(), search_children(getpid())];
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(found.iter().all(|pids| pids.contains(&own)), "{own:?} is not among {found:?}");
        }
    }
}
