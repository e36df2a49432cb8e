//! Files in real directories.

use super::*;
use crate::keys::LayerSource;
use crate::keys::OnTimeout;
use haft_protocol::project::ProjectTrust;

/// A home and a project, with these files in them.
struct Ground {
    root: tempfile::TempDir,
}

impl Ground {
    fn new(user: &str, project: &str) -> Self {
        let ground = Self { root: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(ground.home().root()).unwrap();
        std::fs::create_dir_all(ground.project(ProjectTrust::Trusted).dir.join(".haft")).unwrap();
        std::fs::write(ground.home().config_file(), user).unwrap();
        std::fs::write(project::config_file(&ground.project(ProjectTrust::Trusted)), project).unwrap();
        ground
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

    /// An origin without the directory of the test.
    fn origin(&self, origin: &SettingOrigin) -> String {
        origin.to_string().replace(&format!("{}/", self.root.path().display()), "")
    }
}

const USER: &str = "model = 'users'\nreasoning = 'low'\nextensions = ['mine']\n\
    [extension.weather]\nunits = 'si'\nstations = ['x']\n[grant.weather]\nenv = ['KEY']\n";
const PROJECT: &str = "# comment\nmodel = 'projects'\nextensions = ['../theirs', './x']\n\
    [extension.weather]\nunits = 'imperial'\nsince = 2020-01-01\n";

#[test]
fn a_trusted_project_lies_over_the_user_key_by_key() {
    let ground = Ground::new(USER, PROJECT);
    let config = ground.config(ProjectTrust::Trusted);
    let model = config.settings.model.clone().unwrap();
    assert_eq!(
        (model.value.as_str(), ground.origin(&model.origin).as_str()),
        ("projects", "work/.haft/config.toml:2")
    );
    assert_eq!(ground.origin(&config.settings.thinking.origin), "home/config.toml:2");
    let weather = &config.extension["weather"].project;
    assert_eq!(ground.origin(&weather["stations"].origin), "home/config.toml:6");
    assert_eq!(ground.origin(&weather["units"].origin), "work/.haft/config.toml:5");
    let places: Vec<_> = config.extensions.iter().map(|place| (place.path.clone(), place.owner)).collect();
    let root = ground.root.path();
    let expect = [
        (root.join("home/mine"), Owner::User),
        (root.join("work/.haft/../theirs"), Owner::Project),
        (root.join("work/.haft/x"), Owner::Project),
    ];
    assert_eq!(places, expect);
    assert_eq!((config.unused, config.refused), (None, None));
}

/// What the extension `weather` is handed if it is the user's, and if it is the project's.
#[track_caller]
fn check_handed(user: &str, trust: ProjectTrust, users: &str, projects: &str) {
    let config = Ground::new(user, PROJECT).config(trust);
    for (owner, expect) in [(Owner::User, users), (Owner::Project, projects)] {
        let got = config.extension_json("weather", owner).map_or(Value::Null, Into::into);
        assert_eq!(got, serde_json::from_str::<Value>(expect).unwrap(), "{owner:?}");
    }
    assert_eq!(config.extension_json("other", Owner::Project), None);
}

#[test]
fn a_projects_table_reaches_the_users_extension_only_where_the_user_says_so() {
    let (mine, theirs) = (
        r#"{"units":"si","stations":["x"]}"#,
        r#"{"units":"imperial","stations":["x"],"since":"2020-01-01"}"#,
    );
    check_handed(USER, ProjectTrust::Trusted, mine, theirs);
    check_handed(USER, ProjectTrust::Untrusted, mine, mine);
    let added = r#"{"units":"si","stations":["x"],"since":"2020-01-01"}"#;
    check_handed(&format!("{USER}project_settings = true"), ProjectTrust::Trusted, added, theirs);
    check_handed(&format!("{USER}project_settings = false"), ProjectTrust::Trusted, mine, theirs);
    check_handed("", ProjectTrust::Trusted, "null", r#"{"units":"imperial","since":"2020-01-01"}"#);
    let config = Ground::new(USER, PROJECT).config(ProjectTrust::Trusted);
    let only: Vec<_> = config.extension["weather"].project_only().map(|(key, _)| key).collect();
    assert_eq!(only, ["since", "units"]);
}

/// Only the user lets a project add something.
#[test]
fn a_project_cannot_let_itself_set_the_users_extension() {
    let ground = Ground::new("", "[extension.g]\nallow = '*'\n[grant.g]\nproject_settings = true");
    let config = ground.config(ProjectTrust::Trusted);
    assert_eq!(config.extension_json("g", Owner::User), None);
    assert!(config.refused.is_some());
}

#[test]
fn an_untrusted_project_sets_nothing_and_what_it_would_is_told() {
    let ground = Ground::new(USER, PROJECT);
    let config = ground.config(ProjectTrust::Untrusted);
    assert_eq!(config.settings.model.unwrap().value, "users");
    assert_eq!(config.extensions.len(), 1);
    assert_eq!(config.unused.unwrap().sets, ["extension", "extensions", "model"]);
    // Whatever is in it: it is not even looked at as settings.
    let ground = Ground::new("model = 'users'", "model = = \u{0}");
    let config = ground.config(ProjectTrust::Untrusted);
    assert_eq!(config.settings.model.unwrap().value, "users");
    assert!(config.unused.is_some());
}

#[test]
fn what_only_the_user_may_is_refused_to_a_trusted_project() {
    let ground =
        Ground::new("", "reasoning = 'high'\n[grant.evil]\nenv = ['OPENAI_API_KEY']\non_timeout = 'allow'");
    let config = ground.config(ProjectTrust::Trusted);
    assert_eq!(config.settings.thinking.value.to_string(), "high");
    assert_eq!(config.grant, BTreeMap::new());
    let refused = config.refused.unwrap();
    assert!(
        refused.ends_with("config.toml sets grant, which only the user's own config.toml may: ignored"),
        "{refused}"
    );
}

#[test]
fn a_broken_file_of_the_project_is_named_and_the_users_is_not_lost() {
    let ground = Ground::new("model = 'users'", "modl = 'x'");
    let (home, project) = (ground.home(), ground.project(ProjectTrust::Trusted));
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

#[test]
fn the_users_own_file_is_no_projects() {
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
fn a_place_of_extensions_that_is_not_there_is_named_with_its_line() {
    let ground = Ground::new("\nextensions = ['mine']", "");
    let files = ConfigFiles::read(&ground.home(), &ground.project(ProjectTrust::Untrusted)).unwrap();
    let below = || {
        files
            .merge(ConfigLayer::empty(LayerSource::Flags), ConfigLayer::empty(LayerSource::Env), &|_, _| None)
    };
    let error = below().unwrap_err().to_string();
    assert!(error.contains("home/config.toml:2: extensions: there is no directory "), "{error}");
    std::fs::create_dir(ground.home().root().join("mine")).unwrap();
    below().unwrap();
}

const HOOK: &str = "enabled = true\ncommand = ['g']\nintercept = ['approve_tool']\n";

/// Name, owner, and the times for questions and approvals in milliseconds.
type Brief = (String, Owner, u128, u128);

/// Each hook; and what is refused.
fn hooks(user: &str, project: &str, trust: ProjectTrust) -> (Vec<Brief>, Option<String>) {
    let config = Ground::new(user, project).config(trust);
    let hooks = config.hooks.into_iter().map(|hook| {
        let times = hook.timeouts;
        (hook.name, hook.owner, times.interceptor.as_millis(), times.approval.as_millis())
    });
    let refused = config.refused.map(|told| told.split_once("config.toml ").unwrap().1.to_owned());
    (hooks.collect(), refused)
}

#[test]
fn a_trusted_project_adds_hooks_and_changes_none_of_the_users() {
    let user = format!("[hooks.defaults]\ninterceptor_timeout_ms = 7\n[hooks.processes.gate]\n{HOOK}");
    let project = format!(
        "[hooks.defaults]\napproval_timeout_ms = 9\n[hooks.processes.Gate]\non_timeout = 'allow'\n\
         [hooks.processes.more]\nvouches = ['bash']\n{HOOK}"
    );
    let users = ("gate".to_owned(), Owner::User, 7, 60_000);
    let projects = ("more".to_owned(), Owner::Project, 7, 9);
    assert_eq!(hooks(&user, &project, ProjectTrust::Untrusted), (vec![users.clone()], None));
    let told = "sets hooks.processes.more.vouches, which only the user's own config.toml may: ignored; ";
    let (all, refused) = hooks(&user, &project, ProjectTrust::Trusted);
    assert_eq!(all, [users.clone(), projects.clone()]);
    let refused = refused.unwrap();
    assert!(
        refused.starts_with(told) && refused.ends_with("a project cannot change: Gate ignored"),
        "{refused}"
    );

    // One that the user has disabled stays so, too.
    let off = "[hooks.processes.more]\nenabled = false\n";
    assert_eq!(hooks(off, &project, ProjectTrust::Trusted).0, []);
    assert_eq!(hooks("[hooks]\nenabled = false\n", &project, ProjectTrust::Trusted).0, []);
    let off = Ground::new(off, &project).config(ProjectTrust::Trusted).disabled_hooks;
    assert_eq!(
        off.iter().map(|off| (off.name.as_str(), off.owner)).collect::<Vec<_>>(),
        [("more", Owner::User), ("Gate", Owner::Project)]
    );
    let off = format!("[hooks]\nenabled = false\n{project}");
    assert_eq!(hooks(&user, &off, ProjectTrust::Trusted).0, [users]);
}

#[test]
fn what_loosens_a_hook_is_the_users_alone() {
    let project = format!("[hooks.processes.g]\non_timeout = 'allow'\nvouches = ['bash']\n{HOOK}");
    let config = Ground::new("", &project).config(ProjectTrust::Trusted);
    assert_eq!((config.hooks[0].on_timeout, config.hooks[0].vouches.len()), (OnTimeout::Block, 0));
    let config = Ground::new(&project, "").config(ProjectTrust::Trusted);
    assert_eq!((config.hooks[0].on_timeout, config.hooks[0].vouches.len()), (OnTimeout::Allow, 1));
    assert_eq!(config.rows().iter().filter(|row| row.key == "hooks.processes.g.vouches").count(), 1);
}
