//! Hooks among extensions: nobody has the name of another one.

use haft_config::{Owner, ProcessHook};
use haft_packages::{ExtensionSpec, Origin};

use super::{Ground, same, spec};

/// What a run starts.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) specs: Vec<ExtensionSpec>,
    /// What is not started because another one has its name.
    pub(crate) told: Vec<String>,
}

/// Extensions and hooks, each name once. Of the user's own nothing gives way to what a project brings: a gate would be
/// missing. Otherwise who was there first keeps the name, and a hook was: an extension that takes its name later was
/// installed while haft ran.
pub(crate) fn join(found: Vec<ExtensionSpec>, hooks: &[ProcessHook], ground: &Ground) -> Joined {
    let mut told = Vec::new();
    let users = |name: &str| hooks.iter().find(|hook| hook.owner == Owner::User && same(&hook.name, name));
    let mut specs: Vec<ExtensionSpec> = Vec::new();
    for extension in found {
        match users(extension.name.as_str()) {
            None => specs.push(extension),
            Some(hook) => told.push(format!(
                "the extension {} in {} is not run: the process hook of {} has that name",
                extension.name,
                extension.dir.display(),
                hook.origin
            )),
        }
    }
    for hook in hooks {
        let taken = specs.iter().find(|other| same(other.name.as_str(), &hook.name));
        match taken {
            None => specs.push(spec(hook, ground)),
            Some(_) => told.push(format!(
                "{}: the hook {} is not run: there is an extension of that name",
                hook.origin, hook.name
            )),
        }
    }
    Joined { specs, told }
}

/// The first hook of the user's that has the name of an extension of the user's: which of them is meant, nobody can tell.
pub(crate) fn ambiguous<'a>(
    found: &'a [ExtensionSpec],
    hooks: &'a [ProcessHook],
) -> Option<(&'a ProcessHook, &'a ExtensionSpec)> {
    let own = found.iter().filter(|extension| extension.origin != Origin::Project);
    let mut own = own.filter_map(|extension| {
        let hook = hooks.iter().find(|hook| same(&hook.name, extension.name.as_str()))?;
        (hook.owner == Owner::User).then_some((hook, extension))
    });
    own.next()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use haft_config::{Files, Home, Layer, Place, Project, Trust};

    use super::*;

    fn ground() -> Ground {
        Ground { home: Home::at("/nowhere"), cwd: "/".into(), is_trusted: false }
    }

    /// Hooks of these names and owners.
    fn hooks(named: &[(&str, Owner)]) -> Vec<ProcessHook> {
        let root = tempfile::tempdir().unwrap();
        let text = "[hooks.processes.x]\nenabled = true\ncommand = ['sh']\nobserve = ['*']\n";
        std::fs::write(root.path().join("config.toml"), text).unwrap();
        let project = Project { dir: root.path().join("w"), trust: Trust::Untrusted };
        let files = Files::read(&Home::at(root.path()), &project).unwrap();
        let config =
            files.below_unchecked(Layer::empty(Place::Flags), Layer::empty(Place::Env), &|_, _| None);
        let like = |(name, owner): &(&str, Owner)| ProcessHook {
            name: (*name).to_owned(),
            owner: *owner,
            ..config.hooks[0].clone()
        };
        named.iter().map(like).collect()
    }

    fn extension(name: &str, origin: Origin) -> ExtensionSpec {
        let like = spec(&hooks(&[(name, Owner::User)])[0], &ground());
        ExtensionSpec { origin, dialect: haft_packages::Dialect::Native, dir: PathBuf::from("/e"), ..like }
    }

    #[track_caller]
    fn check(extensions: &[(&str, Origin)], named: &[(&str, Owner)], runs: &[(&str, Origin)], told: usize) {
        let found = extensions.iter().map(|(name, origin)| extension(name, *origin)).collect();
        let joined = join(found, &hooks(named), &ground());
        let specs: Vec<_> = joined.specs.iter().map(|spec| (spec.name.as_str(), spec.origin)).collect();
        assert_eq!((specs.as_slice(), joined.told.len()), (runs, told), "{:?}", joined.told);
    }

    #[test]
    fn no_hook_of_the_users_gives_way() {
        let (user, project) = (Owner::User, Owner::Project);
        check(&[], &[("a", user)], &[("a", Origin::Hook)], 0);
        check(&[("a", Origin::Project)], &[("A", user)], &[("A", Origin::Hook)], 1);
        check(&[("a", Origin::Global)], &[("a", project)], &[("a", Origin::Global)], 1);
        check(&[("a", Origin::Project)], &[("a", project)], &[("a", Origin::Project)], 1);
        check(&[("b", Origin::Global)], &[("a", user)], &[("b", Origin::Global), ("a", Origin::Hook)], 0);
    }

    #[test]
    fn two_of_the_users_with_one_name_are_ambiguous() {
        let found = [extension("a", Origin::Global), extension("b", Origin::Project)];
        let is_ambiguous = |name, owner| ambiguous(&found, &hooks(&[(name, owner)])).is_some();
        assert!(is_ambiguous("A", Owner::User));
        assert!(!is_ambiguous("a", Owner::Project) && !is_ambiguous("b", Owner::User));
    }
}
