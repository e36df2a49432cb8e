//! Checks that the methods of a type are in its own file and at most one other.

use std::collections::{BTreeMap, BTreeSet};

use super::CrateModules;

/// The maximum number of files with inherent methods of a type.
const MAX_FILES: usize = 2;

/// Types whose methods may be in more files, each with the reason; at most three.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Reports types with methods in too many files.
pub(super) fn check(one: &CrateModules) -> Vec<String> {
    let mut files: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for module in &one.modules {
        for of in module.implemented_types(one) {
            files.entry(of).or_default().insert(&module.file);
        }
    }
    let too_many = files.into_iter().filter(|((name, _), files)| {
        let is_exception = EXCEPTIONS.iter().any(|(krate, of, _)| *krate == one.name && of == name);
        files.len() > MAX_FILES && !is_exception
    });
    let finding = |((name, defined), files): ((&str, &str), BTreeSet<&str>)| {
        format!(
            "crates/{}/src/{defined}: {name} has methods in {} files ({}), more than {MAX_FILES}; extract another type",
            one.name,
            files.len(),
            files.into_iter().collect::<Vec<_>>().join(", ")
        )
    };
    too_many.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::planted;
    use super::*;

    #[test]
    fn finds_a_type_that_is_spread_over_files() {
        let part = "use super::App; impl App { fn f(&self) {} }";
        let files = [
            ("app.rs", "mod a; mod b; pub struct App; impl App { fn new() {} }"),
            ("app/a.rs", part),
            ("app/b.rs", part),
            // Another type with the same name.
            ("other.rs", "struct App; impl App {} impl Clone for App {}"),
        ];
        let findings = check(&planted("x", &files));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(
            findings[0].contains("App has methods in 3 files (app.rs, app/a.rs, app/b.rs)"),
            "{findings:?}"
        );
    }

    #[test]
    fn lets_two_files_have_methods_of_one_type() {
        let files = [
            ("app.rs", "mod a; pub struct App; impl App {}"),
            ("app/a.rs", "use super::App; impl App {} impl std::fmt::Debug for App {}"),
        ];
        assert_eq!(check(&planted("x", &files)), Vec::<String>::new());
    }

    #[test]
    fn exceptions_are_few_and_have_reasons() {
        assert!(EXCEPTIONS.len() <= 3 && EXCEPTIONS.iter().all(|(_, _, reason)| reason.len() > 20));
    }
}
