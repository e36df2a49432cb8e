//! Everyday work of a model at the default sandbox level, without an approval.
#![cfg(target_os = "linux")]

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::requests::said;
use super::scene::{Scene, bash};

/// Runs the commands in one session without a terminal, and checks that each ends with status 0.
#[track_caller]
fn expect_all_succeed(program: &str, files: &[(&str, &str)], commands: &[&str]) {
    if which(program).is_none() {
        skip(program);
        return;
    }
    let writes = files.iter().enumerate().map(|(at, (path, content))| {
        let args = json!({"path": path, "content": content}).to_string();
        Scenario::new().tool(&format!("w{at}"), "write", &args)
    });
    let runs = commands.iter().enumerate().map(|(at, command)| {
        // The status is in the output, because a note about a failed command is too.
        bash(&format!("r{at}"), &format!("{command}; echo status $?"))
    });
    let scene = Scene::new(writes.chain(runs).chain([Scenario::text("Built.")]).collect());
    let ran = scene.haft(&["-p", "build it"]);
    ran.expect(0);
    let requests = scene.server.requests();
    let results = said(requests.last().unwrap(), "tool");
    assert_eq!(results.len(), files.len() + commands.len());
    for (command, result) in commands.iter().zip(&results[files.len()..]) {
        // A note can follow, for example about a new `.git`.
        assert!(result.lines().any(|line| line.ends_with("status 0")), "{command}: {result}");
        assert!(!result.contains("blocked by the sandbox"), "{command}: {result}");
    }
}

fn which(program: &str) -> Option<std::path::PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(program)).find(|path| path.is_file())
}

#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn skip(program: &str) {
    eprintln!("SKIP: {program} is not installed");
}

const TOOLCHAIN: &str = concat!("PATH=$(dirname ", env!("CARGO"), "):$PATH ");

#[test]
fn rust_project_is_built_and_tested() {
    let cargo = |args: &str| format!("{TOOLCHAIN}cargo {args} 2>&1");
    expect_all_succeed(
        "cc",
        &[
            ("Cargo.toml", "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
            ("build.rs", "fn main() { println!(\"cargo::rustc-env=BUILT=yes\"); }\n"),
            (
                "src/lib.rs",
                "/// Adds.\n///\n/// ```\n/// assert_eq!(sum::add(1, 2), 3);\n/// ```\npub fn add(a: u8, b: u8) -> u8 { a + b }\n\
                 #[test] fn adds() { assert_eq!(add(1, 1), 2); assert_eq!(env!(\"BUILT\"), \"yes\"); }\n",
            ),
            ("src/main.rs", "fn main() { println!(\"{}\", sum::add(2, 2)); }\n"),
        ],
        &[
            "git init -q . && git add . && git -c user.name=a -c user.email=a@b.c commit -qm first",
            &cargo("build --offline"),
            &cargo("test --offline"),
            &cargo("run --offline -q"),
            "git status --short && git switch -qc other",
        ],
    );
}

#[test]
fn python_project_is_built_and_tested() {
    expect_all_succeed(
        "python3",
        &[
            ("shop/__init__.py", "def total(prices):\n    return sum(prices)\n"),
            ("tests/__init__.py", "\n"),
            (
                "tests/test_shop.py",
                "import http.client, http.server, threading, unittest, shop\n\
                 class Shop(unittest.TestCase):\n\
                 \x20   def test_total(self):\n\
                 \x20       self.assertEqual(shop.total([1, 2]), 3)\n\
                 \x20   def test_server(self):\n\
                 \x20       server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n\
                 \x20       threading.Thread(target=server.handle_request).start()\n\
                 \x20       client = http.client.HTTPConnection('127.0.0.1', server.server_port)\n\
                 \x20       client.request('GET', '/')\n\
                 \x20       self.assertEqual(client.getresponse().status, 200)\n",
            ),
        ],
        &[
            "python3 -m venv --without-pip .venv 2>&1",
            ".venv/bin/python -m unittest discover -s tests -t . 2>&1",
            "python3 -m compileall -q shop",
        ],
    );
}

#[test]
fn node_project_is_built_and_tested() {
    expect_all_succeed(
        "npm",
        &[
            (
                "package.json",
                r#"{"name": "shop", "version": "1.0.0", "scripts": {"build": "node build.js", "test": "node --test"}}"#,
            ),
            ("build.js", "require('fs').writeFileSync('bundle.js', 'exports.total = (a, b) => a + b')"),
            (
                "shop.test.js",
                "const { test } = require('node:test'); const http = require('http'); const assert = require('assert');\n\
                 test('total', () => assert.equal(require('./bundle').total(1, 2), 3));\n\
                 test('server', (t, done) => { const s = http.createServer((q, r) => r.end('hi')).listen(0, '127.0.0.1',\n\
                 \x20 () => http.get({ port: s.address().port, host: '127.0.0.1' }, (r) => { s.close(); assert.equal(r.statusCode, 200); done(); })); });\n",
            ),
        ],
        &["npm run build 2>&1", "npm test 2>&1"],
    );
}
