//! Tests of merging files, in temporary directories.

use super::*;
use crate::keys::LayerSource;
use crate::keys::OnTimeout;
use haft_protocol::project::ProjectTrust;

/// A home and a project with the given files.
struct Fixture {
    root: tempfile::TempDir,
}

impl Fixture {
    fn new(user: &str, project: &str) -> Self {
        let fixture = Self { root: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(fixture.home().root()).unwrap();
        std::fs::create_dir_all(fixture.project(ProjectTrust::Trusted).dir.join(".haft")).unwrap();
        std::fs::write(fixture.home().config_file(), user).unwrap();
        std::fs::write(project::config_file(&fixture.project(ProjectTrust::Trusted)), project).unwrap();
        fixture
    }

    fn home(&self) -> Home {
        Home::at(self.root.path().join("home"))
    }

    fn project(&self, trust: ProjectTrust) -> Project {
        Project { dir: self.root.path().join("work"), trust }
    }

    fn config(&self, trust: ProjectTrust) -> Config {
        let files = ConfigFiles::read(&self.home(), &self.project(trust)).unwrap();
        files.merge_unchecked(
            ConfigLayer::empty(LayerSource::Flags),
            ConfigLayer::empty(LayerSource::Env),
            &|_, _| None,
        )
    }

    /// Returns an origin without the test's directory.
    fn origin(&self, origin: &SettingOrigin) -> String {
        origin.to_string().replace(&format!("{}/", self.root.path().display()), "")
    }
}

const USER: &str = "model = 'users'\nreasoning = 'low'\nextensions = ['mine']\n\
    [extension.weather]\nunits = 'si'\nstations = ['x']\n[grant.weather]\nenv = ['KEY']\n";
const PROJECT: &str = "# comment\nmodel = 'projects'\nextensions = ['../theirs', './x']\n\
    [extension.weather]\nunits = 'imperial'\nsince = 2020-01-01\n";

#[test]
fn trusted_project_overrides_user_key_by_key() {
    let fixture = Fixture::new(USER, PROJECT);
    let config = fixture.config(ProjectTrust::Trusted);
    let model = config.settings.model.clone().unwrap();
    assert_eq!(
        (model.value.as_str(), fixture.origin(&model.origin).as_str()),
        ("projects", "work/.haft/config.toml:2")
    );
    assert_eq!(fixture.origin(&config.settings.thinking.origin), "home/config.toml:2");
    let weather = &config.extension["weather"].project;
    assert_eq!(fixture.origin(&weather["stations"].origin), "home/config.toml:6");
    assert_eq!(fixture.origin(&weather["units"].origin), "work/.haft/config.toml:5");
    let places: Vec<_> = config.extensions.iter().map(|place| (place.path.clone(), place.owner)).collect();
    let root = fixture.root.path();
    let expect = [
        (root.join("home/mine"), Owner::User),
        (root.join("work/.haft/../theirs"), Owner::Project),
        (root.join("work/.haft/x"), Owner::Project),
    ];
    assert_eq!(places, expect);
    assert_eq!((config.unused, config.refused), (None, None));
}

/// Checks the settings of the extension `weather` if it is the user's, and if it is the project's.
#[track_caller]
fn check_extension_settings(user: &str, trust: ProjectTrust, users: &str, projects: &str) {
    let config = Fixture::new(user, PROJECT).config(trust);
    for (owner, expect) in [(Owner::User, users), (Owner::Project, projects)] {
        let got = config.extension_json("weather", owner).map_or(Value::Null, Into::into);
        assert_eq!(got, serde_json::from_str::<Value>(expect).unwrap(), "{owner:?}");
    }
    assert_eq!(config.extension_json("other", Owner::Project), None);
}

#[test]
fn project_settings_reach_users_extension_only_if_allowed() {
    let (mine, theirs) = (
        r#"{"units":"si","stations":["x"]}"#,
        r#"{"units":"imperial","stations":["x"],"since":"2020-01-01"}"#,
    );
    check_extension_settings(USER, ProjectTrust::Trusted, mine, theirs);
    check_extension_settings(USER, ProjectTrust::Untrusted, mine, mine);
    let added = r#"{"units":"si","stations":["x"],"since":"2020-01-01"}"#;
    check_extension_settings(&format!("{USER}project_settings = true"), ProjectTrust::Trusted, added, theirs);
    check_extension_settings(&format!("{USER}project_settings = false"), ProjectTrust::Trusted, mine, theirs);
    check_extension_settings(
        "",
        ProjectTrust::Trusted,
        "null",
        r#"{"units":"imperial","since":"2020-01-01"}"#,
    );
    let config = Fixture::new(USER, PROJECT).config(ProjectTrust::Trusted);
    let only: Vec<_> = config.extension["weather"].project_only().map(|(key, _)| key).collect();
    assert_eq!(only, ["since", "units"]);
}

/// Only the user's file can allow a project to add settings.
#[test]
fn project_cannot_grant_itself_project_settings() {
    let fixture = Fixture::new("", "[extension.g]\nallow = '*'\n[grant.g]\nproject_settings = true");
    let config = fixture.config(ProjectTrust::Trusted);
    assert_eq!(config.extension_json("g", Owner::User), None);
    assert!(config.refused.is_some());
}

#[test]
fn untrusted_project_sets_nothing_and_is_reported() {
    let fixture = Fixture::new(USER, PROJECT);
    let config = fixture.config(ProjectTrust::Untrusted);
    assert_eq!(config.settings.model.unwrap().value, "users");
    assert_eq!(config.extensions.len(), 1);
    assert_eq!(config.unused.unwrap().sets, ["extension", "extensions", "model"]);
    // Invalid content does not matter, because the file is not parsed as settings.
    let fixture = Fixture::new("model = 'users'", "model = = \u{0}");
    let config = fixture.config(ProjectTrust::Untrusted);
    assert_eq!(config.settings.model.unwrap().value, "users");
    assert!(config.unused.is_some());
}

#[test]
fn trusted_project_cannot_set_user_only_keys() {
    let fixture =
        Fixture::new("", "reasoning = 'high'\n[grant.evil]\nenv = ['OPENAI_API_KEY']\non_timeout = 'allow'");
    let config = fixture.config(ProjectTrust::Trusted);
    assert_eq!(config.settings.thinking.value.to_string(), "high");
    assert_eq!(config.grant, BTreeMap::new());
    let refused = config.refused.unwrap();
    assert!(
        refused.ends_with(
            "config.toml sets grant, which only your own config.toml may set; these settings are ignored"
        ),
        "{refused}"
    );
}

#[test]
fn mistake_in_project_file_is_reported_and_user_file_is_used() {
    let fixture = Fixture::new("model = 'users'", "modl = 'x'");
    let (home, project) = (fixture.home(), fixture.project(ProjectTrust::Trusted));
    let error = ConfigFiles::read(&home, &project).unwrap_err().to_string();
    assert!(
        error.ends_with("work/.haft/config.toml:1: unknown key `modl`; did you mean `model`?"),
        "{error}"
    );
    let (files, mistakes) = ConfigFiles::read_leniently(&home, &project);
    let config = files
        .merge(ConfigLayer::empty(LayerSource::Flags), ConfigLayer::empty(LayerSource::Env), &|_, _| None)
        .unwrap();
    assert_eq!((config.settings.model.unwrap().value.as_str(), mistakes.len()), ("users", 1));
}

/// A device never ends, and a file outside of the project may be one that only the user may read.
#[cfg(unix)]
#[test]
fn project_file_that_links_out_of_the_project_is_not_read() {
    let fixture = Fixture::new("model = 'users'", "");
    let (home, project) = (fixture.home(), fixture.project(ProjectTrust::Trusted));
    let (file, outside) = (project::config_file(&project), fixture.root.path().join("outside.toml"));
    std::fs::write(&outside, "model = 'theirs'").unwrap();
    for target in [outside.as_path(), "/dev/zero".as_ref()] {
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(target, &file).unwrap();
        let error = ConfigFiles::read(&home, &project).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("leads out of the project"), "{}: {cause}", target.display());
        let config = fixture.config(ProjectTrust::Untrusted);
        assert_eq!(config.settings.model.unwrap().value, "users");
        assert_eq!(config.unused.unwrap().sets, Vec::<String>::new());
    }
}

#[test]
fn user_file_is_not_treated_as_project_file() {
    let root = tempfile::tempdir().unwrap();
    let home = Home::at(root.path().join(".haft"));
    std::fs::create_dir(home.root()).unwrap();
    std::fs::write(home.config_file(), "[grant.guard]\non_timeout = 'allow'").unwrap();
    for trust in [ProjectTrust::Trusted, ProjectTrust::Untrusted] {
        let files = ConfigFiles::read(&home, &Project { dir: root.path().into(), trust }).unwrap();
        let config = files.merge_unchecked(
            ConfigLayer::empty(LayerSource::Flags),
            ConfigLayer::empty(LayerSource::Env),
            &|_, _| None,
        );
        assert_eq!((config.grant.len(), config.unused, config.refused), (1, None, None));
    }
}

#[test]
fn missing_extensions_directory_is_reported_with_its_line() {
    let fixture = Fixture::new("\nextensions = ['mine']", "");
    let files = ConfigFiles::read(&fixture.home(), &fixture.project(ProjectTrust::Untrusted)).unwrap();
    let below = || {
        files
            .merge(ConfigLayer::empty(LayerSource::Flags), ConfigLayer::empty(LayerSource::Env), &|_, _| None)
    };
    let error = below().unwrap_err().to_string();
    assert!(error.contains("home/config.toml:2: `extensions`: the directory "), "{error}");
    std::fs::create_dir(fixture.home().root().join("mine")).unwrap();
    below().unwrap();
}

const HOOK: &str = "enabled = true\ncommand = ['g']\nintercept = ['approve_tool']\n";

/// Name, owner, and the timeouts for interceptors and approvals in milliseconds.
type Brief = (String, Owner, u128, u128);

/// Returns the enabled hooks and the message about refused settings.
fn hooks(user: &str, project: &str, trust: ProjectTrust) -> (Vec<Brief>, Option<String>) {
    let config = Fixture::new(user, project).config(trust);
    let hooks = config.hooks.into_iter().map(|hook| {
        let times = hook.timeouts;
        (hook.name, hook.owner, times.interceptor.as_millis(), times.approval.as_millis())
    });
    let refused = config.refused.map(|message| message.split_once("config.toml ").unwrap().1.to_owned());
    (hooks.collect(), refused)
}

#[test]
fn trusted_project_adds_hooks_without_changing_the_users() {
    let user = format!("[hooks.defaults]\ninterceptor_timeout_ms = 7\n[hooks.processes.gate]\n{HOOK}");
    let project = format!(
        "[hooks.defaults]\napproval_timeout_ms = 9\n[hooks.processes.Gate]\non_timeout = 'allow'\n\
         [hooks.processes.more]\nvouches = ['bash']\n{HOOK}"
    );
    let users = ("gate".to_owned(), Owner::User, 7, 60_000);
    let projects = ("more".to_owned(), Owner::Project, 7, 9);
    assert_eq!(hooks(&user, &project, ProjectTrust::Untrusted), (vec![users.clone()], None));
    let message = "sets hooks.processes.more.vouches, which only your own config.toml may set; these settings are ignored; ";
    let (all, refused) = hooks(&user, &project, ProjectTrust::Trusted);
    assert_eq!(all, [users.clone(), projects.clone()]);
    let refused = refused.unwrap();
    assert!(
        refused.starts_with(message) && refused.ends_with("a project cannot change; ignored: Gate"),
        "{refused}"
    );

    // A hook that the user has disabled stays disabled.
    let off = "[hooks.processes.more]\nenabled = false\n";
    assert_eq!(hooks(off, &project, ProjectTrust::Trusted).0, []);
    assert_eq!(hooks("[hooks]\nenabled = false\n", &project, ProjectTrust::Trusted).0, []);
    let off = Fixture::new(off, &project).config(ProjectTrust::Trusted).disabled_hooks;
    assert_eq!(
        off.iter().map(|off| (off.name.as_str(), off.owner)).collect::<Vec<_>>(),
        [("more", Owner::User), ("Gate", Owner::Project)]
    );
    let off = format!("[hooks]\nenabled = false\n{project}");
    assert_eq!(hooks(&user, &off, ProjectTrust::Trusted).0, [users]);
}

#[test]
fn only_the_user_can_weaken_a_hook() {
    let project = format!("[hooks.processes.g]\non_timeout = 'allow'\nvouches = ['bash']\n{HOOK}");
    let config = Fixture::new("", &project).config(ProjectTrust::Trusted);
    assert_eq!((config.hooks[0].on_timeout, config.hooks[0].vouches.len()), (OnTimeout::Block, 0));
    let config = Fixture::new(&project, "").config(ProjectTrust::Trusted);
    assert_eq!((config.hooks[0].on_timeout, config.hooks[0].vouches.len()), (OnTimeout::Allow, 1));
    assert_eq!(config.rows().iter().filter(|row| row.key == "hooks.processes.g.vouches").count(), 1);
}
