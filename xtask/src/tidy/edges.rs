//! The allowed dependencies of packages, as data. `ARCHITECTURE.md` shows them as a picture.

use serde_json::Value;

/// The allowed dependencies of a package of this workspace. Its tests may also use those of [`TEST_ONLY`].
struct DependencyRule {
    package: &'static str,
    may: &'static [&'static str],
}

const fn rule(package: &'static str, may: &'static [&'static str]) -> DependencyRule {
    DependencyRule { package, may }
}

/// Matches every package of the workspace.
const ANY: &str = "*";

const RULES: &[DependencyRule] = &[
    rule("haft-protocol", &[]),
    rule("haft-core", &["haft-protocol"]),
    rule("haft-launch", &[]),
    rule("haft-adapter-picoclaw", &["haft-protocol", "haft-sdk"]),
    // `[hooks]` of the configuration is PicoClaw's. The others belong to the feature `agent`.
    rule("haft-config", &["haft-adapter-picoclaw", "haft-core", "haft-protocol", "haft-providers"]),
    rule("haft-tools", &["haft-core", "haft-launch", "haft-protocol"]),
    rule("haft-providers", &["haft-core", "haft-protocol"]),
    rule("haft-packages", &["haft-launch", "haft-protocol"]),
    rule("haft-host", &["haft-core", "haft-launch", "haft-packages", "haft-protocol"]),
    rule("haft-sdk", &["haft-protocol"]),
    rule("haft-rpc", &["haft-core", "haft-host", "haft-protocol"]),
    rule("haft-export", &["haft-core", "haft-protocol"]),
    rule("haft-tui", &["haft-config", "haft-core", "haft-host", "haft-protocol"]),
    rule("haft", &[ANY]),
    rule("haft-test-support", &[]),
    rule("haft-bench", &[ANY]),
    rule("haft-faults", &[ANY]),
    rule(
        "haft-fuzz",
        &[
            "haft-adapter-picoclaw",
            "haft-core",
            "haft-host",
            "haft-packages",
            "haft-protocol",
            "haft-providers",
            "xtask",
        ],
    ),
    rule("haft-example-embed", &[ANY]),
    rule("haft-example-frames", &["haft-protocol"]),
    rule("haft-example-guard", &["haft-sdk"]),
    rule("haft-example-hello", &["haft-sdk"]),
    rule("haft-example-notes", &["haft-sdk"]),
    rule("haft-example-policy", &["haft-adapter-picoclaw"]),
    rule("haft-example-server", &["haft-core", "haft-providers"]),
    rule("haft-example-todo", &["haft-sdk"]),
    rule("haft-example-weather", &["haft-sdk"]),
    rule("haft-example-wolli", &["haft-sdk"]),
    rule("haft-codegen", &["haft-adapter-picoclaw", "haft-config", "haft-protocol", "haft-tui", "xtask"]),
    rule("xtask", &[]),
];

/// Packages for tests. A package that is built for users may use one only if its rule names it.
const TEST_ONLY: &[&str] = &["haft-bench", "haft-faults", "haft-fuzz", "haft-test-support"];

/// The adapters of foreign dialects. The tests of every package may run extensions that speak them.
const ADAPTERS: &[&str] = &["haft-adapter-picoclaw"];

/// The external crates that the protocol may use. They do no I/O, because every SDK extension includes them.
const PROTOCOL_CRATES: &[&str] =
    &["bytes", "bytestring", "schemars", "serde", "serde_json", "serde_path_to_error"];

/// The external crates that core must not use: processes and terminals.
const NOT_IN_CORE: &[&str] =
    &["crossterm", "libc", "nix", "portable-pty", "process-wrap", "ratatui", "rustix"];

/// The features of tokio that core must not enable.
const NOT_IN_CORE_TOKIO: &[&str] = &["full", "io-std", "process", "signal"];

pub(super) fn check(metadata: &Value) -> Vec<String> {
    let packages: Vec<&Value> = metadata["packages"].as_array().into_iter().flatten().collect();
    let own: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut findings = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(rule) = RULES.iter().find(|rule| rule.package == name) else {
            findings.push(format!("{name}: no rule in xtask/src/tidy/edges.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            findings
                .extend(check_dependency(rule, &own, dependency).map(|reason| format!("{name}: {reason}")));
        }
    }
    findings
}

/// Returns the problem of a dependency, if any.
fn check_dependency(rule: &DependencyRule, own: &[&str], dependency: &Value) -> Option<String> {
    let name = dependency["name"].as_str().unwrap_or_default();
    let in_tests = dependency["kind"] == "dev";
    // Tests may turn on features of their own package.
    if in_tests && name == rule.package {
        return None;
    }
    if own.contains(&name) {
        let test_only = TEST_ONLY.contains(&name);
        let any = rule.may.contains(&ANY);
        let granted = match in_tests {
            true => any || test_only || ADAPTERS.contains(&name),
            // A package for tests may use the other packages for tests.
            false => any && (!test_only || TEST_ONLY.contains(&rule.package)),
        };
        let granted = granted || rule.may.contains(&name);
        return (!granted).then(|| format!("must not depend on {name}"));
    }
    if in_tests {
        return None;
    }
    match rule.package {
        "haft-protocol" if !PROTOCOL_CRATES.contains(&name) => Some(format!("must not use {name}")),
        "haft-core" if NOT_IN_CORE.contains(&name) => Some(format!("must not use {name}")),
        "haft-core" if name == "tokio" => {
            let mut features =
                dependency["features"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let feature = features.find(|feature| NOT_IN_CORE_TOKIO.contains(feature))?;
            Some(format!("must not use tokio's {feature}"))
        }
        // This crate is synchronous.
        "haft-packages" if name == "tokio" => Some(format!("must not use {name}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_edge(from: &str, dependency: Value, expect: &[&str]) {
        let mut packages: Vec<Value> =
            RULES.iter().map(|rule| json!({ "name": rule.package, "dependencies": [] })).collect();
        packages.retain(|package| package["name"] != from);
        packages.push(json!({ "name": from, "dependencies": [dependency] }));
        assert_eq!(check(&json!({ "packages": packages })), expect);
    }

    #[test]
    fn checks_dependencies_between_packages() {
        check_edge("haft-core", json!({ "name": "haft-protocol" }), &[]);
        check_edge("haft-sdk", json!({ "name": "haft-core" }), &["haft-sdk: must not depend on haft-core"]);
        check_edge("haft-host", json!({ "name": "haft-sdk" }), &["haft-host: must not depend on haft-sdk"]);
        check_edge("haft-tools", json!({ "name": "haft-test-support", "kind": "dev" }), &[]);
        check_edge(
            "haft",
            json!({ "name": "haft-test-support" }),
            &["haft: must not depend on haft-test-support"],
        );
        check_edge("haft", json!({ "name": "haft-host" }), &[]);
        check_edge("haft", json!({ "name": "haft-fuzz" }), &["haft: must not depend on haft-fuzz"]);
        check_edge("xtask", json!({ "name": "haft-fuzz" }), &["xtask: must not depend on haft-fuzz"]);
    }

    #[test]
    fn checks_external_dependencies() {
        check_edge("haft-protocol", json!({ "name": "tokio" }), &["haft-protocol: must not use tokio"]);
        check_edge("haft-protocol", json!({ "name": "proptest", "kind": "dev" }), &[]);
        check_edge("haft-packages", json!({ "name": "tokio" }), &["haft-packages: must not use tokio"]);
        check_edge("haft-core", json!({ "name": "rustix" }), &["haft-core: must not use rustix"]);
        check_edge("haft-core", json!({ "name": "tokio", "features": ["sync"] }), &[]);
        let process = json!({ "name": "tokio", "features": ["sync", "process"] });
        check_edge("haft-core", process, &["haft-core: must not use tokio's process"]);
    }

    #[test]
    fn new_package_needs_a_rule() {
        check_edge("haft-new", json!({ "name": "serde" }), &["haft-new: no rule in xtask/src/tidy/edges.rs"]);
    }
}
