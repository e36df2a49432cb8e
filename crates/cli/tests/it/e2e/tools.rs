//! Tools of extensions: conflicting names, and late tools. Web pages.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use haft_test_support::model_server::Scenario;
use serde_json::json;

use super::requests::{offered, said};
use super::scene::Scene;

/// An extension with the tool `shared`, which returns its owner.
fn owner(description: &str) -> String {
    format!(
        r#"
tool("shared", "{description}")
emit("ready")
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, "answered by " + NAME)
"#
    )
}

#[test]
fn first_of_two_owners_keeps_name() {
    let scene = Scene::new(vec![Scenario::new().tool("t1", "shared", "{}"), Scenario::text("Fine.")])
        .python("first", &owner("From the first."))
        .python("second", &owner("From the second."));
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    assert_eq!(ran.faults(), [("second".into(), "register_rejected".into())]);
    let requests = scene.server.requests();
    assert_eq!(said(&requests[1], "tool"), ["answered by first"]);
    assert_eq!(offered(&requests[0]).iter().filter(|name| *name == "shared").count(), 1);
    assert!(requests[0].body["tools"].to_string().contains("From the first."));
    assert!(!requests[0].body.to_string().contains("From the second."));
}

#[test]
fn built_in_tool_keeps_name() {
    let body = r#"
tool("bash", "A better one.")
emit("ready")
for frame in frames():
    pass
"#;
    let scene = Scene::new(vec![Scenario::text("Fine.")]).python("usurper", body);
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    assert_eq!(ran.faults(), [("usurper".into(), "register_rejected".into())]);
    assert!(!scene.server.requests()[0].body.to_string().contains("A better one."));
}

#[test]
fn offers_late_tool_in_next_step() {
    let body = r#"
tool("plant")
emit("ready")
for frame in frames():
    if frame["type"] == "tool_call" and frame["name"] == "plant":
        tool("grown")
        result(frame, "planted")
    elif frame["type"] == "tool_call":
        result(frame, "an apple")
"#;
    let scene = Scene::new(vec![
        Scenario::new().tool("t1", "plant", "{}"),
        Scenario::new().tool("t2", "grown", "{}"),
        Scenario::text("Tasty."),
    ])
    .python("garden", body);
    let ran = scene.haft(&["--json", "go"]);
    ran.expect(0);
    let requests = scene.server.requests();
    let offers: Vec<bool> =
        requests.iter().map(|request| offered(request).contains(&"grown".to_owned())).collect();
    assert_eq!(offers, [false, true, true]);
    assert_eq!(said(&requests[2], "tool"), ["planted", "an apple"]);
    assert_eq!(ran.of("tool_result")[1]["is_error"], json!(false));
}

/// Starts a server that answers each request with the same page, and returns its address.
fn start_page_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut connection, _)) = listener.accept() {
            let _ = connection.read(&mut [0; 4096]);
            let page = "<h1>Rules</h1><p>Tests come first.</p>";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n";
            let _ = write!(connection, "{head}content-length: {}\r\n\r\n{page}", page.len());
        }
    });
    format!("http://{address}/rules")
}

#[test]
fn fetches_pages_where_commands_have_network() {
    let page = start_page_server();
    let scene = Scene::new(vec![
        Scenario::new().tool("t1", "fetch", &json!({ "url": page }).to_string()),
        Scenario::text("Fine."),
        Scenario::text("Fine."),
    ]);
    scene.haft(&["-p", "--sandbox", "full", "which rules?"]).expect(0);
    let requests = scene.server.requests();
    assert!(offered(&requests[0]).contains(&"fetch".to_owned()));
    let results = said(&requests[1], "tool");
    assert!(results[0].contains("Rules") && results[0].contains("Tests come first."), "{results:?}");
    scene.haft(&["-p", &format!("explain @{page}.")]).expect(0);
    let last = scene.server.requests().pop().unwrap();
    assert!(!offered(&last).contains(&"fetch".to_owned()), "the sandbox has no network");
    assert!(last.body.to_string().contains("Tests come first."), "the user named the page");
}
