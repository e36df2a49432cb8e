//! One connection: reads a request, plays a scenario, and notices when the client disconnects.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{AnswerFault, RecordedRequest, Scenario, SharedServer, WireFormat, sse, strict};
#[cfg(target_os = "linux")]
use crate::PATIENCE;

/// Serves one request and closes the connection; each request uses a new connection.
pub(super) async fn serve(mut stream: TcpStream, shared: Arc<SharedServer>) {
    let Ok(Some(request)) = read_request(&mut stream).await else { return };
    if request.method != "POST" {
        let refused = sent_key(&request).contains(REFUSED);
        let (status, body) =
            if refused { ("401 Unauthorized", "{}") } else { ("200 OK", models(shared.wire)) };
        let _ = write_whole(&mut stream, status, "", "application/json", body).await;
        shared.update(|state| state.requests.push(request));
        return;
    }
    let other_api = match shared.wire {
        WireFormat::OpenAiChat => "/responses",
        WireFormat::OpenAiResponses => "/chat/completions",
        WireFormat::Anthropic | WireFormat::Gemini | WireFormat::Ollama => "/none",
    };
    if request.path.ends_with(other_api) {
        let body = r#"{"detail":"Not Found"}"#;
        let _ = write_whole(&mut stream, "404 Not Found", "", "application/json", body).await;
        shared.update(|state| state.requests.push(request));
        return;
    }
    let scenario = next_scenario(&shared, &request);
    if play_scenario(&mut stream, &shared, &request, &scenario).await.is_err() {
        shared.update(|state| state.disconnects += 1);
    }
}

/// Returns the scenario that answers the request.
fn next_scenario(shared: &SharedServer, request: &RecordedRequest) -> Scenario {
    let refused = |why: &str| Scenario::status(400, "invalid_request_error", why);
    let violation = strict::check(shared.wire, &request.body).err();
    let mut next = None;
    shared.update(|state| {
        state.requests.push(request.clone());
        match violation {
            Some(violation) => {
                next = Some(refused(&violation));
                state.violations.push(violation);
            }
            None => next = state.next(shared.wire, request),
        }
    });
    next.unwrap_or_else(|| refused("the model server has no more scenarios"))
}

/// A `GET` with a key that contains this text is rejected.
const REFUSED: &str = "refused";

/// Returns the list of models in the format of the API.
fn models(wire: WireFormat) -> &'static str {
    match wire {
        WireFormat::Anthropic | WireFormat::OpenAiChat | WireFormat::OpenAiResponses => {
            r#"{"object":"list","data":[{"id":"local-model","object":"model"}]}"#
        }
        WireFormat::Gemini => r#"{"models":[{"name":"models/local-model"}]}"#,
        WireFormat::Ollama => r#"{"models":[{"name":"local-model"}]}"#,
    }
}

/// Plays the scenario; an error means that the client disconnected.
async fn play_scenario(
    stream: &mut TcpStream,
    shared: &SharedServer,
    request: &RecordedRequest,
    scenario: &Scenario,
) -> io::Result<()> {
    match &scenario.fault {
        Some(AnswerFault::Status { status, retry_after, code, message }) => {
            let message = message.replace("{key}", &sent_key(request));
            let header = retry_after.as_ref().map(|value| format!("retry-after: {value}\r\n"));
            let body = sse::error_body(shared.wire, code, &message);
            let reason = format!("{status} Fault");
            write_whole(stream, &reason, &header.unwrap_or_default(), "application/json", &body).await
        }
        Some(AnswerFault::Html) => {
            write_whole(stream, "200 OK", "", "text/html", "<html><body>Sign in</body></html>").await
        }
        Some(AnswerFault::Silent) => wait_for_hang_up(stream).await,
        Some(
            AnswerFault::ErrorEvent { .. }
            | AnswerFault::Reset
            | AnswerFault::NoFinalEvent
            | AnswerFault::Hang,
        )
        | None => play_stream(stream, shared, request, scenario).await,
    }
}

async fn play_stream(
    stream: &mut TcpStream,
    shared: &SharedServer,
    request: &RecordedRequest,
    scenario: &Scenario,
) -> io::Result<()> {
    let model = request.body.get("model").and_then(Value::as_str).unwrap_or("model");
    let kind = if shared.wire == WireFormat::Ollama { "application/x-ndjson" } else { "text/event-stream" };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nrequest-id: req_1\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let body = sse::stream_body(shared.wire, model, scenario);
    let step = if scenario.cut_every == 0 { body.len().max(1) } else { scenario.cut_every };
    for piece in body.as_bytes().chunks(step) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
        if !scenario.pause.is_zero() {
            pause_or_hung_up(stream, scenario.pause).await?;
        }
        tokio::task::yield_now().await;
    }
    match scenario.fault {
        Some(AnswerFault::Reset) => {
            // The client must have read the previous pieces, or the reset would discard them.
            until_read(stream).await?;
            stream.set_zero_linger()
        }
        Some(AnswerFault::Hang) => wait_for_hang_up(stream).await,
        _ => stream.write_all(b"0\r\n\r\n").await,
    }
}

/// Waits until the client has read everything: the kernel reports empty queues at both ends.
#[cfg(target_os = "linux")]
async fn until_read(stream: &TcpStream) -> io::Result<()> {
    let ports = [stream.local_addr()?.port(), stream.peer_addr()?.port()];
    let waits = || {
        let sockets = std::fs::read_to_string("/proc/self/net/tcp").unwrap_or_default();
        // Fields: number, local and remote address, state, queues, for example `0: 0100007F:1F90 0100007F:C350 01
        // 00000000:0000002A`.
        sockets.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let port = |at: usize| {
                let (_, port) = fields.get(at)?.split_once(':')?;
                u16::from_str_radix(port, 16).ok()
            };
            let is_ours =
                [port(1), port(2)].iter().all(|port| port.is_some_and(|port| ports.contains(&port)));
            is_ours && fields.get(4).is_some_and(|queues| *queues != "00000000:00000000")
        })
    };
    let read = async {
        while waits() {
            // sleep: polls again
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    Ok(tokio::time::timeout(PATIENCE, read).await?)
}

/// Gives the client time to read everything, on systems that do not report their queues.
#[cfg(not(target_os = "linux"))]
async fn until_read(_: &TcpStream) -> io::Result<()> {
    // sleep: no event reports this
    tokio::time::sleep(Duration::from_secs(1)).await;
    Ok(())
}

/// Waits until the client disconnects. Always returns an error, because the client must not send more.
async fn wait_for_hang_up(stream: &mut TcpStream) -> io::Result<()> {
    let mut byte = [0_u8; 1];
    loop {
        if stream.read(&mut byte).await? == 0 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
    }
}

async fn pause_or_hung_up(stream: &mut TcpStream, pause: Duration) -> io::Result<()> {
    tokio::select! {
        gone = wait_for_hang_up(stream) => gone,
        // sleep: the scenario's delay
        () = tokio::time::sleep(pause) => Ok(()),
    }
}

async fn write_whole(
    stream: &mut TcpStream,
    status: &str,
    headers: &str,
    content_type: &str,
    body: &str,
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}content-type: {content_type}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await
}

fn sent_key(request: &RecordedRequest) -> String {
    let bearer = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    request.header("x-api-key").or(request.header("x-goog-api-key")).or(bearer).unwrap_or_default().to_owned()
}

async fn read_request(stream: &mut TcpStream) -> io::Result<Option<RecordedRequest>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        // A client that speaks TLS to this plain server must get an answer.
        if stream.read_buf(&mut bytes).await? == 0 || !bytes.first().is_some_and(u8::is_ascii_uppercase) {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(bytes.get(..head_end).unwrap_or_default()).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse::<usize>().ok()).unwrap_or(0);
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(RecordedRequest { method, path, headers, body }))
}
