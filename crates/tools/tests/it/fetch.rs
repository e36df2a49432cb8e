//! `fetch` against a server on loopback: formats, redirects, limits and failures.

use std::sync::Arc;

use futures::FutureExt as _;
use haft_core::tool::{Tool, ToolContext};
use haft_protocol::RawJson;
use haft_protocol::content::{ToolCall, joined_text};
use haft_protocol::ids::ToolCallId;
use haft_providers::get_page;
use haft_tools::fetch_tool;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

/// Starts a server and returns its address.
async fn start_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer(connection));
        }
    });
    format!("http://{address}")
}

async fn answer(mut connection: TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if connection.read(&mut byte).await.unwrap_or(0) == 0 {
            return;
        }
        request.push(byte[0]);
    }
    let request = String::from_utf8(request).unwrap();
    let path = request.split(' ').nth(1).unwrap();
    if path == "/silent" {
        return std::future::pending().await;
    }
    let (status, headers, body) = page(path);
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    // The client may have read enough.
    _ = connection.write_all(&[head.as_bytes(), &body].concat()).await;
}

/// Returns the status, the headers and the body of a page.
fn page(path: &str) -> (&'static str, String, Vec<u8>) {
    let of_type = |name: &str| format!("content-type: {name}\r\n");
    match path {
        "/page" => {
            let html = "<html><head><title>T</title><script>let x = 1;</script></head>\
                        <body><h1>Haft</h1><p>One &amp; two</p><a href=\"https://a.example/b\">more</a></body></html>";
            ("200 OK", of_type("text/html; charset=utf-8"), html.into())
        }
        "/data" => ("200 OK", of_type("application/json"), b"{\"a\":1}".into()),
        "/lines" => ("200 OK", of_type("text/plain"), "line\n".repeat(5000).into()),
        "/long" => ("200 OK", of_type("text/plain"), vec![b'x'; 600 * 1024]),
        "/image" => ("200 OK", of_type("image/png"), vec![0; 8]),
        "/here" => ("302 Found", "location: /data\r\n".into(), Vec::new()),
        "/away" => ("301 Moved Permanently", "location: http://127.0.0.2/x\r\n".into(), Vec::new()),
        "/file" => ("302 Found", "location: file:///etc/passwd\r\n".into(), Vec::new()),
        "/loop" => ("302 Found", "location: /loop\r\n".into(), Vec::new()),
        _ => ("404 Not Found", of_type("text/html"), b"<p>No such page</p>".into()),
    }
}

fn tool() -> Arc<dyn Tool> {
    fetch_tool(Arc::new(|url| get_page(url).boxed()))
}

async fn call(args: &str) -> (String, bool) {
    call_until(&CancellationToken::new(), args).await
}

async fn call_until(cancel: &CancellationToken, args: &str) -> (String, bool) {
    let call =
        ToolCall { id: ToolCallId::new("1"), name: "fetch".into(), args: RawJson::parse(args).unwrap() };
    let output = tool().execute(ToolContext::new(cancel.clone(), |_| {}), call).await;
    (joined_text(&output.content), output.is_error)
}

async fn fetch(url: &str) -> (String, bool) {
    call(&format!(r#"{{"url":"{url}"}}"#)).await
}

#[tokio::test]
async fn reads_html_as_text_and_text_as_it_is() {
    let server = start_server().await;
    let (text, is_error) = fetch(&format!("{server}/page")).await;
    assert!(!is_error && text.contains("Haft") && text.contains("One & two"), "{text}");
    assert!(text.contains("https://a.example/b"), "links are kept: {text}");
    assert!(!text.contains("let x"), "scripts are not: {text}");
    assert_eq!(fetch(&format!("{server}/data")).await, (r#"{"a":1}"#.into(), false));
}

#[tokio::test]
async fn shortens_long_pages() {
    let server = start_server().await;
    let (text, _) = fetch(&format!("{server}/lines")).await;
    assert!(
        text.ends_with("of 5000 lines; fetch it with a larger offset to see the rest]"),
        "{}",
        text.len()
    );
    let (text, _) = call(&format!(r#"{{"url":"{server}/lines","offset":4999}}"#)).await;
    assert_eq!(text, "line\nline");
    let (text, is_error) = call(&format!(r#"{{"url":"{server}/lines","offset":5001}}"#)).await;
    assert_eq!((text.as_str(), is_error), ("the page has only 5000 lines", true));
    let (text, _) = fetch(&format!("{server}/long")).await;
    assert!(text.len() < 100 * 1024, "{}", text.len());
}

#[tokio::test]
async fn follows_redirects_to_the_same_host_only() {
    let server = start_server().await;
    assert_eq!(fetch(&format!("{server}/here")).await, (r#"{"a":1}"#.into(), false));
    let (text, is_error) = fetch(&format!("{server}/away")).await;
    let expect = format!(
        "{server}/away redirects to another host: http://127.0.0.2/x; fetch that URL if you want the page"
    );
    assert_eq!((text, is_error), (expect, true));
    let (text, is_error) = fetch(&format!("{server}/file")).await;
    assert!(is_error && text.contains("another host: file:///etc/passwd"), "{text}");
    let (text, is_error) = fetch(&format!("{server}/loop")).await;
    assert_eq!((text, is_error), (format!("{server}/loop: more than 5 redirects"), true));
}

#[tokio::test]
async fn says_why_there_is_no_page() {
    let server = start_server().await;
    let (text, is_error) = fetch(&format!("{server}/none")).await;
    let expect = format!("{server}/none answered with status 404 Not Found: No such page");
    assert_eq!((text, is_error), (expect, true));
    let (text, is_error) = fetch(&format!("{server}/image")).await;
    let expect = format!("{server}/image answered with status 200 OK and is not text but image/png");
    assert_eq!((text, is_error), (expect, true));
    for (url, expect) in [
        ("example.org", "\"example.org\" is not a URL: relative URL without a base"),
        ("file:///etc/passwd", "file:///etc/passwd is not a web page; give a URL with http:// or https://"),
        ("http://me:key@127.0.0.1/", "a URL with a user name or a password is not fetched"),
    ] {
        assert_eq!(fetch(url).await, (expect.into(), true));
    }
    // No server listens on this port, which was just free.
    let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let (text, is_error) = fetch(&format!("http://{address}/")).await;
    assert!(is_error && text.starts_with(&format!("cannot fetch http://{address}/: ")), "{text}");
}

#[tokio::test]
async fn ends_when_the_call_is_cancelled() {
    let server = start_server().await;
    let cancel = CancellationToken::new();
    let args = format!(r#"{{"url":"{server}/silent"}}"#);
    let fetched = call_until(&cancel, &args);
    let (fetched, ()) = tokio::join!(fetched, async { cancel.cancel() });
    assert_eq!(fetched, ("cancelled".into(), true));
}
