//! A home with an extension that counts its starts, and consecutive hosts for it.

use std::fs;
use std::path::{Path, PathBuf};

use haft_host::{Host, HostConfig, log_path};
use haft_packages::manifest::Manifest;
use haft_packages::{ExtensionOrigin, ExtensionSpec, LaunchPlan};
use haft_protocol::ids::ExtensionName;
use haft_test_support::PATIENCE;
use tempfile::TempDir;

use crate::support::{Events, brisk, config, program, spec};

/// The declarations for [`TOOL`].
pub(super) const USES: &str = r#"{
    "activation": ["tool:t", "command:go"],
    "tools": [{"name": "t", "description": "does it", "schema": {"type": "object"}}],
    "commands": [{"name": "go", "description": "goes"}]
}"#;

/// Registers a tool and a command.
pub(super) const TOOL: &str = r#"
say '{"type":"register_tool","name":"t","description":"does it","schema":{"type":"object"}}'
say '{"type":"register_command","name":"go","description":"goes"}'
say '{"type":"ready"}'
serve"#;

/// The beginning of every script: counts its start, answers queries, and records events.
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

/// A home with one extension.
pub(super) struct Home {
    pub(super) config: HostConfig,
    root: TempDir,
    spec: ExtensionSpec,
}

impl Home {
    /// Creates a home with one extension that has these manifest fields and runs `body` after its hello.
    pub(super) fn with(name: &str, fields: &str, body: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut config = config();
        config.timeouts = brisk();
        config.timeouts.slow_start_notice = PATIENCE;
        config.timeouts.shutdown_grace = PATIENCE;
        config.state = Some(root.path().join("state"));
        config.logs = Some(root.path().join("logs"));
        for name in ["STARTS", "EVENTS"] {
            config.env.set.push((name.into(), root.path().join(name).display().to_string()));
        }
        let dir = root.path().join("extension");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("run.sh"), format!("NAME={name}\n{PRELUDE}{body}\n")).unwrap();
        let launch = LaunchPlan::Process { program: program(&["sh"]), args: vec!["run.sh".into()] };
        let mut manifest: serde_json::Value = serde_json::from_str(fields).unwrap();
        manifest["name"] = name.into();
        manifest["exec"] = "sh".into();
        let manifest = Manifest::parse(Path::new("extension.json"), &manifest.to_string(), false).unwrap();
        assert_eq!(manifest.ignored, Vec::<String>::new());
        let spec = ExtensionSpec {
            origin: ExtensionOrigin::Global,
            lifecycle: manifest.lifecycle,
            ..spec(name, &dir, launch)
        };
        Self { config, root, spec }
    }

    /// Changes the extension for all later starts.
    pub(super) fn change(&mut self, change: impl Fn(&mut ExtensionSpec)) {
        change(&mut self.spec);
    }

    pub(super) async fn host(&self) -> (Host, Events) {
        let events = Events::default();
        let builder = Host::builder(self.config.clone()).events(events.sink());
        (builder.specs(vec![self.spec.clone()]).start().await, events)
    }

    /// Returns the number of starts.
    pub(super) fn starts(&self) -> usize {
        self.lines("STARTS").len()
    }

    /// Returns the received events, with the number of missing ones.
    pub(super) fn events(&self) -> Vec<String> {
        let event = |line: String| {
            let event: serde_json::Value = serde_json::from_str(&line).unwrap();
            event["event"].as_str().map_or_else(|| format!("{} lost", event["lost"]), str::to_owned)
        };
        self.lines("EVENTS").into_iter().map(event).collect()
    }

    /// Returns a file next to the extension's directory, with the prefix of `$STARTS`.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        log_path(self.config.logs.as_deref().unwrap(), &ExtensionName::new(name))
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.root.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
