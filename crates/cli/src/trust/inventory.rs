//! Lists the parts of a project that haft would run or use. Files are read; nothing is run.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_config::{
    Config, ConfigFiles, ConfigLayer, Home, LayerSource, Owner, ProcessHook, Project, ProjectTrust,
    SettingOrigin, Settings, SourcedValue, UntrustedItem,
};
use haft_packages::discovery::Discovery;
use haft_packages::manifest::Manifest;
use haft_packages::{ExtensionOrigin, ExtensionSpec, LaunchPlan, Permissions, check_grant};
use serde_json::{Value, json};

use crate::args::ExtensionArgs;
use crate::hooks::GateRelaxation;
use crate::resources::PromptResources;
use crate::{hooks, sandbox, setup};

/// The parts of a project, one line each.
#[derive(Debug)]
pub(super) struct ProjectInventory {
    items: Vec<InventoryItem>,
    /// The mistake in the project's settings, which are then unknown.
    mistake: Option<String>,
    /// The files whose text is for the model, by the name in the list.
    instructions: BTreeMap<String, PathBuf>,
}

#[derive(Debug)]
struct InventoryItem {
    kind: &'static str,
    text: String,
    /// True for important items.
    red: bool,
}

/// The part of an instruction file that a review shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InstructionExcerpt {
    FirstLines,
    Whole,
}

impl ProjectInventory {
    /// Returns the parts of the project in a directory, whether it is trusted or not.
    pub(super) fn of_project(home: &Home, dir: &Path) -> Self {
        let of = |trust| Project { dir: dir.into(), trust };
        let trusted = of(ProjectTrust::Trusted);
        let (files, mistakes) = ConfigFiles::read_leniently(home, &trusted);
        let config = files.merge_unchecked(
            ConfigLayer::empty(LayerSource::Flags),
            ConfigLayer::empty(LayerSource::Env),
            &|_, _| None,
        );
        let mut marked = extension_items(home, &config, &trusted);
        let hooks = config.hooks.iter().filter(|hook| hook.owner == Owner::Project);
        marked.extend(hooks.flat_map(|hook| hook_items(&config, hook)));
        let users = config.hooks.iter().filter(|hook| hook.owner == Owner::User);
        marked.extend(users.flat_map(|hook| project_code_items(home, hook, dir)));
        let mut all: Vec<(&str, String)> = Vec::new();
        let unused = ConfigFiles::read_leniently(home, &of(ProjectTrust::Untrusted)).0;
        let unused = unused
            .merge_unchecked(
                ConfigLayer::empty(LayerSource::Flags),
                ConfigLayer::empty(LayerSource::Env),
                &|_, _| None,
            )
            .unused;
        let mistake = unused.as_ref().and_then(|unused| {
            mistakes.iter().find(|mistake| mistake.path() == unused.path).map(ToString::to_string)
        });
        let known = unused.filter(|unused| mistake.is_none() && !unused.sets.is_empty());
        all.extend(known.map(|unused| ("settings", settings_text(&unused, dir))));
        all.extend(config.refused.as_ref().map(|text| ("settings", without_dir(text, dir))));
        all.extend(mistakes.into_iter().map(|mistake| ("mistake", mistake.to_string())));
        let resources = PromptResources::find(home, &of(ProjectTrust::Untrusted), true);
        // The skills are listed separately.
        let texts = resources.untrusted_items().filter(|unused| !unused.path.is_dir());
        let instructions: BTreeMap<String, PathBuf> =
            texts.map(|unused| (relative_path(&unused.path, dir), unused.path)).collect();
        all.extend(instructions.keys().map(|name| (INSTRUCTIONS, name.clone())));
        let resources = PromptResources::find(home, &trusted, false);
        let skills = resources.skills.skills.iter().filter(|skill| skill.owner == Owner::Project);
        all.extend(skills.map(|skill| ("skill", format!("{}: {}", skill.name, skill.description))));
        all.extend(template_names(dir).into_iter().map(|name| ("prompt", name)));
        marked.extend(provider_items(&config, dir));
        marked.extend(all.into_iter().map(|(kind, text)| InventoryItem { kind, text, red: false }));
        // Important items come first.
        marked.sort_by_key(|brought| !brought.red);
        Self { items: marked, mistake, instructions }
    }

    /// Checks that all settings of the project are known, so that trust covers nothing that was not shown.
    ///
    /// # Errors
    /// The mistake in the project's settings, with the next step.
    pub(super) fn check_complete(&self) -> anyhow::Result<()> {
        match &self.mistake {
            Some(mistake) => {
                anyhow::bail!("{mistake}; correct the file, then run `haft trust` again. Nothing was changed")
            }
            None => Ok(()),
        }
    }

    /// Returns the lines, important ones first, with true for those. The texts are not sanitized.
    pub(super) fn lines(&self) -> impl Iterator<Item = (String, bool)> {
        self.items.iter().map(|InventoryItem { kind, text, red }| (format!("{kind}: {text}"), *red))
    }

    /// Returns the lines with the text of instruction files below their names.
    pub(super) fn review_lines(&self, excerpt: InstructionExcerpt) -> impl Iterator<Item = (String, bool)> {
        self.items.iter().flat_map(move |item| {
            let name = std::iter::once((format!("{}: {}", item.kind, item.text), item.red));
            let file = self.instructions.get(&item.text).filter(|_| item.kind == INSTRUCTIONS);
            let text = file.map(|file| excerpt_lines(file, excerpt)).unwrap_or_default();
            name.chain(text.into_iter().map(|line| (format!("  | {line}"), false)))
        })
    }

    pub(super) fn to_json(&self) -> Value {
        self.items
            .iter()
            .map(|InventoryItem { kind, text, red }| json!({"kind": kind, "text": text, "red": red}))
            .collect()
    }
}

/// The kind of files whose text is for the model.
const INSTRUCTIONS: &str = "instructions";

/// The number of lines of an instruction file that a review shows first.
const FIRST_LINES: usize = 8;

/// The maximum bytes of an instruction file that a review reads.
const MAX_INSTRUCTIONS: u64 = 256 * 1024;

/// Returns the lines of a text file, and a note about those that are left out.
fn excerpt_lines(file: &Path, excerpt: InstructionExcerpt) -> Vec<String> {
    // To open a pipe would wait for its writer.
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Vec::new();
    }
    let mut bytes = Vec::new();
    let read = std::fs::File::open(file).and_then(|file| file.take(MAX_INSTRUCTIONS).read_to_end(&mut bytes));
    if let Err(error) = read {
        return vec![format!("(cannot be read: {error})")];
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let left_out = lines.len().saturating_sub(FIRST_LINES);
    if excerpt == InstructionExcerpt::FirstLines && left_out > 0 {
        lines.truncate(FIRST_LINES);
        lines.push(format!("… {left_out} more lines; `haft trust --show` prints the whole file"));
    }
    lines
}

fn extension_items(home: &Home, config: &Config, project: &Project) -> Vec<InventoryItem> {
    let found =
        Discovery::run(&setup::extension_search(&ExtensionArgs::default(), home, config, project.clone()));
    let plain = |text| InventoryItem { kind: "extension", text, red: false };
    let specs = found.specs.iter().filter(|spec| spec.origin == ExtensionOrigin::Project);
    let runs = specs.flat_map(|spec| {
        let manifest = Manifest::read(&spec.dir).ok();
        let runs = manifest.and_then(|manifest| manifest.exec).map_or_else(String::new, |exec| {
            let words = [exec.program].into_iter().chain(exec.args).collect::<Vec<_>>();
            format!(" runs: {}", words.join(" "))
        });
        let runs = format!("{} in {}{runs}", spec.name, relative_path(&spec.dir, &project.dir));
        std::iter::once(plain(runs)).chain(permission_items(config, spec))
    });
    let skipped = found.skipped.iter().filter(|skipped| skipped.origin == ExtensionOrigin::Project);
    let broken = found.errors.iter().filter(|error| error.origin == ExtensionOrigin::Project);
    runs.chain(skipped.map(|skipped| plain(skipped.to_string())))
        .chain(broken.map(|error| plain(format!("{error}: {}", error.kind))))
        .collect()
}

/// Returns the servers that the project configures: they receive the conversation and the user's key for the provider.
fn provider_items(config: &Config, dir: &Path) -> Vec<InventoryItem> {
    let Settings { provider, base_url, .. } = &config.settings;
    let project_item = |key: &str, said: &SourcedValue<String>, what: &str| match &said.origin {
        SettingOrigin::File { path, line } if path.starts_with(dir) => Some(InventoryItem {
            kind: "settings",
            text: format!("{}:{line}: {key} = {:?}: {what}", relative_path(path, dir), said.value),
            red: true,
        }),
        SettingOrigin::File { .. }
        | SettingOrigin::Flag(_)
        | SettingOrigin::Env(_)
        | SettingOrigin::Default => None,
    };
    let to = base_url.as_ref().and_then(|said| {
        project_item("base_url", said, "receives the conversation and your key for the provider")
    });
    let who = provider.as_ref().and_then(|said| project_item("provider", said, "replaces your provider"));
    to.into_iter().chain(who).collect()
}

/// Returns the permissions and the sandbox of an extension in a trusted project. Trust grants the shown permissions.
fn permission_items(config: &Config, spec: &ExtensionSpec) -> Vec<InventoryItem> {
    if spec.launch == LaunchPlan::ThemeOnly {
        return Vec::new();
    }
    let name = &spec.name;
    let permissions = spec.permissions.iter().flat_map(Permissions::lines);
    let permissions = permissions.map(|line| InventoryItem {
        kind: "may",
        text: format!("{name}: {}: {}", line.permission, line.text),
        red: line.red,
    });
    let sandbox = match sandbox::level_of(config, spec) {
        Some(level) => format!("{name}: {level}"),
        None => format!("{name}: none, so it runs WITHOUT A SANDBOX, with all your rights"),
    };
    let sandbox =
        InventoryItem { kind: "sandbox", red: sandbox::level_of(config, spec).is_none(), text: sandbox };
    permissions.chain([sandbox]).collect()
}

/// Returns the items of a process hook: command, hook points, sandbox, and relaxations of its gate.
fn hook_items(config: &Config, hook: &ProcessHook) -> Vec<InventoryItem> {
    let text =
        format!("{} runs: {}; {}", hook.name, hooks::command_text(hook), hooks::hook_points_text(hook));
    let (confined, red) = hooks::sandbox_text(config, &hook.name);
    let confined = format!("{}: {confined}", hook.name);
    let mut all = vec![InventoryItem { kind: "hook", text, red: false }];
    all.extend(hook.env.iter().map(|(variable, value)| InventoryItem {
        kind: "hook",
        text: format!("{} sets {variable}={}", hook.name, hooks::shell_word(value)),
        red: can_run_code(variable),
    }));
    all.push(InventoryItem { kind: "sandbox", text: confined, red });
    let loosened = GateRelaxation::for_hook(config, hook).warning_lines().into_iter();
    all.extend(loosened.map(|line| InventoryItem {
        kind: "gate",
        text: format!("{}: {line}", hook.name),
        red: true,
    }));
    all
}

fn can_run_code(variable: &str) -> bool {
    variable.eq_ignore_ascii_case("PATH") || check_grant(variable).is_err()
}

fn project_code_items(home: &Home, hook: &ProcessHook, dir: &Path) -> Vec<InventoryItem> {
    let files = hook.code_in_project(home, dir).into_iter();
    files
        .map(|named| InventoryItem {
            kind: "hook",
            text: format!("your hook {} runs {}", hook.name, relative_path(&named.path, dir)),
            red: false,
        })
        .collect()
}

fn settings_text(unused: &UntrustedItem, dir: &Path) -> String {
    format!("{} sets {}", relative_path(&unused.path, dir), unused.sets.join(", "))
}

/// Shortens the paths of the project in a message.
fn without_dir(text: &str, dir: &Path) -> String {
    text.replace(&format!("{}{}", dir.display(), std::path::MAIN_SEPARATOR), "")
}

/// Returns the names of the project's templates.
fn template_names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join(".haft").join("prompts")).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| format!("/{}", entry.path().file_stem().unwrap_or_default().display())).collect();
    names.sort();
    names
}

fn relative_path(path: &Path, dir: &Path) -> String {
    path.strip_prefix(dir).unwrap_or(path).display().to_string()
}
