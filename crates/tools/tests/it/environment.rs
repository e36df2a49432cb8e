//! The tools work on any environment that implements the trait.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft_core::tool::ToolContext;
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_tools::{
    ClaimedFile, DirectoryEntry, Environment, EnvironmentError, FileKey, FileKind, FileStat,
    FileWriteOutcome, FindHits, FindQuery, GrepHits, GrepQuery, HostEnvironment, ParentPolicy, RunEnd,
    RunReport, ShellCommand, builtin_tools,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::ground::PATIENCE;

type Files = Arc<Mutex<BTreeMap<PathBuf, Vec<u8>>>>;

/// The name of a file that never returns its content, like some files of the kernel or of a dead server.
const NEVER: &str = "never";

/// Files in memory, and a shell that repeats its command.
#[derive(Default)]
struct Memory {
    files: Files,
}

impl Memory {
    fn get(&self, path: &Path) -> Result<Vec<u8>, EnvironmentError> {
        let files = self.files.lock().unwrap();
        files.get(path).cloned().ok_or_else(|| EnvironmentError::refused(path, "is not in memory"))
    }
}

#[async_trait]
impl Environment for Memory {
    fn cwd(&self) -> &Path {
        Path::new("/memory")
    }

    fn home(&self) -> Option<&Path> {
        None
    }

    async fn stat(&self, path: &Path) -> Result<FileStat, EnvironmentError> {
        if path == self.cwd() {
            return Ok(FileStat { kind: FileKind::Directory, len: 0 });
        }
        Ok(FileStat { kind: FileKind::File, len: self.get(path)?.len() as u64 })
    }

    async fn read(&self, path: &Path, start: u64, len: usize) -> Result<Vec<u8>, EnvironmentError> {
        let bytes = self.get(path)?;
        Ok(bytes.into_iter().skip(usize::try_from(start).unwrap()).take(len).collect())
    }

    async fn list(&self, _: &Path) -> Result<Vec<DirectoryEntry>, EnvironmentError> {
        let names: Vec<_> =
            self.files.lock().unwrap().keys().map(|path| path.display().to_string()).collect();
        Ok(names
            .into_iter()
            .map(|name| DirectoryEntry { name, kind: FileKind::File, target: None })
            .collect())
    }

    async fn claim(&self, path: &Path, _: ParentPolicy) -> Result<Box<dyn ClaimedFile>, EnvironmentError> {
        Ok(Box::new(Claimed { files: Arc::clone(&self.files), path: path.to_owned() }))
    }

    async fn find(&self, _: &CancellationToken, _: FindQuery) -> Result<FindHits, EnvironmentError> {
        Ok(FindHits::default())
    }

    async fn grep(&self, _: &CancellationToken, _: GrepQuery) -> Result<GrepHits, EnvironmentError> {
        Err(EnvironmentError::Cancelled)
    }

    async fn run(
        &self,
        _: &CancellationToken,
        command: ShellCommand,
        progress: &(dyn Fn(String) + Send + Sync),
    ) -> Result<RunReport, EnvironmentError> {
        progress(command.command.clone());
        let bytes = command.command.len() as u64;
        let tail = format!("{} for {:?}", command.command, command.timeout);
        let end = RunEnd::Exited(0);
        Ok(RunReport {
            end,
            tail,
            lines: 1,
            bytes,
            cut: false,
            full: None,
            background: false,
            created: Vec::new(),
            removed: Vec::new(),
        })
    }
}

struct Claimed {
    files: Files,
    path: PathBuf,
}

#[async_trait]
impl ClaimedFile for Claimed {
    fn path(&self) -> &Path {
        &self.path
    }

    async fn key(&mut self) -> Result<FileKey, EnvironmentError> {
        Ok(FileKey { path: self.path.clone(), id: None })
    }

    async fn read(&mut self, _: u64) -> Result<Option<Vec<u8>>, EnvironmentError> {
        if self.path.ends_with(NEVER) {
            return std::future::pending().await;
        }
        Ok(self.files.lock().unwrap().get(&self.path).cloned())
    }

    async fn replace(&mut self, content: Vec<u8>) -> Result<FileWriteOutcome, EnvironmentError> {
        match self.files.lock().unwrap().insert(self.path.clone(), content) {
            Some(_) => Ok(FileWriteOutcome::Replaced),
            None => Ok(FileWriteOutcome::Created),
        }
    }
}

#[tokio::test]
async fn works_on_files_in_memory() {
    let tools = builtin_tools(Arc::new(Memory::default()));
    let check = async |name: &str, args: Value, expect: &str| {
        let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
        let args = RawJson::from_value(&args).unwrap();
        let call = ToolCall { id: ToolCallId::new("1"), name: name.to_owned(), args };
        let output = tool.execute(ToolContext::new(CancellationToken::new(), drop), call).await;
        assert_eq!(joined_text(&output.content), expect, "{name}");
    };
    check("write", json!({"path": "a", "content": "one\n"}), "created a (1 line, 4 bytes)").await;
    let edits = json!([{"old_text": "one", "new_text": "two"}]);
    let diff = "edited a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n";
    check("edit", json!({"path": "a", "edits": edits}), diff).await;
    check("read", json!({"path": "a"}), "two\n").await;
    check("read", json!({"path": "~/a"}), "/memory/~/a: is not in memory").await;
    check("ls", json!({}), "/memory/a\n").await;
    check("find", json!({"glob": "*"}), "no files\n").await;
    check("bash", json!({"command": "hello"}), "hello for 120s").await;
    check("bash", json!({"command": "hello", "timeout": 999_999}), "hello for 86400s").await;
}

#[tokio::test]
async fn cancels_read_that_never_ends() {
    let memory = Memory::default();
    memory.files.lock().unwrap().insert(PathBuf::from("/memory/never"), Vec::new());
    let tools = builtin_tools(Arc::new(memory));
    let args = RawJson::from_value(&json!({"path": NEVER})).unwrap();
    let call = ToolCall { id: ToolCallId::new("1"), name: "read".to_owned(), args };
    let cancel = CancellationToken::new();
    let reading = tools[0].execute(ToolContext::new(cancel.clone(), drop), call);
    let (output, ()) = tokio::join!(tokio::time::timeout(PATIENCE, reading), async { cancel.cancel() });
    assert_eq!(joined_text(&output.expect("an answer").content), "cancelled");
}

/// Memory needs no waiting: a future that is not ready at once waits for the only blocking thread, which is occupied.
#[test]
fn large_files_do_not_block_the_agent_thread() {
    let check = |len: usize, at_once: bool| {
        let memory = Memory::default();
        let files = Arc::clone(&memory.files);
        let content = || files.lock().unwrap()[Path::new("/memory/a")].clone();
        files.lock().unwrap().insert(PathBuf::from("/memory/a"), vec![b'x'; len]);
        let tools = builtin_tools(Arc::new(memory));
        let begin = |name: &str, args: Value| {
            let tool = tools.iter().find(|tool| tool.spec().name == name).unwrap();
            let (name, args) = (name.to_owned(), RawJson::from_value(&args).unwrap());
            let call = ToolCall { id: ToolCallId::new("1"), name, args };
            tool.execute(ToolContext::new(CancellationToken::new(), drop), call)
        };
        one_blocking_thread().block_on(async {
            let free = take_the_thread();
            let mut reading = begin("read", json!({"path": "a"}));
            assert_eq!(futures::poll!(&mut reading).is_ready(), at_once, "read {len}");
            drop(free);
            if !at_once {
                assert!(!reading.await.is_error);
            }
            let free = take_the_thread();
            let text = "y".repeat(len);
            let mut writing = begin("write", json!({"path": "a", "content": text}));
            // The diff always waits for the thread, but the file does not.
            assert!(futures::poll!(&mut writing).is_pending());
            assert_eq!(content() == text.as_bytes(), at_once, "write {len}");
            drop(free);
            assert!(!writing.await.is_error);
            assert_eq!(content(), text.as_bytes());
        });
    };
    check(256 * 1024, true);
    check(256 * 1024 + 1, false);
}

fn one_blocking_thread() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build().unwrap()
}

/// Occupies the blocking thread until the returned value is dropped. Work on that thread runs in order.
fn take_the_thread() -> std::sync::mpsc::Sender<()> {
    let (free, taken) = std::sync::mpsc::channel();
    tokio::task::spawn_blocking(move || taken.recv());
    free
}

/// The only blocking thread is occupied, as by a search that hangs in the kernel.
#[test]
fn cancels_search_that_hangs() {
    one_blocking_thread().block_on(async {
        let free = take_the_thread();
        let root = std::env::temp_dir();
        let environment = HostEnvironment::new(&root);
        let cancel = CancellationToken::new();
        let query = FindQuery { root, glob: "*".to_owned(), limit: 1 };
        let finding = environment.find(&cancel, query);
        let (found, ()) = tokio::join!(tokio::time::timeout(PATIENCE, finding), async { cancel.cancel() });
        assert!(matches!(found.expect("an answer"), Err(EnvironmentError::Cancelled)));
        drop(free);
    });
}
