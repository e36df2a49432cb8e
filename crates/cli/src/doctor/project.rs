//! The project of the directory, and whether it is trusted.

use std::path::PathBuf;

use haft_config::{Asked, Decision, Home, Project, Trust, TrustFile};
use haft_packages::discovery::SkipReason;

use super::Seen;
use super::finding::{Area, Finding};
use crate::resources::Resources;

/// Whether it is trusted, and why not any more.
pub(super) fn decided(home: &Home, cwd: PathBuf) -> (Project, Option<String>) {
    match Decision::make(home, cwd.clone(), Asked::Nothing) {
        Ok(decision) => (decision.project, decision.told),
        // No digest was asked for that it could lack.
        Err(error) => (Project { dir: cwd, trust: Trust::Untrusted }, Some(error.to_string())),
    }
}

pub(super) fn look(seen: &Seen) -> Vec<Finding> {
    let name = seen.words.path(&seen.project.dir);
    // What is wrong with the file is told of the file.
    let Ok(file) = TrustFile::load(&seen.home) else {
        return vec![Area::Project.note(name, "is not trusted, because trust.json is not read")];
    };
    if let Some(told) = &seen.told {
        // The next step says the same better.
        let told = told.trim_end_matches("; `haft trust` shows it and asks");
        return vec![Area::Project.wrong(name, told, "haft trust")];
    }
    if seen.project.is_trusted() {
        let since = file
            .record(&seen.project.dir)
            .map_or_else(String::new, |record| format!(" since {}", record.time));
        let text = format!("is trusted{since}: its extensions run, its settings and texts are used");
        return vec![Area::Project.ok(name, text)];
    }
    let brings = brings(seen);
    vec![match brings.is_empty() {
        true => Area::Project.ok(name, "brings nothing that haft would run or obey"),
        false => {
            let text = format!("is not trusted, so this of it is not used: {}", brings.join(", "));
            Area::Project.note(name, text).next("haft trust")
        }
    }]
}

fn brings(seen: &Seen) -> Vec<String> {
    let dir = &seen.project.dir;
    let resources = Resources::find(&seen.home, &seen.project, true);
    let unused = seen.config.unused.iter().cloned().chain(resources.unused());
    let unused =
        unused.map(|unused| unused.path.strip_prefix(dir).unwrap_or(&unused.path).display().to_string());
    let skipped = seen.extensions.skipped.iter().filter(|skipped| skipped.reason == SkipReason::Untrusted);
    unused.chain(skipped.map(|skipped| format!("extension {}", skipped.name))).collect()
}
