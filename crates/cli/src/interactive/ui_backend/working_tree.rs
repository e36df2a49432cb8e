//! `/diff`: the files of the project at the start of a session, and the difference from them.
//!
//! git runs in the sandbox of the tools, with an index and a directory of objects of its own, so the repository, its
//! index and its references do not change. Programs that the configuration of the repository names do not run: no
//! filter, hook, file monitor, external diff or text conversion.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, bail};
use haft_launch::find_program;
use haft_packages::shell_quote;
use haft_protocol::rpc::CommandFailure;
use haft_tools::{Environment as _, HostEnvironment, RunEnd, RunReport, ShellCommand};
use haft_tui::app::WorkingTreeDiff;
use tokio::runtime::Handle;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{UiContext, files, into_failure};
use crate::timeouts::WORKING_TREE;

/// The bytes of a diff that are shown.
const MOST: usize = 1024 * 1024;

/// The first part of both scripts. `$program` is git, and `$dir` is a private directory.
const PREPARE: &str = r#"
git() { "$program" "$@"; }
[ "$(git rev-parse --is-inside-work-tree 2>/dev/null)" = true ] || exit 64
index=$(git rev-parse --git-path index) && index=$(cd "$(dirname "$index")" && pwd)/index || exit 66
objects=$(cd "$(git rev-parse --git-path objects)" && pwd) || exit 66
cd "$(git rev-parse --show-toplevel)" || exit 66
umask 077
mkdir -p "$dir/objects" || exit 66
count=0
configure() { export "GIT_CONFIG_KEY_$count=$1" "GIT_CONFIG_VALUE_$count=$2"; count=$((count + 1)); }
configure core.fsmonitor false
configure core.hooksPath /dev/null
configure core.untrackedCache false
configure core.splitIndex false
configure core.looseCompression 0
configure core.safecrlf false
configure core.quotePath false
configure diff.ignoreSubmodules dirty
newline='
'
old_ifs=$IFS; IFS=$newline; set -f
for name in $(git config --name-only --get-regexp '^filter\..*\.(clean|smudge|process|required)$' 2>/dev/null); do
    case $name in *.required) configure "$name" false ;; *) configure "$name" '' ;; esac
done
IFS=$old_ifs; set +f
export GIT_CONFIG_COUNT=$count GIT_OPTIONAL_LOCKS=0 GIT_NO_LAZY_FETCH=1
export GIT_OBJECT_DIRECTORY="$dir/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
"#;

/// Records the files.
const RECORD: &str = r#"
size=$(git ls-files -z --others --modified --exclude-standard | xargs -0 cat -- 2>/dev/null | head -c 268435457 | wc -c)
[ "$size" -le 268435456 ] || exit 67
cp "$index" "$dir/start.index" 2>/dev/null
export GIT_INDEX_FILE="$dir/start.index"
git add --all --ignore-errors -- . >/dev/null 2>&1
git write-tree >"$dir/start.tree" 2>/dev/null || exit 66
"#;

/// Compares the files with the recorded ones, and prints at most `$most` bytes.
const COMPARE: &str = r#"
cp "$dir/start.index" "$dir/now.index" || exit 66
export GIT_INDEX_FILE="$dir/now.index"
git add --all --ignore-errors -- . >/dev/null 2>&1
now=$(git write-tree 2>/dev/null) || exit 66
git --no-pager diff --no-ext-diff --no-textconv --no-color --find-renames --submodule=short \
    --src-prefix=a/ --dst-prefix=b/ "$(cat "$dir/start.tree")" "$now" 2>/dev/null | head -c "$most"
"#;

/// The start of the visible session.
#[derive(Default)]
pub(in crate::interactive) struct SessionStart(Mutex<Option<RecordedSession>>);

struct RecordedSession {
    session: String,
    tree: Arc<OnceCell<Result<StartTree, CommandFailure>>>,
}

impl SessionStart {
    /// Returns the files at the start of a session, which may not be recorded yet. Those of other sessions are dropped.
    fn tree_of(&self, session: &str) -> Arc<OnceCell<Result<StartTree, CommandFailure>>> {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.as_ref().is_none_or(|recorded| recorded.session != session) {
            *recorded = Some(RecordedSession { session: session.to_owned(), tree: Arc::default() });
        }
        recorded.as_ref().map(|recorded| Arc::clone(&recorded.tree)).unwrap_or_default()
    }
}

/// Records the files of the project in the background, unless that was done for the session already.
pub(super) fn record_start(runtime: &Handle, context: &Arc<UiContext>, session: &str) {
    let (context, tree) = (Arc::clone(context), context.start.tree_of(session));
    runtime.spawn(async move {
        tree.get_or_init(|| StartTree::record_files(context)).await;
    });
}

/// Compares the files of the project with those at the start of the visible session.
pub(super) async fn diff_from_start(context: Arc<UiContext>) -> anyhow::Result<WorkingTreeDiff> {
    let session = context.open.current().context("no session is open yet; try again")?;
    let tree = context.start.tree_of(&session.id().to_string());
    match tree.get_or_init(|| StartTree::record_files(context)).await {
        Ok(tree) => tree.compare_files().await,
        Err(failure) => bail!("{}", failure.error),
    }
}

/// The recorded files. They are in the temporary directory of the environment, which is removed with it.
struct StartTree {
    environment: HostEnvironment,
}

impl StartTree {
    async fn record_files(context: Arc<UiContext>) -> Result<Self, CommandFailure> {
        into_failure(Self::try_record(context).await)
    }

    async fn try_record(context: Arc<UiContext>) -> anyhow::Result<Self> {
        let prepared = tokio::task::spawn_blocking(move || {
            files::accepted_project(&context).context(
                "haft runs git only in a trusted project; trust it with /trust, and start a new session with /new",
            )?;
            context.tool_environment()
        });
        let tree = Self { environment: prepared.await.context("cannot prepare a command")?? };
        tree.run_script(RECORD).await?;
        Ok(tree)
    }

    async fn compare_files(&self) -> anyhow::Result<WorkingTreeDiff> {
        let report = self.run_script(COMPARE).await?;
        let cut = tokio::task::spawn_blocking(move || read_output(report));
        Ok(cut.await?)
    }

    async fn run_script(&self, script: &str) -> anyhow::Result<RunReport> {
        let program =
            find_program("git").context("/diff needs git; install git, and start a new session with /new")?;
        let dir = self.environment.temp_dir().context("cannot record the files")?;
        let [program, dir] = [&program, dir].map(|path| shell_quote(&path.to_string_lossy()));
        let command = format!("program={program} dir={dir} most={}\n{PREPARE}{script}", MOST + 1);
        let command = ShellCommand { command, timeout: WORKING_TREE };
        let report = self.environment.run(&CancellationToken::new(), command, &|_| ()).await?;
        match report.end {
            RunEnd::Exited(0) => Ok(report),
            RunEnd::Exited(64) => bail!("/diff needs a git repository; run `!git init` and /new to use it"),
            RunEnd::Exited(67) => {
                bail!(
                    "/diff is off: over 256 MB are not committed; exclude large files in .gitignore, then /new"
                )
            }
            RunEnd::TimedOut => bail!("/diff is off: git did not read the files within 20 s"),
            RunEnd::Exited(_) | RunEnd::Signaled(_) | RunEnd::Cancelled | RunEnd::WantedTerminal => {
                bail!("git cannot read the files of the project; `!git status` shows the reason")
            }
        }
    }
}

/// Returns the output up to the last line that fits. Output that is too long for a result is in a file, which is
/// removed.
fn read_output(report: RunReport) -> WorkingTreeDiff {
    let whole = report.full.as_ref().and_then(|full| read_start(&full.path));
    if let Some(full) = &report.full {
        // Without this, the directory is cleared after a week.
        let _ = fs::remove_file(&full.path);
    }
    let is_cut = if whole.is_some() { report.bytes > MOST as u64 } else { report.cut };
    let mut text = whole.unwrap_or(report.tail);
    if is_cut {
        text.truncate(text.rfind('\n').map_or(text.len(), |at| at + 1));
    }
    WorkingTreeDiff { text, is_cut }
}

fn read_start(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MOST as u64).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
