//! Finds import cycles of files. A module and its own children may import each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{CrateModules, SourceModule};

/// Imports of each file, by index.
type ImportGraph = BTreeMap<usize, BTreeSet<usize>>;

/// Reports the shortest cycle of each group of files that import each other.
pub(super) fn check(one: &CrateModules) -> Vec<String> {
    let graph = import_graph(one);
    let mut reported = BTreeSet::new();
    let mut findings = Vec::new();
    for start in graph.keys() {
        if reported.contains(start) {
            continue;
        }
        let Some(circle) = shortest_cycle(&graph, *start) else { continue };
        reported.extend(cycle_group(&graph, *start));
        let files: Vec<&str> = circle.iter().map(|at| one.modules[*at].file.as_str()).collect();
        findings.push(format!(
            "crates/{}/src: the files {} import each other in a cycle; move the shared code into a lower module",
            one.name,
            files.join(" -> ")
        ));
    }
    findings
}

fn import_graph(one: &CrateModules) -> ImportGraph {
    let index = |module: &SourceModule| one.modules.iter().position(|other| other.name == module.name);
    let is_related =
        |a: &SourceModule, b: &SourceModule| a.name.starts_with(&b.name) || b.name.starts_with(&a.name);
    let edges = |module: &SourceModule| {
        let others = one.imported_modules(module).into_iter().filter(|other| !is_related(module, other));
        others.filter_map(index).collect()
    };
    one.modules.iter().enumerate().map(|(at, module)| (at, edges(module))).collect()
}

/// Returns the shortest path from a file back to itself.
fn shortest_cycle(graph: &ImportGraph, start: usize) -> Option<Vec<usize>> {
    let mut queue = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = queue.pop_front() {
        for next in way.last().and_then(|last| graph.get(last)).into_iter().flatten() {
            let longer = [way.as_slice(), &[*next]].concat();
            if *next == start {
                return Some(longer);
            }
            if seen.insert(*next) {
                queue.push_back(longer);
            }
        }
    }
    None
}

/// Returns the files that a file reaches and that reach it.
fn cycle_group(graph: &ImportGraph, start: usize) -> BTreeSet<usize> {
    let reached = reachable_from(graph, start);
    reached.iter().copied().filter(|other| reachable_from(graph, *other).contains(&start)).collect()
}

fn reachable_from(graph: &ImportGraph, start: usize) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(at) = open.pop() {
        let next = graph.get(&at).into_iter().flatten().filter(|next| seen.insert(**next));
        open.extend(next);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::tests::planted;
    use super::*;

    #[test]
    fn finds_two_files_that_import_each_other() {
        let files = [("lib.rs", ""), ("a.rs", "use crate::b::B;"), ("b.rs", "fn f() { crate::a::g() }")];
        let findings = check(&planted("x", &files));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].contains("a.rs -> b.rs -> a.rs"), "{findings:?}");
    }

    #[test]
    fn finds_a_cycle_through_re_exports() {
        let files = [
            ("a.rs", "mod inner; pub use inner::A;"),
            ("a/inner.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ];
        assert!(check(&planted("x", &files))[0].contains("a/inner.rs -> b.rs -> a/inner.rs"));
    }

    #[test]
    fn lets_a_module_and_its_children_import_each_other() {
        let files = [("a.rs", "mod child; use child::C;"), ("a/child.rs", "use super::A;")];
        assert_eq!(check(&planted("x", &files)), Vec::<String>::new());
    }

    #[test]
    fn leaves_tests_out() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "#[cfg(test)] mod tests { use crate::a::A; }"),
            ("c.rs", "#[cfg(test)] mod tests;"),
            ("c/tests.rs", "use crate::d::D;"),
            ("d.rs", "use crate::c::C;"),
        ];
        assert_eq!(check(&planted("x", &files)), Vec::<String>::new());
    }
}
