//! Tests that programs in common languages start in a sandbox and find their files.

use haft_launch::Sandbox;
use haft_launch::sandbox::ConfinementLevel;

use super::{is_available, run, spec};

struct Language {
    name: &'static str,
    words: &'static [&'static str],
}

/// Each program also starts a process or a thread, prints `hello`, and writes to its directory.
const LANGUAGES: &[Language] = &[
    Language { name: "sh", words: &["/bin/sh", "-c", "echo hello | cat; echo x >file"] },
    Language { name: "bash", words: &["/usr/bin/bash", "-c", "cat <(echo hello); cat <<<x >file"] },
    Language {
        name: "Python",
        words: &[
            "/usr/bin/python3",
            "-c",
            "import subprocess, threading, json, ssl, asyncio, tempfile\n\
             t = threading.Thread(target=lambda: None); t.start(); t.join()\n\
             tempfile.NamedTemporaryFile().write(b'x')\n\
             async def main():\n \
              p = await asyncio.create_subprocess_exec('/bin/echo', 'hello'); await p.wait()\n\
             asyncio.run(main()); open('file', 'w').write('x')",
        ],
    },
    Language {
        name: "Node",
        words: &[
            "/usr/bin/node",
            "-e",
            "const { Worker } = require('worker_threads'); const { execFileSync } = require('child_process');\
             require('fs').writeFileSync('file', 'x');\
             new Worker('0', { eval: true }).on('exit', () => process.stdout.write(execFileSync('/bin/echo', ['hello'])))",
        ],
    },
    Language {
        name: "Perl",
        words: &["/usr/bin/perl", "-e", "print `echo hello`; open F, '>file' or die; print F 'x'; close F"],
    },
    Language { name: "Java", words: &["/usr/bin/java", "--source", "11", "Hello.java"] },
    Language { name: "env", words: &["script"] },
];

const JAVA: &str = "public class Hello { public static void main(String[] args) throws Exception {\n\
    Thread t = new Thread(() -> {}); t.start(); t.join();\n\
    new java.io.FileWriter(\"file\").close();\n\
    new ProcessBuilder(\"/bin/echo\", \"hello\").inheritIO().start().waitFor(); } }\n";

#[expect(clippy::print_stderr, reason = "skipped languages are printed")]
async fn check(sandbox: Sandbox) {
    if !is_available(sandbox.level) {
        return;
    }
    for Language { name, words } in LANGUAGES {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("Hello.java"), JAVA).unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "#!/usr/bin/env sh\necho hello; echo x >file\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let [program, args @ ..] = words else { panic!("{name}") };
        let program = if *name == "env" { script } else { program.into() };
        if !program.exists() {
            eprintln!("SKIP {name}: not installed");
            continue;
        }
        let mut sandbox = sandbox.clone();
        sandbox.write = vec![dir.path().to_owned()];
        let ended = run(spec(program, dir.path(), Some(sandbox)).args(args.iter().copied())).await;
        assert_eq!((ended.out.as_str(), ended.status.success()), ("hello\n", true), "{name}: {ended:?}");
        assert!(dir.path().join("file").exists(), "{name}");
    }
}

#[tokio::test]
async fn languages_start_at_level_standard() {
    check(Sandbox::new(ConfinementLevel::Standard)).await;
}

#[tokio::test]
async fn languages_start_at_level_isolated() {
    check(Sandbox::new(ConfinementLevel::Isolated)).await;
}

#[tokio::test]
async fn languages_start_at_level_strict() {
    check(Sandbox::new(ConfinementLevel::Strict)).await;
}
