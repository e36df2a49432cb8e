//! A client that sends the same requests as a browser.

use haft_core::AgentBuilder;
use haft_core::protocol::content::ToolCall;
use haft_example_server::app;
use serde_json::Value;

/// A client of one server.
pub(crate) struct Client {
    http: reqwest::Client,
    pub(crate) address: String,
}

/// Starts a server on a free port, which ends with the test.
pub(crate) async fn serve(agent: fn() -> Result<AgentBuilder, String>) -> Client {
    serve_with_person(agent, |_| false).await
}

/// Starts a server on which a person must allow these calls.
pub(crate) async fn serve_with_person(
    agent: fn() -> Result<AgentBuilder, String>,
    needs_person: fn(&ToolCall) -> bool,
) -> Client {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    // reqwest requires a crypto provider before its first client, although none here uses TLS. An
    // error means that one is installed.
    #[expect(clippy::disallowed_methods, reason = "the test is its own program")]
    let _ = rustls::crypto::ring::default_provider().install_default();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app(agent, needs_person)).await });
    Client { http: reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap(), address }
}

impl Client {
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> reqwest::Response {
        let request = self.http.get(format!("{}{path}", self.address));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.send().await.unwrap()
    }

    /// Posts JSON, if any, and returns the status.
    pub(crate) async fn post(&self, path: &str, json: Option<&str>) -> u16 {
        let request = self.http.post(format!("{}{path}", self.address));
        let request = match json {
            Some(json) => request.header("content-type", "application/json").body(json.to_owned()),
            None => request,
        };
        request.send().await.unwrap().status().as_u16()
    }

    /// Posts plain text, as a form can, and returns the status.
    pub(crate) async fn post_text(&self, path: &str, text: &str) -> u16 {
        let request = self.http.post(format!("{}{path}", self.address));
        let request = request.header("content-type", "text/plain").body(text.to_owned());
        request.send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn begin(&self) -> String {
        let answer = self.http.post(format!("{}/chats", self.address)).send().await.unwrap();
        let answer: Value = answer.json().await.unwrap();
        answer["id"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn say(&self, chat: &str, text: &str) {
        let said = serde_json::json!({ "text": text }).to_string();
        assert_eq!(self.post(&format!("/chats/{chat}/say"), Some(&said)).await, 202);
    }

    pub(crate) async fn events(&self, chat: &str, last: Option<&str>) -> Events {
        let headers: Vec<_> = last.map(|last| ("last-event-id", last)).into_iter().collect();
        let response = self.get(&format!("/chats/{chat}/events"), &headers).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { response, read: String::new(), last_id: String::new() }
    }
}

/// A stream of server-sent events.
pub(crate) struct Events {
    response: reqwest::Response,
    read: String,
    pub(crate) last_id: String,
}

impl Events {
    /// Returns the next event that a person would notice, as a line.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.read = rest;
                let field = |name| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                let Some(data) = field("data:") else { continue };
                self.last_id = field("id:").unwrap().to_owned();
                match line(&serde_json::from_str(data).unwrap()) {
                    Some(line) => return line,
                    None => continue,
                }
            }
            let more = self.response.chunk().await.unwrap().unwrap();
            self.read.push_str(std::str::from_utf8(&more).unwrap());
        }
    }

    pub(crate) async fn until_done(&mut self) -> Vec<String> {
        let mut lines = vec![self.next().await];
        while lines.last().unwrap() != "done" {
            lines.push(self.next().await);
        }
        lines
    }
}

fn line(event: &Value) -> Option<String> {
    let text = |content: &Value| content[0]["text"].as_str().map(str::to_owned);
    let detail = match event["type"].as_str().unwrap() {
        "done" => return Some("done".to_owned()),
        "user_message" | "assistant_message" | "tool_result" => text(&event["content"]),
        "text_delta" => event["delta"].as_str().map(str::to_owned),
        "tool_call" => Some(format!("{} {}", event["name"].as_str()?, event["args"])),
        "question" => Some(format!("{} {}", event["name"].as_str()?, event["args"])),
        "decision" => Some(event["allowed"].to_string()),
        "queue_update" => event["steering"][0].as_str().map(str::to_owned),
        "turn_end" => event["error"].as_str().map(str::to_owned),
        _ => None,
    };
    Some(format!("{} {}", event["type"].as_str()?, detail?))
}
