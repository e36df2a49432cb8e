//! A home with extensions in it that count their starts, and hosts over it, one after the other.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use haft_host::{ExtensionState, Host, HostConfig, log_path};
use haft_packages::{ExtensionSpec, Launch, Origin};
use haft_protocol::ids::ExtensionName;
use haft_test_support::PATIENCE;
use tempfile::TempDir;

use crate::support::{Events, brisk, config, program, spec};

/// Has a tool and a command.
pub(super) const TOOL: &str = r#"
say '{"type":"register_tool","name":"t","schema":{"type":"object"}}'
say '{"type":"register_command","name":"go"}'
say '{"type":"ready"}'
serve"#;

/// Refuses every tool call.
pub(super) const GUARD: &str = r#"
say '{"type":"subscribe","intercept":[{"event":"tool_call","role":"gate"}]}'
say '{"type":"ready"}'
serve"#;

/// What every script begins with: it counts its start, answers what it is asked, and keeps the events that it is told.
const PRELUDE: &str = r#"echo start >> "$STARTS"
say() { printf '%s\n' "$1"; }
serve() {
    while read -r line; do
        id=${line#*\"id\":\"}; id=${id%%\"*}
        case $line in
            *'"type":"shutdown"'*) exit 0;;
            *'"type":"tool_call"'*) say '{"type":"tool_result","id":"'$id'","content":[{"type":"text","text":"ok"}]}';;
            *'"type":"command_invoked"'*) say '{"type":"command_response","id":"'$id'","action":"noop"}';;
            *'"type":"event_intercept"'*) say '{"type":"event_intercept_response","id":"'$id'","block":true,"reason":"no"}';;
            *'"type":"event'*) say "$line" >> "$EVENTS";;
        esac
    done
}
say '{"type":"hello","name":"'$NAME'","capabilities":['$CAN']}'
"#;

/// See the module.
pub(super) struct Home {
    pub(super) config: HostConfig,
    root: TempDir,
    specs: std::cell::RefCell<Vec<ExtensionSpec>>,
}

impl Home {
    /// With one extension, which does this after its hello.
    pub(super) fn with(name: &str, body: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut config = HostConfig { timeouts: brisk(), ..config() };
        config.timeouts.lazy_start = PATIENCE;
        config.timeouts.told = PATIENCE;
        config.timeouts.shutdown_grace = PATIENCE;
        config.state = Some(root.path().join("state"));
        config.logs = Some(root.path().join("logs"));
        for name in ["STARTS", "EVENTS"] {
            config.env.set.push((name.into(), root.path().join(name).display().to_string()));
        }
        let home = Self { config, root, specs: Vec::default().into() };
        home.put(name, body);
        home.age();
        home
    }

    /// Adds an extension, or changes its script.
    pub(super) fn put(&self, name: &str, body: &str) {
        let dir = self.dir(name);
        let script = format!("NAME={name}\n{PRELUDE}{body}\n");
        let is_new = !dir.exists();
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("run.sh"), script).unwrap();
        if is_new {
            let launch = Launch::Process { program: program(&["sh"]), args: vec!["run.sh".into()] };
            self.specs
                .borrow_mut()
                .push(ExtensionSpec { origin: Origin::Global, ..spec(name, &dir, launch) });
        }
    }

    /// What is found of them from now on is otherwise.
    pub(super) fn change(&mut self, change: impl Fn(&mut ExtensionSpec)) {
        self.specs.get_mut().iter_mut().for_each(change);
    }

    /// Lets files become old enough for their dates to tell whether they changed since.
    pub(super) fn age(&self) {
        // sleep: a date says nothing of what came after it within a step of the clock
        std::thread::sleep(Duration::from_millis(40));
    }

    pub(super) async fn host(&self) -> (Host, Events) {
        let events = Events::default();
        let specs = self.specs.borrow().clone();
        let builder = Host::builder(self.config.clone()).events(events.sink()).specs(specs);
        (builder.start().await, events)
    }

    /// A host that starts them all, and is gone again.
    pub(super) async fn runs_once(&self) {
        let (host, events) = self.host().await;
        host.settled().await;
        assert!(
            host.states().iter().all(|status| status.state == ExtensionState::Ready),
            "{:?}",
            host.states()
        );
        host.shutdown().await;
        assert_eq!(events.faults(), []);
    }

    /// How often any was started.
    pub(super) fn starts(&self) -> usize {
        self.lines("STARTS").len()
    }

    /// The events that were told, and how many were said to be missing.
    pub(super) fn events(&self) -> Vec<String> {
        let event = |line: String| {
            let event: serde_json::Value = serde_json::from_str(&line).unwrap();
            event["event"].as_str().map_or_else(|| format!("{} lost", event["lost"]), str::to_owned)
        };
        self.lines("EVENTS").into_iter().map(event).collect()
    }

    pub(super) fn dir(&self, name: &str) -> PathBuf {
        self.root.path().join("extensions").join(name)
    }

    /// Beside the directories of the extensions, as the file in `$STARTS`.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        log_path(self.config.logs.as_deref().unwrap(), &ExtensionName::new(name))
    }

    /// The files in which registrations are remembered.
    pub(super) fn remembered(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.root.path().join("state")).into_iter().flatten().flatten();
        files
            .map(|file| file.path())
            .filter(|path| path.to_string_lossy().contains("registrations-"))
            .collect()
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.root.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
