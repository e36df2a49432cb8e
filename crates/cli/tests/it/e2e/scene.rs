//! A clean home, a model server, extensions, and `haft`.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use haft_test_support::model_server::{ModelServer, Scenario, WireFormat};
use serde_json::{Value, json};

use super::coverage;
use super::running::{Ran, Running};
use crate::world::World;

/// The API key of every run, which must appear in no output.
pub(crate) const KEY: &str = "sk-e2e-0123456789abcdef";

/// The prelude of every Python extension.
const PRELUDE: &str = include_str!("../../fixtures/prelude.py");

/// The setup of one test.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) server: ModelServer,
    /// The arguments that select the model.
    model: Vec<String>,
    extensions: Vec<PathBuf>,
}

impl Scene {
    /// Creates a scene with a model that plays these answers, by Chat Completions.
    pub(crate) fn new(scenarios: Vec<Scenario>) -> Self {
        Self::speaking(WireFormat::OpenAiChat, scenarios)
    }

    /// Creates a scene with a model that plays these answers in this dialect.
    pub(crate) fn speaking(wire: WireFormat, scenarios: Vec<Scenario>) -> Self {
        let server = ModelServer::spawn_thread(wire, scenarios);
        let provider = match wire {
            WireFormat::Anthropic => "anthropic",
            WireFormat::OpenAiChat => "openai-chat",
            WireFormat::OpenAiResponses => "openai",
            WireFormat::Gemini => "gemini",
            WireFormat::Ollama => "ollama",
        };
        let url = server.base_url();
        let model = ["--provider", provider, "--model", "m", "--base-url", &url, "--api-key", KEY];
        let model = model.map(str::to_owned).into();
        Self { world: World::new(), server, model, extensions: Vec::new() }
    }

    /// Creates a scene with a model that plays these steps, for arguments that are too long for small stream chunks.
    pub(crate) fn scripted(steps: &Value) -> Self {
        Self::playing(&json!({ "steps": steps }))
    }

    /// Creates a scene with a model that plays this script.
    pub(crate) fn playing(script: &Value) -> Self {
        let mut scene = Self::new(Vec::new());
        let text = script.to_string();
        let script = scene.world.project().with_file_name("script.json");
        fs::write(&script, text).unwrap();
        scene.model =
            ["--provider", "scripted", "--model", script.to_str().unwrap()].map(str::to_owned).into();
        scene
    }

    /// Adds a Python extension after the existing ones.
    pub(crate) fn python(self, name: &str, body: &str) -> Self {
        let dir = self.world.project().join(name);
        self.write_python(&dir, name, &json!({}), body);
        self.with(dir)
    }

    /// Adds a Python extension whose first frame has these fields, too.
    pub(crate) fn python_with(self, name: &str, hello: &Value, body: &str) -> Self {
        let dir = self.world.project().join(name);
        self.write_python_with(&dir, name, &json!({}), hello, body);
        self.with(dir)
    }

    /// Adds a Python extension with these manifest keys, whose first frame has these fields, too.
    pub(crate) fn custom_python(self, name: &str, more: &Value, hello: &Value, body: &str) -> Self {
        let dir = self.world.project().join(name);
        self.write_python_with(&dir, name, more, hello, body);
        self.with(dir)
    }

    /// Adds an example extension in Rust.
    pub(crate) fn example(self, name: &str) -> Self {
        let manifest =
            json!({"name": name, "exec": env!("CARGO_BIN_EXE_haft"), "args": ["__extension", name]});
        let dir = self.world.extension(name, &manifest.to_string());
        self.with(dir)
    }

    /// Adds an example extension in Rust as it is shipped: with its manifest and its own program.
    pub(crate) fn shipped(self, name: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions").join(name);
        let text = fs::read_to_string(source.join("extension.json")).unwrap();
        let mut manifest: Value = serde_json::from_str(&text).unwrap();
        manifest["exec"] = json!(haft_test_support::example_extension(name));
        let dir = self.world.extension(&format!("extensions/{name}"), &manifest.to_string());
        self.with(dir)
    }

    /// Adds an example extension in Rust that the user has approved.
    pub(crate) fn installed(self, name: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions").join(name);
        let dir = self.world.home().join("extensions").join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::copy(source.join("extension.json"), dir.join("extension.json")).unwrap();
        fs::copy(haft_test_support::example_extension(name), dir.join(name)).unwrap();
        self.world.approve(&dir);
        self
    }

    /// Adds the extension with this fault, which is also its name. Its deadlines are as long as possible.
    pub(crate) fn misbehaving(self, fault: &str) -> Self {
        self.misbehaving_as(fault, &patient())
    }

    /// Adds the extension with this fault, with the default deadlines and these manifest keys.
    pub(crate) fn misbehaving_as(self, fault: &str, more: &Value) -> Self {
        let mut manifest = json!({"name": fault, "exec": haft_test_support::test_binary("misbehave"), "args": [fault, fault]});
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let dir = self.world.extension(fault, &manifest.to_string());
        self.grant(fault, "HAFT_MARKER");
        self.with(dir)
    }

    /// Adds the extension in this directory.
    pub(crate) fn with(mut self, dir: PathBuf) -> Self {
        self.extensions.push(dir);
        self
    }

    /// Runs `haft` with these arguments, the model server and the extensions.
    pub(crate) fn haft(&self, args: &[&str]) -> Ran {
        self.start(args, None).wait()
    }

    /// Starts `haft` like [`haft`](Self::haft), without waiting for it.
    pub(crate) fn start(&self, args: &[&str], stdin: Option<&str>) -> Running {
        Running::start(self.command(args), stdin)
    }

    /// Returns the command of [`haft`](Self::haft), not yet started.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(&[], args)
    }

    /// Returns the command for a subcommand that asks a model.
    pub(crate) fn command_of(&self, subcommand: &[&str], args: &[&str]) -> Command {
        let model: Vec<&str> = self.model.iter().map(String::as_str).collect();
        let mut command = self.world.command(&[subcommand, &model].concat());
        for dir in &self.extensions {
            command.arg("--ext").arg(dir);
        }
        command.args(args).env("MARKS", self.marks_file()).env("HAFT_MARKER", self.marks_file());
        command
    }

    /// Writes a Python extension with these manifest keys to a directory that the user's `config.toml` lists.
    pub(crate) fn named_python(&self, name: &str, more: &Value, body: &str) {
        let dir = self.world.home().join("more").join(name);
        let mut fields = json!({"required": true});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.write_python(&dir, name, &fields, body);
        let config = self.world.home().join("config.toml");
        let rest = fs::read_to_string(&config).unwrap_or_default();
        fs::write(config, format!("extensions = [{}]\n{rest}", json!(dir))).unwrap();
    }

    /// Adds a Python extension with these manifest keys to the command line, so a run waits for its start.
    pub(crate) fn with_python(self, name: &str, more: &Value, body: &str) -> Self {
        let dir = self.world.home().join("more").join(name);
        self.write_python(&dir, name, more, body);
        self.with(dir)
    }

    /// Installs a Python extension. A run does not wait for it if it starts slowly.
    pub(crate) fn home_python(&self, name: &str, body: &str) {
        self.home_python_with(name, &json!({}), body);
    }

    /// Installs a Python extension like [`home_python`](Self::home_python), with these manifest keys.
    pub(crate) fn home_python_with(&self, name: &str, more: &Value, body: &str) {
        let dir = self.world.home().join("extensions").join(name);
        self.write_python(&dir, name, more, body);
        self.world.approve(&dir);
    }

    /// Installs a Python extension for whose start every run waits, even on a busy machine.
    pub(crate) fn required_home_python(&self, name: &str, body: &str) {
        self.home_python_with(name, &json!({"required": true}), body);
    }

    /// Adds a Python extension to the project of the working directory.
    pub(crate) fn project_python(&self, project: &Path, name: &str, body: &str) {
        self.write_python(&project.join(".haft/extensions").join(name), name, &json!({}), body);
    }

    /// Adds a Python extension to the project, for whose start every run waits.
    pub(crate) fn required_project_python(&self, project: &Path, name: &str, body: &str) {
        self.write_python(
            &project.join(".haft/extensions").join(name),
            name,
            &json!({"required": true}),
            body,
        );
    }

    /// Returns the marks of the extensions, in order.
    pub(crate) fn marks(&self) -> Vec<String> {
        let text = fs::read_to_string(self.marks_file()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the log of haft, followed by those of the extensions.
    pub(crate) fn logs(&self) -> String {
        let files = fs::read_dir(self.world.home().join("logs")).unwrap();
        files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
    }

    /// Returns the log of one extension.
    pub(crate) fn log_of(&self, extension: &str) -> String {
        fs::read_to_string(self.world.home().join(format!("logs/ext-{extension}.log"))).unwrap()
    }

    /// Grants an extension a variable of haft's environment.
    pub(crate) fn grant(&self, extension: &str, variable: &str) {
        fs::create_dir_all(self.world.home()).unwrap();
        let mut file =
            File::options().create(true).append(true).open(self.world.home().join("config.toml")).unwrap();
        writeln!(file, "[grant.{extension}]\nenv = ['{variable}']").unwrap();
    }

    fn write_python(&self, dir: &Path, name: &str, more: &Value, body: &str) {
        self.write_python_with(dir, name, more, &json!({}), body);
    }

    fn write_python_with(&self, dir: &Path, name: &str, more: &Value, hello: &Value, body: &str) {
        fs::create_dir_all(dir).unwrap();
        let mut manifest = json!({"name": name, "version": "1.0.0", "exec": "python3", "args": ["main.py"]});
        manifest.as_object_mut().unwrap().extend(patient().as_object().unwrap().clone());
        manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fs::write(dir.join("extension.json"), manifest.to_string()).unwrap();
        let (marks, record) = (json!(self.marks_file()), json!(coverage::record_file()));
        let head = format!("MARKS = {marks}\nHELLO = {hello}\nRECORD = {record}\n");
        fs::write(dir.join("main.py"), format!("{head}{PRELUDE}{body}")).unwrap();
    }

    fn marks_file(&self) -> PathBuf {
        // Commands of the model can write in the project only.
        self.world.project().join("marks")
    }
}

/// Returns manifest keys with the longest allowed deadlines, for busy machines.
pub(crate) fn patient() -> Value {
    json!({"hello_timeout_ms": 60_000, "ready_timeout_ms": 60_000})
}

/// Returns a call of `bash` in a scenario.
pub(crate) fn bash(id: &str, command: &str) -> Scenario {
    Scenario::new().tool(id, "bash", &bash_args(command))
}

/// Returns the arguments of such a call.
pub(crate) fn bash_args(command: &str) -> String {
    Value::to_string(&json!({ "command": command }))
}
