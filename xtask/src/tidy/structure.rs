//! Checks of the structure of each crate: imports between files, and files with methods of a type.

mod cycles;
mod layers;
mod methods;
mod module;

use std::collections::BTreeMap;

use crate::repo::RepoFile;
use module::SourceModule;

/// The product modules of a crate, without tests.
#[derive(Debug)]
struct CrateModules {
    /// The folder below `crates/`, or `xtask`.
    name: String,
    modules: Vec<SourceModule>,
}

/// Reports the findings of all structure checks.
pub(super) fn check(files: &[RepoFile]) -> Vec<String> {
    let (crates, mut findings) = read(files);
    for one in &crates {
        findings.extend(layers::check(one));
        findings.extend(cycles::check(one));
        findings.extend(methods::check(one));
    }
    findings
}

/// Reads the sources of all crates; files that do not parse become findings.
fn read(files: &[RepoFile]) -> (Vec<CrateModules>, Vec<String>) {
    let (mut crates, mut findings) = (BTreeMap::<String, Vec<SourceModule>>::new(), Vec::new());
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let Some((name, path)) = crate_and_path(&file.path) else { continue };
        match SourceModule::read(path, &file.text) {
            Ok(module) => crates.entry(name.to_owned()).or_default().push(module),
            Err(error) => findings.push(format!("{}: {error}", file.path)),
        }
    }
    let crates = crates.into_iter().map(|(name, modules)| CrateModules::new(name, modules)).collect();
    (crates, findings)
}

/// Splits `crates/NAME/src/PATH` and `xtask/src/PATH` into the name and the path. An adapter is `adapters/NAME`.
fn crate_and_path(path: &str) -> Option<(&str, &str)> {
    let path = path.strip_prefix("crates/").unwrap_or(path);
    let (name, path) = path.split_once("/src/")?;
    (!name.trim_start_matches("adapters/").contains('/')).then_some((name, path))
}

impl CrateModules {
    /// Creates a crate without the modules that are compiled only for tests.
    fn new(name: String, mut modules: Vec<SourceModule>) -> Self {
        let in_tests: Vec<Vec<String>> = modules.iter().flat_map(SourceModule::test_modules).collect();
        modules.retain(|module| !in_tests.iter().any(|test| module.name.starts_with(test)));
        Self { name, modules }
    }

    /// Returns the module in which a path is defined, following re-exports.
    fn find(&self, path: &[String]) -> Option<&SourceModule> {
        let mut path = path.to_vec();
        // A chain of re-exports is short; the limit ends a cycle.
        for _ in 0..8 {
            let module = self.innermost_module(&path)?;
            let next = path.get(module.name.len()).and_then(|name| module.exports.get(name));
            let Some(next) = next else { return Some(module) };
            path = module.absolute_path(next, self);
        }
        self.innermost_module(&path)
    }

    /// Returns the innermost module on a path.
    fn innermost_module(&self, path: &[String]) -> Option<&SourceModule> {
        let on_path = self.modules.iter().filter(|module| path.starts_with(&module.name));
        on_path.max_by_key(|module| module.name.len())
    }

    fn has_module(&self, name: &[String]) -> bool {
        self.modules.iter().any(|module| module.name == name)
    }

    /// Returns the modules that a module imports from, other than itself.
    fn imported_modules<'a>(&'a self, module: &'a SourceModule) -> Vec<&'a SourceModule> {
        let paths = module.imports.iter().map(|path| module.absolute_path(path, self));
        let mut found: Vec<&SourceModule> = paths.filter_map(|path| self.find(&path)).collect();
        found.retain(|other| other.name != module.name);
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.dedup_by(|a, b| a.name == b.name);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a crate of these files.
    pub(super) fn planted(name: &str, files: &[(&str, &str)]) -> CrateModules {
        let file = |(path, text): &(&str, &str)| RepoFile {
            path: format!("crates/{name}/src/{path}"),
            text: (*text).to_owned(),
        };
        let (mut crates, findings) = read(&files.iter().map(file).collect::<Vec<_>>());
        assert_eq!(findings, Vec::<String>::new());
        crates.remove(0)
    }

    #[test]
    fn follows_re_exports_to_the_file_that_defines() {
        let one = planted(
            "x",
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "mod inner; pub use inner::Thing;"),
                ("a/inner.rs", "pub struct Thing;"),
                ("b.rs", "use crate::a::Thing;"),
            ],
        );
        let names: Vec<_> = one
            .imported_modules(one.innermost_module(&["b".to_owned()]).unwrap())
            .iter()
            .map(|m| m.name.join("::"))
            .collect();
        assert_eq!(names, ["a::inner"]);
    }

    #[test]
    fn reports_a_file_that_does_not_parse() {
        let file = RepoFile { path: "crates/x/src/lib.rs".to_owned(), text: "fn".to_owned() };
        assert!(check(&[file])[0].starts_with("crates/x/src/lib.rs: "));
    }
}
