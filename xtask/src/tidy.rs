//! Checks beyond those of the compiler and clippy.

mod edges;
mod files;
mod language;
mod links;
mod open_structs;
mod product;
mod sleeps;
mod sources;
mod structure;
mod tasks;

use anyhow::{Result, bail};

use crate::repo;

pub(crate) use language::run as language;

/// Runs every check and reports all findings at once.
pub(crate) fn run() -> Result<()> {
    let files = repo::text_files(".")?;
    let mut findings = files::check(&files);
    findings.extend(sources::check(&files));
    findings.extend(sleeps::check(&files));
    findings.extend(tasks::check(&files));
    findings.extend(structure::check(&files));
    findings.extend(open_structs::check(&files));
    findings.extend(language::check(&files));
    findings.extend(links::check(&files));
    let metadata = repo::cargo_metadata()?;
    findings.extend(edges::check(&metadata));
    findings.extend(crate::package::find_problems(&metadata));
    findings.extend(crate::libraries::check_dependencies()?);
    findings.extend(protocol_docs()?);
    if findings.is_empty() {
        return Ok(());
    }
    bail!("{} findings:\n  {}", findings.len(), findings.join("\n  "));
}

/// Checks that the document of the protocol contains the hash of the protocol's sources.
fn protocol_docs() -> Result<Option<String>> {
    let hash = repo::protocol_hash()?;
    let named = repo::read("docs/protocol.md")?.contains(&format!("<!-- protocol-source: {hash} -->"));
    let finding = "docs/protocol.md: crates/protocol/src has changed; check that the document still \
    matches the code, then run `cargo xtask codegen`";
    Ok((!named).then(|| finding.to_owned()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn repository_is_tidy() {
        if let Err(findings) = super::run() {
            panic!("{findings}");
        }
    }
}
