//! `haft skill`: lists skills.

use std::io::{self, IsTerminal as _};

use haft_config::{Home, Owner, SkillSet, TrustDecision, UntrustedItem};
use haft_core::sanitize::sanitize_line;

use crate::args::{SkillArgs, SkillCommand};
use crate::console::{note, print};
use crate::exit::{Exit, OrExit as _};
use crate::resources::display_path;
use crate::setup;

pub(crate) fn run(args: SkillArgs) -> anyhow::Result<Exit> {
    let SkillCommand::List { cwd, trust } = args.command;
    let home = Home::locate().or_exit(Exit::Configuration)?;
    let TrustDecision { project, distrust_reason: notes, .. } =
        setup::decide_trust(&home, setup::working_directory(cwd).or_exit(Exit::Usage)?, &trust)?;
    let user_home = std::env::home_dir();
    let skills = SkillSet::find(&home, user_home.as_deref(), &project);
    let short = user_home.as_deref().filter(|_| io::stdout().is_terminal());
    for skill in &skills.skills {
        let owner = match skill.owner {
            Owner::User => "user",
            Owner::Project => "project",
        };
        let head = format!("{} ({owner}, {})", skill.name, display_path(&skill.dir, short));
        print(&sanitize_line(&head))?;
        print(&format!("  {}", sanitize_line(&skill.description)))?;
    }
    if skills.skills.is_empty() {
        note(&format!("no skills found; add skills in {}", home.skills_dir().display()));
    }
    let notes = UntrustedItem::summarize(&skills.unused, &project, notes.is_some())
        .into_iter()
        .chain(skills.problems);
    notes.for_each(|text| note(&sanitize_line(&format!("haft: {text}"))));
    Ok(Exit::Ok)
}
