//! Reading a body that may have any length.

/// The body up to so many bytes; what came before it broke off, where it did.
pub(super) async fn read(mut response: reqwest::Response, most: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < most {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    body.truncate(most);
    body
}
