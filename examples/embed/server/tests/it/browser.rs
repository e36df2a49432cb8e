//! The page in a real browser: Chromium, if installed.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::agent;
use crate::client::serve;

/// Resolves to the content of the chat as soon as `want()` is true.
const ONCE: &str = "(want) => new Promise((tell) => {
    const look = () => { if (want()) { watch.disconnect(); tell(document.querySelector('main').innerText); } };
    const watch = new MutationObserver(look);
    watch.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    look();
})";

/// The maximum total wait for the browser; it takes two seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test]
#[expect(clippy::print_stderr, reason = "whoever runs the tests is told what was skipped")]
async fn page_shows_messages_as_text_and_aborts() {
    let Some(chromium) = chromium() else {
        eprintln!("SKIP page_shows_messages_as_text_and_aborts: no chromium in PATH");
        return;
    };
    let client = serve(agent).await;
    let profile = tempfile::tempdir().unwrap();
    let seen = async {
        let mut browser = Browser::start(&chromium, profile.path()).await;
        browser.open(&client.address).await;
        browser.run("text.value = '<b>hello</b>'; form.requestSubmit()").await;
        let told =
            browser.once("abort.hidden && document.querySelector('.answer')?.textContent.endsWith('</b>')");
        let told = told.await;
        let bold = browser.run("document.querySelectorAll('.user b, .answer b').length").await;
        browser.run("text.value = 'wait'; form.requestSubmit()").await;
        browser.once("log.innerText.endsWith('half an ans') && !abort.hidden").await;
        browser.run("abort.click()").await;
        let aborted = browser.once("abort.hidden && document.querySelector('.note')").await;
        browser.close().await;
        (told, bold, aborted)
    };
    let (told, bold, aborted) = tokio::time::timeout(PATIENCE, seen).await.unwrap();
    let lines = |text: &Value| -> Vec<String> {
        text.as_str().unwrap().lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let first = ["<b>hello</b>", r#"echo {"text":"<b>hello</b>"}"#, "<b>hello</b>", "It says: <b>hello</b>"];
    assert_eq!(lines(&told), first);
    assert_eq!(bold, 0);
    assert_eq!(lines(&aborted)[4..], ["wait", "half an ans", "aborted"]);
}

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path)
        .flat_map(|dir| ["chromium", "chromium-browser", "google-chrome"].map(|name| dir.join(name)));
    places.find(|program| program.is_file())
}

/// A browser with one page, controlled over two pipes: JSON messages, each followed by a zero byte.
struct Browser {
    process: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    sent: u64,
    page: Option<Value>,
}

impl Browser {
    #[expect(clippy::disallowed_methods, reason = "a browser, which is neither an extension nor a tool")]
    async fn start(chromium: &Path, profile: &Path) -> Self {
        let mut process = Command::new("sh")
            // The browser reads commands from its descriptor 3 and answers on 4.
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#])
            .arg(chromium)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (commands, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        Self { process, commands, answers: BufReader::new(answers), sent: 0, page: None }
    }

    /// Opens a page and waits until it is loaded.
    async fn open(&mut self, address: &str) {
        let target = self.command("Target.createTarget", json!({ "url": "about:blank" })).await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.command("Target.attachToTarget", attach).await;
        self.page = Some(session["sessionId"].clone());
        self.command("Page.enable", json!({})).await;
        // Does not wait for the response: the page may be loaded before it arrives.
        self.send("Page.navigate", json!({ "url": address })).await;
        while self.message().await["method"] != "Page.loadEventFired" {}
    }

    /// Runs a script in the page and returns its value.
    async fn run(&mut self, script: &str) -> Value {
        let script = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let ran = self.command("Runtime.evaluate", script).await;
        assert!(ran.get("exceptionDetails").is_none(), "{ran}");
        ran["result"]["value"].clone()
    }

    /// Returns the content of the chat as soon as the condition holds.
    async fn once(&mut self, condition: &str) -> Value {
        self.run(&format!("({ONCE})(() => {condition})")).await
    }

    async fn close(mut self) {
        self.page = None;
        self.send("Browser.close", json!({})).await;
        self.process.wait().await.unwrap();
    }

    async fn command(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        loop {
            let mut message = self.message().await;
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].take();
            }
        }
    }

    async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        let mut command = json!({ "id": self.sent, "method": method, "params": params });
        if let Some(page) = &self.page {
            command["sessionId"] = page.clone();
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).await.unwrap();
        self.sent
    }

    async fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.answers.read_until(0, &mut bytes).await.unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser is gone");
        serde_json::from_slice(&bytes).unwrap()
    }
}
