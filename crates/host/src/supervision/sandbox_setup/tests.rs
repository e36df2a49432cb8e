//! Tests of sandboxes for grants, and of refused grants.

use std::num::NonZeroUsize;

use haft_core::model::ModelId;
use haft_launch::Launcher;
use haft_launch::sandbox::{ConfinementLevel, NetworkAccess};
use haft_packages::{ExtensionDialect, ExtensionOrigin, GuardRoles, LaunchPlan, Lifecycle};
use haft_protocol::ids::ExtensionName;

use super::*;

/// A directory with a host's configuration, an extension and a grant.
struct Ground {
    dir: tempfile::TempDir,
    config: HostConfig,
    spec: ExtensionSpec,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["ext", "work", "haft"] {
            std::fs::create_dir(at(name)).unwrap();
        }
        let mut config =
            HostConfig::new("0", ModelId { provider: "p".into(), model: "m".into() }, at("work"));
        config.data = Some(at("haft/data"));
        config.state = Some(at("haft/state"));
        config.start_at_once = NonZeroUsize::MIN;
        config.launcher = Some(Launcher { program: "/bin/false".into(), args: Vec::new() });
        let spec = ExtensionSpec {
            name: ExtensionName::new("x"),
            version: None,
            dir: at("ext"),
            launch: LaunchPlan::Process { program: "/bin/sh".into(), args: Vec::new() },
            dialect: ExtensionDialect::Native,
            origin: ExtensionOrigin::Global,
            roles: GuardRoles::default(),
            permissions: None,
            level: None,
            description: None,
            lifecycle: Lifecycle::default(),
            pin: None,
        };
        Self { dir, config, spec }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn grant(&mut self, change: impl FnOnce(&mut SandboxGrant)) {
        let mut grant = SandboxGrant::new(ConfinementLevel::Standard);
        change(&mut grant);
        self.config.sandbox.insert(self.spec.name.clone(), Some(grant));
    }

    fn confined(&self) -> Result<Option<SandboxedStart>, String> {
        SandboxedStart::new(&self.spec, Path::new("/bin/sh"), &self.config)
    }

    #[track_caller]
    fn check_refused(&self, part: &str) {
        let why = self.confined().unwrap_err();
        assert!(why.contains(part) && why.contains("was not started") && why.contains("[grant.x]"), "{why}");
        assert!(!self.at("haft/data/x").exists(), "a refused start creates no directory");
    }
}

fn path(text: &str) -> GrantedPath {
    GrantedPath::parse(text, None).unwrap()
}

#[expect(clippy::print_stderr, reason = "a skipped test reports this")]
fn is_available() -> bool {
    let available = haft_launch::sandbox::detect_support().standard;
    available.inspect_err(|why| eprintln!("SKIP: no sandbox: {why}")).is_ok()
}

#[test]
fn extension_without_grant_gets_no_sandbox() {
    assert_eq!(Ground::new().confined(), Ok(None));
}

#[test]
fn refuses_without_launcher_data_or_level() {
    let mut ground = Ground::new();
    ground.grant(|_| {});
    ground.config.launcher = None;
    ground.check_refused("has no launcher");
    let mut ground = Ground::new();
    ground.grant(|_| {});
    ground.config.data = None;
    ground.check_refused("no data directory");
    let mut ground = Ground::new();
    ground.grant(|grant| grant.net = NetworkAccess::Loopback);
    ground.check_refused("choose strict");
}

#[test]
fn refuses_missing_paths_and_hafts_own_files() {
    if !is_available() {
        return;
    }
    let mut ground = Ground::new();
    ground.grant(|grant| grant.read.push(path("/nowhere/at/all")));
    ground.check_refused("the granted path /nowhere/at/all cannot be used");
    std::fs::create_dir(ground.at("haft/state")).unwrap();
    for holds in ["", "haft", "haft/state"] {
        let text = ground.at(holds).display().to_string();
        ground.grant(|grant| grant.read.push(path(&text)));
        ground.check_refused("the path contains haft's own files");
    }
    std::fs::create_dir_all(ground.at("haft/data")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(ground.at("work"), ground.at("haft/data/x")).unwrap();
        ground.grant(|_| {});
        assert!(ground.confined().unwrap_err().contains("not a directory"));
    }
}

/// Checks a grant in the user's `config.toml`, with haft's own files in `haft`.
#[track_caller]
fn check_granted(
    change: impl FnOnce(&mut SandboxGrant, &dyn Fn(&str) -> GrantedPath),
    refused: Option<&str>,
) {
    if !is_available() {
        return;
    }
    let mut ground = Ground::new();
    for dir in ["haft/extensions", "haft/data/other", "secret", "work/src"] {
        std::fs::create_dir_all(ground.at(dir)).unwrap();
    }
    for file in ["haft/auth.json", "haft/config.toml", "haft/trust.json"] {
        std::fs::write(ground.at(file), "").unwrap();
    }
    #[cfg(unix)]
    {
        std::fs::create_dir_all(ground.at("haft/data/x")).unwrap();
        for link in ["work/out", "haft/data/x/out"] {
            std::os::unix::fs::symlink(ground.at("secret"), ground.at(link)).unwrap();
        }
        std::os::unix::fs::symlink(ground.at("haft/auth.json"), ground.at("key")).unwrap();
        std::os::unix::fs::symlink("src", ground.at("work/same")).unwrap();
    }
    ground.config.home = Some(ground.at("haft"));
    ground.config.secrets = vec![ground.at("haft/auth.json")];
    let root = ground.dir.path().to_owned();
    ground.grant(|grant| change(grant, &|name| path(&root.join(name).display().to_string())));
    match refused {
        None => assert!(ground.confined().is_ok(), "{:?}", ground.confined()),
        Some(part) => {
            let why = ground.confined().unwrap_err();
            assert!(why.contains(part), "{part:?} is not in {why:?}");
        }
    }
}

#[test]
fn refuses_write_to_own_files_and_read_of_keys() {
    for own in ["haft/auth.json", "haft/config.toml", "haft/trust.json", "haft/extensions", "haft/data/other"]
    {
        let part =
            if own.ends_with("auth.json") { "stores keys in this file" } else { "among haft's own files" };
        check_granted(|grant, at| grant.write.push(at(own)), Some(part));
    }
    check_granted(|grant, at| grant.read.push(at("haft/auth.json")), Some("stores keys in this file"));
    check_granted(|grant, at| grant.exec.push(at("haft/auth.json")), Some("stores keys in this file"));
    #[cfg(unix)]
    check_granted(|grant, at| grant.read.push(at("key")), Some("stores keys in this file"));
    check_granted(|grant, at| grant.read.push(at("haft/config.toml")), None);
    check_granted(|grant, _| grant.write.push(path("$DATA/x")), None);
}

#[test]
#[cfg(unix)]
fn refuses_links_that_leave_granted_directory() {
    let elsewhere = Some("leads to");
    check_granted(|grant, _| grant.read.push(path("$WORKSPACE/out")), elsewhere);
    check_granted(|grant, _| grant.write.push(path("$WORKSPACE/out")), elsewhere);
    check_granted(|grant, _| grant.exec.push(path("$DATA/out")), elsewhere);
    check_granted(|grant, at| grant.exec.push(at("work/out")), elsewhere);
    check_granted(|grant, _| grant.read.push(path("$WORKSPACE/same")), None);
    check_granted(|grant, at| grant.read.push(at("secret")), None);
}

#[test]
fn user_setting_overrides_permissions() {
    if !is_available() {
        return;
    }
    let mut ground = Ground::new();
    let granted = |json: &str| serde_json::from_str::<haft_packages::Permissions>(json).unwrap();
    let permissions = granted(r#"{"fs":{"read":["$WORKSPACE"],"write":["$DATA/x"]},"net":"all"}"#);
    ground.spec.level = Some(permissions.level());
    ground.spec.permissions = Some(permissions);
    let Sandbox { level, read, write, exec, system_programs, net, .. } =
        ground.confined().unwrap().unwrap().sandbox;
    assert_eq!((level, net, system_programs), (ConfinementLevel::Standard, NetworkAccess::All, false));
    assert_eq!(read, [ground.at("work"), ground.at("ext")]);
    assert_eq!((write, exec), (vec![ground.at("haft/data/x")], vec![]));
    for (exec, expect, system) in
        [("own", vec![ground.at("ext")], false), ("any", vec![ground.at("ext")], true)]
    {
        ground.spec.permissions = Some(granted(&format!(r#"{{"exec":"{exec}"}}"#)));
        let sandbox = ground.confined().unwrap().unwrap().sandbox;
        assert_eq!(
            (sandbox.exec, sandbox.system_programs, sandbox.net),
            (expect, system, NetworkAccess::None)
        );
    }
    ground.grant(|grant| grant.read.push(path("$WORKSPACE")));
    let sandbox = ground.confined().unwrap().unwrap().sandbox;
    assert_eq!((sandbox.read, sandbox.system_programs), (vec![ground.at("work")], true));
    ground.config.sandbox.insert(ground.spec.name.clone(), None);
    assert_eq!(ground.confined(), Ok(None));
}

/// A user who restricts the network of an extension with permissions does not let it start more programs.
#[test]
fn user_grant_never_widens_exec_permission() {
    let check = |permissions: Option<&str>, expect: ExecPermission| {
        let mut ground = Ground::new();
        ground.spec.permissions = permissions.map(|json| serde_json::from_str(json).unwrap());
        ground.grant(|grant| grant.exec.push(path("/opt/maps/bin")));
        let grant = ground.config.sandbox_of(&ground.spec, ConfinementLevel::Standard).unwrap();
        assert_eq!((grant.programs, grant.exec.len()), (expect, 1), "{permissions:?}");
    };
    check(Some("{}"), ExecPermission::None);
    check(Some(r#"{"exec":"none"}"#), ExecPermission::None);
    check(Some(r#"{"exec":"own"}"#), ExecPermission::Own);
    check(Some(r#"{"exec":"any"}"#), ExecPermission::Any);
    check(None, ExecPermission::Any);
}

#[test]
fn loopback_network_needs_strict_level() {
    let permissions: haft_packages::Permissions = serde_json::from_str(r#"{"net":"loopback"}"#).unwrap();
    assert_eq!(permissions.level(), ConfinementLevel::Strict);
    let mut ground = Ground::new();
    ground.spec.level = Some(ConfinementLevel::Standard);
    ground.spec.permissions = Some(permissions);
    ground.check_refused("choose strict");
}

#[test]
fn adds_common_grants() {
    if !is_available() {
        return;
    }
    let mut ground = Ground::new();
    ground.grant(|grant| grant.write = vec![path("$WORKSPACE"), path("$DATA/not/there/yet")]);
    let confined = ground.confined().unwrap().unwrap();
    let data = ground.at("haft/data/x");
    assert_eq!(confined.sandbox.write, [ground.at("work"), data.clone()]);
    assert_eq!(confined.sandbox.exec, [ground.at("ext")]);
    assert_eq!(confined.sandbox.net, NetworkAccess::None);
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&data.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700);
    }
    let own = ["HOME", "PATH", "XDG_CONFIG_HOME", "TMP"].map(|name| (name.into(), "/theirs".into()));
    let mut env = confined.adjust_env(own.to_vec());
    env.sort();
    let data = OsString::from(data);
    let expect: Vec<(OsString, OsString)> = vec![
        ("HOME".into(), data.clone()),
        ("PATH".into(), "/theirs".into()),
        ("TEMP".into(), data.clone()),
        ("TMP".into(), data.clone()),
        ("TMPDIR".into(), data),
    ];
    assert_eq!(env, expect);
}
