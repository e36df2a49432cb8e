//! `haft trust`: shows the extensions, settings and instructions of a project, and records the user's trust.

mod inventory;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context as _;
use haft_config::{Home, ProjectDigest, Snapshot, TrustFile, TrustRecord, TrustRequest};
use haft_core::age::age_of_stamp;
use haft_core::sanitize::sanitize_line;
use haft_protocol::ext::InterceptProjectTrust;
use haft_tui::app::TrustReview;
use serde_json::{Value, json};

use crate::args::TrustArgs;
use crate::caller::require_person;
use crate::console::{confirm, note, print, print_marked};
use crate::exit::{Exit, OrExit as _};
use crate::setup;
use inventory::{InstructionExcerpt, ProjectInventory};

pub(crate) fn run(args: TrustArgs) -> anyhow::Result<Exit> {
    let home = Home::locate().or_exit(Exit::Configuration)?;
    if args.list {
        return list(&home).or_exit(Exit::Trust).map(|()| Exit::Ok);
    }
    if args.revoke {
        return revoke(&home, args.dir).or_exit(Exit::Trust).map(|()| Exit::Ok);
    }
    if let Some(missing) = args.dir.as_ref().filter(|dir| !dir.is_dir()) {
        return Exit::Usage.fail(format!("the directory {} does not exist", missing.display()));
    }
    let dir = setup::working_directory(args.dir).or_exit(Exit::Usage)?;
    // The snapshot is taken before anything is shown, so that trust never covers files that were not shown.
    let snapshot = Snapshot::take(&home, &dir).or_exit(Exit::Trust)?;
    let recorded = TrustFile::load(&home).map(|file| file.record(snapshot.dir()).cloned());
    let outcome = if args.show {
        show(&home, &snapshot, recorded.or_exit(Exit::Trust)?.as_ref(), args.json)
    } else {
        grant_trust(&home, &snapshot, recorded.or_exit(Exit::Trust)?.as_ref(), args.digest)
    };
    outcome.or_exit(Exit::Trust).map(|()| Exit::Ok)
}

fn show(home: &Home, snapshot: &Snapshot, recorded: Option<&TrustRecord>, json: bool) -> anyhow::Result<()> {
    let inventory = ProjectInventory::of_project(home, snapshot.dir());
    if json {
        let text = serde_json::to_string_pretty(&as_json(snapshot, recorded, &inventory));
        return print(&text.context("cannot write JSON")?);
    }
    print_all(snapshot, recorded, &inventory, InstructionExcerpt::Whole)
}

fn grant_trust(
    home: &Home,
    snapshot: &Snapshot,
    recorded: Option<&TrustRecord>,
    named: Option<ProjectDigest>,
) -> anyhow::Result<()> {
    if snapshot.files().is_empty() {
        note(
            "the project contains no extensions, settings or instructions for haft; there is nothing to trust",
        );
        return Ok(());
    }
    if named.is_none() && recorded.is_some_and(|record| record.digest == snapshot.digest()) {
        note(&format!("the project is already trusted, with the digest {}", snapshot.digest()));
        return Ok(());
    }
    let inventory = ProjectInventory::of_project(home, snapshot.dir());
    print_all(snapshot, recorded, &inventory, InstructionExcerpt::FirstLines)?;
    inventory.check_complete()?;
    match named {
        Some(named) => anyhow::ensure!(
            named == snapshot.digest(),
            "the project has the digest {}, not {named}; nothing was changed",
            snapshot.digest()
        ),
        None if !io::stdin().is_terminal() || !io::stderr().is_terminal() => anyhow::bail!(
            "cannot ask for confirmation without a terminal; review the list above, then run `haft trust --digest {}`. Nothing was changed",
            snapshot.digest()
        ),
        None => {
            if !confirm(&format!("trust {} as it is now?", snapshot.dir().display()))? {
                note("nothing was changed: the project is not trusted");
                return Ok(());
            }
        }
    }
    // The files may have changed between the snapshot and the answer.
    let now = Snapshot::take(home, snapshot.dir())?;
    anyhow::ensure!(
        now.digest() == snapshot.digest(),
        "the project changed in the meantime, so it was not trusted: {}; run `haft trust` again",
        sanitize_line(&now.difference_from(snapshot.files()).to_string())
    );
    TrustFile::grant(home, snapshot, env!("CARGO_PKG_VERSION"))?;
    note(&sanitize_line(&format!("trusted {} until it changes", snapshot.dir().display())));
    Ok(())
}

fn revoke(home: &Home, dir: Option<PathBuf>) -> anyhow::Result<()> {
    let dir = std::path::absolute(dir.unwrap_or_else(|| ".".into()))
        .context("cannot determine the current directory")?;
    // A deleted project is revoked by its former path.
    let dir = dir.canonicalize().unwrap_or(dir);
    let shown = sanitize_line(&dir.display().to_string());
    match TrustFile::revoke(home, &dir)? {
        true => note(&format!("{shown} is no longer trusted")),
        false => note(&format!("{shown} was not trusted")),
    }
    Ok(())
}

fn list(home: &Home) -> anyhow::Result<()> {
    let file = TrustFile::load(home)?;
    if file.records().next().is_none() {
        note("no projects are trusted");
    }
    let now = SystemTime::now();
    for (path, record) in file.records() {
        let age = age_of_stamp(now, &record.time);
        let state = match Snapshot::take(home, Path::new(path)) {
            Ok(present) if present.digest() == record.digest => "",
            Ok(_) => "  (changed, so no longer trusted)",
            Err(_) => "  (cannot be read, so not trusted)",
        };
        print(&sanitize_line(&format!("{}  {age:<11}  {path}{state}", record.digest.short_hex())))?;
    }
    Ok(())
}

fn print_all(
    snapshot: &Snapshot,
    recorded: Option<&TrustRecord>,
    inventory: &ProjectInventory,
    excerpt: InstructionExcerpt,
) -> anyhow::Result<()> {
    print(&sanitize_line(&format!("project: {}", snapshot.dir().display())))?;
    for (text, red) in inventory.review_lines(excerpt) {
        match red {
            true => print_marked(&sanitize_line(&text))?,
            false => print(&sanitize_line(&format!("  {text}")))?,
        }
    }
    trust_status_lines(snapshot, recorded).iter().try_for_each(|line| print(&sanitize_line(line)))
}

/// Returns the number and the digest of the project's files, and the state of its trust.
fn trust_status_lines(snapshot: &Snapshot, recorded: Option<&TrustRecord>) -> Vec<String> {
    let mut lines = Vec::new();
    if snapshot.files().is_empty() {
        lines.push("no extensions, settings or instructions for haft".to_owned());
    }
    lines.push(format!("files: {}", snapshot.files().len()));
    lines.push(format!("digest: {} ({})", snapshot.digest(), snapshot.digest().short_hex()));
    lines.push(match recorded {
        None => "trust: not trusted".to_owned(),
        Some(record) if record.digest == snapshot.digest() => {
            format!("trust: trusted since {} (haft {})", record.time, record.haft)
        }
        Some(record) => format!(
            "trust: no longer trusted; trusted at {}, changed since: {}",
            record.time,
            snapshot.difference_from(&record.files)
        ),
    });
    lines
}

/// A project about whose trust the user has not decided.
pub(crate) struct UndecidedProject {
    home: Home,
    snapshot: Snapshot,
    items: Vec<String>,
}

impl UndecidedProject {
    /// Returns the project in this directory if it needs trust and the user has not decided about it. A project that
    /// the user trusted before it changed is decided. In case of doubt, the project is not returned.
    pub(crate) fn find(home: &Home, dir: &Path) -> Option<Self> {
        let known = TrustFile::load(home).ok()?;
        if known.record(&dir.canonicalize().ok()?).is_some() {
            return None;
        }
        // The snapshot is taken before the list, so that trust never covers files that were not listed.
        let snapshot = Snapshot::take(home, dir).ok().filter(|snapshot| !snapshot.files().is_empty())?;
        let inventory = ProjectInventory::of_project(home, snapshot.dir());
        inventory.check_complete().ok()?;
        let items = inventory.lines().map(|(text, red)| if red { format!("! {text}") } else { text });
        Some(Self { home: home.clone(), items: items.map(|text| sanitize_line(&text)).collect(), snapshot })
    }

    /// Returns the question about the project for extensions.
    pub(crate) fn to_question(&self) -> InterceptProjectTrust {
        InterceptProjectTrust {
            cwd: self.snapshot.dir().display().to_string(),
            digest: self.snapshot.digest().to_string(),
            items: self.items.clone(),
        }
    }

    /// Trusts the project as it was listed, for this process or until it changes.
    ///
    /// # Errors
    /// The project changed, or the trust cannot be saved.
    pub(crate) fn grant_trust(&self, remember: bool) -> anyhow::Result<TrustRequest> {
        let now = Snapshot::take(&self.home, self.snapshot.dir())?;
        anyhow::ensure!(now.digest() == self.snapshot.digest(), "the project changed in the meantime");
        if !remember {
            return Ok(TrustRequest::WhileUnchanged(now.digest()));
        }
        TrustFile::grant(&self.home, &self.snapshot, env!("CARGO_PKG_VERSION"))?;
        Ok(TrustRequest::Nothing)
    }
}

/// Returns the parts of a project for a front end that asks the user. As in `haft trust`, important parts come first
/// and begin with `!`.
pub(crate) fn describe_project(home: &Home, dir: &Path) -> anyhow::Result<TrustReview> {
    // The snapshot is taken before anything is shown, so that trust never covers files that were not shown.
    let snapshot = Snapshot::take(home, dir)?;
    let recorded = TrustFile::load(home)?.record(snapshot.dir()).cloned();
    let inventory = ProjectInventory::of_project(home, snapshot.dir());
    let brought = inventory.review_lines(InstructionExcerpt::FirstLines);
    let brought = brought.map(|(text, red)| if red { format!("! {text}") } else { text });
    Ok(TrustReview {
        project: snapshot.dir().display().to_string(),
        granted: recorded.as_ref().is_some_and(|record| record.digest == snapshot.digest()),
        items: brought.chain(trust_status_lines(&snapshot, recorded.as_ref())).collect(),
        digest: snapshot.digest().to_string(),
    })
}

/// Trusts a project as it was shown, and returns a message for the user.
///
/// # Errors
/// The project changed, or the trust cannot be saved.
pub(crate) fn trust_project(home: &Home, dir: &Path, digest: &str) -> anyhow::Result<String> {
    require_person("trust in a project")?;
    let now = Snapshot::take(home, dir)?;
    anyhow::ensure!(
        !now.files().is_empty(),
        "the project contains no extensions, settings or instructions for haft"
    );
    anyhow::ensure!(
        now.digest().to_string() == digest,
        "the project changed since it was shown, so it was not trusted; review it again"
    );
    ProjectInventory::of_project(home, dir).check_complete()?;
    TrustFile::grant(home, &now, env!("CARGO_PKG_VERSION"))?;
    let trusted = format!("trusted {} until it changes", now.dir().display());
    Ok(trusted + "; haft uses it from the next session (/new)")
}

fn as_json(snapshot: &Snapshot, recorded: Option<&TrustRecord>, inventory: &ProjectInventory) -> Value {
    let difference = recorded.map(|record| snapshot.difference_from(&record.files));
    json!({
        "project": snapshot.dir(),
        "digest": snapshot.digest(),
        "trusted": recorded.is_some_and(|record| record.digest == snapshot.digest()),
        "files": snapshot.files(),
        "brings": inventory.to_json(),
        "recorded": recorded.map(|record| json!({
            "digest": record.digest,
            "time": record.time,
            "haft": record.haft,
        })),
        "changed": difference.as_ref().map(|difference| &difference.changed),
        "added": difference.as_ref().map(|difference| &difference.added),
        "removed": difference.as_ref().map(|difference| &difference.removed),
    })
}
